//! The server: HTTP on this machine alone, for the plugin, the page and the terminal.
//!
//! It checks who calls and what they send, holds polls, and hands everything else to whoever sits at
//! the [`Desk`]. What is said there, and what waits on the [`Board`], it does not judge. The default
//! is refusal: a request reaches the desk only by a route that is known, with a token of its kind.

mod auth;
mod clients;
mod daemon_handle;
mod deploy;
mod dispatch;
mod event_hub;
mod failure;
mod history_api;
mod listener;
mod long_poll;
mod mcp;
mod merges;
mod page;
mod pending;
mod picture;

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

pub use self::auth::TokenHash;
pub use self::clients::ConnectedClients;
pub use self::daemon_handle::{
    AccessRequest, DaemonHandle, DaemonRequest, FoundInstance, PictureOptions, PictureTarget,
    Reply, WorkflowAction,
};
pub use self::deploy::DeployRequest;
pub use self::event_hub::{
    AWAY, ChangeCounters, EventHub, FastDecision, MirrorSize, SessionSlot, VisibleChange,
};
pub use self::failure::failure;
pub use self::history_api::{EntryFilter, HistoryQuery, HistoryRequest, LineStream, ScriptQuery};
pub use self::mcp::{DaemonGate, McpAgent, WAIT, list_tools, random_id};
pub use self::merges::MergeRequest;
pub use self::pending::{ChangeExtent, PendingSummary};

use self::dispatch::AppState;
use self::mcp::McpHttp;

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
    let house = Arc::new(AppState {
        port,
        event_hub: own_board,
        daemon: desk,
        mcp,
        body_timeout: patience,
    });
    let ends = async move {
        shutdown.await;
        board.close();
        own.end_sessions();
    };
    listener::serve_connections(listener, house, listener::HEAD, ends).await;
    Ok(())
}
