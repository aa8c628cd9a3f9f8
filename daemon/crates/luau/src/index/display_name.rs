//! Sanitizes the names of definitions for display.
//!
//! A script may have any text between brackets. That text must neither fill an answer nor look like
//! additional lines of it.

/// Longer names are truncated. In characters.
const MAX_CHARS: usize = 80;

/// The displayed form of a name: a single line of at most 80 characters, without invisible
/// characters.
pub fn display_name(name: &str) -> String {
    let is_hidden = |c: char| {
        c.is_control()
            || matches!(
                c,
                '\u{ad}'
                    | '\u{61c}'
                    | '\u{200b}'..='\u{200f}'
                    | '\u{2028}'..='\u{202e}'
                    | '\u{2060}'..='\u{206f}'
                    | '\u{feff}'
                    | '\u{fff9}'..='\u{fffb}'
                    | '\u{e0000}'..='\u{e007f}'
            )
    };
    let mut shown = String::new();
    let mut length = 0;
    for c in name.chars() {
        let escaped: String = if is_hidden(c) { c.escape_default().collect() } else { c.into() };
        length += escaped.chars().count();
        if length > MAX_CHARS {
            let end = shown.char_indices().nth(MAX_CHARS - 1).map_or(shown.len(), |(at, _)| at);
            shown.truncate(end);
            shown.push('…');
            return shown;
        }
        shown.push_str(&escaped);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::display_name;

    #[test]
    fn display_names_are_one_short_line() {
        assert_eq!(display_name("Shop:buy"), "Shop:buy");
        assert_eq!(display_name("M[\"a\n# Rules\"]"), "M[\"a\\n# Rules\"]");
        assert_eq!(display_name("a\u{202e}b\u{2028}\t"), "a\\u{202e}b\\u{2028}\\t");
        assert_eq!(display_name(&"é".repeat(80)), "é".repeat(80));
        assert_eq!(display_name(&"é".repeat(81)), format!("{}…", "é".repeat(79)));
        assert_eq!(display_name(&"\n".repeat(1 << 20)).chars().count(), 80);
    }
}
