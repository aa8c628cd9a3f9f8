//! Groups the instances of a bulk change by what it changes in them, and lists each group in a table.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rbx_dom_weak::{Ustr, ustr};
use rbx_types::{Variant, VariantType};
use rustc_hash::FxHashMap;
use scene_schemas::command::Props;

use super::reading::{PropertyReader, SiblingOrdinals};
use super::{ABSENT, InstanceTable, ListedInstance, TableColumn, is_plain};
use crate::interner::TextInterner;
use crate::reflection::{self, PropertyAccess};
use crate::tree::ROOT;
use crate::{Node, Scene};

/// Instances in which a change sets the same values.
#[derive(Debug)]
pub struct SetGroup {
    /// The values that differ from the current ones.
    pub props: Props,
    /// The instances, in the order of the table.
    pub nodes: Vec<Node>,
    /// The instances with their current values.
    pub table: InstanceTable,
}

/// The instances of a bulk change.
#[derive(Debug, Default)]
pub struct SetGroups {
    pub groups: Vec<SetGroup>,
    /// The instances in no group, in order.
    pub rest: Vec<Node>,
    /// Number of instances that hold the values already.
    pub unchanged: usize,
}

/// The values to be set in instances of one class.
struct ClassValues<'a> {
    /// The number of the class's values in the list of different ones.
    set: usize,
    wanted: Vec<WantedValue<'a>>,
}

/// The value of one property to be set in instances of one class.
struct WantedValue<'a> {
    key: Ustr,
    reader: PropertyReader<'a>,
    /// None to reset the property.
    variant: Option<Variant>,
    /// Whether the default of the class is equal to it.
    is_default: bool,
}

/// What a change does to an instance: for each property, the kind of the stored value, or None if
/// the property is unchanged.
type ChangeKey = Vec<Option<Option<VariantType>>>;

/// A group while it is collected.
struct OpenGroup {
    set: usize,
    key: ChangeKey,
    /// The positions of the instances in the list of all.
    positions: Vec<u32>,
    columns: Vec<TableColumn>,
}

impl Scene {
    /// Groups instances by the values that a change sets in them. A group has at least `min`
    /// instances; all others, and those that a table cannot list, are in the rest. `props` are the
    /// values for each class; instances of other classes are in the rest.
    pub fn group_sets(
        &self,
        nodes: &[Node],
        props: &BTreeMap<String, Props>,
        min: usize,
    ) -> SetGroups {
        let mut sets: Vec<&Props> = Vec::new();
        let mut classes: FxHashMap<u32, Option<ClassValues<'_>>> = FxHashMap::default();
        let mut collector = GroupCollector::default();
        let (mut result, mut rest) = (SetGroups::default(), Vec::new());
        let mut read_parent = None;
        for (position, node) in (0..).zip(nodes) {
            let class = self.tree.class(node.0);
            let values = classes.entry(class).or_insert_with(|| {
                let props = props.get(self.tree.class_names.get(class))?;
                let set = sets.iter().position(|it| *it == props).unwrap_or_else(|| {
                    sets.push(props);
                    sets.len() - 1
                });
                self.class_values(class, set, props)
            });
            let Some(values) = values.as_mut().filter(|_| self.is_read(*node, &mut read_parent))
            else {
                rest.push(position);
                continue;
            };
            match self.collect_node(*node, position, values, &mut collector) {
                None => rest.push(position),
                Some(false) => result.unchanged += 1,
                Some(true) => {}
            }
        }
        let (full, few): (Vec<_>, Vec<_>) =
            collector.open.into_iter().partition(|group| group.positions.len() >= min);
        rest.extend(few.into_iter().flat_map(|group| group.positions));
        rest.sort_unstable();
        result.rest = rest.into_iter().map(|at: u32| nodes[at as usize]).collect();
        for group in full {
            let changed = sets[group.set].iter().zip(&group.key).filter(|(_, key)| key.is_some());
            let props = changed.map(|((name, value), _)| (name.clone(), value.clone())).collect();
            let nodes: Vec<Node> = group.positions.iter().map(|at| nodes[*at as usize]).collect();
            let table = self.list_instances(&nodes, group.columns);
            result.groups.push(SetGroup { props, nodes, table });
        }
        result
    }

    /// Returns the values to be set in instances of a class; None if a table cannot hold values of
    /// these properties.
    fn class_values(&self, class: u32, set: usize, props: &Props) -> Option<ClassValues<'_>> {
        let name = self.tree.class_names.get(class);
        if reflection::is_script(name) {
            return None;
        }
        let mut wanted = Vec::new();
        for (property, value) in props {
            let is_stored = match reflection::property_access(name, property)? {
                PropertyAccess::Stored(stored) => stored.name == property && property != "Name",
                PropertyAccess::Migrated(_) | PropertyAccess::Derived(_) => false,
            };
            let variant = self.variant_for(class, property, value.as_ref()).ok()?;
            if !is_stored || variant.as_ref().is_some_and(|it| !is_plain(it.ty())) {
                return None;
            }
            let default = reflection::default_of(name, property);
            let default = default.map(|it| self.to_value(name, property, it));
            let key = ustr(property);
            let reader = PropertyReader::new(self, key);
            wanted.push(WantedValue { key, reader, variant, is_default: default == *value });
        }
        Some(ClassValues { set, wanted })
    }

    /// Whether an instance and its ancestors were read from the file, and it is not a child of
    /// `game`. Remembers the last parent for which that is known.
    fn is_read(&self, node: Node, known: &mut Option<(u32, bool)>) -> bool {
        let read = self.tree.read_len();
        let parent = match self.tree.parent(node.0) {
            Some(parent) if node.0 < read && parent != ROOT => parent,
            _ => return false,
        };
        if let Some((of, is_read)) = known
            && *of == parent
        {
            return *is_read;
        }
        let mut line = std::iter::successors(Some(parent), |at| self.tree.parent(*at));
        let is_read = line.all(|at| at < read) && self.is_live(Node(parent));
        *known = Some((parent, is_read));
        is_read
    }

    /// Adds an instance to the group of what changes in it. Returns whether anything does; None if
    /// a table cannot hold one of its values.
    fn collect_node<'a>(
        &'a self,
        node: Node,
        position: u32,
        values: &mut ClassValues<'a>,
        collector: &mut GroupCollector<'a>,
    ) -> Option<bool> {
        collector.key.clear();
        collector.stored.clear();
        for WantedValue { key, reader, variant, is_default } in &mut values.wanted {
            let value = reader.read(node.0);
            let is_changed = match (value.as_deref(), &*variant) {
                (stored, None) => stored.is_some(),
                (None, Some(_)) => !*is_default,
                (Some(stored), Some(wanted)) if stored.ty() == wanted.ty() => stored != wanted,
                (Some(stored), Some(wanted)) => {
                    let class = self.class(node);
                    self.to_value(class, key, stored) != self.to_value(class, key, wanted)
                }
            };
            let kind = value.as_ref().map(|value| value.ty());
            if is_changed && kind.is_some_and(|kind| !is_plain(kind)) {
                return None;
            }
            collector.key.push(is_changed.then_some(kind));
            if is_changed {
                collector.stored.push(value);
            }
        }
        if collector.stored.is_empty() {
            return Some(false);
        }
        collector.push_node(position, values);
        Some(true)
    }

    /// Lists instances that were read from the file, with these columns.
    fn list_instances(&self, nodes: &[Node], columns: Vec<TableColumn>) -> InstanceTable {
        let mut table = InstanceTable {
            names: TextInterner::default(),
            classes: TextInterner::default(),
            instances: Vec::with_capacity(nodes.len()),
            rows: Vec::with_capacity(nodes.len()),
            columns,
        };
        let mut listing = TableListing {
            scene: self,
            ordinals: SiblingOrdinals::new(self),
            index_of: vec![ABSENT; self.tree.read_len() as usize],
            names: vec![ABSENT; self.tree.name_texts.len()],
            classes: vec![ABSENT; self.tree.class_names.len()],
        };
        for node in nodes {
            let at = listing.list(&mut table, node.0);
            table.rows.push(at);
        }
        table
    }
}

/// The groups found so far.
#[derive(Default)]
struct GroupCollector<'a> {
    open: Vec<OpenGroup>,
    /// The group of the last instance, which is mostly that of the next one too.
    last: usize,
    /// What changes in the current instance, and the stored values of what changes.
    key: ChangeKey,
    stored: Vec<Option<Cow<'a, Variant>>>,
}

impl GroupCollector<'_> {
    /// Adds the current instance to its group.
    fn push_node(&mut self, position: u32, values: &ClassValues<'_>) {
        let stored = std::mem::take(&mut self.stored);
        let group = self.find_group(values);
        group.positions.push(position);
        for (column, value) in group.columns.iter_mut().zip(&stored) {
            column.push(value.as_deref());
        }
        self.stored = stored;
    }

    /// Returns the group of the current instance, and adds it if it is new.
    fn find_group(&mut self, values: &ClassValues<'_>) -> &mut OpenGroup {
        let key = &self.key;
        let is_it = |group: &OpenGroup| group.set == values.set && group.key == *key;
        let is_last = self.open.get(self.last).is_some_and(is_it);
        if !is_last {
            self.last = self.open.iter().position(is_it).unwrap_or_else(|| {
                let changed = values.wanted.iter().zip(key).filter(|(_, key)| key.is_some());
                self.open.push(OpenGroup {
                    set: values.set,
                    key: key.clone(),
                    positions: Vec::new(),
                    columns: changed.map(|(wanted, _)| TableColumn::new(wanted.key)).collect(),
                });
                self.open.len() - 1
            });
        }
        &mut self.open[self.last]
    }
}

/// Lists instances and their ancestors in a table.
struct TableListing<'a> {
    scene: &'a Scene,
    ordinals: SiblingOrdinals<'a>,
    /// The index in the table of each node, or [`ABSENT`].
    index_of: Vec<u32>,
    /// The numbers in the table of the names and classes of the scene, or [`ABSENT`].
    names: Vec<u32>,
    classes: Vec<u32>,
}

impl TableListing<'_> {
    /// Returns the index of an instance, and adds it and its ancestors if they are not listed yet.
    fn list(&mut self, table: &mut InstanceTable, node: u32) -> u32 {
        let tree = &self.scene.tree;
        let (mut line, mut at) = (Vec::new(), node);
        while at != ROOT && self.index_of[at as usize] == ABSENT {
            line.push(at);
            at = tree.parent(at).unwrap_or(ROOT);
        }
        let mut parent = if at == ROOT { 0 } else { self.index_of[at as usize] + 1 };
        for node in line.into_iter().rev() {
            let name = &mut self.names[tree.name(node) as usize];
            if *name == ABSENT {
                *name = table.names.intern(tree.name_text(node));
            }
            let class = &mut self.classes[tree.class(node) as usize];
            if *class == ABSENT {
                *class = table.classes.intern(tree.class_name(node));
            }
            let ordinal = self.ordinals.ordinal(node);
            let (name, class) = (*name, *class);
            table.instances.push(ListedInstance { number: node, parent, name, class, ordinal });
            parent = table.instances.len() as u32;
            self.index_of[node as usize] = parent - 1;
        }
        self.index_of[node as usize]
    }
}
