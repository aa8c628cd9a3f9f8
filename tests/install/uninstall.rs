//! `vector uninstall`: after a release was installed and everything was used that leaves something.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use vector_tests::binary::{Output, run_to_end};
use vector_tests::places::{self, Format};
use vector_tests::requirement::Requirement;

use super::has_python;
use super::release::{FileServer, Release, below};
use super::script::install;

/// A user's home, in which the install script installed Vector.
struct Person {
    folder: tempfile::TempDir,
    server: FileServer,
}

impl Person {
    fn new() -> Option<Self> {
        if !has_python() {
            return None;
        }
        if Command::new("git").arg("--version").output().is_err() {
            Requirement::Git.skip("uninstalling (Git is not installed)");
            return None;
        }
        let server = Release::serve();
        let person = Self { folder: tempfile::tempdir().unwrap(), server };
        person.install();
        Some(person)
    }

    fn install(&self) {
        let script = self.server.get("/latest/download/install.sh");
        let installed = install(&self.server, self.home(), &[], &script);
        assert!(installed.status.success(), "{installed:?}");
    }

    fn home(&self) -> &Path {
        self.folder.path()
    }

    fn at(&self, path: &str) -> PathBuf {
        self.home().join(path)
    }

    fn command(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).env_clear().env("HOME", self.home()).env("PATH", "/usr/bin:/bin");
        command.env("NO_COLOR", "1").env("VECTOR_PORT", "0").current_dir(self.home());
        command
    }

    fn vector(&self, args: &[&str]) -> Output {
        run_to_end(self.command(&self.at(".local/bin/vector"), args), "")
    }

    #[track_caller]
    fn done(&self, args: &[&str]) -> Output {
        let output = self.vector(args);
        assert_eq!(output.code, 0, "{args:?}: {output:?}");
        output
    }

    fn git(&self, folder: &str, args: &[&str]) -> String {
        let mut command = self.command(Path::new("git"), args);
        let output = command.current_dir(self.at(folder)).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Uses every command that leaves something, beside files of other programs.
    fn use_everything(&self) {
        for folder in [
            ".cursor",
            ".wine/drive_c/users/me/AppData/Local/Roblox",
            "other/plugins",
            ".local/share/bash-completion/completions",
            ".config/fish/completions",
            ".zfunc",
        ] {
            fs::create_dir_all(self.at(folder)).unwrap();
        }
        fs::write(self.at(".cursor/mcp.json"), CURSOR).unwrap();
        fs::write(self.at("place.rbxl"), places::sample(Format::Rbxl)).unwrap();
        self.done(&["setup"]);
        self.done(&["plugin", "install", "--folder", "other/plugins/new"]);
        for (shell, file) in [
            ("bash", ".local/share/bash-completion/completions/vector"),
            ("fish", ".config/fish/completions/vector.fish"),
            ("zsh", ".zfunc/_vector"),
        ] {
            fs::write(self.at(file), self.done(&["completions", shell]).stdout).unwrap();
        }
        self.done(&["man", "--out", ".local/share/man/man1"]);
        fs::write(self.at(".local/share/man/man1/vectorize.1"), ".TH vectorize 1\n").unwrap();
        for (folder, is_committed) in [("game", true), ("draft", false)] {
            fs::create_dir(self.at(folder)).unwrap();
            self.git(folder, &["init", "--quiet"]);
            let mut install = self.command(&self.at(".local/bin/vector"), &["git", "install"]);
            assert!(install.current_dir(self.at(folder)).output().unwrap().status.success());
            if is_committed {
                self.git(folder, &["add", ".gitattributes"]);
            }
        }
        self.done(&["edit", "place.rbxl", "--prompt", "anchor all parts", "--yes"]);
        self.done(&["open", "place.rbxl", "--print"]);
    }
}

const CURSOR: &str =
    "{\n  // mine\n  \"mcpServers\": { \"other\": { \"command\": \"other\" } }\n}\n";

/// What is left below a home that is of nobody else.
fn own_files(home: &Path) -> Vec<String> {
    let is_other = |path: &String| {
        let path = Path::new(path);
        let is_below = |folder: &str| path.starts_with(folder);
        ["game", "draft", "place.rbxl"].into_iter().any(is_below) || home.join(path).is_dir()
    };
    below(home).into_iter().filter(|path| !is_other(path)).collect()
}

#[test]
fn everything_is_listed_and_removed_and_the_ledger_stays() {
    let Some(person) = Person::new() else { return };
    let home = person.home();
    person.use_everything();
    let before = below(home);

    // Nothing without a yes.
    let listed = person.done(&["uninstall", "--dry-run"]);
    for part in [
        "the daemon (process ",
        "Cursor: the entry in ",
        ".wine/drive_c/users/me/AppData/Local/Roblox/Plugins/Vector.rbxm",
        "other/plugins/new/Vector.rbxm",
        "Git: the merge driver and text form in ",
        "completions/vector\n",
        "completions/vector.fish",
        ".zfunc/_vector",
        "man pages in ",
        "access, settings and log of the daemon in ",
        "the program ",
        "the ledger in ",
    ] {
        assert!(listed.stdout.contains(part), "{part}: {}", listed.stdout);
    }
    let asked = person.vector(&["uninstall"]);
    assert_eq!(asked.code, 3, "{asked:?}");
    assert!(asked.stderr.contains("--yes removes without asking"), "{asked:?}");
    assert_eq!(below(home), before);

    let removed = person.done(&["uninstall", "--yes"]);
    let committed = format!("{} is committed", person.at("game/.gitattributes").display());
    assert!(removed.stderr.contains(&committed), "{removed:?}");
    let ledger = ".local/share/vector/";
    let left: Vec<String> =
        own_files(home).into_iter().filter(|path| !path.starts_with(ledger)).collect();
    assert_eq!(left, [".cursor/mcp.json", ".local/share/man/man1/vectorize.1"]);
    let kept: Vec<String> = below(&home.join(ledger));
    for name in &kept {
        let is_ledger = ["ledger", "applying.lock", "leases"].iter().any(|it| name.starts_with(it));
        assert!(is_ledger, "{kept:?}");
    }
    assert_eq!(fs::read_to_string(person.at(".cursor/mcp.json")).unwrap(), CURSOR);
    assert!(!person.at("other/plugins/new").exists());
    for folder in ["game", "draft"] {
        let config = person.git(folder, &["config", "--local", "--list"]);
        assert!(!config.contains("vector"), "{config}");
    }
    assert!(person.at("game/.gitattributes").exists());
    assert!(!person.at("draft/.gitattributes").exists());

    // Installed again, it still knows what was done; and this can be removed too.
    person.install();
    assert!(person.done(&["log"]).stdout.contains("anchor all parts"));
    let removed = person.done(&["uninstall", "--ledger", "--yes"]);
    assert!(removed.stdout.contains("Removed: the ledger in "), "{removed:?}");
    assert_eq!(own_files(home), [".cursor/mcp.json", ".local/share/man/man1/vectorize.1"]);
    assert!(!person.at(ledger).exists());
}

#[test]
fn what_cannot_be_removed_stays_on_record() {
    let Some(person) = Person::new() else { return };
    person.use_everything();
    fs::write(person.at(".cursor/mcp.json"), "{ not JSON").unwrap();
    // A repository that does not exist any more has nothing to undo.
    fs::remove_dir_all(person.at("draft")).unwrap();
    let failed = person.vector(&["uninstall", "--yes"]);
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.stderr.contains("error: not removed: Cursor: the entry in "), "{failed:?}");
    assert_eq!(fs::read_to_string(person.at(".cursor/mcp.json")).unwrap(), "{ not JSON");
    let left = person.done(&["uninstall", "--dry-run"]).stdout;
    assert!(left.contains("Cursor") && left.contains("the program"), "{left}");
    assert!(!left.contains("Git:") && !left.contains("Studio:"), "{left}");

    fs::write(person.at(".cursor/mcp.json"), CURSOR).unwrap();
    person.done(&["uninstall", "--yes"]);
    assert!(!person.at(".local/bin/vector").exists());
    assert!(!person.at(".local/share/vector/setup.json").exists());
}

#[test]
fn ledger_of_a_running_task_is_not_removed() {
    let Some(person) = Person::new() else { return };
    fs::write(person.at("place.rbxl"), places::sample(Format::Rbxl)).unwrap();
    person.done(&["edit", "place.rbxl", "--prompt", "anchor all parts", "--yes"]);
    // As a process that works on a task holds it.
    let lease = person.at(".local/share/vector/leases/1.lock");
    let lease = fs::File::create(lease).unwrap();
    lease.lock().unwrap();
    let before = own_files(person.home());
    let refused = person.vector(&["uninstall", "--ledger", "--yes"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("a task is running"), "{refused:?}");
    assert_eq!(own_files(person.home()), before);
    lease.unlock().unwrap();
    person.done(&["uninstall", "--ledger", "--yes"]);
    assert_eq!(own_files(person.home()), [""; 0]);
}
