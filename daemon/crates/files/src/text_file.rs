//! Text files: scripts on the disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use scene_schemas::Fingerprint;

use crate::disk;

/// What can go wrong with a text file.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// It cannot be read.
    #[error("{file} cannot be read: {why}")]
    Read { file: String, why: io::Error },
    /// It is no text.
    #[error("{file} is not UTF-8, so it is not a script; save it as UTF-8")]
    NoText { file: String },
    /// It is marked as read-only.
    #[error("{file} is read-only; make it writable")]
    ReadOnly { file: String },
    /// Somebody else changed it meanwhile.
    #[error(
        "{file} was changed by another program since it was read; nothing was written. Run the command again"
    )]
    Changed { file: String },
    /// The new text cannot be stored.
    #[error("{file} was not written and is as it was: {why}{hint}")]
    Write { file: String, why: io::Error, hint: &'static str },
}

/// A text file that is open for an edit.
#[derive(Debug)]
pub struct TextFile {
    display_name: String,
    /// The file behind links.
    path: PathBuf,
    text: String,
}

impl TextFile {
    /// Reads a text file for a later write.
    ///
    /// # Errors
    /// It is not there, no text, or not to be written.
    pub fn read_file(file: &Path) -> Result<Self, TextError> {
        let named = file.display().to_string();
        let failed = |why| TextError::Read { file: named.clone(), why };
        let path = disk::canonical_path(file).map_err(failed)?;
        let bytes = fs::read(&path).map_err(failed)?;
        disk::sweep_temporary(path.parent().unwrap_or(Path::new(".")));
        let text =
            String::from_utf8(bytes).map_err(|_| TextError::NoText { file: named.clone() })?;
        Ok(Self { display_name: named, path, text })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Writes another text in the place of this one.
    ///
    /// # Errors
    /// The file is as it was, or as somebody else left it.
    pub fn write_text(&self, text: &str) -> Result<(), TextError> {
        let file = || self.display_name.clone();
        let failed = |why: io::Error| TextError::Write {
            file: file(),
            hint: disk::error_hint(why.kind()),
            why,
        };
        let permissions = fs::metadata(&self.path).map_err(failed)?.permissions();
        if permissions.readonly() {
            return Err(TextError::ReadOnly { file: file() });
        }
        let temporary = disk::write_beside(&self.path, [text.as_bytes()]).map_err(failed)?;
        let now =
            disk::hash_file(&self.path).map_err(|why| TextError::Read { file: file(), why })?;
        if now != Fingerprint::hash_bytes(self.text.as_bytes()) {
            return Err(TextError::Changed { file: file() });
        }
        disk::replace_file(temporary, &self.path).map_err(failed)
    }
}
