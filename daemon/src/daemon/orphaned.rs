//! Entries for a workflow that nobody is at work on.

use scene_schemas::api::EventRecord;
use scene_schemas::entry::{Record, Seq};
use vector_core::workflow::{Input, decide, events};
use vector_engine::settled::read;
use vector_ledger::{Append, Ledger, LedgerError};

use crate::server::EventHub;

/// Decides what inputs mean in a workflow that is over or was left, and makes it durable. What does
/// not fit is passed over.
pub(crate) fn append_inputs(
    ledger: &Ledger,
    board: &EventHub,
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
