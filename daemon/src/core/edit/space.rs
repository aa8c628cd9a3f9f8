//! White space, and characters that nobody sees: what may differ between a text that is described
//! and the text that is there, without being another one.

use std::borrow::Cow;

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
pub(super) fn visible(text: &str) -> Cow<'_, str> {
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
pub(super) fn squeezed(line: &str) -> Cow<'_, str> {
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
    let seen = visible(line);
    let mut squeezed = String::with_capacity(seen.len());
    for word in seen.split_whitespace() {
        if !squeezed.is_empty() {
            squeezed.push(' ');
        }
        squeezed.push_str(word);
    }
    Cow::Owned(squeezed)
}

/// The white space that a line begins with.
pub(super) fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// How lines that somebody describes are indented in the text that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Rule {
    /// As described.
    Same,
    /// So many spaces are a tab there, and all lines stand this much deeper.
    Tabs { unit: usize, deeper: String },
    /// A tab is so many spaces there, and all lines stand this much deeper.
    Spaces { unit: usize, deeper: String },
    /// All lines stand this much deeper.
    Deeper(String),
    /// All lines stand this much less deep.
    Shallower(String),
}

impl Rule {
    /// What turns each first indentation into the second one; none where nothing plain does.
    fn between(pairs: &[(&str, &str)]) -> Option<Self> {
        let fits =
            |rule: &Self| pairs.iter().all(|(from, to)| rule.indent(from).as_deref() == Some(*to));
        let (from, to) = pairs.first()?;
        let mut rules = vec![Self::Same];
        if let Some(deeper) = to.strip_suffix(from) {
            rules.push(Self::Deeper(deeper.to_owned()));
        }
        if let Some(more) = from.strip_suffix(to) {
            rules.push(Self::Shallower(more.to_owned()));
        }
        for unit in [4, 2, 8, 3] {
            let plain = String::new();
            for mut rule in [
                Self::Tabs { unit, deeper: plain.clone() },
                Self::Spaces { unit, deeper: plain.clone() },
            ] {
                let converted = rule.indent(from).unwrap_or_default();
                if let Some(more) = to.strip_suffix(converted.as_str()) {
                    if let Self::Tabs { deeper, .. } | Self::Spaces { deeper, .. } = &mut rule {
                        more.clone_into(deeper);
                    }
                    rules.push(rule);
                }
            }
        }
        rules.into_iter().find(fits)
    }

    /// The indentation in the text that is there; none where a line stands too far out.
    fn indent(&self, from: &str) -> Option<String> {
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
    fn line(&self, line: &str) -> Option<String> {
        let from = indent(line);
        if line.is_empty() || *self == Self::Same {
            return Some(line.to_owned());
        }
        let there = self.indent(from);
        // Nobody sees how deep a blank line stands.
        let there = if from.len() == line.len() { there.or(Some(String::new())) } else { there };
        Some(there? + &line[from.len()..])
    }
}

/// Lines that are to stand beside others: `pairs` are the indentations of these as they are
/// described and as they are. None where no plain rule makes the one of the other, or where some
/// lines are described by the one and some by the other; `beside` is a line of those that are described, and tells
/// that they are not where the first line is indented as it is.
pub(super) fn reindented(
    lines: &[&str],
    mut pairs: Vec<(&str, &str)>,
    beside: Option<&str>,
) -> Option<Vec<String>> {
    pairs.sort_unstable();
    pairs.dedup();
    let is_blank = |line: &&&str| line.trim().is_empty();
    let rule = if pairs.is_empty() { Rule::Same } else { Rule::between(&pairs)? };
    let is_mixed = |line: &&str| {
        let own = indent(line);
        pairs.iter().any(|(_, there)| *there == own)
            && !pairs.iter().any(|(described, _)| *described == own)
    };
    let mut speaking = lines.iter().filter(|line| !is_blank(line)).peekable();
    let is_beside = speaking.peek().is_some_and(|first| beside.map(indent) == Some(indent(first)));
    if rule != Rule::Same && !is_beside && speaking.any(is_mixed) {
        return None;
    }
    lines.iter().map(|line| rule.line(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sees_what_is_seen() {
        assert_eq!(visible("a\u{200b}b\u{feff}"), "ab");
        assert_eq!(visible("👩\u{200d}💻"), "👩\u{200d}💻");
        assert_eq!(visible("a\u{200d}b"), "ab");
        assert_eq!(squeezed("\ta\u{a0}\t b  "), "a b");
        assert_eq!(squeezed("a b"), "a b");
        assert_eq!(squeezed(" \u{200b} "), "");
        assert_eq!(squeezed(" x\u{200b}"), "x");
    }

    #[track_caller]
    fn check(pairs: &[(&str, &str)], line: &str, there: Option<&str>) {
        let lines = reindented(&[line], pairs.to_vec(), None);
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
        check(&[("", "  "), ("", "    ")], "x", None);
        check(&[("\t", "\t\t")], "", Some(""));
        check(&[("    ", "\t")], "        ", Some("\t\t"));
        // Some lines are indented as they are described, some as they stand there.
        check(&[("", "  ")], "  x", None);
        let lines = reindented(&["x", "  y"], vec![("", "  ")], Some("a"));
        assert_eq!(lines.unwrap(), ["  x", "    y"]);
        assert_eq!(reindented(&["x", "  y"], vec![("", "  ")], Some(" a")), None);
    }
}
