//! Decisions on what a model says and reports: plans, progress, messages, questions, and the end.

use scene_schemas::entry::{Entry, Finish, InteractionMode, Phase, Seq, Step};
use scene_schemas::refusal::{Refusal, refuse};
use serde_json::{Value as Json, json};

use super::Workflow;
use super::decide::refused_entry;
use crate::tools::ModelAction;
use crate::tools::update_plan::StepName;

/// Decides on a message or a report of a model.
pub(super) fn handle_action(workflow: &Workflow, call: Seq, talk: ModelAction) -> Vec<Entry> {
    match talk {
        ModelAction::Plan { steps } => {
            let steps: Vec<Step> =
                steps.into_iter().map(|text| Step { text, done: false }).collect();
            let answer = json!({ "steps": steps.len() });
            vec![Entry::Planned { call, steps, notes: None }, Entry::Answered { call, answer }]
        }
        ModelAction::Progress { completed, next, notes } => {
            match advance_plan(workflow, completed.as_ref(), next.as_ref()) {
                Ok(steps) => {
                    let done = steps.iter().filter(|step| step.done).count();
                    let answer = json!({ "done": done, "steps": steps.len() });
                    vec![Entry::Planned { call, steps, notes }, Entry::Answered { call, answer }]
                }
                Err(refusal) => vec![refused_entry(call, refusal.0)],
            }
        }
        ModelAction::Said { text, phase, answers } => {
            let message = Entry::Said { text, phase, answers };
            vec![message, Entry::Answered { call, answer: Json::Null }]
        }
        // A list of calls has no one to wait for an answer.
        ModelAction::Question { question, answers } if workflow.guards.is_none() => {
            let message = Entry::Said { text: question, phase: Phase::Update, answers };
            vec![message, Entry::Answered { call, answer: Json::Null }]
        }
        ModelAction::Question { question, answers } => {
            vec![Entry::Questioned { call, question, answers }]
        }
        ModelAction::Noted { text } => vec![
            Entry::Noted { call, text },
            Entry::Answered { call, answer: json!({ "noted": true }) },
        ],
        ModelAction::Reviewed { summary } => vec![
            Entry::Answered { call, answer: json!({ "reported": true }) },
            Entry::Finished { outcome: Finish::Done, summary: Some(summary) },
        ],
        ModelAction::Done { summary } => {
            let mut entries = Vec::new();
            // Completing a task ticks all open steps. A plan that was only made keeps them open.
            if workflow.interaction == InteractionMode::Act
                && workflow.plan.iter().any(|step| !step.done)
            {
                let steps = workflow.plan.iter().map(|it| Step { done: true, ..it.clone() });
                entries.push(Entry::Planned { call, steps: steps.collect(), notes: None });
            }
            entries.push(Entry::Answered { call, answer: Json::Null });
            entries.extend(workflow.ending_entries(Finish::Done, summary));
            entries
        }
    }
}

fn advance_plan(
    workflow: &Workflow,
    completed: Option<&StepName>,
    next: Option<&StepName>,
) -> Result<Vec<Step>, Refusal> {
    let mut steps = workflow.plan.clone();
    if steps.is_empty() {
        return refuse!("update_plan: There is no plan. Call start_plan to make one.");
    }
    let place = |name: &StepName| {
        let at = match name {
            StepName::Number(n) => (*n as usize).checked_sub(1).filter(|at| *at < steps.len()),
            StepName::Text(text) => steps.iter().position(|step| step.text == *text),
        };
        at.ok_or_else(|| {
            Refusal(format!(
                "update_plan: There is no such step; the plan has {} steps.",
                steps.len()
            ))
        })
    };
    next.map(&place).transpose()?;
    if let Some(at) = completed.map(&place).transpose()? {
        steps[at].done = true;
    }
    Ok(steps)
}
