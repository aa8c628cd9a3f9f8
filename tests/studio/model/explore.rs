//! Breadth-first exploration of all states of a model.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// A model that can be explored.
pub(super) trait Explore {
    type State: Copy + Eq + Hash + Debug;
    fn start(&self) -> Self::State;
    fn steps(&self, from: &Self::State) -> Vec<Step<Self::State>>;
    /// The violated invariant, if any.
    fn wrong(&self, state: &Self::State) -> Option<&'static str>;
    /// Whether a state is settled; such a state must be reachable from everywhere without a mishap.
    fn is_settled(&self, state: &Self::State) -> bool;
}

pub(super) struct Step<S> {
    pub(super) what: &'static str,
    /// The proposal that the step concerns, from 1; 0 for none.
    pub(super) of: usize,
    pub(super) is_mishap: bool,
    pub(super) to: S,
}

/// The explored states, and the shortest path to a violation.
pub(super) struct Explored<S> {
    pub(super) states: Vec<S>,
    pub(super) steps: usize,
    pub(super) wrong: Option<(&'static str, String)>,
}

/// A fast hasher: the standard one resists attackers, and takes four times as long.
#[derive(Default)]
pub(super) struct Quick(u64);

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u8(*byte);
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte));
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

pub(super) type Build = BuildHasherDefault<Quick>;

/// Explores breadth first, so that the first violation has the shortest path.
pub(super) fn explore<E: Explore>(model: &E) -> Explored<E::State> {
    let start = model.start();
    let mut numbers = HashMap::with_capacity_and_hasher(1 << 17, Build::default());
    numbers.insert(start, 0);
    let mut states = vec![start];
    let mut came = vec![(0, "start", 0)];
    let mut back: Vec<(usize, usize)> = Vec::new();
    let (mut at, mut steps, mut wrong) = (0, 0, None);
    while at < states.len() && wrong.is_none() {
        let state = states[at];
        wrong = model.wrong(&state).map(|why| (why, at));
        for step in model.steps(&state) {
            steps += 1;
            let number = *numbers.entry(step.to).or_insert(states.len());
            if number == states.len() {
                states.push(step.to);
                came.push((at, step.what, step.of));
            }
            if !step.is_mishap {
                back.push((number, at));
            }
        }
        at += 1;
    }
    let wrong = wrong.or_else(|| {
        let stuck = cannot_settle(&states, back, |state| model.is_settled(state))?;
        Some(("what was approved is never settled", stuck))
    });
    let wrong = wrong.map(|(why, at)| (why, trace(&came, at, &states[at])));
    Explored { states, steps, wrong }
}

/// The first state from which no settled state can be reached.
pub(super) fn cannot_settle<S>(
    states: &[S],
    mut back: Vec<(usize, usize)>,
    is_settled: impl Fn(&S) -> bool,
) -> Option<usize> {
    back.sort_unstable();
    let mut can: Vec<bool> = states.iter().map(is_settled).collect();
    let mut open: Vec<usize> = (0..states.len()).filter(|at| can[*at]).collect();
    while let Some(to) = open.pop() {
        let first = back.partition_point(|(it, _)| *it < to);
        for (_, from) in back[first..].iter().take_while(|(it, _)| *it == to) {
            if !std::mem::replace(&mut can[*from], true) {
                open.push(*from);
            }
        }
    }
    can.iter().position(|can| !can)
}

pub(super) fn trace<S: Debug>(came: &[(usize, &str, usize)], mut at: usize, last: &S) -> String {
    let mut lines = vec![format!("  {last:?}")];
    while at != 0 {
        let (before, what, of) = came[at];
        lines.push(if of == 0 { format!("  {what}") } else { format!("  {what} ({of})") });
        at = before;
    }
    lines.reverse();
    lines.join("\n")
}
