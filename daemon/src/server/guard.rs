//! The guard of the routes: checks the caller and the request before a handler runs.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::{HeaderMap, Response};
use axum::response::IntoResponse;
use futures_util::StreamExt;
use scene_schemas::api::{Failure, FailureKind, MAX_BODY, Method, Route, RouteId};

use super::AppState;
use super::auth::{self, Caller};
use super::extract::CheckedRequest;
use super::response::ApiError;
use crate::event_hub::EventHub;
use crate::failure::failure;

/// A handler behind the guard of its route.
///
/// A handler of its own and not a layer: each layer would keep a future of its own for as long as a
/// response is held.
#[derive(Debug, Clone)]
pub(super) struct GuardedHandler<H> {
    id: RouteId,
    handler: H,
}

impl<H> GuardedHandler<H> {
    pub(super) fn new(id: RouteId, handler: H) -> Self {
        Self { id, handler }
    }
}

impl<T: 'static, H: Handler<T, AppState>> Handler<(GuardedHandler<()>, T), AppState>
    for GuardedHandler<H>
{
    type Future = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;

    fn call(self, request: Request, app: AppState) -> Self::Future {
        let Self { id, handler } = self;
        // What the check needs is freed before the response is held.
        let checked = Box::pin(check_request(app.clone(), id, request));
        Box::pin(async move {
            let (request, token) = match checked.await {
                Ok(checked) => checked,
                Err(failure) => return ApiError(failure).into_response(),
            };
            let answer = handler.call(request, app.clone());
            let response = run_while_authorized(&app.event_hub, token, answer).await;
            // A rejected request does not reset the idle timer.
            if response.status().is_success() {
                app.event_hub.record_activity();
            }
            response
        })
    }
}

/// Checks a request and reads its body. Also returns the token that has to stay valid until the
/// response is complete; empty if that does not matter.
async fn check_request(
    app: AppState,
    id: RouteId,
    request: Request,
) -> Result<(Request, String), Failure> {
    let route = id.route();
    let (mut parts, body) = request.into_parts();
    let caller = auth::check_caller(id, &parts.headers, app.port, &app.event_hub)?;
    let is_mcp = matches!(id, RouteId::McpMessage | RouteId::McpStream | RouteId::McpEnd);
    // What a message of MCP may have as its body is for the SDK to say.
    let limit = if route.has_body() || is_mcp { MAX_BODY } else { 0 };
    let body = read_body(body, limit, app.body_timeout).await?;
    check_query(id, parts.uri.query().unwrap_or_default())?;
    // A plugin's long poll ends with its session. For other requests, the token is watched.
    let is_watched = caller == Caller::Agent || route.method == Method::Get || is_mcp;
    let token = if is_watched { bearer_token(&parts.headers)? } else { String::new() };
    parts.extensions.insert(CheckedRequest { route, caller });
    Ok((Request::from_parts(parts, Body::from(body)), token))
}

pub(super) fn method_not_allowed(method: &str, path: &str) -> Failure {
    failure(
        FailureKind::MethodNotAllowed,
        format!("{method} is not allowed for {path}."),
        "The methods are in openapi.json.",
    )
}

/// Reads a body within a time limit. Otherwise a body that trickles in would hold its connection
/// forever.
async fn read_body(body: Body, limit: usize, timeout: Duration) -> Result<Bytes, Failure> {
    let read = tokio::time::timeout(timeout, to_bytes(body, limit)).await;
    let Ok(read) = read else {
        let seconds = timeout.as_secs();
        return Err(failure(
            FailureKind::TooSlow,
            format!("The body did not arrive within {seconds} s."),
            "Send it without delay.",
        ));
    };
    read.map_err(|_| {
        failure(
            FailureKind::TooLarge,
            format!("The body is larger than {limit} bytes, or was cut off."),
            "Split it into several requests.",
        )
    })
}

/// Refuses unknown parameters, as unknown fields of a body are refused.
fn check_query(id: RouteId, query: &str) -> Result<(), Failure> {
    let is_free = matches!(
        id,
        // A link to the page may have any parameters.
        RouteId::Page | RouteId::PageAsset | RouteId::Health
        // The SDK handles the parameters of MCP.
        | RouteId::McpMessage | RouteId::McpStream | RouteId::McpEnd
    );
    if is_free {
        return Ok(());
    }
    let route: &Route = id.route();
    let known = || route.query.iter().chain(route.texts);
    let names = query.split('&').filter(|pair| !pair.is_empty());
    let mut names = names.map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name));
    let Some(unknown) = names.find(|name| !known().any(|it| it == name)) else {
        return Ok(());
    };
    let takes = known().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ");
    let hint =
        if takes.is_empty() { "It takes none.".to_owned() } else { format!("It takes {takes}.") };
    Err(failure(
        FailureKind::BadRequest,
        format!("{} takes no parameter `{}`.", route.path, unknown.escape_default()),
        hint,
    ))
}

pub(super) fn bearer_token(headers: &HeaderMap) -> Result<String, Failure> {
    Ok(auth::token_header(headers)?.unwrap_or_default().to_owned())
}

/// Awaits the response while the caller's token is valid. A long poll or a stream ends when the
/// token is revoked.
pub(super) async fn run_while_authorized(
    event_hub: &Arc<EventHub>,
    token: String,
    answer: impl Future<Output = Response<Body>>,
) -> Response<Body> {
    if token.is_empty() {
        return answer.await;
    }
    let response = tokio::select! {
        biased;
        response = answer => response,
        () = event_hub.wait_until_revoked(&token) => {
            return ApiError(auth::unknown_token()).into_response();
        }
    };
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    let event_hub = Arc::clone(event_hub);
    let revoked = Box::pin(async move { event_hub.wait_until_revoked(&token).await });
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(revoked)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::api::{plugin, stream};
    use super::super::listener::HEAD;
    use super::super::mcp::McpHttp;
    use super::*;
    use crate::daemon::DaemonHandle;
    use crate::event_hub::TokenHash;

    /// The memory that a held request may keep besides its connection, in bytes.
    const HELD: usize = 1_792;

    #[test]
    fn held_requests_use_little_memory() {
        let event_hub = Arc::new(EventHub::new(TokenHash::of_token("token")));
        let (daemon, _home) = DaemonHandle::for_tests(&event_hub);
        let mcp = Arc::new(McpHttp::new(&event_hub, &daemon, Path::new("no such file"), HEAD));
        let app = AppState::new(1, event_hub, daemon, mcp, HEAD);
        // The guard's future, and the one of the handler that it holds.
        let kept = [
            size_of_val(
                &*GuardedHandler::new(RouteId::Poll, plugin::poll)
                    .call(Request::default(), app.clone()),
            ),
            size_of_val(&*Handler::call(plugin::poll, Request::default(), app.clone())),
            size_of_val(
                &*GuardedHandler::new(RouteId::Events, stream::events)
                    .call(Request::default(), app.clone()),
            ),
            size_of_val(&*Handler::call(stream::events, Request::default(), app)),
        ];
        assert!(kept[0] + kept[1] <= HELD && kept[2] + kept[3] <= HELD, "{kept:?}");
    }
}
