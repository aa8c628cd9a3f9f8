//! Proposals: viewing and deciding them.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use scene_schemas::api::{
    DecisionRequest, DecisionResponse, ProposalView, Proposals, WorkflowStarted,
};

use super::super::extract::{EntryId, JsonBody, NoContent, Query};
use super::super::picture::{ProposalPictureQuery, png_response};
use super::super::response::{ApiError, ApiResult};
use crate::daemon::{DaemonHandle, PictureTarget};

pub(in super::super) async fn list(State(daemon): State<DaemonHandle>) -> ApiResult<Proposals> {
    Ok(Json(daemon.list_proposals().await?))
}

pub(in super::super) async fn proposal(
    State(daemon): State<DaemonHandle>,
    EntryId(proposal): EntryId,
) -> ApiResult<ProposalView> {
    Ok(Json(daemon.proposal(proposal).await?))
}

pub(in super::super) async fn picture(
    State(daemon): State<DaemonHandle>,
    EntryId(proposal): EntryId,
    Query(query): Query<ProposalPictureQuery>,
) -> Result<Response<Body>, ApiError> {
    let target = PictureTarget::Proposal(proposal, query.side);
    Ok(png_response(daemon.render_picture(target, query.options).await?))
}

pub(in super::super) async fn decide(
    State(daemon): State<DaemonHandle>,
    EntryId(proposal): EntryId,
    JsonBody(decision): JsonBody<DecisionRequest>,
) -> ApiResult<DecisionResponse> {
    Ok(Json(daemon.decide(proposal, decision).await?))
}

pub(in super::super) async fn revert(
    State(daemon): State<DaemonHandle>,
    EntryId(proposal): EntryId,
    _: NoContent,
) -> ApiResult<WorkflowStarted> {
    Ok(Json(daemon.revert_proposal(proposal).await?))
}
