//! Files and folders for their owner alone: prompts and code are kept in the ledger's folder, and who may
//! ask the daemon.
//!
//! Elsewhere than on Unix a file takes the rights of its folder, and nothing is done here: the folder of
//! a user's data is that user's there.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

use super::FILE;

/// What Vector makes in the ledger's folder. What a person writes there is theirs, and left alone.
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

/// What a person writes there.
const USER_FILES: [&str; 2] = ["vector.toml", "models.toml"];

/// Makes a folder where it is missing, with those above it.
///
/// # Errors
/// It cannot be made.
pub fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Has a file, where these options make it, made for its owner alone.
pub fn private_options(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Takes from others what they could do with what Vector has made in its folder, and with the folder
/// where nothing else is in it. What is not the user's own stays as it is; `vector doctor` says so.
pub(super) fn tighten_permissions(home: &Path) {
    for name in OWN_FILES {
        restrict(&home.join(name));
    }
    if is_open(home) && has_only_own_files(home) {
        restrict(home);
    }
}

/// Whether nothing but Vector's things are in a folder.
fn has_only_own_files(home: &Path) -> bool {
    let is_known = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name();
            OWN_FILES.iter().chain(&USER_FILES).any(|known| name == **known)
        })
    };
    fs::read_dir(home).is_ok_and(|mut entries| entries.all(is_known))
}

/// Whether others can do anything with a file or folder; false where it is not there.
#[cfg(unix)]
pub fn is_open(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::symlink_metadata(path)
        .is_ok_and(|it| !it.is_symlink() && it.permissions().mode() & 0o077 != 0)
}

/// Whether others can do anything with a file or folder, which nobody looks at here.
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
    fn what_vector_made_is_closed_and_what_is_somebody_elses_is_not() {
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
    fn where_a_link_leads_to_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let other = home.path().join("other");
        fs::write(&other, "").unwrap();
        set(&other, 0o644);
        std::os::unix::fs::symlink(&other, home.path().join("token")).unwrap();
        tighten_permissions(home.path());
        assert_eq!(mode(&other), 0o644);
    }
}
