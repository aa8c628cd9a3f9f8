//! Planning of model files: existing ones with changes, and new ones.

use std::collections::BTreeMap;
use std::path::Path;

use rbx_types::Variant;
use rustc_hash::{FxHashMap, FxHashSet};
use scene_schemas::refusal::{Refusal, refuse};
use vector_place::{FileFormat, Node, Scene, reference_of};
use vector_text_edit::json::{JsonDocument, JsonInput, JsonObject};

use super::ChangePlanner;
use super::json;
use super::props::{DescriptionKeys, apply_settings};
use crate::build_tree::renumber_reference;
use crate::tree::{InstanceOrigin, reference_to};

/// The keys of `.model.json`, some of which have two spellings.
const MODEL_KEYS: DescriptionKeys =
    DescriptionKeys { properties: ["properties", "Properties"], attributes: "attributes" };
const CHILDREN_KEYS: [&str; 2] = ["children", "Children"];
const NAME_KEYS: [&str; 2] = ["name", "Name"];

impl ChangePlanner<'_> {
    /// Writes the model files with changes.
    pub(super) fn write_models(&mut self) -> Result<(), Refusal> {
        for root in std::mem::take(&mut self.models) {
            self.check_unshared(root)?;
            let InstanceOrigin::Model { file, .. } = &self.instance_at(root).origin else {
                continue;
            };
            let Some(bytes) = self.files.read_planned(file)? else { continue };
            let is_json = |end: &std::ffi::OsStr| end == "json" || end == "jsonc";
            let shown = self.display_path(file);
            let after = if file.extension().is_some_and(is_json) {
                self.edit_json_model(root, &bytes)
            } else {
                self.edit_roblox_model(root, file, bytes.clone())
            };
            let after =
                after.map_err(|why| Refusal(format!("{shown} cannot be changed: {}", why.0)))?;
            if after != bytes {
                self.files.set_content(file, true, after);
            }
        }
        Ok(())
    }

    /// Returns the instances that were read from a model file, each with its child indices from the
    /// root.
    fn model_parts(&self, root: u32) -> Vec<(u32, Vec<u32>)> {
        let InstanceOrigin::Model { file, .. } = &self.instance_at(root).origin else {
            return Vec::new();
        };
        let mut parts = Vec::new();
        let mut open = vec![root];
        while let Some(number) = open.pop() {
            if let InstanceOrigin::Model { file: own, at, .. } = &self.instance_at(number).origin
                && own == file
                && (number == root || !at.is_empty())
            {
                parts.push((number, at.clone()));
                open.extend(&self.instance_at(number).children);
            }
        }
        parts
    }

    /// Whether an instance of a model file is still part of it.
    fn is_still_part(&self, number: u32) -> bool {
        let node = self.node_at(number);
        self.known.get(&node) == Some(&number) && self.scene.is_live(node)
    }

    fn touched_names(&self, number: u32) -> Vec<&'static str> {
        let names = self.touched.get(&self.node_at(number));
        names.into_iter().flatten().copied().collect()
    }

    fn edit_json_model(&self, root: u32, bytes: &[u8]) -> Result<Vec<u8>, Refusal> {
        let mut document = json::open_document(bytes)?;
        let mut parts = self.model_parts(root);
        for (number, at) in &parts {
            let mut object = find_json_object(&mut document, at)?;
            if !self.is_still_part(*number) {
                continue;
            }
            let (node, instance) = (self.node_at(*number), self.instance_at(*number));
            let names = self.touched_names(*number);
            let settings = self.changed_settings(*number, node, &names)?;
            apply_settings(&mut object, MODEL_KEYS, &settings)?;
            if *number == root {
                continue;
            }
            if self.scene.name(node) != instance.name {
                let key = json::find_key(&object, NAME_KEYS).unwrap_or(NAME_KEYS[0]);
                object.set(key, &self.scene.name(node).into());
            }
            let was = instance.parent.map(|parent| self.node_at(parent));
            if self.scene.parent(node) != was {
                return refuse!(
                    "{} would have to change its place in it; move it by hand.",
                    self.path_text(node)
                );
            }
        }
        // In reverse order, so that the positions of the others stay valid, and the children of an
        // instance are removed before others are appended.
        parts.sort_by(|(_, a), (_, b)| b.cmp(a));
        for (number, at) in parts {
            if !self.is_still_part(number) {
                remove_json_object(&mut document, &at)?;
                continue;
            }
            let new = self.scene.children(self.node_at(number));
            let new = new.filter(|child| self.new_parts.contains(child));
            let new: Result<Vec<_>, Refusal> =
                new.map(|child| self.json_part(child).map(JsonInput::Object)).collect();
            let mut object = find_json_object(&mut document, &at)?;
            let key = json::find_key(&object, CHILDREN_KEYS).unwrap_or(CHILDREN_KEYS[0]);
            json::append_values(&mut object, key, new?)?;
            if object.reborrow().into_array(key).is_some_and(|array| array.is_empty()) {
                object.remove(key);
            }
        }
        Ok(document.to_string().into_bytes())
    }

    /// Returns the fields of a new `.model.json`, without the name: the root is named after the
    /// file.
    ///
    /// # Errors
    /// Fails if JSON cannot hold all of it.
    pub(super) fn json_model(&self, node: Node) -> Result<Vec<(String, JsonInput)>, Refusal> {
        let mut fields = self.json_part(node)?;
        fields.remove(0);
        Ok(fields)
    }

    fn json_part(&self, root: Node) -> Result<Vec<(String, JsonInput)>, Refusal> {
        // In reverse order, so that children are complete before their parents.
        let mut subtree: Vec<Node> = self.scene.subtree(root).collect();
        let mut below: BTreeMap<Node, Vec<JsonInput>> = BTreeMap::new();
        while let Some(node) = subtree.pop() {
            let mut fields = vec![
                ("name".to_owned(), self.scene.name(node).into()),
                ("className".to_owned(), self.scene.class(node).into()),
            ];
            fields.extend(self.describe_instance(node, false, None)?);
            if let Some(mut children) = below.remove(&node) {
                children.reverse();
                fields.push(("children".to_owned(), JsonInput::Array(children)));
            }
            match self.scene.parent(node) {
                Some(parent) if node != root => {
                    below.entry(parent).or_default().push(JsonInput::Object(fields));
                }
                _ => return Ok(fields),
            }
        }
        Ok(Vec::new())
    }

    /// Encodes a new model in Roblox's own format.
    ///
    /// # Errors
    /// Fails if the model refers to an instance outside of it.
    pub(super) fn roblox_model(&self, root: Node) -> Result<Vec<u8>, Refusal> {
        let mut model = Scene::empty(FileFormat::Binary);
        let mut copies = FxHashMap::default();
        let below = model.root();
        self.copy_subtree(&mut model, below, root, &mut copies);
        self.copy_properties(&mut model, &copies, &copies)?;
        model.encode().map_err(|why| Refusal(format!("{}: {why}", self.path_text(root))))
    }

    /// Creates instances of the scene in a model file, without their properties.
    fn copy_subtree(
        &self,
        model: &mut Scene,
        parent: Node,
        root: Node,
        copies: &mut FxHashMap<Node, Node>,
    ) {
        for node in self.scene.subtree(root) {
            let above = self.scene.parent(node).filter(|_| node != root);
            let above = above.and_then(|above| copies.get(&above)).copied().unwrap_or(parent);
            let copy = model.create(above, self.scene.class(node), self.scene.name(node));
            copies.insert(node, copy);
        }
    }

    /// Sets the properties of new instances in a model file. `all` holds the instances that they
    /// may refer to.
    fn copy_properties(
        &self,
        model: &mut Scene,
        made: &FxHashMap<Node, Node>,
        all: &FxHashMap<Node, Node>,
    ) -> Result<(), Refusal> {
        for (node, copy) in made {
            for (name, value) in self.scene.stored_variants(*node) {
                let value = self
                    .map_references(value, all)
                    .ok_or_else(|| self.refuse_outside_reference(*node, &name))?;
                model.set_known_property(*copy, &name, value);
            }
        }
        Ok(())
    }

    fn refuse_outside_reference(&self, node: Node, name: &str) -> Refusal {
        Refusal(format!(
            "`{name}` of {} refers to an instance outside of the file, which Rojo's files can hold by \
             the attributes `Rojo_Id` and `Rojo_Target_{name}` alone; write them by hand.",
            self.path_text(node)
        ))
    }

    /// Maps the references of a value to instances of a model file. Returns None if one leads out
    /// of the file.
    fn map_references(
        &self,
        mut value: Variant,
        copies: &FxHashMap<Node, Node>,
    ) -> Option<Variant> {
        let is_outside = std::cell::Cell::new(false);
        renumber_reference(&mut value, |number| {
            let to = self.scene.referenced_node(reference_to(number));
            // A reference to a deleted instance becomes empty.
            let to = to.filter(|to| self.scene.is_live(*to))?;
            let copy = copies.get(&to).map(|copy| reference_of(*copy));
            is_outside.set(is_outside.get() || copy.is_none());
            copy
        });
        (!is_outside.get()).then_some(value)
    }

    fn edit_roblox_model(
        &self,
        root: u32,
        file: &Path,
        bytes: Vec<u8>,
    ) -> Result<Vec<u8>, Refusal> {
        let refusal = |why: &dyn std::fmt::Display| Refusal(format!("{}: {why}", file.display()));
        let mut model = Scene::open(bytes.into()).map_err(|why| refusal(&why))?;
        let parts = self.model_parts(root);
        let mut copies: FxHashMap<Node, Node> = FxHashMap::default();
        let mut removed = FxHashSet::default();
        for (number, at) in &parts {
            let Some(node) = find_model_node(&model, at) else {
                return refuse!("it is not what was read");
            };
            if self.is_still_part(*number) {
                copies.insert(self.node_at(*number), node);
            } else {
                removed.insert(node);
            }
        }
        self.restructure_model(&mut model, root, &parts, &mut copies)?;
        for node in removed {
            // A child of another removed instance is removed with it.
            if model.is_live(node) {
                model.delete(node);
            }
        }
        for (number, _) in parts.iter().filter(|(number, _)| self.is_still_part(*number)) {
            let node = self.node_at(*number);
            let Some(copy) = copies.get(&node).copied() else { continue };
            for (name, value) in self.scene.stored_variants(node) {
                if self.map_references(value, &copies).is_none() {
                    return Err(self.refuse_outside_reference(node, &name));
                }
            }
            for name in self.touched_names(*number) {
                match self.stored_property(node, name) {
                    Some(value) => {
                        let value = self
                            .map_references(value, &copies)
                            .ok_or_else(|| self.refuse_outside_reference(node, name))?;
                        model.set_known_property(copy, name, value);
                    }
                    None => model.set_property(copy, name, None)?,
                }
            }
        }
        model.encode().map_err(|why| refusal(&why))
    }

    /// Renames, moves and creates instances in a model file to match the scene.
    fn restructure_model(
        &self,
        model: &mut Scene,
        root: u32,
        parts: &[(u32, Vec<u32>)],
        copies: &mut FxHashMap<Node, Node>,
    ) -> Result<(), Refusal> {
        let mut made = FxHashMap::default();
        let staying: Vec<(Node, Node)> = copies.iter().map(|(node, copy)| (*node, *copy)).collect();
        for (node, copy) in staying {
            for child in self.scene.children(node).filter(|child| self.new_parts.contains(child)) {
                self.copy_subtree(model, copy, child, &mut made);
            }
        }
        copies.extend(&made);
        for (number, _) in parts.iter().filter(|(it, _)| *it != root && self.is_still_part(*it)) {
            let (node, instance) = (self.node_at(*number), self.instance_at(*number));
            let Some(copy) = copies.get(&node).copied() else { continue };
            if self.scene.name(node) != instance.name {
                model.rename(copy, self.scene.name(node));
            }
            let above = self.scene.parent(node);
            if above != instance.parent.map(|parent| self.node_at(parent))
                && let Some(above) = above.and_then(|above| copies.get(&above))
            {
                model.move_to(copy, *above, None)?;
            }
        }
        self.copy_properties(model, &made, copies)
    }
}

/// Returns the object of an instance in a `.model.json`.
fn find_json_object<'a>(
    document: &'a mut JsonDocument,
    at: &[u32],
) -> Result<JsonObject<'a>, Refusal> {
    let mut object = document.root_object().map_err(Refusal)?;
    for n in at {
        let key = json::find_key(&object, CHILDREN_KEYS).unwrap_or(CHILDREN_KEYS[0]);
        let found = object.into_array(key).and_then(|array| array.into_object(*n as usize));
        let Some(found) = found else { return refuse!("it is not what was read") };
        object = found;
    }
    Ok(object)
}

/// Removes the object of an instance from a `.model.json`.
fn remove_json_object(document: &mut JsonDocument, at: &[u32]) -> Result<(), Refusal> {
    let Some((n, above)) = at.split_last() else { return refuse!("it is not what was read") };
    let object = find_json_object(document, above)?;
    let key = json::find_key(&object, CHILDREN_KEYS).unwrap_or(CHILDREN_KEYS[0]);
    if let Some(mut array) = object.into_array(key) {
        array.remove(*n as usize);
    }
    Ok(())
}

/// Returns the instance of a model file at the given child indices.
fn find_model_node(model: &Scene, at: &[u32]) -> Option<Node> {
    let mut node = model.children(model.root()).next()?;
    for n in at {
        node = model.children(node).nth(*n as usize)?;
    }
    Some(node)
}
