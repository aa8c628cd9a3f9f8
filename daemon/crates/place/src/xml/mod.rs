//! An XML file as read: the byte ranges of its items, and properties that are decoded on demand.
//!
//! The file that was read is never modified; [`mod@write`] builds a new one from it and the edits, so
//! that all unaffected bytes stay as they are.

mod components;
mod lexer;
mod props;
mod scan;
mod shared_strings;
mod text;
mod value;
mod write;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashTable;
use rbx_dom_weak::Ustr;
use rbx_types::{Ref, Variant};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use self::props::PropertyElement;
use self::scan::{DocumentInfo, ScanEvent};
use super::codec::CodecError;
use super::property_layout::{HIDDEN, PropertyLayout, ValueSource};
use super::reference_to;
use super::tree::{InstanceTree, ROOT, TreeBuilder};

pub(super) use self::text::check_text;

/// A position at which the XML is malformed or an element is not closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{why} (at byte {offset})")]
pub(super) struct MarkupError {
    /// Offset from the start of the given bytes.
    pub(super) offset: usize,
    /// The problem, as a sentence without a full stop.
    pub(super) why: &'static str,
}

/// A file without instances.
pub(super) const EMPTY: &str = "<roblox version=\"4\">\n</roblox>\n";

/// The property that holds the name of an item.
const NAME: &str = "Name";

#[derive(Debug, Clone)]
pub(super) struct XmlFile {
    file: Arc<[u8]>,
    document: DocumentInfo,
    /// The span of each node; that of `game` is the root element.
    spans: Vec<ItemSpan>,
    referents: OnceCell<ReferentIndex>,
    shared: OnceCell<FxHashMap<String, Range<usize>>>,
    layouts: RefCell<FxHashMap<u64, Arc<PropertyLayout>>>,
    /// The element ranges of the last queried item with long content.
    last_long_item: RefCell<(u32, Arc<ElementRanges>)>,
    /// Referents that are referred to but that no item has.
    dangling: OnceCell<FxHashSet<String>>,
}

/// Gets a property, the bytes of its element, and a function that reads its value.
type ElementVisitor<'a> = dyn FnMut(Ustr, &[u8], &dyn Fn() -> Option<Variant>) + 'a;

/// The ranges of an item's property elements in its content, with the sources of the properties.
type ElementRanges = FxHashMap<Ustr, (ValueSource, Range<usize>)>;

/// Content size in bytes from which the element ranges of an item are cached.
const LONG_CONTENT: usize = 8 * 1024;

/// The position of an item, in bytes of the file.
#[derive(Debug, Clone, Copy, Default)]
struct ItemSpan {
    start: u32,
    /// End of its start tag.
    open_end: u32,
    /// Content of its `<Properties>` element; (0, 0) if there is none.
    props: (u32, u32),
    /// The whole `<Properties>` element, including its tags.
    whole: (u32, u32),
    /// Start of its end tag; the same as `end` if it has none.
    close: u32,
    end: u32,
    /// The raw value of its `referent` attribute.
    referent: (u32, u32),
}

/// Items by their referents.
#[derive(Debug, Clone, Default)]
struct ReferentIndex {
    table: HashTable<u32>,
    /// The items that share their referent with another item.
    duplicates: FxHashSet<u32>,
    /// The highest numeric referent.
    highest: Option<u32>,
    /// Whether all referents are plain numbers.
    is_plain: bool,
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(bytes)
}

fn to_usize_range(span: (u32, u32)) -> Range<usize> {
    span.0 as usize..span.1 as usize
}

impl XmlFile {
    /// Reads the index of a file.
    ///
    /// # Errors
    /// The file is not well-formed, or of a kind that is not supported.
    pub(super) fn open(file: Arc<[u8]>) -> Result<(Self, InstanceTree), CodecError> {
        let mut builder = TreeBuilder::new(0);
        let mut spans = vec![ItemSpan::default()];
        let document = scan::scan_file(&file, &mut |found| match found {
            ScanEvent::Item(item) => {
                let (class, name) = (builder.class_number(&item.class), builder.name(&item.class));
                let node = builder.add(class, name);
                builder.link(node, item.parent.map_or(ROOT, |parent| parent + 1));
                let referent = item.referent.map_or((0, 0), |range| (range.start, range.end));
                let (start, open_end) = (item.start, item.open_end);
                spans.push(ItemSpan { start, open_end, referent, ..ItemSpan::default() });
            }
            ScanEvent::Properties(properties) => {
                let node = properties.item + 1;
                if let Some(name) = properties.name {
                    let name = builder.name(&name);
                    builder.rename(node, name);
                }
                if let Some(span) = spans.get_mut(node as usize) {
                    span.whole = (properties.whole.start, properties.whole.end);
                    span.props = properties.content.map_or((0, 0), |it| (it.start, it.end));
                }
            }
            ScanEvent::End { item, close, end } => {
                if let Some(span) = spans.get_mut(item as usize + 1) {
                    (span.close, span.end) = (close, end);
                }
            }
        })
        .map_err(|error| CodecError::Read(error.to_string()))?;
        spans[0].open_end = document.open_end;
        (spans[0].close, spans[0].end) = (document.close, document.close);
        let xml = Self {
            file,
            document,
            spans,
            referents: OnceCell::new(),
            shared: OnceCell::new(),
            layouts: RefCell::default(),
            last_long_item: RefCell::default(),
            dangling: OnceCell::new(),
        };
        // `reference_holders` binary searches the spans by their start.
        debug_assert!(xml.spans.is_sorted_by_key(|span| span.start));
        let tree = builder.finish().ok_or(CodecError::Damaged)?;
        Ok((xml, tree))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.file
    }

    fn span_of(&self, node: u32) -> ItemSpan {
        self.spans.get(node as usize).copied().unwrap_or_default()
    }

    fn slice(&self, range: Range<usize>) -> &[u8] {
        self.file.get(range).unwrap_or_default()
    }

    /// Returns the content of an item's `<Properties>` element.
    fn properties_content(&self, node: u32) -> &[u8] {
        self.slice(to_usize_range(self.span_of(node).props))
    }

    fn class_of(&self, node: u32) -> Cow<'_, str> {
        let span = self.span_of(node);
        let tag = self.slice(span.start as usize..span.open_end as usize);
        let attributes = tag.strip_prefix(b"<Item").unwrap_or_default();
        let class = lexer::attribute_range(attributes, b"class").map(|range| &attributes[range]);
        text::attribute_value(class.unwrap_or_default())
    }

    /// Returns an item's property elements, and the layout that maps them to properties.
    fn elements_of(&self, node: u32) -> (Vec<PropertyElement<'_>>, Arc<PropertyLayout>) {
        let elements: Vec<_> =
            props::read_elements(self.properties_content(node)).map_while(Result::ok).collect();
        // Items of a class mostly have the same properties in the same order, so layouts are
        // cached.
        let class = self.class_of(node);
        let mut hasher = FxHasher::default();
        class.hash(&mut hasher);
        for element in &elements {
            element.name.hash(&mut hasher);
        }
        let key = hasher.finish();
        let known = self.layouts.borrow().get(&key).cloned();
        let layout = known.unwrap_or_else(|| {
            let layout = Arc::new(PropertyLayout::from_names(
                &class,
                elements.iter().map(|it| it.name.as_ref()),
            ));
            self.layouts.borrow_mut().insert(key, Arc::clone(&layout));
            layout
        });
        (elements, layout)
    }

    fn read_element(&self, node: u32, element: &PropertyElement<'_>) -> Option<Variant> {
        self.read_at(node, element.whole.clone())
    }

    fn read_at(&self, node: u32, whole: Range<usize>) -> Option<Variant> {
        let element = self.properties_content(node).get(whole)?;
        value::read_value(element, &|key| self.shared_string(key), &|id| self.instance_of(id))
    }

    fn instance_of(&self, id: &str) -> Ref {
        self.node_of(id).map_or_else(Ref::none, reference_to)
    }

    fn shared_strings(&self) -> &FxHashMap<String, Range<usize>> {
        self.shared.get_or_init(|| {
            let range = self.document.shared.clone().unwrap_or_default();
            let (start, content) =
                (range.start as usize, self.slice(range.start as usize..range.end as usize));
            let entry = |entry: shared_strings::SharedEntry<'_>| {
                let text = start + entry.text.start..start + entry.text.end;
                (entry.key.into_owned(), text)
            };
            shared_strings::read_shared(content).map(entry).collect()
        })
    }

    fn shared_string(&self, key: &str) -> Option<Vec<u8>> {
        shared_strings::decode_shared(self.slice(self.shared_strings().get(key)?.clone()))
    }

    /// Returns the names of the properties that the file has for an instance, including hidden
    /// ones.
    pub(super) fn keys_of(&self, node: u32) -> Vec<Ustr> {
        let (elements, layout) = self.elements_of(node);
        let is_known = |key: &Ustr| {
            let element = layout.get(*key).and_then(|source| elements.get(source.at as usize));
            element.is_some_and(|element| self.read_element(node, element).is_some())
        };
        let is_name = |key: &Ustr| key.as_str() == NAME;
        layout.names().iter().copied().filter(|key| !is_name(key) && is_known(key)).collect()
    }

    /// Returns the value that the file has for a property of an instance.
    pub(super) fn value_of(&self, node: u32, key: Ustr) -> Option<Variant> {
        let (source, whole) = self.locate_property(node, key).filter(|_| key.as_str() != NAME)?;
        source.convert_value(self.read_at(node, whole)?)
    }

    /// Returns the values of several properties of an instance, parsing its item only once.
    pub(super) fn values_of<const N: usize>(
        &self,
        node: u32,
        keys: [Ustr; N],
    ) -> [Option<Variant>; N] {
        let (elements, layout) = self.elements_of(node);
        keys.map(|key| {
            let source = layout.get(key)?;
            source.convert_value(self.read_element(node, elements.get(source.at as usize)?)?)
        })
    }

    /// Returns the source of a property, and the range of its element in the item's content.
    fn locate_property(&self, node: u32, key: Ustr) -> Option<(ValueSource, Range<usize>)> {
        if self.properties_content(node).len() < LONG_CONTENT {
            let (elements, layout) = self.elements_of(node);
            let source = layout.get(key)?;
            return Some((*source, elements.get(source.at as usize)?.whole.clone()));
        }
        if self.last_long_item.borrow().0 != node {
            let (elements, layout) = self.elements_of(node);
            let place = |key: &Ustr| {
                let source = layout.get(*key)?;
                Some((*key, (*source, elements.get(source.at as usize)?.whole.clone())))
            };
            let places = layout.names().iter().filter_map(place).collect();
            *self.last_long_item.borrow_mut() = (node, Arc::new(places));
        }
        self.last_long_item.borrow().1.get(&key).cloned()
    }

    /// Visits all readable values that the file has for an instance, except those of hidden
    /// properties.
    pub(super) fn visit_values(&self, node: u32, visit: &mut dyn FnMut(Ustr, Variant)) {
        let (elements, layout) = self.elements_of(node);
        for key in layout.names().iter().filter(|key| key.as_str() != NAME) {
            let source = layout.get(*key);
            let value = source.and_then(|source| {
                source.convert_value(self.read_element(node, elements.get(source.at as usize)?)?)
            });
            if let Some(value) = value.filter(|_| !key.starts_with(HIDDEN)) {
                visit(*key, value);
            }
        }
    }

    /// Visits what the file stores for the properties of an instance, except hidden ones: the bytes
    /// of an element, and a function that reads the value.
    pub(super) fn visit_elements(&self, node: u32, visit: &mut ElementVisitor<'_>) {
        let (elements, layout) = self.elements_of(node);
        let content = self.properties_content(node);
        let is_shown = |key: &&Ustr| key.as_str() != NAME && !key.starts_with(HIDDEN);
        for key in layout.names().iter().filter(is_shown) {
            let source = layout.get(*key);
            let found = source.and_then(|it| Some((it, elements.get(it.at as usize)?)));
            let Some((source, element)) = found else { continue };
            let read = || source.convert_value(self.read_element(node, element)?);
            visit(*key, content.get(element.whole.clone()).unwrap_or_default(), &read);
        }
    }

    /// Returns the text that the file has for a string property.
    pub(super) fn text_of(&self, node: u32, key: Ustr) -> Option<Cow<'_, str>> {
        let (_, whole) = self.locate_property(node, key)?;
        let content = self.properties_content(node).get(whole)?;
        let element = props::read_elements(content).next()?.ok()?;
        let is_text = matches!(element.tag, "string" | "ProtectedString");
        is_text.then(|| text::decode_text(&content[element.inside]))
    }

    /// Returns the properties of an instance that can refer to another instance.
    pub(super) fn reference_keys(&self, node: u32) -> Vec<Ustr> {
        let (elements, layout) = self.elements_of(node);
        let can_point = |element: &PropertyElement<'_>| matches!(element.tag, "Ref" | "Content");
        let pointing = (0..).zip(&elements).filter(|(_, element)| can_point(element));
        pointing.flat_map(|(at, _)| layout.names_at(at).collect::<Vec<_>>()).collect()
    }

    /// Returns the items whose properties contain a reference.
    fn reference_holders(&self) -> Vec<u32> {
        let mut found = Vec::new();
        for at in memchr::memmem::find_iter(&self.file, b"<Ref") {
            // The properties of an item precede its children, so the last item that starts before
            // is the one.
            let behind = self.spans.partition_point(|span| (span.start as usize) < at);
            let node = behind.saturating_sub(1) as u32;
            if to_usize_range(self.span_of(node).props).contains(&at) && found.last() != Some(&node)
            {
                found.push(node);
            }
        }
        found
    }

    /// Returns all references of the file as (holder, property, referenced instance).
    pub(super) fn references(&self) -> Vec<(u32, Ustr, u32)> {
        let mut found = Vec::new();
        for node in self.reference_holders() {
            for key in self.reference_keys(node) {
                let to =
                    self.value_of(node, key).as_ref().and_then(super::change::referenced_instance);
                found.extend(to.map(|to| (node, key, to)));
            }
        }
        found
    }

    /// Whether an item has this referent, or something refers to it.
    pub(super) fn is_taken(&self, id: &str) -> bool {
        self.node_of(id).is_some()
            || self.dangling.get_or_init(|| self.find_dangling()).contains(id)
    }

    fn find_dangling(&self) -> FxHashSet<String> {
        let mut found = FxHashSet::default();
        for node in self.reference_holders() {
            let content = self.properties_content(node);
            for element in props::read_elements(content).map_while(Result::ok) {
                if matches!(element.tag, "Ref" | "Content") {
                    // Content other than plain text is dangling too, because it is not a referent
                    // of any item.
                    found.insert(text::decode_text(&content[element.inside]).into_owned());
                }
            }
        }
        found.retain(|id| self.node_of(id).is_none());
        found
    }

    /// Returns the referent of an item; empty if it has none.
    fn referent_of(&self, node: u32) -> Cow<'_, str> {
        text::attribute_value(self.raw_referent(node))
    }

    fn raw_referent(&self, node: u32) -> &[u8] {
        self.slice(to_usize_range(self.span_of(node).referent))
    }

    fn referent_index(&self) -> &ReferentIndex {
        self.referents.get_or_init(|| {
            let mut ids = ReferentIndex { is_plain: true, ..ReferentIndex::default() };
            for node in 1..self.spans.len() as u32 {
                let referent = self.referent_of(node);
                if referent.is_empty() {
                    continue;
                }
                let number = parse_referent_number(&referent);
                ids.highest = ids.highest.max(number.map(|(number, _)| number));
                ids.is_plain &= number.is_some_and(|(_, is_plain)| is_plain);
                let entry = ids.table.entry(
                    hash_bytes(referent.as_bytes()),
                    |other| self.referent_of(*other) == referent,
                    |other| hash_bytes(self.referent_of(*other).as_bytes()),
                );
                let first = *entry.or_insert(node).get();
                if first != node {
                    ids.duplicates.extend([first, node]);
                }
            }
            ids
        })
    }

    /// Returns the referent of an instance; None if it has none or shares it with another item.
    pub(super) fn id_of(&self, node: u32) -> Option<Cow<'_, str>> {
        let referent = self.referent_of(node);
        // `#` marks the position of an item without a referent.
        let is_name = !referent.is_empty() && !referent.starts_with('#');
        (is_name && !self.referent_index().duplicates.contains(&node)).then_some(referent)
    }

    /// Returns the instance with a referent. If several items share it, references mean the first.
    pub(super) fn node_of(&self, id: &str) -> Option<u32> {
        let is_it = |node: &u32| self.referent_of(*node) == id;
        self.referent_index().table.find(hash_bytes(id.as_bytes()), is_it).copied()
    }

    /// Returns the first number for the referents of new instances.
    pub(super) fn next_number(&self) -> u32 {
        self.referent_index().highest.map_or(0, super::ids::next_number)
    }

    /// Formats a number as a referent of the file.
    pub(super) fn id_of_number(&self, number: u32) -> String {
        if self.referent_index().is_plain {
            number.to_string()
        } else {
            format!("RBX{number:032X}")
        }
    }

    /// Returns user-readable descriptions of content that this module does not understand.
    pub(super) fn unsupported_items(&self) -> Vec<String> {
        let (mut found, mut known) = (Vec::new(), FxHashSet::default());
        for node in 1..self.spans.len() as u32 {
            for element in props::read_elements(self.properties_content(node)).map_while(Result::ok)
            {
                if self.read_element(node, &element).is_none() {
                    let class = self.class_of(node);
                    let description =
                        format!("{class}.{}: a value of type {}", element.name, element.tag);
                    if known.insert(description.clone()) {
                        found.push(description);
                    }
                }
            }
        }
        found
    }
}

/// Parses a referent of the form that [`XmlFile::id_of_number`] makes. Returns its number, and
/// whether it is a plain number.
fn parse_referent_number(text: &str) -> Option<(u32, bool)> {
    if let Ok(number) = text.parse() {
        return Some((number, true));
    }
    let hex = text.strip_prefix("RBX").filter(|hex| hex.len() == 32)?;
    u128::from_str_radix(hex, 16).ok().and_then(|it| u32::try_from(it).ok()).map(|it| (it, false))
}
