//! Place files as a target, and what all file-writing targets share: atomic replacement, file
//! stamps, performing approved proposals on a scene, and the project memory.
//!
//! Must not know Rojo projects, Studio or the ledger. It makes no decisions: it performs what was
//! approved, completely or not at all, and reports what it did.

pub mod disk;
pub mod file_stamp;
pub mod held;
pub mod memory_file;
pub mod perform;
pub mod place_file;
pub mod text_file;

/// Replaces a file atomically: a reader sees the old content or the new one.
///
/// # Errors
/// The file cannot be written; it keeps its old content.
pub fn write_file(file: &std::path::Path, bytes: &[u8]) -> std::io::Result<()> {
    let file = std::path::absolute(file)?;
    disk::replace_file(disk::write_beside(&file, [bytes])?, &file)
}

/// Like [`write_file`], for a file that only its owner may read.
///
/// # Errors
/// The file cannot be written; it keeps its old content.
pub fn write_private(file: &std::path::Path, bytes: &[u8]) -> std::io::Result<()> {
    let file = std::path::absolute(file)?;
    disk::replace_file(disk::write_private(&file, bytes)?, &file)
}
