//! JSON as Rojo reads it: with comments, trailing commas and unquoted keys.
//!
//! This is the parser that Rojo uses, so that both accept the same files. The parser is recursive,
//! so the nesting depth is limited here.

use jsonc_parser::ast::Value;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value as Json;

/// The maximum nesting depth of arrays and objects.
const MAX_DEPTH: usize = 128;

/// Parses a file.
///
/// # Errors
/// Returns the fault as the end of a sentence.
pub fn read_json(bytes: &[u8]) -> Result<Json, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    parse_json(text)?.ok_or_else(|| "it has no value".to_owned())
}

/// Parses a text. Returns None if it has no value.
///
/// # Errors
/// Fails like [`read_json`].
pub fn parse_json(text: &str) -> Result<Option<Json>, String> {
    Ok(parse_with_ranges(text)?.map(Json::from))
}

/// Parses a text and keeps the source range of each value.
pub(super) fn parse_with_ranges(text: &str) -> Result<Option<Value<'_>>, String> {
    if is_too_deep(text) {
        return Err(format!("its values are nested more than {MAX_DEPTH} deep"));
    }
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    Ok(parsed.map_err(|error| format!("it is not JSON: {error}"))?.value)
}

fn is_too_deep(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' | b'\'' => at = find_string_end(bytes, at),
            b'/' => at = find_comment_end(bytes, at),
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return true;
        }
        at += 1;
    }
    false
}

/// Returns the index of the last byte of the string that begins at `start`.
fn find_string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            byte if *byte == bytes[start] => return at,
            _ => {}
        }
        at += 1;
    }
    at
}

/// Returns the index of the last byte of the comment that begins at the slash at `start`, or
/// `start` if no comment begins there.
fn find_comment_end(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start..];
    let found = match rest.get(1) {
        Some(b'/') => memchr::memchr(b'\n', rest),
        Some(b'*') => memchr::memmem::find(&rest[2..], b"*/").map(|at| at + 3),
        _ => return start,
    };
    found.map_or(bytes.len(), |at| start + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_loose_syntax_are_accepted() {
        let text = "// a\n{ name: \"x\", /* [ */ \"list\": [1, 2,], }";
        let expected = serde_json::json!({ "name": "x", "list": [1, 2] });
        assert_eq!(read_json(text.as_bytes()), Ok(expected));
    }

    #[test]
    fn invalid_json_errors_state_the_reason() {
        for (text, why) in [("{", "line 1"), ("", "no value"), ("[] []", "more than one")] {
            let error = read_json(text.as_bytes()).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(read_json(b"\xff").unwrap_err().contains("UTF-8"));
    }

    #[test]
    fn deep_values_are_refused_before_parsing() {
        let deep = "[".repeat(1_000_000);
        assert!(read_json(deep.as_bytes()).unwrap_err().contains("128"));
        let hidden = format!("// '\n{deep}");
        assert!(read_json(hidden.as_bytes()).unwrap_err().contains("128"));
        let flat = format!("[\"{}\", /* {} */ 1]", "[".repeat(200), "{".repeat(200));
        assert!(read_json(flat.as_bytes()).is_ok());
    }
}
