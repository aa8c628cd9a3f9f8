//! Where a script names an instance on the way to it, and what stands there for another name.

use super::Span;
use super::lexer::{Kind, Token, lex};

/// How many local variables may stand for each other.
const LOCALS: usize = 4;

/// A name in a script, and what stands in its place for another name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renaming {
    /// The bytes.
    pub span: Span,
    /// The new text.
    pub text: String,
}

/// What may have to change in a script where a path in `within` leads over an instance that had the name
/// `old` and has the name `new`: the names in the path itself first, then those in the local variables
/// that it begins with. Not each of them need be a name of that instance.
pub fn renamings(source: &str, within: Span, old: &str, new: &str) -> Vec<Renaming> {
    let tokens = lex(source);
    let (mut found, mut span) = (Vec::new(), within);
    for _ in 0..LOCALS {
        let is_in = |it: &Token| span.start <= it.start && it.end <= span.end;
        let first = tokens.partition_point(|it| it.start < span.start);
        let inside =
            &tokens[first..first + tokens[first..].iter().take_while(|it| is_in(it)).count()];
        for (at, token) in inside.iter().enumerate() {
            let before = at.checked_sub(1).map(|it| inside[it].kind);
            found.extend(renaming(source, *token, before, (old, new)));
        }
        let Some(next) =
            beginning(inside, source).and_then(|name| local(&tokens[..first], source, name))
        else {
            break;
        };
        span = next;
    }
    found
}

/// What stands in place of a token, where it is the name.
fn renaming(
    source: &str,
    token: Token,
    before: Option<Kind>,
    (old, new): (&str, &str),
) -> Option<Renaming> {
    let Token { kind, start, end } = token;
    let text = Span { start, end }.of(source);
    match kind {
        Kind::Name if text == old && before == Some(Kind::Sign(b'.')) => Some(if is_name(new) {
            Renaming { span: Span { start, end }, text: new.to_owned() }
        } else {
            // The dot goes with it.
            Renaming { span: Span { start: start - 1, end }, text: format!("[{}]", quoted(new)) }
        }),
        Kind::Text => {
            let inner = text.get(1..text.len().checked_sub(1)?)?;
            if inner.contains('\\') || text.starts_with('[') {
                return None;
            }
            if inner == old {
                return Some(Renaming { span: Span { start, end }, text: quoted(new) });
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
            let span = Span { start, end: start + old.len() as u32 };
            Some(Renaming { span, text: new.to_owned() })
        }
        _ => None,
    }
}

/// The variable that a path begins with: the first name that is no call of `require` or `pcall`.
fn beginning<'s>(tokens: &[Token], source: &'s str) -> Option<&'s str> {
    let mut names = tokens.iter().filter(|it| it.kind == Kind::Name);
    let names = names.by_ref().map(|it| Span { start: it.start, end: it.end }.of(source));
    names.into_iter().find(|name| !matches!(*name, "require" | "pcall"))
}

/// What a local variable was given last: behind `local NAME =`, to the end of the line.
fn local(tokens: &[Token], source: &str, name: &str) -> Option<Span> {
    let is_it = |it: &[Token]| {
        it[0].kind == Kind::Local
            && Span { start: it[1].start, end: it[1].end }.of(source) == name
            && it[2].kind == Kind::Sign(b'=')
    };
    let at = tokens.windows(3).rposition(is_it)?;
    let start = tokens[at + 2].end;
    let rest = source.get(start as usize..)?;
    let length = rest.find('\n').unwrap_or(rest.len());
    Some(Span { start, end: start + length as u32 })
}

/// Whether a name can stand behind a dot.
fn is_name(text: &str) -> bool {
    let tokens = lex(text);
    let is_whole = |it: &Token| it.kind == Kind::Name && it.end as usize == text.len();
    tokens.first().is_some_and(is_whole)
}

fn quoted(text: &str) -> String {
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
