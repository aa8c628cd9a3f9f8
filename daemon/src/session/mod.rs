//! The session of an open place: its scene, and its concurrent workflows.
//!
//! A session handles the reports of the plugin and the requests and decisions of the user, and runs
//! its workflows until each has to wait for something. It publishes work for the plugin and events
//! in the event hub. It has its own thread, with a large stack, for everything that may take long.
//! While that thread is idle, a decision is made on the thread of its request, so that Studio
//! receives it at once.

mod active_settings;
mod agent;
mod agent_requests;
mod attachments;
mod decisions;
mod estimates;
mod handle;
mod model_calls;
pub(crate) mod orphaned;
mod pictures;
mod plugin_reports;
mod progress;
mod reviews;
mod workers;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvError, Sender, TryRecvError};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use scene_schemas::InstancePath;
use scene_schemas::api::{
    ApplyAck, ApplyReceipt, CallView, DecisionRequest, DecisionResponse, EventRecord, Failure,
    FailureKind, ProposedScript, ReviewQuote, SceneReceipt, SceneUpdate, ScriptPage, SessionId,
    SessionNeed, ThinkingPhase, WorkflowStarted,
};
use scene_schemas::entry::{Entry, Record, Seq, StudioPlace};
use scene_schemas::proposal::Mode;
use scene_schemas::refusal::Refusal;
use scene_schemas::tier::TaskEstimate;
use tokio::sync::oneshot;
use vector_core::planning_scene::PlanningScene;
use vector_core::prompt::ToolCall;
use vector_core::workflow::{AGENT, CALLS, Workflow, events_of};
use vector_ledger::Ledger;
use vector_providers::ProviderKind;
use vector_providers::answer::ModelAnswer;
use vector_providers::http::HttpError;
use vector_providers::model_choice::OFFLINE;
use vector_providers::model_selector::ModelSelector;

pub(crate) use self::active_settings::{ActiveSettings, RequestSettings};
use self::agent::AgentConnection;
pub(crate) use self::agent::{CallRequest, call_name, call_not_found, workflow_call_view};
use self::attachments::SessionRequest;
pub(crate) use self::attachments::{Mentionable, search_instances};
pub use self::handle::{Answer, PictureOptions, SessionHandle, WorkflowAction};
pub(crate) use self::handle::{Reply, SharedActor};
use self::model_calls::ActiveRequest;
use vector_engine::fetch::FetchResult;
use vector_engine::model_request;
use vector_engine::model_request::ModelRequest;
use vector_engine::render_input::PictureSubject;
use vector_engine::studio::AwaitedAnswer;
use vector_engine::studio::StudioTarget;
use vector_engine::{
    Engine, EngineError, EntryListener, NextStep, Target, ToolDriver, UserRequest,
};
use vector_rojo_project::{FileChanges, RojoProject};

use crate::event_hub::{EventHub, MirrorSize, ReviewGate, SessionSlot, VisibleChange};
use crate::failure::failure;
use crate::tasks::mentions::ReadMentions;

/// A message to a session.
pub(crate) enum SessionMessage {
    /// The plugin was restarted.
    Hello(StudioPlace),
    /// Files of the place or its projects may have changed.
    FilesChanged(FileChanges),
    /// A project was opened after the place.
    ProjectOpened(PathBuf),
    /// Leases of workflows were released, some of which may belong to this session.
    ResumeWorkflows,
    /// The plugin reports changes of the place.
    Scene(Box<SceneUpdate>, Reply<SceneReceipt>),
    /// The plugin reports the outcome of a proposal.
    Ack(Seq, Box<ApplyAck>, Reply<ApplyReceipt>),
    /// A request of the user.
    Chat(Box<SessionRequest>, Reply<WorkflowStarted>),
    /// Query for what a request of the user will take.
    Estimate(Box<SessionRequest>, Reply<TaskEstimate>),
    /// The mentions of a request were read, or cannot be read.
    MentionsRead(Box<SessionRequest>, Result<ReadMentions, String>, Reply<WorkflowStarted>),
    /// Query for what can be mentioned, by the text typed after `@`.
    Mentionable(String, Reply<Mentionable>),
    /// Query whether there is one instance at a path.
    CheckInstance(InstancePath, Reply<Result<(), Refusal>>),
    /// Query for the file of a script in a Rojo project, as an absolute path.
    ScriptFile(InstancePath, Reply<Option<PathBuf>>),
    /// Shows a script or an instance in Studio, at a line. The reply receives Studio's answer.
    Reveal(InstancePath, Option<u32>, Reply<AwaitedAnswer>),
    /// An agent's call of a tool.
    Call(Box<CallRequest>),
    /// Query for the outcome of a call.
    CallStatus(Seq, Reply<CallView>),
    /// Withdrawal of a call, by its name.
    CancelCall(String),
    /// The end of an agent's connection.
    EndConnection(String),
    /// Query for a page of the scripts, beginning at a cursor.
    Scripts(Option<String>, Reply<ScriptPage>),
    /// Disconnects agents that have been silent for too long, and withdraws expired proposals.
    Tidy,
    /// The answer of a model in a workflow, or the error.
    ModelReplied(Seq, Box<ModelRequest>, Box<Result<ModelAnswer, HttpError>>),
    /// The result of a call's fetch, or the reason it failed.
    Fetched(Seq, Seq, Result<FetchResult, String>),
    Decide(Seq, DecisionRequest, Reply<DecisionResponse>),
    /// Request of a review of a pending proposal by a model.
    Review(Seq, RequestSettings, Reply<WorkflowStarted>),
    /// Query for what a review of a pending proposal would cost.
    QuoteReview(Seq, RequestSettings, Reply<ReviewQuote>),
    /// Query for the resulting text of a script of a pending proposal.
    ProposedScript(Seq, usize, Reply<ProposedScript>),
    /// The user's action on a workflow.
    ActOnWorkflow(Seq, WorkflowAction, RequestSettings, Reply<()>),
    /// Starts a workflow with this goal and one call of the user.
    StartCall(String, ToolCall, Reply<WorkflowStarted>),
    /// Request for a picture.
    Picture(PictureSubject, PictureOptions, Reply<Vec<u8>>),
    /// Query for the texts of a script, in the place and in its file.
    ReadScript(InstancePath, oneshot::Sender<Vec<String>>),
    /// A decision was made on another thread, and there is more to do.
    RunWorkflows,
    /// The session ends. Its workflows continue when the place is opened again.
    End,
}

/// The session's state of an active workflow.
#[derive(Debug, Default)]
struct WorkflowSlot {
    /// Whether it was reported that approved changes cannot be applied at the moment.
    is_blocked: bool,
    /// Whether the workflow has failed and waits for a retry.
    is_stopped: bool,
    /// Its state as a shared task.
    shared: workers::SharedSlot,
    /// The last phase that was emitted.
    last_phase: Option<ThinkingPhase>,
    /// The running request to a model, or the running fetch.
    active_request: Option<ActiveRequest>,
    /// The calling agent; None if the driver is not an agent.
    agent: Option<AgentConnection>,
}

pub(crate) struct SessionActor {
    ledger: Arc<Ledger>,
    event_hub: Arc<EventHub>,
    slot: Arc<SessionSlot>,
    session: SessionId,
    engine: Engine,
    workflow_slots: BTreeMap<Seq, WorkflowSlot>,
    /// Names of calls that agents withdrew before they arrived.
    cancelled_calls: VecDeque<String>,
    /// The latest requests by their ids, and the workflows that they started.
    recent_requests: VecDeque<(String, Seq)>,
    /// Requests whose mentions are being read.
    pending_mentions: attachments::PendingMentions,
    version: u64,
    /// The number of questions to Studio when they were last reported.
    reported_work: usize,
    /// The user's settings, which can change at any time.
    active_settings: Arc<ActiveSettings>,
    model_selector: Arc<dyn ModelSelector>,
    /// The sender of this session's own messages, for the answers of models.
    message_sender: Sender<SessionMessage>,
    /// Projects that are open beside the place but could not be read yet.
    projects: Vec<PathBuf>,
    pictures: pictures::PendingPictures,
    review_gate: ReviewGate,
}

impl SessionActor {
    /// Creates the session of a place, of which nothing may be known yet.
    pub(crate) fn new(
        ledger: Arc<Ledger>,
        event_hub: Arc<EventHub>,
        session: SessionId,
        slot: Arc<SessionSlot>,
        opened: (Target, PlanningScene),
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
        engine.set_attended(true);
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
            review_gate: ReviewGate::default(),
        }
    }

    /// Adds the open projects, with which the open place may be synced.
    pub(crate) fn with_projects(self, projects: Vec<PathBuf>) -> Self {
        Self { projects, ..self }
    }

    /// Handles messages until the session ends. The actor is dropped then, with the leases that it holds, on
    /// this thread.
    pub(crate) fn run(actor: &SharedActor, messages: &Receiver<SessionMessage>) {
        let actor = ReleaseGuard(actor);
        let is_started = actor.with(|actor| {
            // The memory of a file or project was read when it was opened.
            if actor.engine.studio().is_some() {
                actor.engine.read_memory();
            }
            actor.open_projects();
            actor.resume_workflows();
            actor.run_workflows();
        });
        if is_started.is_none() {
            return;
        }
        let mut has_more = false;
        loop {
            let message = if has_more {
                match messages.try_recv() {
                    Ok(message) => Some(message),
                    Err(TryRecvError::Empty) => None,
                    Err(TryRecvError::Disconnected) => return,
                }
            } else {
                match messages.recv() {
                    Ok(message) => Some(message),
                    Err(RecvError) => return,
                }
            };
            if matches!(message, Some(SessionMessage::End)) {
                actor.with(Self::detach_agents);
                return;
            }
            let handled = actor.with(|actor| {
                match message {
                    Some(message) => actor.handle_message(message),
                    None => actor.draw_pending(),
                }
                actor.pictures.has_more()
            });
            match handled {
                Some(more) => has_more = more,
                None => return,
            }
        }
    }

    /// Opens the projects that are open beside the place. One that cannot be read now is tried
    /// again when its files change.
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

    /// Adds a project that was opened after the place.
    fn add_project(&mut self, project: PathBuf) {
        self.projects.push(project);
        self.open_projects();
        // Detection compares the project with the actual place, without pending proposals.
        self.engine.mirror_scene();
        // A ledger error shows up again when the engine runs.
        let _ = self.engine.detect_linked_project();
    }

    /// Resumes the workflows that an earlier epoch or process left. One whose files are being
    /// restored at the moment is resumed when that is finished.
    fn resume_workflows(&mut self) {
        let Ok(unfinished) = self.ledger.unfinished_starts() else {
            return;
        };
        let before = self.workflow_slots.len();
        for record in unfinished {
            let Entry::Started { place, driver, served, .. } = &record.entry else {
                continue;
            };
            // Workflows that a terminal left in files were settled when the files were opened.
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
                job.agent = self.engine.workflow(record.seq).and_then(left);
                let is_gone = job.agent.as_ref().is_some_and(|agent| !agent.is_connected());
                if is_gone {
                    self.note_disconnected(record.seq);
                }
            }
        }
        if self.workflow_slots.len() > before {
            // These workflows were listed as running elsewhere until now.
            self.event_hub.mark_places_changed();
        }
    }

    fn handle_message(&mut self, message: SessionMessage) {
        self.refresh_scene();
        if !matches!(message, SessionMessage::Picture(..)) {
            self.pictures.invalidate();
        }
        match message {
            SessionMessage::Hello(place) => self.handle_hello(place),
            SessionMessage::ProjectOpened(project) => self.add_project(project),
            SessionMessage::ResumeWorkflows => self.resume_workflows(),
            // A project that cannot be read now is read again when its files have been corrected.
            // Nothing is written meanwhile, because its files differ from what was read.
            SessionMessage::FilesChanged(changes) => {
                self.open_projects();
                let _ = self.engine.follow_files(&changes);
            }
            SessionMessage::Scene(update, reply) => {
                let taken = self.update_scene(&update);
                // Clear the snapshot request before replying, so that the plugin is not asked
                // twice.
                self.publish();
                let _ = reply.send(taken);
            }
            SessionMessage::Ack(seq, ack, reply) => {
                let taken = self.acknowledge(seq, *ack);
                // Remove acknowledged work before replying, as the next plan may take long.
                self.publish();
                let _ = reply.send(taken);
            }
            SessionMessage::Chat(request, reply) => self.start_chat(*request, reply),
            SessionMessage::Estimate(request, reply) => {
                return drop(reply.send(Ok(self.estimate_chat(*request))));
            }
            SessionMessage::MentionsRead(request, read, reply) => {
                self.handle_mentions(*request, read, reply);
            }
            SessionMessage::Mentionable(typed, reply) => {
                let _ = reply.send(Ok(self.find_mentionable(&typed)));
                return;
            }
            SessionMessage::CheckInstance(path, reply) => {
                return drop(reply.send(Ok(self.check_instance(&path))));
            }
            SessionMessage::ScriptFile(path, reply) => {
                return drop(reply.send(Ok(self.engine.script_file(&path))));
            }
            SessionMessage::Reveal(path, line, reply) => {
                let _ = reply.send(self.reveal(&path, line));
            }
            SessionMessage::StartCall(goal, call, reply) => {
                // If the call cannot be recorded, the error shows up again when the engine runs.
                let started =
                    self.start_workflow(goal.as_str().into(), ToolDriver::Calls, Mode::Confirm);
                if let Ok(WorkflowStarted { workflow }) = &started {
                    let _ = self.engine.add_calls(*workflow, vec![call]);
                }
                let _ = reply.send(started);
            }
            SessionMessage::Decide(seq, decide, reply) => {
                let decided = self.decide_proposal(seq, &decide);
                let _ = reply.send(decided);
            }
            SessionMessage::Review(proposal, settings, reply) => {
                let _ = reply.send(self.start_review(proposal, settings.model.as_deref()));
            }
            SessionMessage::QuoteReview(proposal, settings, reply) => {
                return self.send_quote(proposal, &settings, reply);
            }
            SessionMessage::ProposedScript(seq, script, reply) => {
                let found = self.engine.proposed_script(seq, script);
                let _ = reply.send(found.map_err(|error| engine_failure(&error)));
            }
            SessionMessage::ModelReplied(workflow, sent_request, answer) => {
                self.handle_model_reply(workflow, &sent_request, *answer);
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
            SessionMessage::ActOnWorkflow(workflow, verb, settings, reply) => {
                let done = self.act_on_workflow(workflow, verb, settings.model.as_deref());
                let _ = reply.send(done);
            }
            SessionMessage::Picture(of, options, reply) => self.queue_picture(of, options, reply),
            SessionMessage::ReadScript(path, reply) => {
                drop(reply.send(self.engine.script_texts(&path)));
            }
            SessionMessage::RunWorkflows | SessionMessage::End => {}
        }
        self.run_workflows();
    }

    /// Handles the answer of a model, or its error.
    fn handle_model_reply(
        &mut self,
        workflow: Seq,
        request: &ModelRequest,
        answer: Result<ModelAnswer, HttpError>,
    ) {
        if let Some(job) = self.workflow_slots.get_mut(&workflow) {
            job.active_request = None;
            // Emit the "asking the model" event again on retry.
            job.last_phase = None;
        }
        if let Err(error) = self.engine.handle_reply(workflow, request, answer) {
            self.stop_with_error(workflow, &error);
        }
    }

    /// Handles the result of a call's fetch.
    fn handle_fetched(&mut self, workflow: Seq, call: Seq, seen: Result<FetchResult, String>) {
        if let Some(job) = self.workflow_slots.get_mut(&workflow) {
            job.active_request.take_if(|asking| asking.is_for(call));
        }
        if let Err(error) = self.engine.record_fetch_result(workflow, call, seen) {
            self.stop_with_error(workflow, &error);
        }
    }

    /// Reads the place file again if another program changed it. This precedes each message, so
    /// that it applies to the current file.
    fn refresh_scene(&mut self) {
        // A ledger error shows up again when the engine runs.
        if self.engine.follow_place_file().unwrap_or(true) {
            self.pictures.invalidate();
            self.run_workflows();
        }
    }

    fn start_workflow(
        &mut self,
        request: UserRequest,
        driver: ToolDriver,
        mode: Mode,
    ) -> Result<WorkflowStarted, Failure> {
        if request.goal.trim().is_empty() {
            let hint = "Describe what should be done.";
            return Err(failure(FailureKind::BadRequest, "The request is empty.", hint));
        }
        self.engine.read_memory();
        let workflow = self
            .engine
            .begin_workflow(request, driver, mode)
            .map_err(|error| engine_failure(&error))?;
        self.workflow_slots.insert(workflow, WorkflowSlot::default());
        Ok(WorkflowStarted { workflow })
    }

    /// Runs all workflows until each has to wait, and publishes the work for the plugin.
    fn run_workflows(&mut self) {
        // A step of one workflow may affect another, so all get turns until nothing more happens.
        let mut due = BTreeMap::new();
        loop {
            let last = self.engine.last_position();
            self.settle_reviews();
            self.settle_workers();
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
        self.engine.drop_abandoned_questions();
        self.emit_requested_context();
        for (workflow, due) in due {
            self.emit_thinking(workflow, due);
        }
        self.publish();
    }

    /// Runs one workflow. Returns what it waits for, or None if it is finished or has failed.
    fn run_workflow(&mut self, workflow: Seq) -> Option<NextStep> {
        if self.workflow_slots.get(&workflow).is_none_or(|job| job.is_stopped) {
            return None;
        }
        self.engine.limit_mode(self.active_settings.mode());
        self.engine.set_dry_run(self.active_settings.is_dry_run());
        self.engine.set_large_change(self.active_settings.large_change());
        self.engine.set_spending_limits(self.active_settings.limits());
        self.engine.set_play_check(self.active_settings.has_play_check());
        let due = match self.engine.run(workflow) {
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

    /// Requests the model's next message for a workflow, unless a request is running.
    fn request_model(&mut self, workflow: Seq) -> Option<NextStep> {
        let job = self.workflow_slots.entry(workflow).or_default();
        if job.active_request.is_some() {
            return Some(NextStep::Model);
        }
        match self.engine.prepare_request(workflow) {
            Ok(Some(request)) => {
                job.active_request = Some(ActiveRequest::send_request(
                    request,
                    workflow,
                    Arc::clone(&self.event_hub),
                    self.session.clone(),
                    self.message_sender.clone(),
                ));
                Some(NextStep::Model)
            }
            // The reason is recorded as an entry, and the user has to confirm that it continues.
            Ok(None) => Some(NextStep::GoAhead),
            Err(error) => {
                self.stop_with_error(workflow, &error);
                None
            }
        }
    }

    /// Starts the fetch for a call, unless one is running.
    fn request_fetch(&mut self, workflow: Seq, call: Seq) -> NextStep {
        if let Some(work) = self.engine.session_work(call) {
            self.answer_agent_request(workflow, call, work);
            return NextStep::Fetch(call);
        }
        // All connections of a client share one turn in the queue.
        let agent =
            self.engine.workflow(workflow).and_then(Workflow::agent_name).map(str::to_owned);
        let client = agent.unwrap_or_else(|| workflow.to_string());
        let job = self.workflow_slots.entry(workflow).or_default();
        if job.active_request.is_none() {
            let work = self.engine.find_fetch(call);
            job.active_request = work.map(|it| {
                ActiveRequest::fetch(it, workflow, call, &client, self.message_sender.clone())
            });
        }
        NextStep::Fetch(call)
    }

    /// Returns the driver for a name. A model that cannot be used becomes [`ToolDriver::Missing`],
    /// which fails when its turn comes.
    fn driver_of(&self, name: Option<&str>) -> ToolDriver {
        match self.model_selector.select_models(name) {
            Ok(None) => ToolDriver::Provider(ProviderKind::Offline),
            Ok(Some(models)) => ToolDriver::Provider(ProviderKind::Model(models)),
            Err(why) => ToolDriver::Missing { name: name.unwrap_or(OFFLINE).to_owned(), why },
        }
    }

    pub(crate) fn publish(&self) {
        // The snapshot stays requested while the plugin is sending one, which may never finish.
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

/// Takes the actor out of what its handles share, also when its thread panics.
struct ReleaseGuard<'a>(&'a SharedActor);

impl ReleaseGuard<'_> {
    /// Works on the actor; None if it is lost after a panic. The next hello starts a new session then.
    fn with<T>(&self, work: impl FnOnce(&mut SessionActor) -> T) -> Option<T> {
        self.0.lock().ok()?.as_mut().map(work)
    }
}

impl Drop for ReleaseGuard<'_> {
    fn drop(&mut self) {
        let actor = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(actor);
    }
}

fn ledger_listener(event_hub: &Arc<EventHub>, session: &SessionId) -> EntryListener {
    let (event_hub, session) = (Arc::clone(event_hub), session.clone());
    Box::new(move |record: &Record| {
        // Waiters of an approved proposal are woken later, together with its work.
        let comes_with_more = matches!(record.entry, Entry::Approved { .. });
        for event in events_of(record) {
            let (seq, at, workflow) = (record.seq, record.at, record.workflow);
            let event = EventRecord { seq, at, workflow, event };
            if comes_with_more {
                event_hub.record_event(Some(&session), event, false);
            } else {
                event_hub.publish(Some(&session), event, false);
            }
        }
    })
}

/// Converts an engine error for the caller.
pub(crate) fn engine_failure(error: &EngineError) -> Failure {
    match error {
        EngineError::Refused(refusal) => {
            failure(FailureKind::Settled, refusal.0.clone(), "Look at it again.")
        }
        error => failure(FailureKind::Internal, error.to_string(), "Try again."),
    }
}
