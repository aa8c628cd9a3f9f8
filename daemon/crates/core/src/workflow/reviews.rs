//! Reviews of proposals by a model: which ones run, and what they found.
//!
//! A reviewer has a task of its own, with a clean context. What it reports is recorded in the task of the
//! proposal, so that a person sees it where they decide.

use std::collections::BTreeMap;

use scene_schemas::InstancePath;
use scene_schemas::comment::{CommentSide, CommentSubject};
use scene_schemas::entry::{Entry, Seq};
use scene_schemas::proposal::Proposal;
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::review::{ReviewFinding, ReviewReport, TaskRole};

use super::PendingStatus;
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

/// How far the reviews of a change have come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReviewProgress<'w> {
    NotStarted,
    Running(&'w ProposalReview),
    /// A model has finished a review of this very change.
    Reported(&'w ReviewReport),
    /// All reviews of it ended without a report; the last of them.
    Failed {
        review: &'w ProposalReview,
        reason: &'w str,
    },
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

    /// Returns the reviews of a proposal, oldest first, with the reports on other proposals of the task
    /// that proposed the same change of the same state, such as the one that a restart replanned.
    pub fn reviews_of_change(&self, proposal: Seq) -> impl Iterator<Item = &ProposalReview> {
        let patch_id = |seq: Seq| self.proposal(seq).map(|it| &it.proposal.patch_id);
        let own = patch_id(proposal);
        let is_equal = move |seq: Seq| own.is_some() && patch_id(seq) == own;
        self.reviews.by_proposal.iter().flat_map(move |(seq, reviews)| {
            let (is_own, is_equal) = (*seq == proposal, is_equal(*seq));
            reviews.iter().filter(move |it| {
                is_own || is_equal && matches!(it.state, ReviewState::Reported(_))
            })
        })
    }

    /// Returns the proposal of a call that waits for a decision; None if there is none.
    pub fn waiting_proposal_of(&self, call: Seq) -> Option<Seq> {
        let newest = self.proposed_for(call)?;
        let is_waiting = self.proposal(newest)?.status == PendingStatus::Waiting;
        is_waiting.then_some(newest)
    }

    /// Returns how far the reviews of a proposal have come. A report on another proposal of the task
    /// counts if that proposed the same change of the same state, by its patch id.
    pub fn review_progress(&self, proposal: Seq) -> ReviewProgress<'_> {
        let mut all = self.reviews_of_change(proposal).collect::<Vec<_>>().into_iter().rev();
        let reported = all.find_map(|it| match &it.state {
            ReviewState::Reported(report) => Some(report),
            ReviewState::Running | ReviewState::Failed(_) => None,
        });
        if let Some(report) = reported {
            return ReviewProgress::Reported(report);
        }
        match self.reviews_of(proposal).last() {
            None => ReviewProgress::NotStarted,
            Some(review) => match &review.state {
                ReviewState::Running => ReviewProgress::Running(review),
                ReviewState::Reported(report) => ReviewProgress::Reported(report),
                ReviewState::Failed(reason) => ReviewProgress::Failed { review, reason },
            },
        }
    }

    /// Returns the running reviews of its proposals: each proposal with the task of the reviewer.
    pub fn running_reviews(&self) -> impl Iterator<Item = (Seq, Seq)> + '_ {
        self.reviews.by_proposal.iter().flat_map(|(proposal, reviews)| {
            let running = reviews.iter().filter(|it| it.state == ReviewState::Running);
            running.map(|it| (*proposal, it.reviewer))
        })
    }

    /// Returns the other proposals that are reviewed together with one: all that wait, if a lead has
    /// submitted them as one result.
    pub fn reviewed_with(&self, proposal: Seq) -> Vec<Seq> {
        if !self.is_submitted() {
            return Vec::new();
        }
        let waiting = self.proposals.keys().copied().filter(|seq| *seq != proposal);
        waiting.filter(|seq| check_reviewable(self, *seq).is_ok()).collect()
    }

    /// Returns the proposals that a reviewer reviews, oldest first.
    pub fn proposals_of_review(&self, reviewer: Seq) -> Vec<(Seq, &Proposal)> {
        let is_its = |seq: &Seq| self.reviews_of(*seq).iter().any(|it| it.reviewer == reviewer);
        let its = self.proposals.iter().filter(|(seq, _)| is_its(seq));
        its.map(|(seq, it)| (*seq, &it.proposal)).collect()
    }

    /// Returns what a reviewer reported in its task about a proposal of another task. `reviewed` are all
    /// proposals that it reviews: a finding belongs to the last one that shows its line, or else to the
    /// first that changes what it is about.
    ///
    /// # Errors
    /// It ended without a report. The text says what to do next.
    pub fn review_report(
        &self,
        proposal: Seq,
        reviewed: &[(Seq, &Proposal)],
    ) -> Result<ReviewReport, Refusal> {
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
        let own = reviewed.iter().find(|(seq, _)| *seq == proposal).map(|(_, it)| *it);
        let first = reviewed.first().map(|(seq, _)| *seq);
        let is_its = |finding: &ReportedFinding| {
            let path = finding.path.as_ref();
            let shown = path.zip(finding.line).and_then(|(path, line)| {
                let shows = |it: &Proposal| line_text(it, path, CommentSide::After, line).is_some();
                reviewed.iter().rev().find(|(_, it)| shows(it))
            });
            let changed = path
                .and_then(|path| reviewed.iter().find(|(_, it)| changes_path(it, path)))
                .filter(|_| shown.is_none());
            shown.or(changed).map(|(seq, _)| *seq).or(first) == Some(proposal)
        };
        let mut findings: Vec<ReviewFinding> =
            report.findings.into_iter().filter(is_its).map(|it| place_finding(it, own)).collect();
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
            Some(TaskRole::Scout { lead, .. }) => lead,
            Some(TaskRole::Solo | TaskRole::Lead {} | TaskRole::Worker { .. }) | None => workflow,
        }
    }
}

/// Decides on the start of a review.
pub(super) fn start_review(
    workflow: &Workflow,
    proposal: Seq,
    with: &[Seq],
    reviewer: Seq,
    model: &str,
) -> Result<Vec<Entry>, Refusal> {
    check_reviewable(workflow, proposal)?;
    let with = with.iter().copied().filter(|seq| check_reviewable(workflow, *seq).is_ok());
    let started = |proposal| Entry::ReviewStarted { proposal, reviewer, model: model.to_owned() };
    Ok(std::iter::once(proposal).chain(with).map(started).collect())
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

/// Whether a proposal changes an instance, or something below it.
fn changes_path(proposal: &Proposal, path: &InstancePath) -> bool {
    let scripts = proposal.preview.scripts.iter().map(|it| &it.path);
    let rows = proposal.preview.rows.iter().map(|it| &it.path);
    scripts.chain(rows).any(|it| it.segments.starts_with(&path.segments))
}

/// Finds what a finding is about. A line that the preview does not show has no quote.
fn place_finding(finding: ReportedFinding, proposal: Option<&Proposal>) -> ReviewFinding {
    let ReportedFinding { severity, path, line, property, text } = finding;
    let on = match (path, line) {
        (None, _) => CommentSubject::Proposal {},
        (Some(path), Some(line)) => {
            let side = CommentSide::After;
            let quote = proposal.and_then(|it| line_text(it, &path, side, line));
            let quote = quote.unwrap_or_default().to_owned();
            CommentSubject::Line { path, side, line, quote }
        }
        (Some(path), None) => CommentSubject::Instance { path, property },
    };
    ReviewFinding { severity, on, text }
}
