//! What the daemon keeps beside the ledger of what a person has chosen.

use std::fs;
use std::path::Path;

use scene_schemas::api::Settings;
use scene_schemas::proposal::Mode;
use vector_files::write_private;

const SETTINGS: &str = "settings.json";

/// What a person has chosen; what cannot be read counts as nothing chosen. Where no model was chosen
/// its name is empty.
pub(crate) fn load_settings(home: &Path) -> Settings {
    let kept = fs::read_to_string(home.join(SETTINGS)).ok();
    let kept = kept.and_then(|text| serde_json::from_str::<Settings>(&text).ok());
    kept.unwrap_or_else(|| Settings {
        mode: Mode::Confirm,
        dry_run: false,
        model: String::new(),
        models: Vec::new(),
    })
}

/// Keeps what a person has chosen.
pub(crate) fn save_settings(home: &Path, settings: &Settings) -> std::io::Result<()> {
    let text = serde_json::to_string_pretty(settings).unwrap_or_default();
    write_private(&home.join(SETTINGS), text.as_bytes())
}
