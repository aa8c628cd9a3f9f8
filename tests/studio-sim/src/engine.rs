//! The engine: Luau files that share one table, loaded in order into a new VM.

use std::cell::RefCell;
use std::rc::Rc;

use mlua::{Error, Lua, Result, Table, Value, VmState};

use crate::native;
use crate::shared::{Look, Shared};

/// The name and text of every file, each of which depends only on those before it.
const FILES: &[(&str, &str)] = &[
    ("core", include_str!("luau/core.luau")),
    ("vectors", include_str!("luau/vectors.luau")),
    ("cframes", include_str!("luau/cframes.luau")),
    ("enums", include_str!("luau/enums.luau")),
    ("values", include_str!("luau/values.luau")),
    ("others", include_str!("luau/others.luau")),
    ("scheduler", include_str!("luau/scheduler.luau")),
    ("signals", include_str!("luau/signals.luau")),
    ("classes", include_str!("luau/classes.luau")),
    ("instances", include_str!("luau/instances.luau")),
    ("methods", include_str!("luau/methods.luau")),
    ("history", include_str!("luau/history.luau")),
    ("scripts", include_str!("luau/scripts.luau")),
    ("services", include_str!("luau/services.luau")),
    ("http", include_str!("luau/http.luau")),
    ("files", include_str!("luau/files.luau")),
    ("parts", include_str!("luau/parts.luau")),
    ("derived", include_str!("luau/derived.luau")),
    ("tweens", include_str!("luau/tweens.luau")),
    ("plugin", include_str!("luau/plugin.luau")),
    ("connections", include_str!("luau/connections.luau")),
    ("theme", include_str!("luau/theme.luau")),
    ("text", include_str!("luau/text.luau")),
    ("lists", include_str!("luau/lists.luau")),
    ("layout", include_str!("luau/layout.luau")),
    ("input", include_str!("luau/input.luau")),
    ("legible", include_str!("luau/legible.luau")),
    ("html", include_str!("luau/html.luau")),
    ("globals", include_str!("luau/globals.luau")),
];

/// Creates a VM with the engine, and returns the engine's table too.
pub(crate) fn start(shared: &Rc<RefCell<Shared>>) -> Result<(Lua, Table)> {
    let lua = Lua::new();
    let native = native::table(&lua, shared)?;
    let engine = lua.create_table()?;
    for (name, text) in FILES {
        let chunk = lua.load(*text).set_name(format!("=[studio] {name}"));
        chunk.call::<()>((&engine, &native))?;
    }
    let meter = Rc::clone(&shared.borrow().meter);
    // Scripts run in coroutines. Only the engine runs on the main thread, and must not be
    // interrupted.
    let main = Value::Thread(lua.current_thread()).to_pointer();
    lua.set_interrupt(move |lua| {
        match meter.step() {
            Look::On => {}
            Look::Noted => meter.note(trace(lua)),
            Look::Exhausted => {
                if Value::Thread(lua.current_thread()).to_pointer() != main {
                    return Err(Error::runtime("Script timeout: exhausted allowed execution time"));
                }
            }
        }
        Ok(VmState::Continue)
    });
    Ok((lua, engine))
}

/// The position of the running script, without the engine's own frames.
fn trace(lua: &Lua) -> String {
    let trace = lua.traceback(None, 0).map(|trace| trace.to_string_lossy());
    let trace = trace.unwrap_or_default();
    let lines = trace.lines().filter(|line| !line.contains("[C]"));
    lines.take(8).collect::<Vec<_>>().join(" < ")
}
