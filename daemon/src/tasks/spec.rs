//! Headless runner for specs in the style of TestEZ, each in a separate Luau VM over a snapshot of
//! the place.
//!
//! Specs have no access to files, the network, processes, the environment or other VMs. Each spec
//! runs in its own VM with limits on time and memory, on a thread with a large stack, and always
//! ends in a result. What exists only in Studio (properties, events, data types, physics) is not
//! available.

mod report;
mod vm;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use vector_place::SceneSnapshot;

pub use self::report::report_json;

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

/// The outcome of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CaseOutcome {
    Passed,
    Failed,
    /// Skipped by its author, or because other cases have the focus.
    Skipped,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaseFailure {
    /// The path of the script, and the line from 1, if they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<(String, u32)>,
    pub message: String,
}

impl std::fmt::Display for CaseFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.at {
            Some((path, line)) => write!(f, "{path}:{line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// A case of a spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecCase {
    /// The name, preceded by those of the blocks that contain it.
    pub name: String,
    pub outcome: CaseOutcome,
    pub failure: Option<CaseFailure>,
    /// The output, if the case failed.
    pub output: Vec<String>,
}

/// The result of a spec.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpecResult {
    /// The path of the spec's module.
    pub path: String,
    pub cases: Vec<SpecCase>,
    /// The reason the spec did not run, or not to its end.
    pub failure: Option<CaseFailure>,
}

impl SpecResult {
    pub fn count_outcome(&self, outcome: CaseOutcome) -> usize {
        self.cases.iter().filter(|case| case.outcome == outcome).count()
    }

    /// Whether the spec ran and no case failed.
    pub fn has_passed(&self) -> bool {
        self.failure.is_none() && self.count_outcome(CaseOutcome::Failed) == 0
    }
}

/// A progress report of the thread that runs the specs.
enum SpecProgress {
    /// The spec with this index starts.
    Started(usize),
    /// A case of the current spec ended.
    Case(SpecCase),
    /// The current spec ended. Contains the reason if it did not run to its end.
    Done(Option<CaseFailure>),
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

/// Runs the specs with these snapshot IDs one after another. Waits until they are done, the time is
/// over, or the run is cancelled. A spec that did not report its end has failed.
pub fn run_specs(
    still: &Arc<SceneSnapshot>,
    specs: &[u32],
    limits: SpecLimits,
    is_cancelled: &dyn Fn() -> bool,
) -> Vec<SpecResult> {
    let path = |at: &u32| {
        let path = still.get(*at).and_then(|it| it.path.as_deref());
        SpecResult { path: path.unwrap_or_default().to_owned(), ..SpecResult::default() }
    };
    let mut results: Vec<SpecResult> = specs.iter().map(path).collect();
    let clock = SpecClock {
        until: Instant::now() + limits.total_time,
        is_stopped: Arc::new(AtomicBool::new(false)),
    };
    let (sender, receiver) = mpsc::channel();
    let (still, numbers, own) = (Arc::clone(still), specs.to_vec(), clock.clone());
    let work = move || run_each(&still, &numbers, limits, &own, &sender);
    let lost = match thread::Builder::new().stack_size(STACK).spawn(work) {
        Ok(_) => gather_results(&mut results, &receiver, &clock, is_cancelled),
        Err(why) => Some((0, format!("no thread could be made for it: {why}"))),
    };
    let Some((begun, why)) = lost else {
        return results;
    };
    for spec in results.iter_mut().skip(begun) {
        spec.failure = Some(CaseFailure { at: None, message: why.clone() });
    }
    results
}

/// Runs on the thread of the specs.
fn run_each(
    still: &Arc<SceneSnapshot>,
    specs: &[u32],
    limits: SpecLimits,
    clock: &SpecClock,
    sender: &Sender<SpecProgress>,
) {
    let mut cases_left = limits.max_cases;
    for (index, spec) in specs.iter().enumerate() {
        if clock.is_over() || !send_progress(sender, SpecProgress::Started(index)) {
            return;
        }
        let run = || vm::run_spec(still, *spec, limits, clock, &mut cases_left, sender);
        let failure = catch_unwind(AssertUnwindSafe(run)).map_or_else(
            |_| {
                let message =
                    "Vector failed while it ran; run the others without it, and report it";
                Some(CaseFailure { at: None, message: message.to_owned() })
            },
            Result::err,
        );
        if !send_progress(sender, SpecProgress::Done(failure)) {
            return;
        }
    }
}

/// Collects progress until the sender is gone, the time is over, or the run is cancelled. Returns
/// the index of the first spec that did not start and the reason. None if all started.
fn gather_results(
    results: &mut [SpecResult],
    receiver: &Receiver<SpecProgress>,
    clock: &SpecClock,
    is_cancelled: &dyn Fn() -> bool,
) -> Option<(usize, String)> {
    let failed = |message: &str| Some(CaseFailure { at: None, message: message.to_owned() });
    let mut begun = 0_usize;
    let why = loop {
        if is_cancelled() {
            clock.request_stop();
            break "it was cancelled";
        }
        let left = (clock.until + GRACE).saturating_duration_since(Instant::now());
        let spec = begun.checked_sub(1).and_then(|at| results.get_mut(at));
        match receiver.recv_timeout(left.min(POLL_INTERVAL)) {
            Ok(SpecProgress::Started(at)) => {
                begun = at + 1;
                if let Some(spec) = results.get_mut(at) {
                    spec.failure = failed("it did not run to its end");
                }
            }
            Ok(SpecProgress::Case(case)) => {
                if let Some(spec) = spec {
                    spec.cases.push(case);
                }
            }
            Ok(SpecProgress::Done(failure)) => {
                if let Some(spec) = spec {
                    spec.failure = failure;
                }
            }
            Err(RecvTimeoutError::Timeout) if left > POLL_INTERVAL => {}
            Err(RecvTimeoutError::Timeout) => {
                clock.request_stop();
                if let Some(spec) = spec {
                    spec.failure = failed("it did not end when its time was over");
                }
                break TIMEOUT_MESSAGE;
            }
            Err(RecvTimeoutError::Disconnected) if clock.is_over() => break TIMEOUT_MESSAGE,
            Err(RecvTimeoutError::Disconnected) => {
                break "it did not run: Vector failed at a spec before it; run it without that one";
            }
        }
    };
    (begun < results.len()).then(|| (begun, why.to_owned()))
}

/// Truncates an untrusted text to at most `limit` bytes, at a character boundary.
fn truncate_text(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(limit.saturating_sub(3));
    format!("{}...", &text[..end])
}

/// Sends a progress report. Returns false if the receiver is gone.
fn send_progress(sender: &Sender<SpecProgress>, progress: SpecProgress) -> bool {
    sender.send(progress).is_ok()
}

#[cfg(test)]
mod tests;
