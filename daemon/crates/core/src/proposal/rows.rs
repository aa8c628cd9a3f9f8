//! The rows of a preview as a person reads them: gathered by instance, with values before and after.

use std::collections::BTreeMap;

use scene_schemas::proposal::{Change, Proposal, Row};
use scene_schemas::{Command, Value};

/// Characters of exact values that are told, and how many of them before the first that differs.
const TOLD: usize = 60;
const BEFORE: usize = 12;

/// Rows, gathered by instance in the order in which each first appears.
pub fn group_by_instance<'a>(
    proposal: &Proposal,
    rows: impl Iterator<Item = &'a Row>,
) -> Vec<Vec<&'a Row>> {
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    // By id, not by path: after `Wall[1]` is gone, `Wall[1]` is somebody else.
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows {
        let id = proposal.commands.get(row.command as usize).map_or("", subject_id);
        let at = *known.entry(id).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[at].push(row);
    }
    groups
}

/// The id of what a command makes or changes.
fn subject_id(command: &Command) -> &str {
    match command {
        Command::Create { id, .. }
        | Command::Clone { id, .. }
        | Command::Restore { id, .. }
        | Command::Insert { id, .. } => &id.0,
        other => &other.target().id.0,
    }
}

/// What happens to an instance besides what happens to its properties.
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

/// A value before and after, in short. Where the short forms are the same, the exact ones from where
/// they differ.
pub fn short_values(
    before: Option<&Value>,
    after: Option<&Value>,
    short: impl Fn(&Value) -> String,
) -> (String, String) {
    let text = |value: Option<&Value>| value.map_or("none".to_owned(), &short);
    let told = (text(before), text(after));
    let (Some(old), Some(new)) = (before, after) else {
        return told;
    };
    if told.0 != told.1 {
        return told;
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
