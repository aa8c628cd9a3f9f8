//! The nodes of a project file: the settings of a node, applied on top of the instance at its
//! `$path`.

use std::path::Path;

use vector_files::disk::canonical_path;
use vector_place::reflection;

use super::listing::EntryKind;
use super::project::{self, DEFAULT_NAMES, ProjectFile, ProjectNode};
use super::reader::{FileRules, ProjectReader, RealPath, normalize_path};
use super::snapshot::{InstanceSnapshot, SnapshotChild};
use super::tree::InstanceOrigin;

impl ProjectReader<'_> {
    /// Reads a project file that is part of the tree, or its root.
    pub(super) fn read_project(
        &mut self,
        place: &RealPath,
        name: &str,
        rules: &FileRules,
    ) -> Option<InstanceSnapshot> {
        let bytes = self.read_bytes(place)?;
        match project::parse_project(&bytes, &place.path) {
            Ok(project) => {
                self.with_cycle_guard(place, |this| this.read_nodes(place, project, name, rules))
            }
            Err(why) => {
                self.report(&place.path, why, true);
                None
            }
        }
    }

    /// Reads the instances of a parsed project.
    pub(super) fn read_nodes(
        &mut self,
        place: &RealPath,
        mut project: ProjectFile,
        name: &str,
        outer: &FileRules,
    ) -> Option<InstanceSnapshot> {
        self.report_all(&place.path, std::mem::take(&mut project.faults));
        let folder = place.path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let is_default = place.name().is_some_and(|name| DEFAULT_NAMES.contains(&name));
        let name = match (&project.name, folder) {
            (Some(name), _) => name.clone(),
            (None, Some(folder)) if is_default => folder.to_owned(),
            (None, _) => name.to_owned(),
        };
        let mut ignores = outer.ignores.clone();
        ignores.append(&mut project.ignores);
        let rules = self.number_rules(FileRules {
            emit_legacy_scripts: project.emit_legacy_scripts.unwrap_or(true),
            ignores,
            syncs: std::mem::take(&mut project.syncs),
            number: 0,
        });
        let mut at = NodePosition { place, rules: &rules, names: Vec::new() };
        let mut snapshot = self.read_node(&mut at, &name, project.tree, None)?;
        snapshot.files.push(place.real.clone());
        Some(snapshot)
    }

    fn read_node(
        &mut self,
        at: &mut NodePosition<'_>,
        name: &str,
        node: ProjectNode,
        parent_class: Option<&str>,
    ) -> Option<InstanceSnapshot> {
        let found = match &node.path {
            Some(path) => self.read_mounted(at, &path.path),
            None => None,
        };
        let class = self.resolve_class(at, name, &node, found.as_ref(), parent_class)?;
        let project = at.place.real.clone();
        let mut snapshot = if let Some(mut found) = found {
            let by = Some((project, at.names.clone()));
            match &mut found.origin {
                InstanceOrigin::File { mounted, .. }
                | InstanceOrigin::Folder { mounted, .. }
                | InstanceOrigin::Model { mounted, .. } => *mounted = by,
                InstanceOrigin::Node { .. } => {}
            }
            found
        } else {
            let mut key = self.instance_key(&at.place.path);
            if !at.names.is_empty() {
                key = format!("{key}:{}", at.names.join("/"));
            }
            let origin = InstanceOrigin::Node { project, names: at.names.clone() };
            InstanceSnapshot::new(name, &class, key, origin)
        };
        name.clone_into(&mut snapshot.name);
        snapshot.class = class;
        for (name, child) in node.children {
            at.names.push(name.clone());
            let child = self.read_node(at, &name, child, Some(&snapshot.class));
            at.names.pop();
            snapshot.children.extend(child.map(SnapshotChild::new));
        }
        let mut faults = Vec::new();
        snapshot.set_properties(&node.properties, &node.attributes, &mut faults);
        for fault in faults {
            let fault = format!("{fault}, {}", project::node_phrase(&at.names));
            self.report(&at.place.path, fault, true);
        }
        match node.ignores_unknown {
            Some(ignores) => snapshot.ignores_unknown = ignores,
            None if node.path.is_none() => snapshot.ignores_unknown = true,
            None => {}
        }
        snapshot.id = node.id.or(snapshot.id);
        Some(snapshot)
    }

    /// Reads the instance at the `$path` of a node.
    fn read_mounted(&mut self, at: &NodePosition<'_>, path: &Path) -> Option<InstanceSnapshot> {
        let full = normalize_path(&at.place.path.with_file_name("").join(path));
        self.mounts.push((self.entry.clone(), full.clone()));
        let place = RealPath::from_path(full);
        let Some(kind) = EntryKind::at_path(&place.path) else {
            self.record_links(&place.path, &place.real);
            return None;
        };
        let (place, kind) = match canonical_path(&place.path) {
            Ok(real) if real == place.path => (place, kind),
            _ => self.follow_link(&place)?,
        };
        if !place.real.starts_with(self.boundary) {
            let why = format!(
                "the `$path` {:?} {} leads out of {}; put what it means inside",
                path.display().to_string(),
                project::node_phrase(&at.names),
                self.boundary.display()
            );
            self.report(&at.place.path, why, false);
            return None;
        }
        self.read_entry(&place, kind, None, at.rules)
    }

    /// Determines the class of a node from its `$className`, the instance at its `$path`, and its
    /// name.
    fn resolve_class(
        &mut self,
        at: &NodePosition<'_>,
        name: &str,
        node: &ProjectNode,
        found: Option<&InstanceSnapshot>,
        parent_class: Option<&str>,
    ) -> Option<String> {
        let place = project::node_phrase(&at.names);
        let found = found.map(|found| found.class.as_str());
        let inferred = parent_class.and_then(|parent| infer_class(name, parent));
        let declared = node.class.as_deref();
        if found.is_none()
            && let Some(path) = node.path.as_ref().filter(|path| !path.is_optional)
        {
            let why = format!(
                "there is nothing that Rojo knows at the `$path` {:?} {place}; correct it, or take \
                 it out",
                path.path.display().to_string()
            );
            self.report(&at.place.path, why, true);
            let kept = if node.children.is_empty() { None } else { Some("Folder") };
            return declared.or(inferred).or(kept).map(str::to_owned);
        }
        let class = match (declared, found, inferred) {
            (Some(class_name), None | Some("Folder"), _) => class_name,
            (None, None | Some("Folder"), Some(inferred)) => inferred,
            (None, Some(found), _) => found,
            (Some(class_name), Some(found), _) => {
                let why = format!(
                    "the `$className` {place} is {class_name}, but its `$path` is a {found}; a `$path` \
                     with a class has to be a plain folder"
                );
                self.report(&at.place.path, why, true);
                found
            }
            (None, None, None) if node.path.is_some() => return None,
            (None, None, None) => {
                let why = format!("the class {place} is not specified; give it a `$className`");
                self.report(&at.place.path, why, true);
                if node.children.is_empty() {
                    return None;
                }
                "Folder"
            }
        };
        Some(class.to_owned())
    }
}

/// The position of a node in a project file.
struct NodePosition<'a> {
    place: &'a RealPath,
    rules: &'a FileRules,
    names: Vec<String>,
}

/// Returns the class that a node's name implies below a parent of a class.
fn infer_class<'a>(name: &'a str, parent: &str) -> Option<&'a str> {
    let is_meant = match parent {
        "DataModel" => reflection::is_service(name),
        "StarterPlayer" => matches!(name, "StarterPlayerScripts" | "StarterCharacterScripts"),
        "Workspace" => name == "Terrain",
        _ => false,
    };
    is_meant.then_some(name)
}
