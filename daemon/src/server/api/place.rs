//! Open places: their sessions, workflows, conversations, checkpoints and pictures.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use scene_schemas::InstancePath;
use scene_schemas::api::{
    Chat, Checkpoint, Checkpoints, ConversationView, Failure, FailureKind, MakeCheckpoint,
    OfferedMentions, OpenPlaceRequest, OpenedSession, PermissionDecision, RevealRequest, Revealed,
    RevokeRule, ScriptFile, Sessions, WorkflowStarted, WorkflowView, Workflows,
};
use scene_schemas::tier::TaskEstimate;

use super::super::auth::Caller;
use super::super::extract::{
    CheckedRequest, EntryId, FromParameters, JsonBody, NoContent, Parameters, PathSession, Query,
};
use super::super::picture::{PlacePictureQuery, png_response};
use super::super::response::{ApiError, ApiResult};
use super::plugin::current_session;
use crate::daemon::{DaemonHandle, PictureTarget};
use crate::event_hub::EventHub;
use crate::failure::failure;
use crate::session::WorkflowAction;

pub(in super::super) async fn open(
    State(daemon): State<DaemonHandle>,
    JsonBody(open): JsonBody<OpenPlaceRequest>,
) -> ApiResult<OpenedSession> {
    Ok(Json(daemon.open_path(open).await?))
}

pub(in super::super) async fn sessions(State(daemon): State<DaemonHandle>) -> ApiResult<Sessions> {
    Ok(Json(daemon.list_sessions().await?))
}

pub(in super::super) async fn chat(
    State(daemon): State<DaemonHandle>,
    State(event_hub): State<Arc<EventHub>>,
    CheckedRequest { caller, .. }: CheckedRequest,
    JsonBody(chat): JsonBody<Chat>,
) -> ApiResult<WorkflowStarted> {
    caller.check_session(&chat.session)?;
    let session = current_session(&daemon, &event_hub, &chat.session, chat.epoch)?;
    let is_from_plugin = matches!(caller, Caller::Plugin(_));
    Ok(Json(session.chat(chat, is_from_plugin).await?))
}

pub(in super::super) async fn estimate(
    State(daemon): State<DaemonHandle>,
    PathSession(session): PathSession,
    JsonBody(chat): JsonBody<Chat>,
) -> ApiResult<TaskEstimate> {
    if chat.session != session {
        let message = format!("The address names {session}, and the body {}.", chat.session);
        let hint = "Name the same session in both.";
        return Err(failure(FailureKind::BadRequest, message, hint).into());
    }
    Ok(Json(daemon.session(&session)?.estimate(chat).await?))
}

pub(in super::super) async fn picture(
    State(daemon): State<DaemonHandle>,
    PathSession(session): PathSession,
    Query(query): Query<PlacePictureQuery>,
) -> Result<Response<Body>, ApiError> {
    let target = PictureTarget::Place(session, query.path);
    Ok(png_response(daemon.render_picture(target, query.options).await?))
}

/// A search for what can be mentioned.
pub(in super::super) struct MentionQuery {
    typed: String,
}

impl FromParameters for MentionQuery {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Failure> {
        Ok(Self { typed: parameters.text("typed")?.unwrap_or_default() })
    }
}

pub(in super::super) async fn offer_mentions(
    State(daemon): State<DaemonHandle>,
    PathSession(session): PathSession,
    Query(query): Query<MentionQuery>,
) -> ApiResult<OfferedMentions> {
    Ok(Json(daemon.offer_mentions(&session, query.typed).await?))
}

/// Which script, and which line of it.
pub(in super::super) struct ScriptFileQuery {
    path: InstancePath,
    line: Option<u32>,
}

impl FromParameters for ScriptFileQuery {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Failure> {
        let path = parameters.text("path")?.unwrap_or_default().parse().map_err(|error| {
            let message = format!("`path` is not a path: {error}.");
            failure(FailureKind::BadRequest, message, "Write it as game.ServerScriptService.Main.")
        })?;
        let line = parameters.number("line")?.map(|line| u32::try_from(line).unwrap_or(u32::MAX));
        Ok(Self { path, line })
    }
}

pub(in super::super) async fn script_file(
    State(daemon): State<DaemonHandle>,
    PathSession(session): PathSession,
    Query(query): Query<ScriptFileQuery>,
) -> ApiResult<ScriptFile> {
    Ok(Json(daemon.script_file(&session, query.path, query.line).await?))
}

pub(in super::super) async fn reveal(
    State(daemon): State<DaemonHandle>,
    PathSession(session): PathSession,
    JsonBody(request): JsonBody<RevealRequest>,
) -> ApiResult<Revealed> {
    Ok(Json(daemon.reveal(&session, request).await?))
}

pub(in super::super) async fn workflows(
    State(daemon): State<DaemonHandle>,
) -> ApiResult<Workflows> {
    Ok(Json(daemon.list_workflows().await?))
}

pub(in super::super) async fn workflow(
    State(daemon): State<DaemonHandle>,
    EntryId(workflow): EntryId,
) -> ApiResult<WorkflowView> {
    let view = daemon.workflow(workflow).await?;
    Ok(Json(WorkflowView { spending: daemon.spending(workflow).await?, ..view }))
}

pub(in super::super) async fn cancel(
    State(daemon): State<DaemonHandle>,
    EntryId(workflow): EntryId,
    _: NoContent,
) -> ApiResult<WorkflowView> {
    Ok(Json(daemon.act_on_workflow(workflow, WorkflowAction::Cancel).await?))
}

pub(in super::super) async fn decide_permission(
    State(daemon): State<DaemonHandle>,
    EntryId(workflow): EntryId,
    JsonBody(decision): JsonBody<PermissionDecision>,
) -> ApiResult<WorkflowView> {
    Ok(Json(daemon.act_on_workflow(workflow, WorkflowAction::Permit(decision)).await?))
}

pub(in super::super) async fn revoke_rule(
    State(daemon): State<DaemonHandle>,
    EntryId(workflow): EntryId,
    JsonBody(revoke): JsonBody<RevokeRule>,
) -> ApiResult<WorkflowView> {
    Ok(Json(daemon.act_on_workflow(workflow, WorkflowAction::Revoke(revoke)).await?))
}

pub(in super::super) async fn retry(
    State(daemon): State<DaemonHandle>,
    EntryId(workflow): EntryId,
    _: NoContent,
) -> ApiResult<WorkflowView> {
    Ok(Json(daemon.act_on_workflow(workflow, WorkflowAction::Retry).await?))
}

pub(in super::super) async fn resume(
    State(daemon): State<DaemonHandle>,
    EntryId(workflow): EntryId,
    _: NoContent,
) -> ApiResult<WorkflowView> {
    Ok(Json(daemon.act_on_workflow(workflow, WorkflowAction::Resume).await?))
}

pub(in super::super) async fn clear(
    State(daemon): State<DaemonHandle>,
    EntryId(workflow): EntryId,
    _: NoContent,
) -> ApiResult<WorkflowView> {
    Ok(Json(daemon.act_on_workflow(workflow, WorkflowAction::Clear).await?))
}

pub(in super::super) async fn conversation(
    State(daemon): State<DaemonHandle>,
    EntryId(workflow): EntryId,
) -> ApiResult<ConversationView> {
    Ok(Json(daemon.conversation(workflow).await?))
}

pub(in super::super) async fn checkpoints(
    State(daemon): State<DaemonHandle>,
) -> ApiResult<Checkpoints> {
    Ok(Json(daemon.list_checkpoints().await?))
}

pub(in super::super) async fn make_checkpoint(
    State(daemon): State<DaemonHandle>,
    JsonBody(make): JsonBody<MakeCheckpoint>,
) -> ApiResult<Checkpoint> {
    Ok(Json(daemon.make_checkpoint(make).await?))
}

pub(in super::super) async fn restore_checkpoint(
    State(daemon): State<DaemonHandle>,
    EntryId(checkpoint): EntryId,
    _: NoContent,
) -> ApiResult<WorkflowStarted> {
    Ok(Json(daemon.restore_checkpoint(checkpoint).await?))
}
