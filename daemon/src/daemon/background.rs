//! What takes long is done beside the house, on threads of their own, and comes back to it here: the
//! house answers others meanwhile.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread, ThreadId};

use scene_schemas::api::SessionId;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::DaemonActor;
use super::open_place::{NotOpened, OpenRequest, ReadOutcome};
use crate::server::DaemonRequest;

pub(super) enum JobResult {
    /// Which file that is which somebody wants opened.
    Located(OpenRequest, Result<PathBuf, NotOpened>),
    /// A file was read, or could not be.
    FileRead(OpenRequest, Box<ReadOutcome>),
    /// A session has ended, which had this thread.
    SessionEnded(SessionId, ThreadId),
}

/// The way back, and who waits at its end.
pub(super) struct BackgroundJobs {
    sender: UnboundedSender<JobResult>,
    receiver: UnboundedReceiver<JobResult>,
}

/// The thread that waits for what is heard next.
struct ParkedThread(Thread);

impl Wake for ParkedThread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// What the thread of a session drops last, also where it panics.
pub(super) struct SessionEndGuard {
    sender: UnboundedSender<JobResult>,
    session: SessionId,
}

impl Drop for SessionEndGuard {
    fn drop(&mut self) {
        let _ =
            self.sender.send(JobResult::SessionEnded(self.session.clone(), thread::current().id()));
    }
}

/// What the house hears next.
pub(super) enum NextEvent {
    Request(DaemonRequest),
    JobDone(JobResult),
}

impl BackgroundJobs {
    pub(super) fn new() -> Self {
        let (sender, receiver) = unbounded_channel();
        Self { sender, receiver }
    }

    /// Waits for what is heard next; none where nobody can ask any more.
    pub(super) fn next(
        &mut self,
        asks: &mut UnboundedReceiver<DaemonRequest>,
    ) -> Option<NextEvent> {
        let waker = Waker::from(Arc::new(ParkedThread(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(Some(back)) = self.receiver.poll_recv(&mut context) {
                return Some(NextEvent::JobDone(back));
            }
            if let Poll::Ready(ask) = asks.poll_recv(&mut context) {
                return ask.map(NextEvent::Request);
            }
            thread::park();
        }
    }

    /// Says that a session has ended when its thread drops this.
    pub(super) fn end_guard(&self, session: SessionId) -> SessionEndGuard {
        SessionEndGuard { sender: self.sender.clone(), session }
    }

    /// Does something on a thread of its own. A house that has ended needs to hear nothing.
    pub(super) fn spawn(
        &self,
        work: impl FnOnce() -> JobResult + Send + 'static,
    ) -> io::Result<()> {
        let back = self.sender.clone();
        let thread = thread::Builder::new().name("beside".to_owned());
        thread.spawn(move || drop(back.send(work()))).map(drop)
    }
}

impl DaemonActor {
    pub(super) fn handle_event(&mut self, next: NextEvent) {
        match next {
            NextEvent::Request(ask) => self.handle_request(ask),
            NextEvent::JobDone(JobResult::Located(wish, file)) => self.finish_locating(&wish, file),
            NextEvent::JobDone(JobResult::FileRead(wish, read)) => {
                self.finish_reading(&wish, *read);
            }
            NextEvent::JobDone(JobResult::SessionEnded(session, thread)) => {
                self.finish_session(&session, thread);
            }
        }
    }
}
