//! The workflows of uploads and of runs in the cloud: how one begins, and how an upload whose process was
//! stopped is closed.

use scene_schemas::entry::{Entry, Finish, InteractionMode, Place, Seq};
use scene_schemas::proposal::Mode;
use scene_schemas::review::TaskRole;
use vector_ledger::{AppendBatch, Ledger, LedgerError, WorkflowLease};

/// Why an upload has no result whose process was stopped.
pub(super) const STOPPED: &str = "Vector was stopped during the upload.";

/// What a workflow begins with.
#[derive(Debug)]
pub(super) struct CloudIntention {
    pub(super) place: Place,
    pub(super) goal: String,
    pub(super) driver: &'static str,
    /// The entry that says what is about to be sent, or what was started.
    pub(super) entry: Entry,
    /// The blobs that the entry names.
    pub(super) blobs: Vec<Vec<u8>>,
}

/// A workflow whose intention is recorded. The lease tells others that it goes on.
#[derive(Debug)]
pub(super) struct CloudWorkflow {
    /// The position of the intention.
    pub(super) seq: Seq,
    pub(super) lease: WorkflowLease,
}

/// Records an intention as a workflow of its own.
pub(super) fn begin_workflow(
    ledger: &Ledger,
    intention: CloudIntention,
) -> Result<CloudWorkflow, LedgerError> {
    let CloudIntention { place, goal, driver, entry, blobs } = intention;
    let started = Entry::Started {
        place,
        goal,
        driver: driver.to_owned(),
        mode: Mode::Confirm,
        attached: Vec::new(),
        interaction: InteractionMode::default(),
        follows: None,
        guards: None,
        served: false,
        role: TaskRole::Solo,
        requested_by: None,
    };
    let batch = AppendBatch { workflow: None, entries: vec![started, entry], blobs };
    let (records, lease) = ledger.start_workflow(batch)?;
    let seq = records.last().map_or(Seq(0), |record| record.seq);
    Ok(CloudWorkflow { seq, lease })
}

/// Records that it is not known whether an upload arrived, unless its result is on record. The caller has
/// its lease. Returns whether it was recorded.
pub(super) fn close_interrupted(
    ledger: &Ledger,
    workflow: Seq,
    upload: Seq,
) -> Result<bool, LedgerError> {
    let records = ledger.workflow_records_after(workflow, upload)?;
    let has = |is: fn(&Entry) -> bool| records.iter().any(|it| is(&it.entry));
    let has_result = has(|it| {
        matches!(
            it,
            Entry::Uploaded { .. } | Entry::AssetUploaded { .. } | Entry::UploadFailed { .. }
        )
    });
    if has_result {
        return Ok(false);
    }
    let mut entries =
        vec![Entry::UploadFailed { upload, reason: STOPPED.to_owned(), is_unclear: true }];
    // One that settled the place's workflows has only finished it.
    if !has(|it| matches!(it, Entry::Finished { .. })) {
        entries.push(Entry::Finished { outcome: Finish::Failed, summary: None });
    }
    ledger.append(AppendBatch { workflow: Some(workflow), entries, blobs: Vec::new() })?;
    Ok(true)
}
