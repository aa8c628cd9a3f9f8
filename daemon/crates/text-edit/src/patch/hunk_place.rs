//! Placement of hunks, in stages from exact lines to dropping lines of context.
//!
//! A place is accepted if it is the only one, or if it is at the line in the header; nothing is
//! guessed. Lines that a hunk removes are never dropped. The work of each stage is linear in the
//! number of lines of the text.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::ops::Range;

use super::super::lines::{NumberedLines, split_line_end, split_lines};
use super::super::nearest_text::{NearestText, find_nearest};
use super::super::whitespace::{MAX_LOOSE_BYTES, collapse_whitespace};
use super::parse::{HunkLine, LineSign, PatchHunk};
use super::{MatchStage, PatchError};

/// The maximum distance of a hunk from the line in its header.
pub(super) const MAX_OFFSET: usize = 50;

/// The maximum number of hunks without a known place that are searched line by line, without an
/// index.
const MAX_SCANNED_HUNKS: usize = 3;

/// A text as lines.
pub(super) struct BaseText<'a> {
    pub(super) lines: Vec<&'a str>,
    contents: OnceCell<Vec<&'a str>>,
    /// Whether the text is too long for anything but exact matches.
    is_long: bool,
    /// The lines with normalized white space.
    keys: OnceCell<Vec<Cow<'a, str>>>,
}

/// The indexes of the lines of a text: of the exact lines, and of their keys. They are built when a
/// hunk is not at the line in its header, and shared by all hunks.
pub(super) struct BaseIndexes<'i, 'a> {
    base: &'i BaseText<'a>,
    exact: OnceCell<NumberedLines<'i>>,
    keys: OnceCell<NumberedLines<'i>>,
}

impl<'i, 'a> BaseIndexes<'i, 'a> {
    pub(super) fn new(base: &'i BaseText<'a>) -> Self {
        Self { base, exact: OnceCell::new(), keys: OnceCell::new() }
    }

    fn exact_lines(&self) -> &NumberedLines<'i> {
        self.exact.get_or_init(|| NumberedLines::from_lines(self.base.line_contents()))
    }

    fn key_lines(&self) -> &NumberedLines<'i> {
        self.keys.get_or_init(|| NumberedLines::from_lines(self.base.line_keys()))
    }
}

impl<'a> BaseText<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let is_long = text.len() > MAX_LOOSE_BYTES;
        Self { lines: split_lines(text), is_long, contents: OnceCell::new(), keys: OnceCell::new() }
    }

    /// Returns the lines without their line ends.
    pub(super) fn line_contents(&self) -> &[&'a str] {
        self.contents.get_or_init(|| self.lines.iter().map(|line| split_line_end(line).0).collect())
    }

    fn line_keys(&self) -> &[Cow<'a, str>] {
        self.keys.get_or_init(|| {
            self.line_contents().iter().map(|line| collapse_whitespace(line)).collect()
        })
    }
}

/// The place of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HunkPlace {
    /// The line of the text, from 0, of the first hunk line that is not dropped.
    pub(super) at: usize,
    /// The lines of the hunk that count; lines of context at its ends may be dropped.
    pub(super) lines: Range<usize>,
    pub(super) stage: MatchStage,
    /// The distance from the line in the header, in lines.
    pub(super) offset: isize,
    /// The reason for this choice, if the hunk fits another place too.
    pub(super) doubt: Option<&'static str>,
}

/// What the earlier hunks imply about the place of a hunk.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HunkDrift {
    /// The offset of the previous hunk from the line in its header, in lines.
    pub(super) offset: isize,
    /// The line of the text, from 0, after the previous hunk; 0 if the two hunks are not in order.
    pub(super) floor: usize,
}

const FITS_LINE_NUMBER_NOTE: &str =
    "a hunk follows the drift of the one before it, and fits at its own line number too";
const BELOW_PREVIOUS_NOTE: &str =
    "a hunk fits in several places, of which one is below the hunk before it";

/// Some lines of a hunk that are searched for.
struct WantedLines {
    /// The range of the lines in the hunk.
    range: Range<usize>,
    /// The number of these lines that belong to the old text.
    count: usize,
    /// The number of lines that were dropped before them.
    dropped: usize,
}

/// The positions of a hunk's first line, each with the number of its lines that match from there.
struct PrefixMatches {
    places: Vec<(usize, usize)>,
    longest: usize,
}

impl PrefixMatches {
    fn find_prefixes(index: &NumberedLines<'_>, wanted: &[Option<u32>]) -> Self {
        let places = index.longest_prefixes(wanted);
        let longest = places.iter().map(|(_, count)| *count).max().unwrap_or(0);
        Self { places, longest }
    }

    /// Returns the positions at which at least `count` lines match.
    fn full_matches(&self, count: usize) -> Vec<usize> {
        if count > self.longest {
            return Vec::new();
        }
        self.places.iter().filter(|(_, matched)| *matched >= count).map(|(at, _)| *at).collect()
    }

    /// Returns those of them that are in a range.
    fn matches_within(&self, count: usize, range: Range<isize>) -> impl Iterator<Item = usize> {
        let from = self.places.partition_point(|(at, _)| (*at as isize) < range.start);
        let places = if count > self.longest { &[] } else { &self.places[from..] };
        let near = places.iter().take_while(move |(at, _)| (*at as isize) < range.end);
        near.filter(move |(_, matched)| *matched >= count).map(|(at, _)| *at)
    }
}

/// Finds the place of a hunk, which is the `number`th of its patch.
pub(super) fn find_place(
    indexes: &BaseIndexes<'_, '_>,
    hunk: &PatchHunk<'_>,
    number: usize,
    drift: HunkDrift,
) -> Result<HunkPlace, PatchError> {
    let base = indexes.base;
    if let Some(count) = count_added_only(base, hunk) {
        return place_insertion(base, hunk, number, count);
    }
    let mut finder = PlaceFinder::new(indexes, hunk, number, drift);
    if let Some(place) = finder.find_verbatim()? {
        finder.check_not_below(&place)?;
        return Ok(place);
    }
    let ends = finder.possible_ends();
    let stages = [MatchStage::Exact, MatchStage::Whitespace, MatchStage::Fuzz1, MatchStage::Fuzz2];
    for stage in stages.into_iter().take(if base.is_long { 1 } else { stages.len() }) {
        for end in &ends {
            let Some(wanted) = finder.wanted_lines(*end, stage) else {
                continue;
            };
            finder.search_stage(wanted.dropped, stage);
            if let Some(place) = finder.find_at_stage(&wanted, stage)? {
                finder.check_not_below(&place)?;
                return Ok(place);
            }
        }
        match stage {
            MatchStage::Exact => finder.check_not_applied(false)?,
            MatchStage::Whitespace => finder.check_not_applied(true)?,
            MatchStage::Fuzz1 | MatchStage::Fuzz2 => {}
        }
    }
    Err(finder.not_found_error())
}

/// Returns the number of lines of a hunk that only adds lines; None for other hunks. Blank lines at
/// its end are ignored if the hunk cannot have context.
fn count_added_only(base: &BaseText<'_>, hunk: &PatchHunk<'_>) -> Option<usize> {
    let is_blank = |line: &&HunkLine<'_>| line.is_bare && line.text.is_empty();
    let blanks = hunk.lines.iter().rev().take_while(is_blank).count();
    let added = &hunk.lines[..hunk.lines.len() - blanks];
    let has_none = base.lines.is_empty() || hunk.header_counts.is_some_and(|(old, _)| old == 0);
    let is_alone =
        added.iter().all(|line| line.sign == LineSign::Added) && (blanks == 0 || has_none);
    (is_alone && !added.is_empty()).then_some(added.len())
}

/// Places a hunk without context: at the line in its header, or at the end of the text if the hunk
/// is marked so or the text is empty.
fn place_insertion(
    base: &BaseText<'_>,
    hunk: &PatchHunk<'_>,
    number: usize,
    count: usize,
) -> Result<HunkPlace, PatchError> {
    let has_no_old_lines = hunk.header_counts.is_some_and(|(old, _)| old == 0);
    let at = match hunk.start.filter(|_| has_no_old_lines) {
        Some(start) => start,
        None if hunk.is_at_end || base.lines.is_empty() => base.lines.len(),
        None => return Err(PatchError::NoPlace { hunk: number }),
    };
    if at > base.lines.len() {
        let n = base.lines.len();
        let lines = if n == 1 { "line" } else { "lines" };
        let hint = NearestText::without_line(format!("The script has {n} {lines}."));
        let near = format!(" at line {at}");
        return Err(PatchError::NotFound { hunk: number, near, hint });
    }
    Ok(HunkPlace { at, lines: 0..count, stage: MatchStage::Exact, offset: 0, doubt: None })
}

struct PlaceFinder<'f, 'i, 'b, 'a> {
    indexes: &'f BaseIndexes<'i, 'b>,
    base: &'f BaseText<'b>,
    hunk: &'f PatchHunk<'a>,
    number: usize,
    drift: HunkDrift,
    /// The number of lines of context at the start and at the end.
    leading_context: usize,
    trailing_context: usize,
    /// For each line of the hunk, the sums up to it: lines of the old text, significant lines of
    /// context, removed lines, and lines of context.
    sums: Vec<PrefixSums>,
    /// The matches by kind of comparison (exact or by key) and number of dropped lines at the
    /// start.
    prefix_matches: [[Option<PrefixMatches>; 3]; 2],
    /// The two indices into `prefix_matches` of the current search.
    current_search: (usize, usize),
}

#[derive(Clone, Copy, Default)]
struct PrefixSums {
    old: usize,
    significant: usize,
    removed: usize,
    context: usize,
}

impl<'f, 'i, 'b, 'a> PlaceFinder<'f, 'i, 'b, 'a> {
    fn new(
        indexes: &'f BaseIndexes<'i, 'b>,
        hunk: &'f PatchHunk<'a>,
        number: usize,
        drift: HunkDrift,
    ) -> Self {
        let is_context = |line: &&HunkLine<'_>| line.sign == LineSign::Context;
        let lines = &hunk.lines;
        Self {
            indexes,
            base: indexes.base,
            hunk,
            number,
            drift,
            leading_context: lines.iter().take_while(is_context).count(),
            trailing_context: lines.iter().rev().take_while(is_context).count(),
            sums: Vec::new(),
            prefix_matches: Default::default(),
            current_search: (0, 0),
        }
    }

    /// Finds the place of a hunk whose lines all match exactly: at the line in its header, at the
    /// drift of the earlier hunks, or in exactly one place of the text. Most hunks do, and need no
    /// index.
    fn find_verbatim(&self) -> Result<Option<HunkPlace>, PatchError> {
        let lines = &self.hunk.lines;
        let old = lines.iter().filter(|line| line.sign != LineSign::Added);
        let old: Vec<&str> = old.map(|line| line.text).collect();
        // Limits the work: a long hunk may almost fit everywhere.
        let steps = Cell::new(4 * self.base.lines.len().max(old.len()));
        let fits = |at: isize| {
            let there = self.base.lines.get(usize::try_from(at).ok()?..)?;
            let mut there = there.iter().map(|line| split_line_end(line).0);
            let mut old = old.iter();
            old.all(|line| {
                steps.set(steps.get().saturating_sub(1));
                steps.get() > 0 && there.next() == Some(*line)
            })
            .then_some(at)
        };
        let place = |at: isize, offset| {
            let lines = 0..lines.len();
            Some(HunkPlace {
                at: at.unsigned_abs(),
                lines,
                stage: MatchStage::Exact,
                offset,
                doubt: None,
            })
        };
        // For many hunks, an index is faster.
        let only = || {
            if self.number > MAX_SCANNED_HUNKS {
                return None;
            }
            let mut places = (0..self.base.lines.len() as isize).filter_map(&fits);
            let first = places.next()?;
            let is_only = places.next().is_none();
            Some(first).filter(|_| is_only && steps.get() > 0)
        };
        let Some(start) = self.hunk.start else {
            let is_plain = self.hunk.anchor.is_none() && !self.hunk.is_at_end;
            let found = if is_plain { only() } else { None };
            return Ok(found.and_then(|at| place(at, 0)));
        };
        let header_index = start.saturating_sub(1) as isize;
        let drifted = || {
            let at = fits(header_index + self.near_drift()?)?;
            place(at, self.drift.offset)
        };
        if let Some(at) = fits(header_index) {
            let doubt = Some(FITS_LINE_NUMBER_NOTE);
            let drifted = drifted().map(|drifted| HunkPlace { doubt, ..drifted });
            return Ok(drifted.or_else(|| place(at, 0)));
        }
        self.check_not_applied(false)?;
        if let Some(drifted) = drifted() {
            return Ok(Some(drifted));
        }
        let is_near = |offset: isize| offset.unsigned_abs() <= MAX_OFFSET;
        let found = only().filter(|at| is_near(at - header_index));
        Ok(found.and_then(|at| place(at, at - header_index)))
    }

    /// Returns the drift that this hunk has if it drifts like the previous one. None if there is no
    /// drift, or if it is too large.
    fn near_drift(&self) -> Option<isize> {
        let offset = self.drift.offset;
        Some(offset).filter(|offset| *offset != 0 && offset.unsigned_abs() <= MAX_OFFSET)
    }

    /// Searches for the lines of the hunk without the first `dropped` ones, unless this was done
    /// already.
    fn search_stage(&mut self, dropped: usize, stage: MatchStage) {
        let by_key = usize::from(stage != MatchStage::Exact);
        self.current_search = (by_key, dropped);
        let slot = &mut self.prefix_matches[by_key][dropped];
        if slot.is_some() {
            return;
        }
        let lines = self.hunk.lines[dropped..].iter().filter(|line| line.sign != LineSign::Added);
        let agreeing = if stage == MatchStage::Exact {
            let index = self.indexes.exact_lines();
            let wanted: Vec<_> = lines.map(|line| index.number_of(line.text)).collect();
            PrefixMatches::find_prefixes(index, &wanted)
        } else {
            let index = self.indexes.key_lines();
            let wanted: Vec<_> =
                lines.map(|line| index.number_of(&collapse_whitespace(line.text))).collect();
            PrefixMatches::find_prefixes(index, &wanted)
        };
        *slot = Some(agreeing);
    }

    fn stage_matches(&self) -> Option<&PrefixMatches> {
        let (by_key, dropped) = self.current_search;
        self.prefix_matches[by_key][dropped].as_ref()
    }

    /// Returns the possible ends of the hunk: blank lines at its end may not be part of it.
    fn possible_ends(&mut self) -> Vec<usize> {
        let lines = &self.hunk.lines;
        let mut sum = PrefixSums::default();
        self.sums = vec![sum];
        self.sums.extend(lines.iter().map(|line| {
            let is_context = line.sign == LineSign::Context;
            sum.old += usize::from(line.sign != LineSign::Added);
            sum.removed += usize::from(line.sign == LineSign::Removed);
            sum.context += usize::from(is_context);
            sum.significant += usize::from(is_context && has_alphanumeric(line.text));
            sum
        }));
        let is_blank = |line: &&HunkLine<'_>| line.is_bare && line.text.is_empty();
        let blanks = lines.iter().rev().take_while(is_blank).count();
        (0..=blanks).map(|less| lines.len() - less).collect()
    }

    /// Returns the lines to search for. None if the stage drops nothing more, or too much.
    fn wanted_lines(&self, end: usize, stage: MatchStage) -> Option<WantedLines> {
        let (mut front, mut back) = (0, 0);
        if let Some(fuzz) = stage.fuzz_level() {
            let lead = self.leading_context.min(end);
            // Lines that were cut off at the end are context too.
            let tail = self.trailing_context.saturating_sub(self.hunk.lines.len() - end);
            // Like GNU patch, start later to drop lines on the side with less context.
            let context = lead.max(tail);
            front = (fuzz + lead).saturating_sub(context).min(lead);
            back = (fuzz + tail).saturating_sub(context).min(tail);
            if front + back == 0 {
                return None;
            }
        }
        let range = front..end.checked_sub(back).filter(|end| front <= *end)?;
        let (before, sum) = (self.sums.get(range.start)?, self.sums.get(range.end)?);
        // Lines that distinguish the place from others must remain.
        let is_blank =
            |line: &HunkLine<'_>| line.sign == LineSign::Added || line.text.trim().is_empty();
        if stage != MatchStage::Exact && self.hunk.lines[range.clone()].iter().all(is_blank) {
            return None;
        }
        let is_enough = stage.fuzz_level().is_none()
            || sum.significant > before.significant
            || sum.removed > before.removed && sum.context > before.context;
        let count = sum.old - before.old;
        if count == 0 || !is_enough {
            return None;
        }
        Some(WantedLines { range, count, dropped: front })
    }

    fn find_at_stage(
        &self,
        wanted: &WantedLines,
        stage: MatchStage,
    ) -> Result<Option<HunkPlace>, PatchError> {
        let Some(agreeing) =
            self.stage_matches().filter(|agreeing| wanted.count <= agreeing.longest)
        else {
            return Ok(None);
        };
        let place = |at: usize, offset| {
            Some(HunkPlace { at, lines: wanted.range.clone(), stage, offset, doubt: None })
        };
        let Some(start) = self.hunk.start else {
            let all = self.filter_below_anchor(agreeing.full_matches(wanted.count), wanted);
            return match all.as_slice() {
                [] => Ok(None),
                [at] => Ok(place(*at, 0)),
                _ => Err(self.ambiguity_error(&all, "it has no line number")),
            };
        };
        let header_index = (start + wanted.dropped).saturating_sub(1) as isize;
        let fits = |offset: isize| {
            let at = header_index + offset;
            agreeing.matches_within(wanted.count, at..at + 1).next().is_some()
        };
        let drifted = || {
            let offset = self.near_drift().filter(|offset| fits(*offset))?;
            place((header_index + offset).unsigned_abs(), offset)
        };
        if fits(0) {
            let doubt = Some(FITS_LINE_NUMBER_NOTE);
            let drifted = drifted().map(|drifted| HunkPlace { doubt, ..drifted });
            return Ok(drifted.or_else(|| place(header_index.unsigned_abs(), 0)));
        }
        if stage == MatchStage::Exact {
            self.check_not_applied(false)?;
        }
        if let Some(drifted) = drifted() {
            return Ok(Some(drifted));
        }
        let is_near = |offset: isize| offset.unsigned_abs() <= MAX_OFFSET;
        // Fuzzy matches only count nearby; farther away they are too weak as evidence.
        let max = MAX_OFFSET as isize;
        let all: Vec<usize> = match stage.fuzz_level() {
            Some(_) => agreeing
                .matches_within(wanted.count, header_index - max..header_index + max + 1)
                .collect(),
            None => agreeing.full_matches(wanted.count),
        };
        let offset = |at: usize| at as isize - header_index;
        match all.as_slice() {
            [] => Ok(None),
            [at] if is_near(offset(*at)) => Ok(place(*at, offset(*at))),
            all if all.iter().any(|at| is_near(offset(*at))) => {
                // The hunks of a diff are in order.
                let below = &all[all.partition_point(|at| *at < self.drift.floor)..];
                match below {
                    [at] if is_near(offset(*at)) => {
                        let found = place(*at, offset(*at));
                        Ok(found
                            .map(|found| HunkPlace { doubt: Some(BELOW_PREVIOUS_NOTE), ..found }))
                    }
                    _ => Err(self.ambiguity_error(all, "none of them is where it says")),
                }
            }
            [at, ..] => Err(PatchError::Stale {
                hunk: self.number,
                said: start,
                line: at + 1 - wanted.dropped.min(*at),
            }),
        }
    }

    /// Returns the first place below the hunk's anchor, if the anchor occurs exactly once and is
    /// needed.
    fn filter_below_anchor(&self, all: Vec<usize>, wanted: &WantedLines) -> Vec<usize> {
        let Some(anchor) = self.hunk.anchor.filter(|_| all.len() > 1) else {
            return if self.hunk.is_at_end && all.len() > 1 {
                self.filter_at_end(all, wanted)
            } else {
                all
            };
        };
        let index = self.indexes.key_lines();
        let anchors =
            index.number_of(&collapse_whitespace(anchor)).map(|number| index.positions_of(number));
        let Some([line]) = anchors else {
            return all;
        };
        match all.iter().find(|at| **at > *line as usize) {
            Some(at) => vec![*at],
            None => all,
        }
    }

    /// Returns the places at the end of the text, if there are any.
    fn filter_at_end(&self, all: Vec<usize>, wanted: &WantedLines) -> Vec<usize> {
        let end = self.base.lines.len();
        let last: Vec<usize> = all.iter().copied().filter(|at| at + wanted.count == end).collect();
        if last.is_empty() { all } else { last }
    }

    fn ambiguity_error(&self, all: &[usize], why: &'static str) -> PatchError {
        let lines = all.iter().map(|at| at + 1).collect();
        PatchError::FitsSeveral { hunk: self.number, lines, why }
    }

    /// Returns the lines of the hunk after the change.
    fn new_lines(&self) -> Vec<&'a str> {
        let new = self.hunk.lines.iter().filter(|line| line.sign != LineSign::Removed);
        new.map(|line| line.text).collect()
    }

    /// Refuses a hunk whose resulting lines are already at the line in its header, or anywhere if
    /// it has no line number: it was applied before, or is reversed.
    ///
    /// A hunk that only removes lines has few resulting lines to compare. It is refused only if the
    /// text ends there, or once nothing but fuzzy matching is left.
    fn check_not_applied(&self, also_removals: bool) -> Result<(), PatchError> {
        let new = self.new_lines();
        let lines = &self.hunk.lines;
        let adds = lines.iter().any(|line| line.sign == LineSign::Added);
        let is_within = also_removals && self.hunk.start.is_some()
            || lines.first().is_some_and(|line| line.sign == LineSign::Context)
                && lines.last().is_some_and(|line| line.sign == LineSign::Context);
        let is_distinct =
            self.hunk.start.is_some() || new.iter().any(|line| has_alphanumeric(line));
        if !is_distinct || !(adds || is_within || self.hunk.start.is_some()) {
            return Ok(());
        }
        let at = if let Some(start) = self.hunk.start {
            let header_index = start.saturating_sub(1) as isize;
            let mut places = [header_index, header_index + self.drift.offset].into_iter();
            places.find_map(|at| {
                let at = usize::try_from(at).ok()?;
                let end = at + new.len();
                let there = self.base.lines.get(at..end)?;
                if !adds && !is_within && end < self.base.lines.len() {
                    return None;
                }
                let mut both = there.iter().zip(&new);
                both.all(|(there, new)| split_line_end(there).0 == *new).then_some(at)
            })
        } else {
            let index = self.indexes.exact_lines();
            let wanted: Vec<_> = new.iter().map(|line| index.number_of(line)).collect();
            PrefixMatches::find_prefixes(index, &wanted).full_matches(new.len()).first().copied()
        };
        match at {
            Some(at) => Err(PatchError::AlreadyThere { hunk: self.number, line: at + 1 }),
            None => Ok(()),
        }
    }

    /// Refuses a hunk that adds lines at its end, below lines of context, if the text has the same
    /// lines there already.
    fn check_not_below(&self, place: &HunkPlace) -> Result<(), PatchError> {
        let lines = &self.hunk.lines[place.lines.clone()];
        let added = lines.iter().rev().take_while(|line| line.sign == LineSign::Added);
        let mut added: Vec<&str> = added.map(|line| line.text).collect();
        added.reverse();
        let removes = lines.iter().any(|line| line.sign == LineSign::Removed);
        let old = lines.iter().filter(|line| line.sign != LineSign::Added).count();
        let below = self.base.lines.get(place.at + old..).unwrap_or_default();
        let mut both = below.iter().zip(&added);
        let is_present =
            below.len() >= added.len() && both.all(|(it, new)| split_line_end(it).0 == *new);
        if !removes && !added.is_empty() && is_present {
            let line = place.at + old + 1;
            return Err(PatchError::AlreadyThere { hunk: self.number, line });
        }
        Ok(())
    }

    fn not_found_error(&self) -> PatchError {
        if let Some(line) = self.hunk.lines.iter().find(|line| {
            line.is_bare
                && !line.text.is_empty()
                && self.indexes.exact_lines().number_of(line.text).is_none()
        }) {
            return PatchError::NoSign { line: line.number, text: line.text.to_owned() };
        }
        let old = self.hunk.lines.iter().filter(|line| line.sign != LineSign::Added);
        let old: Vec<&str> = old.map(|line| line.text).collect();
        let near = match self.hunk.start {
            Some(start) => format!(" at line {start} or within {MAX_OFFSET} lines of it"),
            None => String::new(),
        };
        let hint = find_nearest(&self.base.line_contents().join("\n"), &old.join("\n"));
        PatchError::NotFound { hunk: self.number, near, hint }
    }
}

fn has_alphanumeric(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}
