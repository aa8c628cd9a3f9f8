//! The page: the review page in the user's browser, rendered here as HTML from the daemon's data.
//!
//! The shell and its scripts are served to everyone on this machine and contain no data. The
//! shell's script requests everything else with the user's token in a header, and inserts the
//! returned HTML into the page. It has no knowledge of places or proposals. Changes arrive as a
//! stream of the same parts. Nothing is decided here; the page calls the same routes as the
//! terminal.

mod commit;
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
mod store;
mod stream;
mod usage;
mod verify;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Response};
use maud::Markup;
use scene_schemas::api::{
    CommitRequest, DeployQuery, Failure, FailureKind, SessionId, VerifyQuery,
};
use scene_schemas::entry::Seq;

pub(super) use self::shell::shell_response;
pub(super) use self::stream::page_stream;

use self::log::ConversationLog;
use self::store::StoreQuery;
use super::commit as commits;
use super::extract::{FromParameters, Parameters, PathText};
use super::history_query::DEFAULT_DAYS;
use super::response::ApiError;
use crate::daemon::{DaemonHandle, PendingCount};
use crate::failure::failure;
use crate::history::{HistoryQuery, ScriptQuery};

/// What the page may load and do: only what is served here. Pictures are requested with the token
/// and shown as blobs. HTML is inserted into the page at a single point of its script.
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

/// Parses the number that a part of the page refers to. It comes from the end of the page's
/// address, so it can be anything.
fn page_target(parameters: &Parameters) -> Result<Seq, Failure> {
    let of = parameters.text("of")?.unwrap_or_default();
    of.parse().map(Seq).map_err(|_| {
        let message = format!("`{of}` is not the number of a task, a proposal or an entry.");
        failure(FailureKind::BadRequest, message, "Check the end of the address, or choose above.")
    })
}

/// Returns a file of the page.
pub(super) async fn asset(PathText(name): PathText) -> Result<Response<Body>, ApiError> {
    Ok(shell::asset_response(&name)?)
}

/// Returns a part of the page.
pub(super) async fn part(
    State(daemon): State<DaemonHandle>,
    PathText(name): PathText,
    parameters: Parameters,
) -> Result<Response<Body>, ApiError> {
    // A part's future is large, and would otherwise be stored in the future of the request.
    Ok(Box::pin(render_part(&daemon, &name, &parameters)).await?)
}

async fn render_part(
    daemon: &DaemonHandle,
    name: &str,
    parameters: &Parameters,
) -> Result<Response<Body>, Failure> {
    let part = match name {
        "rail" => {
            let sessions = daemon.list_sessions().await?;
            let workflows = daemon.list_workflows().await?;
            // A failure is reported where the merges themselves are shown.
            let open = daemon.list_merges().await;
            let open = open.as_ref().map(merges::merges_hint).unwrap_or_default();
            maud::html! { (open) (conversation::session_rail(&sessions, &workflows)) }
        }
        "talk" => {
            let of = page_target(parameters)?;
            conversation::conversation_view(&daemon.conversation(of).await?)
        }
        "earlier" => {
            let (of, before) =
                (page_target(parameters)?, parameters.number("before")?.unwrap_or_default());
            ConversationLog::from_talk(&daemon.conversation(of).await?)
                .render_before(Some(before as usize))
        }
        "head" => {
            let of = page_target(parameters)?;
            conversation::conversation_head(&daemon.conversation_header(of).await?)
        }
        "composer" => {
            let settings = daemon.settings().await?;
            conversation::composer_form(&daemon.list_sessions().await?, &settings)
        }
        "settings" => {
            let settings = daemon.settings().await?;
            let access = daemon.access().await?;
            let about = daemon.about().await?;
            let keys = daemon.provider_keys().await?;
            settings::settings_view(&settings, &keys, &access, &about)
        }
        "mentions" => {
            let session = SessionId(parameters.text("session")?.unwrap_or_default());
            let typed = parameters.text("typed")?.unwrap_or_default();
            conversation::mention_list(&daemon.offer_mentions(&session, typed).await?)
        }
        "waiting" => {
            let PendingCount { count, newest } = daemon.count_pending().await?;
            maud::html! { (count) " " (newest) }
        }
        "proposals" => review::proposals_page(daemon).await?,
        "proposal" => review::proposal_page(daemon, parameters).await?,
        "rows" => review::member_rows_page(daemon, parameters).await?,
        "card" => review::card_page(daemon, parameters).await?,
        _ => render_history_part(daemon, name, parameters).await?,
    };
    Ok(html_response(part))
}

/// Renders a part of the history, usage, commits or merges.
async fn render_history_part(
    daemon: &DaemonHandle,
    name: &str,
    parameters: &Parameters,
) -> Result<Markup, Failure> {
    Ok(match name {
        "history" => {
            let wanted = HistoryQuery::from_parameters(parameters)?;
            let past = daemon.read_history(wanted.clone()).await?;
            history::history_view(&wanted, &past, &daemon.list_checkpoints().await?)
        }
        "older" => {
            let wanted = HistoryQuery::from_parameters(parameters)?;
            history::history_rows(&daemon.read_history(wanted).await?)
        }
        "entry" => {
            let of = page_target(parameters)?;
            let found = daemon.read_entry(of).await?;
            let about = match found.line.proposal {
                Some(seq) => Some(daemon.proposal(seq).await?),
                None => None,
            };
            history::entry_view(&found, about.as_ref())
        }
        "usage" => {
            let days = parameters.number("days")?.unwrap_or(DEFAULT_DAYS);
            let figures = daemon.read_figures(days).await?;
            usage::usage_view(days, &figures)
        }
        "script" => {
            let wanted = ScriptQuery::from_parameters(parameters)?;
            let past = daemon.script_at(wanted.clone()).await?;
            script::script_view(&wanted, &past)
        }
        "commit" => {
            let wanted = CommitRequest::from_parameters(parameters)?;
            let requested = wanted.clone();
            let plan = daemon.plan_commit(requested).await?;
            commit::plan_view(&wanted, &plan)
        }
        "deploy" => {
            let wanted = DeployQuery::from_parameters(parameters)?;
            let plan = daemon.plan_deploy(wanted.clone()).await?;
            deploy::plan_view(&wanted, &plan)
        }
        "verify" => {
            let detail = verify::parse_detail(parameters.text("detail")?.as_deref());
            verify::verify_part(daemon, page_target(parameters)?, detail).await?
        }
        "verify-plan" => {
            let wanted = VerifyQuery::from_parameters(parameters)?;
            let plan = daemon.plan_verify(wanted.clone()).await?;
            verify::plan_dialog(&wanted, &plan)
        }
        "store" | "store-rows" => {
            let wanted = StoreQuery::from_parameters(parameters)?;
            let sessions = daemon.list_sessions().await?;
            let found = match wanted.search() {
                Some(search) => Some(daemon.search_store(&search).await?),
                None => None,
            };
            match &found {
                Some(page) if name == "store-rows" => store::store_rows(&wanted, page, &sessions),
                found => store::store_view(&wanted, found.as_ref(), &sessions),
            }
        }
        "parents" => {
            let session = SessionId(parameters.text("session")?.unwrap_or_default());
            let typed = parameters.text("typed")?.unwrap_or_default();
            store::parent_options(&daemon.offer_mentions(&session, typed).await?)
        }
        "thumbnails" => {
            let assets = store::listed_assets(parameters)?;
            store::thumbnail_data(&daemon.known_thumbnails(&assets))
        }
        "merges" => merges::merges_view(&daemon.list_merges().await?),
        "committing" => {
            let hold = parameters.number("hold")?.unwrap_or_default();
            commit::state_view(
                &commits::wait_for_state(daemon, page_target(parameters)?.0, hold).await?,
            )
        }
        _ => {
            let message = format!("The page has no part named {name}.");
            return Err(failure(FailureKind::NotFound, message, "Reload the page."));
        }
    })
}

fn html_response(part: Markup) -> Response<Body> {
    browser_response(HTML, Body::from(part.into_string()))
}

/// Creates a response for a browser, with its security headers.
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
