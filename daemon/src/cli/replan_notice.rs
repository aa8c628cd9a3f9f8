//! The notice above a card that replaces another: the reason, and the differences.
//!
//! It only compares the proposals of the workflow, and prints nothing.

use scene_schemas::InstancePath;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::Proposal;
use vector_core::workflow::{PendingStatus, Workflow};

/// The maximum number of named paths.
const NAMED: usize = 5;

/// The notice above a card that replaces another. None if it does not.
pub(super) fn replan_notice(workflow: &Workflow, seq: Seq, proposal: &Proposal) -> Option<String> {
    let before = proposal.replaces?;
    let old = workflow.proposal(before)?;
    let why = match &old.status {
        PendingStatus::Withdrawn(reason) => reason.trim_end_matches('.'),
        _ => "It was planned again",
    };
    Some(format!(
        "{why}. Proposal {seq} replaces proposal {before}: {}",
        describe_difference(&old.proposal, proposal)
    ))
}

/// Describes the differences between two proposals in a sentence.
fn describe_difference(old: &Proposal, new: &Proposal) -> String {
    let mut paths: Vec<&InstancePath> = Vec::new();
    let rows = |one: &'_ Proposal| {
        one.preview
            .rows
            .iter()
            .map(|row| (row.path.clone(), row.change.clone()))
            .collect::<Vec<_>>()
    };
    let (old_rows, new_rows) = (rows(old), rows(new));
    let has_row = |rows: &[_], row: &_| rows.contains(row);
    let changed =
        new.preview.rows.iter().zip(&new_rows).filter(|(_, row)| !has_row(&old_rows, row));
    paths.extend(changed.map(|(row, _)| &row.path));
    let gone = old.preview.rows.iter().zip(&old_rows).filter(|(_, row)| !has_row(&new_rows, row));
    paths.extend(gone.map(|(row, _)| &row.path));
    let script = |one: &scene_schemas::proposal::ScriptDiff| {
        let lines = one.hunks.iter().map(|hunk| hunk.lines.clone()).collect::<Vec<_>>();
        (one.path.clone(), lines)
    };
    let scripts = |one: &Proposal| one.preview.scripts.iter().map(script).collect::<Vec<_>>();
    let (old_scripts, new_scripts) = (scripts(old), scripts(new));
    let sides = [(&new.preview.scripts, &old_scripts), (&old.preview.scripts, &new_scripts)];
    for (own, others) in sides {
        paths.extend(own.iter().filter(|it| !others.contains(&script(it))).map(|it| &it.path));
    }
    let warnings = new.warnings.iter().filter(|it| !old.warnings.contains(it)).count();
    let mut texts: Vec<String> = Vec::new();
    for path in paths {
        let text = path.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let more = texts.len().saturating_sub(NAMED);
    texts.truncate(NAMED);
    let mut listed = texts.join(", ");
    if more > 0 {
        listed.push_str(&format!(" and {more} more"));
    }
    let warned = match warnings {
        0 => "",
        _ => " It has warnings that the first had not.",
    };
    if listed.is_empty() {
        format!("the change is the same.{warned}")
    } else {
        format!("it differs at {listed}.{warned}")
    }
}
