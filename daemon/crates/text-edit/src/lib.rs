//! Edits of one text: ranges, exact replacements, patches and whole texts, and their diffs and
//! three-way merges.
//!
//! Every form of edit becomes a sorted list of [`TextEdit`]s over the original text. Refusals are
//! worded so that a model can correct its call. JSON files of people are edited by [`json`]. The
//! crate must not know scenes, tools, fingerprints or Luau.
//!
//! [`TextEdit`]: scene_schemas::text::TextEdit

mod classify;
mod compare;
mod diff;
mod duplication;
mod elision;
mod error;
mod hunks;
pub mod json;
mod lines;
mod merge;
mod nearest_text;
mod patch;
#[cfg(test)]
mod random_text;
mod ranges;
mod replace;
mod slide;
mod versions;
mod whitespace;
mod word_diff;

pub use classify::{classify_change, classify_loss};
pub use diff::{LineCounts, diff_lines, line_counts};
pub use duplication::find_duplicates;
pub use elision::find_elision;
pub use error::EditError;
pub use hunks::{NO_NEWLINE_MARK, diff_hunks, format_hunks, pick_hunks};
pub use lines::match_line_ends;
pub use merge::{Conflict, MergePart, MergeResult, format_conflicts, merge_parts, merge_texts};
pub use nearest_text::NearestText;
pub use patch::{FileChange, MatchStage, PatchError, PatchResult, apply_patch, apply_to_files};
pub use ranges::{
    MAX_EDITS, MAX_INSERTED, apply_edits, check_edits, check_limits, fit_edits, invert_edits,
};
pub use replace::{MAX_CHANGED_LINES, ReplaceResult, TextReplacement, apply_replacements};
pub use versions::compare_hunks;
pub use word_diff::{LinePair, WordDiff};
