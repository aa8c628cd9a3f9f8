//! The binary for Windows beside the one for this system: the same bytes, and files that other
//! programs hold. `.ci/windows` runs these tests under Wine.

mod bytes;
mod held;
mod keychain;
mod killed;
mod paths;
mod setup;
mod uninstall;

use vector_tests::binary;
use vector_tests::requirement::Requirement;

/// Whether the tests are run with the binary for Windows; prints a notice if not.
fn is_for_windows() -> bool {
    let is_for_windows = binary::is_for_windows();
    if !is_for_windows {
        Requirement::Windows.skip("tests of the binary for Windows (.ci/windows runs them)");
    }
    is_for_windows
}
