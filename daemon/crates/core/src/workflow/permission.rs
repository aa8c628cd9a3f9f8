//! What only a person permits: to play the game in Studio and to have proposals reviewed, for one call or
//! for the whole workflow, to spend credits, to upload a file, and to have a task done.

use std::collections::BTreeMap;

use scene_schemas::entry::Seq;
use scene_schemas::permission::{Permission, PermissionAnswer};

use super::{CallStatus, Workflow, WorkflowCall};
use crate::tools::{self, FetchRequest};

/// The permissions that a person gave in a workflow.
#[derive(Debug, Default)]
pub(super) struct GrantedPermissions {
    /// What each call may do, once.
    calls: BTreeMap<Seq, Permission>,
    /// Whether all calls may play the game in Studio.
    plays_for_all: bool,
    /// Whether all calls may have proposals reviewed.
    reviews_for_all: bool,
}

/// Returns the refusal of a call that a person did not permit.
fn refusal_text(permission: &Permission) -> &'static str {
    match permission {
        Permission::Playtest => {
            "The person did not permit to play the game in Studio. Without `inStudio`, playtest plays it \
             on a copy and needs no permission."
        }
        Permission::Generate(_) => {
            "The person did not permit to spend credits on this model. Build it of parts, or look for one \
             with search_assets."
        }
        Permission::Upload(_) => {
            "The person did not permit this upload. Do not ask for the same again; go on without it."
        }
        Permission::Review(_) => {
            "The person did not permit the review. Do not ask for it again; the person decides without it."
        }
        Permission::Task(_) => {
            "The person did not permit the task. Do not ask for the same again; do it yourself, or go on \
             without it."
        }
    }
}

impl Workflow {
    /// Returns the calls that wait for a permission, oldest first.
    pub fn requested_permissions(&self) -> impl Iterator<Item = Seq> {
        self.calls.iter().filter(|(_, call)| call.requested_permission().is_some()).map(|it| *it.0)
    }

    /// Returns the permission that a call waits for. None if it does not wait for one.
    pub fn requested_permission(&self, call: Seq) -> Option<&Permission> {
        self.calls.get(&call)?.requested_permission()
    }

    /// Returns what a person permitted a call, besides playtests.
    pub fn granted_permission(&self, call: Seq) -> Option<&Permission> {
        self.permissions.calls.get(&call)
    }

    /// Returns the calls that were permitted to play the game in Studio and have no result. Whether
    /// they have played it is not recorded.
    pub fn open_playtests(&self) -> Vec<Seq> {
        let is_playtest = |call: &WorkflowCall| tools::plays_in_studio(&call.tool, &call.args);
        let open = self.open.iter().filter(|seq| self.calls.get(seq).is_some_and(is_playtest));
        open.filter(|call| self.may_play(**call)).copied().collect()
    }

    fn may_play(&self, call: Seq) -> bool {
        self.permissions.plays_for_all
            || self.permissions.calls.get(&call) == Some(&Permission::Playtest)
    }

    /// Whether a call may have a proposal reviewed.
    pub fn may_request_review(&self, call: Seq, proposal: Seq) -> bool {
        let is_it = |permission: &Permission| match permission {
            Permission::Review(offer) => offer.proposal == proposal,
            Permission::Playtest
            | Permission::Generate(_)
            | Permission::Upload(_)
            | Permission::Task(_) => false,
        };
        self.permissions.reviews_for_all || self.granted_permission(call).is_some_and(is_it)
    }

    /// Returns the permission that a call lacks to do what it requests.
    pub fn lacking_permission(&self, call: Seq, request: &FetchRequest) -> Option<Permission> {
        (request.is_playtest_in_studio() && !self.may_play(call)).then_some(Permission::Playtest)
    }

    /// A call that has its permission is planned again.
    pub(super) fn apply_permission(&mut self, call: Seq, answer: PermissionAnswer) {
        let Some(permission) = self.requested_permission(call).cloned() else {
            return;
        };
        let for_all = match &permission {
            Permission::Playtest => Some(&mut self.permissions.plays_for_all),
            Permission::Review(_) => Some(&mut self.permissions.reviews_for_all),
            Permission::Generate(_) | Permission::Upload(_) | Permission::Task(_) => None,
        };
        match (answer, for_all) {
            (PermissionAnswer::Task, Some(for_all)) => {
                *for_all = true;
                let kind = std::mem::discriminant(&permission);
                let is_asking = |seq: &Seq| {
                    self.requested_permission(*seq).map(std::mem::discriminant) == Some(kind)
                };
                for asking in self.requested_permissions().filter(is_asking).collect::<Vec<_>>() {
                    self.settle_call(asking, CallStatus::Open);
                }
            }
            (PermissionAnswer::Once | PermissionAnswer::Task, _) => {
                self.permissions.calls.insert(call, permission);
                self.settle_call(call, CallStatus::Open);
            }
            (PermissionAnswer::No, _) => {
                let refused = refusal_text(&permission).to_owned();
                self.settle_call(call, CallStatus::Refused(refused));
            }
        }
    }
}

impl WorkflowCall {
    fn requested_permission(&self) -> Option<&Permission> {
        match &self.status {
            CallStatus::NeedsPermission(permission) => Some(permission),
            CallStatus::Open
            | CallStatus::Questioned(_)
            | CallStatus::Proposed(..)
            | CallStatus::Answered(_)
            | CallStatus::Refused(_) => None,
        }
    }
}
