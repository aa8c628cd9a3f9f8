//! The encoding of a model's messages on each of the six wires: a scenario is written once,
//! independently of wires, and can run on any of them.
//!
//! This is the provider's side, the opposite of `providers::decode`. The two share no code, and the
//! tests below check them against each other. Only streams are encoded.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_providers::wire::WireFormat;

/// One message of a model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Message {
    /// The reasoning text.
    pub(crate) reasoning: Option<String>,
    /// The signature of the reasoning, or of the first call (Gemini).
    pub(crate) signature: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) calls: Vec<Call>,
    pub(crate) usage: Option<Usage>,
    pub(crate) stop: Stop,
}

/// A tool call.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Call {
    /// The id. None to leave it out, on wires that allow it.
    pub(crate) id: Option<String>,
    /// The tool.
    pub(crate) name: String,
    /// A string is written as it is, valid or not. Anything else is written as JSON.
    pub(crate) args: Json,
}

impl Call {
    /// The arguments as a string.
    fn text(&self) -> String {
        match &self.args {
            Json::String(text) => text.clone(),
            Json::Null => String::new(),
            args => args.to_string(),
        }
    }

    /// The arguments as a JSON value, for wires that have them in this form.
    fn value(&self) -> Json {
        match &self.args {
            Json::String(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
            Json::Null => json!({}),
            args => args.clone(),
        }
    }

    fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }
}

/// Token counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Usage {
    /// All tokens read.
    pub(crate) input: u64,
    /// All tokens generated.
    pub(crate) output: u64,
}

/// Why a message ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stop {
    /// The message is complete, or waits for the results of its calls.
    #[default]
    Done,
    /// It reached the token limit.
    Limit,
    /// A filter stopped it.
    Refused,
    /// The provider cannot parse the call.
    Malformed,
}

/// An event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    /// Its name, if the wire's framing has one.
    pub(crate) name: String,
    pub(crate) data: Json,
    /// Whether it is a terminal event. Without these, the message is incomplete.
    pub(crate) is_end: bool,
}

fn event(name: &str, data: Json) -> Event {
    Event { name: name.to_owned(), data, is_end: false }
}

fn last(name: &str, data: Json) -> Event {
    Event { is_end: true, ..event(name, data) }
}

/// The formatting of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Style {
    /// Whether lines end in CRLF.
    pub(crate) crlf: bool,
    /// Whether there are comment lines between events.
    pub(crate) comments: bool,
}

/// The content type of a wire's streams.
pub(crate) fn content_type(wire: WireFormat) -> &'static str {
    match wire {
        WireFormat::Bedrock => "application/vnd.amazon.eventstream",
        WireFormat::Ollama => "application/x-ndjson",
        _ => "text/event-stream",
    }
}

/// The events that stream a message.
pub(crate) fn events(wire: WireFormat, message: &Message) -> Vec<Event> {
    match wire {
        WireFormat::Anthropic => anthropic(message),
        WireFormat::OpenaiChat => openai_chat(message),
        WireFormat::OpenaiResponses => openai_responses(message),
        WireFormat::Gemini => gemini(message),
        WireFormat::Bedrock => bedrock(message),
        WireFormat::Ollama => ollama(message),
    }
}

/// The bytes of events, one piece each.
pub(crate) fn framed(wire: WireFormat, events: &[Event], style: Style) -> Vec<Vec<u8>> {
    events.iter().map(|event| frame(wire, event, style)).collect()
}

fn frame(wire: WireFormat, event: &Event, style: Style) -> Vec<u8> {
    let end = if style.crlf { "\r\n" } else { "\n" };
    let data = match &event.data {
        Json::String(text) => text.clone(),
        data => data.to_string(),
    };
    match wire {
        WireFormat::Bedrock => bedrock_message(&event.name, data.as_bytes()),
        WireFormat::Ollama => format!("{data}{end}").into_bytes(),
        _ => {
            let mut text = String::new();
            if style.comments {
                let _ = write!(text, ": keep-alive{end}{end}");
            }
            if !event.name.is_empty() {
                let _ = write!(text, "event: {}{end}", event.name);
            }
            let _ = write!(text, "data: {data}{end}{end}");
            text.into_bytes()
        }
    }
}

/// Splits a text into the fragments in which it is streamed: three, none of them empty.
fn fragments(text: &str) -> Vec<&str> {
    let cut = |part: usize| {
        let mut at = text.len() * part / 3;
        while !text.is_char_boundary(at) {
            at += 1;
        }
        at
    };
    let pieces = [&text[..cut(1)], &text[cut(1)..cut(2)], &text[cut(2)..]];
    pieces.into_iter().filter(|piece| !piece.is_empty()).collect()
}

fn anthropic(message: &Message) -> Vec<Event> {
    let named = |data: Json| event(data["type"].as_str().unwrap(), data.clone());
    let usage = message.usage.unwrap_or_default();
    let mut events = vec![named(json!({ "type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": { "input_tokens": usage.input, "output_tokens": 1 },
    } }))];
    let mut index = 0;
    let mut block = |start: Json, deltas: Vec<Json>| {
        events.push(named(
            json!({ "type": "content_block_start", "index": index, "content_block": start }),
        ));
        events.extend(deltas.into_iter().map(|delta| {
            named(json!({ "type": "content_block_delta", "index": index, "delta": delta }))
        }));
        events.push(named(json!({ "type": "content_block_stop", "index": index })));
        index += 1;
    };
    if let Some(reasoning) = &message.reasoning {
        let mut deltas: Vec<Json> = fragments(reasoning)
            .into_iter()
            .map(|it| json!({ "type": "thinking_delta", "thinking": it }))
            .collect();
        let signature = message.signature.iter();
        deltas.extend(signature.map(|it| json!({ "type": "signature_delta", "signature": it })));
        block(json!({ "type": "thinking", "thinking": "", "signature": "" }), deltas);
    }
    if let Some(text) = &message.text {
        let deltas = fragments(text).into_iter();
        let deltas = deltas.map(|it| json!({ "type": "text_delta", "text": it })).collect();
        block(json!({ "type": "text", "text": "" }), deltas);
    }
    for call in &message.calls {
        let deltas = fragments(&call.text())
            .into_iter()
            .map(|it| json!({ "type": "input_json_delta", "partial_json": it }))
            .collect();
        let start = json!({ "type": "tool_use", "id": call.id(), "name": call.name, "input": {} });
        block(start, deltas);
    }
    let stop = match message.stop {
        Stop::Done if message.calls.is_empty() => "end_turn",
        Stop::Done => "tool_use",
        Stop::Limit => "max_tokens",
        Stop::Refused => "refusal",
        Stop::Malformed => panic!("anthropic_messages has no such end"),
    };
    let delta = json!({ "type": "message_delta", "usage": { "output_tokens": usage.output },
        "delta": { "stop_reason": stop, "stop_sequence": null } });
    events.push(last("message_delta", delta));
    events.push(last("message_stop", json!({ "type": "message_stop" })));
    events
}

fn openai_chat(message: &Message) -> Vec<Event> {
    let chunk = |delta: Json, stop: Option<&str>| {
        json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "m",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": stop }] })
    };
    let said = |delta: Json| event("", chunk(delta, None));
    let mut events = vec![said(json!({ "role": "assistant", "content": "" }))];
    for piece in message.reasoning.iter().flat_map(|it| fragments(it)) {
        events.push(said(match &message.signature {
            None => json!({ "reasoning_content": piece }),
            Some(_) => json!({ "reasoning_details": [
                { "type": "reasoning.text", "index": 0, "text": piece }] }),
        }));
    }
    if let Some(signature) = &message.signature {
        let detail = json!({ "type": "reasoning.text", "index": 0, "signature": signature });
        events.push(said(json!({ "reasoning_details": [detail] })));
    }
    let texts = message.text.iter().flat_map(|it| fragments(it));
    events.extend(texts.map(|piece| said(json!({ "content": piece }))));
    for (index, call) in message.calls.iter().enumerate() {
        let mut begun = json!({ "index": index, "type": "function",
            "function": { "name": call.name, "arguments": "" } });
        if let Some(id) = &call.id {
            begun["id"] = json!(id);
        }
        events.push(said(json!({ "tool_calls": [begun] })));
        events.extend(fragments(&call.text()).into_iter().map(|piece| {
            let more = json!({ "index": index, "function": { "arguments": piece } });
            said(json!({ "tool_calls": [more] }))
        }));
    }
    let stop = match message.stop {
        Stop::Done if message.calls.is_empty() => "stop",
        Stop::Done => "tool_calls",
        Stop::Limit => "length",
        Stop::Refused => "content_filter",
        Stop::Malformed => "malformed_function_call",
    };
    events.push(last("", chunk(json!({}), Some(stop))));
    if let Some(Usage { input, output }) = message.usage {
        let usage = json!({ "prompt_tokens": input, "completion_tokens": output,
            "total_tokens": input + output });
        events.push(last("", json!({ "id": "chatcmpl-1", "choices": [], "usage": usage })));
    }
    events.push(last("", json!("[DONE]")));
    events
}

fn openai_responses(message: &Message) -> Vec<Event> {
    let named = |kind: &str, mut data: Json| {
        data["type"] = json!(kind);
        event(kind, data)
    };
    let mut events = vec![named(
        "response.created",
        json!({ "response": { "id": "resp_1", "status": "in_progress", "output": [], "error": null } }),
    )];
    let mut output = Vec::new();
    let mut item = |begun: Json, deltas: (&str, Vec<&str>), whole: Json| {
        let at = json!({ "output_index": output.len(), "item_id": whole["id"] });
        let with = |name: &str, value: Json| {
            let mut data = at.clone();
            data[name] = value;
            data
        };
        events.push(named("response.output_item.added", with("item", begun)));
        let (kind, pieces) = deltas;
        events.extend(pieces.into_iter().map(|it| named(kind, with("delta", json!(it)))));
        events.push(named("response.output_item.done", with("item", whole.clone())));
        output.push(whole);
    };
    if let Some(reasoning) = &message.reasoning {
        let mut whole = json!({ "type": "reasoning", "id": "rs_1",
            "summary": [{ "type": "summary_text", "text": reasoning }] });
        if let Some(signature) = &message.signature {
            whole["encrypted_content"] = json!(signature);
        }
        let begun = json!({ "type": "reasoning", "id": "rs_1", "summary": [] });
        item(begun, ("response.reasoning_summary_text.delta", fragments(reasoning)), whole);
    }
    if let Some(text) = &message.text {
        let said = |content: Json| {
            json!({ "type": "message", "id": "msg_1", "role": "assistant",
                "status": "completed", "content": content })
        };
        let whole = said(json!([{ "type": "output_text", "text": text, "annotations": [] }]));
        item(said(json!([])), ("response.output_text.delta", fragments(text)), whole);
    }
    for (at, call) in message.calls.iter().enumerate() {
        let made = |args: &str| {
            let mut made = json!({ "type": "function_call", "id": format!("fc_{at}"),
                "name": call.name, "arguments": args, "status": "completed" });
            if let Some(id) = &call.id {
                made["call_id"] = json!(id);
            }
            made
        };
        let args = call.text();
        let deltas = ("response.function_call_arguments.delta", fragments(&args));
        item(made(""), deltas, made(&args));
    }
    let (kind, details) = match message.stop {
        Stop::Done => ("completed", Json::Null),
        Stop::Limit => ("incomplete", json!({ "reason": "max_output_tokens" })),
        Stop::Refused => ("incomplete", json!({ "reason": "content_filter" })),
        Stop::Malformed => panic!("openai_responses has no such end"),
    };
    let mut response = json!({ "id": "resp_1", "status": kind, "error": null, "output": output,
        "incomplete_details": details });
    if let Some(Usage { input, output }) = message.usage {
        response["usage"] = json!({ "input_tokens": input, "output_tokens": output,
            "total_tokens": input + output });
    }
    let mut end = named(&format!("response.{kind}"), json!({ "response": response }));
    end.is_end = true;
    events.push(end);
    events
}

fn gemini(message: &Message) -> Vec<Event> {
    let chunk = |part: Json| {
        json!({ "candidates": [{ "content": { "role": "model", "parts": [part] }, "index": 0 }],
            "modelVersion": "m" })
    };
    let mut events = Vec::new();
    for piece in message.reasoning.iter().flat_map(|it| fragments(it)) {
        events.push(event("", chunk(json!({ "text": piece, "thought": true }))));
    }
    for piece in message.text.iter().flat_map(|it| fragments(it)) {
        events.push(event("", chunk(json!({ "text": piece }))));
    }
    let mut signature = message.signature.as_ref();
    for call in &message.calls {
        let mut part = json!({ "functionCall": { "name": call.name, "args": call.value() } });
        if let Some(id) = &call.id {
            part["functionCall"]["id"] = json!(id);
        }
        if let Some(signature) = signature.take() {
            part["thoughtSignature"] = json!(signature);
        }
        events.push(event("", chunk(part)));
    }
    let stop = match message.stop {
        Stop::Done => "STOP",
        Stop::Limit => "MAX_TOKENS",
        Stop::Refused => "SAFETY",
        Stop::Malformed => "MALFORMED_FUNCTION_CALL",
    };
    let mut end = json!({ "candidates": [{ "finishReason": stop, "index": 0 }] });
    if message.stop == Stop::Done {
        end["candidates"][0]["content"] = json!({ "role": "model", "parts": [{ "text": "" }] });
    }
    if let Some(Usage { input, output }) = message.usage {
        end["usageMetadata"] = json!({ "promptTokenCount": input, "candidatesTokenCount": output,
            "totalTokenCount": input + output });
    }
    events.push(last("", end));
    events
}

fn bedrock(message: &Message) -> Vec<Event> {
    let mut events = vec![event("messageStart", json!({ "role": "assistant" }))];
    let mut index = 0;
    let mut block = |start: Option<Json>, deltas: Vec<Json>| {
        let at = |name: &str, value: Json| {
            let mut data = json!({ "contentBlockIndex": index });
            data[name] = value;
            data
        };
        events.extend(start.map(|start| event("contentBlockStart", at("start", start))));
        events.extend(deltas.into_iter().map(|it| event("contentBlockDelta", at("delta", it))));
        events.push(event("contentBlockStop", json!({ "contentBlockIndex": index })));
        index += 1;
    };
    if let Some(reasoning) = &message.reasoning {
        let pieces = fragments(reasoning).into_iter();
        let mut deltas: Vec<Json> =
            pieces.map(|it| json!({ "reasoningContent": { "text": it } })).collect();
        let signature = message.signature.iter();
        deltas.extend(signature.map(|it| json!({ "reasoningContent": { "signature": it } })));
        block(None, deltas);
    }
    if let Some(text) = &message.text {
        block(None, fragments(text).into_iter().map(|it| json!({ "text": it })).collect());
    }
    for call in &message.calls {
        let start = json!({ "toolUse": { "toolUseId": call.id(), "name": call.name } });
        let args = call.text();
        let deltas = fragments(&args).into_iter();
        block(Some(start), deltas.map(|it| json!({ "toolUse": { "input": it } })).collect());
    }
    let stop = match message.stop {
        Stop::Done if message.calls.is_empty() => "end_turn",
        Stop::Done => "tool_use",
        Stop::Limit => "max_tokens",
        Stop::Refused => "content_filtered",
        Stop::Malformed => "malformed_tool_use",
    };
    events.push(last("messageStop", json!({ "stopReason": stop })));
    if let Some(Usage { input, output }) = message.usage {
        let usage = json!({ "inputTokens": input, "outputTokens": output,
            "totalTokens": input + output });
        events.push(last("metadata", json!({ "usage": usage, "metrics": { "latencyMs": 1 } })));
    }
    events
}

fn ollama(message: &Message) -> Vec<Event> {
    let said = |message: Json| json!({ "model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false });
    let mut events = Vec::new();
    for piece in message.reasoning.iter().flat_map(|it| fragments(it)) {
        let thought = json!({ "role": "assistant", "content": "", "thinking": piece });
        events.push(event("", said(thought)));
    }
    for piece in message.text.iter().flat_map(|it| fragments(it)) {
        events.push(event("", said(json!({ "role": "assistant", "content": piece }))));
    }
    for call in &message.calls {
        let mut made = json!({ "function": { "name": call.name, "arguments": call.value() } });
        if let Some(id) = &call.id {
            made["id"] = json!(id);
        }
        let made = json!({ "role": "assistant", "content": "", "tool_calls": [made] });
        events.push(event("", said(made)));
    }
    let stop = match message.stop {
        Stop::Done => "stop",
        Stop::Limit => "length",
        Stop::Refused | Stop::Malformed => panic!("ollama_chat has no such end"),
    };
    let mut end = said(json!({ "role": "assistant", "content": "" }));
    end["done"] = json!(true);
    end["done_reason"] = json!(stop);
    if let Some(Usage { input, output }) = message.usage {
        end["prompt_eval_count"] = json!(input);
        end["eval_count"] = json!(output);
    }
    events.push(last("", end));
    events
}

/// A message of AWS's binary event stream. It is an exception if the name ends in `Exception`.
/// <https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html>
fn bedrock_message(name: &str, payload: &[u8]) -> Vec<u8> {
    let kind = if name.ends_with("Exception") { "exception" } else { "event" };
    let mut headers = Vec::new();
    for (header, value) in [
        (format!(":{kind}-type"), name),
        (":content-type".to_owned(), "application/json"),
        (":message-type".to_owned(), kind),
    ] {
        headers.push(header.len() as u8);
        headers.extend_from_slice(header.as_bytes());
        // The header type of a string.
        headers.push(7);
        headers.extend_from_slice(&(value.len() as u16).to_be_bytes());
        headers.extend_from_slice(value.as_bytes());
    }
    let all = 12 + headers.len() + payload.len() + 4;
    let mut bytes = (all as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(&(headers.len() as u32).to_be_bytes());
    bytes.extend_from_slice(&crc32(&bytes).to_be_bytes());
    bytes.extend_from_slice(&headers);
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(&crc32(&bytes).to_be_bytes());
    bytes
}

/// CRC-32 as in gzip, computed bit by bit. A table could share an error with the reader's.
fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = !0_u32;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { 0xedb8_8320 ^ (sum >> 1) } else { sum >> 1 };
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use vector_providers::answer::{AnswerOutcome, ModelAnswer};
    use vector_providers::decode::ResponseDecoder;
    use vector_providers::failure::ResponseHead;

    use super::*;

    fn read(wire: WireFormat, bytes: &[u8], size: usize) -> ModelAnswer {
        let headers = vec![("content-type".to_owned(), content_type(wire).to_owned())];
        let mut decoder =
            ResponseDecoder::new(wire, ResponseHead { status: 200, headers, received_at: None });
        let mut parts = Vec::new();
        for piece in bytes.chunks(size) {
            parts.extend(decoder.push_bytes(piece));
        }
        parts.extend(decoder.finish());
        ModelAnswer::from_parts(parts)
    }

    fn spelled(wire: WireFormat, message: &Message, style: Style) -> Vec<u8> {
        framed(wire, &events(wire, message), style).concat()
    }

    fn call(id: &str, name: &str, args: Json) -> Call {
        Call { id: Some(id.to_owned()), name: name.to_owned(), args }
    }

    /// One of everything.
    fn message() -> Message {
        Message {
            reasoning: Some("Größe: hm.".to_owned()),
            signature: Some("c2ln".to_owned()),
            text: Some("Ich schaue nach … 🙂".to_owned()),
            calls: vec![
                call("a", "list_children", json!({ "path": "game.Workspace[\"Größe\"]" })),
                call("b", "read_script", json!("{\"path\": \"game.Main\"}")),
            ],
            usage: Some(Usage { input: 120, output: 34 }),
            stop: Stop::Done,
        }
    }

    #[test]
    fn spelled_messages_are_read_back() {
        let message = message();
        for wire in WireFormat::ALL {
            for (crlf, comments) in [(false, false), (true, false), (true, true)] {
                let bytes = spelled(wire, &message, Style { crlf, comments });
                for size in [1, 2, 3, 7, bytes.len()] {
                    let answer = read(wire, &bytes, size);
                    let shown = format!("{wire}, by {size}: {answer:?}");
                    assert_eq!(answer.end.outcome, AnswerOutcome::Ok, "{shown}");
                    assert_eq!(Some(&answer.text), message.text.as_ref(), "{shown}");
                    // OpenRouter's reasoning details are only for the replay.
                    if wire != WireFormat::OpenaiChat {
                        assert_eq!(Some(&answer.reasoning), message.reasoning.as_ref(), "{shown}");
                    }
                    let usage = answer.usage.unwrap();
                    assert_eq!((usage.prompt, usage.generated), (120, 34), "{shown}");
                    let calls: Vec<_> = answer
                        .calls
                        .iter()
                        .map(|it| (it.id.as_deref(), it.name.as_str(), it.args.clone().unwrap()))
                        .collect();
                    let expected = [
                        (Some("a"), "list_children", message.calls[0].args.clone()),
                        (Some("b"), "read_script", json!({ "path": "game.Main" })),
                    ];
                    assert_eq!(calls, expected, "{shown}");
                    let replay = answer.end.replay.map(|it| it.to_string()).unwrap_or_default();
                    let is_signed = wire != WireFormat::Ollama;
                    assert_eq!(replay.contains("c2ln"), is_signed, "{shown}");
                }
            }
        }
    }

    #[test]
    fn stream_without_its_end_calls_nothing() {
        for wire in WireFormat::ALL {
            let events = events(wire, &message());
            let begun: Vec<_> = events.into_iter().filter(|event| !event.is_end).collect();
            let answer = read(wire, &framed(wire, &begun, Style::default()).concat(), 64);
            assert_eq!(
                (answer.end.outcome, answer.calls.len()),
                (AnswerOutcome::Incomplete, 0),
                "{wire}"
            );
        }
    }

    #[test]
    fn stream_ends_are_distinguished() {
        let cut = Message {
            calls: vec![call("a", "t", json!("{\"path\": \"ga"))],
            stop: Stop::Limit,
            ..Message::default()
        };
        for wire in [
            WireFormat::Anthropic,
            WireFormat::OpenaiChat,
            WireFormat::OpenaiResponses,
            WireFormat::Bedrock,
        ] {
            let answer = read(wire, &spelled(wire, &cut, Style::default()), 64);
            assert_eq!(answer.end.outcome, AnswerOutcome::Truncated, "{wire}");
        }
        let refused = Message { stop: Stop::Refused, ..Message::default() };
        for wire in WireFormat::ALL.into_iter().filter(|wire| *wire != WireFormat::Ollama) {
            let answer = read(wire, &spelled(wire, &refused, Style::default()), 64);
            assert_eq!(answer.end.outcome, AnswerOutcome::Refused, "{wire}");
        }
        let malformed = Message { stop: Stop::Malformed, ..Message::default() };
        for wire in [WireFormat::Gemini, WireFormat::OpenaiChat, WireFormat::Bedrock] {
            let answer = read(wire, &spelled(wire, &malformed, Style::default()), 64);
            assert_eq!(answer.end.outcome, AnswerOutcome::ModelError, "{wire}");
        }
        let broken =
            Message { calls: vec![call("a", "t", json!("{\"path\": ]"))], ..Message::default() };
        for wire in WireFormat::ALL {
            let answer = read(wire, &spelled(wire, &broken, Style::default()), 64);
            assert_eq!(answer.end.outcome, AnswerOutcome::Ok, "{wire}");
            assert!(answer.calls[0].args.is_err(), "{wire}: {answer:?}");
        }
    }

    #[test]
    fn crc32_matches_the_known_value() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
