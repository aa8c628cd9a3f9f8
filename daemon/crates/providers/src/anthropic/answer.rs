//! Decodes answers of Anthropic's Messages API.
//!
//! Blocks are started, extended and stopped by index. `message_delta` holds the stop reason, and
//! `message_stop` ends the message. Source:
//! <https://docs.claude.com/en/docs/build-with-claude/streaming>.

use serde_json::{Value as Json, json};

use super::super::answer::TokenUsage;
use super::super::answer_builder::{
    AnswerBuilder, ArgumentBuffer, FinishKind, PartialCall, append_text, member_count, member_list,
    member_text,
};
use super::super::decode::AnswerDecoder;

#[derive(Debug, Default)]
pub(in super::super) struct AnthropicDecoder {
    blocks: Vec<AnthropicBlock>,
    stop_reason: Option<String>,
    counts: TokenCounts,
}

/// A content block of the message.
#[derive(Debug)]
struct AnthropicBlock {
    index: Option<u64>,
    /// The block in the form that is replayed.
    json: Json,
    /// The index of its call in the builder; None if it is not a call.
    call_index: Option<usize>,
}

/// The latest value of each count: those at the end of the stream override those at the beginning.
#[derive(Debug, Default, Clone, Copy)]
struct TokenCounts {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    thinking: Option<u64>,
}

impl AnswerDecoder for AnthropicDecoder {
    fn handle_event(&mut self, name: &str, data: &Json, draft: &mut AnswerBuilder) {
        let kind = match member_text(data, "type") {
            "" => name,
            kind => kind,
        };
        match kind {
            "message_start" => self.begin_message(&data["message"], draft),
            "content_block_start" => {
                let index = data["index"].as_u64().or(Some(self.blocks.len() as u64));
                self.add_block(index, &data["content_block"], draft);
            }
            "content_block_delta" => self.add_delta(data, draft),
            "message_delta" => {
                self.count_tokens(&data["usage"], draft);
                if let Some(stop) = data["delta"]["stop_reason"].as_str() {
                    self.stop_reason = Some(stop.to_owned());
                }
            }
            "message_stop" => {
                self.end_message(draft);
                draft.is_over = true;
            }
            _ => {}
        }
    }

    fn handle_body(&mut self, body: &Json, draft: &mut AnswerBuilder) {
        if !body["content"].is_array() && body["stop_reason"].is_null() {
            draft.fail_retryable("the answer is not an Anthropic message".to_owned());
            return;
        }
        self.begin_message(body, draft);
        self.end_message(draft);
    }

    fn handle_end(&mut self, draft: &mut AnswerBuilder) {
        let has_thoughts = self.blocks.iter().any(|block| {
            matches!(member_text(&block.json, "type"), "thinking" | "redacted_thinking")
        });
        if !has_thoughts {
            return;
        }
        let blocks = std::mem::take(&mut self.blocks).into_iter().map(|mut block| {
            if let Some(call) = block.call_index.and_then(|call| draft.calls.get(call)) {
                block.json["input"] = call.parse_arguments().unwrap_or_else(
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

impl AnthropicDecoder {
    /// Handles the beginning of a message, or a whole message.
    fn begin_message(&mut self, message: &Json, draft: &mut AnswerBuilder) {
        draft.has_message = true;
        self.count_tokens(&message["usage"], draft);
        for block in member_list(message, "content") {
            self.add_block(None, block, draft);
        }
        if let Some(stop) = message["stop_reason"].as_str() {
            self.stop_reason = Some(stop.to_owned());
        }
    }

    fn add_block(&mut self, index: Option<u64>, block: &Json, draft: &mut AnswerBuilder) {
        let mut call = None;
        match member_text(block, "type") {
            "text" => draft.push_text(member_text(block, "text")),
            "thinking" => draft.push_reasoning(member_text(block, "thinking")),
            "tool_use" => {
                let mut calling =
                    PartialCall::new(member_text(block, "id"), member_text(block, "name"));
                // A stream begins with `{}` and extends it; a whole block has all of its input
                // here.
                match &block["input"] {
                    Json::Object(input) if index.is_some() && input.is_empty() => {}
                    Json::Null => {}
                    Json::String(input) => calling.args = ArgumentBuffer::Text(input.clone()),
                    input => calling.args = ArgumentBuffer::Json(input.clone()),
                }
                draft.begin_call(calling);
                call = Some(draft.calls.len() - 1);
            }
            _ => {}
        }
        self.blocks.push(AnthropicBlock { index, json: block.clone(), call_index: call });
    }

    fn add_delta(&mut self, data: &Json, draft: &mut AnswerBuilder) {
        let (index, delta) = (data["index"].as_u64(), &data["delta"]);
        let same = |block: &&mut AnthropicBlock| index.is_none() || block.index == index;
        let block = self.blocks.iter_mut().rev().find(same);
        let (kind, mut nowhere) = (member_text(delta, "type"), json!({}));
        let call = block.as_ref().and_then(|block| block.call_index);
        let json = block.map_or(&mut nowhere, |block| &mut block.json);
        match kind {
            "text_delta" => {
                draft.push_text(member_text(delta, "text"));
                append_text(json, "text", member_text(delta, "text"));
            }
            "thinking_delta" => {
                draft.push_reasoning(member_text(delta, "thinking"));
                append_text(json, "thinking", member_text(delta, "thinking"));
            }
            "signature_delta" => append_text(json, "signature", member_text(delta, "signature")),
            // The blocks of the provider's server-side tools are filled like this too.
            "input_json_delta" => {
                if let Some(calling) = call.and_then(|call| draft.calls.get_mut(call)) {
                    let more = member_text(delta, "partial_json");
                    if !more.is_empty() && matches!(calling.args, ArgumentBuffer::Json(_)) {
                        calling.args = ArgumentBuffer::Text(String::new());
                    }
                    calling.push_arguments(&Json::from(more));
                }
            }
            _ => {}
        }
    }

    fn count_tokens(&mut self, usage: &Json, draft: &mut AnswerBuilder) {
        let counts = &mut self.counts;
        for (slot, name) in [
            (&mut counts.input, "input_tokens"),
            (&mut counts.output, "output_tokens"),
            (&mut counts.cache_read, "cache_read_input_tokens"),
            (&mut counts.cache_write, "cache_creation_input_tokens"),
        ] {
            *slot = member_count(usage, name).or(*slot);
        }
        counts.thinking =
            member_count(&usage["output_tokens_details"], "thinking_tokens").or(counts.thinking);
        if counts.input.is_none() && counts.output.is_none() {
            return;
        }
        let [input, output, cache_read, cache_write] =
            [counts.input, counts.output, counts.cache_read, counts.cache_write]
                .map(Option::unwrap_or_default);
        draft.usage = Some(TokenUsage {
            input,
            output,
            prompt: input.saturating_add(cache_read).saturating_add(cache_write),
            generated: output,
            cache_read,
            cache_write,
            reasoning: counts.thinking.unwrap_or_default(),
        });
    }

    /// Ends the message. Without a stop reason, it is not finished.
    fn end_message(&mut self, draft: &mut AnswerBuilder) {
        let Some(stop) = self.stop_reason.take() else {
            return;
        };
        let finish = match stop.as_str() {
            "max_tokens" => FinishKind::TokenLimit,
            "model_context_window_exceeded" => FinishKind::WindowFull,
            "refusal" => FinishKind::Refused,
            _ => FinishKind::Done,
        };
        draft.finish(&stop, finish);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::AnswerOutcome;
    use crate::tests::{sse, whole};
    use crate::wire::WireFormat;

    fn events(middle: &[Json], stop: &str) -> Vec<Json> {
        let mut events = vec![json!({"type": "message_start", "message": {"content": [],
            "stop_reason": null, "usage": {"input_tokens": 5, "output_tokens": 1}}})];
        events.extend_from_slice(middle);
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop},
            "usage": {"output_tokens": 9}}));
        events.push(json!({"type": "message_stop"}));
        events
    }

    fn start(index: u64, block: Json) -> Json {
        json!({"type": "content_block_start", "index": index, "content_block": block})
    }

    fn delta(index: u64, delta: Json) -> Json {
        json!({"type": "content_block_delta", "index": index, "delta": delta})
    }

    fn input(index: u64, text: &str) -> Json {
        delta(index, json!({"type": "input_json_delta", "partial_json": text}))
    }

    fn tool(id: &str) -> Json {
        json!({"type": "tool_use", "id": id, "name": "t", "input": {}})
    }

    #[test]
    fn content_blocks_are_joined_by_index() {
        let middle = [
            start(0, json!({"type": "text", "text": ""})),
            delta(0, json!({"type": "text_delta", "text": "Hi"})),
            json!({"type": "ping"}),
            start(1, tool("a")),
            start(2, tool("b")),
            input(2, "{\"x\":"),
            input(1, "{\"y\":1}"),
            input(2, "2}"),
            json!({"type": "content_block_stop", "index": 1}),
            json!({"type": "something_new", "index": 1}),
        ];
        let answer = sse(WireFormat::Anthropic, &events(&middle, "tool_use"));
        assert_eq!((answer.end.outcome, answer.text.as_str()), (AnswerOutcome::Ok, "Hi"));
        let args: Vec<_> = answer.calls.iter().map(|call| call.args.clone().unwrap()).collect();
        assert_eq!(args, [json!({"y": 1}), json!({"x": 2})]);
        let usage = answer.usage.unwrap();
        assert_eq!((usage.input, usage.output), (5, 9));
        assert_eq!(answer.end.replay, None);
    }

    #[test]
    fn thinking_blocks_are_replayed_unchanged() {
        let middle = [
            start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
            delta(0, json!({"type": "thinking_delta", "thinking": "Hm"})),
            delta(0, json!({"type": "thinking_delta", "thinking": "."})),
            delta(0, json!({"type": "signature_delta", "signature": "c2ln"})),
            start(1, json!({"type": "redacted_thinking", "data": "eA=="})),
            start(2, tool("a")),
            input(2, "{\"x\":1}"),
        ];
        let answer = sse(WireFormat::Anthropic, &events(&middle, "tool_use"));
        assert_eq!(answer.reasoning, "Hm.");
        assert_eq!(
            answer.end.replay.unwrap(),
            json!([
                {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "eA=="},
                {"type": "tool_use", "id": "a", "name": "t", "input": {"x": 1}},
            ])
        );
    }

    #[test]
    fn stop_reasons_map_to_outcomes() {
        let middle = [start(0, tool("a")), input(0, "{\"x\":")];
        for (stop, outcome) in [
            ("tool_use", AnswerOutcome::Ok),
            ("max_tokens", AnswerOutcome::Truncated),
            ("model_context_window_exceeded", AnswerOutcome::Truncated),
            ("refusal", AnswerOutcome::Refused),
        ] {
            let answer = sse(WireFormat::Anthropic, &events(&middle, stop));
            assert_eq!(answer.end.outcome, outcome, "{stop}");
            assert_eq!(answer.end.stop_reason.as_deref(), Some(stop));
        }
        let mut cut = events(&middle, "tool_use");
        cut.pop();
        assert_eq!(sse(WireFormat::Anthropic, &cut).end.outcome, AnswerOutcome::Incomplete);
        let error = json!({"type": "error", "error": {"type": "api_error", "message": "m"}});
        cut.push(error);
        let answer = sse(WireFormat::Anthropic, &cut);
        assert_eq!(answer.end.outcome, AnswerOutcome::ErrorInBody);
        assert!(answer.end.failure.unwrap().is_retryable);
    }

    #[test]
    fn delta_without_index_extends_last_block() {
        let middle = [
            start(0, tool("a")),
            json!({"type": "content_block_delta",
                "delta": {"type": "input_json_delta", "partial_json": "{\"x\":1}"}}),
        ];
        let answer = sse(WireFormat::Anthropic, &events(&middle, "tool_use"));
        assert_eq!(answer.calls[0].args, Ok(json!({"x": 1})));
    }

    #[test]
    fn unstreamed_message_is_decoded() {
        let body = json!({"type": "message", "content": [
            {"type": "thinking", "thinking": "Hm", "signature": "c2ln"},
            {"type": "text", "text": "Hi"},
            {"type": "tool_use", "id": "a", "name": "t", "input": {}},
        ], "stop_reason": "tool_use", "usage": {"input_tokens": 5, "output_tokens": 7,
            "cache_read_input_tokens": 11, "cache_creation_input_tokens": 13}});
        let answer = whole(WireFormat::Anthropic, &body);
        assert_eq!((answer.text.as_str(), answer.reasoning.as_str()), ("Hi", "Hm"));
        assert_eq!(answer.runnable_calls()[0].args, Ok(json!({})));
        assert_eq!(answer.usage.unwrap().prompt, 29);
        assert_eq!(answer.end.replay.unwrap(), body["content"]);
        assert_eq!(
            whole(WireFormat::Anthropic, &json!({"a": 1})).end.outcome,
            AnswerOutcome::Error
        );
    }
}
