//! Conversion between instance files and plain rows for the engine.
//!
//! A row is `{ class, name, parent, properties, referents }`, where `parent` and the values of
//! `referents` are row numbers, counted from 1.

use mlua::{Lua, Result, Table, Value};
use rbx_dom_weak::{InstanceBuilder, WeakDom};
use rbx_reflection::{PropertyKind, PropertyMigration, PropertySerialization};
use rbx_types::{Ref, Variant, VariantType};
use rustc_hash::FxHashMap;

use crate::{convert, reflection};

/// The rows of a file, parents before children.
pub(crate) fn decode(lua: &Lua, bytes: &[u8]) -> Result<Table> {
    let dom = rbx_binary::from_reader(bytes).map_err(mlua::Error::external)?;
    let mut numbers: FxHashMap<Ref, usize> = FxHashMap::default();
    let order: Vec<_> = dom.descendants().skip(1).collect();
    for (at, instance) in order.iter().enumerate() {
        numbers.insert(instance.referent(), at + 1);
    }
    let rows = lua.create_table_with_capacity(order.len(), 0)?;
    let mut known = FxHashMap::default();
    for instance in order {
        let (properties, referents) = (lua.create_table()?, lua.create_table()?);
        for (name, value) in &instance.properties {
            if let Variant::Ref(target) = value {
                if let Some(number) = numbers.get(target) {
                    referents.set(name.as_str(), *number)?;
                }
                continue;
            }
            let key = (instance.class, *name);
            let known = known.entry(key).or_insert_with(|| Known::new(&instance.class, name));
            known.put(lua, &properties, value)?;
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

/// A property of a class: its current names, its migration, and the default value, which is not
/// stored.
pub(crate) struct Known {
    names: Vec<String>,
    migration: Option<&'static PropertyMigration<'static>>,
    usual: Option<&'static Variant>,
}

impl Known {
    pub(crate) fn new(class: &str, name: &str) -> Self {
        let plain = |name: &str| Self {
            names: vec![name.to_owned()],
            migration: None,
            usual: reflection::usual(class, name),
        };
        let Some(property) = reflection::canonical(class, name) else {
            return plain(name);
        };
        match &property.kind {
            PropertyKind::Canonical { serialization: PropertySerialization::Migrate(it) } => {
                let names = it.new_property_names().iter().map(|name| (*name).to_owned());
                Self { names: names.collect(), migration: Some(it), usual: None }
            }
            _ => plain(property.name),
        }
    }

    /// Stores the value under the names that scripts use, unless it is the default.
    pub(crate) fn put(&self, lua: &Lua, properties: &Table, value: &Variant) -> Result<()> {
        if self.usual == Some(value) {
            return Ok(());
        }
        let moved = self.migration.and_then(|migration| migration.perform(value).ok());
        let value = convert::to_luau(lua, moved.as_ref().unwrap_or(value))?;
        for name in &self.names {
            properties.raw_set(name.as_str(), &value)?;
        }
        Ok(())
    }
}

/// Encodes rows as a file; rows without a parent become its roots.
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
