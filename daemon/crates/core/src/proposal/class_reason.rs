//! Explanation of a proposal's class in a sentence: what it deletes, changes and adds.
//!
//! It only explains. The class itself is determined when the proposal is made.

use std::collections::BTreeSet;

use scene_schemas::proposal::{Change, Class, Proposal, ScriptDiff};
use scene_schemas::{Command, Value};
use vector_place::count_noun;

use super::effects::effect_of;

/// Returns the explanation of the proposal's class.
pub fn class_reason(proposal: &Proposal) -> String {
    let tally = ChangeTally::of_proposal(proposal);
    let mut parts = Vec::new();
    if proposal.class == Class::Destructive {
        parts.extend(tally.describe_deleted());
        parts.extend(describe_losses(proposal));
    }
    if proposal.class != Class::Additive {
        parts.extend(tally.describe_changed());
    }
    match (parts.is_empty(), tally.describe_added()) {
        (true, Some(adds)) if proposal.class == Class::Modifying => {
            format!("It {adds}{}.", describe_effect(proposal))
        }
        (true, Some(adds)) => format!("Nothing is removed or overwritten: it only {adds}."),
        (true, None) => "Nothing is removed or overwritten: it only adds.".to_owned(),
        (false, adds) => {
            parts.extend(adds);
            format!("It {}.", join_parts(&parts))
        }
    }
}

/// Describes which new instance changes existing ones.
fn describe_effect(proposal: &Proposal) -> String {
    let found = proposal.preview.rows.iter().find_map(|row| {
        let what = effect_of(&row.class, &row.path, is_reference(&row.change))?;
        Some(format!(", and {} {what}", row.path))
    });
    found.unwrap_or_else(|| ", and this affects existing instances".to_owned())
}

/// Whether a change sets a reference on an instance.
fn is_reference(change: &Change) -> bool {
    let is_reference = |value: &Value| matches!(value, Value::Ref(Some(_)));
    match change {
        Change::Created { props } => props.iter().any(|(_, value)| is_reference(value)),
        Change::Set { after, .. } => after.as_ref().is_some_and(is_reference),
        Change::Cloned { .. }
        | Change::Moved { .. }
        | Change::Deleted { .. }
        | Change::Inserted { .. }
        | Change::Restored { .. } => false,
    }
}

fn join_parts(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [front @ .., last] => format!("{} and {last}", front.join(", ")),
    }
}

#[derive(Default)]
struct ChangeTally {
    created: usize,
    deleted: usize,
    moved: usize,
    properties: usize,
    changed: usize,
    edited: usize,
    is_memory: bool,
}

impl ChangeTally {
    fn of_proposal(proposal: &Proposal) -> Self {
        let mut tally = Self::default();
        let (mut own, mut changed, mut many) = (BTreeSet::new(), BTreeSet::new(), 0);
        for command in &proposal.commands {
            let is_own = !command.is_memory() && own.contains(&command.target().id);
            match command {
                Command::Create { id, .. } => {
                    own.insert(id.clone());
                    tally.created += 1;
                }
                Command::Clone { id, count, .. } | Command::Restore { id, count, .. } => {
                    own.insert(id.clone());
                    tally.created += *count as usize;
                }
                Command::Insert { id, contents, left_out, .. } => {
                    own.insert(id.clone());
                    tally.created += contents.remove_left_out(left_out).len();
                }
                Command::Delete { count, .. } => tally.deleted += *count as usize,
                _ if is_own => {}
                Command::Set { target, props, .. } => {
                    changed.insert(target.id.clone());
                    tally.properties += props.len();
                }
                Command::SetMany { count, props, .. } => {
                    many += *count as usize;
                    tally.properties += *count as usize * props.len();
                }
                Command::Move { .. } => tally.moved += 1,
                Command::EditScript { .. } => {}
                Command::EditMemory { .. } => tally.is_memory = true,
            }
        }
        tally.changed = changed.len() + many;
        tally.edited = edited_scripts(proposal).count();
        tally
    }

    fn describe_added(&self) -> Option<String> {
        (self.created > 0)
            .then(|| format!("adds {}", count_noun(self.created, "instance", "instances")))
    }

    fn describe_deleted(&self) -> Option<String> {
        (self.deleted > 0)
            .then(|| format!("deletes {}", count_noun(self.deleted, "instance", "instances")))
    }

    fn describe_changed(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if self.changed > 0 {
            let (properties, instances) = (self.properties, self.changed);
            let properties = count_noun(properties, "property", "properties");
            parts.push(format!(
                "changes {properties} of {}",
                count_noun(instances, "instance", "instances")
            ));
        }
        if self.moved > 0 {
            parts.push(format!("moves {}", count_noun(self.moved, "instance", "instances")));
        }
        if self.edited > 0 {
            parts.push(format!(
                "changes the text of {}",
                count_noun(self.edited, "script", "scripts")
            ));
        }
        if self.is_memory {
            parts.push("changes the project's memory".to_owned());
        }
        parts
    }
}

/// Returns the diffs of existing scripts.
fn edited_scripts(proposal: &Proposal) -> impl Iterator<Item = &ScriptDiff> {
    let is_edit = |diff: &&ScriptDiff| {
        let command = proposal.commands.get(diff.command as usize);
        matches!(command, Some(Command::EditScript { .. }))
    };
    proposal.preview.scripts.iter().filter(is_edit)
}

/// Describes what scripts lose.
fn describe_losses(proposal: &Proposal) -> Vec<String> {
    let loss = |diff: &ScriptDiff| {
        let (path, removed, added) = (&diff.path, diff.removed, diff.added);
        format!("removes {removed} and adds {added} lines in {path}")
    };
    let shrunk: Vec<&ScriptDiff> =
        edited_scripts(proposal).filter(|it| it.removed > it.added).collect();
    match shrunk.as_slice() {
        [] => edited_scripts(proposal)
            .filter(|it| it.removed > 0)
            .max_by_key(|it| it.removed)
            .map(|it| format!("overwrites most of {}", it.path))
            .filter(|_| ChangeTally::of_proposal(proposal).deleted == 0)
            .into_iter()
            .collect(),
        [a] => vec![loss(a)],
        [a, rest @ ..] => {
            vec![format!(
                "{}, and the same in {}",
                loss(a),
                count_noun(rest.len(), "other script", "other scripts")
            )]
        }
    }
}

#[cfg(test)]
mod tests {
    use scene_schemas::command::Props;
    use scene_schemas::proposal::Preview;
    use scene_schemas::{Fingerprint, InstanceId, Target};

    use super::*;

    fn target(id: &str) -> Target {
        Target { id: InstanceId(id.to_owned()), path: "game.Workspace.It".parse().unwrap() }
    }

    fn create() -> Command {
        let (class, name) = ("Part".to_owned(), "It".to_owned());
        let id = InstanceId::new_in_proposal(0);
        Command::Create {
            id,
            parent: target("ref:1"),
            class,
            name,
            props: Props::new(),
            expect: None,
        }
    }

    fn set(id: &str) -> Command {
        let props = [("A".to_owned(), None), ("B".to_owned(), None)].into();
        Command::Set { target: target(id), props, expect: None }
    }

    fn delete(count: u32) -> Command {
        Command::Delete { target: target("ref:7"), count, expect: None }
    }

    fn edit() -> Command {
        let expect = Fingerprint(String::new());
        Command::EditScript { target: target("ref:9"), edits: Vec::new(), expect }
    }

    fn remember() -> Command {
        let expect = Fingerprint(String::new());
        Command::EditMemory { target: target("ref:0"), edits: Vec::new(), expect }
    }

    #[track_caller]
    fn check(class: Class, commands: Vec<Command>, changed: Option<(u32, u32)>, expected: &str) {
        let command = commands.len() as u32 - 1;
        let diff = |(added, removed)| ScriptDiff {
            command,
            path: "game.Workspace.It".parse().unwrap(),
            left_out: false,
            added,
            removed,
            hunks: Vec::new(),
        };
        let scripts = changed.map(diff).into_iter().collect();
        let proposal = Proposal {
            title: String::new(),
            class,
            commands,
            base: Fingerprint(String::new()),
            patch_id: Fingerprint(String::new()),
            preview: Preview { scripts, ..Preview::default() },
            warnings: Vec::new(),
            after: Vec::new(),
            reads: Vec::new(),
            implicit_target: None,
            files: None,
            from: None,
            reverts: Vec::new(),
            replaces: None,
            runs: None,
            changed_files: Vec::new(),
            made_by: None,
        };
        assert_eq!(class_reason(&proposal), expected);
    }

    #[test]
    fn reason_text_explains_each_class() {
        check(
            Class::Additive,
            vec![create()],
            None,
            "Nothing is removed or overwritten: it only adds 1 instance.",
        );
        check(
            Class::Additive,
            vec![edit()],
            Some((3, 0)),
            "Nothing is removed or overwritten: it only adds.",
        );
        check(
            Class::Modifying,
            vec![create()],
            None,
            "It adds 1 instance, and this affects existing instances.",
        );
        check(
            Class::Modifying,
            vec![create(), set("new:0"), set("ref:5")],
            None,
            "It changes 2 properties of 1 instance and adds 1 instance.",
        );
        check(
            Class::Destructive,
            vec![delete(3), create()],
            None,
            "It deletes 3 instances and adds 1 instance.",
        );
        check(
            Class::Destructive,
            vec![edit()],
            Some((1, 4)),
            "It removes 4 and adds 1 lines in game.Workspace.It and changes the text of 1 script.",
        );
        let memory = "It changes the project's memory.";
        check(Class::Modifying, vec![remember()], Some((1, 0)), memory);
        check(Class::Destructive, vec![remember()], Some((0, 1)), memory);
        check(
            Class::Destructive,
            vec![edit()],
            Some((5, 4)),
            "It overwrites most of game.Workspace.It and changes the text of 1 script.",
        );
    }
}
