//! Input slips: double, long or early presses, and text or choices that are entered while the
//! daemon is away or another page is quicker.

use vector_tests::browser::key;

use super::decided::{AT_REST, create, current, until_current};
use super::*;

/// Counts decisions, holds requests whose address contains `window.held` until `window.go` is
/// called, and cuts the stream with `window.cut`. `localStorage.streams` counts the streams that
/// were opened and those that are still open. `window.hasty` is called as soon as another proposal
/// is shown, to simulate a press that was meant for the previous one.
const WATCHED: &str = "
    window.decided = 0;
    window.held = '';
    window.waiting = 0;
    const waits = [];
    window.go = () => { window.held = ''; waits.splice(0).forEach(it => it()); };
    let [opened, open] = [0, 0];
    const count = (more) => {
      opened += more > 0 ? 1 : 0;
      open += more;
      localStorage.streams = `${opened} ${open}`;
    };
    const before = window.fetch;
    window.fetch = async (path, options = {}) => {
      const address = String(path);
      if (/\\/decide$/.test(address)) window.decided += 1;
      if (window.held && address.includes(window.held)) {
        window.waiting += 1;
        await new Promise(done => waits.push(done));
      }
      if (!address.startsWith('/page/stream')) return before(path, options);
      const cutting = new AbortController();
      window.cut = () => cutting.abort();
      const signal = AbortSignal.any([cutting.signal, options.signal]);
      signal.addEventListener('abort', () => count(-1), { once: true });
      count(1);
      return before(path, { ...options, signal });
    };
    addEventListener('DOMContentLoaded', () => {
      let shown = null;
      new MutationObserver(() => {
        const now = document.querySelector('#one .proposal')?.dataset.of ?? shown;
        if (now === shown) return;
        shown = now;
        window.hasty?.();
      }).observe(document.body, { childList: true, subtree: true });
    });";

/// Dispatches a key press synchronously.
const PRESSES: &str = "
    window.press = key => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));";

/// The number of toasts.
const TOASTS: &str = "document.querySelectorAll('#toasts > *').length";

/// The number of decisions.
const DECIDED: &str = "window.decided";
const ASKS: &str = "document.querySelector('dialog[open]') !== null";

/// Two proposals, the first of which is shown.
struct Two<'s> {
    browser: Browser<'s>,
    bench: Bench,
    first: u64,
    second: u64,
}

impl<'s> Two<'s> {
    fn waiting(stage: &'s Stage) -> Self {
        let mut bench = Bench::obby();
        let [first, second] =
            ["One", "Two"].map(|it| bench.propose("create_instance", &create(it)));
        let browser = watched(stage);
        bench.enter(&browser);
        browser.run(PRESSES, &[]);
        browser.click(".tabs [data-page=proposals]");
        until_current(&browser, first);
        Self { browser, bench, first, second }
    }

    /// Asserts that `proposal` is shown and pending after `decided` decisions, and that it can be
    /// approved.
    #[track_caller]
    fn approves(&mut self, proposal: u64, decided: usize) {
        until_current(&self.browser, proposal);
        self.browser.until(AT_REST);
        assert_eq!(self.browser.is(DECIDED), decided);
        assert_eq!(self.bench.status(proposal), "waiting");
        self.browser.press(&[], &['a']);
        self.bench.human.until_status(proposal, "applied");
        assert_eq!(self.browser.is(DECIDED), decided + 1);
    }
}

fn watched(stage: &Stage) -> Browser<'_> {
    let browser = stage.browser();
    browser.prepare(WATCHED);
    browser
}

#[test]
fn double_click_decides_only_the_clicked_proposal() {
    let Some(stage) = Stage::set() else { return };
    let mut two = Two::waiting(&stage);
    two.browser.double_click("#one [data-act=approve]");
    two.bench.human.until_status(two.first, "applied");
    until_current(&two.browser, two.second);
    // For a slow double click, the browser still reports a click count of 2.
    let second = "document.querySelector('#one [data-act=approve]')
        .dispatchEvent(new MouseEvent('click', { detail: 2, bubbles: true, cancelable: true }))";
    two.browser.is(second);
    two.approves(two.second, 1);
}

#[test]
fn second_click_or_key_does_not_decide_next_proposal() {
    let Some(stage) = Stage::set() else { return };
    let mut two = Two::waiting(&stage);
    two.browser.run(
        "window.hasty = () => {
           window.shown = document.querySelector('#one .proposal').dataset.of;
           document.querySelector('#one [data-act=approve]').click();
           window.press('a');
           window.press('r');
         };",
        &[],
    );
    two.browser.click("#one [data-act=approve]");
    two.browser.until(&format!("window.shown === '{}'", two.second));
    assert_eq!(two.browser.is(ASKS), false);
    two.bench.human.until_status(two.first, "applied");
    two.approves(two.second, 1);
}

#[test]
fn one_decision_is_sent_at_a_time() {
    let Some(stage) = Stage::set() else { return };
    let mut two = Two::waiting(&stage);
    two.browser.run("window.held = '/decide'", &[]);
    two.browser.click("#one [data-act=approve]");
    two.browser.until("window.waiting === 1");
    two.browser.press(&[], &['r', 'a', 'j']);
    assert_eq!(two.browser.is(ASKS), false);
    until_current(&two.browser, two.second);
    two.browser.press(&[], &['a']);
    assert_eq!(two.browser.is(DECIDED), 1);
    two.browser.run("window.go()", &[]);
    two.bench.human.until_status(two.first, "applied");
    two.approves(two.second, 1);
}

#[test]
fn held_keys_navigate_but_decide_nothing() {
    let Some(stage) = Stage::set() else { return };
    let mut two = Two::waiting(&stage);
    for key in ['a', 'r', 's'] {
        two.browser.repeat(key);
        assert_eq!(two.browser.is(DECIDED), 0);
        assert_eq!(two.browser.is(ASKS), false);
        assert_eq!(current(&two.browser), two.first);
    }
    // Keys that only move may repeat.
    for (key, next) in [('j', two.second), ('k', two.first)] {
        two.browser.repeat(key);
        until_current(&two.browser, next);
    }
    two.approves(two.first, 0);
}

#[test]
fn proposal_still_loading_cannot_be_decided() {
    let Some(stage) = Stage::set() else { return };
    let mut two = Two::waiting(&stage);
    two.browser.press(&[], &['j']);
    until_current(&two.browser, two.second);
    two.browser.run("window.held = arguments[0]", &[format!("of={}", two.first).into()]);
    two.browser.press(&[], &['k']);
    two.browser.until("window.waiting === 1");
    two.browser.press(&[], &['a']);
    assert_eq!(two.browser.is(DECIDED), 0, "neither the one before nor the one to come is meant");
    two.browser.run("window.hasty = () => window.press('a'); window.go()", &[]);
    two.approves(two.first, 0);
    assert_eq!(two.bench.status(two.second), "waiting");
}

/// Cuts the stream, and waits until the page has reconnected and redrawn the matching elements.
#[track_caller]
fn cut(browser: &Browser<'_>, selector: &str) {
    let old = format!("[...document.querySelectorAll({})]", json!(selector));
    browser.run(&format!("window.old = {old}; window.cut()"), &[]);
    let is_new = format!(
        "window.old.length > 0 && {old}.length > 0 && {old}.every(it => !window.old.includes(it))"
    );
    browser.until(&format!("localStorage.streams === '2 1' && {is_new}"));
}

/// The search text in the history.
const WORDS: &str = "document.querySelector('.filters [name=text]').value";

/// The text and choices in the composer.
const COMPOSED: &str = "(({ text, session, interaction, begins }) =>
    [text.value, session.selectedOptions[0].text, interaction.value, begins.checked])
    (document.querySelector('#composer form').elements)";

#[test]
fn composer_text_and_choices_survive_stream_reconnect() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::new();
    bench.human.open(&obby(&bench.home)).ok();
    let browser = watched(&stage);
    bench.enter(&browser);
    browser.until("document.querySelectorAll('#composer [name=session] option').length === 2");
    choose(&browser, "session", "place.rbxlx");
    ask(&browser, FADE);
    bench.human.card();
    browser.until("document.querySelector('#log [data-proposal]')");
    choose(&browser, "session", "obby.rbxlx");
    choose(&browser, "interaction", "Plan first");
    browser.click("#composer [name=begins]");
    browser.click("#ask-text");
    browser.enter("half a thought");
    let composed = json!(["half a thought", "obby.rbxlx", "plan", true]);
    assert_eq!(browser.is(COMPOSED), composed);
    cut(&browser, "#scroll .talk");
    assert_eq!(browser.is(COMPOSED), composed);
    // The composer is redrawn, because it names the model that answers.
    browser.run("window.old = document.querySelector('#composer form')", &[]);
    let settings = json!({ "mode": "confirm", "dry_run": true, "model": "offline" });
    bench.human.call("PUT", "/api/settings", &settings).ok();
    browser.until("!window.old.isConnected && document.querySelector('#composer form')");
    assert_eq!(browser.is(COMPOSED), composed);
    assert_eq!(browser.is("document.activeElement.id"), "ask-text", "one can go on typing");
}

#[test]
fn path_being_typed_survives_other_updates() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let browser = stage.browser();
    bench.enter(&browser);
    browser.click("#rail .more summary");
    browser.click("#open-path");
    browser.enter("/home/somebody/");
    bench.propose("create_instance", &create("One"));
    browser.until_shown("#rail .tasks", "agent");
    let path = bench.home.path().join("place.rbxlx");
    fs::write(&path, places::sample(Format::Rbxlx)).unwrap();
    assert_eq!(browser.is("document.activeElement.id"), "open-path", "one can go on typing");
    assert_eq!(browser.is("document.activeElement.value"), "/home/somebody/");
    browser.press(&[key::CONTROL], &['a']);
    browser.enter(&path.display().to_string());
    browser.press(&[], &[key::ENTER]);
    browser.until_shown("#rail", "place.rbxlx");
    assert_eq!(browser.is("document.querySelector('#open-path').value"), "", "that is done");
}

#[test]
fn stale_epoch_request_is_refused_and_can_be_resent() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::new();
    let browser = stage.browser();
    browser.expect("status of 409");
    bench.enter(&browser);
    // A stale epoch, as on a page that does not know the new one yet.
    browser.run("document.querySelector('#composer [name=session]').dataset.epoch = '77'", &[]);
    ask(&browser, FADE);
    browser.until_shown("#toasts", "Send the request again");
    assert_eq!(browser.is("document.querySelector('#ask-text').value"), FADE);
    browser.click("#ask-text");
    browser.press(&[], &[key::ENTER]);
    browser.until_shown("#log .asked", FADE);
}

/// Selects an option in the composer.
#[track_caller]
fn choose(browser: &Browser<'_>, field: &str, text: &str) {
    let option = format!(
        "[...document.querySelector('#composer [name={field}]').options].find(it => it.text === '{text}')"
    );
    browser.is(&format!("{option}.selected = true"));
}

#[test]
fn settings_saved_on_two_pages_are_merged() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::new();
    let (one, other) = (stage.browser(), stage.browser());
    for browser in [&one, &other] {
        bench.enter(browser);
        browser.click(".tabs [data-page=settings]");
        browser.until_shown("main", "this page");
    }
    one.click("main [name=dry_run]");
    one.click("main [value=auto]");
    one.click("main [name=limit_day]");
    one.enter("2.50");
    one.click("main form button.main");
    one.until_shown("#toasts", "Saved");
    other.click("main [name=model]");
    other.press(&[key::CONTROL], &['a']);
    other.enter("lmstudio/first");
    other.click("main form button.main");
    other.until_shown("#toasts", "Saved");
    let set = bench.human.call("GET", "/api/settings", &Json::Null).ok();
    assert_eq!(
        [&set["mode"], &set["dry_run"], &set["model"]],
        [&json!("auto"), &json!(true), &json!("lmstudio/first")]
    );
    assert_eq!(set["limits"], json!({ "day": 2.5 }));
    other.until("document.querySelector('main [name=dry_run]').checked");
}

#[test]
fn field_keeps_focus_and_selection_when_set_elsewhere() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::new();
    let browser = stage.browser();
    bench.enter(&browser);
    browser.click(".tabs [data-page=settings]");
    browser.until_shown("main", "this page");
    let elsewhere = |model: &str| {
        let mut set = bench.human.call("GET", "/api/settings", &Json::Null).ok();
        set["model"] = json!(model);
        bench.human.call("PUT", "/api/settings", &set).ok();
        browser.until(&format!("document.querySelector('main [name=model]').value === '{model}'"));
    };
    elsewhere("lmstudio/some");
    browser.click("main [name=model]");
    browser.press(&[key::CONTROL], &['a']);
    elsewhere("lmstudio/same");
    browser.enter("lmstudio/first");
    assert_eq!(browser.is("document.querySelector('main [name=model]').value"), "lmstudio/first");
}

#[test]
fn history_search_survives_stream_reconnect() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::new();
    let browser = watched(&stage);
    bench.enter(&browser);
    ask(&browser, FADE);
    let card = bench.human.card();
    bench.human.approve(card).ok();
    bench.human.until_status(card, "applied");
    browser.click(".tabs [data-page=history]");
    browser.click(".filters [name=text]");
    browser.enter("a castle");
    browser.press(&[], &[key::ENTER]);
    browser.until_shown("main .empty", "No results");
    cut(&browser, "main .history");
    assert_eq!(browser.is(WORDS), "a castle");
    assert_eq!(browser.text("main .empty h2"), "No results");
}

#[test]
fn unsent_history_filters_survive_stream_reconnect() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::new();
    let browser = watched(&stage);
    bench.enter(&browser);
    browser.click(".tabs [data-page=history]");
    browser.until("document.querySelector('.filters')");
    browser.run("document.querySelector('.filters [name=outcome]').selectedIndex = 2", &[]);
    browser.run("window.held = '/page/history'; window.cut()", &[]);
    browser.until("localStorage.streams === '2 1' && document.querySelector('#link').dataset.state === 'here'");
    assert_eq!(browser.is("window.waiting"), 0, "nor anything that was chosen");
    browser.run("window.held = ''; document.querySelector('.filters').reset()", &[]);
    browser.click(".filters [name=text]");
    browser.enter("half a th");
    browser.run("window.held = '/page/history'; window.cut()", &[]);
    browser.until("localStorage.streams === '3 1' && document.querySelector('#link').dataset.state === 'here'");
    assert_eq!(browser.is("window.waiting"), 0, "what comes anew has nothing in it that was typed");
    browser.run("window.go()", &[]);
    browser.enter("ought");
    assert_eq!(browser.is(WORDS), "half a thought");
    browser.press(&[], &[key::ENTER]);
    browser.until_shown("main .empty", "No results");
    assert_eq!(browser.is(WORDS), "half a thought");
}

#[test]
fn single_entry_view_survives_stream_reconnect() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::new();
    let browser = watched(&stage);
    bench.enter(&browser);
    ask(&browser, FADE);
    let card = bench.human.card();
    browser.run("location.hash = arguments[0]", &[format!("#/history/{card}").into()]);
    browser.until_shown("main h1", &format!("Entry {card}"));
    cut(&browser, "main .history");
    assert_eq!(browser.text("main h1"), format!("Entry {card}"));
    browser.until("document.querySelector('main .json')");
}

#[test]
fn hidden_page_closes_stream_and_catches_up_when_shown() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let browser = watched(&stage);
    bench.enter(&browser);
    let tab = browser.tab();
    browser.open_tab();
    // A page of the daemon that opens no stream.
    browser.expect("favicon.ico");
    browser.go(&format!("{}health", bench.address()));
    browser.until("localStorage.streams === '1 0'");
    bench.propose("create_instance", &create("One"));
    assert_eq!(browser.is("localStorage.streams"), "1 0");
    browser.lead(&tab);
    browser.until_shown("#waiting", "1");
    browser.until_shown("#rail", "agent");
    assert_eq!(browser.is("localStorage.streams"), "2 1");
}

#[test]
fn malformed_addresses_still_show_a_page() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::new();
    let browser = stage.browser();
    bench.enter(&browser);
    for hash in ["", "#/", "#/toString", "#/__proto__", "#/constructor/x"] {
        browser.go(&format!("{}{hash}", bench.address()));
        browser.reload();
        until_here(&browser);
        browser.until_shown("#scroll", "No requests yet");
    }
    browser.expect("status of 400");
    for page in ["now", "proposals", "history"] {
        browser.go(&format!("{}#/{page}/%", bench.address()));
        browser.reload();
        browser.until_shown("main", "`%` is not the number of");
        assert_eq!(browser.is(TOASTS), 0, "it is said in one place");
    }
    browser.click(".tabs [data-page=now]");
    until_here(&browser);
    browser.until_shown("#scroll", "No requests yet");
}

#[test]
fn toasts_do_not_cover_the_main_buttons() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let waiting = bench.propose("create_instance", &create("One"));
    let browser = stage.browser();
    bench.enter(&browser);
    for width in [1280, 420] {
        browser.look(&Look { width, ..Look::default() });
        let places = [
            ("now".to_owned(), "#composer button.main"),
            (format!("proposals/{waiting}"), "#approve"),
        ];
        for (place, button) in places {
            browser.run(&format!("location.hash = '#/{place}'"), &[]);
            browser.until(&format!("document.querySelector('{button}')"));
            // On a phone, the composer grows while it has the focus.
            browser.run("document.querySelector('#ask-text')?.focus()", &[]);
            let said = "(await import('/assets/ui.js')).toast('Said', 'bad', 'In passing.')";
            browser.run_async(&format!("(async () => {{ {said}; arguments[0](); }})()"), &[]);
            let is_free = format!(
                "(at => document.querySelector('{button}').contains(document.elementFromPoint(at.right - 2, at.bottom - 2))
                  || document.elementFromPoint(at.right - 2, at.bottom - 2).contains(document.querySelector('{button}')))
                 (document.querySelector('{button}').getBoundingClientRect())"
            );
            assert_eq!(browser.is(&is_free), true, "{place} at {width}");
        }
    }
}

#[test]
fn slow_open_is_reported_after_the_user_navigates() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::new();
    let file = obby(&bench.home);
    let browser = watched(&stage);
    bench.enter(&browser);
    browser.click("#rail summary");
    browser.click("#open-path");
    browser.enter(file.to_str().unwrap());
    browser.run("window.held = '/api/open'", &[]);
    browser.press(&[], &[key::ENTER]);
    browser.until("window.waiting === 1");
    browser.click(".tabs [data-page=usage]");
    browser.until_shown("main h1", "Usage");
    browser.run("window.go()", &[]);
    browser.until_shown("#toasts", "obby.rbxlx is open.");
    browser.until("!document.querySelector('[aria-busy=true]')");
    assert_eq!(browser.is(TOASTS), 1);
}

#[test]
fn composer_draft_survives_navigation_reload_and_outage() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::new();
    let browser = watched(&stage);
    bench.enter(&browser);
    ask(&browser, FADE);
    let first = browser.until("location.hash.match(/^#.now.([0-9]+)$/)?.[1]");
    browser.click("#composer [name=begins]");
    ask(&browser, GRID);
    browser.until(&format!(
        "/^#.now.[0-9]+$/.test(location.hash) && !location.hash.endsWith('/{}')",
        first.as_str().unwrap()
    ));
    browser.click(&format!("#rail [data-task='{}']", first.as_str().unwrap()));
    browser.until_shown(".head h1", FADE);
    browser.click("#ask-text");
    browser.enter("half a thought");
    let typed = "document.querySelector('#ask-text')?.value === 'half a thought'";
    browser.click(".tabs [data-page=proposals]");
    browser.until("document.querySelector('#one .proposal')");
    browser.click(".tabs [data-page=now]");
    browser.until(typed);
    browser.until_shown(".head h1", FADE);
    browser.reload();
    browser.until(typed);
    browser.until_shown(".head h1", FADE);
    let port = bench.kill();
    browser.click("#composer button.main");
    browser.until_shown("#toasts", "Vector does not answer");
    bench.start_on(port);
    browser.until("document.querySelector('#link').dataset.state === 'here'");
    assert_eq!(browser.is(TOASTS), 0);
    assert_eq!(browser.is(typed), true);
    browser.run("document.querySelector('#ask-text').value = 'x'.repeat(900000)", &[]);
    browser.click("#composer button.main");
    browser.until_shown("#toasts", "The request is too long");
    browser.expect("net::ERR_");
}

#[test]
fn conversation_that_arrives_late_does_not_replace_the_selected_one() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::new();
    let browser = watched(&stage);
    bench.enter(&browser);
    let mut asked = Vec::new();
    for text in [FADE, GRID] {
        browser.click("#composer [name=begins]");
        ask(&browser, text);
        browser.until_shown(".head h1", text);
        let address = browser.until("location.hash.match(/^#.now.([0-9]+)$/)?.[1]");
        asked.push(address.as_str().unwrap().to_owned());
    }
    let [first, second] = &asked[..] else { panic!("{asked:?}") };
    // A task that is listed moves the others.
    browser.until(&format!("document.querySelector('#rail [data-task=\"{second}\"]')"));
    browser.run("window.held = arguments[0]", &[format!("talk?of={first}").into()]);
    browser.click(&format!("#rail [data-task='{first}']"));
    browser.until("window.waiting === 1");
    browser.click(&format!("#rail [data-task='{second}']"));
    browser.until(&format!("location.hash.endsWith('/{second}')"));
    browser.run("window.go(); performance.clearResourceTimings()", &[]);
    let has_arrived = "performance.getEntriesByType('resource').some(it => it.name.includes";
    browser.until(&format!("{has_arrived}('talk?of={first}'))"));
    let drawn = "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))";
    browser.run_async(drawn, &[]);
    browser.until_shown(".head h1", GRID);
    browser.until(&format!(
        "document.querySelector('#rail [aria-current]')?.dataset.task === '{second}'"
    ));
}

#[test]
fn list_that_changes_under_a_pressed_pointer_keeps_the_click() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let place = bench.human.open(&bench.file).ok();
    bench.human.ask(&place, FADE);
    bench.human.card();
    bench.human.ask(&place, GRID);
    bench.human.card();
    let browser = watched(&stage);
    bench.enter(&browser);
    browser.until_shown(".head h1", GRID);
    browser.until("document.querySelectorAll('#rail [data-task]').length === 2");
    let oldest = "[...document.querySelectorAll('#rail [data-task]')]
        .reduce((a, b) => Number(a.dataset.task) < Number(b.dataset.task) ? a : b).dataset.task";
    let first = browser.is(oldest);
    let link = format!("#rail [data-task='{}']", first.as_str().unwrap());
    browser.run("performance.clearResourceTimings()", &[]);
    browser.hold(&link, || {
        bench.human.ask(&place, FADE);
        let lists =
            "performance.getEntriesByType('resource').some(it => it.name.endsWith('/page/rail'))";
        browser.until(lists);
        browser.run_async("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))", &[]);
    });
    browser.until_shown(".head h1", FADE);
    browser.until(&format!("location.hash.endsWith('/{}')", first.as_str().unwrap()));
    browser.until("document.querySelectorAll('#rail [data-task]').length === 3");
}
