//! The page: what a person sees in a browser, made here as HTML from what the desk tells.
//!
//! The shell and its scripts are for everybody on this machine and say nothing. Everything else is asked
//! for by the shell's script, with the person's token in a header, and put into the page as it comes: the
//! script knows no places and no proposals. What happens comes as a stream of the same parts. Nothing is
//! decided here; the page calls the same routes as the terminal.
//!
//! - `shell`: what stands before anything is asked, and the files of the page;
//! - `now`: sessions, tasks, and one conversation;
//! - `log`: what was said and done in it, and `item`: what an event is there;
//! - `stream`: what happens, as parts of the page;
//! - `words`: names and times as a person reads them.

mod item;
mod log;
mod now;
mod shell;
mod stream;
mod words;

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Response};
use maud::Markup;
use scene_schemas::api::{Failure, FailureKind};

pub(super) use self::shell::{asset, shell};
pub(super) use self::stream::stream;

use super::desk::{Ask, Desk};
use super::failure::failed;

/// What the page may load and do: what is served here, and nothing from anywhere else. Pictures are asked
/// for with the token, and shown as blobs. HTML gets into the page at one place of its script alone.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
     trusted-types vector",
);
const NO_SNIFFING: HeaderValue = HeaderValue::from_static("nosniff");
const NO_REFERRER: HeaderValue = HeaderValue::from_static("no-referrer");
const OPENER: (HeaderName, HeaderValue) = (
    HeaderName::from_static("cross-origin-opener-policy"),
    HeaderValue::from_static("same-origin"),
);
const RESOURCE: (HeaderName, HeaderValue) = (
    HeaderName::from_static("cross-origin-resource-policy"),
    HeaderValue::from_static("same-origin"),
);
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// What a part of the page is asked for by, behind its path.
pub(super) trait Behind {
    /// A text; none where it is not there or empty.
    fn text(&self, name: &str) -> Result<Option<String>, Failure>;

    /// The number that something is called by.
    fn of(&self) -> Result<scene_schemas::entry::Seq, Failure> {
        let of = self.text("of")?.unwrap_or_default();
        of.parse().map(scene_schemas::entry::Seq).map_err(|_| {
            let message = format!("`of={of}` names nothing.");
            failed(FailureKind::BadRequest, message, "Give the number of a task or a proposal.")
        })
    }
}

/// A part of the page.
pub(super) async fn part(
    desk: &Desk,
    name: &str,
    behind: &impl Behind,
) -> Result<Response<Body>, Failure> {
    let part = match name {
        "rail" => {
            let sessions = desk.ask(Ask::Sessions).await?;
            let workflows = desk.ask(Ask::Workflows).await?;
            now::rail(&sessions, &workflows)
        }
        "talk" => {
            let of = behind.of()?;
            now::talk(&desk.ask(|reply| Ask::Talk(of, reply)).await?)
        }
        "before" => {
            let (of, position) = (behind.of()?, behind.text("before")?);
            let position = position.and_then(|it| it.parse().ok()).unwrap_or(0);
            log::before(&desk.ask(|reply| Ask::Talk(of, reply)).await?, position)
        }
        "head" => {
            let of = behind.of()?;
            now::head(&desk.ask(|reply| Ask::Talk(of, reply)).await?)
        }
        "composer" => {
            let settings = desk.ask(Ask::Settings).await?;
            now::composer(&desk.ask(Ask::Sessions).await?, &settings)
        }
        _ => {
            let message = format!("The page has no part called {name}.");
            return Err(failed(FailureKind::NotFound, message, "Reload the page."));
        }
    };
    Ok(html(part))
}

fn html(part: Markup) -> Response<Body> {
    served(HTML, Body::from(part.into_string()))
}

/// An answer for a browser, with what it may do with it.
fn served(media: HeaderValue, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, media);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(X_CONTENT_TYPE_OPTIONS, NO_SNIFFING);
    headers.insert(REFERRER_POLICY, NO_REFERRER);
    for (name, value) in [OPENER, RESOURCE] {
        headers.insert(name, value);
    }
    response
}
