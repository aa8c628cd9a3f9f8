//! What a new version of a proposal makes of it in another way than an earlier one.

use maud::{Markup, html};
use scene_schemas::Value;
use scene_schemas::api::ProposalView;
use scene_schemas::proposal::{Change, Proposal};
use vector_core::proposal::{
    ChangeMade, DifferentChange, VersionDifference, change_note, compare_versions, short_values,
};
use vector_core::safe_line::safe_line;
use vector_text_edit::WordDiff;

use super::diff::{self, DiffLayout};
use super::value::value_view;
use crate::server::page::format;

/// Renders how a proposal differs from an earlier version of it, folded.
pub(super) fn comparison_view(
    earlier: &ProposalView,
    proposal: &Proposal,
    layout: DiffLayout,
) -> Markup {
    let difference = compare_versions(&earlier.proposal, proposal);
    let size = difference_size(&difference);
    html! {
        details.comparison data-key={ "compared-" (earlier.seq) } {
            summary { "Compare with proposal " (earlier.seq) " " span.dim { (size) } }
            @if difference.is_empty() {
                p { "Both propose the same." }
            } @else {
                (difference_view(&difference, &format!("Proposal {}", earlier.seq), layout))
            }
        }
    }
}

/// Returns the number of differing values and lines, for the line that unfolds them.
fn difference_size(difference: &VersionDifference<'_>) -> String {
    if difference.is_empty() {
        return "· no difference".to_owned();
    }
    let changes = difference.changes.len();
    let (added, removed) =
        difference.scripts.iter().fold((0, 0), |(a, r), it| (a + it.added, r + it.removed));
    let mut size = String::new();
    if changes > 0 {
        size.push_str(&format!("· {} ", format::count_text(changes, "other value")));
    }
    if added + removed > 0 {
        size.push_str(&format!("· lines +{added} −{removed}"));
    }
    size.trim_end().to_owned()
}

fn difference_view(
    difference: &VersionDifference<'_>,
    earlier: &str,
    layout: DiffLayout,
) -> Markup {
    let mut compared = WordDiff::default();
    html! {
        @for path in &difference.changed_since {
            p.dim {
                "The text of " span.path { (safe_line(&path.to_string())) } " in the place changed \
                between the two, so they are not compared line by line."
            }
        }
        @if !difference.changes.is_empty() {
            table.operations {
                caption.hush { "Differing changes of instances" }
                thead { tr { th scope="col" { "Instance, property" } th scope="col" { (earlier) } th scope="col" { "This version" } } }
                @for group in difference.changes.chunk_by(|a, b| a.path == b.path) {
                    tbody {
                        @if let Some(first) = group.first() {
                            tr.who { th colspan="3" scope="rowgroup" { div {
                                span.path { (safe_line(&first.path.to_string())) } " " span.dim { (safe_line(first.class)) }
                            } } }
                        }
                        @for change in group { (change_row(change)) }
                    }
                }
            }
        }
        @if difference.more_rows > 0 {
            p.dim { "… and " (format::count_text(difference.more_rows as usize, "further row")) ", which are not compared" }
        }
        @for script in &difference.scripts { (diff::compared_text(script, layout, &mut compared)) }
    }
}

fn change_row(change: &DifferentChange<'_>) -> Markup {
    let value = |made: &Option<ChangeMade<'_>>| match made {
        Some(ChangeMade::Value(value)) => value.cloned(),
        Some(ChangeMade::Created | ChangeMade::Instance(_)) | None => None,
    };
    let values = change.made.each_ref().map(value);
    let (old, new) = short_values(values[0].as_ref(), values[1].as_ref(), Value::to_brief);
    html! {
        tr {
            th scope="row" { (safe_line(change.property.unwrap_or("The instance"))) }
            td.was { (made_view(change.made[0].as_ref(), &old)) }
            td.came { (made_view(change.made[1].as_ref(), &new)) }
        }
    }
}

/// Renders what a version makes of an instance or a property. `short` is the short form of a value.
fn made_view(made: Option<&ChangeMade<'_>>, short: &str) -> Markup {
    html! {
        @match made {
            None => span.dim { "not changed" },
            Some(ChangeMade::Value(None)) => span.dim { "its default" },
            Some(ChangeMade::Value(Some(value))) => (value_view(Some(value), short)),
            Some(ChangeMade::Created) => "created",
            Some(ChangeMade::Instance(change)) => (safe_line(&instance_note(change))),
        }
    }
}

fn instance_note(change: &Change) -> String {
    let verb = match change {
        Change::Created { .. }
        | Change::Cloned { .. }
        | Change::Inserted { .. }
        | Change::Restored { .. } => "created",
        Change::Set { .. } => "changed",
        Change::Moved { .. } => "moved",
        Change::Deleted { .. } => "deleted",
    };
    match change_note(change) {
        Some(note) => format!("{verb}: {note}"),
        None => verb.to_owned(),
    }
}
