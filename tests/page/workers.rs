//! A task that a lead shares with workers, on the page: asked for with a box, its parts with their state,
//! and their changes as cards.

use super::model::{calls, choose, lead_to, says};
use super::*;
use crate::models::server::{End, Reply, RoleScript, Server};

fn role(needle: &'static str, replies: Vec<Reply>) -> RoleScript {
    RoleScript { needle, replies }
}

fn create(class: &str, parent: &str, name: &str) -> Reply {
    let props = json!({ "Name": name });
    calls("create_instance", json!({ "className": class, "parentPath": parent, "props": props }))
}

#[test]
fn parts_of_a_shared_task_are_shown_and_decided() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let part = |title: &str, writes: &str| json!({ "title": title, "instructions": "Make it.", "writes": [writes] });
    let parts = json!({ "parts": [
        part("Coins <b>first</b>", "game.ServerScriptService.Coins"), part("Shop", "game.StarterGui"),
    ] });
    let broke = Reply::plain(402, r#"{"error":{"message":"Insufficient credit."}}"#);
    let server = Server::by_role(vec![
        role(
            "Do part 1",
            vec![
                create("Folder", "game.ServerScriptService", "Coins"),
                says("Made the coins.", End::Whole),
            ],
        ),
        role("Do part 2", vec![broke]),
        role(
            "Review proposal",
            vec![calls("report_review", json!({ "summary": "Read it.", "findings": [] }))],
        ),
        role(
            "",
            vec![
                calls("start_plan", json!({ "steps": ["Give the parts away"] })),
                calls("assign_parts", parts),
                says("The shop is missing.", End::Whole),
            ],
        ),
    ]);
    lead_to(&server, &mut bench);
    choose(&bench, "lmstudio/first");
    let browser = stage.browser();
    bench.enter(&browser);
    browser.until("document.querySelector('#composer [name=workers]')");
    browser.click("#composer [name=workers]");
    browser.click("#ask-text");
    browser.enter("Build a shop with coins");
    browser.click("#composer button[type=submit]");
    browser.until_shown("#head .parts", "1. Coins <b>first</b>");
    browser.until_shown("#head .parts", "is done, with 1 change");
    browser.until_shown("#head .parts", "was not done: lmstudio/first (402): Insufficient credit.");
    browser.until_shown("#log", "Coins <b>first</b>");
    browser.until_shown("#log .card", "Part 1 of the task, made by lmstudio/first in task");
    assert_eq!(
        browser.is("document.querySelector('#composer [name=workers]').checked"),
        json!(false)
    );
    let listed =
        browser.is("[...document.querySelectorAll('.tasks .goal')].map(it => it.textContent)");
    assert!(!listed.to_string().contains("Do part"), "{listed}");
    if let Ok(folder) = std::env::var("VECTOR_SHOTS") {
        fs::write(std::path::Path::new(&folder).join("workers.png"), browser.picture()).unwrap();
    }
    browser.click("#head .parts a");
    browser.until_shown("#head h1", "Do part 1 of a task");
}
