//! The entries of a folder, in Rojo's order.

use std::ffi::OsString;
use std::path::Path;

/// The kind of a folder entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Folder,
    Link,
    /// A pipe, socket or device.
    Other,
}

impl EntryKind {
    fn from_file_type(ty: std::fs::FileType) -> Self {
        if ty.is_symlink() {
            Self::Link
        } else if ty.is_dir() {
            Self::Folder
        } else if ty.is_file() {
            Self::File
        } else {
            Self::Other
        }
    }

    /// Returns the kind of the entry at a path; None if nothing is there.
    pub(super) fn at_path(path: &Path) -> Option<Self> {
        Some(Self::from_file_type(std::fs::symlink_metadata(path).ok()?.file_type()))
    }
}

/// The entries of a folder, sorted by the bytes of their names.
#[derive(Debug, Default)]
pub(super) struct FolderListing {
    pub(super) entries: Vec<(OsString, EntryKind)>,
}

impl FolderListing {
    /// Lists a folder.
    ///
    /// # Errors
    /// Fails if the folder cannot be read.
    pub(super) fn read_folder(folder: &Path) -> std::io::Result<Self> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            entries.push((entry.file_name(), EntryKind::from_file_type(entry.file_type()?)));
        }
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok(Self { entries })
    }

    /// Builds a listing that contains only the given files.
    pub(super) fn from_files(names: &[OsString]) -> Self {
        let mut entries: Vec<_> =
            names.iter().map(|name| (name.clone(), EntryKind::File)).collect();
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Self { entries }
    }

    /// Whether the folder has an entry with this name.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.entries.binary_search_by(|(entry, _)| entry.as_os_str().cmp(name.as_ref())).is_ok()
    }
}
