//! The prompt of a conversation: a line that can be edited, with earlier lines, commands, and what can
//! be mentioned after `@`.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::time::Duration;

use rustyline::completion::{Completer, Pair};
use rustyline::config::{Behavior, CompletionType};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::{Hint, Hinter};
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{Config, Context, Editor, Helper};
use scene_schemas::api::OfferedMention;
use vector_core::mention::unfinished_mention;

use super::chat::COMMANDS;
use super::interrupt;
use super::style::{PaintKind, TextStyle, fold_columns, terminal_line};
use super::terminal::{Terminal, end_line, print_status, read_piped_line};

/// How long a source may take to offer mentions: while the user types, and when they are wanted.
pub(super) const SUGGESTION_TIME: Duration = Duration::from_millis(200);
pub(super) const WANTED_TIME: Duration = Duration::from_secs(20);

/// Earlier lines that can be called up again.
const MAX_HISTORY: usize = 200;
/// The mentions that are shown while one is typed.
const MAX_SHOWN: usize = 4;

/// Where the mentions of a place come from.
pub(super) trait MentionSource {
    /// Returns what can be mentioned, by the text typed after `@`. None if that is not known yet: a
    /// suggestion, which is not `wanted`, is not waited for. What cannot be read is not offered.
    fn offer(&self, typed: &str, wanted: bool) -> Option<Vec<OfferedMention>>;

    /// Forgets what was read for a prompt, because a task may change it.
    fn end_prompt(&self);
}

/// Reads the requests of a conversation.
pub(super) struct ChatPrompt<'a> {
    terminal: &'a Terminal,
    /// None if no user is there, or the terminal cannot move its cursor.
    editor: Option<Editor<PromptHelper<'a>, MemHistory>>,
}

impl<'a> ChatPrompt<'a> {
    pub(super) fn new(
        terminal: &'a Terminal,
        source: &'a dyn MentionSource,
    ) -> anyhow::Result<Self> {
        if !terminal.can_edit_lines() {
            return Ok(Self { terminal, editor: None });
        }
        let config = Config::builder()
            .behavior(Behavior::Stdio)
            .completion_type(CompletionType::Circular)
            .max_history_size(MAX_HISTORY)?
            .build();
        let history = MemHistory::with_config(&config);
        let mut editor = Editor::with_history(config, history)?;
        let style = terminal.style();
        editor.set_helper(Some(PromptHelper { source, style, last: RefCell::default() }));
        Ok(Self { terminal, editor: Some(editor) })
    }

    /// Reads the next input. None at the end of the input, or if Ctrl-C was pressed.
    pub(super) fn read(&mut self) -> anyhow::Result<Option<String>> {
        if !self.terminal.can_ask() {
            return Ok(read_piped_line()?);
        }
        let Some(editor) = self.editor.as_mut().filter(|_| !interrupt::is_reading()) else {
            return Ok(self.terminal.ask_line("\n>")?);
        };
        end_line();
        // It was meant for the task before.
        interrupt::take_press();
        // What was typed before the prompt was shown is not meant for it.
        vector_system::discard_typed_input();
        eprintln!();
        let read = loop {
            match editor.readline("> ") {
                Err(ReadlineError::Io(error)) if error.kind() == ErrorKind::InvalidData => {
                    print_status("note: What was typed is not UTF-8; the terminal must use that.");
                }
                read => break read,
            }
        };
        if let Some(helper) = editor.helper() {
            helper.last.take();
            helper.source.end_prompt();
        }
        match read {
            Ok(line) => {
                if !line.trim().is_empty() {
                    editor.add_history_entry(&line)?;
                }
                Ok(Some(line))
            }
            Err(ReadlineError::Interrupted | ReadlineError::Eof) => Ok(None),
            Err(ReadlineError::Io(error)) => Err(error.into()),
            Err(error) => Err(io::Error::other(error).into()),
        }
    }
}

/// What was offered last, because a suggestion and a completion ask for the same.
#[derive(Debug)]
struct LastOffer {
    typed: String,
    texts: Vec<String>,
}

struct PromptHelper<'a> {
    source: &'a dyn MentionSource,
    style: TextStyle,
    last: RefCell<Option<LastOffer>>,
}

impl PromptHelper<'_> {
    /// Returns the texts that can replace the end of `text`, and where that begins.
    fn replacements(&self, text: &str, wanted: bool) -> Option<(usize, Vec<String>)> {
        if let Some(typed) = text.strip_prefix('/').filter(|it| !it.contains(char::is_whitespace)) {
            let fits = COMMANDS.into_iter().filter(|it| it.starts_with(typed));
            return Some((0, fits.map(|it| format!("/{it}")).collect()));
        }
        let mention = unfinished_mention(text)?;
        let mut last = self.last.borrow_mut();
        if let Some(known) = last.as_ref().filter(|it| it.typed == mention.typed) {
            return Some((mention.start, known.texts.clone()));
        }
        let offered = self.source.offer(mention.typed, wanted)?.into_iter().map(|it| it.text);
        // A text that the terminal would not show as it is, such as one with an escape sequence, is left
        // out: the line that is edited is printed as it is.
        let texts: Vec<String> = offered.filter(|text| terminal_line(text) == *text).collect();
        *last = Some(LastOffer { typed: mention.typed.to_owned(), texts: texts.clone() });
        Some((mention.start, texts))
    }
}

impl Completer for PromptHelper<'_> {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, texts) =
            self.replacements(&line[..position], true).unwrap_or((position, Vec::new()));
        let is_spaced = line[position..].starts_with(char::is_whitespace);
        let pair = |text: String| {
            let replacement = if is_spaced { text.clone() } else { format!("{text} ") };
            Pair { display: text, replacement }
        };
        Ok((start, texts.into_iter().map(pair).collect()))
    }
}

/// What Tab would insert, shown behind the line.
#[derive(Debug)]
struct Suggestions(String);

impl Hint for Suggestions {
    fn display(&self) -> &str {
        &self.0
    }

    fn completion(&self) -> Option<&str> {
        None
    }
}

impl Hinter for PromptHelper<'_> {
    type Hint = Suggestions;

    fn hint(&self, line: &str, position: usize, _: &Context<'_>) -> Option<Suggestions> {
        if position < line.len() {
            return None;
        }
        let (start, texts) = self.replacements(line, false)?;
        let typed = &line[start..];
        let new: Vec<&str> = texts.iter().map(String::as_str).filter(|it| *it != typed).collect();
        if new.is_empty() {
            return None;
        }
        let more = match new.len().saturating_sub(MAX_SHOWN) {
            0 => String::new(),
            more => format!(" +{more}"),
        };
        let shown = new[..new.len().min(MAX_SHOWN)].join("  ");
        let hint = format!("   {}{more} (Tab)", terminal_line(&shown));
        // On the line that is typed, as it moves otherwise.
        let used = console::measure_text_width(line) + 3;
        let room = self.style.width.checked_sub(used).filter(|room| *room >= 12)?;
        let mut rows = fold_columns(&hint, room);
        let is_cut = rows.len() > 1;
        let mut first = rows.swap_remove(0);
        if is_cut {
            first.pop();
            first.push('…');
        }
        Some(Suggestions(first))
    }
}

impl Highlighter for PromptHelper<'_> {
    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(self.style.paint(PaintKind::Dim, hint))
    }
}

impl Validator for PromptHelper<'_> {}

impl Helper for PromptHelper<'_> {}
