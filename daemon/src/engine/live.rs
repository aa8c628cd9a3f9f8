//! A session at work: what is known of one open place, and the workflow in it.
//!
//! It hears what the plugin says, what a person asks and decides, and works until somebody else is
//! due. What there is to do for the plugin, and what has happened, it puts on the board. It has a
//! thread of its own, with a large stack, for all that may take long. A decision need not wait for
//! that thread: while it rests, whoever brings the decision takes it, and Studio is told at once.

mod attached;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};

use scene_schemas::api::{
    ApplyAck, ApplyTaken, Chat, Decide, Decided, Decision, Event, EventRecord, Failure,
    FailureKind, Need, Part, ProposalStatus, ScenePart, SceneTaken, SceneUpdate, SessionId,
    Started, ThinkingPhase, Wanted, Work,
};
use scene_schemas::entry::{Approver, Entry, Finish, Record, Seq, StudioPlace};
use scene_schemas::proposal::Mode;
use serde_json::json;

use super::{Asked, Driver, Due, Engine, EngineError, Listener, RESTORE, settled};
use crate::core::prompt::Call;
use crate::core::proposal::{PartText, Unit, draft_again, units};
use crate::core::scene::{Scene, count};
use crate::core::workflow::{Input, Status, Workflow, events};
use crate::ledger::Ledger;
use crate::providers::Provider;
use crate::server::{Board, Decides, Reply, Seat, Verb, failed};
use crate::targets::studio::{Studio, recorded};

/// What a session is told.
pub(super) enum Word {
    /// Its plugin began anew.
    Hello(StudioPlace),
    /// Its plugin says something of the place.
    Scene(Box<SceneUpdate>, Reply<SceneTaken>),
    /// Its plugin says what became of a proposal.
    Ack(Seq, Box<ApplyAck>, Reply<ApplyTaken>),
    /// A person asks for something.
    Chat(Chat, Mode, Reply<Started>),
    /// A person decides.
    Decide(Seq, Decide, Reply<Decided>),
    /// A person does something to the workflow.
    Do(Verb, Reply<()>),
    /// A person wants to go back to a checkpoint.
    Restore(Seq, Reply<Started>),
    /// How large the mirror is: instances, and the version.
    Size(Sender<(u32, u64)>),
    /// Something was decided, and there is more to do.
    GoOn,
}

/// More commands than this are not made ready while somebody's request waits.
const MAX_AT_ONCE: usize = 1_000;

/// The way to a session for whoever brings a decision.
pub(super) struct AtOnce {
    live: Arc<Mutex<Live>>,
    words: Sender<Word>,
}

impl AtOnce {
    pub(super) fn new(live: &Arc<Mutex<Live>>, words: &Sender<Word>) -> Self {
        Self { live: Arc::clone(live), words: words.clone() }
    }
}

impl fmt::Debug for AtOnce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AtOnce")
    }
}

impl Decides for AtOnce {
    fn decide(&self, seq: Seq, decide: &Decide) -> Option<Result<Decided, Failure>> {
        let mut live = self.live.try_lock().ok()?;
        if !live.is_short(seq, &decide.decision) {
            return None;
        }
        let decided = live.decide(seq, decide);
        if live.engine.as_ref().is_some_and(Engine::is_acting) {
            live.go_on();
        } else {
            // A thread that has ended is missed by whoever says something next.
            let _ = self.words.send(Word::GoOn);
        }
        Some(decided)
    }
}

/// A session.
pub(super) struct Live {
    ledger: Arc<Ledger>,
    board: Arc<Board>,
    seat: Arc<Seat>,
    session: SessionId,
    /// The workflow at work.
    engine: Option<Engine>,
    /// What it works with, while there is none.
    idle: Option<(Studio, Scene)>,
    version: u64,
    /// Whether something went wrong that has to be tried again.
    stopped: bool,
    /// What was last said of the moment.
    moment: Option<ThinkingPhase>,
    /// How much was asked when that was last said.
    asked: usize,
    /// Whether nothing is to be approved.
    dry_run: Arc<AtomicBool>,
}

impl Live {
    /// A session of a place of which nothing is known yet.
    pub(super) fn new(
        ledger: Arc<Ledger>,
        board: Arc<Board>,
        seat: Arc<Seat>,
        place: StudioPlace,
        dry_run: Arc<AtomicBool>,
    ) -> Self {
        let session = place.session.clone();
        Self {
            ledger,
            seat,
            board,
            session,
            engine: None,
            idle: Some((Studio::new(place), Scene::open_place())),
            version: 0,
            stopped: false,
            moment: None,
            asked: 0,
            dry_run,
        }
    }

    /// Works until nobody speaks any more.
    pub(super) fn run(live: &Mutex<Self>, words: &Receiver<Word>) {
        // Who panicked leaves a session that is lost, and the next hello begins it anew.
        let Ok(()) = live.lock().map(|mut live| {
            live.resume();
            live.go_on();
        }) else {
            return;
        };
        while let Ok(word) = words.recv() {
            let Ok(mut live) = live.lock() else {
                return;
            };
            live.hear(word);
        }
    }

    fn listener(&self) -> Listener {
        let (board, session) = (Arc::clone(&self.board), self.session.clone());
        Box::new(move |record: &Record| {
            // What is approved comes with its work.
            let comes_with_more = matches!(record.entry, Entry::Approved { .. });
            for event in events(record) {
                let (seq, at, workflow) = (record.seq, record.at, record.workflow);
                let event = EventRecord { seq, at, workflow, event };
                if comes_with_more {
                    board.note(Some(&session), event, false);
                } else {
                    board.publish(Some(&session), event, false);
                }
            }
        })
    }

    /// Says something of the moment, to those whom [`Self::post`] wakes.
    fn mention(&self, event: Event) {
        let workflow = self.engine.as_ref().map_or(Seq(0), Engine::seq);
        let record = EventRecord { seq: workflow, at: 0, workflow, event };
        self.board.note(Some(&self.session), record, true);
    }

    /// Goes on with what an earlier epoch or process left.
    fn resume(&mut self) {
        let Ok(unfinished) = self.ledger.unfinished() else {
            return;
        };
        for record in unfinished {
            let Entry::Started { place, driver, .. } = &record.entry else {
                continue;
            };
            if place.open().is_none_or(|open| open.session != self.session) {
                continue;
            }
            let driver = driver_of(driver);
            let Ok(Some(lease)) = self.ledger.lease(record.seq) else {
                continue;
            };
            if let Some(opened) = self.idle.take() {
                let listener = self.listener();
                match Engine::resume_open(&self.ledger, lease, opened, driver, listener) {
                    Ok(engine) => self.engine = Some(engine),
                    Err(error) => self.went_wrong(&error),
                }
            }
            return;
        }
    }

    fn hear(&mut self, word: Word) {
        match word {
            Word::Hello(place) => self.began_anew(place),
            Word::Scene(update, reply) => {
                let taken = self.scene(&update);
                // Who says that a snapshot is whole is not asked for it again.
                self.post();
                let _ = reply.send(taken);
            }
            Word::Ack(seq, ack, reply) => {
                let taken = self.acknowledged(seq, *ack);
                // What is acknowledged is offered no more, however long the next plan takes.
                self.post();
                let _ = reply.send(taken);
            }
            Word::Chat(chat, mode, reply) => {
                let started = self.chat(chat, mode);
                let _ = reply.send(started);
            }
            Word::Restore(checkpoint, reply) => {
                let goal = format!("Go back to checkpoint {checkpoint}");
                let call = Call::new(RESTORE, json!({ "checkpoint": checkpoint }));
                // A call that cannot be written down is missed when the engine works.
                let begin = |engine: &mut Engine| drop(engine.call(vec![call]));
                let started = self.start(goal.as_str().into(), Driver::Calls, Mode::Confirm, begin);
                let _ = reply.send(started);
            }
            Word::Decide(seq, decide, reply) => {
                let decided = self.decide(seq, &decide);
                let _ = reply.send(decided);
            }
            Word::Do(verb, reply) => {
                let done = self.act(verb);
                let _ = reply.send(done);
            }
            Word::GoOn => {}
            Word::Size(reply) => {
                let _ = reply.send((self.scene_now().mirrored(), self.version));
                return;
            }
        }
        self.go_on();
    }

    /// The plugin knows nothing any more of what was asked, and tells the place anew.
    fn began_anew(&mut self, place: StudioPlace) {
        if let Some(seat) = self.board.seat(&self.session) {
            self.seat = seat;
        }
        match &mut self.engine {
            Some(engine) => engine.began_anew(),
            None => self.idle = Some((Studio::new(place), Scene::open_place())),
        }
    }

    fn scene_now(&self) -> &Scene {
        match (&self.engine, &self.idle) {
            (Some(engine), _) => engine.scene(),
            (None, Some((_, scene))) => scene,
            (None, None) => unreachable!("a session has a workflow or none"),
        }
    }

    /// Whether a call is of this epoch; it may have begun anew while the call waited for its turn.
    fn is_now(&self, epoch: u64) -> Result<(), Failure> {
        if epoch == self.seat.epoch() {
            return Ok(());
        }
        let message = format!("Session {} began anew.", self.session);
        Err(failed(FailureKind::Stale, message, "Say hello again."))
    }

    fn scene(&mut self, update: &SceneUpdate) -> Result<SceneTaken, Failure> {
        self.is_now(update.epoch)?;
        for part in &update.parts {
            self.note_undone(part).map_err(|error| wrong(&error))?;
            let heard = match (&mut self.engine, &mut self.idle) {
                (Some(engine), _) => engine.hear(part).map_err(|error| wrong(&error))?,
                (None, Some((_, scene))) => scene.hear(part),
                (None, None) => Ok(()),
            };
            if let Err(torn) = heard {
                self.forget_scene();
                return Err(failed(
                    FailureKind::Stale,
                    format!("What was said does not fit the mirror: {torn}."),
                    "Send a whole snapshot.",
                ));
            }
        }
        self.version = update.version;
        Ok(SceneTaken { instances: self.scene_now().mirrored() })
    }

    /// What was undone may be of a workflow that is over.
    fn note_undone(&self, part: &ScenePart) -> Result<(), EngineError> {
        let (ScenePart::Undone { recording } | ScenePart::Redone { recording }) = part else {
            return Ok(());
        };
        let Some(proposal) = recorded(recording) else {
            return Ok(());
        };
        let Some(record) = self.ledger.record(proposal)? else {
            return Ok(());
        };
        if self.engine.as_ref().is_some_and(|engine| engine.seq() == record.workflow) {
            return Ok(());
        }
        let again = matches!(part, ScenePart::Redone { .. });
        let input = Input::Undone { proposal, again };
        Ok(settled::input(&self.ledger, &self.board, record.workflow, [input])?)
    }

    /// Nothing of the place is known any more.
    fn forget_scene(&mut self) {
        match (&mut self.engine, &mut self.idle) {
            (Some(engine), _) => engine.began_anew(),
            (None, Some((_, scene))) => *scene = Scene::open_place(),
            (None, None) => {}
        }
    }

    fn acknowledged(&mut self, seq: Seq, ack: ApplyAck) -> Result<ApplyTaken, Failure> {
        self.is_now(ack.epoch)?;
        let Some(engine) = &mut self.engine else {
            return Ok(ApplyTaken { is_news: false });
        };
        let is_news = engine.acknowledged(seq, &ack.patch_id, ack.outcome);
        is_news.map(|is_news| ApplyTaken { is_news }).map_err(|error| wrong(&error))
    }

    /// Begins a workflow.
    fn start(
        &mut self,
        asked: Asked,
        driver: Driver,
        mode: Mode,
        begin: impl FnOnce(&mut Engine),
    ) -> Result<Started, Failure> {
        if asked.goal.trim().is_empty() {
            let hint = "Say what is to be done.";
            return Err(failed(FailureKind::BadRequest, "Nothing was asked for.", hint));
        }
        if let Some(engine) = &self.engine {
            return Err(failed(
                FailureKind::Settled,
                format!("Workflow {} is still at work in this place.", engine.seq()),
                "Decide upon what waits, or stop it.",
            ));
        }
        let Some(opened) = self.idle.take() else {
            return Err(failed(FailureKind::Internal, "The session is lost.", "Say hello again."));
        };
        let place = opened.0.place().clone();
        let opened = (super::Target::Open(opened.0), opened.1);
        match Engine::start(&self.ledger, opened, asked, driver, mode, self.listener()) {
            Ok(mut engine) => {
                begin(&mut engine);
                let workflow = engine.seq();
                self.engine = Some(engine);
                self.stopped = false;
                Ok(Started { workflow })
            }
            Err(error) => {
                self.idle = Some((Studio::new(place), Scene::open_place()));
                Err(wrong(&error))
            }
        }
    }

    /// Whether a decision takes no longer than a request may.
    fn is_short(&self, seq: Seq, decision: &Decision) -> bool {
        let pending =
            self.engine.as_ref().and_then(Engine::workflow).and_then(|it| it.proposal(seq));
        let is_small = pending.is_some_and(|it| it.proposal.commands.len() <= MAX_AT_ONCE);
        // A part is planned anew, and a plan may read whole scripts.
        is_small && !matches!(decision, Decision::Take { .. })
    }

    fn decide(&mut self, seq: Seq, decide: &Decide) -> Result<Decided, Failure> {
        let gone = || {
            let message = format!("Proposal {seq} does not wait for a decision in this place.");
            failed(FailureKind::Settled, message, "Look at what became of it.")
        };
        let engine = self.engine.as_mut().ok_or_else(gone)?;
        let pending = engine.workflow().and_then(|it| it.proposal(seq)).ok_or_else(gone)?;
        if pending.proposal.patch_id != decide.patch_id || pending.proposal.base != decide.base {
            return Err(failed(
                FailureKind::Stale,
                format!("Proposal {seq} is not what was seen."),
                "Look at it again, and decide then.",
            ));
        }
        let stands = match &decide.decision {
            Decision::Approve { .. } if self.dry_run.load(Ordering::Relaxed) => {
                return Err(failed(
                    FailureKind::Settled,
                    "Dry run is on: proposals are shown and never applied.",
                    "Switch it off in the settings, and approve again.",
                ));
            }
            Decision::Approve { twice } => {
                engine.approve(seq, Approver::Person, *twice).map(|()| seq)
            }
            Decision::Reject { reason } => {
                let reason = reason.clone();
                engine.input(Input::Reject { proposal: seq, reason }).map(|_| seq)
            }
            Decision::Take { parts } => {
                let proposal = pending.proposal.clone();
                let keep = |at: usize| parts.contains(&Part::Command { command: at as u32 });
                let texts = taken(&units(&proposal), parts);
                engine.revise(seq, |draft| draft_again(draft, &proposal, keep, &texts))
            }
        };
        let stands = stands.map_err(|error| wrong(&error))?;
        let status = engine.workflow().and_then(|it| it.proposal(stands));
        let status = status.map_or(ProposalStatus::Withdrawn, |it| it.status.shown());
        Ok(Decided { proposal: stands, status })
    }

    fn act(&mut self, verb: Verb) -> Result<(), Failure> {
        let Some(engine) = &mut self.engine else {
            let message = "No workflow is at work in this place.";
            return Err(failed(FailureKind::Settled, message, "Ask for something new."));
        };
        match verb {
            Verb::Cancel => {
                let outcome = Finish::NotApproved;
                engine.input(Input::Finish { outcome }).map_err(|error| wrong(&error))?;
            }
            Verb::Clear => {
                let waiting = engine.workflow().into_iter().flat_map(Workflow::proposals);
                let waiting = waiting.filter(|(_, it)| it.status == Status::Waiting);
                let waiting: Vec<Seq> = waiting.map(|(seq, _)| seq).collect();
                for proposal in waiting {
                    // One that stood on another is gone with it.
                    let reason = Some("The person cleared all that waited.".to_owned());
                    let _ = engine.input(Input::Reject { proposal, reason });
                }
            }
            Verb::Retry | Verb::Resume => self.stopped = false,
        }
        Ok(())
    }

    /// Works until somebody else is due, and puts on the board what there is to do.
    fn go_on(&mut self) {
        if !self.stopped
            && let Some(engine) = &mut self.engine
        {
            match engine.run() {
                Ok(Due::Nothing) => self.finished(),
                Ok(due) => self.thinks(due),
                Err(error) => self.went_wrong(&error),
            }
        }
        self.post();
    }

    fn finished(&mut self) {
        self.moment = None;
        if let Some(engine) = self.engine.take()
            && let (super::Target::Open(studio), scene) = engine.into_parts()
        {
            self.idle = Some((studio, scene));
        }
    }

    fn thinks(&mut self, due: Due) {
        let work = self.engine.as_ref().and_then(Engine::studio).map_or(&[][..], Studio::work);
        let work = work.to_vec();
        let asked = work.iter().filter(|work| matches!(work, Work::Tell { .. })).count();
        let phase = match due {
            Due::Decision(_) => ThinkingPhase::Decision,
            _ if work.iter().any(|work| matches!(work, Work::Apply { .. })) => {
                ThinkingPhase::Applying
            }
            _ => ThinkingPhase::Reading,
        };
        if asked > self.asked {
            self.mention(Event::ContextRequested { what: questions(&work) });
        }
        self.asked = asked;
        if self.moment != Some(phase) {
            self.moment = Some(phase);
            self.mention(Event::Thinking { phase });
        }
    }

    fn went_wrong(&mut self, error: &EngineError) {
        self.stopped = true;
        self.mention(Event::Error {
            code: FailureKind::Internal,
            message: error.to_string(),
            retryable: true,
            hint: "Try again; where it stays, start Vector anew.".to_owned(),
            setting: None,
        });
    }

    fn post(&self) {
        let studio = match (&self.engine, &self.idle) {
            (Some(engine), _) => engine.studio(),
            (None, Some((studio, _))) => Some(studio),
            (None, None) => None,
        };
        // Also while one is being told: it may never end.
        let need = (!self.scene_now().is_whole()).then_some(Need::Snapshot);
        self.seat.set(studio.map_or(&[], Studio::work), need, self.stopped);
        self.board.wake(Some(&self.session));
    }
}

/// What is asked of a plugin, in a person's words.
fn questions(work: &[Work]) -> String {
    let (mut instances, mut scripts, mut others) = (0, 0, Vec::new());
    for work in work {
        let Work::Tell { wanted, .. } = work else {
            continue;
        };
        match wanted {
            Wanted::Properties { of } => instances += of.len(),
            Wanted::Sources { ids } => scripts += ids.len(),
            Wanted::ActiveScript {} => others.push("the script that is open".to_owned()),
            Wanted::Selection {} => others.push("the selection".to_owned()),
            Wanted::Documents { .. } => others.push("the open scripts".to_owned()),
            Wanted::Reveal { .. } => others.push("something to show".to_owned()),
            Wanted::Capture {} => others.push("the viewport".to_owned()),
            Wanted::Asset { asset } => others.push(format!("asset {asset}")),
        }
    }
    if instances > 0 {
        others.push(format!("properties of {}", count(instances, "instance", "instances")));
    }
    if scripts > 0 {
        others.push(count(scripts, "script", "scripts"));
    }
    others.join(", ")
}

/// What an engine's error is to whoever asked.
fn wrong(error: &EngineError) -> Failure {
    match error {
        EngineError::Refused(refusal) => {
            failed(FailureKind::Settled, refusal.0.clone(), "Look at it again.")
        }
        error => failed(FailureKind::Internal, error.to_string(), "Try again."),
    }
}

fn driver_of(name: &str) -> Driver {
    match name {
        "offline" => Driver::Provider(Provider::Offline),
        _ => Driver::Calls,
    }
}

/// The hunks that are taken, of the scripts of which some are not.
fn taken(units: &[Unit], parts: &[Part]) -> BTreeMap<usize, PartText> {
    let mut hunks: BTreeMap<usize, Vec<bool>> = BTreeMap::new();
    for unit in units {
        if let Unit::Hunk { script, hunk } = unit {
            let part = Part::Hunk { script: *script as u32, hunk: *hunk as u32 };
            hunks.entry(*script).or_default().push(parts.contains(&part));
        }
    }
    hunks.into_iter().map(|(script, keep)| (script, PartText::Hunks(keep))).collect()
}
