//! Three-way merges of texts: scripts, and the project's memory.
//!
//! After each edit, what the overlay has made of the text of the base is merged with what all earlier
//! overlays have made of it. Hunks that overlap or adjoin each other and differ are a conflict. So an
//! overlay cannot replace a hunk of an earlier one after it has made the same.

use rustc_hash::FxHashMap;
use scene_schemas::text::TextEdit;
use scene_schemas::{Command, Fingerprint, InstancePath, Refusal};
use vector_text_edit::{MergeResult, apply_edits, diff_lines, merge_texts};

use super::conflict::ConflictKind;
use super::perform::{FittedCommand, ProposalMerge};
use super::writes::{EarlierWrites, TextKey, WriteOrigin};
use super::{EqualKind, MergedText};
use crate::planning_scene::PlanningScene;
use crate::proposal::text_conflict;

/// A text that earlier overlays changed.
#[derive(Debug)]
pub(super) struct EarlierText {
    /// The text in the base.
    base: String,
    /// What all of them together made of it.
    merged: String,
    /// One for each overlay, in order.
    sides: Vec<TextSide>,
}

/// What an overlay made of a text.
#[derive(Debug)]
struct TextSide {
    /// The last command that changed it.
    by: WriteOrigin,
    text: String,
}

/// The texts that the current overlay changed.
#[derive(Debug, Default)]
pub(super) struct OwnTexts {
    texts: FxHashMap<TextKey, OwnText>,
}

#[derive(Debug)]
struct OwnText {
    by: WriteOrigin,
    /// The text in the base.
    base: String,
    /// The text as the overlay sees it. None if it is the merged text, because no earlier overlay
    /// changed it.
    own: Option<String>,
}

impl OwnTexts {
    /// Adds the texts of a taken proposal.
    pub(super) fn add(&mut self, proposal: Self) {
        for (key, new) in proposal.texts {
            let base = match self.texts.remove(&key) {
                Some(before) => before.base,
                None => new.base,
            };
            self.texts.insert(key, OwnText { base, ..new });
        }
    }

    /// Adds the texts of a merged overlay to those of the earlier ones.
    pub(super) fn add_to(self, earlier: &mut EarlierWrites<'_>, scene: &PlanningScene) {
        for (key, OwnText { by, base, own }) in self.texts {
            let Some(merged) = current_text(scene, key) else {
                continue;
            };
            let text = own.unwrap_or_else(|| merged.clone());
            let mut sides = earlier.texts.remove(&key).map_or_else(Vec::new, |it| it.sides);
            sides.push(TextSide { by, text });
            earlier.texts.insert(key, EarlierText { base, merged, sides });
        }
    }
}

/// Returns a text of the merged scene. None if the instance has none, or the memory is not known.
fn current_text(scene: &PlanningScene, key: TextKey) -> Option<String> {
    match key {
        TextKey::Script(node) => scene.script_text(node).map(std::borrow::Cow::into_owned),
        TextKey::Memory => scene.memory().map(str::to_owned),
    }
}

impl ProposalMerge<'_, '_> {
    /// Notes that the current command changes a text as it was planned. Called before the change.
    pub(super) fn note_text(&mut self, key: TextKey) {
        if let Some(text) = self.texts.texts.get_mut(&key) {
            text.by = self.at;
            return;
        }
        let known = self.own.texts.texts.get(&key).map(|it| it.base.clone());
        if let Some(base) = known.or_else(|| current_text(self.scene, key)) {
            self.texts.texts.insert(key, OwnText { by: self.at, base, own: None });
        }
    }

    /// Notes what the overlay sees of a text that an earlier overlay has changed.
    pub(super) fn note_own_text(&mut self, key: TextKey, text: String) {
        if let Some(earlier) = self.earlier.texts.get(&key) {
            let own = OwnText { by: self.at, base: earlier.base.clone(), own: Some(text) };
            self.texts.texts.insert(key, own);
        }
    }

    /// Merges the edits of a command into a text that an earlier overlay has changed. Returns None if
    /// there is a conflict, which is noted.
    pub(super) fn merge_edits(
        &mut self,
        key: TextKey,
        path: &InstancePath,
        edits: &[TextEdit],
        expect: &Fingerprint,
    ) -> Option<FittedCommand<'static>> {
        let (Some(earlier), Some(now)) =
            (self.earlier.texts.get(&key), current_text(self.scene, key))
        else {
            return Some(FittedCommand::AsPlanned);
        };
        let own = self.texts.texts.get(&key).or_else(|| self.own.texts.texts.get(&key));
        let before = own.and_then(|it| it.own.as_ref()).unwrap_or(&earlier.base);
        if Fingerprint::hash_bytes(before.as_bytes()) != *expect {
            self.note_refusal(path.clone(), &changed_text(path));
            return None;
        }
        let after = match apply_edits(before, edits) {
            Ok(after) => after,
            Err(error) => {
                self.note_refusal(path.clone(), &Refusal::new(error));
                return None;
            }
        };
        let merged = match merge_texts(&earlier.base, &earlier.merged, &after) {
            _ if after == earlier.merged => Ok(after.clone()),
            MergeResult::Text(merged) => Ok(merged),
            MergeResult::Conflicts(found) => Err((text_conflict(path, &found), after.clone())),
        };
        let by: Vec<WriteOrigin> = earlier.sides.iter().map(|side| side.by).collect();
        self.note_own_text(key, after);
        let merged = match merged {
            Ok(merged) => merged,
            Err((passages, after)) => {
                let is_against = |side: &&TextSide| {
                    let merged = merge_texts(&earlier.base, &side.text, &after);
                    side.text != after && matches!(merged, MergeResult::Conflicts(_))
                };
                let against = earlier.sides.iter().filter(is_against).map(|side| side.by);
                let mut against: Vec<WriteOrigin> = against.collect();
                if against.is_empty() {
                    against.extend(by.last());
                }
                for earlier in against {
                    let passages = passages.clone();
                    let kind = match key {
                        TextKey::Script(_) => ConflictKind::Script { passages },
                        TextKey::Memory => ConflictKind::Memory { passages },
                    };
                    self.note_conflict(kind, path.clone(), earlier, None);
                }
                return None;
            }
        };
        if merged == now {
            if let Some(by) = by.last() {
                self.note_equal(path.clone(), EqualKind::Text {}, *by);
            }
            return Some(FittedCommand::Done);
        }
        let earlier = by.iter().map(|by| self.origin_of(*by)).collect();
        let command = self.at.command;
        self.merged_texts.push(MergedText { command, path: path.clone(), earlier });
        let (edits, expect) = (diff_lines(&now, &merged), Fingerprint::hash_bytes(now.as_bytes()));
        let target = match key {
            TextKey::Script(node) => self.scene.target(node),
            TextKey::Memory => self.scene.target(self.scene.root()),
        };
        Some(FittedCommand::Replaced(Box::new(match key {
            TextKey::Script(_) => Command::EditScript { target, edits, expect },
            TextKey::Memory => Command::EditMemory { target, edits, expect },
        })))
    }

    /// Returns the last command of an earlier overlay that changed a text.
    pub(super) fn last_text_write(&self, key: TextKey) -> Option<WriteOrigin> {
        self.earlier.texts.get(&key)?.sides.last().map(|side| side.by)
    }
}

fn changed_text(path: &InstancePath) -> Refusal {
    Refusal(format!(
        "The text of {path} is not the one that this edit was planned on; read it again and redo the \
         edit."
    ))
}
