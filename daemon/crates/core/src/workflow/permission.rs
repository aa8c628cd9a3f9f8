//! The permission to play the game in Studio, which only a person gives: for one call, or for the
//! whole workflow.

use std::collections::BTreeSet;

use scene_schemas::entry::Seq;
use scene_schemas::playtest::{Permission, PermissionAnswer};

use super::{CallStatus, Workflow, WorkflowCall};
use crate::tools::{self, FetchRequest};

/// The refusal of a call that was not permitted to play the game.
pub(super) const NO_PLAYTEST: &str = "The person did not permit to play the game in Studio. \
                                      Without `inStudio`, playtest plays it on a copy and needs no \
                                      permission.";

/// The permission of a workflow to play the game in Studio.
#[derive(Debug, Default)]
pub(super) struct PlaytestPermission {
    /// The calls that may, each of them once.
    calls: BTreeSet<Seq>,
    /// Whether all calls may.
    is_for_all: bool,
}

impl Workflow {
    /// Returns the calls that wait for a permission, oldest first.
    pub fn requested_permissions(&self) -> impl Iterator<Item = Seq> {
        let is_asking = |call: &WorkflowCall| matches!(call.status, CallStatus::NeedsPermission(_));
        self.calls.iter().filter(move |(_, call)| is_asking(call)).map(|(seq, _)| *seq)
    }

    /// Returns the calls that were permitted to play the game in Studio and have no result. Whether
    /// they have played it is not recorded.
    pub fn open_playtests(&self) -> Vec<Seq> {
        let is_playtest = |call: &WorkflowCall| tools::plays_in_studio(&call.tool, &call.args);
        let open = self.open.iter().filter(|seq| self.calls.get(seq).is_some_and(is_playtest));
        let may = |seq: &&Seq| self.playtests.is_for_all || self.playtests.calls.contains(seq);
        open.filter(may).copied().collect()
    }

    /// Returns the permission that a call lacks to do what it requests.
    pub fn lacking_permission(&self, call: Seq, request: &FetchRequest) -> Option<Permission> {
        let needed = request.needed_permission()?;
        let has_it = match needed {
            Permission::Playtest => {
                self.playtests.is_for_all || self.playtests.calls.contains(&call)
            }
        };
        (!has_it).then_some(needed)
    }

    /// A call that has its permission is planned again.
    pub(super) fn apply_permission(&mut self, call: Seq, answer: PermissionAnswer) {
        let Some(CallStatus::NeedsPermission(Permission::Playtest)) =
            self.calls.get(&call).map(|call| &call.status)
        else {
            return;
        };
        match answer {
            PermissionAnswer::Once => {
                self.playtests.calls.insert(call);
                self.settle_call(call, CallStatus::Open);
            }
            PermissionAnswer::Task => {
                self.playtests.is_for_all = true;
                for asking in self.requested_permissions().collect::<Vec<_>>() {
                    self.settle_call(asking, CallStatus::Open);
                }
            }
            PermissionAnswer::No => {
                self.settle_call(call, CallStatus::Refused(NO_PLAYTEST.to_owned()));
            }
        }
    }
}
