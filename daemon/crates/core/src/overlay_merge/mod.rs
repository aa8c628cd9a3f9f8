//! Merging the overlays of several workers into one result.
//!
//! Each worker plans on the same base and sees only its own pending proposals. The merge performs the
//! overlays on the base in their given order, and the proposals of each in theirs. So the result is
//! that of a serial order, with these rules:
//!
//! - The unit is the proposal: it is taken whole or left out.
//! - An equal write is made once ([`EqualWrite`]). Commands address instances by their ids, so a
//!   command follows an instance that an earlier overlay renamed or moved (`adapt`).
//! - The texts of scripts and of the project's memory are merged by hunks (`texts`).
//! - Two different wishes for the same thing are a conflict with both sides ([`OverlayConflict`], found
//!   in `check`). The later proposal is left out, and so are proposals of its overlay that depend on
//!   it ([`DependentProposal`]).
//! - A read of what an earlier overlay wrote is not a conflict, but a [`StaleRead`].
//!
//! A merged text is not compiled here: the caller drafts the result, which checks it. This module must
//! not know who the workers are, and decides nothing about a conflict.

mod adapt;
mod check;
mod conflict;
mod describe;
mod draft;
mod perform;
mod texts;
mod writes;

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::Proposal;
use scene_schemas::{Command, InstancePath};
use serde::Serialize;

pub use self::conflict::{ConflictKind, ConflictSide, OverlayConflict};
pub use self::draft::{MergedStep, draft_merged};
use self::perform::{OverlayState, ProposalMerge};
use self::writes::{EarlierWrites, ProposalWrites, WriteOrigin};
use crate::planning_scene::PlanningScene;
use crate::proposal::{BlobStore, Footprint, FootprintIndex, ReadSubject, TouchIndex};

/// Maximum number of things that a stale read names.
const MAX_SUBJECTS: usize = 8;

/// The pending proposals of one worker, in the order in which it made them. Each was planned on the
/// base with the earlier ones of the overlay over it.
#[derive(Debug, Clone)]
pub struct Overlay<'a> {
    /// The worker's name, for display.
    pub name: &'a str,
    pub proposals: Vec<OverlayProposal<'a>>,
}

/// A proposal of an overlay.
#[derive(Debug, Clone, Copy)]
pub struct OverlayProposal<'a> {
    /// The position of its entry in the ledger.
    pub seq: Seq,
    /// The position of its call, which names the instances that it creates: `new:P.K`.
    pub call: Seq,
    pub proposal: &'a Proposal,
}

/// A proposal, and its overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ProposalOrigin {
    /// The index of the overlay, from 0.
    pub overlay: usize,
    pub proposal: Seq,
}

/// The result of a merge. All lists are in the order of the merge.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct MergedOverlays<'a> {
    pub taken: Vec<TakenProposal<'a>>,
    /// The conflicts, of which a proposal that is left out may have several. Of what several
    /// proposals of one earlier overlay wrote at one place, the first is named.
    pub conflicts: Vec<OverlayConflict>,
    /// The proposals that are left out because of another one. Their own conflicts are not known.
    pub dependents: Vec<DependentProposal>,
    /// Once for each pair of proposals, also of proposals that are left out.
    pub stale_reads: Vec<StaleRead>,
}

/// A proposal that is part of the result.
#[derive(Debug, PartialEq, Serialize)]
pub struct TakenProposal<'a> {
    pub origin: ProposalOrigin,
    /// The position of its call. The ids `new:K` of its commands belong to it.
    pub call: Seq,
    /// The commands as they are performed on the result of the proposals before it. Empty if earlier
    /// overlays had done all of it. The caller drafts them again for a preview, and to split them
    /// between Studio and files.
    pub commands: Cow<'a, [Command]>,
    /// What earlier overlays had done already.
    pub equal: Vec<EqualWrite>,
    /// The texts that earlier overlays had changed too.
    pub merged_texts: Vec<MergedText>,
}

/// A write that an earlier overlay had made already.
#[derive(Debug, PartialEq, Serialize)]
pub struct EqualWrite {
    /// The index of the command in the proposal as it was planned.
    pub command: u32,
    pub path: InstancePath,
    pub kind: EqualKind,
    pub earlier: ProposalOrigin,
}

/// The kinds of equal writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EqualKind {
    Property {
        property: String,
    },
    /// The whole resulting text is the same.
    Text {},
    /// The instance is where the move would place it.
    Move {},
    /// The instance, or an ancestor of it, is deleted.
    Deletion {},
}

/// A text in which the changes of several overlays were merged by hunks.
#[derive(Debug, PartialEq, Serialize)]
pub struct MergedText {
    /// The index of the command in the proposal as it was planned.
    pub command: u32,
    /// The script, or `game` for the project's memory.
    pub path: InstancePath,
    /// The earlier overlays' last proposals that changed the text.
    pub earlier: Vec<ProposalOrigin>,
}

/// A proposal that is left out because one of its own overlay is left out.
#[derive(Debug, PartialEq, Serialize)]
pub struct DependentProposal {
    pub origin: ProposalOrigin,
    /// The proposal that is left out.
    pub depends_on: Seq,
    pub reason: DependencyReason,
}

/// Why a proposal depends on another one of its overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DependencyReason {
    /// It was to be decided after it.
    After,
    /// It uses an instance that the other one creates.
    CreatedInstance,
    /// One writes what the other reads or writes.
    Footprint,
}

/// A read of what an earlier overlay wrote.
#[derive(Debug, PartialEq, Serialize)]
pub struct StaleRead {
    pub reader: ProposalOrigin,
    pub writer: ProposalOrigin,
    /// What was read and written, with the paths of the reader.
    pub subjects: Vec<ReadSubject>,
    /// Number of further things.
    pub more: usize,
}

/// Merges overlays on their base, on which nothing is pending. The scene then has the merged result
/// over it, which the caller keeps or rolls back. The same overlays and base give the same result.
///
/// If facts of an open place are missing afterwards (`Scene::take_missing`), a conflict may be due to
/// that: the caller rolls back, asks for them, and merges again.
pub fn merge_overlays<'a>(
    scene: &mut PlanningScene,
    overlays: &[Overlay<'a>],
    blobs: &BlobStore,
) -> MergedOverlays<'a> {
    let mut merge = OverlayMerge {
        scene,
        overlays,
        blobs,
        earlier: EarlierWrites::default(),
        index: FootprintIndex::default(),
        writers: Vec::new(),
        result: MergedOverlays::default(),
    };
    for at in 0..overlays.len() {
        merge.merge_overlay(at);
    }
    merge.result
}

struct OverlayMerge<'m, 'a> {
    scene: &'m mut PlanningScene,
    overlays: &'m [Overlay<'a>],
    blobs: &'m BlobStore,
    /// What the taken proposals of earlier overlays wrote.
    earlier: EarlierWrites<'a>,
    /// The footprints of the taken proposals of earlier overlays.
    index: FootprintIndex,
    /// For each footprint of the index, its proposal.
    writers: Vec<ProposalOrigin>,
    result: MergedOverlays<'a>,
}

/// The proposals of the current overlay that are left out.
#[derive(Default)]
struct LeftOutProposals {
    seqs: Vec<Seq>,
    /// By the positions of their calls.
    by_call: FxHashMap<Seq, Seq>,
    touched: TouchIndex,
}

impl LeftOutProposals {
    fn add(&mut self, own: &OverlayProposal<'_>, footprint: Footprint) {
        self.seqs.push(own.seq);
        self.by_call.insert(own.call, own.seq);
        self.touched.add(footprint);
    }

    /// Returns one of these proposals on which another one of the same overlay depends, and why.
    fn find_dependency(
        &self,
        own: &OverlayProposal<'_>,
        footprint: &Footprint,
    ) -> Option<(Seq, DependencyReason)> {
        if self.seqs.is_empty() {
            return None;
        }
        let is_left_out = |seq: &&Seq| self.seqs.contains(*seq);
        if let Some(seq) = own.proposal.after.iter().find(is_left_out) {
            return Some((*seq, DependencyReason::After));
        }
        if let Some(seq) = own.proposal.commands.iter().find_map(|it| self.find_created(it)) {
            return Some((seq, DependencyReason::CreatedInstance));
        }
        let number = self.touched.first_touching(footprint)?;
        Some((self.seqs[number], DependencyReason::Footprint))
    }

    /// Returns the proposal that creates an instance which a command names.
    fn find_created(&self, command: &Command) -> Option<Seq> {
        let mut found = None;
        adapt::visit_targets(command, &mut |target| {
            let call = target.id.0.strip_prefix("new:").and_then(|id| id.split_once('.'));
            let call = call.and_then(|(call, _)| call.parse().ok()).map(Seq);
            found = found.or_else(|| self.by_call.get(&call?).copied());
        });
        found
    }
}

impl<'a> OverlayMerge<'_, 'a> {
    fn merge_overlay(&mut self, at: usize) {
        let is_last = at + 1 == self.overlays.len();
        let mut state = OverlayState::default();
        let mut taken: Vec<ProposalWrites<'a>> = Vec::new();
        let mut footprints = Vec::new();
        let mut left_out = LeftOutProposals::default();
        for (number, own) in self.overlays[at].proposals.iter().enumerate() {
            let origin = ProposalOrigin { overlay: at, proposal: own.seq };
            let footprint = Footprint::new(own.proposal);
            self.note_stale_reads(origin, &footprint, own.proposal);
            if let Some((depends_on, reason)) = left_out.find_dependency(own, &footprint) {
                let dependent = DependentProposal { origin, depends_on, reason };
                self.result.dependents.push(dependent);
                left_out.add(own, footprint);
                continue;
            }
            let write = WriteOrigin { overlay: at as u32, proposal: number as u32, command: 0 };
            let merge = ProposalMerge::new(self, *own, write, &state);
            match merge.run(&footprint) {
                Ok(merged) => {
                    state.add(merged.state);
                    taken.push(merged.writes);
                    footprints.push((origin, footprint, own.proposal));
                    self.result.taken.push(merged.taken);
                }
                Err(conflicts) => {
                    self.result.conflicts.extend(conflicts);
                    left_out.add(own, footprint);
                }
            }
        }
        if is_last {
            return;
        }
        for writes in taken {
            self.earlier.add(writes);
        }
        state.texts.add_to(&mut self.earlier, self.scene);
        for (origin, mut footprint, proposal) in footprints {
            for command in &proposal.commands {
                if let Some(Ok(table)) =
                    command.table().map(|table| self.scene.table(table, self.blobs))
                {
                    footprint.add_members(command, &table);
                }
            }
            self.index.add(footprint);
            self.writers.push(origin);
        }
    }

    fn note_stale_reads(
        &mut self,
        reader: ProposalOrigin,
        footprint: &Footprint,
        proposal: &Proposal,
    ) {
        for (writer, mut subjects) in self.index.find_read(footprint, proposal) {
            let more = subjects.len().saturating_sub(MAX_SUBJECTS);
            subjects.truncate(MAX_SUBJECTS);
            let writer = self.writers[writer];
            self.result.stale_reads.push(StaleRead { reader, writer, subjects, more });
        }
    }
}

#[cfg(test)]
mod tests;
