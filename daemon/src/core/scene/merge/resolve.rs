//! A merge with conflicts, until each of them is decided.
//!
//! The same three places always give the same conflicts in the same order, so a conflict is known by
//! its number. A terminal and a page can show them, keep what a person chose, and apply the choices
//! later to a merge of the same places.

use scene_schemas::InstancePath;
use serde::{Deserialize, Serialize};

use super::{Conflict, Merge, of};
use crate::core::edit::{self, MergePart};
use crate::core::refusal::{Refusal, refuse};
use crate::core::scene::{Node, Scene};

/// What a person decided about a conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictChoice {
    /// What ours has; in a script, its version of the lines in conflict.
    Ours,
    /// What theirs has; in a script, its version of the lines in conflict.
    Theirs,
    /// The text of a script.
    Text(String),
}

/// What is taken of one conflict within a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HunkChoice {
    /// The lines of ours.
    Ours,
    /// The lines of theirs.
    Theirs,
    /// The lines of ours, and below them those of theirs.
    Both,
    /// Other lines.
    Edited(String),
}

/// The text of a script for which each conflict is decided; what no choice is left for stays as ours.
pub fn resolved_text(parts: &[MergePart], choices: &[HunkChoice]) -> String {
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

/// The instances of ours and of theirs that a conflict is about; `NONE` where a side has none.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConflictNodes {
    pub(super) own: u32,
    pub(super) theirs: u32,
}

/// A merge whose conflicts can be decided.
pub struct OpenMerge<'a> {
    merge: Merge<'a>,
}

impl<'a> OpenMerge<'a> {
    /// Does to `ours` what `theirs` did to `base`, except for the conflicts.
    pub fn new(base: &'a Scene, ours: &mut Scene, theirs: &'a Scene) -> Self {
        Self { merge: super::run(base, ours, theirs) }
    }

    /// What does not go together, in order.
    pub fn conflicts(&self) -> &[Conflict] {
        &self.merge.conflicts
    }

    /// Applies a decision to `ours`, which the merge was made in.
    ///
    /// # Errors
    /// The choice is not possible: a text for something that is no script, a parent that is gone.
    pub fn choose(
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
        match (conflict, choice) {
            (Conflict::Script { parts, .. }, choice) => {
                let all = |of: HunkChoice| resolved_text(&parts, &vec![of; parts.len()]);
                let text = match choice {
                    ConflictChoice::Ours => all(HunkChoice::Ours),
                    ConflictChoice::Theirs => all(HunkChoice::Theirs),
                    ConflictChoice::Text(text) => text.clone(),
                };
                ours.set_source(Node(nodes.own), text);
                Ok(())
            }
            (_, ConflictChoice::Ours) => Ok(()),
            (conflict, ConflictChoice::Text(_)) => {
                refuse!("{} is in conflict by more than its text.", path_of(&conflict))
            }
            (Conflict::Property { property, .. }, ConflictChoice::Theirs) => {
                self.take_property(ours, nodes, &property)
            }
            (Conflict::Moved { path, .. }, ConflictChoice::Theirs) => {
                let parent = self.merge.theirs.tree.parent(nodes.theirs);
                match parent.and_then(|parent| of(&self.merge.ours_of_theirs, parent)) {
                    Some(parent) => ours.move_to(Node(nodes.own), Node(parent), None),
                    None => refuse!("{path} cannot be moved: its parent in theirs is not in ours."),
                }
            }
            (Conflict::Deleted { by_ours: false, .. }, ConflictChoice::Theirs) => {
                ours.delete(Node(nodes.own));
                Ok(())
            }
            (Conflict::Deleted { by_ours: true, path, .. }, ConflictChoice::Theirs) => {
                self.restore(ours, nodes.theirs, &path)
            }
        }
    }

    fn take_property(
        &self,
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
            return ours.set(Node(nodes.own), property, value.as_ref());
        }
        self.merge.take(ours, nodes.own, nodes.theirs, rbx_dom_weak::ustr(property));
        Ok(())
    }

    /// Makes what ours deleted again, as theirs has it, with all that is below it.
    fn restore(&mut self, ours: &mut Scene, node: u32, path: &InstancePath) -> Result<(), Refusal> {
        let theirs = self.merge.theirs;
        // An ancestor may have been deleted with it.
        let mut top = node;
        loop {
            let Some(parent) = theirs.tree.parent(top) else {
                return refuse!("{path} cannot be restored: it has no parent in ours.");
            };
            if of(&self.merge.ours_of_theirs, parent).is_some() {
                break;
            }
            top = parent;
        }
        if of(&self.merge.ours_of_theirs, top).is_some() {
            // It came back with another conflict.
            return Ok(());
        }
        let mut restored = Vec::new();
        for it in &theirs.tree.subtree(top).collect::<Vec<u32>>() {
            // What ours moved elsewhere stays there.
            if of(&self.merge.ours_of_theirs, *it).is_some() {
                continue;
            }
            let parent = theirs.tree.parent(*it).and_then(|it| of(&self.merge.ours_of_theirs, it));
            let Some(parent) = parent else { continue };
            let (class, name) = (theirs.tree.class_name(*it), theirs.tree.name_text(*it));
            self.merge.ours_of_theirs[*it as usize] = ours.create(Node(parent), class, name).0;
            restored.push(*it);
        }
        // References between them lead to instances that are there by now.
        for it in restored {
            let own = self.merge.ours_of_theirs[it as usize];
            for key in theirs.keys(it) {
                self.merge.take(ours, own, it, key);
            }
        }
        Ok(())
    }
}

/// The instance that a conflict is about.
pub fn path_of(conflict: &Conflict) -> &InstancePath {
    match conflict {
        Conflict::Property { path, .. }
        | Conflict::Script { path, .. }
        | Conflict::Deleted { path, .. }
        | Conflict::Moved { path, .. } => path,
    }
}

/// The hunks of a script's conflict.
pub fn hunks_of(parts: &[MergePart]) -> impl Iterator<Item = &edit::Conflict> {
    parts.iter().filter_map(|part| match part {
        MergePart::Conflict(conflict) => Some(conflict),
        MergePart::Text(_) => None,
    })
}
