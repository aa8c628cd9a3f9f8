//! Builds an answer from a response: the state that all wire formats share, and the rules for how
//! an answer ends.
//!
//! The rules are here only: no call is emitted before the terminal event, a call that the token
//! limit cut is truncated, and malformed arguments are reported with their error.

use serde_json::Value as Json;

use super::answer::{
    AnswerEnd, AnswerOutcome, AnswerPart, CalledTool, MalformedArguments, ProviderFailure,
    TokenUsage,
};

/// The most calls of one message. A longer message is cut off, because each new call is searched
/// for among all earlier ones, and no real model makes so many.
pub(super) const MAX_CALLS: usize = 256;

/// The kind of end that a wire reports for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FinishKind {
    Done,
    /// The token limit. Some wires report a full window like this too.
    TokenLimit,
    WindowFull,
    /// The provider's safety filter or the model refused.
    Refused,
    /// The model generated something unreadable. A retry may succeed.
    ModelError,
}

/// The arguments of a call, while they are received.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ArgumentBuffer {
    /// JSON text, which may be incomplete until the end.
    Text(String),
    Json(Json),
}

/// A call, while it is received.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PartialCall {
    /// The wire's index of the call.
    pub(super) index: Option<u64>,
    /// Empty while it is unknown.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) args: ArgumentBuffer,
    pub(super) is_signed: bool,
}

impl PartialCall {
    /// Creates a call without arguments.
    pub(super) fn new(id: &str, name: &str) -> Self {
        Self {
            index: None,
            id: id.to_owned(),
            name: name.to_owned(),
            args: ArgumentBuffer::Text(String::new()),
            is_signed: false,
        }
    }

    /// Adds to the arguments: a piece of text, or the whole value.
    pub(super) fn push_arguments(&mut self, more: &Json) {
        match (more, &mut self.args) {
            (Json::String(more), ArgumentBuffer::Text(text)) => text.push_str(more),
            // Text after a whole value cannot be interpreted, so keep all of it as text.
            (Json::String(more), ArgumentBuffer::Json(value)) if !more.is_empty() => {
                self.args = ArgumentBuffer::Text(format!("{value}{more}"));
            }
            (Json::Null, _) | (Json::String(_), ArgumentBuffer::Json(_)) => {}
            (value, args) => *args = ArgumentBuffer::Json(value.clone()),
        }
    }

    /// Whether the arguments are a complete JSON object, so that nothing of the call can be
    /// missing.
    pub(super) fn is_closed(&self) -> bool {
        match &self.args {
            ArgumentBuffer::Json(_) => true,
            ArgumentBuffer::Text(text) => {
                parse_arguments(text).is_ok_and(|args| args.is_object()) && !is_blank(text)
            }
        }
    }

    pub(super) fn parse_arguments(&self) -> Result<Json, MalformedArguments> {
        match &self.args {
            ArgumentBuffer::Json(value) => Ok(value.clone()),
            ArgumentBuffer::Text(text) => parse_arguments(text),
        }
    }

    fn into_call(self) -> CalledTool {
        let args = self.parse_arguments();
        let id = (!self.id.is_empty()).then_some(self.id);
        CalledTool { id, name: self.name, args, is_signed: self.is_signed }
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Parses arguments received as text. Blank text or `null` is an empty object.
fn parse_arguments(text: &str) -> Result<Json, MalformedArguments> {
    if is_blank(text) {
        return Ok(Json::Object(serde_json::Map::new()));
    }
    match serde_json::from_str(text) {
        Ok(Json::Null) => Ok(Json::Object(serde_json::Map::new())),
        Ok(args) => Ok(args),
        Err(error) => Err(MalformedArguments { text: text.to_owned(), why: error.to_string() }),
    }
}

/// An answer, while it is received.
#[derive(Debug, Default)]
pub(super) struct AnswerBuilder {
    pending_parts: Vec<AnswerPart>,
    /// The calls, in order.
    pub(super) calls: Vec<PartialCall>,
    pub(super) usage: Option<TokenUsage>,
    /// The stop reason in the wire's terms.
    pub(super) stop_reason: Option<String>,
    /// Whether there is a message at all, even an empty one.
    pub(super) has_message: bool,
    /// Whether all further bytes can be ignored.
    pub(super) is_over: bool,
    finish: Option<FinishKind>,
    refusal: String,
    failure: Option<(AnswerOutcome, ProviderFailure)>,
    replay: Option<Json>,
}

impl AnswerBuilder {
    pub(super) fn push_text(&mut self, text: &str) {
        self.has_message = true;
        if !text.is_empty() {
            self.pending_parts.push(AnswerPart::Text(text.to_owned()));
        }
    }

    pub(super) fn push_reasoning(&mut self, text: &str) {
        self.has_message = true;
        if !text.is_empty() {
            self.pending_parts.push(AnswerPart::Reasoning(text.to_owned()));
        }
    }

    /// Adds to a refusal that the wire reports separately from the text.
    pub(super) fn push_refusal(&mut self, text: &str) {
        self.has_message = true;
        self.refusal.push_str(text);
    }

    pub(super) fn begin_call(&mut self, call: PartialCall) -> &mut PartialCall {
        self.has_message = true;
        self.check_call_count(self.calls.len());
        self.calls.push(call);
        let last = self.calls.len() - 1;
        &mut self.calls[last]
    }

    /// Fails the answer if it already has the maximum number of calls.
    pub(super) fn check_call_count(&mut self, calls: usize) {
        if calls >= MAX_CALLS {
            let message = format!("the answer makes more than {MAX_CALLS} tool calls");
            self.end_with(
                AnswerOutcome::Error,
                ProviderFailure { message, ..ProviderFailure::default() },
            );
        }
    }

    /// Finishes the message, with a stop reason if the wire names one. A later reason does not
    /// replace one that makes the message fail.
    pub(super) fn finish(&mut self, stop: &str, finish: FinishKind) {
        if matches!(self.finish, Some(FinishKind::Refused | FinishKind::ModelError)) {
            return;
        }
        self.stop_reason = (!stop.is_empty()).then(|| stop.to_owned());
        self.finish = Some(finish);
    }

    /// Whether the terminal event was read.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Ends the answer with an error that the provider reported in it.
    pub(super) fn set_failure(&mut self, failure: ProviderFailure) {
        self.end_with(AnswerOutcome::ErrorInBody, failure);
    }

    /// Ends the answer because its bytes cannot be parsed. A retry may succeed.
    pub(super) fn fail_retryable(&mut self, message: String) {
        self.end_with(
            AnswerOutcome::Error,
            ProviderFailure { message, is_retryable: true, ..ProviderFailure::default() },
        );
    }

    /// Ends the answer with a failure. The first failure wins.
    pub(super) fn end_with(&mut self, outcome: AnswerOutcome, failure: ProviderFailure) {
        self.is_over = true;
        self.failure.get_or_insert((outcome, failure));
    }

    /// Sets the data that the next request has to repeat.
    pub(super) fn set_replay(&mut self, replay: Json) {
        self.replay = Some(replay);
    }

    /// Takes the parts that can be emitted already.
    pub(super) fn take_parts(&mut self) -> Vec<AnswerPart> {
        std::mem::take(&mut self.pending_parts)
    }

    pub(super) fn into_parts(mut self) -> Vec<AnswerPart> {
        let (outcome, failure) = self.find_outcome();
        let mut parts = self.take_parts();
        parts.extend(self.usage.map(AnswerPart::Usage));
        if matches!(outcome, AnswerOutcome::Ok | AnswerOutcome::Truncated) {
            parts.extend(self.calls.into_iter().map(|call| AnswerPart::Call(call.into_call())));
        }
        parts.push(AnswerPart::End(AnswerEnd {
            outcome,
            stop_reason: self.stop_reason,
            is_limited: matches!(
                self.finish,
                Some(FinishKind::TokenLimit | FinishKind::WindowFull)
            ),
            refusal: (!self.refusal.is_empty()).then_some(self.refusal),
            failure,
            replay: self.replay.filter(|_| outcome == AnswerOutcome::Ok),
        }));
        parts
    }

    fn find_outcome(&mut self) -> (AnswerOutcome, Option<ProviderFailure>) {
        if let Some((outcome, failure)) = self.failure.take() {
            return (outcome, Some(failure));
        }
        let stop = self.stop_reason.as_deref().unwrap_or_default();
        let failure = |outcome, message: String, retryable| {
            (
                outcome,
                Some(ProviderFailure {
                    message,
                    is_retryable: retryable,
                    ..ProviderFailure::default()
                }),
            )
        };
        match self.finish {
            None => {
                let message = "The answer broke off before it was complete.".to_owned();
                failure(AnswerOutcome::Incomplete, message, true)
            }
            Some(FinishKind::Refused) => {
                let message = format!("The model or its provider refused ({stop}).");
                failure(AnswerOutcome::Refused, message, false)
            }
            Some(FinishKind::ModelError) => {
                let message = format!("The provider could not parse the model's answer ({stop}).");
                failure(AnswerOutcome::ModelError, message, true)
            }
            Some(FinishKind::TokenLimit | FinishKind::WindowFull) if self.has_cut_call() => {
                let message = format!(
                    "The token limit cut off the arguments of a call ({stop}): ask for less at \
                     once."
                );
                let (outcome, mut failure) = failure(AnswerOutcome::Truncated, message, false);
                if let Some(failure) = &mut failure {
                    failure.is_context_overflow = self.finish == Some(FinishKind::WindowFull);
                }
                (outcome, failure)
            }
            Some(finish) if !self.has_message => {
                let message = "The answer contains no message.".to_owned();
                failure(AnswerOutcome::Empty, message, finish == FinishKind::Done)
            }
            Some(_) => (AnswerOutcome::Ok, None),
        }
    }

    /// Whether a call may be incomplete.
    fn has_cut_call(&self) -> bool {
        self.calls.iter().any(|call| !call.is_closed())
    }
}

/// Returns the text of a member; empty if it is missing or not a string.
pub(super) fn member_text<'a>(value: &'a Json, name: &str) -> &'a str {
    value.get(name).and_then(Json::as_str).unwrap_or_default()
}

/// Returns the elements of a member; empty if it is missing or not an array.
pub(super) fn member_list<'a>(value: &'a Json, name: &str) -> &'a [Json] {
    value.get(name).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

/// Returns a member that is a nonnegative number, as an integer.
pub(super) fn member_count(value: &Json, name: &str) -> Option<u64> {
    let value = value.get(name)?;
    value.as_u64().or_else(|| value.as_f64().filter(|it| *it >= 0.0).map(|it| it as u64))
}

/// Appends to a string member of an object, and creates it if needed.
pub(super) fn append_text(value: &mut Json, name: &str, more: &str) {
    match value.get_mut(name) {
        Some(Json::String(text)) => text.push_str(more),
        _ => {
            if let Some(map) = value.as_object_mut() {
                map.insert(name.to_owned(), Json::from(more));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::answer::ModelAnswer;

    fn ended(finish: Option<(&str, FinishKind)>, args: &[&str]) -> ModelAnswer {
        let mut draft = AnswerBuilder::default();
        draft.push_text("hm");
        for args in args {
            draft.begin_call(PartialCall::new("", "t")).push_arguments(&json!(args));
        }
        if let Some((stop, finish)) = finish {
            draft.finish(stop, finish);
        }
        ModelAnswer::from_parts(draft.into_parts())
    }

    #[test]
    fn answer_without_end_has_no_calls() {
        let answer = ended(None, &["{}"]);
        assert_eq!(answer.end.outcome, AnswerOutcome::Incomplete);
        assert_eq!((answer.calls.len(), answer.text.as_str()), (0, "hm"));
        assert!(answer.end.failure.unwrap().is_retryable);
    }

    #[test]
    fn calls_cut_by_token_limit_are_not_runnable() {
        for args in [&["{\"a\":"][..], &[""], &["{}", "{\"a\":1"], &["12"]] {
            let answer = ended(Some(("length", FinishKind::TokenLimit)), args);
            assert_eq!(answer.end.outcome, AnswerOutcome::Truncated, "{args:?}");
            assert_eq!((answer.calls.len(), answer.runnable_calls()), (args.len(), &[][..]));
            assert!(!answer.end.failure.unwrap().is_retryable);
        }
        let answer = ended(Some(("length", FinishKind::TokenLimit)), &["{\"a\":1}"]);
        assert_eq!((answer.end.outcome, answer.runnable_calls().len()), (AnswerOutcome::Ok, 1));
        assert!(answer.end.is_limited);
        assert_eq!(
            ended(Some(("length", FinishKind::TokenLimit)), &[]).end.outcome,
            AnswerOutcome::Ok
        );
    }

    #[test]
    fn broken_arguments_are_never_repaired() {
        let args = |text: &str| parse_arguments(text).map_err(|it| it.text);
        assert_eq!(args(" "), Ok(json!({})));
        assert_eq!(args("null"), Ok(json!({})));
        assert_eq!(args("{\"a\":1}"), Ok(json!({"a": 1})));
        assert_eq!(args("\"{}\""), Ok(json!("{}")));
        for broken in ["{", "{}{}", "{'a':1}", "```json\n{}\n```", "{\"a\":1,}", "nil"] {
            assert_eq!(args(broken), Err(broken.to_owned()));
        }
        let why = parse_arguments("{\"a\":}").unwrap_err().to_string();
        assert!(why.starts_with("the arguments are not JSON: expected value at line 1"), "{why}");
    }

    #[test]
    fn arguments_may_be_json_values() {
        let mut call = PartialCall::new("", "t");
        call.push_arguments(&Json::Null);
        call.push_arguments(&json!({"a": 1}));
        call.push_arguments(&json!(""));
        assert_eq!(call.parse_arguments(), Ok(json!({"a": 1})));
        call.push_arguments(&json!("}"));
        assert!(call.parse_arguments().is_err());
    }

    #[test]
    fn refusal_is_not_overridden_by_later_end() {
        let mut draft = AnswerBuilder::default();
        draft.finish("content_filter", FinishKind::Refused);
        draft.finish("stop", FinishKind::Done);
        draft.begin_call(PartialCall::new("", "t"));
        let answer = ModelAnswer::from_parts(draft.into_parts());
        assert_eq!(answer.end.outcome, AnswerOutcome::Refused);
        assert_eq!(answer.end.stop_reason.as_deref(), Some("content_filter"));
        assert_eq!(answer.calls, []);
        assert!(answer.is_declined());
    }

    #[test]
    fn missing_message_is_empty_but_blank_text_is_ok() {
        let mut draft = AnswerBuilder::default();
        draft.finish("stop", FinishKind::Done);
        assert_eq!(ModelAnswer::from_parts(draft.into_parts()).end.outcome, AnswerOutcome::Empty);
        let mut draft = AnswerBuilder::default();
        draft.push_text("");
        draft.finish("stop", FinishKind::Done);
        let answer = ModelAnswer::from_parts(draft.into_parts());
        assert_eq!(answer.end.outcome, AnswerOutcome::Ok);
        assert!(answer.is_silent());
    }

    #[test]
    fn first_failure_overrides_finish() {
        let mut draft = AnswerBuilder::default();
        draft.begin_call(PartialCall::new("", "t"));
        draft.finish("stop", FinishKind::Done);
        draft.set_failure(ProviderFailure {
            message: "first".to_owned(),
            ..ProviderFailure::default()
        });
        draft.fail_retryable("second".to_owned());
        let answer = ModelAnswer::from_parts(draft.into_parts());
        assert_eq!(answer.end.outcome, AnswerOutcome::ErrorInBody);
        assert_eq!(answer.end.failure.unwrap().message, "first");
        assert_eq!(answer.calls, []);
    }
}
