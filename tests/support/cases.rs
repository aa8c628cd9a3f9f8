//! Cases that are not part of the project: real places and recorded exchanges by other people.
//!
//! They lie where `VECTOR_CASES` says, in `places/` and `cases/`. A stranger has none of them and
//! is told so; in CI they are not optional.

use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Once;

/// The folder that `VECTOR_CASES` names; none, with a notice, where it is unset.
///
/// # Panics
/// With `CI=true` and no such folder.
pub fn cases() -> Option<PathBuf> {
    static NOTICE: Once = Once::new();
    let folder = env::var_os("VECTOR_CASES").map(PathBuf::from);
    match folder {
        Some(folder) if folder.is_dir() => Some(folder),
        Some(folder) => panic!("VECTOR_CASES is {}, which is no folder", folder.display()),
        None if env::var_os("CI").is_some_and(|ci| ci == "true") => {
            panic!("with CI=true the shared cases must be there: set VECTOR_CASES to their folder")
        }
        None => {
            NOTICE.call_once(|| {
                // Not by `eprintln!`, which the test runner keeps to itself.
                let notice = "skipped: tests on the shared cases (VECTOR_CASES is not set)";
                let _ = writeln!(io::stderr(), "{notice}");
            });
            None
        }
    }
}
