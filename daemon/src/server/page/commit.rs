//! A commit of accepted changes in a Rojo project: its plan and its progress.

use maud::{Markup, html};
use scene_schemas::api::{CommitPlan, CommitRequest, CommitState, ExcludedFile, PushedTo};

use super::format;
use super::format::safe_text;

/// Renders the plan: the files, the branch and the message.
pub(super) fn plan_view(wanted: &CommitRequest, plan: &CommitPlan) -> Markup {
    html! {
        div.page.commit {
            h1 { "Commit " (format::place_name(&plan.project)) }
            p.dim {
                "Commits the files that approved proposals have changed. Your own changes stay as \
                 they are."
            }
            @if plan.files.is_empty() {
                (commit_controls(plan.at_work))
                div.empty { h2 { "Nothing to commit" } p { "All approved changes are already in Git." } }
            } @else {
                form.panel.pad data-act="commit" {
                    input type="hidden" name="session" value=(wanted.session);
                    label.field {
                        span { "Branch" }
                        input name="branch" value=(plan.branch) required spellcheck="false" autocomplete="off";
                        @if plan.is_new { span.dim { "New branch" } }
                    }
                    label.field.broad {
                        span { "Message" }
                        input name="message" value=(plan.message.lines().next().unwrap_or_default()) required;
                    }
                    @if !plan.remotes.is_empty() {
                        label.field {
                            span { "Push to" }
                            select name="push" {
                                option value="-" selected { "Nowhere" }
                                @for remote in &plan.remotes { option value=(remote) { (safe_text(remote)) } }
                            }
                        }
                    }
                    div.buttons { button.main type="submit" { "Commit " (format::count_text(plan.files.len(), "file")) } }
                    p.bad role="alert" {}
                }
                (commit_controls(plan.at_work))
                section.panel.pad {
                    h2 { "Files" }
                    ul.plainly { @for file in &plan.files { li { code { (safe_text(file)) } } } }
                }
                section.panel.pad {
                    h2 { "Approved changes" }
                    ul.plainly {
                        @for it in &plan.proposals { li { a href={ "#/proposals/" (it.seq) } { (safe_text(&it.title)) } } }
                    }
                }
            }
            (left_out_list(&plan.left))
        }
    }
}

/// Renders the element for the progress, with the id of a running commit.
fn commit_controls(at_work: Option<u64>) -> Markup {
    html! { div #committing role="status" data-at-work=[at_work] {} }
}

fn left_out_list(left: &[ExcludedFile]) -> Markup {
    html! {
        @if !left.is_empty() {
            section.panel.pad {
                h2 { "Left out" }
                ul.plainly { @for it in left { li { code { (safe_text(&it.file)) } " " (safe_text(&it.why)) } } }
            }
        }
    }
}

/// Says where the branch was pushed, and links to the page of its pull request.
fn pushed_line(pushed: &PushedTo) -> Markup {
    html! {
        p {
            "Pushed to " code { (safe_text(&pushed.remote)) } "."
            @if let Some(page) = &pushed.pull_request {
                " " a href=(page) target="_blank" rel="noopener noreferrer" { "Open a pull request" }
            }
        }
    }
}

/// Renders the progress or the result.
pub(super) fn state_view(state: &CommitState) -> Markup {
    html! {
        section.panel.pad data-over[state.is_over] {
            @if let Some(failure) = &state.failure {
                p.bad role="alert" { b { (safe_text(&failure.message)) } } p { (safe_text(&failure.hint)) }
            }
            @if let Some(commit) = &state.commit {
                p.good {
                    b {
                        (format::count_text(state.files.len(), "file")) " committed as " code { (commit.get(..10).unwrap_or(commit)) }
                        @if let Some(branch) = &state.branch { " on " code { (safe_text(branch)) } }
                    }
                }
                @if let Some(note) = &state.note { p { (safe_text(note)) } }
            }
            @if let Some(pushed) = &state.pushed { (pushed_line(pushed)) }
            @if state.is_over && state.commit.is_none() && state.failure.is_none() {
                p { "There was nothing to commit." }
            }
            @if !state.is_over {
                p { b { (safe_text(&state.doing)) } @if let Some(file) = &state.file { " " code { (safe_text(file)) } } }
            }
            @if state.failure.is_none() {
                progress max=(state.steps) value=(if state.is_over { state.steps } else { state.step.saturating_sub(1) }) aria-label="Progress" {}
            }
            @if state.is_over { (left_out_list(&state.left)) }
        }
    }
}
