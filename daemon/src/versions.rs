//! What the user does if two parts of Vector have different versions.
//!
//! Nothing is looked up elsewhere: each part says its version when it connects.

use scene_schemas::api::VERSION;

/// The number of characters of a version that are shown.
const MAX_LENGTH: usize = 40;

/// A hint if the plugin has another version than this daemon.
pub(crate) fn plugin_hint(plugin: &str) -> Option<String> {
    if plugin == VERSION {
        return None;
    }
    let fix = if is_newer(plugin, VERSION) {
        "Run `vector stop`; the next command starts the new one."
    } else {
        "Run `vector plugin install`, and restart Studio."
    };
    let plugin = shown_version(plugin);
    Some(format!("The plugin is version {plugin}, and the running Vector is {VERSION}. {fix}"))
}

/// A hint if the running daemon has another version than this program.
pub(crate) fn daemon_hint(daemon: &str) -> Option<String> {
    let fix = if is_newer(daemon, VERSION) {
        "use the newer program, or run `vector stop` to start this one with the next command"
    } else {
        "run `vector stop`; the next command starts this one"
    };
    let shown = shown_version(daemon);
    (daemon != VERSION).then(|| {
        format!("the running daemon is version {shown}, and this program is {VERSION}: {fix}")
    })
}

/// Whether a version is newer than another. A text that cannot be read as a version is not.
fn is_newer(version: &str, than: &str) -> bool {
    matches!((numbers(version), numbers(than)), (Some(a), Some(b)) if a > b)
}

/// The numbers of a version, without what follows a dash or plus.
fn numbers(version: &str) -> Option<Vec<u64>> {
    let numbers = version.split(['-', '+']).next().unwrap_or_default();
    numbers.split('.').map(|number| number.parse().ok()).collect()
}

/// A version of another program, which may send anything.
fn shown_version(version: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || ".-+".contains(*c);
    let plain: String = version.chars().filter(is_plain).take(MAX_LENGTH).collect();
    if plain.is_empty() { "unknown".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_part_is_updated() {
        assert_eq!((plugin_hint(VERSION), daemon_hint(VERSION)), (None, None));
        for older in ["0.0.9", "0.0.10", "", "\u{1b}[31m", "x"] {
            let hint = plugin_hint(older).unwrap();
            assert!(hint.ends_with("Run `vector plugin install`, and restart Studio."), "{hint}");
            assert!(hint.chars().all(|c| !c.is_control()), "{hint}");
            assert!(daemon_hint(older).unwrap().contains("starts this one"));
        }
        for newer in ["99.0.0", "0.99.0-rc.1", "1"] {
            assert!(plugin_hint(newer).unwrap().contains("Run `vector stop`"));
            assert!(daemon_hint(newer).unwrap().contains("use the newer program"));
        }
        assert!(is_newer("0.10.0", "0.9.9") && !is_newer("0.9.9", "0.10.0"));
    }
}
