//! What tells instances of one name apart when the file was changed since a table was made.

use rbx_dom_weak::{Ustr, ustr};
use rbx_types::{Variant, VariantType};
use rustc_hash::FxHashSet;
use scene_schemas::{Fingerprint, FingerprintHasher};

use super::InstanceTable;
use crate::change::UNIQUE;
use crate::diff::{DefaultValues, mix_hash};
use crate::edits::PropertyEdit;
use crate::property_layout::HIDDEN;
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
        let ids: Vec<Option<[u8; 16]>> =
            ambiguous.iter().map(|node| self.id_bytes(*node)).collect();
        let without_id = ambiguous.iter().zip(&ids).filter(|(_, id)| id.is_none());
        let without_id: Vec<Node> = without_id.map(|(node, _)| *node).collect();
        let except: FxHashSet<Ustr> = table.columns.iter().map(|column| column.key).collect();
        let mut sums = self.sum_other_values(&without_id, &except).into_iter();
        let mut hashing = FingerprintHasher::default();
        for id in ids {
            match id {
                Some(id) => hashing.update(&id),
                None => hashing.update(&sums.next().unwrap_or(0).to_le_bytes()),
            }
        }
        Some(hashing.finish())
    }

    fn id_bytes(&self, node: Node) -> Option<[u8; 16]> {
        let value = self.variant_of(node.0, ustr(UNIQUE[0]))?;
        let Variant::UniqueId(id) = value.as_ref() else {
            return None;
        };
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&id.index().to_le_bytes());
        bytes[4..8].copy_from_slice(&id.time().to_le_bytes());
        bytes[8..].copy_from_slice(&id.random().to_le_bytes());
        Some(bytes).filter(|_| !id.is_nil())
    }

    /// Returns for each instance the sum of the hashes of its properties but these.
    fn sum_other_values(&self, nodes: &[Node], except: &FxHashSet<Ustr>) -> Vec<u64> {
        let mut hasher =
            ValueSum { scene: self, defaults: DefaultValues::default(), bytes: Vec::new() };
        let is_wanted = |class: u32, key: Ustr| {
            let class = self.tree.class_names.get(class);
            !except.contains(&key)
                && !key.starts_with(HIDDEN)
                && reflection::property_access(class, key.as_str()).is_some()
        };
        let Some(file) = self.file.binary() else {
            let mut sum = |node: &Node| {
                let class = self.tree.class(node.0);
                let values = self.properties(*node).into_iter();
                let wanted = values.filter(|(key, _)| is_wanted(class, *key));
                wanted
                    .map(|(key, value)| hasher.hash(class, key, &value))
                    .fold(0, u64::wrapping_add)
            };
            return nodes.iter().map(&mut sum).collect();
        };
        let classes: FxHashSet<u32> = nodes.iter().map(|node| self.tree.class(node.0)).collect();
        let mut sums = vec![0_u64; self.tree.len() as usize];
        let is_read = |class: u32, key: Ustr| classes.contains(&class) && is_wanted(class, key);
        file.sum_values(&mut sums, &is_read, &mut |node, key, value| {
            hasher.hash(self.tree.class(node), key, &value)
        });
        for class in &classes {
            for column in self.edits.columns_of_class(*class) {
                if !is_wanted(*class, column.key) {
                    continue;
                }
                for node in column.nodes().filter(|node| *node < self.tree.read_len()) {
                    let read = self.file.value_of(node, column.key);
                    let now = match self.edits.edit_in_column(column, node) {
                        PropertyEdit::None => continue,
                        PropertyEdit::Removed => None,
                        PropertyEdit::Set(value) => Some(value),
                    };
                    let [read, now] = [read.as_ref(), now]
                        .map(|it| it.map_or(0, |value| hasher.hash(*class, column.key, value)));
                    let sum = &mut sums[node as usize];
                    *sum = sum.wrapping_sub(read).wrapping_add(now);
                }
            }
        }
        nodes.iter().map(|node| sums[node.0 as usize]).collect()
    }
}

/// Hashes values by what they mean, whatever a file stores for it.
struct ValueSum<'a> {
    scene: &'a Scene,
    defaults: DefaultValues,
    bytes: Vec<u8>,
}

impl ValueSum<'_> {
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
