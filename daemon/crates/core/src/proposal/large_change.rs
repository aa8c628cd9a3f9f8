//! The warning that a proposal changes or deletes a large part of the place.

use std::collections::BTreeSet;

use scene_schemas::proposal::WarningKind;
use scene_schemas::{Command, InstanceId};
use vector_place::count_noun;

use super::ProposalDraft;

/// The share of the place, in percent, from which a change of it is large, unless the user has set
/// another.
pub const LARGE_CHANGE: u32 = 10;

/// A change of fewer instances is never large.
const FEW: u64 = 20;

impl ProposalDraft<'_> {
    /// Warns if a large part of the instances from before the draft is changed or deleted.
    pub(super) fn judge_size(&mut self) {
        let mut changed: BTreeSet<&InstanceId> = BTreeSet::new();
        let (mut members, mut deleted) = (0, 0);
        for command in &self.commands {
            match command {
                Command::Set { target, .. }
                | Command::Move { target, .. }
                | Command::EditScript { target, .. } => {
                    if !self.created_ids.contains(&target.id) {
                        changed.insert(&target.id);
                    }
                }
                Command::SetMany { count, .. } => members += u64::from(*count),
                Command::Delete { count, .. } => deleted += u64::from(*count),
                Command::Create { .. }
                | Command::Clone { .. }
                | Command::Restore { .. }
                | Command::Insert { .. }
                | Command::EditMemory { .. } => {}
            }
        }
        let changed = changed.len() as u64 + members;
        let all = u64::from(self.scene.instance_count()) + deleted;
        let share = u64::from(self.scene.large_change());
        if changed + deleted < FEW || (changed + deleted) * 100 < share * all {
            return;
        }
        let what = match (changed, deleted) {
            (_, 0) => format!("changes {changed}"),
            (0, _) => format!("deletes {deleted}"),
            _ => format!("changes {changed} and deletes {deleted}"),
        };
        let all = count_noun(usize::try_from(all).unwrap_or(usize::MAX), "instance", "instances");
        let text = format!("It {what} of the {all} in the place.");
        self.add_warning(WarningKind::LargeChange, text);
    }
}
