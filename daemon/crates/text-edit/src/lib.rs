//! Edits of one text: ranges, exact replacements, patches and whole texts, and diffs and three-way merges of them.
//!
//! Whatever form an edit comes in, it becomes a sorted list of [`TextEdit`]s over the text before. Refusals are worded so that
//! a model can correct its call. It must not know scenes, tools, fingerprints or Luau.
//!
//! [`TextEdit`]: scene_schemas::text::TextEdit

mod class;
mod compare;
mod diff;
mod duplication;
mod elision;
mod error;
mod hunks;
mod lines;
mod merge;
mod nearest;
mod patch;
mod ranges;
mod replace;
#[cfg(test)]
mod seeded;
mod slide;
mod space;
mod words;

pub use class::{change_class, loss_class};
pub use diff::{LineCounts, line_counts, whole};
pub use duplication::duplicated;
pub use elision::elided;
pub use error::EditError;
pub use hunks::{UNENDED, hunks, pick_hunks, unified};
pub use lines::ended_as;
pub use merge::{Conflict, MergePart, Merged, marked_text, merge, merge_parts};
pub use nearest::Nearest;
pub use patch::{FileChange, PatchError, Patched, Stage, apply_to_files, patch};
pub use ranges::{MAX_EDITS, MAX_INSERTED, apply, check_limits, checked, fitted, invert};
pub use replace::{MAX_CHANGED_LINES, Replaced, Replacement, replace};
pub use words::{Beside, Words};
