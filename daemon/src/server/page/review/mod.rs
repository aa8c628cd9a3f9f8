//! Proposals on the page: those that wait, one with everything on it, and the small form of it that
//! stands in a conversation.
//!
//! Names, texts and values come from places and models: whatever is shown of them goes through `shown`.
//! What a decision means is not known here; the page brings it to the same route as the terminal.
//!
//! - `list`: those that wait;
//! - `whole`: one, from its title to what can be answered;
//! - `card`: the small form;
//! - `table`: what happens to instances; `value`: a property's value;
//! - `diff`: what happens to texts; `line`: one line of them;
//! - `conflict`: passages that were changed twice.

mod card;
mod conflict;
mod diff;
mod diff_line;
mod pending_list;
mod proposal_view;
mod table;
mod value;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use maud::Markup;
use scene_schemas::api::{Failure, ProposalView, Sessions, WorkflowState, WorkflowView};
use scene_schemas::entry::Seq;
use scene_schemas::proposal::Warning;

pub(super) use self::conflict::{TextVersion, conflict_view, version_columns};

use vector_core::proposal::ProposalUnit;
use vector_core::safe_line::safe_line;

use self::diff::DiffLayout;
use super::{Parameters, format, page_target};
use crate::daemon::DaemonHandle;

/// The proposals that wait.
pub(super) async fn proposals_page(daemon: &DaemonHandle) -> Result<Markup, Failure> {
    let waiting = daemon.list_pending().await?;
    let sessions = daemon.list_sessions().await?;
    let mut tasks = BTreeMap::new();
    for view in &waiting {
        if let Entry::Vacant(unknown) = tasks.entry(view.workflow) {
            unknown.insert(daemon.workflow(view.workflow).await?);
        }
    }
    Ok(pending_list::pending_list(&waiting, &tasks, &sessions))
}

/// A proposal with everything on it.
pub(super) async fn proposal_page(
    daemon: &DaemonHandle,
    parameters: &Parameters,
) -> Result<Markup, Failure> {
    let of = page_target(parameters)?;
    let layout = match parameters.text("layout")?.as_deref() {
        Some("split") => DiffLayout::Split,
        _ => DiffLayout::Unified,
    };
    let view = daemon.proposal(of).await?;
    let task = daemon.workflow(view.workflow).await?;
    let sessions = daemon.list_sessions().await?;
    let replaced = daemon.replaced_proposals(of).await?;
    Ok(proposal_view::proposal_view(&view, &replaced, &task, &sessions, layout))
}

/// The text of a script as it is.
pub(super) fn script_text(text: &str) -> Markup {
    diff::plain_text(text)
}

/// The small form of a proposal.
pub(super) async fn card_page(
    daemon: &DaemonHandle,
    parameters: &Parameters,
) -> Result<Markup, Failure> {
    let of = page_target(parameters)?;
    Ok(card::card_view(&daemon.proposal(of).await?))
}

/// Where the place of a task is, in a person's words.
fn place_name<'a>(task: &WorkflowView, sessions: &'a Sessions) -> &'a str {
    let open = sessions.sessions.iter().find(|it| Some(&it.session) == task.session.as_ref());
    open.map_or("a place that is not open", |it| it.place.name.as_str())
}

fn author_name(task: &WorkflowView) -> String {
    let driver = safe_line(&task.driver);
    match task.state {
        WorkflowState::Disconnected => format!("{driver} (disconnected)"),
        _ => driver.into_owned(),
    }
}

/// The first line of what was asked for.
fn goal_line(task: &WorkflowView) -> String {
    format::first_line(&task.goal)
}

/// What a person is asked about a second time, a line each; none where nothing is.
fn second_question(view: &ProposalView) -> Option<String> {
    let asks = |it: &&Warning| it.kind.needs_second_confirmation();
    let texts = view.proposal.warnings.iter().filter(asks).map(|it| it.text.as_str());
    view.needs_twice.then(|| texts.collect::<Vec<_>>().join("\n"))
}

/// What a piece of a proposal is called by: `c3` is a command, `h0.2` a hunk of a script.
fn unit_key(unit: ProposalUnit) -> String {
    match unit {
        ProposalUnit::Command(command) => format!("c{command}"),
        ProposalUnit::Hunk { script, hunk } => format!("h{script}.{hunk}"),
    }
}

/// The address of a proposal in the page.
fn proposal_url(proposal: Seq) -> String {
    format!("#/proposals/{proposal}")
}
