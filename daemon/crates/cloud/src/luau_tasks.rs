//! Luau execution: tasks that run a script in a place on a server of Roblox, their results and logs.
//!
//! A task changes nothing in the place unless its script saves it. Data stores, messages and HTTP are
//! real. Whether a script may run is decided elsewhere.

use std::fmt;

use serde_json::{Value as Json, json};

use super::failure::CloudFailure;
use super::request::{APIS, CloudRequest, RequestBody, RetryPolicy, StatusAdvice};
use super::resource_path::check_path;

/// The collection that paths of tasks and binary inputs are in.
const COLLECTION: &str = "universes";

const ADVICE: &[StatusAdvice] = &[
    StatusAdvice::new(
        400,
        "Check the script, its time limit and its binary input, which is valid for 15 minutes.",
    ),
    StatusAdvice::new(
        401,
        "The key is missing, wrong or revoked. Set it again with `vector key set roblox-verify`.",
    ),
    StatusAdvice::new(
        403,
        "The key lacks the scope universe.place.luau-execution-session:write or :read for this \
               universe, or its owner may not edit the place. Check both at \
               https://create.roblox.com/dashboard/credentials.",
    ),
    StatusAdvice::new(
        404,
        "Check the ids of the universe, the place and the version. A task is kept for 24 hours.",
    ),
    StatusAdvice::new(409, "Another request changed the same task or place. Try again."),
    StatusAdvice::new(
        429,
        "A place has at most 10 unfinished tasks, and few are started a minute. Wait until one has \
               finished, and try again.",
    ),
];

/// The start of a task. It needs a key with the scope `universe.place.luau-execution-session:write`.
///
/// It is not sent again once the service may have started the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LuauTaskStart {
    pub universe: u64,
    pub place: u64,
    /// The version of the place. None for the newest.
    pub version: Option<u64>,
    /// The script, at most [`LuauTaskStart::MAX_SCRIPT_BYTES`].
    pub script: String,
    /// The time limit in seconds, from 1 to [`LuauTaskStart::MAX_SECONDS`]. It begins when the script does.
    pub timeout_seconds: u32,
    /// What the script gets as `({...})[1].BinaryInput`.
    pub binary_input: Option<BinaryInputPath>,
}

impl LuauTaskStart {
    /// The size limit of a script, in bytes.
    pub const MAX_SCRIPT_BYTES: usize = 4 << 20;
    /// The longest time limit, in seconds.
    pub const MAX_SECONDS: u32 = 300;

    /// # Errors
    /// The script is too long, or the time limit is not allowed.
    pub fn request(&self) -> Result<CloudRequest, CloudFailure> {
        if self.script.len() > Self::MAX_SCRIPT_BYTES {
            let message = format!(
                "The script has {} bytes, and Roblox takes at most {} MB. Send what is large as a binary \
                 input.",
                self.script.len(),
                Self::MAX_SCRIPT_BYTES >> 20
            );
            return Err(CloudFailure::refused(&message));
        }
        if !(1..=Self::MAX_SECONDS).contains(&self.timeout_seconds) {
            let message = format!(
                "A time limit of {} s is not allowed. Choose one from 1 to {} s.",
                self.timeout_seconds,
                Self::MAX_SECONDS
            );
            return Err(CloudFailure::refused(&message));
        }
        let (universe, place) = (self.universe, self.place);
        let version = self.version.map_or_else(String::new, |it| format!("/versions/{it}"));
        let path = format!(
            "/cloud/v2/universes/{universe}/places/{place}{version}/luau-execution-session-tasks"
        );
        let mut body =
            json!({ "script": self.script, "timeout": format!("{}s", self.timeout_seconds) });
        if let Some(input) = &self.binary_input {
            body["binaryInput"] = input.as_str().into();
        }
        Ok(CloudRequest::post(APIS, &path, RequestBody::Json(body)).with_advice(ADVICE))
    }
}

/// The path of a task, which the service names. Its form is not fixed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LuauTaskPath(String);

impl LuauTaskPath {
    /// The most messages of a page of logs.
    const MAX_LOG_PAGE: u32 = 10_000;

    /// # Errors
    /// It is not a relative path below `universes`.
    pub fn parse(text: &str) -> Result<Self, CloudFailure> {
        check_path(text, COLLECTION).map(Self).ok_or_else(|| {
            CloudFailure::unreadable(APIS, "the path of the task is not one below universes")
        })
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A request for the state of the task, which [`LuauTask::read`] reads. It needs a key with the scope
    /// `universe.place.luau-execution-session:read`.
    pub fn task_request(&self) -> CloudRequest {
        CloudRequest::new(APIS, &format!("/cloud/v2/{}", self.0)).with_advice(ADVICE)
    }

    /// A request for a page of the logs, which [`LuauLogPage::read`] reads. They are empty until the task
    /// has finished, and kept for 24 hours.
    pub fn logs_request(&self, page: Option<&str>) -> CloudRequest {
        let request = CloudRequest::new(APIS, &format!("/cloud/v2/{}/logs", self.0))
            .with_query("view", "STRUCTURED")
            .with_query("maxPageSize", Self::MAX_LOG_PAGE)
            .with_advice(ADVICE);
        match page {
            Some(page) => request.with_query("pageToken", page),
            None => request,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LuauTaskState {
    Queued,
    Processing,
    Cancelled,
    Complete,
    Failed,
}

impl LuauTaskState {
    /// Whether the task does not change any more.
    pub fn is_final(self) -> bool {
        match self {
            Self::Queued | Self::Processing => false,
            Self::Cancelled | Self::Complete | Self::Failed => true,
        }
    }

    fn read(name: &str) -> Option<Self> {
        match name {
            "QUEUED" => Some(Self::Queued),
            "PROCESSING" => Some(Self::Processing),
            "CANCELLED" => Some(Self::Cancelled),
            "COMPLETE" => Some(Self::Complete),
            "FAILED" => Some(Self::Failed),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LuauErrorCode {
    /// The script raised an error that it did not handle.
    ScriptError,
    DeadlineExceeded,
    /// What the script returned is larger than 4 MB.
    OutputSizeLimitExceeded,
    InternalError,
    /// A code that this version does not know, or none.
    Unknown,
}

impl LuauErrorCode {
    fn read(name: &str) -> Self {
        match name {
            "SCRIPT_ERROR" => Self::ScriptError,
            "DEADLINE_EXCEEDED" => Self::DeadlineExceeded,
            "OUTPUT_SIZE_LIMIT_EXCEEDED" => Self::OutputSizeLimitExceeded,
            "INTERNAL_ERROR" => Self::InternalError,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for LuauErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ScriptError => "the script raised an error",
            Self::DeadlineExceeded => "the script did not finish within its time limit",
            Self::OutputSizeLimitExceeded => "the script returned more than 4 MB",
            Self::InternalError => "the service has a problem",
            Self::Unknown => "the task failed",
        })
    }
}

/// Why a task failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LuauTaskError {
    pub code: LuauErrorCode,
    /// What the service says, which may repeat what the script raised. It may be empty.
    pub message: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LuauTask {
    pub path: LuauTaskPath,
    pub state: LuauTaskState,
    /// What the script returned, as JSON. Values that JSON cannot express are null.
    pub results: Vec<Json>,
    /// Why it failed. None if the service does not say.
    pub error: Option<LuauTaskError>,
}

impl LuauTask {
    /// Reads the answer to the start of a task.
    ///
    /// # Errors
    /// The answer has no path or no state. The task has been started all the same.
    pub fn read_started(body: &[u8]) -> Result<Self, CloudFailure> {
        Self::read(body).map_err(|failure| failure.with_retry_policy(RetryPolicy::Unprocessed))
    }

    /// Reads the answer to a request for a task.
    ///
    /// # Errors
    /// The answer has no path or no state that is known.
    pub fn read(body: &[u8]) -> Result<Self, CloudFailure> {
        let unreadable = |reason: &str| CloudFailure::unreadable(APIS, reason);
        let body: Json =
            serde_json::from_slice(body).map_err(|error| unreadable(&error.to_string()))?;
        let path = LuauTaskPath::parse(body["path"].as_str().unwrap_or_default())?;
        let state = LuauTaskState::read(body["state"].as_str().unwrap_or_default())
            .ok_or_else(|| unreadable("it does not say what state the task is in"))?;
        let error = &body["error"];
        let text = |name: &str| error[name].as_str().unwrap_or_default();
        Ok(Self {
            path,
            state,
            results: body["output"]["results"].as_array().cloned().unwrap_or_default(),
            error: error.is_object().then(|| LuauTaskError {
                code: LuauErrorCode::read(text("code")),
                message: text("message").to_owned(),
            }),
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LuauLogLevel {
    /// A message that `print` wrote.
    Output,
    Info,
    Warning,
    Error,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LuauLogMessage {
    pub level: LuauLogLevel,
    /// The text, which may have several lines.
    pub text: String,
    /// When it was written, as RFC 3339. Empty if the service does not say.
    pub time: String,
}

/// A page of the logs of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LuauLogPage {
    pub messages: Vec<LuauLogMessage>,
    /// The name of the next page. None if this is the last one.
    pub next_page: Option<String>,
}

impl LuauLogPage {
    /// Reads a page. An answer without logs is an empty page.
    ///
    /// # Errors
    /// It is not an object of JSON.
    pub fn read(body: &[u8]) -> Result<Self, CloudFailure> {
        let body: Json = serde_json::from_slice(body)
            .map_err(|error| CloudFailure::unreadable(APIS, &error.to_string()))?;
        if !body.is_object() {
            return Err(CloudFailure::unreadable(APIS, "it has no logs"));
        }
        let chunks = body["luauExecutionSessionTaskLogs"].as_array();
        let listed = chunks.into_iter().flatten();
        let listed = listed.filter_map(|chunk| chunk["structuredMessages"].as_array()).flatten();
        let message = |it: &Json| {
            let level = match it["messageType"].as_str() {
                Some("INFO") => LuauLogLevel::Info,
                Some("WARNING") => LuauLogLevel::Warning,
                Some("ERROR") => LuauLogLevel::Error,
                _ => LuauLogLevel::Output,
            };
            let time = it["createTime"].as_str().unwrap_or_default().to_owned();
            Some(LuauLogMessage { level, text: it["message"].as_str()?.to_owned(), time })
        };
        let next = body["nextPageToken"].as_str().filter(|it| !it.is_empty());
        Ok(Self {
            messages: listed.filter_map(message).collect(),
            next_page: next.map(str::to_owned),
        })
    }
}

/// A request for a place to upload a binary input to. It needs a key with the scope
/// `universe.place.luau-execution-session:write`. At most 5 are made a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinaryInputStart {
    pub universe: u64,
    /// The size of the input, at most [`BinaryInputStart::MAX_BYTES`].
    pub size: usize,
}

/// The path of a binary input, which the service names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinaryInputPath(String);

impl BinaryInputPath {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A binary input, to which its bytes must be uploaded with `CloudClient::upload`. It is valid for 15
/// minutes, for any number of tasks of its universe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinaryInput {
    pub path: BinaryInputPath,
    /// The address that takes the bytes. It gives the right to upload, so it must not be logged.
    pub upload_location: String,
}

impl BinaryInputStart {
    /// The size limit of a binary input, in bytes.
    pub const MAX_BYTES: usize = 100 << 20;

    /// # Errors
    /// The input is empty or too large.
    pub fn request(self) -> Result<CloudRequest, CloudFailure> {
        if self.size == 0 || self.size > Self::MAX_BYTES {
            let message = format!(
                "A binary input of {} bytes cannot be sent: Roblox takes from 1 byte to {} MB.",
                self.size,
                Self::MAX_BYTES >> 20
            );
            return Err(CloudFailure::refused(&message));
        }
        let universe = self.universe;
        let path =
            format!("/cloud/v2/universes/{universe}/luau-execution-session-task-binary-inputs");
        let body = RequestBody::Json(json!({ "size": self.size }));
        let request = CloudRequest::post(APIS, &path, body).with_advice(ADVICE);
        // One that is not used costs nothing, and ends after 15 minutes.
        Ok(CloudRequest { retry: RetryPolicy::Idempotent, ..request })
    }

    /// # Errors
    /// The answer has no path or no address.
    pub fn read(self, body: &[u8]) -> Result<BinaryInput, CloudFailure> {
        let unreadable = |reason: &str| CloudFailure::unreadable(APIS, reason);
        let body: Json =
            serde_json::from_slice(body).map_err(|error| unreadable(&error.to_string()))?;
        let path = check_path(body["path"].as_str().unwrap_or_default(), COLLECTION)
            .ok_or_else(|| unreadable("the path of the binary input is not one below universes"))?;
        match body["uploadUri"].as_str() {
            Some(location) if !location.is_empty() => Ok(BinaryInput {
                path: BinaryInputPath(path),
                upload_location: location.to_owned(),
            }),
            _ => Err(unreadable("it does not say where to upload the binary input")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(script: &str) -> LuauTaskStart {
        LuauTaskStart {
            universe: 1,
            place: 2,
            version: None,
            script: script.to_owned(),
            timeout_seconds: 60,
            binary_input: None,
        }
    }

    #[test]
    fn version_and_binary_input_are_in_the_request() {
        let newest = start("return 1").request().unwrap();
        assert_eq!(newest.path, "/cloud/v2/universes/1/places/2/luau-execution-session-tasks");
        assert_eq!(newest.retry, RetryPolicy::Unprocessed);
        let expected = json!({ "script": "return 1", "timeout": "60s" });
        assert_eq!(newest.body, RequestBody::Json(expected));
        let input = BinaryInputPath("universes/1/x/2".to_owned());
        let pinned =
            LuauTaskStart { version: Some(7), binary_input: Some(input), ..start("return 1") };
        let pinned = pinned.request().unwrap();
        assert_eq!(
            pinned.path,
            "/cloud/v2/universes/1/places/2/versions/7/luau-execution-session-tasks"
        );
        let expected =
            json!({ "script": "return 1", "timeout": "60s", "binaryInput": "universes/1/x/2" });
        assert_eq!(pinned.body, RequestBody::Json(expected));
    }

    #[test]
    fn limits_are_checked_before_anything_is_sent() {
        let long = start(&"x".repeat(LuauTaskStart::MAX_SCRIPT_BYTES + 1)).request().unwrap_err();
        assert!(long.message.contains("takes at most 4 MB"), "{long}");
        for seconds in [0, 301] {
            let other = LuauTaskStart { timeout_seconds: seconds, ..start("") };
            let failure = other.request().unwrap_err();
            assert!(failure.message.contains("from 1 to 300 s"), "{failure}");
        }
        for size in [0, BinaryInputStart::MAX_BYTES + 1] {
            let failure = BinaryInputStart { universe: 1, size }.request().unwrap_err();
            assert!(failure.message.contains("from 1 byte to 100 MB"), "{failure}");
        }
    }

    #[test]
    fn task_is_read_with_results_or_error() {
        let path = "universes/1/places/2/luau-execution-session-tasks/ab-12";
        let done = json!({
            "path": path, "state": "COMPLETE", "output": { "results": [1, null, { "a": "b" }] },
        });
        let task = LuauTask::read(done.to_string().as_bytes()).unwrap();
        assert!(task.state.is_final() && task.path.as_str() == path, "{task:?}");
        assert_eq!((task.results.len(), &task.results[1], task.error), (3, &Json::Null, None));
        let failed = json!({
            "path": path, "state": "FAILED",
            "error": { "code": "DEADLINE_EXCEEDED", "message": "too slow" },
        });
        let task = LuauTask::read(failed.to_string().as_bytes()).unwrap();
        let error = task.error.unwrap();
        assert_eq!(
            (error.code, error.message.as_str()),
            (LuauErrorCode::DeadlineExceeded, "too slow")
        );
        for body in [
            json!({ "path": path }),
            json!({ "path": path, "state": "STATE_UNSPECIFIED" }),
            json!({ "path": "../x", "state": "QUEUED" }),
            json!({ "state": "QUEUED" }),
            json!([]),
        ] {
            let failure = LuauTask::read(body.to_string().as_bytes()).unwrap_err();
            assert!(failure.message.contains("cannot be read"), "{body}: {failure}");
            let failure = LuauTask::read_started(body.to_string().as_bytes()).unwrap_err();
            assert!(failure.message.contains("may have been completed"), "{body}: {failure}");
        }
    }

    #[test]
    fn logs_are_read_across_chunks_and_may_be_empty() {
        let page = json!({
            "luauExecutionSessionTaskLogs": [
                { "path": "x", "structuredMessages": [
                    { "message": "a\nb", "createTime": "2026-01-01T00:00:00Z", "messageType": "OUTPUT" },
                    { "message": "c", "messageType": "WARNING" },
                ] },
                { "path": "y" },
                { "structuredMessages": [{ "message": 7 }, { "message": "d", "messageType": "ERROR" }] },
            ],
            "nextPageToken": "n",
        });
        let page = LuauLogPage::read(page.to_string().as_bytes()).unwrap();
        let found: Vec<(LuauLogLevel, &str)> =
            page.messages.iter().map(|it| (it.level, it.text.as_str())).collect();
        assert_eq!(
            found,
            [
                (LuauLogLevel::Output, "a\nb"),
                (LuauLogLevel::Warning, "c"),
                (LuauLogLevel::Error, "d")
            ]
        );
        assert_eq!(page.next_page.as_deref(), Some("n"));
        for body in [r#"{"luauExecutionSessionTaskLogs":[],"nextPageToken":""}"#, "{}"] {
            let empty = LuauLogPage::read(body.as_bytes()).unwrap();
            assert_eq!((empty.messages.len(), empty.next_page), (0, None));
        }
        assert!(LuauLogPage::read(b"[]").is_err());
        let path = LuauTaskPath::parse("universes/1/x").unwrap();
        assert_eq!(
            path.logs_request(Some("a b")).target(),
            "/cloud/v2/universes/1/x/logs?view=STRUCTURED&maxPageSize=10000&pageToken=a%20b"
        );
    }
}
