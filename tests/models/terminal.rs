//! A person who answers what is asked on a terminal, in an order that was written down before.
//!
//! `support/person.rs` looks for output ten times a second, which is too slow for a scenario with
//! many questions; this waits for the bytes themselves.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::process::Command;

use rexpect::process::{PtyProcess, Signal, WaitStatus};

/// How the questions can be told apart: that of a card, and those that follow from answers to it.
const CARD: &str = "[q]uit [?]";
const WHY: &str = "Enter for no reason)";
const PIECE: &str = "[b]ack";
const TWICE: &str = "[y]es [N]o";
const QUESTIONS: [&str; 4] = [CARD, WHY, PIECE, TWICE];

/// What a person decides upon one card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// To apply it, although it has a warning.
    Yes,
    /// To apply it and all that follow.
    All,
    /// Not to apply it, and why.
    No(Option<String>),
    /// To take these pieces of it, from 1.
    Take(Vec<usize>),
    /// To change it in an editor that runs this script on the file `$1`, and to apply that.
    Edit(String),
    /// To end the run.
    Quit,
}

impl Decision {
    /// Reads `yes`, `all`, `no`, `no: REASON`, `take: 1 3`, `edit: SCRIPT` or `quit`.
    pub(crate) fn of(text: &str) -> Self {
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        let rest = rest.trim();
        match word {
            "yes" => Self::Yes,
            "all" => Self::All,
            "no" => Self::No((!rest.is_empty()).then(|| rest.to_owned())),
            "take" => Self::Take(rest.split(' ').map(|number| number.parse().unwrap()).collect()),
            "edit" => Self::Edit(rest.to_owned()),
            "quit" => Self::Quit,
            _ => panic!("there is no decision {text:?}"),
        }
    }

    /// The answer to a card.
    fn answer(&self) -> &'static str {
        match self {
            Self::Yes => "y",
            Self::All => "a",
            Self::No(_) => "n",
            Self::Take(_) => "s",
            Self::Edit(_) => "e",
            Self::Quit => "q",
        }
    }
}

/// How a run on a terminal ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The exit code; -1 where it was killed.
    pub(crate) code: i32,
    /// All that was shown.
    pub(crate) shown: String,
}

/// Runs a command before a person who decides so; what comes behind that gets a yes.
pub(crate) fn run(command: Command, decisions: &[Decision]) -> Ended {
    with(command, decisions, false)
}

/// The same, and kills it at the first card behind the decisions.
pub(crate) fn run_until_asked(command: Command, decisions: &[Decision]) -> Ended {
    with(command, decisions, true)
}

fn with(command: Command, decisions: &[Decision], kills: bool) -> Ended {
    let mut process = PtyProcess::new(command).expect("the command starts");
    let mut terminal = process.get_file_handle().expect("a terminal can be read");
    let mut decisions: VecDeque<_> = decisions.iter().collect();
    let mut now = &Decision::Yes;
    let (mut shown, mut seen) = (Vec::new(), 0);
    while let Some(question) = question(&mut terminal, &mut shown, &mut seen) {
        let answer = match (question, now) {
            // What was edited is asked about again.
            (CARD, Decision::Edit(_)) => {
                now = &Decision::Yes;
                "y"
            }
            (CARD, _) => match decisions.pop_front() {
                None if kills => {
                    process.signal(Signal::SIGKILL).expect("it can be killed");
                    continue;
                }
                next => {
                    now = next.unwrap_or(&Decision::Yes);
                    now.answer()
                }
            },
            (WHY, Decision::No(Some(reason))) => reason,
            (PIECE, Decision::Take(pieces)) if pieces.contains(&piece(&shown[..seen])) => "y",
            (PIECE, _) => "n",
            (TWICE, _) => "y",
            _ => "",
        };
        writeln!(terminal, "{answer}").expect("the terminal takes an answer");
    }
    let code = match process.wait() {
        Ok(WaitStatus::Exited(_, code)) => code,
        _ => -1,
    };
    Ended { code, shown: text(&shown) }
}

/// Which piece was asked about last: the 2 of `Take this (2 of 3)?`.
fn piece(shown: &[u8]) -> usize {
    let shown = text(shown);
    let number = shown.rsplit("Take this (").next().and_then(|rest| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).expect("a piece has a number")
}

/// Reads until something is asked; none at the end.
fn question(terminal: &mut File, shown: &mut Vec<u8>, seen: &mut usize) -> Option<&'static str> {
    let mut piece = [0; 4096];
    loop {
        let unseen = &shown[*seen..];
        let find = |it: &str| unseen.windows(it.len()).position(|some| some == it.as_bytes());
        let found = QUESTIONS.into_iter().filter_map(|it| find(it).map(|at| (at + it.len(), it)));
        if let Some((end, question)) = found.min() {
            *seen += end;
            return Some(question);
        }
        // A terminal whose other side is closed is an error on Linux, and its end elsewhere.
        match terminal.read(&mut piece) {
            Ok(count) if count > 0 => shown.extend_from_slice(&piece[..count]),
            _ => return None,
        }
    }
}

fn text(shown: &[u8]) -> String {
    String::from_utf8_lossy(shown).replace('\r', "")
}
