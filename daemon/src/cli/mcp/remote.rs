//! The connection from `vector mcp` to the daemon, which may restart in between.
//!
//! A call whose answer was lost is sent again under the same name, so that it is never made twice.
//! The agent's token cannot decide proposals. The user's token is used only to open the place that
//! the command line names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use scene_schemas::api::{
    AgentCall, AgentDisconnect, AgentLog, AgentPresence, CallView, CancelCall, CommentReplies,
    EmptyBody, Failure, FailureKind, MAX_BODY, OpenPlaceRequest, OpenedSession, PlaceSet, RouteId,
    ScriptPage, SessionId, Sessions,
};
use scene_schemas::entry::Seq;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::cli::daemon_client::{
    AGENT_TIMEOUT, DaemonConnection, PRESENCE_TIMEOUT, RequestError, RouteRequest, TokenKind,
};
use crate::cli::handover::OpenTarget;
use crate::daemon::access::AGENT_TOKEN;
use crate::failure::failure;
use crate::server::DaemonGate;

/// Delay before a request that the daemon holds is sent again after it has ended: the daemon may have
/// restarted.
const RECONNECT_DELAY: Duration = Duration::from_secs(2);

/// The daemon at its current address.
#[derive(Debug)]
pub(super) struct RemoteDaemon {
    home: PathBuf,
    port: u16,
    open: Option<OpenPlaceRequest>,
    connection: Mutex<Option<DaemonConnection>>,
    /// Cancelled when the client has disconnected.
    pub(super) client_gone: CancellationToken,
}

impl RemoteDaemon {
    /// Creates a connection to the daemon of a ledger, with the place that it should open.
    pub(super) fn new(
        home: &Path,
        port: u16,
        place: Option<&Path>,
        project: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let target = match (place, project) {
            (Some(place), _) => Some(OpenTarget::Place(place)),
            (None, Some(project)) => Some(OpenTarget::Project(project)),
            (None, None) => None,
        };
        Ok(Self {
            home: home.to_owned(),
            port,
            open: target.map(OpenTarget::to_request).transpose()?,
            connection: Mutex::new(None),
            client_gone: CancellationToken::new(),
        })
    }

    /// Joins the daemon, or starts one. Returns the session of the place that was named.
    pub(super) async fn join_daemon(&self) -> anyhow::Result<Option<String>> {
        let mut current = self.connection.lock().await;
        let connection = self.find_or_start().await?;
        let session = self.open_place(connection.port()).await?;
        *current = Some(connection);
        Ok(session)
    }

    /// Finds the daemon that answers, or starts one.
    async fn find_or_start(&self) -> anyhow::Result<DaemonConnection> {
        let connection =
            DaemonConnection::find_or_start(&self.home, self.port, TokenKind::Agent).await?;
        connection.report_start();
        Ok(connection)
    }

    /// Opens the place that was named, and returns its session.
    async fn open_place(&self, port: u16) -> anyhow::Result<Option<String>> {
        let Some(open) = &self.open else {
            return Ok(None);
        };
        let person = DaemonConnection::find(&self.home, TokenKind::Person)?;
        if person.port() != port {
            bail!("the daemon was restarted meanwhile; try again");
        }
        let request = agent_request(RouteId::OpenPlace).with_body(open);
        match person.send::<OpenedSession>(&request).await {
            Ok(opened) => Ok(Some(opened.session.0)),
            Err(RequestError::Refused(failure) | RequestError::Unauthorized(failure)) => {
                bail!("{} {}", failure.message, failure.hint)
            }
            Err(error) => bail!("the daemon does not answer: {}", describe_loss(&error)),
        }
    }

    /// Reports the end of a connection. If no daemon is running, nothing is to be done.
    pub(super) async fn end_connection(&self, connection: &str) {
        let ends = AgentDisconnect { connection: connection.to_owned() };
        let current = self.connection.lock().await.clone();
        if let Some(daemon) = current {
            let request = agent_request(RouteId::EndConnection).with_body(&ends);
            let _ = daemon.send::<EmptyBody>(&request).await;
        }
    }

    /// Keeps the connection registered with the running daemon for as long as this is awaited. If
    /// this process ends unexpectedly, the request breaks off. Does not start a daemon.
    pub(super) async fn hold_connection(&self, connection: &str) {
        let presence = AgentPresence { connection: connection.to_owned() };
        let request = RouteRequest::new(RouteId::HoldConnection)
            .with_body(&presence)
            .with_timeout(PRESENCE_TIMEOUT);
        loop {
            if let Ok(daemon) = DaemonConnection::find(&self.home, TokenKind::Agent) {
                let _ = daemon.send::<EmptyBody>(&request).await;
            }
            sleep(RECONNECT_DELAY).await;
        }
    }

    /// Sends a request to the daemon. If that is gone, sends it to the one that is running now.
    async fn request<T: DeserializeOwned>(&self, request: &RouteRequest) -> Result<T, Failure> {
        let known = self.connection.lock().await.clone();
        if let Some(daemon) = &known {
            match daemon.send(request).await {
                Ok(answer) => return Ok(answer),
                Err(error) if is_answered_by_another(&error) => {}
                Err(error) => return Err(to_failure(error)),
            }
        }
        // A query does not restart a daemon that the user has stopped.
        if known.is_some() && !self.home.join(AGENT_TOKEN).exists() {
            return Err(failure(
                FailureKind::Internal,
                "Vector's daemon was stopped.",
                "Pending proposals are kept. `vector serve` starts it again, and so does the next \
                 call of a tool that works on a place.",
            ));
        }
        let daemon = self.reconnect(known.as_ref()).await?;
        daemon.send(request).await.map_err(to_failure)
    }

    /// Finds the current daemon, unless another task has already found it.
    async fn reconnect(
        &self,
        known: Option<&DaemonConnection>,
    ) -> Result<DaemonConnection, Failure> {
        let mut current = self.connection.lock().await;
        if let Some(daemon) = current.as_ref()
            && known.is_none_or(|known| !known.is_same_run(daemon))
        {
            return Ok(daemon.clone());
        }
        let found = async {
            let daemon = self.find_or_start().await?;
            self.open_place(daemon.port()).await?;
            anyhow::Ok(daemon)
        };
        let daemon = found.await.map_err(|error| outcome_unknown(&format!("{error:#}")))?;
        *current = Some(daemon.clone());
        Ok(daemon)
    }
}

fn agent_request(id: RouteId) -> RouteRequest {
    RouteRequest::new(id).with_timeout(AGENT_TIMEOUT)
}

/// Whether another daemon, which may be running by now, may answer a request that failed.
fn is_answered_by_another(error: &RequestError) -> bool {
    match error {
        RequestError::Unreachable { .. }
        | RequestError::OtherVersion(_)
        // A restarted daemon has other tokens.
        | RequestError::Unauthorized(_) => true,
        RequestError::TooLarge { .. }
        | RequestError::TimedOut { .. }
        | RequestError::Refused(_) => false,
    }
}

fn to_failure(error: RequestError) -> Failure {
    match error {
        RequestError::Refused(failure) => failure,
        RequestError::TooLarge { bytes } => failure(
            FailureKind::TooLarge,
            format!("The call has {bytes} bytes; at most {MAX_BODY} are accepted."),
            "The call was not made. A Roblox script has at most 200,000 characters; make a larger change in several calls.",
        ),
        RequestError::Unreachable { .. }
        | RequestError::OtherVersion(_)
        | RequestError::Unauthorized(_)
        | RequestError::TimedOut { .. } => outcome_unknown(&describe_loss(&error)),
    }
}

/// Describes in a few words why there is no answer.
fn describe_loss(error: &RequestError) -> String {
    match error {
        RequestError::Unreachable { why, .. } => why.clone(),
        RequestError::OtherVersion(why) => why.to_string(),
        RequestError::TimedOut { .. } => "timeout".to_owned(),
        RequestError::Unauthorized(failure) | RequestError::Refused(failure) => {
            failure.message.clone()
        }
        RequestError::TooLarge { .. } => error.to_string(),
    }
}

/// The error of a request that may or may not have been performed.
fn outcome_unknown(why: &str) -> Failure {
    failure(
        FailureKind::Lost,
        format!("Vector's daemon does not answer ({why})."),
        "It is not known whether the call was made. Call proposal_status without an ID before you \
         repeat it.",
    )
}

impl DaemonGate for RemoteDaemon {
    async fn list_sessions(&self) -> Result<Sessions, Failure> {
        self.request(&agent_request(RouteId::Sessions)).await
    }

    async fn wait_for_places(&self, known: BTreeSet<SessionId>) -> BTreeSet<SessionId> {
        let request = RouteRequest::new(RouteId::WaitForPlaces)
            .with_body(&PlaceSet { sessions: known })
            .with_timeout(PRESENCE_TIMEOUT);
        // Does not start a daemon.
        loop {
            if let Ok(daemon) = DaemonConnection::find(&self.home, TokenKind::Agent)
                && let Ok(PlaceSet { sessions }) = daemon.send(&request).await
            {
                return sessions;
            }
            sleep(RECONNECT_DELAY).await;
        }
    }

    async fn call_tool(&self, mut call: AgentCall) -> Result<CallView, Failure> {
        let known = self.connection.lock().await.clone();
        if let Some(daemon) = &known {
            match daemon.send(&agent_request(RouteId::CallTool).with_body(&call)).await {
                Ok(view) => return Ok(view),
                // The call may have arrived nevertheless.
                Err(error) if is_answered_by_another(&error) => call.again = true,
                Err(error) => return Err(to_failure(error)),
            }
        }
        let daemon = self.reconnect(known.as_ref()).await?;
        let request = agent_request(RouteId::CallTool).with_body(&call);
        daemon.send(&request).await.map_err(to_failure)
    }

    async fn wait_for_call(&self, seq: Seq, hold: u64) -> Result<CallView, Failure> {
        let request = agent_request(RouteId::CallStatus).with_id(seq);
        self.request(&request.with_query("hold", hold)).await
    }

    async fn reply_to_comments(
        &self,
        seq: Seq,
        replies: CommentReplies,
    ) -> Result<CallView, Failure> {
        let request = agent_request(RouteId::ReplyToComments).with_id(seq);
        self.request(&request.with_body(&replies)).await
    }

    async fn cancel_call(&self, call: CancelCall) -> Result<(), Failure> {
        let request = agent_request(RouteId::CancelCall).with_body(&call);
        self.request(&request).await.map(|EmptyBody {}| ())
    }

    async fn read_log(&self) -> Result<AgentLog, Failure> {
        self.request(&agent_request(RouteId::AgentLog)).await
    }

    async fn list_scripts(
        &self,
        session: &SessionId,
        cursor: Option<String>,
    ) -> Result<ScriptPage, Failure> {
        let request = agent_request(RouteId::AgentScripts).with_id(session);
        let request = match cursor {
            Some(cursor) => request.with_query("cursor", cursor),
            None => request,
        };
        self.request(&request).await
    }

    fn disconnect_token(&self, _connection: &str) -> CancellationToken {
        self.client_gone.clone()
    }

    fn end_connection(&self, _connection: &str) {
        // The process reports this when it ends.
    }
}
