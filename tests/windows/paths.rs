//! Paths as Windows has them: with a drive, or with names that are devices.

use std::fs;

use vector_tests::binary::Home;
use vector_tests::places::{self, Format};

use super::is_for_windows;

const CALL: &str = "{\"tool\":\"delete_instance\",\"args\":{\"selector\":\"Part\"}}\n";

#[test]
fn every_form_of_a_path_names_the_same_place() {
    if !is_for_windows() {
        return;
    }
    let home = Home::new();
    let file = home.path().join("place.rbxl");
    fs::write(&file, places::sample(Format::Rbxl)).unwrap();
    let unix = file.display().to_string();
    let windows = format!("Z:{}", unix.replace('/', "\\"));
    let forms = [
        windows.clone(),
        windows.to_lowercase(),
        windows.replace('\\', "/"),
        format!(r"\\?\{windows}"),
        unix,
    ];
    for form in &forms {
        let source = home.run(&["show", form], "");
        assert_eq!(source.code, 0, "{form}: {}", source.stderr);
    }
    let edited = home.run(&["edit", &forms[3], "--ops", "-", "--yes"], CALL);
    assert_eq!(edited.code, 0, "{}", edited.stderr);
    // It is recorded, and shown, by the form without a prefix.
    assert!(!edited.stdout.contains(r"\\?\"), "{}", edited.stdout);
    for form in [&forms[0], &forms[2], &forms[4]] {
        let log = home.run(&["log", "--place", form], "");
        assert!(log.stdout.contains("applied"), "{form}: {}{}", log.stdout, log.stderr);
    }
}

#[test]
fn names_of_devices_become_no_files_of_a_project() {
    if !is_for_windows() {
        return;
    }
    let home = Home::new();
    let folder = home.path().join("game");
    fs::create_dir_all(folder.join("src")).unwrap();
    let project = r#"{"name":"game","tree":{"$className":"DataModel",
        "ReplicatedStorage":{"$path":"src"}}}"#;
    fs::write(folder.join("default.project.json"), project).unwrap();
    fs::write(folder.join("src/A.luau"), "return 1\n").unwrap();
    for name in ["CON", "nul", "com1.x", "a.", "b ", "c:d", "e?"] {
        let call = serde_json::json!({ "tool": "create_instance", "args": {
            "className": "ModuleScript", "parentPath": "game.ReplicatedStorage", "props": { "Name": name, "Source": "" } } });
        let project = folder.display().to_string();
        let refused = home.run(&["edit", &project, "--ops", "-", "--yes"], &format!("{call}\n"));
        assert_eq!(refused.code, 1, "{name}: {}", refused.stdout);
        assert!(refused.stderr.contains("No file can be called"), "{name}: {}", refused.stderr);
        assert_eq!(fs::read_dir(folder.join("src")).unwrap().count(), 1, "{name}");
    }
}
