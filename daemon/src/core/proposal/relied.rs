//! Requires that a change would break: who finds a module by where it stands, and would not any more.

use scene_schemas::Command;
use scene_schemas::proposal::WarningKind;

use super::Draft;
use crate::core::code::{self, Index};
use crate::core::scene::{Node, count};

/// How many scripts are named.
const NAMED: usize = 5;

impl Draft<'_> {
    /// Notes who requires what, before the first command that moves modules. Nothing is asked for: of
    /// an open place it is as far as texts are known.
    pub(super) fn note_requires(&mut self, command: &Command) {
        let target = match command {
            Command::Set { target, props, .. } if props.contains_key("Name") => target,
            Command::Move { target, .. } | Command::Delete { target, .. } => target,
            _ => return,
        };
        if self.requires.is_some() || self.goes_back {
            return;
        }
        let Ok(node) = self.scene.locate(target) else {
            return;
        };
        if self.scene.subtree(node).any(|it| self.scene.is_script(it)) {
            self.requires = Some(code::with_known(self.scene, requires));
        }
    }

    /// Warns of scripts that would not find what they require. One whose text changes here as well is
    /// its author's business.
    pub(super) fn judge_requires(&mut self) {
        let Some(before) = self.requires.take() else {
            return;
        };
        let stays = |node: Node| {
            self.scene.is_live(node) && !self.texts.iter().any(|text| text.node == node)
        };
        let mut lost: Vec<Node> = code::with_known(self.scene, |index| {
            let is_lost = |(script, module): &(Node, Node)| {
                stays(*script) && !index.requires(*script).contains(module)
            };
            before.into_iter().filter(is_lost).map(|(script, _)| script).collect()
        });
        lost.dedup();
        if lost.is_empty() {
            return;
        }
        let mut names: Vec<String> =
            lost.iter().take(NAMED).map(|node| self.scene.path(*node).to_string()).collect();
        if lost.len() > NAMED {
            names.push(format!("{} more", lost.len() - NAMED));
        }
        let (one, many) = ("script requires", "scripts require");
        self.warn(
            WarningKind::References,
            format!(
                "{} what is renamed, moved or deleted here, and would not find it any more: {}.",
                count(lost.len(), one, many),
                names.join(", ")
            ),
        );
    }
}

/// Each script with each module that it requires.
fn requires(index: &Index) -> Vec<(Node, Node)> {
    let each = |script: &Node| {
        let script = *script;
        index.requires(script).into_iter().map(move |module| (script, module))
    };
    index.scripts().iter().flat_map(each).collect()
}

#[cfg(test)]
mod tests {
    use scene_schemas::entry::Seq;
    use serde_json::json;

    use crate::core::proposal::Blobs;
    use crate::core::scene::{Format, Scene};
    use crate::core::tools::{self, Plan};
    use scene_schemas::Fingerprint;

    /// A module, and scripts that require it by where it stands: beside it, by path, and not at all.
    fn place() -> Scene {
        let mut scene = Scene::empty(Format::Binary);
        let root = scene.root();
        let service = scene.create(root, "ReplicatedStorage", "ReplicatedStorage");
        let folder = scene.create(service, "Folder", "Lib");
        let mut script = |parent, class, name, text: &str| {
            let node = scene.create(parent, class, name);
            scene.set_source(node, text.to_owned());
        };
        script(folder, "ModuleScript", "Coins", "return {}\n");
        script(folder, "ModuleScript", "Shop", "return require(script.Parent.Coins)\n");
        script(service, "Script", "Main", "local c = require(game.ReplicatedStorage.Lib.Coins)\n");
        script(service, "Script", "Alone", "print(1)\n");
        scene
    }

    #[track_caller]
    fn warnings(tool: &str, args: serde_json::Value) -> Vec<String> {
        let mut scene = place();
        let base = Fingerprint::of(b"base");
        let planned = tools::plan(Seq(9), tool, &args, &mut scene, &base, &Blobs::new(), None);
        match planned {
            Ok(Plan::Propose(proposal, _)) => {
                proposal.warnings.into_iter().map(|it| it.text).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    fn lost(scripts: &str, names: &str) -> [String; 1] {
        [format!(
            "{scripts} what is renamed, moved or deleted here, and would not find it any more: {names}."
        )]
    }

    #[test]
    fn who_would_not_find_a_module_is_named() {
        let coins = "game.ReplicatedStorage.Lib.Coins";
        let both = lost(
            "2 scripts require",
            "game.ReplicatedStorage.Lib.Shop, game.ReplicatedStorage.Main",
        );
        assert_eq!(warnings("rename_instance", json!({ "path": coins, "newName": "Gems" })), both);
        assert_eq!(warnings("delete_instance", json!({ "path": coins })), both);
    }

    #[test]
    fn what_moves_together_finds_itself() {
        let folder = "game.ReplicatedStorage.Lib";
        let main = lost("1 script requires", "game.ReplicatedStorage.Main");
        assert_eq!(warnings("rename_instance", json!({ "path": folder, "newName": "Kit" })), main);
        let other = json!({ "path": "game.ReplicatedStorage.Alone", "newName": "Only" });
        assert_eq!(warnings("rename_instance", other), Vec::<String>::new());
    }

    #[test]
    fn who_is_changed_as_well_is_not_warned_of() {
        let changes = json!({ "title": "Both", "changes": [
            { "tool": "rename_instance", "args": { "path": "game.ReplicatedStorage.Lib", "newName": "Kit" } },
            { "tool": "replace_text", "args": {
                "path": "game.ReplicatedStorage.Main", "search": "Lib", "replace": "Kit" } },
        ] });
        assert_eq!(warnings("propose_changes", changes), Vec::<String>::new());
    }
}
