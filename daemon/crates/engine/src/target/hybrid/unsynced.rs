//! The overlay of file changes that Rojo has not synced yet.
//!
//! It is laid over the mirror, below all pending proposals, and removed whenever the plugin reports
//! a change of the place.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use scene_schemas::entry::Seq;
use scene_schemas::{Command, InstanceId};
use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::{BlobStore, try_command};
use vector_place::{MissingFacts, Node, Scene};

use super::{HybridTarget, LinkedProject, UnsyncedWrites};
use crate::planner::Planner;

impl HybridTarget {
    /// Lays over the mirror what is written to files but not shown in Studio: instances that Vector
    /// created, moved or deleted, until Studio shows that or something else, and the texts of all
    /// scripts that Rojo owns.
    ///
    /// # Errors
    /// Studio has to be asked for these facts first. Nothing was laid.
    pub(super) fn lay_over(&mut self, planner: &mut Planner) -> Result<(), MissingFacts> {
        let (None, Some(at)) = (self.overlay_mark, self.active_index()) else {
            return Ok(());
        };
        let Planner { scene, blobs, .. } = planner;
        let mark = scene.journal_mark();
        let mut missing = MissingFacts::default();
        for UnsyncedWrites { call, commands } in &mut self.unsynced {
            scene.begin_scope(*call);
            let mut made = BTreeSet::new();
            commands.retain(|command| {
                // Commands after one that needs missing facts are tried when those are known.
                if !missing.is_empty() {
                    return true;
                }
                let is_kept = overlay_command(scene, *call, &mut made, command, blobs);
                missing = scene.take_missing();
                is_kept || !missing.is_empty()
            });
            if !missing.is_empty() {
                scene.rollback(mark);
                return Err(missing);
            }
        }
        self.unsynced.retain(|it| !it.commands.is_empty());
        self.overlay_mark = Some(mark);
        self.projects[at].overlay_texts(scene.scene_mut());
        Ok(())
    }
}

/// The scripts that are in files and shown in Studio, as last compared.
#[derive(Debug)]
pub(super) struct SyncedScripts {
    /// Versions of the mirror's tree and texts at that time.
    tree_version: u64,
    text_version: u64,
    /// The files' script for each shown script.
    pairs: FxHashMap<Node, Node>,
    /// Shown scripts whose text differs from their file's.
    differing: BTreeSet<Node>,
}

impl LinkedProject {
    /// Lays the texts of files over the mirror, where it shows others. Only texts that may have
    /// changed are compared again.
    fn overlay_texts(&mut self, open: &mut Scene) {
        let files = &self.scene;
        let is_other = |open: &Scene, shown: Node, script: Node| {
            let text = files.script_text(script).unwrap_or_default();
            open.source_if_known(shown).as_deref() != Some(&*text)
        };
        let known =
            self.synced_scripts.take().filter(|known| known.tree_version == open.change_count());
        let mut shown = known.unwrap_or_else(|| SyncedScripts {
            tree_version: open.change_count(),
            text_version: u64::MAX,
            pairs: pair_scripts(open, files),
            differing: BTreeSet::new(),
        });
        let touched = open.texts_changed_since(shown.text_version).map(<[Node]>::to_vec);
        let touched = touched.unwrap_or_else(|| shown.pairs.keys().copied().collect());
        for node in touched {
            match shown.pairs.get(&node) {
                Some(script) if is_other(open, node, *script) => drop(shown.differing.insert(node)),
                _ => drop(shown.differing.remove(&node)),
            }
        }
        // Take the mark before the texts are laid. The scripts then count as touched, and are
        // compared again once the overlay was removed.
        shown.text_version = open.text_mark();
        for node in &shown.differing {
            if let Some(script) = shown.pairs.get(node) {
                open.set_source(*node, files.script_text(*script).unwrap_or_default().into_owned());
            }
        }
        self.synced_scripts = Some(shown);
    }
}

/// Pairs the scripts in files with those shown in Studio.
fn pair_scripts(open: &Scene, files: &Scene) -> FxHashMap<Node, Node> {
    let scripts = files.subtree(files.root()).filter(|node| files.is_script(*node));
    let pair = |script: Node| {
        let shown = open.resolve(&files.path(script)).ok()?;
        (open.class(shown) == files.class(script)).then_some((shown, script))
    };
    scripts.filter_map(pair).collect()
}

/// Applies a command to the mirror. Returns false if the overlay no longer needs it: Studio shows
/// its effect, or another change in that place, or the instance that it changes is not overlaid any
/// more.
fn overlay_command(
    scene: &mut PlanningScene,
    call: Seq,
    made: &mut BTreeSet<InstanceId>,
    command: &Command,
    blobs: &BlobStore,
) -> bool {
    let is_own = |id: &InstanceId| id.0.strip_prefix("new:").is_some_and(|k| !k.contains('.'));
    let target = command.target();
    if is_own(&target.id) && !made.contains(&target.id) {
        return false;
    }
    let Some(first) = command.new_instance_number() else {
        return try_command(scene, command, blobs).is_ok();
    };
    let (class, name) = match command {
        Command::Create { class, name, .. } | Command::Restore { class, name, .. } => {
            (class.clone(), name)
        }
        Command::Clone { source, name, .. } => match scene.by_id(&source.id) {
            Some(source) => (scene.class(source).to_owned(), name),
            None => return false,
        },
        _ => return false,
    };
    let Ok(parent) = scene.locate(match command {
        Command::Clone { parent, .. } => parent,
        _ => target,
    }) else {
        return false;
    };
    if let Some(shown) = scene.find_child(parent, name).filter(|it| scene.class(*it) == class) {
        let ids: Vec<InstanceId> = scene.subtree(shown).map(|node| scene.id(node)).collect();
        for (k, id) in (first..).zip(&ids) {
            scene.scene_mut().bind_created_id(call, k, id);
        }
        return false;
    }
    scene.scene_mut().set_next_number(first);
    let Ok(node) = try_command(scene, command, blobs) else {
        return false;
    };
    let count = scene.subtree(node).count() as u32;
    made.extend((first..first + count).map(InstanceId::new_in_proposal));
    true
}
