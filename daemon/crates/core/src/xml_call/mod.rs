//! Tool calls as XML, for models without native tool calling.
//!
//! [`describe_tools`] explains the form to the model, [`parse_message`] parses its messages, and
//! [`format_call`] and [`format_result`] encode earlier calls and results for the prompt. The tools
//! are passed in; this module knows none of them.
//!
//! ```text
//! <read_script>
//! <path>game.ServerScriptService.Main</path>
//! </read_script>
//! ```
//!
//! Values are written literally, even if they contain tags. Only a value that contains its own tag
//! is put into CDATA. A call that cannot be parsed is refused with the reason, an unclosed call is
//! never run, and missing parts are never filled in.

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

/// Converts a prompt to text only: the rules explain the tools, and calls and results become text.
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

/// Formats a call as the model would have written it, for later prompts.
pub fn format_call(tool: &str, args: &Json) -> String {
    let mut text = format!("<{tool}>\n");
    for (name, value) in args.as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.push_str(&format!("<{name}>{}</{name}>\n", escape_text(name, &value)));
    }
    text + &format!("</{tool}>")
}

/// Escapes a text so that [`parse_message`] reads it back unchanged.
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

/// Formats the outcome of a call for the model: `<tool_result tool="NAME">` around the answer, or
/// `<tool_error tool="NAME">` around the reason, in a fence. The content cannot close either.
pub fn format_result(tool: &str, outcome: &CallOutcome) -> String {
    let (tag, text) = match outcome {
        CallOutcome::Done(Json::String(text)) => ("tool_result", text.clone()),
        CallOutcome::Done(answer) => ("tool_result", without_picture(answer, false).to_string()),
        CallOutcome::Refused(reason) => ("tool_error", reason.clone()),
    };
    format!("<{tag} tool=\"{tool}\">\n{}</{tag}>", fence_text(&escape_result_tags(&text), ""))
}

/// Escapes closing tags of results in a text. JSON with the escaped slash has the same meaning.
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
