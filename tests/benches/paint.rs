//! The time from a ledger entry to its pixels: the user adds message after message to a
//! conversation, and an open page shows them. Beside it a bare page, whose script reads the same
//! kind of stream and appends a paragraph for each event.
//!
//! Both times are of this machine's clock: the page adds `performance.now()` to its time origin.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};
use vector_tests::binary;
use vector_tests::browser::{Browser, Stage};
use vector_tests::daemon::Daemon;
use vector_tests::human::Human;
use vector_tests::places::{self, Format};

use super::{enter, percentile};

const ROUNDS: usize = 300;

/// Records when each element of a list was painted: right after the frame that follows its
/// insertion.
const TOLD: &str = "
    window.painted = {};
    new MutationObserver(changes => {
      const fresh = changes.flatMap(it => [...it.addedNodes]).map(it => it.dataset?.key).filter(it => it);
      if (fresh.length === 0) return;
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => {
          for (const key of fresh) window.painted[key] ??= performance.timeOrigin + performance.now();
        };
        port2.postMessage(0);
      });
    }).observe(document, { childList: true, subtree: true });";

/// A page that only appends.
const BARE: &str = "<!doctype html><title>bare</title><script type=module>
    const reader = (await fetch('/stream')).body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const blocks = (rest + value).split('\\n\\n');
      rest = blocks.pop();
      for (const block of blocks) {
        const paragraph = document.createElement('p');
        paragraph.dataset.key = block.slice(6);
        paragraph.textContent = `This was said as number ${block.slice(6)}.`;
        document.body.append(paragraph);
      }
    }</script>";

/// Milliseconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64() * 1e3
}

/// Waits for a short, varying time, so that entries are not in step with the frames.
fn pause(round: usize) {
    thread::sleep(Duration::from_millis(40 + (round as u64 * 7) % 17));
}

/// When each element was painted, in milliseconds since 1970.
fn painted(browser: &Browser<'_>, last: &str) -> serde_json::Map<String, Json> {
    browser.until(&format!("window.painted[{}]", json!(last)));
    browser.is("window.painted").as_object().unwrap().clone()
}

fn shown(name: &str, mut times: Vec<f64>) {
    let (p50, p99) = (percentile(&mut times, 0.5), percentile(&mut times, 0.99));
    println!("  {name:<42} p50 {p50:5.1} ms  p99 {p99:5.1} ms");
}

pub(crate) fn run(stage: &Stage) {
    println!("\nfrom an entry to its pixels, {ROUNDS} of them (goal: p99 under 100 ms)");
    bare(stage);
    page(stage);
}

fn bare(stage: &Stage) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (streams, opened) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            serve(stream, &streams);
        }
    });
    let browser = stage.browser();
    browser.expect("favicon.ico");
    browser.prepare(TOLD);
    browser.go(&format!("http://127.0.0.1:{port}/"));
    let mut stream: TcpStream = Receiver::recv(&opened).unwrap();
    let mut sent = Vec::new();
    for round in 0..ROUNDS {
        pause(round);
        sent.push(now());
        let event = format!("data: {round}\n\n");
        write!(stream, "{:x}\r\n{event}\r\n", event.len()).unwrap();
    }
    let painted = painted(&browser, &(ROUNDS - 1).to_string());
    let times = sent.iter().enumerate();
    let times = times.map(|(n, sent)| painted[&n.to_string()].as_f64().unwrap() - sent);
    shown("a bare page: from the write to the paint", times.collect());
    // Close the browser first: a stream that breaks off would be reported on its console.
    drop(browser);
    drop(stream);
}

/// Serves the bare page, or passes the connection of its stream on.
fn serve(mut stream: TcpStream, streams: &Sender<TcpStream>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let first = lines.next().unwrap_or_default();
    lines.find(String::is_empty);
    stream.set_nodelay(true).unwrap();
    if first.starts_with("GET /stream") {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        let _ = streams.send(stream);
        return;
    }
    let (status, body) =
        if first.starts_with("GET / ") { ("200 OK", BARE) } else { ("404 Not Found", "") };
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
}

/// Starts a model server that never answers, and returns its port.
fn silent() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || listener.incoming().map_while(Result::ok).collect::<Vec<_>>());
    port
}

fn page(stage: &Stage) {
    let home = tempfile::tempdir().unwrap();
    let settings =
        format!("[providers.lmstudio]\nbase_url = \"http://127.0.0.1:{}/v1\"\n", silent());
    fs::write(home.path().join("vector.toml"), settings).unwrap();
    let place = home.path().join("place.rbxlx");
    fs::write(&place, places::sample(Format::Rbxlx)).unwrap();
    let daemon = Daemon::of_place(binary::vector(), home.path(), &place);
    let human = Human::of(&daemon, home.path());
    let settings = json!({ "mode": "confirm", "dry_run": false, "model": "lmstudio/bench" });
    human.call("PUT", "/api/settings", &settings).ok();
    let opened = human.open(&place).ok();
    human.ask(&opened, "What is there?");
    let browser = stage.browser();
    browser.prepare(TOLD);
    enter(&browser, &daemon, &human);
    browser.until("document.querySelector('#log .asked')");
    let mut sent = Vec::new();
    for round in 0..ROUNDS {
        pause(round);
        sent.push(now());
        human.ask(&opened, &format!("This was said as number {round}."));
    }
    let said = said(&human);
    assert_eq!(said.len(), ROUNDS);
    let painted = painted(&browser, &said[ROUNDS - 1].0);
    let at = |key: &String| painted[key].as_f64().unwrap();
    let from_entry = said.iter().map(|(key, written)| at(key) - written);
    shown("the page: from the entry's time to the paint", from_entry.collect());
    let from_person = said.iter().zip(&sent).map(|((key, _), sent)| at(key) - sent);
    shown("the page: from the person's call to the paint", from_person.collect());
}

/// The messages added to the conversation: the key of each on the page, and the time of its entry.
fn said(human: &Human) -> Vec<(String, f64)> {
    let (mut all, mut cursor) = (Vec::new(), 0);
    loop {
        let path = format!("/api/stream?cursor={cursor}&hold=0");
        let page = human.call("GET", &path, &Json::Null).ok();
        let events = page["events"].as_array().unwrap();
        if events.is_empty() {
            return all;
        }
        let more = events.iter().filter(|it| it["event"]["event"] == "asked_more");
        all.extend(more.map(|it| (format!("e-{}", it["seq"]), it["at"].as_f64().unwrap())));
        cursor = page["cursor"].as_u64().unwrap();
    }
}
