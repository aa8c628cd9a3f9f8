//! File stamps: the metadata of a file, to detect changes without reading its content.

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Two changes within this time may have the same modification time.
const TICK: Duration = Duration::from_millis(100);

/// The metadata that distinguishes one version of a file from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStamp {
    len: u64,
    /// None if the system does not report it.
    modified: Option<SystemTime>,
    /// Device and inode number, if the system reports them. A file that replaces another has a
    /// different one.
    file: Option<(u64, u64)>,
}

impl FileStamp {
    /// Reads the stamp of a file. Follows links.
    pub fn of_file(file: &Path) -> io::Result<Self> {
        fs::metadata(file).map(|metadata| Self::from(&metadata))
    }

    /// Whether every later change is sure to give the file a different stamp. A file that was
    /// changed just now may be changed again within the same tick of the clock.
    pub fn is_settled(&self) -> bool {
        // A modification time in the future is not given to a file again.
        self.modified.is_some_and(|it| it.elapsed().map_or(true, |age| age > TICK))
    }
}

impl From<&Metadata> for FileStamp {
    fn from(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let file = {
            use std::os::unix::fs::MetadataExt;
            Some((metadata.dev(), metadata.ino()))
        };
        #[cfg(not(unix))]
        let file = None;
        Self { len: metadata.len(), modified: metadata.modified().ok(), file }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn file_stamp_differs_after_change_or_replacement() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("place.rbxl");
        fs::write(&file, "one").unwrap();
        let old = SystemTime::now() - 2 * TICK;
        let touch = |at| File::options().write(true).open(&file).unwrap().set_modified(at).unwrap();
        touch(old);
        let first = FileStamp::of_file(&file).unwrap();
        assert!(first.is_settled());
        assert_eq!(FileStamp::of_file(&file).unwrap(), first);
        fs::write(&file, "two").unwrap();
        let second = FileStamp::of_file(&file).unwrap();
        assert_ne!(second, first);
        touch(old);
        assert_eq!(FileStamp::of_file(&file).unwrap(), first, "nobody can tell");
        touch(SystemTime::now());
        assert!(
            !FileStamp::of_file(&file).unwrap().is_settled(),
            "and so it is not believed at first"
        );
        touch(SystemTime::now() + Duration::from_hours(1));
        assert!(FileStamp::of_file(&file).unwrap().is_settled());
        let new = folder.path().join("new");
        fs::write(&new, "two").unwrap();
        File::options().write(true).open(&new).unwrap().set_modified(old).unwrap();
        fs::rename(&new, &file).unwrap();
        assert_eq!(FileStamp::of_file(&file).unwrap() == first, !cfg!(unix));
        fs::remove_file(&file).unwrap();
        assert!(FileStamp::of_file(&file).is_err());
    }
}
