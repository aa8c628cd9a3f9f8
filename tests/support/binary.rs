//! The binary `vector`, run as a user runs it: another process, a home of its own, no terminal.
//!
//! It is built on demand, with the profile of the test that asks. Nothing here knows its commands.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use tempfile::TempDir;

use crate::repository;

/// What a run left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The exit code; -1 where a signal ended it.
    pub code: i32,
    /// What it wrote to stdout.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
}

/// A user's data directory that ends with the test. Runs in one home share a ledger.
#[derive(Debug)]
pub struct Home(TempDir);

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Home {
    /// An empty home.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder can be made"))
    }

    /// Its folder, which tests may also keep files of their own in.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A command that sees this home and nothing else of the environment.
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(vector());
        command.args(args).env_clear();
        // Without these a process does not start (Windows), or has nowhere for its files.
        for name in ["SYSTEMROOT", "PATH", "TMPDIR", "TEMP", "TMP"] {
            command.envs(env::var_os(name).map(|value| (name, value)));
        }
        command
            .env("HOME", self.path())
            .env("VECTOR_HOME", self.path().join("vector"))
            .env("NO_COLOR", "1");
        command
    }

    /// Runs it to its end.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S], stdin: &str) -> Output {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        // On a thread of its own: a child that writes much before it reads would wait for us.
        let mut pipe = child.stdin.take().expect("stdin is piped");
        let text = stdin.to_owned();
        let writer = thread::spawn(move || {
            // A child that ends without reading everything is not an error.
            let _ = pipe.write_all(text.as_bytes());
        });
        let output = child.wait_with_output().expect("the binary ends");
        writer.join().expect("writing does not panic");
        Output {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs the binary once, in a home of its own.
pub fn run<S: AsRef<OsStr>>(args: &[S], stdin: &str) -> Output {
    Home::new().run(args, stdin)
}

/// The built binary. The first call builds it.
pub fn vector() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(build)
}

/// Cargo does not tell one package where another's binary is, but it is built beside our own.
fn build() -> PathBuf {
    let ourselves = env::current_exe().expect("a process knows its file");
    let deps = ourselves.parent().expect("a file lies in a folder");
    let folder = deps.parent().expect("tests lie in TARGET/PROFILE/deps");
    let target = folder.parent().expect("PROFILE lies in TARGET");
    let profile = match folder.file_name().and_then(OsStr::to_str) {
        Some("debug") | None => "dev",
        Some(other) => other,
    };
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    // The whole workspace, so that shared crates have the features that they have in the tests,
    // and nothing is compiled twice.
    command
        .current_dir(repository::root())
        .args(["build", "--quiet", "--workspace", "--bin", "vector"])
        .args(["--profile", profile])
        .arg("--target-dir")
        .arg(target);
    // What cargo tells a test about its package: a build script that looks at it, as ring's does,
    // would be run anew each time, and all that stands on it be compiled twice.
    let told = |name: &str| {
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name == "OUT_DIR"
    };
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(told)) {
        command.env_remove(name);
    }
    let status = command.status().expect("cargo starts");
    assert!(status.success(), "the binary `vector` does not build");
    let binary = folder.join(format!("vector{}", env::consts::EXE_SUFFIX));
    assert!(binary.is_file(), "{} was not built", binary.display());
    binary
}
