//! Proposals: viewing and deciding them.

use std::ops::Range;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use scene_schemas::api::{
    DecisionRequest, DecisionResponse, Failure, MemberRows, ProposalCard, ProposalView, Proposals,
    ProposedScript, ReviewQuote, WorkflowStarted,
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
    let view = daemon.proposal(proposal).await?;
    daemon.note_viewed(proposal);
    Ok(Json(view))
}

/// The number of rows and lines of a card if the request does not say it.
const CARD_LINES: u64 = 60;

/// How much of a proposal's preview is requested.
pub(in super::super) struct CardQuery {
    lines: usize,
}

impl FromParameters for CardQuery {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Failure> {
        let lines = parameters.number("lines")?.unwrap_or(CARD_LINES);
        Ok(Self { lines: usize::try_from(lines).unwrap_or(usize::MAX) })
    }
}

pub(in super::super) async fn card(
    State(daemon): State<DaemonHandle>,
    EntryId(proposal): EntryId,
    Query(query): Query<CardQuery>,
) -> ApiResult<ProposalCard> {
    Ok(Json(daemon.proposal_card(proposal, query.lines).await?))
}

/// The maximum number of instances in a response.
const MAX_MEMBERS: u32 = 1_000;

/// Some instances of a command that changes many.
pub(in super::super) struct RowsQuery {
    pub(in super::super) command: u32,
    pub(in super::super) members: Range<u32>,
}

impl RowsQuery {
    /// Reads the parameters for at most this many instances.
    pub(in super::super) fn read(parameters: &Parameters, most: u32) -> Result<Self, Failure> {
        let number = |name| {
            let number = parameters.number(name)?;
            Ok::<_, Failure>(number.map(|it| u32::try_from(it).unwrap_or(u32::MAX)))
        };
        let (command, from) = (number("command")?.unwrap_or(0), number("from")?.unwrap_or(0));
        let count = number("count")?.map_or(most, |count| count.min(most));
        Ok(Self { command, members: from..from.saturating_add(count) })
    }
}

impl FromParameters for RowsQuery {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Failure> {
        Self::read(parameters, MAX_MEMBERS)
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

/// The script whose text is requested.
pub(in super::super) struct ScriptIndexQuery {
    script: usize,
}

impl FromParameters for ScriptIndexQuery {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Failure> {
        let script = parameters.number("script")?.unwrap_or(0);
        Ok(Self { script: usize::try_from(script).unwrap_or(usize::MAX) })
    }
}

pub(in super::super) async fn script(
    State(daemon): State<DaemonHandle>,
    EntryId(proposal): EntryId,
    Query(query): Query<ScriptIndexQuery>,
) -> ApiResult<ProposedScript> {
    Ok(Json(daemon.proposed_script(proposal, query.script).await?))
}

pub(in super::super) async fn review(
    State(daemon): State<DaemonHandle>,
    EntryId(proposal): EntryId,
    _: NoContent,
) -> ApiResult<WorkflowStarted> {
    Ok(Json(daemon.review(proposal).await?))
}

pub(in super::super) async fn quote_review(
    State(daemon): State<DaemonHandle>,
    EntryId(proposal): EntryId,
) -> ApiResult<ReviewQuote> {
    Ok(Json(daemon.quote_review(proposal).await?))
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
