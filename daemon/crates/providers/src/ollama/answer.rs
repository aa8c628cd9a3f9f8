//! Decodes answers of Ollama's chat API.
//!
//! Each line is a JSON object, and the one with `done` is the terminal event. Calls arrive whole,
//! with their arguments as an object; older versions give them no id. Source:
//! <https://docs.ollama.com/api/chat>.

use serde_json::{Value as Json, json};

use super::super::answer::TokenUsage;
use super::super::answer_builder::{
    AnswerBuilder, FinishKind, PartialCall, member_count, member_list, member_text,
};
use super::super::decode::AnswerDecoder;

#[derive(Debug, Default)]
pub(in super::super) struct OllamaDecoder {
    thinking: String,
}

impl AnswerDecoder for OllamaDecoder {
    fn handle_event(&mut self, _name: &str, data: &Json, draft: &mut AnswerBuilder) {
        let message = &data["message"];
        if message.is_object() && data["done_reason"] != "load" {
            draft.push_text(member_text(message, "content"));
            self.thinking.push_str(member_text(message, "thinking"));
            draft.push_reasoning(member_text(message, "thinking"));
        }
        for call in member_list(message, "tool_calls") {
            let function = &call["function"];
            let calling = draft.begin_call(PartialCall::new(
                member_text(call, "id"),
                member_text(function, "name"),
            ));
            calling.push_arguments(&function["arguments"]);
        }
        if data["done"] != true {
            return;
        }
        if let (Some(input), Some(output)) =
            (member_count(data, "prompt_eval_count").or(Some(0)), member_count(data, "eval_count"))
        {
            draft.usage = Some(TokenUsage {
                input,
                output,
                prompt: input,
                generated: output,
                ..TokenUsage::default()
            });
        }
        let stop = member_text(data, "done_reason");
        draft
            .finish(stop, if stop == "length" { FinishKind::TokenLimit } else { FinishKind::Done });
        draft.is_over = true;
    }

    fn handle_body(&mut self, body: &Json, draft: &mut AnswerBuilder) {
        if body["done"].is_boolean() || body["message"].is_object() {
            self.handle_event("", body, draft);
        } else {
            draft.fail_retryable("the answer is not an Ollama chat response".to_owned());
        }
    }

    fn handle_end(&mut self, draft: &mut AnswerBuilder) {
        if !self.thinking.is_empty() && !draft.calls.is_empty() {
            draft.set_replay(json!({ "thinking": self.thinking }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{AnswerOutcome, ModelAnswer};
    use crate::tests::{decoded, whole};
    use crate::wire::WireFormat;

    fn stream(lines: &[Json]) -> ModelAnswer {
        let text: Vec<_> = lines.iter().map(Json::to_string).collect();
        decoded(WireFormat::Ollama, "application/x-ndjson", (text.join("\n") + "\n").as_bytes())
    }

    fn said(message: Json) -> Json {
        json!({"model": "m", "message": message, "done": false})
    }

    fn done(reason: &str) -> Json {
        json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
            "prompt_eval_count": 5, "eval_count": 7})
    }

    #[test]
    fn stream_lines_are_joined() {
        let answer = stream(&[
            said(json!({"content": "", "thinking": "Hm"})),
            said(json!({"content": "H"})),
            said(json!({"content": "i"})),
            said(json!({"content": "", "tool_calls": [
                {"function": {"name": "t", "arguments": {"x": 1}}},
                {"id": "b", "function": {"index": 1, "name": "t", "arguments": "{\"x\":2}"}}]})),
            done("stop"),
        ]);
        assert_eq!((answer.text.as_str(), answer.reasoning.as_str()), ("Hi", "Hm"));
        assert_eq!(answer.end.replay.clone().unwrap(), json!({"thinking": "Hm"}));
        let ids: Vec<_> = answer.calls.iter().map(|call| call.id.as_deref()).collect();
        assert_eq!(ids, [None, Some("b")]);
        assert_eq!(answer.runnable_calls()[1].args, Ok(json!({"x": 2})));
        assert_eq!(answer.usage.unwrap().input, 5);
    }

    #[test]
    fn done_reasons_map_to_outcomes() {
        let call = said(json!({"tool_calls": [{"function": {"name": "t", "arguments": {}}}]}));
        let outcome = |lines: &[Json]| stream(lines).end.outcome;
        assert_eq!(outcome(std::slice::from_ref(&call)), AnswerOutcome::Incomplete);
        assert_eq!(outcome(&[call.clone(), done("stop")]), AnswerOutcome::Ok);
        assert_eq!(outcome(&[call.clone(), done("length")]), AnswerOutcome::Ok);
        assert_eq!(outcome(&[done("load")]), AnswerOutcome::Empty);
        let unnamed = json!({"message": {"content": "Hi"}, "done": true});
        assert_eq!(stream(&[unnamed]).end.stop_reason, None);
        let error = json!({"error": "an error was encountered while running the model"});
        let answer = stream(&[call, error]);
        assert_eq!(answer.end.outcome, AnswerOutcome::ErrorInBody);
        assert!(answer.calls.is_empty() && answer.end.failure.unwrap().is_retryable);
    }

    #[test]
    fn unstreamed_answer_and_stream_labelled_json_are_decoded() {
        let body = json!({"message": {"content": "Hi"}, "done": true, "done_reason": "stop"});
        assert_eq!(whole(WireFormat::Ollama, &body).text, "Hi");
        let lines = format!("{}\n{}\n", said(json!({"content": "Hi"})), done("stop"));
        let answer = decoded(WireFormat::Ollama, "application/json", lines.as_bytes());
        assert_eq!((answer.text.as_str(), answer.end.outcome), ("Hi", AnswerOutcome::Ok));
        assert_eq!(whole(WireFormat::Ollama, &json!({"a": 1})).end.outcome, AnswerOutcome::Error);
    }
}
