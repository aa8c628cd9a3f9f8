//! Encodes a conversation as a request of Gemini's `streamGenerateContent`.
//!
//! <https://ai.google.dev/api/generate-content>. The model id is part of the URL. Gemini caches
//! automatically, and cannot be limited to one tool call. A result is matched to its call by name
//! and position, and by id if Gemini sent one.

use scene_schemas::entry::ImageFormat;
use serde_json::{Map, Value as Json, json};
use vector_core::prompt::{ModelPrompt, PromptTool};

use super::super::catalogue::{CatalogueModel, ThinkingStyle};
use super::super::schema;
use super::super::turns::{
    ModelCall, PromptMessage, ReplayedBlocks, build_messages, replay_blocks,
};

/// The placeholder that Gemini 3 accepts instead of a signature, for calls that another model made.
/// Without any signature, it rejects the request.
/// <https://ai.google.dev/gemini-api/docs/thought-signatures>
const SKIP_SIGNATURE: &str = "skip_thought_signature_validator";

pub(crate) fn request_body(prompt: &ModelPrompt, model: &CatalogueModel) -> Json {
    let mut body = Map::new();
    if !prompt.rules.is_empty() {
        let rules = json!({ "role": "model", "parts": [{ "text": prompt.rules }] });
        body.insert("systemInstruction".to_owned(), rules);
    }
    if !prompt.tools.is_empty() {
        let functions: Json = prompt.tools.iter().map(tool_definition).collect();
        body.insert("tools".to_owned(), json!([{ "functionDeclarations": functions }]));
    }
    let config = generation_config(prompt, model);
    if !config.is_empty() {
        body.insert("generationConfig".to_owned(), config.into());
    }
    let contents: Vec<Json> = build_messages(prompt, model)
        .iter()
        .filter_map(|side| encode_content(side, model))
        .collect();
    body.insert("contents".to_owned(), assign_result_ids(contents).into());
    Json::Object(body)
}

/// Copies the id of each replayed call to its result.
fn assign_result_ids(mut contents: Vec<Json>) -> Vec<Json> {
    for at in 1..contents.len() {
        let parts = contents[at - 1]["parts"].as_array().into_iter().flatten();
        let id = parts.filter_map(|part| part.pointer("/functionCall/id")).next_back().cloned();
        let result = contents[at].pointer_mut("/parts/0/functionResponse");
        if let (Some(id), Some(result)) = (id, result) {
            result["id"] = id;
        }
    }
    contents
}

fn generation_config(prompt: &ModelPrompt, model: &CatalogueModel) -> Map<String, Json> {
    let mut config = Map::new();
    if let Some(max) = prompt.max_output {
        config.insert("maxOutputTokens".to_owned(), json!(max));
    }
    let thinking = prompt.effort.and_then(|effort| match model.thinking {
        ThinkingStyle::None => None,
        ThinkingStyle::Budget => Some(json!({ "thinkingBudget": model.thinking_budget(effort) })),
        ThinkingStyle::Effort => {
            model.effort_name(effort).map(|level| json!({ "thinkingLevel": level }))
        }
    });
    if let Some(thinking) = thinking {
        config.insert("thinkingConfig".to_owned(), thinking);
    }
    config
}

fn tool_definition(tool: &PromptTool) -> Json {
    let parameters = schema::gemini_schema(&tool.schema);
    json!({ "name": tool.name, "description": tool.about, "parameters": parameters })
}

fn encode_content(side: &PromptMessage<'_>, model: &CatalogueModel) -> Option<Json> {
    let (role, parts) = match side {
        PromptMessage::Person { tool_result, images, texts } => {
            let picture = tool_result
                .as_ref()
                .and_then(|result| result.picture)
                .map(|png| inline_image(ImageFormat::Png, png));
            let images = images.iter().map(|it| inline_image(it.format, &it.data));
            let responses = tool_result.iter().map(|told| {
                json!({ "functionResponse": { "name": told.tool, "response": told.to_object() } })
            });
            let response_parts = responses.chain(picture).chain(images);
            (
                "user",
                response_parts.chain(texts.iter().map(|text| json!({ "text": text }))).collect(),
            )
        }
        PromptMessage::Model { texts, call } => ("model", model_parts(texts, call.as_ref(), model)),
    };
    (!parts.is_empty()).then(|| json!({ "role": role, "parts": parts }))
}

fn inline_image(format: ImageFormat, data: &str) -> Json {
    let mime_type = format!("image/{}", format.as_str());
    json!({ "inlineData": { "mimeType": mime_type, "data": data } })
}

fn model_parts(texts: &[&str], call: Option<&ModelCall<'_>>, model: &CatalogueModel) -> Vec<Json> {
    let replay = call.and_then(|call| call.replay);
    let texts = texts.iter().map(|text| json!({ "text": text })).collect();
    let is = ReplayedBlocks {
        is_call: |part| part.get("functionCall").is_some(),
        is_text: |part| part.get("text").is_some() && part["thought"] != true,
        is_same_call: |part, call| part["functionCall"]["name"] == call["functionCall"]["name"],
    };
    let made = call.map(|call| {
        let mut part = json!({ "functionCall": { "name": call.tool, "args": call.args } });
        if let Some(signature) = replay.and_then(|replay| replay.get("thoughtSignature")) {
            part["thoughtSignature"] = signature.clone();
        }
        part
    });
    let mut parts = replay_blocks(replay, texts, made, &is);
    let unsigned = parts
        .iter_mut()
        .find(|part| part.get("functionCall").is_some() && part.get("thoughtSignature").is_none());
    if let Some(part) = unsigned.filter(|_| model.thinking == ThinkingStyle::Effort) {
        part["thoughtSignature"] = json!(SKIP_SIGNATURE);
    }
    // Thoughts are not sent again, except those that carry a signature themselves.
    parts.retain(|part| part["thought"] != true || part.get("thoughtSignature").is_some());
    parts
}
