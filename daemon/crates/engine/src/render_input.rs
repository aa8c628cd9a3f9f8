//! Input for pictures: a place as it is, or the place before and after a proposal.
//!
//! An unapplied proposal is applied to the scene for the picture, and an applied one is reverted;
//! the scene is then rolled back. A picture shows the difference between the scenes, not what the
//! commands claim. Drawing itself happens outside the planner.

use std::sync::Arc;

use scene_schemas::Refusal;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Ack, Proposal};
use scene_schemas::refusal::refuse;
use scene_schemas::{Command, InstancePath};
use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::{BlobStore, ProposalDraft, try_command};
use vector_core::workflow::PendingStatus;
use vector_place::{Node, Scene, reflection};
use vector_render::{
    BeforeAfter, ChangeSide, Picture, SolidSet, ViewDirection, ViewFrame, check_part_limit,
    draw_solids, gather_solids, visible_root,
};

use crate::planner::Planner;
use crate::revert::draft_inverse;
use crate::workflow_state;
use crate::{Engine, EngineError, required_blobs};

/// The subject of a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PictureSubject {
    /// The effect of a proposal.
    Proposal(Seq, ChangeSide),
    /// An instance and its descendants, with all pending proposals applied.
    Place(InstancePath),
}

/// The data a picture is drawn from. Drawing needs no scene.
#[derive(Debug, Clone, PartialEq)]
pub enum DrawInput {
    /// One side of a proposal.
    Side(Arc<BeforeAfter>, ChangeSide),
    Place(SolidSet),
}

impl DrawInput {
    /// Draws the picture from a view.
    ///
    /// # Errors
    /// There is nothing to see.
    pub fn draw(&self, view: ViewDirection, size: (u32, u32)) -> Result<Picture, Refusal> {
        match self {
            Self::Side(sides, when) => sides.draw_side(*when, view, size),
            Self::Place(solids) => match ViewFrame::enclose_solids(&[solids], view) {
                Some(frame) => Ok(draw_solids(solids, size, frame)),
                None => {
                    refuse!("There are no parts to render. Specify another path.")
                }
            },
        }
    }
}

/// Returns both sides of an unapplied proposal.
///
/// # Errors
/// It does not fit any more, or has no visible effect.
pub fn proposal_sides(
    scene: &mut PlanningScene,
    blobs: &BlobStore,
    call: Seq,
    proposal: &Proposal,
) -> Result<BeforeAfter, Refusal> {
    let (before, after) = gather_before_after(scene, &proposal.commands, |scene| {
        scene.begin_scope(call);
        proposal.commands.iter().try_for_each(|it| try_command(scene, it, blobs).map(drop))
    })?;
    first_difference(before, after)
}

/// Returns both sides of an applied proposal, by reverting it.
///
/// # Errors
/// Its result has changed since, or nothing visible differs.
pub fn reverted_sides(
    scene: &mut PlanningScene,
    blobs: &BlobStore,
    call: Seq,
    ack: &Ack,
) -> Result<BeforeAfter, Refusal> {
    let (after, before) = gather_before_after(scene, &ack.inverse, |scene| {
        scene.begin_scope(call);
        let mut draft = ProposalDraft::new(scene, blobs);
        draft.mark_as_inverse();
        let witnesses = ack.witnesses.iter().map(Option::as_ref).chain(std::iter::repeat(None));
        let mut back = ack.inverse.iter().cloned().zip(witnesses);
        back.try_for_each(|(command, left)| draft_inverse(&mut draft, command, left, false))
    })?;
    first_difference(before, after)
}

/// Gathers the visible solids before and after `work`, root by root, and rolls the scene back.
fn gather_before_after(
    scene: &mut PlanningScene,
    commands: &[Command],
    work: impl FnOnce(&mut PlanningScene) -> Result<(), Refusal>,
) -> Result<(Vec<SolidSet>, Vec<SolidSet>), Refusal> {
    let roots = picture_roots(scene, commands);
    let all =
        |scene: &Scene| roots.iter().map(|root| gather_solids(scene, *root)).collect::<Vec<_>>();
    let now = all(scene);
    let mark = scene.journal_mark();
    let done = work(scene);
    let then = all(scene);
    scene.rollback(mark);
    done.map(|()| (now, then))
}

/// Returns the roots that a picture of a change shows: the Workspace, and the services that the
/// commands name. A model file has a single root.
fn picture_roots(scene: &Scene, commands: &[Command]) -> Vec<Node> {
    let workspace = visible_root(scene, scene.root());
    let mut roots = vec![workspace];
    if workspace == scene.root() {
        return roots;
    }
    for command in commands {
        let first = command.target().path.segments.first();
        let service = first.and_then(|it| scene.find_child(scene.root(), &it.name));
        let is_service = |it: &Node| reflection::is_service(scene.class(*it));
        if let Some(service) = service.filter(|it| is_service(it) && !roots.contains(it)) {
            roots.push(service);
        }
    }
    roots
}

/// Returns the sides of the first root in which something differs.
fn first_difference(before: Vec<SolidSet>, after: Vec<SolidSet>) -> Result<BeforeAfter, Refusal> {
    let found = before
        .into_iter()
        .zip(after)
        .find_map(|(before, after)| BeforeAfter::from_solids(before, after));
    found.ok_or_else(|| {
        Refusal::new(
            "This proposal has no visible effect: no part is added, removed or changed in appearance.",
        )
    })
}

impl Engine {
    /// Gathers the input for a picture. None if Studio has to answer something first; the question
    /// is then queued.
    ///
    /// # Errors
    /// The subject does not exist, or there is nothing to see.
    pub fn gather_drawing(
        &mut self,
        of: &PictureSubject,
    ) -> Result<Option<DrawInput>, EngineError> {
        if !self.planner.scene.is_tree_complete() {
            let why = "Studio is still sending the place. Try again in a moment.";
            return Err(Refusal::new(why).into());
        }
        if self.is_waiting_for_studio()? {
            return Ok(None);
        }
        let root = match of {
            PictureSubject::Place(path) => self.planner.scene.resolve(path)?,
            PictureSubject::Proposal(..) => self.planner.scene.root(),
        };
        check_part_limit(&self.planner.scene, root)?;
        let drawing = match of {
            PictureSubject::Proposal(seq, when) => {
                self.load_sides(*seq).map(|sides| DrawInput::Side(Arc::new(sides), *when))
            }
            PictureSubject::Place(_) => {
                Ok(DrawInput::Place(gather_solids(&self.planner.scene, root)))
            }
        };
        let missing = self.planner.scene.take_missing();
        if let Some(live) = self.target.driver_mut().live_mut()
            && !missing.is_empty()
        {
            live.studio_mut().request_missing(missing);
            return Ok(None);
        }
        drawing.map(Some)
    }

    /// Loads both sides of a proposal of this place, whatever its status. The overlay is restored
    /// afterwards.
    fn load_sides(&mut self, seq: Seq) -> Result<BeforeAfter, EngineError> {
        let Some(record) = self.executor.ledger().record_at(seq)? else {
            return Err(Refusal(format!("There is no proposal {seq}.")).into());
        };
        let state = workflow_state::read_workflow(self.executor.ledger(), record.workflow)?;
        let workflow = state.workflow(record.workflow);
        let Some(pending) = workflow.and_then(|workflow| workflow.proposal(seq)) else {
            return Err(Refusal(format!("Entry {seq} is not a proposal.")).into());
        };
        self.load_blobs(match &pending.status {
            PendingStatus::Applied(ack) => required_blobs(&ack.inverse),
            _ => required_blobs(&pending.proposal.commands),
        })?;
        // A pending proposal is shown on top of the proposals it was planned on, any other on the
        // place itself.
        let at =
            self.planner.overlay.iter().position(|(on_trial, _)| *on_trial == seq).unwrap_or(0);
        let dropped = self.planner.overlay.split_off(at);
        if let Some((_, mark)) = dropped.first() {
            self.planner.scene.rollback(*mark);
        }
        let Planner { scene, blobs, .. } = &mut self.planner;
        let sides = match &pending.status {
            PendingStatus::Applied(ack) => reverted_sides(scene, blobs, seq, ack),
            _ => proposal_sides(scene, blobs, pending.call, &pending.proposal),
        };
        let dropped: Vec<Seq> = dropped.into_iter().map(|(seq, _)| seq).collect();
        self.planner.overlay_proposals(&dropped, &self.executor)?;
        Ok(sides?)
    }
}
