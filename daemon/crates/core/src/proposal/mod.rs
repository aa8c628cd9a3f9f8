//! Proposals: from planned commands to a preview for the user, and back.
//!
//! A [`ProposalDraft`] performs each command on the scene on trial. So a proposal is known to work,
//! and later commands can address what earlier ones created. This module does not know who decides
//! and who performs the commands for good.

mod activation;
mod affects;
mod by_hand;
mod class_reason;
mod compare;
mod conflict;
mod cut_preview;
mod dependents;
mod diagnostics_gate;
mod effects;
mod footprint;
mod indirect_activation;
mod insert;
mod inverse;
mod large_change;
mod memory;
mod part;
mod perform;
mod reads;
mod replan;
mod rows;
mod sandbox;
mod set_many;
mod split;
mod text;
mod title;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use scene_schemas::command::Props;
use scene_schemas::proposal::{
    Change, Class, Conflict, ImplicitTarget, PlanRead, Preview, Proposal, Row, ScriptDiff, Warning,
    WarningKind,
};
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::text::TextEdit;
use scene_schemas::{Command, Fingerprint, InstanceId, InstancePath, Target, Value};
use vector_place::{Node, count_noun};
use vector_text_edit::MergeResult;

pub use self::affects::describe_conflict;
pub use self::by_hand::{
    EditableValue, draft_by_hand, editable_values, has_editable_parts, is_editable_script,
    proposed_script,
};
pub use self::class_reason::class_reason;
pub use self::compare::{ChangeMade, DifferentChange, VersionDifference, compare_versions};
pub(crate) use self::conflict::text_conflict;
pub use self::cut_preview::{CutPreview, cut_preview};
pub use self::footprint::{Footprint, ReadSubject};
pub(crate) use self::footprint::{FootprintIndex, TouchIndex};
pub use self::insert::{draft_with_scripts, keep_same_scripts};
pub use self::inverse::{InverseCommands, UndoStep, build_inverse, target_fingerprint};
pub use self::large_change::LARGE_CHANGE;
pub use self::part::{
    ProposalUnit, TextSelection as PartText, draft_again, draft_by_path, draft_part, list_units,
    relocate_command, select_members,
};
pub(crate) use self::part::{is_own, map_targets, renumber_ids};
pub use self::perform::{BlobStore, PerformedCommand, perform_command, text_of, try_command};
pub use self::replan::{
    MovedInstance, check_targets, moved_instances, piece_keys, rematch_selection,
};
pub use self::rows::{change_note, group_by_instance, short_values};
pub use self::sandbox::sandbox_state;
pub use self::set_many::member_rows;
pub use self::split::{Ownership, SplitProposal, split_by_owner};
pub use self::text::{BRIEF_PREVIEW, commentable_lines, preview_text};
pub use self::title::{
    common_class, count_class, count_instances, create_title, list_properties, set_all_title,
    set_title,
};

use crate::planning_scene::PlanningScene;

/// Maximum rows in a preview. A user reads no more, and the commands hold the rest.
const MAX_ROWS: usize = 2_000;

/// The number of instances from which one command sets them all: more than a preview has rows.
pub const SET_MANY_FROM: usize = MAX_ROWS + 1;

/// Maximum names in all paths of a proposal. Only large changes in a place nested thousands of
/// levels deep come near it, and would fill the memory.
const MAX_NAMES: usize = 20_000_000;

/// Context lines around a change in a preview.
pub const CONTEXT: usize = 3;

/// The texts that a call has seen, by script path.
pub type SeenTexts = BTreeMap<InstancePath, String>;

/// A proposal under construction.
#[derive(Debug)]
pub struct ProposalDraft<'a> {
    scene: &'a mut PlanningScene,
    blobs: &'a BlobStore,
    commands: Vec<Command>,
    rows: Vec<Row>,
    more_rows: u32,
    class: Class,
    created_ids: BTreeSet<InstanceId>,
    texts: Vec<DraftText>,
    /// The memory before the draft, and the last command that changes it.
    memory: Option<(String, u32)>,
    /// Each script with the modules of its requires, before a command moved, renamed or deleted
    /// scripts.
    requires: Option<Vec<(Node, Vec<Option<Node>>)>>,
    /// Each script with each module that its paths mean, before the first command that may change
    /// that.
    meant_modules: Option<Vec<(Node, Node)>>,
    /// Scripts that commands activate, whose texts were already scanned.
    woken: Vec<Node>,
    /// The scripts of inserted assets.
    inserted_scripts: Vec<ScriptDiff>,
    /// The instances of inserted assets that are sandboxed containers.
    sandboxes: Vec<Node>,
    warnings: Vec<Warning>,
    title: Option<String>,
    implicit_target: Option<ImplicitTarget>,
    names: usize,
    is_inverse: bool,
    seen_texts: SeenTexts,
    conflict: Option<Conflict>,
    linted: usize,
    reads: BTreeSet<PlanRead>,
}

/// A script whose text changes.
#[derive(Debug)]
struct DraftText {
    node: Node,
    before: String,
    edits: Vec<TextEdit>,
    command: u32,
}

impl<'a> ProposalDraft<'a> {
    /// Starts a proposal on a scene. Drafted changes stay applied to the scene; the caller rolls
    /// them back if they are not wanted.
    pub fn new(scene: &'a mut PlanningScene, blobs: &'a BlobStore) -> Self {
        Self {
            scene,
            blobs,
            commands: Vec::new(),
            rows: Vec::new(),
            more_rows: 0,
            class: Class::Additive,
            created_ids: BTreeSet::new(),
            texts: Vec::new(),
            memory: None,
            requires: None,
            meant_modules: None,
            woken: Vec::new(),
            inserted_scripts: Vec::new(),
            sandboxes: Vec::new(),
            warnings: Vec::new(),
            title: None,
            implicit_target: None,
            names: 0,
            is_inverse: false,
            seen_texts: SeenTexts::new(),
            conflict: None,
            linted: 0,
            reads: BTreeSet::new(),
        }
    }

    /// Returns the scene with all drafted changes.
    pub fn scene(&self) -> &PlanningScene {
        self.scene
    }

    pub fn blobs(&self) -> &'a BlobStore {
        self.blobs
    }

    /// Returns the number of drafted commands.
    pub fn len(&self) -> usize {
        self.commands.len()
    }

    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Sets the title, unless it is already set.
    pub fn set_title(&mut self, title: impl Into<String>) {
        self.title.get_or_insert_with(|| title.into());
    }

    /// Sets the implicit target of a call without a path, unless it is already set.
    pub fn set_implicit_target(&mut self, target: Option<ImplicitTarget>) {
        self.implicit_target = self.implicit_target.take().or(target);
    }

    /// Marks the draft as an inverse. Its texts are not judged, because they may have been too long
    /// or not have compiled before the edit.
    pub fn mark_as_inverse(&mut self) {
        self.is_inverse = true;
    }

    /// Sets the texts that the call has seen, where they differ from the current ones. Its edits
    /// are merged into the current texts.
    pub fn set_seen_texts(&mut self, texts: SeenTexts) {
        self.seen_texts = texts;
    }

    /// Returns the text of a script that the call refers to.
    ///
    /// # Errors
    /// The instance is not a script.
    pub fn seen_text(&self, node: Node) -> Result<Cow<'_, str>, Refusal> {
        let path = self.scene.path(node);
        match self.seen_texts.get(&path) {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => text_of(self.scene, node, &path),
        }
    }

    /// Drafts edits to the text that the call has seen. If the text has changed since, that change
    /// and the edits are merged.
    ///
    /// # Errors
    /// Both changed the same lines.
    pub fn edit_seen(&mut self, node: Node, edits: Vec<TextEdit>) -> Result<(), Refusal> {
        let path = self.scene.path(node);
        let Some(seen) = self.seen_texts.get(&path) else {
            return self.edit_script(node, edits);
        };
        let wanted = vector_text_edit::apply_edits(seen, &edits).map_err(Refusal::new)?;
        let now = text_of(self.scene, node, &path)?.into_owned();
        let merged = vector_text_edit::merge_texts(seen, &now, &wanted);
        let is_moved = *seen != now;
        self.seen_texts.insert(path.clone(), wanted);
        if !is_moved {
            return self.edit_script(node, edits);
        }
        let merged = match merged {
            MergeResult::Text(text) => text,
            MergeResult::Conflicts(conflicts) => {
                self.conflict = Some(text_conflict(&path, &conflicts));
                return refuse!(
                    "The same lines of {path} have changed since this was requested. \
                     Read it again and redo the edit."
                );
            }
        };
        self.add_warning(
            WarningKind::Fuzzy,
            format!(
                "{path} has changed since this was requested; the edit was adapted to the new text."
            ),
        );
        self.edit_script(node, vector_text_edit::diff_lines(&now, &merged))
    }

    /// Takes the conflicting passages for which the call was refused.
    pub fn take_conflict(&mut self) -> Option<Conflict> {
        self.conflict.take()
    }

    /// Adds a warning to the card, unless it is already there.
    pub fn add_warning(&mut self, kind: WarningKind, text: impl Into<String>) {
        let warning = Warning { kind, text: text.into() };
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    pub fn create_instance(
        &mut self,
        parent: Node,
        class: &str,
        name: &str,
        props: Props,
    ) -> Result<Node, Refusal> {
        self.check_name(parent, name);
        let id = InstanceId::new_in_proposal(self.scene.next_new_number());
        let expect = self.expected_fingerprint(parent);
        let parent = self.scene.target(parent);
        let (class, name) = (class.to_owned(), name.to_owned());
        self.push_command(Command::Create { id, parent, class, name, props, expect })
    }

    pub fn clone_instance(
        &mut self,
        source: Node,
        parent: Node,
        name: &str,
    ) -> Result<Node, Refusal> {
        self.check_name(parent, name);
        let id = InstanceId::new_in_proposal(self.scene.next_new_number());
        let count = self.scene.subtree(source).count() as u32;
        let expect = self.expected_fingerprint(source);
        let (source, parent) = (self.scene.target(source), self.scene.target(parent));
        self.push_command(Command::Clone {
            id,
            source,
            parent,
            name: name.to_owned(),
            count,
            expect,
        })
    }

    /// Drafts new property values. Unchanged values are dropped; returns false if none remain.
    pub fn set_properties(&mut self, node: Node, mut props: Props) -> Result<bool, Refusal> {
        if !self.scene.is_asset_preview(node) {
            let is_new = |name: &str, value: &Option<Value>| match value {
                Some(_) => self.scene.value(node, name) != *value,
                None => self.scene.stored_value(node, name).is_some(),
            };
            let unchanged: Props =
                props.extract_if(.., |name, value| !is_new(name, value)).collect();
            self.note_properties(node, unchanged.keys().map(String::as_str));
        }
        if props.is_empty() {
            return Ok(false);
        }
        self.note_referred(node, props.keys().map(String::as_str));
        if let Some(Some(Value::String(name))) = props.get("Name")
            && let Some(parent) = self.scene.parent(node)
        {
            self.check_name(parent, &name.clone());
        }
        let expect = self.scene.fingerprint(node, props.keys().map(String::as_str));
        let expect = self.is_known(node).then_some(expect);
        let target = self.scene.target(node);
        self.push_command(Command::Set { target, props, expect })?;
        Ok(true)
    }

    pub fn move_to(&mut self, node: Node, parent: Node) -> Result<(), Refusal> {
        let name = self.scene.name(node).to_owned();
        self.check_name(parent, &name);
        let expect = self.expected_fingerprint(node);
        let (target, parent) = (self.scene.target(node), self.scene.target(parent));
        self.push_command(Command::Move { target, parent, index: None, expect }).map(drop)
    }

    pub fn delete_instance(&mut self, node: Node) -> Result<(), Refusal> {
        let held = self.scene.scene_mut().references_into(node);
        for (holder, property, _) in &held {
            self.note_properties(*holder, [property.as_str()]);
        }
        if let Some((holder, property, _)) = held.first() {
            let first = format!("{}.{property}", self.scene.path(*holder));
            let path = self.scene.path(node);
            let text = match held.len() {
                1 => format!("{first} refers to an instance in {path} and becomes empty."),
                n => format!("{n} references into {path} become empty, {first} among them."),
            };
            self.add_warning(WarningKind::References, text);
        }
        let expect = self.expected_fingerprint(node);
        let count = self.scene.subtree(node).count() as u32;
        let target = self.scene.target(node);
        self.push_command(Command::Delete { target, count, expect }).map(drop)
    }

    pub fn edit_script(&mut self, node: Node, edits: Vec<TextEdit>) -> Result<(), Refusal> {
        let path = self.scene.path(node);
        let before = text_of(self.scene, node, &path)?;
        let expect = Fingerprint::hash_bytes(before.as_bytes());
        let target = Target { id: self.scene.id(node), path };
        self.push_command(Command::EditScript { target, edits, expect }).map(drop)
    }

    /// Drafts a command unchanged: from a proposal that the user reduced or edited, or from an
    /// inverse.
    pub fn push_command(&mut self, command: Command) -> Result<Node, Refusal> {
        let at = self.commands.len() as u32;
        self.names += command.target().path.segments.len();
        if self.names > MAX_NAMES {
            return refuse!(
                "The change is too large: its paths have over {MAX_NAMES} names. Split it into several steps."
            );
        }
        let own = self.is_self_contained(&command);
        let rows = self.describe_command(&command);
        let (member_rows, hidden_rows) = self.describe_members(at, &command)?;
        self.judge_command(&command);
        self.judge_sandbox(&command);
        let text = match &command {
            Command::EditScript { target, .. } => {
                let node = self.scene.locate(target)?;
                Some((node, text_of(self.scene, node, &target.path)?.into_owned()))
            }
            _ => None,
        };
        self.note_memory(&command, at);
        self.note_requires(&command);
        self.note_path_targets(&command);
        let mut scripts = self.dormant_scripts(&command);
        let node = try_command(self.scene, &command, self.blobs)?;
        scripts.extend(self.copied_scripts(&command, node));
        self.judge_activation(&scripts);
        self.woken.extend(scripts);
        self.note_class(&command, own);
        match &command {
            Command::Create { id, class, props, .. } => {
                self.created_ids.insert(id.clone());
                if perform::initial_source(class, props).is_some() {
                    self.add_text(node, String::new(), Vec::new(), at);
                }
            }
            Command::Clone { id, .. } | Command::Restore { id, .. } => {
                self.created_ids.insert(id.clone());
            }
            Command::Insert { .. } => self.note_insert(at, &command),
            _ => {}
        }
        let is_new = matches!(
            command,
            Command::Create { .. } | Command::Clone { .. } | Command::Restore { .. }
        );
        for (change, class, path) in rows {
            let path = if is_new { self.scene.path(node) } else { path };
            if self.rows.len() < MAX_ROWS {
                self.rows.push(Row { command: at, member: None, change, path, class });
            } else {
                self.more_rows += 1;
            }
        }
        self.rows.extend(member_rows);
        self.more_rows = self.more_rows.saturating_add(hidden_rows);
        if let (Some((script, before)), Command::EditScript { edits, .. }) = (text, &command) {
            self.add_text(script, before, edits.clone(), at);
        }
        self.commands.push(command);
        Ok(node)
    }

    fn add_text(&mut self, node: Node, before: String, edits: Vec<TextEdit>, command: u32) {
        match self.texts.iter_mut().find(|text| text.node == node) {
            Some(text) => {
                text.command = command;
                text.edits.clear();
            }
            None => self.texts.push(DraftText { node, before, edits, command }),
        }
    }

    /// Returns the parent at a path. If it is missing below Workspace, models are created along the
    /// path, with a warning.
    pub fn parent_or_models(&mut self, path: &InstancePath) -> Result<Node, Refusal> {
        let missing = match self.scene.resolve(path) {
            Ok(node) => return Ok(node),
            Err(refusal) => refusal,
        };
        let mut found = path.clone();
        let mut names = Vec::new();
        let node = loop {
            let Some(segment) = found.segments.pop() else {
                return Err(missing);
            };
            if segment.index.is_some_and(|index| index > 1) {
                return Err(missing);
            }
            names.push(segment.name);
            if let Ok(node) = self.scene.resolve(&found) {
                break node;
            }
        };
        let below_workspace = found.segments.first().is_some_and(|first| first.name == "Workspace");
        if !below_workspace
            || names.last().is_some_and(|name| self.scene.count_named(node, name) > 0)
        {
            return Err(missing);
        }
        let mut node = node;
        for name in names.into_iter().rev() {
            node = self.create_instance(node, "Model", &name, Props::new())?;
            let path = self.scene.path(node);
            self.add_warning(
                WarningKind::ParentCreated,
                format!("{path} does not exist; a Model is created."),
            );
        }
        Ok(node)
    }

    fn is_known(&self, node: Node) -> bool {
        !self.created_ids.contains(&self.scene.id(node)) && !self.scene.is_asset_preview(node)
    }

    /// Returns the expected fingerprint of an instance that existed before this proposal.
    fn expected_fingerprint(&self, node: Node) -> Option<Fingerprint> {
        self.is_known(node).then(|| self.scene.fingerprint(node, []))
    }

    fn check_name(&mut self, parent: Node, name: &str) {
        if name.contains(['.', '/']) {
            let text = format!(
                "The name {name:?} has dots or slashes: scripts cannot reach it by `.`, and tools \
                 that use paths may not find it."
            );
            self.add_warning(WarningKind::Name, text);
        }
        if self.scene.count_named(parent, name) > 0 {
            let parent = self.scene.path(parent);
            let text = format!("{parent} already has a child named {name:?}.");
            self.add_warning(WarningKind::Name, text);
        }
    }

    /// Whether a command only changes instances created by this proposal.
    fn is_self_contained(&self, command: &Command) -> bool {
        let id = &command.target().id;
        let is_deep = matches!(command, Command::Delete { .. });
        match self.scene.by_id(id) {
            // A deletion also removes existing instances that were moved in.
            Some(node) if is_deep => {
                self.scene.subtree(node).all(|below| part::is_own(&self.scene.id(below)))
            }
            _ => self.created_ids.contains(id),
        }
    }

    fn note_class(&mut self, command: &Command, own: bool) {
        let class = match command {
            Command::Create { .. }
            | Command::Clone { .. }
            | Command::Restore { .. }
            | Command::Insert { .. } => Class::Additive,
            _ if own => Class::Additive,
            Command::Set { .. } | Command::SetMany { .. } | Command::Move { .. } => {
                Class::Modifying
            }
            Command::Delete { .. } => Class::Destructive,
            // The total change of a text is judged when the draft is finished.
            Command::EditScript { .. } | Command::EditMemory { .. } => Class::Additive,
        };
        self.class = self.class.max(class);
    }

    /// Returns the rows of a command before it is performed, other than those of a command over
    /// many instances. Created instances get their paths later.
    fn describe_command(&self, command: &Command) -> Vec<(Change, String, InstancePath)> {
        let class_of = |target: &Target| {
            self.scene.by_id(&target.id).map_or("", |node| self.scene.class(node)).to_owned()
        };
        let below = |parent: &Target, name: &str| parent.path.child(name, None);
        match command {
            Command::Create { parent, class, name, props, .. } => {
                let props = props
                    .iter()
                    .filter(|(name, _)| *name != "Source")
                    .filter_map(|(name, value)| Some((name.clone(), value.clone()?)))
                    .collect();
                vec![(Change::Created { props }, class.clone(), below(parent, name))]
            }
            Command::Clone { source, parent, name, count, .. } => {
                let change = Change::Cloned { source: source.path.clone(), count: *count };
                vec![(change, class_of(source), below(parent, name))]
            }
            Command::Set { target, props, .. } => {
                let node = self.scene.by_id(&target.id);
                let change = |(property, after): (&String, &Option<scene_schemas::Value>)| {
                    let seen = node.filter(|node| !self.scene.is_asset_preview(*node));
                    let before = seen.and_then(|node| self.scene.value(node, property));
                    let (property, after) = (property.clone(), after.clone());
                    let change = Change::Set { property, before, after };
                    (change, class_of(target), target.path.clone())
                };
                props.iter().map(change).collect()
            }
            Command::Move { target, parent, .. } => {
                let to = parent.path.clone();
                vec![(Change::Moved { to }, class_of(target), target.path.clone())]
            }
            Command::Delete { target, count, .. } => {
                let change = Change::Deleted { count: *count };
                vec![(change, class_of(target), target.path.clone())]
            }
            Command::Restore { parent, class, name, count, .. } => {
                vec![(Change::Restored { count: *count }, class.clone(), below(parent, name))]
            }
            Command::SetMany { .. }
            | Command::EditScript { .. }
            | Command::EditMemory { .. }
            | Command::Insert { .. } => Vec::new(),
        }
    }

    /// Builds the proposal from everything drafted so far.
    ///
    /// # Errors
    /// A script would not compile any more, or is too long, so nothing may be proposed.
    pub fn finish(mut self, base: &Fingerprint) -> Result<Proposal, Refusal> {
        self.check_memory_alone()?;
        let mut scripts = std::mem::take(&mut self.inserted_scripts);
        let texts = std::mem::take(&mut self.texts);
        for text in &texts {
            if self.scene.is_live(text.node) {
                scripts.extend(self.judge_text(text)?);
            }
        }
        self.texts = texts;
        scripts.extend(self.judge_memory());
        self.judge_indirect_activation();
        self.judge_requires();
        self.judge_members();
        self.judge_effects();
        self.judge_size();
        let title = self.title.take().unwrap_or_else(|| self.default_title());
        let preview = Preview { rows: self.rows, more_rows: self.more_rows, scripts };
        Ok(Proposal {
            title,
            class: self.class,
            patch_id: patch_id(base, &self.commands),
            commands: self.commands,
            base: base.clone(),
            preview,
            warnings: self.warnings,
            after: Vec::new(),
            reads: self.reads.into_iter().collect(),
            implicit_target: self.implicit_target,
            files: None,
            from: None,
            reverts: Vec::new(),
            replaces: None,
            runs: None,
            changed_files: Vec::new(),
            made_by: None,
        })
    }

    fn default_title(&self) -> String {
        let what = count_noun(self.commands.len(), "change", "changes");
        match self.rows.first() {
            Some(row) if self.commands.len() == 1 => {
                format!("{} {}", change_verb(&row.change), row.path.quoted_name())
            }
            Some(row) => {
                let first = row.path.quoted_name();
                format!("{what}, first: {} {first}", change_verb(&row.change))
            }
            None => what,
        }
    }
}

fn change_verb(change: &Change) -> &'static str {
    match change {
        Change::Created { .. } => "create",
        Change::Cloned { .. } => "clone",
        Change::Set { .. } => "change",
        Change::Moved { .. } => "move",
        Change::Deleted { .. } => "delete",
        Change::Inserted { .. } => "insert",
        Change::Restored { .. } => "restore",
    }
}

/// Returns the hash over base and commands, which ensures that exactly the reviewed commands are
/// applied.
pub fn patch_id(base: &Fingerprint, commands: &[Command]) -> Fingerprint {
    let text = serde_json::to_value(commands)
        .map(|json| scene_schemas::value::canonical_json(&json))
        .unwrap_or_default();
    Fingerprint::hash_bytes(format!("{base}\n{text}").as_bytes())
}
