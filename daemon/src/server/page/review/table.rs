//! The table of operations: the changes of each instance, with values before and after.

use std::collections::BTreeSet;

use maud::{Markup, html};
use scene_schemas::proposal::Proposal;
use scene_schemas::proposal::{Change, Row};
use scene_schemas::{Command, InstancePath, Value};
use serde_json::Value as Json;
use vector_core::proposal::{
    ProposalUnit, change_note, editable_values, group_by_instance, short_values,
};
use vector_core::safe_line::safe_line;

use super::unit_key;
use super::value::value_view;
use crate::server::page::format;

/// Renders the operations, grouped by instance, and how many the preview omits.
pub(super) fn operation_table(proposal: &Proposal, pieces: &[ProposalUnit]) -> Markup {
    let rows = &proposal.preview.rows;
    let groups = group_by_instance(proposal, rows.iter());
    let editable = if pieces.is_empty() { EditableNames::new() } else { editable_names(proposal) };
    // The rows of a command over many instances can be loaded; others are only counted.
    let is_shown = |command: u32| rows.iter().any(|row| row.command == command);
    let all = || (0..).zip(&proposal.commands).filter(|(_, it)| it.member_count().is_some());
    let members: usize = all().map(|(_, command)| member_row_count(command)).sum();
    let shown = rows.iter().filter(|row| row.member.is_some()).count();
    let more = (proposal.preview.more_rows as usize).saturating_sub(members - shown.min(members));
    html! {
        @if !rows.is_empty() || members > 0 {
            table.operations {
                caption.hush { "Changes to instances" }
                @if rows.iter().any(has_values) || members > 0 {
                    thead { tr { th scope="col" { "Instance, property" } th scope="col" { "Before" } th scope="col" { "After" } }
                } }
                @for (at, group) in groups.iter().enumerate() {
                    @let own = member_of(group);
                    @if let Some((command, 0)) = own { (members_head(proposal, command, pieces)) }
                    (instance_group(&format!("o{at}"), group, pieces, &editable))
                    @if let Some((command, member)) = own {
                        @if groups.get(at + 1).and_then(|it| member_of(it)).map(|it| it.0) != Some(command) {
                            (members_rest(proposal, command, member + 1))
                        }
                    }
                }
                @for (command, _) in all().filter(|(command, _)| !is_shown(*command)) {
                    (members_head(proposal, command, pieces))
                    (members_rest(proposal, command, 0))
                }
            }
            @if more > 0 {
                p.dim { "… and " (format::count_text(more, "further row")) ", \
                which are applied with the rest" }
            }
        }
    }
}

/// Renders further instances of a command over many, as parts of a table.
pub(super) fn further_members(
    proposal: &Proposal,
    rows: &[Row],
    command: u32,
    is_decidable: bool,
) -> Markup {
    let pieces =
        if is_decidable { vec![ProposalUnit::Command(command as usize)] } else { Vec::new() };
    let groups = group_by_instance(proposal, rows.iter());
    let last = groups.last().and_then(|group| member_of(group));
    html! {
        @for group in &groups {
            @let key = member_of(group).map_or_else(String::new, |(command, member)| format!("m{command}.{member}"));
            (instance_group(&key, group, &pieces, &EditableNames::new()))
        }
        @if let Some((_, member)) = last { (members_rest(proposal, command, member + 1)) }
    }
}

/// Returns the command over many instances and the position in its table, if the rows belong to one.
fn member_of(rows: &[&Row]) -> Option<(u32, u32)> {
    rows.first().and_then(|row| Some((row.command, row.member?)))
}

/// Returns the number of rows of a command over many instances.
fn member_row_count(command: &Command) -> usize {
    match command {
        Command::SetMany { count, props, .. } => *count as usize * props.len(),
        _ => 0,
    }
}

/// Renders the line above the instances of a command over many.
fn members_head(proposal: &Proposal, command: u32, pieces: &[ProposalUnit]) -> Markup {
    let unit = ProposalUnit::Command(command as usize);
    let (part, is_choice) = (unit_key(unit), pieces.len() > 1 && pieces.contains(&unit));
    let found = proposal.commands.get(command as usize);
    let count = found.and_then(Command::member_count).unwrap_or(0) as usize;
    html! {
        tbody data-key=(part) data-stop="" tabindex="-1" {
            tr.who { th colspan="3" scope="rowgroup" { div {
                @if is_choice {
                    label.take {
                        input type="checkbox" name="part" value=(part) data-part=(part) checked;
                        span.hush { "Include these " (format::count_text(count, "instance")) }
                    }
                }
                b { (format::count_text(count, "instance")) }
                @if let Some(command) = found { " " span.dim { "below " (path_text(&command.target().path)) } }
            } } }
        }
    }
}

/// Renders the button that loads the instances of a command over many from a position on.
fn members_rest(proposal: &Proposal, command: u32, from: u32) -> Markup {
    let found = proposal.commands.get(command as usize);
    let rest = found.and_then(Command::member_count).unwrap_or(0).saturating_sub(from);
    html! {
        @if rest > 0 {
            tbody { tr.who { th colspan="3" { div {
                button type="button" data-act="more-rows" data-command=(command) data-from=(from) { "Show more" }
                span.dim { "of " (format::count_text(rest as usize, "further instance")) }
            } } } }
        }
    }
}

fn has_values(row: &Row) -> bool {
    match &row.change {
        Change::Created { props } => !props.is_empty(),
        change => matches!(change, Change::Set { .. }),
    }
}

/// Renders the change of an instance: a verb, its path and its class.
pub(super) fn group_headline(rows: &[&Row]) -> Markup {
    let Some(first) = rows.first() else {
        return html! {};
    };
    let mark = group_verb(rows);
    html! {
        span.mark data-mark=(mark) { (mark) } " "
        span.path { (path_text(&first.path)) } " " span.dim { (safe_line(&first.class)) }
    }
}

/// Renders the first changed values of an instance, before and after.
pub(super) fn short_changes(rows: &[&Row], limit: usize) -> Markup {
    let arrow = |property: &str, before: Option<&Value>, after: Option<&Value>| {
        let (was, now) = short_values(before, after, Value::to_brief);
        html! {
            span.dim { (safe_line(property)) } " "
            @if before.is_some() { del { (value_view(before, &was)) } " → " }
            ins { (value_view(after, &now)) }
        }
    };
    let of = |row: &&Row| match &row.change {
        Change::Created { props } => {
            props.iter().map(|(name, it)| arrow(name, None, Some(it))).collect()
        }
        Change::Set { property, before, after } => {
            vec![arrow(property, before.as_ref(), after.as_ref())]
        }
        change => change_note(change)
            .map(|note| html! { span.dim { (safe_line(&note)) } })
            .into_iter()
            .collect(),
    };
    let all: Vec<Markup> = rows.iter().flat_map(of).collect();
    html! {
        @if !all.is_empty() {
            ul.values {
                @for it in all.iter().take(limit) { li { (it) } }
                @if all.len() > limit { li.dim { "… and " (all.len() - limit) " more" } }
            }
        }
    }
}

/// Returns a verb for the change of an instance.
fn group_verb(rows: &[&Row]) -> &'static str {
    let mut mark = "changed";
    for row in rows {
        mark = match row.change {
            Change::Created { .. }
            | Change::Cloned { .. }
            | Change::Inserted { .. }
            | Change::Restored { .. } => "created",
            Change::Deleted { .. } => "deleted",
            Change::Moved { .. } if mark == "changed" => "moved",
            Change::Moved { .. } | Change::Set { .. } => mark,
        };
    }
    mark
}

fn path_text(path: &InstancePath) -> String {
    safe_line(&path.to_string()).into_owned()
}

/// The properties whose values can be changed by hand, with the index of their command.
type EditableNames<'a> = BTreeSet<(u32, &'a str)>;

fn editable_names(proposal: &Proposal) -> EditableNames<'_> {
    editable_values(proposal).map(|it| (it.command as u32, it.property)).collect()
}

fn instance_group(
    key: &str,
    rows: &[&Row],
    pieces: &[ProposalUnit],
    editable: &EditableNames<'_>,
) -> Markup {
    let commands: Vec<&[&Row]> = rows.chunk_by(|a, b| a.command == b.command).collect();
    // A single command is selected in the line of its instance.
    let whole = if commands.len() == 1 { commands.first().copied() } else { None };
    html! {
        tbody data-key=(key) data-path=[rows.first().map(|row| format::json_attribute(&row.path))] data-stop="" tabindex="-1" {
            tr.who {
                th colspan="3" scope="rowgroup" {
                    div {
                        @if let Some(rows) = whole { (selection_boxes(rows, pieces)) }
                        (group_headline(rows))
                        @for note in whole.into_iter().flatten().filter_map(|row| change_note(&row.change)) {
                            " " span.dim { (safe_line(&note)) }
                        }
                    }
                }
            }
            @for rows in &commands {
                @if whole.is_none() {
                    tr.command { th colspan="3" scope="rowgroup" { div { (selection_boxes(rows, pieces)) (command_list(rows)) } } }
                }
                @for row in *rows { (property_rows(row, editable)) }
            }
        }
    }
}

/// Describes a command, if an instance has several.
fn command_list(rows: &[&Row]) -> Markup {
    let properties = |row: &&&Row| matches!(row.change, Change::Set { .. });
    let set = rows.iter().filter(properties).count();
    let notes: Vec<String> = rows.iter().filter_map(|row| change_note(&row.change)).collect();
    let is_made = rows.iter().any(|row| matches!(row.change, Change::Created { .. }));
    html! {
        @if is_made { "is made" }
        @else if set > 0 { "sets " @if set == 1 { "1 property" } @else { (set) " properties" } }
        @else if notes.is_empty() { "goes" }
        @for note in &notes { (safe_line(note)) " " }
    }
}

/// Renders the checkbox with which the user leaves a command out, or an instance of a command over
/// many.
fn selection_boxes(rows: &[&Row], pieces: &[ProposalUnit]) -> Markup {
    let unit = rows.first().and_then(|row| {
        let command = row.command as usize;
        let whole = ProposalUnit::Command(command);
        let unit = match row.member {
            Some(member) => ProposalUnit::Member { command, member },
            None if pieces.len() > 1 => whole,
            None => return None,
        };
        pieces.contains(&whole).then_some((unit, whole))
    });
    html! {
        @if let (Some((unit, whole)), Some(row)) = (unit, rows.first()) {
            @let part = unit_key(unit);
            label.take {
                input type="checkbox" name="part" value=(part) data-part=(part) data-within=[(unit != whole).then(|| unit_key(whole))] checked;
                span.hush { "Include this operation on " (path_text(&row.path)) }
            }
        }
    }
}

fn property_rows(row: &Row, editable: &EditableNames<'_>) -> Markup {
    let none: Vec<(String, Value)> = Vec::new();
    let made = match &row.change {
        Change::Created { props } => props,
        _ => &none,
    };
    html! {
        @for (name, it) in made {
            tr data-property=(format::json_attribute(name)) {
                th scope="row" { (safe_line(name)) }
                td.was { span.hush { "nothing" } }
                td.came { (value_view(Some(it), &it.to_brief())) (edit_button(row, name, Some(it), editable)) }
            }
        }
        @if let Change::Set { property, before, after } = &row.change {
            @let (was, now) = short_values(before.as_ref(), after.as_ref(), Value::to_brief);
            tr data-property=(format::json_attribute(property)) {
                th scope="row" { (safe_line(property)) }
                td.was { @if before.is_some() { del { (value_view(before.as_ref(), &was)) } } @else { (was) } }
                td.came { (value_view(after.as_ref(), &now)) (edit_button(row, property, after.as_ref(), editable)) }
            }
        }
    }
}

/// Renders the button that lets the user change a value.
fn edit_button(
    row: &Row,
    property: &str,
    value: Option<&Value>,
    editable: &EditableNames<'_>,
) -> Markup {
    let value = value.map_or(Json::Null, Value::to_editable);
    let name = safe_line(property);
    html! {
        @if editable.contains(&(row.command, property)) {
            button.plain.change type="button" data-act="edit-value" data-command=(row.command)
                data-property=(format::json_attribute(property)) data-value=(format::json_attribute(&value))
                aria-label={ "Change " (name) " of " (path_text(&row.path)) } title="Change" { "✎" }
        }
    }
}
