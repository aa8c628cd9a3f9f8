//! The handle of a session: how the rest of the daemon talks to an open place.
//!
//! A method that returns an [`Answer`] has sent its message to the session's thread when it returns,
//! so that the calls of one caller keep their order; the answer only waits for the reply. A short decision is
//! made on the caller's thread while the session is idle, so that Studio receives it without a
//! switch of threads.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use scene_schemas::InstancePath;
use scene_schemas::api::{
    AgentCall, ApplyAck, ApplyReceipt, CallView, Chat, CommentReplies, DecisionRequest,
    DecisionResponse, Failure, FailureKind, PermissionDecision, ReviewQuote, RevokeRule,
    SceneReceipt, SceneUpdate, WorkflowStarted,
};
use scene_schemas::entry::Seq;
use scene_schemas::refusal::Refusal;
use scene_schemas::tier::TaskEstimate;
use tokio::sync::oneshot;
use tokio::task::yield_now;
use vector_core::prompt::ToolCall;
use vector_engine::render_input::PictureSubject;
use vector_engine::studio::AwaitedAnswer;
use vector_render::ViewDirection;

use super::attachments::{Mentionable, SessionRequest};
use super::{ActiveSettings, CallRequest, SessionActor, SessionMessage};
use crate::failure::failure;

/// The sender of a message's reply. The receiver may be gone, in which case the reply is not
/// needed.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, Failure>>;

/// The answer to a request that was sent; a future.
#[derive(Debug)]
pub struct Answer<T> {
    receiver: oneshot::Receiver<Result<T, Failure>>,
    /// Makes the failure for a reply that was dropped.
    dropped: fn() -> Failure,
}

impl<T> Answer<T> {
    pub(crate) fn new(
        receiver: oneshot::Receiver<Result<T, Failure>>,
        dropped: fn() -> Failure,
    ) -> Self {
        Self { receiver, dropped }
    }
}

impl<T> Future for Answer<T> {
    type Output = Result<T, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let dropped = self.dropped;
        let received = Pin::new(&mut self.receiver).poll(cx);
        received.map(|received| received.unwrap_or_else(|_| Err(dropped())))
    }
}

/// The user's action on a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkflowAction {
    Cancel,
    Retry,
    Resume,
    /// Rejects all pending proposals.
    Clear,
    /// Answers the question for the permission that a call needs.
    Permit(PermissionDecision),
    /// Revokes a rule, after which what it covers waits again.
    Revoke(RevokeRule),
    /// An agent says what it did about the comments on a proposal.
    Reply(Seq, CommentReplies),
}

/// How a picture is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureOptions {
    pub view: ViewDirection,
    /// Its width and height in pixels.
    pub size: u32,
}

/// The session of an open place.
#[derive(Clone)]
pub struct SessionHandle {
    actor: SharedActor,
    active_settings: Arc<ActiveSettings>,
    message_sender: Sender<SessionMessage>,
}

/// The actor of a session, which its thread takes out when the session ends.
pub(crate) type SharedActor = Arc<Mutex<Option<SessionActor>>>;

impl fmt::Debug for SessionHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionHandle")
    }
}

impl SessionHandle {
    pub(crate) fn new(
        actor: SharedActor,
        active_settings: Arc<ActiveSettings>,
        message_sender: Sender<SessionMessage>,
    ) -> Self {
        Self { actor, active_settings, message_sender }
    }

    /// A session without an actor.
    #[cfg(test)]
    pub(crate) fn for_tests(message_sender: Sender<SessionMessage>) -> Self {
        let settings = scene_schemas::api::Settings {
            mode: scene_schemas::proposal::Mode::Confirm,
            dry_run: false,
            play_check: true,
            model: String::new(),
            models: Vec::new(),
            limits: scene_schemas::api::SpendingLimits::default(),
        };
        Self::new(
            Arc::default(),
            Arc::new(ActiveSettings::from_settings(&settings)),
            message_sender,
        )
    }

    /// Sends a message that has no reply. Returns false if the session has ended.
    pub(crate) fn send(&self, message: SessionMessage) -> bool {
        self.message_sender.send(message).is_ok()
    }

    /// A sender for threads that send messages on their own.
    pub(crate) fn message_sender(&self) -> Sender<SessionMessage> {
        self.message_sender.clone()
    }

    fn request<T>(&self, message: impl FnOnce(Reply<T>) -> SessionMessage) -> Answer<T> {
        let (reply, answer) = oneshot::channel();
        // A session that has ended drops the reply.
        let _ = self.message_sender.send(message(reply));
        Answer::new(answer, session_ended)
    }

    /// Passes on what the plugin reports of the place.
    pub fn update_scene(&self, update: Box<SceneUpdate>) -> Answer<SceneReceipt> {
        self.request(move |reply| SessionMessage::Scene(update, reply))
    }

    /// Passes on the plugin's report that it applied a proposal or could not apply it.
    pub fn acknowledge(&self, proposal: Seq, ack: Box<ApplyAck>) -> Answer<ApplyReceipt> {
        self.request(move |reply| SessionMessage::Ack(proposal, ack, reply))
    }

    /// Starts a task with the user's request, or continues one.
    ///
    /// `is_from_plugin`: the plugin made the request, so it answers no question before its reply.
    pub fn chat(&self, chat: Chat, is_from_plugin: bool) -> Answer<WorkflowStarted> {
        let settings = self.active_settings.for_request();
        let request = SessionRequest { chat, settings, is_from_plugin };
        self.request(|reply| SessionMessage::Chat(Box::new(request), reply))
    }

    /// Estimates what a request will take. Nothing is sent.
    pub(crate) fn estimate(&self, chat: Chat) -> Answer<TaskEstimate> {
        let settings = self.active_settings.for_request();
        let request = SessionRequest { chat, settings, is_from_plugin: false };
        self.request(|reply| SessionMessage::Estimate(Box::new(request), reply))
    }

    /// Returns what the place has to mention for a text typed after `@`.
    pub(crate) fn find_mentionable(&self, typed: String) -> Answer<Mentionable> {
        self.request(move |reply| SessionMessage::Mentionable(typed, reply))
    }

    /// Checks that there is one instance at a path in the place, without proposals. Returns the refusal
    /// otherwise.
    pub(crate) fn check_instance(&self, path: InstancePath) -> Answer<Result<(), Refusal>> {
        self.request(move |reply| SessionMessage::CheckInstance(path, reply))
    }

    /// Returns the file of a script in a Rojo project.
    pub(crate) fn script_file(&self, path: InstancePath) -> Answer<Option<PathBuf>> {
        self.request(move |reply| SessionMessage::ScriptFile(path, reply))
    }

    /// Shows a script or an instance in Studio. Returns Studio's answer, which has to be awaited.
    pub(crate) fn reveal(&self, path: InstancePath, line: Option<u32>) -> Answer<AwaitedAnswer> {
        self.request(move |reply| SessionMessage::Reveal(path, line, reply))
    }

    /// Decides a proposal.
    ///
    /// # Errors
    /// It is not pending, or it is not what the user saw.
    pub async fn decide(
        &self,
        proposal: Seq,
        decision: DecisionRequest,
    ) -> Result<DecisionResponse, Failure> {
        if let Some(decided) = self.decide_immediately(proposal, &decision) {
            // The plugin's poll, which the decision woke, is answered first.
            yield_now().await;
            return decided;
        }
        self.request(move |reply| SessionMessage::Decide(proposal, decision, reply)).await
    }

    /// Decides on this thread; None if the session is busy, has ended, or the decision may take
    /// long.
    fn decide_immediately(
        &self,
        proposal: Seq,
        decision: &DecisionRequest,
    ) -> Option<Result<DecisionResponse, Failure>> {
        self.actor.try_lock().ok()?.as_mut()?.decide_shortly(proposal, decision)
    }

    /// Begins the review of a pending proposal by a model.
    pub(crate) fn review(&self, proposal: Seq) -> Answer<WorkflowStarted> {
        let settings = self.active_settings.for_request();
        self.request(move |reply| SessionMessage::Review(proposal, settings, reply))
    }

    /// Returns what a review of a pending proposal would cost, or why there is none.
    pub(crate) fn quote_review(&self, proposal: Seq) -> Answer<ReviewQuote> {
        let settings = self.active_settings.for_request();
        self.request(move |reply| SessionMessage::QuoteReview(proposal, settings, reply))
    }

    /// Makes a call for an agent. `noted` receives the call once it is recorded, `reply` once it is
    /// planned.
    pub(crate) fn call_tool(
        &self,
        call: AgentCall,
        noted: oneshot::Sender<CallView>,
        reply: Reply<CallView>,
    ) {
        let mode = self.active_settings.mode();
        self.send(SessionMessage::Call(Box::new(CallRequest { call, mode, noted, reply })));
    }

    pub fn act_on_workflow(&self, workflow: Seq, action: WorkflowAction) -> Answer<()> {
        let settings = self.active_settings.for_request();
        self.request(move |reply| SessionMessage::ActOnWorkflow(workflow, action, settings, reply))
    }

    /// Starts a workflow with one call of the user, such as a revert or the insertion of an asset.
    pub(crate) fn start_call(&self, goal: String, call: ToolCall) -> Answer<WorkflowStarted> {
        self.request(move |reply| SessionMessage::StartCall(goal, call, reply))
    }

    /// Renders a picture as PNG.
    pub(crate) fn render_picture(
        &self,
        subject: PictureSubject,
        options: PictureOptions,
    ) -> Answer<Vec<u8>> {
        self.request(move |reply| SessionMessage::Picture(subject, options, reply))
    }

    /// Returns the current texts of a script, in its file and in the place; None once the session
    /// has ended.
    pub(crate) fn read_script(
        &self,
        path: InstancePath,
    ) -> impl Future<Output = Option<Vec<String>>> + Send + use<> {
        let (reply, answer) = oneshot::channel();
        let _ = self.message_sender.send(SessionMessage::ReadScript(path, reply));
        async { answer.await.ok() }
    }
}

fn session_ended() -> Failure {
    failure(
        FailureKind::Internal,
        "The place was closed before the request was answered.",
        "Check that it is open, then try again.",
    )
}
