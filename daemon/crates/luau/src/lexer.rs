//! The lexer: the tokens of a script and the comments between them, as Luau's own lexer reads them.
//!
//! It works on bytes and is fast, because all scripts of a place pass through it. It never fails:
//! it skips what is not a token, and an unclosed token ends with its line or the text. Unlike Luau,
//! it reads on after a NUL, so that nothing remains unread. It must not know what tokens mean.

use std::ops::Range;

use memchr::{memchr2, memmem};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// An identifier, or a contextual keyword.
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
    /// A string without embedded code, including its quotes.
    Text,
    /// The first part of an interpolated string with embedded code.
    TextBegin,
    /// A part of an interpolated string between two pieces of code.
    TextMiddle,
    /// The last part of an interpolated string.
    TextEnd,
    /// A symbol of one byte.
    Symbol(u8),
    Arrow,
    TypeCast,
    Concat,
    Ellipsis,
    /// `==`, `~=`, `<=`.
    Comparison,
    /// `>=`, which counts as two symbols at the end of type arguments.
    GreaterOrEqual,
    FloorDivide,
    /// `+=` and similar.
    CompoundAssign,
    /// The end of the text.
    Eof,
}

/// A token and its byte range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// A script as tokens and comments.
pub(crate) struct LexedSource {
    /// The tokens in order, followed by one [`TokenKind::Eof`].
    pub(crate) tokens: Vec<Token>,
    /// The byte ranges of the comments in order. A line break that ends a comment is excluded.
    pub(crate) comments: Vec<Range<usize>>,
}

/// Splits a script into tokens, followed by one [`TokenKind::Eof`].
pub(crate) fn tokenize(source: &str) -> Vec<Token> {
    tokenize_with_comments(source).tokens
}

pub(crate) fn tokenize_with_comments(source: &str) -> LexedSource {
    let mut lexer = Lexer {
        bytes: source.as_bytes(),
        at: 0,
        braces: Vec::new(),
        tokens: Vec::with_capacity(source.len() / 4),
        comments: Vec::new(),
    };
    // Offsets have 32 bits; longer scripts are not tokenized.
    if u32::try_from(source.len()).is_ok() {
        if source.starts_with("#!") {
            lexer.push_comment(lexer.line_end(0));
        }
        while lexer.next_token() {}
    }
    let end = lexer.at as u32;
    lexer.tokens.push(Token { kind: TokenKind::Eof, start: end, end });
    LexedSource { tokens: lexer.tokens, comments: lexer.comments }
}

/// The level of the long bracket at an offset: 0 for `[[` and `]]`, 1 for `[=[` and `]=]`, and so
/// on. None if there is none.
pub(crate) fn long_bracket_level(bytes: &[u8], at: usize) -> Option<usize> {
    let sign = bytes.get(at).filter(|byte| matches!(byte, b'[' | b']'))?;
    let level = bytes[at + 1..].iter().take_while(|byte| **byte == b'=').count();
    (bytes.get(at + 1 + level) == Some(sign)).then_some(level)
}

/// The text of a string token between its quotes or long brackets. None if it is not closed.
pub(crate) fn string_content(text: &str) -> Option<&str> {
    if let Some(level) = long_bracket_level(text.as_bytes(), 0) {
        let width = level + 2;
        let end = text.len().checked_sub(width)?;
        let is_closed = long_bracket_level(text.as_bytes(), end) == Some(level);
        return text.get(width..end).filter(|_| is_closed);
    }
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    text[1..].strip_suffix(quote)
}

/// Whether Luau treats a byte as white space.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    /// For each open interpolated string, the number of open braces in its code.
    braces: Vec<usize>,
    tokens: Vec<Token>,
    comments: Vec<Range<usize>>,
}

impl Lexer<'_> {
    fn byte_at(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    fn push_token(&mut self, kind: TokenKind, end: usize) {
        self.tokens.push(Token { kind, start: self.at as u32, end: end as u32 });
        self.at = end;
    }

    fn push_comment(&mut self, end: usize) {
        self.comments.push(self.at..end);
        self.at = end;
    }

    /// The end of a line. A carriage return ends it as well as a line feed.
    fn line_end(&self, from: usize) -> usize {
        memchr2(b'\n', b'\r', &self.bytes[from..]).map_or(self.bytes.len(), |n| from + n)
    }

    fn next_token(&mut self) -> bool {
        let Some(&first) = self.bytes.get(self.at) else {
            return false;
        };
        match first {
            0x80.. => self.at += 1,
            space if is_space(space) => self.at += 1,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.read_word(),
            b'0'..=b'9' => self.read_number(),
            b'"' | b'\'' => {
                let end = self.quoted_end(self.at + 1, first);
                self.push_token(TokenKind::Text, end);
            }
            b'`' => self.read_interpolated(TokenKind::Text, TokenKind::TextBegin),
            b'-' if self.byte_at(self.at + 1) == b'-' => self.read_comment(),
            b'[' => match self.long_bracket(self.at) {
                Some(end) => self.push_token(TokenKind::Text, end),
                None => self.push_token(TokenKind::Symbol(b'['), self.at + 1),
            },
            b'{' => {
                if let Some(open) = self.braces.last_mut() {
                    *open += 1;
                }
                self.push_token(TokenKind::Symbol(b'{'), self.at + 1);
            }
            b'}' => match self.braces.last_mut() {
                Some(0) => {
                    self.braces.pop();
                    self.read_interpolated(TokenKind::TextEnd, TokenKind::TextMiddle);
                }
                Some(open) => {
                    *open -= 1;
                    self.push_token(TokenKind::Symbol(b'}'), self.at + 1);
                }
                None => self.push_token(TokenKind::Symbol(b'}'), self.at + 1),
            },
            b'.' if self.byte_at(self.at + 1).is_ascii_digit() => self.read_number(),
            sign => self.read_symbol(sign),
        }
        true
    }

    fn read_word(&mut self) {
        let rest = &self.bytes[self.at..];
        let is_in = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = rest.iter().position(|byte| !is_in(byte)).unwrap_or(rest.len());
        let kind = if length <= 8 { keyword_kind(&rest[..length]) } else { TokenKind::Name };
        self.push_token(kind, self.at + length);
    }

    fn read_number(&mut self) {
        let rest = &self.bytes[self.at..];
        let mut length = 0;
        while let Some(&byte) = rest.get(length) {
            let is_in = byte.is_ascii_alphanumeric() || byte == b'_';
            // `1..2` concatenates two numbers.
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
        self.push_token(TokenKind::Number, self.at + length.max(1));
    }

    fn read_comment(&mut self) {
        let end = self.long_bracket(self.at + 2).unwrap_or_else(|| self.line_end(self.at));
        self.push_comment(end);
    }

    /// The end of a long bracket (`[[`, `[=[` and so on) that begins at `at`.
    fn long_bracket(&self, at: usize) -> Option<usize> {
        self.bytes.get(at).filter(|byte| **byte == b'[')?;
        let from = at + long_bracket_level(self.bytes, at)? + 2;
        let close = [b"]", &self.bytes[at + 1..from - 1], b"]"].concat();
        let end = memmem::find(&self.bytes[from..], &close).map(|n| from + n + close.len());
        Some(end.unwrap_or(self.bytes.len()))
    }

    /// The end of a string, after its closing quote. `from` is the first byte of its content.
    fn quoted_end(&self, from: usize, quote: u8) -> usize {
        let mut at = from;
        loop {
            match self.bytes.get(at) {
                None => return self.bytes.len(),
                Some(b'\\') => at = self.escape_end(at),
                Some(b'\n' | b'\r') => return at,
                Some(byte) if *byte == quote => return at + 1,
                Some(_) => at += 1,
            }
        }
    }

    /// The end of an escape sequence. `\z` includes the white space that follows.
    fn escape_end(&self, at: usize) -> usize {
        let mut end = (at + 2).min(self.bytes.len());
        if self.byte_at(at + 1) == b'z' {
            while is_space(self.byte_at(end)) {
                end += 1;
            }
        } else if self.byte_at(at + 1) == b'\r' && self.byte_at(end) == b'\n' {
            end += 1;
        }
        end
    }

    fn read_interpolated(&mut self, whole: TokenKind, part: TokenKind) {
        let mut at = self.at + 1;
        loop {
            match self.bytes.get(at) {
                None => return self.push_token(whole, self.bytes.len()),
                // The brace of `\u{41}` does not begin code.
                Some(b'\\') if self.bytes[at..].starts_with(b"\\u{") => at += 3,
                Some(b'\\') => at = self.escape_end(at),
                Some(b'\n' | b'\r') => return self.push_token(whole, at),
                Some(b'`') => return self.push_token(whole, at + 1),
                Some(b'{') => {
                    self.braces.push(0);
                    return self.push_token(part, at + 1);
                }
                Some(_) => at += 1,
            }
        }
    }

    fn read_symbol(&mut self, sign: u8) {
        let (next, third) = (self.byte_at(self.at + 1), self.byte_at(self.at + 2));
        let (kind, length) = match (sign, next, third) {
            (b'.', b'.', b'.') => (TokenKind::Ellipsis, 3),
            (b'.', b'.', b'=') | (b'/', b'/', b'=') => (TokenKind::CompoundAssign, 3),
            (b'.', b'.', _) => (TokenKind::Concat, 2),
            (b'/', b'/', _) => (TokenKind::FloorDivide, 2),
            (b'-', b'>', _) => (TokenKind::Arrow, 2),
            (b':', b':', _) => (TokenKind::TypeCast, 2),
            (b'=' | b'~' | b'<', b'=', _) => (TokenKind::Comparison, 2),
            (b'>', b'=', _) => (TokenKind::GreaterOrEqual, 2),
            (b'+' | b'-' | b'*' | b'/' | b'%' | b'^', b'=', _) => (TokenKind::CompoundAssign, 2),
            _ => (TokenKind::Symbol(sign), 1),
        };
        self.push_token(kind, self.at + length);
    }
}

fn keyword_kind(word: &[u8]) -> TokenKind {
    match word {
        b"and" => TokenKind::And,
        b"break" => TokenKind::Break,
        b"do" => TokenKind::Do,
        b"else" => TokenKind::Else,
        b"elseif" => TokenKind::ElseIf,
        b"end" => TokenKind::End,
        b"false" => TokenKind::False,
        b"for" => TokenKind::For,
        b"function" => TokenKind::Function,
        b"if" => TokenKind::If,
        b"in" => TokenKind::In,
        b"local" => TokenKind::Local,
        b"nil" => TokenKind::Nil,
        b"not" => TokenKind::Not,
        b"or" => TokenKind::Or,
        b"repeat" => TokenKind::Repeat,
        b"return" => TokenKind::Return,
        b"then" => TokenKind::Then,
        b"true" => TokenKind::True,
        b"until" => TokenKind::Until,
        b"while" => TokenKind::While,
        _ => TokenKind::Name,
    }
}

#[cfg(test)]
mod tests;
