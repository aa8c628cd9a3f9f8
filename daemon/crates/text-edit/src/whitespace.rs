//! White space, and characters that nobody sees: what may differ between a text that is described
//! and the text that is there, without being another one.

use std::borrow::Cow;

/// In longer texts, of bytes, white space is not forgiven: no script of Studio has a tenth of it.
pub(super) const MAX_LOOSE_BYTES: usize = 1 << 21;

/// Whether a character is neither seen nor takes room: they come along when text is copied.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

/// Whether a text has characters that nobody sees.
pub(super) fn has_invisible(text: &str) -> bool {
    !text.is_ascii() && text.chars().any(is_invisible)
}

/// A text without characters that nobody sees; those between two characters of scripts and emoji
/// that need them stay.
pub(super) fn strip_invisible(text: &str) -> Cow<'_, str> {
    if !has_invisible(text) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let joins = matches!(c, '\u{200c}' | '\u{200d}')
            && kept.chars().next_back().is_some_and(|c| !c.is_ascii())
            && characters.peek().is_some_and(|c| !c.is_ascii() && !is_invisible(*c));
        if joins || !is_invisible(c) {
            kept.push(c);
        }
    }
    Cow::Owned(kept)
}

/// What two lines have in common that differ only in white space: each run of it counts as one
/// space, and none at either end.
pub(super) fn collapse_whitespace(line: &str) -> Cow<'_, str> {
    let is_plain = |bytes: &[u8]| {
        let mut before = b' ';
        bytes.iter().all(|byte| {
            let is_double = *byte == b' ' && before == b' ';
            before = *byte;
            byte.is_ascii() && !is_double && (!byte.is_ascii_whitespace() || *byte == b' ')
        }) && before != b' '
    };
    let trimmed = line.trim();
    if is_plain(trimmed.as_bytes()) {
        return Cow::Borrowed(trimmed);
    }
    let seen = strip_invisible(line);
    let mut squeezed = String::with_capacity(seen.len());
    for word in seen.split_whitespace() {
        if !squeezed.is_empty() {
            squeezed.push(' ');
        }
        squeezed.push_str(word);
    }
    Cow::Owned(squeezed)
}

/// A line without any white space.
pub(super) fn remove_whitespace(line: &str) -> String {
    if !line.is_ascii() {
        return line.split_whitespace().collect();
    }
    // As `char::is_whitespace` has it, which counts a vertical tab.
    let is_space = |byte: u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let mut kept = Vec::with_capacity(line.len());
    kept.extend(line.bytes().filter(|byte| !is_space(*byte)));
    String::from_utf8(kept).unwrap_or_default()
}

/// The white space that a line begins with.
pub(super) fn indentation_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// How lines that somebody describes are indented in the text that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
enum IndentRule {
    Same,
    /// So many spaces are a tab there, and all lines stand this much deeper.
    Tabs {
        unit: usize,
        deeper: String,
    },
    /// A tab is so many spaces there, and all lines stand this much deeper.
    Spaces {
        unit: usize,
        deeper: String,
    },
    /// All lines stand this much deeper.
    Deeper(String),
    /// All lines stand this much less deep.
    Shallower(String),
}

impl IndentRule {
    /// All that turn each first indentation into the second one.
    fn find_rules(pairs: &[(&str, &str)]) -> Vec<Self> {
        let Some((from, to)) = pairs.first() else {
            return vec![Self::Same];
        };
        if pairs.iter().all(|(from, to)| from == to) {
            return vec![Self::Same];
        }
        let mut rules = Vec::new();
        if let Some(deeper) = to.strip_suffix(from) {
            rules.push(Self::Deeper(deeper.to_owned()));
        }
        if let Some(more) = from.strip_suffix(to) {
            rules.push(Self::Shallower(more.to_owned()));
        }
        for unit in [4, 2, 8, 3] {
            let tabs = |deeper| Self::Tabs { unit, deeper };
            let spaces = |deeper| Self::Spaces { unit, deeper };
            let makes: [(&dyn Fn(String) -> Self, bool); 2] = [
                (&tabs, pairs.iter().any(|(_, to)| to.contains('\t'))),
                (&spaces, pairs.iter().any(|(from, _)| from.contains('\t'))),
            ];
            for (make, _) in makes.into_iter().filter(|(_, has_tabs)| *has_tabs) {
                let converted = make(String::new()).map_indent(from).unwrap_or_default();
                rules.extend(to.strip_suffix(converted.as_str()).map(|more| make(more.to_owned())));
            }
        }
        let fits = |rule: &Self| {
            pairs.iter().all(|(from, to)| rule.map_indent(from).as_deref() == Some(*to))
        };
        rules.retain(fits);
        rules
    }

    /// The indentation in the text that is there; none where a line stands too far out.
    fn map_indent(&self, from: &str) -> Option<String> {
        Some(match self {
            Self::Same => from.to_owned(),
            Self::Deeper(deeper) => format!("{deeper}{from}"),
            Self::Shallower(more) => from.strip_prefix(more.as_str())?.to_owned(),
            Self::Tabs { unit, deeper } => {
                let columns: usize = from.chars().map(|c| if c == '\t' { *unit } else { 1 }).sum();
                format!("{deeper}{}{}", "\t".repeat(columns / unit), " ".repeat(columns % unit))
            }
            Self::Spaces { unit, deeper } => {
                format!("{deeper}{}", from.replace('\t', &" ".repeat(*unit)))
            }
        })
    }

    /// A line as it stands there; none where it stands too far out.
    fn map_line(&self, line: &str) -> Option<String> {
        let from = indentation_of(line);
        if line.is_empty() || *self == Self::Same {
            return Some(line.to_owned());
        }
        let there = self.map_indent(from);
        // Nobody sees how deep a blank line stands.
        let there = if from.len() == line.len() { there.or(Some(String::new())) } else { there };
        Some(there? + &line[from.len()..])
    }
}

/// Lines that are to stand beside others: `pairs` are the indentations of these as they are
/// described and as they are. None where no plain rule makes the one of the other, where several do
/// and do not agree on these lines, or where some
/// lines are described by the one and some by the other; `beside` is a line of those that are described, and tells
/// that they are not where the first line is indented as it is.
pub(super) fn reindent_lines(
    lines: &[&str],
    mut pairs: Vec<(&str, &str)>,
    beside: Option<&str>,
) -> Option<Vec<String>> {
    pairs.sort_unstable();
    pairs.dedup();
    let is_blank = |line: &&&str| line.trim().is_empty();
    let rules = IndentRule::find_rules(&pairs);
    let is_mixed = |line: &&str| {
        let own = indentation_of(line);
        pairs.iter().any(|(_, there)| *there == own)
            && !pairs.iter().any(|(described, _)| *described == own)
    };
    let mut speaking = lines.iter().filter(|line| !is_blank(line)).peekable();
    let is_beside = speaking
        .peek()
        .is_some_and(|first| beside.map(indentation_of) == Some(indentation_of(first)));
    if rules != [IndentRule::Same] && !is_beside && speaking.any(is_mixed) {
        return None;
    }
    let by = |rule: &IndentRule| {
        lines.iter().map(|line| rule.map_line(line)).collect::<Option<Vec<_>>>()
    };
    let mut made = rules.iter().filter_map(by);
    let first = made.next()?;
    made.all(|other| other == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_what_is_seen() {
        assert_eq!(strip_invisible("a\u{200b}b\u{feff}"), "ab");
        assert_eq!(strip_invisible("👩\u{200d}💻"), "👩\u{200d}💻");
        assert_eq!(strip_invisible("a\u{200d}b"), "ab");
        assert_eq!(collapse_whitespace("\ta\u{a0}\t b  "), "a b");
        assert_eq!(collapse_whitespace("a b"), "a b");
        assert_eq!(collapse_whitespace(" \u{200b} "), "");
        assert_eq!(collapse_whitespace(" x\u{200b}"), "x");
    }

    #[track_caller]
    fn check(pairs: &[(&str, &str)], line: &str, there: Option<&str>) {
        let lines = reindent_lines(&[line], pairs.to_vec(), None);
        assert_eq!(lines.map(|lines| lines.concat()).as_deref(), there);
    }

    #[test]
    fn finds_how_lines_are_indented() {
        check(&[("", ""), ("\t", "\t")], "\t\tx", Some("\t\tx"));
        check(&[("    ", "\t"), ("        ", "\t\t")], "            x", Some("\t\t\tx"));
        check(&[("  ", "\t"), ("", "")], "   x", Some("\t x"));
        check(&[("\t", "    "), ("", "")], "\t\tx", Some("        x"));
        check(&[("", "  "), ("  ", "    ")], "      x", Some("        x"));
        check(&[("\t\t", "\t"), ("\t", "")], "\t\t\tx", Some("\t\tx"));
        check(&[("\t\t", "\t"), ("\t", "")], "x", None);
        check(&[("", "\t"), ("    ", "\t\t")], "        x", Some("\t\t\tx"));
        // Two spaces a tab, or four and one level deeper.
        check(&[("    ", "\t\t")], "x", None);
        check(&[("", "  "), ("", "    ")], "x", None);
        check(&[("\t", "\t\t")], "", Some(""));
        check(&[("    ", "\t")], "        ", Some("\t\t"));
        // Some lines are indented as they are described, some as they stand there.
        check(&[("", "  ")], "  x", None);
        let lines = reindent_lines(&["x", "  y"], vec![("", "  ")], Some("a"));
        assert_eq!(lines.unwrap(), ["  x", "    y"]);
        assert_eq!(reindent_lines(&["x", "  y"], vec![("", "  ")], Some(" a")), None);
    }
}
