//! Runs of specs in Roblox's engine.

use axum::Json;
use axum::extract::State;
use scene_schemas::api::{VerifyPlanView, VerifyQuery, VerifyStartRequest, VerifyView};

use super::super::extract::{EntryId, JsonBody, NoContent, Query};
use super::super::response::ApiResult;
use crate::daemon::DaemonHandle;

pub(in super::super) async fn plan(
    State(daemon): State<DaemonHandle>,
    Query(verify): Query<VerifyQuery>,
) -> ApiResult<VerifyPlanView> {
    Ok(Json(daemon.plan_verify(verify).await?))
}

pub(in super::super) async fn start(
    State(daemon): State<DaemonHandle>,
    JsonBody(verify): JsonBody<VerifyStartRequest>,
) -> ApiResult<VerifyView> {
    Ok(Json(daemon.start_verify(verify).await?))
}

pub(in super::super) async fn runs(
    State(daemon): State<DaemonHandle>,
    EntryId(proposal): EntryId,
) -> ApiResult<VerifyView> {
    Ok(Json(daemon.verify_view(proposal).await?))
}

pub(in super::super) async fn cancel(
    State(daemon): State<DaemonHandle>,
    EntryId(proposal): EntryId,
    _: NoContent,
) -> ApiResult<VerifyView> {
    Ok(Json(daemon.cancel_verify(proposal).await?))
}
