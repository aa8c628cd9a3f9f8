//! A task of Luau execution, from its start to its results and logs.
//!
//! Requests for its state are made with growing pauses. This module records nothing.

use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tokio::time::sleep;
use vector_cloud::{
    CloudClient, CloudFailure, CloudFailureKind, LuauErrorCode, LuauLogMessage, LuauLogPage,
    LuauTask, LuauTaskPath, LuauTaskStart, LuauTaskState,
};
use vector_providers::http::CancelSwitch;
use vector_providers::keys::SecretKey;

use crate::tasks::cloud::{cloud_client, wait_for};

/// The longest time limit of a task, in seconds.
pub const MAX_SECONDS: u32 = LuauTaskStart::MAX_SECONDS;

/// The pause before the first request for the state of a task. It grows by half each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// How long a server may take to begin, beside the time limit, whose clock starts with the script.
const BOOT_TIME: Duration = Duration::from_mins(2);
/// The longest time that a limit of requests is waited for.
const MAX_LIMIT_PAUSE: Duration = Duration::from_mins(1);
/// How many requests for the state may fail in a row. Each has been sent several times.
const MAX_FAILURES: u32 = 3;
/// The most pages of logs that are read. Roblox keeps 450 KB.
const MAX_LOG_PAGES: usize = 20;

/// A task that does not change any more.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EndedTask {
    pub(super) end: TaskEnd,
    pub(super) logs: Vec<LuauLogMessage>,
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TaskEnd {
    /// What its script returned.
    Complete(Vec<Json>),
    /// Why it failed, and what to do.
    Failed(String),
}

/// Starts a task. Returns its path.
///
/// # Errors
/// It was not started, or that is not known.
pub(super) fn start_task(
    start: &LuauTaskStart,
    key: &SecretKey,
    cancel: &CancelSwitch,
) -> Result<LuauTaskPath, CloudFailure> {
    let request = start.request()?;
    let client = cloud_client()?;
    let sending = async {
        let mut may_wait = true;
        loop {
            match client.read(&request, Some(key.expose())).await {
                Err(CloudFailure {
                    kind: CloudFailureKind::TooMany { retry_after: Some(wait) },
                    ..
                }) if may_wait && wait <= MAX_LIMIT_PAUSE => {
                    may_wait = false;
                    sleep(wait).await;
                }
                Err(failure) => return Err(failure),
                Ok(body) => return LuauTask::read_started(&body),
            }
        }
    };
    let started = wait_for(sending, cancel).map_err(CloudFailure::stopped)??;
    Ok(started.path)
}

/// Waits until a task has ended, and reads its logs.
///
/// # Errors
/// It cannot be read, or has not ended long after its time limit. It may go on.
pub(super) fn follow_task(
    path: &LuauTaskPath,
    seconds: u32,
    key: &SecretKey,
    cancel: &CancelSwitch,
) -> Result<EndedTask, CloudFailure> {
    let client = cloud_client()?;
    let following = async {
        let task = wait_for_end(&client, path, seconds, key).await?;
        let logs = read_logs(&client, path, key).await;
        Ok(EndedTask { end: describe_end(task, seconds, &logs), logs: logs.unwrap_or_default() })
    };
    wait_for(following, cancel).map_err(CloudFailure::stopped)?
}

async fn wait_for_end(
    client: &CloudClient,
    path: &LuauTaskPath,
    seconds: u32,
    key: &SecretKey,
) -> Result<LuauTask, CloudFailure> {
    let limit = Instant::now() + Duration::from_secs(seconds.into()) + BOOT_TIME;
    let mut pause = FIRST_PAUSE;
    let mut failures = 0;
    loop {
        sleep(pause).await;
        pause = (pause * 3 / 2).min(MAX_PAUSE);
        let body = client.read(&path.task_request(), Some(key.expose())).await;
        match body.and_then(|body| LuauTask::read(&body)) {
            Ok(task) if task.state.is_final() => return Ok(task),
            Ok(_) => failures = 0,
            Err(failure) => {
                failures += 1;
                if failures >= MAX_FAILURES || !is_passing(failure.kind) {
                    return Err(failure);
                }
                if let CloudFailureKind::TooMany { retry_after: Some(wait) } = failure.kind {
                    sleep(wait.min(MAX_LIMIT_PAUSE)).await;
                }
            }
        }
        if Instant::now() >= limit {
            let message = format!(
                "The task has not ended {} s after its time limit of {seconds} s.",
                BOOT_TIME.as_secs()
            );
            return Err(CloudFailure::stopped(message));
        }
    }
}

/// Whether a later request for the state may succeed.
fn is_passing(kind: CloudFailureKind) -> bool {
    match kind {
        CloudFailureKind::Server
        | CloudFailureKind::Unreachable
        | CloudFailureKind::Unreadable
        | CloudFailureKind::Conflict
        | CloudFailureKind::TooMany { .. } => true,
        CloudFailureKind::Invalid
        | CloudFailureKind::Unauthorized
        | CloudFailureKind::PaymentRequired
        | CloudFailureKind::Forbidden
        | CloudFailureKind::NotFound => false,
    }
}

async fn read_logs(
    client: &CloudClient,
    path: &LuauTaskPath,
    key: &SecretKey,
) -> Result<Vec<LuauLogMessage>, CloudFailure> {
    let mut messages = Vec::new();
    let mut page: Option<String> = None;
    for _ in 0..MAX_LOG_PAGES {
        let request = path.logs_request(page.as_deref());
        let body = client.read(&request, Some(key.expose())).await?;
        let read = LuauLogPage::read(&body)?;
        messages.extend(read.messages);
        page = read.next_page;
        if page.is_none() {
            break;
        }
    }
    Ok(messages)
}

/// Says how a task ended, and what to do if it failed.
fn describe_end(
    task: LuauTask,
    seconds: u32,
    logs: &Result<Vec<LuauLogMessage>, CloudFailure>,
) -> TaskEnd {
    let reason = match task.state {
        LuauTaskState::Complete => return TaskEnd::Complete(task.results),
        LuauTaskState::Cancelled => "The task was cancelled on Roblox. Run it again.".to_owned(),
        LuauTaskState::Queued | LuauTaskState::Processing | LuauTaskState::Failed => {
            describe_error(&task, seconds)
        }
    };
    let logs = match logs {
        Ok(logs) if logs.is_empty() => " Its logs are empty.".to_owned(),
        Ok(_) => String::new(),
        Err(failure) => format!(" Its logs cannot be read: {failure}"),
    };
    TaskEnd::Failed(format!("{reason}{logs}"))
}

fn describe_error(task: &LuauTask, seconds: u32) -> String {
    let code = task.error.as_ref().map_or(LuauErrorCode::Unknown, |error| error.code);
    let message = task.error.as_ref().map(|error| error.message.trim()).filter(|it| !it.is_empty());
    let said = message.map(|it| format!(": {}", it.trim_end_matches('.'))).unwrap_or_default();
    match code {
        LuauErrorCode::ScriptError => format!(
            "The script that runs the specs raised an error{said}. Run the specs headlessly with `vector \
             test`, which names the one that fails."
        ),
        LuauErrorCode::DeadlineExceeded => format!(
            "The specs did not end within {seconds} s, and one that never waits cannot be stopped alone. \
             Give them more time with --timeout, at most {MAX_SECONDS} s, or run fewer with --root."
        ),
        LuauErrorCode::OutputSizeLimitExceeded => {
            "The results are larger than the 4 MB that Roblox returns. Run fewer specs at once with \
             --root."
                .to_owned()
        }
        LuauErrorCode::InternalError => format!(
            "Roblox failed to run the task{said}. Run it again: the version is saved, so nothing is \
             uploaded again."
        ),
        LuauErrorCode::Unknown => {
            format!("The task failed{said}. Run it again: nothing is uploaded again.")
        }
    }
}
