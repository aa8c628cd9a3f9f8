//! The context engine: selects the scripts that matter for a request, within a budget, with
//! reasons.
//!
//! Scripts score points for being open or selected, for words of the request in their names,
//! definitions and code, for implementing a subject that the request names, and for recent changes.
//! Rare words weigh more. The modules that the best scripts require are added. What room is left is
//! filled with further dependencies, the nearest first. The selection is deterministic: the same
//! place and request give the same result.

use rustc_hash::{FxHashMap, FxHashSet};
use scene_schemas::InstancePath;
use vector_luau::index::IndexedDefinition;
use vector_place::{Node, Scene};

use super::CodeIndex;
use super::dependencies::close_over;
use super::subjects::{Subject, SubjectEvidence, find_subject_scripts, named_subjects};
use super::word_matches::{QueryWords, WordMatches};

/// A request to the context engine, with its budget.
#[derive(Debug, Clone, Default)]
pub struct ContextRequest<'a> {
    pub words: &'a str,
    /// The instances that the user has open, selected or attached, scripts or not.
    pub pointed: Vec<Node>,
    /// The recently changed scripts, newest first.
    pub recent: Vec<Node>,
    /// Maximum bytes of everything selected.
    pub budget: usize,
    /// Maximum number of scripts.
    pub max_scripts: usize,
}

/// The result: the selected and the omitted scripts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContextSelection {
    /// The selected scripts, the most important first.
    pub selected: Vec<SelectedScript>,
    /// The best of the omitted scripts.
    pub omitted: Vec<OmittedScript>,
    /// The number of scripts in the place.
    pub scripts: usize,
    /// The number of scripts that match the request.
    pub fitting: usize,
    /// The number of matching scripts that are listed neither in `selected` nor in `omitted`.
    pub more: usize,
    /// Upper bound on the bytes of everything reported: selected and omitted scripts with their
    /// reasons.
    pub bytes: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedScript {
    pub node: Node,
    /// The reasons, most important first.
    pub reasons: Vec<SelectionReason>,
    /// Indices of its reported definitions, in order.
    pub definitions: Vec<usize>,
    /// Whether its text is included.
    pub has_text: bool,
}

/// A matching script that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedScript {
    pub node: Node,
    /// The most important reason why it matches.
    pub reason: SelectionReason,
    /// Whether it exceeded the budget; otherwise the maximum number of scripts was reached.
    pub is_too_long: bool,
}

/// The reason that a script matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectionReason {
    /// It is open, selected or attached, or is inside something that is.
    Pointed,
    /// The request contains its path.
    Path,
    /// Its name contains this word.
    Name(String),
    /// A definition in it contains this word.
    Defines(String),
    /// Its code contains this word.
    Says(String),
    /// It implements a subject that the request names.
    Subject(Subject, SubjectEvidence),
    Recent,
    /// This script, selected or required by one, requires it.
    RequiredBy(Node),
    /// It requires this script, which is selected or requires one that is.
    Requires(Node),
}

impl SelectionReason {
    /// Describes the reason for a user.
    pub fn to_sentence(&self, path: impl Fn(Node) -> InstancePath) -> String {
        match self {
            Self::Pointed => "open, selected or attached".to_owned(),
            Self::Path => "named in the request".to_owned(),
            Self::Name(word) => format!("called {word:?}"),
            Self::Defines(word) => format!("defines {word:?}"),
            Self::Says(word) => format!("says {word:?}"),
            Self::Subject(subject, evidence) => {
                format!("part of {}: {}", subject.label(), evidence.to_phrase())
            }
            Self::Recent => "changed lately".to_owned(),
            Self::RequiredBy(node) => format!("required by {}", path(*node)),
            Self::Requires(node) => format!("requires {}", path(*node)),
        }
    }
}

/// Scripts with less than the best score divided by this are dropped.
const WORTH: f64 = 10.0;

/// Maximum number of definitions reported per script.
const DEFINITIONS: usize = 24;
/// Maximum number of definitions considered per script.
const LOOKED_AT: usize = 5_000;
/// Maximum number of omitted scripts listed. They get the budget divided by `LEFT_PART`.
const LEFT: usize = 20;
const LEFT_PART: usize = 8;
/// Maximum number of scripts tried in all.
const TRIED: usize = 200;
/// Maximum number of scripts described in all, with those that only dependencies lead to.
const DESCRIBED: usize = 60;
/// Maximum number of scripts that a subject brings in.
const SUBJECT_SCRIPTS: usize = 8;
/// Points of the best script of a subject, as a part of the weight of the rarest word.
const SUBJECT_POINTS: f64 = 3.0;
/// Bytes of the headings above the selected and the omitted scripts.
const HEAD: usize = 280;
/// Maximum bytes of an included text.
const TEXT: usize = 12_000;

/// Points beyond those for words, each with its reason.
type BonusPoints = FxHashMap<Node, Vec<(f64, SelectionReason)>>;

/// Returns the reasons that a script matters.
type ReasonFn<'a> = dyn Fn(&RankedScript) -> Vec<SelectionReason> + 'a;

struct RankedScript {
    node: Node,
    /// Whether it was ranked by its own points.
    fits: bool,
    /// Why it is there if another script led to it.
    brought: Option<SelectionReason>,
}

/// Selects the scripts that matter.
pub fn select_scripts(
    index: &CodeIndex,
    scene: &Scene,
    request: &ContextRequest<'_>,
) -> ContextSelection {
    if request.budget < HEAD {
        return ContextSelection {
            scripts: index.script_nodes().len(),
            ..ContextSelection::default()
        };
    }
    let mut words = QueryWords::new(request.words);
    let all = words.match_scripts(index, scene);
    let extra = bonus_points(index, scene, request);
    let mut ranked = rank_scripts(index, &words, &all, &extra);
    let fitting = ranked.len();
    bring_required(index, &mut ranked, request.max_scripts);
    let reasons = |it: &RankedScript| explain_selection(scene, index, &words, &extra, it);
    let mut selection = fill_budget(index, scene, request, &words, &reasons, ranked);
    (selection.scripts, selection.fitting) = (index.script_nodes().len(), fitting);
    selection
}

/// Yields the points for words, each with its reason.
fn word_scores<'a>(
    words: &'a QueryWords,
    marks: &'a WordMatches,
) -> impl Iterator<Item = (f64, WordReason<'a>)> {
    words.all.iter().enumerate().flat_map(move |(at, word)| {
        let has = |marks: u128| marks >> at & 1 == 1;
        let named = if has(marks.name) {
            Some(6.0)
        } else {
            // A match in an ancestor's name is weaker evidence.
            has(marks.in_ancestors).then_some(1.5)
        };
        let in_code = has(marks.in_code).then(|| if has(marks.defined) { 3.0 } else { 1.0 });
        let text = word.text.as_str();
        let named = named.map(|points| (points * word.weight, WordReason::Name(text)));
        let why =
            if has(marks.defined) { WordReason::Defines(text) } else { WordReason::Says(text) };
        let in_code = in_code.map(|points| (points * word.weight, why));
        named.into_iter().chain(in_code)
    })
}

#[derive(Clone, Copy)]
enum WordReason<'a> {
    Name(&'a str),
    Defines(&'a str),
    Says(&'a str),
}

impl WordReason<'_> {
    fn to_reason(self) -> SelectionReason {
        match self {
            Self::Name(word) => SelectionReason::Name(word.to_owned()),
            Self::Defines(word) => SelectionReason::Defines(word.to_owned()),
            Self::Says(word) => SelectionReason::Says(word.to_owned()),
        }
    }
}

/// Returns the reasons that a script matters, most important first. They are computed only for the
/// few scripts reported.
fn explain_selection(
    scene: &Scene,
    index: &CodeIndex,
    words: &QueryWords,
    extra: &BonusPoints,
    ranked: &RankedScript,
) -> Vec<SelectionReason> {
    let mut all = Vec::new();
    all.extend(ranked.brought.clone().map(|reason| (0.5, reason)));
    if ranked.fits {
        let marks = words.marks_of(index, scene, ranked.node);
        all.extend(word_scores(words, &marks).map(|(points, why)| (points, why.to_reason())));
        all.extend(extra.get(&ranked.node).into_iter().flatten().cloned());
    }
    all.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    all.into_iter().take(3).map(|(_, reason)| reason).collect()
}

/// Whether a name contains the letters of a lowercase word.
fn has_letters(name: &str, word: &str) -> bool {
    if !word.is_ascii() {
        return true;
    }
    let word = word.as_bytes();
    name.len() >= word.len()
        && name.as_bytes().windows(word.len()).any(|it| it.eq_ignore_ascii_case(word))
}

/// Computes the points for instances the user pointed at or named, for subjects, and for recent
/// changes.
fn bonus_points(index: &CodeIndex, scene: &Scene, request: &ContextRequest<'_>) -> BonusPoints {
    let mut extra = BonusPoints::default();
    for at in &request.pointed {
        let inside = index.script_nodes().iter().filter(|it| scene.is_within(**it, *at)).take(64);
        let is_script = scene.is_script(*at);
        for node in inside {
            let weight = if is_script && node == at { 60.0 } else { 12.0 };
            extra.entry(*node).or_default().push((weight, SelectionReason::Pointed));
        }
    }
    for path in named_paths(request.words) {
        let node = scene.resolve(&path).ok().filter(|node| index.script_at(*node).is_some());
        if let Some(node) = node {
            extra.entry(node).or_default().push((60.0, SelectionReason::Path));
        }
    }
    for (at, node) in request.recent.iter().take(16).enumerate() {
        if index.script_at(*node).is_some() {
            let points = 4.0 / (1.0 + at as f64);
            extra.entry(*node).or_default().push((points, SelectionReason::Recent));
        }
    }
    add_subject_points(index, scene, request.words, &mut extra);
    extra
}

/// Adds the points of the scripts that implement the subjects of a request. They grow with the
/// place as the weight of a rare word does, so that both stay comparable.
fn add_subject_points(index: &CodeIndex, scene: &Scene, words: &str, extra: &mut BonusPoints) {
    let most = SUBJECT_POINTS * ((index.script_nodes().len() + 1) as f64).ln();
    for matches in find_subject_scripts(index, scene, &named_subjects(words)) {
        let best = matches.scripts.first().map_or(1, |it| it.points);
        for it in matches.scripts.into_iter().take(SUBJECT_SCRIPTS) {
            let points = most * f64::from(it.points) / f64::from(best);
            let reason = SelectionReason::Subject(matches.subject, it.evidence);
            extra.entry(it.node).or_default().push((points, reason));
        }
    }
}

/// Returns the instance paths in a request.
fn named_paths(text: &str) -> Vec<InstancePath> {
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '`');
    let pieces = text.split(ends).filter(|it| it.starts_with("game.")).take(16);
    pieces.filter_map(|it| it.trim_end_matches(['.', ':', '?', '!']).parse().ok()).collect()
}

/// Ranks the matching scripts, best first. Ties go to the script that more scripts require, then to
/// tree order.
fn rank_scripts(
    index: &CodeIndex,
    words: &QueryWords,
    all: &[WordMatches],
    extra: &BonusPoints,
) -> Vec<RankedScript> {
    let mut ranked: Vec<(f64, usize, Node)> = Vec::new();
    let mut best = 0.0_f64;
    let is_subject = |it: &&(f64, SelectionReason)| matches!(it.1, SelectionReason::Subject(..));
    for (node, marks) in index.script_nodes().iter().zip(all) {
        let more = extra.get(node);
        if marks.is_empty() && more.is_none() {
            continue;
        }
        let by_words: f64 = word_scores(words, marks).map(|(points, _)| points).sum();
        let subjects = more.into_iter().flatten().filter(is_subject);
        let subjects: f64 = subjects.map(|(points, _)| points).sum();
        let more: f64 = more.into_iter().flatten().map(|(points, _)| points).sum();
        // A subject adds scripts, but does not drop others.
        best = best.max(by_words + more - subjects);
        ranked.push((by_words + more, 0, *node));
    }
    ranked.retain(|(sum, ..)| sum * WORTH >= best);
    for (_, users, node) in &mut ranked {
        *users = index.required_by(*node).len();
    }
    ranked.sort_unstable_by(|(one, one_users, a), (other, other_users, b)| {
        other.total_cmp(one).then(other_users.cmp(one_users)).then(a.cmp(b))
    });
    let fits = |(_, _, node)| RankedScript { node, fits: true, brought: None };
    ranked.into_iter().map(fits).collect()
}

/// Inserts the modules that the best scripts require after them, unless they are among them.
fn bring_required(index: &CodeIndex, ranked: &mut Vec<RankedScript>, max_scripts: usize) {
    let best: Vec<Node> = ranked.iter().take(max_scripts.div_ceil(2)).map(|it| it.node).collect();
    let mut known: FxHashSet<Node> = best.iter().copied().collect();
    let mut brought = Vec::new();
    for node in &best {
        for required in index.required_modules(*node).into_iter().take(8) {
            let required = index.reexported_module(required);
            if known.insert(required) {
                let reason = Some(SelectionReason::RequiredBy(*node));
                brought.push(RankedScript { node: required, fits: false, brought: reason });
            }
        }
    }
    let behind = best.len();
    for it in &mut brought {
        // A module that also matches by itself further down keeps its reasons.
        if let Some(at) = ranked[behind..].iter().position(|other| other.node == it.node) {
            ranked.remove(behind + at);
            it.fits = true;
        }
    }
    ranked.splice(behind..behind, brought);
}

/// Takes scripts in order while they fit the budget: first their definitions, then the omitted
/// scripts with their reasons, then the texts of the best, and then further dependencies.
fn fill_budget(
    index: &CodeIndex,
    scene: &Scene,
    request: &ContextRequest<'_>,
    words: &QueryWords,
    reasons: &ReasonFn<'_>,
    ranked: Vec<RankedScript>,
) -> ContextSelection {
    let all = ranked.len();
    let mut selection = ContextSelection { bytes: HEAD, ..ContextSelection::default() };
    let mut left_room = (request.budget / LEFT_PART).min(request.budget - HEAD);
    let room = request.budget - left_room;
    for it in ranked.iter().take(TRIED) {
        let node = it.node;
        let is_enough = selection.selected.len() >= request.max_scripts;
        if is_enough && selection.omitted.len() >= LEFT {
            break;
        }
        let reasons = reasons(it);
        let header = header_bytes(scene, node, &reasons);
        let definitions =
            if is_enough { Vec::new() } else { relevant_definitions(index, node, words) };
        let bytes = header + definition_bytes(index, node, &definitions);
        if !is_enough && selection.bytes + bytes <= room {
            selection.bytes += bytes;
            selection.selected.push(SelectedScript { node, reasons, definitions, has_text: false });
        } else if let Some(reason) = reasons.into_iter().next()
            && selection.omitted.len() < LEFT
            && header <= left_room
        {
            left_room -= header;
            selection.omitted.push(OmittedScript { node, reason, is_too_long: !is_enough });
        }
    }
    let left: usize = request.budget - room - left_room;
    selection.bytes += left;
    include_texts(scene, request.budget, 0, &mut selection);
    let described = selection.selected.len();
    let is_ranked =
        add_dependencies(index, scene, request, words, reasons, &ranked, &mut selection);
    include_texts(scene, request.budget, described, &mut selection);
    selection.more = all - described - is_ranked - selection.omitted.len();
    selection
}

/// Includes the texts of the selected scripts from a position on, where they fit.
fn include_texts(scene: &Scene, budget: usize, from: usize, selection: &mut ContextSelection) {
    for chosen in selection.selected.iter_mut().skip(from) {
        let bytes = scene.source_if_known(chosen.node).map_or(0, |text| text_bytes(&text));
        if bytes > 0 && selection.bytes + bytes <= budget {
            selection.bytes += bytes;
            chosen.has_text = true;
        }
    }
}

/// Adds the dependencies of the selected scripts, the nearest first, until the budget is full.
/// Returns how many of them match the request by themselves.
fn add_dependencies(
    index: &CodeIndex,
    scene: &Scene,
    request: &ContextRequest<'_>,
    words: &QueryWords,
    reasons: &ReasonFn<'_>,
    ranked: &[RankedScript],
    selection: &mut ContextSelection,
) -> usize {
    // Modules that are there only because another script requires them have users of no interest.
    let fits: FxHashSet<Node> =
        ranked.iter().take(TRIED).filter(|it| it.fits).map(|it| it.node).collect();
    let chosen: FxHashSet<Node> = selection.selected.iter().map(|it| it.node).collect();
    let sources: Vec<Node> =
        selection.selected.iter().map(|it| it.node).filter(|it| fits.contains(it)).collect();
    let mut found = close_over(index, &sources, TRIED);
    found.retain(|it| !chosen.contains(&it.node));
    let near: FxHashSet<Node> = found.iter().map(|it| it.node).collect();
    let ranked: FxHashSet<Node> =
        ranked.iter().map(|it| it.node).filter(|it| near.contains(it)).collect();
    let mut ranked_count = 0;
    for it in found {
        if selection.selected.len() >= DESCRIBED.max(request.max_scripts) {
            break;
        }
        let (node, fits) = (it.node, ranked.contains(&it.node));
        let reasons = reasons(&RankedScript { node, fits, brought: Some(it.reason) });
        let definitions = relevant_definitions(index, node, words);
        let bytes =
            header_bytes(scene, node, &reasons) + definition_bytes(index, node, &definitions);
        if selection.bytes + bytes <= request.budget {
            selection.bytes += bytes;
            selection.omitted.retain(|it| it.node != node);
            ranked_count += usize::from(fits);
            selection.selected.push(SelectedScript { node, reasons, definitions, has_text: false });
        }
    }
    ranked_count
}

/// Returns the definitions of a script to report, in script order. Those with a word of the request
/// are preferred, then exported ones.
fn relevant_definitions(index: &CodeIndex, node: Node, words: &QueryWords) -> Vec<usize> {
    let Some(script) = index.script_at(node) else {
        return Vec::new();
    };
    let fits =
        |it: &IndexedDefinition| words.all.iter().any(|word| has_letters(&it.name, &word.text));
    let mut all: Vec<usize> = (0..script.definitions.len().min(LOOKED_AT)).collect();
    all.sort_by_cached_key(|at| {
        let it = &script.definitions[*at];
        (!fits(it), !it.is_exported)
    });
    all.truncate(DEFINITIONS);
    all.sort_unstable();
    all
}

/// Returns an upper bound on the bytes reported for a script without its definitions: its path and
/// reasons.
fn header_bytes(scene: &Scene, node: Node, reasons: &[SelectionReason]) -> usize {
    let why = reasons.iter().map(|it| it.to_sentence(|node| scene.path(node)).len() + 2);
    // 60 bytes cover punctuation, the count of further definitions, and the note that there is no
    // room.
    scene.path(node).to_string().len() + why.sum::<usize>() + 60
}

/// Returns an upper bound on the bytes of its definitions, with two line numbers each.
fn definition_bytes(index: &CodeIndex, node: Node, definitions: &[usize]) -> usize {
    let all = index.script_at(node).map_or(&[][..], |script| &script.definitions);
    let names = definitions.iter().filter_map(|at| all.get(*at)).map(|it| it.name.len() + 24);
    names.sum()
}

/// Returns the bytes of a text in its fence, or 0 if the text is empty or too long to include.
fn text_bytes(text: &str) -> usize {
    if text.is_empty() || text.len() > TEXT {
        return 0;
    }
    let fence = text.split(|c| c != '`').map(str::len).max().unwrap_or(0) + 3;
    text.len() + 2 * fence + 10
}
