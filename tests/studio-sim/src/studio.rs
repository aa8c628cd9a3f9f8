//! A simulated window of Studio: its world, its clock, and a test's access to both.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use mlua::{Function, IntoLuaMulti, Lua, Table, Value};
use serde_json::Value as Json;
use vector_runtime::{Engine, EngineExtension, Resumption, json};

use crate::http::Outcome;
use crate::native;
use crate::options::{Options, Signals, Theme};
use crate::shared::Shared;

/// The files that make the engine a Studio.
const FILES: EngineExtension<'_> = EngineExtension {
    classes: &[
        ("questions", include_str!("luau/questions.luau")),
        ("history", include_str!("luau/history.luau")),
        ("scripts", include_str!("luau/scripts.luau")),
        ("services", include_str!("luau/services.luau")),
        ("http", include_str!("luau/http.luau")),
        ("plugin", include_str!("luau/plugin.luau")),
        ("connections", include_str!("luau/connections.luau")),
        ("playtests", include_str!("luau/playtests.luau")),
        ("theme", include_str!("luau/theme.luau")),
        ("text", include_str!("luau/text.luau")),
        ("lists", include_str!("luau/lists.luau")),
        ("layout", include_str!("luau/layout.luau")),
        ("input", include_str!("luau/input.luau")),
        ("legible", include_str!("luau/legible.luau")),
        ("html", include_str!("luau/html.luau")),
    ],
    place: &[("window", include_str!("luau/window.luau"))],
};

/// A frame, in virtual seconds.
pub const FRAME: f64 = 1.0 / 60.0;

/// A frame where Studio is busy.
const SLOW_FRAME: f64 = 1.0 / 15.0;

/// A frame while the window is not in front.
const UNFOCUSED_FRAME: f64 = 1.0 / 4.0;

/// How far the virtual clock may run ahead of the real one while a request is in flight.
const LEAD: f64 = 0.5;

/// How long [`Studio::eval`] may take, in real time.
const EVAL: Duration = Duration::from_secs(30);

/// The number of the next window in this process.
static WINDOWS: AtomicU32 = AtomicU32::new(1);

/// A simulated window of Studio.
pub struct Studio {
    pub(crate) lua: Lua,
    pub(crate) engine: Table,
    pub(crate) shared: Rc<RefCell<Shared>>,
    /// How long a frame takes, in virtual seconds.
    frame: Cell<f64>,
    focused_frame: f64,
}

/// A line of the output window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputLine {
    /// `print`, `warn` or `error`.
    pub kind: String,
    pub text: String,
    /// The writer: the plugin's name, `user` or `Studio`.
    pub by: String,
}

/// A request that was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    pub method: String,
    pub url: String,
    /// The size of the body in bytes.
    pub length: usize,
    /// The response's status; 0 if there is none, or none yet.
    pub status: u16,
    /// The failure, in the words that the plugin saw.
    pub failure: Option<String>,
    /// When it was sent, in virtual seconds.
    pub at: f64,
}

/// Formats an error of the engine, which is a bug in the simulator.
fn broken(error: mlua::Error) -> String {
    format!("the simulated Studio failed: {error}")
}

impl Studio {
    /// Opens a window. Fails if the place cannot be read.
    pub fn new(options: Options<'_>) -> Result<Self, String> {
        let shared =
            Rc::new(RefCell::new(Shared::new(options.settings.clone(), options.script_timeout)));
        let meter = Rc::clone(&shared.borrow().meter);
        let engine = Engine::start(&meter, FILES, |lua, table| native::add(lua, table, &shared));
        let Engine { lua, table: engine, .. } = engine.map_err(broken)?;
        let frame = if options.switches.slow_frames { SLOW_FRAME } else { FRAME };
        let studio = Self { lua, engine, shared, frame: Cell::new(frame), focused_frame: frame };
        studio.configure(&options).map_err(broken)?;
        match options.place {
            Some(place) => {
                let bytes = studio.lua.create_buffer(place).map_err(broken)?;
                studio.call::<()>("loadPlace", bytes)?;
            }
            None => studio.call::<()>("emptyPlace", ())?,
        }
        if options.switches.all_services {
            for service in vector_runtime::services() {
                studio.call::<()>("makeService", service)?;
            }
        }
        Ok(studio)
    }

    fn configure(&self, options: &Options<'_>) -> mlua::Result<()> {
        let table = self.options();
        table.set("deferred", options.signals == Signals::Deferred)?;
        table.set("theme", options.theme.name())?;
        table.set("widgetSize", [options.widget_size.0, options.widget_size.1])?;
        table.set("http", options.http.name())?;
        table.set("scriptWrites", options.script_writes.name())?;
        table.set("sendHost", options.send_host)?;
        table.set("httpTimeout", options.http_timeout.as_secs_f64())?;
        table.set("userId", options.user.0)?;
        table.set("userName", options.user.1.as_str())?;
        table.set("placeId", options.place_id)?;
        table.set("window", WINDOWS.fetch_add(1, Ordering::Relaxed))?;
        table.set("gameId", options.game_id)?;
        let switches = self.table("switches");
        for (name, is_on) in options.switches.named() {
            switches.set(name, is_on)?;
        }
        let root: Table = self.engine.get("root")?;
        root.set("name", options.place_name.as_str())
    }

    pub(crate) fn options(&self) -> Table {
        self.table("options")
    }

    /// A table of the engine.
    ///
    /// # Panics
    ///
    /// If the engine has no table of this name.
    #[expect(clippy::expect_used, reason = "the name is written in this crate")]
    pub(crate) fn table(&self, name: &str) -> Table {
        self.engine.get(name).expect("the engine has this table")
    }

    fn rows(&self, name: &str) -> Vec<Table> {
        self.table(name).sequence_values::<Table>().filter_map(Result::ok).collect()
    }

    /// Calls a function of the engine; its errors are messages.
    pub(crate) fn call<T: mlua::FromLuaMulti>(
        &self,
        name: &str,
        arguments: impl IntoLuaMulti,
    ) -> Result<T, String> {
        let function: Function = self.engine.get(name).map_err(broken)?;
        function.call(arguments).map_err(|error| match error {
            mlua::Error::RuntimeError(text) => text,
            mlua::Error::CallbackError { cause, .. } => cause.to_string(),
            other => other.to_string(),
        })
    }

    /// Loads a model file as a plugin: every enabled `Script` in it runs.
    pub fn load_plugin(&self, rbxm: &[u8]) -> Result<(), String> {
        let bytes = self.lua.create_buffer(rbxm).map_err(broken)?;
        self.call("loadPlugin", (bytes, "user_Vector.rbxm"))
    }

    /// Ends the plugin as Studio does: `Unloading` fires, then its threads, connections, widgets
    /// and requests end. A recording that it began stays open.
    pub fn unload_plugin(&self) {
        self.expect_call("unloadPlugin", ());
    }

    /// Calls a function that fails only because of a bug in the simulator.
    pub(crate) fn expect_call(&self, name: &str, arguments: impl IntoLuaMulti) {
        if let Err(error) = self.call::<()>(name, arguments) {
            self.fault(&error);
        }
    }

    /// Reports a bug in the simulator among the plugin's errors, which every test checks.
    pub(crate) fn fault(&self, text: &str) {
        let report = self.engine.get::<Function>("report");
        let _ = report.and_then(|report| report.call::<()>(format!("in the simulator: {text}")));
    }

    /// The virtual time, in seconds since the window opened.
    pub fn now(&self) -> f64 {
        self.engine.get("now").unwrap_or_default()
    }

    /// Puts the window in front of all others, or behind another, where frames are few.
    pub fn set_focused(&self, is_focused: bool) {
        self.frame.set(if is_focused { self.focused_frame } else { UNFOCUSED_FRAME });
    }

    /// Runs one frame: received responses are delivered, due threads are resumed,
    /// `Heartbeat` fires, and the screens are laid out.
    pub fn step(&self) {
        self.step_by(self.frame.get());
    }

    /// Runs one frame that takes `seconds`: scripts see no time in between.
    pub fn step_by(&self, seconds: f64) {
        self.shared.borrow().meter.begin_frame();
        self.deliver();
        self.expect_call("step", seconds);
    }

    /// Runs a frame that ends `seconds` later; nothing happens before it.
    fn jump(&self, seconds: f64) {
        if let Err(error) =
            self.engine.set("now", self.now() + (seconds - self.frame.get()).max(0.0))
        {
            self.fault(&error.to_string());
        }
        self.step();
    }

    /// Runs frames for `seconds` of virtual time, whether requests are in flight or not.
    pub fn run_for(&self, seconds: f64) {
        let end = self.now() + seconds;
        while self.now() < end - 1e-9 {
            self.step();
        }
    }

    fn deliver(&self) {
        loop {
            let arrived = self.shared.borrow().receiver.try_recv();
            match arrived {
                Ok((id, outcome)) => self.hand_over(id, outcome),
                Err(_) => return,
            }
        }
    }

    fn hand_over(&self, id: i64, outcome: Outcome) {
        let response = outcome.and_then(|response| {
            let table = self.lua.create_table().map_err(broken)?;
            let fill = || {
                table.set("StatusCode", response.status)?;
                table.set("StatusMessage", response.reason.as_str())?;
                table.set("Success", (200..300).contains(&response.status))?;
                let headers = response.headers.iter().map(|(name, it)| (name.as_str(), &**it));
                table.set("Headers", self.lua.create_table_from(headers)?)?;
                table.set("Body", self.lua.create_string(&response.body)?)
            };
            fill().map_err(broken)?;
            Ok(table)
        });
        match response {
            Ok(table) => self.expect_call("delivered", (id, table)),
            Err(failure) => self.expect_call("delivered", (id, Value::Nil, failure)),
        }
    }

    /// Runs the studio until `done`.
    ///
    /// While no request is in flight, the clock jumps from timer to timer. While one is, the clock
    /// may run half a second ahead of the real one, counted again from every response, so that a
    /// poll which is held for fifteen seconds does not lose a race against a timer that costs
    /// nothing.
    ///
    /// The error says what was awaited: the real timeout has expired, or nothing is left that could
    /// happen.
    pub fn run_until(
        &self,
        mut done: impl FnMut(&Self) -> bool,
        timeout: Duration,
    ) -> Result<(), String> {
        let deadline = Instant::now() + timeout;
        let mut lead = Lead::new(self.now());
        let mut idle = 0;
        loop {
            if done(self) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(self.state(&format!("not within {timeout:?}")));
            }
            if self.in_flight() > 0 {
                idle = 0;
                self.step_or_wait(&mut lead, deadline);
                continue;
            }
            lead = Lead::new(self.now());
            match self.next_step() {
                Some(seconds) => {
                    idle = 0;
                    self.jump(seconds);
                }
                None if idle > 5 => return Err(self.state("nothing is left that could happen")),
                None => {
                    idle += 1;
                    self.step();
                }
            }
        }
    }

    /// With a request in flight: runs a frame if the clock may advance, else waits for a response.
    fn step_or_wait(&self, lead: &mut Lead, deadline: Instant) {
        let next = self.next_step();
        let allowed = lead.allowed(self.now());
        if let Some(seconds) = next
            && seconds <= allowed
        {
            self.jump(seconds);
            return;
        }
        let short = match next {
            Some(seconds) => seconds - allowed,
            None => 1.0,
        };
        let wait = Duration::from_secs_f64(short.clamp(0.001, 0.25));
        let wait = wait.min(deadline.saturating_duration_since(Instant::now()));
        let arrived = self.shared.borrow().receiver.recv_timeout(wait);
        if let Ok((id, outcome)) = arrived {
            *lead = Lead::new(self.now());
            self.shared.borrow().meter.begin_frame();
            self.hand_over(id, outcome);
            self.step();
        }
    }

    /// The duration of the next frame; None if no script waits for one.
    fn next_step(&self) -> Option<f64> {
        let frames: bool = self.call("wantsFrames", ()).unwrap_or_default();
        if frames {
            return Some(self.frame.get());
        }
        let due: Option<f64> = self.call("nextDue", ()).unwrap_or_default();
        due.map(|due| due.max(self.frame.get()))
    }

    fn state(&self, why: &str) -> String {
        let errors = self.errors().join("\n  ");
        let output = self.output();
        let last = output.iter().rev().take(8).rev().map(|line| line.text.as_str());
        let last = last.collect::<Vec<_>>().join("\n  ");
        let (now, waiting) = (self.now(), self.in_flight());
        format!(
            "{why}: virtual time {now:.2} s, {waiting} requests under way\nerrors:\n  {errors}\nlast output:\n  {last}"
        )
    }

    /// Runs Luau as the user at the command bar, and returns its result. Its writes do not count as
    /// the plugin's; they become an undo step named "Command".
    pub fn eval(&self, luau: &str) -> Result<Json, String> {
        let context: Table = self.engine.get("user").map_err(broken)?;
        self.run(luau, "user", context)
    }

    /// Runs Luau as the plugin.
    pub fn eval_as_plugin(&self, luau: &str) -> Result<Json, String> {
        let context: Option<Table> = self.engine.get("plugin").map_err(broken)?;
        let context = context.ok_or("no plugin is loaded")?;
        self.run(luau, "asked", context)
    }

    fn run(&self, luau: &str, name: &str, context: Table) -> Result<Json, String> {
        let text = self.lua.create_string(luau).map_err(broken)?;
        let state: Table = self.call("run", (text, name, context))?;
        let ended = |_: &Self| state.get::<bool>("done").unwrap_or(true);
        self.run_until(ended, EVAL)?;
        if state.get::<bool>("ok").unwrap_or_default() {
            Ok(json::from_luau(&state.get::<Value>("result").unwrap_or(Value::Nil)))
        } else {
            Err(state.get::<String>("error").unwrap_or_default())
        }
    }

    /// Undoes the last step as Ctrl+Z does; false if there is none, or a recording is open.
    pub fn undo(&self) -> bool {
        self.call("undo", ()).unwrap_or_default()
    }

    pub fn redo(&self) -> bool {
        self.call("redo", ()).unwrap_or_default()
    }

    /// The names of the steps that can be undone, the oldest first.
    pub fn undo_stack_names(&self) -> Vec<String> {
        self.call("undoNames", ()).unwrap_or_default()
    }

    /// The whole place: everything of each instance that differs from a new one, in tree order,
    /// with services sorted by class and empty services left out. Equal snapshots mean equal
    /// places.
    pub fn snapshot(&self) -> Json {
        let root: Table = self.table("root");
        self.snapshot_from(root)
    }

    /// A snapshot of an instance with its descendants, by its full name; null if there is none.
    pub fn snapshot_of(&self, path: &str) -> Json {
        match self.find(path) {
            Some(record) => self.snapshot_from(record),
            None => Json::Null,
        }
    }

    fn snapshot_from(&self, record: Table) -> Json {
        match self.call::<Value>("snapshot", record) {
            Ok(value) => json::from_luau(&value),
            Err(error) => {
                self.fault(&error);
                Json::Null
            }
        }
    }

    /// The record of an instance, by its names from the DataModel on.
    pub(crate) fn find(&self, path: &str) -> Option<Table> {
        self.call::<Option<Table>>("find", path).ok().flatten()
    }

    /// Every write of the plugin to the place outside of a recording, by path.
    pub fn unrecorded_writes(&self) -> Vec<String> {
        self.engine.get("unrecorded").unwrap_or_default()
    }

    /// The addresses of the sounds that were played.
    pub fn sounds(&self) -> Vec<String> {
        self.engine.get("sounds").unwrap_or_default()
    }

    /// The lines that were printed or warned, and the errors.
    pub fn output(&self) -> Vec<OutputLine> {
        let lines = self.rows("output").into_iter();
        let text = |line: &Table, key: &str| line.get::<String>(key).unwrap_or_default();
        let line = |line: Table| OutputLine {
            kind: text(&line, "kind"),
            text: text(&line, "text"),
            by: text(&line, "by"),
        };
        lines.map(line).collect()
    }

    /// Uncaught errors of the plugin, of the test's own scripts and of the simulator.
    pub fn errors(&self) -> Vec<String> {
        let errors = self.rows("errors").into_iter();
        let error = |error: Table| {
            let trace = error.get::<String>("trace").unwrap_or_default();
            format!("{}\n{trace}", error.get::<String>("text").unwrap_or_default())
        };
        errors.map(|it| error(it).trim_end().to_owned()).collect()
    }

    /// Features of Studio that the plugin used and the simulator lacks, even if the plugin caught
    /// the error. A test of the plugin expects none.
    pub fn not_simulated(&self) -> Vec<String> {
        self.engine.get("missing").unwrap_or_default()
    }

    /// The deprecated methods that the plugin called, such as `DataModel:GetObjects`.
    pub fn deprecated_calls(&self) -> Vec<String> {
        self.engine.get("deprecated").unwrap_or_default()
    }

    /// Clears the errors so far, after a test has checked the expected ones.
    pub fn clear_errors(&self) {
        if let Ok(table) = self.lua.create_table()
            && let Err(error) = self.engine.set("errors", table)
        {
            self.fault(&error.to_string());
        }
    }

    /// The requests that were sent, in order.
    pub fn http_log(&self) -> Vec<Sent> {
        let entries = self.rows("httpLog").into_iter();
        let entry = |entry: Table| Sent {
            method: entry.get("method").unwrap_or_default(),
            url: entry.get("url").unwrap_or_default(),
            length: entry.get("length").unwrap_or_default(),
            status: entry.get("status").unwrap_or_default(),
            failure: entry.get("failure").unwrap_or_default(),
            at: entry.get("at").unwrap_or_default(),
        };
        entries.map(entry).collect()
    }

    /// The number of requests that are in flight now.
    pub fn in_flight(&self) -> usize {
        self.engine.get("inFlight").unwrap_or_default()
    }

    /// The maximum number of requests that were in flight at once.
    pub fn most_in_flight(&self) -> usize {
        self.engine.get("mostInFlight").unwrap_or_default()
    }

    /// The number of requests in the last virtual minute; after 500, the next one fails, as in
    /// Studio.
    pub fn requests_last_minute(&self) -> usize {
        self.call("requestsLastMinute", ()).unwrap_or_default()
    }

    /// The longest time that the plugin ran without yielding, in real time.
    pub fn longest_resumption(&self) -> Duration {
        self.shared.borrow().meter.longest()
    }

    /// The longest time that the plugin ran within one frame, in real time.
    pub fn longest_frame(&self) -> Duration {
        self.shared.borrow().meter.longest_frame()
    }

    /// The most work that the plugin did within one frame, in units.
    pub fn most_frame_work(&self) -> u64 {
        self.shared.borrow().meter.most_frame_units()
    }

    /// The most work that the plugin did without yielding, in units: the same on every machine.
    pub fn most_work(&self) -> Resumption {
        self.shared.borrow().meter.most()
    }

    /// Resets the maximum times and the maximum work, for instance after loading.
    pub fn reset_meter(&self) {
        self.shared.borrow().meter.reset();
    }

    /// Changes the theme, as the user would.
    pub fn set_theme(&self, theme: Theme) {
        self.expect_call("setTheme", theme.name());
    }

    /// The bytes of the place in its current state.
    pub fn save(&self) -> Result<Vec<u8>, String> {
        let buffer: mlua::Buffer = self.call("save", ())?;
        Ok(buffer.to_vec())
    }
}

/// How far the virtual clock may advance.
struct Lead {
    real: Instant,
    start: f64,
}

impl Lead {
    fn new(now: f64) -> Self {
        Self { real: Instant::now(), start: now }
    }

    fn allowed(&self, now: f64) -> f64 {
        self.start + self.real.elapsed().as_secs_f64() + LEAD - now
    }
}
