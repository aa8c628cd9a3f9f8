//! Files and folders that only their owner can access.
//!
//! The ledger folder contains prompts and code, and the tokens that grant access to the daemon. On
//! systems other than Unix this module does nothing: files take the permissions of their folder,
//! and the data folder of a user is private there.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

use super::FILE;

/// The files that Vector creates in the ledger folder. Files that the user writes are left alone.
pub const OWN_FILES: [&str; 15] = [
    FILE,
    "ledger.sqlite-wal",
    "ledger.sqlite-shm",
    "ledger.lock",
    "leases",
    "serve.lock",
    "serve.log",
    "token",
    "agent-token",
    "paired",
    "clients",
    "settings.json",
    "setup.json",
    "memory",
    "captured",
];

/// The files that the user writes there.
const USER_FILES: [&str; 2] = ["vector.toml", "models.toml"];

/// Creates a folder and its missing parents.
///
/// # Errors
/// The folder cannot be created.
pub fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes files that are created with these options accessible by their owner only.
pub fn private_options(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Removes the access of other users to the files that Vector created in its folder, and to the
/// folder if it contains nothing else. Files of other owners stay as they are; `vector doctor`
/// reports them.
pub(super) fn tighten_permissions(home: &Path) {
    for name in OWN_FILES {
        restrict(&home.join(name));
    }
    if is_open(home) && has_only_own_files(home) {
        restrict(home);
    }
}

/// Whether a folder contains only files known to Vector.
fn has_only_own_files(home: &Path) -> bool {
    let is_known = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name();
            OWN_FILES.iter().chain(&USER_FILES).any(|known| name == **known)
        })
    };
    fs::read_dir(home).is_ok_and(|mut entries| entries.all(is_known))
}

/// Whether other users have any access to a file or folder; false if it does not exist.
#[cfg(unix)]
pub fn is_open(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::symlink_metadata(path)
        .is_ok_and(|it| !it.is_symlink() && it.permissions().mode() & 0o077 != 0)
}

/// Always false: file modes are not checked on this platform.
#[cfg(not(unix))]
pub fn is_open(_path: &Path) -> bool {
    false
}

#[cfg(unix)]
fn restrict(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    if is_open(path)
        && let Ok(found) = fs::metadata(path)
    {
        let mode = found.permissions().mode() & 0o700;
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(mode));
    }
}

#[cfg(not(unix))]
fn restrict(_path: &Path) {}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn only_files_made_by_vector_become_private() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        for name in ["token", "serve.lock", "vector.toml"] {
            fs::write(at(name), "").unwrap();
            set(&at(name), 0o644);
        }
        fs::create_dir(at("memory")).unwrap();
        set(&at("memory"), 0o755);
        set(home.path(), 0o755);
        fs::write(at("notes.txt"), "").unwrap();
        tighten_permissions(home.path());
        assert_eq!([mode(&at("token")), mode(&at("serve.lock"))], [0o600, 0o600]);
        assert_eq!([mode(&at("memory")), mode(&at("vector.toml"))], [0o700, 0o644]);
        assert_eq!(mode(home.path()), 0o755, "somebody keeps other things there");
        fs::remove_file(at("notes.txt")).unwrap();
        tighten_permissions(home.path());
        assert_eq!(mode(home.path()), 0o700);
    }

    #[test]
    fn link_target_keeps_its_permissions() {
        let home = tempfile::tempdir().unwrap();
        let other = home.path().join("other");
        fs::write(&other, "").unwrap();
        set(&other, 0o644);
        std::os::unix::fs::symlink(&other, home.path().join("token")).unwrap();
        tighten_permissions(home.path());
        assert_eq!(mode(&other), 0o644);
    }
}
