//! Assets as they are downloaded: model files, what is in them, and their insertion into a file.

use std::borrow::Cow;

use rbx_dom_weak::ustr;
use rbx_types::{SecurityCapabilities, Variant};
use scene_schemas::command::{AssetContents, AssetScript};
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::sandbox::ScriptSandbox;

use super::change::UNIQUE;
use super::tree::ROOT;
use super::{Node, Scene, reflection};

/// The beginnings of files that assets other than models consist of.
const OTHER_FILES: [(&[u8], &str); 9] = [
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"BM", "an image"),
    (b"OggS", "a sound"),
    (b"ID3", "a sound"),
    (b"RIFF", "a sound"),
    (b"fLaC", "a sound"),
    (b"version ", "a mesh"),
    (b"{", "data in JSON"),
];

const TERRAIN: &str = "Terrain";

/// The properties that make an instance a sandboxed container.
const SANDBOXED: &str = "Sandboxed";
const CAPABILITIES: &str = "Capabilities";

/// What a person chose of an asset that is inserted.
#[derive(Debug, Clone, Copy, Default)]
pub struct AssetChoice<'a> {
    /// The instances that are left out, by their numbers in the contents from 1, ascending.
    pub left_out: &'a [u32],
    /// The sandbox of the scripts that are kept. None if they run like any other script.
    pub sandbox: Option<&'a ScriptSandbox>,
}

/// An asset as a model file.
#[derive(Debug)]
pub struct AssetModel {
    pub(super) scene: Scene,
    /// The instances, depth first, as in `contents`.
    pub(super) nodes: Vec<u32>,
    contents: AssetContents,
}

impl AssetModel {
    /// Reads an asset as it was downloaded.
    ///
    /// # Errors
    /// It is not a model, or contains what cannot be shown or inserted. The sentence begins in the
    /// middle: it follows the name of the asset.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        let is_other = |(start, _): &&(&[u8], &str)| bytes.starts_with(start);
        if let Some((_, what)) = OTHER_FILES.iter().find(is_other) {
            return refuse!(
                "is {what} and not a model. Create an instance that uses it, with its address \
                 rbxassetid:// and the number."
            );
        }
        let scene = Scene::decode(bytes)
            .map_err(|error| Refusal(format!("cannot be read as a model: {error}.")))?;
        if scene.is_place() {
            return refuse!("is a place and not a model. Open it by itself.");
        }
        let nodes: Vec<u32> =
            scene.tree.children(ROOT).flat_map(|root| scene.tree.subtree(root)).collect();
        let contents = scene.list_contents(&nodes)?;
        Ok(Self { scene, nodes, contents })
    }

    pub fn contents(&self) -> &AssetContents {
        &self.contents
    }
}

impl Scene {
    /// Lists the instances of a model, given depth first.
    fn list_contents(&self, nodes: &[u32]) -> Result<AssetContents, Refusal> {
        let mut contents = AssetContents::default();
        let mut numbers = vec![0; self.tree.len() as usize];
        let mut classes = std::collections::HashMap::new();
        for (number, node) in (1..).zip(nodes) {
            numbers[*node as usize] = number;
            let class = self.tree.class_name(*node);
            if self.tree.parent(*node) == Some(ROOT) && reflection::is_service(class) {
                return refuse!("contains the service {class}, so it is not a model.");
            }
            if class == TERRAIN {
                return refuse!("contains terrain, of which a place has only its own.");
            }
            let count = contents.classes.len() as u32;
            let at = *classes.entry(class.to_owned()).or_insert(count);
            if at == count {
                contents.classes.push(class.to_owned());
            }
            contents.class.push(at);
            let above = self.tree.parent(*node);
            contents.parents.push(above.map_or(0, |above| numbers[above as usize]));
            contents.names.push(self.tree.name_text(*node).to_owned());
            if !self.is_script(Node(*node)) {
                continue;
            }
            let text = match self.variant_of(*node, ustr("Source")).as_deref() {
                None => String::new(),
                Some(Variant::String(text)) => text.clone(),
                Some(_) => {
                    let name = self.tree.name_text(*node);
                    return refuse!(
                        "contains the script {name}, whose text is not UTF-8 and cannot be shown."
                    );
                }
            };
            contents.scripts.push(AssetScript { at: number, text });
        }
        Ok(contents)
    }

    /// Inserts a model as the last children of `parent`, without what is left out of it and with the
    /// sandbox of its scripts. Calls `after` when each root is inserted. References out of what is
    /// inserted become empty, and links of scripts to other texts than their own are dropped.
    ///
    /// # Errors
    /// The file cannot hold a name or a value, or the sandbox has a capability that Vector does not
    /// grant; the scene is unchanged.
    pub fn insert_model(
        &mut self,
        model: &AssetModel,
        choice: AssetChoice<'_>,
        parent: Node,
        mut after: impl FnMut(&Self, Node),
    ) -> Result<(), Refusal> {
        let AssetChoice { left_out, sandbox } = choice;
        let bits = sandbox.map_or(Ok(0), ScriptSandbox::capability_bits);
        let bits = bits.map_err(|name| {
            Refusal(format!(
                "The sandbox of the asset has the capability {name:?}, which this version of Vector \
                 does not grant. Keep its scripts again, or update Vector."
            ))
        })?;
        let kept = model.contents.flag_inserted(left_out);
        let inserted = (1..).zip(&model.nodes).zip(kept).filter(|(_, is_kept)| *is_kept);
        let (numbers, inserted): (Vec<u32>, Vec<u32>) =
            inserted.map(|((number, node), _)| (number, *node)).unzip();
        let first = self.copy_nodes(&model.scene, &inserted);
        let is_root = |(node, _): &(&u32, u32)| model.scene.tree.parent(**node) == Some(ROOT);
        let roots: Vec<u32> =
            inserted.iter().zip(first..).filter(is_root).map(|(_, copy)| copy).collect();
        for copy in first..self.tree.len() {
            // The engine gives them new ones.
            for property in UNIQUE {
                self.set_unjournaled(copy, ustr(property), None);
            }
            // What was shown is what runs.
            self.set_unjournaled(copy, ustr("LinkedSource"), None);
        }
        let containers = sandbox.map_or(&[][..], |sandbox| &sandbox.containers);
        for (number, copy) in numbers.into_iter().zip(first..) {
            if containers.binary_search(&number).is_ok() {
                self.sandbox_copy(copy, bits);
            }
        }
        if let Err(refusal) = self.check_copies(first) {
            self.remove_inserted(first);
            return Err(refusal);
        }
        for root in roots {
            self.tree.link(root, parent.0, None);
            self.attach_subtree(root);
            after(self, Node(root));
        }
        Ok(())
    }

    /// Makes an instance that was copied into the file a sandboxed container. One that is a container
    /// already does not get more capabilities than it has.
    fn sandbox_copy(&mut self, copy: u32, bits: u64) {
        let is_sandboxed =
            matches!(self.variant_of(copy, ustr(SANDBOXED)).as_deref(), Some(Variant::Bool(true)));
        let own = match self.variant_of(copy, ustr(CAPABILITIES)).as_deref() {
            _ if !is_sandboxed => u64::MAX,
            Some(Variant::SecurityCapabilities(own)) => own.bits(),
            _ => 0,
        };
        let granted = SecurityCapabilities::from_bits(bits & own);
        self.set_unjournaled(copy, ustr(SANDBOXED), Some(true.into()));
        self.set_unjournaled(copy, ustr(CAPABILITIES), Some(granted.into()));
    }

    /// Checks that the file can hold the names and values of instances that were copied into it.
    fn check_copies(&mut self, first: u32) -> Result<(), Refusal> {
        for copy in first..self.tree.len() {
            let node = Node(copy);
            self.check_text(self.tree.name_text(copy))?;
            for key in self.stored_keys(copy) {
                let Some(value) = self.variant_of(copy, key).map(Cow::into_owned) else { continue };
                if let Variant::String(text) = &value {
                    self.check_text(text)?;
                }
                self.check_storable(node, key, &value)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use scene_schemas::Value;

    use super::*;
    use crate::FileFormat;

    #[test]
    fn every_set_of_capabilities_is_read_as_it_was_written() {
        let sets = [0, 1, 1 << 8, 1 << 53, (1 << 53) + 1, u64::MAX >> 1, 1 << 63, u64::MAX];
        for format in [FileFormat::Binary, FileFormat::Xml] {
            for bits in sets {
                let set = Value::SecurityCapabilities(bits);
                let mut scene = Scene::empty(format);
                let model = scene.create(scene.root(), "Model", "Tree");
                scene.create(model, "Folder", "Free");
                scene.set_property(model, CAPABILITIES, Some(&set)).unwrap();
                scene.set_property(model, SANDBOXED, Some(&Value::Bool(true))).unwrap();
                let bytes = scene.encode().unwrap();
                if format == FileFormat::Xml {
                    let text = String::from_utf8_lossy(&bytes);
                    // As Studio writes it.
                    assert!(
                        text.contains("<bool name=\"DefinesCapabilities\">true</bool>"),
                        "{text}"
                    );
                }
                let read = Scene::decode(&bytes).unwrap();
                let at = |path: &str| read.resolve(&path.parse().unwrap()).unwrap();
                let model = at("game.Tree");
                assert_eq!(
                    read.value(model, CAPABILITIES),
                    Some(set.clone()),
                    "{format:?} {bits:#x}"
                );
                assert_eq!(read.value(model, SANDBOXED), Some(Value::Bool(true)));
                let free_set = read.value(at("game.Tree.Free"), CAPABILITIES);
                assert_eq!(free_set, Some(Value::SecurityCapabilities(0)));
                // By the implementation of Rojo too.
                let dom = match format {
                    FileFormat::Binary => rbx_binary::from_reader(bytes.as_slice()).unwrap(),
                    FileFormat::Xml => rbx_xml::from_reader_default(bytes.as_slice()).unwrap(),
                };
                let tree = dom.get_by_ref(dom.root().children()[0]).unwrap();
                let stored = &tree.properties[&ustr(CAPABILITIES)];
                assert_eq!(*stored, SecurityCapabilities::from_bits(bits).into());
            }
        }
    }
}
