//! Parses provider errors: an HTTP error status, an error in place of an answer, or an error within
//! it.
//!
//! Providers word their errors in many ways; all of them are collected here. An unrecognised error
//! is classified by its status. This module does not retry anything.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value as Json;

use super::answer::ProviderFailure;
use super::answer_builder::{member_list, member_text};
use super::retry_after;
use super::wire::WireFormat;

/// The head of a response: status and headers.
#[derive(Debug, Clone, Default)]
pub struct ResponseHead {
    pub status: u16,
    /// Names and values of the headers. Names may be in any case.
    pub headers: Vec<(String, String)>,
    /// The time of receipt, in milliseconds since 1970. It is the reference for retry hints that
    /// are dates, if the response has no date header.
    pub received_at: Option<u64>,
}

impl ResponseHead {
    /// Returns the value of a header; empty if it is absent.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value.trim())
    }

    /// Returns the content type; empty if it is absent.
    pub fn content_type(&self) -> &str {
        self.header("content-type")
    }
}

/// Returns `data` if it is an error in place of an answer or an event.
pub(super) fn find_error<'a>(name: &str, data: &'a Json) -> Option<&'a Json> {
    let error = match &data["error"] {
        Json::Null => false,
        Json::String(text) => !text.is_empty(),
        Json::Object(members) => !members.is_empty(),
        _ => true,
    };
    let is_error = error || name == "error" || data["type"] == "error" || data["object"] == "error";
    is_error.then_some(data)
}

/// Parses a response with an error status.
pub(super) fn from_response(head: &ResponseHead, body: &[u8]) -> ProviderFailure {
    let body: Json = serde_json::from_slice(body)
        .unwrap_or_else(|_| Json::from(String::from_utf8_lossy(body).into_owned()));
    build_failure(&body, head, Some(head.status))
}

/// The kind of failure if a web server answered with a page instead of the provider.
pub const PAGE_KIND: &str = "page";

/// Builds the failure for a web page in place of an answer. It is not retryable.
pub(super) fn from_page(head: &ResponseHead, body: &[u8], wire: WireFormat) -> ProviderFailure {
    const SHOWN: usize = 80;
    let kind = match head.content_type() {
        "" => "a page",
        kind => kind,
    };
    let text: String = shorten_body(&String::from_utf8_lossy(body)).chars().take(SHOWN).collect();
    let opening =
        if text.is_empty() { String::new() } else { format!(", which begins \"{text}\"") };
    ProviderFailure {
        kind: Some(PAGE_KIND.to_owned()),
        message: format!("the answer is {kind}{opening}, not {wire} JSON"),
        ..ProviderFailure::default()
    }
}

/// Parses an error in a response whose status was not an error.
pub(super) fn from_object(body: &Json, head: &ResponseHead) -> ProviderFailure {
    build_failure(body, head, None)
}

/// The details in an error's body.
#[derive(Debug, Default)]
struct ErrorDetails {
    kind: Option<String>,
    code: Option<String>,
    message: String,
    /// The message of an upstream provider.
    upstream_message: String,
}

fn build_failure(body: &Json, head: &ResponseHead, status: Option<u16>) -> ProviderFailure {
    let body = body.get(0).filter(|_| body.is_array()).unwrap_or(body);
    let mut error = error_details(body);
    if let Some(kind) = aws_kind(head, body) {
        error.kind = Some(kind);
    }
    let text = format!("{}\n{}", error.message, error.upstream_message);
    let by_code = error.code.as_deref().or(error.kind.as_deref()).and_then(parse_status);
    let effective_status = status.or(by_code);
    let retry_after = retry_after::find_retry_after(head, body, &text, effective_status);
    let quota_exhausted =
        effective_status == Some(402) || is_quota(body, &error, &text, retry_after.is_some());
    let context_overflow = is_overflow(effective_status, &error, &text);
    let retryable = match head.header("x-should-retry") {
        _ if quota_exhausted || context_overflow => false,
        "true" => true,
        "false" => false,
        _ => is_transient(status, by_code, &error, &text),
    };
    let message = if error.message.is_empty() {
        status.map_or_else(
            || "The provider reported an error without a message.".to_owned(),
            |status| format!("HTTP status {status} without a message."),
        )
    } else {
        error.message
    };
    ProviderFailure {
        status,
        kind: error.kind,
        message,
        is_retryable: retryable,
        retry_after,
        is_context_overflow: context_overflow,
        is_quota_exhausted: quota_exhausted,
    }
}

fn scalar_text(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => (!text.is_empty()).then(|| text.clone()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn parse_status(code: &str) -> Option<u16> {
    code.parse().ok().filter(|code| (400..600).contains(code))
}

/// Finds the details in the known error envelopes.
fn error_details(body: &Json) -> ErrorDetails {
    let first = |values: &[&Json]| values.iter().find_map(|value| scalar_text(value));
    match (body, &body["error"]) {
        (Json::String(text), _) => {
            ErrorDetails { message: shorten_body(text), ..ErrorDetails::default() }
        }
        (_, Json::Object(_)) => {
            let error = &body["error"];
            let metadata = &error["metadata"];
            let beneath = [&metadata["raw"], &metadata["reasons"], &error["details"]];
            ErrorDetails {
                kind: first(&[&error["type"], &error["status"], &error["code"]]),
                code: first(&[&error["code"], &error["status"]]),
                message: first(&[&error["message"], &body["message"]]).unwrap_or_default(),
                upstream_message: beneath
                    .iter()
                    .filter_map(|it| scalar_text(it))
                    .collect::<Vec<_>>()
                    .join("\n"),
            }
        }
        (_, Json::String(text)) => ErrorDetails {
            kind: None,
            code: first(&[&body["code"]]),
            message: first(&[&body["message"]]).unwrap_or_else(|| text.clone()),
            upstream_message: text.clone(),
        },
        _ => {
            let kind = first(&[&body["type"], &body["code"]]).filter(|kind| kind != "error");
            let detail = &body["detail"];
            let message = first(&[
                &body["message"],
                &body["Message"],
                detail,
                &detail[0]["msg"],
                &body["errors"][0]["message"],
                &body["error_description"],
            ]);
            ErrorDetails {
                kind: kind.or_else(|| first(&[&body["code"]])),
                code: first(&[&body["code"]]),
                message: message.unwrap_or_default(),
                upstream_message: String::new(),
            }
        }
    }
}

/// Returns the beginning of a body that is not JSON, on one line and without HTML markup.
fn shorten_body(text: &str) -> String {
    let text = MARKUP_PATTERN.as_ref().map_or(text.into(), |tags| tags.replace_all(text, " "));
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect()
}

/// Returns the kind of an AWS error. AWS puts it in a header or beside the message, and may add a
/// URL after it or a namespace before it.
fn aws_kind(head: &ResponseHead, body: &Json) -> Option<String> {
    let named = match head.header("x-amzn-errortype") {
        "" => member_text(body, "__type"),
        kind => kind,
    };
    let kind = named.split(':').next().unwrap_or_default();
    let kind = kind.rsplit('#').next().unwrap_or_default();
    (!kind.is_empty()).then(|| kind.to_owned())
}

type WordPattern = LazyLock<Option<Regex>>;

static MARKUP_PATTERN: WordPattern =
    LazyLock::new(|| Regex::new(r"(?s)<(?:style|script).*?</(?:style|script)>|<[^>]*>").ok());

/// Messages that say a request is too long for the model.
static OVERFLOW_PATTERN: WordPattern = LazyLock::new(|| {
    let patterns = [
        // Anthropic, also through Bedrock.
        r"prompt is too long",
        r"exceeds? context limit",
        // OpenAI and those that copy it; vLLM; OpenRouter; Mistral.
        r"(?:maximum|max) context length",
        r"context[ _]?(?:window|length|size|limit)s? (?:has been |was )?exceeded",
        r"exceed(?:s|ed|ing)? (?:the |this |its )?(?:model'?s )?(?:available |maximum |max )?context",
        r"(?:longer|larger|greater|bigger) than (?:the )?(?:model'?s )?(?:maximum )?(?:context|model) (?:length|window|size)",
        r"too large for model with",
        r"reduce the length of (?:the|your) (?:messages|prompt|input)",
        // Gemini.
        r"input token count.{0,40}exceeds the maximum",
        r"exceeds the maximum number of (?:input )?tokens",
        // Bedrock.
        r"input is too long",
        r"too many input tokens",
        r"input length .{0,60}exceed",
        // xAI; Copilot.
        r"maximum prompt length",
        r"prompt token count .{0,40}exceeds",
        // LM Studio; Ollama.
        r"context the overflows|context overflow",
        r"loaded with context length of only",
        r"prompt too long",
    ];
    Regex::new(&format!("(?is){}", patterns.join("|"))).ok()
});

/// Messages that say a request exceeds the tokens per minute. Waiting does not help.
static TOO_LARGE_PATTERN: WordPattern = LazyLock::new(|| {
    let pattern = r"request too large for .{0,120}tokens per min|must be reduced in order to run";
    Regex::new(&format!("(?is){pattern}")).ok()
});

/// Messages that say the quota is used up, or an account has to be paid.
static QUOTA_PATTERN: WordPattern = LazyLock::new(|| {
    let patterns = [
        r"insufficient (?:credit|balance|fund|quota)",
        r"(?:credit|account) balance is too low",
        r"(?:billing|spend(?:ing)?|monthly|usage) (?:hard )?(?:limit|cap)s?\b",
        r"(?:out of|run out of|no remaining|requires more) credits",
        r"quota (?:has been |is )?exhausted",
    ];
    Regex::new(&format!("(?is){}", patterns.join("|"))).ok()
});

/// Quotas that reset by themselves, but not soon.
static DAILY_PATTERN: WordPattern =
    LazyLock::new(|| Regex::new(r"(?i)per[ _-]?(?:day|week|month)|\bdaily\b").ok());

/// Words of temporary errors, for errors without a kind.
static TRANSIENT_PATTERN: WordPattern = LazyLock::new(|| {
    let patterns = [
        "overload",
        "timed? ?out",
        "temporar",
        "unavailable",
        "try again",
        "disconnect",
        "connection",
        "internal (?:server )?error",
        "unexpected(?:ly)?",
        "too many requests",
        "rate limit",
        "at capacity",
        "busy",
        "while running the model",
    ];
    Regex::new(&format!("(?i){}", patterns.join("|"))).ok()
});

fn matches_pattern(pattern: &WordPattern, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// Normalizes an error kind, so that the spellings of all wires compare equal:
/// `throttlingException` and `THROTTLING`.
fn normalize_kind(kind: &str) -> String {
    let mut kind: String = kind.chars().filter(char::is_ascii_alphanumeric).collect();
    kind.make_ascii_lowercase();
    for end in ["exception", "error"] {
        if let Some(short) = kind.strip_suffix(end).filter(|it| !it.is_empty()) {
            kind.truncate(short.len());
        }
    }
    kind
}

impl ErrorDetails {
    /// Whether its kind or its code is one of `kinds`.
    fn has_kind(&self, kinds: &[&str]) -> bool {
        let given = [&self.kind, &self.code];
        given.into_iter().flatten().any(|kind| kinds.contains(&normalize_kind(kind).as_str()))
    }
}

fn is_overflow(status: Option<u16>, error: &ErrorDetails, text: &str) -> bool {
    const KINDS: [&str; 5] = [
        "contextlengthexceeded",
        "exceedcontextsize",
        "contextwindowexceeded",
        "modelcontextwindowexceeded",
        "modelmaxprompttokensexceeded",
    ];
    match status {
        _ if matches_pattern(&TOO_LARGE_PATTERN, text) => true,
        // The request is too large in bytes. It has to become shorter too.
        Some(413) => true,
        // These are not overflows: 429 may report too many tokens per minute.
        Some(401 | 403 | 404 | 429) => false,
        _ => error.has_kind(&KINDS) || matches_pattern(&OVERFLOW_PATTERN, text),
    }
}

fn is_quota(body: &Json, error: &ErrorDetails, text: &str, has_hint: bool) -> bool {
    const KINDS: [&str; 9] = [
        "insufficientquota",
        "billing",
        "billinghardlimitreached",
        "quotaexceeded",
        "servicequotaexceeded",
        "insufficientbalance",
        "insufficientcredits",
        "usagelimitreached",
        "creditsexhausted",
    ];
    if error.has_kind(&KINDS) || matches_pattern(&QUOTA_PATTERN, text) {
        return true;
    }
    // Google says "current quota" even if it resets within a minute. Only the details tell the
    // difference.
    let details = member_list(&body["error"], "details");
    let violations = details.iter().flat_map(|detail| member_list(detail, "violations"));
    let is_daily = violations.into_iter().any(|violation| {
        matches_pattern(&DAILY_PATTERN, member_text(violation, "quotaId"))
            || matches_pattern(&DAILY_PATTERN, member_text(violation, "quotaMetric"))
    });
    is_daily
        || !has_hint
            && (text.contains("exceeded your current quota")
                || matches_pattern(&DAILY_PATTERN, text))
}

fn is_transient(
    status: Option<u16>,
    by_code: Option<u16>,
    error: &ErrorDetails,
    text: &str,
) -> bool {
    const KINDS: [&str; 27] = [
        "aborted",
        "api",
        "badgateway",
        "deadlineexceeded",
        "engineoverloaded",
        "gatewaytimeout",
        "internal",
        "internalserver",
        "model",
        "modelnotready",
        "modelstream",
        "modeltimeout",
        "overloaded",
        "ratelimit",
        "ratelimitexceeded",
        "requesttimeout",
        "resourceexhausted",
        "server",
        "serverisoverloaded",
        "serviceunavailable",
        "slowdown",
        "throttling",
        "timeout",
        "tokens",
        "toomanyrequests",
        "unavailable",
        "upstream",
    ];
    match status.or(by_code) {
        Some(status) => {
            matches!(status, 408 | 409 | 424 | 425 | 429 | 498)
                || status >= 500 && !matches!(status, 501 | 505)
        }
        None if error.kind.is_some() => error.has_kind(&KINDS),
        None => error.has_kind(&KINDS) || matches_pattern(&TRANSIENT_PATTERN, text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn head(status: u16, headers: &[(&str, &str)]) -> ResponseHead {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        ResponseHead { status, headers: headers.iter().map(own).collect(), received_at: None }
    }

    fn of(status: u16, body: Json) -> ProviderFailure {
        let head = head(status, &[]);
        if status == 200 {
            from_object(&body, &head)
        } else {
            from_response(&head, body.to_string().as_bytes())
        }
    }

    #[track_caller]
    fn check(status: u16, body: Json, kind: Option<&str>, message: &str, retryable: bool) {
        let failure = of(status, body);
        let found = (failure.kind.as_deref(), failure.message.as_str(), failure.is_retryable);
        assert_eq!(found, (kind, message, retryable));
    }

    #[test]
    fn error_formats_of_all_providers_are_parsed() {
        let anthropic =
            json!({"type": "error", "error": {"type": "rate_limit_error", "message": "m"}});
        check(429, anthropic, Some("rate_limit_error"), "m", true);
        let openai = json!({"error": {"message": "m", "type": "tokens", "code": "x"}});
        check(429, openai, Some("tokens"), "m", true);
        let google = json!([{"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}}]);
        check(503, google, Some("UNAVAILABLE"), "m", true);
        check(400, json!({"error": {"code": 400, "message": "m"}}), Some("400"), "m", false);
        check(404, json!({"error": "m"}), None, "m", false);
        check(400, json!({"code": "c", "error": "m"}), None, "m", false);
        let vllm =
            json!({"object": "error", "message": "m", "type": "BadRequestError", "code": 400});
        check(400, vllm, Some("BadRequestError"), "m", false);
        check(422, json!({"detail": [{"loc": ["body"], "msg": "m"}]}), None, "m", false);
        check(500, json!({"detail": "m"}), None, "m", true);
        check(404, json!({"message": "m"}), None, "m", false);
        let typed =
            json!({"__type": "com.amazon.coral.service#ValidationException", "Message": "m"});
        check(400, typed, Some("ValidationException"), "m", false);
    }

    #[test]
    fn errors_in_successful_responses_are_judged_by_kind() {
        let openai = |kind: &str| json!({"error": {"type": kind, "message": "m"}});
        for kind in ["overloaded_error", "api_error", "server_error", "rate_limit_error"] {
            check(200, openai(kind), Some(kind), "m", true);
        }
        for kind in ["invalid_request_error", "authentication_error", "permission_error"] {
            check(200, openai(kind), Some(kind), "m", false);
        }
        let flat = json!({"type": "error", "code": "server_error", "message": "m"});
        check(200, flat, Some("server_error"), "m", true);
        check(200, json!({"error": {"code": 502, "message": "m"}}), Some("502"), "m", true);
        check(200, json!({"error": {"code": 400, "message": "m"}}), Some("400"), "m", false);
        check(
            200,
            json!({"error": "model runner has unexpectedly stopped"}),
            None,
            "model runner has unexpectedly stopped",
            true,
        );
        check(200, json!({"error": "no such model"}), None, "no such model", false);
    }

    #[test]
    fn non_json_body_is_summarised() {
        let page = b"<html><head><style>p{}</style><title>502  Bad\nGateway</title></head></html>";
        let failure = from_response(&head(502, &[]), page);
        assert_eq!((failure.message.as_str(), failure.is_retryable), ("502 Bad Gateway", true));
        let failure = from_response(&head(500, &[]), b"");
        assert_eq!(failure.message, "HTTP status 500 without a message.");
    }

    #[test]
    fn server_header_decides_whether_to_retry() {
        for (status, said, retryable) in [(500, "false", false), (400, "true", true)] {
            let head = head(status, &[("X-Should-Retry", said)]);
            assert_eq!(from_response(&head, b"{}").is_retryable, retryable);
        }
    }

    #[test]
    fn aws_error_kind_is_read_from_header() {
        let header = ("x-amzn-ErrorType", "ThrottlingException:http://internal.amazon.com/coral/");
        let failure = from_response(&head(429, &[header]), b"{\"message\":\"slow\"}");
        assert_eq!(failure.kind.as_deref(), Some("ThrottlingException"));
    }

    #[test]
    fn exhausted_quota_is_not_retried() {
        let message = |message: &str| json!({"error": {"message": message, "type": "x"}});
        let code = json!({"error": {"message": "m", "code": "insufficient_quota"}});
        for (status, body) in [
            (429, code),
            (402, message("pay")),
            (429, message("You exceeded your current quota, please check your plan.")),
            (429, message("Rate limit exceeded: free-models-per-day. Add 10 credits.")),
            (429, message("Too many tokens per day, please wait.")),
            (400, message("Your credit balance is too low to access the API.")),
            (403, message("You have reached your specified API usage limits.")),
        ] {
            let failure = of(status, body.clone());
            assert!(failure.is_quota_exhausted && !failure.is_retryable, "{body} {failure:?}");
        }
        let minute = of(429, message("Rate limit reached for tokens per min. Try again in 6s."));
        assert!(!minute.is_quota_exhausted && minute.is_retryable);
        let rolling = of(429, message("Limit reached for tokens per day: Try again in 7m12s."));
        assert!(!rolling.is_quota_exhausted && rolling.is_retryable);
    }

    #[test]
    fn google_minute_quota_is_retried_and_daily_is_not() {
        let body = |quota: &str| {
            json!({"error": {
                "code": 429,
                "message": "You exceeded your current quota, please check your plan and billing details.",
                "status": "RESOURCE_EXHAUSTED",
                "details": [
                    {"@type": "type.googleapis.com/google.rpc.QuotaFailure",
                     "violations": [{"quotaId": quota}]},
                    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"},
                ],
            }})
        };
        let failure = of(429, body("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"));
        assert!(failure.is_retryable && !failure.is_quota_exhausted, "{failure:?}");
        assert_eq!(failure.retry_after.unwrap().as_millis(), 7_000);
        let failure = of(429, body("GenerateRequestsPerDayPerProjectPerModel-FreeTier"));
        assert!(!failure.is_retryable && failure.is_quota_exhausted, "{failure:?}");
    }

    #[test]
    fn context_overflow_is_recognised() {
        for message in [
            "prompt is too long: 210000 tokens > 200000 maximum",
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
            "This model's maximum context length is 128000 tokens. However, you requested 130000.",
            "Your input exceeds the context window of this model. Please adjust your input.",
            "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
            "Input is too long for requested model.",
            "Please reduce the length of the messages or completion.",
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
            "The input (70000 tokens) is longer than the model's context length (65536 tokens).",
            "the request exceeds the available context size, try increasing it",
            "prompt token count of 70000 exceeds the limit of 64000",
        ] {
            let failure = of(400, json!({"error": {"message": message, "type": "e"}}));
            assert!(failure.is_context_overflow && !failure.is_retryable, "{message}");
        }
        let code = of(400, json!({"error": {"message": "m", "code": "context_length_exceeded"}}));
        assert!(code.is_context_overflow);
        assert!(of(413, json!({})).is_context_overflow);
        let minute = "Request too large for m on tokens per min (TPM): Limit 9, Requested 12. \
                      The input or output tokens must be reduced in order to run successfully.";
        let minute = of(429, json!({"error": {"message": minute, "type": "tokens"}}));
        assert!(minute.is_context_overflow && !minute.is_retryable);
        for message in ["Rate limit: too many tokens per minute", "max_tokens must be positive"] {
            let failure = of(400, json!({"error": {"message": message, "type": "e"}}));
            assert!(!failure.is_context_overflow, "{message}");
        }
        let beneath = json!({"error": {"message": "Provider returned error", "code": 400,
            "metadata": {"raw": "{\"message\":\"prompt is too long: 9 tokens > 8 maximum\"}"}}});
        assert!(of(400, beneath).is_context_overflow);
    }
}
