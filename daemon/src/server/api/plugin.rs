//! Requests of the plugin: pairing, hello, polls, and reports of its place.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use scene_schemas::api::{
    ApplyAck, ApplyReceipt, Failure, Hello, PairRequest, PairResponse, PollRequest, PollResponse,
    SceneReceipt, SceneUpdate, SessionId, Welcome,
};

use super::super::extract::{CheckedRequest, EntryId, JsonBody, PathSession};
use super::super::long_poll;
use super::super::response::ApiResult;
use crate::daemon::DaemonHandle;
use crate::event_hub::EventHub;

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

pub(in super::super) async fn update_scene(
    State(daemon): State<DaemonHandle>,
    State(event_hub): State<Arc<EventHub>>,
    PathSession(session): PathSession,
    JsonBody(update): JsonBody<Box<SceneUpdate>>,
) -> ApiResult<SceneReceipt> {
    check_epoch(&event_hub, &session, update.epoch)?;
    Ok(Json(daemon.session(&session)?.update_scene(update).await?))
}

pub(in super::super) async fn acknowledge(
    State(daemon): State<DaemonHandle>,
    State(event_hub): State<Arc<EventHub>>,
    CheckedRequest { caller, .. }: CheckedRequest,
    EntryId(proposal): EntryId,
    JsonBody(ack): JsonBody<Box<ApplyAck>>,
) -> ApiResult<ApplyReceipt> {
    caller.check_session(&ack.session)?;
    check_epoch(&event_hub, &ack.session, ack.epoch)?;
    Ok(Json(daemon.session(&ack.session)?.acknowledge(proposal, ack).await?))
}

/// Checks that the session is still in the epoch of the request.
pub(super) fn check_epoch(
    event_hub: &EventHub,
    session: &SessionId,
    epoch: u64,
) -> Result<(), Failure> {
    match event_hub.slot(session) {
        Some(slot) if slot.epoch() == epoch => Ok(()),
        _ => Err(long_poll::stale_session(session)),
    }
}
