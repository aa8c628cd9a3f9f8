//! Answers of Ollama's own chat.
//!
//! One JSON object a line; the one that is `done` is the terminal event. Calls come whole, with
//! their arguments as an object, and older versions give them no id. Source:
//! <https://docs.ollama.com/api/chat>.

use serde_json::{Value as Json, json};

use super::super::answer::Usage;
use super::super::decode::Spelling;
use super::super::draft::{Calling, Draft, Finish, count, list, text};

/// The wire.
#[derive(Debug, Default)]
pub(in super::super) struct Ollama {
    thinking: String,
}

impl Spelling for Ollama {
    fn event(&mut self, _name: &str, data: &Json, draft: &mut Draft) {
        let message = &data["message"];
        if message.is_object() && data["done_reason"] != "load" {
            draft.text(text(message, "content"));
            self.thinking.push_str(text(message, "thinking"));
            draft.reason(text(message, "thinking"));
        }
        for call in list(message, "tool_calls") {
            let function = &call["function"];
            let calling = draft.call(Calling::new(text(call, "id"), text(function, "name")));
            calling.push(&function["arguments"]);
        }
        if data["done"] != true {
            return;
        }
        if let (Some(input), Some(output)) =
            (count(data, "prompt_eval_count").or(Some(0)), count(data, "eval_count"))
        {
            draft.usage =
                Some(Usage { input, output, prompt: input, generated: output, ..Usage::default() });
        }
        let stop = text(data, "done_reason");
        draft.finish(stop, if stop == "length" { Finish::Limit } else { Finish::Done });
        draft.is_over = true;
    }

    fn whole(&mut self, body: &Json, draft: &mut Draft) {
        if body["done"].is_boolean() || body["message"].is_object() {
            self.event("", body, draft);
        } else {
            draft.broken("the answer is none of Ollama's".to_owned());
        }
    }

    fn end(&mut self, draft: &mut Draft) {
        if !self.thinking.is_empty() && !draft.calls.is_empty() {
            draft.set_replay(json!({ "thinking": self.thinking }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Answer, Outcome, Wire};
    use crate::tests::{decoded, whole};

    fn stream(lines: &[Json]) -> Answer {
        let text: Vec<_> = lines.iter().map(Json::to_string).collect();
        decoded(Wire::Ollama, "application/x-ndjson", (text.join("\n") + "\n").as_bytes())
    }

    fn said(message: Json) -> Json {
        json!({"model": "m", "message": message, "done": false})
    }

    fn done(reason: &str) -> Json {
        json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
            "prompt_eval_count": 5, "eval_count": 7})
    }

    #[test]
    fn lines_are_put_together() {
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
        assert_eq!(answer.runnable()[1].args, Ok(json!({"x": 2})));
        assert_eq!(answer.usage.unwrap().input, 5);
    }

    #[test]
    fn ends_are_told_apart() {
        let call = said(json!({"tool_calls": [{"function": {"name": "t", "arguments": {}}}]}));
        let outcome = |lines: &[Json]| stream(lines).end.outcome;
        assert_eq!(outcome(std::slice::from_ref(&call)), Outcome::Incomplete);
        assert_eq!(outcome(&[call.clone(), done("stop")]), Outcome::Ok);
        assert_eq!(outcome(&[call.clone(), done("length")]), Outcome::Ok);
        assert_eq!(outcome(&[done("load")]), Outcome::Empty);
        let unnamed = json!({"message": {"content": "Hi"}, "done": true});
        assert_eq!(stream(&[unnamed]).end.stop, None);
        let error = json!({"error": "an error was encountered while running the model"});
        let answer = stream(&[call, error]);
        assert_eq!(answer.end.outcome, Outcome::ErrorInBody);
        assert!(answer.calls.is_empty() && answer.end.failure.unwrap().retryable);
    }

    #[test]
    fn a_whole_answer_is_read_too_and_a_stream_under_its_name() {
        let body = json!({"message": {"content": "Hi"}, "done": true, "done_reason": "stop"});
        assert_eq!(whole(Wire::Ollama, &body).text, "Hi");
        let lines = format!("{}\n{}\n", said(json!({"content": "Hi"})), done("stop"));
        let answer = decoded(Wire::Ollama, "application/json", lines.as_bytes());
        assert_eq!((answer.text.as_str(), answer.end.outcome), ("Hi", Outcome::Ok));
        assert_eq!(whole(Wire::Ollama, &json!({"a": 1})).end.outcome, Outcome::Error);
    }
}
