//! Files that are replaced in one step: a reader sees the old one or the new one, and a crash leaves
//! one of them. Links stay links, permissions stay.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use scene_schemas::{Fingerprint, Hashing};
use tempfile::NamedTempFile;

/// The hash of a file.
pub(super) fn hash(file: &Path) -> io::Result<Fingerprint> {
    let (mut input, mut block) = (File::open(file)?, vec![0; 1 << 16]);
    let mut hashing = Hashing::default();
    loop {
        match input.read(&mut block) {
            Ok(0) => return Ok(hashing.finish()),
            Ok(count) => hashing.add(&block[..count]),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
}

/// The canonical path; on Windows without the `\\?\` that other programs do not read.
pub(super) fn canonical(file: &Path) -> io::Result<PathBuf> {
    let path = fs::canonicalize(file)?;
    let plain = path.to_str().and_then(|text| text.strip_prefix(r"\\?\"));
    match plain.filter(|rest| !rest.starts_with("UNC")) {
        Some(plain) => Ok(PathBuf::from(plain)),
        None => Ok(path),
    }
}

/// What the names of temporary files begin with.
pub(super) const TEMPORARY: &str = ".vector-";

/// Writes a new file beside another one, with that one's permissions, down to the disk.
pub(super) fn beside<'a>(
    target: &Path,
    runs: impl IntoIterator<Item = &'a [u8]>,
) -> io::Result<NamedTempFile> {
    marked(target, "", runs)
}

/// As [`beside`], with a mark in the file's name by which it is found again.
pub(super) fn marked<'a>(
    target: &Path,
    mark: &str,
    runs: impl IntoIterator<Item = &'a [u8]>,
) -> io::Result<NamedTempFile> {
    let permissions = fs::metadata(target).map(|it| it.permissions()).ok();
    let mut builder = tempfile::Builder::new();
    let prefix = format!("{TEMPORARY}{mark}");
    builder.prefix(&prefix).suffix(".tmp");
    readable_as_others(&mut builder);
    let mut file = builder.tempfile_in(target.parent().unwrap_or(Path::new(".")))?;
    for run in runs {
        file.write_all(run)?;
    }
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    Ok(file)
}

/// Makes a folder for its owner alone where it is missing.
pub(super) fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Writes a new file beside another one, for its owner alone, down to the disk.
pub(super) fn private(target: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY).suffix(".tmp");
    // As temporary files are everywhere.
    let mut file = builder.tempfile_in(target.parent().unwrap_or(Path::new(".")))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Puts a new file in the place of the old one.
pub(super) fn put(temporary: NamedTempFile, target: &Path) -> io::Result<()> {
    temporary.persist(target).map_err(|error| error.error)?;
    sync_folder(target);
    Ok(())
}

/// What to do about an error of writing, where that is known.
pub(super) fn hint(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            ". Free some space and run it again"
        }
        io::ErrorKind::PermissionDenied => ". Allow writing there",
        _ => "",
    }
}

/// A new file is readable as the user's other files are; a temporary one would be private. Elsewhere
/// it takes the permissions of its folder.
fn readable_as_others(builder: &mut tempfile::Builder<'_, '_>) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    #[cfg(not(unix))]
    let _ = builder;
}

/// A rename is on the disk when its folder is. Systems that cannot sync a folder do without.
fn sync_folder(file: &Path) {
    if let Some(folder) = file.parent()
        && let Ok(folder) = File::open(folder)
    {
        let _ = folder.sync_all();
    }
}
