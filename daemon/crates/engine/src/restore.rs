//! Restores a checkpoint: reverts all that Vector applied in a place since then, newest first, as
//! one proposal.
//!
//! Changes by others (the user, another plugin, Team Create, another program) are not in the ledger
//! and stay. If they conflict with the restore, the plan is refused and the refusal names the
//! conflict.

use std::collections::{HashMap, HashSet, hash_map};

use scene_schemas::Refusal;
use scene_schemas::entry::{Entry, Place, Seq};
use scene_schemas::proposal::Ack;
use scene_schemas::refusal::refuse;
use scene_schemas::{Command, Fingerprint};
use serde_json::Value as Json;
use vector_core::proposal::{ProposalDraft, draft_by_path};
use vector_core::tools::Plan;
use vector_core::workflow::{LedgerState, PendingStatus};
use vector_ledger::Ledger;
use vector_place::count_noun;

use crate::conversation;
use crate::planner::Planner;
use crate::revert::draft_inverse;
use crate::target::TargetDriver;
use crate::workflow_state;
use crate::{Engine, EngineError, required_blobs};

/// The suffix of a title when others may have changed the place too.
const OTHERS_STAY: &str = "changes by others stay";

impl Engine {
    pub(crate) fn plan_restore(
        &mut self,
        call: Seq,
        args: &Json,
        base: &Fingerprint,
    ) -> Result<Result<Plan, Refusal>, EngineError> {
        let Some(checkpoint) = args.get("checkpoint").and_then(Json::as_u64).map(Seq) else {
            return Ok(refuse!("`checkpoint` must be the ID of a checkpoint of this place."));
        };
        let all =
            match list_applied_since(self.executor.ledger(), checkpoint, &self.target.place())? {
                Ok(all) => all,
                Err(refusal) => return Ok(Err(refusal)),
            };
        let title = |since: &[AppliedChange]| self.restore_title(checkpoint, &all, since);
        let since = without_reverted(&all);
        if since.is_empty() {
            return Ok(refuse!(
                "Nothing that Vector applied since checkpoint {checkpoint} remains to be reverted. A checkpoint \
                 does not include changes by others: use Studio's undo or your version control."
            ));
        }
        let title = title(&since);
        for AppliedChange { ack, .. } in &since {
            self.load_blobs(required_blobs(&ack.inverse))?;
            self.load_blobs(
                ack.files.iter().flat_map(|files| required_blobs(&files.inverse)).collect(),
            )?;
        }
        if let Some((seq, files)) = since
            .first()
            .and_then(|AppliedChange { seq, ack, .. }| Some((seq, ack.files.as_ref()?)))
            && let Err(refusal) = self.check_files_unchanged(call, files)
        {
            let why = refusal.for_person();
            return Ok(refuse!("Proposal {seq} cannot be reverted: {why}"));
        }
        // The hashes of the place on its way back, as far as they are known.
        let mut known: Vec<Fingerprint> =
            self.place_file().map(|file| file.hash().clone()).into_iter().collect();
        self.planner.scene.begin_scope(call);
        let Planner { scene, blobs, .. } = &mut self.planner;
        let mut draft = ProposalDraft::new(scene, blobs);
        draft.set_title(title);
        draft.mark_as_inverse();
        let takes_back = since.iter().map(|it| it.seq).collect();
        for AppliedChange { seq, ack, .. } in since {
            let is_as_left = ack.after.as_ref().is_some_and(|after| known.contains(after));
            if is_as_left {
                known.extend(ack.before);
            }
            let in_files = ack.files.map(|files| files.inverse).unwrap_or_default();
            let witnesses = ack.witnesses.into_iter().chain(std::iter::repeat(None));
            let mut own = ack.inverse.into_iter().zip(witnesses);
            let went = own.try_for_each(|(command, left)| {
                draft_inverse(&mut draft, command, left.as_ref(), is_as_left)
            });
            if let Err(refusal) = went.and_then(|()| draft_by_path(&mut draft, in_files)) {
                let why = refusal.for_person();
                return Ok(refuse!("Proposal {seq} cannot be reverted: {why}"));
            }
        }
        Ok(draft.finish(base).map(|mut proposal| {
            proposal.reverts = takes_back;
            Plan::Propose(Box::new(proposal), Json::Null)
        }))
    }

    /// Returns the proposal's title. For files it is known whether others changed them; for an open
    /// place it is not.
    fn restore_title(
        &self,
        checkpoint: Seq,
        all: &[AppliedChange],
        since: &[AppliedChange],
    ) -> String {
        let back = count_noun(since.len(), "proposal", "proposals");
        let title = format!("Restore checkpoint {checkpoint}: reverts {back}");
        let now = self.target.driver().direct().map(TargetDriver::plan_base);
        let is_others = now.is_none_or(|now| !is_unbroken(&now, all));
        if is_others { format!("{title}; {OTHERS_STAY}") } else { title }
    }
}

/// A proposal that was applied since the checkpoint.
#[derive(Debug, Clone)]
struct AppliedChange {
    seq: Seq,
    ack: Ack,
    /// The proposals that it reverted itself.
    takes_back: Vec<Seq>,
}

/// Leaves out the changes that were reverted already, and the changes that reverted them. A change
/// that reverted something from before the checkpoint stays.
fn without_reverted(all: &[AppliedChange]) -> Vec<AppliedChange> {
    let known: HashMap<Seq, &AppliedChange> = all.iter().map(|it| (it.seq, it)).collect();
    let mut gone: HashSet<Seq> = HashSet::new();
    for since in all {
        let took = |seq: &Seq| {
            !gone.contains(seq) && known.get(seq).is_some_and(|it| it.ack.file == since.ack.file)
        };
        let is_both = !gone.contains(&since.seq) && !since.takes_back.is_empty();
        if is_both && since.takes_back.iter().all(took) {
            gone.insert(since.seq);
            gone.extend(&since.takes_back);
        }
    }
    all.iter().filter(|it| !gone.contains(&it.seq)).cloned().collect()
}

/// Whether only Vector changed the place: each change, newest first, left the state that the next
/// one, or now the place, begins with.
fn is_unbroken(now: &Fingerprint, all: &[AppliedChange]) -> bool {
    let mut expected = Some(now);
    for (at, AppliedChange { ack, .. }) in all.iter().enumerate() {
        // Proposals that were applied together name the same states.
        let newer = at.checked_sub(1).map(|at| &all[at].ack);
        if newer.is_some_and(|it| it.after == ack.after && it.before == ack.before) {
            continue;
        }
        if ack.after.as_ref() != expected {
            return false;
        }
        expected = ack.before.as_ref();
    }
    true
}

/// Lists the proposals that were applied in a place since an entry, newest first.
fn list_applied_since(
    ledger: &Ledger,
    since: Seq,
    here: &Place,
) -> Result<Result<Vec<AppliedChange>, Refusal>, EngineError> {
    let mut found = Vec::new();
    let mut states: HashMap<Seq, LedgerState> = HashMap::new();
    for record in ledger.read(since, usize::MAX)? {
        let Entry::Applied { proposal, .. } = record.entry else {
            continue;
        };
        let state = match states.entry(record.workflow) {
            hash_map::Entry::Occupied(known) => known.into_mut(),
            hash_map::Entry::Vacant(new) => {
                new.insert(workflow_state::read_workflow(ledger, record.workflow)?)
            }
        };
        let workflow = state.workflow(record.workflow);
        let workflow = workflow.filter(|it| conversation::is_same_place(&it.place, here));
        if workflow.is_some_and(|it| it.is_erased) {
            return Ok(refuse!(
                "The changes of proposal {proposal} were erased (`vector forget`), so checkpoints \
                 before it cannot be restored."
            ));
        }
        let pending = workflow.and_then(|it| it.proposal(proposal));
        // The memory is not part of the place.
        if let Some(pending) = pending
            && let PendingStatus::Applied(ack) = &pending.status
            && !ack.inverse.iter().any(Command::is_memory)
        {
            let takes_back = pending.proposal.reverted_proposals().collect();
            found.push(AppliedChange { seq: proposal, ack: ack.as_ref().clone(), takes_back });
        }
    }
    found.reverse();
    Ok(Ok(found))
}
