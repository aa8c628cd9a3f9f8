//! What the hash chain costs an append, and how fast it is verified.
//!
//! `cargo bench -p vector-tests --bench ledger [-- --entries N]`. Each ledger is in a file in memory where
//! there is one (`/dev/shm`), so that no disk is waited for. The floor of an append inserts the same rows in
//! the same transactions, without hashes, queue and records; that of a verification hashes the same bodies.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that fails has failed")]

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};
use scene_schemas::Fingerprint;
use scene_schemas::entry::{Entry, FilePlace, InteractionMode, Phase, Place, Seq};
use scene_schemas::proposal::Mode;
use scene_schemas::review::TaskRole;
use tempfile::TempDir;
use vector_ledger::{AppendBatch, Ledger};

const RUNS: usize = 5;

fn started() -> Entry {
    let hash = Fingerprint::hash_bytes(b"");
    let place = FilePlace { file: "farm.rbxl".to_owned(), out: None, hash, replaces: None };
    Entry::Started {
        place: Place::File(place),
        goal: "a grid of wheat".to_owned(),
        driver: "offline".to_owned(),
        mode: Mode::Confirm,
        attached: Vec::new(),
        interaction: InteractionMode::Act,
        follows: None,
        guards: None,
        served: false,
        role: TaskRole::Solo,
        requested_by: None,
    }
}

/// An entry of about 500 bytes, which is the usual size.
fn said(number: usize) -> Entry {
    let text = format!("{number:08} {}", "The place has been looked at. ".repeat(14));
    Entry::Said { text, phase: Phase::Update, answers: Vec::new() }
}

fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

fn append(entries: usize, size: usize) -> (Duration, Ledger, TempDir) {
    let home = folder();
    let ledger = Ledger::open(home.path()).unwrap();
    let first = AppendBatch { workflow: None, entries: vec![started()], blobs: Vec::new() };
    ledger.append(first).unwrap();
    let batches: Vec<Vec<Entry>> = (0..entries / size)
        .map(|batch| (0..size).map(|at| said(batch * size + at)).collect())
        .collect();
    let start = Instant::now();
    for entries in batches {
        ledger.append(AppendBatch { workflow: Some(Seq(1)), entries, blobs: Vec::new() }).unwrap();
    }
    (start.elapsed(), ledger, home)
}

/// Inserts the same rows with nothing else.
fn insert(entries: usize, size: usize) -> Duration {
    let home = folder();
    let mut conn = Connection::open(home.path().join("rows.sqlite")).unwrap();
    conn.pragma_update(None, "journal_mode", "WAL").unwrap();
    conn.pragma_update(None, "synchronous", "FULL").unwrap();
    conn.execute_batch(
        "CREATE TABLE entries (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, workflow INTEGER NOT NULL,
         kind TEXT NOT NULL, body TEXT, blob TEXT);
         CREATE INDEX entries_by_workflow ON entries (workflow, seq);",
    )
    .unwrap();
    let batches: Vec<Vec<Entry>> = (0..entries / size)
        .map(|batch| (0..size).map(|at| said(batch * size + at)).collect())
        .collect();
    let start = Instant::now();
    for batch in batches {
        let bodies: Vec<String> =
            batch.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        for body in bodies {
            let row = "INSERT INTO entries (at, workflow, kind, body) VALUES (?1, 1, 'said', ?2)";
            tx.prepare_cached(row).unwrap().execute((1_700_000_000_000_i64, body)).unwrap();
        }
        tx.commit().unwrap();
    }
    start.elapsed()
}

fn fastest(mut run: impl FnMut() -> Duration) -> Duration {
    (0..RUNS).map(|_| run()).min().unwrap()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let given =
        args.iter().position(|it| it == "--entries").map(|at| args[at + 1].parse().unwrap());
    let entries: usize = given.unwrap_or(20_000);
    println!("{entries} entries, fastest of {RUNS}");
    for size in [1, 10, 100] {
        let own = fastest(|| append(entries, size).0);
        let floor = fastest(|| insert(entries, size));
        let each = |time: Duration| time.as_secs_f64() * 1e6 / (entries / size) as f64;
        let ratio = own.as_secs_f64() / floor.as_secs_f64();
        println!(
            "append of {size}: {:.1} µs, floor {:.1} µs, ratio {ratio:.2}",
            each(own),
            each(floor)
        );
    }
    let (_, ledger, _home) = append(entries, 100);
    let verify = fastest(|| {
        let start = Instant::now();
        assert!(ledger.verify_chain(None).unwrap().is_whole());
        start.elapsed()
    });
    let bodies: Vec<String> =
        (0..entries).map(|at| serde_json::to_string(&said(at)).unwrap()).collect();
    let floor = fastest(|| {
        let start = Instant::now();
        for body in &bodies {
            std::hint::black_box(Fingerprint::hash_bytes(body.as_bytes()));
        }
        start.elapsed()
    });
    println!(
        "verify: {:.1} ms, floor {:.1} ms, ratio {:.2}",
        verify.as_secs_f64() * 1e3,
        floor.as_secs_f64() * 1e3,
        verify.as_secs_f64() / floor.as_secs_f64()
    );
}
