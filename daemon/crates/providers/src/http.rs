//! The HTTP transport to a provider: retries, timeouts, streaming and cancellation.
//!
//! A [`ResponseReader`] interprets the bytes. Error texts never contain a key: text from outside is
//! scrubbed. Redirects are not followed, because the key would be sent along.

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

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The size limit of an answer.
const MAX_BODY_BYTES: usize = 64 << 20;

/// Receives a provider's response piece by piece. Each attempt gets a new reader.
pub trait ResponseReader {
    /// Receives the status and the headers (lower-case names), before anything else.
    fn read_head(&mut self, status: u16, headers: &[(String, String)]);
    /// Receives the next bytes of the body, split anywhere. Returns false if no more are needed.
    fn read_bytes(&mut self, bytes: &[u8]) -> bool;
    /// Handles the end of the body. `cut` is the reason if it ended early.
    fn read_end(&mut self, cut: Option<&str>) -> RetryVerdict;
}

/// Timeouts and retries of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitLimits {
    /// How long to wait until an answer begins.
    pub first_byte: Duration,
    /// How long a started answer may pause.
    pub stall: Duration,
    /// The silences after which a notice is emitted.
    pub notice_delays: [Duration; 2],
    /// How often a failed request is retried.
    pub retries: u32,
    /// The pause before the first retry.
    pub first_pause: Duration,
}

impl WaitLimits {
    /// Takes the limits from the settings.
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

/// A notice during a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpNotice {
    /// Nothing was received for this long.
    Stalled(Duration),
    /// The request is retried after a pause. Everything read in the failed attempt is void.
    Retrying {
        /// The number of the failed attempt, from 1.
        attempt: u32,
        delay: Duration,
        reason: String,
    },
}

/// A switch that cancels a request at any moment. Clones share one switch.
#[derive(Debug, Clone, Default)]
pub struct CancelSwitch(Arc<(AtomicBool, Notify)>);

impl CancelSwitch {
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the request for good.
    pub fn cancel(&self) {
        self.0.0.store(true, Ordering::SeqCst);
        self.0.1.notify_waiters();
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.0.load(Ordering::SeqCst)
    }

    /// Waits until the switch is cancelled.
    pub async fn wait_until_cancelled(&self) {
        loop {
            let told = self.0.1.notified();
            tokio::pin!(told);
            // Register before the check, so that no notification is missed between the two.
            told.as_mut().enable();
            if self.is_cancelled() {
                return;
            }
            told.await;
        }
    }
}

/// The reason there is no answer to read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    #[error("it was cancelled")]
    Cancelled,
    #[error(
        "{host} did not begin to answer within {seconds} s; `first_byte_seconds` in vector.toml \
         sets this limit"
    )]
    TimedOut {
        host: String,
        /// The timeout, in seconds.
        seconds: u64,
    },
    #[error("{host} cannot be reached: {reason}")]
    Unreachable { host: String, reason: String },
    /// The provider answered with a redirect.
    #[error(
        "{host} answered {status}, a redirect, which Vector does not follow, because the key would \
         be sent along. Set the provider's `base_url` in vector.toml to its current address"
    )]
    Redirected { host: String, status: u16 },
    /// Requests cannot be sent from this machine, or the request is invalid.
    #[error("the request cannot be sent: {0}")]
    SetupFailed(String),
}

/// A response that was read to its end, successful or not.
#[derive(Debug)]
pub struct HttpAnswer<R> {
    /// The reader of the last attempt.
    pub reader: R,
    pub verdict: RetryVerdict,
    /// The number of attempts.
    pub attempts: u32,
}

/// An HTTP client for one provider.
#[derive(Debug, Clone)]
pub struct HttpClient {
    client: Client,
    host: String,
    is_local: bool,
}

impl HttpClient {
    /// Creates a client for the provider at `base_url`. It keeps its connections.
    pub fn new(base_url: &str) -> Result<Self, HttpError> {
        // An error means that a provider is installed already, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let is_local = is_local(base_url);
        let mut builder = Client::builder()
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("vector/", env!("CARGO_PKG_VERSION")));
        if is_local {
            // Requests to this machine must not go through a proxy.
            builder = builder.no_proxy();
        }
        if base_url.starts_with("http://") {
            // Skip loading the certificates, since they are not used.
            builder = builder.tls_certs_only([]);
        }
        let client =
            builder.build().map_err(|error| HttpError::SetupFailed(failure_reason(&error)))?;
        let rest = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
        // Leave out credentials in the URL, because the host is shown in errors.
        let host = rest.split('/').next().unwrap_or_default();
        let host = host.rsplit('@').next().unwrap_or_default().to_owned();
        Ok(Self { client, host, is_local })
    }

    /// Sends a request until it is answered or has failed for good. `notice` receives the notices
    /// meanwhile.
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

    /// Returns the verdict for a transport error.
    fn error_verdict(&self, error: &HttpError) -> RetryVerdict {
        let retryable = match error {
            HttpError::TimedOut { .. } => true,
            // A server on this machine that is not running will not be running a second later.
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
                let reason = request.credential.scrub_text(&failure_reason(&error));
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

/// Reads the body to its end. Returns the reason if it ended early.
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
                return Ok(Some(format!("no data arrived for {seconds} s")));
            }
            Some(Err(error)) => {
                return Ok(Some(format!("the connection broke: {}", failure_reason(&error))));
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

/// Awaits `work`, and emits notices of silence. None if it took longer than `timeout`.
async fn wait_with_notice<T>(
    work: impl Future<Output = T>,
    timeout: Duration,
    waits: &WaitLimits,
    cancel: &CancelSwitch,
    notice: &mut (dyn FnMut(HttpNotice) + Send),
) -> Result<Option<T>, HttpError> {
    let begun = Instant::now();
    let end = begun + timeout;
    let mut notices = waits.notice_delays.into_iter().filter(|after| *after < timeout).peekable();
    let work = timeout_at(end, work);
    tokio::pin!(work);
    loop {
        let next = notices.peek().copied();
        tokio::select! {
            biased;
            () = cancel.wait_until_cancelled() => return Err(HttpError::Cancelled),
            done = &mut work => return Ok(done.ok()),
            () = sleep_until(begun + next.unwrap_or(timeout)), if next.is_some() => {
                notices.next();
                notice(HttpNotice::Stalled(next.unwrap_or(timeout)));
            }
        }
    }
}

/// Builds the headers of a request. All values are marked as sensitive, so that they are not
/// printed in debug output.
fn header_map(request: &ModelHttpRequest) -> Result<HeaderMap, HttpError> {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut headers = HeaderMap::new();
    for (name, value) in request.signed_headers(at) {
        let unable = || {
            HttpError::SetupFailed(format!(
                "the header {name} contains characters that are not \
                                               allowed in a header"
            ))
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| unable())?;
        value.set_sensitive(true);
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unable())?;
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Converts the headers of a response for the reader.
fn header_pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

/// Says why a request failed. The text contains no URL.
fn failure_reason(error: &reqwest::Error) -> String {
    if error.is_timeout() && error.is_connect() {
        return format!("no connection within {} s", CONNECT_TIMEOUT.as_secs());
    }
    innermost_cause(error)
}

/// Returns the innermost cause of an error, since the outer ones only say that something failed.
/// The text contains no URL.
pub fn innermost_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests;
