//! Planning for instances that are new, moved or renamed.

use std::path::{Path, PathBuf};

use rbx_types::Variant;
use scene_schemas::refusal::{Refusal, refuse};
use vector_place::{Node, reflection};
use vector_text_edit::json::JsonObject;

use super::case_rename::is_present;
use super::file_names;
use super::json;
use super::moved_folder::MovedFolder;
use super::{ChangePlanner, ChildLocation, MovedMeta, mount_node};
use crate::middleware::{FileMiddleware, INIT_FILES};
use crate::tree::InstanceOrigin;

/// The extensions of meta files.
pub(super) const META_EXTENSIONS: [&str; 2] = ["json", "jsonc"];

impl ChangePlanner<'_> {
    /// Determines the file of every instance, parents before children.
    pub(super) fn restructure_files(&mut self) -> Result<(), Refusal> {
        let all: Vec<Node> = self.scene.subtree(self.scene.root()).collect();
        for node in all {
            if self.new_parts.contains(&node) || (node == self.scene.root()) {
                continue;
            }
            match self.known.get(&node) {
                Some(number) => self.relocate_known(*number, node)?,
                None => self.create_instance(node)?,
            }
        }
        Ok(())
    }

    fn relocate_known(&mut self, number: u32, node: Node) -> Result<(), Refusal> {
        let instance = self.instance_at(number);
        let was_below = instance.parent.map(|parent| self.node_at(parent));
        let below = self.scene.parent(node);
        let is_root = instance.parent.is_none();
        let is_moved = !is_root && below != was_below;
        let is_renamed = self.scene.name(node) != instance.name;
        match &instance.origin {
            InstanceOrigin::Model { at, .. } if !at.is_empty() => {
                if is_moved {
                    self.move_part(number, node)
                } else {
                    if is_renamed {
                        self.models.insert(self.model_root(number));
                    }
                    Ok(())
                }
            }
            origin if mount_node(origin).is_some() || is_root => {
                if is_moved {
                    return refuse!(
                        "{} is a node of {}, which cannot be moved to another parent; move the node \
                         in that file.",
                        self.path_text(node),
                        self.display_path(
                            mount_node(origin).map_or(&self.tree.project, |(it, _)| it)
                        )
                    );
                }
                if is_renamed {
                    self.rename_mounted(number, node)?;
                }
                Ok(())
            }
            InstanceOrigin::File { file, .. } => {
                let becomes_folder = self.scene.children(node).next().is_some();
                if is_moved || is_renamed || becomes_folder {
                    self.move_file(number, node, &file.clone(), becomes_folder)?;
                }
                Ok(())
            }
            _ if is_moved || is_renamed => self.move_folder_or_model(number, node),
            _ => Ok(()),
        }
    }

    /// Determines where the children of an instance are stored.
    pub(super) fn child_location(
        &self,
        parent: Option<Node>,
        child: Node,
    ) -> Result<ChildLocation, Refusal> {
        let unowned = |writer: &Self| {
            refuse!(
                "Rojo does not own {}: no file of the project holds what is below {}. Put it below an \
                 instance that has a folder, or give its parent a `$path` in {}.",
                writer.path_text(child),
                parent.map_or_else(|| "game".to_owned(), |parent| writer.path_text(parent)),
                writer.display_path(&writer.tree.project)
            )
        };
        let Some(parent) = parent else { return unowned(self) };
        if let Some(folder) = self.folders.get(&parent) {
            return Ok(ChildLocation::Folder(folder.clone()));
        }
        let Some(number) = self.known.get(&parent) else { return unowned(self) };
        self.check_unshared(*number)?;
        match &self.instance_at(*number).origin {
            InstanceOrigin::Folder { folder, .. } => {
                Ok(ChildLocation::Folder(self.files.planned_path(folder)))
            }
            InstanceOrigin::Model { .. } => Ok(ChildLocation::Model(self.model_root(*number))),
            InstanceOrigin::File { file, .. } => refuse!(
                "{} comes from {}, which cannot have children. Put {} elsewhere.",
                self.path_text(parent),
                self.display_path(file),
                self.scene.name(child)
            ),
            InstanceOrigin::Node { .. } => unowned(self),
        }
    }

    /// Moves a part of a model file within the file, or out of it.
    fn move_part(&mut self, number: u32, node: Node) -> Result<(), Refusal> {
        let root = self.model_root(number);
        self.models.insert(root);
        let parent = self.scene.parent(node);
        let to = parent.and_then(|parent| self.known.get(&parent)).copied();
        let is_within = to.is_some_and(|to| {
            matches!(self.instance_at(to).origin, InstanceOrigin::Model { .. })
                && self.model_root(to) == root
        });
        if is_within { Ok(()) } else { self.rewrite_instance(node) }
    }

    /// Removes an instance from its file, and writes it with its subtree at its new place.
    fn rewrite_instance(&mut self, node: Node) -> Result<(), Refusal> {
        let subtree: Vec<Node> = self.scene.subtree(node).collect();
        for below in subtree {
            if let Some(number) = self.known.remove(&below) {
                if mount_node(&self.instance_at(number).origin).is_some() {
                    return refuse!(
                        "{} holds {}, which is a node of {}; move that node first.",
                        self.path_text(node),
                        self.path_text(below),
                        self.display_path(&self.tree.project)
                    );
                }
                self.detached.push(number);
            }
        }
        self.create_instance(node)
    }

    /// Moves a folder or model file to the place of its instance.
    fn move_folder_or_model(&mut self, number: u32, node: Node) -> Result<(), Refusal> {
        self.check_unshared(number)?;
        let folder = match self.child_location(self.scene.parent(node), node)? {
            ChildLocation::Folder(folder) => folder,
            ChildLocation::Model(_) => return self.rewrite_instance(node),
        };
        let (instance, name) = (self.instance_at(number), self.scene.name(node).to_owned());
        file_names::check_name(&name)?;
        match &instance.origin {
            InstanceOrigin::Folder { folder: from, .. } => {
                let to = folder.join(&name);
                self.check_read_back(self.scene.parent(node), &to, None)?;
                self.check_contents_read_back(number, node, from, &to)?;
                self.files.move_folder(from, to.clone());
                self.folders.insert(node, to);
            }
            InstanceOrigin::Model { file, .. } => {
                let to = self.renamed_path(number, node, file, &folder)?;
                self.files.move_file(file, to);
            }
            InstanceOrigin::File { .. } | InstanceOrigin::Node { .. } => {}
        }
        Ok(())
    }

    /// Checks that the rules at the new place of a folder read its contents like those at the old.
    fn check_contents_read_back(
        &self,
        number: u32,
        node: Node,
        from: &Path,
        to: &Path,
    ) -> Result<(), Refusal> {
        let rules = self.tree.notes.get(number as usize).map_or(0, |note| note.rules);
        let old = self.tree.rules.get(rules as usize).cloned().unwrap_or_default();
        let new = self.rules_below(self.scene.parent(node).unwrap_or_else(|| self.scene.root()));
        let Some(other) = MovedFolder { from, to, old: &old, new: &new }.find_misread() else {
            return Ok(());
        };
        refuse!(
            "Rojo would read {} differently at its new place {}, by the rules of the project file. \
             Move it by hand, or choose another name or place.",
            self.display_path(&other),
            self.display_path(&to.join(other.strip_prefix(from).unwrap_or(&other)))
        )
    }

    /// Moves the file of a script or of data to the place of its instance. If the instance has
    /// children now, the file is moved into a folder.
    fn move_file(
        &mut self,
        number: u32,
        node: Node,
        file: &Path,
        becomes_folder: bool,
    ) -> Result<(), Refusal> {
        self.check_unshared(number)?;
        let folder = match self.child_location(self.scene.parent(node), node)? {
            ChildLocation::Folder(folder) => folder,
            ChildLocation::Model(_) => return self.rewrite_instance(node),
        };
        let (was, name) = (&self.instance_at(number).name, self.scene.name(node).to_owned());
        file_names::check_name(&name)?;
        let to = if becomes_folder {
            let init = file_names::name_suffix(file, was).map(|suffix| format!("init{suffix}"));
            let Some(init) = init.filter(|init| INIT_FILES.iter().any(|(known, _)| known == init))
            else {
                return refuse!(
                    "{} comes from {}, which cannot have children. Put them elsewhere.",
                    self.path_text(node),
                    self.display_path(file)
                );
            };
            let own = self.create_folder(node, &folder)?;
            self.move_meta(node, file, was, Some(own.join("init.meta")));
            own.join(init)
        } else {
            self.check_no_meta(&folder, &name, file, was)?;
            for end in META_EXTENSIONS {
                if file.with_file_name(format!("{was}.meta.{end}")).is_file() {
                    let meta = folder.join(format!("{name}.meta.{end}"));
                    self.check_read_back(self.scene.parent(node), &meta, None)?;
                }
            }
            self.move_meta(node, file, was, Some(folder.join(format!("{name}.meta"))));
            self.renamed_path(number, node, file, &folder)?
        };
        self.files.move_file(file, to);
        Ok(())
    }

    /// Returns the path of a file in a folder after its instance was renamed.
    fn renamed_path(
        &self,
        number: u32,
        node: Node,
        file: &Path,
        folder: &Path,
    ) -> Result<PathBuf, Refusal> {
        let (instance, name) = (self.instance_at(number), self.scene.name(node));
        let Some(suffix) = file_names::name_suffix(file, &instance.name) else {
            return refuse!(
                "The name of {} does not begin with {:?}, so it is not known how to call it when its \
                 instance is {name:?}; rename it by hand.",
                self.display_path(file),
                instance.name
            );
        };
        let to = folder.join(format!("{name}{suffix}"));
        let was = instance.parent.map_or_else(|| self.scene.root(), |parent| self.node_at(parent));
        let rules = self.rules_below(was);
        let rule = rules.syncs.iter().find(|rule| rule.matches(file));
        let of_name = || Some(FileMiddleware::from_file_name(file.file_name()?.to_str()?)?.0);
        let kind = rule.map(|rule| rule.middleware).or_else(of_name);
        self.check_read_back(self.scene.parent(node), &to, kind.map(|kind| (kind, name)))?;
        // A file named `init` defines its folder, or shares the folder's meta file.
        if name == "init" && !matches!(instance.origin, InstanceOrigin::Model { .. }) {
            return refuse!(
                "Rojo would read {} as part of its folder; choose another name.",
                self.display_path(&to)
            );
        }
        Ok(to)
    }

    fn move_meta(&mut self, node: Node, file: &Path, name: &str, to: Option<PathBuf>) {
        if let Some(to) = &to {
            self.moved_meta_paths.insert(node, to.clone());
        }
        self.moved_metas.push(MovedMeta { file: file.to_owned(), name: name.to_owned(), to });
    }

    /// Checks that no meta file of another instance would apply to a new file.
    fn check_no_meta(
        &self,
        folder: &Path,
        name: &str,
        file: &Path,
        was: &str,
    ) -> Result<(), Refusal> {
        let own = file.parent() == Some(folder) && was == name;
        for end in META_EXTENSIONS {
            let meta = folder.join(format!("{name}.meta.{end}"));
            if !own && is_present(&meta) && !self.files.is_leaving(&meta) {
                return refuse!(
                    "{} would hold for what is called {name} there; rename it, or choose another name.",
                    self.display_path(&meta)
                );
            }
        }
        Ok(())
    }

    /// Moves or removes meta files, unless another file still needs them; then they are copied or
    /// kept.
    pub(super) fn move_metas(&mut self) -> Result<(), Refusal> {
        for MovedMeta { file, name, to } in std::mem::take(&mut self.moved_metas) {
            for end in META_EXTENSIONS {
                let meta = file.with_file_name(format!("{name}.meta.{end}"));
                if !meta.is_file() {
                    continue;
                }
                let is_needed = self.tree.instances.iter().any(|it| match &it.origin {
                    InstanceOrigin::File { file: other, .. } => {
                        it.name == name
                            && other.parent() == file.parent()
                            && *other != file
                            && !self.files.is_leaving(other)
                    }
                    // A data file can be called `init` too, or like its folder.
                    InstanceOrigin::Folder { folder, init, .. } => {
                        let is_own = name == "init"
                            || init.is_some() && folder.file_name() == Some(name.as_ref());
                        is_own && Some(folder.as_path()) == file.parent()
                    }
                    _ => false,
                });
                let to = to.as_ref().map(|to| {
                    let mut to = to.clone().into_os_string();
                    to.push(".");
                    to.push(end);
                    PathBuf::from(to)
                });
                match (is_needed, to) {
                    (true, Some(to)) => {
                        let bytes = self.files.read_planned(&meta)?.unwrap_or_default();
                        self.files.create_file(to, bytes)?;
                    }
                    (true, None) => {}
                    (false, Some(to)) => self.files.move_file(&meta, to),
                    (false, None) => self.files.remove_file(&meta),
                }
            }
        }
        Ok(())
    }

    /// Writes an instance that has no file yet, with the part of its subtree that goes into the
    /// same file.
    fn create_instance(&mut self, node: Node) -> Result<(), Refusal> {
        match self.child_location(self.scene.parent(node), node)? {
            ChildLocation::Folder(folder) => self.create_in_folder(node, &folder),
            ChildLocation::Model(root) => {
                self.models.insert(root);
                self.mark_model_parts(node)
            }
        }
    }

    /// Marks an instance and its subtree as part of a model file.
    fn mark_model_parts(&mut self, node: Node) -> Result<(), Refusal> {
        let subtree: Vec<Node> = self.scene.subtree(node).collect();
        for below in subtree {
            self.new_parts.insert(below);
            if let Some(number) = self.known.remove(&below) {
                if mount_node(&self.instance_at(number).origin).is_some() {
                    return refuse!(
                        "{} is a node of {} and cannot be part of a model.",
                        self.path_text(below),
                        self.display_path(&self.tree.project)
                    );
                }
                self.detached.push(number);
            }
        }
        Ok(())
    }

    fn create_in_folder(&mut self, node: Node, folder: &Path) -> Result<(), Refusal> {
        let (name, class) = (self.scene.name(node).to_owned(), self.scene.class(node).to_owned());
        file_names::check_name(&name)?;
        if reflection::is_script(&class) {
            return self.create_script(node, folder, &name, &class);
        }
        let has_scripts = self.scene.descendants(node).any(|below| self.scene.is_script(below));
        if class != "Folder" && !has_scripts {
            return self.create_model(node, folder, &name);
        }
        let own = self.create_folder(node, folder)?;
        let class = (class != "Folder").then_some(class);
        self.create_meta(node, own.join("init.meta.json"), class, None)
    }

    fn create_folder(&mut self, node: Node, folder: &Path) -> Result<PathBuf, Refusal> {
        let own = folder.join(self.scene.name(node));
        self.check_read_back(self.scene.parent(node), &own, None)?;
        self.files.create_folder(own.clone());
        self.folders.insert(node, own.clone());
        Ok(own)
    }

    fn create_script(
        &mut self,
        node: Node,
        folder: &Path,
        name: &str,
        class: &str,
    ) -> Result<(), Refusal> {
        let run_context = match self.stored_property(node, "RunContext") {
            Some(Variant::Enum(item)) => item.to_u32(),
            _ => 0,
        };
        let legacy = self.rules_below(node).emit_legacy_scripts;
        let has_children = self.scene.children(node).next().is_some();
        let Some(kind) = file_names::script_kind(class, run_context, legacy) else {
            if has_children {
                return refuse!(
                    "No file of this project is a {class}, as `emitLegacyScripts` is off, so {name} \
                     cannot have children; make it a Script whose RunContext is Client.",
                );
            }
            return self.create_model(node, folder, name);
        };
        let text = self.scene.script_text(node).unwrap_or_default().into_owned().into_bytes();
        let (suffix, end) = (file_names::kind_suffix(kind), self.extension);
        let file = format!("{name}{suffix}.{end}");
        let is_set = class != "Script" || kind.class_and_context(legacy).1 == Some(run_context);
        let run_context = (!is_set).then_some(run_context);
        if has_children || !file_names::is_read_as(&file, kind, name) {
            let own = self.create_folder(node, folder)?;
            self.files.create_file(own.join(format!("init{suffix}.{end}")), text)?;
            return self.create_meta(node, own.join("init.meta.json"), None, run_context);
        }
        self.check_no_meta(folder, name, Path::new(""), "")?;
        let file = folder.join(file);
        self.check_read_back(
            self.scene.parent(node),
            &file,
            Some((FileMiddleware::Script(kind), name)),
        )?;
        self.files.create_file(file, text)?;
        let meta = folder.join(format!("{name}.meta.json"));
        let before = self.files.read_planned(&meta)?;
        self.create_meta(node, meta.clone(), None, run_context)?;
        let is_shared = self.has_siblings_named(node, folder, name);
        if is_shared && before != self.files.read_planned(&meta)? {
            return refuse!(
                "{} would hold for others that are called {name} there; choose another name.",
                self.display_path(&meta)
            );
        }
        Ok(())
    }

    /// Whether another file in a folder shares the meta file.
    fn has_siblings_named(&self, node: Node, folder: &Path, name: &str) -> bool {
        let Some(parent) = self.scene.parent(node) else { return false };
        self.scene.children(parent).any(|other| {
            other != node
                && self.scene.name(other) == name
                && self.known.get(&other).is_some_and(|number| {
                    matches!(&self.instance_at(*number).origin, InstanceOrigin::File { file, .. }
                        if file.parent() == Some(folder))
                })
        })
    }

    /// Writes the meta file of a new instance if it has any content. `run_context` is that of a
    /// script whose file name implies another one.
    fn create_meta(
        &mut self,
        node: Node,
        file: PathBuf,
        class: Option<String>,
        run_context: Option<u32>,
    ) -> Result<(), Refusal> {
        let mut fields = Vec::new();
        if let Some(class) = class {
            fields.push(("className".to_owned(), class.as_str().into()));
        }
        let is_script = self.scene.is_script(node);
        fields.extend(self.describe_instance(node, is_script, run_context)?);
        if fields.is_empty() {
            return Ok(());
        }
        self.check_read_back(Some(node), &file, None)?;
        self.files.create_file(file, json::format_file(&fields))
    }

    fn create_model(&mut self, node: Node, folder: &Path, name: &str) -> Result<(), Refusal> {
        let (end, kind, bytes) = match self.json_model(node) {
            Ok(fields) => {
                let bytes = json::format_file(&fields);
                ("model.json", FileMiddleware::JsonModel, bytes)
            }
            // Roblox's own format can hold what JSON cannot.
            Err(_) => ("rbxm", FileMiddleware::Binary, self.roblox_model(node)?),
        };
        let file = folder.join(format!("{name}.{end}"));
        self.check_read_back(self.scene.parent(node), &file, Some((kind, name)))?;
        self.mark_model_parts(node)?;
        self.files.create_file(file, bytes)
    }

    /// Renames a node of a project file.
    fn rename_mounted(&mut self, number: u32, node: Node) -> Result<(), Refusal> {
        self.check_node_unshared(number)?;
        let (project, names) = self.mounted_node(number, node)?;
        let Some((last, above)) = names.split_last() else {
            return refuse!(
                "{} is the root of {}; change its `name` by hand.",
                self.path_text(node),
                self.display_path(&project)
            );
        };
        let name = self.scene.name(node).to_owned();
        let is_service = reflection::is_service(self.scene.class(node));
        if name.starts_with('$') || is_service {
            return refuse!(
                "{} is a node of {} that cannot be called {name:?}.",
                self.path_text(node),
                self.display_path(&project)
            );
        }
        self.edit_project_node(&project, above, |parent| {
            if parent.has_key(&name) {
                return refuse!("it has a node {name:?} already");
            }
            if !parent.rename_key(last, &name) {
                return refuse!("its key {last:?} has no quotes");
            }
            Ok(())
        })
    }

    pub(super) fn mounted_node(
        &self,
        number: u32,
        node: Node,
    ) -> Result<(PathBuf, Vec<String>), Refusal> {
        match mount_node(&self.instance_at(number).origin) {
            Some((project, names)) => Ok((project.to_owned(), names.to_vec())),
            None => refuse!("{} is the root of the project.", self.path_text(node)),
        }
    }

    /// Edits the node of a project file at the given names.
    pub(super) fn edit_project_node(
        &mut self,
        project: &Path,
        names: &[String],
        change: impl FnOnce(&mut JsonObject<'_>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let shown = self.display_path(project);
        self.edit_json_file(project, &self.files.planned_path(project), |root| {
            let mut object = root.reborrow().into_object_or_create("tree").map_err(Refusal)?;
            for name in names {
                object = object.into_object_or_create(name).map_err(Refusal)?;
            }
            change(&mut object)
        })
        .map_err(|why| Refusal(format!("{shown} cannot be changed: {}", why.0)))
    }

    /// Edits a JSON file whose final path is `to`.
    pub(super) fn edit_json_file(
        &mut self,
        file: &Path,
        to: &Path,
        change: impl FnOnce(&mut JsonObject<'_>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let is_there = file.is_file();
        let bytes = self.files.read_planned(if is_there { file } else { to })?.unwrap_or_default();
        let mut document = json::open_document(&bytes)?;
        change(&mut document.root_object().map_err(Refusal)?)?;
        let after = document.to_string().into_bytes();
        if after != bytes {
            self.files.set_content(if is_there { file } else { to }, is_there, after);
        }
        Ok(())
    }
}
