//! The house: who sits at the desk of the daemon, knows the sessions, and pairs and greets plugins.
//!
//! What concerns one open place is that session's own business; what is only read comes from the
//! ledger, whoever wrote it.

mod agents;
mod chosen;
mod deploys;
mod history;
mod opened;
mod pairing;
mod pictures;
mod places;
mod projects;
mod talk;
mod views;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use scene_schemas::Fingerprint;
use scene_schemas::api::{
    Checkpoint, Checkpoints, Failure, FailureKind, Hello, MakeCheckpoint, OpenPlace, PROTOCOL,
    ProposalView, Proposals, SessionId, SessionView, Sessions, Settings, Welcome, WorkflowView,
    Workflows,
};
use scene_schemas::entry::{Entry, Finish, Place, Record, Seq, Stance, StudioPlace};
use scene_schemas::proposal::Mode;
use tokio::sync::mpsc::UnboundedReceiver;

use self::deploys::Deploys;
use self::pairing::Pairing;
use self::views::{
    away, broken, check_protocol, elsewhere, is_checkpoint, is_elsewhere, missing, proposal_view,
    session_of, state_of, view, view_of,
};
use super::access::{Grants, Run};
use super::history::{Measured, Seen};
use super::kept::{Chosen, settings};
use super::live::{AtOnce, Live, Word};
use super::settled::Readings;
use super::{Target, settled};
use crate::core::scene::Scene;
use crate::core::workflow::{Input, Status, Workflow};
use crate::ledger::{Append, Ledger};
use crate::providers::client::{OnlyOffline, Who};
use crate::server::{Ask, Board, Reply, Seat, Secret, Verb, failed};
use crate::targets::rojo::Watch;
use crate::targets::studio::Studio;

/// The folder of the memories of open places.
const MEMORIES: &str = "memory";
/// The driver of a workflow that is only a moment to come back to.
const CHECKPOINT: &str = "checkpoint";
/// A plugin that was not heard of for this long is away: it polls at least every 15 seconds.
pub(super) const AWAY: Duration = Duration::from_secs(30);
/// A session whose plugin was not heard of for this long is closed.
const CLOSED: Duration = Duration::from_mins(10);
/// How many workflows and checkpoints a list has.
const LISTED: usize = 100;
/// How many records the stream begins with.
const REPLAYED: u64 = 2_000;
/// full_moon descends by recursion: 1,000 nested blocks fit.
const STACK: usize = 512 << 20;

pub use self::pairing::Clock;

/// Tells a person something.
pub type Say = Box<dyn FnMut(&str) + Send>;

/// Who sits at the desk.
pub struct House {
    home: PathBuf,
    ledger: Arc<Ledger>,
    board: Arc<Board>,
    sessions: HashMap<SessionId, Session>,
    settings: Settings,
    /// What the sessions have to know of the settings.
    chosen: Arc<Chosen>,
    /// Workflows of agents as they were read.
    readings: Readings,
    pairing: Pairing,
    grants: Grants,
    /// By what the plugin of each session showed that it is paired.
    greeted: HashMap<SessionId, Secret>,
    run: Option<Run>,
    epoch: u64,
    /// After how long a silence a session is closed.
    closing: Duration,
    say: Say,
    who: Arc<dyn Who>,
    /// What was looked at of what has happened.
    seen: Arc<Seen>,
    measured: Arc<Measured>,
    deploys: Deploys,
    /// Who follows the files of the projects.
    watches: Vec<Watch>,
    /// The projects that are open, by their files, and the open places that are told of changes in them.
    projects: Vec<PathBuf>,
    followers: Arc<Mutex<Vec<Sender<Word>>>>,
}

struct Session {
    words: Sender<Word>,
    thread: JoinHandle<()>,
    place: Place,
}

impl Session {
    /// What it is called in a list.
    fn shown(&self) -> OpenPlace {
        match &self.place {
            Place::Open(open) => open.place.clone(),
            place => OpenPlace { name: place.name(), place_id: 0 },
        }
    }
}

/// Random letters and digits of this many bytes of chance.
///
/// # Errors
/// The system has no chance to give.
pub fn random(bytes: usize) -> Result<String, std::io::Error> {
    let mut chance = vec![0; bytes];
    getrandom::fill(&mut chance).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(Fingerprint::of(&chance).0.chars().take(2 * bytes).collect())
}

impl House {
    /// Takes a seat at the desk.
    ///
    /// # Errors
    /// What is kept in the folder cannot be read.
    pub fn new(
        home: &Path,
        ledger: Arc<Ledger>,
        board: Arc<Board>,
        say: Say,
    ) -> Result<Self, std::io::Error> {
        let who: Arc<dyn Who> = Arc::new(OnlyOffline);
        let settings = settings(home);
        let mut house = Self {
            chosen: Arc::new(Chosen::of(&settings)),
            readings: Readings::default(),
            settings,
            pairing: Pairing::new()?,
            grants: Grants::read(home)?,
            greeted: HashMap::new(),
            run: None,
            home: home.to_owned(),
            ledger,
            board,
            sessions: HashMap::new(),
            epoch: 0,
            closing: CLOSED,
            say,
            who,
            seen: Arc::default(),
            measured: Arc::default(),
            deploys: Deploys::default(),
            watches: Vec::new(),
            projects: Vec::new(),
            followers: Arc::default(),
        };
        house.replay();
        house.admit();
        house.print_code()?;
        Ok(house)
    }

    /// Lets these answer, and not only the offline planner.
    #[must_use]
    pub fn answered_by(mut self, who: Arc<dyn Who>) -> Self {
        self.who = who;
        self
    }

    /// Closes sessions after a silence of this long.
    #[must_use]
    pub fn closing_after(mut self, silence: Duration) -> Self {
        self.closing = silence;
        self
    }

    /// Puts on the board what has happened lately.
    fn replay(&self) {
        let Ok(head) = self.ledger.head() else {
            return;
        };
        let after = Seq(head.0.saturating_sub(REPLAYED));
        let mut sessions: HashMap<Seq, Option<SessionId>> = HashMap::new();
        for record in self.ledger.read(after, REPLAYED as usize).unwrap_or_default() {
            let session = sessions.entry(record.workflow).or_insert_with(|| {
                let started = self.ledger.record(record.workflow).ok().flatten();
                started.and_then(|started| session_of(&started))
            });
            let Some(session) = session else {
                continue;
            };
            for told in talk::told_of(&record) {
                self.board.publish(Some(session), told, false);
            }
        }
    }

    /// Answers until nobody can ask any more.
    pub fn run(mut self, mut asks: UnboundedReceiver<Ask>) {
        while let Some(ask) = asks.blocking_recv() {
            self.answer(ask);
        }
        for session in self.sessions.values() {
            let _ = session.words.send(Word::End);
        }
    }

    fn answer(&mut self, ask: Ask) {
        match ask {
            Ask::Pair(pair, reply) => drop(reply.send(self.pair(&pair))),
            Ask::Door(door) => self.door(door),
            Ask::Hello(hello, reply) => drop(reply.send(self.hello(*hello))),
            Ask::Scene(session, update, reply) => {
                self.tell(&session, |_| Word::Scene(update, reply));
            }
            Ask::Ack(seq, ack, reply) => {
                let session = ack.session.clone();
                self.tell(&session, |_| Word::Ack(seq, ack, reply));
            }
            Ask::Chat(chat, reply) => {
                let session = chat.session.clone();
                let mode = self.mode();
                let model = self.model();
                self.tell(&session, |_| Word::Chat(chat, mode, model, reply));
            }
            Ask::Decide(seq, decide, reply) => match self.session_of_entry(seq) {
                Ok(session) => self.tell(&session, |_| Word::Decide(seq, decide, reply)),
                Err(failure) => drop(reply.send(Err(failure))),
            },
            Ask::Sessions(reply) => drop(reply.send(Ok(self.list()))),
            Ask::Proposals(reply) => drop(reply.send(self.proposals())),
            Ask::Proposal(seq, reply) => drop(reply.send(self.proposal(seq))),
            Ask::Picture(of, asked, reply) => self.picture(of, asked, reply),
            Ask::Workflows(reply) => drop(reply.send(self.workflows())),
            Ask::Workflow(seq, reply) => drop(reply.send(self.workflow(seq))),
            Ask::Talk(seq, reply) => self.talk(seq, reply),
            Ask::TalkHead(seq, reply) => drop(reply.send(self.talk_head(seq))),
            Ask::Do(seq, verb, reply) => self.act(seq, verb, reply),
            Ask::Checkpoints(reply) => drop(reply.send(self.checkpoints())),
            Ask::MakeCheckpoint(make, reply) => drop(reply.send(self.make_checkpoint(make))),
            Ask::Restore(seq, reply) => match self.session_of_workflow(seq) {
                Ok(session) => self.tell(&session, |_| history::restore(seq, reply)),
                Err(failure) => drop(reply.send(Err(failure))),
            },
            Ask::Settings(reply) => drop(reply.send(Ok(self.shown()))),
            Ask::Choose(settings, reply) => drop(reply.send(self.choose(settings))),
            Ask::Call(call, noted, reply) => self.agent_calls(*call, noted, reply),
            Ask::Called(seq, reply) => self.agent_call(seq, reply),
            Ask::CancelCall(call) => self.agent_cancels(&call),
            Ask::AgentLog(reply) => drop(reply.send(self.agent_log())),
            Ask::AgentEnds(connection) => {
                self.tell_all(|| Word::AgentEnds(connection.clone()));
            }
            Ask::Open(open, reply) => drop(reply.send(self.open(&open))),
            Ask::Tidy => self.tidy(),
            Ask::Usage(reply) => drop(reply.send(self.usage())),
            Ask::Past(past) => self.look_back(past),
            Ask::Deploy(deploying) => self.deploy(deploying),
        }
    }

    /// Does something to a workflow, in its session.
    fn act(&mut self, seq: Seq, verb: Verb, reply: Reply<WorkflowView>) {
        let (ledger, board) = (Arc::clone(&self.ledger), Arc::clone(&self.board));
        match self.session_of_workflow(seq) {
            Ok(session) => {
                // The session answers when it has acted; the view is read then.
                let (done, acted) = tokio::sync::oneshot::channel();
                let model = self.model();
                self.tell(&session, |_| Word::Do(seq, verb, model, done));
                thread::spawn(move || {
                    let acted = acted.blocking_recv().unwrap_or_else(|_| Err(away()));
                    let view = acted.and_then(|()| view_of(&ledger, &board, seq));
                    let _ = reply.send(view);
                });
            }
            // What was left in a place that is not opened again can be ended all the same.
            Err(failure)
                if verb == Verb::Cancel && (failure == away() || failure == elsewhere(seq)) =>
            {
                drop(reply.send(self.abandon(seq)));
            }
            Err(failure) => drop(reply.send(Err(failure))),
        }
    }

    /// Ends the sessions whose plugin has not been heard of for long: what they hold of a place is
    /// told again when it comes back, and their workflows go on then.
    fn tidy(&mut self) {
        self.tell_all(|| Word::Tidy);
        let is_left = |session: &SessionId, _: &mut Session| {
            self.board.seat(session).is_none_or(|seat| seat.silence() >= self.closing)
        };
        let left = self.sessions.extract_if(is_left).collect();
        self.close(left);
    }

    /// Ends sessions.
    fn close(&mut self, ended: Vec<(SessionId, Session)>) {
        for (name, session) in ended {
            self.board.leave(&name);
            self.greeted.remove(&name);
            let _ = session.words.send(Word::End);
            // It lets go of its workflow before anybody else can take it. One that panicked has.
            let _ = session.thread.join();
        }
    }

    /// Passes a word on to a session. Where that has ended, the reply is dropped, which says so.
    fn tell(&self, session: &SessionId, word: impl FnOnce(&Session) -> Word) {
        if let Some(found) = self.sessions.get(session) {
            let _ = found.words.send(word(found));
        }
    }

    fn hello(&mut self, hello: Hello) -> Result<Welcome, Failure> {
        check_protocol(&hello)?;
        let given = Secret::of(hello.credential.as_deref().unwrap_or_default());
        if !self.grants.is_paired(&given) {
            return Err(failed(
                FailureKind::Unpaired,
                "This plugin is not paired with Vector.",
                "Type the six digits that `vector pair` shows.",
            ));
        }
        self.check_window(&hello.session)?;
        let internal = |error: &dyn std::fmt::Display| {
            let message = format!("The session cannot begin: {error}.");
            failed(FailureKind::Internal, message, "Try again.")
        };
        let token = random(24).map_err(|error| internal(&error))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        self.epoch = (now as u64).max(self.epoch + 1);
        let session = hello.session.clone();
        let place = StudioPlace { session: session.clone(), place: hello.place };
        let seat = self.board.sit(&session, self.epoch, Secret::of(&token));
        let cursor = self.board.head();
        self.greeted.insert(session.clone(), given);
        match self.sessions.get_mut(&session) {
            // One that panicked hears nothing any more, and another takes its place.
            Some(known) if known.words.send(Word::Hello(place.clone())).is_ok() => {
                known.place = Place::Open(place);
            }
            _ => {
                let memories = self.home.join(MEMORIES);
                let opened = (Target::Open(Studio::new(place, memories)), Scene::open_place());
                self.begin(&seat, opened).map_err(|error| internal(&error))?;
            }
        }
        Ok(Welcome {
            protocol: PROTOCOL,
            daemon: env!("CARGO_PKG_VERSION").to_owned(),
            epoch: self.epoch,
            token,
            cursor,
        })
    }

    /// Whether a plugin's window can be called so. What is open without a plugin is nobody's window.
    fn check_window(&self, session: &SessionId) -> Result<(), Failure> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let name = &session.0;
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
            return Err(failed(
                FailureKind::BadRequest,
                "A session is called by 1 to 64 letters, digits and dashes.",
                "Update the plugin.",
            ));
        }
        if self.sessions.get(session).is_some_and(|known| known.place.open().is_none()) {
            return Err(failed(
                FailureKind::BadRequest,
                format!("Session {session} is not of a window of Studio."),
                "Close the place in Studio, and open it again.",
            ));
        }
        Ok(())
    }

    /// Lets a session begin; the way to it.
    fn begin(
        &mut self,
        seat: &Arc<Seat>,
        opened: (Target, Scene),
    ) -> std::io::Result<Sender<Word>> {
        let (words, heard) = channel();
        let place = opened.0.place();
        let name = place.session();
        let live = Live::new(
            Arc::clone(&self.ledger),
            Arc::clone(&self.board),
            (name.clone(), Arc::clone(seat)),
            opened,
            Arc::clone(&self.chosen),
            (Arc::clone(&self.who), words.clone()),
        );
        let is_open = place.open().is_some();
        let live = if is_open { live.beside(self.projects.clone()) } else { live };
        if is_open && let Ok(mut followers) = self.followers.lock() {
            followers.push(words.clone());
        }
        let live = Arc::new(Mutex::new(live));
        seat.decided_by(Arc::new(AtOnce::new(&live, &words)));
        let session = thread::Builder::new().stack_size(STACK).name("session".to_owned());
        let thread = session.spawn(move || Live::run(&live, &heard))?;
        let session = Session { words: words.clone(), thread, place };
        self.sessions.insert(name, session);
        Ok(words)
    }

    fn list(&self) -> Sessions {
        let view = |(session, known): (&SessionId, &Session)| {
            let seat = self.board.seat(session)?;
            let size = seat.size();
            Some(SessionView {
                session: session.clone(),
                epoch: seat.epoch(),
                place: known.shown(),
                connected: seat.silence() < AWAY,
                instances: size.instances,
                version: size.version,
                project: size.project,
            })
        };
        let mut sessions: Vec<SessionView> = self.sessions.iter().filter_map(view).collect();
        sessions.sort_by(|a, b| a.session.cmp(&b.session));
        Sessions { sessions }
    }

    /// The session of the workflow that an entry belongs to.
    fn session_of_entry(&self, seq: Seq) -> Result<SessionId, Failure> {
        let known = self.board.session_of_proposal(seq);
        if let Some(session) = known.filter(|session| self.sessions.contains_key(session)) {
            return Ok(session);
        }
        let record = self.ledger.record(seq).map_err(|error| broken(&error))?;
        let Some(record) = record else {
            return Err(missing(seq));
        };
        let started = self.ledger.record(record.workflow).map_err(|error| broken(&error))?;
        let session = started.as_ref().and_then(session_of);
        let session = session.filter(|session| self.sessions.contains_key(session));
        let session = session.ok_or_else(away)?;
        let state = state_of(&self.ledger, record.workflow)?;
        let is_here = |it| !is_elsewhere(&self.ledger, record.workflow, it);
        if state.workflow(record.workflow).is_none_or(is_here) {
            return Ok(session);
        }
        Err(elsewhere(record.workflow))
    }

    /// Ends a workflow whose place is not open any more.
    fn abandon(&self, seq: Seq) -> Result<WorkflowView, Failure> {
        let Some(lease) = self.ledger.lease(seq).map_err(|error| broken(&error))? else {
            let message = format!("Workflow {seq} is at work in another process.");
            return Err(failed(FailureKind::Settled, message, "End it there."));
        };
        let state = state_of(&self.ledger, seq)?;
        let left = |status: &Status| matches!(status, Status::Approved | Status::Applying(_));
        let all = state.workflow(seq).into_iter().flat_map(Workflow::proposals);
        let proposals: Vec<Seq> =
            all.filter(|(_, it)| left(&it.status)).map(|(seq, _)| seq).collect();
        let reason = "Its place was closed before anybody said whether it was done: look whether it \
                      is there, and ask for it again where it is not.";
        let inputs = [
            Input::Failed { proposals, reason: reason.to_owned() },
            Input::Finish { outcome: Finish::NotApproved },
        ];
        settled::input(&self.ledger, &self.board, seq, inputs).map_err(|error| broken(&error))?;
        drop(lease);
        view_of(&self.ledger, &self.board, seq)
    }

    fn session_of_workflow(&self, seq: Seq) -> Result<SessionId, Failure> {
        let record = self.ledger.record(seq).map_err(|error| broken(&error))?;
        match record {
            Some(record) if record.workflow == seq => self.session_of_entry(seq),
            _ => Err(missing(seq)),
        }
    }

    fn proposals(&mut self) -> Result<Proposals, Failure> {
        let mut proposals = Vec::new();
        for started in self.ledger.unfinished().map_err(|error| broken(&error))? {
            let read = self.readings.of(&self.ledger, started.seq);
            let state = read.map_err(|error| broken(&error))?;
            let workflow = state.workflow(started.seq);
            // What waits on a terminal is decided there.
            let workflow = workflow.filter(|it| !is_elsewhere(&self.ledger, started.seq, it));
            let all = workflow.into_iter().flat_map(Workflow::proposals);
            let waiting = all.filter(|(_, it)| it.status == Status::Waiting);
            let view = |seq| proposal_view(&self.ledger, workflow?, started.seq, seq);
            proposals.extend(waiting.filter_map(|(seq, _)| view(seq)));
        }
        proposals.sort_unstable_by_key(|it| it.seq);
        Ok(Proposals { proposals })
    }

    fn proposal(&mut self, seq: Seq) -> Result<ProposalView, Failure> {
        let record = self.ledger.record(seq).map_err(|error| broken(&error))?;
        let workflow = record.ok_or_else(|| missing(seq))?.workflow;
        let read = self.readings.of(&self.ledger, workflow);
        let found = read.map_err(|error| broken(&error))?.workflow(workflow);
        let found = found.and_then(|it| proposal_view(&self.ledger, it, workflow, seq));
        found.ok_or_else(|| missing(seq))
    }

    /// The newest workflows' beginnings, newest first.
    fn started(&self) -> Result<Vec<Record>, Failure> {
        self.ledger.started(LISTED).map_err(|error| broken(&error))
    }

    fn workflows(&mut self) -> Result<Workflows, Failure> {
        let started = self.started()?.into_iter().filter(|it| !is_checkpoint(it));
        let workflows = started.map(|record| self.workflow(record.seq));
        Ok(Workflows { workflows: workflows.collect::<Result<_, _>>()? })
    }

    fn workflow(&mut self, seq: Seq) -> Result<WorkflowView, Failure> {
        let read = self.readings.of(&self.ledger, seq).map_err(|error| broken(&error))?;
        view(&self.ledger, &self.board, seq, read)
    }

    fn checkpoints(&self) -> Result<Checkpoints, Failure> {
        let checkpoint = |record: Record| {
            let session = session_of(&record)?;
            let Entry::Started { goal, .. } = record.entry else {
                return None;
            };
            Some(Checkpoint { seq: record.seq, at: record.at, session, label: goal })
        };
        Ok(Checkpoints {
            checkpoints: self.started()?.into_iter().filter_map(checkpoint).collect(),
        })
    }

    /// A moment is a workflow that began and ended.
    fn make_checkpoint(&mut self, make: MakeCheckpoint) -> Result<Checkpoint, Failure> {
        let Some(session) = self.sessions.get(&make.session) else {
            return Err(away());
        };
        if session.place.open().is_none() {
            let message = "A checkpoint is of a place that is open in Studio.";
            let hint = match session.place {
                Place::File(_) => {
                    "`vector log` lists what was applied, and `vector revert` takes it back."
                }
                _ => "The files of a project are kept by Git: commit them.",
            };
            return Err(failed(FailureKind::Settled, message, hint));
        }
        let label = make.label.unwrap_or_else(|| "Checkpoint".to_owned());
        let started = Entry::Started {
            place: session.place.clone(),
            goal: label.clone(),
            driver: CHECKPOINT.to_owned(),
            mode: Mode::Confirm,
            attached: Vec::new(),
            stance: Stance::Act,
            follows: None,
            guards: None,
        };
        let finished = Entry::Finished { outcome: Finish::Done, summary: None };
        let entries = vec![started, finished];
        let batch = Append { workflow: None, entries, blobs: Vec::new() };
        let records = self.ledger.append(batch).map_err(|error| broken(&error))?;
        let first = records.first().ok_or_else(away)?;
        Ok(Checkpoint { seq: first.seq, at: first.at, session: make.session, label })
    }
}
