//! Files of instances, taken apart into plain rows for the engine and put together again.
//!
//! A row is `{ class, name, parent, properties, referents }`, where `parent` and the values of
//! `referents` are numbers of rows, counted from 1.

use std::collections::HashMap;

use mlua::{Lua, Result, Table, Value};
use rbx_dom_weak::{InstanceBuilder, WeakDom};
use rbx_reflection::{PropertyKind, PropertySerialization};
use rbx_types::{Ref, Variant, VariantType};

use crate::{convert, reflection};

/// The rows of a file, parents before children.
pub(crate) fn decode(lua: &Lua, bytes: &[u8]) -> Result<Table> {
    let dom = rbx_binary::from_reader(bytes).map_err(mlua::Error::external)?;
    let mut numbers: HashMap<Ref, usize> = HashMap::new();
    let order: Vec<_> = dom.descendants().skip(1).collect();
    for (at, instance) in order.iter().enumerate() {
        numbers.insert(instance.referent(), at + 1);
    }
    let rows = lua.create_table_with_capacity(order.len(), 0)?;
    for instance in order {
        let (properties, referents) = (lua.create_table()?, lua.create_table()?);
        for (name, value) in &instance.properties {
            if let Variant::Ref(target) = value {
                if let Some(number) = numbers.get(target) {
                    referents.set(name.as_str(), *number)?;
                }
                continue;
            }
            for (name, value) in moved(&instance.class, name, value) {
                properties.set(name, convert::to_luau(lua, &value)?)?;
            }
        }
        let row = lua.create_table()?;
        row.set("class", instance.class.as_str())?;
        row.set("name", instance.name.as_str())?;
        row.set("parent", numbers.get(&instance.parent()).copied())?;
        row.set("properties", properties)?;
        row.set("referents", referents)?;
        rows.push(row)?;
    }
    Ok(rows)
}

/// A property of an old file under the names and with the value that it has today.
fn moved(class: &str, name: &str, value: &Variant) -> Vec<(String, Variant)> {
    let unmoved = || vec![(name.to_owned(), value.clone())];
    let Some(property) = reflection::canonical(class, name) else {
        return unmoved();
    };
    match &property.kind {
        PropertyKind::Canonical { serialization: PropertySerialization::Migrate(migration) } => {
            match migration.perform(value) {
                Ok(value) => {
                    let targets = migration.new_property_names().iter();
                    targets.map(|target| ((*target).to_owned(), value.clone())).collect()
                }
                Err(_) => unmoved(),
            }
        }
        _ => vec![(property.name.to_owned(), value.clone())],
    }
}

/// The bytes of a file that holds these rows; rows without a parent become its roots.
pub(crate) fn encode(lua: &Lua, rows: &Table) -> Result<Vec<u8>> {
    let rows = rows.sequence_values::<Table>().collect::<Result<Vec<_>>>()?;
    let referents: Vec<_> = rows.iter().map(|_| Ref::new()).collect();
    let mut dom = WeakDom::new(InstanceBuilder::new("DataModel"));
    let mut roots = vec![];
    for (row, referent) in rows.iter().zip(&referents) {
        let parent = match row.get::<Option<usize>>("parent")? {
            Some(number) => referents.get(number - 1).copied().unwrap_or_else(Ref::none),
            None => dom.root_ref(),
        };
        if parent == dom.root_ref() {
            roots.push(*referent);
        }
        let instance = builder(lua, row, &referents)?.with_referent(*referent);
        dom.insert(parent, instance);
    }
    let mut bytes = vec![];
    rbx_binary::to_writer(&mut bytes, &dom, &roots).map_err(mlua::Error::external)?;
    Ok(bytes)
}

fn builder(lua: &Lua, row: &Table, referents: &[Ref]) -> Result<InstanceBuilder> {
    let class: String = row.get("class")?;
    let mut builder = InstanceBuilder::new(class.as_str()).with_name(row.get::<String>("name")?);
    for pair in row.get::<Table>("properties")?.pairs::<String, Value>() {
        let (name, value) = pair?;
        let kind = reflection::canonical(&class, &name).map(|it| it.data_type.ty());
        let kind = kind.unwrap_or(VariantType::String);
        if let Some(value) = convert::from_luau(lua, &value, kind)? {
            builder.add_property(name, value);
        }
    }
    for pair in row.get::<Table>("referents")?.pairs::<String, usize>() {
        let (name, number) = pair?;
        if let Some(target) = referents.get(number - 1) {
            builder.add_property(name, Variant::Ref(*target));
        }
    }
    if let Some(attributes) = row.get::<Option<Table>>("attributes")? {
        builder.add_property("Attributes", convert::attributes(lua, &attributes)?);
    }
    if let Some(tags) = row.get::<Option<Table>>("tags")? {
        builder.add_property("Tags", convert::tags(&tags)?);
    }
    Ok(builder)
}
