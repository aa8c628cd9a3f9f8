//! Checks of other programs that Vector uses if they are installed. None is required to start.
//!
//! A program that does not print its version in time is killed.

use std::env;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::CheckSite;
use super::finding::DoctorFinding;
use crate::tasks::check::types::TypeChecker;

/// The time limit for a program to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval for checking whether the program has exited.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// The names of Chromium's executable, and its locations on systems that do not add it to `PATH`.
const CHROMIUM: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "msedge"];
const CHROMIUM_AT: [&str; 4] = [
    "/Applications/Chromium.app",
    "/Applications/Google Chrome.app",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
];

pub(super) fn check_programs(_: &CheckSite) -> Vec<DoctorFinding> {
    vec![
        check_program("rojo", "Rojo, which syncs a project's files to Studio"),
        check_program("git", "Git, which `vector git` and `vector commit` use"),
        check_type_checker(),
        check_chromium(),
    ]
}

fn check_program(name: &str, what: &str) -> DoctorFinding {
    match program_version(name) {
        Ok(version) => DoctorFinding::ok(name, version),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DoctorFinding::note(name, format!("not on PATH: {what}"))
        }
        Err(error) => DoctorFinding::note(name, format!("its version is not known: {error}")),
    }
}

fn check_type_checker() -> DoctorFinding {
    match TypeChecker::find_installed() {
        Ok(checker) => {
            DoctorFinding::ok("types", format!("checked by {}", checker.program.display()))
        }
        Err(why) => DoctorFinding::note("types", why),
    }
}

fn check_chromium() -> DoctorFinding {
    let folders = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&folders).flat_map(|folder| {
        CHROMIUM.map(|name| folder.join(format!("{name}{}", env::consts::EXE_SUFFIX)))
    });
    match on_path.chain(CHROMIUM_AT.map(PathBuf::from)).find(|file| file.exists()) {
        Some(file) => DoctorFinding::ok("chromium", file.display().to_string()),
        None => DoctorFinding::note("chromium", "not found; only Vector's own tests use it"),
    }
}

/// The first line of a program's version output.
fn program_version(program: &str) -> io::Result<String> {
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let until = Instant::now() + VERSION_TIMEOUT;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= until {
            let _ = child.kill();
            child.wait()?;
            return Err(io::Error::other("it does not exit"));
        }
        sleep(POLL_INTERVAL);
    };
    let mut text = String::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(4_096).read_to_string(&mut text)?;
    }
    match text.lines().next().map(str::trim) {
        Some(line) if status.success() && !line.is_empty() => Ok(line.to_owned()),
        _ => Err(io::Error::other(format!("it exited with {status}"))),
    }
}
