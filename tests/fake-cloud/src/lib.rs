//! Roblox's cloud, and Meshy's, as a server on this machine, for tests. Each host is the first part of
//! the path.
//!
//! It speaks the shapes of their OpenAPI files, refuses what they do not allow, and fails on request
//! as the real services do. Tests lead it; it decides nothing by chance.

mod delivery;
mod form;
mod introspection;
mod keys;
mod luau;
mod meshy;
mod places;
mod store;
mod thumbnails;
mod uploads;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::middleware::{self, Next};
use bytes::Bytes;
use futures_util::stream;
use serde_json::Value as Json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

pub use form::{FormPart, read_form};
pub use keys::API_KEY;
pub use luau::{LuauOutcome, StartedTask, TaskPathShape};
pub use meshy::{MESHY_KEY, MeshyOutcome, StartedModel, sample_glb};
pub use places::PlaceVersion;
pub use store::StoreAsset;
pub use uploads::{UploadOutcome, UploadedFile};

/// The size limit of every request, in bytes.
const MAX_BODY_BYTES: usize = 128 << 20;

/// What the server does instead of answering the next request.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Answers with this status, body and headers.
    Answer { status: u16, body: String, headers: Vec<(&'static str, String)> },
    /// Answers with the status of success and the first bytes of the right body, then breaks off.
    Truncate(usize),
    /// Never answers. It `acts` on the request before that, or the request is as good as not sent.
    Silence { acts: bool },
}

impl Fault {
    pub fn status(status: u16, message: &str) -> Self {
        let body = serde_json::json!({ "errors": [{ "code": 0, "message": message }] });
        Self::Answer { status, body: body.to_string(), headers: Vec::new() }
    }

    /// Too many requests; the limit is reset after some seconds.
    pub fn too_many(seconds: u32) -> Self {
        let headers = vec![
            ("x-ratelimit-limit", "1000, 1000;w=60".to_owned()),
            ("x-ratelimit-remaining", "0".to_owned()),
            ("x-ratelimit-reset", seconds.to_string()),
        ];
        Self::Answer { status: 429, body: r#"{"title":"Too many requests"}"#.to_owned(), headers }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenRequest {
    pub method: String,
    /// The path with the query.
    pub target: String,
    pub has_key: bool,
    /// The names of the headers, in lower case, sorted.
    pub headers: Vec<String>,
    /// The content type. Empty if there is none.
    pub content_type: String,
    pub body: Bytes,
}

#[derive(Debug, Default)]
struct CloudState {
    assets: Vec<StoreAsset>,
    /// The files of assets.
    files: BTreeMap<u64, Vec<u8>>,
    /// The assets that are not delivered to anybody, with the status.
    withheld: BTreeMap<u64, u16>,
    /// The pictures of assets.
    pictures: BTreeMap<u64, Vec<u8>>,
    /// The states of thumbnails that have no picture.
    thumbnail_states: BTreeMap<u64, &'static str>,
    /// The keys besides the one that may do everything, with their scopes.
    keys: BTreeMap<String, Vec<&'static str>>,
    /// The keys that are no longer valid.
    expired_keys: BTreeSet<String>,
    places: BTreeMap<u64, places::CloudPlace>,
    tasks: Vec<luau::CloudTask>,
    /// What the next tasks come to.
    outcomes: VecDeque<LuauOutcome>,
    /// Binary inputs of tasks, by their paths.
    inputs: BTreeMap<String, luau::CloudInput>,
    uploads: Vec<uploads::CloudUpload>,
    meshy: meshy::MeshyAccount,
    /// What the next uploads come to.
    upload_outcomes: VecDeque<UploadOutcome>,
    faults: VecDeque<Fault>,
    /// The faults of the next request whose target contains a text.
    path_faults: Vec<(&'static str, Fault)>,
    seen: Vec<SeenRequest>,
}

type SharedState = Arc<Mutex<CloudState>>;

fn lock_state(state: &SharedState) -> MutexGuard<'_, CloudState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running server. It ends when this is dropped.
#[derive(Debug)]
pub struct FakeCloud {
    address: SocketAddr,
    state: SharedState,
    stop: Option<oneshot::Sender<()>>,
}

impl FakeCloud {
    /// Starts a server on a free port, whose Creator Store has these assets.
    ///
    /// # Panics
    /// The server cannot be started.
    #[expect(clippy::expect_used, reason = "a test cannot go on without it")]
    pub fn start(assets: Vec<StoreAsset>) -> Self {
        let state = SharedState::default();
        lock_state(&state).assets = assets;
        let (stop, stopped) = oneshot::channel();
        let (sender, address) = std::sync::mpsc::channel();
        let own = Arc::clone(&state);
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime is built").block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
                let _ = sender.send(listener.local_addr().expect("it has an address"));
                let router = Router::new()
                    .merge(store::routes())
                    .merge(delivery::routes())
                    .merge(thumbnails::routes())
                    .merge(places::routes())
                    .merge(introspection::routes())
                    .merge(luau::routes())
                    .merge(uploads::routes())
                    .merge(meshy::routes())
                    .layer(DefaultBodyLimit::disable())
                    .layer(middleware::from_fn_with_state(Arc::clone(&own), note_request))
                    .with_state(own);
                let served = axum::serve(listener, router).with_graceful_shutdown(async {
                    let _ = stopped.await;
                });
                let _ = served.await;
            });
        });
        let address = address.recv().expect("the server starts");
        Self { address, state, stop: Some(stop) }
    }

    /// The address that replaces Roblox's hosts.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Lets the next request fail. Faults happen in their order.
    pub fn fail_next(&self, fault: Fault) {
        lock_state(&self.state).faults.push_back(fault);
    }

    /// Lets the next request fail whose path and query contain a text.
    pub fn fail_at(&self, target: &'static str, fault: Fault) {
        lock_state(&self.state).path_faults.push((target, fault));
    }

    /// Forgets the faults that no request has met.
    pub fn clear_faults(&self) {
        let mut state = lock_state(&self.state);
        state.faults.clear();
        state.path_faults.clear();
    }

    /// Returns the requests that arrived, in their order.
    pub fn requests(&self) -> Vec<SeenRequest> {
        lock_state(&self.state).seen.clone()
    }
}

impl Drop for FakeCloud {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }
}

/// Notes a request, and lets it fail if that is its turn.
async fn note_request(
    State(state): State<SharedState>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, MAX_BODY_BYTES).await else {
        return problem(StatusCode::PAYLOAD_TOO_LARGE, "The request is too large.");
    };
    let mut headers: Vec<String> = parts.headers.keys().map(ToString::to_string).collect();
    headers.sort();
    let seen = SeenRequest {
        method: parts.method.to_string(),
        target: parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        has_key: has_key(&parts.headers),
        headers,
        content_type: header_text(&parts.headers, "content-type").to_owned(),
        body: body.clone(),
    };
    let request = Request::from_parts(parts, Body::from(body));
    let fault = {
        let mut state = lock_state(&state);
        let at = state.path_faults.iter().position(|(target, _)| seen.target.contains(target));
        state.seen.push(seen);
        match at {
            Some(at) => Some(state.path_faults.remove(at).1),
            None => state.faults.pop_front(),
        }
    };
    match fault {
        None => next.run(request).await,
        Some(Fault::Answer { status, body, headers }) => {
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(Body::from(body)).unwrap_or_default()
        }
        Some(Fault::Silence { acts }) => {
            if acts {
                let _ = next.run(request).await;
            }
            std::future::pending().await
        }
        Some(Fault::Truncate(bytes)) => {
            let response = next.run(request).await;
            let body = axum::body::to_bytes(response.into_body(), usize::MAX).await;
            let body = body.unwrap_or_default();
            let length = body.len();
            let cut = body.slice(..bytes.min(length));
            Response::builder()
                .header("content-type", "application/json")
                .header("content-length", length)
                .body(Body::from_stream(stream::iter([
                    Ok(cut),
                    Err(std::io::Error::other("the connection breaks")),
                ])))
                .unwrap_or_default()
        }
    }
}

/// Returns a header's value. Empty if it is missing or not text.
fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default()
}

fn has_key(headers: &HeaderMap) -> bool {
    headers.contains_key("x-api-key") || headers.contains_key("authorization")
}

/// An error in the form of the newer services.
fn problem(status: StatusCode, detail: &str) -> Response<Body> {
    let body = serde_json::json!({
        "type": "about:blank", "title": status.canonical_reason(), "status": status.as_u16(),
        "detail": detail, "instance": "",
    });
    json_answer(status, &body)
}

fn json_answer(status: StatusCode, body: &Json) -> Response<Body> {
    let response = Response::builder().status(status).header("content-type", "application/json");
    response.body(Body::from(body.to_string())).unwrap_or_default()
}
