//! A client for one model: builds requests, sends them, and decodes the answers as they arrive.
//!
//! It keeps nothing between two requests except its connections. What an answer means for the
//! workflow is decided elsewhere.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use scene_schemas::review::TaskRole;
use scene_schemas::tier::TaskTier;
use tokio::runtime::{Handle, Runtime};
use vector_core::prompt::ModelPrompt;

use super::answer::{AnswerOutcome, AnswerPart, ModelAnswer, TokenUsage};
use super::capture::ReplyCapture;

use super::config::{self, ModelAction, ModelConfig, SpendingCaps};
use super::decode::ResponseDecoder;
use super::failure::ResponseHead;
use super::http::{CancelSwitch, HttpClient, HttpError, HttpNotice, ResponseReader, WaitLimits};
use super::keys::{Credential, KeyStore, Keychain};
use super::model_choice::{ChoiceError, ChosenModel, ModelChoice, choose_model};
use super::request::ModelHttpRequest;
use super::retry::RetryVerdict;

/// An event during a request.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientEvent {
    /// More of the answer's text.
    Text(String),
    /// More of the answer's reasoning.
    Reasoning(String),
    /// A notice of the transport.
    Notice(HttpNotice),
}

/// A client for one chosen model.
#[derive(Debug)]
pub struct ModelClient {
    chosen_model: ChosenModel,
    http: HttpClient,
    wait_limits: WaitLimits,
    capture: Option<ReplyCapture>,
}

impl ModelClient {
    /// Creates a client for a model.
    ///
    /// # Errors
    /// The HTTP client cannot be set up on this machine.
    pub fn new(
        chosen: ChosenModel,
        waits: WaitLimits,
        capture: Option<ReplyCapture>,
    ) -> Result<Self, HttpError> {
        let http = HttpClient::new(&chosen.service.base_url)?;
        Ok(Self { chosen_model: chosen, http, wait_limits: waits, capture })
    }

    pub fn chosen_model(&self) -> &ChosenModel {
        &self.chosen_model
    }

    /// Returns its name, as `PROVIDER/MODEL`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.chosen_model.service.name, self.chosen_model.model.id)
    }

    /// Builds the request for the next message of a conversation.
    pub fn build_request(&self, prompt: &ModelPrompt) -> ModelHttpRequest {
        ModelHttpRequest::new(prompt, &self.chosen_model)
    }

    /// Returns the cost of an answer in US dollars; None if the price is unknown. Models on this
    /// machine are free if they need no key.
    pub fn cost_in_dollars(&self, usage: &TokenUsage) -> Option<f64> {
        match self.chosen_model.model.price {
            Some(price) => Some(price.cost_of(usage)),
            None => self.is_free().then_some(0.0),
        }
    }

    /// Whether the model is known to read images.
    pub fn reads_images(&self) -> bool {
        self.chosen_model.model.has_vision
    }

    /// Whether the model runs on this machine.
    pub fn is_local(&self) -> bool {
        super::model_choice::is_local(&self.chosen_model.service.base_url)
    }

    /// Whether the model is free: it runs on this machine, and needs no key.
    pub fn is_free(&self) -> bool {
        super::model_choice::is_local(&self.chosen_model.service.base_url)
            && self.chosen_model.credential == Credential::None
    }

    /// Whether its cost is known.
    pub fn is_priced(&self) -> bool {
        self.chosen_model.model.price.is_some() || self.is_free()
    }

    /// Sends a request and reads the answer to its end. `hear` receives the events meanwhile.
    ///
    /// # Errors
    /// There is no answer to read, or the request was cancelled.
    pub async fn send_request(
        &self,
        request: &ModelHttpRequest,
        cancel: &CancelSwitch,
        hear: impl FnMut(ClientEvent) + Send,
    ) -> Result<ModelAnswer, HttpError> {
        let hear = Mutex::new(hear);
        let tell =
            |heard: ClientEvent| (hear.lock().unwrap_or_else(PoisonError::into_inner))(heard);
        let capture = self.capture.as_ref().map(|capture| (capture, self.name()));
        let reader = || AnswerReader {
            request,
            emit: &tell,
            decoder: None,
            parts: Vec::new(),
            capture: capture.clone(),
            raw_reply: (0, Vec::new()),
        };
        let mut notice = |notice: HttpNotice| tell(ClientEvent::Notice(notice));
        let answered = self
            .http
            .send_with_retries(request, &self.wait_limits, cancel, reader, &mut notice)
            .await?;
        let mut answer = ModelAnswer::from_parts(answered.reader.parts);
        if let Some(failure) = &mut answer.end.failure {
            failure.message = request.credential.scrub_text(&failure.message);
        }
        Ok(answer)
    }
}

/// Decodes one answer while it arrives.
struct AnswerReader<'a, T> {
    request: &'a ModelHttpRequest,
    emit: &'a T,
    decoder: Option<ResponseDecoder>,
    parts: Vec<AnswerPart>,
    /// The capture for the reply, and the model's name for its file.
    capture: Option<(&'a ReplyCapture, String)>,
    /// The status and the body of the reply, if it is captured.
    raw_reply: (u16, Vec<u8>),
}

impl<T: Fn(ClientEvent) + Sync> AnswerReader<'_, T> {
    fn take_parts(&mut self, parts: Vec<AnswerPart>) {
        for part in &parts {
            match part {
                AnswerPart::Text(text) => (self.emit)(ClientEvent::Text(text.clone())),
                AnswerPart::Reasoning(text) => (self.emit)(ClientEvent::Reasoning(text.clone())),
                _ => {}
            }
        }
        self.parts.extend(parts);
    }
}

impl<T: Fn(ClientEvent) + Sync> ResponseReader for AnswerReader<'_, T> {
    fn read_head(&mut self, status: u16, headers: &[(String, String)]) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = Some(since.as_millis() as u64);
        self.raw_reply.0 = status;
        let head = ResponseHead { status, headers: headers.to_vec(), received_at: now };
        self.decoder = Some(ResponseDecoder::new(self.request.wire, head));
    }

    fn read_bytes(&mut self, bytes: &[u8]) -> bool {
        let Some(decoder) = &mut self.decoder else {
            return false;
        };
        if self.capture.is_some() {
            self.raw_reply.1.extend_from_slice(bytes);
        }
        let parts = decoder.push_bytes(bytes);
        let is_over = decoder.is_over();
        self.take_parts(parts);
        !is_over
    }

    fn read_end(&mut self, cut: Option<&str>) -> RetryVerdict {
        if let Some((capture, model)) = &self.capture {
            // A capture that fails only means that a debugging file is missing, so it is not
            // reported.
            let body = self.request.credential.scrub_bytes(std::mem::take(&mut self.raw_reply.1));
            let _ = capture.write_reply(model, self.raw_reply.0, &body);
        }
        let parts = self.decoder.take().map(ResponseDecoder::finish).unwrap_or_default();
        self.take_parts(parts);
        let Some(AnswerPart::End(end)) = self.parts.last_mut() else {
            return RetryVerdict { is_retryable: true, ..RetryVerdict::default() };
        };
        if let (Some(cut), AnswerOutcome::Incomplete, Some(failure)) =
            (cut, end.outcome, &mut end.failure)
        {
            failure.message = format!("the answer broke off: {cut}");
        }
        match &end.failure {
            Some(failure) => RetryVerdict {
                is_ok: false,
                is_retryable: failure.is_retryable,
                retry_after: failure.retry_after,
                is_context_overflow: failure.is_context_overflow,
                reason: failure.message.clone(),
            },
            None => RetryVerdict { is_ok: true, ..RetryVerdict::default() },
        }
    }
}

/// The models of a task: one for each action, often the same one. They share a runtime, so
/// connections are kept from one request to the next.
#[derive(Debug, Clone)]
pub struct TaskModels {
    /// The model that edits and answers.
    pub edit: Arc<ModelClient>,
    pub plan: Arc<ModelClient>,
    /// The model that reviews proposals.
    pub review: Arc<ModelClient>,
    /// The model that does parts of a lead's task.
    pub work: Arc<ModelClient>,
    /// The model that answers questions of a lead.
    pub scout: Arc<ModelClient>,
    /// The model that goes on when several calls in a row were refused; None if none is set.
    pub escalate: Option<Arc<ModelClient>>,
    /// The models for tasks of a size, where the person chose none for the request.
    tiers: BTreeMap<TaskTier, Arc<ModelClient>>,
    /// The settings that apply to all of them.
    pub config: Arc<ModelConfig>,
    threads: Arc<RequestThreads>,
}

/// The runtime that requests run on.
#[derive(Debug)]
struct RequestThreads {
    handle: Handle,
    runtime: Option<Runtime>,
}

impl Drop for RequestThreads {
    fn drop(&mut self) {
        // The last owner may be a thread of the runtime itself, which must not wait for its own
        // end.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl TaskModels {
    /// Runs `work` on this thread until it completes, within the runtime of the task.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.threads.handle.block_on(work)
    }

    /// Runs `work` in the background.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.threads.handle.spawn(work));
    }

    /// Whether these are the same models with the same settings.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.config == other.config
            && self.edit.chosen_model == other.edit.chosen_model
            && self.plan.chosen_model == other.plan.chosen_model
            && self.review.chosen_model == other.review.chosen_model
            && self.work.chosen_model == other.work.chosen_model
            && self.scout.chosen_model == other.scout.chosen_model
            && self.escalate.as_ref().map(|it| &it.chosen_model)
                == other.escalate.as_ref().map(|it| &it.chosen_model)
            && self.tiers.len() == other.tiers.len()
            && self.tiers.iter().zip(&other.tiers).all(|((tier, own), (other_tier, other))| {
                tier == other_tier && own.chosen_model == other.chosen_model
            })
    }

    /// Whether the model of a task depends on its size.
    pub fn has_tier_routes(&self) -> bool {
        !self.tiers.is_empty()
    }

    /// Returns the models for a task of a size: those for tasks of any size, except that another model
    /// edits, and plans unless `routes.plan` names one, if the size has its own.
    #[must_use]
    pub fn for_tier(&self, tier: TaskTier) -> Self {
        let mut models = Self { tiers: BTreeMap::new(), ..self.clone() };
        if let Some(client) = self.tiers.get(&tier) {
            models.edit = Arc::clone(client);
            if !self.config.routes.contains_key(&ModelAction::Plan) {
                models.plan = Arc::clone(client);
            }
        }
        models
    }

    /// Returns the models for a role: the one that has it, for everything. A lead is the model that
    /// plans.
    #[must_use]
    pub fn for_role(&self, role: TaskRole) -> Self {
        let client = match role {
            TaskRole::Solo => return self.clone(),
            TaskRole::Lead {} => &self.plan,
            TaskRole::Worker { .. } => &self.work,
            TaskRole::Scout { .. } => &self.scout,
            TaskRole::Reviewer { .. } => &self.review,
        };
        Self { edit: Arc::clone(client), plan: Arc::clone(client), ..self.clone() }
    }

    pub fn spending_caps(&self) -> SpendingCaps {
        self.config.caps
    }
}

/// Loads the models from the settings of Vector's folder `home` and of a project; None is the
/// offline planner. `said` is the user's choice for this run.
///
/// # Errors
/// A sentence about a wrong setting, or about the reason the chosen model cannot be used.
pub fn load_models(
    home: &Path,
    project: Option<&Path>,
    said: Option<&str>,
    env: config::EnvReader<'_>,
    chain: &dyn Keychain,
) -> Result<Option<TaskModels>, String> {
    load_models_with(home, project, said, env, &KeyStore::new(env, chain))
}

/// Like [`load_models`], with a given key store.
pub(super) fn load_models_with(
    home: &Path,
    project: Option<&Path>,
    said: Option<&str>,
    env: config::EnvReader<'_>,
    keys: &KeyStore<'_>,
) -> Result<Option<TaskModels>, String> {
    let (catalogue, config) = config::load_config(home, project, env)?;
    let waits = WaitLimits::from_config(&config);
    let days = u64::from(config.capture_days);
    let capture = ReplyCapture::new(home, Duration::from_hours(24 * days));
    capture.remove_expired();
    let client = |action| -> Result<Option<ModelClient>, String> {
        // A review is worth most by another model than the one that made the change, and parts of a
        // task may be for a cheaper one than the person has chosen.
        let is_role = match action {
            ModelAction::Review
            | ModelAction::Work
            | ModelAction::Scout
            | ModelAction::Escalate => true,
            ModelAction::Plan
            | ModelAction::Edit
            | ModelAction::Summarise
            | ModelAction::Task(_) => false,
        };
        let is_routed = is_role && config.routes.contains_key(&action);
        let requested = said.filter(|_| !is_routed);
        let choice = choose_model(requested, Some(action), &config, &catalogue, keys)
            .map_err(|ChoiceError(error)| error)?;
        match choice {
            ModelChoice::Offline(_) => Ok(None),
            ModelChoice::Model(chosen) => {
                let capture = config.is_capture_on.then(|| capture.clone());
                ModelClient::new(*chosen, waits, capture)
                    .map(Some)
                    .map_err(|error| error.to_string())
            }
        }
    };
    let Some(edit) = client(ModelAction::Edit)?.map(Arc::new) else {
        return Ok(None);
    };
    let other = |action| -> Result<Arc<ModelClient>, String> {
        Ok(match client(action)? {
            Some(other) if other.chosen_model != edit.chosen_model => Arc::new(other),
            _ => Arc::clone(&edit),
        })
    };
    let (plan, review) = (other(ModelAction::Plan)?, other(ModelAction::Review)?);
    let (work, scout) = (other(ModelAction::Work)?, other(ModelAction::Scout)?);
    let is_set = config.routes.contains_key(&ModelAction::Escalate);
    let escalate = is_set.then(|| other(ModelAction::Escalate)).transpose()?;
    let routed =
        |tier: &TaskTier| said.is_none() && config.routes.contains_key(&ModelAction::Task(*tier));
    let tiers = TaskTier::ALL.into_iter().filter(routed);
    let tiers = tiers
        .map(|tier| Ok((tier, other(ModelAction::Task(tier))?)))
        .collect::<Result<BTreeMap<_, _>, String>>()?;
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).thread_name("models").enable_all().build();
    let runtime = runtime.map_err(|error| format!("requests cannot be sent: {error}"))?;
    let threads = RequestThreads { handle: runtime.handle().clone(), runtime: Some(runtime) };
    let (config, threads) = (Arc::new(config), Arc::new(threads));
    Ok(Some(TaskModels { edit, plan, review, work, scout, escalate, tiers, config, threads }))
}
