//! Adapting a command to what earlier overlays did to the instances that it addresses.

use scene_schemas::command::Props;
use scene_schemas::value::Content;
use scene_schemas::{Command, Fingerprint, Target, Value};
use vector_place::Node;

use super::perform::ProposalMerge;
use crate::proposal::map_targets;

/// Calls `visit` with each target that a command names.
pub(super) fn visit_targets<'c>(command: &'c Command, visit: &mut dyn FnMut(&'c Target)) {
    visit(command.target());
    match command {
        Command::Clone { parent, .. } | Command::Move { parent, .. } => visit(parent),
        Command::Create { props, .. } | Command::Set { props, .. } => {
            props.values().filter_map(|value| referred_target(value.as_ref())).for_each(visit);
        }
        Command::SetMany { .. }
        | Command::Delete { .. }
        | Command::Restore { .. }
        | Command::Insert { .. }
        | Command::EditScript { .. }
        | Command::EditMemory { .. } => {}
    }
}

/// Returns the instance that a value refers to.
pub(super) fn referred_target(value: Option<&Value>) -> Option<&Target> {
    match value {
        Some(Value::Ref(Some(to)) | Value::Content(Content::Object(Some(to)))) => Some(to),
        _ => None,
    }
}

impl ProposalMerge<'_, '_> {
    /// Returns a command with the current paths of its instances. What it expects of them is adapted
    /// as far as earlier overlays are the reason why it differs.
    pub(super) fn adapt_command(&self, command: &Command) -> Command {
        let scene = &*self.scene;
        let relocate = &mut |target: Target| {
            let node = scene.by_id(&target.id).filter(|node| scene.is_live(*node));
            Ok(node.map_or(target, |node| scene.target(node)))
        };
        // Relocating never fails.
        let mut adapted =
            map_targets(command.clone(), relocate).unwrap_or_else(|_| command.clone());
        match &mut adapted {
            Command::Create { parent: target, expect, .. }
            | Command::Clone { source: target, expect, .. }
            | Command::Insert { parent: target, expect, .. }
            | Command::Move { target, expect, .. } => {
                self.adapt_expectation(target, None, expect);
            }
            Command::Delete { target, count, expect } => {
                self.adapt_expectation(target, None, expect);
                // Other changes below it than deletions are conflicts.
                if let Some(node) = scene.by_id(&target.id)
                    && scene.subtree(node).any(|node| self.earlier.restructuring(node).is_some())
                {
                    *count = scene.subtree(node).count() as u32;
                }
            }
            Command::Set { target, props, expect } => {
                self.adapt_expectation(target, Some(props), expect);
            }
            Command::SetMany { .. }
            | Command::Restore { .. }
            | Command::EditScript { .. }
            | Command::EditMemory { .. } => {}
        }
        adapted
    }

    /// Adapts a fingerprint if an earlier overlay renamed the instance, which every fingerprint
    /// covers, or may have renamed or moved what its properties refer to.
    fn adapt_expectation(
        &self,
        target: &Target,
        props: Option<&Props>,
        expect: &mut Option<Fingerprint>,
    ) {
        let (Some(expect), Some(node)) = (expect, self.scene.by_id(&target.id)) else {
            return;
        };
        let refers = |property: &String| {
            referred_target(self.scene.stored_value(node, property).as_ref()).is_some()
        };
        let is_renamed = self.earlier.cell(node, "Name").is_some();
        if is_renamed || props.is_some_and(|it| it.keys().any(refers)) {
            *expect = self.fingerprint_of(node, props);
        }
    }

    pub(super) fn fingerprint_of(&self, node: Node, props: Option<&Props>) -> Fingerprint {
        let keys = props.into_iter().flat_map(|props| props.keys().map(String::as_str));
        self.scene.fingerprint(node, keys)
    }
}
