//! Paths of resources that a service names and Vector sends back, checked so that a request cannot leave
//! the service's folder.

/// The size limit of a path, in bytes.
const MAX_BYTES: usize = 512;

/// Returns a path if it is a relative path below a collection, such as `universes/7`: of letters, digits,
/// `-`, `_` and `.`, without empty segments and without segments of dots alone.
pub(crate) fn check_path(text: &str, collection: &str) -> Option<String> {
    let is_segment = |segment: &str| {
        segment.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it))
            && segment.bytes().any(|it| it != b'.')
    };
    let mut segments = text.split('/');
    let is_path = text.len() <= MAX_BYTES
        && segments.next() == Some(collection)
        && text.len() > collection.len()
        && segments.all(is_segment);
    is_path.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_relative_paths_below_the_collection_pass() {
        for path in ["universes/1", "universes/1/places/2/a-b_c.d/E"] {
            assert_eq!(check_path(path, "universes").as_deref(), Some(path));
        }
        for path in [
            "",
            "universes",
            "universes/",
            "/universes/1",
            "places/1",
            "universes/../assets",
            "universes/1/..",
            "universes/./1",
            "universes//1",
            "universes/1?x=1",
            "universes/1#x",
            "universes/1%2e%2e",
            "universes/1\\2",
            "universes/1 2",
            "universes/1\r\nx",
            "universes/ü",
            "https://universes/1",
        ] {
            assert_eq!(check_path(path, "universes"), None, "{path}");
        }
        assert_eq!(check_path(&format!("universes/{}", "1".repeat(600)), "universes"), None);
    }
}
