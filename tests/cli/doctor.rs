//! `vector doctor`, `vector pair` and `vector sessions` as a user sees them.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::path::PathBuf;

use serde_json::Value as Json;
use vector_tests::binary::{self, Home, Output};
use vector_tests::daemon::{Daemon, Plugin, call};

use super::ended;

/// A port on which most likely no process listens.
fn free() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn ledger(home: &Home) -> PathBuf {
    home.path().join("vector")
}

fn doctor(home: &Home, port: u16) -> (Output, Json) {
    let output = home.run(&["doctor", "--json", "--port", &port.to_string()], "");
    let json = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (output, json)
}

fn finding<'j>(all: &'j Json, group: &str, name: &str) -> &'j Json {
    let mut found = all["findings"].as_array().unwrap().iter();
    let is_it = |it: &&Json| it["group"] == group && it["name"] == name;
    found.find(is_it).unwrap_or_else(|| panic!("no {group}/{name} in {all}"))
}

#[track_caller]
fn state(all: &Json, group: &str, name: &str, expected: &str, says: &str) {
    let found = finding(all, group, name);
    assert_eq!(found["state"], expected, "{found}");
    assert!(found["says"].as_str().unwrap().contains(says), "{found}");
    assert!(expected != "problem" || found["fix"].is_string() || !says.is_empty(), "{found}");
}

#[test]
fn doctor_finds_and_creates_nothing_in_a_new_home() {
    let home = Home::new();
    let (output, all) = doctor(&home, free());
    ended(&output, 0);
    assert_eq!(all["ok"], true);
    state(&all, "vector", "version", "ok", env!("CARGO_PKG_VERSION"));
    state(&all, "ledger", "folder", "note", "does not exist yet");
    state(&all, "daemon", "daemon", "note", "not running");
    assert_eq!(finding(&all, "daemon", "daemon")["fix"], "vector serve");
    state(&all, "studio", "pairing", "note", "no plugin");
    state(&all, "models", "keys", "note", "anthropic");
    assert!(!ledger(&home).exists());
    for found in all["findings"].as_array().unwrap() {
        let keys: Vec<&String> = found.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["fix", "group", "name", "says", "state"]);
        let state = found["state"].as_str().unwrap();
        assert!(["ok", "note", "problem"].contains(&state), "{found}");
    }
}

#[test]
fn piped_output_has_columns_and_no_escape_sequences() {
    let home = Home::new();
    let mut command = home.command(&["doctor", "--port", &free().to_string()]);
    // Even without `NO_COLOR`, output to a pipe has no colours.
    command.env_remove("NO_COLOR");
    let printed = command.output().unwrap();
    let text = String::from_utf8(printed.stdout).unwrap();
    assert!(!text.contains('\x1b'), "{text:?}");
    assert!(text.contains("\n  note     daemon         not running\n"), "{text}");
    assert!(text.contains("                          fix: vector serve\n"), "{text}");
}

#[test]
fn doctor_names_broken_files_and_checks_the_rest() {
    let home = Home::new();
    fs::create_dir(ledger(&home)).unwrap();
    fs::write(ledger(&home).join("ledger.sqlite"), "this is not a database").unwrap();
    fs::write(ledger(&home).join("vector.toml"), "modle = 1").unwrap();
    fs::write(ledger(&home).join("paired"), [0xff, 0xfe]).unwrap();
    let (output, all) = doctor(&home, free());
    ended(&output, 1);
    assert_eq!(all["ok"], false);
    state(&all, "ledger", "ledger", "problem", "damaged");
    state(&all, "models", "settings", "problem", "vector.toml");
    state(&all, "studio", "pairing", "problem", "cannot be read");
    state(&all, "ledger", "folder", "ok", "vector");
    assert_eq!(fs::read(ledger(&home).join("ledger.sqlite")).unwrap(), b"this is not a database");
}

#[cfg(unix)]
#[test]
fn loose_permissions_are_reported_and_fixed_on_ledger_open() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let set = |path: &std::path::Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    ended(&home.run(&["log"], ""), 0);
    let folder = ledger(&home);
    let file = folder.join("ledger.sqlite");
    assert_eq!([mode(&folder), mode(&file)], [0o700, 0o600]);
    assert_eq!(mode(&folder.join("ledger.lock")), 0o600);
    state(&doctor(&home, free()).1, "ledger", "access", "ok", "");
    set(&folder, 0o755);
    state(&doctor(&home, free()).1, "ledger", "access", "note", "");
    set(&file, 0o644);
    let (output, all) = doctor(&home, free());
    ended(&output, 1);
    state(&all, "ledger", "access", "problem", "ledger.sqlite");
    let mend = finding(&all, "ledger", "access")["fix"].as_str().unwrap().to_owned();
    let mended = std::process::Command::new("sh").args(["-c", &mend]).status().unwrap();
    assert!(mended.success(), "{mend}");
    assert_eq!([mode(&folder), mode(&file)], [0o700, 0o600]);
    set(&folder, 0o755);
    set(&file, 0o644);
    ended(&home.run(&["log"], ""), 0);
    assert_eq!([mode(&folder), mode(&file)], [0o700, 0o600]);
}

#[cfg(unix)]
#[test]
fn daemon_files_are_private_to_their_owner() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let folder = ledger(&home);
    let daemon = Daemon::start(binary::vector(), &folder);
    Plugin::pair(&daemon, "window-1");
    ended(&home.run(&["sessions", "token", "ci"], ""), 0);
    for entry in fs::read_dir(&folder).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{:?} {mode:o}", entry.file_name());
    }
}

#[test]
fn doctor_finds_running_other_and_killed_daemons() {
    let home = Home::new();
    let daemon = Daemon::start(binary::vector(), &ledger(&home));
    let plugin = Plugin::pair(&daemon, "window-1");
    plugin.chat("rename game.Workspace.Wall to Tower").ok();
    let (output, all) = doctor(&home, daemon.port);
    ended(&output, 0);
    let says = format!("port {}", daemon.port);
    state(&all, "daemon", "daemon", "ok", &says);
    state(&all, "daemon", "daemon", "ok", "runs until it is stopped");
    state(&all, "ports", &daemon.port.to_string(), "ok", "this ledger");
    state(&all, "ledger", "ledger", "ok", "intact");
    state(&all, "studio", "pairing", "ok", "1 plugin");
    // A daemon of another ledger on the port is not a problem, and not our daemon.
    let other = Home::new();
    let (output, all) = doctor(&other, daemon.port);
    ended(&output, 0);
    state(&all, "ports", &daemon.port.to_string(), "note", "another ledger");
    // A daemon that was killed has left its token file.
    daemon.kill();
    let (output, all) = doctor(&home, free());
    ended(&output, 0);
    state(&all, "daemon", "daemon", "note", "did not shut down cleanly");
}

#[test]
fn foreign_port_owner_is_reported_and_sent_no_token() {
    let home = Home::new();
    let foreign = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = foreign.local_addr().unwrap().port();
    fs::create_dir(ledger(&home)).unwrap();
    fs::write(ledger(&home).join("token"), format!("{port} secret\n")).unwrap();
    let heard = std::thread::spawn(move || {
        let mut heard = String::new();
        // Read what each of the first three connections sends.
        for stream in foreign.incoming().flatten().take(3) {
            let mut text = vec![0; 4_096];
            let mut stream = stream;
            let read = stream.read(&mut text).unwrap_or_default();
            heard.push_str(&String::from_utf8_lossy(&text[..read]));
        }
        heard
    });
    let (output, all) = doctor(&home, port);
    ended(&output, 1);
    state(&all, "ports", &port.to_string(), "problem", "another program");
    state(&all, "daemon", "daemon", "note", "not running");
    // Open the connections that doctor did not, so that the thread ends.
    for _ in 0..3 {
        let _ = std::net::TcpStream::connect(("127.0.0.1", port));
    }
    assert!(!heard.join().unwrap().contains("secret"));
}

#[test]
fn pair_shows_a_code_of_the_running_daemon() {
    let home = Home::new();
    let nobody = home.run(&["pair"], "");
    ended(&nobody, 1);
    assert!(nobody.stderr.contains("`vector serve`"), "{}", nobody.stderr);
    assert!(!ledger(&home).exists());
    let daemon = Daemon::start(binary::vector(), &ledger(&home));
    let shown = home.run(&["pair"], "");
    ended(&shown, 0);
    let words: Vec<&str> = shown.stdout.split_whitespace().collect();
    let code = format!("{}{}", words[5], words[6]);
    let line = format!(
        "To pair a plugin, type {} {} in its widget; the code is valid for 10 minutes.\n",
        words[5], words[6]
    );
    assert_eq!(shown.stdout, line);
    let pair = |code: &str| {
        let body = serde_json::json!({ "code": code });
        call(daemon.port, ("POST", "/api/pair"), None, &body).status
    };
    assert_eq!([pair(&daemon.code()), pair(&code)], [401, 200]);
}

#[test]
fn access_is_listed_granted_revoked_with_or_without_daemon() {
    let home = Home::new();
    let sessions = |args: &[&str]| home.run(&[&["sessions"], args].concat(), "");
    let listed = || -> Json { serde_json::from_str(&sessions(&["--json"]).stdout).unwrap() };
    assert_eq!(listed()["clients"], serde_json::json!([]));
    assert_eq!(sessions(&["revoke", "--all"]).stdout, "No access was revoked.\n");
    ended(&sessions(&["revoke", "nobody"]), 1);
    assert!(!ledger(&home).exists(), "what only takes away makes nothing");
    let token = |name: &str| -> Json {
        let made = sessions(&["token", name, "--json"]);
        ended(&made, 0);
        serde_json::from_str(&made.stdout).unwrap()
    };
    let before = token("before")["token"].as_str().unwrap().to_owned();
    let rotated = sessions(&["rotate"]);
    ended(&rotated, 1);
    assert!(rotated.stderr.contains("no daemon is running"), "{}", rotated.stderr);

    let daemon = Daemon::start(binary::vector(), &ledger(&home));
    let plugin = Plugin::pair(&daemon, "window-1");
    let is_in = |token: &str| {
        let path = ("GET", "/api/agents/calls");
        call(daemon.port, path, Some(token), &Json::Null).status == 200
    };
    let made = token("during");
    assert_eq!(made["url"], format!("http://127.0.0.1:{}/mcp", daemon.port));
    let during = made["token"].as_str().unwrap();
    assert!(is_in(&before) && is_in(during));
    let text = sessions(&[]).stdout;
    for part in ["window-1  Test", "plugin-", "before", "during"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!text.contains(&before) && !text.contains(during), "{text}");
    ended(&sessions(&["token", "during"]), 1);
    ended(&sessions(&["rotate"]), 0);
    ended(&sessions(&["revoke", "during"]), 0);
    assert!(is_in(&before) && !is_in(during));
    let gone = sessions(&["revoke", "--plugins"]);
    assert!(gone.stdout.contains("1 session ended."), "{}", gone.stdout);
    assert_eq!(plugin.call("GET", "/api/sessions", &Json::Null).status, 401);
    ended(&sessions(&["revoke"]), 2);

    daemon.kill();
    assert_eq!(listed()["port"], Json::Null);
    assert_eq!(listed()["clients"][0]["name"], "before");
    ended(&sessions(&["revoke", "nobody"]), 1);
    ended(&sessions(&["revoke", "--all"]), 0);
    assert_eq!(listed()["clients"], serde_json::json!([]));
    assert!(!ledger(&home).join("token").exists(), "what a daemon left that was killed");
    let said = sessions(&["token", "after"]);
    ended(&said, 0);
    assert!(said.stdout.contains("\"Authorization\": \"Bearer "), "{}", said.stdout);
}
