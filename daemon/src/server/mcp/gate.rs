//! The way from the MCP server to the daemon: at its desk, or from another process over HTTP.

use std::future::Future;
use std::sync::Arc;

use scene_schemas::api::{
    AgentCall, AgentLog, CallView, CancelCall, Failure, ScriptPage, SessionId, Sessions,
};
use scene_schemas::entry::Seq;
use tokio_util::sync::CancellationToken;

use super::sessions::HttpSessions;
use crate::daemon::DaemonHandle;
use crate::event_hub::EventHub;
use crate::server::long_poll;

/// What an agent may ask of the daemon. To decide is not among it.
pub trait DaemonGate: Send + Sync + 'static {
    fn list_sessions(&self) -> impl Future<Output = Result<Sessions, Failure>> + Send;
    /// Calls a tool; answered when it is planned, or after the call's own time.
    fn call_tool(&self, call: AgentCall) -> impl Future<Output = Result<CallView, Failure>> + Send;
    /// What became of a call, by its number or its proposal's, held for so many seconds until it is
    /// settled.
    fn wait_for_call(
        &self,
        seq: Seq,
        hold: u64,
    ) -> impl Future<Output = Result<CallView, Failure>> + Send;
    /// Takes a call of one's own back, whether it has come there yet or not.
    fn cancel_call(&self, call: CancelCall) -> impl Future<Output = Result<(), Failure>> + Send;
    /// What agents have called lately.
    fn read_log(&self) -> impl Future<Output = Result<AgentLog, Failure>> + Send;
    /// A page of the scripts of a place.
    fn list_scripts(
        &self,
        session: &SessionId,
        cursor: Option<String>,
    ) -> impl Future<Output = Result<ScriptPage, Failure>> + Send;
    /// Cancelled when the client of a connection has gone: what it waits for is not taken back then.
    fn disconnect_token(&self, connection: &str) -> CancellationToken;
    /// A connection has ended, and nobody waits for an answer.
    fn end_connection(&self, connection: &str);
}

/// The way within the daemon.
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

    async fn call_tool(&self, call: AgentCall) -> Result<CallView, Failure> {
        self.daemon.call_tool(call).await
    }

    async fn wait_for_call(&self, seq: Seq, hold: u64) -> Result<CallView, Failure> {
        long_poll::wait_for_call(&self.event_hub, &self.daemon, seq, hold).await
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
