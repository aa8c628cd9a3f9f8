//! The project memory on disk: `.vector/memory.md` in the folder of a place file, or a private
//! file of the daemon for a place that is open in Studio.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use scene_schemas::Fingerprint;
use tempfile::NamedTempFile;

use crate::disk;

/// The memory file of a place. The file need not exist.
#[derive(Debug)]
pub struct MemoryFile {
    path: PathBuf,
    /// The text as it was read; None if there was no file.
    text: Option<String>,
    /// Whether the file belongs to the daemon and is readable by its owner only.
    is_own: bool,
}

/// A new memory text in a temporary file, ready to replace the old one.
#[derive(Debug)]
pub struct StoredMemory {
    temporary: NamedTempFile,
    text: String,
}

impl MemoryFile {
    /// Reads the memory file next to a place.
    ///
    /// # Errors
    /// The file exists but cannot be read, or is not UTF-8.
    pub fn beside_place(place: &Path) -> io::Result<Self> {
        let folder = place.parent().unwrap_or(Path::new("."));
        Self::read_file(folder.join(".vector").join("memory.md"), false)
    }

    /// Reads a private memory file of the daemon.
    ///
    /// # Errors
    /// The file exists but cannot be read, or is not UTF-8.
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

    /// Removes the temporary files that terminated processes left in the folder of this file.
    pub fn sweep_temporary(&self) {
        if let Some(folder) = self.path.parent() {
            disk::sweep_temporary(folder);
        }
    }

    /// The text as it was read; empty if there is no file.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Whether the file on disk still has the content that was read.
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

    /// Writes a text to a synced temporary file.
    pub fn store_text(&self, text: &str) -> io::Result<StoredMemory> {
        if let Some(folder) = self.path.parent() {
            if self.is_own {
                vector_system::create_private_folder(folder)?;
            } else {
                fs::create_dir_all(folder)?;
            }
        }
        // Resolve links, so that the link stays and its target is replaced.
        let real = disk::canonical_path(&self.path).unwrap_or_else(|_| self.path.clone());
        let temporary = if self.is_own {
            disk::write_private(&real, text.as_bytes())?
        } else {
            disk::write_beside(&real, [text.as_bytes()])?
        };
        Ok(StoredMemory { temporary, text: text.to_owned() })
    }

    /// Replaces the file with a stored text and returns the old text.
    pub fn replace(&mut self, stored: StoredMemory) -> io::Result<Option<String>> {
        let real = disk::canonical_path(&self.path).unwrap_or_else(|_| self.path.clone());
        disk::replace_file(stored.temporary, &real)?;
        Ok(self.text.replace(stored.text))
    }

    /// Restores the previous text. Called if the place could not be written along with the memory.
    pub fn restore_text(&mut self, before: Option<String>) -> io::Result<()> {
        match &before {
            Some(text) => drop(self.replace(self.store_text(text)?)?),
            None => fs::remove_file(&self.path)?,
        }
        self.text = before;
        Ok(())
    }
}

/// The project memory as a target sees it.
#[derive(Debug)]
pub enum ProjectMemory {
    /// The memory file, which need not exist on disk.
    File(MemoryFile),
    /// The file exists but cannot be read, so it is not written either.
    Unread,
    /// Another target manages the memory.
    Elsewhere,
}

impl ProjectMemory {
    /// Reads the memory file next to a project file.
    pub fn beside_project(project: &Path) -> Self {
        MemoryFile::beside_place(project).map_or(Self::Unread, Self::File)
    }

    /// The memory file; None if it could not be read or another target manages it.
    pub fn memory_file(&self) -> Option<&MemoryFile> {
        match self {
            Self::File(file) => Some(file),
            Self::Unread | Self::Elsewhere => None,
        }
    }
}
