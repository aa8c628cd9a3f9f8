//! Dormant scripts that other scripts activate: a new text that requires, enables, moves or copies
//! them, or a path that leads to another module now.
//!
//! Only literal paths are followed. Scripts that already run, or that running scripts require, are
//! not reported.

use std::collections::HashSet;

use scene_schemas::Command;
use vector_luau::index::{self, RequireTarget, ScriptSummary};
use vector_place::{Node, Scene};

use super::activation::runs_by_itself;
use super::{DraftText, ProposalDraft};
use crate::code::{self, CodeIndex};

/// Pairs of a script and a module that it requires.
type RequirePairs = HashSet<(Node, Node)>;

/// The scripts that a proposal newly makes reachable.
#[derive(Default)]
struct NewlyReached {
    new: RequirePairs,
    /// Scripts and modules that may be activated.
    nodes: Vec<Node>,
}

impl ProposalDraft<'_> {
    /// Records the module of each path before the first command that may change it, by moving,
    /// renaming or deleting the module or the script. Nothing is requested from Studio.
    pub(super) fn note_path_targets(&mut self, command: &Command) {
        let target = match command {
            Command::Set { target, props, .. } if props.contains_key("Name") => target,
            Command::Move { target, .. } | Command::Delete { target, .. } => target,
            _ => return,
        };
        if self.meant_modules.is_some() || self.is_inverse {
            return;
        }
        let Ok(node) = self.scene.locate(target) else {
            return;
        };
        let scene = &*self.scene;
        let has_twin = scene
            .parent(node)
            .is_some_and(|parent| scene.count_named(parent, scene.name(node)) > 1);
        if has_twin || scene.subtree(node).any(|it| scene.is_script(it)) {
            self.meant_modules =
                Some(scene.with_known_texts(|index| path_references(scene, index)));
        }
    }

    /// Warns of suspicious code in dormant scripts that this proposal activates through other
    /// scripts.
    pub(super) fn judge_indirect_activation(&mut self) {
        let before = self.meant_modules.take();
        let woken = std::mem::take(&mut self.woken);
        let has_text = self.texts.iter().any(|text| self.scene.is_live(text.node));
        if self.is_inverse || (before.is_none() && woken.is_empty() && !has_text) {
            return;
        }
        let scene = &*self.scene;
        let mut reached = NewlyReached::default();
        for text in self.texts.iter().filter(|text| scene.is_live(text.node)) {
            reached.add_text(scene, text);
        }
        let live_woken: Vec<Node> = woken.iter().copied().filter(|it| scene.is_live(*it)).collect();
        let dormant = scene.with_known_texts(|index| {
            if let Some(before) = before {
                let before: RequirePairs = before.into_iter().collect();
                for pair in
                    path_references(scene, index).into_iter().filter(|it| !before.contains(it))
                {
                    reached.new.insert(pair);
                    reached.nodes.push(pair.1);
                }
            }
            reached.nodes.extend(&live_woken);
            if reached.nodes.is_empty() {
                return Vec::new();
            }
            let new: HashSet<Node> = self
                .texts
                .iter()
                .filter(|text| text.before.is_empty())
                .map(|text| text.node)
                .chain(live_woken.iter().copied())
                .collect();
            reached.find_dormant(scene, index, &new)
        });
        // Scripts that a command activates directly were already scanned.
        let known: HashSet<Node> = woken.into_iter().collect();
        let unseen: Vec<Node> = dormant.into_iter().filter(|it| !known.contains(it)).collect();
        self.judge_activation(&unseen);
    }
}

impl NewlyReached {
    /// Adds the scripts that a text reaches and its previous version did not.
    fn add_text(&mut self, scene: &Scene, text: &DraftText) {
        let after = scene.script_text(text.node).unwrap_or_default();
        let (old, new) = (index::summarize_script(&text.before), index::summarize_script(&after));
        let had: HashSet<&RequireTarget> = old.requires.iter().map(|it| &it.target).collect();
        let mut known = HashSet::new();
        for what in new.requires.iter().map(|it| &it.target) {
            if !had.contains(what) && known.insert(what) {
                let modules = code::possible_targets(scene, text.node, what).into_iter();
                for module in modules.filter(|it| is_module(scene, *it)) {
                    self.new.insert((text.node, module));
                    self.nodes.push(module);
                }
            }
        }
        let had: HashSet<&RequireTarget> = old.activations.iter().collect();
        let (mut known, mut roots) = (HashSet::new(), HashSet::new());
        for what in new.activations.iter().filter(|it| !had.contains(it)) {
            if known.insert(what) {
                roots.extend(code::possible_targets(scene, text.node, what));
            }
        }
        let within = roots.iter().flat_map(|root| scene.subtree(*root));
        let scripts: HashSet<Node> = within.filter(|it| scene.is_script(*it)).collect();
        let mut scripts: Vec<Node> = scripts.into_iter().collect();
        scripts.sort_unstable();
        self.nodes.extend(scripts);
    }

    /// Returns the reachable scripts, and all modules they require, that nothing runs so far, each
    /// once. `new` contains the scripts that start to run with this proposal.
    fn find_dormant(self, scene: &Scene, index: &CodeIndex, new: &HashSet<Node>) -> Vec<Node> {
        let nodes = self.nodes.iter().rev().copied();
        let mut found = transitive_closure(nodes, |node| index.required_modules(node));
        if scene.is_open_in_studio() {
            // Finding out whether a script runs may require a query to Studio, so only flagged
            // scripts are kept.
            found.retain(|it| scene.script_text(*it).is_some_and(|text| is_flagged(&text)));
        }
        let users = |node| {
            let users = index.required_by(node).iter().copied();
            users.filter(|user| !self.new.contains(&(*user, node))).collect()
        };
        let above = transitive_closure(found.iter().copied(), users);
        let running =
            above.into_iter().filter(|it| !new.contains(it) && runs_by_itself(scene, *it));
        let required = |node| {
            let modules = index.required_modules(node).into_iter();
            modules.filter(|module| !self.new.contains(&(node, *module))).collect()
        };
        let live: HashSet<Node> = transitive_closure(running, required).into_iter().collect();
        found.retain(|it| !live.contains(it));
        found
    }
}

/// Returns the nodes and everything reachable from them, each once.
fn transitive_closure(
    nodes: impl Iterator<Item = Node>,
    next: impl Fn(Node) -> Vec<Node>,
) -> Vec<Node> {
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    let mut open: Vec<Node> = nodes.collect();
    while let Some(node) = open.pop() {
        if known.insert(node) {
            found.push(node);
            open.extend(next(node));
        }
    }
    found
}

fn is_flagged(text: &str) -> bool {
    !vector_luau::scan_script(text).is_empty()
}

/// Returns each script with the first module that each of its paths means.
fn path_references(scene: &Scene, index: &CodeIndex) -> Vec<(Node, Node)> {
    let of = |script: &Node| {
        let script = *script;
        let requires = index.script_at(script).map_or(&[][..], |it: &ScriptSummary| &it.requires);
        let first = move |what: &RequireTarget| {
            code::possible_targets(scene, script, what).first().copied()
        };
        let modules = requires.iter().filter_map(move |it| first(&it.target));
        modules.filter(|it| is_module(scene, *it)).map(move |it| (script, it))
    };
    index.script_nodes().iter().flat_map(of).collect()
}

fn is_module(scene: &Scene, node: Node) -> bool {
    scene.class(node) == "ModuleScript"
}

#[cfg(test)]
mod tests {
    use scene_schemas::Fingerprint;
    use scene_schemas::entry::Seq;
    use scene_schemas::proposal::WarningKind;
    use serde_json::{Value as Json, json};
    use vector_place::{FileFormat, Node, Scene};

    use crate::proposal::BlobStore;
    use crate::tools::{self, Plan};

    const BACKDOOR: &str = "require(7712345678)\nreturn 1\n";

    /// A place with flagged scripts that do not run, and some scripts that run.
    fn place() -> Scene {
        let mut scene = Scene::empty(FileFormat::Binary);
        let root = scene.root();
        let mut services = Vec::new();
        for name in ["ReplicatedStorage", "ServerScriptService", "ServerStorage", "Workspace"] {
            services.push(scene.create(root, name, name));
        }
        let old = scene.create(services[0], "Folder", "Old");
        let mut script = |parent: Node, class: &str, name: &str, text: &str| {
            let node = scene.create(parent, class, name);
            scene.set_source(node, text.to_owned());
            node
        };
        script(services[0], "ModuleScript", "Mod", "return 1\n");
        script(services[0], "ModuleScript", "Mod", BACKDOOR);
        script(old, "ModuleScript", "Mod", BACKDOOR);
        script(old, "ModuleScript", "Link", "return require(script.Parent.Mod)\n");
        script(services[0], "ModuleScript", "Live", BACKDOOR);
        script(services[1], "Script", "Main", "require(game.ReplicatedStorage.Live)\n");
        script(services[1], "Script", "User", "require(game.ReplicatedStorage.Mod)\n");
        script(services[1], "Script", "Running", BACKDOOR);
        script(services[2], "Script", "Stored", BACKDOOR);
        let off = script(services[1], "Script", "Off", BACKDOOR);
        scene.set_property(off, "Disabled", Some(&scene_schemas::Value::Bool(true))).unwrap();
        let bytes = scene.encode().unwrap();
        Scene::decode(&bytes).unwrap()
    }

    #[track_caller]
    fn warned(tool: &str, args: &Json) -> Vec<String> {
        let (mut scene, base) = (place().into(), Fingerprint::hash_bytes(b"base"));
        match tools::plan_call(Seq(9), tool, args, &mut scene, &base, &BlobStore::new(), None) {
            Ok(Plan::Propose(proposal, _)) => {
                let found = proposal.warnings.into_iter();
                let found = found.filter(|it| it.kind == WarningKind::Security);
                found.map(|it| it.text.split(": ").next().unwrap_or_default().to_owned()).collect()
            }
            other => panic!("{tool} {args}: {other:?}"),
        }
    }

    #[track_caller]
    fn of_new(source: &str) -> Vec<String> {
        let props = json!({ "Name": "New", "Source": source });
        let parent = "game.ServerScriptService";
        let args = json!({ "className": "Script", "parentPath": parent, "props": props });
        warned("create_instance", &args)
    }

    #[test]
    fn new_script_activating_a_dormant_script_is_warned() {
        let (off, module) =
            ["game.ServerScriptService.Off", "game.ReplicatedStorage.Old.Mod"].into();
        for (source, path) in [
            ("script.Parent.Off.Enabled = true\n", off),
            ("script.Parent.Off.Disabled = false\n", off),
            ("local off = script.Parent:WaitForChild(\"Off\")\noff.Enabled = true\n", off),
            ("script.Parent[\"Off\"][\"Enabled\"] = true\n", off),
            ("require(game.ReplicatedStorage.Old.Mod)\n", module),
            ("require(game.ReplicatedStorage.Old.Link)\n", module),
            ("local m = game:GetService(\"ReplicatedStorage\").Old.Mod\nrequire(m)\n", module),
            ("require(game.ReplicatedStorage.Mod)\n", "game.ReplicatedStorage.Mod[2]"),
            ("game.ServerStorage.Stored.Parent = workspace\n", "game.ServerStorage.Stored"),
            (
                "local s = game.ServerStorage.Stored:Clone()\ns.Parent = workspace\n",
                "game.ServerStorage.Stored",
            ),
        ] {
            assert_eq!(of_new(source), [path], "{source}");
        }
    }

    #[test]
    fn new_script_activating_nothing_dormant_gets_no_warning() {
        for source in [
            "require(game.ReplicatedStorage.Live)\n",
            "script.Parent.Running.Enabled = false\n",
            "print(script.Parent.Off.Enabled)\n",
            "workspace.Gravity = 1\n",
        ] {
            assert_eq!(of_new(source), [""; 0], "{source}");
        }
    }

    #[test]
    fn edit_activating_a_dormant_script_is_warned() {
        let edit = |replace: &str| {
            let path = "game.ServerScriptService.Main";
            let args = json!({ "path": path, "search": "require(game.ReplicatedStorage.Live)\n", "replace": replace });
            warned("replace_text", &args)
        };
        let module = "game.ReplicatedStorage.Old.Mod";
        assert_eq!(edit("require(game.ReplicatedStorage.Old.Mod)\n"), [module]);
        assert_eq!(edit("require(game.ReplicatedStorage.Live)\nprint(1)\n"), [""; 0]);
    }

    #[test]
    fn path_newly_resolving_to_a_flagged_module_is_warned() {
        let (first, second) = ("game.ReplicatedStorage.Mod[1]", ["game.ReplicatedStorage.Mod"]);
        assert_eq!(warned("delete_instance", &json!({ "path": first })), second);
        assert_eq!(warned("rename_instance", &json!({ "path": first, "newName": "Mod0" })), second);
        let away = json!({ "path": first, "parentPath": "game.ServerStorage" });
        assert_eq!(warned("move_instance", &away), second);
    }

    #[test]
    fn activated_script_activates_the_modules_it_requires() {
        let args = json!({ "path": "game.ReplicatedStorage.Old.Link", "newName": "Kit" });
        assert_eq!(warned("rename_instance", &args), ["game.ReplicatedStorage.Old.Mod"]);
    }
}
