//! Verifies a place in Roblox's own engine: saves it to a scratch place, and runs its specs there as a
//! task of Luau execution.
//!
//! A run is recorded in the ledger before its task is started, and the task as soon as Roblox has named
//! it, so that an interrupted run is read and not started a second time unnoticed. This module does not
//! ask for approval, and does not know how results are shown.

mod overlay;
mod past;
mod report;
mod scratch;
mod side_effects;
mod task_run;

use scene_schemas::entry::{Approver, CloudRun, Seq, VersionKind};
use scene_schemas::{Fingerprint, InstancePath};
use vector_cloud::{CloudFailure, CloudFailureKind, LuauLogMessage, LuauTaskPath, LuauTaskStart};
use vector_core::specs::{SpecFinder, SpecResult};
use vector_ledger::Ledger;
use vector_place::{Node, Scene};
use vector_providers::http::CancelSwitch;
use vector_providers::keys::SecretKey;
use vector_runtime::{CloudScript, CloudSpecs};

pub use self::overlay::OverlaySource;
pub use self::past::{PastRun, RunEnd, RunHistory};
pub use self::scratch::{check_scratch, last_scratch};
pub use self::side_effects::{SideEffect, SideEffects};
pub use self::task_run::MAX_SECONDS;

use super::cloud::find_verify_key;
use super::deploy::{
    DeployError, DeploySource, DeployTarget, PastUpload, UploadHistory, UploadPurpose,
    VersionRequest, open_scene, refuse_deploy, send_version,
};
use past::{OpenRun, RunFailure, RunStart, accept_run, begin_run, finish_run};
use task_run::{EndedTask, TaskEnd};

/// The time limit of a task if none is given, in seconds.
pub const DEFAULT_SECONDS: u32 = 60;

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
    /// The time limit of the task, in seconds.
    pub seconds: u32,
    /// The interrupted run of the same specs in the same version. Its results are read, and nothing is
    /// started.
    pub resumes: Option<Seq>,
    /// The last run of the same specs, if it is not known whether Roblox started it.
    pub unclear: Option<Seq>,
    script: CloudScript,
}

/// What a run does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifyStep {
    Uploading,
    /// The task is requested.
    Starting,
    /// Roblox has the task, whose end is waited for.
    Running,
}

/// Who approved a run, and how it is followed.
pub struct VerifyControl<'c> {
    pub by: Approver,
    /// Ends the wait. What Roblox has goes on.
    pub cancel: &'c CancelSwitch,
    pub on_step: &'c mut dyn FnMut(VerifyStep),
}

/// The end of a report of interrupted waiting.
const READ_LATER: &str = "Verify again to read its results.";

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
/// Uploads and starts of stopped processes are recorded as not known to have arrived.
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
    let hash = Fingerprint::hash_bytes(script.text().as_bytes());
    let mut uploads = UploadHistory::read(ledger)?;
    uploads.close_interrupted(ledger)?;
    let existing = uploads.with_contents(target, &source.contents).and_then(PastUpload::version);
    let mut runs = RunHistory::read(ledger)?;
    runs.close_interrupted(ledger)?;
    let unread = existing.and_then(|version| runs.unread(target, &hash, version));
    let paths = paths_of(&scene, &specs);
    let side_effects = SideEffects::find(scene, [specs, modules].concat())?;
    Ok(VerifyPlan {
        target,
        specs: paths,
        existing,
        side_effects,
        proposal: request.proposal,
        seconds: request.seconds,
        resumes: unread.map(|past| past.seq),
        unclear: runs.unclear(target, &hash).map(|past| past.seq),
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
    control: &mut VerifyControl<'_>,
) -> Result<VerifyReport, DeployError> {
    let key = find_verify_key().map_err(refuse_deploy)?;
    let version = if let Some(version) = plan.existing {
        version
    } else {
        (control.on_step)(VerifyStep::Uploading);
        let request = VersionRequest {
            target: plan.target,
            kind: VersionKind::Saved,
            by: control.by,
            compared: None,
            purpose: UploadPurpose::Verify,
            proposal: plan.proposal,
        };
        send_version(ledger, source, request, control.cancel)?
    };
    let start = LuauTaskStart {
        universe: plan.target.universe,
        place: plan.target.place,
        version: Some(version),
        script: plan.script.text().to_owned(),
        timeout_seconds: plan.seconds,
        binary_input: None,
    };
    let run = CloudRun {
        universe: plan.target.universe,
        place: plan.target.place,
        version,
        contents: source.contents.clone(),
        script: Fingerprint::hash_bytes(start.script.as_bytes()),
        specs: plan.specs.len() as u64,
        proposal: plan.proposal,
        task: String::new(),
        by: control.by,
    };
    let running = CloudRunning { ledger, plan, version, key: &key };
    loop {
        match begin_run(ledger, &source.place, &run)? {
            RunStart::Begun(open) => return running.start(&open, &start, control),
            RunStart::Resumed(open) => {
                if let Some(report) = running.resume(&open, control)? {
                    return Ok(report);
                }
            }
        }
    }
}

/// A run whose version is on Roblox.
struct CloudRunning<'r> {
    ledger: &'r Ledger,
    plan: &'r VerifyPlan,
    version: u64,
    key: &'r SecretKey,
}

impl CloudRunning<'_> {
    /// Starts the task of a run that was recorded, and waits for its results.
    fn start(
        &self,
        open: &OpenRun,
        start: &LuauTaskStart,
        control: &mut VerifyControl<'_>,
    ) -> Result<VerifyReport, DeployError> {
        (control.on_step)(VerifyStep::Starting);
        let started = match task_run::start_task(start, self.key, control.cancel) {
            Ok(started) => started,
            Err(failure) => {
                let reason = self.describe_unstarted(&failure, control.cancel);
                let is_unclear = failure.may_have_acted;
                let end = RunFailure { reason: reason.clone(), is_unclear };
                finish_run(self.ledger, &open.past, &Err(end), &[])?;
                return Err(refuse_deploy(reason));
            }
        };
        accept_run(self.ledger, &open.past, &started)?;
        let followed = self.follow(&started, control);
        let ended = followed
            .map_err(|failure| refuse_deploy(self.describe_open(&failure, control.cancel)))?;
        self.finish(&open.past, &started, &ended, false)
    }

    /// Waits for the results of an interrupted run. None if Roblox does not have its task any more.
    fn resume(
        &self,
        open: &OpenRun,
        control: &mut VerifyControl<'_>,
    ) -> Result<Option<VerifyReport>, DeployError> {
        let path = LuauTaskPath::parse(&open.past.run.task);
        let path = path.map_err(|failure| refuse_deploy(failure.message))?;
        match self.follow(&path, control) {
            Err(failure) if failure.kind == CloudFailureKind::NotFound => {
                let reason = "Roblox does not have the task any more.".to_owned();
                let end = RunFailure { reason, is_unclear: false };
                finish_run(self.ledger, &open.past, &Err(end), &[])?;
                Ok(None)
            }
            Err(failure) => Err(refuse_deploy(self.describe_open(&failure, control.cancel))),
            Ok(ended) => self.finish(&open.past, &path, &ended, true).map(Some),
        }
    }

    fn follow(
        &self,
        path: &LuauTaskPath,
        control: &mut VerifyControl<'_>,
    ) -> Result<EndedTask, CloudFailure> {
        (control.on_step)(VerifyStep::Running);
        task_run::follow_task(path, self.plan.seconds, self.key, control.cancel)
    }

    fn finish(
        &self,
        past: &PastRun,
        path: &LuauTaskPath,
        ended: &EndedTask,
        is_resumed: bool,
    ) -> Result<VerifyReport, DeployError> {
        let results = read_end(self.plan, self.version, ended);
        let failed = |reason| RunFailure { reason, is_unclear: false };
        finish_run(self.ledger, past, &results.clone().map_err(failed), &ended.logs)?;
        Ok(VerifyReport {
            version: self.version,
            task: path.as_str().to_owned(),
            is_resumed,
            results,
            logs: ended.logs.clone(),
        })
    }

    /// Says why a task was not started, or that this is not known.
    fn describe_unstarted(&self, failure: &CloudFailure, cancel: &CancelSwitch) -> String {
        let message =
            if cancel.is_cancelled() { "It was cancelled." } else { failure.message.as_str() };
        if !failure.may_have_acted {
            return message.to_owned();
        }
        format!(
            "{message} Roblox may run the specs all the same, until their time limit of {} s. If you \
             verify again, they may run twice.",
            self.plan.seconds
        )
    }

    /// Says why a task that goes on is not waited for.
    fn describe_open(&self, failure: &CloudFailure, cancel: &CancelSwitch) -> String {
        if cancel.is_cancelled() {
            return format!(
                "The wait was cancelled. The task goes on at Roblox until its time limit of {} s. \
                 {READ_LATER}",
                self.plan.seconds
            );
        }
        format!("{} The task goes on. {READ_LATER}", failure.message)
    }
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
