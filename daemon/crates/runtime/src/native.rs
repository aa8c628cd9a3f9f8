//! The few functions that the engine, which is Luau, cannot implement itself.
//!
//! They never raise an error: they return nil and a message, so that scripts only ever receive
//! errors that are strings.

use std::rc::Rc;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mlua::chunk::ChunkMode;
use mlua::{
    Buffer, Function, IntoLua, Lua, LuaString, MultiValue, Result, Table, UserDataFields, Value,
};
use rbx_types::BrickColor;
use sha2::{Digest, Sha256};

use crate::meter::Meter;
use crate::{json, place, reflection};

/// The number of bytes per unit of work: for JSON, and for hashes.
const JSON: usize = 5;
const HASH: usize = 20;

/// The maximum size of a script, in bytes: compiling it cannot be interrupted.
const MAX_SOURCE: usize = 2 << 20;

/// A userdata of the engine. Each kind has its own type here, and therefore its own metatable.
struct Tag<const KIND: u8>;

macro_rules! kinds {
    ($($kind:literal)*) => {
        fn register(lua: &Lua, kind: u8, fields: &Table) -> Result<()> {
            match kind {
                $($kind => register_kind::<$kind>(lua, fields),)*
                _ => Ok(()),
            }
        }

        fn wrap(lua: &Lua, kind: u8) -> Result<Value> {
            match kind {
                $($kind => lua.create_any_userdata(Tag::<$kind>).map(Value::UserData),)*
                _ => Ok(Value::Nil),
            }
        }
    };
}

kinds!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39);

fn register_kind<const KIND: u8>(lua: &Lua, fields: &Table) -> Result<()> {
    let pairs = fields.pairs::<String, Value>().collect::<Result<Vec<_>>>()?;
    lua.register_userdata_type::<Tag<KIND>>(move |registry| {
        for (name, value) in pairs {
            registry.add_meta_field_with(name, move |_| Ok(value));
        }
    })
}

/// Converts a result for Luau: a value, or `nil, message` on failure.
fn outcome<T: IntoLua, E: ToString>(
    lua: &Lua,
    result: std::result::Result<T, E>,
) -> Result<MultiValue> {
    match result {
        Ok(value) => Ok(MultiValue::from_vec(vec![value.into_lua(lua)?])),
        Err(error) => {
            let sentence = error.to_string().into_lua(lua)?;
            Ok(MultiValue::from_vec(vec![Value::Nil, sentence]))
        }
    }
}

/// Creates the engine's table `native`.
pub(crate) fn table(lua: &Lua, meter: &Rc<Meter>) -> Result<Table> {
    let native = lua.create_table()?;
    kinds_and_classes(lua, &native)?;
    texts(lua, &native, meter)?;
    files(lua, &native)?;
    work(lua, &native, meter)?;
    Ok(native)
}

fn kinds_and_classes(lua: &Lua, native: &Table) -> Result<()> {
    let define = |lua: &Lua, (kind, fields): (u8, Table)| register(lua, kind, &fields);
    native.set("define", lua.create_function(define)?)?;
    native.set("wrap", lua.create_function(|lua, kind: u8| wrap(lua, kind))?)?;
    let class = |lua: &Lua, name: String| reflection::class(lua, &name);
    native.set("class", lua.create_function(class)?)?;
    let default =
        |lua: &Lua, (class, name): (String, String)| reflection::default(lua, &class, &name);
    native.set("default", lua.create_function(default)?)?;
    let member =
        |lua: &Lua, (class, name): (String, String)| reflection::member(lua, &class, &name);
    native.set("member", lua.create_function(member)?)?;
    let enumeration = |lua: &Lua, name: String| reflection::enumeration(lua, &name);
    native.set("enumeration", lua.create_function(enumeration)?)?;
    let renamed = |lua: &Lua, name: String| reflection::renamed(lua, &name);
    native.set("renamed", lua.create_function(renamed)?)?;
    let enumerations = |lua: &Lua, ()| reflection::enumerations(lua);
    native.set("enumerations", lua.create_function(enumerations)?)?;
    native.set("bricks", lua.create_function(|lua, ()| bricks(lua))?)?;
    let vector = |lua: &Lua, metatable: Table| {
        lua.set_type_metatable::<mlua::Vector>(Some(metatable));
        Ok(())
    };
    native.set("vector", lua.create_function(vector)?)?;
    let conversions = |lua: &Lua, (make, take): (Function, Function)| {
        lua.set_named_registry_value(crate::convert::MAKE, make)?;
        lua.set_named_registry_value(crate::convert::TAKE, take)
    };
    native.set("conversions", lua.create_function(conversions)?)?;
    let strings = |lua: &Lua, methods: Table| {
        let metatable = lua.create_table()?;
        metatable.set("__index", methods)?;
        metatable.set_readonly(true);
        lua.set_type_metatable::<LuaString>(Some(metatable));
        Ok(())
    };
    native.set("strings", lua.create_function(strings)?)
}

/// The number, name and color of every brick color.
fn bricks(lua: &Lua) -> Result<Table> {
    let list = lua.create_table()?;
    for brick in (0..=u16::MAX).filter_map(BrickColor::from_number) {
        let color = brick.to_color3uint8();
        let row = lua.create_table()?;
        row.push(brick as u16)?;
        row.push(brick.to_string())?;
        for part in [color.r, color.g, color.b] {
            row.push(part)?;
        }
        list.push(row)?;
    }
    Ok(list)
}

/// Charges the units of work for `bytes`, at `each` bytes per unit.
fn charged(meter: &Meter, bytes: usize, each: usize) {
    meter.charge(bytes / each);
}

fn texts(lua: &Lua, native: &Table, meter: &Rc<Meter>) -> Result<()> {
    let it = Rc::clone(meter);
    let encode = move |lua: &Lua, value: Value| {
        let text = json::encode(&value);
        charged(&it, text.as_ref().map_or(0, String::len), JSON);
        outcome(lua, text)
    };
    native.set("json_encode", lua.create_function(encode)?)?;
    let it = Rc::clone(meter);
    let decode = move |lua: &Lua, text: LuaString| {
        charged(&it, text.as_bytes().len(), JSON);
        outcome(lua, json::decode(lua, &text.as_bytes()))
    };
    native.set("json_decode", lua.create_function(decode)?)?;
    let it = Rc::clone(meter);
    let sha256 = move |lua: &Lua, text: LuaString| {
        charged(&it, text.as_bytes().len(), HASH);
        lua.create_string(Sha256::digest(text.as_bytes()))
    };
    native.set("sha256", lua.create_function(sha256)?)?;
    let it = Rc::clone(meter);
    let charge = move |_: &Lua, units: usize| {
        it.charge(units);
        Ok(())
    };
    native.set("charge", lua.create_function(charge)?)?;
    let encode = |_: &Lua, text: LuaString| Ok(STANDARD.encode(text.as_bytes()));
    native.set("base64_encode", lua.create_function(encode)?)?;
    let decode = |lua: &Lua, text: LuaString| match STANDARD.decode(text.as_bytes()) {
        Ok(bytes) => outcome::<_, String>(lua, Ok(lua.create_string(bytes)?)),
        Err(error) => outcome::<Value, _>(lua, Err(error)),
    };
    native.set("base64_decode", lua.create_function(decode)?)?;
    let load = |lua: &Lua, (source, name, environment): (LuaString, String, Table)| {
        let source = source.as_bytes();
        if source.len() > MAX_SOURCE {
            let why = format!("{name}: the script has over {MAX_SOURCE} bytes; split it");
            return outcome::<Value, _>(lua, Err(why));
        }
        let chunk = lua.load(&*source).set_name(format!("={name}")).set_mode(ChunkMode::Text);
        outcome(
            lua,
            chunk.set_environment(environment).into_function().map_err(|error| match error {
                mlua::Error::SyntaxError { message, .. } => message,
                other => other.to_string(),
            }),
        )
    };
    native.set("load", lua.create_function(load)?)
}

fn files(lua: &Lua, native: &Table) -> Result<()> {
    let decode = |lua: &Lua, bytes: Buffer| outcome(lua, place::decode(lua, &bytes.to_vec()));
    native.set("rbxm_decode", lua.create_function(decode)?)?;
    let encode = |lua: &Lua, rows: Table| {
        let bytes = place::encode(lua, &rows).and_then(|bytes| lua.create_buffer(bytes));
        outcome(lua, bytes)
    };
    native.set("rbxm_encode", lua.create_function(encode)?)
}

fn work(lua: &Lua, native: &Table, meter: &Rc<Meter>) -> Result<()> {
    let start = Instant::now();
    let clock = move |_: &Lua, ()| Ok(start.elapsed().as_secs_f64());
    native.set("clock", lua.create_function(clock)?)?;
    let it = Rc::clone(meter);
    let began = move |_: &Lua, ()| {
        it.begin();
        Ok(())
    };
    native.set("began", lua.create_function(began)?)?;
    let it = Rc::clone(meter);
    let ended = move |_: &Lua, plugin: bool| {
        it.end(plugin);
        Ok(())
    };
    native.set("ended", lua.create_function(ended)?)?;
    let it = Rc::clone(meter);
    native.set("units", lua.create_function(move |_: &Lua, ()| Ok(it.units()))?)?;
    let it = Rc::clone(meter);
    let rewind = move |_: &Lua, units: u64| {
        it.rewind(units);
        Ok(())
    };
    native.set("rewind", lua.create_function(rewind)?)?;
    let it = Rc::clone(meter);
    native.set("used", lua.create_function(move |_: &Lua, ()| Ok(it.used()))?)?;
    let it = Rc::clone(meter);
    let exhaust = move |_: &Lua, ()| {
        it.exhaust();
        Ok(())
    };
    native.set("exhaust", lua.create_function(exhaust)?)
}
