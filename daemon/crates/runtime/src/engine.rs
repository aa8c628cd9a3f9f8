//! The engine: Luau files that share one table, loaded in order into a new VM.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use mlua::chunk::{ChunkMode, Compiler};
use mlua::{Error, Lua, Result, Table, Value, VmState};

use crate::meter::{Look, Meter};
use crate::native;

/// A file of an engine: its name, and its text.
pub type EngineFile = (&'static str, &'static str);

/// The files of the engine, each of which depends only on those before it.
const FILES: &[EngineFile] = &[
    ("core", include_str!("luau/core.luau")),
    ("vectors", include_str!("luau/vectors.luau")),
    ("cframes", include_str!("luau/cframes.luau")),
    ("enums", include_str!("luau/enums.luau")),
    ("materials", include_str!("luau/materials.luau")),
    ("values", include_str!("luau/values.luau")),
    ("capabilities", include_str!("luau/capabilities.luau")),
    ("others", include_str!("luau/others.luau")),
    ("scheduler", include_str!("luau/scheduler.luau")),
    ("signals", include_str!("luau/signals.luau")),
    ("classes", include_str!("luau/classes.luau")),
    ("instances", include_str!("luau/instances.luau")),
    ("methods", include_str!("luau/methods.luau")),
    ("services", include_str!("luau/services.luau")),
    ("files", include_str!("luau/files.luau")),
    ("encoding", include_str!("luau/encoding.luau")),
    ("modules", include_str!("luau/modules.luau")),
    ("scene", include_str!("luau/scene.luau")),
    ("changes", include_str!("luau/changes.luau")),
    ("parts", include_str!("luau/parts.luau")),
    ("derived", include_str!("luau/derived.luau")),
    ("tweens", include_str!("luau/tweens.luau")),
];

/// The libraries, the other globals, and the place, which come after all classes.
const LAST: [EngineFile; 2] = [
    ("libraries", include_str!("luau/libraries.luau")),
    ("globals", include_str!("luau/globals.luau")),
];

/// What stands on the engine adds to it.
#[derive(Debug, Clone, Copy)]
pub struct EngineExtension<'a> {
    /// Files that define more classes.
    pub classes: &'a [EngineFile],
    /// Files that need the place.
    pub place: &'a [EngineFile],
}

/// A VM with the engine.
#[derive(Debug)]
pub struct Engine {
    pub lua: Lua,
    /// The table that the engine's files share.
    pub table: Table,
    /// The functions that the engine cannot implement itself.
    pub(crate) native: Table,
}

impl Engine {
    /// Starts an engine whose scripts are measured by `meter`. `add_natives` adds functions to the
    /// table `native`.
    ///
    /// # Errors
    /// A file of the engine or of the extension fails.
    pub fn start(
        meter: &Rc<Meter>,
        extension: EngineExtension<'_>,
        add_natives: impl FnOnce(&Lua, &Table) -> Result<()>,
    ) -> Result<Self> {
        let lua = Lua::new();
        // Nothing of the engine is garbage.
        lua.gc_stop();
        let native = native::table(&lua, meter)?;
        add_natives(&lua, &native)?;
        let table = lua.create_table()?;
        let files = FILES.iter().chain(extension.classes).chain(&LAST).chain(extension.place);
        for file in files {
            let (name, code) = (file.0, compiled(*file)?);
            let chunk = lua.load(&*code).set_mode(ChunkMode::Binary);
            chunk.set_name(format!("=[engine] {name}")).call::<()>((&table, &native))?;
        }
        lua.gc_restart();
        limit_work(&lua, Rc::clone(meter));
        // What reaches files must not be there, whatever gets to the engine's environment.
        lua.globals().raw_remove("require")?;
        Ok(Self { lua, table, native })
    }
}

/// The text of a file, and its bytecode.
type CompiledFile = (&'static str, Arc<[u8]>);

/// Returns the bytecode of a file, which is compiled once in a process.
fn compiled(file: EngineFile) -> Result<Arc<[u8]>> {
    static KNOWN: Mutex<BTreeMap<&str, CompiledFile>> = Mutex::new(BTreeMap::new());
    let (name, text) = file;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, code)) = known.get(name).filter(|(of, _)| *of == text) {
        return Ok(Arc::clone(code));
    }
    let code: Arc<[u8]> = Compiler::new().compile(text)?.into();
    known.insert(name, (text, Arc::clone(&code)));
    Ok(code)
}

/// Counts the work of scripts, and stops one that exceeds its time.
fn limit_work(lua: &Lua, meter: Rc<Meter>) {
    // Scripts run in coroutines. Only the engine runs on the main thread, and must not be
    // interrupted, except for a game that is over.
    let main = Value::Thread(lua.current_thread()).to_pointer();
    lua.set_interrupt(move |lua| {
        meter.measure_memory(|| lua.used_memory());
        match meter.step() {
            Look::On => {}
            Look::Noted => meter.note(trace(lua)),
            Look::Exhausted => {
                if Value::Thread(lua.current_thread()).to_pointer() == main {
                    if meter.stops_engine() {
                        return Err(Error::runtime("The game was stopped"));
                    }
                } else {
                    meter.note_stop(|| position(lua));
                    return Err(Error::runtime("Script timeout: exhausted allowed execution time"));
                }
            }
        }
        Ok(VmState::Continue)
    });
}

/// The name and line of the running script.
fn position(lua: &Lua) -> Option<String> {
    let trace = lua.traceback(None, 0).ok()?.to_string_lossy();
    let is_line = |at: &&str| {
        let number = at.rsplit_once(':').map(|(_, line)| line);
        !at.starts_with('[') && number.is_some_and(|it| it.parse::<u32>().is_ok())
    };
    let mut places = trace
        .lines()
        .filter_map(|line| Some(line.split_whitespace().next()?.trim_end_matches(':')));
    places.find(is_line).map(str::to_owned)
}

/// The position of the running script, without the engine's own frames.
fn trace(lua: &Lua) -> String {
    let trace = lua.traceback(None, 0).map(|trace| trace.to_string_lossy());
    let trace = trace.unwrap_or_default();
    let lines = trace.lines().filter(|line| !line.contains("[C]"));
    lines.take(8).collect::<Vec<_>>().join(" < ")
}
