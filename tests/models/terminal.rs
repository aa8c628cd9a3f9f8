//! A scripted user at a terminal, who answers questions with decisions in a given order.
//!
//! `support/person.rs` polls the output ten times a second, which is too slow for a scenario with
//! many questions. This module waits for the bytes themselves.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::process::Command;

use rexpect::process::{PtyProcess, Signal, WaitStatus};

/// The ends of the questions, by which they are recognized: that of a card, and its follow-up
/// questions.
const CARD: &str = "[q]uit [?]";
const WHY: &str = "the model receives it):";
const PIECE: &str = "[b]ack";
const TWICE: &str = "press Enter to go back:";
const AGAIN: &str = "Try again? [y]es [N]o";
const CONTINUE: &str = "Continue? [y]es [N]o";
const ANSWER: &str = "Your answer:";
const CHOICE: &str = "Your answer (a number, or text):";
/// Not a question: the text that `Kill::Shown` waits for was shown.
const KILL: &str = "";
const QUESTIONS: [&str; 8] = [CARD, WHY, PIECE, TWICE, AGAIN, CONTINUE, ANSWER, CHOICE];

/// A decision on one card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Apply it, despite any warning.
    Yes,
    /// Apply it and all that follow.
    All,
    /// Reject it, with an optional reason.
    No(Option<String>),
    /// Apply these pieces of it, numbered from 1.
    Take(Vec<usize>),
    /// Change it in an editor that runs this script on the file `$1`, and apply the result.
    Edit(String),
    /// End the run.
    Quit,
    /// Answer the model's question.
    Say(String),
    /// Retry what went wrong.
    Again,
}

impl Decision {
    /// Parses `yes`, `all`, `no`, `no: REASON`, `take: 1 3`, `edit: SCRIPT`, `quit`, `say: TEXT` or
    /// `again`.
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
    /// The exit code. -1 if the process was killed.
    pub(crate) code: i32,
    /// All output.
    pub(crate) shown: String,
}

/// When to kill a command.
#[derive(Debug, Clone)]
pub(crate) enum Kill {
    Never,
    /// At the first card after all decisions.
    AtCard,
    /// When a text has been shown this many times.
    Shown(String, usize),
}

/// Runs a command on a terminal and answers its cards with these decisions. All further cards are
/// approved.
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
            // An edited change gets a second card.
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
            (AGAIN | CONTINUE, _) => match decisions.pop_front_if(|next| **next == Decision::Again)
            {
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

/// The output on a terminal.
struct Screen {
    terminal: File,
    shown: Vec<u8>,
    /// The number of bytes that have been processed.
    seen: usize,
}

impl Screen {
    /// Reads until a question is asked, or the text that `kill` waits for is shown. None at the end
    /// of the output.
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

    /// Reads more output. Returns false at the end.
    fn read(&mut self) -> bool {
        let mut piece = [0; 4096];
        // If the other side of a terminal is closed, Linux reports an error, and other systems the
        // end of the file.
        let count = self.terminal.read(&mut piece).unwrap_or(0);
        self.shown.extend_from_slice(&piece[..count]);
        count > 0
    }

    fn rest(&mut self) {
        while self.read() {}
    }

    /// The number of the last piece asked about: the 2 of `Take this (2 of 3)?`.
    fn piece(&self) -> usize {
        let shown = String::from_utf8_lossy(&self.shown[..self.seen]).into_owned();
        let number = shown.rsplit("Take this (").next().and_then(|rest| rest.split(' ').next());
        number.and_then(|number| number.parse().ok()).expect("a piece has a number")
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown).replace('\r', "")
    }
}
