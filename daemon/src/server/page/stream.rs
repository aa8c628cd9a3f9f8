//! The stream of the page: events as parts of the page, for as long as the client reads. Signals
//! report changes of the open places or the settings, which cause no event. The page then requests
//! them again.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response};
use futures_util::stream;
use scene_schemas::api::{Event, EventRecord, ProposalStatus};
use scene_schemas::entry::Seq;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::super::long_poll;
use super::browser_response;
use super::format::safe_text;
use super::item::{PageChange, changes_of_event};
use crate::event_hub::{ChangeCounters, EventHub};

/// The minimum interval between signals about places.
const PAUSE: Duration = Duration::from_secs(2);
/// The same if only their sizes changed, which happens all the time while the user builds.
const GROWN: Duration = Duration::from_secs(10);

/// The message about an event.
#[derive(Debug, Serialize)]
struct PageMessage {
    task: Seq,
    /// The session in which the event begins a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    begins: Option<String>,
    /// The proposal that the event concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    proposal: Option<Seq>,
    /// The proposal that this proposal replaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Seq>,
    /// Whether a call was refused. If its proposal was withdrawn, the refusal is part of the
    /// reason.
    is_refusal: bool,
    /// A short notice, in case the user is not looking at the proposal.
    #[serde(skip_serializing_if = "Option::is_none")]
    passing: Option<PassingNote>,
    /// Whether the event has an entry, so that lists elsewhere may have changed.
    lasts: bool,
    changes: Vec<PageChange>,
}

#[derive(Debug, Serialize)]
struct PassingNote {
    text: String,
    /// The style in which the page shows it.
    tone: &'static str,
}

impl PassingNote {
    fn from_event(event: &Event) -> Option<Self> {
        let Event::ProposalChanged { proposal, status, reason, .. } = event else {
            return None;
        };
        let (what, tone) = match status {
            ProposalStatus::Applied => ("was applied", "good"),
            ProposalStatus::Failed => ("could not be applied", "bad"),
            ProposalStatus::Undone => ("was undone in Studio", "plain"),
            _ => return None,
        };
        let why =
            reason.as_ref().map(|reason| format!(": {}", safe_text(reason))).unwrap_or_default();
        Some(Self { text: format!("Proposal {proposal} {what}{why}"), tone })
    }
}

impl PageMessage {
    fn from_record(record: &EventRecord) -> Self {
        let event = &record.event;
        let lasts = !matches!(
            event,
            Event::AssistantStart {}
                | Event::AssistantUpdate { .. }
                | Event::Thinking { .. }
                | Event::Stalled { .. }
                | Event::Retrying { .. }
        );
        Self {
            task: record.workflow,
            begins: match event {
                Event::Asked { session, .. } => session.as_ref().map(ToString::to_string),
                _ => None,
            },
            proposal: match event {
                Event::ProposalMapped { proposal, .. }
                | Event::ProposalChanged { proposal, .. }
                | Event::Review { proposal, .. } => Some(*proposal),
                _ => None,
            },
            from: match event {
                Event::ProposalMapped { from, .. } => *from,
                _ => None,
            },
            is_refusal: matches!(event, Event::ToolError { .. }),
            passing: PassingNote::from_event(event),
            lasts,
            changes: changes_of_event(record),
        }
    }
}

/// The signals beside the events.
struct SideChannel {
    event_hub: Arc<EventHub>,
    changes: watch::Receiver<ChangeCounters>,
    reported: ChangeCounters,
    /// The minimum intervals between signals about places, and about their sizes.
    pauses: (Duration, Duration),
    since: Option<Instant>,
}

impl SideChannel {
    /// Reports the changes from now on.
    fn from_hub(event_hub: &Arc<EventHub>, pauses: (Duration, Duration)) -> Self {
        let changes = event_hub.subscribe_changes();
        let reported = *changes.borrow();
        Self { event_hub: Arc::clone(event_hub), changes, reported, pauses, since: None }
    }

    /// Waits for the next signal. None once the daemon is closing.
    async fn next(&mut self) -> Option<String> {
        loop {
            let missed = self.event_hub.detect_absent();
            let counters = *self.changes.borrow_and_update();
            if counters.is_over {
                return None;
            }
            let left = self.place_delay(counters).map(|pause| {
                self.since.map_or(Duration::ZERO, |since| pause.saturating_sub(since.elapsed()))
            });
            let mut text = String::new();
            if counters.settings != self.reported.settings {
                self.reported.settings = counters.settings;
                text += &signal_event("settings");
            }
            if counters.verifies != self.reported.verifies {
                self.reported.verifies = counters.verifies;
                text += &signal_event("verifies");
            }
            if left.is_some_and(|left| left.is_zero()) {
                (self.reported.places, self.reported.sizes) = (counters.places, counters.sizes);
                self.since = Some(Instant::now());
                text += &signal_event("places");
            }
            if !text.is_empty() {
                return Some(text);
            }
            let delay = left.into_iter().chain(missed).min();
            tokio::select! {
                changed = self.changes.changed() => changed.ok()?,
                () = async { match delay { Some(wakes) => sleep(wakes).await, None => pending().await } } => {}
            }
        }
    }

    /// Returns the minimum interval for the pending change of places; None if there is none.
    fn place_delay(&self, counters: ChangeCounters) -> Option<Duration> {
        let (others, grown) = self.pauses;
        let is_grown = counters.sizes != self.reported.sizes;
        let is_other = counters.places != self.reported.places;
        is_other.then_some(others).or(is_grown.then_some(grown))
    }
}

/// Returns a signal without data and without a cursor: a client that resumes at a cursor requests
/// everything again anyway.
fn signal_event(what: &str) -> String {
    format!("event: {what}\ndata: {{}}\n\n")
}

/// Streams the events after a cursor, and signals.
pub(in super::super) fn page_stream(event_hub: Arc<EventHub>, cursor: Seq) -> Response<Body> {
    let side_events = stream::unfold(
        SideChannel::from_hub(&event_hub, (PAUSE, GROWN)),
        |mut channel| async move {
            let text = channel.next().await?;
            Some((Ok::<_, Infallible>(Bytes::from(text)), channel))
        },
    );
    let events = long_poll::event_stream(event_hub, cursor, |record| {
        serde_json::to_string(&PageMessage::from_record(record)).unwrap_or_default()
    });
    let body = Body::from_stream(stream::select(events, side_events));
    browser_response(HeaderValue::from_static("text/event-stream"), body)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use scene_schemas::api::SessionId;
    use scene_schemas::proposal::Class;
    use tokio::runtime::Runtime;

    use super::*;
    use crate::event_hub::TokenHash;

    const SOON: Duration = Duration::from_mins(1);

    fn runtime() -> Runtime {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
    }

    fn event_hub() -> Arc<EventHub> {
        Arc::new(EventHub::new(TokenHash::of_token("a person's")))
    }

    #[test]
    fn mapped_proposal_names_its_original() {
        let title = "T".to_owned();
        let (class, from) = (Class::Additive, Some(Seq(7)));
        let (call, proposal, subject) = (Seq(3), Seq(9), None);
        let event = Event::ProposalMapped { call, proposal, title, subject, class, from };
        let record = EventRecord { seq: Seq(10), at: 0, workflow: Seq(1), event };
        let told = serde_json::to_value(PageMessage::from_record(&record)).unwrap();
        assert_eq!((&told["proposal"], &told["from"]), (&9.into(), &7.into()));
    }

    #[test]
    fn changes_without_events_are_signalled_once() {
        let (runtime, event_hub) = (runtime(), event_hub());
        let _in = runtime.enter();
        let window = SessionId("window".to_owned());
        event_hub.mark_settings_changed();
        let mut beside = SideChannel::from_hub(&event_hub, (Duration::ZERO, Duration::ZERO));
        assert_eq!(beside.next().now_or_never(), None, "nothing is otherwise since");
        let mut tells = |what: &[&str]| {
            let wanted: String = what.iter().map(|it| signal_event(it)).collect();
            assert_eq!(beside.next().now_or_never(), Some(Some(wanted)));
            assert_eq!(beside.next().now_or_never(), None, "it is said once");
        };
        event_hub.register(&window, 1, TokenHash::of_token("token"));
        tells(&["places"]);
        event_hub.mark_settings_changed();
        event_hub.mark_settings_changed();
        tells(&["settings"]);
        event_hub.mark_sizes_changed();
        tells(&["places"]);
        event_hub.mark_places_changed();
        event_hub.mark_sizes_changed();
        event_hub.mark_settings_changed();
        tells(&["settings", "places"]);
        event_hub.remove(&window);
        tells(&["places"]);
        event_hub.close();
        assert_eq!(beside.next().now_or_never(), Some(None));
    }

    #[test]
    fn frequent_place_changes_are_throttled() {
        let (runtime, event_hub) = (runtime(), event_hub());
        let _in = runtime.enter();
        let mut rarely = SideChannel::from_hub(&event_hub, (SOON, SOON));
        let mut often = SideChannel::from_hub(&event_hub, (Duration::from_millis(20), SOON));
        for beside in [&mut rarely, &mut often] {
            event_hub.mark_places_changed();
            assert_eq!(
                beside.next().now_or_never(),
                Some(Some(signal_event("places"))),
                "the first time"
            );
        }
        event_hub.mark_places_changed();
        assert_eq!(rarely.next().now_or_never(), None);
        event_hub.mark_settings_changed();
        assert_eq!(rarely.next().now_or_never(), Some(Some(signal_event("settings"))));
        // The last change is not lost.
        let told = runtime.block_on(async {
            let mut told = String::new();
            while !told.contains("places") {
                told += &often.next().await.unwrap();
            }
            told
        });
        assert!(told.ends_with(&signal_event("places")), "{told}");
        assert_eq!(often.next().now_or_never(), None);
    }

    #[test]
    fn size_changes_are_throttled_separately() {
        let (runtime, event_hub) = (runtime(), event_hub());
        let _in = runtime.enter();
        let mut beside = SideChannel::from_hub(&event_hub, (Duration::ZERO, SOON));
        event_hub.mark_sizes_changed();
        assert_eq!(
            beside.next().now_or_never(),
            Some(Some(signal_event("places"))),
            "the first time"
        );
        event_hub.mark_sizes_changed();
        assert_eq!(beside.next().now_or_never(), None);
        event_hub.mark_places_changed();
        assert_eq!(beside.next().now_or_never(), Some(Some(signal_event("places"))));
        assert_eq!(beside.next().now_or_never(), None, "how large they are was told with it");
        let mut soon = SideChannel::from_hub(&event_hub, (SOON, Duration::from_millis(20)));
        for _ in 0..2 {
            event_hub.mark_sizes_changed();
            let told = runtime.block_on(soon.next());
            assert_eq!(told, Some(signal_event("places")), "the last change is not lost");
        }
    }

    #[test]
    fn stream_ends_when_the_event_hub_closes() {
        let (runtime, event_hub) = (runtime(), event_hub());
        let body = page_stream(Arc::clone(&event_hub), Seq(0)).into_body();
        event_hub.mark_settings_changed();
        event_hub.close();
        let all = axum::body::to_bytes(body, 1_000);
        let all = runtime.block_on(async { tokio::time::timeout(SOON, all).await });
        assert_eq!(all.unwrap().unwrap(), "");
    }
}
