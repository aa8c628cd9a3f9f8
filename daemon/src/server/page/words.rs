//! Names and times as a person reads them.

use std::path::Path;

use maud::{Markup, html};
use scene_schemas::api::{ProposalStatus, WorkflowState};
use scene_schemas::entry::Finish;
use scene_schemas::proposal::{Class, Mode};

/// A time, which the browser writes as its person reads times: in milliseconds since 1970.
pub(super) fn time(at: u64) -> Markup {
    html! { time data-at=(at) {} }
}

/// A place by its name; a file by its own, without the folders that it lies in.
pub(super) fn place(name: &str) -> &str {
    let path = Path::new(name);
    let file = path.file_name().filter(|_| path.is_absolute());
    file.and_then(|file| file.to_str()).unwrap_or(name)
}

/// `n` of something; the plural by an `s`.
pub(super) fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// A number of tokens or bytes, short.
pub(super) fn short(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..10_000 => format!("{:.1} k", n as f64 / 1e3),
        10_000..1_000_000 => format!("{} k", n / 1_000),
        _ => format!("{:.1} M", n as f64 / 1e6),
    }
}

pub(super) fn class(class: Class) -> &'static str {
    match class {
        Class::Additive => "additive",
        Class::Modifying => "modifying",
        Class::Destructive => "destructive",
    }
}

pub(super) fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Confirm => "confirm",
        Mode::Auto => "auto",
        Mode::Dangerous => "dangerous",
    }
}

#[expect(dead_code, reason = "for the cards")]
pub(super) fn status(status: ProposalStatus) -> &'static str {
    match status {
        ProposalStatus::Waiting => "waiting",
        ProposalStatus::Approved => "approved",
        ProposalStatus::Applied => "applied",
        ProposalStatus::Rejected => "rejected",
        ProposalStatus::Withdrawn => "withdrawn",
        ProposalStatus::Failed => "failed",
        ProposalStatus::Undone => "undone",
    }
}

/// What a task is doing: the word that the page's style goes by, and the one that is read.
pub(super) fn state(state: WorkflowState, ended: Option<Finish>) -> (&'static str, &'static str) {
    match (state, ended) {
        (WorkflowState::Working, _) => ("working", "at work"),
        (WorkflowState::Waiting, _) => ("waiting", "waits for you"),
        (WorkflowState::Idle, _) => ("idle", "idle"),
        (WorkflowState::Away, _) => ("away", "its place is away"),
        (WorkflowState::Stopped, _) => ("stopped", "stopped"),
        (WorkflowState::Finished, Some(Finish::Failed)) => ("failed", "failed"),
        (WorkflowState::Finished, Some(Finish::NotApproved)) => ("ended", "not approved"),
        (WorkflowState::Finished, _) => ("done", "done"),
    }
}
