//! What a proposal's pictures are drawn from: the place before it, and the place after it.
//!
//! A proposal that was not applied is done on trial on what is there, and one that was is taken back
//! on trial; the scene is as it was when that was looked at. What differs is seen, whatever commands
//! say. Nothing is drawn here.

use scene_schemas::Command;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Ack, Proposal};

use super::revert::go_back;
use super::settled;
use super::{Engine, EngineError, restored};
use crate::core::Refusal;
use crate::core::picture::{Frame, Picture, Solids, View, compare, draw, gather, shown};
use crate::core::proposal::{Blobs, Draft, attempt};
use crate::core::refusal::refuse;
use crate::core::scene::{Node, Scene, reflection};
use crate::core::workflow::Status;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// As it is before the proposal.
    Before,
    /// As it is with it.
    After,
}

/// A place before and after a proposal. What differs is marked in both.
#[derive(Debug, Clone, PartialEq)]
pub struct Sides {
    /// Before.
    pub before: Solids,
    /// After.
    pub after: Solids,
}

impl Sides {
    /// One of them.
    pub fn of(&self, when: When) -> &Solids {
        match when {
            When::Before => &self.before,
            When::After => &self.after,
        }
    }

    /// Draws one of them. Both show the same part of the world, from the same place.
    ///
    /// # Errors
    /// There is nothing to see.
    pub fn draw(&self, when: When, view: View, size: (u32, u32)) -> Result<Picture, Refusal> {
        let frames = [Frame::of(&self.before), Frame::of(&self.after)];
        let marked = [self.before.is_marked(), self.after.is_marked()];
        // Where only one side has what changes, that is looked at in both.
        let frame = match (frames, marked) {
            ([Some(before), _], [true, false]) => Some(before),
            ([_, Some(after)], [false, true]) => Some(after),
            ([Some(before), Some(after)], _) => Some(before.and(after)),
            ([before, after], _) => before.or(after),
        };
        match frame {
            Some(frame) => Ok(draw(self.of(when), view, size, frame)),
            None => refuse!("There is nothing to see: no part stands there."),
        }
    }
}

/// The sides of a proposal that is not applied, done on trial on what is there.
///
/// # Errors
/// It does not fit any more, or changes nothing that a picture shows.
pub fn sides(
    scene: &mut Scene,
    blobs: &Blobs,
    (call, proposal): (Seq, &Proposal),
) -> Result<Sides, Refusal> {
    let (before, after) = on_trial(scene, &proposal.commands, |scene| {
        scene.begin(call);
        proposal.commands.iter().try_for_each(|it| attempt(scene, it, blobs).map(drop))
    })?;
    told_apart(before, after)
}

/// The sides of a proposal that was applied, taken back on trial.
///
/// # Errors
/// What it left was changed since, or nothing differs that a picture shows.
pub fn sides_back(scene: &mut Scene, blobs: &Blobs, ack: &Ack) -> Result<Sides, Refusal> {
    let (after, before) = on_trial(scene, &ack.inverse, |scene| {
        // No call is called so: what is made again is not mistaken for something else.
        scene.begin(Seq(u64::MAX));
        let mut draft = Draft::new(scene, blobs);
        draft.goes_back();
        let witnesses = ack.witnesses.iter().map(Option::as_ref).chain(std::iter::repeat(None));
        let mut back = ack.inverse.iter().cloned().zip(witnesses);
        back.try_for_each(|(command, left)| go_back(&mut draft, command, left, false))
    })?;
    told_apart(before, after)
}

/// What is seen now and after something that is then taken back, root by root.
fn on_trial(
    scene: &mut Scene,
    commands: &[Command],
    work: impl FnOnce(&mut Scene) -> Result<(), Refusal>,
) -> Result<(Vec<Solids>, Vec<Solids>), Refusal> {
    let roots = roots(scene, commands);
    let all = |scene: &Scene| roots.iter().map(|root| gather(scene, *root)).collect::<Vec<_>>();
    let now = all(scene);
    let mark = scene.mark();
    let done = work(scene);
    let then = all(scene);
    scene.rollback(mark);
    done.map(|()| (now, then))
}

/// What is looked at for a change: the Workspace, and the services that the commands name. A model is
/// looked at as a whole.
fn roots(scene: &Scene, commands: &[Command]) -> Vec<Node> {
    let workspace = shown(scene, scene.root());
    let mut roots = vec![workspace];
    if workspace == scene.root() {
        return roots;
    }
    for command in commands {
        let segments = &command.target().path.segments;
        let service = segments.first().and_then(|it| scene.child(scene.root(), &it.name));
        roots.extend(service.filter(|it| reflection::is_service(scene.class(*it))));
    }
    let mut known = Vec::new();
    roots.retain(|root| !known.contains(root) && (known.push(*root), true).1);
    roots
}

/// The first root in which something differs.
fn told_apart(before: Vec<Solids>, after: Vec<Solids>) -> Result<Sides, Refusal> {
    for (mut before, mut after) in before.into_iter().zip(after) {
        compare(&mut before, &mut after);
        if before.is_marked() || after.is_marked() {
            return Ok(Sides { before, after });
        }
    }
    refuse!("It changes nothing that a picture shows: no part comes, goes or looks otherwise.")
}

impl Engine {
    /// The sides of a proposal of this place, whatever has become of it. What waits stays on trial.
    ///
    /// # Errors
    /// There is none, it does not fit any more, or changes nothing that a picture shows.
    pub fn sides_of(&mut self, seq: Seq) -> Result<Sides, EngineError> {
        let Some(record) = self.ledger.record(seq)? else {
            return Err(Refusal(format!("There is no proposal {seq}.")).into());
        };
        let state = settled::read(&self.ledger, record.workflow)?;
        let workflow = state.workflow(record.workflow);
        let Some(pending) = workflow.and_then(|workflow| workflow.proposal(seq)) else {
            return Err(Refusal(format!("Entry {seq} is not a proposal.")).into());
        };
        let of_ack = match &pending.status {
            Status::Applied(ack) => restored(&ack.inverse),
            _ => restored(&pending.proposal.commands),
        };
        self.fetch(of_ack)?;
        // What waits is looked at on top of what it was planned on, all else on the place itself.
        let at = self.trial.iter().position(|(on_trial, _)| *on_trial == seq).unwrap_or(0);
        let dropped = self.trial.split_off(at.min(self.trial.len()));
        if let Some((_, mark)) = dropped.first() {
            self.scene.rollback(*mark);
        }
        let sides = match &pending.status {
            Status::Applied(ack) => sides_back(&mut self.scene, &self.blobs, ack),
            _ => sides(&mut self.scene, &self.blobs, (pending.call, &pending.proposal)),
        };
        let dropped: Vec<Seq> = dropped.into_iter().map(|(seq, _)| seq).collect();
        self.redo(&dropped)?;
        Ok(sides?)
    }
}
