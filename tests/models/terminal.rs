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
const WHY: &str = "the model receives it):";
const PIECE: &str = "[b]ack";
const TWICE: &str = "press Enter to go back:";
const AGAIN: &str = "Try again? [y]es [N]o";
const ANSWER: &str = "Your answer:";
const CHOICE: &str = "Your answer (a number, or words):";
/// No question: what was waited for is shown.
const KILL: &str = "";
const QUESTIONS: [&str; 7] = [CARD, WHY, PIECE, TWICE, AGAIN, ANSWER, CHOICE];

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
    /// To answer the model's question.
    Say(String),
    /// To try again what went wrong.
    Again,
}

impl Decision {
    /// Reads `yes`, `all`, `no`, `no: REASON`, `take: 1 3`, `edit: SCRIPT`, `quit`, `say: TEXT` or `again`.
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
            "say" => Self::Say(rest.to_owned()),
            "again" => Self::Again,
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
            Self::Say(_) | Self::Again => panic!("a card is no question: {self:?}"),
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

/// When a command is killed.
#[derive(Debug, Clone)]
pub(crate) enum Kill {
    /// Never.
    Never,
    /// At the first card behind all decisions.
    AtCard,
    /// When a text has been shown so often.
    Shown(String, usize),
}

/// Runs a command before a person who decides so; what comes behind that gets a yes.
pub(crate) fn run(command: Command, decisions: &[Decision], kill: &Kill) -> Ended {
    let mut process = PtyProcess::new(command).expect("the command starts");
    let terminal = process.get_file_handle().expect("a terminal can be read");
    let mut screen = Screen { terminal, shown: Vec::new(), seen: 0 };
    let mut decisions: VecDeque<_> = decisions.iter().collect();
    let mut now = &Decision::Yes;
    while let Some(question) = screen.question(kill) {
        let is_card = question == CARD && !matches!(now, Decision::Edit(_));
        let is_killed = match kill {
            Kill::Never => false,
            Kill::AtCard => is_card && decisions.is_empty(),
            Kill::Shown(..) => question == KILL,
        };
        if is_killed {
            process.signal(Signal::SIGKILL).expect("it can be killed");
            screen.rest();
            break;
        }
        let answer = match (question, now) {
            // What was edited is asked about again.
            (CARD, Decision::Edit(_)) => {
                now = &Decision::Yes;
                "y"
            }
            (CARD, _) => {
                now = decisions.pop_front().unwrap_or(&Decision::Yes);
                now.answer()
            }
            (WHY, Decision::No(Some(reason))) => reason,
            (PIECE, Decision::Take(pieces)) if pieces.contains(&screen.piece()) => "y",
            (PIECE, _) => "n",
            (TWICE, _) => "yes",
            (AGAIN, _) => match decisions.pop_front_if(|next| **next == Decision::Again) {
                Some(_) => "y",
                None => "n",
            },
            (ANSWER | CHOICE, _) => match decisions.pop_front() {
                Some(Decision::Say(text)) => text,
                other => panic!("{other:?} is no answer: {}", screen.text()),
            },
            _ => "",
        };
        writeln!(screen.terminal, "{answer}").expect("the terminal takes an answer");
    }
    let code = match process.wait() {
        Ok(WaitStatus::Exited(_, code)) => code,
        _ => -1,
    };
    Ended { code, shown: screen.text() }
}

/// What is shown on a terminal.
struct Screen {
    terminal: File,
    shown: Vec<u8>,
    /// How much of it was understood.
    seen: usize,
}

impl Screen {
    /// Reads until something is asked, or what is waited for is shown; none at the end.
    fn question(&mut self, kill: &Kill) -> Option<&'static str> {
        loop {
            if let Kill::Shown(text, nth) = kill
                && self.text().matches(text).count() >= *nth
            {
                return Some(KILL);
            }
            let unseen = &self.shown[self.seen..];
            let find = |it: &str| unseen.windows(it.len()).position(|some| some == it.as_bytes());
            let found =
                QUESTIONS.into_iter().filter_map(|it| find(it).map(|at| (at + it.len(), it)));
            if let Some((end, question)) = found.min() {
                self.seen += end;
                return Some(question);
            }
            if !self.read() {
                return None;
            }
        }
    }

    /// Reads more; false at the end.
    fn read(&mut self) -> bool {
        let mut piece = [0; 4096];
        // A terminal whose other side is closed is an error on Linux, and its end elsewhere.
        let count = self.terminal.read(&mut piece).unwrap_or(0);
        self.shown.extend_from_slice(&piece[..count]);
        count > 0
    }

    fn rest(&mut self) {
        while self.read() {}
    }

    /// Which piece was asked about last: the 2 of `Take this (2 of 3)?`.
    fn piece(&self) -> usize {
        let shown = String::from_utf8_lossy(&self.shown[..self.seen]).into_owned();
        let number = shown.rsplit("Take this (").next().and_then(|rest| rest.split(' ').next());
        number.and_then(|number| number.parse().ok()).expect("a piece has a number")
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown).replace('\r', "")
    }
}
