//! The difference between two versions of a proposal, as their previews show them.

use std::collections::BTreeMap;

use scene_schemas::proposal::{Change, DiffLine, Proposal, Row, ScriptDiff};
use scene_schemas::{Command, Fingerprint, InstancePath, Value};
use vector_text_edit::compare_hunks;

use super::CONTEXT;

/// What a new version of a proposal changes in another way than an earlier one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VersionDifference<'a> {
    /// Scripts with another resulting text, from that of the earlier version to that of the new one.
    pub scripts: Vec<ScriptDiff>,
    /// Scripts whose text in the place changed between the two versions, so that they are not
    /// compared.
    pub changed_since: Vec<&'a InstancePath>,
    /// Other differences, by instance.
    pub changes: Vec<DifferentChange<'a>>,
    /// Number of rows that a preview leaves out, so that they are not compared.
    pub more_rows: u32,
}

impl VersionDifference<'_> {
    pub fn is_empty(&self) -> bool {
        let Self { scripts, changed_since, changes, more_rows } = self;
        scripts.is_empty() && changed_since.is_empty() && changes.is_empty() && *more_rows == 0
    }
}

/// A change of an instance that only one of two versions makes, or that each makes in another way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DifferentChange<'a> {
    pub path: &'a InstancePath,
    pub class: &'a str,
    /// The property. None if the change is not to a property.
    pub property: Option<&'a str>,
    /// What each version makes of it, the earlier one first. None if it leaves it as it is.
    pub made: [Option<ChangeMade<'a>>; 2],
}

/// What a version makes of an instance or a property.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ChangeMade<'a> {
    /// The property has this value; None if it is reset to its default.
    Value(Option<&'a Value>),
    /// The instance is created, with the values of its other entries.
    Created,
    /// The instance is created from another one, moved or deleted.
    Instance(&'a Change),
}

/// Compares a proposal with an earlier version of it.
pub fn compare_versions<'a>(old: &'a Proposal, new: &'a Proposal) -> VersionDifference<'a> {
    let mut difference = VersionDifference {
        more_rows: old.preview.more_rows.max(new.preview.more_rows),
        ..VersionDifference::default()
    };
    let mut scripts: BTreeMap<&InstancePath, [Option<&ScriptDiff>; 2]> = BTreeMap::new();
    let mut changes: BTreeMap<ChangeKey<'a>, DifferentChange<'a>> = BTreeMap::new();
    for (side, proposal) in [old, new].into_iter().enumerate() {
        for script in &proposal.preview.scripts {
            scripts.entry(&script.path).or_default()[side] = Some(script);
        }
        for row in &proposal.preview.rows {
            add_row(&mut changes, side, row);
        }
    }
    for (path, [before, after]) in scripts {
        let hunks = |it: Option<&'a ScriptDiff>| {
            it.filter(|it| !it.left_out).map_or(&[][..], |it| &it.hunks)
        };
        let bases =
            (before.and_then(|it| base_text(old, it)), after.and_then(|it| base_text(new, it)));
        let is_same = !matches!(bases, (Some(one), Some(other)) if one != other);
        let compared =
            is_same.then(|| compare_hunks(hunks(before), hunks(after), CONTEXT)).flatten();
        let Some(hunks) = compared else {
            difference.changed_since.push(path);
            continue;
        };
        if let (Some(shown), false) = (after.or(before), hunks.is_empty()) {
            let lines = || hunks.iter().flat_map(|hunk| &hunk.lines);
            let added = lines().filter(|it| matches!(it, DiffLine::Added(_))).count() as u32;
            let removed = lines().filter(|it| matches!(it, DiffLine::Removed(_))).count() as u32;
            let (command, path, left_out) = (shown.command, path.clone(), false);
            difference.scripts.push(ScriptDiff { command, path, left_out, added, removed, hunks });
        }
    }
    difference.changes = changes.into_values().filter(|it| it.made[0] != it.made[1]).collect();
    difference
}

/// Returns the fingerprint of the text that a proposal changes.
fn base_text<'a>(proposal: &'a Proposal, script: &ScriptDiff) -> Option<&'a Fingerprint> {
    let last = proposal.commands.get(script.command as usize)?;
    proposal.commands.iter().find_map(|command| match command {
        Command::EditScript { target, expect, .. } if target.id == last.target().id => Some(expect),
        _ => None,
    })
}

/// The instance and the property. Of an instance itself there is one change in each version: what
/// it becomes last.
type ChangeKey<'a> = (&'a InstancePath, Option<&'a str>);

fn add_row<'a>(
    changes: &mut BTreeMap<ChangeKey<'a>, DifferentChange<'a>>,
    side: usize,
    row: &'a Row,
) {
    let mut add = |property: Option<&'a str>, made: ChangeMade<'a>| {
        let (path, class) = (&row.path, row.class.as_str());
        let none = DifferentChange { path, class, property, made: [None, None] };
        changes.entry((path, property)).or_insert(none).made[side] = Some(made);
    };
    match &row.change {
        Change::Set { property, after, .. } => {
            add(Some(property), ChangeMade::Value(after.as_ref()));
        }
        Change::Created { props } => {
            add(None, ChangeMade::Created);
            for (property, value) in props {
                add(Some(property), ChangeMade::Value(Some(value)));
            }
        }
        change @ (Change::Cloned { .. }
        | Change::Moved { .. }
        | Change::Deleted { .. }
        | Change::Inserted { .. }
        | Change::Restored { .. }) => add(None, ChangeMade::Instance(change)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};
    use vector_text_edit::{diff_hunks, format_hunks};

    use super::*;

    type Texts<'a> = (&'a str, &'a str, &'a str);

    /// A proposal with these rows, and with scripts by path with their texts before and after.
    fn proposal(rows: &Json, scripts: &[Texts<'_>]) -> Proposal {
        let rows = rows.as_array().unwrap().iter().map(|row| {
            let mut row = row.clone();
            row["command"] = json!(0);
            row["class"] = json!("Part");
            row
        });
        let scripts = scripts.iter().map(|(path, before, after)| {
            let hunks = diff_hunks(before, after, CONTEXT);
            json!({ "command": 0, "path": path, "added": 0, "removed": 0, "hunks": hunks })
        });
        let preview = json!({
            "rows": rows.collect::<Vec<_>>(), "scripts": scripts.collect::<Vec<_>>(),
        });
        serde_json::from_value(json!({
            "title": "T", "class": "modifying", "commands": [], "base": "", "patch_id": "",
            "preview": preview, "warnings": [],
        }))
        .unwrap()
    }

    fn set(path: &str, property: &str, after: f64) -> Json {
        json!({
            "path": path, "change": { "change": "set", "property": property, "before": null,
            "after": after },
        })
    }

    /// The changes that differ, one text each.
    fn changes(difference: &VersionDifference<'_>) -> Vec<String> {
        let made = |made: &Option<ChangeMade<'_>>| match made {
            None => "-".to_owned(),
            Some(ChangeMade::Value(value)) => value.map_or("default".to_owned(), Value::to_brief),
            Some(ChangeMade::Created) => "created".to_owned(),
            Some(ChangeMade::Instance(change)) => format!("{change:?}"),
        };
        let change = |it: &DifferentChange<'_>| {
            let [old, new] = &it.made;
            format!("{} {}: {} {}", it.path, it.property.unwrap_or("it"), made(old), made(new))
        };
        difference.changes.iter().map(change).collect()
    }

    #[test]
    fn values_and_instances_that_differ_are_listed() {
        let made = |size: f64| {
            json!({
                "path": "game.Workspace.B",
                "change": { "change": "created", "props": [["Size", size]] },
            })
        };
        let rows = [set("game.A", "X", 1.0), set("game.A", "Y", 2.0), set("game.A", "Z", 3.0)];
        let old = proposal(&json!([rows[0], rows[1], made(1.0)]), &[]);
        let new = proposal(&json!([rows[0], set("game.A", "Y", 4.0), rows[2], made(5.0)]), &[]);
        let expected =
            ["game.A Y: 2 4", "game.A Z: - 3", "game.Workspace.B Size: 1 5"].map(str::to_owned);
        assert_eq!(changes(&compare_versions(&old, &new)), expected);
        assert!(compare_versions(&old, &old).is_empty());
        let without = proposal(&json!([rows[0], rows[1]]), &[]);
        let expected = ["game.Workspace.B it: created -", "game.Workspace.B Size: 1 -"];
        assert_eq!(changes(&compare_versions(&old, &without)), expected.map(str::to_owned));
    }

    #[test]
    fn scripts_are_compared_by_their_results() {
        let old = proposal(&json!([]), &[("game.A", "1\n2\n", "1\nx\n"), ("game.B", "", "b\n")]);
        let new = proposal(&json!([]), &[("game.A", "1\n2\n", "1\ny\n"), ("game.B", "", "b\n")]);
        let found = compare_versions(&old, &new);
        let [script] = &found.scripts[..] else { panic!("{found:?}") };
        assert_eq!(
            (script.path.to_string().as_str(), script.added, script.removed),
            ("game.A", 1, 1)
        );
        assert_eq!(format_hunks(&script.hunks), "@@ -1,2 +1,2 @@\n 1\n-x\n+y\n");
        let moved = proposal(&json!([]), &[("game.A", "0\n2\n", "0\ny\n"), ("game.B", "", "b\n")]);
        let found = compare_versions(&old, &moved);
        assert_eq!(found.changed_since, [&"game.A".parse().unwrap()]);
        assert!(found.scripts.is_empty());
    }
}
