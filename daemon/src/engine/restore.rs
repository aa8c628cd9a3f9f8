//! The way back to a checkpoint: all that Vector applied in a place since, newest first, as one proposal.
//!
//! What others changed meanwhile (the person, another plugin, Team Create, another program) is not in the
//! ledger and stays as it is; where that stands in the way, the plan is refused and says what does.

use std::collections::{HashMap, hash_map};

use scene_schemas::entry::{Entry, Place, Seq};
use scene_schemas::proposal::Ack;
use scene_schemas::{Command, Fingerprint};
use serde_json::Value as Json;

use super::revert::{for_person, go_back};
use super::{Engine, EngineError, restored, settled, thread};
use crate::core::Refusal;
use crate::core::proposal::{Draft, draft_by_path};
use crate::core::refusal::refuse;
use crate::core::scene::count;
use crate::core::tools::Plan;
use crate::core::workflow::{State, Status};
use crate::ledger::Ledger;

/// What a card says of changes that are not Vector's.
const OTHERS: &str = "what others changed stays";

impl Engine {
    /// Plans the way back to a checkpoint of this place.
    pub(super) fn plan_restore(
        &mut self,
        call: Seq,
        args: &Json,
        base: &Fingerprint,
    ) -> Result<Result<Plan, Refusal>, EngineError> {
        let Some(checkpoint) = args.get("checkpoint").and_then(Json::as_u64).map(Seq) else {
            return Ok(refuse!("`checkpoint` is the number of a checkpoint of this place."));
        };
        let since = match applied_since(&self.ledger, checkpoint, &self.target.place())? {
            Ok(since) => since,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if since.is_empty() {
            return Ok(refuse!(
                "Nothing that Vector applied since checkpoint {checkpoint} is left to be taken back. What \
                 others changed is no part of a checkpoint: use Studio's undo or your version control."
            ));
        }
        for (_, ack) in &since {
            self.fetch(restored(&ack.inverse))?;
            self.fetch(ack.files.iter().flat_map(|files| restored(&files.inverse)).collect())?;
        }
        if let Some((seq, files)) =
            since.first().and_then(|(seq, ack)| Some((seq, ack.files.as_ref()?)))
            && let Err(refusal) = self.are_files_as_left(call, files)
        {
            let why = for_person(&refusal.0);
            return Ok(refuse!("Proposal {seq} cannot be taken back: {why}"));
        }
        let title = self.title_of_restore(checkpoint, &since);
        // The states that the place has on its way back, as far as they are known.
        let mut known: Vec<Fingerprint> =
            self.file().map(|file| file.hash().clone()).into_iter().collect();
        self.scene.begin(call);
        let mut draft = Draft::new(&mut self.scene, &self.blobs);
        draft.title(title);
        draft.goes_back();
        for (seq, ack) in since {
            let is_as_left = ack.after.as_ref().is_some_and(|after| known.contains(after));
            if is_as_left {
                known.extend(ack.before);
            }
            let in_files = ack.files.map(|files| files.inverse).unwrap_or_default();
            let witnesses = ack.witnesses.into_iter().chain(std::iter::repeat(None));
            let mut own = ack.inverse.into_iter().zip(witnesses);
            let went = own.try_for_each(|(command, left)| {
                go_back(&mut draft, command, left.as_ref(), is_as_left)
            });
            if let Err(refusal) = went.and_then(|()| draft_by_path(&mut draft, in_files)) {
                let why = for_person(&refusal.0);
                return Ok(refuse!("Proposal {seq} cannot be taken back: {why}"));
            }
        }
        Ok(draft.finish(base).map(|proposal| Plan::Propose(Box::new(proposal), Json::Null)))
    }

    /// What the card is called. Of files it is known whether others changed them, of an open place it is
    /// not.
    fn title_of_restore(&self, checkpoint: Seq, since: &[(Seq, Ack)]) -> String {
        let back = count(since.len(), "proposal", "proposals");
        let title = format!("Go back to checkpoint {checkpoint}: takes back {back}");
        let now = match &self.target {
            super::Target::Open(_) => None,
            target => Some(target.base()),
        };
        let is_others = now.is_none_or(|now| !is_unbroken(&now, since));
        if is_others { format!("{title}; {OTHERS}") } else { title }
    }
}

/// Whether each change, newest first, left what the next one or the place now begins with.
fn is_unbroken(now: &Fingerprint, since: &[(Seq, Ack)]) -> bool {
    let mut expected = Some(now);
    for (at, (_, ack)) in since.iter().enumerate() {
        // Those that were applied together name the same states.
        let newer = at.checked_sub(1).map(|at| &since[at].1);
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

/// What was applied in a place since a position and still is, newest first.
fn applied_since(
    ledger: &Ledger,
    since: Seq,
    here: &Place,
) -> Result<Result<Vec<(Seq, Ack)>, Refusal>, EngineError> {
    let mut found = Vec::new();
    let mut states: HashMap<Seq, State> = HashMap::new();
    for record in ledger.read(since, usize::MAX)? {
        let Entry::Applied { proposal, .. } = record.entry else {
            continue;
        };
        let state = match states.entry(record.workflow) {
            hash_map::Entry::Occupied(known) => known.into_mut(),
            hash_map::Entry::Vacant(new) => new.insert(settled::read(ledger, record.workflow)?),
        };
        let workflow = state.workflow(record.workflow);
        let workflow = workflow.filter(|it| thread::is_same(&it.place, here));
        if workflow.is_some_and(|it| it.is_erased) {
            return Ok(refuse!(
                "What proposal {proposal} did since was erased (`vector forget`), so there is no way \
                 back to a checkpoint before it."
            ));
        }
        let pending = workflow.and_then(|it| it.proposal(proposal));
        // What is remembered is no part of the place.
        if let Some(Status::Applied(ack)) = pending.map(|pending| &pending.status)
            && !ack.inverse.iter().any(Command::is_memory)
        {
            found.push((proposal, ack.as_ref().clone()));
        }
    }
    found.reverse();
    Ok(Ok(found))
}
