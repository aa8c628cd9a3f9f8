//! Breadth-first exploration of all states of a model.

use std::collections::HashMap;
use std::fmt::{Debug, Display};
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// A model that can be explored.
pub(super) trait Explore: Sized {
    type State: Copy + Eq + Hash + Debug;
    type Event: Copy + Display;
    fn initial_state(&self) -> Self::State;
    fn list_steps(&self, from: &Self::State) -> Vec<ModelStep<Self>>;
    /// The violated invariant, if any.
    fn find_violation(&self, state: &Self::State) -> Option<&'static str>;
    /// Whether a state is settled; such a state must be reachable from everywhere without a mishap.
    fn is_settled(&self, state: &Self::State) -> bool;
}

pub(super) struct ModelStep<E: Explore> {
    pub(super) event: E::Event,
    /// The proposal that the step concerns, from 1; 0 for none.
    pub(super) of: usize,
    pub(super) is_mishap: bool,
    pub(super) to: E::State,
}

/// How a state was reached first: the number of the state before it, and the step.
pub(super) struct Arrival<E: Explore> {
    before: usize,
    /// None for the initial state.
    step: Option<(E::Event, usize)>,
}

/// The explored states, and the shortest path to a violation.
pub(super) struct Exploration<E: Explore> {
    pub(super) states: Vec<E::State>,
    arrivals: Vec<Arrival<E>>,
    pub(super) steps: usize,
    pub(super) violation: Option<(&'static str, String)>,
}

impl<E: Explore> Exploration<E> {
    /// Returns a shortest path to a state, as the numbers of the states on it.
    pub(super) fn find_path(&self, to: usize) -> Vec<usize> {
        let before = |at: &usize| self.arrivals[*at].step.map(|_| self.arrivals[*at].before);
        let mut path: Vec<usize> = std::iter::successors(Some(to), before).collect();
        path.reverse();
        path
    }

    /// Returns how a state was reached first: the number of the state before it, and the step.
    pub(super) fn arrival(&self, at: usize) -> Option<(usize, E::Event)> {
        let Arrival { before, step } = &self.arrivals[at];
        step.map(|(event, _)| (*before, event))
    }
}

/// A fast hasher: the standard one resists attackers, and takes four times as long.
#[derive(Default)]
pub(super) struct FastHasher(u64);

impl Hasher for FastHasher {
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

pub(super) type FastBuild = BuildHasherDefault<FastHasher>;

/// Explores breadth first, so that the first violation has the shortest path.
pub(super) fn explore<E: Explore>(model: &E) -> Exploration<E> {
    let start = model.initial_state();
    let mut numbers = HashMap::with_capacity_and_hasher(1 << 17, FastBuild::default());
    numbers.insert(start, 0);
    let mut states = vec![start];
    let mut arrivals: Vec<Arrival<E>> = vec![Arrival { before: 0, step: None }];
    let mut back: Vec<(usize, usize)> = Vec::new();
    let (mut at, mut steps, mut violation) = (0, 0, None);
    while at < states.len() && violation.is_none() {
        let state = states[at];
        violation = model.find_violation(&state).map(|why| (why, at));
        for step in model.list_steps(&state) {
            steps += 1;
            let number = *numbers.entry(step.to).or_insert(states.len());
            if number == states.len() {
                states.push(step.to);
                arrivals.push(Arrival { before: at, step: Some((step.event, step.of)) });
            }
            if !step.is_mishap {
                back.push((number, at));
            }
        }
        at += 1;
    }
    let violation = violation.or_else(|| {
        let stuck = find_unsettled(&states, back, |state| model.is_settled(state))?;
        Some(("what was approved is never settled", stuck))
    });
    let violation = violation.map(|(why, at)| (why, format_trace(&arrivals, at, &states[at])));
    Exploration { states, arrivals, steps, violation }
}

/// The first state from which no settled state can be reached.
fn find_unsettled<S>(
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

fn format_trace<E: Explore>(arrivals: &[Arrival<E>], mut at: usize, last: &E::State) -> String {
    let mut lines = vec![format!("  {last:?}")];
    while let Some((event, of)) = arrivals[at].step {
        lines.push(if of == 0 { format!("  {event}") } else { format!("  {event} ({of})") });
        at = arrivals[at].before;
    }
    lines.reverse();
    lines.join("\n")
}
