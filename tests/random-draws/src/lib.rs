//! Random numbers for tests, from seeds, and the smallest form of a case that fails.
//!
//! In most generators of this project a draw depends on the values before it: a change depends on
//! the text that it changes. A strategy of proptest cannot express that without losing its way to
//! smaller values. So this crate records the draws of a case. If the case fails, proptest removes
//! and lowers draws as long as it still fails. The crate must not know what the numbers are used
//! for.

mod tree;

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use fastrand::Rng;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use self::tree::DrawTree;

/// The limits of the search for the smallest form of a failed case.
const MAX_TRIALS: u32 = 4_000;
const MAX_MILLIS: u32 = 20_000;

thread_local! {
    /// Whether panics of this thread are not printed.
    static IS_SILENT: Cell<bool> = const { Cell::new(false) };
}

/// A source of random numbers that is the same for a seed on every machine.
#[derive(Debug, Clone)]
pub struct RandomDraws {
    source: DrawSource,
    /// All numbers drawn so far, or those that are replayed.
    draws: Vec<u64>,
}

#[derive(Debug, Clone)]
enum DrawSource {
    Seed(Rng),
    /// The position of the next replayed draw. All numbers after the last one are 0.
    Replay(usize),
}

impl RandomDraws {
    pub fn from_seed(seed: u64) -> Self {
        // Forked, because the first numbers of adjacent seeds are related.
        Self { source: DrawSource::Seed(Rng::with_seed(seed).fork()), draws: Vec::new() }
    }

    fn replay(draws: Vec<u64>) -> Self {
        Self { source: DrawSource::Replay(0), draws }
    }

    /// Draws 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.draw(|rng| rng.u64(..))
    }

    /// Draws a number below `end`, or 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        let end = end.max(1) as u64;
        (self.draw(|rng| rng.u64(..end)) % end) as usize
    }

    /// Draws true once in `times` times.
    pub fn one_in(&mut self, times: usize) -> bool {
        // The smallest draw must be the usual case.
        self.below(times) + 1 == times
    }

    pub fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.below(256) as u8).collect()
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }

    fn draw(&mut self, from: impl FnOnce(&mut Rng) -> u64) -> u64 {
        match &mut self.source {
            DrawSource::Seed(rng) => {
                let number = from(rng);
                self.draws.push(number);
                number
            }
            DrawSource::Replay(at) => {
                *at += 1;
                self.draws.get(*at - 1).copied().unwrap_or(0)
            }
        }
    }
}

/// Runs a test with each seed.
///
/// # Panics
///
/// If the test panics: with the seed, and with the message of the smallest case that fails.
#[track_caller]
pub fn check_seeds(seeds: Range<u64>, test: impl Fn(&mut RandomDraws)) {
    let panic_of = |draws: &mut RandomDraws| {
        let panic = catch_unwind(AssertUnwindSafe(|| test(draws))).err()?;
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref::<&str>().copied());
        Some(message.unwrap_or("a panic without a message").to_owned())
    };
    for seed in seeds {
        let mut draws = RandomDraws::from_seed(seed);
        if let Some(first) = panic_of(&mut draws) {
            panic!("seed {seed}: {}", shrink_failure(draws, first, panic_of));
        }
    }
}

/// Runs work whose panics on this thread are not printed: each of a thousand trials may panic.
fn without_panic_output<T>(work: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !IS_SILENT.get() {
                print(panic);
            }
        }));
    });
    IS_SILENT.set(true);
    let result = work();
    IS_SILENT.set(false);
    result
}

/// Returns the failure of the smallest case. `draws` are those of a case that failed with `first`,
/// and `failure_of` runs a case and returns its failure.
pub fn shrink_failure<E>(
    draws: RandomDraws,
    first: E,
    failure_of: impl Fn(&mut RandomDraws) -> Option<E>,
) -> E {
    let config = Config {
        failure_persistence: None,
        max_shrink_iters: MAX_TRIALS,
        max_shrink_time: MAX_MILLIS,
        ..Config::default()
    };
    // The case is there already: the runner draws nothing.
    let unused = TestRng::deterministic_rng(RngAlgorithm::XorShift);
    let mut runner = TestRunner::new_with_rng(config, unused);
    // Every smaller case that fails replaces the one before it.
    let smallest = RefCell::new(first);
    let test = |mut draws: RandomDraws| match failure_of(&mut draws) {
        Some(failure) => {
            *smallest.borrow_mut() = failure;
            Err(TestCaseError::fail("a smaller case"))
        }
        None => Ok(()),
    };
    // A case that does not fail again keeps its first failure.
    let _ = without_panic_output(|| runner.run_one(DrawTree::new(draws.draws), test));
    smallest.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_numbers_and_others_do_not() {
        let numbers = |seed| {
            let mut draws = RandomDraws::from_seed(seed);
            (0..50).map(|_| draws.below(1_000)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(3), numbers(3));
        for seed in 0..200 {
            let (one, other) = (numbers(seed), numbers(seed + 1));
            let shared = one.iter().zip(&other).filter(|(a, b)| a == b).count();
            assert!(shared < 5, "{seed}");
        }
    }

    #[test]
    fn numbers_are_spread_over_their_range() {
        let mut counts = [0; 10];
        // The first number of each seed, and the first one that is rare.
        for seed in 0..10_000 {
            counts[RandomDraws::from_seed(seed).below(10)] += 1;
        }
        assert!(counts.iter().all(|count| (900..1_100).contains(count)), "{counts:?}");
        let mut draws = RandomDraws::from_seed(1);
        let rare = (0..10_000).filter(|_| draws.one_in(10)).count();
        assert!((900..1_100).contains(&rare), "{rare}");
        assert_eq!((draws.below(0), draws.below(1), draws.one_in(1)), (0, 0, true));
    }

    #[test]
    fn failure_is_that_of_the_smallest_case() {
        // Fails if a list has a number of at least 40 and then one of at least 7.
        let failure_of = |draws: &mut RandomDraws| {
            let list: Vec<usize> = (0..draws.below(200)).map(|_| draws.below(1_000)).collect();
            let first = list.iter().position(|number| *number >= 40)?;
            list[first + 1..].iter().any(|number| *number >= 7).then_some(list)
        };
        for seed in 0..50 {
            let mut draws = RandomDraws::from_seed(seed);
            let Some(first) = failure_of(&mut draws) else { continue };
            let smallest = shrink_failure(draws, first, failure_of);
            assert!(smallest.len() <= 3 && smallest.iter().sum::<usize>() < 100, "{smallest:?}");
        }
    }

    #[test]
    fn message_names_the_seed_and_the_smallest_case() {
        let run = || {
            check_seeds(5..9, |draws| {
                let list = draws.bytes(30);
                assert!(list.iter().all(|byte| *byte < 30), "{:?}", list.iter().max());
            });
        };
        let panic = catch_unwind(run).unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.starts_with("seed 5: Some("), "{message}");
        let number: u32 = message["seed 5: Some(".len()..].trim_end_matches(')').parse().unwrap();
        assert!((30..60).contains(&number), "{message}");
    }
}
