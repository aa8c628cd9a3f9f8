//! What an event is in a conversation. Each part has a key: what comes under the same key takes its place.

use std::iter;

use maud::{Markup, html};
use scene_schemas::api::{Event, EventRecord, Setting, ThinkingPhase};
use scene_schemas::entry::{Finish, Seq};
use scene_schemas::proposal::Class;
use serde::Serialize;
use vector_core::workflow::{AGENT, CALLS};

use super::review::conflict as conflict_of;
use super::words;
use super::words::safe;

/// A change of the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(super) enum Change {
    /// A part takes the place of that with its key, or goes to the end of the conversation.
    Put { key: String, html: String },
    /// More text of a part that is there or begins.
    More { key: String, text: String },
    /// A part goes.
    Drop { key: String },
    /// What is known of a call.
    Call { key: String, state: &'static str, html: String },
    /// What is waited for; empty where nothing is.
    Waits { text: String },
}

/// The tool by which a model asks the person.
const QUESTION: &str = "ask_clarification";

/// The key of the message that is still coming in a task.
fn coming(task: Seq) -> String {
    format!("coming-{task}")
}

fn put(key: String, html: Markup) -> Change {
    Change::Put { key, html: html.into_string() }
}

/// What an event changes in the conversation of its task.
pub(super) fn changes(record: &EventRecord) -> Vec<Change> {
    let (key, task) = (format!("e-{}", record.seq), record.workflow);
    match &record.event {
        Event::Asked { text, driver, attached, .. } => {
            vec![put(key.clone(), asked(&key, record.at, text, Some(driver), attached))]
        }
        Event::AskedMore { text, attached } => {
            vec![put(key.clone(), asked(&key, record.at, text, None, attached))]
        }
        Event::AssistantStart {} => {
            vec![Change::Drop { key: coming(task) }]
        }
        Event::AssistantUpdate { text } => vec![
            Change::More { key: coming(task), text: safe(text) },
            Change::Waits { text: String::new() },
        ],
        Event::AssistantFinal { text, answers } => {
            vec![Change::Drop { key: coming(task) }, put(key.clone(), said(&key, text, answers))]
        }
        Event::Thinking { phase } => vec![Change::Waits { text: waits(*phase).to_owned() }],
        Event::Stalled { seconds } => {
            let text = format!("Nothing has come for {seconds} seconds");
            vec![Change::Waits { text }]
        }
        // The question itself is said.
        Event::ToolParsed { tool, .. } if tool == QUESTION => {
            vec![Change::Drop { key: coming(task) }]
        }
        Event::ToolParsed { call, tool, brief } => vec![
            Change::Drop { key: coming(task) },
            put(format!("call-{call}"), tool_call(*call, tool, brief)),
        ],
        Event::ToolResult { call, brief } => {
            vec![called(*call, "done", html! { p { (safe(brief)) } })]
        }
        Event::ToolError { call, reason, conflict } => {
            let told = called(*call, "refused", html! { p { (safe(reason)) } });
            let key = format!("conflict-{call}");
            let twice = conflict.iter().map(|it| put(key.clone(), conflict_of(&key, it)));
            iter::once(told).chain(twice).collect()
        }
        Event::ProposalMapped { call, proposal, title, class, .. } => vec![
            called(*call, "done", html! {}),
            put(format!("p-{proposal}"), card(*proposal, title, *class)),
            Change::Waits { text: String::new() },
        ],
        event => passing(record, event, key),
    }
}

/// What is told of a task besides what is said and called in it.
fn passing(record: &EventRecord, event: &Event, key: String) -> Vec<Change> {
    match event {
        Event::ContextRequested { what } => {
            vec![put(key.clone(), note(&key, &format!("Looks at {what}"), &[]))]
        }
        Event::ContextStats { turns: 0, scripts, left, .. } => {
            let text =
                format!("Begins with {} that may matter", words::count(scripts.len(), "script"));
            let left = left.iter().map(|it| format!("left out: {it}"));
            let all: Vec<String> = scripts.iter().cloned().chain(left).collect();
            vec![put(key.clone(), note(&key, &text, &all))]
        }
        Event::ContextSummarised { turns } => {
            let text = format!(
                "The oldest {turns} messages were summarised so that the model can go on reading"
            );
            vec![put(key.clone(), note(&key, &text, &[]))]
        }
        Event::Retrying { reason, seconds } => {
            let text = format!("{}. The model is asked again in {seconds} s", safe(reason));
            vec![Change::Waits { text }]
        }
        Event::Error { message, hint, retryable, setting, .. } => vec![
            Change::Waits { text: String::new() },
            put(key.clone(), trouble(&key, record.workflow, (message, hint), *retryable, *setting)),
        ],
        Event::ClientDisconnected { client } => {
            let text =
                format!("{} disconnected. What it proposed still waits for you", safe(client));
            vec![put(key.clone(), note(&key, &text, &[]))]
        }
        Event::Done { outcome, summary } => vec![
            Change::Waits { text: String::new() },
            put(key.clone(), done(&key, *outcome, summary.as_deref())),
        ],
        _ => Vec::new(),
    }
}

fn called(call: Seq, state: &'static str, html: Markup) -> Change {
    Change::Call { key: format!("call-{call}"), state, html: html.into_string() }
}

fn asked(key: &str, at: u64, text: &str, driver: Option<&String>, attached: &[String]) -> Markup {
    html! {
        article.item.asked data-key=(key) {
            header { (who(driver)) " " (words::time(at)) }
            p.text { (safe(text)) }
            @if !attached.is_empty() {
                ul.chips { @for it in attached { li { (safe(it)) } } }
            }
        }
    }
}

/// Who asked, and whom.
fn who(driver: Option<&String>) -> Markup {
    let agent = driver.and_then(|driver| driver.strip_prefix(AGENT));
    html! {
        @if let Some(agent) = agent { b { (safe(agent)) } " over MCP" }
        @else { b { "You" } }
        @if let Some(driver) = driver.filter(|it| agent.is_none() && *it != CALLS) { " to " span.driver { (safe(driver)) } }
    }
}

fn said(key: &str, text: &str, answers: &[String]) -> Markup {
    html! {
        article.item.said data-key=(key) {
            p.text { (safe(text)) }
            @if !answers.is_empty() {
                div.answers role="group" aria-label="Answers" {
                    @for answer in answers {
                        button type="button" data-act="answer" data-text=(answer) { (safe(answer)) }
                    }
                }
            }
        }
    }
}

fn tool_call(call: Seq, tool: &str, brief: &str) -> Markup {
    html! {
        details.item.call data-key={ "call-" (call) } data-state="running" {
            summary { span.sign aria-hidden="true" {} span.tool { (safe(&tool.replace('_', " "))) } " " span.brief { (safe(brief)) } span.outcome {} }
            div.result {}
        }
    }
}

/// A card before its proposal was fetched.
fn card(proposal: Seq, title: &str, class: Class) -> Markup {
    html! {
        article.item.card data-key={ "p-" (proposal) } data-proposal=(proposal) data-class=(words::class(class)) aria-label=(safe(title)) {
            header { a.title href={ "#/proposals/" (proposal) } { (safe(title)) } " " span.class { (words::class(class)) } }
        }
    }
}

fn note(key: &str, text: &str, details: &[String]) -> Markup {
    html! {
        @if details.is_empty() {
            p.item.note data-key=(key) { (safe(text)) }
        } @else {
            details.item.note data-key=(key) {
                summary { (safe(text)) }
                ul { @for it in details { li { (safe(it)) } } }
            }
        }
    }
}

fn trouble(
    key: &str,
    task: Seq,
    (message, hint): (&str, &str),
    retryable: bool,
    setting: Option<Setting>,
) -> Markup {
    html! {
        article.item.trouble data-key=(key) role="alert" {
            p { b { (safe(message)) } }
            @if !hint.is_empty() { p.hint { (safe(hint)) } }
            div.buttons {
                @if retryable {
                    button type="button" data-act="task" data-task=(task) data-verb="retry" { "Try again" }
                }
                @if let Some(setting) = setting {
                    a.button href="#/settings" { (mends(setting)) }
                }
            }
        }
    }
}

fn mends(setting: Setting) -> &'static str {
    match setting {
        Setting::Mode => "Choose another mode",
        Setting::DryRun => "See the dry run",
        Setting::Model => "Choose another model",
    }
}

fn done(key: &str, outcome: Finish, summary: Option<&str>) -> Markup {
    let (state, text) = match outcome {
        Finish::Done => ("done", "Done"),
        Finish::NotApproved => ("ended", "Ended; not all of it was approved"),
        Finish::Failed => ("failed", "Failed"),
    };
    html! {
        article.item.end data-key=(key) data-state=(state) {
            p { b { (text) } }
            @if let Some(summary) = summary { p.text { (safe(summary)) } }
        }
    }
}

/// What is waited for.
pub(super) fn waits(phase: ThinkingPhase) -> &'static str {
    match phase {
        ThinkingPhase::Model => "Waiting for the model",
        ThinkingPhase::Planning => "Planning",
        ThinkingPhase::Reading => "Reading the place",
        ThinkingPhase::Decision => "Waiting for your decision",
        ThinkingPhase::Applying => "Applying",
    }
}
