//! Two pages on one conversation, and a daemon that dies and restarts.

use super::*;

/// Waits until both pages show the same conversation, also after a reload.
#[track_caller]
fn are_the_same(browser: &Browser<'_>, other: &Browser<'_>) {
    let own = log(browser);
    is_each_once(&own);
    let wanted = serde_json::to_string(&own).unwrap();
    other.until(&format!("JSON.stringify({LOG}) === JSON.stringify({wanted})"));
    browser.reload();
    until_here(browser);
    browser.until("document.querySelector('#log')");
    assert_eq!(log(browser), own, "it was told as it is told later");
}

#[test]
fn two_pages_show_the_same_conversation() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::new();
    let (browser, other) = (stage.browser(), stage.browser());
    bench.enter(&browser);
    bench.enter(&other);
    ask(&browser, GRID);
    // An idle page switches to the conversation that begins.
    other.until_shown("#log .asked", GRID);
    for _ in 0..3 {
        let card = bench.human.card();
        browser.until(&format!("document.querySelector('#log [data-proposal=\"{card}\"]')"));
        bench.human.approve(card).ok();
    }
    let card = bench.human.card();
    browser.until(&format!("document.querySelector('#log [data-proposal=\"{card}\"]')"));
    are_the_same(&browser, &other);
    other.click("#head button[data-verb=cancel]");
    browser.until_shown("#log .end", "Ended");
    are_the_same(&browser, &other);
}

#[test]
fn page_shows_disconnect_and_resumes_after_daemon_restart() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::new();
    let (browser, other) = (stage.browser(), stage.browser());
    bench.enter(&browser);
    bench.enter(&other);
    ask(&browser, GRID);
    let card = bench.human.card();
    browser.until(&format!("document.querySelector('#log [data-proposal=\"{card}\"]')"));
    bench.human.approve(card).ok();
    let card = bench.human.card();
    browser.until(&format!("document.querySelector('#log [data-proposal=\"{card}\"]')"));
    let before = log(&browser);
    for browser in [&browser, &other] {
        browser.expect("net::ERR_");
    }
    browser.run("document.querySelector('#ask-text').value = 'half a thought'", &[]);
    let port = bench.kill();
    for browser in [&browser, &other] {
        browser.until_shown("#link", "Disconnected");
    }
    assert_eq!(log(&browser), before, "what was there can be read meanwhile");
    bench.start_on(port);
    for browser in [&browser, &other] {
        browser.until("document.querySelector('#link').dataset.state === 'here'");
    }
    let typed = browser.is("document.querySelector('#ask-text').value");
    assert_eq!(typed, "half a thought", "what was typed is still there");
    let again = bench.human.successor(card);
    browser.until(&format!("document.querySelector('#log [data-proposal=\"{again}\"] .buttons')"));
    assert_eq!(log(&browser)[..before.len()], before, "it goes on where it was");
    are_the_same(&browser, &other);
    bench.human.decide(again, &json!({ "say": "reject" })).ok();
    browser.until_shown("#log .end", "not all of it was approved");
    ask(&browser, FADE);
    browser.until("document.querySelector('#log [data-proposal]')");
    // This is a separate task: the other page lists it, but does not switch to it.
    other.until("document.querySelectorAll('#rail [data-task]').length === 2");
    assert_eq!(other.text("#head h1"), GRID);
    other.click("#rail [data-task]");
    other.until_shown("#head h1", FADE);
    are_the_same(&browser, &other);
}
