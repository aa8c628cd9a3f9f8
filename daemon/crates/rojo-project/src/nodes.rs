//! The nodes of a project file: what one says itself, laid over what stands at its `$path`.

use std::path::Path;

use vector_place::reflection;

use super::listing::Kind;
use super::project::{self, DEFAULT_NAMES, Node, Project};
use super::read::{Place, Reader, Rules, normal};
use super::snapshot::{Child, Snapshot};
use super::tree::Origin;

impl Reader<'_> {
    /// Reads a project file that is part of the tree, or its root.
    pub(super) fn project(&mut self, place: &Place, name: &str, rules: &Rules) -> Option<Snapshot> {
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
        let rules = self.ruled(Rules {
            emit_legacy_scripts: project.emit_legacy_scripts.unwrap_or(true),
            ignores,
            syncs: std::mem::take(&mut project.syncs),
            number: 0,
        });
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
        let mut snapshot = if let Some(mut found) = found {
            let by = Some((project, at.names.clone()));
            match &mut found.origin {
                Origin::File { mounted, .. }
                | Origin::Folder { mounted, .. }
                | Origin::Model { mounted, .. } => *mounted = by,
                Origin::Node { .. } => {}
            }
            found
        } else {
            let mut key = self.key(&at.place.path);
            if !at.names.is_empty() {
                key = format!("{key}:{}", at.names.join("/"));
            }
            let origin = Origin::Node { project, names: at.names.clone() };
            Snapshot::new(name, &class, key, origin)
        };
        name.clone_into(&mut snapshot.name);
        snapshot.class = class;
        for (name, child) in node.children {
            at.names.push(name.clone());
            let child = self.node(at, &name, child, Some(&snapshot.class));
            at.names.pop();
            snapshot.children.extend(child.map(Child::new));
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
        self.mounts.push((self.entry.clone(), full.clone()));
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
