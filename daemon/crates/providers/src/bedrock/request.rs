//! Encodes a conversation as a request of Bedrock's `ConverseStream`.
//!
//! <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>. The
//! model id is part of the URL. The API cannot limit a message to one tool call.

use scene_schemas::entry::ImageFormat;
use serde_json::{Map, Value as Json, json};
use vector_core::prompt::{ModelPrompt, PromptTool, ThinkingEffort};

use super::super::catalogue::{CatalogueModel, ThinkingStyle};
use super::super::schema;
use super::super::turns::{
    ModelCall, PromptMessage, ReplayedBlocks, ToolResult, build_messages, replay_blocks,
};

/// The smallest thinking budget of Anthropic's models.
const MIN_THINKING_BUDGET: u32 = 1024;

pub(crate) fn request_body(prompt: &ModelPrompt, model: &CatalogueModel) -> Json {
    let max = prompt.max_output.unwrap_or(model.output);
    let mut body = Map::new();
    body.insert("inferenceConfig".to_owned(), json!({ "maxTokens": max }));
    let mark = || model.should_mark_cache.then(|| json!({ "cachePoint": { "type": "default" } }));
    if !prompt.rules.is_empty() {
        let rules = std::iter::once(json!({ "text": prompt.rules }));
        body.insert("system".to_owned(), rules.chain(mark()).collect());
    }
    if !prompt.tools.is_empty() {
        let tools: Json = prompt.tools.iter().map(tool_definition).collect();
        body.insert("toolConfig".to_owned(), json!({ "tools": tools }));
    }
    let mut messages: Vec<Json> =
        build_messages(prompt, model).iter().filter_map(encode_message).collect();
    if let Some(effort) = prompt.effort.filter(|_| can_think(&messages)) {
        set_thinking(&mut body, effort, max, model);
    }
    let last = messages.last_mut().and_then(|message| message["content"].as_array_mut());
    if let (Some(blocks), Some(mark)) = (last, mark()) {
        // The text for the current moment is not repeated by the next request, so the mark goes
        // before it.
        let behind = usize::from(prompt.now.is_some());
        blocks.insert(blocks.len().saturating_sub(behind), mark);
    }
    body.insert("messages".to_owned(), messages.into());
    Json::Object(body)
}

fn tool_definition(tool: &PromptTool) -> Json {
    json!({ "toolSpec": {
        "name": tool.name,
        "description": tool.about,
        "inputSchema": { "json": schema::minimal_schema(&tool.schema) },
    } })
}

/// Whether thinking can be enabled: the message with an answered call must begin with its
/// reasoning.
fn can_think(messages: &[Json]) -> bool {
    let answers =
        messages.last().is_some_and(|last| last["content"][0].get("toolResult").is_some());
    let before = messages.iter().rev().nth(1).map(|message| &message["content"][0]);
    !answers || before.is_some_and(|block| block.get("reasoningContent").is_some())
}

/// Sets the thinking effort. Converse has no field for it, so it goes to the model's own fields.
fn set_thinking(
    body: &mut Map<String, Json>,
    effort: ThinkingEffort,
    max: u32,
    model: &CatalogueModel,
) {
    let fields = match model.thinking {
        ThinkingStyle::None => None,
        ThinkingStyle::Budget => {
            let budget = model.thinking_budget(effort).min(max / 2);
            (effort > ThinkingEffort::Low && budget >= MIN_THINKING_BUDGET)
                .then(|| json!({ "thinking": { "type": "enabled", "budget_tokens": budget } }))
        }
        ThinkingStyle::Effort => model.effort_name(effort).map(|level| {
            json!({ "thinking": { "type": "adaptive" }, "output_config": { "effort": level } })
        }),
    };
    if let Some(fields) = fields {
        body.insert("additionalModelRequestFields".to_owned(), fields);
    }
}

fn encode_message(side: &PromptMessage<'_>) -> Option<Json> {
    let (role, content) = match side {
        PromptMessage::Person { tool_result, images, texts } => {
            let results = tool_result.iter().map(tool_result_block);
            let images = images.iter().map(|it| image_block(it.format, &it.data));
            let texts = texts.iter().map(|text| json!({ "text": text }));
            ("user", results.chain(images).chain(texts).collect())
        }
        PromptMessage::Model { texts, call } => {
            let replay = call.as_ref().and_then(|call| call.replay);
            let is = ReplayedBlocks {
                is_call: |block| block.get("toolUse").is_some(),
                is_text: |block| block.get("text").is_some(),
                is_same_call: |block, call| {
                    block["toolUse"]["toolUseId"] == call["toolUse"]["toolUseId"]
                },
            };
            let texts = texts.iter().map(|text| json!({ "text": text })).collect();
            ("assistant", replay_blocks(replay, texts, call.as_ref().map(tool_use_block), &is))
        }
    };
    (!content.is_empty()).then(|| json!({ "role": role, "content": content }))
}

fn image_block(format: ImageFormat, data: &str) -> Json {
    json!({ "image": { "format": format.as_str(), "source": { "bytes": data } } })
}

fn tool_use_block(call: &ModelCall<'_>) -> Json {
    json!({ "toolUse": { "toolUseId": call.id, "name": call.tool, "input": call.args } })
}

fn tool_result_block(tool_result: &ToolResult<'_>) -> Json {
    let picture = tool_result.picture.map(|png| image_block(ImageFormat::Png, png));
    let output = std::iter::once(json!({ "json": tool_result.to_object() }));
    let content: Vec<Json> = output.chain(picture).collect();
    let mut result = json!({ "toolUseId": tool_result.id, "content": content });
    if tool_result.is_refused() {
        result["status"] = json!("error");
    }
    json!({ "toolResult": result })
}
