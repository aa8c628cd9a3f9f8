//! The npm packages, from a registry on this machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value as Json, json};
use tempfile::TempDir;
use vector_tests::repository;
use vector_tests::requirement::Requirement;

use super::has_python;
use super::release::{FileServer, Release, VERSION};

/// What a registry answers about a package: its `package.json` and where its archive is.
fn publish(server: &FileServer, archive: &Path) {
    let unpacked = tempfile::tempdir().unwrap();
    let status =
        Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(unpacked.path()).status();
    assert!(status.unwrap().success());
    let manifest = fs::read_to_string(unpacked.path().join("package/package.json")).unwrap();
    let mut manifest: Json = serde_json::from_str(&manifest).unwrap();
    let name = manifest["name"].as_str().unwrap().to_owned();
    let path = format!("/{name}/-/{name}-{VERSION}.tgz");
    manifest["dist"] = json!({ "tarball": format!("{}{path}", server.address) });
    let about = json!({
        "name": name, "dist-tags": { "latest": VERSION }, "versions": { VERSION: manifest },
    });
    server.put(&format!("/{name}"), about.to_string());
    server.put(&path, fs::read(archive).unwrap());
}

/// npm in a new user's home, with a registry on this machine that has the packages of a release.
pub(super) struct NpmUser {
    pub(super) home: TempDir,
    registry: FileServer,
}

impl NpmUser {
    /// None if npm, or what packs a release, is not installed.
    pub(super) fn new() -> Option<Self> {
        if !has_python() {
            return None;
        }
        if Command::new("npm").arg("--version").output().is_err() {
            Requirement::Node.skip("the npm package (npm is not installed)");
            return None;
        }
        let release = Release::pack();
        let registry = FileServer::start(BTreeMap::new());
        for entry in fs::read_dir(release.made().join("npm")).unwrap() {
            publish(&registry, &entry.unwrap().path());
        }
        Some(Self { home: tempfile::tempdir().unwrap(), registry })
    }

    /// Runs npm, and returns what it printed.
    #[track_caller]
    pub(super) fn npm(&self, args: &[&str]) -> String {
        let home = self.home.path();
        let mut command = Command::new("npm");
        command.args(args).env("HOME", home).current_dir(home);
        command.env("npm_config_registry", &self.registry.address);
        command.env("npm_config_cache", home.join("cache"));
        command.env("npm_config_prefix", home.join("prefix"));
        command.env("npm_config_update_notifier", "false");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    }

    pub(super) fn install(&self) {
        self.npm(&["install", "--global", "--no-audit", "--no-fund", "vector-roblox"]);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn package_brings_the_binary_of_this_system_alone() {
    let Some(user) = NpmUser::new() else { return };
    user.install();
    let home = user.home.path();
    let vector = home.join("prefix/bin/vector");
    let sample = repository::root().join("samples/obby.rbxlx").display().to_string();
    let run = |args: &[&str]| Command::new(&vector).args(args).output().unwrap();
    let version = run(&["--version"]);
    assert!(text(&version.stdout).starts_with(&format!("vector {VERSION} ")));
    assert!(text(&run(&["show", &sample]).stdout).contains("Workspace"));
    // Its exit codes, and what it prints where.
    let refused = run(&["show", "no-such-place.rbxl"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("no-such-place.rbxl"), "{}", text(&refused.stderr));
    let modules = home.join("prefix/lib/node_modules/vector-roblox/node_modules");
    let parts: Vec<_> = fs::read_dir(modules).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(parts.len() == 1, "{parts:?}");
    // As MCP clients start it.
    let package = ["exec", "--yes", "--package", "vector-roblox", "--", "vector", "--version"];
    assert!(user.npm(&package).contains(VERSION));
    user.npm(&["uninstall", "--global", "vector-roblox"]);
    assert!(!vector.exists());
    assert!(!home.join("prefix/lib/node_modules/vector-roblox").exists());
}
