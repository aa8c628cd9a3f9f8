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

mod conversation;
mod deploy;
mod format;
mod history;
mod item;
mod log;
mod merges;
mod review;
mod script;
mod settings;
mod shell;
mod stream;
mod usage;

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Response};
use maud::Markup;
use scene_schemas::api::{Failure, FailureKind, SessionId};
use scene_schemas::entry::Seq;

pub(super) use self::shell::{asset_response, shell_response};
pub(super) use self::stream::page_stream;

use self::log::ConversationLog;
use super::daemon_handle::{AccessRequest, DaemonHandle, DaemonRequest};
use super::deploy as deploys;
use super::deploy::DeployRequest;
use super::failure::failure;
use super::history_api::{DAYS, HistoryQuery, HistoryRequest, Parameters, ScriptQuery};
use super::merges::MergeRequest;

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
fn page_target(behind: &impl Parameters) -> Result<Seq, Failure> {
    let of = behind.text_parameter("of")?.unwrap_or_default();
    of.parse().map(Seq).map_err(|_| {
        let message = format!("`{of}` is not the number of a task, a proposal or an entry.");
        failure(
            FailureKind::BadRequest,
            message,
            "Look at the end of the address, or choose above.",
        )
    })
}

/// A part of the page.
pub(super) async fn render_part(
    desk: &DaemonHandle,
    name: &str,
    behind: &impl Parameters,
) -> Result<Response<Body>, Failure> {
    let part = match name {
        "rail" => {
            let sessions = desk.request(DaemonRequest::Sessions).await?;
            let workflows = desk.request(DaemonRequest::Workflows).await?;
            // A state that cannot be read is told where it is asked for.
            let open = desk.request(|reply| DaemonRequest::Merge(MergeRequest::List(reply))).await;
            let open = open.as_ref().map(merges::merges_hint).unwrap_or_default();
            maud::html! { (open) (conversation::session_rail(&sessions, &workflows)) }
        }
        "talk" => {
            let of = page_target(behind)?;
            conversation::conversation_view(
                &desk.request(|reply| DaemonRequest::Talk(of, reply)).await?,
            )
        }
        "earlier" => {
            let (of, before) =
                (page_target(behind)?, behind.number_parameter("before")?.unwrap_or_default());
            ConversationLog::from_talk(&desk.request(|reply| DaemonRequest::Talk(of, reply)).await?)
                .render_before(Some(before as usize))
        }
        "head" => {
            let of = page_target(behind)?;
            conversation::conversation_head(
                &desk.request(|reply| DaemonRequest::TalkHead(of, reply)).await?,
            )
        }
        "composer" => {
            let settings = desk.request(DaemonRequest::Settings).await?;
            conversation::composer_form(&desk.request(DaemonRequest::Sessions).await?, &settings)
        }
        "settings" => {
            let settings = desk.request(DaemonRequest::Settings).await?;
            let access =
                desk.request(|reply| DaemonRequest::Access(AccessRequest::Access(reply))).await?;
            let about =
                desk.request(|reply| DaemonRequest::Access(AccessRequest::About(reply))).await?;
            let keys = desk.request(DaemonRequest::Keys).await?;
            settings::settings_view(&settings, &keys, &access, &about)
        }
        "mentions" => {
            let session = SessionId(behind.text_parameter("session")?.unwrap_or_default());
            let typed = behind.text_parameter("typed")?.unwrap_or_default();
            let wanted = typed.clone();
            let found = desk.request(|reply| DaemonRequest::Find(session, wanted, reply)).await?;
            conversation::mention_list(&found, &typed)
        }
        "waiting" => maud::html! { (desk.request(DaemonRequest::PendingProposals).await?.len()) },
        "proposals" => review::proposals_page(desk).await?,
        "proposal" => review::proposal_page(desk, behind).await?,
        "card" => review::card_page(desk, behind).await?,
        _ => render_history_part(desk, name, behind).await?,
    };
    Ok(html_response(part))
}

/// A part for who looks back, or deploys what was done.
async fn render_history_part(
    desk: &DaemonHandle,
    name: &str,
    behind: &impl Parameters,
) -> Result<Markup, Failure> {
    Ok(match name {
        "history" => {
            let wanted = HistoryQuery::from_parameters(behind)?;
            let past = desk
                .request(|reply| {
                    DaemonRequest::History(HistoryRequest::History(wanted.clone(), reply))
                })
                .await?;
            history::history_view(&wanted, &past, &desk.request(DaemonRequest::Checkpoints).await?)
        }
        "older" => {
            let wanted = HistoryQuery::from_parameters(behind)?;
            history::history_rows(
                &desk
                    .request(|reply| DaemonRequest::History(HistoryRequest::History(wanted, reply)))
                    .await?,
            )
        }
        "entry" => {
            let of = page_target(behind)?;
            let found = desk
                .request(|reply| DaemonRequest::History(HistoryRequest::Entry(of, reply)))
                .await?;
            let about = match found.line.proposal {
                Some(seq) => Some(desk.request(|reply| DaemonRequest::Proposal(seq, reply)).await?),
                None => None,
            };
            history::entry_view(&found, about.as_ref())
        }
        "usage" => {
            let days = behind.number_parameter("days")?.unwrap_or(DAYS);
            let figures = desk
                .request(|reply| DaemonRequest::History(HistoryRequest::Figures(days, reply)))
                .await?;
            usage::usage_view(days, &figures)
        }
        "script" => {
            let wanted = ScriptQuery::from_parameters(behind)?;
            let past = desk
                .request(|reply| {
                    DaemonRequest::History(HistoryRequest::Script(wanted.clone(), reply))
                })
                .await?;
            script::script_view(&wanted, &past)
        }
        "deploy" => {
            let wanted = deploys::parse_deploy(behind)?;
            let asked = wanted.clone();
            let plan = desk
                .request(|reply| DaemonRequest::Deploy(DeployRequest::Plan(asked, reply)))
                .await?;
            deploy::plan_view(&wanted, &plan)
        }
        "merges" => merges::merges_view(
            &desk.request(|reply| DaemonRequest::Merge(MergeRequest::List(reply))).await?,
        ),
        "deploying" => {
            let hold = behind.number_parameter("hold")?.unwrap_or_default();
            deploy::state_view(&deploys::wait_for_state(desk, page_target(behind)?.0, hold).await?)
        }
        _ => {
            let message = format!("The page has no part called {name}.");
            return Err(failure(FailureKind::NotFound, message, "Reload the page."));
        }
    })
}

fn html_response(part: Markup) -> Response<Body> {
    browser_response(HTML, Body::from(part.into_string()))
}

/// An answer for a browser, with what it may do with it.
fn browser_response(media: HeaderValue, body: Body) -> Response<Body> {
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
