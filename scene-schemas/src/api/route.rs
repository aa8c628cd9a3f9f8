//! The routes of the API, with their access rules and types, and the OpenAPI document generated
//! from them.

mod openapi;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value as Json, json};

pub use self::openapi::openapi_document;

use super::{
    About, Access, AgentCall, AgentDisconnect, AgentLog, AgentPresence, ApplyAck, ApplyReceipt,
    CallView, CancelCall, Chat, CheckScript, Checkpoints, CommentReplies, CommitPlan,
    CommitRequest, CommitStarted, CommitState, CompleteScript, Completions, ConversationView,
    DecideConflicts, DecisionRequest, DecisionResponse, DeployPlanView, DeployRequest,
    DeployedVersion, EmptyBody, EnterPage, EnteredPage, Failure, Figures, FinishMerge,
    FinishedMerge, FoundAssets, Health, Hello, History, HistoryRecord, InsertAssetRequest,
    KeyHandover, MadeToken, MakeCheckpoint, MakeToken, MemberRows, MergeView, Merges,
    OfferedMentions, OpenPlaceRequest, OpenedSession, PROTOCOL, PageLink, PairRequest,
    PairResponse, PairingCode, PermissionDecision, PlaceSet, PluginLog, PollRequest, PollResponse,
    ProposalCard, ProposalView, Proposals, ProposedScript, ProviderKeys, RevealRequest, Revealed,
    ReviewQuote, RevokeRequest, RevokeResult, RevokeRule, SceneReceipt, SceneUpdate, ScriptAtTime,
    ScriptFile, ScriptFindings, ScriptPage, SearchAssetsRequest, Sessions, Settings, StreamPage,
    Usage, VerifyPlanView, VerifyStartRequest, VerifyView, Welcome, WorkflowStarted, WorkflowView,
    Workflows,
};
use crate::tier::TaskEstimate;

/// The kinds of callers that may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Token {
    /// Any program on this machine.
    None,
    /// The plugin, with the token of its session.
    Plugin,
    /// A person, through the plugin, the terminal or the page.
    Human,
    /// An agent, such as an MCP client, or a person.
    Client,
}

/// The HTTP method of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Reads data.
    Get,
    /// Performs an action.
    Post,
    /// Replaces a value.
    Put,
    /// Ends something.
    Delete,
}

impl Method {
    /// Returns the method's name in HTTP.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// The content type of most responses.
const JSON: &str = "application/json";

type Schema = fn(&mut SchemaGenerator) -> Json;

/// A route of the API.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The HTTP method.
    pub method: Method,
    /// The path. `{id}` is a placeholder for one segment.
    pub path: &'static str,
    /// The callers that may use the route.
    pub token: Token,
    /// The summary in the OpenAPI document.
    pub summary: &'static str,
    /// The names of the numeric query parameters.
    pub query: &'static [&'static str],
    /// The names of the text query parameters.
    pub texts: &'static [&'static str],
    /// The content type of a successful response.
    pub media: &'static str,
    body: Option<Schema>,
    answer: Schema,
}

impl Route {
    /// Whether a request to this route has a body.
    pub fn has_body(&self) -> bool {
        self.body.is_some()
    }

    /// Whether the plugin never calls this route: routes for agents, access, statistics, history,
    /// estimates, commits, deploys, runs on Roblox, merges, pictures of assets and the page.
    pub(crate) fn is_hidden_from_plugin(&self) -> bool {
        let own = [
            "/",
            "/mcp",
            "/api/about",
            "/api/access",
            "/api/figures",
            "/api/keys",
            "/api/luau/check",
            "/api/luau/complete",
            "/api/page",
            "/api/pairing",
            "/api/scripts/at",
            "/api/assets/{id}/thumbnail",
            "/api/sessions/{id}/estimate",
            "/api/sessions/{id}/file",
            "/api/sessions/{id}/reveal",
        ];
        let rooms = [
            "/api/access/",
            "/api/agents/",
            "/api/commit",
            "/api/deploy",
            "/api/generations/",
            "/api/merges",
            "/api/verify",
            "/api/history",
            "/api/page/",
            "/api/talks/",
            "/assets/",
            "/page/",
        ];
        own.contains(&self.path) || rooms.iter().any(|start| self.path.starts_with(start))
    }

    /// Adds the types of the request and the responses to a schema generator.
    pub(crate) fn register_types(&self, generator: &mut SchemaGenerator) {
        self.body.map(|body| body(generator));
        (self.answer)(generator);
        type_schema::<Failure>(generator);
    }
}

fn type_schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Json {
    generator.subschema_for::<T>().to_value()
}

const fn get_route<A: JsonSchema>(
    path: &'static str,
    token: Token,
    summary: &'static str,
) -> Route {
    let method = Method::Get;
    let (media, answer) = (JSON, type_schema::<A> as Schema);
    Route { method, path, token, summary, query: &[], texts: &[], media, body: None, answer }
}

const fn post_route<B: JsonSchema, A: JsonSchema>(
    path: &'static str,
    token: Token,
    summary: &'static str,
) -> Route {
    let body = Some(type_schema::<B> as Schema);
    Route { method: Method::Post, body, ..get_route::<A>(path, token, summary) }
}

const fn with_query(route: Route, query: &'static [&'static str]) -> Route {
    Route { query, ..route }
}

const fn with_texts(route: Route, texts: &'static [&'static str]) -> Route {
    Route { texts, ..route }
}

/// A route that returns HTML of the page.
const fn page_route(path: &'static str, token: Token, summary: &'static str) -> Route {
    with_media("text/html", get_route::<EmptyBody>(path, token, summary))
}

/// Changes the content type of a route whose response is not JSON.
const fn with_media(media: &'static str, route: Route) -> Route {
    Route { media, answer: text_schema, ..route }
}

fn text_schema(_: &mut SchemaGenerator) -> Json {
    json!({ "type": "string" })
}

/// Text query parameters of `/page/{id}`.
const PARTS: &[&str] = &[
    "layout", "session", "place", "path", "tool", "kind", "outcome", "day", "text", "only",
    "typed", "again", "next", "detail",
];
/// Text query parameters that filter the history.
const HISTORY: &[&str] = &["place", "path", "tool", "kind", "outcome", "day", "text", "only"];

/// Declares the routes: the table, and an id for each of them.
macro_rules! routes {
    ($($id:ident = $route:expr,)*) => {
        /// The id of a route. A server that matches on it does not compile until it answers each route.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "a route's summary is in its table entry")]
        pub enum RouteId { $($id),* }

        impl RouteId {
            /// All of them, in the order of [`ROUTES`].
            pub const ALL: &[Self] = &[$(Self::$id),*];
        }

        /// All routes.
        pub const ROUTES: &[Route] = &[$($route),*];
    };
}

impl RouteId {
    /// The route of this id.
    pub fn route(self) -> &'static Route {
        &ROUTES[self as usize]
    }
}

routes! {
    Health = get_route::<Health>("/health", Token::None, "Whether the daemon is running."),
    Pair = post_route::<PairRequest, PairResponse>(
        "/api/pair",
        Token::None,
        "Pair the plugin with the printed code.",
    ),
    Hello = post_route::<Hello, Welcome>("/api/hello", Token::None, "Begin or restart a session."),
    Poll = post_route::<PollRequest, PollResponse>(
        "/api/sessions/{id}/poll",
        Token::Plugin,
        "Poll for work and events; waits until there are some.",
    ),
    UpdateScene = post_route::<SceneUpdate, SceneReceipt>(
        "/api/sessions/{id}/scene",
        Token::Plugin,
        "Report instances and properties of the plugin's place.",
    ),
    Acknowledge = post_route::<ApplyAck, ApplyReceipt>(
        "/api/proposals/{id}/apply",
        Token::Plugin,
        "Report the result of an approved proposal in Studio.",
    ),
    PluginLog = get_route::<PluginLog>(
        "/api/sessions/{id}/log",
        Token::Human,
        "The latest events of the plugin, for bug reports.",
    ),
    OpenPlace = post_route::<OpenPlaceRequest, OpenedSession>(
        "/api/open",
        Token::Human,
        "Open a place file or a Rojo project.",
    ),
    Chat = post_route::<Chat, WorkflowStarted>(
        "/api/chat",
        Token::Human,
        "Send a request about an open place.",
    ),
    EstimateTask = post_route::<Chat, TaskEstimate>(
        "/api/sessions/{id}/estimate",
        Token::Human,
        "What a request will probably take, before it is sent. No model is asked.",
    ),
    Decide = post_route::<DecisionRequest, DecisionResponse>(
        "/api/proposals/{id}/decide",
        Token::Human,
        "Approve or reject a proposal, or keep only parts of it.",
    ),
    Revert = post_route::<EmptyBody, WorkflowStarted>(
        "/api/proposals/{id}/revert",
        Token::Human,
        "Propose the revert of an applied proposal in its place.",
    ),
    Events = with_query(
        get_route::<StreamPage>(
            "/api/stream",
            Token::Human,
            "Events after a position, or from the first entry on; waits until there are some.",
        ),
        &["cursor", "hold"],
    ),
    EventStream = with_media(
        "text/event-stream",
        with_query(
            get_route::<EmptyBody>(
                "/api/stream/sse",
                Token::Human,
                "The same as a stream of server-sent events. Without a position, it begins with the \
                 next event.",
            ),
            &["cursor"],
        ),
    ),
    Sessions = get_route::<Sessions>("/api/sessions", Token::Client, "The open places."),
    Proposals = get_route::<Proposals>(
        "/api/proposals",
        Token::Human,
        "The pending proposals.",
    ),
    Proposal = get_route::<ProposalView>("/api/proposals/{id}", Token::Human, "A proposal with its preview."),
    ProposalCard = with_query(
        get_route::<ProposalCard>(
            "/api/proposals/{id}/card",
            Token::Human,
            "A proposal as a card shows it, with the first `lines` rows and lines of its preview.",
        ),
        &["lines"],
    ),
    ProposalRows = with_query(
        get_route::<MemberRows>(
            "/api/proposals/{id}/rows",
            Token::Human,
            "The preview rows of `count` instances, from position `from` on, of the command at index \
             `command`, which changes many.",
        ),
        &["command", "from", "count"],
    ),
    ProposedScript = with_query(
        get_route::<ProposedScript>(
            "/api/proposals/{id}/script",
            Token::Human,
            "The resulting text of the script at index `script` in the preview of a pending proposal.",
        ),
        &["script"],
    ),
    ReviewQuote = get_route::<ReviewQuote>(
        "/api/proposals/{id}/review",
        Token::Human,
        "What a review of a pending proposal by a model would cost about. No model is asked.",
    ),
    ReviewProposal = post_route::<EmptyBody, WorkflowStarted>(
        "/api/proposals/{id}/review",
        Token::Human,
        "Have a model review a pending proposal, in a task of its own. Its findings are part of the \
         proposal.",
    ),
    CheckScript = post_route::<CheckScript, ScriptFindings>(
        "/api/luau/check",
        Token::Human,
        "Errors and lints of a script's text. Nothing is changed.",
    ),
    CompleteScript = post_route::<CompleteScript, Completions>(
        "/api/luau/complete",
        Token::Human,
        "The names that can follow at a position of a script's text: of Roblox's API, of Luau, and of \
         the script.",
    ),
    ProposalPicture = with_media(
        "image/png",
        with_texts(
            with_query(
                get_route::<EmptyBody>(
                    "/api/proposals/{id}/picture",
                    Token::Human,
                    "A picture of what a proposal changes, before or after it (`when`), from `view`: top, iso, front.",
                ),
                &["size"],
            ),
            &["view", "when"],
        ),
    ),
    PlacePicture = with_media(
        "image/png",
        with_texts(
            with_query(
                get_route::<EmptyBody>(
                    "/api/sessions/{id}/picture",
                    Token::Human,
                    "A picture of an open place, or of the descendants of `path`, from `view`: top, iso, front.",
                ),
                &["size"],
            ),
            &["view", "path"],
        ),
    ),
    OfferedMentions = with_texts(
        get_route::<OfferedMentions>(
            "/api/sessions/{id}/mentions",
            Token::Human,
            "What can be mentioned in a request, by the text `typed` after @: words, instances, files and proposals.",
        ),
        &["typed"],
    ),
    ScriptFile = with_query(
        with_texts(
            get_route::<ScriptFile>(
                "/api/sessions/{id}/file",
                Token::Human,
                "The file of the script at `path` in a Rojo project, and the address that opens it at `line`.",
            ),
            &["path"],
        ),
        &["line"],
    ),
    Reveal = post_route::<RevealRequest, Revealed>(
        "/api/sessions/{id}/reveal",
        Token::Human,
        "Show a script or an instance in Studio, or a script's file in the person's editor.",
    ),
    AssetThumbnail = with_media(
        "image/png",
        get_route::<EmptyBody>("/api/assets/{id}/thumbnail", Token::Human, "The thumbnail of an asset."),
    ),
    GenerationPicture = with_media(
        "image/png",
        get_route::<EmptyBody>(
            "/api/generations/{id}/picture",
            Token::Human,
            "A picture of a generated model.",
        ),
    ),
    SearchAssets = post_route::<SearchAssetsRequest, FoundAssets>(
        "/api/assets/search",
        Token::Human,
        "Search the Creator Store; answers within 15 s.",
    ),
    InsertAsset = post_route::<InsertAssetRequest, WorkflowStarted>(
        "/api/sessions/{id}/assets",
        Token::Human,
        "Propose to insert an asset into an open place.",
    ),
    Workflows = get_route::<Workflows>("/api/workflows", Token::Human, "The newest workflows."),
    Workflow = get_route::<WorkflowView>("/api/workflows/{id}", Token::Human, "A workflow."),
    CancelWorkflow = post_route::<EmptyBody, WorkflowView>(
        "/api/workflows/{id}/cancel",
        Token::Human,
        "Cancel a workflow; its pending proposals are withdrawn.",
    ),
    DecidePermission = post_route::<PermissionDecision, WorkflowView>(
        "/api/workflows/{id}/permission",
        Token::Human,
        "Give or refuse the permission that a call of a workflow needs.",
    ),
    RevokeRule = post_route::<RevokeRule, WorkflowView>(
        "/api/workflows/{id}/revoke",
        Token::Human,
        "Revoke a rule of a workflow: what it covers is asked about again.",
    ),
    RetryWorkflow = post_route::<EmptyBody, WorkflowView>(
        "/api/workflows/{id}/retry",
        Token::Human,
        "Retry the step that failed.",
    ),
    ResumeWorkflow = post_route::<EmptyBody, WorkflowView>(
        "/api/workflows/{id}/resume",
        Token::Human,
        "Resume a workflow that was interrupted.",
    ),
    ClearWorkflow = post_route::<EmptyBody, WorkflowView>(
        "/api/workflows/{id}/clear",
        Token::Human,
        "Reject all pending proposals of a workflow.",
    ),
    Checkpoints = get_route::<Checkpoints>("/api/checkpoints", Token::Human, "The checkpoints."),
    MakeCheckpoint = post_route::<MakeCheckpoint, super::Checkpoint>(
        "/api/checkpoints",
        Token::Human,
        "Create a checkpoint of a place.",
    ),
    RestoreCheckpoint = post_route::<EmptyBody, WorkflowStarted>(
        "/api/checkpoints/{id}/restore",
        Token::Human,
        "Propose to restore a checkpoint.",
    ),
    Settings = get_route::<Settings>("/api/settings", Token::Human, "The settings, and the models that can be chosen."),
    ChangeSettings = Route {
        method: Method::Put,
        ..post_route::<Settings, Settings>("/api/settings", Token::Human, "Change the settings.")
    },
    History = with_texts(
        with_query(
            get_route::<History>("/api/history", Token::Human, "A page of the history, newest entry first."),
            &["before", "limit"],
        ),
        HISTORY,
    ),
    ExportHistory = with_media(
        "application/x-ndjson",
        with_texts(
            get_route::<EmptyBody>(
                "/api/history/export",
                Token::Human,
                "All entries that match, oldest first, as JSON lines.",
            ),
            HISTORY,
        ),
    ),
    HistoryEntry = get_route::<HistoryRecord>("/api/history/{id}", Token::Human, "An entry of the ledger with all of its content."),
    PlanCommit = with_texts(
        get_route::<CommitPlan>(
            "/api/commit",
            Token::Human,
            "What a commit of a Rojo project would commit.",
        ),
        &["session", "branch", "message"],
    ),
    StartCommit = post_route::<CommitRequest, CommitStarted>(
        "/api/commit",
        Token::Human,
        "Commit the applied changes of a Rojo project.",
    ),
    CommitState = with_query(
        get_route::<CommitState>(
            "/api/commit/{id}",
            Token::Human,
            "The state of a commit; waits until it changes.",
        ),
        &["hold"],
    ),
    PlanDeploy = with_query(
        with_texts(
            get_route::<DeployPlanView>(
                "/api/deploy",
                Token::Human,
                "What an upload of a place to Roblox would change.",
            ),
            &["session"],
        ),
        &["universe", "place", "earlier"],
    ),
    Deploy = post_route::<DeployRequest, DeployedVersion>(
        "/api/deploy",
        Token::Human,
        "Upload a version of a place to Roblox; answers when it is done.",
    ),
    PlanVerify = with_query(
        get_route::<VerifyPlanView>(
            "/api/verify",
            Token::Human,
            "What a run of specs in Roblox's engine would send, with a proposal that was not applied.",
        ),
        &["proposal", "universe", "place"],
    ),
    StartVerify = post_route::<VerifyStartRequest, VerifyView>(
        "/api/verify",
        Token::Human,
        "Run the specs of a place with a proposal in a scratch place; answers when it has begun.",
    ),
    VerifyRuns = get_route::<VerifyView>(
        "/api/verify/{id}",
        Token::Human,
        "The runs of a proposal in Roblox's engine.",
    ),
    CancelVerify = post_route::<EmptyBody, VerifyView>(
        "/api/verify/{id}/cancel",
        Token::Human,
        "End the wait for the run of a proposal; what Roblox has goes on.",
    ),
    Merges = get_route::<Merges>(
        "/api/merges",
        Token::Human,
        "The merges with open conflicts in the folders of the open places.",
    ),
    DecideConflicts = post_route::<DecideConflicts, MergeView>(
        "/api/merges/decide",
        Token::Human,
        "Decide on conflicts of a merge.",
    ),
    FinishMerge = post_route::<FinishMerge, FinishedMerge>(
        "/api/merges/finish",
        Token::Human,
        "Close a merge: write its file, or keep the file as it is.",
    ),
    ScriptAt = with_texts(
        with_query(
            get_route::<ScriptAtTime>(
                "/api/scripts/at",
                Token::Human,
                "The text of a script right after a position, or now.",
            ),
            &["seq"],
        ),
        &["session", "place", "path"],
    ),
    Figures = with_query(
        get_route::<Figures>("/api/figures", Token::Human, "Usage and durations of models and tools over the last days."),
        &["days"],
    ),
    Usage = get_route::<Usage>("/api/usage", Token::Human, "Total token usage of the models."),
    Stop = post_route::<EmptyBody, EmptyBody>("/api/stop", Token::Human, "Stop the daemon."),
    About = get_route::<About>("/api/about", Token::Human, "The daemon's version and process."),
    ProviderKeys = get_route::<ProviderKeys>(
        "/api/keys",
        Token::Human,
        "The providers that have a key; never a key itself.",
    ),
    HandOverKeys = post_route::<KeyHandover, ProviderKeys>(
        "/api/keys",
        Token::Human,
        "Hand over provider keys from a terminal; the daemon keeps them in memory until it stops.",
    ),
    PairingCode = post_route::<EmptyBody, PairingCode>(
        "/api/pairing",
        Token::Human,
        "Create a code that pairs a plugin.",
    ),
    Access = get_route::<Access>(
        "/api/access",
        Token::Human,
        "The paired plugins, and the clients that have a token.",
    ),
    PageLink = post_route::<EmptyBody, PageLink>(
        "/api/page/link",
        Token::Human,
        "Create a link that opens the page once.",
    ),
    EnterPage = post_route::<EnterPage, EnteredPage>("/api/page", Token::None, "Sign a page in with a code."),
    Conversation = get_route::<ConversationView>(
        "/api/talks/{id}",
        Token::Human,
        "A conversation, from its beginning.",
    ),
    Page = page_route("/", Token::None, "The page, without data."),
    PageAsset = with_media(
        "text/plain",
        page_route("/assets/{id}", Token::None, "A script, style or image of the page."),
    ),
    PageStream = with_media(
        "text/event-stream",
        with_query(
            page_route(
                "/page/stream",
                Token::Human,
                "Events as parts of the page, and notices of changed places, settings and runs on Roblox.",
            ),
            &["cursor"],
        ),
    ),
    PagePart = with_query(
        with_texts(page_route("/page/{id}", Token::Human, "A part of the page."), PARTS),
        &["of", "before", "days", "hold", "seq", "command", "from", "universe", "earlier", "proposal"],
    ),
    MakeToken = post_route::<MakeToken, MadeToken>(
        "/api/access/token",
        Token::Human,
        "Create a token for a client.",
    ),
    RevokeAccess = post_route::<RevokeRequest, RevokeResult>(
        "/api/access/revoke",
        Token::Human,
        "Revoke access immediately.",
    ),
    CallTool = post_route::<AgentCall, CallView>(
        "/api/agents/calls",
        Token::Client,
        "Call a tool; waits until the call is planned, or its time limit is reached.",
    ),
    CallStatus = with_query(
        get_route::<CallView>(
            "/api/agents/calls/{id}",
            Token::Client,
            "The state of a call, by its ID or its proposal's; waits until the call is settled.",
        ),
        &["hold"],
    ),
    ReplyToComments = post_route::<CommentReplies, CallView>(
        "/api/agents/calls/{id}/replies",
        Token::Client,
        "Say what was done about the comments on the proposal of a call.",
    ),
    CancelCall = post_route::<CancelCall, EmptyBody>(
        "/api/agents/cancel",
        Token::Client,
        "Cancel a call that has not been decided.",
    ),
    AgentLog = get_route::<AgentLog>("/api/agents/calls", Token::Client, "The last calls of agents."),
    EndConnection = post_route::<AgentDisconnect, EmptyBody>("/api/agents/end", Token::Client, "End a connection."),
    HoldConnection = post_route::<AgentPresence, EmptyBody>(
        "/api/agents/presence",
        Token::Client,
        "Mark a client as connected, until it closes this request or the daemon stops.",
    ),
    WaitForPlaces = post_route::<PlaceSet, PlaceSet>(
        "/api/agents/places",
        Token::Client,
        "The places that are open and completely read, as soon as they are others than those that the client knows.",
    ),
    AgentScripts = with_texts(
        get_route::<ScriptPage>(
            "/api/agents/scripts/{id}",
            Token::Client,
            "The scripts of an open place, for a list of resources; not recorded as a call.",
        ),
        &["cursor"],
    ),
    McpMessage = post_route::<Json, Json>("/mcp", Token::Client, "MCP, streamable HTTP: messages of a client."),
    McpStream = get_route::<Json>("/mcp", Token::Client, "MCP: the stream of a session's messages."),
    McpEnd = Route {
        method: Method::Delete,
        ..get_route::<EmptyBody>("/mcp", Token::Client, "MCP: end a session.")
    },
}
