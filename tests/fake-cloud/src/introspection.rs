//! What the cloud says of an API key: `api-keys/v1/introspect`.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use axum::routing::post;
use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::keys::{API_KEY, refuse};
use super::{SharedState, json_answer, lock_state};

/// The scopes of the key that has every scope.
const EVERY_SCOPE: [&str; 6] = [
    "asset:read",
    "asset:write",
    "legacy-asset:manage",
    "universe-places:write",
    "universe.place.luau-execution-session:read",
    "universe.place.luau-execution-session:write",
];

pub(super) fn routes() -> Router<SharedState> {
    Router::new().route("/apis.roblox.com/api-keys/v1/introspect", post(introspect))
}

async fn introspect(State(state): State<SharedState>, body: Bytes) -> Response<Body> {
    let asked: Json = serde_json::from_slice(&body).unwrap_or_default();
    let Some(key) = asked["apiKey"].as_str() else {
        return refuse(StatusCode::BAD_REQUEST, "The apiKey field is required.");
    };
    let state = lock_state(&state);
    let own = state.keys.get(key).map(Vec::as_slice);
    let Some(scopes) = own.or((key == API_KEY).then_some(&EVERY_SCOPE[..])) else {
        return refuse(StatusCode::UNAUTHORIZED, "Invalid API Key");
    };
    let scopes = scopes.iter().filter_map(|scope| scope.split_once(':'));
    let scopes: Vec<Json> = scopes
        .map(|(name, operation)| json!({ "name": name, "operations": [operation] }))
        .collect();
    let body = json!({
        "name": "a key", "authorizedUserId": 234, "scopes": scopes, "enabled": true,
        "expired": state.expired_keys.contains(key),
    });
    json_answer(StatusCode::OK, &body)
}
