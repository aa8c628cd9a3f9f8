//! The VM of a spec: its contents, its restrictions, and the driver of its cases.
//!
//! Everything a spec could do to Vector passes through this module. A spec has the functions of
//! `prelude.luau` and `instances.luau`, which call [`super::world`], and Luau's own libraries
//! without those that load code and with the limits of `bounds.luau`. Running code is interrupted
//! at each call and each loop iteration to check whether its time is over.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Instant;

use mlua::chunk::{Chunk, ChunkMode};
use mlua::thread::ThreadStatus;
use mlua::{
    AnyUserData, Error, Function, Lua, LuaOptions, LuaString, StdLib, Table, Thread, Value, VmState,
};
use vector_place::SceneSnapshot;

use super::world::{self, SpecWorld};
use super::{
    CaseFailure, CaseOutcome, GRACE, SpecCase, SpecClock, SpecLimits, SpecProgress, send_progress,
    truncate_text,
};

const BOUNDS: &str = include_str!("bounds.luau");
const INSTANCES: &str = include_str!("instances.luau");
const PRELUDE: &str = include_str!("prelude.luau");

/// The maximum length of a case's title, a script's path or a printed line, in bytes.
const MAX_LINE: usize = 1_000;
/// The maximum length of a failure, in bytes.
const MAX_FAILURE: usize = 2_000;
/// The same, after the spec has used up its budget for failures.
const MAX_LATER_FAILURE: usize = 200;

/// The maximum output and the maximum total of failure texts per spec, in bytes.
pub(super) const MAX_OUTPUT: usize = 64 << 10;
const MAX_FAILURES: usize = 256 << 10;

/// The maximum size of a module, in bytes: compiling it cannot be interrupted.
const MAX_SOURCE: usize = 2 << 20;

/// Extra memory for the driver, in case a spec has used up its own, in bytes.
const RESERVE: usize = 8 << 20;

/// Globals that load code or reveal memory use.
const REMOVED_GLOBALS: [&str; 4] = ["loadstring", "require", "collectgarbage", "newproxy"];

/// Whether it ended, the failure, its script and line, and the output.
type CaseEnd = (bool, Option<LuaString>, Option<LuaString>, Option<u32>, Table);

/// The deadline of the running code.
#[derive(Debug)]
struct VmDeadline {
    clock: SpecClock,
    until: Cell<Instant>,
    is_expired: Cell<bool>,
}

impl VmDeadline {
    fn start_case(&self, limits: SpecLimits) {
        self.until.set((Instant::now() + limits.case_time).min(self.clock.until));
        self.is_expired.set(false);
    }

    /// Sets a deadline for the driver, so that it can report the end of a case that has exceeded
    /// its time.
    fn extend_for_driver(&self) {
        self.until.set(Instant::now() + GRACE);
        self.is_expired.set(false);
    }

    /// Whether the deadline has passed. The clock is read at each loop iteration, because a library
    /// call between two of them may take long.
    fn is_over(&self) -> bool {
        if !self.is_expired.get() {
            let is_time = Instant::now() >= self.until.get();
            self.is_expired.set(is_time || self.clock.is_stopped.load(Ordering::Relaxed));
        }
        self.is_expired.get()
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

/// A VM that is ready to run a spec.
struct SpecVm {
    lua: Lua,
    driver: Table,
    deadline: Rc<VmDeadline>,
    limits: SpecLimits,
    /// The memory in use after the last garbage collection, in bytes.
    retained_bytes: Cell<usize>,
}

/// Runs one spec.
///
/// # Errors
/// Fails if the spec could not run, or not to its end.
pub(super) fn run_spec(
    still: &Arc<SceneSnapshot>,
    spec: u32,
    limits: SpecLimits,
    clock: &SpecClock,
    cases: &mut usize,
    sender: &Sender<SpecProgress>,
) -> Result<(), CaseFailure> {
    let world = SpecWorld::new(Arc::clone(still));
    let (until, is_expired) = (Cell::new(clock.until), Cell::new(false));
    let alarm = Rc::new(VmDeadline { clock: clock.clone(), until, is_expired });
    let vm = SpecVm::new(&world, limits, alarm).map_err(|error| vm_failure(&error))?;
    vm.run_cases(spec, OutputBudget { cases, output: MAX_OUTPUT, failures: MAX_FAILURES }, sender)
}

fn vm_failure(error: &Error) -> CaseFailure {
    CaseFailure {
        at: None,
        message: truncate_text(&format!("the VM failed: {}", error_reason(error)), MAX_FAILURE),
    }
}

/// The message of an error, without the calls it passed through.
fn error_reason(error: &Error) -> String {
    match error {
        Error::CallbackError { cause, .. } | Error::WithContext { cause, .. } => {
            error_reason(cause)
        }
        Error::BadArgument { cause, pos, .. } => format!("argument {pos}: {}", error_reason(cause)),
        Error::RuntimeError(message) | Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

impl SpecVm {
    fn new(world: &Rc<SpecWorld>, limits: SpecLimits, alarm: Rc<VmDeadline>) -> mlua::Result<Self> {
        let libraries = StdLib::COROUTINE
            | StdLib::TABLE
            | StdLib::OS
            | StdLib::STRING
            | StdLib::UTF8
            | StdLib::BIT
            | StdLib::MATH
            | StdLib::BUFFER
            | StdLib::VECTOR
            | StdLib::DEBUG;
        let lua = Lua::new_with(libraries, LuaOptions::new())?;
        let globals = lua.globals();
        for name in REMOVED_GLOBALS {
            globals.raw_remove(name)?;
        }
        load_prelude(&lua, BOUNDS).exec()?;
        let driver: Table = load_prelude(&lua, PRELUDE).call(native_table(&lua, world)?)?;
        let add = |all: &str| {
            let all: Table = driver.get(all)?;
            all.for_each(|name: LuaString, it: Value| lua.globals().raw_set(name, it))
        };
        add("globals")?;
        world::register_methods(&lua, driver.get("instance")?)?;
        let value: Function = driver.get("value")?;
        globals.raw_set("game", value.call::<Value>(0)?)?;
        if let Some(workspace) = world.find_child(0, b"Workspace") {
            globals.raw_set("workspace", value.call::<Value>(workspace)?)?;
        }
        lua.sandbox(true)?;
        // Added after the sandbox, which makes all tables in it read-only.
        add("open")?;
        lua.set_memory_limit(limits.memory_bytes)?;
        let own = Rc::clone(&alarm);
        lua.set_interrupt(move |_| {
            if own.is_over() {
                return Err(Error::RuntimeError("its time is over".to_owned()));
            }
            Ok(VmState::Continue)
        });
        Ok(Self { lua, driver, deadline: alarm, limits, retained_bytes: Cell::new(0) })
    }

    /// Plans the spec and runs its cases.
    fn run_cases(
        &self,
        spec: u32,
        mut budget: OutputBudget<'_>,
        sender: &Sender<SpecProgress>,
    ) -> Result<(), CaseFailure> {
        let fail = |message: &str| Err(CaseFailure { at: None, message: message.to_owned() });
        if let (Some(failure), _) = self.drive_call("collect", spec, &mut budget)? {
            return Err(failure);
        }
        let (cases, has_more): (u32, bool) = self.call_prelude("plan", ())?;
        for index in 1..=cases {
            if self.deadline.clock.is_over() {
                return fail("the time of all specs is over; the cases from here on did not run");
            }
            let Some(left) = budget.cases.checked_sub(1) else {
                return fail(
                    "all specs together have too many cases; those from here on did not run; run \
                     fewer specs at once",
                );
            };
            *budget.cases = left;
            let (title, skipped): (LuaString, bool) = self.call_prelude("title", index)?;
            let name = clip_text(&title, MAX_LINE);
            let case = if skipped {
                SpecCase { name, outcome: CaseOutcome::Skipped, failure: None, output: Vec::new() }
            } else {
                let (failure, output) = self.drive_call("start", index, &mut budget)?;
                let outcome =
                    if failure.is_none() { CaseOutcome::Passed } else { CaseOutcome::Failed };
                SpecCase { name, outcome, failure, output }
            };
            if !send_progress(sender, SpecProgress::Case(case)) {
                return Ok(());
            }
        }
        if has_more {
            return fail("it has over 10,000 cases; those behind did not run; split the spec");
        }
        Ok(())
    }

    /// Calls a function of the prelude that runs no code of the spec.
    fn call_prelude<T: mlua::FromLuaMulti>(
        &self,
        name: &str,
        args: impl mlua::IntoLuaMulti,
    ) -> Result<T, CaseFailure> {
        self.deadline.extend_for_driver();
        self.set_memory_limit(self.limits.memory_bytes + RESERVE)?;
        let function: Function = self.driver.get(name).map_err(|error| vm_failure(&error))?;
        function.call(args).map_err(|error| vm_failure(&error))
    }

    fn set_memory_limit(&self, memory: usize) -> Result<(), CaseFailure> {
        self.lua.set_memory_limit(memory).map(drop).map_err(|error| vm_failure(&error))
    }

    /// Calls a function that runs code of the spec, and runs due tasks until it has ended. Returns
    /// the failure and the output.
    fn drive_call(
        &self,
        name: &str,
        args: impl mlua::IntoLuaMulti,
        budget: &mut OutputBudget<'_>,
    ) -> Result<(Option<CaseFailure>, Vec<String>), CaseFailure> {
        self.call_prelude::<()>("clear", ())?;
        let function: Function = self.driver.get(name).map_err(|error| vm_failure(&error))?;
        let step: Function = self.driver.get("step").map_err(|error| vm_failure(&error))?;
        let thread = self.lua.create_thread(function).map_err(|error| vm_failure(&error))?;
        self.deadline.start_case(self.limits);
        self.set_memory_limit(self.limits.memory_bytes)?;
        let ended = self.run_to_end(&thread, args, &step);
        let is_expired = self.deadline.is_expired.get();
        drop(thread);
        self.set_memory_limit(self.limits.memory_bytes + RESERVE)?;
        self.collect_garbage()?;
        let (done, message, source, line, output): CaseEnd = self.call_prelude("outcome", ())?;
        let failed = |message: String| Some(CaseFailure { at: None, message });
        let failure = if is_expired {
            let seconds = self.limits.case_time.as_secs_f32();
            failed(format!(
                "it did not end within {seconds} s, or within the time of all specs; it was ended"
            ))
        } else if let Some(message) = message {
            let at = source.map(|source| clip_text(&source, MAX_LINE)).zip(line);
            Some(CaseFailure { at, message: budget.take_failure(&message) })
        } else if done {
            None
        } else {
            failed(ended.err().map_or_else(
                || "it waits for something that will never come".to_owned(),
                |error| truncate_text(&error_reason(&error), MAX_FAILURE),
            ))
        };
        let output = match &failure {
            Some(_) => budget.take_output(&output).map_err(|error| vm_failure(&error))?,
            None => Vec::new(),
        };
        Ok((failure, output))
    }

    /// Collects garbage, so that memory left by one case does not count against the next.
    fn collect_garbage(&self) -> Result<(), CaseFailure> {
        let (used, kept) = (self.lua.used_memory(), self.retained_bytes.get());
        if used > kept + self.limits.memory_bytes.saturating_sub(kept) / 2 {
            self.deadline.extend_for_driver();
            self.lua.gc_collect().map_err(|error| vm_failure(&error))?;
            self.retained_bytes.set(self.lua.used_memory());
        }
        Ok(())
    }

    fn run_to_end(
        &self,
        thread: &Thread,
        args: impl mlua::IntoLuaMulti,
        step: &Function,
    ) -> mlua::Result<()> {
        thread.resume::<()>(args)?;
        while thread.status() == ThreadStatus::Resumable && !self.deadline.is_expired.get() {
            if !step.call::<bool>(())? {
                break;
            }
        }
        Ok(())
    }
}

fn load_prelude<'a>(lua: &Lua, source: &'a str) -> Chunk<'a> {
    lua.load(source).set_name("=[vector]").set_mode(ChunkMode::Text)
}

/// The functions for the prelude.
fn native_table(lua: &Lua, world: &Rc<SpecWorld>) -> mlua::Result<Table> {
    let native = lua.create_table()?;
    world.register_natives(lua, &native)?;
    native.set("instances", load_prelude(lua, INSTANCES).into_function()?)?;
    native.set("reason", lua.create_function(|_, error: Error| Ok(error_reason(&error)))?)?;
    let own = Rc::clone(world);
    native.set(
        "load",
        lua.create_function(move |lua, (at, module, require): (u32, AnyUserData, Function)| {
            let Some((text, path)) = own.module_source(at) else {
                return Ok((None, None));
            };
            if text.len() > MAX_SOURCE {
                let message = format!("{path} has over {MAX_SOURCE} bytes; split the module");
                return Ok((None, Some(truncate_text(&message, MAX_FAILURE))));
            }
            let environment = lua.create_table()?;
            environment.raw_set("script", module)?;
            environment.raw_set("require", require)?;
            let above = lua.create_table()?;
            above.raw_set("__index", lua.globals())?;
            environment.set_metatable(Some(above))?;
            let chunk = lua.load(text).set_name(format!("={path}")).set_mode(ChunkMode::Text);
            // Returned as a value: a Rust error that a spec keeps takes memory that is not counted.
            match chunk.set_environment(environment).into_function() {
                Ok(function) => Ok((Some(function), None)),
                Err(error) => Ok((None, Some(truncate_text(&error_reason(&error), MAX_FAILURE)))),
            }
        })?,
    )?;
    Ok(native)
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
