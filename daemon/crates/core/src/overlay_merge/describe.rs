//! The result of a merge in words, for the person who decides and for the models.

use std::collections::BTreeSet;

use super::conflict::{ConflictKind, ConflictSide, OverlayConflict};
use super::{DependencyReason, DependentProposal, MergedOverlays, StaleRead};
use crate::proposal::ReadSubject;

/// Maximum number of notices about one overlay.
const MAX_NOTICES: usize = 24;

impl MergedOverlays<'_> {
    /// Returns what a person should know of how an overlay was merged, each as a sentence. `name` is
    /// its name.
    pub fn notices_of(&self, overlay: usize, name: &str) -> Vec<String> {
        let mut notices = Vec::new();
        for conflict in &self.conflicts {
            let is_its = |side: &ConflictSide| side.overlay == name;
            if is_its(&conflict.later) || conflict.earlier.as_ref().is_some_and(is_its) {
                notices.push(conflict.describe());
            }
        }
        let dependents = self.dependents.iter().filter(|it| it.origin.overlay == overlay);
        notices.extend(dependents.map(DependentProposal::describe));
        for taken in self.taken.iter().filter(|it| it.origin.overlay == overlay) {
            let merged = taken.merged_texts.iter();
            notices.extend(merged.map(|it| {
                format!("Its edits of {} were merged with those of an earlier part.", it.path)
            }));
        }
        let equal = self.taken.iter().filter(|it| it.origin.overlay == overlay);
        let equal: usize = equal.map(|it| it.equal.len()).sum();
        if equal > 0 {
            let noun = if equal == 1 { "change" } else { "changes" };
            notices.push(format!("{equal} {noun} of it were made by an earlier part as well."));
        }
        let stale = self.stale_reads.iter().filter(|it| it.reader.overlay == overlay);
        notices.extend(stale.map(|it| {
            format!(
                "It depends on {}, which an earlier part changed; its worker was told.",
                it.describe_subjects()
            )
        }));
        // Several of its changes may depend on the same.
        let mut known = BTreeSet::new();
        notices.retain(|it| known.insert(it.clone()));
        let more = notices.len().saturating_sub(MAX_NOTICES);
        notices.truncate(MAX_NOTICES);
        if more > 0 {
            notices.push(format!("There are {more} more such notices."));
        }
        notices
    }
}

impl OverlayConflict {
    /// Describes the conflict, with both sides, as sentences.
    pub fn describe(&self) -> String {
        let what = match &self.kind {
            ConflictKind::Property { .. } => "Two parts set the same property of",
            ConflictKind::Script { .. } => "Two parts changed the same lines of",
            ConflictKind::Memory { .. } => "Two parts changed the same lines of the memory of",
            ConflictKind::Name { .. } => "Two instances get the same name in",
            ConflictKind::WriteInDeleted {} => "One part changes what another one deleted at",
            ConflictKind::DeleteOfWritten {} => "One part deletes what another one changed at",
            ConflictKind::CopyOfRestructured {} => "One part copies what another one rebuilt at",
            ConflictKind::Cycle {} => "Two moves would make an instance a part of itself at",
            ConflictKind::Parent { .. } => "Two parts moved the same instance,",
            ConflictKind::ReferenceToDeleted { .. } => {
                "One part refers to what another one deleted,"
            }
            ConflictKind::DeleteOfReferred { .. } => "One part deletes what another one refers to,",
            ConflictKind::Refused { .. } => "A change cannot be made any more at",
        };
        let later = format!("{} {}", self.later.overlay, self.later.wants);
        let why = match &self.kind {
            ConflictKind::Refused { reason } => format!(" {reason}"),
            _ => String::new(),
        };
        let sides = match &self.earlier {
            Some(earlier) => format!("{} {}, and {later}", earlier.overlay, earlier.wants),
            None => later,
        };
        let left = &self.later.overlay;
        format!("{what} {}: {sides}. That change of {left} is left out.{why}", self.path)
    }
}

impl DependentProposal {
    /// Describes why the proposal is left out, as a sentence.
    fn describe(&self) -> String {
        let (own, other) = (self.origin.proposal, self.depends_on);
        let why = match self.reason {
            DependencyReason::After => "it was made on top of it",
            DependencyReason::CreatedInstance => "it uses an instance that it creates",
            DependencyReason::Footprint => "both touch the same",
        };
        format!("Its proposal {own} is left out with its proposal {other}: {why}.")
    }
}

impl StaleRead {
    /// Describes what was read and changed, as a list.
    pub fn describe_subjects(&self) -> String {
        let mut subjects: Vec<String> = self.subjects.iter().map(describe_subject).collect();
        if self.more > 0 {
            subjects.push(format!("{} more", self.more));
        }
        subjects.join(", ")
    }
}

fn describe_subject(subject: &ReadSubject) -> String {
    match subject {
        ReadSubject::Instance { path } => path.to_string(),
        ReadSubject::Property { path, property } if property == "Source" => {
            format!("the text of {path}")
        }
        ReadSubject::Property { path, property } => format!("{property} of {path}"),
        ReadSubject::Tree { path } => format!("what is below {path}"),
        ReadSubject::ChildOrder { path } => format!("the order of the children of {path}"),
        ReadSubject::Selector { selector } => format!("what `{selector}` finds"),
        ReadSubject::Place {} => "the whole place".to_owned(),
    }
}
