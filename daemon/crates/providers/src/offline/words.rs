//! Splits sentences of the offline language into words and quoted texts.
//!
//! Double quotes and brackets hold their content together, so that paths, selectors and texts may
//! contain spaces and keywords. This module does not know what the words mean.

use scene_schemas::InstancePath;

use super::language::LanguageError;

/// Marks the bytes inside quotes, and those inside quotes or brackets.
struct QuoteMask {
    quoted: Vec<bool>,
    nested: Vec<bool>,
    has_open_quote: bool,
}

impl QuoteMask {
    fn from_text(text: &str) -> Self {
        let mut mask = Self {
            quoted: Vec::with_capacity(text.len()),
            nested: Vec::with_capacity(text.len()),
            has_open_quote: false,
        };
        let (mut depth, mut escaped) = (0_usize, false);
        for c in text.chars() {
            let was = (mask.has_open_quote, depth);
            match c {
                _ if escaped => escaped = false,
                '\\' if mask.has_open_quote => escaped = true,
                '"' => mask.has_open_quote = !mask.has_open_quote,
                '[' | '(' | '{' if !mask.has_open_quote => depth += 1,
                ']' | ')' | '}' if !mask.has_open_quote => depth = depth.saturating_sub(1),
                _ => {}
            }
            let quoted = was.0 || mask.has_open_quote;
            let nested = quoted || was.1 > 0 || depth > 0;
            mask.quoted.extend(std::iter::repeat_n(quoted, c.len_utf8()));
            mask.nested.extend(std::iter::repeat_n(nested, c.len_utf8()));
        }
        mask
    }
}

/// Splits a request into sentences, each with whether a `then` follows. They are separated by `;`,
/// by line ends and by the word `then`, outside quotes.
pub(super) fn split_sentences(text: &str) -> Result<Vec<(&str, bool)>, LanguageError> {
    let mask = QuoteMask::from_text(text);
    if mask.has_open_quote {
        let at = text.rfind('"').unwrap_or(0);
        return Err(LanguageError::new(
            &text[at..],
            "the double quote that opens here is never closed; close it, or write \\\" for a quote \
             inside a text",
        ));
    }
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        if !mask.quoted[at] && (c == ';' || c == '\n' || c == '\r') {
            split_at_then(&text[start..at], &mut pieces);
            start = at + c.len_utf8();
        }
    }
    split_at_then(&text[start..], &mut pieces);
    pieces.retain(|(piece, _)| !piece.is_empty());
    Ok(pieces)
}

/// Splits at `then`, `and then` and `, then`.
fn split_at_then<'a>(text: &'a str, pieces: &mut Vec<(&'a str, bool)>) {
    let mut start = 0;
    for (from, to) in word_spans(text) {
        // A `then` at the very end joins nothing. It is a name, as in `rename game.A to then`.
        if text[from..to].eq_ignore_ascii_case("then") && to < text.trim_end().len() {
            pieces.push((strip_conjunction(&text[start..from]), true));
            start = to;
        }
    }
    pieces.push((text[start..].trim(), false));
}

/// Removes the comma or `and` before a `then`.
fn strip_conjunction(text: &str) -> &str {
    let text = text.trim();
    let text = match word_spans(text).last() {
        Some(&(from, to)) if text[from..to].eq_ignore_ascii_case("and") => text[..from].trim_end(),
        _ => text,
    };
    text.strip_suffix(',').unwrap_or(text).trim_end()
}

/// Returns the spans of words: runs without white space outside quotes and brackets.
fn word_spans(text: &str) -> Vec<(usize, usize)> {
    let mask = QuoteMask::from_text(text);
    let mut spans = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        let space = c.is_whitespace() && !mask.nested[at];
        match start {
            None if !space => start = Some(at),
            Some(from) if space => {
                spans.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    spans.extend(start.map(|from| (from, text.len())));
    spans
}

pub(super) fn split_words(text: &str) -> Vec<&str> {
    let spans = word_spans(text);
    spans.iter().map(|&(from, to)| &text[from..to]).collect()
}

/// Returns the first word and the rest.
pub(super) fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    match word_spans(text).first() {
        Some(&(_, to)) => (&text[..to], text[to..].trim_start()),
        None => ("", ""),
    }
}

/// Removes all leading words that are among these.
pub(super) fn strip_leading<'a>(text: &'a str, among: &[&str]) -> &'a str {
    let kept = word_spans(text).into_iter().find(|&(from, to)| !is_one_of(&text[from..to], among));
    kept.map_or("", |(from, _)| text[from..].trim_end())
}

/// Whether a word is among these, in any case.
pub(super) fn is_one_of(word: &str, among: &[&str]) -> bool {
    among.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Returns the text before and after a keyword; None if it is absent. It may occur only once.
pub(super) fn split_word<'a>(
    text: &'a str,
    keyword: &str,
) -> Result<Option<(&'a str, &'a str)>, LanguageError> {
    let spans = word_spans(text);
    let mut found =
        spans.iter().filter(|&&(from, to)| text[from..to].eq_ignore_ascii_case(keyword));
    let Some(&(from, to)) = found.next() else {
        return Ok(None);
    };
    if found.next().is_some() {
        return Err(LanguageError::new(
            text,
            format!("the word `{keyword}` occurs twice; put names and texts in quotes"),
        ));
    }
    Ok(Some((text[..from].trim(), text[to..].trim())))
}

/// Like [`split_word`], but the keyword is required.
pub(super) fn split_required_word<'a>(
    text: &'a str,
    keyword: &str,
) -> Result<(&'a str, &'a str), LanguageError> {
    split_word(text, keyword)?
        .ok_or_else(|| LanguageError::new(text, format!("the word `{keyword}` is missing")))
}

/// Returns the text before and after the first `sign` outside quotes and brackets.
pub(super) fn split_sign(text: &str, sign: char) -> Option<(&str, &str)> {
    let mask = QuoteMask::from_text(text);
    let (at, _) = text.char_indices().find(|&(at, c)| c == sign && !mask.nested[at])?;
    Some((text[..at].trim(), text[at + sign.len_utf8()..].trim()))
}

/// Splits at commas outside quotes and brackets.
pub(super) fn split_commas(text: &str) -> Vec<&str> {
    let mask = QuoteMask::from_text(text);
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(',') {
        if !mask.nested[at] {
            pieces.push(text[start..at].trim());
            start = at + 1;
        }
    }
    pieces.push(text[start..].trim());
    pieces
}

/// Takes a leading text in double quotes, and returns it with the rest.
pub(super) fn take_quoted(text: &str) -> Result<(String, &str), LanguageError> {
    let text = text.trim();
    if !text.starts_with('"') {
        return Err(LanguageError::new(text, "a text in double quotes is expected"));
    }
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|&(_, c)| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    let Some((end, _)) = end else {
        return Err(LanguageError::new(text, "the double quote is never closed"));
    };
    let (quoted, rest) = text.split_at(end + 1);
    // A text may contain line ends and tabs, but JSON requires them to be escaped.
    let json = quoted.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
    let inside = serde_json::from_str(&json).map_err(|_| {
        LanguageError::new(
            quoted,
            "it is not a JSON string; write \\\\ for a backslash and \\\" for a quote",
        )
    })?;
    Ok((inside, rest.trim_start()))
}

/// Parses a text in double quotes, with nothing after it.
pub(super) fn parse_quoted(text: &str) -> Result<String, LanguageError> {
    let (inside, rest) = take_quoted(text)?;
    if rest.is_empty() {
        Ok(inside)
    } else {
        Err(LanguageError::new(rest, "nothing can follow the text"))
    }
}

/// The longest name that Roblox keeps, in characters.
const NAME_MAX: usize = 100;

/// Parses an instance's name: one word, or a text in quotes.
pub(super) fn parse_name(text: &str) -> Result<String, LanguageError> {
    let name = if text.starts_with('"') {
        parse_quoted(text)?
    } else if split_words(text).len() == 1 && !text.contains('"') {
        text.to_owned()
    } else {
        return Err(LanguageError::new(text, "a name must be one word, or be in double quotes"));
    };
    if name.is_empty() || name.chars().count() > NAME_MAX || name.chars().any(char::is_control) {
        return Err(LanguageError::new(
            text,
            format!("a name must have 1 to {NAME_MAX} characters and no control characters"),
        ));
    }
    Ok(name)
}

/// Parses a path. `Workspace.Door` is short for `game.Workspace.Door`.
pub(super) fn parse_path(text: &str) -> Result<InstancePath, LanguageError> {
    let full = match split_service(text) {
        Some((service, rest)) => format!("game.{service}{rest}"),
        None => text.to_owned(),
    };
    full.parse().map_err(|error| LanguageError::new(text, error))
}

/// Whether a text is meant as a path: it begins with `game` or a service.
pub(super) fn is_path(text: &str) -> bool {
    let head = text.get(..4).unwrap_or_default();
    let is_game =
        head.eq_ignore_ascii_case("game") && !text[4..].starts_with(|c: char| c.is_alphanumeric());
    is_game || split_service(text).is_some()
}

/// Returns the service that a text begins with, and the rest of the text.
fn split_service(text: &str) -> Option<(&'static str, &str)> {
    let (name, rest) = text.split_at(text.find(['.', '[']).unwrap_or(text.len()));
    // A selector has a space after a class, or a condition in brackets.
    let is_step = rest.is_empty() || rest.starts_with('.') || rest.starts_with("[\"");
    SERVICES.iter().find(|known| is_step && known.eq_ignore_ascii_case(name)).map(|it| (*it, rest))
}

/// The services whose content people edit.
const SERVICES: &[&str] = &[
    "Workspace",
    "Players",
    "Lighting",
    "MaterialService",
    "ReplicatedFirst",
    "ReplicatedStorage",
    "ServerScriptService",
    "ServerStorage",
    "StarterGui",
    "StarterPack",
    "StarterPlayer",
    "SoundService",
    "Teams",
    "TextChatService",
];

/// Parses a finite number in plain digits. `nan` and `inf` are words.
pub(super) fn parse_finite_number(text: &str) -> Option<f64> {
    let digits = text.trim_start_matches(['+', '-']);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    text.parse().ok().filter(|n: &f64| n.is_finite())
}

/// Takes a leading `3x3`, `3 x 3` or `3 by 3`, and returns it with the rest. A number that
/// overflows its type becomes the largest one, which is over every limit anyway.
pub(super) fn take_size(text: &str) -> Option<((u32, u32), &str)> {
    let (rows, rest) = take_digits(text.trim_start())?;
    let rest = rest.trim_start();
    let rest = (rest.strip_prefix(['x', 'X', '×'])).or_else(|| {
        let by = rest.get(..2)?;
        by.eq_ignore_ascii_case("by").then(|| &rest[2..])
    })?;
    let (columns, rest) = take_digits(rest.trim_start())?;
    let ends = rest.is_empty() || rest.starts_with(char::is_whitespace);
    ends.then(|| ((rows, columns), rest.trim_start()))
}

fn take_digits(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    (!digits.is_empty()).then(|| (digits.parse().unwrap_or(u32::MAX), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_split_outside_quotes() {
        #[track_caller]
        fn check(text: &str, expected: &[&str]) {
            let got = split_sentences(text).unwrap();
            let got: Vec<&str> = got.into_iter().map(|(sentence, _)| sentence).collect();
            assert_eq!(got, expected);
        }
        check("", &[]);
        check(" a b ;; c\r\nd ", &["a b", "c", "d"]);
        check("a then b, then c and then d", &["a", "b", "c", "d"]);
        check("then a; then b", &["a", "b"]);
        check("rename game.A to then", &["rename game.A to then"]);
        check(r#"say "a; then \" b" then c"#, &[r#"say "a; then \" b""#, "c"]);
        assert!(split_sentences("say \"a").is_err());
    }

    #[test]
    fn brackets_keep_words_together() {
        assert_eq!(split_words(r#"a game["x y"] [Size = 1] c"#).len(), 4);
        assert_eq!(split_commas("1, [2, 3], \"4,5\""), ["1", "[2, 3]", "\"4,5\""]);
    }

    #[test]
    fn grid_sizes_are_parsed() {
        assert_eq!(take_size("3x4 of"), Some(((3, 4), "of")));
        assert_eq!(take_size("3 by 4"), Some(((3, 4), "")));
        assert_eq!(take_size("3 × 4"), Some(((3, 4), "")));
        assert_eq!(take_size("99999999999x1"), Some(((u32::MAX, 1), "")));
        assert_eq!(take_size("4x1x4"), None);
        assert_eq!(take_size("x"), None);
        assert_eq!(take_size("3 ü"), None);
    }

    #[test]
    fn only_finite_numbers_are_parsed() {
        assert_eq!(parse_finite_number("-1.5e3"), Some(-1500.0));
        for no in ["nan", "inf", "-inf", "1e999", "", "-", "0x10"] {
            assert_eq!(parse_finite_number(no), None, "{no}");
        }
    }
}
