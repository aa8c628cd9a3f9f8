//! A binary file as read: its chunks, an index of its tree, and property columns decoded on demand.
//!
//! The file that was read is never modified; [`mod@write`] builds a new one from it and the edits.

mod cell;
mod cell_read;
mod cell_write;
mod column;
mod column_conflict;
mod column_hash;
mod column_reader;
mod column_scan;
mod column_writer;
mod container;
mod content_edits;
mod layout;
mod lz4;
mod lz4_edit;
mod plain_column;
mod write;

pub(super) use self::column_hash::ClassRows;
pub(super) use self::column_reader::ColumnReader;
pub(super) use self::column_scan::{ColumnHasher, FileComparison};
pub(super) use self::plain_column::PlainValues;

#[cfg(test)]
mod tests;

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use rbx_dom_weak::Ustr;
use rbx_types::{Ref, SharedString, Variant};
use rustc_hash::{FxHashMap, FxHashSet};

use self::column::PropertyColumn;
use self::container::{ChunkSpan, ContainerError, FileHeader};
use self::layout::ty;
use super::bytes::{ByteReader, lossy_text};
use super::change::referenced_instance;
use super::codec::CodecError;
use super::property_layout::PropertyLayout;
use super::tree::{InstanceTree, NONE, ROOT, TreeBuilder};

/// Number of bytes of a PROP chunk that are unpacked first to identify the property.
const FRONT_SIZE: usize = 8 + 56;

#[derive(Debug, Clone)]
pub(super) struct BinaryFile {
    file: Arc<[u8]>,
    header: FileHeader,
    chunks: Vec<ChunkSpan>,
    groups: Vec<ClassGroup>,
    props: Vec<PropChunk>,
    /// The referent of each node; -1 for `game`, which has none.
    referents: Vec<i32>,
    nodes: NodeMap,
    shared: OnceCell<SharedStrings>,
    /// Parent links of instances that are not part of the tree; they are kept.
    detached_links: Vec<(i32, i32)>,
    /// Class numbers that PROP chunks use but no INST chunk defines. Their properties are kept.
    unknown_classes: FxHashSet<u32>,
    /// Referents that are referred to but that no instance has.
    dangling: OnceCell<FxHashSet<i32>>,
    /// The groups of each class, by class number of the scene.
    by_class: OnceCell<FxHashMap<u32, Vec<usize>>>,
    /// Cached results of [`Self::fixed_reason`].
    fixed_reasons: RefCell<FxHashMap<u32, Option<String>>>,
}

/// The table of strings that values share.
#[derive(Debug, Clone, Default)]
struct SharedStrings {
    strings: Vec<SharedString>,
    /// End of the strings in their chunk; None if there is no chunk or it is damaged.
    end: Option<usize>,
}

/// The instances of an INST chunk. They are the rows of its property columns and have consecutive
/// node numbers.
#[derive(Debug, Clone)]
struct ClassGroup {
    chunk: usize,
    type_id: u32,
    name: String,
    class: u32,
    /// 1 if a byte per instance marks it as a service.
    format: u8,
    /// The node number of its first instance.
    first: u32,
    rows: u32,
    /// Indices into [`BinaryFile::props`], in file order, without the name.
    props: Vec<u32>,
    names: Option<u32>,
    layout: OnceCell<PropertyLayout>,
}

#[derive(Debug, Clone)]
struct PropChunk {
    chunk: usize,
    group: u32,
    name: String,
    /// The type byte of its values; None if the chunk ends before it.
    ty: Option<u8>,
    column: OnceCell<Result<PropertyColumn, String>>,
}

/// Map from referents to nodes.
#[derive(Debug, Clone)]
enum NodeMap {
    Dense(Vec<u32>),
    Sparse(FxHashMap<i32, u32>),
}

impl NodeMap {
    /// Returns None if two instances share a referent, or one has the null referent -1.
    fn new(referents: &[i32]) -> Option<Self> {
        if referents.iter().skip(1).any(|it| *it == -1) {
            return None;
        }
        let most = 4 * referents.len() + 1024;
        let is_dense =
            referents.iter().skip(1).all(|it| usize::try_from(*it).is_ok_and(|it| it < most));
        let nodes = referents.iter().zip(0_u32..).skip(1);
        if is_dense {
            let highest = referents.iter().skip(1).copied().max().unwrap_or(0);
            let mut dense = vec![NONE; highest as usize + 1];
            for (referent, node) in nodes {
                let slot = dense.get_mut(*referent as usize)?;
                if *slot != NONE {
                    return None;
                }
                *slot = node;
            }
            return Some(Self::Dense(dense));
        }
        let mut sparse = FxHashMap::default();
        for (referent, node) in nodes {
            if sparse.insert(*referent, node).is_some() {
                return None;
            }
        }
        Some(Self::Sparse(sparse))
    }

    fn get(&self, referent: i32) -> Option<u32> {
        match self {
            Self::Dense(dense) => {
                let at = usize::try_from(referent).ok()?;
                dense.get(at).copied().filter(|node| *node != NONE)
            }
            Self::Sparse(sparse) => sparse.get(&referent).copied(),
        }
    }
}

impl From<ContainerError> for CodecError {
    fn from(error: ContainerError) -> Self {
        match error {
            ContainerError::CutOff => Self::CutOff,
            ContainerError::Damaged => Self::Damaged,
            ContainerError::Version(_) => Self::Read(error.to_string()),
            ContainerError::TooLarge => Self::Write(error.to_string()),
        }
    }
}

/// A file without instances: its header, an empty PRNT chunk, and END.
pub(super) const EMPTY: &[u8] = b"<roblox!\x89\xff\x0d\x0a\x1a\x0a\0\0\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    PRNT\0\0\0\0\x05\0\0\0\0\0\0\0\0\0\0\0\0\
    END\0\0\0\0\0\x09\0\0\0\0\0\0\0</roblox>";

impl BinaryFile {
    /// Reads the index of a file.
    ///
    /// # Errors
    /// The file is truncated or inconsistent.
    pub(super) fn open(file: Arc<[u8]>) -> Result<(Self, InstanceTree), CodecError> {
        let header = FileHeader::parse(&file)?;
        let chunks = container::read_chunks(&file)?;
        let mut binary = Self {
            file,
            header,
            chunks,
            groups: Vec::new(),
            props: Vec::new(),
            referents: vec![-1],
            nodes: NodeMap::Sparse(FxHashMap::default()),
            shared: OnceCell::new(),
            detached_links: Vec::new(),
            unknown_classes: FxHashSet::default(),
            dangling: OnceCell::new(),
            by_class: OnceCell::new(),
            fixed_reasons: RefCell::default(),
        };
        let mut builder = TreeBuilder::new(binary.max_instance_count());
        let mut ids = FxHashSet::default();
        for at in binary.chunks_named(*b"INST") {
            if !ids.insert(binary.read_group(at, &mut builder)?) {
                return Err(CodecError::Damaged);
            }
        }
        // `group_of` binary searches the groups by their first node.
        debug_assert!(binary.groups.is_sorted_by_key(|group| group.first));
        binary.nodes = NodeMap::new(&binary.referents).ok_or(CodecError::Damaged)?;
        binary.read_props(&mut builder)?;
        binary.read_parents(&mut builder)?;
        let tree = builder.finish().ok_or(CodecError::Damaged)?;
        Ok((binary, tree))
    }

    /// Returns how many instances the INST chunks have room for, at four bytes each. At most the
    /// number in the header.
    fn max_instance_count(&self) -> usize {
        let room: usize = self
            .chunks
            .iter()
            .filter(|chunk| chunk.name == *b"INST")
            .map(|chunk| chunk.size as usize / 4)
            .sum();
        room.min(self.header.instances as usize)
    }

    fn chunks_named(&self, name: [u8; 4]) -> Vec<usize> {
        let chunks = self.chunks.iter().enumerate();
        chunks.filter(|(_, chunk)| chunk.name == name).map(|(at, _)| at).collect()
    }

    /// Reads a class group and returns its number in the file.
    fn read_group(&mut self, chunk: usize, builder: &mut TreeBuilder) -> Result<u32, CodecError> {
        let content = container::unpack_chunk(&self.file, &self.chunks[chunk])?;
        let mut bytes = ByteReader(&content);
        let mut head = || {
            let type_id = bytes.read_u32()?;
            let name = lossy_text(bytes.read_text()?).into_owned();
            Some((type_id, name, bytes.read_byte()?, bytes.read_u32()?))
        };
        let (type_id, name, format, rows) = head().ok_or(CodecError::Damaged)?;
        let referents = bytes.read_referents(rows as usize).ok_or(CodecError::Damaged)?;
        let (class, called) = (builder.class_number(&name), builder.name(&name));
        let first = self.referents.len() as u32;
        for referent in referents {
            self.referents.push(referent);
            builder.add(class, called);
        }
        let (props, names, layout) = (Vec::new(), None, OnceCell::new());
        let group =
            ClassGroup { chunk, type_id, name, class, format, first, rows, props, names, layout };
        self.groups.push(group);
        Ok(type_id)
    }

    fn read_props(&mut self, builder: &mut TreeBuilder) -> Result<(), CodecError> {
        let groups: FxHashMap<u32, u32> =
            self.groups.iter().map(|group| group.type_id).zip(0..).collect();
        for chunk in self.chunks_named(*b"PROP") {
            let front = |n| container::unpack_front(&self.file, &self.chunks[chunk], n);
            let mut head = front(FRONT_SIZE)?;
            if let Some(len) = ByteReader(head.get(4..).unwrap_or_default()).read_u32()
                && len as usize > FRONT_SIZE - 9
                && head.len() == FRONT_SIZE
            {
                head = front(9_usize.saturating_add(len as usize))?;
            }
            let mut bytes = ByteReader(&head);
            let Some((type_id, name)) = bytes.read_u32().zip(bytes.read_text()) else {
                return Err(CodecError::Damaged);
            };
            let Some(group) = groups.get(&type_id).copied() else {
                // A property of a class that no INST chunk defines; it is kept.
                self.unknown_classes.insert(type_id);
                continue;
            };
            let name = lossy_text(name).into_owned();
            let (is_name, ty) = (name == "Name", bytes.read_byte());
            let at = self.props.len() as u32;
            self.props.push(PropChunk { chunk, group, name, ty, column: OnceCell::new() });
            if is_name {
                self.read_names(at, builder)?;
                if self.groups[group as usize].names.replace(at).is_some() {
                    return Err(CodecError::Damaged);
                }
            } else {
                self.groups[group as usize].props.push(at);
            }
        }
        Ok(())
    }

    fn read_names(&self, prop: u32, builder: &mut TreeBuilder) -> Result<(), CodecError> {
        let column = self.read_column(prop).map_err(|_| CodecError::Damaged)?;
        let group = &self.groups[self.props[prop as usize].group as usize];
        let mut last: Option<(&[u8], u32)> = None;
        for row in 0..group.rows {
            let text = column.text_at(row as usize).ok_or(CodecError::Damaged)?;
            // Consecutive instances often have the same name.
            if last.is_none_or(|(before, _)| before != text) {
                last = Some((text, builder.name(&lossy_text(text))));
            }
            if let Some((_, name)) = last {
                builder.rename(group.first + row, name);
            }
        }
        Ok(())
    }

    fn read_parents(&mut self, builder: &mut TreeBuilder) -> Result<(), CodecError> {
        for chunk in self.chunks_named(*b"PRNT") {
            let content = container::unpack_chunk(&self.file, &self.chunks[chunk])?;
            let links = read_links(&content).ok_or(CodecError::Damaged)?;
            builder.reserve_links(links.len());
            for (child, parent) in links {
                let up = if parent == -1 { Some(ROOT) } else { self.nodes.get(parent) };
                match (self.nodes.get(child), up) {
                    (Some(child), Some(up)) => builder.link(child, up),
                    _ => self.detached_links.push((child, parent)),
                }
            }
        }
        Ok(())
    }

    /// Returns the referent of an instance; None for `game`.
    pub(super) fn referent_of(&self, node: u32) -> Option<i32> {
        self.referents.get(node as usize).copied().filter(|_| node != ROOT)
    }

    /// Returns the instance with a referent.
    pub(super) fn node_of(&self, referent: i32) -> Option<u32> {
        self.nodes.get(referent)
    }

    /// Returns the highest referent of an instance; -1 if there are no instances.
    pub(super) fn highest_referent(&self) -> i32 {
        self.referents.iter().copied().max().unwrap_or(-1)
    }

    /// Whether an instance has this referent, or something refers to it.
    pub(super) fn is_taken(&self, referent: i32) -> bool {
        self.nodes.get(referent).is_some()
            || self.dangling.get_or_init(|| self.find_dangling()).contains(&referent)
    }

    fn find_dangling(&self) -> FxHashSet<i32> {
        let links = self.detached_links.iter().flat_map(|(child, parent)| [*child, *parent]);
        let mut found: FxHashSet<i32> = links.collect();
        for (at, prop) in (0..).zip(&self.props) {
            if matches!(prop.ty, Some(ty::REF | ty::CONTENT))
                && let Ok(column) = self.column_at(at)
            {
                found.extend((0..column.row_count()).filter_map(|row| column.target_at(row)));
            }
        }
        found.retain(|referent| self.nodes.get(*referent).is_none());
        found
    }

    fn group_of(&self, node: u32) -> Option<&ClassGroup> {
        let behind = self.groups.partition_point(|group| group.first <= node);
        let group = self.groups.get(behind.checked_sub(1)?)?;
        (node - group.first < group.rows).then_some(group)
    }

    fn column_at(&self, prop: u32) -> Result<&PropertyColumn, &str> {
        let Some(found) = self.props.get(prop as usize) else {
            return Err("it is not there");
        };
        found.column.get_or_init(|| self.read_column(prop)).as_ref().map_err(String::as_str)
    }

    fn read_column(&self, prop: u32) -> Result<PropertyColumn, String> {
        let prop = &self.props[prop as usize];
        let rows = self.groups[prop.group as usize].rows;
        let content = container::unpack_chunk(&self.file, &self.chunks[prop.chunk])
            .map_err(|error| error.to_string())?
            .into_owned();
        let mut bytes = ByteReader(&content);
        let offset = bytes.read_u32().and_then(|_| bytes.read_u32()).map(|len| 8 + len as usize);
        let offset = offset.filter(|offset| *offset <= content.len()).ok_or("it is cut off")?;
        PropertyColumn::parse(content, offset, rows as usize).map_err(|opaque| opaque.to_string())
    }

    fn layout_of<'a>(&'a self, group: &'a ClassGroup) -> &'a PropertyLayout {
        group.layout.get_or_init(|| {
            let names = group.props.iter().map(|at| self.props[*at as usize].name.as_str());
            PropertyLayout::from_names(&group.name, names)
        })
    }

    /// Returns the names of the properties that the file has for an instance, including hidden
    /// ones.
    pub(super) fn keys_of(&self, node: u32) -> &[Ustr] {
        self.group_of(node).map_or(&[], |group| self.layout_of(group).names())
    }

    /// Returns the value that the file has for a property of an instance.
    pub(super) fn value_of(&self, node: u32, key: Ustr) -> Option<Variant> {
        let group = self.group_of(node)?;
        let source = self.layout_of(group).get(key)?;
        let column = self.column_at(*group.props.get(source.at as usize)?).ok()?;
        let mut cell = Vec::new();
        column.append_cell((node - group.first) as usize, &mut cell);
        source.convert_value(cell::read_cell(column.type_byte(), &cell, self)?)
    }

    /// Visits all readable values that the file has for an instance, including those of hidden
    /// properties.
    pub(super) fn visit_values(&self, node: u32, visit: &mut dyn FnMut(Ustr, Variant)) {
        for key in self.keys_of(node) {
            if let Some(value) = self.value_of(node, *key) {
                visit(*key, value);
            }
        }
    }

    /// Returns the properties of an instance that can refer to another instance.
    pub(super) fn reference_keys(&self, node: u32) -> Vec<Ustr> {
        let Some(group) = self.group_of(node) else {
            return Vec::new();
        };
        let can_point =
            |prop: &u32| matches!(self.props[*prop as usize].ty, Some(ty::REF | ty::CONTENT));
        let pointing = (0..).zip(&group.props).filter(|(_, prop)| can_point(prop));
        pointing.flat_map(|(at, _)| self.layout_of(group).names_at(at)).collect()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.file
    }

    /// Returns the bytes of a string property; None if the file stores it in another type.
    pub(super) fn text_of(&self, node: u32, key: Ustr) -> Option<&[u8]> {
        let group = self.group_of(node)?;
        let source = self.layout_of(group).get(key)?;
        let column = self.column_at(*group.props.get(source.at as usize)?).ok()?;
        column.text_at((node - group.first) as usize)
    }

    fn shared_table(&self) -> &SharedStrings {
        self.shared.get_or_init(|| {
            let chunk = self.chunks_named(*b"SSTR").first().copied();
            chunk.map_or_else(SharedStrings::default, |at| self.read_shared(at).unwrap_or_default())
        })
    }

    fn shared_strings(&self) -> &[SharedString] {
        &self.shared_table().strings
    }

    fn read_shared(&self, chunk: usize) -> Option<SharedStrings> {
        let content = container::unpack_chunk(&self.file, &self.chunks[chunk]).ok()?;
        let mut bytes = ByteReader(&content);
        let (_, count) = bytes.read_u32().zip(bytes.read_u32())?;
        let mut strings = Vec::new();
        for _ in 0..count {
            bytes.take_bytes(16)?;
            strings.push(SharedString::new(bytes.read_text()?.to_vec()));
        }
        Some(SharedStrings { strings, end: Some(content.len() - bytes.0.len()) })
    }

    /// Whether values use indices of shared strings that the file does not have.
    fn has_missing_shared(&self) -> bool {
        let known = self.shared_strings().len();
        let has_more = |column: &PropertyColumn| {
            let mut cell = Vec::new();
            (0..column.row_count()).any(|row| {
                cell.clear();
                column.append_cell(row, &mut cell);
                let index = cell.first_chunk().map(|four| u32::from_be_bytes(*four));
                index.is_some_and(|index| index as usize >= known)
            })
        };
        (0..).zip(&self.props).any(|(at, prop)| {
            prop.ty == Some(ty::SHARED_STRING) && self.column_at(at).is_ok_and(has_more)
        })
    }

    /// Returns all references of the file as (holder, property, referenced instance).
    pub(super) fn references(&self) -> Vec<(u32, Ustr, u32)> {
        let mut found = Vec::new();
        for group in &self.groups {
            let layout = self.layout_of(group);
            for (at, prop) in (0..).zip(&group.props) {
                if !matches!(self.props[*prop as usize].ty, Some(ty::REF | ty::CONTENT)) {
                    continue;
                }
                let Ok(column) = self.column_at(*prop) else {
                    continue;
                };
                let rows = (0..group.rows).filter_map(|row| {
                    Some((group.first + row, self.pointed_node(column, row as usize)?))
                });
                let rows: Vec<_> = rows.collect();
                for key in layout.names_at(at) {
                    found.extend(rows.iter().map(|(node, to)| (*node, key, *to)));
                }
            }
        }
        found
    }

    /// Returns the instance that a row refers to.
    fn pointed_node(&self, column: &PropertyColumn, row: usize) -> Option<u32> {
        match column.type_byte() {
            ty::REF => self.nodes.get(column.reference_at(row)?),
            ty::CONTENT => {
                let mut cell = Vec::new();
                column.append_cell(row, &mut cell);
                referenced_instance(&cell::read_cell(ty::CONTENT, &cell, self)?)
            }
            _ => None,
        }
    }

    /// Returns user-readable descriptions of content that this module does not understand.
    pub(super) fn unsupported_items(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (at, prop) in (0..).zip(&self.props) {
            let class = &self.groups[prop.group as usize].name;
            if let Err(why) = self.column_at(at) {
                found.push(format!("{class}.{}: {why}", prop.name));
            }
        }
        for chunk in &self.chunks {
            if !matches!(&chunk.name, b"META" | b"SSTR" | b"INST" | b"PROP" | b"PRNT" | b"END\0") {
                let name = String::from_utf8_lossy(&chunk.name);
                found.push(format!("a part of the file named {:?}", name.trim_end_matches('\0')));
            }
        }
        found
    }

    /// Returns the reason why instances of a class cannot be created or deleted; None if they can.
    pub(super) fn fixed_reason(&self, class: u32) -> Option<String> {
        let known = self.fixed_reasons.borrow().get(&class).cloned();
        known.unwrap_or_else(|| {
            let why = self.find_fixed_reason(class);
            self.fixed_reasons.borrow_mut().insert(class, why.clone());
            why
        })
    }

    fn groups_of(&self, class: u32) -> impl Iterator<Item = &ClassGroup> {
        let by_class = self.by_class.get_or_init(|| {
            let mut by_class: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
            for (at, group) in self.groups.iter().enumerate() {
                by_class.entry(group.class).or_default().push(at);
            }
            by_class
        });
        by_class.get(&class).into_iter().flatten().map(|at| &self.groups[*at])
    }

    fn find_fixed_reason(&self, class: u32) -> Option<String> {
        let groups = self.groups_of(class);
        let mut props = groups.flat_map(|group| group.props.iter().chain(&group.names));
        props.find_map(|prop| {
            let why = self.column_at(*prop).err()?;
            Some(format!(
                "its property `{}` is not understood: {why}",
                self.props[*prop as usize].name
            ))
        })
    }
}

impl cell::ReadLinks for BinaryFile {
    fn instance_of(&self, referent: i32) -> Ref {
        self.nodes.get(referent).map_or_else(Ref::none, super::reference_to)
    }

    fn shared_string(&self, index: u32) -> Option<&SharedString> {
        self.shared_strings().get(index as usize)
    }
}

/// Reads the links in the content of a PRNT chunk: the referents of each child and of its parent.
fn read_links(content: &[u8]) -> Option<impl ExactSizeIterator<Item = (i32, i32)> + use<'_>> {
    let mut bytes = ByteReader(content);
    let (0, count) = (bytes.read_byte()?, bytes.read_u32()? as usize) else {
        return None;
    };
    Some(bytes.read_referents(count)?.zip(bytes.read_referents(count)?))
}
