//! Health report of a ledger, for diagnostics.
//!
//! Changes nothing and does not block writers.

use std::fs;
use std::path::Path;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::{Connection, OpenFlags};
use scene_schemas::entry::Seq;

use super::{FILE, LedgerError, schema};

/// The characters that a path in a URI keeps unescaped.
const UNESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_').remove(b':');
/// Maximum number of reported faults.
const MAX_FAULTS: usize = 5;
/// How long to wait for another process that is recovering the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerHealth {
    /// The format of the file; None if it has no tables yet.
    pub format: Option<i64>,
    pub head: Seq,
    /// The size in bytes, with the side files.
    pub size: u64,
    /// The faults that SQLite found.
    pub faults: Vec<String>,
}

/// Inspects the ledger in a folder. Returns None if there is no ledger.
///
/// # Errors
/// The ledger cannot be read, or a newer version of Vector wrote it.
pub fn inspect_ledger(home: &Path) -> Result<Option<LedgerHealth>, LedgerError> {
    let file = home.join(FILE);
    if !file.exists() {
        return Ok(None);
    }
    let log = home.join("ledger.sqlite-wal");
    // Without a log no process has the file open, so read it without a lock and side files.
    let inspected = inspect_file(&file, log.exists());
    let is_sound = inspected.as_ref().is_ok_and(|health| health.faults.is_empty());
    // Another process may have started to write in the meantime.
    if is_sound || !log.exists() {
        return inspected.map(Some);
    }
    inspect_file(&file, true).map(Some)
}

fn inspect_file(file: &Path, is_shared: bool) -> Result<LedgerHealth, LedgerError> {
    let failed = |source| LedgerError::from_sql(file, source);
    let conn = if is_shared {
        Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)
    } else {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(immutable_uri(file), flags)
    };
    let conn = conn.map_err(failed)?;
    conn.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    let format = schema::check_format(&conn, file)?;
    let head = || conn.query_row("SELECT coalesce(max(seq), 0) FROM entries", [], |row| row.get(0));
    let head: i64 = if format.is_some() { head().map_err(failed)? } else { 0 };
    let faults = find_faults(&conn).map_err(failed)?;
    Ok(LedgerHealth { format, head: Seq(head.unsigned_abs()), size: file_size(file), faults })
}

/// The URI of a file that tells SQLite that no process changes it.
fn immutable_uri(file: &Path) -> String {
    let path = percent_encode(file.as_os_str().as_encoded_bytes(), UNESCAPED).to_string();
    // Windows paths have backslashes and begin with a drive letter.
    let path = if cfg!(windows) { path.replace("%5C", "/") } else { path };
    format!("file:///{}?immutable=1", path.trim_start_matches('/'))
}

fn find_faults(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut check = conn.prepare(&format!("PRAGMA quick_check({MAX_FAULTS})"))?;
    let messages: Vec<String> = check.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(messages.into_iter().filter(|line| line != "ok").collect())
}

fn file_size(file: &Path) -> u64 {
    let side = |end: &str| {
        let mut name = file.as_os_str().to_owned();
        name.push(end);
        name
    };
    let files = ["", "-wal", "-shm"].map(|end| fs::metadata(side(end)).map_or(0, |it| it.len()));
    files.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::super::Ledger;
    use super::*;

    #[test]
    fn open_and_closed_ledgers_are_inspected_without_leftovers() {
        let home = tempfile::tempdir().unwrap();
        // On Windows no name contains a question mark.
        let home = home.path().join(if cfg!(windows) { "a b%20c#ö" } else { "a b%20c?#ö" });
        assert_eq!(inspect_ledger(&home).unwrap(), None);
        let ledger = Ledger::open(&home).unwrap();
        let open = inspect_ledger(&home).unwrap().unwrap();
        assert_eq!((open.format, open.head, open.faults), (Some(2), Seq(0), vec![]));
        drop(ledger);
        let names = || {
            let entries = fs::read_dir(&home).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        let before = names();
        assert_eq!(inspect_ledger(&home).unwrap().unwrap().format, Some(2));
        assert_eq!(names(), before, "nothing is left behind");
    }

    #[test]
    fn damaged_ledger_is_reported() {
        let home = tempfile::tempdir().unwrap();
        drop(Ledger::open(home.path()).unwrap());
        let file = home.path().join(FILE);
        let mut bytes = fs::read(&file).unwrap();
        let half = bytes.len() / 2;
        bytes[half..].fill(0xa5);
        fs::write(&file, &bytes).unwrap();
        let looked = inspect_ledger(home.path());
        assert!(looked.is_err() || looked.unwrap().is_some_and(|it| !it.faults.is_empty()));
        fs::write(&file, "this is not a database").unwrap();
        assert!(matches!(inspect_ledger(home.path()), Err(LedgerError::Corrupt { .. })));
        fs::write(&file, "").unwrap();
        assert_eq!(inspect_ledger(home.path()).unwrap().unwrap().format, None);
    }
}
