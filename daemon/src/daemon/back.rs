//! What takes long is done beside the house, on threads of their own, and comes back to it here: the
//! house answers others meanwhile.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread, ThreadId};

use scene_schemas::api::SessionId;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::House;
use super::opened::{NotOpened, WasRead, Wish};
use crate::server::Ask;

/// What comes back.
pub(super) enum Back {
    /// Which file that is which somebody wants opened.
    Found(Wish, Result<PathBuf, NotOpened>),
    /// A file was read, or could not be.
    Read(Wish, Box<WasRead>),
    /// A session has ended, which had this thread.
    Ended(SessionId, ThreadId),
}

/// The way back, and who waits at its end.
pub(super) struct Ways {
    back: UnboundedSender<Back>,
    came: UnboundedReceiver<Back>,
}

/// The thread that waits for what is heard next.
struct Woken(Thread);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// What the thread of a session drops last, also where it panics.
pub(super) struct Ends {
    back: UnboundedSender<Back>,
    session: SessionId,
}

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.back.send(Back::Ended(self.session.clone(), thread::current().id()));
    }
}

/// What the house hears next.
pub(super) enum Next {
    Ask(Ask),
    Back(Back),
}

impl Ways {
    pub(super) fn new() -> Self {
        let (back, came) = unbounded_channel();
        Self { back, came }
    }

    /// Waits for what is heard next; none where nobody can ask any more.
    pub(super) fn next(&mut self, asks: &mut UnboundedReceiver<Ask>) -> Option<Next> {
        let waker = Waker::from(Arc::new(Woken(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(Some(back)) = self.came.poll_recv(&mut context) {
                return Some(Next::Back(back));
            }
            if let Poll::Ready(ask) = asks.poll_recv(&mut context) {
                return ask.map(Next::Ask);
            }
            thread::park();
        }
    }

    /// Says that a session has ended when its thread drops this.
    pub(super) fn ends(&self, session: SessionId) -> Ends {
        Ends { back: self.back.clone(), session }
    }

    /// Does something on a thread of its own. A house that has ended needs to hear nothing.
    pub(super) fn beside(&self, work: impl FnOnce() -> Back + Send + 'static) -> io::Result<()> {
        let back = self.back.clone();
        let thread = thread::Builder::new().name("beside".to_owned());
        thread.spawn(move || drop(back.send(work()))).map(drop)
    }
}

impl House {
    pub(super) fn hear(&mut self, next: Next) {
        match next {
            Next::Ask(ask) => self.answer(ask),
            Next::Back(Back::Found(wish, file)) => self.found(&wish, file),
            Next::Back(Back::Read(wish, read)) => self.was_read(&wish, *read),
            Next::Back(Back::Ended(session, thread)) => self.has_ended(&session, thread),
        }
    }
}
