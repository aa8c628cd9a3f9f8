//! Findings in a script, whether by the compiler, a lint or a type checker.
//!
//! Lines and columns count from 1, columns in characters (Unicode scalar values). This module must
//! not know where the script is located.

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingSeverity {
    /// Something was not checked, or is worth knowing.
    Note,
    Warning,
    Error,
}

impl FindingSeverity {
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for FindingSeverity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingSource {
    Compiler,
    Selene,
    /// The lints by the facts about Roblox's API.
    Api,
    Types,
    /// The reader of the lint settings.
    Settings,
}

/// A range of a text. Lines and columns count from 1; the end is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LineSpan {
    pub line: u32,
    pub column: u32,
    pub end_line: u32,
    /// The column after the last character.
    pub end_column: u32,
}

impl LineSpan {
    pub const START: Self = Self { line: 1, column: 1, end_line: 1, end_column: 1 };
}

/// A problem in a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceFinding {
    pub severity: FindingSeverity,
    pub finder: FindingSource,
    /// The name of the rule: one of selene's, such as `undefined_variable`, or `syntax`, `type`.
    pub code: String,
    pub message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    #[serde(flatten)]
    pub at: LineSpan,
}

impl fmt::Display for SourceFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { severity, code, message, at, .. } = self;
        write!(f, "{}:{}: {severity}: {message} ({code})", at.line, at.column)
    }
}

/// The start of each line of a text, to convert bytes to lines and columns.
#[derive(Debug)]
pub struct LineIndex<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    /// Indexes the lines of a text.
    pub fn from_text(text: &'a str) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        Self { text, starts: std::iter::once(0).chain(ends).collect() }
    }

    /// Number of lines. A text that ends with a line break has an empty last line.
    pub fn line_count(&self) -> usize {
        self.starts.len()
    }

    /// The text of a line by its number, from 1, without the line break; empty if it does not
    /// exist.
    pub fn line_text(&self, number: u32) -> &'a str {
        let at = number.saturating_sub(1) as usize;
        let Some(start) = self.starts.get(at) else {
            return "";
        };
        let end = self.starts.get(at + 1).copied().unwrap_or(self.text.len());
        self.text[*start..end].trim_end_matches(['\n', '\r'])
    }

    /// The line and column of a byte offset. Offsets beyond the text are clamped to its end.
    pub fn line_column(&self, byte: usize) -> (u32, u32) {
        let byte = self.text.floor_char_boundary(byte.min(self.text.len()));
        let line = self.starts.partition_point(|start| *start <= byte);
        let start = self.starts[line - 1];
        (line as u32, self.text[start..byte].chars().count() as u32 + 1)
    }

    /// Converts a range of bytes.
    pub fn span_from_bytes(&self, bytes: (usize, usize)) -> LineSpan {
        let (line, column) = self.line_column(bytes.0);
        let (end_line, end_column) = self.line_column(bytes.1.max(bytes.0));
        LineSpan { line, column, end_line, end_column }
    }

    /// The range of a line without the white space around its code.
    pub fn line_span(&self, number: u32) -> LineSpan {
        let number = number.clamp(1, self.line_count() as u32);
        let line = self.line_text(number);
        let indent = line.chars().take_while(|c| c.is_whitespace()).count() as u32;
        let (column, end_column) = match line.trim_end().chars().count() as u32 {
            0 => (1, 1),
            end => (indent + 1, end + 1),
        };
        LineSpan { line: number, column, end_line: number, end_column }
    }

    /// Clamps a range that was reported by another tool to the text.
    pub fn clamp_span(&self, span: LineSpan) -> LineSpan {
        let place = |line: u32, column: u32| {
            let line = line.clamp(1, self.line_count() as u32);
            (line, column.clamp(1, self.line_text(line).chars().count() as u32 + 1))
        };
        let start = place(span.line, span.column);
        let end = place(span.end_line, span.end_column).max(start);
        LineSpan { line: start.0, column: start.1, end_line: end.0, end_column: end.1 }
    }
}

/// Maximum number of findings that are reported per script.
pub const MAX_FINDINGS: usize = 1_000;

/// Removes the least severe and last findings above the maximum. Returns a note with their number;
/// None if nothing was removed.
pub fn cap_findings<T>(
    found: &mut Vec<T>,
    severity: impl Fn(&T) -> FindingSeverity,
) -> Option<SourceFinding> {
    let more = found.len().checked_sub(MAX_FINDINGS).filter(|more| *more > 0)?;
    found.sort_by_key(|it| std::cmp::Reverse(severity(it)));
    found.truncate(MAX_FINDINGS);
    Some(SourceFinding {
        severity: FindingSeverity::Note,
        finder: FindingSource::Settings,
        code: "more_findings".to_owned(),
        message: format!("{more} more findings are not shown; fix these and check again"),
        notes: Vec::new(),
        at: LineSpan::START,
    })
}

/// The findings in `after` that are not in `before`, regardless of their position. Of identical
/// findings, only the surplus is new.
pub fn new_findings(before: &[SourceFinding], after: Vec<SourceFinding>) -> Vec<SourceFinding> {
    let key = |it: &SourceFinding| (it.severity, it.finder, it.code.clone(), it.message.clone());
    let mut known: HashMap<_, usize> = HashMap::new();
    for finding in before {
        *known.entry(key(finding)).or_default() += 1;
    }
    let is_new = |finding: &SourceFinding| match known.get_mut(&key(finding)) {
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

    fn finding(line: u32, message: &str) -> SourceFinding {
        SourceFinding {
            severity: FindingSeverity::Warning,
            finder: FindingSource::Selene,
            code: "a".to_owned(),
            message: message.to_owned(),
            notes: Vec::new(),
            at: LineSpan { line, ..LineSpan::START },
        }
    }

    #[test]
    fn positions_are_lines_and_characters() {
        let lines = LineIndex::from_text("a\r\n  é😀x\n");
        assert_eq!(lines.line_count(), 3);
        assert_eq!(lines.line_text(2), "  é😀x");
        assert_eq!(lines.line_text(9), "");
        assert_eq!(lines.line_column(0), (1, 1));
        assert_eq!(lines.line_column(5), (2, 3));
        assert_eq!(lines.line_column(11), (2, 5));
        assert_eq!(lines.line_column(8), (2, 4), "within a character");
        assert_eq!(lines.line_column(999), (3, 1));
        assert_eq!(lines.line_span(2), LineSpan { line: 2, column: 3, end_line: 2, end_column: 6 });
        assert_eq!(
            lines.line_span(99),
            LineSpan { line: 3, column: 1, end_line: 3, end_column: 1 }
        );
    }

    #[test]
    fn claimed_spans_are_clamped_to_the_text() {
        let lines = LineIndex::from_text("abc\nd");
        let claimed = LineSpan { line: 0, column: 0, end_line: u32::MAX, end_column: u32::MAX };
        let whole = LineSpan { line: 1, column: 1, end_line: 2, end_column: 2 };
        assert_eq!(lines.clamp_span(claimed), whole);
        let backwards = LineSpan { line: 2, column: 9, end_line: 1, end_column: 1 };
        let end = LineSpan { line: 2, column: 2, end_line: 2, end_column: 2 };
        assert_eq!(lines.clamp_span(backwards), end);
    }

    #[test]
    fn most_severe_findings_are_kept() {
        let mut few: Vec<SourceFinding> =
            (0..MAX_FINDINGS as u32).map(|at| finding(at, "x")).collect();
        assert_eq!(cap_findings(&mut few, |it| it.severity), None);
        few.push(SourceFinding { severity: FindingSeverity::Error, ..finding(7_000, "y") });
        few.push(SourceFinding { severity: FindingSeverity::Error, ..finding(8_000, "z") });
        let note = cap_findings(&mut few, |it| it.severity).unwrap();
        assert!(note.message.starts_with("2 more findings"), "{note}");
        assert_eq!(few.len(), MAX_FINDINGS);
        assert_eq!((few[0].at.line, few[1].at.line, few[2].at.line), (7_000, 8_000, 0));
    }

    #[test]
    fn moved_findings_are_not_new() {
        let before = [finding(1, "x"), finding(2, "y")];
        let after = vec![finding(5, "y"), finding(6, "x"), finding(7, "x"), finding(8, "z")];
        let new: Vec<u32> = new_findings(&before, after).iter().map(|it| it.at.line).collect();
        assert_eq!(new, [7, 8]);
    }
}
