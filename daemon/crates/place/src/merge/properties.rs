//! Merges the properties of paired instances, each property individually.

use std::borrow::Cow;

use rbx_dom_weak::{Ustr, ustr};
use rbx_types::{Ref, Tags, Variant};
use rustc_hash::FxHashSet;
use vector_text_edit::{MergePart, format_conflicts, merge_parts};

use super::{ConflictNodes, MergeConflict, SceneMerge, lookup, union_keys};
use crate::change::is_shadowed;
use crate::diff::{CanonicalValues, is_id};
use crate::property_layout::{HIDDEN, to_xml_value};
use crate::tree::{NONE, ROOT};
use crate::{FileFormat, Node, Scene, node_of, reference_to};

/// Key spaces for references to instances that the base does not have, so that those of the two
/// sides never compare equal.
const OF_OURS: u64 = 1 << 62;
const OF_THEIRS: u64 = 1 << 63;

impl SceneMerge<'_> {
    /// Applies the property changes of theirs to ours, and copies all properties of new instances.
    pub(super) fn apply_properties(&mut self, ours: &mut Scene) {
        let theirs = self.theirs;
        let missed = self.needed_by_theirs();
        for node in theirs.tree.subtree(ROOT).skip(1) {
            let Some(own) = lookup(&self.ours_of_theirs, node) else {
                if let Some(base) = lookup(&self.base_of_theirs, node)
                    && (missed.contains(node)
                        || self.is_moved(base, theirs, &self.base_of_theirs, node)
                        || self.is_changed_by_theirs(base, node))
                {
                    self.note_deleted(theirs, node, true);
                }
                continue;
            };
            if self.added.contains(node) {
                let class = theirs.tree.class_name(node);
                for key in
                    theirs.stored_keys(node).into_iter().filter(|key| !is_shadowed(class, *key))
                {
                    self.copy_their_value(ours, own, node, key);
                }
                self.with_new_ids.insert(own);
            } else {
                self.merge_properties(ours, lookup(&self.base_of_theirs, node), own, node);
            }
        }
    }

    /// Sets or removes a property of ours as in theirs. A reference to an instance that ours lacks
    /// is empty until that instance is restored.
    pub(super) fn copy_their_value(&mut self, ours: &mut Scene, own: u32, theirs: u32, key: Ustr) {
        if self.is_dangling(theirs, key) {
            self.defer_reference(own, theirs, key);
        }
        let mut value =
            self.theirs.variant_of(theirs, key).map(|value| self.translate_value(&value));
        if (self.theirs.format(), ours.format()) == (FileFormat::Binary, FileFormat::Xml) {
            value = value.map(|it| to_xml_value(self.theirs.tree.class_name(theirs), key, it));
        }
        ours.store_value(Node(own), key, value);
    }

    /// Translates a value of theirs to ours: its reference points to the counterpart, if there is
    /// one.
    fn translate_value(&self, value: &Variant) -> Variant {
        let own = |to: Ref| node_of(to).and_then(|to| lookup(&self.ours_of_theirs, to));
        match value {
            Variant::Ref(to) => own(*to).map_or_else(Ref::none, reference_to).into(),
            Variant::Content(content) => match content.value() {
                rbx_types::ContentType::Object(to) => match own(*to) {
                    Some(to) => rbx_types::Content::from_referent(reference_to(to)).into(),
                    None => rbx_types::Content::none().into(),
                },
                _ => value.clone(),
            },
            other => other.clone(),
        }
    }

    fn is_changed_by_theirs(&self, base: u32, theirs: u32) -> bool {
        let mut canonical = CanonicalValues::default();
        self.base.tree.name_text(base) != self.theirs.tree.name_text(theirs)
            || union_keys([&self.base.stored_keys(base), &self.theirs.stored_keys(theirs)])
                .into_iter()
                .any(|key| {
                    !is_id(key)
                        && self.base_bytes(&mut canonical, base, key)
                            != self.their_bytes(&mut canonical, theirs, key)
                        && !self.is_cleared_by_deletion(
                            base,
                            key,
                            (self.theirs, theirs),
                            &self.theirs_of_base,
                        )
                })
    }

    /// Whether an instance of ours differs from the base.
    pub(super) fn is_changed(&self, ours: &Scene, base: u32, own: u32) -> bool {
        let mut canonical = CanonicalValues::default();
        self.base.tree.name_text(base) != ours.tree.name_text(own)
            || union_keys([&self.base.stored_keys(base), &ours.stored_keys(own)]).into_iter().any(
                |key| {
                    !is_id(key)
                        && self.base_bytes(&mut canonical, base, key)
                            != self.our_bytes(&mut canonical, ours, own, key)
                        && !self.is_cleared_by_deletion(base, key, (ours, own), &self.ours_of_base)
                },
            )
    }

    pub(super) fn base_bytes(
        &self,
        canonical: &mut CanonicalValues,
        node: u32,
        key: Ustr,
    ) -> Vec<u8> {
        let point = |to: Ref| node_of(to).map_or(0, |to| u64::from(to) + 1);
        canonical.canonical_value(self.base, node, key, &point)
    }

    pub(super) fn our_bytes(
        &self,
        canonical: &mut CanonicalValues,
        ours: &Scene,
        node: u32,
        key: Ustr,
    ) -> Vec<u8> {
        let point = |to: Ref| {
            node_of(to).map_or(0, |to| match lookup(&self.base_of_ours, to) {
                Some(base) => u64::from(base) + 1,
                None => OF_OURS | u64::from(to),
            })
        };
        canonical.canonical_value(ours, node, key, &point)
    }

    pub(super) fn their_bytes(
        &self,
        canonical: &mut CanonicalValues,
        node: u32,
        key: Ustr,
    ) -> Vec<u8> {
        let point = |to: Ref| {
            node_of(to).map_or(0, |to| {
                let base = lookup(&self.base_of_theirs, to);
                let own = lookup(&self.ours_of_theirs, to);
                match (base, own) {
                    (Some(base), _) => u64::from(base) + 1,
                    (None, Some(own)) => OF_OURS | u64::from(own),
                    (None, None) => OF_THEIRS | u64::from(to),
                }
            })
        };
        canonical.canonical_value(self.theirs, node, key, &point)
    }

    fn merge_properties(&mut self, ours: &mut Scene, base: Option<u32>, own: u32, theirs: u32) {
        let mut canonical = CanonicalValues::default();
        self.merge_name(ours, base, own, theirs);
        for key in self.keys_to_merge(ours, base, own, theirs) {
            if is_id(key) {
                self.merge_id(ours, (base, own, theirs), key);
                continue;
            }
            if is_shadowed(self.theirs.tree.class_name(theirs), key) {
                continue;
            }
            let new = self.their_bytes(&mut canonical, theirs, key);
            let old = base.map(|base| self.base_bytes(&mut canonical, base, key));
            let now = self.our_bytes(&mut canonical, ours, own, key);
            if old.as_ref() == Some(&new) || now == new {
                continue;
            }
            let is_emptied = |side, there: &[u32]| {
                base.is_some_and(|base| self.is_cleared_by_deletion(base, key, side, there))
            };
            if is_emptied((self.theirs, theirs), &self.theirs_of_base) {
                // It becomes empty with the deletion of its target, unless the target stays.
                continue;
            }
            let is_ours_old =
                old.as_ref() == Some(&now) || is_emptied((ours, own), &self.ours_of_base);
            if is_ours_old && self.is_dangling(theirs, key) {
                // Ours keeps its value unless the user restores the target of the reference in
                // theirs.
                self.defer_reference(own, theirs, key);
            } else if is_ours_old {
                self.copy_their_value(ours, own, theirs, key);
            } else {
                self.merge_value(ours, (base, own, theirs), key);
            }
        }
    }

    /// Returns the properties that theirs may have changed, sorted.
    fn keys_to_merge(&self, ours: &Scene, base: Option<u32>, own: u32, theirs: u32) -> Vec<Ustr> {
        if let (Some(_), Some(changed)) = (base, &self.changed_by_theirs) {
            return changed.get(&theirs).cloned().unwrap_or_default();
        }
        let of_base = base.map_or_else(Vec::new, |base| self.base.stored_keys(base));
        union_keys([&of_base, &ours.stored_keys(own), &self.theirs.stored_keys(theirs)])
    }

    /// Takes an id that only theirs changed. A missing id removes none: files of other tools have
    /// no ids.
    fn merge_id(&mut self, ours: &mut Scene, nodes: (Option<u32>, u32, u32), key: Ustr) {
        let (Some(base), own, theirs) = nodes else { return };
        let id = |scene: &Scene, node: u32| match scene.variant_of(node, key).as_deref() {
            Some(Variant::UniqueId(id)) if !id.is_nil() => Some(*id),
            _ => None,
        };
        let (old, now, new) = (id(self.base, base), id(ours, own), id(self.theirs, theirs));
        if new.is_some() && now == old && new != old {
            self.copy_their_value(ours, own, theirs, key);
            self.with_new_ids.insert(own);
        }
    }

    /// Removes ids taken from theirs that another instance of ours has, because ids must be unique.
    pub(super) fn drop_shared_ids(&self, ours: &mut Scene) {
        if self.with_new_ids.is_empty() {
            return;
        }
        let key = ustr("UniqueId");
        let (mut taken, mut new) = (FxHashSet::default(), Vec::new());
        for node in ours.tree.subtree(ROOT) {
            if let Some(Variant::UniqueId(id)) = ours.variant_of(node, key).as_deref()
                && !id.is_nil()
            {
                if self.with_new_ids.contains(&node) {
                    new.push((node, *id));
                } else {
                    taken.insert(*id);
                }
            }
        }
        for (node, id) in new {
            if !taken.insert(id) {
                ours.store_value(Node(node), key, None);
            }
        }
    }

    fn merge_name(&mut self, ours: &mut Scene, base: Option<u32>, own: u32, theirs: u32) {
        let new = self.theirs.tree.name_text(theirs);
        let old = base.map(|base| self.base.tree.name_text(base));
        let now = ours.tree.name_text(own);
        if old == Some(new) || now == new {
            return;
        }
        if old == Some(now) {
            ours.rename(Node(own), new);
        } else {
            self.add_conflict(ours, (base, own, theirs), "Name");
        }
    }

    /// Merges a value that both sides changed.
    fn merge_value(&mut self, ours: &mut Scene, nodes: (Option<u32>, u32, u32), key: Ustr) {
        match key.as_str() {
            "Source" if ours.is_script(Node(nodes.1)) => {
                self.merge_source(ours, nodes.0, nodes.1, nodes.2);
            }
            "Attributes" => self.merge_attributes(ours, nodes),
            "Tags" => self.merge_tags(ours, nodes.0, nodes.1, nodes.2),
            name => self.add_conflict(ours, nodes, name),
        }
    }

    fn merge_source(&mut self, ours: &mut Scene, base: Option<u32>, own: u32, theirs: u32) {
        let text = |scene: &Scene, node: u32| {
            scene.script_text(Node(node)).map_or_else(String::new, Cow::into_owned)
        };
        let old = base.map_or_else(String::new, |base| text(self.base, base));
        let (now, new) = (text(ours, own), text(self.theirs, theirs));
        let mut parts = merge_parts(&old, &now, &new);
        if parts.iter().any(|part| matches!(part, MergePart::Conflict(_))) {
            self.nodes.push(ConflictNodes { own, theirs });
            self.conflicts.push(MergeConflict::Script {
                path: ours.path(Node(own)),
                class: ours.class(Node(own)).to_owned(),
                text: format_conflicts(&parts),
                parts,
            });
        } else {
            // Without conflicts there is at most one part.
            let text = match parts.pop() {
                Some(MergePart::Text(text)) => text,
                _ => String::new(),
            };
            ours.set_source(Node(own), text);
        }
    }

    /// Merges attributes one by one.
    fn merge_attributes(&mut self, ours: &mut Scene, nodes: (Option<u32>, u32, u32)) {
        let (base, own, theirs) = nodes;
        let mut names = self.theirs.attribute_names(Node(theirs));
        names.extend(ours.attribute_names(Node(own)));
        names.extend(base.map_or_else(Vec::new, |base| self.base.attribute_names(Node(base))));
        names.sort_unstable();
        names.dedup();
        for name in names {
            let old = base.and_then(|base| self.base.attribute(Node(base), &name));
            let now = ours.attribute(Node(own), &name);
            let new = self.theirs.attribute(Node(theirs), &name);
            if new == old || new == now {
                continue;
            }
            let property = format!("@{name}");
            let is_taken =
                now == old && ours.set_property(Node(own), &property, new.as_ref()).is_ok();
            if !is_taken {
                self.add_conflict(ours, nodes, &property);
            }
        }
    }

    /// Applies the tags that each side added or removed.
    fn merge_tags(&self, ours: &mut Scene, base: Option<u32>, own: u32, theirs: u32) {
        let old = base.map_or_else(Vec::new, |base| self.base.tags(Node(base)));
        let (now, new) = (ours.tags(Node(own)), self.theirs.tags(Node(theirs)));
        let mut merged = Tags::new();
        let is_kept = |tag: &&String| new.contains(tag) || !old.contains(tag);
        now.iter().filter(is_kept).for_each(|tag| merged.push(tag));
        let is_new = |tag: &&String| !now.contains(tag) && !old.contains(tag);
        new.iter().filter(is_new).for_each(|tag| merged.push(tag));
        ours.store_value(Node(own), ustr("Tags"), Some(Variant::Tags(merged)));
    }

    fn add_conflict(&mut self, ours: &Scene, nodes: (Option<u32>, u32, u32), property: &str) {
        let (base, own, theirs) = nodes;
        let old = Node(base.unwrap_or(NONE));
        let values = [
            base.and_then(|_| self.base.value(old, property)),
            ours.value(Node(own), property),
            self.theirs.value(Node(theirs), property),
        ];
        self.nodes.push(ConflictNodes { own, theirs });
        self.conflicts.push(MergeConflict::Property {
            path: ours.path(Node(own)),
            class: ours.class(Node(own)).to_owned(),
            property: property.trim_start_matches(HIDDEN).to_owned(),
            values,
        });
    }
}
