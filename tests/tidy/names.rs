//! Statistics of names and doc comments in the daemon's crates, printed as a table: how far they
//! follow STYLE's rules. Tests are not counted.
//!
//! `cargo test -p vector-tests --test all tidy::names -- --nocapture` prints it.

use std::collections::{BTreeMap, BTreeSet};

use super::paths::tokens;
use super::source::Source;

/// Participles that do not end in `ed` and are used as names.
const PARTICIPLES: [&str; 32] = [
    "begun", "born", "bound", "bought", "brought", "built", "chosen", "done", "drawn", "fallen",
    "found", "given", "gone", "held", "hidden", "kept", "known", "left", "lost", "made", "meant",
    "met", "said", "seen", "sent", "shown", "spent", "taken", "thrown", "told", "undone",
    "written",
];

/// The counted items.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    functions: usize,
    one_word_functions: usize,
    participles: usize,
    tuple_parameters: usize,
    types: usize,
    one_word_types: usize,
    /// How often each type name is declared, by crate.
    declared: BTreeMap<String, BTreeMap<String, usize>>,
    doc_lines: usize,
    /// The doc lines of three words or fewer that are a whole comment.
    short_docs: usize,
}

impl Counts {
    fn add(&mut self, source: &Source) {
        let tokens: Vec<&str> = tokens(&source.code).into_iter().map(|(_, token)| token).collect();
        for (at, token) in tokens.iter().enumerate() {
            let Some(name) = tokens.get(at + 1) else { break };
            let is_name = name.starts_with(|c: char| c.is_alphabetic());
            match *token {
                "fn" if is_name => self.function(name, &tokens[at + 2..]),
                "struct" | "enum" | "trait" if is_name => self.type_(name, source),
                _ => {}
            }
        }
        self.docs(source);
    }

    fn function(&mut self, name: &str, rest: &[&str]) {
        self.functions += 1;
        if !name.contains('_') {
            self.one_word_functions += 1;
            self.participles += usize::from(name.ends_with("ed") || PARTICIPLES.contains(&name));
        }
        self.tuple_parameters += usize::from(has_tuple_parameter(rest));
    }

    fn type_(&mut self, name: &str, source: &Source) {
        self.types += 1;
        let words = name.chars().filter(|c| c.is_uppercase()).count();
        self.one_word_types += usize::from(words < 2);
        let names = self.declared.entry(crate_of(&source.path)).or_default();
        *names.entry(name.to_owned()).or_default() += 1;
    }

    fn docs(&mut self, source: &Source) {
        let lines: Vec<&str> = source.comments.lines().map(str::trim).collect();
        let doc = |at: usize| lines.get(at).and_then(|line| line.strip_prefix("/// "));
        let code: Vec<&str> = source.code.lines().collect();
        for at in 0..lines.len() {
            let Some(text) = doc(at) else { continue };
            let is_counted = code[at..].iter().any(|line| !line.trim().is_empty());
            self.doc_lines += usize::from(is_counted);
            let is_whole =
                at.checked_sub(1).is_none_or(|at| doc(at).is_none()) && doc(at + 1).is_none();
            let is_short = text.split_whitespace().count() <= 3;
            self.short_docs += usize::from(is_counted && is_whole && is_short);
        }
    }

    /// The number of declarations that share their name with another one of their crate.
    fn shared(&self) -> usize {
        self.declared.values().flat_map(BTreeMap::values).filter(|count| **count > 1).sum()
    }

    fn table(&self) -> String {
        let share = |of: usize, all: usize| 100.0 * of as f64 / all.max(1) as f64;
        let row = |what: &str, of: usize, all: usize| {
            format!("{what:<44}{of:>6} of {all:>5}  {:>5.1} %\n", share(of, all))
        };
        [
            row("functions of one word", self.one_word_functions, self.functions),
            row("functions that are a bare participle", self.participles, self.functions),
            row("functions with a tuple parameter", self.tuple_parameters, self.functions),
            row("types of one word", self.one_word_types, self.types),
            row("types that share a name in their crate", self.shared(), self.types),
            row("doc comments of three words or fewer", self.short_docs, self.doc_lines),
        ]
        .concat()
    }
}

/// The crate of a source, by its folder.
fn crate_of(path: &str) -> String {
    path.split_once("/src/").map_or(path, |(name, _)| name).to_owned()
}

/// Whether a parameter of a function is a tuple pattern: `(a, b): (A, B)`. `rest` begins after the
/// function's name.
fn has_tuple_parameter(rest: &[&str]) -> bool {
    let Some(open) = rest.iter().position(|token| *token == "(") else { return false };
    let (mut depth, mut pattern) = (0_usize, None);
    for (at, token) in rest.iter().enumerate().skip(open) {
        match *token {
            "(" | "[" | "{" => {
                depth += 1;
                if depth == 2 && *token == "(" && matches!(rest[at - 1], "(" | ",") {
                    pattern = Some(depth);
                }
            }
            ")" | "]" | "}" => {
                // A tuple in a type argument is followed by `>` or `,`.
                if pattern == Some(depth) && rest.get(at + 1) == Some(&":") {
                    return true;
                }
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        if depth == 0 {
            return false;
        }
    }
    false
}

/// The counts of all sources of the daemon's crates.
fn counts(sources: &[Source]) -> Counts {
    let mut counts = Counts::default();
    let own = |source: &&Source| source.path.starts_with("daemon/") && !source.test;
    for source in sources.iter().filter(own) {
        counts.add(source);
    }
    counts
}

#[test]
fn name_counts_stay_within_limits() {
    let (sources, _) = super::sources();
    let counts = counts(&sources);
    println!("\n{}", counts.table());
    let mut shared = BTreeSet::new();
    for (name, names) in &counts.declared {
        shared.extend(
            names.iter().filter(|(_, count)| **count > 1).map(|(it, _)| format!("{name}: {it}")),
        );
    }
    println!("{}", shared.into_iter().collect::<Vec<_>>().join("\n"));
    assert!(counts.functions > 1_000 && counts.types > 200);
    let is_most = |of: usize, all: usize, percent: usize| 100 * of <= percent * all;
    assert!(
        is_most(counts.one_word_functions, counts.functions, 45),
        "name functions by verbs and objects"
    );
    assert!(
        is_most(counts.participles, counts.functions, 2),
        "a participle says nothing of what a function does"
    );
    assert!(is_most(counts.one_word_types, counts.types, 45), "name types by nouns of two words");
    assert_eq!(counts.shared(), 0, "types of one crate share a name");
    assert_eq!(counts.tuple_parameters, 0, "a parameter is a tuple");
    assert!(counts.short_docs <= 50, "delete doc comments that only repeat a name");
}

#[test]
fn each_kind_of_name_is_counted() {
    let text = "//! d\n/// Which.\nstruct Told;\n/// A name\n/// of two lines.\nenum TwoWords {}\n\
                fn told(x: u8) {}\nfn is_it((a, b): (A, B)) {}\nfn c(self, f: impl Fn((A, B)), (d, e): F) {}\n\
                fn d(x: (A, B), y: Map<A, (B, C)>) -> (A, B) {}\n#[cfg(test)]\nmod tests {\n    struct Told;\n    fn kept() {}\n}\n";
    let mut counts = Counts::default();
    counts.add(&Source::new("daemon/crates/place/src/lib.rs", text, false));
    assert_eq!((counts.functions, counts.one_word_functions, counts.participles), (4, 3, 1));
    assert_eq!((counts.types, counts.one_word_types, counts.shared()), (2, 1, 0));
    assert_eq!((counts.tuple_parameters, counts.short_docs, counts.doc_lines), (2, 1, 3));
    counts.add(&Source::new("daemon/crates/place/src/a.rs", "//! d\nstruct Told;\n", false));
    counts.add(&Source::new("daemon/crates/luau/src/a.rs", "//! d\nstruct Told;\n", false));
    assert_eq!(counts.shared(), 2);
}
