//! The user's terminal: output streams, prompts, and the spinner.
//!
//! All incidental output passes through this module, so that a closed pipe is handled quietly and
//! no text from a place reaches the terminal unescaped. The contents are produced elsewhere.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, BufRead as _, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use console::Term;
use indicatif::{ProgressBar, ProgressStyle};
use scene_schemas::entry::{Seq, Step};
use scene_schemas::proposal::Proposal;
use serde_json::Value as Json;
use vector_core::run::RunOutcome;
use vector_core::workflow::Workflow;

use super::card_links::CardLinks;
use super::style::{PaintKind, TextStyle, fold_columns, safe_lines, terminal_line, wrap_words};
use super::{card, interrupt, summary};

/// Shorter work does not show a spinner.
const SPINNER_DELAY: Duration = Duration::from_secs(1);

/// The maximum number of plan steps shown.
const STEPS: usize = 20;

/// Whether the cursor is in the middle of a line of streamed text.
static IS_MIDLINE: AtomicBool = AtomicBool::new(false);

/// Ends a line of streamed text, so that the next output starts on its own line.
pub(super) fn end_line() {
    if IS_MIDLINE.swap(false, Ordering::SeqCst) {
        print_quietly("\n");
    }
}

/// Escapes the characters in JSON that some readers treat as line ends.
pub(super) fn escape_line_ends(json: &str) -> Cow<'_, str> {
    let ends = [('\u{85}', "\\u0085"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];
    let present = ends.into_iter().filter(|(end, _)| json.contains(*end));
    present.fold(Cow::Borrowed(json), |json, (end, escaped)| Cow::Owned(json.replace(end, escaped)))
}

/// The terminal of a command.
#[derive(Debug)]
pub(super) struct Terminal {
    json: bool,
    is_interactive: bool,
}

impl Terminal {
    /// Creates the terminal of a command. With `json`, stdout is reserved for the ledger's entries.
    pub(super) fn for_command(json: bool) -> Self {
        let is_interactive = io::stdin().is_terminal() && io::stderr().is_terminal();
        Self { json, is_interactive }
    }

    /// Whether a user is there to answer.
    pub(super) fn can_ask(&self) -> bool {
        self.is_interactive
    }

    /// Whether a user can edit a line before sending it: the terminal can move its cursor, and is not a
    /// pipe of Git Bash, which programs of Windows cannot read key by key.
    pub(super) fn can_edit_lines(&self) -> bool {
        let is_plain = |name: String| ["dumb", "cons25", "emacs"].contains(&name.as_str());
        let stdout = Term::stdout();
        self.can_ask()
            && stdout.features().is_attended()
            && !stdout.features().is_msys_tty()
            && !std::env::var("TERM").is_ok_and(is_plain)
    }

    /// Whether cards go to stderr, because a user has to answer and does not see stdout.
    fn is_on_stderr(&self) -> bool {
        self.can_ask() && (self.json || !io::stdout().is_terminal())
    }

    /// The style of the stream that cards are printed on.
    pub(super) fn style(&self) -> TextStyle {
        if self.is_on_stderr() {
            TextStyle::for_term(&Term::stderr(), console::colors_enabled_stderr())
        } else {
            stdout_style()
        }
    }

    /// Runs `work`, with a spinner if it takes long.
    pub(super) fn with_spinner<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        let is_json_on_terminal = self.json && io::stdout().is_terminal();
        if is_json_on_terminal || !io::stderr().is_terminal() {
            return work();
        }
        let (done, wait) = mpsc::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || run_spinner(what, &wait));
            // Dropped when the work ends, even by a panic.
            let _done = done;
            work()
        })
    }

    /// Prints to the stream of the cards. Prints nothing with `--json` if no user is there to
    /// answer.
    pub(super) fn show(&self, text: &str) {
        end_line();
        if self.is_on_stderr() {
            let _ = io::stderr().write_all(text.as_bytes());
        } else if !self.json {
            print_quietly(text);
        }
    }

    pub(super) fn show_card(&self, seq: Seq, proposal: &Proposal) {
        self.show(&card::render_card(seq, proposal, self.style()));
    }

    /// Rings the bell, and asks the terminal for a notification of the system. Terminals without these
    /// ignore the sequence.
    pub(super) fn notify(&self, text: &str) {
        if self.can_ask() {
            let text: String = terminal_line(text).chars().filter(|it| !it.is_control()).collect();
            eprint!("\x1b]9;{text}\x07\x07");
        }
    }

    /// Shows a card of a run. A dry run hides its number, as the real run will use another one.
    pub(super) fn show_run_card(
        &self,
        seq: Seq,
        proposal: &Proposal,
        dry_run: bool,
        links: &CardLinks,
    ) {
        let card = card::render_card(seq, proposal, self.style());
        let numbered = format!("Proposal {seq}");
        let shown = if dry_run {
            let same_width = format!("{:<width$}", "A dry run", width = numbered.len());
            card.replacen(&numbered, &same_width, 1)
        } else {
            card
        };
        self.show(&links.add_to(shown, seq, proposal, self.style()));
    }

    /// Shows the steps of a model's plan.
    pub(super) fn show_plan(&self, steps: &[Step]) {
        let style = self.style();
        let mut text = String::new();
        for (at, step) in steps.iter().enumerate().take(STEPS) {
            let _ = writeln!(text, "{:>4}. {}", at + 1, terminal_line(&step.text));
        }
        if steps.len() > STEPS {
            let _ = writeln!(text, "      … {} more", steps.len() - STEPS);
        }
        self.show(&style.paint(PaintKind::Dim, text));
    }

    /// Shows a message of a model.
    pub(super) fn show_message(&self, text: &str) {
        let width = self.style().width;
        let mut output = String::new();
        for line in text.trim_end().lines() {
            let trimmed = line.trim_start();
            let indent = (line.len() - trimmed.len()).min(width / 2);
            for line in wrap_words(&terminal_line(trimmed), width - indent) {
                let _ = writeln!(output, "{:indent$}{line}", "");
            }
        }
        self.show(&output);
    }

    /// Whether a user sees the output as it is printed.
    pub(super) fn is_read_live(&self) -> bool {
        !self.json && io::stdout().is_terminal()
    }

    /// Shows the next part of a model's message. A following card or question starts on a new line.
    pub(super) fn stream(&self, text: &str) {
        let Some(last) = text.chars().last() else {
            return;
        };
        let mut shown = safe_lines(text);
        if last == '\n' {
            shown.push('\n');
        }
        if self.is_on_stderr() {
            let _ = io::stderr().write_all(shown.as_bytes());
        } else if !self.json {
            print_quietly(&shown);
        }
        IS_MIDLINE.store(last != '\n', Ordering::SeqCst);
    }

    /// Shows a line about a call, apart from the model's messages.
    pub(super) fn show_aside(&self, text: &str) {
        let style = self.style();
        let text = terminal_line(text);
        let line = match fold_columns(&text, style.width.saturating_sub(1)).as_slice() {
            [] | [_] => text.into_owned(),
            [first, ..] => {
                let mut cut: String = first.clone();
                cut.pop();
                format!("{cut}…")
            }
        };
        self.show(&format!("{}\n", style.paint(PaintKind::Dim, line)));
    }

    /// Shows what a run printed and returned. If it failed, its error says both.
    pub(super) fn show_run_output(&self, outcome: &RunOutcome) {
        let Ok(result) = &outcome.result else {
            return;
        };
        let style = self.style();
        let mut output = String::new();
        for line in &outcome.output {
            let text = safe_lines(&line.text);
            let text = match line.kind.as_str() {
                "print" => text,
                kind => style.paint(PaintKind::Bold, format!("{kind}: {text}")),
            };
            let _ = writeln!(output, "{text}");
        }
        match result {
            Json::Null => {}
            Json::String(text) => {
                let _ = writeln!(output, "{}", safe_lines(text));
            }
            other => {
                let text = serde_json::to_string_pretty(other).unwrap_or_default();
                let _ = writeln!(output, "{}", safe_lines(&text));
            }
        }
        self.show(&output);
    }

    /// Shows the summary: the changes, the file, and how to revert them.
    pub(super) fn show_summary(&self, run: Seq, workflow: &Workflow, dry_run: bool) {
        if !self.json {
            print_quietly(&summary::render_summary(run, workflow, stdout_style(), dry_run));
        }
    }

    /// Asks a question and reads a line. None if stdin has ended, Ctrl-C was pressed, or no user is
    /// there.
    pub(super) fn ask_line(&self, text: &str) -> io::Result<Option<String>> {
        if !self.is_interactive {
            return Ok(None);
        }
        end_line();
        // What was typed before the question was shown cannot be an answer to it.
        vector_system::discard_typed_input();
        let mut stderr = io::stderr();
        write!(stderr, "{text} ")?;
        stderr.flush()?;
        let bytes = interrupt::read_line()?.unwrap_or_default();
        if bytes.is_empty() {
            writeln!(stderr)?;
            return Ok(None);
        }
        Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned()))
    }
}

/// Reads the next line of stdin, on which no user is. None at its end.
pub(super) fn read_piped_line() -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_until(b'\n', &mut bytes)?;
    Ok((!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Asks for confirmation. Everything except a clear yes counts as no. `nothing` says that nothing
/// was done, and `otherwise` how to do it without asking.
pub(super) fn confirm_question(
    question: &str,
    nothing: &str,
    otherwise: &str,
) -> anyhow::Result<bool> {
    let terminal = Terminal::for_command(false);
    if !terminal.can_ask() {
        print_status(&format!("{nothing}: there is no terminal to ask on. {otherwise}."));
        return Ok(false);
    }
    let answer = terminal.ask_line(question)?.unwrap_or_default();
    let is_yes = matches!(answer.trim().to_lowercase().as_str(), "y" | "yes");
    if !is_yes {
        print_status(&format!("{nothing}."));
    }
    Ok(is_yes)
}

/// The style of stdout.
pub(super) fn stdout_style() -> TextStyle {
    TextStyle::for_term(&Term::stdout(), console::colors_enabled())
}

fn run_spinner(what: &str, wait: &mpsc::Receiver<()>) {
    if wait.recv_timeout(SPINNER_DELAY) != Err(mpsc::RecvTimeoutError::Timeout) {
        return;
    }
    let bar = ProgressBar::new_spinner().with_message(what.to_owned()).with_elapsed(SPINNER_DELAY);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    let _ = wait.recv();
    bar.finish_and_clear();
}

/// Prints a message to stderr, wrapped if that is a terminal.
pub(super) fn print_status(text: &str) {
    end_line();
    let text = safe_lines(text);
    let text = if io::stderr().is_terminal() {
        let width = TextStyle::for_term(&Term::stderr(), false).width;
        let lines: Vec<String> = text.lines().flat_map(|line| wrap_words(line, width)).collect();
        lines.join("\n")
    } else {
        text
    };
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints to stdout. A closed pipe is not an error.
pub(super) fn print_stdout(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("stdout cannot be written"))
        }
        _ => Ok(()),
    }
}

/// Prints incidental output: a failure does not stop the work.
fn print_quietly(text: &str) {
    if let Err(error) = print_stdout(text) {
        print_status(&format!("note: {error:#}"));
    }
}

pub(super) fn print_line(line: &str) {
    print_quietly(&format!("{line}\n"));
}
