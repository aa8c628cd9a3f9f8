//! A headless Chromium with a fresh profile for a test, controlled by chromedriver.
//!
//! WebDriver is JSON over HTTP, and a dozen commands are enough here; they are sent directly, over
//! one connection per command. When a browser is closed, its console log is checked: an unexpected
//! error fails the test, and so does a report of the content security policy.

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

/// Names of the browser's executable.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// An upper bound for every wait.
const PATIENCE: Duration = Duration::from_secs(30);
const GLANCE: Duration = Duration::from_millis(20);
/// The key of an element's id in WebDriver.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// The maximum number of attempts to start chromedriver.
const STARTS: usize = 5;

/// A browser uses two cores by itself, so only one test at a time has any.
static TURN: Mutex<()> = Mutex::new(());

/// Keys without a letter, as WebDriver names them.
pub mod key {
    pub const TAB: char = '\u{e004}';
    pub const ENTER: char = '\u{e007}';
    pub const SHIFT: char = '\u{e008}';
    /// A modifier for shortcuts, which enter no text.
    pub const CONTROL: char = '\u{e009}';
    pub const ALT: char = '\u{e00a}';
    pub const UP: char = '\u{e013}';
    pub const RIGHT: char = '\u{e014}';
    pub const DOWN: char = '\u{e015}';
    pub const ESCAPE: char = '\u{e00c}';
}

/// An executable, from an environment variable or by its names on the PATH.
fn program(variable: &str, names: &[&str]) -> Option<PathBuf> {
    if let Some(named) = env::var_os(variable) {
        return Some(PathBuf::from(named));
    }
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    let file = |name: &&str| format!("{name}{}", env::consts::EXE_SUFFIX);
    let mut all = names.iter().flat_map(|name| folders.iter().map(move |it| it.join(file(name))));
    all.find(|it| it.is_file())
}

/// The Chromium executable, which `CHROMIUM` may name; None, with a notice, if it is missing.
///
/// # Panics
/// Chromium is missing and required.
#[track_caller]
pub fn chromium() -> Option<PathBuf> {
    let found = program("CHROMIUM", &BROWSERS);
    if found.is_none() {
        Requirement::Chromium.skip("tests in a browser (Chromium is missing; CHROMIUM names it)");
    }
    found
}

/// The source of axe, the accessibility checker, whose file `VECTOR_AXE` may name; None, with a
/// notice, if it is missing.
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

/// The browsers of one test with their chromedriver; all of them end when this is dropped.
#[derive(Debug)]
pub struct Stage {
    driver: Child,
    port: u16,
    /// Kept open: chromedriver would end if it wrote to a closed pipe.
    _said: BufReader<ChildStdout>,
    _turn: MutexGuard<'static, ()>,
}

impl Stage {
    /// Waits for other tests with browsers, and starts chromedriver; None, with a notice, if it is
    /// missing.
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
        // A test that panicked has still ended its processes.
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let (driver, said, port) =
            (0..STARTS).find_map(|_| start(&driver)).expect("chromedriver serves");
        Some(Self { driver, port, _said: said, _turn: turn })
    }

    /// A browser with the default look and an empty page.
    pub fn browser(&self) -> Browser<'_> {
        self.browser_with(&json!({}))
    }

    /// A browser with more capabilities.
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
            // Chromium has no sandbox for root.
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

/// Starts chromedriver on a port of its choice; None if another process takes the port first.
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

/// Whether this process runs as root, by the owner of a folder that it made.
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

/// Sends a command to chromedriver, and returns its value or its error.
fn said(port: u16, method: &str, path: &str, body: &Json) -> Result<Json, String> {
    let (status, body) = exchange(port, method, path, body).map_err(|error| error.to_string())?;
    let answer: Json = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
    if status == 200 { Ok(answer["value"].clone()) } else { Err(answer["value"].to_string()) }
}

/// Sends a request, and reads the response by its length, because chromedriver keeps the connection
/// open.
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

fn mouse_button(event: &str) -> Json {
    json!({ "type": format!("pointer{event}"), "button": 0 })
}

/// The emulated window of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Whether the color scheme is dark.
    pub dark: bool,
    /// In CSS pixels, as all lengths here.
    pub width: u32,
    pub height: u32,
}

impl Default for Look {
    fn default() -> Self {
        Self { dark: false, width: 1280, height: 860 }
    }
}

/// A browser with one page; it is closed on drop.
#[derive(Debug)]
pub struct Browser<'s> {
    stage: &'s Stage,
    session: String,
    /// Parts of the console messages that are expected.
    expected: RefCell<Vec<String>>,
    _profile: TempDir,
}

impl Browser<'_> {
    #[track_caller]
    fn send(&self, method: &str, path: &str, body: &Json) -> Json {
        let path = format!("/session/{}{path}", self.session);
        said(self.stage.port, method, &path, body).unwrap_or_else(|no| panic!("{path}: {no}"))
    }

    /// Navigates to an address, and waits until it is loaded.
    #[track_caller]
    pub fn go(&self, url: &str) {
        self.send("POST", "/url", &json!({ "url": url }));
    }

    #[track_caller]
    pub fn reload(&self) {
        self.send("POST", "/refresh", &json!({}));
    }

    /// Calls a command of Chromium's DevTools protocol.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "it is written where it is passed")]
    pub fn cdp(&self, command: &str, params: Json) -> Json {
        self.send("POST", "/goog/cdp/execute", &json!({ "cmd": command, "params": params }))
    }

    /// Emulates a window and a color scheme.
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

    /// Runs a script in each page that is loaded from now on, before the page's own scripts.
    #[track_caller]
    pub fn prepare(&self, script: &str) {
        self.cdp("Page.addScriptToEvaluateOnNewDocument", json!({ "source": script }));
    }

    /// Runs the body of a function in the page, and returns its result.
    #[track_caller]
    pub fn run(&self, script: &str, args: &[Json]) -> Json {
        self.send("POST", "/execute/sync", &json!({ "script": script, "args": args }))
    }

    /// Runs the body of a function that passes its result to a callback, its last argument.
    #[track_caller]
    pub fn run_async(&self, script: &str, args: &[Json]) -> Json {
        self.send("POST", "/execute/async", &json!({ "script": script, "args": args }))
    }

    /// Evaluates an expression in the page.
    #[track_caller]
    pub fn is(&self, expression: &str) -> Json {
        self.run(&format!("return ({expression});"), &[])
    }

    /// Waits until an expression is truthy in the page, and returns its value.
    ///
    /// # Panics
    /// It stays falsy.
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

    /// Waits until an element contains a text.
    #[track_caller]
    pub fn until_shown(&self, selector: &str, text: &str) {
        let (selector, text) = (json!(selector), json!(text));
        self.until(&format!("document.querySelector({selector})?.innerText.includes({text})"));
    }

    /// The visible text of an element.
    #[track_caller]
    pub fn text(&self, selector: &str) -> String {
        let text = self.is(&format!("document.querySelector({})?.innerText", json!(selector)));
        text.as_str().unwrap_or_else(|| panic!("nothing is `{selector}`")).to_owned()
    }

    /// Clicks the middle of an element; an element that covers it is an error. If the page redraws
    /// the element meanwhile, the new one is clicked.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        let end = Instant::now() + PATIENCE;
        loop {
            self.until(&format!("document.querySelector({})", json!(selector)));
            let Err(no) = self.try_click(selector) else { return };
            // The page replaced it meanwhile, or has not laid it out yet.
            let can_come = ["stale element", "no such element", "element not interactable"];
            let is_coming = can_come.iter().any(|why| no.contains(why));
            assert!(is_coming && Instant::now() < end, "{selector}: {no}");
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

    /// Types a text into the focused element, all at once.
    #[track_caller]
    pub fn enter(&self, text: &str) {
        self.cdp("Input.insertText", json!({ "text": text }));
    }

    /// Presses keys one after the other, while the `held` keys are down.
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

    /// Presses the mouse twice at the middle of an element, whatever is there by the second press.
    #[track_caller]
    pub fn double_click(&self, selector: &str) {
        let found = self.until(&format!("document.querySelector({})", json!(selector)));
        let there = json!({ "type": "pointerMove", "origin": found, "x": 0, "y": 0 });
        self.point(&json!([
            there,
            mouse_button("Down"),
            mouse_button("Up"),
            mouse_button("Down"),
            mouse_button("Up")
        ]));
    }

    /// Presses the mouse on the middle of an element, does something, and releases it.
    #[track_caller]
    pub fn hold(&self, selector: &str, meanwhile: impl FnOnce()) {
        let found = self.until(&format!("document.querySelector({})", json!(selector)));
        let there = json!({ "type": "pointerMove", "origin": found, "x": 0, "y": 0 });
        self.point(&json!([there, mouse_button("Down")]));
        meanwhile();
        self.point(&json!([mouse_button("Up")]));
    }

    #[track_caller]
    fn point(&self, actions: &Json) {
        let mouse = json!({ "type": "pointer", "id": "mouse", "actions": actions });
        self.send("POST", "/actions", &json!({ "actions": [mouse] }));
    }

    /// Sends the repeated key event of a letter that is held.
    #[track_caller]
    pub fn repeat(&self, letter: char) {
        let text = letter.to_string();
        let down = json!({ "type": "keyDown", "key": text, "text": text, "autoRepeat": true });
        self.cdp("Input.dispatchKeyEvent", down);
    }

    /// Sends the repeated key event of a held Enter.
    #[track_caller]
    pub fn repeat_enter(&self) {
        let down = json!({
            "type": "keyDown", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r",
            "autoRepeat": true,
        });
        self.cdp("Input.dispatchKeyEvent", down);
    }

    #[track_caller]
    pub fn tab(&self) -> Json {
        self.send("GET", "/window", &Json::Null)
    }

    /// Opens a tab and switches to it; the previous tab becomes hidden.
    #[track_caller]
    pub fn open_tab(&self) {
        let opened = self.send("POST", "/window/new", &json!({ "type": "tab" }));
        self.lead(&opened["handle"]);
    }

    /// Switches to another tab, which becomes visible.
    #[track_caller]
    pub fn lead(&self, tab: &Json) {
        self.send("POST", "/window", &json!({ "handle": tab }));
    }

    /// A screenshot of the viewport, as PNG.
    #[track_caller]
    pub fn picture(&self) -> Vec<u8> {
        let picture = self.send("GET", "/screenshot", &Json::Null);
        STANDARD.decode(picture.as_str().expect("a picture is a text")).expect("it is base64")
    }

    /// The log entries of this type since the last call. The type must be enabled at the start.
    #[track_caller]
    pub fn log(&self, kind: &str) -> Vec<Json> {
        let log = self.send("POST", "/se/log", &json!({ "type": kind }));
        log.as_array().cloned().unwrap_or_default()
    }

    /// Allows console messages that contain `part` from now on.
    pub fn expect(&self, part: &str) {
        self.expected.borrow_mut().push(part.to_owned());
    }

    /// The console messages that are not expected.
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
        // The driver may be gone already, but then the test has failed anyway.
        let path = format!("/session/{}", self.session);
        let _ = said(self.stage.port, "DELETE", &path, &json!({}));
        assert!(unexpected.is_empty(), "on the browser's console: {unexpected:#?}");
    }
}
