//! What tells instances of one name apart when the file was changed since a table was made.

use std::collections::BTreeMap;

use rbx_dom_weak::{Ustr, ustr};
use rbx_types::{UniqueId, Variant, VariantType};
use rustc_hash::FxHashSet;
use scene_schemas::{Fingerprint, FingerprintHasher};

use super::InstanceTable;
use super::reading::PropertyReader;
use crate::binary::ClassRows;
use crate::change::UNIQUE;
use crate::diff::{DefaultValues, mix_hash};
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
        let mut hashing = FingerprintHasher::default();
        let mut without_id = Vec::new();
        let mut reader = PropertyReader::new(self, ustr(UNIQUE[0]));
        for node in ambiguous {
            match reader.read(node.0).as_deref() {
                Some(Variant::UniqueId(id)) if !id.is_nil() => hashing.update(&id_bytes(id)),
                _ => {
                    hashing.update(&[0; 16]);
                    without_id.push(node.0);
                }
            }
        }
        let except: FxHashSet<Ustr> = table.columns.iter().map(|column| column.key).collect();
        self.hash_other_values(&without_id, &except, &mut hashing);
        Some(hashing.finish())
    }

    /// Hashes the properties of instances, but these.
    pub(crate) fn hash_other_values(
        &self,
        nodes: &[u32],
        except: &FxHashSet<Ustr>,
        hashing: &mut FingerprintHasher,
    ) {
        let is_wanted = |class: &str, key: Ustr| {
            !except.contains(&key)
                && !key.starts_with(HIDDEN)
                && reflection::property_access(class, key.as_str()).is_some()
        };
        let Some(file) = self.file.binary() else {
            let mut values = ValueSum::new(self);
            for node in nodes {
                let class = self.tree.class(*node);
                let name = self.tree.class_names.get(class);
                let mut sum = 0_u64;
                for (key, value) in self.properties(Node(*node)) {
                    if is_wanted(name, key) {
                        sum = sum.wrapping_add(values.hash(class, key, &value));
                    }
                }
                hashing.update(&sum.to_le_bytes());
            }
            return;
        };
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
            for key in keys.into_iter().filter(|key| is_wanted(name, *key)) {
                let column = self.edits.column_of_key(class, key);
                let edits = column.map(|column| (&self.edits, column));
                file.hash_values(name, &rows, key, edits, hashing);
            }
        }
    }
}

fn id_bytes(id: &UniqueId) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&id.index().to_le_bytes());
    bytes[4..8].copy_from_slice(&id.time().to_le_bytes());
    bytes[8..].copy_from_slice(&id.random().to_le_bytes());
    bytes
}

/// Hashes values by what they mean, whatever a file stores for it.
struct ValueSum<'a> {
    scene: &'a Scene,
    defaults: DefaultValues,
    bytes: Vec<u8>,
}

impl<'a> ValueSum<'a> {
    fn new(scene: &'a Scene) -> Self {
        Self { scene, defaults: DefaultValues::default(), bytes: Vec::new() }
    }

    /// Returns the hash of a property; 0 for a default, and for a reference or an id, which other
    /// files store as other numbers.
    fn hash(&mut self, class: u32, key: Ustr, value: &Variant) -> u64 {
        if matches!(value.ty(), VariantType::Ref | VariantType::Content | VariantType::UniqueId) {
            return 0;
        }
        let class = ustr(self.scene.tree.class_names.get(class));
        let defaults = self.defaults.defaults_for(class);
        if !defaults.write_unless_default(key, value, &|_| 0, &mut self.bytes) {
            return 0;
        }
        mix_hash(mix_hash(0, key.as_bytes()), &self.bytes)
    }
}
