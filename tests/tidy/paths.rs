//! The paths in code: expanded `use` trees, and paths in expressions.
//!
//! Imported names are not resolved: the import is a separate path.

/// A path and its byte offset. A glob ends with the segment `*`.
pub(super) type Path<'a> = (usize, Vec<&'a str>);

/// Words, `::` and single characters, each with its byte offset.
pub(super) fn tokens(code: &str) -> Vec<(usize, &str)> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = code[at..].chars().next() {
        let rest = &code[at..];
        let length = if c.is_alphanumeric() || c == '_' {
            rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            c.len_utf8()
        };
        if !c.is_whitespace() {
            tokens.push((at, &rest[..length]));
        }
        at += length;
    }
    tokens
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// All paths of two or more segments, and the paths of `use` items.
pub(super) fn paths(code: &str) -> Vec<Path<'_>> {
    let mut reader = Reader { tokens: tokens(code), at: 0, found: Vec::new() };
    let mut in_use = false;
    while let Some((_, token)) = reader.peek() {
        match token {
            "use" => {
                in_use = true;
                reader.at += 1;
            }
            _ if is_word(token) => {
                reader.tree(&[], in_use);
                in_use = false;
            }
            _ => reader.at += 1,
        }
    }
    reader.found
}

struct Reader<'a> {
    tokens: Vec<(usize, &'a str)>,
    at: usize,
    found: Vec<Path<'a>>,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<(usize, &'a str)> {
        self.tokens.get(self.at).copied()
    }

    /// Reads `a::b`, `a::{b, c::*}` or `a as b` below `front`.
    fn tree(&mut self, front: &[&'a str], in_use: bool) {
        let start = self.peek().map_or(0, |(at, _)| at);
        let mut segments = front.to_vec();
        while let Some((_, token)) = self.peek() {
            if token == "{" {
                self.at += 1;
                return self.group(&segments, in_use);
            }
            if !is_word(token) && token != "*" {
                break;
            }
            self.at += 1;
            if token != "self" || segments.is_empty() {
                segments.push(token);
            }
            match self.peek() {
                Some((_, "::")) => self.at += 1,
                _ => break,
            }
        }
        if in_use || segments.len() > 1 {
            self.found.push((start, segments));
        }
    }

    fn group(&mut self, front: &[&'a str], in_use: bool) {
        while let Some((_, token)) = self.peek() {
            match token {
                "}" => {
                    self.at += 1;
                    return;
                }
                "as" => self.at += 2,
                _ if is_word(token) || token == "*" => self.tree(front, in_use),
                _ => self.at += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: &str, expected: &[&str]) {
        let found: Vec<_> = paths(code).iter().map(|(_, segments)| segments.join("::")).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn use_trees_are_expanded() {
        check("use a;", &["a"]);
        check("pub use a::b as c;", &["a::b"]);
        check(
            "use a::{self, b, c::{d, e as f}, g::*};",
            &["a", "a::b", "a::c::d", "a::c::e", "a::g::*"],
        );
        check("pub(crate) fn f(x: a::B) -> Vec<c::D> { self.x + E::<u8>::f() }", &["a::B", "c::D"]);
        check("impl T for U { fn f() { super::g(); } }", &["super::g"]);
    }
}
