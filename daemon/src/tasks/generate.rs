//! Generation of models with Meshy, on record in the ledger.
//!
//! Each generation is a workflow. Before a task is sent, its intention is recorded; once Meshy has begun
//! it, its id. So a generation that was interrupted is read to its end and never paid twice, and one whose
//! request got no answer ends with the credits that it may have cost. This module does not ask for
//! approval.

mod past;

use std::time::{Duration, Instant};

use scene_schemas::Fingerprint;
use scene_schemas::entry::{Entry, FilePlace, Finish, Place, Seq};
use scene_schemas::generation::{GenerationOffer, GenerationRequest, GenerationStage};
use scene_schemas::permission::Permission;
use serde_json::json;
use vector_cloud::{
    CloudClient, CloudFailure, CloudFailureKind, CloudRequest, KeyPurpose, MeshyModel,
    MeshyPreview, MeshyRefine, MeshyState, MeshyTask, MeshyTaskId,
};
use vector_engine::budget::day_number;
use vector_engine::fetch::{FetchResult, FetchWork};
use vector_engine::model_request::unix_millis;
use vector_ledger::{AppendBatch, Ledger, LedgerError, WorkflowLease};
use vector_providers::config;
use vector_providers::http::CancelSwitch;
use vector_providers::keys::SecretKey;

pub use self::past::{GenerationEnd, Generations, MadeModel, PastGeneration};
use super::cloud::{cloud_client, find_key, wait_for};
use super::cloud_workflow::{CloudIntention, CloudWorkflow, begin_workflow};
use super::generated_model::GeneratedModel;

/// The driver of the workflows of generations.
const DRIVER: &str = "generate";
/// How long one task is polled before it is left to a later run.
const MAX_POLL: Duration = Duration::from_mins(15);
/// The pause before the first poll and the longest one.
const POLL_PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(15)];
/// The size limit of a model file.
const MAX_MODEL_BYTES: usize = 64 << 20;

/// The reason a model was not generated.
#[derive(Debug, thiserror::Error)]
pub enum GenerationError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// One or more sentences, which say what to do.
    #[error("{0}")]
    Refused(String),
}

fn refuse_generation(why: impl Into<String>) -> GenerationError {
    GenerationError::Refused(why.into())
}

/// Returns a generation with its price.
///
/// # Errors
/// Meshy does not take the request. The sentence says why.
pub fn offer_generation(
    history: &Generations,
    request: GenerationRequest,
) -> Result<GenerationOffer, String> {
    let preview = preview_of(&request);
    preview.request().map_err(|failure| failure.message)?;
    let refine = if request.has_colors { MeshyRefine::CREDITS } else { 0 };
    let lost_credits = history.lost_credits(&request);
    Ok(GenerationOffer { credits: preview.credits() + refine, lost_credits, request })
}

fn preview_of(request: &GenerationRequest) -> MeshyPreview {
    MeshyPreview {
        prompt: request.prompt.clone(),
        model: MeshyModel::Latest,
        is_low_poly: request.is_low_poly,
        polygons: request.polygons,
    }
}

fn find_meshy_key() -> Result<SecretKey, String> {
    let otherwise = "find a model with `vector assets search`";
    find_key(KeyPurpose::Meshy, "Models are generated", otherwise)
}

/// Performs the call of a model: asks for the permission first, and generates when it is given.
///
/// # Errors
/// A sentence that says what to do.
pub(super) fn generate_for_call(
    work: &FetchWork,
    request: &GenerationRequest,
    cancel: &CancelSwitch,
) -> Result<FetchResult, String> {
    let ledger = &*work.ledger;
    let history = Generations::read(ledger).map_err(|error| error.to_string())?;
    let offer = offer_generation(&history, request.clone())?;
    let is_begun = history.find_same(request).is_some();
    let wanted = Permission::Generate(Box::new(offer.clone()));
    if !is_begun && work.permitted.as_ref() != Some(&wanted) {
        find_meshy_key()?;
        check_cap(&history, &offer, read_cap(ledger)?)?;
        return Ok(FetchResult::NeedsPermission(wanted));
    }
    let made = generate_model(ledger, &offer, false, cancel);
    let made = made.map_err(|error| error.to_string())?;
    let model = read_model(ledger, &made).map_err(|error| error.to_string())?;
    Ok(FetchResult::Answer(json!({
        "generated": made.generation,
        "triangles": model.triangles.len(),
        "size": model.size(),
        "credits": if is_begun { 0 } else { made.credits },
    })))
}

/// Reads the model of a generation.
///
/// # Errors
/// It is no longer in the ledger, or not a model.
pub fn read_model(ledger: &Ledger, made: &MadeModel) -> Result<GeneratedModel, GenerationError> {
    GeneratedModel::read(&read_model_file(ledger, made)?).map_err(refuse_generation)
}

/// Reads the file of a generation.
///
/// # Errors
/// It is no longer in the ledger.
pub fn read_model_file(ledger: &Ledger, made: &MadeModel) -> Result<Vec<u8>, GenerationError> {
    let file = ledger.read_blob(&made.model)?;
    file.ok_or_else(|| {
        let generation = made.generation;
        refuse_generation(format!(
            "The model of generation {generation} is no longer in the ledger. Generate it again."
        ))
    })
}

/// Returns the model of an earlier generation.
///
/// # Errors
/// There is none.
pub fn find_made(ledger: &Ledger, generation: Seq) -> Result<MadeModel, GenerationError> {
    let history = Generations::read(ledger)?;
    match history.find(generation).map(PastGeneration::made_model) {
        Some(Some(made)) => Ok(made),
        Some(None) => Err(refuse_generation(format!(
            "Generation {generation} has no model. Ask for the same again to go on with it."
        ))),
        None => Err(refuse_generation(format!(
            "There is no generation {generation}. `vector assets generate --list` lists them."
        ))),
    }
}

/// Generates a model, unless the same was generated before: then that one is returned, or an interrupted
/// generation is read to its end. With `again`, a new one is generated in any case.
///
/// # Errors
/// There is no model yet, or there will be none.
pub fn generate_model(
    ledger: &Ledger,
    offer: &GenerationOffer,
    again: bool,
    cancel: &CancelSwitch,
) -> Result<MadeModel, GenerationError> {
    let begun = match begin_or_resume(ledger, offer, again)? {
        GenerationStart::Made(made) => return Ok(made),
        GenerationStart::Begun(begun) => *begun,
    };
    let key = find_meshy_key().map_err(refuse_generation)?;
    let client = cloud_client().map_err(|failure| refuse_generation(failure.message))?;
    let workflow = begun.lease.workflow();
    let mut run = GenerationRun { ledger, client, key, cancel, workflow, spent: 0 };
    match run.carry_out(&begun.past, begun.is_new) {
        Ok(made) => Ok(made),
        Err(GenerationStop::Ledger(error)) => Err(error.into()),
        // It goes on at Meshy, and nothing more is recorded.
        Err(GenerationStop::Later(why)) => Err(refuse_generation(format!(
            "{why} Generation {} goes on at Meshy: ask for the same again to get its model, which is not \
             paid again.",
            begun.past.seq
        ))),
        Err(GenerationStop::Failed { reason, credits }) => {
            let generation = begun.past.seq;
            let failed = Entry::GenerationFailed { generation, reason: reason.clone(), credits };
            run.record(vec![failed, finished(Finish::Failed, None)], Vec::new())?;
            Err(refuse_generation(reason))
        }
    }
}

/// Cancels a generation that has not ended. Meshy does not pay credits back.
///
/// # Errors
/// It has ended, goes on in another process, or Meshy did not take the request.
pub fn cancel_generation(
    ledger: &Ledger,
    generation: Seq,
    cancel: &CancelSwitch,
) -> Result<(), GenerationError> {
    let find = || Generations::read(ledger).map(|it| it.find(generation).cloned());
    let Some(past) = find()? else {
        return Err(refuse_generation(format!("There is no generation {generation}.")));
    };
    let lease = lease_generation(ledger, &past)?;
    let past = find()?.unwrap_or(past);
    if past.end.is_some() {
        return Err(refuse_generation(format!("Generation {generation} has ended already.")));
    }
    if let Some(task) = past.refine.as_ref().or(past.preview.as_ref()) {
        let key = find_meshy_key().map_err(refuse_generation)?;
        let client = cloud_client().map_err(|failure| refuse_generation(failure.message))?;
        let task =
            MeshyTaskId::parse(task).map_err(|failure| refuse_generation(failure.message))?;
        let request = task.delete_request();
        let sent = wait_for(client.read(&request, Some(key.expose())), cancel);
        match sent.map_err(refuse_generation)? {
            Ok(_) => {}
            // It was deleted before.
            Err(failure) if failure.kind == CloudFailureKind::NotFound => {}
            Err(failure) => return Err(refuse_generation(failure.message)),
        }
    }
    let (reason, credits) = ("It was cancelled.".to_owned(), past.credits());
    let failed = Entry::GenerationFailed { generation, reason, credits };
    let entries = vec![failed, finished(Finish::NotApproved, None)];
    let workflow = Some(lease.workflow());
    ledger.append(AppendBatch { workflow, entries, blobs: Vec::new() })?;
    Ok(())
}

fn finished(outcome: Finish, summary: Option<String>) -> Entry {
    Entry::Finished { outcome, summary }
}

fn lease_generation(
    ledger: &Ledger,
    past: &PastGeneration,
) -> Result<WorkflowLease, GenerationError> {
    let lease = ledger.try_lease(past.workflow)?;
    lease.ok_or_else(|| {
        let why = format!("Generation {} is going on. Wait until it has ended.", past.seq);
        refuse_generation(why)
    })
}

/// How a generation starts.
enum GenerationStart {
    /// There is a model of the same request.
    Made(MadeModel),
    Begun(Box<BegunGeneration>),
}

/// A generation that is on record. The lease tells others that it goes on.
struct BegunGeneration {
    past: PastGeneration,
    /// Whether nothing was sent yet.
    is_new: bool,
    lease: WorkflowLease,
}

/// Looks for a generation of the same request, and records a new one if there is none. Others wait
/// meanwhile.
fn begin_or_resume(
    ledger: &Ledger,
    offer: &GenerationOffer,
    again: bool,
) -> Result<GenerationStart, GenerationError> {
    let _lock = ledger.lock_applying()?;
    let history = Generations::read(ledger)?;
    let same = history.find_same(&offer.request);
    // One that goes on is finished first, also if another one is wanted.
    let Some(past) = same.filter(|past| past.end.is_none() || !again).cloned() else {
        return begin_generation(ledger, offer, &history);
    };
    if let Some(made) = past.made_model() {
        return Ok(GenerationStart::Made(made));
    }
    let lease = lease_generation(ledger, &past)?;
    // It may have ended until it was leased.
    let past = Generations::read(ledger)?.find(past.seq).cloned().unwrap_or(past);
    if let Some(made) = past.made_model() {
        return Ok(GenerationStart::Made(made));
    }
    Ok(GenerationStart::Begun(Box::new(BegunGeneration { past, is_new: false, lease })))
}

fn begin_generation(
    ledger: &Ledger,
    offer: &GenerationOffer,
    history: &Generations,
) -> Result<GenerationStart, GenerationError> {
    // What cannot be sent at all is not recorded.
    find_meshy_key().map_err(refuse_generation)?;
    let cap = read_cap(ledger).map_err(refuse_generation)?;
    check_cap(history, offer, cap).map_err(refuse_generation)?;
    let place = FilePlace {
        file: "model.glb".to_owned(),
        out: None,
        hash: Fingerprint::hash_bytes(offer.request.prompt.as_bytes()),
        replaces: None,
    };
    let intention = CloudIntention {
        place: Place::File(place),
        goal: offer.describe(),
        driver: DRIVER,
        entry: Entry::GenerationStarting { generation: Box::new(offer.clone()) },
        blobs: Vec::new(),
    };
    let CloudWorkflow { seq, lease } = begin_workflow(ledger, intention)?;
    let past = Generations::read(ledger)?.find(seq).cloned();
    let past = past.ok_or_else(|| refuse_generation("The generation is not in the ledger."))?;
    Ok(GenerationStart::Begun(Box::new(BegunGeneration { past, is_new: true, lease })))
}

/// Reads how many credits may be spent on a day. None for no limit.
fn read_cap(ledger: &Ledger) -> Result<Option<u64>, String> {
    let env = |name: &str| std::env::var(name).ok();
    let (_, config) = config::load_config(ledger.folder(), None, &env)?;
    Ok(config.credits_per_day.map(u64::from))
}

/// Refuses a generation that would spend more than the cap of the day.
fn check_cap(
    history: &Generations,
    offer: &GenerationOffer,
    cap: Option<u64>,
) -> Result<(), String> {
    let spent = history.credits_of_day(day_number(unix_millis()));
    match cap {
        Some(cap) if spent + u64::from(offer.credits) > cap => Err(format!(
            "{spent} credits of Meshy were spent today, this model costs {}, and the cap is {cap}. Raise \
             caps.day_credits in {}, or wait until tomorrow (UTC).",
            offer.credits,
            config::FILE
        )),
        Some(_) | None => Ok(()),
    }
}

/// Why a generation has no model now.
enum GenerationStop {
    Ledger(LedgerError),
    /// Meshy works on it, or has the model. The sentence says what happened.
    Later(String),
    Failed {
        reason: String,
        credits: u64,
    },
}

impl From<LedgerError> for GenerationStop {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

/// A generation that is carried out.
struct GenerationRun<'r> {
    ledger: &'r Ledger,
    client: CloudClient,
    key: SecretKey,
    cancel: &'r CancelSwitch,
    workflow: Seq,
    /// The credits of the tasks that have ended.
    spent: u64,
}

impl GenerationRun<'_> {
    fn record(&self, entries: Vec<Entry>, blobs: Vec<Vec<u8>>) -> Result<(), LedgerError> {
        let batch = AppendBatch { workflow: Some(self.workflow), entries, blobs };
        self.ledger.append(batch).map(drop)
    }

    fn carry_out(
        &mut self,
        past: &PastGeneration,
        is_new: bool,
    ) -> Result<MadeModel, GenerationStop> {
        let request = &past.offer.request;
        let (generation, preview) = (past.seq, preview_of(request));
        let id = match &past.preview {
            Some(id) => parse_task(id)?,
            None if is_new => {
                let task = TaskStart {
                    generation,
                    stage: GenerationStage::Preview,
                    credits: preview.credits(),
                    request: preview.request(),
                };
                self.start_task(task)?
            }
            None => return Err(self.unanswered(preview.credits())),
        };
        let mut task = self.poll(&id, preview.credits())?;
        if request.has_colors {
            let refine = MeshyRefine { preview: id, has_pbr: false, texture_prompt: None };
            let id = match &past.refine {
                Some(id) => parse_task(id)?,
                None if past.is_refining => return Err(self.unanswered(MeshyRefine::CREDITS)),
                None => {
                    self.record(vec![Entry::GenerationRefining { generation }], Vec::new())?;
                    let task = TaskStart {
                        generation,
                        stage: GenerationStage::Refine,
                        credits: MeshyRefine::CREDITS,
                        request: refine.request(),
                    };
                    self.start_task(task)?
                }
            };
            task = self.poll(&id, MeshyRefine::CREDITS)?;
        }
        self.keep_model(generation, &task)
    }

    fn unanswered(&self, credits: u32) -> GenerationStop {
        GenerationStop::Failed {
            reason:
                "The request to Meshy got no answer, and Meshy may have begun the model: look at \
                     https://www.meshy.ai/workspace before you ask for it again."
                    .to_owned(),
            credits: self.spent + u64::from(credits),
        }
    }

    /// Sends the start of a task, and records its id.
    fn start_task(&self, task: TaskStart) -> Result<MeshyTaskId, GenerationStop> {
        let failed = |failure: CloudFailure| {
            let cost = if failure.may_have_acted { u64::from(task.credits) } else { 0 };
            GenerationStop::Failed { reason: failure.message, credits: self.spent + cost }
        };
        let request = task.request.map_err(failed)?;
        let sent = wait_for(self.client.read(&request, Some(self.key.expose())), self.cancel);
        // The request may be on its way when it is cancelled.
        let sent = sent.map_err(CloudFailure::stopped).map_err(failed)?;
        let id = sent.and_then(|body| MeshyTaskId::read_started(&body)).map_err(failed)?;
        let (generation, stage) = (task.generation, task.stage);
        let accepted =
            Entry::GenerationAccepted { generation, stage, task: id.as_str().to_owned() };
        self.record(vec![accepted], Vec::new())?;
        Ok(id)
    }

    /// Polls a task with growing pauses until it has succeeded.
    fn poll(&mut self, id: &MeshyTaskId, credits: u32) -> Result<MeshyTask, GenerationStop> {
        let (since, [mut pause, longest]) = (Instant::now(), POLL_PAUSES);
        loop {
            let waited = async {
                tokio::time::sleep(pause).await;
                self.client.read(&id.task_request(), Some(self.key.expose())).await
            };
            let answer = wait_for(waited, self.cancel).map_err(GenerationStop::Later)?;
            let task = match answer.and_then(|body| MeshyTask::read(&body)) {
                Ok(task) => task,
                Err(failure) if failure.kind == CloudFailureKind::NotFound => {
                    let credits = self.spent + u64::from(credits);
                    return Err(GenerationStop::Failed { reason: failure.message, credits });
                }
                Err(failure) => return Err(GenerationStop::Later(failure.message)),
            };
            let cost = task.consumed_credits.unwrap_or(u64::from(credits));
            match task.state {
                MeshyState::Succeeded => {
                    self.spent += cost;
                    return Ok(task);
                }
                MeshyState::Failed | MeshyState::Canceled => {
                    let why = task.error.as_deref().unwrap_or("it does not say why");
                    let why = why.trim_end_matches('.');
                    let reason = format!("Meshy made no model: {why}. Change the prompt.");
                    return Err(GenerationStop::Failed { reason, credits: self.spent + cost });
                }
                MeshyState::Pending | MeshyState::InProgress => {}
            }
            if since.elapsed() > MAX_POLL {
                let minutes = MAX_POLL.as_secs() / 60;
                let why = format!("Meshy has not finished after {minutes} minutes.");
                return Err(GenerationStop::Later(why));
            }
            pause = (pause * 3 / 2).min(longest);
        }
    }

    /// Downloads the model of a task, and keeps it in the ledger.
    fn keep_model(&self, generation: Seq, task: &MeshyTask) -> Result<MadeModel, GenerationStop> {
        let location = task.glb_location.clone().unwrap_or_default();
        let download = self.client.download(&location, MAX_MODEL_BYTES);
        let file = wait_for(download, self.cancel).map_err(GenerationStop::Later)?;
        let file = file.map_err(|failure| GenerationStop::Later(failure.message))?;
        let credits = self.spent;
        if let Err(reason) = GeneratedModel::read(&file) {
            return Err(GenerationStop::Failed { reason, credits });
        }
        let (model, size) = (Fingerprint::hash_bytes(&file), file.len() as u64);
        let summary = Some(format!("Generated for {credits} credits."));
        let generated = Entry::Generated { generation, model: model.clone(), size, credits };
        self.record(vec![generated, finished(Finish::Done, summary)], vec![file])?;
        Ok(MadeModel { generation, model, size, credits })
    }
}

/// A task that is about to be sent.
struct TaskStart {
    generation: Seq,
    stage: GenerationStage,
    credits: u32,
    request: Result<CloudRequest, CloudFailure>,
}

fn parse_task(id: &str) -> Result<MeshyTaskId, GenerationStop> {
    MeshyTaskId::parse(id).map_err(|failure| GenerationStop::Later(failure.message))
}
