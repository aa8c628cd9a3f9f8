//! The time from the user's approval to the plugin's wake-up, beside a bare axum server that does
//! nothing but wake.
//!
//! The same client calls both over connections that stay open. The ledger is in memory in one half
//! of the runs, where a sync costs nothing, and on disk in the other.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use serde_json::{Value as Json, json};
use tokio::sync::watch;
use vector_tests::binary;
use vector_tests::daemon::{Daemon, Plugin};

const ROUNDS: usize = 200;
const RUNS: usize = 5;

/// An HTTP connection that stays open.
pub(crate) struct Line {
    reader: BufReader<TcpStream>,
    port: u16,
    token: String,
}

impl Line {
    pub(crate) fn open(port: u16, token: &str) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { reader: BufReader::new(stream), port, token: token.to_owned() }
    }

    pub(crate) fn call(&mut self, method: &str, path: &str, body: &str) -> Vec<u8> {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.port,
            self.token,
            body.len()
        );
        self.reader.get_mut().write_all(head.as_bytes()).unwrap();
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.reader.read_line(&mut line).unwrap();
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.reader.read_exact(&mut body).unwrap();
        body
    }
}

pub(crate) fn percentile(times: &mut [Duration], share: f64) -> f64 {
    times.sort_unstable();
    times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// Runs rounds of a held call that a second call wakes.
fn rounds(
    mut held: impl FnMut() -> Instant + Send + 'static,
    mut wake: impl FnMut(usize) -> Instant,
) -> Vec<Duration> {
    let (woken, heard) = channel();
    let (go, gone) = channel::<()>();
    thread::spawn(move || while gone.recv().is_ok() && woken.send(held()).is_ok() {});
    (0..ROUNDS)
        .map(|n| {
            go.send(()).unwrap();
            // Give the poll time to be held.
            thread::sleep(Duration::from_millis(3));
            let start = wake(n);
            heard.recv().unwrap().saturating_duration_since(start)
        })
        .collect()
}

fn bare() -> Vec<Duration> {
    let (port, ready) = channel();
    // Number of polls held so far. A wake-up that precedes its poll would be missed.
    let polls = Arc::new(AtomicUsize::new(0));
    let held = Arc::clone(&polls);
    thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        runtime.worker_threads(2).enable_all().build().unwrap().block_on(async move {
            let (sender, _) = watch::channel(0_u64);
            let router = Router::new()
                .route(
                    "/poll",
                    get(move |State(it): State<watch::Sender<u64>>| async move {
                        let mut news = it.subscribe();
                        held.fetch_add(1, Ordering::Relaxed);
                        let _ = news.changed().await;
                        news.borrow().to_string()
                    }),
                )
                .route(
                    "/go",
                    post(|State(it): State<watch::Sender<u64>>| async move {
                        it.send_modify(|n| *n += 1);
                    }),
                )
                .with_state(sender);
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            port.send(listener.local_addr().unwrap().port()).unwrap();
            axum::serve(listener, router).await.unwrap();
        });
    });
    let port = ready.recv().unwrap();
    let (mut poll, mut go) = (Line::open(port, "none"), Line::open(port, "none"));
    rounds(
        move || {
            poll.call("GET", "/poll", "");
            Instant::now()
        },
        |n| {
            while polls.load(Ordering::Relaxed) <= n {
                thread::sleep(Duration::from_micros(100));
            }
            let start = Instant::now();
            go.call("POST", "/go", "{}");
            start
        },
    )
}

/// Measures the daemon. Each round approves a new proposal, which the plugin applies and
/// acknowledges between the rounds.
fn vector(home: &Path) -> Vec<Duration> {
    let daemon = Daemon::start(binary::vector(), home);
    let mut plugin = Plugin::pair(&daemon, "bench");
    plugin.tell_place();
    let (port, token, epoch) = (daemon.port, plugin.token.clone(), plugin.epoch);
    let mut go = Line::open(port, &token);
    let mut times = Vec::new();
    for n in 0..ROUNDS {
        plugin.chat(&format!("rename game.Workspace.{} to {}", name(n), name(n + 1))).ok();
        let seq = plugin.until(|polled| {
            let events = polled["events"].as_array()?;
            let mapped = events.iter().find(|it| it["event"]["event"] == "proposal_mapped")?;
            mapped["event"]["proposal"].as_u64()
        });
        let shown = plugin.call("GET", &format!("/api/proposals/{seq}"), &Json::Null).ok();
        let decide = json!({
            "patch_id": shown["proposal"]["patch_id"], "base": shown["proposal"]["base"],
            "decision": { "say": "approve" },
        });
        // Poll until no events are left: nothing more arrives before the decision.
        let cursor = loop {
            let polled = plugin.poll();
            if polled["events"].as_array().unwrap().is_empty() {
                break polled["cursor"].as_u64().unwrap();
            }
        };
        let (woken, heard) = channel();
        let mut poll = Line::open(port, &token);
        thread::spawn(move || {
            let body = json!({ "epoch": epoch, "cursor": cursor, "hold": 15, "known_work": [] });
            poll.call("POST", "/api/sessions/bench/poll", &body.to_string());
            let _ = woken.send(Instant::now());
        });
        thread::sleep(Duration::from_millis(3));
        let start = Instant::now();
        go.call("POST", &format!("/api/proposals/{seq}/decide"), &decide.to_string());
        times.push(heard.recv().unwrap().saturating_duration_since(start));
        let apply = plugin.until(|polled| {
            let work = polled["work"].as_array()?;
            work.iter().find(|it| it["work"] == "apply").map(|it| it["apply"].clone())
        });
        plugin.say(json!([{ "part": "renamed", "id": "studio:2", "name": name(n + 1) }])).ok();
        let acted = json!([{ "ids": ["studio:2"] }]);
        let outcome = json!({ "outcome": "applied", "results": acted, "version": 1 });
        plugin.acknowledge(&apply, outcome).ok();
    }
    times
}

fn name(n: usize) -> String {
    if n == 0 { "Wall".to_owned() } else { format!("Wall{n}") }
}

/// The time of a small write and its sync in a folder.
fn sync(folder: &Path) -> f64 {
    let mut file = std::fs::File::create(folder.join("sync")).unwrap();
    let once = |file: &mut std::fs::File| {
        let start = Instant::now();
        file.write_all(&[0; 512]).unwrap();
        file.sync_data().unwrap();
        start.elapsed()
    };
    let mut times: Vec<Duration> = (0..200).map(|_| once(&mut file)).collect();
    percentile(&mut times, 0.5)
}

pub(crate) fn run() {
    println!("\nfrom an approval to the plugin's wake-up: {RUNS} runs of {ROUNDS} rounds, µs");
    let memory = Path::new("/dev/shm");
    let folder = |inside: &Path| tempfile::tempdir_in(inside).unwrap();
    let (mut bares, mut syncless, mut synced, mut tails) = (vec![], vec![], vec![], vec![]);
    for _ in 0..RUNS {
        bares.push(percentile(&mut bare(), 0.5));
        if memory.is_dir() {
            syncless.push(percentile(&mut vector(folder(memory).path()), 0.5));
        }
        let mut times = vector(folder(&std::env::temp_dir()).path());
        tails.push(percentile(&mut times, 0.99));
        synced.push(percentile(&mut times, 0.5));
    }
    let sync = sync(folder(&std::env::temp_dir()).path());
    let bare = median(bares);
    println!("  bare axum            p50 {bare:>8.1}");
    if !syncless.is_empty() {
        let own = median(syncless);
        println!("  vector, in memory    p50 {own:>8.1}   ratio {:.2} (goal 1.2)", own / bare);
    }
    let own = median(synced);
    println!(
        "  vector, on the disk  p50 {own:>8.1}   p99 {:.1}; goal {:.1} = 1.25 x bare + a sync of {sync:.1}",
        median(tails),
        1.25 * bare + sync
    );
}
