//! History, deploys and merges.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use scene_schemas::api::{
    DecideConflicts, Deploy, DeployPlan, DeployStarted, DeployState, Figures, FinishMerge,
    FinishedMerge, History, HistoryRecord, MergeView, Merges, ScriptAtTime,
};

use super::super::deploy;
use super::super::extract::{EntryId, JsonBody, Parameters, Query};
use super::super::history_query::{self, DEFAULT_DAYS};
use super::super::response::{ApiError, ApiResult};
use crate::daemon::DaemonHandle;
use crate::history::{EntryFilter, HistoryQuery, ScriptQuery};

pub(in super::super) async fn history(
    State(daemon): State<DaemonHandle>,
    Query(query): Query<HistoryQuery>,
) -> ApiResult<History> {
    Ok(Json(daemon.read_history(query).await?))
}

pub(in super::super) async fn export(
    State(daemon): State<DaemonHandle>,
    Query(filter): Query<EntryFilter>,
) -> Result<Response<Body>, ApiError> {
    Ok(history_query::stream_response(daemon.export_history(filter)?))
}

pub(in super::super) async fn entry(
    State(daemon): State<DaemonHandle>,
    EntryId(entry): EntryId,
) -> ApiResult<HistoryRecord> {
    Ok(Json(daemon.read_entry(entry).await?))
}

pub(in super::super) async fn script_at(
    State(daemon): State<DaemonHandle>,
    Query(query): Query<ScriptQuery>,
) -> ApiResult<ScriptAtTime> {
    Ok(Json(daemon.script_at(query).await?))
}

pub(in super::super) async fn figures(
    State(daemon): State<DaemonHandle>,
    parameters: Parameters,
) -> ApiResult<Figures> {
    let days = parameters.number("days")?.unwrap_or(DEFAULT_DAYS);
    Ok(Json(daemon.read_figures(days).await?))
}

pub(in super::super) async fn plan_deploy(
    State(daemon): State<DaemonHandle>,
    Query(deploy): Query<Deploy>,
) -> ApiResult<DeployPlan> {
    Ok(Json(daemon.plan_deploy(deploy).await?))
}

pub(in super::super) async fn start_deploy(
    State(daemon): State<DaemonHandle>,
    JsonBody(deploy): JsonBody<Deploy>,
) -> ApiResult<DeployStarted> {
    Ok(Json(daemon.start_deploy(deploy).await?))
}

pub(in super::super) async fn deploy_state(
    State(daemon): State<DaemonHandle>,
    EntryId(deploy): EntryId,
    parameters: Parameters,
) -> ApiResult<DeployState> {
    let hold = parameters.hold()?;
    Ok(Json(deploy::wait_for_state(&daemon, deploy.0, hold).await?))
}

pub(in super::super) async fn merges(State(daemon): State<DaemonHandle>) -> ApiResult<Merges> {
    Ok(Json(daemon.list_merges().await?))
}

pub(in super::super) async fn decide_conflicts(
    State(daemon): State<DaemonHandle>,
    JsonBody(decide): JsonBody<DecideConflicts>,
) -> ApiResult<MergeView> {
    Ok(Json(daemon.decide_conflicts(decide).await?))
}

pub(in super::super) async fn finish_merge(
    State(daemon): State<DaemonHandle>,
    JsonBody(finish): JsonBody<FinishMerge>,
) -> ApiResult<FinishedMerge> {
    Ok(Json(daemon.finish_merge(finish).await?))
}
