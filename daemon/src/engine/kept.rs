//! What the daemon keeps beside the ledger: what a person has chosen, and who was paired.

use std::fs;
use std::path::Path;

use scene_schemas::api::Settings;
use scene_schemas::proposal::Mode;

use crate::server::Secret;
use crate::targets::write_file;

const SETTINGS: &str = "settings.json";
const CREDENTIALS: &str = "paired";

/// What a person has chosen; what cannot be read counts as nothing chosen. Where no model was chosen
/// its name is empty.
pub(super) fn settings(home: &Path) -> Settings {
    let kept = fs::read_to_string(home.join(SETTINGS)).ok();
    let kept = kept.and_then(|text| serde_json::from_str::<Settings>(&text).ok());
    kept.unwrap_or_else(|| Settings {
        mode: Mode::Confirm,
        dry_run: false,
        model: String::new(),
        models: Vec::new(),
    })
}

/// The hashes of what paired plugins hold, one a line.
pub(super) fn credentials(home: &Path) -> std::io::Result<Vec<Secret>> {
    match fs::read_to_string(home.join(CREDENTIALS)) {
        Ok(text) => Ok(text.lines().filter_map(Secret::kept).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Keeps them.
pub(super) fn keep_credentials(home: &Path, credentials: &[Secret]) -> std::io::Result<()> {
    let text: String = credentials.iter().flat_map(|it| [it.hash(), "\n"]).collect();
    write_file(&home.join(CREDENTIALS), text.as_bytes())
}

/// Keeps what a person has chosen.
pub(super) fn keep_settings(home: &Path, settings: &Settings) -> std::io::Result<()> {
    let text = serde_json::to_string_pretty(settings).unwrap_or_default();
    write_file(&home.join(SETTINGS), text.as_bytes())
}
