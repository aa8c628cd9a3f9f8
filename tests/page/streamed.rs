//! Streamed model text: no line is lost or repeated, whatever arrives late.

use super::model::{choose, lead_to, says};
use super::*;
use crate::models::server::{End, Server};

/// A daemon with the test server's model chosen, which streams some lines and then waits.
struct Streamed {
    server: Server,
    bench: Bench,
    text: String,
}

fn lines(count: usize) -> String {
    let all: Vec<String> =
        (1..=count).map(|n| format!("Line {n} of what there is to say.")).collect();
    all.join("\n")
}

impl Streamed {
    fn new(end: End) -> Self {
        let text = lines(60);
        let server = Server::start(vec![says(&text, end), says("And more.", End::Whole)]);
        server.hold_back(0, true);
        let mut bench = Bench::new();
        lead_to(&server, &mut bench);
        choose(&bench, "lmstudio/first");
        Self { server, bench, text }
    }

    /// Sends a request, and waits until the page shows its first lines.
    fn begin(&mut self, browser: &Browser<'_>) {
        ask(browser, "What is there?");
        self.server.wait_at_gate(1);
        browser.until_shown("#log .coming", "Line 1 of");
    }

    /// Lets the reply end, and waits until the page shows all of it, exactly as sent.
    #[track_caller]
    fn end(&mut self, browser: &Browser<'_>) {
        self.server.open();
        let said = self.bench.human.until("assistant_final");
        assert_eq!(said["text"], self.text);
        browser.until("document.querySelector('#log .end')");
        self.is_said(browser);
    }

    #[track_caller]
    fn is_said(&self, browser: &Browser<'_>) {
        let said =
            browser.is("[...document.querySelectorAll('#log .said')].map(it => it.textContent)");
        assert_eq!(said, json!([self.text]));
        is_each_once(&log(browser));
    }
}

/// The text of a message that is still streaming.
fn coming(browser: &Browser<'_>) -> String {
    let text = browser.is("document.querySelector('#log .coming .text')?.textContent ?? ''");
    text.as_str().unwrap().to_owned()
}

/// Holds what `sessionStorage.held` names until `window.go` is called: `asked`, the request for a
/// conversation; `answered`, its response; `told`, everything from the stream. `window.came` is
/// what the stream has delivered so far.
const HELD: &str = "
    const waits = [];
    window.waiting = () => waits.length;
    window.go = () => { sessionStorage.held = ''; waits.splice(0).forEach(it => it()); };
    const hold = async what => {
      if ((sessionStorage.held ?? '').split(' ').includes(what)) await new Promise(done => waits.push(done));
    };
    const before = window.fetch;
    window.fetch = async (path, ...more) => {
      const isTalk = String(path).startsWith('/page/talk');
      if (isTalk) await hold('asked');
      const answer = await before(path, ...more);
      if (isTalk) await hold('answered');
      return answer;
    };
    window.came = '';
    const read = ReadableStreamDefaultReader.prototype.read;
    ReadableStreamDefaultReader.prototype.read = async function () {
      const some = await read.call(this);
      await hold('told');
      if (typeof some.value === 'string') window.came += some.value;
      return some;
    };";

#[test]
fn page_reloaded_mid_stream_shows_each_line_once() {
    let Some(stage) = Stage::set() else { return };
    let mut streamed = Streamed::new(End::Whole);
    let browser = stage.browser();
    streamed.bench.enter(&browser);
    streamed.begin(&browser);
    let before = coming(&browser);
    assert!(streamed.text.starts_with(&before), "{before}");
    browser.reload();
    until_here(&browser);
    browser.until("document.querySelector('#log .coming')");
    let again = coming(&browser);
    assert!(again.starts_with(&before) && streamed.text.starts_with(&again), "{again}");
    browser.until_shown("#head .state", "at work");
    streamed.end(&browser);
    browser.reload();
    until_here(&browser);
    browser.until("document.querySelector('#log .end')");
    streamed.is_said(&browser);
}

#[test]
fn text_streamed_while_a_conversation_loads_is_not_lost() {
    let Some(stage) = Stage::set() else { return };
    let mut streamed = Streamed::new(End::Whole);
    let browser = stage.browser();
    browser.prepare(HELD);
    streamed.bench.enter(&browser);
    streamed.begin(&browser);
    browser.run("sessionStorage.held = 'answered'", &[]);
    browser.reload();
    browser.until("window.waiting() === 1");
    streamed.server.open();
    browser.until("window.came.includes('item end')");
    browser.run("window.go()", &[]);
    browser.until("document.querySelector('#log .end')");
    streamed.is_said(&browser);
}

#[test]
fn text_already_in_a_loaded_conversation_is_not_repeated() {
    let Some(stage) = Stage::set() else { return };
    let mut streamed = Streamed::new(End::Hang);
    let browser = stage.browser();
    browser.prepare(HELD);
    streamed.bench.enter(&browser);
    streamed.begin(&browser);
    browser.run("sessionStorage.held = 'asked told'", &[]);
    browser.reload();
    browser.until("window.waiting() > 0");
    streamed.server.open();
    let mut said = String::new();
    while said.trim_end() != streamed.text {
        said += streamed.bench.human.until("assistant_update")["text"].as_str().unwrap();
    }
    browser.run("window.go()", &[]);
    browser.until("window.came.includes('Line 60 of')");
    browser.until("document.querySelector('#log .coming')");
    assert_eq!(coming(&browser).trim_end(), streamed.text);
}

#[test]
fn second_page_follows_and_continues_the_conversation() {
    let Some(stage) = Stage::set() else { return };
    let mut streamed = Streamed::new(End::Whole);
    let (browser, other) = (stage.browser(), stage.browser());
    streamed.bench.enter(&browser);
    streamed.bench.enter(&other);
    streamed.begin(&browser);
    streamed.end(&browser);
    other.until("document.querySelector('#log .end')");
    streamed.is_said(&other);
    ask(&other, "And what else?");
    for browser in [&browser, &other] {
        browser.until_shown("#head h1", "And what else?");
        browser.until("document.querySelectorAll('#log .end').length === 2");
    }
    assert_eq!(log(&browser), log(&other));
    is_each_once(&log(&browser));
}
