//! Decodes answers of Google's Gemini.
//!
//! Each chunk holds parts. The chunk with a `finishReason` is the terminal event; there is no
//! other. Parts, even empty ones, may carry a `thoughtSignature`, and all parts are replayed in
//! order. Source: <https://ai.google.dev/api/generate-content>.

use serde_json::{Value as Json, json};

use super::super::answer::TokenUsage;
use super::super::answer_builder::{
    AnswerBuilder, FinishKind, PartialCall, append_text, member_count, member_list, member_text,
};
use super::super::decode::AnswerDecoder;

#[derive(Debug, Default)]
pub(in super::super) struct GeminiDecoder {
    parts: Vec<Json>,
}

impl AnswerDecoder for GeminiDecoder {
    fn handle_event(&mut self, _name: &str, data: &Json, draft: &mut AnswerBuilder) {
        count_tokens(&data["usageMetadata"], draft);
        let blocked = member_text(&data["promptFeedback"], "blockReason");
        if !matches!(blocked, "" | "BLOCK_REASON_UNSPECIFIED") {
            draft.finish(blocked, FinishKind::Refused);
        }
        let first = member_list(data, "candidates")
            .iter()
            .find(|it| it["index"].as_u64().unwrap_or(0) == 0);
        let Some(candidate) = first else {
            return;
        };
        for part in member_list(&candidate["content"], "parts") {
            self.add_part(part, draft);
        }
        let stop = member_text(candidate, "finishReason");
        if !matches!(stop, "" | "FINISH_REASON_UNSPECIFIED") {
            draft.finish(stop, finish_kind(stop));
        }
    }

    fn handle_body(&mut self, body: &Json, draft: &mut AnswerBuilder) {
        let is_ours = ["candidates", "promptFeedback", "usageMetadata"]
            .iter()
            .any(|name| !body[*name].is_null());
        if !is_ours {
            draft.fail_retryable("the answer is not a Gemini response".to_owned());
            return;
        }
        self.handle_event("", body, draft);
        if member_list(body, "candidates").is_empty() && !draft.is_finished() {
            draft.finish("", FinishKind::Done);
        }
    }

    fn handle_end(&mut self, draft: &mut AnswerBuilder) {
        if self.parts.iter().any(|part| !member_text(part, "thoughtSignature").is_empty()) {
            draft.set_replay(Json::Array(std::mem::take(&mut self.parts)));
        }
    }
}

fn finish_kind(stop: &str) -> FinishKind {
    match stop {
        "STOP" => FinishKind::Done,
        "MAX_TOKENS" => FinishKind::TokenLimit,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => FinishKind::Refused,
        // Malformed and unexpected calls, and the reason `OTHER`.
        _ => FinishKind::ModelError,
    }
}

impl GeminiDecoder {
    fn add_part(&mut self, part: &Json, draft: &mut AnswerBuilder) {
        let is_signed = !member_text(part, "thoughtSignature").is_empty();
        let call = &part["functionCall"];
        if call.is_object() {
            let calling = draft
                .begin_call(PartialCall::new(member_text(call, "id"), member_text(call, "name")));
            calling.is_signed = is_signed;
            calling.push_arguments(if call["args"].is_null() {
                &EMPTY_ARGS
            } else {
                &call["args"]
            });
        } else if part["thought"] == true {
            draft.push_reasoning(member_text(part, "text"));
        } else if let Some(more) = part["text"].as_str() {
            draft.push_text(more);
        }
        self.keep_for_replay(part, is_signed);
    }

    /// Keeps a part for the replay. Texts that the stream split are joined again.
    fn keep_for_replay(&mut self, part: &Json, is_signed: bool) {
        // Some streams end with an empty text, which the API would reject in a request.
        if !is_signed && part["text"] == "" {
            return;
        }
        let is_plain = |part: &Json| {
            part["text"].is_string() && member_text(part, "thoughtSignature").is_empty()
        };
        let last = self.parts.last_mut().filter(|last| {
            is_plain(last) && part["text"].is_string() && last["thought"] == part["thought"]
        });
        match last {
            Some(last) if !is_signed => append_text(last, "text", member_text(part, "text")),
            _ => self.parts.push(part.clone()),
        }
    }
}

static EMPTY_ARGS: std::sync::LazyLock<Json> = std::sync::LazyLock::new(|| json!({}));

fn count_tokens(usage: &Json, draft: &mut AnswerBuilder) {
    let Some(input) = member_count(usage, "promptTokenCount") else {
        return;
    };
    let output = member_count(usage, "candidatesTokenCount").unwrap_or(0);
    // Thinking tokens are not included in the candidates' tokens.
    let reasoning = member_count(usage, "thoughtsTokenCount").unwrap_or(0);
    let tools = member_count(usage, "toolUsePromptTokenCount").unwrap_or(0);
    draft.usage = Some(TokenUsage {
        input,
        output,
        prompt: input.saturating_add(tools),
        generated: output.saturating_add(reasoning),
        cache_read: member_count(usage, "cachedContentTokenCount").unwrap_or(0),
        cache_write: 0,
        reasoning,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{AnswerOutcome, ModelAnswer};
    use crate::tests::{sse, whole};
    use crate::wire::WireFormat;

    fn chunk(parts: Json, stop: &str) -> Json {
        let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
        if !stop.is_empty() {
            candidate["finishReason"] = json!(stop);
        }
        json!({ "candidates": [candidate] })
    }

    fn stream(chunks: &[Json]) -> ModelAnswer {
        sse(WireFormat::Gemini, chunks)
    }

    #[test]
    fn parts_are_decoded_and_replayed_in_order() {
        let answer = stream(&[
            chunk(json!([{"text": "H", "thought": true}]), ""),
            chunk(json!([{"text": "m", "thought": true}]), ""),
            chunk(json!([{"text": "a"}]), ""),
            chunk(
                json!([{"text": "b"}, {"functionCall": {"name": "t", "args": {"x": 1}},
                "thoughtSignature": "s1"}, {"functionCall": {"id": "i", "name": "u"}}]),
                "",
            ),
            chunk(json!([{"text": "", "thoughtSignature": "s2"}]), "STOP"),
        ]);
        assert_eq!((answer.text.as_str(), answer.reasoning.as_str()), ("ab", "Hm"));
        let calls: Vec<_> =
            answer.calls.iter().map(|it| (it.id.as_deref(), it.is_signed)).collect();
        assert_eq!(calls, [(None, true), (Some("i"), false)]);
        assert_eq!(answer.calls[1].args, Ok(json!({})));
        assert_eq!(
            answer.end.replay.unwrap(),
            json!([
                {"text": "Hm", "thought": true},
                {"text": "ab"},
                {"functionCall": {"name": "t", "args": {"x": 1}}, "thoughtSignature": "s1"},
                {"functionCall": {"id": "i", "name": "u"}},
                {"text": "", "thoughtSignature": "s2"},
            ])
        );
        let plain = stream(&[chunk(json!([{"text": "a"}]), "STOP")]);
        assert_eq!(plain.end.replay, None);
    }

    #[test]
    fn finish_reasons_map_to_outcomes() {
        let call = json!([{"functionCall": {"name": "t", "args": {}}}]);
        for (stop, outcome) in [
            ("STOP", AnswerOutcome::Ok),
            ("", AnswerOutcome::Incomplete),
            ("FINISH_REASON_UNSPECIFIED", AnswerOutcome::Incomplete),
            ("MAX_TOKENS", AnswerOutcome::Ok),
            ("SAFETY", AnswerOutcome::Refused),
            ("PROHIBITED_CONTENT", AnswerOutcome::Refused),
            ("MALFORMED_FUNCTION_CALL", AnswerOutcome::ModelError),
            ("UNEXPECTED_TOOL_CALL", AnswerOutcome::ModelError),
        ] {
            let answer = stream(&[chunk(call.clone(), stop)]);
            assert_eq!(answer.end.outcome, outcome, "{stop}");
            assert_eq!(answer.calls.len(), usize::from(outcome == AnswerOutcome::Ok), "{stop}");
        }
        let empty = json!({"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]});
        assert_eq!(stream(&[empty]).end.outcome, AnswerOutcome::Empty);
        let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
        let answer = stream(std::slice::from_ref(&blocked));
        assert_eq!(answer.end.outcome, AnswerOutcome::Refused);
        assert_eq!(whole(WireFormat::Gemini, &blocked).end.stop_reason.as_deref(), Some("SAFETY"));
        let error = json!({"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}});
        let failure = stream(&[chunk(call, ""), error]).end.failure.unwrap();
        assert!(failure.is_retryable);
    }

    #[test]
    fn unstreamed_answers_and_chunk_lists_are_decoded() {
        let body = json!({"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 7,
                "thoughtsTokenCount": 11, "cachedContentTokenCount": 3}});
        let answer = whole(WireFormat::Gemini, &body);
        let usage = answer.usage.unwrap();
        assert_eq!((answer.text.as_str(), usage.input, usage.output), ("a", 5, 7));
        assert_eq!((usage.generated, usage.cache_read), (18, 3));
        let chunks =
            json!([chunk(json!([{"text": "a"}]), ""), chunk(json!([{"text": "b"}]), "STOP")]);
        assert_eq!(whole(WireFormat::Gemini, &chunks).text, "ab");
        let nothing = json!({"usageMetadata": {"promptTokenCount": 5}});
        assert_eq!(whole(WireFormat::Gemini, &nothing).end.outcome, AnswerOutcome::Empty);
        assert_eq!(whole(WireFormat::Gemini, &json!({"a": 1})).end.outcome, AnswerOutcome::Error);
    }
}
