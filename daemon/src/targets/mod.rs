//! Who performs an approved proposal. A target decides nothing: it does what was approved, whole or
//! not at all, and says what it did.

mod disk;
mod memory;
pub mod merges;
mod perform;
pub mod place;
pub mod rojo;
mod stamp;
pub mod studio;
pub mod text;

/// Writes a file in one step: a reader sees all of it, or what was there before.
///
/// # Errors
/// What was there is as it was.
pub fn write_file(file: &std::path::Path, bytes: &[u8]) -> std::io::Result<()> {
    let file = std::path::absolute(file)?;
    disk::put(disk::beside(&file, [bytes])?, &file)
}

/// The same of a file that is for its owner alone, whatever it was before.
///
/// # Errors
/// What was there is as it was.
pub fn write_private(file: &std::path::Path, bytes: &[u8]) -> std::io::Result<()> {
    let file = std::path::absolute(file)?;
    disk::put(disk::private(&file, bytes)?, &file)
}
