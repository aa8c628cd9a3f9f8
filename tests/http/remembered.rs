//! The memory of a Studio place: proposed by a model, written by the daemon, and given to the next
//! task.

use std::path::PathBuf;

use scene_schemas::Fingerprint;
use scene_schemas::entry::{Approver, Entry, Seq};
use scene_schemas::proposal::{Ack, Outcome};
use serde_json::{Value as Json, json};
use vector_ledger::{AppendBatch, Ledger};
use vector_tests::binary;
use vector_tests::daemon::{Daemon, Plugin};

use super::models::{Bench, calls, plan, says, until};

fn remember(text: &str) -> Json {
    json!({ "action": "add", "section": "decisions", "text": text })
}

fn edit(text: &str) -> Json {
    json!({ "changes": [remember(text)] })
}

/// The memory file of the only place that has one.
fn file(bench: &Bench) -> PathBuf {
    let folder = bench.home.path().join("memory");
    let mut files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let file = files.next().unwrap();
    assert_eq!(files.next(), None);
    file
}

/// Waits for the next card.
fn card(plugin: &mut Plugin<'_>, seen: &mut Vec<Json>) -> u64 {
    until(plugin, seen, "proposal_mapped")["proposal"].as_u64().unwrap()
}

fn approve(plugin: &mut Plugin<'_>, seen: &mut Vec<Json>, seq: u64) {
    plugin.decide(seq, json!({ "say": "approve" })).ok();
    until(plugin, seen, "done");
}

#[test]
fn memory_is_written_without_studio_and_reaches_next_task() {
    let replies = vec![
        plan(),
        calls("edit_memory", edit("Coins respawn")),
        says("I noted it."),
        says("As I noted."),
    ];
    let bench = Bench::new(replies, "");
    let mut plugin = bench.plugin();
    plugin.chat("coins respawn, remember that").ok();
    let mut seen = Vec::new();
    let seq = card(&mut plugin, &mut seen);
    assert!(!bench.home.path().join("memory").exists(), "nothing is written before a yes");
    approve(&mut plugin, &mut seen, seq);
    let written = std::fs::read_to_string(file(&bench)).unwrap();
    assert_eq!(written, "# Memory\n\n## Decisions\n\n- Coins respawn\n");
    // Windows has no modes of files.
    #[cfg(unix)]
    if !binary::is_for_windows() {
        use std::os::unix::fs::PermissionsExt;

        for path in [file(&bench), bench.home.path().join("memory")] {
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{} is nobody else's: {mode:o}", path.display());
        }
    }
    let shown = plugin.call("GET", &format!("/api/proposals/{seq}"), &Json::Null).ok();
    assert_eq!(shown["status"], "applied");
    // The user edits the file, and the next task reads that.
    std::fs::write(file(&bench), written.replace("Coins", "Gems")).unwrap();
    plugin.chat("what did I decide?").ok();
    until(&mut plugin, &mut seen, "done");
    let asked = bench.server.requests().pop().unwrap().body.to_string();
    assert!(asked.contains("Gems respawn") && !asked.contains("- Coins respawn"), "{asked}");
}

#[test]
fn proposal_changes_either_the_memory_or_the_place() {
    let both = json!({ "title": "Both", "changes": [
        { "tool": "edit_memory", "args": edit("The wall is a gate") },
        { "tool": "rename_instance", "args": { "path": "game.Workspace.Wall", "newName": "Gate" } },
    ] });
    let bench = Bench::new(vec![plan(), calls("propose_changes", both), says("One by one.")], "");
    let mut plugin = bench.plugin();
    plugin.chat("make it a gate").ok();
    let mut seen = Vec::new();
    until(&mut plugin, &mut seen, "done");
    let told = bench.server.requests().pop().unwrap().body.to_string();
    assert!(told.contains("needs a proposal of its own"), "{told}");
    assert!(!bench.home.path().join("memory").exists());
}

#[test]
fn memory_proposal_is_replanned_after_a_user_edit() {
    let replies = vec![plan(), calls("edit_memory", edit("Coins respawn")), says("Noted.")];
    let bench = Bench::new(replies, "");
    let mut plugin = bench.plugin();
    plugin.chat("remember").ok();
    let mut seen = Vec::new();
    let first = card(&mut plugin, &mut seen);
    let folder = bench.home.path().join("memory");
    std::fs::create_dir_all(&folder).unwrap();
    let place = plugin.call("GET", "/api/sessions", &Json::Null).ok();
    let id = place["sessions"][0]["place"]["place_id"].as_u64().unwrap();
    let own = "# Memory\n\n## Decisions\n\n- My own\n";
    std::fs::write(folder.join(format!("place-{id}.md")), own).unwrap();
    plugin.decide(first, json!({ "say": "approve" })).ok();
    let again = card(&mut plugin, &mut seen);
    assert_ne!(first, again);
    assert_eq!(std::fs::read_to_string(file(&bench)).unwrap(), own);
    approve(&mut plugin, &mut seen, again);
    let written = std::fs::read_to_string(file(&bench)).unwrap();
    assert_eq!(written, format!("{own}- Coins respawn\n"));
}

/// Simulates a daemon that was killed while it wrote the memory: before or after the file was
/// written.
fn killed(is_written: bool) {
    let replies = vec![plan(), calls("edit_memory", edit("Coins respawn")), says("Noted.")];
    let bench = Bench::new(replies, "");
    let mut plugin = bench.plugin();
    let workflow = Seq(plugin.chat("remember").ok()["workflow"].as_u64().unwrap());
    let mut seen = Vec::new();
    let seq = card(&mut plugin, &mut seen);
    let shown = plugin.call("GET", &format!("/api/proposals/{seq}"), &Json::Null).ok();
    let place = plugin.call("GET", "/api/sessions", &Json::Null).ok();
    let id = place["sessions"][0]["place"]["place_id"].as_u64().unwrap();
    let credential = plugin.credential.clone();
    drop(plugin);
    let Bench { server: _server, daemon, home } = bench;
    daemon.unwrap().kill();
    let file = home.path().join("memory").join(format!("place-{id}.md"));
    let after = "# Memory\n\n## Decisions\n\n- Coins respawn\n";
    if is_written {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, after).unwrap();
    }
    let proposal = Seq(seq);
    let fingerprint = Some(Fingerprint::hash_bytes(after.as_bytes()));
    let ack = Ack {
        file: None,
        before: None,
        after: None,
        outcomes: vec![Outcome { id: None, fingerprint }],
        inverse: Vec::new(),
        witnesses: Vec::new(),
        files: None,
        bytes: None,
    };
    let patch_id = serde_json::from_value(shown["proposal"]["patch_id"].clone()).unwrap();
    let entries = vec![
        Entry::Approved { proposal, patch_id, by: Approver::Person, rule: None },
        Entry::Applying {
            proposals: vec![proposal],
            file: file.display().to_string(),
            before: None,
            acks: vec![ack],
        },
    ];
    let batch = AppendBatch { workflow: Some(workflow), entries, blobs: Vec::new() };
    Ledger::open(home.path()).unwrap().append(batch).unwrap();
    let daemon = Daemon::start(binary::vector(), home.path());
    let mut plugin = Plugin::hello(&daemon, "window-1", &credential);
    plugin.tell_place();
    until(&mut plugin, &mut seen, "done");
    assert_eq!(std::fs::read_to_string(file).unwrap(), after);
    let shown = plugin.call("GET", &format!("/api/proposals/{seq}"), &Json::Null).ok();
    assert_eq!(shown["status"], "applied");
}

#[test]
fn killed_daemon_writes_the_memory_once() {
    killed(false);
    killed(true);
}
