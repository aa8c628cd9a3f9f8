//! The program's own file: who put it there, and how it is removed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use vector_files::disk::canonical_path;

/// The file in the target folder of Cargo and of other build tools, which says that its content can
/// be built again.
const BUILD_TAG: &str = "CACHEDIR.TAG";

#[derive(Debug, PartialEq)]
pub(super) enum Program {
    /// An install script put it there, or the user.
    Own(PathBuf),
    /// A package manager put it there, and removes it in this way.
    Packaged { file: PathBuf, removal: String },
    /// In the target folder of Cargo.
    Built(PathBuf),
}

impl Program {
    pub(super) fn detect() -> anyhow::Result<Self> {
        let file = std::env::current_exe()
            .and_then(|file| canonical_path(&file))
            .context("the path of the vector program is not known")?;
        Ok(Self::classify(file))
    }

    fn classify(file: PathBuf) -> Self {
        if let Some(removal) = packaged_removal(&file) {
            return Self::Packaged { file, removal };
        }
        let is_built = file.ancestors().skip(1).any(|folder| folder.join(BUILD_TAG).exists());
        if is_built { Self::Built(file) } else { Self::Own(file) }
    }
}

/// How the package manager that installed a file removes it. None if no package manager did.
fn packaged_removal(file: &Path) -> Option<String> {
    let names: Vec<String> =
        file.components().map(|part| part.as_os_str().to_string_lossy().to_lowercase()).collect();
    let lies_in = |folders: &[&str]| {
        names.windows(folders.len()).any(|at| at.iter().zip(folders).all(|(a, b)| a == b))
    };
    if let Some(at) = names.iter().position(|name| name == "_npx") {
        let kept: PathBuf = file.components().take(at + 2).collect();
        return Some(format!("npx keeps it there; delete {}", kept.display()));
    }
    let managers: [(&[&str], &str); 8] = [
        (&["node_modules"], "npm uninstall --global vector-roblox"),
        (&["cellar"], "brew uninstall vector"),
        (&["scoop", "apps"], "scoop uninstall vector"),
        (&["winget", "packages"], "winget uninstall Vector.Vector"),
        (&[".cargo", "bin"], "cargo uninstall vector-daemon"),
        (&[".rokit"], "remove it from rokit.toml"),
        (&[".aftman"], "remove it from aftman.toml"),
        (&[".foreman"], "remove it from foreman.toml"),
    ];
    let manager = managers.into_iter().find(|(folders, _)| lies_in(folders));
    manager.map(|(_, removal)| removal.to_owned())
}

/// Removes the program that runs. On Windows, a folder that contains nothing else is taken off the
/// user's PATH, where the installer put it, and removed.
pub(super) fn remove_program(file: &Path) -> anyhow::Result<()> {
    let own_folder = file.parent().filter(|folder| cfg!(windows) && contains_only(folder, file));
    let failed = || format!("{} cannot be removed", file.display());
    self_replace::self_delete().with_context(failed)?;
    if let Some(folder) = own_folder {
        vector_system::remove_from_user_path(folder)
            .with_context(|| format!("{} cannot be taken off your PATH", folder.display()))?;
        // Not while Windows still shows the program.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

/// Whether a file is the only one in a folder.
fn contains_only(folder: &Path, file: &Path) -> bool {
    let is_file = |entry: fs::DirEntry| Some(entry.file_name().as_os_str()) == file.file_name();
    fs::read_dir(folder).is_ok_and(|mut entries| entries.all(|entry| entry.is_ok_and(is_file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_managers_are_told_by_their_folders() {
        // The parts of a path are joined in the way of the system.
        let removal = |path: &str| Some(packaged_removal(Path::new(path))?.replace('\\', "/"));
        for (path, expected) in [
            ("/usr/lib/node_modules/vector-roblox/vector", "npm uninstall --global vector-roblox"),
            ("/opt/homebrew/Cellar/vector/0.1.0/bin/vector", "brew uninstall vector"),
            ("/home/a/.cargo/bin/vector", "cargo uninstall vector-daemon"),
            ("/home/a/.rokit/tool-storage/o/n/0.1.0/vector", "remove it from rokit.toml"),
            (
                "/home/a/.npm/_npx/0a1b/node_modules/v/vector",
                "npx keeps it there; delete /home/a/.npm/_npx/0a1b",
            ),
        ] {
            assert_eq!(removal(path).as_deref(), Some(expected), "{path}");
        }
        for path in ["/home/a/.local/bin/vector", "/home/.cargo/a/bin/vector", "/scoop/vector"] {
            assert_eq!(removal(path), None, "{path}");
        }
    }

    #[test]
    fn folder_with_other_files_is_not_the_programs_own() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("vector.exe");
        fs::write(&file, "").unwrap();
        assert!(contains_only(folder.path(), &file));
        fs::write(folder.path().join("other.exe"), "").unwrap();
        assert!(!contains_only(folder.path(), &file));
    }

    #[test]
    fn program_in_a_build_folder_is_not_removed() {
        let target = tempfile::tempdir().unwrap();
        let file = target.path().join("debug").join("vector");
        assert_eq!(Program::classify(file.clone()), Program::Own(file.clone()));
        fs::write(target.path().join(BUILD_TAG), "").unwrap();
        assert_eq!(Program::classify(file.clone()), Program::Built(file));
    }
}
