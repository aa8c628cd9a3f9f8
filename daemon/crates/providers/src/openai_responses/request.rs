//! Encodes a conversation as a request of OpenAI's Responses API.
//!
//! <https://platform.openai.com/docs/api-reference/responses>. The provider stores nothing: each
//! request holds the whole conversation, and reasoning is returned encrypted, to be sent again.

use scene_schemas::entry::ImageFormat;
use serde_json::{Map, Value as Json, json};
use vector_core::prompt::{ModelPrompt, PromptTool};

use super::super::catalogue::CatalogueModel;
use super::super::schema;
use super::super::turns::{
    ModelCall, PromptMessage, ReplayedBlocks, ToolResult, build_messages, image_url, replay_blocks,
};

pub(crate) fn request_body(prompt: &ModelPrompt, model: &CatalogueModel) -> Json {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model.id));
    body.insert("stream".to_owned(), json!(true));
    body.insert("store".to_owned(), json!(false));
    if !prompt.rules.is_empty() {
        body.insert("instructions".to_owned(), json!(prompt.rules));
    }
    if let Some(max) = prompt.max_output {
        body.insert("max_output_tokens".to_owned(), json!(max));
    }
    // A model with effort levels always thinks, so its reasoning has to be replayed.
    if !model.efforts.is_empty() {
        body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
    }
    if let Some(level) = prompt.effort.and_then(|effort| model.effort_name(effort)) {
        body.insert("reasoning".to_owned(), json!({ "effort": level }));
    }
    if !prompt.tools.is_empty() {
        body.insert("tools".to_owned(), prompt.tools.iter().map(tool_definition).collect());
        body.insert("parallel_tool_calls".to_owned(), json!(false));
    }
    let mut input = Vec::new();
    for side in build_messages(prompt, model) {
        push_turn(&mut input, &side);
    }
    body.insert("input".to_owned(), input.into());
    Json::Object(body)
}

/// Encodes a tool. A schema counts as strict unless `strict` is false, and the API rejects a strict
/// schema that breaks the rules.
fn tool_definition(tool: &PromptTool) -> Json {
    let strict = schema::strict_schema(&tool.schema);
    let is_strict = strict.is_some();
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.about,
        "parameters": strict.unwrap_or_else(|| schema::object_schema(&tool.schema)),
        "strict": is_strict,
    })
}

fn message_item(role: &str, kind: &str, text: &str) -> Json {
    let content = json!([{ "type": kind, "text": text }]);
    json!({ "type": "message", "role": role, "content": content })
}

fn input_image(format: ImageFormat, data: &str) -> Json {
    json!({ "type": "input_image", "image_url": image_url(format, data), "detail": "auto" })
}

/// Encodes the result of a call: a text, or a text with its picture.
fn call_output(result: &ToolResult<'_>) -> Json {
    let Some(png) = result.picture else {
        return result.to_text().into();
    };
    json!([
        { "type": "input_text", "text": result.to_text() },
        input_image(ImageFormat::Png, png),
    ])
}

fn push_turn(input: &mut Vec<Json>, side: &PromptMessage<'_>) {
    match side {
        PromptMessage::Person { tool_result, images, texts } => {
            input.extend(tool_result.iter().map(|told| {
                let (id, output) = (&told.id, call_output(told));
                json!({ "type": "function_call_output", "call_id": id, "output": output })
            }));
            if !images.is_empty() {
                let content: Json =
                    images.iter().map(|it| input_image(it.format, &it.data)).collect();
                input.push(json!({ "type": "message", "role": "user", "content": content }));
            }
            input.extend(texts.iter().map(|text| message_item("user", "input_text", text)));
        }
        PromptMessage::Model { texts, call } => {
            let replay = call.as_ref().and_then(|call| call.replay);
            let texts = texts.iter().map(|text| message_item("assistant", "output_text", text));
            let is = ReplayedBlocks {
                is_call: |item| item["type"] == "function_call",
                is_text: |item| item["type"] == "message",
                is_same_call: |item, call| item["call_id"] == call["call_id"],
            };
            input.extend(replay_blocks(
                replay,
                texts.collect(),
                call.as_ref().map(function_call),
                &is,
            ));
        }
    }
}

fn function_call(call: &ModelCall<'_>) -> Json {
    let arguments = call.args.to_string();
    json!({ "type": "function_call", "call_id": call.id, "name": call.tool, "arguments": arguments })
}
