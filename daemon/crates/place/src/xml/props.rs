//! Parses the elements in the content of a `<Properties>`, one for each stored property.
//!
//! [`super::value`] decodes their values.

use std::borrow::Cow;
use std::ops::Range;

use super::MarkupError;
use super::lexer::{self, MarkupKind, MarkupLexer};
use super::text;

/// A property element. Ranges are relative to the start of the given content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PropertyElement<'a> {
    /// The name of its type, such as `CoordinateFrame`; empty if it is not UTF-8.
    pub(super) tag: &'a str,
    /// The name of the property, unescaped; empty if the element has none.
    pub(super) name: Cow<'a, str>,
    /// The whole element, including its tags.
    pub(super) whole: Range<usize>,
    /// The range between the tags. For an element without an end tag, an empty range after it.
    pub(super) inside: Range<usize>,
}

/// Iterates over the elements of a content, in order. Stops at the end of the content, at an end
/// tag that closes an enclosing element, and after the first error.
#[derive(Debug)]
pub(super) struct ElementReader<'a> {
    bytes: &'a [u8],
    lexer: MarkupLexer<'a>,
    is_done: bool,
}

/// Returns the elements directly in a content.
pub(super) fn read_elements(content: &[u8]) -> ElementReader<'_> {
    ElementReader { bytes: content, lexer: MarkupLexer::new(content), is_done: false }
}

/// Returns the first element with this name attribute. Does not read beyond it.
pub(super) fn find_element<'a>(content: &'a [u8], name: &str) -> Option<PropertyElement<'a>> {
    read_elements(content).map_while(Result::ok).find(|element| element.name == name)
}

impl<'a> ElementReader<'a> {
    /// Returns the elements of a byte slice from an offset on.
    pub(super) fn starting_at(bytes: &'a [u8], at: usize) -> Self {
        let mut all = read_elements(bytes);
        all.lexer.set_position(at);
        all
    }

    /// Returns the current offset: the end of the last element, or the end of the content when
    /// done.
    pub(super) fn position(&self) -> usize {
        self.lexer.position()
    }

    fn advance(&mut self) -> Result<Option<PropertyElement<'a>>, MarkupError> {
        while let Some(markup) = self.lexer.next()? {
            match markup.kind {
                MarkupKind::Open { name, attributes, is_empty } => {
                    let (mut inside, mut end) = (markup.end..markup.end, markup.end);
                    if !is_empty {
                        let tag = self.lexer.skip_element(name.clone())?;
                        (inside.end, end) = (tag.start, tag.end);
                    }
                    let whole = markup.start..end;
                    return Ok(Some(self.make_element(name, attributes, whole, inside)));
                }
                MarkupKind::Close { .. } => {
                    self.lexer.set_position(markup.start);
                    return Ok(None);
                }
                MarkupKind::Literal(_) | MarkupKind::Comment | MarkupKind::Instruction => {}
            }
        }
        Ok(None)
    }

    fn make_element(
        &self,
        tag: Range<usize>,
        attributes: Range<usize>,
        whole: Range<usize>,
        inside: Range<usize>,
    ) -> PropertyElement<'a> {
        let attributes = &self.bytes[attributes];
        let name = lexer::attribute_range(attributes, b"name").map(|range| &attributes[range]);
        PropertyElement {
            tag: std::str::from_utf8(&self.bytes[tag]).unwrap_or_default(),
            name: text::attribute_value(name.unwrap_or_default()),
            whole,
            inside,
        }
    }
}

impl<'a> Iterator for ElementReader<'a> {
    type Item = Result<PropertyElement<'a>, MarkupError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let found = self.advance();
        self.is_done = !matches!(found, Ok(Some(_)));
        found.transpose()
    }
}
