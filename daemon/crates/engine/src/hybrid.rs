//! An open place that Rojo syncs with a project which is open as well: what Rojo owns goes to the
//! project's files, the rest to Studio, and both or neither is done.
//!
//! Files come first, because they can be put back without anybody's help: Studio is given its part when
//! they are written, and where it does not do it, they become what they were. What is written is ahead of
//! Studio until Rojo has synced it; until then it is laid over the mirror, so that nobody plans on what
//! is no more.

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

/// The projects beside an open place, and what was written to their files.
#[derive(Debug, Default)]
pub(super) struct LinkedProjects {
    projects: Vec<LinkedProject>,
    /// The moment before what is ahead was laid over the mirror.
    overlay_mark: Option<JournalMark>,
    unsynced: Vec<UnsyncedWrites>,
    /// The project that the place was last known to be synced with: what was planned then knows it.
    last_linked: Option<String>,
}

#[derive(Debug)]
struct LinkedProject {
    project: RojoProject,
    scene: Scene,
    /// Whether the open place is synced with it, as far as could be seen.
    is_linked: bool,
    /// What the open place shows of it.
    synced_scripts: Option<SyncedScripts>,
}

impl LinkedProject {
    /// Takes what was read of the files.
    fn replace_scene(&mut self, scene: Scene) {
        self.scene = scene;
        self.synced_scripts = None;
    }
}

/// What was written to files, and Studio has not shown yet.
#[derive(Debug)]
struct UnsyncedWrites {
    call: Seq,
    commands: Vec<Command>,
}

impl LinkedProjects {
    /// Nothing is known of the open place any more.
    pub(super) fn reset_links(&mut self) {
        self.overlay_mark = None;
        // What it is called there may be somebody else by now.
        self.unsynced.clear();
        for beside in &mut self.projects {
            (beside.is_linked, beside.synced_scripts) = (false, None);
        }
    }

    /// The scene of a project, by its file.
    pub(super) fn project_scene(&mut self, project: &str) -> Option<&mut Scene> {
        let found = self.projects.iter_mut().find(|beside| beside.project.name() == project);
        found.map(|beside| &mut beside.scene)
    }

    fn active_index(&self) -> Option<usize> {
        self.projects.iter().position(|beside| beside.is_linked)
    }
}

impl Engine {
    /// Says that a project is open as well, with which the open place may be synced.
    pub fn add_linked_project(&mut self, project: RojoProject, scene: Scene) {
        self.linked_projects.projects.push(LinkedProject {
            project,
            scene,
            is_linked: false,
            synced_scripts: None,
        });
    }

    /// The project that the open place is synced with.
    pub fn linked_project(&self) -> Option<&RojoProject> {
        self.linked_projects.active_index().map(|at| &self.linked_projects.projects[at].project)
    }

    /// What a script says as it stands there, and where files of a project hold it, what these say: they
    /// come first. Nobody is asked for what is not known.
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

    /// Looks which project the open place is synced with. What waited before that was known is planned
    /// again.
    ///
    /// # Errors
    /// The ledger cannot be used.
    pub fn detect_linked_project(&mut self) -> Result<(), EngineError> {
        let is_known = self.linked_projects.projects.is_empty()
            || self.linked_projects.active_index().is_some();
        // What is on trial may have moved what is looked for.
        if is_known || !self.overlay.is_empty() || !self.scene.is_tree_complete() {
            return Ok(());
        }
        let Some(place) = self.studio().map(|studio| studio.place().place.place_id) else {
            return Ok(());
        };
        let open = &self.scene;
        let is_of =
            |beside: &&mut LinkedProject| beside.project.is_synced_with(place, open, &beside.scene);
        let Some(beside) = self.linked_projects.projects.iter_mut().find(is_of) else {
            return Ok(());
        };
        beside.is_linked = true;
        let name = Some(beside.project.name());
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

    /// What waits to be done, with what of it goes to files.
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
        let Some((workflow, _)) = self.find_proposal(seq) else {
            return Ok(());
        };
        let moved = WorkflowInput::Moved { reason: reason.to_owned(), not_done: Vec::new() };
        self.with_workflow(workflow, |engine| engine.handle_input(moved)).map(drop)
    }

    /// Says of a proposal in an open place what of it goes to files.
    ///
    /// # Errors
    /// Neither files nor Studio can do it alone.
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
        let beside = &mut self.linked_projects.projects[at];
        let mark = beside.scene.journal_mark();
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

    /// What of a proposal goes to files, which is done in the project's scene afterwards, on top of all
    /// that waits; and what Studio does below what they are all of.
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

    /// Warns of a change of scripts in a place that Rojo syncs, while its project is not known here.
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

    /// Writes what of an approved proposal goes to files, once it is on record; false where that was not
    /// done, which is on record then, and nothing was changed.
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
            return self.fail_proposal(seq, reason.to_owned());
        };
        let LinkedProject { project, scene, .. } = &mut self.linked_projects.projects[at];
        let start = scene.journal_mark();
        let prepared = project.prepare_proposals(scene, &[(seq, call, &own)], &self.blobs, None);
        let mut prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error @ PlaceError::Changed { .. }) => {
                return self.rebase_on_files(seq, at, &error);
            }
            Err(error) => return self.fail_proposal(seq, error.to_string()),
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
        if let Err(error) = self.handle_with_blobs(applying, blobs) {
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
                    // What is neither done nor undone is put back before anything else, and said then.
                    PlaceError::PartlyApplied { .. } => Ok(false),
                    error => self.fail_proposal(seq, error.to_string()),
                }
            }
        }
    }

    /// The part of a proposal that goes to files, as a proposal of its project's own.
    fn file_part(&self, proposal: &Proposal) -> Option<(usize, Proposal)> {
        let files = proposal.files.as_ref()?;
        let is_it = |it: &LinkedProject| it.project.name() == files.project;
        let at = self.linked_projects.projects.iter().position(is_it)?;
        let commands = files.commands.clone();
        let own = Proposal { commands, files: None, after: Vec::new(), ..proposal.clone() };
        Some((at, own))
    }

    /// Goes on with the files as somebody else left them.
    fn rebase_on_files(
        &mut self,
        seq: Seq,
        at: usize,
        why: &PlaceError,
    ) -> Result<bool, EngineError> {
        let reason = format!("{why} It is planned again on what is there now.");
        self.handle_input(WorkflowInput::Moved { reason, not_done: vec![seq] })?;
        self.follow_project(at, &FileChanges::All)?;
        Ok(false)
    }

    fn fail_proposal(&mut self, seq: Seq, reason: String) -> Result<bool, EngineError> {
        self.handle_input(WorkflowInput::Failed { proposals: vec![seq], reason })?;
        Ok(false)
    }

    /// Goes on where a proposal does not fit what is there: it is planned again. Where files are ahead of
    /// Studio, and so what was planned is not what Studio has, or not all files could be put back,
    /// it is given up, for the next plan would be the same.
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
        self.handle_input(input).map(drop)
    }

    /// Notes that a proposal is done of which Studio does nothing.
    pub(super) fn complete_in_files(
        &mut self,
        seq: Seq,
        call: Seq,
        proposal: &Proposal,
    ) -> Result<(), EngineError> {
        let status = self.find_proposal(seq).map(|(_, it)| it.status.clone());
        if let Some(PendingStatus::Applying(ack)) = status {
            self.handle_input(WorkflowInput::Acted { proposal: seq, ack })?;
            self.record_unsynced(call, proposal);
            self.requeue_overlay();
        }
        Ok(())
    }

    /// Follows the files of the projects beside an open place: what waits is tried again on them, and what
    /// would change a file that is another one now is planned again.
    ///
    /// # Errors
    /// The ledger cannot be used.
    pub fn follow_projects(&mut self, heard: &FileChanges) -> Result<(), EngineError> {
        (0..self.linked_projects.projects.len()).try_for_each(|at| self.follow_project(at, heard))
    }

    fn follow_project(&mut self, at: usize, heard: &FileChanges) -> Result<(), EngineError> {
        let beside = &mut self.linked_projects.projects[at];
        let before = beside.project.hashed_files();
        // A project that cannot be read now is read again before anything is written.
        let Ok(Some(scene)) = beside.project.follow_changes(heard) else {
            return Ok(());
        };
        beside.replace_scene(scene);
        let after = beside.project.hashed_files();
        let is_same = |file: &&String| before.get(*file) == after.get(*file);
        let all = before.keys().chain(after.keys());
        let changed: BTreeSet<String> = all.filter(|file| !is_same(file)).cloned().collect();
        let name = beside.project.name();
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

/// Whether what waits would take away something that nobody has seen: a text says what it was, and the
/// rest of a file does not.
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

/// Does commands in the scene of a project, with instances found by their paths.
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
