//! All that can be told of one script alone: whether it compiles, and if so what is suspicious in it.

use super::compile;
use super::finding::{Finder, Finding, Lines, Severity, Span};
use super::lint::Linter;
use super::nesting::{Stack, is_too_deep};
use super::tokens::tokens;

/// What is wrong with a script, in order.
pub fn inspect(source: &str, linter: &Linter, stack: Stack) -> Vec<Finding> {
    let errors = syntax(source, stack);
    if errors.is_empty() { linter.lint(source, stack) } else { errors }
}

/// What keeps a script from compiling, by the compiler's verdict. The compiler says the line alone;
/// the parser of the lints says where on it, if it stumbles on the same one.
pub fn syntax(source: &str, stack: Stack) -> Vec<Finding> {
    let errors = compile::check(source);
    if errors.is_empty() {
        return Vec::new();
    }
    let lines = Lines::of(source);
    let stumbled = stumbled(source, &lines, stack);
    let finding = |error: compile::Diagnostic| Finding {
        severity: Severity::Error,
        finder: Finder::Compiler,
        code: "syntax".to_owned(),
        message: error.message,
        notes: Vec::new(),
        at: match stumbled.filter(|it| it.line == error.line) {
            Some(at) => at,
            None => lines.whole(error.line),
        },
    };
    errors.into_iter().map(finding).collect()
}

fn stumbled(source: &str, lines: &Lines<'_>, stack: Stack) -> Option<Span> {
    if is_too_deep(&tokens(source), stack) {
        return None;
    }
    let parsed = full_moon::parse_fallible(source, full_moon::LuaVersion::luau());
    let (start, end) = parsed.errors().first()?.range();
    Some(lines.span((start.bytes(), end.bytes())))
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
            "print(x)\nlocal y = = 2\n",
            &["2:9: error: Expected identifier when parsing expression, got '=' (syntax)"],
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
