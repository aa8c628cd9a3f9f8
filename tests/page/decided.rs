//! Review of pending proposals: by keyboard alone, several at once, and while others arrive.

use vector_tests::browser::key;

use super::*;

/// A script with room for two hunks.
pub(super) const SCRIPT: &str = "game.ServerScriptService.KillBricks";
/// A text near its start, and the replacement.
pub(super) const FIRST: [&str; 2] = ["Whoever touches a part", "Who touches any part"];
/// A text near its end, and the replacement.
pub(super) const LAST: [&str; 2] = [".KillTag):Connect(watch)", ".KillTag):Once(watch)"];

/// Two edits of the script, far apart.
pub(super) fn edits() -> Json {
    let edit = |[search, replace]: [&str; 2]| json!({ "search": search, "replace": replace });
    json!({ "path": SCRIPT, "edits": [edit(FIRST), edit(LAST)] })
}

/// The arguments that create a part of this name.
pub(super) fn create(name: &str) -> Json {
    json!({ "className": "Part", "parentPath": "game.Workspace", "props": { "Name": name } })
}

impl Bench {
    /// The text of the place file.
    pub(super) fn text(&self) -> String {
        fs::read_to_string(&self.file).unwrap()
    }

    pub(super) fn status(&self, proposal: u64) -> String {
        self.human.shown(proposal)["status"].as_str().unwrap().to_owned()
    }
}

/// The proposal that is shown in full.
pub(super) fn current(browser: &Browser<'_>) -> u64 {
    let of = browser.until("document.querySelector('#one .proposal[data-seen]')?.dataset.of");
    of.as_str().unwrap().parse().unwrap()
}

/// Waits until this proposal is shown in full.
#[track_caller]
pub(super) fn until_current(browser: &Browser<'_>, proposal: u64) {
    browser.until(&format!(
        "document.querySelector('#one .proposal[data-seen]')?.dataset.of === '{proposal}'"
    ));
}

/// Waits until `count` proposals are listed.
#[track_caller]
fn until_listed(browser: &Browser<'_>, count: usize) {
    browser.until(&format!("document.querySelectorAll('#list a[data-seq]').length === {count}"));
}

/// Whether no dialog is open and no action is running.
pub(super) const AT_REST: &str = "!document.querySelector('dialog[open], [aria-busy=true]')";

/// The key of the focused part of a proposal.
const AT: &str = "document.activeElement.closest('[data-stop]')?.dataset.key ?? ''";

/// The keys of the ticked parts.
const TICKED: &str =
    "[...document.querySelectorAll('#one input[data-part]:checked')].map(it => it.dataset.part)";

/// Opens the proposals by keyboard.
fn go_to_proposals(browser: &Browser<'_>) {
    while browser.is("document.activeElement.dataset.page ?? ''") != "proposals" {
        browser.press(&[], &[key::TAB]);
    }
    browser.press(&[], &[key::ENTER]);
}

#[test]
fn keys_alone_navigate_and_decide_pending_proposals() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let script = bench.propose("replace_text", &edits());
    let [first, second] = ["One", "Two"].map(|it| bench.propose("create_instance", &create(it)));
    let browser = stage.browser();
    bench.enter(&browser);
    go_to_proposals(&browser);
    until_current(&browser, script);
    for (key, next) in [('j', first), ('j', second), ('j', second), ('k', first), ('k', script)] {
        browser.press(&[], &[key]);
        until_current(&browser, next);
    }
    for (key, part) in [('n', "h0.0"), ('n', "h0.1"), ('n', "h0.1"), ('p', "h0.0")] {
        browser.press(&[], &[key]);
        assert_eq!(browser.is(AT), part);
    }
    browser.press(&[], &['x']);
    assert_eq!(browser.is(TICKED), json!(["h0.1"]));
    browser.press(&[], &[' ']);
    assert_eq!(browser.is(TICKED), json!(["h0.0", "h0.1"]));
    browser.press(&[], &['u']);
    browser.until("document.querySelector('#one .lines.p')");
    assert_eq!(browser.is(AT), "h0.0", "one goes on where one was");
    browser.press(&[], &['u', 'n', 'x']);
    browser.until("document.querySelector('#one .lines.u')");
    browser.until_shown("#approve", "Approve 1 of 2");
    browser.press(&[], &['?']);
    browser.until_shown("#dialog[open] h2", "Keys");
    browser.press(&[], &['j', key::ESCAPE]);
    browser.until("!document.querySelector('dialog[open]')");
    assert_eq!(current(&browser), script);
    browser.press(&[], &['s']);
    until_current(&browser, first);
    browser.press(&[], &['k']);
    until_current(&browser, script);
    assert_eq!(browser.is(TICKED), json!(["h0.0"]), "what was left out is still left out");
    browser.press(&[], &['a']);
    let chosen = bench.human.successor(script);
    bench.human.until_status(chosen, "applied");
    assert!(bench.text().contains(FIRST[1]) && bench.text().contains(LAST[0]));
    until_listed(&browser, 2);
    browser.until_shown("#one h1", "Create Part One");
}

#[test]
fn reject_reason_is_recorded_and_triggers_no_shortcuts() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let first = bench.propose("create_instance", &create("One"));
    bench.propose("create_instance", &create("Two"));
    let browser = stage.browser();
    bench.enter(&browser);
    go_to_proposals(&browser);
    until_current(&browser, first);
    browser.press(&[], &['r']);
    browser.until("document.activeElement.localName === 'textarea'");
    browser.press(&[], &['j', 'a', 'x', ' ', 'r', 'u', '?']);
    assert_eq!(browser.is("document.activeElement.value"), "jax ru?");
    assert_eq!((current(&browser), bench.status(first).as_str()), (first, "waiting"));
    browser.press(&[], &[key::ESCAPE]);
    browser.until(AT_REST);
    assert_eq!(bench.status(first), "waiting", "one may think better of it");
    browser.press(&[], &['r']);
    browser.until("document.activeElement.localName === 'textarea'");
    browser.enter("not here");
    browser.press(&[key::CONTROL], &[key::ENTER]);
    browser.until_shown("#one h1", "Create Part Two");
    assert_eq!(bench.status(first), "rejected");
    assert_eq!(bench.human.shown(first)["reason"], "not here");
    assert_eq!(bench.status(current(&browser)), "waiting", "nobody has said anything of it");
}

/// A script that loads code, which needs a warning.
const LOADS: &str = "print(1)\nif nil then\n\tloadstring(\"print(2)\")()\nend\n";

#[test]
fn additive_proposals_are_approved_together_risky_ones_confirmed() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let plain = ["One", "Two"].map(|it| bench.propose("create_instance", &create(it)));
    let loads = bench.propose("write_script", &json!({ "path": SCRIPT, "source": LOADS }));
    let gone = bench.propose("delete_instance", &json!({ "path": "game.Workspace.Course" }));
    let browser = stage.browser();
    bench.enter(&browser);
    browser.click(".tabs [data-page=proposals]");
    browser.click("[data-act=approve-additive]");
    browser.until_shown("#dialog[open] h2", "Approve 2 proposals?");
    browser.click("#dialog button[value='']");
    browser.until(AT_REST);
    assert_eq!(plain.map(|it| bench.status(it)), ["waiting", "waiting"]);
    browser.click("[data-act=approve-additive]");
    browser.click("#dialog button.main");
    for proposal in plain {
        bench.human.until_status(proposal, "applied");
    }
    until_listed(&browser, 2);
    until_current(&browser, loads);
    assert_eq!([gone, loads].map(|it| bench.status(it)), ["waiting", "waiting"]);
    browser.click("#one [data-act=approve]");
    browser.until_shown("#dialog[open] p", "loadstring");
    browser.click("#dialog button[value='']");
    browser.until(AT_REST);
    assert_eq!((current(&browser), bench.status(loads).as_str()), (loads, "waiting"));
    browser.click("#one [data-act=approve]");
    browser.until("document.querySelector('#dialog button.danger').disabled === false");
    browser.click("#dialog button.danger");
    bench.human.until_status(loads, "applied");
    until_current(&browser, gone);
    assert!(bench.text().contains("loadstring"));
}

#[test]
fn small_steps_of_a_task_are_one_card_and_can_be_unticked() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let step = |bench: &mut Bench, name: &str| bench.propose("create_instance", &create(name));
    let first = step(&mut bench, "One");
    let loads = bench.propose("write_script", &json!({ "path": SCRIPT, "source": LOADS }));
    let second = step(&mut bench, "Two");
    let gone = bench.propose("delete_instance", &json!({ "path": "game.Workspace.Course" }));
    let third = step(&mut bench, "Three");
    let browser = stage.browser();
    bench.enter(&browser);
    browser.click(".tabs [data-page=proposals]");
    browser.until_shown("#list [data-act=approve-steps]", "Approve 3 steps");
    let grouped =
        "[...document.querySelectorAll('#list [data-step]')].map(it => Number(it.dataset.step))";
    // What is dangerous or deletes is never inside the group.
    assert_eq!(browser.is(grouped), json!([first, second, third]));
    browser.click(&format!("#list [data-step='{second}']"));
    browser.until_shown("#list [data-act=approve-steps]", "Approve 2 steps");
    // The choice outlives a new list.
    let fourth = step(&mut bench, "Four");
    browser.until_shown("#list [data-act=approve-steps]", "Approve 3 steps");
    assert_eq!(
        browser.is(&format!("document.querySelector('#list [data-step=\"{second}\"]').checked")),
        false
    );
    // One of which a part was left out, or that was commented on, is decided by itself.
    browser.click(&format!("#list a[data-seq='{fourth}']"));
    browser.until_shown("#one h1", "Create Part Four");
    browser.press(&[], &['c']);
    browser.until("document.activeElement.localName === 'textarea'");
    browser.enter("Why a fourth?");
    browser.press(&[], &[key::ESCAPE]);
    browser.click(&format!("#list a[data-seq='{first}']"));
    browser.until_shown("#list [data-act=approve-steps]", "Approve 2 steps");
    browser.click("#list [data-act=approve-steps]");
    for proposal in [first, third] {
        bench.human.until_status(proposal, "applied");
    }
    until_listed(&browser, 4);
    let left = [second, loads, gone, fourth].map(|it| bench.status(it));
    assert_eq!(left, ["waiting"; 4]);
    // There is no group of one.
    bench.human.decide(fourth, &json!({ "say": "reject" })).ok();
    browser.until("!document.querySelector('#list [data-step]')");
}

#[test]
fn step_on_top_of_an_unticked_one_is_unticked_too() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let folder = json!({ "className": "Folder", "parentPath": "game.Workspace", "props": { "Name": "Park" } });
    let park = bench.propose("create_instance", &folder);
    let inside = json!({ "className": "Folder", "parentPath": "game.Workspace.Park", "props": { "Name": "Pond" } });
    let pond = bench.propose("create_instance", &inside);
    let other = bench.propose("create_instance", &create("Other"));
    let browser = stage.browser();
    bench.enter(&browser);
    browser.click(".tabs [data-page=proposals]");
    browser.until_shown("#list [data-act=approve-steps]", "Approve 3 steps");
    browser.click(&format!("#list [data-step='{park}']"));
    browser.until_shown("#list [data-act=approve-steps]", "Approve 1 step");
    browser.until(&format!("document.querySelector('#list [data-step=\"{pond}\"]').disabled"));
    browser.reload();
    browser.until_shown("#list [data-act=approve-steps]", "Approve 1 step");
    browser.click("#list [data-act=approve-steps]");
    bench.human.until_status(other, "applied");
    assert_eq!([park, pond].map(|it| bench.status(it)), ["waiting", "waiting"]);
}

/// The focused button of the open warning.
const FOCUSED: &str = "document.querySelector('#dialog[open]')?.contains(document.activeElement)
    ? document.activeElement.textContent : ''";

#[test]
fn press_that_opens_a_warning_does_not_confirm_it() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let loads = bench.propose("write_script", &json!({ "path": SCRIPT, "source": LOADS }));
    let browser = stage.browser();
    bench.enter(&browser);
    let is_left = |how: &str| {
        browser.until(AT_REST);
        assert_eq!(bench.status(loads), "waiting", "{how}");
    };
    let held = |times: usize| {
        for _ in 0..times {
            browser.repeat_enter();
        }
    };
    // The card in the conversation, and the proposal with all its details.
    browser.click("#rail [data-task]");
    let card = "#log [data-say=approve]";
    browser.until(&format!("document.querySelector('{card}')"));
    for (button, key) in [(card, key::ENTER), ("#one [data-act=approve]", 'a')] {
        if button != card {
            browser.click(".tabs [data-page=proposals]");
            until_current(&browser, loads);
        }
        let focus = format!("document.querySelector('{button}').focus()");
        browser.run(&focus, &[]);
        browser.press(&[], &[key]);
        browser.until(&format!("({FOCUSED}) === 'Cancel'"));
        browser.press(&[], &[key::ENTER]);
        is_left("Enter");
        browser.run(&focus, &[]);
        browser.press(&[], &[key::ENTER]);
        browser.until("document.querySelector('#dialog[open]')");
        held(5);
        assert_eq!(
            browser.is(FOCUSED),
            "Cancel",
            "a key that is held neither answers nor opens it again"
        );
        browser.press(&[], &[key::ESCAPE]);
        is_left("Enter that is held");
        // The second press of a double click lands on the button of the dialog.
        browser.run(
            "const press = (selector, detail) => document.querySelector(selector)
               .dispatchEvent(new MouseEvent('click', { detail, bubbles: true, cancelable: true }));
             press(arguments[0], 1);
             press('#dialog button.danger', 2);
             press('#dialog button.danger', 1);",
            &[button.into()],
        );
        browser.until("document.querySelector('#dialog[open]')");
        browser.press(&[], &[key::ESCAPE]);
        is_left("a double click");
    }
}

#[test]
fn refused_bulk_approve_reports_how_many_were_approved() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let all = ["One", "Two", "Three"].map(|it| bench.propose("create_instance", &create(it)));
    let browser = stage.browser();
    browser.expect("status of 409");
    bench.enter(&browser);
    browser.click(".tabs [data-page=proposals]");
    until_current(&browser, all[0]);
    browser.click("[data-act=approve-additive]");
    browser.until_shown("#dialog[open] h2", "Approve 3 proposals?");
    // Another client is quicker.
    bench.human.decide(all[1], &json!({ "say": "reject" })).ok();
    until_listed(&browser, 2);
    browser.click("#dialog button.main");
    bench.human.until_status(all[0], "applied");
    browser.until_shown("#toasts", "Approved 1 of 3");
    browser.until_shown("#toasts", &format!("Proposal {} ", all[1]));
    // The one that was planned on top of the second is replanned.
    browser.until_shown("#list h1", "1 proposal");
    browser.until_shown("#one h1", "Create Part Three");
    assert_eq!(bench.status(current(&browser)), "waiting");
    assert!(!browser.text("#toasts").contains("Approved: 3"));
}

#[test]
fn dialog_names_the_proposal_it_decides() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let loads = bench.propose("write_script", &json!({ "path": SCRIPT, "source": LOADS }));
    let title = bench.human.shown(loads)["proposal"]["title"].as_str().unwrap().to_owned();
    let browser = stage.browser();
    bench.enter(&browser);
    let asks = |button: &str| {
        browser.click(button);
        browser.until_shown("#dialog[open]", &title);
        browser.click("#dialog button[value='']");
        browser.until(AT_REST);
    };
    browser.click("#rail [data-task]");
    for button in ["[data-say=approve]", "[data-say=reject]"] {
        asks(&format!("#log {button}"));
    }
    browser.click(".tabs [data-page=proposals]");
    until_current(&browser, loads);
    for button in ["approve", "reject"] {
        asks(&format!("#one [data-act={button}]"));
    }
    assert_eq!(bench.status(loads), "waiting");
}

#[test]
fn new_and_removed_proposals_do_not_move_the_view() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let long = (0..400).map(|n| format!("print({n})")).collect::<Vec<_>>().join("\n");
    let shown = bench.propose("write_script", &json!({ "path": SCRIPT, "source": long }));
    let browser = stage.browser();
    bench.enter(&browser);
    browser.click(".tabs [data-page=proposals]");
    until_current(&browser, shown);
    browser.press(&[], &['n']);
    // Elements that come into view are scrolled to again in the next frame.
    browser.run_async("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))", &[]);
    browser.run("document.querySelector('#one').scrollTo(0, 1500)", &[]);
    browser.until("document.querySelector('#one').scrollTop === 1500");
    let fits = bench.propose("create_instance", &create("One"));
    until_listed(&browser, 2);
    browser.until(&format!("document.querySelector('#list a[data-seq=\"{fits}\"]')"));
    assert_eq!((current(&browser), browser.is(AT)), (shown, json!("h0.0")));
    assert_eq!(browser.is("document.querySelector('#one').scrollTop"), 1500);
    // Removing a proposal elsewhere does not scroll the page either.
    bench.human.decide(fits, &json!({ "say": "reject" })).ok();
    until_listed(&browser, 1);
    assert_eq!((current(&browser), browser.is(AT)), (shown, json!("h0.0")));
    assert_eq!(browser.is("document.querySelector('#one').scrollTop"), 1500);
}

#[test]
fn approving_a_step_shows_the_next_of_its_task() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let file = bench.home.path().join("place.rbxlx");
    fs::write(&file, places::sample(Format::Rbxlx)).unwrap();
    let elsewhere = bench.human.open(&file).ok();
    bench.human.ask(&elsewhere, FADE);
    let other = bench.human.card();
    let here = bench.human.open(&bench.file).ok();
    bench.human.ask(&here, GRID);
    let step = bench.human.card();
    let browser = stage.browser();
    bench.enter(&browser);
    browser.run(&format!("location.hash = '#/proposals/{step}'"), &[]);
    until_current(&browser, step);
    let task = "document.querySelector('#one .proposal').dataset.task";
    let grid = browser.is(task);
    browser.press(&[], &['a']);
    browser.until(&format!("!['{step}'].includes(document.querySelector('#one .proposal[data-seen]')?.dataset.of ?? '{step}')"));
    assert_eq!(browser.is(task), grid);
    assert_eq!(bench.status(other), "waiting");
}
