//! Requests to the daemon, made from the table of its routes.

use std::fmt::Display;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use scene_schemas::api::{Route, RouteId};
use serde::Serialize;

/// The time limit of a command's request: longer than `MAX_HOLD`, for which the daemon may hold it.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// The time limit of an agent's request: longer than the daemon holds any of them.
pub(in crate::cli) const AGENT_TIMEOUT: Duration = Duration::from_secs(90);
/// The time limit of the request that keeps an agent registered: longer than any client runs.
pub(in crate::cli) const PRESENCE_TIMEOUT: Duration = Duration::from_hours(24 * 365);
/// The time limit for a program to say that it is Vector.
pub(super) const HEALTH_TIMEOUT: Duration = Duration::from_millis(500);
/// The characters that are encoded in a path segment or in the value of a parameter.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A request to one route, with a time limit for the whole answer.
#[derive(Debug, Clone)]
pub(in crate::cli) struct RouteRequest {
    id: RouteId,
    pub(super) route: &'static Route,
    /// The path and the query, as they are sent.
    pub(super) target: String,
    pub(super) body: Option<Vec<u8>>,
    pub(super) timeout: Duration,
}

impl RouteRequest {
    /// Creates a request. The body, if the route has one, is an empty object.
    pub(in crate::cli) fn new(id: RouteId) -> Self {
        let route = id.route();
        let body = route.has_body().then(|| b"{}".to_vec());
        Self { id, route, target: route.path.to_owned(), body, timeout: REQUEST_TIMEOUT }
    }

    /// Whether the request uses the daemon, and does not only ask about it or stop it.
    pub(super) fn uses_daemon(&self) -> bool {
        !matches!(self.id, RouteId::Health | RouteId::About | RouteId::Stop)
    }

    /// Sets the placeholder of the route's path.
    pub(in crate::cli) fn with_id(mut self, id: impl Display) -> Self {
        let id = id.to_string();
        self.target = self.target.replace("{id}", &utf8_percent_encode(&id, ENCODED).to_string());
        self
    }

    pub(in crate::cli) fn with_query(mut self, name: &str, value: impl Display) -> Self {
        let separator = if self.target.contains('?') { '&' } else { '?' };
        let value = value.to_string();
        let value = utf8_percent_encode(&value, ENCODED);
        self.target.push_str(&format!("{separator}{name}={value}"));
        self
    }

    pub(in crate::cli) fn with_body(mut self, body: &impl Serialize) -> Self {
        // The types of the API can always be serialized, and the daemon refuses an empty body.
        self.body = Some(serde_json::to_vec(body).unwrap_or_default());
        self
    }

    pub(in crate::cli) fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

#[cfg(test)]
mod tests {
    use scene_schemas::api::MakeToken;
    use scene_schemas::entry::Seq;

    use super::*;

    #[test]
    fn targets_are_filled_in_and_encoded() {
        let workflow = RouteRequest::new(RouteId::CancelWorkflow).with_id(Seq(7));
        assert_eq!(workflow.target, "/api/workflows/7/cancel");
        let scripts = RouteRequest::new(RouteId::AgentScripts).with_id("a/b-1");
        assert_eq!(
            scripts.with_query("cursor", "x&y=ä +").target,
            "/api/agents/scripts/a%2Fb-1?cursor=x%26y%3D%C3%A4%20%2B"
        );
        let events = RouteRequest::new(RouteId::Events).with_query("cursor", 1);
        assert_eq!(events.with_query("hold", 15).target, "/api/stream?cursor=1&hold=15");
    }

    #[test]
    fn body_is_sent_only_where_the_route_has_one() {
        assert_eq!(RouteRequest::new(RouteId::About).body, None);
        assert_eq!(RouteRequest::new(RouteId::Stop).body.unwrap(), b"{}");
        let token = MakeToken { name: "ci".to_owned() };
        let request = RouteRequest::new(RouteId::MakeToken).with_body(&token);
        assert_eq!(request.body.unwrap(), br#"{"name":"ci"}"#);
    }
}
