//! What a script said at a moment, with what made it so, and the way to its other versions.

use maud::{Markup, html};
use scene_schemas::api::{ScriptAt, ScriptVersion};

use super::super::past::ScriptWanted;
use super::review;
use super::words;
use super::words::safe;

/// A script at a moment.
pub(super) fn script(wanted: &ScriptWanted, found: &ScriptAt) -> Markup {
    let path = found.path.to_string();
    html! {
        section.script.past aria-label={ "Script " (safe(&path)) } {
            h3 { span.path { (safe(&path)) } " " span.dim { (moment(wanted, found)) } }
            @if let Some(note) = &found.note { p.dim.pad { (safe(note)) } }
            @if !found.versions.is_empty() { (versions(wanted, found)) }
            @match &found.text {
                Some(text) => (review::text(text)),
                None => p.pad { "There is no text to show." },
            }
        }
    }
}

fn moment(wanted: &ScriptWanted, found: &ScriptAt) -> Markup {
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

fn versions(wanted: &ScriptWanted, found: &ScriptAt) -> Markup {
    let version = |it: &ScriptVersion| {
        let is_shown = found.seq == Some(it.seq);
        html! {
            li {
                button.plain type="button" data-act="script" data-place=(wanted.place) data-path=(found.path)
                    data-seq=(it.seq) aria-current=[is_shown.then_some("true")] disabled[!it.is_known] {
                    (words::time(it.at)) " · " (safe(&it.title))
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
            summary { (words::count(found.versions.len(), "change")) " on record" }
            ol.grants { @for it in &found.versions { (version(it)) } }
        }
    }
}
