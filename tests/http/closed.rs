//! Sessions whose plugin has not been heard of for long.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use scene_schemas::api::{
    Chat, Failure, Hello, OpenPlace, PROTOCOL, Pair, SessionId, Welcome, WorkflowState,
};
use scene_schemas::entry::{Seq, Stance};
use tokio::runtime::Runtime;
use vector_daemon::engine::house::House;
use vector_daemon::ledger::Ledger;
use vector_daemon::server::{Ask, Board, Desk, Reply, Secret, Verb};
use vector_tests::binary::Home;

/// A house without a server before it, which closes what it is told to tidy at once.
struct Bench {
    _home: Home,
    board: Arc<Board>,
    desk: Desk,
    said: Arc<Mutex<Vec<String>>>,
    runtime: Runtime,
}

impl Bench {
    fn new() -> Self {
        let home = Home::new();
        let ledger = Arc::new(Ledger::open(home.path()).unwrap());
        let board = Arc::new(Board::new(Secret::of("a person's")));
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        let say = Box::new(move |text: &str| heard.lock().unwrap().push(text.to_owned()));
        let house = House::new(home.path(), ledger, Arc::clone(&board), say).unwrap();
        let house = house.closing_after(Duration::ZERO);
        let (desk, asks) = Desk::new();
        thread::spawn(move || house.run(asks));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        Self { _home: home, board, desk, said, runtime }
    }

    fn ask<T>(&self, ask: impl FnOnce(Reply<T>) -> Ask) -> Result<T, Failure> {
        self.runtime.block_on(self.desk.ask(ask))
    }

    fn pair(&self) -> String {
        let code = self.said.lock().unwrap().last().unwrap().clone();
        self.ask(|reply| Ask::Pair(Pair { code }, reply)).unwrap().credential
    }

    fn hello(&self, credential: &str) -> Welcome {
        let hello = Hello {
            protocol: PROTOCOL,
            plugin: "test".to_owned(),
            credential: Some(credential.to_owned()),
            session: window(),
            place: OpenPlace { name: "Place1".to_owned(), place_id: 0 },
        };
        self.ask(|reply| Ask::Hello(Box::new(hello), reply)).unwrap()
    }

    fn state(&self, workflow: Seq) -> WorkflowState {
        self.ask(|reply| Ask::Workflow(workflow, reply)).unwrap().state
    }

    fn sessions(&self) -> usize {
        self.ask(Ask::Sessions).unwrap().sessions.len()
    }
}

fn window() -> SessionId {
    SessionId("window-1".to_owned())
}

#[test]
fn a_session_that_is_gone_for_long_is_closed_and_goes_on_when_it_comes_back() {
    let bench = Bench::new();
    let credential = bench.pair();
    let epoch = bench.hello(&credential).epoch;
    let text = "rename game.Workspace.Wall to Tower".to_owned();
    let (attached, stance, request) = (Vec::new(), Stance::Act, None);
    let begins = false;
    let chat = Chat { session: window(), epoch, text, attached, stance, begins, request };
    let workflow = bench.ask(|reply| Ask::Chat(chat, reply)).unwrap().workflow;
    assert_eq!((bench.sessions(), bench.state(workflow)), (1, WorkflowState::Working));
    let seat = Arc::downgrade(&bench.board.seat(&window()).unwrap());
    bench.desk.tell(Ask::Tidy);
    assert_eq!((bench.sessions(), bench.state(workflow)), (0, WorkflowState::Away));
    assert_eq!(seat.strong_count(), 0, "its thread and its mirror go as well");
    assert!(bench.hello(&credential).epoch > epoch);
    assert_eq!((bench.sessions(), bench.state(workflow)), (1, WorkflowState::Working));
    bench.desk.tell(Ask::Tidy);
    let ended = bench.ask(|reply| Ask::Do(workflow, Verb::Cancel, reply)).unwrap();
    assert_eq!(ended.state, WorkflowState::Finished, "what is away can be ended");
}
