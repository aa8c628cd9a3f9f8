//! Mirror of a place that is open in Studio: its whole tree, and the property values requested so
//! far.
//!
//! The reads of a plan need not be known in advance. A read of an unknown value is recorded as
//! missing. The planner then discards the plan, fetches the missing values, and plans again. How
//! Studio is queried and how changes arrive is outside this module.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

use rbx_dom_weak::{Ustr, ustr};
use rbx_reflection::DataType;
use rbx_types::{Variant, VariantType};
use rustc_hash::{FxHashMap, FxHashSet};
use scene_schemas::api::{KnownProperties, NodeColumns, PropertyQuery, ScenePart, ScriptText};
use scene_schemas::entry::Seq;
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{InstanceId, Value};

use super::change::referenced_instance;
use super::debug_ids::DebugIds;
use super::edits::PropertyEdit;
use super::file::SourceFile;
use super::reflection::{self, PropertyAccess};
use super::studio_facts::StudioFacts;
use super::tree::{InstanceTree, ROOT, TreeBuilder};
use super::{Node, Scene};

/// Prefix of ids that are debug ids of Studio.
pub(super) const PREFIX: &str = "studio:";
/// The property that holds a script's text.
const SOURCE: &str = "Source";
const ATTRIBUTES: &str = "Attributes";
/// The wire name for all attributes of an instance.
const ALL_ATTRIBUTES: &str = "@";
/// Properties that a plugin cannot read, or that are not needed from an open place.
const UNREADABLE: [&str; 4] = ["UniqueId", "HistoryId", "Capabilities", "Sandboxed"];

/// An update does not match the mirror, so a new snapshot of the place is needed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OutOfSync(String);

fn out_of_sync<T>(message: impl Into<String>) -> Result<T, OutOfSync> {
    Err(OutOfSync(message.into()))
}

/// Facts that were requested but are not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingFacts {
    pub properties: Vec<PropertyQuery>,
    pub sources: Vec<InstanceId>,
    pub assets: Vec<u64>,
    pub is_selection_missing: bool,
}

impl MissingFacts {
    /// Whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.properties.is_empty()
            && self.sources.is_empty()
            && self.assets.is_empty()
            && !self.is_selection_missing
    }

    /// Adds what another reader of the same scene is missing.
    pub fn join(&mut self, other: Self) {
        for query in other.properties {
            match self.properties.iter_mut().find(|it| it.id == query.id) {
                Some(own) => {
                    let new = query.names.into_iter().filter(|name| !own.names.contains(name));
                    let new: Vec<String> = new.collect();
                    own.names.extend(new);
                }
                None => self.properties.push(query),
            }
        }
        let new = other.sources.into_iter().filter(|id| !self.sources.contains(id));
        let new: Vec<InstanceId> = new.collect();
        self.sources.extend(new);
        let new = other.assets.into_iter().filter(|asset| !self.assets.contains(asset));
        let new: Vec<u64> = new.collect();
        self.assets.extend(new);
        self.is_selection_missing |= other.is_selection_missing;
    }
}

/// The known state of an open place, apart from its tree.
#[derive(Debug, Clone, Default)]
pub(super) struct StudioMirror {
    ids: DebugIds,
    /// Known values; None for a property without a value.
    values: FxHashMap<(u32, Ustr), Option<Variant>>,
    /// For each instance, its properties that refer to another.
    pointing: FxHashMap<u32, Vec<Ustr>>,
    missing: RefCell<FxHashSet<(u32, Ustr)>>,
    /// The scripts whose text is an editor draft that differs from the place.
    drafts: FxHashSet<u32>,
    /// The facts for the call being planned.
    pub(super) facts: StudioFacts,
    /// A snapshot that is still being received.
    snapshot: Option<Box<PartialSnapshot>>,
    is_complete: bool,
    instances: u32,
}

#[derive(Debug, Clone)]
struct PartialSnapshot {
    builder: TreeBuilder,
    mirror: StudioMirror,
    announced: u32,
    count: u32,
}

impl StudioMirror {
    pub(super) fn id_of(&self, node: u32) -> Option<Cow<'_, str>> {
        self.ids.get(node)
    }

    pub(super) fn node_of(&self, id: &str) -> Option<u32> {
        self.ids.node(id)
    }

    pub(super) fn value_of(&self, node: u32, key: Ustr) -> Option<&Variant> {
        match self.values.get(&(node, key)) {
            Some(known) => known.as_ref(),
            None if UNREADABLE.contains(&key.as_str()) => None,
            None => {
                self.missing.borrow_mut().insert((node, key));
                None
            }
        }
    }

    pub(super) fn text_of(&self, node: u32, key: Ustr) -> Option<&str> {
        match self.value_of(node, key)? {
            Variant::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the properties for which an instance of a class has a value.
    pub(super) fn keys_of(&self, node: u32, class: &str) -> Vec<Ustr> {
        let all = mirrored_properties(class)
            .into_iter()
            .map(ustr)
            .chain([ustr("Tags"), ustr(ATTRIBUTES)]);
        all.filter(|key| self.value_of(node, *key).is_some()).collect()
    }

    pub(super) fn reference_keys(&self, node: u32) -> Vec<Ustr> {
        self.pointing.get(&node).cloned().unwrap_or_default()
    }

    /// Returns the known references as (holder, property, referenced instance).
    pub(super) fn references(&self) -> Vec<(u32, Ustr, u32)> {
        let of = |(node, keys): (&u32, &Vec<Ustr>)| {
            let node = *node;
            let to = |key: &Ustr| referenced_instance(self.values.get(&(node, *key))?.as_ref()?);
            let found = keys.iter().filter_map(|key| Some((node, *key, to(key)?)));
            found.collect::<Vec<_>>()
        };
        self.pointing.iter().flat_map(of).collect()
    }

    fn assign_id(&mut self, node: u32, id: &str) -> Result<(), OutOfSync> {
        if self.ids.assign(node, id) { Ok(()) } else { out_of_sync(format!("{id} was said twice")) }
    }

    fn set_known_value(&mut self, node: u32, key: Ustr, value: Option<Variant>) {
        let is_reference = value.as_ref().is_some_and(|value| matches!(value, Variant::Ref(_)));
        if is_reference {
            let keys = self.pointing.entry(node).or_default();
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        self.values.insert((node, key), value);
    }
}

/// Returns the properties of a class that files store, by the names that scripts use.
fn mirrored_properties(class: &str) -> Vec<&'static str> {
    let is_kept = |name: &&str| {
        let found = reflection::property_access(class, name);
        matches!(found, Some(PropertyAccess::Stored(found)) if found.name == *name)
            && !UNREADABLE.contains(name)
            && !matches!(*name, "Name" | "Tags" | ATTRIBUTES)
    };
    reflection::property_names(class).filter(is_kept).collect()
}

/// Returns the stored properties that hold the value reported under a name.
fn storage_names(class: &str, name: &str) -> Vec<&'static str> {
    match name {
        _ if name.starts_with('@') => vec![ATTRIBUTES],
        "Tags" => vec!["Tags"],
        SOURCE => vec![SOURCE],
        "WorldPivot" if reflection::is_a(class, "Model") => vec!["WorldPivotData"],
        _ => match reflection::property_access(class, name) {
            Some(PropertyAccess::Stored(found)) => vec![found.name],
            Some(PropertyAccess::Migrated(migrated)) => migrated.to.to_vec(),
            // `Enabled` is stored inverted; position and rotation are both stored in `CFrame`.
            Some(PropertyAccess::Derived(reflection::DerivedProperty::Enabled)) => vec!["Disabled"],
            Some(PropertyAccess::Derived(_)) => vec!["CFrame"],
            None => Vec::new(),
        },
    }
}

/// Converts a value to the type of a property, because Luau has only one number type.
fn coerce_value(class: &str, name: &str, value: Value) -> Value {
    let ty = match reflection::property_access(class, name) {
        Some(PropertyAccess::Stored(found)) => match found.ty {
            DataType::Value(ty) => *ty,
            _ => return value,
        },
        _ => return value,
    };
    match (ty, value) {
        (VariantType::Float32, Value::Float64(v)) => Value::Float32(v as f32),
        (VariantType::Int32, Value::Float64(v)) => Value::Int32(v as i32),
        (VariantType::Int64, Value::Float64(v)) => Value::Int64(v as i64),
        (VariantType::OptionalCFrame, Value::CFrame(v)) => Value::OptionalCFrame(Some(v)),
        (VariantType::ContentId, Value::String(v)) => Value::ContentId(v),
        (_, value) => value,
    }
}

fn debug_id(id: &InstanceId) -> Result<&str, OutOfSync> {
    match id.0.strip_prefix(PREFIX) {
        Some(bare) if !bare.is_empty() => Ok(bare),
        _ => out_of_sync(format!("{id} is not an id of Studio")),
    }
}

impl Scene {
    /// Creates an empty mirror of a place that is open in Studio.
    pub fn empty_studio_place() -> Self {
        Self::from_mirror(StudioMirror::default(), TreeBuilder::new(0).finish().unwrap_or_default())
    }

    fn from_mirror(mirror: StudioMirror, tree: InstanceTree) -> Self {
        Self::new(SourceFile::Studio(Box::new(mirror)), tree)
    }

    /// Returns a script's text if it is known. An unknown text is not recorded as missing.
    pub fn source_if_known(&self, node: Node) -> Option<Cow<'_, str>> {
        let is_known = match (&self.file, self.base_of(node.0)) {
            (SourceFile::Studio(mirror), Some(base))
                if self.edit_of(node.0, ustr(SOURCE)) == PropertyEdit::None =>
            {
                mirror.values.contains_key(&(base, ustr(SOURCE)))
            }
            _ => true,
        };
        if is_known { self.script_text(node) } else { None }
    }

    /// Whether the scene mirrors a place open in Studio. Otherwise it is a file.
    pub fn is_open_in_studio(&self) -> bool {
        matches!(self.file, SourceFile::Studio(_))
    }

    /// Whether a complete snapshot of the tree was received. Always true for a file.
    pub fn is_tree_complete(&self) -> bool {
        self.mirror().is_none_or(|mirror| mirror.is_complete)
    }

    /// Returns the number of instances of an open place; 0 for a file.
    pub fn mirrored_count(&self) -> u32 {
        self.mirror().map_or(0, |mirror| mirror.instances)
    }

    fn mirror(&self) -> Option<&StudioMirror> {
        match &self.file {
            SourceFile::Studio(mirror) => Some(mirror),
            _ => None,
        }
    }

    fn mirror_mut(&mut self) -> Result<&mut StudioMirror, OutOfSync> {
        match &mut self.file {
            SourceFile::Studio(mirror) => Ok(mirror),
            _ => out_of_sync("a file is not told by anybody"),
        }
    }

    /// Returns and clears the facts recorded as missing since the last call, in node order.
    pub fn take_missing(&self) -> MissingFacts {
        let Some(mirror) = self.mirror() else {
            return MissingFacts::default();
        };
        let mut requested: Vec<(u32, Ustr)> = mirror.missing.take().into_iter().collect();
        requested.sort_unstable_by(|a, b| (a.0, a.1.as_str()).cmp(&(b.0, b.1.as_str())));
        let mut names: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        let mut missing = MissingFacts {
            assets: mirror.facts.missing_assets(),
            is_selection_missing: mirror.facts.is_selection_missing(),
            ..MissingFacts::default()
        };
        for (node, key) in requested {
            match key.as_str() {
                SOURCE => missing.sources.push(self.written_id(Node(node))),
                ATTRIBUTES => names.entry(node).or_default().push(ALL_ATTRIBUTES.to_owned()),
                name => names.entry(node).or_default().push(name.to_owned()),
            }
        }
        let of = |(node, names)| PropertyQuery { id: self.written_id(Node(node)), names };
        missing.properties = names.into_iter().map(of).collect();
        missing
    }

    /// Applies an update of the tree. The journal must be empty: no trial edits.
    ///
    /// # Errors
    /// The update does not match the mirror, so a new snapshot is needed.
    pub fn update_mirror(&mut self, part: &ScenePart) -> Result<(), OutOfSync> {
        if !self.journal.is_empty() {
            return out_of_sync("something is on trial");
        }
        self.journal.note_other_change();
        match part {
            ScenePart::Begin { total } => self.begin_snapshot(*total),
            ScenePart::Nodes { nodes } => self.mirror_mut()?.add_nodes(nodes),
            ScenePart::End {} => self.end_snapshot(),
            ScenePart::Sources { scripts } => {
                self.mirror_mut()?.add_sources(scripts);
                self.set_known_sources(scripts);
                Ok(())
            }
            ScenePart::Added { id, parent, class, name } => {
                self.add_mirrored(id, parent, class, name)
            }
            ScenePart::Removed { id } => self.remove_mirrored(id),
            ScenePart::Renamed { id, name } => {
                let node = self.find_mirrored(id)?;
                self.tree.rename(node, name);
                Ok(())
            }
            ScenePart::Changed { id, names } => self.mark_changed(id, names),
            ScenePart::Answered { .. } | ScenePart::Undone { .. } | ScenePart::Redone { .. } => {
                Ok(())
            }
        }
    }

    fn begin_snapshot(&mut self, announced: u32) -> Result<(), OutOfSync> {
        let total = announced.min(2_000_000) as usize;
        let (builder, mut mirror) = (TreeBuilder::new(total), StudioMirror::default());
        mirror.ids.reserve(total);
        let snapshot = PartialSnapshot { builder, mirror, announced, count: 0 };
        self.mirror_mut()?.snapshot = Some(Box::new(snapshot));
        Ok(())
    }

    fn end_snapshot(&mut self) -> Result<(), OutOfSync> {
        let Some(snapshot) = self.mirror_mut()?.snapshot.take() else {
            return out_of_sync("a snapshot ended that had not begun");
        };
        let PartialSnapshot { builder, mut mirror, announced, count } = *snapshot;
        if count != announced {
            // A request that was sent twice may begin the snapshot a second time.
            return out_of_sync(format!(
                "a snapshot of {announced} instances ended after {count} of them"
            ));
        }
        (mirror.is_complete, mirror.instances) = (true, count);
        *self = Self::from_mirror(mirror, builder.finish_hung());
        Ok(())
    }

    /// Returns the instance with an id that Studio reported.
    fn find_mirrored(&self, id: &InstanceId) -> Result<u32, OutOfSync> {
        if id.0 == "game" {
            return Ok(ROOT);
        }
        match self.mirror().and_then(|mirror| mirror.node_of(debug_id(id).ok()?)) {
            Some(node) => Ok(node),
            None => out_of_sync(format!("{id} is not known")),
        }
    }

    fn add_mirrored(
        &mut self,
        id: &InstanceId,
        parent: &InstanceId,
        class: &str,
        name: &str,
    ) -> Result<(), OutOfSync> {
        let parent = self.find_mirrored(parent)?;
        let Ok(node) = self.find_mirrored(id) else {
            let node = self.tree.add(class, name);
            self.bases.insert(node, node);
            self.tree.link(node, parent, None);
            let mirror = self.mirror_mut()?;
            mirror.instances += 1;
            return mirror.assign_id(node, debug_id(id)?);
        };
        if node == ROOT || self.tree.is_within(parent, node) {
            return out_of_sync(format!("{id} went below itself"));
        }
        if self.tree.name_text(node) != name {
            self.tree.rename(node, name);
        }
        match self.tree.parent(node) {
            Some(now) if now == parent => return Ok(()),
            Some(_) => self.tree.unlink(node),
            None => {
                let count = self.tree.subtree(node).count() as u32;
                self.mirror_mut()?.instances += count;
            }
        }
        self.tree.link(node, parent, None);
        Ok(())
    }

    /// Keeps a removed instance with its id, because it may be restored.
    fn remove_mirrored(&mut self, id: &InstanceId) -> Result<(), OutOfSync> {
        let Ok(node) = self.find_mirrored(id) else {
            // It was added and removed between two messages.
            return Ok(());
        };
        if node == ROOT {
            return out_of_sync("the place itself went");
        }
        if self.tree.parent(node).is_some() {
            let count = self.tree.subtree(node).count() as u32;
            self.tree.unlink(node);
            let mirror = self.mirror_mut()?;
            mirror.instances = mirror.instances.saturating_sub(count);
        }
        Ok(())
    }

    fn mark_changed(&mut self, id: &InstanceId, names: &[String]) -> Result<(), OutOfSync> {
        let Ok(node) = self.find_mirrored(id) else {
            return Ok(());
        };
        let class = self.tree.class_name(node).to_owned();
        let mirror = self.mirror_mut()?;
        for name in names {
            for key in storage_names(&class, name) {
                mirror.values.remove(&(node, ustr(key)));
            }
        }
        if names.iter().any(|name| name == SOURCE) {
            self.note_mirrored_text(node);
        }
        Ok(())
    }

    /// Restores a deleted instance of an open place; the mirror keeps deleted instances.
    ///
    /// # Errors
    /// The instance is not known or not deleted.
    pub fn restore_mirrored(&mut self, id: &InstanceId, parent: Node) -> Result<Node, Refusal> {
        let known = self.by_id(id).filter(|_| self.is_open_in_studio());
        let Some(node) = known.filter(|node| self.parent(*node).is_none()) else {
            return refuse!("What was deleted is no longer at hand; Studio was closed since.");
        };
        self.tree.link(node.0, parent.0, None);
        self.journal.note_restore(node.0);
        Ok(node)
    }

    /// Binds a `new:` id of an applied proposal to the instance with this id in the place.
    pub fn bind_created_id(&mut self, scope: Seq, k: u32, id: &InstanceId) {
        if let Some(node) = self.by_id(id) {
            self.created_by_id.insert((scope, k), node.0);
        }
    }

    /// Records the texts of scripts.
    pub fn set_known_sources(&mut self, scripts: &[ScriptText]) {
        let source = ustr(SOURCE);
        if let Ok(mirror) = self.mirror_mut() {
            mirror.values.reserve(scripts.len());
        }
        for ScriptText { id, text, is_dirty } in scripts {
            if let Ok(node) = self.find_mirrored(id)
                && let Ok(mirror) = self.mirror_mut()
            {
                if *is_dirty {
                    mirror.drafts.insert(node);
                } else {
                    mirror.drafts.remove(&node);
                }
                mirror.set_known_value(node, source, Some(Variant::String(text.clone())));
                self.note_mirrored_text(node);
            }
        }
    }

    /// Whether the last reported text of a script is a draft that differs from the place.
    pub fn has_draft(&self, node: Node) -> bool {
        self.mirror().is_some_and(|mirror| mirror.drafts.contains(&node.0))
    }

    /// Returns the scripts whose last reported texts are drafts that differ from the place, in no
    /// order of the tree, but always the same.
    pub fn drafts(&self) -> Vec<Node> {
        let known = self.mirror().map(|mirror| mirror.drafts.iter().map(|it| Node(*it)));
        let mut drafts: Vec<Node> = known.into_iter().flatten().collect();
        drafts.retain(|node| self.is_live(*node));
        drafts.sort_unstable();
        drafts
    }

    /// Records the values of properties. Requested properties missing from `known` have no value.
    pub fn set_known_properties(&mut self, known: &[KnownProperties], requested: &[PropertyQuery]) {
        for PropertyQuery { id, names } in requested {
            let Ok(node) = self.find_mirrored(id) else {
                continue;
            };
            let of = known.iter().find(|known| known.id == *id);
            let class = self.tree.class_name(node).to_owned();
            for name in names {
                let value = of.and_then(|known| known.values.get(name)).cloned();
                let value = value.and_then(|value| {
                    self.to_variant(&class, name, &coerce_value(&class, name, value)).ok()
                });
                let key = if name == ALL_ATTRIBUTES { ATTRIBUTES } else { name };
                if let Ok(mirror) = self.mirror_mut() {
                    mirror.set_known_value(node, ustr(key), value);
                }
                if key == SOURCE {
                    self.note_mirrored_text(node);
                }
            }
        }
    }

    /// Records that requested texts are not available.
    pub fn mark_sources_unavailable(&mut self, requested: &[InstanceId]) {
        for id in requested {
            if let Ok(node) = self.find_mirrored(id)
                && let Ok(mirror) = self.mirror_mut()
            {
                mirror.values.entry((node, ustr(SOURCE))).or_insert(None);
                self.note_mirrored_text(node);
            }
        }
    }
}

impl StudioMirror {
    /// Adds the texts of scripts to the snapshot being received, if there is one.
    fn add_sources(&mut self, scripts: &[ScriptText]) {
        let Some(snapshot) = &mut self.snapshot else {
            return;
        };
        let mirror = &mut snapshot.mirror;
        for ScriptText { id, text, is_dirty } in scripts {
            let Some(node) = debug_id(id).ok().and_then(|id| mirror.node_of(id)) else {
                continue;
            };
            if *is_dirty {
                mirror.drafts.insert(node);
            }
            mirror.set_known_value(node, ustr(SOURCE), Some(Variant::String(text.clone())));
        }
    }

    /// Adds instances to the snapshot being received.
    fn add_nodes(&mut self, nodes: &NodeColumns) -> Result<(), OutOfSync> {
        let Some(snapshot) = &mut self.snapshot else {
            return out_of_sync("instances of a snapshot that had not begun");
        };
        let PartialSnapshot { builder, mirror, count, .. } = &mut **snapshot;
        let len = nodes.ids.len();
        if [nodes.parents.len(), nodes.class.len(), nodes.names.len()] != [len; 3] {
            return out_of_sync("columns of different lengths");
        }
        let classes: Vec<u32> =
            nodes.classes.iter().map(|class| builder.class_number(class)).collect();
        for at in 0..len {
            let (Some(class), parent) = (classes.get(nodes.class[at] as usize), nodes.parents[at])
            else {
                return out_of_sync("a class that was not named");
            };
            if parent > *count {
                return out_of_sync("an instance before its parent");
            }
            let name = builder.name(&nodes.names[at]);
            let node = builder.append_child(*class, name, parent);
            mirror.assign_id(node, debug_id(&nodes.ids[at])?)?;
            *count += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
