//! Parser for mentions in a user's prompt: `@selection`, `@script`, `@problems`, `@output`,
//! `@file:PATH`, `@folder:PATH`, `@proposal:NUMBER`, `@url:ADDRESS`, and a bare address as
//! `@https://...`.
//!
//! It only locates mentions and does not resolve them. An `@` in code, in an e-mail address, after
//! a backslash or before any other word (`@native`) is plain text.

use std::ops::Range;

use scene_schemas::entry::Seq;

/// A mention and its position in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The byte range, including the `@`.
    pub range: Range<usize>,
    pub what: MentionKind,
}

/// The target of a mention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MentionKind {
    /// The current selection in Studio.
    Selection,
    /// The active script in Studio.
    Script,
    /// The diagnostics of the scripts.
    Problems,
    /// The output of Studio.
    Output,
    /// A file or a script, by its path as typed.
    File(String),
    /// A folder, or an instance and its descendants, by its path as typed.
    Folder(String),
    /// A proposal, by its number.
    Proposal(Seq),
    /// A web page, by its address as typed.
    Url(String),
}

/// Finds all mentions, in order.
pub fn find_mentions(text: &str) -> Vec<Mention> {
    let code = code_ranges(text);
    let mut mentions: Vec<Mention> = Vec::new();
    for (at, _) in text.match_indices('@') {
        let last = mentions.last().map_or(0, |it| it.range.end);
        let index = code.partition_point(|range| range.end <= at);
        let is_code = code.get(index).is_some_and(|range| range.start <= at);
        if at < last || is_code || !can_begin(&text[..at]) {
            continue;
        }
        if let Some((what, length)) = parse_mention(&text[at + 1..]) {
            mentions.push(Mention { range: at..at + 1 + length, what });
        }
    }
    mentions
}

/// A mention that is being typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnfinishedMention<'a> {
    /// The position of its `@`, in bytes.
    pub start: usize,
    /// The text after the `@`.
    pub typed: &'a str,
}

/// Returns the mention that is being typed at the end of a text.
pub fn unfinished_mention(text: &str) -> Option<UnfinishedMention<'_>> {
    // A path can contain an `@` itself.
    let (start, _) = text.rmatch_indices('@').find(|(at, _)| can_begin(&text[..*at]))?;
    let typed = &text[start + 1..];
    let is_code = text[..start].matches('`').count() % 2 == 1;
    // Only a path or a name in quotes, which are still open, can contain spaces.
    let is_quoted = typed.matches('"').count() % 2 == 1
        && typed.rsplit_once('"').is_some_and(|(before, _)| before.ends_with([':', '[']));
    let is_one = is_quoted || !typed.contains(char::is_whitespace);
    let is_closed = typed.ends_with('"');
    (is_one && !is_code && !is_closed).then_some(UnfinishedMention { start, typed })
}

/// Whether a mention can start after `before`: not inside a word, nor after a backslash.
fn can_begin(before: &str) -> bool {
    before.chars().next_back().is_none_or(|c| {
        c.is_whitespace()
            || matches!(
                c,
                '(' | '[' | '{' | '"' | '\'' | '<' | '>' | ',' | ';' | ':' | '*' | '!' | '?'
            )
            || "“„‘«¿¡—–、。（「".contains(c)
    })
}

/// Maximum bytes of a path or an address. Text beyond this limit is not read.
const MAX: usize = 4096;

/// Parses the text after an `@` into its kind and its length in bytes.
fn parse_mention(text: &str) -> Option<(MentionKind, usize)> {
    let text = &text[..text.floor_char_boundary(MAX)];
    let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    if lower.starts_with("https://") || lower.starts_with("http://") {
        let address = address_prefix(text);
        let is_whole = address.len() > address.find("//")? + 2;
        return is_whole.then(|| (MentionKind::Url(address.to_owned()), address.len()));
    }
    let word = &text[..text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len())];
    let rest = &text[word.len()..];
    let what = match word.to_ascii_lowercase().as_str() {
        "selection" => MentionKind::Selection,
        "script" => MentionKind::Script,
        "problems" => MentionKind::Problems,
        "output" => MentionKind::Output,
        "proposal" => {
            let digits = rest.strip_prefix(':')?;
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            let number = digits[..end].parse().ok().filter(|_| is_word_end(&digits[end..]))?;
            let length = word.len() + 1 + end;
            return Some((MentionKind::Proposal(Seq(number)), length));
        }
        kind @ ("file" | "folder" | "url") => {
            let rest = rest.strip_prefix(':')?;
            let (value, length) = parse_value(rest, kind == "url")?;
            let what = match kind {
                "file" => MentionKind::File(value),
                "folder" => MentionKind::Folder(value),
                _ => MentionKind::Url(value),
            };
            return Some((what, word.len() + 1 + length));
        }
        _ => return None,
    };
    is_word_end(rest).then_some((what, word.len()))
}

/// Whether a word ends before `rest`.
fn is_word_end(rest: &str) -> bool {
    let mut characters = rest.chars();
    match characters.next() {
        None => true,
        // A full stop or a colon ends a sentence, but not `@script.x` or `@script:x`.
        Some('.' | ':' | '-' | '/') => {
            characters.next().is_none_or(|c| c.is_whitespace() || c == '.')
        }
        Some(c) => !c.is_alphanumeric() && !matches!(c, '_' | '@' | '='),
    }
}

/// Parses a path or an address. Returns it with its length in bytes, including quotes.
fn parse_value(text: &str, is_address: bool) -> Option<(String, usize)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let end = quoted.find(['"', '\n'])?;
        let value = quoted[..end].trim();
        return (quoted[end..].starts_with('"') && !value.is_empty())
            .then(|| (value.to_owned(), end + 2));
    }
    let value = if is_address { address_prefix(text) } else { path_prefix(text) };
    (!value.is_empty()).then(|| (value.to_owned(), value.len()))
}

fn address_prefix(text: &str) -> &str {
    let end = text.find(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`' | '|'));
    without_stops(&text[..end.unwrap_or(text.len())])
}

/// Returns the path at the start of `text`. It ends at white space, except inside `["..."]`.
fn path_prefix(text: &str) -> &str {
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if text[at..].starts_with("[\"")
            && let Some(length) = bracket_length(&text[at..])
        {
            at += length;
        } else if c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`' | '|') {
            break;
        } else {
            at += c.len_utf8();
        }
    }
    without_stops(&text[..at])
}

/// Returns the length of a `["..."]` on one line.
fn bracket_length(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(2) {
        match c {
            '\n' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return text[at + 1..].starts_with(']').then_some(at + 2),
            _ => {}
        }
    }
    None
}

/// Strips trailing punctuation that belongs to the sentence: stops, and closing brackets that were
/// opened before the mention.
fn without_stops(text: &str) -> &str {
    let mut text = text;
    while let Some(last) = text.chars().next_back() {
        let count = |c| text.matches(c).count();
        let is_stop = match last {
            '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' => true,
            ')' => count(')') > count('('),
            ']' => count(']') > count('['),
            '}' => count('}') > count('{'),
            other => "”’»…，。、）」".contains(other),
        };
        if !is_stop {
            break;
        }
        text = &text[..text.len() - last.len_utf8()];
    }
    text
}

/// Returns the ranges of code: fenced blocks and inline code.
fn code_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut fence: Option<(usize, &str)> = None;
    let mut prose = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let mark = fence_of(line);
        match (fence, mark) {
            (None, Some(mark)) => {
                inline_code(text, prose..start, &mut ranges);
                fence = Some((start, mark));
            }
            (Some((opened, open)), Some(mark))
                if mark.starts_with(open) && line.trim().len() == mark.len() =>
            {
                ranges.push(opened..at);
                (fence, prose) = (None, at);
            }
            _ => {}
        }
    }
    match fence {
        Some((opened, _)) => ranges.push(opened..text.len()),
        None => inline_code(text, prose..text.len(), &mut ranges),
    }
    ranges
}

/// Returns the marks that open or close a fence on this line.
fn fence_of(line: &str) -> Option<&str> {
    let begun = line.trim_start_matches(' ');
    let mark = begun.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = begun.len() - begun.trim_start_matches(mark).len();
    let is_inline = mark == '`' && begun[length..].contains('`');
    (length > 2 && line.len() - begun.len() < 4 && !is_inline).then(|| &begun[..length])
}

/// Finds inline code: text between runs of equally many backticks, within one paragraph.
fn inline_code(text: &str, prose: Range<usize>, ranges: &mut Vec<Range<usize>>) {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut at = prose.start;
    while let Some(found) = text[at..prose.end].find('`') {
        let start = at + found;
        let rest = &text[start..prose.end];
        at = start + rest.len() - rest.trim_start_matches('`').len();
        runs.push(start..at);
    }
    let mut index = 0;
    while index < runs.len() {
        let open = &runs[index];
        let close = runs[index + 1..].iter().take(MAX_RUNS).position(|run| run.len() == open.len());
        let close = close.map(|at| index + 1 + at);
        index += 1;
        if let Some(close) = close
            && !text[open.end..runs[close].start].contains("\n\n")
        {
            ranges.push(open.start..runs[close].end);
            index = close + 1;
        }
    }
}

/// Maximum number of backtick runs searched for a closing one.
const MAX_RUNS: usize = 64;

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, MentionKind)]) {
        let found = find_mentions(text);
        let found: Vec<(&str, MentionKind)> =
            found.into_iter().map(|it| (&text[it.range], it.what)).collect();
        assert_eq!(found, expected, "{text}");
    }

    fn file(path: &str) -> MentionKind {
        MentionKind::File(path.to_owned())
    }

    fn url(address: &str) -> MentionKind {
        MentionKind::Url(address.to_owned())
    }

    #[test]
    fn mention_is_unfinished_at_the_end_of_a_text() {
        let typed = |text: &str| {
            let found = unfinished_mention(text)?;
            assert_eq!(text[found.start..], format!("@{}", found.typed));
            Some(found.typed.to_owned())
        };
        assert_eq!(typed("look at @").as_deref(), Some(""));
        assert_eq!(typed("@sho").as_deref(), Some("sho"));
        assert_eq!(typed("(@file:src/é").as_deref(), Some("file:src/é"));
        assert_eq!(typed("see @file:\"my sho").as_deref(), Some("file:\"my sho"));
        assert_eq!(
            typed("@file:game.Workspace[\"My P").as_deref(),
            Some("file:game.Workspace[\"My P")
        );
        assert_eq!(typed("@file:Packages/@scope/x").as_deref(), Some("file:Packages/@scope/x"));
        for text in ["", "none", "@shop is", "me@home", "`@shop", "@file:\"my shop\"", "@a \"b"] {
            assert_eq!(typed(text), None, "{text}");
        }
        assert_eq!(typed("`code` @x").as_deref(), Some("x"));
    }

    #[test]
    fn mentions_are_found_in_text() {
        check("@selection", &[("@selection", MentionKind::Selection)]);
        check("Fix @Script.", &[("@Script", MentionKind::Script)]);
        check(
            "(@problems), @script: go",
            &[("@problems", MentionKind::Problems), ("@script", MentionKind::Script)],
        );
        check("Fix the error in the @output!", &[("@output", MentionKind::Output)]);
        check(
            "@selection@script @selection,@script",
            &[("@selection", MentionKind::Selection), ("@script", MentionKind::Script)],
        );
        check(
            "see @file:src/Main.server.luau.",
            &[("@file:src/Main.server.luau", file("src/Main.server.luau"))],
        );
        check("@file:\"my file.luau\", then", &[("@file:\"my file.luau\"", file("my file.luau"))]);
        check(
            "@folder:game.Workspace[\"My Part\"].Wall[2]!",
            &[(
                "@folder:game.Workspace[\"My Part\"].Wall[2]",
                MentionKind::Folder("game.Workspace[\"My Part\"].Wall[2]".into()),
            )],
        );
        check("(@file:a[1]) [@file:b]", &[("@file:a[1]", file("a[1]")), ("@file:b", file("b"))]);
        check("@file:a[\"b c", &[("@file:a[", file("a["))]);
        check(
            "@url:https://a.b/c?d=e#f, and",
            &[("@url:https://a.b/c?d=e#f", url("https://a.b/c?d=e#f"))],
        );
        check(
            "@https://a.b/x_(y)) @HTTP://c",
            &[("@https://a.b/x_(y)", url("https://a.b/x_(y)")), ("@HTTP://c", url("HTTP://c"))],
        );
        check("<@url:a.b>", &[("@url:a.b", url("a.b"))]);
        check(
            "like @proposal:12, or @Proposal:3.",
            &[
                ("@proposal:12", MentionKind::Proposal(Seq(12))),
                ("@Proposal:3", MentionKind::Proposal(Seq(3))),
            ],
        );
        check(
            "“@selection” 和 @file:ä/ö.luau",
            &[("@selection", MentionKind::Selection), ("@file:ä/ö.luau", file("ä/ö.luau"))],
        );
        check("@url:https://a/@script", &[("@url:https://a/@script", url("https://a/@script"))]);
    }

    #[test]
    fn other_words_are_not_mentions() {
        for text in [
            "",
            "@",
            "@@",
            "me@script.com",
            "me+@selection",
            "a.@script",
            "\\@selection",
            "@native",
            "@native function f()",
            "@selections",
            "@outputs",
            "@script2",
            "@script_x",
            "@script.Name",
            "@script:x",
            "@file",
            "@file:",
            "@file: x",
            "@file:\"\"",
            "@file:\"open",
            "@file:...",
            "@proposal",
            "@proposal:",
            "@proposal:x",
            "@proposal:12a",
            "@proposal:99999999999999999999",
            "@url:",
            "@https://",
            "@http:/x",
            "@everyone",
            "a@https://b.c",
            "@ selection",
            "@séléction",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn mentions_in_code_are_ignored() {
        for text in [
            "```luau\n@script\n```",
            "~~~\n@script\n```\n@script\n~~~",
            "````\n```\n@script\n```\n````",
            "```\n@script",
            "`@script`",
            "``a ` @script``",
            "a `b\n@script` c",
        ] {
            check(text, &[]);
        }
        let script = [("@script", MentionKind::Script)];
        check("```\na\n```\n@script", &script);
        check("`a` @script `b`", &script);
        check("a ` b @script", &script);
        check("a ` b\n\n@script ` c", &script);
        check("    ```\n@script", &script);
        check("```a``` @script", &script);
    }

    #[test]
    fn arbitrary_text_is_read_without_panic() {
        const PIECES: [&str; 20] = [
            "@",
            "selection",
            "script",
            "file:",
            "url:",
            "https://",
            "`",
            "```",
            "~~~",
            "\n",
            " ",
            "[\"",
            "\"]",
            "\"",
            "\\",
            "😀",
            "é",
            ".",
            ")",
            "(",
        ];
        let config =
            ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(6_000) };
        proptest!(config, |(pieces in vec(select(&PIECES[..]), 0..20))| {
            let text = pieces.concat();
            let mut end = 0;
            for mention in find_mentions(&text) {
                assert!(mention.range.start >= end && text[mention.range.clone()].starts_with('@'));
                end = mention.range.end;
            }
        });
        find_mentions(&"@file:)".repeat(20_000));
        find_mentions(&"`\n".repeat(50_000));
    }
}
