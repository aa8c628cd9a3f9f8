//! Long polls, which wait for news, and the event stream of the page.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, Response};
use futures_util::stream::{self, Stream};
use scene_schemas::api::{
    CallView, EventRecord, Failure, FailureKind, MAX_HOLD, MAX_WAIT, PollRequest, PollResponse,
    SessionId, StreamPage,
};
use scene_schemas::entry::Seq;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

use crate::daemon::{DaemonHandle, daemon_closed};
use crate::event_hub::EventHub;
use crate::failure::failure;

/// The interval of keep-alive comments in a stream.
const ALIVE: Duration = Duration::from_secs(15);

fn poll_deadline(hold: u64) -> Instant {
    Instant::now() + Duration::from_secs(hold.min(MAX_HOLD))
}

/// Waits for a change. Returns false if the time is up or the daemon is closing.
async fn wait_for_change(wakes: &mut watch::Receiver<u64>, until: Instant) -> bool {
    let is_open = matches!(timeout_at(until, wakes.changed()).await, Ok(Ok(())));
    is_open && *wakes.borrow() != u64::MAX
}

/// Returns the response to a plugin's poll as soon as there is news, or when the time is up.
///
/// # Errors
/// The session has ended, or was restarted in another epoch.
pub(super) async fn poll_session(
    event_hub: &EventHub,
    session: &SessionId,
    mut poll: PollRequest,
) -> Result<PollResponse, Failure> {
    let Some(slot) = event_hub.slot(session) else {
        return Err(stale_session(session));
    };
    let (mut wakes, until) = (slot.subscribe(), poll_deadline(poll.hold));
    slot.extend_plugin_log(std::mem::take(&mut poll.log));
    loop {
        wakes.mark_unchanged();
        if slot.epoch() != poll.epoch {
            return Err(stale_session(session));
        }
        let (polled, is_something) = slot.answer_poll(event_hub, session, &poll);
        if is_something || !wait_for_change(&mut wakes, until).await {
            return Ok(polled);
        }
    }
}

/// Returns a call as soon as it is settled, or when the time is up.
///
/// # Errors
/// The call does not exist, or the daemon is closing.
pub(super) async fn wait_for_call(
    event_hub: &EventHub,
    daemon: &DaemonHandle,
    seq: Seq,
    hold: u64,
) -> Result<CallView, Failure> {
    let until = Instant::now() + Duration::from_secs(hold.min(MAX_WAIT));
    let mut view = daemon.call_status(seq).await?;
    // A call of a place that is not open cannot change.
    let Some(slot) = event_hub.slot(&view.session) else {
        return Ok(view);
    };
    let mut wakes = slot.subscribe();
    loop {
        wakes.mark_unchanged();
        // The call may have been settled before the subscription.
        view = daemon.call_status(seq).await?;
        if view.outcome.is_settled() || !wait_for_change(&mut wakes, until).await {
            return if *wakes.borrow() == u64::MAX { Err(daemon_closed()) } else { Ok(view) };
        }
    }
}

/// Returns the places that are open and completely read, as soon as they are others than the known
/// ones.
///
/// # Errors
/// The daemon is closing.
pub(super) async fn wait_for_places(
    event_hub: &EventHub,
    known: &BTreeSet<SessionId>,
) -> Result<BTreeSet<SessionId>, Failure> {
    let mut changes = event_hub.subscribe_changes();
    loop {
        let seen = *changes.borrow_and_update();
        if seen.is_over {
            return Err(daemon_closed());
        }
        let read = event_hub.read_places();
        if read != *known {
            return Ok(read);
        }
        let changed = changes.wait_for(|now| now.is_over || now.places != seen.places).await;
        if changed.is_err() {
            return Err(daemon_closed());
        }
    }
}

/// The failure for a session that was restarted or has ended.
pub(super) fn stale_session(session: &SessionId) -> Failure {
    failure(
        FailureKind::Stale,
        format!("Session {session} has ended or was restarted."),
        "Say hello again.",
    )
}

/// Returns the events after a cursor as soon as there are any, or when the time is up.
pub(super) async fn poll_events(event_hub: &EventHub, cursor: Seq, hold: u64) -> StreamPage {
    let (mut wakes, until) = (event_hub.subscribe(), poll_deadline(hold));
    loop {
        wakes.mark_unchanged();
        let page = event_hub.read_page(cursor, None);
        if !page.events.is_empty() || !wait_for_change(&mut wakes, until).await {
            return page;
        }
    }
}

/// Streams the events after a cursor for as long as the client reads.
pub(super) fn stream_events(event_hub: Arc<EventHub>, cursor: Seq) -> Response<Body> {
    let events =
        event_stream(event_hub, cursor, |event| serde_json::to_string(event).unwrap_or_default());
    let body = Body::from_stream(events);
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns server-sent events: the data of each is a line of text, and comments keep the stream
/// alive.
pub(super) fn event_stream(
    event_hub: Arc<EventHub>,
    cursor: Seq,
    line: fn(&EventRecord) -> String,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
    let wakes = event_hub.subscribe();
    stream::unfold((event_hub, wakes, cursor), move |(event_hub, mut wakes, cursor)| async move {
        wakes.mark_unchanged();
        let (behind, events) = event_hub.events_after(cursor, None);
        if !events.is_empty() {
            let mut text = String::new();
            for (at, event) in &events {
                text.push_str(&format!("id: {at}\ndata: {}\n\n", line(event)));
            }
            return Some((Ok(Bytes::from(text)), (event_hub, wakes, behind)));
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
                // A client that listens keeps the daemon from being idle.
                event_hub.record_activity();
                ": alive\n\n"
            }
        };
        Some((Ok(Bytes::from_static(alive.as_bytes())), (event_hub, wakes, cursor)))
    })
}
