//! Changes of a proposal by hand on the page: a script in an editor, values in fields, kept through
//! reloads and a killed daemon, and saved together as a new version.

use vector_tests::browser::key;

use super::decided::{SCRIPT, current, until_current};
use super::*;

/// What the editor shows.
const EDITOR: &str = "document.querySelector('#one .editor')?.shadowRoot";
const HAS_FOCUS: &str =
    "document.querySelector('#one .editor')?.shadowRoot?.activeElement?.matches('.cm-content')";
const SAVE: &str = "#one [data-act=save-edits]";

fn in_editor(query: &str) -> String {
    format!("{EDITOR}?.querySelector({query:?})")
}

/// Waits until something in the editor has this text.
fn until_in_editor(browser: &Browser<'_>, query: &str, text: &str) {
    browser.until(&format!("{}?.textContent.includes({text:?})", in_editor(query)));
}

/// Presses a button that may be out of view.
fn press(browser: &Browser<'_>, selector: &str) {
    let scroll = "document.querySelector(arguments[0]).scrollIntoView({ block: 'center' })";
    browser.run(scroll, &[json!(selector)]);
    browser.click(selector);
}

/// An edit of a script and a new part in one proposal.
fn propose(bench: &mut Bench) -> u64 {
    let edit = json!({ "search": "Config.KillDamage)", "replace": "Config.KillDamage / 2)" });
    let props = json!({ "Name": "Slab", "Size": [4, 1, 2], "Material": "Neon" });
    let part = json!({ "className": "Part", "parentPath": "game.Workspace", "props": props });
    let changes = json!([
        { "tool": "replace_text", "args": { "path": SCRIPT, "edits": [edit] } },
        { "tool": "create_instance", "args": part },
    ]);
    bench.propose("propose_changes", &json!({ "title": "Half the damage", "changes": changes }))
}

/// Opens the page at the first pending proposal, which is this one.
fn open(bench: &Bench, browser: &Browser<'_>, first: u64) {
    bench.enter(browser);
    browser.click(".tabs [data-page=proposals]");
    until_current(browser, first);
}

/// Puts the cursor at the end of the line with this text.
fn cursor_after(browser: &Browser<'_>, text: &str) {
    browser.press(&[key::CONTROL], &['f']);
    browser.until(&in_editor(".cm-search input"));
    browser.enter(text);
    // The text was entered without a key, which the first press tells.
    browser.press(&[], &[key::ENTER, key::ENTER, key::ESCAPE]);
    browser.until(HAS_FOCUS);
    browser.press(&[], &[key::RIGHT]);
}

#[test]
fn script_and_value_are_changed_and_saved_together() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let first = propose(&mut bench);
    let browser = stage.browser();
    open(&bench, &browser, first);

    // The editor begins with the result, and shows errors as one types.
    press(&browser, "#one [data-act=edit-script]");
    browser.until(HAS_FOCUS);
    until_in_editor(&browser, ".cm-content", "Config.KillDamage / 2)");
    cursor_after(&browser, "KillDamage / 2");
    browser.enter(" +");
    browser.until(&in_editor(".cm-lint-marker-error"));
    browser.until_shown(SAVE, "Save 1 change");
    // What does not compile is refused, and stays in the editor.
    browser.expect("409 (Conflict)");
    browser.press(&[key::CONTROL], &['s']);
    browser.until_shown("#toasts", "would no longer compile");
    assert_eq!(current(&browser), first);
    // Names are offered from Roblox's API.
    browser.enter(" workspace.Grav");
    until_in_editor(&browser, ".cm-tooltip-autocomplete", "Gravity");
    let option = in_editor(".cm-tooltip-autocomplete li");
    browser.run(
        &format!("{option}.dispatchEvent(new MouseEvent('mousedown', {{ bubbles: true }}))"),
        &[],
    );
    until_in_editor(&browser, ".cm-content", "KillDamage / 2 + workspace.Gravity)");
    browser.until(&format!("!{}", in_editor(".cm-lint-marker-error")));

    // A field for a value. All of it is kept while the daemon is killed and started again.
    press(&browser, "#one tr[data-property='\"Size\"'] [data-act=edit-value]");
    browser.until("document.activeElement.matches('.came input')");
    browser.press(&[key::CONTROL], &['a']);
    browser.enter("[8, 1");
    browser.expect("net::ERR_");
    let port = bench.kill();
    browser.enter(", 2]");
    bench.start_on(port);
    browser.until_shown("#link", "Connected");
    // The proposal is replanned then, and takes the changes along.
    let again = bench.human.successor(first);
    until_current(&browser, again);
    browser.until_shown(SAVE, "Save 2 changes");
    browser.reload();
    until_current(&browser, again);
    until_in_editor(&browser, ".cm-content", "KillDamage / 2 + workspace.Gravity)");
    assert_eq!(browser.is("document.querySelector('.came input').value"), "[8, 1, 2]");

    // A decision asks before it drops what was typed.
    browser.click("#one [data-act=reject]");
    browser.until_shown("#dialog", "Reject without saving your 2 changes?");
    browser.press(&[], &[key::ESCAPE]);
    browser.until_shown(SAVE, "Save 2 changes");
    browser.click(SAVE);
    let second = bench.human.successor(again);
    until_current(&browser, second);
    let shown = bench.human.shown(second)["proposal"].to_string();
    for part in
        ["KillDamage / 2 + workspace.Gravity)", r#""x":8"#, "Half the damage, changed by hand"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(browser.is(&format!("{EDITOR} ?? null")), Json::Null, "it is saved");
    // It is shown what was changed by hand.
    browser.until_shown("#one .comparison summary", &format!("Compare with proposal {again}"));
    browser.click("#one .comparison summary");
    browser.until_shown("#one .compared ins", "workspace.Gravity");
    browser.until_shown("#one .comparison", "4, 1, 2");
    browser.click("#approve");
    bench.human.until_status(second, "applied");
    assert!(bench.text().contains("KillDamage / 2 + workspace.Gravity)"));
}

#[test]
fn each_of_several_values_of_a_property_is_changed() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let props = json!({ "Name": "Slab", "Size": [4, 1, 2] });
    let made = json!({ "className": "Part", "parentPath": "game.Workspace", "props": props });
    let set = json!({ "path": "game.Workspace.Slab", "props": { "Size": [5, 1, 2] } });
    let changes = json!([
        { "tool": "create_instance", "args": made },
        { "tool": "set_properties", "args": set },
    ]);
    let first = bench.propose("propose_changes", &json!({ "title": "A slab", "changes": changes }));
    let browser = stage.browser();
    open(&bench, &browser, first);
    let second = "#one tr[data-property='\"Size\"']:nth-last-of-type(1) [data-act=edit-value]";
    press(&browser, second);
    browser.until("document.activeElement.matches('.came input')");
    assert_eq!(browser.is("document.activeElement.value"), "[5,1,2]");
    browser.press(&[key::CONTROL], &['a']);
    browser.enter("[9, 1, 2]");
    browser.reload();
    until_current(&browser, first);
    browser.until("document.querySelector('.came input')?.value === '[9, 1, 2]'");
    browser.click(SAVE);
    let saved = bench.human.successor(first);
    bench.human.approve(saved).ok();
    bench.human.until_status(saved, "applied");
    let shown = bench.human.shown(saved)["proposal"]["preview"].to_string();
    assert!(shown.contains(r#""x":9"#) && shown.contains(r#""x":4"#), "{shown}");
}

#[test]
fn editing_works_by_keyboard_and_can_be_discarded() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let first = propose(&mut bench);
    let browser = stage.browser();
    open(&bench, &browser, first);
    // The page does not take letters that are typed in the editor as its keys.
    browser.press(&[], &['e']);
    browser.until(HAS_FOCUS);
    browser.enter("racs");
    until_in_editor(&browser, ".cm-content", "racs");
    browser.until_shown(SAVE, "Save 1 change");
    assert_eq!(bench.status(first), "waiting");
    // The editor stays while something else is decided, with the cursor where it was.
    let other = bench.propose("create_instance", &super::decided::create("Other"));
    browser.until(&format!("document.querySelector('#list [data-seq=\"{other}\"]')"));
    browser.enter("!");
    until_in_editor(&browser, ".cm-content", "racs!");
    // The first press closes the names.
    browser.press(&[], &[key::ESCAPE, key::ESCAPE]);
    browser.until("document.activeElement.id === 'one'");
    press(&browser, "#one [data-act=drop-script]");
    browser.until(&format!("document.querySelector({SAVE:?}).hidden"));
    browser.reload();
    until_current(&browser, first);
    assert_eq!(browser.is(&format!("{EDITOR} ?? null")), Json::Null);
    // A value that Roblox does not take is refused.
    browser.expect("409 (Conflict)");
    press(&browser, "#one tr[data-property='\"Material\"'] [data-act=edit-value]");
    browser.press(&[key::CONTROL], &['a']);
    browser.enter("Neom");
    browser.press(&[], &[key::ENTER]);
    browser.until_shown("#toasts", "Neom");
    browser.press(&[key::CONTROL], &['a']);
    browser.enter("Grass");
    browser.press(&[], &[key::ENTER]);
    let second = bench.human.successor(first);
    until_current(&browser, second);
    browser.until_shown("#one tr[data-property='\"Material\"']", "Grass");
}
