//! The files of a Rojo project as a target.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::MutexGuard;

use scene_schemas::entry::{Place, Seq};
use scene_schemas::proposal::{Proposal, Warning, WarningKind, name_files};
use scene_schemas::{Command, Fingerprint, Refusal};
use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::BlobStore;
use vector_files::place_file::PlaceError;
use vector_ledger::Ledger;
use vector_place::{Node, Scene};
use vector_rojo_project::{
    self, FileChanges, FileEffects, PreparedProject, RojoProject, StepJournal, StoredFiles,
};

use super::{
    ApplyContext, ApprovedProposal, CompletedPlan, DirectDriver, FileHashes, PlanContext,
    PreparedChange, ReadyChange, TargetDriver,
};
use crate::EngineError;
use crate::revert::collect_steps;

#[derive(Debug)]
pub struct RojoTarget {
    project: RojoProject,
    /// The new files under temporary names, between preparing and committing.
    stored: Option<StoredFiles>,
}

impl RojoTarget {
    pub(super) fn new(project: RojoProject) -> Self {
        Self { project, stored: None }
    }

    /// Adds to a proposal the project files that it changes, and a warning for files that stay
    /// although their instances are deleted.
    fn attach_file_effects(
        &self,
        mut proposal: Proposal,
        scene: &PlanningScene,
        before: &FileHashes,
    ) -> Result<Proposal, Refusal> {
        let FileEffects { changed, retained } = self.project.file_effects(scene)?;
        let is_new = |(name, hash): &(String, _)| before.get(name) != Some(hash);
        proposal.changed_files = changed.into_iter().filter(is_new).map(|(name, _)| name).collect();
        let deletes = proposal.commands.iter().any(|it| matches!(it, Command::Delete { .. }));
        if deletes && !retained.is_empty() {
            let files = name_files(&retained);
            let text = format!(
                "{files} stays on disk: the project file names it by $path, and only that entry is \
                 removed. Delete it yourself if it is no longer needed."
            );
            proposal.warnings.push(Warning { kind: WarningKind::FilesStay, text });
        }
        Ok(proposal)
    }
}

impl TargetDriver for RojoTarget {
    fn place(&self) -> Place {
        Place::Project(self.project.ledger_place())
    }

    fn plan_base(&self) -> Fingerprint {
        self.project.hash().clone()
    }

    fn direct(&self) -> Option<&dyn DirectDriver> {
        Some(self)
    }

    fn direct_mut(&mut self) -> Option<&mut dyn DirectDriver> {
        Some(self)
    }

    fn settings_folder(&self) -> Option<PathBuf> {
        Some(self.project.project_folder().to_owned())
    }

    fn recorded_file(&self) -> Option<String> {
        Some(self.project.name())
    }

    fn output_name(&self) -> String {
        self.project.name()
    }

    fn read_memory(&mut self) -> Option<String> {
        self.project.read_memory()
    }

    fn planned_files(&self, scene: &Scene) -> FileHashes {
        self.project.planned_hashes(scene).unwrap_or_default()
    }

    fn complete_plan(
        &mut self,
        proposal: Proposal,
        context: PlanContext<'_>,
    ) -> Result<Result<CompletedPlan, Refusal>, EngineError> {
        let PlanContext { scene, pending, files_before, blobs, ledger, .. } = context;
        let pending = pending.into_iter().map(|(_, proposal)| proposal);
        let is_exact = is_exact_revert(&proposal, pending, ledger, blobs)?;
        let proposal = match self.attach_file_effects(proposal.clone(), scene, files_before) {
            Ok(proposal) => proposal,
            // An exact revert restores the old files, whatever they held.
            Err(_) if is_exact => proposal,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let generated = if is_exact {
            Vec::new()
        } else {
            self.project.generated_files(&proposal.changed_files)
        };
        Ok(Ok(CompletedPlan { proposal, generated }))
    }

    fn script_files(&self) -> HashMap<Node, String> {
        self.project.script_files()
    }

    fn follow_changes(
        &mut self,
        changes: &FileChanges,
    ) -> Result<Option<PlanningScene>, PlaceError> {
        self.project.follow_changes(changes)
    }
}

impl DirectDriver for RojoTarget {
    fn lock_files(&self) -> Option<MutexGuard<'static, ()>> {
        Some(vector_rojo_project::lock_project_files())
    }

    fn prepare(
        &mut self,
        approved: &[ApprovedProposal<'_>],
        context: ApplyContext<'_>,
    ) -> Result<PreparedChange, EngineError> {
        let ApplyContext { scene, blobs, ledger } = context;
        let back = find_reverted_steps(ledger, approved, blobs)?;
        let PreparedProject { stored, refused } =
            self.project.prepare_proposals(scene, approved, blobs, back.as_deref())?;
        let ready = stored.map(|mut stored| {
            let acks = std::mem::take(&mut stored.acks);
            let blobs = std::mem::take(&mut stored.blobs);
            self.stored = Some(stored);
            ReadyChange { acks, blobs }
        });
        Ok(PreparedChange { ready, refused })
    }

    fn commit(&mut self, scene: &mut PlanningScene) -> Result<(), PlaceError> {
        if let Some(stored) = self.stored.take()
            && let Some(read) = self.project.commit_files(stored, scene)?
        {
            scene.replace_with(read);
        }
        Ok(())
    }

    fn abandon(&mut self) {
        self.stored = None;
    }

    fn reopen(&mut self) -> Option<Result<PlanningScene, PlaceError>> {
        Some(self.project.reopen().map(|(project, scene)| {
            *self = Self::new(project);
            scene
        }))
    }

    fn can_apply_after_change(&self) -> bool {
        true
    }

    fn is_as_left(&self, base: &Fingerprint, _replaced: Option<&Fingerprint>) -> bool {
        self.project.hash() == base
    }
}

/// Returns the journals of the steps that these proposals revert, newest first, and loads the blobs
/// that restoring their files needs. None if they revert anything else.
fn find_reverted_steps(
    ledger: &Ledger,
    proposals: &[ApprovedProposal<'_>],
    blobs: &mut BlobStore,
) -> Result<Option<Vec<StepJournal>>, EngineError> {
    let Some(steps) = collect_steps(ledger, proposals)? else {
        return Ok(None);
    };
    for hash in steps.iter().flat_map(StepJournal::required_blobs) {
        if let Some(bytes) = ledger.read_blob(hash)? {
            blobs.insert(hash.clone(), bytes);
        }
    }
    Ok(Some(steps))
}

/// Whether a proposal, together with all pending ones, reverts steps whose files are unchanged
/// since. Then the files are restored exactly, whatever they held.
fn is_exact_revert<'a>(
    proposal: &'a Proposal,
    pending: impl Iterator<Item = &'a Proposal>,
    ledger: &Ledger,
    blobs: &mut BlobStore,
) -> Result<bool, EngineError> {
    if proposal.from.is_none() {
        return Ok(false);
    }
    let all: Vec<ApprovedProposal<'_>> =
        pending.chain([proposal]).map(|it| (Seq(0), Seq(0), it)).collect();
    let steps = find_reverted_steps(ledger, &all, blobs)?;
    Ok(steps.is_some_and(|steps| RojoProject::can_revert(&steps, blobs)))
}
