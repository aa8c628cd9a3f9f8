//! Reviews of a proposal by a model, in a terminal: asks for one, waits for it, and shows what it found.

use scene_schemas::api::{
    FindingView, ProposalStatus, ProposalView, ReviewQuote, ReviewStatus, ReviewView, RouteId,
    WorkflowStarted,
};
use scene_schemas::entry::Seq;
use scene_schemas::review::FindingSeverity;

use super::daemon_client::{DaemonClient, RouteRequest};
use super::interrupt;
use super::style::{PaintKind, TextStyle, count_noun, safe_lines, terminal_line, wrap_words};
use super::terminal::{Terminal, print_status};

/// The help for the key of a review.
pub(super) const REVIEW_HELP: &str = "  m  have a model review it, and read what it finds";

/// Duration of a long poll, in seconds: the longest delay before Ctrl-C takes effect.
const HOLD: u32 = 1;

/// Shows what a review of a pending proposal would cost; nothing if no model can review it.
pub(super) fn show_quote(daemon: &DaemonClient, proposal: Seq, terminal: &Terminal) {
    let request = RouteRequest::new(RouteId::ReviewQuote).with_id(proposal);
    // The price is an aside: the card is shown without it if it cannot be had.
    if let Ok(ReviewQuote { estimate: Some(_), text }) = daemon.call::<ReviewQuote>(&request) {
        terminal.show_aside(&format!("m reviews it with {text}"));
    }
}

/// Asks for the review of a pending proposal, waits for it, and shows it. In a conversation, Ctrl-C
/// ends the wait, and the review goes on. Returns the proposal as it is then.
pub(super) fn ask_review(
    daemon: &DaemonClient,
    view: &ProposalView,
    terminal: &Terminal,
) -> anyhow::Result<ProposalView> {
    let mut cursor = daemon.read_events(Seq(0), 0)?.cursor;
    let is_running = |view: &ProposalView| {
        let newest = view.reviews.last();
        view.status == ProposalStatus::Waiting
            && newest.is_some_and(|it| it.state == ReviewStatus::Running)
    };
    let fetch = || -> anyhow::Result<ProposalView> {
        daemon.call(&RouteRequest::new(RouteId::Proposal).with_id(view.seq))
    };
    let mut now = fetch()?;
    if !is_running(&now) {
        let request = RouteRequest::new(RouteId::ReviewProposal).with_id(view.seq);
        let refused = daemon.call::<WorkflowStarted>(&request).err();
        now = fetch()?;
        // A review that is required may have started by itself meanwhile.
        if let Some(refused) = refused.filter(|_| !is_running(&now)) {
            print_status(&format!("note: {refused:#}"));
            return Ok(now);
        }
    }
    let model = now.reviews.last().map_or_else(String::new, |it| it.model.clone());
    terminal.show_aside(&format!(
        "{model} reviews it. You need not wait: the page shows the review too."
    ));
    while is_running(&now) {
        if interrupt::take_press() {
            print_status("The review goes on; `m` shows it.");
            return Ok(now);
        }
        let page = daemon.read_events(cursor, HOLD)?;
        cursor = page.cursor;
        if page.events.iter().any(|it| it.workflow == view.workflow) {
            now = fetch()?;
        }
    }
    if let Some(review) = now.reviews.last() {
        terminal.show(&render_review(review, terminal.style()));
    }
    Ok(now)
}

/// Renders a review: its headline, what it looked at, and its findings.
pub(super) fn render_review(review: &ReviewView, style: TextStyle) -> String {
    let model = terminal_line(&review.model);
    let (paint, headline) = match review.state {
        ReviewStatus::Running => (PaintKind::Dim, format!("{model} is reviewing it")),
        ReviewStatus::Failed => (PaintKind::Changed, format!("{model} did not review it")),
        ReviewStatus::Done => {
            let count = match review.findings.len() {
                0 => "no findings".to_owned(),
                count => count_noun(count, "finding"),
            };
            (PaintKind::Bold, format!("Reviewed by {model}: {count}"))
        }
    };
    let mut lines = vec![style.paint(paint, headline)];
    lines.extend(wrapped(&review.summary, "", style));
    for FindingView { finding, about } in &review.findings {
        let paint = match finding.severity {
            FindingSeverity::High => PaintKind::Removed,
            FindingSeverity::Medium => PaintKind::Changed,
            FindingSeverity::Low => PaintKind::Dim,
        };
        let severity = style.paint(paint, finding.severity.label());
        lines.push(format!("{severity}  {}", terminal_line(about)));
        let quote = finding.on.quote().trim();
        if !quote.is_empty() {
            lines.push(style.paint(PaintKind::Dim, format!("  > {}", terminal_line(quote))));
        }
        lines.extend(wrapped(&finding.text, "  ", style));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Wraps a text of somebody else into lines with the given front.
fn wrapped(text: &str, front: &str, style: TextStyle) -> Vec<String> {
    let width = style.width.saturating_sub(front.len());
    let safe = safe_lines(text.trim());
    let lines = safe.lines().flat_map(|line| wrap_words(line, width));
    lines.map(|line| format!("{front}{line}")).collect()
}

#[cfg(test)]
mod tests {
    use scene_schemas::comment::{CommentSide, CommentSubject};
    use scene_schemas::review::ReviewFinding;

    use super::*;

    #[test]
    fn review_is_shown_without_control_characters() {
        let on = CommentSubject::Line {
            path: "game.ServerScriptService.Shop".parse().unwrap(),
            side: CommentSide::After,
            line: 3,
            quote: "\tpay(\u{1b}[2Jprice)".to_owned(),
        };
        let text = "The price comes\n\u{1b}]0;owned\u{7} from the client.".to_owned();
        let finding = ReviewFinding { severity: FindingSeverity::High, on: on.clone(), text };
        let review = ReviewView {
            reviewer: Seq(7),
            model: "maker/\u{202e}model".to_owned(),
            state: ReviewStatus::Done,
            summary: "Read it.".to_owned(),
            findings: vec![FindingView { about: on.describe(), finding }],
        };
        let shown = render_review(&review, TextStyle::plain());
        assert!(!shown.contains(|it: char| it != '\n' && it.is_control()), "{shown:?}");
        assert!(!shown.contains('\u{202e}'), "{shown:?}");
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[0].ends_with("1 finding") && lines[1] == "Read it.", "{shown}");
        assert_eq!(lines[2], "high  line 3 of game.ServerScriptService.Shop");
        assert!(lines[3].starts_with("  > pay("), "{shown}");
        assert_eq!(lines[4], "  The price comes");
    }
}
