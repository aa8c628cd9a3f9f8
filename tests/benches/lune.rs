//! Lune as a peer, if it is installed.

use std::env;
use std::path::PathBuf;

/// Returns the given file, or the first `lune` in PATH. Prints a notice if there is none.
pub(crate) fn find_lune(named: Option<&str>) -> Option<PathBuf> {
    let paths = env::var_os("PATH").unwrap_or_default();
    let found = named.map(PathBuf::from).or_else(|| {
        let mut files = env::split_paths(&paths).map(|it| it.join("lune"));
        files.find(|file| file.is_file())
    });
    if found.is_none() {
        println!("without Lune, which is not on the PATH (cargo install lune)\n");
    }
    found
}
