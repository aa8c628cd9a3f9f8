//! Splitting of a proposal in an open place between the files of a Rojo project and Studio.
//!
//! Instances owned by Rojo are changed in their files, because Rojo would overwrite changes in
//! Studio. These commands are performed on the project's scene, with instances found by path.
//! Neither side may depend on the other: each must be complete by itself.

use std::collections::{BTreeSet, HashMap};

use scene_schemas::command::Props;
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{Command, Fingerprint, InstanceId, InstancePath, Target};
use vector_place::{Node, Scene, reflection};

use super::part::{is_own, map_targets, renumber_ids};
use super::perform::{BlobStore, text_of, try_command};
use crate::planning_scene::PlanningScene;

/// How a project owns one of its instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ownership {
    /// Files define the whole instance. Its descendants that are not scripts may belong to Studio.
    Files {
        /// Whether descendants unknown to Rojo stay.
        ignores_unknown: bool,
    },
    /// A node of a project file, which defines part of the instance.
    Node {
        /// The properties defined by the node.
        properties: BTreeSet<String>,
        /// Whether descendants unknown to Rojo stay.
        ignores_unknown: bool,
    },
}

/// The part of a proposal that goes to files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SplitProposal {
    /// Indices of the proposal's commands that go to files.
    pub owned: Vec<u32>,
    /// These commands, addressed as in the project.
    pub commands: Vec<Command>,
    /// Paths that Studio changes and no file contains, below instances defined entirely by files.
    /// Rojo may remove them.
    pub loose: Vec<InstancePath>,
}

/// Splits the commands of a proposal, which are applied on trial in the open place, and performs
/// those that go to files on the project's scene.
///
/// # Errors
/// A command belongs to both sides, or differs between them. Changes to the project's scene stay
/// until the caller rolls it back.
pub fn split_by_owner(
    commands: &[Command],
    open: &Scene,
    files: &mut PlanningScene,
    holder: &dyn Fn(Node) -> Option<Ownership>,
    blobs: &BlobStore,
) -> Result<SplitProposal, Refusal> {
    let mut parting = OwnerSplitter { open, holder, ids: HashMap::new(), moved: Vec::new() };
    let mut parted = SplitProposal::default();
    for (at, command) in (0..).zip(commands) {
        if !parting.is_of_files(files, command)? {
            parting.check_independent(files, command)?;
            let path = &command.target().path;
            if parting.is_loose(files, path) && !parted.loose.contains(path) {
                parted.loose.push(path.clone());
            }
            continue;
        }
        let own = parting.translate_command(files, command)?;
        check_in_sync(files, &own)?;
        let node = try_command(files, &own, blobs)?;
        let is_moved = match &own {
            Command::Set { props, .. } => props.contains_key("Name"),
            Command::Move { .. } => true,
            _ => false,
        };
        parting.moved.extend(is_moved.then(|| files.path(node)));
        parted.owned.push(at);
        parted.commands.push(own);
    }
    Ok(parted)
}

struct OwnerSplitter<'a> {
    open: &'a Scene,
    holder: &'a dyn Fn(Node) -> Option<Ownership>,
    /// The ids of instances created in files: from the proposal's id to the id in the project's
    /// scene.
    ids: HashMap<InstanceId, InstanceId>,
    /// The new paths of instances that files rename or move.
    moved: Vec<InstancePath>,
}

impl OwnerSplitter<'_> {
    fn is_of_files(&self, files: &Scene, command: &Command) -> Result<bool, Refusal> {
        match command {
            Command::EditScript { target, .. } | Command::Delete { target, .. } => {
                Ok(self.find_in_files(files, target)?.is_some())
            }
            Command::Set { target, props, .. } => match self.find_in_files(files, target)? {
                Some(node) => self.can_files_hold(files, node, props),
                None => Ok(false),
            },
            // Instances deleted from files are restored in files only.
            Command::Restore { blob: Some(_), .. } => Ok(true),
            Command::Create { parent, class, .. } | Command::Restore { parent, class, .. } => {
                self.is_file_parent(files, parent, class)
            }
            Command::Clone { source, parent, .. } => {
                let is_taken = self.is_file_parent(files, parent, self.class_of(source))?;
                if is_taken && self.find_in_files(files, source)?.is_none() {
                    return refuse!(
                        "{} is a copy of {}, which exists only in Studio, and {} is in files of the \
                         Rojo project. Recreate it there, or copy it to a parent that is not in files.",
                        parent.path,
                        source.path,
                        parent.path
                    );
                }
                Ok(is_taken)
            }
            Command::Move { target, parent, .. } => {
                let from = self.find_in_files(files, target)?.is_some();
                let to = self.is_file_parent(files, parent, self.class_of(target))?;
                if from == to {
                    return Ok(from);
                }
                let (here, there) = if from { ("files", "Studio") } else { ("Studio", "files") };
                refuse!(
                    "{} is in {here} and would be in {there} below {}. Recreate it there, \
                     and delete the old one in a second step.",
                    target.path,
                    parent.path
                )
            }
            Command::Insert { asset, parent, .. } => {
                if !self.is_file_parent(files, parent, "Model")? {
                    return Ok(false);
                }
                refuse!(
                    "{} is in files of the Rojo project, and Studio would insert asset {asset} beside them. \
                     Insert it into the project itself with `vector assets insert`, or elsewhere.",
                    parent.path
                )
            }
            // Only place files have such commands.
            Command::SetMany { .. } | Command::EditMemory { .. } => Ok(false),
        }
    }

    fn class_of(&self, target: &Target) -> &str {
        self.open.by_id(&target.id).map_or("", |node| self.open.class(node))
    }

    /// Returns the project's instance for a target; None if the project does not contain it.
    fn find_in_files(&self, files: &Scene, target: &Target) -> Result<Option<Node>, Refusal> {
        if is_own(&target.id) {
            return Ok(self.ids.get(&target.id).and_then(|id| files.by_id(id)));
        }
        let Some(node) = find_by_path(files, &target.path)? else {
            return Ok(None);
        };
        let (here, there) = (self.class_of(target), files.class(node));
        if !here.is_empty() && here != there {
            return refuse!(
                "{} is a {here} in Studio and a {there} in the Rojo project. Let Rojo sync, then try again.",
                target.path
            );
        }
        Ok(Some(node))
    }

    /// Whether a new child of a class would be written to files.
    fn is_file_parent(&self, files: &Scene, parent: &Target, class: &str) -> Result<bool, Refusal> {
        let Some(parent) = self.find_in_files(files, parent)? else {
            return Ok(false);
        };
        Ok(match (self.holder)(parent) {
            // The parent itself is new, so it is in a file.
            None => true,
            Some(Ownership::Files { ignores_unknown }) => {
                !ignores_unknown || reflection::is_script(class)
            }
            Some(Ownership::Node { ignores_unknown, .. }) => !ignores_unknown,
        })
    }

    /// Whether files define these properties.
    fn can_files_hold(&self, files: &Scene, node: Node, props: &Props) -> Result<bool, Refusal> {
        let Some(Ownership::Node { properties, .. }) = (self.holder)(node) else {
            return Ok(true);
        };
        let is_declared = |name: &String| {
            let name = if name.starts_with('@') { "Attributes" } else { name };
            name == "Name" || properties.contains(name)
        };
        let declared: Vec<&str> =
            props.keys().filter(|it| is_declared(it)).map(String::as_str).collect();
        if declared.is_empty() || declared.len() == props.len() {
            return Ok(!declared.is_empty());
        }
        refuse!(
            "The Rojo project defines only {} of {}. Set those properties in a separate call.",
            declared.join(", "),
            files.path(node)
        )
    }

    /// Translates a command of the open place to the project.
    fn translate_command(&mut self, files: &Scene, command: &Command) -> Result<Command, Refusal> {
        let found = map_targets(command.clone(), &mut |target| {
            if let Some(node) = self.find_in_files(files, &target)? {
                return Ok(files.target(node));
            }
            refuse!(
                "{} exists only in Studio, and a file cannot refer to it. Omit the reference.",
                target.path
            )
        })?;
        let mut own = renumber_ids(files.next_new_number(), found, &mut self.ids);
        // The state of the project is checked when its files are written, so those expectations are
        // dropped. But a text must equal the text that was read.
        match &mut own {
            Command::Create { expect, .. }
            | Command::Clone { expect, .. }
            | Command::Set { expect, .. }
            | Command::Move { expect, .. }
            | Command::Delete { expect, .. }
            | Command::Insert { expect, .. } => *expect = None,
            Command::Restore { blob: None, name, .. } => {
                return refuse!(
                    "{name} was in files of the Rojo project, and only Studio keeps the deleted \
                     instance. Restore the files with Git."
                );
            }
            Command::SetMany { .. }
            | Command::Restore { .. }
            | Command::EditScript { .. }
            | Command::EditMemory { .. } => {}
        }
        Ok(own)
    }

    /// Checks that Studio can perform a command before the changes in files are synced.
    fn check_independent(&self, files: &Scene, command: &Command) -> Result<(), Refusal> {
        map_targets(command.clone(), &mut |target| {
            let is_moved = |moved: &InstancePath| {
                target.path.segments.starts_with(&moved.segments) && !moved.segments.is_empty()
            };
            if !self.ids.contains_key(&target.id) && !self.moved.iter().any(is_moved) {
                return Ok(target);
            }
            refuse!(
                "{} is in files of the Rojo project, and appears in Studio only after Rojo has \
                 synced. Do this in a second step.",
                target.path
            )
        })?;
        if let Command::Clone { source, .. } = command
            && let Some(node) = self.find_in_files(files, source)?
            && files.subtree(node).any(|node| files.is_script(node))
        {
            return refuse!(
                "{} has scripts in files of the Rojo project, and Studio would copy its own versions \
                 of them. Recreate them at the destination.",
                source.path
            );
        }
        Ok(())
    }

    /// Whether a path is unknown to the project and is below an instance that files define
    /// entirely.
    fn is_loose(&self, files: &Scene, path: &InstancePath) -> bool {
        let mut above = path.clone();
        loop {
            if let Ok(Some(node)) = find_by_path(files, &above) {
                return above.segments.len() < path.segments.len()
                    && (self.holder)(node) == Some(Ownership::Files { ignores_unknown: false });
            }
            if above.segments.pop().is_none() {
                return false;
            }
        }
    }
}

/// Returns the instance at a path. Siblings with the same name may be in another order, or only
/// partly in files, so they are refused.
fn find_by_path(files: &Scene, path: &InstancePath) -> Result<Option<Node>, Refusal> {
    let mut at = files.root();
    for segment in &path.segments {
        let named = files.count_named(at, &segment.name);
        if named == 0 {
            return Ok(None);
        }
        if named > 1 || segment.index.is_some() {
            return refuse!(
                "{path}: several instances below {} are named {:?}, and it is not clear which of \
                 them is in a file of the Rojo project. Rename them in their files first.",
                files.path(at),
                segment.name
            );
        }
        let Some(child) = files.find_child(at, &segment.name) else {
            return Ok(None);
        };
        at = child;
    }
    Ok(Some(at))
}

/// Checks that the target of a command is the same in files as in Studio.
fn check_in_sync(files: &Scene, command: &Command) -> Result<(), Refusal> {
    match command {
        Command::EditScript { target, expect, .. } => {
            let node = files.locate(target)?;
            let text = text_of(files, node, &target.path)?;
            if Fingerprint::hash_bytes(text.as_bytes()) != *expect {
                return refuse!(
                    "The file of {} differs from the script in Studio. Let Rojo sync it (`rojo \
                     serve`, and connect in Studio), read it again, and request the edit again.",
                    target.path
                );
            }
            Ok(())
        }
        Command::Delete { target, count, .. } | Command::Clone { source: target, count, .. } => {
            let node = files.locate(target)?;
            let held = files.subtree(node).count() as u32;
            if held != *count {
                return refuse!(
                    "{} has {count} instances in Studio, itself included, and {held} in files of the Rojo \
                     project. Let Rojo sync, or choose instances that are only in files.",
                    target.path
                );
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use scene_schemas::entry::Seq;
    use serde_json::{Value as Json, json};
    use vector_place::FileFormat;

    use super::*;
    use crate::tools::{self, Plan};

    const MAIN: &str = "game.ServerScriptService.Game.Main";

    /// A place that Rojo has synced, or its project. Workspace is a node that defines one property.
    /// So is Zone, which allows no unknown descendants. Game and its descendants are files.
    fn scene(is_open: bool) -> PlanningScene {
        let mut scene = Scene::empty(FileFormat::Binary);
        let root = scene.root();
        let workspace = scene.create(root, "Workspace", "Workspace");
        scene.create(workspace, "Folder", "Zone");
        let service = scene.create(root, "ServerScriptService", "ServerScriptService");
        let game = scene.create(service, "Folder", "Game");
        let main = scene.create(game, "Script", "Main");
        scene.set_source(main, "print(1)\n".to_owned());
        if is_open {
            scene.create(workspace, "Part", "Wall");
            scene.create(workspace, "ObjectValue", "Pointer");
            let alone = scene.create(workspace, "Script", "Alone");
            scene.set_source(alone, "print(1)\n".to_owned());
            scene.create(game, "Part", "Extra");
        }
        scene.into()
    }

    fn holder(files: &Scene) -> impl Fn(Node) -> Option<Ownership> + use<> {
        let node = |path: &str| files.resolve(&path.parse().unwrap()).unwrap();
        let properties = BTreeSet::from(["Gravity".to_owned()]);
        let workspace = Ownership::Node { properties, ignores_unknown: true };
        let zone = Ownership::Node { properties: BTreeSet::new(), ignores_unknown: false };
        let service = Ownership::Node { properties: BTreeSet::new(), ignores_unknown: true };
        let own = Ownership::Files { ignores_unknown: false };
        let known = [
            (node("game.Workspace"), workspace),
            (node("game.Workspace.Zone"), zone),
            (node("game.ServerScriptService"), service),
            (node("game.ServerScriptService.Game"), own.clone()),
            (node(MAIN), own),
        ];
        move |node| known.iter().find(|(it, _)| *it == node).map(|(_, holder)| holder.clone())
    }

    /// Splits a proposal with these changes.
    fn part(changes: &Json) -> Result<SplitProposal, String> {
        let mut open = scene(true);
        let base = Fingerprint::hash_bytes(b"base");
        let args = json!({ "title": "Some", "changes": changes });
        let blobs = BlobStore::new();
        let planned =
            tools::plan_call(Seq(9), "propose_changes", &args, &mut open, &base, &blobs, None);
        let Ok(Plan::Propose(proposal, _)) = planned else {
            panic!("{planned:?}");
        };
        let mut files = scene(false);
        let holder = holder(&files);
        split_by_owner(&proposal.commands, &open, &mut files, &holder, &blobs).map_err(|it| it.0)
    }

    #[track_caller]
    fn owned(changes: &Json, expected: &[u32]) {
        assert_eq!(part(changes).map(|it| it.owned), Ok(expected.to_vec()));
    }

    #[track_caller]
    fn refused(changes: &Json, expected: &str) {
        let why = part(changes).expect_err("it is of both");
        assert!(why.contains(expected), "{why}");
    }

    fn change(tool: &str, args: Json) -> Json {
        json!({ "tool": tool, "args": args })
    }

    fn create(parent: &str, class: &str, props: Json) -> Json {
        let args = json!({ "parentPath": parent, "className": class, "props": props });
        change("create_instance", args)
    }

    fn edit(path: &str) -> Json {
        change("replace_text", json!({ "path": path, "search": "1", "replace": "2" }))
    }

    fn rename(path: &str, name: &str) -> Json {
        change("rename_instance", json!({ "path": path, "newName": name }))
    }

    fn set(path: &str, props: Json) -> Json {
        change("set_properties", json!({ "path": path, "props": props }))
    }

    #[test]
    fn changes_to_instances_in_files_go_to_files() {
        let wall = rename("game.Workspace.Wall", "Tower");
        owned(&json!([edit(MAIN), wall]), &[0]);
        owned(&json!([edit("game.Workspace.Alone"), rename(MAIN, "Start")]), &[1]);
        let lib = create("game.ServerScriptService.Game", "ModuleScript", json!({ "Name": "Lib" }));
        let zone = create("game.Workspace.Zone", "Folder", json!({ "Name": "In" }));
        let part = create("game.Workspace", "Part", json!({ "Name": "New" }));
        owned(&json!([lib, part, zone]), &[0, 2]);
        let service = create("game.ServerScriptService", "Script", json!({ "Name": "Other" }));
        owned(&json!([service]), &[]);
        owned(&json!([change("delete_instance", json!({ "path": MAIN }))]), &[0]);
    }

    #[test]
    fn files_own_only_properties_their_node_specifies() {
        owned(&json!([set("game.Workspace", json!({ "Gravity": 10 }))]), &[0]);
        owned(&json!([set("game.Workspace", json!({ "FallenPartsDestroyHeight": -9 }))]), &[]);
        let both = json!({ "Gravity": 10, "FallenPartsDestroyHeight": -9 });
        refused(&json!([set("game.Workspace", both)]), "defines only Gravity of game.Workspace");
    }

    #[test]
    fn file_and_studio_changes_cannot_depend_on_each_other() {
        let new = json!({ "path": MAIN, "parentPath": "game.Workspace" });
        refused(&json!([change("move_instance", new)]), "is in files and would be in Studio");
        let copy = json!({ "path": MAIN, "parentPath": "game.Workspace" });
        refused(
            &json!([change("clone_instance", copy)]),
            "has scripts in files of the Rojo project",
        );
        let wall = json!({
            "path": "game.Workspace.Wall", "parentPath": "game.ServerScriptService.Game" });
        refused(&json!([change("clone_instance", wall)]), "exists only in Studio");
        let lib = create("game.ServerScriptService.Game", "ModuleScript", json!({ "Name": "Lib" }));
        let point =
            set("game.Workspace.Pointer", json!({ "Value": "game.ServerScriptService.Game.Lib" }));
        refused(&json!([lib, point]), "appears in Studio only after Rojo has synced");
        let below = rename("game.ServerScriptService.Core.Extra", "More");
        let renamed = rename("game.ServerScriptService.Game", "Core");
        refused(&json!([renamed, below]), "appears in Studio only after Rojo has synced");
    }

    #[test]
    fn studio_only_instances_below_file_instances_are_loose() {
        let loose = part(&json!([rename("game.ServerScriptService.Game.Extra", "More")])).unwrap();
        assert_eq!(loose.owned, Vec::<u32>::new());
        assert_eq!(loose.loose[0].to_string(), "game.ServerScriptService.Game.Extra");
        assert_eq!(part(&json!([rename("game.Workspace.Wall", "W")])).unwrap().loose, []);
        // A deletion also removes instances that no file contains.
        let delete = change("delete_instance", json!({ "path": "game.ServerScriptService.Game" }));
        refused(&json!([delete]), "has 3 instances in Studio, itself included, and 2 in files");
    }
}
