//! What Vector adds to a model's turn: the time from the last byte of the model's response to the
//! proposal on the stream, and from a decision to the first byte of the next request.
//!
//! The model is a server on this machine that answers at once. The ledger starts with few or many
//! entries, and is in memory or on disk.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use scene_schemas::Fingerprint;
use scene_schemas::entry::{Entry, FilePlace, Finish, InteractionMode, Phase, Place};
use scene_schemas::proposal::Mode;
use scene_schemas::review::TaskRole;
use serde_json::{Value as Json, json};
use vector_ledger::{AppendBatch, Ledger};
use vector_tests::binary;
use vector_tests::daemon::{Daemon, Plugin};

use super::wake::{Line, percentile};

const ROUNDS: usize = 120;

/// When the first byte of a request arrived, and when its response was sent.
struct Served {
    first_byte: Instant,
    last_byte: Instant,
}

/// Starts a model server that requests one rename after the other.
fn model() -> (u16, Receiver<Served>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (served, heard) = channel();
    thread::spawn(move || {
        let mut count = 0;
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            stream.set_nodelay(true).unwrap();
            if serve(BufReader::new(stream), &mut count, &served).is_none() {
                return;
            }
        }
    });
    (port, heard)
}

/// Answers all requests of a connection. None if the receiver of the times is gone.
fn serve(
    mut reader: BufReader<TcpStream>,
    count: &mut usize,
    served: &Sender<Served>,
) -> Option<()> {
    loop {
        // Wait for the first byte, not for the whole first line.
        if reader.fill_buf().is_ok_and(<[u8]>::is_empty) {
            return Some(());
        }
        let first_byte = Instant::now();
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        reader.read_exact(&mut vec![0; length]).unwrap();
        let body = answer(*count);
        *count += 1;
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        reader.get_mut().write_all(format!("{head}{body}").as_bytes()).unwrap();
        served.send(Served { first_byte, last_byte: Instant::now() }).ok()?;
    }
}

fn answer(n: usize) -> String {
    let (tool, args) = match n {
        0 => ("start_plan", json!({ "steps": ["Rename it"] })),
        n => (
            "rename_instance",
            json!({ "path": "game.Workspace.Wall", "newName": format!("N{n}") }),
        ),
    };
    let function = json!({ "name": tool, "arguments": args.to_string() });
    let call =
        json!({ "index": 0, "id": format!("c{n}"), "type": "function", "function": function });
    let delta = json!({ "role": "assistant", "content": "I rename it.", "tool_calls": [call] });
    let events = [
        json!({ "id": "x", "choices": [{ "index": 0, "delta": delta }] }),
        json!({ "id": "x", "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
        json!({ "id": "x", "choices": [], "usage": { "prompt_tokens": 5_000, "completion_tokens": 20 } }),
    ];
    let mut text = String::new();
    for event in events {
        text.push_str(&format!("data: {event}\n\n"));
    }
    text + "data: [DONE]\n\n"
}

/// Fills the ledger with entries of another place.
fn fill(home: &Path, entries: usize) {
    let ledger = Ledger::open(home).unwrap();
    let place = Place::File(FilePlace {
        file: "/before.rbxl".to_owned(),
        out: None,
        hash: Fingerprint::hash_bytes(b"before"),
        replaces: None,
    });
    let started = Entry::Started {
        place,
        goal: "before".to_owned(),
        driver: "offline".to_owned(),
        mode: Mode::Confirm,
        attached: Vec::new(),
        interaction: InteractionMode::Act,
        follows: None,
        guards: None,
        served: false,
        role: TaskRole::Solo,
        requested_by: None,
    };
    let said = |n: usize| Entry::Said {
        text: format!("This was said before, in entry {n}."),
        phase: Phase::Update,
        answers: Vec::new(),
    };
    let mut all = vec![started];
    all.extend((2..entries).map(said));
    all.push(Entry::Finished { outcome: Finish::Done, summary: None });
    ledger.append(AppendBatch { workflow: None, entries: all, blobs: Vec::new() }).unwrap();
}

/// Runs the rounds, and returns the two times of each.
fn rounds(home: &Path, entries: usize) -> (Vec<Duration>, Vec<Duration>) {
    fill(home, entries);
    let (port, served) = model();
    let settings = format!(
        "turn_limit = 1000\n[caps]\nday_usd = 1000.0\n[providers.lmstudio]\n\
         base_url = \"http://127.0.0.1:{port}/v1\"\n"
    );
    std::fs::write(home.join("vector.toml"), settings).unwrap();
    let models = "[models.lmstudio.bench]\nwindow = 1000000\n";
    std::fs::write(home.join("models.toml"), models).unwrap();
    let daemon = Daemon::start(binary::vector(), home);
    let mut plugin = Plugin::pair(&daemon, "bench");
    plugin.tell_place();
    let settings = json!({ "mode": "confirm", "dry_run": false, "model": "lmstudio/bench" });
    plugin.call("PUT", "/api/settings", &settings).ok();
    let mut stream = Line::open(daemon.port, &plugin.token);
    let mut go = Line::open(daemon.port, &plugin.token);
    plugin.chat("rename the wall").ok();
    // The request for the plan.
    served.recv().unwrap();
    let (mut answered, mut asked, mut cursor) = (Vec::new(), Vec::new(), 0);
    let mut decided: Option<Instant> = None;
    for _ in 0..ROUNDS {
        let (seq, seen) = mapped(&mut stream, &mut cursor);
        let Served { first_byte, last_byte } = served.recv().unwrap();
        answered.push(seen.saturating_duration_since(last_byte));
        if let Some(decided) = decided {
            asked.push(first_byte.saturating_duration_since(decided));
        }
        let shown = plugin.call("GET", &format!("/api/proposals/{seq}"), &Json::Null).ok();
        let decide = json!({
            "patch_id": shown["proposal"]["patch_id"], "base": shown["proposal"]["base"],
            "decision": { "say": "reject", "reason": "another name" },
        });
        decided = Some(Instant::now());
        go.call("POST", &format!("/api/proposals/{seq}/decide"), &decide.to_string());
    }
    (answered, asked)
}

/// Waits for the next proposal on the stream, and returns it with the time of its arrival.
fn mapped(stream: &mut Line, cursor: &mut u64) -> (u64, Instant) {
    loop {
        let body = stream.call("GET", &format!("/api/stream?cursor={cursor}&hold=15"), "");
        let now = Instant::now();
        let page: Json = serde_json::from_slice(&body).unwrap();
        *cursor = page["cursor"].as_u64().unwrap();
        let events = page["events"].as_array().unwrap();
        let found = events.iter().rev().find(|it| it["event"]["event"] == "proposal_mapped");
        if let Some(found) = found {
            return (found["event"]["proposal"].as_u64().unwrap(), now);
        }
    }
}

pub(crate) fn run() {
    println!(
        "\nwhat a turn of a model takes besides the model: {ROUNDS} rounds, µs (goal: p99 under 5000)"
    );
    let mut folders = vec![("on the disk", std::env::temp_dir())];
    if Path::new("/dev/shm").is_dir() {
        folders.insert(0, ("in memory", "/dev/shm".into()));
    }
    for (name, folder) in folders {
        for entries in [10, 10_000] {
            let home = tempfile::tempdir_in(&folder).unwrap();
            let (mut answered, mut asked) = rounds(home.path(), entries);
            println!(
                "  {name:<12} {entries:>6} entries before   answer to proposal p50 {:>7.0} p99 {:>7.0}   \
                 decision to request p50 {:>7.0} p99 {:>7.0}",
                percentile(&mut answered, 0.5),
                percentile(&mut answered, 0.99),
                percentile(&mut asked, 0.5),
                percentile(&mut asked, 0.99),
            );
        }
    }
}
