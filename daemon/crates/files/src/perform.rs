//! Performs approved proposals on a scene that represents files, for place files and Rojo projects
//! alike.
//!
//! Writing the result to disk is up to the target.

use scene_schemas::Refusal;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Outcome, Proposal};
use scene_schemas::{Command, Fingerprint};
use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::{BlobStore, UndoStep, perform_command, relocate_command};
use vector_place::{Node, Scene};

pub struct PerformedProposal {
    pub seq: Seq,
    /// The call that the proposal came from.
    pub call: Seq,
    /// The effect of each command.
    pub effects: Vec<CommandEffect>,
    /// The steps that revert the commands.
    pub undo_steps: Vec<UndoStep>,
}

/// What a command created or changed.
pub enum CommandEffect {
    Node(Node),
    /// Many instances.
    Many,
    /// The hash of the memory after the edit.
    Memory(Fingerprint),
}

/// The proposals that were performed and those that were refused.
pub struct PerformedCommands {
    pub done: Vec<PerformedProposal>,
    /// Each with its reason.
    pub refused: Vec<(Seq, String)>,
}

/// Performs proposals in order. Skips a proposal that cannot be performed and all proposals that
/// depend on it. `by_path` finds the targets of commands by path, for commands of another epoch.
pub fn perform_proposals(
    scene: &mut PlanningScene,
    proposals: &[(Seq, Seq, &Proposal)],
    blobs: &BlobStore,
    by_path: bool,
) -> PerformedCommands {
    let mut performed = PerformedCommands { done: Vec::new(), refused: Vec::new() };
    for (seq, call, proposal) in proposals {
        let missing = proposal.after.iter().find(|before| {
            performed.refused.iter().any(|(refused, _): &(Seq, String)| refused == *before)
        });
        if let Some(missing) = missing {
            let reason = format!("It depends on proposal {missing}, which was not applied.");
            performed.refused.push((*seq, reason));
            continue;
        }
        scene.begin_scope(*call);
        let mark = scene.journal_mark();
        match perform_commands(scene, &proposal.commands, blobs, by_path) {
            Ok((left, backs)) => {
                performed.done.push(PerformedProposal {
                    seq: *seq,
                    call: *call,
                    effects: left,
                    undo_steps: backs,
                });
            }
            Err(refusal) => {
                scene.rollback(mark);
                performed.refused.push((*seq, refusal.0));
            }
        }
    }
    performed
}

fn perform_commands(
    scene: &mut PlanningScene,
    commands: &[Command],
    blobs: &BlobStore,
    by_path: bool,
) -> Result<(Vec<CommandEffect>, Vec<UndoStep>), Refusal> {
    let (mut left, mut backs) = (Vec::new(), Vec::new());
    for command in commands {
        let done = if by_path {
            perform_command(scene, &relocate_command(scene, command.clone(), blobs)?, blobs)?
        } else {
            perform_command(scene, command, blobs)?
        };
        left.push(match command {
            Command::EditMemory { .. } => CommandEffect::Memory(Fingerprint::hash_bytes(
                scene.memory().unwrap_or_default().as_bytes(),
            )),
            Command::SetMany { .. } => CommandEffect::Many,
            _ => CommandEffect::Node(done.node),
        });
        backs.extend(done.backs);
    }
    Ok((left, backs))
}

/// The outcome of a command for the acknowledgement.
pub fn effect_outcome(scene: &Scene, left: CommandEffect) -> Outcome {
    let node = match left {
        CommandEffect::Memory(hash) => {
            return Outcome { id: Some(scene.id(scene.root())), fingerprint: Some(hash) };
        }
        CommandEffect::Many => return Outcome { id: None, fingerprint: None },
        CommandEffect::Node(node) => node,
    };
    if !scene.is_live(node) {
        return Outcome { id: None, fingerprint: None };
    }
    Outcome { id: Some(scene.written_id(node)), fingerprint: Some(scene.fingerprint(node, [])) }
}
