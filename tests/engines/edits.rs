//! Random edits, applied to a scene and to the tree that it is compared with.

use std::collections::{BTreeSet, HashMap};

use random_draws::RandomDraws;
use rbx_types::{Ref, Variant};
use scene_schemas::Value;
use vector_place::{DetachedSubtree, FileFormat, JournalMark, Node, Scene, reflection};
use vector_tests::oracle::{Branch, Tree, pointed};

use super::files;
use super::random_values::{as_edit, draw_attribute, draw_name, draw_text, draw_value};

/// A scene and a tree of the same file, with the edits applied to both.
pub(super) struct Run {
    pub(super) file: Vec<u8>,
    /// The tree before all edits.
    before: Tree,
    pub(super) scene: Scene,
    pub(super) tree: Tree,
    /// The current content of the file.
    pub(super) stands: Vec<u8>,
    is_settled: bool,
    /// The properties that were set, by class.
    pub(super) edited: BTreeSet<(String, String)>,
    pub(super) log: Vec<String>,
    /// The instances of both engines, in tree order.
    nodes: Vec<(Node, Ref)>,
    marks: Vec<Moment>,
    /// Subtrees that were encoded, to be restored later.
    kept: Vec<(Vec<u8>, Branch)>,
}

/// A state to roll back to.
struct Moment {
    mark: JournalMark,
    tree: Tree,
    edited: BTreeSet<(String, String)>,
}

impl Run {
    pub(super) fn start(file: &[u8]) -> Self {
        let scene = Scene::decode(file).unwrap();
        let tree = Tree::decode(file);
        let edited = BTreeSet::new();
        let start =
            Moment { mark: scene.journal_mark(), tree: tree.clone(), edited: edited.clone() };
        Self {
            file: file.to_vec(),
            stands: file.to_vec(),
            is_settled: false,
            before: tree.clone(),
            scene,
            tree,
            edited,
            log: Vec::new(),
            nodes: Vec::new(),
            marks: vec![start],
            kept: Vec::new(),
        }
    }

    /// The tree before all edits.
    pub(super) fn before(&self) -> &Tree {
        &self.before
    }

    /// The mark before all edits. None if the scene can no longer roll back to it.
    pub(super) fn start_mark(&self) -> Option<JournalMark> {
        self.marks.first().filter(|_| !self.is_settled).map(|start| start.mark)
    }

    pub(super) fn encode(&mut self) -> Result<Vec<u8>, String> {
        self.scene.encode().map_err(|error| error.to_string())
    }

    /// Compares the two trees in memory.
    pub(super) fn hold_trees(&mut self) -> Result<(), String> {
        let root = self.scene.root();
        let (left, right) = (self.scene.descendants(root), self.tree.subtree(self.tree.root()));
        self.nodes = left.zip(right.into_iter().skip(1)).collect();
        self.nodes.insert(0, (root, self.tree.root()));
        for (at, (node, to)) in self.nodes.iter().enumerate() {
            let item = self.tree.item(*to);
            let children = self.scene.children(*node).len() == item.children.len();
            let is_same =
                self.scene.class(*node) == item.class && self.scene.name(*node) == item.name;
            if !children || at > 0 && !is_same {
                let (class, name) = (self.scene.class(*node), self.scene.name(*node));
                let (other, called) = (&item.class, &item.name);
                return Err(format!("{at}: {class} {name:?}, and {other} {called:?}"));
            }
        }
        Ok(())
    }

    fn any(&self, draws: &mut RandomDraws) -> (Node, Ref) {
        draws.pick(&self.nodes)
    }

    /// A random instance other than `game`.
    fn one(&self, draws: &mut RandomDraws) -> Option<(Node, Ref)> {
        (self.nodes.len() > 1).then(|| draws.pick(&self.nodes[1..]))
    }

    fn told(&mut self, what: String) {
        self.log.push(what);
    }

    fn at(&self, to: Ref) -> String {
        let at = self.nodes.iter().position(|(_, it)| *it == to).unwrap_or(usize::MAX);
        format!("{at} ({})", self.tree.item(to).class)
    }

    /// Makes one random edit.
    pub(super) fn step(&mut self, draws: &mut RandomDraws) -> Result<(), String> {
        match draws.below(32) {
            0..3 => self.create(draws),
            3..6 => self.copy(draws),
            6..13 => self.set(draws)?,
            13..15 => self.set_attribute(draws)?,
            15..17 => self.rename(draws)?,
            17..21 => self.move_to(draws)?,
            21..23 => self.delete(draws)?,
            23..25 => self.set_source(draws),
            25 => self.keep(draws)?,
            26 => self.restore(draws)?,
            27 => {
                let (mark, tree) = (self.scene.journal_mark(), self.tree.clone());
                self.marks.push(Moment { mark, tree, edited: self.edited.clone() });
                self.told("mark".to_owned());
            }
            28 => self.rollback(draws),
            29 => self.hold_references(draws)?,
            30 => {
                self.told("make".to_owned());
                self.encode()?;
            }
            _ if draws.one_in(4) => {
                self.told("settle".to_owned());
                self.stands = self.encode()?;
                self.scene.forget_history();
                self.marks.clear();
                self.is_settled = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn create(&mut self, draws: &mut RandomDraws) {
        let (parent, above) = self.any(draws);
        let class = match self.one(draws) {
            Some((_, at)) if draws.one_in(2) => self.tree.item(at).class.clone(),
            _ => draws.pick(&files::CLASSES).to_owned(),
        };
        let name = draw_name(draws);
        self.told(format!("create {class} {name:?} in {}", self.at(above)));
        self.scene.create(parent, &class, &name);
        self.tree.create(above, &class, &name);
    }

    fn copy(&mut self, draws: &mut RandomDraws) {
        let Some((node, at)) = self.one(draws) else { return };
        let ((parent, above), name) = (self.any(draws), draw_name(draws));
        if self.tree.subtree(at).len() + self.nodes.len() > 4 * self.file.len().max(400) {
            return;
        }
        self.told(format!("copy {} into {} as {name:?}", self.at(at), self.at(above)));
        self.scene.copy(node, parent, &name);
        self.tree.copy(at, above, &name);
    }

    fn note(&mut self, at: Ref, property: &str) {
        self.edited.insert((self.tree.item(at).class.clone(), property.to_owned()));
    }

    fn set(&mut self, draws: &mut RandomDraws) -> Result<(), String> {
        let Some((node, at)) = self.one(draws) else { return Ok(()) };
        let item = self.tree.item(at);
        let known = files::properties(&item.class);
        // A property that the instance has, one that its class may have, or one that reflection
        // does not know.
        let has: Vec<_> =
            known.iter().filter(|it| item.properties.contains_key(it.name)).cloned().collect();
        let property = match draws.below(10) {
            0 => files::unknown(draws),
            1..6 if !has.is_empty() => draws.pick(&has),
            _ if !known.is_empty() => draws.pick(known),
            _ => files::unknown(draws),
        };
        let instances: HashMap<Ref, Node> = self.nodes.iter().map(|(n, r)| (*r, *n)).collect();
        let refs: Vec<Ref> = self.nodes[1..].iter().map(|(_, to)| *to).collect();
        let value = (!draws.one_in(5)).then(|| draw_value(draws, property.kind, &refs));
        let is_object = |it: &Variant| matches!(it, Variant::Content(_)) && pointed(it).is_some();
        if self.scene.format() == FileFormat::Xml && value.as_ref().is_some_and(is_object) {
            // The crates cannot read it from XML.
            return Ok(());
        }
        let said = value.as_ref().map(|value| {
            let target = |to: Ref| instances.get(&to).map(|node| self.scene.target(*node));
            as_edit(value, property.enum_type, &target)
        });
        let told = match value.as_ref().and_then(pointed) {
            Some(to) => self.at(to),
            None => format!("{value:?}"),
        };
        self.told(format!("set {}.{} = {told}", self.at(at), property.name));
        self.scene.set_property(node, property.name, said.as_ref()).map_err(|why| why.0)?;
        self.note(at, property.name);
        self.tree.set(at, property.name, value);
        Ok(())
    }

    fn set_attribute(&mut self, draws: &mut RandomDraws) -> Result<(), String> {
        let Some((node, at)) = self.one(draws) else { return Ok(()) };
        if files::properties(&self.tree.item(at).class).is_empty() {
            // It is not known how such a class stores attributes.
            return Ok(());
        }
        let key = format!("Key{}", draws.below(4));
        let value = (!draws.one_in(4)).then(|| draw_attribute(draws));
        self.told(format!("set {}.@{key} = {value:?}", self.at(at)));
        let said = value.as_ref().map(|value| match value {
            Variant::BinaryString(bytes) => Value::Binary(bytes.clone().into_vec()),
            value => as_edit(value, "", &|_| None),
        });
        self.scene.set_property(node, &format!("@{key}"), said.as_ref()).map_err(|why| why.0)?;
        self.note(at, "Attributes");
        self.tree.set_attribute(at, &key, value);
        Ok(())
    }

    fn rename(&mut self, draws: &mut RandomDraws) -> Result<(), String> {
        let Some((node, at)) = self.one(draws) else { return Ok(()) };
        let name = draw_name(draws);
        self.told(format!("rename {} {name:?}", self.at(at)));
        if draws.one_in(2) {
            self.scene.rename(node, &name);
        } else {
            let said = Value::String(name.clone());
            self.scene.set_property(node, "Name", Some(&said)).map_err(|why| why.0)?;
        }
        self.note(at, "Name");
        self.tree.rename(at, &name);
        Ok(())
    }

    fn move_to(&mut self, draws: &mut RandomDraws) -> Result<(), String> {
        let Some((node, at)) = self.one(draws) else { return Ok(()) };
        let (parent, above) = match self.scene.parent(node) {
            // Move it among its siblings.
            Some(parent) if draws.one_in(3) => {
                let above = self.nodes.iter().find(|(node, _)| *node == parent);
                *above.ok_or("the parent is gone")?
            }
            _ => self.any(draws),
        };
        let index = (!draws.one_in(3)).then(|| draws.below(6));
        let may = !self.tree.is_within(above, at);
        self.told(format!("move {} into {} at {index:?}", self.at(at), self.at(above)));
        if self.scene.move_to(node, parent, index.map(|at| at as u32)).is_ok() != may {
            return Err(format!("may it be moved? {may}"));
        }
        if may {
            self.tree.move_to(at, above, index);
        }
        Ok(())
    }

    fn delete(&mut self, draws: &mut RandomDraws) -> Result<(), String> {
        let Some((node, at)) = self.one(draws) else { return Ok(()) };
        let branch = self.tree.branch(at);
        self.told(format!("delete {}", self.at(at)));
        self.scene.delete(node);
        self.tree.delete(at);
        if draws.one_in(3) {
            self.told("and keep it".to_owned());
            let bytes = self.scene.encode_subtree(node).map_err(|error| error.to_string())?;
            self.kept.push((bytes, branch));
        }
        Ok(())
    }

    fn set_source(&mut self, draws: &mut RandomDraws) {
        let is_script = |(_, at): &&(Node, Ref)| reflection::is_script(&self.tree.item(*at).class);
        let scripts: Vec<_> = self.nodes.iter().filter(is_script).copied().collect();
        if scripts.is_empty() {
            return;
        }
        let ((node, at), text) = (draws.pick(&scripts), draw_text(draws));
        self.told(format!("write {}: {text:?}", self.at(at)));
        self.scene.set_source(node, text.clone());
        self.note(at, "Source");
        self.tree.set_source(at, &text);
    }

    fn keep(&mut self, draws: &mut RandomDraws) -> Result<(), String> {
        let Some((node, at)) = self.one(draws) else { return Ok(()) };
        self.told(format!("keep {}", self.at(at)));
        let bytes = self.scene.encode_subtree(node).map_err(|error| error.to_string())?;
        self.kept.push((bytes, self.tree.branch(at)));
        Ok(())
    }

    fn restore(&mut self, draws: &mut RandomDraws) -> Result<(), String> {
        if self.kept.is_empty() {
            return Ok(());
        }
        let which = draws.below(self.kept.len());
        let ((parent, above), (bytes, branch)) = (self.any(draws), &self.kept[which]);
        let index = (!draws.one_in(3)).then(|| draws.below(6));
        self.log.push(format!("restore {which} into {} at {index:?}", self.at(above)));
        let subtree = DetachedSubtree::decode(bytes).map_err(|error| error.to_string())?;
        self.scene.restore_subtree(subtree, parent, index.map(|at| at as u32));
        self.tree.restore(branch, above, index);
        Ok(())
    }

    fn rollback(&mut self, draws: &mut RandomDraws) {
        let Some(which) = (!self.marks.is_empty()).then(|| draws.below(self.marks.len())) else {
            return;
        };
        self.told(format!("back to mark {which}"));
        self.marks.truncate(which + 1);
        let moment = &self.marks[which];
        self.scene.rollback(moment.mark);
        self.tree = moment.tree.clone();
        self.edited = moment.edited.clone();
    }

    /// Compares the references into a subtree.
    fn hold_references(&mut self, draws: &mut RandomDraws) -> Result<(), String> {
        let Some((node, at)) = self.one(draws) else { return Ok(()) };
        self.told(format!("references into {}", self.at(at)));
        let places: HashMap<Node, usize> =
            self.nodes.iter().enumerate().map(|(at, (node, _))| (*node, at)).collect();
        let others: HashMap<Ref, usize> =
            self.nodes.iter().enumerate().map(|(at, (_, to))| (*to, at)).collect();
        let found = self.scene.references_into(node);
        let found: BTreeSet<_> =
            found.into_iter().map(|(who, by, to)| (places[&who], by, places[&to])).collect();
        let wanted = self.tree.references_into(at);
        let wanted: BTreeSet<_> =
            wanted.into_iter().map(|(who, by, to)| (others[&who], by, others[&to])).collect();
        if found == wanted { Ok(()) } else { Err(format!("references: {found:?}, not {wanted:?}")) }
    }
}
