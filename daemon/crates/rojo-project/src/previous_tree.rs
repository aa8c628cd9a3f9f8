//! The tree as it was, for a reader that reads again what changed: what of it can stay as it is.
//!
//! What stays is found by paths alone. Nothing is compared here, and no file is read.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};

use super::listing::EntryKind;
use super::middleware::is_meta;
use super::tree::{InstanceOrigin, LINKED, ProjectTree};

/// Paths that changed, and the tree before.
#[derive(Debug)]
pub(super) struct PreviousTree<'a> {
    tree: &'a ProjectTree,
    /// The paths that changed.
    changed_paths: FxHashSet<PathBuf>,
    /// For each folder with a change somewhere below it: in which of its entries.
    changed_entries: FxHashMap<PathBuf, FxHashSet<OsString>>,
    /// For each folder: the names of the instances whose meta files changed.
    metas: FxHashMap<PathBuf, FxHashSet<String>>,
    /// The instances that were the folders of `below`, the first last.
    folders: FxHashMap<PathBuf, Vec<u32>>,
}

/// A folder as it was.
#[derive(Debug)]
pub(super) struct KnownFolder {
    pub(super) rules: u32,
    /// The entries that were instances, in order.
    pub(super) entries: Vec<(OsString, u32)>,
    /// The names of the other files that made it what it was.
    pub(super) files: Vec<OsString>,
}

impl<'a> PreviousTree<'a> {
    pub(super) fn new(tree: &'a ProjectTree, changed: &[PathBuf]) -> Self {
        let mut before = Self {
            tree,
            changed_paths: FxHashSet::default(),
            changed_entries: FxHashMap::default(),
            metas: FxHashMap::default(),
            folders: FxHashMap::default(),
        };
        for path in changed {
            before.mark_changed(path);
            for (link, real) in &tree.links {
                if let Ok(rest) = path.strip_prefix(real) {
                    before.mark_changed(&link.join(rest));
                } else if real.starts_with(path) {
                    before.mark_changed(link);
                }
            }
        }
        // What a project mounts may lie elsewhere, and hold projects that mount what changed.
        while tree.mounts.iter().fold(false, |more, (entry, target)| {
            let is_touched = before.is_changed(target)
                || before.changed_entries.contains_key(target)
                || target.parent().zip(target.file_name()).is_some_and(|(folder, name)| {
                    before.folder_changes(folder).has_changed(name)
                        || before.folder_changes(folder).has_metas()
                });
            is_touched && before.mark_ancestors(entry) || more
        }) {}
        for (number, instance) in tree.instances.iter().enumerate().rev() {
            if let InstanceOrigin::Folder { folder, .. } = &instance.origin
                && tree.notes[number].rules != LINKED
                && before.changed_entries.contains_key(folder)
            {
                before.folders.entry(folder.clone()).or_default().push(number as u32);
            }
        }
        before
    }

    fn mark_changed(&mut self, path: &Path) {
        self.changed_paths.insert(path.to_owned());
        if let (Some(folder), Some(name)) = (path.parent(), path.file_name())
            && let Some(name) = name.to_str().filter(|name| is_meta(name))
            && let Some((stem, _)) = name.rsplit_once(".meta.")
        {
            self.metas.entry(folder.to_owned()).or_default().insert(stem.to_owned());
        }
        self.mark_ancestors(path);
    }

    /// Notes in all folders above an entry that it is to be read again; says whether that was news.
    fn mark_ancestors(&mut self, path: &Path) -> bool {
        let mut at = path;
        while let (Some(folder), Some(name)) = (at.parent(), at.file_name()) {
            let names = self.changed_entries.entry(folder.to_owned()).or_default();
            if !names.insert(name.to_owned()) {
                break;
            }
            at = folder;
        }
        at != path
    }

    /// Whether a folder itself was told to have changed, so that nothing in it is known.
    pub(super) fn is_changed(&self, folder: &Path) -> bool {
        folder.ancestors().any(|folder| self.changed_paths.contains(folder))
    }

    /// A folder that something below changed in, as it was; each instance is given once.
    pub(super) fn take_folder(&mut self, folder: &Path) -> Option<KnownFolder> {
        let number = self.folders.get_mut(folder)?.pop()?;
        let tree = self.tree;
        let name = |path: &Path| {
            (path.parent() == Some(folder)).then(|| path.file_name().map(OsStr::to_owned))?
        };
        let entry = |child: &u32| {
            let entry = tree.notes[*child as usize].entry.as_deref()?;
            Some((name(entry)?, *child))
        };
        Some(KnownFolder {
            rules: tree.notes[number as usize].rules,
            entries: tree.instances[number as usize].children.iter().filter_map(entry).collect(),
            files: tree.instance_files(number).iter().filter_map(|file| name(file)).collect(),
        })
    }

    /// Whether a folder still has the entries that it had: what changed in it are entries that were
    /// there, and are still of their kind.
    pub(super) fn has_same_entries(&self, folder: &Path, known: &KnownFolder) -> bool {
        let Some(changed) = self.changed_entries.get(folder) else { return true };
        changed.iter().all(|name| {
            let Some((_, child)) = known.entries.iter().find(|(entry, _)| entry == name) else {
                return false;
            };
            let was = match &self.tree.instances[*child as usize].origin {
                InstanceOrigin::File { .. } | InstanceOrigin::Model { .. } => EntryKind::File,
                InstanceOrigin::Folder { .. } => EntryKind::Folder,
                InstanceOrigin::Node { .. } => return false,
            };
            EntryKind::at_path(&folder.join(name)) == Some(was)
        })
    }

    /// Which entries of a folder changed, or are told about by a meta file that did.
    pub(super) fn folder_changes(&self, folder: &Path) -> FolderChanges<'_> {
        FolderChanges { names: self.changed_entries.get(folder), metas: self.metas.get(folder) }
    }

    /// Whether an instance goes by a name whose meta file changed.
    pub(super) fn has_changed_meta(&self, changes: &FolderChanges<'_>, instance: u32) -> bool {
        changes.metas.is_some_and(|metas| {
            metas.contains(self.tree.instances[instance as usize].name.as_str())
        })
    }
}

/// What changed in a folder.
#[derive(Debug, Clone, Copy)]
pub(super) struct FolderChanges<'a> {
    names: Option<&'a FxHashSet<OsString>>,
    metas: Option<&'a FxHashSet<String>>,
}

impl FolderChanges<'_> {
    /// Whether an entry changed, or something in it.
    pub(super) fn has_changed(&self, name: &OsStr) -> bool {
        self.names.is_some_and(|names| names.contains(name))
    }

    /// Whether any meta file changed.
    pub(super) fn has_metas(&self) -> bool {
        self.metas.is_some()
    }
}
