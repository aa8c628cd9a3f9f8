//! Reverts applied proposals: by inverse commands, and by restoring exact bytes where those are
//! known.

use scene_schemas::Refusal;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Ack, Proposal};
use scene_schemas::refusal::refuse;
use scene_schemas::{Command, Fingerprint};
use serde_json::Value as Json;
use vector_core::proposal::{ProposalDraft, draft_by_path, relocate_command, target_fingerprint};
use vector_core::tools::Plan;
use vector_core::workflow::{PendingStatus, Workflow};
use vector_files::place_file::{PlaceFile, RestorePatches};
use vector_ledger::Ledger;
use vector_place::BytePatch;
use vector_rojo_project::StepJournal;

use crate::planner::Planner;
use crate::target::ApprovedProposal;
use crate::workflow_state::WorkflowCache;
use crate::{Engine, EngineError, required_blobs};

impl Engine {
    pub(crate) fn plan_revert(
        &mut self,
        call: Seq,
        args: &Json,
        base: &Fingerprint,
    ) -> Result<Result<Plan, Refusal>, EngineError> {
        let Some(seq) = args.get("proposal").and_then(Json::as_u64).map(Seq) else {
            return Ok(refuse!(
                "`proposal` must be the ID of a proposal; `vector log` lists them."
            ));
        };
        let (title, ack) = match find_ack(&mut self.reverted_runs, self.executor.ledger(), seq)? {
            Ok(found) => found,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let here = self.target.driver().recorded_file();
        if ack.file != here {
            let named = |file: &Option<String>| {
                file.clone().unwrap_or_else(|| "a place that is open in Studio".to_owned())
            };
            let (there, here) = (named(&ack.file), named(&here));
            return Ok(refuse!("Proposal {seq} changed {there}, which is not {here}."));
        }
        self.load_blobs(required_blobs(&ack.inverse))?;
        self.load_blobs(
            ack.files.iter().flat_map(|files| required_blobs(&files.inverse)).collect(),
        )?;
        if let Some(files) = &ack.files
            && let Err(refusal) = self.check_files_unchanged(call, files)
        {
            let why = refusal.for_person();
            return Ok(refuse!("Proposal {seq} cannot be reverted: {why}"));
        }
        // Only for place files: a project's instances may be in another order when they are read
        // again.
        let is_as_left = ack.after.as_ref() == self.place_file().map(PlaceFile::hash);
        self.planner.scene.begin_scope(call);
        let Planner { scene, blobs, .. } = &mut self.planner;
        let mut draft = ProposalDraft::new(scene, blobs);
        draft.set_title(format!("Revert proposal {seq}: {title}"));
        draft.mark_as_inverse();
        let witnesses = ack.witnesses.into_iter().chain(std::iter::repeat(None));
        for (command, left) in ack.inverse.into_iter().zip(witnesses) {
            if let Err(refusal) = draft_inverse(&mut draft, command, left.as_ref(), is_as_left) {
                let why = refusal.for_person();
                return Ok(refuse!("Proposal {seq} cannot be reverted: {why}"));
            }
        }
        if let Some(files) = ack.files
            && let Err(refusal) = draft_by_path(&mut draft, files.inverse)
        {
            let why = refusal.for_person();
            return Ok(refuse!("Proposal {seq} cannot be reverted: {why}"));
        }
        Ok(draft.finish(base).map(|mut proposal| {
            proposal.from = Some(seq);
            Plan::Propose(Box::new(proposal), Json::Null)
        }))
    }
}

impl Engine {
    /// Checks that the files that a proposal wrote beside an open place are still as it left them.
    pub(crate) fn check_files_unchanged(&mut self, call: Seq, files: &Ack) -> Result<(), Refusal> {
        match self.target.driver_mut().live_mut() {
            Some(live) => live.check_files_unchanged(call, files, &self.planner.blobs),
            None => Ok(()),
        }
    }
}

/// Drafts one command of an inverse. The file may have changed, and so may its instance ids. Paths,
/// fingerprints and witnesses tell whether the command still targets what it was made for.
pub(crate) fn draft_inverse(
    draft: &mut ProposalDraft<'_>,
    command: Command,
    left: Option<&Fingerprint>,
    is_as_left: bool,
) -> Result<(), Refusal> {
    let is_delete = matches!(command, Command::Delete { .. });
    let is_there = draft.scene().locate(command.target()).is_ok();
    if draft.scene().is_open_in_studio() && is_there {
        // Studio keeps an instance's id while it runs, whatever happens to its siblings.
        return draft.push_command(command).map(drop);
    }
    let path = &command.target().path;
    if draft.scene().is_open_in_studio()
        && path.segments.iter().any(|segment| segment.index.is_some())
    {
        return refuse!(
            "{path} matches several instances, and Studio was closed since, so it is not known \
             which of them was changed. Change it by hand."
        );
    }
    let is_known = is_as_left && is_there;
    // The instances of a place file have the same numbers if it has the same bytes.
    let is_located = is_known && matches!(command, Command::SetMany { .. });
    let command =
        if is_located { command } else { relocate_command(draft.scene(), command, draft.blobs())? };
    if left.is_some()
        && (is_delete || !is_known)
        && target_fingerprint(draft.scene(), &command, draft.blobs())?.as_ref() != left
    {
        let path = &command.target().path;
        let subject = match &command {
            Command::SetMany { .. } => {
                format!("One of several instances of the same name below {path}")
            }
            _ => path.to_string(),
        };
        return refuse!(
            "{subject} has changed since. Revert that change first, or change it by hand."
        );
    }
    draft.push_command(command).map(drop)
}

/// Returns the proposals that these proposals revert, in order, with a None for each that reverts
/// nothing.
fn reverted_proposals(proposals: &[ApprovedProposal<'_>]) -> Vec<Option<Seq>> {
    let of = |proposal: &Proposal| {
        let mut back: Vec<Option<Seq>> = proposal.reverted_proposals().map(Some).collect();
        if back.is_empty() {
            back.push(None);
        }
        back
    };
    proposals.iter().flat_map(|(.., proposal)| of(proposal)).collect()
}

/// Returns the journals of the project steps that these proposals revert, newest first. None if
/// they revert anything else, or only part of a step.
pub(crate) fn collect_steps(
    ledger: &Ledger,
    proposals: &[ApprovedProposal<'_>],
) -> Result<Option<Vec<StepJournal>>, EngineError> {
    let (mut steps, mut runs) = (Vec::new(), WorkflowCache::default());
    let mut left = reverted_proposals(proposals);
    while let Some(first) = left.first().copied() {
        let Some(Ok((_, ack))) = first.map(|seq| find_ack(&mut runs, ledger, seq)).transpose()?
        else {
            return Ok(None);
        };
        let record = match &ack.bytes {
            Some(bytes) => ledger.read_blob(&bytes.patch)?,
            None => None,
        };
        let Some(step) = record.as_deref().and_then(StepJournal::from_bytes) else {
            return Ok(None);
        };
        let together = applied_together(&mut runs, ledger, first.unwrap_or(Seq(0)), &ack)?;
        if !together.iter().all(|seq| left.contains(&Some(*seq))) {
            return Ok(None);
        }
        left.retain(|seq| seq.is_none_or(|seq| !together.contains(&seq)));
        steps.push(step);
    }
    Ok(Some(steps))
}

/// Returns the patches that restore the old bytes of a file. None unless these proposals revert
/// everything that made the file what it is now.
pub(crate) fn collect_patches(
    ledger: &Ledger,
    file: &Fingerprint,
    proposals: &[ApprovedProposal<'_>],
) -> Result<Option<RestorePatches>, EngineError> {
    let mut back = RestorePatches { patches: Vec::new(), hash: file.clone() };
    let mut runs = WorkflowCache::default();
    let mut left = reverted_proposals(proposals);
    while let Some(first) = left.first().copied() {
        let Some(Ok((_, ack))) = first.map(|seq| find_ack(&mut runs, ledger, seq)).transpose()?
        else {
            return Ok(None);
        };
        let Some(bytes) = ack.bytes.as_ref().filter(|_| Some(&back.hash) == ack.after.as_ref())
        else {
            return Ok(None);
        };
        let Some(patch) =
            ledger.read_blob(&bytes.patch)?.as_deref().and_then(BytePatch::from_bytes)
        else {
            return Ok(None);
        };
        let together = applied_together(&mut runs, ledger, first.unwrap_or(Seq(0)), &ack)?;
        if !together.iter().all(|seq| left.contains(&Some(*seq))) {
            return Ok(None);
        }
        left.retain(|seq| seq.is_none_or(|seq| !together.contains(&seq)));
        back.patches.push(patch);
        back.hash = bytes.hash.clone();
    }
    Ok(Some(back))
}

/// Returns the run of an entry; None if there is no such entry.
fn run_of<'a>(
    runs: &'a mut WorkflowCache,
    ledger: &Ledger,
    seq: Seq,
) -> Result<Option<&'a Workflow>, EngineError> {
    let Some(record) = ledger.record_at(seq)? else {
        return Ok(None);
    };
    Ok(runs.current_state(ledger, record.workflow)?.workflow(record.workflow))
}

/// Returns the proposals that were applied in one step with another.
fn applied_together(
    runs: &mut WorkflowCache,
    ledger: &Ledger,
    seq: Seq,
    ack: &Ack,
) -> Result<Vec<Seq>, EngineError> {
    let is_together = |status: &PendingStatus| match status {
        PendingStatus::Applied(other) => (&other.after, &other.bytes) == (&ack.after, &ack.bytes),
        _ => false,
    };
    let proposals = run_of(runs, ledger, seq)?.into_iter().flat_map(Workflow::proposals);
    Ok(proposals.filter(|(_, it)| is_together(&it.status)).map(|(seq, _)| seq).collect())
}

/// Returns the title and ack of an applied proposal.
pub fn find_applied_ack(
    ledger: &Ledger,
    seq: Seq,
) -> Result<Result<(String, Ack), Refusal>, EngineError> {
    find_ack(&mut WorkflowCache::default(), ledger, seq)
}

/// Returns the title and ack of an applied proposal. Its run is read only once for several.
fn find_ack(
    runs: &mut WorkflowCache,
    ledger: &Ledger,
    seq: Seq,
) -> Result<Result<(String, Ack), Refusal>, EngineError> {
    let Some(run) = run_of(runs, ledger, seq)? else {
        return Ok(refuse!("The ledger has no entry {seq}; `vector log` lists its entries."));
    };
    if run.is_erased {
        return Ok(refuse!(
            "The changes of proposal {seq} were erased (`vector forget`), so it cannot be reverted."
        ));
    }
    let pending = run.proposal(seq).map(|pending| (&pending.proposal, &pending.status));
    Ok(match pending {
        Some((proposal, PendingStatus::Applied(ack))) => {
            Ok((proposal.title.clone(), ack.as_ref().clone()))
        }
        Some((_, PendingStatus::Undone(_))) => {
            refuse!("Proposal {seq} was undone in Studio; redo it there to reapply it.")
        }
        Some(_) => {
            refuse!("Proposal {seq} was never applied, so there is nothing to revert.")
        }
        None => refuse!("Entry {seq} is not a proposal; `vector log` lists the proposals."),
    })
}
