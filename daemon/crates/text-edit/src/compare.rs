//! Finding the lines that two lists share, in bounded work.
//!
//! The rules are those of the histogram diff in the crate `similar`, and so are the results on
//! hand-written texts: the longest run of shared lines that are not too frequent is kept, and the
//! parts before and after it are compared in the same way. In `similar`, texts that share every
//! second line take a second. This module counts steps instead. Once the budget is used up, lines
//! that occur exactly once on both sides determine what is kept. Runs of frequent lines are
//! compared with Myers' algorithm, long ones in pieces. No clock is read: the same lists always
//! give the same result.

use std::convert::Infallible;
use std::ops::Range;

use rustc_hash::FxHashMap;
use similar::DiffOp;
use similar::algorithms::{Capture, Compact, DiffHook, NoFinishHook, Replace, myers};

/// The maximum number of steps to find the longest runs.
const MAX_STEPS: usize = 800_000;
/// A line with more occurrences than this is too frequent to show which lines correspond.
const MAX_OCCURRENCES: u32 = 64;
/// The maximum number of frequent lines that are compared as a whole, per diff.
const MAX_MYERS_LINES: usize = 1_024;
/// The length of the pieces in which they are compared otherwise.
const PIECE_LINES: usize = 64;
/// The minimum length of lists that may be rejected as unlike.
const MIN_UNLIKE_LINES: usize = 512;
/// The number of lines that are probed to see whether lists are alike at either end.
const PROBED_LINES: usize = 9;

const NO_LINE: u32 = u32::MAX;

/// Numbers the lines of both lists. Equal lines get the same number.
pub(super) fn number_lines<'a>(old: &[&'a str], new: &[&'a str]) -> (Vec<u32>, Vec<u32>) {
    let mut numbers: FxHashMap<&str, u32> = FxHashMap::default();
    numbers.reserve(old.len());
    let mut number = |line: &&'a str| {
        let next = numbers.len() as u32;
        *numbers.entry(line).or_insert(next)
    };
    (old.iter().map(&mut number).collect(), new.iter().map(&mut number).collect())
}

/// Returns the differences between two lists of numbered lines. Neither may be empty.
pub(super) fn compare_numbered(old: &[u32], new: &[u32]) -> Vec<DiffOp> {
    let mut hook = Compact::new(Replace::new(Capture::new()), old, new);
    let mut comparison = ListComparison::new(old, new, &mut hook);
    let Ok(()) = comparison.run();
    let Ok(()) = hook.finish();
    hook.into_inner().into_inner().into_ops()
}

/// A range of each list.
#[derive(Debug, Clone)]
struct RangePair {
    old: Range<usize>,
    new: Range<usize>,
}

impl RangePair {
    fn len(&self) -> usize {
        self.old.len() + self.new.len()
    }
}

/// A task of the comparison; the last one in the list is next.
enum CompareTask {
    /// Compare by the longest runs.
    Runs(RangePair),
    Pieces(RangePair),
    Equal {
        old: usize,
        new: usize,
        len: usize,
    },
}

/// A run of equal lines.
#[derive(Debug, Clone, Copy)]
struct EqualRun {
    old: usize,
    new: usize,
    len: usize,
    /// The number of occurrences in the old list of the rarest line of the run.
    rarest: u32,
}

impl EqualRun {
    fn is_better(&self, other: &Self) -> bool {
        let key = |run: &Self| (std::cmp::Reverse(run.len), run.rarest, run.old, run.new);
        key(self) < key(other)
    }
}

enum LongestRun {
    Run(EqualRun),
    /// The ranges share only frequent lines.
    Scattered,
    Nothing,
}

struct StepsExhausted;

struct ListComparison<'c, D> {
    old: &'c [u32],
    new: &'c [u32],
    hook: &'c mut D,
    steps_left: usize,
    myers_budget: usize,
    /// For each number, its first position in the current range of the old list, and its number of
    /// occurrences there.
    first: Vec<u32>,
    count: Vec<u32>,
    /// For each line of the old list, the next position of an equal line.
    next_same: Vec<u32>,
    /// For each diagonal, the end of the known run in the new list.
    run_ends: Vec<u32>,
    diagonals: Vec<usize>,
}

impl<'c, D: DiffHook<Error = Infallible>> ListComparison<'c, D> {
    fn new(old: &'c [u32], new: &'c [u32], hook: &'c mut D) -> Self {
        let numbers = old.iter().chain(new).max().map_or(0, |max| *max as usize + 1);
        Self {
            old,
            new,
            hook,
            steps_left: MAX_STEPS,
            myers_budget: MAX_MYERS_LINES,
            first: vec![NO_LINE; numbers],
            count: vec![0; numbers],
            next_same: vec![NO_LINE; old.len()],
            run_ends: vec![0; old.len() + new.len() + 1],
            diagonals: Vec::new(),
        }
    }

    fn run(&mut self) -> Result<(), Infallible> {
        let all = RangePair { old: 0..self.old.len(), new: 0..self.new.len() };
        if self.is_unlike() {
            return self.replace_pair(&all);
        }
        let mut tasks = vec![CompareTask::Runs(all)];
        while let Some(task) = tasks.pop() {
            let (pair, by_runs) = match task {
                CompareTask::Equal { old, new, len } => {
                    self.hook.equal(old, new, len)?;
                    continue;
                }
                CompareTask::Runs(pair) => (pair, true),
                CompareTask::Pieces(pair) => (pair, false),
            };
            let Some(pair) = self.trim_equal(pair, &mut tasks)? else {
                continue;
            };
            if !by_runs {
                self.compare_pieces(&pair)?;
                continue;
            }
            match self.find_longest(&pair) {
                Ok(LongestRun::Run(run)) => {
                    let (old, new) = (run.old + run.len, run.new + run.len);
                    let behind = RangePair { old: old..pair.old.end, new: new..pair.new.end };
                    let before =
                        RangePair { old: pair.old.start..run.old, new: pair.new.start..run.new };
                    tasks.push(CompareTask::Runs(behind));
                    tasks.push(CompareTask::Equal { old: run.old, new: run.new, len: run.len });
                    tasks.push(CompareTask::Runs(before));
                }
                Ok(LongestRun::Nothing) => self.replace_pair(&pair)?,
                Ok(LongestRun::Scattered) => self.compare_scattered(&pair)?,
                Err(StepsExhausted) => self.split_at_unique(&pair, &mut tasks),
            }
        }
        Ok(())
    }

    /// Emits the lines that are equal at both ends, or that only one side has. Returns None if
    /// nothing remains.
    fn trim_equal(
        &mut self,
        pair: RangePair,
        tasks: &mut Vec<CompareTask>,
    ) -> Result<Option<RangePair>, Infallible> {
        let (old, new) = (&self.old[pair.old.clone()], &self.new[pair.new.clone()]);
        let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let (old, new) = (&old[head..], &new[head..]);
        let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
        if head > 0 {
            self.hook.equal(pair.old.start, pair.new.start, head)?;
        }
        let RangePair { old, new } = RangePair {
            old: pair.old.start + head..pair.old.end - tail,
            new: pair.new.start + head..pair.new.end - tail,
        };
        if tail > 0 {
            tasks.push(CompareTask::Equal { old: old.end, new: new.end, len: tail });
        }
        if old.is_empty() || new.is_empty() {
            self.replace_pair(&RangePair { old, new })?;
            return Ok(None);
        }
        Ok(Some(RangePair { old, new }))
    }

    fn replace_pair(&mut self, RangePair { old, new }: &RangePair) -> Result<(), Infallible> {
        if !old.is_empty() {
            self.hook.delete(old.start, old.len(), new.start)?;
        }
        if !new.is_empty() {
            self.hook.insert(old.end, new.start, new.len())?;
        }
        Ok(())
    }

    /// Whether long lists share so little that a comparison is not worthwhile.
    fn is_unlike(&mut self) -> bool {
        let (old, new) = (self.old, self.new);
        let least = old.len().min(new.len());
        let is_near = |skip: usize| {
            let (old_end, new_end) = (old.len() - 1, new.len() - 1);
            new[skip] == old[0]
                || new[0] == old[skip]
                || new[new_end - skip] == old[old_end]
                || new[new_end] == old[old_end - skip]
        };
        if least < MIN_UNLIKE_LINES || (0..PROBED_LINES).any(is_near) {
            return false;
        }
        let few = (least / 1_024).clamp(1, 64);
        for number in old {
            self.count[*number as usize] = 1;
        }
        let is_shared = |number: &&u32| self.count[**number as usize] > 0;
        let shared = new.iter().filter(is_shared).take(few + 1).count();
        self.count.fill(0);
        shared <= few
    }

    /// Finds the longest run of lines that both sides have.
    fn find_longest(&mut self, pair: &RangePair) -> Result<LongestRun, StepsExhausted> {
        self.spend_steps(pair.len())?;
        for at in pair.old.clone().rev() {
            let number = self.old[at] as usize;
            self.next_same[at] = self.first[number];
            self.first[number] = at as u32;
            self.count[number] += 1;
        }
        let found = self.find_indexed_run(pair);
        for number in &self.old[pair.old.clone()] {
            self.first[*number as usize] = NO_LINE;
            self.count[*number as usize] = 0;
        }
        for diagonal in self.diagonals.drain(..) {
            self.run_ends[diagonal] = 0;
        }
        found
    }

    fn find_indexed_run(&mut self, pair: &RangePair) -> Result<LongestRun, StepsExhausted> {
        let (mut best, mut has_common): (Option<EqualRun>, bool) = (None, false);
        for new in pair.new.clone() {
            let number = self.new[new] as usize;
            let (mut old, count) = (self.first[number], self.count[number]);
            has_common |= count > 0;
            if count == 0 || count > MAX_OCCURRENCES {
                continue;
            }
            self.spend_steps(count as usize)?;
            while old != NO_LINE {
                let at = old as usize;
                old = self.next_same[at];
                let diagonal = at + self.new.len() - new;
                if self.run_ends[diagonal] as usize > new {
                    continue;
                }
                let run = self.expand_run(pair, at, new);
                self.spend_steps(run.len)?;
                if self.run_ends[diagonal] == 0 {
                    self.diagonals.push(diagonal);
                }
                self.run_ends[diagonal] = (run.new + run.len) as u32;
                if best.is_none_or(|best| run.is_better(&best)) {
                    best = Some(run);
                }
            }
        }
        Ok(match best {
            Some(run) => LongestRun::Run(run),
            None if has_common => LongestRun::Scattered,
            None => LongestRun::Nothing,
        })
    }

    /// Expands two equal lines to the run that they are part of.
    fn expand_run(&self, pair: &RangePair, old: usize, new: usize) -> EqualRun {
        let is_equal = |(a, b): &(&u32, &u32)| a == b;
        let before = self.old[pair.old.start..old].iter().rev();
        let before = before.zip(self.new[pair.new.start..new].iter().rev());
        let lead = before.take_while(is_equal).count();
        let behind = self.old[old..pair.old.end].iter().zip(&self.new[new..pair.new.end]);
        let len = lead + behind.take_while(is_equal).count();
        let (old, new) = (old - lead, new - lead);
        let counts = self.old[old..old + len].iter().map(|number| self.count[*number as usize]);
        EqualRun { old, new, len, rarest: counts.min().unwrap_or(0) }
    }

    fn spend_steps(&mut self, steps: usize) -> Result<(), StepsExhausted> {
        let left = self.steps_left.checked_sub(steps);
        // Smaller requests must fail from now on, too.
        self.steps_left = left.unwrap_or(0);
        left.map(|_| ()).ok_or(StepsExhausted)
    }

    /// Compares ranges that share only frequent lines.
    fn compare_scattered(&mut self, pair: &RangePair) -> Result<(), Infallible> {
        // The shorter side limits how much can be shared, and so the work.
        match self.myers_budget.checked_sub(2 * pair.old.len().min(pair.new.len())) {
            Some(left) => {
                self.myers_budget = left;
                self.run_myers(pair)
            }
            None => self.compare_pieces(pair),
        }
    }

    fn compare_pieces(&mut self, RangePair { old, new }: &RangePair) -> Result<(), Infallible> {
        let count = old.len().max(new.len()).div_ceil(PIECE_LINES);
        let piece = |range: &Range<usize>, n: usize| {
            range.start + range.len() * n / count..range.start + range.len() * (n + 1) / count
        };
        for n in 0..count {
            let pair = RangePair { old: piece(old, n), new: piece(new, n) };
            if pair.old.is_empty() || pair.new.is_empty() {
                self.replace_pair(&pair)?;
            } else {
                self.run_myers(&pair)?;
            }
        }
        Ok(())
    }

    fn run_myers(&mut self, pair: &RangePair) -> Result<(), Infallible> {
        let mut hook = NoFinishHook::new(&mut *self.hook);
        myers::diff(&mut hook, self.old, pair.old.clone(), self.new, pair.new.clone())
    }

    /// Splits ranges at lines that occur exactly once on both sides and are in the same order
    /// there.
    fn split_at_unique(&mut self, pair: &RangePair, tasks: &mut Vec<CompareTask>) {
        // The position of each line in the old range, and its number of occurrences on both sides.
        for at in pair.old.clone() {
            let number = self.old[at] as usize;
            self.first[number] = at as u32;
            self.count[number] += 1;
        }
        for number in &self.new[pair.new.clone()] {
            self.count[*number as usize] += MAX_OCCURRENCES;
        }
        let is_single =
            |(number, _): &(&u32, usize)| self.count[**number as usize] == MAX_OCCURRENCES + 1;
        let both = self.new[pair.new.clone()].iter().zip(pair.new.clone()).filter(is_single);
        let both: Vec<(usize, usize)> =
            both.map(|(number, new)| (self.first[*number as usize] as usize, new)).collect();
        for number in self.old[pair.old.clone()].iter().chain(&self.new[pair.new.clone()]) {
            self.first[*number as usize] = NO_LINE;
            self.count[*number as usize] = 0;
        }
        let (mut old, mut new) = (pair.old.end, pair.new.end);
        for (at, other) in longest_increasing(&both).into_iter().rev() {
            tasks.push(CompareTask::Pieces(RangePair { old: at + 1..old, new: other + 1..new }));
            tasks.push(CompareTask::Equal { old: at, new: other, len: 1 });
            (old, new) = (at, other);
        }
        tasks.push(CompareTask::Pieces(RangePair {
            old: pair.old.start..old,
            new: pair.new.start..new,
        }));
    }
}

/// Returns the longest subsequence in which the left numbers increase. The right numbers increase
/// already.
fn longest_increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The pair that ends the best chain of each length, and the predecessor of each pair.
    let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (at, (old, _)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end: &usize| pairs[*end].0 < *old);
        before.push(length.checked_sub(1).map(|length| ends[length]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut chain = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(pair) = at {
        chain.push(pairs[pair]);
        at = before[pair];
    }
    chain.reverse();
    chain
}

#[cfg(test)]
mod tests {
    use random_draws::{RandomDraws, check_seeds};
    use similar::{Algorithm, capture_diff_slices};

    use super::*;

    fn list(draws: &mut RandomDraws, len: usize, kinds: usize) -> Vec<u32> {
        (0..len).map(|_| draws.below(kinds) as u32).collect()
    }

    #[test]
    fn result_equals_the_histogram_diff() {
        check_seeds(0..2_000, |draws| {
            let (len, kinds) = (1 + draws.below(80), 1 + draws.below(60));
            let mut old = list(draws, len, kinds);
            let mut new = old.clone();
            for _ in 0..=draws.below(20) {
                let at = draws.below(new.len());
                new[at] = draws.below(kinds + 5) as u32;
            }
            if draws.one_in(3) {
                new = list(draws, len, kinds);
            }
            if draws.one_in(5) {
                old = (0..1_000).chain(old).chain(2_000..3_000).collect();
                new =
                    (0..1_000).map(|n| if n % 9 == 0 { n + 5_000 } else { n }).chain(new).collect();
            }
            let expected = capture_diff_slices(Algorithm::Histogram, &old, &new);
            assert_eq!(compare_numbered(&old, &new), expected);
        });
    }

    /// Checks a comparison and returns the number of shared lines.
    fn shared(old: &[u32], new: &[u32]) -> usize {
        let (mut shared, mut at, mut other) = (0, 0, 0);
        for op in compare_numbered(old, new) {
            assert_eq!((op.old_range().start, op.new_range().start), (at, other));
            (at, other) = (op.old_range().end, op.new_range().end);
            if matches!(op, DiffOp::Equal { .. }) {
                assert_eq!(old[op.old_range()], new[op.new_range()]);
                shared += op.old_range().len();
            }
        }
        assert_eq!((at, other), (old.len(), new.len()));
        shared
    }

    #[test]
    fn diff_operations_cover_both_long_lists() {
        let old: Vec<u32> = (0..10_000).collect();
        let second: Vec<u32> =
            (0..10_000).map(|n| if n % 2 == 0 { n } else { n + 20_000 }).collect();
        assert_eq!(shared(&old, &second), 5_000);
        let mut swapped = old.clone();
        swapped.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
        assert_eq!(shared(&old, &swapped), 5_000);
        let draws = &mut RandomDraws::from_seed(12);
        for kinds in [1, 2, 3, 10, 100, 160, 1_000, 10_000] {
            let (old, new) = (list(draws, 6_000, kinds), list(draws, 5_000, kinds));
            assert!(shared(&old, &new) >= usize::from(kinds < 1_000));
        }
    }
}
