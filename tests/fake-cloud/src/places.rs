//! Place versions: `universes/v1/{universe}/places/{place}/versions`.

use std::collections::HashMap;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::post;
use bytes::Bytes;
use serde_json::json;

use super::{FakeCloud, SharedState, header_text, json_answer, lock_state};

/// The size limit of a place file, in bytes.
const MAX_PLACE_BYTES: usize = 100 << 20;

/// A version of a place, as it was uploaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceVersion {
    pub number: u64,
    /// Whether it has been published. A saved one may be published later with the same bytes.
    pub is_published: bool,
    pub bytes: Bytes,
}

/// A place with its versions, the newest last.
#[derive(Debug)]
pub(super) struct CloudPlace {
    pub(super) universe: u64,
    is_open: bool,
    pub(super) versions: Vec<PlaceVersion>,
    published: Option<u64>,
}

impl FakeCloud {
    /// Adds places to a universe. They have no versions.
    pub fn add_places(&self, universe: u64, places: &[u64]) {
        let mut state = lock_state(&self.state);
        for place in places {
            let added =
                CloudPlace { universe, is_open: false, versions: Vec::new(), published: None };
            state.places.insert(*place, added);
        }
    }

    /// Sets whether a place is open in Studio, so that it takes no version.
    pub fn set_open_in_studio(&self, place: u64, is_open: bool) {
        if let Some(place) = lock_state(&self.state).places.get_mut(&place) {
            place.is_open = is_open;
        }
    }

    /// Returns the versions of a place, the newest last.
    pub fn place_versions(&self, place: u64) -> Vec<PlaceVersion> {
        let state = lock_state(&self.state);
        state.places.get(&place).map(|place| place.versions.clone()).unwrap_or_default()
    }

    /// Returns the number of the version that new servers run.
    pub fn published_version(&self, place: u64) -> Option<u64> {
        lock_state(&self.state).places.get(&place)?.published
    }
}

impl CloudPlace {
    /// Adds a version, unless the newest has the same bytes. Returns its number.
    fn add_version(&mut self, bytes: Bytes, is_published: bool) -> u64 {
        let number = match self.versions.last_mut() {
            Some(newest) if newest.bytes == bytes => {
                newest.is_published |= is_published;
                newest.number
            }
            _ => {
                let number = self.versions.len() as u64 + 1;
                self.versions.push(PlaceVersion { number, is_published, bytes });
                number
            }
        };
        if is_published {
            self.published = Some(number);
        }
        number
    }
}

pub(super) fn routes() -> Router<SharedState> {
    let path = "/apis.roblox.com/universes/v1/{universe}/places/{place}/versions";
    Router::new().route(path, post(add_version))
}

fn refuse(status: StatusCode, message: &str) -> Response<Body> {
    json_answer(status, &json!({ "code": "InvalidRequest", "message": message }))
}

/// Whether a file is a place of the format that its content type says.
fn is_place(content_type: &str, bytes: &[u8]) -> bool {
    match content_type {
        "application/octet-stream" => bytes.starts_with(b"<roblox!\x89\xff\r\n\x1a\n"),
        "application/xml" => bytes.starts_with(b"<roblox ") || bytes.starts_with(b"<roblox>"),
        _ => false,
    }
}

async fn add_version(
    State(state): State<SharedState>,
    Path((universe, place)): Path<(u64, u64)>,
    Query(parameters): Query<HashMap<String, String>>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response<Body> {
    let mut state = lock_state(&state);
    if let Err(refusal) = state.check_key(&headers, "universe-places:write") {
        return *refusal;
    }
    let is_published = match parameters.get("versionType").map(String::as_str) {
        Some("Saved") => false,
        Some("Published") => true,
        _ => return refuse(StatusCode::BAD_REQUEST, "versionType is Saved or Published."),
    };
    if parameters.len() > 1 {
        return refuse(StatusCode::BAD_REQUEST, "There is a parameter that is not known.");
    }
    let Some(known) = state.places.get_mut(&place) else {
        return refuse(StatusCode::NOT_FOUND, "The place was not found.");
    };
    if bytes.len() > MAX_PLACE_BYTES {
        return refuse(StatusCode::NOT_FOUND, "The place was not found.");
    }
    if known.universe != universe {
        return refuse(StatusCode::CONFLICT, "The place is not part of the universe.");
    }
    if known.is_open {
        return refuse(StatusCode::CONFLICT, "Server is busy. The place is open in Studio.");
    }
    if !is_place(header_text(&headers, "content-type"), &bytes) {
        return refuse(StatusCode::BAD_REQUEST, "The file is not a valid place.");
    }
    let number = known.add_version(bytes, is_published);
    // The real service labels this JSON as text.
    let body = json!({ "versionNumber": number }).to_string();
    let response = Response::builder().header("content-type", "text/plain");
    response.body(Body::from(body)).unwrap_or_default()
}
