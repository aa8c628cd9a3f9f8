//! The game of a spec, and the driver of its cases.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use mlua::{LuaString, Table};
use vector_core::specs::{CaseFailure, CaseOutcome, SpecCase};
use vector_place::{Node, Scene};

use super::{GRACE, JestProject, SpecClock, SpecLimits, SpecProgress, SpecRun, send_progress};
use crate::engine::{Engine, EngineExtension, EngineFile};
use crate::meter::{Meter, StopSignal};
use crate::play::{GAME, open_game};
use crate::scene::{FRAME, Handles, call, is_out_of_memory};
use crate::space::Space;

/// What specs need beside a game.
const SPECS: &[EngineFile] = &[
    ("expect", include_str!("../luau/specs/expect.luau")),
    ("plan", include_str!("../luau/specs/plan.luau")),
    ("cases", include_str!("../luau/specs/cases.luau")),
    ("jest", include_str!("../luau/specs/jest.luau")),
];

/// The maximum length of a case's title, a script's path or a printed line, in bytes.
const MAX_LINE: usize = 1_000;
/// The maximum number of lines that are kept of a case.
const MAX_LINES: usize = 100;
/// The maximum length of a failure, in bytes.
const MAX_FAILURE: usize = 2_000;
/// The same, after the spec has used up its budget for failures.
const MAX_LATER_FAILURE: usize = 200;

/// The maximum output and the maximum total of failure texts per spec, in bytes.
pub(super) const MAX_OUTPUT: usize = 64 << 10;
const MAX_FAILURES: usize = 256 << 10;

/// Extra memory for the driver, in case a spec has used up its own, in bytes.
const RESERVE: usize = 8 << 20;

/// How much of the simulated time a case may wait for, in seconds.
const MAX_WAIT: f64 = 86_400.0;

/// The failure, the name of its script, its number and line, the output, and what is not in the runtime.
type CaseEnd =
    (Option<LuaString>, Option<LuaString>, Option<u32>, Option<f64>, Table, Option<String>);

/// The deadline of the running code.
#[derive(Debug)]
struct VmDeadline {
    clock: SpecClock,
    until: Cell<Instant>,
}

impl VmDeadline {
    fn start_case(&self, limits: SpecLimits) {
        self.until.set((Instant::now() + limits.case_time).min(self.clock.until));
    }

    /// Sets a deadline for the driver, so that it can report the end of a case that has exceeded
    /// its time.
    fn extend_for_driver(&self) {
        self.until.set(Instant::now() + GRACE);
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until.get() || self.clock.is_stopped.load(Ordering::Relaxed)
    }
}

/// The budget for the results that are kept of a spec.
#[derive(Debug)]
struct OutputBudget<'a> {
    /// The number of cases left for all specs.
    cases: &'a mut usize,
    /// The remaining bytes of output.
    output: usize,
    /// The remaining bytes of failure texts.
    failures: usize,
}

impl OutputBudget<'_> {
    fn take_failure(&mut self, message: &LuaString) -> String {
        let limit = if self.failures > 0 { MAX_FAILURE } else { MAX_LATER_FAILURE };
        let message = clip_text(message, limit);
        self.failures = self.failures.saturating_sub(message.len());
        message
    }

    fn take_output(&mut self, lines: &Table) -> mlua::Result<Vec<String>> {
        let mut kept = Vec::new();
        for line in lines.sequence_values::<LuaString>() {
            let line = clip_text(&line?, MAX_LINE);
            let Some(left) = self.output.checked_sub(line.len() + 1) else {
                break;
            };
            self.output = left;
            kept.push(line);
        }
        Ok(kept)
    }
}

/// A VM that runs a spec.
struct SpecVm<'e, 's> {
    engine: &'e Engine,
    handles: &'e Handles<'s>,
    meter: &'e Meter,
    deadline: &'e VmDeadline,
    limits: SpecLimits,
    /// The memory in use after the last garbage collection, in bytes.
    retained_bytes: Cell<usize>,
}

/// Runs one spec.
///
/// # Errors
/// Fails if the spec could not run, or not to its end.
pub(super) fn run_spec(run: &mut SpecRun<'_>, spec: Node, index: usize) -> Result<(), CaseFailure> {
    let SpecRun { scene, limits, clock, cases_left, sender } = run;
    with_vm(scene, *limits, clock, |vm| {
        let budget = OutputBudget { cases: cases_left, output: MAX_OUTPUT, failures: MAX_FAILURES };
        vm.run_cases(spec, index, budget, sender)
    })
}

/// Has Jest run the specs of a project, of which the first has this index.
///
/// # Errors
/// Fails if Jest could not run, or not to its end.
pub(super) fn run_jest(
    run: &mut SpecRun<'_>,
    jest: &JestProject,
    specs: &[Node],
    first: usize,
) -> Result<(), CaseFailure> {
    let Some(module) = jest.module else {
        return Err(fail(
            "there is a jest.config, but no ModuleScript named Jest: install Jest-Lua into the place",
        ));
    };
    // Jest runs all of them in one go.
    let limits = SpecLimits { case_time: run.limits.total_time, ..run.limits };
    let SpecRun { scene, clock, cases_left, sender, .. } = run;
    with_vm(scene, limits, clock, |vm| {
        let mut budget =
            OutputBudget { cases: cases_left, output: MAX_OUTPUT, failures: MAX_FAILURES };
        let handle = |node: Node| vm.handles.handle(node);
        let nodes: Vec<u32> = specs.iter().map(|node| handle(*node)).collect();
        let args = (handle(jest.root), handle(module), nodes);
        let ran = vm.drive("runJest", args, &mut budget)?;
        let results: Option<Table> = vm.call_driver("jestResults", ())?;
        let Some(results) = results else {
            let failure = ran.failure.unwrap_or_else(|| fail("Jest did not finish"));
            return Err(failure);
        };
        for number in 1..=specs.len() {
            let index = first + number - 1;
            let file: Option<Table> = results.get(number).map_err(|error| vm_failure(&error))?;
            let failure = if let Some(file) = file {
                vm.report_file(index, &file, &mut budget, sender)?
            } else {
                let name = "jest.config leaves it out".to_owned();
                let outcome = CaseOutcome::Skipped;
                let case = SpecCase::without_output(name, outcome, None);
                send_progress(sender, SpecProgress::Case(index, case));
                None
            };
            send_progress(sender, SpecProgress::Done(index, failure));
        }
        Ok(())
    })
}

/// Starts a game for specs, and does something with it.
fn with_vm(
    scene: &Scene,
    limits: SpecLimits,
    clock: &SpecClock,
    act: impl FnOnce(&SpecVm<'_, '_>) -> Result<(), CaseFailure>,
) -> Result<(), CaseFailure> {
    let deadline =
        Rc::new(VmDeadline { clock: clock.clone(), until: Cell::new(Instant::now() + GRACE) });
    let own = Rc::clone(&deadline);
    let stop = StopSignal::new(move || own.is_over());
    let meter = Rc::new(Meter::new(Duration::MAX).with_stop(stop).with_every_look());
    let files: Vec<EngineFile> = GAME.iter().chain(SPECS).copied().collect();
    let extension = EngineExtension { classes: &[], place: &files };
    let engine =
        Engine::start(&meter, extension, |_, _| Ok(())).map_err(|error| vm_failure(&error))?;
    let handles = Handles::new(scene);
    let space = Space::new(&handles);
    let mut end = Ok(());
    let run = engine.lua.scope(|scope| {
        let options: Table = engine.table.get("options")?;
        options.set("maxLines", MAX_LINES)?;
        options.set("maxLine", MAX_LINE)?;
        open_game(&engine, scope, &space, &meter)?;
        call::<()>(&engine, "openSpec", ())?;
        meter.set_stops_engine(true);
        end = act(&SpecVm {
            engine: &engine,
            handles: &handles,
            meter: &meter,
            deadline: &deadline,
            limits,
            retained_bytes: Cell::new(0),
        });
        Ok(())
    });
    run.map_err(|error| vm_failure(&error))?;
    end
}

fn vm_failure(error: &mlua::Error) -> CaseFailure {
    fail(format!("the runtime failed: {error}"))
}

fn fail(message: impl Into<String>) -> CaseFailure {
    let mut message = message.into();
    message.truncate(message.floor_char_boundary(MAX_FAILURE));
    CaseFailure { at: None, message }
}

impl SpecVm<'_, '_> {
    /// Plans the spec and runs its cases.
    fn run_cases(
        &self,
        spec: Node,
        index: usize,
        mut budget: OutputBudget<'_>,
        sender: &Sender<SpecProgress>,
    ) -> Result<(), CaseFailure> {
        let planned = self.drive("planSpec", self.handles.handle(spec), &mut budget)?;
        if let Some(failure) = planned.failure {
            return Err(failure);
        }
        let (cases, has_more): (u32, bool) = self.call_driver("countCases", ())?;
        for number in 1..=cases {
            if self.deadline.clock.is_over() {
                let message = "the time of all specs is over; the cases from here on did not run";
                return Err(fail(message));
            }
            let Some(left) = budget.cases.checked_sub(1) else {
                return Err(fail(
                    "all specs together have too many cases; those from here on did not run; run \
                     fewer specs at once",
                ));
            };
            *budget.cases = left;
            let (title, is_skipped): (LuaString, bool) = self.call_driver("caseTitle", number)?;
            let name = clip_text(&title, MAX_LINE);
            let case = if is_skipped {
                SpecCase::without_output(name, CaseOutcome::Skipped, None)
            } else {
                SpecCase { name, ..self.drive("startCase", number, &mut budget)? }
            };
            if !send_progress(sender, SpecProgress::Case(index, case)) {
                return Ok(());
            }
        }
        if has_more {
            return Err(fail("it has over 10,000 cases; those behind did not run; split the spec"));
        }
        Ok(())
    }

    /// Calls a function of the engine that runs no code of the spec.
    fn call_driver<T: mlua::FromLuaMulti>(
        &self,
        name: &str,
        args: impl mlua::IntoLuaMulti,
    ) -> Result<T, CaseFailure> {
        self.deadline.extend_for_driver();
        self.set_memory_limit(self.limits.memory_bytes + RESERVE)?;
        call(self.engine, name, args).map_err(|error| vm_failure(&error))
    }

    fn set_memory_limit(&self, memory: usize) -> Result<(), CaseFailure> {
        self.engine.lua.set_memory_limit(memory).map(drop).map_err(|error| vm_failure(&error))
    }

    /// Calls a function that starts code of the spec, and lets time pass until that has ended. The case
    /// has no name yet.
    fn drive(
        &self,
        name: &str,
        args: impl mlua::IntoLuaMulti,
        budget: &mut OutputBudget<'_>,
    ) -> Result<SpecCase, CaseFailure> {
        self.set_memory_limit(self.limits.memory_bytes)?;
        self.meter.take_stopped_at();
        self.deadline.start_case(self.limits);
        let ended = call::<()>(self.engine, name, args)
            .map_err(|error| self.stop_reason(&error))
            .and_then(|()| self.run_to_end());
        self.set_memory_limit(self.limits.memory_bytes + RESERVE)?;
        let is_stopped = ended.is_err();
        if is_stopped {
            self.call_driver::<()>("stopSpec", ())?;
        }
        self.collect_garbage()?;
        let (message, source, script, line, output, missing): CaseEnd =
            self.call_driver("specOutcome", ())?;
        let failure = match (ended, message) {
            (Err(failure), _) => Some(failure),
            (Ok(()), Some(message)) => {
                let path = script.and_then(|script| self.handles.instance_path(script));
                let path = path.or_else(|| source.map(|source| clip_text(&source, MAX_LINE)));
                Some(CaseFailure {
                    at: path.zip(line.map(|line| line as u32)),
                    message: budget.take_failure(&message),
                })
            }
            (Ok(()), None) => None,
        };
        let (outcome, failure) = match (missing.filter(|_| !is_stopped), failure) {
            (Some(what), failure) => {
                let message = format!(
                    "not known: it uses {what}, which Roblox has and Vector's runtime has not"
                );
                let at = failure.and_then(|failure| failure.at);
                (CaseOutcome::Unknown, Some(CaseFailure { at, message }))
            }
            (None, Some(failure)) => (CaseOutcome::Failed, Some(failure)),
            (None, None) => (CaseOutcome::Passed, None),
        };
        let output = match &failure {
            Some(_) => budget.take_output(&output).map_err(|error| vm_failure(&error))?,
            None => Vec::new(),
        };
        Ok(SpecCase { output, ..SpecCase::without_output(String::new(), outcome, failure) })
    }

    /// Reports the cases of a spec that Jest ran. Returns why the spec did not run to its end.
    fn report_file(
        &self,
        index: usize,
        file: &Table,
        budget: &mut OutputBudget<'_>,
        sender: &Sender<SpecProgress>,
    ) -> Result<Option<CaseFailure>, CaseFailure> {
        let read = |error: mlua::Error| vm_failure(&error);
        let failure_of = |row: &Table, budget: &mut OutputBudget<'_>| {
            let Some(failure) = row.get::<Option<Table>>("failure")? else {
                return Ok(None);
            };
            let script: Option<u32> = failure.get("script")?;
            let path = script.and_then(|script| self.handles.instance_path(script));
            let line: Option<f64> = failure.get("line")?;
            let at = path.zip(line.map(|line| line as u32));
            let message = budget.take_failure(&failure.get("message")?);
            Ok(Some(CaseFailure { at, message }))
        };
        let mut output = budget.take_output(&file.get("output").map_err(read)?).map_err(read)?;
        for row in file.get::<Vec<Table>>("cases").map_err(read)? {
            let Some(left) = budget.cases.checked_sub(1) else {
                return Ok(Some(fail("all specs together have too many cases")));
            };
            *budget.cases = left;
            let outcome: String = row.get("outcome").map_err(read)?;
            let outcome = match outcome.as_str() {
                "passed" => CaseOutcome::Passed,
                "failed" => CaseOutcome::Failed,
                "unknown" => CaseOutcome::Unknown,
                _ => CaseOutcome::Skipped,
            };
            let failure = failure_of(&row, budget).map_err(read)?;
            // Jest keeps the output of a file and not that of a case.
            let output = if failure.is_some() { std::mem::take(&mut output) } else { Vec::new() };
            let name = clip_text(&row.get("name").map_err(read)?, MAX_LINE);
            let case = SpecCase { output, ..SpecCase::without_output(name, outcome, failure) };
            if !send_progress(sender, SpecProgress::Case(index, case)) {
                break;
            }
        }
        failure_of(file, budget).map_err(read)
    }

    /// Lets time pass until what was started has ended.
    fn run_to_end(&self) -> Result<(), CaseFailure> {
        let read = |error: mlua::Error| self.stop_reason(&error);
        let began: f64 = self.engine.table.get("now").map_err(read)?;
        loop {
            if self.meter.is_stopped() {
                return Err(self.timeout());
            }
            match call::<String>(self.engine, "specState", ()).map_err(read)?.as_str() {
                "done" => return Ok(()),
                "closed" => return Err(fail("its thread was closed before its end")),
                _ => {}
            }
            let now: f64 = self.engine.table.get("now").map_err(read)?;
            let wants_frames: bool = call(self.engine, "wantsFrames", ()).map_err(read)?;
            let due: Option<f64> = call(self.engine, "nextDue", ()).map_err(read)?;
            let wait = if wants_frames { Some(FRAME) } else { due };
            match wait {
                Some(wait) if now + wait - began <= MAX_WAIT => {
                    call::<()>(self.engine, "step", wait.max(FRAME)).map_err(read)?;
                }
                _ => return Err(fail("it waits for something that will never come")),
            }
        }
    }

    /// Why the engine stopped with an error.
    fn stop_reason(&self, error: &mlua::Error) -> CaseFailure {
        if self.meter.is_stopped() {
            self.timeout()
        } else if is_out_of_memory(error) {
            fail("not enough memory")
        } else {
            vm_failure(error)
        }
    }

    fn timeout(&self) -> CaseFailure {
        let seconds = self.limits.case_time.as_secs_f32();
        let mut message = format!(
            "it did not end within {seconds} s, or within the time of all specs; it was stopped"
        );
        if let Some(at) = self.meter.take_stopped_at() {
            message += &format!(" at {at}");
        }
        fail(message)
    }

    /// Collects garbage, so that memory left by one case does not count against the next.
    fn collect_garbage(&self) -> Result<(), CaseFailure> {
        let lua = &self.engine.lua;
        let (used, kept) = (lua.used_memory(), self.retained_bytes.get());
        if used > kept + self.limits.memory_bytes.saturating_sub(kept) / 2 {
            self.deadline.extend_for_driver();
            lua.gc_collect().map_err(|error| vm_failure(&error))?;
            self.retained_bytes.set(lua.used_memory());
        }
        Ok(())
    }
}

/// Truncates a text of a spec to at most `limit` bytes, at a character boundary.
fn clip_text(text: &LuaString, limit: usize) -> String {
    let bytes = text.as_bytes();
    let mut head = &bytes[..bytes.len().min(limit)];
    if let Err(error) = std::str::from_utf8(head)
        && error.error_len().is_none()
        && head.len() < bytes.len()
    {
        head = &head[..error.valid_up_to()];
    }
    let mut text = String::from_utf8_lossy(head).into_owned();
    // Replacement characters may be longer than the invalid bytes.
    text.truncate(text.floor_char_boundary(limit));
    text
}
