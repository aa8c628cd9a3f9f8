//! Presence of MCP clients over HTTP: the open requests of each session, and when its client is
//! gone.
//!
//! A client announces its end with `DELETE`. If its streams break off instead, it has a moment to
//! reconnect, as clients do after a broken connection. After that it is gone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use futures_util::{StreamExt, stream};
use tokio_util::sync::CancellationToken;

use crate::daemon::DaemonHandle;
use crate::event_hub::EventHub;

/// The time within which a client may reconnect after its streams broke off.
const RETURNS: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct HttpSessions {
    event_hub: Arc<EventHub>,
    daemon: DaemonHandle,
    closing: CancellationToken,
    clients: Mutex<HashMap<String, HttpClient>>,
}

#[derive(Debug)]
struct HttpClient {
    disconnect_token: CancellationToken,
    open_requests: usize,
    /// The number of times that a request began or broke off.
    changes: u64,
}

/// The guard of a request that is being answered.
struct RequestGuard {
    sessions: Arc<HttpSessions>,
    session: String,
    /// Whether the whole response was sent.
    is_answered: bool,
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        HttpSessions::release_request(&self.sessions, &self.session, self.is_answered);
    }
}

impl HttpSessions {
    pub(super) fn new(event_hub: &Arc<EventHub>, daemon: &DaemonHandle) -> Self {
        Self {
            event_hub: Arc::clone(event_hub),
            daemon: daemon.clone(),
            closing: CancellationToken::new(),
            clients: Mutex::default(),
        }
    }

    fn lock_clients(&self) -> MutexGuard<'_, HashMap<String, HttpClient>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the daemon ends. From now on no client counts as gone.
    pub(super) fn close_all(&self) {
        self.closing.cancel();
    }

    /// Returns a token that is cancelled when the client of a session is gone or the daemon ends. A
    /// client without a session is never known to be gone.
    pub(super) fn disconnect_token(&self, session: &str) -> CancellationToken {
        let client = self.lock_clients().get(session).map(|client| client.disconnect_token.clone());
        client.unwrap_or_else(|| self.closing.child_token())
    }

    /// Ends a session. Its client is gone immediately.
    pub(super) fn end_session(&self, session: &str) {
        if let Some(client) = self.lock_clients().remove(session) {
            client.disconnect_token.cancel();
            self.event_hub.connected_clients().remove(session);
        }
        self.daemon.end_connection(session);
    }

    /// Answers a request of a session. Its client counts as connected meanwhile.
    pub(super) async fn answer_request(
        self: &Arc<Self>,
        session: String,
        answered: impl Future<Output = axum::http::Response<Body>>,
    ) -> axum::http::Response<Body> {
        let held = self.hold_request(session);
        let response = answered.await;
        response.map(|body| held.hold_until_sent(body))
    }

    fn hold_request(self: &Arc<Self>, session: String) -> RequestGuard {
        let mut clients = self.lock_clients();
        let client = clients.entry(session.clone()).or_insert_with(|| {
            self.event_hub.connected_clients().add(&session);
            HttpClient {
                disconnect_token: self.closing.child_token(),
                open_requests: 0,
                changes: 0,
            }
        });
        client.open_requests += 1;
        client.changes += 1;
        drop(clients);
        RequestGuard { sessions: Arc::clone(self), session, is_answered: false }
    }

    fn release_request(sessions: &Arc<Self>, session: &str, is_answered: bool) {
        let mut clients = sessions.lock_clients();
        let Some(client) = clients.get_mut(session) else {
            return;
        };
        client.open_requests -= 1;
        if client.open_requests > 0 || sessions.closing.is_cancelled() {
            return;
        }
        if is_answered {
            // Without an open request it is unknown whether the client is still connected.
            clients.remove(session);
            sessions.event_hub.connected_clients().remove(session);
            return;
        }
        client.changes += 1;
        let changes = client.changes;
        drop(clients);
        let (sessions, session) = (Arc::clone(sessions), session.to_owned());
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            tokio::time::sleep(RETURNS).await;
            let is_same = |client: &HttpClient| client.changes == changes;
            let is_gone = sessions.lock_clients().get(&session).is_some_and(is_same);
            if is_gone && !sessions.closing.is_cancelled() {
                sessions.end_session(&session);
            }
        });
    }
}

impl RequestGuard {
    /// Keeps the guard until the whole body was sent.
    fn hold_until_sent(mut self, body: Body) -> Body {
        if body.size_hint().exact().is_some() {
            self.is_answered = true;
            return body;
        }
        let parts = stream::unfold((body.into_data_stream(), self), |(mut body, mut held)| async {
            let part = body.next().await;
            held.is_answered |= part.is_none();
            let part: Result<Bytes, axum::Error> = part?;
            Some((part, (body, held)))
        });
        Body::from_stream(parts)
    }
}
