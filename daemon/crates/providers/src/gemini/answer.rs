//! Answers of Google's Gemini.
//!
//! Each chunk holds parts; the one with a `finishReason` is the terminal event, and there is no
//! other. Parts may carry a `thoughtSignature`, empty ones too, and all of them go back in their
//! order. Source: <https://ai.google.dev/api/generate-content>.

use serde_json::{Value as Json, json};

use super::super::answer::Usage;
use super::super::decode::Spelling;
use super::super::draft::{Calling, Draft, Finish, append, count, list, text};

/// The wire.
#[derive(Debug, Default)]
pub(in super::super) struct Gemini {
    parts: Vec<Json>,
}

impl Spelling for Gemini {
    fn event(&mut self, _name: &str, data: &Json, draft: &mut Draft) {
        count_tokens(&data["usageMetadata"], draft);
        let blocked = text(&data["promptFeedback"], "blockReason");
        if !matches!(blocked, "" | "BLOCK_REASON_UNSPECIFIED") {
            draft.finish(blocked, Finish::Refused);
        }
        let first =
            list(data, "candidates").iter().find(|it| it["index"].as_u64().unwrap_or(0) == 0);
        let Some(candidate) = first else {
            return;
        };
        for part in list(&candidate["content"], "parts") {
            self.part(part, draft);
        }
        let stop = text(candidate, "finishReason");
        if !matches!(stop, "" | "FINISH_REASON_UNSPECIFIED") {
            draft.finish(stop, finish(stop));
        }
    }

    fn whole(&mut self, body: &Json, draft: &mut Draft) {
        let is_ours = ["candidates", "promptFeedback", "usageMetadata"]
            .iter()
            .any(|name| !body[*name].is_null());
        if !is_ours {
            draft.broken("the answer is none of Gemini's".to_owned());
            return;
        }
        self.event("", body, draft);
        if list(body, "candidates").is_empty() && !draft.is_finished() {
            draft.finish("", Finish::Done);
        }
    }

    fn end(&mut self, draft: &mut Draft) {
        if self.parts.iter().any(|part| !text(part, "thoughtSignature").is_empty()) {
            draft.set_replay(Json::Array(std::mem::take(&mut self.parts)));
        }
    }
}

fn finish(stop: &str) -> Finish {
    match stop {
        "STOP" => Finish::Done,
        "MAX_TOKENS" => Finish::Limit,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => Finish::Refused,
        // Malformed and unexpected calls, and what they call `OTHER`.
        _ => Finish::ModelError,
    }
}

impl Gemini {
    fn part(&mut self, part: &Json, draft: &mut Draft) {
        let is_signed = !text(part, "thoughtSignature").is_empty();
        let call = &part["functionCall"];
        if call.is_object() {
            let calling = draft.call(Calling::new(text(call, "id"), text(call, "name")));
            calling.is_signed = is_signed;
            calling.push(if call["args"].is_null() { &EMPTY } else { &call["args"] });
        } else if part["thought"] == true {
            draft.reason(text(part, "text"));
        } else if let Some(more) = part["text"].as_str() {
            draft.text(more);
        }
        self.keep(part, is_signed);
    }

    /// Keeps a part for the replay; texts that a stream cut into pieces are joined again.
    fn keep(&mut self, part: &Json, is_signed: bool) {
        // A text of nothing, with which some streams end, would be refused.
        if !is_signed && part["text"] == "" {
            return;
        }
        let is_plain =
            |part: &Json| part["text"].is_string() && text(part, "thoughtSignature").is_empty();
        let last = self.parts.last_mut().filter(|last| {
            is_plain(last) && part["text"].is_string() && last["thought"] == part["thought"]
        });
        match last {
            Some(last) if !is_signed => append(last, "text", text(part, "text")),
            _ => self.parts.push(part.clone()),
        }
    }
}

/// No arguments.
static EMPTY: std::sync::LazyLock<Json> = std::sync::LazyLock::new(|| json!({}));

fn count_tokens(usage: &Json, draft: &mut Draft) {
    let Some(input) = count(usage, "promptTokenCount") else {
        return;
    };
    let output = count(usage, "candidatesTokenCount").unwrap_or(0);
    // Thoughts are not counted among the candidates' tokens.
    let reasoning = count(usage, "thoughtsTokenCount").unwrap_or(0);
    let tools = count(usage, "toolUsePromptTokenCount").unwrap_or(0);
    draft.usage = Some(Usage {
        input,
        output,
        prompt: input.saturating_add(tools),
        generated: output.saturating_add(reasoning),
        cache_read: count(usage, "cachedContentTokenCount").unwrap_or(0),
        cache_write: 0,
        reasoning,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Answer, Outcome, Wire};
    use crate::tests::{sse, whole};

    fn chunk(parts: Json, stop: &str) -> Json {
        let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
        if !stop.is_empty() {
            candidate["finishReason"] = json!(stop);
        }
        json!({ "candidates": [candidate] })
    }

    fn stream(chunks: &[Json]) -> Answer {
        sse(Wire::Gemini, chunks)
    }

    #[test]
    fn parts_are_told_and_replayed_in_their_order() {
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
    fn ends_are_told_apart() {
        let call = json!([{"functionCall": {"name": "t", "args": {}}}]);
        for (stop, outcome) in [
            ("STOP", Outcome::Ok),
            ("", Outcome::Incomplete),
            ("FINISH_REASON_UNSPECIFIED", Outcome::Incomplete),
            ("MAX_TOKENS", Outcome::Ok),
            ("SAFETY", Outcome::Refused),
            ("PROHIBITED_CONTENT", Outcome::Refused),
            ("MALFORMED_FUNCTION_CALL", Outcome::ModelError),
            ("UNEXPECTED_TOOL_CALL", Outcome::ModelError),
        ] {
            let answer = stream(&[chunk(call.clone(), stop)]);
            assert_eq!(answer.end.outcome, outcome, "{stop}");
            assert_eq!(answer.calls.len(), usize::from(outcome == Outcome::Ok), "{stop}");
        }
        let empty = json!({"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]});
        assert_eq!(stream(&[empty]).end.outcome, Outcome::Empty);
        let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
        let answer = stream(std::slice::from_ref(&blocked));
        assert_eq!(answer.end.outcome, Outcome::Refused);
        assert_eq!(whole(Wire::Gemini, &blocked).end.stop.as_deref(), Some("SAFETY"));
        let error = json!({"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}});
        let failure = stream(&[chunk(call, ""), error]).end.failure.unwrap();
        assert!(failure.retryable);
    }

    #[test]
    fn whole_answers_and_lists_of_chunks_are_read_too() {
        let body = json!({"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 7,
                "thoughtsTokenCount": 11, "cachedContentTokenCount": 3}});
        let answer = whole(Wire::Gemini, &body);
        let usage = answer.usage.unwrap();
        assert_eq!((answer.text.as_str(), usage.input, usage.output), ("a", 5, 7));
        assert_eq!((usage.generated, usage.cache_read), (18, 3));
        let chunks =
            json!([chunk(json!([{"text": "a"}]), ""), chunk(json!([{"text": "b"}]), "STOP")]);
        assert_eq!(whole(Wire::Gemini, &chunks).text, "ab");
        let nothing = json!({"usageMetadata": {"promptTokenCount": 5}});
        assert_eq!(whole(Wire::Gemini, &nothing).end.outcome, Outcome::Empty);
        assert_eq!(whole(Wire::Gemini, &json!({"a": 1})).end.outcome, Outcome::Error);
    }
}
