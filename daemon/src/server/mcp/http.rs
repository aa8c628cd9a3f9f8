//! MCP over HTTP, at `/mcp`: passes checked requests to the SDK.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Method, Response};
use rmcp::transport::streamable_http_server::session::SessionStore;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use scene_schemas::api::{Failure, FailureKind, MAX_BODY};
use tokio_util::sync::CancellationToken;

use super::McpAgent;
use super::gate::LocalGate;
use super::session_store::McpSessionStore;
use super::sessions::HttpSessions;
use crate::daemon::DaemonHandle;
use crate::event_hub::EventHub;
use crate::failure::failure;

/// The header that names a session.
const SESSION: &str = "mcp-session-id";
/// The longest name of a connection.
const MAX_NAME: usize = 64;

/// The time after which a silent session is unloaded. It is restored on its next request.
const IDLE: Duration = Duration::from_mins(30);

/// The handler of `/mcp`.
pub(in crate::server) struct McpHttp {
    service: StreamableHttpService<McpAgent<LocalGate>, LocalSessionManager>,
    session_store: Arc<McpSessionStore>,
    shutdown: CancellationToken,
    sessions: Arc<HttpSessions>,
}

/// Returns the session that a request names, if it is valid as the id of a connection.
pub(super) fn session_of(headers: &HeaderMap) -> Option<String> {
    let session = headers.get(SESSION)?.to_str().ok()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_name = !session.is_empty() && session.len() <= MAX_NAME && session.chars().all(is_plain);
    is_name.then(|| session.to_owned())
}

impl fmt::Debug for McpHttp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Http")
    }
}

impl McpHttp {
    /// Creates the handler. Sessions are stored in the file `kept`. Calls wait for the user for at
    /// most `wait`.
    pub(in crate::server) fn new(
        event_hub: &Arc<EventHub>,
        daemon: &DaemonHandle,
        kept: &Path,
        wait: Duration,
    ) -> Self {
        let sessions = Arc::new(HttpSessions::new(event_hub, daemon));
        let (known, own) = (Arc::clone(&sessions), Arc::clone(event_hub));
        let gate = Arc::new(LocalGate { event_hub: own, daemon: daemon.clone(), sessions: known });
        let mut config =
            StreamableHttpServerConfig::default().with_max_request_body_bytes(MAX_BODY);
        let session_store = Arc::new(McpSessionStore::load(kept));
        config.session_store = Some(Arc::clone(&session_store) as Arc<dyn SessionStore>);
        let shutdown = config.cancellation_token.clone();
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(IDLE);
        let agent = move || Ok(McpAgent::new(Arc::clone(&gate), wait));
        let service = StreamableHttpService::new(agent, Arc::new(manager), config);
        Self { service, session_store, shutdown, sessions }
    }

    /// Ends all sessions, and the open streams of clients.
    pub(in crate::server) fn end_sessions(&self) {
        self.sessions.close_all();
        self.shutdown.cancel();
    }

    /// Answers a request of an owner of sessions. The answer for another owner's session is that it
    /// does not exist, so that the client initializes a new one.
    pub(in crate::server) async fn answer_request(
        &self,
        request: Request,
        owner: String,
    ) -> Result<Response<Body>, Failure> {
        let session = session_of(request.headers());
        if session.as_deref().is_some_and(|session| !self.session_store.is_owned(session, &owner)) {
            let message = "The token has no such MCP session.";
            return Err(failure(FailureKind::NotFound, message, "Initialize a new one."));
        }
        let is_end = request.method() == Method::DELETE;
        let answered = async { self.service.handle(request).await.map(Body::new) };
        let response = match &session {
            Some(session) if !is_end => {
                self.sessions.answer_request(session.clone(), answered).await
            }
            _ => answered.await,
        };
        if let Some(ended) = session.filter(|_| is_end && response.status().is_success()) {
            self.sessions.end_session(&ended);
        }
        if let Some(new_session) = session_of(response.headers()) {
            self.session_store.remember_owner(&new_session, owner);
        }
        Ok(response)
    }
}
