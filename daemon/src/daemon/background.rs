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
use super::open_place::{NotOpened, OpenRequest, WasRead};
use crate::server::DaemonRequest;

pub(super) enum JobResult {
    /// Which file that is which somebody wants opened.
    Found(OpenRequest, Result<PathBuf, NotOpened>),
    /// A file was read, or could not be.
    Read(OpenRequest, Box<WasRead>),
    /// A session has ended, which had this thread.
    Ended(SessionId, ThreadId),
}

/// The way back, and who waits at its end.
pub(super) struct BackgroundJobs {
    back: UnboundedSender<JobResult>,
    came: UnboundedReceiver<JobResult>,
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
    back: UnboundedSender<JobResult>,
    session: SessionId,
}

impl Drop for SessionEndGuard {
    fn drop(&mut self) {
        let _ = self.back.send(JobResult::Ended(self.session.clone(), thread::current().id()));
    }
}

/// What the house hears next.
pub(super) enum NextEvent {
    Ask(DaemonRequest),
    Back(JobResult),
}

impl BackgroundJobs {
    pub(super) fn new() -> Self {
        let (back, came) = unbounded_channel();
        Self { back, came }
    }

    /// Waits for what is heard next; none where nobody can ask any more.
    pub(super) fn next(
        &mut self,
        asks: &mut UnboundedReceiver<DaemonRequest>,
    ) -> Option<NextEvent> {
        let waker = Waker::from(Arc::new(ParkedThread(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(Some(back)) = self.came.poll_recv(&mut context) {
                return Some(NextEvent::Back(back));
            }
            if let Poll::Ready(ask) = asks.poll_recv(&mut context) {
                return ask.map(NextEvent::Ask);
            }
            thread::park();
        }
    }

    /// Says that a session has ended when its thread drops this.
    pub(super) fn end_guard(&self, session: SessionId) -> SessionEndGuard {
        SessionEndGuard { back: self.back.clone(), session }
    }

    /// Does something on a thread of its own. A house that has ended needs to hear nothing.
    pub(super) fn spawn(
        &self,
        work: impl FnOnce() -> JobResult + Send + 'static,
    ) -> io::Result<()> {
        let back = self.back.clone();
        let thread = thread::Builder::new().name("beside".to_owned());
        thread.spawn(move || drop(back.send(work()))).map(drop)
    }
}

impl DaemonActor {
    pub(super) fn handle_event(&mut self, next: NextEvent) {
        match next {
            NextEvent::Ask(ask) => self.handle_request(ask),
            NextEvent::Back(JobResult::Found(wish, file)) => self.finish_locating(&wish, file),
            NextEvent::Back(JobResult::Read(wish, read)) => self.was_read(&wish, *read),
            NextEvent::Back(JobResult::Ended(session, thread)) => self.has_ended(&session, thread),
        }
    }
}
