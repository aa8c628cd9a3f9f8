//! Whether several workers are worth it for a task.
//!
//! The published evidence is mixed: several models help where they read, where their parts do not
//! meet, or where one context cannot hold the task; one feature that crosses client, server and
//! remotes is better done by one. Predicted write sets are the scripts of the parts, by service or
//! folder.

use rustc_hash::{FxHashMap, FxHashSet};
use scene_schemas::tier::TaskTier;
use vector_place::{Node, Scene};

use super::words::RequestWords;
use super::{AffectedCode, TierRequest};

/// The most workers that a lead can join.
const MOST: usize = 4;
/// Reading is shared out from this many scripts on.
const MANY_TO_READ: usize = 20;
/// A group with fewer scripts is too small for a worker of its own.
const GROUP: usize = 2;
/// A whole game of fewer subjects is done alone.
const GAME_SUBJECTS: usize = 3;
/// Code that fills more than one in this many parts of the window does not fit beside the work.
const WINDOW_PART: u64 = 2;

/// Whether several workers would be worth it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamAdvice {
    /// The number of workers. 0 if one model alone is better.
    pub workers: u32,
    /// Why, worded for a person.
    pub reason: String,
}

impl TeamAdvice {
    fn alone(reason: &str) -> Self {
        Self { workers: 0, reason: format!("one model alone: {reason}") }
    }

    fn with(workers: usize, reason: String) -> Self {
        Self { workers: workers.min(MOST) as u32, reason }
    }
}

/// Says whether workers are worth it for a task of a tier.
pub(super) fn advise_team(
    scene: &Scene,
    request: &TierRequest<'_>,
    words: &RequestWords,
    code: &AffectedCode,
    tier: TaskTier,
) -> TeamAdvice {
    match tier {
        TaskTier::Trivial | TaskTier::Simple => return TeamAdvice::alone("it is small"),
        TaskTier::Complex | TaskTier::Architectural => {}
    }
    let groups = disjoint_groups(scene, &code.scripts);
    if words.is_reading && code.scripts.len() >= MANY_TO_READ && groups > 1 {
        let reason = format!("reading {} scripts can be shared out", code.scripts.len());
        return TeamAdvice::with(groups, reason);
    }
    if code.is_all && groups > 1 {
        let reason = format!("the scripts are in {groups} parts of the place that do not meet");
        return TeamAdvice::with(groups, reason);
    }
    // Three bytes a token, as for requests.
    let is_too_long = request.window_bytes.is_some_and(|window| code.bytes > window / WINDOW_PART);
    if is_too_long && groups > 1 {
        return TeamAdvice::with(groups, "one model cannot read all of it at once".to_owned());
    }
    if words.is_whole_game && words.subjects.len() >= GAME_SUBJECTS {
        let reason = format!("its {} subjects can be built apart", words.subjects.len());
        return TeamAdvice::with(words.subjects.len(), reason);
    }
    if words.has_client && words.has_server {
        return TeamAdvice::alone("a feature of client and server is built step by step");
    }
    let apart = disjoint_subjects(&code.by_subject);
    if apart > 1 && words.wishes > 1 {
        let reason = format!("{apart} of its parts are in different scripts");
        return TeamAdvice::with(apart.min(words.wishes), reason);
    }
    TeamAdvice::alone("its parts are not known to be apart")
}

/// Returns the number of parts of a place, by service and the folder in it, that have enough of
/// these scripts.
fn disjoint_groups(scene: &Scene, scripts: &[Node]) -> usize {
    let mut groups: FxHashMap<Node, usize> = FxHashMap::default();
    for node in scripts {
        let above: Vec<Node> = std::iter::successors(Some(*node), |it| scene.parent(*it)).collect();
        // The last is `game`, and the service comes before it.
        let at = above.len().saturating_sub(3);
        if let Some(group) = above.get(at) {
            *groups.entry(*group).or_default() += 1;
        }
    }
    // Single scripts right below a service are one group for it.
    let is_group = |count: &&usize| **count >= GROUP;
    let large = groups.values().filter(is_group).count();
    let singles = groups.iter().filter(|(_, count)| **count < GROUP);
    let services: FxHashSet<Option<Node>> = singles.map(|(node, _)| scene.parent(*node)).collect();
    large + services.len()
}

/// Returns the number of subjects with scripts of their own, which share none with another one.
fn disjoint_subjects(by_subject: &[Vec<Node>]) -> usize {
    let mut users: FxHashMap<Node, usize> = FxHashMap::default();
    for node in by_subject.iter().flatten() {
        *users.entry(*node).or_default() += 1;
    }
    let is_apart = |nodes: &&Vec<Node>| {
        !nodes.is_empty() && nodes.iter().all(|node| users.get(node) == Some(&1))
    };
    by_subject.iter().filter(is_apart).count()
}
