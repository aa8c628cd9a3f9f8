//! Long pages: the time from navigation to the first paint of their list and to the response to a
//! key press, and the browser's work while the page is scrolled.

use std::fs;

use rbx_dom_weak::{InstanceBuilder, WeakDom};
use serde_json::{Value as Json, json};
use vector_tests::binary;
use vector_tests::browser::{Browser, Stage, key};
use vector_tests::daemon::{Daemon, call};
use vector_tests::human::Human;
use vector_tests::past;
use vector_tests::places::{Format, encode};

use super::traced::{forget, traced, wanted};
use super::{enter, percentile};

const RUNS: usize = 5;
/// Scroll speed in pixels per second. The browser would not keep the whole trace of a slower
/// scroll.
const SPEED: u32 = 40_000;
const GOAL: f64 = 300.0;

/// Records when an element that matches `sessionStorage.ready` was painted, and how long key events
/// take.
const TOLD: &str = "
    window.painted = null;
    window.keys = [];
    const look = new MutationObserver(() => {
      if (!document.querySelector(sessionStorage.ready ?? 'none')) return;
      look.disconnect();
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => { window.painted = performance.now(); };
        port2.postMessage(0);
      });
    });
    look.observe(document, { childList: true, subtree: true });
    new PerformanceObserver(list => window.keys.push(...list.getEntries().map(it => [it.name, it.duration])))
      .observe({ type: 'event', durationThreshold: 16 });";

/// A page: its name, its location hash, the selector that shows that it is ready, the element that
/// scrolls, and the asset that a daemon serves only if it has this page.
struct Long {
    name: String,
    way: String,
    ready: String,
    scrolls: &'static str,
    file: &'static str,
}

pub(crate) fn run(stage: &Stage, entries: usize, lines: usize) {
    println!("\nlong pages, the middle one of {RUNS} (goal: used within {GOAL} ms)");
    let home = tempfile::tempdir().unwrap();
    let task = past::conversation(home.path(), entries);
    let place = home.path().join("place.rbxlx");
    fs::write(&place, scripted()).unwrap();
    let daemon = Daemon::of_place(binary::vector(), home.path(), &place);
    let human = Human::of(&daemon, home.path());
    let proposal = written(&daemon, &Daemon::agent_token(home.path()), lines);
    let pages = [
        Long {
            name: format!("a conversation of {entries} entries"),
            way: format!("#/now/{task}"),
            ready: "#log > *".to_owned(),
            scrolls: "#scroll",
            file: "now.js",
        },
        Long {
            name: format!("the history of {entries} entries"),
            way: "#/history".to_owned(),
            ready: ".history li".to_owned(),
            scrolls: "main",
            file: "history.js",
        },
        Long {
            name: format!("a proposal of {lines} lines"),
            way: format!("#/proposals/{proposal}"),
            ready: format!(".proposal[data-of=\"{proposal}\"]"),
            scrolls: "#one",
            file: "review.js",
        },
    ];
    let browser = stage.browser_with(&wanted());
    browser.prepare(TOLD);
    enter(&browser, &daemon, &human);
    for page in pages {
        let has = daemon.call("GET", &format!("/assets/{}", page.file), None, &Json::Null);
        if has.status == 200 {
            measured(&browser, &page);
        } else {
            println!("  {}: this daemon has no such page", page.name);
        }
    }
}

/// Opens a page several times, and then scrolls through it.
fn measured(browser: &Browser<'_>, page: &Long) {
    let (mut paints, mut keys) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let set = "location.hash = arguments[0]; sessionStorage.ready = arguments[1];";
        browser.run(set, &[page.way.clone().into(), page.ready.clone().into()]);
        forget(browser);
        browser.reload();
        paints.push(browser.until("window.painted").as_f64().unwrap());
        let pressed = browser.is("performance.now()");
        browser.press(&[], &[key::TAB]);
        // The browser reports no event that takes less than 16 ms.
        let answered = format!(
            "window.keys.filter(([name]) => name === 'keydown').map(([, took]) => took)[0]
             ?? (performance.now() - {pressed} > 500 ? 16 : null)"
        );
        keys.push(browser.until(&answered).as_f64().unwrap());
    }
    let loaded = traced(browser);
    let (paint, key) = (percentile(&mut paints, 0.5), percentile(&mut keys, 0.5));
    println!("  {}: painted after {paint:.0} ms, a key answered in {key:.0} ms more", page.name);
    println!("    opened: {loaded}");
    let (height, count) = ("scrollHeight", "querySelectorAll('*').length");
    let of = |what: &str| browser.is(&format!("document.querySelector('{}').{what}", page.scrolls));
    let far = of(height).as_f64().unwrap();
    println!("    {} elements, {far} pixels high", of(count));
    for direction in [1.0, -1.0] {
        // A page that opens at its top cannot be scrolled up.
        if direction > 0.0 && of("scrollTop") == 0 {
            continue;
        }
        // Scroll with the pointer over the page, by its whole height.
        let gesture = json!({ "x": 800, "y": 500, "yDistance": direction * far, "speed": SPEED,
            "gestureSourceType": "mouse", "preventFling": true });
        forget(browser);
        browser.cdp("Input.synthesizeScrollGesture", gesture);
        let name = if direction > 0.0 { "up" } else { "down" };
        println!("    scrolled {name} to {}: {}", of("scrollTop"), traced(browser));
    }
}

/// A place with one script.
fn scripted() -> Vec<u8> {
    let script =
        InstanceBuilder::new("Script").with_name("Main").with_property("Source", "print(1)\n");
    let game = InstanceBuilder::new("DataModel")
        .with_child(InstanceBuilder::new("ServerScriptService").with_child(script));
    encode(&WeakDom::new(game), Format::Rbxlx)
}

/// Has an agent propose a script of `lines` lines, and returns the proposal.
fn written(daemon: &Daemon, token: &str, lines: usize) -> u64 {
    let all: Vec<String> = (0..lines).map(|n| format!("print({n}, workspace.Name)")).collect();
    let source = all.join("\n");
    let asked = json!({
        "connection": "bench", "client": "bench", "id": "1", "tool": "write_script",
        "args": { "path": "game.ServerScriptService.Main", "source": source }, "hold": 60,
    });
    let answer = call(daemon.port, ("POST", "/api/agents/calls"), Some(token), &asked).ok();
    answer["outcome"]["proposal"].as_u64().unwrap_or_else(|| panic!("no proposal: {answer}"))
}
