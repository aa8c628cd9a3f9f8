//! The compiled files: those that a `mod` line leads to.
//!
//! A file without a `mod` line is never compiled and its tests never run, without any warning.
//! `#[path]` is not supported, because this project does not use it.

use std::collections::BTreeSet;

use super::source::{FOR_TESTS, Source, line_of};
use super::{Violation, paths};

/// Follows the `mod` lines from the roots; `true` marks a root that is compiled only for tests.
pub(super) fn reach(
    roots: Vec<(String, bool)>,
    read: impl Fn(&str) -> Option<String>,
) -> (Vec<Source>, Vec<Violation>) {
    let (mut reached, mut violations) = (Vec::new(), Vec::new());
    let mut open: Vec<_> = roots.into_iter().map(|(path, test)| (path, test, true)).collect();
    while let Some((path, test, root)) = open.pop() {
        let source = Source::new(&path, &read(&path).unwrap_or_default(), test);
        let folder = folder(&path, root);
        for module in declared(&source) {
            let name = &module.name;
            let candidates = [format!("{folder}{name}.rs"), format!("{folder}{name}/mod.rs")];
            let Some(file) = candidates.into_iter().find(|file| read(file).is_some()) else {
                violations.push(Violation {
                    path: path.clone(),
                    line: module.line,
                    rule: "modules",
                    what: format!("`mod {name};` has no file"),
                });
                continue;
            };
            open.push((file, test || module.test, false));
        }
        reached.push(source);
    }
    (reached, violations)
}

/// The folder of a file's modules.
fn folder(path: &str, root: bool) -> String {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    match stem.rsplit_once('/') {
        Some((folder, name)) if root || name == "mod" => format!("{folder}/"),
        _ => format!("{stem}/"),
    }
}

struct Module {
    name: String,
    line: usize,
    test: bool,
}

/// The modules that a file declares without a body.
fn declared(source: &Source) -> Vec<Module> {
    let code = &source.all_code;
    let tokens = paths::tokens(code);
    tokens
        .windows(3)
        .filter(|three| three[0].1 == "mod" && three[2].1 == ";")
        .map(|three| {
            // Another attribute or a `pub` may be between the attribute and the `mod`.
            let before = code[..three[0].0].rsplit([';', '}']).next().unwrap_or_default();
            Module {
                name: three[1].1.to_owned(),
                line: line_of(code, three[0].0),
                test: before.contains(FOR_TESTS),
            }
        })
        .collect()
}

/// The files that no `mod` line leads to.
pub(super) fn forgotten(files: &[String], reached: &[Source]) -> Vec<Violation> {
    let reached: BTreeSet<_> = reached.iter().map(|source| source.path.as_str()).collect();
    let forgotten = files.iter().filter(|file| !reached.contains(file.as_str()));
    forgotten
        .map(|file| Violation {
            path: file.clone(),
            line: 1,
            rule: "modules",
            what: "no `mod` leads here, so it is never compiled".to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::expect;

    fn read(path: &str) -> Option<String> {
        let text = match path {
            "t/main.rs" => "mod a;\n#[cfg(test)]\npub(crate) mod b;\nmod inline {}\nmod gone;\n",
            "t/a.rs" => "mod deep;\n",
            "t/a/deep.rs" | "t/b/mod.rs" | "t/b/below.rs" => "mod below;\n",
            "t/a/deep/below.rs" => "",
            _ => return None,
        };
        Some(text.to_owned())
    }

    #[test]
    fn every_file_is_reached_or_reported() {
        let (reached, violations) = reach(vec![("t/main.rs".to_owned(), false)], read);
        expect(&violations[..1], &["5: modules"]);
        let mut found: Vec<_> =
            reached.iter().map(|source| format!("{} {}", source.path, source.test)).collect();
        found.sort();
        let expected = [
            "t/a.rs false",
            "t/a/deep.rs false",
            "t/a/deep/below.rs false",
            "t/b/below.rs true",
            "t/b/mod.rs true",
            "t/main.rs false",
        ];
        assert_eq!(found, expected);
        let files = ["t/a.rs", "t/lost.rs"].map(str::to_owned);
        let lost = forgotten(&files, &reached);
        expect(&lost, &["1: modules"]);
        assert_eq!(lost[0].path, "t/lost.rs");
    }
}
