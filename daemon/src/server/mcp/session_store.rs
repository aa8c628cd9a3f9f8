//! The sessions of MCP over HTTP that are known, in a file, so that a daemon that was started anew goes on
//! with them and no client has to begin again.
//!
//! What is kept is what a client said of itself when it began, and whose token began it. It opens nothing:
//! every request brings its own token, and another's session is none.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use rmcp::transport::streamable_http_server::session::{
    SessionState, SessionStore, SessionStoreError,
};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

/// How many sessions are kept; the oldest go first.
const KEPT: usize = 64;

/// How many sessions are known by their owners.
const MAX_OWNERS: usize = 4_096;

/// The sessions, and their file.
#[derive(Debug)]
pub(super) struct McpSessionStore {
    file: PathBuf,
    sessions: Mutex<BTreeMap<String, StoredSession>>,
    /// The sessions that are at work, by whose token they were begun.
    owners: Mutex<BTreeMap<String, String>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredSession {
    /// When it began, in seconds since 1970.
    began: u64,
    state: SessionState,
    /// Who began it; none where an earlier Vector kept it.
    #[serde(default)]
    owner: Option<String>,
}

impl McpSessionStore {
    /// What a file has; nothing where there is none, or one that is no such file.
    pub(super) fn load(file: &Path) -> Self {
        let sessions = std::fs::read(file).ok();
        let sessions = sessions.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let sessions: BTreeMap<String, StoredSession> = sessions.unwrap_or_default();
        let owners = sessions.iter().filter_map(|(id, it)| Some((id.clone(), it.owner.clone()?)));
        let owners = Mutex::new(owners.collect());
        Self { file: file.to_owned(), sessions: Mutex::new(sessions), owners }
    }

    /// Whether a session is this owner's, or nobody's so far.
    pub(super) fn is_owned(&self, id: &str, owner: &str) -> bool {
        self.lock_owners().get(id).is_none_or(|own| own == owner)
    }

    /// Remembers whose a session is; whose it is already stays so.
    pub(super) fn remember_owner(&self, id: &str, owner: String) {
        let mut owners = self.lock_owners();
        if owners.contains_key(id) {
            return;
        }
        while owners.len() >= MAX_OWNERS && owners.pop_first().is_some() {}
        owners.insert(id.to_owned(), owner.clone());
        drop(owners);
        // Where it cannot be kept, a daemon that is started anew does not know the session's owner.
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
        // Whoever panicked has left whole values behind.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is kept, in the file as well.
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
        let folder = self.file.parent().unwrap_or(Path::new("."));
        let mut file = NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec(&*sessions)?)?;
        file.persist(&self.file)?;
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
