//! A minimal lexer for source files, which separates code, comments, strings and test items.
//!
//! It does not know the rules.

use std::ops::Range;

/// A source file. The masks have the same length as the text, with blanks instead of everything
/// else.
pub(super) struct Source {
    /// The path below the repository, with `/`.
    pub(super) path: String,
    pub(super) text: String,
    /// The code without comments, contents of strings, and test items.
    pub(super) code: String,
    /// The code with test items.
    pub(super) all_code: String,
    pub(super) comments: String,
    /// The contents of strings outside test items.
    pub(super) strings: String,
    /// Whether the whole file is compiled only for tests.
    pub(super) test: bool,
    /// The number of lines outside test items.
    pub(super) lines: usize,
}

impl Source {
    pub(super) fn new(path: &str, text: &str, test: bool) -> Self {
        let (all_code, comments) = masks(text);
        let mut code = all_code.clone();
        let mut strings = string_contents(text, &all_code, &comments);
        let mut lines = text.lines().count();
        for range in test_items(&all_code) {
            lines = lines.saturating_sub(all_code[range.clone()].lines().count());
            strings[range.clone()].fill(b' ');
            code.replace_range(range.clone(), &blank(&all_code[range]));
        }
        let strings = String::from_utf8_lossy(&strings).into_owned();
        let (path, text) = (path.to_owned(), text.to_owned());
        Self { path, text, code, all_code, comments, strings, test, lines }
    }
}

/// The number of the line, from 1, that contains a byte.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Quoted,
}

/// The code mask and the comment mask of a text.
fn masks(text: &str) -> (String, String) {
    let (mut code, mut comments) = (String::new(), String::new());
    let mut rest = text;
    while !rest.is_empty() {
        let (kind, length) = lexeme(rest);
        let (lexeme, behind) = rest.split_at(length);
        match kind {
            Kind::Code => code.push_str(lexeme),
            Kind::Comment => code.push_str(&blank(lexeme)),
            Kind::Quoted => code.push_str(&hollow(lexeme)),
        }
        comments.push_str(&if kind == Kind::Comment { lexeme.to_owned() } else { blank(lexeme) });
        rest = behind;
    }
    (code, comments)
}

/// The bytes of a text that are in neither mask: the contents of strings.
fn string_contents(text: &str, code: &str, comments: &str) -> Vec<u8> {
    let masks = code.bytes().zip(comments.bytes());
    let is_masked = |(code, comment): (u8, u8)| code != b' ' || comment != b' ';
    text.bytes().zip(masks).map(|(byte, mask)| if is_masked(mask) { b' ' } else { byte }).collect()
}

/// Replaces every byte but line breaks with a blank.
fn blank(text: &str) -> String {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

/// A string without its contents.
fn hollow(text: &str) -> String {
    let mut hollow = blank(text);
    hollow.replace_range(..1, "\"");
    hollow.replace_range(text.len() - 1.., "\"");
    hollow
}

/// The kind and the length in bytes of the first lexeme.
fn lexeme(text: &str) -> (Kind, usize) {
    if text.starts_with("//") {
        (Kind::Comment, text.find('\n').unwrap_or(text.len()))
    } else if text.starts_with("/*") {
        (Kind::Comment, block_comment(text))
    } else if text.starts_with('"') {
        (Kind::Quoted, quoted(text, '"'))
    } else if text.starts_with('\'') {
        character(text)
    } else {
        word(text)
    }
}

/// Block comments nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    for at in 0..text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            if depth == 0 {
                return at + 2;
            }
        }
    }
    text.len()
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A quoted character; otherwise the quote starts a lifetime.
fn character(text: &str) -> (Kind, usize) {
    let mut characters = text.chars().skip(1);
    match (characters.next(), characters.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => (Kind::Quoted, quoted(text, '\'')),
        _ => (Kind::Code, 1),
    }
}

/// A word, or the string that it is a prefix of.
fn word(text: &str) -> (Kind, usize) {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    let (word, behind) = text.split_at(end);
    let hashes = behind.bytes().take_while(|byte| *byte == b'#').count();
    let is_string = behind[hashes..].starts_with('"');
    match word {
        "" => (Kind::Code, text.chars().next().map_or(1, char::len_utf8)),
        "r" | "br" | "cr" if is_string => {
            let close = format!("\"{}", "#".repeat(hashes));
            let opened = end + hashes + 1;
            let length = text[opened..].find(&close).map(|at| opened + at + close.len());
            (Kind::Quoted, length.unwrap_or(text.len()))
        }
        "b" | "c" if behind.starts_with('"') => (Kind::Quoted, end + quoted(behind, '"')),
        "b" if behind.starts_with('\'') => (Kind::Quoted, end + quoted(behind, '\'')),
        _ => (Kind::Code, end),
    }
}

pub(super) const FOR_TESTS: &str = "#[cfg(test)]";

/// The byte ranges of items that are compiled only for tests.
fn test_items(code: &str) -> Vec<Range<usize>> {
    let mut items: Vec<Range<usize>> = Vec::new();
    for (start, _) in code.match_indices(FOR_TESTS) {
        if items.last().is_none_or(|item| item.end <= start) {
            items.push(
                start..start + FOR_TESTS.len() + item_length(&code[start + FOR_TESTS.len()..]),
            );
        }
    }
    items
}

/// The length of an item, which ends with its block, or with a semicolon outside of all brackets.
fn item_length(code: &str) -> usize {
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth -= 1;
                if depth == 0 && byte == b'}' {
                    return at + 1;
                }
            }
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, code: &str, comments: &str) {
        let (got_code, got_comments) = masks(text);
        assert_eq!((got_code.as_str(), got_comments.as_str()), (code, comments));
    }

    #[test]
    fn strings_and_comments_are_separated_from_code() {
        check("a // b\nc", "a     \nc", "  // b\n ");
        check("/* /* x */ */y", "             y", "/* /* x */ */ ");
        check(r#"f("a\"//")"#, r#"f("     ")"#, "          ");
        check("r#\"a\"b\"# c", "\"      \" c", "          ");
        check("<'a>('\"', b'\\'')", "<'a>(\" \", \"   \")", "                ");
    }

    #[test]
    fn test_items_are_left_out() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        let source = Source::new("a.rs", text, false);
        assert!(source.code.contains("fn a") && source.code.contains("fn c"));
        assert!(!source.code.contains("fn b") && source.all_code.contains("fn b"));
        assert_eq!(source.lines, 2);
        let source = Source::new("a.rs", "#[cfg(test)]\nmod tests;\nmod b;\n", false);
        assert_eq!(source.code.trim(), "mod b;");
    }
}
