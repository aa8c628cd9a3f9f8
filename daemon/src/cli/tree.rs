//! Draws differences as a tree: added, removed, changed and moved instances, with their ancestors
//! for orientation.
//!
//! Runs of similar siblings are cut after a dozen. This module does not know where the differences
//! come from.

use std::hash::{DefaultHasher, Hash, Hasher};

use rbx_dom_weak::{Ustr, ustr};
use rustc_hash::FxHashMap;
use scene_schemas::InstancePath;

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
pub(super) fn draw_tree(items: impl IntoIterator<Item = TreeItem>, style: TextStyle) -> String {
    let mut tree = ChangeTree::default();
    items.into_iter().for_each(|item| tree.add(item));
    tree.draw(style)
}

/// A tree of differences, which may be as many as the instances of a place.
#[derive(Debug)]
pub(super) struct ChangeTree {
    nodes: Vec<TreeNode>,
    /// The nodes by parent and key. A removed instance is shown beside a new one of the same name,
    /// so they have separate keys.
    known: FxHashMap<(u32, NodeKey), u32>,
    /// The nodes on the path of the last item, which mostly begins like that of the next one.
    last_path: Vec<(NodeKey, u32)>,
}

/// What tells a node from its siblings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct NodeKey {
    name: Ustr,
    index: Option<u32>,
    is_removed: bool,
}

#[derive(Debug)]
struct TreeNode {
    /// None for `game`.
    key: Option<NodeKey>,
    item: Option<(ChangeMark, Ustr)>,
    notes: Vec<String>,
    children: Vec<u32>,
    shape: u64,
    /// The number of instances drawn below it.
    below: usize,
}

impl TreeNode {
    fn new(key: Option<NodeKey>) -> Self {
        Self { key, item: None, notes: Vec::new(), children: Vec::new(), shape: 0, below: 0 }
    }
}

impl Default for ChangeTree {
    fn default() -> Self {
        Self {
            nodes: vec![TreeNode::new(None)],
            known: FxHashMap::default(),
            last_path: Vec::new(),
        }
    }
}

impl ChangeTree {
    pub(super) fn add(&mut self, item: TreeItem) {
        let TreeItem { path, mark, class, notes } = item;
        let last = path.segments.len().saturating_sub(1);
        let mut at = 0;
        for (depth, segment) in path.segments.into_iter().enumerate() {
            let (name, index) = (ustr(&segment.name), segment.index);
            let mut key = NodeKey { name, index, is_removed: false };
            if depth == last && mark == ChangeMark::Removed {
                key.is_removed = !self.replace_by_removed(at, key);
            }
            at = match self.last_path.get(depth) {
                Some((known, node)) if *known == key => *node,
                _ => {
                    self.last_path.truncate(depth);
                    let node = self.child(at, key);
                    self.last_path.push((key, node));
                    node
                }
            };
        }
        self.last_path.truncate(last + 1);
        self.nodes[at as usize].add_item(mark, ustr(&class), notes);
    }

    /// Drops the details of a node that was context or changed so far, and is now the removed
    /// instance. Returns false if there is none, or if an added one, which is another instance, has
    /// this key.
    fn replace_by_removed(&mut self, parent: u32, key: NodeKey) -> bool {
        let Some(node) = self.known.get(&(parent, key)) else {
            return false;
        };
        let node = &mut self.nodes[*node as usize];
        let is_other = matches!(node.item, Some((ChangeMark::Added, _)));
        if !is_other {
            node.remove_details();
        }
        !is_other
    }

    /// Returns a child, and adds it if it is not there yet.
    fn child(&mut self, parent: u32, key: NodeKey) -> u32 {
        let next = self.nodes.len() as u32;
        let child = *self.known.entry((parent, key)).or_insert(next);
        if child == next {
            self.nodes[parent as usize].children.push(next);
            self.nodes.push(TreeNode::new(Some(key)));
        }
        child
    }

    /// Draws the tree, each line ending in a newline.
    pub(super) fn draw(mut self, style: TextStyle) -> String {
        // Children come after their parents, so a backward walk visits children first.
        for at in (0..self.nodes.len()).rev() {
            self.nodes[at].shape = self.shape_hash(at);
            let children = self.nodes[at].children.iter();
            self.nodes[at].below =
                children.map(|child| 1 + self.nodes[*child as usize].below).sum();
        }
        let mut text = String::new();
        text.push_str(&self.node_label(0, style));
        text.push('\n');
        self.note_lines(0, "", style, &mut text);
        self.draw_node(0, "", style, &mut text);
        text
    }

    fn shape_hash(&self, at: usize) -> u64 {
        let node = &self.nodes[at];
        let mut hasher = DefaultHasher::new();
        (&node.item, &node.notes).hash(&mut hasher);
        for child in &node.children {
            self.nodes[*child as usize].shape.hash(&mut hasher);
        }
        hasher.finish()
    }

    fn node_label(&self, at: usize, style: TextStyle) -> String {
        let node = &self.nodes[at];
        let name = match &node.key {
            None => "game".to_owned(),
            Some(key) => {
                let name = tree_name(key.name.as_str());
                key.index.map_or_else(|| name.clone().into_owned(), |n| format!("{name}[{n}]"))
            }
        };
        match &node.item {
            None => style.paint(PaintKind::Dim, name),
            Some((mark, class)) => {
                let class = terminal_line(class.as_str());
                let front = style.paint(mark.paint(), format_args!("{} {class}", mark.sign()));
                format!("{front} {}", style.paint(PaintKind::Bold, name))
            }
        }
    }

    fn note_lines(&self, at: usize, indent: &str, style: TextStyle, text: &mut String) {
        let node = &self.nodes[at];
        let bar = if node.children.is_empty() { " " } else { "│" };
        for note in &node.notes {
            let front = style.paint(PaintKind::Dim, format_args!("{indent}{bar}   "));
            push_line(&front, note, text);
        }
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
                let class = terminal_line(class.as_str());
                let text = format!("… {n} more {} {class}", mark.sign());
                format!("{}{below}", style.paint(mark.paint(), text))
            }
            None => style.paint(PaintKind::Dim, format!("… {n} more like these{below}")),
        }
    }

    fn draw_node(&self, at: usize, indent: &str, style: TextStyle, text: &mut String) {
        let children = &self.nodes[at].children;
        let mut done = 0;
        while let Some(first) = children.get(done).map(|child| &self.nodes[*child as usize]) {
            let run = children[done..]
                .iter()
                .take_while(|child| self.nodes[**child as usize].shape == first.shape)
                .count();
            // Replacing only one line by a note saves nothing.
            let limit = (RUN_LINES / (1 + first.below)).clamp(2, RUN);
            let shown = if run > limit + 1 { limit } else { run };
            for (nth, child) in children[done..done + shown].iter().enumerate() {
                let child = *child as usize;
                let is_last = done + nth + 1 == children.len();
                let (branch, below) =
                    if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
                let front = style.paint(PaintKind::Dim, format_args!("{indent}{branch}"));
                push_line(&front, &self.node_label(child, style), text);
                let indent = format!("{indent}{below}");
                self.note_lines(child, &indent, style, text);
                self.draw_node(child, &indent, style, text);
            }
            done += run;
            if shown < run {
                let branch = if done == children.len() { "└─ " } else { "├─ " };
                let more = self.similar_line(children[done - 1] as usize, run - shown, style);
                let front = style.paint(PaintKind::Dim, format_args!("{indent}{branch}"));
                push_line(&front, &more, text);
            }
        }
    }
}

fn push_line(front: &str, line: &str, text: &mut String) {
    text.push_str(front);
    text.push_str(line);
    text.push('\n');
}

impl TreeNode {
    /// Drops the item, its notes and everything below it.
    fn remove_details(&mut self) {
        self.item = None;
        self.notes.clear();
        self.children.clear();
    }

    fn add_item(&mut self, mark: ChangeMark, class: Ustr, notes: Vec<String>) {
        match &mut self.item {
            // An added instance already has all its values.
            Some((ChangeMark::Added, _)) if mark == ChangeMark::Changed => return,
            Some((known, _)) if *known == ChangeMark::Changed => *known = mark,
            Some(_) => {}
            None => self.item = Some((mark, class)),
        }
        if self.notes.is_empty() {
            self.notes = notes;
        } else {
            self.notes.extend(notes);
        }
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
        assert_eq!(super::draw_tree(items.to_vec(), TextStyle::plain()), picture);
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
        let rows = draw_tree(rows, TextStyle::plain());
        assert!(rows.ends_with("   └─ … 8 more + Model, each with 10 below\n"), "{rows}");
        let picture = draw_tree(items, TextStyle::plain());
        assert_eq!(picture.lines().count(), 2 + 12 + 1 + 1);
        assert!(picture.contains("   ├─ … 88 more + Part\n   └─ → Folder Z\n"), "{picture}");
    }
}
