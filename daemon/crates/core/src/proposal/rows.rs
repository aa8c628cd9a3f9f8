//! Preview rows prepared for display: grouped by instance, with values before and after.

use std::collections::BTreeMap;

use scene_schemas::proposal::{Change, Proposal, Row};
use scene_schemas::{Command, Value};

/// Maximum characters shown of an exact value, and how many of them come before the first
/// difference.
const TOLD: usize = 60;
const BEFORE: usize = 12;

/// Groups rows by instance, in order of first appearance.
pub fn group_by_instance<'a>(
    proposal: &Proposal,
    rows: impl Iterator<Item = &'a Row>,
) -> Vec<Vec<&'a Row>> {
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    let mut known: BTreeMap<RowSubject<'_>, usize> = BTreeMap::new();
    for row in rows {
        let at = *known.entry(RowSubject::of_row(proposal, row)).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[at].push(row);
    }
    groups
}

/// The instance of a row. It is not identified by its path: after `Wall[1]` is deleted, `Wall[1]`
/// is another instance.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RowSubject<'a> {
    Id(&'a str),
    /// The instance at a position in the table of a command.
    Member(u32, u32),
}

impl<'a> RowSubject<'a> {
    fn of_row(proposal: &'a Proposal, row: &Row) -> Self {
        if let Some(member) = row.member {
            return Self::Member(row.command, member);
        }
        Self::Id(match proposal.commands.get(row.command as usize) {
            None => "",
            Some(
                Command::Create { id, .. }
                | Command::Clone { id, .. }
                | Command::Restore { id, .. }
                | Command::Insert { id, .. },
            ) => &id.0,
            Some(other) => &other.target().id.0,
        })
    }
}

/// Describes a change of an instance other than to its properties.
pub fn change_note(change: &Change) -> Option<String> {
    let in_all = |count: u32| match count {
        1 => String::new(),
        n => format!(", {n} instances in all"),
    };
    match change {
        Change::Created { .. } | Change::Set { .. } | Change::Deleted { count: 1 } => None,
        Change::Cloned { source, count } => Some(format!("a copy of {source}{}", in_all(*count))),
        Change::Inserted { asset, count } => Some(format!("from asset {asset}{}", in_all(*count))),
        Change::Restored { count } => Some(format!("restored{}", in_all(*count))),
        Change::Moved { to } => Some(format!("moves into {to}")),
        Change::Deleted { count } => Some(format!("with everything below it, {count} instances")),
    }
}

/// Formats a value before and after in short form. If both short forms are equal, shows the exact
/// values around the first difference.
pub fn short_values(
    before: Option<&Value>,
    after: Option<&Value>,
    short: impl Fn(&Value) -> String,
) -> (String, String) {
    let text = |value: Option<&Value>| value.map_or("none".to_owned(), &short);
    let texts = (text(before), text(after));
    let (Some(old), Some(new)) = (before, after) else {
        return texts;
    };
    if texts.0 != texts.1 {
        return texts;
    }
    let exact = |value: &Value| serde_json::to_string(value).unwrap_or_default();
    let (old, new) = (exact(old), exact(new));
    let same = old.chars().zip(new.chars()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(BEFORE);
    let part = |text: &str| {
        let cut: String = text.chars().skip(from).take(TOLD).collect();
        let (head, tail) = (from > 0, text.chars().count() > from + TOLD);
        format!("{}{cut}{}", if head { "…" } else { "" }, if tail { "…" } else { "" })
    };
    (part(&old), part(&new))
}
