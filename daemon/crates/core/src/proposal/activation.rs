//! Scripts that a command can bring to life: by a copy, a move, a name, or a switch.
//!
//! Their text was written by somebody else at another time, where it did nothing; here it is looked
//! through like new text. What a script that runs already does is no news.

use std::collections::HashMap;

use scene_schemas::command::Props;
use scene_schemas::proposal::WarningKind;
use scene_schemas::value::{Content, EnumName};
use scene_schemas::{Command, InstancePath, Value};
use vector_luau::ScanFinding;
use vector_place::{Node, Scene, count_noun};

use super::ProposalDraft;

/// Bytes of all scripts of one command that are looked through.
const MAX_SCANNED: usize = 8 << 20;

/// Services below which a Script runs, and a LocalScript.
const SERVER: [&str; 2] = ["Workspace", "ServerScriptService"];
const CLIENT: [&str; 4] = ["ReplicatedFirst", "StarterGui", "StarterPack", "StarterPlayer"];
/// Those below which a Script with a `RunContext` of its own runs for certain.
const WITH_CONTEXT: [&str; 2] = ["ReplicatedStorage", "Workspace"];

impl ProposalDraft<'_> {
    /// The scripts that do nothing by themselves yet, and may be run or required for what a command
    /// is about to change.
    pub(super) fn dormant_scripts(&self, command: &Command) -> Vec<Node> {
        if self.is_inverse {
            return Vec::new();
        }
        let (Command::Move { target, .. } | Command::Set { target, .. }) = command else {
            return Vec::new();
        };
        let Some(node) = self.scene.by_id(&target.id) else {
            return Vec::new();
        };
        let scene = &*self.scene;
        let scripts = || scene.subtree(node).filter(|node| scene.is_script(*node));
        let Command::Set { props, .. } = command else {
            return scripts().filter(|it| !runs_by_itself(scene, *it)).collect();
        };
        let (is_named, is_switched) = (props.contains_key("Name"), can_enable(props));
        if !is_named && !is_switched {
            return Vec::new();
        }
        // By a new name other scripts find it. One that stands where scripts run has no need of that.
        let wakes = |it: &Node| {
            (is_switched && *it == node && !runs_by_itself(scene, *it))
                || (is_named && !is_where_it_runs(scene, *it))
        };
        scripts().filter(wakes).collect()
    }

    /// The scripts in a copy that a command has just made.
    pub(super) fn copied_scripts(&self, command: &Command, node: Node) -> Vec<Node> {
        if self.is_inverse || !matches!(command, Command::Clone { .. }) {
            return Vec::new();
        }
        self.scene.subtree(node).filter(|node| self.scene.is_script(*node)).collect()
    }

    /// Warns of what scripts do that a command has brought to life.
    pub(super) fn judge_activation(&mut self, scripts: &[Node]) {
        let mut left = MAX_SCANNED;
        let mut known: HashMap<String, Vec<ScanFinding>> = HashMap::new();
        let mut unread = 0;
        for node in scripts {
            // What this proposal writes is judged when the draft is finished.
            if self.texts.iter().any(|text| text.node == *node && text.before.is_empty()) {
                continue;
            }
            let path = self.scene.path(*node);
            if !self.scene.is_open_in_studio()
                && let Some(link) = self.scene.value(*node, "LinkedSource")
                && is_link(&link)
            {
                self.add_warning(WarningKind::Security, linked_source_warning(&path));
            }
            let text = self.scene.script_text(*node).unwrap_or_default().into_owned();
            if text.is_empty() {
                continue;
            }
            if !known.contains_key(&text) {
                if text.len() > left {
                    unread += 1;
                    continue;
                }
                left -= text.len();
            }
            let found = known.entry(text).or_insert_with_key(|text| vector_luau::scan_script(text));
            let found = found.clone();
            self.warn_of(&path, found);
        }
        if unread > 0 {
            let what = count_noun(unread, "script", "scripts");
            let text =
                format!("{what} that can run now were too long to be looked through; read them.");
            self.add_warning(WarningKind::Security, text);
        }
    }
}

/// What is said of a script whose text comes from elsewhere.
pub(super) fn linked_source_warning(path: &InstancePath) -> String {
    format!("{path}: LinkedSource is set, which takes the script's text from outside the place.")
}

/// Whether a value of `LinkedSource` names something.
pub(super) fn is_link(value: &Value) -> bool {
    match value {
        Value::String(link) | Value::ContentId(link) | Value::Content(Content::Uri(link)) => {
            !link.is_empty()
        }
        _ => false,
    }
}

/// Whether properties can switch a script on, or have it run elsewhere.
fn can_enable(props: &Props) -> bool {
    let is = |name: &str, on: bool| match props.get(name) {
        Some(Some(Value::Bool(value))) => *value == on,
        // Without a value it goes back to its default, which is on.
        Some(None) => true,
        _ => false,
    };
    is("Disabled", false) || is("Enabled", true) || props.contains_key("RunContext")
}

/// Whether a script runs where it is, without any other that requires or copies it. What cannot be
/// told counts as one that does not.
pub(super) fn runs_by_itself(scene: &Scene, node: Node) -> bool {
    let class = scene.class(node);
    let is_off = scene.value(node, "Disabled") != Some(Value::Bool(false));
    if !scene.is_place() || class == "ModuleScript" || is_off {
        return false;
    }
    let service = service_of(scene, node);
    if class == "LocalScript" {
        return CLIENT.contains(&service);
    }
    match scene.value(node, "RunContext") {
        Some(Value::EnumItem(context)) if is_legacy(&context.item) => SERVER.contains(&service),
        Some(_) => WITH_CONTEXT.contains(&service),
        None => false,
    }
}

/// Whether scripts of this class run there, by the tree alone: nothing is asked of Studio for it.
fn is_where_it_runs(scene: &Scene, node: Node) -> bool {
    let service = service_of(scene, node);
    scene.is_place()
        && match scene.class(node) {
            "ModuleScript" => false,
            "LocalScript" => CLIENT.contains(&service),
            _ => SERVER.contains(&service),
        }
}

/// The class of the service that an instance is below.
fn service_of(scene: &Scene, node: Node) -> &str {
    let mut service = node;
    while let Some(parent) = scene.parent(service).filter(|parent| *parent != scene.root()) {
        service = parent;
    }
    scene.class(service)
}

fn is_legacy(context: &EnumName) -> bool {
    match context {
        EnumName::Name(name) => name == "Legacy",
        EnumName::Number(number) => *number == 0,
    }
}
