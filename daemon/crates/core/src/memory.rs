//! Parser and editor of a project's memory: a Markdown file that users and models write, with one
//! list of entries per section.
//!
//! Parsing is tolerant. An edit changes only the lines of its entry, so unknown sections and other
//! text stay byte for byte. This module does not know where the file is stored.

use std::ops::Range;

use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sections that a model reads and writes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum MemorySection {
    /// What the project is, and its purpose.
    Charter,
    /// Conventions of the project: names, style, structure.
    Conventions,
    /// The paths of the important instances and files.
    KeyPaths,
    /// Decisions and their reasons, newest last.
    Decisions,
    /// Open tasks.
    Todo,
}

impl MemorySection {
    /// All sections, in file order.
    pub const ALL: [Self; 5] =
        [Self::Charter, Self::Conventions, Self::KeyPaths, Self::Decisions, Self::Todo];

    pub fn name(self) -> &'static str {
        match self {
            Self::Charter => "Charter",
            Self::Conventions => "Conventions",
            Self::KeyPaths => "Key paths",
            Self::Decisions => "Decisions",
            Self::Todo => "Todo",
        }
    }

    /// Returns the section of a heading, ignoring case and punctuation.
    fn from_heading(heading: &str) -> Option<Self> {
        let letters: String = heading.chars().filter(|c| c.is_alphabetic()).collect();
        Some(match letters.to_lowercase().as_str() {
            "charter" | "projectcharter" => Self::Charter,
            "conventions" | "convention" => Self::Conventions,
            "keypaths" | "keypath" | "paths" => Self::KeyPaths,
            "decisions" | "decision" => Self::Decisions,
            "todo" | "todos" => Self::Todo,
            _ => return None,
        })
    }
}

/// A change to the memory. An entry is identified by its text, or by its first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "camelCase", deny_unknown_fields)]
pub enum MemoryChange {
    /// Appends a new entry to a section.
    Add {
        section: MemorySection,
        text: String,
    },
    /// Replaces the text of an entry.
    Replace {
        section: MemorySection,
        entry: String,
        text: String,
    },
    Remove {
        section: MemorySection,
        entry: String,
    },
}

/// Maximum bytes of an entry, and of the whole file.
const MAX_ENTRY: usize = 1_000;
const MAX_FILE: usize = 64 << 10;

/// The first line of a new file.
const HEAD: &str = "# Memory\n";

/// A list entry with the lines that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MemoryEntry {
    /// Byte range of its lines, including the last line end.
    lines: Range<usize>,
    /// Byte range of the text after the list mark and the task checkbox, without the last line end.
    text: Range<usize>,
}

/// A section and its position in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SectionSpan {
    section: MemorySection,
    /// Byte range of everything below the heading.
    body: Range<usize>,
    entries: Vec<MemoryEntry>,
}

/// Returns the entries of a section, each on one line.
pub fn list_entries(memory: &str, section: MemorySection) -> Vec<String> {
    let parts = find_sections(memory);
    let own = parts.iter().filter(|part| part.section == section);
    own.flat_map(|part| &part.entries).map(|entry| one_line(&memory[entry.text.clone()])).collect()
}

/// Applies changes one after the other.
///
/// # Errors
/// If one change does not fit, none is applied.
pub fn edit_memory(memory: &str, changes: &[MemoryChange]) -> Result<String, Refusal> {
    let mut text = memory.to_owned();
    for (index, change) in changes.iter().enumerate() {
        let place =
            if changes.len() > 1 { format!("Change {}: ", index + 1) } else { String::new() };
        change_one(&mut text, change).map_err(|why| Refusal(format!("{place}{why}")))?;
    }
    if text.len() > MAX_FILE && text.len() > memory.len() {
        return refuse!(
            "The memory would exceed {MAX_FILE} bytes: it would have {}. Remove or shorten entries first.",
            text.len()
        );
    }
    Ok(text)
}

fn change_one(memory: &mut String, change: &MemoryChange) -> Result<(), Refusal> {
    let end = if memory.contains("\r\n") { "\r\n" } else { "\n" };
    match change {
        MemoryChange::Add { section, text } => {
            add_entry(memory, *section, &check_entry(text, end)?, end)
        }
        MemoryChange::Replace { section, entry, text } => {
            let text = check_entry(text, end)?;
            let found = find_entry(memory, *section, entry)?;
            // A new text with a checkbox replaces the existing checkbox too.
            let boxed = Range {
                start: found.text.start - checkbox_length(memory, &found),
                end: found.text.end,
            };
            let range = if box_of(&text).is_some() { boxed } else { found.text };
            memory.replace_range(range, &text);
            Ok(())
        }
        MemoryChange::Remove { section, entry } => {
            let found = find_entry(memory, *section, entry)?;
            memory.replace_range(found.lines, "");
            Ok(())
        }
    }
}

/// Returns the length in bytes of the task checkbox before an entry, or 0.
fn checkbox_length(memory: &str, entry: &MemoryEntry) -> usize {
    let before = &memory[entry.lines.start..entry.text.start];
    before.rfind('[').map_or(0, |at| before.len() - at)
}

/// Validates a new entry and indents its further lines so that they belong to it.
fn check_entry(text: &str, end: &str) -> Result<String, Refusal> {
    let text = text.trim();
    if text.is_empty() {
        return refuse!("`text` is empty.");
    }
    if text.len() > MAX_ENTRY {
        return refuse!(
            "The entry has {} bytes; at most {MAX_ENTRY}. Shorten it, or split it into several entries.",
            text.len()
        );
    }
    let lines: Vec<&str> =
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    if lines.iter().any(|line| fence_mark(line.trim_start()).is_some()) {
        return refuse!("An entry cannot contain a code fence; name the script instead.");
    }
    let indented = lines.iter().enumerate().map(|(index, line)| match index {
        0 => (*line).to_owned(),
        _ => format!("  {line}"),
    });
    Ok(indented.collect::<Vec<_>>().join(end))
}

fn find_entry(memory: &str, section: MemorySection, wanted: &str) -> Result<MemoryEntry, Refusal> {
    let parts = find_sections(memory);
    let own = || parts.iter().filter(|part| part.section == section).flat_map(|part| &part.entries);
    let wanted = one_line(&wanted[list_mark(wanted).unwrap_or(0)..]);
    let wanted = wanted[box_of(&wanted).unwrap_or(0)..].to_owned();
    let whole = |entry: &&MemoryEntry| one_line(&memory[entry.text.clone()]) == wanted;
    let first = |entry: &&MemoryEntry| {
        let line = memory[entry.text.clone()].lines().next().unwrap_or_default();
        one_line(line) == wanted
    };
    let mut found: Vec<&MemoryEntry> = own().filter(whole).collect();
    if found.is_empty() {
        found = own().filter(first).collect();
    }
    match found.as_slice() {
        [entry] => Ok((*entry).clone()),
        [] => {
            let all: Vec<String> = own()
                .take(20)
                .map(|entry| format!("\n- {}", one_line(&memory[entry.text.clone()])))
                .collect();
            let has = if all.is_empty() { " It has none." } else { " It has:" };
            refuse!("`{wanted}` is not an entry of {}.{has}{}", section.name(), all.concat())
        }
        all => refuse!(
            "`{wanted}` occurs {} times in {}. Ask the person to edit the file.",
            all.len(),
            section.name()
        ),
    }
}

fn add_entry(
    memory: &mut String,
    section: MemorySection,
    text: &str,
    end: &str,
) -> Result<(), Refusal> {
    let wanted = one_line(&text[box_of(text).unwrap_or(0)..]);
    if list_entries(memory, section).contains(&wanted) {
        return refuse!("`{wanted}` is already in {}.", section.name());
    }
    let parts = find_sections(memory);
    let is_open_task = section == MemorySection::Todo && box_of(text).is_none();
    let task = if is_open_task { "[ ] " } else { "" };
    let last =
        parts.iter().filter(|part| part.section == section).rfind(|it| !it.entries.is_empty());
    if let Some(entry) = last.and_then(|part| part.entries.last()) {
        let bullet = memory[entry.lines.start..].trim_start().chars().next();
        let bullet = bullet.filter(|c| matches!(c, '-' | '*' | '+')).unwrap_or('-');
        insert_lines(memory, entry.lines.end, &format!("{bullet} {task}{text}"), end);
        return Ok(());
    }
    let item = format!("- {task}{text}");
    if let Some(part) = parts.iter().find(|part| part.section == section) {
        let at = text_end(memory, &part.body);
        insert_lines(memory, at, &format!("{end}{item}"), end);
    } else {
        // Insert after the sections that precede it in file order; if there are none, before the
        // next section.
        let before = parts.iter().rfind(|part| part.section < section);
        let after = parts.iter().find(|part| part.section > section);
        let heading = format!("## {}{end}{end}{item}", section.name());
        match (before, after) {
            (Some(part), _) => {
                let at = text_end(memory, &part.body);
                insert_lines(memory, at, &format!("{end}{heading}"), end);
            }
            (None, Some(part)) => {
                let at = memory[..part.body.start].trim_end().rfind('\n').map_or(0, |at| at + 1);
                memory.insert_str(at, &format!("{heading}{end}{end}"));
            }
            (None, None) if memory.trim().is_empty() => {
                *memory = format!("{HEAD}\n{heading}{end}");
            }
            (None, None) => {
                let at = text_end(memory, &(0..memory.len()));
                insert_lines(memory, at, &format!("{end}{heading}"), end);
            }
        }
    }
    Ok(())
}

/// Returns the end of the line with the last text of a range, or the start of the range if it has
/// no text.
fn text_end(memory: &str, range: &Range<usize>) -> usize {
    let text = memory[range.clone()].trim_end();
    if text.is_empty() {
        return range.start;
    }
    let end = range.start + text.len();
    memory[end..].find('\n').map_or(memory.len(), |at| end + at + 1)
}

/// Inserts lines at a line start, followed by a blank line if text comes next.
fn insert_lines(memory: &mut String, at: usize, lines: &str, end: &str) {
    let is_open = at > 0 && !memory[..at].ends_with('\n');
    let rest = &memory[at..];
    let next = rest.lines().next().unwrap_or_default();
    let is_text_next = !next.trim().is_empty() && list_mark(next).is_none();
    let text = match (is_open, is_text_next) {
        (true, _) => format!("{end}{lines}"),
        (false, true) => format!("{lines}{end}{end}"),
        (false, false) => format!("{lines}{end}"),
    };
    memory.insert_str(at, &text);
}

/// Returns the memory for a prompt, in at most `max_bytes`: all of it, or as many entries as fit.
/// Each section gets an equal share. Decisions are taken newest first, other entries oldest first.
pub fn extract_memory(memory: &str, max_bytes: usize) -> String {
    let whole = memory.trim();
    if whole.len() <= max_bytes {
        return whole.to_owned();
    }
    let parts = find_sections(memory);
    let lists = MemorySection::ALL.map(|section| {
        let own = parts.iter().filter(|part| part.section == section);
        own.flat_map(|part| &part.entries)
            .map(|entry| {
                format!(
                    "- {}\n",
                    one_line(&memory[entry.lines.clone()].trim_start()[mark_at(memory, entry)..])
                )
            })
            .collect::<Vec<_>>()
    });
    let count: usize = lists.iter().map(Vec::len).sum();
    let note =
        |left: usize| format!("({left} of {count} entries, and all other text, are left out.)\n");
    let mut room = max_bytes.saturating_sub(note(count).len());
    let mut taken = lists.each_ref().map(|list| vec![false; list.len()]);
    let share = room / MemorySection::ALL.len();
    for limit in [share, usize::MAX] {
        for (index, section) in MemorySection::ALL.into_iter().enumerate() {
            room -= take_entries(section, &lists[index], &mut taken[index], limit.min(room), room);
        }
    }
    let mut text = String::new();
    for (section, (list, taken)) in MemorySection::ALL.into_iter().zip(lists.iter().zip(&taken)) {
        if taken.contains(&true) {
            text.push_str(&format!("## {}\n", section.name()));
        }
        list.iter().zip(taken).filter(|(_, is)| **is).for_each(|(entry, _)| text.push_str(entry));
    }
    let left = taken.iter().flatten().filter(|is| !**is).count();
    text.push_str(&note(left));
    text[..text.floor_char_boundary(max_bytes)].trim_end().to_owned()
}

/// Marks entries of a section that fit as taken, and returns the bytes they need.
fn take_entries(
    section: MemorySection,
    list: &[String],
    taken: &mut [bool],
    limit: usize,
    room: usize,
) -> usize {
    let heading = if taken.contains(&true) { 0 } else { section.name().len() + 4 };
    let mut used = 0;
    let mut order: Vec<usize> = (0..list.len()).filter(|at| !taken[*at]).collect();
    if section == MemorySection::Decisions {
        order.reverse();
    }
    for at in order {
        let needed = list[at].len() + if used == 0 { heading } else { 0 };
        if used + needed > limit.min(room) {
            break;
        }
        used += needed;
        taken[at] = true;
    }
    used
}

/// Returns the length of an entry's list mark.
fn mark_at(memory: &str, entry: &MemoryEntry) -> usize {
    list_mark(memory[entry.lines.clone()].trim_start()).unwrap_or(0)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Finds the sections and their entries.
fn find_sections(memory: &str) -> Vec<SectionSpan> {
    let mut parts: Vec<SectionSpan> = Vec::new();
    // The heading level of the current section.
    let mut open: Option<usize> = None;
    let mut fenced: Option<OpenFence> = None;
    let mut is_listed = false;
    let mut at = 0;
    for line in memory.split_inclusive('\n') {
        let lines = at..at + line.len();
        at = lines.end;
        let content = line.trim_end_matches(['\n', '\r']);
        if let Some(part) = parts.last_mut().filter(|_| open.is_some()) {
            part.body.end = lines.end;
        }
        // A line that is not indented ends an entry, and with it the fence inside.
        if fenced.is_some_and(|fence| fence.is_in_entry) && !is_indented(content) {
            fenced = None;
            is_listed = false;
        }
        match (fenced, fence_mark(content)) {
            (None, Some(mark)) => {
                is_listed &= is_indented(content);
                fenced = Some(OpenFence { mark, is_in_entry: is_listed && open.is_some() });
            }
            (Some(fence), Some(mark)) if mark.starts_with(fence.mark) && content.trim() == mark => {
                fenced = None;
                extend_entry(&mut parts, is_listed && open.is_some(), content, &lines);
                continue;
            }
            _ => {}
        }
        if fenced.is_none()
            && let Some((level, name)) = parse_heading(content)
        {
            let section = MemorySection::from_heading(name);
            if section.is_some() || open.is_some_and(|opened| level <= opened) {
                if let Some(part) = parts.last_mut().filter(|_| open.is_some()) {
                    part.body.end = lines.start;
                }
                open = section.map(|_| level);
            }
            if let Some(section) = section {
                parts.push(SectionSpan { section, body: lines.end..lines.end, entries: vec![] });
            }
            is_listed = false;
            continue;
        }
        let marked = list_mark(content).filter(|_| fenced.is_none() && open.is_some());
        match (marked, parts.last_mut()) {
            (Some(mark), Some(part)) => {
                let start = lines.start + mark + box_of(&content[mark..]).unwrap_or(0);
                let text = start..lines.start + content.len();
                part.entries.push(MemoryEntry { lines, text });
                is_listed = true;
            }
            _ => is_listed = extend_entry(&mut parts, is_listed && open.is_some(), content, &lines),
        }
    }
    parts
}

/// Adds a line to the last entry if the line belongs to it: an indented line, or one of the same
/// paragraph. Returns whether the entry continues.
fn extend_entry(
    parts: &mut [SectionSpan],
    is_listed: bool,
    content: &str,
    lines: &Range<usize>,
) -> bool {
    let Some(entry) = parts.last_mut().and_then(|part| part.entries.last_mut()) else {
        return false;
    };
    if is_rule(content) {
        return false;
    }
    if !is_listed || content.trim().is_empty() {
        // An indented line after a blank one still belongs to the entry.
        return is_listed;
    }
    let is_next = entry.lines.end == lines.start;
    if !is_indented(content) && !is_next {
        return false;
    }
    entry.lines.end = lines.end;
    entry.text.end = lines.start + content.len();
    true
}

/// An open code fence.
#[derive(Clone, Copy)]
struct OpenFence<'a> {
    mark: &'a str,
    is_in_entry: bool,
}

/// Whether a line is blank or indented, and so belongs to the entry above it.
fn is_indented(line: &str) -> bool {
    line.starts_with("  ") || line.starts_with('\t') || line.trim().is_empty()
}

/// Parses a heading into its level and name.
fn parse_heading(line: &str) -> Option<(usize, &str)> {
    let name = line.trim_start_matches('#');
    let level = line.len() - name.len();
    let is_heading = (1..=6).contains(&level) && name.starts_with([' ', '\t']);
    is_heading.then(|| (level, name.trim().trim_end_matches('#').trim()))
}

/// Returns the length of the list mark at the start of a line, including the space after it.
fn list_mark(line: &str) -> Option<usize> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let rest = &line[indent.min(1)..];
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let length = match &rest.as_bytes()[digits..] {
        [b'-' | b'*' | b'+', ..] if digits == 0 => 1,
        [b'.' | b')', ..] if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    let behind = &rest[length..];
    if behind.is_empty() {
        return Some(indent.min(1) + length);
    }
    let blanks = behind.len() - behind.trim_start_matches([' ', '\t']).len();
    (blanks > 0).then_some(indent.min(1) + length + blanks)
}

/// Returns the length of a task checkbox, including the space after it.
fn box_of(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('[')?.strip_prefix([' ', 'x', 'X'])?.strip_prefix(']')?;
    rest.starts_with(' ').then_some(4)
}

/// Whether a line is a thematic break.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    let drawn = |c: char| line.len() > 2 && line.chars().all(|it| it == c);
    ['-', '*', '_'].into_iter().any(drawn)
}

/// Returns the marks that open or close a code fence.
fn fence_mark(line: &str) -> Option<&str> {
    let begun = line.trim_start_matches(' ');
    let mark = begun.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = begun.len() - begun.trim_start_matches(mark).len();
    (length > 2 && line.len() - begun.len() < 4).then(|| &begun[..length])
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::MemorySection::{Charter, Decisions, KeyPaths, Todo};
    use super::*;

    const FILE: &str = "# My game\r\n\r\nHello.  \r\n\r\n## charter ##\r\n\r\nAn obby.\r\n* Fun\r\n\
                        * Fast\r\n  and\r\n  fair\r\n\r\n## Secrets\r\n\r\n- mine\r\n\r\n### TODO:\r\n\
                        1. [ ] one\r\n2. [x] two\r\n\r\n```\r\n## Decisions\r\n- no\r\n```";

    fn add(section: MemorySection, text: &str) -> MemoryChange {
        MemoryChange::Add { section, text: text.to_owned() }
    }

    fn replace(section: MemorySection, entry: &str, text: &str) -> MemoryChange {
        MemoryChange::Replace { section, entry: entry.to_owned(), text: text.to_owned() }
    }

    fn remove(section: MemorySection, entry: &str) -> MemoryChange {
        MemoryChange::Remove { section, entry: entry.to_owned() }
    }

    #[track_caller]
    fn check(memory: &str, change: MemoryChange, expected: &str) {
        assert_eq!(edit_memory(memory, &[change]).unwrap(), expected);
    }

    #[track_caller]
    fn refused(memory: &str, change: MemoryChange, part: &str) {
        let why = edit_memory(memory, &[change]).unwrap_err().0;
        assert!(why.contains(part), "{why}");
    }

    #[test]
    fn entries_are_read_from_hand_written_files() {
        assert_eq!(list_entries(FILE, Charter), ["Fun", "Fast and fair"]);
        assert_eq!(list_entries(FILE, Todo), ["one", "two"]);
        assert!(
            list_entries(FILE, Decisions).is_empty() && list_entries(FILE, KeyPaths).is_empty()
        );
        let nested =
            "## Key Paths\n\n- a\n  - b\n\n  c\n\nfree\n- d\nlazy\n### More\n- e\n# Other\n- f\n";
        assert_eq!(list_entries(nested, KeyPaths), ["a - b c", "d lazy", "e"]);
        assert!(list_entries("", Charter).is_empty() && list_entries("- a\n", Charter).is_empty());
        assert_eq!(list_entries("## Todo\n-\n- \n-x\n--- \n- y", Todo), ["", "-x", "y"]);
    }

    #[test]
    fn fence_with_blank_lines_does_not_split_its_entry() {
        let inside = "## Todo\n- a\n  ```\n\n  b\n  ```\n- c\n";
        assert_eq!(list_entries(inside, Todo), ["a ``` b ```", "c"]);
        // A fence that is not indented belongs to no entry, and a new entry is inserted before it.
        let behind = "## Todo\n- a\n```\n\n```\n";
        check(behind, add(Todo, "b"), "## Todo\n- a\n- [ ] b\n\n```\n\n```\n");
        // An unclosed fence ends with its entry.
        assert_eq!(
            list_entries("## Todo\n- a\n  ```\n\n# X\n## Todo\n- b\n", Todo),
            ["a ```", "b"]
        );
    }

    #[test]
    fn edit_changes_only_its_entry() {
        let with = |from: &str, to: &str| FILE.replacen(from, to, 1);
        check(FILE, add(Charter, "Fair"), &with("  fair\r\n", "  fair\r\n* Fair\r\n"));
        check(FILE, add(Todo, "three"), &with("two\r\n", "two\r\n- [ ] three\r\n"));
        check(FILE, add(Todo, "[x] done"), &with("two\r\n", "two\r\n- [x] done\r\n"));
        check(FILE, replace(Todo, "- [ ] one", "uno"), &with("[ ] one", "[ ] uno"));
        check(FILE, replace(Todo, "one", "[x] one"), &with("[ ] one", "[x] one"));
        check(
            FILE,
            replace(Charter, "Fast", "Slow\nbut  \n\nsure"),
            &with("Fast\r\n  and\r\n  fair", "Slow\r\n  but\r\n  sure"),
        );
        check(FILE, remove(Charter, "Fast and fair"), &with("* Fast\r\n  and\r\n  fair\r\n", ""));
        check(
            FILE,
            add(Decisions, "Use it"),
            &with(
                "An obby.\r\n* Fun\r\n* Fast\r\n  and\r\n  fair\r\n",
                "An obby.\r\n* Fun\r\n* Fast\r\n  and\r\n  fair\r\n\r\n## Decisions\r\n\r\n- Use it\r\n",
            ),
        );
    }

    #[test]
    fn sections_are_created_where_they_belong() {
        let made = "# Memory\n\n## Todo\n\n- [ ] a\n";
        check("", add(Todo, "a"), made);
        let both = "# Memory\n\n## Charter\n\n- b\n\n## Todo\n\n- [ ] a\n";
        check(made, add(Charter, "b"), both);
        let three = "# Memory\n\n## Charter\n\n- b\n\n## Decisions\n\n- c\n\n## Todo\n\n- [ ] a\n";
        check(both, add(Decisions, "c"), three);
        check("Hello", add(Charter, "a"), "Hello\n\n## Charter\n\n- a");
        check("## Todo\n## X\n", add(Todo, "a"), "## Todo\n\n- [ ] a\n\n## X\n");
        check("## Todo\nfree\n\nx: 1\n", add(Todo, "a"), "## Todo\nfree\n\nx: 1\n\n- [ ] a\n");
        check("## Todo\n- a", add(Todo, "b"), "## Todo\n- a\n- [ ] b");
        check("## Todo\n- a\n## X", add(Todo, "b"), "## Todo\n- a\n- [ ] b\n\n## X");
        check("## Todo", add(Todo, "a"), "## Todo\n\n- [ ] a");
    }

    #[test]
    fn invalid_edits_are_refused() {
        refused(
            FILE,
            remove(Todo, "three"),
            "`three` is not an entry of Todo. It has:\n- one\n- two",
        );
        refused(FILE, remove(KeyPaths, "a"), "It has none.");
        refused("## Todo\n- a\n- a\n", remove(Todo, "a"), "occurs 2 times in Todo");
        refused(FILE, add(Charter, " Fun "), "`Fun` is already in Charter.");
        refused(FILE, add(Todo, "[x] one"), "already");
        refused(FILE, add(Charter, " \n"), "is empty");
        refused(FILE, add(Charter, &"x".repeat(1001)), "at most 1000");
        refused(FILE, add(Charter, "a\n```\nb"), "cannot contain a code fence");
        refused(&"x".repeat(MAX_FILE), add(Charter, "a"), "Remove or shorten");
        let why = edit_memory(FILE, &[add(Charter, "a"), add(Charter, "a")]).unwrap_err().0;
        assert!(why.starts_with("Change 2: "), "{why}");
    }

    #[test]
    fn memory_extract_keeps_within_its_size_limit() {
        assert_eq!(extract_memory(FILE, 10_000), FILE);
        let long = (0..100).fold(String::from("Free text.\n"), |text, n| {
            let section = MemorySection::ALL[n % 5];
            edit_memory(&text, &[add(section, &format!("entry number {n}"))]).unwrap()
        });
        let text = extract_memory(&long, 600);
        assert!(text.len() <= 600 && text.len() > 500, "{text}");
        for part in
            ["## Charter\n- entry number 0\n", "- entry number 98\n## Todo\n- [ ] entry number 4\n"]
        {
            assert!(text.contains(part), "{text}");
        }
        assert!(text.ends_with("of 100 entries, and all other text, are left out.)"), "{text}");
        assert!(!text.contains("entry number 3\n"), "{text}");
        for max in 0..700 {
            assert!(extract_memory(&long, max).len() <= max);
        }
    }

    #[test]
    fn edits_keep_arbitrary_file_content() {
        const LINES: [&str; 22] = [
            "# A",
            "## Charter",
            "## Todo",
            "### Decisions",
            "- a",
            "* b",
            "  c",
            "",
            "free",
            "```",
            "~~~",
            "  ```",
            "  ~~~",
            "1. d",
            "- [ ] e",
            "- [x]",
            "\t- f",
            "-",
            "#",
            "## 😀",
            "é",
            "- ",
        ];
        let lines = vec(select(&LINES[..]), 0..14);
        let section = select(&MemorySection::ALL[..]);
        let config =
            ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4_000) };
        let inputs = (lines, select(&["\n", "\r\n"][..]), any::<bool>(), section, 0..60_usize);
        proptest!(config, |((lines, end, is_ended, section, most) in inputs)| {
            let mut memory: String = lines.iter().flat_map(|line| [*line, end]).collect();
            if !is_ended {
                memory.truncate(memory.trim_end().len());
            }
            let before = MemorySection::ALL.map(|it| list_entries(&memory, it));
            extract_memory(&memory, most);
            let Ok(added) = edit_memory(&memory, &[add(section, "new one")]) else { return Ok(()) };
            let mut expected = before.clone();
            let index = MemorySection::ALL.iter().position(|it| *it == section).unwrap_or_default();
            expected[index].push("new one".to_owned());
            let after = MemorySection::ALL.map(|it| list_entries(&added, it));
            if !is_fence_open(&memory) {
                assert_eq!(after, expected, "{memory:?}\n{added:?}");
                let back = edit_memory(&added, &[remove(section, "new one")]).unwrap();
                assert_eq!(
                    MemorySection::ALL.map(|it| list_entries(&back, it)),
                    before,
                    "{memory:?}\n{back:?}"
                );
            }
            let mut rest = added.as_str();
            for line in memory.lines() {
                let at =
                    rest.find(line).unwrap_or_else(|| panic!("{line:?} of {memory:?}\n{added:?}"));
                rest = &rest[at + line.len()..];
            }
        });
    }

    /// Whether an entry appended to the file would be parsed as code.
    fn is_fence_open(memory: &str) -> bool {
        let probed = format!("{memory}\n# Probe\n## Todo\n- probe\n");
        !list_entries(&probed, Todo).contains(&"probe".to_owned())
    }
}
