//! What is wrong with a script, whoever found it: the compiler, a lint, a checker of types.
//!
//! Lines and columns count from 1, columns in characters (Unicode scalar values). Nothing here knows
//! where the script stands.

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something was not looked at, or is worth knowing.
    Note,
    /// Suspicious.
    Warning,
    /// Wrong.
    Error,
}

impl Severity {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Who found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Finder {
    /// Luau's compiler.
    Compiler,
    /// selene's lints.
    Selene,
    /// A checker of types.
    Types,
    /// Whoever read the settings.
    Settings,
}

/// A part of a text, from 1; the end is behind the last character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    /// The line it begins on.
    pub line: u32,
    /// The column it begins at.
    pub column: u32,
    /// The line it ends on.
    pub end_line: u32,
    /// The column behind its last character.
    pub end_column: u32,
}

impl Span {
    /// The very beginning.
    pub const START: Self = Self { line: 1, column: 1, end_line: 1, end_column: 1 };
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Who found it.
    pub finder: Finder,
    /// Its name: one of selene's, such as `undefined_variable`, or `syntax`, `type`.
    pub code: String,
    /// What it is.
    pub message: String,
    /// What may help.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Where.
    #[serde(flatten)]
    pub at: Span,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { severity, code, message, at, .. } = self;
        write!(f, "{}:{}: {severity}: {message} ({code})", at.line, at.column)
    }
}

/// Where the lines of a text begin, to tell lines and columns.
#[derive(Debug)]
pub struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Looks for the line ends.
    pub fn of(text: &'a str) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        Self { text, starts: std::iter::once(0).chain(ends).collect() }
    }

    /// How many there are; a text that ends with a line end has an empty one behind it.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// A line by its number from 1, without its end; empty where there is none.
    pub fn line(&self, number: u32) -> &'a str {
        let at = number.saturating_sub(1) as usize;
        let Some(start) = self.starts.get(at) else {
            return "";
        };
        let end = self.starts.get(at + 1).copied().unwrap_or(self.text.len());
        self.text[*start..end].trim_end_matches(['\n', '\r'])
    }

    /// The line and the column of a byte; what is behind the text is its end.
    pub fn place(&self, byte: usize) -> (u32, u32) {
        let byte = self.text.floor_char_boundary(byte.min(self.text.len()));
        let line = self.starts.partition_point(|start| *start <= byte);
        let start = self.starts[line - 1];
        (line as u32, self.text[start..byte].chars().count() as u32 + 1)
    }

    /// A part by its bytes.
    pub fn span(&self, bytes: (usize, usize)) -> Span {
        let (line, column) = self.place(bytes.0);
        let (end_line, end_column) = self.place(bytes.1.max(bytes.0));
        Span { line, column, end_line, end_column }
    }

    /// The code of a line, without the white space around it.
    pub fn whole(&self, number: u32) -> Span {
        let number = number.clamp(1, self.count() as u32);
        let line = self.line(number);
        let indent = line.chars().take_while(|c| c.is_whitespace()).count() as u32;
        let (column, end_column) = match line.trim_end().chars().count() as u32 {
            0 => (1, 1),
            end => (indent + 1, end + 1),
        };
        Span { line: number, column, end_line: number, end_column }
    }

    /// A part that somebody else claims, moved to where there is text.
    pub fn clamped(&self, span: Span) -> Span {
        let place = |line: u32, column: u32| {
            let line = line.clamp(1, self.count() as u32);
            (line, column.clamp(1, self.line(line).chars().count() as u32 + 1))
        };
        let start = place(span.line, span.column);
        let end = place(span.end_line, span.end_column).max(start);
        Span { line: start.0, column: start.1, end_line: end.0, end_column: end.1 }
    }
}

/// How many findings of a script are told.
pub const MAX_FINDINGS: usize = 1_000;

/// Leaves out what is too many, the least severe and the last; the finding that says so.
pub fn cap<T>(found: &mut Vec<T>, severity: impl Fn(&T) -> Severity) -> Option<Finding> {
    let more = found.len().checked_sub(MAX_FINDINGS).filter(|more| *more > 0)?;
    found.sort_by_key(|it| std::cmp::Reverse(severity(it)));
    found.truncate(MAX_FINDINGS);
    Some(Finding {
        severity: Severity::Note,
        finder: Finder::Settings,
        code: "more_findings".to_owned(),
        message: format!("{more} more findings are left out; mend these, and check again"),
        notes: Vec::new(),
        at: Span::START,
    })
}

/// The findings of `after` that `before` does not hold, wherever they stand now. Of several that are
/// the same, as many are new as there are more.
pub fn new_findings(before: &[Finding], after: Vec<Finding>) -> Vec<Finding> {
    let key = |it: &Finding| (it.severity, it.finder, it.code.clone(), it.message.clone());
    let mut known: HashMap<_, usize> = HashMap::new();
    for finding in before {
        *known.entry(key(finding)).or_default() += 1;
    }
    let is_new = |finding: &Finding| match known.get_mut(&key(finding)) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    };
    after.into_iter().filter(is_new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(line: u32, message: &str) -> Finding {
        Finding {
            severity: Severity::Warning,
            finder: Finder::Selene,
            code: "a".to_owned(),
            message: message.to_owned(),
            notes: Vec::new(),
            at: Span { line, ..Span::START },
        }
    }

    #[test]
    fn places_are_lines_and_characters() {
        let lines = Lines::of("a\r\n  é😀x\n");
        assert_eq!(lines.count(), 3);
        assert_eq!(lines.line(2), "  é😀x");
        assert_eq!(lines.line(9), "");
        assert_eq!(lines.place(0), (1, 1));
        assert_eq!(lines.place(5), (2, 3));
        assert_eq!(lines.place(11), (2, 5));
        assert_eq!(lines.place(8), (2, 4), "within a character");
        assert_eq!(lines.place(999), (3, 1));
        assert_eq!(lines.whole(2), Span { line: 2, column: 3, end_line: 2, end_column: 6 });
        assert_eq!(lines.whole(99), Span { line: 3, column: 1, end_line: 3, end_column: 1 });
    }

    #[test]
    fn what_somebody_claims_stays_within_the_text() {
        let lines = Lines::of("abc\nd");
        let claimed = Span { line: 0, column: 0, end_line: u32::MAX, end_column: u32::MAX };
        let whole = Span { line: 1, column: 1, end_line: 2, end_column: 2 };
        assert_eq!(lines.clamped(claimed), whole);
        let backwards = Span { line: 2, column: 9, end_line: 1, end_column: 1 };
        let end = Span { line: 2, column: 2, end_line: 2, end_column: 2 };
        assert_eq!(lines.clamped(backwards), end);
    }

    #[test]
    fn the_worst_are_kept() {
        let mut few: Vec<Finding> = (0..MAX_FINDINGS as u32).map(|at| finding(at, "x")).collect();
        assert_eq!(cap(&mut few, |it| it.severity), None);
        few.push(Finding { severity: Severity::Error, ..finding(7_000, "y") });
        few.push(Finding { severity: Severity::Error, ..finding(8_000, "z") });
        let note = cap(&mut few, |it| it.severity).unwrap();
        assert!(note.message.starts_with("2 more findings"), "{note}");
        assert_eq!(few.len(), MAX_FINDINGS);
        assert_eq!((few[0].at.line, few[1].at.line, few[2].at.line), (7_000, 8_000, 0));
    }

    #[test]
    fn what_only_moved_is_not_new() {
        let before = [finding(1, "x"), finding(2, "y")];
        let after = vec![finding(5, "y"), finding(6, "x"), finding(7, "x"), finding(8, "z")];
        let new: Vec<u32> = new_findings(&before, after).iter().map(|it| it.at.line).collect();
        assert_eq!(new, [7, 8]);
    }
}
