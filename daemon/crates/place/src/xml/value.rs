//! Converts property elements to values and back.
//!
//! rbx_xml does the work, on a document with a single item and property, so that results equal
//! those for a whole file. This module handles what rbx_xml cannot do on its own: references to
//! other items and to the table of shared strings, and the two forms of text. It also reads plain
//! numbers, because they are most of a file.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rbx_dom_weak::{InstanceBuilder, WeakDom, ustr};
use rbx_types::{Content, ContentType, Enum, NetAssetRef, Ref, SharedString, Variant};
use rbx_xml::{DecodeOptions, DecodePropertyBehavior, EncodeOptions, EncodePropertyBehavior};

use super::components;
use super::lexer::{MarkupKind, MarkupLexer};
use super::props::{self, PropertyElement};
use super::text::{self, TextStyle};

/// Looks up the content of a shared string by its key.
pub(super) type SharedLookup<'a> = &'a dyn Fn(&str) -> Option<Vec<u8>>;

/// Looks up an instance by its referent; returns a null reference if there is no such item.
pub(super) type InstanceLookup<'a> = &'a dyn Fn(&str) -> Ref;

/// Provides the names by which a written value refers to instances and shared strings.
pub(super) trait ValueLinks {
    /// Returns the referent of an instance. Not called for null references.
    fn referent_of(&mut self, to: Ref) -> String;
    /// Returns the key of a content, which the caller adds to the table of shared strings.
    fn shared_key(&mut self, content: &SharedString) -> String;
}

/// The element that holds a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextTag {
    String,
    /// `<ProtectedString>`, which Studio writes for the sources of scripts.
    Protected,
}

/// Reads the value of a property from its whole element. None if its type is unknown or its content
/// cannot be read.
pub(super) fn read_value(
    element: &[u8],
    shared: SharedLookup<'_>,
    instance: InstanceLookup<'_>,
) -> Option<Variant> {
    let found = props::read_elements(element).next()?.ok()?;
    let inside = &element[found.inside.clone()];
    match found.tag {
        "string" | "ProtectedString" => Some(Variant::String(plain_text(inside)?.into_owned())),
        "bool" => match &*plain_text(inside)? {
            "true" => Some(Variant::Bool(true)),
            "false" => Some(Variant::Bool(false)),
            _ => None,
        },
        "int" => plain_text(inside)?.parse().ok().map(Variant::Int32),
        "int64" => plain_text(inside)?.parse().ok().map(Variant::Int64),
        "float" => components::parse_float(&plain_text(inside)?).map(Variant::Float32),
        "double" => components::parse_float(&plain_text(inside)?).map(Variant::Float64),
        "token" => plain_text(inside)?.parse().ok().map(|n| Variant::Enum(Enum::from_u32(n))),
        "Ref" => Some(Variant::Ref(resolve_referent(&plain_text(inside)?, instance))),
        "SharedString" => Some(SharedString::new(shared(&plain_text(inside)?)?).into()),
        "NetAssetRef" => {
            Some(NetAssetRef::from(SharedString::new(shared(&plain_text(inside)?)?)).into())
        }
        "Content" => read_content(inside, instance).or_else(|| decode_with_rbx_xml(&found, inside)),
        tag => {
            components::read_component(tag, inside).or_else(|| decode_with_rbx_xml(&found, inside))
        }
    }
}

/// Returns the text of an element that contains only text.
fn plain_text(inside: &[u8]) -> Option<std::borrow::Cow<'_, str>> {
    let mut lexer = MarkupLexer::new(inside);
    while let Some(markup) = lexer.next().ok()? {
        if !matches!(markup.kind, MarkupKind::Literal(_) | MarkupKind::Comment) {
            return None;
        }
    }
    Some(text::decode_text(inside))
}

fn resolve_referent(referent: &str, instance: InstanceLookup<'_>) -> Ref {
    if referent == "null" { Ref::none() } else { instance(referent) }
}

/// Reads a Content that refers to an instance.
fn read_content(inside: &[u8], instance: InstanceLookup<'_>) -> Option<Variant> {
    let object =
        props::read_elements(inside).next()?.ok().filter(|element| element.tag == "Ref")?;
    let to = resolve_referent(&plain_text(&inside[object.inside])?, instance);
    Some(Variant::Content(Content::from_referent(to)))
}

const PROPERTY: &str = "value";

/// The types that rbx_xml knows and that are not read here. Other types are not passed to it,
/// because it takes very long to skip a deep element of an unknown type.
pub(super) const TYPES: [&str; 24] = [
    "Axes",
    "BinaryString",
    "Color3",
    "Color3uint8",
    "ColorSequence",
    "Content",
    "ContentId",
    "CoordinateFrame",
    "Faces",
    "Font",
    "NumberRange",
    "NumberSequence",
    "OptionalCoordinateFrame",
    "PhysicalProperties",
    "Ray",
    "Rect2D",
    "SecurityCapabilities",
    "UDim",
    "UDim2",
    "UniqueId",
    "Vector2",
    "Vector2int16",
    "Vector3",
    "Vector3int16",
];

/// Reads a value with rbx_xml, as the only property of a document.
fn decode_with_rbx_xml(element: &PropertyElement<'_>, inside: &[u8]) -> Option<Variant> {
    let tag = element.tag;
    if !TYPES.contains(&tag) {
        return None;
    }
    let start = format!(
        "<roblox version=\"4\"><Item class=\"Folder\"><Properties><{tag} name=\"{PROPERTY}\">"
    );
    let end = format!("</{tag}></Properties></Item></roblox>");
    let document = [start.as_bytes(), inside, end.as_bytes()].concat();
    // A panic leaves no broken state behind: the reader works on its own tree.
    catch_unwind(AssertUnwindSafe(|| decode_document(&document))).ok().flatten()
}

fn decode_document(document: &[u8]) -> Option<Variant> {
    let options = DecodeOptions::new().property_behavior(DecodePropertyBehavior::NoReflection);
    let mut dom = rbx_xml::from_reader(document, options).ok()?;
    let item = *dom.root().children().first()?;
    dom.get_by_ref_mut(item)?.properties.remove(&ustr(PROPERTY))
}

/// Writes a property as a whole element, without a trailing line feed.
///
/// # Errors
/// A sentence that says why the value cannot be written.
pub(super) fn write_value(
    name: &str,
    value: &Variant,
    links: &mut impl ValueLinks,
) -> Result<Vec<u8>, String> {
    let to_referent = |to: Ref, links: &mut _| match to {
        to if to.is_none() => "null".to_owned(),
        to => ValueLinks::referent_of(links, to),
    };
    match value {
        Variant::String(text) => write_text(name, TextTag::String, text, style_for(text)),
        Variant::Ref(to) => wrap_element("Ref", name, &escape_text(&to_referent(*to, links))?),
        Variant::SharedString(content) => {
            wrap_element("SharedString", name, &escape_text(&links.shared_key(content))?)
        }
        Variant::NetAssetRef(content) => {
            let content = SharedString::from(content.clone());
            wrap_element("NetAssetRef", name, &escape_text(&links.shared_key(&content))?)
        }
        Variant::Content(content) => match content.value() {
            ContentType::Object(to) => match to_referent(*to, links).as_str() {
                "null" => encode_with_rbx_xml(name, &Content::none().into()),
                to => wrap_element(
                    "Content",
                    name,
                    &[b"<Ref>", &escape_text(to)?[..], b"</Ref>"].concat(),
                ),
            },
            ContentType::None | ContentType::Uri(_) => encode_with_rbx_xml(name, value),
            other => Err(format!("A content of the kind {other:?} cannot be written to XML.")),
        },
        value => encode_with_rbx_xml(name, value),
    }
}

/// Writes a text as a whole element.
///
/// # Errors
/// A sentence that says why the text cannot be written.
pub(super) fn write_text(
    name: &str,
    tag: TextTag,
    text: &str,
    style: TextStyle,
) -> Result<Vec<u8>, String> {
    text::check_text(text)?;
    let mut inside = Vec::with_capacity(text.len() + 16);
    text::encode_text(text, style, &mut inside);
    let tag = match tag {
        TextTag::String => "string",
        TextTag::Protected => "ProtectedString",
    };
    wrap_element(tag, name, &inside)
}

/// Returns CDATA for text with whitespace at its ends, which some readers would drop. Same as
/// rbx_xml.
fn style_for(text: &str) -> TextStyle {
    if text.trim().len() == text.len() { TextStyle::Escaped } else { TextStyle::CData }
}

fn escape_text(text: &str) -> Result<Vec<u8>, String> {
    text::check_text(text)?;
    let mut inside = Vec::new();
    text::encode_text(text, TextStyle::Escaped, &mut inside);
    Ok(inside)
}

fn wrap_element(tag: &str, name: &str, inside: &[u8]) -> Result<Vec<u8>, String> {
    if let Some(c) = name.chars().find(|c| !text::is_allowed_char(*c)) {
        return Err(format!(
            "The property's name has the character U+{:04X}, which an XML file cannot hold.",
            c as u32
        ));
    }
    let mut out = Vec::with_capacity(inside.len() + name.len() + 2 * tag.len() + 16);
    out.extend_from_slice(format!("<{tag} name=\"").as_bytes());
    text::escape_attribute(name, &mut out);
    out.extend_from_slice(b"\">");
    out.extend_from_slice(inside);
    out.extend_from_slice(format!("</{tag}>").as_bytes());
    Ok(out)
}

/// Writes a value with rbx_xml, and reads the result again: rbx_xml writes some values that it
/// refuses to read, such as a sequence without keypoints.
fn encode_with_rbx_xml(name: &str, value: &Variant) -> Result<Vec<u8>, String> {
    let cannot = |why: &str| format!("A value of type {:?} cannot be written: {why}.", value.ty());
    // rbx_xml writes empty attributes differently under this name.
    let property = if name == "PropertiesSerialize" { name } else { PROPERTY };
    let document = catch_unwind(AssertUnwindSafe(|| encode_value(property, value)))
        .map_err(|_| cannot("the writer of XML gave up"))?
        .map_err(|why| cannot(&why))?;
    let (tag, inside) =
        extract_property(&document, property).ok_or(cannot("its XML is damaged"))?;
    if !std::str::from_utf8(&inside).is_ok_and(|text| text.chars().all(text::is_allowed_char))
        || inside.contains(&b'\r')
    {
        return Err(cannot("it has a character that an XML file cannot hold"));
    }
    let element = wrap_element(tag, name, &inside)?;
    match read_value(&element, &|_| None, &|_| Ref::none()) {
        Some(_) => Ok(element),
        None => Err(cannot("no reader would take it")),
    }
}

fn encode_value(property: &str, value: &Variant) -> Result<Vec<u8>, String> {
    let builder = InstanceBuilder::new("Folder").with_property(property, value.clone());
    let dom = WeakDom::new(builder);
    let options = EncodeOptions::new().property_behavior(EncodePropertyBehavior::NoReflection);
    let mut document = Vec::new();
    rbx_xml::to_writer(&mut document, &dom, &[dom.root_ref()], options)
        .map_err(|error| error.to_string())?;
    Ok(document)
}

/// Returns the type and the unindented content of a property in a document with one item.
fn extract_property<'a>(document: &'a [u8], property: &str) -> Option<(&'a str, Vec<u8>)> {
    let from = memchr::memmem::find(document, b"<Properties>")? + b"<Properties>".len();
    let content = &document[from..];
    let element = props::find_element(content, property)?;
    Some((element.tag, strip_indentation(&content[element.inside])))
}

/// Removes the whitespace between tags if an element contains other elements.
fn strip_indentation(inside: &[u8]) -> Vec<u8> {
    let (mut out, mut from) = (Vec::with_capacity(inside.len()), 0);
    let mut lexer = MarkupLexer::new(inside);
    while let Ok(Some(markup)) = lexer.next() {
        let gap = &inside[from..markup.start];
        if !gap.trim_ascii().is_empty() {
            out.extend_from_slice(gap);
        }
        out.extend_from_slice(&inside[markup.start..markup.end]);
        from = markup.end;
    }
    out.extend_from_slice(&inside[from..]);
    if from == 0 { inside.to_vec() } else { out.trim_ascii_end().to_vec() }
}
