//! Texts that are written so that nobody reads them: as numbers, backwards, in pieces, or encoded.
//!
//! What can be read is read and shown; only what says something counts, so that tables of numbers,
//! keys and pictures are passed over.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

use super::escapes::{UnescapedText, is_printable, unescape_text};
use super::standard_library::is_text_builder;
use super::tree::{BinaryOperator, ExprId, TableField, TreeExpr};
use super::value::{ScanValue, to_number};
use super::{ScanFinding, TokenKind, TokenView, TreeView, statement_hash};

/// How many characters of base64 in a row make a blob.
const MIN_BLOB_CHARS: usize = 200;
/// How many escapes of a character by its number make a blob.
const MIN_BLOB_ESCAPES: usize = 40;
/// Letters that nobody writes as numbers by accident.
const MIN_LETTERS: usize = 5;
/// Numbers that make a table of bytes, and the different ones among them that tell it from the tables
/// of a cipher: fewer, or all of them different.
const MIN_TABLE_BYTES: usize = 64;
const MIN_DISTINCT_BYTES: usize = 24;
/// Characters of a text that a sentence shows.
const MAX_SHOWN: usize = 60;

/// What somebody hides who hides a call: all of it stands in what was put together.
const CALL_WORDS: [&str; 18] = [
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
    "LoadAssetAsync",
    "AssetService",
    "GetAsync",
    "LinkedSource",
    "GetObjects",
    "http://",
    "https://",
];

/// Finds the texts that are hidden by how they are written.
pub(super) fn find_encoded_literals(view: &TokenView<'_>, found: &mut Vec<ScanFinding>) {
    let reverses = view.has_name("reverse");
    for (token, line) in view.tokens.iter().zip(&view.token_lines) {
        let text = view.token_text(token);
        let inside = match token.kind {
            TokenKind::Text => string_contents(text),
            TokenKind::TextBegin | TokenKind::TextMiddle | TokenKind::TextEnd => {
                text.get(1..text.len().saturating_sub(1)).unwrap_or_default()
            }
            _ => continue,
        };
        if let Some(what) = check_literal(inside, reverses) {
            found.push(ScanFinding::new(*line, what, statement_hash::hash_text(inside)));
        }
    }
}

/// What stands in a string, between its quotes or brackets.
fn string_contents(text: &str) -> &str {
    let open = match text.strip_prefix('[') {
        Some(rest) => rest.find('[').map_or(text.len(), |at| at + 2),
        None => 1,
    };
    let close = text.len().saturating_sub(open).max(open);
    text.get(open..close).unwrap_or_default()
}

/// Finds the texts that are put together of what nobody reads as a text.
pub(super) fn find_assembled_text(view: &mut TreeView<'_>, found: &mut Vec<ScanFinding>) {
    let chars = view.tokens.has_name("char");
    let decodes = chars && view.tokens.has_name("bxor");
    for at in view.tree.expr_ids() {
        let what = match view.tree.expr(at) {
            TreeExpr::Binary { operator: BinaryOperator::Concat, .. }
            | TreeExpr::Interpolated(_) => check_assembled(view, at, "in pieces"),
            TreeExpr::Call { callee, args, .. } => {
                let name = view.evaluator.eval(*callee).iter().find_map(|value| match value {
                    ScanValue::Builtin(name) if is_text_builder(name) => Some(name.clone()),
                    _ => None,
                });
                match name.as_deref() {
                    Some("string.reverse") => {
                        let text = args.first().copied().or(match view.tree.expr(*callee) {
                            TreeExpr::Index { base, .. } => Some(*base),
                            _ => None,
                        });
                        let is_literal =
                            text.is_some_and(|it| view.tree.literal_text(it).is_some());
                        check_reversed(view, at, is_literal)
                    }
                    Some("string.char" | "utf8.char") => {
                        let args = args.to_vec();
                        check_number_list(view, &args, MIN_LETTERS, false)
                    }
                    Some(_) => check_assembled(view, at, "in pieces"),
                    None if chars => {
                        let args = args.to_vec();
                        check_number_list(view, &args, 2 * MIN_LETTERS, false)
                    }
                    None => None,
                }
            }
            TreeExpr::Table(fields) if chars => {
                let value = |field: &TableField| field.key.is_none().then_some(field.value);
                let items: Option<Vec<ExprId>> = fields.iter().map(value).collect();
                items.and_then(|items| check_number_list(view, &items, 2 * MIN_LETTERS, decodes))
            }
            _ => None,
        };
        if let Some(what) = what {
            let finding = view.make_finding(at, what);
            found.push(finding);
        }
    }
}

/// A text of which no part says what the whole says.
fn check_assembled(view: &mut TreeView<'_>, at: ExprId, how: &str) -> Option<String> {
    let values = view.evaluator.eval(at);
    let is_name =
        |text: &str| find_call_word(text).is_some_and(|word| !word.contains(':') && text == word);
    let whole = values.iter().find_map(|value| match value {
        ScanValue::Text(text) if is_name(text) => Some(text.clone()),
        _ => None,
    })?;
    let mut operands = Vec::new();
    view.tree.visit_operands(at, |operand| operands.push(operand));
    let whole_value = ScanValue::Text(whole.clone());
    let stands = operands.iter().any(|it| view.evaluator.eval(*it).contains(&whole_value));
    (!stands).then(|| describe_encoded(&whole, how))
}

/// `string.reverse("...")` and `("..."):reverse()`, whatever the text is; of a variable what says
/// something.
fn check_reversed(view: &mut TreeView<'_>, at: ExprId, is_literal: bool) -> Option<String> {
    let whole = view.evaluator.eval(at).iter().find_map(|value| match value {
        ScanValue::Text(text) if text.len() >= MIN_LETTERS => Some(text.clone()),
        _ => None,
    })?;
    (is_literal || find_call_word(&whole).is_some()).then(|| describe_encoded(&whole, "backwards"))
}

/// A list of numbers: the letters of a text, or bytes that are decoded.
fn check_number_list(
    view: &mut TreeView<'_>,
    items: &[ExprId],
    least: usize,
    decodes: bool,
) -> Option<String> {
    if items.len() < least {
        return None;
    }
    let mut bytes: Vec<u8> = Vec::with_capacity(items.len());
    for item in items {
        let value = to_number(&view.evaluator.eval(*item)[0])?;
        let is_byte = value.fract() == 0.0 && (0.0..256.0).contains(&value);
        bytes.push(is_byte.then_some(value as u8)?);
    }
    let text: Option<String> =
        bytes.iter().map(|byte| Some(char::from(*byte)).filter(|c| is_printable(*c))).collect();
    if let Some(text) = text
        && (is_mostly_letters(&text) || find_call_word(&text).is_some())
    {
        return Some(describe_encoded(&text, "as a list of numbers"));
    }
    let count = bytes.len();
    bytes.sort_unstable();
    bytes.dedup();
    let is_encoded = count >= MIN_TABLE_BYTES && (MIN_DISTINCT_BYTES..count).contains(&bytes.len());
    (decodes && is_encoded)
        .then(|| format!("holds {count} bytes that are decoded as it runs (bit32.bxor)"))
}

/// A text by itself.
fn check_literal(text: &str, reverses: bool) -> Option<String> {
    if text.len() < MIN_LETTERS {
        return None;
    }
    let UnescapedText {
        plain,
        printable_escapes: letters,
        other_escapes: others,
        is_split: is_cut,
    } = unescape_text(text);
    // Bytes of a file or of a message have letters among them.
    let hidden = find_call_word(&plain).filter(|_| letters > 0);
    if others == 0 && (letters >= MIN_LETTERS || hidden.is_some()) {
        return Some(describe_encoded(&plain, "with the numbers of its characters"));
    }
    if let Some(word) = hidden {
        return Some(describe_encoded(word, "with the numbers of its characters"));
    }
    if is_cut
        && let Some(hidden) = find_call_word(&plain).filter(|_| find_call_word(text).is_none())
    {
        return Some(describe_encoded(hidden, "in pieces"));
    }
    if letters + others >= MIN_BLOB_ESCAPES {
        return Some(format!("holds a string of {} escaped characters", letters + others));
    }
    if reverses {
        let backwards: String = text.chars().rev().collect();
        if find_call_word(&backwards).is_some() {
            return Some(describe_encoded(&backwards, "backwards"));
        }
    }
    if let Some(hidden) =
        decode_hex_pairs(text).filter(|it| is_mostly_letters(it) || find_call_word(it).is_some())
    {
        return Some(describe_encoded(&hidden, "in hexadecimal"));
    }
    if let Some(hidden) = decode_base64(text).filter(|hidden| find_call_word(hidden).is_some()) {
        return Some(describe_encoded(&hidden, "in base64"));
    }
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    let longest = text.split(|c| !is_base64(c)).map(str::len).max().unwrap_or(0);
    let blob = format!("holds {longest} characters of encoded text that people cannot read");
    (longest >= MIN_BLOB_CHARS).then_some(blob)
}

/// What a text of pairs of hexadecimal digits says, each pair by itself or behind a `%`.
fn decode_hex_pairs(text: &str) -> Option<String> {
    let digits: Vec<u32> =
        text.chars().filter(|c| *c != '%').map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let letters = |pair: &[u32]| match pair {
        [high, low] => char::from_u32(high * 16 + low).filter(|c| is_printable(*c)),
        _ => None,
    };
    // A number with many digits is no text.
    let is_long =
        digits.len() >= 4 * MIN_LETTERS || text.contains('%') && digits.len() > 2 * MIN_LETTERS;
    if is_long { digits.chunks(2).map(letters).collect() } else { None }
}

/// As decoders in Luau read it, which look at no bits that are left over.
const BASE64_DECODER: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// What a text of base64 says, where it says something in plain characters.
fn decode_base64(text: &str) -> Option<String> {
    let digits = text.trim_end_matches('=');
    if digits.len() < 2 * MIN_LETTERS
        || !text.len().is_multiple_of(4)
        || text.len() >= 4 * MIN_BLOB_CHARS
    {
        return None;
    }
    let plain: String = BASE64_DECODER.decode(text).ok()?.into_iter().map(char::from).collect();
    plain.chars().all(is_printable).then_some(plain)
}

/// Whether a text is mostly letters, as words are and tables of small numbers are not.
fn is_mostly_letters(text: &str) -> bool {
    let letters = text.chars().filter(char::is_ascii_alphabetic).count();
    letters >= MIN_LETTERS && letters * 10 >= text.len() * 7
}

/// The first word of a call that stands in a text and is no part of another word.
fn find_call_word(text: &str) -> Option<&'static str> {
    let ends = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    CALL_WORDS.into_iter().find(|word| {
        text.match_indices(word).any(|(at, _)| {
            let (before, behind) = (&text[..at], &text[at + word.len()..]);
            word.ends_with('/') || ends(before.chars().next_back()) && ends(behind.chars().next())
        })
    })
}

fn describe_encoded(text: &str, how: &str) -> String {
    let shown: String = text.chars().take(MAX_SHOWN).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("writes \"{}{more}\" {how}", shown.escape_debug())
}
