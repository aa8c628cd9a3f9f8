//! The cached form of an entry, before its outcome is looked up.
//!
//! It reads nothing but the entry itself.

use std::borrow::Cow;
use std::collections::HashSet;

use scene_schemas::api::SessionId;
use scene_schemas::command::Command;
use scene_schemas::entry::{Approver, Entry, Finish, Place, Record, Seq};
use scene_schemas::proposal::{Change, Class, Proposal};
use scene_schemas::review::ReviewReport;
use scene_schemas::workers::PartOutcome;
use vector_core::workflow::brief_json;
use vector_place::count_noun;

/// Characters of a text that are cached for searching. The rest is read again.
const MAX_SEARCH_CHARS: usize = 1_000;
/// Paths cached per proposal. The paths of larger proposals are read again.
const MAX_PATHS: usize = 64;

#[derive(Debug)]
pub(super) struct HistoryRow {
    pub(super) seq: Seq,
    pub(super) at: u64,
    pub(super) workflow: Seq,
    pub(super) kind: &'static str,
    pub(super) subject: RowSubject,
    pub(super) by: Option<Approver>,
    /// The beginning of the entry's searchable text.
    pub(super) text: Box<str>,
    /// Whether the searchable text is longer than `text`.
    pub(super) is_truncated: bool,
    /// Boxed, because most rows have none, and a filter examines many rows.
    pub(super) detail: Option<Box<RowDetail>>,
}

/// The subject of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowSubject {
    /// A workflow as a whole, or a message in it.
    Nothing,
    Call(Seq),
    Proposal(Seq),
}

/// The data of an entry that other entries of its workflow, call or proposal show as well.
#[derive(Debug)]
pub(super) enum RowDetail {
    Workflow(WorkflowDetail),
    Call(CallDetail),
    Proposal(ProposalDetail),
}

#[derive(Debug)]
pub(super) struct WorkflowDetail {
    /// The name of the place.
    pub(super) name: String,
    pub(super) session: SessionId,
    pub(super) place: Place,
}

#[derive(Debug)]
pub(super) struct CallDetail {
    pub(super) tool: String,
    /// The `path` of its arguments.
    pub(super) path: Option<String>,
}

/// A proposal without its title, which is the text of its row.
#[derive(Debug)]
pub(super) struct ProposalDetail {
    pub(super) call: Seq,
    pub(super) class: Class,
    pub(super) paths: Vec<String>,
    /// Number of paths beyond `paths`.
    pub(super) more_paths: usize,
    /// The project whose files the proposal changes as well.
    pub(super) project: Option<String>,
}

impl HistoryRow {
    pub(super) fn from_record(record: &Record) -> Self {
        let text = searchable_text(&record.entry);
        let end = text.char_indices().nth(MAX_SEARCH_CHARS).map(|(end, _)| end);
        let by = match &record.entry {
            Entry::Approved { by, .. } => Some(*by),
            _ => None,
        };
        Self {
            seq: record.seq,
            at: record.at,
            workflow: record.workflow,
            kind: kind_name(&record.entry),
            subject: row_subject(record),
            by,
            text: text[..end.unwrap_or(text.len())].into(),
            is_truncated: end.is_some(),
            detail: RowDetail::from_entry(&record.entry).map(Box::new),
        }
    }

    /// The approximate memory use, in bytes.
    pub(super) fn memory_size(&self) -> usize {
        let detail = self.detail.as_ref().map_or(0, |it| it.memory_size());
        size_of::<Self>() + self.text.len() + detail
    }

    pub(super) fn workflow_detail(&self) -> Option<&WorkflowDetail> {
        match self.detail.as_deref()? {
            RowDetail::Workflow(detail) => Some(detail),
            RowDetail::Call(_) | RowDetail::Proposal(_) => None,
        }
    }

    pub(super) fn call_detail(&self) -> Option<&CallDetail> {
        match self.detail.as_deref()? {
            RowDetail::Call(detail) => Some(detail),
            RowDetail::Workflow(_) | RowDetail::Proposal(_) => None,
        }
    }

    pub(super) fn proposal_detail(&self) -> Option<&ProposalDetail> {
        match self.detail.as_deref()? {
            RowDetail::Proposal(detail) => Some(detail),
            RowDetail::Workflow(_) | RowDetail::Call(_) => None,
        }
    }
}

impl RowDetail {
    fn from_entry(entry: &Entry) -> Option<Self> {
        match entry {
            Entry::Started { place, .. } => Some(Self::Workflow(WorkflowDetail {
                name: place.name(),
                session: place.session_id(),
                place: place.clone(),
            })),
            Entry::Called { tool, args, .. } => {
                let path = args.get("path").and_then(|path| path.as_str()).map(str::to_owned);
                Some(Self::Call(CallDetail { tool: tool.clone(), path }))
            }
            Entry::Proposed { call, proposal, .. } => {
                let mut paths = touched_paths(proposal);
                let more_paths = paths.len().saturating_sub(MAX_PATHS);
                paths.truncate(MAX_PATHS);
                let project = proposal.files.as_ref().map(|files| files.project.clone());
                let (call, class) = (*call, proposal.class);
                Some(Self::Proposal(ProposalDetail { call, class, paths, more_paths, project }))
            }
            _ => None,
        }
    }

    fn memory_size(&self) -> usize {
        let texts = match self {
            // The place repeats what the name and the session are made of.
            Self::Workflow(it) => 2 * (it.name.len() + it.session.0.len()),
            Self::Call(it) => it.tool.len() + it.path.as_ref().map_or(0, String::len),
            Self::Proposal(it) => {
                it.paths.iter().map(|path| size_of::<String>() + path.len()).sum()
            }
        };
        size_of::<Self>() + texts
    }
}

/// The entry's name, as serialized.
fn kind_name(entry: &Entry) -> &'static str {
    match entry {
        Entry::Started { .. } => "started",
        Entry::Context { .. } => "context",
        Entry::Asked { .. } => "asked",
        Entry::Requested { .. } => "requested",
        Entry::Replied { .. } => "replied",
        Entry::RequestFailed { .. } => "request_failed",
        Entry::Resumed {} => "resumed",
        Entry::Cleared {} => "cleared",
        Entry::Disconnected { .. } => "disconnected",
        Entry::Erased { .. } => "erased",
        Entry::Notified { .. } => "notified",
        Entry::Summarised { .. } => "summarised",
        Entry::Said { .. } => "said",
        Entry::Called { .. } => "called",
        Entry::Questioned { .. } => "questioned",
        Entry::PermissionRequested { .. } => "permission_requested",
        Entry::PermissionDecided { .. } => "permission_decided",
        Entry::RuleAdded { .. } => "rule_added",
        Entry::RuleRevoked { .. } => "rule_revoked",
        Entry::Uploading { .. } => "uploading",
        Entry::Uploaded { .. } => "uploaded",
        Entry::AssetUploading { .. } => "asset_uploading",
        Entry::AssetUploadAccepted { .. } => "asset_upload_accepted",
        Entry::AssetUploaded { .. } => "asset_uploaded",
        Entry::UploadFailed { .. } => "upload_failed",
        Entry::GenerationStarting { .. } => "generation_starting",
        Entry::GenerationAccepted { .. } => "generation_accepted",
        Entry::GenerationRefining { .. } => "generation_refining",
        Entry::Generated { .. } => "generated",
        Entry::GenerationFailed { .. } => "generation_failed",
        Entry::CloudRunStarted { .. } => "cloud_run_started",
        Entry::CloudRunAccepted { .. } => "cloud_run_accepted",
        Entry::CloudRunFinished { .. } => "cloud_run_finished",
        Entry::Commented { .. } => "commented",
        Entry::CommentsAnswered { .. } => "comments_answered",
        Entry::ReviewStarted { .. } => "review_started",
        Entry::Reviewed { .. } => "reviewed",
        Entry::ReviewFailed { .. } => "review_failed",
        Entry::PartStarted { .. } => "part_started",
        Entry::PartEnded { .. } => "part_ended",
        Entry::Submitted { .. } => "submitted",
        Entry::Noted { .. } => "noted",
        Entry::Answered { .. } => "answered",
        Entry::Refused { .. } => "refused",
        Entry::Planned { .. } => "planned",
        Entry::Proposed { .. } => "proposed",
        Entry::Approved { .. } => "approved",
        Entry::Rejected { .. } => "rejected",
        Entry::Withdrawn { .. } => "withdrawn",
        Entry::Applying { .. } => "applying",
        Entry::Applied { .. } => "applied",
        Entry::Failed { .. } => "failed",
        Entry::Undone { .. } => "undone",
        Entry::Redone { .. } => "redone",
        Entry::Finished { .. } => "finished",
    }
}

/// The label of the decision that an entry of this kind records about a proposal.
pub(super) fn verdict_label(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "approved" => "Approved",
        "rejected" => "Rejected",
        "commented" => "Commented",
        "comments_answered" => "Comments answered",
        "review_started" => "A review began",
        "reviewed" => "Reviewed",
        "review_failed" => "Not reviewed",
        "withdrawn" => "Withdrawn",
        "applying" => "About to be applied",
        "applied" => "Applied",
        "failed" => "Failed",
        "undone" => "Undone in Studio",
        "redone" => "Redone in Studio",
        _ => return None,
    })
}

fn row_subject(record: &Record) -> RowSubject {
    match &record.entry {
        Entry::Called { .. } => RowSubject::Call(record.seq),
        Entry::Questioned { call, .. }
        | Entry::PermissionRequested { call, .. }
        | Entry::PermissionDecided { call, .. }
        | Entry::Answered { call, .. }
        | Entry::Refused { call, .. }
        | Entry::Noted { call, .. }
        | Entry::Planned { call, .. } => RowSubject::Call(*call),
        Entry::PartStarted { part, .. } => RowSubject::Call(part.call),
        Entry::Proposed { .. } => RowSubject::Proposal(record.seq),
        Entry::Approved { proposal, .. }
        | Entry::Rejected { proposal, .. }
        | Entry::Commented { proposal, .. }
        | Entry::CommentsAnswered { proposal, .. }
        | Entry::ReviewStarted { proposal, .. }
        | Entry::Reviewed { proposal, .. }
        | Entry::ReviewFailed { proposal, .. }
        | Entry::Withdrawn { proposal, .. }
        | Entry::Applied { proposal, .. }
        | Entry::Failed { proposal, .. }
        | Entry::Undone { proposal, .. }
        | Entry::Redone { proposal, .. } => RowSubject::Proposal(*proposal),
        Entry::Applying { proposals, .. } => {
            proposals.first().map_or(RowSubject::Nothing, |first| RowSubject::Proposal(*first))
        }
        Entry::Started { .. }
        | Entry::Context { .. }
        | Entry::Asked { .. }
        | Entry::Requested { .. }
        | Entry::Replied { .. }
        | Entry::RequestFailed { .. }
        | Entry::Resumed {}
        | Entry::Cleared {}
        | Entry::Disconnected { .. }
        | Entry::Erased { .. }
        | Entry::Notified { .. }
        | Entry::Summarised { .. }
        | Entry::Said { .. }
        | Entry::RuleAdded { .. }
        | Entry::RuleRevoked { .. }
        | Entry::Uploading { .. }
        | Entry::Uploaded { .. }
        | Entry::AssetUploading { .. }
        | Entry::AssetUploadAccepted { .. }
        | Entry::AssetUploaded { .. }
        | Entry::UploadFailed { .. }
        | Entry::GenerationStarting { .. }
        | Entry::GenerationAccepted { .. }
        | Entry::GenerationRefining { .. }
        | Entry::Generated { .. }
        | Entry::GenerationFailed { .. }
        | Entry::CloudRunStarted { .. }
        | Entry::CloudRunAccepted { .. }
        | Entry::CloudRunFinished { .. }
        | Entry::PartEnded { .. }
        | Entry::Submitted { .. }
        | Entry::Finished { .. } => RowSubject::Nothing,
    }
}

fn report_text(report: &ReviewReport) -> String {
    let findings = report.findings.iter().map(|it| format!("{}: {}", it.on.describe(), it.text));
    let lines: Vec<String> = std::iter::once(report.summary.clone()).chain(findings).collect();
    lines.join("\n")
}

/// The searchable text of an entry about the models that share a task.
fn shared_text(entry: &Entry) -> &str {
    match entry {
        Entry::PartStarted { part, .. } => &part.title,
        Entry::PartEnded { outcome, .. } => match outcome {
            PartOutcome::Submitted { report: text, .. }
            | PartOutcome::Answered { text }
            | PartOutcome::Failed { reason: text } => text,
        },
        Entry::Noted { text, .. } | Entry::Submitted { summary: Some(text) } => text,
        _ => "",
    }
}

/// The searchable text of an entry. For an entry about a proposal, only the text beside the
/// proposal.
pub(super) fn searchable_text(entry: &Entry) -> Cow<'_, str> {
    match entry {
        Entry::Started { goal: text, .. }
        | Entry::Asked { text, .. }
        | Entry::Notified { text }
        | Entry::Said { text, .. }
        | Entry::RequestFailed { message: text, .. }
        | Entry::Questioned { question: text, .. }
        | Entry::Refused { reason: text, .. }
        | Entry::Withdrawn { reason: text, .. }
        | Entry::Failed { reason: text, .. }
        | Entry::UploadFailed { reason: text, .. }
        | Entry::GenerationFailed { reason: text, .. } => text.into(),
        Entry::Rejected { reason: text, .. }
        | Entry::Undone { remaining: text, .. }
        | Entry::Redone { remaining: text, .. } => text.as_deref().unwrap_or_default().into(),
        Entry::PermissionRequested { permission, .. } => permission.question().into(),
        Entry::PermissionDecided { answer, .. } => answer.label().into(),
        Entry::RuleAdded { rule, .. } => format!("Allowed {}", rule.describe()).into(),
        Entry::Commented { comments, .. } => {
            let lines = comments.iter().map(|it| format!("{}: {}", it.on.describe(), it.text));
            lines.collect::<Vec<_>>().join("\n").into()
        }
        Entry::CommentsAnswered { replies, .. } => {
            let lines = replies.iter().map(|it| format!("#{}: {}", it.comment, it.text));
            lines.collect::<Vec<_>>().join("\n").into()
        }
        Entry::ReviewStarted { model, .. } => model.as_str().into(),
        Entry::ReviewFailed { reason, .. } => reason.as_str().into(),
        Entry::PartStarted { .. }
        | Entry::PartEnded { .. }
        | Entry::Submitted { .. }
        | Entry::Noted { .. } => shared_text(entry).into(),
        Entry::Reviewed { report, .. } => report_text(report).into(),
        Entry::RuleRevoked { rule } => format!("Revoked the rule of entry {rule}").into(),
        Entry::Uploading { upload } => upload.describe().into(),
        Entry::Uploaded { version, .. } => format!("Version {version}").into(),
        Entry::AssetUploading { file } => file.describe().into(),
        Entry::AssetUploadAccepted { operation, .. } => operation.as_str().into(),
        Entry::AssetUploaded { asset, .. } => format!("rbxassetid://{asset}").into(),
        Entry::GenerationStarting { generation } => generation.describe().into(),
        Entry::GenerationRefining { .. } => "Colors".into(),
        Entry::Generated { credits, .. } => format!("Generated for {credits} credits").into(),
        Entry::CloudRunStarted { run } => run.describe().into(),
        Entry::GenerationAccepted { task, .. } | Entry::CloudRunAccepted { task, .. } => {
            task.as_str().into()
        }
        Entry::CloudRunFinished { failure: Some(failure), .. } => failure.as_str().into(),
        Entry::CloudRunFinished { passed, failed, failure: None, .. } => {
            format!("{passed} passed, {failed} failed").into()
        }
        Entry::Proposed { proposal, .. } => proposal.title.as_str().into(),
        Entry::Called { tool, args, .. } => {
            format!("{tool} {}", brief_json(args)).trim_end().to_owned().into()
        }
        Entry::Answered { answer, .. } => brief_json(answer).into(),
        Entry::Planned { steps, notes, .. } => {
            let done = steps.iter().filter(|step| step.done).count();
            let mut text =
                format!("Plan: {done} of {} done", count_noun(steps.len(), "step", "steps"));
            let lines = steps.iter().map(|step| step.text.as_str()).chain(notes.as_deref());
            lines.for_each(|line| text.extend(["\n", line]));
            text.into()
        }
        Entry::Finished { outcome, summary } => {
            let outcome = match outcome {
                Finish::Done => "Done",
                Finish::NotApproved => "Ended without approval",
                Finish::Failed => "Failed",
            };
            match summary {
                Some(summary) => format!("{outcome}: {summary}").into(),
                None => outcome.into(),
            }
        }
        Entry::Context { context } => {
            let scripts = count_noun(context.scripts.len(), "script", "scripts");
            format!("{scripts} chosen for the model").into()
        }
        Entry::Requested { request } => format!("Asked {}", request.model).into(),
        Entry::Replied { model, tokens, cost, .. } => {
            let written = tokens.map(|it| format!(", {} tokens", it.prompt + it.generated));
            let cost = cost.map(|dollars| format!(", ${dollars:.4}"));
            let (written, cost) = (written.unwrap_or_default(), cost.unwrap_or_default());
            format!("{model} answered{written}{cost}").into()
        }
        Entry::Resumed {} => "Went on".into(),
        Entry::Cleared {} => "The conversation ended".into(),
        Entry::Disconnected { client } => format!("{client} disconnected").into(),
        Entry::Erased { .. } => "The texts of this task were erased".into(),
        Entry::Summarised { turns, text, .. } => {
            let messages = count_noun(*turns as usize, "message", "messages");
            format!("{messages} summarised\n{text}").into()
        }
        Entry::Approved { .. } | Entry::Applying { .. } | Entry::Applied { .. } => "".into(),
    }
}

/// The paths of the instances that a proposal touches, without duplicates and in the order of the
/// commands.
pub(super) fn touched_paths(proposal: &Proposal) -> Vec<String> {
    let mut all = Vec::new();
    for command in &proposal.commands {
        all.push(match command {
            Command::Create { parent, name, .. } | Command::Clone { parent, name, .. } => {
                parent.path.child(name, None).to_string()
            }
            command => command.target().path.to_string(),
        });
    }
    for row in &proposal.preview.rows {
        all.push(row.path.to_string());
        if let Change::Moved { to } = &row.change {
            all.push(to.to_string());
        }
    }
    all.extend(proposal.preview.scripts.iter().map(|script| script.path.to_string()));
    let mut seen = HashSet::new();
    all.retain(|path| seen.insert(path.clone()));
    all
}
#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    #[track_caller]
    fn check(entry: Json, says: &str) {
        let read: Entry = serde_json::from_value(entry.clone()).unwrap();
        assert_eq!(kind_name(&read), entry["entry"], "it is called as it is written");
        assert_eq!(searchable_text(&read), says);
    }

    #[test]
    fn entries_are_described_as_text() {
        check(json!({ "entry": "asked", "text": "and a door" }), "and a door");
        check(json!({ "entry": "notified", "text": "go on" }), "go on");
        check(json!({ "entry": "resumed" }), "Went on");
        check(json!({ "entry": "cleared" }), "The conversation ended");
        let gone = json!({ "entry": "disconnected", "client": "claude-code" });
        check(gone, "claude-code disconnected");
        let replied = json!({ "entry": "replied", "model": "maker/model", "cost": 0.25,
            "tokens": { "prompt": 10, "generated": 5 } });
        check(replied, "maker/model answered, 15 tokens, $0.2500");
        let step = |done| json!({ "text": "a step", "done": done });
        let planned = json!({ "entry": "planned", "call": 1, "steps": [step(true), step(false)] });
        check(planned, "Plan: 1 of 2 steps done\na step\na step");
        check(
            json!({ "entry": "summarised", "text": "so far", "until": 1, "turns": 1 }),
            "1 message summarised\nso far",
        );
        let called =
            json!({ "entry": "called", "tool": "read_script", "args": { "path": "game.X" } });
        check(called, "read_script game.X");
        check(json!({ "entry": "called", "tool": "complete", "args": {} }), "complete");
        check(json!({ "entry": "questioned", "call": 1, "question": "Which?" }), "Which?");
        check(json!({ "entry": "answered", "call": 1, "answer": { "count": 3 } }), "count: 3");
        check(json!({ "entry": "refused", "call": 1, "reason": "no" }), "no");
        check(json!({ "entry": "rejected", "proposal": 1 }), "");
        check(
            json!({ "entry": "withdrawn", "proposal": 1, "reason": "gone", "replanned": false }),
            "gone",
        );
        check(json!({ "entry": "failed", "proposal": 1, "reason": "full" }), "full");
        check(json!({ "entry": "undone", "proposal": 1 }), "");
        check(json!({ "entry": "redone", "proposal": 1, "remaining": "a file" }), "a file");
        let applying = json!({ "entry": "applying", "proposals": [1], "file": "x", "acks": [] });
        check(applying, "");
        let finished = json!({ "entry": "finished", "outcome": "done", "summary": "all is well" });
        check(finished, "Done: all is well");
        check(json!({ "entry": "finished", "outcome": "not_approved" }), "Ended without approval");
    }
}
