//! Text from elsewhere, as it is shown: nothing in it moves a cursor, hides or reorders what is read.

use std::borrow::Cow;

/// Tabs are shown as so many spaces, so that columns are known.
const TAB: &str = "    ";

/// One line without control characters, and without those that reorder or hide what is read.
pub fn safe(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\t' => shown.push_str(TAB),
            '\0'..='\x1f' => shown.extend(char::from_u32(0x2400 + c as u32)),
            '\x7f' => shown.push('␡'),
            c if is_unsafe(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Whether a character does something else than be seen where it stands: the plugin's `Ui/Text` has the
/// same list.
fn is_unsafe(c: char) -> bool {
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
    c.is_control() || is_hidden
}
