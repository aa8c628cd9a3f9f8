//! Incremental update of the code index, from changed texts and moved instances.
//!
//! After an update, the index equals a newly built one. The text log of [`vector_place`] may report
//! more scripts than have changed, but never fewer.

use std::borrow::Cow;
use std::hash::Hasher;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use vector_luau::index;
use vector_place::{Node, Scene};

use super::{CodeIndex, IndexedFile, TextStamp, resolve};

/// Maximum bytes of texts held at once for reading.
const BATCH: usize = 8 << 20;

/// From this many bytes on, the provided readers are used.
const MANY: usize = 256 << 10;

/// Bytes of unused texts that may stay cached.
const SPARE: usize = 4 << 20;

/// Texts to be read, each once.
#[derive(Default)]
struct UnreadTexts<'a> {
    stamps: FxHashSet<TextStamp>,
    texts: Vec<(TextStamp, Cow<'a, str>)>,
    bytes: usize,
}

impl CodeIndex {
    /// Brings the index up to date.
    pub fn refresh(&mut self, scene: &Scene) {
        self.update_by(scene, |node| scene.script_text(node));
    }

    /// Brings the index up to date using only known texts.
    pub(crate) fn update_known(&mut self, scene: &Scene) {
        self.update_by(scene, |node| scene.source_if_known(node));
    }

    fn update_by<'a>(&mut self, scene: &Scene, source: impl Fn(Node) -> Option<Cow<'a, str>>) {
        let turns = Some(scene.change_count());
        let has_turned = self.turns != turns;
        if has_turned {
            self.order =
                scene.descendants(scene.root()).filter(|it| scene.is_script(*it)).collect();
        }
        let changed = self.read_stale(scene, self.stale_scripts(scene, has_turned), source);
        if has_turned {
            for (node, stamp) in changed {
                self.replace_script(node, stamp);
            }
            self.forget_gone();
            self.resolve_all(scene);
        } else {
            for (node, stamp) in changed {
                self.update_script(scene, node, stamp);
            }
        }
        self.forget_readings();
        (self.turns, self.texts) = (turns, Some(scene.text_mark()));
    }

    /// Returns the scripts whose texts may have changed, each once.
    fn stale_scripts(&self, scene: &Scene, has_turned: bool) -> Vec<Node> {
        let Some(touched) = self.texts.and_then(|moment| scene.texts_changed_since(moment)) else {
            return self.order.clone();
        };
        let is_there = |node: &Node| scene.is_live(*node) && scene.is_script(*node);
        let touched = touched.iter().chain(&self.silent).copied().filter(is_there);
        let mut stale: Vec<Node> = touched.collect();
        if has_turned {
            let is_new = |node: &&Node| !self.files.contains_key(node);
            stale.extend(self.order.iter().filter(is_new));
        }
        stale.sort_unstable();
        stale.dedup();
        stale
    }

    /// Compares texts and reads the unknown ones. Returns the scripts whose texts changed.
    fn read_stale<'a>(
        &mut self,
        scene: &Scene,
        stale: Vec<Node>,
        source: impl Fn(Node) -> Option<Cow<'a, str>>,
    ) -> Vec<(Node, TextStamp)> {
        let (mut changed, mut unread) = (Vec::new(), UnreadTexts::default());
        self.silent.clear();
        for node in stale {
            let text = source(node).unwrap_or_default();
            if text.is_empty() && scene.is_open_in_studio() {
                self.silent.push(node);
            }
            let stamp = stamp_of(&text);
            if self.files.get(&node).is_some_and(|file| file.stamp == stamp) {
                continue;
            }
            changed.push((node, stamp));
            if !self.readings.contains_key(&stamp) && unread.stamps.insert(stamp) {
                unread.bytes += text.len();
                unread.texts.push((stamp, text));
            }
            if unread.bytes > BATCH {
                self.read_all(&mut unread);
            }
        }
        self.read_all(&mut unread);
        changed
    }

    fn read_all(&mut self, unread: &mut UnreadTexts<'_>) {
        let all = std::mem::take(unread).texts;
        let bytes: usize = all.iter().map(|(_, text)| text.len()).sum();
        let texts: Vec<&str> = all.iter().map(|(_, text)| text.as_ref()).collect();
        let readers = self.readers.filter(|_| bytes >= MANY && texts.len() > 1);
        let mut read = readers.map_or_else(Vec::new, |readers| (readers.read)(&texts));
        read.truncate(texts.len());
        let rest = &texts[read.len()..];
        read.extend(rest.iter().map(|text| index::summarize_script(text)));
        self.read += read.len() as u64;
        self.held.0 += bytes;
        let readings = all.iter().map(|(stamp, _)| *stamp).zip(read.into_iter().map(Arc::new));
        self.readings.extend(readings);
    }

    /// Replaces the text of a script. Its requires are not resolved yet.
    fn replace_script(&mut self, node: Node, stamp: TextStamp) {
        if let Some(script) = self.readings.get(&stamp) {
            let script = Arc::clone(script);
            self.files.insert(node, IndexedFile { stamp, script, requires: Box::default(), at: 0 });
        }
    }

    /// Replaces the text of a script when nothing moved, so requires of other scripts stay
    /// resolved.
    fn update_script(&mut self, scene: &Scene, node: Node, stamp: TextStamp) {
        let (Some(script), Some(file)) = (self.readings.get(&stamp), self.files.get_mut(&node))
        else {
            return;
        };
        let script = Arc::clone(script);
        let (was, is) = (&file.script.requires, &script.requires);
        let is_same = was.iter().map(|it| &it.target).eq(is.iter().map(|it| &it.target));
        (file.stamp, file.script) = (stamp, script);
        if is_same {
            return;
        }
        for required in self.required_modules(node) {
            self.remove_requirer(node, required);
        }
        self.resolve_script(scene, node);
        for required in self.required_modules(node) {
            self.add_requirer(node, required);
        }
    }

    /// Resolves the requires of a script.
    fn resolve_script(&mut self, scene: &Scene, node: Node) {
        if let Some(file) = self.files.get_mut(&node) {
            // A script may require the same target many times.
            let mut known = FxHashMap::default();
            let mut follow = |what| {
                let found = known.entry(what);
                found.or_insert_with(|| resolve::resolve_require(scene, node, what)).clone()
            };
            file.requires = file.script.requires.iter().map(|it| follow(&it.target)).collect();
        }
    }

    /// Resolves all requires, and records the tree order.
    fn resolve_all(&mut self, scene: &Scene) {
        let order = std::mem::take(&mut self.order);
        self.required_by.clear();
        for (at, node) in order.iter().enumerate() {
            if let Some(file) = self.files.get_mut(node) {
                file.at = at as u32;
            }
            self.resolve_script(scene, *node);
            for required in self.required_modules(*node) {
                let users = self.required_by.entry(required).or_default();
                if users.last() != Some(node) {
                    users.push(*node);
                }
            }
        }
        self.order = order;
    }

    /// Returns the position of a script among those that require a module, or its insertion
    /// position.
    fn requirer_position(&self, node: Node, required: Node) -> Result<usize, usize> {
        let at = |node: Node| self.files.get(&node).map_or(0, |file| file.at);
        let node_position = at(node);
        self.required_by(required).binary_search_by_key(&node_position, |it| at(*it))
    }

    fn remove_requirer(&mut self, node: Node, required: Node) {
        if let Ok(at) = self.requirer_position(node, required)
            && let Some(users) = self.required_by.get_mut(&required)
        {
            users.remove(at);
        }
    }

    fn add_requirer(&mut self, node: Node, required: Node) {
        if let Err(at) = self.requirer_position(node, required) {
            self.required_by.entry(required).or_default().insert(at, node);
        }
    }

    fn forget_gone(&mut self) {
        if self.files.len() > self.order.len() {
            let live: FxHashSet<Node> = self.order.iter().copied().collect();
            self.files.retain(|node, _| live.contains(node));
        }
    }

    /// Drops unused readings, but not at once: a proposal on trial is rolled back and returns.
    fn forget_readings(&mut self) {
        let (held, used) = self.held;
        if self.readings.len() > 2 * self.order.len() + 64 || held > 2 * used + SPARE {
            self.readings.retain(|_, reading| Arc::strong_count(reading) > 1);
            let bytes = self.readings.keys().map(|(_, length)| *length).sum();
            self.held = (bytes, bytes);
        }
    }
}

fn stamp_of(text: &str) -> TextStamp {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    (hasher.finish(), text.len())
}
