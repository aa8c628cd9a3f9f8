//! Cases that are not part of the repository: real places and recorded exchanges by other people.
//!
//! `VECTOR_CASES` names their folder, which contains `places/` and `cases/`. If it is unset, tests
//! on them are skipped.

use std::env;
use std::path::PathBuf;

use crate::requirement::Requirement;

/// The folder that `VECTOR_CASES` names; None, with a notice, if it is unset.
///
/// # Panics
/// The folder does not exist, or the cases are required and `VECTOR_CASES` is unset.
#[track_caller]
pub fn cases() -> Option<PathBuf> {
    let Some(folder) = env::var_os("VECTOR_CASES").map(PathBuf::from) else {
        Requirement::Cases.skip("tests on the shared cases (VECTOR_CASES is not set)");
        return None;
    };
    assert!(folder.is_dir(), "VECTOR_CASES is {}, which is not a folder", folder.display());
    Some(folder)
}
