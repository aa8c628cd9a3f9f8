//! Writes a binary file from the one that was read and the edits. Unchanged chunks are kept as they
//! are.
//!
//! Instances and classes keep their numbers; a class whose last instance is deleted stays, without
//! instances. A property that the file does not have for a class gets a new column, with the
//! default for all other instances of the class. References to deleted instances become empty,
//! because their numbers may be reused.

mod props;

use std::collections::BTreeMap;

use rbx_types::{Ref, SharedString};
use rustc_hash::{FxHashMap, FxHashSet};

use super::container::{self, ChunkPacking};
use super::layout::ty;
use super::{BinaryFile, ClassGroup, cell};
use crate::bytes::{self, ByteReader};
use crate::codec::CodecError;
use crate::ids::NewIds;
use crate::node_set::NodeSet;
use crate::scene_changes::SceneChanges;
use crate::splice::PieceList;
use crate::tree::NONE;
use crate::{node_of, reflection};

impl BinaryFile {
    /// Builds the new file. `ids` holds the ids of the instances that were not read.
    ///
    /// # Errors
    /// A value cannot be stored under its property, or an instance was added or deleted whose class
    /// has a property that is not understood.
    pub(crate) fn write(
        &self,
        changes: &SceneChanges<'_>,
        ids: &NewIds,
    ) -> Result<PieceList, CodecError> {
        let mut output = BinaryOutput {
            binary: self,
            changes,
            ids,
            replaced: FxHashMap::default(),
            inserted: BTreeMap::new(),
            shared: FxHashMap::default(),
            new_shared: Vec::new(),
            new_groups: 0,
        };
        output.write_file()
    }
}

/// A group as written: the rows that are kept, then the added instances.
struct GroupRows<'a> {
    group: &'a ClassGroup,
    kept: Vec<u32>,
    added: NodeSet,
}

impl GroupRows<'_> {
    fn is_unchanged(&self) -> bool {
        self.added.is_empty() && self.kept.len() == self.group.rows as usize
    }

    fn len(&self) -> usize {
        self.kept.len() + self.added.len()
    }

    fn nodes(&self) -> impl Iterator<Item = u32> {
        let kept = self.kept.iter().map(|row| self.group.first + row);
        kept.chain(self.added.iter())
    }
}

struct BinaryOutput<'a> {
    binary: &'a BinaryFile,
    changes: &'a SceneChanges<'a>,
    ids: &'a NewIds,
    replaced: FxHashMap<usize, PieceList>,
    /// New chunks, by the index of the chunk that they precede, then by the order in which readers
    /// need them.
    inserted: BTreeMap<(usize, u8), Vec<u8>>,
    shared: FxHashMap<SharedString, u32>,
    new_shared: Vec<SharedString>,
    new_groups: u32,
}

impl<'a> BinaryOutput<'a> {
    fn write_file(&mut self) -> Result<PieceList, CodecError> {
        let binary = self.binary;
        let mut added: BTreeMap<&str, NodeSet> = BTreeMap::new();
        for node in self.changes.added.iter() {
            added.entry(self.changes.tree.class_name(node)).or_default().insert(node);
        }
        let groups = || binary.groups.iter().enumerate();
        let last: FxHashMap<&str, usize> =
            groups().map(|(at, group)| (group.name.as_str(), at)).collect();
        for (at, group) in groups() {
            // If a class has several groups, the last one takes the new instances.
            let is_last = last.get(group.name.as_str()) == Some(&at);
            let new = if is_last { added.remove(group.name.as_str()) } else { None };
            self.write_group(group, new.unwrap_or_default())?;
        }
        self.write_new_groups(added)?;
        if self.changes.has_moves() {
            self.write_parents()?;
        }
        if !self.new_shared.is_empty() {
            self.write_shared()?;
        }
        Ok(self.assemble_pieces())
    }

    fn assemble_pieces(&mut self) -> PieceList {
        let binary = self.binary;
        let mut pieces = PieceList::default();
        // The counts in the header need not be true.
        let classes = binary.header.classes.saturating_add(self.new_groups);
        let instances = binary.header.instances.saturating_add(self.changes.added.len() as u32);
        let instances = instances.saturating_sub(self.changes.removed.len() as u32);
        if (classes, instances) == (binary.header.classes, binary.header.instances) {
            pieces.keep_range(0..container::HEADER);
        } else {
            pieces.add_bytes(binary.header.with_counts(classes, instances).to_bytes().to_vec());
        }
        let mut behind = container::HEADER;
        for (at, chunk) in binary.chunks.iter().enumerate() {
            while let Some(new) = self.inserted.first_entry().filter(|new| new.key().0 <= at) {
                pieces.add_bytes(new.remove());
            }
            match self.replaced.remove(&at) {
                Some(new) => pieces.append(new),
                None => pieces.keep_range(chunk.at.clone()),
            }
            behind = chunk.at.end;
        }
        pieces.keep_range(behind..binary.file.len());
        pieces
    }

    /// Returns the index of the chunk before which parents, and anything after the properties, go.
    fn parents_chunk(&self) -> usize {
        let chunks = &self.binary.chunks;
        let is_end = |name: &[u8; 4]| matches!(name, b"PRNT" | b"END\0");
        chunks.iter().position(|chunk| is_end(&chunk.name)).unwrap_or(chunks.len())
    }

    fn insert_chunk(
        &mut self,
        before: usize,
        name: [u8; 4],
        content: &[u8],
    ) -> Result<(), CodecError> {
        let chunk = container::pack_chunk(name, content, self.default_packing())?;
        // Properties refer to shared strings and to instances of all classes.
        let rank = match &name {
            b"SSTR" => 0,
            b"INST" => 1,
            b"PROP" => 2,
            _ => 3,
        };
        self.inserted.entry((before, rank)).or_default().extend(chunk);
        Ok(())
    }

    fn default_packing(&self) -> ChunkPacking {
        let chunks = &self.binary.chunks;
        let like = chunks.get(self.parents_chunk()).filter(|chunk| chunk.name == *b"PRNT");
        like.map_or(ChunkPacking::Lz4, |chunk| ChunkPacking::of_chunk(&self.binary.file, chunk))
    }

    /// Replaces the content of a chunk. If little of it changes, most of its bytes are kept.
    fn replace_chunk(&mut self, at: usize, content: &[u8]) -> Result<(), CodecError> {
        let (file, chunk) = (&self.binary.file, &self.binary.chunks[at]);
        let pieces = if let Some(edited) = container::edit_chunk(file, chunk, content) {
            edited
        } else {
            let packing = ChunkPacking::of_chunk(file, chunk);
            PieceList::from(container::pack_chunk(chunk.name, content, packing)?)
        };
        self.replaced.insert(at, pieces);
        Ok(())
    }

    fn drop_chunk(&mut self, at: usize) {
        self.replaced.insert(at, PieceList::default());
    }

    fn write_group(&mut self, group: &'a ClassGroup, added: NodeSet) -> Result<(), CodecError> {
        let removed = &self.changes.removed;
        let kept = (0..group.rows).filter(|row| !removed.contains(&(group.first + row)));
        let kept = if removed.is_empty() { (0..group.rows).collect() } else { kept.collect() };
        let rows = GroupRows { group, kept, added };
        if !rows.is_unchanged() {
            self.write_instances(&rows)?;
        }
        if rows.len() == 0 {
            // A class that had no instances before is left unchanged.
            let props = group.props.iter().chain(&group.names);
            for prop in props.filter(|_| !rows.is_unchanged()) {
                self.drop_chunk(self.binary.props[*prop as usize].chunk);
            }
            return Ok(());
        }
        self.write_names(&rows)?;
        for (at, prop) in (0..).zip(&group.props) {
            self.write_prop(&rows, at, *prop)?;
        }
        self.write_new_props(&rows)
    }

    fn write_instances(&mut self, rows: &GroupRows<'_>) -> Result<(), CodecError> {
        let group = rows.group;
        let content = container::unpack_chunk(&self.binary.file, &self.binary.chunks[group.chunk])?;
        let mut bytes = ByteReader(&content);
        let mut skip = || {
            bytes.read_u32()?;
            bytes.read_text()?;
            bytes.take_bytes(5 + 4 * group.rows as usize)
        };
        skip().ok_or(CodecError::Damaged)?;
        // Each service has a marker byte.
        let markers = bytes.0;
        let has_markers = group.format == 1 && markers.len() == group.rows as usize;
        let marker = |row: &u32| markers.get(*row as usize).copied().unwrap_or(1);
        let markers: Vec<u8> = if has_markers {
            rows.kept.iter().map(marker).chain(rows.added.iter().map(|_| 1)).collect()
        } else {
            Vec::new()
        };
        let referents: Vec<i32> = rows.nodes().map(|node| self.referent_number(node)).collect();
        let content = inst_chunk(group.type_id, &group.name, group.format, &referents, &markers);
        self.replace_chunk(group.chunk, &content)
    }

    fn referent_number(&self, node: u32) -> i32 {
        let read = self.binary.referent_of(node);
        read.or_else(|| self.ids.get(node)?.parse().ok()).unwrap_or(-1)
    }

    /// Returns the referent of an instance in the new file; -1 for null and for other instances.
    fn link_number(&self, to: Ref) -> i32 {
        let node = node_of(to).filter(|node| self.changes.is_written(*node));
        node.map_or(-1, |node| self.referent_number(node))
    }

    fn write_names(&mut self, rows: &GroupRows<'_>) -> Result<(), CodecError> {
        let (group, tree) = (rows.group, self.changes.tree);
        let column = group.names.map(|prop| self.read_column(group, prop)).transpose()?;
        let text = |row: u32| match column {
            Some(column) => column.text_at(row as usize),
            None => Some(group.name.as_bytes()),
        };
        let is_renamed = |row: &u32| {
            let node = group.first + row;
            self.changes.renamed.contains(&node) && {
                let name = tree.name_text(node).as_bytes();
                text(*row).is_none_or(|text| bytes::lossy_text(text).as_bytes() != name)
            }
        };
        let renamed: Vec<bool> = if self.changes.renamed.is_empty() {
            Vec::new()
        } else {
            rows.kept.iter().map(is_renamed).collect()
        };
        if rows.is_unchanged() && !renamed.contains(&true) {
            return Ok(());
        }
        let mut cells = Vec::new();
        let mut push = |text: &[u8]| cells.extend(text_cell(text));
        for (at, row) in rows.kept.iter().enumerate() {
            match renamed.get(at) {
                Some(true) => push(tree.name_text(group.first + row).as_bytes()),
                _ => push(text(*row).unwrap_or_default()),
            }
        }
        for node in rows.added.iter() {
            push(tree.name_text(node).as_bytes());
        }
        let content = prop_chunk(group.type_id, "Name", ty::STRING, &cells);
        match group.names {
            Some(prop) => self.replace_chunk(self.binary.props[prop as usize].chunk, &content),
            None => self.insert_prop(group, "Name", &content),
        }
    }

    fn write_new_groups(&mut self, added: BTreeMap<&str, NodeSet>) -> Result<(), CodecError> {
        let groups = self.binary.groups.iter().map(|group| group.type_id);
        let mut taken: FxHashSet<u32> = groups.chain(self.binary.unknown_classes.clone()).collect();
        let mut next = taken.iter().max().map_or(0, |id| id.wrapping_add(1));
        for (class, nodes) in added {
            while !taken.insert(next) {
                next = next.wrapping_add(1);
            }
            let format = u8::from(reflection::is_service(class));
            let referents: Vec<i32> = nodes.iter().map(|node| self.referent_number(node)).collect();
            let markers = vec![1; if format == 1 { nodes.len() } else { 0 }];
            let content = inst_chunk(next, class, format, &referents, &markers);
            let first = self.binary.chunks.iter().position(|chunk| chunk.name == *b"PROP");
            self.insert_chunk(first.unwrap_or_else(|| self.parents_chunk()), *b"INST", &content)?;
            let group = ClassGroup::new(next, class);
            self.write_new_group(&group, nodes)?;
            self.new_groups += 1;
        }
        Ok(())
    }

    fn write_new_group(&mut self, group: &ClassGroup, nodes: NodeSet) -> Result<(), CodecError> {
        let rows = GroupRows { group, kept: Vec::new(), added: nodes };
        let names = rows.added.iter().map(|node| self.changes.tree.name_text(node));
        let cells: Vec<u8> = names.flat_map(|name| text_cell(name.as_bytes())).collect();
        self.write_new_props(&rows)?;
        let content = prop_chunk(group.type_id, "Name", ty::STRING, &cells);
        self.insert_prop(group, "Name", &content)
    }

    fn write_parents(&mut self) -> Result<(), CodecError> {
        let links = self.edited_links().unwrap_or_else(|| self.all_links());
        let (children, parents): (Vec<i32>, Vec<i32>) = links.into_iter().unzip();
        let mut content = vec![0];
        content.extend_from_slice(&(children.len() as u32).to_le_bytes());
        content.extend(bytes::encode_referents(&children));
        content.extend(bytes::encode_referents(&parents));
        let mut chunks = self.binary.chunks_named(*b"PRNT").into_iter();
        match chunks.next() {
            Some(first) => self.replace_chunk(first, &content)?,
            None => self.insert_chunk(self.parents_chunk(), *b"PRNT", &content)?,
        }
        for other in chunks {
            self.drop_chunk(other);
        }
        Ok(())
    }

    /// Returns the links of all instances to their parents: children before their parents, as
    /// Studio writes them.
    fn all_links(&self) -> Vec<(i32, i32)> {
        let nodes = self.changes.tree.post_order(super::ROOT);
        let links = nodes.map(|node| self.link_of(node));
        links.chain(self.binary.detached_links.iter().copied()).collect()
    }

    fn link_of(&self, node: u32) -> (i32, i32) {
        let parent = self.changes.tree.parent(node).filter(|parent| *parent != super::ROOT);
        (self.referent_number(node), parent.map_or(-1, |parent| self.referent_number(parent)))
    }

    /// Returns the links in the order of the file, without those that are gone, and with the new
    /// ones where the order of siblings needs them: before the next sibling, or at the end. None if
    /// siblings have another order than in the file, or if the file links an instance twice.
    fn edited_links(&self) -> Option<Vec<(i32, i32)>> {
        let (binary, tree) = (self.binary, self.changes.tree);
        let [chunk] = binary.chunks_named(*b"PRNT")[..] else {
            return None;
        };
        let content = container::unpack_chunk(&binary.file, &binary.chunks[chunk]).ok()?;
        let read: Vec<(i32, i32)> = super::read_links(&content)?.collect();
        let mut positions = vec![NONE; tree.read_len() as usize];
        let mut kept = vec![true; read.len()];
        for (at, link) in read.iter().enumerate() {
            let Some(node) = binary.node_of(link.0) else {
                continue;
            };
            if std::mem::replace(&mut positions[node as usize], at as u32) != NONE {
                return None;
            }
            let is_detached = tree.parent(node).is_none() && !self.changes.removed.contains(&node);
            kept[at] = is_detached || self.changes.is_written(node) && self.link_of(node) == *link;
        }
        // The position before which a link is inserted, and the link.
        let mut inserted: Vec<(usize, (i32, i32))> = Vec::new();
        let mut parents: Vec<u32> = tree.changed_parents().collect();
        parents.retain(|parent| self.changes.is_written(*parent));
        parents.sort_unstable();
        for parent in parents.into_iter().chain(self.changes.added.iter()) {
            let (mut next, mut waiting) = (0, Vec::new());
            for child in tree.children(parent) {
                let position = positions.get(child as usize).map(|at| *at as usize);
                match position.filter(|at| kept.get(*at) == Some(&true)) {
                    Some(at) if at < next => return None,
                    Some(at) => {
                        inserted.extend(waiting.drain(..).map(|link| (at, link)));
                        next = at + 1;
                    }
                    None => waiting.push(self.link_of(child)),
                }
            }
            inserted.extend(waiting.into_iter().map(|link| (read.len(), link)));
        }
        inserted.sort_by_key(|(at, _)| *at);
        let mut inserted = inserted.into_iter().peekable();
        let mut links = Vec::with_capacity(read.len() + inserted.len());
        for (at, (link, is_kept)) in read.iter().zip(kept).enumerate() {
            while let Some((_, new)) = inserted.next_if(|(before, _)| *before == at) {
                links.push(new);
            }
            links.extend(is_kept.then_some(*link));
        }
        links.extend(inserted.map(|(_, new)| new));
        Some(links)
    }

    fn write_shared(&mut self) -> Result<(), CodecError> {
        let binary = self.binary;
        let chunk = binary.chunks_named(*b"SSTR").first().copied();
        let end = binary.shared_table().end;
        if chunk.is_some() && end.is_none() || binary.has_missing_shared() {
            let why = "its table of shared strings is damaged, so nothing can come to it";
            return Err(CodecError::Write(why.to_owned()));
        }
        let old = chunk
            .map(|at| container::unpack_chunk(&binary.file, &binary.chunks[at]))
            .transpose()?;
        let old = old.as_deref().unwrap_or_default();
        let (front, behind) = old.split_at(end.unwrap_or(0).min(old.len()));
        let count = binary.shared_strings().len() + self.new_shared.len();
        let mut content = front.get(..4).unwrap_or(&[0; 4]).to_vec();
        content.extend_from_slice(&(count as u32).to_le_bytes());
        content.extend_from_slice(front.get(8..).unwrap_or_default());
        for shared in &self.new_shared {
            // A hash that readers ignore.
            content.extend_from_slice(&[0; 16]);
            content.extend(text_cell(shared.data()));
        }
        content.extend_from_slice(behind);
        if let Some(at) = chunk {
            self.replace_chunk(at, &content)
        } else {
            let chunks = &binary.chunks;
            let first = chunks.iter().position(|chunk| chunk.name != *b"META").unwrap_or(0);
            self.insert_chunk(first, *b"SSTR", &content)
        }
    }
}

impl cell::WriteLinks for BinaryOutput<'_> {
    fn referent_of(&self, to: Ref) -> i32 {
        self.link_number(to)
    }

    fn shared_index(&mut self, shared: &SharedString) -> u32 {
        let read = self.binary.shared_strings();
        if self.shared.is_empty() {
            self.shared = read.iter().cloned().zip(0..).collect();
        }
        let new = (read.len() + self.new_shared.len()) as u32;
        let index = *self.shared.entry(shared.clone()).or_insert(new);
        if index == new {
            self.new_shared.push(shared.clone());
        }
        index
    }
}

impl ClassGroup {
    /// Creates a group for a class that the file does not have.
    fn new(type_id: u32, name: &str) -> Self {
        Self {
            chunk: 0,
            type_id,
            name: name.to_owned(),
            class: 0,
            format: 0,
            first: 0,
            rows: 0,
            props: Vec::new(),
            names: None,
            layout: std::cell::OnceCell::new(),
        }
    }
}

fn text_cell(text: &[u8]) -> Vec<u8> {
    let mut cell = (text.len() as u32).to_le_bytes().to_vec();
    cell.extend_from_slice(text);
    cell
}

/// Builds the content of a PROP chunk.
fn prop_chunk(type_id: u32, name: &str, ty: u8, payload: &[u8]) -> Vec<u8> {
    let mut content = Vec::with_capacity(payload.len() + name.len() + 9);
    content.extend_from_slice(&type_id.to_le_bytes());
    content.extend(text_cell(name.as_bytes()));
    content.push(ty);
    content.extend_from_slice(payload);
    content
}

/// Builds the content of an INST chunk.
fn inst_chunk(type_id: u32, class: &str, format: u8, numbers: &[i32], markers: &[u8]) -> Vec<u8> {
    let mut content = type_id.to_le_bytes().to_vec();
    content.extend(text_cell(class.as_bytes()));
    content.push(format);
    content.extend_from_slice(&(numbers.len() as u32).to_le_bytes());
    content.extend(bytes::encode_referents(numbers));
    content.extend_from_slice(markers);
    content
}
