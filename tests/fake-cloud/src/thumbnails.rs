//! Thumbnails: `v1/assets`, and the server that has the pictures.

use std::collections::HashMap;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{Response, StatusCode};
use axum::routing::get;
use serde_json::{Value as Json, json};

use super::{FakeCloud, SharedState, json_answer, lock_state};

/// A server of pictures.
const PICTURE_HOST: &str = "tr.rbxcdn.com";
/// The most assets of a request.
const MAX_ASSETS: usize = 100;
const PARAMETERS: [&str; 5] = ["assetIds", "size", "format", "returnPolicy", "isCircular"];

impl FakeCloud {
    /// Has a picture for an asset.
    pub fn show(&self, asset: u64, png: Vec<u8>) {
        lock_state(&self.state).pictures.insert(asset, png);
    }

    /// Answers with this state for the thumbnail of an asset: `Pending`, `Blocked` or `Error`. With an
    /// empty one, the answer does not name the asset.
    pub fn set_thumbnail_state(&self, asset: u64, state: &'static str) {
        lock_state(&self.state).thumbnail_states.insert(asset, state);
    }
}

pub(super) fn routes() -> Router<SharedState> {
    Router::new()
        .route("/thumbnails.roblox.com/v1/assets", get(list_thumbnails))
        .route(&format!("/{PICTURE_HOST}/{{id}}"), get(send_picture))
}

fn refuse(message: &str) -> Response<Body> {
    let body = json!({ "errors": [{ "code": 1, "message": message }] });
    json_answer(StatusCode::BAD_REQUEST, &body)
}

async fn list_thumbnails(
    State(state): State<SharedState>,
    Query(parameters): Query<HashMap<String, String>>,
) -> Response<Body> {
    if parameters.keys().any(|name| !PARAMETERS.contains(&name.as_str())) {
        return refuse("There is a parameter that is not known.");
    }
    let text = |name: &str| parameters.get(name).map_or("", String::as_str);
    if text("size") != "150x150" || text("format") != "Png" {
        return refuse("The requested size or format is invalid.");
    }
    let ids: Result<Vec<u64>, _> = text("assetIds").split(',').map(str::parse).collect();
    let Ok(ids) = ids else { return refuse("The requested Ids are invalid.") };
    if ids.is_empty() || ids.len() > MAX_ASSETS {
        return refuse("There are too many requested Ids.");
    }
    let state = lock_state(&state);
    let entry = |asset: &u64| -> Json {
        if let Some(other) = state.thumbnail_states.get(asset) {
            return json!({ "targetId": asset, "state": other, "imageUrl": "", "version": "TN3" });
        }
        if !state.pictures.contains_key(asset) {
            return json!({ "targetId": asset, "state": "Error", "imageUrl": null });
        }
        let address = format!("https://{PICTURE_HOST}/{asset}");
        json!({ "targetId": asset, "state": "Completed", "imageUrl": address, "version": "TN3" })
    };
    let is_named = |asset: &&u64| state.thumbnail_states.get(asset) != Some(&"");
    let data: Vec<Json> = ids.iter().filter(is_named).map(entry).collect();
    json_answer(StatusCode::OK, &json!({ "data": data }))
}

async fn send_picture(State(state): State<SharedState>, Path(asset): Path<u64>) -> Response<Body> {
    let picture = lock_state(&state).pictures.get(&asset).cloned();
    match picture {
        Some(png) => {
            let response = Response::builder().header("content-type", "image/png");
            response.body(Body::from(png)).unwrap_or_default()
        }
        None => json_answer(StatusCode::NOT_FOUND, &json!({})),
    }
}
