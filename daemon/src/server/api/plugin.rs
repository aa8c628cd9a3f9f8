//! Requests of the plugin: pairing, hello, polls, and reports of its place.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use scene_schemas::api::{
    ApplyAck, ApplyReceipt, Failure, Hello, PairRequest, PairResponse, PluginLog, PollRequest,
    PollResponse, SceneReceipt, SceneUpdate, SessionId, Welcome,
};

use super::super::extract::{CheckedRequest, EntryId, JsonBody, PathSession};
use super::super::long_poll;
use super::super::response::ApiResult;
use crate::daemon::DaemonHandle;
use crate::event_hub::EventHub;
use crate::session::SessionHandle;

pub(in super::super) async fn pair(
    State(daemon): State<DaemonHandle>,
    JsonBody(pair): JsonBody<PairRequest>,
) -> ApiResult<PairResponse> {
    Ok(Json(daemon.pair(pair).await?))
}

pub(in super::super) async fn hello(
    State(daemon): State<DaemonHandle>,
    JsonBody(hello): JsonBody<Hello>,
) -> ApiResult<Welcome> {
    Ok(Json(daemon.hello(hello).await?))
}

pub(in super::super) async fn poll(
    State(event_hub): State<Arc<EventHub>>,
    PathSession(session): PathSession,
    JsonBody(poll): JsonBody<PollRequest>,
) -> ApiResult<PollResponse> {
    Ok(Json(long_poll::poll_session(&event_hub, &session, poll).await?))
}

pub(in super::super) async fn log(
    State(daemon): State<DaemonHandle>,
    State(event_hub): State<Arc<EventHub>>,
    PathSession(session): PathSession,
) -> ApiResult<PluginLog> {
    daemon.session(&session)?;
    let events = event_hub.slot(&session).map_or_else(Vec::new, |slot| slot.plugin_log());
    Ok(Json(PluginLog { events }))
}

pub(in super::super) async fn update_scene(
    State(daemon): State<DaemonHandle>,
    State(event_hub): State<Arc<EventHub>>,
    PathSession(session): PathSession,
    JsonBody(update): JsonBody<Box<SceneUpdate>>,
) -> ApiResult<SceneReceipt> {
    let session = current_session(&daemon, &event_hub, &session, update.epoch)?;
    Ok(Json(session.update_scene(update).await?))
}

pub(in super::super) async fn acknowledge(
    State(daemon): State<DaemonHandle>,
    State(event_hub): State<Arc<EventHub>>,
    CheckedRequest { caller, .. }: CheckedRequest,
    EntryId(proposal): EntryId,
    JsonBody(ack): JsonBody<Box<ApplyAck>>,
) -> ApiResult<ApplyReceipt> {
    caller.check_session(&ack.session)?;
    let session = current_session(&daemon, &event_hub, &ack.session, ack.epoch)?;
    Ok(Json(session.acknowledge(proposal, ack).await?))
}

/// Finds the session of a request, which has to be in the epoch that the request was made in.
pub(super) fn current_session(
    daemon: &DaemonHandle,
    event_hub: &EventHub,
    session: &SessionId,
    epoch: u64,
) -> Result<SessionHandle, Failure> {
    let is_current = event_hub.slot(session).is_some_and(|slot| slot.epoch() == epoch);
    let handle = daemon.session(session).ok().filter(|_| is_current);
    handle.ok_or_else(|| long_poll::stale_session(session))
}
