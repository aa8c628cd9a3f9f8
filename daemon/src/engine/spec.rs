//! Runs specs in the style of TestEZ headlessly: in a Luau VM of their own, over a still of the place.
//!
//! They reach nothing: no file, no network, no process, no environment, no other VM. Each spec has a
//! VM for itself with limits on its time and memory, on a thread with a large stack, and whatever they
//! do ends in a result. What only Studio has (properties, events, data types, physics) is not there.

mod vm;
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::core::scene::Still;

/// The stack of the thread: the VM recurses for calls of calls.
const STACK: usize = 64 << 20;
/// How long one that is over its time may take to notice: within one call of the VM's own library
/// nobody is asked.
const GRACE: Duration = Duration::from_secs(2);

/// How much specs may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long all may take.
    pub total: Duration,
    /// How long one case may take.
    pub case: Duration,
    /// How much memory one spec may have, in bytes.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { total: Duration::from_secs(30), case: Duration::from_secs(5), memory: 256 << 20 }
    }
}

/// What became of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It did what it expects.
    Passed,
    /// It did not.
    Failed,
    /// It was left out: by its author, or because others have the focus.
    Skipped,
}

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The path of the script, and the line from 1, where they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<(String, u32)>,
    /// What went wrong.
    pub message: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.at {
            Some((path, line)) => write!(f, "{path}:{line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// A case of a spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Its name, behind those of what it stands in.
    pub name: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// What it printed.
    pub output: Vec<String>,
}

/// What became of a spec.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spec {
    /// The path of its module.
    pub path: String,
    /// Its cases.
    pub cases: Vec<Case>,
    /// Why it did not run, or not to its end.
    pub failure: Option<Failure>,
}

impl Spec {
    /// How many of its cases had this outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.cases.iter().filter(|case| case.outcome == outcome).count()
    }

    /// Whether all that ran passed.
    pub fn is_good(&self) -> bool {
        self.failure.is_none() && self.count(Outcome::Failed) == 0
    }
}

/// What is told on the way.
enum Told {
    /// The spec of this index begins.
    Begun(usize),
    /// A case of it is over.
    Case(Case),
    /// It could not run, or not on.
    Failed(Failure),
}

/// When there is no more time, and whether anybody still waits.
#[derive(Debug, Clone)]
struct Clock {
    until: Instant,
    stopped: Arc<AtomicBool>,
}

impl Clock {
    fn is_over(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || Instant::now() >= self.until
    }
}

/// Runs the specs of these numbers in a still, one after the other, and waits for them.
pub fn run(still: &Arc<Still>, specs: &[u32], limits: Limits) -> Vec<Spec> {
    let path = |at: &u32| {
        let path = still.get(*at).and_then(|it| it.path.as_deref());
        Spec { path: path.unwrap_or_default().to_owned(), ..Spec::default() }
    };
    let mut results: Vec<Spec> = specs.iter().map(path).collect();
    let until = Instant::now() + limits.total;
    let clock = Clock { until, stopped: Arc::new(AtomicBool::new(false)) };
    let (tell, told) = mpsc::channel();
    let (still, numbers, own) = (Arc::clone(still), specs.to_vec(), clock.clone());
    let work = move || {
        for (index, spec) in numbers.into_iter().enumerate() {
            if own.is_over() || tell.send(Told::Begun(index)).is_err() {
                return;
            }
            if let Err(failure) = vm::run(&still, spec, (limits, &own), &tell) {
                // Whoever waited may be gone.
                let _ = tell.send(Told::Failed(failure));
            }
        }
    };
    let failed = |message: String| Some(Failure { at: None, message });
    if let Err(why) = thread::Builder::new().stack_size(STACK).spawn(work) {
        for spec in &mut results {
            spec.failure = failed(format!("no thread could be made for it: {why}"));
        }
        return results;
    }
    let mut begun = 0;
    let mut index = None;
    loop {
        let left = (until + GRACE).saturating_duration_since(Instant::now());
        match told.recv_timeout(left) {
            Ok(Told::Begun(at)) => {
                index = Some(at);
                begun = at + 1;
            }
            Ok(Told::Case(case)) => {
                if let Some(spec) = index.and_then(|at| results.get_mut(at)) {
                    spec.cases.push(case);
                }
            }
            Ok(Told::Failed(failure)) => {
                if let Some(spec) = index.and_then(|at| results.get_mut(at)) {
                    spec.failure = Some(failure);
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                clock.stopped.store(true, Ordering::Relaxed);
                if let Some(spec) = index.and_then(|at| results.get_mut(at)) {
                    spec.failure = failed("it did not end when its time was over".to_owned());
                }
                break;
            }
        }
    }
    for spec in results.iter_mut().skip(begun) {
        let seconds = limits.total.as_secs_f32();
        spec.failure = failed(format!(
            "it did not run: all specs together have {seconds} s; run fewer, or give them more time"
        ));
    }
    results
}

/// Says something to whoever waits; false where nobody does.
fn tell(to: &Sender<Told>, told: Told) -> bool {
    to.send(told).is_ok()
}

#[cfg(test)]
mod tests;
