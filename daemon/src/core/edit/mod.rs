//! The edit engine: every way of describing a change of a text becomes sorted ranges.
//!
//! There are four doors to a script's text (ranges, exact replacements, patches, whole texts), and one
//! room behind them: whatever came in, what goes on is a list of [`TextEdit`]s
//! over the text before. Refusals are written so that a model can repair its call from them.
//!
//! Nothing here knows scenes, tools, fingerprints or Luau; a text is a text.
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
pub(crate) mod seeded;
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
