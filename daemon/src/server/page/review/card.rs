//! The small form of a proposal, which stands in a conversation: enough to decide upon what is small.

use maud::{Markup, html};
use scene_schemas::api::{ProposalStatus, ProposalView};
use vector_core::proposal::by_instance;
use vector_core::shown::shown;
use vector_text_edit::Words;

use super::whole::{ELSEWHERE, became, because, decided_by, warnings};
use super::{diff, table, way};
use crate::server::page::words;
use crate::server::waiting::Extent;

/// Instances that are named, values of each, and lines of texts that are shown.
const INSTANCES: usize = 8;
const VALUES: usize = 4;
const LINES: usize = 30;

/// What a card has in it.
pub(super) fn card(view: &ProposalView) -> Markup {
    let proposal = &view.proposal;
    let status = words::outcome(view);
    html! {
        header {
            a.title href=(way(view.seq)) { (shown(&proposal.title)) }
            span.class { (words::class(proposal.class)) }
            span.state data-state=(status) { (status) }
            @if view.status == ProposalStatus::Waiting { span.dim { (diff::size(Extent::of(proposal))) } }
        }
        @if view.status == ProposalStatus::Waiting {
            p.dim { (because(proposal)) }
            (warnings(proposal))
            (instances(view))
            (lines(view))
            (buttons(view))
        } @else { p.dim { (became(view)) } }
    }
}

fn instances(view: &ProposalView) -> Markup {
    let proposal = &view.proposal;
    let groups = by_instance(proposal, proposal.preview.rows.iter());
    let more = groups.len().saturating_sub(INSTANCES) + proposal.preview.more_rows as usize;
    html! {
        @if !groups.is_empty() {
            ul.instances {
                @for rows in groups.iter().take(INSTANCES) { li { (table::headline(rows)) (table::in_short(rows, VALUES)) } }
                @if more > 0 { li.dim { a href=(way(view.seq)) { "… and " (more) " more" } } }
            }
        }
    }
}

/// The first lines of all texts.
fn lines(view: &ProposalView) -> Markup {
    let mut compared = Words::default();
    let (mut left, mut more) = (LINES, 0);
    let mut shown = Vec::new();
    for script in &view.proposal.preview.scripts {
        let all: usize = script.hunks.iter().map(|hunk| hunk.lines.len()).sum();
        if left == 0 {
            more += all;
            continue;
        }
        let (lines, rest) = diff::first(script, left, &mut compared);
        left = left.saturating_sub(all);
        more += rest;
        shown.push((script, lines));
    }
    html! {
        @for (script, lines) in shown { p.file { (diff::head(script)) } (lines) }
        @if more > 0 { p.dim { a href=(way(view.seq)) { "… " (words::count(more, "more line")) } } }
    }
}

fn buttons(view: &ProposalView) -> Markup {
    html! {
        @if view.session.is_some() {
            (decided_by(view, html! {
                button.main type="button" data-act="decide" data-say="approve" { "Accept" }
                button type="button" data-act="decide" data-say="reject" { "Reject" }
                a.button href=(way(view.seq)) { "Review" }
            }))
        } @else {
            p.dim { (ELSEWHERE) }
        }
    }
}
