//! Matching of the words of a request in scripts. The words of each script are walked once, for all
//! words of the request together.

use rustc_hash::{FxHashMap, FxHashSet};
use vector_luau::index::{split_words, word_hash, word_hashes};
use vector_place::{Node, Scene};

use super::CodeIndex;

const EMPTY: [&str; 60] = [
    "a", "add", "all", "an", "and", "are", "as", "at", "be", "by", "can", "change", "code",
    "create", "do", "each", "every", "file", "fix", "for", "from", "function", "get", "has",
    "have", "how", "i", "if", "in", "into", "is", "it", "its", "local", "make", "me", "module",
    "my", "new", "not", "of", "on", "or", "please", "script", "set", "should", "so", "that", "the",
    "their", "them", "then", "there", "this", "to", "when", "where", "with", "you",
];

/// Maximum number of different words of a request. With their plural or singular forms they fit the
/// bits of a `u128`.
const WORDS: usize = 48;

/// A word of the request.
pub(super) struct QueryWord {
    pub(super) text: String,
    /// Larger the fewer scripts contain the word.
    pub(super) weight: f64,
}

/// The meaningful words of a request.
pub(super) struct QueryWords {
    pub(super) all: Vec<QueryWord>,
    /// The bits of the words, by hash.
    bits: FxHashMap<u32, u128>,
    /// Bitmap over the low bits of the hashes, which rejects most other words quickly.
    may: [u64; 16],
}

/// One bit per word of the request: where a script contains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct WordMatches {
    pub(super) name: u128,
    /// In the name of an ancestor.
    pub(super) in_ancestors: u128,
    pub(super) in_code: u128,
    /// In its code, as part of a definition's name.
    pub(super) defined: u128,
}

impl WordMatches {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl QueryWords {
    /// Parses a request. The weights are set by `match_scripts`.
    pub(super) fn new(text: &str) -> Self {
        let mut seen = FxHashSet::default();
        let is_empty = |word: &str| {
            EMPTY.contains(&word) || word.strip_suffix('s').is_some_and(|one| EMPTY.contains(&one))
        };
        let is_meaningful = |word: &String| word.len() > 1 && !is_empty(word);
        let mut texts: Vec<String> = split_words(text)
            .filter(is_meaningful)
            .filter(|word| seen.insert(word.clone()))
            .take(WORDS)
            .collect();
        // Add the singular of each plural, and the plural of each singular.
        let other = |word: &String| match word.strip_suffix('s') {
            Some(one) if one.len() > 2 => one.to_owned(),
            _ => format!("{word}s"),
        };
        let other: Vec<String> =
            texts.iter().map(other).filter(|word| seen.insert(word.clone())).collect();
        texts.extend(other);
        let (mut bits, mut may) = (FxHashMap::default(), [0; 16]);
        for (at, text) in texts.iter().enumerate() {
            let hash = word_hash(text);
            *bits.entry(hash).or_default() |= 1 << at;
            may[hash as usize / 64 % 16] |= 1 << (hash % 64);
        }
        let all = texts.into_iter().map(|text| QueryWord { text, weight: 0.0 }).collect();
        Self { all, bits, may }
    }

    /// Returns the words whose hashes occur among these.
    fn match_hashes(&self, hashes: impl IntoIterator<Item = u32>) -> u128 {
        let mut found = 0;
        for hash in hashes {
            if self.may[hash as usize / 64 % 16] >> (hash % 64) & 1 == 1 {
                found |= self.bits.get(&hash).copied().unwrap_or_default();
            }
        }
        found
    }

    /// Returns the matches of each script, in tree order, and sets the weights of the words.
    pub(super) fn match_scripts(&mut self, index: &CodeIndex, scene: &Scene) -> Vec<WordMatches> {
        let all: Vec<WordMatches> = {
            // Siblings have the same ancestors.
            let mut last = (None, 0);
            let mut above = |parent: Option<Node>| {
                if last.0 != parent {
                    last = (parent, self.match_ancestors(scene, parent));
                }
                last.1
            };
            let marks = |node: &Node| WordMatches {
                in_ancestors: above(scene.parent(*node)),
                ..self.own_marks(index, scene, *node)
            };
            index.script_nodes().iter().map(marks).collect()
        };
        let mut having = vec![0_u32; self.all.len()];
        for marks in &all {
            let mut remaining = marks.in_code;
            while remaining != 0 {
                having[remaining.trailing_zeros() as usize] += 1;
                remaining &= remaining - 1;
            }
        }
        let scripts = all.len() as f64;
        for (word, having) in self.all.iter_mut().zip(having) {
            word.weight = ((scripts + 1.0) / (f64::from(having) + 1.0)).ln().max(0.05);
        }
        all
    }

    /// Returns the matches of one script.
    pub(super) fn marks_of(&self, index: &CodeIndex, scene: &Scene, node: Node) -> WordMatches {
        let above = self.match_ancestors(scene, scene.parent(node));
        WordMatches { in_ancestors: above, ..self.own_marks(index, scene, node) }
    }

    fn own_marks(&self, index: &CodeIndex, scene: &Scene, node: Node) -> WordMatches {
        let Some(script) = index.script_at(node) else { return WordMatches::default() };
        let matched = self.match_hashes(script.word_hashes.iter().copied());
        let defined = if matched == 0 {
            0
        } else {
            matched & self.match_hashes(script.definition_hashes.iter().copied())
        };
        WordMatches {
            name: self.match_hashes(word_hashes(scene.name(node))),
            in_ancestors: 0,
            in_code: matched,
            defined,
        }
    }

    fn match_ancestors(&self, scene: &Scene, parent: Option<Node>) -> u128 {
        // A service tells where code runs, not what the code does.
        let parent = parent.filter(|it| scene.parent(*it) != Some(scene.root()));
        parent.map_or(0, |it| self.match_hashes(word_hashes(scene.name(it))))
    }
}
