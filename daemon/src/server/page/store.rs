//! The Creator Store: a search, and its results as a grid of assets that can be inserted.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use scene_schemas::api::{Failure, FailureKind, OfferedMentions, SessionView, Sessions};
use vector_cloud::{AssetKind, AssetSearch, AssetSummary, SearchPage};

use super::format::{self, safe_text};
use crate::asset_store::picture_type;
use crate::daemon::MAX_SEARCH;
use crate::failure::failure;
use crate::server::extract::{FromParameters, Parameters};

/// The number of results that are added at once.
const PAGE_SIZE: u32 = 50;
/// Ends of the names of model files.
const MODEL_ENDS: [&str; 2] = [".rbxm", ".rbxmx"];

/// A search as the page asks for it.
#[derive(Debug, Clone)]
pub(super) struct StoreQuery {
    text: String,
    kind: AssetKind,
    any_creator: bool,
    /// The page of results, as the one before named it.
    next: Option<String>,
}

impl FromParameters for StoreQuery {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Failure> {
        let text = parameters.text("text")?.unwrap_or_default().trim().to_owned();
        let kind = match parameters.text("kind")? {
            None => AssetKind::Model,
            Some(name) => {
                AssetKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
                    let message = format!("`{name}` is not a kind of assets.");
                    failure(FailureKind::BadRequest, message, "Choose one of the list.")
                })?
            }
        };
        let any_creator = parameters.text("only")?.is_some_and(|only| only == "any");
        Ok(Self { text, kind, any_creator, next: parameters.text("next")? })
    }
}

impl StoreQuery {
    /// Returns the search. None if nothing is searched for yet.
    pub(super) fn search(&self) -> Option<AssetSearch> {
        (!self.text.is_empty()).then(|| AssetSearch {
            kind: self.kind,
            only_verified: !self.any_creator,
            limit: PAGE_SIZE,
            page: self.next.clone(),
            ..AssetSearch::new(&self.text)
        })
    }
}

/// Renders the search, and what was found.
pub(super) fn store_view(
    wanted: &StoreQuery,
    found: Option<&SearchPage>,
    sessions: &Sessions,
) -> Markup {
    html! {
        div.page.store {
            header.head { h1 { "Assets" } }
            (search_form(wanted))
            @match found {
                None => div.empty {
                    h2 { "Search Roblox's Creator Store" }
                    p { "What you insert becomes a proposal. Its scripts are left out unless you keep them." }
                },
                Some(page) if page.assets.is_empty() => div.empty {
                    h2 { "No results" }
                    p {
                        @if let Some(other) = &page.suggestion { "Did you mean " b { (safe_text(other)) } "? " }
                        @if !wanted.any_creator { "Creators that Roblox has not verified were left out." }
                    }
                },
                Some(page) => {
                    (target_choice(sessions))
                    p.dim role="status" {
                        @if let Some(total) = page.total { (format::short_count(total)) " results" }
                    }
                    ul.assets aria-label="Results" { (store_rows(wanted, page, sessions)) }
                },
            }
        }
    }
}

fn search_form(wanted: &StoreQuery) -> Markup {
    html! {
        form.filters role="search" data-act="search-store" aria-label="Look for" {
            label.wide { span { "Search" } input type="search" name="text" value=(wanted.text) maxlength=(MAX_SEARCH) placeholder="oak tree"; }
            label { span { "Kind" }
                select name="kind" {
                    @for kind in AssetKind::ALL {
                        option value=(kind.name()) selected[kind == wanted.kind] { (kind_title(kind)) }
                    }
                }
            }
            label.check { input type="checkbox" name="any" value="1" checked[wanted.any_creator]; "Creators that are not verified" }
            div.buttons { button.main type="submit" { "Search" } }
        }
    }
}

fn kind_title(kind: AssetKind) -> &'static str {
    match kind {
        AssetKind::Model => "Models",
        AssetKind::MeshPart => "Meshes",
        AssetKind::Decal => "Decals",
        AssetKind::Audio => "Audio",
        AssetKind::Video => "Videos",
        AssetKind::Plugin => "Plugins",
        AssetKind::FontFamily => "Fonts",
    }
}

/// Renders the choice of the place, if several are open, and of the parent in it.
fn target_choice(sessions: &Sessions) -> Markup {
    let Some(first) = sessions.sessions.first() else {
        return html! { p.hint { "Open a place to insert assets." } };
    };
    let option = |view: &SessionView| {
        html! { option value=(view.session) data-parent=(default_parent(view)) { (format::place_name(&view.place.name)) } }
    };
    html! {
        div.filters.target {
            @if sessions.sessions.len() == 1 {
                input type="hidden" name="place" value=(first.session);
            } @else {
                label { span { "Insert into" } select name="place" { @for view in &sessions.sessions { (option(view)) } } }
            }
            label.wide { span { "Parent" }
                input name="parent" value=(default_parent(first)) list="parents" autocomplete="off" spellcheck="false"
                    placeholder="The selection in Studio, or game.Workspace";
            }
            datalist #parents {}
        }
    }
}

/// The path below which assets are inserted unless a person chooses another: a model has no Workspace.
fn default_parent(view: &SessionView) -> &'static str {
    let is_model = MODEL_ENDS.iter().any(|end| view.place.name.ends_with(end));
    if is_model && !view.in_studio { "game" } else { "game.Workspace" }
}

/// Renders the paths of instances that fit what was typed.
pub(super) fn parent_options(found: &OfferedMentions) -> Markup {
    let instances = found.mentions.iter().filter_map(|it| it.instance.as_ref());
    html! { @for it in instances { option value=(it.target.path) {} } }
}

/// Renders results, and a button for more.
pub(super) fn store_rows(wanted: &StoreQuery, page: &SearchPage, sessions: &Sessions) -> Markup {
    let can_insert = wanted.kind.is_instance() && !sessions.sessions.is_empty();
    html! {
        @for asset in &page.assets { (asset_card(asset, can_insert)) }
        @if let Some(next) = &page.next_page {
            li.older { button type="button" data-act="more-assets" data-next=(next) { "More" } }
        }
    }
}

fn asset_card(asset: &AssetSummary, can_insert: bool) -> Markup {
    let name = safe_text(&asset.name);
    html! {
        li.asset data-key={ "a" (asset.id) } {
            figure data-state="loading" {
                img data-thumbnail=(asset.id) alt="" width="150" height="150";
                p.why role="status" {}
            }
            h2 { (name) }
            p.dim {
                @if let Some(creator) = &asset.creator {
                    "by " (safe_text(creator)) @if asset.is_creator_verified { span.good title="Verified by Roblox" { " ✓" } }
                }
            }
            p.dim { (asset_facts(asset).join(" · ")) }
            @if asset.counts.has_scripts {
                p.warn {
                    @match asset.counts.scripts {
                        Some(1) => "1 script",
                        Some(count) => { (count) " scripts" },
                        None => "has scripts",
                    }
                }
            }
            div.buttons {
                @if can_insert {
                    button type="button" data-act="insert-asset" data-asset=(asset.id) aria-label={ "Insert " (name) } { "Insert" }
                }
                code.dim { (asset.id) }
            }
        }
    }
}

/// Parses the numbers of assets, as the page lists them.
pub(super) fn listed_assets(parameters: &Parameters) -> Result<Vec<u64>, Failure> {
    let text = parameters.text("text")?.unwrap_or_default();
    let assets = text.split(',').map(str::parse).collect::<Result<Vec<u64>, _>>();
    assets.map_err(|_| {
        let message = format!("`{text}` is not a list of numbers of assets.");
        failure(FailureKind::BadRequest, message, "Separate the numbers by commas.")
    })
}

/// Renders pictures as data, many in one answer: a request for each would take longer than all of them.
pub(super) fn thumbnail_data(pictures: &[(u64, Arc<[u8]>)]) -> Markup {
    html! {
        @for (asset, picture) in pictures {
            data value=(asset) data-type=[picture_type(picture)] data-bytes=(STANDARD.encode(picture)) {}
        }
    }
}

fn asset_facts(asset: &AssetSummary) -> Vec<String> {
    let mut facts = Vec::new();
    facts.extend(asset.price.as_ref().map(|price| safe_text(&price.to_string())));
    facts.extend(asset.votes.map(|votes| format!("{} up, {} down", votes.up, votes.down)));
    facts.extend(asset.counts.triangles.map(|it| format!("{} triangles", format::short_count(it))));
    facts.extend(asset.seconds.map(|seconds| format!("{seconds:.0} s")));
    facts
}
