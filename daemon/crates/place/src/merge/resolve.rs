//! A merge with conflicts, and the decisions that resolve them.
//!
//! The same three places always give the same conflicts in the same order, so a conflict is
//! identified by its number. A terminal or web page can show the conflicts, store the user's
//! choices, and apply them later to a merge of the same places.

use scene_schemas::TextConflict;
use scene_schemas::api::{ConflictChoice, ConflictView, HunkChoice, MergeSide};
use scene_schemas::refusal::{Refusal, refuse};
use vector_text_edit::MergePart;

use super::{MergeConflict, SceneMerge};
use crate::{Node, Scene};

/// Returns a script's text with its conflicts resolved. Conflicts without a choice are resolved as
/// ours.
pub(super) fn resolved_text(parts: &[MergePart], choices: &[HunkChoice]) -> String {
    let (mut text, mut choices) = (String::new(), choices.iter());
    for part in parts {
        let conflict = match part {
            MergePart::Text(lines) => {
                text.push_str(lines);
                continue;
            }
            MergePart::Conflict(conflict) => conflict,
        };
        match choices.next().unwrap_or(&HunkChoice::Ours) {
            HunkChoice::Ours => text.push_str(&conflict.ours),
            HunkChoice::Theirs => text.push_str(&conflict.theirs),
            HunkChoice::Both => {
                text.push_str(&conflict.ours);
                if !conflict.ours.is_empty() && !conflict.ours.ends_with('\n') {
                    text.push('\n');
                }
                text.push_str(&conflict.theirs);
            }
            HunkChoice::Edited(lines) => text.push_str(lines),
        }
    }
    text
}

/// The instances of ours and of theirs in a conflict; `NONE` if a side has none.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConflictNodes {
    pub(super) own: u32,
    pub(super) theirs: u32,
}

/// A merge whose conflicts can be resolved.
pub struct OpenMerge<'a> {
    merge: SceneMerge<'a>,
}

impl<'a> OpenMerge<'a> {
    /// Applies the changes from `base` to `theirs` to `ours`, except for conflicts.
    pub fn new(base: &'a Scene, ours: &mut Scene, theirs: &'a Scene) -> Self {
        Self { merge: super::run_merge(base, ours, theirs) }
    }

    /// Returns the conflicts, in order.
    pub fn conflicts(&self) -> &[MergeConflict] {
        &self.merge.conflicts
    }

    /// Applies a choice to `ours`, which must be the scene of the merge.
    ///
    /// # Errors
    /// The choice is not possible: hunks for something other than a script, or a parent that is
    /// gone.
    pub fn apply_choice(
        &mut self,
        ours: &mut Scene,
        at: usize,
        choice: &ConflictChoice,
    ) -> Result<(), Refusal> {
        let both = self.merge.conflicts.get(at).zip(self.merge.nodes.get(at));
        let Some((conflict, nodes)) = both.map(|(conflict, nodes)| (conflict.clone(), *nodes))
        else {
            return refuse!("There is no conflict {}.", at + 1);
        };
        check_choice(&to_view(&conflict), choice)?;
        match (conflict, choice) {
            (MergeConflict::Script { parts, .. }, choice) => {
                let hunks = hunks_of(&parts).count();
                let text = match choice {
                    ConflictChoice::Ours => resolved_text(&parts, &vec![HunkChoice::Ours; hunks]),
                    ConflictChoice::Theirs => {
                        resolved_text(&parts, &vec![HunkChoice::Theirs; hunks])
                    }
                    ConflictChoice::Hunks(choices) => resolved_text(&parts, choices),
                };
                ours.set_source(Node(nodes.own), text);
                Ok(())
            }
            // `check_choice` has refused hunks for conflicts without hunks.
            (_, ConflictChoice::Ours | ConflictChoice::Hunks(_)) => Ok(()),
            (MergeConflict::Property { property, .. }, ConflictChoice::Theirs) => {
                self.apply_their_property(ours, nodes, &property)
            }
            (MergeConflict::Moved { path, .. }, ConflictChoice::Theirs) => {
                self.merge.move_instance(ours, nodes.theirs, &path)
            }
            (MergeConflict::Deleted { is_deleted_by_ours: false, .. }, ConflictChoice::Theirs) => {
                self.merge.delete_as_theirs(ours, nodes.own)
            }
            (
                MergeConflict::Deleted { is_deleted_by_ours: true, path, .. },
                ConflictChoice::Theirs,
            ) => self.merge.restore_deleted(ours, nodes.theirs, &path),
        }
    }

    fn apply_their_property(
        &mut self,
        ours: &mut Scene,
        nodes: ConflictNodes,
        property: &str,
    ) -> Result<(), Refusal> {
        let theirs = self.merge.theirs;
        if property == "Name" {
            ours.rename(Node(nodes.own), theirs.tree.name_text(nodes.theirs));
            return Ok(());
        }
        if let Some(name) = property.strip_prefix('@') {
            let value = theirs.attribute(Node(nodes.theirs), name);
            return ours.set_property(Node(nodes.own), property, value.as_ref());
        }
        self.merge.copy_their_value(ours, nodes.own, nodes.theirs, rbx_dom_weak::ustr(property));
        Ok(())
    }
}

/// Checks that a choice fits a conflict.
///
/// # Errors
/// The choice does not decide each hunk of the conflict.
pub fn check_choice(conflict: &ConflictView, choice: &ConflictChoice) -> Result<(), Refusal> {
    let hunks = match conflict {
        ConflictView::Script { hunks, .. } => hunks.len(),
        ConflictView::Property { .. }
        | ConflictView::Deleted { .. }
        | ConflictView::Moved { .. } => 0,
    };
    match choice {
        ConflictChoice::Hunks(choices) if choices.len() != hunks || hunks == 0 => refuse!(
            "{} has {hunks} hunks in conflict, and {} were decided; decide about each of them.",
            conflict.path(),
            choices.len()
        ),
        _ => Ok(()),
    }
}

/// Converts a conflict to the form in which it is shown and stored.
pub fn to_view(conflict: &MergeConflict) -> ConflictView {
    match conflict.clone() {
        MergeConflict::Property { path, class, property, values: [base, ours, theirs] } => {
            ConflictView::Property { path, class, property, base, ours, theirs }
        }
        MergeConflict::Script { path, class, text, parts } => {
            ConflictView::Script { path, class, text, hunks: hunks_of(&parts).cloned().collect() }
        }
        MergeConflict::Deleted { path, class, is_deleted_by_ours: by_ours } => {
            let by = if by_ours { MergeSide::Ours } else { MergeSide::Theirs };
            ConflictView::Deleted { path, class, by }
        }
        MergeConflict::Moved { path, class, theirs } => ConflictView::Moved { path, class, theirs },
    }
}

/// Returns the hunks of a script conflict.
pub(super) fn hunks_of(parts: &[MergePart]) -> impl Iterator<Item = &TextConflict> {
    parts.iter().filter_map(|part| match part {
        MergePart::Conflict(conflict) => Some(conflict),
        MergePart::Text(_) => None,
    })
}
