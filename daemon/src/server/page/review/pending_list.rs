//! The pending proposals, grouped by task.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use scene_schemas::api::{Sessions, WorkflowView};
use scene_schemas::entry::Seq;
use vector_core::safe_line::safe_line;

use super::{author_name, diff, goal_line, place_name, proposal_url};
use crate::daemon::PendingSummary;
use crate::server::page::format;

/// Renders the pending proposals, oldest first, because one may depend on another.
pub(super) fn pending_list(
    waiting: &[PendingSummary],
    tasks: &BTreeMap<Seq, WorkflowView>,
    sessions: &Sessions,
) -> Markup {
    if waiting.is_empty() {
        return no_pending_view();
    }
    let plain = batch_approvable(waiting);
    let behind = waiting.iter().filter(|it| it.is_plain()).count() - plain.len();
    html! {
        header.waiting {
            h1 { (format::count_text(waiting.len(), "proposal")) }
            p.dim { (waiting.len()) " to review" }
            @if !plain.is_empty() {
                button type="button" data-act="approve-additive" data-behind=(behind) {
                    "Approve all additive (" (plain.len()) ")"
                }
            }
        }
        @for views in waiting.chunk_by(|a, b| a.workflow == b.workflow) {
            @let first = &views[0];
            section.asks data-key={ "asks-" (first.seq) } {
                @if let Some(task) = tasks.get(&first.workflow) { (task_header(task, sessions)) }
                ol { @for view in views { (pending_entry(view, plain.contains(&view.seq))) } }
            }
        }
    }
}

/// Returns the additive proposals without warnings and new errors that depend on no pending proposal outside this
/// set. They can be approved together.
fn batch_approvable(waiting: &[PendingSummary]) -> BTreeSet<Seq> {
    let mut taken = BTreeSet::new();
    for view in waiting {
        let waits = |seq: &Seq| waiting.binary_search_by_key(seq, |it| it.seq).is_ok();
        let is_ready = view.after.iter().all(|it| taken.contains(it) || !waits(it));
        if view.is_plain() && is_ready {
            taken.insert(view.seq);
        }
    }
    taken
}

fn no_pending_view() -> Markup {
    html! {
        div.empty #nothing-waits {
            h1 { "Nothing to review" }
            p { "Proposals from Studio, conversations and agents appear here and wait for your decision." }
        }
    }
}

fn task_header(task: &WorkflowView, sessions: &Sessions) -> Markup {
    html! {
        h2 { a href={ "#/now/" (task.seq) } { (goal_line(task)) } }
        p.dim { "In " (format::place_name(place_name(task, sessions))) ", by " (author_name(task)) }
    }
}

fn pending_entry(view: &PendingSummary, is_plain: bool) -> Markup {
    let class = format::class_name(view.class);
    html! {
        li {
            a.pick href=(proposal_url(view.seq)) data-seq=(view.seq) data-task=(view.workflow) data-patch=(view.patch_id.0) data-base=(view.base.0)
                data-class=(class) data-plain[is_plain] {
                span.title { (safe_line(&view.title)) }
                @if let Some(path) = &view.subject { span.path { (safe_line(&path.to_string())) } }
                span.row {
                    span.class { (class) }
                    @if view.has_new_errors { span.tag.bad { "new errors" } }
                    @if view.warnings > 0 {
                        span.tag.warn { (format::count_text(view.warnings, "warning")) }
                    }
                    span.dim { (diff::size_badge(view.extent)) }
                }
            }
        }
    }
}
