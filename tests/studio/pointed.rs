//! The context of a request in the widget: a call without a path, and the attachment chips above
//! the text.

use serde_json::Value as Json;
use studio_sim::{Signals, Studio};

use super::{Desk, ask, click, eval, has, shows, until, until_shown, until_told};

fn select(studio: &Studio, luau: &str) {
    eval(studio, &format!("game:GetService('Selection'):Set({luau})"));
}

fn transparency(studio: &Studio) -> Json {
    eval(studio, "return workspace.Wall.Transparency")
}

#[test]
fn call_without_path_targets_the_selection() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    select(studio, "{ workspace.Wall }");
    desk.propose("set Transparency = 0.5 on the selection");
    until_shown(studio, "Path left out: the selected instance game.Workspace.Wall");
    // A later selection makes no difference: the card has fixed the target.
    select(studio, "{ workspace }");
    click(studio, "Approve");
    until(studio, "applied", |studio| transparency(studio) == 0.5);
}

#[test]
fn without_single_selection_only_inserts_default_to_workspace() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    select(studio, "{}");
    ask(studio, "set Transparency = 0.5 on the selection");
    until_shown(studio, "nothing is selected in Studio. Select exactly one instance");
    select(studio, "{ workspace.Wall, workspace }");
    ask(studio, "delete the selection");
    until_shown(studio, "2 instances are selected in Studio. Select exactly one instance");
    assert!(!has(studio, "Approve"));
    studio.register_asset("rbxassetid://5", Ok(&super::assets::asset("print(1)\n")));
    desk.propose("insert asset 5");
    until_told(studio, "Path left out: game.Workspace");
    assert!(shows(studio, "game.Workspace.Tree[1]"), "{:#?}", studio.visible_texts());
}

#[test]
fn attached_instance_takes_precedence_over_selection() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    select(studio, "{ workspace.Wall }");
    until_shown(studio, "+ Wall");
    studio.click_text("+ Wall").unwrap();
    until_shown(studio, "Wall  ×");
    select(studio, "{ workspace }");
    desk.propose("set Transparency = 0.5 on the selection");
    until_shown(studio, "Path left out: the attached instance game.Workspace.Wall");
    click(studio, "Approve");
    until(studio, "applied", |studio| transparency(studio) == 0.5);
}

#[test]
fn selection_and_open_script_can_be_mentioned_in_text() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    select(studio, "{ workspace.Wall }");
    studio.open_script("ServerScriptService.Main", true);
    ask(studio, "what are @selection and @script?");
    until_shown(studio, "I do not understand");
    let log = desk.vector(&["log"]);
    for attached in ["attached: game.Workspace.Wall", "attached: game.ServerScriptService.Main"] {
        assert!(log.contains(attached), "{log}");
    }
    select(studio, "{}");
    ask(studio, "what is @selection?");
    until_shown(studio, "nothing is selected in Studio");
}

/// Selects the first line of the script Main in the editor, and attaches it.
fn attach_line(studio: &Studio) {
    studio.open_script("ServerScriptService.Main", true);
    let select = "local main = game.ServerScriptService.Main \
                  local editor = game:GetService('ScriptEditorService') \
                  editor:FindScriptDocument(main):RequestSetSelectionAsync(1, 9, 1, 1)";
    eval(studio, select);
    until_shown(studio, "+ 1 line of Main");
    studio.click_text("+ 1 line of Main").unwrap();
    until_shown(studio, "1 line of Main  ×");
}

#[test]
fn selected_editor_text_is_attached_with_its_script() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    attach_line(studio);
    desk.propose("rename game.Workspace.Wall to Tower");
    let log = desk.vector(&["log"]);
    assert!(log.contains("attached: line 1 of game.ServerScriptService.Main\n"), "{log}");
}

#[test]
fn selected_text_of_a_changed_script_is_refused() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    attach_line(studio);
    let edit = "local main = game.ServerScriptService.Main \
                local editor = game:GetService('ScriptEditorService') \
                editor:FindScriptDocument(main):EditTextAsync('print(2)', 1, 1, 1, 9)";
    eval(studio, edit);
    ask(studio, "rename game.Workspace.Wall to Tower");
    until_shown(studio, "game.ServerScriptService.Main has changed since you selected this.");
    assert!(shows(studio, "Select it again."), "{:#?}", studio.visible_texts());
    assert!(!has(studio, "Approve"));
    assert!(shows(studio, "1 line of Main  ×"), "what was attached is still there to be taken off");
}
