//! Each page and state of it, in both schemes, wide and narrow: axe finds no serious fault in it, and what
//! it shows is as it was looked at.
//!
//! What is compared is what is shown, and how, and not the pixels: those are made of the fonts of a machine.
//! `UPDATE=1` writes that anew, and the pictures too, for somebody to look at.
//!
//! A page or a state more is a row of `STATES`: a name, and how one gets there from the row before.

use std::collections::BTreeMap;

use scene_schemas::Fingerprint;
use vector_tests::browser::axe;
use vector_tests::{printed, vectors};

use super::model::{calls, choose, lead_to, says};
use super::*;
use crate::models::server::{End, Reply, Server};

const FOLDER: &str = "tests/page/pictures";
/// What the states show: by name, a hash of it, and its texts in order for whoever wonders what is new.
const SHOWN: &str = "tests/page/pictures/shown.json";

/// Counts what the page asks for, but for its stream.
const COUNTED: &str = "
    window.asking = 0;
    window.since = performance.now();
    const before = window.fetch;
    window.fetch = async (path, ...more) => {
      if (String(path).startsWith('/page/stream')) return before(path, ...more);
      window.asking += 1;
      try { return await before(path, ...more); }
      finally { window.asking -= 1; window.since = performance.now(); }
    };";

/// The page has asked for all that it shows. It asks again a little after something has happened.
const RESTS: &str = "window.asking === 0 && performance.now() - window.since > 400";

/// Shows the end of a conversation, and lets nothing move: times, what turns, and the mark where one types.
const STILL: &str = "
    const end = () => document.querySelector('#scroll')?.scrollTo(0, 1e9);
    const done = arguments[0];
    for (const time of document.querySelectorAll('time')) time.textContent = '14:05';
    for (const it of document.getAnimations()) { it.pause(); it.currentTime = 0; }
    const sheet = new CSSStyleSheet();
    sheet.replaceSync('* { caret-color: transparent !important; }');
    document.adoptedStyleSheets = [sheet];
    // What comes in sight is measured then.
    end();
    requestAnimationFrame(() => { end(); requestAnimationFrame(() => requestAnimationFrame(() => done())); });";

const LOOKS: [(&str, Look); 4] = [
    ("light-1280", Look { dark: false, width: 1280, height: 860 }),
    ("dark-1280", Look { dark: true, width: 1280, height: 860 }),
    ("light-420", Look { dark: false, width: 420, height: 860 }),
    ("dark-420", Look { dark: true, width: 420, height: 860 }),
];

/// How one gets to a state.
type Reach = fn(&mut Tour<'_>);

/// The states, in the order in which one comes through them.
const STATES: &[(&str, Reach)] = &[
    ("door", |tour| tour.browser.go(&tour.bench.address())),
    ("door-refused", |tour| {
        tour.browser.until("document.activeElement.id === 'code'");
        tour.browser.enter("123 456");
        tour.browser.click(".door button");
        tour.browser.until_shown(".door [role=alert]", "That is not the code.");
    }),
    ("now-nothing-open", |tour| {
        tour.bench.enter(&tour.browser);
        tour.browser.until_shown("#rail", "No place is open");
    }),
    ("now-nothing-asked", |tour| {
        tour.browser.click("#open-path");
        tour.browser.enter(&tour.bench.file.display().to_string());
        tour.browser.click("#rail button");
        tour.browser.until_shown("#rail", "place.rbxlx");
        tour.browser.click(".toast button");
    }),
    ("now-waits", |tour| {
        ask(&tour.browser, GRID);
        tour.browser.until("document.querySelector('#log [data-proposal]')");
        tour.browser.until_shown("#waiting", "1");
        tour.browser.until_shown("#waits", "Waiting for your decision");
    }),
    ("now-ended", |tour| {
        tour.browser.click("#head button[data-verb=cancel]");
        tour.browser.until_shown("#log .end", "Ended");
    }),
    ("now-done", |tour| {
        ask(&tour.browser, FADE);
        tour.browser.until_shown("#head h1", FADE);
        let card =
            tour.browser.until("document.querySelector('#log [data-proposal]')?.dataset.proposal");
        tour.bench.human.approve(card.as_str().unwrap().parse().unwrap()).ok();
        tour.browser.until_shown("#log .end", "Done");
    }),
    ("now-streams", |tour| {
        choose(&tour.bench, "lmstudio/first");
        tour.browser.reload();
        until_here(&tour.browser);
        ask(&tour.browser, "What stands in this place, and what would you do first?");
        tour.server.wait_at_gate(1);
        tour.browser.until_shown("#log .coming", "two rocks");
    }),
    ("now-asks-back", |tour| {
        tour.server.open();
        tour.browser.until_shown("#log .end", "Done");
        ask(&tour.browser, "Paint a rock, then.");
        tour.browser.until_shown("#log .answers", "The first");
    }),
    ("now-stopped", |tour| {
        tour.browser.expect("status of 4");
        tour.browser.click("#log .answers button");
        tour.browser.until_shown("#log .trouble", "Insufficient credit");
        tour.browser.until_shown("#head .state", "stopped");
    }),
    ("now-away", |tour| {
        tour.browser.expect("net::ERR_");
        tour.bench.kill();
        tour.browser.until_shown("#link", "Disconnected");
    }),
];

/// What the model says on the way.
fn replies() -> Vec<Reply> {
    let first = "It is a baseplate with a tower of unions, a lamp, and two rocks.\n\n\
        I would look at the scripts first: `Main` is there twice, and each of them starts when the game \
        does, so that one of the two is probably left from an earlier attempt.";
    let back = json!({ "question": "Which of the two rocks do you mean?", "options": ["The first", "The second", "Both"] });
    vec![
        says(first, End::Whole),
        calls("ask_clarification", back),
        Reply::plain(402, r#"{"error":{"message":"Insufficient credit."}}"#),
    ]
}

/// A walk through the page.
struct Tour<'s> {
    server: Server,
    bench: Bench,
    browser: Browser<'s>,
    axe: Option<String>,
    shown: BTreeMap<String, Json>,
    faults: Vec<String>,
}

impl<'s> Tour<'s> {
    fn begin(stage: &'s Stage) -> Self {
        let server = Server::start(replies());
        server.hold_back(0, true);
        let mut bench = Bench::new();
        lead_to(&server, &mut bench);
        bench.kill();
        // Without its place, which a person opens on the way.
        bench.daemon = Some(Daemon::start(binary::vector(), &ledger(&bench.home)));
        bench.human = Human::of(bench.daemon(), &ledger(&bench.home));
        let browser = stage.browser();
        browser.expect("401 (Unauthorized)");
        browser.prepare(COUNTED);
        Self { server, bench, browser, axe: axe(), shown: BTreeMap::new(), faults: Vec::new() }
    }

    /// Looks at a state in every way.
    fn look(&mut self, state: &str) {
        self.browser.until(RESTS);
        for (name, look) in LOOKS {
            let name = format!("{state}-{name}");
            self.browser.look(&look);
            self.browser.run_async(STILL, &[]);
            let shown = self.browser.run(include_str!("shown.js"), &[]);
            // Where the place lies is another folder each time.
            let folder = self.bench.home.path().display().to_string();
            let shown = shown.to_string().replace(&folder, "~");
            let shown: Json = serde_json::from_str(&shown).unwrap();
            if printed::updating() {
                let folder = repository::root().join(FOLDER);
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join(format!("{name}.png")), self.browser.picture()).unwrap();
            }
            let hash = Fingerprint::of(shown["all"].to_string().as_bytes()).to_string();
            self.shown.insert(name.clone(), json!({ "hash": hash, "texts": shown["texts"] }));
            if let Some(axe) = &self.axe {
                self.faults.extend(
                    faults(&self.browser, axe).into_iter().map(|it| format!("{name}: {it}")),
                );
            }
        }
        self.browser.look(&Look::default());
    }
}

/// What axe finds in a page, as far as it is serious.
fn faults(browser: &Browser<'_>, axe: &str) -> Vec<String> {
    browser.run(&format!("if (!window.axe) {{ {axe} }}"), &[]);
    let found = browser.run_async(
        "const done = arguments[0];
         axe.run(document, { resultTypes: ['violations'] }).then(
           found => done(found.violations
             .filter(it => ['serious', 'critical'].includes(it.impact))
             .flatMap(it => it.nodes.map(node => `${it.id} (${it.impact}): ${it.help}: ${node.html}`))),
           error => done([String(error)]));",
        &[],
    );
    serde_json::from_value(found).expect("they are texts")
}

#[test]
fn every_state_of_every_page_is_fit_for_all_and_as_it_was_looked_at() {
    let Some(stage) = Stage::set() else { return };
    let mut tour = Tour::begin(&stage);
    for (name, reach) in STATES {
        reach(&mut tour);
        tour.look(name);
    }
    assert!(tour.faults.is_empty(), "{:#?}", tour.faults);
    printed::check(SHOWN, &vectors::pretty(&json!(tour.shown)));
}

#[test]
fn axe_finds_what_is_wrong() {
    let (Some(stage), Some(axe)) = (Stage::set(), axe()) else { return };
    let browser = stage.browser();
    browser.go("data:text/html,<html lang=en><title>t</title><button></button><p style='color:%23ccc'>pale");
    let found = faults(&browser, &axe).join("\n");
    assert!(
        found.contains("button-name (critical)") && found.contains("color-contrast (serious)"),
        "{found}"
    );
}
