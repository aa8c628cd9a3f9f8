//! A deploy: what an upload of a place to Roblox would change, and the uploads before it.

use maud::{Markup, html};
use scene_schemas::api::{DeployPlanView, DeployQuery, DeployTargetView, UploadView};
use scene_schemas::entry::VersionKind;

use super::format;
use super::format::safe_text;
use crate::tasks::deploy::format_size;

/// Renders the plan: where to, what changes, and the uploads so far.
pub(super) fn plan_view(query: &DeployQuery, plan: &DeployPlanView) -> Markup {
    let target = plan.target.as_ref();
    let id = |id: Option<u64>| id.map(|it| it.to_string()).unwrap_or_default();
    html! {
        div.page.deploy {
            h1 { "Deploy " (format::place_name(&plan.name)) }
            p.dim {
                "Uploads the place to Roblox. A saved version is in the place's history, and players do \
                 not see it. Publishing it is a second step."
            }
            @if let Some(earlier) = query.earlier {
                p {
                    b { "The contents of upload " (earlier) }
                    ", not the place as it is now. "
                    a href={ "#/deploy/" (query.session) } { "Deploy the place as it is" }
                }
            }
            form.panel.pad data-act="deploy-target" data-session=(query.session) data-earlier=[query.earlier] {
                label.field {
                    span { "Universe ID" }
                    input name="universe" value=(id(target.map(|it| it.universe))) required inputmode="numeric" pattern="[0-9]{1,15}" autocomplete="off";
                }
                label.field {
                    span { "Place ID" }
                    input name="place" value=(id(target.map(|it| it.place))) required inputmode="numeric" pattern="[0-9]{1,15}" autocomplete="off";
                }
                div.buttons { button.main[target.is_none()] type="submit" { "Compare" } }
                @if target.is_none() {
                    p.dim { "Both are in the menu of the place on the Creator Dashboard. The next deploy of this place uses them again." }
                }
            }
            @if let Some(target) = target { (target_card(query, plan, target)) }
            (upload_list(query, &plan.uploads))
        }
    }
}

fn target_card(query: &DeployQuery, plan: &DeployPlanView, target: &DeployTargetView) -> Markup {
    let version = target.existing.as_ref().and_then(|it| it.version);
    let is_published = query.earlier.is_none() && target.is_published;
    let compared = target.published.as_ref().map(|it| it.seq);
    html! {
        section #deploy.panel.pad data-session=(query.session) data-universe=(target.universe)
            data-place=(target.place) data-contents=(plan.contents) data-earlier=[query.earlier] data-compared=[compared]
            data-name=(format::place_name(&plan.name)) {
            h2 {
                @match &target.published {
                    Some(published) if target.is_erased => {
                        "Version " (published.version.unwrap_or_default())
                        " cannot be compared: its contents were erased"
                    }
                    Some(published) => {
                        "Since version " (published.version.unwrap_or_default()) ", published "
                        (format::time_element(published.at))
                    }
                    None => "Nothing was published to this place from here yet",
                }
            }
            @for it in &target.unclear {
                p.bad { "Upload " (it.seq) " was interrupted or got no answer, and Roblox may have its version. The same contents get the same version." }
            }
            p { (target.summary) ", " (format_size(plan.size)) }
            @if !target.lines.is_empty() {
                pre.changes tabindex="0" {
                    @for line in &target.lines { (safe_text(line)) "\n" }
                    @if target.more > 0 { "and " (target.more) " more\n" }
                }
            }
            @if !target.not_updated.is_empty() {
                p.bad { b { "An upload does not change these on Roblox. Publish the place in Studio for them." } }
                ul.plainly { @for it in &target.not_updated { li { code { (safe_text(it)) } } } }
                @if target.more_not_updated > 0 { p.dim { "and " (target.more_not_updated) " more" } }
            }
            @match version {
                Some(version) if is_published => p.good { b { "Version " (version) " has these contents and is published" } },
                Some(version) => {
                    p { "Saved as version " (version) ". New servers of the game run a version once it is published." }
                    div.buttons { button.danger type="button" data-act="publish-version" { "Publish version " (version) "…" } }
                }
                None => {
                    div.buttons { button.main type="button" data-act="save-version" { "Save a version" } }
                }
            }
        }
    }
}

fn upload_list(query: &DeployQuery, uploads: &[UploadView]) -> Markup {
    html! {
        section.panel.pad {
            h2 { "Uploads" }
            @if uploads.is_empty() { p.dim { "None yet" } }
            ul.plainly {
                @for it in uploads {
                    li {
                        (format::time_element(it.at)) " "
                        b { (outcome_text(it)) }
                        ", place " (it.upload.place) ", " (format_size(it.upload.size)) " "
                        @if it.version.is_some() {
                            a href={ "#/deploy/" (query.session) "/" (it.seq) } { "use these contents" }
                        }
                        @if let Some(why) = &it.failure { p.dim { (safe_text(why)) } }
                    }
                }
            }
        }
    }
}

fn outcome_text(view: &UploadView) -> String {
    match (view.version, &view.failure, view.upload.kind) {
        (Some(version), _, VersionKind::Saved) => format!("Saved as version {version}"),
        (Some(version), _, VersionKind::Published) => format!("Published version {version}"),
        (None, Some(_), _) if view.is_unclear => "Not known".to_owned(),
        (None, Some(_), _) => "Failed".to_owned(),
        (None, None, _) => "Going on".to_owned(),
    }
}
