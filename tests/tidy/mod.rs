//! Rules that neither Cargo nor the compiler can check: what the pure crates must not use, and what
//! no file may contain. The `Cargo.toml` files determine which crate may depend on which.
//!
//! The rules read the sources as text. What clippy and rustfmt can check is left to them.

mod modules;
mod named;
mod names;
mod paths;
mod rules;
mod source;
mod words;

use std::fmt;
use std::fs;

use vector_tests::repository;

use self::source::Source;

/// A violation of a rule at a line.
#[derive(Debug)]
struct Violation {
    path: String,
    line: usize,
    rule: &'static str,
    what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, rule, what } = self;
        write!(f, "{path}:{line}: {rule}: {what}")
    }
}

/// The root files of the compilation. All other sources must be reachable from here.
const ROOTS: [(&str, bool); 10] = [
    ("scene-schemas/src/lib.rs", false),
    ("daemon/src/lib.rs", false),
    ("daemon/src/main.rs", false),
    ("daemon/build.rs", false),
    ("tests/support/lib.rs", true),
    ("tests/fake-cloud/src/lib.rs", true),
    ("tests/plugin-types/src/lib.rs", true),
    ("tests/random-draws/src/lib.rs", true),
    ("tests/studio-sim/src/lib.rs", true),
    ("tests/main.rs", true),
];

fn read(path: &str) -> Option<String> {
    fs::read_to_string(repository::root().join(path)).ok()
}

/// All Rust sources of the repository, and the violations of the module structure.
fn sources() -> (Vec<Source>, Vec<Violation>) {
    let mut roots = ROOTS.map(|(path, test)| (path.to_owned(), test)).to_vec();
    let crates = repository::files("daemon/crates", "rs");
    roots.extend(crates.into_iter().filter(|it| it.ends_with("/src/lib.rs")).map(|it| (it, false)));
    let benches = repository::files("tests/benches", "rs");
    roots.extend(benches.into_iter().map(|path| (path, true)));
    let (reached, mut violations) = modules::reach(roots, read);
    for folder in ["scene-schemas", "daemon", "tests"] {
        let files = repository::files(folder, "rs");
        violations.extend(modules::forgotten(&files, &reached));
    }
    (reached, violations)
}

#[test]
fn sources_follow_the_rules() {
    let (sources, mut violations) = sources();
    assert!(sources.len() > 50, "only {} sources found", sources.len());
    for source in &sources {
        violations.extend(rules::all(source));
    }
    for path in repository::files("plugin", "luau") {
        violations.extend(rules::luau_marks(&path, &read(&path).unwrap_or_default()));
    }
    let said: Vec<_> = violations.iter().map(ToString::to_string).collect();
    assert!(said.is_empty(), "\n{}\n", said.join("\n"));
}

/// Compares the violations of a sample with the expected ones: `LINE: rule` each.
#[cfg(test)]
#[track_caller]
fn expect(violations: &[Violation], expected: &[&str]) {
    let found: Vec<_> = violations.iter().map(|it| format!("{}: {}", it.line, it.rule)).collect();
    assert_eq!(found, expected, "{violations:#?}");
}
