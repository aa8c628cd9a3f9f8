//! Formatting of names, numbers and times for the user.

use std::path::Path;

use maud::{Markup, html};
use scene_schemas::api::{FailureKind, ProposalStatus, ProposalView, WorkflowState};
use scene_schemas::entry::Finish;
use scene_schemas::proposal::{Class, Mode};
use serde::Serialize;
use vector_core::safe_line::safe_line;

/// Returns an element for a time in milliseconds since 1970, which the browser formats for its
/// locale.
pub(super) fn time_element(at: u64) -> Markup {
    html! { time data-at=(at) {} }
}

/// Escapes an untrusted text: control characters, and those that reorder or hide text.
pub(super) fn safe_text(text: &str) -> String {
    text.split('\n').map(safe_line).collect::<Vec<_>>().join("\n")
}

/// Formats a value as JSON for an attribute that the page's script reads. Escapes everything but
/// ASCII, because a name may have characters that reorder or hide text.
pub(super) fn json_attribute(value: &(impl Serialize + ?Sized)) -> String {
    let mut escaped = String::new();
    for c in serde_json::to_string(value).unwrap_or_default().chars() {
        if c.is_ascii() && !c.is_ascii_control() {
            escaped.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    escaped
}

/// The maximum length in characters of a request that is shown as a name.
const NAMED: usize = 200;

/// Returns the first line of an untrusted text, for use as a name.
pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(NAMED) {
        Some((end, _)) => safe_text(&format!("{}…", &line[..end])),
        None => safe_text(line),
    }
}

/// The extensions of project files, and the stem of one that is named after its folder.
const PROJECTS: [&str; 2] = [".project.json", ".project.jsonc"];
const DEFAULT: &str = "default";

/// Returns the short name of a place: of a file the file name without its folders, of a Rojo
/// project its own name or that of its folder.
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

/// Returns `n` with a noun, whose plural is formed with `s`.
pub(super) fn count_text(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// Formats a duration in milliseconds.
pub(super) fn format_duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1e3),
        60_000..3_600_000 => format!("{} min", ms / 60_000),
        _ => format!("{:.1} h", ms as f64 / 3.6e6),
    }
}

/// Returns the name of a kind of failure.
pub(super) fn failure_kind(kind: FailureKind) -> String {
    let name = serde_json::to_value(kind).unwrap_or_default();
    name.as_str().unwrap_or_default().replace('_', " ")
}

/// Formats a number of tokens or bytes.
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

/// Returns the name of a proposal's outcome. One that was replaced by a part or an edited form is
/// not called rejected.
pub(super) fn outcome_name(view: &ProposalView) -> &'static str {
    let is_replaced = view.status == ProposalStatus::Rejected && view.successor.is_some();
    if is_replaced { "partly approved" } else { view.status.as_str() }
}

/// Returns the state of a task: the name for the style sheet, and the text for the user.
pub(super) fn state_name(
    state: WorkflowState,
    ended: Option<Finish>,
) -> (&'static str, &'static str) {
    match (state, ended) {
        (WorkflowState::Working, _) => ("working", "at work"),
        (WorkflowState::Waiting, _) => ("waiting", "needs your answer"),
        (WorkflowState::Idle, _) => ("idle", "idle"),
        (WorkflowState::Disconnected, _) => ("waiting", "disconnected, needs your answer"),
        (WorkflowState::Away, _) => ("away", "its place is not connected"),
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
    fn place_is_named_after_its_file_or_project() {
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
