//! Commands over many instances of a place file.
//!
//! A change of more instances than a preview has rows is one command. It names a table that lists
//! the instances with the values that they held, from which rows, inverse and selections are made.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use scene_schemas::command::Props;
use scene_schemas::proposal::{Change, Proposal, Row};
use scene_schemas::refusal::Refusal;
use scene_schemas::{Command, Fingerprint, Target, Value};
use vector_place::{InstanceTable, Node, Scene, SetGroup, SetGroups, default_value};

use super::inverse::UndoStep;
use super::perform::{BlobStore, PerformedCommand};
use super::{MAX_ROWS, ProposalDraft, ProposalUnit};
use crate::planning_scene::PlanningScene;

/// The instances of a command, and what it does to them.
#[derive(Debug)]
pub(super) struct InstanceSet<'a> {
    /// The table's hash.
    pub(super) table: Fingerprint,
    pub(super) listed: Arc<InstanceTable>,
    pub(super) props: &'a Props,
    pub(super) restores: bool,
    /// The instances, which are as the command expects.
    pub(super) nodes: Arc<[Node]>,
}

/// Finds the instances of a command, and checks that they are as it expects.
///
/// # Errors
/// One of them is gone, or has changed since the command was planned.
pub(super) fn find_members(
    planning: &PlanningScene,
    table: &Fingerprint,
    listed: &InstanceTable,
    props: &Props,
    restores: bool,
) -> Result<Arc<[Node]>, Refusal> {
    if let Some(nodes) = planning.found_rows(table, restores) {
        return Ok(nodes);
    }
    let nodes: Arc<[Node]> = planning.locate_rows(listed)?.into();
    check_set(planning, listed, &nodes, props, restores)?;
    planning.remember_rows(table, restores, Arc::clone(&nodes));
    Ok(nodes)
}

impl InstanceSet<'_> {
    /// Changes the instances.
    pub(super) fn perform(
        self,
        scene: &mut Scene,
        ancestor: Node,
        keep: bool,
    ) -> Result<PerformedCommand, Refusal> {
        let Self { table, listed, props, restores, nodes } = self;
        if restores {
            scene.restore_listed_values(&listed, &nodes)?;
        } else {
            scene.set_values(&nodes, props)?;
        }
        let back = keep.then(|| UndoStep::SetMany {
            target: scene.target(ancestor),
            count: nodes.len() as u32,
            table,
            props: props.clone(),
            restores: !restores,
            witness: scene.identify_rows(&listed, &nodes),
        });
        Ok(PerformedCommand { node: ancestor, backs: back.into_iter().collect() })
    }
}

/// Checks that the instances of a command hold what it expects.
fn check_set(
    scene: &Scene,
    listed: &InstanceTable,
    nodes: &[Node],
    props: &Props,
    restores: bool,
) -> Result<(), Refusal> {
    if restores {
        scene.check_values(listed, nodes, props)
    } else {
        scene.check_listed_values(listed, nodes)
    }
}

/// Returns the preview rows of some instances of a command over many, by their positions in its
/// table; none for another command.
pub fn member_rows(
    index: u32,
    command: &Command,
    table: &InstanceTable,
    members: Range<u32>,
) -> Vec<Row> {
    let Command::SetMany { props, restores, .. } = command else {
        return Vec::new();
    };
    let end = members.end.min(table.len() as u32);
    let rows = |member: u32| {
        let row = member as usize;
        let (path, class) = (table.path(row), table.class(row).to_owned());
        let change = |(property, new): (&String, &Option<Value>)| {
            // A value that is reset has the default before, and none after.
            let (before, after) = if *restores {
                let before = new.clone().or_else(|| default_value(&class, property));
                (before, table.stored_value(row, property))
            } else {
                (table.value(row, property), new.clone())
            };
            Change::Set { property: property.clone(), before, after }
        };
        let changes: Vec<Change> = props.iter().map(change).collect();
        changes.into_iter().map(move |change| Row {
            command: index,
            member: Some(member),
            change,
            path: path.clone(),
            class: class.clone(),
        })
    };
    (members.start..end).flat_map(rows).collect()
}

/// A proposal with a command for each instance of its commands over many.
#[derive(Debug)]
pub(super) struct ExpandedProposal {
    pub(super) proposal: Proposal,
    /// For each command, its unit in the original proposal.
    pub(super) units: Vec<ProposalUnit>,
}

impl ExpandedProposal {
    /// # Errors
    /// The table of a command is not available.
    pub(super) fn new(
        scene: &PlanningScene,
        blobs: &BlobStore,
        proposal: &Proposal,
    ) -> Result<Self, Refusal> {
        let (mut commands, mut units, mut starts) = (Vec::new(), Vec::new(), Vec::new());
        for (at, command) in proposal.commands.iter().enumerate() {
            starts.push(commands.len() as u32);
            let Command::SetMany { table, props, restores, .. } = command else {
                commands.push(command.clone());
                units.push(ProposalUnit::Command(at));
                continue;
            };
            let table = scene.table(table, blobs)?;
            for row in 0..table.len() {
                let target = Target { id: table.id(row), path: table.path(row) };
                let props = if *restores { table.stored_props(row) } else { props.clone() };
                commands.push(Command::Set { target, props, expect: None });
                units.push(ProposalUnit::Member { command: at, member: row as u32 });
            }
        }
        let mut proposal = Proposal { commands, ..proposal.clone() };
        for script in &mut proposal.preview.scripts {
            if let Some(start) = starts.get(script.command as usize) {
                script.command = *start;
            }
        }
        Ok(Self { proposal, units })
    }

    /// Returns the unit of the original proposal for one of this one.
    pub(super) fn original_unit(&self, unit: ProposalUnit) -> ProposalUnit {
        match unit {
            ProposalUnit::Command(at) => self.units.get(at).copied().unwrap_or(unit),
            ProposalUnit::Member { .. } | ProposalUnit::Hunk { .. } => unit,
        }
    }
}

impl ProposalDraft<'_> {
    /// Groups instances that commands over many can set to the values of their classes.
    pub fn group_sets(&self, nodes: Vec<Node>, props: &BTreeMap<String, Props>) -> SetGroups {
        match self.scene.set_many_from() {
            Some(from) if nodes.len() >= from => self.scene.group_sets(&nodes, props, from),
            _ => SetGroups { rest: nodes, ..SetGroups::default() },
        }
    }

    /// Drafts new property values for a group of instances.
    pub fn set_many(&mut self, group: SetGroup) -> Result<(), Refusal> {
        let SetGroup { props, nodes, table } = group;
        let target = self.scene.target(self.scene.common_ancestor(&nodes));
        let (count, table) = (nodes.len() as u32, self.scene.add_table(table));
        self.scene.remember_rows(&table, false, nodes.into());
        let command = Command::SetMany { target, count, table, props, restores: false };
        self.push_command(command).map(drop)
    }

    /// Drafts a command over many instances for some of them, by their positions in its table in
    /// ascending order.
    pub(super) fn push_members(
        &mut self,
        command: &Command,
        members: &[u32],
    ) -> Result<(), Refusal> {
        let Command::SetMany { table, props, restores, .. } = command else {
            return Ok(());
        };
        let table = self.scene.table(table, self.blobs)?;
        let selected = table.select_rows(members);
        let nodes = self.scene.locate_rows(&selected)?;
        if self.scene.sets_many(nodes.len()) {
            let target = self.scene.target(self.scene.common_ancestor(&nodes));
            let (count, table) = (nodes.len() as u32, self.scene.add_table(selected));
            let (props, restores) = (props.clone(), *restores);
            let command = Command::SetMany { target, count, table, props, restores };
            return self.push_command(command).map(drop);
        }
        check_set(self.scene, &selected, &nodes, props, *restores)?;
        for (row, node) in nodes.into_iter().enumerate() {
            let props = if *restores { selected.stored_props(row) } else { props.clone() };
            self.set_properties(node, props)?;
        }
        Ok(())
    }

    /// Returns the rows of a command over many instances, as far as the preview has room for them,
    /// and the number of the others.
    pub(super) fn describe_members(
        &self,
        index: u32,
        command: &Command,
    ) -> Result<(Vec<Row>, u32), Refusal> {
        let Command::SetMany { count, table, props, .. } = command else {
            return Ok((Vec::new(), 0));
        };
        let per_member = props.len().max(1);
        let room = (MAX_ROWS.saturating_sub(self.rows.len()) / per_member) as u32;
        let table = self.scene.table(table, self.blobs)?;
        let rows = member_rows(index, command, &table, 0..room.min(*count));
        let hidden = (*count as usize * props.len()).saturating_sub(rows.len());
        Ok((rows, u32::try_from(hidden).unwrap_or(u32::MAX)))
    }
}

#[cfg(test)]
mod tests;
