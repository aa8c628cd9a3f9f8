//! What waits for the user: the page's title, and a notification while the page is hidden.

use super::decided::create;
use super::*;

/// Records notifications instead of showing them, as a browser that allows them.
const RECORDED: &str = "window.notices = [];
    window.Notification = class extends EventTarget {
        static permission = 'default';
        static async requestPermission() { return this.permission = 'granted'; }
        constructor(title, { body }) { super(); window.notices.push(body); }
        close() {}
    }";
const HIDE: &str = "Object.defineProperty(document, 'hidden', { value: true, configurable: true })";

#[test]
fn title_counts_what_waits() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::new();
    let browser = stage.browser();
    bench.enter(&browser);
    browser.until("document.title === 'Chat · Vector'");
    let first = bench.propose("create_instance", &create("One"));
    browser.until("document.title === '(1) Chat · Vector'");
    browser.click(".tabs [data-page=history]");
    browser.until("document.title === '(1) History · Vector'");
    bench.human.decide(first, &json!({ "say": "reject" })).ok();
    browser.until("document.title === 'History · Vector'");
}

#[test]
fn hidden_page_notifies_if_the_user_wants_it() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::new();
    let browser = stage.browser();
    bench.enter(&browser);
    browser.run(RECORDED, &[]);
    bench.propose("create_instance", &create("Unwanted"));
    browser.until("document.title.startsWith('(1)')");
    browser.click(".tabs [data-page=settings]");
    browser.until("document.querySelector('#notify')");
    browser.click("#notify");
    browser.until("Notification.permission === 'granted'");
    // Nobody is told of what they see.
    bench.propose("create_instance", &create("Seen"));
    browser.until("document.title.startsWith('(2)')");
    assert_eq!(browser.is("window.notices"), json!([]));
    browser.run(HIDE, &[]);
    browser.run("document.dispatchEvent(new Event('visibilitychange'))", &[]);
    bench.propose("create_instance", &create("Hidden"));
    browser.until("window.notices.length === 1");
    assert_eq!(browser.is("window.notices"), json!(["3 proposals wait for your decision"]));
    // A new one is noticed if another was decided between two looks.
    let paused = "window.realFetch = fetch; window.fetch = () => new Promise(() => {})";
    browser.run(paused, &[]);
    let hidden = bench.human.call("GET", "/api/proposals", &Json::Null).ok();
    let last = hidden["proposals"][2]["seq"].as_u64().unwrap();
    bench.human.decide(last, &json!({ "say": "reject" })).ok();
    bench.propose("create_instance", &create("Another"));
    browser.run("window.fetch = window.realFetch", &[]);
    browser.until("window.notices.length === 2");
    // The choice is kept in this browser.
    assert_eq!(browser.is("localStorage.getItem('vector-notify')"), "on");
    browser.click("#notify");
    browser.until("localStorage.getItem('vector-notify') === 'off'");
}
