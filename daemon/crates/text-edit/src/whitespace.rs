//! White space and invisible characters: the ways in which a described text may differ from the
//! existing one and still mean the same.

use std::borrow::Cow;

/// The maximum size, in bytes, of texts in which differences in white space are accepted. The
/// largest script in Studio has less than a tenth of it.
pub(super) const MAX_LOOSE_BYTES: usize = 1 << 21;

/// Whether a character is invisible and has no width. Such characters are often included when text
/// is copied.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

/// Whether a text contains invisible characters.
pub(super) fn has_invisible(text: &str) -> bool {
    !text.is_ascii() && text.chars().any(is_invisible)
}

/// Removes invisible characters, except for joiners that writing systems and emoji need between two
/// characters.
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

/// Normalizes a line for comparison without regard to white space: each run becomes one space, both
/// ends are trimmed, and invisible characters are removed.
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

/// Removes all white space from a line.
pub(super) fn remove_whitespace(line: &str) -> String {
    if !line.is_ascii() {
        return line.split_whitespace().collect();
    }
    // Like `char::is_whitespace`, which includes the vertical tab.
    let is_space = |byte: u8| matches!(byte, b' ' | b'\t'..=b'\r');
    let mut kept = Vec::with_capacity(line.len());
    kept.extend(line.bytes().filter(|byte| !is_space(*byte)));
    String::from_utf8(kept).unwrap_or_default()
}

/// Returns the white space at the start of a line.
pub(super) fn indentation_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// A conversion from the indentation of a description to that of the existing text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum IndentRule {
    Same,
    /// `unit` spaces become a tab, and all lines get the prefix `deeper`.
    Tabs {
        unit: usize,
        deeper: String,
    },
    /// A tab becomes `unit` spaces, and all lines get the prefix `deeper`.
    Spaces {
        unit: usize,
        deeper: String,
    },
    /// All lines get this prefix.
    Deeper(String),
    /// All lines lose this prefix.
    Shallower(String),
}

impl IndentRule {
    /// Returns all rules that convert the first indentation of each pair to the second.
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

    /// Returns the indentation in the existing text; None if the line is not indented enough.
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

    /// Returns the line as it would be in the existing text; None if it is not indented enough.
    fn map_line(&self, line: &str) -> Option<String> {
        let from = indentation_of(line);
        if line.is_empty() || *self == Self::Same {
            return Some(line.to_owned());
        }
        let there = self.map_indent(from);
        // The indentation of a blank line is invisible.
        let there = if from.len() == line.len() { there.or(Some(String::new())) } else { there };
        Some(there? + &line[from.len()..])
    }
}

/// Converts lines from the indentation of a description to that of the existing text. `pairs` holds
/// the indentations of known lines: as they are described, and as they are in the text.
///
/// Returns None if no rule converts all pairs, or if several do and give different results for
/// these lines. Also returns None if some lines seem to be indented as in the description and
/// others as in the text. This last check is skipped if the first non-blank line is indented like
/// `beside`, which is a line of the description.
pub(super) fn reindent_lines(
    lines: &[&str],
    mut pairs: Vec<(&str, &str)>,
    described_line: Option<&str>,
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
    let mut non_blank = lines.iter().filter(|line| !is_blank(line)).peekable();
    let is_beside = non_blank
        .peek()
        .is_some_and(|first| described_line.map(indentation_of) == Some(indentation_of(first)));
    if rules != [IndentRule::Same] && !is_beside && non_blank.any(is_mixed) {
        return None;
    }
    let reindented = |rule: &IndentRule| {
        lines.iter().map(|line| rule.map_line(line)).collect::<Option<Vec<_>>>()
    };
    let mut results = rules.iter().filter_map(reindented);
    let first = results.next()?;
    results.all(|other| other == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_and_extra_blanks_are_removed() {
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
    fn lines_are_reindented_by_an_inferred_mapping() {
        check(&[("", ""), ("\t", "\t")], "\t\tx", Some("\t\tx"));
        check(&[("    ", "\t"), ("        ", "\t\t")], "            x", Some("\t\t\tx"));
        check(&[("  ", "\t"), ("", "")], "   x", Some("\t x"));
        check(&[("\t", "    "), ("", "")], "\t\tx", Some("        x"));
        check(&[("", "  "), ("  ", "    ")], "      x", Some("        x"));
        check(&[("\t\t", "\t"), ("\t", "")], "\t\t\tx", Some("\t\tx"));
        check(&[("\t\t", "\t"), ("\t", "")], "x", None);
        check(&[("", "\t"), ("    ", "\t\t")], "        x", Some("\t\t\tx"));
        // Ambiguous: a tab is two spaces, or it is four and lines are one level deeper.
        check(&[("    ", "\t\t")], "x", None);
        check(&[("", "  "), ("", "    ")], "x", None);
        check(&[("\t", "\t\t")], "", Some(""));
        check(&[("    ", "\t")], "        ", Some("\t\t"));
        // Some lines are indented as in the description, others as in the text.
        check(&[("", "  ")], "  x", None);
        let lines = reindent_lines(&["x", "  y"], vec![("", "  ")], Some("a"));
        assert_eq!(lines.unwrap(), ["  x", "    y"]);
        assert_eq!(reindent_lines(&["x", "  y"], vec![("", "  ")], Some(" a")), None);
    }
}
