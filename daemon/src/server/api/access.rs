//! Who has access: pairing codes, links to the page, and tokens.

use axum::Json;
use axum::extract::State;
use scene_schemas::api::{
    Access, EnterPage, EnteredPage, MadeToken, MakeToken, PageLink, PairingCode, RevokeRequest,
    RevokeResult,
};

use super::super::extract::{JsonBody, NoContent};
use super::super::response::ApiResult;
use crate::daemon::DaemonHandle;

pub(in super::super) async fn access(State(daemon): State<DaemonHandle>) -> ApiResult<Access> {
    Ok(Json(daemon.access().await?))
}

pub(in super::super) async fn pairing_code(
    State(daemon): State<DaemonHandle>,
    _: NoContent,
) -> ApiResult<PairingCode> {
    Ok(Json(daemon.pairing_code().await?))
}

pub(in super::super) async fn page_link(
    State(daemon): State<DaemonHandle>,
    _: NoContent,
) -> ApiResult<PageLink> {
    Ok(Json(daemon.page_link().await?))
}

pub(in super::super) async fn enter_page(
    State(daemon): State<DaemonHandle>,
    JsonBody(enter): JsonBody<EnterPage>,
) -> ApiResult<EnteredPage> {
    Ok(Json(daemon.enter_page(enter).await?))
}

pub(in super::super) async fn make_token(
    State(daemon): State<DaemonHandle>,
    JsonBody(make): JsonBody<MakeToken>,
) -> ApiResult<MadeToken> {
    Ok(Json(daemon.make_token(make).await?))
}

pub(in super::super) async fn revoke(
    State(daemon): State<DaemonHandle>,
    JsonBody(what): JsonBody<RevokeRequest>,
) -> ApiResult<RevokeResult> {
    Ok(Json(daemon.revoke_access(what).await?))
}
