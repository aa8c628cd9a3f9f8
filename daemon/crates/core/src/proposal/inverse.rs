//! Inverse commands: recorded while commands are performed, and written when all are done.
//!
//! The inverse of a proposal runs on the file that the proposal wrote. It therefore addresses
//! instances by their numbers in that file, and each command expects the fingerprint that was left.

use std::collections::HashMap;

use scene_schemas::command::Props;
use scene_schemas::refusal::Refusal;
use scene_schemas::text::TextEdit;
use scene_schemas::value::Content;
use scene_schemas::{Command, Fingerprint, InstanceId, InstancePath, Target, Value};
use vector_place::{Node, Scene};

use super::perform::BlobStore;
use crate::planning_scene::PlanningScene;

/// An instance in the state in which the inverse finds it.
#[derive(Debug, Clone)]
pub struct PriorState {
    node: Node,
    path: InstancePath,
    /// A fingerprint that identifies the instance if its path is ambiguous.
    witness: Option<Fingerprint>,
}

impl PriorState {
    /// An instance that commands only refer to.
    fn name_only(scene: &Scene, node: Node) -> Self {
        Self { node, path: scene.path(node), witness: None }
    }

    /// An instance that commands change. The witness also covers `others`, on which the result of
    /// the commands depends.
    fn of_node(scene: &Scene, node: Node, others: &[Node]) -> Self {
        let is_one_of_several =
            |path: &InstancePath| path.segments.iter().any(|segment| segment.index.is_some());
        let path = scene.path(node);
        // In an open place, ids are stable.
        let is_unsure = !scene.is_open_in_studio()
            && (is_one_of_several(&path)
                || others.iter().any(|other| is_one_of_several(&scene.path(*other))));
        let all = std::iter::once(node).chain(others.iter().copied());
        let witness = is_unsure.then(|| scene.tree_fingerprint(all));
        Self { node, path, witness }
    }

    /// An instance that is removed with all its descendants.
    fn whole_subtree(scene: &Scene, node: Node) -> Self {
        let witness =
            (!scene.is_open_in_studio()).then(|| scene.tree_fingerprint(scene.subtree(node)));
        Self { node, path: scene.path(node), witness }
    }
}

/// Returns the witness of a command's target in its current state; None if it needs none.
pub fn target_fingerprint(
    scene: &PlanningScene,
    command: &Command,
    blobs: &BlobStore,
) -> Result<Option<Fingerprint>, Refusal> {
    let node = scene.locate(command.target())?;
    if let Command::SetMany { table, .. } = command {
        let table = scene.table(table, blobs)?;
        return Ok(scene.identify_rows(&table, &scene.locate_rows(&table)?));
    }
    Ok(Some(match command {
        Command::Delete { .. } => scene.tree_fingerprint(scene.subtree(node)),
        Command::Move { parent, .. } => scene.tree_fingerprint([node, scene.locate(parent)?]),
        _ => scene.tree_fingerprint([node]),
    }))
}

/// One step of reverting a command.
#[derive(Debug)]
pub enum UndoStep {
    /// Deletes what was created.
    Delete {
        node: PriorState,
        count: u32,
        /// The fingerprint after the command.
        expect: Fingerprint,
    },
    /// Restores the values of properties.
    Set {
        node: PriorState,
        /// The stored values before the command.
        props: Props,
        /// The fingerprint after the command.
        expect: Fingerprint,
    },
    /// Restores the values of properties of many instances, or sets them again.
    SetMany {
        target: Target,
        count: u32,
        table: Fingerprint,
        props: Props,
        restores: bool,
        /// A fingerprint that identifies the instances if their paths are ambiguous.
        witness: Option<Fingerprint>,
    },
    /// Moves an instance back.
    Move {
        node: PriorState,
        parent: PriorState,
        index: u32,
        /// The fingerprint after the command.
        expect: Option<Fingerprint>,
    },
    /// Restores what was deleted.
    Restore {
        node: Node,
        parent: PriorState,
        index: u32,
        /// References between the subtree and the rest.
        references: Vec<EmptiedReference>,
    },
    /// Restores the lines of a text.
    Edit {
        node: PriorState,
        /// Positions refer to the text after the command.
        edits: Vec<TextEdit>,
        /// The fingerprint of the text after the command.
        expect: Fingerprint,
    },
    /// Restores the lines of the memory.
    Memory {
        /// Positions refer to the text after the command.
        edits: Vec<TextEdit>,
        /// The fingerprint of the text after the command.
        expect: Fingerprint,
    },
}

/// A reference that a deletion cleared.
#[derive(Debug)]
pub struct EmptiedReference {
    holder: PriorState,
    property: String,
    to: PriorState,
    /// The fingerprint of the holder after the command; None if the holder was deleted too.
    expect: Option<Fingerprint>,
}

impl UndoStep {
    pub(super) fn remove_created(scene: &Scene, node: Node) -> Self {
        Self::Delete {
            node: PriorState::whole_subtree(scene, node),
            count: scene.subtree(node).count() as u32,
            expect: scene.fingerprint(node, []),
        }
    }

    /// Records the previous values. References among them get their current paths, which a rename
    /// may have changed.
    pub(super) fn restore_properties(scene: &Scene, node: Node, mut props: Props) -> Self {
        for value in props.values_mut() {
            if let Some(Value::Ref(Some(to)) | Value::Content(Content::Object(Some(to)))) = value
                && let Some(node) = scene.by_id(&to.id)
            {
                to.path = scene.path(node);
            }
        }
        let expect = scene.fingerprint(node, props.keys().map(String::as_str));
        Self::Set { node: PriorState::of_node(scene, node, &[]), props, expect }
    }

    /// Returns the current parent and index of an instance.
    pub(super) fn before_move(scene: &Scene, node: Node) -> (Node, u32) {
        (scene.parent(node).unwrap_or_else(|| scene.root()), scene.index(node))
    }

    pub(super) fn after_move(scene: &Scene, node: Node, parent: Node, index: u32) -> Self {
        let expect = Some(scene.fingerprint(node, []));
        // If the move changed the parent's path, this is already the new path.
        let node = PriorState::of_node(scene, node, &[parent]);
        Self::Move { node, parent: PriorState::name_only(scene, parent), index, expect }
    }

    pub(super) fn before_delete(scene: &mut Scene, node: Node) -> Self {
        let parent = scene.parent(node).unwrap_or_else(|| scene.root());
        let mut references: Vec<_> = scene.references_into(node);
        let nodes: Vec<Node> = scene.subtree(node).collect();
        references.extend(
            scene.references_out_of(node).into_iter().map(|(at, name, to)| (nodes[at], name, to)),
        );
        let references = references
            .into_iter()
            .map(|(holder, property, to)| EmptiedReference {
                holder: PriorState::of_node(scene, holder, &[]),
                property,
                to: PriorState::name_only(scene, to),
                expect: None,
            })
            .collect();
        let index = scene.index(node);
        Self::Restore { node, parent: PriorState::of_node(scene, parent, &[]), index, references }
    }

    pub(super) fn after_delete(mut self, scene: &Scene) -> Self {
        if let Self::Restore { references, .. } = &mut self {
            for reference in references.iter_mut() {
                let holder = reference.holder.node;
                if scene.is_live(holder) {
                    let expect = scene.fingerprint(holder, [reference.property.as_str()]);
                    reference.expect = Some(expect);
                }
            }
        }
        self
    }

    pub(super) fn restore_text(scene: &Scene, node: Node, edits: Vec<TextEdit>) -> Self {
        let text = scene.script_text(node).unwrap_or_default();
        let expect = Fingerprint::hash_bytes(text.as_bytes());
        Self::Edit { node: PriorState::name_only(scene, node), edits, expect }
    }
}

/// The commands that revert a proposal.
#[derive(Debug, Default)]
pub struct InverseCommands {
    /// The commands, in reverse order.
    pub commands: Vec<Command>,
    /// For each command, the witness that identifies its target besides the expected fingerprint;
    /// None if not needed.
    pub witnesses: Vec<Option<Fingerprint>>,
    /// The removed subtrees that the commands restore.
    pub blobs: BlobStore,
}

/// Builds the commands that revert a proposal.
///
/// # Errors
/// A deleted subtree cannot be encoded.
pub fn build_inverse(scene: &mut Scene, backs: Vec<UndoStep>) -> Result<InverseCommands, Refusal> {
    let mut writer = InverseWriter {
        scene,
        restored: HashMap::new(),
        next: 0,
        inverse: InverseCommands::default(),
    };
    for back in backs.into_iter().rev() {
        writer.write_step(back)?;
    }
    Ok(writer.inverse)
}

struct InverseWriter<'a> {
    scene: &'a mut Scene,
    /// The ids of instances that an earlier command of the inverse restores.
    restored: HashMap<Node, InstanceId>,
    next: u32,
    inverse: InverseCommands,
}

impl InverseWriter<'_> {
    fn written_id(&self, node: Node) -> InstanceId {
        self.restored.get(&node).cloned().unwrap_or_else(|| self.scene.written_id(node))
    }

    fn to_target(&self, stood: PriorState) -> Target {
        Target { id: self.written_id(stood.node), path: stood.path }
    }

    fn push_command(&mut self, command: Command, witness: Option<Fingerprint>) {
        self.inverse.commands.push(command);
        self.inverse.witnesses.push(witness);
    }

    fn write_step(&mut self, back: UndoStep) -> Result<(), Refusal> {
        match back {
            UndoStep::Delete { mut node, count, expect } => {
                let witness = node.witness.take();
                let target = self.to_target(node);
                self.push_command(Command::Delete { target, count, expect: Some(expect) }, witness);
            }
            UndoStep::Set { mut node, props, expect } => {
                let props =
                    props.into_iter().map(|(name, value)| (name, self.renumber_value(value)));
                let (props, witness) = (props.collect(), node.witness.take());
                let target = self.to_target(node);
                self.push_command(Command::Set { target, props, expect: Some(expect) }, witness);
            }
            UndoStep::SetMany { target, count, table, props, restores, witness } => {
                let command = Command::SetMany { target, count, table, props, restores };
                self.push_command(command, witness);
            }
            UndoStep::Move { mut node, parent, index, expect } => {
                let witness = node.witness.take();
                let (target, parent) = (self.to_target(node), self.to_target(parent));
                self.push_command(
                    Command::Move { target, parent, index: Some(index), expect },
                    witness,
                );
            }
            UndoStep::Edit { node, edits, expect } => {
                // The command expects the whole text, so no witness is needed.
                let target = self.to_target(node);
                self.push_command(Command::EditScript { target, edits, expect }, None);
            }
            UndoStep::Memory { edits, expect } => {
                let target = self.scene.target(self.scene.root());
                self.push_command(Command::EditMemory { target, edits, expect }, None);
            }
            UndoStep::Restore { node, mut parent, index, references } => {
                let witness = parent.witness.take();
                let parent = self.to_target(parent);
                let restore = self.restore_subtree(node, parent, index)?;
                self.push_command(restore, witness);
                for EmptiedReference { mut holder, property, to, expect } in references {
                    let witness = holder.witness.take().filter(|_| expect.is_some());
                    let value = Value::Ref(Some(self.to_target(to)));
                    let props = Props::from([(property, Some(value))]);
                    let target = self.to_target(holder);
                    self.push_command(Command::Set { target, props, expect }, witness);
                }
            }
        }
        Ok(())
    }

    /// Replaces the ids of references in a value with those of the written file.
    fn renumber_value(&self, value: Option<Value>) -> Option<Value> {
        let target = |target: Target| match self.scene.by_id(&target.id) {
            Some(node) => Target { id: self.written_id(node), path: target.path },
            None => target,
        };
        Some(match value? {
            Value::Ref(Some(to)) => Value::Ref(Some(target(to))),
            Value::Content(Content::Object(Some(to))) => {
                Value::Content(Content::Object(Some(target(to))))
            }
            other => other,
        })
    }

    fn restore_subtree(
        &mut self,
        node: Node,
        parent: Target,
        index: u32,
    ) -> Result<Command, Refusal> {
        if self.scene.is_open_in_studio() {
            // Studio keeps deleted instances and their descendants under their ids.
            return Ok(Command::Restore {
                id: self.scene.written_id(node),
                blob: None,
                parent,
                index: None,
                class: self.scene.class(node).to_owned(),
                name: self.scene.name(node).to_owned(),
                count: self.scene.subtree(node).count() as u32,
            });
        }
        let bytes = self.scene.encode_subtree(node).map_err(Refusal::new)?;
        let blob = Fingerprint::hash_bytes(&bytes);
        self.inverse.blobs.insert(blob.clone(), bytes);
        let id = InstanceId::new_in_proposal(self.next);
        let mut count = 0;
        for below in self.scene.subtree(node) {
            self.restored.insert(below, InstanceId::new_in_proposal(self.next));
            self.next += 1;
            count += 1;
        }
        Ok(Command::Restore {
            id,
            blob: Some(blob),
            parent,
            index: Some(index),
            class: self.scene.class(node).to_owned(),
            name: self.scene.name(node).to_owned(),
            count,
        })
    }
}
