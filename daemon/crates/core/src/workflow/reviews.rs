//! Reviews of proposals by a model: which ones run, and what they found.
//!
//! A reviewer has a task of its own, with a clean context. What it reports is recorded in the task of the
//! proposal, so that a person sees it where they decide.

use std::collections::BTreeMap;

use scene_schemas::comment::{CommentSide, CommentSubject};
use scene_schemas::entry::{Entry, Seq};
use scene_schemas::proposal::Proposal;
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::review::{ReviewFinding, ReviewReport, TaskRole};

use super::comments::line_text;
use super::decide::find_pending;
use super::{LedgerState, Workflow};
use crate::tools::{REPORT_REVIEW, ReportedFinding, parse_report};

/// The reviews of the proposals of a task.
#[derive(Debug, Default)]
pub(super) struct TaskReviews {
    /// By the reviewed proposal, oldest first.
    by_proposal: BTreeMap<Seq, Vec<ProposalReview>>,
}

/// A review of a proposal.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposalReview {
    /// The task of the reviewer.
    pub reviewer: Seq,
    /// The model, as `PROVIDER/MODEL`.
    pub model: String,
    pub state: ReviewState,
}

/// What became of a review.
#[derive(Debug, Clone, PartialEq)]
pub enum ReviewState {
    Running,
    Reported(ReviewReport),
    /// It ended without a report, for this reason.
    Failed(String),
}

impl TaskReviews {
    pub(super) fn add(&mut self, proposal: Seq, reviewer: Seq, model: &str) {
        let (model, state) = (model.to_owned(), ReviewState::Running);
        let review = ProposalReview { reviewer, model, state };
        self.by_proposal.entry(proposal).or_default().push(review);
    }

    pub(super) fn end(&mut self, proposal: Seq, reviewer: Seq, state: ReviewState) {
        let mut reviews = self.by_proposal.get_mut(&proposal).into_iter().flatten();
        let is_its =
            |it: &&mut ProposalReview| it.reviewer == reviewer && it.state == ReviewState::Running;
        if let Some(review) = reviews.find(is_its) {
            review.state = state;
        }
    }
}

impl Workflow {
    /// Returns the reviews of a proposal, oldest first.
    pub fn reviews_of(&self, proposal: Seq) -> &[ProposalReview] {
        self.reviews.by_proposal.get(&proposal).map_or(&[], Vec::as_slice)
    }

    /// Returns the running reviews of its proposals: each proposal with the task of the reviewer.
    pub fn running_reviews(&self) -> impl Iterator<Item = (Seq, Seq)> + '_ {
        self.reviews.by_proposal.iter().flat_map(|(proposal, reviews)| {
            let running = reviews.iter().filter(|it| it.state == ReviewState::Running);
            running.map(|it| (*proposal, it.reviewer))
        })
    }

    /// Returns what a reviewer reported in its task, about a proposal of another task.
    ///
    /// # Errors
    /// It ended without a report. The text says what to do next.
    pub fn review_report(&self, proposal: &Proposal) -> Result<ReviewReport, Refusal> {
        let reported = self.calls.values().rev().find(|call| {
            call.tool == REPORT_REVIEW && matches!(call.status, super::CallStatus::Answered(_))
        });
        let Some(call) = reported else {
            return refuse!(
                "{} ended the review without a report. Ask for another review, or choose another \
                 model with the setting `routes.review`.",
                self.driver
            );
        };
        let report = parse_report(call.args.clone())?;
        let mut findings: Vec<ReviewFinding> =
            report.findings.into_iter().map(|it| place_finding(it, proposal)).collect();
        findings.sort_by_key(|it| it.severity);
        Ok(ReviewReport { summary: report.summary, findings })
    }
}

impl LedgerState {
    /// Returns the task whose pending proposals a task sees: its own, or, for a reviewer, that of the
    /// reviewed proposal.
    pub fn viewed_task(&self, workflow: Seq) -> Seq {
        match self.workflow(workflow).map(|it| it.role) {
            Some(TaskRole::Reviewer { proposal }) => {
                self.find_proposal(proposal).map_or(workflow, |(task, _)| task)
            }
            Some(TaskRole::Solo) | None => workflow,
        }
    }
}

/// Decides on the start of a review.
pub(super) fn start_review(
    workflow: &Workflow,
    proposal: Seq,
    reviewer: Seq,
    model: String,
) -> Result<Vec<Entry>, Refusal> {
    check_reviewable(workflow, proposal)?;
    Ok(vec![Entry::ReviewStarted { proposal, reviewer, model }])
}

/// Checks that a proposal can be reviewed now.
///
/// # Errors
/// It is decided, or a review of it runs.
pub fn check_reviewable(workflow: &Workflow, proposal: Seq) -> Result<(), Refusal> {
    find_pending(workflow, proposal)?;
    match workflow.running_reviews().find(|(it, _)| *it == proposal) {
        Some((_, reviewer)) => {
            refuse!("Proposal {proposal} is being reviewed already, in task {reviewer}.")
        }
        None => Ok(()),
    }
}

/// Decides on the end of a review. One that is not running has ended before.
pub(super) fn end_review(
    workflow: &Workflow,
    proposal: Seq,
    reviewer: Seq,
    outcome: Result<ReviewReport, Refusal>,
) -> Vec<Entry> {
    if !workflow.running_reviews().any(|it| it == (proposal, reviewer)) {
        return Vec::new();
    }
    vec![match outcome {
        Ok(report) => Entry::Reviewed { proposal, reviewer, report: Box::new(report) },
        Err(Refusal(reason)) => Entry::ReviewFailed { proposal, reviewer, reason },
    }]
}

/// Finds what a finding is about. A line that the preview does not show has no quote.
fn place_finding(finding: ReportedFinding, proposal: &Proposal) -> ReviewFinding {
    let ReportedFinding { severity, path, line, property, text } = finding;
    let on = match (path, line) {
        (None, _) => CommentSubject::Proposal {},
        (Some(path), Some(line)) => {
            let side = CommentSide::After;
            let quote = line_text(proposal, &path, side, line).unwrap_or_default().to_owned();
            CommentSubject::Line { path, side, line, quote }
        }
        (Some(path), None) => CommentSubject::Instance { path, property },
    };
    ReviewFinding { severity, on, text }
}
