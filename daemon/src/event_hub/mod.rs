//! The event hub: the work that waits for each session's plugin, and the events of all workflows.
//!
//! Sessions publish here, and the server reads without asking a session, so that a poll is answered as soon as
//! there is something. It is a cache: the ledger holds what happened.

mod connected_clients;
mod token_hash;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use scene_schemas::api::{
    Event, EventRecord, PollRequest, PollResponse, SessionId, SessionNeed, StreamPage, Work,
};
use scene_schemas::entry::Seq;
use tokio::sync::{Notify, watch};

pub use self::connected_clients::ConnectedClients;
pub use self::token_hash::TokenHash;

/// How many events are kept.
const MAX_EVENTS: usize = 20_000;
/// How many events one answer holds.
const MAX_PAGE: usize = 500;
/// Places between two positions of the ledger, for what is only of the moment.
const MOMENTS: u64 = 4_096;

/// A plugin that was not heard of for this long is away: it polls at least every 15 seconds.
pub const AWAY: Duration = Duration::from_secs(30);

/// What is otherwise now, of all that no event says: each is another number then.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangeCounters {
    /// The places that are open, what is known of them, and which of their plugins are there.
    pub places: u64,
    /// How large they are: while somebody builds, that is so all the time.
    pub sizes: u64,
    /// What a person has chosen, and who is let in.
    pub settings: u64,
    pub is_over: bool,
}

/// What waits and what has happened.
#[derive(Debug)]
pub struct EventHub {
    human_token: RwLock<TokenHash>,
    /// The tokens of pages, which are a person's too.
    page_tokens: RwLock<Vec<TokenHash>>,
    agent_tokens: RwLock<Vec<TokenHash>>,
    /// The token of agents that belongs to this run of the daemon.
    run_token: RwLock<Option<TokenHash>>,
    /// Told when a token does not count any more.
    revocations: watch::Sender<u64>,
    last_activity: Mutex<Instant>,
    stop: Notify,
    slots: RwLock<HashMap<SessionId, Arc<SessionSlot>>>,
    log: Mutex<EventLog>,
    wake: watch::Sender<u64>,
    changes: watch::Sender<ChangeCounters>,
    clients: ConnectedClients,
}

#[derive(Debug, Default)]
struct EventLog {
    events: VecDeque<LoggedEvent>,
    /// The cursor behind the last event.
    head: u64,
}

#[derive(Debug)]
struct LoggedEvent {
    cursor: u64,
    session: Option<SessionId>,
    record: EventRecord,
}

/// How large the mirror of a place is, and what it is synced with.
#[derive(Debug, Clone, Default)]
pub struct MirrorSize {
    /// How many instances are mirrored.
    pub instances: u32,
    /// Whether these are all.
    pub is_whole: bool,
    /// The version of the mirror.
    pub version: u64,
    /// A project of Rojo, by its file.
    pub project: Option<String>,
}

/// What a person sees of a place that was otherwise before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisibleChange {
    Same,
    /// Only how large it is.
    Size,
    Place,
}

/// A session: what waits for its plugin.
#[derive(Debug)]
pub struct SessionSlot {
    state: Mutex<SlotState>,
    wake: watch::Sender<u64>,
}

#[derive(Debug, Clone)]
struct SlotState {
    epoch: u64,
    token: TokenHash,
    work: Vec<Work>,
    need: Option<SessionNeed>,
    stopped_workflows: Vec<Seq>,
    size: MirrorSize,
    last_poll: Instant,
    /// Whether it was noticed that its plugin is away.
    is_missed: bool,
    /// Whether no plugin is needed, and so none is missed.
    is_permanent: bool,
}

fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever panicked has left whole values behind.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a token is one of these.
fn is_among(all: &RwLock<Vec<TokenHash>>, token: &str) -> bool {
    let given = TokenHash::of_token(token);
    let all = all.read().unwrap_or_else(PoisonError::into_inner);
    // All are looked at, so that the time tells nothing.
    all.iter().fold(false, |known, it| known | it.equals(&given))
}

impl EventHub {
    /// A board for which one token is a person's.
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
        }
    }

    /// The clients of agents that are connected.
    pub fn connected_clients(&self) -> &ConnectedClients {
        &self.clients
    }

    /// Somebody has asked something.
    pub(crate) fn record_activity(&self) {
        *lock_mutex(&self.last_activity) = Instant::now();
    }

    /// For how long nobody has asked anything.
    pub fn idle_time(&self) -> Duration {
        lock_mutex(&self.last_activity).elapsed()
    }

    pub(crate) fn request_stop(&self) {
        self.stop.notify_one();
    }

    /// Until a person has asked the daemon to end.
    pub async fn wait_for_stop(&self) {
        self.stop.notified().await;
    }

    /// From now on these tokens, and no others, are of agents.
    pub fn set_agent_tokens(&self, agents: Vec<TokenHash>) {
        *self.agent_tokens.write().unwrap_or_else(PoisonError::into_inner) = agents;
        self.notify_revoked();
    }

    /// From now on these tokens, and no others, are of pages.
    pub fn set_page_tokens(&self, pages: Vec<TokenHash>) {
        *self.page_tokens.write().unwrap_or_else(PoisonError::into_inner) = pages;
        self.notify_revoked();
    }

    /// From now on this token, and no other, is the person's at the terminal.
    pub fn set_human_token(&self, human: TokenHash) {
        *self.human_token.write().unwrap_or_else(PoisonError::into_inner) = human;
        self.notify_revoked();
    }

    fn notify_revoked(&self) {
        self.revocations.send_modify(|n| *n = n.saturating_add(1));
    }

    /// Until a token does not count any more.
    pub(crate) async fn wait_until_revoked(&self, token: &str) {
        let mut news = self.revocations.subscribe();
        while self.is_human(token) || self.is_agent(token) || self.session_of(token).is_some() {
            // The board outlives whoever looks at it.
            let _ = news.changed().await;
        }
    }

    /// Whose sessions a token opens: those of the run's own tokens outlive the run, for whoever can read
    /// the next one; those of a client's token are that client's.
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

    /// From now on this token of agents is the run's own.
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

    /// The session of a token.
    pub(crate) fn session_of(&self, token: &str) -> Option<SessionId> {
        let seats = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let (given, mut found) = (TokenHash::of_token(token), None);
        // All are looked at, so that the time tells nothing.
        for (session, seat) in seats.iter() {
            if lock_mutex(&seat.state).token.equals(&given) {
                found = Some(session.clone());
            }
        }
        found
    }

    /// The seat of a session.
    pub fn slot(&self, session: &SessionId) -> Option<Arc<SessionSlot>> {
        self.slots.read().unwrap_or_else(PoisonError::into_inner).get(session).cloned()
    }

    /// Seats a session, in a new epoch: polls of the one before end.
    pub fn register(&self, session: &SessionId, epoch: u64, token: TokenHash) -> Arc<SessionSlot> {
        let state =
            // Of a place that said hello, nothing is known.
            SlotState {
                epoch,
                token,
                work: Vec::new(),
                need: Some(SessionNeed::Snapshot),
                stopped_workflows: Vec::new(),
                size: MirrorSize::default(),
                last_poll: Instant::now(),
                is_missed: false,
                is_permanent: false,
            };
        let mut seats = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let seat = seats.entry(session.clone());
        let seat = seat.or_insert_with(|| {
            let state = Mutex::new(state.clone());
            Arc::new(SessionSlot { state, wake: watch::Sender::new(0) })
        });
        *lock_mutex(&seat.state) = state;
        seat.wake.send_modify(|n| *n += 1);
        self.mark_places_changed();
        Arc::clone(seat)
    }

    /// Clears the seat of a session whose plugin is gone; it says hello when it comes back.
    pub fn remove(&self, session: &SessionId) {
        let mut seats = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(seat) = seats.remove(session) {
            // A poll that is held ends.
            lock_mutex(&seat.state).epoch = 0;
            seat.wake();
        }
        drop(seats);
        self.notify_revoked();
        self.mark_places_changed();
    }

    /// The places that are open are otherwise now, or what is known of them.
    pub fn mark_places_changed(&self) {
        self.changes.send_modify(|news| news.places = news.places.saturating_add(1));
    }

    /// A place that is open has grown, or become smaller.
    pub fn mark_sizes_changed(&self) {
        self.changes.send_modify(|news| news.sizes = news.sizes.saturating_add(1));
    }

    /// A person has chosen something, or somebody else is let in now.
    pub fn mark_settings_changed(&self) {
        self.changes.send_modify(|news| news.settings = news.settings.saturating_add(1));
    }

    /// Notices who is away by now; after how long somebody else may be. Nobody says anything then: whoever
    /// wants to know has to look.
    pub(crate) fn detect_absent(&self) -> Option<Duration> {
        let seats = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let (mut next, mut is_news) = (None, false);
        for seat in seats.values() {
            let mut state = lock_mutex(&seat.state);
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
        drop(seats);
        if is_news {
            self.mark_places_changed();
        }
        next
    }

    /// What is otherwise, as soon as it is.
    pub fn subscribe_changes(&self) -> watch::Receiver<ChangeCounters> {
        self.changes.subscribe()
    }

    /// Says what has happened, and wakes those who wait for it.
    pub fn publish(&self, session: Option<&SessionId>, record: EventRecord, of_the_moment: bool) {
        self.record_event(session, record, of_the_moment);
        self.wake_waiters(session);
    }

    /// Wakes those who wait for something of a session, or of any.
    pub fn wake_waiters(&self, session: Option<&SessionId>) {
        let seats = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let is_meant = |name: &SessionId| session.is_none_or(|session| session == name);
        seats.iter().filter(|(name, _)| is_meant(name)).for_each(|(_, seat)| seat.wake());
        drop(seats);
        self.wake.send_modify(|n| *n = n.saturating_add(1));
    }

    /// Says what has happened, to those who are woken by what follows from it. Of the moment is what
    /// no entry stands for.
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

    /// Forgets what was said of workflows whose texts were erased.
    pub fn erase_events(&self, is_erased: impl Fn(Seq) -> bool) {
        let mut known: HashMap<Seq, bool> = HashMap::new();
        let mut is_erased = |seq: Seq| *known.entry(seq).or_insert_with(|| is_erased(seq));
        lock_mutex(&self.log).events.retain(|it| !is_erased(it.record.workflow));
    }

    /// The session that a proposal was published for.
    pub fn session_of_proposal(&self, wanted: Seq) -> Option<SessionId> {
        let log = lock_mutex(&self.log);
        let is_it = |it: &&LoggedEvent| matches!(it.record.event, Event::ProposalMapped { proposal, .. } if proposal == wanted);
        log.events.iter().rev().find(is_it)?.session.clone()
    }

    /// The cursor before the events of an entry.
    pub fn cursor_before(seq: Seq) -> Seq {
        Seq((seq.0 * MOMENTS).saturating_sub(1))
    }

    /// Where the stream stands.
    pub fn head(&self) -> Seq {
        Seq(lock_mutex(&self.log).head)
    }

    /// What has happened behind a cursor, of one session or of all.
    pub(crate) fn read_page(&self, after: Seq, session: Option<&SessionId>) -> StreamPage {
        let (cursor, events) = self.events_after(after, session);
        StreamPage { cursor, events: events.into_iter().map(|(_, record)| record).collect() }
    }

    /// The same, each with the cursor that stands right behind it.
    pub(crate) fn events_after(
        &self,
        after: Seq,
        session: Option<&SessionId>,
    ) -> (Seq, Vec<(Seq, EventRecord)>) {
        let log = lock_mutex(&self.log);
        // A cursor of another time stands behind everything; it begins anew.
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

    /// What has come of a message that is still on its way, and where the stream stands.
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

    /// Ends all that is held.
    pub(crate) fn close(&self) {
        let seats = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        for seat in seats.values() {
            seat.wake.send_modify(|n| *n = u64::MAX);
        }
        self.wake.send_modify(|n| *n = u64::MAX);
        self.changes.send_modify(|news| news.is_over = true);
    }
}

impl SessionSlot {
    pub fn epoch(&self) -> u64 {
        lock_mutex(&self.state).epoch
    }

    /// Whether its session was closed.
    pub fn is_closed(&self) -> bool {
        self.epoch() == 0
    }

    /// Says that no plugin belongs to it: it is there as long as the daemon is.
    pub fn mark_permanent(&self) {
        let mut state = lock_mutex(&self.state);
        state.is_permanent = true;
        state.need = None;
    }

    /// How long ago its plugin was heard of.
    pub fn silence_duration(&self) -> Duration {
        let state = lock_mutex(&self.state);
        if state.is_permanent { Duration::ZERO } else { state.last_poll.elapsed() }
    }

    /// Whether a workflow of it went wrong and has to be tried again.
    pub fn is_stopped(&self, workflow: Seq) -> bool {
        lock_mutex(&self.state).stopped_workflows.contains(&workflow)
    }

    /// Says how large its mirror is; what a person sees of that. Versions are not seen.
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

    /// How large its mirror is.
    pub fn mirror_size(&self) -> MirrorSize {
        lock_mutex(&self.state).size.clone()
    }

    /// Says what there is to do, and in which workflows something went wrong; whoever says so wakes
    /// those who wait for it.
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

    /// What a poll is answered; the flag says whether there is anything in it.
    pub(crate) fn answer_poll(
        &self,
        board: &EventHub,
        session: &SessionId,
        poll: &PollRequest,
    ) -> (PollResponse, bool) {
        let page = board.read_page(poll.cursor, Some(session));
        let mut state = lock_mutex(&self.state);
        state.last_poll = Instant::now();
        if std::mem::take(&mut state.is_missed) {
            board.mark_places_changed();
        }
        let is_new = |work: &&Work| {
            let (Work::Tell { number, .. }
            | Work::Apply { apply: scene_schemas::api::Apply { number, .. } }) = work;
            !poll.at_hand.contains(number)
        };
        let work: Vec<Work> = state.work.iter().filter(is_new).cloned().collect();
        let is_something = !work.is_empty() || !page.events.is_empty() || state.need.is_some();
        let polled =
            PollResponse { cursor: page.cursor, events: page.events, work, need: state.need };
        (polled, is_something)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_away_is_noticed_once_and_when_they_come_back() {
        let board = EventHub::new(TokenHash::of_token("a person's"));
        let (window, file) = (SessionId("window".to_owned()), SessionId("file".to_owned()));
        board.register(&file, 1, TokenHash::of_token("file")).mark_permanent();
        let seat = board.register(&window, 2, TokenHash::of_token("window"));
        let places = || board.changes.borrow().places;
        let before = places();
        assert!(board.detect_absent().is_some_and(|left| !left.is_zero() && left <= AWAY));
        assert_eq!(places(), before, "all are there");
        lock_mutex(&seat.state).last_poll = Instant::now().checked_sub(AWAY).unwrap();
        assert_eq!((board.detect_absent(), places()), (None, before + 1));
        assert_eq!((board.detect_absent(), places()), (None, before + 1));
        let poll = PollRequest { epoch: 2, cursor: Seq(0), hold: 0, at_hand: Vec::new() };
        for _ in 0..2 {
            seat.answer_poll(&board, &window, &poll);
            assert_eq!(places(), before + 2);
        }
        assert!(board.detect_absent().is_some());
    }

    #[test]
    fn a_seat_is_left_for_good() {
        let board = EventHub::new(TokenHash::of_token("a person's"));
        let window = SessionId("window".to_owned());
        let seat = board.register(&window, 1, TokenHash::of_token("one"));
        assert!(!seat.is_closed());
        board.remove(&window);
        assert!(seat.is_closed());
        assert!(!board.register(&window, 2, TokenHash::of_token("two")).is_closed());
        assert!(seat.is_closed(), "whoever comes back has another");
    }

    #[test]
    fn what_a_person_does_not_see_is_no_other_place() {
        let board = EventHub::new(TokenHash::of_token("a person's"));
        let seat =
            board.register(&SessionId("window".to_owned()), 1, TokenHash::of_token("window"));
        let size = |instances, version, project: Option<&str>| MirrorSize {
            instances,
            is_whole: instances > 2,
            version,
            project: project.map(str::to_owned),
        };
        assert_eq!(seat.update_size(size(2, 1, None)), VisibleChange::Size);
        assert_eq!(seat.update_size(size(3, 1, None)), VisibleChange::Place, "it is all there");
        assert_eq!(seat.update_size(size(3, 2, None)), VisibleChange::Same);
        assert_eq!(seat.update_size(size(4, 2, None)), VisibleChange::Size);
        assert_eq!(seat.update_size(size(4, 2, Some("game"))), VisibleChange::Place);
        assert_eq!(seat.mirror_size().version, 2);
    }
}
