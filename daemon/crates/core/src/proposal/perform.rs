//! Performing a command on a scene: the reference semantics of every command.
//!
//! Planning and the place target both use it, and other targets are tested against it. A command
//! that is stale or would break the tree is refused before anything changes.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use scene_schemas::command::{AssetContents, Props};
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::text::TextEdit;
use scene_schemas::{Command, Fingerprint, InstancePath, Target, Value};
use vector_place::{AssetChoice, DetachedSubtree, JournalMark, Node, Scene, reflection};

use super::inverse::UndoStep;
use super::set_many::{InstanceSet, find_members};
use crate::planning_scene::PlanningScene;

/// Removed subtrees and large texts, by hash.
pub type BlobStore = HashMap<Fingerprint, Vec<u8>>;

/// The result of a command.
#[derive(Debug)]
pub struct PerformedCommand {
    /// The instance created or changed. If it was deleted, the node is no longer live.
    pub node: Node,
    /// The steps to revert it, empty if they were not requested.
    pub backs: Vec<UndoStep>,
}

/// Performs a command without recording how to revert it, for callers that roll the scene back.
///
/// # Errors
/// The command is stale or not allowed; the scene is unchanged.
pub fn try_command(
    scene: &mut PlanningScene,
    command: &Command,
    blobs: &BlobStore,
) -> Result<Node, Refusal> {
    perform_inner(scene, command, blobs, false).map(|done| done.node)
}

/// Performs a command, and records how to revert it.
///
/// # Errors
/// The command is stale or not allowed; the scene is unchanged.
pub fn perform_command(
    scene: &mut PlanningScene,
    command: &Command,
    blobs: &BlobStore,
) -> Result<PerformedCommand, Refusal> {
    perform_inner(scene, command, blobs, true)
}

fn perform_inner(
    planning: &mut PlanningScene,
    command: &Command,
    blobs: &BlobStore,
    keep: bool,
) -> Result<PerformedCommand, Refusal> {
    let scene = planning.scene_mut();
    match command {
        Command::Create { parent, class, name, props, expect, .. } => {
            let parent = locate_target(scene, parent, expect.as_ref(), [])?;
            reflection::creatable_class(class)?;
            check_rows(scene, class)?;
            check_parent(scene, parent, class)?;
            let node = create_instance(scene, parent, class, name, props)?;
            Ok(PerformedCommand { node, backs: undo_creation(scene, node, keep) })
        }
        Command::Clone { source, parent, name, count, expect, .. } => {
            let source = locate_target(scene, source, expect.as_ref(), [])?;
            let parent = scene.locate(parent)?;
            check_movable(scene, source, "cloned")?;
            check_parent(scene, parent, scene.class(source))?;
            check_count(scene, source, *count)?;
            check_all_rows(scene, source)?;
            scene.check_text(name)?;
            let node = scene.copy(source, parent, name);
            Ok(PerformedCommand { node, backs: undo_creation(scene, node, keep) })
        }
        Command::Set { target, props, expect } => {
            let keys = props.keys().map(String::as_str);
            let node = locate_target(scene, target, expect.as_ref(), keys)?;
            set_properties(scene, node, props, keep)
        }
        Command::SetMany { target, count, table, props, restores } => {
            let ancestor = scene.locate(target)?;
            let listed = planning.table(table, blobs)?;
            if listed.len() != *count as usize
                || !listed.has_columns(props.keys().map(String::as_str))
            {
                return refuse!("The command and its list of instances do not fit each other.");
            }
            let (table, restores) = (table.clone(), *restores);
            let nodes = find_members(planning, &table, &listed, props, restores)?;
            let set = InstanceSet { table, listed, props, restores, nodes };
            set.perform(planning.scene_mut(), ancestor, keep)
        }
        Command::Move { target, parent, index, expect } => {
            let node = locate_target(scene, target, expect.as_ref(), [])?;
            let parent = scene.locate(parent)?;
            check_movable(scene, node, "moved")?;
            check_parent(scene, parent, scene.class(node))?;
            let before = keep.then(|| UndoStep::before_move(scene, node));
            scene.move_to(node, parent, *index)?;
            let back =
                before.map(|(parent, index)| UndoStep::after_move(scene, node, parent, index));
            Ok(PerformedCommand { node, backs: back.into_iter().collect() })
        }
        Command::Delete { target, count, expect } => {
            let node = locate_target(scene, target, expect.as_ref(), [])?;
            check_movable(scene, node, "deleted")?;
            check_count(scene, node, *count)?;
            check_all_rows(scene, node)?;
            Ok(delete_instance(scene, node, keep))
        }
        Command::Restore { id, blob: None, parent, .. } => {
            let parent = scene.locate(parent)?;
            let node = scene.restore_mirrored(id, parent)?;
            Ok(PerformedCommand { node, backs: undo_creation(scene, node, keep) })
        }
        Command::Restore { blob: Some(blob), parent, index, .. } => {
            let parent = scene.locate(parent)?;
            let Some(bytes) = blobs.get(blob) else {
                return refuse!(
                    "What was removed is no longer in the ledger (blob {}).",
                    blob.short_hex()
                );
            };
            let subtree = DetachedSubtree::decode(bytes).map_err(Refusal::new)?;
            let node = scene.restore_subtree(subtree, parent, *index);
            Ok(PerformedCommand { node, backs: undo_creation(scene, node, keep) })
        }
        Command::Insert { asset, parent, contents, left_out, sandbox, blob, expect, .. } => {
            let parent = locate_target(scene, parent, expect.as_ref(), [])?;
            let choice = AssetChoice { left_out, sandbox: sandbox.as_ref() };
            let asset = PlannedAsset { asset: *asset, contents, choice, blob: blob.as_ref() };
            insert_asset(planning, parent, &asset, blobs, keep)
        }
        Command::EditScript { target, edits, expect } => {
            let node = scene.locate(target)?;
            edit_script(scene, node, edits, expect, keep)
        }
        Command::EditMemory { edits, expect, .. } => edit_memory(planning, edits, expect, keep),
    }
}

/// Returns the step that removes what was just created.
fn undo_creation(scene: &Scene, node: Node, keep: bool) -> Vec<UndoStep> {
    keep.then(|| UndoStep::remove_created(scene, node)).into_iter().collect()
}

/// What a command inserts.
struct PlannedAsset<'a> {
    asset: u64,
    contents: &'a AssetContents,
    choice: AssetChoice<'a>,
    blob: Option<&'a Fingerprint>,
}

/// Inserts an asset as the last children of `parent`, root by root.
fn insert_asset(
    planning: &mut PlanningScene,
    parent: Node,
    planned: &PlannedAsset<'_>,
    blobs: &BlobStore,
    keep: bool,
) -> Result<PerformedCommand, Refusal> {
    let PlannedAsset { asset, contents, choice, blob } = *planned;
    let scene = planning.scene_mut();
    if !contents.is_sound() {
        return refuse!("The recorded contents of asset {asset} are damaged.");
    }
    let inserted = contents.remove_left_out(choice.left_out);
    let roots: Vec<usize> = (0..inserted.len()).filter(|at| inserted.parents[*at] == 0).collect();
    for at in &roots {
        check_parent(scene, parent, inserted.class_of(*at))?;
    }
    // Reverting removes the last root first.
    let (mut first, mut backs) = (None, Vec::new());
    let after = |scene: &Scene, root| {
        backs.extend(undo_creation(scene, root, keep));
        first.get_or_insert(root);
    };
    match blob {
        None => preview_asset(scene, asset, parent, &inserted, &roots, after)?,
        Some(blob) => {
            let classes: BTreeSet<u32> = inserted.class.iter().copied().collect();
            let name =
                |class: &u32| inserted.classes.get(*class as usize).map_or("", String::as_str);
            classes.iter().try_for_each(|class| check_rows(scene, name(class)))?;
            planning.insert_model(blob, blobs, contents, choice, parent, after)?;
        }
    }
    Ok(PerformedCommand { node: first.unwrap_or(parent), backs })
}

/// Inserts a preview of an asset that Studio will load, root by root. `roots` are the indices of the
/// roots in `contents`. Calls `after` when each root is inserted.
fn preview_asset(
    scene: &mut Scene,
    asset: u64,
    parent: Node,
    contents: &AssetContents,
    roots: &[usize],
    mut after: impl FnMut(&Scene, Node),
) -> Result<(), Refusal> {
    if !scene.is_open_in_studio() {
        return refuse!("Asset {asset} was to be loaded by Studio, and this place is a file.");
    }
    let ends = roots.iter().skip(1).copied().chain([contents.len()]);
    for (start, end) in roots.iter().zip(ends) {
        let root = scene.insert_asset_preview(parent, contents, *start..end);
        after(scene, root);
    }
    Ok(())
}

/// Returns the target of a command if it matches the expected fingerprint.
fn locate_target<'a>(
    scene: &Scene,
    target: &Target,
    expect: Option<&Fingerprint>,
    properties: impl IntoIterator<Item = &'a str>,
) -> Result<Node, Refusal> {
    let node = scene.locate(target)?;
    if let Some(expect) = expect
        && scene.fingerprint(node, properties) != *expect
    {
        return refuse!(
            "{} has changed since this was planned; ask for the change again.",
            target.path
        );
    }
    Ok(node)
}

fn check_count(scene: &Scene, node: Node, planned: u32) -> Result<(), Refusal> {
    let now = scene.subtree(node).count() as u32;
    if now == planned {
        return Ok(());
    }
    refuse!(
        "{} has {now} instances now, itself included, and had {planned} when this was planned; ask \
         for the change again.",
        scene.path(node)
    )
}

/// Checks whether instances of a class can be created or removed: a binary file stores each
/// property for the whole class.
fn check_rows(scene: &Scene, class: &str) -> Result<(), Refusal> {
    match scene.fixed_reason(class) {
        None => Ok(()),
        Some(why) => refuse!(
            "No {class} of this file can be created, copied or deleted, because {why}. Open it \
             in Studio and save it again."
        ),
    }
}

fn check_all_rows(scene: &Scene, root: Node) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    let mut classes = scene.subtree(root).map(|node| scene.class(node));
    classes.try_for_each(|class| if seen.insert(class) { check_rows(scene, class) } else { Ok(()) })
}

/// Checks whether an instance of a class may be a child of `parent`.
pub(super) fn check_parent(scene: &Scene, parent: Node, class: &str) -> Result<(), Refusal> {
    if parent == scene.root() && scene.is_place() && !reflection::is_service(class) {
        return refuse!(
            "A {class} cannot be a direct child of `game`, which contains only services; put it \
             into game.Workspace, game.ReplicatedStorage or another service."
        );
    }
    Ok(())
}

/// Checks whether an edit may move, delete or copy an instance.
fn check_movable(scene: &Scene, node: Node, what: &str) -> Result<(), Refusal> {
    let class = scene.class(node);
    if node == scene.root() {
        return refuse!("`game` itself cannot be {what}.");
    }
    if scene.parent(node) == Some(scene.root()) && reflection::is_service(class) {
        return refuse!("{} is a service and cannot be {what}.", scene.path(node));
    }
    if class == "Terrain" {
        return refuse!("{} is the place's terrain and cannot be {what}.", scene.path(node));
    }
    Ok(())
}

fn create_instance(
    scene: &mut Scene,
    parent: Node,
    class: &str,
    name: &str,
    props: &Props,
) -> Result<Node, Refusal> {
    scene.check_text(name)?;
    let mark = scene.journal_mark();
    let node = scene.create(parent, class, name);
    set_all(scene, node, props, mark)?;
    Ok(node)
}

fn delete_instance(scene: &mut Scene, node: Node, keep: bool) -> PerformedCommand {
    let back = keep.then(|| UndoStep::before_delete(scene, node));
    scene.delete(node);
    let backs = back.into_iter().map(|back| back.after_delete(scene)).collect();
    PerformedCommand { node, backs }
}

fn set_properties(
    scene: &mut Scene,
    node: Node,
    props: &Props,
    keep: bool,
) -> Result<PerformedCommand, Refusal> {
    if node == scene.root() {
        return refuse!("`game` itself has no properties that can be set.");
    }
    let is_service = scene.parent(node) == Some(scene.root())
        && scene.is_place()
        && reflection::is_service(scene.class(node));
    if is_service && props.contains_key("Name") {
        return refuse!("{} is a service and cannot be renamed.", scene.path(node));
    }
    let stored = |name: &String| (name.clone(), scene.stored_value(node, name));
    let before: Option<Props> = keep.then(|| props.keys().map(stored).collect());
    let mark = scene.journal_mark();
    set_all(scene, node, props, mark)?;
    let back = before.map(|before| UndoStep::restore_properties(scene, node, before));
    Ok(PerformedCommand { node, backs: back.into_iter().collect() })
}

/// Sets properties, or rolls back to the mark. The name is set last, because paths of references
/// among the values are from before the rename.
fn set_all(scene: &mut Scene, node: Node, props: &Props, mark: JournalMark) -> Result<(), Refusal> {
    let (name, others): (Vec<_>, Vec<_>) = props.iter().partition(|(name, _)| *name == "Name");
    for (property, value) in others.into_iter().chain(name) {
        if let Err(refusal) = scene.set_property(node, property, value.as_ref()) {
            scene.rollback(mark);
            return Err(refusal);
        }
    }
    Ok(())
}

fn edit_script(
    scene: &mut Scene,
    node: Node,
    edits: &[TextEdit],
    expect: &Fingerprint,
    keep: bool,
) -> Result<PerformedCommand, Refusal> {
    let path = scene.path(node);
    let before = text_of(scene, node, &path)?;
    if Fingerprint::hash_bytes(before.as_bytes()) != *expect {
        return refuse!("The text of {path} has changed since this was planned; read it again.");
    }
    let after = vector_text_edit::apply_edits(&before, edits).map_err(Refusal::new)?;
    scene.check_text(&after)?;
    let inverse = keep
        .then(|| vector_text_edit::invert_edits(&before, edits))
        .transpose()
        .map_err(Refusal::new)?;
    scene.set_source(node, after);
    let back = inverse.map(|inverse| UndoStep::restore_text(scene, node, inverse));
    Ok(PerformedCommand { node, backs: back.into_iter().collect() })
}

fn edit_memory(
    scene: &mut PlanningScene,
    edits: &[TextEdit],
    expect: &Fingerprint,
    keep: bool,
) -> Result<PerformedCommand, Refusal> {
    let before = memory_of(scene)?;
    if Fingerprint::hash_bytes(before.as_bytes()) != *expect {
        return refuse!("The memory has changed since this was planned; read it again.");
    }
    let after = vector_text_edit::apply_edits(before, edits).map_err(Refusal::new)?;
    let inverse = keep
        .then(|| vector_text_edit::invert_edits(before, edits))
        .transpose()
        .map_err(Refusal::new)?;
    let expect = Fingerprint::hash_bytes(after.as_bytes());
    scene.set_memory(after);
    let back = inverse.map(|edits| UndoStep::Memory { edits, expect });
    Ok(PerformedCommand { node: scene.root(), backs: back.into_iter().collect() })
}

/// Returns the text of the project's memory.
///
/// # Errors
/// The memory is not available.
pub(super) fn memory_of(scene: &PlanningScene) -> Result<&str, Refusal> {
    scene.memory().ok_or_else(|| {
        Refusal::new(
            "The memory of this place is not available: its file cannot be read or is not text.",
        )
    })
}

/// Returns the text of a script.
///
/// # Errors
/// The instance is not a script.
pub fn text_of<'a>(
    scene: &'a Scene,
    node: Node,
    path: &InstancePath,
) -> Result<Cow<'a, str>, Refusal> {
    scene.script_text(node).ok_or_else(|| {
        Refusal(format!(
            "{path} is a {}, not a script; scripts are Script, LocalScript and ModuleScript.",
            scene.class(node)
        ))
    })
}

/// Returns the initial text of a new script, if the command sets one.
pub(super) fn initial_source<'a>(class: &str, props: &'a Props) -> Option<&'a str> {
    match props.get("Source") {
        Some(Some(Value::String(text))) if reflection::is_script(class) => Some(text),
        _ => None,
    }
}
