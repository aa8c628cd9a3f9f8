//! A conversation as a request of Anthropic's Messages.
//!
//! <https://docs.anthropic.com/en/api/messages>. The cache is marked twice: behind the rules, which
//! stand behind the tools and never change, and behind the last message, which the next request
//! repeats.

use serde_json::{Map, Value as Json, json};
use vector_core::prompt::{ModelPrompt, ThinkingEffort};

use super::super::catalogue::{Model, Thinking};
use super::super::schema;
use super::super::sides::{Blocks, Made, Side, Told, last_kept, replayed, sides};

/// The least that may be thought, by Anthropic's rules.
const LEAST_BUDGET: u32 = 1024;

/// The body of the request.
pub(crate) fn body(prompt: &ModelPrompt, model: &Model) -> Json {
    let max = prompt.max_output.unwrap_or(model.output);
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model.id));
    body.insert("max_tokens".to_owned(), json!(max));
    body.insert("stream".to_owned(), json!(true));
    if !prompt.rules.is_empty() {
        body.insert("system".to_owned(), json!([cached(text(&prompt.rules), model)]));
    }
    if !prompt.tools.is_empty() {
        body.insert("tools".to_owned(), prompt.tools.iter().map(tool).collect());
        let choice = json!({ "type": "auto", "disable_parallel_tool_use": true });
        body.insert("tool_choice".to_owned(), choice);
    }
    let mut messages: Vec<Json> = sides(prompt, model).iter().filter_map(message).collect();
    if let Some(effort) = prompt.effort.filter(|_| may_think(&messages, model)) {
        think(&mut body, effort, max, model);
    }
    mark_last(&mut messages, prompt, model);
    body.insert("messages".to_owned(), messages.into());
    Json::Object(body)
}

fn text(text: &str) -> Json {
    json!({ "type": "text", "text": text })
}

fn cached(mut block: Json, model: &Model) -> Json {
    if model.cache {
        block["cache_control"] = json!({ "type": "ephemeral" });
    }
    block
}

fn tool(tool: &vector_core::prompt::PromptTool) -> Json {
    json!({
        "name": tool.name,
        "description": tool.about,
        "input_schema": schema::object(&tool.schema),
    })
}

/// With a budget, a call that is being answered must have been thought about: where its thoughts are
/// not at hand, as behind a change of model, thinking waits for the person's next word.
fn may_think(messages: &[Json], model: &Model) -> bool {
    let is = |block: &Json, of: &str| block["type"] == of;
    let answers = messages.last().is_some_and(|last| is(&last["content"][0], "tool_result"));
    let before = messages.iter().rev().nth(1).map(|message| &message["content"][0]);
    let is_thought =
        before.is_some_and(|block| is(block, "thinking") || is(block, "redacted_thinking"));
    model.thinking != Thinking::Budget || !answers || is_thought
}

/// Says how hard to think, as the model takes it.
fn think(body: &mut Map<String, Json>, effort: ThinkingEffort, max: u32, model: &Model) {
    match model.thinking {
        Thinking::None => {}
        Thinking::Budget => {
            let budget = model.budget(effort).min(max / 2);
            if effort > ThinkingEffort::Low && budget >= LEAST_BUDGET {
                let thinking = json!({ "type": "enabled", "budget_tokens": budget });
                body.insert("thinking".to_owned(), thinking);
            }
        }
        Thinking::Effort => {
            body.insert("thinking".to_owned(), json!({ "type": "adaptive" }));
            if let Some(word) = model.effort(effort) {
                body.insert("output_config".to_owned(), json!({ "effort": word }));
            }
        }
    }
}

fn message(side: &Side<'_>) -> Option<Json> {
    let (role, content) = match side {
        Side::Person { told, texts } => {
            let words = texts.iter().map(|words| text(words));
            ("user", told.iter().map(result).chain(words).collect())
        }
        Side::Model { texts, call } => {
            let replay = call.as_ref().and_then(|call| call.replay);
            let texts = texts.iter().map(|words| text(words)).collect();
            let is = Blocks {
                call: |block| block["type"] == "tool_use",
                text: |block| block["type"] == "text",
                same: |block, call| block["id"] == call["id"],
            };
            ("assistant", replayed(replay, texts, call.as_ref().map(used), &is))
        }
    };
    (!content.is_empty()).then(|| json!({ "role": role, "content": content }))
}

fn used(call: &Made<'_>) -> Json {
    json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": call.args })
}

fn result(told: &Told<'_>) -> Json {
    let mut result = json!({ "type": "tool_result", "tool_use_id": told.id });
    let plain = told.plain();
    // An empty text would be refused.
    let words = (!plain.trim().is_empty()).then(|| text(&plain));
    let picture = told.picture.map(|png| {
        let source = json!({ "type": "base64", "media_type": "image/png", "data": png });
        json!({ "type": "image", "source": source })
    });
    let content: Vec<Json> = words.into_iter().chain(picture).collect();
    if !content.is_empty() {
        result["content"] = content.into();
    }
    if told.is_refused() {
        result["is_error"] = json!(true);
    }
    result
}

fn mark_last(messages: &mut [Json], prompt: &ModelPrompt, model: &Model) {
    let content = messages.last_mut().and_then(|message| message["content"].as_array_mut());
    if let Some(last) = content.and_then(|blocks| last_kept(prompt, blocks)) {
        *last = cached(last.take(), model);
    }
}
