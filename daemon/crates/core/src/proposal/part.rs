//! A part of a proposal, a changed form of it, or the same in another epoch: the commands again, with
//! their instances called anew.

use std::collections::{BTreeMap, HashMap, HashSet};

use scene_schemas::command::Props;
use scene_schemas::proposal::{Proposal, WarningKind};
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::text::TextEdit;
use scene_schemas::value::Content;
use scene_schemas::{Command, InstanceId, Target, Value};
use vector_place::Scene;

use super::{CONTEXT, ProposalDraft};

/// A piece of a proposal that a person can take or leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProposalUnit {
    /// A command that is no edit of a script's text.
    Command(usize),
    /// A hunk of a script that was there before.
    Hunk {
        /// The script, as the preview counts them.
        script: usize,
        /// The hunk, as the script's diff counts them.
        hunk: usize,
    },
}

/// The pieces of a proposal, in order.
pub fn list_units(proposal: &Proposal) -> Vec<ProposalUnit> {
    let is_edit = |command: &Command| matches!(command, Command::EditScript { .. });
    let commands = proposal
        .commands
        .iter()
        .enumerate()
        .filter(|(_, command)| !is_edit(command))
        .map(|(at, _)| ProposalUnit::Command(at));
    let hunks = proposal.preview.scripts.iter().enumerate().flat_map(|(script, diff)| {
        let count = match proposal.commands.get(diff.command as usize) {
            Some(command) if is_edit(command) => diff.hunks.len(),
            _ => 0,
        };
        (0..count).map(move |hunk| ProposalUnit::Hunk { script, hunk })
    });
    commands.chain(hunks).collect()
}

/// What is done with the edits of a script when a proposal is drafted again.
#[derive(Debug)]
pub enum TextSelection {
    /// Only these hunks are taken.
    Hunks(Vec<bool>),
    /// This is the whole text now.
    Whole(String),
}

/// Stands in the title of a part, behind how many pieces it has of how many.
const PARTS_OF: &str = " parts of: ";

/// Drafts these pieces of a proposal.
///
/// # Errors
/// One of them stands on one that is not taken.
pub fn draft_part(
    draft: &mut ProposalDraft<'_>,
    proposal: &Proposal,
    taken: &[ProposalUnit],
) -> Result<(), Refusal> {
    let pieces = list_units(proposal);
    draft.set_title(part_title(proposal, taken.len(), pieces.len()));
    // An edit that was made to fit is confirmed a second time in part as well.
    for warning in proposal.warnings.iter().filter(|it| it.kind == WarningKind::Fuzzy) {
        draft.add_warning(warning.kind, &warning.text);
    }
    let taken: HashSet<ProposalUnit> = taken.iter().copied().collect();
    let mut hunks: BTreeMap<usize, Vec<bool>> = BTreeMap::new();
    for piece in &pieces {
        if let ProposalUnit::Hunk { script, .. } = piece {
            hunks.entry(*script).or_default().push(taken.contains(piece));
        }
    }
    hunks.retain(|_, keep| keep.contains(&false));
    let texts =
        hunks.into_iter().map(|(script, keep)| (script, TextSelection::Hunks(keep))).collect();
    draft_again(draft, proposal, |at| taken.contains(&ProposalUnit::Command(at)), &texts)
}

/// What a part is called. A part of a part is one of the whole.
fn part_title(proposal: &Proposal, taken: usize, pieces: usize) -> String {
    let title = &proposal.title;
    if taken == pieces {
        return title.clone();
    }
    let part = title.split_once(PARTS_OF).filter(|_| proposal.from.is_some());
    let whole = part.and_then(|(counts, title)| {
        let (_, pieces) = counts.rsplit_once(" of ")?;
        Some((pieces.parse().ok()?, title))
    });
    let (pieces, title) = whole.unwrap_or((pieces, title));
    format!("{taken} of {pieces}{PARTS_OF}{title}")
}

/// Drafts a proposal again: the commands that are kept, and of each script what is said here (all
/// where nothing is said). Scripts are called as the preview counts them.
///
/// # Errors
/// Something that is kept stands on something that is not.
pub fn draft_again(
    draft: &mut ProposalDraft<'_>,
    proposal: &Proposal,
    keep: impl Fn(usize) -> bool,
    texts: &BTreeMap<usize, TextSelection>,
) -> Result<(), Refusal> {
    let mut ids: HashMap<InstanceId, InstanceId> = HashMap::new();
    let mut edited = Vec::new();
    for (at, command) in proposal.commands.iter().enumerate() {
        let is_edit = matches!(command, Command::EditScript { .. });
        if !is_edit && !keep(at) {
            continue;
        }
        let renamed =
            map_targets(command.clone(), &mut |target| rename_target(draft.scene(), &ids, target))?;
        if !is_edit {
            let renamed = renumber_ids(draft.scene().next_new_number(), renamed, &mut ids);
            draft.push_command(renamed)?;
            continue;
        }
        let id = &command.target().id;
        let script = proposal.preview.scripts.iter().position(|diff| {
            let last = proposal.commands.get(diff.command as usize);
            last.is_some_and(|last| script_edits(last, id).is_some())
        });
        match script.and_then(|script| Some((script, texts.get(&script)?))) {
            None => drop(draft.push_command(renamed)?),
            Some((script, _)) if edited.contains(&script) => {}
            Some((script, text)) => {
                edited.push(script);
                edit_again(draft, proposal, id, renamed.target(), text)?;
            }
        }
    }
    Ok(())
}

/// The edits of a script, where a command is one of it.
fn script_edits<'a>(command: &'a Command, script: &InstanceId) -> Option<&'a [TextEdit]> {
    match command {
        Command::EditScript { target, edits, .. } if target.id == *script => Some(edits),
        _ => None,
    }
}

/// Drafts all edits of a script at once. It has an id in the proposal, and is a target in the draft.
fn edit_again(
    draft: &mut ProposalDraft<'_>,
    proposal: &Proposal,
    id: &InstanceId,
    target: &Target,
    text: &TextSelection,
) -> Result<(), Refusal> {
    let node = draft.scene().locate(target)?;
    let before = super::text_of(draft.scene(), node, &target.path)?.into_owned();
    let after = match text {
        TextSelection::Whole(text) => text.clone(),
        TextSelection::Hunks(keep) => {
            let mut after = before.clone();
            for edits in proposal.commands.iter().filter_map(|command| script_edits(command, id)) {
                after = vector_text_edit::apply_edits(&after, edits).map_err(Refusal::new)?;
            }
            vector_text_edit::pick_hunks(&before, &after, CONTEXT, keep)
        }
    };
    let edits = vector_text_edit::diff_lines(&before, &after);
    if edits.is_empty() { Ok(()) } else { draft.edit_script(node, edits) }
}

/// Gives what a command makes the next free ids, and remembers the old ones.
pub(super) fn renumber_ids(
    new: u32,
    mut command: Command,
    ids: &mut HashMap<InstanceId, InstanceId>,
) -> Command {
    let (id, count) = match &mut command {
        Command::Create { id, .. } => (id, 1),
        Command::Clone { id, count, .. } | Command::Restore { id, count, .. } => (id, *count),
        Command::Insert { id, holds, .. } => (id, holds.len() as u32),
        _ => return command,
    };
    let old: Option<u32> = id.0.strip_prefix("new:").and_then(|k| k.parse().ok());
    if let Some(old) = old {
        for k in 0..count {
            ids.insert(InstanceId::new_in_proposal(old + k), InstanceId::new_in_proposal(new + k));
        }
    }
    *id = InstanceId::new_in_proposal(new);
    command
}

/// How an instance is called in the draft. A rename or move that was left out changes its path.
fn rename_target(
    scene: &Scene,
    ids: &HashMap<InstanceId, InstanceId>,
    target: Target,
) -> Result<Target, Refusal> {
    let id = if is_own(&target.id) { ids.get(&target.id) } else { Some(&target.id) };
    match id {
        Some(id) => Ok(scene.by_id(id).map_or(target, |node| scene.target(node))),
        None => refuse!("{} is created by a part that was left out.", target.path),
    }
}

/// Whether an id is of an instance that the proposal itself makes.
pub(super) fn is_own(id: &InstanceId) -> bool {
    id.0.strip_prefix("new:").is_some_and(|k| !k.contains('.'))
}

/// A command of another epoch, with its instances found by their paths. What the command expects of
/// them is still checked when it is performed.
///
/// # Errors
/// A path does not lead to exactly one instance.
pub fn relocate_command(scene: &Scene, command: Command) -> Result<Command, Refusal> {
    map_targets(command, &mut |target| {
        if is_own(&target.id) {
            return Ok(target);
        }
        let found = scene.target_by_path(&target.path)?;
        // `Wall[1]` finds the only wall that is left, which may have been `Wall[2]`.
        if found.path != target.path {
            return refuse!(
                "There were several {} and now there is one; which of them is not known.",
                target.path
            );
        }
        Ok(found)
    })
}

/// Drafts commands of somewhere else once more, where instances are found by their paths and nothing is
/// expected of them but of texts.
///
/// # Errors
/// One of them is not there, or cannot be changed so.
pub fn draft_by_path(draft: &mut ProposalDraft<'_>, commands: Vec<Command>) -> Result<(), Refusal> {
    let mut ids: HashMap<InstanceId, InstanceId> = HashMap::new();
    for command in commands {
        let named = map_targets(command, &mut |target| match ids.get(&target.id) {
            Some(id) => Ok(Target { id: id.clone(), ..target }),
            None => Ok(target),
        })?;
        let found = relocate_command(draft.scene(), named)?;
        let mut command = renumber_ids(draft.scene().next_new_number(), found, &mut ids);
        match &mut command {
            Command::Create { expect, .. }
            | Command::Clone { expect, .. }
            | Command::Set { expect, .. }
            | Command::Move { expect, .. }
            | Command::Insert { expect, .. } => *expect = None,
            Command::Delete { target, count, expect } => {
                *expect = None;
                let node = draft.scene().locate(target)?;
                *count = draft.scene().subtree(node).count() as u32;
            }
            Command::Restore { .. } | Command::EditScript { .. } | Command::EditMemory { .. } => {}
        }
        draft.push_command(command)?;
    }
    Ok(())
}

/// Changes every instance that a command names.
pub(super) fn map_targets(
    command: Command,
    change: &mut dyn FnMut(Target) -> Result<Target, Refusal>,
) -> Result<Command, Refusal> {
    Ok(match command {
        Command::Create { id, parent, class, name, props, expect } => {
            let (parent, props) = (change(parent)?, map_prop_targets(props, change)?);
            Command::Create { id, parent, class, name, props, expect }
        }
        Command::Clone { id, source, parent, name, count, expect } => {
            let (source, parent) = (change(source)?, change(parent)?);
            Command::Clone { id, source, parent, name, count, expect }
        }
        Command::Set { target, props, expect } => {
            let (target, props) = (change(target)?, map_prop_targets(props, change)?);
            Command::Set { target, props, expect }
        }
        Command::Move { target, parent, index, expect } => {
            let (target, parent) = (change(target)?, change(parent)?);
            Command::Move { target, parent, index, expect }
        }
        Command::Delete { target, count, expect } => {
            Command::Delete { target: change(target)?, count, expect }
        }
        Command::Restore { id, blob, parent, index, class, name, count } => {
            let parent = change(parent)?;
            Command::Restore { id, blob, parent, index, class, name, count }
        }
        Command::Insert { id, asset, parent, holds, expect } => {
            Command::Insert { id, asset, parent: change(parent)?, holds, expect }
        }
        Command::EditScript { target, edits, expect } => {
            Command::EditScript { target: change(target)?, edits, expect }
        }
        Command::EditMemory { .. } => command,
    })
}

fn map_prop_targets(
    props: Props,
    change: &mut dyn FnMut(Target) -> Result<Target, Refusal>,
) -> Result<Props, Refusal> {
    props
        .into_iter()
        .map(|(name, value)| {
            let value = match value {
                Some(Value::Ref(Some(to))) => Some(Value::Ref(Some(change(to)?))),
                Some(Value::Content(Content::Object(Some(to)))) => {
                    Some(Value::Content(Content::Object(Some(change(to)?))))
                }
                other => other,
            };
            Ok((name, value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use scene_schemas::Fingerprint;
    use scene_schemas::entry::Seq;
    use scene_schemas::proposal::{Class, Preview};

    use super::*;

    fn proposal(title: &str, from: Option<Seq>) -> Proposal {
        Proposal {
            title: title.to_owned(),
            class: Class::Additive,
            commands: Vec::new(),
            base: Fingerprint(String::new()),
            patch_id: Fingerprint(String::new()),
            preview: Preview::default(),
            warnings: Vec::new(),
            after: Vec::new(),
            meant: None,
            files: None,
            from,
            takes_back: Vec::new(),
            replaces: None,
            writes: Vec::new(),
        }
    }

    #[track_caller]
    fn check(title: &str, from: Option<Seq>, taken: usize, pieces: usize, expected: &str) {
        assert_eq!(part_title(&proposal(title, from), taken, pieces), expected);
    }

    #[test]
    fn a_part_says_how_much_of_the_whole_it_is() {
        let part = "2 of 3 parts of: Set Color";
        check("Set Color", None, 2, 3, part);
        check("Set Color", None, 3, 3, "Set Color");
        check(part, Some(Seq(1)), 1, 2, "1 of 3 parts of: Set Color");
        check(part, Some(Seq(1)), 2, 2, part);
        check(part, None, 1, 2, "1 of 2 parts of: 2 of 3 parts of: Set Color");
        check("Two parts of: it", Some(Seq(1)), 1, 2, "1 of 2 parts of: Two parts of: it");
    }
}
