//! A small Rojo project in a repository of Git, with one commit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::requirement::has_git;

/// The repository.
#[derive(Debug)]
pub struct Committed {
    /// Its folder, which is the project's.
    pub folder: PathBuf,
}

impl Committed {
    /// One with the modules `One` and `Two` of ServerStorage, in a folder of this one; none where there is
    /// no Git, which is said.
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

    /// What Git says there.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let out = Command::new("git").arg("-C").arg(&self.folder).args(args).output();
        let out = out.expect("git runs");
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).expect("it is UTF-8").trim().to_owned()
    }
}
