//! What forbids or delays a request: the limit of messages, spending caps, and a high cost.

use std::time::Duration;

use scene_schemas::api::{FailureKind, ReviewEstimate, Setting, SpendingLimits};
use scene_schemas::entry::{ModelRequestRecord, Place, Seq};
use vector_core::workflow::ModelTrouble;
use vector_ledger::LedgerError;
use vector_providers::ProviderKind;
use vector_providers::answer::TokenUsage;
use vector_providers::client::{ModelClient, TaskModels};
use vector_providers::config::{FILE, SpendingCaps};

use super::{first_message_tokens, unix_millis};
use crate::budget::{find_exceeded_cap, paying_task};
use crate::{Engine, EngineError, ToolDriver, UserRequest};

/// The length of an answer in an estimate, in tokens.
const USUAL_ANSWER: u64 = 1_000;

/// How long providers keep a request in their caches, at least.
const CACHED: Duration = Duration::from_mins(5);

/// A costly request is reported again when the estimate has grown by this factor.
const REPORT_AGAIN: f64 = 2.0;

/// Estimates the first request of a task, with a usual answer.
pub(crate) fn estimate_first_request(models: &TaskModels, request: &UserRequest) -> ReviewEstimate {
    let (tokens, _) = first_message_tokens(models, request);
    let usage = TokenUsage { prompt: tokens, generated: USUAL_ANSWER, ..TokenUsage::default() };
    // A task begins without a plan, which the planning model makes.
    let client = &models.plan;
    ReviewEstimate { model: client.name(), tokens, dollars: client.cost_in_dollars(&usage) }
}

impl Engine {
    /// Sets the limits that the user has chosen beside the configuration.
    pub fn set_spending_limits(&mut self, limits: SpendingLimits) {
        self.requests.limits = limits;
    }

    /// Sets whether a user is there who can let a costly request continue. Without one, it is sent.
    pub fn set_attended(&mut self, is_attended: bool) {
        self.requests.is_attended = is_attended;
    }

    fn caps(&self, models: &TaskModels) -> SpendingCaps {
        models.spending_caps().with_limits(&self.requests.limits)
    }

    fn task_caps(&self, workflow: Seq) -> SpendingCaps {
        match self.executor.driver(workflow) {
            Some(ToolDriver::Provider(ProviderKind::Model(models))) => self.caps(models),
            _ => SpendingCaps::default(),
        }
    }

    /// Returns the limit or cap that forbids another request of a workflow, as trouble to report.
    pub(super) fn check_limits(
        &mut self,
        workflow: Seq,
        client: &ModelClient,
    ) -> Result<Option<ModelTrouble>, EngineError> {
        let Some(state) = self.executor.workflow(workflow) else {
            return Ok(None);
        };
        let limit = state.guards.as_ref().map_or(u32::MAX, |guards| guards.turns);
        if state.conversation().request_count() >= limit {
            return Ok(Some(ModelTrouble {
                code: FailureKind::TooMany,
                message: format!("The model has written {limit} messages in this task."),
                is_retryable: true,
                hint: format!(
                    "Check what it is doing, then let it continue for another {limit} messages or \
                     tell it what to do instead. `turn_limit` in {FILE} sets the limit."
                ),
                setting: None,
            }));
        }
        let place = state.place.clone();
        let caps = self.task_caps(workflow);
        match self.check_caps(&caps, Some(workflow), &place, client, 0.0)? {
            Some(trouble) => Ok(Some(trouble)),
            None => Ok(self.check_share(workflow, &caps)),
        }
    }

    /// Returns why a worker may not go on although its task has money left: each may spend an equal share
    /// of the cap of the task.
    fn check_share(&self, workflow: Seq, caps: &SpendingCaps) -> Option<ModelTrouble> {
        let own = self.workflow(workflow)?;
        let part = own.role.assigned_part()?;
        let count = self.workflow(part.lead)?.parts_of(part.call).len().max(1);
        let share = caps.workflow? / count as f64;
        let spent = self.requests.spending.workflow_dollars(workflow);
        (spent >= share).then(|| ModelTrouble {
            code: FailureKind::PaymentRequired,
            message: format!(
                "${spent:.2} was spent for this part, and its share of the cap is ${share:.2}."
            ),
            is_retryable: true,
            hint: format!("Raise caps.workflow_usd in {FILE}, or give away fewer parts."),
            setting: None,
        })
    }

    /// Returns why the cost of a request has to be reported before it is sent: it passes a cap, or
    /// is high.
    pub(super) fn check_cost(
        &mut self,
        workflow: Seq,
        request: &ModelRequestRecord,
        client: &ModelClient,
    ) -> Result<Option<ModelTrouble>, EngineError> {
        let Some(state) = self.executor.workflow(workflow) else {
            return Ok(None);
        };
        let last = state.conversation().last_request();
        let repeated = last.filter(|(_, last)| {
            // A summary replaces the messages that the last request had.
            last.model == request.model
                && last.system == request.system
                && last.summary == request.summary
        });
        let repeated = repeated.map(|(seq, last)| (*seq, last.estimate.min(request.estimate)));
        let cache_read = match repeated {
            Some((seq, tokens)) if self.is_cached(seq)? => tokens,
            _ => 0,
        };
        let usage = TokenUsage {
            prompt: request.estimate,
            cache_read,
            cache_write: request.estimate - cache_read,
            generated: USUAL_ANSWER,
            ..TokenUsage::default()
        };
        let dollars = client.cost_in_dollars(&usage).unwrap_or(0.0);
        let place = state.place.clone();
        let caps = self.task_caps(workflow);
        if let Some(task) = self.executor.task_mut(workflow) {
            task.estimated_cost = dollars;
        }
        let passed = self.check_caps(&caps, Some(workflow), &place, client, dollars)?;
        Ok(passed.or_else(|| self.report_cost(workflow, &caps, request.estimate, dollars)))
    }

    /// Whether a provider still has the request of this entry in its cache.
    fn is_cached(&self, request: Seq) -> Result<bool, LedgerError> {
        let sent = self.executor.ledger().record_at(request)?.map_or(0, |record| record.at);
        Ok(unix_millis().saturating_sub(sent) < CACHED.as_millis() as u64)
    }

    /// Returns the cap that a new task would pass with its first request.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn check_first_cost(
        &mut self,
        models: &TaskModels,
        request: &UserRequest,
    ) -> Result<Option<ModelTrouble>, LedgerError> {
        let dollars = estimate_first_request(models, request).dollars.unwrap_or(0.0);
        let (caps, place) = (self.caps(models), self.place());
        self.check_caps(&caps, None, &place, &models.plan, dollars)
    }

    fn check_caps(
        &mut self,
        caps: &SpendingCaps,
        workflow: Option<Seq>,
        place: &Place,
        client: &ModelClient,
        estimate: f64,
    ) -> Result<Option<ModelTrouble>, LedgerError> {
        let is_capped = caps.day.or(caps.project).or(caps.workflow).is_some();
        let is_free = client.is_free() && client.chosen_model().model.price.is_none();
        if !is_capped || is_free {
            return Ok(None);
        }
        if !client.is_priced() {
            return Ok(Some(ModelTrouble {
                code: FailureKind::PaymentRequired,
                message: format!(
                    "A spending cap is set, but the price of {} is not known.",
                    client.name()
                ),
                is_retryable: true,
                hint: "Set its price in models.toml, remove the cap, or choose another model."
                    .to_owned(),
                setting: Some(Setting::Model),
            }));
        }
        self.requests.spending.read_new_replies(self.executor.ledger())?;
        let spent = &self.requests.spending;
        let role = workflow.and_then(|it| self.workflow(it)).map(|it| it.role).unwrap_or_default();
        let task = workflow.map(|it| paying_task(it, role));
        let spending = spent.capped_spending(caps, task, place, unix_millis());
        Ok(find_exceeded_cap(&spending, estimate + self.open_costs(workflow)))
    }

    /// Returns the estimated cost of the requests of other workflows that are being answered.
    fn open_costs(&self, own: Option<Seq>) -> f64 {
        let others = self.executor.tasks().filter(|(workflow, _)| Some(**workflow) != own);
        let open = others.filter(|(_, task)| task.open_request.is_some());
        // The sum of no numbers is -0.0.
        open.map(|(_, task)| task.estimated_cost).sum::<f64>() + 0.0
    }

    /// Reports an estimate above the limit of a request, once until it has doubled. The user lets it
    /// continue as after any trouble.
    fn report_cost(
        &mut self,
        workflow: Seq,
        caps: &SpendingCaps,
        tokens: u64,
        dollars: f64,
    ) -> Option<ModelTrouble> {
        let limit = caps.request.filter(|limit| self.requests.is_attended && dollars > *limit)?;
        let task = self.executor.task_mut(workflow)?;
        if task.reported_cost.is_some_and(|reported| dollars < reported * REPORT_AGAIN) {
            return None;
        }
        task.reported_cost = Some(dollars);
        Some(ModelTrouble {
            // A person lets it continue, as after any limit; no setting has to be changed first.
            code: FailureKind::TooMany,
            message: format!(
                "The next request has about {tokens} tokens and may cost ${dollars:.2}. You are asked \
                 above ${limit:.2}."
            ),
            is_retryable: true,
            hint: format!(
                "Continue to send it, or choose another model first. In this task you are asked again \
                 when a request costs twice as much. The settings and caps.request_usd in {FILE} set \
                 the limit."
            ),
            setting: Some(Setting::Model),
        })
    }
}
