//! The binary `vector`, run as a user runs it: in a separate process, with its own home and no
//! terminal.
//!
//! It is built on demand, with the profile of the calling test. This module does not know its
//! commands.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use tempfile::TempDir;

use crate::repository;

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The exit code; -1 if a signal ended it.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// A user's data directory, deleted at the end of the test. Runs in one home share a ledger.
#[derive(Debug)]
pub struct Home(TempDir);

impl Default for Home {
    fn default() -> Self {
        Self::new()
    }
}

impl Home {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder can be made"))
    }

    /// The folder, in which tests may also keep their own files.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A command with this home, and without the rest of the environment.
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        self.command_of(vector(), args)
    }

    /// Like [`Home::command`], for another build of the binary.
    pub fn command_of<S: AsRef<OsStr>>(&self, binary: &Path, args: &[S]) -> Command {
        let mut command = Command::new(binary);
        command.args(args).env_clear();
        // Without these, a process does not start on Windows, or has no folder for temporary files.
        for name in ["SYSTEMROOT", "PATH", "TMPDIR", "TEMP", "TMP"] {
            command.envs(env::var_os(name).map(|value| (name, value)));
        }
        command
            .env("HOME", self.path())
            .env("VECTOR_HOME", self.path().join("vector"))
            .env("NO_COLOR", "1");
        command
    }

    /// Runs the binary to its end.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S], stdin: &str) -> Output {
        run_to_end(self.command(args), stdin)
    }
}

/// Runs a command of the binary to its end.
pub fn run_to_end(mut command: Command, stdin: &str) -> Output {
    let output = run_once(&mut command, stdin);
    // Once in thousands of times, Wine itself does not start, and says nothing. The binary always
    // says why it fails.
    let is_silent = output.stdout.is_empty() && output.stderr.is_empty();
    if is_under_wine() && output.code == 1 && is_silent {
        return run_once(&mut command, stdin);
    }
    output
}

fn run_once(command: &mut Command, stdin: &str) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    // On a separate thread: a child that writes much before it reads would deadlock otherwise.
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
        stdout: as_here(&output.stdout),
        stderr: as_here(&output.stderr),
    }
}

/// Runs the binary once, in a new home.
pub fn run<S: AsRef<OsStr>>(args: &[S], stdin: &str) -> Output {
    Home::new().run(args, stdin)
}

/// The binary: the one that `VECTOR_BINARY` names, so that another build can be tested or measured,
/// otherwise the built one. The first call builds it.
pub fn vector() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        env::var_os("VECTOR_BINARY").map_or_else(|| native().to_owned(), PathBuf::from)
    })
}

/// The binary for this system, whatever `VECTOR_BINARY` names. The first call builds it.
pub fn native() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(build)
}

/// Whether the binary is one for Windows, on Windows or under Wine: `.ci/windows` says so with
/// `VECTOR_BINARY_SYSTEM`.
pub fn is_for_windows() -> bool {
    cfg!(windows) || env::var_os("VECTOR_BINARY_SYSTEM").is_some_and(|it| it == "windows")
}

fn is_under_wine() -> bool {
    is_for_windows() && !cfg!(windows)
}

/// A full path as the binary takes it.
pub fn path_there(path: &Path) -> String {
    let path = path.display().to_string();
    if is_under_wine() { format!("Z:{}", path.replace('/', "\\")) } else { path }
}

/// The binary's own file, as it names it.
pub fn own_path() -> String {
    path_there(&if is_under_wine() { vector().with_extension("exe") } else { vector().to_owned() })
}

/// What the binary printed, with the files of this system named as it names them. Under Wine they
/// are on the drive Z.
fn as_here(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).into_owned();
    if cfg!(windows) || !is_for_windows() { text } else { without_drive(&text) }
}

/// Replaces `Z:\a\b` by `/a/b`, also where JSON writes each backslash twice.
fn without_drive(text: &str) -> String {
    let is_end = |c: char| c.is_whitespace() || "\"'`*?<>|:;,()".contains(c);
    let mut parts = text.split(r"Z:\");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(is_end).unwrap_or(part.len());
        let path = part[..end].trim_start_matches('\\');
        plain.push('/');
        plain.push_str(&path.replace(r"\\", "/").replace('\\', "/"));
        plain.push_str(&part[end..]);
    }
    plain
}

/// Cargo does not tell one package where another's binary is, but it is built in this test's
/// profile folder.
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
    // The whole workspace, so that shared crates have the same features as in the tests, and
    // nothing is compiled twice.
    command
        .current_dir(repository::root())
        .args(["build", "--quiet", "--workspace", "--bin", "vector"])
        .args(["--profile", profile])
        .arg("--target-dir")
        .arg(target);
    // Remove what Cargo sets for the test's package: a build script that depends on it, such as
    // ring's, would run again each time, and all its dependents would be recompiled.
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
