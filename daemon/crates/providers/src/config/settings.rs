//! The table of all settings except those of single providers: names, descriptions, defaults and
//! how each is stored.
//!
//! It does not know how files and variables are read.

use std::time::Duration;

use scene_schemas::tier::TaskTier;

use super::{ModelAction, ModelConfig, SpendingCaps, ValueOrigin, parse_effort};

/// The function that stores a value, by type.
#[derive(Clone, Copy)]
pub(super) enum SettingWriter {
    Text(fn(&mut ModelConfig, &str, ValueOrigin) -> Result<(), String>),
    Number(u32, u32, fn(&mut ModelConfig, u32)),
    Money(fn(&mut SpendingCaps) -> &mut Option<f64>),
    Switch(fn(&mut ModelConfig, bool)),
}

pub struct SettingSpec {
    /// The name in the file. A dot separates a table from its key.
    pub key: &'static str,
    pub env: &'static str,
    /// A description of the default.
    pub default: &'static str,
    pub description: &'static str,
    pub(super) writer: SettingWriter,
}

const fn setting_spec(
    key: &'static str,
    env: &'static str,
    default: &'static str,
    about: &'static str,
    put: SettingWriter,
) -> SettingSpec {
    SettingSpec { key, env, default, description: about, writer: put }
}

macro_rules! route {
    ($action:ident) => {
        SettingWriter::Text(|config, text, _| {
            config.routes.insert(ModelAction::$action, text.to_owned());
            Ok(())
        })
    };
}

macro_rules! tier_route {
    ($tier:ident) => {
        SettingWriter::Text(|config, text, _| {
            config.routes.insert(ModelAction::Task(TaskTier::$tier), text.to_owned());
            Ok(())
        })
    };
}

macro_rules! effort {
    ($action:ident) => {
        SettingWriter::Text(|config, text, _| {
            config.efforts.insert(ModelAction::$action, parse_effort(text)?);
            Ok(())
        })
    };
}

/// The setting that requires a review before an approval.
pub(super) const REVIEW_REQUIRED: &str = "review.required";

/// All settings except those of single providers.
pub const SETTINGS: [SettingSpec; 42] = [
    setting_spec(
        "model",
        "VECTOR_MODEL",
        "the first key that exists",
        "`PROVIDER/MODEL`, `PROVIDER` for its default model, or `offline`",
        SettingWriter::Text(|config, text, origin| {
            config.model = Some((text.to_owned(), origin));
            Ok(())
        }),
    ),
    setting_spec(
        "effort",
        "VECTOR_EFFORT",
        "the model's own",
        "how hard models think: low, medium, high or max, for models that support it",
        SettingWriter::Text(|config, text, _| {
            config.effort = Some(parse_effort(text)?);
            Ok(())
        }),
    ),
    setting_spec(
        "max_output_tokens",
        "VECTOR_MAX_OUTPUT_TOKENS",
        "the model's own",
        "the maximum length of an answer in tokens, including reasoning",
        SettingWriter::Number(256, 1_000_000, |config, number| config.max_output = Some(number)),
    ),
    setting_spec(
        "first_byte_seconds",
        "VECTOR_FIRST_BYTE_SECONDS",
        "30",
        "how many seconds a provider may take to begin its answer",
        SettingWriter::Number(1, 3_600, |config, number| {
            config.first_byte_timeout = from_seconds(number);
        }),
    ),
    setting_spec(
        "stall_seconds",
        "VECTOR_STALL_SECONDS",
        "300",
        "how many seconds an answer may pause; you are notified after 60 and 120",
        SettingWriter::Number(1, 3_600, |config, number| {
            config.stall_timeout = from_seconds(number);
        }),
    ),
    setting_spec(
        "retries",
        "VECTOR_RETRIES",
        "3",
        "how often a request is retried after a temporary failure",
        SettingWriter::Number(0, 10, |config, number| config.retries = number),
    ),
    setting_spec(
        "turn_limit",
        "VECTOR_TURN_LIMIT",
        "50",
        "how many messages a model may write for one task",
        SettingWriter::Number(1, 1_000, |config, number| config.turn_limit = number),
    ),
    setting_spec(
        "workers.seconds",
        "VECTOR_WORKERS_SECONDS",
        "900",
        "how many seconds a worker may take for its part of a task; a scout may take at most 60",
        SettingWriter::Number(1, 86_400, |config, number| {
            config.worker_timeout = from_seconds(number);
        }),
    ),
    setting_spec(
        "caps.day_usd",
        "VECTOR_CAP_DAY_USD",
        "none",
        "how much may be spent per day, in US dollars",
        SettingWriter::Money(|caps| &mut caps.day),
    ),
    setting_spec(
        "caps.project_usd",
        "VECTOR_CAP_PROJECT_USD",
        "none",
        "how much may be spent per project, in US dollars",
        SettingWriter::Money(|caps| &mut caps.project),
    ),
    setting_spec(
        "caps.workflow_usd",
        "VECTOR_CAP_WORKFLOW_USD",
        "none",
        "how much may be spent per task, in US dollars",
        SettingWriter::Money(|caps| &mut caps.workflow),
    ),
    setting_spec(
        "caps.request_usd",
        "VECTOR_CAP_REQUEST_USD",
        "1",
        "a request that is estimated to cost more, in US dollars, waits until you continue",
        SettingWriter::Money(|caps| &mut caps.request),
    ),
    setting_spec(
        "caps.estimate_usd",
        "VECTOR_CAP_ESTIMATE_USD",
        "5",
        "a chat request whose task is estimated to cost more, in US dollars, has to be confirmed",
        SettingWriter::Money(|caps| &mut caps.estimate),
    ),
    setting_spec(
        "caps.day_credits",
        "VECTOR_CAP_DAY_CREDITS",
        "none",
        "how many credits of Meshy generated models may cost per day",
        SettingWriter::Number(0, 1_000_000, |config, number| config.credits_per_day = Some(number)),
    ),
    setting_spec(
        "guards.scope",
        "VECTOR_GUARD_SCOPE",
        "8",
        "a model asks you before it changes more scripts, or more subtrees, than this",
        SettingWriter::Number(1, 100_000, |config, number| config.scope_limit = number),
    ),
    setting_spec(
        "guards.needs_script",
        "VECTOR_GUARD_NEEDS_SCRIPT",
        "true",
        "whether a model that created parts but no script has to add one, or ask you",
        SettingWriter::Switch(|config, is_on| config.needs_script = is_on),
    ),
    setting_spec(
        "debug.capture",
        "VECTOR_DEBUG_CAPTURE",
        "false",
        "whether whole provider replies are stored in files in Vector's folder, for debugging",
        SettingWriter::Switch(|config, is_on| config.is_capture_on = is_on),
    ),
    setting_spec(
        "debug.capture_days",
        "VECTOR_DEBUG_CAPTURE_DAYS",
        "3",
        "after how many days these files are deleted",
        SettingWriter::Number(1, 30, |config, number| config.capture_days = number),
    ),
    setting_spec(
        "agents.pending_days",
        "VECTOR_AGENTS_PENDING_DAYS",
        "7",
        "after how many days an undecided proposal of a disconnected MCP agent is withdrawn; 0 \
         keeps it until you decide",
        SettingWriter::Number(0, 3_650, |config, number| {
            config.pending_limit = (number > 0).then(|| from_days(number));
        }),
    ),
    setting_spec(
        "review.large_change",
        "VECTOR_REVIEW_LARGE_CHANGE",
        "10",
        "a proposal that changes or deletes at least this share of a place, in percent, and no fewer \
         than 20 instances, is always shown to you on a card of its own",
        SettingWriter::Number(1, 100, |config, number| config.large_change = number),
    ),
    setting_spec(
        REVIEW_REQUIRED,
        "VECTOR_REVIEW_REQUIRED",
        "false",
        "whether a proposal can be approved only after a model has reviewed it",
        SettingWriter::Switch(|config, is_on| config.is_review_required = is_on),
    ),
    setting_spec(
        "editor",
        "VECTOR_OPEN_IN_EDITOR",
        "vscode",
        "how files are opened: vscode, vscode-insiders, vscodium, cursor, windsurf, zed, or an address or a command with {file} and {line}",
        SettingWriter::Text(|config, text, _| {
            config.editor = text.parse()?;
            Ok(())
        }),
    ),
    setting_spec(
        "verify.scratch",
        "VECTOR_VERIFY_SCRATCH",
        "none",
        "the scratch place in which the specs of a place run that were not run on Roblox before: the IDs of its universe and itself, as in `123/456`",
        SettingWriter::Text(|config, text, _| {
            config.scratch = Some(text.parse()?);
            Ok(())
        }),
    ),
    setting_spec(
        "forget.after_days",
        "VECTOR_FORGET_AFTER_DAYS",
        "never",
        "after how many days without activity the daemon erases the texts of a task",
        SettingWriter::Number(1, 3_650, |config, number| config.forget_days = Some(number)),
    ),
    setting_spec(
        "routes.plan",
        "VECTOR_ROUTE_PLAN",
        "`model`",
        "the model for plans",
        route!(Plan),
    ),
    setting_spec(
        "routes.edit",
        "VECTOR_ROUTE_EDIT",
        "`model`",
        "the model for edits",
        route!(Edit),
    ),
    setting_spec(
        "routes.summarise",
        "VECTOR_ROUTE_SUMMARISE",
        "`model`",
        "the model for summaries of long conversations",
        route!(Summarise),
    ),
    setting_spec(
        "routes.review",
        "VECTOR_ROUTE_REVIEW",
        "`model`",
        "the model for reviews",
        route!(Review),
    ),
    setting_spec(
        "routes.work",
        "VECTOR_ROUTE_WORK",
        "`model`",
        "the model for workers, which do parts of a task for a lead",
        route!(Work),
    ),
    setting_spec(
        "routes.scout",
        "VECTOR_ROUTE_SCOUT",
        "`model`",
        "the model for scouts, which answer questions of a lead",
        route!(Scout),
    ),
    setting_spec(
        "routes.escalate",
        "VECTOR_ROUTE_ESCALATE",
        "none",
        "the model that goes on with a task after three refused calls in a row",
        route!(Escalate),
    ),
    setting_spec(
        "routes.trivial",
        "VECTOR_ROUTE_TRIVIAL",
        "`model`",
        "the model for trivial tasks, unless you chose one for the request",
        tier_route!(Trivial),
    ),
    setting_spec(
        "routes.simple",
        "VECTOR_ROUTE_SIMPLE",
        "`model`",
        "the same for simple tasks",
        tier_route!(Simple),
    ),
    setting_spec(
        "routes.complex",
        "VECTOR_ROUTE_COMPLEX",
        "`model`",
        "the same for complex tasks",
        tier_route!(Complex),
    ),
    setting_spec(
        "routes.architectural",
        "VECTOR_ROUTE_ARCHITECTURAL",
        "`model`",
        "the same for architectural tasks",
        tier_route!(Architectural),
    ),
    setting_spec(
        "efforts.plan",
        "VECTOR_EFFORT_PLAN",
        "`effort`",
        "the effort for plans",
        effort!(Plan),
    ),
    setting_spec(
        "efforts.edit",
        "VECTOR_EFFORT_EDIT",
        "`effort`",
        "the effort for edits",
        effort!(Edit),
    ),
    setting_spec(
        "efforts.summarise",
        "VECTOR_EFFORT_SUMMARISE",
        "`effort`",
        "the effort for summaries",
        effort!(Summarise),
    ),
    setting_spec(
        "efforts.review",
        "VECTOR_EFFORT_REVIEW",
        "`effort`",
        "the effort for reviews",
        effort!(Review),
    ),
    setting_spec(
        "efforts.work",
        "VECTOR_EFFORT_WORK",
        "`effort`",
        "the effort of workers",
        effort!(Work),
    ),
    setting_spec(
        "efforts.scout",
        "VECTOR_EFFORT_SCOUT",
        "`effort`",
        "the effort of scouts",
        effort!(Scout),
    ),
    setting_spec(
        "efforts.escalate",
        "VECTOR_EFFORT_ESCALATE",
        "`effort`",
        "the effort of the model of `routes.escalate`",
        effort!(Escalate),
    ),
];

pub(super) fn from_days(number: u32) -> Duration {
    Duration::from_hours(24 * u64::from(number))
}

pub(super) fn from_seconds(number: u32) -> Duration {
    Duration::from_secs(u64::from(number))
}
