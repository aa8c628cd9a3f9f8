//! MCP over HTTP, at `/mcp`: what has passed the guard goes to the SDK.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use scene_schemas::api::MAX_BODY;
use tokio_util::sync::CancellationToken;

use super::Agent;
use super::gate::AtDesk;
use super::kept::Kept;
use crate::server::{Board, Desk};

/// A session that says nothing for this long is let go; it is there again when it speaks.
const IDLE: Duration = Duration::from_mins(30);

/// The server behind `/mcp`.
pub(in crate::server) struct Http {
    service: StreamableHttpService<Agent<AtDesk>, LocalSessionManager>,
    ends: CancellationToken,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Http")
    }
}

impl Http {
    /// With its sessions kept in this file; calls wait so long for a person.
    pub(in crate::server) fn new(
        board: &Arc<Board>,
        desk: &Desk,
        kept: &Path,
        wait: Duration,
    ) -> Self {
        let gate = Arc::new(AtDesk { board: Arc::clone(board), desk: desk.clone() });
        let mut config =
            StreamableHttpServerConfig::default().with_max_request_body_bytes(MAX_BODY);
        config.session_store = Some(Arc::new(Kept::read(kept)));
        let ends = config.cancellation_token.clone();
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(IDLE);
        let agent = move || Ok(Agent::new(Arc::clone(&gate), wait));
        Self { service: StreamableHttpService::new(agent, Arc::new(sessions), config), ends }
    }

    /// Ends all sessions, and the streams that clients hold.
    pub(in crate::server) fn end(&self) {
        self.ends.cancel();
    }

    pub(in crate::server) async fn answer(&self, request: Request) -> Response<Body> {
        self.service.handle(request).await.map(Body::new)
    }
}
