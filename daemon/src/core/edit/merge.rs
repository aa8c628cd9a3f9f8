//! Two changes of one text, made one again: `diff3`.
//!
//! Nothing is decided where both sides changed the same lines: the conflict is handed over with the
//! three versions.

use std::ops::Range;

use similar::{MergeRegion, MergeResolution, TextMerge};

/// What became of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// The text with both changes.
    Text(String),
    /// Where they do not go together, in order.
    Conflicts(Vec<Conflict>),
}

/// Lines that both sides changed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// The lines in the text that both come from.
    pub base: String,
    /// The lines in the one.
    pub ours: String,
    /// The lines in the other.
    pub theirs: String,
    /// Where they stand in the text that both come from, from 1.
    pub base_line: usize,
    /// Where they stand in the one.
    pub ours_line: usize,
    /// Where they stand in the other.
    pub theirs_line: usize,
}

/// Does to `ours` what `theirs` did to `base`.
pub fn merge(base: &str, ours: &str, theirs: &str) -> Merged {
    let merge = TextMerge::from_lines(base, ours, theirs);
    let lines = |range: Range<usize>, line: &dyn Fn(usize) -> Option<String>| -> String {
        range.filter_map(line).collect()
    };
    let in_base = |at: usize| merge.base_line(at).map(str::to_owned);
    let in_ours = |at: usize| merge.ours_line(at).map(str::to_owned);
    let in_theirs = |at: usize| merge.theirs_line(at).map(str::to_owned);
    let conflict = |region: &MergeRegion| Conflict {
        base: lines(region.base_range(), &in_base),
        ours: lines(region.ours_range(), &in_ours),
        theirs: lines(region.theirs_range(), &in_theirs),
        base_line: region.base_range().start + 1,
        ours_line: region.ours_range().start + 1,
        theirs_line: region.theirs_range().start + 1,
    };
    let conflicts: Vec<Conflict> = merge.conflicts().map(conflict).collect();
    if !conflicts.is_empty() {
        return Merged::Conflicts(conflicts);
    }
    let text = merge.regions().iter().map(|region| match region.resolution() {
        MergeResolution::Theirs => lines(region.theirs_range(), &in_theirs),
        _ => lines(region.ours_range(), &in_ours),
    });
    Merged::Text(text.collect())
}
