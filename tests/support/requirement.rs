//! Requirements of tests that a machine may lack: programs, npm packages, and the shared cases.
//!
//! A test whose requirement is missing is skipped with a notice. `VECTOR_REQUIRE` lists the
//! requirements that must not be missing, separated by commas: then the test fails instead.
//! `.ci/run` sets it.

use std::collections::BTreeSet;
use std::env;
use std::io::{self, Write};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The variable that lists what must not be missing.
const VARIABLE: &str = "VECTOR_REQUIRE";

/// Something that a test needs and a machine may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Requirement {
    /// Claude Code, Codex and Gemini CLI from npm.
    Agents,
    /// The accessibility checker axe-core from npm.
    Axe,
    /// The folder of `VECTOR_CASES`.
    Cases,
    Chromium,
    /// CodeMirror and esbuild from npm.
    Editor,
    Git,
    /// Jest-Lua from npm.
    Jest,
    /// A Secret Service: GNOME's keyring, and a session bus for it.
    Keyring,
    /// The official MCP SDK from npm.
    Mcp,
    Node,
    /// Luau packages from npm.
    Packages,
    /// Python, with which releases are packed.
    Python,
    /// Rojo, in the version whose behavior Vector follows.
    Rojo,
    /// The binary for Windows.
    Windows,
}

/// The notices that were printed.
static NOTICES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

impl Requirement {
    const ALL: [Self; 14] = [
        Self::Agents,
        Self::Axe,
        Self::Cases,
        Self::Chromium,
        Self::Editor,
        Self::Git,
        Self::Jest,
        Self::Keyring,
        Self::Mcp,
        Self::Node,
        Self::Packages,
        Self::Python,
        Self::Rojo,
        Self::Windows,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Agents => "agents",
            Self::Axe => "axe",
            Self::Cases => "cases",
            Self::Chromium => "chromium",
            Self::Editor => "editor",
            Self::Git => "git",
            Self::Jest => "jest",
            Self::Keyring => "keyring",
            Self::Mcp => "mcp",
            Self::Node => "node",
            Self::Packages => "packages",
            Self::Python => "python",
            Self::Rojo => "rojo",
            Self::Windows => "windows",
        }
    }

    /// Reports that this is missing: prints `reason` once, so that the caller can skip its test.
    ///
    /// # Panics
    /// `VECTOR_REQUIRE` names it.
    #[track_caller]
    pub fn skip(self, reason: &str) {
        let list = env::var(VARIABLE).unwrap_or_default();
        let required = parse(&list).unwrap_or_else(|error| panic!("{error}"));
        assert!(
            !required.contains(&self),
            "{VARIABLE} names `{}`, which is missing: {reason}",
            self.name()
        );
        let mut notices = NOTICES.lock().unwrap_or_else(PoisonError::into_inner);
        if notices.insert(reason.to_owned()) {
            // The test runner captures what `eprintln!` prints.
            let _ = writeln!(io::stderr(), "skipped: {reason}");
        }
    }
}

/// Parses a list of requirements, separated by commas.
///
/// # Errors
/// A name that is not known.
fn parse(list: &str) -> Result<BTreeSet<Requirement>, String> {
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    names
        .map(|name| {
            let all = Requirement::ALL;
            all.into_iter().find(|it| it.name() == name).ok_or_else(|| {
                let known = all.map(Requirement::name).join(", ");
                format!("{VARIABLE} names `{name}`, which is not a requirement. Known: {known}.")
            })
        })
        .collect()
}

/// Whether Git is installed; prints a notice if not.
///
/// # Panics
/// It is missing and required.
#[track_caller]
pub fn has_git() -> bool {
    let has_git = Command::new("git").arg("--version").output().is_ok();
    if !has_git {
        Requirement::Git.skip("tests with Git (git is not installed)");
    }
    has_git
}

/// Parses a list of requirements, and returns their number.
///
/// # Errors
/// It contains an unknown name.
pub fn check_list(value: &str) -> Result<usize, String> {
    parse(value).map(|required| required.len())
}
