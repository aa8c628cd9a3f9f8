//! Presence of agents' clients: each client keeps a request open for as long as it runs. When the
//! request breaks off, for whatever reason, the client is gone.

use std::sync::Arc;

use crate::daemon::DaemonHandle;
use crate::event_hub::EventHub;

/// The open request of a client.
struct PresenceGuard {
    event_hub: Arc<EventHub>,
    daemon: DaemonHandle,
    connection: String,
    /// Whether the daemon ends, and not the client.
    is_closing: bool,
}

impl Drop for PresenceGuard {
    fn drop(&mut self) {
        if self.event_hub.connected_clients().remove(&self.connection) && !self.is_closing {
            self.daemon.end_connection(&self.connection);
        }
    }
}

/// Holds the request of a connected client until the daemon ends.
pub(super) async fn hold_connection(
    event_hub: Arc<EventHub>,
    daemon: DaemonHandle,
    connection: String,
) {
    event_hub.connected_clients().add(&connection);
    let mut changes = event_hub.subscribe_changes();
    let mut held = PresenceGuard { event_hub, daemon, connection, is_closing: false };
    let _ = changes.wait_for(|news| news.is_over).await;
    held.is_closing = true;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_hub::TokenHash;
    use crate::session::SessionMessage;

    #[test]
    fn client_disconnects_when_its_last_request_breaks_off() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let event_hub = Arc::new(EventHub::new(TokenHash::of_token("a person's")));
            let (daemon, _home) = DaemonHandle::for_tests(&event_hub);
            let messages = daemon.add_session();
            let is_connected = |name| event_hub.connected_clients().is_connected(name);
            let begin = || {
                let (event_hub, daemon) = (Arc::clone(&event_hub), daemon.clone());
                tokio::spawn(hold_connection(event_hub, daemon, "one".to_owned()))
            };
            let (first, second) = (begin(), begin());
            tokio::task::yield_now().await;
            assert!(is_connected("one") && !is_connected("two"));
            first.abort();
            assert!(first.await.is_err());
            // What was sent before a request is there when the request is answered.
            daemon.list_sessions().await.unwrap();
            assert!(is_connected("one") && messages.try_recv().is_err());
            second.abort();
            assert!(second.await.is_err());
            assert!(!is_connected("one"));
            daemon.list_sessions().await.unwrap();
            let message = messages.try_recv();
            assert!(matches!(message, Ok(SessionMessage::EndConnection(name)) if name == "one"));
            // The end of the daemon does not count as a disconnection.
            let third = begin();
            tokio::task::yield_now().await;
            event_hub.close();
            third.await.unwrap();
            daemon.list_sessions().await.unwrap();
            assert!(messages.try_recv().is_err());
        });
    }
}
