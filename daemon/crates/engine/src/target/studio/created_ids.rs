//! The Studio ids of instances that proposals created.
//!
//! A later proposal addresses such an instance as `new:CALL.K`, after the call that created it. The
//! plugin knows the instance only by its Studio id, which the plugin's ack names. This module must
//! not know how acks are stored.

use std::collections::{BTreeMap, HashMap};

use scene_schemas::api::{Action, ActionResult};
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Ack, Proposal};
use scene_schemas::value::Content;
use scene_schemas::{Command, InstanceId, Value};
use vector_place::Scene;

/// The instances that applied proposals created, by the call and their number in it. A mirror knows
/// them only until it is filled again.
#[derive(Debug, Clone, Default)]
pub(crate) struct CreatedIds {
    ids: BTreeMap<(Seq, u32), InstanceId>,
    numbers: HashMap<InstanceId, (Seq, u32)>,
    /// The sizes of created subtrees of which only the root's id is known.
    sizes: BTreeMap<(Seq, u32), u32>,
}

impl CreatedIds {
    /// Records the results of an applied proposal.
    pub(crate) fn record_results(
        &mut self,
        call: Seq,
        proposal: &Proposal,
        results: &[ActionResult],
    ) {
        for (k, id) in created_instances(proposal, results) {
            self.insert(call, k, id);
        }
    }

    /// Records an ack of the ledger. It has one id for each command, which is that of the root.
    pub(crate) fn record_ack(&mut self, call: Seq, proposal: &Proposal, ack: &Ack) {
        if self.has_call(call) {
            return;
        }
        for (at, (command, outcome)) in proposal.commands.iter().zip(&ack.outcomes).enumerate() {
            let (Some(k), Some(id)) = (command.new_instance_number(), &outcome.id) else {
                continue;
            };
            if !proposal.is_in_files(at) {
                self.insert(call, k, id.clone());
                self.sizes.extend(subtree_size(command).map(|size| ((call, k), size)));
            }
        }
    }

    fn insert(&mut self, call: Seq, k: u32, id: InstanceId) {
        self.numbers.insert(id.clone(), (call, k));
        self.ids.insert((call, k), id);
    }

    /// Whether the instances of a call are recorded.
    fn has_call(&self, call: Seq) -> bool {
        self.ids.range((call, 0)..=(call, u32::MAX)).next().is_some()
    }

    /// Forgets all instances.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Binds the ids to the instances in a mirror.
    pub(crate) fn bind_all(&self, scene: &mut Scene) {
        for ((call, k), id) in &self.ids {
            self.bind(scene, *call, *k, id);
        }
    }

    /// Binds the id of an instance in a mirror, if a proposal created it.
    pub(crate) fn bind_instance(&self, scene: &mut Scene, id: &InstanceId) {
        if let Some((call, k)) = self.numbers.get(id) {
            self.bind(scene, *call, *k, id);
        }
    }

    fn bind(&self, scene: &mut Scene, call: Seq, k: u32, id: &InstanceId) {
        scene.bind_created_id(call, k, id);
        let Some((size, root)) = self.sizes.get(&(call, k)).zip(scene.by_id(id)) else {
            return;
        };
        // The ids of a copy are numbered in depth-first order. If the subtree has another size, it
        // has changed, and its instances cannot be told apart by their positions.
        let inside: Vec<InstanceId> =
            scene.subtree(root).map(|node| scene.written_id(node)).collect();
        if inside.len() == *size as usize {
            for (k, id) in (k..).zip(&inside) {
                scene.bind_created_id(call, k, id);
            }
        }
    }
}

/// Returns the number of instances in the first subtree that a command creates, if there are
/// several.
fn subtree_size(command: &Command) -> Option<u32> {
    let size = match command {
        Command::Clone { count, .. } => *count,
        Command::Insert { contents, left_out, .. } => {
            let contents = contents.remove_left_out(left_out);
            let is_root = |parent: &&u32| **parent == 0;
            let rest = contents.parents.iter().skip(1);
            rest.take_while(|parent| !is_root(parent)).count() as u32 + 1
        }
        _ => 1,
    };
    (size > 1).then_some(size)
}

/// Returns the Studio ids of the instances that a proposal created, by their numbers in it.
pub(crate) fn created_instances(
    proposal: &Proposal,
    results: &[ActionResult],
) -> BTreeMap<u32, InstanceId> {
    let commands = proposal.commands.iter().enumerate();
    let of_studio = commands.filter(|(at, _)| !proposal.is_in_files(*at));
    let mut created = BTreeMap::new();
    for ((_, command), result) in of_studio.zip(results) {
        if let Some(first) = command.new_instance_number() {
            created.extend((first..).zip(result.ids.iter().cloned()));
        }
    }
    created
}

/// Replaces the ids of instances that earlier proposals created by their Studio ids. The ids of
/// instances that the proposal itself creates stay.
pub(crate) fn use_studio_ids(scene: &Scene, action: &mut Action) {
    visit_ids(action, &|id: &mut InstanceId| {
        let is_of_earlier = id.0.strip_prefix("new:").is_some_and(|local| local.contains('.'));
        if is_of_earlier && let Some(node) = scene.by_id(id) {
            *id = scene.written_id(node);
        }
    });
}

/// Visits the ids by which an action refers to instances that exist before it.
fn visit_ids(action: &mut Action, change: &impl Fn(&mut InstanceId)) {
    match action {
        Action::Create { parent, props, .. } => {
            change(&mut parent.id);
            for value in props.values_mut() {
                visit_reference(value, change);
            }
        }
        Action::Set { target, props, .. } => {
            change(&mut target.id);
            for value in props.values_mut() {
                visit_reference(value, change);
            }
        }
        Action::Clone { source: target, parent, .. }
        | Action::Move { target, parent, .. }
        | Action::Restore { target, parent } => {
            change(&mut target.id);
            change(&mut parent.id);
        }
        Action::Delete { target, .. } | Action::Write { target, .. } => change(&mut target.id),
        Action::Insert { parent, .. } => change(&mut parent.id),
    }
}

/// Visits the id of the instance that a value refers to.
pub(crate) fn visit_reference(value: &mut Value, change: &impl Fn(&mut InstanceId)) {
    if let Value::Ref(Some(to)) | Value::Content(Content::Object(Some(to))) = value {
        change(&mut to.id);
    }
}

#[cfg(test)]
mod tests {
    use scene_schemas::Target;
    use scene_schemas::api::{NodeColumns, ScenePart};
    use scene_schemas::entry::Seq;

    use super::*;

    fn target(id: &str, path: &str) -> Target {
        Target { id: InstanceId(id.to_owned()), path: path.parse().unwrap() }
    }

    #[test]
    fn actions_name_instances_of_earlier_proposals_by_their_studio_ids() {
        let mut scene = Scene::empty_studio_place();
        let nodes = NodeColumns {
            classes: vec!["Workspace".to_owned(), "Part".to_owned()],
            ids: ["studio:1", "studio:2"].map(|id| InstanceId(id.to_owned())).to_vec(),
            parents: vec![0, 1],
            class: vec![0, 1],
            names: vec!["Workspace".to_owned(), "Door".to_owned()],
        };
        for part in [ScenePart::Begin { total: 2 }, ScenePart::Nodes { nodes }, ScenePart::End {}] {
            scene.update_mirror(&part).unwrap();
        }
        scene.bind_created_id(Seq(7), 3, &InstanceId("studio:2".to_owned()));
        let reference = |id: &str| Value::Ref(Some(target(id, "game.Workspace.Door")));
        let action = |id: &str| Action::Create {
            id: InstanceId("new:0".to_owned()),
            parent: target(id, "game.Workspace.Door"),
            class: "ObjectValue".to_owned(),
            name: "Value".to_owned(),
            props: BTreeMap::from([
                ("Door".to_owned(), reference(id)),
                ("Own".to_owned(), reference("new:3")),
            ]),
            expect: None,
        };
        let mut created = action("new:7.3");
        use_studio_ids(&scene, &mut created);
        assert_eq!(created, action("studio:2"));
    }
}
