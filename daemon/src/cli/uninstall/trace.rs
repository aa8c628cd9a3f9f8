//! Something that a command or an installer put on this machine, and how it is removed.
//!
//! What is on this machine is found elsewhere.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use vector_providers::keys::{Keychain, SystemKeychain};

use super::program;
use crate::cli::git;
use crate::cli::setup::{self, SetupRecord, WrittenEntry, WrittenPlugin};
use crate::cli::style::count_noun;
use crate::merges::WorkTree;

#[derive(Debug)]
pub(super) enum Trace {
    /// The entry in the settings of an MCP client.
    ClientEntry(WrittenEntry),
    Plugin(WrittenPlugin),
    /// The configuration of a Git work tree at this path.
    WorkTree(PathBuf),
    CompletionScript(PathBuf),
    ManPages {
        folder: PathBuf,
        files: Vec<PathBuf>,
    },
    /// The key of this provider in the keychain.
    Key(String),
    /// Files of the daemon and the commands in the ledger's folder.
    State {
        folder: PathBuf,
        files: Vec<PathBuf>,
    },
    Ledger {
        folder: PathBuf,
        files: Vec<PathBuf>,
        bytes: u64,
    },
    Program(PathBuf),
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClientEntry(written) => {
                write!(f, "{}: the entry in {}", written.client.name(), written.file.display())
            }
            Self::Plugin(plugin) => write!(f, "Studio: the plugin {}", plugin.file.display()),
            Self::WorkTree(top) => {
                write!(f, "Git: the merge driver and text form in {}", top.display())
            }
            Self::CompletionScript(file) => write!(f, "the completion script {}", file.display()),
            Self::ManPages { folder, files } => {
                write!(f, "{} in {}", count_noun(files.len(), "man page"), folder.display())
            }
            Self::Key(provider) => write!(f, "the key of {provider} in the keychain"),
            Self::State { folder, files } => write!(
                f,
                "access, settings and log of the daemon in {} ({})",
                folder.display(),
                count_noun(files.len(), "file")
            ),
            Self::Ledger { folder, bytes, .. } => {
                write!(f, "the ledger in {} ({})", folder.display(), format_size(*bytes))
            }
            Self::Program(file) => write!(f, "the program {}", file.display()),
        }
    }
}

impl Trace {
    pub(super) fn is_program(&self) -> bool {
        matches!(self, Self::Program(_))
    }

    /// Removes it, and takes it off the record in `home`. Returns a note on what stays.
    pub(super) fn remove(&self, home: &Path) -> anyhow::Result<Option<String>> {
        match self {
            Self::ClientEntry(written) => setup::remove_entry(home, written)?,
            Self::Plugin(plugin) => {
                plugin.remove()?;
                let mut record = SetupRecord::load(home)?;
                record.take_plugin(&plugin.file);
                record.save(home)?;
            }
            Self::WorkTree(top) => {
                // A work tree that was deleted or moved away has nothing to undo.
                let note = if top.exists() {
                    git::uninstall_driver(&WorkTree::find_work_tree(top)?)?
                } else {
                    None
                };
                let mut record = SetupRecord::load(home)?;
                record.work_trees.retain(|known| known != top);
                record.save(home)?;
                return Ok(note);
            }
            Self::CompletionScript(file) => remove_all(&[file])?,
            Self::ManPages { files, .. }
            | Self::State { files, .. }
            | Self::Ledger { files, .. } => remove_all(files)?,
            Self::Key(provider) => {
                SystemKeychain.remove(provider).map_err(anyhow::Error::msg)?;
            }
            Self::Program(file) => program::remove_program(file)?,
        }
        Ok(None)
    }
}

/// Removes files and folders. Those that are already gone do not matter.
fn remove_all<T: AsRef<Path>>(files: &[T]) -> anyhow::Result<()> {
    for file in files {
        let file = file.as_ref();
        let is_folder = fs::symlink_metadata(file).is_ok_and(|it| it.is_dir());
        let done = if is_folder { fs::remove_dir_all(file) } else { fs::remove_file(file) };
        match done {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            done => done.with_context(|| format!("{} cannot be removed", file.display()))?,
        }
    }
    Ok(())
}

/// A size in megabytes.
pub(super) fn format_size(bytes: u64) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}
