//! Verifies a place in Roblox's own engine: saves it to a scratch place, and runs its specs there as a
//! task of Luau execution.
//!
//! The task is recorded in the ledger as soon as Roblox has named it, so that an interrupted run is read
//! and not started a second time. This module does not ask for approval, and does not know how results
//! are shown.

mod past;
mod scratch;
mod side_effects;
mod task_run;

use scene_schemas::InstancePath;
use scene_schemas::entry::{Approver, Entry, Finish, Seq, VersionKind};
use vector_cloud::{CloudFailureKind, LuauLogMessage, LuauTaskPath, LuauTaskStart};
use vector_core::specs::{CaseOutcome, SpecFinder, SpecResult};
use vector_ledger::{AppendBatch, Ledger, WorkflowLease};
use vector_place::{Node, Scene};
use vector_providers::http::CancelSwitch;
use vector_runtime::{CloudScript, CloudSpecs};

pub use self::past::{PastRun, RunHistory};
pub use self::scratch::{check_scratch, last_scratch};
pub use self::side_effects::{SideEffect, SideEffects};
pub use self::task_run::MAX_SECONDS;

use super::cloud::find_verify_key;
use super::cloud_workflow::{CloudIntention, CloudWorkflow, begin_workflow};
use super::deploy::{
    DeployError, DeploySource, DeployTarget, PastUpload, UploadHistory, UploadPurpose,
    VersionRequest, open_scene, refuse_deploy, send_version,
};
use task_run::{EndedTask, TaskEnd};

/// What is to be verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyRequest {
    /// The specs at and below this instance run.
    pub root: InstancePath,
    /// Modules that only have to be required without an error.
    pub modules: Vec<InstancePath>,
    /// The proposal that was applied to the contents, which the place does not have.
    pub proposal: Option<Seq>,
    /// The time limit of the task, in seconds.
    pub seconds: u32,
}

/// What a run would do.
#[derive(Debug, Clone)]
pub struct VerifyPlan {
    pub target: DeployTarget,
    /// The paths of the specs.
    pub specs: Vec<String>,
    /// The version of the scratch place that has these contents already.
    pub existing: Option<u64>,
    pub side_effects: SideEffects,
    pub proposal: Option<Seq>,
    seconds: u32,
    script: CloudScript,
}

/// What came of a run.
#[derive(Debug, Clone)]
pub struct VerifyReport {
    pub version: u64,
    pub task: String,
    /// Whether an interrupted run was read instead of starting one.
    pub is_resumed: bool,
    /// The results of the specs and modules, or why there are none and what to do.
    pub results: Result<Vec<SpecResult>, String>,
    pub logs: Vec<LuauLogMessage>,
}

/// Finds the specs of a place, and what they do beyond it.
///
/// # Errors
/// The place or the ledger cannot be read, or has no such instance.
pub fn plan_verify(
    ledger: &Ledger,
    source: &DeploySource,
    target: DeployTarget,
    request: &VerifyRequest,
) -> Result<VerifyPlan, DeployError> {
    let scene = open_scene(&source.bytes)?;
    let resolve = |path: &InstancePath| {
        scene.resolve(path).map_err(|refusal| refuse_deploy(refusal.for_person()))
    };
    let root = resolve(&request.root)?;
    let finder = SpecFinder::new(&scene);
    let specs: Vec<Node> = scene.subtree(root).filter(|it| finder.is_spec(*it)).collect();
    let modules = request.modules.iter().map(|path| {
        let node = resolve(path)?;
        match scene.class(node) {
            "ModuleScript" => Ok(node),
            class => Err(refuse_deploy(format!("{path} is a {class}, not a ModuleScript."))),
        }
    });
    let modules: Vec<Node> = modules.collect::<Result<_, _>>()?;
    let cloud_specs =
        CloudSpecs { specs: specs.clone(), modules: modules.clone(), seconds: request.seconds };
    let script = CloudScript::new(&scene, &cloud_specs);
    let existing = UploadHistory::read(ledger)?;
    let existing = existing.with_contents(target, &source.contents).and_then(PastUpload::version);
    let paths = paths_of(&scene, &specs);
    let side_effects = SideEffects::find(scene, [specs, modules].concat())?;
    Ok(VerifyPlan {
        target,
        specs: paths,
        existing,
        side_effects,
        proposal: request.proposal,
        seconds: request.seconds,
        script,
    })
}

fn paths_of(scene: &Scene, nodes: &[Node]) -> Vec<String> {
    nodes.iter().map(|it| scene.path(*it).to_string()).collect()
}

/// Uploads the place if the scratch place does not have it, runs the specs, and waits for their results.
///
/// # Errors
/// The place was not uploaded, or the task was not started or cannot be read. A task that goes on is read
/// by the next run.
pub fn run_verify(
    ledger: &Ledger,
    source: &DeploySource,
    plan: &VerifyPlan,
    by: Approver,
    cancel: &CancelSwitch,
) -> Result<VerifyReport, DeployError> {
    let key = find_verify_key().map_err(refuse_deploy)?;
    let request = VersionRequest {
        target: plan.target,
        kind: VersionKind::Saved,
        by,
        compared: None,
        purpose: UploadPurpose::Verify,
    };
    let version = match plan.existing {
        Some(version) => version,
        None => send_version(ledger, source, request, cancel)?,
    };
    let start = LuauTaskStart {
        universe: plan.target.universe,
        place: plan.target.place,
        version: Some(version),
        script: plan.script.text().to_owned(),
        timeout_seconds: plan.seconds,
        binary_input: None,
    };
    let found = RunHistory::read(ledger)?;
    if let Some(open) = found.take_open(ledger, &start)? {
        let path = LuauTaskPath::parse(&open.past.run.task);
        let path = path.map_err(|failure| refuse_deploy(failure.message))?;
        match task_run::follow_task(&path, plan.seconds, &key, cancel) {
            Err(failure) if failure.kind == CloudFailureKind::NotFound => {
                let reason = "Roblox does not have the task any more.".to_owned();
                finish_run(ledger, &open.past, &Err(reason))?;
            }
            Err(failure) => return Err(refuse_deploy(describe_open(&failure.message))),
            Ok(ended) => {
                let results = read_end(plan, version, &ended);
                finish_run(ledger, &open.past, &results)?;
                return Ok(report(version, &path, true, results, ended.logs));
            }
        }
    }
    let started = task_run::start_task(&start, &key, cancel).map_err(refuse_deploy)?;
    let (past, _lease) = record_start(ledger, source, plan, &start, &started, by)?;
    let ended = task_run::follow_task(&started, plan.seconds, &key, cancel)
        .map_err(|failure| refuse_deploy(describe_open(&failure.message)))?;
    let results = read_end(plan, version, &ended);
    finish_run(ledger, &past, &results)?;
    Ok(report(version, &started, false, results, ended.logs))
}

fn report(
    version: u64,
    path: &LuauTaskPath,
    is_resumed: bool,
    results: Result<Vec<SpecResult>, String>,
    logs: Vec<LuauLogMessage>,
) -> VerifyReport {
    VerifyReport { version, task: path.as_str().to_owned(), is_resumed, results, logs }
}

fn describe_open(message: &str) -> String {
    format!("{message} The task goes on: run the same command again to read its results.")
}

/// Reads the results of a task that has ended. Without any, says what to do.
fn read_end(plan: &VerifyPlan, version: u64, ended: &EndedTask) -> Result<Vec<SpecResult>, String> {
    let returned = match &ended.end {
        TaskEnd::Complete(returned) => returned,
        TaskEnd::Failed(reason) => return Err(reason.clone()),
    };
    let read = plan.script.read_results(returned).map_err(|why| {
        format!(
            "The task ended without results of specs: {why}. Run it again, and report it if it happens \
             twice."
        )
    })?;
    if read.place_version != version {
        return Err(format!(
            "The task ran in version {} of the place instead of version {version}, so its results say \
             nothing about this place. Run it again.",
            read.place_version
        ));
    }
    Ok(read.results)
}

/// Records a task as soon as Roblox has named it.
fn record_start(
    ledger: &Ledger,
    source: &DeploySource,
    plan: &VerifyPlan,
    start: &LuauTaskStart,
    task: &LuauTaskPath,
    by: Approver,
) -> Result<(PastRun, WorkflowLease), DeployError> {
    let run = past::describe_run(start, source, plan, task, by);
    let intention = CloudIntention {
        place: source.place.clone(),
        goal: run.describe(),
        driver: UploadPurpose::Verify.driver(),
        entry: Entry::CloudRunStarted { run: Box::new(run.clone()) },
        blobs: Vec::new(),
    };
    let CloudWorkflow { seq, lease } = begin_workflow(ledger, intention)?;
    Ok((PastRun { seq, workflow: lease.workflow(), run, is_finished: false }, lease))
}

/// Records what came of a run.
fn finish_run(
    ledger: &Ledger,
    past: &PastRun,
    results: &Result<Vec<SpecResult>, String>,
) -> Result<(), DeployError> {
    let all = results.as_deref().unwrap_or_default();
    let count = |outcome| all.iter().map(|it| it.count_outcome(outcome) as u64).sum::<u64>();
    let broken = all.iter().filter(|it| it.failure.is_some()).count() as u64;
    let (passed, failed) = (count(CaseOutcome::Passed), count(CaseOutcome::Failed) + broken);
    let mut entries = vec![Entry::CloudRunFinished {
        run: past.seq,
        passed,
        failed,
        skipped: count(CaseOutcome::Skipped),
        failure: results.as_ref().err().cloned(),
    }];
    let records = ledger.workflow_records_after(past.workflow, past.seq)?;
    if !records.iter().any(|it| matches!(it.entry, Entry::Finished { .. })) {
        let (outcome, summary) = match results {
            Ok(_) => (Finish::Done, Some(format!("{passed} passed, {failed} failed."))),
            Err(_) => (Finish::Failed, None),
        };
        entries.push(Entry::Finished { outcome, summary });
    }
    let batch = AppendBatch { workflow: Some(past.workflow), entries, blobs: Vec::new() };
    ledger.append(batch)?;
    Ok(())
}
