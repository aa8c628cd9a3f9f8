//! Compile errors of scripts, as Luau's compiler reports them.
//!
//! The bytecode is discarded, and there is no virtual machine.

use std::fmt;

use mlua::Error;
use mlua::chunk::Compiler;

/// A compile error or parse error and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileDiagnostic {
    /// The line number, from 1.
    pub line: u32,
    /// The column number, from 1. None if it is not known; the compiler does not report it.
    pub column: Option<u32>,
    /// The message as Luau words it.
    pub message: String,
}

impl fmt::Display for CompileDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if let Some(column) = self.column {
            write!(f, ", column {column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// The compile errors of a script; empty if it compiles. The compiler stops at the first error, so
/// there is at most one.
pub fn compile_errors(source: &str) -> Vec<CompileDiagnostic> {
    match Compiler::new().compile(source) {
        Ok(_) => vec![],
        Err(Error::SyntaxError { message, .. }) => vec![parse_diagnostic(&message)],
        Err(other) => vec![parse_diagnostic(&other.to_string())],
    }
}

/// The errors in `after` that an edit of `before` introduced.
///
/// Reports errors only if `before` compiles. In a broken script the compiler sees nothing after the
/// first error, so an edit that fixes this error and reveals the next would look like one that
/// breaks the script. Any edit of a broken script is therefore accepted.
pub fn new_errors(before: &str, after: &str) -> Vec<CompileDiagnostic> {
    let errors = compile_errors(after);
    if errors.is_empty() || !compile_errors(before).is_empty() { vec![] } else { errors }
}

/// Parses `name:LINE: message`, where the name may be empty. A message of another form applies to
/// the whole script and gets line 1.
fn parse_diagnostic(text: &str) -> CompileDiagnostic {
    let placed = text.split_once(": ").and_then(|(place, message)| {
        let line = place.rsplit(':').next()?.parse().ok()?;
        Some(CompileDiagnostic { line, column: None, message: message.to_owned() })
    });
    placed.unwrap_or_else(|| CompileDiagnostic { line: 1, column: None, message: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &str) {
        let found: Vec<_> = super::compile_errors(source).iter().map(ToString::to_string).collect();
        assert_eq!(found.join("\n"), expected);
    }

    #[test]
    fn valid_studio_scripts_compile() {
        check("", "");
        check("local x: number = 1\nx += 1\nreturn `{x} 😀`", "");
        check("@native\nlocal function f<T>(a: T): T return a end\r\nreturn f", "");
        check("--!strict\nexport type A = { read b: string? }\nfor i = 1, 2 do continue end", "");
    }

    #[test]
    fn errors_have_line_and_message() {
        check(
            "local x = 1\r\nlocal y =\r\n",
            "line 3: Expected identifier when parsing expression, got <eof>",
        );
        check("if x then", "line 1: Expected 'end' (to close 'then' at column 6), got <eof>");
        check("a\0b", "line 1: Incomplete statement: expected assignment or a function call");
        check("break", "line 1: break statement must be inside a loop");
    }

    #[test]
    fn survives_deep_nesting() {
        let deep = format!("return {}1{}", "(".repeat(100_000), ")".repeat(100_000));
        assert_eq!(super::compile_errors(&deep).len(), 1);
        let blocks = format!("{}{}", "do ".repeat(100_000), "end ".repeat(100_000));
        assert_eq!(super::compile_errors(&blocks).len(), 1);
    }

    #[test]
    fn only_errors_caused_by_the_edit_are_new() {
        assert_eq!(new_errors("local a", "local a = 1"), []);
        assert_eq!(new_errors("local a", "local a =").len(), 1);
        assert_eq!(new_errors("local a =", "local b ="), []);
    }

    #[test]
    fn diagnostics_in_other_formats_are_parsed() {
        let read = |text| parse_diagnostic(text).to_string();
        assert_eq!(read("game.Script:12: oh: no"), "line 12: oh: no");
        assert_eq!(read("not enough memory"), "line 1: not enough memory");
    }
}
