//! `install.sh`, and the files for package managers.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value as Json;
use vector_tests::repository;

use super::has_python;
use super::release::{FileServer, Release, VERSION, below};

/// Runs the script as its first line says: from a pipe, in a new user's home.
pub(super) fn install(
    server: &FileServer,
    home: &Path,
    variables: &[(&str, &str)],
    script: &[u8],
) -> Output {
    let mut command = Command::new("sh");
    command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin");
    command.env("VECTOR_RELEASES", &server.address).envs(variables.iter().copied());
    let pipe = Stdio::piped;
    let mut child =
        command.stdin(pipe()).stdout(pipe()).stderr(pipe()).current_dir(home).spawn().unwrap();
    // A script that ends early does not read the rest.
    let _ = child.stdin.take().unwrap().write_all(script);
    child.wait_with_output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

#[test]
fn script_installs_updates_and_refuses_what_does_not_match() {
    if !has_python() {
        return;
    }
    let server = Release::serve();
    let script = server.get("/latest/download/install.sh");
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let run = |variables: &[(&str, &str)]| install(&server, home, variables, &script);

    let installed = run(&[]);
    assert!(installed.status.success(), "{}", said(&installed));
    assert!(said(&installed).contains(&format!("Installed Vector {VERSION}")));
    assert!(said(&installed).contains("not on your PATH"), "{}", said(&installed));
    let here = [".local", ".local/bin", ".local/bin/vector"];
    assert_eq!(below(home), here);
    let vector = home.join(".local/bin/vector");
    let sample = repository::root().join("samples/obby.rbxlx");
    let shown = Command::new(&vector).arg("show").arg(&sample).output().unwrap();
    assert!(shown.status.success() && said(&shown).contains("Workspace"), "{}", said(&shown));

    // Again, and a version that is named: over a binary that runs.
    let version = [("VECTOR_VERSION", VERSION)];
    for variables in [&[][..], &version] {
        let again = run(variables);
        assert!(again.status.success(), "{}", said(&again));
    }
    assert_eq!(below(home), here);
    let before = fs::read(&vector).unwrap();

    let missing = run(&[("VECTOR_VERSION", "9.9.9")]);
    assert!(!missing.status.success());
    assert!(said(&missing).contains("download/v9.9.9/SHA256SUMS cannot be downloaded"));
    let no_folder = run(&[("VECTOR_INSTALL", "/dev/null/folder")]);
    assert!(!no_folder.status.success());
    assert!(said(&no_folder).contains("VECTOR_INSTALL=FOLDER"), "{}", said(&no_folder));
    // A download that broke off: none of it runs.
    for len in [script.len() / 2, script.len() - 10] {
        let fresh = tempfile::tempdir().unwrap();
        install(&server, fresh.path(), &[], &script[..len]);
        assert_eq!(below(fresh.path()), [""; 0]);
    }

    // An archive that is not the one of the checksums.
    let cpu = std::env::consts::ARCH;
    let archive = format!("/latest/download/vector-{VERSION}-linux-{cpu}.zip");
    let mut changed = server.get(&archive);
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    server.put(&archive, changed);
    let refused = run(&[]);
    assert!(!refused.status.success());
    assert!(said(&refused).contains("nothing was installed"), "{}", said(&refused));
    assert_eq!(below(home), here);
    assert!(fs::read(&vector).unwrap() == before);
    // Checksums without an archive for this system.
    server.put("/latest/download/SHA256SUMS", "");
    let refused = run(&[]);
    assert!(said(&refused).contains("has no archive for linux-"), "{}", said(&refused));
}

#[test]
fn manifests_name_each_archive_with_its_checksum() {
    if !has_python() {
        return;
    }
    let release = Release::pack();
    let sum = |label: &str| {
        let file = release.packed().join(format!("vector-{VERSION}-{label}.zip"));
        scene_schemas::Fingerprint::hash_bytes(&fs::read(file).unwrap()).to_string()
    };
    let address = format!("https://github.com/owner/name/releases/download/v{VERSION}/");
    let read = |path: &str| fs::read_to_string(release.made().join(path)).unwrap();
    let scoop: Json = serde_json::from_str(&read("scoop/vector.json")).unwrap();
    for (name, label) in [("64bit", "windows-x86_64"), ("arm64", "windows-aarch64")] {
        let part = &scoop["architecture"][name];
        assert_eq!(part["hash"], sum(label));
        assert_eq!(part["url"], format!("{address}vector-{VERSION}-{label}.zip"));
    }
    let homebrew = read("homebrew/vector.rb");
    for label in ["macos-aarch64", "macos-x86_64", "linux-aarch64", "linux-x86_64"] {
        let url = format!(
            "url \"{address}vector-{VERSION}-{label}.zip\"\n      sha256 \"{}\"",
            sum(label)
        );
        assert!(homebrew.contains(&url), "{homebrew}");
    }
    let winget = read("winget/Vector.Vector.installer.yaml");
    for label in ["windows-x86_64", "windows-aarch64"] {
        assert!(winget.contains(&format!("InstallerSha256: {}", sum(label).to_uppercase())));
    }
    let package: toml::Table = repository::read("daemon/Cargo.toml").parse().unwrap();
    let overrides = &package["package"]["metadata"]["binstall"]["overrides"];
    for (target, of_target) in overrides.as_table().unwrap() {
        let url = of_target["pkg-url"].as_str().unwrap();
        let url = url.replace("{ repo }", "R").replace("{ version }", VERSION);
        let prefix = format!("R/releases/download/v{VERSION}/");
        let archive = url.strip_prefix(&prefix).unwrap();
        assert!(release.packed().join(archive).exists(), "{target}: {url}");
    }
    assert!(read("install.ps1").contains("https://github.com/owner/name/releases"));
    for name in ["install.sh", "install.ps1"] {
        assert!(!read(name).contains("@RELEASES@"), "{name}");
    }

    // The same files again, and none of a release that is not whole.
    let before = read("npm/../scoop/vector.json");
    assert!(release.distribute("owner/name").status.success());
    assert_eq!(read("scoop/vector.json"), before);
    assert!(!release.distribute("owner").status.success());
    fs::write(release.packed().join("vector-9.9.9-linux-x86_64.zip"), "").unwrap();
    let refused = release.distribute("owner/name");
    assert!(said(&refused).contains("archives of 2 versions"), "{}", said(&refused));
}
