//! The person's terminal: where things are printed, whether anybody can be asked, and the spinner.
//!
//! Everything that is printed in passing goes through here, so that a closed pipe ends quietly and
//! nothing from a place reaches the terminal raw. What is shown is made elsewhere.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use console::Term;
use indicatif::{ProgressBar, ProgressStyle};
use scene_schemas::entry::{Seq, Step};
use scene_schemas::proposal::Proposal;
use vector_core::workflow::Workflow;

use super::style::{PaintKind, TextStyle, fold_columns, safe_lines, terminal_line, wrap_words};
use super::{card, interrupt, summary};

/// Work below this is not worth a spinner.
const SPINNER_DELAY: Duration = Duration::from_secs(1);

/// Steps of a plan that are shown.
const STEPS: usize = 20;

/// Whether the cursor of the terminal stands behind words that were streamed, in the middle of a line.
static IS_MIDLINE: AtomicBool = AtomicBool::new(false);

/// Ends the line of words that were streamed, so that what comes stands on a line of its own.
pub(super) fn end_line() {
    if IS_MIDLINE.swap(false, Ordering::SeqCst) {
        print_quietly("\n");
    }
}

/// JSON in which some readers would see a line end has it escaped.
pub(super) fn escape_line_ends(json: &str) -> Cow<'_, str> {
    let ends = [('\u{85}', "\\u0085"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];
    let present = ends.into_iter().filter(|(end, _)| json.contains(*end));
    present.fold(Cow::Borrowed(json), |json, (end, escaped)| Cow::Owned(json.replace(end, escaped)))
}

/// Where a command talks to a person.
#[derive(Debug)]
pub(super) struct Terminal {
    json: bool,
    is_interactive: bool,
}

impl Terminal {
    /// The terminal of a command; with `json`, stdout is for the ledger's entries alone.
    pub(super) fn for_command(json: bool) -> Self {
        let is_interactive = io::stdin().is_terminal() && io::stderr().is_terminal();
        Self { json, is_interactive }
    }

    /// Whether somebody is there to answer.
    pub(super) fn can_ask(&self) -> bool {
        self.is_interactive
    }

    /// Whether cards go to stderr: where a person is asked and would not see stdout.
    fn is_on_stderr(&self) -> bool {
        self.can_ask() && (self.json || !io::stdout().is_terminal())
    }

    /// How text looks where cards are shown.
    pub(super) fn style(&self) -> TextStyle {
        if self.is_on_stderr() {
            TextStyle::for_term(&Term::stderr(), console::colors_enabled_stderr())
        } else {
            stdout_style()
        }
    }

    /// Does some work, and shows that it is being done where it takes long.
    pub(super) fn with_spinner<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        let in_the_way = self.json && io::stdout().is_terminal();
        if in_the_way || !io::stderr().is_terminal() {
            return work();
        }
        let (done, wait) = mpsc::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || run_spinner(what, &wait));
            // Dropped when the work ends, however it ends.
            let _done = done;
            work()
        })
    }

    /// Shows something where cards are shown; with `--json` and nobody to ask, nowhere.
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

    /// The same; in a dry run its number is not shown, as it will be another one.
    pub(super) fn show_run_card(&self, seq: Seq, proposal: &Proposal, dry_run: bool) {
        let card = card::render_card(seq, proposal, self.style());
        let numbered = format!("Proposal {seq}");
        let shown = if dry_run {
            let same_width = format!("{:<width$}", "A dry run", width = numbered.len());
            card.replacen(&numbered, &same_width, 1)
        } else {
            card
        };
        self.show(&shown);
    }

    /// Shows the steps that a model has planned.
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

    /// Shows what a model says.
    pub(super) fn show_message(&self, text: &str) {
        let width = self.style().width;
        let mut shown = String::new();
        for line in text.trim_end().lines() {
            let words = line.trim_start();
            let indent = (line.len() - words.len()).min(width / 2);
            for line in wrap_words(&terminal_line(words), width - indent) {
                let _ = writeln!(shown, "{:indent$}{line}", "");
            }
        }
        self.show(&shown);
    }

    /// Whether a person reads what is printed as it comes.
    pub(super) fn is_read_live(&self) -> bool {
        !self.json && io::stdout().is_terminal()
    }

    /// Shows more of what a model says, as it comes. A card or a question begins on a line of its own.
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

    /// Shows a line beside what a model says: what it does.
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

    /// Says how it ended: what was done, to which file, and the way back.
    pub(super) fn show_summary(&self, run: Seq, workflow: &Workflow, dry_run: bool) {
        if !self.json {
            print_quietly(&summary::render_summary(run, workflow, stdout_style(), dry_run));
        }
    }

    /// Asks, and reads a line; none where stdin has ended, Ctrl-C was pressed or nobody is there.
    pub(super) fn ask_line(&self, text: &str) -> io::Result<Option<String>> {
        if !self.is_interactive {
            return Ok(None);
        }
        end_line();
        forget_what_was_typed();
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

/// Nobody answers a question that they have not seen: what was typed before it is asked is let go.
#[cfg(unix)]
fn forget_what_was_typed() {
    if io::IsTerminal::is_terminal(&io::stdin()) {
        let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
    }
}

/// The console of Windows is left as it is: there is no safe way to its input.
#[cfg(not(unix))]
fn forget_what_was_typed() {}

/// How text looks on stdout.
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

/// Says something on stderr, broken between words where that is a terminal.
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

/// Prints to stdout. A reader who has seen enough and closed the pipe is no error.
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

/// Prints in passing: the work goes on whether or not anybody reads.
fn print_quietly(text: &str) {
    if let Err(error) = print_stdout(text) {
        print_status(&format!("note: {error:#}"));
    }
}

/// Prints a line to stdout.
pub(super) fn print_line(line: &str) {
    print_quietly(&format!("{line}\n"));
}
