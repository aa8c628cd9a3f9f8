//! The location of Vector's data folder.
//!
//! This module does not create the folder or read anything in it.

use std::path::PathBuf;

use anyhow::Context;

/// The environment variable that names the ledger's folder.
const HOME_VARIABLE: &str = "VECTOR_HOME";

/// The ledger's folder from the environment. None if the variable is unset or empty.
pub fn read_home_variable() -> Option<PathBuf> {
    std::env::var_os(HOME_VARIABLE).filter(|home| !home.is_empty()).map(PathBuf::from)
}

/// The ledger's folder: the given one, the one from the environment, or the user's data directory.
pub fn resolve_data_folder(requested: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    if let Some(home) = requested.or_else(read_home_variable) {
        return Ok(home);
    }
    let folders = directories::ProjectDirs::from("", "", "vector")
        .context("there is no home directory; choose the ledger's folder with --home DIR")?;
    Ok(folders.data_local_dir().to_owned())
}
