//! File operations of setup, on files of other programs: a write succeeds as a whole or not at all.
//!
//! A file that its program has changed since it was read is not overwritten.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use vector_files::disk::canonical_path;

/// A client's file as it was read.
#[derive(Debug)]
pub(super) struct ConfigFile {
    /// The path with all links resolved.
    file: PathBuf,
    bytes: Option<Vec<u8>>,
}

impl ConfigFile {
    /// Reads a file. A file that does not exist is not an error.
    ///
    /// # Errors
    /// What is wrong, as the end of a sentence.
    pub(super) fn read(file: &Path) -> Result<Self, String> {
        if fs::symlink_metadata(file).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            let file = std::path::absolute(file).map_err(|error| error.to_string())?;
            return Ok(Self { file, bytes: None });
        }
        let real = canonical_path(file)
            .map_err(|error| format!("the target of the link cannot be read: {error}"))?;
        let bytes = fs::read(&real).map_err(|error| format!("it cannot be read: {error}"))?;
        Ok(Self { file: real, bytes: Some(bytes) })
    }

    /// The text of the file. None if the file does not exist.
    ///
    /// # Errors
    /// Fails if it is not UTF-8.
    pub(super) fn text(&self) -> Result<Option<&str>, String> {
        let text = self.bytes.as_deref().map(std::str::from_utf8).transpose();
        text.map_err(|_| "it is not UTF-8".to_owned())
    }

    /// The missing folders of the file's path.
    pub(super) fn missing_folders(&self) -> Vec<PathBuf> {
        missing_folders(self.file.parent().unwrap_or(&self.file))
    }

    /// Writes a new text, or deletes the file. Nothing is done if the client has changed the file
    /// since it was read.
    ///
    /// # Errors
    /// What is wrong, as the end of a sentence. Nothing was written.
    pub(super) fn write(&self, text: Option<&str>, folders: &[PathBuf]) -> Result<(), String> {
        let now = match fs::read(&self.file) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(format!("it cannot be read: {error}")),
        };
        if now != self.bytes {
            return Err("it was changed in the meantime; run the command again".to_owned());
        }
        let done = match text {
            Some(text) => make_folders(self.file.parent().unwrap_or(&self.file), false)
                .and_then(|_| vector_files::write_file(&self.file, text.as_bytes())),
            None => remove_file(&self.file, folders),
        };
        done.map_err(|error| format!("it cannot be written: {error}"))
    }
}

/// The folders of a path that do not exist, the outermost first.
fn missing_folders(folder: &Path) -> Vec<PathBuf> {
    let absent = folder.ancestors().take_while(|it| !it.as_os_str().is_empty() && !it.exists());
    let mut missing: Vec<PathBuf> = absent.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Creates a folder and its parents. Returns those that were created.
pub(in crate::cli) fn make_folders(folder: &Path, is_private: bool) -> io::Result<Vec<PathBuf>> {
    let folder = std::path::absolute(folder)?;
    let made = missing_folders(&folder);
    if is_private {
        vector_system::create_private_folder(&folder)?;
    } else {
        fs::create_dir_all(&folder)?;
    }
    Ok(made)
}

/// Deletes a file, and the given folders that are then empty.
pub(super) fn remove_file(file: &Path, folders: &[PathBuf]) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    for folder in folders.iter().rev() {
        // Fails if the folder is not empty.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

/// Creates a file that only its owner may read, if it does not exist.
pub(super) fn make_private(file: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    vector_system::open_private(options.append(true).create(true), file).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrently_changed_file_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.json");
        let stored = ConfigFile::read(&file).unwrap();
        assert_eq!(stored.text(), Ok(None));
        fs::write(&file, "theirs").unwrap();
        assert!(stored.write(Some("ours"), &[]).unwrap_err().contains("changed in the meantime"));
        assert!(stored.write(None, &[]).unwrap_err().contains("changed in the meantime"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
        ConfigFile::read(&file).unwrap().write(Some("ours"), &[]).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "ours");
    }

    #[test]
    fn created_folders_are_removed_only_when_empty() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("a").join("b").join("c.json");
        let stored = ConfigFile::read(&file).unwrap();
        let folders = stored.missing_folders();
        assert_eq!(folders, [root.path().join("a"), root.path().join("a").join("b")]);
        stored.write(Some("ours"), &[]).unwrap();
        fs::write(root.path().join("a").join("theirs"), "").unwrap();
        ConfigFile::read(&file).unwrap().write(None, &folders).unwrap();
        assert!(!root.path().join("a").join("b").exists());
        assert!(root.path().join("a").join("theirs").exists());
    }
}
