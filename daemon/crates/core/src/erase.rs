//! Removal of the texts from ledger entries when the user erases a conversation or a place.
//!
//! Prompts, messages, calls, proposals and changes are erased, and so is the data to revert them.
//! Kept are who decided and when, how it ended, what it cost, and hashes, so that usage and history
//! remain correct.

use scene_schemas::entry::{AssetFile, Entry, Step, TaskContext};
use scene_schemas::generation::{GenerationOffer, GenerationRequest};
use scene_schemas::permission::Permission;
use scene_schemas::proposal::{Ack, Preview, Proposal, Warning};
use scene_schemas::review::{ReviewOffer, ReviewReport};
use scene_schemas::rule::{RuleScope, TaskRule};
use scene_schemas::workers::{PartOutcome, ProposalAuthor, TaskOffer, TaskPart};
use serde_json::{Value as Json, json};

/// The placeholder for an erased text.
pub const ERASED: &str = "(erased)";

fn erased_text() -> String {
    ERASED.to_owned()
}

fn erased_json() -> Json {
    json!({})
}

/// Returns the entry without its texts.
#[must_use]
pub fn erase_entry(entry: Entry) -> Entry {
    match entry {
        started @ Entry::Started { .. } => erase_start(started),
        Entry::Context { context } => Entry::Context { context: Box::new(erase_context(*context)) },
        Entry::Asked { .. } => Entry::Asked { text: erased_text(), attached: Vec::new() },
        Entry::Replied { model, tokens, cost, .. } => {
            Entry::Replied { model, tokens, cost, replay: None }
        }
        Entry::RequestFailed { code, retryable, setting, .. } => Entry::RequestFailed {
            code,
            message: erased_text(),
            retryable,
            hint: erased_text(),
            setting,
        },
        Entry::Notified { .. } => Entry::Notified { text: erased_text() },
        Entry::Summarised { until, turns, .. } => {
            Entry::Summarised { text: erased_text(), until, turns }
        }
        Entry::Said { phase, .. } => {
            Entry::Said { text: erased_text(), phase, answers: Vec::new() }
        }
        Entry::Called { tool, .. } => {
            Entry::Called { tool, args: erased_json(), id: None, flaw: None }
        }
        Entry::Questioned { call, .. } => {
            Entry::Questioned { call, question: erased_text(), answers: Vec::new() }
        }
        Entry::Answered { call, .. } => Entry::Answered { call, answer: erased_json() },
        Entry::Refused { call, .. } => {
            Entry::Refused { call, reason: erased_text(), conflict: None }
        }
        Entry::Planned { call, steps, .. } => {
            Entry::Planned { call, steps: erase_steps(steps), notes: None }
        }
        Entry::Proposed { call, proposal, .. } => {
            Entry::Proposed { call, answer: None, proposal: Box::new(erase_proposal(*proposal)) }
        }
        Entry::Rejected { proposal, reason } => {
            Entry::Rejected { proposal, reason: reason.map(|_| erased_text()) }
        }
        Entry::Withdrawn { proposal, replanned: again, .. } => {
            Entry::Withdrawn { proposal, reason: erased_text(), replanned: again }
        }
        Entry::Applying { proposals, file, before, acks } => {
            let acks = acks.into_iter().map(erase_ack).collect();
            Entry::Applying { proposals, file, before, acks }
        }
        Entry::Applied { proposal, ack } => {
            Entry::Applied { proposal, ack: Box::new(erase_ack(*ack)) }
        }
        Entry::Failed { proposal, .. } => Entry::Failed { proposal, reason: erased_text() },
        Entry::AssetUploading { file } => {
            Entry::AssetUploading { file: Box::new(erase_file(*file)) }
        }
        Entry::UploadFailed { upload, is_unclear, .. } => {
            Entry::UploadFailed { upload, reason: erased_text(), is_unclear }
        }
        Entry::PermissionRequested { call, permission } => {
            Entry::PermissionRequested { call, permission: erase_permission(permission) }
        }
        made @ (Entry::GenerationStarting { .. } | Entry::GenerationFailed { .. }) => {
            erase_generation(made)
        }
        finished @ Entry::CloudRunFinished { .. } => erase_run_end(finished),
        Entry::Undone { proposal, .. } => Entry::Undone { proposal, remaining: None },
        Entry::Redone { proposal, .. } => Entry::Redone { proposal, remaining: None },
        Entry::Finished { outcome, .. } => Entry::Finished { outcome, summary: None },
        said @ (Entry::Commented { .. } | Entry::CommentsAnswered { .. }) => erase_comments(said),
        Entry::RuleAdded { rule, proposal } => {
            Entry::RuleAdded { rule: erase_rule(&rule), proposal }
        }
        ended @ (Entry::Reviewed { .. } | Entry::ReviewFailed { .. }) => erase_review(ended),
        shared @ (Entry::PartStarted { .. }
        | Entry::PartEnded { .. }
        | Entry::Submitted { .. }
        | Entry::Noted { .. }) => erase_part(shared),
        same @ (Entry::Requested { .. }
        | Entry::ReviewStarted { .. }
        | Entry::PermissionDecided { .. }
        | Entry::RuleRevoked { .. }
        | Entry::Approved { .. }
        | Entry::Resumed {}
        | Entry::Cleared {}
        | Entry::Disconnected { .. }
        | Entry::Uploading { .. }
        | Entry::Uploaded { .. }
        | Entry::AssetUploadAccepted { .. }
        | Entry::AssetUploaded { .. }
        | Entry::GenerationAccepted { .. }
        | Entry::GenerationRefining { .. }
        | Entry::Generated { .. }
        | Entry::CloudRunStarted { .. }
        | Entry::CloudRunAccepted { .. }
        | Entry::Erased { .. }) => same,
    }
}

fn erase_permission(permission: Permission) -> Permission {
    match permission {
        Permission::Playtest => Permission::Playtest,
        Permission::Generate(offer) => Permission::Generate(Box::new(erase_offer(*offer))),
        Permission::Upload(file) => Permission::Upload(Box::new(erase_file(*file))),
        Permission::Review(offer) => {
            Permission::Review(Box::new(ReviewOffer { title: erased_text(), ..*offer }))
        }
        Permission::Task(offer) => {
            Permission::Task(Box::new(TaskOffer { request: erased_text(), ..*offer }))
        }
    }
}

fn erase_offer(offer: GenerationOffer) -> GenerationOffer {
    GenerationOffer {
        request: GenerationRequest { prompt: erased_text(), ..offer.request },
        ..offer
    }
}

/// Erases the request of a task and what was attached to it.
fn erase_start(entry: Entry) -> Entry {
    let Entry::Started {
        place,
        goal: _,
        driver,
        mode,
        attached: _,
        interaction,
        follows,
        guards,
        served,
        role,
        requested_by,
    } = entry
    else {
        return entry;
    };
    let (goal, attached) = (erased_text(), Vec::new());
    Entry::Started {
        place,
        goal,
        driver,
        mode,
        attached,
        interaction,
        follows,
        guards,
        served,
        role,
        requested_by,
    }
}

fn erase_context(mut context: TaskContext) -> TaskContext {
    context.scripts.clear();
    context.excluded.clear();
    context.subjects.clear();
    context.situation = None;
    context
}

fn erase_generation(entry: Entry) -> Entry {
    match entry {
        Entry::GenerationStarting { generation } => {
            Entry::GenerationStarting { generation: Box::new(erase_offer(*generation)) }
        }
        Entry::GenerationFailed { generation, credits, .. } => {
            Entry::GenerationFailed { generation, reason: erased_text(), credits }
        }
        other => other,
    }
}

/// Erases why a run has no results, which may repeat the error of a script, and what it reported.
fn erase_run_end(entry: Entry) -> Entry {
    let Entry::CloudRunFinished { run, passed, failed, skipped, failure, is_unclear, .. } = entry
    else {
        return entry;
    };
    let failure = failure.map(|_| erased_text());
    Entry::CloudRunFinished { run, passed, failed, skipped, failure, is_unclear, report: None }
}

fn erase_comments(entry: Entry) -> Entry {
    match entry {
        Entry::Commented { proposal, .. } => Entry::Commented { proposal, comments: Vec::new() },
        Entry::CommentsAnswered { proposal, .. } => {
            Entry::CommentsAnswered { proposal, replies: Vec::new() }
        }
        other => other,
    }
}

/// Erases what a reviewer found, or why it found nothing.
fn erase_review(entry: Entry) -> Entry {
    match entry {
        Entry::Reviewed { proposal, reviewer, .. } => {
            let report = ReviewReport { summary: erased_text(), findings: Vec::new() };
            Entry::Reviewed { proposal, reviewer, report: Box::new(report) }
        }
        Entry::ReviewFailed { proposal, reviewer, .. } => {
            Entry::ReviewFailed { proposal, reviewer, reason: erased_text() }
        }
        other => other,
    }
}

/// Erases what the models of a shared task wrote for each other and for the person.
fn erase_part(entry: Entry) -> Entry {
    match entry {
        Entry::PartStarted { part, worker, model } => {
            Entry::PartStarted { part: TaskPart { title: erased_text(), ..part }, worker, model }
        }
        Entry::PartEnded { worker, outcome } => {
            let outcome = match outcome {
                PartOutcome::Submitted { proposals, .. } => {
                    PartOutcome::Submitted { proposals, report: erased_text() }
                }
                PartOutcome::Answered { .. } => PartOutcome::Answered { text: erased_text() },
                PartOutcome::Failed { .. } => PartOutcome::Failed { reason: erased_text() },
            };
            Entry::PartEnded { worker, outcome }
        }
        Entry::Submitted { .. } => Entry::Submitted { summary: None },
        Entry::Noted { call, .. } => Entry::Noted { call, text: erased_text() },
        other => other,
    }
}

fn erase_rule(rule: &TaskRule) -> TaskRule {
    TaskRule { class: rule.class, scope: RuleScope::Erased {} }
}

fn erase_steps(steps: Vec<Step>) -> Vec<Step> {
    steps.into_iter().map(|it| Step { text: erased_text(), done: it.done }).collect()
}

fn erase_file(file: AssetFile) -> AssetFile {
    let (name, description) = (erased_text(), erased_text());
    AssetFile { file: erased_text(), name, description, ..file }
}

fn erase_proposal(proposal: Proposal) -> Proposal {
    let warnings = proposal.warnings.into_iter();
    Proposal {
        title: erased_text(),
        commands: Vec::new(),
        reads: Vec::new(),
        preview: Preview::default(),
        warnings: warnings.map(|it| Warning { kind: it.kind, text: erased_text() }).collect(),
        implicit_target: None,
        files: None,
        made_by: proposal.made_by.map(|it| ProposalAuthor {
            title: erased_text(),
            notices: Vec::new(),
            ..it
        }),
        ..proposal
    }
}

fn erase_ack(ack: Ack) -> Ack {
    let files = ack.files.map(|files| Box::new(erase_ack(*files)));
    Ack { outcomes: Vec::new(), inverse: Vec::new(), witnesses: Vec::new(), files, ..ack }
}
