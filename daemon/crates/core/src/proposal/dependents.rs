//! Dependents that a change would break: scripts that require a module by its path, and scripts
//! that use a removed member of a module.

use scene_schemas::proposal::WarningKind;
use scene_schemas::refusal::Refusal;
use scene_schemas::{Command, InstancePath};
use vector_luau::index::{self, ReturnedValue};
use vector_place::{Node, count_noun};

use super::{DraftText, ProposalDraft};
use crate::code::{self, CodeIndex, RenamedInstance, Symbol};

/// Maximum number of scripts named in a warning.
const NAMED: usize = 5;
/// Maximum number of removed members checked per module.
const MEMBERS: usize = 20;
/// Maximum number of scripts with broken requires that are corrected. If more are broken, none is,
/// and the user decides.
const CORRECTED: usize = 200;

impl ProposalDraft<'_> {
    /// Records the requires of all scripts before the first command that moves, renames or deletes
    /// scripts. Studio is not queried: in an open place, only known texts count.
    pub(super) fn note_requires(&mut self, command: &Command) {
        let target = match command {
            Command::Set { target, props, .. } if props.contains_key("Name") => target,
            Command::Move { target, .. } | Command::Delete { target, .. } => target,
            _ => return,
        };
        if self.requires.is_some() || self.is_inverse {
            return;
        }
        let Ok(node) = self.scene.locate(target) else {
            return;
        };
        if self.scene.subtree(node).any(|it| self.scene.is_script(it)) {
            self.requires = Some(self.scene.with_known_texts(resolved_requires));
        }
    }

    /// Corrects the requires of other scripts that a rename here would break, and returns the paths
    /// of the corrected scripts. If replacing names in a path is not enough, a warning is added
    /// when the proposal is finished.
    ///
    /// # Errors
    /// The proposal would become too large.
    pub fn correct_requires(&mut self) -> Result<Vec<InstancePath>, Refusal> {
        let Some(before) = &self.requires else {
            return Ok(Vec::new());
        };
        let renamed: Vec<RenamedInstance> =
            self.commands.iter().filter_map(|it| self.find_rename(it)).collect();
        let lost = if renamed.is_empty() { Vec::new() } else { self.broken_requires(before) };
        if lost.len() > CORRECTED {
            return Ok(Vec::new());
        }
        let wanted = before.iter().filter(|(script, _)| lost.contains(script));
        let corrected = wanted.filter_map(|(script, modules)| {
            Some((*script, code::correct_requires(self.scene, *script, modules, &renamed)?))
        });
        let mut paths = Vec::new();
        for (script, edits) in corrected.collect::<Vec<_>>() {
            self.edit_script(script, edits)?;
            paths.push(self.scene.path(script));
        }
        Ok(paths)
    }

    /// Returns the instance that a command renamed.
    fn find_rename(&self, command: &Command) -> Option<RenamedInstance> {
        match command {
            Command::Set { target, props, .. } if props.contains_key("Name") => {
                let node = self.scene.by_id(&target.id)?;
                let old = target.path.segments.last()?.name.clone();
                Some(RenamedInstance { node, old })
            }
            _ => None,
        }
    }

    /// Returns the scripts whose requires no longer resolve as before. Scripts edited by this
    /// proposal are left to its author.
    fn broken_requires(&self, before: &[(Node, Vec<Option<Node>>)]) -> Vec<Node> {
        let is_untouched = |node: Node| {
            self.scene.is_live(node) && !self.texts.iter().any(|text| text.node == node)
        };
        self.scene.with_known_texts(|index| {
            let is_lost = |(script, modules): &&(Node, Vec<Option<Node>>)| {
                is_untouched(*script) && {
                    let now = index.required_modules(*script);
                    modules.iter().flatten().any(|module| !now.contains(module))
                }
            };
            before.iter().filter(is_lost).map(|(script, _)| *script).collect()
        })
    }

    /// Warns of scripts whose requires would break.
    pub(super) fn judge_requires(&mut self) {
        let Some(before) = self.requires.take() else {
            return;
        };
        let lost = self.broken_requires(&before);
        if lost.is_empty() {
            return;
        }
        let (one, many) = ("script requires", "scripts require");
        self.add_warning(
            WarningKind::References,
            format!(
                "{} something that is renamed, moved or deleted here, and would no longer find it: {}.",
                count_noun(lost.len(), one, many),
                self.list_paths(&lost)
            ),
        );
    }

    /// Warns of scripts that use a member of a module which its new text no longer exports.
    pub(super) fn judge_members(&mut self) {
        if self.is_inverse {
            return;
        }
        let mut sentences = Vec::new();
        for text in self.texts.iter().filter(|text| self.scene.is_live(text.node)) {
            for member in self.gone_members(text).into_iter().take(MEMBERS) {
                let users = self.member_users(text.node, &member);
                if users.is_empty() {
                    continue;
                }
                let (one, many) = ("script uses it", "scripts use it");
                sentences.push(format!(
                    "{} no longer provides `{member}`, and {}: {}.",
                    self.scene.path(text.node),
                    count_noun(users.len(), one, many),
                    self.list_paths(&users)
                ));
            }
        }
        for sentence in sentences {
            self.add_warning(WarningKind::References, sentence);
        }
    }

    /// Returns the members that a module exported before and does not export now.
    fn gone_members(&self, text: &DraftText) -> Vec<Box<str>> {
        let after = self.scene.script_text(text.node).unwrap_or_default();
        if self.scene.class(text.node) != "ModuleScript" || text.before == *after {
            return Vec::new();
        }
        let (before, after) =
            (index::summarize_script(&text.before), index::summarize_script(&after));
        // Members are only known if the module returns a table.
        if before.returns != ReturnedValue::Table || after.returns != ReturnedValue::Table {
            return Vec::new();
        }
        let is_kept =
            |it: &&index::ModuleMember| after.members.iter().any(|other| other.name == it.name);
        let gone = before.members.iter().filter(|it| !is_kept(it));
        gone.map(|it| it.name.clone()).collect()
    }

    /// Returns the other scripts that surely use a member of a module, as far as their texts are
    /// known.
    fn member_users(&self, module: Node, member: &str) -> Vec<Node> {
        let mut users: Vec<Node> = self.scene.with_known_texts(|index| {
            let symbol = Symbol::Member(module, member.into());
            let hits = code::find_references(index, self.scene, &symbol);
            hits.into_iter().filter(|it| it.is_certain).map(|it| it.node).collect()
        });
        users.dedup();
        users.retain(|node| *node != module);
        users
    }

    /// Lists the paths of the first scripts.
    fn list_paths(&self, nodes: &[Node]) -> String {
        let mut names: Vec<String> =
            nodes.iter().take(NAMED).map(|node| self.scene.path(*node).to_string()).collect();
        if nodes.len() > NAMED {
            names.push(format!("{} more", nodes.len() - NAMED));
        }
        names.join(", ")
    }
}

/// Returns each script that has requires, with the resolved module of each require.
fn resolved_requires(index: &CodeIndex) -> Vec<(Node, Vec<Option<Node>>)> {
    let each = |script: &Node| {
        let resolved = index.resolved_requires(*script);
        let modules = || resolved.iter().map(|it| it.as_ref().ok().copied()).collect();
        (!resolved.is_empty()).then(|| (*script, modules()))
    };
    index.script_nodes().iter().filter_map(each).collect()
}

#[cfg(test)]
mod tests {
    use scene_schemas::Fingerprint;
    use scene_schemas::entry::Seq;
    use serde_json::json;
    use vector_place::{FileFormat, Scene};

    use crate::planning_scene::PlanningScene;
    use crate::proposal::BlobStore;
    use crate::tools::{self, Plan};

    /// A module, and scripts that require it relatively, by full path, or not at all.
    fn place() -> Scene {
        let mut scene = Scene::empty(FileFormat::Binary);
        let root = scene.root();
        let service = scene.create(root, "ReplicatedStorage", "ReplicatedStorage");
        let folder = scene.create(service, "Folder", "Lib");
        let mut script = |parent, class, name, text: &str| {
            let node = scene.create(parent, class, name);
            scene.set_source(node, text.to_owned());
        };
        let coins = "local Coins = {}\nfunction Coins.give() end\nfunction Coins.take() end\n\
                     return Coins\n";
        script(folder, "ModuleScript", "Coins", coins);
        script(folder, "ModuleScript", "Shop", "return require(script.Parent.Coins)\n");
        let main = "local c = require(game.ReplicatedStorage.Lib.Coins)\nc.give()\n";
        script(service, "Script", "Main", main);
        script(service, "Script", "Alone", "print(1)\n");
        scene
    }

    #[track_caller]
    fn warnings(tool: &str, args: serde_json::Value) -> Vec<String> {
        let mut scene = place().into();
        let base = Fingerprint::hash_bytes(b"base");
        let planned =
            tools::plan_call(Seq(9), tool, &args, &mut scene, &base, &BlobStore::new(), None);
        match planned {
            Ok(Plan::Propose(proposal, _)) => {
                proposal.warnings.into_iter().map(|it| it.text).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    fn lost(scripts: &str, names: &str) -> [String; 1] {
        [format!(
            "{scripts} something that is renamed, moved or deleted here, and would no longer find it: {names}."
        )]
    }

    /// Renames an instance, and returns the new text of a script and the warnings.
    #[track_caller]
    fn renamed(text: &str, path: &str, name: &str) -> (String, Vec<String>) {
        let mut scene = place();
        let root = scene.root();
        let starter = scene.create(root, "ServerScriptService", "ServerScriptService");
        let script = scene.create(starter, "Script", "Uses");
        scene.set_source(script, text.to_owned());
        let mut scene = PlanningScene::from(scene);
        let base = Fingerprint::hash_bytes(b"base");
        let args = json!({ "path": path, "newName": name });
        let tool = "rename_instance";
        let planned =
            tools::plan_call(Seq(9), tool, &args, &mut scene, &base, &BlobStore::new(), None);
        let Ok(Plan::Propose(proposal, _)) = planned else { panic!("{planned:?}") };
        let warnings = proposal.warnings.into_iter().map(|it| it.text).collect();
        (scene.script_text(script).unwrap().into_owned(), warnings)
    }

    #[test]
    fn requires_of_a_renamed_module_are_updated() {
        let (coins, lib) = ("game.ReplicatedStorage.Lib.Coins", "game.ReplicatedStorage.Lib");
        for (path, name, before, after) in [
            (
                coins,
                "Gems",
                "require(game.ReplicatedStorage.Lib.Coins)",
                "require(game.ReplicatedStorage.Lib.Gems)",
            ),
            (
                coins,
                "Gold coins",
                "require(game.ReplicatedStorage.Lib.Coins)",
                "require(game.ReplicatedStorage.Lib[\"Gold coins\"])",
            ),
            (
                lib,
                "Kit",
                "require(game:GetService('ReplicatedStorage'):WaitForChild('Lib').Coins)",
                "require(game:GetService('ReplicatedStorage'):WaitForChild(\"Kit\").Coins)",
            ),
            (
                lib,
                "Kit",
                "local Lib = game.ReplicatedStorage.Lib\nlocal c = require(Lib.Coins)\nlocal s = require(Lib.Shop)",
                "local Lib = game.ReplicatedStorage.Kit\nlocal c = require(Lib.Coins)\nlocal s = require(Lib.Shop)",
            ),
            (
                coins,
                "Gems",
                "require('@game/ReplicatedStorage/Lib/Coins')",
                "require('@game/ReplicatedStorage/Lib/Gems')",
            ),
            // Another instance of that name, and other uses of the name, stay unchanged.
            (
                lib,
                "Kit",
                "local m = require(game.ReplicatedStorage.Lib.Coins)\nprint(m.Lib, workspace.Lib, \"Lib\")",
                "local m = require(game.ReplicatedStorage.Kit.Coins)\nprint(m.Lib, workspace.Lib, \"Lib\")",
            ),
        ] {
            let (found, warnings) = renamed(before, path, name);
            assert_eq!(found, after);
            assert_eq!(warnings, Vec::<String>::new(), "{before}");
        }
    }

    #[test]
    fn unresolved_require_is_kept_and_repeated_path_is_updated() {
        let before = "local at = { game.ReplicatedStorage.Lib }\nlocal names = \"Lib\"\n\
                      return require(game.ReplicatedStorage:FindFirstChild(names).Coins), at";
        let (found, warnings) = renamed(before, "game.ReplicatedStorage.Lib", "Kit");
        assert_eq!((found.as_str(), warnings.len()), (before, 0), "nobody knows that require");
        // Both requires on a line contain the renamed path.
        let twice = "return require(game.ReplicatedStorage.Lib.Coins), require(game.ReplicatedStorage.Lib.Shop)";
        let (found, warnings) = renamed(twice, "game.ReplicatedStorage.Lib", "Kit");
        assert_eq!(found, twice.replace("Lib", "Kit"));
        assert_eq!(warnings, Vec::<String>::new());
    }

    #[test]
    fn scripts_losing_a_moved_or_deleted_module_are_named() {
        let coins = "game.ReplicatedStorage.Lib.Coins";
        let both = lost(
            "2 scripts require",
            "game.ReplicatedStorage.Lib.Shop, game.ReplicatedStorage.Main",
        );
        let moved = json!({ "path": coins, "parentPath": "game.ReplicatedStorage" });
        assert_eq!(warnings("move_instance", moved), both);
        assert_eq!(warnings("delete_instance", json!({ "path": coins })), both);
    }

    #[test]
    fn requires_between_modules_moved_together_get_no_warning() {
        let service = "game.ReplicatedStorage";
        let moved =
            json!({ "path": format!("{service}.Lib"), "parentPath": format!("{service}.Alone") });
        let main = lost("1 script requires", "game.ReplicatedStorage.Main");
        assert_eq!(warnings("move_instance", moved), main);
        let other = json!({ "path": "game.ReplicatedStorage.Alone", "newName": "Only" });
        assert_eq!(warnings("rename_instance", other), Vec::<String>::new());
    }

    #[test]
    fn scripts_changed_in_the_same_proposal_get_no_warning() {
        let changes = json!({ "title": "Both", "changes": [
            { "tool": "rename_instance", "args": { "path": "game.ReplicatedStorage.Lib", "newName": "Kit" } },
            { "tool": "replace_text", "args": {
                "path": "game.ReplicatedStorage.Main", "search": "Lib", "replace": "Kit" } },
        ] });
        assert_eq!(warnings("propose_changes", changes), Vec::<String>::new());
    }

    #[test]
    fn scripts_using_a_removed_export_are_named() {
        let coins = "game.ReplicatedStorage.Lib.Coins";
        let edit = |search: &str, replace: &str| {
            let args = json!({ "path": coins, "search": search, "replace": replace });
            warnings("replace_text", args)
        };
        assert_eq!(
            edit("Coins.give", "Coins.hand"),
            [format!(
                "{coins} no longer provides `give`, and 1 script uses it: game.ReplicatedStorage.Main."
            )]
        );
        assert_eq!(edit("Coins.take", "Coins.get"), Vec::<String>::new());
        let changes = json!({ "title": "Both", "changes": [
            { "tool": "replace_text", "args": {
                "path": coins, "search": "Coins.give", "replace": "Coins.hand" } },
            { "tool": "replace_text", "args": {
                "path": "game.ReplicatedStorage.Main", "search": "c.give", "replace": "c.hand" } },
        ] });
        assert_eq!(warnings("propose_changes", changes), Vec::<String>::new());
    }
}
