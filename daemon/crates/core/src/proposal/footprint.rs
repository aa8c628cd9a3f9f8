//! What a proposal reads and writes, and whether two proposals touch each other.
//!
//! A footprint names instances by paths. That is enough, although paths change: renaming, moving,
//! creating or deleting an instance writes which children of its parent have its name, and each path
//! reads that for every instance on the way. Two proposals that do not touch each other can be
//! performed in either order, with the same result.

mod index;
mod key_set;

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use scene_schemas::command::Props;
use scene_schemas::path::Segment;
use scene_schemas::proposal::{PlanRead, Proposal};
use scene_schemas::value::{Content, Value};
use scene_schemas::{Command, InstancePath};
use serde::Serialize;
use vector_place::InstanceTable;
use vector_place::reflection::property_group;
use vector_place::selector::{Selector, SelectorWatch};

pub(crate) use self::index::{FootprintIndex, TouchIndex};

use self::key_set::KeySet;

/// What a proposal reads and writes.
#[derive(Debug, Clone, Default)]
pub struct Footprint {
    reads: KeySet,
    writes: KeySet,
    /// The instances whose descendants it reads, all of them.
    read_trees: KeySet,
    /// The instances of whose children it reads the order.
    read_orders: KeySet,
    /// The instances whose children it writes.
    written_orders: KeySet,
    /// The instances that it writes, and their ancestors.
    written_trees: KeySet,
    selectors: Vec<SelectorWatch>,
    /// All properties that it reads or writes, of whatever instance.
    properties: KeySet,
    written_properties: KeySet,
    /// The names before and after of the instances that it renames.
    written_names: BTreeSet<String>,
    /// The properties that it writes on instances that it does not list.
    broad_properties: KeySet,
    written_structure: WrittenStructure,
    reads_place: bool,
    /// What the keys of reads stand for. None if nothing asks for it: most footprints are only
    /// compared.
    subjects: Option<FxHashMap<ReadKey, ReadSubject>>,
}

/// Something that a proposal reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ReadSubject {
    /// Which instance is at a path.
    Instance { path: InstancePath },
    /// A property, by the name of its group; a script's text is its `Source`.
    Property { path: InstancePath, property: String },
    /// An instance with all below it.
    Tree { path: InstancePath },
    /// The order of an instance's children.
    ChildOrder { path: InstancePath },
    /// Which instances a selector matches.
    Selector { selector: String },
    /// Anything of the place.
    Place {},
}

/// A read of a footprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum ReadKey {
    Part(Key),
    Tree(Key),
    ChildOrder(Key),
    /// The index of a selector.
    Selector(usize),
    Place,
}

/// Which instances a proposal adds, removes or moves.
#[derive(Debug, Clone, Default)]
struct WrittenStructure {
    /// The class and name of each instance that it adds.
    added: BTreeSet<(String, String)>,
    /// Whether it adds or removes instances of classes that its commands do not name.
    has_any_class: bool,
    moves: bool,
}

/// Something that can be read and written. The hash of two different things may be the same, which
/// makes proposals touch each other that do not.
type Key = u64;

impl Footprint {
    pub fn new(proposal: &Proposal) -> Self {
        Self::default().with_proposal(proposal)
    }

    /// Returns what a proposal reads, by the keys of its footprint.
    fn read_subjects(proposal: &Proposal) -> FxHashMap<ReadKey, ReadSubject> {
        let footprint = Self { subjects: Some(FxHashMap::default()), ..Self::default() };
        footprint.with_proposal(proposal).subjects.unwrap_or_default()
    }

    fn with_proposal(self, proposal: &Proposal) -> Self {
        let mut footprint = self;
        for command in &proposal.commands {
            footprint.add_command(command);
        }
        for read in &proposal.reads {
            footprint.add_read(read);
        }
        for file in proposal.files.iter().flat_map(|it| &it.files).chain(&proposal.changed_files) {
            footprint.writes.add(hash_of(&Part::File(file)));
        }
        footprint.sealed()
    }

    /// Returns the footprint ready to be compared.
    fn sealed(mut self) -> Self {
        self.seal();
        self
    }

    fn seal(&mut self) {
        let Self {
            reads,
            writes,
            read_trees,
            read_orders,
            written_orders,
            written_trees,
            properties,
            written_properties,
            broad_properties,
            selectors: _,
            written_names: _,
            written_structure: _,
            reads_place: _,
            subjects: _,
        } = self;
        let parts = [reads, writes, read_trees, read_orders, written_orders, written_trees];
        let groups = [properties, written_properties, broad_properties];
        parts.into_iter().chain(groups).for_each(KeySet::seal);
    }

    /// Adds the writes of a command over many instances, one for each of them.
    pub(crate) fn add_members(&mut self, command: &Command, table: &InstanceTable) {
        let Command::SetMany { props, .. } = command else {
            return;
        };
        for path in (0..table.len()).map(|row| table.path(row)) {
            for property in props.keys() {
                self.write_property(&path, property);
            }
        }
        self.seal();
    }

    /// Returns the footprint of reading instances with all below them.
    pub fn of_trees<'a>(roots: impl IntoIterator<Item = &'a InstancePath>) -> Self {
        let mut footprint = Self::default();
        for root in roots {
            footprint.read_tree(root);
        }
        footprint.sealed()
    }

    /// Returns the footprint of reading what a selector matches.
    pub fn of_selector(selector: &str) -> Self {
        let mut footprint = Self::default();
        footprint.add_read(&PlanRead::Selector { selector: selector.to_owned() });
        footprint.sealed()
    }

    /// Whether one of two proposals writes what the other reads or writes.
    pub fn touches(&self, other: &Self) -> bool {
        self.relies_on(other) || other.relies_on(self)
    }

    /// Whether another proposal writes what this one reads or writes.
    fn relies_on(&self, other: &Self) -> bool {
        !other.writes.is_empty()
            && (self.reads_place
                || self.reads.intersects(&other.writes)
                || self.writes.intersects(&other.writes)
                || self.read_trees.intersects(&other.written_trees)
                || self.read_orders.intersects(&other.written_orders)
                || self.properties.intersects(&other.broad_properties)
                || !self.read_trees.is_empty() && !other.broad_properties.is_empty()
                || self.selectors.iter().any(|it| other.concerns(it)))
    }

    /// Whether it can change what a selector matches.
    fn concerns(&self, selector: &SelectorWatch) -> bool {
        self.written_structure.concerns(selector)
            || !selector.names.is_disjoint(&self.written_names)
            || selector
                .properties
                .iter()
                .any(|group| self.written_properties.contains(hash_of(&Part::Group(group))))
    }

    fn add_command(&mut self, command: &Command) {
        match command {
            Command::Create { parent, class, name, props, .. } => {
                self.read_path(&parent.path);
                self.write_child(&parent.path, name);
                self.read_values(props);
                self.written_structure.added.insert((class.clone(), name.clone()));
            }
            Command::Clone { source, parent, name, .. } => {
                self.read_tree(&source.path);
                self.read_path(&parent.path);
                self.write_child(&parent.path, name);
                self.written_structure.has_any_class = true;
            }
            Command::Set { target, props, .. } => {
                self.read_path(&target.path);
                self.read_values(props);
                for property in props.keys() {
                    self.write_property(&target.path, property);
                }
                if let Some(Some(Value::String(name))) = props.get("Name") {
                    self.write_name(&target.path);
                    self.written_names.extend([name.clone(), target.path.name().to_owned()]);
                    if let Some(parent) = target.path.parent() {
                        self.write_child(&parent, name);
                    }
                }
            }
            Command::SetMany { target, props, .. } => {
                self.read_path(&target.path);
                self.read_values(props);
                self.written_structure.has_any_class |= props.contains_key("Name");
                for property in props.keys() {
                    self.write_property(&target.path, property);
                    self.broad_properties.add(hash_of(&Part::Group(property_group(property))));
                }
            }
            Command::Move { target, parent, index, .. } => {
                self.read_path(&target.path);
                self.read_path(&parent.path);
                self.write_name(&target.path);
                self.write_child(&parent.path, target.path.name());
                self.read_order(&parent.path, *index);
                self.written_structure.moves = true;
            }
            Command::Delete { target, .. } => {
                self.read_tree(&target.path);
                self.write_name(&target.path);
                self.written_structure.has_any_class = true;
            }
            Command::Restore { parent, index, name, .. } => {
                self.read_path(&parent.path);
                self.write_child(&parent.path, name);
                self.read_order(&parent.path, *index);
                self.written_structure.has_any_class = true;
            }
            Command::Insert { parent, contents, left_out, .. } => {
                let contents = contents.remove_left_out(left_out);
                self.read_path(&parent.path);
                let roots = contents.parents.iter().zip(&contents.names);
                for (_, name) in roots.filter(|(above, _)| **above == 0) {
                    self.write_child(&parent.path, name);
                }
                let class = |at: &u32| contents.classes.get(*at as usize).cloned();
                let added = contents.class.iter().zip(&contents.names);
                let added = added.map(|(at, name)| (class(at).unwrap_or_default(), name.clone()));
                self.written_structure.added.extend(added);
            }
            Command::EditScript { target, .. } => {
                self.read_path(&target.path);
                self.write_property(&target.path, "Source");
            }
            Command::EditMemory { .. } => {
                self.writes.add(hash_of(&Part::Memory));
            }
        }
    }

    fn add_read(&mut self, read: &PlanRead) {
        match read {
            PlanRead::Instance { path } => self.read_path(path),
            PlanRead::Property { path, property } => {
                self.read_path(path);
                let group = property_group(property);
                let key = property_key(path_key(path), group);
                self.reads.add(key);
                self.properties.add(hash_of(&Part::Group(group)));
                self.name_read(ReadKey::Part(key), || ReadSubject::Property {
                    path: path.clone(),
                    property: group.to_owned(),
                });
            }
            PlanRead::Selector { selector } => match Selector::parse(selector) {
                Ok(parsed) => {
                    let key = ReadKey::Selector(self.selectors.len());
                    self.selectors.push(parsed.watch());
                    let selector = selector.clone();
                    self.name_read(key, || ReadSubject::Selector { selector });
                }
                Err(_) => self.read_place(),
            },
            PlanRead::Place {} => self.read_place(),
        }
    }

    /// Records what a read stands for, if that is asked for.
    fn name_read(&mut self, key: ReadKey, subject: impl FnOnce() -> ReadSubject) {
        if let Some(subjects) = &mut self.subjects {
            subjects.entry(key).or_insert_with(subject);
        }
    }

    fn read_place(&mut self) {
        self.reads_place = true;
        self.name_read(ReadKey::Place, || ReadSubject::Place {});
    }

    fn read_path(&mut self, path: &InstancePath) {
        let mut above = hash_of(&Part::Root);
        for (at, segment) in path.segments.iter().enumerate() {
            let key = child_key(above, &segment.name);
            self.reads.add(key);
            self.name_read(ReadKey::Part(key), || {
                let segments = path.segments.iter().take(at + 1).cloned().collect();
                ReadSubject::Instance { path: InstancePath { segments } }
            });
            above = step_key(above, segment);
        }
    }

    fn read_tree(&mut self, path: &InstancePath) {
        self.read_path(path);
        let key = path_key(path);
        self.read_trees.add(key);
        self.name_read(ReadKey::Tree(key), || ReadSubject::Tree { path: path.clone() });
    }

    /// An index among the children counts all of them.
    fn read_order(&mut self, parent: &InstancePath, index: Option<u32>) {
        if index.is_some() {
            let key = path_key(parent);
            self.read_orders.add(key);
            let subject = || ReadSubject::ChildOrder { path: parent.clone() };
            self.name_read(ReadKey::ChildOrder(key), subject);
        }
    }

    /// Reads the instances that values refer to.
    fn read_values(&mut self, props: &Props) {
        for value in props.values() {
            if let Some(Value::Ref(Some(to)) | Value::Content(Content::Object(Some(to)))) = value {
                self.read_path(&to.path);
            }
        }
    }

    fn write_property(&mut self, path: &InstancePath, property: &str) {
        let group = property_group(property);
        self.writes.add(property_key(path_key(path), group));
        self.write_within(path);
        self.properties.add(hash_of(&Part::Group(group)));
        self.written_properties.add(hash_of(&Part::Group(group)));
    }

    /// Writes which children of an instance have a name.
    fn write_child(&mut self, parent: &InstancePath, name: &str) {
        let key = path_key(parent);
        self.writes.add(child_key(key, name));
        self.written_orders.add(key);
        self.write_within(parent);
    }

    /// Writes that an instance has its name where it is.
    fn write_name(&mut self, path: &InstancePath) {
        if let Some(parent) = path.parent() {
            self.write_child(&parent, path.name());
        }
    }

    fn write_within(&mut self, path: &InstancePath) {
        let mut at = hash_of(&Part::Root);
        self.written_trees.add(at);
        for segment in &path.segments {
            at = step_key(at, segment);
            self.written_trees.add(at);
        }
    }
}

impl WrittenStructure {
    /// Whether the change can change what a selector matches.
    fn concerns(&self, selector: &SelectorWatch) -> bool {
        self.has_any_class
            || self.moves && selector.has_steps
            || self.added.iter().any(|(class, name)| selector.includes(class, name))
    }
}

/// What a key is the hash of.
#[derive(Hash)]
enum Part<'a> {
    Root,
    /// An instance: the key of its parent, its name and its index.
    Step(Key, &'a str, Option<u32>),
    /// The children of an instance that have a name.
    Child(Key, &'a str),
    Property(Key, &'a str),
    /// A property of whatever instance, by its group.
    Group(&'a str),
    Memory,
    File(&'a str),
}

fn hash_of(part: &Part<'_>) -> Key {
    let mut hasher = FxHasher::default();
    part.hash(&mut hasher);
    hasher.finish()
}

fn step_key(above: Key, segment: &Segment) -> Key {
    hash_of(&Part::Step(above, &segment.name, segment.index))
}

fn path_key(path: &InstancePath) -> Key {
    path.segments.iter().fold(hash_of(&Part::Root), step_key)
}

fn child_key(parent: Key, name: &str) -> Key {
    hash_of(&Part::Child(parent, name))
}

fn property_key(path: Key, group: &str) -> Key {
    hash_of(&Part::Property(path, group))
}
