//! Proposals: viewing and deciding them.

use std::ops::Range;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use scene_schemas::api::{
    DecisionRequest, DecisionResponse, Failure, MemberRows, ProposalView, Proposals,
    WorkflowStarted,
};

use super::super::extract::{EntryId, FromParameters, JsonBody, NoContent, Parameters, Query};
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

/// The maximum number of instances in a response.
const MAX_MEMBERS: u64 = 1_000;

/// Instances of a command that changes many.
pub(in super::super) struct RowsQuery {
    pub(in super::super) command: u32,
    pub(in super::super) members: Range<u32>,
}

impl FromParameters for RowsQuery {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Failure> {
        let number = |name| Ok(parameters.number(name)?.map(|it| it.min(u64::from(u32::MAX))));
        let (command, from) = (number("command")?.unwrap_or(0), number("from")?.unwrap_or(0));
        let count = number("count")?.unwrap_or(MAX_MEMBERS).min(MAX_MEMBERS);
        let from = from as u32;
        Ok(Self { command: command as u32, members: from..from.saturating_add(count as u32) })
    }
}

pub(in super::super) async fn rows(
    State(daemon): State<DaemonHandle>,
    EntryId(proposal): EntryId,
    Query(query): Query<RowsQuery>,
) -> ApiResult<MemberRows> {
    let rows = daemon.member_rows(proposal, query.command, query.members).await?;
    Ok(Json(MemberRows { rows }))
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
