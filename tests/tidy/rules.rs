//! Rules about the contents of each file.
//!
//! Each rule is a function from a source to its violations, with a bad sample below.

use super::Violation;
use super::paths::{paths, tokens};
use super::source::{Source, line_of};

/// A longer file should be split by subject.
const MAX_LINES: usize = 700;

/// The crates that only compute.
const PURE: [&str; 5] = [
    "daemon/crates/core/",
    "daemon/crates/luau/",
    "daemon/crates/place/",
    "daemon/crates/render/",
    "daemon/crates/text-edit/",
];

/// Modules that wait, read a clock, or access files, the network or the environment.
const IMPURE: [&str; 13] = [
    "std::env",
    "std::fs",
    "std::io::stderr",
    "std::io::stdin",
    "std::io::stdout",
    "std::net",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "reqwest",
    "rusqlite",
    "tokio",
];

const PRINTING: [&str; 4] = ["print", "println", "eprint", "eprintln"];
const UNFINISHED: [&str; 3] = ["dbg", "todo", "unimplemented"];
const MARKS: [&str; 3] = ["TODO", "FIXME", "XXX"];

/// Applies all rules to one file.
pub(super) fn all(source: &Source) -> Vec<Violation> {
    let rules = [documented, short, pure, fallible, marks];
    rules.iter().flat_map(|rule| rule(source)).collect()
}

fn violation(source: &Source, at: usize, rule: &'static str, what: String) -> Violation {
    Violation { path: source.path.clone(), line: line_of(&source.text, at), rule, what }
}

/// Every file must begin with a module doc.
fn documented(source: &Source) -> Vec<Violation> {
    if source.text.trim_start().starts_with("//!") {
        return vec![];
    }
    let what = "it begins without `//!`, which says why it exists and what it must not know";
    vec![violation(source, 0, "documented", what.to_owned())]
}

fn short(source: &Source) -> Vec<Violation> {
    if source.lines <= MAX_LINES || source.test {
        return vec![];
    }
    let what = format!("{} lines without tests; at most {MAX_LINES}", source.lines);
    vec![violation(source, 0, "short", what)]
}

fn pure(source: &Source) -> Vec<Violation> {
    if source.test || !PURE.iter().any(|it| source.path.starts_with(it)) {
        return vec![];
    }
    let mut found = Vec::new();
    for (at, segments) in paths(&source.code) {
        let path = segments.join("::");
        let path = path.strip_suffix("::*").unwrap_or(&path);
        if IMPURE.iter().any(|impure| meets(path, impure)) {
            found.push(violation(source, at, "pure", format!("a pure crate names `{path}`")));
        }
    }
    for (at, name) in macros(&source.code, &PRINTING) {
        found.push(violation(source, at, "pure", format!("a pure crate prints: `{name}!`")));
    }
    found
}

/// Whether a path leads into an impure module, or imports its parent module as a whole.
fn meets(path: &str, impure: &str) -> bool {
    let within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    within(path, impure) || path != "std::io" && within(impure, path)
}

/// The calls of these macros, with their byte offsets.
fn macros<'a>(code: &'a str, names: &[&str]) -> Vec<(usize, &'a str)> {
    let tokens = tokens(code);
    let called = tokens.windows(2).filter(|two| two[1].1 == "!" && names.contains(&two[0].1));
    called.map(|two| two[0]).collect()
}

/// Code outside tests must return errors instead of unwrapping.
fn fallible(source: &Source) -> Vec<Violation> {
    if source.test {
        return vec![];
    }
    // A parser may have its own method named `expect`.
    let unwraps = |four: &&[(usize, &str)]| {
        four[1].1 == "."
            && matches!(four[2].1, "unwrap" | "expect")
            && four[3].1 == "("
            && !(four[0].1 == "self" && four[2].1 == "expect")
    };
    let what = |name| format!("`{name}` outside tests; return an error or a refusal");
    tokens(&source.code)
        .windows(4)
        .filter(unwraps)
        .map(|four| violation(source, four[2].0, "fallible", what(four[2].1)))
        .collect()
}

fn marks(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    for (at, name) in macros(&source.all_code, &UNFINISHED) {
        found.push(violation(source, at, "finished", format!("`{name}!`")));
    }
    for (at, word) in marks_in(&source.comments) {
        found.push(violation(source, at, "finished", format!("a mark: {word}")));
    }
    found
}

/// The same marks in the plugin's files.
pub(super) fn luau_marks(path: &str, text: &str) -> Vec<Violation> {
    marks_in(text)
        .map(|(at, word)| Violation {
            path: path.to_owned(),
            line: line_of(text, at),
            rule: "finished",
            what: format!("a mark: {word}"),
        })
        .collect()
}

fn marks_in(text: &str) -> impl Iterator<Item = (usize, &str)> {
    tokens(text).into_iter().filter(|(_, word)| MARKS.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::expect;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[&str]) {
        expect(&all(&Source::new(path, text, false)), expected);
    }

    const CORE: &str = "daemon/crates/place/src/read.rs";
    const SHELL: &str = "daemon/crates/ledger/src/lib.rs";

    #[test]
    fn files_without_a_module_doc_are_reported() {
        check(SHELL, "// Just a note.\n", &["1: documented"]);
        check(SHELL, "", &["1: documented"]);
    }

    #[test]
    fn files_that_are_too_long_are_reported() {
        let long = format!("//! d\n{}", "fn f() {}\n".repeat(700));
        check(SHELL, &long, &["1: short"]);
        let tests = format!("//! d\n#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(700));
        check(SHELL, &tests, &[]);
    }

    #[test]
    fn side_effects_in_pure_crates_are_reported() {
        check(CORE, "//! d\nuse std::time::Duration;\nuse std::io::Read;\n", &[]);
        check(CORE, "//! d\nuse std::{fmt, fs};\n", &["2: pure"]);
        check(CORE, "//! d\nuse std::time;\n", &["2: pure"]);
        check(CORE, "//! d\nuse std::time::*;\n", &["2: pure"]);
        check(CORE, "//! d\nuse tokio;\n", &["2: pure"]);
        check(CORE, "//! d\nfn f() {\n    std::env::var(\"A\");\n}\n", &["3: pure"]);
        check(CORE, "//! d\nfn f() {\n    println!();\n}\n", &["3: pure"]);
        check(SHELL, "//! d\nuse std::fs;\n", &[]);
        check(CORE, "//! d\n#[cfg(test)]\nuse std::fs;\n", &[]);
    }

    #[test]
    fn unwraps_outside_tests_are_reported() {
        check(SHELL, "//! d\nfn f() {\n    g().unwrap();\n}\n", &["3: fallible"]);
        check(SHELL, "//! d\nfn f() {\n    g()\n        .expect(\"x\");\n}\n", &["4: fallible"]);
        check(SHELL, "//! d\n#[expect(unused)]\nfn f() {\n    self.expect(1);\n}\n", &[]);
        check(SHELL, "//! d\nfn f() {\n    g().unwrap_or(\".unwrap()\");\n}\n", &[]);
        check(SHELL, "//! d\n#[cfg(test)]\nmod tests {\n    fn f() { g().unwrap() }\n}\n", &[]);
    }

    #[test]
    fn unfinished_code_is_reported() {
        check(SHELL, "//! d\nfn f() {\n    todo!()\n}\n", &["3: finished"]);
        check(SHELL, "//! d\n#[cfg(test)]\nfn f() {\n    dbg!(1)\n}\n", &["4: finished"]);
        check(SHELL, "//! d\n// TODO: later\n", &["2: finished"]);
        check(SHELL, "//! d\nconst A: &str = \"TODO\";\nfn todo() {}\n", &[]);
        expect(&luau_marks("a.luau", "local a = 1\n-- FIXME\n"), &["2: finished"]);
    }
}
