//! The plugin in Studio's folder on Windows, which is one for the whole user.

use std::fs;
use std::path::PathBuf;

use vector_tests::binary::{self, Home};

use super::is_for_windows;

/// Studio's folder in the prefix of the tests.
fn roblox() -> PathBuf {
    let users = binary::vector().with_file_name("prefix").join("drive_c").join("users");
    let entries = fs::read_dir(users).unwrap().map(|entry| entry.unwrap().path());
    let own = entries.into_iter().find(|it| !it.ends_with("Public")).unwrap();
    own.join("AppData").join("Local").join("Roblox")
}

#[test]
fn plugin_is_installed_and_removed() {
    if !is_for_windows() {
        return;
    }
    let home = Home::new();
    fs::create_dir_all(roblox()).unwrap();
    let plugin = roblox().join("Plugins").join("Vector.rbxm");
    for _ in 0..2 {
        let installed = home.run(&["plugin", "install"], "");
        assert_eq!(installed.code, 0, "{}", installed.stderr);
        assert!(fs::read(&plugin).unwrap().starts_with(b"<roblox!"));
    }
    let removed = home.run(&["plugin", "uninstall"], "");
    assert_eq!(removed.code, 0, "{}", removed.stderr);
    assert!(!plugin.exists());
    fs::remove_dir_all(roblox()).unwrap();
}
