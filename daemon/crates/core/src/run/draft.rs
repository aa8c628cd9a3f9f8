//! Drafts the commands that make the changes of a run.
//!
//! Deletions come first, except of what something is still moved out of or copied from. Copies are
//! made before values are set, because they have the values from before the run.

use std::collections::{BTreeMap, HashMap, HashSet};

use scene_schemas::command::Props;
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{Fingerprint, Value};
use vector_place::{Node, Scene, SetGroups, default_value, reflection};

use super::{ChangedValues, InstanceOrigin, PlacedInstance, RunChanges, RunInstance};
use crate::proposal::ProposalDraft;

/// What a run changed, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChangeCounts {
    pub created: usize,
    pub moved: usize,
    pub changed: usize,
    pub deleted: usize,
}

impl RunChanges {
    /// Drafts the commands that make these changes. The scene must be as it was when the run began.
    ///
    /// # Errors
    /// A change is not possible in this place.
    pub fn draft(&self, draft: &mut ProposalDraft<'_>) -> Result<ChangeCounts, Refusal> {
        let mut run = RunDraft { draft, nodes: Vec::new(), copies: HashMap::new() };
        let mut counts = ChangeCounts { deleted: self.deleted.len(), ..ChangeCounts::default() };
        let needed = run.needed_until_placed(self);
        for node in self.deleted.iter().filter(|node| !needed.contains(*node)) {
            run.draft.delete_instance(*node)?;
        }
        for (index, placed) in self.placed.iter().enumerate() {
            let node = run.place(index, placed)?;
            run.nodes.push(node);
            match placed.origin {
                InstanceOrigin::Moved(_) => counts.moved += 1,
                _ => counts.created += 1,
            }
        }
        run.delete_unwanted_copies()?;
        counts.changed = run.set_values(&self.values)?;
        for node in self.deleted.iter().filter(|node| needed.contains(*node)) {
            run.draft.delete_instance(*node)?;
        }
        Ok(counts)
    }
}

struct RunDraft<'d, 's> {
    draft: &'d mut ProposalDraft<'s>,
    /// The instances that were placed so far.
    nodes: Vec<Node>,
    /// For the root of each copy, the copies in it that are not accounted for, by their originals.
    copies: HashMap<usize, BTreeMap<Node, Node>>,
}

impl RunDraft<'_, '_> {
    /// Returns the deleted subtrees that something is moved out of or copied from, or that are part
    /// of what is copied.
    fn needed_until_placed(&self, changes: &RunChanges) -> HashSet<Node> {
        let scene: &Scene = self.draft.scene();
        let deleted: HashSet<Node> = changes.deleted.iter().copied().collect();
        let with_ancestors = |node| std::iter::successors(Some(node), |it| scene.parent(*it));
        let (mut needed, mut copied) = (HashSet::new(), HashSet::new());
        if deleted.is_empty() {
            return needed;
        }
        for placed in &changes.placed {
            let node = match placed.origin {
                // What was moved into a copied instance is copied by itself.
                InstanceOrigin::Copied(node) | InstanceOrigin::CopiedWithin { of: node, .. } => {
                    copied.insert(node);
                    node
                }
                InstanceOrigin::Moved(node) => node,
                InstanceOrigin::Created(_) => continue,
            };
            needed.extend(with_ancestors(node).filter(|it| deleted.contains(it)));
        }
        let is_copied = |node: &Node| with_ancestors(*node).any(|it| copied.contains(&it));
        needed.extend(deleted.iter().copied().filter(is_copied));
        needed
    }

    fn node(&self, instance: RunInstance) -> Result<Node, Refusal> {
        match instance {
            RunInstance::Known(node) => Ok(node),
            RunInstance::Placed(index) => self.nodes.get(index).copied().ok_or_else(|| {
                Refusal::new("The run reported an instance before the one that it is in.")
            }),
        }
    }

    fn place(&mut self, index: usize, placed: &PlacedInstance) -> Result<Node, Refusal> {
        let parent = self.node(placed.parent)?;
        match &placed.origin {
            InstanceOrigin::Created(props) => {
                if reflection::is_service(&placed.class) {
                    return refuse!(
                        "The place has no {} yet, and a service cannot be created by an edit. Open \
                         the place in Studio and save it there; then it has all services.",
                        placed.class
                    );
                }
                let mut props = props.clone();
                props.retain(|name, value| default_value(&placed.class, name) != *value);
                self.draft.create_instance(parent, &placed.class, &placed.name, props)
            }
            InstanceOrigin::Moved(node) => {
                self.draft.move_to(*node, parent)?;
                Ok(*node)
            }
            InstanceOrigin::CopiedWithin { root, of } => {
                match self.copies.get_mut(root).and_then(|copies| copies.remove(of)) {
                    Some(copy) => {
                        if self.draft.scene().parent(copy) != Some(parent) {
                            self.draft.move_to(copy, parent)?;
                        }
                        Ok(copy)
                    }
                    None => self.copy(index, *of, parent, &placed.name),
                }
            }
            InstanceOrigin::Copied(of) => self.copy(index, *of, parent, &placed.name),
        }
    }

    fn copy(&mut self, index: usize, of: Node, parent: Node, name: &str) -> Result<Node, Refusal> {
        let originals: Vec<Node> = self.draft.scene().descendants(of).collect();
        let copy = self.draft.clone_instance(of, parent, name)?;
        let copies = self.draft.scene().descendants(copy);
        self.copies.insert(index, originals.into_iter().zip(copies).collect());
        Ok(copy)
    }

    /// Deletes the instances that were copied with others and that the run does not have.
    fn delete_unwanted_copies(&mut self) -> Result<(), Refusal> {
        let unwanted: Vec<Node> =
            self.copies.drain().flat_map(|(_, copies)| copies.into_values()).collect();
        let all: HashSet<Node> = unwanted.iter().copied().collect();
        let mut roots: Vec<Node> = unwanted;
        let scene: &Scene = self.draft.scene();
        roots.retain(|node| scene.parent(*node).is_none_or(|parent| !all.contains(&parent)));
        roots.sort_unstable();
        roots.into_iter().try_for_each(|node| self.draft.delete_instance(node))
    }

    /// Sets all values. Returns the number of instances of the scene that changed.
    fn set_values(&mut self, values: &[ChangedValues]) -> Result<usize, Refusal> {
        let mut changed = 0;
        let (mut alike, mut single): (HashMap<Fingerprint, Vec<&ChangedValues>>, Vec<_>) =
            Default::default();
        let can_group = self.draft.scene().sets_many(values.len());
        for values in values {
            let is_known = matches!(values.of, RunInstance::Known(_));
            if can_group && is_known && values.references.is_empty() && !has_own_form(&values.props)
            {
                alike.entry(hash_props(&values.props)).or_default().push(values);
            } else {
                single.push(values);
            }
        }
        let mut groups: Vec<Vec<&ChangedValues>> = alike.into_values().collect();
        groups.sort_unstable_by_key(|group| group.first().map(|it| index_of(it.of)));
        for group in groups {
            changed += self.set_alike(&group, &mut single)?;
        }
        single.sort_by_key(|values| index_of(values.of));
        for values in single {
            let is_known = matches!(values.of, RunInstance::Known(_));
            changed += usize::from(self.set_instance(values)? && is_known);
        }
        Ok(changed)
    }

    /// Sets the same values of many instances by one command for each class. Instances for which
    /// there is none are added to `single`.
    fn set_alike<'v>(
        &mut self,
        group: &[&'v ChangedValues],
        single: &mut Vec<&'v ChangedValues>,
    ) -> Result<usize, Refusal> {
        let Some(first) = group.first() else { return Ok(0) };
        let mut by_node: BTreeMap<Node, &ChangedValues> = BTreeMap::new();
        for values in group {
            by_node.insert(self.node(values.of)?, values);
        }
        let nodes: Vec<Node> = by_node.keys().copied().collect();
        let scene: &Scene = self.draft.scene();
        let classes = nodes.iter().map(|node| scene.class(*node).to_owned());
        let props = classes.map(|class| (class, first.props.clone())).collect();
        let SetGroups { groups, rest, .. } = self.draft.group_sets(nodes, &props);
        let mut changed = 0;
        for group in groups {
            changed += group.nodes.len();
            self.draft.set_many(group)?;
        }
        single.extend(rest.iter().filter_map(|node| by_node.get(node)));
        Ok(changed)
    }

    fn set_instance(&mut self, values: &ChangedValues) -> Result<bool, Refusal> {
        let node = self.node(values.of)?;
        let mut props = values.props.clone();
        let mut is_changed = false;
        if let Some(Some(Value::String(text))) = props.remove("Source") {
            is_changed |= self.set_text(node, &text)?;
        }
        for (name, to) in &values.references {
            let to = to.map(|to| self.node(to)).transpose()?;
            let to = to.map(|to| Value::Ref(Some(self.draft.scene().target(to))));
            props.insert(name.clone(), to);
        }
        is_changed |= self.draft.set_properties(node, props)?;
        Ok(is_changed)
    }

    fn set_text(&mut self, node: Node, text: &str) -> Result<bool, Refusal> {
        let before = self.draft.scene().script_text(node).unwrap_or_default().into_owned();
        if before == text {
            return Ok(false);
        }
        let edits = vector_text_edit::diff_lines(&before, text);
        self.draft.edit_script(node, edits)?;
        Ok(true)
    }
}

/// Whether values are set by other commands than those over many instances.
fn has_own_form(props: &Props) -> bool {
    props.contains_key("Source") || props.contains_key("Name")
}

fn index_of(instance: RunInstance) -> (bool, usize, Option<Node>) {
    match instance {
        RunInstance::Placed(index) => (false, index, None),
        RunInstance::Known(node) => (true, 0, Some(node)),
    }
}

fn hash_props(props: &Props) -> Fingerprint {
    let json = serde_json::to_value(props).unwrap_or_default();
    Fingerprint::hash_bytes(scene_schemas::value::canonical_json(&json).as_bytes())
}
