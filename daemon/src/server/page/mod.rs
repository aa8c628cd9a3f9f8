//! The page: what a person sees in a browser, made here as HTML from what the desk tells.
//!
//! The shell and its scripts are for everybody on this machine and say nothing. Everything else is asked
//! for by the shell's script, with the person's token in a header, and put into the page as it comes: the
//! script knows no places and no proposals. What happens comes as a stream of the same parts. Nothing is
//! decided here; the page calls the same routes as the terminal.
//!
//! - `settings`: what was chosen, and who is let in;
//! - `shell`: what stands before anything is asked, and the files of the page;
//! - `deploy`: what would be committed of a project, and how far that is;
//! - `history`: what has happened, by what is looked for;
//! - `merges`: conflicts of merges, with a choice for each;
//! - `now`: sessions, tasks, and one conversation;
//! - `log`: what was said and done in it, and `item`: what an event is there;
//! - `review`: proposals, and what is decided upon them;
//! - `script`: what a script said at a moment;
//! - `stream`: what happens, as parts of the page;
//! - `usage`: what models took, and how they and the tools did;
//! - `words`: names and times as a person reads them.

mod deploy;
mod history;
mod item;
mod log;
mod merges;
mod now;
mod review;
mod script;
mod settings;
mod shell;
mod stream;
mod usage;
mod words;

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Response};
use maud::Markup;
use scene_schemas::api::{Failure, FailureKind, SessionId};
use scene_schemas::entry::Seq;

pub(super) use self::shell::{asset, shell};
pub(super) use self::stream::stream;

use self::log::Log;
use super::deploy as deploys;
use super::deploy::Deploying;
use super::desk::{Ask, Desk, Door};
use super::failure::failed;
use super::merges::Merging;
use super::past::{Behind, DAYS, Past, ScriptWanted, Wanted};

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

/// The number that a part of the page is about. It stands at the end of the page's address, which anybody may write.
fn of(behind: &impl Behind) -> Result<Seq, Failure> {
    let of = behind.text("of")?.unwrap_or_default();
    of.parse().map(Seq).map_err(|_| {
        let message = format!("`{of}` is not the number of a task, a proposal or an entry.");
        failed(FailureKind::BadRequest, message, "Look at the end of the address, or choose above.")
    })
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
            // A state that cannot be read is told where it is asked for.
            let open = desk.ask(|reply| Ask::Merge(Merging::List(reply))).await;
            let open = open.as_ref().map(merges::brief).unwrap_or_default();
            maud::html! { (open) (now::rail(&sessions, &workflows)) }
        }
        "talk" => {
            let of = of(behind)?;
            now::talk(&desk.ask(|reply| Ask::Talk(of, reply)).await?)
        }
        "earlier" => {
            let (of, before) = (of(behind)?, behind.number("before")?.unwrap_or_default());
            Log::of(&desk.ask(|reply| Ask::Talk(of, reply)).await?).before(Some(before as usize))
        }
        "head" => {
            let of = of(behind)?;
            now::head(&desk.ask(|reply| Ask::TalkHead(of, reply)).await?)
        }
        "composer" => {
            let settings = desk.ask(Ask::Settings).await?;
            now::composer(&desk.ask(Ask::Sessions).await?, &settings)
        }
        "settings" => {
            let settings = desk.ask(Ask::Settings).await?;
            let access = desk.ask(|reply| Ask::Door(Door::Access(reply))).await?;
            let about = desk.ask(|reply| Ask::Door(Door::About(reply))).await?;
            let keys = desk.ask(Ask::Keys).await?;
            settings::settings(&settings, &keys, (&access, &about))
        }
        "mentions" => {
            let session = SessionId(behind.text("session")?.unwrap_or_default());
            let typed = behind.text("typed")?.unwrap_or_default();
            let wanted = typed.clone();
            let found = desk.ask(|reply| Ask::Find(session, wanted, reply)).await?;
            now::mentions(&found, &typed)
        }
        "waiting" => maud::html! { (desk.ask(Ask::Waiting).await?.len()) },
        "proposals" => review::proposals(desk).await?,
        "proposal" => review::proposal(desk, behind).await?,
        "card" => review::card(desk, behind).await?,
        _ => looking_back(desk, name, behind).await?,
    };
    Ok(html(part))
}

/// A part for who looks back, or deploys what was done.
async fn looking_back(desk: &Desk, name: &str, behind: &impl Behind) -> Result<Markup, Failure> {
    Ok(match name {
        "history" => {
            let wanted = Wanted::of(behind)?;
            let past = desk.ask(|reply| Ask::Past(Past::History(wanted.clone(), reply))).await?;
            history::history(&wanted, &past, &desk.ask(Ask::Checkpoints).await?)
        }
        "older" => {
            let wanted = Wanted::of(behind)?;
            history::rows(&desk.ask(|reply| Ask::Past(Past::History(wanted, reply))).await?)
        }
        "entry" => {
            let of = of(behind)?;
            let found = desk.ask(|reply| Ask::Past(Past::Entry(of, reply))).await?;
            let about = match found.line.proposal {
                Some(seq) => Some(desk.ask(|reply| Ask::Proposal(seq, reply)).await?),
                None => None,
            };
            history::entry(&found, about.as_ref())
        }
        "usage" => {
            let days = behind.number("days")?.unwrap_or(DAYS);
            let figures = desk.ask(|reply| Ask::Past(Past::Figures(days, reply))).await?;
            usage::usage(days, &figures)
        }
        "script" => {
            let wanted = ScriptWanted::of(behind)?;
            let past = desk.ask(|reply| Ask::Past(Past::Script(wanted.clone(), reply))).await?;
            script::script(&wanted, &past)
        }
        "deploy" => {
            let wanted = deploys::wanted(behind)?;
            let asked = wanted.clone();
            let plan = desk.ask(|reply| Ask::Deploy(Deploying::Plan(asked, reply))).await?;
            deploy::plan(&wanted, &plan)
        }
        "merges" => merges::merges(&desk.ask(|reply| Ask::Merge(Merging::List(reply))).await?),
        "deploying" => {
            let hold = behind.number("hold")?.unwrap_or_default();
            deploy::state(&deploys::state(desk, of(behind)?.0, hold).await?)
        }
        _ => {
            let message = format!("The page has no part called {name}.");
            return Err(failed(FailureKind::NotFound, message, "Reload the page."));
        }
    })
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
