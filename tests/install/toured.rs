//! Each installer in a new user's home: installed, used for the README's tour, and removed.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use vector_tests::requirement::has_git;

use super::has_python;
use super::npm::NpmUser;
use super::release::{Release, below};
use super::script::install;
use crate::cli::tour::Tourist;

/// Takes the tour in a home, by the `vector` in the folder `bin`, and uninstalls it. Returns what
/// `vector uninstall` printed.
fn take_tour(home: &Path, bin: &Path) -> String {
    // An MCP client and Studio, so that `vector setup` has something to write.
    fs::create_dir_all(home.join(".cursor")).unwrap();
    fs::create_dir_all(home.join(".wine/drive_c/users/me/AppData/Local/Roblox")).unwrap();
    let clone = tempfile::tempdir().unwrap();
    let clone = clone.path().canonicalize().unwrap().join("clone");
    let variables: Vec<(OsString, OsString)> = vec![("HOME".into(), home.into())];
    Tourist { clone: &clone, bin, variables: &variables }.take_tour();
    let config = Command::new("git").arg("-C").arg(&clone).args(["config", "--list"]).output();
    assert!(String::from_utf8(config.unwrap().stdout).unwrap().contains("merge.vector.driver"));

    let mut uninstall = Command::new(bin.join("vector"));
    uninstall.args(["uninstall", "--ledger", "--yes"]).env_clear().env("HOME", home);
    uninstall.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let output = uninstall.output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{said}");
    let config = Command::new("git").arg("-C").arg(&clone).args(["config", "--list"]).output();
    assert!(!String::from_utf8(config.unwrap().stdout).unwrap().contains("vector"), "{said}");
    said
}

/// The files below a home.
fn files(home: &Path) -> Vec<String> {
    below(home).into_iter().filter(|path| !home.join(path).is_dir()).collect()
}

#[test]
fn nothing_of_the_script_is_left_after_a_tour() {
    if !has_git() || !has_python() {
        return;
    }
    let server = Release::serve();
    let home = tempfile::tempdir().unwrap();
    let script = server.get("/latest/download/install.sh");
    let installed = install(&server, home.path(), &[], &script);
    assert!(installed.status.success(), "{installed:?}");
    take_tour(home.path(), &home.path().join(".local/bin"));
    assert_eq!(files(home.path()), [""; 0]);
}

#[test]
fn nothing_of_the_npm_package_is_left_after_a_tour() {
    if !has_git() {
        return;
    }
    let Some(user) = NpmUser::new() else { return };
    let home = user.home.path();
    user.install();
    let said = take_tour(home, &home.join("prefix/bin"));
    assert!(said.contains("npm uninstall --global vector-roblox"), "{said}");
    user.npm(&["uninstall", "--global", "vector-roblox"]);
    // npm keeps what it has downloaded.
    let left = files(home);
    assert!(left.iter().all(|path| path.starts_with("cache/")), "{left:?}");
}
