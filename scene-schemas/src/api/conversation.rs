//! The wire types for a person: chats, decisions, proposals, workflows, checkpoints and settings.
//!
//! These are data only; the daemon runs the workflows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ReviewView;
use super::editing::HandEdit;
use super::event::{EventRecord, ProposalStatus};
use super::session::SessionId;
use crate::command::{Fingerprint, InstanceId};
use crate::comment::Comment;
use crate::entry::{Finish, InteractionMode, Seq, Step};
use crate::permission::PermissionAnswer;
use crate::playtest::StudioOutput;
use crate::proposal::{Class, Mode, PlayCheck, Preview, Proposal, Row, Warning};
use crate::review::TaskRole;
use crate::rule::TaskRule;
use crate::workers::PartOutcome;

/// A person's request in an open place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chat {
    /// The session of the place.
    pub session: SessionId,
    /// The session's epoch.
    pub epoch: u64,
    /// The person's message.
    pub text: String,
    /// Explicitly attached context.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<Attachment>,
    /// What is selected in Studio, at most a few instances. The model is told, and nothing more is
    /// attached of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selected: Vec<InstanceId>,
    /// What the model may do.
    #[serde(default, skip_serializing_if = "InteractionMode::is_act")]
    pub interaction: InteractionMode,
    /// Whether to start a new conversation instead of continuing the current one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub begins: bool,
    /// Whether the model may give parts of the task to workers, which do them at the same time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub workers: bool,
    /// Whether the person confirmed the estimate, which is above the limit of `caps.estimate_usd`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirmed: bool,
    /// The client's id for the request. A request sent again with the same id, because the answer
    /// was lost, is the same request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

impl Chat {
    /// Returns what the model does in a task that begins with the request.
    pub fn role(&self) -> TaskRole {
        let leads = self.workers && self.interaction == InteractionMode::Act;
        if leads { TaskRole::Lead {} } else { TaskRole::Solo }
    }
}

/// A part of the place that a person attached to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Attachment {
    /// An instance.
    Instance {
        /// The instance's id.
        id: InstanceId,
    },
    /// Text selected in a script.
    Text {
        /// The script's id.
        id: InstanceId,
        /// The hash of the script's text.
        hash: Fingerprint,
        /// The selected text.
        selected: String,
    },
    /// The output of the place in Studio.
    Output {
        /// The newest messages, as the widget has them.
        output: StudioOutput,
    },
    /// A file of the person's: an image or a text.
    File {
        /// The file's name.
        name: String,
        /// The file in base64.
        data: String,
    },
}

/// A person's answer to a question for a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionDecision {
    /// The call that needs the permission.
    pub call: Seq,
    /// What the person answers.
    pub answer: PermissionAnswer,
}

/// A workflow was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowStarted {
    /// The ledger position that identifies the workflow.
    pub workflow: Seq,
}

/// A person's decision on a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionRequest {
    /// The `patch_id` of the proposal that the person saw.
    pub patch_id: Fingerprint,
    /// The base of the proposal that the person saw.
    pub base: Fingerprint,
    /// The decision.
    pub decision: Decision,
}

/// A decision on a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "say", rename_all = "snake_case", deny_unknown_fields)]
pub enum Decision {
    /// Approve the proposal.
    Approve {
        /// Whether the person confirmed a second time, because of a warning that requires it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        twice: bool,
        /// What the person allows for the rest of the task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<TaskRule>,
    },
    /// Reject the proposal.
    Reject {
        /// The person's reason. The model receives it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Ask for changes: the proposal is rejected, and its author is asked for a new version.
    RequestChanges {
        /// The comments.
        comments: Vec<Comment>,
    },
    /// Keep only these parts. A new proposal with them replaces this one and waits for a decision.
    Take {
        /// The parts to keep.
        parts: Vec<ProposalPart>,
    },
    /// Keep all but these parts. A new proposal without them replaces this one and waits for a
    /// decision.
    LeaveOut {
        /// The parts to leave out.
        parts: Vec<ProposalPart>,
    },
    /// Insert scripts of an asset that are left out otherwise. A new proposal with them replaces this
    /// one and waits for a decision. Only a person chooses the sandbox of the scripts.
    Keep {
        /// Indices of the scripts in the preview, from 0. Without any, only the sandbox changes.
        scripts: Vec<u32>,
        /// Whether all scripts that are kept by now run in a sandbox, also those kept before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        sandbox: bool,
    },
    /// Change it by hand. A new proposal with these changes replaces this one and waits for a
    /// decision.
    Edit {
        /// All changes of the person.
        edits: Vec<HandEdit>,
    },
}

/// A part of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "part", rename_all = "snake_case", deny_unknown_fields)]
pub enum ProposalPart {
    /// A command.
    Command {
        /// Index of the command, from 0.
        command: u32,
        /// For a command that changes many instances, the positions in its table of those that do
        /// not belong to the part.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        except: Vec<u32>,
    },
    /// A hunk of a script.
    Hunk {
        /// Index of the script in the preview, from 0.
        script: u32,
        /// Index of the hunk in the script, from 0.
        hunk: u32,
    },
}

/// The result of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionResponse {
    /// The proposal that is now current: a new one if only parts were kept, or it was changed by hand.
    pub proposal: Seq,
    /// The status of that proposal.
    pub status: ProposalStatus,
}

/// A proposal and its status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposalView {
    /// The ledger position that identifies the proposal.
    pub seq: Seq,
    /// The workflow of the proposal.
    pub workflow: Seq,
    /// The session of the workflow. None if another process, such as a terminal, runs the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The status of the proposal.
    pub status: ProposalStatus,
    /// The reason for the status. None if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The newest proposal that replaces this one: a part of it, an edited form, or a replanned
    /// version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<Seq>,
    /// The client that made the proposal, if it has disconnected since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disconnected: Option<String>,
    /// Whether an approval must be confirmed a second time.
    pub needs_twice: bool,
    /// Whether the proposal may change what a picture of the place shows.
    #[serde(default)]
    pub has_geometry: bool,
    /// If it is pending: the pending proposals of other workflows in the same place that touch it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touched_by: Vec<TouchingProposal>,
    /// The rules that a person may add when approving it, narrowest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<OfferedRule>,
    /// If a person asked for changes: the comments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<CommentView>,
    /// The reviews of it by models, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<ReviewView>,
    /// If it can be approved only after a review, and has none: why, and what to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreviewed: Option<String>,
    /// If a person asked for changes: the new version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Seq>,
    /// The proposal with comments of which this one is the new version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revises: Option<Seq>,
    /// If it is pending: whether the mode or a rule of its task approves it as soon as it can be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_covered: bool,
    /// If a rule of the task approved it: what the rule allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_by: Option<String>,
    /// The proposal itself, with its preview.
    pub proposal: Proposal,
}

/// A comment with the reply to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommentView {
    /// The comment as the person sent it.
    pub comment: Comment,
    /// What the comment is about, for display.
    pub about: String,
    /// What the model says it did about it. None if it has not said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
}

/// A rule that a person may add when approving a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfferedRule {
    /// The rule, as the decision repeats it.
    pub rule: TaskRule,
    /// What it allows, as the end of a sentence.
    pub text: String,
}

/// A rule that holds in a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActiveRule {
    /// The ledger position that identifies the rule.
    pub seq: Seq,
    /// What it allows, as the end of a sentence.
    pub text: String,
    /// Number of proposals that it approved.
    pub approved: u32,
}

/// A person revokes a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeRule {
    /// The ledger position that identifies the rule.
    pub rule: Seq,
}

/// A pending proposal of another workflow that touches a proposal: one of them changes what the other
/// reads or changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TouchingProposal {
    /// The ledger position that identifies the proposal.
    pub seq: Seq,
    /// The agent or the model that made it.
    pub author: String,
    /// The title of the proposal.
    pub title: String,
}

/// The maximum number of named proposals that touch one.
const MAX_TOUCHING: usize = 3;

impl TouchingProposal {
    /// Returns the line of a card about these proposals. None if there are none.
    pub fn describe_all(all: &[Self]) -> Option<String> {
        let names: Vec<String> = all
            .iter()
            .take(MAX_TOUCHING)
            .map(|it| format!("{} by {}", it.seq, it.author))
            .collect();
        let more = match all.len().saturating_sub(MAX_TOUCHING) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (noun, verb) =
            if all.len() == 1 { ("Proposal", "concerns") } else { ("Proposals", "concern") };
        (!all.is_empty()).then(|| {
            format!(
                "{noun} {}{more} {verb} the same; when one is applied, the rest is replanned",
                names.join(", ")
            )
        })
    }
}

/// A proposal as a card shows it: the first lines of its preview, without its commands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposalCard {
    /// The ledger position that identifies the proposal.
    pub seq: Seq,
    /// The status of the proposal.
    pub status: ProposalStatus,
    /// The reason for the status. None if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether an approval must be confirmed a second time.
    pub needs_twice: bool,
    /// One line for the card.
    pub title: String,
    /// How destructive the proposal is.
    pub class: Class,
    /// The hash of the place that the proposal was planned on. A decision repeats it.
    pub base: Fingerprint,
    /// The proposal's `patch_id`. A decision repeats it.
    pub patch_id: Fingerprint,
    /// Warnings for the person who decides.
    pub warnings: Vec<Warning>,
    /// What came of playing the game with the proposal. None if it was not played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<PlayCheck>,
    /// Lines about the proposal as a whole: the instance that its call addresses by omitting a
    /// path, the files that change, and the pending proposals of others that touch it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The rules that a person may add when approving it, narrowest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<OfferedRule>,
    /// The pending proposals of its task that must be decided before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Seq>,
    /// Whether it is a small step, which may be approved together with others of its task: it deletes
    /// nothing, changes little, and has no warnings and no new errors.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_small_step: bool,
    /// The preview. All scripts are listed, those beyond the requested number of lines without
    /// their hunks. The last hunk may have only its first lines.
    pub preview: Preview,
    /// Number of further rows and lines that the preview has.
    pub more: u32,
    /// Whether kept scripts of an asset run in a sandbox. None if no script is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<bool>,
    /// Number of parts that can be left out: commands, and hunks of edited scripts.
    pub parts: u32,
    /// Indices of the preview's scripts whose hunks can be left out one by one, from 0, ascending.
    pub edited: Vec<u32>,
    /// A person's comments on it, with the replies; for a new version, those on the version before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<CommentView>,
    /// The reviews of it by models, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<ReviewView>,
    /// If it can be approved only after a review, and has none: why, and what to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreviewed: Option<String>,
}

/// Rows of a command that changes many instances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberRows {
    /// The rows, in the order of the command's table; one for each property of an instance.
    pub rows: Vec<Row>,
}

/// Proposals, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proposals {
    /// The pending proposals, or all proposals of a workflow.
    pub proposals: Vec<ProposalView>,
}

/// The state of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowState {
    /// The workflow is making progress.
    Working,
    /// The workflow waits for a person's decision or answer.
    Waiting,
    /// The agent may make further calls; until then, nothing is running.
    Idle,
    /// The client has disconnected, and a person must decide on its proposals.
    Disconnected,
    /// The workflow needs its place, which is not connected.
    Away,
    /// An error stopped the workflow, and it can be retried.
    Stopped,
    /// The workflow is finished.
    Finished,
}

/// A workflow, for display.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowView {
    /// The ledger position that identifies the workflow.
    pub seq: Seq,
    /// The stream cursor of the workflow's first event. Cursors count in their own steps.
    pub cursor: Seq,
    /// The session of the workflow. None if another process, such as a terminal, runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The person's request.
    pub goal: String,
    /// Short descriptions of the request's attachments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<String>,
    /// The driver that calls the tools.
    pub driver: String,
    /// Which proposals are approved without asking a person.
    pub mode: Mode,
    /// The state of the workflow.
    pub state: WorkflowState,
    /// How the workflow ended. None while it is not finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Finish>,
    /// The steps of the plan.
    pub plan: Vec<Step>,
    /// The proposals of the workflow.
    pub proposals: Vec<Seq>,
    /// The rules that hold in the workflow, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<ActiveRule>,
    /// The spending caps that apply to the workflow. Empty in lists of workflows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spending: Vec<CappedSpending>,
    /// What its model does.
    #[serde(default, skip_serializing_if = "TaskRole::is_solo")]
    pub role: TaskRole,
    /// The parts that its model gave to others, in the order in which these began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartView>,
}

/// A part of a task that another model does, in a task of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartView {
    /// Its number in the call that made it, from 1.
    pub number: u32,
    /// What it is, in a few words.
    pub title: String,
    /// The task of the worker or scout.
    pub worker: Seq,
    /// The model: `PROVIDER/MODEL`.
    pub model: String,
    /// What became of it. None while the model is at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<PartOutcome>,
}

/// A conversation: a task, and the earlier tasks that it continues.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationView {
    /// The header of the conversation.
    pub head: ConversationHeader,
    /// The events of the conversation. The only transient ones are the parts of a message that is
    /// still streaming.
    pub events: Vec<EventRecord>,
    /// The cursor from which the stream continues.
    pub cursor: Seq,
}

/// The header of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationHeader {
    /// The last of the tasks shown.
    pub workflow: WorkflowView,
    /// The start of that task, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The location of the place, worded for a person.
    pub place: String,
    /// All tasks shown, oldest first.
    pub tasks: Vec<Seq>,
    /// The model usage of these tasks.
    pub usage: Usage,
    /// The size of the last request to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<ContextUsage>,
}

/// The size of a request to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextUsage {
    /// Number of messages.
    pub turns: u32,
    /// Size in bytes.
    pub bytes: u64,
    /// The model's context window, in tokens.
    pub window: u64,
}

/// Workflows, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workflows {
    /// The workflows.
    pub workflows: Vec<WorkflowView>,
}

/// A state of a place that a person can restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The ledger position that identifies the checkpoint.
    pub seq: Seq,
    /// The time of the checkpoint, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The session of the place.
    pub session: SessionId,
    /// The name of the place.
    pub place: String,
    /// The label of the checkpoint.
    pub label: String,
}

/// Checkpoints, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoints {
    /// The checkpoints.
    pub checkpoints: Vec<Checkpoint>,
}

/// A person requests a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MakeCheckpoint {
    /// The session of the place.
    pub session: SessionId,
    /// The label of the checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// Spending limits, in US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpendingLimits {
    /// The cap per day, in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<f64>,
    /// The cap per project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<f64>,
    /// The cap per task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<f64>,
    /// A request with a higher estimate is not sent before a person continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<f64>,
}

/// What a spending cap applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SpendingScope {
    /// A task.
    Task,
    /// All tasks of a project.
    Project,
    /// All tasks of today, in UTC.
    Day,
}

impl SpendingScope {
    /// Returns the scope as a part of a sentence: "was spent today".
    pub fn as_phrase(self) -> &'static str {
        match self {
            Self::Task => "in this task",
            Self::Project => "on this project",
            Self::Day => "today",
        }
    }
}

/// A spending cap, and what was spent of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CappedSpending {
    /// What the cap applies to.
    pub of: SpendingScope,
    /// The known costs so far, in US dollars.
    pub spent: f64,
    /// The cap, in US dollars.
    pub cap: f64,
}

/// A person's settings. They apply to workflows that start from now on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Which proposals are approved without asking a person.
    pub mode: Mode,
    /// Whether proposals are only shown and never applied.
    #[serde(default)]
    pub dry_run: bool,
    /// Whether the game is played with each proposal before anybody sees it, to find new errors.
    #[serde(default = "is_on")]
    pub play_check: bool,
    /// The driver that calls the tools.
    pub model: String,
    /// The available choices for `model`. Ignored in a request.
    #[serde(default)]
    pub models: Vec<String>,
    /// Spending limits. Of these caps and those of the configuration, the lowest applies.
    #[serde(default)]
    pub limits: SpendingLimits,
}

fn is_on() -> bool {
    true
}

/// Model usage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Number of input tokens.
    pub input: u64,
    /// Number of output tokens.
    pub output: u64,
    /// The cost in US dollars. None if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}
