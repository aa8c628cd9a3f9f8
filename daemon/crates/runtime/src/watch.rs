//! Watches what the scripts of a model reach when they are run: assets, code in texts, the internet,
//! and purchases and teleports that nobody asked for.
//!
//! They run in a live server of their own on a clock that jumps, with one player, and reach nothing.
//! A script that waits for other circumstances is not seen through, so this proves nothing. Everything
//! is deterministic but the limit on real time.

use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::time::{Duration, Instant};

use mlua::{LuaString, Table};
use vector_place::{AssetChoice, AssetModel, FileFormat, Node, Scene};

use crate::engine::{Engine, EngineExtension, EngineFile};
use crate::meter::{Meter, StopSignal};
use crate::play::{GAME, open_game};
use crate::scene::{FRAME, Handles, call, is_out_of_memory};
use crate::space::Space;

const WATCH: EngineFile = ("watch", include_str!("luau/watch.luau"));

/// What the scripts of a model may use.
#[derive(Debug, Clone, Copy)]
pub struct WatchLimits {
    /// How long all runs may take together, in real time.
    pub real: Duration,
    /// Memory of a VM in bytes.
    pub memory: usize,
    /// How much a script may do without waiting, in steps of the VM.
    pub steps: u64,
}

impl Default for WatchLimits {
    fn default() -> Self {
        Self { real: Duration::from_secs(3), memory: 128 << 20, steps: 10_000_000 }
    }
}

/// The times at which the server is started, in seconds after the engine's own epoch: now, and some
/// years later.
const STARTS: [f64; 2] = [0.0, 3.0 * 365.0 * 86_400.0];

/// The share of the memory from which a run counts as one that memory ended, in eighths: scripts can
/// catch the error, and hide that others had none.
const FULL_EIGHTHS: usize = 6;

/// How time passes before scripts are told of input: how often, and by how much, in seconds.
const WAITS: [TimeStep; 6] = [
    TimeStep { count: 30, seconds: FRAME },
    TimeStep { count: 40, seconds: 1.0 },
    TimeStep { count: 40, seconds: 60.0 },
    TimeStep { count: 60, seconds: 3_600.0 },
    TimeStep { count: 60, seconds: 86_400.0 },
    TimeStep { count: 24, seconds: 30.0 * 86_400.0 },
];

/// How time passes after scripts were told of input.
const WAITS_AFTER_INPUT: [TimeStep; 2] =
    [TimeStep { count: 10, seconds: FRAME }, TimeStep { count: 20, seconds: 5.0 }];

#[derive(Debug, Clone, Copy)]
struct TimeStep {
    count: u32,
    seconds: f64,
}

/// What a script reached when it was run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelAccess {
    /// The index of the script in the contents of the model.
    pub at: u32,
    /// The line, from 1, if the script itself called it.
    pub line: Option<u32>,
    pub kind: AccessKind,
    /// What was asked for.
    pub value: String,
    /// Whether the call is in a text that the script ran, which the line refers to.
    pub is_in_text: bool,
}

/// The kind of a [`ModelAccess`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessKind {
    /// `require` of an asset's number.
    Require,
    /// Text that is run as code.
    Loadstring,
    /// An asset that is loaded by a service.
    Asset,
    /// A request to the internet.
    Request,
    /// The environment of other code, by `getfenv` or `setfenv`.
    Environment,
    /// A purchase that is offered without any input.
    Prompt,
    /// A teleport without any input.
    Teleport,
    /// A copy of the script itself that is put elsewhere.
    Copy,
    /// The limits ended the script, so the rest of it was not seen.
    Unfinished,
    /// The time for all scripts was over before the script had run whole.
    TimeOver,
}

impl AccessKind {
    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "require" => Self::Require,
            "loadstring" => Self::Loadstring,
            "asset" => Self::Asset,
            "http" => Self::Request,
            "getfenv" | "setfenv" => Self::Environment,
            "prompt" => Self::Prompt,
            "teleport" => Self::Teleport,
            "copy" => Self::Copy,
            "busy" => Self::Unfinished,
            _ => return None,
        })
    }
}

impl fmt::Display for ModelAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind == AccessKind::TimeOver {
            return f.write_str(
                "The time to run the scripts of the asset was over, so what it reaches is not fully known.",
            );
        }
        match self.line {
            Some(line) if self.is_in_text => {
                write!(f, "When run, line {line} of a text that it runs ")?;
            }
            Some(line) => write!(f, "When run, line {line} ")?,
            None => f.write_str("When run, it ")?,
        }
        let value = self.value.escape_debug();
        match self.kind {
            AccessKind::Require => write!(f, "requires the asset {value}, code from outside."),
            AccessKind::Loadstring => write!(f, "runs a text as code: {value}"),
            AccessKind::Asset => write!(f, "loads the asset {value}."),
            AccessKind::Request => write!(f, "sends a request to {value}"),
            AccessKind::Environment => f.write_str("reaches into the environment of other code."),
            AccessKind::Prompt => {
                write!(f, "offers an item for sale that nobody asked for: {value}.")
            }
            AccessKind::Teleport => {
                write!(f, "sends players to a place that nobody asked for: {value}.")
            }
            AccessKind::Copy => write!(f, "puts a copy of itself into {value}."),
            AccessKind::Unfinished | AccessKind::TimeOver => {
                f.write_str("does more than the sandbox allows, so what it does then is not known.")
            }
        }
    }
}

/// Runs the scripts of a model and returns what they reached, in the order of the instances.
/// `is_cancelled` is called often, and ends the runs when it returns true.
///
/// # Errors
/// The runtime itself failed, or no file can hold the model.
pub fn watch_model(
    model: &AssetModel,
    limits: WatchLimits,
    is_cancelled: &Rc<dyn Fn() -> bool>,
) -> Result<Vec<ModelAccess>, String> {
    if model.contents().scripts.is_empty() {
        return Ok(Vec::new());
    }
    let watched = WatchedModel::open(model)?;
    let all: Vec<Node> = watched.scripts.clone();
    let end = Instant::now() + limits.real;
    let run = |scripts: &[Node], start: f64| {
        let stop_cancelled = Rc::clone(is_cancelled);
        let stop = StopSignal::new(move || stop_cancelled() || Instant::now() > end);
        watched.run(scripts, start, limits, stop)
    };
    let is_over = || Instant::now() > end || is_cancelled();
    let mut found = Vec::new();
    for start in STARTS {
        let outcome = run(&all, start)?;
        found.extend(outcome.accesses);
        if outcome.is_whole {
            continue;
        }
        // Each script that did not run whole is named: any of them may be the one that is kept.
        let mut unfinished = Vec::new();
        for script in &all {
            let is_whole = all.len() > 1 && !is_over() && {
                let alone = run(&[*script], start)?;
                found.extend(alone.accesses);
                alone.is_whole
            };
            if !is_whole {
                let kind = if is_over() { AccessKind::TimeOver } else { AccessKind::Unfinished };
                unfinished.extend(watched.unfinished(*script, kind));
            }
        }
        // Scripts that only fail together are not known to be harmless.
        if unfinished.is_empty() {
            let each = all.iter();
            unfinished
                .extend(each.filter_map(|it| watched.unfinished(*it, AccessKind::Unfinished)));
        }
        found.extend(unfinished);
        if is_over() {
            break;
        }
    }
    found.sort();
    found.dedup();
    // The scan of the text names these itself.
    let is_known = |it: &ModelAccess| {
        let source = model.contents().scripts.iter().find(|script| script.at == it.at + 1);
        let has_name = source.is_some_and(|script| {
            script.text.contains("getfenv") || script.text.contains("setfenv")
        });
        it.kind == AccessKind::Environment && has_name
    };
    found.retain(|it| !is_known(it));
    Ok(found)
}

/// What a run of scripts came to.
struct WatchOutcome {
    accesses: Vec<ModelAccess>,
    /// Whether no limit ended it.
    is_whole: bool,
}

/// A model in a place of its own.
struct WatchedModel {
    scene: Scene,
    /// All instances, and the scripts among them.
    nodes: Vec<Node>,
    scripts: Vec<Node>,
    indices: HashMap<Node, u32>,
}

impl WatchedModel {
    fn open(model: &AssetModel) -> Result<Self, String> {
        let mut scene = Scene::empty(FileFormat::Xml);
        let root = scene.root();
        let workspace = scene.create(root, "Workspace", "Workspace");
        let inserted = scene.insert_model(model, AssetChoice::default(), workspace, |_, _| {});
        inserted.map_err(|refusal| refusal.0)?;
        let nodes: Vec<Node> = scene.descendants(workspace).collect();
        let indices = nodes.iter().copied().zip(0..).collect();
        let scripts = model.contents().scripts.iter();
        let scripts = scripts.filter_map(|script| nodes.get(script.at as usize - 1).copied());
        let scripts = scripts.collect();
        Ok(Self { scene, nodes, scripts, indices })
    }

    /// Says of a script that its run did not come to an end.
    fn unfinished(&self, script: Node, kind: AccessKind) -> Option<ModelAccess> {
        Some(ModelAccess {
            at: *self.indices.get(&script)?,
            line: None,
            kind,
            value: String::new(),
            is_in_text: false,
        })
    }

    /// Runs some of the scripts together.
    fn run(
        &self,
        scripts: &[Node],
        start: f64,
        limits: WatchLimits,
        stop: StopSignal,
    ) -> Result<WatchOutcome, String> {
        let meter =
            Meter::new(limits.real).with_stop(stop).with_most_units(limits.steps).with_memory();
        let meter = Rc::new(meter);
        let place: Vec<EngineFile> = GAME.iter().copied().chain([WATCH]).collect();
        let extension = EngineExtension { classes: &[], place: &place };
        let handles = Handles::new(&self.scene);
        let space = Space::new(&handles);
        let engine =
            Engine::start(&meter, extension, |_, _| Ok(())).map_err(|error| error.to_string())?;
        let ran = engine.lua.scope(|scope| {
            engine.lua.set_memory_limit(limits.memory)?;
            open_game(&engine, scope, &space, &meter)?;
            self.drive(&engine, &handles, scripts, start, &meter)
        });
        // The accesses are read also if memory or time was over.
        engine.lua.set_memory_limit(0).map_err(|error| error.to_string())?;
        let is_full = meter.most_memory() > limits.memory / 8 * FULL_EIGHTHS
            || has_run_out_of_memory(&engine).map_err(|error| error.to_string())?;
        let is_whole = match ran {
            Ok(()) => !meter.is_stopped() && !is_full,
            Err(error) if is_out_of_memory(&error) || meter.is_stopped() => false,
            Err(error) => return Err(error.to_string()),
        };
        let mut accesses =
            self.read_accesses(&engine, &handles).map_err(|error| error.to_string())?;
        // At the end of the time all scripts are stopped.
        accesses.retain(|it| is_whole || it.kind != AccessKind::Unfinished);
        Ok(WatchOutcome { accesses, is_whole })
    }

    fn drive(
        &self,
        engine: &Engine,
        handles: &Handles<'_>,
        scripts: &[Node],
        start: f64,
        meter: &Meter,
    ) -> mlua::Result<()> {
        let table = &engine.table;
        let stopped_at = engine.lua.create_function(|_, ()| Ok(""))?;
        table.set("stoppedAt", stopped_at)?;
        let epoch: f64 = table.get("epoch")?;
        table.set("epoch", epoch + start)?;
        call::<()>(engine, "seed", 1)?;
        call::<()>(engine, "begin", (engine.lua.create_table()?, 1))?;
        let numbers = |nodes: &[Node]| {
            engine.lua.create_sequence_from(nodes.iter().map(|node| handles.handle(*node)))
        };
        // The player is there before the scripts are, and another one joins afterwards.
        let step = |seconds: f64| -> mlua::Result<bool> {
            if meter.is_stopped() {
                return Ok(false);
            }
            meter.set_stops_engine(true);
            let stepped = call::<()>(engine, "watchTime", seconds);
            meter.set_stops_engine(false);
            if !meter.is_stopped() {
                stepped?;
            }
            Ok(true)
        };
        for _ in 0..20 {
            step(FRAME)?;
        }
        call::<()>(engine, "watchScripts", numbers(scripts)?)?;
        call::<()>(engine, "watchJoin", ())?;
        for TimeStep { count, seconds } in WAITS {
            for _ in 0..count {
                if !step(seconds)? {
                    return Ok(());
                }
            }
        }
        call::<()>(engine, "watchInput", numbers(&self.nodes)?)?;
        for TimeStep { count, seconds } in WAITS_AFTER_INPUT {
            for _ in 0..count {
                if !step(seconds)? {
                    return Ok(());
                }
            }
        }
        // The server is closed, which scripts can wait for.
        call::<()>(engine, "finish", ())?;
        step(FRAME)?;
        Ok(())
    }

    fn read_accesses(
        &self,
        engine: &Engine,
        handles: &Handles<'_>,
    ) -> mlua::Result<Vec<ModelAccess>> {
        let rows: Vec<Table> = engine.table.get("accesses")?;
        let mut accesses = Vec::new();
        for row in rows {
            let node = handles.node(row.get("node")?);
            let Some(at) = node.and_then(|node| self.indices.get(&node)) else { continue };
            let kind = row.get::<LuaString>("kind")?.to_string_lossy();
            let Some(kind) = AccessKind::from_name(&kind) else { continue };
            accesses.push(ModelAccess {
                at: *at,
                line: row.get("line")?,
                kind,
                value: row.get::<LuaString>("value")?.to_string_lossy(),
                is_in_text: row.get("isText")?,
            });
        }
        Ok(accesses)
    }
}

/// Whether a script caught the error of an allocation that was refused.
fn has_run_out_of_memory(engine: &Engine) -> mlua::Result<bool> {
    Ok(engine.table.get::<Option<bool>>("ranOutOfMemory")?.unwrap_or_default())
}

#[cfg(test)]
mod tests;
