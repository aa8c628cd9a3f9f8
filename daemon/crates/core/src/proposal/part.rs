//! Drafting a proposal again: a part of it, an edited form, or the same commands in another epoch.
//! The instances that it creates get new ids.

use std::collections::{BTreeMap, HashMap, HashSet};

use scene_schemas::command::Props;
use scene_schemas::proposal::{Proposal, WarningKind};
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::text::TextEdit;
use scene_schemas::value::Content;
use scene_schemas::{Command, InstanceId, Target, Value};
use vector_place::Scene;

use super::perform::BlobStore;
use super::{CONTEXT, ProposalDraft};
use crate::planning_scene::PlanningScene;

/// The smallest unit of a proposal that the user can accept or leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProposalUnit {
    /// A command that is not a script edit.
    Command(usize),
    /// One instance of a command over many. These are not listed one by one.
    Member {
        /// Index of the command.
        command: usize,
        /// Position in the command's table.
        member: u32,
    },
    /// A hunk of an existing script.
    Hunk {
        /// Index in the preview's scripts.
        script: usize,
        /// Index in the script's hunks.
        hunk: usize,
    },
}

/// Returns the units that remain of a unit if these instances of a command over many are left out.
pub fn select_members(
    proposal: &Proposal,
    unit: ProposalUnit,
    except: &[u32],
) -> Vec<ProposalUnit> {
    let count = match unit {
        ProposalUnit::Command(at) if !except.is_empty() => {
            proposal.commands.get(at).and_then(Command::member_count).map(|count| (at, count))
        }
        ProposalUnit::Command(_) | ProposalUnit::Member { .. } | ProposalUnit::Hunk { .. } => None,
    };
    let Some((command, count)) = count else {
        return vec![unit];
    };
    let except: HashSet<u32> = except.iter().copied().collect();
    let members = (0..count).filter(|member| !except.contains(member));
    members.map(|member| ProposalUnit::Member { command, member }).collect()
}

/// Returns the units of a proposal, in order.
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

/// The selection of a script's edits when a proposal is drafted again.
#[derive(Debug)]
pub enum TextSelection {
    /// Only the selected hunks are applied.
    Hunks(Vec<bool>),
    /// The whole text is replaced.
    Whole(String),
}

/// In the title of a part, after the number of its units and the total.
const PARTS_OF: &str = " parts of: ";

/// Drafts a selection of a proposal's units.
///
/// # Errors
/// A selected unit depends on one that is not selected.
pub fn draft_part(
    draft: &mut ProposalDraft<'_>,
    proposal: &Proposal,
    taken: &[ProposalUnit],
) -> Result<(), Refusal> {
    let pieces = list_units(proposal);
    let count = |unit: &ProposalUnit| match unit {
        ProposalUnit::Command(at) => {
            proposal.commands.get(*at).and_then(Command::member_count).unwrap_or(1) as usize
        }
        ProposalUnit::Member { .. } | ProposalUnit::Hunk { .. } => 1,
    };
    let [taken_count, all_count] =
        [taken, &pieces].map(|units| units.iter().map(count).sum::<usize>());
    draft.set_title(part_title(proposal, taken_count, all_count));
    // A fuzzy edit needs the second confirmation in a part as well.
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
    let mut members: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for unit in &taken {
        if let ProposalUnit::Member { command, member } = unit
            && !taken.contains(&ProposalUnit::Command(*command))
        {
            members.entry(*command).or_default().push(*member);
        }
    }
    for members in members.values_mut() {
        members.sort_unstable();
    }
    let texts =
        hunks.into_iter().map(|(script, keep)| (script, TextSelection::Hunks(keep))).collect();
    let keep = |at| taken.contains(&ProposalUnit::Command(at));
    draft_selection(draft, proposal, keep, &members, &texts)
}

/// Returns the title of a part. A part of a part is titled as a part of the whole.
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

/// Drafts a proposal again with the commands to keep, and the selected text of each script. Scripts
/// without a selection keep all edits. The keys of `texts` are indices in the preview's scripts.
///
/// # Errors
/// A kept command depends on one that is not kept.
pub fn draft_again(
    draft: &mut ProposalDraft<'_>,
    proposal: &Proposal,
    keep: impl Fn(usize) -> bool,
    texts: &BTreeMap<usize, TextSelection>,
) -> Result<(), Refusal> {
    draft_selection(draft, proposal, keep, &BTreeMap::new(), texts)
}

/// Like [`draft_again`], with the instances to keep of commands over many that are not kept whole.
fn draft_selection(
    draft: &mut ProposalDraft<'_>,
    proposal: &Proposal,
    keep: impl Fn(usize) -> bool,
    members: &BTreeMap<usize, Vec<u32>>,
    texts: &BTreeMap<usize, TextSelection>,
) -> Result<(), Refusal> {
    let mut ids: HashMap<InstanceId, InstanceId> = HashMap::new();
    let mut edited = Vec::new();
    for (at, command) in proposal.commands.iter().enumerate() {
        let is_edit = matches!(command, Command::EditScript { .. });
        if let Some(members) = members.get(&at) {
            draft.push_members(command, members)?;
            continue;
        }
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

/// Returns the edits of a command, if it edits this script.
fn script_edits<'a>(command: &'a Command, script: &InstanceId) -> Option<&'a [TextEdit]> {
    match command {
        Command::EditScript { target, edits, .. } if target.id == *script => Some(edits),
        _ => None,
    }
}

/// Drafts all edits of a script at once. `id` is its id in the proposal, `target` its target in the
/// draft.
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

/// Returns the id of the first instance that a command creates, and the number of all of them. None if
/// it creates none.
pub(super) fn created_instances(command: &mut Command) -> Option<(&mut InstanceId, u32)> {
    Some(match command {
        Command::Create { id, .. } => (id, 1),
        Command::Clone { id, count, .. } | Command::Restore { id, count, .. } => (id, *count),
        Command::Insert { id, contents, left_out, .. } => {
            (id, contents.remove_left_out(left_out).len() as u32)
        }
        Command::Set { .. }
        | Command::SetMany { .. }
        | Command::Move { .. }
        | Command::Delete { .. }
        | Command::EditScript { .. }
        | Command::EditMemory { .. } => return None,
    })
}

/// Gives the instances that a command creates the next free ids, and records the old ones.
pub(crate) fn renumber_ids(
    new: u32,
    mut command: Command,
    ids: &mut HashMap<InstanceId, InstanceId>,
) -> Command {
    let Some((id, count)) = created_instances(&mut command) else {
        return command;
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

/// Returns an instance's target in the draft. If a rename or move was left out, its path differs.
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

/// Whether the proposal itself creates the instance with this id.
pub(crate) fn is_own(id: &InstanceId) -> bool {
    id.0.strip_prefix("new:").is_some_and(|k| !k.contains('.'))
}

/// Finds the instances of a command from another epoch by their paths. Expectations are still
/// checked when the command is performed.
///
/// # Errors
/// A path does not lead to exactly one instance.
pub fn relocate_command(
    scene: &PlanningScene,
    command: Command,
    blobs: &BlobStore,
) -> Result<Command, Refusal> {
    let mut found = map_targets(command, &mut |target| {
        if is_own(&target.id) {
            return Ok(target);
        }
        let found = scene.target_by_path(&target.path)?;
        // `Wall[1]` resolves to the only remaining wall, which may have been `Wall[2]`.
        if found.path != target.path {
            return refuse!(
                "There were several {} and now there is one; it is not known which of them it is.",
                target.path
            );
        }
        Ok(found)
    })?;
    if let Command::SetMany { table, .. } = &mut found
        && let Some(relocated) = scene.relocate_table(&*scene.table(table, blobs)?)?
    {
        *table = scene.add_table(relocated);
    }
    Ok(found)
}

/// Drafts commands from elsewhere. Instances are found by their paths, and only the expectations of
/// texts are kept.
///
/// # Errors
/// An instance is missing, or cannot be changed this way.
pub fn draft_by_path(draft: &mut ProposalDraft<'_>, commands: Vec<Command>) -> Result<(), Refusal> {
    let mut ids: HashMap<InstanceId, InstanceId> = HashMap::new();
    for command in commands {
        let named = map_targets(command, &mut |target| match ids.get(&target.id) {
            Some(id) => Ok(Target { id: id.clone(), ..target }),
            None => Ok(target),
        })?;
        let found = relocate_command(draft.scene(), named, draft.blobs)?;
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
            Command::SetMany { .. }
            | Command::Restore { .. }
            | Command::EditScript { .. }
            | Command::EditMemory { .. } => {}
        }
        draft.push_command(command)?;
    }
    Ok(())
}

/// Maps every target that a command names.
pub(crate) fn map_targets(
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
        Command::SetMany { target, count, table, props, restores } => {
            Command::SetMany { target: change(target)?, count, table, props, restores }
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
        Command::Insert { id, asset, parent, contents, left_out, sandbox, blob, expect } => {
            let parent = change(parent)?;
            Command::Insert { id, asset, parent, contents, left_out, sandbox, blob, expect }
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
            reads: Vec::new(),
            implicit_target: None,
            files: None,
            from,
            reverts: Vec::new(),
            replaces: None,
            runs: None,
            changed_files: Vec::new(),
            made_by: None,
        }
    }

    #[track_caller]
    fn check(title: &str, from: Option<Seq>, taken: usize, pieces: usize, expected: &str) {
        assert_eq!(part_title(&proposal(title, from), taken, pieces), expected);
    }

    #[test]
    fn partial_proposal_title_counts_its_parts() {
        let part = "2 of 3 parts of: Set Color";
        check("Set Color", None, 2, 3, part);
        check("Set Color", None, 3, 3, "Set Color");
        check(part, Some(Seq(1)), 1, 2, "1 of 3 parts of: Set Color");
        check(part, Some(Seq(1)), 2, 2, part);
        check(part, None, 1, 2, "1 of 2 parts of: 2 of 3 parts of: Set Color");
        check("Two parts of: it", Some(Seq(1)), 1, 2, "1 of 2 parts of: Two parts of: it");
    }
}
