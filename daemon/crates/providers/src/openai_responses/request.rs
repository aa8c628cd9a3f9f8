//! A conversation as a request of OpenAI's Responses.
//!
//! <https://platform.openai.com/docs/api-reference/responses>. Nothing is stored there: the whole
//! conversation goes with each request, and reasoning comes back sealed, to be sent again.

use serde_json::{Map, Value as Json, json};
use vector_core::prompt::{ModelPrompt, PromptTool};

use super::super::catalogue::Model;
use super::super::schema;
use super::super::sides::{Blocks, Made, Side, Told, replayed, sides};

/// The body of the request.
pub(crate) fn body(prompt: &ModelPrompt, model: &Model) -> Json {
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
    // A model that can be told how hard to think does think.
    if !model.efforts.is_empty() {
        body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
    }
    if let Some(word) = prompt.effort.and_then(|effort| model.effort(effort)) {
        body.insert("reasoning".to_owned(), json!({ "effort": word }));
    }
    if !prompt.tools.is_empty() {
        body.insert("tools".to_owned(), prompt.tools.iter().map(tool).collect());
        body.insert("parallel_tool_calls".to_owned(), json!(false));
    }
    let mut input = Vec::new();
    for side in sides(prompt, model) {
        push(&mut input, &side);
    }
    body.insert("input".to_owned(), input.into());
    Json::Object(body)
}

/// A schema is taken as strict here unless it is said that it is not, and one that breaks the rules
/// of strictness is refused.
fn tool(tool: &PromptTool) -> Json {
    let strict = schema::strict(&tool.schema);
    let is_strict = strict.is_some();
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.about,
        "parameters": strict.unwrap_or_else(|| schema::object(&tool.schema)),
        "strict": is_strict,
    })
}

fn message(role: &str, kind: &str, text: &str) -> Json {
    let content = json!([{ "type": kind, "text": text }]);
    json!({ "type": "message", "role": role, "content": content })
}

/// What came of a call: a text, with the picture that belongs to it.
fn output(told: &Told<'_>) -> Json {
    let Some(png) = told.picture else {
        return told.text().into();
    };
    let url = format!("data:image/png;base64,{png}");
    json!([
        { "type": "input_text", "text": told.text() },
        { "type": "input_image", "image_url": url, "detail": "auto" },
    ])
}

fn push(input: &mut Vec<Json>, side: &Side<'_>) {
    match side {
        Side::Person { told, texts } => {
            input.extend(told.iter().map(|told| {
                let (id, output) = (&told.id, output(told));
                json!({ "type": "function_call_output", "call_id": id, "output": output })
            }));
            input.extend(texts.iter().map(|text| message("user", "input_text", text)));
        }
        Side::Model { texts, call } => {
            let replay = call.as_ref().and_then(|call| call.replay);
            let texts = texts.iter().map(|text| message("assistant", "output_text", text));
            let is = Blocks {
                call: |item| item["type"] == "function_call",
                text: |item| item["type"] == "message",
                same: |item, call| item["call_id"] == call["call_id"],
            };
            input.extend(replayed(replay, texts.collect(), call.as_ref().map(made), &is));
        }
    }
}

fn made(call: &Made<'_>) -> Json {
    let arguments = call.args.to_string();
    json!({ "type": "function_call", "call_id": call.id, "name": call.tool, "arguments": arguments })
}
