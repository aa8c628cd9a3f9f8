//! The view of current work: the sessions, their tasks, and one conversation with its plan and
//! usage.

use maud::{Markup, html};
use scene_schemas::api::{
    CappedSpending, ContextUsage, ConversationHeader, ConversationView, OfferedMention,
    OfferedMentions, PartView, SessionId, SessionView, Sessions, Settings, SpendingScope,
    ThinkingPhase, Usage, WorkflowState, WorkflowView, Workflows,
};
use vector_core::prompt::REST;

use super::format;
use super::format::safe_text;
use super::item::phase_text;
use super::log::ConversationLog;
use super::review::rule_text;

/// The maximum number of listed tasks of a session.
const TASKS: usize = 12;

/// The prefix of the ids of Rojo projects' sessions.
const PROJECT: &str = "project-";
/// The prefix of the ids of place files' sessions.
const FILE: &str = "file-";

/// Whether a session is one of a place file or a Rojo project.
pub(super) fn is_file_session(session: &SessionId) -> bool {
    [FILE, PROJECT].iter().any(|kind| session.0.starts_with(kind))
}

/// Renders the sessions with their tasks.
pub(super) fn session_rail(sessions: &Sessions, workflows: &Workflows) -> Markup {
    let of = |session: Option<&SessionId>| {
        // What another task started is shown there.
        let tasks = workflows.workflows.iter().filter(|it| it.role.is_own_task());
        let tasks = tasks.filter(move |it| it.session.as_ref() == session);
        tasks.take(TASKS).collect::<Vec<_>>()
    };
    let known = |it: &&WorkflowView| {
        let is_open =
            |session: &SessionId| sessions.sessions.iter().any(|open| open.session == *session);
        it.session.as_ref().is_some_and(is_open)
    };
    let mut others: Vec<&WorkflowView> =
        workflows.workflows.iter().filter(|it| !known(it)).collect();
    others.sort_unstable_by_key(|it| std::cmp::Reverse(it.seq));
    html! {
        @if sessions.sessions.is_empty() { (no_place_view()) }
        @for session in &sessions.sessions {
            section.session data-session=(session.session) aria-label=(format::place_name(&session.place.name)) {
                (place_entry(session))
                (task_list(&of(Some(&session.session))))
            }
        }
        @if !sessions.sessions.is_empty() {
            details.session.more {
                summary { "Open another place" }
                (open_form())
            }
        }
        @if !others.is_empty() {
            details.session.more.elsewhere #elsewhere {
                summary { "Elsewhere (" (others.len()) ")" }
                p.dim { "In a terminal or in a closed place; newest first" }
                input type="search" #elsewhere-search aria-label="Search these tasks" placeholder="Search";
                (task_list(&others))
                button.plain type="button" data-act="hide-elsewhere" { "Hide these" }
            }
        }
    }
}

fn no_place_view() -> Markup {
    html! {
        section.session.empty {
            h2 { "No place is open" }
            p { "Open a place in Studio with the plugin, or give Vector a file or a project:" }
            (open_form())
        }
    }
}

fn open_form() -> Markup {
    html! {
        form data-act="open" {
            label for="open-path" { "A place file or a Rojo project, by its full path" }
            input #open-path name="path" autocomplete="off" spellcheck="false" required;
            button type="submit" { "Open" }
            p.bad role="alert" {}
        }
    }
}

fn place_entry(session: &SessionView) -> Markup {
    let is_file = is_file_session(&session.session);
    let (state, label) = match (session.connected, is_file) {
        (true, _) => ("here", "connected"),
        (false, true) => ("away", "the file is gone"),
        (false, false) => ("away", "away"),
    };
    html! {
        header {
            h2 title=(safe_text(&session.place.name)) { span.dot data-state=(state) {} (format::place_name(&session.place.name)) }
            p.dim {
                (label)
                // The number is not known for a file.
                @if session.instances > 0 { ", " (format::count_text(session.instances as usize, "instance")) }
                @if session.session.0.starts_with(PROJECT) { ", " a href={ "#/commit/" (session.session) } { "commit" } }
                @if is_file { ", " a href={ "#/deploy/" (session.session) } { "deploy" } }
                @if let Some(project) = &session.project { ", synced with " (format::place_name(project)) }
            }
        }
    }
}

fn task_list(tasks: &[&WorkflowView]) -> Markup {
    html! {
        @if tasks.is_empty() { p.dim { "No requests yet" } }
        ul.tasks {
            @for task in tasks {
                @let (state, word) = format::state_name(task.state, task.outcome);
                li {
                    a.task href={ "#/now/" (task.seq) } data-task=(task.seq) data-state=(state) {
                        span.goal { (format::first_line(&task.goal)) }
                        span.dim { (safe_text(&task.driver)) ", " (word) }
                    }
                }
            }
        }
    }
}

/// Renders a conversation: its head, and the latest parts of the log.
pub(super) fn conversation_view(talk: &ConversationView) -> Markup {
    let head = &talk.head;
    html! {
        div.talk data-task=(head.workflow.seq) data-cursor=(talk.cursor)
            data-session=[head.workflow.session.as_ref()] data-tasks=(task_count(head)) {
            div #head { (self::conversation_head(head)) }
            div.log #log role="log" aria-label="Conversation" { (ConversationLog::from_talk(talk).render_before(None)) }
            p.waits #waits role="status" {
                @if is_waiting_for_person(head.workflow.state) { (phase_text(ThinkingPhase::Decision)) }
            }
        }
    }
}

fn task_count(talk: &ConversationHeader) -> String {
    talk.tasks.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Renders the head of a conversation: the request, the state, the usage, and the possible actions.
pub(super) fn conversation_head(talk: &ConversationHeader) -> Markup {
    let task = &talk.workflow;
    let (state, label) = format::state_name(task.state, task.outcome);
    html! {
        header.head data-state=(state) data-tasks=(task_count(talk)) {
            div {
                h1 { (format::first_line(&task.goal)) }
                p.dim {
                    span.state data-state=(state) { (label) } " · " (safe_text(&task.driver)) " · " (format::mode_name(task.mode)) " · "
                    (format::place_name(&talk.place)) " · " (format::time_element(talk.at))
                }
            }
            div.buttons { (task_actions(task)) }
        }
        (rule_list(task))
        @if !task.plan.is_empty() { (plan_view(task)) }
        (part_list(task))
        (usage_line(talk))
        (spending_line(&task.spending))
    }
}

fn is_waiting_for_person(state: WorkflowState) -> bool {
    matches!(state, WorkflowState::Waiting | WorkflowState::Disconnected)
}

/// Whether the user has a proposal to decide.
fn is_undecided(task: &WorkflowView) -> bool {
    is_waiting_for_person(task.state) && !task.proposals.is_empty()
}

fn task_actions(task: &WorkflowView) -> Markup {
    let is_over = task.state == WorkflowState::Finished;
    let verb = |verb: &str, text: &str| {
        html! { button type="button" data-act="task" data-task=(task.seq) data-verb=(verb) { (text) } }
    };
    html! {
        @if task.state == WorkflowState::Stopped { (verb("retry", "Try again")) (verb("resume", "Continue")) }
        @if is_undecided(task) { (verb("clear", "Reject all pending proposals")) }
        @if !is_over { (verb("cancel", "Stop")) }
    }
}

/// Renders the rules that hold in a task.
fn rule_list(task: &WorkflowView) -> Markup {
    html! {
        @if !task.rules.is_empty() {
            section.rules aria-label="Allowed in this task" {
                h2 { "Allowed without asking, until this task ends" }
                ul {
                    @for rule in &task.rules {
                        li {
                            span { (rule_text(&rule.text)) }
                            @if rule.approved > 0 { span.dim { (format::count_text(rule.approved as usize, "proposal")) " approved" } }
                            button.plain type="button" data-act="revoke-rule" data-task=(task.seq) data-rule=(rule.seq) { "Revoke" }
                        }
                    }
                }
            }
        }
    }
}

/// Renders the parts that other models do, with links to their tasks.
fn part_list(task: &WorkflowView) -> Markup {
    html! {
        @if !task.parts.is_empty() {
            section.rules.parts aria-label="Parts of this task" {
                h2 { "Done by other models" }
                ul {
                    @for part in &task.parts {
                        li data-state=(if part.outcome.is_none() { "working" } else { "ended" }) {
                            span { a href={ "#/now/" (part.worker) } { (part.number) ". " (safe_text(&part.title)) } }
                            span.dim { (safe_text(&part_state(part))) }
                        }
                    }
                }
            }
        }
    }
}

fn part_state(part: &PartView) -> String {
    match &part.outcome {
        None => format!("{} is at work", part.model),
        Some(outcome) => outcome.describe(),
    }
}

fn plan_view(task: &WorkflowView) -> Markup {
    let done = task.plan.iter().filter(|step| step.done).count();
    let next = task.plan.iter().find(|step| !step.done);
    // The remaining steps are offered once the task has ended.
    let is_offered = next.is_some() && task.state == WorkflowState::Finished;
    html! {
        details.plan data-key=(if is_offered { "plan-next" } else { "plan" }) open[is_offered] {
            summary {
                span { "Plan: " (done) " of " (format::count_text(task.plan.len(), "step")) }
                @if let Some(next) = next { span.next { (safe_text(&next.text)) } }
                progress max=(task.plan.len()) value=(done) aria-label="Steps that are done" {}
            }
            ol {
                @for step in &task.plan {
                    li data-state=[step.done.then_some("done")] { (safe_text(&step.text)) @if step.done { span.hush { " (done)" } } }
                }
            }
            @if let Some(next) = next.filter(|_| is_offered) {
                @let next = format!("Continue with the next step of the plan: {}", next.text);
                div.buttons {
                    button type="button" data-act="answer" data-interaction="act" data-text=(next) { "Next step" }
                    button.main type="button" data-act="answer" data-interaction="act" data-text=(REST) { "Build" }
                }
            }
        }
    }
}

/// Renders the usage of models in a conversation, and the size of the last request.
fn usage_line(head: &ConversationHeader) -> Markup {
    let Usage { input, output, cost } = head.usage;
    html! {
        @if input + output > 0 || head.sent.is_some() {
            dl.took {
                @if input + output > 0 {
                    div { dt { "Input" } dd { (format::short_count(input)) " tokens" } }
                    div { dt { "Output" } dd { (format::short_count(output)) " tokens" } }
                }
                @if let Some(dollars) = cost.filter(|it| *it > 0.0) { div { dt { "Cost" } dd { (format!("{dollars:.4} USD")) } } }
                @if let Some(ContextUsage { turns, bytes, window }) = head.sent {
                    div {
                        dt { "Context" }
                        dd {
                            (format::count_text(turns as usize, "message")) ", " (format::short_count(bytes)) "B "
                            // A token is about four bytes of text.
                            meter min="0" max=(window.max(1)) value=(bytes / 4) aria-label="Context window usage" {}
                        }
                    }
                }
            }
        }
    }
}

/// The share of a cap from which its meter warns.
const NEAR: f64 = 0.8;

/// Renders what was spent of the caps that are set.
fn spending_line(spending: &[CappedSpending]) -> Markup {
    let name = |of| match of {
        SpendingScope::Task => "This task",
        SpendingScope::Project => "This project",
        SpendingScope::Day => "Today",
    };
    html! {
        @if !spending.is_empty() {
            dl.took {
                @for it in spending {
                    div {
                        dt { (name(it.of)) }
                        dd {
                            (format!("${:.2} of ${:.2} ", it.spent, it.cap))
                            meter min="0" max=(it.cap) high=(it.cap * NEAR) value=(it.spent.min(it.cap)) aria-label="Spent of the cap" {}
                        }
                    }
                }
            }
        }
    }
}

/// Renders the suggestions for `@`.
pub(super) fn mention_list(found: &OfferedMentions) -> Markup {
    let shown = |it: &OfferedMention| match &it.instance {
        Some(instance) => instance.target.path.to_string(),
        None => it.text.clone(),
    };
    html! {
        @for it in &found.mentions {
            button type="button" data-act="mention" data-text=(it.text) { b { (safe_text(&shown(it))) } span.dim { (safe_text(&it.about)) } }
        }
    }
}

/// Renders the form for a request.
pub(super) fn composer_form(sessions: &Sessions, settings: &Settings) -> Markup {
    html! {
        form.composer data-act="ask" aria-label="Ask for something" {
            label.hush for="ask-text" { "What do you want?" }
            div.mentions #mentions role="group" aria-label="Attach" hidden {}
            textarea #ask-text name="text" rows="2" required aria-describedby="ask-hint estimate"
                placeholder="Request a change, or ask about the place" {}
            p.dim.estimate #estimate {}
            ul.attached #attached aria-label="Attached files" aria-live="polite" hidden {}
            p.hush #ask-hint { "Enter sends, Shift+Enter starts a new line. @ mentions an instance, a file, a proposal or what is selected. Images can be pasted or dropped." }
            div.row {
                @if sessions.sessions.len() > 1 {
                    label { span.hush { "Place" }
                        select name="session" {
                            @for it in &sessions.sessions {
                                option value=(it.session) data-epoch=(it.epoch) { (format::place_name(&it.place.name)) }
                            }
                        }
                    }
                } @else if let Some(it) = sessions.sessions.first() {
                    input type="hidden" name="session" value=(it.session) data-epoch=(it.epoch);
                }
                label { span.hush { "Mode" }
                    select name="interaction" {
                        option value="act" { "Act" }
                        option value="plan" { "Plan first" }
                        option value="ask" { "Only answer" }
                    }
                }
                button.plain type="button" data-act="attach" aria-controls="mentions" { "Mention" }
                button.plain type="button" data-act="choose-files" aria-controls="attached" { "Attach files" }
                label.check title="The model may give parts of the task to other models, which work at the same time. Their changes come together before you decide." {
                    input type="checkbox" name="workers"; "Workers"
                }
                label.check { input type="checkbox" name="begins"; "New conversation" }
                span.dim { a href="#/settings" { (safe_text(&settings.model)) } ", " (format::mode_name(settings.mode)) @if settings.dry_run { ", dry run" } }
                button.main type="submit" disabled[sessions.sessions.is_empty()] { "Ask" }
            }
        }
    }
}
