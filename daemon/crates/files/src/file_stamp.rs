//! File stamps: the metadata of a file, to detect changes without reading its content.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use vector_system::FileAttributes;

/// Two changes within this time may have the same modification time.
const TICK: Duration = Duration::from_millis(100);

/// The same on any file system: FAT counts in steps of two seconds.
const COARSE_TICK: Duration = Duration::from_secs(3);

/// The attributes that distinguish one version of a file from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStamp(FileAttributes);

impl FileStamp {
    /// Reads the stamp of a file. Follows links.
    pub fn of_file(file: &Path) -> io::Result<Self> {
        FileAttributes::of_path(file).map(Self)
    }

    /// Reads the stamp of an open file.
    pub fn of_open_file(file: &File) -> io::Result<Self> {
        FileAttributes::of_file(file).map(Self)
    }

    /// The size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.0.len
    }

    /// Whether every later change is sure to give the file a different stamp. A file that was
    /// changed just now may be changed again within the same tick of the clock.
    pub fn is_settled(&self) -> bool {
        // A modification time in the future is not given to a file again.
        let is_past = |it: SystemTime| it.elapsed().map_or(true, |age| age > TICK);
        self.0.modified.is_some_and(is_past) && self.0.changed.is_none_or(is_past)
    }

    /// Whether the file's last change is so long ago that every later one is sure to give it a
    /// different stamp, even if a program sets modification times. To be asked when the stamp is
    /// taken: a change soon after it may have the same time.
    pub fn is_old(&self) -> bool {
        let is_old = |it: SystemTime| it.elapsed().is_ok_and(|age| age > COARSE_TICK);
        self.0.changed.is_some_and(is_old)
    }

    /// Whether the other stamp is that of the same version, which may have been renamed.
    pub fn is_same_version(&self, other: &Self) -> bool {
        let key = |it: &FileAttributes| (it.len, it.modified, it.volume, it.index);
        key(&self.0) == key(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

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
        while !FileStamp::of_file(&file).unwrap().is_settled() {
            std::thread::yield_now();
        }
        assert_eq!(FileStamp::of_file(&file).unwrap(), first);
        fs::write(&file, "two").unwrap();
        let second = FileStamp::of_file(&file).unwrap();
        assert_ne!(second, first);
        touch(old);
        let restored = FileStamp::of_file(&file).unwrap();
        assert!(restored.is_same_version(&first), "by these nobody can tell");
        assert_ne!(restored, first);
        touch(SystemTime::now());
        assert!(
            !FileStamp::of_file(&file).unwrap().is_settled(),
            "and so it is not believed at first"
        );
        touch(SystemTime::now() + Duration::from_hours(1));
        while !FileStamp::of_file(&file).unwrap().is_settled() {
            std::thread::yield_now();
        }
        let new = folder.path().join("new");
        fs::write(&new, "two").unwrap();
        File::options().write(true).open(&new).unwrap().set_modified(old).unwrap();
        fs::rename(&new, &file).unwrap();
        assert_ne!(FileStamp::of_file(&file).unwrap(), first);
        fs::remove_file(&file).unwrap();
        assert!(FileStamp::of_file(&file).is_err());
    }
}
