//! The scene: what is known of a place, as a tree of instances with typed properties.
//!
//! How it is stored is this room's own business; everybody else asks by [`Node`]. A scene can be
//! changed on trial: every change is journalled, and [`Scene::rollback`] takes back what was done
//! since a [`Mark`]. What a change is allowed to be is decided by who makes it, not here.

mod change;
mod chunks;
mod codec;
mod convert;
pub mod diff;
mod fingerprint;
mod flat;
mod index;
mod read;
pub mod reflection;
pub mod selector;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use rbx_dom_weak::{Instance, InstanceBuilder, WeakDom, ustr};
use rbx_types::{Ref, UniqueId, Variant};
use rustc_hash::FxHashMap;
use scene_schemas::entry::Seq;
use scene_schemas::{InstanceId, InstancePath, Target, Value};

use self::change::Journal;
use self::index::Names;
use crate::core::refusal::{Refusal, did_you_mean, refuse};

pub use self::change::{Mark, Subtree};
pub use self::codec::{CodecError, Format, MAX_XML_DEPTH, READERS};
pub use self::read::{Owner, read_property, read_props};

/// An instance of a scene. It stays valid while the instance is part of the scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node(Ref);

/// What `ref:N` will mean when the file that is written from a scene is read: the number of each
/// instance. References are random numbers already, so they need no strong hash.
pub type Numbering = FxHashMap<Node, u32>;

/// What is known of a place.
#[derive(Debug)]
pub struct Scene {
    dom: WeakDom,
    format: Format,
    /// Where deleted instances wait until the change is settled; never written.
    limbo: Ref,
    /// Sibling orders that differ from the one in `dom`.
    order: FxHashMap<Ref, Vec<Ref>>,
    names: Names,
    /// The instances in the order of the file, depth first: `ref:N` is the Nth.
    loaded: Vec<Ref>,
    numbers: FxHashMap<Ref, u32>,
    created: FxHashMap<Ref, (Seq, u32)>,
    created_by_id: BTreeMap<(Seq, u32), Ref>,
    /// The proposal that ids without one belong to.
    scope: Seq,
    journal: Journal,
}

impl Scene {
    /// Reads a place or model.
    ///
    /// # Errors
    /// The bytes are not a place, or one that the reader does not support.
    pub fn decode(bytes: &[u8]) -> Result<Self, CodecError> {
        let format = codec::detect(bytes)?;
        // The storage gives ids by the clock where they collide. Its own clock tells which they are,
        // and they are taken out again: what is read depends on the bytes alone.
        let before = UniqueId::now();
        let dom = codec::decode(bytes, format)?;
        let made = before.ok().zip(UniqueId::now().ok());
        Ok(Self::new(dom, format, made.map(|(before, after)| before.time()..=after.time())))
    }

    /// An empty scene.
    pub fn empty(format: Format) -> Self {
        Self::new(WeakDom::new(InstanceBuilder::new("DataModel")), format, None)
    }

    fn new(mut dom: WeakDom, format: Format, made: Option<RangeInclusive<u32>>) -> Self {
        let limbo = dom.insert(Ref::none(), InstanceBuilder::new("Folder"));
        let mut scene = Self {
            numbers: FxHashMap::default(),
            names: Names::default(),
            loaded: Vec::new(),
            dom,
            format,
            limbo,
            order: FxHashMap::default(),
            created: FxHashMap::default(),
            created_by_id: BTreeMap::new(),
            scope: Seq(0),
            journal: Journal::default(),
        };
        scene.load(made.as_ref());
        scene
    }

    /// Enters every instance into the indices, and takes away the unique ids that the storage made
    /// up while it read: where several instances have the same one, such as none in a binary file.
    /// They would differ each time. One walk does it all: visiting a large tree costs more than
    /// what is noted on the way.
    fn load(&mut self, made: Option<&RangeInclusive<u32>>) {
        let (id, mut made_up) = (ustr(change::UNIQUE[0]), Vec::new());
        let mut stack = vec![self.dom.root_ref()];
        while let Some(node) = stack.pop() {
            let Some(instance) = self.dom.get_by_ref(node) else {
                continue;
            };
            stack.extend(instance.children().iter().rev());
            if instance.parent().is_some() {
                self.numbers.insert(node, self.loaded.len() as u32);
                self.loaded.push(node);
                self.names.append(instance.parent(), &instance.name, node);
            }
            if let Some(made) = made
                && let Some(Variant::UniqueId(id)) = instance.properties.get(&id)
                && made.contains(&id.time())
            {
                made_up.push(node);
            }
        }
        for node in made_up {
            if let Some(instance) = self.dom.get_by_ref_mut(node) {
                instance.properties.remove(&id);
            }
        }
    }

    /// Writes the scene down, in the format that it was read in.
    pub fn encode(&mut self) -> Result<Vec<u8>, CodecError> {
        self.settle_order();
        codec::encode(&self.dom, self.dom.root().children(), self.format)
    }

    /// The format that it was read in.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether it is a place; otherwise it is a model, whose roots may be of any class.
    pub fn is_place(&self) -> bool {
        let root = self.root();
        (0..self.count_named(root, "Workspace"))
            .filter_map(|n| self.nth_named(root, "Workspace", n))
            .any(|node| self.class(node) == "Workspace")
    }

    /// How many instances it has.
    pub fn len(&self) -> usize {
        self.descendants(self.root()).count()
    }

    /// Whether it has no instances.
    pub fn is_empty(&self) -> bool {
        self.children(self.root()).next().is_none()
    }

    /// `game`.
    pub fn root(&self) -> Node {
        Node(self.dom.root_ref())
    }

    fn instance(&self, node: Node) -> &Instance {
        // A node is only made from an instance of this scene, and deleted ones stay in limbo while
        // anybody may hold them; the root stands in for one that was kept for too long.
        self.dom.get_by_ref(node.0).unwrap_or_else(|| self.dom.root())
    }

    /// The instance's name.
    pub fn name(&self, node: Node) -> &str {
        if node == self.root() { "game" } else { &self.instance(node).name }
    }

    /// The instance's class.
    pub fn class(&self, node: Node) -> &str {
        self.instance(node).class.as_str()
    }

    /// The instance's parent; none for `game`.
    pub fn parent(&self, node: Node) -> Option<Node> {
        let parent = self.instance(node).parent();
        parent.is_some().then_some(Node(parent))
    }

    fn child_refs(&self, parent: Ref) -> &[Ref] {
        change::children_in_order(&self.order, &self.dom, parent)
    }

    /// The instance's children, in order.
    pub fn children(
        &self,
        node: Node,
    ) -> impl DoubleEndedIterator<Item = Node> + ExactSizeIterator {
        self.child_refs(node.0).iter().copied().map(Node)
    }

    /// Everything below an instance, depth first, in order.
    pub fn descendants(&self, node: Node) -> Descendants<'_> {
        Descendants { scene: self, stack: self.children(node).rev().collect() }
    }

    /// An instance and everything below it, depth first, in order.
    pub fn subtree(&self, node: Node) -> Descendants<'_> {
        Descendants { scene: self, stack: vec![node] }
    }

    /// Whether `node` is `ancestor` or below it.
    pub fn is_within(&self, node: Node, ancestor: Node) -> bool {
        let mut at = Some(node);
        while let Some(here) = at {
            if here == ancestor {
                return true;
            }
            at = self.parent(here);
        }
        false
    }

    /// Whether the instance is part of the place (not deleted).
    pub fn is_live(&self, node: Node) -> bool {
        self.dom.get_by_ref(node.0).is_some() && self.is_within(node, self.root())
    }

    /// Where the instance stands among its siblings, from 0.
    pub fn index(&self, node: Node) -> u32 {
        let siblings = self.parent(node).map_or(&[][..], |parent| self.child_refs(parent.0));
        siblings.iter().position(|sibling| *sibling == node.0).unwrap_or(0) as u32
    }

    /// A script's text.
    pub fn source(&self, node: Node) -> Option<&str> {
        let instance = self.instance(node);
        if !reflection::is_script(instance.class.as_str()) {
            return None;
        }
        match instance.properties.get(&ustr("Source")) {
            Some(Variant::String(text)) => Some(text),
            Some(_) => None,
            None => Some(""),
        }
    }

    /// The names of the properties that are stored, sorted. Attributes and tags are among them.
    pub fn stored_names(&self, node: Node) -> Vec<&str> {
        let mut names: Vec<_> =
            self.instance(node).properties.keys().map(rbx_dom_weak::Ustr::as_str).collect();
        names.sort_unstable();
        names
    }

    /// A stored property (`Name` too); none where the file does not have it.
    pub fn stored(&self, node: Node, property: &str) -> Option<Value> {
        if property == "Name" {
            return Some(Value::String(self.instance(node).name.clone()));
        }
        if let Some(key) = property.strip_prefix('@') {
            return self.attribute(node, key);
        }
        let instance = self.instance(node);
        let variant = instance.properties.get(&ustr(property))?;
        Some(self.to_value(instance.class.as_str(), property, variant))
    }

    /// A property as it is in effect: the stored one, or its default. Aliases, replaced and derived
    /// properties are looked up too.
    pub fn value(&self, node: Node, property: &str) -> Option<Value> {
        if let Some(value) = self.stored(node, property) {
            return Some(value);
        }
        let class = self.class(node);
        match reflection::access(class, property)? {
            reflection::Access::Stored(found) if found.name != property => {
                self.value(node, found.name)
            }
            reflection::Access::Stored(found) => {
                let default = reflection::default_of(class, found.name)?;
                Some(self.to_value(class, found.name, default))
            }
            reflection::Access::Migrated(migrated) => self.value(node, migrated.to.first()?),
            reflection::Access::Derived(derived) => self.derive(node, derived),
        }
    }

    /// The instance's attributes, by name.
    pub fn attribute_names(&self, node: Node) -> Vec<&str> {
        match self.instance(node).properties.get(&ustr("Attributes")) {
            Some(Variant::Attributes(all)) => all.iter().map(|(name, _)| name.as_str()).collect(),
            _ => Vec::new(),
        }
    }

    /// An attribute.
    pub fn attribute(&self, node: Node, key: &str) -> Option<Value> {
        match self.instance(node).properties.get(&ustr("Attributes")) {
            Some(Variant::Attributes(all)) => {
                all.get(key).map(|variant| self.to_value("", "", variant))
            }
            _ => None,
        }
    }

    /// The instance's tags.
    pub fn tags(&self, node: Node) -> impl Iterator<Item = &str> {
        match self.instance(node).properties.get(&ustr("Tags")) {
            Some(Variant::Tags(tags)) => Some(tags.iter()),
            _ => None,
        }
        .into_iter()
        .flatten()
    }

    /// The canonical path. Siblings of one name are numbered.
    pub fn path(&self, node: Node) -> InstancePath {
        let mut segments = Vec::new();
        let mut at = node;
        while at != self.root() {
            let Some(parent) = self.parent(at) else { break };
            let index = self.names.ordinal(parent.0, self.name(at), at.0);
            segments.push(scene_schemas::path::Segment { name: self.name(at).to_owned(), index });
            at = parent;
        }
        segments.reverse();
        InstancePath { segments }
    }

    /// The instance that a path names: exactly one, or a refusal that lists what is there.
    pub fn resolve(&self, path: &InstancePath) -> Result<Node, Refusal> {
        let mut at = self.root();
        for segment in &path.segments {
            at = self.step(at, segment, path)?;
        }
        Ok(at)
    }

    fn step(
        &self,
        at: Node,
        segment: &scene_schemas::path::Segment,
        path: &InstancePath,
    ) -> Result<Node, Refusal> {
        let named = self.names.count(at.0, &segment.name);
        let n = segment.index.unwrap_or(1) as usize;
        if n <= named && (named == 1 || segment.index.is_some()) {
            return self.nth_named(at, &segment.name, n - 1).ok_or_else(|| {
                Refusal(format!(
                    "There is no `{path}` any more; list_children shows what is there."
                ))
            });
        }
        let here = self.path(at);
        if named == 0 {
            let near = did_you_mean(&segment.name, self.children(at).map(|child| self.name(child)));
            return refuse!(
                "There is no `{path}`: {here} has no child named {:?}.{near} list_children shows \
                 what is there.",
                segment.name
            );
        }
        if segment.index.is_some() {
            return refuse!(
                "There is no `{path}`: {here} has {} named {:?}, not {n}.",
                count(named, "child", "children"),
                segment.name
            );
        }
        let list: Vec<_> = (0..named.min(8))
            .filter_map(|n| self.nth_named(at, &segment.name, n))
            .map(|node| format!("{} ({})", self.path(node), self.class(node)))
            .collect();
        let more = if named > 8 { ", …" } else { "" };
        refuse!("`{path}` fits {named} siblings; say which one: {}{more}.", list.join(", "))
    }

    /// How many children of that name an instance has.
    pub fn count_named(&self, parent: Node, name: &str) -> usize {
        self.names.count(parent.0, name)
    }

    /// The first child of that name.
    pub fn child(&self, parent: Node, name: &str) -> Option<Node> {
        self.nth_named(parent, name, 0)
    }

    fn nth_named(&self, parent: Node, name: &str, n: usize) -> Option<Node> {
        self.names.nth(parent.0, name, n).map(Node)
    }

    /// The stable id of an instance.
    pub fn id(&self, node: Node) -> InstanceId {
        match (self.created.get(&node.0), self.numbers.get(&node.0)) {
            (Some((scope, k)), _) if *scope == self.scope => InstanceId::new_in_proposal(*k),
            (Some((scope, k)), _) => InstanceId(format!("new:{scope}.{k}")),
            (None, Some(n)) => InstanceId(format!("ref:{n}")),
            (None, None) => InstanceId("game".to_owned()),
        }
    }

    /// The instance that an id names, deleted ones included.
    pub fn by_id(&self, id: &InstanceId) -> Option<Node> {
        let text = id.0.as_str();
        if text == "game" {
            return Some(self.root());
        }
        if let Some(n) = text.strip_prefix("ref:") {
            return self.loaded.get(n.parse::<usize>().ok()?).copied().map(Node);
        }
        let local = text.strip_prefix("new:")?;
        let key = match local.split_once('.') {
            Some((scope, k)) => (Seq(scope.parse().ok()?), k.parse().ok()?),
            None => (self.scope, local.parse().ok()?),
        };
        self.created_by_id.get(&key).copied().map(Node)
    }

    /// How a command addresses an instance.
    pub fn target(&self, node: Node) -> Target {
        Target { id: self.id(node), path: self.path(node) }
    }

    /// The instance that a command addresses. Id and path must agree.
    pub fn locate(&self, target: &Target) -> Result<Node, Refusal> {
        let Some(node) = self.by_id(&target.id).filter(|node| self.is_live(*node)) else {
            return refuse!("{} is gone; ask for the change again.", target.path);
        };
        let path = self.path(node);
        if path != target.path {
            return refuse!(
                "{} is now {path}; ask for the change again so that you see what it touches.",
                target.path
            );
        }
        Ok(node)
    }

    /// The instance that an id or, where the epoch is another one, just the path names.
    pub fn target_by_path(&self, path: &InstancePath) -> Result<Target, Refusal> {
        self.resolve(path).map(|node| self.target(node))
    }
}

/// "1 child", "3 children".
pub fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// A walk over a subtree, depth first.
#[derive(Debug)]
pub struct Descendants<'a> {
    scene: &'a Scene,
    stack: Vec<Node>,
}

impl Iterator for Descendants<'_> {
    type Item = Node;

    fn next(&mut self) -> Option<Node> {
        let node = self.stack.pop()?;
        self.stack.extend(self.scene.children(node).rev());
        Some(node)
    }
}

#[cfg(test)]
mod journal_tests;
