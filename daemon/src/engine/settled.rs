//! Entries for a workflow that nobody is at work on.

use std::collections::HashMap;

use scene_schemas::api::EventRecord;
use scene_schemas::entry::{Record, Seq};

use crate::core::workflow::{Input, State, decide, events};
use crate::ledger::{Append, Ledger, LedgerError};
use crate::server::Board;

/// How many workflows are kept as they were read.
const READ: usize = 128;

/// Reads a workflow.
pub(super) fn read(ledger: &Ledger, workflow: Seq) -> Result<State, LedgerError> {
    let mut state = State::default();
    for record in ledger.workflow(workflow)? {
        state.apply(&record);
    }
    Ok(state)
}

/// Workflows as they were read last; what has happened since is read then.
#[derive(Debug, Default)]
pub(super) struct Readings(HashMap<Seq, (Seq, State)>);

impl Readings {
    /// A workflow as it stands now.
    pub(super) fn of(&mut self, ledger: &Ledger, workflow: Seq) -> Result<&State, LedgerError> {
        if self.0.len() > READ {
            self.0.clear();
        }
        let (last, state) = self.0.entry(workflow).or_insert_with(|| (Seq(0), State::default()));
        for record in ledger.workflow_after(workflow, *last)? {
            state.apply(&record);
            *last = record.seq;
        }
        Ok(state)
    }
}

/// Decides what inputs mean in a workflow that is over or was left, and makes it durable. What does
/// not fit is passed over.
pub(super) fn input(
    ledger: &Ledger,
    board: &Board,
    workflow: Seq,
    inputs: impl IntoIterator<Item = Input>,
) -> Result<Vec<Record>, LedgerError> {
    let mut all = Vec::new();
    let mut state = read(ledger, workflow)?;
    for input in inputs {
        let entries = decide(&state, workflow, input).unwrap_or_default();
        if entries.is_empty() {
            continue;
        }
        for record in ledger.append(Append { workflow: Some(workflow), entries, blobs: vec![] })? {
            state.apply(&record);
            let session = state.workflow(workflow).map(|it| it.place.session());
            for event in events(&record) {
                let (seq, at, workflow) = (record.seq, record.at, record.workflow);
                board.publish(session.as_ref(), EventRecord { seq, at, workflow, event }, false);
            }
            all.push(record);
        }
    }
    Ok(all)
}
