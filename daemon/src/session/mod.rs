//! A session at work: what is known of one open place, and the workflows in it, side by side.
//!
//! It hears what the plugin says, what a person asks and decides, and works until somebody else is
//! due. What there is to do for the plugin, and what has happened, it puts on the board. It has a
//! thread of its own, with a large stack, for all that may take long. A decision need not wait for
//! that thread: while it rests, whoever brings the decision takes it, and Studio is told at once.

mod active_settings;
mod agent;
mod attachments;
mod decisions;
mod handle;
mod model_calls;
pub(crate) mod orphaned;
mod pictures;
mod plugin_reports;
mod progress;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use scene_schemas::InstancePath;
use scene_schemas::api::{
    ApplyAck, ApplyReceipt, CallView, Chat, DecisionRequest, DecisionResponse, EventRecord,
    Failure, FailureKind, SceneReceipt, SceneUpdate, ScriptPage, SessionId, SessionNeed,
    ThinkingPhase, WorkflowStarted,
};
use scene_schemas::entry::{AttachmentSnapshot, Entry, Record, Seq, StudioPlace};
use scene_schemas::proposal::Mode;
use serde_json::Value as Json;
use tokio::sync::oneshot;
use vector_core::prompt::ToolCall;
use vector_core::workflow::{AGENT, CALLS, Workflow, events_of};
use vector_ledger::Ledger;
use vector_place::Scene;
use vector_providers::ProviderKind;
use vector_providers::answer::ModelAnswer;
use vector_providers::http::HttpError;
use vector_providers::model_choice::OFFLINE;
use vector_providers::model_selector::ModelSelector;

pub(crate) use self::active_settings::ActiveSettings;
use self::agent::AgentConnection;
pub(crate) use self::agent::{CallRequest, call_name, call_not_found, workflow_call_view};
use self::attachments::{SessionRequest, search_instances};
pub(crate) use self::handle::Reply;
pub use self::handle::{Answer, FoundInstance, PictureOptions, SessionHandle, WorkflowAction};
use self::model_calls::ActiveRequest;
use vector_engine::model_request;
use vector_engine::model_request::ModelRequest;
use vector_engine::render_input::PictureSubject;
use vector_engine::studio::StudioTarget;
use vector_engine::{
    Engine, EngineError, EntryListener, NextStep, Target, ToolDriver, UserRequest,
};
use vector_rojo_project::{FileChanges, RojoProject};

use crate::event_hub::{EventHub, MirrorSize, SessionSlot, VisibleChange};
use crate::failure::failure;

/// What a session is told.
pub(crate) enum SessionMessage {
    /// Its plugin began anew.
    Hello(StudioPlace),
    /// Its files may have changed.
    FilesChanged(FileChanges),
    /// This project is open as well from now on.
    ProjectOpened(PathBuf),
    /// Somebody has let go of workflows which may be its own.
    ResumeWorkflows,
    /// Its plugin says something of the place.
    Scene(Box<SceneUpdate>, Reply<SceneReceipt>),
    /// Its plugin says what became of a proposal.
    Ack(Seq, Box<ApplyAck>, Reply<ApplyReceipt>),
    /// A person asks for something.
    Chat(Box<Chat>, Reply<WorkflowStarted>),
    /// What a request points at was read, or cannot be.
    MentionsRead(
        Box<SessionRequest>,
        Result<Vec<AttachmentSnapshot>, String>,
        Reply<WorkflowStarted>,
    ),
    /// The instances whose names fit what a person is typing.
    Find(String, Reply<Vec<FoundInstance>>),
    /// An agent calls a tool.
    Call(Box<CallRequest>),
    /// What became of a call is wanted.
    CallStatus(Seq, Reply<CallView>),
    /// A call is taken back.
    CancelCall(String),
    /// A connection of an agent has ended.
    EndConnection(String),
    /// A page of the scripts is wanted, from where a cursor says.
    Scripts(Option<String>, Reply<ScriptPage>),
    /// Connections of agents that were silent for long are over.
    Tidy,
    /// A model has answered in a workflow, or has not.
    ModelReplied(Seq, Box<ModelRequest>, Box<Result<ModelAnswer, HttpError>>),
    /// What was seen that a call wanted to look at, or why it could not be.
    Fetched(Seq, Seq, Result<Json, String>),
    Decide(Seq, DecisionRequest, Reply<DecisionResponse>),
    /// A person does something to a workflow.
    ActOnWorkflow(Seq, WorkflowAction, Reply<()>),
    /// A person wants to go back: what that is called, and the call that plans it.
    StartRevert(String, ToolCall, Reply<WorkflowStarted>),
    /// A picture is wanted.
    Picture(PictureSubject, PictureOptions, Reply<Vec<u8>>),
    /// What a script says, in the place and in its file.
    ReadScript(InstancePath, oneshot::Sender<Vec<String>>),
    /// Something was decided, and there is more to do.
    RunWorkflows,
    /// It ends; its workflows go on when it comes back.
    End,
}

/// What a session knows of a workflow at work in it.
#[derive(Debug, Default)]
struct WorkflowSlot {
    /// Whether it was said that what is approved cannot be applied for the moment.
    is_blocked: bool,
    /// Whether something went wrong that has to be tried again.
    is_stopped: bool,
    /// What was last said of the moment.
    last_phase: Option<ThinkingPhase>,
    /// The model that is being asked, or the page that is being read.
    active_request: Option<ActiveRequest>,
    /// The agent that calls, where one does.
    agent: Option<AgentConnection>,
}

pub(crate) struct SessionActor {
    ledger: Arc<Ledger>,
    event_hub: Arc<EventHub>,
    slot: Arc<SessionSlot>,
    session: SessionId,
    /// The place, and the workflows at work in it.
    engine: Engine,
    workflow_slots: BTreeMap<Seq, WorkflowSlot>,
    /// Calls of agents that were taken back before they came, by their names.
    cancelled_calls: VecDeque<String>,
    /// The last requests by the names that were given to them, and what they became.
    recent_requests: VecDeque<(String, Seq)>,
    /// Requests whose mentions are being read.
    pending_mentions: attachments::PendingMentions,
    version: u64,
    /// How much was asked of Studio when that was last said.
    reported_work: usize,
    /// What the person has chosen, which may be another by now.
    active_settings: Arc<ActiveSettings>,
    model_selector: Arc<dyn ModelSelector>,
    /// The way to this session, for what a model answers.
    message_sender: Sender<SessionMessage>,
    /// The projects that are opened beside an open place.
    projects: Vec<PathBuf>,
    pictures: pictures::PendingPictures,
}

impl SessionActor {
    /// A session of a place, of which nothing may be known yet.
    pub(crate) fn new(
        ledger: Arc<Ledger>,
        event_hub: Arc<EventHub>,
        session: SessionId,
        slot: Arc<SessionSlot>,
        opened: (Target, Scene),
        active_settings: Arc<ActiveSettings>,
        model_selector: Arc<dyn ModelSelector>,
        message_sender: Sender<SessionMessage>,
    ) -> Self {
        let mut engine = Engine::without_tasks(
            &ledger,
            opened.0,
            opened.1,
            ledger_listener(&event_hub, &session),
        );
        engine.mark_served();
        Self {
            engine,
            ledger,
            slot,
            event_hub,
            session,
            workflow_slots: BTreeMap::new(),
            cancelled_calls: VecDeque::new(),
            recent_requests: VecDeque::new(),
            pending_mentions: attachments::PendingMentions::new(),
            version: 0,
            reported_work: 0,
            active_settings,
            model_selector,
            message_sender,
            projects: Vec::new(),
            pictures: pictures::PendingPictures::default(),
        }
    }

    /// Opens these projects as well, with which the open place may be synced.
    pub(crate) fn with_projects(self, projects: Vec<PathBuf>) -> Self {
        Self { projects, ..self }
    }

    /// Works until nobody speaks any more.
    pub(crate) fn run(live: &Mutex<Self>, words: &Receiver<SessionMessage>) {
        // Who panicked leaves a session that is lost, and the next hello begins it anew.
        let Ok(()) = live.lock().map(|mut live| {
            // That of files was read with them.
            if live.engine.studio().is_some() {
                live.engine.read_memory();
            }
            live.open_projects();
            live.resume_workflows();
            live.run_workflows();
        }) else {
            return;
        };
        while let Ok(word) = words.recv() {
            let Ok(mut live) = live.lock() else {
                return;
            };
            if matches!(word, SessionMessage::End) {
                live.detach_agents();
                return;
            }
            live.handle_message(word);
        }
    }

    /// Opens the projects that are open beside the place. One that cannot be read now is read when
    /// something in it has changed.
    fn open_projects(&mut self) {
        let engine = &mut self.engine;
        self.projects.retain(|project| match RojoProject::open(project, false) {
            Ok((project, scene)) => {
                engine.add_linked_project(project.without_memory(), scene);
                false
            }
            Err(_) => true,
        });
    }

    /// A project was opened after the place.
    fn add_project(&mut self, project: PathBuf) {
        self.projects.push(project);
        self.open_projects();
        // It is looked for in what is there, and not in what is proposed.
        self.engine.mirror_scene();
        // What cannot be written down now is missed when the engine works.
        let _ = self.engine.detect_linked_project();
    }

    /// Goes on with what an earlier epoch or process left. What somebody just puts back in files is taken up
    /// when that is done.
    fn resume_workflows(&mut self) {
        let Ok(unfinished) = self.ledger.unfinished_starts() else {
            return;
        };
        let before = self.workflow_slots.len();
        for record in unfinished {
            let Entry::Started { place, driver, served, .. } = &record.entry else {
                continue;
            };
            // What a terminal has left in files was settled when they were opened.
            let is_ours = place.studio_place().is_some() || *served || driver.starts_with(AGENT);
            if !is_ours
                || place.session_id() != self.session
                || self.workflow_slots.contains_key(&record.seq)
            {
                continue;
            }
            let driver = match driver.as_str() {
                CALLS => ToolDriver::Calls,
                name if name.starts_with(AGENT) => {
                    ToolDriver::Agent { name: name[AGENT.len()..].to_owned() }
                }
                name => self.driver_of(Some(name)),
            };
            let Ok(Some(lease)) = self.ledger.try_lease(record.seq) else {
                continue;
            };
            self.workflow_slots.insert(record.seq, WorkflowSlot::default());
            if let Err(error) = self.engine.resume_in_studio(lease, driver) {
                self.stop_with_error(record.seq, &error);
            }
            let end = self.ledger.last_record(record.seq).ok().flatten();
            let ago = model_request::unix_millis().saturating_sub(end.map_or(0, |end| end.at));
            if let Some(job) = self.workflow_slots.get_mut(&record.seq) {
                let left = |it| AgentConnection::from_workflow(it, Duration::from_millis(ago));
                job.agent = self.engine.current_workflow().and_then(left);
                let is_gone = job.agent.as_ref().is_some_and(|agent| !agent.is_connected());
                if is_gone {
                    self.note_disconnected(record.seq);
                }
            }
        }
        if self.workflow_slots.len() > before {
            // Until now these were at work elsewhere to whoever looked.
            self.event_hub.mark_places_changed();
        }
    }

    fn handle_message(&mut self, word: SessionMessage) {
        self.refresh_scene();
        if !matches!(word, SessionMessage::Picture(..)) {
            self.pictures.invalidate();
        }
        match word {
            SessionMessage::Hello(place) => self.handle_hello(place),
            SessionMessage::ProjectOpened(project) => self.add_project(project),
            SessionMessage::ResumeWorkflows => self.resume_workflows(),
            // A project that cannot be read now is read again when somebody has mended it, and nothing is
            // written meanwhile: its files are not what was read.
            SessionMessage::FilesChanged(heard) => {
                self.open_projects();
                let _ = self.engine.follow_project_files(&heard);
                let _ = self.engine.follow_projects(&heard);
            }
            SessionMessage::Scene(update, reply) => {
                let taken = self.update_scene(&update);
                // Who says that a snapshot is whole is not asked for it again.
                self.publish();
                let _ = reply.send(taken);
            }
            SessionMessage::Ack(seq, ack, reply) => {
                let taken = self.acknowledge(seq, *ack);
                // What is acknowledged is offered no more, however long the next plan takes.
                self.publish();
                let _ = reply.send(taken);
            }
            SessionMessage::Chat(chat, reply) => self.start_chat(*chat, reply),
            SessionMessage::MentionsRead(request, read, reply) => {
                self.handle_mentions(*request, read, reply);
            }
            SessionMessage::Find(typed, reply) => {
                let _ = reply.send(Ok(search_instances(self.engine.scene(), &typed)));
                return;
            }
            SessionMessage::StartRevert(goal, call, reply) => {
                // A call that cannot be written down is missed when the engine works.
                let begin = |engine: &mut Engine| drop(engine.add_calls(vec![call]));
                let started = self.start_workflow(
                    goal.as_str().into(),
                    ToolDriver::Calls,
                    Mode::Confirm,
                    begin,
                );
                let _ = reply.send(started);
            }
            SessionMessage::Decide(seq, decide, reply) => {
                let decided = self.decide_proposal(seq, &decide);
                let _ = reply.send(decided);
            }
            SessionMessage::ModelReplied(workflow, ask, answer) => {
                self.handle_model_reply(workflow, &ask, *answer);
            }
            SessionMessage::Fetched(workflow, call, seen) => {
                self.handle_fetched(workflow, call, seen);
            }
            SessionMessage::Call(calling) => self.start_agent_call(*calling),
            SessionMessage::CallStatus(seq, reply) => {
                let _ = reply.send(self.call_status(seq));
                return;
            }
            SessionMessage::CancelCall(name) => self.cancel_named_call(&name),
            SessionMessage::EndConnection(connection) => self.end_connection(&connection),
            SessionMessage::Tidy => {
                self.disconnect_idle_agents();
                self.expire_disconnected();
            }
            SessionMessage::Scripts(cursor, reply) => {
                let listed = self.engine.list_scripts(cursor.as_deref());
                let _ = reply.send(listed.map_err(|refusal| engine_failure(&refusal.into())));
                return;
            }
            SessionMessage::ActOnWorkflow(workflow, verb, reply) => {
                let model = self.active_settings.model();
                let done = self.act_on_workflow(workflow, verb, model.as_deref());
                let _ = reply.send(done);
            }
            SessionMessage::Picture(of, asked, reply) => self.queue_picture(of, asked, reply),
            SessionMessage::ReadScript(path, reply) => {
                drop(reply.send(self.engine.script_texts(&path)));
            }
            SessionMessage::RunWorkflows | SessionMessage::End => {}
        }
        self.run_workflows();
    }

    /// A model has answered, or has not.
    fn handle_model_reply(
        &mut self,
        workflow: Seq,
        ask: &ModelRequest,
        answer: Result<ModelAnswer, HttpError>,
    ) {
        if let Some(job) = self.workflow_slots.get_mut(&workflow) {
            job.active_request = None;
            // That it is asked once more is said once more.
            job.last_phase = None;
        }
        self.engine.select_workflow(workflow);
        if let Err(error) = self.engine.handle_reply(ask, answer) {
            self.stop_with_error(workflow, &error);
        }
    }

    /// Something was seen that a call wanted to look at, or was not.
    fn handle_fetched(&mut self, workflow: Seq, call: Seq, seen: Result<Json, String>) {
        if let Some(job) = self.workflow_slots.get_mut(&workflow) {
            job.active_request.take_if(|asking| asking.is_for(call));
        }
        self.engine.select_workflow(workflow);
        if let Err(error) = self.engine.record_fetch_result(call, seen) {
            self.stop_with_error(workflow, &error);
        }
    }

    /// Looks at the file before anything is said of it: what somebody else has made of it comes first.
    fn refresh_scene(&mut self) {
        // What could not be written down then is missed when the engine works.
        if self.engine.follow_place_file().unwrap_or(true) {
            self.pictures.invalidate();
            self.run_workflows();
        }
    }

    fn start_workflow(
        &mut self,
        asked: UserRequest,
        driver: ToolDriver,
        mode: Mode,
        begin: impl FnOnce(&mut Engine),
    ) -> Result<WorkflowStarted, Failure> {
        if asked.goal.trim().is_empty() {
            let hint = "Say what is to be done.";
            return Err(failure(FailureKind::BadRequest, "Nothing was asked for.", hint));
        }
        self.engine.read_memory();
        let workflow = self
            .engine
            .begin_workflow(asked, driver, mode)
            .map_err(|error| engine_failure(&error))?;
        self.workflow_slots.insert(workflow, WorkflowSlot::default());
        begin(&mut self.engine);
        Ok(WorkflowStarted { workflow })
    }

    /// Works until somebody else is due, and puts on the board what there is to do.
    fn run_workflows(&mut self) {
        // What one does may concern another: all have their turns until nothing more happens.
        let mut due = BTreeMap::new();
        loop {
            let last = self.engine.last_position();
            for workflow in self.engine.task_order() {
                match self.run_workflow(workflow) {
                    Some(is_due) => drop(due.insert(workflow, is_due)),
                    None => drop(due.remove(&workflow)),
                }
            }
            if self.engine.last_position() == last {
                break;
            }
        }
        self.draw_pending();
        self.emit_requested_context();
        for (workflow, due) in due {
            self.emit_thinking(workflow, due);
        }
        self.publish();
    }

    /// Works on one workflow; whom it waits for, where it is neither over nor stopped.
    fn run_workflow(&mut self, workflow: Seq) -> Option<NextStep> {
        if self.workflow_slots.get(&workflow).is_none_or(|job| job.is_stopped) {
            return None;
        }
        self.engine.select_workflow(workflow);
        self.engine.limit_mode(self.active_settings.mode());
        let due = match self.engine.run() {
            Ok(NextStep::Call) => self.finish_agent_workflow(workflow),
            due => due,
        };
        if let Some(job) = self.workflow_slots.get_mut(&workflow).filter(|_| due.is_ok()) {
            job.is_blocked = false;
        }
        self.answer_agents(workflow, due.as_ref().err().map(ToString::to_string).as_deref());
        match due {
            Ok(NextStep::Model) => self.request_model(workflow),
            Ok(NextStep::Fetch(call)) => Some(self.request_fetch(workflow, call)),
            Ok(NextStep::Nothing) => {
                self.engine.end_workflow(workflow);
                self.workflow_slots.remove(&workflow);
                None
            }
            Ok(due) => Some(due),
            Err(EngineError::Place(error)) if error.is_transient() => {
                self.report_blocked(workflow, &error);
                None
            }
            Err(error) => {
                self.stop_with_error(workflow, &error);
                None
            }
        }
    }

    /// Has a model asked for the next message of a workflow, unless it is being asked.
    fn request_model(&mut self, workflow: Seq) -> Option<NextStep> {
        let job = self.workflow_slots.entry(workflow).or_default();
        if job.active_request.is_some() {
            return Some(NextStep::Model);
        }
        match self.engine.prepare_request() {
            Ok(Some(ask)) => {
                job.active_request = Some(ActiveRequest::send_request(
                    ask,
                    workflow,
                    Arc::clone(&self.event_hub),
                    self.session.clone(),
                    self.message_sender.clone(),
                ));
                Some(NextStep::Model)
            }
            // Why not is an entry, and a person has to say that it goes on.
            Ok(None) => Some(NextStep::GoAhead),
            Err(error) => {
                self.stop_with_error(workflow, &error);
                None
            }
        }
    }

    /// Has something looked at for a call, unless it is being looked at.
    fn request_fetch(&mut self, workflow: Seq, call: Seq) -> NextStep {
        // All connections of a program have their turns together.
        let agent =
            self.engine.current_workflow().and_then(Workflow::agent_name).map(str::to_owned);
        let client = agent.unwrap_or_else(|| workflow.to_string());
        let job = self.workflow_slots.entry(workflow).or_default();
        if job.active_request.is_none() {
            let looking = self.engine.find_fetch(call);
            job.active_request = looking.map(|it| {
                ActiveRequest::fetch(it, workflow, call, &client, self.message_sender.clone())
            });
        }
        NextStep::Fetch(call)
    }

    /// Whom a name stands for. One who cannot be asked is missed when it is their turn.
    fn driver_of(&self, name: Option<&str>) -> ToolDriver {
        match self.model_selector.select_models(name) {
            Ok(None) => ToolDriver::Provider(ProviderKind::Offline),
            Ok(Some(models)) => ToolDriver::Provider(ProviderKind::Model(models)),
            Err(why) => ToolDriver::Missing { name: name.unwrap_or(OFFLINE).to_owned(), why },
        }
    }

    pub(crate) fn publish(&self) {
        // Also while one is being told: it may never end.
        let need = (!self.engine.scene().is_tree_complete()).then_some(SessionNeed::Snapshot);
        let stopped = self.workflow_slots.iter().filter(|(_, job)| job.is_stopped);
        let stopped = stopped.map(|(workflow, _)| *workflow).collect();
        let seen = self.slot.update_size(MirrorSize {
            instances: self.engine.scene().instance_count(),
            is_whole: need.is_none(),
            version: self.version,
            project: self.engine.linked_project().map(RojoProject::name),
        });
        match seen {
            VisibleChange::Same => {}
            VisibleChange::Size => self.event_hub.mark_sizes_changed(),
            VisibleChange::Place => self.event_hub.mark_places_changed(),
        }
        self.slot.set_work(self.engine.studio().map_or(&[], StudioTarget::work), need, stopped);
        self.event_hub.wake_waiters(Some(&self.session));
    }
}

fn ledger_listener(board: &Arc<EventHub>, session: &SessionId) -> EntryListener {
    let (board, session) = (Arc::clone(board), session.clone());
    Box::new(move |record: &Record| {
        // What is approved comes with its work.
        let comes_with_more = matches!(record.entry, Entry::Approved { .. });
        for event in events_of(record) {
            let (seq, at, workflow) = (record.seq, record.at, record.workflow);
            let event = EventRecord { seq, at, workflow, event };
            if comes_with_more {
                board.record_event(Some(&session), event, false);
            } else {
                board.publish(Some(&session), event, false);
            }
        }
    })
}

/// What an engine's error is to whoever asked.
fn engine_failure(error: &EngineError) -> Failure {
    match error {
        EngineError::Refused(refusal) => {
            failure(FailureKind::Settled, refusal.0.clone(), "Look at it again.")
        }
        error => failure(FailureKind::Internal, error.to_string(), "Try again."),
    }
}
