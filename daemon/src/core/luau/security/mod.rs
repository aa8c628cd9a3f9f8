//! Code that a person should look at twice: it reaches outside the place or hides what it does.
//!
//! It is a scan of tokens for the usual forms of backdoors, so that they do not slip by in a long
//! change. It proves nothing: whoever means to hide a call can (values that come from attributes,
//! other services, arithmetic), and a harmless line may be named. Comments are passed over. Nothing is
//! run and nothing is fetched, and what a finding leads to is decided elsewhere.

mod hidden;
mod imitation;
mod network;
mod reach;
mod spelled;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use super::tokens::{Kind, Token, tokens};

pub use self::imitation::imitation;

/// Findings of one script that a card lists; a person reads no more.
const MAX_SAID: usize = 30;

/// A place in a script, with what is said of it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    /// From 1.
    line: usize,
    what: String,
}

/// A script as it is looked through.
struct Script<'a> {
    source: &'a str,
    tokens: Vec<Token<'a>>,
    /// The names that are given a value that is a single number or text.
    literals: HashMap<&'a str, Literal>,
}

/// A name that is given a literal.
#[derive(Debug, Clone, Copy)]
struct Literal {
    /// The token of the value.
    value: usize,
    /// How often the name is given one.
    given: usize,
    /// How often it stands somewhere.
    stands: usize,
}

impl<'a> Script<'a> {
    fn new(source: &'a str) -> Self {
        let mut script = Self { source, tokens: tokens(source), literals: HashMap::new() };
        for at in 0..script.tokens.len() {
            if script.is_given_a_literal(at) {
                let new = Literal { value: at + 2, given: 0, stands: 0 };
                script.literals.entry(script.tokens[at].text).or_insert(new).given += 1;
            }
        }
        for token in script.tokens.iter().filter(|token| token.kind != Kind::Number) {
            if let Some(literal) = script.literals.get_mut(token.text) {
                literal.stands += 1;
            }
        }
        script
    }

    /// The text of the token at this index; empty behind the end.
    fn text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    /// The text of the token so many before this index; empty before the beginning.
    fn before(&self, at: usize, n: usize) -> &'a str {
        at.checked_sub(n).map_or("", |index| self.tokens[index].text)
    }

    fn is(&self, at: usize, kind: Kind) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == kind)
    }

    fn has_name(&self, name: &str) -> bool {
        self.tokens.iter().any(|token| token.kind == Kind::Name && token.text == name)
    }

    /// Whether tokens from here on are these signs and words.
    fn reads(&self, at: usize, texts: &[&str]) -> bool {
        texts.iter().enumerate().all(|(n, text)| {
            self.tokens
                .get(at + n)
                .is_some_and(|token| token.kind != Kind::String && token.text == *text)
        })
    }

    /// Whether a name is given a value here: `name = ...`, not `name == ...`.
    fn is_given(&self, at: usize) -> bool {
        self.is(at, Kind::Name) && self.reads(at + 1, &["="]) && !self.reads(at + 2, &["="])
    }

    fn is_given_a_literal(&self, at: usize) -> bool {
        let is_literal = self.is(at + 2, Kind::Number) || self.is(at + 2, Kind::String);
        // What follows a whole value is the next statement, or the end of a table's field.
        let next = self.tokens.get(at + 3);
        let ends = next.is_none_or(|token| {
            token.kind == Kind::Name && !matches!(token.text, "and" | "or")
                || token.kind == Kind::Sign && matches!(token.text, ";" | "," | "}" | "[" | "(")
        });
        self.is_given(at) && is_literal && ends
    }

    /// The number that stands here, or that the name here was given.
    fn number(&self, at: usize) -> Option<&'a str> {
        match self.tokens.get(at)?.kind {
            Kind::Number => Some(self.text(at)),
            Kind::Name => {
                let value = self.literals.get(self.text(at))?.value;
                self.is(value, Kind::Number).then(|| self.text(value))
            }
            Kind::String | Kind::Sign => None,
        }
    }

    /// Where a token stands in the source, in bytes.
    fn offset(&self, token: &Token<'_>) -> usize {
        token.text.as_ptr() as usize - self.source.as_ptr() as usize
    }
}

/// One sentence for each place, in order, with its line in `source` from 1.
pub fn security(source: &str) -> Vec<String> {
    let script = Script::new(source);
    let mut found = Vec::new();
    reach::find(&script, &mut found);
    network::find(&script, &mut found);
    spelled::find(&script, &mut found);
    hidden::find(&script, &mut found);
    if let Some(asks) = script.tokens.iter().find(|token| token.text == "IsStudio")
        && !found.is_empty()
    {
        let what = "asks whether it runs in Studio (IsStudio): what is named here may do nothing \
                    before the game is published";
        found.push(Found { line: asks.line, what: what.to_owned() });
    }
    found.sort();
    found.dedup();
    found.into_iter().map(|Found { line, what }| format!("Line {line} {what}.")).collect()
}

/// The sentences that the old ones do not hold, whatever their line numbers: what a change adds.
pub fn added(old: &[String], new: Vec<String>) -> Vec<String> {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for sentence in old {
        *known.entry(body(sentence)).or_default() += 1;
    }
    let is_new = |sentence: &String| match known.get_mut(body(sentence)) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    };
    new.into_iter().filter(is_new).collect()
}

/// A sentence without its line.
fn body(sentence: &str) -> &str {
    let rest = sentence.strip_prefix("Line ").unwrap_or(sentence);
    rest.trim_start_matches(|c: char| c.is_ascii_digit())
}

/// The sentences that a card has room for, with how many more there are.
pub fn listed(mut sentences: Vec<String>) -> Vec<String> {
    let more = sentences.len().saturating_sub(MAX_SAID);
    sentences.truncate(MAX_SAID);
    if more > 0 {
        sentences.push(format!("{more} more places are like these; read all of it."));
    }
    sentences
}
