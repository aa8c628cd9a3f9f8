//! A conversation as a request of Gemini's `streamGenerateContent`.
//!
//! <https://ai.google.dev/api/generate-content>. The model stands in the address. Gemini caches by
//! itself, and cannot be told to call one tool only. A result belongs to a call by its name and place,
//! and by the id where Gemini gave one.

use serde_json::{Map, Value as Json, json};
use vector_core::prompt::{ModelPrompt, PromptTool};

use super::super::catalogue::{Model, Thinking};
use super::super::schema;
use super::super::sides::{Blocks, Made, Side, replayed, sides};

/// What Gemini 3 takes in place of the signature of a call that another model made; without any it
/// refuses the request. <https://ai.google.dev/gemini-api/docs/thought-signatures>
const NOT_SIGNED: &str = "skip_thought_signature_validator";

/// The body of the request.
pub(crate) fn body(prompt: &ModelPrompt, model: &Model) -> Json {
    let mut body = Map::new();
    if !prompt.rules.is_empty() {
        let rules = json!({ "role": "model", "parts": [{ "text": prompt.rules }] });
        body.insert("systemInstruction".to_owned(), rules);
    }
    if !prompt.tools.is_empty() {
        let functions: Json = prompt.tools.iter().map(tool).collect();
        body.insert("tools".to_owned(), json!([{ "functionDeclarations": functions }]));
    }
    let config = config(prompt, model);
    if !config.is_empty() {
        body.insert("generationConfig".to_owned(), config.into());
    }
    let contents: Vec<Json> =
        sides(prompt, model).iter().filter_map(|side| content(side, model)).collect();
    body.insert("contents".to_owned(), named(contents).into());
    Json::Object(body)
}

/// Where a call that goes back as it came has an id, its result names it.
fn named(mut contents: Vec<Json>) -> Vec<Json> {
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

fn config(prompt: &ModelPrompt, model: &Model) -> Map<String, Json> {
    let mut config = Map::new();
    if let Some(max) = prompt.max_output {
        config.insert("maxOutputTokens".to_owned(), json!(max));
    }
    let thinking = prompt.effort.and_then(|effort| match model.thinking {
        Thinking::None => None,
        Thinking::Budget => Some(json!({ "thinkingBudget": model.budget(effort) })),
        Thinking::Effort => model.effort(effort).map(|word| json!({ "thinkingLevel": word })),
    });
    if let Some(thinking) = thinking {
        config.insert("thinkingConfig".to_owned(), thinking);
    }
    config
}

fn tool(tool: &PromptTool) -> Json {
    let parameters = schema::gemini(&tool.schema);
    json!({ "name": tool.name, "description": tool.about, "parameters": parameters })
}

fn content(side: &Side<'_>, model: &Model) -> Option<Json> {
    let (role, parts) = match side {
        Side::Person { told, texts } => {
            let picture = told
                .as_ref()
                .and_then(|told| told.picture)
                .map(|png| json!({ "inlineData": { "mimeType": "image/png", "data": png } }));
            let told = told.iter().map(|told| {
                json!({ "functionResponse": { "name": told.tool, "response": told.object() } })
            });
            let told = told.chain(picture);
            ("user", told.chain(texts.iter().map(|text| json!({ "text": text }))).collect())
        }
        Side::Model { texts, call } => ("model", said(texts, call.as_ref(), model)),
    };
    (!parts.is_empty()).then(|| json!({ "role": role, "parts": parts }))
}

fn said(texts: &[&str], call: Option<&Made<'_>>, model: &Model) -> Vec<Json> {
    let replay = call.and_then(|call| call.replay);
    let texts = texts.iter().map(|text| json!({ "text": text })).collect();
    let is = Blocks {
        call: |part| part.get("functionCall").is_some(),
        text: |part| part.get("text").is_some() && part["thought"] != true,
        same: |part, call| part["functionCall"]["name"] == call["functionCall"]["name"],
    };
    let made = call.map(|call| {
        let mut part = json!({ "functionCall": { "name": call.tool, "args": call.args } });
        if let Some(signature) = replay.and_then(|replay| replay.get("thoughtSignature")) {
            part["thoughtSignature"] = signature.clone();
        }
        part
    });
    let mut parts = replayed(replay, texts, made, &is);
    let unsigned = parts
        .iter_mut()
        .find(|part| part.get("functionCall").is_some() && part.get("thoughtSignature").is_none());
    if let Some(part) = unsigned.filter(|_| model.thinking == Thinking::Effort) {
        part["thoughtSignature"] = json!(NOT_SIGNED);
    }
    // What was thought aloud is not sent again; its signature stands on the other parts.
    parts.retain(|part| part["thought"] != true || part.get("thoughtSignature").is_some());
    parts
}
