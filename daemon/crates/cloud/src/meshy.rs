//! Meshy: models that are generated from a text, first as a preview without colors, then refined.
//!
//! Each task costs credits. Nothing here decides whether one may be spent.

use serde_json::{Value as Json, json};

use super::failure::CloudFailure;
use super::request::{CloudRequest, MESHY, RequestBody, RequestMethod, RetryPolicy, StatusAdvice};

/// A key that Meshy publishes for tests: it costs nothing, and every task has the same sample as its result.
pub const MESHY_TEST_KEY: &str = "msy_dummy_api_key_for_test_mode_12345678";

const TASKS: &str = "/openapi/v2/text-to-3d";
/// The length limit of a prompt, in characters.
const MAX_PROMPT: usize = 600;
const MIN_POLYGONS: u32 = 100;
const MAX_POLYGONS: u32 = 300_000;
/// The length limit of a task's id, in bytes.
const MAX_ID: usize = 128;

const ADVICE: &[StatusAdvice] = &[
    StatusAdvice::new(400, "Meshy did not accept the request. Change the prompt or the settings."),
    StatusAdvice::new(
        401,
        "The key is missing, wrong or revoked. Make one at https://www.meshy.ai/settings/api, and set it \
         with `vector key set meshy`.",
    ),
    StatusAdvice::new(
        402,
        "Your account of Meshy has too few credits. Buy some, or choose the model meshy-5, which costs \
         less.",
    ),
    StatusAdvice::new(
        403,
        "Your plan of Meshy or the key does not allow this. Check both at Meshy.",
    ),
    StatusAdvice::new(
        404,
        "Meshy has no such task for this key. It may have been deleted. Start a new one.",
    ),
    StatusAdvice::new(409, "The task has changed meanwhile. Read its state, and try again."),
    StatusAdvice::with_detail(
        429,
        "NoMoreConcurrentTasks",
        "Your plan of Meshy allows no more tasks at once. Wait until one has finished, or cancel one.",
    ),
    StatusAdvice::new(429, "Meshy takes only some requests a second. Try again in a minute."),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeshyModel {
    Meshy5,
    Meshy6,
    /// The newest that Meshy has, at present Meshy 6.
    Latest,
}

impl MeshyModel {
    pub const ALL: [Self; 3] = [Self::Meshy5, Self::Meshy6, Self::Latest];

    /// The name of the service, which is also the one for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Meshy5 => "meshy-5",
            Self::Meshy6 => "meshy-6",
            Self::Latest => "latest",
        }
    }
}

/// A task that makes a model without colors from a text.
///
/// It is not sent again once Meshy may have started it, because it costs credits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshyPreview {
    /// What it is a model of, in 1 to 600 characters.
    pub prompt: String,
    pub model: MeshyModel,
    /// Makes a model of few polygons. Meshy then chooses the model and the number of polygons itself.
    pub is_low_poly: bool,
    /// The number of polygons, from 100 to 300,000. None leaves it to Meshy.
    pub polygons: Option<u32>,
}

impl MeshyPreview {
    /// Returns what the task costs, in credits.
    pub fn credits(&self) -> u32 {
        match self.model {
            MeshyModel::Meshy5 if !self.is_low_poly => 5,
            MeshyModel::Meshy5 | MeshyModel::Meshy6 | MeshyModel::Latest => 20,
        }
    }

    /// # Errors
    /// The prompt or the number of polygons is not allowed.
    pub fn request(&self) -> Result<CloudRequest, CloudFailure> {
        check_prompt(&self.prompt)?;
        let mut body = json!({
            "mode": "preview", "prompt": self.prompt, "target_formats": ["glb"], "moderation": true,
        });
        if self.is_low_poly {
            body["model_type"] = "lowpoly".into();
        } else {
            body["model_type"] = "standard".into();
            body["ai_model"] = self.model.name().into();
            if let Some(polygons) = self.polygons {
                if !(MIN_POLYGONS..=MAX_POLYGONS).contains(&polygons) {
                    let message = format!(
                        "A model of {polygons} polygons is not possible. Choose from {MIN_POLYGONS} to \
                         {MAX_POLYGONS}."
                    );
                    return Err(CloudFailure::refused(&message));
                }
                body["should_remesh"] = true.into();
                body["topology"] = "triangle".into();
                body["target_polycount"] = polygons.into();
            }
        }
        Ok(CloudRequest::post(MESHY, TASKS, RequestBody::Json(body)).with_advice(ADVICE))
    }
}

fn check_prompt(prompt: &str) -> Result<(), CloudFailure> {
    let length = prompt.chars().count();
    if prompt.trim().is_empty() || length > MAX_PROMPT {
        let message = format!(
            "A prompt of {length} characters is not possible. Meshy takes from 1 to {MAX_PROMPT}."
        );
        return Err(CloudFailure::refused(&message));
    }
    Ok(())
}

/// A task that gives a preview its colors.
///
/// It is not sent again once Meshy may have started it, because it costs credits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshyRefine {
    /// The task of a preview that has succeeded.
    pub preview: MeshyTaskId,
    /// Makes maps of metal, roughness and normals besides the colors.
    pub has_pbr: bool,
    /// What the surface looks like, in at most 600 characters. None uses the prompt of the preview.
    pub texture_prompt: Option<String>,
}

impl MeshyRefine {
    /// What the task costs, in credits.
    pub const CREDITS: u32 = 10;

    /// # Errors
    /// The prompt for the texture is not allowed.
    pub fn request(&self) -> Result<CloudRequest, CloudFailure> {
        let mut body = json!({
            "mode": "refine", "preview_task_id": self.preview.as_str(), "enable_pbr": self.has_pbr,
            "target_formats": ["glb"], "moderation": true,
        });
        if let Some(prompt) = &self.texture_prompt {
            check_prompt(prompt)?;
            body["texture_prompt"] = prompt.as_str().into();
        }
        Ok(CloudRequest::post(MESHY, TASKS, RequestBody::Json(body)).with_advice(ADVICE))
    }
}

/// The id of a task, of letters, digits, `-` and `_`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshyTaskId(String);

impl MeshyTaskId {
    /// # Errors
    /// It has other characters, or is empty or too long.
    pub fn parse(text: &str) -> Result<Self, CloudFailure> {
        let is_plain = |it: u8| it.is_ascii_alphanumeric() || it == b'-' || it == b'_';
        if text.is_empty() || text.len() > MAX_ID || !text.bytes().all(is_plain) {
            return Err(CloudFailure::unreadable(MESHY, "the id of the task is not one"));
        }
        Ok(Self(text.to_owned()))
    }

    /// Reads the answer to the start of a task.
    ///
    /// # Errors
    /// The answer has no id. The task has been started all the same.
    pub fn read_started(body: &[u8]) -> Result<Self, CloudFailure> {
        let read = || {
            let body: Json = serde_json::from_slice(body)
                .map_err(|error| CloudFailure::unreadable(MESHY, &error.to_string()))?;
            Self::parse(body["result"].as_str().unwrap_or_default())
        };
        read().map_err(|failure: CloudFailure| failure.with_retry_policy(RetryPolicy::Unprocessed))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A request for the state of the task, which [`MeshyTask::read`] reads.
    pub fn task_request(&self) -> CloudRequest {
        CloudRequest::new(MESHY, &format!("{TASKS}/{}", self.0)).with_advice(ADVICE)
    }

    /// A request that cancels the task and deletes its files. It has no answer. A second one fails with
    /// [`super::CloudFailureKind::NotFound`].
    pub fn delete_request(&self) -> CloudRequest {
        CloudRequest { method: RequestMethod::Delete, ..self.task_request() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeshyState {
    Pending,
    InProgress,
    Succeeded,
    Failed,
    Canceled,
}

impl MeshyState {
    /// Whether the task does not change any more.
    pub fn is_final(self) -> bool {
        match self {
            Self::Pending | Self::InProgress => false,
            Self::Succeeded | Self::Failed | Self::Canceled => true,
        }
    }

    fn read(name: &str) -> Option<Self> {
        match name {
            "PENDING" => Some(Self::Pending),
            "IN_PROGRESS" => Some(Self::InProgress),
            "SUCCEEDED" => Some(Self::Succeeded),
            "FAILED" => Some(Self::Failed),
            "CANCELED" => Some(Self::Canceled),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshyTask {
    pub id: MeshyTaskId,
    pub state: MeshyState,
    /// How much is done, from 0 to 100.
    pub progress: u8,
    /// The address of the model as GLB, for `CloudClient::download`. It is valid for a limited time.
    pub glb_location: Option<String>,
    /// The address of a picture of it.
    pub thumbnail_location: Option<String>,
    /// The credits that it cost. None if Meshy does not say.
    pub consumed_credits: Option<u64>,
    /// Why it failed, as Meshy says.
    pub error: Option<String>,
}

impl MeshyTask {
    /// Reads the answer to a request for a task.
    ///
    /// # Errors
    /// The answer has no id or no state that is known, or has succeeded without a model.
    pub fn read(body: &[u8]) -> Result<Self, CloudFailure> {
        let unreadable = |reason: &str| CloudFailure::unreadable(MESHY, reason);
        let body: Json =
            serde_json::from_slice(body).map_err(|error| unreadable(&error.to_string()))?;
        let text = |text: &Json| text.as_str().filter(|it| !it.is_empty()).map(str::to_owned);
        let state = MeshyState::read(body["status"].as_str().unwrap_or_default())
            .ok_or_else(|| unreadable("it does not say what state the task is in"))?;
        let glb_location = text(&body["model_urls"]["glb"]);
        if state == MeshyState::Succeeded && glb_location.is_none() {
            return Err(unreadable("it does not say where the model is"));
        }
        Ok(Self {
            id: MeshyTaskId::parse(body["id"].as_str().unwrap_or_default())?,
            state,
            progress: body["progress"].as_u64().unwrap_or(0).min(100) as u8,
            glb_location,
            thumbnail_location: text(&body["thumbnail_url"]),
            consumed_credits: body["consumed_credits"].as_u64(),
            error: text(&body["task_error"]["message"]),
        })
    }
}

/// A request for the credits that an account has. It costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeshyBalance;

impl MeshyBalance {
    pub fn request(self) -> CloudRequest {
        CloudRequest::new(MESHY, "/openapi/v1/balance").with_advice(ADVICE)
    }

    /// Reads the answer: the number of credits.
    ///
    /// # Errors
    /// The answer has no number.
    pub fn read(self, body: &[u8]) -> Result<u64, CloudFailure> {
        let answer: Json = serde_json::from_slice(body)
            .map_err(|error| CloudFailure::unreadable(MESHY, &error.to_string()))?;
        let balance = answer["balance"].as_u64();
        balance.ok_or_else(|| CloudFailure::unreadable(MESHY, "it has no number of credits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preview(prompt: &str) -> MeshyPreview {
        let model = MeshyModel::Latest;
        MeshyPreview { prompt: prompt.to_owned(), model, is_low_poly: false, polygons: None }
    }

    fn body(request: CloudRequest) -> Json {
        match request.body {
            RequestBody::Json(body) => body,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn settings_are_in_the_request() {
        let plain = preview("a tree").request().unwrap();
        assert_eq!((plain.host, plain.retry), (MESHY, RetryPolicy::Unprocessed));
        let expected = json!({
            "mode": "preview", "prompt": "a tree", "target_formats": ["glb"], "moderation": true,
            "model_type": "standard", "ai_model": "latest",
        });
        assert_eq!(body(plain), expected);
        let few = MeshyPreview { polygons: Some(2_000), model: MeshyModel::Meshy5, ..preview("x") };
        let few = body(few.request().unwrap());
        assert_eq!(
            (&few["target_polycount"], &few["should_remesh"]),
            (&json!(2_000), &json!(true))
        );
        let low = MeshyPreview { polygons: Some(2_000), is_low_poly: true, ..preview("x") };
        let low = body(low.request().unwrap());
        assert_eq!(
            (&low["model_type"], &low["target_polycount"]),
            (&json!("lowpoly"), &Json::Null)
        );
        let refine = MeshyRefine {
            preview: MeshyTaskId::parse("0193-ab_c").unwrap(),
            has_pbr: true,
            texture_prompt: Some("bark".to_owned()),
        };
        let expected = json!({
            "mode": "refine", "preview_task_id": "0193-ab_c", "enable_pbr": true,
            "target_formats": ["glb"], "moderation": true, "texture_prompt": "bark",
        });
        assert_eq!(body(refine.request().unwrap()), expected);
    }

    #[test]
    fn cost_depends_on_the_model() {
        let credits = |model: MeshyModel| MeshyPreview { model, ..preview("x") }.credits();
        assert_eq!(MeshyModel::ALL.map(credits), [5, 20, 20]);
        let low = MeshyPreview { model: MeshyModel::Meshy5, is_low_poly: true, ..preview("x") };
        assert_eq!(low.credits(), 20, "Meshy chooses the model, which may be the dearer one");
    }

    #[test]
    fn limits_are_checked_before_anything_is_sent() {
        for prompt in ["", "  ", &"ä".repeat(601)] {
            let failure = preview(prompt).request().unwrap_err();
            assert!(failure.message.contains("from 1 to 600"), "{failure}");
        }
        assert!(preview(&"ä".repeat(600)).request().is_ok());
        for polygons in [99, 300_001] {
            let few = MeshyPreview { polygons: Some(polygons), ..preview("x") };
            let failure = few.request().unwrap_err();
            assert!(failure.message.contains("from 100 to 300000"), "{failure}");
        }
        for id in ["", "a/b", "../x", "a?b", "a b", "ä", &"a".repeat(129)] {
            assert!(MeshyTaskId::parse(id).is_err(), "{id}");
        }
    }

    #[test]
    fn task_is_read_in_every_state() {
        let read = |body: Json| MeshyTask::read(body.to_string().as_bytes());
        let done = read(json!({
            "id": "0193", "status": "SUCCEEDED", "progress": 100, "consumed_credits": 20,
            "model_urls": { "glb": "https://assets.meshy.ai/a.glb", "fbx": "" },
            "thumbnail_url": "https://assets.meshy.ai/a.png", "task_error": { "message": "" },
        }));
        let done = done.unwrap();
        assert!(done.state.is_final() && done.error.is_none(), "{done:?}");
        assert_eq!(done.glb_location.as_deref(), Some("https://assets.meshy.ai/a.glb"));
        assert_eq!((done.progress, done.consumed_credits), (100, Some(20)));
        let failed = read(json!({
            "id": "0193", "status": "FAILED", "progress": 7, "task_error": { "message": "Unsafe" },
        }));
        assert_eq!(failed.unwrap().error.as_deref(), Some("Unsafe"));
        for body in [
            json!({ "id": "0193", "status": "SUCCEEDED", "model_urls": {} }),
            json!({ "id": "0193", "status": "EXPIRED" }),
            json!({ "status": "PENDING" }),
            json!([]),
        ] {
            let failure = read(body.clone()).unwrap_err();
            assert!(failure.message.contains("api.meshy.ai cannot be read"), "{body}: {failure}");
        }
        assert_eq!(MeshyTaskId::read_started(br#"{"result":"0193"}"#).unwrap().as_str(), "0193");
        let lost = MeshyTaskId::read_started(b"{}").unwrap_err();
        assert!(lost.message.contains("may have been completed"), "{lost}");
        assert_eq!(MeshyBalance.read(br#"{"balance":1000}"#).unwrap(), 1_000);
        assert!(MeshyBalance.read(b"{}").is_err());
    }
}
