//! The daemon as the commands see it: each call waits for its answer.
//!
//! The commands run without a runtime, so the client has one of its own. It must not be used within
//! another runtime; `vector mcp` has one and uses `DaemonConnection` directly.

mod address;
mod connection;
mod request;

use std::path::Path;

use anyhow::Context;
use scene_schemas::api::{About, RouteId, SessionView, Sessions, StreamPage};
use scene_schemas::entry::Seq;
use serde::de::DeserializeOwned;
use tokio::runtime::{Builder, Runtime};

pub(super) use self::address::TokenKind;
pub(super) use self::connection::{DaemonConnection, RequestError, is_vector_daemon};
pub(super) use self::request::{AGENT_TIMEOUT, PRESENCE_TIMEOUT, RouteRequest};

#[derive(Debug)]
pub(super) struct DaemonClient {
    runtime: Runtime,
    connection: DaemonConnection,
}

impl DaemonClient {
    /// Finds the daemon that serves a ledger. Does not check whether it is running.
    pub(super) fn connect(home: &Path) -> anyhow::Result<Self> {
        let connection = DaemonConnection::find(home, TokenKind::Person)?;
        Ok(Self { runtime: build_runtime()?, connection })
    }

    /// Connects to the running daemon, or starts one in the background.
    pub(super) fn connect_or_start(home: &Path, port: u16) -> anyhow::Result<Self> {
        let runtime = build_runtime()?;
        let connecting = DaemonConnection::find_or_start(home, port, TokenKind::Person);
        let connection = runtime.block_on(connecting)?;
        Ok(Self { runtime, connection })
    }

    /// Waits briefly for a daemon that answers: it may have been started a moment ago.
    pub(super) fn wait_for_running(home: &Path) -> anyhow::Result<Option<Self>> {
        let runtime = build_runtime()?;
        let waiting = DaemonConnection::wait_for_running(home, TokenKind::Person);
        let connection = runtime.block_on(waiting);
        Ok(connection.map(|connection| Self { runtime, connection }))
    }

    /// Tells the user that a background daemon was started, and how to stop it.
    pub(super) fn report_start(&self) {
        self.connection.report_start();
    }

    pub(super) fn port(&self) -> u16 {
        self.connection.port()
    }

    pub(super) fn call<T: DeserializeOwned>(&self, request: &RouteRequest) -> anyhow::Result<T> {
        Ok(self.runtime.block_on(self.connection.send(request))?)
    }

    pub(super) fn about(&self) -> anyhow::Result<About> {
        self.call(&RouteRequest::new(RouteId::About))
    }

    pub(super) fn list_sessions(&self) -> anyhow::Result<Vec<SessionView>> {
        let Sessions { sessions } = self.call(&RouteRequest::new(RouteId::Sessions))?;
        Ok(sessions)
    }

    /// Reads the events after a position. Waits up to `hold` seconds until there are some.
    pub(super) fn read_events(&self, cursor: Seq, hold: u32) -> anyhow::Result<StreamPage> {
        let request = RouteRequest::new(RouteId::Events);
        self.call(&request.with_query("cursor", cursor).with_query("hold", hold))
    }
}

/// Whether the program that listens on a port of this machine is Vector.
pub(super) fn is_vector_on(port: u16) -> bool {
    build_runtime().is_ok_and(|runtime| runtime.block_on(is_vector_daemon(port)))
}

fn build_runtime() -> anyhow::Result<Runtime> {
    let runtime = Builder::new_current_thread().enable_io().enable_time().build();
    runtime.context("requests to the daemon cannot be waited for")
}
