//! A daemon without a server: a test calls its handle, and holds what others wait for.

use std::fs::{File, OpenOptions};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use futures_util::future::poll_immediate;
use scene_schemas::api::{
    Chat, Failure, Hello, OpenPlace, PROTOCOL, PairRequest, SessionId, Welcome, WorkflowStarted,
};
use scene_schemas::entry::{Entry, InteractionMode, Place, Seq, StudioPlace};
use scene_schemas::proposal::Mode;
use scene_schemas::review::TaskRole;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::time::timeout;
use vector_daemon::daemon::{DaemonActor, DaemonHandle};
use vector_daemon::event_hub::{EventHub, TokenHash};
use vector_ledger::{AppendBatch, Ledger};
use vector_tests::binary::Home;

/// An upper bound on any wait in these tests.
const PATIENCE: Duration = Duration::from_mins(1);

/// The pending answer to a request.
pub(super) type Answer<T> = oneshot::Receiver<Result<T, Failure>>;

/// A daemon whose idle limit is zero, so that it closes sessions as soon as it looks for idle ones.
pub(super) struct Bench {
    pub(super) home: Home,
    pub(super) ledger: Arc<Ledger>,
    pub(super) board: Arc<EventHub>,
    pub(super) daemon: DaemonHandle,
    pub(super) thread: JoinHandle<()>,
    said: Arc<Mutex<Vec<String>>>,
    runtime: Runtime,
}

impl Bench {
    pub(super) fn new() -> Self {
        let home = Home::new();
        let ledger = Arc::new(Ledger::open(home.path()).unwrap());
        let board = Arc::new(EventHub::new(TokenHash::of_token("a person's")));
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        let say = Box::new(move |text: &str| heard.lock().unwrap().push(text.to_owned()));
        let (actor, daemon) =
            DaemonActor::new(home.path(), Arc::clone(&ledger), Arc::clone(&board), say).unwrap();
        let mut actor = actor.with_idle_limit(Duration::ZERO);
        actor.print_code().unwrap();
        let thread = thread::spawn(move || actor.run());
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_time().build().unwrap();
        Self { home, ledger, board, daemon, thread, said, runtime }
    }

    /// Calls the handle. What the call sends first is sent when this returns; the answer comes later.
    pub(super) fn begin<T, F>(&self, call: impl FnOnce(DaemonHandle) -> F) -> Answer<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        let (mut reply, answer) = oneshot::channel();
        let mut call = Box::pin(call(self.daemon.clone()));
        let first = self.runtime.block_on(async { poll_immediate(&mut call).await });
        match first {
            Some(result) => drop(reply.send(result)),
            None => drop(self.runtime.spawn(async move {
                // A client that goes drops its request.
                tokio::select! {
                    result = call => drop(reply.send(result)),
                    () = reply.closed() => {}
                }
            })),
        }
        answer
    }

    /// Waits for the answer.
    #[track_caller]
    pub(super) fn wait<T>(&self, answer: Answer<T>) -> Result<T, Failure> {
        let answer = self.runtime.block_on(async { timeout(PATIENCE, answer).await });
        answer.expect("it is answered in time").expect("it is answered")
    }

    #[track_caller]
    pub(super) fn ask<T, F>(&self, call: impl FnOnce(DaemonHandle) -> F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        self.wait(self.begin(call))
    }

    /// Locks the ledger: until the file is dropped or unlocked, taking up or releasing a workflow
    /// blocks.
    pub(super) fn hold(&self) -> File {
        let lock = self.home.path().join("ledger.lock");
        let file = OpenOptions::new().write(true).open(lock).unwrap();
        file.lock().unwrap();
        file
    }

    /// The number of printed messages that contain `what`.
    pub(super) fn said(&self, what: &str) -> usize {
        self.said.lock().unwrap().iter().filter(|it| it.contains(what)).count()
    }

    pub(super) fn pair(&self) -> String {
        let code = self.said.lock().unwrap().last().unwrap().clone();
        self.ask(|daemon| daemon.pair(PairRequest { code })).unwrap().credential
    }

    pub(super) fn hello(&self, credential: &str) -> Answer<Welcome> {
        let hello = Hello {
            protocol: PROTOCOL,
            plugin: "test".to_owned(),
            credential: Some(credential.to_owned()),
            session: window(),
            place: OpenPlace { name: "Place1".to_owned(), place_id: 0 },
        };
        self.begin(|daemon| async move { daemon.hello(hello).await })
    }

    pub(super) fn chat(&self, epoch: u64) -> Answer<WorkflowStarted> {
        let text = "rename game.Workspace.Wall to Tower".to_owned();
        let (attached, interaction, request, begins) =
            (Vec::new(), InteractionMode::Act, None, false);
        let (session, selected, confirmed) = (window(), Vec::new(), false);
        let chat = Chat {
            session,
            epoch,
            text,
            attached,
            selected,
            interaction,
            begins,
            workers: false,
            confirmed,
            request,
        };
        self.begin(|daemon| daemon.session(&window()).unwrap().chat(chat, false))
    }

    pub(super) fn sessions(&self) -> usize {
        self.ask(|daemon| daemon.list_sessions()).unwrap().sessions.len()
    }

    /// Appends an unfinished workflow of an earlier process in this place.
    pub(super) fn left_in(&self, place: Place) -> Seq {
        let started = Entry::Started {
            place,
            goal: "Rename the wall".to_owned(),
            driver: "calls".to_owned(),
            mode: Mode::Confirm,
            attached: Vec::new(),
            interaction: InteractionMode::Act,
            follows: None,
            guards: None,
            served: false,
            role: TaskRole::Solo,
            requested_by: None,
        };
        let batch = AppendBatch { workflow: None, entries: vec![started], blobs: Vec::new() };
        self.ledger.append(batch).unwrap()[0].seq
    }
}

pub(super) fn window() -> SessionId {
    SessionId("window-1".to_owned())
}

/// The place of the window, as an earlier process recorded it.
pub(super) fn of_window() -> Place {
    let place = OpenPlace { name: "Place1".to_owned(), place_id: 0 };
    Place::Open(StudioPlace { session: window(), place })
}
