//! Text files on disk, such as scripts: read, and replaced if no other program changed them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use scene_schemas::Fingerprint;

use crate::disk;

#[derive(Debug, thiserror::Error)]
pub enum TextError {
    #[error("{file} cannot be read: {why}")]
    Read { file: String, why: io::Error },
    #[error("{file} is not UTF-8, so it is not a script; save it as UTF-8")]
    NoText { file: String },
    #[error("{file} is read-only; make it writable")]
    ReadOnly { file: String },
    #[error(
        "{file} was changed by another program since it was read; nothing was written. Run the command again"
    )]
    Changed { file: String },
    #[error("{file} was not written and is as it was: {why}{hint}")]
    Write { file: String, why: io::Error, hint: &'static str },
}

#[derive(Debug)]
pub struct TextFile {
    display_name: String,
    /// The path behind links.
    path: PathBuf,
    text: String,
}

impl TextFile {
    /// Reads a text file for a later write.
    ///
    /// # Errors
    /// The file cannot be found or read, or is not UTF-8.
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

    /// Replaces the text of the file.
    ///
    /// # Errors
    /// The file was not written.
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
