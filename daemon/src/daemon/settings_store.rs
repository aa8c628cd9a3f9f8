//! Storage of the user's settings beside the ledger.

use std::fs;
use std::path::Path;

use scene_schemas::api::{Settings, SpendingLimits};
use scene_schemas::proposal::Mode;
use vector_files::write_private;

const SETTINGS: &str = "settings.json";

/// Loads the settings. Settings that cannot be read are replaced by the defaults. An empty model
/// name means that none was chosen.
pub(crate) fn load_settings(home: &Path) -> Settings {
    let kept = fs::read_to_string(home.join(SETTINGS)).ok();
    let kept = kept.and_then(|text| serde_json::from_str::<Settings>(&text).ok());
    kept.unwrap_or_else(|| Settings {
        mode: Mode::Confirm,
        dry_run: false,
        play_check: true,
        model: String::new(),
        models: Vec::new(),
        limits: SpendingLimits::default(),
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
