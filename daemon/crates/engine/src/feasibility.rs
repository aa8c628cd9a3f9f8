//! Checks that a project's files can represent a proposal, and that pending proposals still do what
//! the user was shown.
//!
//! The user is only asked about proposals that can be applied.

use std::collections::BTreeMap;

use scene_schemas::Refusal;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Proposal, Warning, WarningKind, name_files};
use scene_schemas::{Command, Fingerprint, FingerprintHasher};
use vector_core::tools::{self, Plan, ToolSpec};
use vector_core::workflow::{PendingStatus, WorkflowInput};
use vector_providers::ProviderKind;
use vector_rojo_project::{FileEffects, RojoProject};

use crate::revert::find_restore_source;
use crate::target::RestoreSource;
use crate::{Engine, EngineError, Target, ToolDriver};

impl Engine {
    /// Refuses a proposal for a project that its files cannot represent. For an open place, it
    /// determines the part of the proposal that goes to files.
    pub(super) fn check_files_can_represent(
        &mut self,
        workflow: Seq,
        call: Seq,
        result: Result<Plan, Refusal>,
        before: &BTreeMap<String, Option<Fingerprint>>,
    ) -> Result<Result<Plan, Refusal>, EngineError> {
        let (proposal, answer) = match result {
            Ok(Plan::Propose(proposal, answer)) if self.studio().is_some() => {
                let parted = self.split_proposal(call, *proposal);
                let parted = parted.and_then(|it| self.warn_generated_files(workflow, it));
                return Ok(parted.map(|it| Plan::Propose(Box::new(it), answer)));
            }
            Ok(Plan::Propose(proposal, answer)) => (proposal, answer),
            other => return Ok(other),
        };
        let goes_back = self.is_exact_revert(&proposal)?;
        let named = match self.attach_file_effects(*proposal.clone(), before) {
            Ok(proposal) => proposal,
            // An exact revert restores the old files, whatever they held.
            Err(_) if goes_back => *proposal,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let warned = if goes_back { Ok(named) } else { self.warn_generated_files(workflow, named) };
        Ok(warned.map(|it| Plan::Propose(Box::new(it), answer)))
    }

    /// Returns the file changes that are pending in a project before a call is planned; empty if no
    /// proposal is pending.
    pub(super) fn file_hashes_before(&self, tool: &str) -> BTreeMap<String, Option<Fingerprint>> {
        let reads = tools::find_tool(tool).is_ok_and(ToolSpec::is_read);
        match &self.target {
            Target::Project(project) if !reads && !self.overlay.is_empty() => {
                project.planned_hashes(&self.scene).unwrap_or_default()
            }
            _ => BTreeMap::new(),
        }
    }

    /// Adds to a proposal the project files that it changes, and a warning for files that stay
    /// although their instances are deleted.
    pub(super) fn attach_file_effects(
        &self,
        mut proposal: Proposal,
        before: &BTreeMap<String, Option<Fingerprint>>,
    ) -> Result<Proposal, Refusal> {
        let Target::Project(project) = &self.target else {
            return Ok(proposal);
        };
        let FileEffects { changed, retained: kept } = project.file_effects(&self.scene)?;
        let is_new = |(name, hash): &(String, _)| before.get(name) != Some(hash);
        proposal.writes = changed.into_iter().filter(is_new).map(|(name, _)| name).collect();
        let deletes = proposal.commands.iter().any(|it| matches!(it, Command::Delete { .. }));
        if deletes && !kept.is_empty() {
            let files = name_files(&kept);
            let text = format!(
                "{files} stays on the disk: the project file names it by $path, and only that entry goes. Delete \
                 it yourself if it is not needed any more."
            );
            proposal.warnings.push(Warning { kind: WarningKind::FilesStay, text });
        }
        Ok(proposal)
    }

    /// Warns of files that another tool will overwrite. A model is refused once per file and task,
    /// so that it changes the source file instead.
    pub(super) fn warn_generated_files(
        &self,
        workflow: Seq,
        mut proposal: Proposal,
    ) -> Result<Proposal, Refusal> {
        let (project, files) = match (&self.target, &proposal.files) {
            (Target::Project(project), _) => (Some(&**project), &proposal.writes),
            (_, Some(files)) => (self.linked_project(), &files.files),
            _ => return Ok(proposal),
        };
        let found = project.map(|it| it.generated_files(files)).unwrap_or_default();
        let is_model = !matches!(
            self.driver(workflow),
            None | Some(ToolDriver::Calls | ToolDriver::Provider(ProviderKind::Offline))
        );
        let was_warned = |file: &str| {
            let prefix = format!("{file} is written by");
            self.workflow(workflow)
                .is_some_and(|it| it.refusals().any(|(_, reason)| reason.contains(&prefix)))
        };
        if let Some(first) = found.iter().find(|it| is_model && !was_warned(&it.file)) {
            return Err(Refusal(format!(
                "{} Nothing was proposed. Tell the person which source to change, or change it yourself where it is \
                 an instance of this place. If the person wants this very file changed, make the same call again.",
                first.to_warning()
            )));
        }
        for it in &found {
            let warning = Warning { kind: WarningKind::Generated, text: it.to_warning() };
            proposal.warnings.push(warning);
        }
        Ok(proposal)
    }

    /// Fingerprints the script texts that proposals would delete. A deletion itself only expects a
    /// class, a name and a count.
    pub(super) fn fingerprint_deleted_texts(
        &self,
        proposals: &[Seq],
    ) -> BTreeMap<Seq, Fingerprint> {
        let mut taken = BTreeMap::new();
        for seq in proposals {
            let Some((_, pending)) = self.find_proposal(*seq) else {
                continue;
            };
            let mut hashing = FingerprintHasher::default();
            for command in &pending.proposal.commands {
                let Command::Delete { target, .. } = command else {
                    continue;
                };
                let Ok(root) = self.scene.resolve(&target.path) else {
                    continue;
                };
                for node in self.scene.subtree(root).filter(|node| self.scene.is_script(*node)) {
                    hashing.update(self.scene.path(node).to_string().as_bytes());
                    hashing.update(&[0]);
                    hashing.update(self.scene.script_text(node).unwrap_or_default().as_bytes());
                    hashing.update(&[0]);
                }
            }
            taken.insert(*seq, hashing.finish());
        }
        taken
    }

    /// Replans the proposals that would now delete other texts than before.
    pub(super) fn replan_changed_deletions(
        &mut self,
        before: &BTreeMap<Seq, Fingerprint>,
    ) -> Result<(), EngineError> {
        let proposals: Vec<Seq> = before.keys().copied().collect();
        let now = self.fingerprint_deleted_texts(&proposals);
        let reason = "A script that this deletes was changed, and it is planned again.";
        for seq in proposals.into_iter().filter(|seq| before.get(seq) != now.get(seq)) {
            let Some((workflow, pending)) = self.find_proposal(seq) else {
                continue;
            };
            if matches!(pending.status, PendingStatus::Waiting | PendingStatus::Approved) {
                let moved =
                    WorkflowInput::Moved { reason: reason.to_owned(), not_done: Vec::new() };
                self.handle_input(workflow, moved)?;
            }
        }
        Ok(())
    }

    /// Whether a proposal, together with all pending ones, reverts steps whose files are unchanged
    /// since. Then the files are restored exactly, whatever they held.
    fn is_exact_revert(&mut self, proposal: &Proposal) -> Result<bool, EngineError> {
        if !matches!(self.target, Target::Project(_)) || proposal.from.is_none() {
            return Ok(false);
        }
        let pending: Vec<Proposal> = self
            .overlay
            .iter()
            .filter_map(|(seq, _)| self.find_proposal(*seq))
            .map(|(_, pending)| pending.proposal.clone())
            .collect();
        let all = pending.iter().chain([proposal]);
        let all: Vec<(Seq, Seq, &Proposal)> = all.map(|it| (Seq(0), Seq(0), it)).collect();
        let back = find_restore_source(&self.ledger, &self.target, &all, &mut self.blobs)?;
        Ok(match back {
            RestoreSource::Project(steps) => RojoProject::can_revert(&steps, &self.blobs),
            RestoreSource::Unknown | RestoreSource::File(_) => false,
        })
    }
}
