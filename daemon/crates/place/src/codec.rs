//! The two file formats, their detection, and the errors of reading and writing them.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// Binary files: `.rbxl` and `.rbxm`.
    Binary,
    /// XML files: `.rbxlx` and `.rbxmx`.
    Xml,
}

/// An error of reading a place or writing a scene.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    /// The bytes are in neither format.
    #[error(
        "it is neither a binary nor an XML place or model ({0}); save it from Studio as .rbxl, \
         .rbxlx, .rbxm or .rbxmx"
    )]
    NotAPlace(String),
    /// A binary file is truncated.
    #[error("it is truncated; save or download it again")]
    CutOff,
    /// A file has an inconsistent header.
    #[error("it is damaged: its header is inconsistent; save or download it again")]
    Damaged,
    #[error("it cannot be read: {0}")]
    Read(String),
    #[error("{0}")]
    Write(String),
}

const BINARY_MAGIC: &[u8] = b"<roblox!";

/// Detects the format from the content; the file name is not reliable.
pub(super) fn detect_format(bytes: &[u8]) -> Result<FileFormat, CodecError> {
    if bytes.starts_with(BINARY_MAGIC) {
        return Ok(FileFormat::Binary);
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    if text.starts_with(b"<roblox") || text.starts_with(b"<?xml") {
        return Ok(FileFormat::Xml);
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

/// Crates whose readers are known to panic on damaged values. Such a panic is caught at the call,
/// so a panic hook that prints panics can skip it.
pub const READERS: [&str; 2] = ["rbx_xml", "rbx_types"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_is_detected_from_content() {
        assert_eq!(detect_format(b"<roblox!\x89\xff").unwrap(), FileFormat::Binary);
        assert_eq!(detect_format(b"\xef\xbb\xbf <roblox version=\"4\">").unwrap(), FileFormat::Xml);
        assert!(detect_format(b"").unwrap_err().to_string().contains("empty"));
        assert!(detect_format(b"<!doctype html>").unwrap_err().to_string().contains("web page"));
        let pointer = b"version https://git-lfs.github.com/spec/v1";
        assert!(detect_format(pointer).unwrap_err().to_string().contains("git lfs pull"));
    }
}
