//! The full view of a proposal.

use maud::{Markup, html};
use scene_schemas::Command;
use scene_schemas::api::{CommentView, OfferedRule, ProposalStatus, ProposalView, Sessions};
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{PlayCheckResult, Proposal, WarningKind};
use vector_core::proposal::{ProposalUnit, class_reason, list_units, piece_keys, sandbox_state};
use vector_core::safe_line::safe_line;

use super::comparison::comparison_view;
use super::diff::{self, DiffLayout, ScriptTargets};
use super::model_reviews::{reviews_section, unreviewed_note};
use super::{
    EarlierVersions, Surroundings, author_name, goal_line, is_decidable, optional_seq, place_name,
    proposal_url, second_question, table, unit_key,
};
use crate::server::page::format;
use crate::server::page::format::safe_text;

/// The maximum number of named proposals that this one depends on.
const NAMED: usize = 6;

/// The text shown if the proposal cannot be decided here.
pub(super) const ELSEWHERE: &str = "Its place is not open here. Open it to decide here; if it is \
pending in a terminal, decide there.";

/// Renders a proposal of a task.
pub(super) fn proposal_view(
    view: &ProposalView,
    surroundings: &Surroundings<'_>,
    layout: DiffLayout,
) -> Markup {
    let Surroundings { versions, task, sessions, verify } = surroundings;
    let proposal = &view.proposal;
    let pieces = if is_decidable(view) { list_units(proposal) } else { Vec::new() };
    let sizes: Vec<String> =
        pieces.iter().map(|unit| unit_size(proposal, *unit).to_string()).collect();
    let EarlierVersions { replaced, revised, older } = versions;
    let edited = older.as_ref().map(|it| it.seq).filter(|it| Some(*it) == proposal.from);
    let replaces: Vec<String> = replaced.iter().chain(&edited).map(ToString::to_string).collect();
    let parts: Vec<String> = pieces.iter().map(|unit| unit_key(*unit)).collect();
    html! {
        article.proposal data-key={ "p-" (view.seq) } data-of=(view.seq) data-task=(view.workflow) data-session=[view.session.as_ref()] data-patch-id=(view.proposal.patch_id.0) data-status=(view.status.as_str())
            data-class=(format::class_name(proposal.class)) data-parts=(parts.join(" ")) data-sizes=(sizes.join(" ")) data-marks=(piece_keys(proposal, &pieces).join(" "))
            data-replaces=(replaces.join(" ")) data-successor=[view.successor] data-unreviewed[view.unreviewed.is_some()] aria-labelledby="proposal-title" {
            header.about {
                p.dim {
                    "Proposal " (view.seq) " · in " (format::place_name(place_name(task, sessions))) " · by " (author_name(task)) " · "
                    a href={ "#/now/" (task.seq) } { (goal_line(task)) }
                }
                h1 #proposal-title { (safe_line(&proposal.title)) }
                p { span.class { (format::class_name(proposal.class)) } " " (reason_view(proposal)) }
                (outcome_view(view))
                (remarks_view(view, replaced))
            }
            @if let Some(old) = revised { (comment_list(old, &format!("Changes that you asked for on proposal {}", old.seq))) }
            (comment_list(view, "Your comments"))
            @if let Some(earlier) = revised.as_ref().or(older.as_ref()) { (comparison_view(earlier, proposal, layout)) }
            (check_view(proposal))
            (warnings_view(proposal))
            (reviews_section(view))
            (picture_view(view))
            (table::operation_table(proposal, &pieces))
            @if !proposal.preview.scripts.is_empty() {
                section.scripts {
                    header {
                        h2 { "Scripts" }
                        @if is_decidable(view) { (sandbox_choice(proposal)) }
                        (layout_switch(layout))
                    }
                    (diff::text_changes(proposal, &pieces, layout, script_targets(view, sessions)))
                }
            }
            (verify)
            (decision_form(view))
        }
    }
}

/// Renders the choice to run kept scripts of an asset in a sandbox; nothing if no script is kept.
fn sandbox_choice(proposal: &Proposal) -> Markup {
    html! {
        @if let Some(is_sandboxed) = sandbox_state(proposal) {
            label.check { input type="checkbox" data-act="sandbox" checked[is_sandboxed]; "Run kept scripts in a sandbox" }
        }
    }
}

fn script_targets(view: &ProposalView, sessions: &Sessions) -> ScriptTargets {
    let proposal = &view.proposal;
    let open = sessions.sessions.iter().find(|it| Some(&it.session) == view.session.as_ref());
    ScriptTargets {
        has_files: open.is_some() && proposal.has_files(),
        is_in_studio: open.is_some_and(|it| it.in_studio),
    }
}

/// Returns the number of instances of a command over many; 1 for another unit.
fn unit_size(proposal: &Proposal, unit: ProposalUnit) -> u32 {
    let command = match unit {
        ProposalUnit::Command(command) => proposal.commands.get(command),
        ProposalUnit::Member { .. } | ProposalUnit::Hunk { .. } => None,
    };
    command.and_then(Command::member_count).unwrap_or(1)
}

/// Renders the reason for the proposal's class.
pub(super) fn reason_view(proposal: &Proposal) -> Markup {
    html! { (safe_line(&class_reason(proposal))) }
}

/// Renders the outcome of a proposal that is not pending.
fn outcome_view(view: &ProposalView) -> Markup {
    let status = format::outcome_name(view);
    html! {
        @if view.status != ProposalStatus::Waiting {
            p.stands { span.state data-state=(status) { (status) } " " (outcome_text(view)) }
        }
    }
}

/// Renders the reason for the outcome, and the successor.
pub(super) fn outcome_text(view: &ProposalView) -> Markup {
    let is_replaced = view.status == ProposalStatus::Rejected && view.successor.is_some();
    html! {
        @if let (true, Some(now)) = (is_replaced, view.successor) {
            "Replaced by " (proposal_link(now)) "."
        } @else {
            @if let Some(rule) = &view.allowed_by { "You allowed " (safe_line(rule)) ". " }
            @if let Some(reason) = &view.reason { (safe_line(reason)) }
            @if let Some(now) = view.successor { " See " (proposal_link(now)) "." }
            @if let Some(new) = view.revision { " The new version is " (proposal_link(new)) "." }
        }
    }
}

pub(super) fn proposal_link(of: Seq) -> Markup {
    html! { a href=(proposal_url(of)) { "proposal " (of) } }
}

/// Renders remarks that may matter for the decision.
fn remarks_view(view: &ProposalView, replaced: &[Seq]) -> Markup {
    let proposal = &view.proposal;
    html! {
        ul.remarks {
            @if let Some(intent) = &proposal.implicit_target { li { (safe_line(&intent.describe())) } }
            @for line in proposal.describe_author() { li { (safe_line(&line)) } }
            @if let Some(files) = proposal.describe_files() { li { (safe_line(&files)) } }
            @if !proposal.after.is_empty() {
                li {
                    "It depends on earlier proposals: "
                    @for (at, before) in proposal.after.iter().take(NAMED).enumerate() { @if at > 0 { ", " } (proposal_link(*before)) }
                    @if proposal.after.len() > NAMED { " and " (proposal.after.len() - NAMED) " more" }
                }
            }
            @if !view.touched_by.is_empty() {
                li {
                    "Other tasks concern the same: "
                    @for (at, it) in view.touched_by.iter().take(NAMED).enumerate() {
                        @if at > 0 { ", " } (proposal_link(it.seq)) " by " (safe_line(&it.author)) " (" (safe_line(&it.title)) ")"
                    }
                    @if view.touched_by.len() > NAMED { " and " (view.touched_by.len() - NAMED) " more" }
                    ". When one is applied, the rest is replanned."
                }
            }
            @if let Some(before) = replaced.first() {
                li { "It is " (proposal_link(*before)) ", replanned for the current state" }
            }
            @if let Some(from) = proposal.from { li { "It was derived from " (proposal_link(from)) } }
        }
    }
}

/// Renders the comments on a proposal, each with the reply to it.
fn comment_list(view: &ProposalView, title: &str) -> Markup {
    html! {
        @if !view.comments.is_empty() {
            section.comments aria-label="Comments" {
                h2 { (title) }
                ol {
                    @for CommentView { comment, about, reply } in &view.comments {
                        li data-state=(if reply.is_some() { "answered" } else { "open" }) {
                            p.dim { (safe_line(about)) @if !comment.on.quote().is_empty() { " " code { (safe_line(comment.on.quote().trim())) } } }
                            p.text { (safe_text(&comment.text)) }
                            @match reply {
                                Some(reply) => p.reply { b { "Reply: " } (safe_text(reply)) },
                                None => p.reply.dim { "No reply yet" },
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Renders what came of playing the game.
pub(super) fn check_view(proposal: &Proposal) -> Markup {
    html! {
        @if let Some(check) = &proposal.runs {
            div.runs data-result=(result_name(check.result)) {
                p { (safe_line(&check.summary)) }
                @for error in &check.errors {
                    p.error { (safe_line(&error.message)) " " span.dim { "(" (safe_line(&error.peer)) ")" } }
                }
                @if check.more_errors > 0 {
                    p.dim { "… and " (format::count_text(check.more_errors as usize, "more error")) }
                }
            }
        }
    }
}

fn result_name(result: PlayCheckResult) -> &'static str {
    match result {
        PlayCheckResult::Passed => "passed",
        PlayCheckResult::NewErrors => "new-errors",
        PlayCheckResult::Unknown => "unknown",
    }
}

/// Renders the warnings by kind, each with its meaning.
pub(super) fn warnings_view(proposal: &Proposal) -> Markup {
    let mut kinds: Vec<WarningKind> = Vec::new();
    for warning in &proposal.warnings {
        if !kinds.contains(&warning.kind) {
            kinds.push(warning.kind);
        }
    }
    html! {
        @if !kinds.is_empty() {
            ul.warnings aria-label="Warnings" {
                @for kind in kinds {
                    @let (name, meaning) = warning_meaning(kind);
                    li data-twice[kind.needs_second_confirmation()] {
                        b { (name) }
                        @for warning in proposal.warnings.iter().filter(|it| it.kind == kind) { p { (safe_line(&warning.text)) } }
                        p.dim { (meaning) }
                    }
                }
            }
        }
    }
}

/// Returns the name and the meaning of a kind of warning.
fn warning_meaning(kind: WarningKind) -> (&'static str, &'static str) {
    match kind {
        WarningKind::ParentCreated => ("New parent", "A missing parent is created."),
        WarningKind::Name => {
            ("Name", "Paths with this name are easily confused with those of another instance.")
        }
        WarningKind::Duplication => {
            ("Twice", "The passage already occurs nearby; it may have been inserted before.")
        }
        WarningKind::Lint => ("Lint", "It runs, but may not do what was intended."),
        WarningKind::NoMatch => ("No match", "The others are changed; these stay as they are."),
        WarningKind::Range => ("Out of range", "Roblox changes it to a valid value."),
        WarningKind::References => ("References", "References to it become empty."),
        WarningKind::Scripts => {
            ("Scripts", "What is inserted runs in your game: read it before you approve.")
        }
        WarningKind::Content => {
            ("Content", "It is inserted all the same; what does not load is not shown or heard.")
        }
        WarningKind::Rojo => ("Rojo", "Rojo may overwrite changes in Studio with its files."),
        WarningKind::Fuzzy => (
            "Fuzzy match",
            "The edit did not match exactly: check that it is in the right place. A second confirmation is required.",
        ),
        WarningKind::LargeChange => {
            ("Large change", "No rule of a task approves it: check that it means this much.")
        }
        WarningKind::FilesStay => {
            ("Files stay", "The instance is removed from the project; its files are not deleted.")
        }
        WarningKind::Generated => (
            "Generated file",
            "Another tool writes this file and will overwrite the change. A second confirmation is required.",
        ),
        WarningKind::Security => (
            "Security",
            "It reaches outside the place or hides what it does. Approve only what you understand; \
             a second confirmation is required.",
        ),
    }
}

/// Renders pictures of the place before and after; nothing if the changes are not visible in
/// pictures.
fn picture_view(view: &ProposalView) -> Markup {
    let views = [("iso", "Isometric"), ("top", "From above"), ("front", "From the front")];
    let picture = |when: &str, text: &str| {
        let alt = format!("The place {when} the change");
        let from = format!("/api/proposals/{}/picture?view=iso&when={when}&size=640", view.seq);
        html! {
            figure data-state="loading" {
                img data-picture=(from) alt=(alt) width="640" height="640";
                figcaption { (text) }
                p.why role="status" {}
            }
        }
    };
    html! {
        @if view.has_geometry {
            section.pictures aria-label="Pictures" {
                header {
                    h2 { "Pictures" }
                    div.choice role="group" aria-label="Seen from" {
                        @for (name, text) in views {
                            button type="button" data-act="view" data-view=(name) aria-pressed=(name == "iso") { (text) }
                        }
                    }
                }
                div.both { (picture("before", "Before")) (picture("after", "After")) }
                p.dim {
                    "New parts have a green outline, changed parts an amber one, and removed parts \
                     are red. Meshes and unions are drawn as their bounds, and terrain is not \
                     drawn."
                }
            }
        }
    }
}

fn layout_switch(layout: DiffLayout) -> Markup {
    let choice = |name: &str, text: &str, is_chosen: bool| {
        html! {
            button type="button" data-act="layout" data-layout=(name) aria-pressed=(is_chosen) { (text) }
        }
    };
    html! {
        div.choice role="group" aria-label="Layout of diffs" {
            (choice("unified", "Unified", layout == DiffLayout::Unified))
            (choice("split", "Side by side", layout == DiffLayout::Split))
        }
    }
}

/// Renders the buttons for the decision.
fn decision_form(view: &ProposalView) -> Markup {
    let is_waiting = view.status == ProposalStatus::Waiting;
    html! {
        @if is_waiting && view.session.is_none() {
            p.decision.dim { (ELSEWHERE) }
        } @else if is_waiting {
            div.decision {
                (unreviewed_note(view))
                (decision_group(view, html! {
                    button.main type="button" data-act="approve" disabled[view.unreviewed.is_some()] { span #approve { "Approve" } " " kbd { "a" } }
                    button type="button" data-act="reject" { "Reject " kbd { "r" } }
                    button type="button" data-act="save-edits" hidden { span {} }
                    button type="button" data-act="request-changes" hidden { span {} }
                    button type="button" data-act="comment" { "Comment " kbd { "c" } }
                    button type="button" data-act="next" { "Skip " kbd { "s" } }
                    button.plain type="button" data-act="keys" { "Keys " kbd { "?" } }
                    (rule_menu(view, "approve"))
                }))
            }
        }
    }
}

/// Renders the menu to approve a proposal together with a rule for the rest of its task. `action` is
/// what its buttons do.
pub(super) fn rule_menu(view: &ProposalView, action: &str) -> Markup {
    html! {
        @if !view.rules.is_empty() {
            details.menu data-key={ "rules-" (view.seq) } {
                summary { "Approve, and allow more of this…" }
                div.offers role="group" aria-label="Approve, and allow in this task" {
                    p.dim { "Approve this, and without asking for the rest of this task:" }
                    @for OfferedRule { rule, text } in &view.rules {
                        button type="button" data-act=(action) data-say="approve" data-rule=(format::json_attribute(rule)) disabled[view.unreviewed.is_some()] { (rule_text(text)) }
                    }
                    p.dim { "You still decide on what has a security warning, a large change, or new errors." }
                }
            }
        }
    }
}

/// Renders what a rule allows, as a sentence of its own.
pub(in crate::server::page) fn rule_text(text: &str) -> Markup {
    let text = safe_line(text);
    let mut letters = text.chars();
    let first = letters.next().map(|it| it.to_uppercase().to_string()).unwrap_or_default();
    html! { (first) (letters.as_str()) }
}

/// Renders buttons with the data that the decision names, so that it applies to exactly what was
/// shown.
pub(super) fn decision_group(view: &ProposalView, buttons: Markup) -> Markup {
    html! {
        div.buttons role="group" aria-label="Decide" data-seq=(view.seq) data-patch=(view.proposal.patch_id.0)
            data-base=(view.proposal.base.0) data-replaces=(optional_seq(view.proposal.replaces)) data-title=(safe_line(&view.proposal.title)) data-twice=[second_question(view)] {
            (buttons)
        }
    }
}
