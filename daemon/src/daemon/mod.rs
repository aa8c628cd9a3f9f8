//! The daemon: opens and closes sessions, pairs plugins, stores settings and access, and reads the
//! ledger.
//!
//! The server talks to it through a [`DaemonHandle`]. Requests to an open place go to that place's
//! [`SessionHandle`](crate::session::SessionHandle), not through the daemon.

pub mod access;
mod agents;
mod assets;
mod checkpoints;
mod commits;
mod conversation;
mod deploys;
mod editing;
mod file_locks;
mod handle;
mod history;
mod mentions;
mod merges;
mod missing_files;
mod open_place;
mod pairing;
mod pending;
mod pending_summary;
mod pictures;
mod places;
mod projects;
mod reveal;
mod session_registry;
mod sessions;
mod settings;
pub mod settings_store;
mod verifies;
mod views;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use scene_schemas::Fingerprint;
use scene_schemas::api::{Failure, FailureKind, SessionId, Settings, WorkflowView, Workflows};
use scene_schemas::entry::{Finish, Record, Seq};
use tokio::sync::mpsc::{UnboundedReceiver, WeakUnboundedSender, unbounded_channel};
use vector_core::workflow::{PendingStatus, Workflow, WorkflowInput};
use vector_engine::workflow_state;
use vector_engine::workflow_state::WorkflowCache;
use vector_ledger::Ledger;
use vector_providers::model_selector::{ModelSelector, OfflineSelector};
use vector_rojo_project::FileWatch;

use self::commits::CommitRuns;
use self::handle::{DaemonTask, HandleState, run_on_thread};
use self::missing_files::MissingFiles;
use self::open_place::PendingOpens;
use self::pairing::PairingCodes;
use self::session_registry::SessionRegistry;
use self::views::{
    is_checkpoint, is_elsewhere, ledger_failure, not_found, plugin_away, read_state,
    read_workflow_view, session_of, workflow_elsewhere, workflow_view,
};
use crate::asset_store::AssetStore;
use crate::daemon::access::{DaemonRun, GrantStore};
use crate::daemon::settings_store::load_settings;
use crate::event_hub::{AWAY, EventHub};
use crate::failure::failure;
use crate::history::{HistoryIndex, UsageMeter};
use crate::session::{
    ActiveSettings, Answer, SessionHandle, SessionMessage, WorkflowAction, orphaned,
};

/// The folder of the memories of places that are open in Studio.
const MEMORIES: &str = "memory";
/// The driver of a checkpoint, which is recorded as a workflow.
const CHECKPOINT: &str = "checkpoint";
/// The default time after which a session is closed if its plugin has sent nothing.
const CLOSED: Duration = Duration::from_mins(10);
/// The maximum number of workflows or checkpoints in a list.
const LISTED: usize = 100;
/// The number of records whose events the event hub contains at the start.
const REPLAYED: u64 = 2_000;
/// full_moon recurses: 1,000 nested blocks fit in this stack.
const STACK: usize = 512 << 20;

pub(crate) use self::assets::MAX_SEARCH;
pub use self::handle::DaemonHandle;
pub(crate) use self::handle::daemon_closed;
pub(crate) use self::mentions::{FileList, TypedMention};
pub use self::pairing::ClockFn;
pub use self::pending::PendingCount;
pub use self::pending_summary::{ChangeExtent, PendingSummary, batch_approvable, grouped_steps};
pub use self::pictures::PictureTarget;
pub(crate) use self::views::{active_rules, offered_rules, review_view};

/// A function that shows a message to the user.
pub type Notifier = Box<dyn FnMut(&str) + Send>;

/// The state of the daemon, and the loop that runs its tasks on one thread.
pub struct DaemonActor {
    home: PathBuf,
    ledger: Arc<Ledger>,
    event_hub: Arc<EventHub>,
    sessions: Arc<SessionRegistry>,
    settings: Settings,
    /// The settings that sessions follow.
    active_settings: Arc<ActiveSettings>,
    /// Cache of the workflows of agents.
    workflow_cache: WorkflowCache,
    pairing: PairingCodes,
    grants: GrantStore,
    run: Option<DaemonRun>,
    epoch: u64,
    /// The time after which a silent session is closed.
    idle_limit: Duration,
    notify: Notifier,
    model_selector: Arc<dyn ModelSelector>,
    history_index: Arc<HistoryIndex>,
    /// The end of the ledger at the last poll for changes by other processes.
    polled_head: Seq,
    files: MissingFiles,
    usage_meter: Arc<UsageMeter>,
    commits: CommitRuns,
    /// Watches of the project files.
    file_watches: Vec<FileWatch>,
    /// The open projects, by their files, and the open places that are notified of changes in them.
    projects: Vec<PathBuf>,
    followers: Arc<Mutex<Vec<Sender<SessionMessage>>>>,
    pending_opens: PendingOpens,
    /// The tasks that run on this thread.
    tasks: UnboundedReceiver<DaemonTask>,
    /// Weak: the daemon ends with its last handle.
    task_sender: WeakUnboundedSender<DaemonTask>,
}

/// Returns random hexadecimal digits, twice as many as `bytes`.
///
/// # Errors
/// The system provides no random numbers.
pub fn random_text(bytes: usize) -> Result<String, std::io::Error> {
    let mut chance = vec![0; bytes];
    getrandom::fill(&mut chance).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(Fingerprint::hash_bytes(&chance).0.chars().take(2 * bytes).collect())
}

impl DaemonActor {
    /// Reads the stored state from the ledger's folder. The daemon works once [`Self::run`] is
    /// called, for as long as there are handles.
    ///
    /// # Errors
    /// The stored state cannot be read.
    pub fn new(
        home: &Path,
        ledger: Arc<Ledger>,
        event_hub: Arc<EventHub>,
        notifier: Notifier,
    ) -> Result<(Self, DaemonHandle), std::io::Error> {
        let selector: Arc<dyn ModelSelector> = Arc::new(OfflineSelector);
        let settings = load_settings(home);
        let (task_sender, tasks) = unbounded_channel();
        let daemon = Self {
            active_settings: Arc::new(ActiveSettings::from_settings(&settings)),
            workflow_cache: WorkflowCache::default(),
            settings,
            pairing: PairingCodes::new()?,
            grants: GrantStore::load(home)?,
            run: None,
            home: home.to_owned(),
            ledger,
            event_hub,
            sessions: Arc::default(),
            epoch: 0,
            idle_limit: CLOSED,
            notify: notifier,
            model_selector: selector,
            history_index: Arc::default(),
            polled_head: Seq(0),
            files: MissingFiles::default(),
            usage_meter: Arc::default(),
            commits: CommitRuns::default(),
            file_watches: Vec::new(),
            projects: Vec::new(),
            followers: Arc::default(),
            pending_opens: PendingOpens::default(),
            tasks,
            task_sender: task_sender.downgrade(),
        };
        let state = HandleState {
            ledger: Arc::clone(&daemon.ledger),
            event_hub: Arc::clone(&daemon.event_hub),
            sessions: Arc::clone(&daemon.sessions),
            history_index: Arc::clone(&daemon.history_index),
            usage_meter: Arc::clone(&daemon.usage_meter),
            asset_store: Arc::new(AssetStore::new()),
            verifies: Arc::default(),
        };
        daemon.replay_events();
        daemon.publish_tokens();
        Ok((daemon, DaemonHandle::new(task_sender, Arc::new(state))))
    }

    /// Sets the models that can be used beside the offline planner.
    #[must_use]
    pub fn with_models(mut self, who: Arc<dyn ModelSelector>) -> Self {
        self.model_selector = who;
        self
    }

    /// Sets the time after which a silent session is closed.
    #[must_use]
    pub fn with_idle_limit(mut self, silence: Duration) -> Self {
        self.idle_limit = silence;
        self
    }

    /// Sets the time after which undecided proposals of disconnected agents are withdrawn. With
    /// None they stay pending without limit.
    #[must_use]
    pub fn with_pending_limit(self, limit: Option<Duration>) -> Self {
        self.active_settings.set_pending_limit(limit);
        self
    }

    /// Sets the share of a place, in percent, from which a proposal warns of a large change.
    #[must_use]
    pub fn with_large_change(self, percent: u32) -> Self {
        self.active_settings.set_large_change(percent);
        self
    }

    /// Publishes the events of the latest records in the event hub.
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
            for event in conversation::event_records(&record) {
                self.event_hub.publish(Some(session), event, false);
            }
        }
    }

    /// Detects changes that are not announced: files that disappeared or reappeared, and entries of
    /// other processes, whose tasks are listed too.
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

    /// Runs tasks until the last handle is dropped. Then all sessions end.
    pub fn run(mut self) {
        while let Some(task) = self.tasks.blocking_recv() {
            task(&mut self);
        }
        self.send_to_all(|| SessionMessage::End);
    }

    /// Returns the session of the workflow that an entry belongs to.
    fn session_of_entry(&self, seq: Seq) -> Result<SessionHandle, Failure> {
        let record = self.ledger.record_at(seq).map_err(|error| ledger_failure(&error))?;
        let Some(record) = record else {
            return Err(not_found(seq));
        };
        let started =
            self.ledger.record_at(record.workflow).map_err(|error| ledger_failure(&error))?;
        let session = started.as_ref().and_then(session_of);
        let session = session.and_then(|session| self.sessions.get(&session));
        let session = session.ok_or_else(plugin_away)?;
        // The lease goes when the workflow ends, which may be while its state is read.
        let is_held = self.ledger.has_lease(record.workflow);
        let state = read_state(&self.ledger, record.workflow)?;
        let is_here = |it| is_held || !is_elsewhere(&self.ledger, record.workflow, it);
        if state.workflow(record.workflow).is_none_or(is_here) {
            return Ok(session.handle);
        }
        Err(workflow_elsewhere(record.workflow))
    }

    /// Ends a workflow whose place is not open.
    fn abandon_workflow(&self, seq: Seq) -> Result<WorkflowView, Failure> {
        let Some(lease) = self.ledger.try_lease(seq).map_err(|error| ledger_failure(&error))?
        else {
            let message = format!("Workflow {seq} is running in another process.");
            return Err(failure(FailureKind::Settled, message, "Stop it there."));
        };
        let state = read_state(&self.ledger, seq)?;
        let left = |status: &PendingStatus| {
            matches!(status, PendingStatus::Approved | PendingStatus::Applying(_))
        };
        let all = state.workflow(seq).into_iter().flat_map(Workflow::proposals);
        let proposals: Vec<Seq> =
            all.filter(|(_, it)| left(&it.status)).map(|(seq, _)| seq).collect();
        let reason = "The place was closed before the change was confirmed. Check whether it was \
        applied, and request it again if not.";
        let inputs = [
            WorkflowInput::Failed { proposals, reason: reason.to_owned() },
            WorkflowInput::Finish { outcome: Finish::NotApproved },
        ];
        orphaned::append_inputs(&self.ledger, &self.event_hub, seq, inputs)
            .map_err(|error| ledger_failure(&error))?;
        drop(lease);
        read_workflow_view(&self.ledger, &self.event_hub, seq)
    }

    /// Begins an action on a workflow. A workflow whose place is not open can still be cancelled.
    fn begin_action(&mut self, seq: Seq, action: WorkflowAction) -> Result<BegunAction, Failure> {
        if let Some(session) = self.id_of_workflow(seq)?
            && self.sessions.is_ending(&session)
        {
            return Ok(BegunAction::Ending(session));
        }
        match self.session_of_workflow(seq) {
            Ok(session) => Ok(BegunAction::Sent(session.act_on_workflow(seq, action))),
            Err(failure)
                if action == WorkflowAction::Cancel
                    && (failure == plugin_away() || failure == workflow_elsewhere(seq)) =>
            {
                Ok(BegunAction::Abandoned(Box::new(self.abandon_workflow(seq)?)))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Returns the id of the session that a workflow belongs to, open or not.
    fn id_of_workflow(&self, seq: Seq) -> Result<Option<SessionId>, Failure> {
        let record = self.ledger.record_at(seq).map_err(|error| ledger_failure(&error))?;
        Ok(record.as_ref().and_then(session_of))
    }

    fn session_of_workflow(&self, seq: Seq) -> Result<SessionHandle, Failure> {
        let record = self.ledger.record_at(seq).map_err(|error| ledger_failure(&error))?;
        match record {
            Some(record) if record.workflow == seq => self.session_of_entry(seq),
            _ => Err(not_found(seq)),
        }
    }

    /// Returns the first records of the newest workflows, newest first.
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

impl DaemonHandle {
    /// Lists the newest workflows, newest first.
    pub fn list_workflows(&self) -> Answer<Workflows> {
        self.run(DaemonActor::list_workflows)
    }

    pub fn workflow(&self, workflow: Seq) -> Answer<WorkflowView> {
        self.run(move |daemon| daemon.view_workflow(workflow))
    }

    /// Performs an action on a workflow, in its session.
    ///
    /// # Errors
    /// The workflow does not exist, or its place is not open and the action is not a cancellation.
    pub async fn act_on_workflow(
        &self,
        workflow: Seq,
        action: WorkflowAction,
    ) -> Result<WorkflowView, Failure> {
        loop {
            let action = action.clone();
            let outcome = self.run(move |daemon| daemon.begin_action(workflow, action)).await?;
            match outcome {
                BegunAction::Sent(answer) => answer.await?,
                BegunAction::Abandoned(view) => return Ok(*view),
                BegunAction::Ending(session) => {
                    // It releases its workflows soon.
                    self.state.sessions.wait_until_ended(&HashSet::from([session])).await;
                    continue;
                }
            }
            let state = Arc::clone(&self.state);
            let read = move || read_workflow_view(&state.ledger, &state.event_hub, workflow);
            return run_on_thread(read).await;
        }
    }
}

/// An action on a workflow that has begun.
enum BegunAction {
    /// The session of the workflow performs it.
    Sent(Answer<()>),
    /// The workflow was ended without its session.
    Abandoned(Box<WorkflowView>),
    /// The session of the workflow is ending.
    Ending(SessionId),
}
