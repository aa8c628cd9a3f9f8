//! Bytes to scenes and back, by the rbx crates.
//!
//! Pure: who reads and writes files is the target's business. The crates rewrite some of what they
//! read (migrated properties, unknown chunks); what they do is documented in docs/places.md.

use rbx_dom_weak::WeakDom;
use rbx_xml::{DecodeOptions, DecodePropertyBehavior, EncodeOptions, EncodePropertyBehavior};

use super::{chunks, reflection};

/// How a place is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `.rbxl`, `.rbxm`
    Binary,
    /// `.rbxlx`, `.rbxmx`
    Xml,
}

/// Why bytes could not be read as a place, or a scene not be written.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    /// Neither of the two formats.
    #[error(
        "it is neither a binary nor an XML place or model ({0}); save it from Studio as .rbxl, \
         .rbxlx, .rbxm or .rbxmx"
    )]
    NotAPlace(String),
    /// A binary file without its end.
    #[error("it ends too early, so a part of it is missing; save or fetch it once more")]
    CutOff,
    /// The reader met something that it was never written for.
    #[error("it is damaged, in a way that its reader cannot name; save or fetch it once more")]
    Damaged,
    /// The binary reader gave up.
    #[error("the binary reader refused it: {0}")]
    ReadBinary(String),
    /// The XML reader gave up.
    #[error("the XML reader refused it: {0}")]
    ReadXml(String),
    /// Nesting that the XML reader cannot hold.
    #[error("its items are nested {0} deep; at most {MAX_XML_DEPTH} can be read")]
    TooDeep(usize),
    /// The writer gave up.
    #[error("it cannot be written: {0}")]
    Write(String),
}

/// rbx_xml reads items recursively. The caller gives it a stack for this many.
pub const MAX_XML_DEPTH: usize = 20_000;

const BINARY_MAGIC: &[u8] = b"<roblox!";

/// Tells the format from the content; a file's name may say anything.
pub(super) fn detect(bytes: &[u8]) -> Result<Format, CodecError> {
    if bytes.starts_with(BINARY_MAGIC) {
        return Ok(Format::Binary);
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    if text.starts_with(b"<roblox") || text.starts_with(b"<?xml") {
        return Ok(Format::Xml);
    }
    let why = match bytes {
        [] => "it is empty".to_owned(),
        _ if bytes.starts_with(b"<!") => "it looks like a web page".to_owned(),
        _ if bytes.starts_with(b"version https://git-lfs") => {
            "it is a Git LFS pointer; run `git lfs pull`".to_owned()
        }
        _ => "it does not begin with `<roblox`".to_owned(),
    };
    Err(CodecError::NotAPlace(why))
}

/// The crates whose readers are known to panic on damaged files. Such a panic is caught here and
/// becomes an error, so whoever prints panics can leave it out.
pub const READERS: [&str; 3] = ["rbx_binary", "rbx_xml", "rbx_types"];

pub(super) fn decode(bytes: &[u8], format: Format) -> Result<WeakDom, CodecError> {
    // A reader that panics leaves nothing behind: it works on its own tree.
    std::panic::catch_unwind(|| read(bytes, format)).unwrap_or(Err(CodecError::Damaged))
}

fn read(bytes: &[u8], format: Format) -> Result<WeakDom, CodecError> {
    match format {
        Format::Binary => {
            chunks::check(bytes)?;
            rbx_binary::Deserializer::new()
                .reflection_database(reflection::for_readers())
                .deserialize(bytes)
                .map_err(|error| match error.to_string() {
                    early if early.contains("failed to fill whole buffer") => CodecError::CutOff,
                    other => CodecError::ReadBinary(other),
                })
        }
        Format::Xml => {
            let depth = xml_depth(bytes);
            if depth > MAX_XML_DEPTH {
                return Err(CodecError::TooDeep(depth));
            }
            let options = DecodeOptions::new()
                .reflection_database(reflection::for_readers())
                .property_behavior(DecodePropertyBehavior::ReadUnknown);
            rbx_xml::from_reader(bytes, options)
                .map_err(|error| CodecError::ReadXml(error.to_string()))
        }
    }
}

pub(super) fn encode(
    dom: &WeakDom,
    roots: &[rbx_types::Ref],
    format: Format,
) -> Result<Vec<u8>, CodecError> {
    let mut bytes = Vec::new();
    match format {
        Format::Binary => rbx_binary::Serializer::new()
            .reflection_database(reflection::database())
            .serialize(&mut bytes, dom, roots)
            .map_err(|error| CodecError::Write(error.to_string()))?,
        Format::Xml => {
            let options = EncodeOptions::new()
                .reflection_database(reflection::database())
                .property_behavior(EncodePropertyBehavior::WriteUnknown);
            rbx_xml::to_writer(&mut bytes, dom, roots, options)
                .map_err(|error| CodecError::Write(error.to_string()))?;
            bytes = readable_again(bytes)?;
        }
    }
    Ok(bytes)
}

/// Whether a text in an XML file can have a character; no escape helps with the others.
pub(super) fn xml_can_hold(c: char) -> bool {
    !matches!(c, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}')
}

/// Makes sure that what the writer of XML wrote can be read again: it writes characters that no
/// reader takes, and carriage returns that every reader takes for line feeds.
fn readable_again(bytes: Vec<u8>) -> Result<Vec<u8>, CodecError> {
    let is_suspect = |byte: &u8| *byte < b' ' && !matches!(byte, b'\t' | b'\n') || *byte == 0xef;
    // Without a way out of the inner loop, it takes many bytes at once.
    let has_suspect = |part: &[u8]| part.iter().fold(false, |found, byte| found | is_suspect(byte));
    if !bytes.chunks(4096).any(has_suspect) {
        return Ok(bytes);
    }
    let text = String::from_utf8(bytes).map_err(|error| CodecError::Write(error.to_string()))?;
    if let Some(c) = text.chars().find(|c| !xml_can_hold(*c)) {
        return Err(CodecError::Write(format!(
            "a name or text has the character U+{:04X}, which an XML file cannot hold; leave it out",
            c as u32
        )));
    }
    if !text.contains('\r') {
        return Ok(text.into_bytes());
    }
    let mut escaped = String::with_capacity(text.len() + 64);
    for (at, section) in text.split("<![CDATA[").enumerate() {
        let mut rest = section;
        if at > 0 {
            let (literal, after) = section.split_at(section.find("]]>").unwrap_or(section.len()));
            escaped.push_str("<![CDATA[");
            escaped.push_str(&literal.replace('\r', "]]>&#13;<![CDATA["));
            rest = after;
        }
        escaped.push_str(&rest.replace('\r', "&#13;"));
    }
    Ok(escaped.into_bytes())
}

/// An upper bound of how deep items are nested. Text that only looks like an item counts as well.
fn xml_depth(bytes: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for at in memchr::memchr_iter(b'<', bytes) {
        let rest = &bytes[at + 1..];
        if rest.starts_with(b"Item ") {
            depth += 1;
            deepest = deepest.max(depth);
        } else if rest.starts_with(b"/Item>") {
            depth = depth.saturating_sub(1);
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_tells_the_format() {
        assert_eq!(detect(b"<roblox!\x89\xff").unwrap(), Format::Binary);
        assert_eq!(detect(b"\xef\xbb\xbf <roblox version=\"4\">").unwrap(), Format::Xml);
        assert!(detect(b"").unwrap_err().to_string().contains("empty"));
        assert!(detect(b"<!doctype html>").unwrap_err().to_string().contains("web page"));
        let pointer = b"version https://git-lfs.github.com/spec/v1";
        assert!(detect(pointer).unwrap_err().to_string().contains("git lfs pull"));
    }

    #[test]
    fn what_no_reader_of_xml_takes_is_not_written() {
        let readable = |text: &str| readable_again(text.as_bytes().to_vec());
        for fine in ["", "a\n\tb", "\u{fffd}\u{feff}"] {
            assert_eq!(readable(fine).unwrap(), fine.as_bytes());
        }
        for bad in ["a\0", "\u{1}", "\u{1b}[0m", "\u{fffe}", "\u{ffff}"] {
            assert!(readable(bad).unwrap_err().to_string().contains("U+"), "{bad:?}");
        }
        let mixed = readable("a\r\n<![CDATA[b\r]]>c\r<![CDATA[]]>").unwrap();
        let escaped = b"a&#13;\n<![CDATA[b]]>&#13;<![CDATA[]]>c&#13;<![CDATA[]]>";
        assert_eq!(mixed, escaped);
    }

    #[test]
    fn nesting_is_counted() {
        assert_eq!(xml_depth(b"<Item a><Item b></Item></Item><Item c></Item>"), 2);
    }
}
