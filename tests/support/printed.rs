//! Files that are printed from the code and committed: `UPDATE=1` writes them, a test compares.

use std::fs;

use crate::repository;

/// Whether expectations are to be rewritten instead of compared.
pub fn updating() -> bool {
    std::env::var_os("UPDATE").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Holds a committed file against what the code prints today.
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

/// The first line that two texts do not share.
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
