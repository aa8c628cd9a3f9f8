//! Drafting the merged commands of an overlay as one proposal.

use std::collections::HashMap;

use scene_schemas::command::InstanceId;
use scene_schemas::entry::Seq;
use scene_schemas::{Command, Refusal, Target};
use serde::{Deserialize, Serialize};

use crate::proposal::{ProposalDraft, is_own, map_targets, renumber_ids};

/// The commands of a merged proposal, to be drafted with those of others of its overlay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MergedStep {
    /// The position of its call. The ids `new:K` of its commands belong to it.
    pub call: Seq,
    pub commands: Vec<Command>,
}

/// Drafts the merged commands of one overlay, in their order. Instances that they create get the ids of
/// the new proposal.
///
/// # Errors
/// A command cannot be performed on the scene of the draft.
pub fn draft_merged(draft: &mut ProposalDraft<'_>, steps: &[MergedStep]) -> Result<(), Refusal> {
    // What earlier steps created: by the ids with which later ones name it.
    let mut created: HashMap<InstanceId, InstanceId> = HashMap::new();
    for step in steps {
        let mut own: HashMap<InstanceId, InstanceId> = HashMap::new();
        for command in &step.commands {
            let scene = draft.scene();
            let mut found = map_targets(command.clone(), &mut |target| {
                let known = if is_own(&target.id) { &own } else { &created };
                let id = known.get(&target.id).unwrap_or(&target.id);
                let node = scene.by_id(id).filter(|node| scene.is_live(*node));
                let path = node.map_or_else(|| target.path.clone(), |node| scene.path(node));
                Ok(Target { id: id.clone(), path })
            })?;
            if let Command::SetMany { table, .. } = &mut found
                && let Some(relocated) =
                    scene.relocate_table(&*scene.table(table, draft.blobs())?)?
            {
                *table = scene.add_table(relocated);
            }
            let next = draft.scene().next_new_number();
            draft.push_command(renumber_ids(next, found, &mut own))?;
        }
        for (old, new) in own {
            if let Some(number) = old.0.strip_prefix("new:") {
                created.insert(InstanceId(format!("new:{}.{number}", step.call)), new);
            }
        }
    }
    Ok(())
}
