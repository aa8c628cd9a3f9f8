//! Proposals that are replanned while the user views them: the page follows to the successor, and
//! what was left out stays left out.

use super::decided::{FIRST, LAST, SCRIPT, current, edits};
use super::*;

/// The keys of the ticked parts.
const TICKED: &str =
    "[...document.querySelectorAll('#one input[data-part]:checked')].map(it => it.dataset.part)";

/// Proposes an edit of a script, and others of the same script on top of it.
fn one_behind_the_other(bench: &mut Bench) -> [u64; 2] {
    let edit = json!({ "path": SCRIPT, "search": "Config.KillDamage", "replace": "100" });
    let first = bench.propose("replace_text", &edit);
    [first, bench.propose("replace_text", &edits())]
}

/// Waits until the page shows another proposal, ready for a decision, and returns it.
#[track_caller]
fn until_another(browser: &Browser<'_>, than: u64) -> u64 {
    browser.until(&format!(
        "document.querySelector('#one .proposal[data-seen]:not([data-of=\"{than}\"])')"
    ));
    current(browser)
}

#[test]
fn excluded_hunk_stays_excluded_after_replan() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let [first, script] = one_behind_the_other(&mut bench);
    let browser = stage.browser();
    bench.enter(&browser);
    browser.run(&format!("location.hash = '#/proposals/{script}'"), &[]);
    browser.until("document.querySelector('#one .proposal[data-seen]')");
    browser.press(&[], &['n', 'n', 'x']);
    browser.until_shown("#approve", "Approve 1 of 2");
    browser.reload();
    browser.until_shown("#approve", "Approve 1 of 2");
    browser.until("document.querySelector('#one .proposal[data-seen]')");
    browser.press(&[], &['n', 'n']);
    bench.human.decide(first, &json!({ "say": "reject" })).ok();
    let again = until_another(&browser, script);
    browser.until_shown("#approve", "Approve 1 of 2");
    browser.until_shown("#one .remarks", &format!("It is proposal {script}, replanned"));
    assert_eq!(browser.is(TICKED), json!(["h0.0"]));
    let at = "document.activeElement.closest('[data-stop]')?.dataset.key";
    assert_eq!(browser.is(at), "h0.1", "one goes on where one was");
    assert_eq!(browser.is("location.hash"), format!("#/proposals/{again}"));
    browser.run(&format!("location.hash = '#/proposals/{script}'"), &[]);
    browser.until_shown("#one .stands", &format!("See proposal {again}"));
    browser.click("#one .stands a");
    assert_eq!(until_another(&browser, script), again);
    browser.click("#approve");
    let chosen = bench.human.successor(again);
    bench.human.until_status(chosen, "applied");
    assert!(bench.text().contains(FIRST[1]) && bench.text().contains(LAST[0]));
}

#[test]
fn excluded_change_stays_excluded_when_its_base_changed() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let fade = json!({
        "paths": ["game.Workspace.Baseplate", "game.Workspace.SpawnLocation"], "props": { "Transparency": 0.5 },
    });
    let both = bench.propose("set_properties", &fade);
    let browser = stage.browser();
    bench.enter(&browser);
    browser.run(&format!("location.hash = '#/proposals/{both}'"), &[]);
    browser.until("document.querySelector('#one .proposal[data-seen]')");
    browser.press(&[], &['n', 'x']);
    browser.until_shown("#approve", "Approve 1 of 2");
    let text = bench.text();
    let (above, below) = text.split_at(text.find("<string name=\"Name\">Baseplate<").unwrap());
    let below = below.replacen(r#""Transparency">0<"#, r#""Transparency">0.25<"#, 1);
    assert!(!text.ends_with(&below));
    fs::write(&bench.file, [above, &below].concat()).unwrap();
    until_another(&browser, both);
    browser.until_shown("#approve", "Approve 1 of 2");
    assert_eq!(browser.is(TICKED), json!(["c1"]));
}

#[test]
fn chosen_hunk_alone_is_pending_after_replan() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let [first, script] = one_behind_the_other(&mut bench);
    let half = json!({ "say": "take", "parts": [{ "part": "hunk", "script": 0, "hunk": 1 }] });
    let chosen = bench.human.decide(script, &half).ok()["proposal"].as_u64().unwrap();
    let browser = stage.browser();
    bench.enter(&browser);
    browser.run(&format!("location.hash = '#/proposals/{chosen}'"), &[]);
    browser.until("document.querySelector('#one .proposal[data-seen]')");
    bench.human.decide(first, &json!({ "say": "reject" })).ok();
    let current = until_another(&browser, chosen);
    let why = format!("It is proposal {chosen}, replanned for the current state");
    browser.until_shown("#one .remarks", &why);
    browser.until_shown("#one .remarks", &format!("It was derived from proposal {script}"));
    browser.until_shown("#approve", "Approve");
    browser.until_shown("#proposal-title", "1 of 2 parts of: ");
    assert_eq!(browser.is(TICKED), json!([]), "one piece is all there is");
    browser.click("#approve");
    bench.human.until_status(current, "applied");
    assert!(bench.text().contains(FIRST[0]) && bench.text().contains(LAST[1]));
}
