//! Decodes answers of OpenAI's Chat Completions.
//!
//! The terminal event is the chunk with a `finish_reason`: some servers leave out `[DONE]`, and
//! others send it after a truncated answer. Fragments of a call are matched by index, by id or by
//! order, whichever the server sends. A fragment that begins another call is never added to the
//! previous one. Source: <https://platform.openai.com/docs/api-reference/chat-streaming>.

use serde_json::{Value as Json, json};

use super::super::answer::TokenUsage;
use super::super::answer_builder::{
    AnswerBuilder, FinishKind, PartialCall, append_text, member_count, member_list, member_text,
};
use super::super::decode::AnswerDecoder;
use super::super::failure;

#[derive(Debug, Default)]
pub(in super::super) struct OpenaiChatDecoder {
    /// Reasoning as DeepSeek and local servers send it, and the name of its field.
    reasoning: Option<(&'static str, String)>,
    /// Reasoning as OpenRouter sends it, with signatures.
    reasoning_details: Vec<Json>,
}

impl AnswerDecoder for OpenaiChatDecoder {
    fn handle_body(&mut self, body: &Json, draft: &mut AnswerBuilder) {
        match &body["choices"] {
            Json::Array(choices) if choices.is_empty() => draft.finish("", FinishKind::Done),
            Json::Array(_) => self.read_choice(body, ["message", "delta"], draft),
            _ => draft.fail_retryable("the answer is not a chat completion".to_owned()),
        }
    }

    fn handle_event(&mut self, _name: &str, data: &Json, draft: &mut AnswerBuilder) {
        self.read_choice(data, ["delta", "message"], draft);
    }

    fn handle_end(&mut self, draft: &mut AnswerBuilder) {
        if !self.reasoning_details.is_empty() {
            draft.set_replay(json!({ "reasoning_details": self.reasoning_details }));
        } else if let Some(("reasoning_content", reasoning)) = &self.reasoning {
            // DeepSeek requires it with its calls. Servers that name the field `reasoning` reject
            // it.
            if !draft.calls.is_empty() {
                draft.set_replay(json!({ "reasoning_content": reasoning }));
            }
        }
    }
}

fn finish_kind(stop: &str) -> FinishKind {
    match stop {
        "length" | "max_tokens" | "model_length" => FinishKind::TokenLimit,
        "content_filter" | "refusal" | "safety" | "sensitive" => FinishKind::Refused,
        "error"
        | "abort"
        | "insufficient_system_resource"
        | "network_error"
        | "malformed_function_call"
        | "MALFORMED_FUNCTION_CALL" => FinishKind::ModelError,
        _ => FinishKind::Done,
    }
}

impl OpenaiChatDecoder {
    /// Reads a chunk or a whole answer. `members` are the names of the message, in order of
    /// preference.
    fn read_choice(&mut self, body: &Json, members: [&str; 2], draft: &mut AnswerBuilder) {
        count_tokens(body, draft);
        // Requests ask for a single choice.
        let first =
            member_list(body, "choices").iter().find(|it| it["index"].as_u64().unwrap_or(0) == 0);
        let Some(choice) = first else {
            // The last chunk of a stream has no choice, only the token usage.
            return;
        };
        if !choice["error"].is_null() {
            draft.set_failure(failure::from_object(
                &json!({ "error": choice["error"] }),
                &failure::ResponseHead::default(),
            ));
            return;
        }
        // Perplexity sends both members, in streams and in whole answers, and one of them does not
        // have its usual meaning.
        let message = members.map(|name| &choice[name]).into_iter().find(|it| it.is_object());
        if let Some(message) = message {
            self.read_message(message, draft);
        }
        if let Some(stop) = choice["finish_reason"].as_str().filter(|stop| !stop.is_empty()) {
            draft.finish(stop, finish_kind(stop));
        }
    }

    /// Reads a message, or a delta of one.
    fn read_message(&mut self, message: &Json, draft: &mut AnswerBuilder) {
        draft.has_message = true;
        self.read_reasoning(message, draft);
        match &message["content"] {
            Json::String(content) => draft.push_text(content),
            Json::Array(parts) => parts.iter().for_each(|part| add_content(part, draft)),
            _ => {}
        }
        draft.push_refusal(member_text(message, "refusal"));
        for fragment in member_list(message, "tool_calls") {
            add_call(fragment, draft);
        }
        // The old form, from before a message could have several calls.
        if message["function_call"].is_object() {
            add_call(&json!({ "function": message["function_call"] }), draft);
        }
    }

    fn read_reasoning(&mut self, message: &Json, draft: &mut AnswerBuilder) {
        for name in ["reasoning_content", "reasoning"] {
            let Some(more) = message[name].as_str() else {
                continue;
            };
            // Some servers send the same text under both names.
            let (kept, reasoning) = self.reasoning.get_or_insert_with(|| (name, String::new()));
            if *kept == name {
                reasoning.push_str(more);
                draft.push_reasoning(more);
            }
        }
        if self.reasoning.as_ref().is_some_and(|(_, reasoning)| reasoning.is_empty()) {
            self.reasoning = None;
        }
        for detail in member_list(message, "reasoning_details") {
            self.merge_detail(detail);
        }
    }

    /// Merges the fragments of one reasoning block.
    fn merge_detail(&mut self, detail: &Json) {
        let same = |it: &&mut Json| {
            ["type", "index", "id"].iter().all(|name| it[*name] == detail[*name])
                && !detail["index"].is_null()
        };
        let Some(block) = self.reasoning_details.last_mut().filter(same) else {
            self.reasoning_details.push(detail.clone());
            return;
        };
        for (name, value) in detail.as_object().into_iter().flatten() {
            match (name.as_str(), value) {
                ("text" | "summary" | "data", Json::String(more)) => append_text(block, name, more),
                (_, Json::Null) => {}
                _ => block[name.as_str()] = value.clone(),
            }
        }
    }
}

fn count_tokens(body: &Json, draft: &mut AnswerBuilder) {
    let usage = if body["usage"].is_object() { &body["usage"] } else { &body["x_groq"]["usage"] };
    let (Some(input), Some(output)) =
        (member_count(usage, "prompt_tokens"), member_count(usage, "completion_tokens"))
    else {
        return;
    };
    let details = &usage["prompt_tokens_details"];
    let cached = member_count(details, "cached_tokens")
        .or_else(|| member_count(usage, "prompt_cache_hit_tokens"));
    let reasoning = member_count(&usage["completion_tokens_details"], "reasoning_tokens");
    draft.usage = Some(TokenUsage {
        input,
        output,
        prompt: input,
        generated: output,
        cache_read: cached.unwrap_or(0),
        cache_write: member_count(details, "cache_write_tokens").unwrap_or(0),
        reasoning: reasoning.unwrap_or(0),
    });
}

/// Adds a part of a content array, as Mistral sends it.
fn add_content(part: &Json, draft: &mut AnswerBuilder) {
    match (member_text(part, "type"), &part["thinking"]) {
        ("thinking", Json::String(thinking)) => draft.push_reasoning(thinking),
        ("thinking", thinking) => {
            for part in thinking.as_array().into_iter().flatten() {
                draft.push_reasoning(member_text(part, "text"));
            }
        }
        ("refusal", _) => draft.push_refusal(member_text(part, "refusal")),
        _ => draft.push_text(member_text(part, "text")),
    }
}

/// Adds a call, or a fragment of one.
fn add_call(fragment: &Json, draft: &mut AnswerBuilder) {
    let function = &fragment["function"];
    let (id, name) = (member_text(fragment, "id"), member_text(function, "name"));
    let index = fragment["index"].as_u64();
    let has_args = !matches!(&function["arguments"], Json::Null) && function["arguments"] != "";
    let call = match find_fragment_call(&draft.calls, index, id, name, has_args) {
        Some(at) => &mut draft.calls[at],
        None => draft.begin_call(PartialCall { index, ..PartialCall::new("", "") }),
    };
    if call.id.is_empty() {
        id.clone_into(&mut call.id);
    }
    if call.name.is_empty() {
        name.clone_into(&mut call.name);
    }
    call.push_arguments(&function["arguments"]);
}

/// Returns the index of the call that a fragment continues; None if it begins a new call.
fn find_fragment_call(
    calls: &[PartialCall],
    index: Option<u64>,
    id: &str,
    name: &str,
    has_args: bool,
) -> Option<usize> {
    let known = |call: &PartialCall| !id.is_empty() && call.id == id && call.index == index;
    if let Some(at) = calls.iter().rposition(known) {
        return Some(at);
    }
    let at = match index {
        Some(_) => calls.iter().rposition(|call| call.index == index)?,
        // A new id without a name: some servers invent an id for each fragment.
        None => calls.len().checked_sub(1).filter(|_| id.is_empty() || name.is_empty())?,
    };
    let call = &calls[at];
    // Some servers repeat the name in each fragment, and some give all calls the same index.
    let is_another = match () {
        () if name.is_empty() || call.name.is_empty() => false,
        () if !id.is_empty() && !call.id.is_empty() => call.id != id,
        () => call.name != name || has_args && call.is_closed(),
    };
    (!is_another).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{AnswerOutcome, ModelAnswer};
    use crate::answer_builder::MAX_CALLS;
    use crate::tests::{sse, whole};
    use crate::wire::WireFormat;

    fn stream(deltas: &[Json], stop: &str) -> ModelAnswer {
        let chunk = |delta: &Json, stop: Json| json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": stop}]});
        let mut chunks: Vec<_> = deltas.iter().map(|delta| chunk(delta, Json::Null)).collect();
        chunks.push(chunk(&json!({}), json!(stop)));
        sse(WireFormat::OpenaiChat, &chunks)
    }

    /// Each fragment is searched for among the earlier calls. Without a limit, that takes quadratic
    /// time.
    #[test]
    fn too_many_tool_calls_fail_the_answer() {
        for count in [MAX_CALLS, MAX_CALLS + 1, 100_000] {
            let call = |at: usize| json!({"tool_calls": [{"index": at, "id": format!("c{at}"), "function": {"name": "t", "arguments": "{}"}}]});
            let deltas: Vec<Json> = (0..count).map(call).collect();
            let answer = stream(&deltas, "tool_calls");
            let is_fit = count == MAX_CALLS;
            assert_eq!(
                answer.runnable_calls().len(),
                if is_fit { MAX_CALLS } else { 0 },
                "{count}"
            );
            let failure = answer.end.failure.map(|it| it.message).unwrap_or_default();
            assert_eq!(failure.contains("more than 256 tool calls"), !is_fit, "{failure}");
        }
    }

    fn calls(fragments: &[Json]) -> Vec<(Option<String>, String, String)> {
        let deltas: Vec<_> = fragments.iter().map(|it| json!({"tool_calls": [it]})).collect();
        let answer = stream(&deltas, "tool_calls");
        assert_eq!(answer.end.outcome, AnswerOutcome::Ok);
        let shown =
            |args: Result<Json, _>| args.map_or("invalid".to_owned(), |it: Json| it.to_string());
        let told = answer.calls.into_iter();
        told.map(|call| (call.id, call.name, shown(call.args.map_err(|_| ())))).collect()
    }

    #[track_caller]
    fn check(fragments: &[Json], expected: &[(&str, &str, &str)]) {
        let own = |(id, name, args): &(&str, &str, &str)| {
            let id = (!id.is_empty()).then(|| (*id).to_owned());
            (id, (*name).to_owned(), (*args).to_owned())
        };
        assert_eq!(calls(fragments), expected.iter().map(own).collect::<Vec<_>>());
    }

    #[test]
    fn fragments_are_joined_by_index() {
        let fragments = [
            json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": ""}}),
            json!({"index": 1, "id": "b", "function": {"name": "y", "arguments": "{\"q\""}}),
            json!({"index": 0, "function": {"arguments": "{\"p\":"}}),
            json!({"index": 1, "function": {"arguments": ":2}"}}),
            json!({"index": 0, "function": {"arguments": "1}"}}),
        ];
        check(&fragments, &[("a", "x", "{\"p\":1}"), ("b", "y", "{\"q\":2}")]);
    }

    #[test]
    fn calls_that_share_an_index_are_kept_apart() {
        let fragments = [
            json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}}),
            json!({"index": 0, "id": "b", "function": {"name": "x", "arguments": "{\"p\""}}),
            json!({"index": 0, "function": {"arguments": ":1}"}}),
        ];
        check(&fragments, &[("a", "x", "{}"), ("b", "x", "{\"p\":1}")]);
        let mixed = [
            json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{\"p\""}}),
            json!({"index": 0, "id": "b", "function": {"name": "x", "arguments": "{\"p\""}}),
            json!({"index": 0, "id": "a", "function": {"arguments": ":1}"}}),
            json!({"index": 0, "id": "b", "function": {"arguments": ":2}"}}),
        ];
        check(&mixed, &[("a", "x", "{\"p\":1}"), ("b", "x", "{\"p\":2}")]);
        let without_id = [
            json!({"index": 0, "function": {"name": "x", "arguments": "{}"}}),
            json!({"index": 0, "function": {"name": "y", "arguments": "{}"}}),
        ];
        check(&without_id, &[("", "x", "{}"), ("", "y", "{}")]);
    }

    #[test]
    fn calls_without_an_index_are_joined_by_id_or_order() {
        let fragments = [
            json!({"id": "a", "function": {"name": "x", "arguments": "{\"p\""}}),
            json!({"function": {"arguments": ":1"}}),
            json!({"id": "a", "function": {"arguments": "}"}}),
            json!({"id": "b", "function": {"name": "x", "arguments": "{}"}}),
            json!({"function": {"name": "y", "arguments": "{}"}}),
        ];
        check(&fragments, &[("a", "x", "{\"p\":1}"), ("b", "x", "{}"), ("", "y", "{}")]);
    }

    #[test]
    fn changing_names_and_ids_do_not_split_calls() {
        let repeated = [
            json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{\"p\""}}),
            json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": ":1}"}}),
        ];
        check(&repeated, &[("a", "x", "{\"p\":1}")]);
        let changing = [
            json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{\"p\""}}),
            json!({"index": 0, "id": "r2", "function": {"name": null, "arguments": ":1}"}}),
        ];
        check(&changing, &[("a", "x", "{\"p\":1}")]);
        let late = [
            json!({"index": 0, "id": "", "function": {"name": "", "arguments": ""}}),
            json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}}),
        ];
        check(&late, &[("a", "x", "{}")]);
    }

    #[test]
    fn calls_that_share_an_id_are_kept_apart() {
        let fragments = [
            json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}}),
            json!({"index": 1, "id": "a", "function": {"name": "y", "arguments": "{}"}}),
        ];
        check(&fragments, &[("a", "x", "{}"), ("a", "y", "{}")]);
    }

    #[test]
    fn object_arguments_and_legacy_function_calls_are_read() {
        let fragments = [json!({"index": 0, "function": {"name": "x", "arguments": {"p": 1}}})];
        check(&fragments, &[("", "x", "{\"p\":1}")]);
        let old = [
            json!({"function_call": {"name": "x", "arguments": "{\"p\""}}),
            json!({"function_call": {"arguments": ":1}"}}),
        ];
        let answer = stream(&old, "function_call");
        assert_eq!(answer.calls[0].args, Ok(json!({"p": 1})));
    }

    #[test]
    fn finish_reasons_map_to_outcomes() {
        let open = json!({"tool_calls": [{"index": 0, "id": "a",
            "function": {"name": "x", "arguments": "{\"p\""}}]});
        for (stop, outcome) in [
            ("tool_calls", AnswerOutcome::Ok),
            ("length", AnswerOutcome::Truncated),
            ("content_filter", AnswerOutcome::Refused),
            ("error", AnswerOutcome::ModelError),
        ] {
            assert_eq!(stream(std::slice::from_ref(&open), stop).end.outcome, outcome, "{stop}");
        }
        let chunk = json!({"choices": [{"index": 0, "delta": open}]});
        assert_eq!(sse(WireFormat::OpenaiChat, &[chunk]).end.outcome, AnswerOutcome::Incomplete);
    }

    #[test]
    fn refusal_is_kept_apart_from_text() {
        let answer = stream(&[json!({"refusal": "I can"}), json!({"refusal": "not."})], "stop");
        assert_eq!(answer.end.outcome, AnswerOutcome::Ok);
        assert_eq!(answer.end.refusal.as_deref(), Some("I cannot."));
        assert!(answer.is_declined() && !answer.is_silent());
    }

    #[test]
    fn errors_within_choices_and_chunks_are_detected() {
        let chunk = json!({"id": "c", "error": {"code": 502, "message": "m"}, "choices": [
            {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]});
        let answer = sse(WireFormat::OpenaiChat, &[chunk]);
        assert_eq!(answer.end.outcome, AnswerOutcome::ErrorInBody);
        assert!(answer.end.failure.unwrap().is_retryable);
        let body = json!({"object": "chat.completion", "choices": [
            {"index": 0, "error": {"code": 429, "message": "m"}, "message": {"content": "x"}}]});
        assert_eq!(whole(WireFormat::OpenaiChat, &body).end.outcome, AnswerOutcome::ErrorInBody);
    }

    #[test]
    fn reasoning_is_reported_once_and_replayed() {
        let both = json!({"reasoning_content": "Hm", "reasoning": "Hm", "content": "Hi"});
        let answer = stream(std::slice::from_ref(&both), "stop");
        assert_eq!((answer.reasoning.as_str(), answer.text.as_str()), ("Hm", "Hi"));
        assert_eq!(answer.end.replay, None);
        let call = json!({"tool_calls": [{"id": "a", "function": {"name": "x"}}]});
        let answer = stream(&[both, call.clone()], "tool_calls");
        assert_eq!(answer.end.replay.unwrap(), json!({"reasoning_content": "Hm"}));
        assert_eq!(stream(&[json!({"reasoning": "Hm"}), call], "tool_calls").end.replay, None);
        let detail = |more: Json| json!({"reasoning_details": [more]});
        let details = [
            detail(json!({"type": "reasoning.text", "index": 0, "text": "H"})),
            detail(json!({"type": "reasoning.text", "index": 0, "text": "m"})),
            detail(json!({"type": "reasoning.text", "index": 0, "signature": "s"})),
            detail(json!({"type": "reasoning.encrypted", "index": 1, "data": "d"})),
        ];
        let expected = json!({"reasoning_details": [
            {"type": "reasoning.text", "index": 0, "text": "Hm", "signature": "s"},
            {"type": "reasoning.encrypted", "index": 1, "data": "d"}]});
        assert_eq!(stream(&details, "stop").end.replay.unwrap(), expected);
        let parts = json!({"content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]},
            {"type": "text", "text": "Hi"}]});
        let answer = stream(&[parts], "stop");
        assert_eq!((answer.reasoning.as_str(), answer.text.as_str()), ("Hm", "Hi"));
    }

    #[test]
    fn usage_is_read_from_either_place() {
        let usage = json!({"prompt_tokens": 5, "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 3},
            "completion_tokens_details": {"reasoning_tokens": 2}});
        let end =
            json!({"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}]});
        for last in [
            json!({"choices": [], "usage": usage}),
            json!({"id": "c", "choices": [], "x_groq": {"usage": usage}}),
        ] {
            let answer = sse(WireFormat::OpenaiChat, &[end.clone(), last]);
            let usage = answer.usage.unwrap();
            assert_eq!((usage.input, usage.output, usage.cache_read), (5, 7, 3));
        }
        assert_eq!(sse(WireFormat::OpenaiChat, &[end]).usage, None);
    }

    #[test]
    fn message_beside_a_delta_is_not_duplicated() {
        let choice = |delta: &str, message: &str| {
            json!({"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop",
                "delta": {"content": delta}, "message": {"content": message}}]})
        };
        assert_eq!(whole(WireFormat::OpenaiChat, &choice("", "Hi there")).text, "Hi there");
        let chunks = [choice("Hi", "Hi"), choice(" there", "Hi there")];
        assert_eq!(sse(WireFormat::OpenaiChat, &chunks).text, "Hi there");
    }

    #[test]
    fn answer_without_choices_is_empty() {
        let body = json!({"id": "c", "choices": []});
        assert_eq!(whole(WireFormat::OpenaiChat, &body).end.outcome, AnswerOutcome::Empty);
        assert_eq!(
            whole(WireFormat::OpenaiChat, &json!({"a": 1})).end.outcome,
            AnswerOutcome::Error
        );
    }
}
