//! The way from the MCP server to the daemon: at its desk, or from another process over HTTP.

use std::future::Future;
use std::sync::Arc;

use scene_schemas::api::{
    AgentCall, AgentLog, CallView, CancelCall, Failure, ScriptPage, SessionId, Sessions,
};
use scene_schemas::entry::Seq;
use tokio_util::sync::CancellationToken;

use super::sessions::HttpSessions;
use crate::server::hold;
use crate::server::{Ask, Board, Desk};

/// What an agent may ask of the daemon. To decide is not among it.
pub trait Gate: Send + Sync + 'static {
    /// The open places.
    fn sessions(&self) -> impl Future<Output = Result<Sessions, Failure>> + Send;
    /// Calls a tool; answered when it is planned, or after the call's own time.
    fn call(&self, call: AgentCall) -> impl Future<Output = Result<CallView, Failure>> + Send;
    /// What became of a call, by its number or its proposal's, held for so many seconds until it is
    /// settled.
    fn called(&self, seq: Seq, hold: u64)
    -> impl Future<Output = Result<CallView, Failure>> + Send;
    /// Takes a call of one's own back, whether it has come there yet or not.
    fn cancel(&self, call: CancelCall) -> impl Future<Output = Result<(), Failure>> + Send;
    /// What agents have called lately.
    fn log(&self) -> impl Future<Output = Result<AgentLog, Failure>> + Send;
    /// A page of the scripts of a place.
    fn scripts(
        &self,
        session: &SessionId,
        cursor: Option<String>,
    ) -> impl Future<Output = Result<ScriptPage, Failure>> + Send;
    /// Cancelled when the client of a connection has gone: what it waits for is not taken back then.
    fn gone(&self, connection: &str) -> CancellationToken;
    /// A connection has ended, and nobody waits for an answer.
    fn ends(&self, connection: &str);
}

/// The way within the daemon.
#[derive(Debug)]
pub(in crate::server) struct AtDesk {
    pub(in crate::server) board: Arc<Board>,
    pub(in crate::server) desk: Desk,
    pub(super) sessions: Arc<HttpSessions>,
}

impl Gate for AtDesk {
    async fn sessions(&self) -> Result<Sessions, Failure> {
        self.desk.ask(Ask::Sessions).await
    }

    async fn call(&self, call: AgentCall) -> Result<CallView, Failure> {
        hold::call(&self.desk, call).await
    }

    async fn called(&self, seq: Seq, hold: u64) -> Result<CallView, Failure> {
        hold::called(&self.board, &self.desk, seq, hold).await
    }

    async fn cancel(&self, call: CancelCall) -> Result<(), Failure> {
        self.desk.tell(Ask::CancelCall(call));
        Ok(())
    }

    async fn log(&self) -> Result<AgentLog, Failure> {
        self.desk.ask(Ask::AgentLog).await
    }

    async fn scripts(
        &self,
        session: &SessionId,
        cursor: Option<String>,
    ) -> Result<ScriptPage, Failure> {
        self.desk.ask(|reply| Ask::Scripts(session.clone(), cursor, reply)).await
    }

    fn gone(&self, connection: &str) -> CancellationToken {
        self.sessions.gone(connection)
    }

    fn ends(&self, connection: &str) {
        self.desk.tell(Ask::AgentEnds(connection.to_owned()));
    }
}
