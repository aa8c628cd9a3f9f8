//! Assembly of snapshots into a tree: assigns instance numbers and unique keys, and resolves
//! references to instance numbers.

use std::hash::{DefaultHasher, Hash, Hasher};

use rbx_types::{Attributes, Content, ContentType, Ref, Variant};
use rustc_hash::{FxHashMap, FxHashSet};

use super::snapshot::{InstanceSnapshot, SnapshotChild};
use super::tree::{
    InstanceNote, InstanceOrigin, ProjectInstance, ProjectTree, instance_of, reference_to,
};

/// The attribute that holds the id by which references name an instance.
const ID_ATTRIBUTE: &str = "Rojo_Id";
/// The prefix of attributes that set a reference property; the property name follows.
const TARGET_PREFIX: &str = "Rojo_Target_";

/// A tree under construction, from new snapshots and from parts of the previous tree.
#[derive(Debug, Default)]
pub(super) struct TreeBuilder {
    pub(super) instances: Vec<ProjectInstance>,
    pub(super) notes: Vec<InstanceNote>,
    /// The numbers of the new instances.
    pub(super) new: Vec<u32>,
    /// The numbers of kept instances whose key changed, each with its previous key.
    pub(super) renamed: Vec<(u32, String)>,
    /// Whether an instance would have been kept twice, so that the tree is invalid.
    pub(super) is_inconsistent: bool,
    /// The hashes of the keys in use.
    key_hashes: FxHashSet<u64>,
}

/// The instances of the previous tree that may be kept; each can be taken once.
#[derive(Debug, Default)]
pub(super) struct PreviousInstances {
    instances: Vec<Option<(ProjectInstance, InstanceNote)>>,
}

impl PreviousInstances {
    pub(super) fn new(instances: Vec<ProjectInstance>, notes: Vec<InstanceNote>) -> Self {
        Self { instances: instances.into_iter().zip(notes).map(Some).collect() }
    }

    pub(super) fn into_remaining(self) -> impl Iterator<Item = ProjectInstance> {
        self.instances.into_iter().flatten().map(|(instance, _)| instance)
    }

    /// Returns the number after the last instance of a subtree.
    fn subtree_end(&self, root: u32) -> u32 {
        let mut last = root;
        while let Some(Some((instance, _))) = self.instances.get(last as usize)
            && let Some(child) = instance.children.last()
        {
            last = *child;
        }
        last + 1
    }
}

impl TreeBuilder {
    /// Adds a snapshot with its subtree. `model` is the number of the root of the model file that
    /// the snapshot belongs to.
    pub(super) fn add_snapshot(
        &mut self,
        mut snapshot: InstanceSnapshot,
        parent: Option<u32>,
        model: Option<u32>,
        stock: &mut PreviousInstances,
    ) {
        let number = self.instances.len() as u32;
        let is_part =
            matches!(&snapshot.origin, InstanceOrigin::Model { at, .. } if !at.is_empty());
        let model = if is_part { model } else { Some(number) };
        if snapshot.has_references
            && let Some(model) = model
        {
            for value in snapshot.properties.values_mut() {
                renumber_reference(value, |to| to.checked_add(model).map(reference_to));
            }
        }
        let (key, base) = self.unique_key(snapshot.key, None);
        self.new.push(number);
        self.notes.push(InstanceNote {
            files: snapshot.files,
            id: snapshot.id,
            has_references: snapshot.has_references,
            entry: snapshot.entry,
            rules: snapshot.rules,
            base_key: base,
        });
        self.instances.push(ProjectInstance {
            name: snapshot.name,
            class: snapshot.class,
            parent,
            children: Vec::with_capacity(snapshot.children.len()),
            properties: snapshot.properties,
            ignores_unknown: snapshot.ignores_unknown,
            key,
            origin: snapshot.origin,
        });
        for child in snapshot.children {
            let at = self.instances.len() as u32;
            self.instances[number as usize].children.push(at);
            match child {
                SnapshotChild::New(child) => self.add_snapshot(*child, Some(number), model, stock),
                SnapshotChild::Unchanged(child) => self.keep_subtree(child, number, stock),
            }
        }
    }

    /// Adds an unchanged instance with its subtree, and shifts their numbers.
    fn keep_subtree(&mut self, root: u32, parent: u32, stock: &mut PreviousInstances) {
        let shift = (self.instances.len() as u32).wrapping_sub(root);
        for number in root..stock.subtree_end(root) {
            let Some((mut instance, mut note)) =
                stock.instances.get_mut(number as usize).and_then(Option::take)
            else {
                self.is_inconsistent = true;
                continue;
            };
            instance.parent = match instance.parent {
                Some(above) if number != root => Some(above.wrapping_add(shift)),
                _ => Some(parent),
            };
            if shift != 0 {
                for child in &mut instance.children {
                    *child = child.wrapping_add(shift);
                }
                if note.has_references {
                    for value in instance.properties.values_mut() {
                        renumber_reference(value, |to| Some(reference_to(to.wrapping_add(shift))));
                    }
                }
            }
            let was = instance.key.clone();
            (instance.key, note.base_key) = self.unique_key(instance.key, note.base_key);
            if instance.key != was {
                self.renamed.push((self.instances.len() as u32, was));
            }
            self.instances.push(instance);
            self.notes.push(note);
        }
    }

    /// Returns a unique key, and the original key if it had to be changed. A file that is mounted
    /// twice yields the same key twice, for example.
    fn unique_key(&mut self, key: String, base: Option<String>) -> (String, Option<String>) {
        let hash = |key: &str| {
            let mut hasher = DefaultHasher::new();
            key.hash(&mut hasher);
            hasher.finish()
        };
        let key = base.unwrap_or(key);
        if self.key_hashes.insert(hash(&key)) {
            return (key, None);
        }
        let mut n = 2;
        loop {
            let unique = format!("{key}#{n}");
            if self.key_hashes.insert(hash(&unique)) {
                return (unique, Some(key));
            }
            n += 1;
        }
    }
}

/// Replaces the instance number in a reference, or in a `Content` that is a reference.
pub(super) fn renumber_reference(value: &mut Variant, other: impl Fn(u32) -> Option<Ref>) {
    let to = |to: Ref| instance_of(to).and_then(&other);
    match value {
        Variant::Ref(at) if at.is_some() => *at = to(*at).unwrap_or(Ref::none()),
        Variant::Content(content) => {
            if let ContentType::Object(at) = content.value() {
                *content = to(*at).map_or(Content::none(), Content::from_referent);
            }
        }
        _ => {}
    }
}

/// Sets the properties that attributes declare as references, by the ids of their targets. Returns
/// the instances that have such attributes.
pub(super) fn resolve_references(tree: &mut ProjectTree) -> Vec<u32> {
    let mut called: FxHashMap<String, Option<u32>> = FxHashMap::default();
    let mut targets = Vec::new();
    for (number, (instance, note)) in (0..).zip(tree.instances.iter().zip(&tree.notes)) {
        let attributes = match instance.properties.get("Attributes") {
            Some(Variant::Attributes(attributes)) => Some(attributes),
            _ => None,
        };
        let id = attributes
            .and_then(|attributes| attribute_text(attributes, ID_ATTRIBUTE))
            .or(note.id.as_deref());
        if let Some(id) = id {
            // An id that two instances share refers to neither.
            called.entry(id.to_owned()).and_modify(|to| *to = None).or_insert(Some(number));
        }
        for (name, _) in attributes.into_iter().flat_map(Attributes::iter) {
            if let (Some(property), Some(to)) = (
                name.strip_prefix(TARGET_PREFIX),
                attributes.and_then(|all| attribute_text(all, name)),
            ) {
                targets.push((number, property.to_owned(), to.to_owned()));
            }
        }
    }
    let holders = targets.iter().map(|(number, _, _)| *number).collect();
    for (number, property, id) in targets {
        let properties = &mut tree.instances[number as usize].properties;
        match called.get(&id) {
            Some(Some(to)) => _ = properties.insert(property, reference_to(*to).into()),
            _ => _ = properties.remove(&property),
        }
    }
    holders
}

fn attribute_text<'a>(attributes: &'a Attributes, name: &str) -> Option<&'a str> {
    match attributes.get(name)? {
        Variant::String(text) => Some(text),
        Variant::BinaryString(bytes) => std::str::from_utf8(bytes.as_ref()).ok(),
        _ => None,
    }
}
