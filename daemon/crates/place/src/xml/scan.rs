//! Indexes a file in one pass: the position of each item and of its properties.
//!
//! The scan copies nothing and keeps only the open items, so callers can fill compact arrays from a
//! file of any size and depth. quick-xml reads the structure. [`super::lexer`] skips the contents
//! of elements that are not items, because it accepts invalid UTF-8 and any property type. Only
//! names are decoded.

use std::borrow::Cow;
use std::io::BufRead;
use std::ops::Range;

use quick_xml::Reader;
use quick_xml::events::{BytesDecl, Event};

use super::lexer::{self, MarkupLexer};
use super::props::ElementReader;
use super::{MarkupError, text};

/// The reason why a file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum XmlError {
    /// The file is too large for 32-bit offsets.
    #[error("it has 4 GB or more; an XML file that large cannot be edited")]
    TooLarge,
    /// The file is not UTF-8, the only supported encoding.
    #[error("its encoding is {0}; save it as UTF-8")]
    Encoding(String),
    /// A position at which the file is invalid.
    #[error("{why} (byte {offset}, line {line})")]
    At {
        why: String,
        /// Byte offset in the file, from 0.
        offset: usize,
        /// The line number, from 1.
        line: usize,
    },
}

/// An event of the scan, in file order. Items are numbered by their start tags, from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScanEvent<'a> {
    /// The start of an item. Its number is one more than that of the previous item.
    Item(ItemStart<'a>),
    /// The first properties of an open item.
    Properties(ItemProperties<'a>),
    /// The end of an open item.
    End {
        item: u32,
        /// Start of its end tag; the end of the item if it has none.
        close: u32,
        end: u32,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ItemStart<'a> {
    /// The number of the enclosing item.
    pub(super) parent: Option<u32>,
    pub(super) class: Cow<'a, str>,
    /// Range of the raw value of the `referent` attribute.
    pub(super) referent: Option<Range<u32>>,
    /// Offset of the start tag.
    pub(super) start: u32,
    /// Offset after the start tag.
    pub(super) open_end: u32,
    /// Whether the item consists only of its start tag.
    pub(super) self_closing: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ItemProperties<'a> {
    pub(super) item: u32,
    /// The range between the tags; None for `<Properties/>`.
    pub(super) content: Option<Range<u32>>,
    /// The whole element, including its tags.
    pub(super) whole: Range<u32>,
    /// The text of the first property named `Name`, of any type.
    pub(super) name: Option<Cow<'a, str>>,
}

/// The facts about a file apart from its items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentInfo {
    /// The number of items.
    pub(super) items: u32,
    /// Offset after the start tag of the root.
    pub(super) open_end: u32,
    /// Offset of the end tag of the root.
    pub(super) close: u32,
    /// Content of the first `<SharedStrings>`; None if there is none or it is `<SharedStrings/>`.
    pub(super) shared: Option<Range<u32>>,
    /// The `version` attribute of the root; only `4` is accepted.
    pub(super) version: String,
}

/// Scans a file once and reports what it finds.
///
/// # Errors
/// The file is too large, in another encoding, or not well-formed.
pub(super) fn scan_file<'a>(
    file: &'a [u8],
    visit: &mut impl FnMut(ScanEvent<'a>),
) -> Result<DocumentInfo, XmlError> {
    if u32::try_from(file.len()).is_err() {
        return Err(XmlError::TooLarge);
    }
    let base = check_mark(file)?;
    let reader = Reader::from_reader(&file[base..]);
    let scanner = FileScanner { file, base, reader, open: Vec::new(), root: None, visit };
    scanner.run()
}

/// Returns the length of the byte order mark at the start of the file.
fn check_mark(file: &[u8]) -> Result<usize, XmlError> {
    match file {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'<', 0, ..] | [0, b'<', ..] => {
            Err(XmlError::Encoding("UTF-16".to_owned()))
        }
        [0xef, 0xbb, 0xbf, ..] => Ok(3),
        _ => Ok(0),
    }
}

/// An item that is not closed yet.
struct OpenItem {
    item: u32,
    has_properties: bool,
    has_items: bool,
}

/// A tag and the range of its attributes.
struct TagSpan {
    start: usize,
    end: usize,
    attributes: Range<usize>,
    is_empty: bool,
}

struct FileScanner<'a, 'v, V> {
    file: &'a [u8],
    /// Offset in the file at which the reader began.
    base: usize,
    reader: Reader<&'a [u8]>,
    open: Vec<OpenItem>,
    root: Option<DocumentInfo>,
    visit: &'v mut V,
}

impl<'a, V: FnMut(ScanEvent<'a>)> FileScanner<'a, '_, V> {
    fn run(mut self) -> Result<DocumentInfo, XmlError> {
        loop {
            let start = self.position();
            let event = self.next_event()?;
            match event {
                Event::Start(tag) => self.enter_element(start, tag.name().0, false)?,
                Event::Empty(tag) => self.enter_element(start, tag.name().0, true)?,
                Event::End(_) => {
                    if let Some(document) = self.leave_element(start) {
                        return Ok(document);
                    }
                }
                Event::Decl(declaration) => check_encoding(&declaration)?,
                Event::DocType(text) if text.contains('[') => {
                    return Err(self.error_at("it declares entities of its own", start));
                }
                Event::Eof => return Err(self.truncated_error(start)),
                _ => {}
            }
        }
    }

    fn next_event(&mut self) -> Result<Event<'a>, XmlError> {
        self.reader.read_event().map_err(|error| {
            let offset = self.base + self.reader.error_position() as usize;
            // The reader does not report the position of invalid UTF-8.
            let offset = if offset == self.base { self.position() } else { offset };
            xml_error(self.file, &error.to_string(), offset)
        })
    }

    fn position(&self) -> usize {
        self.base + self.reader.buffer_position() as usize
    }

    fn error_at(&self, why: &str, offset: usize) -> XmlError {
        xml_error(self.file, why, offset)
    }

    fn markup_error(&self, broken: MarkupError) -> XmlError {
        xml_error(self.file, broken.why, broken.offset)
    }

    fn truncated_error(&self, offset: usize) -> XmlError {
        let why = match (&self.root, self.open.last()) {
            (None, _) => "it has no `<roblox`",
            (Some(_), None) => "the file ends before `</roblox>`",
            (Some(_), Some(_)) => "the file ends before an `</Item>`",
        };
        self.error_at(why, offset)
    }

    fn enter_element(&mut self, start: usize, name: &str, is_empty: bool) -> Result<(), XmlError> {
        let end = self.position();
        let attributes = start + 1 + name.len()..end - 1 - usize::from(is_empty);
        let tag = TagSpan { start, end, attributes, is_empty };
        if self.root.is_none() {
            return self.enter_root(name, &tag);
        }
        let lacks_properties = self.open.last().is_some_and(|item| !item.has_properties);
        match name {
            "Item" => self.enter_item(&tag),
            "Properties" if lacks_properties => self.enter_properties(&tag),
            "SharedStrings" if self.open.is_empty() => self.enter_shared_strings(&tag),
            _ => self.skip_element(&tag).map(|_| ()),
        }
    }

    fn find_attribute(&self, tag: &TagSpan, name: &str) -> Option<Range<usize>> {
        let found = lexer::attribute_range(&self.file[tag.attributes.clone()], name.as_bytes())?;
        Some(tag.attributes.start + found.start..tag.attributes.start + found.end)
    }

    fn enter_root(&mut self, name: &str, tag: &TagSpan) -> Result<(), XmlError> {
        if name != "roblox" {
            let why = format!("its root is `<{name}>`, and not `<roblox>`");
            return Err(self.error_at(&why, tag.start));
        }
        let version = self.find_attribute(tag, "version").map(|range| &self.file[range]);
        match version.map(text::attribute_value) {
            Some(version) if version == "4" && !tag.is_empty => {
                let (open_end, version) = (tag.end as u32, version.into_owned());
                self.root =
                    Some(DocumentInfo { items: 0, open_end, close: 0, shared: None, version });
                Ok(())
            }
            Some(version) if version == "4" => {
                Err(self.error_at("its root has no `</roblox>`", tag.start))
            }
            Some(version) => {
                let why = format!("its version is {version:?}; only version 4 can be read");
                Err(self.error_at(&why, tag.start))
            }
            None => Err(self.error_at("its root does not tell the version", tag.start)),
        }
    }

    fn enter_item(&mut self, tag: &TagSpan) -> Result<(), XmlError> {
        let Some(class) = self.find_attribute(tag, "class") else {
            return Err(self.error_at("an item does not tell its class", tag.start));
        };
        let number = self.root.as_ref().map_or(0, |root| root.items);
        if let Some(open) = self.open.last_mut() {
            open.has_items = true;
        }
        let referent = self.find_attribute(tag, "referent").map(to_u32_range);
        (self.visit)(ScanEvent::Item(ItemStart {
            parent: self.open.last().map(|open| open.item),
            class: text::attribute_value(&self.file[class]),
            referent,
            start: tag.start as u32,
            open_end: tag.end as u32,
            self_closing: tag.is_empty,
        }));
        if let Some(root) = &mut self.root {
            root.items += 1;
        }
        if tag.is_empty {
            let end = tag.end as u32;
            (self.visit)(ScanEvent::End { item: number, close: end, end });
        } else {
            self.open.push(OpenItem { item: number, has_properties: false, has_items: false });
        }
        Ok(())
    }

    fn enter_properties(&mut self, tag: &TagSpan) -> Result<(), XmlError> {
        if self.open.last().is_some_and(|open| open.has_items) {
            return Err(
                self.error_at("the properties of an item come after its children", tag.start)
            );
        }
        let (mut name, mut content) = (None, None);
        if !tag.is_empty {
            let mut elements = ElementReader::starting_at(self.file, tag.end);
            for element in &mut elements {
                let element = element.map_err(|broken| self.markup_error(broken))?;
                if name.is_none() && element.name == "Name" {
                    name = Some(text::decode_text(&self.file[element.inside]));
                }
            }
            content = Some(to_u32_range(tag.end..elements.position()));
            self.jump_to_end(tag, elements.position())?;
        }
        let whole = to_u32_range(tag.start..self.position());
        if let Some(open) = self.open.last_mut() {
            open.has_properties = true;
            (self.visit)(ScanEvent::Properties(ItemProperties {
                item: open.item,
                content,
                whole,
                name,
            }));
        }
        Ok(())
    }

    fn enter_shared_strings(&mut self, tag: &TagSpan) -> Result<(), XmlError> {
        let content = self.skip_element(tag)?.map(to_u32_range);
        if let Some(root) = &mut self.root {
            root.shared = root.shared.take().or(content);
        }
        Ok(())
    }

    /// Skips an element that was just opened, and returns the range of its content.
    fn skip_element(&mut self, tag: &TagSpan) -> Result<Option<Range<usize>>, XmlError> {
        if tag.is_empty {
            return Ok(None);
        }
        let mut lexer = MarkupLexer::new(self.file);
        lexer.set_position(tag.end);
        let end = lexer.skip_content().map_err(|broken| self.markup_error(broken))?;
        self.jump_to_end(tag, end)?;
        Ok(Some(tag.end..end))
    }

    /// Moves the reader to an end tag, which it matches with the start tag.
    fn jump_to_end(&mut self, tag: &TagSpan, to: usize) -> Result<(), XmlError> {
        self.reader.stream().consume(to - tag.end);
        match self.next_event()? {
            Event::End(_) => Ok(()),
            _ => Err(self.error_at("an element is never closed", tag.start)),
        }
    }

    /// Closes an item, or the root. Closing the root completes the document info.
    fn leave_element(&mut self, start: usize) -> Option<DocumentInfo> {
        let end = self.position() as u32;
        if let Some(open) = self.open.pop() {
            (self.visit)(ScanEvent::End { item: open.item, close: start as u32, end });
            return None;
        }
        self.root.take().map(|root| DocumentInfo { close: start as u32, ..root })
    }
}

fn check_encoding(declaration: &BytesDecl<'_>) -> Result<(), XmlError> {
    match declaration.encoding() {
        Some(Ok(name)) if !name.eq_ignore_ascii_case("utf-8") => {
            Err(XmlError::Encoding(name.into_owned()))
        }
        _ => Ok(()),
    }
}

fn to_u32_range(range: Range<usize>) -> Range<u32> {
    range.start as u32..range.end as u32
}

fn xml_error(file: &[u8], why: &str, offset: usize) -> XmlError {
    let offset = offset.min(file.len());
    let line = 1 + memchr::memchr_iter(b'\n', &file[..offset]).count();
    XmlError::At { why: why.to_owned(), offset, line }
}
