//! Files that another program has open.
//!
//! On Windows such a file often cannot be replaced, removed or even read. Virus scanners and
//! indexers hold a new file for a moment, so that a short wait is enough; editors may hold one for
//! as long as it is open in them.

use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use tempfile::TempPath;

use crate::file_stamp::FileStamp;

/// How often an action is tried again. The waits double, and take about a second in all.
const RETRIES: u32 = 7;
const FIRST_WAIT: Duration = Duration::from_millis(8);

/// Performs an action on a file, and tries again if another program has the file open.
///
/// # Errors
/// Those of the action. If the file is still open elsewhere, the error names the program and is
/// transient.
pub fn retry_while_held<T>(
    file: &Path,
    mut action: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    let mut wait = FIRST_WAIT;
    for _ in 0..RETRIES {
        match action() {
            Err(why) if may_be_held(file, &why) => thread::sleep(wait),
            result => return result,
        }
        wait *= 2;
    }
    action().map_err(|why| name_holder(file, why))
}

/// Names the program that has a file open, in an error of an action on the file.
pub fn name_holder(file: &Path, why: io::Error) -> io::Error {
    if !is_held(file, &why) {
        return why;
    }
    let holders = vector_system::programs_holding(file);
    let holder = match &holders[..] {
        [] => "another program".to_owned(),
        names => names.join(" and "),
    };
    let message =
        format!("{holder} has it open and does not share it; close it there, then run this again");
    io::Error::new(io::ErrorKind::ResourceBusy, message)
}

/// Renames a temporary file over `target`, and tries again if another program has `target` open.
///
/// # Errors
/// `target` is as it was, and the temporary file is removed.
pub fn persist_over(temporary: TempPath, target: &Path) -> io::Result<()> {
    // Unlike `TempPath::persist`, the standard library's rename replaces a file on Windows that
    // others are reading, where the file system can.
    let path = temporary.keep().map_err(|error| error.error)?;
    let stamp = FileStamp::of_file(target).ok();
    let renamed = retry_while_held(target, || {
        // The program that has it open may have written it meanwhile.
        if FileStamp::of_file(target).ok() != stamp {
            return Err(io::Error::other("another program changed it at the same time"));
        }
        fs::rename(&path, target)
    });
    if renamed.is_err() {
        let _ = fs::remove_file(&path);
    }
    renamed
}

#[cfg(windows)]
const ACCESS_DENIED: i32 = 5;
#[cfg(windows)]
const SHARING_VIOLATION: i32 = 32;
#[cfg(windows)]
const LOCK_VIOLATION: i32 = 33;

/// Whether an error may come from another program that has the file open. Renaming over a file that
/// is being read is denied on some file systems, as it is where the user has no right to it.
#[cfg(windows)]
fn may_be_held(file: &Path, why: &io::Error) -> bool {
    match why.raw_os_error() {
        Some(SHARING_VIOLATION | LOCK_VIOLATION) => true,
        Some(ACCESS_DENIED) => {
            fs::symlink_metadata(file).is_ok_and(|it| it.is_file() && !it.permissions().readonly())
        }
        _ => false,
    }
}

/// Whether an error is sure to come from another program that has the file open.
#[cfg(windows)]
fn is_held(file: &Path, why: &io::Error) -> bool {
    use std::os::windows::fs::OpenOptionsExt;

    /// The right that is needed to rename over a file.
    const DELETE: u32 = 0x0001_0000;

    match why.raw_os_error() {
        Some(SHARING_VIOLATION | LOCK_VIOLATION) => true,
        Some(ACCESS_DENIED) => {
            let opened = fs::OpenOptions::new().access_mode(DELETE).open(file);
            opened.is_err_and(|why| why.raw_os_error() == Some(SHARING_VIOLATION))
        }
        _ => false,
    }
}

/// Always false: an open file can be replaced and removed.
#[cfg(not(windows))]
fn may_be_held(_: &Path, _: &io::Error) -> bool {
    false
}

#[cfg(not(windows))]
fn is_held(_: &Path, _: &io::Error) -> bool {
    false
}

#[cfg(windows)]
#[cfg(test)]
mod tests {
    use std::fs::{File, OpenOptions};
    use std::os::windows::fs::OpenOptionsExt;
    use std::sync::mpsc::channel;

    use super::*;
    use crate::disk;

    /// Readers may read, and nobody may write, rename or remove.
    const SHARE_READ: u32 = 1;

    fn hold(file: &Path, share: u32) -> File {
        OpenOptions::new().read(true).share_mode(share).open(file).unwrap()
    }

    #[test]
    fn held_file_is_not_replaced_and_is_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("place.rbxl");
        fs::write(&file, "old").unwrap();
        let holder = hold(&file, SHARE_READ);
        let new = disk::write_beside(&file, [&b"new"[..]]).unwrap();
        let why = disk::replace_file(new, &file).unwrap_err();
        assert!(disk::is_transient(&why), "{why:?}");
        assert!(why.to_string().contains("has it open and does not share it"), "{why}");
        assert_eq!(fs::read(&file).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file stays");
        drop(holder);
        let new = disk::write_beside(&file, [&b"new"[..]]).unwrap();
        disk::replace_file(new, &file).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
    }

    #[test]
    fn file_held_for_a_moment_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("place.rbxl");
        fs::write(&file, "old").unwrap();
        let holder = hold(&file, SHARE_READ);
        let (denied, is_denied) = channel();
        let release = thread::spawn(move || {
            is_denied.recv().unwrap();
            drop(holder);
        });
        let new = disk::write_beside(&file, [&b"new"[..]]).unwrap();
        let mut tries = 0;
        retry_while_held(&file, || {
            tries += 1;
            fs::rename(new.path(), &file).inspect_err(|_| drop(denied.send(())))
        })
        .unwrap();
        release.join().unwrap();
        assert!(tries > 1, "it was held at first");
        assert_eq!(fs::read(&file).unwrap(), b"new");
    }

    #[test]
    fn error_of_a_file_that_cannot_be_read_names_the_holder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("place.rbxl");
        fs::write(&file, "old").unwrap();
        let _holder = hold(&file, 0);
        let why = name_holder(&file, fs::read(&file).unwrap_err());
        assert!(why.to_string().contains("has it open and does not share it"), "{why}");
    }

    #[test]
    fn missing_right_is_reported_as_such() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("place.rbxl");
        fs::write(&file, "old").unwrap();
        let denied = || Err::<(), _>(io::Error::from_raw_os_error(ACCESS_DENIED));
        let why = retry_while_held(&file, denied).unwrap_err();
        assert_eq!(why.kind(), io::ErrorKind::PermissionDenied);
    }
}
