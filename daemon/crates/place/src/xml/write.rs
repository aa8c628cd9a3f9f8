//! Writes an XML file from the one that was read and the edits. Unchanged items, and everything
//! around them, are kept byte for byte.
//!
//! Items keep their referents. New content is indented like the file. References to deleted
//! instances become empty.

mod props;

use std::borrow::Cow;
use std::ops::Range;

use rbx_types::{Ref, SharedString};
use rustc_hash::{FxHashMap, FxHashSet};

use super::value::ValueLinks;
use super::{NAME, XmlFile, shared_strings, text};
use crate::codec::CodecError;
use crate::edits::EditSlot;
use crate::ids::NewIds;
use crate::node_of;
use crate::scene_changes::SceneChanges;
use crate::splice::PieceList;
use crate::tree::ROOT;

impl XmlFile {
    /// Builds the new file. `ids` holds the ids of the instances that were not read.
    ///
    /// # Errors
    /// A value cannot be written, or a reference would have an ambiguous target.
    pub(crate) fn write(
        &self,
        changes: &SceneChanges<'_>,
        ids: &NewIds,
    ) -> Result<PieceList, CodecError> {
        let dirty = self.dirty_nodes(changes);
        if dirty.is_empty() {
            return Ok(PieceList::whole_file(self.file.len()));
        }
        if self.has_reordered_duplicates(changes) {
            let why = "instances changed places that the file calls by the same name, so what \
                       points to them would point to others";
            return Err(CodecError::Write(why.to_owned()));
        }
        let mut output = XmlOutput {
            xml: self,
            changes,
            ids,
            reordered: changes.tree.changed_parents().collect(),
            dirty,
            pieces: PieceList::default(),
            written: FxHashMap::default(),
            new_shared: Vec::new(),
            style: FileIndentation::detect(self),
            unaddressable: None,
        };
        output.write_items()?;
        match output.unaddressable {
            None => Ok(output.pieces),
            Some(node) => Err(CodecError::Write(format!(
                "nothing can point to the {} named {:?}, because it has no referent of its own",
                changes.tree.class_name(node),
                changes.tree.name_text(node)
            ))),
        }
    }

    /// Whether another one of several items with the same referent is now the first. References mean
    /// the first.
    fn has_reordered_duplicates(&self, changes: &SceneChanges<'_>) -> bool {
        let (tree, doubled) = (changes.tree, &self.referent_index().duplicates);
        if doubled.is_empty() || !changes.has_moves() {
            return false;
        }
        let mut seen = FxHashSet::default();
        tree.subtree(ROOT).filter(|node| doubled.contains(node)).any(|node| {
            let id = self.referent_of(node);
            let first = self.node_of(&id).filter(|first| !changes.removed.contains(first));
            seen.insert(id) && first.is_some_and(|first| first != node)
        })
    }

    /// Returns the instances of the file whose bytes change, and all their ancestors.
    fn dirty_nodes(&self, changes: &SceneChanges<'_>) -> FxHashSet<u32> {
        let tree = changes.tree;
        let mut dirty = FxHashSet::default();
        let pointing = if changes.removed.is_empty() { Vec::new() } else { self.references() };
        let pointing = pointing.into_iter().filter(|(.., to)| changes.removed.contains(to));
        let touched = changes
            .edits
            .nodes()
            .chain(changes.renamed.iter().copied().filter(|node| {
                *node < tree.read_len() && self.name_of(*node) != tree.name_text(*node)
            }))
            .chain(tree.changed_parents())
            .chain(pointing.map(|(holder, ..)| holder));
        let touched = touched.filter(|node| *node < tree.read_len());
        // An added instance changes its parent.
        let above = changes.added.iter().filter_map(|node| tree.parent(node));
        for node in touched.chain(above) {
            let mut at = Some(node);
            while let Some(here) = at
                && dirty.insert(here)
            {
                at = tree.parent(here);
            }
        }
        dirty
    }
}

/// Maximum depth to which new lines are indented. In a deep tree, indentation would outgrow the
/// rest.
const MAX_INDENT: usize = 200;

/// The line endings and indentation of a file.
struct FileIndentation {
    newline: &'static str,
    unit: String,
}

impl FileIndentation {
    fn detect(xml: &XmlFile) -> Self {
        let first = xml.spans.get(1).map_or(xml.document.close, |span| span.start);
        let gap = xml.slice(xml.document.open_end as usize..first as usize);
        let has_line = gap.contains(&b'\n');
        let newline = match memchr::memchr(b'\n', gap) {
            Some(at) if at > 0 && gap[at - 1] == b'\r' => "\r\n",
            Some(_) => "\n",
            None => "",
        };
        let tail: Vec<u8> =
            gap.iter().rev().copied().take_while(|it| b" \t".contains(it)).collect();
        let unit = String::from_utf8(tail).ok().filter(|unit| !unit.is_empty() && has_line);
        let fallback = if has_line { "\t" } else { "" };
        Self { newline, unit: unit.unwrap_or_else(|| fallback.to_owned()) }
    }

    fn line_start(&self, depth: usize) -> Vec<u8> {
        let mut line = self.newline.as_bytes().to_vec();
        line.extend(self.unit.as_bytes().repeat(depth.min(MAX_INDENT)));
        line
    }
}

/// An item whose children are being written.
struct ItemFrame {
    node: u32,
    children: std::vec::IntoIter<u32>,
    /// Whether its children are those of the file, in the same order.
    is_same: bool,
    /// End of the part of the item that was written.
    behind: usize,
    /// Whether the content between its removed children was written.
    has_comments: bool,
    depth: usize,
}

struct XmlOutput<'a> {
    xml: &'a XmlFile,
    changes: &'a SceneChanges<'a>,
    ids: &'a NewIds,
    dirty: FxHashSet<u32>,
    reordered: FxHashSet<u32>,
    pieces: PieceList,
    /// Written elements, by the edit slot of the value and the tag and name of the replaced
    /// element.
    written: FxHashMap<(EditSlot, String), Vec<u8>>,
    /// New entries of the shared string table.
    new_shared: Vec<(String, SharedString)>,
    style: FileIndentation,
    /// An instance that a new reference points to, but that has no distinct referent.
    unaddressable: Option<u32>,
}

impl XmlOutput<'_> {
    fn write_items(&mut self) -> Result<(), CodecError> {
        let start = self.xml.document.open_end as usize;
        self.pieces.keep_range(0..start);
        let mut frames = vec![self.frame_of(ROOT, start, 0)];
        while let Some(mut frame) = frames.pop() {
            let Some(child) = frame.children.next() else {
                self.write_after_children(&mut frame);
                continue;
            };
            self.write_before_child(&mut frame, child);
            let depth = frame.depth + 1;
            frames.push(frame);
            let span = self.xml.span_of(child);
            let is_read = child < self.changes.tree.read_len();
            if is_read && (!self.dirty.contains(&child) || self.is_self_closing(child)) {
                self.pieces.keep_range(span.start as usize..span.end as usize);
                continue;
            }
            let behind = if is_read {
                self.write_item_start(child, depth)?
            } else {
                self.write_new_start(child, depth)?
            };
            frames.push(self.frame_of(child, behind, depth));
        }
        self.write_shared();
        Ok(())
    }

    /// Whether an item is a self-closing tag and can stay one.
    fn is_self_closing(&self, node: u32) -> bool {
        let span = self.xml.span_of(node);
        span.close == span.end
            && self.changes.tree.children(node).len() == 0
            && !self.has_new_properties(node)
    }

    fn frame_of(&self, node: u32, behind: usize, depth: usize) -> ItemFrame {
        let tree = self.changes.tree;
        let is_read = node < tree.read_len();
        let children = tree.children(node).collect::<Vec<_>>().into_iter();
        let is_same = is_read && !self.reordered.contains(&node);
        // Nodes are numbered in file order, by which `write_before_child` binary searches them.
        debug_assert!(is_same || tree.read_children(node).is_sorted());
        ItemFrame { node, children, is_same, behind, has_comments: false, depth }
    }

    /// Writes the bytes before a child.
    fn write_before_child(&mut self, frame: &mut ItemFrame, child: u32) {
        let tree = self.changes.tree;
        let span = self.xml.span_of(child);
        if frame.is_same {
            self.pieces.keep_range(frame.behind..span.start as usize);
            frame.behind = span.end as usize;
            return;
        }
        self.keep_comments(frame);
        let siblings = tree.read_children(frame.node);
        match siblings.binary_search(&child) {
            Ok(at) => {
                let gap = self.gap_before(frame.node, at);
                self.pieces.keep_range(gap);
            }
            Err(_) => self.pieces.add_bytes(self.style.line_start(frame.depth + 1)),
        }
    }

    /// Returns the end of an item's start tag and properties.
    fn front_end(&self, node: u32) -> usize {
        if node == ROOT {
            return self.xml.document.open_end as usize;
        }
        match self.xml.properties_of(node) {
            Some(whole) => whole.end,
            None => self.xml.span_of(node).open_end as usize,
        }
    }

    /// Returns the range between a child of the file and the child before it.
    fn gap_before(&self, node: u32, at: usize) -> Range<usize> {
        let siblings = self.changes.tree.read_children(node);
        let before = at.checked_sub(1).and_then(|at| siblings.get(at));
        let start =
            before.map_or_else(|| self.front_end(node), |it| self.xml.span_of(*it).end as usize);
        let end = siblings.get(at).map_or(start, |it| self.xml.span_of(*it).start as usize);
        start..end
    }

    /// Keeps the bytes before removed children, unless they are only whitespace.
    fn keep_comments(&mut self, frame: &mut ItemFrame) {
        if std::mem::replace(&mut frame.has_comments, true) {
            return;
        }
        let tree = self.changes.tree;
        for (at, child) in tree.read_children(frame.node).iter().enumerate() {
            if tree.parent(*child) == Some(frame.node) {
                continue;
            }
            let gap = self.gap_before(frame.node, at);
            let bytes = self.xml.slice(gap.clone());
            let len = bytes.trim_ascii_end().len();
            if len > 0 {
                self.pieces.keep_range(gap.start..gap.start + len);
            }
        }
    }

    /// Writes the bytes after the last child.
    fn write_after_children(&mut self, frame: &mut ItemFrame) {
        let tree = self.changes.tree;
        let span = self.xml.span_of(frame.node);
        let is_new = frame.node >= tree.read_len();
        if is_new || frame.node != ROOT && span.close == span.end {
            self.pieces.add_bytes(self.style.line_start(frame.depth));
            self.pieces.add_bytes(b"</Item>".to_vec());
            return;
        }
        if !frame.is_same {
            self.keep_comments(frame);
        }
        let last = tree.read_children(frame.node).last();
        let behind = last
            .map_or_else(|| self.front_end(frame.node), |it| self.xml.span_of(*it).end as usize);
        let end = if frame.node == ROOT { self.xml.file.len() } else { span.end as usize };
        if last.is_none() && tree.children(frame.node).len() > 0 && !frame.is_same {
            // Its first children: put the end tag on its own line if it is not.
            let gap = self.xml.slice(behind..span.close as usize);
            if !gap.contains(&b'\n') {
                self.pieces.add_bytes(self.style.line_start(frame.depth));
            }
        }
        self.pieces.keep_range(behind..end);
    }

    /// Writes the front of an item of the file: its start tag and its properties.
    fn write_item_start(&mut self, node: u32, depth: usize) -> Result<usize, CodecError> {
        let span = self.xml.span_of(node);
        if span.close == span.end {
            let tag = self.xml.slice(span.start as usize..span.open_end as usize);
            let tag = tag.strip_suffix(b"/>").unwrap_or(tag).trim_ascii_end().to_vec();
            self.pieces.add_bytes(tag);
            self.pieces.add_bytes(b">".to_vec());
            self.write_new_properties(node, None, depth)?;
            return Ok(span.end as usize);
        }
        let Some(whole) = self.xml.properties_of(node) else {
            self.pieces.keep_range(span.start as usize..span.open_end as usize);
            self.write_new_properties(node, None, depth)?;
            return Ok(span.open_end as usize);
        };
        if span.props == (0, 0) && !self.has_new_properties(node) {
            self.pieces.keep_range(span.start as usize..whole.end);
            return Ok(whole.end);
        }
        if span.props == (0, 0) {
            self.pieces.keep_range(span.start as usize..whole.start);
            self.expand_properties(node, depth)?;
            return Ok(whole.end);
        }
        self.pieces.keep_range(span.start as usize..span.props.0 as usize);
        self.edit_properties(node, depth)?;
        self.pieces.keep_range(span.props.1 as usize..whole.end);
        Ok(whole.end)
    }

    /// Writes the front of a new item.
    fn write_new_start(&mut self, node: u32, depth: usize) -> Result<usize, CodecError> {
        let tree = self.changes.tree;
        let mut tag = b"<Item class=\"".to_vec();
        text::escape_attribute(tree.class_name(node), &mut tag);
        tag.extend_from_slice(b"\" referent=\"");
        text::escape_attribute(&self.referent_for(node), &mut tag);
        tag.extend_from_slice(b"\">");
        self.pieces.add_bytes(tag);
        self.write_new_properties(node, self.changes.bases.get(&node).copied(), depth)?;
        Ok(1)
    }

    fn referent_for(&self, node: u32) -> String {
        if node < self.changes.tree.read_len() {
            return self.xml.referent_of(node).into_owned();
        }
        self.ids.get(node).unwrap_or_default().to_owned()
    }

    /// Adds new shared strings to their table.
    fn write_shared(&mut self) {
        if self.new_shared.is_empty() {
            return;
        }
        let line = self.style.line_start(2);
        let mut entries = Vec::new();
        for (key, content) in &self.new_shared {
            entries.extend_from_slice(&line);
            entries.extend(shared_strings::encode_entry(key, content.data()));
        }
        if let Some(range) = &self.xml.document.shared {
            self.pieces.insert_at(range.end as usize, entries);
        } else {
            let outer = self.style.line_start(1);
            let section = [
                &outer[..],
                b"<SharedStrings>",
                &entries,
                &outer,
                b"</SharedStrings>",
                self.style.newline.as_bytes(),
            ];
            self.pieces.insert_at(self.xml.document.close as usize, section.concat());
        }
    }
}

impl ValueLinks for XmlOutput<'_> {
    fn referent_of(&mut self, to: Ref) -> String {
        match node_of(to).filter(|node| self.changes.is_written(*node)) {
            Some(ROOT) | None => "null".to_owned(),
            Some(node) => {
                let id = self.referent_for(node);
                let is_read = node < self.changes.tree.read_len();
                if id.is_empty() || id == "null" || is_read && self.xml.node_of(&id) != Some(node) {
                    self.unaddressable = Some(node);
                }
                id
            }
        }
    }

    fn shared_key(&mut self, content: &SharedString) -> String {
        let known = self.xml.shared_strings().keys();
        let is_it = |key: &&String| self.xml.shared_string(key).as_deref() == Some(content.data());
        if let Some(key) = known.into_iter().find(is_it) {
            return key.clone();
        }
        let key = shared_strings::key_of(content);
        if !self.new_shared.iter().any(|(known, _)| *known == key) {
            self.new_shared.push((key.clone(), content.clone()));
        }
        key
    }
}

impl XmlFile {
    /// Returns the name of an item as read: its first `Name` property, or else its class.
    fn name_of(&self, node: u32) -> Cow<'_, str> {
        let content = self.properties_content(node);
        match super::props::find_element(content, NAME) {
            Some(element) => text::decode_text(&content[element.inside]),
            None => self.class_of(node),
        }
    }

    /// Whether the file stores script sources as protected strings, as Studio does.
    fn has_protected(&self) -> bool {
        memchr::memmem::find(&self.file, b"<ProtectedString").is_some()
    }

    /// Returns the range of an item's whole `<Properties>` element.
    fn properties_of(&self, node: u32) -> Option<Range<usize>> {
        let whole = self.span_of(node).whole;
        (whole != (0, 0)).then(|| super::to_usize_range(whole))
    }
}
