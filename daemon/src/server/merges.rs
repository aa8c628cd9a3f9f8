//! Merges with open conflicts, at the desk.

use scene_schemas::api::{DecideConflicts, FinishMerge, FinishedMerge, MergeView, Merges};

use super::daemon_handle::Reply;

/// What somebody wants of merges.
#[derive(Debug)]
pub enum MergeRequest {
    List(Reply<Merges>),
    /// To decide about conflicts.
    Decide(DecideConflicts, Reply<MergeView>),
    /// To have one written, or closed as it is.
    Finish(FinishMerge, Reply<FinishedMerge>),
}
