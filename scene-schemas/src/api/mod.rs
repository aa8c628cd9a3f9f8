//! The wire: what the daemon and its callers say to each other over HTTP.
//!
//! The plugin, the page and the terminal speak in these types, and what they read of them is printed
//! from here. Null is never sent where it would mean something: Luau drops it from tables. Texts of
//! scripts cross whole, with their hash; positions never do, for every side counts them otherwise.

mod access;
mod agent;
mod conversation;
mod deploy;
mod event;
mod history;
mod keys;
mod merge;
mod route;
mod scene;
mod session;
mod work;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use access::{
    About, Access, EnterPage, EnteredPage, Grant, MadeToken, MakeToken, PageLink, PairingCode,
    RevokeRequest, RevokeResult,
};
pub use agent::{
    AgentCall, AgentCallOutcome, AgentDisconnect, AgentLog, AgentPresence, AppliedChange, CallView,
    CancelCall, ListedScript, LoggedCall, MAX_WAIT, ScriptPage,
};
pub use conversation::{
    Attachment, Chat, Checkpoint, Checkpoints, ContextUsage, ConversationHeader, ConversationView,
    Decision, DecisionRequest, DecisionResponse, MakeCheckpoint, ProposalPart, ProposalView,
    Proposals, Settings, Usage, WorkflowStarted, WorkflowState, WorkflowView, Workflows,
};
pub use deploy::{Deploy, DeployPlan, DeployStarted, DeployState, DeployedProposal, ExcludedFile};
pub use event::{Event, EventRecord, ProposalStatus, Setting, StreamPage, ThinkingPhase};
pub use history::{
    DurationSummary, FailureFigures, Figures, History, HistoryEntry, HistoryOutcome, HistoryRecord,
    MAX_PAGE, ModelFigures, ScriptAtTime, ScriptVersion, ToolFigures, UsageFigures,
};
pub use keys::{KeyHandover, ProviderKey, ProviderKeys};
pub use merge::{
    ConflictChoice, ConflictView, DecideConflicts, FinishMerge, FinishedMerge, HunkChoice,
    MergeEnd, MergeSide, MergeView, Merges, RecordedConflict,
};
pub use route::{Method, ROUTES, Route, RouteId, Token, openapi_document};
pub use scene::{
    Document, KnownProperties, NodeColumns, PluginAnswer, PluginQuery, PropertyQuery, ScenePart,
    SceneReceipt, SceneUpdate, ScriptText,
};
pub use session::{
    Hello, OpenPlace, OpenPlaceRequest, OpenedSession, PairRequest, PairResponse, PollRequest,
    PollResponse, SessionId, SessionNeed, SessionView, Sessions, Welcome,
};
pub use work::{Action, ActionResult, Apply, ApplyAck, ApplyOutcome, ApplyReceipt, Work};

/// The version of this wire. Both sides say theirs; where they differ, a person updates one.
pub const PROTOCOL: u32 = 1;

/// The port that the daemon listens on where nobody says another.
pub const PORT: u16 = 34973;

/// How many bytes a body may have.
pub const MAX_BODY: usize = 900_000;

/// How long a poll is held where nothing happens, in seconds.
pub const MAX_HOLD: u64 = 15;

/// What every answer that is no success holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// What kind; a program branches on it.
    pub kind: FailureKind,
    /// What happened and where, for a person.
    pub message: String,
    /// What to do next.
    pub hint: String,
}

/// The kinds of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The request makes no sense: 400.
    BadRequest,
    /// The plugin is not paired, or its pairing was taken back: 401. Pair by code.
    Unpaired,
    /// The token is missing, unknown, or of another kind: 401. Say hello again.
    Unauthorized,
    /// The model's provider wants money before it answers: 402. Choose another model, or pay there.
    PaymentRequired,
    /// The request came from somewhere else: 403.
    Forbidden,
    /// There is no such thing: 404.
    NotFound,
    /// The route does not know this method: 405.
    MethodNotAllowed,
    /// The session, its epoch, the patch or its base is another one by now: 409. Look again.
    Stale,
    /// It was decided or done already, or cannot be done in this state: 409.
    Settled,
    /// The body did not come in time: 408. Send it at once.
    TooSlow,
    /// The body or the head is too large: 413.
    TooLarge,
    /// The body is not JSON by its content type: 415.
    UnsupportedMediaType,
    /// Plugin and daemon speak different versions: 426. Update the older one.
    Protocol,
    /// Too many tries: 429. Wait.
    TooMany,
    /// Something is wrong in the daemon: 500.
    Internal,
    /// The model could not be asked, or did not answer as it should: 502. What it says tells more.
    Provider,
    /// The answer was lost, and whether something was done is not known: 503. Look what became of it.
    Lost,
}

impl FailureKind {
    /// The status of the answer.
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

/// An answer that has nothing to say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmptyBody {}

/// That the daemon is there, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Health {
    /// Always true.
    pub ok: bool,
}
