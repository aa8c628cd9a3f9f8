//! Encodes a conversation as a request of Ollama's `/api/chat`.
//!
//! <https://github.com/ollama/ollama/blob/main/docs/api.md>. A result is matched to its call by the
//! tool's name. The API cannot limit a message to one tool call, and Ollama manages its cache
//! itself.

use serde_json::{Map, Value as Json, json};
use vector_core::prompt::{ModelPrompt, ThinkingEffort};

use super::super::catalogue::{CatalogueModel, ThinkingStyle};
use super::super::schema;
use super::super::turns::{ModelCall, PromptMessage, build_messages};

pub(crate) fn request_body(prompt: &ModelPrompt, model: &CatalogueModel) -> Json {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model.id));
    body.insert("stream".to_owned(), json!(true));
    // Ollama silently truncates a conversation that is longer than the allocated context.
    let mut options = json!({ "num_ctx": model.window });
    if let Some(max) = prompt.max_output {
        options["num_predict"] = json!(max);
    }
    body.insert("options".to_owned(), options);
    let think = prompt.effort.and_then(|effort| match model.thinking {
        ThinkingStyle::None => None,
        ThinkingStyle::Budget => Some(json!(effort > ThinkingEffort::Low)),
        ThinkingStyle::Effort => model.effort_name(effort).map(|level| json!(level)),
    });
    if let Some(think) = think {
        body.insert("think".to_owned(), think);
    }
    if !prompt.tools.is_empty() {
        body.insert("tools".to_owned(), prompt.tools.iter().map(schema::function_tool).collect());
    }
    let mut messages = Vec::new();
    if !prompt.rules.is_empty() {
        messages.push(json!({ "role": "system", "content": prompt.rules }));
    }
    for side in build_messages(prompt, model) {
        push_turn(&mut messages, &side);
    }
    body.insert("messages".to_owned(), messages.into());
    Json::Object(body)
}

fn push_turn(messages: &mut Vec<Json>, side: &PromptMessage<'_>) {
    match side {
        PromptMessage::Person { tool_result, images, texts } => {
            if let Some(result) = tool_result {
                let (name, text) = (result.tool, result.to_text());
                let mut message = json!({ "role": "tool", "tool_name": name, "content": text });
                if let Some(png) = result.picture {
                    message["images"] = json!([png]);
                }
                messages.push(message);
            }
            if !texts.is_empty() || !images.is_empty() {
                let mut message = json!({ "role": "user", "content": texts.join("\n\n") });
                if !images.is_empty() {
                    message["images"] = images.iter().map(|it| it.data.as_str()).collect();
                }
                messages.push(message);
            }
        }
        PromptMessage::Model { texts, call } => {
            let content = texts.join("\n\n");
            let mut message = json!({ "role": "assistant", "content": content });
            if let Some(call) = call {
                message["tool_calls"] = json!([assistant_call(call)]);
                if let Some(thinking) = call.replay.and_then(|replay| replay.get("thinking")) {
                    message["thinking"] = thinking.clone();
                }
            }
            messages.push(message);
        }
    }
}

fn assistant_call(call: &ModelCall<'_>) -> Json {
    json!({ "type": "function", "function": { "name": call.tool, "arguments": call.args } })
}
