//! Decodes answers of OpenAI's Responses API.
//!
//! Items are added, extended and completed, and the last event repeats the whole response. Text is
//! emitted as it arrives. Calls are taken from the last event, or from the added and completed
//! items if it has none. Source:
//! <https://platform.openai.com/docs/api-reference/responses-streaming>.

use serde_json::{Value as Json, json};

use super::super::answer::TokenUsage;
use super::super::answer_builder::{
    AnswerBuilder, FinishKind, PartialCall, append_text, member_count, member_list, member_text,
};
use super::super::decode::AnswerDecoder;
use super::super::failure::{self, ResponseHead};

#[derive(Debug, Default)]
pub(in super::super) struct OpenaiResponsesDecoder {
    items: Vec<OutputItem>,
    has_text: bool,
    has_reasoning: bool,
    has_refusal: bool,
}

#[derive(Debug)]
struct OutputItem {
    index: Option<u64>,
    json: Json,
}

impl AnswerDecoder for OpenaiResponsesDecoder {
    fn handle_event(&mut self, name: &str, data: &Json, draft: &mut AnswerBuilder) {
        let kind = match member_text(data, "type") {
            "" => name,
            kind => kind,
        };
        let delta = member_text(data, "delta");
        match kind {
            "response.output_text.delta" => {
                self.has_text = true;
                draft.push_text(delta);
            }
            "response.refusal.delta" => {
                self.has_refusal = true;
                draft.push_refusal(delta);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.has_reasoning = true;
                draft.push_reasoning(delta);
            }
            "response.output_item.added" | "response.output_item.done" => {
                self.read_item(data, draft);
            }
            "response.function_call_arguments.delta" => {
                if let Some(item) = self.find_item(data) {
                    append_text(&mut item.json, "arguments", delta);
                }
            }
            "response.function_call_arguments.done" => {
                if let Some(item) = self.find_item(data).filter(|_| data["arguments"].is_string()) {
                    item.json["arguments"] = data["arguments"].clone();
                }
            }
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled"
            | "response.done" => {
                self.read_response(&data["response"], kind, draft);
                draft.is_over = true;
            }
            _ => {}
        }
    }

    fn handle_body(&mut self, body: &Json, draft: &mut AnswerBuilder) {
        if body["output"].is_array() || body["status"].is_string() {
            self.read_response(body, "", draft);
        } else {
            draft.fail_retryable("the answer is not a response".to_owned());
        }
    }

    fn handle_end(&mut self, draft: &mut AnswerBuilder) {
        let items = std::mem::take(&mut self.items);
        if items.iter().any(|item| member_text(&item.json, "type") == "reasoning") {
            draft.set_replay(items.into_iter().map(|item| item.json).collect());
        }
    }
}

impl OpenaiResponsesDecoder {
    /// Returns the item that an event extends. It is found by id, which some servers change from
    /// event to event, then by index, which some give twice, then as the last call that was added.
    fn find_item(&mut self, data: &Json) -> Option<&mut OutputItem> {
        let (id, index) = (member_text(data, "item_id"), data["output_index"].as_u64());
        let items = &self.items;
        let by_id =
            items.iter().rposition(|item| !id.is_empty() && member_text(&item.json, "id") == id);
        let by_index = || items.iter().rposition(|it| index.is_some() && it.index == index);
        let last =
            || items.iter().rposition(|item| member_text(&item.json, "type") == "function_call");
        let at = by_id.or_else(by_index).or_else(last)?;
        Some(&mut self.items[at])
    }

    /// Reads an item that was added or completed.
    fn read_item(&mut self, data: &Json, draft: &mut AnswerBuilder) {
        let (index, item) = (data["output_index"].as_u64(), &data["item"]);
        let (id, call) = (member_text(item, "id"), member_text(item, "call_id"));
        let same = |it: &&mut OutputItem| {
            let other_call = member_text(&it.json, "call_id");
            match index {
                _ if !call.is_empty() && !other_call.is_empty() => call == other_call,
                Some(_) => it.index == index,
                None => !id.is_empty() && member_text(&it.json, "id") == id,
            }
        };
        if let Some(known) = self.items.iter_mut().find(same) {
            known.json = item.clone();
        } else {
            draft.check_call_count(self.items.len());
            self.items.push(OutputItem { index, json: item.clone() });
        }
    }

    /// Reads a whole response: from the last event, or from an answer that is not a stream.
    fn read_response(&mut self, response: &Json, kind: &str, draft: &mut AnswerBuilder) {
        let status = match (member_text(response, "status"), kind) {
            ("", "response.done") => "completed",
            ("", kind) => kind.strip_prefix("response.").unwrap_or_default(),
            (status, _) => status,
        };
        Self::count_tokens(&response["usage"], draft);
        if status == "failed" || !response["error"].is_null() {
            draft.set_failure(failure::from_object(
                &json!({ "error": response["error"] }),
                &ResponseHead::default(),
            ));
            return;
        }
        let output = member_list(response, "output");
        if !output.is_empty() {
            let items = output.iter().map(|json| OutputItem { index: None, json: json.clone() });
            self.items = items.collect();
        }
        for item in std::mem::take(&mut self.items) {
            self.emit_rest(&item.json, draft);
            self.items.push(item);
        }
        let reason = member_text(&response["incomplete_details"], "reason");
        match (status, reason) {
            ("completed", _) => draft.finish(status, FinishKind::Done),
            ("incomplete", "content_filter") => draft.finish(status, FinishKind::Refused),
            ("incomplete", _) => draft.finish(status, FinishKind::TokenLimit),
            // The response was cancelled or is still in progress, so it is not finished.
            _ => {}
        }
    }

    /// Emits the content of an item that was not emitted while it arrived.
    fn emit_rest(&mut self, item: &Json, draft: &mut AnswerBuilder) {
        match member_text(item, "type") {
            "message" => {
                draft.has_message = true;
                for part in member_list(item, "content") {
                    match member_text(part, "type") {
                        "refusal" if !self.has_refusal => {
                            draft.push_refusal(member_text(part, "refusal"));
                        }
                        "refusal" => {}
                        _ if !self.has_text => draft.push_text(member_text(part, "text")),
                        _ => {}
                    }
                }
            }
            "function_call" => {
                let id = match member_text(item, "call_id") {
                    "" => member_text(item, "id"),
                    id => id,
                };
                draft
                    .begin_call(PartialCall::new(id, member_text(item, "name")))
                    .push_arguments(&item["arguments"]);
            }
            "reasoning" if !self.has_reasoning => {
                draft.has_message = true;
                for part in member_list(item, "summary").iter().chain(member_list(item, "content"))
                {
                    draft.push_reasoning(member_text(part, "text"));
                }
            }
            _ => draft.has_message = true,
        }
    }

    fn count_tokens(usage: &Json, draft: &mut AnswerBuilder) {
        let (Some(input), Some(output)) =
            (member_count(usage, "input_tokens"), member_count(usage, "output_tokens"))
        else {
            return;
        };
        let details = &usage["input_tokens_details"];
        draft.usage = Some(TokenUsage {
            input,
            output,
            prompt: input,
            generated: output,
            cache_read: member_count(details, "cached_tokens").unwrap_or(0),
            cache_write: member_count(details, "cache_write_tokens").unwrap_or(0),
            reasoning: member_count(&usage["output_tokens_details"], "reasoning_tokens")
                .unwrap_or(0),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::AnswerOutcome;
    use crate::tests::{sse, whole};
    use crate::wire::WireFormat;

    const WIRE: WireFormat = WireFormat::OpenaiResponses;

    fn event(kind: &str, mut data: Json) -> Json {
        data["type"] = json!(format!("response.{kind}"));
        data
    }

    fn function(args: &str) -> Json {
        json!({"type": "function_call", "id": "fc", "call_id": "call", "name": "t", "arguments": args})
    }

    fn stream() -> Vec<Json> {
        let delta = |more: &str| {
            event(
                "function_call_arguments.delta",
                json!({"output_index": 1, "item_id": "fc", "delta": more}),
            )
        };
        vec![
            event("created", json!({"response": {"status": "in_progress", "error": null}})),
            event(
                "output_item.added",
                json!({"output_index": 0,
                "item": {"type": "reasoning", "id": "rs", "summary": []}}),
            ),
            event("reasoning_summary_text.delta", json!({"output_index": 0, "delta": "Hm"})),
            event(
                "output_item.done",
                json!({"output_index": 0, "item": {"type": "reasoning",
                "id": "rs", "summary": [{"text": "Hm"}], "encrypted_content": "e"}}),
            ),
            event("output_item.added", json!({"output_index": 1, "item": function("")})),
            delta("{\"x\""),
            delta(":1}"),
            event("output_text.delta", json!({"output_index": 2, "delta": "Hi"})),
        ]
    }

    fn end(kind: &str, response: Json) -> Vec<Json> {
        let mut events = stream();
        events.push(event(kind, json!({ "response": response })));
        events
    }

    #[test]
    fn empty_final_output_falls_back_to_earlier_events() {
        for output in [
            json!([]),
            json!([
                {"type": "reasoning", "id": "rs", "summary": [{"text": "Hm"}], "encrypted_content": "e"},
                function("{\"x\":1}"),
            ]),
        ] {
            let response = json!({"status": "completed", "output": output,
                "usage": {"input_tokens": 5, "output_tokens": 7}});
            let answer = sse(WIRE, &end("completed", response));
            assert_eq!(answer.end.outcome, AnswerOutcome::Ok);
            assert_eq!(answer.end.stop_reason.as_deref(), Some("completed"));
            assert_eq!((answer.text.as_str(), answer.reasoning.as_str()), ("Hi", "Hm"));
            assert_eq!(answer.calls.len(), 1);
            assert_eq!(answer.calls[0].id.as_deref(), Some("call"));
            assert_eq!(answer.calls[0].args, Ok(json!({"x": 1})));
            let replay = answer.end.replay.unwrap();
            assert_eq!(replay[0]["encrypted_content"], "e");
            assert_eq!(replay[1], function("{\"x\":1}"));
        }
    }

    #[test]
    fn output_items_are_kept_apart_by_index_or_id() {
        let added = |index: Option<u64>, id: &str, call: &str| {
            let item = json!({"type": "function_call", "id": id, "call_id": call, "name": "t",
                "arguments": ""});
            event("output_item.added", json!({"output_index": index, "item": item}))
        };
        let delta = |index: Option<u64>, id: &str, more: &str| {
            event(
                "function_call_arguments.delta",
                json!({"output_index": index, "item_id": id, "delta": more}),
            )
        };
        let end = event("completed", json!({"response": {"status": "completed", "output": []}}));
        for (first, second) in [
            // As documented; one index for both; no index; ids that change.
            ((Some(0), "i", "i"), (Some(1), "j", "j")),
            ((Some(0), "i", "i"), (Some(0), "j", "j")),
            ((None, "i", "i"), (None, "j", "j")),
            ((Some(0), "i", "k"), (Some(1), "j", "l")),
        ] {
            let answer = sse(
                WIRE,
                &[
                    added(first.0, first.1, "a"),
                    added(second.0, second.1, "b"),
                    delta(first.0, first.2, "{\"x\":1}"),
                    delta(second.0, second.2, "{\"x\":2}"),
                    end.clone(),
                ],
            );
            let args: Vec<_> = answer.calls.iter().map(|call| call.args.clone().unwrap()).collect();
            assert_eq!(args, [json!({"x": 1}), json!({"x": 2})], "{first:?} {second:?}");
        }
        let one = sse(WIRE, &[added(None, "", "a"), delta(None, "", "{}"), end]);
        assert_eq!(one.calls[0].args, Ok(json!({})));
    }

    #[test]
    fn response_statuses_map_to_outcomes() {
        assert_eq!(sse(WIRE, &stream()).end.outcome, AnswerOutcome::Incomplete);
        let cancelled = end("cancelled", json!({"status": "cancelled"}));
        assert_eq!(sse(WIRE, &cancelled).end.outcome, AnswerOutcome::Incomplete);
        for (reason, args, outcome) in [
            ("max_output_tokens", "{\"x\"", AnswerOutcome::Truncated),
            ("max_output_tokens", "{\"x\":1}", AnswerOutcome::Ok),
            ("content_filter", "{\"x\":1}", AnswerOutcome::Refused),
        ] {
            let response = json!({"status": "incomplete", "output": [function(args)],
                "incomplete_details": {"reason": reason}});
            assert_eq!(sse(WIRE, &end("incomplete", response)).end.outcome, outcome, "{args}");
        }
        let failed = json!({"status": "failed", "error": {"code": "server_error", "message": "m"}});
        let answer = sse(WIRE, &end("failed", failed));
        assert_eq!(answer.end.outcome, AnswerOutcome::ErrorInBody);
        let failure = answer.end.failure.unwrap();
        assert_eq!((failure.kind.as_deref(), failure.is_retryable), (Some("server_error"), true));
        assert_eq!(answer.calls, []);
        let mut events = stream();
        events.push(json!({"type": "error", "code": "context_length_exceeded", "message": "m"}));
        assert!(sse(WIRE, &events).end.failure.unwrap().is_context_overflow);
    }

    #[test]
    fn unstreamed_response_is_decoded() {
        let message = |part: Json| {
            json!({"status": "completed", "error": null,
            "output": [{"type": "message", "content": [part]}]})
        };
        let answer = whole(WIRE, &message(json!({"type": "output_text", "text": "Hi"})));
        assert_eq!((answer.text.as_str(), answer.end.outcome), ("Hi", AnswerOutcome::Ok));
        let answer = whole(WIRE, &message(json!({"type": "refusal", "refusal": "No."})));
        assert_eq!((answer.text.as_str(), answer.end.refusal.as_deref()), ("", Some("No.")));
        let empty = json!({"status": "completed", "output": []});
        assert_eq!(whole(WIRE, &empty).end.outcome, AnswerOutcome::Empty);
        assert_eq!(whole(WIRE, &json!({"a": 1})).end.outcome, AnswerOutcome::Error);
    }
}
