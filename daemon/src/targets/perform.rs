//! Performing approved proposals on a scene that stands for files: the same for a place file and for
//! a Rojo project. How the result gets onto the disk is the business of each.

use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Outcome, Proposal};
use scene_schemas::{Command, Fingerprint};

use crate::core::Refusal;
use crate::core::proposal::{Back, Blobs, perform, relocated};
use crate::core::scene::{Node, Scene};

/// A proposal that was performed on the scene.
pub(super) struct DoneOne {
    pub(super) seq: Seq,
    pub(super) call: Seq,
    pub(super) left: Vec<Left>,
    pub(super) backs: Vec<Back>,
}

/// What a command made or changed.
pub(super) enum Left {
    Node(Node),
    /// The memory, by what it was left as.
    Memory(Fingerprint),
}

/// What was performed, and what could not be.
pub(super) struct Performed {
    pub(super) done: Vec<DoneOne>,
    pub(super) refused: Vec<(Seq, String)>,
}

/// Performs proposals in order. One that cannot be performed is left out, and so are those that stand
/// on it. Where commands are of another epoch, they are addressed `by_path`.
pub(super) fn perform_all(
    scene: &mut Scene,
    proposals: &[(Seq, Seq, &Proposal)],
    blobs: &Blobs,
    by_path: bool,
) -> Performed {
    let mut performed = Performed { done: Vec::new(), refused: Vec::new() };
    for (seq, call, proposal) in proposals {
        let missing = proposal.after.iter().find(|before| {
            performed.refused.iter().any(|(refused, _): &(Seq, String)| refused == *before)
        });
        if let Some(missing) = missing {
            let reason = format!("It stands on proposal {missing}, which was not applied.");
            performed.refused.push((*seq, reason));
            continue;
        }
        scene.begin(*call);
        let mark = scene.mark();
        match perform_one(scene, &proposal.commands, blobs, by_path) {
            Ok((left, backs)) => {
                performed.done.push(DoneOne { seq: *seq, call: *call, left, backs });
            }
            Err(refusal) => {
                scene.rollback(mark);
                performed.refused.push((*seq, refusal.0));
            }
        }
    }
    performed
}

fn perform_one(
    scene: &mut Scene,
    commands: &[Command],
    blobs: &Blobs,
    by_path: bool,
) -> Result<(Vec<Left>, Vec<Back>), Refusal> {
    let (mut left, mut backs) = (Vec::new(), Vec::new());
    for command in commands {
        let done = if by_path {
            perform(scene, &relocated(scene, command.clone())?, blobs)?
        } else {
            perform(scene, command, blobs)?
        };
        left.push(match command {
            Command::EditMemory { .. } => {
                Left::Memory(Fingerprint::of(scene.memory().unwrap_or_default().as_bytes()))
            }
            _ => Left::Node(done.node),
        });
        backs.extend(done.backs);
    }
    Ok((left, backs))
}

/// What became of a command.
pub(super) fn outcome(scene: &Scene, left: Left) -> Outcome {
    let node = match left {
        Left::Memory(hash) => {
            return Outcome { id: Some(scene.id(scene.root())), fingerprint: Some(hash) };
        }
        Left::Node(node) => node,
    };
    if !scene.is_live(node) {
        return Outcome { id: None, fingerprint: None };
    }
    Outcome { id: Some(scene.written_id(node)), fingerprint: Some(scene.fingerprint(node, [])) }
}
