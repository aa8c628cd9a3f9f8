//! Where Vector keeps what it keeps.

use std::path::PathBuf;

use anyhow::Context;

/// The variable that names the folder of the ledger.
const HOME_VARIABLE: &str = "VECTOR_HOME";

/// What the environment says of the folder of the ledger.
pub fn read_home_variable() -> Option<PathBuf> {
    std::env::var_os(HOME_VARIABLE).filter(|home| !home.is_empty()).map(PathBuf::from)
}

/// The folder of the ledger: what the person says, or the user's data directory.
pub fn resolve_data_folder(said: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    if let Some(home) = said.or_else(read_home_variable) {
        return Ok(home);
    }
    let folders = directories::ProjectDirs::from("", "", "vector")
        .context("there is no home directory; choose the ledger's folder with --home DIR")?;
    Ok(folders.data_dir().to_owned())
}
