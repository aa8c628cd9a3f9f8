//! Tables of instances: many instances of a scene in columns, each with its path and its stored
//! values of some properties.
//!
//! A command over many instances names such a table. It says which instances they are, how to find
//! them in another state of the file, and what they held. This module knows nothing about commands.

mod encode;
mod grouping;
mod identity;
mod reading;
#[cfg(test)]
mod tests;

use std::collections::hash_map::Entry;

use rbx_dom_weak::{Ustr, ustr};
use rbx_types::{Variant, VariantType};
use rustc_hash::FxHashMap;
use scene_schemas::command::Props;
use scene_schemas::path::Segment;
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{InstanceId, InstancePath, Target, Value};

use self::reading::{PropertyReader, SiblingOrdinals};
use super::binary::PlainValues;
use super::change::NextValue;
use super::convert::to_value;
use super::edits::is_same;
use super::interner::TextInterner;
use super::tree::ROOT;
use super::{Node, Scene, reflection};

pub use self::grouping::{SetGroup, SetGroups};

/// In place of an index: the instance does not store the property.
const ABSENT: u32 = u32::MAX;

/// Many instances, each with its path and its stored values of some properties.
#[derive(Debug, Clone)]
pub struct InstanceTable {
    names: TextInterner,
    classes: TextInterner,
    /// The listed instances and their ancestors, each after its parent.
    instances: Vec<ListedInstance>,
    /// The indices of the listed instances, in the order in which they were given.
    rows: Vec<u32>,
    columns: Vec<TableColumn>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ListedInstance {
    /// Its node number when the table was made.
    number: u32,
    /// The index of its parent plus one; 0 for a child of `game`.
    parent: u32,
    name: u32,
    class: u32,
    /// Its ordinal among siblings of the same name, from 1; 0 if it is the only one.
    ordinal: u32,
}

/// The stored values of one property.
#[derive(Debug, Clone)]
struct TableColumn {
    key: Ustr,
    /// Values, of which neighbouring rows share equal ones.
    pool: PlainValues,
    /// For each row, an index into the pool, or [`ABSENT`].
    cells: Vec<u32>,
}

impl TableColumn {
    fn value(&self, row: usize) -> Option<Variant> {
        let cell = *self.cells.get(row)?;
        (cell != ABSENT).then(|| self.pool.get(cell as usize)).flatten()
    }

    fn push(&mut self, value: Option<&Variant>) {
        self.cells.push(value.map_or(ABSENT, |value| self.pool.push(value)));
    }
}

/// Whether values of a kind can be in a table: those that refer to nothing else in the file.
fn is_plain(kind: VariantType) -> bool {
    matches!(
        kind,
        VariantType::Axes
            | VariantType::Bool
            | VariantType::BrickColor
            | VariantType::CFrame
            | VariantType::Color3
            | VariantType::Color3uint8
            | VariantType::Enum
            | VariantType::Faces
            | VariantType::Float32
            | VariantType::Float64
            | VariantType::Int32
            | VariantType::Int64
            | VariantType::NumberRange
            | VariantType::OptionalCFrame
            | VariantType::PhysicalProperties
            | VariantType::Rect
            | VariantType::UDim
            | VariantType::UDim2
            | VariantType::Vector2
            | VariantType::Vector3
            | VariantType::Vector3int16
    )
}

impl InstanceTable {
    /// Returns the number of listed instances.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the path of a listed instance.
    pub fn path(&self, row: usize) -> InstancePath {
        self.rows.get(row).map_or_else(InstancePath::default, |at| self.path_of(*at as usize))
    }

    fn path_of(&self, at: usize) -> InstancePath {
        let mut segments = Vec::new();
        let mut next = self.instances.get(at);
        while let Some(it) = next {
            let index = Some(it.ordinal).filter(|ordinal| *ordinal > 0);
            segments.push(Segment { name: self.names.get(it.name).to_owned(), index });
            next = it.parent.checked_sub(1).and_then(|at| self.instances.get(at as usize));
        }
        segments.reverse();
        InstancePath { segments }
    }

    /// Returns the id of a listed instance by its number.
    pub fn id(&self, row: usize) -> InstanceId {
        let listed = self.rows.get(row).and_then(|at| self.instances.get(*at as usize));
        InstanceId(format!("ref:#{}", listed.map_or(0, |it| it.number)))
    }

    /// Returns the class of a listed instance.
    pub fn class(&self, row: usize) -> &str {
        let listed = self.rows.get(row).and_then(|at| self.instances.get(*at as usize));
        listed.map_or("", |it| self.classes.get(it.class))
    }

    /// Returns the first listed instance of each class.
    pub fn first_of_classes(&self) -> Vec<usize> {
        let mut first = vec![None; self.classes.len()];
        for (row, at) in self.rows.iter().enumerate() {
            let class = self.instances.get(*at as usize).map_or(0, |it| it.class as usize);
            if let Some(slot) = first.get_mut(class) {
                slot.get_or_insert(row);
            }
        }
        first.into_iter().flatten().collect()
    }

    /// Whether the table has values of exactly these properties.
    pub fn has_columns<'a>(&self, properties: impl ExactSizeIterator<Item = &'a str>) -> bool {
        properties.len() == self.columns.len()
            && properties.zip(&self.columns).all(|(name, column)| column.key.as_str() == name)
    }

    /// Returns a table of some of the listed instances, by their numbers in ascending order.
    #[must_use]
    pub fn select_rows(&self, rows: &[u32]) -> Self {
        let mut selected = Self {
            names: TextInterner::default(),
            classes: TextInterner::default(),
            instances: Vec::new(),
            rows: Vec::new(),
            columns: self.columns.iter().map(|it| TableColumn::new(it.key)).collect(),
        };
        let mut copies: FxHashMap<u32, u32> = FxHashMap::default();
        for row in rows {
            let Some(at) = self.rows.get(*row as usize) else { continue };
            let copy = self.copy_into(&mut selected, *at, &mut copies);
            selected.rows.push(copy);
            for (to, from) in selected.columns.iter_mut().zip(&self.columns) {
                to.push(from.value(*row as usize).as_ref());
            }
        }
        selected
    }

    /// Copies an instance and its ancestors into another table. Returns its index there.
    fn copy_into(&self, to: &mut Self, at: u32, copies: &mut FxHashMap<u32, u32>) -> u32 {
        let mut line = Vec::new();
        let mut next = Some(at);
        while let Some(at) = next.filter(|at| !copies.contains_key(at)) {
            line.push(at);
            next = self.instances[at as usize].parent.checked_sub(1);
        }
        let mut parent = next.map_or(0, |at| copies[&at] + 1);
        for at in line.into_iter().rev() {
            let from = self.instances[at as usize];
            let name = to.names.intern(self.names.get(from.name));
            let class = to.classes.intern(self.classes.get(from.class));
            to.instances.push(ListedInstance { parent, name, class, ..from });
            parent = to.instances.len() as u32;
            copies.insert(at, parent - 1);
        }
        copies[&at]
    }

    /// Returns the listed values of an instance; None for a property that it does not store.
    pub fn stored_props(&self, row: usize) -> Props {
        let value = |column: &TableColumn| {
            let value = column.value(row).map(|it| plain_value(self.class(row), &column.key, &it));
            (column.key.to_string(), value)
        };
        self.columns.iter().map(value).collect()
    }

    /// Returns the listed value of a property of an instance, or the default of its class.
    pub fn value(&self, row: usize, property: &str) -> Option<Value> {
        self.stored_value(row, property).or_else(|| default_value(self.class(row), property))
    }

    /// Returns the listed value of a property of an instance; None if it does not store it.
    pub fn stored_value(&self, row: usize, property: &str) -> Option<Value> {
        let column = self.columns.iter().find(|column| column.key.as_str() == property)?;
        Some(plain_value(self.class(row), property, &column.value(row)?))
    }

    /// Whether a listed instance or one of its ancestors has siblings of the same name, so that its
    /// path may lead to another one in a changed file.
    fn ambiguous_rows(&self) -> Vec<bool> {
        let mut all: Vec<bool> = Vec::with_capacity(self.instances.len());
        for it in &self.instances {
            let above = it.parent.checked_sub(1).and_then(|at| all.get(at as usize));
            all.push(it.ordinal > 0 || above.copied().unwrap_or(false));
        }
        self.rows.iter().map(|at| all.get(*at as usize).copied().unwrap_or(false)).collect()
    }
}

impl TableColumn {
    fn new(key: Ustr) -> Self {
        Self { key, pool: PlainValues::new(), cells: Vec::new() }
    }
}

/// A value as it is stored in each class: the type that stores a colour depends on the class.
struct ClassVariants<'a> {
    property: &'a str,
    value: Option<&'a Value>,
    by_class: FxHashMap<u32, Option<Variant>>,
}

impl<'a> ClassVariants<'a> {
    fn new(property: &'a str, value: Option<&'a Value>) -> Self {
        Self { property, value, by_class: FxHashMap::default() }
    }

    /// Returns what a class stores; None if the property is reset.
    fn of_class(&mut self, scene: &Scene, class: u32) -> Result<Option<&Variant>, Refusal> {
        Ok(match self.by_class.entry(class) {
            Entry::Occupied(known) => known.into_mut().as_ref(),
            Entry::Vacant(new) => {
                new.insert(scene.variant_for(class, self.property, self.value)?).as_ref()
            }
        })
    }
}

impl Scene {
    /// Finds the listed instances by the numbers that they had when the table was made.
    ///
    /// # Errors
    /// One of them is gone, or has another path or class.
    pub fn locate_rows(&self, table: &InstanceTable) -> Result<Vec<Node>, Refusal> {
        let names = numbers_of(&table.names, &self.tree.name_texts);
        let classes = numbers_of(&table.classes, &self.tree.class_names);
        let mut ordinals = SiblingOrdinals::new(self);
        for (at, it) in table.instances.iter().enumerate() {
            let parent = match it.parent.checked_sub(1) {
                None => ROOT,
                Some(above) => table.instances[above as usize].number,
            };
            let is_there = self.tree.parent(it.number) == Some(parent)
                && Some(self.tree.name(it.number)) == names[it.name as usize]
                && Some(self.tree.class(it.number)) == classes[it.class as usize]
                && ordinals.ordinal(it.number) == it.ordinal;
            if !is_there {
                let path = table.path_of(at);
                let id = InstanceId(format!("ref:#{}", it.number));
                return Err(match self.locate(&Target { id, path: path.clone() }) {
                    Err(refusal) => refusal,
                    Ok(_) => changed_since(&path),
                });
            }
        }
        let number = |at: &u32| Node(table.instances[*at as usize].number);
        Ok(table.rows.iter().map(number).collect())
    }

    /// Finds the listed instances by their paths. Returns the table with their numbers here; None
    /// if they are those of the table.
    ///
    /// # Errors
    /// A path does not lead to exactly one instance, or to one of another class.
    pub fn relocate_table(&self, table: &InstanceTable) -> Result<Option<InstanceTable>, Refusal> {
        let mut found = table.clone();
        for at in 0..found.instances.len() {
            let it = found.instances[at];
            let parent = match it.parent.checked_sub(1) {
                None => ROOT,
                Some(above) => found.instances[above as usize].number,
            };
            let name = table.names.get(it.name);
            let nth = it.ordinal.saturating_sub(1) as usize;
            let node = self.tree.nth_named(parent, name, nth);
            match node {
                Some(node) if self.tree.ordinal(node).unwrap_or(0) == it.ordinal => {
                    if self.tree.class_name(node) != table.classes.get(it.class) {
                        return Err(changed_since(&table.path_of(at)));
                    }
                    found.instances[at].number = node;
                }
                Some(_) if it.ordinal > 0 => {
                    return refuse!(
                        "There were several {} and now there is one; it is not known which of them it is.",
                        table.path_of(at)
                    );
                }
                _ => {
                    let path = table.path_of(at);
                    return Err(match self.resolve(&path) {
                        Err(refusal) => refusal,
                        Ok(_) => changed_since(&path),
                    });
                }
            }
        }
        Ok((found.instances != table.instances).then_some(found))
    }

    /// Returns the closest instance of which all these are descendants.
    pub fn common_ancestor(&self, nodes: &[Node]) -> Node {
        let parent_of = |node: u32| self.tree.parent(node).unwrap_or(ROOT);
        let mut common = nodes.first().map_or(ROOT, |node| parent_of(node.0));
        let mut last = common;
        for node in nodes {
            let parent = parent_of(node.0);
            if parent == last {
                continue;
            }
            last = parent;
            while !self.tree.is_within(parent, common) {
                common = parent_of(common);
            }
        }
        Node(common)
    }

    /// Checks that instances hold the listed values, in the order of the table.
    ///
    /// # Errors
    /// One of them holds another value.
    pub fn check_listed_values(
        &self,
        table: &InstanceTable,
        nodes: &[Node],
    ) -> Result<(), Refusal> {
        for column in &table.columns {
            let mut reader = PropertyReader::new(self, column.key);
            for (row, node) in nodes.iter().enumerate() {
                let stored = reader.read(node.0);
                let listed = column.value(row);
                if !self.is_same_value(*node, column.key, stored.as_deref(), listed.as_ref()) {
                    return Err(changed_since(&table.path(row)));
                }
            }
        }
        Ok(())
    }

    /// Checks that instances hold these values.
    ///
    /// # Errors
    /// One of them holds another value.
    pub fn check_values(
        &self,
        table: &InstanceTable,
        nodes: &[Node],
        props: &Props,
    ) -> Result<(), Refusal> {
        for (property, value) in props {
            let key = ustr(property);
            let mut variants = ClassVariants::new(property, value.as_ref());
            let mut reader = PropertyReader::new(self, key);
            for (row, node) in nodes.iter().enumerate() {
                let expected = variants.of_class(self, self.tree.class(node.0))?;
                let stored = reader.read(node.0);
                if !self.is_same_value(*node, key, stored.as_deref(), expected) {
                    return Err(changed_since(&table.path(row)));
                }
            }
        }
        Ok(())
    }

    fn variant_for(
        &self,
        class: u32,
        property: &str,
        value: Option<&Value>,
    ) -> Result<Option<Variant>, Refusal> {
        let class = self.tree.class_names.get(class);
        value.map(|value| self.to_variant(class, property, value)).transpose()
    }

    /// Whether two stored values of an instance's property mean the same. A stored default is the
    /// same as none.
    fn is_same_value(
        &self,
        node: Node,
        key: Ustr,
        stored: Option<&Variant>,
        expected: Option<&Variant>,
    ) -> bool {
        match (stored, expected) {
            (None, None) => true,
            (Some(stored), Some(expected)) if is_same(stored, expected) => true,
            (stored, expected) => {
                let class = self.class(node);
                let value = |it: Option<&Variant>| {
                    let it = it.or_else(|| reflection::default_of(class, key.as_str()))?;
                    Some(self.to_value(class, key.as_str(), it).to_canonical())
                };
                value(stored) == value(expected)
            }
        }
    }

    /// Sets the same values on instances.
    ///
    /// # Errors
    /// A value cannot be stored; the scene is unchanged.
    pub fn set_values(&mut self, nodes: &[Node], props: &Props) -> Result<(), Refusal> {
        self.or_rollback(|scene| {
            let classes = scene.group_by_class(nodes);
            for (property, value) in props {
                for (class, rows) in &classes {
                    let value = scene.variant_for(*class, property, value.as_ref())?;
                    let of_class: Vec<u32> =
                        rows.iter().map(|row| nodes[*row as usize].0).collect();
                    if let (Some(value), Some(first)) = (&value, of_class.first()) {
                        scene.check_storable(Node(*first), ustr(property), value)?;
                    }
                    let mut value = Some(value);
                    scene.store_values(*class, ustr(property), of_class, |_| {
                        value.take().map_or(NextValue::Same, NextValue::New)
                    });
                }
            }
            Ok(())
        })
    }

    /// Sets instances to the listed values, in the order of the table.
    ///
    /// # Errors
    /// A value cannot be stored; the scene is unchanged.
    pub fn restore_listed_values(
        &mut self,
        table: &InstanceTable,
        nodes: &[Node],
    ) -> Result<(), Refusal> {
        self.or_rollback(|scene| {
            for (class, rows) in scene.group_by_class(nodes) {
                for column in &table.columns {
                    scene.restore_column(class, column, nodes, &rows)?;
                }
            }
            Ok(())
        })
    }

    /// Sets instances of a class to the values of a column.
    fn restore_column(
        &mut self,
        class: u32,
        column: &TableColumn,
        nodes: &[Node],
        rows: &[u32],
    ) -> Result<(), Refusal> {
        let cell = |at: usize| rows.get(at).and_then(|row| column.cells.get(*row as usize));
        // All values of a column have one type.
        let first = rows.iter().find_map(|row| Some((*row, column.value(*row as usize)?)));
        if let Some((row, value)) = first {
            self.check_storable(nodes[row as usize], column.key, &value)?;
        }
        let of_class: Vec<u32> = rows.iter().map(|row| nodes[*row as usize].0).collect();
        self.store_values(class, column.key, of_class, |at| {
            if at > 0 && cell(at) == cell(at - 1) {
                NextValue::Same
            } else {
                NextValue::New(rows.get(at).and_then(|row| column.value(*row as usize)))
            }
        });
        Ok(())
    }

    /// Returns the classes of instances, each with the positions of its instances.
    fn group_by_class(&self, nodes: &[Node]) -> Vec<(u32, Vec<u32>)> {
        let mut groups: Vec<(u32, Vec<u32>)> = Vec::new();
        let mut last = 0;
        for (at, node) in (0..).zip(nodes) {
            let class = self.tree.class(node.0);
            if groups.get(last).is_none_or(|(of, _)| *of != class) {
                last = groups.iter().position(|(of, _)| *of == class).unwrap_or(groups.len());
            }
            match groups.get_mut(last) {
                Some((_, rows)) => rows.push(at),
                None => groups.push((class, vec![at])),
            }
        }
        groups
    }

    /// Undoes all edits if one of them is refused.
    fn or_rollback(
        &mut self,
        edit: impl FnOnce(&mut Self) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let mark = self.journal_mark();
        edit(self).inspect_err(|_| self.rollback(mark))
    }
}

/// Converts a value that refers to no instance.
fn plain_value(class: &str, property: &str, value: &Variant) -> Value {
    to_value(class, property, value, &|_| None)
}

/// Returns the default of a property in a class.
pub fn default_value(class: &str, property: &str) -> Option<Value> {
    reflection::default_of(class, property).map(|it| plain_value(class, property, it))
}

/// Returns the number of each text in another interner.
fn numbers_of(texts: &TextInterner, other: &TextInterner) -> Vec<Option<u32>> {
    (0..texts.len() as u32).map(|id| other.find(texts.get(id))).collect()
}

fn changed_since(path: &InstancePath) -> Refusal {
    Refusal(format!("{path} has changed since this was planned; ask for the change again."))
}
