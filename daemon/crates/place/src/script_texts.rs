//! Script texts, and a log of the scripts whose text may have changed, so that caches of text
//! contents need not reread all of them.
//!
//! The log is bounded and conservative: a logged script may have its old text. Instances added to
//! or removed from the tree are reported by [`Scene::change_count`], not here.

use std::borrow::Cow;

use rbx_dom_weak::{Ustr, ustr};
use rbx_types::Variant;

use super::edits::PropertyEdit;
use super::{Node, Scene, reflection};

const SOURCE: &str = "Source";

/// Maximum length of the log. Callers that missed more must reread all texts.
const LOG: usize = 4096;

/// The instances whose text may have changed, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct TextChanges {
    /// The number of entries dropped from the log.
    dropped_count: u64,
    changed_nodes: Vec<Node>,
}

impl TextChanges {
    /// Logs an instance if the edited property is its text.
    pub(super) fn note_property(&mut self, node: u32, key: Ustr) {
        if key.as_str() == SOURCE {
            self.note_text(node);
        }
    }

    fn note_text(&mut self, node: u32) {
        if self.changed_nodes.len() == LOG {
            self.changed_nodes.drain(..LOG / 2);
            self.dropped_count += LOG as u64 / 2;
        }
        self.changed_nodes.push(Node(node));
    }

    /// Invalidates all earlier marks, so that callers reread all texts.
    fn reset(&mut self) {
        self.dropped_count += self.changed_nodes.len() as u64 + 1;
        self.changed_nodes.clear();
    }

    fn current_mark(&self) -> u64 {
        self.dropped_count + self.changed_nodes.len() as u64
    }
}

impl Scene {
    pub fn is_script(&self, node: Node) -> bool {
        let class = self.tree.class(node.0);
        let mut scripts = self.scripts.borrow_mut();
        if scripts.len() <= class as usize {
            scripts.resize(class as usize + 1, None);
        }
        let is_script = || reflection::is_script(self.tree.class_names.get(class));
        *scripts[class as usize].get_or_insert_with(is_script)
    }

    pub fn script_text(&self, node: Node) -> Option<Cow<'_, str>> {
        if !self.is_script(node) {
            return None;
        }
        let key = ustr(SOURCE);
        match self.edit_of(node.0, key) {
            PropertyEdit::Set(Variant::String(text)) => Some(Cow::Borrowed(text)),
            PropertyEdit::Set(_) => None,
            PropertyEdit::Removed => Some(Cow::default()),
            PropertyEdit::None => {
                let base = self.base_of(node.0);
                let text = base.and_then(|base| self.file.text_of(base, key));
                Some(text.unwrap_or_default())
            }
        }
    }

    pub fn set_source(&mut self, node: Node, text: String) {
        self.store_value(node, ustr(SOURCE), Some(Variant::String(text)));
    }

    /// Returns the current position in the log, for [`Scene::texts_changed_since`].
    pub fn text_mark(&self) -> u64 {
        self.texts.current_mark()
    }

    /// Returns the instances whose text may have changed since a mark; None if the mark is too old.
    /// The list may hold duplicates and removed instances, whose numbers may have been reused.
    pub fn texts_changed_since(&self, moment: u64) -> Option<&[Node]> {
        let known = usize::try_from(moment.checked_sub(self.texts.dropped_count)?).ok()?;
        self.texts.changed_nodes.get(known..)
    }

    /// Logs a removed instance, because another instance will reuse its number.
    pub(super) fn note_removed_text(&mut self, node: u32) {
        if self.is_script(Node(node)) {
            self.texts.note_text(node);
        }
    }

    /// Logs a text that Studio sent or reported as changed.
    pub(super) fn note_mirrored_text(&mut self, node: u32) {
        if self.journal.is_empty() {
            self.texts.note_text(node);
        } else {
            // Trial copies share the text of their original, so one log entry is not enough.
            self.texts.reset();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileFormat;

    #[test]
    fn text_log_lists_changed_scripts_within_its_limit() {
        let mut scene = Scene::empty(FileFormat::Binary);
        let [one, two] = ["A", "B"].map(|it| scene.create(scene.root(), "Script", it));
        let begin = scene.text_mark();
        scene.set_source(one, "1".to_owned());
        let (mark, moment) = (scene.journal_mark(), scene.text_mark());
        scene.set_source(two, "2".to_owned());
        scene.rename(two, "C");
        assert_eq!(scene.texts_changed_since(begin), Some(&[one, two][..]));
        scene.rollback(mark);
        assert_eq!(scene.texts_changed_since(moment), Some(&[two, two][..]));
        assert_eq!(scene.texts_changed_since(scene.text_mark()), Some(&[][..]));
        assert_eq!(scene.texts_changed_since(scene.text_mark() + 1), None);
        for _ in 0..LOG {
            scene.set_source(one, "3".to_owned());
        }
        assert_eq!(scene.texts_changed_since(moment), None);
        let moment = scene.text_mark();
        scene.set_source(two, "4".to_owned());
        assert_eq!(scene.texts_changed_since(moment), Some(&[two][..]));
    }

    #[test]
    fn removed_script_is_in_the_text_log() {
        let mut scene = Scene::empty(FileFormat::Binary);
        let mark = scene.journal_mark();
        let script = scene.create(scene.root(), "Script", "A");
        scene.create(scene.root(), "Part", "B");
        let moment = scene.text_mark();
        scene.rollback(mark);
        assert_eq!(scene.texts_changed_since(moment), Some(&[script][..]));
    }
}
