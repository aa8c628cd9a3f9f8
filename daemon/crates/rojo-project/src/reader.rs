//! Conversion of files to instances by the rules of Rojo 7.7. A path becomes an instance by the
//! kind of its entry; a node of a project becomes one by its `$path` and its own settings.
//!
//! A faulty file is reported and left out. The reader writes nothing, and reads nothing outside the
//! boundary.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use rbx_types::{Enum, Variant};
use rustc_hash::FxHashSet;
use vector_files::disk::canonical_path;

use super::bounded_read::read_file;
use super::glob::{IgnoreGlob, SyncRule, is_ignored};
use super::listing::{EntryKind, FolderListing};
use super::middleware::{FileMiddleware, INIT_FILES, LISTED_INIT_FILES, ScriptKind};
use super::previous_tree::{KnownFolder, PreviousTree};
use super::project::DEFAULT_NAMES;
use super::snapshot::{InstanceSnapshot, SnapshotChild};
use super::tree::{InstanceOrigin, LINKED, ProjectDiagnostic};
use super::{data, meta, model};

/// The maximum nesting depth of folders and projects.
const MAX_DEPTH: usize = 500;

/// The maximum number of links that are resolved for a path; more of them are a loop.
const MAX_LINKS: usize = 40;

/// The settings of a project that apply to the files it mounts.
#[derive(Debug, Clone)]
pub(super) struct FileRules {
    pub(super) emit_legacy_scripts: bool,
    pub(super) ignores: Vec<IgnoreGlob>,
    pub(super) syncs: Vec<SyncRule>,
    /// The index of these rules in the list of the tree.
    pub(super) number: u32,
}

impl Default for FileRules {
    fn default() -> Self {
        Self { emit_legacy_scripts: true, ignores: Vec::new(), syncs: Vec::new(), number: 0 }
    }
}

impl PartialEq for FileRules {
    fn eq(&self, other: &Self) -> bool {
        self.emit_legacy_scripts == other.emit_legacy_scripts
            && self.ignores == other.ignores
            && self.syncs == other.syncs
    }
}

/// Reads a project once.
#[derive(Debug)]
pub(super) struct ProjectReader<'a> {
    pub(super) folder: &'a Path,
    pub(super) boundary: &'a Path,
    /// The previous tree; None for a full reading.
    pub(super) previous: Option<PreviousTree<'a>>,
    /// The faults, each with the entry that was being read.
    pub(super) faults: Vec<(PathBuf, ProjectDiagnostic)>,
    /// The entries that were read rather than kept from the previous tree.
    pub(super) visited: FxHashSet<PathBuf>,
    /// The folders in which some entries were kept from the previous tree.
    pub(super) reused_folders: FxHashSet<PathBuf>,
    pub(super) rules: Vec<FileRules>,
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    pub(super) mounts: Vec<(PathBuf, PathBuf)>,
    /// The entry that is being read.
    pub(super) entry: PathBuf,
    /// The real paths of the folders and projects that are being read.
    open_paths: Vec<PathBuf>,
}

/// A path as it is reached, and the path that it resolves to if it contains links.
#[derive(Debug, Clone)]
pub(super) struct RealPath {
    pub(super) path: PathBuf,
    pub(super) real: PathBuf,
}

impl RealPath {
    pub(super) fn from_path(path: PathBuf) -> Self {
        Self { real: path.clone(), path }
    }

    fn join(&self, name: impl AsRef<Path>) -> Self {
        Self { path: self.path.join(&name), real: self.real.join(&name) }
    }

    /// Returns the file name; None if it is not UTF-8.
    pub(super) fn name(&self) -> Option<&str> {
        self.path.file_name()?.to_str()
    }
}

impl<'a> ProjectReader<'a> {
    pub(super) fn new(folder: &'a Path, boundary: &'a Path, project: &Path) -> Self {
        let mut open_paths = vec![project.to_owned()];
        if project.file_name().is_some_and(|name| DEFAULT_NAMES.iter().any(|it| name == *it)) {
            open_paths.push(folder.to_owned());
        }
        Self {
            folder,
            boundary,
            previous: None,
            faults: Vec::new(),
            visited: [project.to_owned()].into_iter().collect(),
            reused_folders: FxHashSet::default(),
            rules: Vec::new(),
            links: Vec::new(),
            mounts: Vec::new(),
            entry: project.to_owned(),
            open_paths,
        }
    }

    /// Sets the number of the rules. Equal rules share a number.
    pub(super) fn number_rules(&mut self, mut rules: FileRules) -> FileRules {
        let known = self.rules.iter().position(|known| *known == rules);
        rules.number = known.unwrap_or(self.rules.len()) as u32;
        if known.is_none() {
            self.rules.push(rules.clone());
        }
        rules
    }

    pub(super) fn report(
        &mut self,
        file: &Path,
        message: impl Into<String>,
        is_fatal_to_rojo: bool,
    ) {
        let (file, message) = (file.to_owned(), message.into());
        let diagnostic = ProjectDiagnostic { file, message, is_fatal_to_rojo };
        self.faults.push((self.entry.clone(), diagnostic));
    }

    pub(super) fn report_all(&mut self, file: &Path, faults: Vec<String>) {
        for fault in faults {
            self.report(file, fault, true);
        }
    }

    /// Returns the key that identifies the instance of a file.
    pub(super) fn instance_key(&self, path: &Path) -> String {
        let relative = relative_path(path, self.folder);
        let key = relative.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
        // The scene interprets a leading `#` as a number.
        if key.starts_with('#') { format!("./{key}") } else { key }
    }

    /// Reads the entry at a path. Returns None if it is not an instance or was left out.
    pub(super) fn read_entry(
        &mut self,
        place: &RealPath,
        kind: EntryKind,
        listing: Option<&FolderListing>,
        rules: &FileRules,
    ) -> Option<InstanceSnapshot> {
        self.visited.insert(place.path.clone());
        let outer = std::mem::replace(&mut self.entry, place.path.clone());
        let read = match kind {
            EntryKind::Link => match self.follow_link(place) {
                Some((place, kind)) => self.read_entry(&place, kind, None, rules),
                None => None,
            },
            EntryKind::Folder => {
                self.with_cycle_guard(place, |this| this.read_folder(place, rules))
            }
            EntryKind::File => self.read_file(place, listing, rules),
            EntryKind::Other => {
                self.report(&place.path, "it is neither a file nor a folder; move it away", true);
                None
            }
        };
        self.entry = outer;
        read
    }

    /// Follows the link at a path. Returns None if it leads nowhere or out of the boundary.
    pub(super) fn follow_link(&mut self, place: &RealPath) -> Option<(RealPath, EntryKind)> {
        self.record_links(&place.path, &place.real);
        // Rojo ignores dangling links too.
        let real = canonical_path(&place.real).ok()?;
        if !real.starts_with(self.boundary) {
            self.report(
                &place.path,
                format!(
                    "the link leads out of {}, to {}; put what it means inside",
                    self.boundary.display(),
                    real.display()
                ),
                false,
            );
            return None;
        }
        let kind = EntryKind::at_path(&real)?;
        self.links.push((place.path.clone(), real.clone()));
        Some((RealPath { path: place.path.clone(), real }, kind))
    }

    /// Records what the meaning of a path depends on: the links that it leads through, and its
    /// target, which may appear later.
    pub(super) fn record_links(&mut self, path: &Path, real: &Path) {
        let traced = trace_links(real).into_iter().filter(|at| at != path);
        self.links.extend(traced.map(|at| (path.to_owned(), at)));
    }

    /// Reads a folder or project, unless it contains itself or is nested too deep.
    pub(super) fn with_cycle_guard<T>(
        &mut self,
        place: &RealPath,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        if self.open_paths.contains(&place.real) {
            self.report(
                &place.path,
                "it is part of itself; take out the link or `$path` to it",
                true,
            );
            return None;
        }
        if self.open_paths.len() >= MAX_DEPTH {
            let why = format!("it is more than {MAX_DEPTH} folders deep and is left out");
            self.report(&place.path, why, false);
            return None;
        }
        self.open_paths.push(place.real.clone());
        let read = read(self);
        self.open_paths.pop();
        read
    }

    fn read_folder(&mut self, place: &RealPath, rules: &FileRules) -> Option<InstanceSnapshot> {
        let Some(name) = place.name().map(str::to_owned) else {
            self.report(&place.path, "its name is not text, which Rojo needs", true);
            return None;
        };
        let known = self.take_known_folder(place, rules);
        let listing = match &known {
            Some((known, true)) => FolderListing::from_files(&known.files),
            _ => match FolderListing::read_folder(&place.real) {
                Ok(listing) => listing,
                Err(error) => {
                    self.report(&place.path, format!("the folder cannot be read: {error}"), true);
                    return None;
                }
            },
        };
        // The listing of a folder with unchanged entries names only the folder's own files, so it
        // cannot be used to look for meta files.
        let whole = !matches!(known, Some((_, true)));
        let complete_listing = whole.then_some(&listing);
        if let Some(project) = DEFAULT_NAMES.iter().find(|project| listing.contains(project)) {
            // Nothing else in the folder is part of the tree any more.
            self.reused_folders.remove(&place.path);
            let project = self.read_companion(&place.join(project))?;
            return self.read_project(&project, &name, rules);
        }
        let init = INIT_FILES.iter().find(|(init, _)| listing.contains(init));
        let mut snapshot = InstanceSnapshot::new(
            &name,
            "Folder",
            self.instance_key(&place.path),
            InstanceOrigin::Folder {
                folder: place.real.clone(),
                init: None,
                meta: place.real.join(newest_meta(&listing, "init")),
                mounted: None,
            },
        );
        if let Some((init, middleware)) = init
            && let Some(init) = self.read_companion(&place.join(init))
            && self.read_text_into(&init, *middleware, rules, &mut snapshot)
        {
            self.apply_inner_metas(place, &name, complete_listing, &mut snapshot);
            if let InstanceOrigin::Folder { init: found, .. } = &mut snapshot.origin {
                *found = Some(init.real);
            }
        }
        let inits = LISTED_INIT_FILES.iter().filter(|init| listing.contains(init));
        snapshot.files.extend(inits.map(|init| place.real.join(init)));
        snapshot.children = match known {
            Some((known, true)) => self.read_same_children(place, &known, rules),
            Some((known, false)) => self.read_children(place, &listing, Some(&known), rules),
            None => self.read_children(place, &listing, None, rules),
        };
        snapshot.rules = if place.path == place.real { rules.number } else { LINKED };
        self.apply_metas(&place.real, "init", complete_listing, &mut snapshot);
        Some(snapshot)
    }

    /// Returns the folder as it was if its children can be reused, and whether its entries are the
    /// same.
    fn take_known_folder(
        &mut self,
        place: &RealPath,
        rules: &FileRules,
    ) -> Option<(KnownFolder, bool)> {
        let before = self.previous.as_mut()?;
        if place.path != place.real || before.is_changed(&place.path) {
            return None;
        }
        let known = before.take_folder(&place.path).filter(|known| known.rules == rules.number)?;
        let is_same = before.has_same_entries(&place.path, &known);
        self.reused_folders.insert(place.path.clone());
        Some((known, is_same))
    }

    /// Applies meta files inside the folder that carry the folder's name. Rojo reads an `init` file
    /// like any other file with that name, so such a meta file sets properties of the folder, and
    /// nothing else.
    fn apply_inner_metas(
        &mut self,
        place: &RealPath,
        name: &str,
        listing: Option<&FolderListing>,
        snapshot: &mut InstanceSnapshot,
    ) {
        let ignores_unknown = snapshot.ignores_unknown;
        self.apply_metas(&place.real, name, listing, snapshot);
        snapshot.ignores_unknown = ignores_unknown;
        snapshot.id = None;
        snapshot.files.clear();
    }

    /// Reads the children of a folder from its entries. Unchanged children are kept.
    fn read_children(
        &mut self,
        place: &RealPath,
        listing: &FolderListing,
        known: Option<&KnownFolder>,
        rules: &FileRules,
    ) -> Vec<SnapshotChild> {
        let mut children = Vec::new();
        let mut old = known.map_or(&[][..], |known| &known.entries).iter().peekable();
        for (name, kind) in &listing.entries {
            // Both lists are sorted by name.
            while old.next_if(|(entry, _)| entry < name).is_some() {}
            let was = old.next_if(|(entry, _)| entry == name).map(|(_, number)| *number);
            if known.is_some() && self.is_unchanged(place, name, was) {
                children.extend(was.map(SnapshotChild::Unchanged));
                continue;
            }
            let child = place.join(name);
            if !is_ignored(&rules.ignores, &child.path) {
                children.extend(self.read_child(&child, *kind, Some(listing), rules));
            }
        }
        children
    }

    /// Reads the children of a folder whose entries are the same as before.
    fn read_same_children(
        &mut self,
        place: &RealPath,
        known: &KnownFolder,
        rules: &FileRules,
    ) -> Vec<SnapshotChild> {
        let mut children = Vec::with_capacity(known.entries.len());
        for (name, was) in &known.entries {
            if self.is_unchanged(place, name, Some(*was)) {
                children.push(SnapshotChild::Unchanged(*was));
                continue;
            }
            let child = place.join(name);
            if let Some(kind) = EntryKind::at_path(&child.path) {
                children.extend(self.read_child(&child, kind, None, rules));
            }
        }
        children
    }

    /// Whether an entry of a known folder is unchanged.
    fn is_unchanged(&self, place: &RealPath, name: &OsStr, was: Option<u32>) -> bool {
        let Some(before) = &self.previous else { return false };
        let changes = before.folder_changes(&place.path);
        match was {
            Some(was) => !changes.has_changed(name) && !before.has_changed_meta(&changes, was),
            None => !changes.has_changed(name) && !changes.has_metas(),
        }
    }

    fn read_child(
        &mut self,
        place: &RealPath,
        kind: EntryKind,
        listing: Option<&FolderListing>,
        rules: &FileRules,
    ) -> Option<SnapshotChild> {
        let mut child = self.read_entry(place, kind, listing, rules)?;
        child.entry = Some(place.path.clone());
        Some(SnapshotChild::new(child))
    }

    /// Reads the text of a script or data file into a snapshot of any kind. Returns whether it
    /// succeeded.
    fn read_text_into(
        &mut self,
        file: &RealPath,
        middleware: FileMiddleware,
        rules: &FileRules,
        snapshot: &mut InstanceSnapshot,
    ) -> bool {
        let Some(bytes) = self.read_bytes(file) else { return false };
        let read = match middleware {
            FileMiddleware::Csv => data::translation_table(&bytes),
            FileMiddleware::Json => data::json_module(&bytes),
            FileMiddleware::Toml => data::toml_module(&bytes),
            FileMiddleware::Yaml => data::yaml_module(&bytes),
            _ => data::script_text(bytes),
        };
        let text = match read {
            Ok(text) => text,
            Err(why) => {
                self.report(&file.path, why, true);
                return false;
            }
        };
        match middleware {
            FileMiddleware::Script(script) => set_script(snapshot, script, text, rules),
            FileMiddleware::Csv => {
                "LocalizationTable".clone_into(&mut snapshot.class);
                snapshot.set_property("Contents", text);
            }
            FileMiddleware::Text => {
                "StringValue".clone_into(&mut snapshot.class);
                snapshot.set_property("Value", text);
            }
            _ => {
                "ModuleScript".clone_into(&mut snapshot.class);
                snapshot.set_property("Source", text);
            }
        }
        true
    }

    /// Resolves a file that is read along with another one. Returns None if it does not exist or is
    /// not a file.
    fn read_companion(&mut self, place: &RealPath) -> Option<RealPath> {
        let (inside, kind) = match EntryKind::at_path(&place.real)? {
            EntryKind::Link => self.follow_link(place)?,
            kind => (place.clone(), kind),
        };
        if kind != EntryKind::File {
            self.report(&place.path, "a file is read here, and it is none; move it away", true);
            return None;
        }
        Some(inside)
    }

    pub(super) fn read_bytes(&mut self, file: &RealPath) -> Option<Vec<u8>> {
        match read_file(&file.real) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                let is_fatal_to_rojo = error.kind() != ErrorKind::FileTooLarge;
                let message = if is_fatal_to_rojo {
                    format!("it cannot be read: {error}")
                } else {
                    format!("{error}; make it smaller, or move it out of the project")
                };
                self.report(&file.path, message, is_fatal_to_rojo);
                None
            }
        }
    }

    fn read_file(
        &mut self,
        place: &RealPath,
        listing: Option<&FolderListing>,
        rules: &FileRules,
    ) -> Option<InstanceSnapshot> {
        let Some(file_name) = place.name() else {
            self.report(&place.path, "its name is not text, which Rojo needs", true);
            return None;
        };
        if INIT_FILES.iter().any(|(init, _)| *init == file_name) {
            return None;
        }
        let rule = rules.syncs.iter().find(|rule| rule.matches(&place.path));
        let (middleware, name) = match rule {
            Some(rule) => (rule.middleware, rule.instance_name(file_name)),
            None => FileMiddleware::from_file_name(file_name)?,
        };
        match middleware {
            FileMiddleware::Ignore => None,
            FileMiddleware::Project => self.read_project(place, name, rules),
            FileMiddleware::JsonModel | FileMiddleware::Binary | FileMiddleware::Xml => {
                let bytes = self.read_bytes(place)?;
                let key = self.instance_key(&place.path);
                let mut faults = Vec::new();
                let model = model::ModelReader { file: &place.real, key: &key, name };
                let mut snapshot = match middleware {
                    FileMiddleware::JsonModel => model.read_json(&bytes, &mut faults),
                    _ => model.read_roblox_model(bytes, &mut faults),
                };
                self.report_all(&place.path, faults);
                if let Some(snapshot) = &mut snapshot {
                    snapshot.files.push(place.real.clone());
                }
                snapshot
            }
            _ => {
                let file = place.real.clone();
                let origin = InstanceOrigin::File { file, meta: None, mounted: None };
                let mut snapshot =
                    InstanceSnapshot::new(name, "", self.instance_key(&place.path), origin);
                if !self.read_text_into(place, middleware, rules, &mut snapshot) {
                    return None;
                }
                snapshot.files.push(place.real.clone());
                let folder = place.real.parent()?;
                let found = self.apply_metas(folder, name, listing, &mut snapshot);
                if let InstanceOrigin::File { meta, .. } = &mut snapshot.origin {
                    *meta = Some(found);
                }
                Some(snapshot)
            }
        }
    }

    /// Applies the meta files for a name. Returns the path of the one to write to.
    fn apply_metas(
        &mut self,
        folder: &Path,
        name: &str,
        listing: Option<&FolderListing>,
        snapshot: &mut InstanceSnapshot,
    ) -> PathBuf {
        let is_folder = name == "init" && matches!(snapshot.origin, InstanceOrigin::Folder { .. });
        let mut newest = folder.join(format!("{name}.meta.json"));
        for end in ["json", "jsonc"] {
            let file_name = format!("{name}.meta.{end}");
            if listing.is_some_and(|listing| !listing.contains(&file_name)) {
                continue;
            }
            let file = folder.join(file_name);
            let Some(inside) = self.read_companion(&RealPath::from_path(file.clone())) else {
                continue;
            };
            let Some(bytes) = self.read_bytes(&inside) else { continue };
            let mut faults = Vec::new();
            meta::apply_meta(&bytes, is_folder, snapshot, &mut faults);
            self.report_all(&file, faults);
            snapshot.files.push(file.clone());
            newest = file;
        }
        newest
    }
}

fn set_script(
    snapshot: &mut InstanceSnapshot,
    script: ScriptKind,
    text: String,
    rules: &FileRules,
) {
    let (class, run_context) = script.class_and_context(rules.emit_legacy_scripts);
    class.clone_into(&mut snapshot.class);
    // Rojo normalizes line endings to LF in scripts, and only there.
    let text = if text.contains("\r\n") { text.replace("\r\n", "\n") } else { text };
    snapshot.properties.insert("Source".to_owned(), Variant::String(text));
    if let Some(run_context) = run_context {
        snapshot.set_property("RunContext", Enum::from_u32(run_context));
    }
}

/// Returns the name of the meta file that takes precedence.
fn newest_meta(listing: &FolderListing, name: &str) -> String {
    let [json, jsonc] = ["json", "jsonc"].map(|end| format!("{name}.meta.{end}"));
    if listing.contains(&jsonc) { jsonc } else { json }
}

/// Removes `.` and `..` from a path lexically.
pub(super) fn normalize_path(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => _ = normal.pop(),
            component => normal.push(component),
        }
    }
    normal
}

/// Resolves the links of an absolute path as far as they exist. Returns the paths of these links,
/// and then the path that they lead to.
fn trace_links(path: &Path) -> Vec<PathBuf> {
    let components = |path: &Path| -> Vec<OsString> {
        path.components().rev().map(|it| it.as_os_str().to_owned()).collect()
    };
    let (mut traced, mut at, mut rest) = (Vec::new(), PathBuf::new(), components(path));
    while let Some(component) = rest.pop() {
        if component == ".." {
            at.pop();
        } else if component != "." {
            at.push(component);
        }
        if traced.len() < MAX_LINKS
            && let Ok(to) = std::fs::read_link(&at)
        {
            traced.push(at.clone());
            // A target with a root replaces what is before it.
            at.pop();
            rest.extend(components(&to));
        }
    }
    traced.push(at);
    traced
}

/// Returns a path relative to a folder. Both must be absolute and normalized.
pub(super) fn relative_path(path: &Path, folder: &Path) -> PathBuf {
    let (path_parts, folder_parts) = (path.components(), folder.components());
    let shared = path_parts.clone().zip(folder_parts.clone()).take_while(|(a, b)| a == b).count();
    let up = folder_parts.skip(shared).map(|_| Component::ParentDir);
    up.chain(path_parts.skip(shared)).collect()
}
