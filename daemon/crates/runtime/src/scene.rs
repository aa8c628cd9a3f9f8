//! Runs a script on a scene. The scene itself is never changed: instances are copied when the script
//! first gets to them.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use mlua::{Lua, LuaString, Scope, Table, Value};
use rustc_hash::FxHashMap;
use vector_core::run::{RunChanges, RunOutcome, RunOutput, RunRequest};
use vector_place::reflection::is_a;
use vector_place::{Node, Scene, StoredVariant};

use crate::engine::{Engine, EngineExtension};
use crate::meter::{Meter, StopSignal};
use crate::space::{SPACE, Space, open_space};
use crate::{changes, convert, json};

/// What a run may use.
#[derive(Debug, Clone, Copy)]
pub struct RunLimits {
    /// How long the run may take, in real time.
    pub real: Duration,
    /// How long the run may take on the simulated clock, in seconds.
    pub seconds: f64,
    /// Memory of the VM in bytes.
    pub memory: usize,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self { real: Duration::from_secs(10), seconds: 60.0, memory: 512 << 20 }
    }
}

/// Maximum number of printed lines that are kept, and maximum bytes of each.
pub(crate) const MAX_LINES: usize = 10_000;
pub(crate) const MAX_LINE: usize = 2_000;

/// A frame of the simulated clock, in seconds.
pub(crate) const FRAME: f64 = 1.0 / 60.0;

/// Runs a script on a scene, which is not changed. Errors of the script are part of the outcome.
/// `is_cancelled` is called often, and ends the run when it returns true.
///
/// # Errors
/// The runtime itself failed.
pub fn run_script(
    scene: &Scene,
    request: &RunRequest,
    limits: RunLimits,
    is_cancelled: Rc<dyn Fn() -> bool>,
) -> Result<RunOutcome, String> {
    let began = Instant::now();
    let stop = StopSignal::new(move || is_cancelled() || began.elapsed() > limits.real);
    let meter = Rc::new(Meter::new(limits.real).with_stop(stop));
    let extension = EngineExtension { classes: &[], place: &[SPACE] };
    let engine =
        Engine::start(&meter, extension, |_, _| Ok(())).map_err(|error| error.to_string())?;
    let handles = Handles::new(scene);
    let space = Space::new(&handles);
    let run = engine.lua.scope(|scope| {
        engine.lua.set_memory_limit(limits.memory)?;
        open_scene(&engine, scope, &handles)?;
        open_space(&engine, scope, &space, &meter)?;
        call::<()>(&engine, "watchSpace", ())?;
        drive(&engine, &handles, request, limits, &meter)
    });
    match run {
        Ok(outcome) => Ok(outcome),
        Err(error) if is_out_of_memory(&error) => Ok(RunOutcome {
            output: Vec::new(),
            result: Err(RunOutcome::needs_more_memory(limits.memory)),
            changes: RunChanges::default(),
            not_in_runtime: Vec::new(),
            touched: 0,
        }),
        Err(error) => Err(error.to_string()),
    }
}

/// Opens a scene as the place. The engine reads it until the scope ends.
pub(crate) fn open_scene<'scope, 'env: 'scope>(
    engine: &'env Engine,
    scope: &'scope Scope<'scope, 'env>,
    handles: &'env Handles<'_>,
) -> mlua::Result<()> {
    let native = &engine.native;
    let children = |lua: &Lua, of: u32| handles.children(lua, of);
    native.set("scene_children", scope.create_function(children)?)?;
    let parent = |_: &Lua, of: u32| Ok(handles.parent(of));
    native.set("scene_parent", scope.create_function(parent)?)?;
    let property = |lua: &Lua, (of, name): (u32, String)| handles.property(lua, of, &name);
    native.set("scene_property", scope.create_function(property)?)?;
    let names = |_: &Lua, of: u32| Ok(handles.names(of));
    native.set("scene_names", scope.create_function(names)?)?;
    let tagged = |_: &Lua, tag: String| Ok(handles.tagged(&tag));
    native.set("scene_tagged", scope.create_function(tagged)?)?;
    call::<()>(engine, "openScene", handles.handle(handles.scene.root()))
}

pub(crate) fn is_out_of_memory(error: &mlua::Error) -> bool {
    match error {
        mlua::Error::MemoryError(_) => true,
        mlua::Error::CallbackError { cause, .. } => is_out_of_memory(cause),
        error => error.to_string().contains("not enough memory"),
    }
}

pub(crate) fn call<T: mlua::FromLuaMulti>(
    engine: &Engine,
    name: &str,
    arguments: impl mlua::IntoLuaMulti,
) -> mlua::Result<T> {
    engine.table.get::<mlua::Function>(name)?.call(arguments)
}

/// Runs the script until it has ended, nothing is left that could happen, or its time is over.
fn drive(
    engine: &Engine,
    handles: &Handles<'_>,
    request: &RunRequest,
    limits: RunLimits,
    meter: &Meter,
) -> mlua::Result<RunOutcome> {
    let name = request.name.as_str();
    let options: Table = engine.table.get("options")?;
    options.set("maxLines", MAX_LINES)?;
    options.set("maxLine", MAX_LINE)?;
    let context: Table = call(engine, "context", (name, "script"))?;
    let text = engine.lua.create_string(&request.source)?;
    let state: Table = call(engine, "run", (text, name, context))?;
    let is_done = || state.get::<bool>("done");
    let mut stopped = None;
    while !is_done()? {
        let now: f64 = engine.table.get("now")?;
        let wants_frames: bool = call(engine, "wantsFrames", ())?;
        let due: Option<f64> = call(engine, "nextDue", ())?;
        let Some(wait) = (if wants_frames { Some(FRAME) } else { due }) else {
            stopped = Some(end_of_thread(engine, meter)?);
            break;
        };
        if meter.is_stopped() {
            let real = limits.real.as_secs_f64();
            stopped = Some(format!("The code took longer than {real} s and was stopped."));
            break;
        }
        if now + wait > limits.seconds {
            let seconds = limits.seconds;
            stopped =
                Some(format!("The script was still waiting after {seconds} simulated seconds."));
            break;
        }
        call::<()>(engine, "step", wait.max(FRAME))?;
    }
    let result = match stopped {
        Some(why) => Err(why),
        None if state.get::<bool>("ok")? => Ok(json::from_luau(&state.get::<Value>("result")?)),
        None => Err(state.get::<LuaString>("error")?.to_string_lossy()),
    };
    Ok(RunOutcome {
        output: read_output(engine)?,
        changes: if result.is_ok() {
            changes::read(engine, handles)?
        } else {
            RunChanges::default()
        },
        result,
        not_in_runtime: engine.table.get("missing")?,
        touched: call(engine, "touched", ())?,
    })
}

/// Why a script has not come to its end although nothing is left to happen: it was stopped for its
/// time, or waits forever.
fn end_of_thread(engine: &Engine, meter: &Meter) -> mlua::Result<String> {
    let errors = engine.table.get::<Table>("errors")?;
    let last = errors.sequence_values::<Table>().last().transpose()?;
    match last {
        Some(error) => {
            let text = error.get::<LuaString>("text")?.to_string_lossy();
            // The stop of an endless loop has no position of its own.
            Ok(match meter.stopped_at() {
                Some(at) => format!("{at}: {text}"),
                None => text,
            })
        }
        None => Ok("The script waits for something that cannot happen here.".to_owned()),
    }
}

fn read_output(engine: &Engine) -> mlua::Result<Vec<RunOutput>> {
    let lines = engine.table.get::<Table>("output")?;
    let read = |line: mlua::Result<Table>| {
        let line = line?;
        let text = line.get::<LuaString>("text")?.to_string_lossy();
        Ok(RunOutput { kind: line.get("kind")?, text })
    };
    let mut lines: Vec<RunOutput> =
        lines.sequence_values::<Table>().map(read).collect::<mlua::Result<_>>()?;
    let left_out: usize = engine.table.get("leftOut")?;
    if left_out > 0 {
        let text = format!("{left_out} more lines were printed.");
        lines.push(RunOutput { kind: "warn".to_owned(), text });
    }
    Ok(lines)
}

/// The instances of a scene by numbers for the engine.
pub(crate) struct Handles<'s> {
    pub(crate) scene: &'s Scene,
    known: RefCell<(Vec<Node>, FxHashMap<Node, u32>)>,
}

impl<'s> Handles<'s> {
    pub(crate) fn new(scene: &'s Scene) -> Self {
        Self { scene, known: RefCell::default() }
    }

    pub(crate) fn handle(&self, node: Node) -> u32 {
        let (nodes, handles) = &mut *self.known.borrow_mut();
        *handles.entry(node).or_insert_with(|| {
            nodes.push(node);
            nodes.len() as u32 - 1
        })
    }

    pub(crate) fn node(&self, handle: u32) -> Option<Node> {
        self.known.borrow().0.get(handle as usize).copied()
    }

    fn parent(&self, of: u32) -> Option<u32> {
        Some(self.handle(self.scene.parent(self.node(of)?)?))
    }

    /// The numbers, classes and names of the children.
    fn children(&self, lua: &Lua, of: u32) -> mlua::Result<(Table, Table, Table)> {
        let children = self.node(of).into_iter().flat_map(|node| self.scene.children(node));
        let children: Vec<Node> = children.collect();
        let numbers = lua.create_sequence_from(children.iter().map(|node| self.handle(*node)))?;
        let classes = lua.create_sequence_from(children.iter().map(|it| self.scene.class(*it)))?;
        let names = lua.create_sequence_from(children.iter().map(|it| self.scene.name(*it)))?;
        Ok((numbers, classes, names))
    }

    /// A stored value, and the number of the instance that it refers to.
    fn property(&self, lua: &Lua, of: u32, name: &str) -> mlua::Result<(Value, Option<u32>)> {
        let stored = self.node(of).and_then(|node| self.scene.stored_property(node, name));
        match stored {
            Some(StoredVariant::Value(value)) => Ok((convert::to_luau(lua, &value)?, None)),
            Some(StoredVariant::Reference(to)) => Ok((Value::Nil, to.map(|to| self.handle(to)))),
            None => Ok((Value::Nil, None)),
        }
    }

    /// The names of the stored values.
    fn names(&self, of: u32) -> Vec<&'static str> {
        let mut names = self.node(of).map(|of| self.scene.stored_names(of)).unwrap_or_default();
        names.retain(|name| !matches!(*name, "Attributes" | "Tags"));
        names
    }

    /// The instances of a class and those that inherit from it, in the order of the tree.
    pub(crate) fn of_class(&self, class: &str) -> Vec<u32> {
        let all = self.scene.descendants(self.scene.root());
        let found = all.filter(|node| is_a(self.scene.class(*node), class));
        found.map(|node| self.handle(node)).collect()
    }

    /// The path of an instance in the place.
    pub(crate) fn instance_path(&self, of: u32) -> Option<String> {
        Some(self.scene.path(self.node(of)?).to_string())
    }

    /// The path of an instance, as its full name.
    pub(crate) fn path(&self, of: u32) -> Option<String> {
        let mut names = Vec::new();
        let mut at = self.node(of)?;
        while let Some(parent) = self.scene.parent(at) {
            names.push(self.scene.name(at));
            at = parent;
        }
        names.reverse();
        Some(names.join("."))
    }

    /// The instances with a tag, in the order of the tree.
    fn tagged(&self, tag: &str) -> Vec<u32> {
        let all = self.scene.descendants(self.scene.root());
        let tagged = all.filter(|node| self.scene.tags(*node).iter().any(|it| it == tag));
        tagged.map(|node| self.handle(node)).collect()
    }
}

#[cfg(test)]
mod tests;
