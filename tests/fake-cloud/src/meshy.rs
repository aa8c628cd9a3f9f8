//! Meshy: `openapi/v2/text-to-3d`, the balance of an account, and the server that has the files.

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::{get, post};
use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::{CloudState, FakeCloud, SharedState, has_key, header_text, json_answer, lock_state};

/// A key of an account that has credits.
pub const MESHY_KEY: &str = "msy_fake+0secret9876543210/with_credits==";
/// The key that costs nothing, as Meshy publishes it.
const TEST_KEY: &str = "msy_dummy_api_key_for_test_mode_12345678";
const FILE_HOST: &str = "assets.meshy.ai";
/// The most unfinished tasks.
const MAX_UNFINISHED: usize = 10;
/// The credits of a new account.
const FIRST_BALANCE: u32 = 1_000;

const PREVIEW_MEMBERS: [&str; 14] = [
    "mode",
    "prompt",
    "ai_model",
    "model_type",
    "topology",
    "target_polycount",
    "should_remesh",
    "symmetry_mode",
    "pose_mode",
    "target_formats",
    "auto_size",
    "origin_at",
    "moderation",
    "art_style",
];
const REFINE_MEMBERS: [&str; 8] = [
    "mode",
    "preview_task_id",
    "enable_pbr",
    "texture_prompt",
    "texture_image_url",
    "ai_model",
    "target_formats",
    "moderation",
];

/// What a task comes to.
#[derive(Debug, Clone)]
pub struct MeshyOutcome {
    /// The states that it passes through, one with each request for it. It stays in the last.
    pub states: Vec<&'static str>,
    /// The message of its error. Empty if there is none.
    pub error: &'static str,
}

impl Default for MeshyOutcome {
    fn default() -> Self {
        Self { states: vec!["PENDING", "IN_PROGRESS", "SUCCEEDED"], error: "" }
    }
}

/// A task as it was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedModel {
    pub id: String,
    /// The body of its request.
    pub request: Json,
    /// What it cost. A deleted task is not paid back.
    pub credits: u32,
    pub is_deleted: bool,
}

#[derive(Debug)]
pub(super) struct ModelTask {
    started: StartedModel,
    outcome: MeshyOutcome,
    /// How many requests for it were answered.
    polls: usize,
}

/// The account of the key that costs credits.
#[derive(Debug)]
pub(super) struct MeshyAccount {
    balance: u32,
    tasks: Vec<ModelTask>,
    outcomes: Vec<MeshyOutcome>,
}

impl Default for MeshyAccount {
    fn default() -> Self {
        Self { balance: FIRST_BALANCE, tasks: Vec::new(), outcomes: Vec::new() }
    }
}

impl FakeCloud {
    /// Sets what the next task of Meshy comes to. Outcomes are used in their order; a task without one
    /// succeeds at the third request for it.
    pub fn add_meshy_outcome(&self, outcome: MeshyOutcome) {
        lock_state(&self.state).meshy.outcomes.push(outcome);
    }

    /// Lets all tasks succeed with the next request for them.
    pub fn finish_meshy_tasks(&self) {
        for task in &mut lock_state(&self.state).meshy.tasks {
            task.outcome = MeshyOutcome { states: vec!["SUCCEEDED"], error: "" };
        }
    }

    pub fn set_meshy_balance(&self, credits: u32) {
        lock_state(&self.state).meshy.balance = credits;
    }

    /// Returns the credits that are left.
    pub fn meshy_balance(&self) -> u32 {
        lock_state(&self.state).meshy.balance
    }

    /// Returns the tasks that were started, in their order.
    pub fn meshy_tasks(&self) -> Vec<StartedModel> {
        lock_state(&self.state).meshy.tasks.iter().map(|it| it.started.clone()).collect()
    }
}

impl ModelTask {
    fn state(&self) -> &'static str {
        let last = self.outcome.states.last().copied().unwrap_or("SUCCEEDED");
        let at = self.polls.saturating_sub(1);
        self.outcome.states.get(at).copied().unwrap_or(last)
    }

    fn is_final(&self) -> bool {
        ["SUCCEEDED", "FAILED", "CANCELED"].contains(&self.state())
    }

    fn to_json(&self) -> Json {
        let (id, state) = (&self.started.id, self.state());
        let is_done = state == "SUCCEEDED";
        let progress = match state {
            "PENDING" => 0,
            "SUCCEEDED" => 100,
            _ => (100 * self.polls / self.outcome.states.len().max(1)).min(99),
        };
        let address = |name: &str| {
            let address =
                format!("https://{FILE_HOST}/tasks/{id}/{name}?Expires=1&Signature=a%2Bb");
            if is_done { address } else { String::new() }
        };
        let mut models = json!({});
        if is_done {
            models["glb"] = address("model.glb").into();
        }
        json!({
            "id": id, "type": format!("text-to-3d-{}", text(&self.started.request, "mode")),
            "status": state, "progress": progress, "created_at": 1_700_000_000_000_u64,
            "started_at": if self.polls > 1 { 1_700_000_001_000_u64 } else { 0 },
            "finished_at": if self.is_final() { 1_700_000_060_000_u64 } else { 0 },
            "model_urls": models, "thumbnail_url": address("preview.png"), "video_url": "",
            "texture_urls": [], "prompt": text(&self.started.request, "prompt"),
            "preceding_tasks": 0, "task_error": { "message": self.outcome.error },
            "consumed_credits": self.started.credits,
        })
    }
}

pub(super) fn routes() -> Router<SharedState> {
    Router::new()
        .route("/api.meshy.ai/openapi/v2/text-to-3d", post(create))
        .route("/api.meshy.ai/openapi/v2/text-to-3d/{id}", get(read).delete(delete))
        .route("/api.meshy.ai/openapi/v1/balance", get(read_balance))
        .route(&format!("/{FILE_HOST}/tasks/{{id}}/{{name}}"), get(send_file))
}

fn refuse(status: StatusCode, message: &str) -> Response<Body> {
    json_answer(status, &json!({ "message": message }))
}

fn text<'a>(body: &'a Json, name: &str) -> &'a str {
    body[name].as_str().unwrap_or_default()
}

/// Checks the key. Returns whether it costs credits.
fn check_key(headers: &HeaderMap) -> Result<bool, Box<Response<Body>>> {
    if headers.contains_key("x-api-key") {
        let message = "x-api-key is not the header of a key";
        return Err(Box::new(refuse(StatusCode::BAD_REQUEST, message)));
    }
    match header_text(headers, "authorization").strip_prefix("Bearer ") {
        Some(MESHY_KEY) => Ok(true),
        Some(TEST_KEY) => Ok(false),
        _ => Err(Box::new(refuse(StatusCode::UNAUTHORIZED, "Invalid API key"))),
    }
}

impl MeshyAccount {
    /// Returns why a request for a task is refused, and with what status.
    fn find_fault(&self, body: &Json) -> Option<(StatusCode, &'static str)> {
        let invalid = |why: &'static str| Some((StatusCode::BAD_REQUEST, why));
        let has_only = |known: &[&str]| {
            body.as_object().is_some_and(|it| it.keys().all(|name| known.contains(&name.as_str())))
        };
        let is_one_of =
            |name: &str, known: &[&str]| body[name].is_null() || known.contains(&text(body, name));
        match text(body, "mode") {
            "preview" => {
                if !has_only(&PREVIEW_MEMBERS) {
                    return invalid("There is a member that is not known");
                }
                if !(1..=600).contains(&text(body, "prompt").chars().count()) {
                    return invalid("prompt is from 1 to 600 characters");
                }
                if !is_one_of("ai_model", &["meshy-5", "meshy-6", "latest"])
                    || !is_one_of("model_type", &["standard", "lowpoly"])
                    || !is_one_of("topology", &["quad", "triangle"])
                {
                    return invalid("ai_model, model_type or topology is not valid");
                }
                let count = &body["target_polycount"];
                let is_count = count.as_u64().is_some_and(|it| (100..=300_000).contains(&it));
                if !count.is_null() && !is_count {
                    return invalid("target_polycount is from 100 to 300000");
                }
            }
            "refine" => {
                if !has_only(&REFINE_MEMBERS) {
                    return invalid("There is a member that is not known");
                }
                let id = text(body, "preview_task_id");
                let Some(preview) = self.find(id) else {
                    return Some((StatusCode::NOT_FOUND, "The preview task was not found"));
                };
                let is_preview = text(&preview.started.request, "mode") == "preview";
                if preview.state() != "SUCCEEDED" || !is_preview {
                    return invalid("The preview task has not succeeded");
                }
            }
            _ => return invalid("mode is preview or refine"),
        }
        let is_open = |it: &&ModelTask| !it.is_final() && !it.started.is_deleted;
        if self.tasks.iter().filter(is_open).count() >= MAX_UNFINISHED {
            return Some((StatusCode::TOO_MANY_REQUESTS, "NoMoreConcurrentTasks"));
        }
        None
    }

    fn find(&self, id: &str) -> Option<&ModelTask> {
        self.tasks.iter().find(|it| it.started.id == id && !it.started.is_deleted)
    }

    fn find_mut(&mut self, id: &str) -> Option<&mut ModelTask> {
        self.tasks.iter_mut().find(|it| it.started.id == id && !it.started.is_deleted)
    }
}

async fn create(
    State(state): State<SharedState>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let costs = match check_key(&headers) {
        Ok(costs) => costs,
        Err(refusal) => return *refusal,
    };
    let CloudState { meshy, .. } = &mut *lock_state(&state);
    let is_json = header_text(&headers, "content-type") == "application/json";
    let Some(body) = serde_json::from_slice::<Json>(&body).ok().filter(|_| is_json) else {
        return refuse(StatusCode::BAD_REQUEST, "The body is not JSON");
    };
    if let Some((status, why)) = meshy.find_fault(&body) {
        return refuse(status, why);
    }
    let credits = match (costs, text(&body, "mode"), text(&body, "ai_model")) {
        (false, ..) => 0,
        (true, "refine", _) => 10,
        (true, _, "meshy-5") => 5,
        (true, ..) => 20,
    };
    if credits > meshy.balance {
        return refuse(StatusCode::PAYMENT_REQUIRED, "Insufficient credits");
    }
    meshy.balance -= credits;
    let id = format!("0193bfc5-ee4f-73f8-8525-{:012}", meshy.tasks.len() + 1);
    let has_outcome = !meshy.outcomes.is_empty();
    let outcome = if has_outcome { meshy.outcomes.remove(0) } else { MeshyOutcome::default() };
    let started = StartedModel { id: id.clone(), request: body, credits, is_deleted: false };
    meshy.tasks.push(ModelTask { started, outcome, polls: 0 });
    json_answer(StatusCode::ACCEPTED, &json!({ "result": id }))
}

async fn read(
    State(state): State<SharedState>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response<Body> {
    if let Err(refusal) = check_key(&headers) {
        return *refusal;
    }
    match lock_state(&state).meshy.find_mut(&id) {
        Some(task) => {
            task.polls += 1;
            json_answer(StatusCode::OK, &task.to_json())
        }
        None => refuse(StatusCode::NOT_FOUND, "Task not found"),
    }
}

async fn delete(
    State(state): State<SharedState>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Response<Body> {
    if let Err(refusal) = check_key(&headers) {
        return *refusal;
    }
    match lock_state(&state).meshy.find_mut(&id) {
        Some(task) => {
            task.started.is_deleted = true;
            Response::new(Body::empty())
        }
        None => refuse(StatusCode::NOT_FOUND, "Task not found"),
    }
}

async fn read_balance(State(state): State<SharedState>, headers: HeaderMap) -> Response<Body> {
    match check_key(&headers) {
        Ok(_) => {
            let balance = lock_state(&state).meshy.balance;
            json_answer(StatusCode::OK, &json!({ "balance": balance }))
        }
        Err(refusal) => *refusal,
    }
}

/// Sends a file of a task that has succeeded. A key must not reach this server.
async fn send_file(
    State(state): State<SharedState>,
    Path((id, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response<Body> {
    if has_key(&headers) {
        return refuse(StatusCode::BAD_REQUEST, "a key was sent to a server of files");
    }
    let state = lock_state(&state);
    let is_done = state.meshy.find(&id).is_some_and(|it| it.state() == "SUCCEEDED");
    match name.as_str() {
        "model.glb" if is_done => Response::new(Body::from(sample_glb())),
        "preview.png" if is_done => Response::new(Body::from(&b"\x89PNG\r\n\x1a\n"[..])),
        _ => refuse(StatusCode::NOT_FOUND, "there is no such file"),
    }
}

/// Returns a triangle as GLB: a header, and a chunk each of JSON and of the coordinates.
pub fn sample_glb() -> Vec<u8> {
    let corners: [f32; 9] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let data: Vec<u8> = corners.into_iter().flat_map(f32::to_le_bytes).collect();
    let scene = json!({
        "asset": { "version": "2.0" }, "scene": 0, "scenes": [{ "nodes": [0] }],
        "nodes": [{ "mesh": 0 }],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 } }] }],
        "buffers": [{ "byteLength": data.len() }],
        "bufferViews": [{ "buffer": 0, "byteOffset": 0, "byteLength": data.len() }],
        "accessors": [{
            "bufferView": 0, "componentType": 5_126, "count": 3, "type": "VEC3",
            "min": [0, 0, 0], "max": [1, 1, 0],
        }],
    });
    let mut scene = scene.to_string().into_bytes();
    scene.resize(scene.len().next_multiple_of(4), b' ');
    let length = 12 + 8 + scene.len() + 8 + data.len();
    let mut glb = b"glTF\x02\0\0\0".to_vec();
    glb.extend((length as u32).to_le_bytes());
    for (kind, chunk) in [(b"JSON", &scene), (b"BIN\0", &data)] {
        glb.extend((chunk.len() as u32).to_le_bytes());
        glb.extend(kind);
        glb.extend(chunk);
    }
    glb
}
