//! The clients of agents that are connected: a client holds a request for as long as it runs. Where that
//! breaks off, by whatever end of its process, the client is gone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use scene_schemas::api::{EmptyBody, Failure};

use super::daemon_handle::{DaemonHandle, DaemonRequest};
use super::event_hub::EventHub;

/// How many requests each connection holds.
#[derive(Debug, Default)]
pub struct ConnectedClients(Mutex<HashMap<String, usize>>);

impl ConnectedClients {
    fn lock_counts(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a connection holds a request.
    pub fn is_connected(&self, connection: &str) -> bool {
        self.lock_counts().contains_key(connection)
    }

    pub(super) fn add(&self, connection: &str) {
        *self.lock_counts().entry(connection.to_owned()).or_default() += 1;
    }

    /// Whether that was the last request of the connection.
    pub(super) fn remove(&self, connection: &str) -> bool {
        let mut clients = self.lock_counts();
        let Some(held) = clients.get_mut(connection) else {
            return false;
        };
        *held -= 1;
        let is_last = *held == 0;
        if is_last {
            clients.remove(connection);
        }
        is_last
    }
}

/// A request that is held.
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
            self.daemon.send(DaemonRequest::EndConnection(std::mem::take(&mut self.connection)));
        }
    }
}

/// Holds the request of a client that is there, until the daemon ends.
pub(super) async fn hold_connection(
    board: Arc<EventHub>,
    desk: DaemonHandle,
    connection: String,
) -> Result<EmptyBody, Failure> {
    board.connected_clients().add(&connection);
    let mut news = board.subscribe_changes();
    let mut held = PresenceGuard { event_hub: board, daemon: desk, connection, is_closing: false };
    let _ = news.wait_for(|news| news.is_over).await;
    held.is_closing = true;
    Ok(EmptyBody {})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::TokenHash;

    #[test]
    fn a_client_is_gone_when_its_last_request_breaks_off() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let board = Arc::new(EventHub::new(TokenHash::of_token("a person's")));
            let (desk, mut asked) = DaemonHandle::new();
            let begin = || {
                tokio::spawn(hold_connection(Arc::clone(&board), desk.clone(), "one".to_owned()))
            };
            let (first, second) = (begin(), begin());
            tokio::task::yield_now().await;
            assert!(
                board.connected_clients().is_connected("one")
                    && !board.connected_clients().is_connected("two")
            );
            first.abort();
            assert!(first.await.is_err());
            assert!(board.connected_clients().is_connected("one") && asked.try_recv().is_err());
            second.abort();
            assert!(second.await.is_err());
            assert!(!board.connected_clients().is_connected("one"));
            assert!(
                matches!(asked.try_recv(), Ok(DaemonRequest::EndConnection(name)) if name == "one")
            );
            // A daemon that ends takes nobody for gone.
            let third = begin();
            tokio::task::yield_now().await;
            board.close();
            third.await.unwrap().unwrap();
            assert!(asked.try_recv().is_err());
        });
    }
}
