//! Tells a call which pending proposals concern what it names.
//!
//! A call sees the place with the pending proposals of its own task. It learns of those of other
//! tasks by the number and the author: in its answer, and in a refusal, which may also be due to a
//! proposal of its own.

use std::collections::BTreeSet;

use scene_schemas::entry::Seq;
use scene_schemas::proposal::Proposal;
use scene_schemas::refusal::Refusal;
use scene_schemas::{Command, InstancePath};
use serde_json::Value as Json;
use vector_core::proposal::{Footprint, describe_conflict};
use vector_core::workflow::{PendingProposal, PendingStatus};

use crate::Engine;

const MAX_NAMED: usize = 3;

/// The field of an answer that lists the pending proposals of others.
const FIELD: &str = "pendingOfOthers";

impl Engine {
    /// Appends to a refusal the pending proposals that delete or change what the call's arguments
    /// name.
    pub(crate) fn add_pending_conflicts(&self, own: Seq, refusal: Refusal, args: &Json) -> Refusal {
        let named = NamedInstances::new(args);
        let mut text = refusal.0;
        let mut count = 0;
        for (workflow, of) in self.active_workflows() {
            let who = if workflow == own { "you" } else { of.author() };
            let is_drafted = |it: &PendingProposal| it.status == PendingStatus::Drafted;
            let pending = of.proposals().filter(|(_, it)| it.status.is_pending());
            for (seq, pending) in pending.filter(|(_, it)| workflow == own || !is_drafted(it)) {
                let Some(does) = named.describe_conflict(&pending.proposal.commands) else {
                    continue;
                };
                if count == MAX_NAMED {
                    text.push_str(" Other proposals do too.");
                    return Refusal(text);
                }
                count += 1;
                text.push_str(&format!(" Proposal {seq} by {who}, pending, {does}."));
            }
        }
        Refusal(text)
    }

    /// Adds to the answer for a model the pending proposals of other tasks that touch what it
    /// proposes or asks about.
    pub(crate) fn add_pending_of_others(
        &mut self,
        own: Seq,
        proposal: Option<&Proposal>,
        answer: &mut Json,
        args: &Json,
    ) {
        let Json::Object(answer) = answer else {
            return;
        };
        let others: Vec<Seq> = self
            .active_workflows()
            .filter(|(workflow, _)| *workflow != own)
            .flat_map(|(_, it)| it.proposals())
            .filter(|(_, it)| it.status.is_pending() && it.status != PendingStatus::Drafted)
            .map(|(seq, _)| seq)
            .collect();
        if others.is_empty() || !self.has_model(own) {
            return;
        }
        let named = NamedInstances::new(args);
        let footprint = proposal.map_or_else(|| named.footprint(), Footprint::new);
        let touched = self.planner.find_touched(&footprint, &others, &self.executor);
        let described = touched.iter().take(MAX_NAMED).filter_map(|seq| {
            let (workflow, pending) = self.find_proposal(*seq)?;
            let who = self.workflow(workflow)?.author();
            let does = named.describe_conflict(&pending.proposal.commands);
            Some(match does {
                Some(does) => format!("Proposal {seq} by {who}, pending, {does}."),
                None => format!("Proposal {seq} by {who}, pending: {}", pending.proposal.title),
            })
        });
        let mut list: Vec<Json> = described.map(Json::String).collect();
        if touched.len() > MAX_NAMED {
            list.push(format!("and {} more", touched.len() - MAX_NAMED).into());
        }
        if !list.is_empty() {
            answer.insert(FIELD.to_owned(), list.into());
        }
    }
}

/// What the arguments of a call name.
struct NamedInstances {
    paths: BTreeSet<InstancePath>,
    selector: Option<String>,
}

impl NamedInstances {
    fn new(args: &Json) -> Self {
        let mut paths = BTreeSet::new();
        collect_paths(args, &mut paths);
        let selector = args.get("selector").and_then(Json::as_str).map(str::to_owned);
        Self { paths, selector }
    }

    fn describe_conflict(&self, commands: &[Command]) -> Option<String> {
        self.paths.iter().find_map(|path| describe_conflict(commands, path))
    }

    /// A selector reads the instances that it matches, a path all that is below it.
    fn footprint(&self) -> Footprint {
        match &self.selector {
            Some(selector) => Footprint::of_selector(selector),
            None => Footprint::of_trees(&self.paths),
        }
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
