//! Open places that Rojo syncs with a project that is open in Vector too. Changes to what Rojo owns
//! go to the project's files, the rest to Studio, and both parts are applied or neither.
//!
//! Files are written first, because Vector can restore them alone if Studio does not apply its
//! part. Until Rojo has synced them, they are laid over the mirror, so that no call is planned on
//! old state.

mod file_rollback;
mod unsynced;

use std::collections::BTreeSet;

use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Ack, ProjectFileChanges, Proposal, Warning, WarningKind};
use scene_schemas::value::canonical_json;
use scene_schemas::{Command, Fingerprint, InstancePath};

pub use self::file_rollback::restore_interrupted_files;
use self::unsynced::SyncedScripts;
use scene_schemas::Refusal;
use vector_core::proposal::{BlobStore, relocate_command, split_by_owner, try_command};
use vector_core::workflow::{PendingStatus, WorkflowInput};
use vector_files::place_file::PlaceError;
use vector_place::{JournalMark, Scene, count_noun, reflection};
use vector_rojo_project::{self, FileChanges, RojoProject};

use crate::{Engine, EngineError, Target};

/// The projects that are open beside a Studio place, and the file changes that Rojo has not synced
/// yet.
#[derive(Debug, Default)]
pub(super) struct LinkedProjects {
    projects: Vec<LinkedProject>,
    /// The journal mark from before the unsynced changes were laid over the mirror.
    overlay_mark: Option<JournalMark>,
    unsynced: Vec<UnsyncedWrites>,
    /// The project that the place was last known to be synced with. Proposals planned since then
    /// take it into account.
    last_linked: Option<String>,
}

#[derive(Debug)]
struct LinkedProject {
    project: RojoProject,
    scene: Scene,
    /// Whether the open place is synced with this project, as far as is known.
    is_linked: bool,
    /// The pairing of this project's scripts with those in the open place; None until it is
    /// computed.
    synced_scripts: Option<SyncedScripts>,
}

impl LinkedProject {
    /// Replaces the scene by one that was read again from the files.
    fn replace_scene(&mut self, scene: Scene) {
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

impl LinkedProjects {
    pub(super) fn reset_links(&mut self) {
        self.overlay_mark = None;
        // After a reset, the ids in these commands may belong to other instances.
        self.unsynced.clear();
        for linked in &mut self.projects {
            (linked.is_linked, linked.synced_scripts) = (false, None);
        }
    }

    /// Returns the scene of a project, by the path of its project file.
    pub(super) fn project_scene(&mut self, project: &str) -> Option<&mut Scene> {
        let found = self.projects.iter_mut().find(|linked| linked.project.name() == project);
        found.map(|linked| &mut linked.scene)
    }

    fn active_index(&self) -> Option<usize> {
        self.projects.iter().position(|linked| linked.is_linked)
    }
}

impl Engine {
    /// Adds a project with which Rojo may sync the open place.
    pub fn add_linked_project(&mut self, project: RojoProject, scene: Scene) {
        self.linked_projects.projects.push(LinkedProject {
            project,
            scene,
            is_linked: false,
            synced_scripts: None,
        });
    }

    /// Returns the project that the open place is synced with.
    pub fn linked_project(&self) -> Option<&RojoProject> {
        self.linked_projects.active_index().map(|at| &self.linked_projects.projects[at].project)
    }

    /// Returns the known texts of a script: first the text in the project's files, then the text in
    /// the place. Studio is not asked for unknown texts.
    pub fn script_texts(&mut self, path: &InstancePath) -> Vec<String> {
        let text = |scene: &Scene| {
            let text = scene.source_if_known(scene.resolve(path).ok()?)?;
            Some(text.into_owned())
        };
        let own = text(self.mirror_scene());
        let at = self.linked_projects.active_index();
        let in_files = at.and_then(|at| text(&self.linked_projects.projects[at].scene));
        in_files.into_iter().chain(own).collect()
    }

    /// Detects the project that the open place is synced with. Proposals planned before it was
    /// known are replanned.
    ///
    /// # Errors
    /// The ledger cannot be read or written.
    pub fn detect_linked_project(&mut self) -> Result<(), EngineError> {
        let is_known = self.linked_projects.projects.is_empty()
            || self.linked_projects.active_index().is_some();
        // Overlaid proposals may have moved the instances that the detection compares.
        if is_known || !self.overlay.is_empty() || !self.scene.is_tree_complete() {
            return Ok(());
        }
        let Some(place) = self.studio().map(|studio| studio.place().place.place_id) else {
            return Ok(());
        };
        let open = &self.scene;
        let is_of =
            |linked: &&mut LinkedProject| linked.project.is_synced_with(place, open, &linked.scene);
        let Some(linked) = self.linked_projects.projects.iter_mut().find(is_of) else {
            return Ok(());
        };
        linked.is_linked = true;
        let name = Some(linked.project.name());
        if std::mem::replace(&mut self.linked_projects.last_linked, name.clone()) == name {
            return Ok(());
        }
        for (seq, _) in self.pending_applies(|files| files.is_none()) {
            self.replan_proposal(
                seq,
                "The place is synced with a project of Rojo, and this is planned again.",
            )?;
        }
        Ok(())
    }

    /// Returns the proposals that are waiting or approved, each with its file part.
    fn pending_applies(
        &self,
        wanted: impl Fn(Option<&ProjectFileChanges>) -> bool,
    ) -> Vec<(Seq, Option<ProjectFileChanges>)> {
        let waits = |status: &PendingStatus| {
            matches!(status, PendingStatus::Waiting | PendingStatus::Approved)
        };
        let all = self.all_proposals().into_iter().filter(|(_, it)| waits(&it.status));
        let wanted = all.filter(|(_, it)| wanted(it.proposal.files.as_ref()));
        wanted.map(|(seq, it)| (seq, it.proposal.files.clone())).collect()
    }

    fn replan_proposal(&mut self, seq: Seq, reason: &str) -> Result<(), EngineError> {
        let moved = WorkflowInput::Moved { reason: reason.to_owned(), not_done: Vec::new() };
        self.handle_for_proposal(seq, moved).map(drop)
    }

    /// Determines the part of a proposal in an open place that goes to files.
    ///
    /// # Errors
    /// A command needs both files and Studio.
    pub(super) fn split_proposal(
        &mut self,
        call: Seq,
        proposal: Proposal,
    ) -> Result<Proposal, Refusal> {
        if !matches!(self.target, Target::Open(_)) {
            return Ok(proposal);
        }
        let Some(at) = self.linked_projects.active_index() else {
            return Ok(self.warn_rojo_sync(proposal));
        };
        let linked = &mut self.linked_projects.projects[at];
        let mark = linked.scene.journal_mark();
        let parted = self.compute_file_part(at, call, &proposal);
        self.linked_projects.projects[at].scene.rollback(mark);
        let (in_files, loose) = parted?;
        let mut proposal = proposal;
        if let Some(path) = loose.first() {
            let others = count_noun(loose.len(), "instance is", "instances are");
            let text = format!(
                "{others} below what Rojo owns, and in no file, {path} first: Rojo may take away what \
                 Studio does there."
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

    /// Returns the part of a proposal that goes to files, and the paths below file-owned instances
    /// that Studio changes and no file holds. The file part is applied to the project's scene on
    /// top of all pending proposals; the caller rolls it back.
    fn compute_file_part(
        &mut self,
        at: usize,
        call: Seq,
        proposal: &Proposal,
    ) -> Result<(Option<ProjectFileChanges>, Vec<InstancePath>), Refusal> {
        let name = self.linked_projects.projects[at].project.name();
        let waiting: Vec<(Seq, Vec<Command>)> = self
            .overlay
            .iter()
            .filter_map(|(seq, _)| self.find_proposal(*seq))
            .filter_map(|(_, it)| Some((it.call, it.proposal.files.as_ref()?)))
            .filter(|(_, files)| files.project == name)
            .map(|(call, files)| (call, files.commands.clone()))
            .collect();
        let LinkedProject { project, scene, .. } = &mut self.linked_projects.projects[at];
        for (call, commands) in &waiting {
            scene.begin_scope(*call);
            perform_commands(scene, commands, &self.blobs)?;
        }
        let before = scene.journal_mark();
        scene.begin_scope(call);
        let holder = |node| project.ownership_of(node);
        let parted = split_by_owner(&proposal.commands, &self.scene, scene, &holder, &self.blobs)?;
        if parted.owned.is_empty() {
            return Ok((None, parted.loose));
        }
        let after = project.planned_hashes(scene)?;
        let files = if waiting.is_empty() {
            after.into_keys().collect()
        } else {
            scene.rollback(before);
            let before = project.planned_hashes(scene)?;
            let is_new = |(name, hash): &(String, _)| before.get(name) != Some(hash);
            after.into_iter().filter(is_new).map(|(name, _)| name).collect()
        };
        let (owned, commands) = (parted.owned, parted.commands);
        Ok((Some(ProjectFileChanges { project: name, owned, commands, files }), parted.loose))
    }

    /// Warns of changes to scripts in a place that Rojo syncs with a project that Vector does not
    /// serve.
    fn warn_rojo_sync(&self, mut proposal: Proposal) -> Proposal {
        let is_of_scripts = |command: &Command| match command {
            Command::EditScript { .. } => true,
            Command::Create { class, .. } => reflection::is_script(class),
            _ => false,
        };
        if proposal.commands.iter().any(is_of_scripts)
            && vector_rojo_project::has_sync_lock(&self.scene)
        {
            let what = if self.linked_projects.projects.is_empty() {
                "Let Vector know the project (`vector serve --project PATH`), and edits go to the files."
            } else {
                "The project that Vector serves does not look like this place: its scripts are not here, \
                 or its `servePlaceIds` name others."
            };
            let text = format!(
                "Rojo syncs this place, and what it owns is overwritten by its files. {what}"
            );
            proposal.warnings.push(Warning { kind: WarningKind::Rojo, text });
        }
        proposal
    }

    /// Records an approved proposal as being applied, then writes its file part. Returns false if
    /// the files were not written: the reason is recorded and nothing was changed. After a partly
    /// applied write it also returns false, and the proposal stays recorded as being applied.
    pub(super) fn write_files(
        &mut self,
        seq: Seq,
        call: Seq,
        proposal: &Proposal,
        mut ack: Ack,
        session: String,
    ) -> Result<bool, EngineError> {
        let _alone = vector_rojo_project::lock_project_files();
        let Some((at, own)) = self.file_part(proposal) else {
            let reason = "Its files belong to a project that is not served any more. Serve it \
                          (`vector serve --project PATH`), and ask again.";
            return self.fail_proposal(seq, reason.to_owned()).map(|()| false);
        };
        let LinkedProject { project, scene, .. } = &mut self.linked_projects.projects[at];
        let start = scene.journal_mark();
        let prepared = project.prepare_proposals(scene, &[(seq, call, &own)], &self.blobs, None);
        let mut prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error @ PlaceError::Changed { .. }) => {
                return self.rebase_on_files(seq, at, &error);
            }
            Err(error) => return self.fail_proposal(seq, error.to_string()).map(|()| false),
        };
        let Some(mut stored) = prepared.stored.take() else {
            let reason = prepared.refused.pop().map(|(_, reason)| reason).unwrap_or_default();
            self.handle_stale(seq, &reason, None)?;
            return Ok(false);
        };
        let blobs = std::mem::take(&mut stored.blobs);
        ack.files = stored.acks.pop().map(|(_, ack)| Box::new(ack));
        let acks = vec![ack];
        let applying =
            WorkflowInput::Applying { proposals: vec![seq], file: session, before: None, acks };
        let Some((workflow, _)) = self.find_proposal(seq) else {
            return Ok(false);
        };
        if let Err(error) = self.handle_with_blobs(workflow, applying, blobs) {
            self.linked_projects.projects[at].scene.rollback(start);
            return Err(error);
        }
        let LinkedProject { project, scene, .. } = &mut self.linked_projects.projects[at];
        match project.commit_files(stored, scene) {
            Ok(read) => {
                if let Some(read) = read {
                    self.linked_projects.projects[at].replace_scene(read);
                }
                Ok(true)
            }
            Err(error) => {
                scene.rollback(start);
                match error {
                    PlaceError::Changed { .. } => self.rebase_on_files(seq, at, &error),
                    // A partly applied write is restored before anything else, and reported then.
                    PlaceError::PartlyApplied { .. } => Ok(false),
                    error => self.fail_proposal(seq, error.to_string()).map(|()| false),
                }
            }
        }
    }

    /// Returns the file part of a proposal as a proposal for its project.
    fn file_part(&self, proposal: &Proposal) -> Option<(usize, Proposal)> {
        let files = proposal.files.as_ref()?;
        let is_it = |it: &LinkedProject| it.project.name() == files.project;
        let at = self.linked_projects.projects.iter().position(is_it)?;
        let commands = files.commands.clone();
        let own = Proposal { commands, files: None, after: Vec::new(), ..proposal.clone() };
        Some((at, own))
    }

    /// Replans a proposal on the files as another process left them.
    fn rebase_on_files(
        &mut self,
        seq: Seq,
        at: usize,
        why: &PlaceError,
    ) -> Result<bool, EngineError> {
        let reason = format!("{why} It is planned again on what is there now.");
        self.handle_for_proposal(seq, WorkflowInput::Moved { reason, not_done: vec![seq] })?;
        self.follow_project(at, &FileChanges::All)?;
        Ok(false)
    }

    pub(super) fn fail_proposal(&mut self, seq: Seq, reason: String) -> Result<(), EngineError> {
        let failed = WorkflowInput::Failed { proposals: vec![seq], reason };
        self.handle_for_proposal(seq, failed).map(drop)
    }

    /// Handles a proposal that does not fit the place any more. It is replanned, unless the next
    /// plan would be the same: if files are ahead of Studio, or if not all files could be restored,
    /// it fails.
    pub(super) fn handle_stale(
        &mut self,
        seq: Seq,
        why: &str,
        predicted: Option<&Ack>,
    ) -> Result<(), EngineError> {
        let files = predicted.map_or(Ok(Ok(String::new())), |it| self.revert_files(it))?;
        let input = match files {
            Ok(files) if self.linked_projects.active_index().is_none() || predicted.is_some() => {
                WorkflowInput::Moved {
                    reason: format!("{why} It is planned again on what is there now.{files}"),
                    not_done: vec![seq],
                }
            }
            Ok(files) => WorkflowInput::Failed {
                proposals: vec![seq],
                reason: format!(
                    "{why} Studio may have it only when Rojo has synced what is in files; ask for it \
                     again then.{files}"
                ),
            },
            Err(files) => {
                WorkflowInput::Failed { proposals: vec![seq], reason: format!("{why}{files}") }
            }
        };
        self.handle_for_proposal(seq, input).map(drop)
    }

    /// Records a proposal as applied that has no part for Studio.
    pub(super) fn complete_in_files(
        &mut self,
        seq: Seq,
        call: Seq,
        proposal: &Proposal,
    ) -> Result<(), EngineError> {
        let status = self.find_proposal(seq).map(|(_, it)| it.status.clone());
        if let Some(PendingStatus::Applying(ack)) = status {
            self.handle_for_proposal(seq, WorkflowInput::Acted { proposal: seq, ack })?;
            self.record_unsynced(call, proposal);
            self.requeue_overlay();
        }
        Ok(())
    }

    /// Follows file changes of the projects beside an open place. Pending proposals are tried again
    /// on the new files; those that would blindly overwrite a changed file are replanned.
    ///
    /// # Errors
    /// The ledger cannot be read or written.
    pub fn follow_projects(&mut self, changes: &FileChanges) -> Result<(), EngineError> {
        (0..self.linked_projects.projects.len()).try_for_each(|at| self.follow_project(at, changes))
    }

    fn follow_project(&mut self, at: usize, changes: &FileChanges) -> Result<(), EngineError> {
        let linked = &mut self.linked_projects.projects[at];
        let before = linked.project.hashed_files();
        // A project that cannot be read now is read again before anything is written.
        let Ok(Some(scene)) = linked.project.follow_changes(changes) else {
            return Ok(());
        };
        linked.replace_scene(scene);
        let after = linked.project.hashed_files();
        let is_same = |file: &&String| before.get(*file) == after.get(*file);
        let all = before.keys().chain(after.keys());
        let changed: BTreeSet<String> = all.filter(|file| !is_same(file)).cloned().collect();
        let name = linked.project.name();
        let waiting = self.pending_applies(|it| it.is_some_and(|files| files.project == name));
        self.drop_overlay();
        let LinkedProject { scene, .. } = &mut self.linked_projects.projects[at];
        let mark = scene.journal_mark();
        let mut unfit = Vec::new();
        for (seq, files) in waiting {
            let Some(files) = files else { continue };
            let call = self.state.find_proposal(seq).map_or(seq, |(_, it)| it.call);
            let LinkedProject { scene, .. } = &mut self.linked_projects.projects[at];
            scene.begin_scope(call);
            if is_blind_overwrite(&files, &changed)
                || perform_commands(scene, &files.commands, &self.blobs).is_err()
            {
                unfit.push(seq);
            }
        }
        self.linked_projects.projects[at].scene.rollback(mark);
        for seq in unfit {
            self.replan_proposal(
                seq,
                "A file that this changes was changed, and it is planned again.",
            )?;
        }
        self.requeue_overlay();
        Ok(())
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
    scene: &mut Scene,
    commands: &[Command],
    blobs: &BlobStore,
) -> Result<(), Refusal> {
    for command in commands {
        let command = relocate_command(scene, command.clone())?;
        try_command(scene, &command, blobs)?;
    }
    Ok(())
}
