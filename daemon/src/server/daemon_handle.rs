//! The desk: where the server hands over what somebody wants, and waits for the answer.

use std::time::Duration;

use scene_schemas::InstancePath;
use scene_schemas::api::{
    About, Access, AgentCall, AgentLog, ApplyAck, ApplyReceipt, CallView, CancelCall, Chat,
    Checkpoint, Checkpoints, ConversationHeader, ConversationView, DecisionRequest,
    DecisionResponse, EnterPage, EnteredPage, Failure, FailureKind, Hello, KeyHandover, MadeToken,
    MakeCheckpoint, MakeToken, OpenPlaceRequest, OpenedSession, PageLink, PairRequest,
    PairResponse, PairingCode, ProposalView, Proposals, ProviderKeys, RevokeRequest, RevokeResult,
    SceneReceipt, SceneUpdate, ScriptPage, SessionId, Sessions, Settings, Usage, Welcome,
    WorkflowStarted, WorkflowView, Workflows,
};
use scene_schemas::entry::Seq;
use tokio::sync::{mpsc, oneshot};
use vector_render::{ChangeSide, ViewDirection};

use super::deploy::DeployRequest;
use super::failure::failure;
use super::history_api::HistoryRequest;
use super::merges::MergeRequest;
use super::pending::PendingSummary;

/// How often what nobody uses is closed.
const TIDIED: Duration = Duration::from_mins(1);
/// How often it is looked what other processes have written down.
const NOTICED: Duration = Duration::from_secs(5);

/// Where an answer goes. Nobody minds when nobody waits for it any more.
pub type Reply<T> = oneshot::Sender<Result<T, Failure>>;

/// What is done to a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkflowAction {
    Cancel,
    /// What went wrong is tried again.
    Retry,
    Resume,
    /// What waits is rejected.
    Clear,
}

/// What a person wants of who is let in.
#[derive(Debug)]
pub enum AccessRequest {
    /// A code that pairs a plugin.
    Code(Reply<PairingCode>),
    /// To know which daemon this is.
    About(Reply<About>),
    /// To see who has access.
    Access(Reply<Access>),
    /// A way to the page, for once.
    Link(Reply<PageLink>),
    /// To open the page by a code.
    Enter(EnterPage, Reply<EnteredPage>),
    /// A token for a client.
    MakeToken(MakeToken, Reply<MadeToken>),
    /// To take access away.
    Revoke(RevokeRequest, Reply<RevokeResult>),
}

/// What a picture is of.
#[derive(Debug)]
pub enum PictureTarget {
    /// What a proposal changes: the place before or after it.
    Proposal(Seq, ChangeSide),
    /// An open place, or what is below an instance.
    Place(SessionId, InstancePath),
}

/// How a picture is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureOptions {
    pub view: ViewDirection,
    /// Its width and height in points.
    pub size: u32,
}

/// An instance that fits what is being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundInstance {
    pub path: String,
    pub class: String,
}

#[derive(Debug)]
pub enum DaemonRequest {
    Pair(PairRequest, Reply<PairResponse>),
    /// To have a say in who is let in.
    Access(AccessRequest),
    /// To begin a session.
    Hello(Box<Hello>, Reply<Welcome>),
    /// To say something of a place.
    Scene(SessionId, Box<SceneUpdate>, Reply<SceneReceipt>),
    /// To say what became of a proposal.
    Ack(Seq, Box<ApplyAck>, Reply<ApplyReceipt>),
    /// To have a file or a project opened.
    Open(OpenPlaceRequest, Reply<OpenedSession>),
    /// To have something done.
    Chat(Chat, Reply<WorkflowStarted>),
    /// To find instances by what is being typed of their names.
    Find(SessionId, String, Reply<Vec<FoundInstance>>),
    Decide(Seq, DecisionRequest, Reply<DecisionResponse>),
    /// To see the sessions.
    Sessions(Reply<Sessions>),
    /// To see the proposals that wait.
    Proposals(Reply<Proposals>),
    /// To see which those are, and not what they change.
    PendingProposals(Reply<Vec<PendingSummary>>),
    /// To see a proposal.
    Proposal(Seq, Reply<ProposalView>),
    /// To know what a proposal was before it was planned again, the last of that first.
    ReplacedProposals(Seq, Reply<Vec<Seq>>),
    /// To see a picture, as a PNG.
    Picture(PictureTarget, PictureOptions, Reply<Vec<u8>>),
    /// To see the workflows.
    Workflows(Reply<Workflows>),
    /// To see a workflow.
    Workflow(Seq, Reply<WorkflowView>),
    /// To see the conversation that a workflow is the end of.
    Talk(Seq, Reply<ConversationView>),
    /// To see what stands above it.
    TalkHead(Seq, Reply<ConversationHeader>),
    /// To do something to a workflow.
    ActOnWorkflow(Seq, WorkflowAction, Reply<WorkflowView>),
    /// To see the checkpoints.
    Checkpoints(Reply<Checkpoints>),
    MakeCheckpoint(MakeCheckpoint, Reply<Checkpoint>),
    /// To go back to one.
    Restore(Seq, Reply<WorkflowStarted>),
    /// To see the settings.
    Settings(Reply<Settings>),
    ChangeSettings(Settings, Reply<Settings>),
    /// To see which providers can be asked.
    Keys(Reply<ProviderKeys>),
    /// To hand over keys.
    HandKeys(KeyHandover, Reply<ProviderKeys>),
    /// To see what models used.
    Usage(Reply<Usage>),
    History(HistoryRequest),
    /// To have something committed, or to know how far that is.
    Deploy(DeployRequest),
    /// To see merges with conflicts, or to decide about them.
    Merge(MergeRequest),
    /// To call a tool, as an agent; what it is called is told as soon as the call is durable.
    Call(Box<AgentCall>, oneshot::Sender<CallView>, Reply<CallView>),
    /// To see what became of a call, by its number or its proposal's.
    CallStatus(Seq, Reply<CallView>),
    /// To take a call back.
    CancelCall(CancelCall),
    /// To see what agents have called.
    AgentLog(Reply<AgentLog>),
    /// To end a connection of an agent.
    EndConnection(String),
    /// To list the scripts of a place, from where a cursor says.
    Scripts(SessionId, Option<String>, Reply<ScriptPage>),
    /// To close what nobody has used for a while.
    Tidy,
    /// To notice what other processes have written down.
    PollChanges,
}

/// The desk, for those who come to it.
#[derive(Debug, Clone)]
pub struct DaemonHandle(mpsc::UnboundedSender<DaemonRequest>);

impl DaemonHandle {
    /// A desk, and what whoever sits at it reads.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<DaemonRequest>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    /// Has what nobody uses closed, once in a while, for as long as somebody sits at the desk.
    pub async fn send_tidy_ticks(self) {
        self.send_every(TIDIED, || DaemonRequest::Tidy).await;
    }

    /// Has it noticed what other processes do, for as long: they say nothing.
    pub async fn send_poll_ticks(self) {
        self.send_every(NOTICED, || DaemonRequest::PollChanges).await;
    }

    async fn send_every(self, pause: Duration, ask: fn() -> DaemonRequest) {
        loop {
            tokio::time::sleep(pause).await;
            if !self.send(ask()) {
                return;
            }
        }
    }

    /// Says something that nobody waits for; false where nobody sits at the desk any more.
    pub fn send(&self, ask: DaemonRequest) -> bool {
        self.0.send(ask).is_ok()
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// What the answer is, where it is none.
    pub async fn request<T>(
        &self,
        ask: impl FnOnce(Reply<T>) -> DaemonRequest,
    ) -> Result<T, Failure> {
        let (reply, answer) = oneshot::channel();
        self.0.send(ask(reply)).map_err(|_| daemon_closed())?;
        answer.await.map_err(|_| daemon_closed())?
    }
}

/// Nobody answers any more.
pub(super) fn daemon_closed() -> Failure {
    failure(FailureKind::Internal, "Vector is closing down.", "Start it again with `vector serve`.")
}
