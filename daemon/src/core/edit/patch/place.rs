//! Where a hunk belongs: the ladder from exact lines to lines that are let go at its edges.
//!
//! A place is taken when it is the only one, or when it is where the hunk says; nothing is guessed.
//! What a hunk removes is never let go. Work is linear in the lines of the text for each rung.

use std::cell::OnceCell;
use std::ops::Range;

use super::super::lines::{occurrences, split_end};
use super::super::nearest::{Nearest, nearest};
use super::super::space::squeezed;
use super::parse::{Hunk, Line, Sign};
use super::{PatchError, Stage};

/// How far a hunk may stand from the line that it says.
pub(super) const MAX_OFFSET: usize = 50;

/// A text by its lines.
pub(super) struct Base<'a> {
    /// With their ends.
    pub(super) lines: Vec<&'a str>,
    /// Without.
    pub(super) contents: Vec<&'a str>,
    keys: OnceCell<Vec<std::borrow::Cow<'a, str>>>,
}

impl<'a> Base<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let contents = lines.iter().map(|line| split_end(line).0).collect();
        Self { lines, contents, keys: OnceCell::new() }
    }

    fn keys(&self) -> &[std::borrow::Cow<'a, str>] {
        self.keys.get_or_init(|| self.contents.iter().map(|line| squeezed(line)).collect())
    }
}

/// Where a hunk goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The line, from 0, of the first of its lines that is not let go.
    pub(super) at: usize,
    /// Which of its lines count: those of its edges may be let go.
    pub(super) lines: Range<usize>,
    pub(super) stage: Stage,
    /// How far from where it says, in lines.
    pub(super) offset: isize,
}

/// Some of a hunk's lines, as they are looked for.
struct Wanted<'h, 'a> {
    /// Which lines of the hunk.
    range: Range<usize>,
    /// Those that stand in the text before.
    old: Vec<&'h Line<'a>>,
    keys: Vec<std::borrow::Cow<'a, str>>,
    /// How many lines before them were let go.
    dropped: usize,
}

/// Finds the place of a hunk, the `number`th of its patch, where those before it stand `carried`
/// lines from where they say.
pub(super) fn place(
    base: &Base<'_>,
    hunk: &Hunk<'_>,
    number: usize,
    carried: isize,
) -> Result<Place, PatchError> {
    if hunk.lines.iter().all(|line| line.sign == Sign::Added) {
        return bare_insertion(base, hunk, number);
    }
    let finder = Finder { base, hunk, number, carried };
    let ends = finder.ends();
    for stage in [Stage::Exact, Stage::Whitespace, Stage::Fuzz1, Stage::Fuzz2] {
        for end in &ends {
            let Some(wanted) = finder.wanted(*end, stage) else {
                continue;
            };
            if let Some(place) = finder.find(&wanted, stage)? {
                finder.check_not_there(&place)?;
                return Ok(place);
            }
        }
        match stage {
            Stage::Exact => finder.check_not_applied(false)?,
            Stage::Whitespace => finder.check_not_applied(true)?,
            Stage::Fuzz1 | Stage::Fuzz2 => {}
        }
    }
    Err(finder.not_found())
}

/// Lines that stand for themselves: only a header can say where they go.
fn bare_insertion(base: &Base<'_>, hunk: &Hunk<'_>, number: usize) -> Result<Place, PatchError> {
    let says_so = hunk.counts.is_some_and(|(old, _)| old == 0);
    let at = match hunk.start.filter(|_| says_so) {
        Some(start) => start,
        None if hunk.is_at_end || base.lines.is_empty() => base.lines.len(),
        None => return Err(PatchError::NoPlace { hunk: number }),
    };
    if at > base.lines.len() {
        let hint = Nearest::none(format!("The script has {} lines.", base.lines.len()));
        let near = format!(" at line {at}");
        return Err(PatchError::NotFound { hunk: number, near, hint });
    }
    Ok(Place { at, lines: 0..hunk.lines.len(), stage: Stage::Exact, offset: 0 })
}

struct Finder<'f, 'b, 'a> {
    base: &'f Base<'b>,
    hunk: &'f Hunk<'a>,
    number: usize,
    carried: isize,
}

impl<'a> Finder<'_, '_, 'a> {
    /// Up to where the hunk's lines may count: blank lines at its end may be no part of it.
    fn ends(&self) -> Vec<usize> {
        let lines = &self.hunk.lines;
        let is_blank = |line: &&Line<'_>| line.sign == Sign::Context && line.text.trim().is_empty();
        let blanks = lines.iter().rev().take_while(is_blank).count();
        (0..=blanks).map(|less| lines.len() - less).collect()
    }

    /// What is looked for; none where a stage lets go of nothing more, or of too much.
    fn wanted(&self, end: usize, stage: Stage) -> Option<Wanted<'_, 'a>> {
        let lines = &self.hunk.lines[..end];
        let is_context = |line: &&Line<'_>| line.sign == Sign::Context;
        let lead = lines.iter().take_while(is_context).count();
        let tail = lines.iter().rev().take_while(is_context).count();
        let (mut front, mut back) = (0, 0);
        if let Some(fuzz) = stage.fuzz() {
            // As GNU patch has it: the side with less context is let go of later.
            let context = lead.max(tail);
            front = (fuzz + lead).saturating_sub(context).min(lead);
            back = (fuzz + tail).saturating_sub(context).min(tail);
            if front + back == 0 {
                return None;
            }
        }
        let range = front..end - back;
        let old: Vec<&Line<'a>> =
            lines.get(range.clone())?.iter().filter(|line| line.sign != Sign::Added).collect();
        // Something has to stay that tells the place from others.
        let tells = |line: &&Line<'_>| line.sign == Sign::Context && says_something(line.text);
        let is_enough = stage.fuzz().is_none()
            || old.iter().any(tells)
            || old.iter().any(|line| line.sign == Sign::Removed)
                && old.iter().any(|line| line.sign == Sign::Context);
        if old.is_empty() || !is_enough {
            return None;
        }
        let keys = if stage == Stage::Exact {
            Vec::new()
        } else {
            old.iter().map(|line| squeezed(line.text)).collect()
        };
        Some(Wanted { range, old, keys, dropped: front })
    }

    fn fits(&self, wanted: &Wanted<'_, 'a>, at: isize, stage: Stage) -> bool {
        let Ok(at) = usize::try_from(at) else {
            return false;
        };
        if stage == Stage::Exact {
            let there = self.base.contents.get(at..at + wanted.old.len());
            return there.is_some_and(|there| {
                there.iter().zip(&wanted.old).all(|(there, line)| *there == line.text)
            });
        }
        let there = self.base.keys().get(at..at + wanted.keys.len());
        there.is_some_and(|there| there == wanted.keys)
    }

    fn all(&self, wanted: &Wanted<'_, 'a>, stage: Stage) -> Vec<usize> {
        if stage == Stage::Exact {
            let texts: Vec<&str> = wanted.old.iter().map(|line| line.text).collect();
            occurrences(&self.base.contents, &texts)
        } else {
            occurrences(self.base.keys(), &wanted.keys)
        }
    }

    fn find(&self, wanted: &Wanted<'_, 'a>, stage: Stage) -> Result<Option<Place>, PatchError> {
        let place =
            |at: usize, offset| Some(Place { at, lines: wanted.range.clone(), stage, offset });
        let Some(start) = self.hunk.start else {
            let all = self.anchored(self.all(wanted, stage), wanted);
            return match all.as_slice() {
                [] => Ok(None),
                [at] => Ok(place(*at, 0)),
                _ => Err(self.several(&all, "it has no line number")),
            };
        };
        let said = (start + wanted.dropped).saturating_sub(1) as isize;
        let fits = |offset: isize| self.fits(wanted, said + offset, stage);
        if fits(0) {
            return Ok(place(said.unsigned_abs(), 0));
        }
        if stage == Stage::Exact {
            self.check_not_applied(false)?;
        }
        let is_near = |offset: isize| offset.unsigned_abs() <= MAX_OFFSET;
        if is_near(self.carried) && fits(self.carried) {
            return Ok(place((said + self.carried).unsigned_abs(), self.carried));
        }
        // Fuzz does not look far: what it would find there is too little to go by.
        let all = if stage.fuzz().is_some() {
            let around = -(MAX_OFFSET as isize)..=MAX_OFFSET as isize;
            around.filter(|it| fits(*it)).map(|it| (said + it).unsigned_abs()).collect()
        } else {
            self.all(wanted, stage)
        };
        let offset = |at: usize| at as isize - said;
        match all.as_slice() {
            [] => Ok(None),
            [at] if is_near(offset(*at)) => Ok(place(*at, offset(*at))),
            all if all.iter().any(|at| is_near(offset(*at))) => {
                Err(self.several(all, "none of them is where it says"))
            }
            [at, ..] => Err(PatchError::Stale {
                hunk: self.number,
                said: start,
                line: at + 1 - wanted.dropped.min(*at),
            }),
        }
    }

    /// The first place below the hunk's anchor, where that stands just once and is needed.
    fn anchored(&self, all: Vec<usize>, wanted: &Wanted<'_, 'a>) -> Vec<usize> {
        let Some(anchor) = self.hunk.anchor.filter(|_| all.len() > 1) else {
            return if self.hunk.is_at_end && all.len() > 1 { self.last(all, wanted) } else { all };
        };
        let anchor = squeezed(anchor);
        let mut anchors = (0..).zip(self.base.keys()).filter(|(_, key)| **key == anchor);
        let (Some((line, _)), None) = (anchors.next(), anchors.next()) else {
            return all;
        };
        match all.iter().find(|at| **at > line) {
            Some(at) => vec![*at],
            None => all,
        }
    }

    /// Those places behind which the text ends.
    fn last(&self, all: Vec<usize>, wanted: &Wanted<'_, 'a>) -> Vec<usize> {
        let end = self.base.lines.len();
        let last: Vec<usize> =
            all.iter().copied().filter(|at| at + wanted.old.len() == end).collect();
        if last.is_empty() { all } else { last }
    }

    fn several(&self, all: &[usize], why: &'static str) -> PatchError {
        let lines = all.iter().map(|at| at + 1).collect();
        PatchError::FitsSeveral { hunk: self.number, lines, why }
    }

    /// The lines after the change.
    fn new_lines(&self) -> Vec<&'a str> {
        let new = self.hunk.lines.iter().filter(|line| line.sign != Sign::Removed);
        new.map(|line| line.text).collect()
    }

    /// Refuses a hunk whose lines after the change stand where it says, or anywhere where it does
    /// not say: it was applied before, or is the other way round.
    ///
    /// What only removes lines leaves little to tell that by, so that it counts when nothing else is
    /// left but fuzz.
    fn check_not_applied(&self, also_removals: bool) -> Result<(), PatchError> {
        let new = self.new_lines();
        let lines = &self.hunk.lines;
        let adds = lines.iter().any(|line| line.sign == Sign::Added);
        let is_within = also_removals && self.hunk.start.is_some()
            || lines.first().is_some_and(|line| line.sign == Sign::Context)
                && lines.last().is_some_and(|line| line.sign == Sign::Context);
        if !new.iter().any(|line| says_something(line)) || !(adds || is_within) {
            return Ok(());
        }
        let at = match self.hunk.start {
            Some(start) => {
                let said = start.saturating_sub(1) as isize;
                let mut places = [said, said + self.carried].into_iter();
                places.find_map(|at| {
                    let at = usize::try_from(at).ok()?;
                    let there = self.base.contents.get(at..at + new.len())?;
                    (there == new).then_some(at)
                })
            }
            None => occurrences(&self.base.contents, &new).first().copied(),
        };
        match at {
            Some(at) => Err(PatchError::AlreadyThere { hunk: self.number, line: at + 1 }),
            None => Ok(()),
        }
    }

    /// Refuses lines that go below others, with nothing said of what stands below, where they stand
    /// there.
    fn check_not_there(&self, place: &Place) -> Result<(), PatchError> {
        let lines = &self.hunk.lines[place.lines.clone()];
        let added = lines.iter().rev().take_while(|line| line.sign == Sign::Added);
        let mut added: Vec<&str> = added.map(|line| line.text).collect();
        added.reverse();
        let removes = lines.iter().any(|line| line.sign == Sign::Removed);
        let old = lines.iter().filter(|line| line.sign != Sign::Added).count();
        let below = self.base.contents.get(place.at + old..).unwrap_or_default();
        if !removes && !added.is_empty() && below.starts_with(&added) {
            let line = place.at + old + 1;
            return Err(PatchError::AlreadyThere { hunk: self.number, line });
        }
        Ok(())
    }

    fn not_found(&self) -> PatchError {
        if let Some(line) = self.hunk.lines.iter().find(|line| {
            line.is_bare && !line.text.is_empty() && !self.base.contents.contains(&line.text)
        }) {
            return PatchError::NoSign { line: line.number, text: line.text.to_owned() };
        }
        let old = self.hunk.lines.iter().filter(|line| line.sign != Sign::Added);
        let old: Vec<&str> = old.map(|line| line.text).collect();
        let near = match self.hunk.start {
            Some(start) => format!(" at line {start} or within {MAX_OFFSET} lines of it"),
            None => String::new(),
        };
        let hint = nearest(&self.base.contents.join("\n"), &old.join("\n"));
        PatchError::NotFound { hunk: self.number, near, hint }
    }
}

fn says_something(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}
