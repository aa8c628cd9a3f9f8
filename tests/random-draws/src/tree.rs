//! The draws of a failed case, and the order in which smaller ones are tried.

use proptest::strategy::ValueTree;

use super::RandomDraws;

/// The number of draws of a list's item that `Shorten` removes at most.
const MAX_ITEM_DRAWS: usize = 8;

/// A way to make draws smaller. Each is tried at every draw.
#[derive(Debug, Clone, Copy)]
enum ShrinkStep {
    /// Remove this many adjacent draws.
    Remove(usize),
    /// Lower a draw by 1 and remove this many draws after it: a length and the first item.
    Shorten(usize),
    /// Set a draw to 0.
    Zero,
    /// Halve a draw.
    Halve,
}

#[derive(Debug)]
pub(super) struct DrawTree {
    /// The smallest draws with which the case fails.
    smallest: Vec<u64>,
    trial: Vec<u64>,
    step: ShrinkStep,
    at: usize,
    /// Whether a step of this round made the draws smaller.
    is_smaller: bool,
}

impl DrawTree {
    pub(super) fn new(draws: Vec<u64>) -> Self {
        let step = ShrinkStep::Remove(draws.len().div_ceil(2));
        Self { trial: draws.clone(), smallest: draws, step, at: 0, is_smaller: false }
    }

    /// Sets the next trial, from the current position on. Returns false if there is none.
    fn set_trial(&mut self) -> bool {
        while !self.make_trial() {
            let next = match self.step {
                ShrinkStep::Remove(count @ 2..) => ShrinkStep::Remove(count / 2),
                ShrinkStep::Remove(_) => ShrinkStep::Shorten(MAX_ITEM_DRAWS),
                ShrinkStep::Shorten(count @ 2..) => ShrinkStep::Shorten(count - 1),
                ShrinkStep::Shorten(_) => ShrinkStep::Zero,
                ShrinkStep::Zero => ShrinkStep::Halve,
                ShrinkStep::Halve if self.is_smaller => {
                    self.is_smaller = false;
                    ShrinkStep::Remove(self.smallest.len().div_ceil(2))
                }
                ShrinkStep::Halve => {
                    self.trial.clone_from(&self.smallest);
                    return false;
                }
            };
            (self.step, self.at) = (next, 0);
        }
        true
    }

    /// Makes the next trial of the current step. Returns false if the step has none left.
    fn make_trial(&mut self) -> bool {
        while let Some(number) = self.smallest.get(self.at).copied() {
            let rest = self.smallest.len() - self.at;
            let (lower, removed) = match self.step {
                ShrinkStep::Remove(count) if count <= rest => (None, self.at..self.at + count),
                ShrinkStep::Shorten(count) if number > 0 && count < rest => {
                    (Some(number - 1), self.at + 1..self.at + 1 + count)
                }
                ShrinkStep::Zero if number > 0 => (Some(0), 0..0),
                ShrinkStep::Halve if number > 1 => (Some(number / 2), 0..0),
                _ => {
                    self.at += 1;
                    continue;
                }
            };
            self.trial.clone_from(&self.smallest);
            if let Some(lower) = lower {
                self.trial[self.at] = lower;
            }
            self.trial.drain(removed);
            return true;
        }
        false
    }
}

impl ValueTree for DrawTree {
    type Value = RandomDraws;

    fn current(&self) -> RandomDraws {
        RandomDraws::replay(self.trial.clone())
    }

    fn simplify(&mut self) -> bool {
        self.is_smaller |= self.trial != self.smallest;
        self.smallest.clone_from(&self.trial);
        self.set_trial()
    }

    fn complicate(&mut self) -> bool {
        self.at += match self.step {
            ShrinkStep::Remove(count) => count,
            ShrinkStep::Shorten(_) | ShrinkStep::Zero | ShrinkStep::Halve => 1,
        };
        self.set_trial()
    }
}
