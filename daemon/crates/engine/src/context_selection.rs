//! Selects the scripts that a model is shown when a task begins.
//!
//! The selection is recorded as an entry, so that every request can be rebuilt from the ledger
//! alone: the place may have changed since.

use scene_schemas::InstancePath;
use scene_schemas::command::{Command, Target};
use scene_schemas::context::ContextSubject;
use scene_schemas::entry::{AttachmentSnapshot, ContextScript, Entry, ExcludedScript, TaskContext};
use scene_schemas::review::TaskRole;
use vector_core::code::{self, CodeIndex, ContextSelection, PositionTracker, SelectedScript};
use vector_core::prompt;
use vector_core::workflow::{PendingStatus, Workflow};
use vector_place::{Node, Scene};
use vector_providers::ProviderKind;

use crate::model_request;
use crate::parallel_reading;
use crate::{Engine, ToolDriver, UserRequest};

/// The most scripts that are selected.
const MAX_SCRIPTS: usize = 12;
/// The size limit of the selected texts in bytes, about 5,000 tokens.
pub(crate) const MAX_BYTES: u64 = 16_000;
/// The most instances that are named of a subject.
const SUBJECT_INSTANCES: usize = 4;
/// The instances of subjects may fill this fraction (1/8) of the budget.
const SUBJECTS_DIVISOR: u64 = 8;
/// The selection may fill this fraction (1/6) of what is left of the model's window.
const WINDOW_DIVISOR: u64 = 6;

impl Engine {
    /// Selects the scripts that may matter for a request, and tells what is known of the situation.
    /// None if the driver is not a model, or there is nothing to tell.
    pub(crate) fn select_context(
        &mut self,
        request: &UserRequest,
        driver: &ToolDriver,
    ) -> Option<Entry> {
        let ToolDriver::Provider(ProviderKind::Model(models)) = driver else {
            return None;
        };
        let (estimate, window) = model_request::first_message_tokens(models, request);
        let budget = (window.saturating_sub(estimate) * 3 / WINDOW_DIVISOR).min(MAX_BYTES);
        let (scene, recent) = (&self.planner.scene, self.recent_scripts());
        let (subjects, subject_bytes) = list_subjects(scene, &request.goal, budget);
        let question = code::ContextRequest {
            words: &request.goal,
            pointed: request.attached.iter().filter_map(|it| attached_node(scene, it)).collect(),
            recent,
            budget: (budget - subject_bytes) as usize,
            max_scripts: MAX_SCRIPTS,
        };
        scene.set_readers(parallel_reading::PARALLEL_READERS);
        let mut context = scene.with_known_texts(|index| {
            let selection = code::select_scripts(index, scene, &question);
            build_context(index, scene, &selection, budget)
        });
        context.subjects = subjects;
        context.bytes += subject_bytes;
        // The others do what they are told, not what the person is doing.
        context.situation = match request.role {
            TaskRole::Reviewer { .. } | TaskRole::Worker { .. } | TaskRole::Scout { .. } => None,
            TaskRole::Solo | TaskRole::Lead {} => self.describe_situation(&request.selected),
        };
        (!context.is_empty()).then(|| Entry::Context { context: Box::new(context) })
    }

    /// Returns the scripts that applied proposals of the loaded workflows have edited, most recent
    /// first.
    fn recent_scripts(&self) -> Vec<Node> {
        let mut changed: Vec<_> = self
            .executor
            .state()
            .workflows()
            .flat_map(|(_, workflow)| Workflow::proposals(workflow))
            .filter(|(_, pending)| matches!(pending.status, PendingStatus::Applied(_)))
            .collect();
        changed.sort_by_key(|(seq, _)| std::cmp::Reverse(*seq));
        let scripts = changed.into_iter().flat_map(|(_, pending)| &pending.proposal.commands);
        let mut recent = Vec::new();
        for command in scripts {
            if let Command::EditScript { target, .. } = command
                && let Some(node) = locate_target(&self.planner.scene, target)
                && !recent.contains(&node)
            {
                recent.push(node);
            }
        }
        recent
    }
}

fn locate_target(scene: &Scene, target: &Target) -> Option<Node> {
    let by_id = scene.by_id(&target.id).filter(|node| scene.is_live(*node));
    by_id.or_else(|| scene.resolve(&target.path).ok())
}

pub(crate) fn attached_node(scene: &Scene, attached: &AttachmentSnapshot) -> Option<Node> {
    match attached {
        AttachmentSnapshot::Instance { target, .. } | AttachmentSnapshot::Text { target, .. } => {
            locate_target(scene, target)
        }
        AttachmentSnapshot::File { .. }
        | AttachmentSnapshot::Image { .. }
        | AttachmentSnapshot::Folder { .. }
        | AttachmentSnapshot::Output { .. }
        | AttachmentSnapshot::Page { .. }
        | AttachmentSnapshot::Proposal { .. }
        | AttachmentSnapshot::Problems { .. } => None,
    }
}

/// Returns the instances of the subjects that a request names, and the bytes of their lines.
fn list_subjects(scene: &Scene, goal: &str, budget: u64) -> (Vec<ContextSubject>, u64) {
    let named = code::named_subjects(goal);
    let instances = code::find_subject_instances(scene, &named);
    let (mut listed, mut bytes) = (Vec::new(), prompt::SUBJECTS_HEAD.len() as u64);
    for (subject, nodes) in named.into_iter().zip(instances).filter(|(_, it)| !it.is_empty()) {
        let first = nodes.get(..SUBJECT_INSTANCES).unwrap_or(&nodes);
        let it = ContextSubject {
            subject: subject.label().to_owned(),
            instances: first.iter().map(|node| scene.path(*node)).collect(),
            more: (nodes.len() - first.len()) as u32,
        };
        let line = it.to_line().len() as u64 + 1;
        if bytes + line <= budget / SUBJECTS_DIVISOR {
            bytes += line;
            listed.push(it);
        }
    }
    let bytes = if listed.is_empty() { 0 } else { bytes };
    (listed, bytes)
}

fn build_context(
    index: &CodeIndex,
    scene: &Scene,
    selection: &ContextSelection,
    budget: u64,
) -> TaskContext {
    let path = |node: Node| -> InstancePath { scene.path(node) };
    let left = selection.omitted.iter().map(|it| {
        let room = if it.is_too_long { "there is no room" } else { "others fit better" };
        ExcludedScript {
            path: path(it.node),
            why: format!("{}; {room}", it.reason.to_sentence(path)),
        }
    });
    TaskContext {
        scripts: selection
            .selected
            .iter()
            .map(|it| build_context_script(index, scene, it))
            .collect(),
        excluded: left.collect(),
        more_excluded: selection.more as u32,
        matching: selection.fitting as u32,
        script_count: selection.scripts as u32,
        budget,
        bytes: selection.bytes as u64,
        subjects: Vec::new(),
        situation: None,
    }
}

fn build_context_script(
    index: &CodeIndex,
    scene: &Scene,
    chosen: &SelectedScript,
) -> ContextScript {
    let text = scene.source_if_known(chosen.node).unwrap_or_default();
    let all = index.script_at(chosen.node).map_or(&[][..], |script| &script.definitions);
    let mut positions = PositionTracker::new(&text);
    let definitions: Vec<String> = chosen
        .definitions
        .iter()
        .filter_map(|at| all.get(*at))
        .map(|it| {
            let (start, end) = positions.span_range(it.span);
            format!("{} {}-{}", it.name, start.line + 1, end.line + 1)
        })
        .collect();
    let why: Vec<String> =
        chosen.reasons.iter().map(|reason| reason.to_sentence(|node| scene.path(node))).collect();
    ContextScript {
        path: scene.path(chosen.node),
        why: why.join(", "),
        more: (all.len() - definitions.len().min(all.len())) as u32,
        definitions,
        text: chosen.has_text.then(|| text.into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use vector_place::FileFormat;

    use super::*;

    /// A place with names and texts that need more room when they are encoded.
    fn place(long: usize) -> Scene {
        let mut scene = Scene::empty(FileFormat::Binary);
        let storage = scene.create(scene.root(), "ReplicatedStorage", "ReplicatedStorage");
        let folder = scene.create(storage, "Folder", &"\u{1}\"".repeat(long));
        for at in 0..60 {
            let lines = "\n".repeat(at * 20);
            let text = format!(
                "local Coins = {{}}{lines}\nfunction Coins.buy() end\nCoins[ [[{}\n# Rules\n]] ] = \
                 function() end\n--{}\nrequire(script.Parent.CoinsModule{})\nreturn Coins\n",
                "long name ".repeat(at),
                "`".repeat(at * 9),
                at + 1
            );
            let node = scene.create(folder, "ModuleScript", &format!("CoinsModule{at}"));
            scene.set_source(node, text);
        }
        scene
    }

    #[test]
    fn script_context_stays_within_its_budget() {
        for (long, budget, max_scripts) in
            [(1, 16_000, 12), (40, 16_000, 3), (40, 4_000, 12), (400, 9_000, 12), (1, 500, 12)]
        {
            let scene = place(long);
            let question = code::ContextRequest {
                words: "coins",
                budget,
                max_scripts,
                ..code::ContextRequest::default()
            };
            let index = CodeIndex::new(&scene);
            let selection = code::select_scripts(&index, &scene, &question);
            let context = build_context(&index, &scene, &selection, budget as u64);
            let text = prompt::script_context(&context);
            let told = format!("{long} {budget} {max_scripts}: {} {}", text.len(), context.bytes);
            assert!(
                text.len() as u64 <= context.bytes && context.bytes <= context.budget,
                "{told}"
            );
            assert!(context.excluded.len() <= 20, "{told}");
            assert_eq!(
                context.scripts.len() + context.excluded.len() + context.more_excluded as usize,
                60
            );
            let definitions: Vec<&String> =
                context.scripts.iter().flat_map(|it| &it.definitions).collect();
            // A script's text between brackets must not break a definition's line or make it long.
            let is_short = |it: &&String| !it.contains('\n') && it.chars().count() <= 104;
            assert!(definitions.iter().all(is_short), "{definitions:?}");
            assert!(
                long > 1 || budget < 9_000 || definitions.iter().any(|it| it.contains("# Rules"))
            );
        }
    }

    #[test]
    fn instances_of_named_subjects_are_listed_within_their_part() {
        let mut scene = Scene::empty(FileFormat::Binary);
        let world = scene.create(scene.root(), "Workspace", "Workspace");
        for at in 0..7 {
            scene.create(world, "SpawnLocation", &format!("Spawn{at}"));
        }
        let (listed, bytes) = list_subjects(&scene, "move the spawns and fix the shop", 16_000);
        let lines: Vec<String> = listed.iter().map(ContextSubject::to_line).collect();
        let expected = "- spawning and checkpoints: game.Workspace.Spawn0, game.Workspace.Spawn1, \
            game.Workspace.Spawn2, game.Workspace.Spawn3 and 3 more";
        assert_eq!(lines, [expected]);
        let context = TaskContext { subjects: listed, ..TaskContext::default() };
        assert_eq!(prompt::script_context(&context).len() as u64, bytes);
        assert_eq!(list_subjects(&scene, "move the spawns", 400), (Vec::new(), 0));
        assert_eq!(list_subjects(&scene, "fix the shop", 16_000), (Vec::new(), 0));
    }
}
