//! Paths as the system takes them.

use std::io;
use std::os::windows::ffi::OsStrExt;
use std::path::Path;

/// The longest path that the system takes without the prefix for long ones; folders leave room for
/// a name of the old 8.3 kind.
const SHORT_PATH: usize = 247;

/// A path with a zero behind it. Long paths get the prefix that lifts their limit.
pub(crate) fn null_terminated(path: &Path) -> io::Result<Vec<u16>> {
    let path = std::path::absolute(path)?;
    let plain: Vec<u16> = path.as_os_str().encode_wide().collect();
    if plain.contains(&0) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path contains a zero"));
    }
    let is_verbatim = plain.starts_with(&encode(r"\\?\"));
    let mut wide = match plain.strip_prefix(&encode(r"\\")[..]) {
        _ if is_verbatim || plain.len() < SHORT_PATH => plain,
        Some(share) => [&encode(r"\\?\UNC\"), share].concat(),
        None => [encode(r"\\?\"), plain].concat(),
    };
    wide.push(0);
    Ok(wide)
}

fn encode(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}
