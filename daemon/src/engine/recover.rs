//! What a stopped process left behind in a place: finished where it was approved, and said.

use std::path::Path;
use std::sync::Arc;

use scene_schemas::entry::{Entry, FilePlace, Finish, Place, Seq};
use scene_schemas::proposal::{Ack, Proposal};
use scene_schemas::{Command, Fingerprint};

use super::{Driver, Engine, EngineError, Listener};
use crate::core::proposal::attempt;
use crate::core::workflow::{Input, State, Status, Workflow};
use crate::ledger::{Lease, Ledger};
use crate::targets::place::{self, PlaceFile};

/// Settles the workflows that a stopped process left unfinished in a place file. A replacement of the
/// file that had happened is noted; what was approved and not done is done, while the file is what it
/// was; what nobody decided is withdrawn. Answers a sentence for each that mattered.
pub fn recover(ledger: &Arc<Ledger>, file: &Path) -> Result<Vec<String>, EngineError> {
    let mut notices = Vec::new();
    let Ok(file) = place::real(file) else {
        return Ok(notices);
    };
    let name = file.display().to_string();
    for record in ledger.unfinished()? {
        let Entry::Started { place: Place::File(place), .. } = &record.entry else {
            continue;
        };
        if *place.out.as_ref().unwrap_or(&place.file) != name && place.file != name {
            continue;
        }
        let Some(lease) = ledger.lease(record.seq)? else {
            continue;
        };
        notices.extend(settle(ledger, lease)?);
    }
    Ok(notices)
}

fn settle(ledger: &Arc<Ledger>, lease: Lease) -> Result<Vec<String>, EngineError> {
    let seq = lease.workflow();
    let records = ledger.workflow(seq)?;
    let mut state = State::default();
    for record in &records {
        state.apply(record);
    }
    let Some(workflow) = state.workflow(seq) else {
        return Ok(Vec::new());
    };
    let Place::File(place) = &workflow.place else {
        return Ok(Vec::new());
    };
    let input = Path::new(&place.file).to_owned();
    let out = place.out.as_ref().map(|out| Path::new(out).to_owned());
    let (base, started_with) = (last_hash(workflow, place), place.hash.clone());
    let replaced = to_replace(workflow, place);
    let had_written = workflow.proposals().any(|(_, it)| matches!(it.status, Status::Applied(_)));
    let source = if had_written { out.as_deref().unwrap_or(&input) } else { &input };
    let opened = match PlaceFile::open(source, out.as_deref()) {
        Ok((file, scene)) => (file.addressed_by_path(base != started_with), scene),
        Err(error) => {
            return Ok(vec![format!("Workflow {seq} was stopped and cannot go on: {error}.")]);
        }
    };
    let listener: Listener = Box::new(|_| {});
    let mut engine = Engine::idle(ledger, opened, listener);
    engine.resume(lease, &records, Driver::Calls);
    let mut notices = engine.settle_replaced()?;
    notices.extend(engine.settle_approved(&base, replaced.as_ref())?);
    engine.input(Input::Finish { outcome: Finish::Failed })?;
    Ok(notices)
}

/// The hash that the workflow last saw or left.
fn last_hash(workflow: &Workflow, place: &FilePlace) -> Fingerprint {
    let written = workflow.proposals().filter_map(|(_, pending)| match &pending.status {
        Status::Applied(ack) => ack.after.clone(),
        _ => None,
    });
    written.last().unwrap_or_else(|| place.hash.clone())
}

/// The hash that the file has which the workflow was to replace next.
fn to_replace(workflow: &Workflow, place: &FilePlace) -> Option<Fingerprint> {
    let has_written = workflow.proposals().any(|(_, it)| matches!(it.status, Status::Applied(_)));
    match &place.out {
        Some(_) if !has_written => place.replaces.clone(),
        _ => Some(last_hash(workflow, place)),
    }
}

impl Engine {
    /// Notes what had been done when the process stopped: the file is what it was to become.
    fn settle_replaced(&mut self) -> Result<Vec<String>, EngineError> {
        let now = self.file().and_then(|file| place::hash(file.output()).ok());
        // The memory is put in its place first; where the file stays as it is, only the memory tells.
        let is_remembered = self.is_memory_left();
        let done: Vec<Seq> = self.pending(|status| match status {
            Status::Applying(ack) => {
                now.is_some() && ack.after == now && (is_remembered || ack.before != ack.after)
            }
            _ => false,
        });
        if done.is_empty() {
            return Ok(Vec::new());
        }
        let say = |seq: &Seq| format!("Proposal {seq} had been applied when Vector was stopped.");
        let notices = done.iter().map(say).collect();
        self.input(Input::Applied(done))?;
        Ok(notices)
    }

    /// Does what was approved, while the file is what it was.
    fn settle_approved(
        &mut self,
        base: &Fingerprint,
        replaced: Option<&Fingerprint>,
    ) -> Result<Vec<String>, EngineError> {
        let approved: Vec<Seq> =
            self.pending(|status| matches!(status, Status::Approved | Status::Applying(_)));
        if approved.is_empty() {
            return Ok(Vec::new());
        }
        let is_as_left = |file: &PlaceFile| file.hash() == base && file.replaces() == replaced;
        if !self.file().is_some_and(is_as_left) {
            let was_begun = self.pending(|status| matches!(status, Status::Applying(_)));
            let reason = if was_begun.is_empty() {
                "The file was changed after this was approved; ask for it again."
            } else {
                "Vector was stopped while it wrote this, and the file was changed since: look whether \
                 it is there, and ask for it again where it is not."
            };
            let reason = reason.to_owned();
            self.input(Input::Failed { proposals: approved.clone(), reason: reason.clone() })?;
            return Ok(approved.iter().map(|seq| format!("Proposal {seq}: {reason}")).collect());
        }
        self.forget();
        self.apply(&approved)?;
        let say = |seq: &Seq| {
            let status = self.workflow().and_then(|it| it.proposal(*seq)).map(|it| &it.status);
            match status {
                Some(Status::Applied(_)) => {
                    format!(
                        "Proposal {seq} was approved before Vector was stopped; it is applied now."
                    )
                }
                Some(Status::Failed(reason)) => format!("Proposal {seq} was not applied: {reason}"),
                _ => format!("Proposal {seq} is not settled."),
            }
        };
        Ok(approved.iter().map(say).collect())
    }

    /// What is being applied, in order, with what will be said of it.
    fn applying(&self) -> Vec<(&Proposal, &Ack)> {
        let proposals = self.workflow().into_iter().flat_map(Workflow::proposals);
        let applying = proposals.filter_map(|(_, it)| match &it.status {
            Status::Applying(ack) => Some((&it.proposal, &**ack)),
            _ => None,
        });
        applying.collect()
    }

    /// Whether the memory is as what is being applied was to leave it.
    fn is_memory_left(&self) -> bool {
        let applying = self.applying();
        let outcomes = applying.iter().flat_map(|(it, ack)| it.commands.iter().zip(&ack.outcomes));
        let mut left = outcomes.filter(|(command, _)| command.is_memory());
        let now = self.scene.memory().map(|text| Fingerprint::of(text.as_bytes()));
        left.next_back().is_none_or(|(_, outcome)| outcome.fingerprint == now)
    }

    /// Takes the memory back in the scene, where it was written and the file was not: all is done
    /// again.
    fn forget(&mut self) {
        let inverses = self.applying().into_iter().rev().flat_map(|(_, ack)| ack.inverse.clone());
        let memory: Vec<Command> = inverses.filter(Command::is_memory).collect();
        for command in memory {
            // One that does not fit was not done, or somebody has changed it since: then it is refused.
            let _ = attempt(&mut self.scene, &command, &self.blobs);
        }
    }

    fn pending(&self, wanted: impl Fn(&Status) -> bool) -> Vec<Seq> {
        let Some(workflow) = self.workflow() else {
            return Vec::new();
        };
        workflow.proposals().filter(|(_, it)| wanted(&it.status)).map(|(seq, _)| seq).collect()
    }
}
