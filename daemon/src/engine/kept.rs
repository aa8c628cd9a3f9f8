//! What the daemon keeps beside the ledger: what a person has chosen, and who was paired.

use std::fs;
use std::path::Path;

use scene_schemas::api::Settings;
use scene_schemas::proposal::Mode;

use crate::server::Secret;
use crate::targets::write_file;

const SETTINGS: &str = "settings.json";
const CREDENTIALS: &str = "paired";

/// Who can call the tools.
pub(super) fn models() -> Vec<String> {
    vec!["offline".to_owned()]
}

/// What a person has chosen; what cannot be read counts as nothing chosen.
pub(super) fn settings(home: &Path) -> Settings {
    let kept = fs::read_to_string(home.join(SETTINGS)).ok();
    let kept = kept.and_then(|text| serde_json::from_str::<Settings>(&text).ok());
    let kept = kept.filter(|settings| models().contains(&settings.model));
    let default = || Settings {
        mode: Mode::Confirm,
        dry_run: false,
        model: models().remove(0),
        models: models(),
    };
    kept.map_or_else(default, |settings| Settings { models: models(), ..settings })
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
