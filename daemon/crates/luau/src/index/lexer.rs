//! The tokens of a script with their places, for the reader of the index, and for the eye.
//!
//! It works on bytes and is made to be fast, for all scripts of a place are read with it. It never
//! fails: what is no token is left out, and what is not closed ends with its line or the text. What
//! the tokens mean is not known here.

use memchr::{memchr, memmem};

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier, or a word that is a keyword at some places only.
    Name,
    And,
    Break,
    Do,
    Else,
    ElseIf,
    End,
    False,
    For,
    Function,
    If,
    In,
    Local,
    Nil,
    Not,
    Or,
    Repeat,
    Return,
    Then,
    True,
    Until,
    While,
    Number,
    /// A string that holds no code. Its quotes belong to it.
    Text,
    /// The first part of an interpolated string that holds code.
    TextBegin,
    /// What stands between two pieces of code in an interpolated string.
    TextMiddle,
    /// The last part of one.
    TextEnd,
    /// A sign of one byte.
    Sign(u8),
    /// `->`
    Arrow,
    /// `::`
    Assert,
    /// `..`
    Concat,
    /// `...`
    Dots,
    /// `==`, `~=`, `<=`.
    Compare,
    /// `>=`, which at the end of a type's arguments is two signs.
    AtLeast,
    /// `//`
    FloorDivide,
    /// `+=` and its like.
    Compound,
    /// Behind the last token.
    Eof,
}

/// A piece of code: what it is, and the bytes that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// All tokens in order, and one [`Kind::Eof`] behind them.
pub(crate) fn lex(source: &str) -> Vec<Token> {
    let mut lexer =
        Lexer { bytes: source.as_bytes(), at: 0, braces: Vec::new(), tokens: Vec::new() };
    lexer.tokens.reserve(source.len() / 4);
    // Positions are of 32 bits; no script is longer than that.
    if u32::try_from(source.len()).is_ok() {
        if source.starts_with("#!") {
            lexer.at = lexer.line_end(0);
        }
        while lexer.step() {}
    }
    let end = lexer.at as u32;
    lexer.tokens.push(Token { kind: Kind::Eof, start: end, end });
    lexer.tokens
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    /// For each interpolated string that is open, how many braces are open in its code.
    braces: Vec<usize>,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    fn take(&mut self, kind: Kind, end: usize) {
        self.tokens.push(Token { kind, start: self.at as u32, end: end as u32 });
        self.at = end;
    }

    fn line_end(&self, from: usize) -> usize {
        memchr(b'\n', &self.bytes[from..]).map_or(self.bytes.len(), |n| from + n)
    }

    fn step(&mut self) -> bool {
        let Some(&first) = self.bytes.get(self.at) else {
            return false;
        };
        match first {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0x80.. => self.at += 1,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(),
            b'0'..=b'9' => self.number(),
            b'"' | b'\'' => {
                let end = self.quoted(self.at + 1, first);
                self.take(Kind::Text, end);
            }
            b'`' => self.interpolated(Kind::Text, Kind::TextBegin),
            b'-' if self.byte(self.at + 1) == b'-' => self.comment(),
            b'[' => match self.long_bracket(self.at) {
                Some(end) => self.take(Kind::Text, end),
                None => self.take(Kind::Sign(b'['), self.at + 1),
            },
            b'{' => {
                if let Some(open) = self.braces.last_mut() {
                    *open += 1;
                }
                self.take(Kind::Sign(b'{'), self.at + 1);
            }
            b'}' => match self.braces.last_mut() {
                Some(0) => {
                    self.braces.pop();
                    self.interpolated(Kind::TextEnd, Kind::TextMiddle);
                }
                Some(open) => {
                    *open -= 1;
                    self.take(Kind::Sign(b'}'), self.at + 1);
                }
                None => self.take(Kind::Sign(b'}'), self.at + 1),
            },
            b'.' if self.byte(self.at + 1).is_ascii_digit() => self.number(),
            sign => self.sign(sign),
        }
        true
    }

    fn word(&mut self) {
        let rest = &self.bytes[self.at..];
        let is_in = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = rest.iter().position(|byte| !is_in(byte)).unwrap_or(rest.len());
        let kind = if length <= 8 { keyword(&rest[..length]) } else { Kind::Name };
        self.take(kind, self.at + length);
    }

    fn number(&mut self) {
        let rest = &self.bytes[self.at..];
        let mut length = 0;
        while let Some(&byte) = rest.get(length) {
            let is_in = byte.is_ascii_alphanumeric() || byte == b'_';
            // `1..2` joins two numbers.
            let is_point = byte == b'.' && rest.get(length + 1) != Some(&b'.');
            let is_exponent = matches!(byte, b'+' | b'-')
                && length > 0
                && matches!(rest[length - 1], b'e' | b'E')
                && !matches!(rest.get(1), Some(b'x' | b'X' | b'b' | b'B'));
            if !is_in && !is_point && !is_exponent {
                break;
            }
            length += 1;
        }
        self.take(Kind::Number, self.at + length.max(1));
    }

    fn comment(&mut self) {
        self.at = match self.long_bracket(self.at + 2) {
            Some(end) => end,
            None => self.line_end(self.at),
        };
    }

    /// Where a text ends that begins with `[[`, `[=[` and so on at a place.
    fn long_bracket(&self, at: usize) -> Option<usize> {
        let rest = self.bytes.get(at..)?.strip_prefix(b"[")?;
        let level = rest.iter().position(|byte| *byte != b'=')?;
        let inside = rest[level..].strip_prefix(b"[")?;
        let from = at + level + 2;
        let close = [b"]".as_slice(), &rest[..level], b"]"].concat();
        let end = memmem::find(inside, &close).map(|n| from + n + close.len());
        Some(end.unwrap_or(self.bytes.len()))
    }

    /// Where a string ends, behind its quote, whose inside begins at a place.
    fn quoted(&self, from: usize, quote: u8) -> usize {
        let mut at = from;
        loop {
            match self.bytes.get(at) {
                None => return self.bytes.len(),
                Some(b'\\') => at = self.escape(at),
                Some(b'\n') => return at,
                Some(byte) if *byte == quote => return at + 1,
                Some(_) => at += 1,
            }
        }
    }

    /// Behind an escape: `\z` takes the white space that follows with it.
    fn escape(&self, at: usize) -> usize {
        let mut end = (at + 2).min(self.bytes.len());
        if self.byte(at + 1) == b'z' {
            while self.byte(end).is_ascii_whitespace() {
                end += 1;
            }
        } else if self.byte(at + 1) == b'\r' && self.byte(end) == b'\n' {
            end += 1;
        }
        end
    }

    fn interpolated(&mut self, whole: Kind, part: Kind) {
        let mut at = self.at + 1;
        loop {
            match self.bytes.get(at) {
                None => return self.take(whole, self.bytes.len()),
                Some(b'\\') => at = self.escape(at),
                Some(b'\n') => return self.take(whole, at),
                Some(b'`') => return self.take(whole, at + 1),
                Some(b'{') => {
                    self.braces.push(0);
                    return self.take(part, at + 1);
                }
                Some(_) => at += 1,
            }
        }
    }

    fn sign(&mut self, sign: u8) {
        let (next, third) = (self.byte(self.at + 1), self.byte(self.at + 2));
        let (kind, length) = match (sign, next, third) {
            (b'.', b'.', b'.') => (Kind::Dots, 3),
            (b'.', b'.', b'=') | (b'/', b'/', b'=') => (Kind::Compound, 3),
            (b'.', b'.', _) => (Kind::Concat, 2),
            (b'/', b'/', _) => (Kind::FloorDivide, 2),
            (b'-', b'>', _) => (Kind::Arrow, 2),
            (b':', b':', _) => (Kind::Assert, 2),
            (b'=' | b'~' | b'<', b'=', _) => (Kind::Compare, 2),
            (b'>', b'=', _) => (Kind::AtLeast, 2),
            (b'+' | b'-' | b'*' | b'/' | b'%' | b'^', b'=', _) => (Kind::Compound, 2),
            _ => (Kind::Sign(sign), 1),
        };
        self.take(kind, self.at + length);
    }
}

fn keyword(word: &[u8]) -> Kind {
    match word {
        b"and" => Kind::And,
        b"break" => Kind::Break,
        b"do" => Kind::Do,
        b"else" => Kind::Else,
        b"elseif" => Kind::ElseIf,
        b"end" => Kind::End,
        b"false" => Kind::False,
        b"for" => Kind::For,
        b"function" => Kind::Function,
        b"if" => Kind::If,
        b"in" => Kind::In,
        b"local" => Kind::Local,
        b"nil" => Kind::Nil,
        b"not" => Kind::Not,
        b"or" => Kind::Or,
        b"repeat" => Kind::Repeat,
        b"return" => Kind::Return,
        b"then" => Kind::Then,
        b"true" => Kind::True,
        b"until" => Kind::Until,
        b"while" => Kind::While,
        _ => Kind::Name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &[&str]) {
        let tokens = lex(source);
        let shown: Vec<&str> = tokens
            .iter()
            .map(|token| &source[token.start as usize..token.end as usize])
            .filter(|text| !text.is_empty())
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn tells_code_from_text() {
        check("", &[]);
        check("a.b = 0x1F -- c\r\nd", &["a", ".", "b", "=", "0x1F", "d"]);
        check("--[==[ a\n]] ]==] b --[[ c", &["b"]);
        check(r#"x'a\'b' "c""#, &["x", r"'a\'b'", "\"c\""]);
        check("[[a\nb]] c [=[d]]]=]", &["[[a\nb]]", "c", "[=[d]]]=]"]);
        check("a[b[1]] 'open\nc", &["a", "[", "b", "[", "1", "]", "]", "'open", "c"]);
        check("1..2 1e-5 0x1e-5 .5", &["1", "..", "2", "1e-5", "0x1e", "-", "5", ".5"]);
        check("a//=b ->::>=...", &["a", "//=", "b", "->", "::", ">=", "..."]);
        check("'a\\z \n b' c", &["'a\\z \n b'", "c"]);
        check("#!/bin/lune\na", &["a"]);
    }

    #[test]
    fn reads_the_code_in_interpolated_strings() {
        check("`a{ {b} }c{`d{e}`}` f", &["`a{", "{", "b", "}", "}c{", "`d{", "e", "}`", "}`", "f"]);
        check(r"`\{a` b", &[r"`\{a`", "b"]);
    }
}
