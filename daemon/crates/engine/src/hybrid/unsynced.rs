//! What is written to files and Rojo has not synced yet: it is laid over the mirror, beneath all that is
//! on trial, and lifted whenever something is heard of the place.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::Proposal;
use scene_schemas::{Command, InstanceId};
use vector_core::proposal::{BlobStore, try_command};
use vector_place::{MissingFacts, Node, Scene};

use super::{LinkedProject, UnsyncedWrites};
use crate::studio_sync::request_missing;
use crate::{Engine, EngineError, Target};

impl Engine {
    /// Notes what is written to files and Studio has to be synced with.
    pub(crate) fn record_unsynced(&mut self, call: Seq, proposal: &Proposal) {
        if proposal.files.is_none() {
            return;
        }
        let commands = proposal.commands.iter().enumerate();
        let own = commands.filter(|(at, _)| proposal.is_in_files(*at)).map(|(_, command)| command);
        // Texts are laid over as the files say them.
        let is_laid = |command: &&Command| !matches!(command, Command::EditScript { .. });
        let commands = own.filter(is_laid).cloned().collect();
        self.drop_overlay();
        self.linked_projects.unsynced.push(UnsyncedWrites { call, commands });
    }

    /// Lays over the mirror what is written to files and Studio does not show: what was made, moved and
    /// deleted here, until it shows that or something else, and the texts of all scripts that Rojo owns.
    /// False where something has to be asked first.
    pub(crate) fn overlay_unsynced(&mut self) -> Result<bool, EngineError> {
        self.detect_linked_project()?;
        let (None, Some(at)) =
            (self.linked_projects.overlay_mark, self.linked_projects.active_index())
        else {
            return Ok(true);
        };
        let mark = self.scene.journal_mark();
        let mut ahead = std::mem::take(&mut self.linked_projects.unsynced);
        let mut missing = MissingFacts::default();
        for UnsyncedWrites { call, commands } in &mut ahead {
            self.scene.begin_scope(*call);
            let mut made = BTreeSet::new();
            commands.retain(|command| {
                // What comes behind something that has to be asked is tried when that is known.
                if !missing.is_empty() {
                    return true;
                }
                let stays =
                    overlay_command(&mut self.scene, *call, &mut made, command, &self.blobs);
                missing = self.scene.take_missing();
                stays || !missing.is_empty()
            });
            if let (false, Target::Open(studio)) = (missing.is_empty(), &mut self.target) {
                request_missing(studio, missing);
                self.scene.rollback(mark);
                self.linked_projects.unsynced = ahead;
                return Ok(false);
            }
        }
        ahead.retain(|it| !it.commands.is_empty());
        self.linked_projects.unsynced = ahead;
        self.linked_projects.overlay_mark = Some(mark);
        self.linked_projects.projects[at].overlay_texts(&mut self.scene);
        Ok(true)
    }

    /// Takes back what was laid over the mirror, on which nothing is on trial.
    pub(crate) fn remove_unsynced_overlay(&mut self) {
        if let Some(mark) = self.linked_projects.overlay_mark.take() {
            self.scene.rollback(mark);
        }
    }
}

/// The scripts that stand in files and are shown in Studio, as they were looked at last.
#[derive(Debug)]
pub(super) struct SyncedScripts {
    /// The tree of the mirror at that moment, and its texts.
    tree_version: u64,
    text_version: u64,
    /// By the script that is shown, that of the files.
    pairs: FxHashMap<Node, Node>,
    /// Those that show another text than their files.
    differing: BTreeSet<Node>,
}

impl LinkedProject {
    /// Lays the texts of files over the mirror, where it shows others. Only texts that may have changed
    /// there are looked at again.
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
        // What is laid here is lifted again, and looked at then.
        shown.text_version = open.text_mark();
        for node in &shown.differing {
            if let Some(script) = shown.pairs.get(node) {
                open.set_source(*node, files.script_text(*script).unwrap_or_default().into_owned());
            }
        }
        self.synced_scripts = Some(shown);
    }
}

/// The scripts of files that are shown.
fn pair_scripts(open: &Scene, files: &Scene) -> FxHashMap<Node, Node> {
    let scripts = files.subtree(files.root()).filter(|node| files.is_script(*node));
    let pair = |script: Node| {
        let shown = open.resolve(&files.path(script)).ok()?;
        (open.class(shown) == files.class(script)).then_some((shown, script))
    };
    scripts.filter_map(pair).collect()
}

/// Lays a command over the mirror; false where Studio shows what it did, or something else that was done
/// there, or what it changes is not laid any more.
fn overlay_command(
    scene: &mut Scene,
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
            scene.bind_created_id(call, k, id);
        }
        return false;
    }
    scene.set_next_number(first);
    let Ok(node) = try_command(scene, command, blobs) else {
        return false;
    };
    let count = scene.subtree(node).count() as u32;
    made.extend((first..first + count).map(InstanceId::new_in_proposal));
    true
}
