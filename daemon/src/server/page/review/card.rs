//! The card of a proposal in a conversation. Small proposals can be decided on it.

use maud::{Markup, html};
use scene_schemas::api::{ProposalStatus, ProposalView};
use vector_core::proposal::group_by_instance;
use vector_core::safe_line::safe_line;
use vector_text_edit::WordDiff;

use super::model_reviews::{reviews_note, unreviewed_note};
use super::proposal_view::{
    ELSEWHERE, check_view, decision_group, outcome_text, reason_view, rule_menu, warnings_view,
};
use super::{diff, proposal_url, table};
use crate::daemon::ChangeExtent;
use crate::server::page::format;

/// The maximum numbers of instances, of values per instance, and of text lines.
const INSTANCES: usize = 8;
const VALUES: usize = 4;
const LINES: usize = 30;

/// Renders the content of a card. `verify` is the section of its runs in Roblox's engine.
pub(super) fn card_view(view: &ProposalView, verify: &Markup) -> Markup {
    let proposal = &view.proposal;
    let status = format::outcome_name(view);
    html! {
        header {
            a.title href=(proposal_url(view.seq)) { (safe_line(&proposal.title)) }
            span.class { (format::class_name(proposal.class)) }
            span.state data-state=(status) { (status) }
            @if view.status == ProposalStatus::Waiting { span.dim { (diff::size_badge(ChangeExtent::from_proposal(proposal))) } }
        }
        @if view.status == ProposalStatus::Waiting {
            p.dim { (reason_view(proposal)) }
            @for line in proposal.describe_author() { p.dim { (safe_line(&line)) } }
            (check_view(proposal))
            (warnings_view(proposal))
            (reviews_note(view))
            (instance_list(view))
            (first_lines(view))
            (verify)
            (decision_buttons(view))
        } @else {
            p.dim { (outcome_text(view)) }
            (verify)
        }
    }
}

fn instance_list(view: &ProposalView) -> Markup {
    let proposal = &view.proposal;
    let groups = group_by_instance(proposal, proposal.preview.rows.iter());
    let more = groups.len().saturating_sub(INSTANCES) + proposal.preview.more_rows as usize;
    html! {
        @if !groups.is_empty() {
            ul.instances {
                @for rows in groups.iter().take(INSTANCES) { li { (table::group_headline(rows)) (table::short_changes(rows, VALUES)) } }
                @if more > 0 { li.dim { a href=(proposal_url(view.seq)) { "… and " (more) " more" } } }
            }
        }
    }
}

/// Renders the first lines of all texts.
fn first_lines(view: &ProposalView) -> Markup {
    let mut compared = WordDiff::default();
    let (mut left, mut more) = (LINES, 0);
    let mut shown = Vec::new();
    for script in &view.proposal.preview.scripts {
        let all: usize = script.hunks.iter().map(|hunk| hunk.lines.len()).sum();
        if left == 0 {
            more += all;
            continue;
        }
        let (lines, rest) = diff::preview_lines(script, left, &mut compared);
        left = left.saturating_sub(all);
        more += rest;
        shown.push((script, lines));
    }
    html! {
        @for (script, lines) in shown { p.file { (diff::text_head(script)) } (lines) }
        @if more > 0 { p.dim { a href=(proposal_url(view.seq)) { "… " (format::count_text(more, "more line")) } } }
    }
}

fn decision_buttons(view: &ProposalView) -> Markup {
    html! {
        @if view.session.is_some() {
            (unreviewed_note(view))
            (decision_group(view, html! {
                button.main type="button" data-act="decide" data-say="approve" disabled[view.unreviewed.is_some()] { "Approve" }
                button type="button" data-act="decide" data-say="reject" { "Reject" }
                a.button href=(proposal_url(view.seq)) { "Review" }
                (rule_menu(view, "decide"))
            }))
        } @else {
            p.dim { (ELSEWHERE) }
        }
    }
}
