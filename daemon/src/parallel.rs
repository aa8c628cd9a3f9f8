//! Runs two jobs of a command at the same time, such as reading two places.

use std::panic;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Places may be nested deeply.
const STACK: usize = 256 << 20;

/// Runs `other` on another thread while `one` runs on this one, or after it if no thread can be
/// started.
pub(crate) fn run_both<A, B: Send>(
    one: impl FnOnce() -> A,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    let waiting = Mutex::new(Some(other));
    let run_other = || {
        let other = waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        other.map(|other| other())
    };
    thread::scope(|scope| {
        let started = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run_other).ok();
        let first = one();
        let second = match started.map(thread::ScopedJoinHandle::join) {
            Some(Ok(second)) => second,
            Some(Err(panicked)) => panic::resume_unwind(panicked),
            None => run_other(),
        };
        match second {
            Some(second) => (first, second),
            // It runs once, here or there.
            None => unreachable!("the other job has run"),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::run_both;

    #[test]
    fn both_jobs_run_at_the_same_time() {
        let both = Barrier::new(2);
        let job = |name: &'static str| {
            both.wait();
            name
        };
        assert_eq!(run_both(|| job("one"), || job("other")), ("one", "other"));
    }
}
