//! The plugin's work per frame stays bounded in a place of 100,000 instances. The work of one
//! resumption is counted in units of the simulator, so that the bound is the same on every machine.

use std::time::Duration;

use serde_json::Value as Json;
use studio_sim::{Options, SharedSettings, Signals, Studio};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;

use super::{ask, eval, load, pair, shows, until, until_shown};

/// The maximum units of one resumption. A slice of 4 ms is 40,000 of them, and one in a frame of
/// 1/15 s is 167,000; the work before and after it in the same resumption, such as the JSON of one
/// update, may take 20,000.
fn most_units() -> u64 {
    if super::switches().slow_frames { 190_000 } else { 60_000 }
}

/// A hundred thousand instances, and scripts, one of them longer than Studio's script editor likes.
const LARGE: &str = r#"
for a = 1, 20 do
	local region = Instance.new("Folder")
	region.Name = `Region{a}`
	for b = 1, 50 do
		local model = Instance.new("Model")
		for c = 1, 99 do
			local part = Instance.new("Part")
			part.Parent = model
		end
		model.Parent = region
	end
	region.Parent = workspace
end
for n = 1, 300 do
	local script = Instance.new("ModuleScript")
	script.Name = `Module{n}`
	script.Source = string.rep("local value = 1\n", if n == 7 then 12000 else 100)
	script.Parent = game:GetService("ServerScriptService")
end
"#;

/// Moves everything into one folder outside the place.
const TAKE_OUT: &str = r#"
local all = Instance.new("Folder")
all.Name = "All"
for n = 1, 20 do
	workspace[`Region{n}`].Parent = all
end
_G.all = all
"#;

struct Watched {
    studio: Studio,
    signals: Signals,
}

impl Watched {
    /// Runs for some seconds, and asserts that the plugin stayed within its units since the last
    /// check.
    #[track_caller]
    fn holds(&self, what: &str, seconds: f64) {
        self.studio.run_for(seconds);
        let most = self.studio.most_work();
        let longest = self.studio.longest_resumption();
        println!("{:?}, {what}: {} units, {longest:?}", self.signals, most.units);
        assert!(
            most.units <= most_units(),
            "{:?}, {what}: {} units in one go, at {:#?}",
            self.signals,
            most.units,
            most.traces
        );
        self.studio.reset_meter();
    }
}

fn lives_with_100_000_instances(signals: Signals) {
    let home = Home::new();
    let daemon = Daemon::start(binary::vector(), home.path());
    let settings = SharedSettings::default();
    settings.set("VectorPort", Some(daemon.port.to_string()));
    let script_timeout = Duration::from_mins(2);
    let studio = Studio::new(Options {
        signals,
        settings,
        script_timeout,
        switches: super::switches(),
        ..Options::default()
    })
    .unwrap();
    eval(&studio, LARGE);
    load(&studio);
    let it = Watched { studio, signals };
    let studio = &it.studio;
    it.holds("the widget is built", 0.1);
    pair(studio, &daemon);
    until_shown(studio, "Connected");
    it.holds("the place is read", 1.0);
    eval(studio, TAKE_OUT);
    it.holds("nearly everything leaves at once", 3.0);
    eval(studio, "_G.all.Parent = workspace");
    it.holds("and comes back", 6.0);
    assert!(studio.undo());
    it.holds("it is undone", 3.0);
    let left = |studio: &Studio| shows(studio, "Connected") && mirrored(&daemon, &home) < 10_000;
    until(studio, "the daemon is told that all left", left);
    assert!(studio.redo());
    it.holds("and redone", 6.0);
    until(studio, "the daemon is told that all is back", |_| mirrored(&daemon, &home) > 100_000);
    ask(studio, "delete #Region1 > Model");
    until_shown(studio, "Waiting for your decision");
    it.holds("a card of many rows", 1.0);
    studio.click_text("Stop").unwrap();
    until(studio, "it has ended", |studio| !shows(studio, "Stop"));
    ask(
        studio,
        "replace \"local value = 1\" with \"local value = 2\" in game.ServerScriptService.Module7",
    );
    it.holds("a long script is looked at", 3.0);
    studio.unload_plugin();
    load(studio);
    until_shown(studio, "Connected");
    it.holds("the plugin is loaded again", 3.0);
    eval(studio, "workspace.All:Destroy()");
    it.holds("nearly everything is destroyed", 3.0);
    assert_eq!(studio.errors(), Vec::<String>::new());
}

/// What the daemon answers to a person.
pub(super) fn read(daemon: &Daemon, home: &Home, path: &str) -> Json {
    let kept = std::fs::read_to_string(home.path().join("token")).unwrap();
    daemon.call("GET", path, kept.split_whitespace().nth(1), &Json::Null).ok()
}

/// The number of instances in the daemon's mirror.
pub(super) fn mirrored(daemon: &Daemon, home: &Home) -> u64 {
    let sessions = read(daemon, home, "/api/sessions");
    sessions["sessions"][0]["instances"].as_u64().unwrap()
}

#[test]
fn studio_stays_responsive_with_immediate_signals() {
    lives_with_100_000_instances(Signals::Immediate);
}

#[test]
fn studio_stays_responsive_with_deferred_signals() {
    lives_with_100_000_instances(Signals::Deferred);
}

/// Ten thousand parts in one folder.
const FLAT: &str = r#"
local flat = Instance.new("Folder")
flat.Name = "Flat"
for n = 1, 10000 do
	local part = Instance.new("Part")
	part.Name = `Part{n % 2500}`
	part.Parent = flat
end
flat.Parent = workspace
"#;

/// The maximum units of one resumption while a proposal is performed: 30 ms.
const MOST_PERFORMING: u64 = 300_000;

#[test]
fn ten_thousand_sets_among_siblings_leave_studio_its_frames() {
    let desk = super::Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    until_shown(studio, "Connected");
    eval(studio, FLAT);
    studio.run_for(5.0);
    studio.reset_meter();
    desk.propose("set Anchored = true on #Flat > Part");
    studio.run_for(1.0);
    let most = studio.most_work();
    println!("card: {} units, {:?}", most.units, studio.longest_resumption());
    assert!(most.units <= most_units(), "{} units, at {:#?}", most.units, most.traces);
    studio.reset_meter();
    super::click(studio, "Approve");
    until_shown(studio, "Step 1: applied");
    let most = studio.most_work();
    println!("{} units, {:?}", most.units, studio.longest_resumption());
    assert!(most.units <= MOST_PERFORMING, "{} units, at {:#?}", most.units, most.traces);
    let anchored = "local n = 0 for _, it in workspace.Flat:GetChildren() do \
                    n += if it.Anchored then 1 else 0 end return n";
    assert_eq!(eval(studio, anchored), 10_000);
    assert!(studio.undo());
    assert_eq!(eval(studio, anchored), 0);
}

/// A person drags five hundred parts for a second. Returns the units of the longest resumption and of
/// the frame with the most work.
fn drag(studio: &Studio) -> (u64, u64) {
    studio.reset_meter();
    for _ in 0..60 {
        eval(
            studio,
            "for n, it in workspace.Flat:GetChildren() do
                if n > 500 then break end
                it.CFrame += Vector3.xAxis
            end",
        );
        studio.step();
    }
    let (most, frame) = (studio.most_work(), studio.most_frame_work());
    println!("{} units, {frame} units a frame", most.units);
    (most.units, frame)
}

#[test]
fn drag_of_five_hundred_parts_leaves_studio_its_frames() {
    let desk = super::Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    until(studio, "the place is read", |_| mirrored(&desk.daemon, &desk.home) > 10);
    // The plugin listens to all properties of parts that were added since it read the place.
    eval(studio, FLAT);
    studio.run_for(5.0);
    let (most, frame) = drag(studio);
    assert!(most <= most_units(), "{most} units");
    assert!(frame <= MOST_DRAGGING, "{frame} units a frame");
}

/// The daemon has read none of the parts, and knows no values of theirs that could change.
#[test]
fn drag_of_parts_that_nobody_read_costs_nothing() {
    let home = Home::new();
    let daemon = Daemon::start(binary::vector(), home.path());
    let settings = SharedSettings::default();
    settings.set("VectorPort", Some(daemon.port.to_string()));
    let switches = super::switches();
    let options = Options { settings, switches, signals: Signals::Deferred, ..Options::default() };
    let studio = Studio::new(options).unwrap();
    eval(&studio, FLAT);
    load(&studio);
    pair(&studio, &daemon);
    until(&studio, "the place is read", |_| mirrored(&daemon, &home) > 10_000);
    // Answers that come later on a slow machine would be handled in the frames that are measured.
    until_shown(&studio, "Asks before every change");
    until_shown(&studio, "Connected");
    until(&studio, "only a poll is under way", |studio| studio.in_flight() == 1);
    studio.run_for(2.0);
    let (_, frame) = drag(&studio);
    assert!(frame <= 10_000, "{frame} units a frame");
    // A change of what was read is reported all the same.
    super::ask(&studio, "set Transparency = 0.5 on game.Workspace.Flat.Part1[1]");
    super::until_there(&studio, "Approve");
    eval(&studio, "workspace.Flat:FindFirstChild('Part1').Transparency = 0.25");
    until_shown(&studio, "Transparency: 0.25 → 0.5");
}

/// The maximum units of a frame in which a person drags five hundred parts: 28 µs for each part, most of
/// it for the engine's calls of the handlers of `Changed`.
const MOST_DRAGGING: u64 = 140_000;

#[test]
fn place_is_read_while_another_window_is_in_front() {
    let home = Home::new();
    let daemon = Daemon::start(binary::vector(), home.path());
    let settings = SharedSettings::default();
    settings.set("VectorPort", Some(daemon.port.to_string()));
    let switches = super::switches();
    let studio = Studio::new(Options { settings, switches, ..Options::default() }).unwrap();
    eval(&studio, LARGE);
    load(&studio);
    pair(&studio, &daemon);
    studio.set_focused(false);
    let began = studio.now();
    until(&studio, "the place is read", |_| mirrored(&daemon, &home) > 100_000);
    println!("read in {} s", studio.now() - began);
    // With 4 ms in each of four frames a second it takes 145 s.
    assert!(studio.now() - began < 90.0, "{} s", studio.now() - began);
}
