//! Held polls: the memory that each costs the daemon, beside an axum server that does nothing else.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use tokio::sync::watch;
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;

const POLLS: usize = 10_000;
/// How long a poll is held, in seconds.
const HOLD: u64 = 15;

fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

/// Runs the axum peer, in a separate process: prints its port, and serves until it is killed.
pub(crate) fn peer() {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build().unwrap().block_on(async {
        let (sender, _) = watch::channel(0_u64);
        let held = |State(it): State<watch::Sender<u64>>| async move {
            let mut news = it.subscribe();
            let _ = tokio::time::timeout(Duration::from_secs(HOLD), news.changed()).await;
            news.borrow().to_string()
        };
        let router = Router::new()
            .route("/api/stream", get(held))
            .route("/health", get(|| async { "{}" }))
            .with_state(sender);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("{}", listener.local_addr().unwrap().port());
        axum::serve(listener, router).await.unwrap();
    });
}

/// Holds polls at a process. Returns the kilobytes that each adds, the number of polls, and the
/// process's memory in MB afterwards. None if the memory cannot be read.
fn measure(process: u32, port: u16, token: &str) -> Option<(f64, usize, u64)> {
    let before = resident(process);
    if before == 0 {
        return None;
    }
    let head = format!("Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n");
    let open = |path: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.write_all(format!("GET {path} HTTP/1.1\r\n{head}").as_bytes()).ok()?;
        Some(stream)
    };
    let poll = format!("/api/stream?hold={HOLD}");
    let mut lines: Vec<TcpStream> = (0..POLLS).map_while(|_| open(&poll)).collect();
    if lines.len() < POLLS {
        // The limit of open files was reached. Free one for the last request.
        lines.pop();
    }
    // Once one more request is answered, all the polls have been read.
    let mut answer = String::new();
    BufReader::new(open("/health")?).read_line(&mut answer).unwrap();
    assert!(answer.contains("200"), "{answer}");
    let after = resident(process);
    Some(((after - before) as f64 / lines.len() as f64, lines.len(), after / 1_024))
}

fn bare() -> Option<(f64, usize, u64)> {
    let mut peer = Command::new(std::env::current_exe().unwrap())
        .args(["--only", "peer"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(peer.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let measured = measure(peer.id(), line.trim().parse().unwrap(), "none");
    peer.kill().unwrap();
    peer.wait().unwrap();
    measured
}

pub(crate) fn run() {
    let home = Home::new();
    let daemon = Daemon::start(binary::vector(), home.path());
    let token = std::fs::read_to_string(home.path().join("token")).unwrap();
    let token = token.split_whitespace().nth(1).unwrap();
    let (Some((own, count, size)), Some((bare, ..))) =
        (measure(daemon.process(), daemon.port, token), bare())
    else {
        println!("\nheld polls are not measured here: there is no /proc");
        return;
    };
    println!("\n{count} polls held (goal 24 KB each)");
    println!("  bare axum            {bare:>8.1} KB each");
    println!(
        "  vector               {own:>8.1} KB each, ratio {:.2}; it has {size} MB",
        own / bare
    );
    if count < POLLS {
        println!("  (this machine allows no more open files: see `ulimit -n`)");
    }
}
