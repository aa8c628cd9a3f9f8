//! Decodes answers of AWS Bedrock's Converse API.
//!
//! A stream is binary: a header names the event, and exceptions have their own message type.
//! `messageStop` is the terminal event, and the token usage comes after it. Source:
//! <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>.

use serde_json::{Value as Json, json};

use super::super::answer::TokenUsage;
use super::super::answer_builder::{
    AnswerBuilder, FinishKind, PartialCall, append_text, member_count, member_list, member_text,
};
use super::super::decode::AnswerDecoder;
use super::super::event_stream::StreamMessage;
use super::super::failure::{self, ResponseHead};

#[derive(Debug, Default)]
pub(in super::super) struct BedrockDecoder {
    blocks: Vec<BedrockBlock>,
}

/// A content block of the message.
#[derive(Debug)]
struct BedrockBlock {
    index: Option<u64>,
    /// The block in the form that is replayed.
    json: Json,
    /// The index of its call in the builder; None if it is not a call.
    call_index: Option<usize>,
}

/// Handles a message of the binary stream.
pub(in super::super) fn handle_message(
    message: &StreamMessage,
    wire: &mut dyn AnswerDecoder,
    draft: &mut AnswerBuilder,
) {
    let header = |name| message.header(name).unwrap_or_default();
    let payload = String::from_utf8_lossy(&message.payload);
    match header(":message-type") {
        "exception" => {
            let exception: Json = serde_json::from_str(&payload).unwrap_or_default();
            let text =
                [member_text(&exception, "message"), member_text(&exception, "Message"), &payload]
                    .into_iter()
                    .find(|it| !it.is_empty())
                    .unwrap_or_default()
                    .to_owned();
            report_failure(header(":exception-type"), &text, draft);
        }
        "error" => report_failure(header(":error-code"), header(":error-message"), draft),
        _ => match serde_json::from_str::<Json>(&payload) {
            Ok(data) => wire.handle_event(header(":event-type"), &data, draft),
            Err(error) => {
                draft.fail_retryable(format!("an event of the answer is not JSON: {error}"));
            }
        },
    }
}

fn report_failure(kind: &str, message: &str, draft: &mut AnswerBuilder) {
    let error = json!({ "error": { "type": kind, "message": message } });
    draft.set_failure(failure::from_object(&error, &ResponseHead::default()));
}

impl AnswerDecoder for BedrockDecoder {
    fn handle_event(&mut self, name: &str, data: &Json, draft: &mut AnswerBuilder) {
        // Without the binary framing, the single member's name is the event's name.
        let member = data.as_object().filter(|members| name.is_empty() && members.len() == 1);
        let (name, data) = match member.and_then(|members| members.iter().next()) {
            Some((name, data)) => (name.as_str(), data),
            None => (name, data),
        };
        let index = data["contentBlockIndex"].as_u64();
        match name {
            "messageStart" => draft.has_message = true,
            "contentBlockStart" => {
                let index = index.or(Some(self.blocks.len() as u64));
                let start = &data["start"];
                let mut call = None;
                if start["toolUse"].is_object() {
                    call = Some(begin_call(&start["toolUse"], draft));
                }
                self.blocks.push(BedrockBlock { index, json: start.clone(), call_index: call });
            }
            "contentBlockDelta" => self.add_delta(index, &data["delta"], draft),
            "messageStop" => end_message(member_text(data, "stopReason"), draft),
            "metadata" => {
                count_tokens(&data["usage"], draft);
                draft.is_over = draft.is_finished();
            }
            name if name.ends_with("Exception") => {
                report_failure(name, member_text(data, "message"), draft);
            }
            _ => {}
        }
    }

    fn handle_body(&mut self, body: &Json, draft: &mut AnswerBuilder) {
        let message = &body["output"]["message"];
        if !message.is_object() && body["stopReason"].is_null() {
            draft.fail_retryable("the answer is not a Converse response".to_owned());
            return;
        }
        draft.has_message = message.is_object();
        for block in member_list(message, "content") {
            let mut call = None;
            draft.push_text(member_text(block, "text"));
            draft.push_reasoning(member_text(&block["reasoningContent"]["reasoningText"], "text"));
            if block["toolUse"].is_object() {
                let at = begin_call(&block["toolUse"], draft);
                draft.calls[at].push_arguments(&block["toolUse"]["input"]);
                call = Some(at);
            }
            self.blocks.push(BedrockBlock { index: None, json: block.clone(), call_index: call });
        }
        count_tokens(&body["usage"], draft);
        end_message(member_text(body, "stopReason"), draft);
    }

    fn handle_end(&mut self, draft: &mut AnswerBuilder) {
        if !self.blocks.iter().any(|block| block.json["reasoningContent"].is_object()) {
            return;
        }
        let blocks = std::mem::take(&mut self.blocks).into_iter().map(|mut block| {
            if let Some(call) = block.call_index.and_then(|call| draft.calls.get(call)) {
                block.json["toolUse"]["input"] = call.parse_arguments().unwrap_or_else(
                    // The API only accepts an object here. The text shows the model what it wrote.
                    |malformed| json!({ "malformed_arguments": malformed.text }),
                );
            }
            block.json
        });
        let blocks = blocks.collect();
        draft.set_replay(Json::Array(blocks));
    }
}

impl BedrockDecoder {
    fn add_delta(&mut self, index: Option<u64>, delta: &Json, draft: &mut AnswerBuilder) {
        let same = |block: &BedrockBlock| index.is_none() || block.index == index;
        let at = self.blocks.iter().rposition(same).unwrap_or_else(|| {
            // Text blocks have no start event.
            let index = index.or(Some(self.blocks.len() as u64));
            self.blocks.push(BedrockBlock { index, json: json!({}), call_index: None });
            self.blocks.len() - 1
        });
        let block = &mut self.blocks[at];
        if !block.json.is_object() {
            block.json = json!({});
        }
        if let Some(more) = delta["text"].as_str() {
            draft.push_text(more);
            append_text(&mut block.json, "text", more);
        }
        if let Some(calling) = block.call_index.and_then(|call| draft.calls.get_mut(call)) {
            calling.push_arguments(&delta["toolUse"]["input"]);
        }
        let reasoning = &delta["reasoningContent"];
        if let Some(redacted) = reasoning["redactedContent"].as_str() {
            block.json = json!({ "reasoningContent": { "redactedContent": redacted } });
        }
        for name in ["text", "signature"] {
            let Some(more) = reasoning[name].as_str() else {
                continue;
            };
            if !block.json["reasoningContent"]["reasoningText"].is_object() {
                block.json = json!({ "reasoningContent": { "reasoningText": {} } });
            }
            append_text(&mut block.json["reasoningContent"]["reasoningText"], name, more);
        }
        draft.push_reasoning(member_text(reasoning, "text"));
    }
}

/// Begins a call and returns its index.
fn begin_call(tool: &Json, draft: &mut AnswerBuilder) -> usize {
    draft.begin_call(PartialCall::new(member_text(tool, "toolUseId"), member_text(tool, "name")));
    draft.calls.len() - 1
}

fn end_message(stop: &str, draft: &mut AnswerBuilder) {
    let finish = match stop {
        "" => return,
        "max_tokens" => FinishKind::TokenLimit,
        "model_context_window_exceeded" => FinishKind::WindowFull,
        "guardrail_intervened" | "content_filtered" | "refusal" => FinishKind::Refused,
        "malformed_model_output" | "malformed_tool_use" => FinishKind::ModelError,
        _ => FinishKind::Done,
    };
    draft.finish(stop, finish);
}

fn count_tokens(usage: &Json, draft: &mut AnswerBuilder) {
    let (Some(input), Some(output)) =
        (member_count(usage, "inputTokens"), member_count(usage, "outputTokens"))
    else {
        return;
    };
    let cache_read = member_count(usage, "cacheReadInputTokens").unwrap_or(0);
    let cache_write = member_count(usage, "cacheWriteInputTokens").unwrap_or(0);
    draft.usage = Some(TokenUsage {
        input,
        output,
        prompt: input.saturating_add(cache_read).saturating_add(cache_write),
        generated: output,
        cache_read,
        cache_write,
        reasoning: 0,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{AnswerOutcome, ModelAnswer};
    use crate::event_stream::tests::written;
    use crate::tests::{decoded, whole};
    use crate::wire::WireFormat;

    fn event(name: &str, data: Json) -> Vec<u8> {
        written(&[(":event-type", name), (":message-type", "event")], data.to_string().as_bytes())
    }

    fn delta(index: u64, delta: Json) -> Vec<u8> {
        event("contentBlockDelta", json!({"contentBlockIndex": index, "delta": delta}))
    }

    fn begun() -> Vec<u8> {
        let tool = json!({"toolUse": {"toolUseId": "a", "name": "t"}});
        [
            event("messageStart", json!({"role": "assistant"})),
            delta(0, json!({"reasoningContent": {"text": "H"}})),
            delta(0, json!({"reasoningContent": {"text": "m"}})),
            delta(0, json!({"reasoningContent": {"signature": "s"}})),
            delta(1, json!({"text": "Hi"})),
            event("contentBlockStart", json!({"contentBlockIndex": 2, "start": tool})),
            delta(2, json!({"toolUse": {"input": "{\"x\":"}})),
            delta(2, json!({"toolUse": {"input": "1}"}})),
            event("contentBlockStop", json!({"contentBlockIndex": 2})),
        ]
        .concat()
    }

    fn stream(last: &[Vec<u8>]) -> ModelAnswer {
        let bytes = [begun(), last.concat()].concat();
        decoded(WireFormat::Bedrock, "application/vnd.amazon.eventstream", &bytes)
    }

    fn stopped(reason: &str) -> Vec<u8> {
        event("messageStop", json!({ "stopReason": reason }))
    }

    #[test]
    fn content_blocks_are_joined_and_replayed() {
        let usage =
            json!({"usage": {"inputTokens": 5, "outputTokens": 7, "cacheReadInputTokens": 3}});
        let answer = stream(&[stopped("tool_use"), event("metadata", usage)]);
        assert_eq!(answer.end.outcome, AnswerOutcome::Ok);
        assert_eq!((answer.text.as_str(), answer.reasoning.as_str()), ("Hi", "Hm"));
        assert_eq!(answer.calls[0].args, Ok(json!({"x": 1})));
        let usage = answer.usage.unwrap();
        assert_eq!((usage.input, usage.prompt), (5, 8));
        assert_eq!(
            answer.end.replay.unwrap(),
            json!([
                {"reasoningContent": {"reasoningText": {"text": "Hm", "signature": "s"}}},
                {"text": "Hi"},
                {"toolUse": {"toolUseId": "a", "name": "t", "input": {"x": 1}}},
            ])
        );
    }

    #[test]
    fn stop_reasons_map_to_outcomes() {
        for (stop, outcome) in [
            ("tool_use", AnswerOutcome::Ok),
            ("max_tokens", AnswerOutcome::Ok),
            ("guardrail_intervened", AnswerOutcome::Refused),
            ("malformed_tool_use", AnswerOutcome::ModelError),
        ] {
            assert_eq!(stream(&[stopped(stop)]).end.outcome, outcome, "{stop}");
        }
        assert_eq!(stream(&[]).end.outcome, AnswerOutcome::Incomplete);
        let open = delta(2, json!({"toolUse": {"input": "{"}}));
        assert_eq!(stream(&[open, stopped("max_tokens")]).end.outcome, AnswerOutcome::Truncated);
    }

    #[test]
    fn exceptions_and_damaged_messages_are_errors() {
        for (kind, retryable) in [
            ("throttlingException", true),
            ("internalServerException", true),
            ("modelStreamErrorException", true),
            ("validationException", false),
        ] {
            let headers = [(":message-type", "exception"), (":exception-type", kind)];
            let answer = stream(&[written(&headers, b"{\"message\":\"m\"}"), stopped("tool_use")]);
            assert_eq!((answer.end.outcome, answer.calls.len()), (AnswerOutcome::ErrorInBody, 0));
            let failure = answer.end.failure.unwrap();
            assert_eq!(failure.kind.as_deref(), Some(kind));
            assert_eq!((failure.message.as_str(), failure.is_retryable), ("m", retryable));
        }
        let mut damaged = stopped("tool_use");
        let last = damaged.len() - 1;
        damaged[last] ^= 1;
        let answer = stream(&[damaged]);
        assert_eq!((answer.end.outcome, answer.calls.len()), (AnswerOutcome::Error, 0));
    }

    #[test]
    fn unstreamed_answer_is_decoded() {
        let body = json!({"output": {"message": {"role": "assistant", "content": [
            {"text": "Hi"}, {"toolUse": {"toolUseId": "a", "name": "t", "input": {"x": 1}}}]}},
            "stopReason": "tool_use", "usage": {"inputTokens": 5, "outputTokens": 7}});
        let answer = whole(WireFormat::Bedrock, &body);
        assert_eq!((answer.text.as_str(), answer.runnable_calls().len()), ("Hi", 1));
        assert_eq!(answer.calls[0].args, Ok(json!({"x": 1})));
        assert_eq!(whole(WireFormat::Bedrock, &json!({"a": 1})).end.outcome, AnswerOutcome::Error);
    }
}
