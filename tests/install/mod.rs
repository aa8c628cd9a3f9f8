//! Installers: from a release on a server of this machine into a new user's home, and away again.

mod action;
mod npm;
mod release;
mod script;
#[cfg(unix)]
mod toured;
#[cfg(unix)]
mod uninstall;

use vector_tests::requirement::Requirement;

/// Whether what packs releases is installed; prints a notice if not.
fn has_python() -> bool {
    let has_python = std::process::Command::new("python3").arg("--version").output().is_ok();
    if !has_python {
        Requirement::Python.skip("installers (python3, which packs releases, is not installed)");
    }
    has_python
}
