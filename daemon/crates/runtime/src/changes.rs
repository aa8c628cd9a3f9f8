//! Reads from the engine what a run changed in its scene.

use std::collections::BTreeSet;

use mlua::{Error, Lua, Result, Table, Value};
use rbx_types::{Variant, VariantType};
use scene_schemas::command::Props;
use vector_core::run::{ChangedValues, InstanceOrigin, PlacedInstance, RunChanges, RunInstance};
use vector_place::reflection::{PropertyAccess, property_access};
use vector_place::{Node, variant_value};

use crate::convert;
use crate::engine::Engine;
use crate::scene::{Handles, call};

/// Reads the changes of a run that has ended.
pub(crate) fn read(engine: &Engine, handles: &Handles<'_>) -> Result<RunChanges> {
    let (placed, values, deleted): (Vec<Table>, Vec<Table>, Vec<u32>) =
        call(engine, "collectChanges", ())?;
    let reader = ChangeReader { lua: &engine.lua, handles };
    let mut not_stored = BTreeSet::new();
    let mut changes = RunChanges::default();
    for row in &placed {
        changes.placed.push(reader.placed(row)?);
    }
    for row in &values {
        let of = reader.instance(row.get("of")?)?;
        let class: String = row.get("class")?;
        let (props, references) = reader.values(&class, row, &mut not_stored)?;
        match (of, changes.placed.as_mut_slice()) {
            // The values of a new instance are those that it is created with.
            (RunInstance::Placed(index), all)
                if matches!(
                    all.get(index).map(|it| &it.origin),
                    Some(InstanceOrigin::Created(_))
                ) =>
            {
                if let Some(placed) = all.get_mut(index) {
                    placed.origin = InstanceOrigin::Created(props);
                }
                if !references.is_empty() {
                    let props = Props::new();
                    changes.values.push(ChangedValues { of, props, references });
                }
            }
            _ if props.is_empty() && references.is_empty() => {}
            _ => changes.values.push(ChangedValues { of, props, references }),
        }
    }
    changes.deleted = deleted.into_iter().map(|it| reader.node(it)).collect::<Result<_>>()?;
    changes.not_stored = not_stored.into_iter().collect();
    Ok(changes)
}

/// References to instances, by property. None if the reference is empty now.
type References = Vec<(String, Option<RunInstance>)>;

struct ChangeReader<'e, 's> {
    lua: &'e Lua,
    handles: &'e Handles<'s>,
}

impl ChangeReader<'_, '_> {
    fn node(&self, handle: u32) -> Result<Node> {
        self.handles.node(handle).ok_or_else(|| Error::runtime("an unknown instance was reported"))
    }

    /// Reads a reference: the number of a row as a negative number, or that of an instance of the
    /// scene.
    fn instance(&self, reference: i64) -> Result<RunInstance> {
        match u32::try_from(reference) {
            Ok(handle) => self.node(handle).map(RunInstance::Known),
            Err(_) => Ok(RunInstance::Placed(reference.unsigned_abs() as usize - 1)),
        }
    }

    fn placed(&self, row: &Table) -> Result<PlacedInstance> {
        let node: Option<u32> = row.get("node")?;
        let copy_of: Option<u32> = row.get("copyOf")?;
        let root: Option<usize> = row.get("root")?;
        let origin = match (node, copy_of) {
            (Some(node), _) => InstanceOrigin::Moved(self.node(node)?),
            (None, None) => InstanceOrigin::Created(Props::new()),
            (None, Some(of)) => match root {
                Some(root) => InstanceOrigin::CopiedWithin { root: root - 1, of: self.node(of)? },
                None => InstanceOrigin::Copied(self.node(of)?),
            },
        };
        Ok(PlacedInstance {
            origin,
            class: row.get("class")?,
            name: row.get("name")?,
            parent: self.instance(row.get("parent")?)?,
        })
    }

    /// Reads the values that were set on an instance. Those that places do not store are only
    /// named.
    fn values(
        &self,
        class: &str,
        row: &Table,
        not_stored: &mut BTreeSet<String>,
    ) -> Result<(Props, References)> {
        let mut props = Props::new();
        let mut keep = |name: &str| {
            let is_kept = name.starts_with('@')
                || matches!(name, "Name" | "Tags" | "Source")
                || matches!(property_access(class, name), Some(PropertyAccess::Stored(_)));
            if !is_kept {
                not_stored.insert(format!("{class}.{name}"));
            }
            is_kept
        };
        for pair in row.get::<Table>("values")?.pairs::<String, Value>() {
            let (name, value) = pair?;
            if !keep(&name) {
                continue;
            }
            if let Some(variant) = self.variant(class, &name, &value)? {
                let owner = if name.starts_with('@') { "" } else { class };
                let value = variant_value(owner, &name, &variant);
                props.insert(name, Some(value));
            }
        }
        for name in row.get::<Vec<String>>("resets")? {
            if keep(&name) {
                props.insert(name, None);
            }
        }
        let mut references = References::new();
        for pair in row.get::<Table>("references")?.pairs::<String, Value>() {
            let (name, to) = pair?;
            if keep(&name) {
                let to = to.as_i64().map(|to| self.instance(to)).transpose()?;
                references.push((name, to));
            }
        }
        references.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok((props, references))
    }

    fn variant(&self, class: &str, name: &str, value: &Value) -> Result<Option<Variant>> {
        let wanted = match name {
            _ if name.starts_with('@') => VariantType::Float64,
            "Name" => VariantType::String,
            "Tags" => {
                let tags = value.as_table().map(convert::tags).transpose()?;
                return Ok(tags.map(Variant::Tags));
            }
            _ => match property_access(class, name) {
                Some(PropertyAccess::Stored(found)) => found.ty.ty(),
                _ => VariantType::String,
            },
        };
        convert::from_luau(self.lua, value, wanted)
    }
}
