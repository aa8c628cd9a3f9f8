//! The tier of a task, and whether workers are worth it, before any model is asked.
//!
//! The rule looks at the words of the request, at what of the place implements the subjects that it
//! names, and at what is attached. `docs/chat.md` describes it, and a test measures it on labelled
//! requests. It only advises: a model may find a task larger or smaller. This module must not know
//! models, prices or the ledger.

mod team;
mod words;

#[cfg(test)]
mod tests;

use rustc_hash::FxHashSet;
use scene_schemas::tier::TaskTier;
use vector_place::{Node, Scene};

use crate::code::{CodeIndex, find_subjects};

pub use self::team::TeamAdvice;

use self::words::RequestWords;

/// A request whose size is estimated.
#[derive(Debug, Clone, Default)]
pub struct TierRequest<'a> {
    pub text: &'a str,
    /// The instances that are attached, mentioned or selected.
    pub attached: Vec<Node>,
    /// Whether the model may only answer.
    pub is_ask: bool,
    /// How many bytes of code a model can read at once. None if it is not known.
    pub window_bytes: Option<u64>,
}

/// What the rule finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierFindings {
    pub tier: TaskTier,
    /// Why, the most important reason first.
    pub reasons: Vec<String>,
    /// Whether several workers would be worth it.
    pub team: TeamAdvice,
    /// The number of scripts that the task is probably about.
    pub script_count: usize,
    /// The bytes of these scripts, as far as their texts are known.
    pub script_bytes: u64,
}

/// The points from which on a task is complex.
const COMPLEX: usize = 4;
/// The most points for further wishes.
const MOST_WISHES: usize = 4;
/// The most points for words for large features.
const MOST_SYSTEMS: usize = 2;
/// Points for a feature of both client and server.
const BOTH_SIDES: usize = 2;
/// Points that a repair has less: most are in one place.
const REPAIR: usize = 2;
/// A request of more words has a point more.
const LONG_REQUEST: usize = 16;
/// A question of more words, or with this many points, wants more than an answer.
const LONG_QUESTION: usize = 20;
const MANY_POINTS: usize = 6;
/// A change to all scripts is one to the architecture from this many scripts on.
const MANY_SCRIPTS: usize = 12;
/// The scripts of a subject that count for the task: the rest only touch it.
const SUBJECT_SCRIPTS: usize = 12;

/// What of the place a request is about.
#[derive(Debug, Default)]
struct AffectedCode {
    /// The scripts, in tree order.
    scripts: Vec<Node>,
    bytes: u64,
    /// For each subject of the request, its scripts.
    by_subject: Vec<Vec<Node>>,
    /// Whether these are all scripts of the place.
    is_all: bool,
}

/// Estimates how large a task is.
pub fn estimate_tier(index: &CodeIndex, scene: &Scene, request: &TierRequest<'_>) -> TierFindings {
    let words = RequestWords::read(request.text);
    let code = find_affected(index, scene, request, &words);
    let place_scripts = index.script_nodes().len();
    let (tier, mut reasons) = choose_tier(request, &words, place_scripts);
    let team = team::advise_team(scene, request, &words, &code, tier);
    if tier >= TaskTier::Simple && !code.scripts.is_empty() {
        let scripts = match code.scripts.len() {
            1 => "1 script".to_owned(),
            count => format!("{count} scripts"),
        };
        let kilobytes = code.bytes.div_ceil(1_000);
        reasons.push(format!("about {scripts} of the place ({kilobytes} kB)"));
    }
    if tier >= TaskTier::Complex {
        reasons.push(team.reason.clone());
    }
    let (script_count, script_bytes) = (code.scripts.len(), code.bytes);
    TierFindings { tier, reasons, team, script_count, script_bytes }
}

/// The rule. Its order matters: what is about the whole game is never a small edit.
fn choose_tier(
    request: &TierRequest<'_>,
    words: &RequestWords,
    place_scripts: usize,
) -> (TaskTier, Vec<String>) {
    let one = |tier, reason: &str| (tier, vec![reason.to_owned()]);
    if words.is_whole_game {
        return one(TaskTier::Architectural, "asks for a whole game");
    }
    let has_many = place_scripts >= MANY_SCRIPTS;
    let only_asks = request.is_ask || words.is_question;
    let is_of_all = words.is_audit || words.is_structural || has_many && !only_asks;
    if words.is_wide && is_of_all {
        let tier = if has_many { TaskTier::Architectural } else { TaskTier::Complex };
        return one(tier, &format!("is about all of the code, which has {place_scripts} scripts"));
    }
    let (points, mut reasons) = count_points(words);
    let is_short = words.length <= LONG_QUESTION && points < MANY_POINTS;
    if only_asks && is_short {
        return one(TaskTier::Trivial, "only asks");
    }
    if words.length <= 1 {
        return one(TaskTier::Trivial, "says no more than a word");
    }
    if words.is_small_edit || !request.attached.is_empty() && words.length <= 3 {
        return one(TaskTier::Trivial, "changes one thing");
    }
    if points >= COMPLEX {
        return (TaskTier::Complex, reasons);
    }
    if reasons.is_empty() {
        reasons.push("one wish".to_owned());
    }
    (TaskTier::Simple, reasons)
}

/// Counts the points of a request that is neither a question nor about everything.
fn count_points(words: &RequestWords) -> (usize, Vec<String>) {
    let mut reasons = Vec::new();
    let subjects = words.subjects.len().saturating_sub(1);
    if subjects > 0 {
        let labels: Vec<&str> = words.subjects.iter().map(|it| it.label()).collect();
        reasons.push(format!("names {}", labels.join("; ")));
    }
    let wishes = words.wishes.saturating_sub(1).min(MOST_WISHES);
    if wishes > 0 {
        reasons.push(format!("has {} parts", words.wishes));
    }
    let sides = if words.has_client && words.has_server { BOTH_SIDES } else { 0 };
    if sides > 0 {
        reasons.push("needs client and server".to_owned());
    }
    let systems = words.systems.min(MOST_SYSTEMS);
    let long = usize::from(words.length > LONG_REQUEST);
    let points = subjects + wishes + sides + systems + long;
    if !words.is_repair {
        return (points, reasons);
    }
    reasons.push("repairs something".to_owned());
    (points.saturating_sub(REPAIR), reasons)
}

/// Finds the scripts that a request is about: all of them, the attached ones, or those of its
/// subjects.
fn find_affected(
    index: &CodeIndex,
    scene: &Scene,
    request: &TierRequest<'_>,
    words: &RequestWords,
) -> AffectedCode {
    let matches = find_subjects(index, scene, &words.subjects);
    let by_subject: Vec<Vec<Node>> = matches
        .into_iter()
        .map(|it| it.scripts.iter().take(SUBJECT_SCRIPTS).map(|it| it.node).collect())
        .collect();
    let is_attached = |node: Node| request.attached.iter().any(|it| scene.is_within(node, *it));
    let chosen: FxHashSet<Node> = by_subject.iter().flatten().copied().collect();
    let is_of = |node: &Node| words.is_wide || chosen.contains(node) || is_attached(*node);
    let scripts: Vec<Node> = index.script_nodes().iter().copied().filter(is_of).collect();
    let bytes = |node: &Node| scene.source_if_known(*node).map_or(0, |text| text.len() as u64);
    let bytes = scripts.iter().map(bytes).sum();
    AffectedCode { scripts, bytes, by_subject, is_all: words.is_wide }
}
