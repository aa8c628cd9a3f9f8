//! A tool's call: passed on, waited for, and answered.
//!
//! A call that changes something waits for the person for a while. Meanwhile the client hears that it
//! does, and where it can show something to the person, they are told where to decide. A call that the
//! client takes back is withdrawn, unless somebody has decided by then.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ElicitRequest, ElicitRequestParams, ElicitationSchema,
    JsonObject, ProgressNotificationParam, ProgressToken, ServerRequest,
};
use rmcp::service::{ElicitationMode, Peer, PeerRequestOptions, RequestContext};
use rmcp::{ErrorData, RoleServer};
use scene_schemas::api::{
    AgentCall, Became, CallView, Failure, FailureKind, ProposalStatus, SessionId,
};
use scene_schemas::entry::Seq;
use serde_json::Value as Json;
use tokio::sync::oneshot;
use tokio::time::{Instant, interval_at, timeout_at};

use super::list::{PROPOSAL_STATUS, SESSIONS};
use super::{Agent, Gate, told, unique};
use crate::server::failed;

/// How often a client hears that its call still waits.
const NEWS: Duration = Duration::from_secs(2);
/// A person who decides at once is told nothing.
const AT_ONCE: Duration = Duration::from_secs(2);
/// How long a call is held at once, in seconds.
const HOLD: u64 = 15;
/// The longest that proposal_status waits, in seconds.
const LONGEST: u64 = 55;

impl<G: Gate> Agent<G> {
    /// Answers a call. What went wrong is an answer as well: an error of the protocol would not reach
    /// the model.
    pub(super) async fn answer(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let args = request.arguments.unwrap_or_default();
        let answered = match request.name.as_ref() {
            SESSIONS => self.gate.sessions().await.map(|open| told::sessions(&open)),
            PROPOSAL_STATUS => self.status(&args, &context).await,
            name => self.call(name, args, &context).await.map(|view| told::called(&view)),
        };
        Ok(answered.unwrap_or_else(|failure| told::failure(&failure)))
    }

    /// Calls a tool, and waits for what becomes of it.
    pub(super) async fn call(
        &self,
        tool: &str,
        mut args: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallView, Failure> {
        let session = match args.remove("session") {
            None | Some(Json::Null) => self.session.clone(),
            Some(Json::String(session)) => Some(session),
            Some(_) => {
                let hint = "list_sessions lists the names.";
                return Err(failed(FailureKind::BadRequest, "`session` is no name.", hint));
            }
        };
        let client = context.client_info().map_or_else(|| "an agent".to_owned(), |it| it.name);
        let until = Instant::now() + self.wait;
        let call = AgentCall {
            connection: self.connection(&client),
            client,
            id: unique()?,
            session: session.map(SessionId),
            tool: tool.to_owned(),
            args: Json::Object(args),
            hold: self.wait.as_secs(),
        };
        let gate = Arc::clone(&self.gate);
        let mut planned = tokio::spawn(async move { gate.call(call).await });
        let view = tokio::select! {
            view = &mut planned => view.unwrap_or_else(|_| Err(lost())),
            () = context.ct.cancelled() => {
                // Its number is not known yet; as soon as it is, the call is taken back.
                let gate = Arc::clone(&self.gate);
                tokio::spawn(async move {
                    if let Ok(Ok(view)) = planned.await {
                        let _ = gate.cancel(view.call).await;
                    }
                });
                Err(taken_back())
            }
        }?;
        if view.became.is_settled() { Ok(view) } else { self.settled(view, until, context).await }
    }

    /// Waits until a call is settled or the time is up.
    async fn settled(
        &self,
        mut view: CallView,
        until: Instant,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallView, Failure> {
        let _shown = Shown::to(&context.peer, &view);
        let news = context.meta.get_progress_token();
        let began = Instant::now();
        let mut tick = interval_at(began + NEWS, NEWS);
        while !view.became.is_settled() && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now()).as_secs().min(HOLD);
            let held = timeout_at(until, self.gate.called(view.call, left));
            tokio::pin!(held);
            loop {
                tokio::select! {
                    seen = &mut held => match seen {
                        Ok(seen) => { view = seen?; break }
                        Err(_) => return Ok(view),
                    },
                    _ = tick.tick() => {
                        if let Some(token) = &news {
                            say(&context.peer, token.clone(), &view, began.elapsed(), self.wait).await;
                        }
                    }
                    () = context.ct.cancelled() => {
                        self.gate.cancel(view.call).await?;
                        return Err(taken_back());
                    }
                }
            }
        }
        Ok(view)
    }

    /// What became of a call, or of the last ones.
    async fn status(
        &self,
        args: &JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, Failure> {
        let number = |name: &str| match args.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| {
                let message = format!("`{name}` is no number.");
                failed(FailureKind::BadRequest, message, "Give the id that the call answered.")
            }),
        };
        let Some(id) = number("id")? else {
            return self.gate.log().await.map(|log| told::log(&log));
        };
        let wait = number("wait")?.unwrap_or(0).min(LONGEST);
        let until = Instant::now() + Duration::from_secs(wait);
        let view = self.gate.called(Seq(id), 0).await?;
        let view = if view.became.is_settled() || wait == 0 {
            view
        } else {
            self.settled(view, until, context).await?
        };
        Ok(told::status(&view))
    }
}

fn lost() -> Failure {
    failed(
        FailureKind::Internal,
        "The call was lost within Vector.",
        "proposal_status without an id tells whether it was made.",
    )
}

fn taken_back() -> Failure {
    failed(
        FailureKind::Settled,
        "The call was taken back.",
        "Unless somebody decided before, nothing was changed.",
    )
}

/// Tells a client that its call still waits.
async fn say(
    peer: &Peer<RoleServer>,
    token: ProgressToken,
    view: &CallView,
    elapsed: Duration,
    wait: Duration,
) {
    let news = ProgressNotificationParam::new(token, elapsed.as_secs_f64())
        .with_total(wait.as_secs_f64())
        .with_message(told::waits(view));
    // A client that is gone is noticed elsewhere.
    let _ = peer.notify_progress(news).await;
}

/// A word to the person in their client, for as long as their decision is missing: it is taken back when
/// this is dropped.
struct Shown {
    _until: Option<oneshot::Sender<()>>,
}

impl Shown {
    /// Says where to decide, where the client can show that.
    fn to(peer: &Peer<RoleServer>, view: &CallView) -> Self {
        let is_waiting =
            matches!(view.became, Became::Pending { status: ProposalStatus::Waiting, .. });
        if !is_waiting || !peer.supported_elicitation_modes().contains(&ElicitationMode::Form) {
            return Self { _until: None };
        }
        let (until, decided) = oneshot::channel();
        tokio::spawn(show(peer.clone(), told::where_to_decide(view), decided));
        Self { _until: Some(until) }
    }
}

/// Shows a message to the person until they have decided. Whatever they answer there decides nothing.
async fn show(peer: Peer<RoleServer>, message: String, mut decided: oneshot::Receiver<()>) {
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
        _ = &mut decided => drop(shown.cancel(Some("It is decided.".to_owned())).await),
    }
}
