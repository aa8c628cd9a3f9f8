//! Performing the proposals of an overlay on the merged scene, and recording what they write.

use std::borrow::Cow;

use scene_schemas::command::Props;
use scene_schemas::{Command, InstancePath, Refusal, Value};
use vector_place::Node;
use vector_place::reflection::property_group;

use super::adapt::referred_target;
use super::conflict::{ConflictKind, ConflictSide, OverlayConflict};
use super::texts::OwnTexts;
use super::writes::{
    AddedName, CellWrite, EarlierWrites, NodeWrite, ParentWrite, ProposalWrites, ReferenceWrite,
    TextKey, WriteOrigin, WrittenValue,
};
use super::{
    EqualKind, EqualWrite, MergedText, Overlay, OverlayMerge, OverlayProposal, ProposalOrigin,
    TakenProposal,
};
use crate::planning_scene::PlanningScene;
use crate::proposal::{BlobStore, Footprint, FootprintIndex, try_command};

/// A proposal that is being merged.
pub(super) struct ProposalMerge<'m, 'a> {
    pub(super) scene: &'m mut PlanningScene,
    pub(super) blobs: &'m BlobStore,
    pub(super) earlier: &'m EarlierWrites<'a>,
    overlays: &'m [Overlay<'a>],
    index: &'m FootprintIndex,
    writers: &'m [ProposalOrigin],
    proposal: OverlayProposal<'a>,
    /// The state of the overlay before this proposal.
    pub(super) own: &'m OverlayState,
    /// The current command.
    pub(super) at: WriteOrigin,
    pub(super) texts: OwnTexts,
    pub(super) crossed_names: Vec<AddedName>,
    writes: ProposalWrites<'a>,
    pub(super) conflicts: Vec<OverlayConflict>,
    /// The commands so far, if they are not those that were planned.
    adapted: Option<Vec<Command>>,
    equal: Vec<EqualWrite>,
    pub(super) merged_texts: Vec<MergedText>,
}

/// A proposal without a conflict.
pub(super) struct MergedProposal<'a> {
    pub(super) taken: TakenProposal<'a>,
    pub(super) writes: ProposalWrites<'a>,
    pub(super) state: OverlayState,
}

/// What the taken proposals of the current overlay did that depends on earlier overlays.
#[derive(Debug, Default)]
pub(super) struct OverlayState {
    pub(super) texts: OwnTexts,
    /// The instances of which one overlay gave the name, and another one the parent. The origin is
    /// the command of the earlier one.
    pub(super) crossed_names: Vec<AddedName>,
}

impl OverlayState {
    /// Adds the state of a taken proposal.
    pub(super) fn add(&mut self, proposal: Self) {
        self.texts.add(proposal.texts);
        self.crossed_names.extend(proposal.crossed_names);
    }
}

/// How a command is performed.
pub(super) enum FittedCommand<'a> {
    AsPlanned,
    /// Earlier overlays have done it.
    Done,
    /// The change of a text.
    Replaced(Box<Command>),
    /// A change of properties without some that are set already.
    Without(Vec<&'a str>),
    /// A command over many instances as one for each of these.
    Rows(Vec<MemberRow<'a>>),
}

/// An instance of a command over many.
pub(super) struct MemberRow<'a> {
    /// Its position in the table.
    pub(super) row: u32,
    pub(super) node: Node,
    /// The properties that are set already.
    pub(super) done: Vec<&'a str>,
}

impl<'m, 'a> ProposalMerge<'m, 'a> {
    pub(super) fn new(
        merge: &'m mut OverlayMerge<'_, 'a>,
        proposal: OverlayProposal<'a>,
        at: WriteOrigin,
        own: &'m OverlayState,
    ) -> Self {
        Self {
            scene: &mut *merge.scene,
            blobs: merge.blobs,
            earlier: &merge.earlier,
            overlays: merge.overlays,
            index: &merge.index,
            writers: &merge.writers,
            proposal,
            own,
            at,
            texts: OwnTexts::default(),
            crossed_names: Vec::new(),
            writes: ProposalWrites::default(),
            conflicts: Vec::new(),
            adapted: None,
            equal: Vec::new(),
            merged_texts: Vec::new(),
        }
    }

    /// Performs the proposal, whole or not at all.
    pub(super) fn run(
        mut self,
        footprint: &Footprint,
    ) -> Result<MergedProposal<'a>, Vec<OverlayConflict>> {
        let mark = self.scene.journal_mark();
        self.scene.begin_scope(self.proposal.call);
        let proposal = self.proposal.proposal;
        for (number, command) in (0..).zip(&proposal.commands) {
            self.at.command = number;
            // After a conflict, the rest is performed only to find further conflicts.
            if !self.conflicts.is_empty()
                && let Some(k) = command.new_instance_number()
            {
                self.scene.scene_mut().set_next_number(k);
            }
            self.merge_command(command);
        }
        if !self.conflicts.is_empty() {
            self.scene.rollback(mark);
            self.name_reasons(footprint);
            return Err(self.conflicts);
        }
        let commands = self.adapted.map_or(Cow::Borrowed(&*proposal.commands), Cow::Owned);
        let taken = TakenProposal {
            origin: ProposalOrigin {
                overlay: self.at.overlay as usize,
                proposal: self.proposal.seq,
            },
            call: self.proposal.call,
            commands,
            equal: self.equal,
            merged_texts: self.merged_texts,
        };
        let state = OverlayState { texts: self.texts, crossed_names: self.crossed_names };
        Ok(MergedProposal { taken, writes: self.writes, state })
    }

    fn merge_command(&mut self, command: &'a Command) {
        let fitted = if self.earlier.is_empty() {
            Some(FittedCommand::AsPlanned)
        } else {
            self.fit_command(command)
        };
        match fitted {
            // A conflict is noted.
            None => {}
            Some(FittedCommand::AsPlanned) => self.perform_planned(command),
            Some(FittedCommand::Done) => drop(self.adapted_commands()),
            Some(FittedCommand::Replaced(replaced)) => {
                self.perform_adapted(*replaced, command, &[]);
            }
            Some(FittedCommand::Without(done)) => self.perform_without(command, &done),
            Some(FittedCommand::Rows(rows)) => self.perform_rows(command, rows),
        }
    }

    /// Performs a command as it was planned, or adapted if earlier overlays changed what it
    /// addresses.
    fn perform_planned(&mut self, command: &'a Command) {
        let parent = self.note_prior(command);
        match try_command(self.scene, command, self.blobs) {
            Ok(node) => {
                self.record_writes(command, node, parent, &[]);
                if let Some(adapted) = &mut self.adapted {
                    adapted.push(command.clone());
                }
            }
            Err(refusal) if self.earlier.is_empty() => {
                self.note_refusal(command.target().path.clone(), &refusal);
            }
            Err(_) if command.table().is_some() => {
                if let Some(rows) = self.member_rows(command) {
                    self.perform_rows(command, rows);
                }
            }
            Err(_) => self.perform_adapted(self.adapt_command(command), command, &[]),
        }
    }

    /// Performs a command in another form. `done` are the properties that are not set.
    fn perform_adapted(&mut self, adapted: Command, command: &'a Command, done: &[&str]) {
        let parent = self.note_prior(command);
        match try_command(self.scene, &adapted, self.blobs) {
            Ok(node) => {
                self.record_writes(command, node, parent, done);
                self.adapted_commands().push(adapted);
            }
            Err(refusal) => self.note_refusal(adapted.target().path.clone(), &refusal),
        }
    }

    /// Sets the properties that are not set already.
    fn perform_without(&mut self, command: &'a Command, done: &[&str]) {
        let mut adapted = self.adapt_command(command);
        if let Command::Set { target, props, expect } = &mut adapted {
            props.retain(|property, _| !done.contains(&property.as_str()));
            if let (Some(expect), Some(node)) = (expect, self.scene.by_id(&target.id)) {
                *expect = self.fingerprint_of(node, Some(props));
            }
        }
        self.perform_adapted(adapted, command, done);
    }

    /// Performs a command over many instances as one for each of these.
    fn perform_rows(&mut self, command: &'a Command, rows: Vec<MemberRow<'a>>) {
        let Command::SetMany { table, props, restores, .. } = command else {
            return;
        };
        let path = command.target().path.clone();
        let table = match self.scene.table(table, self.blobs) {
            Ok(table) => table,
            Err(refusal) => return self.note_refusal(path, &refusal),
        };
        // The rows in which nothing is done yet are still as they were listed.
        let (numbers, nodes): (Vec<u32>, Vec<Node>) =
            rows.iter().filter(|it| it.done.is_empty()).map(|it| (it.row, it.node)).unzip();
        let untouched = table.select_rows(&numbers);
        let is_as_listed = if *restores {
            self.scene.check_values(&untouched, &nodes, props)
        } else {
            self.scene.check_listed_values(&untouched, &nodes)
        };
        if let Err(refusal) = is_as_listed {
            return self.note_refusal(path, &refusal);
        }
        self.adapted_commands();
        for MemberRow { row, node, done } in rows {
            let mut new: Props =
                if *restores { table.stored_props(row as usize) } else { props.clone() };
            new.retain(|property, _| !done.contains(&property.as_str()));
            if new.is_empty() {
                continue;
            }
            let target = self.scene.target(node);
            let set = Command::Set { target, props: new, expect: None };
            match try_command(self.scene, &set, self.blobs) {
                Ok(_) => {
                    let Command::Set { props: new, .. } = &set else { continue };
                    for property in props.keys().filter(|it| new.contains_key(*it)) {
                        let value = if *restores {
                            Cow::Owned(new.get(property).cloned().flatten())
                        } else {
                            Cow::Borrowed(&props[property])
                        };
                        self.record_value(node, property, value);
                    }
                    self.adapted_commands().push(set);
                }
                Err(refusal) => self.note_refusal(self.scene.path(node), &refusal),
            }
        }
    }

    /// Returns the list of adapted commands, which starts with those that were performed as planned.
    fn adapted_commands(&mut self) -> &mut Vec<Command> {
        let planned = &self.proposal.proposal.commands;
        let before = self.at.command as usize;
        self.adapted.get_or_insert_with(|| planned[..before].to_vec())
    }

    /// Notes what the records need from before the current command. Returns the parent of an instance
    /// that it moves or deletes.
    fn note_prior(&mut self, command: &Command) -> Option<Node> {
        let node = || self.scene.by_id(&command.target().id);
        let mut parent = None;
        match command {
            Command::Move { .. } | Command::Delete { .. } => {
                parent = node().and_then(|node| self.scene.parent(node));
            }
            Command::EditScript { .. } => {
                if let Some(node) = node() {
                    self.note_text(TextKey::Script(node));
                }
            }
            Command::EditMemory { .. } => self.note_text(TextKey::Memory),
            Command::Set { props, .. } => {
                if props.contains_key("Source")
                    && let Some(node) = node()
                    && self.scene.is_script(node)
                {
                    self.note_text(TextKey::Script(node));
                }
            }
            Command::Create { .. }
            | Command::Clone { .. }
            | Command::SetMany { .. }
            | Command::Restore { .. }
            | Command::Insert { .. } => {}
        }
        parent
    }

    /// Records what a performed command wrote. `node` is its result, and `done` are the properties
    /// that it did not set.
    fn record_writes(
        &mut self,
        command: &'a Command,
        node: Node,
        prior_parent: Option<Node>,
        done: &[&str],
    ) {
        let by = self.at;
        match command {
            Command::Create { props, .. } => {
                self.record_added(node);
                for (property, value) in props {
                    self.record_reference(node, property, value.as_ref());
                }
            }
            Command::Clone { .. } | Command::Restore { .. } => self.record_added(node),
            Command::Insert { parent, contents, left_out, .. } => {
                let contents = contents.remove_left_out(left_out);
                let roots = contents.parents.iter().filter(|above| **above == 0).count();
                let Some(parent) = self.scene.by_id(&parent.id) else { return };
                let added: Vec<Node> = self.scene.children(parent).rev().take(roots).collect();
                added.into_iter().rev().for_each(|root| self.record_added(root));
            }
            Command::Set { props, .. } => {
                for (property, value) in props.iter().filter(|it| !done.contains(&it.0.as_str())) {
                    self.record_value(node, property, Cow::Borrowed(value));
                    if property == "Name" {
                        self.record_name(node, self.earlier.parent(node).map(|moved| moved.by));
                    }
                }
            }
            Command::SetMany { table, props, restores, .. } => {
                let Ok(table) = self.scene.table(table, self.blobs) else { return };
                for row in 0..table.len() {
                    let Some(node) = self.scene.by_id(&table.id(row)) else { continue };
                    for (property, new) in props {
                        let value = if *restores {
                            Cow::Owned(table.stored_value(row, property))
                        } else {
                            Cow::Borrowed(new)
                        };
                        self.record_value(node, property, value);
                    }
                }
            }
            Command::Move { index, .. } => {
                let Some(parent) = self.scene.parent(node) else { return };
                self.writes.parents.push((node, ParentWrite { by, parent, index: *index }));
                let parents = [prior_parent, Some(parent)].into_iter().flatten();
                let parents = parents.map(|node| NodeWrite { by, node });
                self.writes.restructured.extend(parents.clone());
                self.writes.touched.extend(parents.chain([NodeWrite { by, node }]));
                self.record_name(node, self.earlier.cell(node, "Name").map(|cell| cell.by));
            }
            Command::Delete { .. } => {
                self.writes.deleted.push(NodeWrite { by, node });
                let parent = prior_parent.map(|node| NodeWrite { by, node });
                self.writes.restructured.extend(parent);
            }
            Command::EditScript { .. } => self.writes.touched.push(NodeWrite { by, node }),
            // The text is noted already, and nothing else reads the memory.
            Command::EditMemory { .. } => {}
        }
    }

    /// Records a new child of its parent.
    fn record_added(&mut self, node: Node) {
        if let Some(parent) = self.scene.parent(node) {
            let write = NodeWrite { by: self.at, node: parent };
            self.writes.touched.push(write);
            self.writes.restructured.push(write);
        }
        self.record_name(node, None);
    }

    /// Records that an instance got its current name where it is. `crossed` is the command of an
    /// earlier overlay that moved what this one renames, or the other way round.
    fn record_name(&mut self, node: Node, crossed: Option<WriteOrigin>) {
        if let Some(parent) = self.scene.parent(node) {
            let name = self.scene.name(node).to_owned();
            let added = AddedName { by: self.at, node, parent, name };
            if let Some(by) = crossed {
                self.crossed_names.push(AddedName { by, ..added.clone() });
            }
            self.writes.names.push(added);
        }
    }

    fn record_value(&mut self, node: Node, property: &'a str, value: Cow<'a, Option<Value>>) {
        let by = self.at;
        let refers_to = self.record_reference(node, property, value.as_ref().as_ref());
        let value = WrittenValue { value, refers_to };
        let group = property_group(property);
        self.writes.cells.push((node, CellWrite { by, property, group, value, is_mixed: false }));
        if self.writes.touched.last().is_none_or(|last| last.node != node) {
            self.writes.touched.push(NodeWrite { by, node });
        }
    }

    /// Records a property that refers to an instance. Returns the instance.
    fn record_reference(
        &mut self,
        holder: Node,
        property: &'a str,
        value: Option<&Value>,
    ) -> Option<Node> {
        let to = self.scene.by_id(&referred_target(value)?.id)?;
        self.writes.references.push(ReferenceWrite { by: self.at, holder, property, to });
        Some(to)
    }

    pub(super) fn origin_of(&self, write: WriteOrigin) -> ProposalOrigin {
        let overlay = write.overlay as usize;
        let own = &self.overlays[overlay].proposals[write.proposal as usize];
        ProposalOrigin { overlay, proposal: own.seq }
    }

    pub(super) fn note_equal(&mut self, path: InstancePath, kind: EqualKind, by: WriteOrigin) {
        let (command, earlier) = (self.at.command, self.origin_of(by));
        self.equal.push(EqualWrite { command, path, kind, earlier });
    }

    /// Notes a conflict of the current command. `property` is the one that both sides set.
    pub(super) fn note_conflict(
        &mut self,
        kind: ConflictKind,
        path: InstancePath,
        earlier: WriteOrigin,
        property: Option<&str>,
    ) {
        let earlier = Some(ConflictSide::new(self.overlays, earlier, property));
        let later = ConflictSide::new(self.overlays, self.at, property);
        self.conflicts.push(OverlayConflict { kind, path, earlier, later });
    }

    /// Notes that the current command cannot be performed. After another conflict of the proposal,
    /// that may be its consequence and says nothing.
    pub(super) fn note_refusal(&mut self, path: InstancePath, refusal: &Refusal) {
        if self.conflicts.is_empty() {
            let kind = ConflictKind::Refused { reason: refusal.0.clone() };
            let later = ConflictSide::new(self.overlays, self.at, None);
            self.conflicts.push(OverlayConflict { kind, path, earlier: None, later });
        }
    }

    /// Names the earlier proposal because of which a command is refused: the first that touches this
    /// one.
    fn name_reasons(&mut self, footprint: &Footprint) {
        for conflict in self.conflicts.iter_mut().filter(|it| it.earlier.is_none()) {
            let writer = self.index.first_touching(footprint).map(|writer| self.writers[writer]);
            let Some(origin) = writer else { continue };
            let overlay = &self.overlays[origin.overlay];
            let proposal = overlay.proposals.iter().position(|it| it.seq == origin.proposal);
            let at = WriteOrigin {
                overlay: origin.overlay as u32,
                proposal: proposal.unwrap_or(0) as u32,
                command: 0,
            };
            conflict.earlier = Some(ConflictSide::new(self.overlays, at, None));
        }
    }
}
