//! Events for clients, derived from ledger entries.

use scene_schemas::api::{Event, OfferedPermission, ProposalStatus};
use scene_schemas::entry::{AttachmentSnapshot, Entry, Record, Seq};
use scene_schemas::permission::{Permission, PermissionAnswer};
use serde_json::Value as Json;

use super::PendingStatus;
use super::parts::is_merge;

/// What people see of a call that they did not permit.
const NOT_PERMITTED: &str = "You did not permit it.";

/// Maximum characters shown of arguments and answers.
const BRIEF: usize = 120;

/// Returns the events of a record, in order.
pub fn events_of(record: &Record) -> Vec<Event> {
    let seq = record.seq;
    let changed = |proposal, status, by, reason: Option<&String>| {
        vec![Event::ProposalChanged { proposal, status, by, reason: reason.cloned() }]
    };
    match &record.entry {
        Entry::Started { place, goal, driver, mode, attached, .. } => vec![Event::Asked {
            session: Some(place.session_id()),
            text: goal.clone(),
            driver: driver.clone(),
            mode: *mode,
            attached: attached.iter().map(AttachmentSnapshot::describe).collect(),
        }],
        Entry::Said { text, answers, .. } => {
            let (text, answers) = (text.clone(), answers.clone());
            vec![Event::AssistantStart {}, Event::AssistantFinal { text, answers }]
        }
        // The engine made it; its proposal says what it is.
        Entry::Called { tool, .. } if is_merge(tool) => Vec::new(),
        Entry::Called { tool, args, .. } => {
            vec![Event::ToolParsed { call: seq, tool: tool.clone(), brief: brief_json(args) }]
        }
        Entry::Answered { call, answer } => vec![
            Event::ToolValid { call: *call },
            Event::ToolStarted { call: *call },
            Event::ToolResult { call: *call, brief: brief_json(answer) },
        ],
        Entry::Refused { call, reason, conflict } => {
            let (reason, conflict) = (reason.clone(), conflict.clone());
            vec![Event::ToolError { call: *call, reason, conflict }]
        }
        Entry::Planned { steps, notes, .. } => {
            vec![Event::Plan { steps: steps.clone(), notes: notes.clone() }]
        }
        Entry::Proposed { call, proposal, .. } => vec![
            Event::ToolValid { call: *call },
            Event::ToolStarted { call: *call },
            Event::ProposalMapped {
                call: *call,
                proposal: seq,
                title: proposal.title.clone(),
                subject: proposal.subject().cloned(),
                class: proposal.class,
                from: proposal.replaces.or(proposal.from),
            },
        ],
        Entry::Applying { .. }
        | Entry::Cleared {}
        | Entry::Erased { .. }
        | Entry::Resumed {}
        | Entry::Notified { .. } => Vec::new(),
        Entry::Approved { proposal, by, .. } => {
            changed(*proposal, ProposalStatus::Approved, Some(*by), None)
        }
        Entry::Rejected { proposal, reason } => {
            changed(*proposal, ProposalStatus::Rejected, None, reason.as_ref())
        }
        Entry::Withdrawn { proposal, reason, .. } => {
            changed(*proposal, ProposalStatus::Withdrawn, None, Some(reason))
        }
        Entry::Applied { proposal, .. } => changed(*proposal, ProposalStatus::Applied, None, None),
        Entry::Redone { proposal, remaining: left } => {
            changed(*proposal, ProposalStatus::Applied, None, left.as_ref())
        }
        Entry::Undone { proposal, remaining: left } => {
            changed(*proposal, ProposalStatus::Undone, None, left.as_ref())
        }
        Entry::Failed { proposal, reason } => {
            changed(*proposal, ProposalStatus::Failed, None, Some(reason))
        }
        Entry::Finished { outcome, summary } => {
            vec![Event::Done { outcome: *outcome, summary: summary.clone() }]
        }
        entry => conversation_events(entry),
    }
}

fn permission_event(call: Seq, permission: &Permission) -> Event {
    let offer = |answer: &PermissionAnswer| OfferedPermission {
        answer: *answer,
        label: answer.label().to_owned(),
    };
    Event::PermissionRequested {
        call,
        question: permission.question(),
        answers: permission.answers().iter().map(offer).collect(),
        model: permission.shown_model(),
    }
}

/// Returns the events of a conversation with a model, of a permission, and of a disconnected client.
fn conversation_events(entry: &Entry) -> Vec<Event> {
    match entry {
        Entry::Disconnected { client } => {
            vec![Event::ClientDisconnected { client: client.clone() }]
        }
        Entry::Asked { text, attached } => vec![asked_more(text, attached)],
        Entry::Questioned { question, answers, .. } => {
            let (text, answers) = (question.clone(), answers.clone());
            vec![Event::AssistantStart {}, Event::AssistantFinal { text, answers }]
        }
        Entry::PermissionRequested { call, permission } => {
            vec![permission_event(*call, permission)]
        }
        Entry::PermissionDecided { call, answer } => {
            let decided = Event::PermissionDecided { call: *call, answer: *answer };
            let refused =
                Event::ToolError { call: *call, reason: NOT_PERMITTED.to_owned(), conflict: None };
            match answer {
                PermissionAnswer::Once | PermissionAnswer::Task => vec![decided],
                PermissionAnswer::No => vec![decided, refused],
            }
        }
        Entry::RuleAdded { rule, .. } => vec![Event::RuleAdded { text: rule.describe() }],
        Entry::RuleRevoked { rule } => vec![Event::RuleRevoked { rule: *rule }],
        Entry::Commented { proposal, comments } => {
            vec![commented(*proposal, comments.len(), false)]
        }
        Entry::CommentsAnswered { proposal, replies } => {
            vec![commented(*proposal, replies.len(), true)]
        }
        Entry::ReviewStarted { .. } | Entry::Reviewed { .. } | Entry::ReviewFailed { .. } => {
            review_event(entry).into_iter().collect()
        }
        Entry::PartStarted { .. }
        | Entry::PartEnded { .. }
        | Entry::Submitted { .. }
        | Entry::Noted { .. } => shared_event(entry).into_iter().collect(),
        Entry::Requested { request } => vec![Event::ContextStats {
            turns: request.turns,
            bytes: request.bytes,
            limit: Some(request.window),
            scripts: Vec::new(),
            left: Vec::new(),
        }],
        Entry::Context { context } => vec![Event::ContextStats {
            turns: 0,
            bytes: context.bytes,
            limit: Some(context.budget),
            scripts: context.scripts.iter().map(|it| format!("{}: {}", it.path, it.why)).collect(),
            left: context.excluded.iter().map(|it| format!("{}: {}", it.path, it.why)).collect(),
        }],
        Entry::Replied { tokens: Some(tokens), cost, .. } => {
            let (input, output, cost) = (tokens.prompt, tokens.generated, *cost);
            vec![Event::Usage { input, output, cost }]
        }
        Entry::RequestFailed { code, message, retryable, hint, setting } => vec![Event::Error {
            code: *code,
            message: message.clone(),
            retryable: *retryable,
            hint: hint.clone(),
            setting: *setting,
        }],
        Entry::Summarised { turns, .. } => vec![Event::ContextSummarised { turns: *turns }],
        Entry::Started { .. }
        | Entry::Replied { .. }
        | Entry::Resumed {}
        | Entry::Cleared {}
        | Entry::Erased { .. }
        | Entry::Notified { .. }
        | Entry::Said { .. }
        | Entry::Called { .. }
        | Entry::Answered { .. }
        | Entry::Refused { .. }
        | Entry::Planned { .. }
        | Entry::Proposed { .. }
        | Entry::Approved { .. }
        | Entry::Rejected { .. }
        | Entry::Withdrawn { .. }
        | Entry::Applying { .. }
        | Entry::Applied { .. }
        | Entry::Failed { .. }
        | Entry::Undone { .. }
        | Entry::Redone { .. }
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
        | Entry::Finished { .. } => Vec::new(),
    }
}

fn asked_more(text: &str, attached: &[AttachmentSnapshot]) -> Event {
    let attached = attached.iter().map(AttachmentSnapshot::describe).collect();
    Event::AskedMore { text: text.to_owned(), attached }
}

/// Returns the event of an entry about the models that share a task.
fn shared_event(entry: &Entry) -> Option<Event> {
    let text = match entry {
        Entry::PartStarted { part, worker, model } => {
            let (number, title) = (part.number, &part.title);
            format!("Part {number}, {title}: {model} does it, in task {worker}.")
        }
        Entry::PartEnded { worker, outcome } => {
            format!("The part of task {worker} {}.", outcome.describe().trim_end_matches('.'))
        }
        Entry::Submitted { .. } => "The changes are complete.".to_owned(),
        Entry::Noted { text, .. } => format!("Noted for the others: {text}"),
        _ => return None,
    };
    Some(Event::Part { text })
}

/// Returns the event of an entry about a review.
fn review_event(entry: &Entry) -> Option<Event> {
    let (proposal, text) = match entry {
        Entry::ReviewStarted { proposal, model, .. } => (*proposal, format!("{model} reviews it.")),
        Entry::Reviewed { proposal, report, .. } => {
            (*proposal, format!("The review is done: {}.", report.count_text()))
        }
        Entry::ReviewFailed { proposal, reason, .. } => {
            (*proposal, format!("It was not reviewed: {reason}"))
        }
        _ => return None,
    };
    Some(Event::Review { proposal, text })
}

fn commented(proposal: Seq, count: usize, is_reply: bool) -> Event {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    Event::Commented { proposal, count, is_reply }
}

/// Formats arguments or an answer in one line: texts as they are, numbers with their names, lists
/// by length, objects by member names.
pub fn brief_json(json: &Json) -> String {
    let text = match json {
        Json::Object(map) => {
            let members = map.iter().map(|(name, json)| brief_member(name, json));
            members.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" · ")
        }
        json => short_json(json),
    };
    match text.char_indices().nth(BRIEF) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Numbers and list lengths are meaningless without their names.
fn brief_member(name: &str, json: &Json) -> String {
    match json {
        Json::Bool(_) | Json::Number(_) => format!("{name}: {json}"),
        Json::Array(list) if list.len() != 1 => format!("{name}: {}", list.len()),
        json => short_json(json),
    }
}

fn short_json(json: &Json) -> String {
    match json {
        Json::Null => String::new(),
        Json::String(text) => text.lines().next().unwrap_or_default().to_owned(),
        Json::Object(map) => map.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
        Json::Array(list) if list.len() != 1 => format!("{} of them", list.len()),
        Json::Array(list) => list.iter().map(short_json).collect(),
        json => json.to_string(),
    }
}

impl PendingStatus {
    /// Converts to the wire format.
    pub fn to_proposal_status(&self) -> ProposalStatus {
        match self {
            Self::Waiting | Self::Drafted => ProposalStatus::Waiting,
            Self::Approved | Self::Applying(_) => ProposalStatus::Approved,
            Self::Applied(_) => ProposalStatus::Applied,
            Self::Undone(_) => ProposalStatus::Undone,
            Self::Rejected(_) => ProposalStatus::Rejected,
            Self::Withdrawn(_) => ProposalStatus::Withdrawn,
            Self::Failed(_) => ProposalStatus::Failed,
        }
    }

    /// Returns the reason, if one was given.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Rejected(reason) => reason.as_deref(),
            Self::Withdrawn(reason) | Self::Failed(reason) => Some(reason),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_shown_with_the_name_of_their_field() {
        assert_eq!(brief_json(&json!({ "steps": 5 })), "steps: 5");
        let listed = json!({ "path": "game.Workspace", "children": [1, 2], "whole": true });
        assert_eq!(brief_json(&listed), "children: 2 · game.Workspace · whole: true");
        assert_eq!(brief_json(&json!({ "names": ["Wall"], "none": null })), "Wall");
        assert_eq!(brief_json(&json!([1, 2, 3])), "3 of them");
    }
}
