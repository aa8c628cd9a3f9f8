//! The attributes of files, as their handles tell them.

use std::fs::{File, OpenOptions};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::path::Path;
use std::ptr::from_mut;
use std::time::{Duration, SystemTime};

use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_BASIC_INFO, FILE_FLAG_BACKUP_SEMANTICS, FILE_READ_ATTRIBUTES,
    FileBasicInfo, GetFileInformationByHandle, GetFileInformationByHandleEx,
};

use crate::FileAttributes;

/// Number of 100-nanosecond ticks between 1601 and 1970.
const TICKS_TO_EPOCH: i64 = 116_444_736_000_000_000;

/// Reads the attributes of a file. It may be open elsewhere, in whatever mode.
pub(crate) fn of_path(path: &Path) -> io::Result<FileAttributes> {
    let mut options = OpenOptions::new();
    // Folders are opened with this flag alone.
    options.access_mode(FILE_READ_ATTRIBUTES).custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
    of_file(&options.open(path)?)
}

/// Reads the attributes of an open file.
pub(crate) fn of_file(file: &File) -> io::Result<FileAttributes> {
    let handle = file.as_raw_handle();
    // SAFETY: the structure consists of numbers, for which zero is a value.
    let mut about: BY_HANDLE_FILE_INFORMATION = unsafe { zeroed() };
    // SAFETY: the handle is that of an open file, and the structure is written within its size.
    if unsafe { GetFileInformationByHandle(handle, &raw mut about) } == 0 {
        return Err(io::Error::last_os_error());
    }
    let metadata = file.metadata()?;
    Ok(FileAttributes {
        len: metadata.len(),
        modified: metadata.modified().ok(),
        volume: u64::from(about.dwVolumeSerialNumber),
        index: u64::from(about.nFileIndexHigh) << 32 | u64::from(about.nFileIndexLow),
        changed: change_time(file),
    })
}

fn change_time(file: &File) -> Option<SystemTime> {
    // SAFETY: the structure consists of numbers, for which zero is a value.
    let mut basic: FILE_BASIC_INFO = unsafe { zeroed() };
    let size = u32::try_from(size_of::<FILE_BASIC_INFO>()).ok()?;
    let into = from_mut(&mut basic).cast();
    // SAFETY: the handle is that of an open file, and `size` is the size of what `into` points to.
    let is_read =
        unsafe { GetFileInformationByHandleEx(file.as_raw_handle(), FileBasicInfo, into, size) }
            != 0;
    let ticks = u64::try_from(basic.ChangeTime.checked_sub(TICKS_TO_EPOCH)?).ok()?;
    let since = Duration::new(ticks / 10_000_000, u32::try_from(ticks % 10_000_000).ok()? * 100);
    is_read.then(|| SystemTime::UNIX_EPOCH + since)
}
