//! Guards for a model, which prevent blind edits and endless loops.
//!
//! Guards apply to the loop of a provider. Call lists of the user and external agents are only
//! limited by the tools. The interaction mode applies to every driver. A guard refuses with advice
//! on what to do instead, and never does anything else.

use std::collections::BTreeSet;

use scene_schemas::api::FailureKind;
use scene_schemas::command::Command;
use scene_schemas::entry::{Entry, Guards, InteractionMode, Seq};
use scene_schemas::proposal::Proposal;
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::review::TaskRole;
use serde_json::{Value as Json, json};

use super::chain::{CallStep, TaskChain};
use super::parts::is_merge;
use super::read_lines::check_read;
use super::{CallStatus, LedgerState, Workflow};
use crate::tools::{self, CreationStats, Plan, REPORT_REVIEW, count_creations};

/// The key in an answer that replaces unchanged content.
pub(super) const UNCHANGED: &str = "unchangedSinceStep";

/// The start of the refusal that requires a plan.
const NO_PLAN: &str = "There is no plan yet.";

/// Maximum number of questions per task.
const QUESTIONS: usize = 2;

/// After `REPEATED` identical calls in a row, the call is refused. After `STUCK`, the model gets no
/// further request until the user resumes.
const REPEATED: usize = 2;
const STUCK: usize = 4;

/// After `REFUSED` refusals in a row, the model is told to change its approach. After `HOPELESS`,
/// it gets no further request until the user resumes.
const REFUSED: usize = 3;
const HOPELESS: usize = 9;

/// Checks a call before it is planned.
///
/// # Errors
/// The reason that the call must not be planned.
pub fn check_call(state: &LedgerState, workflow: Seq, call: Seq) -> Result<(), Refusal> {
    let Some(own) = state.workflow(workflow) else {
        return Ok(());
    };
    if let Some(flaw) = own.call_flaw(call) {
        return Err(Refusal(flaw.to_owned()));
    }
    let Some((tool, args)) = own.call(call) else {
        return Ok(());
    };
    // The tools of agents are others, and the shell refuses the rest.
    if own.agent_name().is_none() {
        check_role(own.role, tool)?;
    }
    check_interaction(own.interaction, tool)?;
    if own.guards.is_none() {
        return Ok(());
    }
    let before = || state.task_chain(workflow).steps().filter(move |step| step.seq < call);
    // The result may differ after a user message, so only later calls are counted.
    let last_input = own.talk.last_input().unwrap_or(workflow);
    let repeated = count_repeats(before().filter(|step| step.seq > last_input), tool, args);
    if repeated >= REPEATED {
        return refuse!(
            "{tool}: This is the same call for the {} time in a row, and its result is above. Do \
             something else, ask the person, or say what is blocking you.",
            ordinal_word(repeated + 1)
        );
    }
    let changes = tools::find_tool(tool).is_ok_and(tools::ToolSpec::is_change);
    let was_warned = || {
        let own_steps = before().filter(|step| std::ptr::eq(step.workflow, own));
        own_steps.filter_map(|step| step.refusal()).any(|reason| reason.contains(NO_PLAN))
    };
    let is_planned = own.role.assigned_part().is_some() || !own.plan.is_empty();
    if changes && !is_planned && !was_warned() {
        return refuse!(
            "{tool}: {NO_PLAN} First call start_plan with the steps of this task, each of which the \
             person can review separately. If the task is one small step, call {tool} again: it \
             is then accepted without a plan."
        );
    }
    if tool == "fetch_url" {
        is_named(&state.task_chain(workflow), args)?;
    }
    if tool == "ask_clarification" {
        let questions = before().filter(|step| std::ptr::eq(step.workflow, own));
        let questions =
            questions.filter(|step| step.call.tool == tool && step.answer().is_some()).count();
        if questions >= QUESTIONS {
            return refuse!(
                "{tool}: The person was asked {QUESTIONS} times in this task. Decide the rest \
                 yourself, and say how you decided."
            );
        }
    }
    match missing_work(own).filter(|_| tool == "complete") {
        Some(Refusal(reason)) => refuse!("{tool}: {reason}"),
        None => Ok(()),
    }
}

/// Refuses calls beyond the interaction mode, from any driver and whichever tools it was offered.
fn check_interaction(interaction: InteractionMode, tool: &str) -> Result<(), Refusal> {
    if tools::find_tool(tool).is_ok_and(|known| !known.is_within(interaction)) {
        return refuse!(
            "{tool}: This mode does not allow changes. {}",
            match interaction {
                InteractionMode::Plan =>
                    "Make a plan with start_plan; the person decides when to carry it out.",
                _ => "Answer the question; do not make a plan.",
            }
        );
    }
    Ok(())
}

/// Refuses calls that the role does not have.
fn check_role(role: TaskRole, tool: &str) -> Result<(), Refusal> {
    if tools::find_tool(tool).is_ok_and(|known| !known.is_for_role(role)) {
        return match role {
            TaskRole::Solo => {
                refuse!("{tool}: This task is yours alone. Do it yourself, and call complete.")
            }
            TaskRole::Lead {} => refuse!("{tool}: This task reviews no proposal; call complete."),
            TaskRole::Worker { .. } => refuse!(
                "{tool}: A worker asks nobody and gives nothing away. Decide yourself, say how in your \
                 last message, and leave what is not in your part."
            ),
            TaskRole::Scout { .. } => {
                refuse!(
                    "{tool}: A scout only reads. Answer the question in a message without a call."
                )
            }
            TaskRole::Reviewer { .. } => {
                refuse!(
                    "{tool}: A reviewer changes and asks nothing. Read, and end with {REPORT_REVIEW}."
                )
            }
        };
    }
    Ok(())
}

/// Sites whose pages may be read without being named: the references of Roblox developers.
const SITES: [&str; 6] = [
    "create.roblox.com",
    "devforum.roblox.com",
    "luau.org",
    "rojo.space",
    "github.com",
    "raw.githubusercontent.com",
];

/// Checks that the user named the site, because an address could carry out data that the model has
/// read.
fn is_named(chain: &TaskChain<'_>, args: &Json) -> Result<(), Refusal> {
    let address = args["url"].as_str().unwrap_or_default();
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default().to_lowercase();
    if SITES.contains(&host.as_str()) {
        return Ok(());
    }
    let texts = chain.0.iter().flat_map(|(_, workflow)| workflow.requests());
    if !host.is_empty() && texts.map(str::to_lowercase).any(|text| mentions_host(&text, &host)) {
        return Ok(());
    }
    refuse!(
        "fetch_url: The person has not named {host:?}. You can only read pages of sites that the \
         person named, and of {}. Ask the person for the address, or continue without it.",
        SITES.join(", ")
    )
}

/// Whether a text names a host as a whole, not as part of a longer word.
fn mentions_host(text: &str, host: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    text.match_indices(host).any(|(at, _)| {
        let (before, behind) = (&text[..at], &text[at + host.len()..]);
        // A full stop may also end a sentence.
        let behind = behind
            .strip_prefix('.')
            .map_or(behind, |rest| if rest.starts_with(is_part) { behind } else { rest });
        !before.ends_with(is_part) && !behind.starts_with(is_part)
    })
}

/// Returns the number of last steps that are this call.
fn count_repeats<'a>(before: impl Iterator<Item = CallStep<'a>>, tool: &str, args: &Json) -> usize {
    let steps: Vec<CallStep<'_>> = before.collect();
    steps.iter().rev().take_while(|step| step.is_call(tool, args)).count()
}

fn ordinal_word(n: usize) -> String {
    match n {
        2 => "second".to_owned(),
        3 => "third".to_owned(),
        4 => "fourth".to_owned(),
        5 => "fifth".to_owned(),
        n => format!("{n}th"),
    }
}

/// Returns a refusal if work is missing before the task is done: parts were created that may need
/// behaviour, but no script; or a reviewer has not reported.
pub(super) fn missing_work(own: &Workflow) -> Option<Refusal> {
    if let TaskRole::Reviewer { proposal } = own.role {
        return Some(Refusal(format!(
            "Report the review of proposal {proposal} with {REPORT_REVIEW}, also if there are no \
             findings: a message is shown to nobody."
        )));
    }
    let is_asked = own.guards.as_ref().is_some_and(|guards| guards.needs_script);
    if !own.role.is_solo() || !is_asked || has_opt_out(&own.goal) {
        return None;
    }
    let done =
        own.proposals().filter(|(_, it)| matches!(it.status, super::PendingStatus::Applied(_)));
    let done: Vec<&Proposal> = done.map(|(_, it)| &it.proposal).collect();
    let CreationStats { parts, has_behaviour } = count_creations(done.iter().copied());
    if parts == 0 || has_behaviour || own.has_answered_question() {
        return None;
    }
    let parts = if parts == 1 { "1 part".to_owned() } else { format!("{parts} parts") };
    Some(Refusal(format!(
        "You made {parts} but no script that uses what you made. If it should do something, add the \
         script for it (open_or_create_script): in the part or its model, or with its name in the \
         text. If it is only decoration, ask with ask_clarification whether that is all."
    )))
}

/// Whether the user asked for no script.
fn has_opt_out(goal: &str) -> bool {
    let goal = goal.to_lowercase();
    let phrases =
        ["no script", "without script", "without a script", "only geometry", "geometry only"];
    phrases.iter().any(|phrase| goal.contains(phrase))
}

/// Checks the result of planning.
///
/// # Errors
/// The reason that the proposal must not be offered.
pub(super) fn check_plan(
    state: &LedgerState,
    workflow: Seq,
    call: Seq,
    plan: Plan,
) -> Result<Plan, Refusal> {
    let Some(own) = state.workflow(workflow) else {
        return Ok(plan);
    };
    if matches!(plan, Plan::Propose(..)) && own.interaction != InteractionMode::Act {
        let tool = own.call(call).map_or("", |(tool, _)| tool);
        return refuse!(
            "{tool}: This mode does not allow changes, and the code changes the place. Only ask \
             questions with it."
        );
    }
    let is_merge = own.call(call).is_some_and(|(tool, _)| is_merge(tool));
    let Some(guards) = own.guards.as_ref().filter(|_| !is_merge) else {
        return Ok(plan);
    };
    let chain = state.task_chain(workflow);
    match plan {
        Plan::Answer(answer) => Ok(Plan::Answer(skip_unchanged(&chain, own, call, answer))),
        Plan::Propose(proposal, answer) => {
            let tool = own.call(call).map_or("", |(tool, _)| tool);
            check_read(&chain, own, &proposal, tool)?;
            check_scope(own, guards, &proposal, tool)?;
            Ok(Plan::Propose(proposal, answer))
        }
        plan => Ok(plan),
    }
}

/// Replaces the answer of a read by a note if the model already has the same answer in its prompt.
fn skip_unchanged(chain: &TaskChain<'_>, own: &Workflow, call: Seq, answer: Json) -> Json {
    let Some((tool, args)) = own.call(call) else {
        return answer;
    };
    if !tools::find_tool(tool).is_ok_and(tools::ToolSpec::is_read) {
        return answer;
    }
    let sent_after = chain.newest_summary().map_or(Seq(0), |(_, until, _)| until);
    let mut before = chain.steps().filter(|step| step.seq < call && step.seq > sent_after);
    let same = before.find(|step| step.is_call(tool, args) && step.answer() == Some(&answer));
    match same {
        Some(step) => json!({
            UNCHANGED: step.number,
            "note": format!("The answer is the same as in step {} above.", step.number),
        }),
        None => answer,
    }
}

/// Refuses a change with a large scope unless the user confirmed it.
fn check_scope(
    own: &Workflow,
    guards: &Guards,
    proposal: &Proposal,
    tool: &str,
) -> Result<(), Refusal> {
    let (mut scripts, mut subtrees) = (BTreeSet::new(), BTreeSet::new());
    for command in &proposal.commands {
        match command {
            Command::EditScript { target, .. } => {
                scripts.insert(target.path.to_string());
            }
            Command::Delete { target, .. } | Command::Move { target, .. } => {
                subtrees.insert(target.path.to_string());
            }
            _ => {}
        }
    }
    let limit = guards.scope as usize;
    if own.has_answered_question() || scripts.len().max(subtrees.len()) <= limit {
        return Ok(());
    }
    let (count, what) = if scripts.len() > limit {
        (scripts.len(), "scripts")
    } else {
        (subtrees.len(), "subtrees")
    };
    refuse!(
        "{tool}: This would change {count} {what}, more than {limit}. Use ask_clarification to tell \
         the person what you would change in which of them, offer answers, and continue once the \
         person has confirmed it."
    )
}

impl Workflow {
    /// Whether so many calls in a row were refused at some point of the task that a stronger model is to
    /// go on, if there is one.
    pub fn needs_stronger_model(&self) -> bool {
        let mut in_row = 0;
        self.calls.values().any(|call| {
            in_row = if matches!(call.status, CallStatus::Refused(_)) { in_row + 1 } else { 0 };
            in_row >= REFUSED
        })
    }
}

/// Returns the entries after a refusal. After several refusals in a row the model is told to change
/// its approach, and finally the user has to decide.
pub(super) fn after_refusal(state: &LedgerState, workflow: Seq, call: Seq) -> Vec<Entry> {
    let Some(own) = state.workflow(workflow).filter(|own| own.guards.is_some()) else {
        return Vec::new();
    };
    if own.call(call).is_some_and(|(tool, _)| is_merge(tool)) {
        return Vec::new();
    }
    let spoken = own.talk.last_input().unwrap_or(workflow);
    let since = |step: &CallStep<'_>| step.seq > spoken && step.seq < call;
    let steps: Vec<CallStep<'_>> = state.task_chain(workflow).steps().filter(since).collect();
    let is_refused = |step: &&CallStep<'_>| step.refusal().is_some();
    let in_row = 1 + steps.iter().rev().take_while(is_refused).count();
    let repeated = own.call(call).map_or(0, |(tool, args)| {
        steps.iter().rev().take_while(|step| step.is_call(tool, args)).count()
    });
    if repeated >= STUCK || in_row >= HOPELESS {
        let message = if repeated >= STUCK {
            format!("The model made the same call {} times in a row.", repeated + 1)
        } else {
            format!("{in_row} calls of the model in a row were refused.")
        };
        return vec![Entry::RequestFailed {
            code: FailureKind::Provider,
            message,
            retryable: false,
            hint:
                "Rephrase the request, tell the model what to do instead, or choose another model."
                    .to_owned(),
            setting: None,
        }];
    }
    if in_row.is_multiple_of(REFUSED) {
        let text = format!(
            "{in_row} calls in a row were refused. Change your approach: reread the reasons, \
             inspect the place with other tools, take a smaller step, or ask the person."
        );
        return vec![Entry::Notified { text }];
    }
    Vec::new()
}
