//! Which entries of the ledger a history request selects.

use std::io;

use scene_schemas::InstancePath;
use scene_schemas::api::HistoryOutcome;
use scene_schemas::entry::Seq;
use tokio::sync::mpsc;

/// Entries as JSON lines, some at a time; an error is the last of them.
pub type LineStream = mpsc::Receiver<Result<Vec<u8>, io::Error>>;

/// Which page of what has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Before this position; the newest where absent.
    pub before: Option<Seq>,
    pub limit: usize,
    pub filter: EntryFilter,
}

/// Which entries; all of what is named has to fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryFilter {
    /// Of this place: its name, or its session.
    pub place: Option<String>,
    /// That touch an instance with this in its path.
    pub path: Option<String>,
    /// About calls of this tool.
    pub tool: Option<String>,
    pub kind: Option<String>,
    /// About what became this by now.
    pub outcome: Option<HistoryOutcome>,
    /// Of this day, from 1970-01-01 UTC.
    pub day: Option<u64>,
    /// With this in what was asked, said or proposed.
    pub text: Option<String>,
    /// Only what was asked, and each change once, by its proposal.
    pub is_brief: bool,
}

/// Which script, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptQuery {
    /// The place: its session, or its name.
    pub place: String,
    pub path: InstancePath,
    /// Right after this position; now where absent.
    pub seq: Option<Seq>,
}
