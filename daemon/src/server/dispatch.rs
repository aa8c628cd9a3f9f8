//! From a request to who answers it, by the table of the routes.

use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::Response;
use scene_schemas::api::{
    ApplyAck, Failure, FailureKind, Health, MAX_BODY, Nothing, Poll, SceneUpdate, SessionId,
};
use scene_schemas::entry::Seq;
use serde::de::DeserializeOwned;

use super::board::Board;
use super::desk::{Ask, Desk, Verb};
use super::failure::{answer, failed};
use super::guard::{self, Caller};
use super::hold;

/// What every answer needs.
#[derive(Debug)]
pub(super) struct House {
    pub(super) port: u16,
    pub(super) board: Arc<Board>,
    pub(super) desk: Desk,
}

/// A request that has passed every check.
struct Asked<'r> {
    path: &'static str,
    id: Option<&'r str>,
    query: &'r str,
    caller: Caller,
    body: Bytes,
}

impl Asked<'_> {
    fn body<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.body).map_err(|error| {
            failed(
                FailureKind::BadRequest,
                format!("The body is not what {} takes: {error}.", self.path),
                "Its form is in openapi.json.",
            )
        })
    }

    fn seq(&self) -> Result<Seq, Failure> {
        let id = self.id.unwrap_or_default();
        id.parse().map(Seq).map_err(|_| {
            failed(
                FailureKind::BadRequest,
                format!("`{id}` is no number."),
                "Proposals, workflows and checkpoints are called by their numbers.",
            )
        })
    }

    /// The session of the path, which has to be that of the token.
    fn session(&self) -> Result<SessionId, Failure> {
        let session = SessionId(self.id.unwrap_or_default().to_owned());
        self.is_own(&session).map(|()| session)
    }

    fn is_own(&self, session: &SessionId) -> Result<(), Failure> {
        match &self.caller {
            Caller::Plugin(own) if own != session => Err(failed(
                FailureKind::Stale,
                format!("The token is of session {own}, not of {session}."),
                "Say hello again.",
            )),
            _ => Ok(()),
        }
    }

    fn number(&self, name: &str) -> Result<Option<u64>, Failure> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        let Some((_, value)) = pairs.into_iter().find(|(key, _)| *key == name) else {
            return Ok(None);
        };
        value.parse().map(Some).map_err(|_| {
            failed(
                FailureKind::BadRequest,
                format!("`{name}` is no number."),
                "Leave it out, or give a position.",
            )
        })
    }
}

/// Answers a request.
pub(super) async fn handle(State(house): State<Arc<House>>, request: Request) -> Response<Body> {
    match handled(&house, request).await {
        Ok(response) => response,
        Err(failure) => answer::<Nothing>(Err(failure)),
    }
}

async fn handled(house: &House, request: Request) -> Result<Response<Body>, Failure> {
    let (parts, body) = request.into_parts();
    let (path, query) = (parts.uri.path().to_owned(), parts.uri.query().map(str::to_owned));
    let (route, id) = guard::route(parts.method.as_str(), &path)?;
    let caller = guard::check(route, &parts.headers, house.port, &house.board)?;
    let limit = if guard::reads(route.method) { 0 } else { MAX_BODY };
    let body = to_bytes(body, limit).await.map_err(|_| {
        failed(
            FailureKind::TooLarge,
            format!("The body is larger than {limit} bytes, or was cut off."),
            "Send it in pieces.",
        )
    })?;
    // While an answer is held, nothing of the request is: its head stands in the connection's buffer.
    drop(parts);
    let query = query.as_deref().unwrap_or_default();
    let asked = Asked { path: route.path, id, query, caller, body };
    Box::pin(dispatch(house, route.method.as_str(), &asked)).await
}

async fn dispatch(
    house: &House,
    method: &str,
    asked: &Asked<'_>,
) -> Result<Response<Body>, Failure> {
    let (board, desk) = (&house.board, &house.desk);
    /// Asks the desk with these arguments.
    macro_rules! ask {
        ($ask:path) => {
            answer(desk.ask($ask).await)
        };
        ($ask:path, $a:expr) => {{
            let a = $a;
            answer(desk.ask(|reply| $ask(a, reply)).await)
        }};
        ($ask:path, $a:expr, $b:expr) => {{
            let (a, b) = ($a, $b);
            answer(desk.ask(|reply| $ask(a, b, reply)).await)
        }};
    }
    Ok(match (method, asked.path) {
        ("GET", "/health") => answer(Ok(Health { ok: true })),
        ("POST", "/api/pair") => ask!(Ask::Pair, asked.body()?),
        ("POST", "/api/hello") => ask!(Ask::Hello, asked.body()?),
        ("POST", "/api/sessions/{id}/poll") => {
            let (session, poll) = (asked.session()?, asked.body::<Poll>()?);
            answer(hold::poll(board, &session, poll).await)
        }
        ("POST", "/api/sessions/{id}/scene") => {
            let (session, update) = (asked.session()?, asked.body::<Box<SceneUpdate>>()?);
            is_now(board, &session, update.epoch)?;
            ask!(Ask::Scene, session, update)
        }
        ("POST", "/api/proposals/{id}/apply") => {
            let (seq, ack) = (asked.seq()?, asked.body::<Box<ApplyAck>>()?);
            asked.is_own(&ack.session)?;
            is_now(board, &ack.session, ack.epoch)?;
            ask!(Ask::Ack, seq, ack)
        }
        ("POST", "/api/chat") => {
            let chat = asked.body::<scene_schemas::api::Chat>()?;
            is_now(board, &chat.session, chat.epoch)?;
            ask!(Ask::Chat, chat)
        }
        ("POST", "/api/proposals/{id}/decide") => ask!(Ask::Decide, asked.seq()?, asked.body()?),
        ("GET", "/api/stream") => {
            let cursor = Seq(asked.number("cursor")?.unwrap_or(0));
            let hold = asked.number("hold")?.unwrap_or(scene_schemas::api::MAX_HOLD);
            answer(Ok(hold::page(board, cursor, hold).await))
        }
        ("GET", "/api/stream/sse") => {
            let cursor = asked.number("cursor")?.map_or_else(|| board.head(), Seq);
            hold::events(Arc::clone(board), cursor)
        }
        ("GET", "/api/sessions") => ask!(Ask::Sessions),
        ("GET", "/api/proposals") => ask!(Ask::Proposals),
        ("GET", "/api/proposals/{id}") => ask!(Ask::Proposal, asked.seq()?),
        ("GET", "/api/workflows") => ask!(Ask::Workflows),
        ("GET", "/api/workflows/{id}") => ask!(Ask::Workflow, asked.seq()?),
        ("POST", "/api/workflows/{id}/cancel") => verb(desk, asked, Verb::Cancel).await?,
        ("POST", "/api/workflows/{id}/retry") => verb(desk, asked, Verb::Retry).await?,
        ("POST", "/api/workflows/{id}/resume") => verb(desk, asked, Verb::Resume).await?,
        ("POST", "/api/workflows/{id}/clear") => verb(desk, asked, Verb::Clear).await?,
        ("GET", "/api/checkpoints") => ask!(Ask::Checkpoints),
        ("POST", "/api/checkpoints") => ask!(Ask::MakeCheckpoint, asked.body()?),
        ("POST", "/api/checkpoints/{id}/restore") => {
            asked.body::<Nothing>()?;
            ask!(Ask::Restore, asked.seq()?)
        }
        ("GET", "/api/settings") => ask!(Ask::Settings),
        ("PUT", "/api/settings") => ask!(Ask::Choose, asked.body()?),
        ("GET", "/api/usage") => ask!(Ask::Usage),
        // A test calls every route of the table.
        (method, path) => Err(failed(
            FailureKind::Internal,
            format!("{method} {path} is not answered by anybody."),
            "Tell Vector's developers.",
        ))?,
    })
}

async fn verb(desk: &Desk, asked: &Asked<'_>, verb: Verb) -> Result<Response<Body>, Failure> {
    asked.body::<Nothing>()?;
    let seq = asked.seq()?;
    Ok(answer(desk.ask(|reply| Ask::Do(seq, verb, reply)).await))
}

/// Whether a session is still in the epoch that a call was made in.
fn is_now(board: &Board, session: &SessionId, epoch: u64) -> Result<(), Failure> {
    match board.seat(session) {
        Some(seat) if seat.epoch() == epoch => Ok(()),
        _ => Err(hold::stale(session)),
    }
}
