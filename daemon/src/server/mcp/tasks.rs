//! Calls as tasks (`io.modelcontextprotocol/tasks`): a client that supports them asks for the outcome
//! of a call that waits for a person, instead of waiting itself.
//!
//! A task is kept in the ledger as its call, so it outlives the connection and the daemon.

use std::fmt;

use rmcp::model::{
    CancelTaskParams, CreateTaskResult, DetailedTask, GetTaskParams, GetTaskResult, JsonObject,
    Task, TaskPayload, TaskStatus, UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use scene_schemas::api::{AgentCallOutcome, CallView, CancelCall, FailureKind, ProposalStatus};
use scene_schemas::entry::Seq;
use serde_json::Value as Json;
use vector_core::calendar::UtcMoment;
use vector_engine::model_request::unix_millis;

use super::{DaemonGate, McpAgent, protocol_error, results};

/// How often a client should ask for a task, in milliseconds.
const POLL_INTERVAL: u64 = 2_000;

/// Whether a client supports tasks.
pub(super) fn are_supported(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks())
}

/// Returns a call as a task that was just made.
pub(super) fn create_task(view: &CallView, name: &CancelCall) -> CreateTaskResult {
    let id = TaskId { call: view.call, created: unix_millis(), name: name.clone() };
    CreateTaskResult::new(describe_task(&id, view, TaskStatus::Working))
}

/// The id of a task. It contains what finds and withdraws the call, and a random part.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TaskId {
    call: Seq,
    /// When the task was created, in milliseconds since 1970.
    created: u64,
    name: CancelCall,
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CancelCall { connection, id } = &self.name;
        write!(f, "{}.{}.{id}.{connection}", self.call, self.created)
    }
}

impl TaskId {
    fn parse(text: &str) -> Result<Self, ErrorData> {
        let parsed = || {
            let mut parts = text.splitn(4, '.');
            let call = Seq(parts.next()?.parse().ok()?);
            let created = parts.next()?.parse().ok()?;
            let id = parts.next().filter(|id| !id.is_empty())?.to_owned();
            let connection = parts.next()?.to_owned();
            Some(Self { call, created, name: CancelCall { connection, id } })
        };
        parsed().ok_or_else(|| unknown_task(text))
    }
}

fn unknown_task(id: &str) -> ErrorData {
    ErrorData::invalid_params(
        format!("There is no task {id}. tools/call returns the ids; proposal_status lists calls."),
        None,
    )
}

impl<G: DaemonGate> McpAgent<G> {
    pub(super) async fn task_state(
        &self,
        params: GetTaskParams,
    ) -> Result<GetTaskResult, ErrorData> {
        let id = TaskId::parse(&params.task_id)?;
        let view = self.task_call(&id).await?;
        let payload = task_payload(&view)?;
        let task = describe_task(&id, &view, payload.status());
        Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
    }

    /// Withdraws the call of a task, unless it is decided.
    pub(super) async fn withdraw_task(&self, params: CancelTaskParams) -> Result<(), ErrorData> {
        let id = TaskId::parse(&params.task_id)?;
        let view = self.task_call(&id).await?;
        if !view.is_over() {
            let open =
                self.gate.list_sessions().await.map_err(|failure| protocol_error(&failure))?;
            if !open.sessions.iter().any(|it| it.session == view.session) {
                let message = "The place is not open, so nothing can be withdrawn. Open it, and cancel \
                               the task again.";
                return Err(ErrorData::internal_error(message, None));
            }
        }
        self.gate.cancel_call(id.name).await.map_err(|failure| protocol_error(&failure))
    }

    /// Accepts the input for a task. Vector asks for none: a person decides elsewhere, and no answer
    /// of a client counts as a decision.
    pub(super) async fn ignore_input(&self, params: UpdateTaskParams) -> Result<(), ErrorData> {
        self.task_call(&TaskId::parse(&params.task_id)?).await.map(drop)
    }

    async fn task_call(&self, id: &TaskId) -> Result<CallView, ErrorData> {
        self.gate.wait_for_call(id.call, 0).await.map_err(|failure| match failure.kind {
            FailureKind::NotFound => unknown_task(&id.to_string()),
            _ => protocol_error(&failure),
        })
    }
}

fn task_payload(view: &CallView) -> Result<TaskPayload, ErrorData> {
    Ok(match &view.outcome {
        AgentCallOutcome::Working {}
        | AgentCallOutcome::Pending { .. }
        | AgentCallOutcome::NeedsPermission { .. } => TaskPayload::Working,
        AgentCallOutcome::Refused { status: Some(ProposalStatus::Withdrawn), .. } => {
            TaskPayload::Cancelled
        }
        AgentCallOutcome::Done { .. } if !view.is_over() => TaskPayload::Working,
        AgentCallOutcome::Done { .. } | AgentCallOutcome::Refused { .. } => {
            let result = serde_json::to_value(results::call_result(view));
            match result {
                Ok(Json::Object(result)) => TaskPayload::Completed { result },
                Ok(_) => TaskPayload::Completed { result: JsonObject::new() },
                Err(error) => return Err(ErrorData::internal_error(error.to_string(), None)),
            }
        }
    })
}

fn describe_task(id: &TaskId, view: &CallView, status: TaskStatus) -> Task {
    let task = Task::new(id.to_string(), status, timestamp(id.created), timestamp(unix_millis()))
        .with_poll_interval_ms(POLL_INTERVAL);
    match &view.outcome {
        AgentCallOutcome::Refused { reason, .. } => task.with_status_message(reason.as_str()),
        AgentCallOutcome::Working {}
        | AgentCallOutcome::Pending { .. }
        | AgentCallOutcome::NeedsPermission { .. } => {
            task.with_status_message(results::describe_pending(view))
        }
        AgentCallOutcome::Done { .. } => match &view.started {
            Some(started) => task.with_status_message(results::describe_started(started)),
            None => task,
        },
    }
}

/// Formats milliseconds since 1970 as RFC 3339.
fn timestamp(millis: u64) -> String {
    let UtcMoment { year, month, day, hour, minute, second } =
        UtcMoment::from_seconds(millis / 1_000);
    let millis = millis % 1_000;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_ids_round_trip_and_other_texts_are_refused() {
        let name = CancelCall { connection: "http-a.b".to_owned(), id: "0f".to_owned() };
        let id = TaskId { call: Seq(7), created: 1_700_000_000_123, name };
        assert_eq!(TaskId::parse(&id.to_string()).unwrap(), id);
        for wrong in ["", "7", "7.1", "7.1.0f", "x.1.0f.c", "7.x.0f.c", "7.1..c", "-7.1.0f.c"] {
            assert!(TaskId::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(timestamp(1_700_000_000_123), "2023-11-14T22:13:20.123Z");
    }
}
