//! A history that is written into a ledger before a daemon starts.

use std::path::Path;

use scene_schemas::Fingerprint;
use scene_schemas::entry::{Entry, FilePlace, Finish, InteractionMode, Phase, Place, Seq};
use scene_schemas::proposal::Mode;
use scene_schemas::review::TaskRole;
use serde_json::json;
use vector_ledger::{AppendBatch, Ledger};

/// Writes a conversation with this many entries: requests, replies, calls and their results.
/// Returns its task.
pub fn conversation(home: &Path, entries: usize) -> u64 {
    let ledger = Ledger::open(home).expect("a ledger can be made");
    let place = Place::File(FilePlace {
        file: "/before.rbxl".to_owned(),
        out: None,
        hash: Fingerprint::hash_bytes(b"before"),
        replaces: None,
    });
    let started = Entry::Started {
        place,
        goal: "Look through everything".to_owned(),
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
    let first =
        ledger.append(AppendBatch { workflow: None, entries: vec![started], blobs: Vec::new() });
    let first = first.expect("it is written")[0].seq;
    let entry = |n: u64| match n % 4 {
        0 => Entry::Said {
            text: format!("This was said in entry {n}. ").repeat(1 + n as usize % 9),
            phase: Phase::Update,
            answers: Vec::new(),
        },
        1 => Entry::Asked { text: format!("And what about number {n}?"), attached: Vec::new() },
        2 => Entry::Called {
            tool: "read_script".to_owned(),
            args: json!({ "path": format!("game.ServerScriptService.Script{n}") }),
            id: None,
            flaw: None,
        },
        _ => Entry::Answered {
            call: Seq(n - 1),
            answer: json!({ "source": format!("print({n})\n") }),
        },
    };
    let mut all: Vec<Entry> = (first.0 + 1..entries as u64).map(entry).collect();
    all.push(Entry::Finished { outcome: Finish::Done, summary: None });
    ledger
        .append(AppendBatch { workflow: Some(first), entries: all, blobs: Vec::new() })
        .expect("it is written");
    first.0
}
