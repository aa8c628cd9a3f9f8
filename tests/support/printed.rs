//! Committed files that are generated from the code: `UPDATE=1` writes them, a test compares them.

use std::fs;

use crate::repository;

/// Whether expectations are rewritten instead of compared.
pub fn updating() -> bool {
    std::env::var_os("UPDATE").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Compares a committed file with what the code prints now.
#[track_caller]
pub fn check(path: &str, printed: &str) {
    let file = repository::root().join(path);
    if updating() {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).expect("the repository can be written");
        }
        fs::write(&file, printed).unwrap_or_else(|error| panic!("{path}: {error}"));
        return;
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    if let Some(difference) = first_difference(&committed, printed) {
        panic!("{path} is stale; `UPDATE=1 cargo test` rewrites it.\n{difference}");
    }
}

/// The first line that differs between two texts.
fn first_difference(committed: &str, printed: &str) -> Option<String> {
    if committed == printed {
        return None;
    }
    let mut pairs = committed
        .split('\n')
        .map(Some)
        .chain(std::iter::repeat(None))
        .zip(printed.split('\n').map(Some).chain(std::iter::repeat(None)));
    let at = pairs.position(|(a, b)| a != b)?;
    let line = |text: &str| text.split('\n').nth(at).unwrap_or("(the file ends)").to_owned();
    Some(format!(
        "line {}:\n  committed: {}\n  printed:   {}",
        at + 1,
        line(committed),
        line(printed)
    ))
}
