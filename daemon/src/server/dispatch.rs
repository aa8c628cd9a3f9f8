//! From a request to who answers it, by the table of the routes.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Response};
use futures_util::StreamExt;
use percent_encoding::percent_decode_str;
use scene_schemas::api::{
    AgentEnds, AgentPresence, ApplyAck, Chat, Failure, FailureKind, Health, MAX_BODY, MAX_HOLD,
    Nothing, Poll, Route, SceneUpdate, SessionId,
};
use scene_schemas::entry::Seq;
use serde::de::DeserializeOwned;
use tokio::task::yield_now;

use super::board::Board;
use super::clients;
use super::deploy::{self, Deploying};
use super::desk::{Ask, Desk, Door, PictureAsked, PictureOf, Verb};
use super::failure::{answer, failed};
use super::guard::{self, Caller};
use super::hold;
use super::mcp::Http;
use super::merges::Merging;
use super::page;
use super::past::{self, Behind, DAYS, Filter, Past, ScriptWanted, Wanted};
use super::picture;

/// Where MCP is spoken; its bodies are the SDK's to read.
const MCP: &str = "/mcp";

/// What every answer needs.
#[derive(Debug)]
pub(super) struct House {
    pub(super) port: u16,
    pub(super) board: Arc<Board>,
    pub(super) desk: Desk,
    pub(super) mcp: Arc<Http>,
    /// How long the body of a request may be on its way.
    pub(super) patience: Duration,
}

/// A request that has passed every check.
struct Asked<'r> {
    path: &'static str,
    id: &'r str,
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
        let id = self.id;
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
        let session = SessionId(self.id.to_owned());
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

    /// Whether a person at a terminal or the page calls, and no plugin: keys never pass through Studio.
    fn is_at_terminal(&self) -> Result<(), Failure> {
        match self.caller {
            Caller::Human => Ok(()),
            _ => Err(failed(
                FailureKind::Forbidden,
                "Keys are handed over from a terminal alone.",
                "Run `vector open` in a terminal that has the key.",
            )),
        }
    }

    /// A parameter behind the path, as it was sent.
    fn sent(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// How a picture is to be.
    fn picture(&self) -> Result<PictureAsked, Failure> {
        picture::asked(self.text("view")?, self.number("size")?)
    }
}

impl Behind for Asked<'_> {
    fn text(&self, name: &str) -> Result<Option<String>, Failure> {
        let sent = self.sent(name).unwrap_or_default().replace('+', " ");
        let text = percent_decode_str(&sent).decode_utf8().map_err(|_| {
            failed(
                FailureKind::BadRequest,
                format!("`{name}` is no UTF-8."),
                "Encode it as a browser does.",
            )
        })?;
        Ok(Some(text.into_owned()).filter(|text| !text.is_empty()))
    }

    fn number(&self, name: &str) -> Result<Option<u64>, Failure> {
        let Some(value) = self.sent(name) else {
            return Ok(None);
        };
        value.parse().map(Some).map_err(|_| {
            failed(
                FailureKind::BadRequest,
                format!("`{name}` is no number."),
                "Leave it out, or give a whole number.",
            )
        })
    }
}

/// Answers a request.
pub(super) async fn handle(State(house): State<Arc<House>>, request: Request) -> Response<Body> {
    match handled(&house, request).await {
        Ok(response) => {
            // Whoever may not ask keeps nobody awake.
            house.board.touch();
            response
        }
        Err(failure) => answer::<Nothing>(Err(failure)),
    }
}

async fn handled(house: &House, request: Request) -> Result<Response<Body>, Failure> {
    guard::check_target(request.uri(), house.port)?;
    if request.uri().path() == MCP {
        let (route, _) = guard::route(request.method().as_str(), MCP)?;
        guard::check(route, request.headers(), house.port, &house.board)?;
        let token = token(request.headers())?;
        let (head, body) = request.into_parts();
        let body = Box::pin(whole(body, MAX_BODY, house.patience)).await?;
        let request = Request::from_parts(head, Body::from(body));
        let owner = house.board.owner_of(&token);
        let answered = house.mcp.answer(request, owner);
        return Box::pin(while_known(&house.board, token, answered)).await;
    }
    let (parts, body) = request.into_parts();
    let (path, query) = (parts.uri.path().to_owned(), parts.uri.query().map(str::to_owned));
    let (route, id) = guard::route(parts.method.as_str(), &path)?;
    let caller = guard::check(route, &parts.headers, house.port, &house.board)?;
    let limit = if guard::brings(route.method) { MAX_BODY } else { 0 };
    let body = Box::pin(whole(body, limit, house.patience)).await?;
    // What a plugin waits for ends with its session; for whoever else waits, their token is looked at.
    let token = match caller {
        Caller::Agent => token(&parts.headers)?,
        _ if guard::reads(route.method) => token(&parts.headers)?,
        _ => String::new(),
    };
    // While an answer is held, nothing of the request is: its head stands in the connection's buffer.
    drop(parts);
    let query = query.as_deref().unwrap_or_default();
    check_query(route, query)?;
    let asked = Asked { path: route.path, id, query, caller, body };
    if guard::reads(route.method) {
        Box::pin(while_known(&house.board, token, read(house, &asked))).await
    } else if token.is_empty() {
        Box::pin(act(house, route.method.as_str(), &asked)).await
    } else {
        let answered = act(house, route.method.as_str(), &asked);
        Box::pin(while_known(&house.board, token, answered)).await
    }
}

/// Reads a body, which may take so long altogether: one that drips would hold its connection for ever.
async fn whole(body: Body, limit: usize, patience: Duration) -> Result<Bytes, Failure> {
    let read = tokio::time::timeout(patience, to_bytes(body, limit)).await;
    let Ok(read) = read else {
        let seconds = patience.as_secs();
        return Err(failed(
            FailureKind::TooSlow,
            format!("The body did not come within {seconds} s."),
            "Send it at once.",
        ));
    };
    read.map_err(|_| {
        failed(
            FailureKind::TooLarge,
            format!("The body is larger than {limit} bytes, or was cut off."),
            "Send it in pieces.",
        )
    })
}

/// What a route does not take behind its path is refused, as it is in bodies.
fn check_query(route: &Route, query: &str) -> Result<(), Failure> {
    // The page itself may be asked for by any link.
    if !["/api/", "/page/"].iter().any(|start| route.path.starts_with(start)) {
        return Ok(());
    }
    let known = || route.query.iter().chain(route.texts);
    let names = query.split('&').filter(|pair| !pair.is_empty());
    let mut names = names.map(|pair| pair.split_once('=').map_or(pair, |(name, _)| name));
    let Some(unknown) = names.find(|name| !known().any(|it| it == name)) else {
        return Ok(());
    };
    let takes = known().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ");
    let hint =
        if takes.is_empty() { "It takes none.".to_owned() } else { format!("It takes {takes}.") };
    Err(failed(
        FailureKind::BadRequest,
        format!("{} takes no parameter `{}`.", route.path, unknown.escape_default()),
        hint,
    ))
}

fn token(headers: &HeaderMap) -> Result<String, Failure> {
    Ok(guard::token(headers)?.unwrap_or_default().to_owned())
}

/// Answers for as long as whoever asks may ask: what is held then, and streams, ends when their token
/// is taken back.
async fn while_known(
    board: &Arc<Board>,
    token: String,
    answered: impl Future<Output = Result<Response<Body>, Failure>>,
) -> Result<Response<Body>, Failure> {
    if token.is_empty() {
        return answered.await;
    }
    let response = tokio::select! {
        biased;
        answered = answered => answered?,
        () = board.ousted(&token) => return Err(guard::unknown()),
    };
    if response.body().size_hint().exact().is_some() {
        return Ok(response);
    }
    let board = Arc::clone(board);
    let until = Box::pin(async move { board.ousted(&token).await });
    Ok(response.map(|body| Body::from_stream(body.into_data_stream().take_until(until))))
}

/// Asks the desk with these arguments.
macro_rules! ask {
    ($desk:expr, $ask:path) => {
        answer($desk.ask($ask).await)
    };
    ($desk:expr, $ask:path, $a:expr) => {{
        let a = $a;
        answer($desk.ask(|reply| $ask(a, reply)).await)
    }};
    ($desk:expr, $ask:path, $a:expr, $b:expr) => {{
        let (a, b) = ($a, $b);
        answer($desk.ask(|reply| $ask(a, b, reply)).await)
    }};
}

/// Answers what only reads.
async fn read(house: &House, asked: &Asked<'_>) -> Result<Response<Body>, Failure> {
    let (board, desk) = (&house.board, &house.desk);
    Ok(match asked.path {
        "/health" => answer(Ok(Health { ok: true })),
        "/api/stream" => {
            let cursor = Seq(asked.number("cursor")?.unwrap_or(0));
            let hold = asked.number("hold")?.unwrap_or(MAX_HOLD);
            answer(Ok(hold::page(board, cursor, hold).await))
        }
        "/api/stream/sse" => {
            let cursor = asked.number("cursor")?.map_or_else(|| board.head(), Seq);
            hold::events(Arc::clone(board), cursor)
        }
        "/api/sessions" => ask!(desk, Ask::Sessions),
        "/api/proposals" => ask!(desk, Ask::Proposals),
        "/api/proposals/{id}" => ask!(desk, Ask::Proposal, asked.seq()?),
        "/api/proposals/{id}/picture" => {
            let of = PictureOf::Proposal(asked.seq()?, picture::when(asked.text("when")?)?);
            picture::answer(desk, of, asked.picture()?).await
        }
        "/api/sessions/{id}/picture" => {
            let of = PictureOf::Place(asked.session()?, picture::path(asked.text("path")?)?);
            picture::answer(desk, of, asked.picture()?).await
        }
        "/api/workflows" => ask!(desk, Ask::Workflows),
        "/api/workflows/{id}" => ask!(desk, Ask::Workflow, asked.seq()?),
        "/api/checkpoints" => ask!(desk, Ask::Checkpoints),
        "/api/settings" => ask!(desk, Ask::Settings),
        "/api/usage" => ask!(desk, Ask::Usage),
        "/api/keys" => ask!(desk, Ask::Keys),
        "/api/agents/calls" => ask!(desk, Ask::AgentLog),
        "/api/agents/calls/{id}" => {
            let hold = asked.number("hold")?.unwrap_or(0);
            answer(hold::called(board, desk, asked.seq()?, hold).await)
        }
        "/" => page::shell(),
        "/assets/{id}" => page::asset(asked.id)?,
        "/page/stream" => {
            let cursor = asked.number("cursor")?.map_or_else(|| board.head(), Seq);
            page::stream(Arc::clone(board), cursor)
        }
        // What is large and not held is not kept for what is.
        "/page/{id}" => Box::pin(page::part(desk, asked.id, asked)).await?,
        "/api/talks/{id}" => ask!(desk, Ask::Talk, asked.seq()?),
        "/api/about" => answer(desk.ask(|reply| Ask::Door(Door::About(reply))).await),
        "/api/access" => answer(desk.ask(|reply| Ask::Door(Door::Access(reply))).await),
        "/api/agents/scripts/{id}" => {
            ask!(desk, Ask::Scripts, asked.session()?, asked.text("cursor")?)
        }
        _ => Box::pin(look_back(desk, asked)).await?,
    })
}

/// Answers who looks back.
async fn look_back(desk: &Desk, asked: &Asked<'_>) -> Result<Response<Body>, Failure> {
    Ok(match asked.path {
        "/api/history" => {
            let wanted = Wanted::of(asked)?;
            answer(desk.ask(|reply| Ask::Past(Past::History(wanted, reply))).await)
        }
        "/api/history/export" => {
            let filter = Filter::of(asked)?;
            past::stream(desk.ask(|reply| Ask::Past(Past::Export(filter, reply))).await?)
        }
        "/api/figures" => {
            let days = asked.number("days")?.unwrap_or(DAYS);
            answer(desk.ask(|reply| Ask::Past(Past::Figures(days, reply))).await)
        }
        "/api/deploy" => {
            let wanted = deploy::wanted(asked)?;
            answer(desk.ask(|reply| Ask::Deploy(Deploying::Plan(wanted, reply))).await)
        }
        "/api/deploy/{id}" => {
            let hold = asked.number("hold")?.unwrap_or(0);
            answer(deploy::state(desk, asked.seq()?.0, hold).await)
        }
        "/api/merges" => answer(desk.ask(|reply| Ask::Merge(Merging::List(reply))).await),
        "/api/scripts/at" => {
            let wanted = ScriptWanted::of(asked)?;
            answer(desk.ask(|reply| Ask::Past(Past::Script(wanted, reply))).await)
        }
        "/api/history/{id}" => {
            let seq = asked.seq()?;
            answer(desk.ask(|reply| Ask::Past(Past::Entry(seq, reply))).await)
        }
        path => Err(nobody(path))?,
    })
}

/// Does what changes something, and answers.
async fn act(house: &House, method: &str, asked: &Asked<'_>) -> Result<Response<Body>, Failure> {
    let (board, desk) = (&house.board, &house.desk);
    Ok(match (method, asked.path) {
        ("POST", "/api/pair") => ask!(desk, Ask::Pair, asked.body()?),
        ("POST", "/api/hello") => ask!(desk, Ask::Hello, asked.body()?),
        ("POST", "/api/sessions/{id}/poll") => {
            let (session, poll) = (asked.session()?, asked.body::<Poll>()?);
            answer(hold::poll(board, &session, poll).await)
        }
        ("POST", "/api/sessions/{id}/scene") => {
            let (session, update) = (asked.session()?, asked.body::<Box<SceneUpdate>>()?);
            is_now(board, &session, update.epoch)?;
            ask!(desk, Ask::Scene, session, update)
        }
        ("POST", "/api/proposals/{id}/apply") => {
            let (seq, ack) = (asked.seq()?, asked.body::<Box<ApplyAck>>()?);
            asked.is_own(&ack.session)?;
            is_now(board, &ack.session, ack.epoch)?;
            ask!(desk, Ask::Ack, seq, ack)
        }
        ("POST", "/api/open") => ask!(desk, Ask::Open, asked.body()?),
        ("POST", "/api/chat") => {
            let chat = asked.body::<Chat>()?;
            asked.is_own(&chat.session)?;
            is_now(board, &chat.session, chat.epoch)?;
            ask!(desk, Ask::Chat, chat)
        }
        ("POST", "/api/proposals/{id}/decide") => {
            let (seq, decide) = (asked.seq()?, asked.body()?);
            if let Some(decided) = board.decide(seq, &decide) {
                // Who is woken by it goes first.
                yield_now().await;
                answer(decided)
            } else {
                ask!(desk, Ask::Decide, seq, decide)
            }
        }
        ("POST", "/api/workflows/{id}/cancel") => verb(desk, asked, Verb::Cancel).await?,
        ("POST", "/api/workflows/{id}/retry") => verb(desk, asked, Verb::Retry).await?,
        ("POST", "/api/workflows/{id}/resume") => verb(desk, asked, Verb::Resume).await?,
        ("POST", "/api/workflows/{id}/clear") => verb(desk, asked, Verb::Clear).await?,
        ("POST", path) if SETTLING.contains(&path) => settle(desk, asked).await?,
        ("POST", "/api/checkpoints") => ask!(desk, Ask::MakeCheckpoint, asked.body()?),
        ("POST", "/api/checkpoints/{id}/restore") => {
            asked.body::<Nothing>()?;
            ask!(desk, Ask::Restore, asked.seq()?)
        }
        ("POST", "/api/stop") => {
            asked.body::<Nothing>()?;
            board.stop();
            answer(Ok(Nothing {}))
        }
        ("POST", "/api/agents/calls") => answer(hold::call(desk, asked.body()?).await),
        ("POST", "/api/agents/cancel") => {
            desk.tell(Ask::CancelCall(asked.body()?));
            answer(Ok(Nothing {}))
        }
        ("POST", "/api/agents/end") => {
            let AgentEnds { connection } = asked.body()?;
            desk.tell(Ask::AgentEnds(connection));
            answer(Ok(Nothing {}))
        }
        ("POST", "/api/agents/presence") => {
            let AgentPresence { connection } = asked.body()?;
            let held = clients::hold(Arc::clone(board), desk.clone(), connection);
            answer(Box::pin(held).await)
        }
        ("PUT", "/api/settings") => ask!(desk, Ask::Choose, asked.body()?),
        _ => door(desk, asked).await?,
    })
}

/// The routes of [`settle`].
const SETTLING: [&str; 4] =
    ["/api/proposals/{id}/revert", "/api/deploy", "/api/merges/decide", "/api/merges/finish"];

/// Takes back or keeps what was applied, decides conflicts of merges, and answers.
async fn settle(desk: &Desk, asked: &Asked<'_>) -> Result<Response<Body>, Failure> {
    Ok(match asked.path {
        "/api/deploy" => {
            let deploy = asked.body()?;
            answer(desk.ask(|reply| Ask::Deploy(Deploying::Begin(deploy, reply))).await)
        }
        "/api/merges/decide" => {
            let decide = asked.body()?;
            answer(desk.ask(|reply| Ask::Merge(Merging::Decide(decide, reply))).await)
        }
        "/api/merges/finish" => {
            let finish = asked.body()?;
            answer(desk.ask(|reply| Ask::Merge(Merging::Finish(finish, reply))).await)
        }
        _ => {
            asked.body::<Nothing>()?;
            let seq = asked.seq()?;
            answer(desk.ask(|reply| Ask::Past(Past::Revert(seq, reply))).await)
        }
    })
}

/// Does what changes who is let in, and answers.
async fn door(desk: &Desk, asked: &Asked<'_>) -> Result<Response<Body>, Failure> {
    Ok(match asked.path {
        "/api/pairing" => {
            asked.body::<Nothing>()?;
            answer(desk.ask(|reply| Ask::Door(Door::Code(reply))).await)
        }
        "/api/page/link" => {
            asked.body::<Nothing>()?;
            answer(desk.ask(|reply| Ask::Door(Door::Link(reply))).await)
        }
        "/api/page" => {
            let enter = asked.body()?;
            answer(desk.ask(|reply| Ask::Door(Door::Enter(enter, reply))).await)
        }
        "/api/keys" => {
            let keys = asked.body()?;
            asked.is_at_terminal()?;
            answer(desk.ask(|reply| Ask::HandKeys(keys, reply)).await)
        }
        "/api/access/token" => {
            let make = asked.body()?;
            answer(desk.ask(|reply| Ask::Door(Door::Make(make, reply))).await)
        }
        "/api/access/revoke" => {
            let what = asked.body()?;
            answer(desk.ask(|reply| Ask::Door(Door::Revoke(what, reply))).await)
        }
        path => Err(nobody(path))?,
    })
}

/// A route that nobody answers; a test calls every one of the table.
fn nobody(path: &str) -> Failure {
    let message = format!("{path} is not answered by anybody.");
    failed(FailureKind::Internal, message, "Tell Vector's developers.")
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Secret;
    use super::super::line::HEAD;
    use super::*;

    /// What stays in memory of a request while its answer is held, besides its connection, in bytes.
    const HELD: usize = 1_792;

    #[test]
    fn little_is_kept_of_a_request_that_is_held() {
        let board = Arc::new(Board::new(Secret::of("token")));
        let (desk, _asked) = Desk::new();
        let mcp = Arc::new(Http::new(&board, &desk, Path::new("no such file"), HEAD));
        let house = Arc::new(House { port: 1, board, desk, mcp, patience: HEAD });
        let asked = Asked {
            path: "/api/stream",
            id: "",
            query: "",
            caller: Caller::Human,
            body: Bytes::new(),
        };
        let kept = [
            size_of_val(&handle(State(Arc::clone(&house)), Request::default())),
            size_of_val(&while_known(&house.board, String::new(), read(&house, &asked))),
            size_of_val(&while_known(&house.board, String::new(), act(&house, "POST", &asked))),
        ];
        assert!(kept.iter().all(|it| *it <= HELD), "{kept:?}");
    }
}
