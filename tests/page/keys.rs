//! Operation of the page by keyboard alone.

use vector_tests::browser::key;

use super::decided::{FIRST, LAST, SCRIPT};
use super::*;

/// The focused element: its kind, text, position and outline width.
const FOCUSED: &str = "
    const it = document.activeElement;
    const style = getComputedStyle(it);
    const words = it.getAttribute('aria-label') || it.labels?.[0]?.innerText || it.innerText || it.title;
    return { what: it.localName, words: words.trim().split('\\n')[0], place: it.getBoundingClientRect().top,
      ring: style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth) };";

/// The number of visible controls.
const ALL: &str = "
    return [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex=\"0\"]')]
      .filter(it => it.checkVisibility({ visibilityProperty: true }) && !it.disabled && it.type !== 'hidden').length;";

#[test]
fn tab_reaches_every_control_in_order_with_visible_focus() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::new();
    let browser = stage.browser();
    bench.enter(&browser);
    ask(&browser, GRID);
    browser.until("document.querySelector('#log [data-proposal]')");
    browser.until_shown("#waiting", "1");
    browser.until_shown("#head .plan summary", "Plan: 0 of 10 steps");
    browser.reload();
    until_here(&browser);
    browser.until("document.querySelector('#log [data-proposal]')");
    browser.until_shown("#waiting", "1");
    let count = browser.run(ALL, &[]).as_u64().unwrap();
    let mut reached = Vec::new();
    for _ in 0..count {
        browser.press(&[], &[key::TAB]);
        let focused = browser.run(FOCUSED, &[]);
        assert!(focused["ring"].as_f64() >= Some(2.0), "the focus is not seen: {focused}");
        reached.push(format!(
            "{} {}",
            focused["what"].as_str().unwrap(),
            focused["words"].as_str().unwrap()
        ));
    }
    let expected = [
        "a Skip to the content",
        "a Vector",
        "a Chat",
        "a Proposals1",
        "a Assets",
        "a History",
        "a Usage",
        "a Settings",
    ];
    assert_eq!(reached[..expected.len()], expected);
    let mut once = reached.clone();
    once.dedup();
    assert_eq!(once.len() as u64, count, "{reached:#?}");
    let at = |what: &str| {
        reached
            .iter()
            .position(|it| it.starts_with(what))
            .unwrap_or_else(|| panic!("{what}: {reached:#?}"))
    };
    let order = [
        at("a Settings"),
        at(&format!("a {GRID}")),
        at("button Stop"),
        at("summary Plan: 0 of 10 steps"),
        at("textarea What do you want?"),
        at("select Mode"),
        at("input New conversation"),
        at("button Ask"),
    ];
    assert!(order.is_sorted(), "{reached:#?}");
    // Shift+Tab goes back.
    browser.press(&[key::SHIFT], &[key::TAB]);
    assert_ne!(browser.run(FOCUSED, &[])["words"], "Ask");
}

#[test]
fn first_tab_offers_skip_link_and_enter_sends_request() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::new();
    let browser = stage.browser();
    bench.enter(&browser);
    browser.press(&[], &[key::TAB]);
    let skip = browser.run(FOCUSED, &[]);
    assert_eq!((&skip["words"], &skip["place"]), (&json!("Skip to the content"), &json!(8)));
    browser.press(&[], &[key::ENTER]);
    assert_eq!(browser.is("document.activeElement.id"), "main");
    assert_eq!(browser.is("location.hash"), "#/now");
    while browser.is("document.activeElement.id") != "ask-text" {
        browser.press(&[], &[key::TAB]);
    }
    browser.enter("set Transparency = 0.5");
    browser.press(&[key::SHIFT], &[key::ENTER]);
    browser.enter("on #Baseplate");
    assert_eq!(browser.is("document.activeElement.value.split('\\n').length"), 2, "one more line");
    browser.press(&[], &[key::ENTER]);
    browser.until("document.querySelector('#log .asked')");
    assert_eq!(browser.is("document.activeElement.id"), "ask-text", "one can go on typing");
}

#[test]
fn chosen_script_version_keeps_the_focus() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    for edit in [FIRST, LAST] {
        let [search, replace] = edit;
        let edit = json!({ "path": SCRIPT, "search": search, "replace": replace });
        let proposal = bench.propose("replace_text", &edit);
        bench.human.approve(proposal).ok();
        bench.human.until_status(proposal, "applied");
    }
    let browser = stage.browser();
    bench.enter(&browser);
    browser.click(".tabs [data-page=history]");
    browser.click(".filters [name=everything]");
    browser.click(".filters button.main");
    browser.click("#entries [data-kind=applied] summary");
    browser.click("#entries [data-act=script]");
    browser.until_shown(".past", "2 changes on record");
    browser.run(
        "document.querySelector('.past ol [data-act=script]:not([aria-current])').focus()",
        &[],
    );
    let chosen = browser.is("document.activeElement.dataset.seq");
    browser.press(&[], &[key::ENTER]);
    browser.until(&format!(
        "document.querySelector('.past [aria-current]')?.dataset.seq === {chosen}"
    ));
    assert_eq!(browser.is("document.activeElement.dataset.seq"), chosen);
    assert_eq!(browser.is("document.activeElement.matches('.past [aria-current]')"), true);
}
