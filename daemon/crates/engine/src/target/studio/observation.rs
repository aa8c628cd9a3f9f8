//! What the mirror shows of a proposal that a stopped process had sent to Studio.
//!
//! A command is observed by itself, because the user may have changed what it changes. Instances
//! that a proposal creates cannot be told from those that others created; only the plugin remembers
//! that.

use std::collections::HashMap;

use scene_schemas::proposal::{Ack, Outcome, Proposal};
use scene_schemas::{Command, Fingerprint, InstanceId};
use vector_core::planning_scene::PlanningScene;
use vector_place::Node;

use super::fingerprint_after;

/// The observed state of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObservedState {
    Done,
    NotDone,
    /// Some of it is done, and nothing shows anything else.
    Partial,
    /// Something is neither as it was before the proposal nor as the proposal leaves it, or nothing
    /// of the proposal can be observed.
    Unclear,
}

/// The observed state of what a command changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ObservedEffect {
    Done,
    NotDone,
    Unclear,
    /// The command creates an instance, or changes one that its proposal creates.
    Unobservable,
}

/// Observes whether the place is as a proposal would have left it.
pub(crate) fn observe_proposal(
    scene: &PlanningScene,
    proposal: &Proposal,
    predicted: &Ack,
) -> ObservedState {
    let mut effects = Vec::new();
    // The effect of the first command on each instance, which expects what was there before.
    let mut first_effects: HashMap<&InstanceId, ObservedEffect> = HashMap::new();
    for (at, (command, outcome)) in proposal.commands.iter().zip(&predicted.outcomes).enumerate() {
        if proposal.is_in_files(at) {
            continue;
        }
        let id = &command.target().id;
        let effect = observe_command(scene, command, outcome, first_effects.get(id).copied());
        first_effects.entry(id).or_insert(effect);
        effects.push(effect);
    }
    let has = |effect| effects.contains(&effect);
    if has(ObservedEffect::Unclear) {
        return ObservedState::Unclear;
    }
    let is_whole = !has(ObservedEffect::Unobservable);
    match (has(ObservedEffect::Done), has(ObservedEffect::NotDone)) {
        (true, false) if is_whole => ObservedState::Done,
        (true, _) => ObservedState::Partial,
        (false, _) if is_whole => ObservedState::NotDone,
        (false, _) => ObservedState::Unclear,
    }
}

fn observe_command(
    scene: &PlanningScene,
    command: &Command,
    outcome: &Outcome,
    first: Option<ObservedEffect>,
) -> ObservedEffect {
    let target = command.target();
    if is_created_here(&target.id) {
        return ObservedEffect::Unobservable;
    }
    let live = live_node(scene, &target.id);
    let done = |is_done| if is_done { ObservedEffect::Done } else { ObservedEffect::NotDone };
    match (command, live) {
        (Command::Create { .. } | Command::Clone { .. } | Command::Insert { .. }, _) => {
            ObservedEffect::Unobservable
        }
        (Command::Restore { id, .. }, _) => done(live_node(scene, id).is_some()),
        // An id of another proposal may only be unknown.
        (Command::Delete { .. }, None) if target.id.0.starts_with("new:") => {
            ObservedEffect::Unclear
        }
        (Command::Delete { .. }, live) => done(live.is_none()),
        (Command::Move { parent, .. }, Some(node)) => {
            let now = scene.parent(node);
            if now.is_some() && now == live_node(scene, &parent.id) {
                ObservedEffect::Done
            } else if scene.path(node) == target.path {
                ObservedEffect::NotDone
            } else {
                ObservedEffect::Unclear
            }
        }
        (Command::Set { expect, .. }, Some(node)) => {
            observe_value(scene, command, node, expect.as_ref(), outcome, first)
        }
        (Command::EditScript { expect, .. } | Command::EditMemory { expect, .. }, Some(node)) => {
            observe_value(scene, command, node, Some(expect), outcome, first)
        }
        // Studio performs no commands over many instances.
        (Command::SetMany { .. }, _) | (_, None) => ObservedEffect::Unclear,
    }
}

/// Observes the value that a command replaces: properties or a text.
fn observe_value(
    scene: &PlanningScene,
    command: &Command,
    node: Node,
    expect: Option<&Fingerprint>,
    outcome: &Outcome,
    first: Option<ObservedEffect>,
) -> ObservedEffect {
    let now = fingerprint_after(scene, command, node);
    if now.is_some() && now == outcome.fingerprint {
        return ObservedEffect::Done;
    }
    let is_before = match first {
        // What a later command expects is the result of the first.
        Some(first) => first == ObservedEffect::NotDone,
        None => now.is_some() && now.as_ref() == expect,
    };
    if is_before { ObservedEffect::NotDone } else { ObservedEffect::Unclear }
}

fn live_node(scene: &PlanningScene, id: &InstanceId) -> Option<Node> {
    let node = if is_created_here(id) { None } else { scene.by_id(id) };
    node.filter(|node| scene.is_live(*node))
}

/// Whether an id is that of an instance that the same proposal creates.
fn is_created_here(id: &InstanceId) -> bool {
    id.0.strip_prefix("new:").is_some_and(|k| !k.contains('.'))
}

#[cfg(test)]
mod tests {
    use scene_schemas::Target;
    use scene_schemas::api::{NodeColumns, ScenePart, ScriptText};
    use scene_schemas::proposal::{Class, Preview};
    use vector_place::Scene;

    use super::*;

    const BEFORE: &str = "print(1)\n";
    const AFTER: &str = "print(2)\n";

    fn hash(text: &str) -> Fingerprint {
        Fingerprint::hash_bytes(text.as_bytes())
    }

    fn script(k: u32) -> Target {
        let path = format!("game.Workspace.Script{k}").parse().unwrap();
        Target { id: InstanceId(format!("studio:{k}")), path }
    }

    /// Returns a place with a script for each text.
    fn place(texts: &[&str]) -> PlanningScene {
        let mut nodes = NodeColumns {
            classes: vec!["Workspace".to_owned(), "Script".to_owned()],
            ids: vec![InstanceId("studio:0".to_owned())],
            parents: vec![0],
            class: vec![0],
            names: vec!["Workspace".to_owned()],
        };
        let mut scripts = Vec::new();
        for (k, text) in (1..).zip(texts) {
            let id = script(k).id;
            nodes.ids.push(id.clone());
            nodes.parents.push(1);
            nodes.class.push(1);
            nodes.names.push(format!("Script{k}"));
            scripts.push(ScriptText { id, text: (*text).to_owned(), is_dirty: false });
        }
        let mut scene = Scene::empty_studio_place();
        let total = nodes.ids.len() as u32;
        let sources = ScenePart::Sources { scripts };
        for part in
            [ScenePart::Begin { total }, ScenePart::Nodes { nodes }, ScenePart::End {}, sources]
        {
            scene.update_mirror(&part).unwrap();
        }
        scene.into()
    }

    /// Returns the observed state of a proposal that writes a script for each text, and creates a
    /// folder if `is_creating`.
    fn observe(texts: &[&str], is_creating: bool) -> ObservedState {
        let (mut commands, mut outcomes) = (Vec::new(), Vec::new());
        for (k, _) in (1..).zip(texts) {
            let target = script(k);
            commands.push(Command::EditScript { target, edits: Vec::new(), expect: hash(BEFORE) });
            outcomes.push(Outcome { id: None, fingerprint: Some(hash(AFTER)) });
        }
        if is_creating {
            let path = "game.Workspace".parse().unwrap();
            commands.push(Command::Create {
                id: InstanceId::new_in_proposal(0),
                parent: Target { id: InstanceId("studio:0".to_owned()), path },
                class: "Folder".to_owned(),
                name: "Folder".to_owned(),
                props: [].into(),
                expect: None,
            });
            outcomes.push(Outcome { id: None, fingerprint: None });
        }
        let proposal = Proposal {
            title: "a change".to_owned(),
            class: Class::Modifying,
            commands,
            base: hash("base"),
            patch_id: hash("patch"),
            preview: Preview::default(),
            warnings: Vec::new(),
            after: Vec::new(),
            reads: Vec::new(),
            implicit_target: None,
            files: None,
            from: None,
            reverts: Vec::new(),
            replaces: None,
            runs: None,
            changed_files: Vec::new(),
            made_by: None,
        };
        let predicted = Ack {
            file: None,
            before: None,
            after: None,
            outcomes,
            inverse: Vec::new(),
            witnesses: Vec::new(),
            bytes: None,
            files: None,
        };
        observe_proposal(&place(texts), &proposal, &predicted)
    }

    #[test]
    fn text_that_is_neither_the_old_nor_the_new_one_is_unclear() {
        let typed = "print(\"typed\")\n";
        for (texts, is_creating, expected) in [
            (&[BEFORE, BEFORE][..], false, ObservedState::NotDone),
            (&[AFTER, AFTER][..], false, ObservedState::Done),
            (&[BEFORE, AFTER][..], false, ObservedState::Partial),
            (&[typed][..], false, ObservedState::Unclear),
            (&[AFTER, typed][..], false, ObservedState::Unclear),
            (&[BEFORE, typed][..], false, ObservedState::Unclear),
            (&[][..], true, ObservedState::Unclear),
            (&[BEFORE][..], true, ObservedState::Unclear),
            (&[AFTER][..], true, ObservedState::Partial),
        ] {
            assert_eq!(observe(texts, is_creating), expected, "{texts:?}, {is_creating}");
        }
    }
}
