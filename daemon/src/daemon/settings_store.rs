//! Storage of the user's settings beside the ledger.

use std::fs;
use std::path::Path;

use scene_schemas::api::{Settings, SpendingLimits};
use scene_schemas::proposal::Mode;
use serde_json::Value as Json;
use vector_files::write_private;

const SETTINGS: &str = "settings.json";

/// Loads the settings. Each that is missing or cannot be read has its default, so that one of another
/// version does not take the others with it, such as spending caps. An empty model name means that
/// none was chosen.
pub(crate) fn load_settings(home: &Path) -> Settings {
    let kept = fs::read_to_string(home.join(SETTINGS)).ok();
    let kept: Json = kept.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let limit = |name: &str| kept["limits"][name].as_f64().filter(|limit| *limit >= 0.0);
    Settings {
        mode: serde_json::from_value(kept["mode"].clone()).unwrap_or(Mode::Confirm),
        dry_run: kept["dry_run"].as_bool().unwrap_or(false),
        play_check: kept["play_check"].as_bool().unwrap_or(true),
        model: kept["model"].as_str().unwrap_or_default().to_owned(),
        models: Vec::new(),
        limits: SpendingLimits {
            day: limit("day"),
            project: limit("project"),
            task: limit("task"),
            request: limit("request"),
        },
    }
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
    fn setting_of_another_version_leaves_the_others() {
        let home = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            fs::write(home.path().join(SETTINGS), text).unwrap();
            load_settings(home.path())
        };
        let text =
            r#"{ "mode": "later", "model": "a/b", "newer": 1, "limits": { "day": 2, "week": 3 } }"#;
        let settings = read(text);
        assert_eq!(settings.mode, Mode::Confirm);
        assert_eq!((settings.model.as_str(), settings.play_check), ("a/b", true));
        assert_eq!(settings.limits, SpendingLimits { day: Some(2.0), ..SpendingLimits::default() });
        assert_eq!(read("broken").model, "");
        let wanted = Settings { mode: Mode::Auto, dry_run: true, play_check: false, ..settings };
        save_settings(home.path(), &wanted).unwrap();
        assert_eq!(load_settings(home.path()), wanted);
    }
}
