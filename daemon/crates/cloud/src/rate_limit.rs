//! How long a service asks to wait, in the headers of an answer.

use std::time::Duration;

use reqwest::header::HeaderMap;

/// Returns how long a service asks to wait: in `retry-after`, or until its limit is reset, in seconds.
///
/// A service may name several limits, separated by commas: the lowest remaining number and the latest reset
/// count. If requests remain, something else than the limit refused, and its reset says nothing.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let seconds = |text: &str| text.trim().parse::<u32>().ok();
    let list = |name: &str| {
        let parts = text(name).unwrap_or_default().split(',');
        parts.filter_map(move |it| seconds(it.split(';').next().unwrap_or_default()))
    };
    let wanted = text("retry-after").and_then(seconds).or_else(|| {
        let has_remaining = list("x-ratelimit-remaining").min().is_some_and(|it| it > 0);
        list("x-ratelimit-reset").max().filter(|_| !has_remaining)
    });
    wanted.map(|it| Duration::from_secs(it.into()))
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderName;

    use super::*;

    #[test]
    fn delay_is_read_from_either_header() {
        let after = |pairs: &[(&'static str, &str)]| {
            let pairs = pairs
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
            retry_after(&pairs.collect::<HeaderMap>()).map(|it| it.as_secs())
        };
        assert_eq!(after(&[("retry-after", "7")]), Some(7));
        assert_eq!(after(&[("x-ratelimit-reset", "3, 45")]), Some(45));
        assert_eq!(after(&[("x-ratelimit-reset", "3;w=60, 5;w=1"), ("retry-after", "2")]), Some(2));
        assert_eq!(after(&[("x-ratelimit-reset", "3;w=60, 5;w=1")]), Some(5));
        for other in ["", "soon", "-1", "Wed, 21 Oct 2026 07:28:00 GMT", "99999999999999"] {
            assert_eq!(after(&[("retry-after", other)]), None, "{other}");
        }
        assert_eq!(after(&[]), None);
    }

    #[test]
    fn reset_counts_only_if_nothing_remains() {
        let after = |remaining: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("x-ratelimit-reset", "9, 12".parse().unwrap());
            headers.insert("x-ratelimit-remaining", remaining.parse().unwrap());
            retry_after(&headers).map(|it| it.as_secs())
        };
        assert_eq!(after("0"), Some(12));
        assert_eq!(after("31, 0"), Some(12));
        assert_eq!(after("many"), Some(12));
        assert_eq!(after("31, 4"), None);
    }
}
