//! The sandbox of kept scripts: which instances of an asset become its containers, what a card says
//! of it, and what else would take scripts out of a sandbox.
//!
//! The rules are Roblox's: <https://create.roblox.com/docs/scripting/capabilities>.

use scene_schemas::command::{AssetContents, Props};
use scene_schemas::proposal::{Proposal, WarningKind};
use scene_schemas::sandbox::ScriptSandbox;
use scene_schemas::value::{EnumItem, EnumName};
use scene_schemas::{Command, InstancePath, Value};
use vector_place::{Node, Scene, reflection};

use super::ProposalDraft;
use super::insert::{ContentPaths, name_paths};

/// The classes, with those that derive from them, that can be sandboxed containers.
const CONTAINERS: [&str; 3] = ["Model", "Folder", "Script"];

/// The property of Workspace that decides whether sandboxes have an effect, and its value for that.
const MODE: &str = "SandboxedInstanceMode";
const EFFECTIVE_MODE: &str = "Experimental";

/// The properties of a sandboxed container. Files store `Sandboxed` as `DefinesCapabilities`.
const SANDBOXED: [&str; 2] = ["Sandboxed", "DefinesCapabilities"];
const CAPABILITIES: &str = "Capabilities";

/// Whether the kept scripts of a proposal's assets run in a sandbox. None if no script is kept.
pub fn sandbox_state(proposal: &Proposal) -> Option<bool> {
    let mut state = None;
    for command in &proposal.commands {
        if let Command::Insert { contents, left_out, sandbox, .. } = command
            && (sandbox.is_some() || has_kept_script(contents, left_out))
        {
            state = Some(state == Some(true) || sandbox.is_some());
        }
    }
    state
}

fn has_kept_script(contents: &AssetContents, left_out: &[u32]) -> bool {
    let is_left_out = |at: u32| left_out.binary_search(&at).is_ok();
    if contents.scripts.iter().all(|script| is_left_out(script.at)) {
        return false;
    }
    let kept = contents.flag_inserted(left_out);
    contents.scripts.iter().any(|script| kept.get(script.at as usize - 1) == Some(&true))
}

/// Has the kept scripts of a proposal's assets run in a sandbox or not.
pub(super) fn set_sandbox(proposal: &mut Proposal, is_sandboxed: bool) {
    for command in &mut proposal.commands {
        if let Command::Insert { contents, left_out, sandbox, .. } = command {
            *sandbox = (is_sandboxed && has_kept_script(contents, left_out))
                .then(|| ScriptSandbox::new(find_containers(contents, left_out)));
        }
    }
}

/// Returns the containers of the kept scripts of an asset: of each script and what it is in, the
/// outermost that can be one. By their numbers from 1, ascending.
fn find_containers(contents: &AssetContents, left_out: &[u32]) -> Vec<u32> {
    let kept = contents.flag_inserted(left_out);
    let scripts = contents.scripts.iter().filter(|it| kept[it.at as usize - 1]);
    let mut found: Vec<u32> =
        scripts.filter_map(|script| container_of(contents, script.at)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn container_of(contents: &AssetContents, script: u32) -> Option<u32> {
    let parent_of = |at: &u32| Some(contents.parents[*at as usize - 1]).filter(|above| *above != 0);
    let line = std::iter::successors(Some(script), parent_of);
    let can_contain = |at: &u32| {
        let class = contents.class_of(*at as usize - 1);
        CONTAINERS.iter().any(|of| reflection::is_a(class, of))
    };
    line.filter(can_contain).last()
}

/// Returns the sentence that a sandbox has no effect in a place, or may have none, and what to do;
/// None if it has. Studio does not let plugins read the mode.
fn mode_sentence(scene: &Scene, is_in_studio: bool) -> Option<String> {
    let workspace = scene.children(scene.root()).find(|node| scene.class(*node) == "Workspace");
    match workspace {
        _ if is_in_studio => Some(format!(
            "The sandbox has an effect only if Workspace.{MODE} is {EFFECTIVE_MODE}, which plugins \
             cannot read: check it in the Properties window of Workspace."
        )),
        None => Some(format!(
            "The sandbox has an effect only in places whose Workspace.{MODE} is {EFFECTIVE_MODE}: set \
             it there, in Studio's Properties window of Workspace."
        )),
        Some(workspace) if is_effective(scene, workspace) => None,
        Some(_) => Some(format!(
            "The sandbox has no effect, because Workspace.{MODE} is not {EFFECTIVE_MODE}: set it in \
             Studio's Properties window of Workspace."
        )),
    }
}

fn is_effective(scene: &Scene, workspace: Node) -> bool {
    matches!(
        scene.value(workspace, MODE),
        Some(Value::EnumItem(EnumItem { item: EnumName::Name(name), .. })) if name == EFFECTIVE_MODE
    )
}

impl ProposalDraft<'_> {
    /// Records the sandbox of an asset that was just inserted.
    pub(super) fn note_sandbox(
        &mut self,
        asset: u64,
        sandbox: &ScriptSandbox,
        paths: &ContentPaths<'_>,
        is_in_studio: bool,
    ) {
        let contents = paths.contents;
        let path = |at: u32| paths.path(self.scene, at as usize - 1);
        let sandboxed: Vec<InstancePath> = sandbox.containers.iter().map(|at| path(*at)).collect();
        let kept = contents.scripts.iter().filter(|it| paths.kept[it.at as usize - 1]);
        let bare = kept.filter(|it| container_of(contents, it.at).is_none());
        let bare: Vec<InstancePath> = bare.map(|it| path(it.at)).collect();
        let nodes = sandbox.containers.iter().filter_map(|at| paths.node(*at as usize - 1));
        self.sandboxes.extend(nodes);
        let mut said = Vec::new();
        if !sandboxed.is_empty() {
            let what = match sandboxed.len() {
                1 => "the sandbox".to_owned(),
                count => format!("{count} sandboxes"),
            };
            let named = name_paths(&sandboxed.iter().collect::<Vec<_>>());
            said.push(format!(
                "Kept scripts of asset {asset} run in {what} {named}, with these capabilities: {}.",
                sandbox.capabilities.join(", ")
            ));
            said.extend(mode_sentence(self.scene, is_in_studio));
        }
        if !bare.is_empty() {
            said.push(format!(
                "Not sandboxed, because only Models, Folders and Scripts can be sandboxed containers, \
                 and neither it nor what it is in is one: {}.",
                name_paths(&bare.iter().collect::<Vec<_>>())
            ));
        }
        for text in said {
            self.add_warning(WarningKind::Scripts, text);
        }
    }

    /// Warns if a command lifts or widens a sandbox, or takes scripts out of one.
    pub(super) fn judge_sandbox(&mut self, command: &Command) {
        if self.is_inverse {
            return;
        }
        let text = match command {
            Command::Set { target, props, .. } => {
                let node = self.scene.by_id(&target.id);
                self.find_lifted(node, props).map(|name| {
                    format!("{}: {name} is set, which changes what scripts may do.", target.path)
                })
            }
            Command::SetMany { target, props, .. } => self.find_lifted(None, props).map(|name| {
                format!("{}: {name} is set, which changes what scripts may do.", target.path)
            }),
            Command::Move { target, parent, .. }
            | Command::Clone { source: target, parent, .. } => {
                let nodes = (self.scene.by_id(&target.id), self.scene.by_id(&parent.id));
                let (Some(node), Some(parent)) = nodes else { return };
                self.left_sandbox(node, parent).map(|sandbox| {
                    format!(
                        "{} has scripts and gets out of the sandbox {}.",
                        target.path,
                        self.scene.path(sandbox)
                    )
                })
            }
            Command::Create { .. }
            | Command::Delete { .. }
            | Command::Restore { .. }
            | Command::Insert { .. }
            | Command::EditScript { .. }
            | Command::EditMemory { .. } => None,
        };
        if let Some(text) = text {
            self.add_warning(WarningKind::Security, text);
        }
    }

    /// Returns the property that lifts or widens a sandbox. `node` is the instance that is set; None
    /// if there are many.
    fn find_lifted<'p>(&self, node: Option<Node>, props: &'p Props) -> Option<&'p str> {
        let may_be_sandboxed = node.is_none_or(|node| self.may_be_sandbox(node));
        props.iter().find_map(|(name, value)| {
            let lifts = if SANDBOXED.contains(&name.as_str()) {
                may_be_sandboxed && *value != Some(Value::Bool(true))
            } else if name == MODE {
                node.is_some_and(|node| is_effective(self.scene, node))
            } else {
                name == CAPABILITIES && may_be_sandboxed
            };
            lifts.then_some(name.as_str())
        })
    }

    /// Whether an instance is a sandboxed container, or may be one as far as is known.
    fn may_be_sandbox(&self, node: Node) -> bool {
        self.is_sandbox(node) || self.scene.is_asset_preview(node)
    }

    fn is_sandbox(&self, node: Node) -> bool {
        self.sandboxes.contains(&node)
            || self.scene.value(node, SANDBOXED[0]) == Some(Value::Bool(true))
    }

    /// Returns the sandbox that an instance with scripts is in and its new parent is not.
    fn left_sandbox(&self, node: Node, parent: Node) -> Option<Node> {
        let above = std::iter::successors(self.scene.parent(node), |at| self.scene.parent(*at));
        let left = above
            .filter(|at| !self.scene.is_within(parent, *at))
            .find(|at| self.is_sandbox(*at))?;
        let has_script = self.scene.subtree(node).any(|below| self.scene.is_script(below));
        has_script.then_some(left)
    }
}
