//! Roblox's classes and enums, as plain tables for the engine.
//!
//! Properties, enums and defaults come from the reflection database; methods and events, which it
//! lacks, from the facts about Roblox's API. The behavior of a member is not known here.

use mlua::{Lua, Result, Table, Value};
use rbx_reflection::{
    ClassDescriptor, ClassTag, DataType, PropertyDescriptor, PropertyKind, PropertySerialization,
    ReflectionDatabase, Scriptability,
};
use rbx_types::Variant;
use vector_roblox_api::ApiFacts;

use crate::convert;

/// The database in this build, never the file that a developer may have locally.
pub(crate) fn database() -> &'static ReflectionDatabase<'static> {
    rbx_reflection_database::get_bundled()
}

/// The names of the classes that are services, sorted.
pub fn services() -> Vec<&'static str> {
    let classes = database().classes.values();
    let services = classes.filter(|class| class.tags.contains(&ClassTag::Service));
    let mut names: Vec<_> = services.map(|class| class.name).collect();
    names.sort_unstable();
    names
}

/// What the engine checks before a method is called or an event is read: nil if Roblox has no such
/// member.
pub(crate) fn member(lua: &Lua, class: &str, name: &str) -> Result<Option<Table>> {
    let Some((owner, member)) = ApiFacts::get().member(class, name) else {
        return Ok(None);
    };
    let table = lua.create_table()?;
    table.set("owner", owner.name.as_str())?;
    table.set("yields", member.has_tag("Yields"))?;
    table.set("deprecated", member.is_deprecated())?;
    let rest = member.params.iter().position(|it| it.value_type.as_deref() == Some("Tuple"));
    table.set("rest", rest.is_some())?;
    let params = lua.create_table()?;
    for parameter in member.params.iter().take(rest.unwrap_or(usize::MAX)) {
        let row = lua.create_table()?;
        let written = parameter.value_type.as_deref().unwrap_or("Variant");
        row.set("type", argument_type(written))?;
        row.set("optional", owner.is_optional(member, parameter))?;
        params.push(row)?;
    }
    table.set("params", params)?;
    Ok(Some(table))
}

/// The type of an argument, as the engine checks it: a name that `typeof` returns, `enum` or
/// `instance` with a name, or `any`.
fn argument_type(written: &str) -> String {
    let facts = ApiFacts::get();
    let name = written.trim_end_matches('?');
    let name = name.strip_prefix("Enum.").unwrap_or(name);
    match name {
        "bool" | "boolean" => "boolean".to_owned(),
        // `User` is the id of a user, and also the name of a class.
        "float" | "double" | "int" | "int64" | "number" | "User" => "number".to_owned(),
        "string" | "ContentId" | "BinaryString" => "string".to_owned(),
        "buffer" | "Vector3" => name.to_owned(),
        "Function" => "function".to_owned(),
        "Instances" | "Array" | "Dictionary" => "table".to_owned(),
        _ if name.starts_with("List<") => "table".to_owned(),
        _ if facts.classes.contains_key(name) => format!("instance {name}"),
        _ if facts.enums.contains_key(name) => format!("enum {name}"),
        _ if facts.datatypes.contains_key(name) => name.to_owned(),
        _ => "any".to_owned(),
    }
}

/// Whether Roblox has a class of this name.
#[cfg(test)]
pub(crate) fn has_class(name: &str) -> bool {
    database().classes.contains_key(name)
}

/// What the engine needs of a class: its superclass, tags and own properties.
pub(crate) fn class(lua: &Lua, name: &str) -> Result<Option<Table>> {
    let Some(descriptor) = database().classes.get(name) else {
        return Ok(None);
    };
    let table = lua.create_table()?;
    table.set("name", descriptor.name)?;
    table.set("super", descriptor.superclass)?;
    table.set("service", descriptor.tags.contains(&ClassTag::Service))?;
    // Roblox documents the services that scripts may use.
    let is_internal =
        descriptor.tags.contains(&ClassTag::Service) && !ApiFacts::get().classes.contains_key(name);
    table.set("internal", is_internal)?;
    table.set("creatable", !descriptor.tags.contains(&ClassTag::NotCreatable))?;
    let properties = lua.create_table()?;
    for property in descriptor.properties.values() {
        properties.set(property.name, self::property(lua, property)?)?;
    }
    table.set("properties", properties)?;
    Ok(Some(table))
}

fn property(lua: &Lua, property: &PropertyDescriptor<'_>) -> Result<Table> {
    let table = lua.create_table()?;
    table.set("name", property.name)?;
    let scriptability = match property.name {
        // The database hides it, because Rojo's plugin has no values of its type. The reference has
        // a script that sets it: the datatype SecurityCapabilities.
        "Capabilities" => Scriptability::ReadWrite,
        _ => property.scriptability,
    };
    table.set("access", format!("{scriptability:?}"))?;
    match &property.data_type {
        DataType::Enum(name) => {
            table.set("type", "Enum")?;
            table.set("enum", *name)?;
        }
        DataType::Value(kind) => table.set("type", format!("{kind:?}"))?,
        _ => table.set("type", "Unknown")?,
    }
    match &property.kind {
        PropertyKind::Alias { alias_for } => table.set("alias", *alias_for)?,
        PropertyKind::Canonical { serialization } => match serialization {
            PropertySerialization::Serializes | PropertySerialization::SerializesAs(_) => {
                table.set("stored", true)?;
            }
            PropertySerialization::Migrate(migration) => {
                table.set("moved", migration.new_property_names().first().copied())?;
            }
            _ => {}
        },
        _ => {}
    }
    Ok(table)
}

/// The value of a property in a new instance.
pub(crate) fn usual(class: &str, property: &str) -> Option<&'static Variant> {
    let database = database();
    database.find_default_property(database.classes.get(class)?, property)
}

/// The same value for Luau.
pub(crate) fn default(lua: &Lua, class: &str, property: &str) -> Result<Value> {
    match usual(class, property) {
        Some(variant) => convert::to_luau(lua, variant),
        None => Ok(Value::Nil),
    }
}

/// Former names of enum items; the first lines name the source.
const RENAMED: &str = include_str!("../data/renamed.txt");

/// The renamed items of an enum: old and new name.
pub(crate) fn renamed(lua: &Lua, name: &str) -> Result<Table> {
    let table = lua.create_table()?;
    let mut lines = RENAMED.lines().filter_map(|line| line.split_once(' '));
    if let Some((_, pairs)) = lines.find(|(enumeration, _)| *enumeration == name) {
        for (old, new) in pairs.split(' ').filter_map(|pair| pair.split_once('=')) {
            table.set(old, new)?;
        }
    }
    Ok(table)
}

/// The items of an enum with their numbers.
pub(crate) fn enumeration(lua: &Lua, name: &str) -> Result<Option<Table>> {
    let Some(descriptor) = database().enums.get(name) else {
        return Ok(None);
    };
    let items = descriptor.items.iter().map(|(name, value)| (*name, *value));
    lua.create_table_from(items).map(Some)
}

/// The names of all enums.
pub(crate) fn enumerations(lua: &Lua) -> Result<Table> {
    let mut names: Vec<_> = database().enums.keys().copied().collect();
    names.sort_unstable();
    lua.create_sequence_from(names)
}

/// The description of an own or inherited property, under its canonical name.
pub(crate) fn canonical(class: &str, name: &str) -> Option<&'static PropertyDescriptor<'static>> {
    let database = database();
    let descriptor: &ClassDescriptor<'_> = database.classes.get(class)?;
    let found = database.superclasses_iter(descriptor).find_map(|it| it.properties.get(name))?;
    match &found.kind {
        PropertyKind::Alias { alias_for } => canonical(class, alias_for),
        PropertyKind::Canonical { .. } => Some(found),
        _ => None,
    }
}
