//! Incremental reading: determines which parts of the previous tree can be kept.
//!
//! The decision depends on paths and the kinds of entries only. No contents are compared, and no
//! file is read.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};
use vector_files::disk::canonical_path;

use super::listing::EntryKind;
use super::middleware::is_meta;
use super::tree::{InstanceOrigin, LINKED, ProjectTree};

/// The maximum number of paths that are found through links, besides the changed ones.
const MAX_LINKED_PATHS: usize = 2_000;

/// The previous tree, and the paths that changed since.
#[derive(Debug)]
pub(super) struct PreviousTree<'a> {
    tree: &'a ProjectTree,
    changed_paths: FxHashSet<PathBuf>,
    /// For each folder with a change somewhere below it, the entries that lead to the change.
    changed_entries: FxHashMap<PathBuf, FxHashSet<OsString>>,
    /// For each folder, the names of the instances whose meta files changed.
    metas: FxHashMap<PathBuf, FxHashSet<String>>,
    /// The folder instances for the paths in `changed_entries`, in reverse order so that `pop`
    /// returns the first.
    folders: FxHashMap<PathBuf, Vec<u32>>,
}

/// A folder as it was.
#[derive(Debug)]
pub(super) struct KnownFolder {
    pub(super) rules: u32,
    /// The entries that were instances, in order.
    pub(super) entries: Vec<(OsString, u32)>,
    /// The names of the other files that the folder was read from.
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
        before.mark_through_links(changed);
        // A mount may lead outside the project folder, to a project that in turn mounts what
        // changed. Repeat until nothing more is marked.
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

    /// Marks paths as changed, and all paths that lead to them through links.
    fn mark_through_links(&mut self, changed: &[PathBuf]) {
        let mut open: Vec<PathBuf> = changed.to_vec();
        // What is written through a link changes the target of the link.
        open.extend(changed.iter().filter_map(|path| canonical_path(path).ok()));
        let mut seen: FxHashSet<PathBuf> = open.iter().cloned().collect();
        while let Some(path) = open.pop() {
            self.mark_changed(&path);
            if seen.len() > 2 * changed.len() + MAX_LINKED_PATHS {
                // Links that lead to each other have no end of paths. Nothing is kept then.
                self.changed_paths.extend(path.ancestors().last().map(Path::to_owned));
                return;
            }
            for (link, real) in &self.tree.links {
                let reached = match path.strip_prefix(real) {
                    // A folder inside itself is not read.
                    Ok(_) if path.starts_with(link) => None,
                    Ok(rest) => Some(join(link, rest)),
                    Err(_) => real.starts_with(&path).then(|| link.clone()),
                };
                let target = path.strip_prefix(link).ok().map(|rest| join(real, rest));
                for path in [reached, target].into_iter().flatten() {
                    if seen.insert(path.clone()) {
                        open.push(path);
                    }
                }
            }
        }
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

    /// Marks an entry as changed in all folders above it. Returns whether any mark is new.
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

    /// Whether a folder itself or a folder above it is among the changed paths, so that nothing in
    /// it can be kept.
    pub(super) fn is_changed(&self, folder: &Path) -> bool {
        folder.ancestors().any(|folder| self.changed_paths.contains(folder))
    }

    /// Returns the previous state of a folder with a change below it. Each instance is returned
    /// only once.
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

    /// Whether a folder still has the same entries: every changed entry existed before, and still
    /// has the same kind.
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

    /// Returns the changes in a folder: the changed entries, and the names whose meta files
    /// changed.
    pub(super) fn folder_changes(&self, folder: &Path) -> FolderChanges<'_> {
        FolderChanges { names: self.changed_entries.get(folder), metas: self.metas.get(folder) }
    }

    /// Whether a meta file for the name of an instance changed.
    pub(super) fn has_changed_meta(&self, changes: &FolderChanges<'_>, instance: u32) -> bool {
        changes.metas.is_some_and(|metas| {
            metas.contains(self.tree.instances[instance as usize].name.as_str())
        })
    }
}

/// The changes in a folder.
#[derive(Debug, Clone, Copy)]
pub(super) struct FolderChanges<'a> {
    names: Option<&'a FxHashSet<OsString>>,
    metas: Option<&'a FxHashSet<String>>,
}

impl FolderChanges<'_> {
    /// Whether an entry, or anything in it, changed.
    pub(super) fn has_changed(&self, name: &OsStr) -> bool {
        self.names.is_some_and(|names| names.contains(name))
    }

    /// Whether any meta file changed.
    pub(super) fn has_metas(&self) -> bool {
        self.metas.is_some()
    }
}

fn join(folder: &Path, rest: &Path) -> PathBuf {
    // Joining an empty path would append a slash.
    if rest == Path::new("") { folder.to_owned() } else { folder.join(rest) }
}
