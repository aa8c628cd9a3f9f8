//! The attacks on Vector as a table: attacker, attempt and outcome. `docs/attacks.md` is printed
//! from it.
//!
//! Each row is its own test, which carries out the attempt against the real daemon or the real
//! binary. Afterwards it asserts that nothing has changed: the ledger, the place, the settings and
//! the pending proposals.

mod agents;
mod browser;
mod calls;
mod files;
mod ground;
mod guard;
mod models;
mod pairing;
mod said;
mod scripts;
mod talk;

use std::fmt;
use std::fmt::Write;

use vector_tests::printed;

use self::ground::{Ground, Seen};

/// The attacker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    WebPage,
    Process,
    Agent,
    Model,
    Plugin,
    Content,
    File,
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WebPage => "a web page",
            Self::Process => "another program",
            Self::Agent => "an agent with the MCP token",
            Self::Model => "a model's tool call",
            Self::Plugin => "a plugin's token",
            Self::Content => "what a place holds",
            Self::File => "a file in the way",
        })
    }
}

/// The outcome. In every case, nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// An HTTP response with this status and an error of this kind.
    Http(u16, &'static str),
    /// The input is not a request. The connection ends, with a 4xx status at most.
    Line,
    /// The tool returns an error that contains this text. The ledger may record the call.
    Tool(&'static str),
    /// The command ends with this exit code and prints this text.
    Exit(i32, &'static str),
    /// Another outcome, in words. The row itself checks it.
    Instead(&'static str),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(status, kind) => write!(f, "{status} `{kind}`"),
            Self::Line => f.write_str("no request: 4xx, and the connection ends"),
            Self::Tool("") => f.write_str("the call is refused"),
            Self::Tool(said) => write!(f, "the call is refused: “… {said} …”"),
            Self::Exit(code, said) => write!(f, "exit code {code}: “… {said} …”"),
            Self::Instead(what) => f.write_str(what),
        }
    }
}

#[derive(Clone, Copy)]
struct Attack {
    /// The path of its test, below `attacks`.
    test: &'static str,
    who: Who,
    /// The attempt, as the table prints it.
    tried: &'static str,
    outcome: Outcome,
    /// Whether the attack needs a running daemon.
    served: bool,
    run: fn(&mut Ground) -> Vec<Seen>,
}

/// Declares the rows of one subject and their tests. The form of a row is
/// `NAME: ATTACKER, ATTEMPT => OUTCOME, |ground| RESULTS;`.
macro_rules! attacks {
    (served: $served:literal; $($name:ident: $who:ident, $tried:literal => $outcome:expr, $run:expr;)+) => {
        pub(super) const ATTACKS: &[$crate::attacks::Attack] = &[$($crate::attacks::Attack {
            test: concat!(module_path!(), "::", stringify!($name)),
            who: $crate::attacks::Who::$who,
            tried: $tried,
            outcome: $outcome,
            served: $served,
            run: $run,
        }),+];
        $(
            #[test]
            fn $name() {
                let name = concat!(module_path!(), "::", stringify!($name));
                let attack = ATTACKS.iter().find(|it| it.test == name).unwrap();
                $crate::attacks::ground::hold(attack);
            }
        )+
    };
}
use attacks;

/// All rows, in the order of the table.
fn all() -> impl Iterator<Item = (&'static str, &'static Attack)> {
    let subjects = [
        ("The daemon's wire", guard::ATTACKS),
        ("Pairing, and plugins", pairing::ATTACKS),
        ("Agents of their own, over MCP", agents::ATTACKS),
        ("Tool calls, and decisions", talk::ATTACKS),
        ("Tool calls, on files", calls::ATTACKS),
        ("Files", files::ATTACKS),
        ("A web page in a real browser", browser::ATTACKS),
    ];
    subjects.into_iter().flat_map(|(title, rows)| rows.iter().map(move |row| (title, row)))
}

const TITLE: &str = "\
# Attacks

What was tried against Vector, and what came of it. Each row is a test that truly tries it, against the real
daemon or the real command, and then looks whether anything has changed: the ledger, the place, the
settings, and what waits for a decision. Nothing may have. What is trusted with what, and what is *not*
defended against, is in [SECURITY.md](../SECURITY.md).

This file is printed from the tests (`UPDATE=1 cargo test -p vector-tests --test all -- attacks::the_table`).
One row is run with `cargo test -p vector-tests --test all -- TEST`.
";

fn print() -> String {
    let (mut text, mut subject) = (TITLE.to_owned(), "");
    for (at, (title, row)) in all().enumerate() {
        if title != subject {
            subject = title;
            let head =
                "| | who | tries what | what comes of it | test |\n| --- | --- | --- | --- | --- |";
            let _ = write!(text, "\n## {title}\n\n{head}\n");
        }
        let Attack { who, tried, outcome, .. } = row;
        let test = row.test.trim_start_matches("all::");
        let _ = writeln!(text, "| {} | {who} | {tried} | {outcome} | `{test}` |", at + 1);
    }
    text
}

#[test]
fn the_table_is_fresh() {
    printed::check("docs/attacks.md", &print());
}

#[test]
fn the_table_is_long_and_says_nothing_twice() {
    let rows: Vec<_> = all().map(|(_, row)| row).collect();
    assert!(rows.len() >= 90, "{} rows", rows.len());
    let mut tried: Vec<_> = rows.iter().map(|row| (row.who.to_string(), row.tried)).collect();
    tried.sort();
    let count = tried.len();
    tried.dedup();
    assert_eq!(tried.len(), count, "two rows say the same");
    for row in rows {
        assert!(!row.tried.contains('|'), "{} would break the table", row.test);
    }
}
