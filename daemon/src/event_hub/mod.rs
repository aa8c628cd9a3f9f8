//! The event hub: the work that is queued for each session's plugin, the events of all workflows,
//! and the tokens that are valid.
//!
//! Sessions publish here, and the server reads without asking a session, so that a poll is answered
//! as soon as there is something to send. The hub is a cache: the ledger is the record of what
//! happened.

mod connected_clients;
mod review_gate;
mod token_hash;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use scene_schemas::api::{
    Event, EventRecord, PluginEvent, PluginQuery, PollRequest, PollResponse, SessionId,
    SessionNeed, StreamPage, Work,
};
use scene_schemas::entry::Seq;
use tokio::sync::{Notify, watch};

pub use self::connected_clients::ConnectedClients;
pub use self::review_gate::{ApprovalObstacle, ReviewDemand, ReviewGate};
pub use self::token_hash::TokenHash;

/// The number of events that are kept.
const MAX_EVENTS: usize = 20_000;
/// The maximum number of events in one response.
const MAX_PAGE: usize = 500;
/// Cursor values per ledger position. Those in between number the transient events, which have no
/// entry.
const MOMENTS: u64 = 4_096;
/// How long a person is taken to look at a proposal that they opened.
const VIEWING: Duration = Duration::from_mins(3);

/// A plugin that has sent nothing for this long is away. It polls at least every 15 seconds.
pub const AWAY: Duration = Duration::from_secs(30);

/// Counters of the changes that no event reports. Each change increments its counter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangeCounters {
    /// Open places, their projects, their completeness, and the presence of their plugins.
    pub places: u64,
    /// Sizes of the places. They change all the time while the user builds.
    pub sizes: u64,
    /// Settings, the usable models, and granted access.
    pub settings: u64,
    /// Runs of specs in Roblox's engine.
    pub verifies: u64,
    pub is_over: bool,
}

#[derive(Debug)]
pub struct EventHub {
    human_token: RwLock<TokenHash>,
    /// The tokens of pages, which act for the user as well.
    page_tokens: RwLock<Vec<TokenHash>>,
    agent_tokens: RwLock<Vec<TokenHash>>,
    /// The agents' token of this run of the daemon.
    run_token: RwLock<Option<TokenHash>>,
    /// Notifies that a token may have become invalid.
    revocations: watch::Sender<u64>,
    last_activity: Mutex<Instant>,
    stop: Notify,
    slots: RwLock<HashMap<SessionId, Arc<SessionSlot>>>,
    log: Mutex<EventLog>,
    wake: watch::Sender<u64>,
    changes: watch::Sender<ChangeCounters>,
    clients: ConnectedClients,
    /// The proposal that a person opened last, and when.
    viewed: Mutex<Option<(Seq, Instant)>>,
}

#[derive(Debug, Default)]
struct EventLog {
    events: VecDeque<LoggedEvent>,
    /// The cursor of the last event.
    head: u64,
}

#[derive(Debug)]
struct LoggedEvent {
    cursor: u64,
    session: Option<SessionId>,
    record: EventRecord,
}

/// The size of a place's mirror, and the project that the place is synced with.
#[derive(Debug, Clone, Default)]
pub struct MirrorSize {
    /// The number of mirrored instances.
    pub instances: u32,
    /// Whether the mirror is complete.
    pub is_whole: bool,
    pub version: u64,
    /// The name of the linked Rojo project.
    pub project: Option<String>,
}

/// The extent of a change, as far as the user sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisibleChange {
    Same,
    /// Only the number of instances.
    Size,
    Place,
}

/// The events of a plugin that are kept, and the bytes of each of their texts.
const MAX_PLUGIN_EVENTS: usize = 500;
const MAX_EVENT_TEXT: usize = 200;

fn cut_text(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_EVENT_TEXT));
    text
}

/// The slot of a session: the work that is queued for its plugin.
#[derive(Debug)]
pub struct SessionSlot {
    state: Mutex<SlotState>,
    /// The latest events of the plugin, of all its epochs.
    plugin_log: Mutex<VecDeque<PluginEvent>>,
    wake: watch::Sender<u64>,
}

#[derive(Debug, Clone)]
struct SlotState {
    epoch: u64,
    token: TokenHash,
    work: Vec<Work>,
    need: Option<SessionNeed>,
    stopped_workflows: Vec<Seq>,
    review_gate: Arc<ReviewGate>,
    size: MirrorSize,
    last_poll: Instant,
    /// Whether the absence of its plugin was noticed already.
    is_missed: bool,
    /// Whether the session needs no plugin, so that none can be absent.
    is_permanent: bool,
}

fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic cannot leave a partly written value behind.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the token is one of these.
fn is_among(all: &RwLock<Vec<TokenHash>>, token: &str) -> bool {
    let given = TokenHash::of_token(token);
    let all = all.read().unwrap_or_else(PoisonError::into_inner);
    // Compare all, so that the time reveals nothing.
    all.iter().fold(false, |known, it| known | it.equals(&given))
}

impl EventHub {
    /// Creates a hub with one token of the user.
    pub fn new(human: TokenHash) -> Self {
        Self {
            human_token: RwLock::new(human),
            page_tokens: RwLock::default(),
            agent_tokens: RwLock::default(),
            run_token: RwLock::default(),
            revocations: watch::Sender::new(0),
            last_activity: Mutex::new(Instant::now()),
            stop: Notify::new(),
            slots: RwLock::default(),
            log: Mutex::default(),
            wake: watch::Sender::new(0),
            changes: watch::Sender::new(ChangeCounters::default()),
            clients: ConnectedClients::default(),
            viewed: Mutex::default(),
        }
    }

    pub fn connected_clients(&self) -> &ConnectedClients {
        &self.clients
    }

    /// Records that a client has sent a request.
    pub(crate) fn record_activity(&self) {
        *lock_mutex(&self.last_activity) = Instant::now();
    }

    /// Returns the time since the last request.
    pub fn idle_time(&self) -> Duration {
        lock_mutex(&self.last_activity).elapsed()
    }

    pub(crate) fn request_stop(&self) {
        self.stop.notify_one();
    }

    /// Waits until the user requests that the daemon ends.
    pub async fn wait_for_stop(&self) {
        self.stop.notified().await;
    }

    /// Replaces the tokens of agents.
    pub fn set_agent_tokens(&self, agents: Vec<TokenHash>) {
        *self.agent_tokens.write().unwrap_or_else(PoisonError::into_inner) = agents;
        self.notify_revoked();
    }

    /// Replaces the tokens of pages.
    pub fn set_page_tokens(&self, pages: Vec<TokenHash>) {
        *self.page_tokens.write().unwrap_or_else(PoisonError::into_inner) = pages;
        self.notify_revoked();
    }

    /// Replaces the token of the user's terminal.
    pub fn set_human_token(&self, human: TokenHash) {
        *self.human_token.write().unwrap_or_else(PoisonError::into_inner) = human;
        self.notify_revoked();
    }

    fn notify_revoked(&self) {
        self.revocations.send_modify(|n| *n = n.saturating_add(1));
    }

    /// Waits until a token is no longer valid.
    pub(crate) async fn wait_until_revoked(&self, token: &str) {
        let mut changes = self.revocations.subscribe();
        while self.is_human(token) || self.is_agent(token) || self.session_of(token).is_some() {
            // The sender lives as long as the hub, so this cannot fail.
            let _ = changes.changed().await;
        }
    }

    /// Returns the owner of the MCP sessions that a token opens. Sessions of the run's own tokens
    /// outlive the run, for anyone who can read the next token. Sessions of a client's token belong
    /// to that client.
    pub(crate) fn owner_of(&self, token: &str) -> String {
        let run = self.run_token.read().unwrap_or_else(PoisonError::into_inner);
        if self.is_human(token) {
            "person".to_owned()
        } else if run.as_ref().is_some_and(|it| it.matches(token)) {
            "run".to_owned()
        } else {
            TokenHash::of_token(token).hash().to_owned()
        }
    }

    /// Replaces the agents' token of this run.
    pub fn set_run_token(&self, agent: Option<TokenHash>) {
        *self.run_token.write().unwrap_or_else(PoisonError::into_inner) = agent;
    }

    pub(crate) fn is_agent(&self, token: &str) -> bool {
        is_among(&self.agent_tokens, token)
    }

    pub(crate) fn is_human(&self, token: &str) -> bool {
        let is_terminal =
            self.human_token.read().unwrap_or_else(PoisonError::into_inner).matches(token);
        is_terminal | is_among(&self.page_tokens, token)
    }

    /// Returns the session that a token belongs to.
    pub(crate) fn session_of(&self, token: &str) -> Option<SessionId> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let (given, mut found) = (TokenHash::of_token(token), None);
        // Compare all, so that the time reveals nothing.
        for (session, slot) in slots.iter() {
            if lock_mutex(&slot.state).token.equals(&given) {
                found = Some(session.clone());
            }
        }
        found
    }

    pub fn slot(&self, session: &SessionId) -> Option<Arc<SessionSlot>> {
        self.slots.read().unwrap_or_else(PoisonError::into_inner).get(session).cloned()
    }

    /// Registers a session in a new epoch. Polls of the previous epoch end.
    pub fn register(&self, session: &SessionId, epoch: u64, token: TokenHash) -> Arc<SessionSlot> {
        let state =
            // Nothing is known of a place whose plugin has just connected.
            SlotState {
                epoch,
                token,
                work: Vec::new(),
                need: Some(SessionNeed::Snapshot),
                stopped_workflows: Vec::new(),
                review_gate: Arc::default(),
                size: MirrorSize::default(),
                last_poll: Instant::now(),
                is_missed: false,
                is_permanent: false,
            };
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.entry(session.clone());
        let slot = slot.or_insert_with(|| {
            let state = Mutex::new(state.clone());
            let plugin_log = Mutex::default();
            Arc::new(SessionSlot { state, plugin_log, wake: watch::Sender::new(0) })
        });
        *lock_mutex(&slot.state) = state;
        slot.wake.send_modify(|n| *n += 1);
        self.mark_places_changed();
        Arc::clone(slot)
    }

    /// Removes the slot of a session whose plugin is gone. The plugin sends hello when it comes
    /// back.
    pub fn remove(&self, session: &SessionId) {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.remove(session) {
            // A poll that waits ends.
            lock_mutex(&slot.state).epoch = 0;
            slot.wake();
        }
        drop(slots);
        self.notify_revoked();
        self.mark_places_changed();
    }

    /// Reports that the list of open places changed, or what is known of them.
    pub fn mark_places_changed(&self) {
        self.changes.send_modify(|counters| counters.places = counters.places.saturating_add(1));
    }

    /// Reports that an open place has grown or shrunk.
    pub fn mark_sizes_changed(&self) {
        self.changes.send_modify(|counters| counters.sizes = counters.sizes.saturating_add(1));
    }

    /// Reports that the settings or the granted access changed.
    pub fn mark_settings_changed(&self) {
        self.changes
            .send_modify(|counters| counters.settings = counters.settings.saturating_add(1));
    }

    /// Reports that a run of specs in Roblox's engine began, came further or ended.
    pub fn mark_verifies_changed(&self) {
        self.changes
            .send_modify(|counters| counters.verifies = counters.verifies.saturating_add(1));
    }

    /// Marks the plugins that are away by now. Returns the time until the next one may be, or None
    /// if none can be. Absence causes no event, so callers have to check.
    pub(crate) fn detect_absent(&self) -> Option<Duration> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let (mut next, mut is_news) = (None, false);
        for slot in slots.values() {
            let mut state = lock_mutex(&slot.state);
            if state.is_permanent || state.is_missed {
                continue;
            }
            let left = AWAY.saturating_sub(state.last_poll.elapsed());
            if left.is_zero() {
                (state.is_missed, is_news) = (true, true);
            } else {
                next = Some(next.map_or(left, |next: Duration| next.min(left)));
            }
        }
        drop(slots);
        if is_news {
            self.mark_places_changed();
        }
        next
    }

    /// Subscribes to the counters of changes.
    pub fn subscribe_changes(&self) -> watch::Receiver<ChangeCounters> {
        self.changes.subscribe()
    }

    /// Records an event, and wakes those that wait for it.
    pub fn publish(&self, session: Option<&SessionId>, record: EventRecord, of_the_moment: bool) {
        self.record_event(session, record, of_the_moment);
        self.wake_waiters(session);
    }
    /// Records that a person has opened a proposal.
    pub fn note_viewed(&self, proposal: Seq) {
        *self.viewed.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((proposal, Instant::now()));
    }

    /// Returns the proposal that a person opened last, unless that is long ago.
    pub fn viewed_proposal(&self) -> Option<Seq> {
        let viewed = self.viewed.lock().unwrap_or_else(PoisonError::into_inner);
        viewed.filter(|(_, at)| at.elapsed() < VIEWING).map(|(seq, _)| seq)
    }

    /// Returns the places that are open and completely read.
    pub fn read_places(&self) -> BTreeSet<SessionId> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let read = slots.iter().filter(|(_, slot)| slot.mirror_size().is_whole);
        read.map(|(name, _)| name.clone()).collect()
    }

    /// Wakes those that wait for news of a session, or of any session if `session` is None.
    pub fn wake_waiters(&self, session: Option<&SessionId>) {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let is_meant = |name: &SessionId| session.is_none_or(|session| session == name);
        slots.iter().filter(|(name, _)| is_meant(name)).for_each(|(_, slot)| slot.wake());
        drop(slots);
        self.wake.send_modify(|n| *n = n.saturating_add(1));
    }

    /// Records an event without waking anyone, for callers that wake the waiters later. An event
    /// that is `of_the_moment` has no entry in the ledger.
    pub fn record_event(
        &self,
        session: Option<&SessionId>,
        record: EventRecord,
        of_the_moment: bool,
    ) {
        let mut log = lock_mutex(&self.log);
        let place = record.seq.0 * MOMENTS;
        let cursor = if of_the_moment { log.head + 1 } else { place.max(log.head + 1) };
        log.head = cursor;
        log.events.push_back(LoggedEvent { cursor, session: session.cloned(), record });
        if log.events.len() > MAX_EVENTS {
            log.events.pop_front();
        }
    }

    /// Drops the events of workflows whose texts were erased.
    pub fn erase_events(&self, is_erased: impl Fn(Seq) -> bool) {
        let mut known: HashMap<Seq, bool> = HashMap::new();
        let mut is_erased = |seq: Seq| *known.entry(seq).or_insert_with(|| is_erased(seq));
        lock_mutex(&self.log).events.retain(|it| !is_erased(it.record.workflow));
    }

    /// Returns the session that a proposal was published for.
    pub fn session_of_proposal(&self, wanted: Seq) -> Option<SessionId> {
        let log = lock_mutex(&self.log);
        let is_it = |it: &&LoggedEvent| matches!(it.record.event, Event::ProposalMapped { proposal, .. } if proposal == wanted);
        log.events.iter().rev().find(is_it)?.session.clone()
    }

    /// Returns the cursor right before the events of an entry.
    pub fn cursor_before(seq: Seq) -> Seq {
        Seq((seq.0 * MOMENTS).saturating_sub(1))
    }

    /// Returns the cursor of the last event.
    pub fn head(&self) -> Seq {
        Seq(lock_mutex(&self.log).head)
    }

    /// Returns the events after a cursor, of one session or of all.
    pub(crate) fn read_page(&self, after: Seq, session: Option<&SessionId>) -> StreamPage {
        let (cursor, events) = self.events_after(after, session);
        StreamPage { cursor, events: events.into_iter().map(|(_, record)| record).collect() }
    }

    /// Returns the same, each event with its cursor.
    pub(crate) fn events_after(
        &self,
        after: Seq,
        session: Option<&SessionId>,
    ) -> (Seq, Vec<(Seq, EventRecord)>) {
        let log = lock_mutex(&self.log);
        // A cursor of an earlier run is beyond the last event. It starts from the beginning.
        let after = if after.0 > log.head { 0 } else { after.0 };
        let first = log.events.partition_point(|it| it.cursor <= after);
        let of_session = |it: &&LoggedEvent| {
            session.is_none() || it.session.is_none() || it.session.as_ref() == session
        };
        let mut found = log.events.range(first..).filter(of_session);
        let page = found.by_ref().take(MAX_PAGE).map(|it| (Seq(it.cursor), it.record.clone()));
        let page: Vec<(Seq, EventRecord)> = page.collect();
        let is_all = found.next().is_none();
        let last = page.last().filter(|_| !is_all).map_or(Seq(log.head), |(cursor, _)| *cursor);
        (last, page)
    }

    /// Returns the parts of a message that is still arriving, and the cursor of the last event.
    pub fn streaming_events(&self, workflow: Seq) -> (Seq, Vec<EventRecord>) {
        let log = lock_mutex(&self.log);
        let is_moment = |it: &&LoggedEvent| {
            let event = &it.record.event;
            matches!(event, Event::AssistantStart {} | Event::AssistantUpdate { .. })
        };
        let own = log.events.iter().rev().filter(|it| it.record.workflow == workflow);
        let passing = |it: &&LoggedEvent| {
            let event = &it.record.event;
            is_moment(it) || matches!(event, Event::Thinking { .. } | Event::Stalled { .. })
        };
        let moments = own.take_while(passing).filter(is_moment).map(|it| it.record.clone());
        let mut moments: Vec<EventRecord> = moments.collect();
        moments.reverse();
        (Seq(log.head), moments)
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.wake.subscribe()
    }

    /// Ends all requests that wait.
    pub(crate) fn close(&self) {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        for slot in slots.values() {
            slot.wake.send_modify(|n| *n = u64::MAX);
        }
        self.wake.send_modify(|n| *n = u64::MAX);
        self.changes.send_modify(|counters| counters.is_over = true);
    }
}

impl SessionSlot {
    pub fn epoch(&self) -> u64 {
        lock_mutex(&self.state).epoch
    }

    pub fn is_closed(&self) -> bool {
        self.epoch() == 0
    }

    /// Marks that no plugin belongs to the session, which stays open as long as the daemon runs.
    pub fn mark_permanent(&self) {
        let mut state = lock_mutex(&self.state);
        state.is_permanent = true;
        state.need = None;
    }

    /// Returns the time since the last poll of the plugin.
    pub fn silence_duration(&self) -> Duration {
        let state = lock_mutex(&self.state);
        if state.is_permanent { Duration::ZERO } else { state.last_poll.elapsed() }
    }

    /// Whether a workflow has failed and waits for a retry.
    pub fn is_stopped(&self, workflow: Seq) -> bool {
        lock_mutex(&self.state).stopped_workflows.contains(&workflow)
    }

    /// Updates the size of the mirror. Returns the extent of the visible change; the user does not
    /// see versions.
    pub fn update_size(&self, size: MirrorSize) -> VisibleChange {
        let mut state = lock_mutex(&self.state);
        let old = std::mem::replace(&mut state.size, size);
        let new = &state.size;
        if (new.is_whole, &new.project) != (old.is_whole, &old.project) {
            VisibleChange::Place
        } else if new.instances != old.instances {
            VisibleChange::Size
        } else {
            VisibleChange::Same
        }
    }

    pub fn mirror_size(&self) -> MirrorSize {
        lock_mutex(&self.state).size.clone()
    }

    /// Replaces the work for the plugin, and the workflows that have failed. The caller wakes those
    /// that wait for it.
    pub fn set_work(&self, work: &[Work], need: Option<SessionNeed>, stopped: Vec<Seq>) {
        let mut state = lock_mutex(&self.state);
        if state.work != work {
            state.work = work.to_vec();
        }
        state.need = need;
        state.stopped_workflows = stopped;
    }

    fn wake(&self) {
        self.wake.send_modify(|n| *n = n.saturating_add(1));
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.wake.subscribe()
    }

    /// Adds to what the plugin reported, of which the latest is kept.
    pub fn extend_plugin_log(&self, events: Vec<PluginEvent>) {
        if events.is_empty() {
            return;
        }
        let mut log = lock_mutex(&self.plugin_log);
        log.extend(events.into_iter().map(|event| PluginEvent {
            what: cut_text(event.what),
            detail: event.detail.map(cut_text),
            ..event
        }));
        let surplus = log.len().saturating_sub(MAX_PLUGIN_EVENTS);
        log.drain(..surplus);
    }

    pub fn plugin_log(&self) -> Vec<PluginEvent> {
        lock_mutex(&self.plugin_log).iter().cloned().collect()
    }

    /// Returns the response to a poll, and whether it contains anything.
    pub(crate) fn answer_poll(
        &self,
        event_hub: &EventHub,
        session: &SessionId,
        poll: &PollRequest,
    ) -> (PollResponse, bool) {
        let page = event_hub.read_page(poll.cursor, Some(session));
        let mut state = lock_mutex(&self.state);
        state.last_poll = Instant::now();
        if std::mem::take(&mut state.is_missed) {
            event_hub.mark_places_changed();
        }
        let is_new = |work: &&Work| !poll.known_work.contains(&work.number());
        let work = first_work(state.work.iter().filter(is_new));
        let is_something = !work.is_empty() || !page.events.is_empty() || state.need.is_some();
        let polled =
            PollResponse { cursor: page.cursor, events: page.events, work, need: state.need };
        (polled, is_something)
    }
}

/// The maximum number of instances of the queries in a response. The plugin decodes a response in one
/// go, and Studio waits for that.
const MAX_QUERIED: usize = 1_000;

/// Returns the work for one response. The plugin polls again at once, and gets the rest.
fn first_work<'a>(work: impl Iterator<Item = &'a Work>) -> Vec<Work> {
    let mut queried = 0;
    let fits = |work: &&Work| {
        let is_first = queried == 0;
        queried += match work {
            Work::Query { query: PluginQuery::Properties { of }, .. } => of.len(),
            Work::Query { query: PluginQuery::Sources { ids }, .. } => ids.len(),
            Work::Query { .. }
            | Work::Apply { .. }
            | Work::Playtest { .. }
            | Work::EndPlaytest { .. } => 0,
        };
        is_first || queried <= MAX_QUERIED
    };
    work.take_while(fits).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_session_is_reported_once_and_again_on_return() {
        let event_hub = EventHub::new(TokenHash::of_token("a person's"));
        let (window, file) = (SessionId("window".to_owned()), SessionId("file".to_owned()));
        event_hub.register(&file, 1, TokenHash::of_token("file")).mark_permanent();
        let slot = event_hub.register(&window, 2, TokenHash::of_token("window"));
        let places = || event_hub.changes.borrow().places;
        let before = places();
        assert!(event_hub.detect_absent().is_some_and(|left| !left.is_zero() && left <= AWAY));
        assert_eq!(places(), before, "all are there");
        lock_mutex(&slot.state).last_poll = Instant::now().checked_sub(AWAY).unwrap();
        assert_eq!((event_hub.detect_absent(), places()), (None, before + 1));
        assert_eq!((event_hub.detect_absent(), places()), (None, before + 1));
        let poll = PollRequest {
            epoch: 2,
            cursor: Seq(0),
            hold: 0,
            known_work: Vec::new(),
            log: Vec::new(),
        };
        for _ in 0..2 {
            slot.answer_poll(&event_hub, &window, &poll);
            assert_eq!(places(), before + 2);
        }
        assert!(event_hub.detect_absent().is_some());
    }

    #[test]
    fn removed_session_slot_stays_closed() {
        let event_hub = EventHub::new(TokenHash::of_token("a person's"));
        let window = SessionId("window".to_owned());
        let slot = event_hub.register(&window, 1, TokenHash::of_token("one"));
        assert!(!slot.is_closed());
        event_hub.remove(&window);
        assert!(slot.is_closed());
        assert!(!event_hub.register(&window, 2, TokenHash::of_token("two")).is_closed());
        assert!(slot.is_closed(), "whoever comes back has another");
    }

    #[test]
    fn only_visible_mirror_changes_are_reported() {
        let event_hub = EventHub::new(TokenHash::of_token("a person's"));
        let slot =
            event_hub.register(&SessionId("window".to_owned()), 1, TokenHash::of_token("window"));
        let size = |instances, version, project: Option<&str>| MirrorSize {
            instances,
            is_whole: instances > 2,
            version,
            project: project.map(str::to_owned),
        };
        assert_eq!(slot.update_size(size(2, 1, None)), VisibleChange::Size);
        assert_eq!(slot.update_size(size(3, 1, None)), VisibleChange::Place, "it is all there");
        assert_eq!(slot.update_size(size(3, 2, None)), VisibleChange::Same);
        assert_eq!(slot.update_size(size(4, 2, None)), VisibleChange::Size);
        assert_eq!(slot.update_size(size(4, 2, Some("game"))), VisibleChange::Place);
        assert_eq!(slot.mirror_size().version, 2);
    }
}
