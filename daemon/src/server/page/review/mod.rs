//! Proposals on the page: the pending ones, the full view of one, and the card in a conversation.
//!
//! Names, texts and values come from places and models. All of them are escaped with `safe_line`
//! before they are shown. The meaning of a decision is not known here; the page sends it to the
//! same route as the terminal.

mod card;
mod comparison;
mod conflict;
mod diff;
mod diff_line;
mod model_reviews;
mod pending_list;
mod proposal_view;
mod table;
mod value;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use maud::Markup;
use scene_schemas::api::{
    Failure, ProposalStatus, ProposalView, Sessions, WorkflowState, WorkflowView,
};
use scene_schemas::entry::Seq;
use scene_schemas::proposal::Warning;

pub(super) use self::conflict::{TextVersion, conflict_view, version_columns};
pub(super) use self::proposal_view::rule_text;

use vector_core::proposal::ProposalUnit;
use vector_core::safe_line::safe_line;

use self::diff::DiffLayout;
use super::verify::{RunDetail, verify_section};
use super::{Parameters, format, page_target};
use crate::daemon::DaemonHandle;
use crate::server::api::proposals::RowsQuery;

/// Renders the list of pending proposals.
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

/// Renders the full view of a proposal.
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
    // The page also fetches the proposal that it shows when something of it has changed.
    if parameters.text("again")?.is_none() {
        daemon.note_viewed(of);
    }
    let task = daemon.workflow(view.workflow).await?;
    let sessions = daemon.list_sessions().await?;
    let replaced = daemon.replaced_proposals(of).await?;
    let revised = match view.revises {
        Some(revised) => Some(daemon.proposal(revised).await?),
        None => None,
    };
    let older = match view.proposal.from.or(replaced.first().copied()) {
        Some(older) => Some(daemon.proposal(older).await?).filter(is_superseded),
        None => None,
    };
    let versions = EarlierVersions { replaced, revised, older };
    let runs = daemon.verify_view(of).await?;
    let verify = verify_section(&view, &runs, RunDetail::Full);
    let surroundings =
        Surroundings { versions: &versions, task: &task, sessions: &sessions, verify };
    Ok(proposal_view::proposal_view(&view, &surroundings, layout))
}

/// What is shown with a proposal.
struct Surroundings<'p> {
    versions: &'p EarlierVersions,
    task: &'p WorkflowView,
    sessions: &'p Sessions,
    /// The section of its runs in Roblox's engine.
    verify: Markup,
}

/// The earlier versions of a proposal.
struct EarlierVersions {
    /// The proposals that it replaced when it was replanned, newest first.
    replaced: Vec<Seq>,
    /// The one with comments, of which it is the new version.
    revised: Option<ProposalView>,
    /// The one of which it is a part, a form edited by hand, or the replanned form.
    older: Option<ProposalView>,
}

/// Whether a proposal was replaced without being applied. A proposal that reverts an applied one is
/// not a version of it.
fn is_superseded(view: &ProposalView) -> bool {
    match view.status {
        ProposalStatus::Rejected | ProposalStatus::Withdrawn => true,
        ProposalStatus::Waiting
        | ProposalStatus::Approved
        | ProposalStatus::Applied
        | ProposalStatus::Failed
        | ProposalStatus::Undone => false,
    }
}

/// The number of instances that are rendered at once.
const MEMBERS: u32 = 500;

/// Renders further instances of a command over many.
pub(super) async fn member_rows_page(
    daemon: &DaemonHandle,
    parameters: &Parameters,
) -> Result<Markup, Failure> {
    let of = page_target(parameters)?;
    let RowsQuery { command, members } = RowsQuery::read(parameters, MEMBERS)?;
    let view = daemon.proposal(of).await?;
    let rows = daemon.member_rows(of, command, members).await?;
    Ok(table::further_members(&view.proposal, &rows, command, is_decidable(&view)))
}

/// Whether a proposal is decided on this page.
fn is_decidable(view: &ProposalView) -> bool {
    view.status == ProposalStatus::Waiting && view.session.is_some()
}

/// Renders the text of a script.
pub(super) fn script_text(text: &str) -> Markup {
    diff::plain_text(text)
}

/// Renders the card of a proposal.
pub(super) async fn card_page(
    daemon: &DaemonHandle,
    parameters: &Parameters,
) -> Result<Markup, Failure> {
    let of = page_target(parameters)?;
    let view = daemon.proposal(of).await?;
    let runs = daemon.verify_view(of).await?;
    Ok(card::card_view(&view, &verify_section(&view, &runs, RunDetail::Card)))
}

/// Returns the name of a task's place.
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

/// Returns the first line of a task's request.
fn goal_line(task: &WorkflowView) -> String {
    format::first_line(&task.goal)
}

/// Returns what the user has to confirm a second time, one line each; None if nothing.
fn second_question(view: &ProposalView) -> Option<String> {
    let needs_confirmation = |it: &&Warning| it.kind.needs_second_confirmation();
    let texts = view.proposal.warnings.iter().filter(needs_confirmation).map(|it| it.text.as_str());
    view.needs_twice.then(|| texts.collect::<Vec<_>>().join("\n"))
}

/// Returns the key of a unit of a proposal: `c3` is a command, `m3.7` an instance of a command over
/// many, `h0.2` a hunk of a script.
fn unit_key(unit: ProposalUnit) -> String {
    match unit {
        ProposalUnit::Command(command) => format!("c{command}"),
        ProposalUnit::Member { command, member } => format!("m{command}.{member}"),
        ProposalUnit::Hunk { script, hunk } => format!("h{script}.{hunk}"),
    }
}

/// Returns the number of the proposal that another one replaces, if there is one.
fn optional_seq(replaced: Option<Seq>) -> String {
    replaced.map(|it| it.to_string()).unwrap_or_default()
}

fn proposal_url(proposal: Seq) -> String {
    format!("#/proposals/{proposal}")
}
