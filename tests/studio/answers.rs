//! Behaviour that the plugin must have whatever a real Studio does: dialogs that ask for a
//! permission, undo that forgets texts, a switch of the theme, long texts, and the keyboard.

use serde_json::{Value as Json, json};
use studio_sim::{GuiObject, Permission, Signals, Studio, Switches, Theme};

use super::budget::{mirrored, read};
use super::{Desk, ask, click, eval, has, object, shows, until, until_shown, until_there};

pub(super) const SOURCE: &str = "return game.ServerScriptService.Main.Source";

/// Requests that put a script into the place, or change one.
const SCRIPT_REQUESTS: [&str; 2] = [
    "replace \"print(1)\" with \"print(2)\" in game.ServerScriptService.Main",
    "create a Script named Extra in game.ServerScriptService",
];

#[test]
fn proposal_waits_until_studio_may_change_scripts() {
    for request in SCRIPT_REQUESTS {
        let desk = Desk::ready(Signals::Deferred);
        let studio = &desk.studio;
        let before = studio.snapshot();
        studio.set_script_writes(Permission::Asks);
        desk.propose(request);
        click(studio, "Approve");
        until(studio, "the dialog", Studio::asks_for_script_writes);
        // A text waits for the answer where Studio lets it.
        let waits = super::switches().dialogs_wait && request.starts_with("replace");
        if !waits {
            until_shown(studio, "allow it and approve again");
            until_there(studio, "Approve");
            assert!(studio.undo_stack_names().iter().all(|step| !step.starts_with("Vector")));
        }
        assert_eq!(studio.snapshot(), before, "{request}");
        studio.set_script_writes(Permission::Allowed);
        if !waits {
            click(studio, "Approve");
        }
        until_shown(studio, "Step 1: applied");
        assert_ne!(studio.snapshot(), before, "{request}");
    }
}

#[test]
fn open_dialog_of_studio_is_named_until_it_is_answered() {
    let waits = Switches { dialogs_wait: true, ..Switches::default() };
    let desk = Desk::with_switches(Signals::Deferred, waits);
    let studio = &desk.studio;
    until_there(studio, "Ask");
    studio.set_script_writes(Permission::Asks);
    desk.propose("replace \"print(1)\" with \"print(2)\" in game.ServerScriptService.Main");
    click(studio, "Approve");
    until_shown(studio, "If Studio asks for permission to change scripts, allow it.");
    studio.run_for(60.0);
    assert_eq!(studio.in_flight(), 1, "the plugin still polls");
    assert_eq!(eval(studio, SOURCE), "print(1)\n");
    studio.set_script_writes(Permission::Allowed);
    until_shown(studio, "Step 1: applied");
    assert_eq!(eval(studio, SOURCE), "print(2)\n");
    // Denied instead: the proposal is offered again.
    studio.set_script_writes(Permission::Asks);
    desk.propose("replace \"print(2)\" with \"print(3)\" in game.ServerScriptService.Main");
    click(studio, "Approve");
    until(studio, "the dialog", Studio::asks_for_script_writes);
    studio.set_script_writes(Permission::Denied);
    until_shown(studio, "allow it and approve again");
    assert_eq!(eval(studio, SOURCE), "print(2)\n");
    // So do requests, from the first on.
    studio.unload_plugin();
    studio.set_http(Permission::Asks);
    super::load(studio);
    until_shown(studio, "Vector's daemon on this computer has not answered yet.");
    studio.set_http(Permission::Allowed);
    until_shown(studio, "Connected");
}

#[test]
fn request_after_the_dialog_connects_within_two_seconds() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    until_shown(studio, "Connected");
    studio.set_http(Permission::Asks);
    // A poll that the daemon holds was sent before the dialog, and says nothing about it.
    until(studio, "no request in flight", |studio| studio.in_flight() == 0);
    // A request waits for the answer where Studio lets it.
    if !super::switches().dialogs_wait {
        until_shown(studio, "does not let Vector connect");
    }
    studio.run_for(30.0);
    studio.set_http(Permission::Allowed);
    let (allowed, sent) = (studio.now(), studio.http_log().len());
    // Where a dialog waits, the widget may show that it is connected all the time.
    until(studio, "a request", |studio| studio.http_log().len() > sent);
    until_shown(studio, "Connected");
    // How long the answers take depends on the machine.
    let first = &studio.http_log()[sent];
    assert!(first.at - allowed < 2.0, "{} s", first.at - allowed);
    studio.clear_errors();
}

#[test]
fn proposal_is_applied_once_when_studio_stops_a_script() {
    for skip in [1, 5, 9] {
        let desk = Desk::ready(Signals::Deferred);
        let studio = &desk.studio;
        desk.propose("set Transparency = 0.5, Reflectance = 0.25, CanCollide = false on #Wall");
        studio.stop_at_write(skip);
        click(studio, "Approve");
        let approved = studio.now();
        until(studio, "settled", |studio| {
            if has(studio, "Approve") {
                click(studio, "Approve");
            }
            shows(studio, ": applied")
        });
        // Not only when the daemon offers the work again, with the next poll.
        assert!(studio.now() - approved < 10.0, "{} s", studio.now() - approved);
        let wall = "local it = workspace.Wall
            return { it.Transparency, it.Reflectance, it.CanCollide }";
        assert_eq!(eval(studio, wall), json!([0.5, 0.25, false]), "stopped at write {skip}");
        assert!(studio.errors().iter().all(|it| it.contains("Script timeout")));
        studio.clear_errors();
        // The plugin still works, and nothing is left open.
        desk.propose("set Transparency = 0.25 on #Wall");
        click(studio, "Approve");
        until(studio, "works", |studio| eval(studio, wall)[0] == 0.25 && !has(studio, "Stop"));
        let steps = studio.undo_stack_names();
        assert_eq!(steps.iter().filter(|it| it.starts_with("Vector")).count(), 2, "{steps:?}");
    }
}

#[test]
fn publishing_keeps_the_session_and_tells_the_place_id() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    desk.propose("set Transparency = 0.5 on #Wall");
    let sessions = || {
        let token = std::fs::read_to_string(desk.home.path().join("token")).unwrap();
        let token = token.split_whitespace().nth(1).map(str::to_owned);
        desk.daemon.call("GET", "/api/sessions", token.as_deref(), &Json::Null).ok()
    };
    let before = sessions();
    studio.publish(4_567, "Obby");
    until(studio, "the new name", |_| sessions()["sessions"][0]["place"]["name"] == "Obby");
    let after = sessions();
    assert_eq!(after["sessions"].as_array().unwrap().len(), 1, "{after}");
    assert_eq!(after["sessions"][0]["session"], before["sessions"][0]["session"]);
    // A click while the plugin says hello waits for the welcome.
    studio.publish(4_568, "Obby 2");
    click(studio, "Approve");
    until_shown(studio, "Step 1: applied");
}

#[test]
fn undo_and_redo_include_texts() {
    for signals in [Signals::Immediate, Signals::Deferred] {
        let desk = Desk::ready(signals);
        let studio = &desk.studio;
        let is = |text: &'static str| move |studio: &Studio| eval(studio, SOURCE) == text;
        for (from, to) in [(1, 2), (2, 3)] {
            desk.propose(&format!(
                "replace \"print({from})\" with \"print({to})\" in game.ServerScriptService.Main"
            ));
            click(studio, "Approve");
            until(studio, "applied", |studio| {
                eval(studio, SOURCE) == format!("print({to})\n") && !has(studio, "Stop")
            });
        }
        // Both at once: the texts are restored one after the other.
        assert!(studio.undo() && studio.undo());
        until(studio, "both undone", is("print(1)\n"));
        assert!(studio.redo());
        until(studio, "redone", is("print(2)\n"));
    }
}

#[test]
fn text_typed_since_survives_undo_and_is_reported() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    desk.propose(SCRIPT_REQUESTS[0]);
    click(studio, "Approve");
    until_shown(studio, "Step 1: applied");
    if !super::switches().undo_keeps_texts {
        // The person's edit is a step of its own.
        return;
    }
    eval(studio, "game.ServerScriptService.Main.Source = '-- mine\\n'");
    assert!(studio.undo());
    until_shown(studio, "was not reverted, because it was edited since");
    assert_eq!(eval(studio, SOURCE), "-- mine\n");
}

/// The colours of all that is shown, by name and text.
fn colors(studio: &Studio) -> Json {
    const COLORS: &str = "
        local found = {}
        for _, it in game:GetService('PluginGuiService'):GetDescendants() do
            if it:IsA('GuiObject') then
                table.insert(found, tostring(it.BackgroundColor3))
                local isText = it:IsA('TextLabel') or it:IsA('TextButton') or it:IsA('TextBox')
                table.insert(found, if isText then it.Text .. tostring(it.TextColor3) else it.Name)
            elseif it:IsA('UIStroke') then
                table.insert(found, tostring(it.Color))
            end
        end
        return found";
    studio.eval_as_plugin(COLORS).unwrap()
}

#[test]
fn switched_theme_repaints_everything() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    desk.propose(SCRIPT_REQUESTS[0]);
    studio.run_for(2.0);
    let dark = colors(studio);
    studio.set_theme(Theme::Light);
    studio.run_for(0.5);
    let light = colors(studio);
    assert_ne!(light, dark);
    let contrasts = studio.contrasts("Vector").unwrap();
    let illegible: Vec<_> = contrasts.into_iter().filter(|(_, ratio)| *ratio < 4.5).collect();
    assert!(illegible.is_empty(), "{illegible:?}");
    studio.set_theme(Theme::Dark);
    studio.run_for(0.5);
    assert_eq!(colors(studio), dark);
}

#[test]
fn long_line_can_be_read_to_its_end() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    let line = format!("--{} the end", "x".repeat(40_000));
    desk.propose(&format!("replace \"print(1)\" with \"{line}\" in game.ServerScriptService.Main"));
    let has_end = |studio: &Studio| studio.gui().iter().any(|it| it.shown.ends_with("the end"));
    for _ in 0..30 {
        studio.run_for(1.0);
        if has_end(studio) {
            return;
        }
        let goes_on = |it: &GuiObject| it.shown.contains("more bytes of this line");
        assert!(studio.gui().iter().any(goes_on), "the line says that it goes on");
        studio.scroll_to(&object(studio, "Transcript"), 0.0, f64::MAX).unwrap();
        click(studio, "ShowMore");
    }
    panic!("the end of the line is never shown");
}

#[test]
fn enter_sends_wherever_the_cursor_is() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    let draft = "set Transparency = 0.5 on game.Workspace.Wall";
    studio.type_into(&object(studio, "Ask"), draft, false).unwrap();
    studio.place_cursor(5).unwrap();
    studio.press_key("Return").unwrap();
    until_there(studio, "Approve");
    assert!(shows(studio, draft), "the request was sent as it was typed");
}

#[test]
fn shift_enter_begins_a_line_and_never_sticks() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    studio.type_into(&object(studio, "Ask"), "first", false).unwrap();
    studio.hold_key("LeftShift", true).unwrap();
    studio.press_key("Return").unwrap();
    studio.run_for(0.2);
    assert_eq!(object(studio, "Ask").text, "first\n");
    // The focus goes elsewhere while the key is held.
    studio.release_focus().unwrap();
    studio.hold_key("LeftShift", false).unwrap();
    ask(studio, "set Transparency = 0.5 on game.Workspace.Wall");
    until(studio, "sent", |studio| object(studio, "Ask").text.is_empty());
}

#[test]
fn enter_chooses_from_an_open_menu() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    studio.type_into(&object(studio, "Ask"), "/pl", false).unwrap();
    studio.run_for(0.2);
    studio.press_key("Return").unwrap();
    studio.run_for(0.2);
    assert_eq!(object(studio, "Ask").text, "/plan ");
}

/// A desk whose place is read, and the number of instances in the mirror.
fn read_desk() -> (Desk, u64) {
    let desk = Desk::ready(Signals::Deferred);
    until_shown(&desk.studio, "Connected");
    let mirrored = || mirrored(&desk.daemon, &desk.home);
    until(&desk.studio, "the place is read", |_| mirrored() > 10);
    let before = mirrored();
    (desk, before)
}

#[test]
fn word_after_at_searches_the_place() {
    let (desk, before) = read_desk();
    let studio = &desk.studio;
    let mirrored = || mirrored(&desk.daemon, &desk.home);
    eval(
        studio,
        "local folder = Instance.new('Folder')
        folder.Name = 'Old town'
        local lamp = Instance.new('Part')
        lamp.Name = 'Street lamp'
        lamp.Parent = folder
        folder.Parent = workspace",
    );
    until(studio, "the part is mirrored", |_| mirrored() == before + 2);
    studio.type_into(&object(studio, "Ask"), "create SpotLight @street", false).unwrap();
    until_shown(studio, "game.Workspace[\"Old town\"][\"Street lamp\"]  Part");
    studio.press_key("Return").unwrap();
    until_shown(studio, "Street lamp  ×");
    assert_eq!(object(studio, "Ask").text, "create SpotLight ");
    studio.press_key("Return").unwrap();
    until_there(studio, "Approve");
    let workflows = read(&desk.daemon, &desk.home, "/api/workflows");
    let attached = workflows["workflows"][0]["attached"].to_string();
    assert!(attached.contains("Street lamp"), "{attached}");
    studio.type_into(&object(studio, "Ask"), "@nothing", false).unwrap();
    studio.run_for(1.0);
    assert!(!has(studio, "Menu"), "nothing of this name exists");
    assert_eq!(studio.errors(), Vec::<String>::new());
}

#[test]
fn files_are_attached_from_the_dialog() {
    let (desk, _) = read_desk();
    let studio = &desk.studio;
    let large = vec![0; 600_000];
    let attach = |file| {
        studio.click_text("Attach a file").unwrap();
        studio.choose_file(file);
    };
    attach(Some(("notes.md", b"# Lamps\n")));
    until_shown(studio, "notes.md  ×");
    attach(None);
    attach(Some(("large.png", &large)));
    until_shown(studio, "large.png is too large: Studio can send 600 KB of files with a request.");
    assert!(!shows(studio, "large.png  ×"));
    studio.type_into(&object(studio, "Ask"), "create SpotLight", false).unwrap();
    studio.press_key("Return").unwrap();
    until_there(studio, "Approve");
    until_shown(studio, "notes.md (8 bytes)");
    // The offline planner reads no images: what was typed and attached is still there.
    attach(Some(("shot.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x04\0\0\0\x02")));
    until_shown(studio, "shot.png  ×");
    studio.type_into(&object(studio, "Ask"), "create PointLight", false).unwrap();
    studio.press_key("Return").unwrap();
    until_shown(studio, "The offline planner reads no images");
    until_shown(studio, "shot.png  ×");
    assert_eq!(object(studio, "Ask").text, "create PointLight");
    assert_eq!(studio.errors(), Vec::<String>::new());
}

#[test]
fn rows_of_one_instance_name_it_once() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    desk.propose("set Transparency = 0.5, Material = Neon on #Wall");
    let named = |name: &str| studio.gui().into_iter().filter(|it| it.name == name).count();
    assert_eq!(named("Path"), 1);
    assert!(shows(studio, "Transparency: 0 → 0.5") && shows(studio, "→ Neon"));
}

#[test]
fn services_that_hold_nothing_are_left_out_until_they_do() {
    let (desk, before) = read_desk();
    let studio = &desk.studio;
    let mirrored = || mirrored(&desk.daemon, &desk.home);
    assert!(before < 40, "{before} instances");
    eval(studio, "Instance.new('Folder').Parent = game:GetService('BadgeService')");
    until(studio, "the service and its folder", |_| mirrored() == before + 2);
}

#[test]
fn click_on_a_path_selects_it_and_on_a_line_opens_the_script() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    let selected = "local all = game:GetService('Selection'):Get() return all[1] and all[1].Name";
    desk.propose("set Transparency = 0.5 on #Wall");
    click(studio, "Path");
    until(studio, "the part is selected", |studio| eval(studio, selected) == "Wall");
    click(studio, "Reject");
    until(studio, "rejected", |studio| !has(studio, "Approve"));
    eval(studio, "workspace.Wall.Name = 'Fence'");
    click(studio, "Path");
    until_shown(studio, "no single instance at game.Workspace.Wall");
    desk.propose(SCRIPT_REQUESTS[0]);
    click(studio, "Line");
    let opened = "local document = game:GetService('ScriptEditorService'):FindScriptDocument(
            game.ServerScriptService.Main)
        return document ~= nil";
    until(studio, "the script is open", |studio| eval(studio, opened) == true);
    assert_eq!(eval(studio, selected), "Main");
}
