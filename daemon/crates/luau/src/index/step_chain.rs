//! The way to an instance: steps, one behind the other. Ways that begin alike share what they have in
//! common, so that a script that says one way very often costs no more than its text.

use std::sync::Arc;

use super::RouteStep;

/// Longer ways to instances are nobody's, in steps.
const MAX_STEPS: usize = 64;

/// And in bytes of all their names.
const MAX_BYTES: usize = 1_000;

/// The steps to an instance, from where the way begins.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct StepChain(Option<Arc<ChainLink>>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct ChainLink {
    previous: StepChain,
    step: RouteStep,
    steps: usize,
    bytes: usize,
}

impl StepChain {
    /// The way with one more step; none where it becomes too long.
    pub(super) fn push_step(self, step: RouteStep) -> Option<Self> {
        let name = match &step {
            RouteStep::Parent => "",
            RouteStep::Child(name) | RouteStep::Ancestor(name) => name,
        };
        let (steps, bytes) = self.0.as_ref().map_or((0, 0), |link| (link.steps, link.bytes));
        let (steps, bytes) = (steps + 1, bytes + name.len());
        let is_short = steps <= MAX_STEPS && bytes <= MAX_BYTES;
        is_short.then(|| Self(Some(Arc::new(ChainLink { previous: self, step, steps, bytes }))))
    }

    /// The way without its last step; none where it has none.
    pub(super) fn without_last(&self) -> Option<Self> {
        self.0.as_ref().map(|link| link.previous.clone())
    }

    /// Whether it leads nowhere else.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The steps, in order.
    pub fn to_steps(&self) -> Vec<&RouteStep> {
        let links = std::iter::successors(self.0.as_deref(), |link| link.previous.0.as_deref());
        let mut steps: Vec<&RouteStep> = links.map(|link| &link.step).collect();
        steps.reverse();
        steps
    }
}
