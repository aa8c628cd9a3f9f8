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
mod line;
mod list;
mod table;
mod value;
mod whole;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use maud::Markup;
use scene_schemas::api::{Failure, ProposalView, Sessions, WorkflowState, WorkflowView};
use scene_schemas::entry::Seq;
use scene_schemas::proposal::Warning;

pub(super) use self::conflict::{Version, conflict, versions};

use vector_core::proposal::Unit;
use vector_core::shown::shown;

use self::diff::Layout;
use super::super::desk::{Ask, Desk};
use super::{Behind, of, words};

/// The proposals that wait.
pub(super) async fn proposals(desk: &Desk) -> Result<Markup, Failure> {
    let waiting = desk.ask(Ask::Waiting).await?;
    let sessions = desk.ask(Ask::Sessions).await?;
    let mut tasks = BTreeMap::new();
    for view in &waiting {
        if let Entry::Vacant(unknown) = tasks.entry(view.workflow) {
            unknown.insert(desk.ask(|reply| Ask::Workflow(view.workflow, reply)).await?);
        }
    }
    Ok(list::list(&waiting, &tasks, &sessions))
}

/// A proposal with everything on it.
pub(super) async fn proposal(desk: &Desk, behind: &impl Behind) -> Result<Markup, Failure> {
    let of = of(behind)?;
    let layout = match behind.text("layout")?.as_deref() {
        Some("split") => Layout::Split,
        _ => Layout::Unified,
    };
    let view = desk.ask(|reply| Ask::Proposal(of, reply)).await?;
    let task = desk.ask(|reply| Ask::Workflow(view.workflow, reply)).await?;
    let sessions = desk.ask(Ask::Sessions).await?;
    let replaced = desk.ask(|reply| Ask::Replaced(of, reply)).await?;
    Ok(whole::whole((&view, &replaced), &task, &sessions, layout))
}

/// The text of a script as it is.
pub(super) fn text(text: &str) -> Markup {
    diff::plain(text)
}

/// The small form of a proposal.
pub(super) async fn card(desk: &Desk, behind: &impl Behind) -> Result<Markup, Failure> {
    let of = of(behind)?;
    Ok(card::card(&desk.ask(|reply| Ask::Proposal(of, reply)).await?))
}

/// Where the place of a task is, in a person's words.
fn place<'a>(task: &WorkflowView, sessions: &'a Sessions) -> &'a str {
    let open = sessions.sessions.iter().find(|it| Some(&it.session) == task.session.as_ref());
    open.map_or("a place that is not open", |it| it.place.name.as_str())
}

/// Who proposed it.
fn by(task: &WorkflowView) -> String {
    let driver = shown(&task.driver);
    match task.state {
        WorkflowState::Disconnected => format!("{driver} (disconnected)"),
        _ => driver.into_owned(),
    }
}

/// The first line of what was asked for.
fn goal(task: &WorkflowView) -> String {
    words::line(&task.goal)
}

/// What a person is asked about a second time, a line each; none where nothing is.
fn twice(view: &ProposalView) -> Option<String> {
    let asks = |it: &&Warning| it.kind.needs_second_confirmation();
    let texts = view.proposal.warnings.iter().filter(asks).map(|it| it.text.as_str());
    view.needs_twice.then(|| texts.collect::<Vec<_>>().join("\n"))
}

/// What a piece of a proposal is called by: `c3` is a command, `h0.2` a hunk of a script.
fn named(unit: Unit) -> String {
    match unit {
        Unit::Command(command) => format!("c{command}"),
        Unit::Hunk { script, hunk } => format!("h{script}.{hunk}"),
    }
}

/// The address of a proposal in the page.
fn way(proposal: Seq) -> String {
    format!("#/proposals/{proposal}")
}
