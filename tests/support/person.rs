//! A person before a terminal: reads what is shown, and answers what is asked.

use std::process::Command;

use rexpect::process::WaitStatus;
use rexpect::session::{PtySession, spawn_command};

/// Longer than any machine takes; only a command that waits for what does not come gets there.
const PATIENCE: u64 = 120_000;
/// How long a command has to end when nobody needs it any more, in milliseconds.
const KILLED: u64 = 2_000;

/// A person before a terminal on which one command runs.
pub struct Person(PtySession);

impl Person {
    /// Starts a command.
    pub fn runs(command: Command) -> Self {
        let mut session = spawn_command(command, Some(PATIENCE)).expect("the command starts");
        // A test that fails does not wait for a command that does not end.
        session.process_mut().set_kill_timeout(Some(KILLED));
        Self(session)
    }

    /// Waits for a question (its last words, in ASCII) and answers; what was shown before it.
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

    /// Presses Ctrl-C.
    pub fn interrupts(&mut self) {
        self.0.send_control('c').expect("the terminal takes Ctrl-C");
    }

    /// Types a line that nobody has asked for.
    pub fn types(&mut self, line: &str) {
        self.0.send_line(line).expect("the terminal takes what is typed");
    }

    /// Waits for words, in ASCII; what was shown up to them, with them.
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

    /// Waits for the end: the exit code, and what was shown last.
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

/// The terminal's bytes as text; rexpect makes each of them a character.
fn text(shown: &str) -> String {
    let bytes: Vec<u8> = shown.chars().map(|byte| byte as u8).collect();
    left_to_see(&String::from_utf8_lossy(&bytes))
}

/// What a terminal still shows: a slow machine shows a spinner first, and erases its line.
pub fn left_to_see(printed: &str) -> String {
    let lines = printed.split('\n').map(|line| {
        let left = line.rsplit_once("\r\x1b[2K").map_or(line, |(_, left)| left);
        left.replace('\r', "")
    });
    lines.collect::<Vec<_>>().join("\n")
}
