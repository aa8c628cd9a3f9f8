//! What tells instances of one name apart when the file was changed since a table was made.

use std::collections::BTreeMap;

use rbx_dom_weak::{Ustr, ustr};
use rbx_types::{Variant, VariantType};
use rustc_hash::{FxHashMap, FxHashSet};
use scene_schemas::{Fingerprint, FingerprintHasher};

use super::InstanceTable;
use super::reading::PropertyReader;
use crate::binary::{BinaryFile, ClassRows};
use crate::change::UNIQUE;
use crate::diff::{DefaultValues, mix_hash};
use crate::file::SourceFile;
use crate::property_layout::HIDDEN;
use crate::tree::NONE;
use crate::{Node, Scene, reflection};

impl Scene {
    /// Returns a fingerprint by which the listed instances are told from others of the same name;
    /// None if no other has the path of one of them. An instance is identified by its `UniqueId`,
    /// or if it has none, by its other properties than those in the table.
    pub fn identify_rows(&self, table: &InstanceTable, nodes: &[Node]) -> Option<Fingerprint> {
        let ambiguous = nodes.iter().zip(table.ambiguous_rows());
        let ambiguous: Vec<Node> = ambiguous.filter(|it| it.1).map(|(node, _)| *node).collect();
        if ambiguous.is_empty() {
            return None;
        }
        let except: FxHashSet<Ustr> = table.columns.iter().map(|column| column.key).collect();
        let mut hashing = FingerprintHasher::default();
        let Some(file) = self.file.binary() else {
            let mut values = ValueSum::new(self, &except);
            for node in ambiguous {
                hashing.update(&values.identity(node));
            }
            return Some(hashing.finish());
        };
        let mut without_id = Vec::new();
        let mut reader = PropertyReader::new(self, ustr(UNIQUE[0]));
        for node in ambiguous {
            let id = reader.read(node.0).as_deref().and_then(id_bytes);
            hashing.update(&id.unwrap_or_default());
            without_id.extend(id.is_none().then_some(node.0));
        }
        self.hash_other_values(file, &without_id, &except, &mut hashing);
        Some(hashing.finish())
    }

    /// Hashes the properties of instances of a binary file, but these.
    pub(crate) fn hash_other_values(
        &self,
        file: &BinaryFile,
        nodes: &[u32],
        except: &FxHashSet<Ustr>,
        hashing: &mut FingerprintHasher,
    ) {
        let mut by_class: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for node in nodes {
            by_class.entry(self.tree.class_name(*node)).or_default().push(*node);
        }
        for (name, nodes) in by_class {
            let rows = ClassRows::new(file, &nodes);
            let class = self.tree.class_names.find(name).unwrap_or(NONE);
            let edited = self.edits.columns_of_class(class).map(|column| column.key);
            let mut keys: Vec<Ustr> = rows.keys(file).chain(edited).collect();
            keys.sort_unstable_by_key(Ustr::as_str);
            keys.dedup();
            for key in keys.into_iter().filter(|key| is_identifying(name, *key, except)) {
                let column = self.edits.column_of_key(class, key);
                let edits = column.map(|column| (&self.edits, column));
                file.hash_values(name, &rows, key, edits, hashing);
            }
        }
    }
}

/// Whether a property of a class tells instances apart, other than these.
fn is_identifying(class: &str, key: Ustr, except: &FxHashSet<Ustr>) -> bool {
    !except.contains(&key)
        && !key.starts_with(HIDDEN)
        && reflection::property_access(class, key.as_str()).is_some()
}

/// Returns the bytes of an id; None if it is none.
fn id_bytes(value: &Variant) -> Option<[u8; 16]> {
    let Variant::UniqueId(id) = value else {
        return None;
    };
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&id.index().to_le_bytes());
    bytes[4..8].copy_from_slice(&id.time().to_le_bytes());
    bytes[8..].copy_from_slice(&id.random().to_le_bytes());
    Some(bytes).filter(|_| !id.is_nil())
}

/// How many stored values of a property are remembered with their hashes.
const MAX_KNOWN: usize = 512;

/// A property of a class.
#[derive(Default)]
struct KnownProperty {
    is_identifying: bool,
    /// The hashes of values, by what an XML file stores.
    hashes: FxHashMap<Vec<u8>, u64>,
}

/// Adds up the hashes of an instance's values by what they mean, whatever a file stores for it.
struct ValueSum<'a> {
    scene: &'a Scene,
    except: &'a FxHashSet<Ustr>,
    properties: FxHashMap<(u32, Ustr), KnownProperty>,
    defaults: DefaultValues,
    bytes: Vec<u8>,
}

impl<'a> ValueSum<'a> {
    fn new(scene: &'a Scene, except: &'a FxHashSet<Ustr>) -> Self {
        let (properties, defaults) = (FxHashMap::default(), DefaultValues::default());
        Self { scene, except, properties, defaults, bytes: Vec::new() }
    }

    /// Returns the id of an instance, or the sum of the hashes of its values if it has none.
    fn identity(&mut self, node: Node) -> [u8; 16] {
        let (scene, is_unedited) = (self.scene, self.is_unedited(node));
        let (mut id, mut sum) = (None, 0_u64);
        let mut visit = |key: Ustr, stored: &[u8], value: &dyn Fn() -> Option<Variant>| {
            if key.as_str() == UNIQUE[0] {
                id = value().as_ref().and_then(id_bytes);
            } else {
                sum = sum.wrapping_add(self.hash_stored(node, key, stored, value));
            }
        };
        match &scene.file {
            SourceFile::Xml(xml) if is_unedited => xml.visit_elements(node.0, &mut visit),
            _ => {
                for (key, value) in scene.properties(node) {
                    visit(key, &[], &|| Some(value.clone()));
                }
            }
        }
        let mut without_id = [0; 16];
        without_id[8..].copy_from_slice(&sum.to_le_bytes());
        id.unwrap_or(without_id)
    }

    /// Whether the instance has what the file stores, except for the properties that do not count.
    fn is_unedited(&self, node: Node) -> bool {
        let class = self.scene.tree.class(node.0);
        let mut columns = self.scene.edits.columns_of_class(class);
        columns.all(|column| self.except.contains(&column.key) || !column.has_node(node.0))
    }

    /// Returns the hash of a value. `stored` is what the file stores, which determines the value;
    /// empty if that is not known.
    fn hash_stored(
        &mut self,
        node: Node,
        key: Ustr,
        stored: &[u8],
        value: &dyn Fn() -> Option<Variant>,
    ) -> u64 {
        let class = self.scene.tree.class(node.0);
        let known = self.properties.entry((class, key)).or_insert_with(|| {
            let name = self.scene.tree.class_names.get(class);
            let is_identifying = is_identifying(name, key, self.except);
            KnownProperty { is_identifying, hashes: FxHashMap::default() }
        });
        if !known.is_identifying {
            return 0;
        }
        if let Some(hash) = known.hashes.get(stored) {
            return *hash;
        }
        let is_kept = !stored.is_empty() && known.hashes.len() < MAX_KNOWN;
        let hash = value().map_or(0, |value| self.hash(class, key, &value));
        if is_kept && let Some(known) = self.properties.get_mut(&(class, key)) {
            known.hashes.insert(stored.to_vec(), hash);
        }
        hash
    }

    /// Returns the hash of a property; 0 for a default, and for a reference or an id, which other
    /// files store as other numbers.
    fn hash(&mut self, class: u32, key: Ustr, value: &Variant) -> u64 {
        if matches!(value.ty(), VariantType::Ref | VariantType::Content | VariantType::UniqueId) {
            return 0;
        }
        let class = ustr(self.scene.tree.class_names.get(class));
        let default = self.defaults.get(class, key);
        if !default.write_unless_default(value, &|_| 0, &mut self.bytes) {
            return 0;
        }
        mix_hash(mix_hash(0, key.as_bytes()), &self.bytes)
    }
}
