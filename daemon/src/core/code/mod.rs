//! The code of a place: all scripts, what they define, and who requires whom.
//!
//! The index is kept beside the scene and brought up to date when it is asked for: a text that has
//! not changed is not read again, one that has costs one reading, and only where something moved or
//! got another name are all requires followed anew. So a scene with proposals on trial is
//! answered for as it stands. What a text yields is [`crate::core::luau::index`]'s business.

mod context;
mod find;
mod graph;
mod position;
mod resolve;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::hash::Hasher;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHasher};

use crate::core::luau::index::{self, Definition, Returns, Script};
use crate::core::scene::{Node, Scene};

pub use self::context::{Asked, Chosen, Left, Reason, Selection, choose};
pub use self::find::{Found, Hit, Symbol, definitions, named, references, symbol};
pub use self::graph::{Direction, Graph, graph};
pub use self::position::{Position, Positions, byte_at};
pub use self::resolve::Unresolved;

/// How many links between modules that only return another are followed.
const LINKS: usize = 16;

/// The code of a place.
#[derive(Debug, Default)]
pub struct Index {
    files: FxHashMap<Node, File>,
    /// The scripts in the order of the tree.
    order: Vec<Node>,
    /// What texts yield: scripts with the same text share it.
    readings: FxHashMap<Stamp, Arc<Script>>,
    required_by: FxHashMap<Node, Vec<Node>>,
    turns: Option<u64>,
    /// How many texts were read in all.
    read: u64,
}

/// A text: a hash, and how long it is. It tells whether a text changed and is no fingerprint.
type Stamp = (u64, usize);

/// A script of the place.
#[derive(Debug)]
struct File {
    stamp: Stamp,
    script: Arc<Script>,
    /// For each require, the module that it means.
    requires: Box<[Result<Node, Unresolved>]>,
}

/// Asks something of the code of a scene as it stands.
pub fn with<R>(scene: &Scene, ask: impl FnOnce(&Index) -> R) -> R {
    scene.kept(|index: &mut Index| {
        index.update(scene);
        ask(index)
    })
}

/// Asks something of the code of a scene as far as its texts are known: of a place that is open in
/// Studio no text is asked for.
pub fn with_known<R>(scene: &Scene, ask: impl FnOnce(&Index) -> R) -> R {
    scene.kept(|index: &mut Index| {
        index.update_by(scene, |node| scene.source_if_known(node));
        ask(index)
    })
}

impl Index {
    /// The index of a scene.
    pub fn new(scene: &Scene) -> Self {
        let mut index = Self::default();
        index.update(scene);
        index
    }

    /// Brings the index up to date.
    pub fn update(&mut self, scene: &Scene) {
        self.update_by(scene, |node| scene.source(node));
    }

    fn update_by<'a>(&mut self, scene: &Scene, source: impl Fn(Node) -> Option<Cow<'a, str>>) {
        let turns = Some(scene.turns());
        let has_turned = self.turns != turns;
        if has_turned {
            self.order =
                scene.descendants(scene.root()).filter(|it| scene.is_script(*it)).collect();
        }
        let mut changed = Vec::new();
        for node in &self.order {
            let text = source(*node).unwrap_or_default();
            let stamp = stamp(&text);
            if self.files.get(node).is_some_and(|file| file.stamp == stamp) {
                continue;
            }
            let script = match self.readings.entry(stamp) {
                Entry::Occupied(known) => Arc::clone(known.get()),
                Entry::Vacant(new) => {
                    self.read += 1;
                    Arc::clone(new.insert(Arc::new(index::read(&text))))
                }
            };
            self.files.insert(*node, File { stamp, script, requires: Box::default() });
            changed.push(*node);
        }
        if has_turned {
            self.forget_gone();
            changed.clone_from(&self.order);
        }
        if changed.is_empty() {
            return;
        }
        for node in changed {
            if let Some(file) = self.files.get_mut(&node) {
                let resolved = file.script.requires.iter();
                let resolved = resolved.map(|it| resolve::resolve(scene, node, &it.what));
                file.requires = resolved.collect();
            }
        }
        self.turn_around();
        self.turns = turns;
    }

    fn forget_gone(&mut self) {
        if self.files.len() > self.order.len() {
            let live: rustc_hash::FxHashSet<Node> = self.order.iter().copied().collect();
            self.files.retain(|node, _| live.contains(node));
        }
        if self.readings.len() > 2 * self.order.len() + 64 {
            self.readings.retain(|_, reading| Arc::strong_count(reading) > 1);
        }
    }

    fn turn_around(&mut self) {
        self.required_by.clear();
        for node in &self.order {
            for required in self.requires(*node) {
                let users = self.required_by.entry(required).or_default();
                if users.last() != Some(node) {
                    users.push(*node);
                }
            }
        }
    }

    /// The scripts, in the order of the tree.
    pub fn scripts(&self) -> &[Node] {
        &self.order
    }

    /// How many texts were read since the index is there.
    pub fn texts_read(&self) -> u64 {
        self.read
    }

    /// What a script yields.
    pub fn script(&self, node: Node) -> Option<&Script> {
        self.files.get(&node).map(|file| file.script.as_ref())
    }

    /// The modules that a script requires, as far as they are known, each once.
    pub fn requires(&self, node: Node) -> Vec<Node> {
        let mut all: Vec<Node> = Vec::new();
        for required in self.resolved(node).iter().flatten() {
            // A script requires few modules, and generated ones are not worth a set.
            if all.len() > 64 || !all.contains(required) {
                all.push(*required);
            }
        }
        all
    }

    /// For each require of a script, the module that it means.
    pub fn resolved(&self, node: Node) -> &[Result<Node, Unresolved>] {
        self.files.get(&node).map_or(&[], |file| &file.requires)
    }

    /// The scripts that require a module.
    pub fn required_by(&self, node: Node) -> &[Node] {
        self.required_by.get(&node).map_or(&[], Vec::as_slice)
    }

    /// The module whose members a script gives to those who require it: itself, or what it only
    /// passes on, as Wally's links do.
    pub fn behind(&self, node: Node) -> Node {
        let mut at = node;
        for _ in 0..LINKS {
            let Some(Returns::Require(number)) = self.script(at).map(|script| script.returns)
            else {
                return at;
            };
            match self.resolved(at).get(number as usize) {
                Some(Ok(next)) => at = *next,
                _ => return at,
            }
        }
        at
    }

    /// All definitions, script by script.
    pub fn definitions(&self) -> impl Iterator<Item = (Node, &Definition)> {
        let of = |node: &Node| self.script(*node).map(|script| (*node, script));
        self.order.iter().filter_map(of).flat_map(|(node, script)| {
            script.definitions.iter().map(move |definition| (node, definition))
        })
    }
}

fn stamp(text: &str) -> Stamp {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    (hasher.finish(), text.len())
}
