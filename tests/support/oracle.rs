//! A place as a tree of everything, read by the rbx crates: what the engine's edits are held against.
//!
//! Each edit is done in the plainest way that gives what it is to mean. Nothing here knows Vector,
//! and nothing is fast but a copy of the whole tree, which stands for a moment to come back to.

mod meaning;
mod objects;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::sync::OnceLock;

use rbx_types::{Attributes, Content, ContentType, Ref, UniqueId, Variant};

use crate::places;

/// The properties that name an instance for the engine of the game.
const UNIQUE: [&str; 2] = ["UniqueId", "HistoryId"];

/// An instance.
#[derive(Debug, Clone)]
pub struct Item {
    /// Its class.
    pub class: String,
    /// Its name.
    pub name: String,
    /// Its properties by the names that scripts use.
    pub properties: BTreeMap<String, Variant>,
    /// Its children, in order.
    pub children: Vec<Ref>,
    parent: Ref,
}

/// A place.
#[derive(Debug, Clone)]
pub struct Tree {
    items: HashMap<Ref, Rc<Item>>,
    root: Ref,
}

/// A subtree that is no part of a place, its root first, parents before their children.
#[derive(Debug, Clone)]
pub struct Branch(Vec<(Ref, Rc<Item>)>);

/// Ids from here on are of this process: the crates give them to instances whose id is taken.
fn youngest() -> u32 {
    static START: OnceLock<u32> = OnceLock::new();
    *START.get_or_init(|| UniqueId::now().expect("the clock is right").time())
}

/// Whether an instance of that id has been given it by its file.
fn is_own(id: UniqueId) -> bool {
    !id.is_nil() && id.time() < youngest()
}

impl Tree {
    /// Reads a place.
    pub fn decode(bytes: &[u8]) -> Self {
        youngest();
        let dom = if bytes.starts_with(b"<roblox!") {
            places::decode(&objects::turned(bytes))
        } else {
            places::decode(bytes)
        };
        let (root, instances) = dom.into_raw();
        let item = |(to, instance): (Ref, rbx_dom_weak::Instance)| {
            let mut properties: BTreeMap<String, Variant> = instance
                .properties
                .iter()
                .map(|(key, value)| (key.to_string(), value.clone()))
                .collect();
            if let Some(Variant::UniqueId(id)) = properties.get(UNIQUE[0])
                && !is_own(*id)
            {
                properties.remove(UNIQUE[0]);
            }
            let item = Item {
                class: instance.class.to_string(),
                name: instance.name.clone(),
                properties,
                children: instance.children().to_vec(),
                parent: instance.parent(),
            };
            (to, Rc::new(item))
        };
        let items = instances.into_iter().map(item).collect();
        Self { items, root }
    }

    /// The instance above all others.
    pub fn root(&self) -> Ref {
        self.root
    }

    /// An instance.
    pub fn item(&self, at: Ref) -> &Item {
        &self.items[&at]
    }

    fn change(&mut self, at: Ref) -> &mut Item {
        Rc::make_mut(self.items.get_mut(&at).expect("the instance is there"))
    }

    /// Whether an instance is part of the place.
    pub fn has(&self, at: Ref) -> bool {
        self.items.contains_key(&at)
    }

    /// An instance and all below it, depth first, in order.
    pub fn subtree(&self, at: Ref) -> Vec<Ref> {
        let (mut found, mut stack) = (Vec::new(), vec![at]);
        while let Some(at) = stack.pop() {
            found.push(at);
            stack.extend(self.item(at).children.iter().rev());
        }
        found
    }

    /// Whether an instance is another one or below it.
    pub fn is_within(&self, at: Ref, above: Ref) -> bool {
        let parent = |at: &Ref| Some(self.item(*at).parent).filter(Ref::is_some);
        std::iter::successors(Some(at), parent).any(|at| at == above)
    }

    fn link(&mut self, at: Ref, parent: Ref, index: Option<usize>) {
        self.change(at).parent = parent;
        let children = &mut self.change(parent).children;
        let index = index.unwrap_or(children.len()).min(children.len());
        children.insert(index, at);
    }

    fn unlink(&mut self, at: Ref) {
        let parent = self.item(at).parent;
        self.change(parent).children.retain(|child| *child != at);
    }

    /// Makes an instance, as the last child of another.
    pub fn create(&mut self, parent: Ref, class: &str, name: &str) -> Ref {
        let at = Ref::new();
        let item = Item {
            class: class.to_owned(),
            name: name.to_owned(),
            properties: BTreeMap::new(),
            children: Vec::new(),
            parent,
        };
        self.items.insert(at, Rc::new(item));
        self.link(at, parent, None);
        at
    }

    /// Sets a property, or takes its value away.
    pub fn set(&mut self, at: Ref, property: &str, value: Option<Variant>) {
        let properties = &mut self.change(at).properties;
        match value {
            Some(value) => properties.insert(property.to_owned(), value),
            None => properties.remove(property),
        };
    }

    /// Sets an attribute, or takes it away.
    pub fn set_attribute(&mut self, at: Ref, key: &str, value: Option<Variant>) {
        let mut all = match self.item(at).properties.get("Attributes") {
            Some(Variant::Attributes(all)) => all.clone(),
            _ => Attributes::new(),
        };
        match value {
            Some(value) => all.insert(key.to_owned(), value),
            None => all.remove(key),
        };
        self.set(at, "Attributes", Some(all.into()));
    }

    /// Gives an instance another name.
    pub fn rename(&mut self, at: Ref, name: &str) {
        name.clone_into(&mut self.change(at).name);
    }

    /// Replaces a script's text.
    pub fn set_source(&mut self, at: Ref, text: &str) {
        self.set(at, "Source", Some(text.to_owned().into()));
    }

    /// Puts an instance elsewhere. The index counts siblings without it.
    pub fn move_to(&mut self, at: Ref, parent: Ref, index: Option<usize>) {
        self.unlink(at);
        self.link(at, parent, index);
    }

    /// Removes an instance with all below it.
    pub fn delete(&mut self, at: Ref) {
        self.unlink(at);
        for gone in self.subtree(at) {
            self.items.remove(&gone);
        }
    }

    /// A picture of an instance with all below it.
    pub fn branch(&self, at: Ref) -> Branch {
        Branch(self.subtree(at).into_iter().map(|at| (at, Rc::clone(&self.items[&at]))).collect())
    }

    /// Copies an instance with all below it. Nothing in the game's engine is named by two ids.
    pub fn copy(&mut self, at: Ref, parent: Ref, name: &str) -> Ref {
        let branch = self.branch(at);
        let copy = self.grow(&branch, parent, None, false);
        for at in self.subtree(copy) {
            for property in UNIQUE {
                self.set(at, property, None);
            }
        }
        self.rename(copy, name);
        copy
    }

    /// Brings a branch back. References out of it are empty; an id that somebody has is left out.
    pub fn restore(&mut self, branch: &Branch, parent: Ref, index: Option<usize>) -> Ref {
        let taken: HashSet<UniqueId> = self.items.values().filter_map(|it| unique_id(it)).collect();
        let root = self.grow(branch, parent, index, true);
        for at in self.subtree(root) {
            if unique_id(self.item(at)).is_some_and(|id| taken.contains(&id)) {
                self.set(at, UNIQUE[0], None);
            }
        }
        root
    }

    fn grow(&mut self, branch: &Branch, parent: Ref, index: Option<usize>, alone: bool) -> Ref {
        let new: HashMap<Ref, Ref> = branch.0.iter().map(|(at, _)| (*at, Ref::new())).collect();
        let to = |to: Ref| match new.get(&to) {
            Some(new) => *new,
            None if alone => Ref::none(),
            None => to,
        };
        for (at, item) in &branch.0 {
            let mut item = item.as_ref().clone();
            item.parent = to(item.parent);
            item.children.iter_mut().for_each(|child| *child = to(*child));
            for value in item.properties.values_mut() {
                if let Some(old) = pointed(value) {
                    *value = match value {
                        Variant::Ref(_) => to(old).into(),
                        _ => Content::from_referent(to(old)).into(),
                    };
                }
            }
            self.items.insert(new[at], Rc::new(item));
        }
        let root = new[&branch.0[0].0];
        self.link(root, parent, index);
        root
    }

    /// The references to instances of one subtree from outside of it: who, by what, to whom.
    pub fn references_into(&self, root: Ref) -> Vec<(Ref, String, Ref)> {
        let within: HashSet<Ref> = self.subtree(root).into_iter().collect();
        let outside = self.subtree(self.root).into_iter().filter(|at| !within.contains(at));
        let of = |at: Ref| {
            let all = self.item(at).properties.iter();
            all.filter_map(move |(key, value)| Some((at, key.clone(), pointed(value)?)))
        };
        outside.flat_map(of).filter(|(.., to)| within.contains(to)).collect()
    }

    /// Puts siblings into an order that says nothing of the one that they had.
    pub fn sort_children(&mut self) {
        let all = self.subtree(self.root);
        // By themselves first; then references count as what they point to is, by itself.
        let alone = self.digests(&all, &HashMap::new());
        let digests = self.digests(&all, &alone);
        for at in all {
            self.change(at).children.sort_by_key(|child| digests[child].clone());
        }
    }

    /// What each subtree says, of which a parent stands before its children.
    fn digests(&self, all: &[Ref], known: &HashMap<Ref, String>) -> HashMap<Ref, String> {
        let mut digests: HashMap<Ref, String> = HashMap::new();
        for at in all.iter().rev() {
            let item = self.item(*at);
            let values = item.properties.iter().map(|(key, value)| match pointed(value) {
                Some(to) => format!("{key} to {:?}", known.get(&to)),
                None => format!("{key} {value:?}"),
            });
            let mut children: Vec<&str> =
                item.children.iter().map(|child| digests[child].as_str()).collect();
            children.sort_unstable();
            let values: Vec<String> = values.collect();
            let (class, name) = (&item.class, &item.name);
            digests.insert(*at, format!("{class} {name} {values:?} {children:?}"));
        }
        digests
    }

    /// What differs between this place and another, one sentence each. A place of a format that gives
    /// a property to whole classes may have it where the other has none, if it says no more.
    pub fn differences(&self, other: &Self, by_class: bool) -> Vec<String> {
        meaning::differences(self, other, by_class)
    }
}

/// The instance that a value points to.
pub fn pointed(value: &Variant) -> Option<Ref> {
    let to = match value {
        Variant::Ref(to) => *to,
        Variant::Content(content) => match content.value() {
            ContentType::Object(to) => *to,
            _ => return None,
        },
        _ => return None,
    };
    to.is_some().then_some(to)
}

fn unique_id(item: &Item) -> Option<UniqueId> {
    match item.properties.get(UNIQUE[0]) {
        Some(Variant::UniqueId(id)) if !id.is_nil() => Some(*id),
        _ => None,
    }
}
