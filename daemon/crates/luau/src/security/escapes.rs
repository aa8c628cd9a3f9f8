//! Escape sequences in quoted strings, decoded as Luau does.

/// A text with its escapes decoded.
#[derive(Debug, Default)]
pub(super) struct UnescapedText {
    pub(super) plain: String,
    /// Number of printable characters that are written as numbers.
    pub(super) printable_escapes: usize,
    /// Number of other characters that are written as numbers.
    pub(super) other_escapes: usize,
    /// Whether `\z` or an escaped line break splits the text.
    pub(super) is_split: bool,
}

/// Decodes the content of a quoted string.
pub(super) fn unescape_text(text: &str) -> UnescapedText {
    let mut read = UnescapedText::default();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        read.plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix('z') {
            rest = behind.trim_start_matches(|c: char| c.is_ascii_whitespace());
            read.is_split = true;
            continue;
        }
        let (code, length) = read_escape(rest);
        match code {
            Some(c) => {
                read.printable_escapes += usize::from(is_printable(c));
                read.other_escapes += usize::from(!is_printable(c));
                read.plain.push(c);
            }
            None => read.plain.extend(rest.chars().next().map(unescape_letter)),
        }
        rest = &rest[length..];
    }
    read.plain.push_str(rest);
    read
}

/// The character of a letter escape.
fn unescape_letter(letter: char) -> char {
    match letter {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        other => other,
    }
}

/// The character of a numeric escape after its `\`, and the length of the escape.
fn read_escape(rest: &str) -> (Option<char>, usize) {
    let run = |text: &str, max_digits: usize, radix: u32| {
        text.chars().take(max_digits).take_while(|c| c.is_digit(radix)).count()
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

/// Whether a character is printable ASCII or common white space.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~' | '\t' | '\n' | '\r')
}
