//! The handle of the daemon: its interface for the server.
//!
//! Requests to one open place go to that place's [`SessionHandle`]. Requests to the daemon as a
//! whole run as tasks on the daemon's thread, one after the other. Each method sends its task when
//! it is called; the returned future only waits.

use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use scene_schemas::api::{Failure, FailureKind, SessionId};
use scene_schemas::entry::Seq;
use tokio::sync::{mpsc, oneshot};
use vector_ledger::Ledger;

use super::DaemonActor;
use super::session_registry::SessionRegistry;
use super::views::plugin_away;
use crate::event_hub::EventHub;
use crate::failure::failure;
use crate::history::{HistoryIndex, UsageMeter};
use crate::session::{Answer, Reply, SessionHandle};

/// The interval at which silent sessions are closed.
const IDLE_CHECK: Duration = Duration::from_mins(1);
/// The interval at which changes by other processes are looked for.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// A task for the daemon's thread.
pub(super) type DaemonTask = Box<dyn FnOnce(&mut DaemonActor) + Send>;

/// The state that the handles share with the daemon.
pub(super) struct HandleState {
    pub(super) ledger: Arc<Ledger>,
    pub(super) event_hub: Arc<EventHub>,
    pub(super) sessions: Arc<SessionRegistry>,
    pub(super) history_index: Arc<HistoryIndex>,
    pub(super) usage_meter: Arc<UsageMeter>,
}

#[derive(Clone)]
pub struct DaemonHandle {
    tasks: mpsc::UnboundedSender<DaemonTask>,
    pub(super) state: Arc<HandleState>,
}

impl fmt::Debug for DaemonHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DaemonHandle")
    }
}

impl DaemonHandle {
    pub(super) fn new(tasks: mpsc::UnboundedSender<DaemonTask>, state: Arc<HandleState>) -> Self {
        Self { tasks, state }
    }

    /// Returns the session of an open place.
    ///
    /// # Errors
    /// No session is open under this id.
    pub fn session(&self, id: &SessionId) -> Result<SessionHandle, Failure> {
        self.state.sessions.get(id).map(|session| session.handle).ok_or_else(plugin_away)
    }

    /// Runs a task on the daemon's thread.
    pub(super) fn run<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut DaemonActor) -> Result<T, Failure> + Send + 'static,
    ) -> Answer<T> {
        self.run_with_reply(|daemon, reply| drop(reply.send(task(daemon))))
    }

    /// Runs a task whose reply is sent later.
    pub(super) fn run_with_reply<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut DaemonActor, Reply<T>) + Send + 'static,
    ) -> Answer<T> {
        let (reply, answer) = oneshot::channel();
        // A daemon that has ended drops the reply.
        self.send(move |daemon| task(daemon, reply));
        Answer::new(answer, daemon_closed)
    }

    /// Runs a task that has no reply. Returns false if the daemon has ended.
    pub(super) fn send(&self, task: impl FnOnce(&mut DaemonActor) + Send + 'static) -> bool {
        self.tasks.send(Box::new(task)).is_ok()
    }

    /// Closes silent sessions at an interval until the daemon ends.
    pub async fn close_idle_sessions_repeatedly(self) {
        loop {
            tokio::time::sleep(IDLE_CHECK).await;
            if !self.close_idle_sessions() {
                return;
            }
        }
    }

    /// Looks for changes by other processes at an interval until the daemon ends. Such changes are
    /// not announced.
    pub async fn poll_changes_repeatedly(self) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            if !self.poll_changes() {
                return;
            }
        }
    }

    /// Closes the sessions whose plugin has been silent for too long. Returns false if the daemon
    /// has ended.
    pub fn close_idle_sessions(&self) -> bool {
        self.send(DaemonActor::close_idle_sessions)
    }

    /// Looks for what other processes have written. Returns false if the daemon has ended.
    pub fn poll_changes(&self) -> bool {
        self.send(DaemonActor::poll_changes)
    }

    /// Returns the session that an entry's workflow belongs to.
    pub(super) async fn session_of_entry(&self, seq: Seq) -> Result<SessionHandle, Failure> {
        // The event hub knows the sessions of recent proposals, which saves a task on the daemon's
        // thread.
        let recent = self.state.event_hub.session_of_proposal(seq);
        if let Some(session) = recent.and_then(|id| self.state.sessions.get(&id)) {
            return Ok(session.handle);
        }
        self.run(move |daemon| daemon.session_of_entry(seq)).await
    }
}

#[cfg(test)]
impl DaemonHandle {
    /// Creates a handle without a daemon. Also returns the folder of its ledger.
    pub(crate) fn without_daemon(event_hub: &Arc<EventHub>) -> (Self, tempfile::TempDir) {
        let home = tempfile::tempdir().unwrap();
        let state = HandleState {
            ledger: Arc::new(Ledger::open(home.path()).unwrap()),
            event_hub: Arc::clone(event_hub),
            sessions: Arc::default(),
            history_index: Arc::default(),
            usage_meter: Arc::default(),
        };
        (Self::new(mpsc::unbounded_channel().0, Arc::new(state)), home)
    }

    /// Adds a session whose messages a test reads.
    pub(crate) fn add_session(&self) -> std::sync::mpsc::Receiver<crate::session::SessionMessage> {
        let (sender, messages) = std::sync::mpsc::channel();
        let place = scene_schemas::entry::FilePlace {
            file: "place.rbxl".to_owned(),
            out: None,
            hash: scene_schemas::Fingerprint::hash_bytes(b""),
            replaces: None,
        };
        let session = super::session_registry::OpenSession {
            handle: SessionHandle::new(std::sync::Weak::new(), sender),
            thread: thread::current().id(),
            place: scene_schemas::entry::Place::File(place),
            credential: None,
        };
        self.state.sessions.insert(SessionId("place".to_owned()), session);
        messages
    }
}

/// Runs work that may take long on a separate thread.
pub(super) fn run_on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Answer<T> {
    let (reply, answer) = oneshot::channel();
    // A thread that cannot be started, or that panics, drops the reply.
    let _ = thread::Builder::new().spawn(move || drop(reply.send(work())));
    Answer::new(answer, || {
        let message = "The request stopped within Vector.";
        failure(FailureKind::Internal, message, "Try again.")
    })
}

pub(crate) fn daemon_closed() -> Failure {
    failure(FailureKind::Internal, "Vector is closing down.", "Start it again with `vector serve`.")
}
