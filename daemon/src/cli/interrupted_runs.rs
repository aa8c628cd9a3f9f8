//! Runs that could not be recorded to their end: reports what the place contains, and detects
//! whether the current request repeats the interrupted one.
//!
//! If a command fails, for example because the disk is full, the user runs it again. The place
//! already contains what the first run wrote, which must not be done twice.

use scene_schemas::entry::{Entry, Place, Record, Seq};
use vector_core::prompt::ToolCall;
use vector_core::workflow::{LedgerState, PendingProposal, PendingStatus};
use vector_engine::{EngineError, WorkflowRun, name_proposals};
use vector_ledger::{Ledger, LedgerError};

use super::ExitStatus;
use super::terminal::print_status;

/// The request of the current command.
#[derive(Debug)]
pub(super) struct RunRequest<'a> {
    pub(super) place: Place,
    pub(super) goal: &'a str,
    /// The name of the driver that makes the calls.
    pub(super) driver: String,
    /// The calls in the user's file. None if a model makes the calls.
    pub(super) calls: Option<&'a [ToolCall]>,
}

/// Reports what the place contains after writing to the ledger failed, or after writing the place
/// failed temporarily.
pub(super) fn report_written_state(run: &WorkflowRun, error: &EngineError) {
    match error {
        EngineError::Ledger(_) => {}
        EngineError::Place(error) if error.is_transient() => {}
        _ => return,
    }
    let (place, written) = (run.place_name(), run.applied_in_place());
    let approved = run.approved_not_applied();
    if written.is_empty() && approved.is_empty() {
        return print_status(&format!("note: {place} was not changed."));
    }
    let mut note = String::from("note:");
    if !written.is_empty() {
        note.push_str(&format!(" {place} was written and contains {}.", name_proposals(&written)));
    }
    if !approved.is_empty() {
        note.push_str(&format!(
            " Approved, but not in {place} yet: {}. The next `vector edit` of the file applies this \
             first.",
            name_proposals(&approved)
        ));
    }
    note.push_str(" Do not repeat the request.");
    print_status(&note);
}

/// Checks whether an interrupted run made the same request and applied at least a part of it. If
/// so, returns the exit status of the command. Running the command a second time then makes the
/// request again.
pub(super) fn find_repeated_request(
    ledger: &Ledger,
    cut_off: &[Seq],
    request: &RunRequest<'_>,
) -> Result<Option<ExitStatus>, LedgerError> {
    for workflow in cut_off {
        let records = ledger.workflow_records(*workflow)?;
        if !is_same_request(&records, request) {
            continue;
        }
        let mut state = LedgerState::default();
        for record in &records {
            state.apply_record(record);
        }
        let Some(run) = state.workflow(*workflow) else {
            continue;
        };
        let is_applied =
            |(_, it): &(Seq, &PendingProposal)| matches!(it.status, PendingStatus::Applied(_));
        let applied: Vec<Seq> = run.proposals().filter(is_applied).map(|(seq, _)| seq).collect();
        if applied.is_empty() {
            continue;
        }
        let place = request.place.name();
        let named = name_proposals(&applied);
        let is_whole = request.calls.is_some_and(|calls| calls.len() == applied.len());
        let (extent, exit) = if is_whole {
            ("and all of it is in the file", ExitStatus::Done)
        } else {
            ("and part of it is in the file", ExitStatus::Failed)
        };
        print_status(&format!(
            "Run {workflow} made the same request and was interrupted, {extent}: {named} of \
             {place}. Nothing was done now. `vector log` shows that run; to make the request once \
             more, run the command again."
        ));
        return Ok(Some(exit));
    }
    Ok(None)
}

fn is_same_request(records: &[Record], request: &RunRequest<'_>) -> bool {
    let Some(Entry::Started { place, goal, driver, .. }) = records.first().map(|it| &it.entry)
    else {
        return false;
    };
    if !is_same_output(place, &request.place) || goal != request.goal || *driver != request.driver {
        return false;
    }
    let Some(calls) = request.calls else {
        return true;
    };
    let called = records.iter().filter_map(|record| match &record.entry {
        Entry::Called { tool, args, .. } => Some((tool, args)),
        _ => None,
    });
    called.eq(calls.iter().map(|call| (&call.tool, &call.args)))
}

/// Whether two places write to the same file.
fn is_same_output(one: &Place, other: &Place) -> bool {
    match (one, other) {
        (Place::File(one), Place::File(other)) => {
            (&one.file, &one.out) == (&other.file, &other.out)
        }
        (Place::Project(one), Place::Project(other)) => one.project == other.project,
        _ => false,
    }
}
