//! The server: HTTP on this machine alone, for the plugin, the page, the terminal and agents.
//!
//! The router is built from the route table. Before each handler, a guard checks the caller and the
//! request: it reaches a handler only by a known route, with a token of the right kind. Handlers
//! take typed values of the request, and call the daemon or the session of a place. They decide
//! nothing themselves.

mod api;
mod auth;
mod clients;
mod commit;
mod deploy;
mod extract;
mod guard;
mod history_query;
mod listener;
mod long_poll;
mod mcp;
mod page;
mod picture;
mod response;
mod router;
mod verify;

use std::future::Future;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRef;
use tokio::net::TcpListener;

pub use self::mcp::{DaemonGate, McpAgent, WAIT, list_tools, random_id};

use self::mcp::McpHttp;
use crate::daemon::DaemonHandle;
use crate::event_hub::EventHub;

/// What the handlers share.
#[derive(Debug, Clone)]
struct AppState(Arc<AppParts>);

#[derive(Debug)]
struct AppParts {
    port: u16,
    event_hub: Arc<EventHub>,
    daemon: DaemonHandle,
    mcp: Arc<McpHttp>,
    /// The time within which a request's body must arrive.
    body_timeout: Duration,
}

impl AppState {
    fn new(
        port: u16,
        event_hub: Arc<EventHub>,
        daemon: DaemonHandle,
        mcp: Arc<McpHttp>,
        body_timeout: Duration,
    ) -> Self {
        Self(Arc::new(AppParts { port, event_hub, daemon, mcp, body_timeout }))
    }
}

impl Deref for AppState {
    type Target = AppParts;

    fn deref(&self) -> &AppParts {
        &self.0
    }
}

impl FromRef<AppState> for DaemonHandle {
    fn from_ref(app: &AppState) -> Self {
        app.daemon.clone()
    }
}

impl FromRef<AppState> for Arc<EventHub> {
    fn from_ref(app: &AppState) -> Self {
        Self::clone(&app.event_hub)
    }
}

/// Serves until `shutdown` completes, and then finishes the running requests. The sessions of MCP
/// clients are stored in the file `kept`. Their calls wait for the user's decision for at most
/// `wait`.
///
/// # Errors
/// The local address of the listener cannot be read.
pub async fn run(
    listener: TcpListener,
    event_hub: Arc<EventHub>,
    daemon: DaemonHandle,
    kept: &Path,
    wait: Duration,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let port = listener.local_addr()?.port();
    let mcp = Arc::new(McpHttp::new(&event_hub, &daemon, kept, wait));
    let own = Arc::clone(&mcp);
    let app = AppState::new(port, Arc::clone(&event_hub), daemon, mcp, listener::HEAD);
    let ends = async move {
        shutdown.await;
        event_hub.close();
        own.end_sessions();
    };
    listener::serve_connections(listener, &app, listener::HEAD, ends).await;
    Ok(())
}
