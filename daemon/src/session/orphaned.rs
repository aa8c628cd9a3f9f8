//! Appends entries to a workflow that no process is running.

use scene_schemas::api::EventRecord;
use scene_schemas::entry::{Record, Seq};
use vector_core::workflow::{WorkflowInput, decide, events_of};
use vector_engine::workflow_state::read_workflow;
use vector_ledger::{AppendBatch, Ledger, LedgerError};

use crate::event_hub::EventHub;

/// Applies inputs to a workflow that has ended or was abandoned, and makes the entries durable.
/// Inputs that do not apply are skipped.
pub(crate) fn append_inputs(
    ledger: &Ledger,
    event_hub: &EventHub,
    workflow: Seq,
    inputs: impl IntoIterator<Item = WorkflowInput>,
) -> Result<Vec<Record>, LedgerError> {
    let mut all = Vec::new();
    let mut state = read_workflow(ledger, workflow)?;
    for input in inputs {
        let entries = decide(&state, workflow, input).unwrap_or_default();
        if entries.is_empty() {
            continue;
        }
        for record in
            ledger.append(AppendBatch { workflow: Some(workflow), entries, blobs: vec![] })?
        {
            state.apply_record(&record);
            let session = state.workflow(workflow).map(|it| it.place.session_id());
            for event in events_of(&record) {
                let (seq, at, workflow) = (record.seq, record.at, record.workflow);
                event_hub.publish(
                    session.as_ref(),
                    EventRecord { seq, at, workflow, event },
                    false,
                );
            }
            all.push(record);
        }
    }
    Ok(all)
}
