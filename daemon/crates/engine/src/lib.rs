//! The engine: the loop that performs the next step of each workflow.
//!
//! It turns inputs into durable entries, plans calls on the scene, prepares requests to the
//! provider, and hands approved proposals to the target. It must not know HTTP, pages or terminals.
//! It makes no decisions: it reports that a decision is due.

mod apply;
pub mod budget;
mod check;
mod context_selection;
pub mod conversation;
mod delegation;
mod executor;
pub mod fetch;
mod file_parts;
mod member_rows;
pub mod model_request;
pub mod parallel_reading;
mod pending_conflict;
mod plan;
mod plan_checks;
mod planner;
mod playtest;
pub mod proposal_solids;
mod rebase;
mod recover;
pub mod render_input;
mod replan;
mod restore;
mod result_reviews;
mod revert;
pub mod review_gate;
mod reviews;
pub mod settings;
mod situation;
mod studio_memory;
mod studio_sync;
mod target;
pub mod task_estimate;
mod tasks;
mod views;
mod workflow_run;
pub mod workflow_state;

use std::collections::BTreeSet;
use std::path::PathBuf;

use scene_schemas::Refusal;
use scene_schemas::api::ProposedScript;
use scene_schemas::entry::{
    Approver, AttachmentSnapshot, Entry, Finish, InteractionMode, Record, Seq,
};
use scene_schemas::proposal::Mode;
use scene_schemas::refusal::refuse;
use scene_schemas::review::TaskRole;
use scene_schemas::rule::TaskRule;
use scene_schemas::{Command, Fingerprint, InstanceId};
use vector_core::planning_scene::PlanningScene;
use vector_core::policy;
use vector_core::prompt::ToolCall;
use vector_core::proposal::{ProposalDraft, proposed_script};
use vector_core::tools::{ToolSpec, find_tool};
use vector_core::workflow::{AGENT, CALLS, WantedWork, Workflow, WorkflowInput};
use vector_files::place_file::{PlaceError, PlaceFile};
use vector_ledger::LedgerError;
use vector_providers::client::TaskModels;
use vector_providers::{ProviderKind, offline};

pub use self::apply::name_proposals;
pub use self::file_parts::restore_interrupted_files;
pub use self::member_rows::read_member_rows;
pub use self::planner::PlanState;
pub use self::recover::{RecoveredRuns, affected_files, recover_place, recover_runs};
pub use self::revert::find_applied_ack;
pub use self::reviews::REQUEST_REVIEW;
pub use self::target::{HybridTarget, PlaceFileTarget, RojoTarget, Target, studio};
pub use self::workflow_run::WorkflowRun;
use self::workflow_state::WorkflowCache;

use self::apply::ApplyProgress;
use self::check::SlowGame;
use self::delegation::DelegationState;
use self::executor::Executor;
use self::model_request::RequestMemory;
use self::planner::Planner;
use self::replan::join_reads;

/// The call by which a user reverts a proposal. Models cannot make it.
pub const REVERT: &str = "revert";

/// The call by which a user restores a checkpoint. Models cannot make it.
pub const RESTORE: &str = "restore_checkpoint";

/// An error that stops the engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The ledger cannot be read or written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The place cannot be read or written.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The input is not valid in the current state.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The place was written, but the ledger could not record it.
    #[error(
        "{place} was written and contains {}, but the ledger could not record it. {source} Do not \
         repeat the request: the change is recorded before anything else is done with the file.",
        apply::name_proposals(proposals)
    )]
    NotRecorded {
        /// The path of the place file or project.
        place: String,
        /// The proposals that were written to the place.
        proposals: Vec<Seq>,
        /// The reason the ledger could not record them.
        source: Box<LedgerError>,
    },
}

/// The event the engine waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    Decision(Seq),
    /// Studio has to apply a proposal or answer a question.
    Studio,
    /// The model's next message: see [`Engine::prepare_request`].
    Model,
    /// A fetch that a call needs: see [`Engine::find_fetch`].
    Fetch(Seq),
    /// The user's answer to a question of the model.
    Answer(Seq),
    /// The user's confirmation to continue after a failure.
    GoAhead,
    /// Other models are at work for it, or it waits to be merged with their results.
    Workers,
    /// The agent's next call. There is no time limit.
    Call,
    Nothing,
}

/// The source of a workflow's tool calls.
#[derive(Debug)]
pub enum ToolDriver {
    Provider(ProviderKind),
    /// A fixed list of calls. The workflow is done when all of them are.
    Calls,
    /// An external agent, which calls at any time.
    Agent {
        name: String,
    },
    /// A model that is no longer available.
    Missing {
        name: String,
        /// The reason, as a sentence.
        why: String,
    },
}

impl ToolDriver {
    /// Returns the driver for a role: the same, with the model that has this role.
    #[must_use]
    pub fn for_role(self, role: TaskRole) -> Self {
        match self {
            Self::Provider(ProviderKind::Model(models)) => {
                Self::Provider(ProviderKind::Model(models.for_role(role)))
            }
            other @ (Self::Provider(ProviderKind::Offline)
            | Self::Calls
            | Self::Agent { .. }
            | Self::Missing { .. }) => other,
        }
    }

    /// Returns the models, if the driver is a model.
    pub(crate) fn models(&self) -> Option<&TaskModels> {
        match self {
            Self::Provider(ProviderKind::Model(models)) => Some(models),
            Self::Provider(ProviderKind::Offline)
            | Self::Calls
            | Self::Agent { .. }
            | Self::Missing { .. } => None,
        }
    }

    /// Returns the driver's name in the ledger.
    pub fn name(&self) -> String {
        match self {
            Self::Provider(provider) => provider.name(),
            Self::Calls => CALLS.to_owned(),
            Self::Agent { name } => format!("{AGENT}{name}"),
            Self::Missing { name, .. } => name.clone(),
        }
    }
}

/// The request that begins a workflow.
#[derive(Debug, Clone, Default)]
pub struct UserRequest {
    pub goal: String,
    pub attached: Vec<AttachmentSnapshot>,
    /// How far the model may go.
    pub interaction: InteractionMode,
    /// The previous task of the conversation; None if this begins a new one.
    pub follows: Option<Seq>,
    pub role: TaskRole,
    /// The call of the agent that asked for the task.
    pub requested_by: Option<Seq>,
    /// What was selected in Studio when a person sent it, as far as the client told.
    pub selected: Vec<InstanceId>,
}

impl From<&str> for UserRequest {
    fn from(goal: &str) -> Self {
        Self { goal: goal.to_owned(), ..Self::default() }
    }
}

/// Called with every entry once it is durable.
pub type EntryListener = Box<dyn FnMut(&Record) + Send>;

/// A place and its active workflows.
///
/// The executor knows the workflows, the planner the scene, and the target where approved
/// proposals go. The engine makes them work together, in `impl` blocks of one module per subject.
pub struct Engine {
    executor: Executor,
    planner: Planner,
    target: Target,
    applying: ApplyProgress,
    requests: RequestMemory,
    /// The runs whose proposals are being reverted.
    reverted_runs: WorkflowCache,
    /// Proposals beyond this mode need the user's approval, whatever mode their workflow began
    /// with.
    mode_limit: Mode,
    /// The calls whose proposal Studio did not apply for want of a permission. A person has to
    /// approve it again: the mode would only ask Studio over and over.
    unpermitted_calls: BTreeSet<Seq>,
    is_dry_run: bool,
    /// Whether a proposal is approved only after a review by a model.
    is_review_required: bool,
    /// The leads whose result no model can review.
    unreviewed_results: BTreeSet<Seq>,
    /// Whether proposals are checked by playing the game.
    has_play_check: bool,
    slow_game: SlowGame,
}

impl Engine {
    /// Marks workflows that begin from now on as served: the next daemon resumes requests that are
    /// cut off.
    pub fn mark_served(&mut self) {
        self.executor.mark_served();
    }

    /// Returns the folder whose settings apply to the place; None if the place is open in Studio.
    pub fn settings_folder(&self) -> Option<PathBuf> {
        self.target.driver().settings_folder()
    }

    fn release(self) {
        self.executor.release();
        std::mem::forget(self.planner);
    }

    /// Returns the place file; None if the target is not a place file.
    pub fn place_file(&self) -> Option<&PlaceFile> {
        self.target.driver().place_file()
    }

    /// Returns the scene, with the pending proposals of the task that was planned last.
    pub fn scene(&self) -> &PlanningScene {
        &self.planner.scene
    }

    /// Decides what an input means, appends the resulting entries durably, and only then acts on
    /// them.
    pub fn handle_input(
        &mut self,
        workflow: Seq,
        input: WorkflowInput,
    ) -> Result<Vec<Record>, EngineError> {
        self.handle_with_blobs(workflow, input, Vec::new())
    }

    fn handle_with_blobs(
        &mut self,
        workflow: Seq,
        input: WorkflowInput,
        blobs: Vec<Vec<u8>>,
    ) -> Result<Vec<Record>, EngineError> {
        let entries = self.executor.decide(workflow, input)?;
        self.append_entries(workflow, entries, blobs)
    }

    /// Appends entries durably, and updates the overlay and the other workflows accordingly.
    fn append_entries(
        &mut self,
        workflow: Seq,
        entries: Vec<Entry>,
        mut blobs: Vec<Vec<u8>>,
    ) -> Result<Vec<Record>, EngineError> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        blobs.extend(self.planner.new_blobs(&entries));
        let records = self.executor.append_entries(workflow, entries, blobs)?;
        self.planner.drop_settled(&self.executor);
        self.replan_touched(&records)?;
        self.planner.drop_settled_blobs(&self.executor);
        Ok(records)
    }

    /// Adds calls from a user's list.
    pub fn add_calls(&mut self, workflow: Seq, calls: Vec<ToolCall>) -> Result<(), EngineError> {
        self.handle_input(workflow, WorkflowInput::Called(calls)).map(drop)
    }

    /// Runs a workflow until a decision is due, until it needs a result from Studio, a
    /// model, an agent or a fetch, or until nothing is left to do.
    pub fn run(&mut self, workflow: Seq) -> Result<NextStep, EngineError> {
        loop {
            if self.workflow(workflow).is_none_or(Workflow::is_over) {
                return Ok(NextStep::Nothing);
            }
            let is_planning = matches!(
                self.workflow(workflow).and_then(Workflow::wants),
                Some(WantedWork::Plan { .. })
            );
            let view = is_planning.then(|| self.executor.state().viewed_task(workflow));
            if self.is_place_needed(workflow) && self.is_waiting_for_studio(view)? {
                return Ok(NextStep::Studio);
            }
            match self.workflow(workflow).and_then(Workflow::wants) {
                None => return Ok(NextStep::Nothing),
                Some(WantedWork::Ask(proposal)) => return Ok(NextStep::Decision(proposal)),
                Some(WantedWork::ApproveUnasked(allowed)) => {
                    let is_free = |(seq, by): &(Seq, Approver)| {
                        self.blocking_proposal(*seq).is_none() && self.may_approve(*seq, *by)
                    };
                    let Some((proposal, by)) = allowed.into_iter().find(is_free) else {
                        let first = self.workflow(workflow).and_then(Workflow::first_waiting);
                        return Ok(first.map_or(NextStep::Nothing, NextStep::Decision));
                    };
                    self.approve(proposal, by, false)?;
                }
                Some(WantedWork::Plan { call, tool, args })
                    if find_tool(&tool).is_ok_and(ToolSpec::delegates) =>
                {
                    match self.delegate(workflow, call, &tool, &args)? {
                        DelegationState::AtWork => return Ok(NextStep::Workers),
                        DelegationState::NeedsStudio => return Ok(NextStep::Studio),
                        DelegationState::Settled => {}
                    }
                }
                Some(WantedWork::Merge) => return Ok(NextStep::Workers),
                Some(WantedWork::Close) => {
                    self.handle_input(workflow, WorkflowInput::Closed)?;
                }
                Some(WantedWork::Plan { call, tool, args }) => {
                    if self.plan_call(workflow, call, &tool, &args)? {
                        return Ok(NextStep::Fetch(call));
                    }
                }
                Some(WantedWork::Apply(proposals)) => {
                    // In an open place, approved proposals are handed to Studio first, whatever
                    // workflow they belong to.
                    if self.target.driver().live().is_some() {
                        return Ok(NextStep::Studio);
                    }
                    self.apply_proposals(workflow, &proposals)?;
                }
                Some(WantedWork::Answer(call)) => return Ok(NextStep::Answer(call)),
                Some(WantedWork::GoAhead) => return Ok(NextStep::GoAhead),
                Some(WantedWork::Reply) if self.is_model_driven(workflow) => {
                    return Ok(NextStep::Model);
                }
                Some(WantedWork::Reply) if self.is_agent_driven(workflow) => {
                    return Ok(NextStep::Call);
                }
                Some(WantedWork::Reply) => self.answer_or_finish(workflow)?,
            }
        }
    }

    pub fn approve(&mut self, proposal: Seq, by: Approver, twice: bool) -> Result<(), EngineError> {
        self.approve_with_rule(proposal, by, twice, None)
    }

    /// Approves a proposal, and allows something for the rest of its task.
    pub fn approve_with_rule(
        &mut self,
        proposal: Seq,
        by: Approver,
        twice: bool,
        adds: Option<TaskRule>,
    ) -> Result<(), EngineError> {
        let Some((workflow, pending)) = self.find_proposal(proposal) else {
            return Err(Refusal(format!("There is no proposal {proposal}.")).into());
        };
        let patch_id = pending.proposal.patch_id.clone();
        self.check_reviewed(proposal)?;
        let yes =
            WorkflowInput::Approve { proposal, patch_id, by, is_confirmed_twice: twice, adds };
        if self.target.driver().live().is_some() {
            self.approve_in_studio(workflow, proposal, yes)
        } else {
            self.handle_input(workflow, yes).map(drop)
        }
    }

    /// Whether the next step needs the place to be ready. Questions to the user, model requests and
    /// fetches in progress do not: they continue whatever Studio is doing, for this workflow or
    /// another.
    fn is_place_needed(&self, workflow: Seq) -> bool {
        match self.workflow(workflow).and_then(Workflow::wants) {
            Some(
                WantedWork::Answer(_) | WantedWork::GoAhead | WantedWork::Merge | WantedWork::Close,
            ) => false,
            Some(WantedWork::Plan { call, tool, .. }) => {
                !self.executor.is_fetching(call) && !self.is_delegated(workflow, call, &tool)
            }
            Some(WantedWork::Reply) => {
                !self.is_model_driven(workflow) && !self.is_agent_driven(workflow)
            }
            _ => true,
        }
    }

    fn is_model_driven(&self, workflow: Seq) -> bool {
        matches!(self.executor.driver(workflow), Some(ToolDriver::Provider(ProviderKind::Model(_))))
    }

    /// Requires the user's approval from now on for every proposal beyond `mode` that no rule of its
    /// task allows.
    pub fn limit_mode(&mut self, mode: Mode) {
        self.mode_limit = mode;
    }

    /// Sets whether proposals are approved without asking at all, by the mode or by rules.
    pub fn set_dry_run(&mut self, is_dry_run: bool) {
        self.is_dry_run = is_dry_run;
    }

    /// Sets the share of the place, in percent, from which a proposal warns of a large change.
    pub fn set_large_change(&mut self, percent: u32) {
        self.planner.scene.set_large_change(percent);
    }

    /// Whether a proposal that the mode or a rule allows is approved now.
    fn may_approve(&self, proposal: Seq, by: Approver) -> bool {
        !self.is_dry_run
            && self.find_proposal(proposal).is_some_and(|(_, it)| {
                let is_within =
                    by == Approver::Rule || policy::can_auto_approve(self.mode_limit, &it.proposal);
                is_within && !self.unpermitted_calls.contains(&it.call)
            })
            && self.is_review_passed(proposal)
    }

    fn is_agent_driven(&self, workflow: Seq) -> bool {
        matches!(self.executor.driver(workflow), Some(ToolDriver::Agent { .. }))
    }

    fn answer_or_finish(&mut self, workflow: Seq) -> Result<(), EngineError> {
        if let Some(ToolDriver::Missing { why, .. }) = self.executor.driver(workflow) {
            let missing = model_request::missing_model(why);
            return self.handle_input(workflow, WorkflowInput::Unanswered(missing)).map(drop);
        }
        let prompt = self.executor.state().build_prompt(workflow);
        let input = if let (Some(ToolDriver::Provider(_)), Some(prompt)) =
            (self.executor.driver(workflow), prompt)
        {
            WorkflowInput::Replied(offline::next_message(&prompt))
        } else {
            let outcome = match self.workflow(workflow) {
                Some(it) if it.refusals().next().is_some() => Finish::Failed,
                Some(it) if it.has_rejected_call() => Finish::NotApproved,
                _ => Finish::Done,
            };
            WorkflowInput::Finish { outcome }
        };
        self.handle_input(workflow, input).map(drop)
    }

    /// Returns the base of the next plan.
    fn plan_base(&self) -> Fingerprint {
        self.planner.plan_base(self.target.plan_base(), &self.executor)
    }

    /// Replaces a proposal by the user's revision of it. If the revision is refused, the old
    /// proposal stays.
    pub fn revise_proposal(
        &mut self,
        old: Seq,
        draft: impl FnOnce(&mut ProposalDraft<'_>) -> Result<(), Refusal>,
    ) -> Result<Seq, EngineError> {
        self.lay_proposal(old)?;
        let at = self.planner.overlay.iter().position(|(seq, _)| *seq == old);
        let Some(at) = at else {
            return Err(Planner::overlay_refusal(old, &self.executor).into());
        };
        let Some((workflow, pending)) = self.find_proposal(old) else {
            return Err(Refusal(format!("There is no proposal {old}.")).into());
        };
        let (call, title) = (pending.call, pending.proposal.title.clone());
        let reads = pending.proposal.reads.clone();
        let mark = self.planner.overlay[at].1;
        let dropped = self.planner.overlay.split_off(at);
        let dropped: Vec<Seq> = dropped.into_iter().map(|(seq, _)| seq).collect();
        self.planner.scene.rollback(mark);
        let base = self.plan_base();
        let files = self.planned_files_before("");
        let revised = {
            let Planner { scene, blobs, .. } = &mut self.planner;
            scene.begin_scope(call);
            let mut drafted = ProposalDraft::new(scene, blobs);
            let done = draft(&mut drafted);
            // The first title wins: this one applies only if the revision has not set its own.
            drafted.set_title(title);
            match done {
                Ok(()) if drafted.is_empty() => refuse!("Nothing of proposal {old} is left."),
                Ok(()) => drafted.finish(&base),
                Err(refusal) => Err(refusal),
            }
        };
        let checked = revised.and_then(|revised| self.check_all_known().map(|()| revised));
        let outcome = match checked {
            Ok(revised) => self.complete_plan(workflow, call, revised, &files),
            Err(refusal) => Ok(Err(refusal)),
        };
        let outcome = outcome.and_then(|completed| {
            let mut by = Box::new(completed?);
            by.reads = join_reads(&reads, &by.reads);
            // Those that depend on the old one are replanned after this one.
            let stays = |seq: &Seq| {
                let pending = self.executor.find_proposal(*seq);
                *seq != old && pending.is_some_and(|(_, it)| !it.proposal.after.contains(&old))
            };
            let below = self.planner.overlay.iter().map(|(seq, _)| *seq);
            let others: Vec<Seq> = below.chain(dropped.iter().copied()).filter(stays).collect();
            by.after = self.planner.find_dependencies(&by, &others, &self.executor);
            let revise = WorkflowInput::Revise { proposal: old, by };
            self.handle_input(workflow, revise)
        });
        match outcome {
            Ok(records) => {
                // Proposals that were on top of the old one and do not depend on it stay.
                self.planner.scene.rollback(mark);
                self.requeue_view();
                let new = records.iter().find(|it| matches!(it.entry, Entry::Proposed { .. }));
                Ok(new.map_or(old, |record| record.seq))
            }
            Err(error) => {
                self.planner.scene.rollback(mark);
                self.planner.overlay_proposals(&dropped, &self.executor)?;
                Err(error)
            }
        }
    }

    /// Returns the texts of a script in the preview of a pending proposal, by its index.
    pub fn proposed_script(
        &mut self,
        proposal: Seq,
        script: usize,
    ) -> Result<ProposedScript, EngineError> {
        self.lay_proposal(proposal)?;
        let at = self.planner.overlay.iter().position(|(seq, _)| *seq == proposal);
        let found = self.find_proposal(proposal).map(|(_, it)| it.proposal.clone());
        let (Some(at), Some(found)) = (at, found) else {
            return Err(Planner::overlay_refusal(proposal, &self.executor).into());
        };
        // Later proposals may change the script further.
        let mark = self.planner.overlay[at].1;
        self.planner.overlay.truncate(at);
        self.planner.scene.rollback(mark);
        let texts = proposed_script(&self.planner.scene, &found, script);
        self.requeue_view();
        Ok(texts?)
    }

    /// Loads the removed subtrees that these proposals restore.
    fn load_proposal_blobs(&mut self, proposals: &[Seq]) -> Result<(), EngineError> {
        let wanted: Vec<Fingerprint> = proposals
            .iter()
            .filter_map(|seq| self.find_proposal(*seq))
            .flat_map(|(_, pending)| required_blobs(&pending.proposal.commands))
            .collect();
        self.load_blobs(wanted)
    }

    fn load_blobs(&mut self, hashes: Vec<Fingerprint>) -> Result<(), EngineError> {
        self.executor.load_blobs(hashes, &mut self.planner.blobs)
    }
}

/// Returns the blobs that commands need.
fn required_blobs(commands: &[Command]) -> Vec<Fingerprint> {
    let blob = |command: &Command| match command {
        Command::Restore { blob, .. } => blob.clone(),
        command => command.planned_blob().cloned(),
    };
    commands.iter().filter_map(blob).collect()
}
