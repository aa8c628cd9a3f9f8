//! Tool calls: forwarded to the daemon, awaited, and answered.
//!
//! A call that changes something waits for the user's decision for a while. Meanwhile the client
//! receives progress notifications. If it can show forms, it tells the user where to decide. A call
//! that the client cancels is withdrawn, unless it is already decided.

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ElicitRequest, ElicitRequestParams,
    ElicitationSchema, JsonObject, ProgressNotificationParam, ProgressToken, ServerRequest,
};
use rmcp::service::{ElicitationMode, Peer, PeerRequestOptions, RequestContext};
use rmcp::{ErrorData, RoleServer};
use scene_schemas::api::{
    AgentCall, AgentCallOutcome, CallView, CancelCall, CommentReplies, Failure, FailureKind,
    ProposalStatus, ReviewStatus, SessionId, WorkflowState,
};
use scene_schemas::entry::Seq;
use serde_json::Value as Json;
use tokio::sync::oneshot;
use tokio::time::{Instant, interval_at, timeout_at};
use tokio_util::sync::CancellationToken;
use vector_core::tools;
use vector_engine::REQUEST_REVIEW;

use super::tool_list::{PROPOSAL_STATUS, SESSIONS};
use super::{DaemonGate, McpAgent, random_id, results, tasks};
use crate::failure::failure;

/// The interval of progress notifications.
const NEWS: Duration = Duration::from_secs(2);
/// A decision within this time comes without a notice to the user.
const AT_ONCE: Duration = Duration::from_secs(2);
/// The duration of one long poll for a call, in seconds, without the extra second.
const HOLD: u64 = 15;
/// The longest wait of proposal_status, in seconds.
const LONGEST: u64 = 55;

impl<G: DaemonGate> McpAgent<G> {
    /// Answers a call. Failures are answers as well, because a protocol error would not reach the
    /// model.
    pub(super) async fn answer_call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let args = request.arguments.unwrap_or_default();
        let answered = match request.name.as_ref() {
            SESSIONS => self.gate.list_sessions().await.map(|open| results::sessions_result(&open)),
            PROPOSAL_STATUS => self.call_status(&args, &context).await,
            name if tasks::are_supported(&context) && waits_for_person(name, &args) => {
                match self.make_call(name, args, AT_ONCE, &context).await {
                    Ok(MadeCall { view, name }) if !view.is_over() => {
                        return Ok(CallToolResponse::Task(tasks::create_task(&view, &name)));
                    }
                    made => made.map(|made| results::call_result(&made.view)),
                }
            }
            name => self
                .call_tool(name, args, self.wait, &context)
                .await
                .map(|view| results::call_result(&view)),
        };
        let result = answered.unwrap_or_else(|failure| results::failure_result(&failure));
        Ok(CallToolResponse::Complete(result))
    }

    /// Calls a tool, and waits for the result for at most `wait`.
    pub(super) async fn call_tool(
        &self,
        tool: &str,
        args: JsonObject,
        wait: Duration,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallView, Failure> {
        self.make_call(tool, args, wait, context).await.map(|made| made.view)
    }

    async fn make_call(
        &self,
        tool: &str,
        mut args: JsonObject,
        wait: Duration,
        context: &RequestContext<RoleServer>,
    ) -> Result<MadeCall, Failure> {
        let session = match args.remove("session") {
            None | Some(Json::Null) => self.session.clone(),
            Some(Json::String(session)) => Some(session),
            Some(_) => {
                let hint = "list_sessions lists the names.";
                return Err(failure(FailureKind::BadRequest, "`session` is not a name.", hint));
            }
        };
        let client = context.client_info().map_or_else(|| "an agent".to_owned(), |it| it.name);
        let until = Instant::now() + wait;
        let goes_on = waits_for_person(tool, &args);
        let args = Json::Object(args);
        let (connection, id) = (self.connection_id(&client, context), random_id()?);
        let gone = self.gate.disconnect_token(&connection);
        let own = CancelCall { connection: connection.clone(), id: id.clone() };
        let call = AgentCall {
            connection,
            client,
            id,
            session: session.map(SessionId),
            tool: tool.to_owned(),
            args,
            // Planning may take longer than a client with tasks waits for a decision.
            hold: wait.max(self.wait).as_secs(),
            again: false,
        };
        let view = tokio::select! {
            view = self.gate.call_tool(call) => view?,
            () = context.ct.cancelled() => return Err(self.cancel_call(own, &gone).await),
        };
        if view.outcome.is_settled() {
            return Ok(MadeCall { view, name: own });
        }
        let settled = tokio::select! {
            settled = self.wait_until_settled(view.clone(), until, wait, context) => settled,
            // The client does not receive the answer. The user may still decide.
            () = gone.cancelled() => Some(view),
        };
        let Some(settled) = settled else {
            return Err(self.cancel_call(own, &gone).await);
        };
        if !settled.outcome.is_settled() && !goes_on {
            // A read that was not finished in time is of no use any more. A change and a game in
            // Studio wait for a person, and their outcome is asked for later.
            let _ = self.gate.cancel_call(own.clone()).await;
        }
        Ok(MadeCall { view: settled, name: own })
    }

    /// Withdraws a call, unless its client has disconnected. Returns the failure that the client
    /// receives.
    async fn cancel_call(&self, own: CancelCall, gone: &CancellationToken) -> Failure {
        if gone.is_cancelled() {
            let message = "The client has disconnected; its proposal is pending.";
            return failure(FailureKind::Settled, message, "proposal_status returns the outcome.");
        }
        let _ = self.gate.cancel_call(own).await;
        failure(
            FailureKind::Settled,
            "The call was cancelled.",
            "Nothing was changed, unless it was decided before.",
        )
    }

    /// Waits until a call is settled or the time is up; None if the client has cancelled it.
    async fn wait_until_settled(
        &self,
        mut view: CallView,
        until: Instant,
        wait: Duration,
        context: &RequestContext<RoleServer>,
    ) -> Option<CallView> {
        let _shown = DecisionNotice::show_to(&context.peer, &view);
        let progress_token = context.meta.get_progress_token();
        let began = Instant::now();
        let mut tick = interval_at(began + NEWS, NEWS);
        while !view.outcome.is_settled() && Instant::now() < until {
            // The poll is cut off when the time is up. Without the extra second it would return and
            // be repeated several times in the last second.
            let hold = until.saturating_duration_since(Instant::now()).as_secs().min(HOLD) + 1;
            let held = timeout_at(until, self.gate.wait_for_call(view.call, hold));
            tokio::pin!(held);
            loop {
                tokio::select! {
                    seen = &mut held => match seen {
                        Ok(Ok(seen)) => { view = seen; break }
                        // On failure or when the time is up, return the last known state.
                        Ok(Err(_)) | Err(_) => return Some(view),
                    },
                    _ = tick.tick() => {
                        if let Some(token) = &progress_token {
                            report_progress(&context.peer, token.clone(), &view, began.elapsed(), wait).await;
                        }
                    }
                    () = context.ct.cancelled() => return None,
                }
            }
        }
        Some(view)
    }

    /// Returns a call, or the latest calls.
    async fn call_status(
        &self,
        args: &JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, Failure> {
        let number = |name: &str| match args.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(value) => {
                let parsed = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
                parsed.map(Some).ok_or_else(|| {
                    let message = format!("`{name}` is not a number.");
                    let hint = "Pass the id that the call returned.";
                    failure(FailureKind::BadRequest, message, hint)
                })
            }
        };
        let Some(id) = number("id")? else {
            return self.gate.read_log().await.map(|log| results::log_result(&log));
        };
        let replies = match args.get("replies") {
            None | Some(Json::Null) => None,
            Some(replies) => Some(serde_json::from_value(replies.clone()).map_err(|_| {
                let hint = "Pass a text for each comment, in order.";
                failure(FailureKind::BadRequest, "`replies` is not a list of texts.", hint)
            })?),
        };
        if let Some(replies) = replies {
            self.gate.reply_to_comments(Seq(id), CommentReplies { replies }).await?;
        }
        let wait = Duration::from_secs(number("wait")?.unwrap_or(0).min(LONGEST));
        let view = self.gate.wait_for_call(Seq(id), 0).await?;
        match args.get("review") {
            None | Some(Json::Null | Json::Bool(false)) => {}
            Some(Json::Bool(true)) => return self.request_review(&view, wait, context).await,
            Some(_) => {
                let hint = "Pass true to ask for a review.";
                return Err(failure(
                    FailureKind::BadRequest,
                    "`review` is not true or false.",
                    hint,
                ));
            }
        }
        // Cancelling this query does not withdraw the call.
        let until = Instant::now() + wait;
        let waited = self.wait_until_settled(view.clone(), until, wait, context).await;
        let view = self.wait_for_started_task(waited.unwrap_or(view), until, context).await?;
        Ok(results::status_result(&view))
    }

    /// Waits until the task that a call began has ended or waits for a person, or the time is up.
    async fn wait_for_started_task(
        &self,
        mut view: CallView,
        until: Instant,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallView, Failure> {
        let is_at_work = |view: &CallView| {
            view.started.as_ref().is_some_and(|it| it.state == WorkflowState::Working)
        };
        while is_at_work(&view) && Instant::now() < until {
            // Its entries change nothing in the call, so it is looked at every second.
            let next = until.min(Instant::now() + Duration::from_secs(1));
            tokio::select! {
                () = tokio::time::sleep_until(next) => {}
                () = context.ct.cancelled() => break,
            }
            view = self.gate.wait_for_call(view.call, 0).await?;
        }
        Ok(view)
    }

    /// Asks for a review of the proposal of a call, and waits for its end or the decision. Returns the
    /// state of the call, with what became of the request.
    async fn request_review(
        &self,
        of: &CallView,
        wait: Duration,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, Failure> {
        let until = Instant::now() + wait;
        let mut args = JsonObject::new();
        args.insert("id".to_owned(), of.call.0.into());
        args.insert("session".to_owned(), of.session.0.clone().into());
        let requested = self.call_tool(REQUEST_REVIEW, args, wait, context).await?;
        loop {
            let view = self.gate.wait_for_call(of.call, 0).await?;
            let is_running = view.reviews.iter().any(|it| it.state == ReviewStatus::Running);
            let left = until.saturating_duration_since(Instant::now());
            let is_over = left.is_zero() || context.ct.is_cancelled();
            if !is_running || view.outcome.is_settled() || is_over {
                return Ok(results::review_result(&view, &requested));
            }
            // A review ends without a change of the call, so it is looked at every second.
            let hold = left.min(Duration::from_secs(1)).as_secs().max(1);
            self.gate.wait_for_call(of.call, hold).await?;
        }
    }
}

/// A call, and the name by which it can be withdrawn.
struct MadeCall {
    view: CallView,
    name: CancelCall,
}

/// Whether a call may wait for a person: it changes something, plays the game in Studio, spends something,
/// or asks for a review. False for an unknown tool.
fn waits_for_person(tool: &str, args: &JsonObject) -> bool {
    tool == REQUEST_REVIEW
        || tools::find_tool(tool).is_ok_and(|it| it.is_change() || it.has_effect())
        || tools::plays_in_studio(tool, &Json::Object(args.clone()))
}

/// Notifies a client that its call is still pending.
async fn report_progress(
    peer: &Peer<RoleServer>,
    token: ProgressToken,
    view: &CallView,
    elapsed: Duration,
    wait: Duration,
) {
    let notification = ProgressNotificationParam::new(token, elapsed.as_secs_f64())
        .with_total(wait.as_secs_f64())
        .with_message(results::describe_pending(view));
    // A client that is gone is detected elsewhere.
    let _ = peer.notify_progress(notification).await;
}

/// A notice in the user's client while a decision is pending. Dropping it removes the notice.
struct DecisionNotice {
    _until: Option<oneshot::Sender<()>>,
}

impl DecisionNotice {
    /// Shows where to decide, if the client supports forms.
    fn show_to(peer: &Peer<RoleServer>, view: &CallView) -> Self {
        let is_waiting = matches!(
            view.outcome,
            AgentCallOutcome::Pending { status: ProposalStatus::Waiting, .. }
                | AgentCallOutcome::NeedsPermission { .. }
        );
        if !is_waiting || !peer.supported_elicitation_modes().contains(&ElicitationMode::Form) {
            return Self { _until: None };
        }
        let (until, decided) = oneshot::channel();
        tokio::spawn(elicit_decision(peer.clone(), results::decision_instructions(view), decided));
        Self { _until: Some(until) }
    }
}

/// Shows a message until the user has decided. The user's answer to the message decides nothing.
async fn elicit_decision(
    peer: Peer<RoleServer>,
    message: String,
    mut decided: oneshot::Receiver<()>,
) {
    let is_decided = tokio::time::timeout(AT_ONCE, &mut decided).await.is_ok();
    let Some(requested_schema) = ElicitationSchema::builder().build().ok().filter(|_| !is_decided)
    else {
        return;
    };
    let params =
        ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(params));
    let options = PeerRequestOptions::no_options();
    let Ok(mut shown) = peer.send_cancellable_request(request, options).await else {
        return;
    };
    tokio::select! {
        _ = &mut shown.rx => {}
        _ = &mut decided => drop(shown.cancel(Some("It is already decided.".to_owned())).await),
    }
}
