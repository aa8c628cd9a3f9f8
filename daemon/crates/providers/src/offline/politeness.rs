//! Removes polite words around a request, which carry no meaning.
//!
//! It keeps the text of a comment to its end, and a last word that may be a name.

use super::words;

/// Words that may precede a request.
const POLITE_PREFIXES: &[&str] = &[
    "please",
    "kindly",
    "hey",
    "hi",
    "hello",
    "ok",
    "okay",
    "now",
    "just",
    "could you",
    "can you",
    "would you",
    "will you",
    "i want you to",
    "i would like you to",
    "i'd like you to",
    "i need you to",
    "let's",
];

/// Words that may follow a request.
const POLITE_SUFFIXES: &[&str] = &["please", "thanks", "thank you", "for me", "now"];

pub(super) fn strip_politeness(sentence: &str) -> &str {
    let mut text = sentence.trim();
    while let Some(rest) =
        POLITE_PREFIXES.iter().find_map(|polite| strip_polite_prefix(text, polite))
    {
        text = rest;
    }
    // The text of a comment is kept to its last character.
    if words::first_word(text).0.eq_ignore_ascii_case("comment") {
        return text;
    }
    loop {
        let shorter = text.trim_end_matches(['.', '!', '?', ',']).trim_end();
        let shorter = POLITE_SUFFIXES
            .iter()
            .find_map(|polite| strip_polite_suffix(shorter, polite))
            .unwrap_or(shorter);
        if shorter.len() == text.len() {
            return text;
        }
        text = shorter;
    }
}

/// Returns the text after these words; None if the text does not begin with them or ends there.
fn strip_polite_prefix<'a>(text: &'a str, polite: &str) -> Option<&'a str> {
    let head = text.get(..polite.len())?;
    let rest = text[polite.len()..].strip_prefix([' ', ','])?;
    head.eq_ignore_ascii_case(polite).then(|| rest.trim_start_matches([' ', ',']))
}

/// Returns the text before these words; None if the text does not end with them.
fn strip_polite_suffix<'a>(text: &'a str, polite: &str) -> Option<&'a str> {
    let at = text.len().checked_sub(polite.len())?;
    let tail = text.get(at..)?;
    // The word may be a name: `rename game.Workspace.A to now`.
    let front = text[..at].strip_suffix([' ', ','])?.trim_end_matches([' ', ',']);
    let is_value = ["to", "named", "called", "as", "="].iter().any(|word| {
        front
            .get(front.len().saturating_sub(word.len())..)
            .is_some_and(|it| it.eq_ignore_ascii_case(word))
    });
    (tail.eq_ignore_ascii_case(polite) && !is_value && !front.is_empty()).then_some(front)
}

#[cfg(test)]
mod tests {
    use super::strip_politeness;

    #[test]
    fn only_polite_words_are_stripped() {
        for (text, expected) in [
            ("Please add a part", "add a part"),
            ("Could you please add a part, please?", "add a part"),
            ("hi, can you rename A to B for me. Thanks!", "rename A to B"),
            ("rename game.A to please", "rename game.A to please"),
            ("rename game.A to Now", "rename game.A to Now"),
            ("please comment game.A: done, thanks.", "comment game.A: done, thanks."),
            ("please", "please"),
            ("pleased", "pleased"),
            ("", ""),
            ("delete .A!", "delete .A"),
        ] {
            assert_eq!(strip_politeness(text), expected, "{text}");
        }
    }
}
