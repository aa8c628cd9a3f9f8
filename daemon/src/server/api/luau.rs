//! Help for a person who types a script: its findings, and names that can follow.

use axum::Json;
use axum::extract::State;
use scene_schemas::api::{CheckScript, CompleteScript, Completions, ScriptFindings};

use super::super::extract::JsonBody;
use super::super::response::ApiResult;
use crate::daemon::DaemonHandle;

pub(in super::super) async fn check(
    State(daemon): State<DaemonHandle>,
    JsonBody(script): JsonBody<CheckScript>,
) -> ApiResult<ScriptFindings> {
    Ok(Json(daemon.check_script(script).await?))
}

pub(in super::super) async fn complete(
    State(daemon): State<DaemonHandle>,
    JsonBody(position): JsonBody<CompleteScript>,
) -> ApiResult<Completions> {
    Ok(Json(daemon.complete_script(position).await?))
}
