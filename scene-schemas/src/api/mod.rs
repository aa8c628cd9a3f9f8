//! The wire API: the types that the daemon and its callers exchange over HTTP.
//!
//! A null is never sent where it would carry meaning, because Luau drops nil from tables. Script
//! texts are always sent whole, with their hash. The plugin never gets positions within a line, because
//! Luau counts them in bytes.

mod access;
mod agent;
mod assets;
mod commit;
mod conversation;
mod deploy;
mod editing;
mod event;
mod history;
mod keys;
mod merge;
mod reveal;
mod reviews;
mod route;
mod scene;
mod session;
mod verify;
mod work;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use access::{
    About, Access, EnterPage, EnteredPage, Grant, MadeToken, MakeToken, PageLink, PairingCode,
    RevokeRequest, RevokeResult,
};
pub use agent::{
    AgentCall, AgentCallOutcome, AgentDisconnect, AgentLog, AgentPresence, AppliedChange, CallView,
    CancelCall, CommentReplies, ListedScript, LoggedCall, MAX_WAIT, PlaceSet, ScriptPage,
    StartedProposal, StartedTask,
};
pub use assets::{
    AssetCategory, FoundAsset, FoundAssets, FoundVotes, InsertAssetRequest, SearchAssetsRequest,
};
pub use commit::{
    CommitPlan, CommitRequest, CommitStarted, CommitState, CommittedProposal, ExcludedFile,
    PushedTo,
};
pub use conversation::{
    ActiveRule, Attachment, CappedSpending, Chat, Checkpoint, Checkpoints, CommentView,
    ContextUsage, ConversationHeader, ConversationView, Decision, DecisionRequest,
    DecisionResponse, MakeCheckpoint, MemberRows, OfferedRule, PartView, PermissionDecision,
    ProposalCard, ProposalPart, ProposalView, Proposals, RevokeRule, Settings, SpendingLimits,
    SpendingScope, TouchingProposal, Usage, WorkflowStarted, WorkflowState, WorkflowView,
    Workflows,
};
pub use deploy::{
    DeployPlanView, DeployQuery, DeployRequest, DeployTargetView, DeployedVersion, UploadView,
};
pub use editing::{
    CheckScript, CompleteScript, CompletionKind, CompletionName, Completions, HandEdit,
    ProposedScript, ScriptFinding, ScriptFindings,
};
pub use event::{
    Event, EventRecord, OfferedPermission, ProposalStatus, Setting, StreamPage, ThinkingPhase,
};
pub use history::{
    DurationSummary, FailureFigures, Figures, History, HistoryEntry, HistoryOutcome, HistoryRecord,
    MAX_PAGE, ModelFigures, ScriptAtTime, ScriptVersion, ToolFigures, UsageFigures,
};
pub use keys::{KeyHandover, ProviderKey, ProviderKeys};
pub use merge::{
    ConflictChoice, ConflictView, DecideConflicts, FinishMerge, FinishedMerge, HunkChoice,
    MergeEnd, MergeSide, MergeView, Merges, RecordedConflict,
};
pub use reveal::{RevealRequest, RevealTarget, Revealed, ScriptFile};
pub use reviews::{FindingView, ReviewEstimate, ReviewQuote, ReviewStatus, ReviewView};
pub use route::{Method, ROUTES, Route, RouteId, Token, openapi_document};
pub use scene::{
    Document, KnownProperties, NodeColumns, PluginAnswer, PluginQuery, PropertyQuery, ScenePart,
    SceneReceipt, SceneUpdate, ScriptText,
};
pub use session::{
    FoundInstance, Hello, OfferedMention, OfferedMentions, OpenPlace, OpenPlaceRequest,
    OpenedSession, PairRequest, PairResponse, PluginEvent, PluginLog, PollRequest, PollResponse,
    SessionId, SessionNeed, SessionView, Sessions, Welcome,
};
pub use verify::{
    CloudRunEnd, CloudRunView, SideEffectView, VerifyPhase, VerifyPlanView, VerifyProgress,
    VerifyQuery, VerifyStartRequest, VerifyTargetView, VerifyView,
};
pub use work::{
    Action, ActionResult, Apply, ApplyAck, ApplyOutcome, ApplyReceipt, MoreTargets, Work,
};

/// The version of the wire API. Both sides send theirs; if they differ, a person must update one
/// side.
pub const PROTOCOL: u32 = 1;

/// The version of Vector: of the program and of the plugin that it installs.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The default port of the daemon.
pub const PORT: u16 = 34973;

/// Maximum size of a body, in bytes.
pub const MAX_BODY: usize = 900_000;

/// Maximum time a poll is held while nothing happens, in seconds.
pub const MAX_HOLD: u64 = 15;

/// The body of every response that is not a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The kind of failure, for programs to branch on.
    pub kind: FailureKind,
    /// The failure and where it happened, for a person.
    pub message: String,
    /// What to do next.
    pub hint: String,
}

/// The kinds of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The request is not valid: 400.
    BadRequest,
    /// The plugin is not paired, or its pairing was revoked: 401. Pair it with a code.
    Unpaired,
    /// The token is missing, unknown, or of the wrong kind: 401. Send a new hello.
    Unauthorized,
    /// The model's provider requires payment before it answers, or the request would pass a spending
    /// cap: 402. Choose another model, pay the provider, or raise the cap.
    PaymentRequired,
    /// The request came from another host or page, or from a caller that may not make it: 403.
    Forbidden,
    /// The requested item does not exist: 404.
    NotFound,
    /// The route does not support this method: 405.
    MethodNotAllowed,
    /// The session, its epoch, the patch or its base has changed: 409. Fetch the current state.
    Stale,
    /// The action was decided or done already, or is not possible in this state: 409.
    Settled,
    /// The body did not arrive in time: 408. Send it without delay.
    TooSlow,
    /// The body or the head is too large: 413.
    TooLarge,
    /// The content type of the body is not JSON: 415.
    UnsupportedMediaType,
    /// The plugin and the daemon use different protocol versions: 426. Update the older one.
    Protocol,
    /// Too many attempts, or a limit of a task is reached: 429. Wait before the next one, or let the
    /// task continue.
    TooMany,
    /// An error in the daemon: 500.
    Internal,
    /// A request to a model or to Roblox's cloud failed, or its answer was not valid: 502. The message
    /// has the details.
    Provider,
    /// The answer was lost, so it is not known whether the action was done: 503. Check its outcome.
    Lost,
}

impl FailureKind {
    /// Returns the HTTP status of the response.
    pub fn http_status(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unpaired | Self::Unauthorized => 401,
            Self::PaymentRequired => 402,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::Stale | Self::Settled => 409,
            Self::TooSlow => 408,
            Self::TooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::Protocol => 426,
            Self::TooMany => 429,
            Self::Internal => 500,
            Self::Provider => 502,
            Self::Lost => 503,
        }
    }
}

/// An empty body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmptyBody {}

/// The answer to a health check: only that the daemon is running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Health {
    /// Always true.
    pub ok: bool,
}
