//! Commits: each runs on a separate thread, one at a time per project. The states of the latest
//! commits are kept in memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use scene_schemas::api::{
    CommitPlan, CommitRequest, CommitStarted, CommitState, CommittedProposal, ExcludedFile,
    Failure, FailureKind, PushedTo, SessionId,
};
use scene_schemas::entry::Place;
use tokio::sync::watch;
use vector_ledger::Ledger;

use super::handle::run_on_thread;
use super::{DaemonActor, DaemonHandle};
use crate::failure::failure;
use crate::session::Answer;
use crate::tasks::commit::{
    CommitError, CommitOptions, CommitProgress, CommitStep, GitPrompts, PushedBranch,
    prepare_commit,
};

/// The number of commits whose state is kept.
const KEPT: usize = 16;
/// The number of steps of a commit.
const STEPS: u32 = CommitStep::Committing as u32 + 1;

/// The states of commits, by their ids.
#[derive(Debug, Default)]
pub(super) struct CommitRuns {
    last_id: u64,
    states: BTreeMap<u64, watch::Receiver<CommitState>>,
}

impl CommitRuns {
    /// Returns the running commit of a project.
    fn find_running(&self, project: &str) -> Option<u64> {
        let is_its = |state: &CommitState| state.project == project && !state.is_over;
        self.states.iter().find(|(_, state)| is_its(&state.borrow())).map(|(id, _)| *id)
    }

    fn start(&mut self, project: &str, is_pushed: bool) -> (u64, watch::Sender<CommitState>) {
        self.last_id += 1;
        let (state, seen) = watch::channel(CommitState {
            id: self.last_id,
            project: project.to_owned(),
            step: 1,
            steps: STEPS + u32::from(is_pushed),
            doing: describe_step(CommitStep::Reading).to_owned(),
            file: None,
            left: Vec::new(),
            is_over: false,
            branch: None,
            files: Vec::new(),
            commit: None,
            note: None,
            pushed: None,
            failure: None,
        });
        self.states.insert(self.last_id, seen);
        while self.states.len() > KEPT {
            self.states.pop_first();
        }
        (self.last_id, state)
    }
}

impl DaemonActor {
    /// Returns the project of a session, and its running commit.
    fn find_commit(&self, session: &SessionId) -> Result<(String, Option<u64>), Failure> {
        let project = self.project_of(session)?;
        let running = self.commits.find_running(&project);
        Ok((project, running))
    }

    fn start_commit(&mut self, commit: CommitRequest) -> Result<CommitStarted, Failure> {
        let (project, running) = self.find_commit(&commit.session)?;
        if let Some(id) = running {
            let message = format!("Commit {id} of {project} is running.");
            let hint = "Wait until it has ended, then commit.";
            return Err(failure(FailureKind::Settled, message, hint));
        }
        let (id, state) = self.commits.start(&project, commit.push.is_some());
        let ledger = Arc::clone(&self.ledger);
        thread::spawn(move || run_commit(&ledger, &project, &commit, &state));
        Ok(CommitStarted { id })
    }

    fn commit_state(&self, id: u64) -> Result<watch::Receiver<CommitState>, Failure> {
        self.commits.states.get(&id).cloned().ok_or_else(|| {
            let message = format!("There is no commit {id} in this daemon.");
            let hint = "Start one at a project under Chat on the page, or with `vector commit`.";
            failure(FailureKind::NotFound, message, hint)
        })
    }

    /// Returns the project file of a session.
    fn project_of(&self, session: &SessionId) -> Result<String, Failure> {
        match self.sessions.get(session).map(|known| known.place) {
            Some(Place::Project(project)) => Ok(project.project),
            Some(_) => Err(failure(
                FailureKind::Settled,
                format!("Session {session} is not a Rojo project."),
                "Commit the session of the project whose files were changed.",
            )),
            None => Err(failure(
                FailureKind::NotFound,
                format!("No project is open as session {session}."),
                "Open it under Chat on the page, or with `vector serve --project DIR`.",
            )),
        }
    }
}

impl DaemonHandle {
    /// Plans a commit: returns what it would commit.
    ///
    /// # Errors
    /// The session is not a project, or its repository is not in a state that allows a commit.
    pub async fn plan_commit(&self, commit: CommitRequest) -> Result<CommitPlan, Failure> {
        let session = commit.session.clone();
        let (project, at_work) = self.run(move |daemon| daemon.find_commit(&session)).await?;
        let ledger = Arc::clone(&self.state.ledger);
        run_on_thread(move || {
            Ok(CommitPlan { at_work, ..plan_commit(&ledger, &project, &commit)? })
        })
        .await
    }

    pub fn start_commit(&self, commit: CommitRequest) -> Answer<CommitStarted> {
        self.run(|daemon| daemon.start_commit(commit))
    }

    /// Returns a receiver of the state of a commit.
    pub fn commit_state(&self, id: u64) -> Answer<watch::Receiver<CommitState>> {
        self.run(move |daemon| daemon.commit_state(id))
    }
}

fn commit_options<'w>(
    project: &'w str,
    commit: &'w CommitRequest,
    is_dry: bool,
) -> CommitOptions<'w> {
    let (branch, message) = (commit.branch.as_deref(), commit.message.as_deref());
    CommitOptions { project: Path::new(project), branch, message, is_dry_run: is_dry }
}

fn left_out(file: &str, why: &str) -> ExcludedFile {
    ExcludedFile { file: file.to_owned(), why: why.to_owned() }
}

fn plan_commit(
    ledger: &Ledger,
    project: &str,
    commit: &CommitRequest,
) -> Result<CommitPlan, Failure> {
    let mut left = Vec::new();
    let mut on_progress = |progress: CommitProgress<'_>| {
        if let CommitProgress::Skipped(file, why) = progress {
            left.push(left_out(file, why));
        }
    };
    let wanted = commit_options(project, commit, true);
    let ready =
        prepare_commit(ledger, wanted, &mut on_progress).map_err(|error| commit_failure(&error))?;
    let proposals = ready.proposals.iter();
    Ok(CommitPlan {
        project: project.to_owned(),
        branch: ready.branch.clone(),
        is_new: ready.is_new,
        message: ready.message.clone(),
        files: ready.files.clone(),
        proposals: proposals
            .map(|(seq, title)| CommittedProposal { seq: *seq, title: title.clone() })
            .collect(),
        left,
        remotes: ready.remotes.clone(),
        at_work: None,
    })
}

/// Runs a commit and reports its progress.
fn run_commit(
    ledger: &Ledger,
    project: &str,
    commit: &CommitRequest,
    state: &watch::Sender<CommitState>,
) {
    let over = FinishGuard(state);
    let mut on_progress = |progress: CommitProgress<'_>| report_progress(state, progress);
    let done = prepare_commit(ledger, commit_options(project, commit, false), &mut on_progress)
        .and_then(|ready| {
            state.send_modify(|state| state.branch = Some(ready.branch.clone()));
            let committed =
                (!ready.files.is_empty()).then(|| ready.commit(&mut on_progress)).transpose()?;
            state.send_modify(|state| {
                state.files.clone_from(&ready.files);
                let (made, note) = committed.map(|it| (it.commit, it.note)).unzip();
                (state.commit, state.note) = (made, note.flatten());
            });
            let Some(remote) = &commit.push else { return Ok(None) };
            let made = state.borrow().commit.clone();
            ready.push(made.as_deref(), remote, GitPrompts::Off, &mut on_progress)
        });
    state.send_modify(|state| {
        match done {
            Ok(pushed) => {
                state.pushed = pushed
                    .map(|PushedBranch { remote, pull_request }| PushedTo { remote, pull_request });
            }
            Err(error) => state.failure = Some(commit_failure(&error)),
        }
        state.is_over = true;
    });
    drop(over);
}

/// Marks a commit as failed if its thread panics.
struct FinishGuard<'s>(&'s watch::Sender<CommitState>);

impl Drop for FinishGuard<'_> {
    fn drop(&mut self) {
        self.0.send_if_modified(|state| {
            let is_lost = !state.is_over;
            if is_lost {
                let message = "An internal error stopped the commit.";
                let hint = "Check with `git log` what was committed, then commit again.";
                state.failure = Some(failure(FailureKind::Internal, message, hint));
                state.is_over = true;
            }
            is_lost
        });
    }
}

/// Updates the state. Only a new step wakes the waiters, as files follow each other too fast.
fn report_progress(state: &watch::Sender<CommitState>, progress: CommitProgress<'_>) {
    state.send_if_modified(|state| match progress {
        CommitProgress::Step(step) => {
            state.step = step as u32 + 1;
            describe_step(step).clone_into(&mut state.doing);
            state.file = None;
            true
        }
        CommitProgress::File(file) => {
            state.file = Some(file.to_owned());
            false
        }
        CommitProgress::Skipped(file, why) => {
            state.left.push(left_out(file, why));
            false
        }
    });
}

fn describe_step(step: CommitStep) -> &'static str {
    match step {
        CommitStep::Reading => "Reading the approved changes",
        CommitStep::Comparing => "Comparing the files with them",
        CommitStep::Staging => "Adding the files to an index",
        CommitStep::Committing => "Committing",
        CommitStep::Pushing => "Pushing",
    }
}

fn commit_failure(error: &CommitError) -> Failure {
    match error {
        CommitError::Ledger(error) => {
            failure(FailureKind::Internal, error.to_string(), "Try again.")
        }
        CommitError::Refused(why) => {
            let message = format!("{}.", why.trim_end_matches('.'));
            failure(FailureKind::Settled, message, "Fix the problem and commit again.")
        }
    }
}
