//! Why the cloud did not answer as asked, in a sentence with the next step.

use std::time::Duration;

use serde_json::Value as Json;

use super::request::{RetryPolicy, StatusAdvice};

/// The maximum length of a service's own words in a message, in characters.
const MAX_DETAIL: usize = 300;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloudFailureKind {
    /// The request is not valid.
    Invalid,
    /// The key is missing, wrong or revoked.
    Unauthorized,
    /// The account has too few credits.
    PaymentRequired,
    /// The key lacks a scope or a right.
    Forbidden,
    NotFound,
    /// Something else is going on with what the request is about.
    Conflict,
    /// Too many requests. The delay is what the service asks for.
    TooMany {
        retry_after: Option<Duration>,
    },
    Server,
    /// The service cannot be reached, or does not answer in time.
    Unreachable,
    /// The answer cannot be read.
    Unreadable,
}

impl CloudFailureKind {
    /// Whether the same request may succeed a moment later.
    pub fn is_passing(self) -> bool {
        match self {
            Self::TooMany { .. } | Self::Server | Self::Unreachable => true,
            Self::Invalid
            | Self::Unauthorized
            | Self::PaymentRequired
            | Self::Forbidden
            | Self::NotFound
            | Self::Conflict
            | Self::Unreadable => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CloudFailure {
    pub kind: CloudFailureKind,
    /// What failed, and what to do.
    pub message: String,
    /// Whether the service may have acted on the request all the same.
    pub may_have_acted: bool,
}

impl CloudFailure {
    pub(crate) fn unreachable(host: &str, reason: &str) -> Self {
        let message = format!(
            "{host} cannot be reached: {reason}. Check the connection to the internet, and try again."
        );
        Self { kind: CloudFailureKind::Unreachable, message, may_have_acted: true }
    }

    /// A request that was stopped while it was sent, or while its answer was awaited.
    pub fn stopped(message: String) -> Self {
        Self { kind: CloudFailureKind::Unreachable, message, may_have_acted: true }
    }

    /// A service that does not answer in time.
    pub fn from_timeout(host: &str, limit: Duration) -> Self {
        Self::unreachable(host, &format!("it did not answer within {} s", limit.as_secs()))
    }

    pub(crate) fn unreadable(host: &str, reason: &str) -> Self {
        let message = format!(
            "The answer of {host} cannot be read: {reason}. Try again; if that does not help, an update \
             of Vector may."
        );
        Self { kind: CloudFailureKind::Unreadable, message, may_have_acted: true }
    }

    /// A request that Vector does not send, because the service would refuse it.
    pub(crate) fn refused(message: &str) -> Self {
        let (kind, message) = (CloudFailureKind::Invalid, message.to_owned());
        Self { kind, message, may_have_acted: false }
    }

    /// Adds, if the service may have acted on a request all the same, that it may have. Such a request
    /// is not sent again.
    #[must_use]
    pub(crate) fn with_retry_policy(mut self, retry: RetryPolicy) -> Self {
        if self.may_have_acted && retry == RetryPolicy::Unprocessed {
            self.message.push_str(
                " The request may have been completed all the same: check that before you repeat it.",
            );
        }
        self
    }

    /// The failure that a status other than success stands for. The advice of the route replaces the
    /// general next step.
    pub(crate) fn from_status(
        host: &str,
        status: u16,
        retry_after: Option<Duration>,
        advice: &[StatusAdvice],
        body: &[u8],
    ) -> Self {
        let (kind, next) = match status {
            401 => (
                CloudFailureKind::Unauthorized,
                "The key is missing, wrong or revoked. Set it again.",
            ),
            402 => {
                (CloudFailureKind::PaymentRequired, "The account has too few credits. Buy some.")
            }
            403 => (
                CloudFailureKind::Forbidden,
                "The key lacks a scope or a right for this. Check both.",
            ),
            404 => (CloudFailureKind::NotFound, "Check the number."),
            409 => (CloudFailureKind::Conflict, "Close what uses it, and try again."),
            429 => (CloudFailureKind::TooMany { retry_after }, "Try again later."),
            300..=399 => (
                CloudFailureKind::Unreadable,
                "Vector does not follow redirects. Update Vector, or try again later.",
            ),
            500.. => (CloudFailureKind::Server, "The service has a problem; try again later."),
            _ => (CloudFailureKind::Invalid, "Change the request."),
        };
        let detail = error_detail(body);
        let own = advice.iter().find(|it| it.is_for(status, &detail)).map(|it| it.text);
        let next = match retry_after.filter(|_| status == 429) {
            Some(after) => format!("Try again in {} s.", after.as_secs().max(1)),
            None => own.unwrap_or(next).to_owned(),
        };
        let detail = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
        let message = format!("{host} answered {status}{detail}. {next}");
        let may_have_acted =
            matches!(kind, CloudFailureKind::Server | CloudFailureKind::Unreadable);
        Self { kind, message, may_have_acted }
    }
}

/// Returns what an error body says. Roblox's services have several forms:
/// `{title, detail}`, `{code, message}` and `{errors: [{message}]}`.
fn error_detail(body: &[u8]) -> String {
    let Ok(body) = serde_json::from_slice::<Json>(body) else {
        return String::new();
    };
    let first = &body["errors"][0]["message"];
    let said = [&body["detail"], &body["message"], first, &body["title"]];
    let said = said.into_iter().find_map(|it| it.as_str().filter(|it| !it.trim().is_empty()));
    let words = said.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let end = words.char_indices().nth(MAX_DETAIL).map_or(words.len(), |(at, _)| at);
    words[..end].trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(status: u16, after: Option<u64>, body: &str) -> String {
        let after = after.map(Duration::from_secs);
        CloudFailure::from_status("apis.roblox.com", status, after, &[], body.as_bytes()).message
    }

    #[test]
    fn every_form_of_an_error_body_is_read() {
        let forms = [
            r#"{"type":"about:blank","title":"Bad Request","status":400,"detail":"No such category."}"#,
            r#"{"code":"INVALID_ARGUMENT","message":"No such category.","details":[]}"#,
            r#"{"errors":[{"code":0,"message":"No such  category."}]}"#,
        ];
        for form in forms {
            let expected = "apis.roblox.com answered 400 (No such category). Change the request.";
            assert_eq!(message(400, None, form), expected);
        }
        for nothing in ["", "<html>", "[]", "{}", r#"{"detail":7}"#, "\u{0}"] {
            assert_eq!(
                message(502, None, nothing),
                "apis.roblox.com answered 502. The service has a problem; try again later."
            );
        }
        let limited = message(429, Some(30), r#"{"title":"Too many requests"}"#);
        assert_eq!(limited, "apis.roblox.com answered 429 (Too many requests). Try again in 30 s.");
        let long = format!(r#"{{"detail":"{}"}}"#, "ä".repeat(5_000));
        assert!(message(400, None, &long).chars().count() < 400);
    }
}
