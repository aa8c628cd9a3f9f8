//! Agents: their tool calls, their connections, and MCP over HTTP.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use scene_schemas::api::{
    AgentCall, AgentDisconnect, AgentLog, AgentPresence, CallView, CancelCall, CommentReplies,
    EmptyBody, PlaceSet, ScriptPage,
};

use super::super::extract::{EntryId, JsonBody, Parameters, PathSession};
use super::super::response::{ApiError, ApiResult};
use super::super::{AppState, clients, guard, long_poll};
use crate::daemon::DaemonHandle;
use crate::event_hub::EventHub;

pub(in super::super) async fn call_tool(
    State(daemon): State<DaemonHandle>,
    JsonBody(call): JsonBody<AgentCall>,
) -> ApiResult<CallView> {
    Ok(Json(daemon.call_tool(call).await?))
}

pub(in super::super) async fn call_status(
    State(app): State<AppState>,
    EntryId(call): EntryId,
    parameters: Parameters,
) -> ApiResult<CallView> {
    let hold = parameters.hold()?;
    Ok(Json(long_poll::wait_for_call(&app.event_hub, &app.daemon, call, hold).await?))
}

pub(in super::super) async fn reply_to_comments(
    State(daemon): State<DaemonHandle>,
    EntryId(call): EntryId,
    JsonBody(replies): JsonBody<CommentReplies>,
) -> ApiResult<CallView> {
    Ok(Json(daemon.reply_to_comments(call, replies).await?))
}

pub(in super::super) async fn cancel_call(
    State(daemon): State<DaemonHandle>,
    JsonBody(call): JsonBody<CancelCall>,
) -> Json<EmptyBody> {
    daemon.cancel_call(&call);
    Json(EmptyBody {})
}

pub(in super::super) async fn log(State(daemon): State<DaemonHandle>) -> ApiResult<AgentLog> {
    Ok(Json(daemon.read_agent_log().await?))
}

pub(in super::super) async fn end_connection(
    State(daemon): State<DaemonHandle>,
    JsonBody(AgentDisconnect { connection }): JsonBody<AgentDisconnect>,
) -> Json<EmptyBody> {
    daemon.end_connection(&connection);
    Json(EmptyBody {})
}

pub(in super::super) async fn hold_connection(
    State(daemon): State<DaemonHandle>,
    State(event_hub): State<Arc<EventHub>>,
    JsonBody(AgentPresence { connection }): JsonBody<AgentPresence>,
) -> Json<EmptyBody> {
    clients::hold_connection(event_hub, daemon, connection).await;
    Json(EmptyBody {})
}

pub(in super::super) async fn wait_for_places(
    State(event_hub): State<Arc<EventHub>>,
    JsonBody(PlaceSet { sessions }): JsonBody<PlaceSet>,
) -> ApiResult<PlaceSet> {
    let sessions = long_poll::wait_for_places(&event_hub, &sessions).await?;
    Ok(Json(PlaceSet { sessions }))
}

pub(in super::super) async fn scripts(
    State(daemon): State<DaemonHandle>,
    PathSession(session): PathSession,
    parameters: Parameters,
) -> ApiResult<ScriptPage> {
    let cursor = parameters.text("cursor")?;
    Ok(Json(daemon.list_scripts(session, cursor).await?))
}

/// Passes an MCP message to the SDK, which parses it.
pub(in super::super) async fn mcp(
    State(app): State<AppState>,
    request: Request,
) -> Result<Response<Body>, ApiError> {
    let owner = app.event_hub.owner_of(&guard::bearer_token(request.headers())?);
    Ok(app.mcp.answer_request(request, owner).await?)
}
