//! Storage of the user's settings beside the ledger.

use std::fs;
use std::path::Path;

use scene_schemas::api::{Settings, SpendingLimits};
use scene_schemas::proposal::Mode;
use serde_json::Value as Json;
use vector_files::write_private;

const SETTINGS: &str = "settings.json";

/// Loads the settings. Of settings that cannot be read, or that have more than is known, nothing
/// counts as chosen except spending limits, which only forbid. An empty model name means that none
/// was chosen.
pub(crate) fn load_settings(home: &Path) -> Settings {
    let kept = fs::read_to_string(home.join(SETTINGS)).unwrap_or_default();
    serde_json::from_str(&kept).unwrap_or_else(|_| {
        let kept: Json = serde_json::from_str(&kept).unwrap_or_default();
        let limit = |name: &str| kept["limits"][name].as_f64().filter(|limit| *limit >= 0.0);
        Settings {
            mode: Mode::Confirm,
            dry_run: false,
            play_check: true,
            model: String::new(),
            models: Vec::new(),
            limits: SpendingLimits {
                day: limit("day"),
                project: limit("project"),
                task: limit("task"),
                request: limit("request"),
            },
        }
    })
}

/// Whether the user has saved settings.
pub(crate) fn has_settings(home: &Path) -> bool {
    home.join(SETTINGS).exists()
}

pub(crate) fn save_settings(home: &Path, settings: &Settings) -> std::io::Result<()> {
    let text = serde_json::to_string_pretty(settings).unwrap_or_default();
    write_private(&home.join(SETTINGS), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold_if_the_settings_are_of_another_version() {
        let home = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            fs::write(home.path().join(SETTINGS), text).unwrap();
            load_settings(home.path())
        };
        let text =
            r#"{ "mode": "later", "model": "a/b", "newer": 1, "limits": { "day": 2, "week": 3 } }"#;
        let settings = read(text);
        assert_eq!(settings.mode, Mode::Confirm);
        assert_eq!((settings.model.as_str(), settings.play_check), ("", true));
        assert_eq!(settings.limits, SpendingLimits { day: Some(2.0), ..SpendingLimits::default() });
        assert_eq!(read("broken").model, "");
        let wanted = Settings { mode: Mode::Auto, dry_run: true, play_check: false, ..settings };
        save_settings(home.path(), &wanted).unwrap();
        assert_eq!(load_settings(home.path()), wanted);
    }
}
