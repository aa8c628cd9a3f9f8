//! The text of a script at a point of the history, with its cause and links to other versions.

use maud::{Markup, html};
use scene_schemas::api::{ScriptAtTime, ScriptVersion};

use super::format;
use super::format::safe_text;
use super::review;
use crate::history::ScriptQuery;

/// Renders a script at a point of the history.
pub(super) fn script_view(wanted: &ScriptQuery, found: &ScriptAtTime) -> Markup {
    let path = found.path.to_string();
    html! {
        section.script.past aria-label={ "Script " (safe_text(&path)) } {
            h3 { span.path { (safe_text(&path)) } " " span.dim { (version_head(wanted, found)) } }
            @if let Some(note) = &found.note { p.dim.pad { (safe_text(note)) } }
            @if !found.versions.is_empty() { (version_links(wanted, found)) }
            @match &found.text {
                Some(text) => (review::script_text(text)),
                None => p.pad { "There is no text to show." },
            }
        }
    }
}

fn version_head(wanted: &ScriptQuery, found: &ScriptAtTime) -> Markup {
    html! {
        @match (found.seq, wanted.seq) {
            (Some(seq), _) => { "as entry " a href={ "#/history/" (seq) } { (seq) } " left it" },
            (None, Some(at)) => { "at entry " (at) },
            (None, None) => "as it is now",
        }
        @if let Some(proposal) = found.proposal {
            ", by " a href={ "#/proposals/" (proposal) } { "proposal " (proposal) }
        }
    }
}

fn version_links(wanted: &ScriptQuery, found: &ScriptAtTime) -> Markup {
    let version = |it: &ScriptVersion| {
        let is_shown = found.seq == Some(it.seq);
        html! {
            li {
                button.plain type="button" data-act="script" data-place=(wanted.place) data-path=(found.path)
                    data-seq=(it.seq) aria-current=[is_shown.then_some("true")] disabled[!it.is_known] {
                    (format::time_element(it.at)) " · " (safe_text(&it.title))
                    @if it.kind != "applied" { " (" (it.kind) ")" }
                    @if !it.is_known { ": its text is not known" }
                }
                @if it.kind == "applied" {
                    button type="button" data-act="revert" data-back=(it.proposal)
                        aria-label={ "Revert proposal " (it.proposal) } { "Revert" }
                }
            }
        }
    };
    html! {
        details.pad open {
            summary { (format::count_text(found.versions.len(), "change")) " on record" }
            ol.grants { @for it in &found.versions { (version(it)) } }
        }
    }
}
