//! The shipped plugin in the simulated Studio, over real HTTP, with the real daemon.

mod agent;
mod answers;
mod assets;
mod budget;
mod combinations;
mod events;
mod faults;
mod flow;
mod joined;
mod model;
mod pictures;
mod plays;
mod playtest;
mod pointed;
mod probe;
mod recorder;
#[cfg(unix)]
mod reviewed;
mod runs;
mod specs;
mod store;

use std::time::Duration;

use serde_json::Value as Json;
use studio_sim::{GuiObject, Options, SharedSettings, Signals, Studio, Switches};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;

/// The same tests in a Studio that gives the worse answer to every open question.
#[path = "."]
mod hostile {
    #![expect(clippy::duplicate_mod, reason = "these tests run in two kinds of Studio")]

    use super::*;

    mod agent;
    mod answers;
    mod assets;
    mod budget;
    mod events;
    mod faults;
    mod flow;
    mod joined;
    mod plays;
    mod playtest;
    mod pointed;
    #[cfg(unix)]
    mod reviewed;
    mod runs;
    mod store;
}

/// The switches for the running test.
fn switches() -> Switches {
    let thread = std::thread::current();
    let is_hostile = thread.name().is_some_and(|test| test.contains("::hostile::"));
    if is_hostile { Switches::HOSTILE } else { Switches::measured() }
}

/// An upper bound for every wait; a test that reaches it fails.
const PATIENCE: Duration = Duration::from_secs(40);

/// The contents of the place.
const PLACE: &str = r#"
local wall = Instance.new("Part")
wall.Name = "Wall"
wall.Anchored = true
wall.Parent = workspace
local main = Instance.new("Script")
main.Name = "Main"
main.Source = "print(1)\n"
main.Parent = game:GetService("ServerScriptService")
"#;

/// A daemon, and a Studio with a place and the plugin.
struct Desk {
    home: Home,
    daemon: Daemon,
    settings: SharedSettings,
    studio: Studio,
}

/// A Studio with these user settings, the place, and the plugin loaded.
fn studio(settings: &SharedSettings, signals: Signals) -> Studio {
    studio_with(settings, signals, switches())
}

fn studio_with(settings: &SharedSettings, signals: Signals, switches: Switches) -> Studio {
    let options = Options { signals, switches, settings: settings.clone(), ..Options::default() };
    let studio = Studio::new(options).unwrap();
    studio.eval(PLACE).unwrap();
    load(&studio);
    studio
}

fn load(studio: &Studio) {
    studio.load_plugin(&vector_daemon::plugin::build_plugin().unwrap()).unwrap();
}

fn until(studio: &Studio, what: &str, done: impl Fn(&Studio) -> bool) {
    if let Err(error) = studio.run_until(|studio| done(studio), PATIENCE) {
        panic!("{what}: {error}\nvisible: {:#?}", studio.visible_texts());
    }
}

fn shows(studio: &Studio, text: &str) -> bool {
    studio.visible_texts().iter().any(|it| it.contains(text))
}

fn until_shown(studio: &Studio, text: &str) {
    until(studio, text, |studio| shows(studio, text));
}

/// Waits for text that may have scrolled out of view.
fn until_told(studio: &Studio, text: &str) {
    until(studio, text, |studio| studio.gui().iter().any(|it| it.text.contains(text)));
}

fn has(studio: &Studio, name: &str) -> bool {
    studio.gui().iter().any(|it| it.visible && it.name == name)
}

fn until_there(studio: &Studio, name: &str) {
    until(studio, name, |studio| has(studio, name));
}

fn object(studio: &Studio, name: &str) -> GuiObject {
    studio.find_gui(|it| it.visible && it.name == name).unwrap_or_else(|error| {
        panic!("{name}: {error}\nvisible: {:#?}", studio.visible_texts());
    })
}

/// Types a request into the widget, as the user would.
fn ask(studio: &Studio, text: &str) {
    studio.type_into(&object(studio, "Ask"), text, true).unwrap();
}

/// Clicks the object of this name.
fn click(studio: &Studio, name: &str) {
    studio.click(&object(studio, name)).unwrap_or_else(|error| panic!("{name}: {error}"));
}

/// Runs Luau as the user would in the command bar.
fn eval(studio: &Studio, luau: &str) -> Json {
    studio.eval(luau).unwrap_or_else(|error| panic!("{luau}: {error}"))
}

/// Types the daemon's pairing code, as the user would.
fn pair(studio: &Studio, daemon: &Daemon) {
    until_there(studio, "Code");
    studio.type_into(&object(studio, "Code"), &daemon.code(), true).unwrap();
    until_there(studio, "Ask");
}

impl Desk {
    /// A paired Studio that is ready for requests.
    fn ready(signals: Signals) -> Self {
        Self::with_switches(signals, switches())
    }

    fn with_switches(signals: Signals, switches: Switches) -> Self {
        let home = Home::new();
        let daemon = Daemon::start(binary::vector(), home.path());
        let settings = SharedSettings::default();
        settings.set("VectorPort", Some(daemon.port.to_string()));
        let studio = studio_with(&settings, signals, switches);
        pair(&studio, &daemon);
        Self { home, daemon, settings, studio }
    }

    /// The output of `vector` for this ledger.
    fn vector(&self, args: &[&str]) -> String {
        let home = self.home.path().display().to_string();
        let output = self.home.run(&[args, &["--home", home.as_str()]].concat(), "");
        assert_eq!(output.code, 0, "{}", output.stderr);
        output.stdout
    }

    /// Sends a request, and waits for the card.
    fn propose(&self, text: &str) {
        ask(&self.studio, text);
        until_there(&self.studio, "Approve");
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        // After any test, the plugin must have written nothing outside a recording, and raised no
        // error.
        assert_eq!(self.studio.unrecorded_writes(), Vec::<String>::new());
        assert_eq!(self.studio.errors(), Vec::<String>::new());
        // Where nothing else serves.
        let deprecated = self.studio.deprecated_calls();
        assert!(deprecated.iter().all(|it| it == "DataModel:GetObjects"), "{deprecated:?}");
        assert!(self.studio.most_in_flight() <= 2, "{}", self.studio.most_in_flight());
    }
}
