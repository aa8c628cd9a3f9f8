//! Responses of the API: JSON, or a failure with its status.

use axum::Json;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use scene_schemas::api::Failure;

/// A failure as a response.
#[derive(Debug)]
pub(super) struct ApiError(pub(super) Failure);

/// The result of a handler that returns JSON.
pub(super) type ApiResult<T> = Result<Json<T>, ApiError>;

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response<Body> {
        let status = StatusCode::from_u16(self.0.kind.http_status());
        (status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), Json(self.0)).into_response()
    }
}
