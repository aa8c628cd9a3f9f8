//! Reviews of pending proposals by a model: how one begins, and how its result reaches the task of the
//! proposal.
//!
//! The reviewer is a task of its own: it knows the request and the change, and nothing of the
//! conversation that led to it. It sees the place with the pending proposals of the reviewed task.

use std::sync::Arc;

use scene_schemas::Refusal;
use scene_schemas::api::{FailureKind, ReviewEstimate};
use scene_schemas::entry::{AttachmentSnapshot, Finish, InteractionMode, Seq};
use scene_schemas::proposal::{Mode, PlayCheck, Proposal};
use scene_schemas::refusal::refuse;
use scene_schemas::review::{ReviewReport, TaskRole};
use serde_json::Value as Json;
use vector_core::prompt::{fence_text, one_line};
use vector_core::proposal::preview_text;
use vector_core::tools::{FetchRequest, Plan, SessionWork};
use vector_core::workflow::{
    ModelTrouble, PendingProposal, Workflow, WorkflowInput, check_reviewable,
};
use vector_ledger::LedgerError;
use vector_providers::ProviderKind;
use vector_providers::client::TaskModels;

use crate::{Engine, EngineError, ToolDriver, UserRequest, model_request, workflow_state};

/// How much of a change is sent with the request, in bytes. A reviewer reads more of the scripts itself.
const MAX_CHANGE: usize = 60_000;

/// The call by which an agent asks for a review. It is an argument of a tool of the MCP server, so the list
/// of tools does not have it.
pub const REQUEST_REVIEW: &str = "request_review";

/// Returns the models of a driver that can review.
fn reviewing_models(driver: &ToolDriver) -> Result<&TaskModels, Refusal> {
    match driver {
        ToolDriver::Provider(ProviderKind::Model(models)) => Ok(models),
        ToolDriver::Provider(ProviderKind::Offline)
        | ToolDriver::Calls
        | ToolDriver::Agent { .. }
        | ToolDriver::Missing { .. } => Err(Refusal::new(
            "The offline planner reviews nothing. Choose a model in the settings, or set `model` in \
             vector.toml.",
        )),
    }
}

impl Engine {
    /// Plans an agent's request for a review of the proposal of one of its calls, by the number of the
    /// call or the proposal.
    pub(crate) fn plan_review_request(&self, args: &Json) -> Result<Plan, Refusal> {
        let Some(id) = args.get("id").and_then(Json::as_u64).map(Seq) else {
            return refuse!(
                "{REQUEST_REVIEW}: `id` must be the number of the call, as it was returned."
            );
        };
        let mut of_agents = self.active_workflows().filter(|(_, task)| task.agent_name().is_some());
        let found = of_agents.find_map(|(_, task)| task.waiting_proposal_of(task.call_of(id)?));
        match found {
            Some(proposal) => Ok(Plan::Look(Arc::new(FetchRequest::Review(proposal)))),
            None => refuse!(
                "Call {id} has no proposal that waits for a decision, so there is nothing to review. \
                 proposal_status returns its outcome."
            ),
        }
    }

    /// Returns what a call waits for, if the session of the place does that itself.
    pub fn session_work(&self, call: Seq) -> Option<SessionWork> {
        self.executor.find_fetch(call)?.session_work()
    }

    /// Estimates what a review of a pending proposal costs, by the request that would begin it.
    ///
    /// # Errors
    /// The proposal is not pending, is being reviewed already, or the driver is not a model.
    pub fn estimate_review(
        &self,
        proposal: Seq,
        driver: &ToolDriver,
    ) -> Result<ReviewEstimate, EngineError> {
        let request = self.review_request(proposal)?;
        Ok(model_request::estimate_first_request(reviewing_models(driver)?, &request))
    }

    /// Begins a review of a pending proposal, in a task of its own, with the driver of a reviewer.
    /// Returns that task.
    ///
    /// # Errors
    /// The proposal is not pending, is being reviewed already, or the driver is not a model; or the
    /// ledger cannot be read or written.
    pub fn begin_review(&mut self, proposal: Seq, driver: ToolDriver) -> Result<Seq, EngineError> {
        let request = self.review_request(proposal)?;
        reviewing_models(&driver)?;
        let reviewer = self.begin_workflow(request, driver, Mode::Confirm)?;
        self.note_review(reviewer, proposal)?;
        Ok(reviewer)
    }

    /// Returns the request of a review: the change, the request that it answers, and what is known of it.
    ///
    /// # Errors
    /// The proposal is not pending, or is being reviewed already.
    pub fn review_request(&self, proposal: Seq) -> Result<UserRequest, EngineError> {
        let Some((task, pending)) = self.find_proposal(proposal) else {
            let why = format!("Proposal {proposal} is not pending in this place.");
            return Err(Refusal(why).into());
        };
        let task = self.workflow(task).ok_or_else(|| Refusal::new("The task has ended."))?;
        check_reviewable(task, proposal)?;
        let with = task.reviewed_with(proposal).into_iter();
        let with = with.filter_map(|seq| Some((seq, task.proposal(seq)?)));
        let reviewed: Vec<(Seq, &PendingProposal)> =
            std::iter::once((proposal, pending)).chain(with).collect();
        let limit = MAX_CHANGE / reviewed.len();
        let attach = |(seq, it): &(Seq, &PendingProposal)| attach_change(*seq, it, limit);
        Ok(UserRequest {
            goal: describe_review(task, &reviewed),
            attached: reviewed.iter().map(attach).collect(),
            interaction: InteractionMode::Ask,
            role: TaskRole::Reviewer { proposal },
            ..UserRequest::default()
        })
    }

    /// Records in the task of a proposal that a reviewer is at work.
    fn note_review(&mut self, reviewer: Seq, proposal: Seq) -> Result<(), EngineError> {
        let Some((task, _)) = self.find_proposal(proposal) else {
            return Ok(());
        };
        let with = self.workflow(task).map(|it| it.reviewed_with(proposal)).unwrap_or_default();
        let model = self.workflow(reviewer).map_or_else(String::new, |it| it.driver.clone());
        self.handle_input(task, WorkflowInput::ReviewStarted { proposal, with, reviewer, model })
            .map(drop)
    }

    /// Records the results of reviewers that have ended, and ends those whose model does not answer or
    /// whose proposals were decided meanwhile. Returns the latter.
    ///
    /// # Errors
    /// The ledger cannot be read or written.
    pub fn settle_reviews(&mut self) -> Result<Vec<Seq>, EngineError> {
        self.note_resumed_reviews()?;
        let running = self.active_workflows().flat_map(|(task, it)| {
            it.running_reviews().map(move |(proposal, reviewer)| (task, proposal, reviewer))
        });
        let running: Vec<(Seq, Seq, Seq)> = running.collect();
        let mut cut_off = Vec::new();
        for &(task, proposal, reviewer) in &running {
            let is_pending = self.is_pending(proposal);
            // A reviewer of several proposals goes on with those that are not decided.
            let mut its = running.iter().filter(|it| it.2 == reviewer);
            let has_others = its.any(|(_, other, _)| self.is_pending(*other));
            let at_work = self.workflow(reviewer).filter(|it| it.finished.is_none());
            let outcome = match at_work {
                None => self.read_report(reviewer, proposal)?,
                Some(own) => {
                    let reason = if is_pending {
                        own.conversation().trouble().and_then(lasting_trouble)
                    } else {
                        Some("The proposal was decided before the review ended.".to_owned())
                    };
                    let Some(reason) = reason else { continue };
                    if is_pending || !has_others {
                        cut_off.push(reviewer);
                        let finish = WorkflowInput::Finish { outcome: Finish::Failed };
                        self.handle_input(reviewer, finish)?;
                    }
                    Err(Refusal(reason))
                }
            };
            let ended = WorkflowInput::ReviewEnded { proposal, reviewer, outcome };
            self.handle_input(task, ended)?;
        }
        Ok(cut_off)
    }

    fn is_pending(&self, proposal: Seq) -> bool {
        self.find_proposal(proposal).is_some_and(|(_, it)| it.status.is_pending())
    }

    /// Records reviewers whose start the task of their proposal does not know, because the process ended
    /// between the two entries.
    fn note_resumed_reviews(&mut self) -> Result<(), EngineError> {
        let unknown = self.active_workflows().filter_map(|(reviewer, it)| {
            let TaskRole::Reviewer { proposal } = it.role else { return None };
            let (task, _) = self.find_proposal(proposal)?;
            let known = self.workflow(task)?.reviews_of(proposal);
            let is_known = known.iter().any(|it| it.reviewer == reviewer);
            (it.finished.is_none() && !is_known).then_some((reviewer, proposal))
        });
        let unknown: Vec<(Seq, Seq)> = unknown.collect();
        for (reviewer, proposal) in unknown {
            match self.note_review(reviewer, proposal) {
                // It was decided meanwhile: the reviewer ends by itself, and its report has no reader.
                Ok(()) | Err(EngineError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what a reviewer that has ended reported of a proposal.
    fn read_report(
        &self,
        reviewer: Seq,
        proposal: Seq,
    ) -> Result<Result<ReviewReport, Refusal>, LedgerError> {
        let task = self.find_proposal(proposal).and_then(|(task, _)| self.workflow(task));
        let Some(task) = task else {
            return Ok(Err(Refusal::new("The proposal is not pending any more.")));
        };
        let reviewed = task.proposals_of_review(reviewer);
        if let Some(own) = self.workflow(reviewer) {
            return Ok(own.review_report(proposal, &reviewed));
        }
        let state = workflow_state::read_workflow(self.executor.ledger(), reviewer)?;
        Ok(match state.workflow(reviewer) {
            Some(own) if own.finished.is_some() => own.review_report(proposal, &reviewed),
            // Another process has it, or nobody resumes it.
            Some(_) | None => Err(Refusal::new("The review was interrupted. Ask for another one.")),
        })
    }
}

/// Returns why a model does not answer, and what to do. None after a limit, such as that of the cost of
/// a request: a person can let the reviewer continue in its task.
fn lasting_trouble(trouble: &ModelTrouble) -> Option<String> {
    let ModelTrouble { code, message, hint, .. } = trouble;
    (*code != FailureKind::TooMany).then(|| format!("{message} {hint}").trim_end().to_owned())
}

fn attach_change(seq: Seq, pending: &PendingProposal, limit: usize) -> AttachmentSnapshot {
    AttachmentSnapshot::Proposal {
        proposal: seq,
        title: pending.proposal.title.clone(),
        status: pending.status.to_proposal_status(),
        text: preview_text(&pending.proposal.preview, limit),
    }
}

/// Describes what is to be reviewed. Texts of others are in fences.
fn describe_review(task: &Workflow, reviewed: &[(Seq, &PendingProposal)]) -> String {
    let seqs: Vec<String> = reviewed.iter().map(|(seq, _)| seq.to_string()).collect();
    let mut text = match &*seqs {
        [seq] => format!("Review proposal {seq}, which is attached.\n"),
        _ => format!(
            "Review proposals {}, which are attached. Several models made them for one request; look \
             at whether they fit together.\n",
            seqs.join(", ")
        ),
    };
    if let Some(agent) = task.agent_name() {
        text.push_str(&format!(
            "{} proposed it; what it was asked for is not known, so judge the change itself.\n",
            one_line(agent)
        ));
    } else {
        text.push_str("This was asked for:\n");
        text.push_str(&fence_text(&task.requests().join("\n\n"), ""));
    }
    for (_, PendingProposal { proposal, .. }) in reviewed {
        describe_known(&mut text, proposal);
    }
    text
}

/// Describes what is known of a proposal already.
fn describe_known(text: &mut String, proposal: &Proposal) {
    if !proposal.warnings.is_empty() {
        text.push_str("Vector warns of this already; do not repeat it:\n");
        let warnings: Vec<&str> = proposal.warnings.iter().map(|it| it.text.as_str()).collect();
        text.push_str(&fence_text(&warnings.join("\n"), ""));
    }
    if let Some(PlayCheck { summary, errors, .. }) = &proposal.runs {
        text.push_str("It was played on a copy of the place:\n");
        let errors = errors.iter().map(|it| format!("{} ({})", it.message, it.peer));
        let lines: Vec<String> = std::iter::once(summary.clone()).chain(errors).collect();
        text.push_str(&fence_text(&lines.join("\n"), ""));
    }
}
