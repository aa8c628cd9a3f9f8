//! Runs specs, each in a VM of its own, on the server of a game without players.
//!
//! Specs run on a thread with a large stack, one after the other, with limits on time and memory, and
//! each always ends in a result.

mod cloud_script;
mod vm;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use vector_core::specs::{CaseFailure, SpecCase, SpecFinder, SpecResult};
use vector_place::{MissingFacts, Node, Scene};

pub use self::cloud_script::{CloudResults, CloudScript, CloudSpecs};

/// Stack size of the thread: the VM recurses for nested calls.
const STACK: usize = 64 << 20;
/// Extra time for a spec that has exceeded its limit to stop: the VM does not interrupt a single
/// call of its own library.
const GRACE: Duration = Duration::from_secs(2);
/// Interval for checking whether the run was cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The message for specs that did not run because the time was over.
const TIMEOUT_MESSAGE: &str = "it did not run: the time of all specs together is over; run fewer, or give them \
                    more time";

/// The limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpecLimits {
    /// The time limit of the whole run.
    pub total_time: Duration,
    /// The time limit of a case.
    pub case_time: Duration,
    /// The memory limit of a spec, in bytes.
    pub memory_bytes: usize,
    /// The total number of cases in all specs.
    pub max_cases: usize,
}

impl Default for SpecLimits {
    fn default() -> Self {
        Self {
            total_time: Duration::from_secs(30),
            case_time: Duration::from_secs(5),
            memory_bytes: 256 << 20,
            max_cases: 100_000,
        }
    }
}

/// What came of specs.
#[derive(Debug, Default)]
pub struct SpecsRun {
    pub results: Vec<SpecResult>,
    /// What they read of an open place that is not known.
    pub missing: MissingFacts,
}

/// A progress report of the thread that runs the specs, which are named by their index.
enum SpecProgress {
    /// Specs that run in one VM start.
    Started(Range<usize>),
    /// A case of a spec ended.
    Case(usize, SpecCase),
    /// A spec ended. Contains the reason if it did not run to its end.
    Done(usize, Option<CaseFailure>),
    /// What specs read that is not known.
    Missing(MissingFacts),
}

/// The deadline of a run, and whether the run was stopped.
#[derive(Debug, Clone)]
struct SpecClock {
    until: Instant,
    is_stopped: Arc<AtomicBool>,
}

impl SpecClock {
    fn is_over(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed) || Instant::now() >= self.until
    }

    fn request_stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}

/// Specs that run in one VM: one of TestEZ, or those of a project of Jest.
struct SpecGroup {
    specs: Vec<Node>,
    jest: Option<JestProject>,
}

struct JestProject {
    root: Node,
    /// The module of Jest; None if the place does not have it.
    module: Option<Node>,
}

fn group_specs(scene: &Scene, specs: &[Node]) -> Vec<SpecGroup> {
    let finder = SpecFinder::new(scene);
    let mut groups: Vec<SpecGroup> = Vec::new();
    for &spec in specs {
        let Some(root) = finder.jest_project(spec) else {
            groups.push(SpecGroup { specs: vec![spec], jest: None });
            continue;
        };
        let is_same =
            |group: &&mut SpecGroup| group.jest.as_ref().is_some_and(|jest| jest.root == root);
        if let Some(group) = groups.iter_mut().find(is_same) {
            group.specs.push(spec);
        } else {
            let jest = Some(JestProject { root, module: finder.jest() });
            groups.push(SpecGroup { specs: vec![spec], jest });
        }
    }
    groups
}

/// Runs specs one after another, each as if it were alone in the scene. Waits until they are done, the
/// time is over, or the run is cancelled. A spec that did not report its end has failed.
pub fn run_specs(
    scene: Scene,
    specs: &[Node],
    limits: SpecLimits,
    is_cancelled: &dyn Fn() -> bool,
) -> SpecsRun {
    let result =
        |node: &Node| SpecResult { path: scene.path(*node).to_string(), ..SpecResult::default() };
    let groups = group_specs(&scene, specs);
    let mut run = SpecsRun {
        results: groups.iter().flat_map(|group| &group.specs).map(result).collect(),
        missing: MissingFacts::default(),
    };
    let clock = SpecClock {
        until: Instant::now() + limits.total_time,
        is_stopped: Arc::new(AtomicBool::new(false)),
    };
    let (sender, receiver) = mpsc::channel();
    let own = clock.clone();
    let work = move || run_each(&scene, &groups, limits, &own, &sender);
    let lost = match thread::Builder::new().stack_size(STACK).spawn(work) {
        Ok(_) => gather_results(&mut run, &receiver, &clock, is_cancelled),
        Err(why) => Some((0, format!("no thread could be made for it: {why}"))),
    };
    let Some((begun, why)) = lost else {
        return run;
    };
    for spec in run.results.iter_mut().skip(begun) {
        spec.failure = Some(CaseFailure { at: None, message: why.clone() });
    }
    run
}

/// What the specs of a run share.
struct SpecRun<'r> {
    scene: &'r Scene,
    limits: SpecLimits,
    clock: &'r SpecClock,
    /// The number of cases left for all specs.
    cases_left: &'r mut usize,
    sender: &'r Sender<SpecProgress>,
}

/// Runs on the thread of the specs.
fn run_each(
    scene: &Scene,
    groups: &[SpecGroup],
    limits: SpecLimits,
    clock: &SpecClock,
    sender: &Sender<SpecProgress>,
) {
    let mut cases_left = limits.max_cases;
    let mut first = 0;
    for group in groups {
        let own = first..first + group.specs.len();
        if clock.is_over() || !send_progress(sender, SpecProgress::Started(own.clone())) {
            return;
        }
        let mut run = SpecRun { scene, limits, clock, cases_left: &mut cases_left, sender };
        let run = || match &group.jest {
            None => {
                for (spec, index) in group.specs.iter().zip(own.clone()) {
                    let failure = vm::run_spec(&mut run, *spec, index).err();
                    send_progress(run.sender, SpecProgress::Done(index, failure));
                }
                Ok(())
            }
            Some(jest) => vm::run_jest(&mut run, jest, &group.specs, own.start),
        };
        let failure = catch_unwind(AssertUnwindSafe(run)).map_or_else(
            |_| {
                let message =
                    "Vector failed while it ran; run the others without it, and report it";
                Some(CaseFailure { at: None, message: message.to_owned() })
            },
            Result::err,
        );
        send_progress(sender, SpecProgress::Missing(scene.take_missing()));
        if let Some(failure) = failure {
            for index in own.clone() {
                send_progress(sender, SpecProgress::Done(index, Some(failure.clone())));
            }
        }
        first = own.end;
    }
}

/// Collects progress until the sender is gone, the time is over, or the run is cancelled. Returns
/// the index of the first spec that did not start and the reason. None if all started.
fn gather_results(
    run: &mut SpecsRun,
    receiver: &Receiver<SpecProgress>,
    clock: &SpecClock,
    is_cancelled: &dyn Fn() -> bool,
) -> Option<(usize, String)> {
    let failed = |message: &str| Some(CaseFailure { at: None, message: message.to_owned() });
    let mut begun = 0_usize;
    // Those that were begun and have not ended.
    let mut open: Vec<usize> = Vec::new();
    let why = loop {
        if is_cancelled() {
            clock.request_stop();
            break "it was cancelled";
        }
        let left = (clock.until + GRACE).saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left.min(POLL_INTERVAL)) {
            Ok(SpecProgress::Started(own)) => {
                begun = own.end;
                for spec in run.results.get_mut(own.clone()).into_iter().flatten() {
                    spec.failure = failed("it did not run to its end");
                }
                open.extend(own);
            }
            Ok(SpecProgress::Case(at, case)) => {
                if let Some(spec) = run.results.get_mut(at) {
                    spec.cases.push(case);
                }
            }
            Ok(SpecProgress::Done(at, failure)) => {
                if let Some(spec) = run.results.get_mut(at) {
                    spec.failure = failure;
                }
                open.retain(|spec| *spec != at);
            }
            Ok(SpecProgress::Missing(missing)) => run.missing.join(missing),
            Err(RecvTimeoutError::Timeout) if left > POLL_INTERVAL => {}
            Err(RecvTimeoutError::Timeout) => {
                clock.request_stop();
                for at in open {
                    if let Some(spec) = run.results.get_mut(at) {
                        spec.failure = failed("it did not end when its time was over");
                    }
                }
                break TIMEOUT_MESSAGE;
            }
            Err(RecvTimeoutError::Disconnected) if clock.is_over() => break TIMEOUT_MESSAGE,
            Err(RecvTimeoutError::Disconnected) => {
                break "it did not run: Vector failed at a spec before it; run it without that one";
            }
        }
    };
    (begun < run.results.len()).then(|| (begun, why.to_owned()))
}

/// Sends a progress report. Returns false if the receiver is gone.
fn send_progress(sender: &Sender<SpecProgress>, progress: SpecProgress) -> bool {
    sender.send(progress).is_ok()
}

#[cfg(test)]
mod tests;
