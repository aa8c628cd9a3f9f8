//! The parts of a task that a lead gives to workers and scouts: how they begin and end, and how the
//! changes of the workers become proposals of the lead's task.
//!
//! Each worker is a task of its own, in the same place, with its own pending proposals over it. When all
//! have submitted, their changes are merged in the order of the parts. A worker that has read what an
//! earlier one changed is told once more, and keeps or replaces what it made. All states are derived from
//! the ledger, so that a killed process continues where it was.

use std::fmt::Write as _;
use std::time::Duration;

use scene_schemas::entry::{Entry, Finish, InteractionMode, Seq};
use scene_schemas::proposal::{PlanRead, Proposal};
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::review::{AssignedPart, TaskRole};
use scene_schemas::workers::{PartOutcome, ProposalAuthor, TaskPart};
use scene_schemas::{Fingerprint, InstancePath};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use vector_core::overlay_merge::{
    MergedOverlays, MergedStep, Overlay, OverlayConflict, OverlayProposal, StaleRead, draft_merged,
    merge_overlays,
};
use vector_core::prompt::{ToolCall, fence_text, one_line};
use vector_core::proposal::{ProposalDraft, preview_text};
use vector_core::tools::{
    self, DelegatedPart, Delegation, DelegationKind, MERGE_PART, Plan, ToolAction, ToolSpec,
};
use vector_core::workflow::{PartProgress, Workflow, WorkflowInput, check_call};
use vector_ledger::LedgerError;
use vector_providers::ProviderKind;
use vector_providers::client::TaskModels;

use crate::model_request::unix_millis;
use crate::planner::Planner;
use crate::replan::join_reads;
use crate::{Engine, EngineError, ToolDriver, UserRequest, required_blobs, workflow_state};

/// The longest time that a scout may take, whatever a worker may.
const SCOUT_TIME: Duration = Duration::from_mins(1);

/// How often a worker is told of what it read and others changed.
const MAX_NOTICES: usize = 2;

/// How much of a change is shown to a worker that has read something else, in bytes.
const MAX_SHOWN: usize = 8_000;

/// How far a call is that gives parts to other models.
pub(crate) enum DelegationState {
    /// Others are at work.
    AtWork,
    /// Studio has to answer something first.
    NeedsStudio,
    /// It is settled, with an answer or a refusal.
    Settled,
}

/// A part that a worker has submitted.
struct SubmittedPart {
    progress: PartProgress,
    proposals: Vec<SubmittedProposal>,
    report: String,
}

/// A proposal of a worker.
struct SubmittedProposal {
    seq: Seq,
    call: Seq,
    proposal: Proposal,
}

/// The arguments of a call that joins the changes of a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MergeArgs {
    part: u32,
    worker: Seq,
    /// The blob with the merged commands, as a list of [`MergedStep`].
    commands: Fingerprint,
    notices: Vec<String>,
}

impl Engine {
    /// Whether other models are at work for a call, so that the place is not needed for it now.
    pub(crate) fn is_delegated(&self, workflow: Seq, call: Seq, tool: &str) -> bool {
        tools::find_tool(tool).is_ok_and(ToolSpec::delegates) && {
            let parts = self.workflow(workflow).map(|it| it.parts_of(call)).unwrap_or_default();
            parts.is_empty() || parts.iter().any(|it| !self.is_part_ready(it))
        }
    }

    /// Whether a part has ended, or its worker has submitted.
    fn is_part_ready(&self, part: &PartProgress) -> bool {
        part.outcome.is_some() || self.workflow(part.worker).is_some_and(Workflow::has_result)
    }

    /// Continues a call that gives parts to other models: starts them, records those that ended, and
    /// joins their results when all have.
    ///
    /// # Errors
    /// The ledger cannot be read or written.
    pub(crate) fn delegate(
        &mut self,
        workflow: Seq,
        call: Seq,
        tool: &str,
        args: &Json,
    ) -> Result<DelegationState, EngineError> {
        let delegation = match self.read_delegation(workflow, call, tool, args) {
            Ok(delegation) => delegation,
            Err(refusal) => {
                self.refuse_call(workflow, call, refusal)?;
                return Ok(DelegationState::Settled);
            }
        };
        self.note_started_parts(workflow, call, &delegation)?;
        self.start_parts(workflow, call, &delegation)?;
        self.end_failed_parts(workflow, call)?;
        let own = self.workflow(workflow);
        let parts: Vec<PartProgress> =
            own.map(|it| it.parts_of(call)).unwrap_or_default().into_iter().cloned().collect();
        if parts.len() < delegation.parts.len() {
            let why = "The model of the lead is not available, so that nobody can do the parts.";
            self.refuse_call(workflow, call, Refusal(format!("{tool}: {why}")))?;
            return Ok(DelegationState::Settled);
        }
        if !parts.iter().all(|it| self.is_part_ready(it)) {
            return Ok(DelegationState::AtWork);
        }
        match delegation.kind {
            DelegationKind::Scouts => {
                let answers = parts.iter().zip(&delegation.parts).map(|(part, asked)| {
                    let mut answer = json!({ "question": asked.instructions });
                    match &part.outcome {
                        Some(PartOutcome::Answered { text }) => answer["answer"] = json!(text),
                        Some(other) => answer["failed"] = json!(other.describe()),
                        None => {}
                    }
                    answer
                });
                let answer = Json::Array(answers.collect());
                let joined = WorkflowInput::PartsJoined { call, answer, merges: Vec::new() };
                self.handle_input(workflow, joined)?;
                Ok(DelegationState::Settled)
            }
            DelegationKind::Workers => self.join_workers(workflow, call, &parts),
        }
    }

    /// Returns the parts of a call.
    ///
    /// # Errors
    /// The reason that they cannot be given away.
    fn read_delegation(
        &self,
        workflow: Seq,
        call: Seq,
        tool: &str,
        args: &Json,
    ) -> Result<Delegation, Refusal> {
        check_call(self.executor.state(), workflow, call)?;
        let ToolAction::Delegate(read) = tools::find_tool(tool)?.run else {
            return refuse!("{tool}: It gives nothing to others.");
        };
        let named = |refusal: Refusal| Refusal(format!("{tool}: {refusal}"));
        let delegation = read(args.clone()).map_err(named)?;
        let mut own = self.workflow(workflow).into_iter().flat_map(Workflow::proposals);
        if delegation.kind == DelegationKind::Workers && own.any(|(_, it)| it.status.is_pending()) {
            return refuse!(
                "{tool}: Workers would not see your changes that are pending. Do the rest yourself, or \
                 end, and continue when the person has decided."
            );
        }
        Ok(delegation)
    }

    /// Records the tasks of parts that the lead's task does not know, because the process ended between
    /// the two entries.
    fn note_started_parts(
        &mut self,
        workflow: Seq,
        call: Seq,
        delegation: &Delegation,
    ) -> Result<(), EngineError> {
        let own = self.active_workflows().filter_map(|(worker, it)| {
            let part = it.role.assigned_part().filter(|it| (it.lead, it.call) == (workflow, call));
            Some((worker, part?))
        });
        let own: Vec<(Seq, AssignedPart)> = own.collect();
        for (worker, assigned) in own {
            let given = (assigned.number as usize).checked_sub(1);
            if let Some(given) = given.and_then(|at| delegation.parts.get(at)) {
                self.note_part(assigned, given, worker)?;
            }
        }
        Ok(())
    }

    fn note_part(
        &mut self,
        assigned: AssignedPart,
        given: &DelegatedPart,
        worker: Seq,
    ) -> Result<(), EngineError> {
        let AssignedPart { lead, call, number } = assigned;
        let model = self.workflow(worker).map_or_else(String::new, |it| it.driver.clone());
        let part = TaskPart { call, number, title: given.title.clone() };
        self.handle_input(lead, WorkflowInput::PartStarted { part, worker, model }).map(drop)
    }

    fn start_parts(
        &mut self,
        workflow: Seq,
        call: Seq,
        delegation: &Delegation,
    ) -> Result<(), EngineError> {
        for (number, given) in (1..).zip(&delegation.parts) {
            let Some(lead) = self.workflow(workflow) else { return Ok(()) };
            if lead.parts_of(call).iter().any(|it| it.part.number == number) {
                continue;
            }
            let assigned = AssignedPart { lead: workflow, call, number };
            let request = part_request(lead, assigned, given, delegation);
            let mode = lead.mode;
            let Some(ToolDriver::Provider(ProviderKind::Model(models))) =
                self.executor.driver(workflow)
            else {
                return Ok(());
            };
            let driver = ToolDriver::Provider(ProviderKind::Model(models.clone()));
            let driver = driver.for_role(request.role);
            let worker = self.begin_workflow(request, driver, mode)?;
            self.note_part(assigned, given, worker)?;
        }
        Ok(())
    }

    /// Ends the parts whose tasks ended without a result, whose models do not answer, or that take too
    /// long; and records the answers of scouts.
    fn end_failed_parts(&mut self, workflow: Seq, call: Seq) -> Result<(), EngineError> {
        let parts = self.workflow(workflow).map(|it| it.parts_of(call)).unwrap_or_default();
        let running = parts.into_iter().filter(|it| !self.is_part_ready(it)).cloned();
        let running: Vec<PartProgress> = running.collect();
        for PartProgress { worker, .. } in running {
            let at_work = self.workflow(worker).filter(|it| it.finished.is_none());
            let outcome = match at_work {
                None => self.read_outcome(worker)?,
                Some(own) => {
                    let Some(reason) = self.stop_reason(worker, own)? else { continue };
                    let finish = WorkflowInput::Finish { outcome: Finish::Failed };
                    self.handle_input(worker, finish)?;
                    PartOutcome::Failed { reason }
                }
            };
            self.handle_input(workflow, WorkflowInput::PartEnded { worker, outcome })?;
        }
        Ok(())
    }

    /// Returns why a worker or scout that is at work is stopped.
    fn stop_reason(&self, worker: Seq, own: &Workflow) -> Result<Option<String>, LedgerError> {
        if let Some(trouble) = own.conversation().trouble() {
            return Ok(Some(trouble.message.clone()));
        }
        let Some((limit, left)) = self.part_time(worker, own)? else { return Ok(None) };
        Ok(left.is_zero().then(|| format!("It took longer than {} seconds.", limit.as_secs())))
    }

    /// Returns how long a worker or scout may take, and how much of that is left.
    fn part_time(
        &self,
        worker: Seq,
        own: &Workflow,
    ) -> Result<Option<(Duration, Duration)>, LedgerError> {
        let Some(ToolDriver::Provider(ProviderKind::Model(models))) = self.executor.driver(worker)
        else {
            return Ok(None);
        };
        let usual = models.config.worker_timeout;
        let limit = match own.role {
            TaskRole::Worker { .. } => usual,
            TaskRole::Scout { .. } => usual.min(SCOUT_TIME),
            TaskRole::Solo | TaskRole::Reviewer { .. } | TaskRole::Lead {} => return Ok(None),
        };
        let began = self.executor.ledger().record_at(worker)?.map_or(0, |it| it.at);
        let passed = Duration::from_millis(unix_millis().saturating_sub(began));
        Ok(Some((limit, limit.saturating_sub(passed))))
    }

    /// Returns the models of a worker or scout, and how long it may still take. None for other tasks.
    pub fn part_deadline(&self, worker: Seq) -> Option<(TaskModels, Duration)> {
        let own = self.workflow(worker)?;
        let (_, left) = self.part_time(worker, own).ok()??;
        match self.executor.driver(worker)? {
            ToolDriver::Provider(ProviderKind::Model(models)) => Some((models.clone(), left)),
            _ => None,
        }
    }

    /// Returns what became of a part whose task has ended.
    fn read_outcome(&self, worker: Seq) -> Result<PartOutcome, LedgerError> {
        let ended = |own: &Workflow| match (own.role, own.finished, own.messages().last()) {
            (TaskRole::Scout { .. }, Some(Finish::Done), Some(text)) => {
                PartOutcome::Answered { text: text.to_owned() }
            }
            (_, Some(Finish::NotApproved), _) => {
                PartOutcome::Failed { reason: "The person stopped it.".to_owned() }
            }
            (_, Some(_), _) => {
                PartOutcome::Failed { reason: "Its model ended without a result.".to_owned() }
            }
            // Another process has it, or nobody resumes it.
            (_, None, _) => PartOutcome::Failed { reason: "It was interrupted.".to_owned() },
        };
        if let Some(own) = self.workflow(worker) {
            return Ok(ended(own));
        }
        let state = workflow_state::read_workflow(self.executor.ledger(), worker)?;
        let lost = || PartOutcome::Failed { reason: "Its task is gone.".to_owned() };
        Ok(state.workflow(worker).map_or_else(lost, ended))
    }

    /// Merges the changes of the workers that have submitted, and makes proposals of them.
    fn join_workers(
        &mut self,
        workflow: Seq,
        call: Seq,
        parts: &[PartProgress],
    ) -> Result<DelegationState, EngineError> {
        if self.check_readable().is_err() {
            return Ok(DelegationState::NeedsStudio);
        }
        let submitted = self.read_submitted(parts)?;
        let blobs = submitted.iter().flat_map(|it| &it.proposals);
        let blobs = blobs.flat_map(|it| required_blobs(&it.proposal.commands)).collect();
        self.load_blobs(blobs)?;
        self.begin_questions(workflow, call);
        let names: Vec<String> = submitted.iter().map(|it| part_name(&it.progress)).collect();
        let overlays: Vec<Overlay<'_>> =
            submitted.iter().zip(&names).map(|(part, name)| overlay_of(part, name)).collect();
        let mark = self.planner.scene.journal_mark();
        let merged = merge_overlays(&mut self.planner.scene, &overlays, &self.planner.blobs);
        let missing = self.planner.scene.take_missing();
        self.planner.scene.rollback(mark);
        if self.ask_for(&missing) {
            return Ok(DelegationState::NeedsStudio);
        }
        self.planner.end_questions();
        if self.send_notices(&submitted, &merged)? {
            return Ok(DelegationState::AtWork);
        }
        for part in &submitted {
            let proposals = part.proposals.iter().map(|it| it.seq).collect();
            let outcome = PartOutcome::Submitted { proposals, report: part.report.clone() };
            let ended = WorkflowInput::PartEnded { worker: part.progress.worker, outcome };
            self.handle_input(workflow, ended)?;
        }
        let (merges, blobs) = merge_calls(&submitted, &merged);
        let answer = joined_answer(parts, &submitted, &merged);
        let joined = WorkflowInput::PartsJoined { call, answer, merges };
        self.handle_with_blobs(workflow, joined, blobs)?;
        Ok(DelegationState::Settled)
    }

    /// Reads the submitted proposals of parts, in the order of the parts.
    fn read_submitted(&self, parts: &[PartProgress]) -> Result<Vec<SubmittedPart>, LedgerError> {
        let mut submitted = Vec::new();
        for progress in parts {
            let own = self.workflow(progress.worker);
            let (seqs, report) = match (&progress.outcome, own) {
                (Some(PartOutcome::Submitted { proposals, report }), _) => {
                    (proposals.clone(), report.clone())
                }
                (None, Some(own)) => {
                    let said = own.submitted_summary().or_else(|| own.messages().last());
                    (own.drafted_proposals(), said.unwrap_or_default().to_owned())
                }
                (Some(_), _) | (None, None) => continue,
            };
            let mut proposals = Vec::new();
            for seq in seqs {
                if let Some((_, it)) = self.find_proposal(seq) {
                    let (call, proposal) = (it.call, it.proposal.clone());
                    proposals.push(SubmittedProposal { seq, call, proposal });
                } else if let Some(record) = self.executor.ledger().record_at(seq)?
                    && let Entry::Proposed { call, proposal, .. } = record.entry
                {
                    proposals.push(SubmittedProposal { seq, call, proposal: *proposal });
                }
            }
            submitted.push(SubmittedPart { progress: progress.clone(), proposals, report });
        }
        Ok(submitted)
    }

    /// Tells workers what they read and earlier parts changed, unless they know it or were told twice.
    /// Returns true if one of them goes back to work.
    fn send_notices(
        &mut self,
        submitted: &[SubmittedPart],
        merged: &MergedOverlays<'_>,
    ) -> Result<bool, EngineError> {
        let mut is_any = false;
        for (at, part) in submitted.iter().enumerate() {
            let worker = part.progress.worker;
            let Some(own) = self.workflow(worker).filter(|it| it.is_submitted()) else { continue };
            let told = own.reopenings();
            let last = told.last().copied().unwrap_or(Seq(0));
            // After a notice, it has seen all that others had changed then.
            let is_new =
                |read: &&StaleRead| read.reader.overlay == at && read.writer.proposal > last;
            let stale: Vec<_> = merged.stale_reads.iter().filter(is_new).collect();
            if stale.is_empty() || told.len() >= MAX_NOTICES {
                continue;
            }
            let text = stale_notice(submitted, &stale);
            self.handle_input(worker, WorkflowInput::Reopened { text })?;
            is_any = true;
        }
        Ok(is_any)
    }

    /// Plans a call that joins the changes of a worker: its merged commands, as a proposal.
    pub(crate) fn plan_merge(
        &mut self,
        workflow: Seq,
        call: Seq,
        args: &Json,
        base: &Fingerprint,
    ) -> Result<Result<Plan, Refusal>, EngineError> {
        let Ok(args) = serde_json::from_value::<MergeArgs>(args.clone()) else {
            return Ok(refuse!("The changes of the worker are not readable."));
        };
        let own = self.workflow(workflow);
        let part = own.and_then(|it| it.parts().find(|it| it.worker == args.worker)).cloned();
        let steps = self.executor.ledger().read_blob(&args.commands)?;
        let steps = steps.and_then(|it| serde_json::from_slice::<Vec<MergedStep>>(&it).ok());
        let (Some(PartProgress { part, worker, model, outcome }), Some(steps)) = (part, steps)
        else {
            return Ok(refuse!("The changes of part {} are lost.", args.part));
        };
        let Some(PartOutcome::Submitted { proposals, .. }) = outcome else {
            return Ok(refuse!("Part {} has no result.", args.part));
        };
        let blobs = steps.iter().flat_map(|it| required_blobs(&it.commands)).collect();
        self.load_blobs(blobs)?;
        let reads = self.reads_of(&proposals)?;
        let Planner { scene, blobs, .. } = &mut self.planner;
        scene.begin_scope(call);
        let mark = scene.journal_mark();
        let mut draft = ProposalDraft::new(scene, blobs);
        draft.set_title(part.title.clone());
        let drafted = draft_merged(&mut draft, &steps).and_then(|()| draft.finish(base));
        Ok(match drafted {
            Ok(mut proposal) => {
                proposal.reads = join_reads(&proposal.reads, &reads);
                let TaskPart { number, title, .. } = part;
                let notices = args.notices;
                proposal.made_by =
                    Some(ProposalAuthor { part: number, title, worker, model, notices });
                Ok(Plan::Propose(Box::new(proposal), Json::Null))
            }
            Err(refusal) => {
                self.planner.scene.rollback(mark);
                refuse!("The changes of part {} do not fit any more: {refusal}", part.number)
            }
        })
    }

    /// Returns what proposals of a worker read.
    fn reads_of(&self, proposals: &[Seq]) -> Result<Vec<PlanRead>, LedgerError> {
        let mut reads = Vec::new();
        for seq in proposals {
            let record = self.executor.ledger().record_at(*seq)?;
            if let Some(Entry::Proposed { proposal, .. }) = record.map(|it| it.entry) {
                reads = join_reads(&reads, &proposal.reads);
            }
        }
        Ok(reads)
    }

    /// Ends the tasks of workers and scouts whose results nobody waits for any more: they are joined, or
    /// the lead's task is over.
    ///
    /// # Errors
    /// The ledger cannot be read or written.
    pub fn settle_parts(&mut self) -> Result<(), EngineError> {
        let ended = self.active_workflows().filter_map(|(worker, own)| {
            let assigned = own.role.assigned_part().filter(|_| own.finished.is_none())?;
            let lead = self.workflow(assigned.lead).filter(|it| it.finished.is_none());
            let Some(lead) = lead else { return Some((worker, Finish::NotApproved)) };
            if lead.is_open_call(assigned.call) {
                return None;
            }
            let is_joined = lead.parts().any(|it| it.worker == worker && it.outcome.is_some());
            Some((worker, if is_joined { Finish::Done } else { Finish::NotApproved }))
        });
        let ended: Vec<(Seq, Finish)> = ended.collect();
        for (worker, outcome) in ended {
            self.handle_input(worker, WorkflowInput::Finish { outcome })?;
        }
        Ok(())
    }
}

fn part_request(
    lead: &Workflow,
    assigned: AssignedPart,
    given: &DelegatedPart,
    delegation: &Delegation,
) -> UserRequest {
    let AssignedPart { lead: task, call, number } = assigned;
    let requests = fence_text(&lead.requests().join("\n\n"), "");
    let (goal, interaction, role) = match delegation.kind {
        DelegationKind::Workers => {
            let others = (1..).zip(&delegation.parts).filter(|(other, _)| *other != number);
            let others = others.fold(String::new(), |mut text, (other, it)| {
                let _ = writeln!(text, "- part {other}: {} ({})", it.title, path_list(&it.writes));
                text
            });
            let goal = format!(
                "Do part {number} of a task: {}\n\n{}\n\nIt changes what is at or below {}.\nOthers do, \
                 at the same time:\n{others}This is the whole request, for context:\n{requests}",
                given.title,
                given.instructions,
                path_list(&given.writes)
            );
            (goal, InteractionMode::Act, TaskRole::Worker { lead: task, call, part: number })
        }
        DelegationKind::Scouts => {
            let goal =
                format!("{}\n\nIt is asked for this request:\n{requests}", given.instructions);
            (goal, InteractionMode::Ask, TaskRole::Scout { lead: task, call, part: number })
        }
    };
    let attached = lead.attached.clone();
    UserRequest { goal, attached, interaction, role, ..UserRequest::default() }
}

/// Returns the name of a part as notices and conflicts tell it.
fn part_name(progress: &PartProgress) -> String {
    format!("part {}", progress.part.number)
}

fn path_list(paths: &[InstancePath]) -> String {
    paths.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn overlay_of<'a>(part: &'a SubmittedPart, name: &'a str) -> Overlay<'a> {
    let proposals = part.proposals.iter().map(|it| OverlayProposal {
        seq: it.seq,
        call: it.call,
        proposal: &it.proposal,
    });
    Overlay { name, proposals: proposals.collect() }
}

/// Returns the calls that join the merged changes, and the blobs with their commands.
fn merge_calls(
    submitted: &[SubmittedPart],
    merged: &MergedOverlays<'_>,
) -> (Vec<ToolCall>, Vec<Vec<u8>>) {
    let (mut calls, mut blobs) = (Vec::new(), Vec::new());
    for (at, part) in submitted.iter().enumerate() {
        let taken = merged.taken.iter().filter(|it| it.origin.overlay == at);
        let taken = taken.filter(|it| !it.commands.is_empty());
        let steps: Vec<MergedStep> =
            taken.map(|it| MergedStep { call: it.call, commands: it.commands.to_vec() }).collect();
        if steps.is_empty() {
            continue;
        }
        let blob = serde_json::to_vec(&steps).unwrap_or_default();
        let args = MergeArgs {
            part: part.progress.part.number,
            worker: part.progress.worker,
            commands: Fingerprint::hash_bytes(&blob),
            notices: merged.notices_of(at, &part_name(&part.progress)),
        };
        let args = serde_json::to_value(args).unwrap_or_default();
        calls.push(ToolCall::new(MERGE_PART, args));
        blobs.push(blob);
    }
    (calls, blobs)
}

/// Returns what the lead is told of its parts.
fn joined_answer(
    parts: &[PartProgress],
    submitted: &[SubmittedPart],
    merged: &MergedOverlays<'_>,
) -> Json {
    let of_part = |progress: &PartProgress| {
        let number = progress.part.number;
        let at = submitted.iter().position(|it| it.progress.part.number == number);
        let mut answer = json!({ "part": number, "title": progress.part.title });
        if let Some(at) = at {
            let taken = merged.taken.iter().filter(|it| it.origin.overlay == at).count();
            answer["changes"] = json!(submitted[at].proposals.len());
            answer["taken"] = json!(taken);
            answer["report"] = json!(submitted[at].report);
            answer["notices"] = json!(merged.notices_of(at, &part_name(progress)));
        } else {
            let why = progress.outcome.as_ref().map_or_else(String::new, PartOutcome::describe);
            answer["failed"] = json!(why);
        }
        answer
    };
    json!({
        "parts": parts.iter().map(of_part).collect::<Vec<_>>(),
        "conflicts": merged.conflicts.iter().map(conflict_answer).collect::<Vec<_>>(),
    })
}

/// Returns a conflict for the lead, which resolves it: in words, and both sides as data.
fn conflict_answer(conflict: &OverlayConflict) -> Json {
    json!({ "says": conflict.describe(), "sides": conflict.kind })
}

/// Describes to a worker what it read and others changed, with its own changes that depend on it.
fn stale_notice(submitted: &[SubmittedPart], stale: &[&StaleRead]) -> String {
    let mut text = String::from(
        "Others have changed what you have read. Their changes are made before yours:\n",
    );
    for read in stale {
        let writer = &submitted[read.writer.overlay];
        let change = writer.proposals.iter().find(|it| it.seq == read.writer.proposal);
        let reader = &submitted[read.reader.overlay];
        let own = reader.proposals.iter().find(|it| it.seq == read.reader.proposal);
        let title = own.map_or("", |it| it.proposal.title.as_str());
        let _ = writeln!(
            text,
            "- your proposal {} ({}) depends on {}",
            read.reader.proposal,
            one_line(title),
            read.describe_subjects()
        );
        if let Some(change) = change {
            let shown = preview_text(&change.proposal.preview, MAX_SHOWN);
            let _ = writeln!(text, "  part {} did:", writer.progress.part.number);
            text.push_str(&fence_text(&shown, ""));
        }
    }
    text.push_str(
        "If your changes are right with that, end with a message that says so. If not, change what you \
         made, then end. Do not do again what the others did.",
    );
    text
}
