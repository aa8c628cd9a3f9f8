//! Failures in Studio: refusals, stale bases, denied permissions, and processes that are killed
//! midway.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use scene_schemas::entry::{Entry, Seq};
use serde_json::{Value as Json, json};
use studio_sim::{Answer, Permission, Signals, Studio};
use vector_ledger::Ledger;
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;

use super::agent::{Agent, answered};
use super::{Desk, click, eval, has, load, shows, studio, until, until_shown, until_there};

const REQUEST: &str = "set Transparency = 0.5 on game.Workspace.Wall";

fn transparency(studio: &Studio) -> Json {
    eval(studio, "return workspace.Wall.Transparency")
}

/// The plugin's steps on the undo stack.
fn steps(studio: &Studio) -> Vec<String> {
    let all = studio.undo_stack_names().into_iter();
    all.filter(|name| name.starts_with("Vector")).collect()
}

#[test]
fn refused_recording_changes_nothing() {
    for is_playing in [false, true] {
        let desk = Desk::ready(Signals::Deferred);
        let studio = &desk.studio;
        let before = studio.snapshot();
        desk.propose(REQUEST);
        if is_playing {
            studio.set_playing(true);
        } else {
            studio.refuse_next_recording();
        }
        click(studio, "Approve");
        until_shown(studio, "Studio cannot record a change at the moment");
        studio.set_playing(false);
        assert_eq!(studio.snapshot(), before);
        assert!(steps(studio).is_empty());
    }
}

#[test]
fn script_found_stale_midway_reverts_the_whole_change() {
    for signals in [Signals::Immediate, Signals::Deferred] {
        let desk = Desk::ready(signals);
        let studio = &desk.studio;
        let more = "local it = Instance.new('Script') it.Name = 'Other' it.Source = 'print(1)\\n' \
                    it.Parent = game:GetService('ServerScriptService')";
        eval(studio, more);
        desk.propose("replace \"print(1)\" with \"print(2)\" in all scripts");
        studio.move_editor_on("ServerScriptService.Other", "-- mine\nprint(1)\n");
        click(studio, "Approve");
        // The proposal is replanned on what the user has typed, and is pending again.
        // The reason may have scrolled out of view.
        until(studio, "the new proposal", |studio| {
            let is_told = studio.find_gui(|it| it.text.contains("replanned")).is_ok();
            is_told && has(studio, "Approve")
        });
        let source =
            |name: &str| eval(studio, &format!("return game.ServerScriptService.{name}.Source"));
        assert_eq!(source("Main"), "print(1)\n", "what was written is taken back");
        assert_eq!(source("Other"), "-- mine\nprint(1)\n", "what the person typed stays");
        click(studio, "Approve");
        until(studio, "applied", |_| source("Other") == "-- mine\nprint(2)\n");
        assert_eq!(source("Main"), "print(2)\n");
        assert!(studio.undo());
        until(studio, "undone", |_| {
            source("Main") == "print(1)\n" && source("Other") == "-- mine\nprint(1)\n"
        });
    }
}

#[test]
fn conflict_shows_base_current_and_proposed_text() {
    for signals in [Signals::Immediate, Signals::Deferred] {
        let desk = Desk::ready(signals);
        let studio = &desk.studio;
        desk.propose("comment game.ServerScriptService.Main: checked");
        studio.move_editor_on("ServerScriptService.Main", "-- mine\nprint(1)\n");
        click(studio, "Approve");
        // Later messages may have scrolled the card out of view.
        until(studio, "the conflict", |studio| studio.find_gui(|it| it.name == "Conflict").is_ok());
        for text in ["Line 1, before", "Now in the script", "-- mine", "Proposed", "-- checked"] {
            assert!(studio.find_gui(|it| it.text == text).is_ok(), "{text}");
        }
        assert!(!has(studio, "Approve"), "nothing is left to decide upon");
        let source = eval(studio, "return game.ServerScriptService.Main.Source");
        assert_eq!(source, "-- mine\nprint(1)\n", "what the person typed stays");
    }
}

#[test]
fn write_failing_midway_reverts_the_whole_change() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    let before = studio.snapshot();
    desk.propose("set Transparency = 0.5, Reflectance = 0.25 on game.Workspace.Wall");
    studio.fail_writes("Transparency", Some("Part"));
    click(studio, "Approve");
    until(studio, "refused", |studio| !has(studio, "Approve") && shows(studio, "not done"));
    studio.allow_writes();
    assert_eq!(studio.snapshot(), before);
    studio.clear_errors();
}

#[test]
fn denied_permissions_are_reported_with_their_setting() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    desk.propose("replace \"print(1)\" with \"print(2)\" in game.ServerScriptService.Main");
    studio.set_script_writes(Permission::Denied);
    click(studio, "Approve");
    until_shown(studio, "Manage Plugins");
    assert_eq!(eval(studio, "return game.ServerScriptService.Main.Source"), "print(1)\n");
    studio.set_script_writes(Permission::Allowed);
    studio.set_http(Permission::Denied);
    until(studio, "the switch", |studio| shows(studio, "HTTP") && shows(studio, "Manage Plugins"));
    studio.clear_errors();
}

#[test]
fn reloaded_plugin_acknowledges_its_applied_change() {
    for signals in [Signals::Immediate, Signals::Deferred] {
        let desk = Desk::ready(signals);
        let studio = &desk.studio;
        desk.propose(REQUEST);
        studio.on_request("/apply", 0, Answer::Kill);
        click(studio, "Approve");
        until(studio, "unloaded", |studio| studio.widgets().is_empty());
        assert_eq!(transparency(studio), 0.5);
        load(studio);
        until_shown(studio, "Step 1: applied");
        assert_eq!(steps(studio), ["Vector 4"]);
    }
}

#[test]
fn plugin_killed_at_any_write_applies_once() {
    for skip in 0..9 {
        let desk = Desk::ready(Signals::Deferred);
        let studio = &desk.studio;
        desk.propose("set Transparency = 0.5, Reflectance = 0.25, CanCollide = false on #Wall");
        studio.kill_at_write(skip);
        click(studio, "Approve");
        until(studio, "unloaded or done", |studio| {
            studio.widgets().is_empty() || shows(studio, "Step 1: applied")
        });
        if studio.widgets().is_empty() {
            load(studio);
            until(studio, "settled", |studio| {
                if has(studio, "Approve") {
                    click(studio, "Approve");
                }
                shows(studio, ": applied.") || shows(studio, "Check whether")
            });
        }
        assert_eq!(transparency(studio), 0.5, "killed at write {skip}");
        assert_eq!(eval(studio, "return workspace.Wall.CanCollide"), false);
        assert_eq!(steps(studio).len(), 1, "{:?}", steps(studio));
    }
}

/// The texts of the two scripts; of `Long`, the first line and the length.
fn texts(studio: &Studio) -> Json {
    let luau = "local long = workspace.Long.Source
        return { game.ServerScriptService.Main.Source, string.sub(long, 1, 8), #long }";
    eval(studio, luau)
}

/// A script whose text is longer than a property value may be. It is changed before the other.
const LONG: &str = r#"
local it = Instance.new("Script")
it.Name = "Long"
it.Parent = workspace
game:GetService("ScriptEditorService"):UpdateSourceAsync(it, function()
    return "print(1)\n" .. string.rep("-- äöü\n", 40000)
end)
"#;

/// Adds the long script, and waits until it has its text.
fn add_long_script(studio: &Studio) {
    eval(studio, LONG);
    until(studio, "the long text", |studio| texts(studio)[1] == "print(1)");
}

#[test]
fn plugin_killed_midway_reverts_long_script_texts() {
    let length = "print(1)\n".len() + "-- äöü\n".len() * 40_000;
    let (before, after) =
        (json!(["print(1)\n", "print(1)", length]), json!(["print(2)\n", "print(2)", length]));
    let mut taken_back = 0;
    for skip in (6..66).step_by(6) {
        let desk = Desk::ready(Signals::Deferred);
        let studio = &desk.studio;
        add_long_script(studio);
        desk.propose("replace \"print(1)\" with \"print(2)\" in all scripts");
        studio.kill_at_write(skip);
        click(studio, "Approve");
        until(studio, "unloaded or done", |studio| {
            studio.widgets().is_empty() || shows(studio, "Step 1: applied")
        });
        if studio.widgets().is_empty() {
            let left = texts(studio);
            load(studio);
            let is_half = left != before && left != after;
            until(studio, "what was half done is taken back", |studio| {
                !is_half || texts(studio) == before
            });
            taken_back += u32::from(is_half);
            until(studio, "settled", |studio| {
                if has(studio, "Approve") {
                    click(studio, "Approve");
                }
                shows(studio, ": applied.")
            });
        }
        assert_eq!(texts(studio), after, "killed at write {skip}");
        assert_eq!(steps(studio).len(), 1, "{:?}", steps(studio));
    }
    assert!(taken_back > 0, "none was killed behind the long text");
}

#[test]
fn lost_responses_and_duplicate_requests_apply_nothing_twice() {
    for answer in [Answer::Lose, Answer::Double] {
        for path in ["/poll", "/scene", "/apply", "/decide", "/chat"] {
            let desk = Desk::ready(Signals::Deferred);
            let studio = &desk.studio;
            studio.on_request(path, 0, answer);
            super::ask(studio, "clone game.Workspace.Wall as Twin");
            until(studio, path, |studio| {
                if has(studio, "Approve") {
                    click(studio, "Approve");
                } else if shows(studio, "Not sent") {
                    super::ask(studio, "clone game.Workspace.Wall as Twin");
                }
                eval(studio, "return workspace:FindFirstChild('Twin') ~= nil") == true
                    && shows(studio, "Done.")
            });
            let twins = "local n = 0 for _, it in workspace:GetChildren() do \
                         if it.Name == 'Twin' then n += 1 end end return n";
            assert_eq!(eval(studio, twins), 1, "{path}, {answer:?}");
        }
    }
}

/// Kills the daemon as soon as its ledger has this many entries, and starts it again.
fn killed_at(entries: u64) {
    let home = Home::new();
    let daemon = Daemon::start(binary::vector(), home.path());
    let port = daemon.port;
    let settings = studio_sim::SharedSettings::default();
    settings.set("VectorPort", Some(port.to_string()));
    let studio = studio(&settings, Signals::Deferred);
    super::pair(&studio, &daemon);
    let is_over = AtomicBool::new(false);
    let ledger = Ledger::open(home.path()).unwrap();
    std::thread::scope(|scope| {
        let keeper = scope.spawn(|| {
            while ledger.last_seq().unwrap().0 < entries && !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_micros(200));
            }
            daemon.kill();
            Daemon::start_on(binary::vector(), home.path(), port)
        });
        super::ask(&studio, REQUEST);
        let is_asked = || ledger.last_seq().unwrap().0 > 0;
        until(&studio, "done", |studio| {
            // A request or a click may be lost with the daemon, so it is repeated.
            if has(studio, "Approve") && shows(studio, "Connected") {
                click(studio, "Approve");
            } else if !is_asked() && has(studio, "Ask") && shows(studio, "Connected") {
                super::ask(studio, REQUEST);
            }
            ledger.last_seq().unwrap().0 >= entries
                && transparency(studio) == 0.5
                && shows(studio, "Done.")
        });
        is_over.store(true, Ordering::Relaxed);
        drop(keeper.join().unwrap());
    });
    assert_eq!(steps(&studio).len(), 1, "{entries}: {:?}", steps(&studio));
    assert_eq!(studio.unrecorded_writes(), Vec::<String>::new());
    fs::remove_dir_all(home.path().join("leases")).unwrap();
}

#[test]
fn daemon_killed_at_any_entry_resumes() {
    for entries in 1..=9 {
        killed_at(entries);
    }
}

/// How many proposals were made; more than requested ones were replanned.
fn proposals(home: &Home) -> usize {
    let records = Ledger::open(home.path()).unwrap().read(Seq(0), 1_000).unwrap();
    records.iter().filter(|it| matches!(it.entry, Entry::Proposed { .. })).count()
}

#[test]
fn proposal_inside_a_created_instance_outlives_restarts() {
    for is_daemon_killed in [false, true] {
        let home = Home::new();
        let mut daemon = Daemon::start(binary::vector(), home.path());
        let port = daemon.port;
        let settings = studio_sim::SharedSettings::default();
        settings.set("VectorPort", Some(port.to_string()));
        let studio = studio(&settings, Signals::Deferred);
        super::pair(&studio, &daemon);
        let cards = |studio: &Studio| studio.gui().iter().filter(|it| it.name == "Approve").count();
        let is_there =
            |studio: &Studio, path: &str| eval(studio, &format!("return {path} ~= nil")) == true;
        let agent = Agent::at(port, home.path());
        for [parent, class, name] in
            [["game.Workspace", "Folder", "Camp"], ["game.Workspace.Camp", "Part", "Tent"]]
        {
            let args =
                json!({ "parentPath": parent, "className": class, "props": { "Name": name } });
            answered(&studio, &agent.calls(name, "create_instance", args));
        }
        until(&studio, "both cards", |studio| cards(studio) == 2);
        studio.trigger_action("VectorApprove").unwrap();
        until(&studio, "the folder", |studio| {
            cards(studio) == 1 && is_there(studio, "workspace:FindFirstChild('Camp')")
        });
        until_shown(&studio, "Step 1: applied");
        if is_daemon_killed {
            daemon.kill();
            until(&studio, "the daemon is away", |studio| !shows(studio, "Connected"));
            daemon = Daemon::start_on(binary::vector(), home.path(), port);
        } else {
            studio.unload_plugin();
            load(&studio);
        }
        until(&studio, "the part", |studio| {
            if has(studio, "Approve") && shows(studio, "Connected") {
                click(studio, "Approve");
            }
            is_there(studio, "workspace.Camp:FindFirstChild('Tent')")
        });
        assert_eq!(proposals(&home), 2, "daemon killed: {is_daemon_killed}");
        drop(daemon);
    }
}

/// Returns a Studio whose plugin has performed a replacement, with Vector stopped before it was
/// told and started again after the user typed a text into Main.
fn write_interrupted(has_long: bool, scripts: &str, typed: &str) -> (Home, Daemon, Studio) {
    let home = Home::new();
    let daemon = Daemon::start(binary::vector(), home.path());
    let port = daemon.port;
    let settings = studio_sim::SharedSettings::default();
    settings.set("VectorPort", Some(port.to_string()));
    let studio = studio(&settings, Signals::Deferred);
    if has_long {
        add_long_script(&studio);
    }
    super::pair(&studio, &daemon);
    super::ask(&studio, &format!("replace \"print(1)\" with \"print(2)\" in {scripts}"));
    until_there(&studio, "Approve");
    studio.on_request("/apply", 0, Answer::Kill);
    click(&studio, "Approve");
    until(&studio, "unloaded", |studio| studio.widgets().is_empty());
    daemon.kill();
    studio.edit_script("ServerScriptService.Main", typed, false);
    let daemon = Daemon::start_on(binary::vector(), home.path(), port);
    load(&studio);
    (home, daemon, studio)
}

#[test]
fn unfinished_write_that_the_user_types_over_is_not_replanned() {
    let typed = "-- mine\nprint(1)\n";
    let (home, _daemon, studio) = write_interrupted(false, "game.ServerScriptService.Main", typed);
    until_shown(&studio, "Check whether");
    assert!(!has(&studio, "Approve"));
    assert_eq!(proposals(&home), 1);
    let source = eval(&studio, "return game.ServerScriptService.Main.Source");
    assert_eq!(source, typed, "what the person typed stays");
}

#[test]
fn plugin_settles_an_unfinished_proposal_that_the_place_shows_in_part() {
    let typed = "print(1)\n";
    let (home, _daemon, studio) = write_interrupted(true, "all scripts", typed);
    until_shown(&studio, "Step 1: applied");
    assert_eq!(proposals(&home), 1);
    assert_eq!(texts(&studio)[0], typed, "what the person typed stays");
    assert_eq!(steps(&studio).len(), 1, "{:?}", steps(&studio));
}

#[test]
fn two_windows_have_separate_proposals_and_changes() {
    let desk = Desk::ready(Signals::Deferred);
    let other = studio(&desk.settings, Signals::Immediate);
    until_shown(&other, "Connected");
    desk.propose(REQUEST);
    assert!(!has(&other, "Approve"), "the other window knows nothing of it");
    click(&desk.studio, "Approve");
    until_shown(&desk.studio, "Step 1: applied");
    assert_eq!(transparency(&other), 0.0);
    super::ask(&other, REQUEST);
    until_there(&other, "Approve");
    click(&other, "Approve");
    until_shown(&other, "Step 1: applied");
    assert_eq!(transparency(&other), 0.5);
}
