//! Rules of a task on the page: added with an approval, seen while they hold, and revoked.

use super::decided::{AT_REST, create, until_current};
use super::*;

const CHOICES: &str = "[...document.querySelectorAll('#one .menu[open] .offers button')]
    .map(it => it.textContent)";

fn folder(name: &str) -> Json {
    json!({ "className": "Folder", "parentPath": "game.Workspace", "props": { "Name": name } })
}

fn within(folder: &str, name: &str) -> Json {
    let parent = format!("game.Workspace.{folder}");
    json!({ "className": "Part", "parentPath": parent, "props": { "Name": name } })
}

#[test]
fn rule_is_added_seen_and_revoked() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let first = bench.propose("create_instance", &folder("Farm"));
    let other = bench.propose("create_instance", &create("Other"));
    let browser = stage.browser();
    bench.enter(&browser);
    browser.click(".tabs [data-page=proposals]");
    until_current(&browser, first);
    browser.click("#one .menu summary");
    let offered = ["Additions within game.Workspace.Farm", "The rest of this task"];
    assert_eq!(browser.is(CHOICES), json!(offered));
    browser.click("#one .menu .offers button");
    bench.human.until_status(first, "applied");
    until_current(&browser, other);
    let wall = bench.propose("create_instance", &within("Farm", "Wall"));
    bench.human.until_status(wall, "applied");
    assert_eq!(bench.status(other), "waiting");

    // The conversation says what holds, and what came of it.
    let task = bench.human.shown(first)["workflow"].clone();
    browser.go(&format!("{}#/now/{task}", bench.address()));
    browser.until_shown("#log", "You allowed additions within game.Workspace.Farm");
    browser.until_shown("#head .rules", "1 proposal approved");
    let card = format!("#log [data-proposal='{wall}']");
    browser.until_shown(&card, "You allowed additions within game.Workspace.Farm.");
    // It is revoked with a press on the page, and what follows waits.
    browser.click("#head .rules button");
    browser.until("!document.querySelector('#head .rules')");
    browser.until_shown("#log", "You revoked a rule of this task");
    let floor = bench.propose("create_instance", &within("Farm", "Floor"));
    assert_eq!(bench.status(floor), "waiting");

    // A card in the conversation offers the same, by keyboard.
    let menu = format!("#log [data-proposal='{other}'] .menu summary");
    browser.until(&format!("document.querySelector(\"{menu}\")"));
    browser.run("document.querySelector(arguments[0]).focus()", &[json!(menu)]);
    browser.press(&[], &[vector_tests::browser::key::ENTER]);
    browser.press(&[], &[vector_tests::browser::key::TAB]);
    let focused = "document.activeElement.textContent";
    assert_eq!(browser.is(focused), "Additions within game.Workspace");
    browser.press(&[], &[vector_tests::browser::key::ENTER]);
    for proposal in [other, floor] {
        bench.human.until_status(proposal, "applied");
    }
    browser.until(AT_REST);
    browser.until_shown("#head .rules", "Additions within game.Workspace");
}
