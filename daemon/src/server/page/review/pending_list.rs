//! The pending proposals, grouped by task.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use scene_schemas::api::{Sessions, WorkflowView};
use scene_schemas::entry::Seq;
use vector_core::safe_line::safe_line;

use super::{author_name, diff, goal_line, optional_seq, place_name, proposal_url};
use crate::daemon::{PendingSummary, batch_approvable, grouped_steps};
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
    let all: Vec<&PendingSummary> = waiting.iter().collect();
    let plain = batch_approvable(waiting, &all, PendingSummary::is_plain);
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
        @for (workflow, views) in group_by_task(waiting) {
            @let steps = grouped_steps(waiting, &views);
            section.asks data-key={ "asks-" (workflow) } {
                @if let Some(task) = tasks.get(&workflow) { (task_header(task, sessions)) }
                @if !steps.is_empty() { (step_group(workflow, &views, &steps, &plain)) }
                ol {
                    @for view in views.iter().filter(|it| !steps.contains(&it.seq)) {
                        li { (pending_link(view, plain.contains(&view.seq))) }
                    }
                }
            }
        }
    }
}

/// Groups proposals by task, in the order of the tasks' oldest proposals.
fn group_by_task(waiting: &[PendingSummary]) -> Vec<(Seq, Vec<&PendingSummary>)> {
    let mut tasks: Vec<(Seq, Vec<&PendingSummary>)> = Vec::new();
    for view in waiting {
        match tasks.iter_mut().find(|(workflow, _)| *workflow == view.workflow) {
            Some((_, views)) => views.push(view),
            None => tasks.push((view.workflow, vec![view])),
        }
    }
    tasks
}

/// Renders the small steps of a task as one list, whose ticked entries are approved together.
fn step_group(
    workflow: Seq,
    views: &[&PendingSummary],
    steps: &BTreeSet<Seq>,
    plain: &BTreeSet<Seq>,
) -> Markup {
    html! {
        details.steps data-key={ "steps-" (workflow) } open {
            summary { (steps.len()) " small steps" }
            ol {
                @for view in views.iter().filter(|it| steps.contains(&it.seq)) {
                    li {
                        label.tick {
                            input type="checkbox" name={ "step-" (view.seq) } data-step=(view.seq) data-after=(after_text(view)) checked;
                            span.hush { "Approve " (safe_line(&view.title)) " with the others" }
                        }
                        (pending_link(view, plain.contains(&view.seq)))
                    }
                }
            }
        }
        div.buttons.steps-decision {
            button.main type="button" data-act="approve-steps" data-task=(workflow) { "Approve " (steps.len()) " steps" }
        }
    }
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

fn after_text(view: &PendingSummary) -> String {
    let after: Vec<String> = view.after.iter().map(ToString::to_string).collect();
    after.join(" ")
}

fn pending_link(view: &PendingSummary, is_plain: bool) -> Markup {
    let class = format::class_name(view.class);
    html! {
        a.pick href=(proposal_url(view.seq)) data-seq=(view.seq) data-task=(view.workflow) data-patch=(view.patch_id.0) data-base=(view.base.0) data-replaces=(optional_seq(view.replaces))
            data-class=(class) data-plain[is_plain] {
            span.title { (safe_line(&view.title)) }
            @if let Some(path) = &view.subject { span.path { (safe_line(&path.to_string())) } }
            span.row {
                span.class { (class) }
                @if view.needs_review { span.tag { "needs a review" } }
                @if view.has_new_errors { span.tag.bad { "new errors" } }
                @if view.warnings > 0 {
                    span.tag.warn { (format::count_text(view.warnings, "warning")) }
                }
                span.dim { (diff::size_badge(view.extent)) }
            }
        }
    }
}
