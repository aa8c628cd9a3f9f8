//! The code index of a place: its scripts, their definitions, and their requires.
//!
//! The index is kept beside the scene and updated on access. Only texts that may have changed are
//! compared, a changed text is parsed once, and all requires are resolved again only if an instance
//! moved or was renamed. Results therefore include proposals on trial in the scene.
//! [`vector_luau::index`] analyzes a text. The caller provides the means to read many texts in
//! parallel, see [`TextReaders`].

mod context;
mod dependencies;
mod find;
mod graph;
mod position;
mod require_fixes;
mod resolve;
mod subjects;
mod update;
mod word_matches;

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use self::tests::place as built_place;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use vector_luau::index::{IndexedDefinition, ReturnedValue, ScriptSummary};
use vector_place::{Node, Scene};

pub use self::context::{
    ContextRequest, ContextSelection, OmittedScript, SelectedScript, SelectionReason,
    select_scripts,
};
pub use self::find::{
    FoundDefinition, ReferenceHit, Symbol, definitions_named, find_definitions, find_references,
    symbol_at,
};
pub use self::graph::{GraphDirection, RequireGraph, build_graph};
pub use self::position::{PositionTracker, TextPosition, byte_at};
pub use self::require_fixes::{RenamedInstance, correct_requires};
pub use self::resolve::{UnresolvedRequire, possible_targets};
pub use self::subjects::{
    Subject, SubjectEvidence, SubjectMatches, SubjectScript, find_subject_instances, find_subjects,
    named_subjects,
};

/// Maximum number of re-export links followed.
const LINKS: usize = 16;

/// Up to this many elements, a linear search is used.
const FEW: usize = 32;

/// Analyzes texts as [`vector_luau::index::summarize_script`] does. Returns the results of the
/// first ones, in order. The caller analyzes the rest.
pub type ReadAllFn = fn(&[&str]) -> Vec<ScriptSummary>;

/// Evaluates a predicate on many texts. Returns the results of the first ones, in order. The caller
/// evaluates the rest.
pub type FitAllFn = fn(&[&str], &(dyn Fn(&str) -> bool + Sync)) -> Vec<bool>;

/// Functions that process many texts at once. They are provided from outside, because this crate
/// never blocks.
#[derive(Debug, Clone, Copy)]
pub struct TextReaders {
    pub read: ReadAllFn,
    /// Evaluates a predicate on each text.
    pub fit: FitAllFn,
}

/// The code index. It belongs to one scene and must not be used with another.
#[derive(Debug, Default)]
pub struct CodeIndex {
    files: FxHashMap<Node, IndexedFile>,
    /// The scripts, in tree order.
    order: Vec<Node>,
    /// Analyzed texts. Scripts with the same text share an entry.
    readings: FxHashMap<TextStamp, Arc<ScriptSummary>>,
    /// Total bytes of the analyzed texts: of all, and of those in use at the last cleanup.
    held: (usize, usize),
    /// In tree order.
    required_by: FxHashMap<Node, Vec<Node>>,
    turns: Option<u64>,
    /// The scene's text counter at the last update.
    texts: Option<u64>,
    /// For a place that is open in Studio: scripts whose texts are empty or unknown. They are
    /// checked again on every update.
    silent: Vec<Node>,
    /// The functions that read many texts at once.
    readers: Option<TextReaders>,
    /// The number of texts read in total.
    read: u64,
}

/// A hash of a text and its length. It only detects changes and must not be used as a fingerprint.
type TextStamp = (u64, usize);

/// A script in the index.
#[derive(Debug)]
struct IndexedFile {
    stamp: TextStamp,
    script: Arc<ScriptSummary>,
    /// The resolved module of each require.
    requires: Box<[Result<Node, UnresolvedRequire>]>,
    /// Its position in tree order.
    at: u32,
}

impl CodeIndex {
    /// Builds the index of a scene.
    pub fn new(scene: &Scene) -> Self {
        let mut index = Self::default();
        index.refresh(scene);
        index
    }

    /// Builds the index of a scene with functions that read many texts at once.
    pub fn new_by(scene: &Scene, readers: TextReaders) -> Self {
        let mut index = Self { readers: Some(readers), ..Self::default() };
        index.refresh(scene);
        index
    }

    /// Sets the functions that read many texts at once.
    pub(crate) fn set_readers(&mut self, readers: TextReaders) {
        self.readers = Some(readers);
    }

    /// Evaluates a predicate on each of many texts, in order.
    pub(crate) fn match_texts(
        &self,
        texts: &[&str],
        holds: &(dyn Fn(&str) -> bool + Sync),
    ) -> Vec<bool> {
        let mut all = self.readers.map_or_else(Vec::new, |readers| (readers.fit)(texts, holds));
        let rest = texts.get(all.len()..).unwrap_or_default();
        all.extend(rest.iter().map(|text| holds(text)));
        all
    }

    /// Returns the analyzed texts without the scene that they came from, for the index of the scene
    /// that replaces it.
    pub(crate) fn into_unlinked(self) -> Self {
        let Self { readings, held, readers, read, .. } = self;
        Self { readings, held, readers, read, ..Self::default() }
    }

    /// The scripts, in tree order.
    pub fn script_nodes(&self) -> &[Node] {
        &self.order
    }

    /// The number of texts read since the index was created.
    pub fn texts_read(&self) -> u64 {
        self.read
    }

    /// The summary of a script.
    pub fn script_at(&self, node: Node) -> Option<&ScriptSummary> {
        self.files.get(&node).map(|file| file.script.as_ref())
    }

    /// Returns the resolved modules that a script requires, each once.
    pub fn required_modules(&self, node: Node) -> Vec<Node> {
        let mut all: Vec<Node> = Vec::new();
        let mut known = FxHashSet::default();
        for required in self.resolved_requires(node).iter().flatten() {
            // Few requires do not justify a hash set.
            if known.is_empty() && all.len() == FEW {
                known.extend(all.iter().copied());
            }
            let is_new =
                if known.is_empty() { !all.contains(required) } else { known.insert(*required) };
            if is_new {
                all.push(*required);
            }
        }
        all
    }

    /// The resolved module of each require of a script.
    pub fn resolved_requires(&self, node: Node) -> &[Result<Node, UnresolvedRequire>] {
        self.files.get(&node).map_or(&[], |file| &file.requires)
    }

    pub fn required_by(&self, node: Node) -> &[Node] {
        self.required_by.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Returns the module whose members a script exports: itself, or the module it only re-exports,
    /// as Wally's link modules do.
    pub fn reexported_module(&self, node: Node) -> Node {
        let mut at = node;
        for _ in 0..LINKS {
            let Some(ReturnedValue::Require(number)) =
                self.script_at(at).map(|script| script.returns)
            else {
                return at;
            };
            match self.resolved_requires(at).get(number as usize) {
                Some(Ok(next)) => at = *next,
                _ => return at,
            }
        }
        at
    }

    /// All definitions, script by script.
    pub fn definitions(&self) -> impl Iterator<Item = (Node, &IndexedDefinition)> {
        let of = |node: &Node| self.script_at(*node).map(|script| (*node, script));
        self.order.iter().filter_map(of).flat_map(|(node, script)| {
            script.definitions.iter().map(move |definition| (node, definition))
        })
    }
}
