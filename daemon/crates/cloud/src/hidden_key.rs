//! Hides a key that a service repeats in its answer, before anything else reads the answer.

/// What stands for a key.
const HIDDEN: &[u8] = b"***";
/// The length in bytes from which a key is hidden. A shorter one is not a key of these services, and may be a
/// part of any word.
const MIN_KEY: usize = 6;

/// Replaces a key in a body, also where JSON escapes its characters.
pub(super) fn hide_key(body: Vec<u8>, key: &str) -> Vec<u8> {
    let key = key.as_bytes();
    let Some(first) = key.first().filter(|_| key.len() >= MIN_KEY) else { return body };
    let mut shown: Vec<u8> = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(skipped) = memchr::memchr2(*first, b'\\', &body[at..]) {
        at += skipped;
        match match_key(&body[at..], key) {
            Some(length) => {
                shown.extend_from_slice(&body[copied..at]);
                shown.extend_from_slice(HIDDEN);
                at += length;
                copied = at;
            }
            None => at += 1,
        }
    }
    if copied == 0 {
        return body;
    }
    shown.extend_from_slice(&body[copied..]);
    shown
}

/// Returns the length of the key at the start of a text. None if the text starts otherwise.
fn match_key(text: &[u8], key: &[u8]) -> Option<usize> {
    let mut rest = text;
    for byte in key {
        let length = match rest {
            [first, ..] if first == byte => 1,
            [b'\\', second, ..] if second == byte && *byte == b'/' => 2,
            [b'\\', b'u', digits @ ..] => {
                let expected = format!("{byte:04x}");
                let is_byte = digits.get(..4)?.eq_ignore_ascii_case(expected.as_bytes());
                is_byte.then_some(6)?
            }
            _ => return None,
        };
        rest = &rest[length..];
    }
    Some(text.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hide(body: &str, key: &str) -> String {
        String::from_utf8(hide_key(body.as_bytes().to_vec(), key)).unwrap()
    }

    #[test]
    fn key_is_hidden_in_every_form_of_json() {
        let key = "a+b/c==";
        for body in ["a+b/c==", r"a+b\/c==", r"a\u002Bb/c\u003d=", r"\u0061+b/c=="] {
            assert_eq!(hide(&format!("no {body}, {body}"), key), "no ***, ***", "{body}");
        }
        for body in ["", "a", "a+b/c=", r"a+b\c==", r"a\u002", r"a\u+02Bb/c==", "\\", "A+B/C=="] {
            assert_eq!(hide(body, key), body, "{body}");
        }
        assert_eq!(hide("aaaaaab", "aaaaab"), "a***");
        assert_eq!((hide("text", ""), hide("text", "ext")), ("text".to_owned(), "text".to_owned()));
        assert_eq!(hide_key(b"\xffthe-key\xfe".to_vec(), "the-key"), b"\xff***\xfe");
    }
}
