//! Files and folders that only their owner can access: by their mode on Unix, by their access
//! control list on Windows.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Creates a folder and its missing parents, all accessible by their owner alone. A folder that
/// exists stays as it is.
///
/// # Errors
/// The folder cannot be created.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let mut builder = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(folder)
    }
    #[cfg(windows)]
    {
        let is_missing = |it: &&Path| !it.as_os_str().is_empty() && !it.exists();
        let mut missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
        missing.reverse();
        fs::create_dir_all(folder)?;
        missing.into_iter().try_for_each(restrict)
    }
}

/// Opens a file; if that creates it, it is accessible by its owner alone. Nothing has been written
/// to it before.
///
/// # Errors
/// The file cannot be opened or, on Windows, its access cannot be set.
pub fn open_private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
        options.open(path)
    }
    #[cfg(windows)]
    {
        let file = options.open(path)?;
        if file.metadata()?.len() == 0 {
            restrict(path)?;
        }
        Ok(file)
    }
}

/// Whether other users have any access to a file or folder; false if it does not exist, or if the
/// system does not tell. The system itself and its administrators do not count.
pub fn is_open_to_others(path: &Path) -> bool {
    let about = fs::symlink_metadata(path).ok().filter(|it| !it.is_symlink());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        about.is_some_and(|it| it.permissions().mode() & 0o077 != 0)
    }
    #[cfg(windows)]
    return about.is_some() && crate::windows::access::is_open_to_others(path).unwrap_or(false);
}

/// Removes the access of other users to a file or folder, if they have any. Does nothing for a
/// link and for what belongs to another user. What a folder contains stays as it is on Unix, where
/// nobody else can get to it any more; on Windows it is restricted too.
pub fn restrict_to_owner(path: &Path) {
    if !is_open_to_others(path) {
        return;
    }
    #[cfg(unix)]
    if let Ok(found) = fs::metadata(path) {
        use std::os::unix::fs::PermissionsExt;
        let mode = found.permissions().mode() & 0o700;
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(mode));
    }
    #[cfg(windows)]
    {
        // A file whose access cannot be set belongs to another user: `vector doctor` reports it.
        let _ = restrict(path);
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            restrict_to_owner(&entry.path());
        }
    }
}

#[cfg(windows)]
fn restrict(path: &Path) -> io::Result<()> {
    crate::windows::access::restrict_to_user(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_files_and_folders_are_open_to_nobody_else() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("outer").join("inner");
        create_private_folder(&folder).unwrap();
        create_private_folder(&folder).unwrap();
        let file = folder.join("token");
        open_private(OpenOptions::new().append(true).create(true), &file).unwrap();
        for path in [&around.path().join("outer"), &folder, &file] {
            assert!(!is_open_to_others(path), "{}", path.display());
        }
        fs::write(&file, "secret").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "secret");
        assert!(!is_open_to_others(&folder.join("missing")));
    }

    #[test]
    fn restricted_files_and_folders_are_open_to_nobody_else() {
        let around = tempfile::tempdir().unwrap();
        let (file, folder) = (around.path().join("token"), around.path().join("memory"));
        fs::write(&file, "secret").unwrap();
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("note"), "ours").unwrap();
        for path in [&file, &folder] {
            restrict_to_owner(path);
            assert!(!is_open_to_others(path), "{}", path.display());
        }
        assert_eq!(cfg!(windows), !is_open_to_others(&folder.join("note")));
        fs::write(&file, "another").unwrap();
        fs::write(folder.join("note"), "ours too").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "another");
    }
}
