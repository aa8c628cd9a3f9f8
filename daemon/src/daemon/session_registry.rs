//! Registry of the daemon's sessions by their ids: the open ones, and those that are ending.
//!
//! A session that ends may be in the middle of a long plan. Its id stays taken until its thread has
//! released its workflows. Only a request for the same id waits for that.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use scene_schemas::api::{OpenPlace, SessionId};
use scene_schemas::entry::Place;
use tokio::sync::watch;

use crate::event_hub::TokenHash;
use crate::session::{SessionHandle, SessionMessage};

#[derive(Debug, Clone)]
pub(crate) struct OpenSession {
    pub(crate) handle: SessionHandle,
    pub(crate) thread: ThreadId,
    pub(crate) place: Place,
    /// The credential that the plugin showed; None for a file or project.
    pub(crate) credential: Option<TokenHash>,
}

impl OpenSession {
    /// Returns the place as lists show it.
    pub(crate) fn to_open_place(&self) -> OpenPlace {
        match &self.place {
            Place::Open(open) => open.place.clone(),
            place => OpenPlace { name: place.name(), place_id: 0 },
        }
    }
}

#[derive(Debug)]
struct EndingSession {
    thread: ThreadId,
    credential: Option<TokenHash>,
}

#[derive(Debug, Default)]
struct RegistryState {
    open: HashMap<SessionId, OpenSession>,
    ending: HashMap<SessionId, EndingSession>,
}

#[derive(Debug, Default)]
pub(crate) struct SessionRegistry {
    state: Mutex<RegistryState>,
    /// Counts the sessions that have ended.
    ended: watch::Sender<u64>,
}

/// The last value that a session's thread drops, also when it panics. The session has then ended.
pub(super) struct SessionEndGuard {
    registry: Arc<SessionRegistry>,
    session: SessionId,
}

impl Drop for SessionEndGuard {
    fn drop(&mut self) {
        self.registry.finish(&self.session, thread::current().id());
    }
}

impl SessionRegistry {
    fn lock(&self) -> MutexGuard<'_, RegistryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, session: &SessionId) -> Option<OpenSession> {
        self.lock().open.get(session).cloned()
    }

    pub(crate) fn handle(&self, session: &SessionId) -> Option<SessionHandle> {
        self.lock().open.get(session).map(|session| session.handle.clone())
    }

    pub(crate) fn contains(&self, session: &SessionId) -> bool {
        self.lock().open.contains_key(session)
    }

    /// Returns all open sessions, sorted by id.
    pub(crate) fn list(&self) -> Vec<(SessionId, OpenSession)> {
        let state = self.lock();
        let mut all: Vec<_> =
            state.open.iter().map(|(id, session)| (id.clone(), session.clone())).collect();
        drop(state);
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        all
    }

    /// Sends a message to all open sessions.
    pub(super) fn send_to_all(&self, message: impl Fn() -> SessionMessage) {
        for session in self.lock().open.values() {
            session.handle.send(message());
        }
    }

    pub(super) fn insert(&self, id: SessionId, session: OpenSession) {
        self.lock().open.insert(id, session);
    }

    /// Updates the place and the credential after a window sent hello again.
    pub(super) fn update(&self, id: &SessionId, place: Place, credential: TokenHash) {
        if let Some(session) = self.lock().open.get_mut(id) {
            (session.place, session.credential) = (place, Some(credential));
        }
    }

    /// Moves a session from the open ones to the ending ones.
    pub(super) fn begin_end(&self, id: &SessionId) -> Option<OpenSession> {
        let mut state = self.lock();
        let session = state.open.remove(id)?;
        let ending =
            EndingSession { thread: session.thread, credential: session.credential.clone() };
        state.ending.insert(id.clone(), ending);
        Some(session)
    }

    /// Records that a session's thread has ended. Does nothing if the session of that id is not
    /// ending, or was replaced after a panic.
    pub(super) fn finish(&self, id: &SessionId, thread: ThreadId) {
        let mut state = self.lock();
        if state.ending.get(id).is_some_and(|it| it.thread == thread) {
            state.ending.remove(id);
            drop(state);
            self.ended.send_modify(|count| *count += 1);
        }
    }

    pub(super) fn end_guard(self: &Arc<Self>, session: SessionId) -> SessionEndGuard {
        SessionEndGuard { registry: Arc::clone(self), session }
    }

    pub(super) fn is_ending(&self, id: &SessionId) -> bool {
        self.lock().ending.contains_key(id)
    }

    /// Waits until none of these sessions is ending.
    pub(super) async fn wait_until_ended(&self, ids: &HashSet<SessionId>) {
        let mut ended = self.ended.subscribe();
        while !self.lock().ending.keys().all(|id| !ids.contains(id)) {
            // The registry owns the sender, so this cannot fail.
            let _ = ended.changed().await;
        }
    }

    /// Returns the sessions, open and ending, whose plugin used a credential that was revoked.
    pub(super) fn with_credential(
        &self,
        is_revoked: impl Fn(&TokenHash) -> bool,
    ) -> HashSet<SessionId> {
        let state = self.lock();
        let open = state.open.iter().map(|(id, it)| (id, &it.credential));
        let ending = state.ending.iter().map(|(id, it)| (id, &it.credential));
        let all = open.chain(ending);
        let revoked = all.filter(|(_, it)| it.as_ref().is_some_and(&is_revoked));
        revoked.map(|(id, _)| id.clone()).collect()
    }
}
