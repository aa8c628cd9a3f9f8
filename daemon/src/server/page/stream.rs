//! What happens, as parts of the page: for as long as somebody reads.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, Response};
use scene_schemas::api::{Event, EventRecord, ProposalStatus};
use scene_schemas::entry::Seq;
use serde::Serialize;

use super::super::board::Board;
use super::super::hold;
use super::item::{Change, changes};
use super::served;
use super::words::safe;

/// What the page is told of an event.
#[derive(Debug, Serialize)]
struct Told {
    /// The task.
    task: Seq,
    /// The session that a task begins in.
    #[serde(skip_serializing_if = "Option::is_none")]
    begins: Option<String>,
    /// The proposal that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    proposal: Option<Seq>,
    /// The proposal that it stands for now.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Seq>,
    /// What a person is told in passing, where they do not look at the proposal.
    #[serde(skip_serializing_if = "Option::is_none")]
    passing: Option<Passing>,
    /// Whether an entry stands for it: what is listed elsewhere may be otherwise now.
    lasts: bool,
    changes: Vec<Change>,
}

/// A few words in passing.
#[derive(Debug, Serialize)]
struct Passing {
    text: String,
    /// How the page shows it.
    tone: &'static str,
}

impl Passing {
    fn of(event: &Event) -> Option<Self> {
        let Event::ProposalChanged { proposal, status, reason, .. } = event else {
            return None;
        };
        let (what, tone) = match status {
            ProposalStatus::Applied => ("was applied", "good"),
            ProposalStatus::Failed => ("could not be applied", "bad"),
            ProposalStatus::Undone => ("was undone in Studio", "plain"),
            _ => return None,
        };
        let why = reason.as_ref().map(|reason| format!(": {}", safe(reason))).unwrap_or_default();
        Some(Self { text: format!("Proposal {proposal} {what}{why}"), tone })
    }
}

impl Told {
    fn of(record: &EventRecord) -> Self {
        let event = &record.event;
        let lasts = !matches!(
            event,
            Event::AssistantStart {}
                | Event::AssistantUpdate { .. }
                | Event::Thinking { .. }
                | Event::Stalled { .. }
                | Event::Retrying { .. }
        );
        Self {
            task: record.workflow,
            begins: match event {
                Event::Asked { session, .. } => session.as_ref().map(ToString::to_string),
                _ => None,
            },
            proposal: match event {
                Event::ProposalMapped { proposal, .. }
                | Event::ProposalChanged { proposal, .. } => Some(*proposal),
                _ => None,
            },
            from: match event {
                Event::ProposalMapped { from, .. } => *from,
                _ => None,
            },
            passing: Passing::of(event),
            lasts,
            changes: changes(record),
        }
    }
}

/// What has happened behind a cursor, and what happens.
pub(in super::super) fn stream(board: Arc<Board>, cursor: Seq) -> Response<Body> {
    let body = hold::told(board, cursor, |record| {
        serde_json::to_string(&Told::of(record)).unwrap_or_default()
    });
    served(HeaderValue::from_static("text/event-stream"), body)
}

#[cfg(test)]
mod tests {
    use scene_schemas::proposal::Class;

    use super::*;

    #[test]
    fn a_proposal_that_stands_for_another_says_for_which() {
        let title = "T".to_owned();
        let (class, from) = (Class::Additive, Some(Seq(7)));
        let event = Event::ProposalMapped { call: Seq(3), proposal: Seq(9), title, class, from };
        let record = EventRecord { seq: Seq(10), at: 0, workflow: Seq(1), event };
        let told = serde_json::to_value(Told::of(&record)).unwrap();
        assert_eq!((&told["proposal"], &told["from"]), (&9.into(), &7.into()));
    }
}
