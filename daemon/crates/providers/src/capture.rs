//! Whole replies of providers in files, for whoever looks for a fault in how they are read.
//!
//! It is off unless a person switches it on in their own settings. The files are for their owner
//! alone, go after some days, whether or not it is still on, and nobody serves them.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The folder in Vector's folder.
const CAPTURE_FOLDER: &str = "captured";

/// Where replies are kept, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyCapture {
    folder: PathBuf,
    retention: Duration,
}

impl ReplyCapture {
    /// In a home, for so long.
    pub fn new(home: &Path, retention: Duration) -> Self {
        Self { folder: home.join(CAPTURE_FOLDER), retention }
    }

    /// Removes the files that are too old.
    pub fn remove_expired(&self) {
        let Ok(files) = fs::read_dir(&self.folder) else {
            return;
        };
        for file in files.flatten() {
            let modified = file.metadata().and_then(|it| it.modified()).ok();
            let age = modified.and_then(|at| SystemTime::now().duration_since(at).ok());
            if age.is_some_and(|age| age >= self.retention) {
                // What cannot be removed now is tried again the next time.
                let _ = fs::remove_file(file.path());
            }
        }
    }

    /// Keeps a reply: its status, and its body as it came.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_reply(&self, model: &str, status: u16, body: &[u8]) -> io::Result<()> {
        self.remove_expired();
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder)?;
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let name: String =
            model.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(self.folder.join(format!("{at}-{name}.reply")))?;
        writeln!(file, "{model} {status}")?;
        file.write_all(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_its_owner_s_and_goes_after_its_time() {
        let home = tempfile::tempdir().unwrap();
        let capture = ReplyCapture::new(home.path(), Duration::from_hours(1));
        capture.write_reply("house/a b", 200, b"data: {}\n").unwrap();
        let files = || {
            fs::read_dir(home.path().join(CAPTURE_FOLDER)).unwrap().flatten().collect::<Vec<_>>()
        };
        let [file] = &files()[..] else { panic!("one file") };
        assert_eq!(fs::read(file.path()).unwrap(), b"house/a b 200\ndata: {}\n");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        capture.remove_expired();
        assert_eq!(files().len(), 1);
        ReplyCapture::new(home.path(), Duration::ZERO).remove_expired();
        assert_eq!(files().len(), 0);
    }
}
