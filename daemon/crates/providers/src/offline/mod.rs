//! The offline planner: it understands a small language of requests, and answers with the tool
//! calls that a model would make.
//!
//! It is not a model, and says so. A reply is a pure function of the prompt: the goal is parsed
//! again each time, and the turns show how far the plan has come. It keeps no state, guesses
//! nothing and retries nothing.

mod create;
mod farm;
mod language;
mod plans;
mod politeness;
mod shapes;
#[cfg(test)]
mod tests;
mod values;
mod words;

use std::fmt::Write as _;

use scene_schemas::InstancePath;
use scene_schemas::entry::InteractionMode;
use scene_schemas::refusal::for_person;
use serde_json::{Value as Json, json};
use vector_core::prompt::{
    CHANGES_ASKED, CallOutcome, ModelMessage, ModelPrompt, PromptTurn, ToolCall, UNMERGED,
};

use language::{FORMS, PlannerRefusal};
use plans::{FIND_TOOL, PlanStep, RequestPlan};

/// Returns the next message: one call, or a text without calls, which ends the conversation.
pub fn next_message(prompt: &ModelPrompt) -> ModelMessage {
    match language::parse_goal(&prompt.goal) {
        Ok(requests) if prompt.interaction == InteractionMode::Ask => {
            final_message(describe_plan(&plans::plan_requests(&requests)))
        }
        Ok(requests) => {
            PlanProgress::from_prompt(plans::plan_requests(&requests), prompt).next_message()
        }
        Err(refusal) => text_message(refusal_text(&refusal)),
    }
}

/// Returns the text of `vector help offline`.
pub fn language_help() -> String {
    let mut text = wrap_text(
        "The offline planner handles requests without a model, an API key or a network. It \
         understands only the forms below, and the same request always becomes the same tool calls. \
         Each call is still a proposal that you decide on.",
        "",
    );
    text.push('\n');
    text.push_str(&wrap_text(
        "Separate requests with `;`, a new line or the word `then`. Keywords are not \
         case-sensitive. Put a text or name with spaces or `;` in double quotes. A PATH begins with \
         `game`, as in game.Workspace[\"My Part\"].Wall[2]. `Workspace.Door` is short for \
         game.Workspace.Door; this works for every common service. A SELECTOR has the syntax of \
         Instance:QueryDescendants: Part, #Name, .Tag, [Anchored = true], Model > Part. In place of \
         a SELECTOR, `the selection` means the one instance that is selected in Studio, `parts` or \
         `folders` all instances of that class, and a plain word that is not a class all instances \
         of that name. `please`, `could you` and `thanks` are ignored.",
        "",
    ));
    for form in FORMS {
        let _ = write!(text, "\n{}", wrap_text(form.syntax, "  "));
        text.push_str(&wrap_text(form.meaning, "      "));
        let _ = writeln!(text, "      Example: {}", form.example);
    }
    let colours: Vec<&str> = values::COLOURS.iter().map(|(name, _)| *name).collect();
    let colours = colours.join(", ");
    let materials = values::MATERIALS.join(", ");
    text.push('\n');
    text.push_str(&wrap_text(
        &format!("Colours: {colours}, the names of brick colours, and #rrggbb."),
        "",
    ));
    text.push_str(&wrap_text(&format!("Materials: {materials}."), ""));
    text
}

/// Wraps a text into indented lines that fit a terminal.
fn wrap_text(text: &str, indent: &str) -> String {
    const WIDTH: usize = 92;
    let mut wrapped = String::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && indent.len() + line.len() + word.len() >= WIDTH {
            let _ = writeln!(wrapped, "{indent}{line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(wrapped, "{indent}{line}");
    wrapped
}

/// A plan and its progress.
struct PlanProgress<'a> {
    plan: RequestPlan,
    /// The calls so far, in order: one for each step, after `start_plan` if there is one.
    calls: Vec<(&'a str, &'a Json, &'a CallOutcome)>,
    /// The number of calls before the first step.
    lead_calls: usize,
    /// Whether only the plan is requested.
    is_plan_only: bool,
}

impl<'a> PlanProgress<'a> {
    fn from_prompt(plan: RequestPlan, prompt: &'a ModelPrompt) -> Self {
        let calls: Vec<(&str, &Json, &CallOutcome)> = prompt
            .turns
            .iter()
            .filter_map(|turn| match turn {
                PromptTurn::Said(_) | PromptTurn::Asked(_) | PromptTurn::Image(_) => None,
                PromptTurn::Called { tool, args, outcome, .. } => {
                    Some((tool.as_str(), args, outcome))
                }
            })
            .collect();
        let is_plan_only = prompt.interaction == InteractionMode::Plan;
        let was_planned = calls.first().is_some_and(|(tool, ..)| *tool == PLAN_TOOL);
        // A single step needs no plan, unless one is requested.
        let lead_calls =
            usize::from(plan.proposing_steps().count() > 1 || is_plan_only || was_planned);
        Self { plan, calls, lead_calls, is_plan_only }
    }

    fn next_message(&self) -> ModelMessage {
        for (at, (tool, _, outcome)) in self.calls.iter().enumerate() {
            if self.tool_at(at) != Some(*tool) {
                return text_message(format!(
                    "I stopped: call {} of this conversation, to {tool}, is not one of my calls, so \
                     I cannot tell how far my plan has come. Ask again in a new conversation.",
                    at + 1
                ));
            }
            if let CallOutcome::Refused(why) = outcome {
                return text_message(self.stopped_text(at, why));
            }
        }
        let at = self.calls.len();
        if at < self.lead_calls {
            return call_message(Some(self.opening_text()), PLAN_TOOL, self.step_titles());
        }
        if self.is_plan_only {
            return final_message(PLAN_ONLY_TEXT.to_owned());
        }
        if let Some(step) = self.plan.steps.get(at - self.lead_calls) {
            let opening = (at == 0).then(|| self.opening_text());
            return match self.step_arguments(step) {
                Ok(args) => call_message(opening, step.tool, args),
                Err(why) => text_message(self.stopped_text(at, &why)),
            };
        }
        match self.tool_at(at) {
            Some(tool) => call_message(None, tool, json!({ "summary": self.summary_text() })),
            None => text_message(self.summary_text()),
        }
    }

    /// Returns the tool that the planner calls at this position of the conversation.
    fn tool_at(&self, at: usize) -> Option<&'static str> {
        let steps = self.plan.steps.len();
        match at.checked_sub(self.lead_calls) {
            None => Some(PLAN_TOOL),
            Some(step) if step < steps => Some(self.plan.steps[step].tool),
            Some(step) => (step == steps).then_some("complete"),
        }
    }

    fn opening_text(&self) -> String {
        let steps = list_steps(&self.plan);
        format!("I am the offline planner, not a model. I read this as {steps}.")
    }

    fn step_titles(&self) -> Json {
        let titles = self.plan.proposing_steps().map(|step| clip_text(&step.title, 100));
        json!({ "steps": titles.collect::<Vec<_>>() })
    }

    fn summary_text(&self) -> String {
        clip_text(&format!("{}.", self.plan.results.join(". ")), 1_000)
    }

    /// Returns a step's arguments, with the path that an earlier step created or found.
    fn step_arguments(&self, step: &PlanStep) -> Result<Json, String> {
        let mut args = step.args.clone();
        if let Some(inside) = step.deferred {
            args[inside.argument] = match self.plan.steps[inside.step].tool {
                FIND_TOOL => self.resolve_found_path(inside.step)?,
                _ => json!(self.resolve_created_path(inside.step)),
            };
        }
        Ok(args)
    }

    /// Returns the path of the single instance that a step found.
    fn resolve_found_path(&self, step: usize) -> Result<Json, String> {
        let answer = match self.calls.get(step + self.lead_calls) {
            Some((_, _, CallOutcome::Done(answer))) => answer,
            _ => &Json::Null,
        };
        let name = self.plan.steps[step].title.trim_start_matches("Find ");
        let paths = answer["instances"].as_array().map_or(&[][..], Vec::as_slice);
        let total = answer["total"].as_u64().unwrap_or(paths.len() as u64);
        let path = |it: &Json| it["path"].as_str().unwrap_or_default().to_owned();
        match paths {
            [] => Err(format!("No instance is named {name}")),
            [one] if total == 1 => Ok(json!(path(one))),
            several => {
                let mut listed = several.iter().map(path).collect::<Vec<_>>().join(", ");
                if total > several.len() as u64 {
                    listed.push_str(", ...");
                }
                Err(format!(
                    "{total} instances are named {name}; give the path of the one you mean: \
                             {listed}"
                ))
            }
        }
    }

    /// Returns the path that a step created: from the tool's answer, or else from the call's
    /// arguments.
    fn resolve_created_path(&self, step: usize) -> String {
        let called = self.calls.get(step + self.lead_calls);
        if let Some((_, _, CallOutcome::Done(answer))) = called
            && let Some(path) = answer["path"].as_str()
        {
            return path.to_owned();
        }
        let parent = called.and_then(|(_, args, _)| args["parentPath"].as_str());
        let parent: InstancePath = parent.and_then(|text| text.parse().ok()).unwrap_or_default();
        let name = self.plan.steps[step].created_name.as_deref().unwrap_or_default();
        parent.child(name, None).to_string()
    }

    /// Returns the text after a refusal. The work is not complete, so `complete` is not called.
    fn stopped_text(&self, at: usize, why: &str) -> String {
        let steps = self.plan.proposing_steps().count();
        // Leave out the conflicting passages: the user sees them side by side anyway.
        let why = if why.starts_with(CHANGES_ASKED) {
            NO_NEW_VERSION.into()
        } else {
            for_person(why.split(UNMERGED).next().unwrap_or_default())
        };
        let why = clip_text(why.trim().trim_end_matches('.'), 1_000);
        let Some(done) = at.checked_sub(self.lead_calls) else {
            return format!(
                "I stopped before the first step, because the plan was refused. {why}."
            );
        };
        let Some(step) = self.plan.steps.get(done) else {
            return format!(
                "All {steps} steps are done, but completing the task was refused. {why}."
            );
        };
        let title = clip_text(&step.title, 100);
        let done = self.plan.steps[..done].iter().filter(|step| step.tool != FIND_TOOL).count();
        let mut text = format!(
            "I stopped at step {} of {steps}, \"{title}\", which was not done. {why}.",
            done + 1
        );
        match done {
            0 => {
                text.push_str(" Nothing was changed.");
                return text;
            }
            1 => text.push_str(" The step before it is done and remains"),
            _ => {
                let _ = write!(text, " The {done} steps before it are done and remain");
            }
        }
        if done + 1 < steps {
            text.push_str(", and no later step was tried");
        }
        text.push_str(". Request what is missing, or revert what was done.");
        text
    }
}

/// The tool that starts a plan.
const PLAN_TOOL: &str = "start_plan";
/// The reason to stop when the user asks for changes of a proposal.
const NO_NEW_VERSION: &str = "You asked for changes. Without a model I cannot read comments: change the \
                              proposal by hand, or request it again in other words";

/// The final text if only a plan was requested.
const PLAN_ONLY_TEXT: &str =
    "This is the plan; nothing was changed. Switch to Build (/build) to carry it out.";

/// Returns the number of steps in words.
fn list_steps(plan: &RequestPlan) -> String {
    match plan.proposing_steps().count() {
        1 => "one step".to_owned(),
        n => format!("{n} steps, one at a time"),
    }
}

/// Returns the text if only an answer was requested: what the planner would do.
fn describe_plan(plan: &RequestPlan) -> String {
    let mut text = format!(
        "I am the offline planner, not a model, and cannot answer questions. I read this as {}:\n",
        list_steps(plan)
    );
    for step in plan.proposing_steps().take(MAX_LISTED_STEPS) {
        let _ = writeln!(text, "- {}", clip_text(&step.title, 100));
    }
    if let Some(more) =
        plan.proposing_steps().count().checked_sub(MAX_LISTED_STEPS).filter(|more| *more > 0)
    {
        let _ = writeln!(text, "- and {more} more");
    }
    text.push_str(
        "Nothing was changed, because you asked for an answer only. Ask again in Act mode (without \
         /ask) to carry it out.",
    );
    text
}

/// How many steps an answer lists.
const MAX_LISTED_STEPS: usize = 20;

/// Builds a final message that says the request was not carried out.
fn text_message(text: String) -> ModelMessage {
    ModelMessage { is_declined: true, ..final_message(text) }
}

/// Builds a final message after the request was carried out.
fn final_message(text: String) -> ModelMessage {
    ModelMessage { text: Some(text), ..ModelMessage::default() }
}

fn call_message(text: Option<String>, tool: &str, args: Json) -> ModelMessage {
    let tool = tool.to_owned();
    ModelMessage { text, calls: vec![ToolCall::new(tool, args)], ..ModelMessage::default() }
}

const NO_MODEL: &str = "I am the offline planner, not a model. `vector help offline` lists what I \
                        understand; `vector models` shows how to connect a model.";

/// Returns the reply to a request that was not understood: the problem, the closest form, and who
/// is speaking, each on a line.
fn refusal_text(refusal: &PlannerRefusal) -> String {
    let (what, form) = match refusal {
        PlannerRefusal::Unknown(sentence) if sentence.is_empty() => {
            ("The request is empty. Nothing was done.".to_owned(), None)
        }
        PlannerRefusal::Unknown(sentence) => {
            let what =
                format!("I do not understand `{}`. Nothing was done.", clip_text(sentence, 120));
            (what, language::closest_form(sentence))
        }
        PlannerRefusal::Unclear { sentence, error: complaint, form } => {
            let (sentence, why) = (clip_text(sentence, 120), clip_text(&complaint.why, 400));
            let part = match complaint.part.as_str() {
                "" => "the end".to_owned(),
                part => format!("`{}`", clip_text(part, 80)),
            };
            let what =
                format!("I do not understand {part} in `{sentence}`: {why}. Nothing was done.");
            (what, form.and_then(|at| FORMS.get(at)))
        }
    };
    let nearest = match form {
        Some(form) => format!("Write: {}, for example: {}", form.syntax, form.example),
        None => format!("I understand {}.", language::list_verbs().join(", ")),
    };
    format!("{what}\n{nearest}\n{NO_MODEL}")
}

/// Truncates a text to `max` characters, and adds dots if it was longer.
fn clip_text(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}
