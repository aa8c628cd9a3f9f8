//! Where Vector keeps what it keeps.

use std::path::PathBuf;

use anyhow::Context;

/// The folder of the ledger: what the person says, or the user's data directory.
pub fn home(said: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    if let Some(home) = said {
        return Ok(home);
    }
    let folders = directories::ProjectDirs::from("", "", "vector")
        .context("there is no home directory; say where the ledger is to be with --home DIR")?;
    Ok(folders.data_dir().to_owned())
}
