//! A small Rojo project in a Git repository with one commit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::requirement::has_git;

#[derive(Debug)]
pub struct Committed {
    /// The folder of the repository, which is also the project's.
    pub folder: PathBuf,
}

impl Committed {
    /// Creates a project with the modules `One` and `Two` in ServerStorage, in a folder below
    /// `home`; None, with a notice, if Git is missing.
    pub fn new(home: &Path) -> Option<Self> {
        if !has_git() {
            return None;
        }
        let folder = home.canonicalize().expect("it is there").join("game");
        fs::create_dir_all(folder.join("src")).expect("a folder is made");
        let tree = r#"{ "name": "Game", "tree": { "$className": "DataModel",
            "ServerStorage": { "$path": "src" } } }"#;
        for (file, text) in [
            ("default.project.json", tree),
            ("src/One.luau", "return 1\n"),
            ("src/Two.luau", "return 2\n"),
        ] {
            fs::write(folder.join(file), text).expect("a file is written");
        }
        let committed = Self { folder };
        committed.git(&["init", "--quiet", "--initial-branch", "main"]);
        committed.git(&["config", "user.name", "A person"]);
        committed.git(&["config", "user.email", "person@example.com"]);
        committed.git(&["add", "."]);
        committed.git(&["commit", "--quiet", "-m", "Begin"]);
        Some(committed)
    }

    /// Runs Git in the repository, and returns its output.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let out = Command::new("git").arg("-C").arg(&self.folder).args(args).output();
        let out = out.expect("git runs");
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).expect("it is UTF-8").trim().to_owned()
    }
}
