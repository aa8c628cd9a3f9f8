//! The context engine: which scripts matter for what a person asks, within a budget, and why.
//!
//! Scripts get points for what is open and selected, for words of the request in their names, their
//! definitions and their code, and for what changed lately; rare words count more. What the best of them
//! require comes with them. Nothing here is random: the same place and request give the same choice.

use rustc_hash::{FxHashMap, FxHashSet};
use scene_schemas::InstancePath;

use super::Index;
use crate::core::luau::index::{Definition, word_hash, words};
use crate::core::scene::{Node, Scene};

/// What is asked for, and with how much room.
#[derive(Debug, Clone, Default)]
pub struct Asked<'a> {
    /// The person's words.
    pub words: &'a str,
    /// What they have open, selected or attached, scripts or others.
    pub pointed: Vec<Node>,
    /// The scripts that changed lately, the last first.
    pub recent: Vec<Node>,
    /// How long all that is taken may be, in bytes.
    pub budget: usize,
    /// How many scripts there are at most.
    pub most: usize,
}

/// What was chosen, and what was not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// The scripts, the most important first.
    pub chosen: Vec<Chosen>,
    /// The best of those that were left out.
    pub left: Vec<Left>,
    /// How many scripts there are.
    pub scripts: usize,
    /// How many of them fit the request at all.
    pub fitting: usize,
    /// How many bytes are taken.
    pub bytes: usize,
}

/// A script that matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// Which.
    pub node: Node,
    /// Why, the weightiest first.
    pub reasons: Vec<Reason>,
    /// Its definitions that are told of, by their numbers, in order.
    pub definitions: Vec<usize>,
    /// Whether its text is told too.
    pub has_text: bool,
}

/// A script that fits and was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Which.
    pub node: Node,
    /// Why it would fit.
    pub reason: Reason,
    /// Whether it did not fit into the budget; otherwise there were enough.
    pub is_too_long: bool,
}

/// Why a script matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It is open, selected or attached, or stands in what is.
    Pointed,
    /// Its path is in the request.
    Path,
    /// Its name has this word.
    Name(String),
    /// A definition in it has this word.
    Defines(String),
    /// This word stands in its code.
    Says(String),
    /// It changed lately.
    Recent,
    /// This script, which was taken, requires it.
    RequiredBy(Node),
}

impl Reason {
    /// In a person's words.
    pub fn sentence(&self, path: impl Fn(Node) -> InstancePath) -> String {
        match self {
            Self::Pointed => "open, selected or attached".to_owned(),
            Self::Path => "named in the request".to_owned(),
            Self::Name(word) => format!("called {word:?}"),
            Self::Defines(word) => format!("defines {word:?}"),
            Self::Says(word) => format!("says {word:?}"),
            Self::Recent => "changed lately".to_owned(),
            Self::RequiredBy(node) => format!("required by {}", path(*node)),
        }
    }
}

/// Words that say nothing of what is meant.
const EMPTY: [&str; 60] = [
    "a", "add", "all", "an", "and", "are", "as", "at", "be", "by", "can", "change", "code",
    "create", "do", "each", "every", "file", "fix", "for", "from", "function", "get", "has",
    "have", "how", "i", "if", "in", "into", "is", "it", "its", "local", "make", "me", "module",
    "my", "new", "not", "of", "on", "or", "please", "script", "set", "should", "so", "that", "the",
    "their", "them", "then", "there", "this", "to", "when", "where", "with", "you",
];

/// What has less than a part of the best one's points fits too little to be told of.
const WORTH: f64 = 10.0;

/// Of a request, so many different words count.
const WORDS: usize = 48;
/// Of a script, so many definitions are told.
const DEFINITIONS: usize = 24;
/// Of what was left out, so many are named.
const LEFT: usize = 12;
/// A text that is told is this long at most, in bytes.
const TEXT: usize = 12_000;

/// A word of the request.
struct Word {
    text: String,
    hash: u32,
    /// The more, the fewer scripts have it.
    weight: f64,
}

/// What a script got, and for what.
#[derive(Default)]
struct Points {
    sum: f64,
    reasons: Vec<(f64, Reason)>,
}

impl Points {
    fn add(&mut self, points: f64, reason: Reason) {
        self.sum += points;
        self.reasons.push((points, reason));
    }
}

/// Chooses the scripts that matter.
pub fn choose(index: &Index, scene: &Scene, asked: &Asked<'_>) -> Selection {
    let words = asked_words(index, asked.words);
    let mut points: FxHashMap<Node, Points> = FxHashMap::default();
    for node in index.scripts() {
        let mut got = Points::default();
        by_words(index, scene, *node, &words, &mut got);
        if got.sum > 0.0 {
            points.insert(*node, got);
        }
    }
    pointed(index, scene, asked, &mut points);
    let mut ranked = rank(index, points);
    let fitting = ranked.len();
    bring_required(index, &mut ranked, asked.most);
    let mut selection = fill(index, scene, asked, &words, ranked);
    (selection.scripts, selection.fitting) = (index.scripts().len(), fitting);
    selection
}

/// The words of a request that say something, and how much each of them tells.
fn asked_words(index: &Index, text: &str) -> Vec<Word> {
    let mut seen = FxHashSet::default();
    let is_empty = |word: &str| {
        EMPTY.contains(&word) || word.strip_suffix('s').is_some_and(|one| EMPTY.contains(&one))
    };
    let meant = |word: &String| word.len() > 1 && !is_empty(word);
    let mut words: Vec<Word> = words(text)
        .filter(meant)
        .filter(|word| seen.insert(word.clone()))
        .take(WORDS)
        .map(|text| Word { hash: word_hash(&text), text, weight: 0.0 })
        .collect();
    // A plural stands for one, and one for many.
    let other: Vec<Word> = words
        .iter()
        .filter_map(|word| {
            let text = match word.text.strip_suffix('s') {
                Some(one) if one.len() > 2 => one.to_owned(),
                _ => format!("{}s", word.text),
            };
            seen.insert(text.clone()).then(|| Word { hash: word_hash(&text), text, weight: 0.0 })
        })
        .collect();
    words.extend(other);
    let scripts = index.scripts().len() as f64;
    for word in &mut words {
        let has = |node: &&Node| {
            index.script(**node).is_some_and(|it| it.words.binary_search(&word.hash).is_ok())
        };
        let having = index.scripts().iter().filter(has).count() as f64;
        word.weight = ((scripts + 1.0) / (having + 1.0)).ln().max(0.05);
    }
    words
}

/// Points for words.
fn by_words(index: &Index, scene: &Scene, node: Node, asked: &[Word], got: &mut Points) {
    let Some(script) = index.script(node) else { return };
    let name = scene.name(node);
    // Services tell where code runs, and not what it is about.
    let above = scene.parent(node).filter(|it| scene.parent(*it) != Some(scene.root()));
    let above = above.map_or("", |it| scene.name(it));
    let has_word = |text: &str, word: &Word| words(text).any(|it| it == word.text);
    for word in asked {
        let is_said = script.words.binary_search(&word.hash).is_ok();
        // Without a match here most scripts are done: names are short.
        let in_name = has_letters(name, &word.text) && has_word(name, word);
        if in_name {
            got.add(6.0 * word.weight, Reason::Name(word.text.clone()));
        } else if has_letters(above, &word.text) && has_word(above, word) {
            got.add(1.5 * word.weight, Reason::Name(word.text.clone()));
        }
        if is_said {
            let defines =
                |it: &Definition| has_letters(&it.name, &word.text) && has_word(&it.name, word);
            if script.definitions.iter().any(defines) {
                got.add(3.0 * word.weight, Reason::Defines(word.text.clone()));
            } else {
                got.add(word.weight, Reason::Says(word.text.clone()));
            }
        }
    }
}

/// Whether a name holds the letters of a word, which is in lower case.
fn has_letters(name: &str, word: &str) -> bool {
    if !word.is_ascii() {
        return true;
    }
    let word = word.as_bytes();
    name.len() >= word.len()
        && name.as_bytes().windows(word.len()).any(|it| it.eq_ignore_ascii_case(word))
}

/// Points for what a person points at and names, and for what changed.
fn pointed(index: &Index, scene: &Scene, asked: &Asked<'_>, points: &mut FxHashMap<Node, Points>) {
    for at in &asked.pointed {
        let mut inside = index.scripts().iter().filter(|it| scene.is_within(**it, *at)).take(64);
        let is_script = scene.is_script(*at);
        for node in inside.by_ref() {
            let weight = if is_script && node == at { 60.0 } else { 12.0 };
            points.entry(*node).or_default().add(weight, Reason::Pointed);
        }
    }
    for path in named_paths(asked.words) {
        let node = scene.resolve(&path).ok().filter(|node| index.script(*node).is_some());
        if let Some(node) = node {
            points.entry(node).or_default().add(60.0, Reason::Path);
        }
    }
    for (at, node) in asked.recent.iter().take(16).enumerate() {
        if index.script(*node).is_some() {
            points.entry(*node).or_default().add(4.0 / (1.0 + at as f64), Reason::Recent);
        }
    }
}

/// The paths that stand in a request.
fn named_paths(text: &str) -> Vec<InstancePath> {
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '`');
    let pieces = text.split(ends).filter(|it| it.starts_with("game.")).take(16);
    pieces.filter_map(|it| it.trim_end_matches(['.', ':', '?', '!']).parse().ok()).collect()
}

/// The best first; of equals the one that more scripts require, then in the order of the tree.
fn rank(index: &Index, points: FxHashMap<Node, Points>) -> Vec<(Node, Points)> {
    let mut ranked: Vec<(Node, Points)> = points.into_iter().collect();
    let best = ranked.iter().map(|(_, points)| points.sum).fold(0.0, f64::max);
    ranked.retain(|(_, points)| points.sum * WORTH >= best);
    let users = |node: Node| index.required_by(node).len();
    ranked.sort_by(|(a, one), (b, other)| {
        other.sum.total_cmp(&one.sum).then(users(*b).cmp(&users(*a))).then(a.cmp(b))
    });
    ranked
}

/// Puts the modules that the best scripts require behind them, where they are not in already.
fn bring_required(index: &Index, ranked: &mut Vec<(Node, Points)>, most: usize) {
    let best: Vec<Node> = ranked.iter().take(most.div_ceil(2)).map(|(node, _)| *node).collect();
    let mut known: FxHashSet<Node> = best.iter().copied().collect();
    let mut brought = Vec::new();
    for node in &best {
        for required in index.requires(*node).into_iter().take(8) {
            let required = index.behind(required);
            if known.insert(required) {
                let mut points = Points::default();
                points.add(0.5, Reason::RequiredBy(*node));
                brought.push((required, points));
            }
        }
    }
    let behind = best.len();
    for (node, points) in &mut brought {
        // It may fit by itself, further behind: it keeps its reasons.
        if let Some(at) = ranked[behind..].iter().position(|(it, _)| it == node) {
            let (_, own) = ranked.remove(behind + at);
            points.reasons.extend(own.reasons);
        }
    }
    ranked.splice(behind..behind, brought);
}

/// Takes scripts in their order as far as there is room: their definitions first, then the texts of
/// the best.
fn fill(
    index: &Index,
    scene: &Scene,
    asked: &Asked<'_>,
    words: &[Word],
    ranked: Vec<(Node, Points)>,
) -> Selection {
    let mut selection = Selection::default();
    for (node, mut points) in ranked {
        points.reasons.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let reasons: Vec<Reason> = points.reasons.into_iter().take(3).map(|(_, it)| it).collect();
        let Some(reason) = reasons.first().cloned() else { continue };
        let is_enough = selection.chosen.len() >= asked.most;
        if is_enough && selection.left.len() >= LEFT {
            break;
        }
        let definitions = if is_enough { Vec::new() } else { told(index, node, words) };
        let bytes = line_bytes(index, scene, node, &definitions);
        if is_enough || selection.bytes + bytes > asked.budget {
            if selection.left.len() < LEFT {
                selection.left.push(Left { node, reason, is_too_long: !is_enough });
            }
            continue;
        }
        selection.bytes += bytes;
        selection.chosen.push(Chosen { node, reasons, definitions, has_text: false });
    }
    let mut bytes = selection.bytes;
    for chosen in &mut selection.chosen {
        let length = scene.source_if_known(chosen.node).map_or(0, |text| text.len());
        if length > 0 && length <= TEXT && bytes + length <= asked.budget {
            bytes += length;
            chosen.has_text = true;
        }
    }
    selection.bytes = bytes;
    selection
}

/// The definitions of a script that are told of: those with a word of the request, those that others
/// can use, then the others; in the order of the script.
fn told(index: &Index, node: Node, words: &[Word]) -> Vec<usize> {
    let Some(script) = index.script(node) else {
        return Vec::new();
    };
    let fits = |it: &Definition| words.iter().any(|word| has_letters(&it.name, &word.text));
    let mut all: Vec<usize> = (0..script.definitions.len()).collect();
    all.sort_by_key(|at| {
        let it = &script.definitions[*at];
        (!fits(it), !it.exported)
    });
    all.truncate(DEFINITIONS);
    all.sort_unstable();
    all
}

/// How long the lines about a script are taken to be.
fn line_bytes(index: &Index, scene: &Scene, node: Node, definitions: &[usize]) -> usize {
    let above = std::iter::successors(Some(node), |it| scene.parent(*it));
    let path: usize = above.map(|it| scene.name(it).len() + 1).sum();
    let names = index.script(node).into_iter().flat_map(|script| {
        definitions.iter().filter_map(|at| script.definitions.get(*at)).map(|it| it.name.len() + 8)
    });
    path + 60 + names.sum::<usize>()
}
