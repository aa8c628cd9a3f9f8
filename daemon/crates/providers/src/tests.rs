//! Shared helpers for tests of the wire formats, and properties of all of them: a stream that broke
//! off runs no call, whatever its bytes are.

use random_draws::check_seeds;
use serde_json::{Value as Json, json};

use super::answer::{AnswerOutcome, AnswerPart, ModelAnswer};
use super::decode::ResponseDecoder;
use super::event_stream::tests::written;
use super::failure::ResponseHead;
use super::wire::WireFormat;

fn decoder(wire: WireFormat, content_type: &str) -> ResponseDecoder {
    let headers = vec![("Content-Type".to_owned(), content_type.to_owned())];
    ResponseDecoder::new(wire, ResponseHead { status: 200, headers, received_at: None })
}

/// Decodes bytes that arrive in one piece.
pub(super) fn decoded(wire: WireFormat, content_type: &str, bytes: &[u8]) -> ModelAnswer {
    pieces(wire, content_type, std::iter::once(bytes))
}

fn pieces<'a>(
    wire: WireFormat,
    content_type: &str,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> ModelAnswer {
    let mut decoder = decoder(wire, content_type);
    let mut parts: Vec<_> = pieces.flat_map(|bytes| decoder.push_bytes(bytes)).collect();
    assert!(!parts.iter().any(|part| matches!(part, AnswerPart::Call(_) | AnswerPart::End(_))));
    parts.extend(decoder.finish());
    let ends = parts.iter().filter(|part| matches!(part, AnswerPart::End(_))).count();
    assert!(ends == 1 && matches!(parts.last(), Some(AnswerPart::End(_))));
    ModelAnswer::from_parts(parts)
}

fn written_sse(events: &[Json]) -> Vec<u8> {
    events.iter().flat_map(|it| format!("event: x\ndata: {it}\n\n").into_bytes()).collect()
}

/// Decodes a stream of events, once whole and once byte by byte.
pub(super) fn sse(wire: WireFormat, events: &[Json]) -> ModelAnswer {
    let bytes = written_sse(events);
    let answer = decoded(wire, "text/event-stream; charset=utf-8", &bytes);
    let bytewise = pieces(wire, "text/event-stream", bytes.chunks(1));
    assert_eq!(answer, bytewise);
    answer
}

/// Decodes an answer that is not a stream.
pub(super) fn whole(wire: WireFormat, body: &Json) -> ModelAnswer {
    decoded(wire, "application/json", body.to_string().as_bytes())
}

/// A stream with a call: the bytes before its end, and its end.
struct Stream {
    wire: WireFormat,
    content_type: &'static str,
    begun: Vec<u8>,
    end: Vec<u8>,
}

impl Stream {
    fn of_events(wire: WireFormat, begun: &[Json], end: &[Json]) -> Self {
        let (begun, end) = (written_sse(begun), written_sse(end));
        Self { wire, content_type: "text/event-stream", begun, end }
    }

    fn whole(&self) -> Vec<u8> {
        [self.begun.as_slice(), &self.end].concat()
    }
}

fn anthropic() -> Stream {
    let tool = json!({"type": "tool_use", "id": "a", "name": "t", "input": {}});
    let delta = json!({"type": "input_json_delta", "partial_json": "{\"ü\":1}"});
    Stream::of_events(
        WireFormat::Anthropic,
        &[
            json!({"type": "message_start", "message": {"content": []}}),
            json!({"type": "content_block_start", "index": 0, "content_block": tool}),
            json!({"type": "content_block_delta", "index": 0, "delta": delta}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        ],
        &[json!({"type": "message_stop"})],
    )
}

fn openai_chat() -> Stream {
    let choice = |delta: Json, stop: Json| json!({"id": "c", "choices": [{"delta": delta, "finish_reason": stop}]});
    let call = json!({"index": 0, "id": "a", "function": {"name": "t", "arguments": "{}"}});
    let begun = [json!({"content": "ü"}), json!({"tool_calls": [call]})];
    let begun = begun.map(|delta| choice(delta, Json::Null));
    let end = [choice(json!({}), json!("tool_calls"))];
    let mut stream = Stream::of_events(WireFormat::OpenaiChat, &begun, &end);
    stream.end.extend_from_slice(b"data: [DONE]\n\n");
    stream
}

fn openai_responses() -> Stream {
    let item = json!({"type": "function_call", "call_id": "a", "name": "t", "arguments": "{}"});
    let event = |kind: &str| json!({"type": kind, "output_index": 0, "item": item});
    let begun = ["response.output_item.added", "response.output_item.done"].map(event);
    let response = json!({"status": "completed", "output": [item]});
    let end = [json!({"type": "response.completed", "response": response})];
    Stream::of_events(WireFormat::OpenaiResponses, &begun, &end)
}

fn gemini() -> Stream {
    let call = json!({"parts": [{"functionCall": {"name": "t", "args": {}}}]});
    let begun = [json!({"candidates": [{"content": call}]})];
    let end = [json!({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]})];
    Stream::of_events(WireFormat::Gemini, &begun, &end)
}

fn bedrock() -> Stream {
    let event = |name: &str, data: Json| {
        written(&[(":event-type", name), (":message-type", "event")], data.to_string().as_bytes())
    };
    let tool = json!({"toolUse": {"toolUseId": "a", "name": "t"}});
    let input = json!({"toolUse": {"input": "{\"ü\":1}"}});
    let begun = [
        event("messageStart", json!({})),
        event("contentBlockStart", json!({"contentBlockIndex": 0, "start": tool})),
        event("contentBlockDelta", json!({"contentBlockIndex": 0, "delta": input})),
    ];
    let end = [
        event("messageStop", json!({"stopReason": "tool_use"})),
        event("metadata", json!({"usage": {}})),
    ];
    Stream {
        wire: WireFormat::Bedrock,
        content_type: "application/vnd.amazon.eventstream",
        begun: begun.concat(),
        end: end.concat(),
    }
}

fn ollama() -> Stream {
    let call = json!({"function": {"name": "t", "arguments": {}}});
    let begun = json!({"message": {"content": "ü", "tool_calls": [call]}, "done": false});
    let end = json!({"message": {"content": ""}, "done": true, "done_reason": "stop"});
    let line = |line: Json| format!("{line}\n").into_bytes();
    let (begun, end) = (line(begun), line(end));
    Stream { wire: WireFormat::Ollama, content_type: "application/x-ndjson", begun, end }
}

fn streams() -> [Stream; 6] {
    [anthropic(), openai_chat(), openai_responses(), gemini(), bedrock(), ollama()]
}

#[test]
fn truncated_stream_has_no_calls() {
    for stream in streams() {
        let (all, Stream { wire, content_type, begun, .. }) = (stream.whole(), stream);
        for cut in 0..=begun.len() {
            for size in [1, 7, all.len()] {
                let answer = pieces(wire, content_type, all[..cut].chunks(size));
                assert_eq!(answer.end.outcome, AnswerOutcome::Incomplete, "{wire} {cut} {size}");
                assert_eq!(answer.calls, [], "{wire} {cut} {size}");
            }
        }
        for size in [1, 7, all.len()] {
            let answer = pieces(wire, content_type, all.chunks(size));
            assert_eq!(
                (answer.end.outcome, answer.runnable_calls().len()),
                (AnswerOutcome::Ok, 1),
                "{wire}"
            );
        }
    }
}

#[test]
fn damaged_streams_neither_panic_nor_run_cut_calls() {
    const TYPES: [&str; 5] = [
        "text/event-stream",
        "application/json",
        "application/x-ndjson",
        "",
        "application/vnd.amazon.eventstream",
    ];
    let streams = streams();
    check_seeds(0..20_000, |draws| {
        let stream = &streams[draws.below(streams.len())];
        let cut = draws.below(3) > 0;
        let mut bytes = if cut { stream.begun.clone() } else { stream.whole() };
        for _ in 0..draws.below(4) {
            let at = draws.below(bytes.len());
            match draws.below(4) {
                0 => bytes[at] = draws.below(256) as u8,
                1 => drop(bytes.drain(at..(at + draws.below(9)).min(bytes.len()))),
                2 => bytes.insert(at, b"\n\r:{}[]\",\0"[draws.below(10)]),
                _ => {
                    let again = bytes[at..(at + draws.below(60)).min(bytes.len())].to_vec();
                    let to = draws.below(bytes.len());
                    bytes.splice(to..to, again);
                }
            }
        }
        let wire = if draws.below(4) == 0 { WireFormat::ALL[draws.below(6)] } else { stream.wire };
        let other = TYPES[draws.below(TYPES.len())];
        let content_type = if draws.below(4) == 0 { other } else { stream.content_type };
        let size = 1 + draws.below(40);
        let answer = pieces(wire, content_type, bytes.chunks(size));
        // The inserted bytes cannot form an end by draws.
        assert!(!cut || answer.runnable_calls().is_empty(), "{answer:?}");
    });
}

#[test]
fn body_format_is_detected_despite_content_type() {
    let chunk = json!({"id": "c", "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]});
    let body =
        json!({"id": "c", "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]});
    let events = format!(": hello\n\ndata: {chunk}\n\n");
    for content_type in ["application/json", "text/plain", "", "application/octet-stream"] {
        let answer = decoded(WireFormat::OpenaiChat, content_type, events.as_bytes());
        assert_eq!(
            (answer.text.as_str(), answer.end.outcome),
            ("Hi", AnswerOutcome::Ok),
            "{content_type}"
        );
        let bytewise = pieces(WireFormat::OpenaiChat, content_type, events.as_bytes().chunks(1));
        assert_eq!(answer, bytewise);
    }
    for content_type in ["text/event-stream", "text/plain", ""] {
        let text = format!("\u{feff} {body}");
        let answer = decoded(WireFormat::OpenaiChat, content_type, text.as_bytes());
        assert_eq!(
            (answer.text.as_str(), answer.end.outcome),
            ("Hi", AnswerOutcome::Ok),
            "{content_type}"
        );
    }
    for (body, outcome) in [
        ("<html>not found</html>", AnswerOutcome::Error),
        ("upstream connect error", AnswerOutcome::Error),
        ("", AnswerOutcome::Incomplete),
        ("{\"id\":\"c\",\"choices\":[{\"mess", AnswerOutcome::Incomplete),
        ("{\"error\":\"no such model\"}", AnswerOutcome::ErrorInBody),
        ("{\"error\":{\"message\":\"m\",\"type\":\"server_error\"}}", AnswerOutcome::ErrorInBody),
    ] {
        let answer = decoded(WireFormat::OpenaiChat, "application/json", body.as_bytes());
        assert_eq!(answer.end.outcome, outcome, "{body}");
    }
}

#[test]
fn error_in_mid_stream_fails_the_answer() {
    for Stream { wire, content_type, begun, end } in streams() {
        if wire == WireFormat::Bedrock {
            continue;
        }
        let error = json!({"error": {"type": "overloaded_error", "message": "Overloaded"}});
        let error = if wire == WireFormat::Ollama {
            format!("{error}\n")
        } else {
            format!("event: error\ndata: {error}\n\n")
        };
        let bytes = [begun, error.into_bytes(), end].concat();
        let answer = decoded(wire, content_type, &bytes);
        assert_eq!(answer.end.outcome, AnswerOutcome::ErrorInBody, "{wire}");
        assert_eq!(answer.calls, []);
        let failure = answer.end.failure.unwrap();
        assert_eq!((failure.message.as_str(), failure.is_retryable), ("Overloaded", true));
    }
}

#[test]
fn decoder_is_over_after_the_end_event() {
    for Stream { wire, content_type, begun, end } in streams() {
        let mut decoder = decoder(wire, content_type);
        decoder.push_bytes(&begun);
        assert!(!decoder.is_over(), "{wire}");
        decoder.push_bytes(&end);
        // Gemini has no end except that of the bytes.
        assert_eq!(decoder.is_over(), wire != WireFormat::Gemini, "{wire}");
        assert_eq!(decoder.push_bytes(b"\xff{}]"), []);
    }
}

#[test]
fn huge_token_counts_do_not_overflow() {
    let most = u64::MAX;
    for (wire, body) in [
        (
            WireFormat::Anthropic,
            json!({"content": [], "stop_reason": "end_turn", "usage": {"input_tokens": most,
                "output_tokens": 1e300, "cache_read_input_tokens": most}}),
        ),
        (
            WireFormat::OpenaiChat,
            json!({"choices": [{"message": {}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": most, "completion_tokens": most}}),
        ),
        (
            WireFormat::OpenaiResponses,
            json!({"status": "completed", "output": [{"type": "message"}],
                "usage": {"input_tokens": most, "output_tokens": most}}),
        ),
        (
            WireFormat::Gemini,
            json!({"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": most, "candidatesTokenCount": most,
                    "thoughtsTokenCount": most, "toolUsePromptTokenCount": most}}),
        ),
        (
            WireFormat::Bedrock,
            json!({"output": {"message": {"content": []}}, "stopReason": "end_turn",
                "usage": {"inputTokens": most, "outputTokens": most, "cacheReadInputTokens": most}}),
        ),
        (
            WireFormat::Ollama,
            json!({"message": {}, "done": true, "prompt_eval_count": most, "eval_count": most}),
        ),
    ] {
        let answer = whole(wire, &body);
        assert_eq!(answer.end.outcome, AnswerOutcome::Ok, "{wire}");
        let usage = answer.usage.unwrap();
        assert_eq!((usage.prompt, usage.generated), (most, most), "{wire}");
    }
}

#[test]
fn wire_format_names_round_trip() {
    for wire in WireFormat::ALL {
        assert_eq!(wire.name().parse(), Ok(wire));
    }
    let error = "smoke".parse::<WireFormat>().unwrap_err().to_string();
    assert!(
        error.starts_with("there is no wire \"smoke\"; the wires are anthropic_messages, "),
        "{error}"
    );
}
