//! Runs specs in the style of TestEZ headlessly: in a Luau VM of their own, over a still of the place.
//!
//! They reach nothing: no file, no network, no process, no environment, no other VM. Each spec has a
//! VM for itself with limits on its time and memory, on a thread with a large stack, and whatever they
//! do ends in a result. What only Studio has (properties, events, data types, physics) is not there.

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

/// The stack of the thread: the VM recurses for calls of calls.
const STACK: usize = 64 << 20;
/// How long one that is over its time may take to notice: within one call of the VM's own library
/// nobody is asked.
const GRACE: Duration = Duration::from_secs(2);
/// How often it is looked whether anybody still wants what comes.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What is said of specs for which no time is left.
const TIMEOUT_MESSAGE: &str = "it did not run: the time of all specs together is over; run fewer, or give them \
                    more time";

/// How much specs may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpecLimits {
    /// How long all may take.
    pub total_time: Duration,
    /// How long one case may take.
    pub case_time: Duration,
    /// How much memory one spec may have, in bytes.
    pub memory_bytes: usize,
    /// How many cases all specs may have.
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

/// What became of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CaseOutcome {
    /// It did what it expects.
    Passed,
    Failed,
    /// It was left out: by its author, or because others have the focus.
    Skipped,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaseFailure {
    /// The path of the script, and the line from 1, where they are known.
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
    /// Its name, behind those of what it stands in.
    pub name: String,
    /// What became of it.
    pub outcome: CaseOutcome,
    pub failure: Option<CaseFailure>,
    /// What it printed, where it failed.
    pub output: Vec<String>,
}

/// What became of a spec.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpecResult {
    /// The path of its module.
    pub path: String,
    pub cases: Vec<SpecCase>,
    /// Why it did not run, or not to its end.
    pub failure: Option<CaseFailure>,
}

impl SpecResult {
    /// How many of its cases had this outcome.
    pub fn count_outcome(&self, outcome: CaseOutcome) -> usize {
        self.cases.iter().filter(|case| case.outcome == outcome).count()
    }

    /// Whether all that ran passed.
    pub fn has_passed(&self) -> bool {
        self.failure.is_none() && self.count_outcome(CaseOutcome::Failed) == 0
    }
}

/// What is told on the way.
enum SpecProgress {
    /// The spec of this index begins.
    Started(usize),
    /// A case of it is over.
    Case(SpecCase),
    /// It is over, and this is why it could not run to its end.
    Done(Option<CaseFailure>),
}

/// When there is no more time, and whether anybody still waits.
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

/// Runs the specs of these numbers in a still, one after the other, and waits for them, or until
/// somebody wants no more of it. A spec that did not say that it is over has failed.
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
    let (tell, told) = mpsc::channel();
    let (still, numbers, own) = (Arc::clone(still), specs.to_vec(), clock.clone());
    let work = move || run_each(&still, &numbers, limits, &own, &tell);
    let lost = match thread::Builder::new().stack_size(STACK).spawn(work) {
        Ok(_) => gather_results(&mut results, &told, &clock, is_cancelled),
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

/// What the thread of the specs does.
fn run_each(
    still: &Arc<SceneSnapshot>,
    specs: &[u32],
    limits: SpecLimits,
    clock: &SpecClock,
    told: &Sender<SpecProgress>,
) {
    let mut room = limits.max_cases;
    for (index, spec) in specs.iter().enumerate() {
        if clock.is_over() || !send_progress(told, SpecProgress::Started(index)) {
            return;
        }
        let run = || vm::run_spec(still, *spec, limits, clock, &mut room, told);
        let failure = catch_unwind(AssertUnwindSafe(run)).map_or_else(
            |_| {
                let message =
                    "Vector failed while it ran; run the others without it, and report it";
                Some(CaseFailure { at: None, message: message.to_owned() })
            },
            Result::err,
        );
        if !send_progress(told, SpecProgress::Done(failure)) {
            return;
        }
    }
}

/// Takes what is told until nobody tells more, the time is over, or nobody wants it. The first spec
/// that did not begin then, where there is one, and why.
fn gather_results(
    results: &mut [SpecResult],
    told: &Receiver<SpecProgress>,
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
        match told.recv_timeout(left.min(POLL_INTERVAL)) {
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

/// A text of somebody else in at most so many bytes, and whole characters.
fn truncate_text(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most.saturating_sub(3));
    format!("{}...", &text[..end])
}

/// Says something to whoever waits; false where nobody does.
fn send_progress(to: &Sender<SpecProgress>, told: SpecProgress) -> bool {
    to.send(told).is_ok()
}

#[cfg(test)]
mod tests;
