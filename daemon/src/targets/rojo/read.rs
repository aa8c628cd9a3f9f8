//! From files to instances, as Rojo 7.7 goes: a path becomes an instance by what stands there, a node
//! of a project by its `$path` and by what it says itself.
//!
//! A file that is wrong is told and left out. Nothing is written, and nothing outside the boundary is
//! read.

use std::path::{Component, Path, PathBuf};

use rbx_types::{Enum, Variant};

use super::glob::{Ignore, Sync, is_ignored};
use super::listing::{Kind, Listing};
use super::middleware::{INITS, LISTED_INITS, Middleware, Script};
use super::project::{self, DEFAULT_NAMES, Node, Project};
use super::snapshot::Snapshot;
use super::tree::{Diagnostic, Origin};
use super::{data, meta, model};
use crate::core::scene::reflection;

/// How deep folders and projects may stand in one another.
const MAX_DEPTH: usize = 500;

/// What holds for the files of a project.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    emit_legacy_scripts: bool,
    ignores: Vec<Ignore>,
    syncs: Vec<Sync>,
}

impl Default for Rules {
    fn default() -> Self {
        Self { emit_legacy_scripts: true, ignores: Vec::new(), syncs: Vec::new() }
    }
}

/// Reads a project once.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) folder: &'a Path,
    pub(super) boundary: &'a Path,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// The folders and projects that are being read, by what they really are.
    open: Vec<PathBuf>,
}

/// A path as it is reached, and what really stands there where links lead elsewhere.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) real: PathBuf,
}

impl Place {
    pub(super) fn of(path: PathBuf) -> Self {
        Self { real: path.clone(), path }
    }

    fn join(&self, name: impl AsRef<Path>) -> Self {
        Self { path: self.path.join(&name), real: self.real.join(&name) }
    }

    /// The file's name, where it is text.
    fn name(&self) -> Option<&str> {
        self.path.file_name()?.to_str()
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(folder: &'a Path, boundary: &'a Path) -> Self {
        Self { folder, boundary, diagnostics: Vec::new(), open: Vec::new() }
    }

    fn tell(&mut self, file: &Path, message: impl Into<String>, is_fatal_to_rojo: bool) {
        let (file, message) = (file.to_owned(), message.into());
        self.diagnostics.push(Diagnostic { file, message, is_fatal_to_rojo });
    }

    fn tell_all(&mut self, file: &Path, faults: Vec<String>) {
        for fault in faults {
            self.tell(file, fault, true);
        }
    }

    /// What tells the instances of a file from all others.
    fn key(&self, path: &Path) -> String {
        let relative = relative(path, self.folder);
        let key = relative.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
        // The scene takes what begins with `#` for a number.
        if key.starts_with('#') { format!("./{key}") } else { key }
    }

    /// What stands at a path as an instance; none where it is none, or is left out.
    pub(super) fn entry(
        &mut self,
        place: &Place,
        kind: Kind,
        beside: Option<&Listing>,
        rules: &Rules,
    ) -> Option<Snapshot> {
        match kind {
            Kind::Link => {
                let (place, kind) = self.follow(place)?;
                self.entry(&place, kind, None, rules)
            }
            Kind::Folder => self.enter(place, |this| this.folder(place, rules)),
            Kind::File => self.file(place, beside, rules),
            Kind::Other => {
                self.tell(&place.path, "it is neither a file nor a folder; move it away", true);
                None
            }
        }
    }

    /// Where a link leads.
    fn follow(&mut self, place: &Place) -> Option<(Place, Kind)> {
        // A link to nothing is nothing, to Rojo too.
        let real = std::fs::canonicalize(&place.real).ok()?;
        if !real.starts_with(self.boundary) {
            self.tell(
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
        let kind = Kind::at(&real)?;
        Some((Place { path: place.path.clone(), real }, kind))
    }

    /// Reads a folder or project, unless that would never end.
    fn enter<T>(&mut self, place: &Place, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.open.contains(&place.real) {
            self.tell(
                &place.path,
                "it is part of itself; take out the link or `$path` to it",
                true,
            );
            return None;
        }
        if self.open.len() >= MAX_DEPTH {
            let why = format!("it stands more than {MAX_DEPTH} folders deep and is left out");
            self.tell(&place.path, why, false);
            return None;
        }
        self.open.push(place.real.clone());
        let read = read(self);
        self.open.pop();
        read
    }

    fn folder(&mut self, place: &Place, rules: &Rules) -> Option<Snapshot> {
        let Some(name) = place.name().map(str::to_owned) else {
            self.tell(&place.path, "its name is no text, which Rojo needs", true);
            return None;
        };
        let listing = match Listing::read(&place.real) {
            Ok(listing) => listing,
            Err(error) => {
                self.tell(&place.path, format!("the folder cannot be read: {error}"), true);
                return None;
            }
        };
        if let Some(project) = DEFAULT_NAMES.iter().find(|project| listing.has(project)) {
            return self.project(&place.join(project), &name, rules);
        }
        let init = INITS.iter().find(|(init, _)| listing.has(init));
        let mut snapshot = Snapshot::new(
            &name,
            "Folder",
            self.key(&place.path),
            Origin::Folder {
                folder: place.real.clone(),
                init: None,
                meta: place.real.join(newest(&listing, "init")),
                mounted: None,
            },
        );
        if let Some((init, middleware)) = init {
            let init = place.join(init);
            if self.text_of(&init, *middleware, rules, &mut snapshot) {
                self.inner_metas(place, &name, &listing, &mut snapshot);
                if let Origin::Folder { init: found, .. } = &mut snapshot.origin {
                    *found = Some(init.real);
                }
            }
        }
        let inits = LISTED_INITS.iter().filter(|init| listing.has(init));
        snapshot.files.extend(inits.map(|init| place.real.join(init)));
        snapshot.children = self.children(place, &listing, rules);
        self.metas(&place.real, "init", Some(&listing), &mut snapshot);
        Some(snapshot)
    }

    /// Rojo reads an `init` file as any other of the folder's name: a meta file of that name inside the
    /// folder sets its properties, and nothing else.
    fn inner_metas(
        &mut self,
        place: &Place,
        name: &str,
        listing: &Listing,
        snapshot: &mut Snapshot,
    ) {
        let ignores_unknown = snapshot.ignores_unknown;
        self.metas(&place.real, name, Some(listing), snapshot);
        snapshot.ignores_unknown = ignores_unknown;
        snapshot.id = None;
        snapshot.files.clear();
    }

    fn children(&mut self, place: &Place, listing: &Listing, rules: &Rules) -> Vec<Snapshot> {
        let mut children = Vec::new();
        for (name, kind) in &listing.entries {
            let child = place.join(name);
            if !is_ignored(&rules.ignores, &child.path) {
                children.extend(self.entry(&child, *kind, Some(listing), rules));
            }
        }
        children
    }

    /// Reads a script's text or a table into a snapshot of any kind; says whether it could.
    fn text_of(
        &mut self,
        file: &Place,
        middleware: Middleware,
        rules: &Rules,
        snapshot: &mut Snapshot,
    ) -> bool {
        let Some(bytes) = self.bytes(file) else { return false };
        let read = match middleware {
            Middleware::Csv => data::table(&bytes),
            Middleware::Json => data::json(&bytes),
            Middleware::Toml => data::toml(&bytes),
            Middleware::Yaml => data::yaml(&bytes),
            _ => data::text(bytes),
        };
        let text = match read {
            Ok(text) => text,
            Err(why) => {
                self.tell(&file.path, why, true);
                return false;
            }
        };
        match middleware {
            Middleware::Script(script) => set_script(snapshot, script, text, rules),
            Middleware::Csv => {
                "LocalizationTable".clone_into(&mut snapshot.class);
                snapshot.set("Contents", text);
            }
            Middleware::Text => {
                "StringValue".clone_into(&mut snapshot.class);
                snapshot.set("Value", text);
            }
            _ => {
                "ModuleScript".clone_into(&mut snapshot.class);
                snapshot.set("Source", text);
            }
        }
        true
    }

    fn bytes(&mut self, file: &Place) -> Option<Vec<u8>> {
        match std::fs::read(&file.real) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                self.tell(&file.path, format!("it cannot be read: {error}"), true);
                None
            }
        }
    }

    fn file(&mut self, place: &Place, beside: Option<&Listing>, rules: &Rules) -> Option<Snapshot> {
        let Some(file_name) = place.name() else {
            self.tell(&place.path, "its name is no text, which Rojo needs", true);
            return None;
        };
        if INITS.iter().any(|(init, _)| *init == file_name) {
            return None;
        }
        let rule = rules.syncs.iter().find(|rule| rule.matches(&place.path));
        let (middleware, name) = match rule {
            Some(rule) => (rule.middleware, rule.name(file_name)),
            None => Middleware::of(file_name)?,
        };
        match middleware {
            Middleware::Ignore => None,
            Middleware::Project => self.project(place, name, rules),
            Middleware::JsonModel | Middleware::Binary | Middleware::Xml => {
                let bytes = self.bytes(place)?;
                let key = self.key(&place.path);
                let mut faults = Vec::new();
                let model = model::Model { file: &place.real, key: &key, name };
                let mut snapshot = match middleware {
                    Middleware::JsonModel => model.json(&bytes, &mut faults),
                    _ => model.roblox(bytes, &mut faults),
                };
                self.tell_all(&place.path, faults);
                if let Some(snapshot) = &mut snapshot {
                    snapshot.files.push(place.real.clone());
                }
                snapshot
            }
            _ => {
                let file = place.real.clone();
                let origin = Origin::File { file, meta: None, mounted: None };
                let mut snapshot = Snapshot::new(name, "", self.key(&place.path), origin);
                if !self.text_of(place, middleware, rules, &mut snapshot) {
                    return None;
                }
                snapshot.files.push(place.real.clone());
                let folder = place.real.parent()?;
                let found = self.metas(folder, name, beside, &mut snapshot);
                if let Origin::File { meta, .. } = &mut snapshot.origin {
                    *meta = Some(found);
                }
                Some(snapshot)
            }
        }
    }

    /// Applies the meta files of a name; gives the one to write to.
    fn metas(
        &mut self,
        folder: &Path,
        name: &str,
        listing: Option<&Listing>,
        snapshot: &mut Snapshot,
    ) -> PathBuf {
        let is_folder = name == "init" && matches!(snapshot.origin, Origin::Folder { .. });
        let mut newest = folder.join(format!("{name}.meta.json"));
        for end in ["json", "jsonc"] {
            let file_name = format!("{name}.meta.{end}");
            if listing.is_some_and(|listing| !listing.has(&file_name)) {
                continue;
            }
            let file = folder.join(file_name);
            let bytes = match std::fs::read(&file) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => {
                    self.tell(&file, format!("it cannot be read: {error}"), true);
                    continue;
                }
            };
            let mut faults = Vec::new();
            meta::apply(&bytes, is_folder, snapshot, &mut faults);
            self.tell_all(&file, faults);
            snapshot.files.push(file.clone());
            newest = file;
        }
        newest
    }

    /// Reads a project file that is part of the tree, or its root.
    fn project(&mut self, place: &Place, name: &str, rules: &Rules) -> Option<Snapshot> {
        let bytes = self.bytes(place)?;
        match project::parse(&bytes, &place.path) {
            Ok(project) => self.enter(place, |this| this.nodes(place, project, name, rules)),
            Err(why) => {
                self.tell(&place.path, why, true);
                None
            }
        }
    }

    /// The instances of a project.
    pub(super) fn nodes(
        &mut self,
        place: &Place,
        mut project: Project,
        name: &str,
        outer: &Rules,
    ) -> Option<Snapshot> {
        self.tell_all(&place.path, std::mem::take(&mut project.faults));
        let folder = place.path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let is_default = place.name().is_some_and(|name| DEFAULT_NAMES.contains(&name));
        let name = match (&project.name, folder) {
            (Some(name), _) => name.clone(),
            (None, Some(folder)) if is_default => folder.to_owned(),
            (None, _) => name.to_owned(),
        };
        let mut ignores = outer.ignores.clone();
        ignores.append(&mut project.ignores);
        let rules = Rules {
            emit_legacy_scripts: project.emit_legacy_scripts.unwrap_or(true),
            ignores,
            syncs: std::mem::take(&mut project.syncs),
        };
        let mut at = At { place, rules: &rules, names: Vec::new() };
        let mut snapshot = self.node(&mut at, &name, project.tree, None)?;
        snapshot.files.push(place.real.clone());
        Some(snapshot)
    }

    fn node(
        &mut self,
        at: &mut At<'_>,
        name: &str,
        node: Node,
        parent_class: Option<&str>,
    ) -> Option<Snapshot> {
        let found = match &node.path {
            Some(path) => self.mounted(at, &path.path),
            None => None,
        };
        let class = self.class(at, name, &node, found.as_ref(), parent_class)?;
        let project = at.place.real.clone();
        let mut snapshot = match found {
            Some(mut found) => {
                let by = Some((project, at.names.clone()));
                match &mut found.origin {
                    Origin::File { mounted, .. }
                    | Origin::Folder { mounted, .. }
                    | Origin::Model { mounted, .. } => *mounted = by,
                    Origin::Node { .. } => {}
                }
                found
            }
            None => {
                let mut key = self.key(&at.place.path);
                if !at.names.is_empty() {
                    key = format!("{key}:{}", at.names.join("/"));
                }
                let origin = Origin::Node { project, names: at.names.clone() };
                Snapshot::new(name, &class, key, origin)
            }
        };
        name.clone_into(&mut snapshot.name);
        snapshot.class = class;
        for (name, child) in node.children {
            at.names.push(name.clone());
            let child = self.node(at, &name, child, Some(&snapshot.class));
            at.names.pop();
            snapshot.children.extend(child);
        }
        let mut faults = Vec::new();
        snapshot.set_all(&node.properties, &node.attributes, &mut faults);
        for fault in faults {
            let fault = format!("{fault}, {}", project::place(&at.names));
            self.tell(&at.place.path, fault, true);
        }
        match node.ignores_unknown {
            Some(ignores) => snapshot.ignores_unknown = ignores,
            None if node.path.is_none() => snapshot.ignores_unknown = true,
            None => {}
        }
        snapshot.id = node.id.or(snapshot.id);
        Some(snapshot)
    }

    /// What stands at the `$path` of a node.
    fn mounted(&mut self, at: &At<'_>, path: &Path) -> Option<Snapshot> {
        let full = normal(&at.place.path.with_file_name("").join(path));
        let place = Place::of(full);
        let kind = Kind::at(&place.path)?;
        let (place, kind) = match std::fs::canonicalize(&place.path) {
            Ok(real) if real == place.path => (place, kind),
            _ => self.follow(&place)?,
        };
        if !place.real.starts_with(self.boundary) {
            let why = format!(
                "the `$path` {:?} {} leads out of {}; put what it means inside",
                path.display().to_string(),
                project::place(&at.names),
                self.boundary.display()
            );
            self.tell(&at.place.path, why, false);
            return None;
        }
        self.entry(&place, kind, None, at.rules)
    }

    /// The class of a node, of what it says, what stands at its `$path`, and what its name means.
    fn class(
        &mut self,
        at: &At<'_>,
        name: &str,
        node: &Node,
        found: Option<&Snapshot>,
        parent_class: Option<&str>,
    ) -> Option<String> {
        let place = project::place(&at.names);
        let found = found.map(|found| found.class.as_str());
        let inferred = parent_class.and_then(|parent| infer(name, parent));
        let said = node.class.as_deref();
        if found.is_none()
            && let Some(path) = node.path.as_ref().filter(|path| !path.is_optional)
        {
            let why = format!(
                "there is nothing that Rojo knows at the `$path` {:?} {place}; correct it, or take \
                 it out",
                path.path.display().to_string()
            );
            self.tell(&at.place.path, why, true);
            let kept = if node.children.is_empty() { None } else { Some("Folder") };
            return said.or(inferred).or(kept).map(str::to_owned);
        }
        let class = match (said, found, inferred) {
            (Some(said), None | Some("Folder"), _) => said,
            (None, None | Some("Folder"), Some(inferred)) => inferred,
            (None, Some(found), _) => found,
            (Some(said), Some(found), _) => {
                let why = format!(
                    "the `$className` {place} is {said}, but its `$path` is a {found}; a `$path` \
                     with a class has to be a plain folder"
                );
                self.tell(&at.place.path, why, true);
                found
            }
            (None, None, None) if node.path.is_some() => return None,
            (None, None, None) => {
                let why = format!("the class {place} is not said; give it a `$className`");
                self.tell(&at.place.path, why, true);
                if node.children.is_empty() {
                    return None;
                }
                "Folder"
            }
        };
        Some(class.to_owned())
    }
}

/// Where in a project a node stands.
struct At<'a> {
    place: &'a Place,
    rules: &'a Rules,
    names: Vec<String>,
}

/// The class that a node's name means below an instance of a class.
fn infer<'a>(name: &'a str, parent: &str) -> Option<&'a str> {
    let is_meant = match parent {
        "DataModel" => reflection::is_service(name),
        "StarterPlayer" => matches!(name, "StarterPlayerScripts" | "StarterCharacterScripts"),
        "Workspace" => name == "Terrain",
        _ => false,
    };
    is_meant.then_some(name)
}

fn set_script(snapshot: &mut Snapshot, script: Script, text: String, rules: &Rules) {
    let (class, run_context) = script.class(rules.emit_legacy_scripts);
    class.clone_into(&mut snapshot.class);
    // Rojo has the line ends of Unix in scripts, and in nothing else.
    let text = if text.contains("\r\n") { text.replace("\r\n", "\n") } else { text };
    snapshot.properties.insert("Source".to_owned(), Variant::String(text));
    if let Some(run_context) = run_context {
        snapshot.set("RunContext", Enum::from_u32(run_context));
    }
}

/// The name of the meta file of a name that holds last.
fn newest(listing: &Listing, name: &str) -> String {
    let [json, jsonc] = ["json", "jsonc"].map(|end| format!("{name}.meta.{end}"));
    if listing.has(&jsonc) { jsonc } else { json }
}

/// A path without `.` and `..`, as far as its text tells.
pub(super) fn normal(path: &Path) -> PathBuf {
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

/// A path as it is seen from a folder; both absolute and normal.
pub(super) fn relative(path: &Path, folder: &Path) -> PathBuf {
    let (path_parts, folder_parts) = (path.components(), folder.components());
    let shared = path_parts.clone().zip(folder_parts.clone()).take_while(|(a, b)| a == b).count();
    let up = folder_parts.skip(shared).map(|_| Component::ParentDir);
    up.chain(path_parts.skip(shared)).collect()
}
