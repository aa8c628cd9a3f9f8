//! The daemon itself: settings, keys, usage, and shutdown.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use scene_schemas::api::{About, EmptyBody, Health, KeyHandover, ProviderKeys, Settings, Usage};

use super::super::extract::{CheckedRequest, JsonBody, NoContent};
use super::super::response::ApiResult;
use crate::daemon::DaemonHandle;
use crate::event_hub::EventHub;

pub(in super::super) async fn health() -> Json<Health> {
    Json(Health { ok: true })
}

pub(in super::super) async fn about(State(daemon): State<DaemonHandle>) -> ApiResult<About> {
    Ok(Json(daemon.about().await?))
}

pub(in super::super) async fn settings(State(daemon): State<DaemonHandle>) -> ApiResult<Settings> {
    Ok(Json(daemon.settings().await?))
}

pub(in super::super) async fn change(
    State(daemon): State<DaemonHandle>,
    JsonBody(settings): JsonBody<Settings>,
) -> ApiResult<Settings> {
    Ok(Json(daemon.change_settings(settings).await?))
}

pub(in super::super) async fn usage(State(daemon): State<DaemonHandle>) -> ApiResult<Usage> {
    Ok(Json(daemon.usage().await?))
}

pub(in super::super) async fn provider_keys(
    State(daemon): State<DaemonHandle>,
) -> ApiResult<ProviderKeys> {
    Ok(Json(daemon.provider_keys().await?))
}

pub(in super::super) async fn hand_over_keys(
    State(daemon): State<DaemonHandle>,
    CheckedRequest { caller, .. }: CheckedRequest,
    JsonBody(keys): JsonBody<KeyHandover>,
) -> ApiResult<ProviderKeys> {
    caller.check_terminal()?;
    Ok(Json(daemon.accept_keys(keys).await?))
}

pub(in super::super) async fn stop(
    State(event_hub): State<Arc<EventHub>>,
    _: NoContent,
) -> Json<EmptyBody> {
    event_hub.request_stop();
    Json(EmptyBody {})
}
