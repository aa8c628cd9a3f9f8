//! Asset upload: `assets/v1/assets`, and the operations that make assets.

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::{get, post};
use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::form::{FormPart, read_form};
use super::{FakeCloud, SharedState, header_text, json_answer, lock_state};

const MAX_FILE_BYTES: usize = 20 << 20;
const MAX_DESCRIPTION: usize = 1_000;
/// The content types that each kind of asset takes.
const CONTENT_TYPES: [(&str, &[&str]); 4] = [
    ("Image", &["image/png", "image/jpeg", "image/bmp", "image/tga"]),
    ("Decal", &["image/png", "image/jpeg", "image/bmp", "image/tga"]),
    ("Audio", &["audio/mpeg", "audio/ogg", "audio/wav", "audio/flac"]),
    ("Model", &["model/fbx", "model/gltf+json", "model/gltf-binary", "model/x-rbxm"]),
];
/// The number of the first asset that is made.
const FIRST_ASSET: u64 = 9_001;

/// What an upload comes to.
#[derive(Debug, Clone)]
pub struct UploadOutcome {
    /// How many requests for the operation are answered before it is done.
    pub polls: usize,
    /// `Approved`, `Reviewing` or `Rejected`.
    pub moderation: &'static str,
    /// The message of the error with which it ends. None if an asset is made.
    pub error: Option<&'static str>,
}

impl Default for UploadOutcome {
    fn default() -> Self {
        Self { polls: 1, moderation: "Approved", error: None }
    }
}

/// A file as it was uploaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadedFile {
    /// The number of the asset that it becomes.
    pub asset: u64,
    pub asset_type: String,
    pub name: String,
    pub description: String,
    /// The id of the user or group, as it was sent.
    pub creator: Json,
    pub content_type: String,
    pub bytes: Bytes,
}

#[derive(Debug)]
pub(super) struct CloudUpload {
    file: UploadedFile,
    outcome: UploadOutcome,
    /// How many requests for the operation were answered.
    polls: usize,
}

impl FakeCloud {
    /// Sets what the next upload comes to. Outcomes are used in their order; an upload without one
    /// succeeds at the second request for its operation.
    pub fn add_upload_outcome(&self, outcome: UploadOutcome) {
        lock_state(&self.state).upload_outcomes.push_back(outcome);
    }

    /// Returns every file that was accepted, in its order. Two uploads of a file are two.
    pub fn uploads(&self) -> Vec<UploadedFile> {
        lock_state(&self.state).uploads.iter().map(|it| it.file.clone()).collect()
    }
}

impl CloudUpload {
    fn to_json(&self, id: usize) -> Json {
        let file = &self.file;
        let mut json = json!({ "path": format!("operations/upload-{id}"), "done": false });
        if self.polls <= self.outcome.polls {
            return json;
        }
        json["done"] = true.into();
        match self.outcome.error {
            Some(message) => json["error"] = json!({ "code": 400, "message": message }),
            None => {
                // Numbers are texts here, as in all answers of this service.
                json["response"] = json!({
                    "path": format!("assets/{}", file.asset), "assetId": file.asset.to_string(),
                    "revisionId": "1", "revisionCreateTime": "2026-01-01T00:00:00Z",
                    "assetType": file.asset_type, "displayName": file.name,
                    "description": file.description, "state": "Active",
                    "creationContext": { "creator": file.creator },
                    "moderationResult": { "moderationState": self.outcome.moderation },
                });
            }
        }
        json
    }
}

pub(super) fn routes() -> Router<SharedState> {
    Router::new()
        .route("/apis.roblox.com/assets/v1/assets", post(create))
        .route("/apis.roblox.com/assets/v1/operations/{id}", get(read))
}

fn refuse(status: StatusCode, message: &str) -> Response<Body> {
    json_answer(status, &json!({ "code": status.as_u16(), "message": message }))
}

/// Reads what is uploaded. The error is why it is refused.
fn read_upload(form: &[FormPart]) -> Result<UploadedFile, &'static str> {
    let [request, file] = form else { return Err("The form has not two parts.") };
    if request.name != "request" || !request.file_name.is_empty() || file.name != "fileContent" {
        return Err("The parts of the form are not request and fileContent.");
    }
    if file.file_name.is_empty() {
        return Err("The file has no name.");
    }
    let request: Json =
        serde_json::from_slice(&request.bytes).map_err(|_| "The request is not JSON.")?;
    let has_only = |json: &Json, known: &[&str]| {
        json.as_object().is_some_and(|it| it.keys().all(|name| known.contains(&name.as_str())))
    };
    let context = &request["creationContext"];
    if !has_only(&request, &["assetType", "displayName", "description", "creationContext"])
        || !has_only(context, &["creator", "expectedPrice", "assetPrivacy"])
        || !has_only(&context["creator"], &["userId", "groupId"])
    {
        return Err("There is a member that is not known.");
    }
    let text = |name: &str| request[name].as_str().map(str::to_owned);
    let known = |(kind, _): &&(&str, &[&str])| text("assetType").is_some_and(|it| it == *kind);
    let Some((_, content_types)) = CONTENT_TYPES.iter().find(known) else {
        return Err("The asset type is not valid.");
    };
    if !content_types.contains(&file.content_type.as_str()) {
        return Err("The content type does not fit the asset type.");
    }
    let name = text("displayName").filter(|it| !it.is_empty());
    let description = text("description").filter(|it| it.chars().count() <= MAX_DESCRIPTION);
    let (Some(name), Some(description)) = (name, description) else {
        return Err("The name or the description is not valid.");
    };
    let creator = &context["creator"];
    let ids: Vec<u64> = ["userId", "groupId"]
        .into_iter()
        .filter_map(|name| creator[name].as_u64().or_else(|| creator[name].as_str()?.parse().ok()))
        .collect();
    if ids.len() != 1 || creator.as_object().is_none_or(|it| it.len() != 1) {
        return Err("The creator is not a user or a group.");
    }
    if file.bytes.is_empty() || file.bytes.len() > MAX_FILE_BYTES {
        return Err("The size of the file is not valid.");
    }
    Ok(UploadedFile {
        asset: 0,
        asset_type: text("assetType").unwrap_or_default(),
        name,
        description,
        creator: creator.clone(),
        content_type: file.content_type.clone(),
        bytes: file.bytes.clone(),
    })
}

async fn create(
    State(state): State<SharedState>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let mut state = lock_state(&state);
    for scope in ["asset:read", "asset:write"] {
        if let Err(refusal) = state.check_key(&headers, scope) {
            return *refusal;
        }
    }
    let Some(form) = read_form(header_text(&headers, "content-type"), &body) else {
        return refuse(StatusCode::BAD_REQUEST, "The body is not a form.");
    };
    let mut file = match read_upload(&form) {
        Ok(file) => file,
        Err(fault) => return refuse(StatusCode::BAD_REQUEST, fault),
    };
    let id = state.uploads.len();
    file.asset = FIRST_ASSET + id as u64;
    let outcome = state.upload_outcomes.pop_front().unwrap_or_default();
    let upload = CloudUpload { file, outcome, polls: 0 };
    let answer = upload.to_json(id);
    state.uploads.push(upload);
    json_answer(StatusCode::OK, &answer)
}

async fn read(
    State(state): State<SharedState>,
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Response<Body> {
    let mut state = lock_state(&state);
    if let Err(refusal) = state.check_key(&headers, "asset:read") {
        return *refusal;
    }
    let id = path.strip_prefix("upload-").and_then(|it| it.parse::<usize>().ok());
    let Some((id, upload)) = id.and_then(|id| Some((id, state.uploads.get_mut(id)?))) else {
        return refuse(StatusCode::NOT_FOUND, "The operation was not found.");
    };
    upload.polls += 1;
    json_answer(StatusCode::OK, &upload.to_json(id))
}
