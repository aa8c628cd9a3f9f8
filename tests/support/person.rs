//! A user at a terminal, who reads the output and answers the questions.

use std::process::Command;

use rexpect::process::WaitStatus;
use rexpect::session::{PtySession, spawn_command};

/// An upper bound for every wait, in milliseconds.
const PATIENCE: u64 = 120_000;
/// How long a command has to end after it is dropped, in milliseconds.
const KILLED: u64 = 2_000;

/// A user at a terminal with one running command.
pub struct Person(PtySession);

impl Person {
    pub fn runs(command: Command) -> Self {
        let mut session = spawn_command(command, Some(PATIENCE)).expect("the command starts");
        // A failed test does not wait for a command that does not end.
        session.process_mut().set_kill_timeout(Some(KILLED));
        Self(session)
    }

    /// Waits for a question (its last words, in ASCII), answers it, and returns the output before
    /// it.
    ///
    /// # Panics
    /// The question does not come.
    #[track_caller]
    pub fn answers(&mut self, question: &str, answer: &str) -> String {
        let shown = match self.0.exp_string(question) {
            Ok(shown) => text(&shown),
            Err(error) => panic!("{question:?} was not asked: {}", text(&error.to_string())),
        };
        self.0.send_line(answer).expect("the terminal takes an answer");
        shown
    }

    pub fn interrupts(&mut self) {
        self.0.send_control('c').expect("the terminal takes Ctrl-C");
    }

    /// Types a line without waiting for a question.
    pub fn types(&mut self, line: &str) {
        self.0.send_line(line).expect("the terminal takes what is typed");
    }

    /// Presses keys, without a line end.
    pub fn presses(&mut self, keys: &str) {
        self.0.send(keys).and_then(|_| self.0.flush()).expect("the terminal takes the keys");
    }

    /// Waits for words, in ASCII, and returns the output up to and including them.
    ///
    /// # Panics
    /// They do not come.
    #[track_caller]
    pub fn sees(&mut self, words: &str) -> String {
        match self.0.exp_string(words) {
            Ok(shown) => text(&shown) + words,
            Err(error) => panic!("{words:?} did not come: {}", text(&error.to_string())),
        }
    }

    /// Waits for the end, and returns the exit code and the remaining output.
    ///
    /// # Panics
    /// It does not end, or a signal ended it.
    #[track_caller]
    pub fn sees_the_end(mut self) -> (i32, String) {
        let shown = self.0.exp_eof().expect("the command ends");
        match self.0.process().wait() {
            Ok(WaitStatus::Exited(_, code)) => (code, text(&shown)),
            other => panic!("{other:?}\n{}", text(&shown)),
        }
    }
}

/// The terminal's bytes as text; rexpect turns each byte into a character.
fn text(shown: &str) -> String {
    let bytes: Vec<u8> = shown.chars().map(|byte| byte as u8).collect();
    left_to_see(&String::from_utf8_lossy(&bytes))
}

/// The text that remains visible: on a slow machine, a spinner is shown first, and its line is
/// erased.
pub fn left_to_see(printed: &str) -> String {
    let lines = printed.split('\n').map(|line| {
        let left = line.rsplit_once("\r\x1b[2K").map_or(line, |(_, left)| left);
        left.replace('\r', "")
    });
    lines.collect::<Vec<_>>().join("\n")
}
