//! Reviews of a proposal by models: what they found, and the button that asks for one.

use maud::{Markup, html};
use scene_schemas::api::{FindingView, ProposalView, ReviewStatus, ReviewView};
use vector_core::safe_line::safe_line;

use super::is_decidable;
use crate::server::page::format::{self, safe_text};

/// Renders the reviews of a proposal, and, while it can be decided, the button for another one.
pub(super) fn reviews_section(view: &ProposalView) -> Markup {
    let is_running = view.reviews.iter().any(|it| it.state == ReviewStatus::Running);
    let can_ask = is_decidable(view) && !is_running;
    html! {
        @if can_ask || !view.reviews.is_empty() {
            section.reviews aria-label="Reviews by models" {
                @for review in &view.reviews { (review_view(review)) }
                @if can_ask {
                    p {
                        button type="button" data-act="review" data-of=(view.seq) {
                            @if view.reviews.is_empty() { "Have a model review it" } @else { "Review it again" }
                        }
                        " " span.dim data-quote=(view.seq) {}
                    }
                }
            }
        }
    }
}

/// Renders a review on one line, for a card.
pub(super) fn reviews_note(view: &ProposalView) -> Markup {
    html! {
        @if let Some(review) = view.reviews.last() {
            p.review-note data-state=(status_name(review.state)) { (headline(review)) }
        }
    }
}

/// Renders why a pending proposal cannot be approved yet, and what to do next.
pub(super) fn unreviewed_note(view: &ProposalView) -> Markup {
    html! {
        @if let Some(text) = &view.unreviewed { p.unreviewed { (safe_line(text)) } }
    }
}

fn review_view(review: &ReviewView) -> Markup {
    html! {
        article.model-review data-key={ "review-" (review.reviewer) } data-state=(status_name(review.state)) {
            h2 { (headline(review)) " " a.plain href={ "#/now/" (review.reviewer) } { "Read it" } }
            @if !review.summary.is_empty() { p.text { (safe_text(&review.summary)) } }
            @if !review.findings.is_empty() {
                ol { @for it in &review.findings { (finding_view(it)) } }
            }
        }
    }
}

fn finding_view(view: &FindingView) -> Markup {
    let FindingView { finding, about } = view;
    let quote = finding.on.quote().trim();
    html! {
        li.finding data-severity=(finding.severity.label()) data-on=(format::json_attribute(&finding.on)) {
            p.dim {
                span.severity { (finding.severity.label()) } " " (safe_line(about))
                @if !quote.is_empty() { " " code { (safe_line(quote)) } }
            }
            p.text { (safe_text(&finding.text)) }
            button.plain type="button" data-act="adopt-finding" { "Ask for this change" }
        }
    }
}

fn headline(review: &ReviewView) -> String {
    let model = safe_line(&review.model);
    match review.state {
        ReviewStatus::Running => format!("{model} is reviewing it"),
        ReviewStatus::Failed => format!("{model} did not review it"),
        ReviewStatus::Done => {
            let count = match review.findings.len() {
                0 => "no findings".to_owned(),
                count => format::count_text(count, "finding"),
            };
            format!("Reviewed by {model}: {count}")
        }
    }
}

fn status_name(state: ReviewStatus) -> &'static str {
    match state {
        ReviewStatus::Running => "running",
        ReviewStatus::Done => "done",
        ReviewStatus::Failed => "failed",
    }
}
