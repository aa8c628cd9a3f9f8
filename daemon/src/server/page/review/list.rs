//! The proposals that wait, under the tasks that they are of.

use std::collections::BTreeMap;

use maud::{Markup, html};
use scene_schemas::api::{ProposalView, Sessions, WorkflowView};
use scene_schemas::entry::Seq;

use super::{diff, goal, is_plain, place, way};
use crate::core::shown::shown;
use crate::server::page::words;

/// Those that wait, oldest first: one may stand on another.
pub(super) fn list(
    waiting: &[ProposalView],
    tasks: &BTreeMap<Seq, WorkflowView>,
    sessions: &Sessions,
) -> Markup {
    if waiting.is_empty() {
        return nothing();
    }
    let plain = waiting.iter().filter(|it| is_plain(it)).count();
    let mut groups: Vec<(Seq, Vec<&ProposalView>)> = Vec::new();
    for view in waiting {
        match groups.iter_mut().find(|(task, _)| *task == view.workflow) {
            Some((_, group)) => group.push(view),
            None => groups.push((view.workflow, vec![view])),
        }
    }
    html! {
        header.waiting {
            h1 { (words::count(waiting.len(), "proposal")) }
            p.dim { @if waiting.len() == 1 { "It waits for you" } @else { "They wait for you" } }
            @if plain > 1 {
                button type="button" data-act="accept-additive" { "Accept all additive (" (plain) ")" }
            }
        }
        @for (task, views) in &groups {
            section.asks data-key={ "task-" (task) } {
                @if let Some(task) = tasks.get(task) { (asks(task, sessions)) }
                ol { @for view in views { (entry(view)) } }
            }
        }
    }
}

fn nothing() -> Markup {
    html! {
        div.empty #nothing-waits {
            h1 { "Nothing waits for you" }
            p { "What is proposed in Studio, in a conversation or by an agent appears here, and waits until you have decided." }
        }
    }
}

fn asks(task: &WorkflowView, sessions: &Sessions) -> Markup {
    html! {
        h2 { a href={ "#/now/" (task.seq) } { (shown(goal(task))) } }
        p.dim { "In " (shown(place(task, sessions))) ", by " (shown(&task.driver)) }
    }
}

fn entry(view: &ProposalView) -> Markup {
    let proposal = &view.proposal;
    let class = words::class(proposal.class);
    html! {
        li {
            a.pick href=(way(view.seq)) data-seq=(view.seq) data-patch=(proposal.patch_id.0) data-base=(proposal.base.0)
                data-class=(class) data-plain[is_plain(view)] {
                span.title { (shown(&proposal.title)) }
                span.row {
                    span.class { (class) }
                    @if !proposal.warnings.is_empty() {
                        span.tag.warn { (words::count(proposal.warnings.len(), "warning")) }
                    }
                    span.dim { (diff::size(proposal)) }
                }
            }
        }
    }
}
