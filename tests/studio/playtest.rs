//! The plugin's copies in a playtest, each in a DataModel of its own: what their widget shows and does.

use serde_json::{Value as Json, json};
use studio_sim::{Options, Signals, Studio};

use super::agent::{Agent, answered};
use super::{Desk, ask, click, eval, has, load, shows, until, until_shown, until_there};

/// A DataModel of a playtest, with the plugin's copy.
struct Copy {
    id: &'static str,
    studio: Studio,
}

impl Copy {
    /// Starts the copy; it is connected with the plugin that edits before it runs, or afterwards.
    fn start(desk: &Desk, id: &'static str, is_early: bool) -> Self {
        let switches = super::switches();
        let settings = desk.settings.clone();
        let studio = Studio::new(Options { settings, switches, ..Options::default() }).unwrap();
        studio.set_playing(true);
        if is_early {
            desk.studio.join_playtest(&studio, id);
        }
        load(&studio);
        if !is_early {
            desk.studio.join_playtest(&studio, id);
        }
        Self { id, studio }
    }

    /// Runs both DataModels until this holds for the copy.
    fn until(&self, desk: &Desk, what: &str, done: impl Fn(&Studio) -> bool) {
        until(&desk.studio, what, |edit| {
            edit.exchange_messages(&self.studio, self.id);
            self.studio.step();
            done(&self.studio)
        });
    }
}

#[test]
fn playtest_shows_what_is_pending_and_can_reject_and_stop() {
    for is_early in [true, false] {
        let desk = Desk::ready(Signals::Deferred);
        desk.propose("set Transparency = 0.5 on #Wall");
        let copies = ["server", "client"].map(|id| Copy::start(&desk, id, is_early));
        for copy in &copies {
            copy.until(&desk, "the proposal", |it| {
                shows(it, "1 proposal pending") && shows(it, "Set Transparency of Wall")
            });
            assert!(!has(&copy.studio, "Approve"), "nothing can be applied now");
        }
        let [server, client] = &copies;
        click(&server.studio, "Reject");
        for copy in &copies {
            copy.until(&desk, "rejected", |it| shows(it, "No proposal is pending."));
        }
        until_shown(&desk.studio, "Rejected.");

        desk.propose("set Transparency = 0.25 on #Wall");
        client
            .until(&desk, "the next one", |it| shows(it, "1 proposal pending") && has(it, "Stop"));
        click(&client.studio, "Stop");
        client.until(&desk, "it is stopped", |it| !has(it, "Stop"));
        until(&desk.studio, "nothing is pending", |studio| !has(studio, "Approve"));

        for copy in &copies {
            desk.studio.leave_playtest(copy.id);
            assert_eq!(copy.studio.errors(), Vec::<String>::new());
        }
        // What a later playtest is sent is not compared with what an earlier one was.
        desk.propose("set Transparency = 0.6 on #Wall");
        let later = Copy::start(&desk, "later", is_early);
        later.until(&desk, "the pending one", |it| shows(it, "1 proposal pending"));
        click(&desk.studio, "Reject");
        later.until(&desk, "it is gone", |it| shows(it, "No proposal is pending."));
        desk.studio.leave_playtest(later.id);
        desk.propose("set Transparency = 0.75 on #Wall");
        click(&desk.studio, "Approve");
        until_shown(&desk.studio, "Step 1: applied");
        assert_eq!(desk.studio.errors(), Vec::<String>::new());
    }
}

/// A playtest that the daemon plays in Studio: its server and its client.
struct Game {
    server: Copy,
    client: Option<Copy>,
}

/// The scripts of the game: on the server one that fails, in the player a copy of one that fails.
const GAME: &str = r#"
local main = Instance.new("Script")
main.Name = "Main"
main.Source = "print('started')\nlocal nothing\nwarn('careful')\nprint(nothing.Value)"
main.Parent = game:GetService("ServerScriptService")
local player = Instance.new("Folder")
player.Name = "Ann"
player.Parent = game:GetService("Players")
local scripts = Instance.new("Folder")
scripts.Name = "PlayerScripts"
scripts.Parent = player
local input = Instance.new("LocalScript")
input.Name = "Input"
input.Source = "\nerror('no mouse')"
input.Parent = scripts
"#;

impl Game {
    /// Waits until the plugin starts a playtest, and starts its DataModels.
    fn start(desk: &Desk) -> Self {
        until(&desk.studio, "the playtest", |studio| studio.started_test().is_some());
        let mode = desk.studio.started_test().unwrap();
        let copy = |id, is_server| {
            let switches = super::switches();
            let settings = desk.settings.clone();
            let studio = Studio::new(Options { settings, switches, ..Options::default() }).unwrap();
            studio.play_test(&desk.studio, is_server);
            desk.studio.join_playtest(&studio, id);
            eval(&studio, GAME);
            load(&studio);
            Copy { id, studio }
        };
        let server = copy("server", true);
        let client = (mode == "Play").then(|| copy("client", false));
        server.studio.run_game_script("ServerScriptService.Main");
        if let Some(client) = &client {
            client.studio.run_game_script("Players.Ann.PlayerScripts.Input");
        }
        Self { server, client }
    }

    /// Runs all DataModels until this holds for the one that edits.
    fn until(&self, desk: &Desk, what: &str, done: impl Fn(&Studio) -> bool) {
        let copies = || std::iter::once(&self.server).chain(&self.client);
        until(&desk.studio, what, |edit| {
            for copy in copies() {
                edit.exchange_messages(&copy.studio, copy.id);
                copy.studio.step();
            }
            if edit.started_test().is_some() && edit.follow_test_end(&self.server.studio) {
                self.leave(edit);
            }
            done(edit)
        });
    }

    fn leave(&self, edit: &Studio) {
        for copy in std::iter::once(&self.server).chain(&self.client) {
            edit.leave_playtest(copy.id);
        }
    }

    fn check(&self) {
        for copy in std::iter::once(&self.server).chain(&self.client) {
            assert_eq!(copy.studio.errors(), Vec::<String>::new());
        }
    }
}

/// The scripts of the place that is edited, of which the players have copies.
const SCRIPTS: &str = r#"
local input = Instance.new("LocalScript")
input.Name = "Input"
input.Source = "\nerror('no mouse')"
input.Parent = game:GetService("StarterPlayer").StarterPlayerScripts
"#;

fn play_args(seconds: u32, players: u32) -> Json {
    json!({ "inStudio": true, "seconds": seconds, "players": players })
}

/// The errors of an answer as `source script:line message`.
fn errors(answer: &Json) -> Vec<String> {
    let text = |it: &Json, name: &str| it[name].as_str().unwrap_or("?").to_owned();
    let errors = answer["errors"].as_array().cloned().unwrap_or_default();
    let line = |it: &Json| {
        let (source, script) = (text(it, "source"), text(it, "script"));
        format!("{source} {script}:{} {}", it["line"], text(it, "message"))
    };
    errors.iter().map(line).collect()
}

const SERVER_ERROR: &str = "server ServerScriptService.Main:4 attempt to index nil with 'Value'";
const CLIENT_ERROR: &str = "client StarterPlayer.StarterPlayerScripts.Input:2 no mouse";

#[test]
fn game_is_played_in_studio_after_the_user_permits_it_for_the_task() {
    let desk = Desk::ready(Signals::Deferred);
    let (studio, agent) = (&desk.studio, Agent::of(&desk));
    eval(studio, SCRIPTS);
    let before = studio.snapshot();
    let call = answered(studio, &agent.calls("1", "playtest", play_args(2, 1)));
    assert_eq!(call["outcome"]["state"], "needs_permission", "{call}");
    until_shown(studio, "Play the game in Studio?");
    assert_eq!(studio.started_test(), None, "nothing is played without permission");
    let became = agent.became(&call);
    until_there(studio, "Permit:task");
    click(studio, "Permit:task");
    let game = Game::start(&desk);
    until_shown(studio, "You permitted it, for this task.");
    // Other calls go on meanwhile.
    let read = agent.calls("2", "list_children", json!({ "parentPath": "game.Workspace" }));
    assert_eq!(answered(studio, &read)["outcome"]["state"], "done");
    game.until(&desk, "the end", |studio| studio.started_test().is_none());
    let outcome = answered(studio, &became)["outcome"].clone();
    assert_eq!(outcome["state"], "done", "{outcome}");
    let answer = &outcome["answer"];
    assert_eq!(errors(answer), [SERVER_ERROR, CLIENT_ERROR], "{answer}");
    let output = [
        json!({ "source": "server", "kind": "print", "text": "started" }),
        json!({ "source": "server", "kind": "warn", "text": "careful" }),
    ];
    assert_eq!(answer["output"], json!(output), "{answer}");
    assert_eq!((&answer["ok"], &answer["ended"]), (&json!(false), &json!("its seconds were over")));
    assert_eq!(studio.snapshot(), before, "the place that is edited stays as it was");
    game.check();

    // The permission holds for the rest of the task. Without players there is no client.
    let call = agent.calls("3", "playtest", play_args(1, 0));
    let game = Game::start(&desk);
    assert!(game.client.is_none());
    game.until(&desk, "the end", |studio| studio.started_test().is_none());
    let call = answered(studio, &call);
    assert_eq!(errors(&call["outcome"]["answer"]), [SERVER_ERROR], "{call}");

    let console = answered(studio, &agent.calls("4", "get_console_output", json!({})));
    assert_eq!(errors(&console["outcome"]["answer"]), [SERVER_ERROR], "{console}");
}

#[test]
fn permission_for_one_call_is_asked_again_and_can_be_refused() {
    let desk = Desk::ready(Signals::Deferred);
    let (studio, agent) = (&desk.studio, Agent::of(&desk));
    let call = answered(studio, &agent.calls("1", "playtest", play_args(60, 1)));
    let became = agent.became(&call);
    until_there(studio, "Permit:once");
    click(studio, "Permit:once");
    let game = Game::start(&desk);
    // The user ends it.
    studio.end_test(None);
    game.leave(studio);
    let outcome = answered(studio, &became)["outcome"].clone();
    let ended = &outcome["answer"]["ended"];
    assert_eq!(ended, "the person or the game ended it earlier", "{outcome}");

    let call = answered(studio, &agent.calls("2", "playtest", play_args(1, 1)));
    assert_eq!(call["outcome"]["state"], "needs_permission", "{call}");
    let became = agent.became(&call);
    until_there(studio, "Permit:no");
    click(studio, "Permit:no");
    let outcome = answered(studio, &became)["outcome"].clone();
    let reason = outcome["reason"].as_str().unwrap_or_default();
    assert!(
        reason.starts_with("The person did not permit to play the game in Studio."),
        "{outcome}"
    );
    until_shown(studio, "You did not permit it.");
    assert_eq!(studio.started_test(), None);
}

#[test]
fn game_ends_with_the_task_that_plays_it() {
    // The task is stopped while the game is played, or before its DataModels have connected.
    for is_early in [false, true] {
        let desk = Desk::ready(Signals::Deferred);
        let (studio, agent) = (&desk.studio, Agent::of(&desk));
        let call = answered(studio, &agent.calls("1", "playtest", play_args(300, 1)));
        until_there(studio, "Permit:once");
        click(studio, "Permit:once");
        let stop = || {
            until_there(studio, "Stop");
            click(studio, "Stop");
            until(studio, "the end of the task", |studio| !has(studio, "Stop"));
        };
        if is_early {
            until(studio, "the playtest", |studio| studio.started_test().is_some());
            stop();
            studio.run_for(2.0);
        }
        let game = Game::start(&desk);
        if !is_early {
            stop();
        }
        game.until(&desk, "the end of the game", |studio| studio.started_test().is_none());
        is_asked_again(&desk, &call);
    }
}

/// Asserts that the next task of an agent needs a permission of its own.
fn is_asked_again(desk: &Desk, before: &Json) {
    let studio = &desk.studio;
    let next = Agent::of(desk);
    let call = answered(studio, &next.calls("2", "playtest", play_args(1, 1)));
    assert_eq!(call["outcome"]["state"], "needs_permission", "{call}");
    assert_ne!(call["workflow"], before["workflow"]);
}

#[test]
fn studio_that_plays_no_game_and_wrong_arguments_are_refused_in_words() {
    let desk = Desk::ready(Signals::Deferred);
    let (studio, agent) = (&desk.studio, Agent::of(&desk));
    let refused = |id: &str, args: Json| {
        let call = answered(studio, &agent.calls(id, "playtest", args));
        call["outcome"]["reason"].as_str().unwrap_or_default().to_owned()
    };
    let steps = json!({ "inStudio": true, "steps": [{ "do": "wait", "seconds": 1 }] });
    assert!(refused("1", steps).contains("In Studio no steps can be played."));
    assert!(refused("2", play_args(1, 2)).contains("at most 1 player can join, not 2"));
    let call = answered(studio, &agent.calls("3", "playtest", play_args(1, 1)));
    let became = agent.became(&call);
    // The user has started one.
    eval(
        studio,
        "task.spawn(function() game:GetService('StudioTestService'):ExecuteRunModeAsync({}) end)",
    );
    until_there(studio, "Permit:task");
    click(studio, "Permit:task");
    let outcome = answered(studio, &became)["outcome"].clone();
    let reason = outcome["reason"].as_str().unwrap_or_default();
    assert!(
        reason.contains("Studio did not play the game: A test is already running"),
        "{outcome}"
    );
    studio.end_test(None);
}

#[test]
fn output_of_the_users_own_playtest_is_kept_and_attached() {
    let desk = Desk::ready(Signals::Deferred);
    let (studio, agent) = (&desk.studio, Agent::of(&desk));
    eval(studio, SCRIPTS);
    eval(
        studio,
        "task.spawn(function() game:GetService('StudioTestService'):ExecutePlayModeAsync({}) end)",
    );
    let game = Game::start(&desk);
    game.until(&desk, "its output", |edit| {
        let shown = edit.now();
        shown > 3.0 && edit.started_test().is_some()
    });
    studio.end_test(None);
    game.leave(studio);
    let console = answered(studio, &agent.calls("1", "get_console_output", json!({})));
    assert_eq!(errors(&console["outcome"]["answer"]), [SERVER_ERROR, CLIENT_ERROR], "{console}");
    ask(studio, "Fix the error in the @output.");
    until_shown(studio, "output of Studio (");
    let log = desk.vector(&["log", "--json"]);
    assert!(log.contains("ServerScriptService.Main:4: attempt to index nil"), "{log}");
}
