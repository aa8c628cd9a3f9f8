//! Results for clients: calls, sessions and the log, as text for the model.

use rmcp::model::{CallToolResult, ContentBlock};
use scene_schemas::api::{
    AgentCallOutcome, AgentLog, AppliedChange, CallView, Failure, FailureKind, FindingView,
    LoggedCall, ProposalStatus, ReviewStatus, Sessions, StartedTask, WorkflowState,
};
use scene_schemas::entry::Finish;
use scene_schemas::workers::PartOutcome;
use serde_json::{Value as Json, json};
use vector_core::prompt::{fence_text, picture_data, without_picture};

/// The maximum length of a text, in bytes. A longer one would displace what the model read before.
const LONGEST: usize = 100_000;

/// Formats a call after waiting for it.
pub(super) fn call_result(view: &CallView) -> CallToolResult {
    match &view.outcome {
        AgentCallOutcome::Done { answer, applied: None } if !is_passed_whole(answer) => {
            error_result(format!(
                "{}: The answer has {} bytes, more than the limit of {LONGEST}. Ask for less: a smaller page \
             (maxNodes, limit), maxBytes, a range of lines, or a path further down.",
                view.tool,
                answer.to_string().len()
            ))
        }
        AgentCallOutcome::Done { .. } if view.started.is_some() => status_result(view),
        AgentCallOutcome::Done { answer, applied: None } => {
            let mut content = content_blocks(answer);
            content.extend(overlay_note(view).map(ContentBlock::text));
            CallToolResult::success(content)
        }
        AgentCallOutcome::Done { answer, applied: Some(change) } => {
            let mut text = describe_applied(change);
            if !answer.is_null() {
                text.push_str(&format!("{answer}\n"));
            }
            CallToolResult::success(vec![ContentBlock::text(truncate(text))])
        }
        AgentCallOutcome::Refused { reason, status, comments, .. } => {
            let mut result = error_result(reason.clone());
            // What became of a proposal, which a client may show.
            if status.is_some() {
                let mut content = json!({
                    "status": outcome_word(&view.outcome), "id": view.call, "tool": view.tool,
                    "text": reason.as_str(),
                });
                if !comments.is_empty() {
                    content["comments"] = json!(comments);
                }
                result.structured_content = Some(content);
            }
            result
        }
        AgentCallOutcome::Pending { .. }
        | AgentCallOutcome::NeedsPermission { .. }
        | AgentCallOutcome::Working {} => unsettled_result(view),
    }
}

/// Formats an unsettled call. Some clients pass only the structured content to the model, others
/// only the text, so both contain everything.
fn unsettled_result(view: &CallView) -> CallToolResult {
    let mut text = format!("{} {}", describe_pending(view), describe_next_step(view));
    text.extend(describe_reviews(view));
    let mut content = json!({
        "status": outcome_word(&view.outcome), "id": view.call, "tool": view.tool, "text": text.as_str(),
    });
    add_reviews(&mut content, view);
    structured_result(text, content)
}

/// Adds the reviews of the proposal of a call, for clients that read structured content.
fn add_reviews(content: &mut Json, view: &CallView) {
    if view.reviews.is_empty() {
        return;
    }
    let reviews = view.reviews.iter().map(|review| {
        let findings = review.findings.iter().map(|FindingView { finding, about }| {
            json!({ "severity": finding.severity, "about": about, "on": finding.on, "text": finding.text })
        });
        json!({
            "model": review.model, "state": review.state, "summary": review.summary,
            "findings": findings.collect::<Vec<Json>>(),
        })
    });
    content["reviews"] = reviews.collect();
}

/// Describes the newest review of the proposal of a call. What a model wrote is in a fence.
fn describe_reviews(view: &CallView) -> Option<String> {
    let review = view.reviews.last()?;
    let model = &review.model;
    Some(match review.state {
        ReviewStatus::Running => format!("\n{model} is reviewing the proposal."),
        ReviewStatus::Failed => format!("\n{model} did not review it: {}", review.summary),
        ReviewStatus::Done => {
            let findings = review.findings.iter().map(|FindingView { finding, about }| {
                format!("{}, {about}: {}", finding.severity.label(), finding.text)
            });
            let lines: Vec<String> =
                std::iter::once(review.summary.clone()).chain(findings).collect();
            format!("\nReviewed by {model}:\n{}", fence_text(&lines.join("\n"), ""))
        }
    })
}

/// Formats a call after an agent asked for a review of its proposal.
pub(super) fn review_result(view: &CallView, requested: &CallView) -> CallToolResult {
    let text = match &requested.outcome {
        AgentCallOutcome::Done { .. } => "The review was asked for.".to_owned(),
        AgentCallOutcome::Refused { reason, .. } => format!("No review was started: {reason}"),
        AgentCallOutcome::NeedsPermission { .. }
        | AgentCallOutcome::Pending { .. }
        | AgentCallOutcome::Working {} => format!(
            "{} Its result will be in proposal_status of call {}.",
            describe_pending(requested),
            view.call
        ),
    };
    let request = json!({
        "id": requested.call, "status": outcome_word(&requested.outcome), "text": text.as_str(),
    });
    let mut result = status_result(view);
    if let Some(content) = &mut result.structured_content {
        content["reviewRequest"] = request;
    }
    result.content.push(ContentBlock::text(text));
    result
}

/// Returns the state of a task that a call began as a single word.
fn started_word(started: &StartedTask) -> &'static str {
    match started.state {
        WorkflowState::Working => "working",
        WorkflowState::Finished => "answered",
        WorkflowState::Waiting
        | WorkflowState::Idle
        | WorkflowState::Disconnected
        | WorkflowState::Away
        | WorkflowState::Stopped => "pending",
    }
}

/// Describes a task that a call began. What its model wrote is in a fence.
pub(super) fn describe_started(started: &StartedTask) -> String {
    let StartedTask { task, model, state, outcome, text, proposals, parts } = started;
    let state = match (state, outcome) {
        (WorkflowState::Working, _) => "is at work",
        (WorkflowState::Waiting, _) => "waits for the person",
        (WorkflowState::Stopped, _) => "was stopped, and the person can let it go on",
        (WorkflowState::Away | WorkflowState::Disconnected | WorkflowState::Idle, _) => {
            "waits for its place, which is not connected"
        }
        (WorkflowState::Finished, Some(Finish::Done)) => "is done",
        (WorkflowState::Finished, Some(Finish::NotApproved)) => {
            "has ended: not all of it was approved"
        }
        (WorkflowState::Finished, Some(Finish::Failed) | None) => "has failed or was cancelled",
    };
    let mut lines = vec![format!("Task {task} of {model} {state}.")];
    lines.extend(parts.iter().map(|part| {
        let outcome = part.outcome.as_ref();
        let outcome = outcome.map_or_else(|| "is at work".to_owned(), PartOutcome::describe);
        format!("Part {} ({}) {outcome}.", part.number, part.title)
    }));
    lines.extend(
        proposals
            .iter()
            .map(|it| format!("Proposal {} ({}): {}.", it.seq, it.title, it.status.as_str())),
    );
    if !text.is_empty() {
        lines.push(format!("Its last message:\n{}", fence_text(text, "")));
    }
    lines.join("\n")
}

fn describe_applied(change: &AppliedChange) -> String {
    format!("Applied as proposal {}.\n{}", change.proposal, fence_text(&change.diff, "diff"))
}

/// Formats a call for proposal_status.
pub(super) fn status_result(view: &CallView) -> CallToolResult {
    let mut content =
        json!({ "status": outcome_word(&view.outcome), "id": view.call, "tool": view.tool });
    let text = match &view.outcome {
        AgentCallOutcome::Working {}
        | AgentCallOutcome::NeedsPermission { .. }
        | AgentCallOutcome::Pending { .. } => {
            return unsettled_result(view);
        }
        AgentCallOutcome::Done { answer, applied: None } => match &view.started {
            Some(started) => {
                content["status"] = started_word(started).into();
                content["task"] = json!(started);
                let mut text = describe_started(started);
                if !view.is_over() {
                    text.push_str(&format!(
                        "\nCall proposal_status with {{\"id\": {}}} to learn how it goes on.",
                        view.call
                    ));
                }
                text
            }
            None => format!("Answered: {}", without_picture(answer, false)),
        },
        AgentCallOutcome::Done { applied: Some(change), .. } => describe_applied(change),
        AgentCallOutcome::Refused { reason, comments, .. } => {
            if !comments.is_empty() {
                content["comments"] = json!(comments);
            }
            reason.clone()
        }
    };
    add_reviews(&mut content, view);
    content["text"] = truncate(text).into();
    structured_result(content.to_string(), content)
}

fn structured_result(text: String, content: Json) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(content);
    result
}

/// Returns the status of a call as a single word.
fn outcome_word(became: &AgentCallOutcome) -> &'static str {
    match became {
        AgentCallOutcome::Working {} => "working",
        AgentCallOutcome::NeedsPermission { .. }
        | AgentCallOutcome::Pending { status: ProposalStatus::Waiting, .. } => "pending",
        AgentCallOutcome::Pending { .. } => "approved",
        AgentCallOutcome::Done { applied: None, .. } => "answered",
        AgentCallOutcome::Done { applied: Some(_), .. } => "applied",
        AgentCallOutcome::Refused { status, .. } => match status {
            Some(ProposalStatus::Rejected) => "rejected",
            Some(ProposalStatus::Withdrawn) => "withdrawn",
            Some(ProposalStatus::Failed) => "failed",
            Some(ProposalStatus::Undone) => "undone",
            _ => "refused",
        },
    }
}

/// Describes what a call waits for.
pub(super) fn describe_pending(view: &CallView) -> String {
    match &view.outcome {
        AgentCallOutcome::Pending { proposal, status: ProposalStatus::Waiting, title, .. } => {
            let seen = match view.viewed {
                None => String::new(),
                Some(seen) if seen == *proposal => " It was opened last.".to_owned(),
                Some(other) => format!(" Proposal {other} was opened last."),
            };
            format!(
                "pending: proposal {proposal} ({title}) waits for the person's decision, in Studio's widget, \
                 on the page that `vector open` shows, or in `vector review`.{seen}"
            )
        }
        AgentCallOutcome::Pending { proposal, title, .. } => {
            format!("approved: proposal {proposal} ({title}) is being applied.")
        }
        AgentCallOutcome::NeedsPermission { question } => format!(
            "pending: the person is asked in Studio's widget and on the page that `vector open` shows: \
             {question}"
        ),
        _ => format!("working: {} is still running.", view.tool),
    }
}

/// Names the pending proposals that an answer treats as applied.
fn overlay_note(view: &CallView) -> Option<String> {
    let names: Vec<String> = view.on_top_of.iter().map(ToString::to_string).collect();
    let which = match names.len() {
        0 => return None,
        1 => format!("proposal {}, which waits for the person", names[0]),
        _ => format!("proposals {}, which wait for the person", names.join(", ")),
    };
    Some(format!("(This is the place as it would be with {which}.)"))
}

fn describe_next_step(view: &CallView) -> String {
    let so_far = match &view.outcome {
        AgentCallOutcome::Pending { status: ProposalStatus::Waiting, .. } => {
            "Nothing has been applied yet. "
        }
        _ => "",
    };
    format!(
        "{so_far}Call proposal_status with {{\"id\": {}}} for its outcome; do not call {} again for the same change.",
        view.call, view.tool
    )
}

/// Returns the message for the user in their client.
pub(super) fn decision_instructions(view: &CallView) -> String {
    let (proposal, title) = match &view.outcome {
        AgentCallOutcome::Pending { proposal, title, .. } => (proposal, title),
        AgentCallOutcome::NeedsPermission { question } => {
            return format!(
                "Vector: {question} Answer in Studio's Vector widget or on the page that `vector \
                 open` shows. Your answer here permits nothing."
            );
        }
        _ => return describe_pending(view),
    };
    format!(
        "Vector: proposal {proposal} waits for you ({title}). Review and decide it in Studio's \
         Vector widget, on the page that `vector open` shows, or with `vector review` in a \
         terminal. Your answer here does not decide it."
    )
}

pub(super) fn sessions_result(open: &Sessions) -> CallToolResult {
    let open = open.sessions.iter().map(|it| {
        let mut content = json!({
            "session": it.session, "name": it.place.name, "connected": it.connected,
        });
        // The number is unknown before Studio has sent the place.
        if it.instances > 0 {
            content["instances"] = it.instances.into();
        }
        if let Some(project) = &it.project {
            content["rojoProject"] = project.as_str().into();
        }
        content
    });
    let content = json!({ "sessions": open.collect::<Vec<Json>>() });
    CallToolResult::success(vec![ContentBlock::text(content.to_string())])
}

pub(super) fn log_result(log: &AgentLog) -> CallToolResult {
    let text = truncate(log_lines(log));
    structured_result(text.clone(), json!({ "text": text }))
}

/// Lists the unsettled calls and the latest ones, one per line.
pub(super) fn log_lines(log: &AgentLog) -> String {
    if log.calls.is_empty() {
        return "No agent has made a call yet.".to_owned();
    }
    let mut text = String::new();
    if !log.unsettled.is_empty() {
        text.push_str("Not settled:\n");
        text.extend(log.unsettled.iter().map(log_line));
        text.push_str("Last:\n");
    }
    text.extend(log.calls.iter().map(log_line));
    text
}

/// Formats a call as a line.
pub(super) fn log_line(it: &LoggedCall) -> String {
    let proposal = match &it.view.outcome {
        AgentCallOutcome::Pending { proposal, .. } => format!(", proposal {proposal}"),
        AgentCallOutcome::Done { applied: Some(change), .. } => {
            format!(", proposal {}", change.proposal)
        }
        _ => String::new(),
    };
    let LoggedCall { client, place, brief, disconnected, view } = it;
    let (status, gone) =
        (outcome_word(&view.outcome), if *disconnected { " disconnected" } else { "" });
    format!(
        "{} {status}{proposal}: {} {brief} ({client}{gone}, in {place})\n",
        view.call, view.tool
    )
}

/// Formats a failure before a call was made, or one after which it is unknown whether the call
/// exists.
pub(super) fn failure_result(failure: &Failure) -> CallToolResult {
    let text = format!("{} {}", failure.message, failure.hint);
    if failure.kind == FailureKind::Lost {
        return structured_result(
            format!("unknown: {text}"),
            json!({ "status": "unknown", "text": text }),
        );
    }
    error_result(text)
}

fn error_result(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(truncate(text))])
}

/// Converts an answer to content: a picture as an image, everything else as text.
fn content_blocks(answer: &Json) -> Vec<ContentBlock> {
    if let Some(png) = picture_data(answer) {
        let text = without_picture(answer, true).to_string();
        return vec![ContentBlock::text(text), ContentBlock::image(png, "image/png")];
    }
    let text = match answer {
        Json::Null => "Done.".to_owned(),
        // Texts of the place are in fences that nothing in them can close. JSON delimits itself.
        Json::String(text) => fence_text(text, ""),
        answer => answer.to_string(),
    };
    vec![ContentBlock::text(truncate(text))]
}

/// Whether a text is short enough to be passed on completely.
pub(super) fn is_short(text: &str) -> bool {
    text.len() <= LONGEST
}

/// Whether an answer can be passed on completely. JSON must not be cut, and a picture is not text.
fn is_passed_whole(answer: &Json) -> bool {
    picture_data(answer).is_some() || answer.is_string() || is_short(&answer.to_string())
}

/// Cuts a text that is too long, and says so in it.
pub(super) fn truncate(text: String) -> String {
    if is_short(&text) {
        return text;
    }
    let shown = &text[..text.floor_char_boundary(LONGEST)];
    format!(
        "{shown}\n[cut: {} of {} bytes are shown. Ask for less: a smaller page, a range of lines, or a \
         path further down.]",
        shown.len(),
        text.len()
    )
}

#[cfg(test)]
mod tests {
    use scene_schemas::api::SessionId;
    use scene_schemas::entry::Seq;

    use super::*;

    fn call(tool: &str, became: AgentCallOutcome) -> CallView {
        CallView {
            call: Seq(2),
            workflow: Seq(1),
            session: SessionId("window".to_owned()),
            tool: tool.to_owned(),
            outcome: became,
            on_top_of: Vec::new(),
            viewed: None,
            reviews: Vec::new(),
            started: None,
        }
    }

    fn answered(answer: Json) -> (bool, String) {
        let view = call("list_children", AgentCallOutcome::Done { answer, applied: None });
        let told = serde_json::to_value(call_result(&view)).unwrap();
        (told["isError"] == true, told["content"][0]["text"].as_str().unwrap().to_owned())
    }

    /// What models read of a result: Claude Code and Codex pass only the structured content if
    /// there is any, others only the text.
    fn read_by_models(result: &CallToolResult) -> Vec<String> {
        let said = serde_json::to_value(result).unwrap();
        let text = said["content"][0]["text"].as_str().unwrap().to_owned();
        let structured = said.get("structuredContent").map(ToString::to_string);
        [Some(text), structured].into_iter().flatten().collect()
    }

    #[test]
    fn unsettled_results_state_the_next_step() {
        let pending = |status| AgentCallOutcome::Pending {
            proposal: Seq(3),
            status,
            title: "Create Door".to_owned(),
            class: scene_schemas::proposal::Class::Additive,
        };
        let cases = [
            (pending(ProposalStatus::Waiting), ["Nothing has been applied yet", "waits"]),
            (pending(ProposalStatus::Approved), ["approved", "is being applied"]),
            (AgentCallOutcome::Working {}, ["working", "still running"]),
        ];
        for (became, says) in cases {
            let view = call("create_instance", became);
            for result in [call_result(&view), status_result(&view)] {
                for read in read_by_models(&result) {
                    let next = ["proposal_status", "do not call create_instance again"];
                    for words in says.iter().chain(&next) {
                        assert!(read.contains(words), "{words:?} is missing in {read}");
                    }
                    assert!(read.contains("\"id\": 2") || read.contains("\\\"id\\\": 2"), "{read}");
                }
            }
        }
    }

    #[test]
    fn refused_results_state_the_reason() {
        let lost = Failure {
            kind: FailureKind::Lost,
            message: "The daemon does not answer.".to_owned(),
            hint: "Call proposal_status first.".to_owned(),
        };
        let refused = |status| {
            let reason = "The person rejected it: too dark".to_owned();
            call(
                "create_instance",
                AgentCallOutcome::Refused {
                    reason,
                    status,
                    proposal: Some(Seq(3)),
                    comments: Vec::new(),
                },
            )
        };
        let rejected = refused(Some(ProposalStatus::Rejected));
        for read in read_by_models(&failure_result(&lost)) {
            assert!(read.contains("does not answer") && read.contains("proposal_status"), "{read}");
        }
        for result in
            [call_result(&rejected), status_result(&rejected), call_result(&refused(None))]
        {
            for read in read_by_models(&result) {
                assert!(read.contains("too dark"), "{read}");
            }
        }
    }

    #[test]
    fn oversized_json_is_refused_instead_of_cut() {
        let short = json!({ "children": ["a"] });
        assert_eq!(answered(short.clone()), (false, short.to_string()));
        let (failed, text) = answered(json!({ "children": ["a".repeat(LONGEST)] }));
        assert!(failed && text.contains("Ask for less"), "{text}");
    }

    #[test]
    fn picture_of_any_size_becomes_an_image_block() {
        let png = "A".repeat(2 * LONGEST);
        let answer = json!({ "shown": "game", "png": png });
        let content = serde_json::to_value(content_blocks(&answer)).unwrap();
        assert_eq!(content[0]["text"], "{\"shown\":\"game\"}");
        assert_eq!((&content[1]["type"], &content[1]["data"]), (&json!("image"), &json!(png)));
        assert_eq!(answered(answer), (false, "{\"shown\":\"game\"}".to_owned()));
    }

    #[test]
    fn text_is_fenced_and_cut_at_the_limit() {
        assert_eq!(answered("a ``` b".into()), (false, "````\na ``` b\n````\n".to_owned()));
        let (failed, text) = answered("é".repeat(LONGEST).into());
        assert!(!failed && text.len() < LONGEST + 200 && text.contains("[cut: "), "{}", text.len());
    }
}
