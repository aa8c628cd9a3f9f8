//! Runs of specs in Roblox's engine for proposals of place files and Rojo projects: what would be sent,
//! the run itself in the background, and what the ledger has of earlier ones.
//!
//! The ledger is the record. Only how far a run is, and a failure before anything was sent, is kept in
//! memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use scene_schemas::InstancePath;
use scene_schemas::api::{
    CloudRunEnd, CloudRunView, Failure, FailureKind, SideEffectView, VerifyPhase, VerifyPlanView,
    VerifyProgress, VerifyQuery, VerifyStartRequest, VerifyTargetView, VerifyView,
};
use scene_schemas::entry::{Approver, Seq};
use vector_core::planning_scene::PlanningScene;
use vector_files::place_file;
use vector_ledger::{Ledger, LedgerError};
use vector_providers::config::load_config;
use vector_providers::http::CancelSwitch;
use vector_rojo_project::RojoProject;

use super::DaemonHandle;
use super::deploys::{deploy_failure, upload_view};
use super::handle::run_on_thread;
use super::views::ledger_failure;
use crate::event_hub::EventHub;
use crate::failure::failure;
use crate::tasks::deploy::{DeployError, DeploySource, DeployTarget, UploadHistory};
use crate::tasks::verify::{
    DEFAULT_SECONDS, OverlaySource, PastRun, RunEnd, RunHistory, VerifyControl, VerifyPlan,
    VerifyRequest, VerifyStep, check_scratch, last_scratch, plan_verify, run_verify,
};

/// Maximum specs and effects of a plan, and runs of a proposal.
const MAX_SPECS: usize = 20;
const MAX_EFFECTS: usize = 30;
const MAX_RUNS: usize = 5;

/// The runs that go on in this daemon, and why the last ones had no results.
#[derive(Debug, Default)]
pub(super) struct VerifyRuns {
    running: BTreeMap<Seq, RunningVerify>,
    failures: BTreeMap<Seq, String>,
}

#[derive(Debug)]
struct RunningVerify {
    progress: VerifyProgress,
    cancel: CancelSwitch,
}

type SharedRuns = Arc<Mutex<VerifyRuns>>;

fn lock_runs(runs: &SharedRuns) -> MutexGuard<'_, VerifyRuns> {
    // A panic cannot leave a partly written value behind.
    runs.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The entry of a run that goes on. It is removed when this is dropped, even by a panic.
struct RunSlot {
    runs: SharedRuns,
    event_hub: Arc<EventHub>,
    proposal: Seq,
    cancel: CancelSwitch,
}

impl RunSlot {
    /// Takes the slot of a proposal, of which only one run goes on at a time.
    fn take(runs: &SharedRuns, event_hub: &Arc<EventHub>, proposal: Seq) -> Result<Self, Failure> {
        let cancel = CancelSwitch::new();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let since = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let phase = VerifyPhase::Preparing;
        let progress = VerifyProgress { proposal, phase, since, is_cancelled: false };
        let mut now = lock_runs(runs);
        if now.running.contains_key(&proposal) {
            let message = format!("Proposal {proposal} is being verified.");
            let hint = "Wait until the run has ended, or cancel it.";
            return Err(failure(FailureKind::Settled, message, hint));
        }
        now.running.insert(proposal, RunningVerify { progress, cancel: cancel.clone() });
        now.failures.remove(&proposal);
        drop(now);
        event_hub.mark_verifies_changed();
        let (runs, event_hub) = (Arc::clone(runs), Arc::clone(event_hub));
        Ok(Self { runs, event_hub, proposal, cancel })
    }

    fn report_phase(&self, phase: VerifyPhase) {
        if let Some(running) = lock_runs(&self.runs).running.get_mut(&self.proposal) {
            running.progress.phase = phase;
        }
        self.event_hub.mark_verifies_changed();
    }

    fn report_failure(&self, why: String) {
        lock_runs(&self.runs).failures.insert(self.proposal, why);
    }
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        let mut now = lock_runs(&self.runs);
        now.running.remove(&self.proposal);
        if thread::panicking() {
            let why = "An internal error stopped the run. Verify again: what Roblox has is read.";
            now.failures.insert(self.proposal, why.to_owned());
        }
        drop(now);
        self.event_hub.mark_verifies_changed();
    }
}

/// What plans and runs need of the daemon.
#[derive(Clone)]
struct VerifyParts {
    home: PathBuf,
    ledger: Arc<Ledger>,
}

impl DaemonHandle {
    async fn verify_parts(&self) -> Result<VerifyParts, Failure> {
        let home = self.run(|daemon| Ok(daemon.home.clone())).await?;
        Ok(VerifyParts { home, ledger: Arc::clone(&self.state.ledger) })
    }

    /// Returns what a run with a proposal would send, and where to.
    ///
    /// # Errors
    /// The proposal was applied, does not fit the place any more, or is of a place that is open in
    /// Studio.
    pub async fn plan_verify(&self, query: VerifyQuery) -> Result<VerifyPlanView, Failure> {
        let parts = self.verify_parts().await?;
        run_on_thread(move || parts.plan_view(&query)).await
    }

    /// Runs the specs of what the person was shown, in the background.
    ///
    /// # Errors
    /// The place is another one than was shown, a run with the proposal goes on, or the specs have
    /// effects that were not allowed.
    pub async fn start_verify(&self, request: VerifyStartRequest) -> Result<VerifyView, Failure> {
        let parts = self.verify_parts().await?;
        let proposal = request.proposal;
        let slot = RunSlot::take(&self.state.verifies, &self.state.event_hub, proposal)?;
        run_on_thread(move || {
            let (source, plan) = parts.prepare(&request)?;
            thread::Builder::new()
                .name("verify".to_owned())
                .spawn(move || follow_run(&parts.ledger, &source, &plan, &slot))
                .map_err(|error| {
                    let message = format!("The run cannot be started: {error}.");
                    failure(FailureKind::Internal, message, "Close other programs and try again.")
                })?;
            Ok(())
        })
        .await?;
        self.verify_view(proposal).await
    }

    /// Ends the wait for the run of a proposal. What Roblox has goes on, and is read by the next run.
    ///
    /// # Errors
    /// None goes on.
    pub async fn cancel_verify(&self, proposal: Seq) -> Result<VerifyView, Failure> {
        {
            let mut now = lock_runs(&self.state.verifies);
            let Some(running) = now.running.get_mut(&proposal) else {
                let message = format!("No run with proposal {proposal} goes on in this daemon.");
                let hint = "Nothing has to be cancelled.";
                return Err(failure(FailureKind::Settled, message, hint));
            };
            running.progress.is_cancelled = true;
            running.cancel.cancel();
        }
        self.state.event_hub.mark_verifies_changed();
        self.verify_view(proposal).await
    }

    /// Returns the runs of a proposal and of those that it replaced when it was replanned, as every
    /// pending one is after a restart: the run that goes on, and those on record.
    ///
    /// # Errors
    /// There is no such proposal, or the ledger cannot be read.
    pub async fn verify_view(&self, proposal: Seq) -> Result<VerifyView, Failure> {
        let versions = [vec![proposal], self.replaced_proposals(proposal).await?].concat();
        let (ledger, runs) = (Arc::clone(&self.state.ledger), Arc::clone(&self.state.verifies));
        run_on_thread(move || {
            // Before the ledger: what has ended in between is on record then.
            let (running, failure) = {
                let now = lock_runs(&runs);
                let running = versions.iter().find_map(|seq| now.running.get(seq));
                let failure = versions.iter().find_map(|seq| now.failures.get(seq)).cloned();
                (running.map(|it| it.progress), failure)
            };
            let view = read_view(&ledger, &versions).map_err(|error| ledger_failure(&error))?;
            let is_on_record = |why: &String| {
                let last = view.runs.first().and_then(|it| it.end.as_ref()?.failure.as_ref());
                last == Some(why)
            };
            let failure = failure.filter(|why| !is_on_record(why));
            Ok(VerifyView { proposal, running, failure, ..view })
        })
        .await
    }
}

/// Uploads, runs the specs and waits for their results. What came of it is in the ledger.
fn follow_run(ledger: &Ledger, source: &DeploySource, plan: &VerifyPlan, slot: &RunSlot) {
    let mut on_step = |step| {
        slot.report_phase(match step {
            VerifyStep::Uploading => VerifyPhase::Uploading,
            VerifyStep::Starting => VerifyPhase::Starting,
            VerifyStep::Running => VerifyPhase::Running,
        });
    };
    let (by, cancel) = (Approver::Person, &slot.cancel);
    let mut control = VerifyControl { by, cancel, on_step: &mut on_step };
    if let Err(error) = run_verify(ledger, source, plan, &mut control) {
        slot.report_failure(error.to_string());
    }
}

impl VerifyParts {
    /// Builds the place with a proposal.
    fn read_source(&self, proposal: Seq) -> Result<DeploySource, Failure> {
        let read = || {
            let found = OverlaySource::read(&self.ledger, proposal)?;
            let file = found.place_file()?;
            found.build(&self.ledger, &file, || read_scene(&file))
        };
        read().map_err(|error: anyhow::Error| {
            let text = format!("{error:#}");
            let mut letters = text.chars();
            let first = letters.next().map(|it| it.to_uppercase().to_string()).unwrap_or_default();
            let message = format!("{first}{}.", letters.as_str().trim_end_matches('.'));
            failure(FailureKind::Settled, message, "Nothing was uploaded.")
        })
    }

    /// Returns the scratch place that is used if none is named.
    fn choose_scratch(&self, source: &DeploySource) -> Result<Option<DeployTarget>, Failure> {
        let last = last_scratch(&self.ledger, source).map_err(|error| deploy_failure(&error))?;
        if last.is_some() {
            return Ok(last);
        }
        let env = |name: &str| std::env::var(name).ok();
        let (_, config) = load_config(&self.home, None, &env).map_err(|error| {
            failure(FailureKind::Settled, error, "Correct the setting and try again.")
        })?;
        Ok(config.scratch.map(DeployTarget::from))
    }

    fn plan(
        &self,
        source: &DeploySource,
        target: DeployTarget,
        proposal: Seq,
    ) -> Result<VerifyPlan, DeployError> {
        check_scratch(&self.ledger, source, target, false)?;
        let request = VerifyRequest {
            root: InstancePath::root(),
            modules: Vec::new(),
            proposal: Some(proposal),
            seconds: DEFAULT_SECONDS,
        };
        plan_verify(&self.ledger, source, target, &request)
    }

    fn plan_view(&self, query: &VerifyQuery) -> Result<VerifyPlanView, Failure> {
        let source = self.read_source(query.proposal)?;
        let (target, refusal) = match (query.universe, query.place) {
            (Some(universe), Some(place)) => (Some(DeployTarget { universe, place }), None),
            (None, None) => {
                let own = self.choose_scratch(&source)?;
                let check = |target| check_scratch(&self.ledger, &source, target, false);
                match own.map(|own| check(own).map(|()| own)).transpose() {
                    Ok(target) => (target, None),
                    // Another one can be named.
                    Err(DeployError::Refused(why)) => (None, Some(why)),
                    Err(error @ DeployError::Ledger(_)) => return Err(deploy_failure(&error)),
                }
            }
            (Some(_), None) | (None, Some(_)) => {
                let message = "The universe or the place is missing.";
                let hint = "Name both by their IDs, or none of them.";
                return Err(failure(FailureKind::BadRequest, message, hint));
            }
        };
        let plan = target.map(|target| self.plan(&source, target, query.proposal)).transpose();
        let plan = plan.map_err(|error| deploy_failure(&error))?;
        Ok(VerifyPlanView {
            proposal: query.proposal,
            name: source.place.name(),
            size: source.bytes.len() as u64,
            target: plan.map(target_view),
            refusal,
            contents: source.contents,
        })
    }

    /// Checks that what is sent is what the person was shown.
    fn prepare(&self, request: &VerifyStartRequest) -> Result<(DeploySource, VerifyPlan), Failure> {
        let source = self.read_source(request.proposal)?;
        if source.contents != request.contents {
            let message = "The place was changed after it was shown; nothing was uploaded.";
            let hint = "Look at what is uploaded now, and verify again.";
            return Err(failure(FailureKind::Stale, message, hint));
        }
        let target = DeployTarget { universe: request.universe, place: request.place };
        let plan = self.plan(&source, target, request.proposal);
        let plan = plan.map_err(|error| deploy_failure(&error))?;
        if !plan.side_effects.found.is_empty() && !request.allow_side_effects {
            let message = "The specs have effects beyond the place, which were not allowed.";
            let hint = "Look at them, and allow them to run the specs. Nothing was uploaded.";
            return Err(failure(FailureKind::Settled, message, hint));
        }
        Ok((source, plan))
    }
}

fn read_scene(file: &Path) -> anyhow::Result<PlanningScene> {
    let end = file.extension().and_then(|end| end.to_str());
    if matches!(end, Some("json" | "jsonc")) {
        return Ok(RojoProject::open(file, true)?.1);
    }
    Ok(place_file::load_scene(file)?.into())
}

fn target_view(plan: VerifyPlan) -> VerifyTargetView {
    let effects = plan.side_effects.found;
    let more_effects = effects.len().saturating_sub(MAX_EFFECTS) as u64;
    let effects = effects
        .into_iter()
        .take(MAX_EFFECTS)
        .map(|it| SideEffectView { script: it.script, text: it.finding.to_string() });
    let more_specs = plan.specs.len().saturating_sub(MAX_SPECS) as u64;
    VerifyTargetView {
        universe: plan.target.universe,
        place: plan.target.place,
        existing: plan.existing,
        specs: plan.specs.into_iter().take(MAX_SPECS).collect(),
        more_specs,
        seconds: plan.seconds,
        effects: effects.collect(),
        more_effects,
        covers_all_modules: plan.side_effects.covers_all_modules,
        resumes: plan.resumes,
        unclear: plan.unclear,
    }
}

/// Reads what the ledger has of the runs of a proposal, of which these are the versions.
fn read_view(ledger: &Ledger, versions: &[Seq]) -> Result<VerifyView, LedgerError> {
    let is_own = |of: Option<Seq>| of.is_some_and(|of| versions.contains(&of));
    let runs = RunHistory::read(ledger)?.runs.into_iter().rev();
    let own = runs.filter(|past| is_own(past.run.proposal));
    let runs: Vec<CloudRunView> = own.take(MAX_RUNS).map(run_view).collect();
    let uploads = UploadHistory::read(ledger)?.uploads;
    let mut uploads = uploads.iter().rev().filter(|past| is_own(past.upload.proposal));
    let last = uploads.next().filter(|past| past.version().is_none());
    let has_followed = |seq: Seq| runs.first().is_some_and(|run| run.seq > seq);
    let upload = last.filter(|past| !has_followed(past.seq)).map(upload_view);
    let proposal = versions.first().copied().unwrap_or(Seq(0));
    Ok(VerifyView { proposal, running: None, failure: None, upload, runs })
}

fn run_view(past: PastRun) -> CloudRunView {
    let PastRun { seq, at, run, end, .. } = past;
    let end = end.map(|end| {
        let RunEnd { at, passed, failed, skipped, failure, is_unclear, report } = end;
        let report = report.map(|it| *it);
        CloudRunEnd { at, passed, failed, skipped, failure, is_unclear, report }
    });
    CloudRunView { seq, at, run, end }
}
