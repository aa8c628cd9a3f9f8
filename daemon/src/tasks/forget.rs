//! Erasure of tasks: selects the tasks to erase, reports the consequences, and erases them.
//!
//! A task that is not finished is kept, as its proposals may still be decided. An erased task can
//! no longer be reverted, which the plan reports beforehand.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use scene_schemas::entry::{Entry, Place, Record, Seq};
use vector_core::erase::erase_entry;
use vector_core::workflow::{PendingStatus, Workflow};
use vector_engine::EngineError;
use vector_engine::workflow_state;
use vector_files::place_file;
use vector_ledger::{ErasedSummary, Ledger, LedgerError};
use vector_rojo_project::RojoProject;

/// The folder of complete provider replies, if the user has them captured.
const CAPTURE_FOLDER: &str = "captured";

/// The tasks to erase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgetScope {
    /// The conversation that contains a task, or an entry of a task.
    Conversation(Seq),
    /// All tasks in a place: a file, a project, or the name or ID of a place in Studio.
    Place(String),
    /// All tasks without an entry since this time, in milliseconds since 1970.
    Before(u64),
}

/// A task to be erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasableRun {
    pub seq: Seq,
    /// The start time, in milliseconds since 1970.
    pub at: u64,
    pub place: String,
    pub goal: String,
    /// The number of applied proposals, which can no longer be reverted.
    pub applied: usize,
}

/// The tasks that would be erased.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgetPlan {
    pub runs: Vec<ErasableRun>,
    /// Selected tasks that are kept, because they are not finished.
    pub skipped: Vec<Seq>,
}

/// Determines what would be erased.
///
/// # Errors
/// Fails if the ledger cannot be read.
pub fn plan_forget(ledger: &Ledger, what: &ForgetScope) -> Result<ForgetPlan, EngineError> {
    let mut plan = ForgetPlan::default();
    for started in find_starts(ledger, what)? {
        let Entry::Started { place, goal, .. } = &started.entry else {
            continue;
        };
        let state = workflow_state::read_workflow(ledger, started.seq)?;
        let Some(workflow) = state.workflow(started.seq).filter(|it| !it.is_erased) else {
            continue;
        };
        if workflow.finished.is_none() || !is_settled(workflow) {
            plan.skipped.push(started.seq);
            continue;
        }
        let is_applied = |status: &PendingStatus| matches!(status, PendingStatus::Applied(_));
        let applied = workflow.proposals().filter(|(_, it)| is_applied(&it.status)).count();
        let (place, goal) = (place.name(), goal.clone());
        plan.runs.push(ErasableRun { seq: started.seq, at: started.at, place, goal, applied });
    }
    Ok(plan)
}

fn is_settled(workflow: &Workflow) -> bool {
    !workflow.proposals().any(|(_, it)| it.status.is_pending())
}

/// Erases the texts of the planned runs.
///
/// # Errors
/// Fails if the ledger cannot be written. Nothing is erased then.
pub fn perform_forget(ledger: &Ledger, plan: &ForgetPlan) -> Result<ErasedSummary, LedgerError> {
    let runs: Vec<Seq> = plan.runs.iter().map(|run| run.seq).collect();
    let mark = |remains| Entry::Erased { remains: Some(remains) };
    let erasure = ledger.erase_workflows(&runs, erase_entry, mark)?;
    // A captured reply does not say which conversation it belongs to, so all are deleted.
    if let Some(home) = ledger.file_path().parent() {
        let _ = fs::remove_dir_all(home.join(CAPTURE_FOLDER));
    }
    Ok(erasure)
}

/// Erases all tasks without an entry in the last `days` days, and returns their number.
///
/// # Errors
/// Fails if the ledger cannot be read or written.
pub fn expire_tasks(ledger: &Ledger, days: u32, now: u64) -> Result<usize, EngineError> {
    let since = now.saturating_sub(u64::from(days) * 24 * 60 * 60 * 1000);
    let plan = plan_forget(ledger, &ForgetScope::Before(since))?;
    if !plan.runs.is_empty() {
        perform_forget(ledger, &plan)?;
    }
    Ok(plan.runs.len())
}

/// The start entries of the selected tasks, oldest first.
fn find_starts(ledger: &Ledger, what: &ForgetScope) -> Result<Vec<Record>, LedgerError> {
    let mut all = ledger.recent_starts(usize::MAX)?;
    all.reverse();
    match what {
        ForgetScope::Conversation(entry) => {
            let workflow = ledger.record_at(*entry)?.map(|record| record.workflow);
            let first = conversation_starts(&all);
            let wanted = workflow.and_then(|it| first.get(&it).copied());
            all.retain(|it| wanted.is_some() && first.get(&it.seq).copied() == wanted);
        }
        ForgetScope::Place(name) => {
            let path =
                place_file::real_path(Path::new(name)).ok().map(|it| it.display().to_string());
            let project = RojoProject::find_project_file(Path::new(name))
                .ok()
                .map(|it| it.display().to_string());
            all.retain(|it| match &it.entry {
                Entry::Started { place, .. } => {
                    has_name(place, [Some(name), path.as_ref(), project.as_ref()])
                }
                _ => false,
            });
        }
        ForgetScope::Before(time) => {
            let mut old = Vec::new();
            for started in all {
                if ledger.last_record(started.seq)?.is_some_and(|last| last.at < *time) {
                    old.push(started);
                }
            }
            all = old;
        }
    }
    Ok(all)
}

/// Maps each task to the first task of its conversation.
fn conversation_starts(all: &[Record]) -> HashMap<Seq, Seq> {
    let mut firsts: BTreeMap<Seq, Seq> = BTreeMap::new();
    for record in all {
        let Entry::Started { follows, .. } = &record.entry else {
            continue;
        };
        // A follow-up comes after the task it follows.
        let first = follows.and_then(|it| firsts.get(&it).copied()).unwrap_or(record.seq);
        firsts.insert(record.seq, first);
    }
    firsts.into_iter().collect()
}

/// Whether a place has one of these names.
fn has_name(place: &Place, names: [Option<&String>; 3]) -> bool {
    let matches_name = |name: &str| names.iter().flatten().any(|it| *it == name);
    match place {
        Place::File(place) => {
            matches_name(&place.file) || place.out.as_deref().is_some_and(matches_name)
        }
        Place::Project(place) => matches_name(&place.project),
        Place::Open(open) => {
            let number = open.place.place_id;
            matches_name(&open.place.name)
                || matches_name(&open.session.0)
                || number > 0 && matches_name(&number.to_string())
        }
    }
}
