//! The code of a place: all scripts, what they define, and who requires whom.
//!
//! The index is kept beside the scene and brought up to date when it is asked for: only texts that may
//! have changed are looked at, one that has costs one reading, and only where something moved or got
//! another name are all requires followed anew. So a scene with proposals on trial is answered for as
//! it stands. What a text yields is [`vector_luau::index`]'s business; how many texts are read
//! best is the shell's, see [`read_by`].

mod context;
mod find;
mod graph;
mod position;
mod require_fixes;
mod resolve;
mod update;
mod word_matches;

#[cfg(test)]
mod tests;

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

/// How many links between modules that only return another are followed.
const LINKS: usize = 16;

/// Among so many, one is found by looking at each.
const FEW: usize = 32;

/// Reads texts, each as [`vector_luau::index::read`] does: what the first of them yield, in
/// their order. What is left out is read by whoever asked.
pub type ReadAllFn = fn(&[&str]) -> Vec<ScriptSummary>;

/// Says of each of many texts, in their order, whether something holds of it. What is left out is asked by
/// whoever wanted it.
pub type FitAllFn = fn(&[&str], &(dyn Fn(&str) -> bool + Sync)) -> Vec<bool>;

/// Who reads and asks many texts at once: nobody waits here.
#[derive(Debug, Clone, Copy)]
pub struct TextReaders {
    pub read: ReadAllFn,
    /// Asks of each whether something holds.
    pub fit: FitAllFn,
}

/// The code of a place. It is of one scene, and of no other.
#[derive(Debug, Default)]
pub struct CodeIndex {
    files: FxHashMap<Node, IndexedFile>,
    /// The scripts in the order of the tree.
    order: Vec<Node>,
    /// What texts yield: scripts with the same text share it.
    readings: FxHashMap<TextStamp, Arc<ScriptSummary>>,
    /// How long the texts of all readings are together, and of those in use when that was found out.
    held: (usize, usize),
    /// In the order of the tree.
    required_by: FxHashMap<Node, Vec<Node>>,
    turns: Option<u64>,
    /// The moment of the texts.
    texts: Option<u64>,
    /// Of a place that is open in Studio: the scripts whose texts are empty or not known, so that
    /// they are asked for each time.
    silent: Vec<Node>,
    /// Who reads texts, where there are many.
    readers: Option<TextReaders>,
    /// How many texts were read in all.
    read: u64,
}

/// A text: a hash, and how long it is. It tells whether a text changed and is no fingerprint.
type TextStamp = (u64, usize);

/// A script of the place.
#[derive(Debug)]
struct IndexedFile {
    stamp: TextStamp,
    script: Arc<ScriptSummary>,
    /// For each require, the module that it means.
    requires: Box<[Result<Node, UnresolvedRequire>]>,
    /// Where it stands in the order of the tree.
    at: u32,
}

/// Asks something of the code of a scene as it stands.
pub fn with_index<R>(scene: &Scene, ask: impl FnOnce(&CodeIndex) -> R) -> R {
    scene.with_derived(|index: &mut CodeIndex| {
        index.refresh(scene);
        ask(index)
    })
}

/// Asks something of the code of a scene as far as its texts are known: of a place that is open in
/// Studio no text is asked for.
pub fn with_known_texts<R>(scene: &Scene, ask: impl FnOnce(&CodeIndex) -> R) -> R {
    scene.with_derived(|index: &mut CodeIndex| {
        index.update_known(scene);
        ask(index)
    })
}

/// Says who reads the texts of a scene from now on, where there are many.
pub fn set_readers(scene: &Scene, readers: TextReaders) {
    scene.with_derived(|index: &mut CodeIndex| index.readers = Some(readers));
}

/// Whether something holds of each of many texts, in their order.
pub fn match_texts(
    scene: &Scene,
    texts: &[&str],
    holds: &(dyn Fn(&str) -> bool + Sync),
) -> Vec<bool> {
    let readers = scene.with_derived(|index: &mut CodeIndex| index.readers);
    let mut all = readers.map_or_else(Vec::new, |readers| (readers.fit)(texts, holds));
    let rest = texts.get(all.len()..).unwrap_or_default();
    all.extend(rest.iter().map(|text| holds(text)));
    all
}

/// What was read of a scene is known of the one that takes its place: only texts that are others are
/// read again.
pub fn transfer_index(from: &Scene, to: &Scene) {
    let old = from.with_derived(|index: &mut CodeIndex| std::mem::take(index));
    let CodeIndex { readings, held, readers, read, .. } = old;
    to.with_derived(|index: &mut CodeIndex| {
        *index = CodeIndex { readings, held, readers, read, ..CodeIndex::default() };
    });
}

impl CodeIndex {
    /// The index of a scene.
    pub fn new(scene: &Scene) -> Self {
        let mut index = Self::default();
        index.refresh(scene);
        index
    }

    /// The same, of texts that somebody reads.
    pub fn new_by(scene: &Scene, readers: TextReaders) -> Self {
        let mut index = Self { readers: Some(readers), ..Self::default() };
        index.refresh(scene);
        index
    }

    /// The scripts, in the order of the tree.
    pub fn script_nodes(&self) -> &[Node] {
        &self.order
    }

    /// How many texts were read since the index is there.
    pub fn texts_read(&self) -> u64 {
        self.read
    }

    /// What a script yields.
    pub fn script_at(&self, node: Node) -> Option<&ScriptSummary> {
        self.files.get(&node).map(|file| file.script.as_ref())
    }

    /// The modules that a script requires, as far as they are known, each once.
    pub fn required_modules(&self, node: Node) -> Vec<Node> {
        let mut all: Vec<Node> = Vec::new();
        let mut known = FxHashSet::default();
        for required in self.resolved_requires(node).iter().flatten() {
            // A script requires few modules, which are not worth a set.
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

    /// For each require of a script, the module that it means.
    pub fn resolved_requires(&self, node: Node) -> &[Result<Node, UnresolvedRequire>] {
        self.files.get(&node).map_or(&[], |file| &file.requires)
    }

    /// The scripts that require a module.
    pub fn required_by(&self, node: Node) -> &[Node] {
        self.required_by.get(&node).map_or(&[], Vec::as_slice)
    }

    /// The module whose members a script gives to those who require it: itself, or what it only
    /// passes on, as Wally's links do.
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
