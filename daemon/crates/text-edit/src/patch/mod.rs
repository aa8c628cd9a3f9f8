//! Patches: unified diffs, and the envelope format of `apply_patch`.
//!
//! Models describe the content of a change well and its place badly: line numbers are wrong, blank
//! lines lack their sign, and prose surrounds the patch. First [`clean`] removes what cannot be
//! part of a patch. Then [`hunk_place`] finds the place of each hunk by its lines, and the hunks
//! become range edits. If a hunk fits nowhere or in several places, the patch is refused. A hunk is
//! never placed by similarity.
//!
//! The text keeps its line ends, line by line, whatever the patch has. It also keeps the end of its
//! last line, or the lack of one, unless the patch says otherwise.

mod clean;
mod envelope;
mod error;
mod hunk_edits;
mod hunk_place;
mod parse;
#[cfg(test)]
mod tests;

use scene_schemas::text::TextEdit;

pub use envelope::{FileChange, apply_to_files};
pub use error::PatchError;

use self::clean::CleanPatch;
use self::hunk_edits::HunkChange;
use self::hunk_place::{BaseIndexes, BaseText, HunkDrift};
use self::parse::{FileAction, FilePatch, LineSign};
use super::elision::find_elision;
use super::whitespace::{has_invisible, strip_invisible};

/// The number of context lines after the last change of a complete hunk.
const FULL_CONTEXT: usize = 3;
/// The maximum error of the line counts in a header.
const MAX_MISCOUNT: usize = 3;

const ENTITIES_NOTE: &str = "it has entities of XML where the script has the characters themselves";
const END_MISMATCH_NOTE: &str =
    "its `\\ No newline at end of file` does not agree with where the script ends";

/// The maximum offset, in lines, that needs no review.
const MAX_SURE_OFFSET: usize = 10;

/// The tolerance that was needed for a patch to fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MatchStage {
    Exact,
    Whitespace,
    /// One outermost line of context was dropped.
    Fuzz1,
    Fuzz2,
}

impl MatchStage {
    /// Returns the name: `exact`, `whitespace`, `fuzz1` or `fuzz2`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Whitespace => "whitespace",
            Self::Fuzz1 => "fuzz1",
            Self::Fuzz2 => "fuzz2",
        }
    }

    fn fuzz_level(self) -> Option<usize> {
        match self {
            Self::Exact | Self::Whitespace => None,
            Self::Fuzz1 => Some(1),
            Self::Fuzz2 => Some(2),
        }
    }
}

/// The result of applying a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchResult {
    /// Sorted edits over the original text.
    pub edits: Vec<TextEdit>,
    /// The highest stage that any hunk needed.
    pub stage: MatchStage,
    /// The greatest offset of a hunk from the line in its header, in lines; negative if the hunk
    /// fits above it.
    pub offset: isize,
    /// Whether the result needs a review: because of a stage above the first, an offset over 10
    /// lines, or repaired lines.
    pub should_review: bool,
    /// Further reasons for a review, in words.
    pub notes: Vec<&'static str>,
}

impl PatchResult {
    /// Wraps edits that needed no tolerance.
    pub fn from_exact(edits: Vec<TextEdit>) -> Self {
        Self { edits, stage: MatchStage::Exact, offset: 0, should_review: false, notes: Vec::new() }
    }

    /// Requests a review for a reason.
    fn add_doubt(&mut self, note: &'static str) {
        self.should_review = true;
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Returns the reasons for a review, one by one; empty if none is needed.
    pub fn list_doubts(&self) -> Vec<String> {
        let stage = match self.stage {
            MatchStage::Exact => None,
            MatchStage::Whitespace => Some("it fits but for white space"),
            MatchStage::Fuzz1 => Some("an outermost line of its context differs"),
            MatchStage::Fuzz2 => Some("the two outermost lines of its context differ"),
        };
        let away = self.offset.unsigned_abs();
        let offset =
            (away > MAX_SURE_OFFSET).then(|| format!("it is {away} lines from where it says"));
        let mut doubts: Vec<String> = stage.map(str::to_owned).into_iter().chain(offset).collect();
        doubts.extend(self.notes.iter().map(|note| (*note).to_owned()));
        if doubts.is_empty() && self.should_review {
            doubts.push("lines of it had to be repaired".to_owned());
        }
        doubts
    }
}

/// Applies a patch to a text.
///
/// `targets` are the names of the text. If there are any, and the headers of the patch name a file,
/// that name must be one of them.
///
/// # Errors
/// Fails if the patch is not for this text or does not fit. Nothing of it is applied then.
pub fn apply_patch(text: &str, patch: &str, targets: &[&str]) -> Result<PatchResult, PatchError> {
    let Some(entity) = suspected_entity(text, patch) else {
        return place_hunks(text, patch, targets);
    };
    // The entities may be intended, because a script can contain XML. If they are not, the lines do
    // not fit.
    match place_hunks(text, patch, targets) {
        Ok(mut patched) if patched.stage == MatchStage::Exact => {
            patched.add_doubt(ENTITIES_NOTE);
            Ok(patched)
        }
        _ => Err(PatchError::Entities { entity }),
    }
}

/// Finds the place of each hunk of a patch.
fn place_hunks(text: &str, patch: &str, targets: &[&str]) -> Result<PatchResult, PatchError> {
    let cleaned;
    let (base, mut source) = (BaseText::new(strip_bom(text)), patch);
    let is_tainted = has_invisible(patch);
    if is_tainted {
        // The invisible characters may be intended. If they are not, the patch does not fit with
        // them.
        let exact =
            parse_single(source, targets).and_then(|file| apply_file_patch(&base, &file, text));
        match exact {
            Ok(patched) if patched.stage == MatchStage::Exact => return Ok(patched),
            _ => cleaned = strip_all_invisible(patch),
        }
        source = &cleaned;
    }
    let file = parse_single(source, targets)?;
    let mut patched = apply_file_patch(&base, &file, text)?;
    let is_added = |line: &str| line.starts_with('+') && has_invisible(line);
    patched.should_review |= is_tainted && patch.lines().any(is_added);
    Ok(patched)
}

/// Removes a byte order mark, which is not part of the first line of a file.
fn strip_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn strip_all_invisible(patch: &str) -> String {
    patch.split_inclusive('\n').map(strip_invisible).collect()
}

/// Parses a patch that must concern only one text.
fn parse_single<'a>(patch: &'a str, targets: &[&str]) -> Result<FilePatch<'a>, PatchError> {
    let clean: CleanPatch<'a> = clean::clean_patch(patch)?;
    let mut files = parse::parse_patch(&clean)?;
    let mut names: Vec<String> =
        files.iter().filter_map(FilePatch::name).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    if names.len() > 1 {
        return Err(PatchError::SeveralFiles { names });
    }
    let mut file = files.remove(0);
    for other in files {
        file.hunks.extend(other.hunks);
    }
    check_action(&file)?;
    check_target(&file, targets)?;
    if file.hunks.is_empty() {
        return Err(PatchError::NoHunks);
    }
    Ok(file)
}

fn check_action(file: &FilePatch<'_>) -> Result<(), PatchError> {
    let is_null = |name: &Option<_>| name.as_deref() == Some("/dev/null");
    let create = "Use create_instance for a new script, or a diff against its text as it is.";
    let (what, instead) = match file.action {
        FileAction::Delete => ("deletes", "Use delete_instance for that."),
        _ if is_null(&file.new) => ("deletes", "Use delete_instance for that."),
        _ if is_null(&file.old) => ("creates", create),
        _ if file.renamed_to.is_some() => ("renames", "Use rename_instance for that."),
        _ => return Ok(()),
    };
    Err(PatchError::NotAnUpdate { what, instead })
}

/// Checks that the file named in the headers is the target. Two different names come from a
/// comparison of two files, and neither has to be the target.
fn check_target(file: &FilePatch<'_>, targets: &[&str]) -> Result<(), PatchError> {
    let (Some(target), Some(name)) = (targets.first(), file.name()) else {
        return Ok(());
    };
    let is_one = file.old.is_none() || file.new.is_none() || file.old == file.new;
    if !is_one || is_placeholder(name) || targets.iter().any(|target| is_same_file(name, target)) {
        return Ok(());
    }
    Err(PatchError::OtherTarget { name: name.to_owned(), target: (*target).to_owned() })
}

/// Whether a name is a placeholder for any file.
fn is_placeholder(name: &str) -> bool {
    matches!(
        name,
        "a" | "b"
            | "old"
            | "new"
            | "original"
            | "modified"
            | "before"
            | "after"
            | "file"
            | "script"
            | "source"
            | "Source"
    )
}

/// Whether the ends of two file names are the same. One may have more folders than the other, and
/// one may have the suffixes of a script file.
fn is_same_file(name: &str, target: &str) -> bool {
    let mut names = name.trim_start_matches("./").rsplit('/');
    let mut targets = target.trim_start_matches("./").rsplit('/');
    let (Some(last), Some(other)) = (names.next(), targets.next()) else {
        return false;
    };
    let is_same = last == other
        || file_stem(last).is_some_and(|last| last == other)
        || file_stem(other).is_some_and(|other| last == other);
    is_same && names.zip(targets).all(|(one, other)| one == other)
}

fn file_stem(file: &str) -> Option<&str> {
    let stem = file.strip_suffix(".luau").or_else(|| file.strip_suffix(".lua"))?;
    let kinds = [".server", ".client", ".plugin"];
    Some(kinds.iter().find_map(|kind| stem.strip_suffix(kind)).unwrap_or(stem))
}

/// Returns an entity of the patch if the patch seems to be escaped as XML: it has entities and no
/// angle brackets, while the text has angle brackets and no entities.
fn suspected_entity(text: &str, patch: &str) -> Option<&'static str> {
    let find = |text: &str| {
        let entities = ["&lt;", "&gt;", "&amp;", "&quot;", "&#39;"];
        entities.into_iter().find(|entity| text.contains(entity))
    };
    let entity = patch.contains('&').then(|| find(patch)).flatten()?;
    let has_signs = |text: &str| text.contains(['<', '>']);
    (find(text).is_none() && has_signs(text) && !has_signs(patch)).then_some(entity)
}

/// Applies the patch of one file to its text.
fn apply_file_patch(
    base: &BaseText<'_>,
    file: &FilePatch<'_>,
    text: &str,
) -> Result<PatchResult, PatchError> {
    check_elisions(file, text)?;
    if file.action == FileAction::Add {
        return Ok(hunk_edits::overwrite_text(base, &file.hunks));
    }
    let (mut changes, mut drift): (Vec<HunkChange<'_>>, HunkDrift) =
        (Vec::new(), HunkDrift::default());
    // The start line in the header of the previous hunk.
    let mut before = 0;
    let mut patched = PatchResult::from_exact(Vec::new());
    let indexes = BaseIndexes::new(base);
    for (hunk, number) in file.hunks.iter().zip(1..) {
        let is_last = number == file.hunks.len();
        if hunk.lines.iter().all(|line| line.sign == LineSign::Context) {
            if is_last {
                check_hunk_complete(base, hunk, None)?;
            }
            continue;
        }
        let is_in_order = hunk.start.is_some_and(|start| start > before);
        drift.floor = if is_in_order { drift.floor } else { 0 };
        let place = hunk_place::find_place(&indexes, hunk, number, drift)?;
        if is_last {
            patched.should_review |= check_hunk_complete(base, hunk, Some(&place))?;
        }
        let old =
            hunk.lines[place.lines.clone()].iter().filter(|line| line.sign != LineSign::Added);
        if let Some(start) = hunk.start {
            drift = HunkDrift { offset: place.offset, floor: place.at + old.count() };
            before = start;
        }
        if let Some(doubt) = place.doubt {
            patched.add_doubt(doubt);
        }
        if hunk_edits::has_false_end_mark(base, hunk, &place) {
            patched.add_doubt(END_MISMATCH_NOTE);
        }
        patched.stage = patched.stage.max(place.stage);
        if place.offset.unsigned_abs() > patched.offset.unsigned_abs() {
            patched.offset = place.offset;
        }
        let is_bare = |line: &parse::HunkLine<'_>| line.is_bare && !line.text.is_empty();
        patched.should_review |= hunk.lines.iter().any(is_bare) || has_guessed_end(hunk, &place);
        changes.extend(hunk_edits::build_changes(base, hunk, number, &place)?);
    }
    patched.should_review |=
        patched.stage > MatchStage::Exact || patched.offset.unsigned_abs() > MAX_SURE_OFFSET;
    patched.edits = hunk_edits::build_edits(base, changes, text)?;
    if is_no_op(base, text, &patched.edits) {
        return Err(PatchError::ChangesNothing);
    }
    Ok(patched)
}

/// Refuses a last hunk that has fewer lines than its header says and too few lines after its last
/// change, because more lines were to come. Returns whether the counts are wrong otherwise, so that
/// the result needs a review.
fn check_hunk_complete(
    base: &BaseText<'_>,
    hunk: &parse::PatchHunk<'_>,
    place: Option<&hunk_place::HunkPlace>,
) -> Result<bool, PatchError> {
    let drops_text = |place: &hunk_place::HunkPlace| {
        let mut dropped = hunk.lines[place.lines.end..].iter();
        dropped.any(|line| place.stage.fuzz_level().is_some() || !line.is_bare)
    };
    if hunk.is_open && place.is_some_and(drops_text) {
        let how = "its last line is not that of the script, and has no end".to_owned();
        return Err(PatchError::CutOff { how });
    }
    let (old, new) = hunk.line_counts();
    let missing = hunk
        .header_counts
        .map_or(0, |counts| counts.0.saturating_sub(old).max(counts.1.saturating_sub(new)));
    // Tools that write diffs leave three lines of context at the end, if there are as many.
    let is_whole = place.is_some_and(|place| {
        let lines = &hunk.lines[place.lines.clone()];
        let is_context = |line: &&parse::HunkLine<'_>| line.sign == LineSign::Context;
        let tail = lines.iter().rev().take_while(is_context).count();
        let old = lines.iter().filter(|line| line.sign != LineSign::Added).count();
        tail >= FULL_CONTEXT || tail > 0 && place.at + old == base.lines.len()
    });
    if missing > 0 && !(is_whole && missing <= MAX_MISCOUNT) {
        let how = "its last hunk has fewer lines than it says".to_owned();
        return Err(PatchError::CutOff { how });
    }
    Ok(missing > 0)
}

/// Whether the line counts in the header of a hunk are wrong, and blank lines at the end of the
/// hunk were dropped.
fn has_guessed_end(hunk: &parse::PatchHunk<'_>, place: &hunk_place::HunkPlace) -> bool {
    let dropped = hunk.lines.len() - place.lines.end;
    let is_blank = |line: &&parse::HunkLine<'_>| line.is_bare && line.text.is_empty();
    let blanks = hunk.lines.iter().rev().take_while(is_blank).count();
    let is_miscounted = hunk.header_counts.is_some_and(|(old, new)| {
        let size = hunk.line_counts();
        (0..=blanks).all(|less| (old, new) != (size.0 - less, size.1 - less))
    });
    place.stage == MatchStage::Exact && dropped > 0 && is_miscounted
}

/// Whether the edits leave the text as it is.
fn is_no_op(base: &BaseText<'_>, text: &str, edits: &[TextEdit]) -> bool {
    let ends = |text: &str| text.matches('\n').count();
    let added: usize = edits.iter().map(|edit| ends(&edit.text)).sum();
    let removed: usize = edits.iter().map(|edit| (edit.end.line - edit.start.line) as usize).sum();
    // Without a change, the number of lines stays the same. Most edits differ in the first line
    // that they touch, so this check avoids applying them.
    let first = edits.first().and_then(|edit| {
        let there = base.lines.get(edit.start.line as usize)?;
        Some(edit.text.split_inclusive('\n').next().unwrap_or_default() != *there)
    });
    if added != removed || first == Some(true) && edits.len() == 1 {
        return false;
    }
    super::apply_edits(text, edits).is_ok_and(|after| after == text)
}

fn check_elisions(file: &FilePatch<'_>, text: &str) -> Result<(), PatchError> {
    let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
    let added = lines.filter(|line| line.sign == LineSign::Added).map(|line| line.text);
    match find_elision(added, text) {
        Some(line) => Err(PatchError::Elision { line: line.trim().to_owned() }),
        None => Ok(()),
    }
}
