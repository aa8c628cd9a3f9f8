//! `vector uninstall` on Windows: also the program itself, which runs, and its folder on the PATH.
//! It removes what the whole user has of Vector, so it runs under Wine only, and alone.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use vector_tests::binary::{self, Home};

use super::is_for_windows;

/// The time that Windows may take to delete the program after it has ended.
const PATIENCE: Duration = Duration::from_mins(1);

/// Runs a program for Windows.
fn run(home: &Home, program: &Path, args: &[&str]) -> (i32, String) {
    let mut command = Command::new(binary::vector().with_file_name("wine"));
    command.arg(program).args(args).env("VECTOR_HOME", home.path().join("vector"));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    (output.status.code().unwrap_or(-1), said)
}

/// The user's PATH in the registry, as `reg` prints it.
fn user_path(home: &Home) -> String {
    run(home, Path::new("reg"), &["query", r"HKCU\Environment", "/v", "Path"]).1
}

#[test]
fn program_removes_itself_and_its_folder_on_the_path() {
    if !is_for_windows() || cfg!(windows) {
        return;
    }
    let home = Home::new();
    // Like the folder of install.ps1, which adds it to the user's PATH.
    let folder = home.path().join("Programs").join("Vector");
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("vector.exe");
    fs::copy(binary::vector().with_extension("exe"), &program).unwrap();
    let before = r"%HOMEDRIVE%\tools";
    let value = format!("{before};{};C:\\other", binary::path_there(&folder));
    let key = r"HKCU\Environment";
    let added = run(
        &home,
        Path::new("reg"),
        &["add", key, "/v", "Path", "/t", "REG_EXPAND_SZ", "/d", &value, "/f"],
    );
    assert_eq!(added.0, 0, "{}", added.1);
    assert!(user_path(&home).contains(&binary::path_there(&folder)), "{}", user_path(&home));

    let (code, listed) = run(&home, &program, &["uninstall", "--dry-run"]);
    assert_eq!(code, 0, "{listed}");
    assert!(listed.contains("the program ") && listed.contains("vector.exe"), "{listed}");
    assert!(program.exists());
    let (code, said) = run(&home, &program, &["uninstall", "--yes"]);
    assert_eq!(code, 0, "{said}");
    let began = Instant::now();
    while program.exists() {
        assert!(began.elapsed() < PATIENCE, "it is still there: {said}");
        std::thread::sleep(Duration::from_millis(50));
    }
    let path = user_path(&home);
    assert!(!path.contains("Programs"), "{path}");
    assert!(path.contains("REG_EXPAND_SZ") && path.contains(before), "{path}");
    assert!(path.contains(r"C:\other"), "{path}");
    let deleted = run(&home, Path::new("reg"), &["delete", key, "/v", "Path", "/f"]);
    assert_eq!(deleted.0, 0, "{}", deleted.1);
}
