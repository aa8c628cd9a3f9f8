//! Draws differences as a tree: added, removed, changed and moved instances, with their ancestors
//! for orientation.
//!
//! Runs of similar siblings are cut after a dozen. This module does not know where the differences
//! come from.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use scene_schemas::InstancePath;
use scene_schemas::path::Segment;

use super::style::{PaintKind, TextStyle, terminal_line, tree_name};

/// The maximum number of similar siblings shown one by one.
const RUN: usize = 12;

/// The maximum number of lines for similar siblings, including everything below them.
const RUN_LINES: usize = 24;

/// An instance that differs.
#[derive(Debug, Clone)]
pub(super) struct TreeItem {
    pub(super) path: InstancePath,
    pub(super) mark: ChangeMark,
    pub(super) class: String,
    /// Further notes, one per line, already escaped.
    pub(super) notes: Vec<String>,
}

/// The kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ChangeMark {
    Added,
    Removed,
    Changed,
    Moved,
}

impl ChangeMark {
    pub(super) fn sign(self) -> char {
        match self {
            Self::Added => '+',
            Self::Removed => '-',
            Self::Changed => '~',
            Self::Moved => '→',
        }
    }

    pub(super) fn paint(self) -> PaintKind {
        match self {
            Self::Added => PaintKind::Added,
            Self::Removed => PaintKind::Removed,
            Self::Changed => PaintKind::Changed,
            Self::Moved => PaintKind::Moved,
        }
    }
}

/// Draws the tree, each line ending in a newline.
pub(super) fn draw_tree(items: &[TreeItem], style: TextStyle) -> String {
    let tree = ChangeTree::from_items(items);
    let mut lines = vec![tree.node_label(0, style)];
    tree.note_lines(0, "", style, &mut lines);
    tree.draw_node(0, "", style, &mut lines);
    lines.push(String::new());
    lines.join("\n")
}

struct ChangeTree {
    nodes: Vec<TreeNode>,
}

#[derive(Default)]
struct TreeNode {
    segment: Option<Segment>,
    item: Option<(ChangeMark, String)>,
    notes: Vec<String>,
    children: Vec<usize>,
    shape: u64,
    /// The number of instances drawn below it.
    below: usize,
}

impl ChangeTree {
    fn from_items(items: &[TreeItem]) -> Self {
        let mut tree = Self { nodes: vec![TreeNode::default()] };
        // A removed instance is shown beside a new one of the same name, so they have separate
        // keys.
        let mut known: HashMap<(usize, Segment, bool), usize> = HashMap::new();
        for item in items {
            let mut at = 0;
            let last = item.path.segments.len().saturating_sub(1);
            for (depth, segment) in item.path.segments.iter().enumerate() {
                let mut gone = depth == last && item.mark == ChangeMark::Removed;
                // A node that was context or changed so far is the removed instance. An added one
                // is a different instance.
                if gone
                    && let Some(known) = known.get(&(at, segment.clone(), false))
                    && !matches!(tree.nodes[*known].item, Some((ChangeMark::Added, _)))
                {
                    gone = false;
                    tree.nodes[*known].remove_details();
                }
                let next = tree.nodes.len();
                at = *known.entry((at, segment.clone(), gone)).or_insert_with(|| {
                    tree.nodes[at].children.push(next);
                    tree.nodes
                        .push(TreeNode { segment: Some(segment.clone()), ..TreeNode::default() });
                    next
                });
            }
            tree.nodes[at].add_item(item);
        }
        // Children come after their parents, so a backward walk visits children first.
        for at in (0..tree.nodes.len()).rev() {
            tree.nodes[at].shape = tree.shape_hash(at);
            let children = tree.nodes[at].children.iter();
            tree.nodes[at].below = children.map(|child| 1 + tree.nodes[*child].below).sum();
        }
        tree
    }

    fn shape_hash(&self, at: usize) -> u64 {
        let node = &self.nodes[at];
        let mut hasher = DefaultHasher::new();
        (&node.item, &node.notes).hash(&mut hasher);
        for child in &node.children {
            self.nodes[*child].shape.hash(&mut hasher);
        }
        hasher.finish()
    }

    fn node_label(&self, at: usize, style: TextStyle) -> String {
        let node = &self.nodes[at];
        let name = match &node.segment {
            None => "game".to_owned(),
            Some(segment) => {
                let index = segment.index.map_or(String::new(), |n| format!("[{n}]"));
                format!("{}{index}", tree_name(&segment.name))
            }
        };
        match &node.item {
            None => style.paint(PaintKind::Dim, name),
            Some((mark, class)) => {
                let class = terminal_line(class);
                let front = style.paint(mark.paint(), format!("{} {class}", mark.sign()));
                format!("{front} {}", style.paint(PaintKind::Bold, name))
            }
        }
    }

    fn note_lines(&self, at: usize, indent: &str, style: TextStyle, lines: &mut Vec<String>) {
        let node = &self.nodes[at];
        let bar = if node.children.is_empty() { " " } else { "│" };
        let front = style.paint(PaintKind::Dim, format!("{indent}{bar}   "));
        lines.extend(node.notes.iter().map(|note| format!("{front}{note}")));
    }

    /// The line that replaces siblings similar to this one.
    fn similar_line(&self, at: usize, n: usize, style: TextStyle) -> String {
        let node = &self.nodes[at];
        let below = match node.below {
            0 => String::new(),
            n => format!(", each with {n} below"),
        };
        match &node.item {
            Some((mark, class)) => {
                let text = format!("… {n} more {} {}", mark.sign(), terminal_line(class));
                format!("{}{below}", style.paint(mark.paint(), text))
            }
            None => style.paint(PaintKind::Dim, format!("… {n} more like these{below}")),
        }
    }

    fn draw_node(&self, at: usize, indent: &str, style: TextStyle, lines: &mut Vec<String>) {
        let children = &self.nodes[at].children;
        let mut done = 0;
        while done < children.len() {
            let shape = self.nodes[children[done]].shape;
            let run = children[done..]
                .iter()
                .take_while(|child| self.nodes[**child].shape == shape)
                .count();
            // Replacing only one line by a note saves nothing.
            let limit = RUN_LINES / (1 + self.nodes[children[done]].below);
            let limit = limit.clamp(2, RUN);
            let shown = if run > limit + 1 { limit } else { run };
            for child in &children[done..done + shown] {
                let is_last = *child == children[children.len() - 1];
                let (branch, below) =
                    if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
                let front = style.paint(PaintKind::Dim, format!("{indent}{branch}"));
                lines.push(format!("{front}{}", self.node_label(*child, style)));
                let indent = format!("{indent}{below}");
                self.note_lines(*child, &indent, style, lines);
                self.draw_node(*child, &indent, style, lines);
            }
            done += run;
            if shown < run {
                let branch = if done == children.len() { "└─ " } else { "├─ " };
                let more = self.similar_line(children[done - 1], run - shown, style);
                lines.push(format!(
                    "{}{more}",
                    style.paint(PaintKind::Dim, format!("{indent}{branch}"))
                ));
            }
        }
    }
}

impl TreeNode {
    /// Drops the item, its notes and everything below it.
    fn remove_details(&mut self) {
        self.item = None;
        self.notes.clear();
        self.children.clear();
    }

    fn add_item(&mut self, item: &TreeItem) {
        match &mut self.item {
            // An added instance already has all its values.
            Some((ChangeMark::Added, _)) if item.mark == ChangeMark::Changed => return,
            Some((mark, _)) if *mark == ChangeMark::Changed => *mark = item.mark,
            Some(_) => {}
            None => self.item = Some((item.mark, item.class.clone())),
        }
        self.notes.extend(item.notes.iter().cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(path: &str, mark: ChangeMark, class: &str, notes: &[&str]) -> TreeItem {
        TreeItem {
            path: path.parse().unwrap(),
            mark,
            class: class.to_owned(),
            notes: notes.iter().map(|note| (*note).to_owned()).collect(),
        }
    }

    #[track_caller]
    fn check(items: &[TreeItem], picture: &str) {
        assert_eq!(super::draw_tree(items, TextStyle::plain()), picture);
    }

    #[test]
    fn changes_are_drawn_below_their_ancestors() {
        check(
            &[
                item("game.Workspace.A", ChangeMark::Added, "Model", &[]),
                item("game.Workspace.A.P", ChangeMark::Added, "Part", &[]),
                item("game.Workspace.A.P", ChangeMark::Changed, "Part", &["Size  1 → 2"]),
                item("game.Workspace.B", ChangeMark::Changed, "Part", &["Size  1 → 2"]),
                item("game.Lighting[\" x\"]", ChangeMark::Removed, "Sky", &["3 instances"]),
                item("game.Lighting[\" x\"]", ChangeMark::Added, "Folder", &[]),
            ],
            "\
game
├─ Workspace
│  ├─ + Model A
│  │  └─ + Part P
│  └─ ~ Part B
│         Size  1 → 2
└─ Lighting
   ├─ - Sky \" x\"
   │      3 instances
   └─ + Folder \" x\"
",
        );
    }

    #[test]
    fn removed_instance_hides_earlier_changes_to_it() {
        check(
            &[
                item("game.W.A.P", ChangeMark::Changed, "Part", &["Size  1 → 2"]),
                item("game.W.A", ChangeMark::Removed, "Model", &["2 instances"]),
                item("game.W.B", ChangeMark::Changed, "Part", &["Size  1 → 2"]),
                item("game.W.B", ChangeMark::Removed, "Part", &[]),
            ],
            "\
game
└─ W
   ├─ - Model A
   │      2 instances
   └─ - Part B
",
        );
    }

    #[test]
    fn long_runs_of_equal_siblings_are_cut() {
        let items: Vec<TreeItem> = (0..100)
            .map(|n| item(&format!("game.W.P{n}"), ChangeMark::Added, "Part", &[]))
            .chain([item("game.W.Z", ChangeMark::Moved, "Folder", &[])])
            .collect();
        let rows = (0..10).flat_map(|n| {
            let below = (0..10)
                .map(move |m| item(&format!("game.W.R{n}.P{m}"), ChangeMark::Added, "Part", &[]));
            [item(&format!("game.W.R{n}"), ChangeMark::Added, "Model", &[])]
                .into_iter()
                .chain(below)
        });
        let rows = draw_tree(&rows.collect::<Vec<_>>(), TextStyle::plain());
        assert!(rows.ends_with("   └─ … 8 more + Model, each with 10 below\n"), "{rows}");
        let picture = draw_tree(&items, TextStyle::plain());
        assert_eq!(picture.lines().count(), 2 + 12 + 1 + 1);
        assert!(picture.contains("   ├─ … 88 more + Part\n   └─ → Folder Z\n"), "{picture}");
    }
}
