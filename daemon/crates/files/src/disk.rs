//! Atomic file replacement: a reader sees the old file or the new one, and a crash leaves one of
//! the two. Symbolic links and permissions are kept.
//!
//! Also hashes files, removes stale temporary files, and classifies I/O errors.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use scene_schemas::{Fingerprint, FingerprintHasher};
use tempfile::NamedTempFile;

use crate::held;

pub fn hash_file(file: &Path) -> io::Result<Fingerprint> {
    let (mut input, mut block) = (File::open(file)?, vec![0; 1 << 16]);
    let mut hashing = FingerprintHasher::default();
    loop {
        match input.read(&mut block) {
            Ok(0) => return Ok(hashing.finish()),
            Ok(count) => hashing.update(&block[..count]),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
}

/// The canonical path. On Windows it has no `\\?\` prefix, which other programs do not accept,
/// unless it means something else without.
pub fn canonical_path(file: &Path) -> io::Result<PathBuf> {
    let path = fs::canonicalize(file)?;
    Ok(path.to_str().and_then(without_verbatim_prefix).map_or(path, PathBuf::from))
}

/// A path of Windows without its `\\?\` prefix; None if it has none, or needs it.
fn without_verbatim_prefix(path: &str) -> Option<String> {
    let rest = path.strip_prefix(r"\\?\")?;
    // Without the prefix, the system takes trailing dots and blanks from names.
    if rest.split('\\').any(|name| name.ends_with(['.', ' '])) {
        return None;
    }
    match rest.strip_prefix(r"UNC\") {
        Some(share) => Some(format!(r"\\{share}")),
        None if rest.as_bytes().get(1) == Some(&b':') => Some(rest.to_owned()),
        None => None,
    }
}

pub const TEMPORARY_PREFIX: &str = ".vector-";

/// Writes a temporary file next to `target`, with the permissions of `target`, and syncs it.
pub fn write_beside<'a>(
    target: &Path,
    runs: impl IntoIterator<Item = &'a [u8]>,
) -> io::Result<NamedTempFile> {
    write_marked(target, "", runs)
}

/// Like [`write_beside`], with `mark` in the file name so that the file can be found later.
pub fn write_marked<'a>(
    target: &Path,
    mark: &str,
    runs: impl IntoIterator<Item = &'a [u8]>,
) -> io::Result<NamedTempFile> {
    let permissions = fs::metadata(target).map(|it| it.permissions()).ok();
    let mut builder = tempfile::Builder::new();
    let prefix = format!("{TEMPORARY_PREFIX}{mark}");
    builder.prefix(&prefix).suffix(TEMPORARY_SUFFIX);
    use_default_permissions(&mut builder);
    let mut file = create_locked(&builder, target.parent().unwrap_or(Path::new(".")))?;
    for run in runs {
        file.write_all(run)?;
    }
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    Ok(file)
}

const TEMPORARY_SUFFIX: &str = ".tmp";
/// Number of random alphanumeric characters between prefix and suffix; the default of `tempfile`.
const RANDOM_LEN: usize = 6;

/// Creates a temporary file that stays locked while it is open, so that [`sweep_temporary`] in
/// another process leaves it alone. Retries if a sweep removed the file before it was locked.
fn create_locked(builder: &tempfile::Builder<'_, '_>, folder: &Path) -> io::Result<NamedTempFile> {
    loop {
        let file = builder.tempfile_in(folder)?;
        // On file systems without locks, `sweep_temporary` removes nothing either.
        if file.as_file().lock().is_err() || file.path().exists() {
            return Ok(file);
        }
    }
}

/// Removes the temporary files that terminated processes left in a folder. Removes only regular
/// files that have a name as [`write_beside`] makes it and that no process has locked.
pub fn sweep_temporary(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let is_file = || entry.file_type().is_ok_and(|it| it.is_file());
        if entry.file_name().to_str().is_some_and(is_temporary_name) && is_file() {
            remove_unlocked(&entry.path());
        }
    }
}

fn is_temporary_name(name: &str) -> bool {
    let chance =
        name.strip_prefix(TEMPORARY_PREFIX).and_then(|it| it.strip_suffix(TEMPORARY_SUFFIX));
    chance
        .is_some_and(|it| it.len() == RANDOM_LEN && it.bytes().all(|it| it.is_ascii_alphanumeric()))
}

fn remove_unlocked(file: &Path) {
    let Ok(open) = File::options().write(true).open(file) else {
        return;
    };
    if open.try_lock().is_ok() {
        // Ignore errors: a file that cannot be removed just stays.
        let _ = fs::remove_file(file);
    }
}

/// Writes a temporary file next to `target` that only its owner can access, and syncs it.
pub fn write_private(target: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY_PREFIX).suffix(TEMPORARY_SUFFIX);
    // On Unix `tempfile` makes files private by itself.
    let mut file = create_locked(&builder, target.parent().unwrap_or(Path::new(".")))?;
    vector_system::restrict_to_owner(file.path());
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Renames a temporary file over `target`.
pub fn replace_file(temporary: NamedTempFile, target: &Path) -> io::Result<()> {
    // The file stays open, and so locked, until it has its name.
    let (_file, path) = temporary.into_parts();
    held::persist_over(path, target)?;
    sync_folder(target);
    Ok(())
}

/// A hint on how to fix a write error; empty if there is none.
pub fn error_hint(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            ". Free some space and run it again"
        }
        io::ErrorKind::PermissionDenied => ". Allow writing there",
        io::ErrorKind::FileTooLarge => {
            ". The system or `ulimit -f` allows no file of that size; raise the limit"
        }
        _ => "",
    }
}

/// EMFILE and ENFILE: too many open files, in this process or in the whole system.
#[cfg(unix)]
const PASSING: [i32; 2] = [24, 23];
/// Windows error codes: too many open files (4), a sharing violation (32), a lock violation (33).
#[cfg(not(unix))]
const PASSING: [i32; 3] = [4, 32, 33];

/// Whether a retry shortly after this error may succeed.
pub fn is_transient(why: &io::Error) -> bool {
    let is_known = why.raw_os_error().is_some_and(|code| PASSING.contains(&code));
    is_known || matches!(why.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy)
}

/// Makes a new file as readable as the user's other files; `tempfile` would make it private. On
/// systems other than Unix the file takes the permissions of its folder.
fn use_default_permissions(builder: &mut tempfile::Builder<'_, '_>) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = builder;
}

/// Syncs the folder of a file, because a rename is durable only once its folder is synced. Errors
/// are ignored: some systems cannot sync a folder.
fn sync_folder(file: &Path) {
    if let Some(folder) = file.parent()
        && let Ok(folder) = File::open(folder)
    {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn only_abandoned_vector_temporary_files_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("place.rbxl");
        let kept = [
            ".vector-123-abcdef.tmp",
            ".vector-abcde.tmp",
            ".vector-abcdefg.tmp",
            ".vector-abcdef.tmp.bak",
            ".vector-ab-def.tmp",
            "vector-abcdef.tmp",
            "place.rbxl",
        ];
        for name in kept {
            fs::write(folder.path().join(name), "theirs").unwrap();
        }
        fs::create_dir(folder.path().join(".vector-folder.tmp")).unwrap();
        // The leftover of a killed process: no lock is held on it.
        fs::write(folder.path().join(".vector-aB3xY9.tmp"), "half a place").unwrap();
        let at_work = write_beside(&place, [&b"new"[..]]).unwrap();
        let owned = write_private(&place, b"new").unwrap();
        sweep_temporary(folder.path());
        let mut expected: Vec<String> = kept.map(str::to_owned).to_vec();
        expected.push(".vector-folder.tmp".to_owned());
        for file in [&at_work, &owned] {
            let name = file.path().file_name().unwrap();
            assert!(is_temporary_name(name.to_str().unwrap()), "{}", name.display());
            expected.push(name.to_str().unwrap().to_owned());
        }
        expected.sort();
        assert_eq!(names(folder.path()), expected);
        replace_file(at_work, &place).unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"new");
    }

    #[test]
    fn verbatim_prefix_is_removed_where_it_means_nothing() {
        let cases = [
            (r"\\?\C:\games\lobby.rbxl", Some(r"C:\games\lobby.rbxl")),
            (r"\\?\UNC\server\share\lobby.rbxl", Some(r"\\server\share\lobby.rbxl")),
            (r"\\?\C:\games.\lobby.rbxl", None),
            (r"\\?\C:\games\lobby ", None),
            (r"\\?\Volume{0000}\lobby.rbxl", None),
            (r"C:\games\lobby.rbxl", None),
            ("/games/lobby.rbxl", None),
        ];
        for (path, plain) in cases {
            assert_eq!(without_verbatim_prefix(path).as_deref(), plain, "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn link_named_like_a_temporary_file_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (link, to) = (folder.path().join(".vector-aaaaaa.tmp"), folder.path().join("to"));
        fs::write(&to, "theirs").unwrap();
        std::os::unix::fs::symlink(&to, &link).unwrap();
        sweep_temporary(folder.path());
        assert!(link.is_symlink());
        assert_eq!(fs::read(&to).unwrap(), b"theirs");
    }

    #[test]
    fn concurrent_sweep_never_deletes_a_writers_file() {
        let folder = tempfile::tempdir().unwrap();
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    sweep_temporary(folder.path());
                }
            });
            for n in 0..300_u32 {
                let target = folder.path().join("place");
                let file = write_beside(&target, [&n.to_le_bytes()[..]]).unwrap();
                replace_file(file, &target).unwrap();
                assert_eq!(fs::read(&target).unwrap(), n.to_le_bytes());
            }
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        assert_eq!(names(folder.path()), ["place"]);
    }
}
