//! Binds the modeled plugin to the real one: both are offered the same work repeatedly, and have to
//! report and apply the same.
//!
//! Each row of the table is what happens to one proposal. The real plugin is its own modules `Work`,
//! `Apply`, `Memory` and `Editor` in the simulated Studio, with a client that keeps what is reported.

use std::fs;
use std::path::Path;

use studio_sim::{Options, Signals, Studio, models};
use vector_tests::repository;

use super::explore::Explore;
use super::state::StepEvent;
use super::state::{
    LOADED, ModelState, NO_EFFECT, PluginPost, PluginState, PostSlot, ReportedOutcome, WorkMemory,
};
use super::{ALONE, FREE, ModelCase, ProposalKind};

/// What happens to the proposal, which is work 1 in every epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorkEvent {
    /// The work is offered, and the plugin ends it.
    Offer,
    /// The work is offered, and a new epoch begins while it is applied.
    OfferAcrossEpochs,
    NewEpoch,
    /// The plugin is loaded again.
    Reload,
    /// The plugin was closed after it had begun the work, and before it changed anything.
    RememberBegun,
    /// What the plugin had begun to write stays, though its recording was not finished.
    LeaveWritten,
    /// The user types over the script.
    TypeOver,
    /// The user restores the text that the proposal was planned on.
    TakeBack,
}

use WorkEvent::{
    LeaveWritten, NewEpoch, Offer, OfferAcrossEpochs, Reload, RememberBegun, TakeBack, TypeOver,
};

const APPLIED: ReportedOutcome = ReportedOutcome::Applied;
const STALE: ReportedOutcome = ReportedOutcome::Stale;
const DIVERGED: ReportedOutcome = ReportedOutcome::Diverged;

/// The events, the reported outcomes, and how often the proposal is applied.
type CaseRow = (&'static [WorkEvent], &'static [ReportedOutcome], usize);

/// The rows for all proposals.
const ANY_KIND: [CaseRow; 6] = [
    (&[Offer], &[APPLIED], 1),
    (&[Offer, Offer], &[APPLIED], 1),
    (&[Offer, NewEpoch, Offer], &[APPLIED, APPLIED], 1),
    (&[Offer, Reload, Offer], &[APPLIED, APPLIED], 1),
    (&[OfferAcrossEpochs, Offer], &[APPLIED], 1),
    (&[RememberBegun, Reload, Offer], &[APPLIED], 1),
];

/// The rows for proposals that write a script.
const WRITES: [CaseRow; 7] = [
    (&[RememberBegun, LeaveWritten, Reload, Offer], &[DIVERGED], 0),
    (&[RememberBegun, TypeOver, Reload, Offer], &[DIVERGED], 0),
    (&[TypeOver, Offer], &[STALE], 0),
    (&[TypeOver, Offer, TakeBack, Offer], &[STALE], 0),
    (&[TypeOver, Offer, TakeBack, NewEpoch, Offer], &[STALE, APPLIED], 1),
    (&[Offer, TypeOver, Reload, Offer], &[APPLIED, APPLIED], 1),
    (&[Offer, TypeOver, TakeBack, NewEpoch, Offer], &[APPLIED, APPLIED], 1),
];

fn list_rows(kind: ProposalKind) -> Vec<CaseRow> {
    match kind {
        ProposalKind::Create => ANY_KIND.to_vec(),
        ProposalKind::Write => ANY_KIND.into_iter().chain(WRITES).collect(),
    }
}

/// The modeled plugin, without a daemon: each post is accepted.
struct ModeledPlugin<'a> {
    case: &'a ModelCase,
    state: ModelState,
    reports: Vec<ReportedOutcome>,
}

impl<'a> ModeledPlugin<'a> {
    fn new(case: &'a ModelCase) -> Self {
        let plugin = PluginState { epoch: 1, is_ended: false, ..LOADED };
        let state = ModelState { plugin, place: NO_EFFECT, times: [0; 2], ..case.initial_state() };
        Self { case, state, reports: Vec::new() }
    }

    fn perform(&mut self, event: WorkEvent) {
        let s = &mut self.state;
        match event {
            WorkEvent::Offer => {
                self.case.take_work(s, [1, 0], false);
                self.finish_work();
            }
            WorkEvent::OfferAcrossEpochs => {
                self.case.take_work(s, [1, 0], false);
                self.begin_epoch();
                self.finish_work();
            }
            WorkEvent::NewEpoch => self.begin_epoch(),
            WorkEvent::Reload => {
                let (memory, epoch) = (s.plugin.memory, s.plugin.epoch + 1);
                s.plugin = PluginState { memory, epoch, is_ended: false, ..LOADED };
            }
            WorkEvent::RememberBegun => s.plugin.memory[0] = WorkMemory::Begun,
            WorkEvent::LeaveWritten => s.place.there[0] = true,
            WorkEvent::TypeOver => (s.place.there[0], s.place.other[0]) = (false, true),
            WorkEvent::TakeBack => s.place.other[0] = false,
        }
    }

    fn begin_epoch(&mut self) {
        let epoch = self.state.plugin.epoch + 1;
        ModelCase::begin_epoch(&mut self.state, epoch);
    }

    fn finish_work(&mut self) {
        while self.state.plugin.doing.is_some() {
            if let PostSlot::Asked(request) = self.state.plugin.slot {
                if let PluginPost::Ack(_, outcome) = request.post {
                    self.reports.push(outcome);
                }
                self.case.handle_answer(&mut self.state, request.post, true);
                continue;
            }
            let mut next = None;
            let mut add = |_: StepEvent, _: usize, to: ModelState| next = Some(to);
            self.case.work_steps(&self.state, &mut add);
            self.state = next.expect("the plugin goes on with its work");
        }
    }
}

const SCRIPT_PATH: &str = "ServerScriptService.Main";

const PLACE: &str = r#"
local main = Instance.new("Script")
main.Name = "Main"
main.Source = "print(1)\n"
main.Parent = game:GetService("ServerScriptService")
"#;

/// Stands in for the plugin's entry point.
const ENTRY: &str = r#"
local Apply = require("@self/Apply")
local Hash = require("@self/Hash")
local Memory = require("@self/Memory")
local Mirror = require("@self/Mirror")
local Work = require("@self/Work")

local epoch, isEnding, reports = 1, false, {}
local mirror = Mirror.new(function() return true end, function() end)
mirror:start()
local work: any

local function beginEpoch()
	epoch += 1
	work.renew()
end

work = Work({
	client = {
		say = function(_, _, body)
			table.insert(reports, body.outcome.outcome)
			return {}, nil
		end,
	} :: any,
	mirror = mirror,
	apply = Apply(mirror, function() end),
	session = "window",
	epoch = function() return epoch end,
	dispatch = function(action)
		if action.type == "applying" and isEnding then
			isEnding = false
			beginEpoch()
		end
	end,
	playtests = { finish = function() end } :: any,
})

local function targetOf(instance: Instance, path: string)
	return { id = mirror:idOf(instance), path = path }
end

local function actionOf(kind: string): any
	if kind == "write" then
		local script = game:GetService("ServerScriptService"):FindFirstChild("Main") :: Instance
		return {
			action = "write",
			target = targetOf(script, "game.ServerScriptService.Main"),
			expect = Hash("print(1)\n"),
			text = "print(2)\n",
			after = Hash("print(2)\n"),
		}
	end
	return {
		action = "create",
		id = "new:0",
		parent = targetOf(workspace, "game.Workspace"),
		class = "Folder",
		name = "Made",
		props = {},
	}
end

local function entryOf(): any
	return { proposal = 4, patch_id = "patch", recording = "Vector 4", title = "A change" }
end

_G.modelBench = {
	offer = function(kind: string, isAcross: boolean)
		local apply = entryOf()
		apply.number, apply.actions, isEnding = 1, { actionOf(kind) }, isAcross
		work.take({ { work = "apply", apply = apply } })
		-- Work is at hand until it has ended; that of an earlier epoch is not listed.
		repeat
			task.wait(0.1)
		until #work.atHand() == 0
		task.wait(0.5)
		local found = reports
		reports = {}
		return found
	end,
	beginEpoch = beginEpoch,
	rememberBegun = function()
		local entry = entryOf()
		entry.outcome = { outcome = "begun" }
		Memory.remember(entry)
	end,
}
"#;

/// The modules of the plugin in a simulated Studio.
struct RealPlugin {
    studio: Studio,
    bytes: Vec<u8>,
    kind: ProposalKind,
    reports: Vec<ReportedOutcome>,
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copy = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &copy);
        } else {
            fs::copy(&path, &copy).unwrap();
        }
    }
}

/// Builds the plugin with another entry point.
fn build_bench() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&repository::root().join("plugin/src"), folder.path());
    fs::write(folder.path().join("init.server.luau"), ENTRY).unwrap();
    models::plugin_from_folder(folder.path(), "Vector").unwrap()
}

impl RealPlugin {
    fn new(kind: ProposalKind, bytes: &[u8]) -> Self {
        let studio =
            Studio::new(Options { signals: Signals::Deferred, ..Options::default() }).unwrap();
        studio.eval(PLACE).unwrap();
        studio.load_plugin(bytes).unwrap();
        Self { studio, bytes: bytes.to_vec(), kind, reports: Vec::new() }
    }

    fn eval(&self, luau: &str) -> serde_json::Value {
        self.studio.eval_as_plugin(luau).unwrap_or_else(|error| panic!("{luau}: {error}"))
    }

    fn offer(&mut self, is_across: bool) {
        let kind = match self.kind {
            ProposalKind::Write => "write",
            ProposalKind::Create => "create",
        };
        let found = self.eval(&format!("return _G.modelBench.offer({kind:?}, {is_across})"));
        let outcomes = found.as_array().cloned().unwrap_or_default();
        self.reports.extend(outcomes.iter().map(|outcome| match outcome.as_str() {
            Some("applied") => ReportedOutcome::Applied,
            Some("stale") => ReportedOutcome::Stale,
            Some("refused") => ReportedOutcome::Refused,
            Some("diverged") => ReportedOutcome::Diverged,
            _ => panic!("the plugin reports {outcome}"),
        }));
    }

    fn perform(&mut self, event: WorkEvent) {
        match event {
            WorkEvent::Offer => self.offer(false),
            WorkEvent::OfferAcrossEpochs => self.offer(true),
            WorkEvent::NewEpoch => drop(self.eval("_G.modelBench.beginEpoch()")),
            WorkEvent::Reload => {
                self.studio.unload_plugin();
                self.studio.load_plugin(&self.bytes).unwrap();
            }
            WorkEvent::RememberBegun => drop(self.eval("_G.modelBench.rememberBegun()")),
            WorkEvent::LeaveWritten => {
                self.studio.edit_script(SCRIPT_PATH, "print(2)\n", false);
            }
            WorkEvent::TypeOver => {
                self.studio.edit_script(SCRIPT_PATH, "print(\"typed\")\n", false);
            }
            WorkEvent::TakeBack => self.studio.edit_script(SCRIPT_PATH, "print(1)\n", false),
        }
    }

    /// How often the proposal was applied: each time is one undo step.
    fn count_steps(&self) -> usize {
        let names = self.studio.undo_stack_names();
        names.iter().filter(|name| name.starts_with("Vector")).count()
    }
}

#[test]
fn plugin_treats_repeated_work_as_the_modeled_one() {
    let bytes = build_bench();
    for case in [&FREE, &ModelCase { kinds: [ProposalKind::Create; 2], ..ALONE }] {
        let kind = case.kinds[0];
        for (events, reports, times) in list_rows(kind) {
            let mut modeled = ModeledPlugin::new(case);
            let mut real = RealPlugin::new(kind, &bytes);
            for event in events {
                modeled.perform(*event);
                real.perform(*event);
            }
            let what = format!("{kind:?}, {events:?}");
            assert_eq!(modeled.reports, reports, "the model: {what}");
            assert_eq!(usize::from(modeled.state.times[0]), times, "the model: {what}");
            assert_eq!(real.reports, reports, "the plugin: {what}");
            assert_eq!(real.count_steps(), times, "the plugin: {what}");
            assert_eq!(real.studio.errors(), Vec::<String>::new(), "{what}");
        }
    }
}
