//! Stores whole provider replies in files, for debugging of the decoders.
//!
//! It is off unless the user enables it in their own settings. Only the owner can read the files.
//! They are removed after some days, even when capturing is off again, and they are never served.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The name of the folder in Vector's folder.
const CAPTURE_FOLDER: &str = "captured";

/// The folder for replies, and how long they are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyCapture {
    folder: PathBuf,
    retention: Duration,
}

impl ReplyCapture {
    /// Creates a capture in Vector's folder `home`.
    pub fn new(home: &Path, retention: Duration) -> Self {
        Self { folder: home.join(CAPTURE_FOLDER), retention }
    }

    /// Removes the files that are older than the retention.
    pub fn remove_expired(&self) {
        let Ok(files) = fs::read_dir(&self.folder) else {
            return;
        };
        for file in files.flatten() {
            let modified = file.metadata().and_then(|it| it.modified()).ok();
            let age = modified.and_then(|at| SystemTime::now().duration_since(at).ok());
            if age.is_some_and(|age| age >= self.retention) {
                // If a file cannot be removed now, the next call tries again.
                let _ = fs::remove_file(file.path());
            }
        }
    }

    /// Stores a reply: its status, and its body as received.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_reply(&self, model: &str, status: u16, body: &[u8]) -> io::Result<()> {
        self.remove_expired();
        vector_system::create_private_folder(&self.folder)?;
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let name: String =
            model.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let path = self.folder.join(format!("{at}-{name}.reply"));
        let mut file = vector_system::open_private(&mut options, &path)?;
        writeln!(file, "{model} {status}")?;
        file.write_all(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captured_reply_is_private_and_expires() {
        let home = tempfile::tempdir().unwrap();
        let capture = ReplyCapture::new(home.path(), Duration::from_hours(1));
        capture.write_reply("house/a b", 200, b"data: {}\n").unwrap();
        let files = || {
            fs::read_dir(home.path().join(CAPTURE_FOLDER)).unwrap().flatten().collect::<Vec<_>>()
        };
        let [file] = &files()[..] else { panic!("one file") };
        assert_eq!(fs::read(file.path()).unwrap(), b"house/a b 200\ndata: {}\n");
        assert!(!vector_system::is_open_to_others(&file.path()));
        capture.remove_expired();
        assert_eq!(files().len(), 1);
        ReplyCapture::new(home.path(), Duration::ZERO).remove_expired();
        assert_eq!(files().len(), 0);
    }
}
