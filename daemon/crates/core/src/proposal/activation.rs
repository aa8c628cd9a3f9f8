//! Scripts that a command can activate by a copy, a move, a rename or a switch.
//!
//! Their text was written by another author and did nothing until now, so it is scanned like new
//! text. Scripts that already run are not scanned again.

use std::collections::HashMap;

use scene_schemas::command::Props;
use scene_schemas::proposal::WarningKind;
use scene_schemas::value::{Content, EnumName};
use scene_schemas::{Command, InstancePath, Value};
use vector_luau::ScanFinding;
use vector_place::{Node, Scene, count_noun};

use super::ProposalDraft;

/// Maximum bytes of scripts scanned per command.
const MAX_SCANNED: usize = 8 << 20;

/// Services below which a Script runs, and below which a LocalScript runs.
const SERVER: [&str; 2] = ["Workspace", "ServerScriptService"];
const CLIENT: [&str; 4] = ["ReplicatedFirst", "StarterGui", "StarterPack", "StarterPlayer"];
/// Services below which a Script with a `RunContext` other than Legacy surely runs.
const WITH_CONTEXT: [&str; 2] = ["ReplicatedStorage", "Workspace"];

impl ProposalDraft<'_> {
    /// Returns the scripts that do not run yet, and that may be run or required after the command.
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
        // Other scripts can find a script by its new name. For a script located where scripts run,
        // the name makes no difference.
        let wakes = |it: &Node| {
            (is_switched && *it == node && !runs_by_itself(scene, *it))
                || (is_named && !is_where_it_runs(scene, *it))
        };
        scripts().filter(wakes).collect()
    }

    /// Returns the scripts in a copy that the command just made.
    pub(super) fn copied_scripts(&self, command: &Command, node: Node) -> Vec<Node> {
        if self.is_inverse || !matches!(command, Command::Clone { .. }) {
            return Vec::new();
        }
        self.scene.subtree(node).filter(|node| self.scene.is_script(*node)).collect()
    }

    /// Warns of suspicious code in scripts that a command activates.
    pub(super) fn judge_activation(&mut self, scripts: &[Node]) {
        let mut left = MAX_SCANNED;
        let mut known: HashMap<String, Vec<ScanFinding>> = HashMap::new();
        let mut unread = 0;
        for node in scripts {
            // Scripts written by this proposal are judged when the draft is finished.
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
            let text = format!("{what} that can run now were too long to be checked; read them.");
            self.add_warning(WarningKind::Security, text);
        }
    }
}

/// Returns the warning for a script whose text comes from outside the place.
pub(super) fn linked_source_warning(path: &InstancePath) -> String {
    format!("{path}: LinkedSource is set, which loads the script's text from outside the place.")
}

/// Whether a value of `LinkedSource` is not empty.
pub(super) fn is_link(value: &Value) -> bool {
    match value {
        Value::String(link) | Value::ContentId(link) | Value::Content(Content::Uri(link)) => {
            !link.is_empty()
        }
        _ => false,
    }
}

/// Whether properties can enable a script, or change where it runs.
fn can_enable(props: &Props) -> bool {
    let is = |name: &str, on: bool| match props.get(name) {
        Some(Some(Value::Bool(value))) => *value == on,
        // Without a value, the property returns to its default, which enables the script.
        Some(None) => true,
        _ => false,
    };
    is("Disabled", false) || is("Enabled", true) || props.contains_key("RunContext")
}

/// Whether a script runs where it is located, without being required or copied. If that is unknown,
/// it counts as not running.
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

/// Whether scripts of this class run at this location, by the tree alone. Studio is not queried.
fn is_where_it_runs(scene: &Scene, node: Node) -> bool {
    let service = service_of(scene, node);
    scene.is_place()
        && match scene.class(node) {
            "ModuleScript" => false,
            "LocalScript" => CLIENT.contains(&service),
            _ => SERVER.contains(&service),
        }
}

/// Returns the class of the service that contains an instance.
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
