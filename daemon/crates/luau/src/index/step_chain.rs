//! The steps of a route to an instance.
//!
//! Routes with a common beginning share its steps, so that a script that repeats a long route costs
//! no more than its text.

use std::sync::Arc;

use super::RouteStep;

/// Maximum number of steps of a route.
const MAX_STEPS: usize = 64;

/// Maximum number of bytes of all names in a route.
const MAX_BYTES: usize = 1_000;

/// The steps to an instance from the origin of its route.
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
    /// Appends a step. Returns None if the route becomes too long.
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

    /// The route without its last step; None if it has no steps.
    pub(super) fn without_last(&self) -> Option<Self> {
        self.0.as_ref().map(|link| link.previous.clone())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub fn to_steps(&self) -> Vec<&RouteStep> {
        let links = std::iter::successors(self.0.as_deref(), |link| link.previous.0.as_deref());
        let mut steps: Vec<&RouteStep> = links.map(|link| &link.step).collect();
        steps.reverse();
        steps
    }
}
