//! Specs: what is to be run, and what came of it.
//!
//! The runtime reports in these types. This module must not know how a spec is run.

mod report;

use std::time::Duration;

use serde::Serialize;
use vector_place::{Node, Scene};

pub use self::report::report_json;

/// Specs to run, each on a copy of the scene of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecsRequest {
    /// The ModuleScripts of the specs.
    pub specs: Vec<Node>,
    /// The time limit of all specs together, in seconds.
    pub seconds: u64,
}

/// Finds the specs of a scene: ModuleScripts named `*.spec`. Within a project of Jest, which is what
/// stands beside a module named `jest.config`, also those named `*.test`, and those below a `__tests__`.
#[derive(Debug)]
pub struct SpecFinder<'s> {
    scene: &'s Scene,
    projects: Vec<Node>,
}

impl<'s> SpecFinder<'s> {
    pub fn new(scene: &'s Scene) -> Self {
        let all = scene.descendants(scene.root());
        let configs = all.filter(|node| is_module(scene, *node, "jest.config"));
        let projects = configs.filter_map(|node| scene.parent(node)).collect();
        Self { scene, projects }
    }

    /// Whether an instance is a spec.
    pub fn is_spec(&self, node: Node) -> bool {
        let Self { scene, .. } = *self;
        if scene.class(node) != "ModuleScript" {
            return false;
        }
        let name = scene.name(node);
        let is_below_tests =
            || with_ancestors(scene, node).skip(1).any(|above| scene.name(above) == "__tests__");
        name.strip_suffix(".spec").is_some()
            || self.jest_project(node).is_some()
                && (name.strip_suffix(".test").is_some() || is_below_tests())
    }

    /// The innermost project of Jest that an instance is in.
    pub fn jest_project(&self, node: Node) -> Option<Node> {
        if self.projects.is_empty() {
            return None;
        }
        with_ancestors(self.scene, node).find(|above| self.projects.contains(above))
    }

    /// The module of Jest, if the place has it: the one with the fewest instances above it.
    pub fn jest(&self) -> Option<Node> {
        let all = self.scene.descendants(self.scene.root());
        let named = all.filter(|node| {
            is_module(self.scene, *node, "Jest") || is_module(self.scene, *node, "jest")
        });
        named.min_by_key(|node| with_ancestors(self.scene, *node).count())
    }
}

/// Returns an instance and those above it.
fn with_ancestors(scene: &Scene, node: Node) -> impl Iterator<Item = Node> {
    std::iter::successors(Some(node), |node| scene.parent(*node))
}

fn is_module(scene: &Scene, node: Node, name: &str) -> bool {
    scene.class(node) == "ModuleScript" && scene.name(node) == name
}

/// The outcome of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CaseOutcome {
    Passed,
    Failed,
    /// Skipped by its author, or because other cases have the focus.
    Skipped,
    /// It uses what Roblox has and the runtime has not.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaseFailure {
    /// The path of the script, and the line from 1, if they are known.
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
    /// The name, preceded by those of the blocks that contain it.
    pub name: String,
    pub outcome: CaseOutcome,
    /// Why it failed, or is not known.
    pub failure: Option<CaseFailure>,
    /// The output, unless it passed.
    pub output: Vec<String>,
    /// How long it ran in Roblox's engine. None in the runtime, whose clock jumps.
    pub duration: Option<Duration>,
}

impl SpecCase {
    pub fn without_output(
        name: String,
        outcome: CaseOutcome,
        failure: Option<CaseFailure>,
    ) -> Self {
        Self { name, outcome, failure, output: Vec::new(), duration: None }
    }
}

/// The result of a spec.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpecResult {
    /// The path of the spec's module.
    pub path: String,
    pub cases: Vec<SpecCase>,
    /// The reason the spec did not run, or not to its end.
    pub failure: Option<CaseFailure>,
}

impl SpecResult {
    pub fn count_outcome(&self, outcome: CaseOutcome) -> usize {
        self.cases.iter().filter(|case| case.outcome == outcome).count()
    }

    /// Whether the spec ran and no case failed.
    pub fn has_passed(&self) -> bool {
        self.failure.is_none() && self.count_outcome(CaseOutcome::Failed) == 0
    }
}
