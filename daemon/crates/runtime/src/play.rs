//! Plays a game on a scene: its server and its clients, on a clock that jumps. The scene itself is
//! never changed.

use std::rc::Rc;
use std::time::{Duration, Instant};

use mlua::{Lua, LuaString, Scope, Table};
use rustc_hash::FxHashMap;
use vector_core::play::{
    CodePosition, MAX_PLAY_ERRORS, MissingMember, MoveGoal, PlayAction, PlayChange, PlayError,
    PlayOutcome, PlayOutput, PlayRequest, PlayStep, RemoteUse, RunOutput, ServiceRequest,
    StepResult,
};
use vector_core::run::RunOutcome;
use vector_place::Scene;

use crate::engine::{Engine, EngineExtension, EngineFile};
use crate::json;
use crate::meter::{Meter, StopSignal};
use crate::scene::{FRAME, Handles, MAX_LINE, MAX_LINES, call, is_out_of_memory, open_scene};
use crate::space::{SPACE, Space, open_space};

/// What a game needs beside the engine.
pub(crate) const GAME: &[EngineFile] = &[
    SPACE,
    ("peers", include_str!("luau/game/peers.luau")),
    ("scripts", include_str!("luau/game/scripts.luau")),
    ("remotes", include_str!("luau/game/remotes.luau")),
    ("players", include_str!("luau/game/players.luau")),
    ("world", include_str!("luau/game/world.luau")),
    ("characters", include_str!("luau/game/characters.luau")),
    ("paths", include_str!("luau/game/paths.luau")),
    ("stores", include_str!("luau/game/stores.luau")),
    ("online", include_str!("luau/game/online.luau")),
    ("input", include_str!("luau/game/input.luau")),
    ("effects", include_str!("luau/game/effects.luau")),
    ("play", include_str!("luau/game/play.luau")),
];

/// What a game may use.
#[derive(Debug, Clone, Copy)]
pub struct PlayLimits {
    /// How long it may take, in real time.
    pub real: Duration,
    /// Memory of the VM in bytes.
    pub memory: usize,
    /// How much a script may do without waiting, in steps of the VM. Unlike a time it is the same on
    /// every machine.
    pub steps: u64,
}

impl Default for PlayLimits {
    fn default() -> Self {
        Self { real: Duration::from_secs(30), memory: 512 << 20, steps: 20_000_000 }
    }
}

/// How long handlers of `PlayerRemoving` and callbacks of `BindToClose` may take after the end, in
/// seconds of the game.
const LEAVING: f64 = 1.0;
const CLOSING: f64 = 30.0;

/// Maximum numbers of reported changes, and members that are missing.
const MAX_CHANGES: usize = 200;
const MAX_MISSING: usize = 100;

/// Maximum number of calls of an error's stack.
const MAX_STACK: usize = 20;

/// Plays a game on a scene, which is not changed. Errors of scripts are part of the outcome.
/// `is_cancelled` is called often, and ends the game when it returns true.
///
/// # Errors
/// The runtime itself failed.
pub fn play_scene(
    scene: &Scene,
    request: &PlayRequest,
    limits: PlayLimits,
    is_cancelled: Rc<dyn Fn() -> bool>,
) -> Result<PlayOutcome, String> {
    let began = Instant::now();
    let stop = StopSignal::new(move || is_cancelled() || began.elapsed() > limits.real);
    let meter = Rc::new(Meter::new(limits.real).with_stop(stop).with_most_units(limits.steps));
    let extension = EngineExtension { classes: &[], place: GAME };
    let handles = Handles::new(scene);
    let space = Space::new(&handles);
    let engine =
        Engine::start(&meter, extension, |_, _| Ok(())).map_err(|error| error.to_string())?;
    let played = engine.lua.scope(|scope| {
        engine.lua.set_memory_limit(limits.memory)?;
        open_game(&engine, scope, &space, &meter)?;
        let at = Rc::clone(&meter);
        let stopped_at = move |_: &Lua, ()| {
            Ok(at.take_stopped_at().map(|at| format!("{at}: ")).unwrap_or_default())
        };
        engine.table.set("stoppedAt", engine.lua.create_function(stopped_at)?)?;
        Game { engine: &engine, handles: &handles, request, limits, meter: &meter }.play()
    });
    match played {
        Ok(outcome) => Ok(outcome),
        Err(error) if is_out_of_memory(&error) => Ok(PlayOutcome {
            stopped: Some(RunOutcome::needs_more_memory(limits.memory)),
            ..PlayOutcome::default()
        }),
        Err(error) => Err(error.to_string()),
    }
}

/// Opens a scene as the place of a game. The engine reads it until the scope ends.
pub(crate) fn open_game<'scope, 'env: 'scope>(
    engine: &'env Engine,
    scope: &'scope Scope<'scope, 'env>,
    space: &'env Space<'_, '_>,
    meter: &'env Meter,
) -> mlua::Result<()> {
    let (native, handles) = (&engine.native, space.handles);
    open_space(engine, scope, space, meter)?;
    let of_class = |_: &Lua, class: String| Ok(handles.of_class(&class));
    native.set("scene_of_class", scope.create_function(of_class)?)?;
    let scripts = |_: &Lua, ()| Ok(handles.of_class("BaseScript"));
    native.set("scene_scripts", scope.create_function(scripts)?)?;
    let path = |_: &Lua, of: u32| Ok(handles.path(of));
    native.set("scene_path", scope.create_function(path)?)?;
    open_scene(engine, scope, handles)
}

/// Tells of members of classes, each a class and a name, whether games have them here. Of a class that
/// Roblox does not have, none.
///
/// # Errors
/// The runtime itself failed.
pub fn has_members(members: &[(&str, &str)]) -> Result<Vec<bool>, String> {
    let meter = Rc::new(Meter::new(PlayLimits::default().real));
    let extension = EngineExtension { classes: &[], place: GAME };
    let look = || {
        let engine = Engine::start(&meter, extension, |_, _| Ok(()))?;
        let has = |(class, name): &(&str, &str)| call(&engine, "hasMember", (*class, *name));
        members.iter().map(has).collect::<mlua::Result<Vec<bool>>>()
    };
    look().map_err(|error| error.to_string())
}

struct Game<'g, 's> {
    engine: &'g Engine,
    handles: &'g Handles<'s>,
    request: &'g PlayRequest,
    limits: PlayLimits,
    meter: &'g Meter,
}

impl Game<'_, '_> {
    fn play(&self) -> mlua::Result<PlayOutcome> {
        let options: Table = self.engine.table.get("options")?;
        options.set("maxLines", MAX_LINES)?;
        options.set("maxLine", MAX_LINE)?;
        options.set("physics", self.request.has_physics)?;
        call::<()>(self.engine, "seed", self.request.seed)?;
        let steps = self.steps()?;
        call::<()>(self.engine, "begin", (steps, self.request.players))?;
        let mut stopped = self.run_until(self.request.seconds)?;
        let steps_done: bool = self.engine.table.get("stepsDone")?;
        let seconds = self.now()?;
        let (changes, change_count) = self.changes()?;
        let step_results = self.step_results()?;
        if stopped.is_none() {
            call::<()>(self.engine, "finish", ())?;
            stopped = self.close(seconds)?;
        }
        if stopped.is_none() && !steps_done && !self.request.steps.is_empty() {
            let (done, all) = (step_results.len(), self.request.steps.len());
            stopped = Some(format!(
                "{seconds} seconds were over when {done} of the {all} steps were done."
            ));
        }
        let (errors, missing) = self.errors()?;
        Ok(PlayOutcome {
            seconds,
            scripts: self.engine.table.get("startedScripts")?,
            errors,
            output: self.output()?,
            steps: step_results,
            remotes: self.remotes()?,
            requests: self.requests()?,
            changes,
            change_count,
            missing,
            stopped,
        })
    }

    fn now(&self) -> mlua::Result<f64> {
        self.engine.table.get("now")
    }

    /// Lets time pass until the game that ended at `end` is closed. Returns why it was stopped before.
    fn close(&self, end: f64) -> mlua::Result<Option<String>> {
        let mut until = end + LEAVING;
        loop {
            let stopped = self.run_until(until)?;
            let is_closing: bool = call(self.engine, "isClosing", ())?;
            if stopped.is_some() || !is_closing || until >= end + CLOSING {
                return Ok(stopped);
            }
            until += LEAVING;
        }
    }

    /// Lets time pass until `end`. Returns why it was stopped before.
    fn run_until(&self, end: f64) -> mlua::Result<Option<String>> {
        loop {
            let now = self.now()?;
            if now + FRAME / 2.0 > end {
                return Ok(None);
            }
            if self.meter.is_stopped() {
                let real = self.limits.real.as_secs_f64();
                return Ok(Some(format!(
                    "The game took longer than {real} s and was stopped after {now:.2} of its \
                     {} seconds.",
                    self.request.seconds
                )));
            }
            let wants_frames: bool = call(self.engine, "wantsFrames", ())?;
            let due: Option<f64> = call(self.engine, "nextDue", ())?;
            let wait = match (wants_frames, due) {
                (true, _) => FRAME,
                (false, Some(due)) => due.max(FRAME).min(end - now),
                (false, None) => end - now,
            };
            self.meter.set_stops_engine(true);
            let stepped = call::<()>(self.engine, "step", wait);
            self.meter.set_stops_engine(false);
            if !self.meter.is_stopped() {
                stepped?;
            }
        }
    }

    /// The steps as the engine reads them.
    fn steps(&self) -> mlua::Result<Table> {
        let lua = &self.engine.lua;
        let list = lua.create_table()?;
        for PlayStep { player, action } in &self.request.steps {
            let step = lua.create_table()?;
            step.set("player", player.as_deref())?;
            let name = match action {
                PlayAction::Join => "join",
                PlayAction::Leave => "leave",
                PlayAction::Move(MoveGoal::Part(target)) => {
                    step.set("target", target.as_str())?;
                    "move"
                }
                PlayAction::Move(MoveGoal::Position([x, y, z])) => {
                    let to = mlua::Vector::new(*x as f32, *y as f32, *z as f32);
                    step.set("to", to)?;
                    "move"
                }
                PlayAction::Touch(target) => {
                    step.set("target", target.as_str())?;
                    "touch"
                }
                PlayAction::Click(target) => {
                    step.set("target", target.as_deref())?;
                    "click"
                }
                PlayAction::Key(key) => {
                    step.set("value", key.as_str())?;
                    "key"
                }
                PlayAction::Chat(text) => {
                    step.set("value", text.as_str())?;
                    "chat"
                }
                PlayAction::Fire(target, args) => {
                    step.set("target", target.as_str())?;
                    let text = serde_json::to_vec(args).map_err(mlua::Error::external)?;
                    let value = json::decode(lua, &text).map_err(mlua::Error::runtime)?;
                    step.set("value", value)?;
                    step.set("count", args.len())?;
                    "fire"
                }
                PlayAction::Wait(seconds) => {
                    step.set("value", *seconds)?;
                    "wait"
                }
                PlayAction::Expect(code) => {
                    step.set("value", code.as_str())?;
                    "expect"
                }
                PlayAction::Fail(service, fails) => {
                    step.set("target", service.class())?;
                    step.set("value", *fails)?;
                    "fail"
                }
            };
            step.set("action", name)?;
            list.push(step)?;
        }
        Ok(list)
    }

    fn step_results(&self) -> mlua::Result<Vec<StepResult>> {
        let rows: Vec<Table> = self.engine.table.get("stepResults")?;
        let read =
            |row: &Table| Ok(StepResult { at: row.get("at")?, failure: row.get("failure")? });
        rows.iter().map(read).collect()
    }

    fn output(&self) -> mlua::Result<Vec<PlayOutput>> {
        let rows: Vec<Table> = self.engine.table.get("output")?;
        let read = |row: &Table| {
            let text = lossy(row, "text")?;
            Ok(PlayOutput {
                at: row.get("at")?,
                peer: peer_of(row)?,
                line: RunOutput { kind: row.get("kind")?, text },
            })
        };
        let mut lines: Vec<PlayOutput> = rows.iter().map(read).collect::<mlua::Result<_>>()?;
        let left_out: usize = self.engine.table.get("leftOut")?;
        if left_out > 0 {
            let text = format!("{left_out} more lines were printed.");
            let line = RunOutput { kind: "warn".to_owned(), text };
            lines.push(PlayOutput { at: self.now()?, peer: "Server".to_owned(), line });
        }
        Ok(lines)
    }

    /// The errors of the scripts, and what they needed that is not here.
    fn errors(&self) -> mlua::Result<(Vec<PlayError>, Vec<MissingMember>)> {
        let names: Vec<(String, u32)> =
            self.engine.table.get::<Table>("scriptNames")?.pairs().collect::<mlua::Result<_>>()?;
        let names: FxHashMap<String, u32> = names.into_iter().collect();
        let mut errors: Vec<PlayError> = Vec::new();
        let mut known: FxHashMap<(String, String), usize> = FxHashMap::default();
        let mut missing: Vec<MissingMember> = Vec::new();
        for row in self.engine.table.get::<Vec<Table>>("errors")? {
            let (message, peer) = (lossy(&row, "text")?, peer_of(&row)?);
            let position = self.position(&message, &names);
            if let Some(at) = message.find(NOT_IN_RUNTIME) {
                let what = message[at + NOT_IN_RUNTIME.len()..].to_owned();
                let what = what.trim_end_matches(EXISTS).to_owned();
                let member = MissingMember { what, position };
                if !missing.contains(&member) && missing.len() < MAX_MISSING {
                    missing.push(member);
                }
                continue;
            }
            match known.get(&(peer.clone(), message.clone())) {
                Some(index) => errors[*index].times += 1,
                None if errors.len() < MAX_PLAY_ERRORS => {
                    known.insert((peer.clone(), message.clone()), errors.len());
                    let trace: String = lossy(&row, "trace")?;
                    let stack = trace.lines().map(str::trim).filter(|line| is_call(line));
                    // Some of the engine's own errors say nothing of the script.
                    let position = position
                        .or_else(|| stack.clone().find_map(|call| self.position(call, &names)));
                    errors.push(PlayError {
                        at: row.get("at")?,
                        peer,
                        message,
                        position,
                        stack: stack.take(MAX_STACK).map(str::to_owned).collect(),
                        times: 1,
                    });
                }
                None => {}
            }
        }
        // What a script caught is listed too: the game went another way because of it.
        for what in self.engine.table.get::<Vec<String>>("missing")? {
            if !missing.iter().any(|it| it.what == what) && missing.len() < MAX_MISSING {
                missing.push(MissingMember { what, position: None });
            }
        }
        Ok((errors, missing))
    }

    /// Returns the position that a message begins with, in the script of the place.
    fn position(&self, message: &str, names: &FxHashMap<String, u32>) -> Option<CodePosition> {
        let mut colons = message.match_indices(':').map(|(at, _)| at);
        colons.find_map(|at| {
            let node = names.get(&message[..at])?;
            let rest = &message[at + 1..];
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let line = rest[..digits].parse().ok()?;
            Some(CodePosition { script: self.handles.path(*node)?, line })
        })
    }

    fn remotes(&self) -> mlua::Result<Vec<RemoteUse>> {
        let read = |row: &Table| {
            Ok(RemoteUse {
                path: row.get("path")?,
                class: row.get("class")?,
                from_clients: row.get("fromClients")?,
                from_server: row.get("fromServer")?,
                last: strings(row, "last")?,
            })
        };
        self.engine.table.get::<Vec<Table>>("remotes")?.iter().map(read).collect()
    }

    fn requests(&self) -> mlua::Result<Vec<ServiceRequest>> {
        let read = |row: &Table| {
            Ok(ServiceRequest {
                at: row.get("at")?,
                peer: row.get("by")?,
                what: row.get("what")?,
                args: strings(row, "args")?,
            })
        };
        self.engine.table.get::<Vec<Table>>("requests")?.iter().map(read).collect()
    }

    fn changes(&self) -> mlua::Result<(Vec<PlayChange>, u32)> {
        let (rows, count): (Vec<Table>, u32) = call(self.engine, "listChanges", MAX_CHANGES)?;
        let read = |row: &Table| {
            Ok(PlayChange {
                kind: row.get("kind")?,
                path: row.get("path")?,
                class: row.get("class")?,
                names: row.get("names")?,
            })
        };
        let changes = rows.iter().map(read).collect::<mlua::Result<_>>()?;
        Ok((changes, count))
    }
}

/// What the error of a member that the runtime lacks begins and ends with.
const NOT_IN_RUNTIME: &str = "NotInRuntime: ";
const EXISTS: &str = " exists in Roblox, but is not implemented here";

/// Whether a line of a trace is a call of a script.
fn is_call(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('[') && !line.starts_with("stack traceback")
}

/// The name of the peer that a row of output or an error is of.
fn peer_of(row: &Table) -> mlua::Result<String> {
    let context: Option<Table> = row.get("context")?;
    let peer = match context {
        Some(context) => context.get::<Option<Table>>("peer")?,
        None => None,
    };
    match peer {
        Some(peer) => peer.get("name"),
        None => Ok("Server".to_owned()),
    }
}

fn lossy(row: &Table, key: &str) -> mlua::Result<String> {
    Ok(row.get::<LuaString>(key)?.to_string_lossy())
}

fn strings(row: &Table, key: &str) -> mlua::Result<Vec<String>> {
    Ok(row.get::<Vec<LuaString>>(key)?.iter().map(LuaString::to_string_lossy).collect())
}

#[cfg(test)]
mod tests;
