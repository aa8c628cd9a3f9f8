//! Conflicts between overlays: what they are about, and both sides in words and as data.

use scene_schemas::command::Props;
use scene_schemas::entry::Seq;
use scene_schemas::path::quote_name;
use scene_schemas::proposal::Conflict;
use scene_schemas::{Command, InstancePath, Value};
use serde::Serialize;
use vector_place::count_noun;
use vector_place::reflection::property_group;

use super::Overlay;
use super::writes::WriteOrigin;
use crate::proposal::list_properties;
use crate::safe_line::safe_line;

/// A conflict, because of which a proposal is left out.
#[derive(Debug, PartialEq, Serialize)]
pub struct OverlayConflict {
    pub kind: ConflictKind,
    /// The instance that both sides are about: by its path in the merged scene or, if it is gone, by
    /// that with which the later side was planned. The parent of two instances with one name. `game`
    /// for the project's memory.
    pub path: InstancePath,
    /// What an earlier overlay did. None if no earlier overlay is known to be the reason: the
    /// proposal does not fit the base that it was planned on.
    pub earlier: Option<ConflictSide>,
    /// What the proposal that is left out wanted.
    pub later: ConflictSide,
}

/// One side of a conflict.
#[derive(Debug, PartialEq, Serialize)]
pub struct ConflictSide {
    /// The name of the overlay.
    pub overlay: String,
    pub proposal: Seq,
    /// The index of the command in the proposal as it was planned.
    pub command: u32,
    /// What the command does, as the end of a sentence.
    pub wants: String,
}

/// The kinds of conflicts, with what the sides want where a sentence cannot say it.
#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ConflictKind {
    /// Both set properties that hold the same value, such as `Color` and `BrickColor`, or both set
    /// the same property to different values.
    Property {
        earlier_property: String,
        earlier: Option<Value>,
        later_property: String,
        later: Option<Value>,
    },
    /// Both changed the same lines of a script. The current text is the merged one.
    Script { passages: Conflict },
    /// Both changed the same lines of the project's memory.
    Memory { passages: Conflict },
    /// Two instances of one parent get the same name, or one gets the name and the parent from
    /// different overlays, and another child has the name.
    Name { name: String },
    /// The earlier overlay deleted what the later one writes to, copies or creates in.
    WriteInDeleted {},
    /// The later overlay deletes what the earlier one wrote to.
    DeleteOfWritten {},
    /// The later overlay copies a subtree in which the earlier one created, moved or deleted instances.
    /// The ids of the copy's instances number them in order.
    CopyOfRestructured {},
    /// The move would make the instance a part of itself, because the earlier overlay moved the
    /// parent into it.
    Cycle {},
    /// Both moved the instance, to different places.
    Parent { earlier: InstancePath, later: InstancePath },
    /// The later overlay lets a property refer to an instance that the earlier one deleted.
    ReferenceToDeleted { property: String },
    /// The later overlay deletes an instance to which the earlier one let a property refer.
    DeleteOfReferred { property: String },
    /// The command cannot be performed any more.
    Refused { reason: String },
}

impl ConflictSide {
    /// Returns the side of a command. `property` is the one that the conflict is about.
    pub(super) fn new(
        overlays: &[Overlay<'_>],
        origin: WriteOrigin,
        property: Option<&str>,
    ) -> Self {
        let overlay = &overlays[origin.overlay as usize];
        let own = &overlay.proposals[origin.proposal as usize];
        let command = &own.proposal.commands[origin.command as usize];
        Self {
            overlay: overlay.name.to_owned(),
            proposal: own.seq,
            command: origin.command,
            wants: safe_line(&describe_command(command, property)).into_owned(),
        }
    }
}

/// Describes a command as the end of a sentence. If it sets several properties, only this one is
/// named, or one that holds the same value.
fn describe_command(command: &Command, property: Option<&str>) -> String {
    match command {
        Command::Create { parent, class, name, .. } => {
            format!("creates the {class} {} in {}", quote_name(name), parent.path)
        }
        Command::Clone { source, parent, name, .. } => {
            format!("copies {} as {} into {}", source.path, quote_name(name), parent.path)
        }
        Command::Set { target, props, .. } => {
            describe_set(&target.path.to_string(), props, property)
        }
        Command::SetMany { target, count, restores: true, .. } => {
            let count = count_noun(*count as usize, "instance", "instances");
            format!("restores values of {count} below {}", target.path)
        }
        Command::SetMany { target, count, props, restores: false, .. } => {
            let count = count_noun(*count as usize, "instance", "instances");
            describe_set(&format!("{count} below {}", target.path), props, property)
        }
        Command::Move { target, parent, .. } => {
            format!("moves {} into {}", target.path, parent.path)
        }
        Command::Delete { target, count: 1, .. } => format!("deletes {}", target.path),
        Command::Delete { target, count, .. } => {
            format!("deletes {} with everything below it, {count} instances", target.path)
        }
        Command::Restore { parent, class, name, .. } => {
            format!("restores the {class} {} in {}", quote_name(name), parent.path)
        }
        Command::Insert { asset, parent, .. } => {
            format!("inserts asset {asset} into {}", parent.path)
        }
        Command::EditScript { target, .. } => format!("edits the text of {}", target.path),
        Command::EditMemory { .. } => "edits the project's memory".to_owned(),
    }
}

fn describe_set(whom: &str, props: &Props, property: Option<&str>) -> String {
    let only = props.first_key_value().filter(|_| props.len() == 1);
    let is_it = |name: &str| property.is_some_and(|it| property_group(it) == property_group(name));
    let exact = property.and_then(|name| props.get_key_value(name));
    let named = exact.or_else(|| props.iter().find(|(name, _)| is_it(name))).or(only);
    match named {
        Some((name, Some(Value::String(new)))) if name == "Name" => {
            format!("renames {whom} to {}", quote_name(new))
        }
        Some((name, Some(value))) => format!("sets {name} of {whom} to {}", value.to_brief()),
        Some((name, None)) => format!("resets {name} of {whom}"),
        None => format!("sets {} of {whom}", list_properties(props.keys().map(String::as_str))),
    }
}
