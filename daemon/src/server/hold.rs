//! What is held: polls that wait for something to happen, and the stream of a page.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, Response};
use futures_util::stream::{self, Stream};
use scene_schemas::api::{
    AgentCall, CallView, EventRecord, Failure, FailureKind, MAX_HOLD, MAX_WAIT, Poll, Polled,
    SessionId, StreamPage,
};
use scene_schemas::entry::Seq;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep, timeout_at};

use super::board::Board;
use super::desk::{Ask, Desk, closed};
use super::failure::failed;

/// How often a stream says that it is alive.
const ALIVE: Duration = Duration::from_secs(15);

fn until(hold: u64) -> Instant {
    Instant::now() + Duration::from_secs(hold.min(MAX_HOLD))
}

/// Waits until something is new; false where the time is up, or Vector closes.
async fn wait(wakes: &mut watch::Receiver<u64>, until: Instant) -> bool {
    let is_open = matches!(timeout_at(until, wakes.changed()).await, Ok(Ok(())));
    is_open && *wakes.borrow() != u64::MAX
}

/// What there is for a plugin, as soon as there is something.
///
/// # Errors
/// The session is another one by now.
pub(super) async fn poll(
    board: &Board,
    session: &SessionId,
    poll: Poll,
) -> Result<Polled, Failure> {
    let Some(seat) = board.seat(session) else {
        return Err(stale(session));
    };
    let (mut wakes, until) = (seat.listen(), until(poll.hold));
    loop {
        wakes.mark_unchanged();
        if seat.epoch() != poll.epoch {
            return Err(stale(session));
        }
        let (polled, is_something) = seat.polled(board, session, &poll);
        if is_something || !wait(&mut wakes, until).await {
            return Ok(polled);
        }
    }
}

/// Calls a tool, and waits until that is planned or the call's time is up. A call that could not even be
/// written down by then is not made.
///
/// # Errors
/// It was not made.
pub(super) async fn call(desk: &Desk, call: AgentCall) -> Result<CallView, Failure> {
    let until = Instant::now() + Duration::from_secs(call.hold.min(MAX_WAIT));
    let (noted, mut number) = oneshot::channel();
    let (reply, answer) = oneshot::channel();
    if !desk.tell(Ask::Call(Box::new(call), noted, reply)) {
        return Err(closed());
    }
    if let Ok(answer) = timeout_at(until, answer).await {
        return answer.map_err(|_| closed())?;
    }
    // From here on it is not written down any more.
    number.close();
    number.try_recv().map_err(|_| {
        failed(
            FailureKind::Settled,
            "The place is busy with something else, and the call was not made.",
            "Call again in a moment.",
        )
    })
}

/// What became of a call, as soon as that is settled.
///
/// # Errors
/// There is no such call.
pub(super) async fn called(
    board: &Board,
    desk: &Desk,
    seq: Seq,
    hold: u64,
) -> Result<CallView, Failure> {
    let until = Instant::now() + Duration::from_secs(hold.min(MAX_WAIT));
    let mut view = desk.ask(|reply| Ask::Called(seq, reply)).await?;
    // What happens elsewhere changes nothing of it.
    let Some(seat) = board.seat(&view.session) else {
        return Ok(view);
    };
    let mut wakes = seat.listen();
    loop {
        wakes.mark_unchanged();
        // It may have been settled before anybody listened.
        view = desk.ask(|reply| Ask::Called(seq, reply)).await?;
        if view.became.is_settled() || !wait(&mut wakes, until).await {
            return if *wakes.borrow() == u64::MAX { Err(closed()) } else { Ok(view) };
        }
    }
}

/// The session began anew.
pub(super) fn stale(session: &SessionId) -> Failure {
    failed(
        FailureKind::Stale,
        format!("Session {session} has ended or began anew."),
        "Say hello again.",
    )
}

/// What has happened, as soon as something has.
pub(super) async fn page(board: &Board, cursor: Seq, hold: u64) -> StreamPage {
    let (mut wakes, until) = (board.listen(), until(hold));
    loop {
        wakes.mark_unchanged();
        let page = board.page(cursor, None);
        if !page.events.is_empty() || !wait(&mut wakes, until).await {
            return page;
        }
    }
}

/// What has happened, for as long as somebody reads.
pub(super) fn events(board: Arc<Board>, cursor: Seq) -> Response<Body> {
    let told = told(board, cursor, |event| serde_json::to_string(event).unwrap_or_default());
    let body = Body::from_stream(told);
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Server-sent events: each event as a line of text, and now and then that the stream is alive.
pub(super) fn told(
    board: Arc<Board>,
    cursor: Seq,
    line: fn(&EventRecord) -> String,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
    let wakes = board.listen();
    stream::unfold((board, wakes, cursor), move |(board, mut wakes, cursor)| async move {
        wakes.mark_unchanged();
        let (behind, events) = board.behind(cursor, None);
        if !events.is_empty() {
            let mut text = String::new();
            for (at, event) in &events {
                text.push_str(&format!("id: {at}\ndata: {}\n\n", line(event)));
            }
            return Some((Ok(Bytes::from(text)), (board, wakes, behind)));
        }
        if *wakes.borrow() == u64::MAX {
            return None;
        }
        let alive = tokio::select! {
            changed = wakes.changed() => {
                if changed.is_err() { return None; }
                ""
            }
            () = sleep(ALIVE) => {
                // Whoever listens is there.
                board.touch();
                ": alive\n\n"
            }
        };
        Some((Ok(Bytes::from_static(alive.as_bytes())), (board, wakes, cursor)))
    })
}
