//! Names and times as a person reads them.

use std::path::Path;

use maud::{Markup, html};
use scene_schemas::api::{FailureKind, ProposalStatus, ProposalView, WorkflowState};
use scene_schemas::entry::Finish;
use scene_schemas::proposal::{Class, Mode};
use vector_core::safe_line::safe_line;

/// A time, which the browser writes as its person reads times: in milliseconds since 1970.
pub(super) fn time_element(at: u64) -> Markup {
    html! { time data-at=(at) {} }
}

/// A text of others: without control characters, and without those that reorder or hide what is read.
pub(super) fn safe_text(text: &str) -> String {
    text.split('\n').map(safe_line).collect::<Vec<_>>().join("\n")
}

/// How many characters of a request stand where it is only named.
const NAMED: usize = 200;

/// The first line of a text of others, where it is only named by that.
pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(NAMED) {
        Some((end, _)) => safe_text(&format!("{}…", &line[..end])),
        None => safe_text(line),
    }
}

/// How the files of Rojo projects end, and what is before that where a folder is the project.
const PROJECTS: [&str; 2] = [".project.json", ".project.jsonc"];
const DEFAULT: &str = "default";

/// A place by its name; a file by its own, without the folders that it lies in, and a Rojo project by its
/// own or its folder's.
pub(super) fn place_name(name: &str) -> String {
    let path = Path::new(name);
    let named = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let Some(file) = named(path).filter(|_| path.is_absolute()) else { return safe_text(name) };
    let project = PROJECTS.iter().find_map(|end| file.strip_suffix(end)).map(str::to_owned);
    let project = match project {
        Some(project) if project == DEFAULT => path.parent().and_then(named),
        project => project,
    };
    safe_text(&project.unwrap_or(file))
}

/// `n` of something; the plural by an `s`.
pub(super) fn count_text(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// A time in milliseconds, short.
pub(super) fn format_duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1e3),
        60_000..3_600_000 => format!("{} min", ms / 60_000),
        _ => format!("{:.1} h", ms as f64 / 3.6e6),
    }
}

/// A kind of failure, in words.
pub(super) fn failure_kind(kind: FailureKind) -> String {
    let name = serde_json::to_value(kind).unwrap_or_default();
    name.as_str().unwrap_or_default().replace('_', " ")
}

/// A number of tokens or bytes, short.
pub(super) fn short_count(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..10_000 => format!("{:.1} k", n as f64 / 1e3),
        10_000..1_000_000 => format!("{} k", n / 1_000),
        _ => format!("{:.1} M", n as f64 / 1e6),
    }
}

pub(super) fn class_name(class: Class) -> &'static str {
    match class {
        Class::Additive => "additive",
        Class::Modifying => "modifying",
        Class::Destructive => "destructive",
    }
}

pub(super) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Confirm => "confirm",
        Mode::Auto => "auto",
        Mode::Dangerous => "dangerous",
    }
}

pub(super) fn status_name(status: ProposalStatus) -> &'static str {
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

/// What became of a proposal: one of which a part, or a changed form, was taken is not rejected.
pub(super) fn outcome_name(view: &ProposalView) -> &'static str {
    let is_replaced = view.status == ProposalStatus::Rejected && view.successor.is_some();
    if is_replaced { "partly accepted" } else { status_name(view.status) }
}

/// What a task is doing: the word that the page's style goes by, and the one that is read.
pub(super) fn state_name(
    state: WorkflowState,
    ended: Option<Finish>,
) -> (&'static str, &'static str) {
    match (state, ended) {
        (WorkflowState::Working, _) => ("working", "at work"),
        (WorkflowState::Waiting, _) => ("waiting", "needs your answer"),
        (WorkflowState::Idle, _) => ("idle", "idle"),
        (WorkflowState::Disconnected, _) => ("waiting", "disconnected, needs your answer"),
        (WorkflowState::Away, _) => ("away", "its place is away"),
        (WorkflowState::Stopped, _) => ("stopped", "stopped"),
        (WorkflowState::Finished, Some(Finish::Failed)) => ("failed", "failed"),
        (WorkflowState::Finished, Some(Finish::NotApproved)) => ("ended", "not approved"),
        (WorkflowState::Finished, _) => ("done", "done"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_called_as_its_person_calls_it() {
        let folder = if cfg!(windows) { r"C:\games\lobby" } else { "/games/lobby" };
        let named = |file: &str| place_name(Path::new(folder).join(file).to_str().unwrap());
        assert_eq!(named("obby.rbxl"), "obby.rbxl");
        assert_eq!(named("default.project.json"), "lobby");
        assert_eq!(named("default.project.jsonc"), "lobby");
        assert_eq!(named("arena.project.json"), "arena");
        assert_eq!(place_name("Lobby / main (open in Studio)"), "Lobby / main (open in Studio)");
        assert_eq!(place_name("default.project.json"), "default.project.json");
    }
}
