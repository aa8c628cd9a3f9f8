//! Clients that end in any way: they are shown as disconnected at once, and their proposals can
//! still be decided.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use scene_schemas::api::{AgentCall, AgentCallOutcome, CallView, ProposalStatus};
use scene_schemas::entry::Seq;
use serde_json::{Value as Json, json};
use vector_daemon::daemon::{DaemonActor, DaemonHandle};
use vector_daemon::event_hub::{EventHub, TokenHash};
use vector_ledger::Ledger;
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;
use vector_tests::mcp::Client;

use super::stdio::StdioClient;
use super::{Person, place};

/// An upper bound for every wait.
const PATIENCE: Duration = Duration::from_mins(1);
/// The polling interval.
const LOOKED: Duration = Duration::from_millis(20);

#[track_caller]
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "it never came: {what}");
        thread::park_timeout(LOOKED);
    }
}

/// How a client ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    EndOfInput,
    #[cfg(unix)]
    Signal(&'static str),
}

/// Every ending on this platform.
const ENDINGS: &[Ending] = &[
    Ending::EndOfInput,
    #[cfg(unix)]
    Ending::Signal("INT"),
    #[cfg(unix)]
    Ending::Signal("TERM"),
    #[cfg(unix)]
    Ending::Signal("KILL"),
];

fn end(client: &mut StdioClient, ending: Ending) {
    match ending {
        Ending::EndOfInput => client.close(),
        #[cfg(unix)]
        Ending::Signal(name) => {
            let mut kill = Command::new("kill");
            let sent = kill.arg(format!("-{name}")).arg(client.process.id().to_string()).status();
            assert!(sent.unwrap().success());
        }
    }
    until("the end of vector mcp", || client.process.try_wait().unwrap());
}

fn part(name: &str) -> Json {
    json!({ "className": "Part", "parentPath": "game.Workspace", "props": { "Name": name } })
}

fn serve(home: &Home, place: &std::path::Path) -> Daemon {
    Daemon::of_place(binary::vector(), home.path(), place)
}

#[test]
fn pending_proposals_survive_client_disconnect() {
    for ending in ENDINGS {
        let home = Home::new();
        let place = place(&home);
        let daemon = serve(&home, &place);
        let person = Person::beside(&home);
        let mut client = StdioClient::start(&home, &place, 50);
        client.call("create_instance", &part("Left"));
        let proposal = person.waiting();
        end(&mut client, *ending);
        let path = format!("/api/proposals/{}", proposal["seq"]);
        let view = until("the disconnected client", || {
            let view = person.call("GET", &path, &Json::Null).ok();
            view.get("disconnected").is_some().then_some(view)
        });
        assert_eq!(view["disconnected"], "a client", "{ending:?}: {view}");
        assert_eq!(view["status"], "waiting", "{ending:?}: {view}");
        assert_eq!(person.workflows()[0]["state"], "disconnected", "{ending:?}");
        let run = |args: &[&str]| {
            let home = home.path().to_str().unwrap();
            let printed = Command::new(binary::vector()).args(["--home", home]).args(args).output();
            String::from_utf8(printed.unwrap().stdout).unwrap()
        };
        let log = run(&["log"]);
        assert!(log.contains("ended, a client disconnected"), "{ending:?}: {log}");
        let token = fs::read_to_string(home.path().join("token")).unwrap();
        let token = token.split_whitespace().nth(1).unwrap().to_owned();
        let header = |name: &str, value: String| (name.to_owned(), value);
        let headers = [
            header("Host", format!("127.0.0.1:{}", daemon.port)),
            header("Authorization", format!("Bearer {token}")),
        ];
        let page = daemon.text("GET", "/page/proposals", &headers, b"");
        assert!(page.contains("mcp/a client (disconnected)"), "{ending:?}: {page}");
        let reviewed = run(&["review", "--once", "--yes", "--json"]);
        assert!(reviewed.contains("\"disconnected\":\"a client\""), "{ending:?}: {reviewed}");
        until("the end of its run", || {
            (person.workflows()[0]["state"] == "finished").then_some(())
        });
        assert!(fs::read_to_string(&place).unwrap().contains("Left"), "{ending:?}");
    }
}

#[test]
fn workflow_without_pending_proposals_ends_with_its_client() {
    for ending in ENDINGS {
        let home = Home::new();
        let place = place(&home);
        let _daemon = serve(&home, &place);
        let person = Person::beside(&home);
        let mut client = StdioClient::start(&home, &place, 50);
        let read = client.call("list_children", &json!({ "parentPath": "game" }));
        client.answer(read);
        assert_eq!(person.workflows()[0]["state"], "idle", "{ending:?}");
        end(&mut client, *ending);
        until("the end of its run", || {
            (person.workflows()[0]["state"] == "finished").then_some(())
        });
    }
}

#[test]
fn requests_before_end_of_input_are_answered() {
    let home = Home::new();
    let place = place(&home);
    let _daemon = serve(&home, &place);
    let mut client = StdioClient::start(&home, &place, 50);
    let read = client.call("list_children", &json!({ "parentPath": "game" }));
    let change = client.call("create_instance", &part("Late"));
    client.close();
    let mut answers: Vec<Json> = Vec::new();
    for line in client.output.by_ref().map_while(Result::ok) {
        answers.push(serde_json::from_str(&line).unwrap());
    }
    let of = |id: u64| &answers.iter().find(|it| it["id"] == id).expect("it is answered")["result"];
    assert!(of(read)["content"][0]["text"].as_str().unwrap().contains("game.Workspace"));
    assert_eq!(of(change)["structuredContent"]["status"], "pending");
}

#[test]
fn reconnected_client_finds_its_proposal() {
    let home = Home::new();
    let place = place(&home);
    let _daemon = serve(&home, &place);
    let person = Person::beside(&home);
    let mut first = StdioClient::start(&home, &place, 1);
    let call = first.call("create_instance", &part("Found"));
    let id = first.answer(call)["structuredContent"]["id"].clone();
    let proposal = person.waiting();
    end(&mut first, ENDINGS[0]);
    let mut second = StdioClient::start(&home, &place, 1);
    let listed = second.call("proposal_status", &json!({}));
    let text = second.answer(listed)["structuredContent"]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("(a client disconnected, in "), "{text}");
    let status = second.call("proposal_status", &json!({ "id": id, "wait": 50 }));
    person.decide(&proposal, &json!({ "say": "approve" })).ok();
    let told = second.answer(status)["structuredContent"].clone();
    assert_eq!((&told["status"], &told["id"]), (&json!("applied"), &id), "{told}");
}

/// Connects over HTTP, proposes, and then deletes the session or breaks the connection.
fn over_http(order: &str) {
    let Some(mut client) = Client::new() else { return };
    let home = Home::new();
    let place = place(&home);
    let daemon = serve(&home, &place);
    let person = Person::beside(&home);
    let url = format!("http://127.0.0.1:{}/mcp", daemon.port);
    let token = Daemon::agent_token(home.path());
    client.done("connect", json!({ "http": { "url": url, "token": token } }));
    client.calling("create_instance", part("Remote"));
    let proposal = person.waiting();
    client.order(order, json!({}));
    until("the disconnected client", || {
        (person.workflows()[0]["state"] == "disconnected").then_some(())
    });
    person.decide(&proposal, &json!({ "say": "approve" })).ok();
    until("the end of its run", || (person.workflows()[0]["state"] == "finished").then_some(()));
    assert!(fs::read_to_string(&place).unwrap().contains("Remote"));
}

#[test]
fn proposal_survives_deletion_of_its_http_session() {
    over_http("end");
}

#[test]
fn proposal_survives_loss_of_its_http_connection() {
    over_http("close");
}

/// A daemon with an open place, without a server.
struct OpenDaemon {
    _home: Home,
    daemon: DaemonHandle,
    runtime: tokio::runtime::Runtime,
}

impl OpenDaemon {
    fn keeping(limit: Option<Duration>) -> Self {
        let home = Home::new();
        let place = place(&home);
        let ledger = Arc::new(Ledger::open(home.path()).unwrap());
        let board = Arc::new(EventHub::new(TokenHash::of_token("a person's")));
        let (actor, daemon) =
            DaemonActor::new(home.path(), ledger, board, Box::new(|_: &str| {})).unwrap();
        let mut actor = actor.with_pending_limit(limit);
        actor.open_place(&place).unwrap();
        thread::spawn(move || actor.run());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        Self { _home: home, daemon, runtime }
    }

    fn call(&self, tool: &str, args: Json) -> CallView {
        let call = AgentCall {
            connection: "one".to_owned(),
            client: "a client".to_owned(),
            id: "1".to_owned(),
            session: None,
            tool: tool.to_owned(),
            args,
            hold: 30,
            again: false,
        };
        self.runtime.block_on(self.daemon.call_tool(call)).unwrap()
    }

    fn became(&self, call: Seq) -> AgentCallOutcome {
        self.runtime.block_on(self.daemon.call_status(call)).unwrap().outcome
    }
}

#[test]
fn undecided_proposal_is_withdrawn_after_the_time_limit() {
    for (limit, is_kept) in [(Some(Duration::from_secs(1)), false), (None, true)] {
        let house = OpenDaemon::keeping(limit);
        let call = house.call("create_instance", part("Late")).call;
        let waits = |became: &AgentCallOutcome| matches!(became, AgentCallOutcome::Pending { .. });
        house.daemon.close_idle_sessions();
        assert!(waits(&house.became(call)), "its client is there");
        house.daemon.end_connection("one");
        if is_kept {
            house.daemon.close_idle_sessions();
            assert!(waits(&house.became(call)));
            continue;
        }
        let became = until("its withdrawal", || {
            house.daemon.close_idle_sessions();
            Some(house.became(call)).filter(|it| !waits(it))
        });
        let AgentCallOutcome::Refused { reason, status, .. } = became else { panic!("{became:?}") };
        assert_eq!(status, Some(ProposalStatus::Withdrawn));
        assert!(
            reason.starts_with("a client disconnected, and no decision was made within"),
            "{reason}"
        );
    }
}
