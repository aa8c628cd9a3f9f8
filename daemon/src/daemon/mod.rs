//! The house: who sits at the desk of the daemon, knows the sessions, and pairs and greets plugins.
//!
//! What concerns one open place is that session's own business; what is only read comes from the
//! ledger, whoever wrote it.

pub mod access;
mod agents;
mod background;
mod checkpoints;
mod conversation;
mod deploys;
mod file_locks;
mod history;
mod merges;
mod missing_files;
mod open_place;
pub(crate) mod orphaned;
mod pairing;
mod pending;
mod pictures;
mod places;
mod projects;
mod sessions;
mod settings;
pub mod settings_store;
mod views;

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
use vector_core::workflow::{PendingStatus, Workflow, WorkflowInput};
use vector_engine::workflow_state;
use vector_engine::workflow_state::WorkflowCache;
use vector_ledger::Ledger;
use vector_providers::model_selector::{ModelSelector, OfflineSelector};
use vector_rojo_project::FileWatch;

use self::background::BackgroundJobs;
use self::deploys::DeployRuns;
use self::missing_files::MissingFiles;
use self::open_place::PendingOpens;
use self::pairing::{PairingCodes, PendingRevocation};
use self::views::{
    is_checkpoint, is_elsewhere, ledger_failure, not_found, plugin_away, read_state,
    read_workflow_view, session_of, workflow_elsewhere, workflow_view,
};
use crate::daemon::access::{DaemonRun, GrantStore};
use crate::daemon::settings_store::{ActiveSettings, load_settings};
use crate::history::{HistoryIndex, UsageMeter};
use crate::server::{DaemonRequest, EventHub, Reply, TokenHash, WorkflowAction, failure};
use crate::session::{SessionMessage, SessionRequest};

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

pub use self::pairing::ClockFn;
pub(crate) use crate::server::AWAY;

/// Tells a person something.
pub type Notifier = Box<dyn FnMut(&str) + Send>;

/// Who sits at the desk.
pub struct DaemonActor {
    home: PathBuf,
    ledger: Arc<Ledger>,
    event_hub: Arc<EventHub>,
    sessions: HashMap<SessionId, SessionThread>,
    ending_sessions: HashMap<SessionId, EndingSession>,
    /// Who took access away, and is answered when the sessions have ended that had it.
    pending_revocations: Vec<PendingRevocation>,
    settings: Settings,
    /// What the sessions have to know of the settings.
    active_settings: Arc<ActiveSettings>,
    /// Workflows of agents as they were read.
    workflow_cache: WorkflowCache,
    pairing: PairingCodes,
    grants: GrantStore,
    /// By what the plugin of each session showed that it is paired.
    plugin_tokens: HashMap<SessionId, TokenHash>,
    run: Option<DaemonRun>,
    epoch: u64,
    /// After how long a silence a session is closed.
    idle_limit: Duration,
    notify: Notifier,
    model_selector: Arc<dyn ModelSelector>,
    /// What was looked at of what has happened.
    history_index: Arc<HistoryIndex>,
    /// How far it was noticed what other processes have written down.
    polled_head: Seq,
    files: MissingFiles,
    usage_meter: Arc<UsageMeter>,
    deploys: DeployRuns,
    /// Who follows the files of the projects.
    file_watches: Vec<FileWatch>,
    /// The projects that are open, by their files, and the open places that are told of changes in them.
    projects: Vec<PathBuf>,
    followers: Arc<Mutex<Vec<Sender<SessionMessage>>>>,
    /// What is read to be opened.
    pending_opens: PendingOpens,
    /// The way back of what is done beside the house.
    background_jobs: BackgroundJobs,
}

struct SessionThread {
    message_sender: Sender<SessionMessage>,
    thread: ThreadId,
    place: Place,
}

/// A session that ends.
struct EndingSession {
    thread: ThreadId,
    /// What is asked of whoever has its name next.
    queued_requests: Vec<DaemonRequest>,
}

impl SessionThread {
    /// What it is called in a list.
    fn to_open_place(&self) -> OpenPlace {
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
pub fn random_text(bytes: usize) -> Result<String, std::io::Error> {
    let mut chance = vec![0; bytes];
    getrandom::fill(&mut chance).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(Fingerprint::hash_bytes(&chance).0.chars().take(2 * bytes).collect())
}

impl DaemonActor {
    /// Takes a seat at the desk.
    ///
    /// # Errors
    /// What is kept in the folder cannot be read.
    pub fn new(
        home: &Path,
        ledger: Arc<Ledger>,
        board: Arc<EventHub>,
        say: Notifier,
    ) -> Result<Self, std::io::Error> {
        let who: Arc<dyn ModelSelector> = Arc::new(OfflineSelector);
        let settings = load_settings(home);
        let house = Self {
            active_settings: Arc::new(ActiveSettings::from_settings(&settings)),
            workflow_cache: WorkflowCache::default(),
            settings,
            pairing: PairingCodes::new()?,
            grants: GrantStore::load(home)?,
            plugin_tokens: HashMap::new(),
            run: None,
            home: home.to_owned(),
            ledger,
            event_hub: board,
            sessions: HashMap::new(),
            ending_sessions: HashMap::new(),
            pending_revocations: Vec::new(),
            epoch: 0,
            idle_limit: CLOSED,
            notify: say,
            model_selector: who,
            history_index: Arc::default(),
            polled_head: Seq(0),
            files: MissingFiles::default(),
            usage_meter: Arc::default(),
            deploys: DeployRuns::default(),
            file_watches: Vec::new(),
            projects: Vec::new(),
            followers: Arc::default(),
            pending_opens: PendingOpens::default(),
            background_jobs: BackgroundJobs::new(),
        };
        house.replay_events();
        house.publish_tokens();
        Ok(house)
    }

    /// Lets these answer, and not only the offline planner.
    #[must_use]
    pub fn with_models(mut self, who: Arc<dyn ModelSelector>) -> Self {
        self.model_selector = who;
        self
    }

    /// Closes sessions after a silence of this long.
    #[must_use]
    pub fn with_idle_limit(mut self, silence: Duration) -> Self {
        self.idle_limit = silence;
        self
    }

    /// Withdraws what disconnected agents proposed and nobody decided upon for this long; none where it waits
    /// for a decision however long that takes.
    #[must_use]
    pub fn with_pending_limit(self, limit: Option<Duration>) -> Self {
        self.active_settings.set_pending_limit(limit);
        self
    }

    /// Puts on the board what has happened lately.
    fn replay_events(&self) {
        let Ok(head) = self.ledger.last_seq() else {
            return;
        };
        let after = Seq(head.0.saturating_sub(REPLAYED));
        let mut sessions: HashMap<Seq, Option<SessionId>> = HashMap::new();
        for record in self.ledger.read(after, REPLAYED as usize).unwrap_or_default() {
            let session = sessions.entry(record.workflow).or_insert_with(|| {
                let started = self.ledger.record_at(record.workflow).ok().flatten();
                started.and_then(|started| session_of(&started))
            });
            let Some(session) = session else {
                continue;
            };
            for told in conversation::event_records(&record) {
                self.event_hub.publish(Some(session), told, false);
            }
        }
    }

    /// Notices what nobody tells: files that are gone or back, and what another process has written down, whose
    /// tasks are listed, too.
    fn poll_changes(&mut self) {
        self.check_files();
        let Ok(head) = self.ledger.last_seq() else {
            return;
        };
        let before = std::mem::replace(&mut self.polled_head, head);
        let is_news = before != head;
        if is_news && self.ledger.is_erased_after(before).unwrap_or(true) {
            self.history_index.clear();
            self.workflow_cache = WorkflowCache::default();
            self.event_hub.erase_events(|workflow| {
                let state = workflow_state::read_workflow(&self.ledger, workflow).ok();
                state.and_then(|it| it.workflow(workflow).map(|it| it.is_erased)).unwrap_or(true)
            });
        }
        if is_news && self.event_hub.head() <= EventHub::cursor_before(head) {
            self.event_hub.mark_places_changed();
        }
    }

    /// Answers until nobody can ask any more.
    pub fn run(mut self, mut asks: UnboundedReceiver<DaemonRequest>) {
        while let Some(heard) = self.background_jobs.next(&mut asks) {
            self.handle_event(heard);
        }
        for session in self.sessions.values() {
            let _ = session.message_sender.send(SessionMessage::End);
        }
    }

    fn handle_request(&mut self, ask: DaemonRequest) {
        match ask {
            DaemonRequest::Pair(pair, reply) => drop(reply.send(self.pair_plugin(&pair))),
            DaemonRequest::Access(door) => self.handle_access(door),
            DaemonRequest::Hello(hello, reply) => self.queue_hello(hello, reply),
            DaemonRequest::Scene(session, update, reply) => {
                self.send_to_session(&session, |_| SessionMessage::Scene(update, reply));
            }
            DaemonRequest::Ack(seq, ack, reply) => {
                let session = ack.session.clone();
                self.send_to_session(&session, |_| SessionMessage::Ack(seq, ack, reply));
            }
            DaemonRequest::Chat(chat, reply) => {
                let session = chat.session.clone();
                let mode = self.current_mode();
                let model = self.chosen_model();
                let request = Box::new(SessionRequest { chat, mode, model });
                self.send_to_session(&session, |_| SessionMessage::Chat(request, reply));
            }
            DaemonRequest::Find(session, typed, reply) => {
                self.send_to_session(&session, |_| SessionMessage::Find(typed, reply));
            }
            DaemonRequest::Decide(seq, decide, reply) => match self.session_of_entry(seq) {
                Ok(session) => {
                    self.send_to_session(&session, |_| SessionMessage::Decide(seq, decide, reply));
                }
                Err(failure) => drop(reply.send(Err(failure))),
            },
            DaemonRequest::Sessions(reply) => drop(reply.send(Ok(self.list_sessions()))),
            DaemonRequest::Proposals(reply) => drop(reply.send(self.list_proposals())),
            DaemonRequest::PendingProposals(reply) => drop(reply.send(self.list_pending())),
            DaemonRequest::Proposal(seq, reply) => drop(reply.send(self.view_proposal(seq))),
            DaemonRequest::ReplacedProposals(seq, reply) => {
                drop(reply.send(self.replaced_proposals(seq)));
            }
            DaemonRequest::Picture(of, asked, reply) => self.request_picture(of, asked, reply),
            DaemonRequest::Workflows(reply) => drop(reply.send(self.list_workflows())),
            DaemonRequest::Workflow(seq, reply) => drop(reply.send(self.view_workflow(seq))),
            DaemonRequest::Talk(seq, reply) => self.send_conversation(seq, reply),
            DaemonRequest::TalkHead(seq, reply) => drop(reply.send(self.talk_head(seq))),
            DaemonRequest::ActOnWorkflow(seq, verb, reply) => {
                self.act_on_workflow(seq, verb, reply);
            }
            DaemonRequest::Checkpoints(reply) => drop(reply.send(self.list_checkpoints())),
            DaemonRequest::MakeCheckpoint(make, reply) => {
                drop(reply.send(self.make_checkpoint(make)));
            }
            DaemonRequest::Restore(seq, reply) => self.restore_checkpoint(seq, reply),
            DaemonRequest::Settings(reply) => drop(reply.send(Ok(self.view_settings()))),
            DaemonRequest::ChangeSettings(settings, reply) => {
                drop(reply.send(self.change_settings(settings)));
            }
            DaemonRequest::Call(call, noted, reply) => self.route_agent_call(*call, noted, reply),
            DaemonRequest::CallStatus(seq, reply) => self.send_call_status(seq, reply),
            DaemonRequest::CancelCall(call) => self.cancel_agent_call(&call),
            DaemonRequest::AgentLog(reply) => drop(reply.send(self.read_agent_log())),
            DaemonRequest::EndConnection(connection) => {
                self.broadcast_message(|| SessionMessage::EndConnection(connection.clone()));
            }
            DaemonRequest::Scripts(session, cursor, reply) => {
                match self.resolve_session(Some(&session)) {
                    Ok(session) => {
                        self.send_to_session(&session, |_| SessionMessage::Scripts(cursor, reply));
                    }
                    Err(failure) => drop(reply.send(Err(failure))),
                }
            }
            DaemonRequest::Open(open, reply) => self.open_path(&open, reply),
            DaemonRequest::Tidy => self.close_idle_sessions(),
            DaemonRequest::PollChanges => self.poll_changes(),
            DaemonRequest::Keys(reply) => drop(reply.send(Ok(self.model_selector.provider_keys()))),
            DaemonRequest::HandKeys(keys, reply) => drop(reply.send(Ok(self.accept_keys(keys)))),
            DaemonRequest::Usage(reply) => drop(reply.send(self.read_usage())),
            DaemonRequest::History(past) => self.handle_history(past),
            DaemonRequest::Deploy(deploying) => self.handle_deploy(deploying),
            DaemonRequest::Merge(merging) => self.handle_merge(merging),
        }
    }

    /// Does something to a workflow, in its session.
    fn act_on_workflow(&mut self, seq: Seq, verb: WorkflowAction, reply: Reply<WorkflowView>) {
        // What a session has that is just ending is let go of in a moment.
        if let Some(waiting) = self.end_queue(seq) {
            return waiting.push(DaemonRequest::ActOnWorkflow(seq, verb, reply));
        }
        let (ledger, board) = (Arc::clone(&self.ledger), Arc::clone(&self.event_hub));
        match self.session_of_workflow(seq) {
            Ok(session) => {
                // The session answers when it has acted; the view is read then.
                let (done, acted) = tokio::sync::oneshot::channel();
                let model = self.chosen_model();
                self.send_to_session(&session, |_| {
                    SessionMessage::ActOnWorkflow(seq, verb, model, done)
                });
                thread::spawn(move || {
                    let acted = acted.blocking_recv().unwrap_or_else(|_| Err(plugin_away()));
                    let view = acted.and_then(|()| read_workflow_view(&ledger, &board, seq));
                    let _ = reply.send(view);
                });
            }
            // What was left in a place that is not opened again can be ended all the same.
            Err(failure)
                if verb == WorkflowAction::Cancel
                    && (failure == plugin_away() || failure == workflow_elsewhere(seq)) =>
            {
                drop(reply.send(self.abandon_workflow(seq)));
            }
            Err(failure) => drop(reply.send(Err(failure))),
        }
    }

    /// Passes a word on to a session. Where that has ended, the reply is dropped, which says so.
    fn send_to_session(
        &self,
        session: &SessionId,
        word: impl FnOnce(&SessionThread) -> SessionMessage,
    ) {
        if let Some(found) = self.sessions.get(session) {
            let _ = found.message_sender.send(word(found));
        }
    }

    /// The session of the workflow that an entry belongs to.
    fn session_of_entry(&self, seq: Seq) -> Result<SessionId, Failure> {
        let known = self.event_hub.session_of_proposal(seq);
        if let Some(session) = known.filter(|session| self.sessions.contains_key(session)) {
            return Ok(session);
        }
        let record = self.ledger.record_at(seq).map_err(|error| ledger_failure(&error))?;
        let Some(record) = record else {
            return Err(not_found(seq));
        };
        let started =
            self.ledger.record_at(record.workflow).map_err(|error| ledger_failure(&error))?;
        let session = started.as_ref().and_then(session_of);
        let session = session.filter(|session| self.sessions.contains_key(session));
        let session = session.ok_or_else(plugin_away)?;
        let state = read_state(&self.ledger, record.workflow)?;
        let is_here = |it| !is_elsewhere(&self.ledger, record.workflow, it);
        if state.workflow(record.workflow).is_none_or(is_here) {
            return Ok(session);
        }
        Err(workflow_elsewhere(record.workflow))
    }

    /// Ends a workflow whose place is not open any more.
    fn abandon_workflow(&self, seq: Seq) -> Result<WorkflowView, Failure> {
        let Some(lease) = self.ledger.try_lease(seq).map_err(|error| ledger_failure(&error))?
        else {
            let message = format!("Workflow {seq} is at work in another process.");
            return Err(failure(FailureKind::Settled, message, "End it there."));
        };
        let state = read_state(&self.ledger, seq)?;
        let left = |status: &PendingStatus| {
            matches!(status, PendingStatus::Approved | PendingStatus::Applying(_))
        };
        let all = state.workflow(seq).into_iter().flat_map(Workflow::proposals);
        let proposals: Vec<Seq> =
            all.filter(|(_, it)| left(&it.status)).map(|(seq, _)| seq).collect();
        let reason = "Its place was closed before anybody said whether it was done: look whether it \
                      is there, and ask for it again where it is not.";
        let inputs = [
            WorkflowInput::Failed { proposals, reason: reason.to_owned() },
            WorkflowInput::Finish { outcome: Finish::NotApproved },
        ];
        orphaned::append_inputs(&self.ledger, &self.event_hub, seq, inputs)
            .map_err(|error| ledger_failure(&error))?;
        drop(lease);
        read_workflow_view(&self.ledger, &self.event_hub, seq)
    }

    fn session_of_workflow(&self, seq: Seq) -> Result<SessionId, Failure> {
        let record = self.ledger.record_at(seq).map_err(|error| ledger_failure(&error))?;
        match record {
            Some(record) if record.workflow == seq => self.session_of_entry(seq),
            _ => Err(not_found(seq)),
        }
    }

    /// The newest workflows' beginnings, newest first.
    fn recent_starts(&self) -> Result<Vec<Record>, Failure> {
        self.ledger.recent_starts(LISTED).map_err(|error| ledger_failure(&error))
    }

    fn list_workflows(&mut self) -> Result<Workflows, Failure> {
        let started = self.recent_starts()?.into_iter().filter(|it| !is_checkpoint(it));
        let workflows = started.map(|record| self.view_workflow(record.seq));
        Ok(Workflows { workflows: workflows.collect::<Result<_, _>>()? })
    }

    fn view_workflow(&mut self, seq: Seq) -> Result<WorkflowView, Failure> {
        let read = self
            .workflow_cache
            .current_state(&self.ledger, seq)
            .map_err(|error| ledger_failure(&error))?;
        workflow_view(&self.ledger, &self.event_hub, seq, read)
    }
}
