//! The attributes by which one version of a file is told from another.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// The attributes of a file, all read at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileAttributes {
    /// The size of the content, in bytes.
    pub len: u64,
    /// None if the file system does not keep it.
    pub modified: Option<SystemTime>,
    /// The device or volume that the file is on.
    pub volume: u64,
    /// The number of the file on its volume. A file that replaces another has a different one.
    pub index: u64,
    /// When content or metadata was last changed, if the file system keeps it. Programs that set
    /// the modification time do not set this one.
    pub changed: Option<SystemTime>,
}

impl FileAttributes {
    /// The attributes of a file, which may be open elsewhere in whatever mode. Follows links.
    ///
    /// # Errors
    /// There is no such file, or it is not accessible.
    pub fn of_path(path: &Path) -> io::Result<Self> {
        #[cfg(unix)]
        return std::fs::metadata(path).map(|metadata| Self::of_metadata(&metadata));
        #[cfg(windows)]
        return crate::windows::attributes::of_path(path);
    }

    /// The attributes of an open file.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn of_file(file: &File) -> io::Result<Self> {
        #[cfg(unix)]
        return file.metadata().map(|metadata| Self::of_metadata(&metadata));
        #[cfg(windows)]
        return crate::windows::attributes::of_file(file);
    }

    #[cfg(unix)]
    fn of_metadata(metadata: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let nanoseconds = u32::try_from(metadata.ctime_nsec()).unwrap_or(0);
        let since = u64::try_from(metadata.ctime()).ok();
        let changed =
            since.map(|it| SystemTime::UNIX_EPOCH + std::time::Duration::new(it, nanoseconds));
        Self {
            len: metadata.len(),
            modified: metadata.modified().ok(),
            volume: metadata.dev(),
            index: metadata.ino(),
            changed,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    fn of(path: &Path) -> FileAttributes {
        FileAttributes::of_path(path).unwrap()
    }

    #[test]
    fn a_file_that_replaces_another_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        fs::write(&one, "1").unwrap();
        fs::write(&two, "2").unwrap();
        let first = of(&one);
        assert_eq!(first, of(&one));
        assert_eq!(first, FileAttributes::of_file(&File::open(&one).unwrap()).unwrap());
        let second = of(&two);
        assert_ne!(first.index, second.index);
        assert_eq!((first.len, first.modified.is_some()), (1, true));
        fs::rename(&two, &one).unwrap();
        let replaced = of(&one);
        assert_eq!((replaced.volume, replaced.index), (second.volume, second.index));
        let age = replaced.changed.unwrap().elapsed().unwrap_or_default();
        assert!(age < Duration::from_mins(5), "{age:?}");
        of(folder.path());
        FileAttributes::of_path(&two).unwrap_err();
    }

    #[cfg(windows)]
    #[test]
    fn attributes_of_a_held_file_can_be_read() {
        use std::os::windows::fs::OpenOptionsExt;

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("place.rbxl");
        let mut options = fs::OpenOptions::new();
        let _held = options.write(true).create(true).share_mode(0).open(&file).unwrap();
        of(&file);
    }
}
