//! A model that is asked: the request, the way there and back, and the answer as it is read.
//!
//! It keeps nothing between two requests but its connections. What an answer means for the work is
//! decided elsewhere.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::runtime::{Handle, Runtime};
use vector_core::prompt::ModelPrompt;

use super::answer::{Answer, Outcome, Part, Usage};
use super::capture::Capture;
use super::choose::{Choice, ChoiceError, Chosen, choose};
use super::config::{self, Action, Caps, Config};
use super::decode::Decoder;
use super::failure::Head;
use super::http::{Cancel, Http, HttpError, Notice, Reader, Waits};
use super::keys::{Credential, Keychain, Keys};
use super::request::Request;
use super::retry::Verdict;

/// What is heard while a model is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// More of its text.
    Text(String),
    /// More of its reasoning.
    Reasoning(String),
    /// Something of the way.
    Notice(Notice),
}

/// A model that can be asked.
#[derive(Debug)]
pub struct Client {
    chosen: Chosen,
    http: Http,
    waits: Waits,
    capture: Option<Capture>,
}

impl Client {
    /// A client for a model.
    ///
    /// # Errors
    /// This machine cannot ask at all.
    pub fn new(chosen: Chosen, waits: Waits, capture: Option<Capture>) -> Result<Self, HttpError> {
        let http = Http::new(&chosen.service.base_url)?;
        Ok(Self { chosen, http, waits, capture })
    }

    /// Who is asked.
    pub fn chosen(&self) -> &Chosen {
        &self.chosen
    }

    /// Its name: `PROVIDER/MODEL`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.chosen.service.name, self.chosen.model.id)
    }

    /// What is sent for the next message of a conversation.
    pub fn request(&self, prompt: &ModelPrompt) -> Request {
        Request::new(prompt, &self.chosen)
    }

    /// What an answer cost in US dollars, where that is known. What runs on this machine costs nothing.
    pub fn dollars(&self, usage: &Usage) -> Option<f64> {
        match self.chosen.model.price {
            Some(price) => Some(price.of(usage)),
            None => self.is_free().then_some(0.0),
        }
    }

    /// Whether it runs on this machine.
    pub fn is_local(&self) -> bool {
        super::choose::is_local(&self.chosen.service.base_url)
    }

    /// Whether it asks for no money: it runs on this machine, and needs no key.
    pub fn is_free(&self) -> bool {
        super::choose::is_local(&self.chosen.service.base_url)
            && self.chosen.credential == Credential::None
    }

    /// Whether it is known what it costs.
    pub fn is_priced(&self) -> bool {
        self.chosen.model.price.is_some() || self.is_free()
    }

    /// Asks, and reads the answer to its end. `hear` is told of it meanwhile.
    ///
    /// # Errors
    /// There is no answer to be read, or it was cancelled.
    pub async fn ask(
        &self,
        request: &Request,
        cancel: &Cancel,
        hear: impl FnMut(Heard) + Send,
    ) -> Result<Answer, HttpError> {
        let hear = Mutex::new(hear);
        let tell = |heard: Heard| (hear.lock().unwrap_or_else(PoisonError::into_inner))(heard);
        let capture = self.capture.as_ref().map(|capture| (capture, self.name()));
        let reader = || Reading {
            request,
            tell: &tell,
            decoder: None,
            parts: Vec::new(),
            capture: capture.clone(),
            raw: (0, Vec::new()),
        };
        let mut notice = |notice: Notice| tell(Heard::Notice(notice));
        let answered = self.http.send(request, &self.waits, cancel, reader, &mut notice).await?;
        let mut answer = Answer::of(answered.reader.parts);
        if let Some(failure) = &mut answer.end.failure {
            failure.message = request.credential.scrub(&failure.message);
        }
        Ok(answer)
    }
}

/// An answer that is being read.
struct Reading<'a, T> {
    request: &'a Request,
    tell: &'a T,
    decoder: Option<Decoder>,
    parts: Vec<Part>,
    /// Where the reply is kept, and whose it is.
    capture: Option<(&'a Capture, String)>,
    /// The status and the body, where they are kept.
    raw: (u16, Vec<u8>),
}

impl<T: Fn(Heard) + Sync> Reading<'_, T> {
    fn take(&mut self, parts: Vec<Part>) {
        for part in &parts {
            match part {
                Part::Text(text) => (self.tell)(Heard::Text(text.clone())),
                Part::Reasoning(text) => (self.tell)(Heard::Reasoning(text.clone())),
                _ => {}
            }
        }
        self.parts.extend(parts);
    }
}

impl<T: Fn(Heard) + Sync> Reader for Reading<'_, T> {
    fn head(&mut self, status: u16, headers: &[(String, String)]) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = Some(since.as_millis() as u64);
        self.raw.0 = status;
        let head = Head { status, headers: headers.to_vec(), now };
        self.decoder = Some(Decoder::new(self.request.wire, head));
    }

    fn feed(&mut self, bytes: &[u8]) -> bool {
        let Some(decoder) = &mut self.decoder else {
            return false;
        };
        if self.capture.is_some() {
            self.raw.1.extend_from_slice(bytes);
        }
        let parts = decoder.feed(bytes);
        let is_over = decoder.is_over();
        self.take(parts);
        !is_over
    }

    fn end(&mut self, cut: Option<&str>) -> Verdict {
        if let Some((capture, model)) = &self.capture {
            // Whoever looks for a fault misses a file, and nobody else is told.
            let body = self.request.credential.scrub_bytes(std::mem::take(&mut self.raw.1));
            let _ = capture.keep(model, self.raw.0, &body);
        }
        let parts = self.decoder.take().map(Decoder::finish).unwrap_or_default();
        self.take(parts);
        let Some(Part::End(end)) = self.parts.last_mut() else {
            return Verdict { retryable: true, ..Verdict::default() };
        };
        if let (Some(cut), Outcome::Incomplete, Some(failure)) =
            (cut, end.outcome, &mut end.failure)
        {
            failure.message = format!("the answer broke off: {cut}");
        }
        match &end.failure {
            Some(failure) => Verdict {
                is_ok: false,
                retryable: failure.retryable,
                retry_after: failure.retry_after,
                context_overflow: failure.context_overflow,
                reason: failure.message.clone(),
            },
            None => Verdict { is_ok: true, ..Verdict::default() },
        }
    }
}

/// The models of a task: one for each thing that it does, often the same. Connections are kept from
/// one request to the next, by the threads that belong to it.
#[derive(Debug, Clone)]
pub struct Models {
    /// Who edits, and answers.
    pub edit: Arc<Client>,
    /// Who plans.
    pub plan: Arc<Client>,
    /// What counts for all of them.
    pub config: Arc<Config>,
    threads: Arc<Threads>,
}

/// The threads that wait for answers.
#[derive(Debug)]
struct Threads {
    handle: Handle,
    runtime: Option<Runtime>,
}

impl Drop for Threads {
    fn drop(&mut self) {
        // The last to let go may be one of them, which must not wait for itself.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Models {
    /// Waits for an answer here, as [`Client::ask`] does.
    ///
    /// # Errors
    /// There is no answer to be read.
    pub fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.threads.handle.block_on(work)
    }

    /// Lets something be done meanwhile.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.threads.handle.spawn(work));
    }

    /// Whether these are the same as others, asked in the same way.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.config == other.config
            && self.edit.chosen == other.edit.chosen
            && self.plan.chosen == other.plan.chosen
    }

    /// What may be spent.
    pub fn caps(&self) -> Caps {
        self.config.caps
    }
}

/// Who answers, by the settings of a home and of a project; none is the offline planner. `said` is
/// what a person says for this run.
///
/// # Errors
/// A sentence: a setting that is wrong, or why the one who was chosen cannot be asked.
pub fn models(
    home: &Path,
    project: Option<&Path>,
    said: Option<&str>,
    env: config::Env<'_>,
    chain: &dyn Keychain,
) -> Result<Option<Models>, String> {
    models_by(home, project, said, (env, &Keys::new(env, chain)))
}

/// The same with keys that are known.
pub(super) fn models_by(
    home: &Path,
    project: Option<&Path>,
    said: Option<&str>,
    (env, keys): (config::Env<'_>, &Keys<'_>),
) -> Result<Option<Models>, String> {
    let (catalogue, config) = config::load(home, project, env)?;
    let waits = Waits::of(&config);
    let days = u64::from(config.capture_days);
    let capture = Capture::new(home, Duration::from_hours(24 * days));
    capture.expire();
    let client = |action| -> Result<Option<Client>, String> {
        let choice = choose(said, Some(action), &config, &catalogue, keys)
            .map_err(|ChoiceError(error)| error)?;
        match choice {
            Choice::Offline(_) => Ok(None),
            Choice::Model(chosen) => {
                let capture = config.capture.then(|| capture.clone());
                Client::new(*chosen, waits, capture).map(Some).map_err(|error| error.to_string())
            }
        }
    };
    let Some(edit) = client(Action::Edit)?.map(Arc::new) else {
        return Ok(None);
    };
    let plan = match client(Action::Plan)? {
        Some(plan) if plan.chosen != edit.chosen => Arc::new(plan),
        _ => Arc::clone(&edit),
    };
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).thread_name("models").enable_all().build();
    let runtime = runtime.map_err(|error| format!("no request can be sent: {error}"))?;
    let threads = Threads { handle: runtime.handle().clone(), runtime: Some(runtime) };
    Ok(Some(Models { edit, plan, config: Arc::new(config), threads: Arc::new(threads) }))
}
