//! The way to a provider and back: sent again where that helps, read as it comes, and ended at any
//! moment.
//!
//! What the bytes mean is a [`Reader`]'s business. No text of an error holds a key: what comes from
//! elsewhere is scrubbed. Redirects are not followed, for the key would go along.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, redirect};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::config::ModelConfig;
use super::model_choice::is_local;
use super::request::ModelHttpRequest;
use super::retry::{self, RetryVerdict};

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The most that is read of one answer.
const MAX_BODY_BYTES: usize = 64 << 20;

/// What a provider sent, piece by piece. Each try has a reader of its own.
pub trait ResponseReader {
    /// The status and the headers (lower-case names), before anything else.
    fn read_head(&mut self, status: u16, headers: &[(String, String)]);
    /// The next bytes of the body, split anywhere. False where no more of them matter.
    fn read_bytes(&mut self, bytes: &[u8]) -> bool;
    /// The end of the body, or why there will be no more of it.
    fn read_end(&mut self, cut: Option<&str>) -> RetryVerdict;
}

/// How long, how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitLimits {
    /// How long until an answer begins.
    pub first_byte: Duration,
    /// How long an answer that began may pause.
    pub stall: Duration,
    /// After which silences somebody is told.
    pub notice_delays: [Duration; 2],
    /// How often it is sent again.
    pub retries: u32,
    /// The first pause before that.
    pub first_pause: Duration,
}

impl WaitLimits {
    /// As the settings say.
    pub fn from_config(config: &ModelConfig) -> Self {
        Self {
            first_byte: config.first_byte_timeout,
            stall: config.stall_timeout,
            notice_delays: [Duration::from_mins(1), Duration::from_mins(2)],
            retries: config.retries,
            first_pause: retry::FIRST_PAUSE,
        }
    }
}

/// What somebody may want to be told meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpNotice {
    /// Nothing came for so long.
    Stalled(Duration),
    /// It is sent again after a pause. What was read of the last try is void.
    Retrying {
        /// Which try failed, from 1.
        attempt: u32,
        /// How long the pause is.
        delay: Duration,
        reason: String,
    },
}

/// A switch that ends a request at any moment. Its clones are one switch.
#[derive(Debug, Clone, Default)]
pub struct CancelSwitch(Arc<(AtomicBool, Notify)>);

impl CancelSwitch {
    /// A switch that is not thrown.
    pub fn new() -> Self {
        Self::default()
    }

    /// Throws it, for good.
    pub fn cancel(&self) {
        self.0.0.store(true, Ordering::SeqCst);
        self.0.1.notify_waiters();
    }

    /// Whether it was thrown.
    pub fn is_cancelled(&self) -> bool {
        self.0.0.load(Ordering::SeqCst)
    }

    /// Waits until it is thrown.
    pub async fn wait_until_cancelled(&self) {
        loop {
            let told = self.0.1.notified();
            tokio::pin!(told);
            // Before the look at the switch, so that nothing is missed between the two.
            told.as_mut().enable();
            if self.is_cancelled() {
                return;
            }
            told.await;
        }
    }
}

/// Why there is no answer to be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    #[error("it was cancelled")]
    Cancelled,
    /// The answer did not begin in time.
    #[error(
        "{host} did not begin to answer within {seconds} s; \
         `first_byte_seconds` in vector.toml is how long it may take"
    )]
    TimedOut {
        host: String,
        /// How long it had, in seconds.
        seconds: u64,
    },
    #[error("{host} was not reached: {reason}")]
    Unreachable { host: String, reason: String },
    /// It answered that it is somewhere else.
    #[error(
        "{host} answered {status} and sends elsewhere, which is not followed: the key would go along. \
         Set the provider's `base_url` in vector.toml to its current address"
    )]
    Redirected { host: String, status: u16 },
    /// This machine cannot ask at all.
    #[error("no request can be sent: {0}")]
    SetupFailed(String),
}

/// An answer that was read to its end, for better or worse.
#[derive(Debug)]
pub struct HttpAnswer<R> {
    /// Who has read it.
    pub reader: R,
    /// What became of it.
    pub verdict: RetryVerdict,
    /// How often it was asked.
    pub attempts: u32,
}

/// A client for one provider.
#[derive(Debug, Clone)]
pub struct HttpClient {
    client: Client,
    host: String,
    is_local: bool,
}

impl HttpClient {
    /// A client for the provider at this address. It keeps its connections.
    pub fn new(base_url: &str) -> Result<Self, HttpError> {
        // A second call finds it installed, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let is_local = is_local(base_url);
        let mut builder = Client::builder()
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("vector/", env!("CARGO_PKG_VERSION")));
        if is_local {
            // What runs on this machine is not asked through somebody else's.
            builder = builder.no_proxy();
        }
        if base_url.starts_with("http://") {
            // No certificates are looked for where none are used.
            builder = builder.tls_certs_only([]);
        }
        let client =
            builder.build().map_err(|error| HttpError::SetupFailed(innermost_cause(&error)))?;
        let rest = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
        // A name and a password before the host are nobody's business.
        let host = rest.split('/').next().unwrap_or_default();
        let host = host.rsplit('@').next().unwrap_or_default().to_owned();
        Ok(Self { client, host, is_local })
    }

    /// Sends a request until it is answered, or cannot be. `notice` is told what happens meanwhile.
    pub async fn send_with_retries<R: ResponseReader + Send>(
        &self,
        request: &ModelHttpRequest,
        waits: &WaitLimits,
        cancel: &CancelSwitch,
        mut reader: impl FnMut() -> R + Send,
        notice: &mut (dyn FnMut(HttpNotice) + Send),
    ) -> Result<HttpAnswer<R>, HttpError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let mut reading = reader();
            let read = self.try_once(request, waits, cancel, &mut reading, notice).await;
            let mut verdict = match &read {
                Ok(verdict) => verdict.clone(),
                Err(error) => self.error_verdict(error),
            };
            verdict.reason = request.credential.scrub_text(&verdict.reason);
            let dice = getrandom::u32().unwrap_or(u32::MAX / 2);
            let pause = retry::retry_pause(&verdict, tries, waits.retries, waits.first_pause, dice);
            let Some(after) = pause else {
                read?;
                return Ok(HttpAnswer { reader: reading, verdict, attempts: tries });
            };
            notice(HttpNotice::Retrying { attempt: tries, delay: after, reason: verdict.reason });
            tokio::select! {
                () = tokio::time::sleep(after) => {}
                () = cancel.wait_until_cancelled() => return Err(HttpError::Cancelled),
            }
        }
    }

    /// What an error of the way means for another try.
    fn error_verdict(&self, error: &HttpError) -> RetryVerdict {
        let retryable = match error {
            HttpError::TimedOut { .. } => true,
            // A server on this machine that is not there will not be there in a second.
            HttpError::Unreachable { .. } => !self.is_local,
            _ => false,
        };
        RetryVerdict {
            is_retryable: retryable,
            reason: error.to_string(),
            ..RetryVerdict::default()
        }
    }

    async fn try_once(
        &self,
        request: &ModelHttpRequest,
        waits: &WaitLimits,
        cancel: &CancelSwitch,
        reader: &mut (impl ResponseReader + Send),
        notice: &mut (dyn FnMut(HttpNotice) + Send),
    ) -> Result<RetryVerdict, HttpError> {
        if cancel.is_cancelled() {
            return Err(HttpError::Cancelled);
        }
        let sent = self.client.post(&request.url).headers(header_map(request)?);
        let sent = sent.body(request.body.clone()).send();
        let begun = wait_with_notice(sent, waits.first_byte, waits, cancel, notice).await?;
        let mut response = match begun {
            None => {
                let seconds = waits.first_byte.as_secs();
                return Err(HttpError::TimedOut { host: self.host.clone(), seconds });
            }
            Some(Err(error)) => {
                let reason = request.credential.scrub_text(&innermost_cause(&error));
                return Err(HttpError::Unreachable { host: self.host.clone(), reason });
            }
            Some(Ok(response)) => response,
        };
        let status = response.status();
        if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
            let (host, status) = (self.host.clone(), status.as_u16());
            return Err(HttpError::Redirected { host, status });
        }
        reader.read_head(status.as_u16(), &header_pairs(response.headers()));
        let cut = read_body(&mut response, waits, cancel, reader, notice).await?;
        Ok(reader.read_end(cut.as_deref()))
    }
}

/// Reads the body to its end; what comes back is why it ended too early.
async fn read_body(
    response: &mut Response,
    waits: &WaitLimits,
    cancel: &CancelSwitch,
    reader: &mut (impl ResponseReader + Send),
    notice: &mut (dyn FnMut(HttpNotice) + Send),
) -> Result<Option<String>, HttpError> {
    let mut read = 0;
    loop {
        let next = wait_with_notice(response.chunk(), waits.stall, waits, cancel, notice).await?;
        match next {
            None => {
                let seconds = waits.stall.as_secs();
                return Ok(Some(format!("nothing came for {seconds} s")));
            }
            Some(Err(error)) => {
                return Ok(Some(format!("the connection broke: {}", innermost_cause(&error))));
            }
            Some(Ok(None)) => return Ok(None),
            Some(Ok(Some(bytes))) => {
                read += bytes.len();
                if read > MAX_BODY_BYTES {
                    return Ok(Some(format!("it is longer than {} MB", MAX_BODY_BYTES >> 20)));
                }
                if !reader.read_bytes(&bytes) {
                    return Ok(None);
                }
            }
        }
    }
}

/// Waits for something, and tells of the silence; none when it took too long.
async fn wait_with_notice<T>(
    work: impl Future<Output = T>,
    most: Duration,
    waits: &WaitLimits,
    cancel: &CancelSwitch,
    notice: &mut (dyn FnMut(HttpNotice) + Send),
) -> Result<Option<T>, HttpError> {
    let begun = Instant::now();
    let end = begun + most;
    let mut notices = waits.notice_delays.into_iter().filter(|after| *after < most).peekable();
    let work = timeout_at(end, work);
    tokio::pin!(work);
    loop {
        let next = notices.peek().copied();
        tokio::select! {
            biased;
            () = cancel.wait_until_cancelled() => return Err(HttpError::Cancelled),
            done = &mut work => return Ok(done.ok()),
            () = sleep_until(begun + next.unwrap_or(most)), if next.is_some() => {
                notices.next();
                notice(HttpNotice::Stalled(next.unwrap_or(most)));
            }
        }
    }
}

/// The headers of a request; those with keys are marked, so that nobody prints them.
fn header_map(request: &ModelHttpRequest) -> Result<HeaderMap, HttpError> {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut headers = HeaderMap::new();
    for (name, value) in request.signed_headers(at) {
        let unable =
            || HttpError::SetupFailed(format!("the header {name} holds what no header may"));
        let mut value = HeaderValue::from_str(&value).map_err(|_| unable())?;
        value.set_sensitive(true);
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unable())?;
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Headers as a reader takes them.
fn header_pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

/// The innermost cause of an error: the others only say that something went wrong. No address.
fn innermost_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if error.is_timeout() && error.is_connect() {
        return format!("no connection within {} s", CONNECT_TIMEOUT.as_secs());
    }
    cause.to_string()
}

#[cfg(test)]
mod tests;
