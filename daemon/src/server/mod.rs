//! The server: HTTP on this machine alone, for the plugin, the page, the terminal and agents.
//!
//! A router is built from the table of the routes. Before each handler a guard checks who calls and what they
//! send: a request reaches a handler only by a known route, with a token of its kind. Handlers take typed
//! values of a request and call the daemon or the session of a place; they decide nothing themselves.

mod api;
mod auth;
mod clients;
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

use std::future::Future;
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
struct AppState {
    port: u16,
    event_hub: Arc<EventHub>,
    daemon: DaemonHandle,
    mcp: Arc<McpHttp>,
    /// How long the body of a request may take.
    body_timeout: Duration,
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

/// Serves until `shutdown` is there, and what is being answered has been. The sessions of MCP clients are
/// kept in the file `kept`, and their calls wait so long for a person.
///
/// # Errors
/// The listener broke.
pub async fn run(
    listener: TcpListener,
    board: Arc<EventHub>,
    desk: DaemonHandle,
    kept: &Path,
    wait: Duration,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let port = listener.local_addr()?.port();
    let mcp = Arc::new(McpHttp::new(&board, &desk, kept, wait));
    let own = Arc::clone(&mcp);
    let (own_board, patience) = (Arc::clone(&board), listener::HEAD);
    let app = AppState { port, event_hub: own_board, daemon: desk, mcp, body_timeout: patience };
    let ends = async move {
        shutdown.await;
        board.close();
        own.end_sessions();
    };
    listener::serve_connections(listener, &app, listener::HEAD, ends).await;
    Ok(())
}
