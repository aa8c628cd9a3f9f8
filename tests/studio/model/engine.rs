//! The real engine, driven as a session drives it, so that the modeled daemon can be compared with
//! it.
//!
//! The place has one folder or script for each write, and an instance for each creation that was
//! applied. A question of the engine is answered at once with what it was told last, because the
//! model has none. Vector stops by unwinding from the engine's listener: every entry before it is
//! durable, and nothing after it has happened.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use scene_schemas::api::{
    ActionResult, ApplyOutcome, NodeColumns, OpenPlace, PluginAnswer, PluginQuery, ScenePart,
    ScriptText, SessionId, Work,
};
use scene_schemas::entry::{Approver, Entry, Finish, Record, Seq, StudioPlace};
use scene_schemas::proposal::Mode;
use scene_schemas::{Fingerprint, InstanceId};
use serde_json::json;
use vector_core::prompt::ToolCall;
use vector_core::workflow::{PendingStatus, WorkflowInput, decide};
use vector_engine::studio::StudioTarget;
use vector_engine::workflow_state::read_workflow;
use vector_engine::{Engine, EngineError, NextStep, ToolDriver};
use vector_ledger::{AppendBatch, Ledger};
use vector_place::Scene;

use super::ProposalKind::{Create, Write};
use super::state::{BOTH, ModelStatus, NO_EFFECT, PlaceState, PluginPost, ReportedOutcome};

/// The number of instances of each snapshot.
const ANNOUNCED: u32 = 4;
use super::{ModelCase, ProposalKind};

/// The reason of a failure that asks the user to look.
const LOOK: &str = "Check whether it is there.";

/// An instance of the place, below another or the place itself.
struct PlaceNode {
    id: InstanceId,
    parent: Option<InstanceId>,
    class: &'static str,
    name: String,
    text: Option<String>,
}

fn studio_id(number: usize) -> InstanceId {
    InstanceId(format!("studio:{number}"))
}

fn workspace_id() -> InstanceId {
    studio_id(1)
}

/// The id of the instance that a proposal writes or creates.
fn subject_id(p: usize) -> InstanceId {
    studio_id(10 + p)
}

/// The id of the instance that the second proposal writes, if the first creates its parent.
fn inner_id() -> InstanceId {
    subject_id(1)
}

impl ModelCase {
    /// Whether the second proposal is about an instance in the first one's.
    fn is_nested(&self, p: usize) -> bool {
        p == 1 && self.is_built()
    }

    fn subject_parent(&self, p: usize) -> InstanceId {
        if self.is_nested(p) { subject_id(0) } else { workspace_id() }
    }

    /// The name of the instance that a proposal writes or creates, as the place has it.
    fn subject_name(&self, p: usize, place: PlaceState) -> String {
        match self.kinds[p] {
            _ if self.is_of_texts() => format!("Script{p}"),
            Create => format!("Made{p}"),
            Write if place.other[p] => format!("Other{p}"),
            Write if place.there[p] => format!("New{p}"),
            Write => format!("Old{p}"),
        }
    }

    fn subject_text(&self, p: usize, place: PlaceState) -> Option<String> {
        let text = match () {
            () if place.other[p] => "print(\"typed\")\n",
            () if place.there[p] => "print(2)\n",
            () => "print(1)\n",
        };
        self.is_of_texts().then(|| text.to_owned())
    }

    /// Returns the instances of a place, parents first.
    fn list_nodes(&self, place: PlaceState) -> Vec<PlaceNode> {
        let mut nodes = vec![PlaceNode {
            id: workspace_id(),
            parent: None,
            class: "Workspace",
            name: "Workspace".to_owned(),
            text: None,
        }];
        for p in BOTH {
            let has_parent = !self.is_nested(p) || nodes.iter().any(|it| it.id == subject_id(0));
            let is_there = self.kinds[p] == Write || place.there[p];
            if has_parent && is_there {
                nodes.push(PlaceNode {
                    id: subject_id(p),
                    parent: Some(self.subject_parent(p)),
                    class: if self.is_of_texts() { "Script" } else { "Folder" },
                    name: self.subject_name(p, place),
                    text: self.subject_text(p, place),
                });
            }
        }
        nodes
    }

    /// Returns the call that plans a proposal.
    fn tool_call(&self, p: usize) -> ToolCall {
        let fresh = NO_EFFECT;
        let planned = PlaceState { there: [true; 2], ..fresh };
        let parent = if self.is_nested(p) {
            format!("game.Workspace.{}", self.subject_name(0, planned))
        } else {
            "game.Workspace".to_owned()
        };
        let path = format!("{parent}.{}", self.subject_name(p, fresh));
        let name = self.subject_name(p, planned);
        match self.kinds[p] {
            Write if self.is_of_texts() => {
                let source = self.subject_text(p, planned);
                ToolCall::new("write_script", json!({ "path": path, "source": source }))
            }
            Write => ToolCall::new("rename_instance", json!({ "path": path, "newName": name })),
            Create => {
                // The first one brings what the second one writes.
                let inner = self.is_nested(1) && p == 0 && self.kinds[1] == Write;
                let child = json!({
                    "className": "Folder",
                    "props": { "Name": self.subject_name(1, fresh) },
                });
                let children = if inner { vec![child] } else { Vec::new() };
                ToolCall::new(
                    "create_instance",
                    json!({
                        "parentPath": parent,
                        "className": "Folder",
                        "props": { "Name": name },
                        "children": children,
                    }),
                )
            }
        }
    }

    /// Returns what the plugin reports of the actions of an applied proposal.
    fn action_results(&self, p: usize) -> Vec<ActionResult> {
        let has_inner = p == 0 && self.kinds == [Create, Write] && self.is_built();
        let ids = [subject_id(p)].into_iter().chain(has_inner.then(inner_id));
        ids.map(|id| ActionResult { ids: vec![id], fingerprint: None }).collect()
    }
}

/// The statuses that the listener has seen, and those at which Vector is to stop.
struct StopWatch {
    proposals: [Seq; 2],
    statuses: [ModelStatus; 2],
    goal: Option<[ModelStatus; 2]>,
}

/// The payload of the unwinding that stops the engine.
struct StoppedEngine;

impl StopWatch {
    fn note(&mut self, seq: Seq, status: ModelStatus) {
        for p in BOTH {
            if self.proposals[p] == seq {
                self.statuses[p] = status;
            }
        }
    }

    /// Returns whether the engine has to stop at this entry.
    fn see(&mut self, record: &Record) -> bool {
        let before = self.statuses;
        match &record.entry {
            Entry::Applying { proposals, .. } => {
                for seq in proposals {
                    self.note(*seq, ModelStatus::Applying);
                }
            }
            Entry::Applied { proposal, .. } => self.note(*proposal, ModelStatus::Applied),
            Entry::Withdrawn { proposal, .. } => self.note(*proposal, ModelStatus::Withdrawn),
            Entry::Failed { proposal, reason } => self.note(*proposal, failed_status(reason)),
            _ => {}
        }
        self.statuses != before && self.goal == Some(self.statuses)
    }
}

fn failed_status(reason: &str) -> ModelStatus {
    let asks_to_look = reason.contains("Check whether");
    if asks_to_look { ModelStatus::Unclear } else { ModelStatus::Failed }
}

/// The work that Studio has not acknowledged: the number for each proposal.
pub(super) type WorkNumbers = [Option<u64>; 2];

/// A ledger that the daemons of all traces share, each with its own session.
pub(super) struct SharedLedger {
    home: tempfile::TempDir,
    ledger: Arc<Ledger>,
    sessions: usize,
}

impl SharedLedger {
    pub(super) fn new() -> Self {
        // The ledger syncs each append, which takes most of the time of a trace on a disk.
        let memory = Path::new("/dev/shm");
        let home = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let home = home.unwrap();
        let ledger = Arc::new(Ledger::open(home.path()).unwrap());
        Self { home, ledger, sessions: 0 }
    }
}

pub(super) struct RealDaemon<'a> {
    case: &'a ModelCase,
    ledger: Arc<Ledger>,
    place: StudioPlace,
    memory_folder: PathBuf,
    /// None while no session serves the place.
    engine: Option<Engine>,
    workflow: Seq,
    pub(super) proposals: [Seq; 2],
    patch_ids: Vec<Fingerprint>,
    watch: Arc<Mutex<StopWatch>>,
    /// The place as the engine was told last.
    told: Option<PlaceState>,
}

impl<'a> RealDaemon<'a> {
    /// Brings an engine into the first state of a case.
    pub(super) fn new(case: &'a ModelCase, shared: &mut SharedLedger) -> Self {
        shared.sessions += 1;
        let session = SessionId(format!("window-{}", shared.sessions));
        let place = OpenPlace { name: "Place".to_owned(), place_id: 0 };
        let watch =
            StopWatch { proposals: [Seq(0); 2], statuses: [ModelStatus::Waiting; 2], goal: None };
        let mut daemon = Self {
            case,
            ledger: Arc::clone(&shared.ledger),
            place: StudioPlace { session, place },
            memory_folder: shared.home.path().join("memory"),
            engine: None,
            workflow: Seq(0),
            proposals: [Seq(0); 2],
            patch_ids: Vec::new(),
            watch: Arc::new(Mutex::new(watch)),
            told: None,
        };
        daemon.engine = Some(daemon.create_engine());
        daemon.plan();
        daemon.apply_initial();
        daemon
    }

    fn create_engine(&self) -> Engine {
        let target = StudioTarget::new(self.place.clone(), self.memory_folder.clone());
        let watch = Arc::clone(&self.watch);
        let listener = move |record: &Record| {
            let is_stopped = watch.lock().unwrap().see(record);
            if is_stopped {
                resume_unwind(Box::new(StoppedEngine));
            }
        };
        let scene = Scene::empty_studio_place();
        let mut engine =
            Engine::without_tasks(&self.ledger, target, scene.into(), Box::new(listener));
        engine.mark_served();
        engine
    }

    fn engine(&mut self) -> &mut Engine {
        self.engine.as_mut().expect("a session serves the place")
    }

    fn plan(&mut self) {
        let calls = BOTH.map(|p| self.case.tool_call(p)).to_vec();
        let workflow =
            self.engine().begin_workflow("a task", ToolDriver::Calls, Mode::Confirm).unwrap();
        self.workflow = workflow;
        self.engine().add_calls(workflow, calls).unwrap();
        assert!(self.report(PluginPost::Begin));
        assert!(self.report(PluginPost::End(NO_EFFECT)));
        self.run_all();
        let state = self.engine().workflow(workflow).unwrap();
        let found: Vec<_> =
            state.proposals().map(|(seq, it)| (seq, it.proposal.patch_id.clone())).collect();
        let refusals: Vec<_> = state.refusals().collect();
        assert_eq!(found.len(), 2, "{refusals:?}");
        self.proposals = [found[0].0, found[1].0];
        self.patch_ids = found.into_iter().map(|(_, patch_id)| patch_id).collect();
        self.watch.lock().unwrap().proposals = self.proposals;
    }

    /// Applies the proposals that a case begins with as applied.
    fn apply_initial(&mut self) {
        let mut there = [false; 2];
        for p in BOTH.into_iter().filter(|p| self.case.ledger[*p] == ModelStatus::Applied) {
            self.approve(p).unwrap();
            self.run_all();
            there[p] = true;
            assert!(self.report(PluginPost::Update(PlaceState { there, other: [false; 2] })));
            assert!(self.acknowledge(p, ReportedOutcome::Applied));
            self.run_all();
        }
    }

    /// Ends the process: memory is lost, and what is durable stays.
    pub(super) fn stop(&mut self) {
        self.engine = None;
        self.told = None;
    }

    /// Runs the workflow until these statuses are durable, and stops there.
    pub(super) fn run_until(&mut self, goal: [ModelStatus; 2]) {
        if self.statuses() != goal {
            let mut watch = self.watch.lock().unwrap();
            (watch.goal, watch.statuses) = (Some(goal), self.statuses());
            drop(watch);
            let stopped = catch_unwind(AssertUnwindSafe(|| self.run_all()));
            self.watch.lock().unwrap().goal = None;
            if let Err(payload) = stopped
                && !payload.is::<StoppedEngine>()
            {
                resume_unwind(payload);
            }
        }
        self.stop();
    }

    /// `SessionActor::run`, up to the first message.
    pub(super) fn begin_session(&mut self) {
        let mut engine = self.create_engine();
        engine.read_memory();
        let lease = self.ledger.try_lease(self.workflow).unwrap();
        let is_over = read_workflow(&self.ledger, self.workflow)
            .unwrap()
            .workflow(self.workflow)
            .is_some_and(vector_core::workflow::Workflow::is_over);
        if !is_over {
            let lease = lease.expect("no other process has the workflow");
            engine.resume_in_studio(lease, ToolDriver::Calls).unwrap();
        }
        self.engine = Some(engine);
    }

    /// `SessionActor::handle_hello`.
    pub(super) fn handle_hello(&mut self) {
        let place = self.place.clone();
        self.engine().update_place(place);
        self.reset_mirror();
    }

    fn reset_mirror(&mut self) {
        self.engine().reset_mirror();
        self.told = None;
    }

    /// `SessionActor::run_workflows`, with questions answered at once.
    pub(super) fn run_all(&mut self) {
        loop {
            let last = self.engine().last_position();
            for workflow in self.engine().task_order() {
                if self.engine().run(workflow).unwrap() == NextStep::Nothing {
                    self.engine().end_workflow(workflow);
                }
            }
            let is_asked = self.answer_questions();
            if !is_asked && self.engine().last_position() == last {
                return;
            }
        }
    }

    fn answer_questions(&mut self) -> bool {
        let work = self.engine().studio().map_or(&[][..], StudioTarget::work);
        let asked: Vec<(u64, PluginQuery)> = work
            .iter()
            .filter_map(|work| match work {
                Work::Query { number, query } => Some((*number, query.clone())),
                Work::Apply { .. } | Work::Playtest { .. } | Work::EndPlaytest { .. } => None,
            })
            .collect();
        for (work, wanted) in &asked {
            let answer = match wanted {
                PluginQuery::Properties { .. } => PluginAnswer::Properties { known: Vec::new() },
                // All texts are in the snapshot.
                other => panic!("the engine asks for {other:?}"),
            };
            let part = ScenePart::Answered { work: *work, answer };
            self.engine().update_mirror(&part).unwrap().unwrap();
        }
        !asked.is_empty()
    }

    fn list_texts(&self, place: PlaceState) -> Vec<ScriptText> {
        let nodes = self.case.list_nodes(place).into_iter();
        let text = |node: PlaceNode| {
            let text = node.text?;
            Some(ScriptText { id: node.id, text, is_dirty: false })
        };
        nodes.filter_map(text).collect()
    }

    /// `SessionActor::update_scene`: returns whether the report is accepted.
    pub(super) fn report(&mut self, post: PluginPost) -> bool {
        let parts = match post {
            PluginPost::Begin => vec![ScenePart::Begin { total: ANNOUNCED }],
            PluginPost::End(place) => self.snapshot_parts(place),
            PluginPost::Update(place) => self.change_parts(place),
            PluginPost::Ack(..) => unreachable!("an acknowledgement is not a report"),
        };
        for part in &parts {
            if self.engine().update_mirror(part).unwrap().is_err() {
                self.reset_mirror();
                return false;
            }
        }
        match post {
            PluginPost::End(place) => self.told = Some(place),
            PluginPost::Update(place) if self.told.is_some() => self.told = Some(place),
            PluginPost::Update(_) | PluginPost::Begin | PluginPost::Ack(..) => {}
        }
        true
    }

    fn snapshot_parts(&self, place: PlaceState) -> Vec<ScenePart> {
        let nodes = self.case.list_nodes(place);
        let parent_number = |parent: &Option<InstanceId>| {
            let at = nodes.iter().position(|node| Some(&node.id) == parent.as_ref());
            at.map_or(0, |at| at as u32 + 1)
        };
        let mut columns = NodeColumns {
            classes: nodes.iter().map(|node| node.class.to_owned()).collect(),
            ids: nodes.iter().map(|node| node.id.clone()).collect(),
            parents: nodes.iter().map(|node| parent_number(&node.parent)).collect(),
            class: (0..nodes.len() as u32).collect(),
            names: nodes.iter().map(|node| node.name.clone()).collect(),
        };
        // The number of instances was announced before it was known what is there.
        for service in ["Lighting", "Teams", "SoundService"] {
            if columns.ids.len() < ANNOUNCED as usize {
                columns.class.push(columns.classes.len() as u32);
                columns.classes.push(service.to_owned());
                columns.ids.push(InstanceId(format!("studio:{service}")));
                columns.parents.push(0);
                columns.names.push(service.to_owned());
            }
        }
        vec![
            ScenePart::Nodes { nodes: columns },
            ScenePart::Sources { scripts: self.list_texts(place) },
            ScenePart::End {},
        ]
    }

    /// Returns the whole place as changes, and what is gone since the engine was told last.
    fn change_parts(&self, place: PlaceState) -> Vec<ScenePart> {
        let nodes = self.case.list_nodes(place);
        let mut parts = Vec::new();
        let before = self.told.map_or(Vec::new(), |told| self.case.list_nodes(told));
        for gone in before.into_iter().filter(|it| nodes.iter().all(|node| node.id != it.id)) {
            parts.push(ScenePart::Removed { id: gone.id });
        }
        for node in nodes.into_iter().filter(|node| node.text.is_none()) {
            let (class, name) = (node.class.to_owned(), node.name);
            if let Some(parent) = node.parent {
                parts.push(ScenePart::Added { id: node.id, parent, class, name });
            }
        }
        parts.push(ScenePart::Sources { scripts: self.list_texts(place) });
        parts
    }

    /// Approves a proposal as the user.
    pub(super) fn approve(&mut self, p: usize) -> Result<(), EngineError> {
        let proposal = self.proposals[p];
        self.engine().approve(proposal, Approver::Person, true)
    }

    pub(super) fn reject(&mut self, p: usize) {
        let (workflow, proposal) = (self.workflow, self.proposals[p]);
        let reject = WorkflowInput::Reject { proposal, reason: None };
        self.engine().handle_input(workflow, reject).unwrap();
    }

    /// Acknowledges a proposal as the plugin. Returns whether that was news.
    pub(super) fn acknowledge(&mut self, p: usize, outcome: ReportedOutcome) -> bool {
        let outcome = match outcome {
            ReportedOutcome::Applied => ApplyOutcome::Applied {
                results: self.case.action_results(p),
                version: 0,
                from: 0,
                more: false,
            },
            ReportedOutcome::Stale => ApplyOutcome::Stale { reason: "It differs.".to_owned() },
            ReportedOutcome::Refused => ApplyOutcome::Refused { reason: "A playtest.".to_owned() },
            ReportedOutcome::Diverged => ApplyOutcome::Diverged { reason: LOOK.to_owned() },
        };
        let (proposal, patch_id) = (self.proposals[p], self.patch_ids[p].clone());
        self.engine().acknowledge(proposal, &patch_id, outcome).unwrap()
    }

    /// Reports that the user has undone or redone a proposal in Studio.
    pub(super) fn report_undo(&mut self, p: usize, is_redone: bool) {
        let recording = format!("Vector {}", self.proposals[p]);
        let edited = Vec::new();
        let part = if is_redone {
            ScenePart::Redone { recording, edited }
        } else {
            ScenePart::Undone { recording, edited }
        };
        self.engine().update_mirror(&part).unwrap().unwrap();
    }

    /// `Daemon::abandon_workflow`, for a place that was closed.
    pub(super) fn abandon(&mut self) {
        self.stop();
        let mut state = read_workflow(&self.ledger, self.workflow).unwrap();
        let all = state.workflow(self.workflow).unwrap().proposals();
        let is_left = |status: &PendingStatus| {
            matches!(status, PendingStatus::Approved | PendingStatus::Applying(_))
        };
        let proposals = all.filter(|(_, it)| is_left(&it.status)).map(|(seq, _)| seq).collect();
        let inputs = [
            WorkflowInput::Failed { proposals, reason: LOOK.to_owned() },
            WorkflowInput::Finish { outcome: Finish::NotApproved },
        ];
        for input in inputs {
            let entries = decide(&state, self.workflow, input).unwrap();
            let batch = AppendBatch { workflow: Some(self.workflow), entries, blobs: Vec::new() };
            for record in self.ledger.append(batch).unwrap() {
                state.apply_record(&record);
            }
        }
    }

    /// Returns the status of each proposal, as the ledger has it.
    pub(super) fn real_statuses(&self) -> [PendingStatus; 2] {
        let state = read_workflow(&self.ledger, self.workflow).unwrap();
        let workflow = state.workflow(self.workflow).unwrap();
        self.proposals.map(|seq| workflow.proposal(seq).unwrap().status.clone())
    }

    /// Returns the status of each proposal in the model's terms, which do not tell an undone
    /// proposal from an applied one.
    pub(super) fn statuses(&self) -> [ModelStatus; 2] {
        self.real_statuses().map(|status| match status {
            PendingStatus::Waiting | PendingStatus::Drafted => ModelStatus::Waiting,
            PendingStatus::Approved => ModelStatus::Approved,
            PendingStatus::Applying(_) => ModelStatus::Applying,
            PendingStatus::Applied(_) | PendingStatus::Undone(_) => ModelStatus::Applied,
            PendingStatus::Rejected(_) => ModelStatus::Rejected,
            PendingStatus::Withdrawn(_) => ModelStatus::Withdrawn,
            PendingStatus::Failed(reason) => failed_status(&reason),
        })
    }

    pub(super) fn work_numbers(&self) -> WorkNumbers {
        let work =
            self.engine.as_ref().and_then(Engine::studio).map_or(&[][..], StudioTarget::work);
        self.proposals.map(|seq| {
            work.iter().find_map(|work| match work {
                Work::Apply { apply } if apply.proposal == seq => Some(apply.number),
                Work::Apply { .. }
                | Work::Query { .. }
                | Work::Playtest { .. }
                | Work::EndPlaytest { .. } => None,
            })
        })
    }

    /// Returns an id in the work that Studio does not know: that of an instance of an earlier
    /// proposal.
    pub(super) fn unknown_id(&self) -> Option<String> {
        let work =
            self.engine.as_ref().and_then(Engine::studio).map_or(&[][..], StudioTarget::work);
        let text = serde_json::to_string(work).unwrap();
        let is_of_earlier = |id: &&str| id.starts_with("new:") && id.contains('.');
        text.split('"').find(is_of_earlier).map(str::to_owned)
    }

    /// Whether Studio has work whose outcome the engine waits for.
    pub(super) fn is_applying(&self) -> bool {
        self.engine.as_ref().is_some_and(Engine::is_applying)
    }

    /// Whether the engine has the whole place.
    pub(super) fn has_mirror(&self) -> bool {
        self.engine.as_ref().is_some_and(|engine| engine.scene().is_tree_complete())
    }

    /// Whether the workflow is still served, so that the engine handles what concerns it.
    pub(super) fn is_served(&self) -> bool {
        self.engine.as_ref().is_some_and(|engine| engine.is_active(self.workflow))
    }

    /// Whether the scene shows the effect of a proposal.
    pub(super) fn shows_effect(&self, p: usize) -> bool {
        let Some(scene) = self.engine.as_ref().map(Engine::scene) else {
            return false;
        };
        let planned = PlaceState { there: [true; 2], other: [false; 2] };
        let name = self.case.subject_name(p, planned);
        let mut all = scene.subtree(scene.root()).filter(|node| scene.name(*node) == name);
        match self.case.kinds[p] {
            ProposalKind::Write if self.case.is_of_texts() => {
                let text = self.case.subject_text(p, planned);
                all.any(|node| scene.script_text(node).map(std::borrow::Cow::into_owned) == text)
            }
            ProposalKind::Write | ProposalKind::Create => all.next().is_some(),
        }
    }
}
