//! Changes elsewhere while the page is open: places that are opened and closed, plugins that
//! connect, and settings that another window or a terminal changes.

use vector_tests::daemon::Plugin;

use super::decided::create;
use super::*;

/// Records what the stream has delivered so far.
const CAME: &str = "
    window.came = '';
    const read = ReadableStreamDefaultReader.prototype.read;
    ReadableStreamDefaultReader.prototype.read = async function () {
      const some = await read.call(this);
      if (typeof some.value === 'string') window.came += some.value;
      return some;
    };";

fn choose(bench: &Bench, mode: &str) {
    let mut settings = bench.human.call("GET", "/api/settings", &Json::Null).ok();
    settings["mode"] = json!(mode);
    bench.human.call("PUT", "/api/settings", &settings).ok();
}

#[test]
fn sessions_opened_elsewhere_are_listed_and_selectable() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::new();
    let browser = stage.browser();
    bench.enter(&browser);
    browser.until_shown("#rail", "place.rbxlx");
    browser.run(
        "document.querySelector('#ask-text').value = 'half a thought';
         const path = document.querySelector('#open-path');
         path.closest('details').open = true;
         path.focus();
         path.value = '/half/a/path';
         path.setSelectionRange(5, 6);",
        &[],
    );
    bench.human.open(&obby(&bench.home)).ok();
    browser.until_shown("#rail", "obby.rbxlx");
    browser
        .until("document.querySelectorAll('#composer select[name=session] option').length === 2");
    let mut plugin = Plugin::pair(bench.daemon(), "window-1");
    browser.until_shown("#rail [data-session=window-1]", "connected");
    plugin.tell_place();
    browser.until_shown("#rail [data-session=window-1]", "3 instances");
    browser
        .until("document.querySelectorAll('#composer select[name=session] option').length === 3");
    let epoch = "document.querySelector('#composer option[value=window-1]').dataset.epoch";
    assert_eq!(browser.is(epoch), plugin.epoch.to_string());
    let again = Plugin::hello(bench.daemon(), "window-1", &plugin.credential);
    browser.until(&format!("{epoch} === '{}'", again.epoch));
    let typed = "[document.querySelector('#ask-text').value, document.activeElement.value,
        document.activeElement.selectionStart, document.activeElement.selectionEnd]";
    let before = json!(["half a thought", "/half/a/path", 5, 6]);
    assert_eq!(browser.is(typed), before, "it is still there");
    let revoke = json!({ "what": "plugins" });
    bench.human.call("POST", "/api/access/revoke", &revoke).ok();
    browser.until("!document.querySelector('#rail [data-session=window-1]')");
}

#[test]
fn pending_proposals_of_an_opened_place_are_listed() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    bench.propose("create_instance", &create("One"));
    bench.kill();
    let daemon = Daemon::start(binary::vector(), &ledger(&bench.home));
    bench.human = Human::of(&daemon, &ledger(&bench.home));
    bench.daemon = Some(daemon);
    let browser = stage.browser();
    bench.enter(&browser);
    browser.click(".tabs [data-page=proposals]");
    browser.until_shown("#list", "Nothing to review");
    bench.human.open(&bench.file).ok();
    browser.until_shown("#list", "Create Part");
    browser.until_shown("#waiting", "1");
}

#[test]
fn settings_changed_elsewhere_are_shown_unless_being_edited() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::new();
    let browser = stage.browser();
    browser.prepare(CAME);
    bench.enter(&browser);
    browser.until_shown("#composer", "confirm");
    choose(&bench, "auto");
    browser.until_shown("#composer", "auto");
    browser.click("[data-page=settings]");
    browser.until("document.querySelector('[name=mode][value=auto]')?.checked");
    choose(&bench, "confirm");
    browser.until("document.querySelector('[name=mode][value=confirm]').checked");
    browser.click("[data-act=pairing]");
    browser.until_shown("#pairing", "Type");
    choose(&bench, "auto");
    browser.until("document.querySelector('[name=mode][value=auto]').checked");
    browser.until_shown("#pairing", "Type");
    let digits =
        browser.is("document.querySelector('#pairing').textContent.match(/[0-9]{3} [0-9]{3}/)[0]");
    bench.daemon().call("POST", "/api/pair", None, &json!({ "code": digits })).ok();
    browser.until("document.querySelectorAll('.grants li').length === 2");
    assert_eq!(browser.text("#pairing"), "", "it has let somebody in");
    choose(&bench, "confirm");
    browser.until("document.querySelector('[name=mode][value=confirm]').checked");
    // A change elsewhere does not overwrite what the user has begun to edit.
    browser
        .run("document.querySelector('[name=model]').value = 'half a name'; window.came = ''", &[]);
    choose(&bench, "auto");
    browser.until("window.came.includes('event: settings')");
    browser.run_async(
        "const done = arguments[arguments.length - 1];
         import('/assets/settings.js').then(it => it.again()).then(done);",
        &[],
    );
    let shown = "[document.querySelector('[name=model]').value,
        document.querySelector('[name=mode][value=confirm]').checked]";
    assert_eq!(browser.is(shown), json!(["half a name", true]));
    browser.expect("400 (Bad Request)");
    browser.click("form[data-act=choose] button.main");
    browser.until_shown("#toasts", "half a name");
}
