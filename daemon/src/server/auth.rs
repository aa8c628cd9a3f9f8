//! Authentication and authorization: the checks that a request passes before its handler runs.
//!
//! The API is for this machine only. A page in a browser can reach it too, so `Host` and `Origin`
//! must name this server (a foreign name that resolves to this machine is refused), and a body must
//! be declared as JSON, which a plain form cannot do. Source: the rules of Rojo's server against
//! DNS rebinding.

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, Uri};
use scene_schemas::api::{Failure, FailureKind, RouteId, SessionId, Token};

use crate::event_hub::EventHub;
use crate::failure::failure;

/// The header in which a browser states the relation of the requesting page to this server.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The header in which a browser states the use of the response.
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Caller {
    Anyone,
    Plugin(SessionId),
    /// The user, at a terminal or on the page.
    Human,
    Agent,
}

/// Checks that a request target with an authority, as sent to a proxy, names this server. The
/// authority takes precedence over `Host`.
///
/// # Errors
/// The target names another server.
pub(super) fn check_target(target: &Uri, port: u16) -> Result<(), Failure> {
    match target.authority() {
        Some(named) if !is_own_host(named.as_str(), port) => Err(forbidden_host(port)),
        _ => Ok(()),
    }
}

/// Checks that a request comes from this machine, and that its caller may use the route.
///
/// # Errors
/// A check fails.
pub(super) fn check_caller(
    id: RouteId,
    headers: &HeaderMap,
    port: u16,
    event_hub: &EventHub,
) -> Result<Caller, Failure> {
    let route = id.route();
    check_origin(id, headers, port)?;
    let caller = identify_caller(headers, event_hub)?;
    check_host(id, headers, port, &caller)?;
    if route.has_body() && !is_json(headers) {
        return Err(failure(
            FailureKind::UnsupportedMediaType,
            "The body is not declared as application/json.",
            "Send the header `Content-Type: application/json`.",
        ));
    }
    match (route.token, &caller) {
        (Token::None, _)
        | (Token::Plugin, Caller::Plugin(_))
        | (Token::Human, Caller::Plugin(_) | Caller::Human)
        | (Token::Client, Caller::Plugin(_) | Caller::Human | Caller::Agent) => Ok(caller),
        (_, Caller::Anyone) => Err(unauthorized_failure("A token is required.")),
        (Token::Human, Caller::Agent) => Err(failure(
            FailureKind::Unauthorized,
            "Only a person may do that, and this is an agent's token.",
            "A person decides in Studio's widget, on the page that `vector open` shows, or with `vector review`.",
        )),
        (Token::Plugin, Caller::Human | Caller::Agent) => {
            Err(unauthorized_failure("Only plugins may do that."))
        }
    }
}

fn unauthorized_failure(message: &str) -> Failure {
    failure(
        FailureKind::Unauthorized,
        message,
        "`vector open` opens the page, and `vector pair` shows a code for a plugin; a client sends a token of \
         `vector sessions token NAME` as `Authorization: Bearer …`.",
    )
}

fn single_header<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'h str>, Failure> {
    let mut all = headers.get_all(name).iter();
    let bad = || {
        failure(
            FailureKind::BadRequest,
            format!("The header `{name}` is ambiguous or malformed."),
            "Send it once.",
        )
    };
    let first = match all.next() {
        None => return Ok(None),
        Some(value) => value.to_str().map_err(|_| bad())?,
    };
    if all.next().is_some() { Err(bad()) } else { Ok(Some(first)) }
}

/// Whether this is a name of this machine with the server's port.
fn is_own_host(host: &str, port: u16) -> bool {
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| {
        host.strip_prefix(name)
            .and_then(|rest| rest.strip_prefix(':'))
            .is_some_and(|it| it == port.to_string())
    })
}

fn check_host(id: RouteId, headers: &HeaderMap, port: u16, caller: &Caller) -> Result<(), Failure> {
    let is_first = matches!(id, RouteId::Hello | RouteId::Pair);
    match single_header(headers, &HOST)? {
        Some(host) if is_own_host(host, port) => Ok(()),
        // A plugin may send no `Host` for a numeric address.
        None if is_first || *caller != Caller::Anyone => Ok(()),
        _ => Err(forbidden_host(port)),
    }
}

fn forbidden_host(port: u16) -> Failure {
    failure(
        FailureKind::Forbidden,
        "The request is not addressed to this machine.",
        format!("Call http://127.0.0.1:{port}."),
    )
}

/// Checks that a request does not come from another page. The page's own pictures, scripts and
/// links are requested without an `Origin`, but the browser states in `Sec-Fetch-Site` whether the
/// requesting page is another one. A link from anywhere may open the page: its shell reveals
/// nothing, and cannot be shown in a frame.
fn check_origin(id: RouteId, headers: &HeaderMap, port: u16) -> Result<(), Failure> {
    let is_own =
        |origin: &str| origin.strip_prefix("http://").is_some_and(|it| is_own_host(it, port));
    let is_page = single_header(headers, &ORIGIN)?.is_none_or(is_own);
    let is_site =
        single_header(headers, &FETCH_SITE)?.is_none_or(|it| matches!(it, "same-origin" | "none"));
    let is_link = id == RouteId::Page && single_header(headers, &FETCH_DEST)? == Some("document");
    if is_page && (is_site || is_link) {
        return Ok(());
    }
    Err(failure(
        FailureKind::Forbidden,
        "The request comes from a different origin.",
        "Only Vector's own page may call it.",
    ))
}

fn is_json(headers: &HeaderMap) -> bool {
    let Ok(Some(kind)) = single_header(headers, &CONTENT_TYPE) else {
        return false;
    };
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

/// Returns the token of a request.
///
/// # Errors
/// There is more than one.
pub(super) fn token_header(headers: &HeaderMap) -> Result<Option<&str>, Failure> {
    let text = single_header(headers, &AUTHORIZATION)?;
    Ok(text.map(|text| text.strip_prefix("Bearer ").map(str::trim).unwrap_or_default()))
}

fn identify_caller(headers: &HeaderMap, event_hub: &EventHub) -> Result<Caller, Failure> {
    let Some(token) = token_header(headers)? else {
        return Ok(Caller::Anyone);
    };
    if event_hub.is_human(token) {
        return Ok(Caller::Human);
    }
    if event_hub.is_agent(token) {
        return Ok(Caller::Agent);
    }
    match event_hub.session_of(token) {
        Some(session) => Ok(Caller::Plugin(session)),
        None => Err(unknown_token()),
    }
}

/// The failure for a token that never existed or was revoked.
pub(super) fn unknown_token() -> Failure {
    unauthorized_failure("The token is not valid: it was revoked, or Vector was restarted.")
}
