//! Encodes a conversation as a request of OpenAI's Chat Completions.
//!
//! <https://platform.openai.com/docs/api-reference/chat>. Other providers implement it with
//! variations: [`ChatDialect`] covers the fields that OpenRouter names differently, and those that
//! only OpenAI knows. Strict schemas are not requested: here a schema is not strict unless the
//! request says so.

use scene_schemas::entry::ImageFormat;
use serde_json::{Map, Value as Json, json};
use vector_core::prompt::ModelPrompt;

use super::super::catalogue::{CatalogueModel, ChatDialect};
use super::super::schema;
use super::super::turns::{ModelCall, PromptMessage, build_messages, image_url};

pub(crate) fn request_body(
    prompt: &ModelPrompt,
    model: &CatalogueModel,
    accent: ChatDialect,
) -> Json {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model.id));
    body.insert("stream".to_owned(), json!(true));
    // Without this, a stream does not report its token usage.
    body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    if let Some(max) = prompt.max_output {
        let name =
            if accent == ChatDialect::OpenAi { "max_completion_tokens" } else { "max_tokens" };
        body.insert(name.to_owned(), json!(max));
    }
    if let Some(level) = prompt.effort.and_then(|effort| model.effort_name(effort)) {
        match accent {
            ChatDialect::OpenRouter => {
                body.insert("reasoning".to_owned(), json!({ "effort": level }))
            }
            _ => body.insert("reasoning_effort".to_owned(), json!(level)),
        };
    }
    if !prompt.tools.is_empty() {
        body.insert("tools".to_owned(), prompt.tools.iter().map(schema::function_tool).collect());
        body.insert("parallel_tool_calls".to_owned(), json!(false));
    }
    let is_marked = accent == ChatDialect::OpenRouter && model.should_mark_cache;
    let mut messages = Vec::new();
    if !prompt.rules.is_empty() {
        let content = if is_marked { mark_cached(&prompt.rules) } else { json!(prompt.rules) };
        messages.push(json!({ "role": "system", "content": content }));
    }
    for side in build_messages(prompt, model) {
        push_turn(&mut messages, &side);
    }
    // The text for the current moment is not repeated by the next request, so the mark goes before
    // it.
    let is_now = |message: &Json| prompt.now.as_deref() == message["content"].as_str();
    let last = messages.iter_mut().rev().find(|message| !is_now(message));
    if is_marked && let Some(last) = last {
        let text = last["content"].as_str().map(mark_cached);
        if let Some(marked) = text {
            last["content"] = marked;
        }
    }
    body.insert("messages".to_owned(), messages.into());
    Json::Object(body)
}

/// Marks a text as the end of the cached prefix. OpenRouter passes the mark on to Anthropic.
fn mark_cached(text: &str) -> Json {
    json!([{ "type": "text", "text": text, "cache_control": { "type": "ephemeral" } }])
}

fn push_turn(messages: &mut Vec<Json>, side: &PromptMessage<'_>) {
    match side {
        PromptMessage::Person { tool_result, images, texts } => {
            if let Some(result) = tool_result {
                let (id, text) = (&result.id, result.to_text());
                messages.push(json!({ "role": "tool", "tool_call_id": id, "content": text }));
            }
            // A tool message can only hold text, so its picture is sent in a user message.
            let picture = tool_result.as_ref().and_then(|told| told.picture);
            let pictures = picture.map(|png| image_url(ImageFormat::Png, png));
            let images = images.iter().map(|it| image_url(it.format, &it.data));
            let mut parts: Vec<Json> = pictures
                .into_iter()
                .chain(images)
                .map(|url| json!({ "type": "image_url", "image_url": { "url": url } }))
                .collect();
            if !parts.is_empty() {
                parts.extend(texts.iter().map(|text| json!({ "type": "text", "text": text })));
                messages.push(json!({ "role": "user", "content": parts }));
            } else if !texts.is_empty() {
                messages.push(json!({ "role": "user", "content": texts.join("\n\n") }));
            }
        }
        PromptMessage::Model { texts, call } => {
            messages.push(assistant_message(&texts.join("\n\n"), call.as_ref()));
        }
    }
}

fn assistant_message(text: &str, call: Option<&ModelCall<'_>>) -> Json {
    let mut message = Map::new();
    // Reasoning that has to be replayed is in fields of the message.
    if let Some(Json::Object(replay)) = call.and_then(|call| call.replay) {
        let own = ["role", "content", "tool_calls"];
        let fields = replay.iter().filter(|(name, _)| !own.contains(&name.as_str()));
        message.extend(fields.map(|(name, value)| (name.clone(), value.clone())));
    }
    message.insert("role".to_owned(), json!("assistant"));
    if !text.is_empty() || call.is_none() {
        message.insert("content".to_owned(), json!(text));
    }
    if let Some(call) = call {
        message.insert("tool_calls".to_owned(), json!([assistant_call(call)]));
    }
    Json::Object(message)
}

fn assistant_call(call: &ModelCall<'_>) -> Json {
    let function = json!({ "name": call.tool, "arguments": call.args.to_string() });
    let mut made = json!({ "id": call.id, "type": "function", "function": function });
    // Gemini signs its calls in this API too, in a field of the call.
    let sent = call.replay.and_then(|replay| replay["tool_calls"].as_array());
    let sent = sent.into_iter().flatten().find(|sent| sent["id"] == made["id"]);
    if let Some(extra) = sent.and_then(|sent| sent.get("extra_content")) {
        made["extra_content"] = extra.clone();
    }
    made
}
