//! The tools that a model calls, one file each.
//!
//! A tool is a pure function of its arguments and the scene. It answers, drafts a change, or sends
//! a message, and never performs anything. A new tool needs a new file and two lines here: its
//! module, and its entry in [`TOOLS`].

mod apply_edit;
mod apply_patch;
mod ask_clarification;
mod clone_instance;
mod complete;
mod create_instance;
mod delegate;
mod delete_instance;
mod edit_memory;
mod fetch;
mod fetch_url;
mod final_message;
mod find_definition;
mod find_instances;
mod find_references;
mod format;
mod generate_asset;
mod get_active_script;
mod get_api;
mod get_console_output;
mod get_dependency_graph;
mod get_diagnostics;
mod get_properties;
mod implicit_target;
mod insert_asset;
mod list_children;
mod list_code_definition_names;
mod list_open_documents;
mod list_selection;
mod message;
mod move_instance;
mod open_or_create_script;
mod peers;
mod playtest;
mod propose_changes;
mod read_script;
mod rename_instance;
mod render_scene;
mod replace_text;
mod report_review;
mod reveal;
mod run_luau;
mod run_tests;
mod search_assets;
mod search_files;
mod set_properties;
mod show_diff;
mod start_plan;
mod start_task;
pub mod update_plan;
mod validate_syntax;
mod write_script;

mod agent_tools;
mod args;
mod code;
mod compact_schema;
mod creation_stats;
mod studio_answers;
mod tool_list;
mod upload_asset;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use scene_schemas::Fingerprint;
use scene_schemas::api::PluginQuery;
use scene_schemas::entry::{InteractionMode, Phase, Seq};
use scene_schemas::permission::Permission;
use scene_schemas::proposal::{Conflict, Proposal};
use scene_schemas::refusal::{Refusal, did_you_mean, refuse};
use scene_schemas::review::TaskRole;
use schemars::Schema;
use serde_json::Value as Json;

use crate::planning_scene::PlanningScene;
use crate::proposal::{BlobStore, ProposalDraft, SeenTexts};
use crate::run::{RunOutcome, RunRequest};

pub use self::agent_tools::{AgentTool, agent_tools};
pub use self::creation_stats::{CreationStats, count_creations};
pub use self::delegate::{DelegatedPart, Delegation, DelegationKind, MERGE_PART};
pub use self::fetch::{DiagnosticsRequest, FetchRequest, FetchScript, SessionWork};
pub use self::playtest::{play_answer, plays_in_studio};
pub use self::report_review::{REPORT_REVIEW, ReportedFinding, ReportedReview, parse_report};
pub use self::search_assets::{StoreKind, StoreSearch};
pub use self::start_task::{START_TASK, TaskWish};
pub use self::studio_answers::describe_answer;
pub use self::tool_list::tool_list;
pub use self::upload_asset::{UploadSource, UploadWish};

/// All tools, in the order in which models receive them.
pub static TOOLS: &[ToolSpec] = &[
    list_children::TOOL,
    find_instances::TOOL,
    get_properties::TOOL,
    read_script::TOOL,
    search_files::TOOL,
    list_code_definition_names::TOOL,
    find_definition::TOOL,
    find_references::TOOL,
    get_dependency_graph::TOOL,
    get_api::TOOL,
    get_diagnostics::TOOL,
    validate_syntax::TOOL,
    playtest::TOOL,
    get_console_output::TOOL,
    run_luau::TOOL,
    run_tests::TOOL,
    get_active_script::TOOL,
    list_selection::TOOL,
    list_open_documents::TOOL,
    reveal::TOOL,
    render_scene::TOOL,
    fetch_url::TOOL,
    search_assets::TOOL,
    open_or_create_script::TOOL,
    create_instance::TOOL,
    clone_instance::TOOL,
    insert_asset::TOOL,
    generate_asset::TOOL,
    upload_asset::TOOL,
    set_properties::TOOL,
    rename_instance::TOOL,
    move_instance::TOOL,
    delete_instance::TOOL,
    apply_edit::TOOL,
    replace_text::TOOL,
    apply_patch::TOOL,
    write_script::TOOL,
    format::TOOL,
    propose_changes::TOOL,
    show_diff::TOOL,
    edit_memory::TOOL,
    start_plan::TOOL,
    update_plan::TOOL,
    message::TOOL,
    ask_clarification::TOOL,
    final_message::TOOL,
    complete::TOOL,
    report_review::TOOL,
    delegate::ASSIGN_PARTS,
    delegate::ASK_SCOUTS,
    delegate::SHARE_NOTE,
    start_task::TOOL,
];

#[derive(Debug, Clone, Copy)]
pub struct ToolSpec {
    pub name: &'static str,
    /// The description that a model reads.
    pub about: &'static str,
    /// Returns the JSON schema of its arguments.
    pub schema: fn() -> Schema,
    /// The argument that defaults to the selected instance.
    pub own: DefaultTarget,
    pub run: ToolAction,
}

impl ToolSpec {
    /// Whether the tool only answers from known data.
    pub fn is_read(&self) -> bool {
        matches!(self.run, ToolAction::Read(_))
    }

    /// Whether the tool manages the plan. Such tools are not available in ask mode.
    pub fn is_planning(&self) -> bool {
        matches!(self.name, "start_plan" | "update_plan")
    }

    /// Whether the interaction mode permits the tool.
    pub fn is_within(&self, interaction: InteractionMode) -> bool {
        match interaction {
            InteractionMode::Act => true,
            InteractionMode::Plan => !self.is_change() && !self.has_effect(),
            InteractionMode::Ask => !self.is_change() && !self.has_effect() && !self.is_planning(),
        }
    }

    /// Whether a model of Vector with this role can call the tool. Only a lead and a person's own model
    /// ask the person; a reviewer and a scout only read.
    pub fn is_for_role(&self, role: TaskRole) -> bool {
        if self.name == START_TASK {
            return false;
        }
        let is_note = self.name == delegate::SHARE_NOTE.name;
        let is_report = self.name == REPORT_REVIEW;
        let is_reading = !matches!(self.run, ToolAction::Talk(_))
            && !self.is_change()
            && !self.has_effect()
            && !self.delegates();
        match role {
            TaskRole::Solo => !is_report && !is_note && !self.delegates(),
            TaskRole::Reviewer { .. } => is_report || is_reading,
            TaskRole::Lead {} => !is_report,
            TaskRole::Worker { .. } => {
                let asks = self.has_effect() || self.name == ask_clarification::TOOL.name;
                // The memory is about the whole project, and a change of it stands alone.
                let is_memory = self.name == edit_memory::TOOL.name;
                !is_report && !asks && !is_memory && !self.delegates()
            }
            TaskRole::Scout { .. } => is_reading,
        }
    }

    /// Whether the tool gives parts of the task to other models.
    pub fn delegates(&self) -> bool {
        matches!(self.run, ToolAction::Delegate(_))
    }

    /// Whether an external agent can call the tool. It talks to its user and reads web pages by
    /// itself. Some clients read only 40 tools, so what others answer as well is left out.
    pub fn is_for_agents(&self) -> bool {
        let is_left_out = matches!(
            self.name,
            "fetch_url" | "show_diff" | "list_open_documents" | "validate_syntax"
        );
        !matches!(self.run, ToolAction::Talk(_) | ToolAction::Delegate(_)) && !is_left_out
    }

    /// Whether the tool works only in a place that is open in Studio.
    pub fn needs_studio(&self) -> bool {
        matches!(self.run, ToolAction::Fetch(_))
    }

    /// Whether the tool runs code, whose changes become a proposal.
    pub fn runs_code(&self) -> bool {
        matches!(self.run, ToolAction::Run(_))
    }

    /// Whether the tool spends something or makes something public, which a person permits each time.
    pub fn has_effect(&self) -> bool {
        matches!(self.name, "generate_asset" | "upload_asset" | START_TASK)
    }

    pub fn is_change(&self) -> bool {
        matches!(self.run, ToolAction::Change(_))
    }
}

/// The argument that may be omitted. It then means the instance selected in Studio, if exactly one
/// is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultTarget {
    Nothing,
    /// `path`, if neither `paths` nor `selector` is given.
    Path,
    Parent,
    /// `parentPath`, if `path` is not given either. It defaults to game.Workspace, or to the top of a
    /// model, unless exactly one instance is selected.
    ParentOrWorkspace,
}

/// The implementation of a tool.
#[derive(Debug, Clone, Copy)]
pub enum ToolAction {
    /// Answers from the scene.
    Read(fn(Json, &PlanningScene) -> Result<Json, Refusal>),
    Change(fn(Json, &mut ProposalDraft<'_>) -> Result<Json, Refusal>),
    Fetch(fn(Json, &PlanningScene) -> Result<PluginQuery, Refusal>),
    /// Requests data from the shell that is not in the scene.
    Look(fn(Json, &PlanningScene) -> Result<FetchRequest, Refusal>),
    /// Runs code on a copy of the scene. What it changed becomes a proposal: see [`plan_run`].
    Run(fn(Json) -> Result<RunRequest, Refusal>),
    /// Gives parts of the task to other models. The result of their work is the answer.
    Delegate(fn(Json) -> Result<Delegation, Refusal>),
    /// Sends a message to the user, or reports on the task.
    Talk(fn(Json) -> Result<ModelAction, Refusal>),
}

/// A message or a status report of a model.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelAction {
    Plan {
        steps: Vec<String>,
    },
    /// Progress on the plan.
    Progress {
        completed: Option<update_plan::StepName>,
        next: Option<update_plan::StepName>,
        notes: Option<String>,
    },
    Said {
        text: String,
        phase: Phase,
        /// The offered answers, if the message asks something.
        answers: Vec<String>,
    },
    /// A question that waits for the user's answer.
    Question {
        question: String,
        answers: Vec<String>,
    },
    /// A reviewer has reported. What it found is in the arguments of the call.
    Reviewed {
        summary: String,
    },
    /// A note for the models that work on the same task.
    Noted {
        text: String,
    },
    /// The task is complete.
    Done {
        summary: Option<String>,
    },
}

/// The result of planning a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// An answer; nothing changes.
    Answer(Json),
    /// A proposal to decide on, and additional data for the model.
    Propose(Box<Proposal>, Json),
    /// A query that only Studio can answer; nothing changes.
    Fetch(PluginQuery),
    /// A request to the shell; nothing changes.
    Look(Arc<FetchRequest>),
    /// Something that only a person can permit; nothing has happened yet.
    NeedsPermission(Permission),
    /// A message or a status report.
    Talk(ModelAction),
    /// Parts of the task for other models.
    Delegate(Delegation),
    /// A conflict: another author changed the same lines since the call was made.
    Conflict(Refusal, Box<Conflict>),
}

/// Tools that the MCP server provides itself: the list of sessions, and the status of a call.
pub const OF_THE_SERVER: [&str; 2] = ["list_sessions", "proposal_status"];

/// Returns a tool by name.
///
/// # Errors
/// There is no tool of that name.
pub fn find_tool(name: &str) -> Result<&'static ToolSpec, Refusal> {
    let found = TOOLS.iter().find(|tool| tool.name == name);
    found.ok_or_else(|| Refusal(format!("{} `vector tools` lists them.", unknown_tool(name, &[]))))
}

/// Returns the message for an unknown tool, with the nearest known one: the counterpart of another
/// Roblox server's tool, or else the most similar name. `further` are additional tools of the
/// caller.
pub fn unknown_tool(name: &str, further: &[&str]) -> String {
    let names = || TOOLS.iter().map(|tool| tool.name).chain(further.iter().copied());
    let near = match peers::find_counterpart(name, |it| names().any(|name| name == it)) {
        Some(counterpart) => format!(" {counterpart}"),
        None => did_you_mean(name, names()),
    };
    format!("There is no tool `{name}`.{near}")
}

/// Plans a call. A proposed change stays applied in the scene, so that the next plan builds on it.
/// If the call is refused or only answers, the scene is unchanged.
///
/// # Errors
/// The reason that the call is invalid, in words that its author can act on.
pub fn plan_call(
    call: Seq,
    name: &str,
    args: &Json,
    scene: &mut PlanningScene,
    base: &Fingerprint,
    blobs: &BlobStore,
    seen: Option<&SeenTexts>,
) -> Result<Plan, Refusal> {
    let tool = find_tool(name)?;
    let args = args::without_session(args.clone());
    let named = |refusal: Refusal| Refusal(format!("{name}: {}", refusal.0));
    // Check this first: resolving omitted arguments is pointless without Studio.
    if tool.needs_studio() && !scene.is_open_in_studio() {
        return Err(named(Refusal::new(
            "This place is a file that is not open in Studio. list_children and read_script read it.",
        )));
    }
    let (args, default_target) = implicit_target::fill_default(tool, args, scene).map_err(named)?;
    match tool.run {
        ToolAction::Read(read) => read(args, scene).map(Plan::Answer).map_err(named),
        ToolAction::Talk(talk) => talk(args).map(Plan::Talk).map_err(named),
        ToolAction::Delegate(delegate) => delegate(args).map(Plan::Delegate).map_err(named),
        ToolAction::Look(look) => look(args, scene).map(Arc::new).map(Plan::Look).map_err(named),
        ToolAction::Run(run) => {
            run(args).map(FetchRequest::Run).map(Arc::new).map(Plan::Look).map_err(named)
        }
        ToolAction::Fetch(fetch) => fetch(args, scene).map(Plan::Fetch).map_err(named),
        ToolAction::Change(change) => {
            let planned = propose(call, scene, base, blobs, |draft| {
                draft.set_seen_texts(seen.cloned().unwrap_or_default());
                draft.set_implicit_target(default_target);
                change(args, draft)
            });
            match planned.map_err(named)? {
                Plan::Conflict(refusal, conflict) => Ok(Plan::Conflict(named(refusal), conflict)),
                plan => Ok(plan),
            }
        }
    }
}

/// Plans what a run changed. The scene must be as it was when the run began.
///
/// # Errors
/// The code failed, or a change is not possible in this place.
pub fn plan_run(
    call: Seq,
    request: &RunRequest,
    outcome: &RunOutcome,
    scene: &mut PlanningScene,
    base: &Fingerprint,
    blobs: &BlobStore,
) -> Result<Plan, Refusal> {
    let planned =
        propose(call, scene, base, blobs, |draft| run_luau::draft_run(request, outcome, draft));
    planned.map_err(|refusal| Refusal(format!("{}: {refusal}", run_luau::TOOL.name)))
}

/// Drafts a call again after the user changed it.
///
/// # Errors
/// The reason that the call is invalid, or the tool does not change anything.
pub fn run_change(name: &str, args: &Json, draft: &mut ProposalDraft<'_>) -> Result<Json, Refusal> {
    let tool = find_tool(name)?;
    let named = |refusal: Refusal| Refusal(format!("{name}: {}", refusal.0));
    match tool.run {
        ToolAction::Change(change) => {
            let args = args::without_session(args.clone());
            let (args, default_target) =
                implicit_target::fill_default(tool, args, draft.scene()).map_err(named)?;
            draft.set_implicit_target(default_target);
            change(args, draft).map_err(named)
        }
        ToolAction::Run(_) => {
            refuse!(
                "Code that has run cannot be edited here; reject the proposal and ask for it again."
            )
        }
        ToolAction::Read(_)
        | ToolAction::Talk(_)
        | ToolAction::Fetch(_)
        | ToolAction::Look(_)
        | ToolAction::Delegate(_) => {
            refuse!("`{name}` does not change anything; use a tool that does.")
        }
    }
}

/// Drafts a change. Unless it becomes a proposal, the scene is unchanged.
fn propose(
    call: Seq,
    scene: &mut PlanningScene,
    base: &Fingerprint,
    blobs: &BlobStore,
    change: impl FnOnce(&mut ProposalDraft<'_>) -> Result<Json, Refusal>,
) -> Result<Plan, Refusal> {
    scene.begin_scope(call);
    let mark = scene.journal_mark();
    let planned = draft_change(ProposalDraft::new(scene, blobs), base, change);
    if !matches!(planned, Ok(Plan::Propose(..))) {
        scene.rollback(mark);
    }
    planned
}

fn draft_change(
    mut draft: ProposalDraft<'_>,
    base: &Fingerprint,
    change: impl FnOnce(&mut ProposalDraft<'_>) -> Result<Json, Refusal>,
) -> Result<Plan, Refusal> {
    let mut answer = match (change(&mut draft), draft.take_conflict()) {
        (Err(refusal), Some(conflict)) => return Ok(Plan::Conflict(refusal, Box::new(conflict))),
        (answer, _) => answer?,
    };
    if draft.is_empty() {
        return Ok(Plan::Answer(answer));
    }
    let corrected = draft.correct_requires()?;
    if let (false, Json::Object(answer)) = (corrected.is_empty(), &mut answer) {
        answer.insert("corrected".to_owned(), serde_json::json!(corrected));
    }
    Ok(Plan::Propose(Box::new(draft.finish(base)?), answer))
}
