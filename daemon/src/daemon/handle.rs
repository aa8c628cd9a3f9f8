//! The handle of the daemon: its interface for the server.
//!
//! Requests to one open place go to that place's [`SessionHandle`]. Requests to the daemon as a
//! whole run as tasks on the daemon's thread, one after the other. A method that returns an
//! [`Answer`] has sent its task when it returns; an async method sends when it is first polled.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use scene_schemas::api::{Failure, FailureKind, SessionId};
use tokio::sync::{mpsc, oneshot};
use vector_ledger::Ledger;

use super::DaemonActor;
use super::session_registry::SessionRegistry;
use super::verifies::VerifyRuns;
use super::views::plugin_away;
use crate::asset_store::AssetStore;
use crate::event_hub::EventHub;
use crate::failure::failure;
use crate::history::{HistoryIndex, UsageMeter};
use crate::session::{Answer, Reply, SessionHandle, SessionMessage};

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
    pub(super) asset_store: Arc<AssetStore>,
    pub(super) verifies: Arc<Mutex<VerifyRuns>>,
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
        self.state.sessions.handle(id).ok_or_else(plugin_away)
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

    /// Finds a session and sends it a message in one task, before the daemon can end the session.
    pub(super) fn forward<T: Send + 'static>(
        &self,
        find: impl FnOnce(&mut DaemonActor) -> Result<SessionHandle, Failure> + Send + 'static,
        message: impl FnOnce(Reply<T>) -> SessionMessage + Send + 'static,
    ) -> Answer<T> {
        self.run_with_reply(move |daemon, reply| match find(daemon) {
            Ok(session) => drop(session.send(message(reply))),
            Err(failure) => drop(reply.send(Err(failure))),
        })
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
}

#[cfg(test)]
impl DaemonHandle {
    /// A daemon for a test, and the folder of its ledger.
    pub(crate) fn for_tests(event_hub: &Arc<EventHub>) -> (Self, tempfile::TempDir) {
        let home = tempfile::tempdir().unwrap();
        let ledger = Arc::new(Ledger::open(home.path()).unwrap());
        let notify = Box::new(|_: &str| {});
        let (actor, handle) =
            DaemonActor::new(home.path(), ledger, Arc::clone(event_hub), notify).unwrap();
        thread::spawn(move || actor.run());
        (handle, home)
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
            handle: SessionHandle::for_tests(sender),
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
        let message = "An internal error stopped the request.";
        failure(FailureKind::Internal, message, "Try again.")
    })
}

pub(crate) fn daemon_closed() -> Failure {
    failure(
        FailureKind::Internal,
        "Vector is shutting down.",
        "Start it again with `vector serve`.",
    )
}
