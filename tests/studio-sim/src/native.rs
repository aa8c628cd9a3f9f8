//! The functions that the simulated Studio adds to the engine's: the plugins' settings, and sockets.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use mlua::{Lua, LuaString, Result, Table};

use crate::http;
use crate::shared::Shared;

/// Adds them to the engine's table `native`.
pub(crate) fn add(lua: &Lua, native: &Table, shared: &Rc<RefCell<Shared>>) -> Result<()> {
    let it = Rc::clone(shared);
    let setting = move |_: &Lua, key: String| Ok(it.borrow().settings.get(&key));
    native.set("setting", lua.create_function(setting)?)?;
    let it = Rc::clone(shared);
    let set_setting = move |_: &Lua, (key, text): (String, Option<String>)| {
        it.borrow().settings.set(&key, text);
        Ok(())
    };
    native.set("set_setting", lua.create_function(set_setting)?)?;
    let it = Rc::clone(shared);
    let send = move |_: &Lua, request: Table| {
        let headers = request.get::<Table>("headers")?;
        let request = http::Request {
            id: request.get("id")?,
            method: request.get("method")?,
            url: request.get("url")?,
            headers: headers.pairs::<String, String>().collect::<Result<_>>()?,
            body: request.get::<LuaString>("body")?.as_bytes().to_vec(),
            timeout: Duration::from_secs_f64(request.get("timeout")?),
        };
        http::send(request, it.borrow().sender.clone());
        Ok(())
    };
    native.set("send", lua.create_function(send)?)
}
