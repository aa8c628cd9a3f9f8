//! A script's tokens without its comments: just enough to tell code from text.
//!
//! It is not a parser. It never fails, also on text that does not compile; fragments that begin in
//! the middle of a string or a comment are read as if they began in code.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An identifier or a keyword.
    Name,
    Number,
    /// A string, or one of the literal parts of an interpolated one; its text is what stands
    /// between the quotes, with its escapes as they are written.
    String,
    /// A single sign.
    Sign,
}

/// A piece of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// The line it starts on, from 1.
    pub(super) line: usize,
}

/// All tokens in order.
pub(super) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut scanner = Scanner { source, at: 0, line: 1, braces: vec![], tokens: vec![] };
    while scanner.step() {}
    scanner.tokens
}

struct Scanner<'a> {
    source: &'a str,
    at: usize,
    line: usize,
    /// For each interpolated string that is open, how many braces are open in its expression.
    braces: Vec<usize>,
    tokens: Vec<Token<'a>>,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn skip(&mut self, length: usize) -> &'a str {
        let skipped = &self.rest()[..length];
        self.line += skipped.matches('\n').count();
        self.at += length;
        skipped
    }

    fn take(&mut self, kind: Kind, length: usize) {
        let line = self.line;
        let text = self.skip(length);
        self.tokens.push(Token { kind, text, line });
    }

    fn step(&mut self) -> bool {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return false;
        };
        if let Some(comment) = rest.strip_prefix("--") {
            let length = match long_bracket(comment) {
                Some((open, content)) => 2 + open * 2 + content,
                None => rest.find(['\n', '\r']).unwrap_or(rest.len()),
            };
            self.skip(length.min(rest.len()));
        } else if let Some((open, content)) = long_bracket(rest) {
            self.skip(open);
            self.take(Kind::String, content);
            self.skip(open.min(self.rest().len()));
        } else if first == '"' || first == '\'' {
            self.skip(1);
            self.take(Kind::String, quoted(self.rest(), &[first, '\n']));
            self.skip(1.min(self.rest().len()));
        } else if first == '`' {
            self.interpolated();
        } else if first.is_ascii_digit() {
            self.take(Kind::Number, run(rest, |c| c.is_ascii_alphanumeric() || "_.".contains(c)));
        } else if first.is_alphabetic() || first == '_' {
            self.take(Kind::Name, run(rest, |c| c.is_alphanumeric() || c == '_'));
        } else if first.is_whitespace() {
            self.skip(run(rest, char::is_whitespace));
        } else {
            self.sign(first);
        }
        true
    }

    fn sign(&mut self, sign: char) {
        match (sign, self.braces.last_mut()) {
            ('{', Some(open)) => *open += 1,
            ('}', Some(0)) => {
                self.braces.pop();
                self.interpolated();
                return;
            }
            ('}', Some(open)) => *open -= 1,
            _ => {}
        }
        self.take(Kind::Sign, sign.len_utf8());
    }

    /// Takes the literal part behind the sign that is next, and the sign that ends it.
    fn interpolated(&mut self) {
        self.skip(1);
        self.take(Kind::String, quoted(self.rest(), &['`', '{', '\n']));
        if self.rest().starts_with('{') {
            self.braces.push(0);
        }
        self.skip(1.min(self.rest().len()));
    }
}

/// The lengths of the opening and of what is inside, where a text starts with `[[`, `[=[` and so on.
/// The closing is as long as the opening.
fn long_bracket(text: &str) -> Option<(usize, usize)> {
    let level = run(text.strip_prefix('[')?, |c| c == '=');
    let inside = text[1 + level..].strip_prefix('[')?;
    let close = format!("]{}]", "=".repeat(level));
    Some((level + 2, inside.find(&close).unwrap_or(inside.len())))
}

/// How much of a text stands before the first of these signs that is not escaped. A line end may be
/// escaped, and all white space behind `\z`.
fn quoted(text: &str, ends: &[char]) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if ends.contains(&c) {
            return at;
        }
        if c != '\\' {
            continue;
        }
        match chars.next() {
            Some((_, '\r')) => {
                chars.next_if(|(_, c)| *c == '\n');
            }
            Some((_, 'z')) => while chars.next_if(|(_, c)| c.is_ascii_whitespace()).is_some() {},
            // In an interpolated string this brace opens no code.
            Some((_, 'u')) => {
                chars.next_if(|(_, c)| *c == '{');
            }
            _ => {}
        }
    }
    text.len()
}

fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &str) {
        let shown: Vec<_> = tokens(source)
            .iter()
            .map(|token| match token.kind {
                Kind::String => format!("{}<{}>", token.line, token.text),
                Kind::Name | Kind::Number | Kind::Sign => format!("{}{}", token.line, token.text),
            })
            .collect();
        assert_eq!(shown.join(" "), expected);
    }

    #[test]
    fn tells_code_from_text() {
        check("", "");
        check("a.b = 0x1F -- c\r\nd", "1a 1. 1b 1= 10x1F 2d");
        check("--[==[ a\n]] ]==] b --[[ c", "2b");
        check(r#"x'a\'b' "c""#, r"1x 1<a\'b> 1<c>");
        check("[[a\nb]] c [=[d]]]=]", "1<a\nb> 2c 1<d]]>".replace("1<d", "2<d").as_str());
        check("a[b[1]] 'open\nc", "1a 1[ 1b 1[ 11 1] 1] 1<open> 2c");
    }

    #[test]
    fn reads_the_code_in_interpolated_strings() {
        check("`a{ {b} }c{`d{e}`}` f", "1<a> 1{ 1b 1} 1<c> 1<d> 1e 1<> 1<> 1f");
        check(r"`\{a` b", r"1<\{a> 1b");
    }

    /// What Luau reads as code must not pass for a comment or a string.
    #[test]
    fn ends_comments_and_strings_where_luau_does() {
        for (source, expected) in [
            ("f(-- a\r) b()", "1f 1( 1) 1b 1( 1)"),
            ("f('\\z \r\n ' ) b()", "1f 1( 1<\\z \r\n > 2) 2b 2( 2)"),
            ("f('\\\r\n' ) b()", "1f 1( 1<\\\r\n> 2) 2b 2( 2)"),
            ("f(`\\u{41}{c}` )", "1f 1( 1<\\u{41}> 1c 1<> 1)"),
        ] {
            check(source, expected);
            assert_eq!(crate::core::luau::check(source), [], "the compiler sees the `)` as well");
        }
    }

    #[test]
    fn never_panics() {
        let pieces =
            ["--", "[[", "]]", "[=[", "`", "{", "}", "\"", "\\", "\n", "é", "😀", "a", "1"];
        let mut state = 9_u64;
        for _ in 0..5_000 {
            let mut source = String::new();
            for _ in 0..12 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                source.push_str(pieces[(state >> 9) as usize % pieces.len()]);
            }
            tokens(&source);
        }
    }
}
