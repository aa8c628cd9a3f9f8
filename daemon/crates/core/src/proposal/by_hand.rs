//! Changes that a person makes to a proposal: another text of a script, another value of a property.
//! The result is drafted and checked like any other proposal.

use std::borrow::Cow;
use std::collections::BTreeMap;

use scene_schemas::api::{HandEdit, ProposedScript};
use scene_schemas::command::Props;
use scene_schemas::proposal::{Change, Proposal, WarningKind};
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{Command, InstanceId, InstancePath, Target, Value};
use serde_json::{Map, Value as Json};
use vector_place::{Node, PropertyOwner, Scene, read_props};
use vector_text_edit::match_line_ends;

use super::part::is_own;
use super::perform::{initial_source, text_of};
use super::{PartText, ProposalDraft, draft_again};

/// Suffix of the title.
const BY_HAND: &str = ", changed by hand";
/// The property with the text of a script.
const SOURCE: &str = "Source";

/// A value that a person can change.
#[derive(Debug, Clone, Copy)]
pub struct EditableValue<'a> {
    /// Index of the command that sets it.
    pub command: usize,
    /// The instance that gets it.
    pub path: &'a InstancePath,
    pub property: &'a str,
    /// The value. None for the default.
    pub value: Option<&'a Value>,
}

impl EditableValue<'_> {
    /// Returns the value as a person writes it.
    pub fn json(&self) -> Json {
        self.value.map_or(Json::Null, Value::to_editable)
    }
}

/// Returns the values that a person can change, as the rows of the preview have them.
pub fn editable_values(proposal: &Proposal) -> impl Iterator<Item = EditableValue<'_>> {
    proposal.preview.rows.iter().flat_map(move |row| {
        let (command, path) = (row.command as usize, &row.path);
        let props = proposal.commands.get(command).and_then(editable_props);
        let values: Vec<(&str, Option<&Value>)> = match &row.change {
            Change::Set { property, after, .. } => vec![(property, after.as_ref())],
            Change::Created { props } => {
                props.iter().map(|(name, value)| (name.as_str(), Some(value))).collect()
            }
            Change::Cloned { .. }
            | Change::Moved { .. }
            | Change::Deleted { .. }
            | Change::Inserted { .. }
            | Change::Restored { .. } => Vec::new(),
        };
        let is_editable = move |property: &str| props.is_some_and(|it| it.contains_key(property));
        let values = values.into_iter().filter(move |(property, _)| is_editable(property));
        values.map(move |(property, value)| EditableValue { command, path, property, value })
    })
}

/// Returns the properties that a command sets one by one.
fn editable_props(command: &Command) -> Option<&Props> {
    match command {
        Command::Create { props, .. } | Command::Set { props, .. } => Some(props),
        Command::Clone { .. }
        | Command::SetMany { .. }
        | Command::Move { .. }
        | Command::Delete { .. }
        | Command::Restore { .. }
        | Command::Insert { .. }
        | Command::EditScript { .. }
        | Command::EditMemory { .. } => None,
    }
}

/// Whether a command sets a text or a value, which a person can change.
pub fn has_editable_parts(command: &Command) -> bool {
    let has_props = || editable_props(command).is_some_and(|props| !props.is_empty());
    matches!(command, Command::EditScript { .. }) || has_props()
}

/// Whether a person can change the text of a script in the preview, by its index.
pub fn is_editable_script(proposal: &Proposal, script: usize) -> bool {
    let diff = proposal.preview.scripts.get(script);
    match diff.and_then(|diff| proposal.commands.get(diff.command as usize)) {
        // The text of a copy is not known before it is made.
        Some(Command::EditScript { target, .. }) => {
            !is_own(&target.id) || creation(proposal, &target.id).is_some()
        }
        Some(Command::Create { class, props, .. }) => initial_source(class, props).is_some(),
        Some(_) | None => false,
    }
}

/// Reads the texts of a script. `scene` is the place without the proposal.
///
/// # Errors
/// The preview has no such script, or its text cannot be changed by hand.
pub fn proposed_script(
    scene: &Scene,
    proposal: &Proposal,
    script: usize,
) -> Result<ProposedScript, Refusal> {
    let Some(diff) = proposal.preview.scripts.get(script) else {
        return refuse!("The proposal does not have a script {script}. Scripts count from 0.");
    };
    let path = diff.path.clone();
    let Some(command) = editing_command(proposal, script) else {
        return refuse!("The text of {path} cannot be changed by hand. Comment on it instead.");
    };
    let target = command.target();
    let created = creation(proposal, &target.id);
    let created = created.and_then(|(class, props)| initial_source(class, props));
    let (before, mut after): (String, Cow<'_, str>) = match command {
        Command::Create { class, props, .. } => {
            (String::new(), initial_source(class, props).unwrap_or_default().into())
        }
        _ if is_own(&target.id) => (String::new(), created.unwrap_or_default().into()),
        _ => {
            let text = text_of(scene, find_live(scene, target)?, &target.path)?;
            (text.to_string(), text)
        }
    };
    for it in &proposal.commands {
        if let Command::EditScript { target: of, edits, .. } = it
            && of.id == target.id
            && matches!(command, Command::EditScript { .. })
        {
            after = vector_text_edit::apply_edits(&after, edits).map_err(Refusal::new)?.into();
        }
    }
    Ok(ProposedScript { path, before, text: after.into_owned() })
}

/// Returns the class and the values with which a proposal itself creates an instance.
fn creation<'a>(proposal: &'a Proposal, id: &InstanceId) -> Option<(&'a str, &'a Props)> {
    proposal.commands.iter().find_map(|it| match it {
        Command::Create { id: own, class, props, .. } if own == id => Some((class.as_str(), props)),
        _ => None,
    })
}

/// Finds an instance before the proposal, whose path an earlier command may change.
fn find_live(scene: &Scene, target: &Target) -> Result<Node, Refusal> {
    let found = scene.by_id(&target.id).filter(|node| scene.is_live(*node));
    found.ok_or_else(|| Refusal(format!("{} is gone; ask for the change again.", target.path)))
}

/// Returns the last command that changes a script, if a person can change its text.
fn editing_command(proposal: &Proposal, script: usize) -> Option<&Command> {
    let diff = proposal.preview.scripts.get(script)?;
    let command = proposal.commands.get(diff.command as usize)?;
    is_editable_script(proposal, script).then_some(command)
}

/// Drafts a proposal again with the changes of a person.
///
/// # Errors
/// The proposal does not have the part that is changed, or the result is refused like that of any
/// call.
pub fn draft_by_hand(
    draft: &mut ProposalDraft<'_>,
    proposal: &Proposal,
    edits: &[HandEdit],
) -> Result<(), Refusal> {
    let title = proposal.title.trim_end_matches(BY_HAND);
    draft.set_title(format!("{title}{BY_HAND}"));
    for warning in proposal.warnings.iter().filter(|it| is_of_the_call(it.kind)) {
        draft.add_warning(warning.kind, &warning.text);
    }
    let mut texts = BTreeMap::new();
    let mut edited = proposal.clone();
    for edit in edits {
        match edit {
            HandEdit::Script { script, text } => {
                let script = *script as usize;
                let proposed = proposed_script(draft.scene(), proposal, script)?;
                let text = match_line_ends(&proposed.text, text).into_owned();
                set_text(&mut edited, script, text, &mut texts);
            }
            HandEdit::Property { command, property, value } => {
                set_value(draft.scene(), &mut edited, *command as usize, property, value)?;
            }
        }
    }
    draft_again(draft, &edited, |_| true, &texts)
}

/// Whether warnings of a kind are found while the call is planned, so that drafting its commands again
/// does not find them.
pub(super) fn is_of_the_call(kind: WarningKind) -> bool {
    match kind {
        WarningKind::Fuzzy
        | WarningKind::Name
        | WarningKind::NoMatch
        | WarningKind::ParentCreated
        | WarningKind::References => true,
        WarningKind::Content
        | WarningKind::Duplication
        | WarningKind::FilesStay
        | WarningKind::Generated
        | WarningKind::LargeChange
        | WarningKind::Lint
        | WarningKind::Range
        | WarningKind::Rojo
        | WarningKind::Scripts
        | WarningKind::Security => false,
    }
}

/// Gives a script another text: in the command that creates it, or as the text of its edits.
fn set_text(
    proposal: &mut Proposal,
    script: usize,
    text: String,
    texts: &mut BTreeMap<usize, PartText>,
) {
    let command = proposal.preview.scripts.get(script).map(|it| it.command as usize);
    match command.and_then(|at| proposal.commands.get_mut(at)) {
        Some(Command::Create { props, .. }) => {
            props.insert(SOURCE.to_owned(), Some(Value::String(text)));
        }
        Some(_) | None => {
            texts.insert(script, PartText::Whole(text));
        }
    }
}

fn set_value(
    scene: &Scene,
    proposal: &mut Proposal,
    command: usize,
    property: &str,
    value: &Json,
) -> Result<(), Refusal> {
    let found = proposal.commands.get(command);
    let is_set = found.and_then(editable_props).is_some_and(|it| it.contains_key(property));
    if !is_set {
        return refuse!("Command {command} of the proposal does not set `{property}`.");
    }
    // The class of an instance that the proposal itself makes.
    let row = proposal.preview.rows.iter().find(|it| it.command as usize == command);
    let class = row.map_or_else(String::new, |row| row.class.clone());
    let Some(command) = proposal.commands.get_mut(command) else {
        return Ok(());
    };
    let target = command.target();
    let owner = match &*command {
        Command::Create { class, .. } => PropertyOwner::New(class),
        _ if is_own(&target.id) => PropertyOwner::New(&class),
        _ => PropertyOwner::Node(find_live(scene, target)?),
    };
    let value = Map::from_iter([(property.to_owned(), value.clone())]);
    let values = read_props(scene, owner, &value)?;
    if let Command::Create { props, .. } | Command::Set { props, .. } = command {
        props.extend(values);
    }
    Ok(())
}
