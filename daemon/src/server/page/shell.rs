//! The shell: the page before any data is loaded. It is the same for everyone and contains no data.

use axum::body::Body;
use axum::http::{HeaderValue, Response};
use maud::{DOCTYPE, Markup, html};
use scene_schemas::api::{Failure, FailureKind};

use super::{browser_response, html_response as answered};
use crate::failure::failure;

/// The files of the page: name, media type, content.
const FILES: &[(&str, &str, &str)] = &[
    ("page.css", CSS, include_str!("assets/page.css")),
    ("review.css", CSS, include_str!("assets/review.css")),
    ("page.js", JS, include_str!("assets/page.js")),
    ("daemon.js", JS, include_str!("assets/daemon.js")),
    ("ui.js", JS, include_str!("assets/ui.js")),
    ("now.js", JS, include_str!("assets/now.js")),
    ("drafts.js", JS, include_str!("assets/drafts.js")),
    ("findings.js", JS, include_str!("assets/findings.js")),
    ("steps.js", JS, include_str!("assets/steps.js")),
    ("attached.js", JS, include_str!("assets/attached.js")),
    ("mentions.js", JS, include_str!("assets/mentions.js")),
    ("estimate.js", JS, include_str!("assets/estimate.js")),
    ("commit.js", JS, include_str!("assets/commit.js")),
    ("deploy.js", JS, include_str!("assets/deploy.js")),
    ("verify.js", JS, include_str!("assets/verify.js")),
    ("merges.js", JS, include_str!("assets/merges.js")),
    ("store.js", JS, include_str!("assets/store.js")),
    ("history.js", JS, include_str!("assets/history.js")),
    ("settings.js", JS, include_str!("assets/settings.js")),
    ("usage.js", JS, include_str!("assets/usage.js")),
    ("cards.js", JS, include_str!("assets/cards.js")),
    ("comments.js", JS, include_str!("assets/comments.js")),
    ("decide.js", JS, include_str!("assets/decide.js")),
    ("edit.js", JS, include_str!("assets/edit.js")),
    ("editor.js", JS, include_str!("assets/editor.js")),
    ("inbox.js", JS, include_str!("assets/inbox.js")),
    ("left.js", JS, include_str!("assets/left.js")),
    ("review.js", JS, include_str!("assets/review.js")),
    ("viewed.js", JS, include_str!("assets/viewed.js")),
    ("pictures.js", JS, include_str!("assets/pictures.js")),
    ("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
];
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

/// The pages: the name in the address, and the title.
const PAGES: [(&str, &str); 6] = [
    ("now", "Chat"),
    ("proposals", "Proposals"),
    ("store", "Assets"),
    ("history", "History"),
    ("usage", "Usage"),
    ("settings", "Settings"),
];

/// Returns a file of the page.
///
/// # Errors
/// There is no file of that name.
pub(super) fn asset_response(name: &str) -> Result<Response<Body>, Failure> {
    let found = FILES.iter().find(|(known, ..)| *known == name).ok_or_else(|| {
        let message = format!("The page has no file named {name}.");
        failure(FailureKind::NotFound, message, "Reload the page.")
    })?;
    Ok(browser_response(HeaderValue::from_static(found.1), Body::from(found.2)))
}

/// Returns the page before any data is loaded.
pub(in super::super) async fn shell_response() -> Response<Body> {
    answered(page_document())
}

fn page_document() -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "Vector" }
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="/assets/icon.svg" type="image/svg+xml";
                @for (name, media, _) in FILES {
                    @if *media == CSS { link rel="stylesheet" href={ "/assets/" (name) }; }
                }
                script type="module" src="/assets/page.js" {}
            }
            body {
                a.skip href="#main" data-act="skip" { "Skip to the content" }
                header.bar {
                    a.brand href="#/now" { img src="/assets/icon.svg" alt="" width="20" height="20"; span { "Vector" } }
                    nav.tabs aria-label="Pages" {
                        @for (name, title) in PAGES {
                            a href={ "#/" (name) } data-page=(name) {
                                (title)
                                @if name == "proposals" { span.badge #waiting hidden { "0" } }
                            }
                        }
                    }
                    p.link #link role="status" data-state="connecting" { "Connecting" }
                }
                main #main tabindex="-1" { (loading_view()) }
                div.toasts #toasts role="status" aria-live="polite" {}
                dialog #dialog aria-labelledby="dialog-title" {}
                noscript { p.empty { "The review page needs JavaScript, which comes from Vector itself." } }
            }
        }
    }
}

fn loading_view() -> Markup {
    html! { div.loading role="status" { span.spinner aria-hidden="true" {} "Loading" } }
}
