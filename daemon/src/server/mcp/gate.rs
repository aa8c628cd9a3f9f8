//! The interface between the MCP server and the daemon: a direct one, or HTTP from another process.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;

use scene_schemas::api::{
    AgentCall, AgentLog, CallView, CancelCall, CommentReplies, Failure, ScriptPage, SessionId,
    Sessions,
};
use scene_schemas::entry::Seq;
use tokio_util::sync::CancellationToken;

use super::sessions::HttpSessions;
use crate::daemon::DaemonHandle;
use crate::event_hub::EventHub;
use crate::server::long_poll;

/// What an agent may request from the daemon. Decisions are not part of it.
pub trait DaemonGate: Send + Sync + 'static {
    fn list_sessions(&self) -> impl Future<Output = Result<Sessions, Failure>> + Send;
    /// Returns the places that are open and completely read, as soon as they are others than the known
    /// ones.
    fn wait_for_places(
        &self,
        known: BTreeSet<SessionId>,
    ) -> impl Future<Output = BTreeSet<SessionId>> + Send;
    /// Calls a tool. Returns when the call is planned, or after the call's `hold` time.
    fn call_tool(&self, call: AgentCall) -> impl Future<Output = Result<CallView, Failure>> + Send;
    /// Returns a call, by its number or its proposal's, once it is settled or after `hold` seconds.
    fn wait_for_call(
        &self,
        seq: Seq,
        hold: u64,
    ) -> impl Future<Output = Result<CallView, Failure>> + Send;
    /// Records what an agent did about the comments on the proposal of a call. Returns the call.
    fn reply_to_comments(
        &self,
        seq: Seq,
        replies: CommentReplies,
    ) -> impl Future<Output = Result<CallView, Failure>> + Send;
    /// Withdraws a call of the same connection, whether it has arrived or not.
    fn cancel_call(&self, call: CancelCall) -> impl Future<Output = Result<(), Failure>> + Send;
    /// Returns the latest calls of agents.
    fn read_log(&self) -> impl Future<Output = Result<AgentLog, Failure>> + Send;
    /// Returns a page of the scripts of a place.
    fn list_scripts(
        &self,
        session: &SessionId,
        cursor: Option<String>,
    ) -> impl Future<Output = Result<ScriptPage, Failure>> + Send;
    /// Returns a token that is cancelled when the client of a connection has disconnected. Calls
    /// that it waits for are not withdrawn then.
    fn disconnect_token(&self, connection: &str) -> CancellationToken;
    /// Records that a connection has ended and waits for no more answers.
    fn end_connection(&self, connection: &str);
}

/// The direct interface within the daemon.
#[derive(Debug)]
pub(in crate::server) struct LocalGate {
    pub(in crate::server) event_hub: Arc<EventHub>,
    pub(in crate::server) daemon: DaemonHandle,
    pub(super) sessions: Arc<HttpSessions>,
}

impl DaemonGate for LocalGate {
    async fn list_sessions(&self) -> Result<Sessions, Failure> {
        self.daemon.list_sessions().await
    }

    async fn wait_for_places(&self, known: BTreeSet<SessionId>) -> BTreeSet<SessionId> {
        match long_poll::wait_for_places(&self.event_hub, &known).await {
            Ok(places) => places,
            // The daemon ends.
            Err(_) => std::future::pending().await,
        }
    }

    async fn call_tool(&self, call: AgentCall) -> Result<CallView, Failure> {
        self.daemon.call_tool(call).await
    }

    async fn wait_for_call(&self, seq: Seq, hold: u64) -> Result<CallView, Failure> {
        long_poll::wait_for_call(&self.event_hub, &self.daemon, seq, hold).await
    }

    async fn reply_to_comments(
        &self,
        seq: Seq,
        replies: CommentReplies,
    ) -> Result<CallView, Failure> {
        self.daemon.reply_to_comments(seq, replies).await
    }

    async fn cancel_call(&self, call: CancelCall) -> Result<(), Failure> {
        self.daemon.cancel_call(&call);
        Ok(())
    }

    async fn read_log(&self) -> Result<AgentLog, Failure> {
        self.daemon.read_agent_log().await
    }

    async fn list_scripts(
        &self,
        session: &SessionId,
        cursor: Option<String>,
    ) -> Result<ScriptPage, Failure> {
        self.daemon.list_scripts(session.clone(), cursor).await
    }

    fn disconnect_token(&self, connection: &str) -> CancellationToken {
        self.sessions.disconnect_token(connection)
    }

    fn end_connection(&self, connection: &str) {
        self.daemon.end_connection(connection);
    }
}
