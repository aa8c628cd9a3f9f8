//! Finds texts that are written to be unreadable: as numbers, backwards, in pieces, or encoded.
//!
//! Texts are decoded where possible and shown in the finding. Only those with meaningful content
//! count, so that tables of numbers, keys and images are ignored.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

use super::escapes::{UnescapedText, is_printable, unescape_text};
use super::standard_library::is_text_builder;
use super::tree::{BinaryOperator, ExprId, TableField, TreeExpr};
use super::value::{ScanValue, to_number};
use super::{ScanFinding, TokenKind, TokenView, TreeView, statement_hash, string_content};

/// Minimum number of consecutive base64 characters of a blob.
const MIN_BLOB_CHARS: usize = 200;
/// Minimum number of numeric escapes of a blob.
const MIN_BLOB_ESCAPES: usize = 40;
/// Minimum number of letters that are unlikely to be written as numbers by accident.
const MIN_LETTERS: usize = 5;
/// Minimum number of entries, and of distinct values, in a table of encoded bytes. Cipher tables
/// have fewer distinct values, or only distinct ones.
const MIN_TABLE_BYTES: usize = 64;
const MIN_DISTINCT_BYTES: usize = 24;
/// Maximum number of characters of a text that a finding shows.
const MAX_SHOWN: usize = 60;

/// The names that are worth hiding in a script. A hidden text counts if it contains one as a whole
/// word.
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

/// Finds string literals that hide their content.
pub(super) fn find_encoded_literals(view: &TokenView<'_>, found: &mut Vec<ScanFinding>) {
    let reverses = view.has_name("reverse");
    for (token, line) in view.tokens.iter().zip(&view.token_lines) {
        let text = view.token_text(token);
        let inside = match token.kind {
            TokenKind::Text => string_content(text).unwrap_or(text),
            TokenKind::TextBegin | TokenKind::TextMiddle | TokenKind::TextEnd => {
                text.get(1..text.len().saturating_sub(1)).unwrap_or_default()
            }
            _ => continue,
        };
        if let Some(message) = check_literal(inside, reverses) {
            found.push(ScanFinding::new(*line, message, statement_hash::hash_text(inside)));
        }
    }
}

/// Finds texts that are assembled from parts that do not read as text.
pub(super) fn find_assembled_text(view: &mut TreeView<'_>, found: &mut Vec<ScanFinding>) {
    let chars = view.tokens.has_name("char");
    let decodes = chars && view.tokens.has_name("bxor");
    for at in view.tree.expr_ids() {
        let message = match view.tree.expr(at) {
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
        if let Some(message) = message {
            let finding = view.make_finding(at, message);
            found.push(finding);
        }
    }
}

/// Reports a text that is a name worth hiding, if none of its parts is.
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
    let is_in_operand = operands.iter().any(|it| view.evaluator.eval(*it).contains(&whole_value));
    (!is_in_operand).then(|| describe_encoded(&whole, how))
}

/// Checks `string.reverse("...")` and `("..."):reverse()`. Reports any reversed literal, but a
/// reversed variable only if the result contains a name worth hiding.
fn check_reversed(view: &mut TreeView<'_>, at: ExprId, is_literal: bool) -> Option<String> {
    let whole = view.evaluator.eval(at).iter().find_map(|value| match value {
        ScanValue::Text(text) if text.len() >= MIN_LETTERS => Some(text.clone()),
        _ => None,
    })?;
    (is_literal || find_call_word(&whole).is_some()).then(|| describe_encoded(&whole, "backwards"))
}

/// Checks a list of numbers: the characters of a text, or bytes that the script decodes.
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

/// Checks a single string literal.
pub(super) fn check_literal(text: &str, reverses: bool) -> Option<String> {
    if text.len() < MIN_LETTERS {
        return None;
    }
    let UnescapedText {
        plain,
        printable_escapes: letters,
        other_escapes: others,
        is_split: is_cut,
    } = unescape_text(text);
    // Binary data contains some printable characters too.
    let hidden = find_call_word(&plain).filter(|_| letters > 0);
    if others == 0 && (letters >= MIN_LETTERS || hidden.is_some()) {
        return Some(describe_encoded(&plain, "with the numbers of its characters"));
    }
    if let Some(call_word) = hidden {
        return Some(describe_encoded(call_word, "with the numbers of its characters"));
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

/// Decodes a text of pairs of hexadecimal digits, plain or each after a `%`.
fn decode_hex_pairs(text: &str) -> Option<String> {
    let digits: Vec<u32> =
        text.chars().filter(|c| *c != '%').map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let letters = |pair: &[u32]| match pair {
        [high, low] => char::from_u32(high * 16 + low).filter(|c| is_printable(*c)),
        _ => None,
    };
    // A single number with many digits is not a text.
    let is_long =
        digits.len() >= 4 * MIN_LETTERS || text.contains('%') && digits.len() > 2 * MIN_LETTERS;
    if is_long { digits.chunks(2).map(letters).collect() } else { None }
}

/// Decodes leniently, like decoders written in Luau, which ignore trailing bits.
const BASE64_DECODER: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Decodes a base64 text; None if the result is not printable.
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

/// Whether a text consists mostly of letters, unlike tables of small numbers.
fn is_mostly_letters(text: &str) -> bool {
    let letters = text.chars().filter(char::is_ascii_alphabetic).count();
    letters >= MIN_LETTERS && letters * 10 >= text.len() * 7
}

/// The first of [`CALL_WORDS`] that occurs in a text as a whole word.
pub(super) fn find_call_word(text: &str) -> Option<&'static str> {
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
