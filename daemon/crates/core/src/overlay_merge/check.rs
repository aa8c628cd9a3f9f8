//! What earlier overlays did to that which a command addresses: nothing, the same, or a conflict.

use scene_schemas::command::Props;
use scene_schemas::{Command, Refusal, Target, Value};
use vector_place::Node;

use super::EqualKind;
use super::adapt::referred_target;
use super::conflict::ConflictKind;
use super::perform::{FittedCommand, MemberRow, ProposalMerge};
use super::writes::{TextKey, WriteOrigin};
use crate::proposal::text_of;

/// An instance that a command names.
enum NamedInstance {
    Live(Node),
    /// An earlier overlay deleted it.
    Deleted(WriteOrigin),
    /// It is gone for another reason, because of which the command will be refused.
    Unknown,
}

/// What earlier overlays did to a property.
enum CellCheck {
    Free,
    Equal(WriteOrigin),
    /// A conflict is noted.
    Conflict,
}

impl<'a> ProposalMerge<'_, 'a> {
    /// Compares a command with what earlier overlays did. Returns None if there is a conflict, which
    /// is noted.
    pub(super) fn fit_command(&mut self, command: &'a Command) -> Option<FittedCommand<'a>> {
        let before = self.conflicts.len();
        let fitted = match command {
            Command::Create { parent, name, props, .. } => {
                self.check_references(props);
                self.check_new_child(parent, name);
                FittedCommand::AsPlanned
            }
            Command::Clone { source, parent, name, .. } => {
                self.check_copied(source);
                self.check_new_child(parent, name);
                FittedCommand::AsPlanned
            }
            Command::Restore { parent, name, .. } => {
                self.check_new_child(parent, name);
                FittedCommand::AsPlanned
            }
            Command::Insert { parent, contents, left_out, .. } => {
                let contents = contents.remove_left_out(left_out);
                let roots = contents.parents.iter().zip(&contents.names);
                if let Some(parent) = self.find_written(parent) {
                    for (_, name) in roots.filter(|(above, _)| **above == 0) {
                        self.check_name(parent, name, None, None);
                    }
                }
                FittedCommand::AsPlanned
            }
            Command::Set { target, props, .. } => self.fit_set(target, props),
            Command::SetMany { .. } => match self.member_rows(command) {
                Some(rows) if rows.iter().any(|row| !row.done.is_empty()) => {
                    FittedCommand::Rows(rows)
                }
                _ => FittedCommand::AsPlanned,
            },
            Command::Move { target, parent, index, .. } => self.fit_move(target, parent, *index),
            Command::Delete { target, .. } => self.fit_delete(target),
            Command::EditScript { target, edits, expect } => match self.find_written(target) {
                Some(node) => {
                    let path = self.scene.path(node);
                    self.merge_edits(TextKey::Script(node), &path, edits, expect)?
                }
                None => FittedCommand::AsPlanned,
            },
            Command::EditMemory { target, edits, expect } => {
                self.merge_edits(TextKey::Memory, &target.path, edits, expect)?
            }
        };
        (self.conflicts.len() == before).then_some(fitted)
    }

    fn find_instance(&self, target: &Target) -> NamedInstance {
        let Some(node) = self.scene.by_id(&target.id) else {
            return NamedInstance::Unknown;
        };
        if self.scene.is_live(node) {
            return NamedInstance::Live(node);
        }
        let mut line = std::iter::successors(Some(node), |at| self.scene.parent(*at));
        match line.find_map(|at| self.earlier.deletion(at)) {
            Some(by) => NamedInstance::Deleted(by),
            None => NamedInstance::Unknown,
        }
    }

    /// Returns an instance that a command writes to, creates in, or copies. None if it is gone; if an
    /// earlier overlay deleted it, that is a conflict.
    fn find_written(&mut self, target: &Target) -> Option<Node> {
        match self.find_instance(target) {
            NamedInstance::Live(node) => Some(node),
            NamedInstance::Deleted(by) => {
                let kind = ConflictKind::WriteInDeleted {};
                self.note_conflict(kind, target.path.clone(), by, None);
                None
            }
            NamedInstance::Unknown => None,
        }
    }

    /// Checks that a subtree that a command copies has the instances that it had.
    fn check_copied(&mut self, source: &Target) {
        let Some(source) = self.find_written(source) else { return };
        let changed = |node: Node| Some((node, self.earlier.restructuring(node)?));
        let found = self.scene.subtree(source).find_map(changed);
        if let Some((node, by)) = found {
            let kind = ConflictKind::CopyOfRestructured {};
            self.note_conflict(kind, self.scene.path(node), by, None);
        }
    }

    fn check_new_child(&mut self, parent: &Target, name: &str) {
        if let Some(parent) = self.find_written(parent) {
            self.check_name(parent, name, None, None);
        }
    }

    /// Checks that the instances that values refer to are there.
    fn check_references(&mut self, props: &Props) {
        for (property, value) in props {
            let Some(to) = referred_target(value.as_ref()) else { continue };
            if let NamedInstance::Deleted(by) = self.find_instance(to) {
                let kind = ConflictKind::ReferenceToDeleted { property: property.clone() };
                self.note_conflict(kind, to.path.clone(), by, Some(property));
            }
        }
    }

    /// Checks that no earlier overlay gave another child of a parent the same name. That children
    /// of the base have the name is not a conflict, because the planner warns of it; unless an earlier
    /// overlay gave the instance its other half, the name or the parent (`crossed`).
    fn check_name(
        &mut self,
        parent: Node,
        name: &str,
        own: Option<Node>,
        crossed: Option<WriteOrigin>,
    ) {
        let is_other = |node: Node| {
            Some(node) != own
                && self.scene.parent(node) == Some(parent)
                && self.scene.name(node) == name
        };
        let known = self.earlier.named(parent, name);
        let crossing = self.own.crossed_names.iter().chain(&self.crossed_names);
        let other = known.iter().chain(crossing).find(|it| is_other(it.node)).map(|it| it.by);
        let other = other.or_else(|| {
            let mut children = (0..2).filter_map(|n| self.scene.nth_named(parent, name, n));
            crossed.filter(|_| children.any(is_other))
        });
        if let Some(by) = other {
            let kind = ConflictKind::Name { name: name.to_owned() };
            self.note_conflict(kind, self.scene.path(parent), by, Some("Name"));
        }
    }

    fn fit_set(&mut self, target: &Target, props: &'a Props) -> FittedCommand<'a> {
        let Some(node) = self.find_written(target) else {
            return FittedCommand::AsPlanned;
        };
        self.check_references(props);
        let mut done = Vec::new();
        for (property, value) in props {
            let check = match value {
                Some(Value::String(text)) if property == "Source" => self.check_source(node, text),
                value => self.check_cell(node, property, value.as_ref()),
            };
            match (check, value) {
                (CellCheck::Equal(by), _) => {
                    let kind = EqualKind::Property { property: property.clone() };
                    self.note_equal(self.scene.path(node), kind, by);
                    done.push(property.as_str());
                }
                (CellCheck::Free, Some(Value::String(name))) if property == "Name" => {
                    if let Some(parent) = self.scene.parent(node) {
                        let crossed = self.earlier.parent(node).map(|moved| moved.by);
                        self.check_name(parent, name, Some(node), crossed);
                    }
                }
                (CellCheck::Free | CellCheck::Conflict, _) => {}
            }
        }
        match done.len() {
            0 => FittedCommand::AsPlanned,
            count if count == props.len() => FittedCommand::Done,
            _ => FittedCommand::Without(done),
        }
    }

    /// Compares the value of a property with what earlier overlays wrote to its group.
    fn check_cell(&mut self, node: Node, property: &str, value: Option<&Value>) -> CellCheck {
        let Some(cell) = self.earlier.cell(node, property) else {
            return CellCheck::Free;
        };
        let refers_to = referred_target(value).and_then(|to| self.scene.by_id(&to.id));
        if cell.property == property && !cell.is_mixed && cell.value.is_same(value, refers_to) {
            return CellCheck::Equal(cell.by);
        }
        let by = cell.by;
        let kind = ConflictKind::Property {
            earlier_property: cell.property.to_owned(),
            earlier: cell.value.value.as_ref().clone(),
            later_property: property.to_owned(),
            later: value.cloned(),
        };
        self.note_conflict(kind, self.scene.path(node), by, Some(property));
        CellCheck::Conflict
    }

    /// Compares a whole new text with the merged one.
    fn check_source(&mut self, node: Node, text: &str) -> CellCheck {
        let Some(by) = self.last_text_write(TextKey::Script(node)) else {
            return CellCheck::Free;
        };
        let path = self.scene.path(node);
        let now = text_of(self.scene, node, &path).map(std::borrow::Cow::into_owned);
        let now = now.unwrap_or_default();
        if now == text {
            self.note_own_text(TextKey::Script(node), now);
            return CellCheck::Equal(by);
        }
        let kind = ConflictKind::Property {
            earlier_property: "Source".to_owned(),
            earlier: Some(Value::String(now)),
            later_property: "Source".to_owned(),
            later: Some(Value::String(text.to_owned())),
        };
        self.note_conflict(kind, path, by, Some("Source"));
        CellCheck::Conflict
    }

    fn fit_move(
        &mut self,
        target: &Target,
        parent: &Target,
        index: Option<u32>,
    ) -> FittedCommand<'a> {
        let (Some(node), Some(to)) = (self.find_written(target), self.find_written(parent)) else {
            return FittedCommand::AsPlanned;
        };
        if let Some(moved) = self.earlier.parent(node) {
            let path = self.scene.path(node);
            if moved.parent == to && moved.index == index {
                // Otherwise it comes behind what the earlier overlay added after its move, as in a
                // serial order.
                let is_in_place = match index {
                    Some(index) => self.scene.index(node) == index,
                    None => self.scene.children(to).next_back() == Some(node),
                };
                if !is_in_place {
                    return FittedCommand::AsPlanned;
                }
                self.note_equal(path, EqualKind::Move {}, moved.by);
                return FittedCommand::Done;
            }
            let (earlier, later) = (self.scene.path(moved.parent), self.scene.path(to));
            self.note_conflict(ConflictKind::Parent { earlier, later }, path, moved.by, None);
            return FittedCommand::AsPlanned;
        }
        if self.scene.is_within(to, node) {
            let mut line = std::iter::successors(Some(to), |at| self.scene.parent(*at));
            let line = line.by_ref().take_while(|at| *at != node);
            let moved: Vec<_> = line.filter_map(|at| self.earlier.parent(at)).collect();
            if let Some(moved) = moved.last() {
                let path = self.scene.path(node);
                self.note_conflict(ConflictKind::Cycle {}, path, moved.by, None);
            }
            return FittedCommand::AsPlanned;
        }
        if self.scene.parent(node) != Some(to) {
            let name = self.scene.name(node).to_owned();
            let crossed = self.earlier.cell(node, "Name").map(|cell| cell.by);
            self.check_name(to, &name, Some(node), crossed);
        }
        FittedCommand::AsPlanned
    }

    fn fit_delete(&mut self, target: &Target) -> FittedCommand<'a> {
        let node = match self.find_instance(target) {
            NamedInstance::Live(node) => node,
            NamedInstance::Deleted(by) => {
                self.note_equal(target.path.clone(), EqualKind::Deletion {}, by);
                return FittedCommand::Done;
            }
            NamedInstance::Unknown => return FittedCommand::AsPlanned,
        };
        let mut written: Vec<(Node, WriteOrigin)> = Vec::new();
        let mut referred = Vec::new();
        for at in self.scene.subtree(node) {
            for by in self.earlier.writes_to(at) {
                if written.iter().all(|(_, known)| known.overlay != by.overlay) {
                    written.push((at, *by));
                }
            }
            for reference in self.earlier.references_to(at) {
                let is_now = self.scene.is_live(reference.holder)
                    && !self.scene.is_within(reference.holder, node)
                    && referred_target(
                        self.scene.stored_value(reference.holder, reference.property).as_ref(),
                    )
                    .is_some_and(|to| to.id == self.scene.id(at));
                if is_now {
                    referred.push((at, *reference));
                }
            }
        }
        for (at, by) in written {
            let path = self.scene.path(at);
            self.note_conflict(ConflictKind::DeleteOfWritten {}, path, by, None);
        }
        for (at, reference) in referred {
            let (path, property) = (self.scene.path(at), reference.property);
            let kind = ConflictKind::DeleteOfReferred { property: property.to_owned() };
            self.note_conflict(kind, path, reference.by, Some(property));
        }
        FittedCommand::AsPlanned
    }

    /// Compares the instances of a command over many with what earlier overlays did. Returns None if
    /// there is a conflict, which is noted, or the instances are not known.
    pub(super) fn member_rows(&mut self, command: &'a Command) -> Option<Vec<MemberRow<'a>>> {
        let Command::SetMany { target, table, props, restores, .. } = command else {
            return None;
        };
        let table = match self.scene.table(table, self.blobs) {
            Ok(table) => table,
            Err(refusal) => {
                self.note_refusal(target.path.clone(), &refusal);
                return None;
            }
        };
        let before = self.conflicts.len();
        let mut rows = Vec::with_capacity(table.len());
        for row in 0..table.len() {
            let member = Target { id: table.id(row), path: table.path(row) };
            let node = match self.find_instance(&member) {
                NamedInstance::Live(node) => node,
                NamedInstance::Deleted(by) => {
                    let kind = ConflictKind::WriteInDeleted {};
                    self.note_conflict(kind, member.path, by, None);
                    continue;
                }
                NamedInstance::Unknown => {
                    self.note_refusal(member.path.clone(), &missing_member(&member));
                    continue;
                }
            };
            let mut done = Vec::new();
            for (property, new) in props {
                let restored = restores.then(|| table.stored_value(row, property));
                let value = restored.as_ref().unwrap_or(new).as_ref();
                if let CellCheck::Equal(by) = self.check_cell(node, property, value) {
                    let kind = EqualKind::Property { property: property.clone() };
                    self.note_equal(self.scene.path(node), kind, by);
                    done.push(property.as_str());
                }
            }
            rows.push(MemberRow { row: row as u32, node, done });
        }
        (self.conflicts.len() == before).then_some(rows)
    }
}

fn missing_member(member: &Target) -> Refusal {
    Refusal(format!("{} is gone; ask for the change again.", member.path))
}
