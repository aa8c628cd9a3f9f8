//! Texts that are written so that nobody reads them: as numbers, backwards, in pieces, or encoded.
//!
//! What can be read is read and shown; only what says something counts, so that tables of numbers,
//! keys and pictures are passed over.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

use super::{Found, Kind, Script};

/// How many characters of base64 in a row make a blob.
const BLOB: usize = 200;
/// How many escapes of a character by its number make a blob.
const ESCAPES: usize = 40;
/// Letters that nobody writes as numbers by accident.
const LETTERS: usize = 5;
/// Numbers that make a table of bytes, and the different ones among them that tell it from the tables
/// of a cipher: fewer, or all of them different.
const BYTES: usize = 64;
const DIFFERENT: usize = 24;
/// Characters of a text that a sentence shows.
const SHOWN: usize = 60;

/// What somebody hides who hides a call: all of it stands in what was put together.
const WORDS: [&str; 14] = [
    "require",
    "loadstring",
    "getfenv",
    "setfenv",
    "HttpService",
    "InsertService",
    "MarketplaceService",
    "TeleportService",
    "RequestAsync",
    "PostAsync",
    "LoadAsset",
    "GetObjects",
    "http://",
    "https://",
];

pub(super) fn find(script: &Script<'_>, found: &mut Vec<Found>) {
    let reverses = script.has_name("reverse");
    let makes_text = script.has_name("char");
    let decodes = makes_text && script.has_name("bxor");
    for at in 0..script.tokens.len() {
        let token = &script.tokens[at];
        let what = match token.kind {
            Kind::String => literal(token.text, reverses)
                .or_else(|| reversed(script, at))
                .or_else(|| pieces(script, at)),
            Kind::Sign if token.text == "{" => numbers(script, at, makes_text, decodes),
            Kind::Sign if token.text == "(" => numbers(script, at, true, false),
            _ => None,
        };
        found.extend(what.map(|what| Found { line: token.line, what }));
    }
}

/// A text by itself.
fn literal(text: &str, reverses: bool) -> Option<String> {
    if text.len() < LETTERS {
        return None;
    }
    let Escaped { plain, letters, others } = unescaped(text);
    // Bytes of a file or of a message have letters among them.
    let hidden = word(&plain).filter(|_| letters > 0);
    if others == 0 && (letters >= LETTERS || hidden.is_some()) {
        return Some(writes(&plain, "with the numbers of its characters"));
    }
    if let Some(word) = hidden {
        return Some(writes(word, "with the numbers of its characters"));
    }
    if letters + others >= ESCAPES {
        return Some(format!("holds a string of {} escaped characters", letters + others));
    }
    if reverses {
        let backwards: String = text.chars().rev().collect();
        if word(&backwards).is_some() {
            return Some(writes(&backwards, "backwards"));
        }
    }
    if let Some(hidden) = hexadecimal(text).filter(|hidden| is_words(hidden)) {
        return Some(writes(&hidden, "in hexadecimal"));
    }
    if let Some(hidden) = base64(text).filter(|hidden| word(hidden).is_some()) {
        return Some(writes(&hidden, "in base64"));
    }
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    let longest = text.split(|c| !is_base64(c)).map(str::len).max().unwrap_or(0);
    let blob = format!("holds {longest} characters of encoded text that nobody can read");
    (longest >= BLOB).then_some(blob)
}

/// `string.reverse("...")` and `("..."):reverse()`, whatever the text is.
fn reversed(script: &Script<'_>, at: usize) -> Option<String> {
    let text = script.text(at);
    let is_argument = script.before(at, 1) == "(" && script.before(at, 2) == "reverse";
    let is_owner = script.reads(at + 1, &[")", ":", "reverse"]);
    let is_hidden = (is_argument || is_owner) && text.len() >= LETTERS;
    is_hidden.then(|| writes(&text.chars().rev().collect::<String>(), "backwards"))
}

/// `"load" .. "string"` and `table.concat({ "load", "string" })`, from its first piece on.
fn pieces(script: &Script<'_>, at: usize) -> Option<String> {
    let is_chain = |at: usize| script.reads(at, &[".", "."]) && script.is(at + 2, Kind::String);
    let is_first = at < 3 || !(is_chain(at - 2) && script.is(at - 3, Kind::String));
    let is_list = script.before(at, 1) == "{" && script.before(at, 3) == "concat";
    if !(is_first && is_chain(at + 1) || is_list) {
        return None;
    }
    let mut whole = script.text(at).to_owned();
    let mut next = at;
    while is_first && is_chain(next + 1) {
        next += 3;
        whole.push_str(script.text(next));
    }
    while is_list && script.text(next + 1) == "," && script.is(next + 2, Kind::String) {
        next += 2;
        whole.push_str(script.text(next));
    }
    // Addresses are put together everywhere.
    let is_name = word(&whole).is_some_and(|word| !word.contains(':') && whole == word);
    (next > at && is_name).then(|| writes(&whole, "in pieces"))
}

/// A list of numbers behind this bracket: the letters of a text, or bytes that are decoded.
fn numbers(script: &Script<'_>, open: usize, makes_text: bool, decodes: bool) -> Option<String> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut at = open + 1;
    while script.is(at, Kind::Number) {
        bytes.push(number(script.text(at))?);
        at += 1;
        at += usize::from(matches!(script.text(at), "," | ";"));
    }
    if !matches!(script.text(at), "}" | ")") {
        return None;
    }
    let is_call = script.text(open) == "(";
    let is_char = is_call && script.before(open, 1) == "char";
    let least = if is_char { LETTERS } else { 2 * LETTERS };
    let text: Option<String> =
        bytes.iter().map(|byte| Some(char::from(*byte)).filter(|c| is_plain(*c))).collect();
    if let Some(text) = text.filter(|_| makes_text && bytes.len() >= least)
        && (is_words(&text) || word(&text).is_some())
    {
        return Some(writes(&text, "as a list of numbers"));
    }
    let count = bytes.len();
    bytes.sort_unstable();
    bytes.dedup();
    let is_encoded = count >= BYTES && (DIFFERENT..count).contains(&bytes.len());
    (decodes && is_encoded)
        .then(|| format!("holds {count} bytes that are decoded as it runs (bit32.bxor)"))
}

fn number(text: &str) -> Option<u8> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u8::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A text with its escapes read.
#[derive(Default)]
struct Escaped {
    plain: String,
    /// How many characters that can be typed stand as numbers in it.
    letters: usize,
    /// How many others do.
    others: usize,
}

fn unescaped(text: &str) -> Escaped {
    let Escaped { mut plain, mut letters, mut others } = Escaped::default();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let (code, length) = escape(rest);
        match code {
            Some(c) => {
                letters += usize::from(is_plain(c));
                others += usize::from(!is_plain(c));
                plain.push(c);
            }
            None => plain.extend(rest.chars().next()),
        }
        rest = &rest[length..];
    }
    plain.push_str(rest);
    Escaped { plain, letters, others }
}

/// The character that the escape behind a `\` gives by its number, and how long the escape is.
fn escape(rest: &str) -> (Option<char>, usize) {
    let run = |text: &str, most: usize, radix: u32| {
        text.chars().take(most).take_while(|c| c.is_digit(radix)).count()
    };
    let read = |digits: &str, radix: u32| u32::from_str_radix(digits, radix).ok();
    let (code, length) = match rest.as_bytes().first() {
        Some(b'0'..=b'9') => {
            let length = run(rest, 3, 10);
            (read(&rest[..length], 10), length)
        }
        Some(b'x') => {
            let length = 1 + run(&rest[1..], 2, 16);
            (read(&rest[1..length], 16), length)
        }
        Some(b'u') if rest[1..].starts_with('{') => {
            let length = 2 + run(&rest[2..], 8, 16);
            (read(&rest[2..length], 16), length + usize::from(rest[length..].starts_with('}')))
        }
        _ => (None, rest.chars().next().map_or(0, char::len_utf8)),
    };
    (code.and_then(char::from_u32), length)
}

/// What a text of pairs of hexadecimal digits says, each pair by itself or behind a `%`.
fn hexadecimal(text: &str) -> Option<String> {
    let digits: Vec<u32> =
        text.chars().filter(|c| *c != '%').map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let letters = |pair: &[u32]| match pair {
        [high, low] => char::from_u32(high * 16 + low).filter(|c| is_plain(*c)),
        _ => None,
    };
    // A number with many digits is no text.
    let is_long = digits.len() >= 4 * LETTERS || text.contains('%') && digits.len() > 2 * LETTERS;
    if is_long { digits.chunks(2).map(letters).collect() } else { None }
}

/// As decoders in Luau read it, which look at no bits that are left over.
const DECODER: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// What a text of base64 says, where it says something in plain characters.
fn base64(text: &str) -> Option<String> {
    let digits = text.trim_end_matches('=');
    if digits.len() < 2 * LETTERS || !text.len().is_multiple_of(4) || text.len() >= 4 * BLOB {
        return None;
    }
    let plain: String = DECODER.decode(text).ok()?.into_iter().map(char::from).collect();
    plain.chars().all(is_plain).then_some(plain)
}

fn is_plain(c: char) -> bool {
    matches!(c, ' '..='~' | '\t' | '\n' | '\r')
}

/// Whether a text is mostly letters, as words are and tables of small numbers are not.
fn is_words(text: &str) -> bool {
    let letters = text.chars().filter(char::is_ascii_alphabetic).count();
    letters >= LETTERS && letters * 10 >= text.len() * 7
}

/// The first word of a call that stands in a text and is no part of another word.
fn word(text: &str) -> Option<&'static str> {
    let ends = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    WORDS.into_iter().find(|word| {
        text.match_indices(word).any(|(at, _)| {
            let (before, behind) = (&text[..at], &text[at + word.len()..]);
            word.ends_with('/') || ends(before.chars().next_back()) && ends(behind.chars().next())
        })
    })
}

fn writes(text: &str, how: &str) -> String {
    let shown: String = text.chars().take(SHOWN).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("writes \"{}{more}\" {how}", shown.escape_debug())
}
