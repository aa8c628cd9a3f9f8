//! Finds the name of a renamed instance in a path expression of a script, and its replacement.

use super::super::lexer::{Token, TokenKind, string_content, tokenize};
use super::ByteSpan;

/// Maximum number of local variables to follow from one to the next.
const MAX_LOCALS: usize = 4;

/// A name in a script, and the text that replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameReplacement {
    pub span: ByteSpan,
    pub text: String,
}

/// The replacements that a script may need if the expression in `within` is a path through an
/// instance that was renamed from `old` to `new`. First come names in the path itself, then those
/// in the values of the local variables that it begins with. Some may be names of other instances.
pub fn find_replacements(
    source: &str,
    within: ByteSpan,
    old: &str,
    new: &str,
) -> Vec<NameReplacement> {
    let tokens = tokenize(source);
    let (mut found, mut span) = (Vec::new(), within);
    for _ in 0..MAX_LOCALS {
        let is_in = |it: &Token| span.start <= it.start && it.end <= span.end;
        let first = tokens.partition_point(|it| it.start < span.start);
        let inside =
            &tokens[first..first + tokens[first..].iter().take_while(|it| is_in(it)).count()];
        for (at, token) in inside.iter().enumerate() {
            let before = at.checked_sub(1).map(|it| inside[it].kind);
            found.extend(replace_token(source, *token, before, old, new));
        }
        let Some(next) = path_root(inside, source)
            .and_then(|name| find_local_value(&tokens[..first], source, name))
        else {
            break;
        };
        span = next;
    }
    found
}

/// The replacement of a token; None if the token is not the name.
fn replace_token(
    source: &str,
    token: Token,
    before: Option<TokenKind>,
    old: &str,
    new: &str,
) -> Option<NameReplacement> {
    let Token { kind, start, end } = token;
    let text = ByteSpan { start, end }.text_in(source);
    match kind {
        TokenKind::Name if text == old && before == Some(TokenKind::Symbol(b'.')) => {
            Some(if is_identifier(new) {
                NameReplacement { span: ByteSpan { start, end }, text: new.to_owned() }
            } else {
                // The replacement includes the dot.
                NameReplacement {
                    span: ByteSpan { start: start - 1, end },
                    text: format!("[{}]", quote_text(new)),
                }
            })
        }
        TokenKind::Text => {
            let inner = string_content(text)?;
            if inner.contains('\\') || text.starts_with('[') {
                return None;
            }
            if inner == old {
                return Some(NameReplacement {
                    span: ByteSpan { start, end },
                    text: quote_text(new),
                });
            }
            // A path as a string: `./Lib/Coins`.
            let at = inner.split('/').scan(0, |at, segment| {
                let from = *at;
                *at += segment.len() + 1;
                Some((from, segment))
            });
            let (from, _) = at.skip(1).find(|(_, segment)| *segment == old)?;
            if new.contains(['/', '\\', '"', '\'', '`']) {
                return None;
            }
            let start = start + 1 + from as u32;
            let span = ByteSpan { start, end: start + old.len() as u32 };
            Some(NameReplacement { span, text: new.to_owned() })
        }
        _ => None,
    }
}

/// The variable that a path begins with: the first name other than `require` and `pcall`.
fn path_root<'s>(tokens: &[Token], source: &'s str) -> Option<&'s str> {
    let mut names = tokens.iter().filter(|it| it.kind == TokenKind::Name);
    let names = names.by_ref().map(|it| ByteSpan { start: it.start, end: it.end }.text_in(source));
    names.into_iter().find(|name| !matches!(*name, "require" | "pcall"))
}

/// The value of a local variable: from its last `local NAME =` to the end of the line.
fn find_local_value(tokens: &[Token], source: &str, name: &str) -> Option<ByteSpan> {
    let is_it = |it: &[Token]| {
        it[0].kind == TokenKind::Local
            && ByteSpan { start: it[1].start, end: it[1].end }.text_in(source) == name
            && it[2].kind == TokenKind::Symbol(b'=')
    };
    let at = tokens.windows(3).rposition(is_it)?;
    let start = tokens[at + 2].end;
    let rest = source.get(start as usize..)?;
    let length = rest.find('\n').unwrap_or(rest.len());
    Some(ByteSpan { start, end: start + length as u32 })
}

/// Whether a name can follow a dot.
fn is_identifier(text: &str) -> bool {
    let tokens = tokenize(text);
    let is_whole = |it: &Token| it.kind == TokenKind::Name && it.end as usize == text.len();
    tokens.first().is_some_and(is_whole)
}

fn quote_text(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
