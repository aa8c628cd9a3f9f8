//! Adds to the refusal of a call the pending proposals that may have caused it.
//!
//! Calls are planned on top of pending proposals, so an instance that one of them deletes is
//! missing for the call.

use std::collections::BTreeSet;

use scene_schemas::InstancePath;
use scene_schemas::entry::Seq;
use scene_schemas::refusal::Refusal;
use serde_json::Value as Json;
use vector_core::proposal::describe_conflict;

use crate::Engine;

const MAX_NAMED: usize = 3;

impl Engine {
    /// Appends to a refusal the pending proposals that delete or change what the call's arguments
    /// name.
    pub(crate) fn add_pending_conflicts(&self, own: Seq, refusal: Refusal, args: &Json) -> Refusal {
        let mut paths = BTreeSet::new();
        collect_paths(args, &mut paths);
        let mut text = refusal.0;
        let mut named = 0;
        for (workflow, of) in self.active_workflows() {
            let who = match of.agent_name() {
                _ if workflow == own => "you",
                Some(agent) => agent,
                None => of.driver.as_str(),
            };
            for (seq, pending) in of.proposals().filter(|(_, it)| it.status.is_pending()) {
                let commands = &pending.proposal.commands;
                let Some(does) = paths.iter().find_map(|path| describe_conflict(commands, path))
                else {
                    continue;
                };
                if named == MAX_NAMED {
                    text.push_str(" Other proposals do too.");
                    return Refusal(text);
                }
                named += 1;
                text.push_str(&format!(" Proposal {seq} by {who}, pending, {does}."));
            }
        }
        Refusal(text)
    }
}

/// Collects the instance paths in a call's arguments.
fn collect_paths(args: &Json, paths: &mut BTreeSet<InstancePath>) {
    match args {
        Json::String(text) if text.starts_with("game") => {
            paths.extend(text.parse::<InstancePath>());
        }
        Json::Array(list) => list.iter().for_each(|it| collect_paths(it, paths)),
        Json::Object(map) => map.values().for_each(|it| collect_paths(it, paths)),
        _ => {}
    }
}
