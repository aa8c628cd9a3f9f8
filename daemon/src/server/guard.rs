//! The guard of the routes: checks the caller and the request before a handler runs.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Response};
use axum::middleware::Next;
use axum::response::IntoResponse;
use futures_util::StreamExt;
use scene_schemas::api::{Failure, FailureKind, MAX_BODY, Route, RouteId};

use super::AppState;
use super::auth::{self, Caller};
use super::extract::CheckedRequest;
use super::response::ApiError;
use crate::event_hub::EventHub;
use crate::failure::failure;

/// Checks a request, and passes it to the handler of its route.
pub(super) async fn guard_route(
    State((app, id)): State<(AppState, RouteId)>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let (request, token) = match Box::pin(check_request(&app, id, request)).await {
        Ok(checked) => checked,
        // A rejected request does not reset the idle timer.
        Err(failure) => return ApiError(failure).into_response(),
    };
    let response = run_while_authorized(&app.event_hub, token, next.run(request)).await;
    app.event_hub.record_activity();
    response
}

/// Checks a request and reads its body. Also returns the token that has to stay valid until the
/// response is complete; empty if that does not matter.
async fn check_request(
    app: &AppState,
    id: RouteId,
    request: Request,
) -> Result<(Request, String), Failure> {
    let route = id.route();
    let (mut parts, body) = request.into_parts();
    // The router passes HEAD to the handler of GET.
    if parts.method.as_str() != route.method.as_str() {
        return Err(method_not_allowed(parts.method.as_str(), parts.uri.path()));
    }
    let caller = auth::check_caller(id, &parts.headers, app.port, &app.event_hub)?;
    let limit = if auth::has_body(route.method) { MAX_BODY } else { 0 };
    let body = read_body(body, limit, app.body_timeout).await?;
    check_query(id, parts.uri.query().unwrap_or_default())?;
    // A plugin's long poll ends with its session. For other requests, the token is watched.
    let token = match caller {
        Caller::Agent => bearer_token(&parts.headers)?,
        _ if auth::is_read_only(route.method) => bearer_token(&parts.headers)?,
        _ if matches!(id, RouteId::McpMessage | RouteId::McpEnd) => bearer_token(&parts.headers)?,
        Caller::Anyone | Caller::Plugin(_) | Caller::Human => String::new(),
    };
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
            format!("The body did not come within {seconds} s."),
            "Send it at once.",
        ));
    };
    read.map_err(|_| {
        failure(
            FailureKind::TooLarge,
            format!("The body is larger than {limit} bytes, or was cut off."),
            "Send it in pieces.",
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
