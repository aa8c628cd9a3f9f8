//! How deep a script is nested, so that nothing that recurses is given what it cannot bear.

use super::tokens::{Kind, Token};

/// Blocks and brackets within each other; a small stack of a build for tests bears a hundred.
const DEEP: usize = 48;
/// Signs and words of one expression that a parser may recurse for.
const LONG: usize = 96;

/// How large a stack is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stack {
    /// That of any thread: 2 MB.
    Usual,
    /// At least 64 MB.
    Large,
}

impl Stack {
    /// How many times more it bears than the usual one: less than it is larger.
    fn times(self) -> usize {
        match self {
            Self::Usual => 1,
            Self::Large => 16,
        }
    }
}

/// Whether a parser that recurses could leave a stack. What cannot be told from tokens alone counts
/// as deeper than it is.
pub(super) fn is_too_deep(tokens: &[Token<'_>], stack: Stack) -> bool {
    let (mut depth, mut length) = (0_usize, 0_usize);
    let mut ends_value = true;
    for token in tokens {
        match (token.kind, token.text) {
            (Kind::Name, "if") if !ends_value => length += 1,
            (Kind::Name, "function" | "do" | "repeat" | "if") | (Kind::Sign, "(" | "[" | "{") => {
                depth += 1;
            }
            (Kind::Name, "end" | "until") | (Kind::Sign, ")" | "]" | "}") => {
                depth = depth.saturating_sub(1);
            }
            (Kind::Sign, "," | ";") => length = 0,
            (Kind::Name, "and" | "or" | "not" | "else") | (Kind::Sign, _) => length += 1,
            // Two values without a sign between them are of two statements.
            _ if ends_value => length = 0,
            _ => {}
        }
        ends_value = match token.kind {
            Kind::Number | Kind::String => true,
            Kind::Sign => matches!(token.text, ")" | "]" | "}" | ";"),
            Kind::Name => !matches!(
                token.text,
                "and" | "or" | "not" | "return" | "in" | "while" | "until" | "if" | "elseif"
            ),
        };
        if depth > DEEP * stack.times() || length > LONG * stack.times() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    #[track_caller]
    fn check(source: &str, deep: bool) {
        assert_eq!(is_too_deep(&tokens(source), Stack::Usual), deep);
    }

    #[test]
    fn long_scripts_are_not_deep() {
        let line = "for i = 1, 2 do\n\tif i == 1 then\n\t\ta.b[i] = f(i) .. 'x'\n\telse\n\t\ta:b()\n\tend\nend\n";
        check(&line.repeat(500), false);
        check(&"local x = if a then b else c\nx.y = -1\nrepeat x() until y\n".repeat(500), false);
        check(
            &format!("return {{ {} }}", "{ 1, f = function() return 2 end },\n".repeat(500)),
            false,
        );
    }

    #[test]
    fn nested_ones_are() {
        check(&"do ".repeat(60), true);
        check(&"if a then ".repeat(60), true);
        check(&"f(".repeat(60), true);
        check(&format!("return 1{}", " .. 1".repeat(100)), true);
        check(&format!("return {}1", "not ".repeat(100)), true);
        check(&format!("return {}1", "if 1 then 1 else ".repeat(100)), true);
        check(&"x = function() ".repeat(60), true);
        let blocks = "do ".repeat(60);
        assert!(!is_too_deep(&tokens(&blocks), Stack::Large), "a large stack bears more");
    }
}
