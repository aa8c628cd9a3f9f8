//! Encodes a conversation as a request of Anthropic's Messages API.
//!
//! <https://docs.anthropic.com/en/api/messages>. There are two cache marks: after the rules, which
//! come after the tools and never change, and after the last message, which the next request
//! repeats.

use scene_schemas::entry::ImageFormat;
use serde_json::{Map, Value as Json, json};
use vector_core::prompt::{ModelPrompt, ThinkingEffort};

use super::super::catalogue::{CatalogueModel, ThinkingStyle};
use super::super::schema;
use super::super::turns::{
    ModelCall, PromptMessage, ReplayedBlocks, ToolResult, build_messages, last_cacheable_block,
    replay_blocks,
};

/// The smallest thinking budget that Anthropic allows.
const MIN_THINKING_BUDGET: u32 = 1024;

pub(crate) fn request_body(prompt: &ModelPrompt, model: &CatalogueModel) -> Json {
    let max = prompt.max_output.unwrap_or(model.output);
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model.id));
    body.insert("max_tokens".to_owned(), json!(max));
    body.insert("stream".to_owned(), json!(true));
    if !prompt.rules.is_empty() {
        body.insert("system".to_owned(), json!([mark_cached(text_block(&prompt.rules), model)]));
    }
    if !prompt.tools.is_empty() {
        body.insert("tools".to_owned(), prompt.tools.iter().map(tool_definition).collect());
        let choice = json!({ "type": "auto", "disable_parallel_tool_use": true });
        body.insert("tool_choice".to_owned(), choice);
    }
    let mut messages: Vec<Json> =
        build_messages(prompt, model).iter().filter_map(encode_message).collect();
    if let Some(effort) = prompt.effort.filter(|_| can_think(&messages, model)) {
        set_thinking(&mut body, effort, max, model);
    }
    mark_last_cached(&mut messages, prompt, model);
    body.insert("messages".to_owned(), messages.into());
    Json::Object(body)
}

fn text_block(text: &str) -> Json {
    json!({ "type": "text", "text": text })
}

fn mark_cached(mut block: Json, model: &CatalogueModel) -> Json {
    if model.should_mark_cache {
        block["cache_control"] = json!({ "type": "ephemeral" });
    }
    block
}

fn tool_definition(tool: &vector_core::prompt::PromptTool) -> Json {
    json!({
        "name": tool.name,
        "description": tool.about,
        "input_schema": schema::object_schema(&tool.schema),
    })
}

/// Whether thinking can be enabled. With a thinking budget, the API requires that the message with
/// an answered call begins with a thinking block. If there is none, for example after a change of
/// model, thinking is off until the user's next message.
fn can_think(messages: &[Json], model: &CatalogueModel) -> bool {
    let is_kind = |block: &Json, of: &str| block["type"] == of;
    let answers = messages.last().is_some_and(|last| is_kind(&last["content"][0], "tool_result"));
    let before = messages.iter().rev().nth(1).map(|message| &message["content"][0]);
    let is_thought = before
        .is_some_and(|block| is_kind(block, "thinking") || is_kind(block, "redacted_thinking"));
    model.thinking != ThinkingStyle::Budget || !answers || is_thought
}

/// Sets the thinking effort in the style of the model.
fn set_thinking(
    body: &mut Map<String, Json>,
    effort: ThinkingEffort,
    max: u32,
    model: &CatalogueModel,
) {
    match model.thinking {
        ThinkingStyle::None => {}
        ThinkingStyle::Budget => {
            let budget = model.thinking_budget(effort).min(max / 2);
            if effort > ThinkingEffort::Low && budget >= MIN_THINKING_BUDGET {
                let thinking = json!({ "type": "enabled", "budget_tokens": budget });
                body.insert("thinking".to_owned(), thinking);
            }
        }
        ThinkingStyle::Effort => {
            body.insert("thinking".to_owned(), json!({ "type": "adaptive" }));
            if let Some(level) = model.effort_name(effort) {
                body.insert("output_config".to_owned(), json!({ "effort": level }));
            }
        }
    }
}

fn encode_message(side: &PromptMessage<'_>) -> Option<Json> {
    let (role, content) = match side {
        PromptMessage::Person { tool_result, images, texts } => {
            let results = tool_result.iter().map(tool_result_block);
            let images = images.iter().map(|it| image_block(it.format, &it.data));
            let texts = texts.iter().map(|words| text_block(words));
            ("user", results.chain(images).chain(texts).collect())
        }
        PromptMessage::Model { texts, call } => {
            let replay = call.as_ref().and_then(|call| call.replay);
            let texts = texts.iter().map(|text| text_block(text)).collect();
            let is = ReplayedBlocks {
                is_call: |block| block["type"] == "tool_use",
                is_text: |block| block["type"] == "text",
                is_same_call: |block, call| block["id"] == call["id"],
            };
            ("assistant", replay_blocks(replay, texts, call.as_ref().map(tool_use_block), &is))
        }
    };
    (!content.is_empty()).then(|| json!({ "role": role, "content": content }))
}

fn image_block(format: ImageFormat, data: &str) -> Json {
    let media_type = format!("image/{}", format.as_str());
    let source = json!({ "type": "base64", "media_type": media_type, "data": data });
    json!({ "type": "image", "source": source })
}

fn tool_use_block(call: &ModelCall<'_>) -> Json {
    json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": call.args })
}

fn tool_result_block(tool_result: &ToolResult<'_>) -> Json {
    let mut result = json!({ "type": "tool_result", "tool_use_id": tool_result.id });
    let plain = tool_result.to_plain_text();
    // The API rejects an empty text block.
    let text = (!plain.trim().is_empty()).then(|| text_block(&plain));
    let picture = tool_result.picture.map(|png| image_block(ImageFormat::Png, png));
    let content: Vec<Json> = text.into_iter().chain(picture).collect();
    if !content.is_empty() {
        result["content"] = content.into();
    }
    if tool_result.is_refused() {
        result["is_error"] = json!(true);
    }
    result
}

fn mark_last_cached(messages: &mut [Json], prompt: &ModelPrompt, model: &CatalogueModel) {
    let content = messages.last_mut().and_then(|message| message["content"].as_array_mut());
    if let Some(last) = content.and_then(|blocks| last_cacheable_block(prompt, blocks)) {
        *last = mark_cached(last.take(), model);
    }
}
