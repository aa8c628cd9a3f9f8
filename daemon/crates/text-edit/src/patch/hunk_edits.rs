//! Conversion of placed hunks to edits.
//!
//! Unchanged lines keep their bytes. An added line gets the line end of the line it replaces, or of
//! its neighbours. The last line of the text keeps its line end, or the lack of one, unless the
//! patch says otherwise.

use std::borrow::Cow;
use std::ops::Range;

use scene_schemas::text::{Position, TextEdit};

use super::super::lines::{LineEnd, line_start_position, split_line_end};
use super::super::whitespace::{collapse_whitespace, indentation_of, reindent_lines};
use super::hunk_place::{BaseText, HunkPlace};
use super::parse::{HunkLine, LineSign, PatchHunk};
use super::{MatchStage, PatchError, PatchResult};

/// Lines that replace others. One of the two may be empty.
#[derive(Debug)]
pub(super) struct HunkChange<'a> {
    /// The lines of the text, from 0.
    old: Range<usize>,
    new: Vec<Cow<'a, str>>,
    /// Whether the last line of the text is to have a line end; None if the patch does not say.
    is_ended: Option<bool>,
    hunk: usize,
}

/// Returns the changes of a placed hunk.
pub(super) fn build_changes<'a>(
    base: &BaseText<'_>,
    hunk: &PatchHunk<'a>,
    number: usize,
    place: &HunkPlace,
) -> Result<Vec<HunkChange<'a>>, PatchError> {
    let lines = &hunk.lines[place.lines.clone()];
    let added = added_lines(base, lines, place);
    let added = added.ok_or(PatchError::Indentation { hunk: number, line: place.at + 1 })?;
    let mut added = added.into_iter();
    // A mark on one side implies a difference in the line end; marks on both sides imply none.
    let is_marked = lines.iter().any(|line| line.has_no_newline);
    let last = |other: LineSign| lines.iter().rfind(|line| line.sign != other);
    let is_last = |other: LineSign| last(other).is_some_and(|line| line.has_no_newline);
    let is_on_both = is_last(LineSign::Added) && is_last(LineSign::Removed);
    let is_ended = (is_marked && !is_on_both).then(|| !is_last(LineSign::Removed));
    let mut changes: Vec<HunkChange<'a>> = Vec::new();
    let mut at = place.at;
    let mut is_open = false;
    for line in lines {
        if line.sign == LineSign::Context {
            at += 1;
            is_open = false;
            continue;
        }
        if !is_open {
            changes.push(HunkChange { old: at..at, new: Vec::new(), is_ended, hunk: number });
            is_open = true;
        }
        let Some(change) = changes.last_mut() else { continue };
        if line.sign == LineSign::Removed {
            at += 1;
            change.old.end = at;
        } else {
            change.new.extend(added.next());
        }
    }
    Ok(changes)
}

/// Whether a hunk marks a line as the last one, without a line end, and the text contradicts this.
pub(super) fn has_false_end_mark(
    base: &BaseText<'_>,
    hunk: &PatchHunk<'_>,
    place: &HunkPlace,
) -> bool {
    let mut at = place.at;
    for line in &hunk.lines[place.lines.clone()] {
        let is_old = line.sign != LineSign::Added;
        let there = base.lines.get(at).filter(|_| is_old);
        at += usize::from(is_old);
        let has_end = there.is_some_and(|there| split_line_end(there).1 != LineEnd::None);
        if line.has_no_newline && has_end {
            return true;
        }
    }
    let is_marked = hunk.lines[place.lines.clone()].iter().any(|line| line.has_no_newline);
    is_marked && at < base.lines.len()
}

/// Returns the added lines as they are to be written.
fn added_lines<'a>(
    base: &BaseText<'_>,
    lines: &[HunkLine<'a>],
    place: &HunkPlace,
) -> Option<Vec<Cow<'a, str>>> {
    let added = lines.iter().filter(|line| line.sign == LineSign::Added).map(|line| line.text);
    if place.stage == MatchStage::Exact {
        return Some(added.map(Cow::Borrowed).collect());
    }
    let old = lines.iter().filter(|line| line.sign != LineSign::Added).map(|line| line.text);
    let there = base.line_contents().get(place.at..).unwrap_or_default().iter().copied();
    let both: Vec<(&str, &str)> =
        old.zip(there).filter(|(line, _)| !collapse_whitespace(line).is_empty()).collect();
    let mut pairs: Vec<_> =
        both.iter().map(|(line, there)| (indentation_of(line), indentation_of(there))).collect();
    if is_unsigned(base, lines, place) {
        // The added lines still have their signs, so the lost signs of context lines must not
        // affect their indentation.
        pairs.retain(|(line, there)| there.strip_prefix(' ') != Some(line));
    } else if pairs.iter().any(|(line, there)| there.strip_prefix(' ') == Some(line)) {
        return None;
    }
    // If context lines have non-breaking spaces where the text has plain ones, those of the added
    // lines are unintended too.
    let is_odd =
        |(line, there): &(&str, &str)| line.contains('\u{a0}') && !there.contains('\u{a0}');
    let plain: Vec<Cow<'_, str>> = if both.iter().any(is_odd) {
        added.map(|line| Cow::Owned(line.replace('\u{a0}', " "))).collect()
    } else {
        added.map(Cow::Borrowed).collect()
    };
    let plain: Vec<&str> = plain.iter().map(AsRef::as_ref).collect();
    let removed = lines.iter().find(|line| line.sign == LineSign::Removed).map(|line| line.text);
    Some(reindent_lines(&plain, pairs, removed)?.into_iter().map(Cow::Owned).collect())
}

/// Whether context lines have lost their signs, and so have one space less than the text.
fn is_unsigned(base: &BaseText<'_>, lines: &[HunkLine<'_>], place: &HunkPlace) -> bool {
    let old = lines.iter().filter(|line| line.sign != LineSign::Added);
    let there = base.line_contents().get(place.at..).unwrap_or_default();
    let is_visible_context =
        |line: &HunkLine<'_>| line.sign == LineSign::Context && !line.text.trim().is_empty();
    old.zip(there).filter(|(line, _)| is_visible_context(line)).all(|(line, there)| {
        indentation_of(there).strip_prefix(' ') == Some(indentation_of(line.text))
    })
}

/// Returns the result of an envelope that adds a file which already exists.
pub(super) fn overwrite_text(base: &BaseText<'_>, hunks: &[PatchHunk<'_>]) -> PatchResult {
    let lines =
        hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.sign == LineSign::Added);
    let text: String = lines.flat_map(|line| [line.text, "\n"]).collect();
    let start = Position { line: 0, character: 0 };
    let end = line_start_position(&base.lines, base.lines.len());
    let edits = vec![TextEdit { start, end, text }];
    PatchResult { should_review: !base.lines.is_empty(), ..PatchResult::from_exact(edits) }
}

/// Returns the edits of all changes, in order.
pub(super) fn build_edits(
    base: &BaseText<'_>,
    mut changes: Vec<HunkChange<'_>>,
    text: &str,
) -> Result<Vec<TextEdit>, PatchError> {
    changes.sort_by_key(|change| (change.old.start, change.old.end));
    for pair in changes.windows(2) {
        let (one, other) = (&pair[0], &pair[1]);
        let is_same_place = one.old.start == other.old.start && one.old.is_empty();
        if one.old.end > other.old.start || is_same_place && one.hunk != other.hunk {
            let line = other.old.start + 1;
            let (first, second) = (one.hunk.min(other.hunk), one.hunk.max(other.hunk));
            return Err(PatchError::Overlap { first, second, line });
        }
    }
    // The byte order mark is not part of the first line, but positions count it.
    let shift = u32::from(text.starts_with('\u{feff}'));
    let edits = changes.iter().filter_map(|change| build_edit(base, change, shift));
    Ok(edits.collect())
}

fn build_edit(base: &BaseText<'_>, change: &HunkChange<'_>, shift: u32) -> Option<TextEdit> {
    let lines = &base.lines;
    let end_of = |at: usize| lines.get(at).map(|line| split_line_end(line).1);
    let reaches_end = change.old.end == lines.len();
    let is_ended = lines.last().is_none_or(|line| split_line_end(line).1 != LineEnd::None);
    let needs_line_end = change.is_ended.unwrap_or(is_ended || lines.is_empty());
    let mut text = String::new();
    let mut usual = nearby_line_end(base, change.old.start);
    for (at, line) in change.new.iter().enumerate() {
        let own = if at < change.old.len() { end_of(change.old.start + at) } else { None };
        usual = own.filter(|end| *end != LineEnd::None).unwrap_or(usual);
        text.push_str(line);
        let is_last = reaches_end && at + 1 == change.new.len();
        if !is_last || needs_line_end {
            text.push_str(usual.as_str());
        }
    }
    let (mut start, end) =
        (line_start_position(lines, change.old.start), line_start_position(lines, change.old.end));
    let is_behind = change.old.start == lines.len() && !lines.is_empty() && !is_ended;
    if is_behind && !change.new.is_empty() {
        text.insert_str(0, usual.as_str());
    }
    // Without added lines, the line above the change becomes the last one and must lose its line
    // end.
    if reaches_end && change.new.is_empty() && change.is_ended == Some(false) {
        start = line_end_position(lines, change.old.start);
    }
    let before: String = lines.get(change.old.clone())?.concat();
    if text == before && start == line_start_position(lines, change.old.start) {
        return None;
    }
    let moved = |at: Position| match at.line {
        0 if at.character > 0 || shift == 0 => Position { character: at.character + shift, ..at },
        0 => Position { character: shift, ..at },
        _ => at,
    };
    let is_first = change.old.start == 0;
    let start = if is_first { moved(start) } else { start };
    let end = if end.line == 0 { moved(end) } else { end };
    Some(TextEdit { start, end, text })
}

/// Returns the position at the end of the line above, before its line end.
fn line_end_position(lines: &[&str], at: usize) -> Position {
    let Some(before) = at.checked_sub(1).and_then(|before| lines.get(before)) else {
        return line_start_position(lines, at);
    };
    let character = split_line_end(before).0.encode_utf16().count() as u32;
    Position { line: at as u32 - 1, character }
}

/// Returns the usual line end around a place.
fn nearby_line_end(base: &BaseText<'_>, at: usize) -> LineEnd {
    let above =
        base.lines[..at.min(base.lines.len())].iter().rev().map(|line| split_line_end(line).1);
    let below = base.lines.get(at..).unwrap_or_default().iter().map(|line| split_line_end(line).1);
    above.chain(below).find(|end| *end != LineEnd::None).unwrap_or(LineEnd::Lf)
}
