//! The files of the ledger's folder, which only their owner can access: it contains prompts and
//! code, and the tokens that grant access to the daemon.

use std::fs;
use std::io;
use std::path::Path;

use vector_system::{is_open_to_others, restrict_to_owner};

use super::FILE;

/// The ledger and what belongs to it: the memories of places, and captured exchanges with providers.
pub const LEDGER_FILES: [&str; 8] = [
    FILE,
    "ledger.sqlite-wal",
    "ledger.sqlite-shm",
    "ledger.lock",
    "applying.lock",
    "leases",
    "memory",
    "captured",
];

/// What the daemon and the commands keep beside the ledger: access, settings, and the record of
/// what they wrote elsewhere.
pub const STATE_FILES: [&str; 11] = [
    "serve.lock",
    "serve.pid",
    "serve.log",
    "token",
    "agent-token",
    "paired",
    "clients",
    "pages",
    "mcp-sessions.json",
    "settings.json",
    "setup.json",
];

/// The files that the user writes there.
pub const USER_FILES: [&str; 2] = ["vector.toml", "models.toml"];

/// The files that Vector creates in the ledger folder. Files that the user writes are left alone.
pub fn own_files() -> impl Iterator<Item = &'static str> {
    LEDGER_FILES.into_iter().chain(STATE_FILES)
}

/// Removes the access of other users to the files that Vector created in its folder, and to the
/// folder if it contains nothing else. Files of other owners stay as they are; `vector doctor`
/// reports them.
pub(super) fn tighten_permissions(home: &Path) {
    for name in own_files() {
        restrict_to_owner(&home.join(name));
    }
    if is_open_to_others(home) && has_only_own_files(home) {
        restrict_to_owner(home);
    }
}

/// Whether a folder contains only files known to Vector.
fn has_only_own_files(home: &Path) -> bool {
    let is_known = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name();
            own_files().chain(USER_FILES).any(|known| name == *known)
        })
    };
    fs::read_dir(home).is_ok_and(|mut entries| entries.all(is_known))
}

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
