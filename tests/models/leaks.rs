//! Privacy of conversations with a model: no key, prompt, script or reply reaches a log or a file
//! other than the ledger, at any log level.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;
use vector_providers::wire::WireFormat;
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Daemon, Plugin};
use vector_tests::secrets::{LOUD, files_below, has_text};

use super::play::{KEY, Stage};
use super::root;
use super::server::{Reply, Server};
use super::spell::{Call, Message, Style, content_type, events, framed};

const WIRE: WireFormat = WireFormat::OpenaiChat;

/// Texts that occur in the user's prompt, in a script of the place, or in the model's reply.
const PRIVATE: [&str; 4] = [KEY, "my-secret-plan", "local speed = 10", "my-secret-reply"];

/// Searches the files of a home for private texts. Skips the place, which the test has written, and
/// the ledger with its blobs, which belong to the user. The key must not be in those either.
fn found(home: &Path, private: &[&str]) -> Vec<String> {
    let all = files_below(home);
    assert!(all.len() > 3, "{all:?}");
    let mut found = Vec::new();
    for file in all {
        let bytes = fs::read(&file).unwrap();
        let name = file.strip_prefix(home).unwrap().display().to_string();
        let is_known = file.extension().is_some_and(|it| it == "rbxlx") || name.contains("ledger");
        let private = private.iter().filter(|it| !is_known || **it == KEY);
        let held = private.filter(|it| has_text(&bytes, it));
        found.extend(held.map(|it| format!("{it} is in {name}")));
    }
    found
}

#[test]
fn private_conversation_text_reaches_no_log() {
    for name in ["private", "private_and_refused"] {
        let stage = Stage::set(&root().join(name), None);
        let mut command = stage.edit(&["--yes", "--json"]);
        command.envs(LOUD).stdin(Stdio::null());
        let output = command.output().unwrap();
        let shown = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(stage.scenario.exit), "{shown}");
        for private in PRIVATE {
            assert!(!shown.contains(private), "{name}: {private} was logged: {shown}");
        }
        assert!(!has_text(&output.stdout, KEY), "{name}: the key is in the ledger");
        assert_eq!(found(stage.home.path(), &PRIVATE), [""; 0], "{name}");
    }
}

#[test]
fn private_conversation_text_reaches_no_daemon_log() {
    let home = Home::new();
    let said = |message: &Message| {
        let pieces = framed(WIRE, &events(WIRE, message), Style::default());
        let headers = vec![("content-type".to_owned(), content_type(WIRE).to_owned())];
        Reply { headers, pieces, ..Reply::plain(200, "") }
    };
    let text = Some("my-secret-reply".to_owned());
    let args = json!({ "path": "game.Workspace.Main" });
    let read = Call { id: None, name: "read_script".to_owned(), args };
    let echo = format!(r#"{{"error":{{"message":"my-secret-reply {KEY}"}}}}"#);
    let mut stumble = Reply::plain(500, &echo);
    stumble.headers.push(("retry-after-ms".to_owned(), "1".to_owned()));
    let server = Server::start(vec![
        stumble,
        said(&Message { text: text.clone(), calls: vec![read], ..Message::default() }),
        said(&Message { text, ..Message::default() }),
    ]);
    let settings = format!("[providers.nvidia]\nbase_url = \"{}\"\n", server.url());
    fs::write(home.path().join("vector.toml"), settings).unwrap();
    // A wrapper that copies the daemon's output to files.
    let exports = LOUD.map(|(name, value)| format!("export {name}='{value}'\n"));
    let loud = exports.concat();
    let script = format!(
        "#!/usr/bin/env bash\n{loud}cd '{}'\nexport NVIDIA_API_KEY=\"$(printf '%s-%s' sk {})\"\n\
         exec '{}' \"$@\" 2> >(tee printed.err >&2) > >(tee printed.out)\n",
        home.path().display(),
        KEY.trim_start_matches("sk-"),
        binary::vector().display(),
    );
    let file = home.path().join("loud");
    fs::write(&file, script).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let daemon = Daemon::start(&file, home.path());
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let chosen = json!({
        "mode": "confirm", "dry_run": false, "play_check": false, "model": "nvidia/some",
    });
    plugin.call("PUT", "/api/settings", &chosen).ok();
    plugin.chat("my-secret-plan: what does it do?").ok();
    plugin.until(|polled| {
        let events = polled["events"].as_array()?;
        events.iter().any(|it| it["event"]["event"] == "done").then_some(())
    });
    drop(plugin);
    daemon.kill();
    assert_eq!((server.requests().len(), server.left()), (3, 0));
    let printed = fs::read_to_string(home.path().join("printed.out")).unwrap();
    assert!(printed.contains("Vector serves on"), "{printed}");
    let private = [KEY, "my-secret-plan", "print(1)", "my-secret-reply"];
    assert_eq!(found(home.path(), &private), [""; 0]);
}
