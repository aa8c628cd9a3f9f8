//! The single daemon: commands hand places and keys over to the one that is already running.

use std::fs;
use std::path::Path;

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home, Output};
use vector_tests::daemon::{Daemon, Plugin};
use vector_tests::human::Human;
use vector_tests::places::Format;

use super::{ended, text, with_place};

const KEY: &str = "sk-never-written-down";
const MODELS: &str = "[providers.house]\nwire = \"openai_chat\"\n\
                      base_url = \"http://127.0.0.1:1\"\nkeys = [\"HOUSE_API_KEY\"]\n";

/// Runs `vector` in an environment that has a key.
fn with_key(home: &Home, args: &[&str]) -> Output {
    let output = home.command(args).env("HOUSE_API_KEY", KEY).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code().unwrap();
    Output { code, stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

fn house(keys: &Json) -> &Json {
    let providers = keys["providers"].as_array().unwrap();
    providers.iter().find(|it| it["provider"] == "house").unwrap()
}

/// The process that serves a ledger, as it is named to users. Wine numbers processes otherwise than
/// this system.
fn served_by(ledger: &Path) -> String {
    let holder = fs::read_to_string(ledger.join("serve.pid")).unwrap();
    holder.split_once(',').unwrap().0.to_owned()
}

#[test]
fn serve_opens_the_place_in_the_running_daemon() {
    let (home, file) = with_place(Format::Rbxl);
    let ledger = home.path().join("vector");
    let daemon = Daemon::start(binary::vector(), &ledger);
    let human = Human::of(&daemon, &ledger);
    let served = home.run(&["serve", "--place", &text(&file)], "");
    ended(&served, 0);
    let says = format!("{}, port {}", served_by(&ledger), daemon.port);
    for part in
        [says.as_str(), "place.rbxl is open in the running daemon", "`vector stop` stops it"]
    {
        assert!(served.stdout.contains(part), "{part}: {}", served.stdout);
    }
    let sessions = human.call("GET", "/api/sessions", &Json::Null).ok();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1, "{sessions}");
    // Without anything to open, it suggests `vector open`.
    let refused = home.run(&["serve"], "");
    ended(&refused, 1);
    assert!(refused.stderr.contains("`vector open`"), "{}", refused.stderr);
    // A place that cannot be opened is reported, and the daemon keeps running.
    let missing = home.run(&["serve", "--place", "no-such.rbxl"], "");
    ended(&missing, 1);
    assert!(missing.stderr.contains("no-such.rbxl"), "{}", missing.stderr);
}

#[test]
fn open_prints_the_page_address_of_the_session() {
    let (home, file) = with_place(Format::Rbxl);
    let ledger = home.path().join("vector");
    let daemon = Daemon::start(binary::vector(), &ledger);
    let opened = home.run(&["open", &text(&file), "--print"], "");
    ended(&opened, 0);
    let human = Human::of(&daemon, &ledger);
    let sessions = human.call("GET", "/api/sessions", &Json::Null).ok();
    let session = sessions["sessions"][0]["session"].as_str().unwrap().to_owned();
    let address = opened.stdout.trim();
    assert!(address.contains("#in=") && address.ends_with(&format!("/{session}")), "{address}");
    assert!(opened.stderr.contains("place.rbxl is open in the daemon"), "{}", opened.stderr);
    let missing = home.run(&["open", "no-such.rbxl", "--print"], "");
    ended(&missing, 1);
    assert!(missing.stderr.contains("no file or folder no-such.rbxl"), "{}", missing.stderr);
}

#[test]
fn background_daemon_reports_once_that_it_keeps_running() {
    let home = Home::new();
    let opened = home.run(&["open", "--print", "--port", "0"], "");
    ended(&opened, 0);
    assert!(opened.stderr.contains("started in the background"), "{}", opened.stderr);
    assert!(opened.stderr.contains("`vector stop` stops it"), "{}", opened.stderr);
    let again = home.run(&["open", "--print"], "");
    ended(&again, 0);
    assert!(!again.stderr.contains("background"), "it is said once: {}", again.stderr);
    ended(&home.run(&["stop"], ""), 0);
}

#[test]
fn open_hands_the_key_to_daemon_memory_only() {
    let home = Home::new();
    let ledger = home.path().join("vector");
    fs::create_dir_all(&ledger).unwrap();
    fs::write(ledger.join("models.toml"), MODELS).unwrap();
    let daemon = Daemon::start(binary::vector(), &ledger);
    let human = Human::of(&daemon, &ledger);
    let keys = || human.call("GET", "/api/keys", &Json::Null).ok();
    assert_eq!(house(&keys())["is_usable"], false);
    let says = house(&keys())["says"].as_str().unwrap().to_owned();
    let process = served_by(&ledger);
    assert!(says.contains(&process) && says.contains("`vector open` in a terminal"), "{says}");
    // `vector models` and `vector doctor` report the same about the daemon.
    for args in [["models"], ["doctor"]] {
        let said = with_key(&home, &args).stdout;
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("lacks HOUSE_API_KEY"), "{args:?}: {said}");
    }
    let opened = with_key(&home, &["open", "--print"]);
    ended(&opened, 0);
    let taken = format!("handed HOUSE_API_KEY over to the daemon ({process})");
    assert!(opened.stderr.contains(&taken), "{}", opened.stderr);
    assert_eq!(house(&keys())["is_usable"], true);
    let listed = with_key(&home, &["models"]).stdout;
    assert!(!listed.contains("lacks"), "{listed}");
    // The key is in no file, response or output.
    assert!(!format!("{opened:?}{}", keys()).contains(KEY));
    for entry in fs::read_dir(&ledger).unwrap().flatten() {
        if entry.file_type().unwrap().is_file() {
            let bytes = fs::read(entry.path()).unwrap();
            let is_there = bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes());
            assert!(!is_there, "{:?}", entry.file_name());
        }
    }
}

#[test]
fn agents_and_plugins_cannot_hand_over_keys() {
    let home = Home::new();
    let ledger = home.path().join("vector");
    fs::create_dir_all(&ledger).unwrap();
    fs::write(ledger.join("models.toml"), MODELS).unwrap();
    let daemon = Daemon::start(binary::vector(), &ledger);
    let handed = json!({ "keys": { "HOUSE_API_KEY": KEY } });
    let plugin = Plugin::pair(&daemon, "window-1");
    let agent = Daemon::agent_token(&ledger);
    let by = |token: Option<&str>| daemon.call("POST", "/api/keys", token, &handed).status;
    assert_eq!([by(None), by(Some(&agent)), by(Some(&plugin.token))], [401, 401, 403]);
    let human = Human::of(&daemon, &ledger);
    assert_eq!(house(&human.call("GET", "/api/keys", &Json::Null).ok())["is_usable"], false);
}

#[test]
fn key_set_without_a_keychain_names_the_variable() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let home = Home::new();
    let refused = home.run(&["key", "set", "anthropic"], "");
    ended(&refused, 1);
    assert!(refused.stderr.contains("no keychain"), "{}", refused.stderr);
    assert!(refused.stderr.contains("Set ANTHROPIC_API_KEY"), "{}", refused.stderr);
    let doctor = home.run(&["doctor"], "").stdout;
    assert!(doctor.contains("set ANTHROPIC_API_KEY"), "{doctor}");
}

#[test]
fn daemon_of_another_version_is_noticed() {
    let home = Home::new();
    let ledger = home.path().join("vector");
    let _daemon = Daemon::start(binary::vector(), &ledger);
    let pair = || home.run(&["pair"], "");
    assert!(!pair().stderr.contains("version"), "{}", pair().stderr);
    // The file in which the daemon says its port, its token and its version.
    let file = ledger.join("token");
    let written = fs::read_to_string(&file).unwrap();
    for (version, says) in [
        ("0.0.9", "run `vector stop`; the next command starts this one."),
        ("99.0.0", "use the newer program, or run `vector stop`"),
    ] {
        let ours = format!(" {}", scene_schemas::api::VERSION);
        assert!(written.contains(&ours), "{written}");
        fs::write(&file, written.replace(&ours, &format!(" {version}"))).unwrap();
        let paired = pair();
        ended(&paired, 0);
        let note = format!("note: the running daemon is version {version}, and this program is ");
        assert_eq!(paired.stderr.matches(&note).count(), 1, "{}", paired.stderr);
        assert!(paired.stderr.contains(says), "{}", paired.stderr);
    }
    let stopped = home.run(&["stop"], "");
    ended(&stopped, 0);
    assert!(!stopped.stderr.contains("version"), "{}", stopped.stderr);
}
