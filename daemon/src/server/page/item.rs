//! Events as parts of a conversation. Each part has a key, and a new part replaces the one with the
//! same key.

use maud::{Markup, html};
use scene_schemas::api::{Event, EventRecord, OfferedPermission, Setting, ThinkingPhase};
use scene_schemas::entry::{Finish, Seq};
use scene_schemas::permission::PermissionAnswer;
use scene_schemas::proposal::Class;
use serde::Serialize;
use vector_core::workflow::{AGENT, CALLS};

use super::format;
use super::format::safe_text;
use super::review::conflict_view as conflict_of;

/// A change of the page. The page's script applies the same changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(super) enum PageChange {
    /// Replaces the part with this key, or appends it to the conversation.
    Put {
        key: String,
        html: String,
    },
    /// Appends text to a part, which is created if necessary.
    More {
        key: String,
        text: String,
    },
    Drop {
        key: String,
    },
    /// Updates the state of a call.
    Call {
        key: String,
        state: &'static str,
        html: String,
    },
    /// Shows what the task waits for; empty for nothing.
    Waits {
        text: String,
    },
}

/// The tool by which a model asks the user a question.
const QUESTION: &str = "ask_clarification";

/// The key of the message that is still arriving in a task.
fn streaming_key(task: Seq) -> String {
    format!("coming-{task}")
}

fn put_item(key: String, html: Markup) -> PageChange {
    PageChange::Put { key, html: html.into_string() }
}

/// Returns the line about a step of a task that is neither a message nor a call.
fn note_text(event: &Event) -> String {
    match event {
        Event::Part { text } => text.clone(),
        Event::Review { proposal, text } => format!("Proposal {proposal}: {text}"),
        Event::Commented { count, is_reply, .. } => comment_note(*count, *is_reply),
        Event::RuleAdded { text } => format!("You allowed {text}"),
        Event::RuleRevoked { .. } => "You revoked a rule of this task".to_owned(),
        Event::ContextSummarised { turns } => {
            format!("The oldest {turns} messages were summarised to make room for the model")
        }
        _ => String::new(),
    }
}

/// Returns the changes that an event makes in the conversation of its task.
pub(super) fn changes_of_event(record: &EventRecord) -> Vec<PageChange> {
    let (key, task) = (format!("e-{}", record.seq), record.workflow);
    let notice =
        |text: &str, lines: &[String]| vec![put_item(key.clone(), notice_item(&key, text, lines))];
    match &record.event {
        Event::Asked { text, driver, attached, .. } => {
            vec![put_item(key.clone(), request_item(&key, record.at, text, Some(driver), attached))]
        }
        Event::AskedMore { text, attached } => {
            vec![put_item(key.clone(), request_item(&key, record.at, text, None, attached))]
        }
        Event::AssistantStart {} => vec![PageChange::Drop { key: streaming_key(task) }],
        Event::AssistantUpdate { text } => vec![
            PageChange::More { key: streaming_key(task), text: safe_text(text) },
            PageChange::Waits { text: String::new() },
        ],
        Event::AssistantFinal { text, answers } => {
            vec![
                PageChange::Drop { key: streaming_key(task) },
                put_item(key.clone(), message_item(&key, text, answers)),
            ]
        }
        Event::PermissionRequested { call, question, answers, model } => {
            let key = permission_key(*call);
            vec![put_item(
                key.clone(),
                permission_item(&key, task, *call, question, answers, *model),
            )]
        }
        Event::PermissionDecided { call, answer } => vec![
            PageChange::Drop { key: permission_key(*call) },
            put_item(key.clone(), permission_answer(&key, *answer)),
        ],
        Event::Part { .. }
        | Event::ContextSummarised { .. }
        | Event::Review { .. }
        | Event::Commented { .. }
        | Event::RuleAdded { .. }
        | Event::RuleRevoked { .. } => notice(&note_text(&record.event), &[]),
        Event::Thinking { phase } => {
            vec![PageChange::Waits { text: phase_text(*phase).to_owned() }]
        }
        Event::Stalled { seconds } => {
            vec![PageChange::Waits { text: format!("No response for {seconds} seconds") }]
        }
        // The question itself is shown as a message.
        Event::ToolParsed { tool, .. } if tool == QUESTION => {
            vec![PageChange::Drop { key: streaming_key(task) }]
        }
        Event::ToolParsed { call, tool, brief } => vec![
            PageChange::Drop { key: streaming_key(task) },
            put_item(format!("call-{call}"), tool_call(*call, tool, brief)),
        ],
        Event::ToolResult { call, brief } => {
            vec![call_item(*call, "done", html! { p { (safe_text(brief)) } })]
        }
        Event::ToolError { call, reason, conflict } => {
            let error_item = call_item(*call, "refused", html! { p { (safe_text(reason)) } });
            // A question that nobody has answered is over.
            let question = PageChange::Drop { key: permission_key(*call) };
            let key = format!("conflict-{call}");
            let conflict = conflict.iter().map(|it| put_item(key.clone(), conflict_of(&key, it)));
            [error_item, question].into_iter().chain(conflict).collect()
        }
        Event::ProposalMapped { call, proposal, title, class, .. } => vec![
            call_item(*call, "done", html! {}),
            put_item(format!("p-{proposal}"), card_placeholder(*proposal, title, *class)),
            PageChange::Waits { text: String::new() },
        ],
        Event::ContextRequested { what } => notice(&format!("Reading {what}"), &[]),
        Event::ContextStats { turns: 0, scripts, left, .. } => {
            let count = format::count_text(scripts.len(), "script");
            let left = left.iter().map(|it| format!("left out: {it}"));
            let all: Vec<String> = scripts.iter().cloned().chain(left).collect();
            notice(&format!("Starting with {count} that may be relevant"), &all)
        }
        Event::Retrying { reason, seconds } => {
            let text = format!("{}. Retrying in {seconds} s", safe_text(reason));
            vec![PageChange::Waits { text }]
        }
        Event::Error { message, hint, retryable, setting, .. } => vec![
            PageChange::Waits { text: String::new() },
            put_item(key.clone(), failure_item(&key, task, message, hint, *retryable, *setting)),
        ],
        Event::ClientDisconnected { client } => {
            let text =
                format!("{} disconnected. Its proposals are still pending", safe_text(client));
            notice(&text, &[])
        }
        Event::Done { outcome, summary } => vec![
            PageChange::Waits { text: String::new() },
            put_item(key.clone(), done_item(&key, *outcome, summary.as_deref())),
        ],
        Event::ToolValid { .. }
        | Event::ToolStarted { .. }
        | Event::ProposalChanged { .. }
        | Event::ContextStats { .. }
        | Event::Plan { .. }
        | Event::Usage { .. } => Vec::new(),
    }
}

fn comment_note(count: u32, is_reply: bool) -> String {
    let count = count as usize;
    if is_reply {
        format!("The model replied to {}", format::count_text(count, "comment"))
    } else {
        format!("You asked for changes, with {}", format::count_text(count, "comment"))
    }
}

fn call_item(call: Seq, state: &'static str, html: Markup) -> PageChange {
    PageChange::Call { key: format!("call-{call}"), state, html: html.into_string() }
}

fn request_item(
    key: &str,
    at: u64,
    text: &str,
    driver: Option<&String>,
    attached: &[String],
) -> Markup {
    html! {
        article.item.asked data-key=(key) {
            header { (author_line(driver)) " " (format::time_element(at)) }
            p.text { (safe_text(text)) }
            @if !attached.is_empty() {
                ul.chips { @for it in attached { li { (safe_text(it)) } } }
            }
        }
    }
}

/// Renders who requested the task, and which driver runs it.
fn author_line(driver: Option<&String>) -> Markup {
    let agent = driver.and_then(|driver| driver.strip_prefix(AGENT));
    html! {
        @if let Some(agent) = agent { b { (safe_text(agent)) } " over MCP" }
        @else { b { "You" } }
        @if let Some(driver) = driver.filter(|it| agent.is_none() && *it != CALLS) { " to " span.driver { (safe_text(driver)) } }
    }
}

fn message_item(key: &str, text: &str, answers: &[String]) -> Markup {
    html! {
        article.item.said data-key=(key) {
            p.text { (safe_text(text)) }
            @if !answers.is_empty() {
                div.answers role="group" aria-label="Answers" {
                    @for answer in answers {
                        button type="button" data-act="answer" data-text=(answer) { (safe_text(answer)) }
                    }
                }
            }
        }
    }
}

fn permission_key(call: Seq) -> String {
    format!("permission-{call}")
}

fn permission_item(
    key: &str,
    task: Seq,
    call: Seq,
    question: &str,
    answers: &[OfferedPermission],
    model: Option<Seq>,
) -> Markup {
    html! {
        article.item.permission data-key=(key) {
            p.text { (safe_text(question)) }
            @if let Some(generation) = model {
                figure.model data-state="loading" {
                    img alt="The generated model" data-picture=(format!("/api/generations/{generation}/picture"));
                    p.why role="alert" {}
                }
            }
            div.answers role="group" aria-label="Answers" {
                @for offered in answers {
                    button type="button" data-act="permit" data-task=(task) data-call=(call) data-answer=(permission_name(offered.answer)) {
                        (safe_text(&offered.label))
                    }
                }
            }
        }
    }
}

/// Renders what a person answered to the question for a permission.
fn permission_answer(key: &str, answer: PermissionAnswer) -> Markup {
    let text = match answer {
        PermissionAnswer::Once => "You permitted it, this time.",
        PermissionAnswer::Task => "You permitted it, for this task.",
        PermissionAnswer::No => "You did not permit it.",
    };
    html! { p.item.note data-key=(key) { (text) } }
}

/// Returns the name of an answer in requests.
fn permission_name(answer: PermissionAnswer) -> &'static str {
    match answer {
        PermissionAnswer::Once => "once",
        PermissionAnswer::Task => "task",
        PermissionAnswer::No => "no",
    }
}

fn tool_call(call: Seq, tool: &str, brief: &str) -> Markup {
    html! {
        details.item.call data-key={ "call-" (call) } data-state="running" {
            summary { span.sign aria-hidden="true" {} span.tool { (safe_text(&tool.replace('_', " "))) } " " span.brief { (safe_text(brief)) } span.outcome {} }
            div.result {}
        }
    }
}

/// Renders a card whose proposal is not loaded yet.
fn card_placeholder(proposal: Seq, title: &str, class: Class) -> Markup {
    html! {
        article.item.card data-key={ "p-" (proposal) } data-proposal=(proposal) data-class=(format::class_name(class)) aria-label=(safe_text(title)) {
            header { a.title href={ "#/proposals/" (proposal) } { (safe_text(title)) } " " span.class { (format::class_name(class)) } }
        }
    }
}

fn notice_item(key: &str, text: &str, details: &[String]) -> Markup {
    html! {
        @if details.is_empty() {
            p.item.note data-key=(key) { (safe_text(text)) }
        } @else {
            details.item.note data-key=(key) {
                summary { (safe_text(text)) }
                ul { @for it in details { li { (safe_text(it)) } } }
            }
        }
    }
}

fn failure_item(
    key: &str,
    task: Seq,
    message: &str,
    hint: &str,
    retryable: bool,
    setting: Option<Setting>,
) -> Markup {
    html! {
        article.item.trouble data-key=(key) role="alert" {
            p { b { (safe_text(message)) } }
            @if !hint.is_empty() { p.hint { (safe_text(hint)) } }
            div.buttons {
                @if retryable {
                    button type="button" data-act="task" data-task=(task) data-verb="retry" { "Try again" }
                }
                @if let Some(setting) = setting {
                    a.button href="#/settings" { (setting_label(setting)) }
                }
            }
        }
    }
}

fn setting_label(setting: Setting) -> &'static str {
    match setting {
        Setting::Mode => "Choose another mode",
        Setting::DryRun => "See the dry run setting",
        Setting::Model => "Choose another model",
    }
}

fn done_item(key: &str, outcome: Finish, summary: Option<&str>) -> Markup {
    let (state, text) = match outcome {
        Finish::Done => ("done", "Done"),
        Finish::NotApproved => ("ended", "Ended; not all of it was approved"),
        Finish::Failed => ("failed", "Failed"),
    };
    html! {
        article.item.end data-key=(key) data-state=(state) {
            p { b { (text) } }
            @if let Some(summary) = summary { p.text { (safe_text(summary)) } }
        }
    }
}

/// Describes what is waited for.
pub(super) fn phase_text(phase: ThinkingPhase) -> &'static str {
    match phase {
        ThinkingPhase::Model => "Waiting for the model",
        ThinkingPhase::Planning => "Planning",
        ThinkingPhase::Reading => "Reading the place",
        ThinkingPhase::Decision => "Waiting for your decision",
        ThinkingPhase::Applying => "Applying",
        ThinkingPhase::Playing => "Playing the game",
        ThinkingPhase::Workers => "Workers are at work",
    }
}
