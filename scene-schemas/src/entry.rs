//! The entries of the ledger, the record of everything that happens. All state is derived from
//! them.
//!
//! Entries are appended and never changed. This module does not know where they are stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{FailureKind, Setting};
pub use crate::attachment::{AttachmentSnapshot, Image, ImageFormat};
use crate::command::Fingerprint;
use crate::comment::{Comment, CommentReply};
pub use crate::context::{ContextScript, ExcludedScript, TaskContext};
use crate::generation::{GenerationOffer, GenerationStage};
pub use crate::interaction_mode::InteractionMode;
use crate::permission::{Permission, PermissionAnswer};
pub use crate::place::{FilePlace, Place, ProjectPlace, StudioPlace};
use crate::proposal::{Ack, Conflict, Mode, Proposal};
use crate::review::{ReviewReport, TaskRole};
use crate::rule::TaskRule;
pub use crate::upload::{
    AssetAccount, AssetFile, AssetFileKind, AssetReview, CloudRun, CloudRunFailure, CloudRunLevel,
    CloudRunLine, CloudRunReport, PlaceUpload, VersionKind,
};
use crate::workers::{PartOutcome, TaskPart};

/// A position in the ledger, from 1. It identifies the workflow, call or proposal whose entry it
/// is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl std::fmt::Display for Seq {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// An event in the ledger. Its position and time are in [`Record`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "entry", rename_all = "snake_case", deny_unknown_fields)]
pub enum Entry {
    /// A workflow started: one task in one place. The entry's position identifies the workflow.
    Started {
        /// The place.
        place: Place,
        /// The person's request.
        goal: String,
        /// The driver that calls the tools: a provider's name, or `calls` for a person's list of
        /// calls.
        driver: String,
        /// Which proposals are approved without asking a person.
        mode: Mode,
        /// The person's attachments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attached: Vec<AttachmentSnapshot>,
        /// What the model may do.
        #[serde(default, skip_serializing_if = "InteractionMode::is_act")]
        interaction: InteractionMode,
        /// The task that this one continues, in the same conversation. None if it starts a
        /// conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follows: Option<Seq>,
        /// The limits for the model. None if no model calls the tools.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        guards: Option<Guards>,
        /// Whether a daemon runs the workflow. If so, the next daemon continues it when this one
        /// exits before the workflow ends.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        served: bool,
        /// What the model does in the task.
        #[serde(default, skip_serializing_if = "TaskRole::is_solo")]
        role: TaskRole,
        /// The call of the agent that asked for the task. None if a person or the task of another model
        /// did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        requested_by: Option<Seq>,
    },
    /// Vector chose the scripts to describe to the model at the start.
    Context {
        /// The chosen scripts, with the reasons.
        context: Box<TaskContext>,
    },
    /// The person added to the request while the work was going on, or answered a question.
    Asked {
        /// The person's message.
        text: String,
        /// The person's attachments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attached: Vec<AttachmentSnapshot>,
    },
    /// A request to a model is about to be sent. This entry is written first.
    Requested {
        /// The data needed to rebuild the request exactly.
        request: Box<ModelRequestRecord>,
    },
    /// The model replied. Its messages and calls are in the entries after this one.
    Replied {
        /// The model: `PROVIDER/MODEL`.
        model: String,
        /// The tokens used. None if the provider does not report them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<Tokens>,
        /// The cost in US dollars. None if the price is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// A part of the reply that must be sent back to the provider unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<Box<Replay>>,
    },
    /// The request to the model failed. The workflow pauses until a person resumes it.
    RequestFailed {
        /// The kind of failure.
        code: FailureKind,
        /// The failure, worded for a person.
        message: String,
        /// Whether the same request may succeed later.
        retryable: bool,
        /// What the person can do about it.
        hint: String,
        /// The setting to change in order to fix this. None if no setting does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        setting: Option<Setting>,
    },
    /// A person resumed the workflow.
    Resumed {},
    /// The conversation ended with this task. The next request starts a new one.
    Cleared {},
    /// The client that calls the tools exited, or its connection broke. It makes no more calls in
    /// this workflow. A person can still decide on its proposals.
    Disconnected {
        /// The client's name, as reported by the client.
        client: String,
    },
    /// A person had the texts of this workflow erased: requests, messages, calls, proposals and
    /// changes. The decisions, with their times, approvers and outcomes, are kept, and so are
    /// hashes and costs.
    Erased {
        /// The hash of what remains of the task: of the positions of its entries and the hashes of their
        /// bodies. None if an older version of Vector erased it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remains: Option<Fingerprint>,
    },
    /// Vector sent the model a message that is not the result of a call.
    Notified {
        /// The message.
        text: String,
    },
    /// A summary replaced older messages, which are no longer sent to the model.
    Summarised {
        /// The summary.
        text: String,
        /// The last entry that the summary covers.
        until: Seq,
        /// Number of messages that the summary replaces.
        turns: u32,
    },
    /// The model wrote a message.
    Said {
        /// The message.
        text: String,
        /// The phase of the work that the message belongs to.
        phase: Phase,
        /// If the message is a question: the suggested answers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        answers: Vec<String>,
    },
    /// The model called a tool. The entry's position identifies the call.
    Called {
        /// The name of the tool.
        tool: String,
        /// The arguments as the model sent them.
        #[schemars(with = "serde_json::Value")]
        args: serde_json::Value,
        /// The provider's id for the call. None if the provider gave none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The reason the call cannot run at all: its arguments are not JSON or were cut off.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flaw: Option<String>,
    },
    /// The call asks the person a question. The person's next message answers it.
    Questioned {
        /// The call that asks.
        call: Seq,
        /// The question.
        question: String,
        /// The suggested answers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        answers: Vec<String>,
    },
    /// The call needs a permission, which only a person can give.
    PermissionRequested {
        /// The call that needs it.
        call: Seq,
        /// What it needs the permission for.
        permission: Permission,
    },
    /// A person gave the permission that a call needs, or refused it.
    PermissionDecided {
        /// The call that needs it.
        call: Seq,
        /// What the person answered.
        answer: PermissionAnswer,
    },
    /// A call was answered without changing the place.
    Answered {
        /// The answered call. A stored value of 0 means the entry right before this one, because
        /// both are written at once.
        call: Seq,
        /// The answer.
        #[schemars(with = "serde_json::Value")]
        answer: serde_json::Value,
    },
    /// A call was refused, and nothing was proposed.
    Refused {
        /// The refused call. A value of 0 means the same as in `answered`.
        call: Seq,
        /// The problem, and what to do next.
        reason: String,
        /// The conflicting changes made by others. None if the call was refused for another reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conflict: Option<Box<Conflict>>,
    },
    /// The plan of the workflow changed.
    Planned {
        /// The call that changed it.
        call: Seq,
        /// All steps of the plan.
        steps: Vec<Step>,
        /// The model's notes on the plan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notes: Option<String>,
    },
    /// A call led to a proposal, which waits for a decision. The entry's position identifies the
    /// proposal.
    Proposed {
        /// The call that led to the proposal.
        call: Seq,
        /// Further information for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<serde_json::Value>")]
        answer: Option<serde_json::Value>,
        /// The proposed change.
        proposal: Box<Proposal>,
    },
    /// A proposal was approved, by a person or by the mode that a person chose.
    Approved {
        /// The approved proposal.
        proposal: Seq,
        /// The approved content, by its `patch_id`.
        patch_id: Fingerprint,
        /// The source of the approval.
        by: Approver,
        /// The rule of the task that allowed it, by the position of its `rule_added` entry.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<Seq>,
    },
    /// A person allowed something for the rest of the task. The entry's position identifies the rule.
    RuleAdded {
        /// What is allowed.
        rule: TaskRule,
        /// The proposal that the person approved together with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proposal: Option<Seq>,
    },
    /// A person revoked a rule of the task.
    RuleRevoked {
        /// The position of its `rule_added` entry.
        rule: Seq,
    },
    /// A person rejected a proposal, or replaced it with a part of it.
    Rejected {
        /// The rejected proposal.
        proposal: Seq,
        /// The person's reason. The model receives it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A person asked for changes to a proposal. The entry after it rejects the proposal.
    Commented {
        /// The proposal that the comments are on.
        proposal: Seq,
        /// The comments. They are numbered from 1.
        comments: Vec<Comment>,
    },
    /// The model said what it did about comments.
    CommentsAnswered {
        /// The proposal that the comments are on.
        proposal: Seq,
        /// The replies.
        replies: Vec<CommentReply>,
    },
    /// A model is asked to review a proposal, in a task of its own.
    ReviewStarted {
        /// The proposal to review.
        proposal: Seq,
        /// The task of the reviewer.
        reviewer: Seq,
        /// The model: `PROVIDER/MODEL`.
        model: String,
    },
    /// A reviewer reported what it found in a proposal.
    Reviewed {
        /// The reviewed proposal.
        proposal: Seq,
        /// The task of the reviewer.
        reviewer: Seq,
        /// What it found, those that matter most first.
        report: Box<ReviewReport>,
    },
    /// The task of a reviewer ended without a report.
    ReviewFailed {
        /// The proposal that was not reviewed.
        proposal: Seq,
        /// The task of the reviewer.
        reviewer: Seq,
        /// The reason, and what to do next.
        reason: String,
    },
    /// A lead gave a part of its task to another model, in a task of its own.
    PartStarted {
        /// What the part is.
        part: TaskPart,
        /// The task of the worker or scout.
        worker: Seq,
        /// The model: `PROVIDER/MODEL`.
        model: String,
    },
    /// A part of the task ended.
    PartEnded {
        /// The task of the worker or scout.
        worker: Seq,
        /// What became of it.
        outcome: PartOutcome,
    },
    /// A lead or a worker is done: all its pending proposals are for others to decide now.
    Submitted {
        /// What it says about them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
    /// A lead or a worker shares a note with the models that work on the same task.
    Noted {
        /// The call that notes it.
        call: Seq,
        /// What others have to know.
        text: String,
    },
    /// A proposal was withdrawn, because its base changed or its workflow ended. It can no longer
    /// be decided.
    Withdrawn {
        /// The withdrawn proposal.
        proposal: Seq,
        /// The reason for the withdrawal.
        reason: String,
        /// Whether its call is replanned.
        replanned: bool,
    },
    /// The target is about to replace the file, or Studio is about to apply the change. This entry
    /// is written first, so that recovery can detect a crash in between.
    Applying {
        /// The proposals, in the order in which they are applied.
        proposals: Vec<Seq>,
        /// The file to be replaced, or the id of the session that applies the change.
        file: String,
        /// The file's hash before the change. None if the file does not exist.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Fingerprint>,
        /// The target's acknowledgements if it succeeds, one for each proposal.
        acks: Vec<Ack>,
    },
    /// The target applied a proposal.
    Applied {
        /// The applied proposal.
        proposal: Seq,
        /// The target's acknowledgement.
        ack: Box<Ack>,
    },
    /// The target could not apply a proposal. The place is unchanged.
    Failed {
        /// The proposal that failed.
        proposal: Seq,
        /// The reason, and what to do next.
        reason: String,
    },
    /// A person undid an applied proposal in Studio.
    Undone {
        /// The undone proposal.
        proposal: Seq,
        /// The changes that remain in files and scripts, and the reason. None if nothing remains.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remaining: Option<String>,
    },
    /// A person redid an undone proposal in Studio.
    Redone {
        /// The redone proposal.
        proposal: Seq,
        /// The changes that are missing in files and scripts, and the reason. None if nothing is
        /// missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remaining: Option<String>,
    },
    /// The place is about to be uploaded to Roblox as a version. This entry is written first, so that an
    /// interrupted upload is found. Its position identifies the upload.
    Uploading {
        /// What is uploaded, and where to.
        upload: Box<PlaceUpload>,
    },
    /// Roblox has the version.
    Uploaded {
        /// The position of its `uploading` entry.
        upload: Seq,
        /// The number that Roblox gave the version.
        version: u64,
    },
    /// A file is about to be uploaded to Roblox as an asset. Its position identifies the upload.
    AssetUploading {
        /// What is uploaded, and to whose account.
        file: Box<AssetFile>,
    },
    /// Roblox has the file, and makes an asset of it.
    AssetUploadAccepted {
        /// The position of its `asset_uploading` entry.
        upload: Seq,
        /// The path of the operation, which tells how the upload ends.
        operation: String,
    },
    /// Roblox has made an asset of the file.
    AssetUploaded {
        /// The position of its `asset_uploading` entry.
        upload: Seq,
        /// The id of the asset.
        asset: u64,
        /// What the review by Roblox says of the asset.
        review: AssetReview,
    },
    /// The version or the file was not uploaded, or it is not known whether it was.
    UploadFailed {
        /// The position of its `uploading` or `asset_uploading` entry.
        upload: Seq,
        /// The reason, and what to do next.
        reason: String,
        /// Whether Roblox may have the version all the same.
        is_unclear: bool,
    },
    /// A model is about to be generated, which costs credits. Its position identifies the generation.
    GenerationStarting {
        /// What is generated, and what it costs.
        generation: Box<GenerationOffer>,
    },
    /// The service has begun a task of a generation.
    GenerationAccepted {
        /// The position of its `generation_starting` entry.
        generation: Seq,
        /// Which of its tasks was begun.
        stage: GenerationStage,
        /// The id that the service gave the task.
        task: String,
    },
    /// The second task of a generation is about to be begun.
    GenerationRefining {
        /// The position of its `generation_starting` entry.
        generation: Seq,
    },
    /// A model was generated, and its file is here.
    Generated {
        /// The position of its `generation_starting` entry.
        generation: Seq,
        /// The blob with the model, in the format GLB.
        model: Fingerprint,
        /// The size of the file in bytes.
        size: u64,
        /// The credits that were spent, as the service says.
        credits: u64,
    },
    /// No model was generated, or it is not known whether one was.
    GenerationFailed {
        /// The position of its `generation_starting` entry.
        generation: Seq,
        /// The reason, and what to do next.
        reason: String,
        /// The credits that were spent, or may have been.
        credits: u64,
    },
    /// Specs are about to run in a version of a place, in Roblox's engine. This entry is written first,
    /// so that an interrupted run is found again. Its position identifies the run.
    CloudRunStarted {
        /// What runs, and where.
        run: Box<CloudRun>,
    },
    /// Roblox has started the task of a run.
    CloudRunAccepted {
        /// The position of its `cloud_run_started` entry.
        run: Seq,
        /// The path of the task, as the service names it.
        task: String,
    },
    /// The task of a run ended, or its results cannot be read.
    CloudRunFinished {
        /// The position of its `cloud_run_started` entry.
        run: Seq,
        /// The number of cases that passed.
        passed: u64,
        /// The number of cases that failed, and of specs that did not run to their end.
        failed: u64,
        /// The number of cases that were skipped.
        skipped: u64,
        /// The reason there are no results, and what to do next. None if there are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<String>,
        /// Whether it is not known that Roblox started the task, so that another run may be a second
        /// one.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_unclear: bool,
        /// What failed, and the output of the task. None if neither is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<Box<CloudRunReport>>,
    },
    /// The workflow finished.
    Finished {
        /// How it ended.
        outcome: Finish,
        /// The model's closing message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
}

/// An entry together with its position, time and workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// The entry's position.
    pub seq: Seq,
    /// The time the entry was appended, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The entry's workflow, identified by the position of its `started` entry.
    pub workflow: Seq,
    /// The entry itself.
    #[serde(flatten)]
    pub entry: Entry,
}

/// The limits for a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guards {
    /// Maximum number of scripts, or of subtrees, that a proposal may touch before the person has
    /// confirmed a wider change.
    pub scope: u32,
    /// Whether the model must add a script for the parts it creates before it can complete the
    /// task.
    pub needs_script: bool,
    /// Number of messages the model may write before a person must let it continue.
    pub turns: u32,
}

/// A record of a request to a model. Together with the entries before it, it determines the request
/// byte for byte.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelRequestRecord {
    /// The model: `PROVIDER/MODEL`.
    pub model: String,
    /// The requested reasoning effort. None if the request does not specify it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// The requested maximum length of the answer, in tokens. None if the request does not specify
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u32>,
    /// The blob with the rules, the extract of the memory and the tools.
    pub system: Fingerprint,
    /// The entry with the summary that replaces older messages. None if all messages are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Seq>,
    /// Number of messages in the request.
    pub turns: u32,
    /// Size of the request without its images, in bytes.
    pub bytes: u64,
    /// Estimated size of the request in tokens.
    pub estimate: u64,
    /// The model's context window, in tokens.
    pub window: u64,
    /// The hash of the request's body.
    pub body: Fingerprint,
}

/// The tokens that a message used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// All input tokens.
    pub prompt: u64,
    /// All output tokens, including reasoning.
    pub generated: u64,
    /// Input tokens that were read from a cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Input tokens that were written to a cache.
    #[serde(default)]
    pub cache_write: u64,
}

/// A part of a model's message that is sent back unchanged, such as signed reasoning, or reasoning
/// that only the provider can read. Vector does not interpret it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// The provider that sent it. It is sent back to this provider only.
    pub provider: String,
    /// The model that sent it. Another model may refuse the signature.
    pub model: String,
    /// The content, in the provider's wire format.
    #[schemars(with = "serde_json::Value")]
    pub content: serde_json::Value,
}

/// The phase of the work in which a model writes a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before the work: what the model is about to do.
    Start,
    /// During the work: its progress.
    Update,
    /// After the work: what the model has done.
    Final,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The step's description.
    pub text: String,
    /// Whether the step is done.
    pub done: bool,
}

/// The source of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Approver {
    /// A person, for this proposal.
    Person,
    /// A person, for this proposal and all later ones of the run.
    PersonForAll,
    /// The mode that a person chose.
    Mode,
    /// A rule of the task, which a person added.
    Rule,
    /// The option `--yes` on the command line.
    Yes,
}

/// How a workflow ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The whole request was carried out.
    Done,
    /// A person did not approve.
    NotApproved,
    /// An error ended it.
    Failed,
}
