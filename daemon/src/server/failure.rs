//! The one error at the edge: what is wrong, as an answer.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Response, StatusCode};
use scene_schemas::api::{Failure, FailureKind};
use serde::Serialize;

/// A failure in a person's words.
pub fn failure(kind: FailureKind, message: impl Into<String>, hint: impl Into<String>) -> Failure {
    Failure { kind, message: message.into(), hint: hint.into() }
}

/// An answer as JSON.
pub(super) fn json_response<T: Serialize>(answer: Result<T, Failure>) -> Response<Body> {
    match answer {
        Ok(answer) => encode_json(StatusCode::OK, &answer),
        Err(failure) => {
            let status = StatusCode::from_u16(failure.kind.http_status());
            encode_json(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), &failure)
        }
    }
}

fn encode_json<T: Serialize>(status: StatusCode, body: &T) -> Response<Body> {
    let text = serde_json::to_vec(body).unwrap_or_default();
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, super::auth::JSON);
    response
}
