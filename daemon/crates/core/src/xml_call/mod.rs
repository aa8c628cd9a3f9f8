//! Tool calls as XML, for models that have no tools of their own.
//!
//! [`describe`] teaches the form, [`read`] reads what a model makes of it, [`call`] and [`result`] spell
//! what happened when it is told again. Nothing here knows which tools there are: they are given.
//!
//! ```text
//! <read_script>
//! <path>game.ServerScriptService.Main</path>
//! </read_script>
//! ```
//!
//! Texts stand as they are, also where they hold tags; only one that holds its own closing tag goes
//! into CDATA. What cannot be read is refused with its reason, what is not closed is never run, and
//! nothing is ever filled in.

mod arguments;
mod describe;
mod nested;
mod read;
mod tag;
mod typed;

#[cfg(test)]
mod tests;

use serde_json::Value as Json;

use crate::prompt::{CallOutcome, ModelPrompt, PromptTurn, fence_text, without_picture};

pub use self::describe::describe_tools;
pub use self::read::{ParsedMessage, parse_message};

/// A conversation as text alone: the tools are taught in the rules, and calls and what came of them
/// are words.
#[must_use]
pub fn to_text_prompt(mut prompt: ModelPrompt) -> ModelPrompt {
    let tools = std::mem::take(&mut prompt.tools);
    prompt.rules = format!("{}\n{}", prompt.rules, describe_tools(&tools));
    let turns = std::mem::take(&mut prompt.turns);
    prompt.turns = turns
        .into_iter()
        .flat_map(|turn| match turn {
            PromptTurn::Called { tool, args, outcome, .. } => {
                vec![
                    PromptTurn::Said(format_call(&tool, &args)),
                    PromptTurn::Asked(format_result(&tool, &outcome)),
                ]
            }
            turn => vec![turn],
        })
        .collect();
    prompt
}

/// A call as the model would have written it, for the conversation that it is sent again.
pub fn format_call(tool: &str, args: &Json) -> String {
    let mut text = format!("<{tool}>\n");
    for (name, value) in args.as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.push_str(&format!("<{name}>{}</{name}>\n", escape_text(name, &value)));
    }
    text + &format!("</{tool}>")
}

/// A text so that [`read`] reads it again.
fn escape_text(name: &str, text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let holds_tags = lower.contains(&format!("<{}", name.to_ascii_lowercase()))
        || lower.contains(&format!("</{}", name.to_ascii_lowercase()));
    let is_cdata = lower.trim_start().starts_with("<![cdata[");
    if holds_tags || is_cdata || typed::unescape_text(text).is_some() {
        return format!("<![CDATA[{}]]>", text.replace("]]>", "]]]]><![CDATA[>"));
    }
    if text.contains('\n') { format!("\n{text}\n") } else { text.to_owned() }
}

/// What came of a call, as the model is told: `<tool_result tool="NAME">` around the answer, or
/// `<tool_error tool="NAME">` around the reason, in a fence. Nothing inside closes either.
pub fn format_result(tool: &str, outcome: &CallOutcome) -> String {
    let (tag, text) = match outcome {
        CallOutcome::Done(Json::String(text)) => ("tool_result", text.clone()),
        CallOutcome::Done(answer) => ("tool_result", without_picture(answer, false).to_string()),
        CallOutcome::Refused(reason) => ("tool_error", reason.clone()),
    };
    format!("<{tag} tool=\"{tool}\">\n{}</{tag}>", fence_text(&escape_result_tags(&text), ""))
}

/// A text in which no tag of a result stands: JSON means the same with the stroke escaped.
fn escape_result_tags(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut safe = String::with_capacity(text.len());
    let mut done = 0;
    for (at, _) in lower.match_indices("</tool_") {
        safe.push_str(&text[done..=at]);
        safe.push('\\');
        done = at + 1;
    }
    safe + &text[done..]
}
