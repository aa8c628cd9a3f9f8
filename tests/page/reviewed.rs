//! A review by a model on the page: asked for with a press, shown beside the lines that it is about, and
//! taken over as a comment.

use super::decided::{SCRIPT, until_current};
use super::model::{calls, choose, lead_to};
use super::*;
use crate::models::server::Server;

const PROBLEM: &str = "Everybody dies <b>twice</b>.";
const DRAFTS: &str = "[...document.querySelectorAll('#one .draft')].map(it => \
    [it.querySelector('label').textContent, it.querySelector('textarea').value])";

/// The line of a script of the place on which a text is.
fn line_of(bench: &Bench, text: &str) -> usize {
    let place = places::decode(&fs::read(&bench.file).unwrap());
    let script = place.descendants().find(|it| it.name == "KillBricks").unwrap();
    let Some(rbx_types::Variant::String(source)) = script.properties.get(&"Source".into()) else {
        panic!("it is a script")
    };
    source.lines().position(|it| it.contains(text)).unwrap() + 1
}

/// A place with a pending edit of a script, and a model that reports these findings and no others.
fn bench_with_edit(findings: &[(&str, Option<usize>)]) -> (Server, Bench, u64) {
    let mut bench = Bench::obby();
    let findings: Vec<Json> = findings
        .iter()
        .map(|(text, line)| match line {
            Some(line) => json!({ "severity": "high", "text": text, "path": SCRIPT, "line": line }),
            None => json!({ "severity": "low", "text": text }),
        })
        .collect();
    let first = json!({ "summary": "Read the script.", "findings": findings });
    let second = json!({ "summary": "Read it again.", "findings": [] });
    let server = Server::start(vec![calls("report_review", first), calls("report_review", second)]);
    lead_to(&server, &mut bench);
    choose(&bench, "lmstudio/first");
    let edit = json!({ "path": SCRIPT, "search": "Config.KillDamage)", "replace": "Config.KillDamage / 2)" });
    let proposal = bench.propose("replace_text", &edit);
    (server, bench, proposal)
}

fn open(bench: &Bench, browser: &Browser<'_>, proposal: u64) {
    bench.enter(browser);
    browser.run(&format!("location.hash = '#/proposals/{proposal}'"), &[]);
    until_current(browser, proposal);
}

#[test]
fn finding_is_shown_beside_its_line_and_becomes_a_comment() {
    let Some(stage) = Stage::set() else { return };
    let line = line_of(&Bench::obby(), "Config.KillDamage)");
    let (server, mut bench, proposal) =
        bench_with_edit(&[("No name says it.", None), (PROBLEM, Some(line))]);
    server.hold_back(0, true);
    let browser = stage.browser();
    open(&bench, &browser, proposal);
    browser.until_shown("#one [data-quote]", "lmstudio/first: about ");
    browser.click("#one [data-act=review]");
    browser.until_shown("#one .model-review", "lmstudio/first is reviewing it");
    browser.until("!document.querySelector('#one [data-act=review]')");
    server.wait_at_gate(1);
    server.open();
    browser.until_shown("#one .model-review", "Reviewed by lmstudio/first: 2 findings");
    browser.until_shown("#one .model-review", "Read the script.");
    let severities = browser
        .is("[...document.querySelectorAll('#one .finding')].map(it => it.dataset.severity)");
    assert_eq!(severities, json!(["high", "low"]));
    browser.until_shown("#one .hunk .beside", PROBLEM);
    let above =
        browser.is("document.querySelector('#one .hunk .beside').previousElementSibling.dataset.n");
    assert!(above.as_str().unwrap().trim().ends_with(&line.to_string()), "{above}");
    // It is taken over as a comment, once, and can be changed before it is sent.
    for _ in 0..2 {
        let adopt = "#one .beside [data-act=adopt-finding]";
        let into_view = "document.querySelector(arguments[0]).scrollIntoView({ block: 'center' })";
        browser.run(into_view, &[adopt.into()]);
        browser.click(adopt);
    }
    assert_eq!(browser.is(DRAFTS), json!([[format!("Line {line}"), PROBLEM]]));
    browser.until_shown("#one [data-act=request-changes]", "Send 1 comment");
    browser.reload();
    browser.until_shown("#one .hunk .beside", PROBLEM);
    assert_eq!(browser.is(DRAFTS), json!([[format!("Line {line}"), PROBLEM]]));
    browser.until("document.querySelector('#one .proposal[data-seen]')");
    browser.click("#one [data-act=request-changes]");
    bench.human.until_status(proposal, "rejected");
    let comment = bench.human.shown(proposal)["comments"][0]["comment"].clone();
    assert_eq!((&comment["text"], &comment["on"]["line"]), (&json!(PROBLEM), &json!(line)));
}

#[test]
fn approval_waits_for_the_review_that_is_required() {
    let Some(stage) = Stage::set() else { return };
    let mut bench = Bench::obby();
    let report = json!({ "summary": "Read the script.", "findings": [] });
    let server = Server::start(vec![calls("report_review", report)]);
    lead_to(&server, &mut bench);
    let file = ledger(&bench.home).join("vector.toml");
    let settings = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{settings}[review]\nrequired = true\n")).unwrap();
    choose(&bench, "lmstudio/first");
    server.hold_back(0, true);
    let edit = json!({ "path": SCRIPT, "search": "Config.KillDamage)", "replace": "Config.KillDamage / 2)" });
    let proposal = bench.propose("replace_text", &edit);
    server.wait_at_gate(1);
    let browser = stage.browser();
    open(&bench, &browser, proposal);
    browser.until_shown("#one .unreviewed", "lmstudio/first is reviewing it");
    browser.until_shown("#list", "needs a review");
    browser.until("document.querySelector('#one .proposal[data-seen]')");
    let approve = "document.querySelector('#one .decision [data-act=approve]')";
    assert_eq!(browser.is(&format!("{approve}.disabled")), true);
    let rules = "document.querySelectorAll('#one .offers button:not(:disabled)').length";
    assert_eq!(browser.is(rules), 0);
    server.open();
    browser.until_shown("#one .model-review", "Reviewed by lmstudio/first: no findings");
    browser.until(&format!("!{approve}.disabled && !document.querySelector('#one .unreviewed')"));
    browser.until("document.querySelector('#one .proposal[data-seen]')");
    browser.click("#one .decision > .buttons > [data-act=approve]");
    bench.human.until_status(proposal, "applied");
}

#[test]
fn review_without_findings_can_be_repeated_and_is_on_the_card() {
    let Some(stage) = Stage::set() else { return };
    let (_server, bench, proposal) = bench_with_edit(&[]);
    let browser = stage.browser();
    open(&bench, &browser, proposal);
    browser.click("#one [data-act=review]");
    browser.until_shown("#one .model-review", "Reviewed by lmstudio/first: no findings");
    browser.until_shown("#one [data-act=review]", "Review it again");
    browser.click("#one [data-act=review]");
    browser.until_shown("#one .model-review:last-of-type", "Read it again.");
    let task = bench.human.shown(proposal)["workflow"].clone();
    browser.run("location.hash = arguments[0]", &[format!("#/now/{task}").into()]);
    browser.until_shown("#log .card .review-note", "Reviewed by lmstudio/first: no findings");
    browser.until_shown("#log", "The review is done: no findings.");
    // The offline planner cannot.
    choose(&bench, "offline");
    open(&bench, &browser, proposal);
    browser.expect("409 (Conflict)");
    browser.click("#one [data-act=review]");
    browser.until_shown("#toasts", "The offline planner reviews nothing");
}
