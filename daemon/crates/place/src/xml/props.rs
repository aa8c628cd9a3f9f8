//! The elements in the content of a `<Properties>`: one for each property that an item stores.
//!
//! What a property means and how its value is read is left to [`super::value`].

use std::borrow::Cow;
use std::ops::Range;

use super::MarkupError;
use super::lexer::{self, MarkupKind, MarkupLexer};
use super::text;

/// The element of a property. Ranges count from the start of the content that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PropertyElement<'a> {
    /// The name of its type, such as `CoordinateFrame`; empty where it is not UTF-8.
    pub(super) tag: &'a str,
    /// The name of the property, without escapes; empty where the element has none.
    pub(super) name: Cow<'a, str>,
    /// From the start tag to behind the end tag.
    pub(super) whole: Range<usize>,
    /// Between the tags. Of an element without an end tag: nothing, behind it.
    pub(super) inside: Range<usize>,
}

/// The elements of a content, in order. It ends with the content, at an end tag that closes what is
/// around it, and after the first place that is broken.
#[derive(Debug)]
pub(super) struct ElementReader<'a> {
    bytes: &'a [u8],
    lexer: MarkupLexer<'a>,
    is_done: bool,
}

/// The elements that stand directly in a content.
pub(super) fn read_elements(content: &[u8]) -> ElementReader<'_> {
    ElementReader { bytes: content, lexer: MarkupLexer::new(content), is_done: false }
}

/// The first element with this name attribute. What stands behind it is not looked at.
pub(super) fn find_element<'a>(content: &'a [u8], name: &str) -> Option<PropertyElement<'a>> {
    read_elements(content).map_while(Result::ok).find(|element| element.name == name)
}

impl<'a> ElementReader<'a> {
    /// The elements from somewhere within some bytes.
    pub(super) fn starting_at(bytes: &'a [u8], at: usize) -> Self {
        let mut all = read_elements(bytes);
        all.lexer.set_position(at);
        all
    }

    /// How far it came: the end of the last element, and the end of the content when it is done.
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
