//! What pictures are drawn from: a place as it is, and before and after a proposal.
//!
//! A proposal that was not applied is done on trial on what is there, and one that was is taken back
//! on trial; the scene is as it was when that was looked at. What differs is seen, whatever commands
//! say. Nothing is drawn here: that is done somewhere else than where proposals are planned.

use std::sync::Arc;

use scene_schemas::Refusal;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Ack, Proposal};
use scene_schemas::refusal::refuse;
use scene_schemas::{Command, InstancePath};
use vector_core::proposal::{BlobStore, ProposalDraft, try_command};
use vector_core::workflow::PendingStatus;
use vector_place::{Node, Scene, reflection};
use vector_render::{
    BeforeAfter, ChangeSide, Picture, SolidSet, ViewDirection, ViewFrame, check_part_limit,
    draw_solids, gather_solids, visible_root,
};

use crate::revert::draft_inverse;
use crate::studio_sync::request_missing;
use crate::workflow_state;
use crate::{Engine, EngineError, Target, required_blobs};

/// What a picture is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PictureSubject {
    /// What a proposal changes.
    Proposal(Seq, ChangeSide),
    /// An instance and all below it, as it is with what waits.
    Place(InstancePath),
}

/// What is drawn: no scene is needed any more.
#[derive(Debug, Clone, PartialEq)]
pub enum DrawInput {
    /// A side of a proposal.
    Side(Arc<BeforeAfter>, ChangeSide),
    Place(SolidSet),
}

impl DrawInput {
    /// Renders the picture from a view.
    ///
    /// # Errors
    /// There is nothing to see.
    pub fn draw(&self, view: ViewDirection, size: (u32, u32)) -> Result<Picture, Refusal> {
        match self {
            Self::Side(sides, when) => sides.draw_side(*when, view, size),
            Self::Place(solids) => match ViewFrame::enclose_solids(&[solids], view) {
                Some(frame) => Ok(draw_solids(solids, size, frame)),
                None => {
                    refuse!("There is nothing to render: no parts. Name another path.")
                }
            },
        }
    }
}

/// The sides of a proposal that is not applied, done on trial on what is there.
///
/// # Errors
/// It does not fit any more, or changes nothing that a picture shows.
pub fn proposal_sides(
    scene: &mut Scene,
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

/// The sides of a proposal that was applied, taken back on trial.
///
/// # Errors
/// What it left was changed since, or nothing differs that a picture shows.
pub fn reverted_sides(
    scene: &mut Scene,
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

/// What is seen now and after something that is then taken back, root by root.
fn gather_before_after(
    scene: &mut Scene,
    commands: &[Command],
    work: impl FnOnce(&mut Scene) -> Result<(), Refusal>,
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

/// What is looked at for a change: the Workspace, and the services that the commands name. A model is
/// looked at as a whole.
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

/// The first root in which something differs.
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
    /// What a picture is drawn from; none where Studio has to tell something first, which it is asked.
    ///
    /// # Errors
    /// There is no such thing, or nothing to see.
    pub fn gather_drawing(
        &mut self,
        of: &PictureSubject,
    ) -> Result<Option<DrawInput>, EngineError> {
        if !self.scene.is_tree_complete() {
            let why = "The place is being told by Studio. Ask again in a moment.";
            return Err(Refusal::new(why).into());
        }
        if self.is_waiting_for_studio()? {
            return Ok(None);
        }
        let root = match of {
            PictureSubject::Place(path) => self.scene.resolve(path)?,
            PictureSubject::Proposal(..) => self.scene.root(),
        };
        check_part_limit(&self.scene, root)?;
        let drawing = match of {
            PictureSubject::Proposal(seq, when) => {
                self.load_sides(*seq).map(|sides| DrawInput::Side(Arc::new(sides), *when))
            }
            PictureSubject::Place(_) => Ok(DrawInput::Place(gather_solids(&self.scene, root))),
        };
        let missing = self.scene.take_missing();
        if let Target::Open(studio) = &mut self.target
            && !missing.is_empty()
        {
            request_missing(studio, missing);
            return Ok(None);
        }
        drawing.map(Some)
    }

    /// The sides of a proposal of this place, whatever has become of it. What waits stays on trial.
    fn load_sides(&mut self, seq: Seq) -> Result<BeforeAfter, EngineError> {
        let Some(record) = self.ledger.record_at(seq)? else {
            return Err(Refusal(format!("There is no proposal {seq}.")).into());
        };
        let state = workflow_state::read_workflow(&self.ledger, record.workflow)?;
        let workflow = state.workflow(record.workflow);
        let Some(pending) = workflow.and_then(|workflow| workflow.proposal(seq)) else {
            return Err(Refusal(format!("Entry {seq} is not a proposal.")).into());
        };
        self.load_blobs_by_hash(match &pending.status {
            PendingStatus::Applied(ack) => required_blobs(&ack.inverse),
            _ => required_blobs(&pending.proposal.commands),
        })?;
        // What waits is looked at on top of what it was planned on, all else on the place itself.
        let at = self.overlay.iter().position(|(on_trial, _)| *on_trial == seq).unwrap_or(0);
        let dropped = self.overlay.split_off(at);
        if let Some((_, mark)) = dropped.first() {
            self.scene.rollback(*mark);
        }
        let sides = match &pending.status {
            PendingStatus::Applied(ack) => reverted_sides(&mut self.scene, &self.blobs, seq, ack),
            _ => proposal_sides(&mut self.scene, &self.blobs, pending.call, &pending.proposal),
        };
        let dropped: Vec<Seq> = dropped.into_iter().map(|(seq, _)| seq).collect();
        self.overlay_proposals(&dropped)?;
        Ok(sides?)
    }
}
