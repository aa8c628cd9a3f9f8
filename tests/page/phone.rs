//! The page on a phone, and what closes by itself: errors at the next action, dialogs on
//! navigation.

use vector_tests::browser::key;

use super::decided::{AT_REST, create, until_current};
#[cfg(unix)]
use super::model::{choose, lead_to, says};
use super::*;
#[cfg(unix)]
use crate::models::server::{End, Server};

/// A phone in portrait orientation.
fn phone() -> Look {
    Look { width: 420, ..Look::default() }
}

#[test]
fn phone_shows_the_whole_card_first() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let browser = stage.browser();
    browser.look(&phone());
    bench.enter(&browser);
    // Before the first request.
    browser.until("document.querySelector('#side')?.open === true");
    ask(&browser, GRID);
    bench.human.card();
    browser.until("document.querySelector('#log [data-proposal] [data-say=approve]')");
    browser.run("document.activeElement.blur()", &[]);
    browser.until("document.querySelector('#side').open === false");
    let in_sight = "(() => {
        const card = document.querySelector('#log [data-proposal]').getBoundingClientRect();
        const scroll = document.querySelector('#scroll').getBoundingClientRect();
        return [scroll.height / innerHeight, card.top >= scroll.top - 1 && card.bottom <= scroll.bottom + 1];
    })()";
    let found = browser.is(in_sight);
    assert!(found[0].as_f64().unwrap() > 0.6, "the conversation has most of the screen: {found}");
    assert_eq!(found[1], true, "the whole card is in sight: {found}");
    // The plan is collapsed into one line that names the next step, and can be opened.
    let plan = "document.querySelector('.plan')";
    browser.until(plan);
    assert_eq!(browser.is(&format!("{plan}.open")), false);
    assert!(browser.is(&format!("{plan}.offsetHeight")).as_f64().unwrap() < 60.0);
    browser.click(".plan summary");
    browser.until(&format!("{plan}.open && {plan}.querySelectorAll('li').length === 10"));
    browser.click("#side summary");
    browser.until("document.querySelector('#rail [data-task]').checkVisibility()");
}

#[cfg(unix)]
#[test]
fn usage_tables_are_not_cut_off_on_a_phone() {
    let Some(stage) = Stage::set() else { return };
    let server = Server::start(vec![says("There is nothing to be done.", End::Whole)]);
    let mut bench = Bench::obby();
    lead_to(&server, &mut bench);
    choose(&bench, "lmstudio/first");
    let browser = stage.browser();
    browser.look(&phone());
    bench.enter(&browser);
    ask(&browser, "Is there anything to be done?");
    browser.until_shown("#log", "There is nothing to be done.");
    browser.click(".tabs [data-page=usage]");
    browser.until("document.querySelector('table.figures')");
    let cut = "[...document.querySelectorAll('.usage .wide')]
        .filter(it => it.scrollWidth > it.clientWidth + 1).map(it => it.getAttribute('aria-label'))";
    assert_eq!(browser.is(cut), json!([]));
}

#[test]
fn form_error_shows_inline_toast_closes_on_next_action() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let waiting = bench.propose("create_instance", &create("One"));
    let browser = stage.browser();
    browser.expect("status of 4");
    bench.enter(&browser);
    browser.click("#rail .more summary");
    browser.click("#open-path");
    browser.enter("/nowhere.rbxl");
    browser.press(&[], &[key::ENTER]);
    browser.until_shown("#rail form [role=alert]", "/nowhere.rbxl");
    assert_eq!(browser.is("document.querySelectorAll('#toasts > *').length"), 0);
    // A toast with an error disappears at the next action.
    let said = "(await import('/assets/ui.js')).toast('Wrong', 'bad')";
    browser.run_async(&format!("(async () => {{ {said}; arguments[0](); }})()"), &[]);
    browser.until_shown("#toasts", "Wrong");
    browser.click(".tabs [data-page=proposals]");
    until_current(&browser, waiting);
    assert_eq!(browser.is("document.querySelectorAll('#toasts > *').length"), 0);
}

#[test]
fn open_dialog_closes_on_navigation_without_deciding() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let waiting = bench.propose("create_instance", &create("One"));
    let browser = stage.browser();
    bench.enter(&browser);
    browser.click(".tabs [data-page=proposals]");
    until_current(&browser, waiting);
    browser.press(&[], &['r']);
    browser.until("document.querySelector('dialog[open]')");
    browser.run("history.back()", &[]);
    browser.until(AT_REST);
    assert_eq!(bench.status(waiting), "waiting");
}

#[test]
fn tasks_of_other_places_can_be_searched_and_hidden() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::new();
    let other = bench.home.path().join("other.rbxlx");
    fs::write(&other, places::sample(Format::Rbxlx)).unwrap();
    for request in ["set Transparency = 0.25 on #Baseplate", "set Transparency = 0.5 on #Baseplate"]
    {
        let run =
            bench.home.run(&["edit", other.to_str().unwrap(), "--prompt", request, "--yes"], "");
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    let browser = stage.browser();
    bench.enter(&browser);
    browser.until_shown("#elsewhere", "Elsewhere (2)");
    browser.click("#elsewhere summary");
    let shown = "[...document.querySelectorAll('#elsewhere li')].filter(it => !it.hidden).map(it => it.textContent)";
    let first = browser.is(shown);
    assert!(first[0].as_str().unwrap().contains("0.5"), "the newest is first: {first}");
    browser.click("#elsewhere-search");
    browser.enter("0.25");
    browser.until(&format!("({shown}).length === 1"));
    browser.press(&[key::CONTROL], &['a']);
    browser.enter(" ");
    browser.until(&format!("({shown}).length === 2"));
    browser.click("[data-act=hide-elsewhere]");
    browser.until(&format!("({shown}).length === 0"));
    browser.reload();
    until_here(&browser);
    browser.until("document.querySelector('#elsewhere').hidden");
}

#[test]
fn script_can_be_shown_whole_and_marked_as_viewed() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let edits = super::decided::edits();
    let waiting = bench.propose("replace_text", &edits);
    let browser = stage.browser();
    bench.enter(&browser);
    browser.click(".tabs [data-page=proposals]");
    until_current(&browser, waiting);
    let middle = "GetInstanceAddedSignal";
    assert!(
        !browser.text("#one .hunk").contains("local function watch"),
        "it is no part of the context"
    );
    browser.click("#one [data-act=whole-script]");
    browser.until_shown("#one .scripts .whole", middle);
    browser.until_shown("#one .scripts .whole", "local function watch");
    browser.click("#one [data-act=whole-script]");
    browser.until("document.querySelector('#one .scripts .whole').childElementCount === 0");
    browser.click("#one input[data-viewed]");
    let is_folded = "!document.querySelector('#one .hunk').checkVisibility()";
    browser.until(is_folded);
    browser.reload();
    until_current(&browser, waiting);
    browser.until(is_folded);
    browser.click("#one input[data-viewed]");
    browser.until("document.querySelector('#one .hunk').checkVisibility()");
}
