//! What a request will probably take, before any model is asked: its tier, its tokens, its cost.
//!
//! [`vector_core::tier`] has the rule for the tier. The numbers follow from how many messages a
//! model usually writes for a task of the tier, from the size of the first message, and from the
//! prices of the routed models. They are ranges, and say what they assume.

use std::sync::Arc;

use scene_schemas::entry::InteractionMode;
use scene_schemas::review::TaskRole;
use scene_schemas::tier::{
    DollarRange, EstimatedRole, RoleEstimate, TaskEstimate, TaskTier, TokenRange,
};
use vector_core::planning_scene::PlanningScene;
use vector_core::tier::{self, TierFindings, TierRequest};
use vector_providers::ProviderKind;
use vector_providers::answer::TokenUsage;
use vector_providers::client::{ModelClient, TaskModels};

use crate::context_selection::{MAX_BYTES, attached_node};
use crate::model_request::first_message_tokens;
use crate::parallel_reading;
use crate::{Engine, ToolDriver, UserRequest};

/// The length of a model's message, in tokens.
const ANSWER: u64 = 1_000;
/// What a call and its answer add to the conversation besides, in tokens.
const GROWTH: u64 = 1_500;
/// What a reviewer reads of a proposal, in tokens.
const REVIEWED: u64 = 4_000;
/// Bytes a token, as for requests.
const BYTES: u64 = 3;

/// A number of messages that a model writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MessageRange {
    low: u64,
    high: u64,
}

/// Returns how many messages a model usually writes alone for a task of a tier.
fn usual_messages(tier: TaskTier) -> MessageRange {
    match tier {
        TaskTier::Trivial => MessageRange { low: 1, high: 3 },
        TaskTier::Simple => MessageRange { low: 3, high: 8 },
        TaskTier::Complex => MessageRange { low: 8, high: 25 },
        TaskTier::Architectural => MessageRange { low: 25, high: 60 },
    }
}

/// What a lead writes to plan the parts and to join them.
const LEAD: MessageRange = MessageRange { low: 4, high: 10 };
/// What a worker writes besides its part.
const WORKER_MORE: MessageRange = MessageRange { low: 1, high: 3 };
/// The workers of a lead for whom the rule finds none worth it.
const MIN_WORKERS: u64 = 2;
/// What a reviewer writes.
const REVIEWER: MessageRange = MessageRange { low: 1, high: 4 };

/// What the messages of a role use.
#[derive(Debug, Clone, Copy)]
struct RoleUsage {
    tokens: TokenRange,
    dollars: Option<DollarRange>,
}

impl Engine {
    /// Returns the driver for a request, by its size and its role.
    pub fn route_task(&self, request: &UserRequest, driver: ToolDriver) -> ToolDriver {
        route_task(&self.planner.scene, request, driver)
    }

    /// Estimates what a request will take. Nothing is sent, recorded or asked of Studio.
    pub fn estimate_task(&self, request: &UserRequest, driver: &ToolDriver) -> TaskEstimate {
        estimate_task(&self.planner.scene, request, driver)
    }
}

/// Returns the driver for a request: with the model for tasks of its size, if the settings name one, and
/// for its role.
pub fn route_task(scene: &PlanningScene, request: &UserRequest, driver: ToolDriver) -> ToolDriver {
    let routed = match driver.models() {
        Some(models) if models.has_tier_routes() => {
            let tier = find_tier(scene, request, &driver).tier;
            ToolDriver::Provider(ProviderKind::Model(models.for_tier(tier)))
        }
        Some(_) | None => driver,
    };
    routed.for_role(request.role)
}

/// Estimates what a request in a place will take.
pub fn estimate_task(
    scene: &PlanningScene,
    request: &UserRequest,
    driver: &ToolDriver,
) -> TaskEstimate {
    let found = find_tier(scene, request, driver);
    match driver.models() {
        Some(models) => {
            let models = models.for_tier(found.tier).for_role(request.role);
            let size = FirstMessage::of(&models, request);
            price_task(found, request.role, &models, size)
        }
        None => build_estimate(found, request.role, None, &[], Vec::new()),
    }
}

/// Finds how large a task will be.
fn find_tier(scene: &PlanningScene, request: &UserRequest, driver: &ToolDriver) -> TierFindings {
    let first = driver.models().map(|models| FirstMessage::of(models, request));
    let attached = request.attached.iter().filter_map(|it| attached_node(scene, it));
    let selected = request.selected.iter().filter_map(|id| scene.by_id(id));
    let question = TierRequest {
        text: &request.goal,
        attached: attached.chain(selected).filter(|it| scene.is_live(*it)).collect(),
        is_ask: request.interaction == InteractionMode::Ask,
        window_bytes: first.map(|it| it.window.saturating_sub(it.first) * BYTES),
    };
    scene.set_readers(parallel_reading::PARALLEL_READERS);
    scene.with_known_texts(|index| tier::estimate_tier(index, scene, &question))
}

/// The size of the first message, and what a model reads at most, in tokens.
#[derive(Debug, Clone, Copy)]
struct FirstMessage {
    first: u64,
    window: u64,
}

impl FirstMessage {
    fn of(models: &TaskModels, request: &UserRequest) -> Self {
        let (first, window) = first_message_tokens(models, request);
        Self { first, window }
    }
}

/// Adds tokens and costs to what the rule has found.
fn price_task(
    found: TierFindings,
    asked: TaskRole,
    models: &TaskModels,
    size: FirstMessage,
) -> TaskEstimate {
    let turns = u64::from(models.config.turn_limit);
    let alone = usual_messages(found.tier);
    let alone = MessageRange { low: alone.low.min(turns), high: alone.high.min(turns) };
    let usage =
        |client: &Arc<ModelClient>, size, messages| use_of_messages(models, client, size, messages);
    let solo = usage(&models.edit, size, alone);
    let mut roles = Vec::new();
    let leads = matches!(asked, TaskRole::Lead {});
    if found.tier >= TaskTier::Complex || leads {
        let fewest = if leads { MIN_WORKERS } else { 0 };
        let workers = u64::from(found.team.workers).max(fewest);
        if workers > 0 {
            let part = MessageRange {
                low: alone.low.div_ceil(workers) + WORKER_MORE.low,
                high: alone.high.div_ceil(workers) + WORKER_MORE.high,
            };
            roles.push((EstimatedRole::Lead, 1, usage(&models.plan, size, LEAD)));
            let all = times(usage(&models.work, size, part), workers);
            roles.push((EstimatedRole::Worker, workers as u32, all));
        }
        let read = FirstMessage { first: size.first + REVIEWED, ..size };
        roles.push((EstimatedRole::Reviewer, 1, usage(&models.review, read, REVIEWER)));
    }
    let roles: Vec<RoleEstimate> = roles
        .into_iter()
        .map(|(role, count, RoleUsage { tokens, dollars })| RoleEstimate {
            role,
            count,
            tokens: Some(tokens),
            dollars,
        })
        .collect();
    let mut assumptions = vec![
        format!("{} does it", models.edit.name()),
        format!("a model alone writes {} to {} messages for such a task", alone.low, alone.high),
        format!(
            "the rules, the tools and the request are about {} tokens, and each message repeats \
             the conversation, most of it from the provider's cache",
            size.first
        ),
        format!("a message has about {ANSWER} tokens, and what it calls for adds {GROWTH}"),
    ];
    if solo.dollars.is_none() {
        assumptions.push(format!("the price of {} is not known", models.edit.name()));
    }
    let mut estimate = build_estimate(found, asked, Some(solo), &roles, assumptions);
    let limit = models.spending_caps().estimate;
    estimate.needs_confirmation =
        limit.zip(estimate.dollars).is_some_and(|(limit, dollars)| dollars.high > limit);
    estimate
}

fn build_estimate(
    found: TierFindings,
    asked: TaskRole,
    solo: Option<RoleUsage>,
    others: &[RoleEstimate],
    assumptions: Vec<String>,
) -> TaskEstimate {
    let (tokens, dollars) = (solo.map(|it| it.tokens), solo.and_then(|it| it.dollars));
    let alone = RoleEstimate { role: EstimatedRole::Solo, count: 1, tokens, dollars };
    let role =
        if matches!(asked, TaskRole::Lead {}) { EstimatedRole::Lead } else { EstimatedRole::Solo };
    let (tokens, dollars) = match role {
        EstimatedRole::Lead => shared_use(&alone, others),
        EstimatedRole::Solo | EstimatedRole::Worker | EstimatedRole::Reviewer => (tokens, dollars),
    };
    let mut estimate = TaskEstimate {
        role,
        tier: found.tier,
        reasons: found.reasons,
        roles: std::iter::once(alone).chain(others.iter().cloned()).collect(),
        tokens,
        dollars,
        assumptions,
        line: String::new(),
        needs_confirmation: false,
    };
    estimate.line = estimate.to_line();
    estimate
}

/// Returns what a lead's task uses: at least what it uses alone, because it may give nothing away, and at
/// most what all roles use.
fn shared_use(
    alone: &RoleEstimate,
    others: &[RoleEstimate],
) -> (Option<TokenRange>, Option<DollarRange>) {
    let tokens = others.iter().try_fold((0, 0), |(low, high), it| {
        let more = it.tokens?;
        Some((low + more.low, high + more.high))
    });
    let dollars = others.iter().try_fold((0.0, 0.0), |(low, high), it| {
        let more = it.dollars?;
        Some((low + more.low, high + more.high))
    });
    let tokens = alone.tokens.zip(tokens).map(|(alone, (low, high))| TokenRange {
        low: alone.low.min(low),
        high: alone.high.max(high),
    });
    let dollars = alone.dollars.zip(dollars).map(|(alone, (low, high))| DollarRange {
        low: alone.low.min(low),
        high: alone.high.max(high),
    });
    (tokens, dollars)
}

fn times(usage: RoleUsage, count: u64) -> RoleUsage {
    let TokenRange { low, high } = usage.tokens;
    let tokens = TokenRange { low: low * count, high: high * count };
    let of = |dollars: f64| dollars * count as f64;
    let dollars = usage.dollars.map(|it| DollarRange { low: of(it.low), high: of(it.high) });
    RoleUsage { tokens, dollars }
}

/// Returns what a range of messages uses. The first one is of the planning model.
fn use_of_messages(
    models: &TaskModels,
    client: &Arc<ModelClient>,
    size: FirstMessage,
    messages: MessageRange,
) -> RoleUsage {
    let low = messages_cost(models, client, size, messages.low);
    // With the texts of the scripts that the context may have.
    let context = MAX_BYTES / BYTES;
    let most = FirstMessage { first: size.first + context, ..size };
    let high = messages_cost(models, client, most, messages.high);
    RoleUsage {
        tokens: TokenRange { low: low.tokens, high: high.tokens },
        dollars: low.dollars.zip(high.dollars).map(|(low, high)| DollarRange { low, high }),
    }
}

/// The tokens and the cost of some messages.
struct MessagesCost {
    tokens: u64,
    dollars: Option<f64>,
}

fn messages_cost(
    models: &TaskModels,
    client: &Arc<ModelClient>,
    size: FirstMessage,
    messages: u64,
) -> MessagesCost {
    let (mut tokens, mut dollars) = (0, Some(0.0));
    let mut cached = 0;
    for at in 0..messages {
        let prompt = (size.first + at * (ANSWER + GROWTH)).min(size.window);
        let usage = TokenUsage {
            prompt,
            cache_read: cached,
            cache_write: prompt - cached.min(prompt),
            generated: ANSWER,
            ..TokenUsage::default()
        };
        // A task begins without a plan, which the planning model makes.
        let asked =
            if at == 0 && Arc::ptr_eq(client, &models.edit) { &models.plan } else { client };
        tokens += prompt + ANSWER;
        dollars = dollars.zip(asked.cost_in_dollars(&usage)).map(|(sum, more)| sum + more);
        cached = prompt;
    }
    MessagesCost { tokens, dollars }
}
