//! Changes of a scene, each of them journalled so that it can be taken back exactly.
//!
//! These are the hands of the commands: they check what would break the tree and nothing else. What
//! may be created, set or moved is decided by who plans a command.

use std::collections::{HashMap, HashSet};

use rbx_dom_weak::{Instance, InstanceBuilder, Ustr, WeakDom, ustr};
use rbx_types::{Ref, UniqueId, Variant};
use rustc_hash::{FxHashMap, FxHashSet};
use scene_schemas::Value;
use scene_schemas::entry::Seq;

use super::codec::{self, CodecError, Format};
use super::{Node, Numbering, Scene};
use crate::core::refusal::{Refusal, refuse};

/// What was done, oldest first.
#[derive(Debug, Default)]
pub(super) struct Journal {
    done: Vec<Done>,
    /// Who points to whom, built when a deletion first asks; entries may be out of date.
    pointers: Option<Pointers>,
}

/// For each instance, who points to it by which property.
type Pointers = FxHashMap<Ref, Vec<(Ref, Ustr)>>;

#[derive(Debug)]
enum Done {
    Stored { node: Ref, property: String, before: Option<Variant> },
    Renamed { node: Ref, before: String },
    Inserted { node: Ref },
    Moved { node: Ref, parent: Ref, index: usize },
    Deleted { node: Ref, parent: Ref, index: usize },
}

/// A moment in the history of a scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Mark(usize);

/// A subtree that is not part of a scene yet: what a deletion left behind.
#[derive(Debug)]
pub struct Subtree(WeakDom);

impl Subtree {
    /// Reads what [`Scene::encode_subtree`] wrote.
    ///
    /// # Errors
    /// The bytes are not a model with exactly one root.
    pub fn decode(bytes: &[u8]) -> Result<Self, CodecError> {
        let dom = codec::decode(bytes, Format::Binary)?;
        if dom.root().children().len() == 1 {
            Ok(Self(dom))
        } else {
            Err(CodecError::ReadBinary("a removed subtree has one root".to_owned()))
        }
    }
}

/// Properties that name an instance for the engine and that no two instances may share.
pub(super) const UNIQUE: [&str; 2] = ["UniqueId", "HistoryId"];

impl Scene {
    /// From now on `new:K` means what this proposal creates.
    pub fn begin(&mut self, scope: Seq) {
        self.scope = scope;
    }

    /// This moment, to come back to.
    pub fn mark(&self) -> Mark {
        Mark(self.journal.done.len())
    }

    /// Takes back everything that was done since the mark.
    pub fn rollback(&mut self, mark: Mark) {
        while self.journal.done.len() > mark.0 {
            let Some(done) = self.journal.done.pop() else {
                return;
            };
            self.take_back(done);
        }
    }

    /// Forgets how to take back what was done so far; what was deleted is gone.
    pub fn settle(&mut self) {
        self.journal.done.clear();
        // All at once: the storage looks through all siblings for each one that goes.
        self.destroy(self.limbo);
        let limbo = InstanceBuilder::new("Folder");
        self.limbo = self.dom.insert(Ref::none(), limbo);
    }

    /// Ends a subtree that is not linked, in the index as well.
    fn destroy(&mut self, root: Ref) {
        for below in self.subtree(Node(root)).collect::<Vec<_>>() {
            self.order.remove(&below.0);
            if let Some(instance) = self.dom.get_by_ref(below.0) {
                let parent = instance.parent();
                self.names.remove(parent, &instance.name, below.0);
            }
        }
        self.dom.destroy(root);
    }

    fn take_back(&mut self, done: Done) {
        match done {
            Done::Stored { node, property, before } => {
                self.put(node, &property, before);
            }
            Done::Renamed { node, before } => self.put_name(node, before),
            Done::Inserted { node } => {
                self.unlink(node);
                for below in self.subtree(Node(node)).collect::<Vec<_>>() {
                    if let Some((scope, k)) = self.created.remove(&below.0) {
                        self.created_by_id.remove(&(scope, k));
                    }
                }
                self.destroy(node);
            }
            Done::Moved { node, parent, index } => {
                self.unlink(node);
                self.link(node, parent, Some(index));
            }
            Done::Deleted { node, parent, index } => {
                self.dom.transfer_within(node, Ref::none());
                self.link(node, parent, Some(index));
            }
        }
    }

    /// Takes an instance off its parent, in the index as well.
    fn unlink(&mut self, node: Ref) {
        let Some(instance) = self.dom.get_by_ref(node) else {
            return;
        };
        let parent = instance.parent();
        self.names.remove(parent, &instance.name, node);
        if let Some(order) = self.order.get_mut(&parent) {
            order.retain(|child| *child != node);
        }
        self.dom.transfer_within(node, Ref::none());
    }

    /// Puts an instance without a parent below one, at a place among its children or behind them.
    fn link(&mut self, node: Ref, parent: Ref, index: Option<usize>) {
        let mut order = self.order.remove(&parent);
        let siblings = order.as_deref().unwrap_or_else(|| self.child_refs(parent));
        let index = index.filter(|index| *index < siblings.len());
        let name = self.dom.get_by_ref(node).map_or_else(String::new, |child| child.name.clone());
        if let Some(index) = index {
            let mut order = order.unwrap_or_else(|| self.child_refs(parent).to_vec());
            order.insert(index, node);
            self.dom.transfer_within(node, parent);
            self.names.insert(parent, &name, &order, node);
            self.order.insert(parent, order);
            return;
        }
        if let Some(order) = &mut order {
            order.push(node);
        }
        self.dom.transfer_within(node, parent);
        self.names.append(parent, &name, node);
        if let Some(order) = order {
            self.order.insert(parent, order);
        }
    }

    fn put(&mut self, node: Ref, property: &str, value: Option<Variant>) -> Option<Variant> {
        if let (Some(Variant::Ref(to)), Some(pointers)) = (&value, &mut self.journal.pointers) {
            pointers.entry(*to).or_default().push((node, ustr(property)));
        }
        let instance = self.dom.get_by_ref_mut(node)?;
        match value {
            Some(value) => instance.properties.insert(ustr(property), value),
            None => instance.properties.remove(&ustr(property)),
        }
    }

    fn put_name(&mut self, node: Ref, name: String) {
        let Some(instance) = self.dom.get_by_ref_mut(node) else {
            return;
        };
        let parent = instance.parent();
        let before = std::mem::replace(&mut instance.name, name.clone());
        self.names.remove(parent, &before, node);
        let siblings = children_in_order(&self.order, &self.dom, parent);
        self.names.insert(parent, &name, siblings, node);
    }

    /// The number that the next created instance of this proposal gets.
    pub fn next_new(&self) -> u32 {
        let of_scope = (self.scope, 0)..=(self.scope, u32::MAX);
        self.created_by_id.range(of_scope).next_back().map_or(0, |((_, k), _)| k + 1)
    }

    fn register(&mut self, root: Ref) {
        let nodes: Vec<_> = self.subtree(Node(root)).collect();
        for (node, k) in nodes.into_iter().zip(self.next_new()..) {
            self.created.insert(node.0, (self.scope, k));
            self.created_by_id.insert((self.scope, k), node.0);
        }
    }

    /// Enters a new subtree below `root`, which is linked already, into index and ids.
    fn enter(&mut self, root: Ref) {
        let nodes: Vec<Ref> = self.subtree(Node(root)).skip(1).map(|node| node.0).collect();
        for node in nodes {
            if let Some(instance) = self.dom.get_by_ref(node) {
                self.names.append(instance.parent(), &instance.name, node);
            }
        }
        if let Some(mut pointers) = self.journal.pointers.take() {
            self.add_pointers(&mut pointers, Node(root));
            self.journal.pointers = Some(pointers);
        }
        self.register(root);
        self.journal.done.push(Done::Inserted { node: root });
    }

    /// Makes an instance as the last child of `parent`.
    pub fn create(&mut self, parent: Node, class: &str, name: &str) -> Node {
        let builder = InstanceBuilder::new(class).with_name(name);
        let node = self.dom.insert(Ref::none(), builder);
        self.link(node, parent.0, None);
        self.enter(node);
        Node(node)
    }

    /// Copies an instance with all below it, as the last child of `parent`.
    pub fn copy(&mut self, source: Node, parent: Node, name: &str) -> Node {
        let node = self.dom.clone_within(source.0);
        if let Some(root) = self.dom.get_by_ref_mut(node) {
            name.clone_into(&mut root.name);
        }
        self.copy_order(source.0, node);
        self.link(node, parent.0, None);
        for below in self.subtree(Node(node)).collect::<Vec<_>>() {
            if let Some(instance) = self.dom.get_by_ref_mut(below.0) {
                for property in UNIQUE {
                    instance.properties.remove(&ustr(property));
                }
            }
        }
        self.enter(node);
        Node(node)
    }

    /// A copy's children stand as the source's do.
    fn copy_order(&mut self, source: Ref, copy: Ref) {
        let mut pairs = vec![(source, copy)];
        while let Some((source, copy)) = pairs.pop() {
            let stored = |node| self.dom.get_by_ref(node).map_or(&[][..], |it| it.children());
            let twins: HashMap<Ref, Ref> =
                stored(source).iter().copied().zip(stored(copy).iter().copied()).collect();
            if let Some(order) = self.order.get(&source) {
                let order = order.iter().filter_map(|child| twins.get(child).copied()).collect();
                self.order.insert(copy, order);
            }
            pairs.extend(twins);
        }
    }

    /// Brings a removed subtree back, at a place among the children of `parent` or behind them.
    pub fn restore(&mut self, subtree: Subtree, parent: Node, index: Option<u32>) -> Node {
        let mut from = subtree.0;
        let Some(root) = from.root().children().first().copied() else {
            return parent;
        };
        let ids = unique_ids(&from, root);
        from.transfer(root, &mut self.dom, self.limbo);
        self.dom.transfer_within(root, Ref::none());
        self.keep_ids(ids);
        self.link(root, parent.0, index.map(|index| index as usize));
        self.enter(root);
        Node(root)
    }

    /// Gives restored instances, which are not linked yet, the unique ids back that the storage
    /// replaced by random ones because another instance has them. That other one may be what was
    /// deleted; where it is a live one, the restored instance goes without, as a copy does.
    fn keep_ids(&mut self, mut ids: HashMap<Ref, UniqueId>) {
        ids.retain(|node, kept| {
            let instance = self.dom.get_by_ref(*node);
            instance.and_then(unique_id) != Some(*kept)
        });
        if ids.is_empty() {
            return;
        }
        let taken: HashSet<UniqueId> = self
            .descendants(self.root())
            .filter_map(|node| unique_id(self.instance(node)))
            .collect();
        for (node, kept) in ids {
            let kept = (!taken.contains(&kept)).then_some(Variant::UniqueId(kept));
            self.put(node, UNIQUE[0], kept);
        }
    }

    /// Renames an instance.
    pub fn rename(&mut self, node: Node, name: &str) {
        let before = self.name(node).to_owned();
        self.put_name(node.0, name.to_owned());
        self.journal.done.push(Done::Renamed { node: node.0, before });
    }

    /// Sets a stored property, an attribute (`@Key`) or the name; none takes it back to its default.
    ///
    /// # Errors
    /// The value cannot be stored under that property.
    pub fn set(
        &mut self,
        node: Node,
        property: &str,
        value: Option<&Value>,
    ) -> Result<(), Refusal> {
        if property == "Name" {
            let Some(Value::String(name)) = value else {
                return refuse!("`Name` is a string.");
            };
            self.check_text(name)?;
            self.rename(node, name);
            return Ok(());
        }
        let class = self.class(node).to_owned();
        if let Some(key) = property.strip_prefix('@') {
            let value = value.map(|value| self.to_variant("", "", value)).transpose()?;
            let attributes = self.instance(node).properties.get(&ustr("Attributes"));
            let mut all = match attributes {
                Some(Variant::Attributes(all)) => all.clone(),
                _ => rbx_types::Attributes::new(),
            };
            match value {
                Some(value) => all.insert(key.to_owned(), value),
                None => all.remove(key),
            };
            self.store(node, "Attributes", Some(Variant::Attributes(all)));
            return Ok(());
        }
        let value = value.map(|value| self.to_variant(&class, property, value)).transpose()?;
        self.store(node, property, value);
        Ok(())
    }

    /// Replaces a script's text.
    pub fn set_source(&mut self, node: Node, text: String) {
        self.store(node, "Source", Some(Variant::String(text)));
    }

    fn store(&mut self, node: Node, property: &str, value: Option<Variant>) {
        let before = self.put(node.0, property, value);
        self.journal.done.push(Done::Stored {
            node: node.0,
            property: property.to_owned(),
            before,
        });
    }

    /// Gives an instance another parent, or another place among its siblings.
    ///
    /// # Errors
    /// `parent` is the instance itself or below it.
    pub fn move_to(&mut self, node: Node, parent: Node, index: Option<u32>) -> Result<(), Refusal> {
        if self.is_within(parent, node) {
            return refuse!(
                "{} cannot be moved into {}, which is a part of it.",
                self.path(node),
                self.path(parent)
            );
        }
        let before = self.instance(node).parent();
        let at = self.index(node) as usize;
        self.unlink(node.0);
        self.link(node.0, parent.0, index.map(|index| index as usize));
        self.journal.done.push(Done::Moved { node: node.0, parent: before, index: at });
        Ok(())
    }

    /// Removes an instance with all below it. References to it become empty when the scene is
    /// written.
    pub fn delete(&mut self, node: Node) {
        let parent = self.instance(node).parent();
        let index = self.index(node) as usize;
        self.unlink(node.0);
        self.dom.transfer_within(node.0, self.limbo);
        self.journal.done.push(Done::Deleted { node: node.0, parent, index });
    }

    /// The references from outside a subtree into it: who points, by which property, to whom.
    pub fn references_into(&mut self, root: Node) -> Vec<(Node, String, Node)> {
        let pointers = self.journal.pointers.take().unwrap_or_else(|| {
            let mut all = Pointers::default();
            self.add_pointers(&mut all, self.root());
            all
        });
        let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
        for node in self.subtree(root) {
            for (holder, property) in pointers.get(&node.0).into_iter().flatten() {
                let holder = Node(*holder);
                let stands = self.dom.get_by_ref(holder.0).is_some_and(|instance| {
                    instance.properties.get(property) == Some(&Variant::Ref(node.0))
                });
                if stands
                    && self.is_live(holder)
                    && !self.is_within(holder, root)
                    && seen.insert((holder, property, node))
                {
                    found.push((holder, property.to_string(), node));
                }
            }
        }
        self.journal.pointers = Some(pointers);
        found
    }

    fn add_pointers(&self, pointers: &mut Pointers, root: Node) {
        for node in self.subtree(root) {
            for (property, to) in self.references(node) {
                pointers.entry(to).or_default().push((node.0, property));
            }
        }
    }

    /// The properties of an instance that point to another, sorted by name.
    fn references(&self, node: Node) -> Vec<(Ustr, Ref)> {
        let all = self.instance(node).properties.iter();
        let mut found: Vec<_> = all
            .filter_map(|(property, value)| match value {
                Variant::Ref(to) if to.is_some() => Some((*property, *to)),
                _ => None,
            })
            .collect();
        found.sort_unstable_by_key(|(property, _)| property.as_str());
        found
    }

    /// The references from inside a subtree to instances outside of it: who points, by which
    /// property, to whom. A node's place in the walk is its first member.
    pub fn references_out_of(&self, root: Node) -> Vec<(usize, String, Node)> {
        let mut found = Vec::new();
        for (at, node) in self.subtree(root).enumerate() {
            for (property, to) in self.references(node) {
                let to = Node(to);
                if self.is_live(to) && !self.is_within(to, root) {
                    found.push((at, property.to_string(), to));
                }
            }
        }
        found
    }

    /// A subtree as a binary model with one root. Deleted ones can be written until they are
    /// settled.
    ///
    /// # Errors
    /// The subtree holds what the format cannot.
    pub fn encode_subtree(&mut self, root: Node) -> Result<Vec<u8>, CodecError> {
        self.settle_order();
        codec::encode(&self.dom, &[root.0], Format::Binary)
    }

    /// The file's number of each instance: what `ref:N` will mean when the written file is read.
    pub fn numbering(&self) -> Numbering {
        let mut numbers = Numbering::default();
        numbers.reserve(self.loaded.len());
        numbers.extend(self.descendants(self.root()).zip(0..));
        numbers
    }

    /// Builds the tree anew where siblings stand in another order than the storage can express.
    pub(super) fn settle_order(&mut self) {
        // A change that was taken back and done again leaves the order that the storage has anyway.
        let dom = &self.dom;
        self.order.retain(|parent, order| {
            dom.get_by_ref(*parent).is_some_and(|parent| parent.children() != order)
        });
        if self.order.is_empty() {
            return;
        }
        let order = std::mem::take(&mut self.order);
        let root = self.dom.root_ref();
        let old = std::mem::replace(&mut self.dom, WeakDom::new(InstanceBuilder::empty()));
        let (_, mut instances) = old.into_raw();
        let (mut dom, mut ids): (Option<WeakDom>, _) = (None, Vec::new());
        let mut stack = vec![(Ref::none(), self.limbo), (Ref::none(), root)];
        while let Some((parent, node)) = stack.pop() {
            let Some(instance) = instances.remove(&node) else {
                continue;
            };
            let children = order.get(&node).map_or_else(|| instance.children(), Vec::as_slice);
            stack.extend(children.iter().rev().map(|child| (node, *child)));
            ids.extend(unique_id(&instance).map(|id| (node, id)));
            let builder = InstanceBuilder::new(instance.class)
                .with_referent(node)
                .with_name(instance.name)
                .with_properties(instance.properties);
            match &mut dom {
                Some(dom) => {
                    dom.insert(parent, builder);
                }
                None => dom = Some(WeakDom::new(builder)),
            }
        }
        if let Some(dom) = dom {
            self.dom = dom;
        }
        // What was restored may share its id with what waits in limbo; the storage replaces one.
        for (node, id) in ids {
            self.put(node, UNIQUE[0], Some(Variant::UniqueId(id)));
        }
    }
}

fn unique_id(instance: &Instance) -> Option<UniqueId> {
    match instance.properties.get(&ustr(UNIQUE[0])) {
        Some(Variant::UniqueId(id)) => Some(*id),
        _ => None,
    }
}

/// The unique ids in a subtree.
fn unique_ids(dom: &WeakDom, root: Ref) -> HashMap<Ref, UniqueId> {
    dom.descendants_of(root)
        .filter_map(|instance| Some((instance.referent(), unique_id(instance)?)))
        .collect()
}

/// The children of an instance, in the scene's order.
pub(super) fn children_in_order<'a>(
    order: &'a FxHashMap<Ref, Vec<Ref>>,
    dom: &'a WeakDom,
    parent: Ref,
) -> &'a [Ref] {
    match order.get(&parent) {
        Some(order) => order,
        None => dom.get_by_ref(parent).map_or(&[], Instance::children),
    }
}
