//! From a request to who answers it, by the table of the routes.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Response};
use futures_util::StreamExt;
use percent_encoding::percent_decode_str;
use scene_schemas::api::{
    AgentDisconnect, AgentPresence, ApplyAck, Chat, EmptyBody, Failure, FailureKind, Health,
    MAX_BODY, MAX_HOLD, PollRequest, Route, SceneUpdate, SessionId,
};
use scene_schemas::entry::Seq;
use serde::de::DeserializeOwned;
use tokio::task::yield_now;

use super::auth::{self, Caller};
use super::clients;
use super::daemon_handle::{
    AccessRequest, DaemonHandle, DaemonRequest, PictureOptions, PictureTarget, WorkflowAction,
};
use super::deploy::{self, DeployRequest};
use super::event_hub::EventHub;
use super::failure::{failure, json_response};
use super::history_api::{
    self, DAYS, EntryFilter, HistoryQuery, HistoryRequest, Parameters, ScriptQuery,
};
use super::long_poll;
use super::mcp::McpHttp;
use super::merges::MergeRequest;
use super::page;
use super::picture;

/// Where MCP is spoken; its bodies are the SDK's to read.
const MCP: &str = "/mcp";

/// What every answer needs.
#[derive(Debug)]
pub(super) struct AppState {
    pub(super) port: u16,
    pub(super) event_hub: Arc<EventHub>,
    pub(super) daemon: DaemonHandle,
    pub(super) mcp: Arc<McpHttp>,
    /// How long the body of a request may be on its way.
    pub(super) body_timeout: Duration,
}

/// A request that has passed every check.
struct CheckedRequest<'r> {
    path: &'static str,
    id: &'r str,
    query: &'r str,
    caller: Caller,
    body: Bytes,
}

impl CheckedRequest<'_> {
    fn parse_body<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.body).map_err(|error| {
            failure(
                FailureKind::BadRequest,
                format!("The body is not what {} takes: {error}.", self.path),
                "Its form is in openapi.json.",
            )
        })
    }

    fn parse_seq(&self) -> Result<Seq, Failure> {
        let id = self.id;
        id.parse().map(Seq).map_err(|_| {
            failure(
                FailureKind::BadRequest,
                format!("`{id}` is not a number."),
                "IDs of proposals, workflows and checkpoints are integers.",
            )
        })
    }

    /// The session of the path, which has to be that of the token.
    fn parse_session(&self) -> Result<SessionId, Failure> {
        let session = SessionId(self.id.to_owned());
        self.check_session(&session).map(|()| session)
    }

    fn check_session(&self, session: &SessionId) -> Result<(), Failure> {
        match &self.caller {
            Caller::Plugin(own) if own != session => Err(failure(
                FailureKind::Stale,
                format!("The token is of session {own}, not of {session}."),
                "Say hello again.",
            )),
            _ => Ok(()),
        }
    }

    /// Whether a person at a terminal or the page calls, and no plugin: keys never pass through Studio.
    fn check_terminal(&self) -> Result<(), Failure> {
        match self.caller {
            Caller::Human => Ok(()),
            _ => Err(failure(
                FailureKind::Forbidden,
                "Keys are handed over from a terminal alone.",
                "Run `vector open` in a terminal that has the key.",
            )),
        }
    }

    /// A parameter behind the path, as it was sent.
    fn raw_parameter(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// How a picture is to be.
    fn parse_picture(&self) -> Result<PictureOptions, Failure> {
        picture::parse_options(self.text_parameter("view")?, self.number_parameter("size")?)
    }
}

impl Parameters for CheckedRequest<'_> {
    fn text_parameter(&self, name: &str) -> Result<Option<String>, Failure> {
        let sent = self.raw_parameter(name).unwrap_or_default().replace('+', " ");
        let text = percent_decode_str(&sent).decode_utf8().map_err(|_| {
            failure(
                FailureKind::BadRequest,
                format!("`{name}` is not UTF-8."),
                "Encode it as a browser does.",
            )
        })?;
        Ok(Some(text.into_owned()).filter(|text| !text.is_empty()))
    }

    fn number_parameter(&self, name: &str) -> Result<Option<u64>, Failure> {
        let Some(value) = self.raw_parameter(name) else {
            return Ok(None);
        };
        value.parse().map(Some).map_err(|_| {
            failure(
                FailureKind::BadRequest,
                format!("`{name}` is not a number."),
                "Leave it out, or give a whole number.",
            )
        })
    }
}

pub(super) async fn handle_request(
    State(house): State<Arc<AppState>>,
    request: Request,
) -> Response<Body> {
    match dispatch(&house, request).await {
        Ok(response) => {
            // Whoever may not ask keeps nobody awake.
            house.event_hub.record_activity();
            response
        }
        Err(failure) => json_response::<EmptyBody>(Err(failure)),
    }
}

async fn dispatch(house: &AppState, request: Request) -> Result<Response<Body>, Failure> {
    auth::check_target(request.uri(), house.port)?;
    if request.uri().path() == MCP {
        let (route, _) = auth::match_route(request.method().as_str(), MCP)?;
        auth::check_caller(route, request.headers(), house.port, &house.event_hub)?;
        let token = bearer_token(request.headers())?;
        let (head, body) = request.into_parts();
        let body = Box::pin(read_body(body, MAX_BODY, house.body_timeout)).await?;
        let request = Request::from_parts(head, Body::from(body));
        let owner = house.event_hub.owner_of(&token);
        let answered = house.mcp.answer_request(request, owner);
        return Box::pin(run_while_authorized(&house.event_hub, token, answered)).await;
    }
    let (parts, body) = request.into_parts();
    let (path, query) = (parts.uri.path().to_owned(), parts.uri.query().map(str::to_owned));
    let (route, id) = auth::match_route(parts.method.as_str(), &path)?;
    let caller = auth::check_caller(route, &parts.headers, house.port, &house.event_hub)?;
    let limit = if auth::has_body(route.method) { MAX_BODY } else { 0 };
    let body = Box::pin(read_body(body, limit, house.body_timeout)).await?;
    // What a plugin waits for ends with its session; for whoever else waits, their token is looked at.
    let token = match caller {
        Caller::Agent => bearer_token(&parts.headers)?,
        _ if auth::is_read_only(route.method) => bearer_token(&parts.headers)?,
        _ => String::new(),
    };
    // While an answer is held, nothing of the request is: its head stands in the connection's buffer.
    drop(parts);
    let query = query.as_deref().unwrap_or_default();
    check_query(route, query)?;
    let asked = CheckedRequest { path: route.path, id, query, caller, body };
    if auth::is_read_only(route.method) {
        Box::pin(run_while_authorized(&house.event_hub, token, answer_read(house, &asked))).await
    } else if token.is_empty() {
        Box::pin(answer_change(house, route.method.as_str(), &asked)).await
    } else {
        let answered = answer_change(house, route.method.as_str(), &asked);
        Box::pin(run_while_authorized(&house.event_hub, token, answered)).await
    }
}

/// Reads a body, which may take so long altogether: one that drips would hold its connection for ever.
async fn read_body(body: Body, limit: usize, patience: Duration) -> Result<Bytes, Failure> {
    let read = tokio::time::timeout(patience, to_bytes(body, limit)).await;
    let Ok(read) = read else {
        let seconds = patience.as_secs();
        return Err(failure(
            FailureKind::TooSlow,
            format!("The body did not come within {seconds} s."),
            "Send it at once.",
        ));
    };
    read.map_err(|_| {
        failure(
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
    Err(failure(
        FailureKind::BadRequest,
        format!("{} takes no parameter `{}`.", route.path, unknown.escape_default()),
        hint,
    ))
}

fn bearer_token(headers: &HeaderMap) -> Result<String, Failure> {
    Ok(auth::token_header(headers)?.unwrap_or_default().to_owned())
}

/// Answers for as long as whoever asks may ask: what is held then, and streams, ends when their token
/// is taken back.
async fn run_while_authorized(
    board: &Arc<EventHub>,
    token: String,
    answered: impl Future<Output = Result<Response<Body>, Failure>>,
) -> Result<Response<Body>, Failure> {
    if token.is_empty() {
        return answered.await;
    }
    let response = tokio::select! {
        biased;
        answered = answered => answered?,
        () = board.wait_until_revoked(&token) => return Err(auth::unknown_token()),
    };
    if response.body().size_hint().exact().is_some() {
        return Ok(response);
    }
    let board = Arc::clone(board);
    let until = Box::pin(async move { board.wait_until_revoked(&token).await });
    Ok(response.map(|body| Body::from_stream(body.into_data_stream().take_until(until))))
}

/// Asks the desk with these arguments.
macro_rules! ask {
    ($desk:expr, $ask:path) => {
        json_response($desk.request($ask).await)
    };
    ($desk:expr, $ask:path, $a:expr) => {{
        let a = $a;
        json_response($desk.request(|reply| $ask(a, reply)).await)
    }};
    ($desk:expr, $ask:path, $a:expr, $b:expr) => {{
        let (a, b) = ($a, $b);
        json_response($desk.request(|reply| $ask(a, b, reply)).await)
    }};
}

/// Answers what only reads.
async fn answer_read(
    house: &AppState,
    asked: &CheckedRequest<'_>,
) -> Result<Response<Body>, Failure> {
    let (board, desk) = (&house.event_hub, &house.daemon);
    Ok(match asked.path {
        "/health" => json_response(Ok(Health { ok: true })),
        "/api/stream" => {
            let cursor = Seq(asked.number_parameter("cursor")?.unwrap_or(0));
            let hold = asked.number_parameter("hold")?.unwrap_or(MAX_HOLD);
            json_response(Ok(long_poll::poll_events(board, cursor, hold).await))
        }
        "/api/stream/sse" => {
            let cursor = asked.number_parameter("cursor")?.map_or_else(|| board.head(), Seq);
            long_poll::stream_events(Arc::clone(board), cursor)
        }
        "/api/sessions" => ask!(desk, DaemonRequest::Sessions),
        "/api/proposals" => ask!(desk, DaemonRequest::Proposals),
        "/api/proposals/{id}" => ask!(desk, DaemonRequest::Proposal, asked.parse_seq()?),
        "/api/proposals/{id}/picture" => {
            let of = PictureTarget::Proposal(
                asked.parse_seq()?,
                picture::parse_side(asked.text_parameter("when")?)?,
            );
            picture::picture_response(desk, of, asked.parse_picture()?).await
        }
        "/api/sessions/{id}/picture" => {
            let of = PictureTarget::Place(
                asked.parse_session()?,
                picture::parse_path(asked.text_parameter("path")?)?,
            );
            picture::picture_response(desk, of, asked.parse_picture()?).await
        }
        "/api/workflows" => ask!(desk, DaemonRequest::Workflows),
        "/api/workflows/{id}" => ask!(desk, DaemonRequest::Workflow, asked.parse_seq()?),
        "/api/checkpoints" => ask!(desk, DaemonRequest::Checkpoints),
        "/api/settings" => ask!(desk, DaemonRequest::Settings),
        "/api/usage" => ask!(desk, DaemonRequest::Usage),
        "/api/keys" => ask!(desk, DaemonRequest::Keys),
        "/api/agents/calls" => ask!(desk, DaemonRequest::AgentLog),
        "/api/agents/calls/{id}" => {
            let hold = asked.number_parameter("hold")?.unwrap_or(0);
            json_response(long_poll::wait_for_call(board, desk, asked.parse_seq()?, hold).await)
        }
        "/" => page::shell_response(),
        "/assets/{id}" => page::asset_response(asked.id)?,
        "/page/stream" => {
            let cursor = asked.number_parameter("cursor")?.map_or_else(|| board.head(), Seq);
            page::page_stream(Arc::clone(board), cursor)
        }
        // What is large and not held is not kept for what is.
        "/page/{id}" => Box::pin(page::render_part(desk, asked.id, asked)).await?,
        "/api/talks/{id}" => ask!(desk, DaemonRequest::Talk, asked.parse_seq()?),
        "/api/about" => json_response(
            desk.request(|reply| DaemonRequest::Access(AccessRequest::About(reply))).await,
        ),
        "/api/access" => json_response(
            desk.request(|reply| DaemonRequest::Access(AccessRequest::Access(reply))).await,
        ),
        "/api/agents/scripts/{id}" => {
            ask!(
                desk,
                DaemonRequest::Scripts,
                asked.parse_session()?,
                asked.text_parameter("cursor")?
            )
        }
        _ => Box::pin(answer_history(desk, asked)).await?,
    })
}

/// Answers who looks back.
async fn answer_history(
    desk: &DaemonHandle,
    asked: &CheckedRequest<'_>,
) -> Result<Response<Body>, Failure> {
    Ok(match asked.path {
        "/api/history" => {
            let wanted = HistoryQuery::from_parameters(asked)?;
            json_response(
                desk.request(|reply| {
                    DaemonRequest::History(HistoryRequest::History(wanted, reply))
                })
                .await,
            )
        }
        "/api/history/export" => {
            let filter = EntryFilter::from_parameters(asked)?;
            history_api::stream_response(
                desk.request(|reply| DaemonRequest::History(HistoryRequest::Export(filter, reply)))
                    .await?,
            )
        }
        "/api/figures" => {
            let days = asked.number_parameter("days")?.unwrap_or(DAYS);
            json_response(
                desk.request(|reply| DaemonRequest::History(HistoryRequest::Figures(days, reply)))
                    .await,
            )
        }
        "/api/deploy" => {
            let wanted = deploy::parse_deploy(asked)?;
            json_response(
                desk.request(|reply| DaemonRequest::Deploy(DeployRequest::Plan(wanted, reply)))
                    .await,
            )
        }
        "/api/deploy/{id}" => {
            let hold = asked.number_parameter("hold")?.unwrap_or(0);
            json_response(deploy::wait_for_state(desk, asked.parse_seq()?.0, hold).await)
        }
        "/api/merges" => json_response(
            desk.request(|reply| DaemonRequest::Merge(MergeRequest::List(reply))).await,
        ),
        "/api/scripts/at" => {
            let wanted = ScriptQuery::from_parameters(asked)?;
            json_response(
                desk.request(|reply| DaemonRequest::History(HistoryRequest::Script(wanted, reply)))
                    .await,
            )
        }
        "/api/history/{id}" => {
            let seq = asked.parse_seq()?;
            json_response(
                desk.request(|reply| DaemonRequest::History(HistoryRequest::Entry(seq, reply)))
                    .await,
            )
        }
        path => Err(unanswered_route(path))?,
    })
}

/// Does what changes something, and answers.
async fn answer_change(
    house: &AppState,
    method: &str,
    asked: &CheckedRequest<'_>,
) -> Result<Response<Body>, Failure> {
    let (board, desk) = (&house.event_hub, &house.daemon);
    Ok(match (method, asked.path) {
        ("POST", "/api/pair") => ask!(desk, DaemonRequest::Pair, asked.parse_body()?),
        ("POST", "/api/hello") => ask!(desk, DaemonRequest::Hello, asked.parse_body()?),
        ("POST", "/api/sessions/{id}/poll") => {
            let (session, poll) = (asked.parse_session()?, asked.parse_body::<PollRequest>()?);
            json_response(long_poll::poll_session(board, &session, poll).await)
        }
        ("POST", "/api/sessions/{id}/scene") => {
            let (session, update) =
                (asked.parse_session()?, asked.parse_body::<Box<SceneUpdate>>()?);
            check_epoch(board, &session, update.epoch)?;
            ask!(desk, DaemonRequest::Scene, session, update)
        }
        ("POST", "/api/proposals/{id}/apply") => {
            let (seq, ack) = (asked.parse_seq()?, asked.parse_body::<Box<ApplyAck>>()?);
            asked.check_session(&ack.session)?;
            check_epoch(board, &ack.session, ack.epoch)?;
            ask!(desk, DaemonRequest::Ack, seq, ack)
        }
        ("POST", "/api/open") => ask!(desk, DaemonRequest::Open, asked.parse_body()?),
        ("POST", "/api/chat") => {
            let chat = asked.parse_body::<Chat>()?;
            asked.check_session(&chat.session)?;
            check_epoch(board, &chat.session, chat.epoch)?;
            ask!(desk, DaemonRequest::Chat, chat)
        }
        ("POST", "/api/proposals/{id}/decide") => {
            let (seq, decide) = (asked.parse_seq()?, asked.parse_body()?);
            if let Some(decided) = board.try_decide(seq, &decide) {
                // Who is woken by it goes first.
                yield_now().await;
                json_response(decided)
            } else {
                ask!(desk, DaemonRequest::Decide, seq, decide)
            }
        }
        ("POST", "/api/workflows/{id}/cancel") => {
            act_on_workflow(desk, asked, WorkflowAction::Cancel).await?
        }
        ("POST", "/api/workflows/{id}/retry") => {
            act_on_workflow(desk, asked, WorkflowAction::Retry).await?
        }
        ("POST", "/api/workflows/{id}/resume") => {
            act_on_workflow(desk, asked, WorkflowAction::Resume).await?
        }
        ("POST", "/api/workflows/{id}/clear") => {
            act_on_workflow(desk, asked, WorkflowAction::Clear).await?
        }
        ("POST", path) if SETTLING.contains(&path) => answer_settle(desk, asked).await?,
        ("POST", "/api/checkpoints") => {
            ask!(desk, DaemonRequest::MakeCheckpoint, asked.parse_body()?)
        }
        ("POST", "/api/checkpoints/{id}/restore") => {
            asked.parse_body::<EmptyBody>()?;
            ask!(desk, DaemonRequest::Restore, asked.parse_seq()?)
        }
        ("POST", "/api/stop") => {
            asked.parse_body::<EmptyBody>()?;
            board.request_stop();
            json_response(Ok(EmptyBody {}))
        }
        ("POST", "/api/agents/calls") => {
            json_response(long_poll::call_tool(desk, asked.parse_body()?).await)
        }
        ("POST", "/api/agents/cancel") => {
            desk.send(DaemonRequest::CancelCall(asked.parse_body()?));
            json_response(Ok(EmptyBody {}))
        }
        ("POST", "/api/agents/end") => {
            let AgentDisconnect { connection } = asked.parse_body()?;
            desk.send(DaemonRequest::EndConnection(connection));
            json_response(Ok(EmptyBody {}))
        }
        ("POST", "/api/agents/presence") => {
            let AgentPresence { connection } = asked.parse_body()?;
            let held = clients::hold_connection(Arc::clone(board), desk.clone(), connection);
            json_response(Box::pin(held).await)
        }
        ("PUT", "/api/settings") => ask!(desk, DaemonRequest::ChangeSettings, asked.parse_body()?),
        _ => answer_access(desk, asked).await?,
    })
}

/// The routes of [`settle`].
const SETTLING: [&str; 4] =
    ["/api/proposals/{id}/revert", "/api/deploy", "/api/merges/decide", "/api/merges/finish"];

/// Takes back or keeps what was applied, decides conflicts of merges, and answers.
async fn answer_settle(
    desk: &DaemonHandle,
    asked: &CheckedRequest<'_>,
) -> Result<Response<Body>, Failure> {
    Ok(match asked.path {
        "/api/deploy" => {
            let deploy = asked.parse_body()?;
            json_response(
                desk.request(|reply| DaemonRequest::Deploy(DeployRequest::Begin(deploy, reply)))
                    .await,
            )
        }
        "/api/merges/decide" => {
            let decide = asked.parse_body()?;
            json_response(
                desk.request(|reply| DaemonRequest::Merge(MergeRequest::Decide(decide, reply)))
                    .await,
            )
        }
        "/api/merges/finish" => {
            let finish = asked.parse_body()?;
            json_response(
                desk.request(|reply| DaemonRequest::Merge(MergeRequest::Finish(finish, reply)))
                    .await,
            )
        }
        _ => {
            asked.parse_body::<EmptyBody>()?;
            let seq = asked.parse_seq()?;
            json_response(
                desk.request(|reply| DaemonRequest::History(HistoryRequest::Revert(seq, reply)))
                    .await,
            )
        }
    })
}

/// Does what changes who is let in, and answers.
async fn answer_access(
    desk: &DaemonHandle,
    asked: &CheckedRequest<'_>,
) -> Result<Response<Body>, Failure> {
    Ok(match asked.path {
        "/api/pairing" => {
            asked.parse_body::<EmptyBody>()?;
            json_response(
                desk.request(|reply| DaemonRequest::Access(AccessRequest::Code(reply))).await,
            )
        }
        "/api/page/link" => {
            asked.parse_body::<EmptyBody>()?;
            json_response(
                desk.request(|reply| DaemonRequest::Access(AccessRequest::Link(reply))).await,
            )
        }
        "/api/page" => {
            let enter = asked.parse_body()?;
            json_response(
                desk.request(|reply| DaemonRequest::Access(AccessRequest::Enter(enter, reply)))
                    .await,
            )
        }
        "/api/keys" => {
            let keys = asked.parse_body()?;
            asked.check_terminal()?;
            json_response(desk.request(|reply| DaemonRequest::HandKeys(keys, reply)).await)
        }
        "/api/access/token" => {
            let make = asked.parse_body()?;
            json_response(
                desk.request(|reply| DaemonRequest::Access(AccessRequest::MakeToken(make, reply)))
                    .await,
            )
        }
        "/api/access/revoke" => {
            let what = asked.parse_body()?;
            json_response(
                desk.request(|reply| DaemonRequest::Access(AccessRequest::Revoke(what, reply)))
                    .await,
            )
        }
        path => Err(unanswered_route(path))?,
    })
}

/// A route that nobody answers; a test calls every one of the table.
fn unanswered_route(path: &str) -> Failure {
    let message = format!("{path} is not answered by anybody.");
    failure(FailureKind::Internal, message, "Tell Vector's developers.")
}

async fn act_on_workflow(
    desk: &DaemonHandle,
    asked: &CheckedRequest<'_>,
    verb: WorkflowAction,
) -> Result<Response<Body>, Failure> {
    asked.parse_body::<EmptyBody>()?;
    let seq = asked.parse_seq()?;
    Ok(json_response(desk.request(|reply| DaemonRequest::ActOnWorkflow(seq, verb, reply)).await))
}

/// Whether a session is still in the epoch that a call was made in.
fn check_epoch(board: &EventHub, session: &SessionId, epoch: u64) -> Result<(), Failure> {
    match board.slot(session) {
        Some(seat) if seat.epoch() == epoch => Ok(()),
        _ => Err(long_poll::stale_session(session)),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::TokenHash;
    use super::super::listener::HEAD;
    use super::*;

    /// What stays in memory of a request while its answer is held, besides its connection, in bytes.
    const HELD: usize = 1_792;

    #[test]
    fn little_is_kept_of_a_request_that_is_held() {
        let board = Arc::new(EventHub::new(TokenHash::of_token("token")));
        let (desk, _asked) = DaemonHandle::new();
        let mcp = Arc::new(McpHttp::new(&board, &desk, Path::new("no such file"), HEAD));
        let house =
            Arc::new(AppState { port: 1, event_hub: board, daemon: desk, mcp, body_timeout: HEAD });
        let asked = CheckedRequest {
            path: "/api/stream",
            id: "",
            query: "",
            caller: Caller::Human,
            body: Bytes::new(),
        };
        let kept = [
            size_of_val(&handle_request(State(Arc::clone(&house)), Request::default())),
            size_of_val(&run_while_authorized(
                &house.event_hub,
                String::new(),
                answer_read(&house, &asked),
            )),
            size_of_val(&run_while_authorized(
                &house.event_hub,
                String::new(),
                answer_change(&house, "POST", &asked),
            )),
        ];
        assert!(kept.iter().all(|it| *it <= HELD), "{kept:?}");
    }
}
