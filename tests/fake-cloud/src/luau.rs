//! Luau execution: `cloud/v2/universes/{universe}/…/luau-execution-session-tasks`, its logs and binary
//! inputs, and the server that takes the bytes of these.
//!
//! No script runs: a test says beforehand what each task comes to.

use std::collections::HashMap;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::{get, put};
use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::{CloudState, FakeCloud, SharedState, has_key, json_answer, lock_state};

/// The server that takes binary inputs. It is not one of Roblox's, so a key must not reach it.
const UPLOAD_HOST: &str = "storage.example.com";
const MAX_SCRIPT_BYTES: usize = 4 << 20;
const MAX_INPUT_BYTES: u64 = 100 << 20;
const MAX_SECONDS: u32 = 300;
/// The most unfinished tasks of a place.
const MAX_UNFINISHED: usize = 10;
const WRITE_SCOPE: &str = "universe.place.luau-execution-session:write";
const READ_SCOPE: &str = "universe.place.luau-execution-session:read";

/// The forms that the path of a task has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskPathShape {
    Place,
    Version,
    PlaceSession,
    VersionSession,
}

impl TaskPathShape {
    pub const ALL: [Self; 4] =
        [Self::Place, Self::Version, Self::PlaceSession, Self::VersionSession];
}

/// What a task comes to.
#[derive(Debug, Clone)]
pub struct LuauOutcome {
    /// The states that it passes through, one with its creation and one with each request for it. It
    /// stays in the last.
    pub states: Vec<&'static str>,
    pub shape: TaskPathShape,
    pub results: Vec<Json>,
    /// The code and the message of its error.
    pub error: Option<[&'static str; 2]>,
    /// The type and the text of each message.
    pub logs: Vec<[&'static str; 2]>,
}

impl LuauOutcome {
    /// A task that succeeds with these results, without logs.
    pub fn complete(results: Vec<Json>) -> Self {
        Self {
            states: vec!["QUEUED", "PROCESSING", "COMPLETE"],
            shape: TaskPathShape::VersionSession,
            results,
            error: None,
            logs: Vec::new(),
        }
    }

    /// A task that fails.
    pub fn failed(code: &'static str, message: &'static str) -> Self {
        let states = vec!["QUEUED", "PROCESSING", "FAILED"];
        Self { states, error: Some([code, message]), ..Self::complete(Vec::new()) }
    }
}

/// A task as it was started.
#[derive(Debug, Clone)]
pub struct StartedTask {
    pub universe: u64,
    pub place: u64,
    /// The version that it is pinned to. None for the newest.
    pub version: Option<u64>,
    pub script: String,
    pub timeout: String,
    pub binary_input: Option<Bytes>,
}

#[derive(Debug)]
pub(super) struct CloudTask {
    started: StartedTask,
    path: String,
    outcome: LuauOutcome,
    /// The index of its state.
    at: usize,
}

impl CloudTask {
    fn state(&self) -> &'static str {
        let last = self.outcome.states.last().copied().unwrap_or("COMPLETE");
        self.outcome.states.get(self.at).copied().unwrap_or(last)
    }

    fn is_final(&self) -> bool {
        ["CANCELLED", "COMPLETE", "FAILED"].contains(&self.state())
    }

    fn to_json(&self) -> Json {
        let mut json = json!({
            "path": self.path, "user": "1", "state": self.state(),
            "createTime": "2026-01-01T00:00:00Z", "updateTime": "2026-01-01T00:00:01Z",
        });
        match (self.state(), self.outcome.error) {
            ("COMPLETE", _) => json["output"] = json!({ "results": self.outcome.results }),
            ("FAILED", Some([code, message])) => {
                json["error"] = json!({ "code": code, "message": message });
            }
            _ => {}
        }
        json
    }
}

#[derive(Debug)]
pub(super) struct CloudInput {
    universe: u64,
    size: u64,
    bytes: Option<Bytes>,
}

impl FakeCloud {
    /// Sets what the next task comes to. Outcomes are used in their order; a task without one succeeds
    /// without results.
    pub fn add_luau_outcome(&self, outcome: LuauOutcome) {
        lock_state(&self.state).outcomes.push_back(outcome);
    }

    /// Brings all tasks to their last state.
    pub fn end_tasks(&self) {
        for task in &mut lock_state(&self.state).tasks {
            task.at = task.outcome.states.len();
        }
    }

    /// Returns the tasks that were started, in their order.
    pub fn luau_tasks(&self) -> Vec<StartedTask> {
        lock_state(&self.state).tasks.iter().map(|it| it.started.clone()).collect()
    }
}

pub(super) fn routes() -> Router<SharedState> {
    Router::new()
        .route("/apis.roblox.com/cloud/v2/{*path}", get(read).post(create))
        .route(&format!("/{UPLOAD_HOST}/{{id}}"), put(take_input))
}

fn refuse(status: StatusCode, message: &str) -> Response<Body> {
    let code = match status {
        StatusCode::NOT_FOUND => "NOT_FOUND",
        StatusCode::TOO_MANY_REQUESTS => "RESOURCE_EXHAUSTED",
        _ => "INVALID_ARGUMENT",
    };
    json_answer(status, &json!({ "code": code, "message": message, "details": [] }))
}

fn not_found(what: &str) -> Response<Body> {
    refuse(StatusCode::NOT_FOUND, &format!("The {what} was not found."))
}

async fn create(
    State(state): State<SharedState>,
    Path(path): Path<String>,
    Query(parameters): Query<HashMap<String, String>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let mut state = lock_state(&state);
    if let Err(refusal) = state.check_key(&headers, WRITE_SCOPE) {
        return *refusal;
    }
    if !parameters.is_empty() {
        return refuse(StatusCode::BAD_REQUEST, "There is a parameter that is not known.");
    }
    let is_json = super::header_text(&headers, "content-type") == "application/json";
    let Some(body) = serde_json::from_slice::<Json>(&body).ok().filter(|_| is_json) else {
        return refuse(StatusCode::BAD_REQUEST, "The body is not JSON.");
    };
    let segments: Vec<&str> = path.split('/').collect();
    let number = |text: &str| text.parse::<u64>().ok();
    let wanted = match segments.as_slice() {
        ["universes", universe, "luau-execution-session-task-binary-inputs"] => {
            let Some(universe) = number(universe) else { return not_found("universe") };
            return create_input(&mut state, universe, &body);
        }
        ["universes", universe, "places", place, "luau-execution-session-tasks"] => {
            number(universe).zip(number(place)).map(|(universe, place)| (universe, place, None))
        }
        [
            "universes",
            universe,
            "places",
            place,
            "versions",
            version,
            "luau-execution-session-tasks",
        ] => number(universe)
            .zip(number(place))
            .zip(number(version))
            .map(|((universe, place), version)| (universe, place, Some(version))),
        _ => None,
    };
    let Some((universe, place, version)) = wanted else { return not_found("resource") };
    create_task(&mut state, universe, place, version, &body)
}

/// Returns why the body of a task is refused.
fn find_fault(body: &Json) -> Option<&'static str> {
    let members = body.as_object()?;
    let known = ["script", "timeout", "binaryInput", "enableBinaryOutput"];
    if members.keys().any(|name| !known.contains(&name.as_str())) {
        return Some("There is a member that is not known.");
    }
    let Some(script) = body["script"].as_str() else { return Some("The script is missing.") };
    if script.len() > MAX_SCRIPT_BYTES {
        return Some("The script is too large.");
    }
    let timeout = &body["timeout"];
    let seconds = timeout.as_str().and_then(|it| it.strip_suffix('s')?.parse::<u32>().ok());
    let is_timeout = seconds.is_some_and(|it| (1..=MAX_SECONDS).contains(&it));
    (!timeout.is_null() && !is_timeout).then_some("The timeout is not valid.")
}

fn create_task(
    state: &mut CloudState,
    universe: u64,
    place: u64,
    version: Option<u64>,
    body: &Json,
) -> Response<Body> {
    if let Some(fault) = find_fault(body) {
        return refuse(StatusCode::BAD_REQUEST, fault);
    }
    let Some(known) = state.places.get(&place).filter(|it| it.universe == universe) else {
        return not_found("place");
    };
    let newest = known.versions.last().map_or(1, |it| it.number);
    let is_known = |version: u64| known.versions.iter().any(|it| it.number == version);
    if version.is_some_and(|it| !is_known(it)) {
        return not_found("version");
    }
    let binary_input = match body["binaryInput"].as_str() {
        None => None,
        Some(path) => {
            let input = state.inputs.get(path).filter(|it| it.universe == universe);
            let Some(bytes) = input.and_then(|it| it.bytes.clone()) else {
                return refuse(StatusCode::BAD_REQUEST, "The binary input is not valid.");
            };
            Some(bytes)
        }
    };
    let is_open = |task: &&CloudTask| task.started.place == place && !task.is_final();
    if state.tasks.iter().filter(is_open).count() >= MAX_UNFINISHED {
        let mut refusal =
            refuse(StatusCode::TOO_MANY_REQUESTS, "There are too many unfinished tasks.");
        // The limit of requests is another one, which is not reached.
        for (name, value) in [("x-ratelimit-remaining", "31, 40"), ("x-ratelimit-reset", "12, 60")]
        {
            refusal.headers_mut().insert(name, axum::http::HeaderValue::from_static(value));
        }
        return refusal;
    }
    let outcome = state.outcomes.pop_front();
    let outcome = outcome.unwrap_or_else(|| LuauOutcome::complete(Vec::new()));
    let number = state.tasks.len() + 1;
    let (below, at) = (format!("universes/{universe}/places/{place}"), version.unwrap_or(newest));
    let path = match outcome.shape {
        TaskPathShape::Place => format!("{below}/luau-execution-session-tasks/task-{number}"),
        TaskPathShape::Version => {
            format!("{below}/versions/{at}/luau-execution-session-tasks/task-{number}")
        }
        TaskPathShape::PlaceSession => {
            format!("{below}/luau-execution-sessions/session-1/tasks/task-{number}")
        }
        TaskPathShape::VersionSession => {
            format!("{below}/versions/{at}/luau-execution-sessions/session-1/tasks/task-{number}")
        }
    };
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let (script, timeout) = (text("script"), text("timeout"));
    let started = StartedTask { universe, place, version, script, timeout, binary_input };
    let task = CloudTask { started, path, outcome, at: 0 };
    let answer = task.to_json();
    state.tasks.push(task);
    json_answer(StatusCode::OK, &answer)
}

fn create_input(state: &mut CloudState, universe: u64, body: &Json) -> Response<Body> {
    let size = body["size"].as_u64().filter(|it| (1..=MAX_INPUT_BYTES).contains(it));
    let (Some(size), Some(1)) = (size, body.as_object().map(serde_json::Map::len)) else {
        return refuse(StatusCode::BAD_REQUEST, "The size is not valid.");
    };
    let number = state.inputs.len() + 1;
    let path =
        format!("universes/{universe}/luau-execution-session-task-binary-inputs/input-{number}");
    let answer = json!({
        "path": path, "size": size,
        "uploadUri": format!("https://{UPLOAD_HOST}/input-{number}?signature=a%2Fb"),
    });
    state.inputs.insert(path, CloudInput { universe, size, bytes: None });
    json_answer(StatusCode::OK, &answer)
}

async fn take_input(
    State(state): State<SharedState>,
    Path(id): Path<String>,
    Query(parameters): Query<HashMap<String, String>>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response<Body> {
    if has_key(&headers) {
        return refuse(StatusCode::BAD_REQUEST, "a key was sent to a server of files");
    }
    if parameters.get("signature").is_none_or(|it| it != "a/b") {
        return refuse(StatusCode::FORBIDDEN, "the signature is not valid");
    }
    let mut state = lock_state(&state);
    let end = format!("/{id}");
    let input = state.inputs.iter_mut().find(|(path, _)| path.ends_with(&end)).map(|(_, it)| it);
    let Some(input) = input else { return not_found("input") };
    if input.size != bytes.len() as u64 {
        return refuse(StatusCode::BAD_REQUEST, "the size is not the one that was announced");
    }
    input.bytes = Some(bytes);
    Response::new(Body::empty())
}

async fn read(
    State(state): State<SharedState>,
    Path(path): Path<String>,
    Query(parameters): Query<HashMap<String, String>>,
    headers: HeaderMap,
) -> Response<Body> {
    let mut state = lock_state(&state);
    if let Err(refusal) = state.check_key(&headers, READ_SCOPE) {
        return *refusal;
    }
    let (task_path, is_logs) = match path.strip_suffix("/logs") {
        Some(task) => (task, true),
        None => (path.as_str(), false),
    };
    let Some(task) = state.tasks.iter_mut().find(|it| it.path == task_path) else {
        return not_found("task");
    };
    if is_logs {
        return list_logs(task, &parameters);
    }
    if parameters.keys().any(|name| name != "view") {
        return refuse(StatusCode::BAD_REQUEST, "There is a parameter that is not known.");
    }
    task.at += 1;
    json_answer(StatusCode::OK, &task.to_json())
}

fn list_logs(task: &CloudTask, parameters: &HashMap<String, String>) -> Response<Body> {
    let known = ["view", "maxPageSize", "pageToken"];
    let text = |name: &str| parameters.get(name).map_or("", String::as_str);
    let size = text("maxPageSize").parse::<usize>().ok().filter(|it| (1..=10_000).contains(it));
    let from = match text("pageToken") {
        "" => Some(0),
        token => token.strip_prefix("from-").and_then(|it| it.parse::<usize>().ok()),
    };
    let is_known = parameters.keys().all(|name| known.contains(&name.as_str()));
    let (true, "STRUCTURED", Some(size), Some(from)) = (is_known, text("view"), size, from) else {
        return refuse(StatusCode::BAD_REQUEST, "The parameters of the logs are not valid.");
    };
    if !task.is_final() {
        return json_answer(StatusCode::OK, &json!({ "luauExecutionSessionTaskLogs": [] }));
    }
    let message = |[kind, text]: &[&str; 2]| json!({ "message": text, "createTime": "2026-01-01T00:00:00Z", "messageType": kind });
    let page: Vec<Json> = task.outcome.logs.iter().skip(from).take(size).map(message).collect();
    let end = from + page.len();
    let next = if end < task.outcome.logs.len() { format!("from-{end}") } else { String::new() };
    let chunk = json!({ "path": format!("{}/logs/1", task.path), "structuredMessages": page });
    let answer = json!({ "luauExecutionSessionTaskLogs": [chunk], "nextPageToken": next });
    json_answer(StatusCode::OK, &answer)
}
