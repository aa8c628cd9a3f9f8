//! The house: who sits at the desk of the daemon, knows the sessions, and pairs and greets plugins.
//!
//! What concerns one open place is that session's own business; what is only read comes from the
//! ledger, whoever wrote it.

pub mod access;
mod agents;
mod back;
mod checkpoints;
mod chosen;
mod deploys;
mod files;
mod history;
pub mod kept;
mod merges;
mod opened;
pub(crate) mod orphaned;
mod pairing;
mod pictures;
mod places;
mod projects;
mod sessions;
mod settling;
mod talk;
mod views;
mod waiting;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use scene_schemas::Fingerprint;
use scene_schemas::api::{
    Failure, FailureKind, OpenPlace, SessionId, Settings, WorkflowView, Workflows,
};
use scene_schemas::entry::{Finish, Place, Record, Seq};
use tokio::sync::mpsc::UnboundedReceiver;
use vector_core::workflow::{Input, Status, Workflow};
use vector_engine::settled;
use vector_engine::settled::Readings;
use vector_ledger::Ledger;
use vector_providers::who::{OnlyOffline, Who};
use vector_rojo_project::Watch;

use self::back::Ways;
use self::deploys::Deploys;
use self::files::Files;
use self::opened::Opening;
use self::pairing::{Pairing, Revoking};
use self::views::{
    away, broken, elsewhere, is_checkpoint, is_elsewhere, missing, session_of, state_of, view,
    view_of,
};
use crate::daemon::access::{Grants, Run};
use crate::daemon::kept::{Chosen, settings};
use crate::history::{Measured, Seen};
use crate::server::{Ask, Board, Reply, Secret, Verb, failed};
use crate::session::{Request, Word};

/// The folder of the memories of open places.
const MEMORIES: &str = "memory";
/// The driver of a workflow that is only a moment to come back to.
const CHECKPOINT: &str = "checkpoint";
/// A session whose plugin was not heard of for this long is closed.
const CLOSED: Duration = Duration::from_mins(10);
/// How many workflows and checkpoints a list has.
const LISTED: usize = 100;
/// How many records the stream begins with.
const REPLAYED: u64 = 2_000;
/// full_moon descends by recursion: 1,000 nested blocks fit.
const STACK: usize = 512 << 20;

pub use self::pairing::Clock;
pub(crate) use crate::server::AWAY;

/// Tells a person something.
pub type Say = Box<dyn FnMut(&str) + Send>;

/// Who sits at the desk.
pub struct House {
    home: PathBuf,
    ledger: Arc<Ledger>,
    board: Arc<Board>,
    sessions: HashMap<SessionId, Session>,
    /// Those that end.
    ending: HashMap<SessionId, Ending>,
    /// Who took access away, and is answered when the sessions have ended that had it.
    revoking: Vec<Revoking>,
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
    /// How far it was noticed what other processes have written down.
    noticed: Seq,
    files: Files,
    measured: Arc<Measured>,
    deploys: Deploys,
    /// Who follows the files of the projects.
    watches: Vec<Watch>,
    /// The projects that are open, by their files, and the open places that are told of changes in them.
    projects: Vec<PathBuf>,
    followers: Arc<Mutex<Vec<Sender<Word>>>>,
    /// What is read to be opened.
    opening: Opening,
    /// The way back of what is done beside the house.
    ways: Ways,
}

struct Session {
    words: Sender<Word>,
    thread: ThreadId,
    place: Place,
}

/// A session that ends.
struct Ending {
    thread: ThreadId,
    /// What is asked of whoever has its name next.
    waiting: Vec<Ask>,
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
        let house = Self {
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
            ending: HashMap::new(),
            revoking: Vec::new(),
            epoch: 0,
            closing: CLOSED,
            say,
            who,
            seen: Arc::default(),
            noticed: Seq(0),
            files: Files::default(),
            measured: Arc::default(),
            deploys: Deploys::default(),
            watches: Vec::new(),
            projects: Vec::new(),
            followers: Arc::default(),
            opening: Opening::default(),
            ways: Ways::new(),
        };
        house.replay();
        house.admit();
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

    /// Withdraws what disconnected agents proposed and nobody decided upon for this long; none where it waits
    /// for a decision however long that takes.
    #[must_use]
    pub fn keeping_pending_for(self, limit: Option<Duration>) -> Self {
        self.chosen.limit_pending(limit);
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

    /// Notices what nobody tells: files that are gone or back, and what another process has written down, whose
    /// tasks are listed, too.
    fn notice(&mut self) {
        self.look_for_files();
        let Ok(head) = self.ledger.head() else {
            return;
        };
        let before = std::mem::replace(&mut self.noticed, head);
        let is_news = before != head;
        if is_news && self.ledger.is_erased_after(before).unwrap_or(true) {
            self.seen.forget();
            self.readings = Readings::default();
            self.board.forget(|workflow| {
                let state = settled::read(&self.ledger, workflow).ok();
                state.and_then(|it| it.workflow(workflow).map(|it| it.is_erased)).unwrap_or(true)
            });
        }
        if is_news && self.board.head() <= Board::before(head) {
            self.board.places_change();
        }
    }

    /// Answers until nobody can ask any more.
    pub fn run(mut self, mut asks: UnboundedReceiver<Ask>) {
        while let Some(heard) = self.ways.next(&mut asks) {
            self.hear(heard);
        }
        for session in self.sessions.values() {
            let _ = session.words.send(Word::End);
        }
    }

    fn answer(&mut self, ask: Ask) {
        match ask {
            Ask::Pair(pair, reply) => drop(reply.send(self.pair(&pair))),
            Ask::Door(door) => self.door(door),
            Ask::Hello(hello, reply) => self.greet(hello, reply),
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
                let request = Box::new(Request { chat, mode, model });
                self.tell(&session, |_| Word::Chat(request, reply));
            }
            Ask::Find(session, typed, reply) => {
                self.tell(&session, |_| Word::Find(typed, reply));
            }
            Ask::Decide(seq, decide, reply) => match self.session_of_entry(seq) {
                Ok(session) => self.tell(&session, |_| Word::Decide(seq, decide, reply)),
                Err(failure) => drop(reply.send(Err(failure))),
            },
            Ask::Sessions(reply) => drop(reply.send(Ok(self.list()))),
            Ask::Proposals(reply) => drop(reply.send(self.proposals())),
            Ask::Waiting(reply) => drop(reply.send(self.waiting())),
            Ask::Proposal(seq, reply) => drop(reply.send(self.proposal(seq))),
            Ask::Replaced(seq, reply) => drop(reply.send(self.replaced(seq))),
            Ask::Picture(of, asked, reply) => self.picture(of, asked, reply),
            Ask::Workflows(reply) => drop(reply.send(self.workflows())),
            Ask::Workflow(seq, reply) => drop(reply.send(self.workflow(seq))),
            Ask::Talk(seq, reply) => self.talk(seq, reply),
            Ask::TalkHead(seq, reply) => drop(reply.send(self.talk_head(seq))),
            Ask::Do(seq, verb, reply) => self.act(seq, verb, reply),
            Ask::Checkpoints(reply) => drop(reply.send(self.checkpoints())),
            Ask::MakeCheckpoint(make, reply) => drop(reply.send(self.make_checkpoint(make))),
            Ask::Restore(seq, reply) => self.restore(seq, reply),
            Ask::Settings(reply) => drop(reply.send(Ok(self.shown()))),
            Ask::Choose(settings, reply) => drop(reply.send(self.choose(settings))),
            Ask::Call(call, noted, reply) => self.agent_calls(*call, noted, reply),
            Ask::Called(seq, reply) => self.agent_call(seq, reply),
            Ask::CancelCall(call) => self.agent_cancels(&call),
            Ask::AgentLog(reply) => drop(reply.send(self.agent_log())),
            Ask::AgentEnds(connection) => {
                self.tell_all(|| Word::AgentEnds(connection.clone()));
            }
            Ask::Scripts(session, cursor, reply) => match self.place_of(Some(&session)) {
                Ok(session) => self.tell(&session, |_| Word::Scripts(cursor, reply)),
                Err(failure) => drop(reply.send(Err(failure))),
            },
            Ask::Open(open, reply) => self.open(&open, reply),
            Ask::Tidy => self.tidy(),
            Ask::Notice => self.notice(),
            Ask::Keys(reply) => drop(reply.send(Ok(self.who.keys()))),
            Ask::HandKeys(keys, reply) => drop(reply.send(Ok(self.take_keys(keys)))),
            Ask::Usage(reply) => drop(reply.send(self.usage())),
            Ask::Past(past) => self.look_back(past),
            Ask::Deploy(deploying) => self.deploy(deploying),
            Ask::Merge(merging) => self.merge(merging),
        }
    }

    /// Does something to a workflow, in its session.
    fn act(&mut self, seq: Seq, verb: Verb, reply: Reply<WorkflowView>) {
        // What a session has that is just ending is let go of in a moment.
        if let Some(waiting) = self.ending_with(seq) {
            return waiting.push(Ask::Do(seq, verb, reply));
        }
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

    /// Passes a word on to a session. Where that has ended, the reply is dropped, which says so.
    fn tell(&self, session: &SessionId, word: impl FnOnce(&Session) -> Word) {
        if let Some(found) = self.sessions.get(session) {
            let _ = found.words.send(word(found));
        }
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
        orphaned::input(&self.ledger, &self.board, seq, inputs).map_err(|error| broken(&error))?;
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
}
