//! From snapshots to a tree: every instance gets its number and a key of its own, and what refers to
//! another one gets the other's number.

use rbx_types::{Attributes, Content, ContentType, Ref, Variant};
use rustc_hash::{FxHashMap, FxHashSet};

use super::snapshot::Snapshot;
use super::tree::{Instance, Note, Tree, instance_of, reference_to};

/// The attribute by which an instance is called in references.
const ID: &str = "Rojo_Id";
/// What stands before the property in the attributes that refer.
const TARGET: &str = "Rojo_Target_";

/// Puts the instances of a project into its tree.
pub(super) fn grow(tree: &mut Tree, root: Snapshot) {
    let mut taken = FxHashSet::default();
    add(tree, root, None, None, &mut taken);
    link(tree);
}

/// Adds a snapshot with all below it; `model` is the number of the root of the model file that it is
/// part of.
fn add(
    tree: &mut Tree,
    mut snapshot: Snapshot,
    parent: Option<u32>,
    model: Option<u32>,
    taken: &mut FxHashSet<String>,
) {
    let number = tree.instances.len() as u32;
    let is_part = matches!(&snapshot.origin, super::Origin::Model { at, .. } if !at.is_empty());
    let model = if is_part { model } else { Some(number) };
    if snapshot.refers
        && let Some(model) = model
    {
        for value in snapshot.properties.values_mut() {
            refer(value, |to| to.checked_add(model).map(reference_to));
        }
    }
    let key = unique(snapshot.key, taken);
    tree.notes.push(Note { files: snapshot.files, id: snapshot.id, refers: snapshot.refers });
    tree.instances.push(Instance {
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
        let at = tree.instances.len() as u32;
        tree.instances[number as usize].children.push(at);
        add(tree, child, Some(number), model, taken);
    }
}

/// A key that no instance has: of one file that is mounted twice, the second is another.
fn unique(key: String, taken: &mut FxHashSet<String>) -> String {
    let mut unique = key.clone();
    let mut n = 2;
    while !taken.insert(unique.clone()) {
        unique = format!("{key}#{n}");
        n += 1;
    }
    unique
}

/// Gives a reference, and what refers in a content, another number.
pub(super) fn refer(value: &mut Variant, other: impl Fn(u32) -> Option<Ref>) {
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

/// Sets the properties that refer by attributes, of the ids that the instances have.
pub(super) fn link(tree: &mut Tree) {
    let mut called: FxHashMap<String, Option<u32>> = FxHashMap::default();
    let mut targets = Vec::new();
    for (number, (instance, note)) in (0..).zip(tree.instances.iter().zip(&tree.notes)) {
        let attributes = match instance.properties.get("Attributes") {
            Some(Variant::Attributes(attributes)) => Some(attributes),
            _ => None,
        };
        let id = attributes.and_then(|attributes| text(attributes, ID)).or(note.id.as_deref());
        if let Some(id) = id {
            // An id that two instances have refers to none.
            called.entry(id.to_owned()).and_modify(|to| *to = None).or_insert(Some(number));
        }
        for (name, _) in attributes.into_iter().flat_map(Attributes::iter) {
            if let (Some(property), Some(to)) =
                (name.strip_prefix(TARGET), attributes.and_then(|all| text(all, name)))
            {
                targets.push((number, property.to_owned(), to.to_owned()));
            }
        }
    }
    for (number, property, id) in targets {
        let properties = &mut tree.instances[number as usize].properties;
        match called.get(&id) {
            Some(Some(to)) => _ = properties.insert(property, reference_to(*to).into()),
            _ => _ = properties.remove(&property),
        }
    }
}

fn text<'a>(attributes: &'a Attributes, name: &str) -> Option<&'a str> {
    match attributes.get(name)? {
        Variant::String(text) => Some(text),
        Variant::BinaryString(bytes) => std::str::from_utf8(bytes.as_ref()).ok(),
        _ => None,
    }
}
