//! Rules of a task: which proposals a rule covers, and which rules are offered with a proposal.

use std::collections::BTreeSet;

use scene_schemas::path::Segment;
use scene_schemas::proposal::{Class, Proposal, WarningKind};
use scene_schemas::rule::{RuleScope, TaskRule};
use scene_schemas::value::canonical_json;
use scene_schemas::{Command, Fingerprint, InstancePath};
use serde_json::{Value as Json, json};

/// The maximum number of scripts of an offered rule.
const MAX_SCRIPTS: usize = 20;

/// The maximum number of commands of a proposal with which a rule about equal changes is offered.
const MAX_EQUAL: usize = 50;

/// The classes whose instances hold others, so that more is likely to follow within a new one.
const CONTAINERS: [&str; 12] = [
    "Actor",
    "BillboardGui",
    "CanvasGroup",
    "Configuration",
    "Folder",
    "Frame",
    "Model",
    "ScreenGui",
    "ScrollingFrame",
    "SurfaceGui",
    "Tool",
    "WorldModel",
];

/// Whether a rule approves a proposal.
pub fn allows(rule: &TaskRule, proposal: &Proposal) -> bool {
    may_be_covered(proposal)
        && proposal.class <= rule.class
        && match &rule.scope {
            RuleScope::Task {} => true,
            RuleScope::Within { path } => {
                written_paths(&proposal.commands).iter().all(|it| it.is_within(path))
            }
            RuleScope::Scripts { paths } => {
                proposal.commands.iter().all(|command| match edited_script(command) {
                    Some(script) => paths.contains(script),
                    None => false,
                })
            }
            RuleScope::Equal { change, .. } => {
                change_hash(&proposal.commands).is_some_and(|it| it == *change)
            }
            RuleScope::Erased {} => false,
        }
}

/// Whether rules may approve a proposal at all. A person always sees what needs a second
/// confirmation, what changes a large part of the place, what inserts scripts, what fails, and changes
/// of the memory, which later tasks read.
fn may_be_covered(proposal: &Proposal) -> bool {
    let is_for_person = |kind: WarningKind| {
        kind.needs_second_confirmation()
            || matches!(kind, WarningKind::Scripts | WarningKind::LargeChange)
    };
    !proposal.has_new_errors()
        && !proposal.commands.iter().any(Command::is_memory)
        && !proposal.warnings.iter().any(|it| is_for_person(it.kind))
}

/// Returns the rules that are offered with a proposal, narrowest first.
pub fn offered_rules(proposal: &Proposal) -> Vec<TaskRule> {
    if !may_be_covered(proposal) {
        return Vec::new();
    }
    let mut rules = Vec::new();
    let commands = &proposal.commands;
    if commands.len() <= MAX_EQUAL
        && proposal.class != Class::Additive
        && let Some(change) = change_hash(commands)
    {
        let scope = RuleScope::Equal { change, title: proposal.title.clone() };
        rules.push(TaskRule { class: proposal.class, scope });
    }
    let scripts: Option<BTreeSet<&InstancePath>> = commands.iter().map(edited_script).collect();
    match scripts {
        Some(scripts)
            if scripts.len() <= MAX_SCRIPTS && scripts.iter().all(|path| is_lasting(path)) =>
        {
            let paths = scripts.into_iter().cloned().collect();
            // An edit that removes more than it adds is destructive, and still an edit.
            rules.push(TaskRule { class: Class::Destructive, scope: RuleScope::Scripts { paths } });
        }
        _ => {
            let within = subtree_of(proposal).filter(is_lasting);
            let within = within.map(|path| RuleScope::Within { path });
            rules.extend(within.map(|scope| TaskRule { class: proposal.class, scope }));
        }
    }
    rules.push(TaskRule { class: Class::Destructive, scope: RuleScope::Task {} });
    rules
}

/// Whether a path means the same instance when its siblings come and go.
fn is_lasting(path: &InstancePath) -> bool {
    path.segments.iter().all(|segment| segment.index.is_none())
}

fn edited_script(command: &Command) -> Option<&InstancePath> {
    match command {
        Command::EditScript { target, .. } => Some(&target.path),
        _ => None,
    }
}

/// Returns the instance below which a proposal changes everything. None if that is the place.
fn subtree_of(proposal: &Proposal) -> Option<InstancePath> {
    let paths = written_paths(&proposal.commands);
    let mut common: Vec<Segment> = paths.first()?.segments.clone();
    for path in paths.iter().skip(1) {
        let same = common.iter().zip(&path.segments).take_while(|(a, b)| a == b).count();
        common.truncate(same);
    }
    let mut path = InstancePath { segments: common };
    // More is rarely done to a single instance that holds no others: what is around it is meant.
    let is_container = proposal.commands.iter().any(|command| {
        matches!(command, Command::Create { class, parent, name, .. }
            if CONTAINERS.contains(&class.as_str()) && parent.path.child(name, None) == path)
    });
    let is_new = |command: &Command| {
        matches!(
            command,
            Command::Create { .. }
                | Command::Clone { .. }
                | Command::Restore { .. }
                | Command::Insert { .. }
        )
    };
    let is_below_service = path.segments.len() > 2;
    if paths.len() == 1 && !is_container {
        let is_new = proposal.commands.iter().any(is_new);
        if (is_new || is_below_service)
            && let Some(parent) = path.parent()
        {
            path = parent;
        }
    }
    (!path.segments.is_empty()).then_some(path)
}

/// Returns the paths of the instances that commands create, change or delete; for a command over
/// many instances, of their closest common ancestor.
pub(crate) fn written_paths(commands: &[Command]) -> BTreeSet<InstancePath> {
    let mut paths = BTreeSet::new();
    for command in commands {
        match command {
            Command::Create { parent, name, .. }
            | Command::Clone { parent, name, .. }
            | Command::Restore { parent, name, .. } => {
                paths.insert(parent.path.child(name, None));
            }
            Command::Insert { parent, contents, left_out, .. } => {
                let contents = contents.remove_left_out(left_out);
                let roots = contents.parents.iter().zip(&contents.names);
                let roots = roots.filter(|(above, _)| **above == 0);
                paths.extend(roots.map(|(_, name)| parent.path.child(name, None)));
            }
            Command::Move { target, parent, .. } => {
                paths.insert(target.path.clone());
                paths.insert(parent.path.child(target.path.name(), None));
            }
            Command::Set { target, .. }
            | Command::SetMany { target, .. }
            | Command::Delete { target, .. }
            | Command::EditScript { target, .. }
            | Command::EditMemory { target, .. } => {
                paths.insert(target.path.clone());
            }
        }
    }
    paths
}

/// Returns a hash over commands without the instances that they address. None if without these they
/// do not say what they do, as a deletion does not.
fn change_hash(commands: &[Command]) -> Option<Fingerprint> {
    let mut changes = commands.iter().map(change_of).collect::<Option<Vec<_>>>()?;
    // The same to many instances is the same as to one.
    changes.dedup();
    let texts: Vec<String> = changes.iter().map(canonical_json).collect();
    Some(Fingerprint::hash_bytes(texts.join("\n").as_bytes()))
}

fn change_of(command: &Command) -> Option<Json> {
    match command {
        Command::Set { props, .. } | Command::SetMany { props, restores: false, .. } => {
            Some(json!({ "set": props }))
        }
        Command::Create { class, name, props, .. } => {
            Some(json!({ "create": class, "name": name, "props": props }))
        }
        Command::EditScript { edits, .. } => Some(json!({ "edit": edits })),
        Command::Move { parent, .. } => Some(json!({ "move": parent.path })),
        Command::SetMany { restores: true, .. }
        | Command::Clone { .. }
        | Command::Delete { .. }
        | Command::Restore { .. }
        | Command::Insert { .. }
        | Command::EditMemory { .. } => None,
    }
}
