//! A place that is open in Studio, with Rojo projects beside it as a target. Rojo syncs the place
//! with one of them. Changes to what Rojo owns go to the project's files, the rest to Studio, and
//! both parts are applied or neither.
//!
//! Until Rojo has synced written files, they are laid over the mirror, so that no call is planned
//! on old state.

mod unsynced;

use std::collections::BTreeSet;
use std::path::PathBuf;

use scene_schemas::entry::{Place, Seq};
use scene_schemas::proposal::{Ack, ProjectFileChanges, Proposal, Warning, WarningKind};
use scene_schemas::value::canonical_json;
use scene_schemas::{Command, Fingerprint, InstancePath, Refusal};
use vector_core::planning_scene::{PlanningMark, PlanningScene};
use vector_core::proposal::{
    BlobStore, ProposalDraft, relocate_command, split_by_owner, try_command,
};
use vector_files::place_file::PlaceError;
use vector_place::{MissingFacts, Scene, count_noun};
use vector_rojo_project::{FileChanges, PreparedProject, RojoProject, StoredFiles};

use self::unsynced::SyncedScripts;
use super::studio::{StudioTarget, warn_rojo_sync};
use super::{
    ChangedProject, CompletedPlan, FilePartError, LiveDriver, PendingFilePart, PlanContext,
    ReadyChange, TargetDriver,
};
use crate::EngineError;
use crate::planner::Planner;
use crate::revert::draft_inverse;

/// An open place, the projects beside it, and the file changes that Rojo has not synced yet.
#[derive(Debug)]
pub struct HybridTarget {
    studio: StudioTarget,
    projects: Vec<LinkedProject>,
    /// The journal mark from before the unsynced changes were laid over the mirror.
    overlay_mark: Option<PlanningMark>,
    unsynced: Vec<UnsyncedWrites>,
    /// The project that the place was last known to be synced with. Proposals planned since then
    /// take it into account.
    last_linked: Option<String>,
    prepared: Option<PreparedFiles>,
}

/// The file part of a proposal between preparing and committing.
#[derive(Debug)]
struct PreparedFiles {
    /// The index of its project.
    at: usize,
    /// The mark of the project's scene from before it.
    start: PlanningMark,
    stored: StoredFiles,
}

#[derive(Debug)]
struct LinkedProject {
    project: RojoProject,
    scene: PlanningScene,
    /// Whether the open place is synced with this project, as far as is known.
    is_linked: bool,
    /// The pairing of this project's scripts with those in the open place; None until it is
    /// computed.
    synced_scripts: Option<SyncedScripts>,
}

impl LinkedProject {
    /// Replaces the scene by one that was read again from the files.
    fn replace_scene(&mut self, scene: PlanningScene) {
        self.scene = scene;
        self.synced_scripts = None;
    }
}

/// Commands that were written to files and that Studio does not show yet.
#[derive(Debug)]
struct UnsyncedWrites {
    call: Seq,
    commands: Vec<Command>,
}

impl HybridTarget {
    pub(super) fn new(studio: StudioTarget) -> Self {
        Self {
            studio,
            projects: Vec::new(),
            overlay_mark: None,
            unsynced: Vec::new(),
            last_linked: None,
            prepared: None,
        }
    }

    /// Adds a project with which Rojo may sync the place.
    pub(super) fn add_project(&mut self, project: RojoProject, scene: PlanningScene) {
        let linked = LinkedProject { project, scene, is_linked: false, synced_scripts: None };
        self.projects.push(linked);
    }

    fn active_index(&self) -> Option<usize> {
        self.projects.iter().position(|linked| linked.is_linked)
    }

    fn index_of(&self, project: &str) -> Option<usize> {
        self.projects.iter().position(|linked| linked.project.name() == project)
    }

    /// Determines the part of a proposal that goes to the files of a project.
    ///
    /// # Errors
    /// A command needs both files and Studio.
    fn split_proposal(
        &mut self,
        at: usize,
        mut proposal: Proposal,
        context: &PlanContext<'_>,
    ) -> Result<Proposal, Refusal> {
        let mark = self.projects[at].scene.journal_mark();
        let parted = self.projects[at].compute_file_part(&proposal, context);
        self.projects[at].scene.rollback(mark);
        let (in_files, loose) = parted?;
        if let Some(path) = loose.first() {
            let others = count_noun(loose.len(), "instance is", "instances are");
            let text = format!(
                "{others} below what Rojo owns but in no file, {path} first: Rojo may overwrite \
                 changes that Studio makes there."
            );
            proposal.warnings.push(Warning { kind: WarningKind::Rojo, text });
        }
        let Some(in_files) = in_files else {
            return Ok(proposal);
        };
        let own = serde_json::to_value(&in_files.commands).unwrap_or_default();
        let text = format!("{}\n{}", proposal.patch_id, canonical_json(&own));
        let patch_id = Fingerprint::hash_bytes(text.as_bytes());
        Ok(Proposal { patch_id, files: Some(in_files), ..proposal })
    }

    /// Returns the file part of a proposal as a proposal for its project.
    fn file_part(&self, proposal: &Proposal) -> Option<(usize, Proposal)> {
        let files = proposal.files.as_ref()?;
        let at = self.index_of(&files.project)?;
        let commands = files.commands.clone();
        let own = Proposal { commands, files: None, after: Vec::new(), ..proposal.clone() };
        Some((at, own))
    }
}

impl LinkedProject {
    /// Returns the part of a proposal that goes to files, and the paths below file-owned instances
    /// that Studio changes and no file holds. The file part is applied to the project's scene on
    /// top of all pending proposals; the caller rolls it back.
    fn compute_file_part(
        &mut self,
        proposal: &Proposal,
        context: &PlanContext<'_>,
    ) -> Result<(Option<ProjectFileChanges>, Vec<InstancePath>), Refusal> {
        let name = self.project.name();
        let Self { project, scene, .. } = self;
        let mut has_pending = false;
        for (call, pending) in &context.pending {
            let Some(files) = pending.files.as_ref().filter(|files| files.project == name) else {
                continue;
            };
            has_pending = true;
            scene.begin_scope(*call);
            perform_commands(scene, &files.commands, context.blobs)?;
        }
        let before = scene.journal_mark();
        scene.begin_scope(context.call);
        let holder = |node| project.ownership_of(node);
        let parted =
            split_by_owner(&proposal.commands, context.scene, scene, &holder, context.blobs)?;
        if parted.owned.is_empty() {
            return Ok((None, parted.loose));
        }
        let after = project.planned_hashes(scene)?;
        let files = if has_pending {
            scene.rollback(before);
            let before = project.planned_hashes(scene)?;
            let is_new = |(name, hash): &(String, _)| before.get(name) != Some(hash);
            after.into_iter().filter(is_new).map(|(name, _)| name).collect()
        } else {
            after.into_keys().collect()
        };
        let (owned, commands) = (parted.owned, parted.commands);
        Ok((
            Some(ProjectFileChanges { project: name, command_indices: owned, commands, files }),
            parted.loose,
        ))
    }
}

impl TargetDriver for HybridTarget {
    fn place(&self) -> Place {
        self.studio.place()
    }

    fn plan_base(&self) -> Fingerprint {
        self.studio.plan_base()
    }

    fn live(&self) -> Option<&dyn LiveDriver> {
        Some(self)
    }

    fn live_mut(&mut self) -> Option<&mut dyn LiveDriver> {
        Some(self)
    }

    fn read_memory(&mut self) -> Option<String> {
        self.studio.read_memory()
    }

    fn complete_plan(
        &mut self,
        proposal: Proposal,
        context: PlanContext<'_>,
    ) -> Result<Result<CompletedPlan, Refusal>, EngineError> {
        let Some(at) = self.active_index() else {
            let why = "The project that Vector serves does not match this place: its scripts are \
            not here, or its `servePlaceIds` name other places.";
            let proposal = warn_rojo_sync(proposal, context.scene, why);
            return Ok(Ok(CompletedPlan { proposal, generated: Vec::new() }));
        };
        let split = self.split_proposal(at, proposal, &context);
        Ok(split.map(|proposal| {
            let files = proposal.files.as_ref().map_or(&[][..], |files| &files.files);
            let generated = self.projects[at].project.generated_files(files);
            CompletedPlan { proposal, generated }
        }))
    }
}

impl LiveDriver for HybridTarget {
    fn studio(&self) -> &StudioTarget {
        &self.studio
    }

    fn studio_mut(&mut self) -> &mut StudioTarget {
        &mut self.studio
    }

    fn linked_project(&self) -> Option<&RojoProject> {
        self.active_index().map(|at| &self.projects[at].project)
    }

    fn detect_project(&mut self, scene: &Scene) -> bool {
        if self.active_index().is_some() {
            return false;
        }
        let place = self.studio.studio_place().place.place_id;
        let is_of = |linked: &&mut LinkedProject| {
            linked.project.is_synced_with(place, scene, &linked.scene)
        };
        let Some(linked) = self.projects.iter_mut().find(is_of) else {
            return false;
        };
        linked.is_linked = true;
        let name = Some(linked.project.name());
        std::mem::replace(&mut self.last_linked, name.clone()) != name
    }

    fn reset_links(&mut self) {
        self.overlay_mark = None;
        // After a reset, the ids in these commands may belong to other instances.
        self.unsynced.clear();
        for linked in &mut self.projects {
            (linked.is_linked, linked.synced_scripts) = (false, None);
        }
    }

    fn project_file(&self, path: &InstancePath) -> Option<PathBuf> {
        let LinkedProject { project, scene, .. } = &self.projects[self.active_index()?];
        let file = project.script_files().remove(&scene.resolve(path).ok()?)?;
        Some(project.project_folder().join(file))
    }

    fn project_text(&self, path: &InstancePath) -> Option<String> {
        let scene = &self.projects[self.active_index()?].scene;
        let text = scene.source_if_known(scene.resolve(path).ok()?)?;
        Some(text.into_owned())
    }

    fn lay_unsynced(&mut self, planner: &mut Planner) -> Result<(), MissingFacts> {
        self.lay_over(planner)
    }

    fn remove_unsynced(&mut self, scene: &mut PlanningScene) {
        if let Some(mark) = self.overlay_mark.take() {
            scene.rollback(mark);
        }
    }

    fn record_unsynced(&mut self, call: Seq, proposal: &Proposal) {
        if proposal.files.is_none() {
            return;
        }
        let commands = proposal.commands.iter().enumerate();
        let own = commands.filter(|(at, _)| proposal.is_in_files(*at)).map(|(_, command)| command);
        // Script texts are taken from the files directly.
        let is_laid = |command: &&Command| !matches!(command, Command::EditScript { .. });
        let commands = own.filter(is_laid).cloned().collect();
        self.unsynced.push(UnsyncedWrites { call, commands });
    }

    fn forget_unsynced(&mut self, call: Seq) {
        self.unsynced.retain(|it| it.call != call);
    }

    fn check_files_unchanged(
        &mut self,
        call: Seq,
        files: &Ack,
        blobs: &BlobStore,
    ) -> Result<(), Refusal> {
        let Some(at) = files.file.as_deref().and_then(|file| self.index_of(file)) else {
            return Ok(());
        };
        let scene = &mut self.projects[at].scene;
        let mark = scene.journal_mark();
        scene.begin_scope(call);
        let mut draft = ProposalDraft::new(scene, blobs);
        draft.mark_as_inverse();
        let witnesses = files.witnesses.iter().map(Option::as_ref).chain(std::iter::repeat(None));
        let mut back = files.inverse.iter().cloned().zip(witnesses);
        let went =
            back.try_for_each(|(command, left)| draft_inverse(&mut draft, command, left, false));
        scene.rollback(mark);
        went
    }

    fn prepare_files(
        &mut self,
        seq: Seq,
        call: Seq,
        proposal: &Proposal,
        blobs: &BlobStore,
    ) -> Result<ReadyChange, FilePartError> {
        let Some((at, own)) = self.file_part(proposal) else {
            return Err(FilePartError::NotServed);
        };
        let LinkedProject { project, scene, .. } = &mut self.projects[at];
        let start = scene.journal_mark();
        let prepared = project.prepare_proposals(scene, &[(seq, call, &own)], blobs, None);
        let PreparedProject { stored, mut refused } =
            prepared.map_err(|error| FilePartError::Place { project: project.name(), error })?;
        let Some(mut stored) = stored else {
            let reason = refused.pop().map(|(_, reason)| reason).unwrap_or_default();
            return Err(FilePartError::Refused(reason));
        };
        let acks = std::mem::take(&mut stored.acks);
        let blobs = std::mem::take(&mut stored.blobs);
        self.prepared = Some(PreparedFiles { at, start, stored });
        Ok(ReadyChange { acks, blobs })
    }

    fn commit_files(&mut self) -> Result<(), PlaceError> {
        let Some(PreparedFiles { at, start, stored }) = self.prepared.take() else {
            return Ok(());
        };
        let linked = &mut self.projects[at];
        match linked.project.commit_files(stored, &linked.scene) {
            Ok(read) => {
                if let Some(read) = read {
                    linked.replace_scene(read);
                }
                Ok(())
            }
            Err(error) => {
                linked.scene.rollback(start);
                Err(error)
            }
        }
    }

    fn abandon_files(&mut self) {
        if let Some(PreparedFiles { at, start, .. }) = self.prepared.take() {
            self.projects[at].scene.rollback(start);
        }
    }

    fn follow_projects(
        &mut self,
        changes: &FileChanges,
        only: Option<&str>,
    ) -> Vec<ChangedProject> {
        let mut changed = Vec::new();
        for linked in &mut self.projects {
            let name = linked.project.name();
            if only.is_some_and(|only| only != name) {
                continue;
            }
            let before = linked.project.hashed_files();
            // A project that cannot be read now is read again before anything is written.
            let Ok(Some(scene)) = linked.project.follow_changes(changes) else {
                continue;
            };
            linked.replace_scene(scene);
            let after = linked.project.hashed_files();
            let is_same = |file: &&String| before.get(*file) == after.get(*file);
            let all = before.keys().chain(after.keys());
            let files: BTreeSet<String> = all.filter(|file| !is_same(file)).cloned().collect();
            changed.push(ChangedProject { name, files });
        }
        changed
    }

    fn find_unfit(
        &mut self,
        changed: &ChangedProject,
        pending: &[PendingFilePart],
        blobs: &BlobStore,
    ) -> Vec<Seq> {
        let Some(at) = self.index_of(&changed.name) else {
            return Vec::new();
        };
        let scene = &mut self.projects[at].scene;
        let mark = scene.journal_mark();
        let mut unfit = Vec::new();
        for PendingFilePart { proposal, call, files } in pending {
            scene.begin_scope(*call);
            if is_blind_overwrite(files, &changed.files)
                || perform_commands(scene, &files.commands, blobs).is_err()
            {
                unfit.push(*proposal);
            }
        }
        scene.rollback(mark);
        unfit
    }
}

/// Whether a pending proposal would overwrite content that the user has not seen. Script edits
/// carry the text that they expect, but other commands do not.
fn is_blind_overwrite(files: &ProjectFileChanges, changed: &BTreeSet<String>) -> bool {
    let is_blind = |it: &Command| {
        matches!(it, Command::Delete { .. } | Command::Set { .. } | Command::Move { .. })
    };
    let is_changed = |name: &String| {
        changed.contains(name)
            || name.ends_with('/') && changed.iter().any(|it| it.starts_with(name))
    };
    files.commands.iter().any(is_blind) && files.files.iter().any(is_changed)
}

/// Applies commands to the scene of a project. Instances are found by their paths.
fn perform_commands(
    scene: &mut PlanningScene,
    commands: &[Command],
    blobs: &BlobStore,
) -> Result<(), Refusal> {
    for command in commands {
        let command = relocate_command(scene, command.clone(), blobs)?;
        try_command(scene, &command, blobs)?;
    }
    Ok(())
}
