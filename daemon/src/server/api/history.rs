//! History, commits, deploys and merges.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use scene_schemas::api::{
    CommitPlan, CommitRequest, CommitStarted, CommitState, DecideConflicts, DeployPlanView,
    DeployQuery, DeployRequest, DeployedVersion, Figures, FinishMerge, FinishedMerge, History,
    HistoryRecord, MergeView, Merges, ScriptAtTime,
};

use super::super::commit;
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

pub(in super::super) async fn plan_commit(
    State(daemon): State<DaemonHandle>,
    Query(commit): Query<CommitRequest>,
) -> ApiResult<CommitPlan> {
    Ok(Json(daemon.plan_commit(commit).await?))
}

pub(in super::super) async fn start_commit(
    State(daemon): State<DaemonHandle>,
    JsonBody(commit): JsonBody<CommitRequest>,
) -> ApiResult<CommitStarted> {
    Ok(Json(daemon.start_commit(commit).await?))
}

pub(in super::super) async fn plan_deploy(
    State(daemon): State<DaemonHandle>,
    Query(deploy): Query<DeployQuery>,
) -> ApiResult<DeployPlanView> {
    Ok(Json(daemon.plan_deploy(deploy).await?))
}

pub(in super::super) async fn deploy(
    State(daemon): State<DaemonHandle>,
    JsonBody(deploy): JsonBody<DeployRequest>,
) -> ApiResult<DeployedVersion> {
    Ok(Json(daemon.deploy(deploy).await?))
}

pub(in super::super) async fn commit_state(
    State(daemon): State<DaemonHandle>,
    EntryId(commit): EntryId,
    parameters: Parameters,
) -> ApiResult<CommitState> {
    let hold = parameters.hold()?;
    Ok(Json(commit::wait_for_state(&daemon, commit.0, hold).await?))
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
