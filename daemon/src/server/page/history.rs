//! The history: entries selected by a filter, and the full view of an entry.

use maud::{Markup, html};
use scene_schemas::api::{
    Checkpoint, Checkpoints, History, HistoryEntry, HistoryOutcome, HistoryRecord, ProposalView,
};
use scene_schemas::entry::{Approver, Seq};
use vector_core::calendar::format_date;

use super::format;
use super::format::safe_text;
use crate::history::{EntryFilter, HistoryQuery};

/// Renders the filter and the newest entries that it selects.
pub(super) fn history_view(
    wanted: &HistoryQuery,
    history: &History,
    checkpoints: &Checkpoints,
) -> Markup {
    html! {
        div.page.history {
            header.head {
                h1 { "History" }
                button type="button" data-act="export" { "Export as JSON" }
            }
            (filter_form(&wanted.filter, history))
            (checkpoint_list(&checkpoints.checkpoints))
            @if history.entries.is_empty() && history.older.is_none() {
                div.empty { h2 { "No results" } p { "Use fewer filters" @if wanted.filter.is_brief { ", \
                or tick Everything to include calls and decisions" } "." } }
            } @else {
                ol.entries #entries aria-label="Events, newest first" { (history_rows(history)) }
            }
        }
    }
}

/// Renders rows of entries, and a button for older ones.
pub(super) fn history_rows(history: &History) -> Markup {
    html! {
        @for entry in &history.entries { (history_row(entry)) }
        @if let Some(older) = history.older {
            li.older { button type="button" data-act="older" data-before=(older) { "Older" } }
        }
    }
}

fn filter_form(filter: &EntryFilter, history: &History) -> Markup {
    let outcomes = HistoryOutcome::ALL.map(HistoryOutcome::as_str);
    let outcome = filter.outcome.map(HistoryOutcome::as_str);
    let places: Vec<&str> = history.places.iter().map(String::as_str).collect();
    let tools: Vec<&str> = history.tools.iter().map(String::as_str).collect();
    html! {
        form.filters role="search" data-act="filter" aria-label="Look for" {
            label.wide { span { "Search" } input type="search" name="text" value=[filter.text.as_ref()] maxlength="1000" placeholder="Requests, messages, proposals"; }
            label.wide { span { "Path" } input name="path" value=[filter.path.as_ref()] maxlength="1000" placeholder="Workspace.Door" spellcheck="false"; }
            (select_field("Place", "place", "All places", &places, filter.place.as_deref()))
            (select_field("Tool", "tool", "All tools", &tools, filter.tool.as_deref()))
            (select_field("Outcome", "outcome", "All outcomes", &outcomes, outcome))
            label { span { "Day" } input type="date" name="day" value=[filter.day.map(format_date)]; }
            label.check { input type="checkbox" name="everything" value="1" checked[!filter.is_brief]; "Everything" }
            div.buttons { button.main type="submit" { "Search" } button type="button" data-act="unfilter" { "Clear" } }
        }
    }
}

fn select_field(
    label: &str,
    name: &str,
    all: &str,
    offered: &[&str],
    chosen: Option<&str>,
) -> Markup {
    // A chosen value stays in the list even if no entry on this page has it.
    let unknown = chosen.filter(|it| !offered.contains(it));
    html! {
        label { span { (label) }
            select name=(name) {
                option value="" { (all) }
                @for it in offered.iter().copied().chain(unknown) {
                    option value=(it) selected[chosen == Some(it)] { (safe_text(&it.replace('_', " "))) }
                }
            }
        }
    }
}

/// Renders the checkpoints of the open places, which the user can restore.
fn checkpoint_list(checkpoints: &[Checkpoint]) -> Markup {
    html! {
        @if !checkpoints.is_empty() {
            details.panel.pad {
                summary { "Checkpoints: " (checkpoints.len()) }
                ul.grants {
                    @for it in checkpoints {
                        li {
                            b { (safe_text(it.label.lines().next().unwrap_or_default())) } span.dim { (format::place_name(&it.place)) " · " (format::time_element(it.at)) }
                            button type="button" data-act="restore" data-checkpoint=(it.seq) { "Restore" }
                        }
                    }
                }
            }
        }
    }
}

fn history_row(entry: &HistoryEntry) -> Markup {
    html! {
        li.entry data-kind=(entry.kind) {
            details data-act-open="entry" data-of=(entry.seq) {
                summary {
                    span.when { (format::time_element(entry.at)) }
                    span.what {
                        b { (safe_text(&entry.title)) }
                        span.dim {
                            (entry_kind(entry)) " · " span title=(safe_text(&entry.place)) { (format::place_name(&entry.place)) }
                            @for path in &entry.paths { " · " code { (safe_text(path)) } }
                            @if entry.more_paths > 0 { " and " (entry.more_paths) " more" }
                        }
                    }
                    @if let Some(class) = entry.class { span.class data-class=(format::class_name(class)) { (format::class_name(class)) } }
                    @if let Some(outcome) = entry.outcome { span.state data-state=(outcome.as_str()) { (outcome.as_str().replace('_', " ")) } }
                }
                div.whole {}
            }
        }
    }
}

/// Describes the kind of an entry.
fn entry_kind(entry: &HistoryEntry) -> String {
    let by = match entry.by {
        Some(Approver::Person) => " by you",
        Some(Approver::PersonForAll) => " by you, with everything that followed",
        Some(Approver::Mode) => " by the mode",
        Some(Approver::Rule) => " by a rule of the task",
        Some(Approver::Yes) => " by --yes",
        None => "",
    };
    let kind = entry.kind.replace('_', " ");
    match &entry.tool {
        Some(tool) => format!("{kind}{by}: {}", tool.replace('_', " ")),
        None => format!("{kind}{by}"),
    }
}

/// Renders an entry with its actions. `about` is the proposal that it concerns.
pub(super) fn entry_view(found: &HistoryRecord, about: Option<&ProposalView>) -> Markup {
    let changed = about.into_iter().flat_map(|view| view.proposal.preview.changed_scripts());
    // The memory of a place has no path.
    let scripts = changed.map(|it| &it.path).filter(|path| !path.segments.is_empty());
    let (line, seq) = (&found.line, found.record.seq);
    let text = serde_json::to_string_pretty(&found.record).unwrap_or_default();
    let is_applied = line.outcome == Some(HistoryOutcome::Applied);
    html! {
        div.buttons {
            a.button href={ "#/now/" (line.workflow) } { "Open conversation" }
            @if let Some(proposal) = line.proposal {
                a.button href={ "#/proposals/" (proposal) } { "Proposal " (proposal) }
                @if is_applied {
                    button type="button" data-act="revert" data-back=(proposal) { "Revert" }
                }
            }
            @for path in scripts {
                button type="button" data-act="script" data-place=(place_filter(line)) data-path=(path) data-seq=(seq) { span { "Script at this point: " } code { (safe_text(&path.to_string())) } }
            }
            (entry_link("← Previous", found.previous)) (entry_link("Next →", found.next))
        }
        pre.json tabindex="0" aria-label={ "Entry " (seq) } { (safe_text(&text)) }
    }
}

/// Returns the filter for the place of an entry: its session if it is open, otherwise its name.
fn place_filter(entry: &HistoryEntry) -> &str {
    entry.session.as_ref().map_or(entry.place.as_str(), |session| session.0.as_str())
}

fn entry_link(text: &str, seq: Option<Seq>) -> Markup {
    html! { @if let Some(seq) = seq { a.button href={ "#/history/" (seq) } { (text) } } }
}
