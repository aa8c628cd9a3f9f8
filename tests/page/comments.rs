//! Comments on lines, rows and the whole of a proposal: typed, kept through reloads and a killed
//! daemon, sent together, and answered with a new version.

use vector_tests::browser::key;

use super::decided::{SCRIPT, current, edits, until_current};
use super::model::{calls, choose, lead_to, whole};
use super::*;
use crate::models::server::Server;
use crate::models::spell::{Call, Message};

/// The line that the first edit changes, and its comment button.
const ADDED: &str = "#one .hunk .lines ins[data-n]";
const DRAFTS: &str = "[...document.querySelectorAll('#one .draft')].map(it => \
    [it.querySelector('label').textContent, it.querySelector('textarea').value])";

/// Puts the pointer on an element, and presses the button that appears there.
fn comment_on(browser: &Browser<'_>, selector: &str) {
    let over = "const it = document.querySelector(arguments[0]);
        it.scrollIntoView({ block: 'center' });
        it.dispatchEvent(new PointerEvent('pointerover', { bubbles: true }))";
    browser.run(over, &[json!(selector)]);
    browser.click(".comment-here");
    browser.until("document.activeElement.matches('.draft textarea')");
}

#[test]
fn comments_are_kept_sent_and_answered() {
    let Some(stage) = Stage::set() else { return };
    let args = |replace: &str| {
        let edit = json!({ "search": "Config.KillDamage)", "replace": replace });
        json!({ "path": SCRIPT, "edits": [edit] })
    };
    let answer = Message {
        text: Some("#1: it halves the damage of kills only\n#2: kept".to_owned()),
        calls: vec![Call {
            id: Some("call_2".to_owned()),
            name: "replace_text".to_owned(),
            args: args("Config.KillDamage / 3)"),
        }],
        ..Message::default()
    };
    // The first change is refused once, because there is no plan.
    let edit = || calls("replace_text", args("Config.KillDamage / 2)"));
    let read = calls("read_script", json!({ "path": SCRIPT }));
    let replies = vec![read, edit(), edit(), whole(&answer)];
    let server = Server::start(replies);
    let mut bench = Bench::obby();
    lead_to(&server, &mut bench);
    choose(&bench, "lmstudio/first");
    let browser = stage.browser();
    bench.enter(&browser);
    let opened = bench.human.open(&bench.file).ok();
    bench.human.ask(&opened, "Halve the damage");
    let first = bench.human.card();
    browser.click(".tabs [data-page=proposals]");
    until_current(&browser, first);

    comment_on(&browser, ADDED);
    browser.enter("why 2?");
    browser.until_shown("#one [data-act=request-changes]", "Send 1 comment");
    browser.press(&[], &[key::ESCAPE]);
    browser.press(&[], &['c']);
    browser.until("document.activeElement.matches('.draft textarea')");
    browser.enter("and say wh");
    // What is typed is kept, also while the daemon is killed and started again.
    browser.expect("net::ERR_");
    let port = bench.kill();
    browser.enter("y");
    bench.start_on(port);
    browser.until_shown("#link", "Connected");
    browser.until("document.querySelectorAll('#one .draft').length === 2");
    let drafts = json!([["Line 13", "why 2?"], ["The whole proposal", "and say why"]]);
    let in_any_order = |found: Json| {
        let mut found = found.as_array().unwrap().clone();
        found.sort_by_key(ToString::to_string);
        json!(found)
    };
    assert_eq!(in_any_order(browser.is(DRAFTS)), drafts);
    browser.reload();
    let sent = "#one [data-act=request-changes]:not([hidden])";
    browser.until_shown(sent, "Send 2 comments");
    assert_eq!(in_any_order(browser.is(DRAFTS)), drafts);

    let now = current(&browser);
    browser.click(sent);
    let second = bench.human.until_shown(now, |shown| shown["revision"].as_u64());
    let asked = server.requests().last().unwrap().body.to_string();
    for part in [
        "The person asks for changes:",
        "#1 On line 13 of game.ServerScriptService.KillBricks (`humanoid:TakeDamage(Config.KillDamage / 2)`): why 2?",
        "#2 On the whole proposal: and say why",
    ] {
        assert!(asked.contains(part), "{part} is not in {asked}");
    }
    // The new version says what became of each comment.
    until_current(&browser, second);
    browser.until_shown("#one .comments", "why 2?");
    browser.until_shown("#one .comments", "it halves the damage of kills only");
    let open = "document.querySelectorAll('#one .comments li[data-state=open]').length";
    assert_eq!(browser.is(open), 0);
    assert_eq!(browser.is(DRAFTS), json!([]), "what was sent is no draft any more");
    browser.until_shown("#one .comparison summary", &format!("Compare with proposal {now}"));
    browser.click("#one .comparison summary");
    browser.until_shown("#one .compared del", "humanoid:TakeDamage(Config.KillDamage / 2)");
    browser.until_shown("#one .compared ins", "humanoid:TakeDamage(Config.KillDamage / 3)");
    browser.run(&format!("location.hash = '#/proposals/{now}'"), &[]);
    browser.until_shown("#one .stands", &format!("The new version is proposal {second}"));
}

#[test]
fn decision_in_the_conversation_asks_before_it_drops_a_comment() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::new();
    let browser = stage.browser();
    bench.enter(&browser);
    let opened = bench.human.open(&bench.file).ok();
    bench.human.ask(&opened, FADE);
    let card = bench.human.card();
    browser.click(".tabs [data-page=proposals]");
    until_current(&browser, card);
    browser.press(&[], &['c']);
    browser.until("document.activeElement.matches('.draft textarea')");
    browser.enter("why so pale?");
    browser.press(&[], &[key::ESCAPE]);
    let kept = browser.is(DRAFTS);
    browser.click(".tabs [data-page=now]");
    let reject = format!("#log [data-proposal='{card}'] [data-say=reject]");
    browser.until_shown(&reject, "Reject");
    browser.click(&reject);
    browser.until_shown("#dialog[open]", "Reject without sending your comment?");
    browser.press(&[], &[key::ESCAPE]);
    browser.until("!document.querySelector('#dialog[open]')");
    assert_eq!(bench.status(card), "waiting");
    browser.click(".tabs [data-page=proposals]");
    until_current(&browser, card);
    browser.until(&format!("JSON.stringify({DRAFTS}) === {:?}", kept.to_string()));
    browser.click(".tabs [data-page=now]");
    browser.until_shown(&reject, "Reject");
    browser.click(&reject);
    browser.until_shown("#dialog[open]", "Reject without sending your comment?");
    browser.click("#dialog button.main");
    browser.until_shown("#dialog[open]", "Reject this proposal?");
    browser.click("#dialog button.main");
    bench.human.until_status(card, "rejected");
    let typed = "JSON.stringify([sessionStorage, localStorage]).includes('why so pale')";
    browser.until(&format!("!({typed})"));
}

#[test]
fn drafts_go_on_to_the_replanned_proposal() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let edit = json!({ "path": SCRIPT, "search": "Config.KillDamage", "replace": "100" });
    let first = bench.propose("replace_text", &edit);
    let script = bench.propose("replace_text", &edits());
    let browser = stage.browser();
    bench.enter(&browser);
    browser.run(&format!("location.hash = '#/proposals/{script}'"), &[]);
    until_current(&browser, script);
    browser.press(&[], &['n', 'c']);
    browser.until("document.activeElement.matches('.draft textarea')");
    browser.enter("half typ");
    let before = browser.is(DRAFTS);
    bench.human.decide(first, &json!({ "say": "reject" })).ok();
    let another =
        format!("document.querySelector('#one .proposal:not([data-of=\"{script}\"]) .draft')");
    browser.until(&another);
    assert_eq!(browser.is(DRAFTS), before);
    // One goes on typing where one was.
    browser.until("document.activeElement.matches('.draft textarea')");
    browser.enter("ed");
    let again = current(&browser);
    browser.press(&[key::CONTROL], &[key::ENTER]);
    bench.human.until_status(again, "rejected");
    assert_eq!(bench.human.shown(again)["comments"][0]["comment"]["text"], "half typed");
}

#[test]
fn comments_on_rows_move_and_are_dropped() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let script = bench.propose("replace_text", &edits());
    let props = json!({ "Name": "Wall", "Transparency": 0.5 });
    let part = json!({ "className": "Part", "parentPath": "game.Workspace", "props": props });
    let part = bench.propose("create_instance", &part);
    let browser = stage.browser();
    bench.enter(&browser);
    browser.click(".tabs [data-page=proposals]");
    until_current(&browser, script);
    // By keyboard: on the first changed line of a hunk, then on the line above.
    browser.press(&[], &['n', 'c']);
    browser.until("document.activeElement.matches('.draft textarea')");
    browser.enter("no");
    let labels = "[...document.querySelectorAll('#one .draft label')].map(it => it.textContent)";
    let before = browser.is(labels);
    browser.press(&[key::ALT], &[key::UP]);
    browser.until(&format!("JSON.stringify({labels}) !== '{before}'"));
    assert_eq!(browser.is("document.activeElement.value"), "no");
    // A decision asks before it drops what is not sent.
    browser.press(&[], &[key::ESCAPE]);
    browser.press(&[], &['a']);
    browser.until_shown("#dialog[open] h2", "Approve without sending your comment?");
    browser.press(&[], &[key::ESCAPE]);
    browser.until("!document.querySelector('dialog[open]')");
    assert_eq!(bench.status(script), "waiting");
    // Side by side, the draft is still there.
    browser.press(&[], &['u']);
    browser.until("document.querySelector('#one .lines.p .draft')");
    browser.click("#one .draft [data-act=drop-comment]");
    browser.until("!document.querySelector('#one .draft')");
    assert_eq!(browser.is("document.querySelector('[data-act=request-changes]').hidden"), true);

    browser.press(&[], &['j']);
    until_current(&browser, part);
    comment_on(&browser, "#one tr[data-property='\"Transparency\"']");
    browser.enter("0.25 is enough");
    browser.press(&[key::CONTROL], &[key::ENTER]);
    bench.human.until_status(part, "rejected");
    let shown = bench.human.shown(part);
    let on =
        json!({ "kind": "instance", "path": "game.Workspace.Wall", "property": "Transparency" });
    assert_eq!(shown["comments"][0]["comment"], json!({ "on": on, "text": "0.25 is enough" }));
}
