//! A daemon actor without a server: tests send it requests directly, and hold the lock that its
//! workflows wait for.

use std::fs::{File, OpenOptions};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use scene_schemas::api::{
    Chat, Failure, Hello, OpenPlace, PROTOCOL, PairRequest, SessionId, Welcome, WorkflowStarted,
};
use scene_schemas::entry::{Entry, InteractionMode, Place, Seq, StudioPlace};
use scene_schemas::proposal::Mode;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::time::timeout;
use vector_daemon::daemon::DaemonActor;
use vector_daemon::server::{DaemonHandle, DaemonRequest, EventHub, Reply, TokenHash};
use vector_ledger::{AppendBatch, Ledger};
use vector_tests::binary::Home;

/// An upper bound on any wait in these tests.
const PATIENCE: Duration = Duration::from_mins(1);

/// The pending answer to a request.
pub(super) type Answer<T> = oneshot::Receiver<Result<T, Failure>>;

/// A daemon actor whose idle limit is zero, so that `Tidy` closes sessions at once.
pub(super) struct Bench {
    pub(super) home: Home,
    pub(super) ledger: Arc<Ledger>,
    pub(super) board: Arc<EventHub>,
    pub(super) desk: DaemonHandle,
    pub(super) house: JoinHandle<()>,
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
        let house =
            DaemonActor::new(home.path(), Arc::clone(&ledger), Arc::clone(&board), say).unwrap();
        let mut house = house.with_idle_limit(Duration::ZERO);
        house.print_code().unwrap();
        let (desk, asks) = DaemonHandle::new();
        let house = thread::spawn(move || house.run(asks));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        Self { home, ledger, board, desk, house, said, runtime }
    }

    /// Sends a request without waiting for the answer.
    pub(super) fn begin<T>(&self, ask: impl FnOnce(Reply<T>) -> DaemonRequest) -> Answer<T> {
        let (reply, answer) = oneshot::channel();
        assert!(self.desk.send(ask(reply)), "it is there");
        answer
    }

    /// Waits for the answer.
    #[track_caller]
    pub(super) fn wait<T>(&self, answer: Answer<T>) -> Result<T, Failure> {
        let answer = self.runtime.block_on(async { timeout(PATIENCE, answer).await });
        answer.expect("it is answered in time").expect("it is answered")
    }

    #[track_caller]
    pub(super) fn ask<T>(&self, ask: impl FnOnce(Reply<T>) -> DaemonRequest) -> Result<T, Failure> {
        self.wait(self.begin(ask))
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
        self.ask(|reply| DaemonRequest::Pair(PairRequest { code }, reply)).unwrap().credential
    }

    pub(super) fn hello(&self, credential: &str) -> Answer<Welcome> {
        let hello = Hello {
            protocol: PROTOCOL,
            plugin: "test".to_owned(),
            credential: Some(credential.to_owned()),
            session: window(),
            place: OpenPlace { name: "Place1".to_owned(), place_id: 0 },
        };
        self.begin(|reply| DaemonRequest::Hello(Box::new(hello), reply))
    }

    pub(super) fn chat(&self, epoch: u64) -> Answer<WorkflowStarted> {
        let text = "rename game.Workspace.Wall to Tower".to_owned();
        let (attached, stance, request, begins) = (Vec::new(), InteractionMode::Act, None, false);
        let chat = Chat { session: window(), epoch, text, attached, stance, begins, request };
        self.begin(|reply| DaemonRequest::Chat(chat, reply))
    }

    pub(super) fn sessions(&self) -> usize {
        self.ask(DaemonRequest::Sessions).unwrap().sessions.len()
    }

    /// Appends an unfinished workflow of an earlier process in this place.
    pub(super) fn left_in(&self, place: Place) -> Seq {
        let started = Entry::Started {
            place,
            goal: "Rename the wall".to_owned(),
            driver: "calls".to_owned(),
            mode: Mode::Confirm,
            attached: Vec::new(),
            stance: InteractionMode::Act,
            follows: None,
            guards: None,
            served: false,
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
