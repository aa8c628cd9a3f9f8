//! The connected clients of agents. A client is connected while it has a request that waits for its
//! answer.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of open requests of each connection.
#[derive(Debug, Default)]
pub struct ConnectedClients(Mutex<HashMap<String, usize>>);

impl ConnectedClients {
    fn lock_counts(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the connection has an open request.
    pub fn is_connected(&self, connection: &str) -> bool {
        self.lock_counts().contains_key(connection)
    }

    pub(crate) fn add(&self, connection: &str) {
        *self.lock_counts().entry(connection.to_owned()).or_default() += 1;
    }

    /// Removes an open request. Returns whether it was the last one of the connection.
    pub(crate) fn remove(&self, connection: &str) -> bool {
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
