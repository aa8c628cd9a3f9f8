//! Sanitizing of untrusted text for display.
//!
//! Names, sources and titles come from places and models. They must not move a terminal's cursor or
//! reorder the rest of a line. This module does not know where a text is shown.

use std::borrow::Cow;

/// Returns one line in which control characters other than tabs, and characters that reorder or
/// hide text, are replaced by a visible form.
pub fn safe_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\t' => shown.push(c),
            '\0'..='\x1f' => shown.extend(char::from_u32(0x2400 + c as u32)),
            '\x7f' => shown.push('␡'),
            c if is_hidden(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Whether a character is invisible or affects how other characters are shown. Keep in sync with
/// the list in the plugin's `Ui/Text`.
fn is_hidden(c: char) -> bool {
    let is_hidden = matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    );
    c != '\t' && c.is_control() || is_hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_invisible_characters_are_made_visible() {
        assert_eq!(safe_line("a\x1b[31mb\x07"), "a␛[31mb␇");
        assert_eq!(safe_line("tab\there\r"), "tab\there␍");
        assert_eq!(safe_line("\u{9b}2J"), "\\u{9b}2J");
        assert_eq!(safe_line("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(
            safe_line("\u{200b}\u{2066}\u{ad}\u{e0041}"),
            "\\u{200b}\\u{2066}\\u{ad}\\u{e0041}"
        );
        assert_eq!(safe_line("\0\u{2028}\x7f"), "␀\\u{2028}␡");
        assert_eq!(safe_line("Größe 部品 “–” 😀"), "Größe 部品 “–” 😀");
    }
}
