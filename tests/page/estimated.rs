//! The estimate below the text of a request, and the confirmation of a costly one.

use std::fs;

use super::model::{choose, says};
use super::*;
use crate::models::server::{End, Server};

/// Configures the test server as a provider with a price, in US dollars per million tokens.
fn set_price(server: &Server, bench: &mut Bench, input: f64) {
    let settings = format!(
        "retries = 0\n[caps]\nrequest_usd = 1000.0\n[providers.lmstudio]\nbase_url = \"{}/v1\"\n",
        server.url()
    );
    let models =
        format!("[models.lmstudio.first]\nprice = {{ input = {input:.1}, output = 0.0 }}\n");
    fs::write(ledger(&bench.home).join("vector.toml"), settings).unwrap();
    fs::write(ledger(&bench.home).join("models.toml"), models).unwrap();
    let port = bench.kill();
    bench.start_on(port);
    choose(bench, "lmstudio/first");
}

const LINE: &str = "document.querySelector('#estimate').textContent";

#[test]
fn estimate_follows_what_is_typed() {
    let Some(stage) = Stage::set() else { return };
    let server = Server::start(Vec::new());
    let mut bench = Bench::new();
    set_price(&server, &mut bench, 10.0);
    let browser = stage.browser();
    bench.enter(&browser);
    until_here(&browser);
    assert_eq!(browser.is(LINE), "");
    browser.click("#ask-text");
    browser.enter("make the wall red");
    browser.until(&format!("{LINE}.startsWith('Trivial · alone · about ')"));
    let title = browser.is("document.querySelector('#estimate').title");
    assert!(title.as_str().unwrap().starts_with("changes one thing\nAssumes: "), "{title}");
    browser
        .enter(", then add a shop with a gui where players buy swords, and save what they bought");
    browser.until(&format!("{LINE}.startsWith('Complex · alone, a review is worth it · about ')"));
    browser.is("document.querySelector('#ask-text').select()");
    browser.enter(" ");
    browser.until(&format!("{LINE} === ''"));
    assert!(server.requests().is_empty(), "no model was asked");
}

#[test]
fn costly_request_is_sent_after_a_confirmation() {
    let Some(stage) = Stage::set() else { return };
    let server = Server::start(vec![says("Grey.", End::Whole)]);
    let mut bench = Bench::new();
    set_price(&server, &mut bench, 500.0);
    let browser = stage.browser();
    bench.enter(&browser);
    until_here(&browser);
    browser.expect("429 (Too Many Requests)");
    ask(&browser, "which colour has the wall?");
    browser.until_shown("#dialog h2", "Send this request?");
    browser.until("document.querySelector('#dialog p').textContent.includes('Trivial · alone')");
    browser.click("#dialog button[value='']");
    browser.until("!document.querySelector('#dialog').open");
    assert_eq!(
        browser.is("document.querySelector('#ask-text').value"),
        "which colour has the wall?"
    );
    assert!(server.requests().is_empty(), "nothing was sent");
    browser.click("#composer button.main");
    browser.until("document.querySelector('#dialog button[value=yes]:not(:disabled)')");
    browser.click("#dialog button[value=yes]");
    browser.until_shown("#log .end", "Done");
    assert_eq!(server.requests().len(), 1);
    assert_eq!(browser.is("document.querySelector('#ask-text').value"), "");
}
