//! The Studio ids of instances that proposals created.
//!
//! A later proposal addresses such an instance as `new:CALL.K`, after the call that created it. The
//! plugin knows the instance only by its Studio id, which the plugin's ack names. This module must
//! not know how acks are stored.

use std::collections::BTreeMap;

use scene_schemas::api::{Action, ActionResult};
use scene_schemas::proposal::Proposal;
use scene_schemas::value::Content;
use scene_schemas::{InstanceId, Value};
use vector_place::Scene;

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
