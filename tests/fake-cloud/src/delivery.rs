//! Asset delivery: `asset-delivery-api/v1/assetId/{id}`, and the servers that have the files.

use std::io::Write as _;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::get;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use super::keys::refuse;
use super::{FakeCloud, SharedState, json_answer, lock_state};

/// A server of files.
const FILE_HOST: &str = "c0.rbxcdn.com";
const MISSING: &str = "Request asset was not found";

impl FakeCloud {
    /// Has a file for an asset.
    pub fn deliver(&self, asset: u64, file: Vec<u8>) {
        lock_state(&self.state).files.insert(asset, file);
    }

    /// Refuses to deliver an asset with this status: 401 or 403 for one that is restricted, 404 for one
    /// that was deleted.
    pub fn withhold(&self, asset: u64, status: u16) {
        lock_state(&self.state).withheld.insert(asset, status);
    }
}

pub(super) fn routes() -> Router<SharedState> {
    Router::new()
        .route("/apis.roblox.com/asset-delivery-api/v1/assetId/{id}", get(locate_file))
        .route(&format!("/{FILE_HOST}/{{id}}"), get(send_file))
}

async fn locate_file(
    State(state): State<SharedState>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response<Body> {
    if let Err(refusal) = lock_state(&state).check_key(&headers, "legacy-asset:manage") {
        return *refusal;
    }
    let Ok(asset) = id.parse::<u64>() else {
        return refuse(StatusCode::BAD_REQUEST, "The asset ID is not valid.");
    };
    let withheld = lock_state(&state).withheld.get(&asset).copied();
    if let Some(status) = withheld.and_then(|status| StatusCode::from_u16(status).ok()) {
        let is_missing = status == StatusCode::NOT_FOUND;
        let message = if is_missing { MISSING } else { "User is not authorized to access Asset." };
        return refuse(status, message);
    }
    if !lock_state(&state).files.contains_key(&asset) {
        return refuse(StatusCode::NOT_FOUND, MISSING);
    }
    let location = format!("https://{FILE_HOST}/{asset}?encoding=gzip");
    let body = json!({
        "location": location, "requestId": "0", "isArchived": false, "assetTypeId": 10,
        "isRecordable": true,
    });
    json_answer(StatusCode::OK, &body)
}

/// Sends a file, compressed. These servers are not Roblox's own, so a key must not reach them.
async fn send_file(
    State(state): State<SharedState>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response<Body> {
    if super::has_key(&headers) {
        return refuse(StatusCode::BAD_REQUEST, "a key was sent to a server of files");
    }
    let file = id.parse().ok().and_then(|asset: u64| lock_state(&state).files.get(&asset).cloned());
    let Some(file) = file else {
        return refuse(StatusCode::NOT_FOUND, "there is no such file");
    };
    let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
    let body = compressed.write_all(&file).and_then(|()| compressed.finish()).unwrap_or_default();
    let response = Response::builder().header("content-type", "binary/octet-stream");
    response.header("content-encoding", "gzip").body(Body::from(body)).unwrap_or_default()
}
