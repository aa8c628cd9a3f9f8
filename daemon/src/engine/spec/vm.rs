//! A VM for one spec: what is in it, what is taken out of it, and how its cases are driven.
//!
//! All that a spec could do to Vector goes through here: it has the functions of `prelude.luau` and of
//! [`super::world`], Luau's own libraries without those that load code, and no more. Whatever runs is
//! asked at each call and each turn of a loop whether its time is over.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Instant;

use mlua::chunk::ChunkMode;
use mlua::thread::ThreadStatus;
use mlua::{
    AnyUserData, Error, Function, Lua, LuaOptions, StdLib, Table, Thread, UserDataRef, Value,
    VmState,
};

use super::world::{Instance, World};
use super::{Case, Clock, Failure, Limits, Outcome, Told, tell};
use crate::core::scene::Still;

const PRELUDE: &str = include_str!("prelude.luau");

/// How often it is asked what it is for one look at the clock.
const LOOKS: u32 = 64;

/// How much `table.move` moves in one call: it never asks for the time.
const MAX_MOVED: i64 = 10_000_000;

/// Memory for whoever drives a spec that has taken all of its own, in bytes.
const RESERVE: usize = 8 << 20;

/// What loads code, or tells of the memory of others.
const TAKEN_OUT: [&str; 4] = ["loadstring", "require", "collectgarbage", "newproxy"];

/// Whether something ended, why it failed, in which script and on which line, and what it printed.
type Ended = (bool, Option<String>, Option<String>, Option<u32>, Vec<String>);
/// What `table.move` takes.
type Moved = (Table, i64, i64, i64, Option<Table>);

/// When what runs now has to end.
#[derive(Debug)]
struct Alarm {
    clock: Clock,
    until: Cell<Instant>,
    asked: Cell<u32>,
    rang: Cell<bool>,
}

impl Alarm {
    fn set(&self, limits: Limits) {
        self.until.set((Instant::now() + limits.case).min(self.clock.until));
        self.rang.set(false);
    }

    fn rings(&self) -> bool {
        let asked = self.asked.get().wrapping_add(1);
        self.asked.set(asked);
        if !self.rang.get() && asked.is_multiple_of(LOOKS) {
            self.rang.set(Instant::now() >= self.until.get() || self.clock.is_over());
        }
        self.rang.get()
    }
}

/// A VM that is ready to run a spec.
struct Vm {
    lua: Lua,
    driver: Table,
    alarm: Rc<Alarm>,
    limits: Limits,
}

/// Runs one spec.
///
/// # Errors
/// It could not run, or not to its end.
pub(super) fn run(
    still: &Arc<Still>,
    spec: u32,
    (limits, clock): (Limits, &Clock),
    told: &Sender<Told>,
) -> Result<(), Failure> {
    let world = World::new(Arc::clone(still));
    let alarm = Rc::new(Alarm {
        clock: clock.clone(),
        until: Cell::new(clock.until),
        asked: Cell::new(0),
        rang: Cell::new(false),
    });
    let done = Vm::new(&world, (limits, alarm)).map_err(|error| broken(&error)).and_then(|vm| {
        let module = world.value(&vm.lua, spec).map_err(|error| broken(&error))?;
        vm.all(module, told)
    });
    world.forget();
    done
}

fn broken(error: &Error) -> Failure {
    Failure { at: None, message: format!("the VM failed: {}", reason(error)) }
}

/// What an error says, without the calls that it came through.
fn reason(error: &Error) -> String {
    match error {
        Error::CallbackError { cause, .. } | Error::WithContext { cause, .. } => reason(cause),
        Error::BadArgument { cause, pos, .. } => format!("argument {pos}: {}", reason(cause)),
        Error::RuntimeError(message) | Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

impl Vm {
    fn new(world: &Rc<World>, (limits, alarm): (Limits, Rc<Alarm>)) -> mlua::Result<Self> {
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
        for name in TAKEN_OUT {
            globals.raw_remove(name)?;
        }
        limit_move(&lua, &globals)?;
        let prelude = lua.load(PRELUDE).set_name("=[vector]").set_mode(ChunkMode::Text);
        let driver: Table = prelude.call(native(&lua, world)?)?;
        for pair in driver.get::<Table>("globals")?.pairs::<String, Value>() {
            let (name, value) = pair?;
            globals.raw_set(name, value)?;
        }
        let game = world.value(&lua, 0)?;
        globals.raw_set("game", game)?;
        if let Some(workspace) = world.child(0, "Workspace") {
            globals.raw_set("workspace", world.value(&lua, workspace)?)?;
        }
        lua.sandbox(true)?;
        lua.set_memory_limit(limits.memory)?;
        let own = Rc::clone(&alarm);
        lua.set_interrupt(move |_| {
            if own.rings() {
                return Err(Error::RuntimeError("its time is over".to_owned()));
            }
            Ok(VmState::Continue)
        });
        Ok(Self { lua, driver, alarm, limits })
    }

    /// Plans the spec, and runs its cases.
    fn all(&self, module: AnyUserData, told: &Sender<Told>) -> Result<(), Failure> {
        let (failure, _) = self.drive("collect", module)?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        let titles: Vec<Table> = self.call("titles", ())?;
        for (index, title) in (1_u32..).zip(titles) {
            let name: String = title.get("title").map_err(|error| broken(&error))?;
            let skipped: bool = title.get("skipped").unwrap_or(false);
            if self.alarm.clock.is_over() {
                let message = "the time of all specs is over; the cases from here on did not run";
                return Err(Failure { at: None, message: message.to_owned() });
            }
            let case = if skipped {
                Case { name, outcome: Outcome::Skipped, failure: None, output: Vec::new() }
            } else {
                let (failure, output) = self.drive("start", index)?;
                let outcome = if failure.is_none() { Outcome::Passed } else { Outcome::Failed };
                Case { name, outcome, failure, output }
            };
            if !tell(told, Told::Case(case)) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Calls a function of the prelude that runs nothing of the spec.
    fn call<T: mlua::FromLuaMulti>(
        &self,
        name: &str,
        args: impl mlua::IntoLuaMulti,
    ) -> Result<T, Failure> {
        self.alarm.set(self.limits);
        self.allow(self.limits.memory + RESERVE)?;
        let function: Function = self.driver.get(name).map_err(|error| broken(&error))?;
        function.call(args).map_err(|error| broken(&error))
    }

    fn allow(&self, memory: usize) -> Result<(), Failure> {
        self.lua.set_memory_limit(memory).map(drop).map_err(|error| broken(&error))
    }

    /// Calls a function that runs something of the spec, and does what becomes due until it is over.
    /// Why it failed, and what was printed.
    fn drive(
        &self,
        name: &str,
        args: impl mlua::IntoLuaMulti,
    ) -> Result<(Option<Failure>, Vec<String>), Failure> {
        self.call::<()>("clear", ())?;
        let function: Function = self.driver.get(name).map_err(|error| broken(&error))?;
        let step: Function = self.driver.get("step").map_err(|error| broken(&error))?;
        let thread = self.lua.create_thread(function).map_err(|error| broken(&error))?;
        self.alarm.set(self.limits);
        self.allow(self.limits.memory)?;
        let ended = self.until_over(&thread, args, &step);
        let rang = self.alarm.rang.get();
        drop(thread);
        self.allow(self.limits.memory + RESERVE)?;
        // What it has left behind is not the next one's.
        let is_full = self.lua.used_memory() > self.limits.memory / 2;
        if is_full {
            self.alarm.set(self.limits);
            self.lua.gc_collect().map_err(|error| broken(&error))?;
        }
        let (done, message, source, line, output): Ended = self.call("outcome", ())?;
        let failed = |message: String| Some(Failure { at: None, message });
        let failure = if rang {
            let seconds = self.limits.case.as_secs_f32();
            failed(format!(
                "it did not end within {seconds} s, or within the time of all specs; it was ended"
            ))
        } else if let Some(message) = message {
            Some(Failure { at: source.zip(line), message })
        } else if done {
            None
        } else {
            failed(ended.err().map_or_else(
                || "it waits for something that will never come".to_owned(),
                |error| reason(&error),
            ))
        };
        Ok((failure, output))
    }

    fn until_over(
        &self,
        thread: &Thread,
        args: impl mlua::IntoLuaMulti,
        step: &Function,
    ) -> mlua::Result<()> {
        thread.resume::<()>(args)?;
        while thread.status() == ThreadStatus::Resumable && !self.alarm.rang.get() {
            if !step.call::<bool>(())? {
                break;
            }
        }
        Ok(())
    }
}

/// `table.move` with a limit.
fn limit_move(lua: &Lua, globals: &Table) -> mlua::Result<()> {
    let table: Table = globals.get("table")?;
    let moves: Function = table.get("move")?;
    let limited = lua.create_function(move |_, (from, first, last, to, into): Moved| {
        if last.saturating_sub(first) > MAX_MOVED {
            let message = format!("table.move moves at most {MAX_MOVED} elements here");
            return Err(Error::RuntimeError(message));
        }
        moves.call::<Table>((from, first, last, to, into))
    })?;
    table.raw_set("move", limited)
}

/// What the prelude is given.
fn native(lua: &Lua, world: &Rc<World>) -> mlua::Result<Table> {
    let native = lua.create_table()?;
    let own = Rc::clone(world);
    native.set(
        "path",
        lua.create_function(move |_, module: UserDataRef<Instance>| {
            let path = own.module(module.at).map(|(_, path)| path.to_owned());
            Ok(path.unwrap_or_else(|| own.full_name(module.at)))
        })?,
    )?;
    native.set("reason", lua.create_function(|_, error: Error| Ok(reason(&error)))?)?;
    let own = Rc::clone(world);
    native.set(
        "find",
        lua.create_function(move |lua, (from, what): (Option<AnyUserData>, Value)| {
            found(lua, &own, from, &what)
        })?,
    )?;
    let own = Rc::clone(world);
    native.set(
        "load",
        lua.create_function(move |lua, (module, require): (AnyUserData, Function)| {
            let at = module.borrow::<Instance>()?.at;
            let Some((text, path)) = own.module(at) else {
                let name = own.full_name(at);
                return Err(Error::RuntimeError(format!("{name} is no ModuleScript with a text")));
            };
            let environment = lua.create_table()?;
            environment.raw_set("script", module)?;
            environment.raw_set("require", require)?;
            let above = lua.create_table()?;
            above.raw_set("__index", lua.globals())?;
            environment.set_metatable(Some(above))?;
            let chunk = lua.load(text).set_name(format!("={path}")).set_mode(ChunkMode::Text);
            chunk.set_environment(environment).into_function()
        })?,
    )?;
    Ok(native)
}

/// The module that `require` means: an instance, or a path such as `./Name`, `../Name`, `@self/Name`
/// and `@game/Service/Name`.
fn found(
    lua: &Lua,
    world: &Rc<World>,
    from: Option<AnyUserData>,
    what: &Value,
) -> mlua::Result<AnyUserData> {
    let wrong = |message: String| Err(Error::RuntimeError(message));
    match what {
        Value::UserData(module) if module.is::<Instance>() => Ok(module.clone()),
        Value::String(path) => {
            let path = path.to_string_lossy();
            let from = from.map(|it| it.borrow::<Instance>().map(|it| it.at)).transpose()?;
            let Some(at) = followed(world, from.unwrap_or(0), &path) else {
                return wrong(format!("{path:?} leads to no module from here"));
            };
            world.value(lua, at)
        }
        Value::Integer(_) | Value::Number(_) => {
            wrong("an asset cannot be required in headless tests".to_owned())
        }
        other => wrong(format!("require takes a ModuleScript, not a {}", other.type_name())),
    }
}

fn followed(world: &World, from: u32, path: &str) -> Option<u32> {
    let mut steps = path.split('/');
    let mut at = match steps.next()? {
        "." => world.parent(from)?,
        ".." => world.parent(world.parent(from)?)?,
        "@self" => from,
        "@game" => 0,
        _ => return None,
    };
    for step in steps {
        at = match step {
            "" | "." => at,
            ".." => world.parent(at)?,
            name => world.child(at, name)?,
        };
    }
    Some(at)
}
