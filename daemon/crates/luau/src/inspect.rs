//! All that can be told of one script alone: whether it compiles, and if so what is suspicious in it.

use super::compile;
use super::finding::{Finder, Finding, Lines, Severity, Span};
use super::lint::Linter;
use super::nesting::Stack;

/// What is wrong with a script, in order.
pub fn inspect(source: &str, linter: &Linter, stack: Stack) -> Vec<Finding> {
    let errors = syntax(source);
    if errors.is_empty() { linter.lint(source, stack) } else { errors }
}

/// What keeps a script from compiling, by the compiler's verdict. The compiler says the line alone,
/// and often the word that it stumbled on. Nothing parses the text to learn more: what does not
/// compile may be nested without end.
pub fn syntax(source: &str) -> Vec<Finding> {
    let errors = compile::check(source);
    if errors.is_empty() {
        return Vec::new();
    }
    let lines = Lines::of(source);
    let finding = |error: compile::Diagnostic| Finding {
        severity: Severity::Error,
        finder: Finder::Compiler,
        code: "syntax".to_owned(),
        at: named(&error, &lines).unwrap_or_else(|| lines.whole(error.line)),
        message: error.message,
        notes: Vec::new(),
    };
    errors.into_iter().map(finding).collect()
}

/// Where the word stands that the compiler names, if that line holds it once.
fn named(error: &compile::Diagnostic, lines: &Lines<'_>) -> Option<Span> {
    let (_, got) = error.message.rsplit_once("got '")?;
    let word = &got[..got.rfind('\'')?];
    if word.is_empty() {
        return None;
    }
    let line = lines.line(error.line);
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
    Some(Span { line: error.line, column, end_line: error.line, end_column })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &[&str]) {
        let found = inspect(source, &Linter::plain(), Stack::Usual);
        let said: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(said, expected);
    }

    #[test]
    fn what_does_not_compile_is_not_linted() {
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
    fn depth_costs_no_stack() {
        let deep = format!("return {}1{}", "(".repeat(100_000), ")".repeat(100_000));
        assert_eq!(inspect(&deep, &Linter::plain(), Stack::Usual).len(), 1);
        let blocks = format!("{}{}", "do ".repeat(100), "end ".repeat(100));
        let found = inspect(&blocks, &Linter::plain(), Stack::Usual);
        assert_eq!(found[0].code, "not_linted");
    }
}
