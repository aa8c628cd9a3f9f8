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
/// it is the first of these names.
pub(super) fn settings(home: &Path, names: &[String]) -> Settings {
    let kept = fs::read_to_string(home.join(SETTINGS)).ok();
    let kept = kept.and_then(|text| serde_json::from_str::<Settings>(&text).ok());
    let default = || Settings {
        mode: Mode::Confirm,
        dry_run: false,
        model: String::new(),
        models: Vec::new(),
    };
    let mut settings = kept.unwrap_or_else(default);
    if settings.model.is_empty() {
        settings.model = names.first().cloned().unwrap_or_default();
    }
    settings
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

/// Keeps what a person has chosen. Whoever answers anyhow was not chosen: that may become another.
pub(super) fn keep_settings(
    home: &Path,
    settings: &Settings,
    names: &[String],
) -> std::io::Result<()> {
    let mut kept = Settings { models: Vec::new(), ..settings.clone() };
    if names.first() == Some(&kept.model) {
        kept.model.clear();
    }
    let text = serde_json::to_string_pretty(&kept).unwrap_or_default();
    write_file(&home.join(SETTINGS), text.as_bytes())
}
