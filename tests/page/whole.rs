//! The whole loop in a browser: request, review, partial approval, history and revert.

use super::decided::{FIRST, LAST, SCRIPT, current, edits};
use super::model::{calls, choose, lead_to, says};
use super::*;
use crate::models::server::{End, Server};

#[test]
fn partially_approved_proposal_is_applied_listed_and_reverted() {
    let Some(stage) = Stage::set() else { return };
    let read = calls("read_script", json!({ "path": SCRIPT }));
    // The first call is refused, because the model has no plan; the second is allowed without one.
    let call = || calls("replace_text", edits());
    let server = Server::start(vec![read, call(), call(), says("It is done.", End::Whole)]);
    let mut bench = Bench::obby();
    lead_to(&server, &mut bench);
    choose(&bench, "lmstudio/first");
    let before = bench.text();
    let browser = stage.browser();
    bench.enter(&browser);
    ask(&browser, "Let any part kill, and watch once.");
    browser.click("#log [data-proposal] a.title");
    let asked = current(&browser);
    browser.until_shown("#approve", "Approve");
    browser.click("#one input[data-part='h0.1']");
    browser.until_shown("#approve", "Approve 1 of 2");
    browser.click("#one [data-act=approve]");
    let chosen = bench.human.successor(asked);
    bench.human.until_status(chosen, "applied");
    browser.until_shown("#list", "Nothing to review");
    assert!(bench.text() == before.replace(FIRST[0], FIRST[1]), "the one hunk, and nothing else");
    look_back(&browser, chosen);
    let back = format!("#entries [data-act=revert][data-back='{chosen}']");
    assert_eq!(browser.text(&back), "Revert");
    browser.click(&back);
    browser.click("#log [data-proposal] [data-say=approve]");
    browser.until_shown("#log [data-proposal]", "applied");
    assert!(bench.text() == before, "as it was, byte for byte");
}

/// Finds an applied proposal in the history, with the script as it left it.
fn look_back(browser: &Browser<'_>, proposal: u64) {
    browser.click(".tabs [data-page=history]");
    // By default, each change is listed once, with its outcome.
    browser.until_shown("#entries [data-kind=proposed]", "applied");
    let kinds = "[...new Set([...document.querySelectorAll('#entries .entry')].map(it => it.dataset.kind))]";
    let kinds: Vec<String> = serde_json::from_value(browser.is(kinds)).unwrap();
    assert!(
        !kinds.iter().any(|it| ["applied", "applying", "called", "replied"].contains(&&**it)),
        "{kinds:?}"
    );
    browser.until_shown("#entries", "partly approved");
    browser.click(".filters [name=everything]");
    browser.click(".filters button.main");
    browser.until("document.querySelector('#entries [data-kind=applied]')");
    let entry = format!("#entries details[data-of='{proposal}']");
    browser.until_shown(&entry, "applied");
    browser.click(&format!("{entry} summary"));
    browser.until_shown(&format!("{entry} .json"), SCRIPT.rsplit('.').next().unwrap());
    // The resulting script is available from the entry that applied the proposal.
    let done = "[...document.querySelectorAll('#entries [data-kind=applied] details')]
        .find(it => it.textContent.includes('KillBricks'))?.dataset.of";
    let done = browser.until(done);
    let done = format!("#entries details[data-of='{}']", done.as_str().unwrap());
    browser.click(&format!("{done} summary"));
    browser.click(&format!("{done} [data-act=script]"));
    browser.until_shown(&format!("{done} .script"), FIRST[1]);
    assert!(browser.text(&format!("{done} .script")).contains(LAST[0]), "all of it is shown");
}
