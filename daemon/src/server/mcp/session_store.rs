//! Storage of the MCP sessions over HTTP, so that they survive a restart of the daemon, and clients
//! need not initialize again.
//!
//! The file contains what each client said about itself when it initialized, and the owner of its
//! token. This grants no access: every request carries its own token, and a session of another
//! owner counts as unknown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use rmcp::transport::streamable_http_server::session::{
    SessionState, SessionStore, SessionStoreError,
};
use serde::{Deserialize, Serialize};

/// The number of stored sessions; the oldest are removed first.
const KEPT: usize = 64;

/// The maximum number of sessions whose owner is known.
const MAX_OWNERS: usize = 4_096;

#[derive(Debug)]
pub(super) struct McpSessionStore {
    file: PathBuf,
    sessions: Mutex<BTreeMap<String, StoredSession>>,
    /// The owners of the sessions, by session id.
    owners: Mutex<BTreeMap<String, String>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredSession {
    /// The time of initialization, in seconds since 1970.
    began: u64,
    state: SessionState,
    /// The owner of the token; None if an older version of Vector stored the session.
    #[serde(default)]
    owner: Option<String>,
}

impl McpSessionStore {
    /// Loads the sessions from a file. Empty if the file does not exist or is invalid.
    pub(super) fn load(file: &Path) -> Self {
        let sessions = std::fs::read(file).ok();
        let sessions = sessions.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let sessions: BTreeMap<String, StoredSession> = sessions.unwrap_or_default();
        let owners = sessions.iter().filter_map(|(id, it)| Some((id.clone(), it.owner.clone()?)));
        let owners = Mutex::new(owners.collect());
        Self { file: file.to_owned(), sessions: Mutex::new(sessions), owners }
    }

    /// Whether the session belongs to this owner, or to none yet.
    pub(super) fn is_owned(&self, id: &str, owner: &str) -> bool {
        self.lock_owners().get(id).is_none_or(|own| own == owner)
    }

    /// Records the owner of a session, unless it already has one.
    pub(super) fn remember_owner(&self, id: &str, owner: String) {
        let mut owners = self.lock_owners();
        if owners.contains_key(id) {
            return;
        }
        while owners.len() >= MAX_OWNERS && owners.pop_first().is_some() {}
        owners.insert(id.to_owned(), owner.clone());
        drop(owners);
        // If this cannot be stored, a restarted daemon does not know the session's owner.
        let _ = self.update(|sessions| {
            if let Some(session) = sessions.get_mut(id) {
                session.owner = Some(owner);
            }
        });
    }

    fn lock_owners(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_sessions(&self) -> MutexGuard<'_, BTreeMap<String, StoredSession>> {
        // A panic cannot leave a partly changed map behind.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the sessions in memory and in the file.
    fn update(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, StoredSession>),
    ) -> Result<(), SessionStoreError> {
        let mut sessions = self.lock_sessions();
        change(&mut sessions);
        while sessions.len() > KEPT
            && let Some(oldest) = sessions.iter().min_by_key(|(_, it)| it.began)
        {
            let oldest = oldest.0.clone();
            sessions.remove(&oldest);
        }
        vector_files::write_private(&self.file, &serde_json::to_vec(&*sessions)?)?;
        Ok(())
    }
}

#[async_trait]
impl SessionStore for McpSessionStore {
    async fn load(&self, id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        Ok(self.lock_sessions().get(id).map(|session| session.state.clone()))
    }

    async fn store(&self, id: &str, state: &SessionState) -> Result<(), SessionStoreError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let owner = self.lock_owners().get(id).cloned();
        let session = StoredSession { began: now, state: state.clone(), owner };
        self.update(|sessions| drop(sessions.insert(id.to_owned(), session)))
    }

    async fn delete(&self, id: &str) -> Result<(), SessionStoreError> {
        self.lock_owners().remove(id);
        self.update(|sessions| drop(sessions.remove(id)))
    }
}
