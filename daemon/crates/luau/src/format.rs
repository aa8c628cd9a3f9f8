//! Formats scripts with StyLua, by the project's `stylua.toml`.
//!
//! Differs from the StyLua command line in two ways. If the settings do not name a syntax, it is
//! Luau. If they do not name line endings, a script keeps its own. `.editorconfig` is not read.

use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use stylua_lib::{Config, LineEndings, LuaVersion, OutputVerification};

use super::compile;
use super::finding::LineIndex;
use super::lexer;
use super::nesting::{self, ParsePurpose, StackSize, UnfitReason};

/// Larger scripts, in bytes, are not formatted: StyLua writes about half a megabyte per second.
const MAX_SIZE: usize = 1 << 20;

/// Upper limits for settings, far above any in use.
const MAX_INDENT: usize = 64;
const MAX_COLUMNS: usize = 10_000;

/// The reason a script was not formatted, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    #[error("{file} cannot be read: {why}. Fix it and format again.")]
    Settings { file: String, why: String },
    #[error("The script does not compile: {0}. Fix it first.")]
    DoesNotCompile(compile::CompileDiagnostic),
    /// The script compiles, but StyLua does not know its syntax.
    #[error(
        "StyLua does not know something in the script, which compiles: {0}. Leave it as it is, or give \
         a range of lines without it."
    )]
    NotParsed(String),
    /// StyLua cannot process the script, for the reason given.
    #[error("The script {0}. Leave it as it is.")]
    CannotFormat(String),
    /// Formatting would have changed the meaning of the script.
    #[error("StyLua would change what the script means, so it was left as it is.")]
    ChangesMeaning,
}

/// The StyLua settings of a project: a file name and its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyluaSettings {
    pub file: String,
    /// The text of the file, or the reason it cannot be read.
    pub text: Result<String, String>,
}

/// Formats a script. With a range of bytes, formats only the statements within it. The parser
/// recurses, so `stack` must be the stack size of this thread.
///
/// # Errors
/// The reason the script was not formatted.
pub fn format_source(
    source: &str,
    style: Option<&StyluaSettings>,
    range: Option<Range<usize>>,
    stack: StackSize,
) -> Result<String, FormatError> {
    let config = parse_config(source, style)?;
    if let Some(error) = compile::compile_errors(source).into_iter().next() {
        return Err(FormatError::DoesNotCompile(error));
    }
    if source.len() > MAX_SIZE {
        return Err(FormatError::CannotFormat(format!(
            "has {} bytes; at most {MAX_SIZE}",
            source.len()
        )));
    }
    // If Luau and the parser disagree about what is code, StyLua would move code into comments or
    // out of them.
    let tokens = lexer::tokenize(source);
    let same = nesting::check_same_tokens(source, &tokens, ParsePurpose::Format, stack);
    same.map_err(|unfit| match unfit {
        UnfitReason::TooDeep | UnfitReason::TooManyNames => FormatError::CannotFormat(
            "is nested too deeply for StyLua, which would not end for long".to_owned(),
        ),
        UnfitReason::UnknownSyntax(at, _) => {
            let (line, column) = LineIndex::from_text(source).line_column(at);
            FormatError::NotParsed(format!("line {line}, column {column}"))
        }
    })?;
    let range = range.map(|it| stylua_lib::Range::from_values(Some(it.start), Some(it.end)));
    // A panic in StyLua must not end the calling thread.
    let _caught = PanicGuard::begin();
    let format = || stylua_lib::format_code(source, config, range, OutputVerification::Full);
    let formatted = catch_unwind(AssertUnwindSafe(format))
        .map_err(|_| FormatError::CannotFormat("makes StyLua fail".to_owned()))?;
    let formatted = formatted.map_err(|error| match error {
        stylua_lib::Error::ParseError(errors) => {
            let first = errors.first().map(ToString::to_string).unwrap_or_default();
            FormatError::NotParsed(first.lines().next().unwrap_or_default().to_owned())
        }
        _ => FormatError::ChangesMeaning,
    })?;
    if compile::compile_errors(&formatted).is_empty() {
        Ok(formatted)
    } else {
        Err(FormatError::ChangesMeaning)
    }
}

thread_local! {
    static IS_CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic on this thread is caught and reported as an error, so that it need not be
/// printed.
pub fn is_catching_panics() -> bool {
    IS_CATCHING.get()
}

/// While this exists, panics on this thread are caught.
struct PanicGuard;

impl PanicGuard {
    fn begin() -> Self {
        IS_CATCHING.set(true);
        Self
    }
}

impl Drop for PanicGuard {
    fn drop(&mut self) {
        IS_CATCHING.set(false);
    }
}

fn parse_config(source: &str, style: Option<&StyluaSettings>) -> Result<Config, FormatError> {
    let (mut config, text) = match style {
        None => (Config::default(), ""),
        Some(StyluaSettings { file, text }) => {
            let wrong = |why: &str| FormatError::Settings {
                file: file.clone(),
                why: why.trim().trim_end_matches('.').to_owned(),
            };
            let text = text.as_ref().map_err(|why| wrong(why))?;
            let config: Config = toml::from_str(text).map_err(|error| wrong(error.message()))?;
            // StyLua allocates as many columns as the settings specify.
            if config.indent_width > MAX_INDENT {
                return Err(wrong(&format!("indent_width is at most {MAX_INDENT}")));
            }
            if !(1..=MAX_COLUMNS).contains(&config.column_width) {
                return Err(wrong(&format!("column_width is from 1 to {MAX_COLUMNS}")));
            }
            (config, text.as_str())
        }
    };
    if config.syntax == LuaVersion::All {
        config.syntax = LuaVersion::Luau;
    }
    if !text.contains("line_endings") && source.contains("\r\n") {
        config.line_endings = LineEndings::Windows;
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(text: &str) -> StyluaSettings {
        StyluaSettings { file: "stylua.toml".to_owned(), text: Ok(text.to_owned()) }
    }

    #[track_caller]
    fn check(source: &str, settings: &str, expected: &str) {
        let formatted = format_source(source, Some(&style(settings)), None, StackSize::Usual);
        assert_eq!(formatted.as_deref(), Ok(expected));
    }

    #[test]
    fn scripts_that_the_parser_reads_otherwise_than_luau_are_left() {
        // For Luau the comment ends at the carriage return.
        let source = "-- a\rlocal  x  = 1\nreturn x\n";
        assert_eq!(compile::compile_errors(source), []);
        let formatted = format_source(source, None, None, StackSize::Usual);
        assert!(matches!(formatted, Err(FormatError::NotParsed(_))), "{formatted:?}");
    }

    #[test]
    fn project_settings_set_the_style() {
        check(
            "local a=1\nif a then print('x') end\n",
            "",
            "local a = 1\nif a then\n\tprint(\"x\")\nend\n",
        );
        check(
            "do local a='x' end",
            "indent_type = \"Spaces\"\nindent_width = 2\nquote_style = \"AutoPreferSingle\"",
            "do\n  local a = 'x'\nend\n",
        );
    }

    #[test]
    fn line_endings_are_kept_unless_configured() {
        check("local  a = 1\r\nlocal  b = 2\r\n", "", "local a = 1\r\nlocal b = 2\r\n");
        check("local  a = 1\r\n", "line_endings = \"Unix\"", "local a = 1\n");
    }

    #[test]
    fn formatting_a_range_keeps_the_rest() {
        let source = "local  a = 1\nlocal  b = 2\nlocal  c = 3\n";
        let formatted = format_source(source, None, Some(13..25), StackSize::Usual).unwrap();
        assert_eq!(formatted, "local  a = 1\nlocal b = 2\nlocal  c = 3\n");
    }

    #[test]
    fn out_of_range_settings_are_refused() {
        for (settings, said) in [
            ("indent_width = 65", "indent_width is at most 64"),
            ("indent_width = 9223372036854775807\nindent_type = \"Spaces\"", "indent_width"),
            ("column_width = 10001", "column_width is from 1 to 10000"),
            ("column_width = 9223372036854775807", "column_width"),
            ("column_width = 0", "column_width"),
            ("column_width = -1", "stylua.toml cannot be read"),
        ] {
            let why = format_source("do f() end", Some(&style(settings)), None, StackSize::Usual);
            let why = why.unwrap_err();
            assert!(matches!(why, FormatError::Settings { .. }), "{settings}: {why}");
            assert!(why.to_string().contains(said), "{settings}: {why}");
        }
        check("do f() end", "indent_width = 64\ncolumn_width = 1", "do\n\tf()\nend\n");
        check("do f() end", "indent_width = 0\nindent_type = \"Spaces\"", "do\nf()\nend\n");
    }

    #[test]
    fn format_errors_state_the_reason() {
        let why = |source: &str| {
            format_source(source, None, None, StackSize::Usual).unwrap_err().to_string()
        };
        assert!(why("local = 1").contains("does not compile: line 1"));
        let blocks = format!("{}{}", "do ".repeat(100), "end ".repeat(100));
        assert!(why(&blocks).contains("nested too deeply"));
        assert!(why("@[native, checked]\nlocal function a() end").contains("StyLua does not know"));
        let broken = Some(style("column_width = \"x\""));
        let why =
            format_source("", broken.as_ref(), None, StackSize::Usual).unwrap_err().to_string();
        assert!(why.starts_with("stylua.toml cannot be read: "), "{why}");
        let unread =
            StyluaSettings { file: "stylua.toml".to_owned(), text: Err("denied".to_owned()) };
        let why = format_source("", Some(&unread), None, StackSize::Usual).unwrap_err().to_string();
        assert_eq!(why, "stylua.toml cannot be read: denied. Fix it and format again.");
    }

    #[test]
    fn stylua_panic_is_caught_and_the_flag_cleared() {
        let source = format!("local x=0x{}", "f".repeat(40));
        let why = super::format_source(&source, None, None, StackSize::Usual);
        assert!(!is_catching_panics());
        if let Err(why) = why {
            assert!(why.to_string().contains("StyLua"), "{why}");
        }
    }

    /// `StyLua` tries several layouts for each call with a function argument, so that each further
    /// level takes two to three times as long: 12 levels took five seconds.
    #[test]
    fn slow_nested_callbacks_are_refused() {
        let thread = std::thread::Builder::new().stack_size(64 << 20);
        let work = || {
            let nested = |open: &str, close: &str, n: usize| open.repeat(n) + &close.repeat(n);
            for open in ["return f(function() ", "f(1, function() ", "a:b():c(function() "] {
                assert!(
                    format_source(&nested(open, "end) ", 7), None, None, StackSize::Large).is_ok(),
                    "{open}"
                );
                let refused =
                    format_source(&nested(open, "end) ", 20), None, None, StackSize::Large);
                assert!(matches!(refused, Err(FormatError::CannotFormat(_))), "{open}");
            }
            // Many shallow ones take as long as one that is deeper.
            let many = nested("f(function() ", "end) ", 8).repeat(100);
            assert!(matches!(
                format_source(&many, None, None, StackSize::Large),
                Err(FormatError::CannotFormat(_))
            ));
        };
        thread.spawn(work).unwrap().join().unwrap();
    }

    #[test]
    fn deep_scripts_do_not_overflow_the_stack() {
        let thread = std::thread::Builder::new().stack_size(64 << 20);
        let work = || {
            let blocks = |n: usize| format!("{}{}", "do ".repeat(n), "end ".repeat(n));
            assert!(format_source(&blocks(90), None, None, StackSize::Large).is_ok());
            let sum = format!("return 1{}", " + 1".repeat(300));
            assert!(format_source(&sum, None, None, StackSize::Large).is_ok());
            assert!(format_source(&blocks(100_000), None, None, StackSize::Large).is_err());
        };
        thread.spawn(work).unwrap().join().unwrap();
    }
}
