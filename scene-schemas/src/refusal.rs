//! Refusals: the errors that a model or a person can act on.
//!
//! Also suggests known names for a mistyped one.

use std::fmt;

/// The reason an action was refused: one or more sentences that say what is wrong, where, and what
/// to do next. A refused action has changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

impl Refusal {
    /// Creates a refusal with this message.
    pub fn new(message: impl fmt::Display) -> Self {
        Self(message.to_string())
    }

    /// Returns the message in wording for a person, see [`for_person`].
    pub fn for_person(&self) -> String {
        for_person(&self.0)
    }
}

/// Rewrites a refusal for a tool caller into wording for a person.
pub fn for_person(refusal: &str) -> String {
    const CHANGED: &str = "since. Revert that first, or change it by hand";
    let words = [
        ("list_children shows", "`vector show` shows"),
        ("; find_instances tries one out", ""),
        ("; say which one:", ", and it is not clear which one is meant:"),
        ("since this was planned; ask for the change again", CHANGED),
        ("since this was planned; read it again", CHANGED),
        ("; ask for the change again so that you see what it touches", ""),
        ("; ask for the change again", ""),
    ];
    words.iter().fold(refusal.to_owned(), |text, (model, person)| text.replace(model, person))
}

/// Expands `refuse!("...")` to `Err(Refusal(format!("...")))`.
#[macro_export]
macro_rules! refuse {
    ($($text:tt)*) => { Err($crate::Refusal(format!($($text)*))) };
}
pub use crate::refuse;

/// Length limit for compared words, in bytes.
const MISTYPED: usize = 200;

/// Returns the known words nearest to `word` as a sentence to append to a refusal. Empty if none is
/// near.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    // A word this long is not a typo, and comparing it is slow.
    if word.len() > MISTYPED {
        return String::new();
    }
    let lower = word.to_lowercase();
    let mut best: Vec<(f64, &str)> = known
        .into_iter()
        .filter(|name| name.len() <= MISTYPED)
        .map(|name| (strsim::jaro_winkler(&lower, &name.to_lowercase()), name))
        .filter(|(score, _)| *score > 0.82)
        .collect();
    best.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    best.dedup();
    best.truncate(3);
    let names: Vec<_> = best.iter().map(|(_, name)| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => format!(" Did you mean {one}?"),
        [front @ .., last] => format!(" Did you mean {} or {last}?", front.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn similar_words_are_suggested() {
        assert_eq!(did_you_mean("Postion", ["Position", "Size"]), " Did you mean `Position`?");
        assert_eq!(did_you_mean("qqq", ["Position", "Size"]), "");
        let long = "a".repeat(1 << 20);
        assert_eq!(did_you_mean(&long, [long.as_str()]), "");
        assert_eq!(did_you_mean("aaaa", [long.as_str()]), "");
    }
}
