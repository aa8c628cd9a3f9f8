//! Inspects a single script: compile errors, or if it compiles, lints.

use super::compile;
use super::finding::{FindingSeverity, FindingSource, LineIndex, LineSpan, SourceFinding};
use super::lint::SourceLinter;
use super::nesting::StackSize;

/// The problems of a script, in order.
pub fn inspect_source(source: &str, linter: &SourceLinter, stack: StackSize) -> Vec<SourceFinding> {
    let errors = syntax_findings(source);
    if errors.is_empty() { linter.lint_source(source, stack) } else { errors }
}

/// The compile error of a script, if any. The compiler reports only the line, and often the word at
/// which it stopped. The text is not parsed for more detail, because text that does not compile may
/// be nested arbitrarily deep.
pub fn syntax_findings(source: &str) -> Vec<SourceFinding> {
    let errors = compile::compile_errors(source);
    if errors.is_empty() {
        return Vec::new();
    }
    let lines = LineIndex::from_text(source);
    let finding = |error: compile::CompileDiagnostic| SourceFinding {
        severity: FindingSeverity::Error,
        finder: FindingSource::Compiler,
        code: "syntax".to_owned(),
        at: error_word_span(&error, &lines).unwrap_or_else(|| lines.line_span(error.line)),
        message: error.message,
        notes: Vec::new(),
    };
    errors.into_iter().map(finding).collect()
}

/// The position of the word that the compiler names, if it occurs exactly once in the line.
fn error_word_span(error: &compile::CompileDiagnostic, lines: &LineIndex<'_>) -> Option<LineSpan> {
    let (_, rest) = error.message.rsplit_once("got '")?;
    let word = &rest[..rest.rfind('\'')?];
    if word.is_empty() {
        return None;
    }
    let line = lines.line_text(error.line);
    let belongs = |c: char| c.is_alphanumeric() || c == '_';
    let is_whole = |at: &usize| {
        let (before, behind) = (&line[..*at], &line[at + word.len()..]);
        !(word.starts_with(belongs) && before.ends_with(belongs)
            || word.ends_with(belongs) && behind.starts_with(belongs))
    };
    let mut places = line.match_indices(word).map(|(at, _)| at).filter(is_whole);
    let at = places.next().filter(|_| places.next().is_none())?;
    let column = line[..at].chars().count() as u32 + 1;
    let end_column = column + word.chars().count() as u32;
    Some(LineSpan { line: error.line, column, end_line: error.line, end_column })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &[&str]) {
        let found = inspect_source(source, &SourceLinter::default_lints(), StackSize::Usual);
        let said: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(said, expected);
    }

    #[test]
    fn scripts_that_do_not_compile_are_not_linted() {
        check(
            "print(x)\n\tlocal y = ) 2 -- what\n",
            &["2:12: error: Expected identifier when parsing expression, got ')' (syntax)"],
        );
        check(
            "print(x)\n\tlocal y = = 2\n",
            &["2:2: error: Expected identifier when parsing expression, got '=' (syntax)"],
        );
        check("print(x)", &["1:7: error: `x` is not defined (undefined_variable)"]);
        check("", &[]);
    }

    #[test]
    fn deep_scripts_do_not_overflow_the_stack() {
        let deep = format!("return {}1{}", "(".repeat(100_000), ")".repeat(100_000));
        assert_eq!(
            inspect_source(&deep, &SourceLinter::default_lints(), StackSize::Usual).len(),
            1
        );
        let blocks = format!("{}{}", "do ".repeat(100), "end ".repeat(100));
        let found = inspect_source(&blocks, &SourceLinter::default_lints(), StackSize::Usual);
        assert_eq!(found[0].code, "not_linted");
    }
}
