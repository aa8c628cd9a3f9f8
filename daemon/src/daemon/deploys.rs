//! Deploys: each runs on a separate thread, one at a time per project. The states of the latest
//! deploys are kept in memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use scene_schemas::api::{
    Deploy, DeployPlan, DeployStarted, DeployState, DeployedProposal, ExcludedFile, Failure,
    FailureKind, SessionId,
};
use scene_schemas::entry::Place;
use tokio::sync::watch;
use vector_ledger::Ledger;

use super::handle::run_on_thread;
use super::{DaemonActor, DaemonHandle};
use crate::failure::failure;
use crate::session::Answer;
use crate::tasks::deploy::{
    DeployError, DeployOptions, DeployProgress, DeployStep, prepare_deploy,
};

/// The number of deploys whose state is kept.
const KEPT: usize = 16;
/// The number of steps of a deploy.
const STEPS: u32 = 4;

/// The states of deploys, by their ids.
#[derive(Debug, Default)]
pub(super) struct DeployRuns {
    last_id: u64,
    states: BTreeMap<u64, watch::Receiver<DeployState>>,
}

impl DeployRuns {
    /// Returns the running deploy of a project.
    fn find_running(&self, project: &str) -> Option<u64> {
        let is_its = |state: &DeployState| state.project == project && !state.is_over;
        self.states.iter().find(|(_, state)| is_its(&state.borrow())).map(|(id, _)| *id)
    }

    fn start(&mut self, project: &str) -> (u64, watch::Sender<DeployState>) {
        self.last_id += 1;
        let (state, seen) = watch::channel(DeployState {
            id: self.last_id,
            project: project.to_owned(),
            step: 1,
            steps: STEPS,
            doing: describe_step(DeployStep::Reading).to_owned(),
            file: None,
            left: Vec::new(),
            is_over: false,
            branch: None,
            files: Vec::new(),
            commit: None,
            note: None,
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
    /// Returns the project of a session, and its running deploy.
    fn find_deploy(&self, session: &SessionId) -> Result<(String, Option<u64>), Failure> {
        let project = self.project_of(session)?;
        let running = self.deploys.find_running(&project);
        Ok((project, running))
    }

    fn start_deploy(&mut self, deploy: Deploy) -> Result<DeployStarted, Failure> {
        let (project, running) = self.find_deploy(&deploy.session)?;
        if let Some(id) = running {
            let message = format!("Deploy {id} of {project} is running.");
            let hint = "Wait until it has ended, then deploy.";
            return Err(failure(FailureKind::Settled, message, hint));
        }
        let (id, state) = self.deploys.start(&project);
        let ledger = Arc::clone(&self.ledger);
        thread::spawn(move || run_deploy(&ledger, &project, &deploy, &state));
        Ok(DeployStarted { id })
    }

    fn deploy_state(&self, id: u64) -> Result<watch::Receiver<DeployState>, Failure> {
        self.deploys.states.get(&id).cloned().ok_or_else(|| {
            let message = format!("There is no deploy {id} in this daemon.");
            let hint = "Start one at a project under Chat on the page, or with `vector deploy`.";
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
                "Deploy the session of the project whose files were changed.",
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
    /// Plans a deploy: returns what it would commit.
    ///
    /// # Errors
    /// The session is not a project, or its repository is not in a state that allows a deploy.
    pub async fn plan_deploy(&self, deploy: Deploy) -> Result<DeployPlan, Failure> {
        let session = deploy.session.clone();
        let (project, at_work) = self.run(move |daemon| daemon.find_deploy(&session)).await?;
        let ledger = Arc::clone(&self.state.ledger);
        run_on_thread(move || {
            Ok(DeployPlan { at_work, ..plan_deploy(&ledger, &project, &deploy)? })
        })
        .await
    }

    pub fn start_deploy(&self, deploy: Deploy) -> Answer<DeployStarted> {
        self.run(|daemon| daemon.start_deploy(deploy))
    }

    /// Returns a receiver of the state of a deploy.
    pub fn deploy_state(&self, id: u64) -> Answer<watch::Receiver<DeployState>> {
        self.run(move |daemon| daemon.deploy_state(id))
    }
}

fn deploy_options<'w>(project: &'w str, deploy: &'w Deploy, is_dry: bool) -> DeployOptions<'w> {
    let (branch, message) = (deploy.branch.as_deref(), deploy.message.as_deref());
    DeployOptions { project: Path::new(project), branch, message, is_dry_run: is_dry }
}

fn left_out(file: &str, why: &str) -> ExcludedFile {
    ExcludedFile { file: file.to_owned(), why: why.to_owned() }
}

fn plan_deploy(ledger: &Ledger, project: &str, deploy: &Deploy) -> Result<DeployPlan, Failure> {
    let mut left = Vec::new();
    let mut on_progress = |progress: DeployProgress<'_>| {
        if let DeployProgress::Skipped(file, why) = progress {
            left.push(left_out(file, why));
        }
    };
    let wanted = deploy_options(project, deploy, true);
    let ready =
        prepare_deploy(ledger, wanted, &mut on_progress).map_err(|error| deploy_failure(&error))?;
    let proposals = ready.proposals.iter();
    Ok(DeployPlan {
        project: project.to_owned(),
        branch: ready.branch.clone(),
        is_new: ready.is_new,
        message: ready.message.clone(),
        files: ready.files.clone(),
        proposals: proposals
            .map(|(seq, title)| DeployedProposal { seq: *seq, title: title.clone() })
            .collect(),
        left,
        at_work: None,
    })
}

/// Runs a deploy and reports its progress.
fn run_deploy(ledger: &Ledger, project: &str, deploy: &Deploy, state: &watch::Sender<DeployState>) {
    let over = FinishGuard(state);
    let mut on_progress = |progress: DeployProgress<'_>| report_progress(state, progress);
    let done = prepare_deploy(ledger, deploy_options(project, deploy, false), &mut on_progress)
        .and_then(|ready| {
            state.send_modify(|state| state.branch = Some(ready.branch.clone()));
            let committed =
                (!ready.files.is_empty()).then(|| ready.commit(&mut on_progress)).transpose()?;
            Ok((ready.files, committed))
        });
    state.send_modify(|state| {
        match done {
            Ok((files, committed)) => {
                state.files = files;
                let (commit, note) = committed.map(|it| (it.commit, it.note)).unzip();
                (state.commit, state.note) = (commit, note.flatten());
            }
            Err(error) => state.failure = Some(deploy_failure(&error)),
        }
        state.is_over = true;
    });
    drop(over);
}

/// Marks a deploy as failed if its thread panics.
struct FinishGuard<'s>(&'s watch::Sender<DeployState>);

impl Drop for FinishGuard<'_> {
    fn drop(&mut self) {
        self.0.send_if_modified(|state| {
            let is_lost = !state.is_over;
            if is_lost {
                let message = "An internal error stopped the deploy.";
                let hint = "Check with `git log` what was committed, then deploy again.";
                state.failure = Some(failure(FailureKind::Internal, message, hint));
                state.is_over = true;
            }
            is_lost
        });
    }
}

/// Updates the state. Only a new step wakes the waiters, as files follow each other too fast.
fn report_progress(state: &watch::Sender<DeployState>, progress: DeployProgress<'_>) {
    state.send_if_modified(|state| match progress {
        DeployProgress::Step(step) => {
            state.step = step as u32 + 1;
            describe_step(step).clone_into(&mut state.doing);
            state.file = None;
            true
        }
        DeployProgress::File(file) => {
            state.file = Some(file.to_owned());
            false
        }
        DeployProgress::Skipped(file, why) => {
            state.left.push(left_out(file, why));
            false
        }
    });
}

fn describe_step(step: DeployStep) -> &'static str {
    match step {
        DeployStep::Reading => "Reading the approved changes",
        DeployStep::Comparing => "Comparing the files with them",
        DeployStep::Staging => "Adding the files to an index",
        DeployStep::Committing => "Committing",
    }
}

fn deploy_failure(error: &DeployError) -> Failure {
    match error {
        DeployError::Ledger(error) => {
            failure(FailureKind::Internal, error.to_string(), "Try again.")
        }
        DeployError::Refused(why) => {
            let message = format!("{}.", why.trim_end_matches('.'));
            failure(FailureKind::Settled, message, "Fix the problem and deploy again.")
        }
    }
}
