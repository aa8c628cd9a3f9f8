//! The proposals that wait, under the tasks that they are of.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use scene_schemas::api::{Sessions, WorkflowView};
use scene_schemas::entry::Seq;
use vector_core::shown::shown;

use super::{by, diff, goal, place, way};
use crate::server::page::words;
use crate::server::waiting::Waiting;

/// Those that wait, oldest first: one may stand on another.
pub(super) fn list(
    waiting: &[Waiting],
    tasks: &BTreeMap<Seq, WorkflowView>,
    sessions: &Sessions,
) -> Markup {
    if waiting.is_empty() {
        return nothing();
    }
    let plain = at_once(waiting);
    let behind = waiting.iter().filter(|it| it.is_plain()).count() - plain.len();
    html! {
        header.waiting {
            h1 { (words::count(waiting.len(), "proposal")) }
            p.dim { (waiting.len()) " to review" }
            @if !plain.is_empty() {
                button type="button" data-act="accept-additive" data-behind=(behind) {
                    "Accept all additive (" (plain.len()) ")"
                }
            }
        }
        @for views in waiting.chunk_by(|a, b| a.workflow == b.workflow) {
            @let first = &views[0];
            section.asks data-key={ "asks-" (first.seq) } {
                @if let Some(task) = tasks.get(&first.workflow) { (asks(task, sessions)) }
                ol { @for view in views { (entry(view, plain.contains(&view.seq))) } }
            }
        }
    }
}

/// Those that take nothing away and stand on nothing else that waits: they can be accepted in one go.
fn at_once(waiting: &[Waiting]) -> BTreeSet<Seq> {
    let mut taken = BTreeSet::new();
    for view in waiting {
        let waits = |seq: &Seq| waiting.binary_search_by_key(seq, |it| it.seq).is_ok();
        let stands = view.after.iter().all(|it| taken.contains(it) || !waits(it));
        if view.is_plain() && stands {
            taken.insert(view.seq);
        }
    }
    taken
}

fn nothing() -> Markup {
    html! {
        div.empty #nothing-waits {
            h1 { "Nothing to review" }
            p { "What is proposed in Studio, in a conversation or by an agent appears here, and waits until you have decided." }
        }
    }
}

fn asks(task: &WorkflowView, sessions: &Sessions) -> Markup {
    html! {
        h2 { a href={ "#/now/" (task.seq) } { (goal(task)) } }
        p.dim { "In " (words::place(place(task, sessions))) ", by " (by(task)) }
    }
}

fn entry(view: &Waiting, is_plain: bool) -> Markup {
    let class = words::class(view.class);
    html! {
        li {
            a.pick href=(way(view.seq)) data-seq=(view.seq) data-task=(view.workflow) data-patch=(view.patch_id.0) data-base=(view.base.0)
                data-class=(class) data-plain[is_plain] {
                span.title { (shown(&view.title)) }
                span.row {
                    span.class { (class) }
                    @if view.warnings > 0 {
                        span.tag.warn { (words::count(view.warnings, "warning")) }
                    }
                    span.dim { (diff::size(view.extent)) }
                }
            }
        }
    }
}
