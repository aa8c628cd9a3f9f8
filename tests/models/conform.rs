//! The rules of each provider for any conversation: the order of the roles, and the pairing of
//! calls and results. A provider refuses a request that breaks them, or misunderstands it.
//!
//! Sources: the providers' references, which `daemon/crates/providers/src/*/request.rs` name.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use vector_providers::wire::WireFormat;

/// Returns the flaws of a request for which its provider would refuse it.
pub(crate) fn flaws(wire: WireFormat, body: &Json) -> Vec<String> {
    let mut flaws = match wire {
        WireFormat::Anthropic | WireFormat::Bedrock | WireFormat::Gemini => {
            turns(&neutral(wire, body))
        }
        WireFormat::OpenaiChat | WireFormat::Ollama => messages(wire, list(&body["messages"])),
        WireFormat::OpenaiResponses => items(list(&body["input"])),
    };
    if has_empty_text(body) {
        flaws.push("a text is empty".to_owned());
    }
    flaws
}

fn list(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}

/// A message of a wire on which user and model alternate: its role, its calls and its results.
struct Message {
    is_model: bool,
    is_empty: bool,
    calls: Vec<String>,
    results: Vec<String>,
}

fn neutral(wire: WireFormat, body: &Json) -> Vec<Message> {
    let (messages, blocks, model) = match wire {
        WireFormat::Gemini => ("contents", "parts", "model"),
        _ => ("messages", "content", "assistant"),
    };
    let of = |message: &Json| {
        let blocks = list(&message[blocks]);
        // The ids that pair calls with results. Gemini has no ids, so there it is the name of the
        // call.
        let names = |call: &str, id: &str, kind: &str| -> Vec<String> {
            let found = blocks.iter().filter_map(|block| match wire {
                WireFormat::Anthropic => Some(block).filter(|it| it["type"] == kind),
                _ => block.get(call),
            });
            found.map(|it| it[id].as_str().unwrap_or_default().to_owned()).collect()
        };
        let (calls, results) = match wire {
            WireFormat::Anthropic => {
                (names("", "id", "tool_use"), names("", "tool_use_id", "tool_result"))
            }
            WireFormat::Bedrock => {
                (names("toolUse", "toolUseId", ""), names("toolResult", "toolUseId", ""))
            }
            _ => (names("functionCall", "name", ""), names("functionResponse", "name", "")),
        };
        Message { is_model: message["role"] == model, is_empty: blocks.is_empty(), calls, results }
    };
    list(&body[messages]).iter().map(of).collect()
}

fn turns(messages: &[Message]) -> Vec<String> {
    let mut flaws = Vec::new();
    let mut open: &[String] = &[];
    for (at, message) in messages.iter().enumerate() {
        if message.is_model != (at % 2 == 1) {
            flaws.push(format!("message {at} is not of the side whose turn it is"));
        }
        if message.is_empty {
            flaws.push(format!("message {at} is empty"));
        }
        if open != message.results {
            flaws.push(format!("{open:?} were called, message {at} answers {:?}", message.results));
        }
        open = &message.calls;
    }
    if messages.last().is_none_or(|last| last.is_model) {
        flaws.push("the model has spoken last".to_owned());
    }
    flaws
}

/// Checks Chat Completions and Ollama, where each result is a separate message.
fn messages(wire: WireFormat, messages: &[Json]) -> Vec<String> {
    let mut flaws = Vec::new();
    let mut open = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let answers = match wire {
            WireFormat::Ollama => &message["tool_name"],
            _ => &message["tool_call_id"],
        };
        if message["role"] == "tool" {
            if open.is_empty() || open.remove(0) != *answers {
                flaws.push(format!("message {at} answers {answers}, which was not called before"));
            }
            continue;
        }
        if !open.is_empty() {
            flaws.push(format!("{open:?} were called, and message {at} answers nothing"));
        }
        if message["role"] == "system" && at > 0 {
            flaws.push(format!("message {at} is the system's"));
        }
        let name = |call: &Json| match wire {
            WireFormat::Ollama => call["function"]["name"].clone(),
            _ => call["id"].clone(),
        };
        open = list(&message["tool_calls"]).iter().map(name).collect();
        let is_object = |call: &Json| match &call["function"]["arguments"] {
            Json::String(text) => serde_json::from_str::<Json>(text).is_ok_and(|it| it.is_object()),
            arguments => arguments.is_object(),
        };
        if !list(&message["tool_calls"]).iter().all(is_object) {
            flaws.push(format!("message {at} calls with arguments that are no object"));
        }
    }
    if !messages.last().is_some_and(|it| it["role"] == "user" || it["role"] == "tool") {
        flaws.push("the model has spoken last".to_owned());
    }
    flaws
}

/// Checks Responses, where calls and results are items.
fn items(items: &[Json]) -> Vec<String> {
    let ids = |kind: &str| -> Vec<&Json> {
        items.iter().filter(|it| it["type"] == kind).map(|it| &it["call_id"]).collect()
    };
    let (calls, results) = (ids("function_call"), ids("function_call_output"));
    let mut flaws = Vec::new();
    if calls != results {
        flaws.push(format!("{calls:?} were called, and {results:?} are answered"));
    }
    let names: BTreeSet<String> = calls.iter().map(ToString::to_string).collect();
    if names.len() < calls.len() {
        flaws.push("two calls have one id".to_owned());
    }
    let is_model = |item: &Json| item["role"] == "assistant" || item["type"] == "function_call";
    if items.last().is_none_or(is_model) {
        flaws.push("the model has spoken last".to_owned());
    }
    flaws
}

/// Whether a text block is empty, at any depth.
fn has_empty_text(json: &Json) -> bool {
    match json {
        Json::Array(items) => items.iter().any(has_empty_text),
        Json::Object(members) => {
            let is_empty =
                members.get("text").and_then(Json::as_str).is_some_and(|it| it.trim().is_empty());
            // A text that Gemini has signed has to be returned unchanged, even if it is empty.
            is_empty && !members.contains_key("thoughtSignature")
                || members.values().any(has_empty_text)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anthropic(messages: Json) -> usize {
        flaws(WireFormat::Anthropic, &json!({ "messages": messages })).len()
    }

    #[test]
    fn roles_alternate_and_results_follow_their_calls() {
        let text = |role: &str, text: &str| json!({ "role": role, "content": [{ "type": "text", "text": text }] });
        let call = json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "a" }] });
        let told =
            json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "a" }] });
        assert_eq!(anthropic(json!([text("user", "x"), call, told])), 0);
        assert_eq!(anthropic(json!([text("user", "x"), call, text("user", "y")])), 1);
        assert_eq!(anthropic(json!([text("user", "x"), told])), 2);
        assert_eq!(anthropic(json!([text("user", "x"), text("assistant", "y")])), 1);
        assert_eq!(anthropic(json!([text("user", " ")])), 1);
        let chat =
            |messages: Json| flaws(WireFormat::OpenaiChat, &json!({ "messages": messages })).len();
        let user = json!({ "role": "user", "content": "x" });
        let called = json!({ "role": "assistant", "tool_calls": [
            { "id": "a", "function": { "name": "t", "arguments": "{}" } }] });
        let told = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "y" });
        assert_eq!(chat(json!([user, called, told("a"), user])), 0);
        assert_eq!(chat(json!([user, called, told("b")])), 1);
        assert_eq!(chat(json!([user, called, user])), 1);
        assert_eq!(chat(json!([user, told("a")])), 1);
        let broken = json!({ "role": "assistant", "tool_calls": [
            { "id": "a", "function": { "name": "t", "arguments": "{" } }] });
        assert_eq!(chat(json!([user, broken, told("a")])), 1);
        let items =
            |items: Json| flaws(WireFormat::OpenaiResponses, &json!({ "input": items })).len();
        let call = json!({ "type": "function_call", "call_id": "a" });
        let told = json!({ "type": "function_call_output", "call_id": "a" });
        assert_eq!((items(json!([call, told])), items(json!([call]))), (0, 2));
    }
}
