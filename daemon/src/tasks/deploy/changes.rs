//! What a version changes for players: the differences from an earlier one, in short lines.

use std::collections::BTreeSet;

use scene_schemas::InstancePath;
use vector_place::diff::{SceneDifference, visit_differences};
use vector_place::{Node, Scene, count_noun, reflection};

/// Maximum lines of a summary. `vector diff` shows everything.
const MAX_LINES: usize = 200;

/// Maximum instances that are named as not updated.
const MAX_NOT_UPDATED: usize = 10;

/// The classes whose instances Roblox leaves as they are in the place when a file is uploaded.
/// Source: the reference of the route for place versions in Roblox's OpenAPI file.
const NOT_UPDATED: [&str; 5] =
    ["BaseWrap", "EditableImage", "EditableMesh", "PartOperation", "SurfaceAppearance"];

/// The differences between two versions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VersionChanges {
    pub added: usize,
    pub removed: usize,
    /// Instances that were moved, or have other properties.
    pub changed: usize,
    pub scripts: usize,
    /// One line for each difference, at most 200.
    pub lines: Vec<String>,
    /// Number of lines that are left out.
    pub more: usize,
    /// The changed instances that Roblox does not update by this way, as `PATH (CLASS)`.
    pub not_updated: BTreeSet<String>,
}

impl VersionChanges {
    /// Compares a version with an earlier one.
    pub fn between(before: &Scene, after: &Scene) -> Self {
        let mut changes = Self::default();
        visit_differences(before, after, &mut |difference| changes.add(before, after, &difference));
        changes
    }

    /// What a first version contains.
    pub fn of_first(scene: &Scene) -> Self {
        let mut changes = Self { added: scene.len(), ..Self::default() };
        for node in scene.descendants(scene.root()) {
            changes.note_class(scene, node);
        }
        changes
    }

    /// Describes the changes in a few words, such as `2 instances added, 1 script with another text`.
    pub fn describe(&self) -> String {
        let counts = [
            (self.added, "instance", "instances", "added"),
            (self.removed, "instance", "instances", "removed"),
            (self.changed, "instance", "instances", "changed"),
            (self.scripts, "script", "scripts", "with another text"),
        ];
        let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
        let parts = counts
            .map(|(count, one, many, what)| format!("{} {what}", count_noun(count, one, many)));
        let text = parts.collect::<Vec<_>>().join(", ");
        if text.is_empty() { "no differences".to_owned() } else { text }
    }

    /// Returns the instances that are named as not updated, and the number of the others.
    pub fn named_not_updated(&self) -> (Vec<&str>, usize) {
        let named = self.not_updated.iter().take(MAX_NOT_UPDATED).map(String::as_str).collect();
        (named, self.not_updated.len().saturating_sub(MAX_NOT_UPDATED))
    }

    fn add(&mut self, before: &Scene, after: &Scene, difference: &SceneDifference) {
        let line = match difference {
            SceneDifference::Added { path, class, count } => {
                self.added += count;
                self.note_subtree(after, path);
                format!("+ {path} ({class}){}", others(*count))
            }
            SceneDifference::Removed { path, class, count } => {
                self.removed += count;
                self.note_subtree(before, path);
                format!("- {path} ({class}){}", others(*count))
            }
            SceneDifference::Moved { from, to, .. } => {
                self.changed += 1;
                format!("~ {to}, was {from}")
            }
            SceneDifference::Changed { path, properties, .. } => {
                self.changed += 1;
                if let Ok(node) = after.resolve(path) {
                    self.note_class(after, node);
                }
                let names: Vec<&str> = properties.iter().map(|it| it.name.as_str()).collect();
                format!("~ {path}: {}", names.join(", "))
            }
            SceneDifference::Script { path, before, after, .. } => {
                self.scripts += 1;
                let counts = vector_text_edit::line_counts(before, after);
                format!("~ {path}: +{} −{} lines", counts.added, counts.removed)
            }
        };
        if self.lines.len() < MAX_LINES {
            self.lines.push(line);
        } else {
            self.more += 1;
        }
    }

    fn note_subtree(&mut self, scene: &Scene, path: &InstancePath) {
        let Ok(top) = scene.resolve(path) else { return };
        for node in scene.subtree(top) {
            self.note_class(scene, node);
        }
    }

    fn note_class(&mut self, scene: &Scene, node: Node) {
        let class = scene.class(node);
        if NOT_UPDATED.iter().any(|it| reflection::is_a(class, it)) {
            self.not_updated.insert(format!("{} ({class})", scene.path(node)));
        }
    }
}

/// Formats a size in bytes for the user.
pub fn format_size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Names the other instances of a subtree.
fn others(count: usize) -> String {
    match count {
        0 | 1 => String::new(),
        2 => " and 1 descendant".to_owned(),
        _ => format!(" and {} descendants", count - 1),
    }
}
