//! Assets: their contents are shown before they are inserted, and they can be removed again in one
//! step.

use scene_schemas::sandbox::SANDBOX_CAPABILITIES;
use serde_json::{Value as Json, json};
use studio_sim::{Signals, Studio};
use vector_place::{FileFormat, Scene};

use super::{Desk, click, eval, has, load, shows, until, until_shown, until_there, until_told};

const BACKDOOR: &str = "local all = getfenv()\nrequire(7132546)\n";

/// The names of the capabilities of the sandboxed containers in the Workspace, by their names.
fn sandboxes(studio: &Studio) -> Json {
    let source = "local found = {} for _, it in workspace:GetDescendants() do \
        if it.Sandboxed then local names = {} \
        for _, item in Enum.SecurityCapability:GetEnumItems() do \
        if it.Capabilities:Contains(item) then table.insert(names, item.Name) end end \
        table.sort(names) found[it:GetFullName()] = table.concat(names, ' ') end end \
        return found";
    eval(studio, source)
}

/// The capabilities that Vector grants, as [`sandboxes`] lists them.
fn granted() -> String {
    SANDBOX_CAPABILITIES.map(|it| it.name).join(" ")
}

/// A model with a script and a part, and another part of the same name beside it.
pub(super) fn asset(source: &str) -> Vec<u8> {
    let mut scene = Scene::empty(FileFormat::Binary);
    let root = scene.root();
    let tree = scene.create(root, "Model", "Tree");
    let script = scene.create(tree, "Script", "Grow");
    scene.set_source(script, source.to_owned());
    scene.create(tree, "Part", "Trunk \u{1f333}");
    scene.create(root, "Part", "Tree");
    scene.encode().unwrap()
}

fn register(studio: &Studio, source: &str) {
    studio.register_asset("rbxassetid://123", Ok(&asset(source)));
}

fn grow(studio: &Studio) -> Json {
    let source = "local grow = workspace:FindFirstChild('Grow', true) return grow and grow.Source";
    eval(studio, source)
}

fn shows_tree(studio: &Studio) -> bool {
    eval(studio, "return workspace:FindFirstChild('Tree') ~= nil") == true
}

#[test]
fn asset_is_one_undo_step_and_scripts_are_scanned() {
    for signals in [Signals::Immediate, Signals::Deferred] {
        let desk = Desk::ready(signals);
        let studio = &desk.studio;
        register(studio, BACKDOOR);
        let before = studio.snapshot();
        desk.propose("insert asset 123 into game.Workspace");
        until_told(studio, "It leaves out 1 script of asset 123: game.Workspace.Tree[1].Grow.");
        assert!(shows(studio, "Line 1 uses getfenv"), "{:#?}", studio.visible_texts());
        assert!(shows(studio, "requires the asset 7132546"), "{:#?}", studio.visible_texts());
        assert!(shows(studio, "local all = getfenv()"), "{:#?}", studio.visible_texts());
        assert!(shows(studio, "Model from asset 123 (2 instances)"));
        assert!(shows(studio, "Left out") && !shows(studio, "Approve and open"));
        click(studio, "Keep");
        until_told(studio, "It inserts 1 script of asset 123: game.Workspace.Tree[1].Grow.");
        assert!(shows(studio, "Model from asset 123 (3 instances)"));
        assert!(!shows(studio, "Left out"), "{:#?}", studio.visible_texts());
        assert!(!has(studio, "hunk:0:0"), "an asset comes whole");
        assert_eq!(studio.snapshot(), before, "nothing is in the place before a yes");
        click(studio, "Approve");
        until_shown(studio, "Approve anyway?");
        assert_eq!(studio.snapshot(), before, "and one yes is not enough");
        // The catalog has another version now, but the version that was shown is inserted.
        register(studio, "-- another\n");
        until(studio, "it can be confirmed", |studio| {
            studio.click(&super::object(studio, "ApproveAnyway")).is_ok()
        });
        until(studio, "inserted", |studio| grow(studio) == BACKDOOR);
        until_shown(studio, "Step 1: applied");
        let trees = "local n = 0 for _, it in workspace:GetChildren() do \
                     n += if it.Name == 'Tree' then 1 else 0 end return n";
        assert_eq!(eval(studio, trees), 2, "both roots of the asset");
        let after = studio.snapshot();
        assert!(studio.undo());
        assert_eq!(studio.snapshot(), before, "undo takes all roots back");
        assert!(studio.redo());
        assert_eq!(studio.snapshot(), after, "and redo brings them again");
    }
}

#[test]
fn asset_is_inserted_without_its_scripts() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    register(studio, BACKDOOR);
    let before = studio.snapshot();
    desk.propose("insert asset 123");
    click(studio, "Approve");
    until_shown(studio, "Step 1: applied");
    let names = "local names = {} for _, it in workspace:GetDescendants() do \
                 table.insert(names, it.Name) end return table.concat(names, ' ')";
    let names = eval(studio, names);
    let names = names.as_str().unwrap();
    assert!(names.contains("Tree Trunk") && !names.contains("Grow"), "{names}");
    assert!(studio.undo());
    assert_eq!(studio.snapshot(), before);
}

#[test]
fn restoring_a_checkpoint_removes_an_inserted_asset() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    register(studio, "print(1)\n");
    let before = studio.snapshot();
    desk.propose("insert asset 123");
    click(studio, "Approve");
    until_shown(studio, "Step 1: applied");
    desk.vector(&["checkpoint", "--restore", "1", "--no-wait"]);
    until_there(studio, "Approve");
    assert!(shows(studio, "is deleted (2 instances)"), "{:#?}", studio.visible_texts());
    click(studio, "Approve");
    until(studio, "gone", |studio| !shows_tree(studio));
    until_shown(studio, "Step 2: applied");
    assert_eq!(studio.snapshot(), before);
}

#[test]
fn changed_asset_is_shown_again_before_insertion() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    register(studio, "print(1)\n");
    desk.propose("insert asset 123");
    // The plugin is reloaded and loses the asset that was shown; the catalog has another version
    // now.
    studio.unload_plugin();
    register(studio, BACKDOOR);
    load(studio);
    until_there(studio, "Approve");
    click(studio, "Approve");
    until_shown(studio, "uses getfenv");
    assert!(has(studio, "Approve"));
    assert_eq!(grow(studio), Json::Null);
}

#[test]
fn scripts_of_an_asset_that_changed_after_keep_are_left_out_again() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    register(studio, "print(1)\n");
    desk.propose("insert asset 123");
    until_told(studio, "It leaves out 1 script of asset 123");
    click(studio, "Keep");
    until_told(studio, "It inserts 1 script of asset 123");
    // The plugin is reloaded and loses the asset that was shown; what was kept of it is not what the
    // catalog has now.
    studio.unload_plugin();
    register(studio, BACKDOOR);
    load(studio);
    until_there(studio, "Approve");
    click(studio, "Approve");
    until_shown(studio, "uses getfenv");
    until_told(studio, "It leaves out 1 script of asset 123");
    click(studio, "Approve");
    until(studio, "inserted", shows_tree);
    assert_eq!(grow(studio), Json::Null, "the script that nobody kept is not there");
}

#[test]
fn unloadable_asset_is_refused_with_advice() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    studio.register_asset("rbxassetid://9", Err("HTTP 403 (Forbidden)"));
    super::ask(studio, "insert asset 9");
    until_shown(studio, "Check that it is free or yours");
    assert!(!has(studio, "Approve"));
    studio.clear_errors();
}

#[test]
fn hidden_characters_in_an_asset_are_shown_escaped() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    let mut scene = Scene::empty(FileFormat::Binary);
    let hostile = "T\u{202e}ree\u{200b}\u{1b}[2J\u{2066}<font size='90'>";
    let tree = scene.create(scene.root(), "Model", hostile);
    let script = scene.create(tree, "Script", "ReplicatedStorgae");
    scene.set_source(script, "print(1) -- \u{202e}\u{feff}\u{7}<b>\n".to_owned());
    studio.register_asset("rbxassetid://123", Ok(&scene.encode().unwrap()));
    desk.propose("insert asset 123 into game.Workspace");
    until_told(studio, "Line 1 has the character U+202E");
    click(studio, "Keep");
    until_told(studio, "The name");
    for shown in [
        "T\\u{202e}ree\\u{200b}",
        "\\u{2066}<font size='90'>",
        "Line 1 has the character U+202E",
        "+ print(1) -- \\u{202e}\\u{feff}\\u{7}<b>",
    ] {
        assert!(shows(studio, shown), "{shown}: {:#?}", studio.visible_texts());
    }
    let hides =
        |c: char| c.is_control() && c != '\n' || "\u{202e}\u{200b}\u{2066}\u{feff}".contains(c);
    for text in studio.visible_texts() {
        assert!(!text.contains(hides), "{text:?}");
    }
    click(studio, "Approve");
    until_shown(studio, "Approve anyway?");
}

#[test]
fn kept_script_begins_in_a_sandbox_that_can_be_lifted() {
    for (ticks, expected) in [(0, json!({ "Workspace.Tree": granted() })), (1, json!({}))] {
        let desk = Desk::ready(Signals::Deferred);
        let studio = &desk.studio;
        register(studio, "print(1)\n");
        let before = studio.snapshot();
        desk.propose("insert asset 123");
        until_told(studio, "It leaves out 1 script of asset 123");
        assert!(!has(studio, "Sandbox"), "there is nothing to sandbox yet");
        click(studio, "Keep");
        until_told(studio, "run in the sandbox game.Workspace.Tree[1], with these capabilities");
        assert!(shows(studio, "which plugins cannot read"), "{:#?}", studio.visible_texts());
        for _ in 0..ticks {
            until_there(studio, "Sandbox");
            click(studio, "Sandbox");
            until(studio, "the sandbox is lifted", |studio| {
                !shows(studio, "✓") && has(studio, "Sandbox")
            });
        }
        click(studio, "Approve");
        until_shown(studio, "Step 1: applied");
        assert_eq!(grow(studio), "print(1)\n");
        assert_eq!(sandboxes(studio), expected);
        let after = studio.snapshot();
        assert!(studio.undo());
        assert_eq!(studio.snapshot(), before);
        assert!(studio.redo());
        assert_eq!(studio.snapshot(), after);
        assert_eq!(sandboxes(studio), expected, "the sandbox comes back with the asset");
    }
}

#[test]
fn sandbox_of_an_asset_gets_no_further_capabilities() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    let mut scene = Scene::empty(FileFormat::Binary);
    let tree = scene.create(scene.root(), "Model", "Tree");
    let script = scene.create(tree, "Script", "Grow");
    scene.set_source(script, "print(1)\n".to_owned());
    // RunServerScript, Basic and Network.
    let own = scene_schemas::Value::SecurityCapabilities(1 << 9 | 1 << 20 | 1 << 23);
    scene.set_property(tree, "Capabilities", Some(&own)).unwrap();
    scene.set_property(tree, "Sandboxed", Some(&scene_schemas::Value::Bool(true))).unwrap();
    studio.register_asset("rbxassetid://123", Ok(&scene.encode().unwrap()));
    desk.propose("insert asset 123");
    until_told(studio, "It leaves out 1 script of asset 123");
    click(studio, "Keep");
    until_told(studio, "run in the sandbox game.Workspace.Tree, with");
    click(studio, "Approve");
    until_shown(studio, "Step 1: applied");
    assert_eq!(sandboxes(studio), json!({ "Workspace.Tree": "Basic RunServerScript" }));
}
