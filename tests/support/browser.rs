//! A browser of a test's own: Chromium without a window and with a fresh profile, led by chromedriver.
//!
//! WebDriver is JSON over HTTP, and a dozen of its commands are enough here; they are spoken plainly, over a
//! connection a command. What was said on the browser's console is looked at when it is closed: an
//! error that a test does not expect fails it, and so does a report of the content security policy.

use std::cell::RefCell;
use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::requirement::Requirement;

/// Names that a browser goes by.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// How long something may take that a test waits for; nothing takes as long.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a page is looked at meanwhile.
const GLANCE: Duration = Duration::from_millis(20);
/// By what an element is told in WebDriver.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// How often chromedriver is started at most until it serves.
const STARTS: usize = 5;

/// A browser takes two cores by itself: one test at a time has any.
static TURN: Mutex<()> = Mutex::new(());

/// Keys without a letter, as WebDriver names them.
pub mod key {
    /// To the next element.
    pub const TAB: char = '\u{e004}';
    /// Return.
    pub const ENTER: char = '\u{e007}';
    /// Held with another.
    pub const SHIFT: char = '\u{e008}';
    /// Held with another, for what a field does not take as a letter.
    pub const CONTROL: char = '\u{e009}';
    /// Down by one.
    pub const DOWN: char = '\u{e015}';
    /// Out of a dialog.
    pub const ESCAPE: char = '\u{e00c}';
}

/// A program, by a variable or by its names on the path.
fn program(variable: &str, names: &[&str]) -> Option<PathBuf> {
    if let Some(named) = env::var_os(variable) {
        return Some(PathBuf::from(named));
    }
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    let file = |name: &&str| format!("{name}{}", env::consts::EXE_SUFFIX);
    let mut all = names.iter().flat_map(|name| folders.iter().map(move |it| it.join(file(name))));
    all.find(|it| it.is_file())
}

/// Chromium, which `CHROMIUM` names; none, with a notice, where it is missing.
///
/// # Panics
/// It is missing and required.
#[track_caller]
pub fn chromium() -> Option<PathBuf> {
    let found = program("CHROMIUM", &BROWSERS);
    if found.is_none() {
        Requirement::Chromium.skip("tests in a browser (Chromium is missing; CHROMIUM names it)");
    }
    found
}

/// The file of axe, which knows what people who do not see or point need of a page: `VECTOR_AXE` names it.
///
/// # Panics
/// It is missing and required.
#[track_caller]
pub fn axe() -> Option<String> {
    let usual = crate::repository::root().join("target/axe/node_modules/axe-core/axe.min.js");
    let file = env::var_os("VECTOR_AXE").map_or(usual, PathBuf::from);
    let text = fs::read_to_string(&file).ok();
    if text.is_none() {
        let file = file.display();
        Requirement::Axe
            .skip(&format!("checks by axe-core (no {file}; VECTOR_AXE names its file)"));
    }
    text
}

/// Where browsers are started for one test; they and what leads them end with it.
#[derive(Debug)]
pub struct Stage {
    driver: Child,
    port: u16,
    /// What the driver still says would end it where nobody could read it.
    _said: BufReader<ChildStdout>,
    _turn: MutexGuard<'static, ()>,
}

impl Stage {
    /// Waits for its turn, and starts what leads browsers; none where that is not there, which is said.
    ///
    /// # Panics
    /// It is missing and required.
    #[track_caller]
    pub fn set() -> Option<Self> {
        let driver = program("CHROMEDRIVER", &["chromedriver"]).filter(|_| chromium().is_some());
        let Some(driver) = driver else {
            Requirement::Chromium
                .skip("tests in a browser (chromedriver is missing; CHROMEDRIVER names it)");
            return None;
        };
        // Whoever panicked in their turn has ended what they started.
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let (driver, said, port) =
            (0..STARTS).find_map(|_| start(&driver)).expect("chromedriver serves");
        Some(Self { driver, port, _said: said, _turn: turn })
    }

    /// A browser, wide and light, with nothing open.
    pub fn browser(&self) -> Browser<'_> {
        self.browser_with(&json!({}))
    }

    /// The same, with more capabilities.
    ///
    /// # Panics
    /// It does not start.
    pub fn browser_with(&self, more: &Json) -> Browser<'_> {
        let profile = tempfile::tempdir().expect("a temporary folder can be made");
        let mut args = vec![
            format!("--user-data-dir={}", profile.path().display()),
            "--headless=new".to_owned(),
            "--no-first-run".to_owned(),
            "--disable-background-networking".to_owned(),
            "--disable-component-update".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--disable-lcd-text".to_owned(),
            "--font-render-hinting=none".to_owned(),
            "--force-color-profile=srgb".to_owned(),
            "--lang=en-GB".to_owned(),
        ];
        if is_root(profile.path()) {
            // Chromium keeps no sandbox for root.
            args.push("--no-sandbox".to_owned());
        }
        let mut wanted = json!({
            "goog:chromeOptions": { "args": args, "binary": chromium() },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        merge(&mut wanted, more);
        let asked = json!({ "capabilities": { "alwaysMatch": wanted } });
        let started =
            said(self.port, "POST", "/session", &asked).unwrap_or_else(|no| panic!("{no}"));
        let session = started["sessionId"].as_str().expect("a session has a name");
        let browser = Browser {
            stage: self,
            session: session.to_owned(),
            expected: RefCell::default(),
            _profile: profile,
        };
        browser.cdp("Emulation.setTimezoneOverride", json!({ "timezoneId": "UTC" }));
        browser.cdp("Emulation.setLocaleOverride", json!({ "locale": "en-GB" }));
        browser.look(&Look::default());
        browser
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Starts chromedriver, on a port of its choice; none where that was taken the moment after it was chosen.
fn start(driver: &Path) -> Option<(Child, BufReader<ChildStdout>, u16)> {
    let mut child = Command::new(driver)
        .arg("--port=0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("chromedriver starts");
    let mut said = BufReader::new(child.stdout.take().expect("its output is read"));
    let mut lines = said.by_ref().lines().map_while(Result::ok);
    let port = lines.find_map(|line| {
        line.split_once("successfully on port ")?.1.trim_end_matches('.').parse().ok()
    });
    if port.is_none() {
        child.wait().expect("it has ended");
    }
    Some((child, said, port?))
}

/// Whether what we make belongs to root.
#[cfg(unix)]
fn is_root(own: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(own).is_ok_and(|it| it.uid() == 0)
}

#[cfg(not(unix))]
fn is_root(_own: &Path) -> bool {
    false
}

fn merge(into: &mut Json, more: &Json) {
    match (into, more) {
        (Json::Object(into), Json::Object(more)) => {
            for (name, value) in more {
                merge(into.entry(name.clone()).or_insert(Json::Null), value);
            }
        }
        (into, more) => *into = more.clone(),
    }
}

/// Says a command to chromedriver; what it answers, or why it does not.
fn said(port: u16, method: &str, path: &str, body: &Json) -> Result<Json, String> {
    let (status, body) = exchange(port, method, path, body).map_err(|error| error.to_string())?;
    let answer: Json = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
    if status == 200 { Ok(answer["value"].clone()) } else { Err(answer["value"].to_string()) }
}

/// A request and its answer. The answer says how long it is: chromedriver closes no connection.
fn exchange(port: u16, method: &str, path: &str, body: &Json) -> io::Result<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(2 * PATIENCE))?;
    let body = if method == "GET" { String::new() } else { body.to_string() };
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    stream.write_all((head + &body).as_bytes())?;
    let (mut reader, mut line) = (BufReader::new(stream), String::new());
    reader.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((status, body))
}

/// How a page is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// The scheme.
    pub dark: bool,
    /// The width of the window; in CSS pixels, as all lengths here.
    pub width: u32,
    /// Its height.
    pub height: u32,
}

impl Default for Look {
    fn default() -> Self {
        Self { dark: false, width: 1280, height: 860 }
    }
}

/// A browser with one page; it is closed with the value.
#[derive(Debug)]
pub struct Browser<'s> {
    stage: &'s Stage,
    session: String,
    /// Parts of what may be said on its console.
    expected: RefCell<Vec<String>>,
    _profile: TempDir,
}

impl Browser<'_> {
    #[track_caller]
    fn send(&self, method: &str, path: &str, body: &Json) -> Json {
        let path = format!("/session/{}{path}", self.session);
        said(self.stage.port, method, &path, body).unwrap_or_else(|no| panic!("{path}: {no}"))
    }

    /// Goes to an address, and waits until that is loaded.
    #[track_caller]
    pub fn go(&self, url: &str) {
        self.send("POST", "/url", &json!({ "url": url }));
    }

    /// Loads the page anew.
    #[track_caller]
    pub fn reload(&self) {
        self.send("POST", "/refresh", &json!({}));
    }

    /// Calls a command of Chromium's own protocol.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "it is written where it is passed")]
    pub fn cdp(&self, command: &str, params: Json) -> Json {
        self.send("POST", "/goog/cdp/execute", &json!({ "cmd": command, "params": params }))
    }

    /// Has the page looked at in another way.
    #[track_caller]
    pub fn look(&self, look: &Look) {
        let (width, height) = (look.width, look.height);
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.cdp("Emulation.setDeviceMetricsOverride", size);
        let scheme = if look.dark { "dark" } else { "light" };
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        self.cdp("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Has a script run in each page that is loaded from now on, before the page's own.
    #[track_caller]
    pub fn prepare(&self, script: &str) {
        self.cdp("Page.addScriptToEvaluateOnNewDocument", json!({ "source": script }));
    }

    /// Runs the body of a function in the page; what it returns.
    #[track_caller]
    pub fn run(&self, script: &str, args: &[Json]) -> Json {
        self.send("POST", "/execute/sync", &json!({ "script": script, "args": args }))
    }

    /// The same, of one that calls back by its last argument.
    #[track_caller]
    pub fn run_async(&self, script: &str, args: &[Json]) -> Json {
        self.send("POST", "/execute/async", &json!({ "script": script, "args": args }))
    }

    /// What an expression is in the page.
    #[track_caller]
    pub fn is(&self, expression: &str) -> Json {
        self.run(&format!("return ({expression});"), &[])
    }

    /// Waits until an expression holds in the page; what it is then.
    ///
    /// # Panics
    /// It never does.
    #[track_caller]
    pub fn until(&self, expression: &str) -> Json {
        let end = Instant::now() + PATIENCE;
        loop {
            let is = self.is(expression);
            if !matches!(&is, Json::Null | Json::Bool(false)) && is != 0 && is != "" {
                return is;
            }
            let shown = || self.is("document.body.innerText");
            assert!(Instant::now() < end, "never: {expression}\nthe page shows: {}", shown());
            thread::sleep(GLANCE);
        }
    }

    /// Waits until a text stands in what a selector finds.
    #[track_caller]
    pub fn until_shown(&self, selector: &str, text: &str) {
        let (selector, text) = (json!(selector), json!(text));
        self.until(&format!("document.querySelector({selector})?.innerText.includes({text})"));
    }

    /// The text of what a selector finds, as it is seen.
    #[track_caller]
    pub fn text(&self, selector: &str) -> String {
        let text = self.is(&format!("document.querySelector({})?.innerText", json!(selector)));
        text.as_str().unwrap_or_else(|| panic!("nothing is `{selector}`")).to_owned()
    }

    /// Clicks where the middle of an element is; what lies above it would be clicked, and is an error. Where
    /// the page makes it anew meanwhile, the new one is meant.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        let end = Instant::now() + PATIENCE;
        loop {
            self.until(&format!("document.querySelector({})", json!(selector)));
            let Err(no) = self.try_click(selector) else { return };
            let is_gone = no.contains("stale element") || no.contains("no such element");
            assert!(is_gone && Instant::now() < end, "{selector}: {no}");
        }
    }

    fn try_click(&self, selector: &str) -> Result<(), String> {
        let (port, session) = (self.stage.port, &self.session);
        let wanted = json!({ "using": "css selector", "value": selector });
        let found = said(port, "POST", &format!("/session/{session}/element"), &wanted)?;
        let element = found[ELEMENT].as_str().unwrap_or_default();
        let path = format!("/session/{session}/element/{element}/click");
        said(port, "POST", &path, &json!({})).map(drop)
    }

    /// Types a text where the focus is, in one go.
    #[track_caller]
    pub fn enter(&self, text: &str) {
        self.cdp("Input.insertText", json!({ "text": text }));
    }

    /// Presses keys one after the other; those held are held all the while.
    #[track_caller]
    pub fn press(&self, held: &[char], keys: &[char]) {
        let down = |key: &char| json!({ "type": "keyDown", "value": key });
        let up = |key: &char| json!({ "type": "keyUp", "value": key });
        let mut actions: Vec<Json> = held.iter().map(down).collect();
        actions.extend(keys.iter().flat_map(|key| [down(key), up(key)]));
        actions.extend(held.iter().map(up));
        let source = json!([{ "type": "key", "id": "keys", "actions": actions }]);
        self.send("POST", "/actions", &json!({ "actions": source }));
    }

    /// Presses the mouse twice where the middle of an element is, whatever lies there by the second time.
    #[track_caller]
    pub fn double_click(&self, selector: &str) {
        let found = self.until(&format!("document.querySelector({})", json!(selector)));
        let down = json!({ "type": "pointerDown", "button": 0 });
        let up = json!({ "type": "pointerUp", "button": 0 });
        let there = json!({ "type": "pointerMove", "origin": found, "x": 0, "y": 0 });
        let mouse =
            json!({ "type": "pointer", "id": "mouse", "actions": [there, down, up, down, up] });
        self.send("POST", "/actions", &json!({ "actions": [mouse] }));
    }

    /// A letter's key as it tells of itself once more while it is held.
    #[track_caller]
    pub fn repeat(&self, letter: char) {
        let text = letter.to_string();
        let down = json!({ "type": "keyDown", "key": text, "text": text, "autoRepeat": true });
        self.cdp("Input.dispatchKeyEvent", down);
    }

    /// Enter as it tells of itself once more while it is held.
    #[track_caller]
    pub fn repeat_enter(&self) {
        let down = json!({
            "type": "keyDown", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r",
            "autoRepeat": true,
        });
        self.cdp("Input.dispatchKeyEvent", down);
    }

    /// The tab that is led.
    #[track_caller]
    pub fn tab(&self) -> Json {
        self.send("GET", "/window", &Json::Null)
    }

    /// Opens a tab and leads it; nobody sees the one before then.
    #[track_caller]
    pub fn open_tab(&self) {
        let opened = self.send("POST", "/window/new", &json!({ "type": "tab" }));
        self.lead(&opened["handle"]);
    }

    /// Leads another tab, which is seen then.
    #[track_caller]
    pub fn lead(&self, tab: &Json) {
        self.send("POST", "/window", &json!({ "handle": tab }));
    }

    /// A picture of what is in sight, as PNG.
    #[track_caller]
    pub fn picture(&self) -> Vec<u8> {
        let picture = self.send("GET", "/screenshot", &Json::Null);
        STANDARD.decode(picture.as_str().expect("a picture is a text")).expect("it is base64")
    }

    /// What was logged since this was asked last, of a kind that was chosen at the start.
    #[track_caller]
    pub fn log(&self, kind: &str) -> Vec<Json> {
        let log = self.send("POST", "/se/log", &json!({ "type": kind }));
        log.as_array().cloned().unwrap_or_default()
    }

    /// From now on this may be said on the console.
    pub fn expect(&self, part: &str) {
        self.expected.borrow_mut().push(part.to_owned());
    }

    /// What was said on the console and nobody expects.
    fn unexpected(&self) -> Vec<String> {
        let path = format!("/session/{}/se/log", self.session);
        let log = said(self.stage.port, "POST", &path, &json!({ "type": "browser" }));
        let log = log.unwrap_or_else(|no| panic!("{no}"));
        let expected = self.expected.borrow();
        let entries = log.as_array().into_iter().flatten();
        entries
            .filter(|it| matches!(it["level"].as_str(), Some("SEVERE" | "WARNING")))
            .filter_map(|it| it["message"].as_str().map(str::to_owned))
            .filter(|it| !expected.iter().any(|part| it.contains(part)))
            .collect()
    }
}

impl Drop for Browser<'_> {
    fn drop(&mut self) {
        let unexpected = if thread::panicking() { Vec::new() } else { self.unexpected() };
        // A driver that is gone cannot be told; the test has failed by then.
        let path = format!("/session/{}", self.session);
        let _ = said(self.stage.port, "DELETE", &path, &json!({}));
        assert!(unexpected.is_empty(), "on the browser's console: {unexpected:#?}");
    }
}
