//! Subjects: what Roblox developers talk about, and the scripts and instances of a place that
//! implement it.
//!
//! A request about "saving" means the scripts that use `DataStoreService`, whatever they are called.
//! The engine API that a script uses is the best evidence; names that games use by custom, the
//! names of the script and of its ancestors, and its place in the tree count as well. Everything
//! comes from the code index and the tree: no text is read again. The result depends only on the
//! place and the words.

mod catalogue;

use rustc_hash::FxHashMap;
use vector_luau::index::{ScriptSummary, name_hash, split_words, word_hash, word_hashes};
use vector_place::{Node, Scene, reflection};

use self::catalogue::{CATALOGUE, SubjectFacts, entries};
use super::CodeIndex;

/// A subject that developers talk about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    Shop,
    Leaderstats,
    DataSaving,
    Spawning,
    Admin,
    Combat,
    Interface,
    Npcs,
    Vehicles,
    Lighting,
    Sound,
    Rounds,
    Remotes,
    Chat,
    Animation,
    Movement,
    Inventory,
    Doors,
    Quests,
    Teleporting,
    Building,
}

impl Subject {
    /// All subjects, in the order of the catalogue.
    pub const ALL: [Self; 21] = [
        Self::Shop,
        Self::Leaderstats,
        Self::DataSaving,
        Self::Spawning,
        Self::Admin,
        Self::Combat,
        Self::Interface,
        Self::Npcs,
        Self::Vehicles,
        Self::Lighting,
        Self::Sound,
        Self::Rounds,
        Self::Remotes,
        Self::Chat,
        Self::Animation,
        Self::Movement,
        Self::Inventory,
        Self::Doors,
        Self::Quests,
        Self::Teleporting,
        Self::Building,
    ];

    /// Returns the subject's name for people and models.
    pub fn label(self) -> &'static str {
        self.facts().label
    }

    fn facts(self) -> &'static SubjectFacts {
        &CATALOGUE[self as usize]
    }
}

/// Why a script belongs to a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubjectEvidence {
    /// Its code uses this name of the engine, or by custom.
    Uses(&'static str),
    /// Its name, or that of an ancestor, contains this word or phrase.
    Named(&'static str),
    /// It is inside an instance of this class.
    Inside(String),
}

impl SubjectEvidence {
    /// Describes the evidence for people and models.
    pub fn to_phrase(&self) -> String {
        match self {
            Self::Uses(name) => format!("uses {name}"),
            Self::Named(word) => format!("named {word:?}"),
            Self::Inside(class) => format!("inside a {class}"),
        }
    }
}

/// A script that implements a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectScript {
    pub node: Node,
    /// How strong the evidence is, in points.
    pub points: u32,
    /// The strongest evidence of all that was found.
    pub evidence: SubjectEvidence,
}

/// What of a place implements a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectMatches {
    pub subject: Subject,
    /// The scripts, those with the strongest evidence first, then in tree order.
    pub scripts: Vec<SubjectScript>,
    /// The instances, in tree order.
    pub instances: Vec<Node>,
}

/// Points of a script for each name of the engine that it uses.
const USES: u32 = 3;
/// The most names that count.
const MOST_USES: u32 = 4;
/// Points for a word in the script's own name.
const NAMED: u32 = 4;
/// Points for a word in the name of its nearest ancestors.
const ANCESTOR_NAMED: u32 = 2;
/// Points for being inside an instance of the subject.
const INSIDE: u32 = 3;
/// Points from which on a script implements a subject.
const ENOUGH: u32 = 3;
/// The number of ancestors whose names are read.
const ANCESTORS: usize = 2;

/// Returns the subjects that the words of a request name, in the order of their first mention.
pub fn named_subjects(words: &str) -> Vec<Subject> {
    let words: Vec<String> = split_words(words).collect();
    let mut found: Vec<(usize, Subject)> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        // The longest phrase wins, so that a data store is not a shop.
        let mut longest = 1;
        let mut here = Vec::new();
        for facts in &CATALOGUE {
            for phrase in entries(facts.words).chain(entries(facts.request_words)) {
                let Some(length) = phrase_length(&words[at..], phrase) else { continue };
                if length > longest {
                    here.clear();
                    longest = length;
                }
                if length == longest {
                    here.push(facts.subject);
                }
            }
        }
        for subject in here {
            if !found.iter().any(|(_, known)| *known == subject) {
                found.push((at, subject));
            }
        }
        at += longest;
    }
    found.into_iter().map(|(_, subject)| subject).collect()
}

/// Returns the number of words of a phrase that these words start with, in the singular or plural.
fn phrase_length(words: &[String], phrase: &str) -> Option<usize> {
    let parts = phrase.split(' ');
    let mut length = 0;
    for part in parts {
        let word = words.get(length)?;
        if word != part && *word != plural(part) {
            return None;
        }
        length += 1;
    }
    Some(length)
}

/// Returns what of a place implements each of some subjects.
pub fn find_subjects(
    index: &CodeIndex,
    scene: &Scene,
    subjects: &[Subject],
) -> Vec<SubjectMatches> {
    let mut found = find_subject_scripts(index, scene, subjects);
    for (matches, instances) in found.iter_mut().zip(find_subject_instances(scene, subjects)) {
        matches.instances = instances;
    }
    found
}

/// Returns the instances of each of some subjects, in tree order.
pub fn find_subject_instances(scene: &Scene, subjects: &[Subject]) -> Vec<Vec<Node>> {
    let mut found = vec![Vec::new(); subjects.len()];
    if subjects.iter().all(|it| it.facts().classes.is_empty()) {
        return found;
    }
    let marks_of = |class: &str| {
        let is_of =
            |it: &Subject| entries(it.facts().classes).any(|of| reflection::is_a(class, of));
        let marks = subjects.iter().enumerate().filter(|(_, it)| is_of(it));
        marks.fold(0_u32, |marks, (at, _)| marks | 1 << at)
    };
    // A place has many instances and few classes.
    let mut known: FxHashMap<&str, u32> = FxHashMap::default();
    for node in scene.descendants(scene.root()) {
        let class = scene.class(node);
        let marks = *known.entry(class).or_insert_with(|| marks_of(class));
        for (at, instances) in found.iter_mut().enumerate().filter(|_| marks != 0) {
            if marks >> at & 1 == 1 {
                instances.push(node);
            }
        }
    }
    found
}

/// Returns the scripts that implement each of some subjects, without their instances.
pub(super) fn find_subject_scripts(
    index: &CodeIndex,
    scene: &Scene,
    subjects: &[Subject],
) -> Vec<SubjectMatches> {
    let all: Vec<SubjectSearch> = subjects.iter().map(|it| SubjectSearch::new(*it)).collect();
    let empty =
        |it: &Subject| SubjectMatches { subject: *it, scripts: Vec::new(), instances: Vec::new() };
    let mut found: Vec<SubjectMatches> = subjects.iter().map(empty).collect();
    if all.is_empty() {
        return found;
    }
    // Siblings have the same ancestors.
    let mut last: (Option<Node>, Vec<Evidences>) = (None, Vec::new());
    for node in index.script_nodes() {
        let Some(script) = index.script_at(*node) else { continue };
        let parent = scene.parent(*node);
        if last.0 != parent || last.1.is_empty() {
            last = (parent, all.iter().map(|it| it.match_ancestors(scene, parent)).collect());
        }
        let words: Vec<u32> = word_hashes(scene.name(*node)).collect();
        for ((search, above), matches) in all.iter().zip(&last.1).zip(&mut found) {
            let mut own = search.match_own(script, &words);
            own.extend(above.iter().cloned());
            let points: u32 = own.iter().map(|(points, _)| points).sum();
            // Of equals the first is the better evidence.
            let best = own.into_iter().rev().max_by_key(|(points, _)| *points);
            if let Some((_, evidence)) = best.filter(|_| points >= ENOUGH) {
                matches.scripts.push(SubjectScript { node: *node, points, evidence });
            }
        }
    }
    for matches in &mut found {
        // A stable sort keeps the tree order of equals.
        matches.scripts.sort_by_key(|it| std::cmp::Reverse(it.points));
    }
    found
}

/// Evidence with its points.
type Evidences = Vec<(u32, SubjectEvidence)>;

/// A subject with the hashes of what tells it.
struct SubjectSearch {
    facts: &'static SubjectFacts,
    names: Vec<(&'static str, u32)>,
    /// The words of names: for each part of a phrase, the hashes of its singular and plural.
    words: Vec<(&'static str, Vec<[u32; 2]>)>,
}

impl SubjectSearch {
    fn new(subject: Subject) -> Self {
        let facts = subject.facts();
        let names =
            entries(facts.api).chain(entries(facts.customs)).map(|name| (name, name_hash(name)));
        let words = entries(facts.words).map(|phrase| {
            let parts = phrase.split(' ').map(|part| [word_hash(part), word_hash(&plural(part))]);
            (phrase, parts.collect())
        });
        Self { facts, names: names.collect(), words: words.collect() }
    }

    /// Returns the evidence in a script itself: the names that it uses, and its own name.
    fn match_own(&self, script: &ScriptSummary, words: &[u32]) -> Evidences {
        let mut found = Vec::new();
        let mut used = self.names.iter().filter(|(_, hash)| script.has_name(*hash));
        if let Some((first, _)) = used.next() {
            let count = (1 + used.count() as u32).min(MOST_USES);
            found.push((count * USES, SubjectEvidence::Uses(first)));
        }
        if let Some(word) = self.find_word(words) {
            found.push((NAMED, SubjectEvidence::Named(word)));
        }
        found
    }

    /// Returns the evidence of what is inside an instance: the names of the nearest ancestors, and
    /// the nearest one of a class of the subject.
    fn match_ancestors(&self, scene: &Scene, parent: Option<Node>) -> Evidences {
        let mut found = Vec::new();
        let above = std::iter::successors(parent, |it| scene.parent(*it));
        for (depth, above) in above.take_while(|it| *it != scene.root()).enumerate() {
            // A service tells where code runs, not what it does.
            let is_near = depth < ANCESTORS && scene.parent(above) != Some(scene.root());
            if is_near && found.is_empty() {
                let words: Vec<u32> = word_hashes(scene.name(above)).collect();
                let word = self.find_word(&words);
                found.extend(word.map(|word| (ANCESTOR_NAMED, SubjectEvidence::Named(word))));
            }
            let class = scene.class(above);
            if entries(self.facts.containers).any(|it| reflection::is_a(class, it)) {
                found.push((INSIDE, SubjectEvidence::Inside(class.to_owned())));
                break;
            }
        }
        found
    }

    /// Returns the first word or phrase of the subject among the words of a name.
    fn find_word(&self, words: &[u32]) -> Option<&'static str> {
        let is_at = |words: &[u32], parts: &[[u32; 2]]| {
            words.iter().zip(parts).all(|(word, part)| part.contains(word))
        };
        let has = |parts: &[[u32; 2]]| words.windows(parts.len()).any(|it| is_at(it, parts));
        self.words.iter().find(|(_, parts)| has(parts)).map(|(word, _)| *word)
    }
}

/// Returns the plural of a word.
fn plural(word: &str) -> String {
    match word.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ if word.ends_with(['s', 'x']) || word.ends_with("ch") => format!("{word}es"),
        _ => format!("{word}s"),
    }
}

#[cfg(test)]
mod tests;
