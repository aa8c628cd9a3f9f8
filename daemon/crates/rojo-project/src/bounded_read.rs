//! Size-limited reading of project files: a project from an untrusted source must not be able to
//! exhaust the memory of this machine.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The size of the largest project file that is read, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 32 << 20;

/// Reads a file of limited size.
///
/// # Errors
/// Fails like [`std::fs::read`], and with `FileTooLarge` if the file has more than
/// [`MAX_FILE_BYTES`] bytes. In that case no content is returned.
pub(super) fn read_file(file: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(file)?;
    let length = file.metadata()?.len();
    if length > MAX_FILE_BYTES {
        return Err(too_large_error(length));
    }
    let mut bytes = Vec::with_capacity(length as usize);
    // The file may grow while it is read.
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        length if length > MAX_FILE_BYTES => Err(too_large_error(length)),
        _ => Ok(bytes),
    }
}

fn too_large_error(length: u64) -> io::Error {
    let why = format!(
        "it has {} MB, and a file of a project has at most {} MB",
        length.div_ceil(1 << 20),
        MAX_FILE_BYTES >> 20
    );
    io::Error::new(io::ErrorKind::FileTooLarge, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_up_to_the_size_limit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.luau");
        // A sparse file: it takes no space on the disk.
        File::create(&file).unwrap().set_len(MAX_FILE_BYTES).unwrap();
        assert_eq!(read_file(&file).unwrap().len() as u64, MAX_FILE_BYTES);
        File::create(&file).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
        let why = read_file(&file).unwrap_err();
        assert_eq!(why.kind(), io::ErrorKind::FileTooLarge);
        assert!(why.to_string().contains("33 MB"), "{why}");
    }
}
