//! Assets of the Creator Store: thumbnails, and insertion into open places.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response};
use scene_schemas::api::{FailureKind, InsertAssetRequest, WorkflowStarted};

use super::super::extract::{EntryId, JsonBody, PathSession, PathText};
use super::super::response::{ApiError, ApiResult};
use crate::asset_store::picture_type;
use crate::daemon::DaemonHandle;
use crate::failure::failure;

pub(in super::super) async fn thumbnail(
    State(daemon): State<DaemonHandle>,
    PathText(asset): PathText,
) -> Result<Response<Body>, ApiError> {
    let asset = asset.parse().map_err(|_| {
        let message = format!("`{asset}` is not the number of an asset.");
        failure(FailureKind::BadRequest, message, "Send the number in rbxassetid://123.")
    })?;
    let picture = daemon.thumbnail(asset).await?;
    let kind = HeaderValue::from_static(picture_type(&picture).unwrap_or("image/png"));
    let mut response = Response::new(Body::from(picture.to_vec()));
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

pub(in super::super) async fn generation_picture(
    State(daemon): State<DaemonHandle>,
    EntryId(generation): EntryId,
) -> Result<Response<Body>, ApiError> {
    let mut response = Response::new(Body::from(daemon.draw_generation(generation).await?));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("image/png"));
    Ok(response)
}

pub(in super::super) async fn insert(
    State(daemon): State<DaemonHandle>,
    PathSession(session): PathSession,
    JsonBody(request): JsonBody<InsertAssetRequest>,
) -> ApiResult<WorkflowStarted> {
    Ok(Json(daemon.insert_asset(&session, request).await?))
}
