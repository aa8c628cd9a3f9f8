//! The elements in the content of a `<Properties>`: one for each property that an item stores.
//!
//! What a property means and how its value is read is left to [`super::value`].

use std::borrow::Cow;
use std::ops::Range;

use super::Broken;
use super::lexer::{self, Kind, Lexer};
use super::text;

/// The element of a property. Ranges count from the start of the content that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Element<'a> {
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
pub(super) struct Elements<'a> {
    bytes: &'a [u8],
    lexer: Lexer<'a>,
    is_done: bool,
}

/// The elements that stand directly in a content.
pub(super) fn elements(content: &[u8]) -> Elements<'_> {
    Elements { bytes: content, lexer: Lexer::new(content), is_done: false }
}

/// The first element with this name attribute. What stands behind it is not looked at.
pub(super) fn find<'a>(content: &'a [u8], name: &str) -> Option<Element<'a>> {
    elements(content).map_while(Result::ok).find(|element| element.name == name)
}

impl<'a> Elements<'a> {
    /// The elements from somewhere within some bytes.
    pub(super) fn starting_at(bytes: &'a [u8], at: usize) -> Self {
        let mut all = elements(bytes);
        all.lexer.set(at);
        all
    }

    /// How far it came: the end of the last element, and the end of the content when it is done.
    pub(super) fn at(&self) -> usize {
        self.lexer.at()
    }

    fn advance(&mut self) -> Result<Option<Element<'a>>, Broken> {
        while let Some(markup) = self.lexer.next()? {
            match markup.kind {
                Kind::Open { name, attributes, is_empty } => {
                    let (mut inside, mut end) = (markup.end..markup.end, markup.end);
                    if !is_empty {
                        let tag = self.lexer.close(name.clone())?;
                        (inside.end, end) = (tag.start, tag.end);
                    }
                    let whole = markup.start..end;
                    return Ok(Some(self.element(name, attributes, whole, inside)));
                }
                Kind::Close { .. } => {
                    self.lexer.set(markup.start);
                    return Ok(None);
                }
                Kind::Literal(_) | Kind::Comment | Kind::Instruction => {}
            }
        }
        Ok(None)
    }

    fn element(
        &self,
        tag: Range<usize>,
        attributes: Range<usize>,
        whole: Range<usize>,
        inside: Range<usize>,
    ) -> Element<'a> {
        let attributes = &self.bytes[attributes];
        let name = lexer::attribute(attributes, b"name").map(|range| &attributes[range]);
        Element {
            tag: std::str::from_utf8(&self.bytes[tag]).unwrap_or_default(),
            name: text::attribute_value(name.unwrap_or_default()),
            whole,
            inside,
        }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let found = self.advance();
        self.is_done = !matches!(found, Ok(Some(_)));
        found.transpose()
    }
}
