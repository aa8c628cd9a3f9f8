//! The file of a project's memory: `.vector/memory.md` in the folder of a place file, or a file of the
//! daemon's own for a place that is open in Studio.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use scene_schemas::Fingerprint;
use tempfile::NamedTempFile;

use crate::disk;

/// The memory of a place. Its file need not exist.
#[derive(Debug)]
pub struct MemoryFile {
    path: PathBuf,
    /// The text that was read; none where there was no file.
    text: Option<String>,
    /// Whether it is the daemon's own, for its owner alone.
    is_own: bool,
}

/// A new text on the disk that does not have its name yet.
#[derive(Debug)]
pub struct StoredMemory {
    temporary: NamedTempFile,
    text: String,
}

impl MemoryFile {
    /// Reads the memory beside a place.
    ///
    /// # Errors
    /// It is there and cannot be read, or is no text.
    pub fn beside_place(place: &Path) -> io::Result<Self> {
        let folder = place.parent().unwrap_or(Path::new("."));
        Self::read_file(folder.join(".vector").join("memory.md"), false)
    }

    /// Reads the memory that stands in a file of the daemon's own.
    ///
    /// # Errors
    /// It is there and cannot be read, or is no text.
    pub fn at_path(path: PathBuf) -> io::Result<Self> {
        Self::read_file(path, true)
    }

    fn read_file(path: PathBuf, is_own: bool) -> io::Result<Self> {
        let text = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(why) if why.kind() == io::ErrorKind::NotFound => None,
            Err(why) => return Err(why),
        };
        Ok(Self { path, text, is_own })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the temporary files that stopped processes left beside it.
    pub fn sweep_temporary(&self) {
        if let Some(folder) = self.path.parent() {
            disk::sweep_temporary(folder);
        }
    }

    /// What it says; nothing where there is no file.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Whether the file still is what was read.
    pub fn is_unchanged(&self) -> io::Result<bool> {
        match disk::hash_file(&self.path) {
            Ok(now) => Ok(self
                .text
                .as_ref()
                .is_some_and(|text| Fingerprint::hash_bytes(text.as_bytes()) == now)),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(self.text.is_none()),
            Err(why) => Err(why),
        }
    }

    /// Stores another text in a synced temporary file.
    pub fn store_text(&self, text: &str) -> io::Result<StoredMemory> {
        if let Some(folder) = self.path.parent() {
            if self.is_own {
                disk::create_private_folder(folder)?;
            } else {
                fs::create_dir_all(folder)?;
            }
        }
        // A link stays a link.
        let real = disk::canonical_path(&self.path).unwrap_or_else(|_| self.path.clone());
        let temporary = if self.is_own {
            disk::write_private(&real, text.as_bytes())?
        } else {
            disk::write_beside(&real, [text.as_bytes()])?
        };
        Ok(StoredMemory { temporary, text: text.to_owned() })
    }

    /// Puts a text in the place of the old one, and answers the old one.
    pub fn replace(&mut self, stored: StoredMemory) -> io::Result<Option<String>> {
        let real = disk::canonical_path(&self.path).unwrap_or_else(|_| self.path.clone());
        disk::replace_file(stored.temporary, &real)?;
        Ok(self.text.replace(stored.text))
    }

    /// Puts the text back that was there before: what was to change with it could not.
    pub fn restore_text(&mut self, before: Option<String>) -> io::Result<()> {
        match &before {
            Some(text) => drop(self.replace(self.store_text(text)?)?),
            None => fs::remove_file(&self.path)?,
        }
        self.text = before;
        Ok(())
    }
}

/// The memory beside a project.
#[derive(Debug)]
pub enum ProjectMemory {
    /// Its file, whether or not it is there.
    File(MemoryFile),
    /// It cannot be read, and so is not written.
    Unread,
    /// It is somebody else's business.
    Elsewhere,
}

impl ProjectMemory {
    /// The memory of a project, from its file.
    pub fn beside_project(project: &Path) -> Self {
        MemoryFile::beside_place(project).map_or(Self::Unread, Self::File)
    }

    /// Its file, where it could be read.
    pub fn memory_file(&self) -> Option<&MemoryFile> {
        match self {
            Self::File(file) => Some(file),
            Self::Unread | Self::Elsewhere => None,
        }
    }
}
