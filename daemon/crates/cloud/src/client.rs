//! Sends requests, with retries. Redirects are not followed.

use std::error::Error;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Client, redirect};
use tokio::time::{sleep, timeout};

use super::failure::{CloudFailure, CloudFailureKind};
use super::request::CloudRequest;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit of an attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a request is sent at most.
const ATTEMPTS: u32 = 3;
/// The pause before the second attempt. It doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause that a service may ask for; the user is told to come back for a longer one.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// The size limit of an answer.
const MAX_BODY_BYTES: usize = 16 << 20;

/// A client for Roblox's services. It keeps its connections.
#[derive(Debug, Clone)]
pub struct CloudClient {
    client: Client,
    /// Where all hosts are found, each as a folder: a server for tests. None for Roblox's own.
    base: Option<String>,
}

impl CloudClient {
    /// Creates a client. With `base`, the services are those of a server at this address, with the name
    /// of the host as the first part of the path.
    ///
    /// # Errors
    /// Requests cannot be sent from this machine.
    pub fn new(base: Option<String>) -> Result<Self, CloudFailure> {
        // An error means that a provider is installed already, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("vector/", env!("CARGO_PKG_VERSION")));
        if base.as_deref().is_some_and(|it| it.starts_with("http://")) {
            // A server on this machine has no certificate, and is reached without a proxy.
            builder = builder.no_proxy().tls_certs_only([]);
        }
        let client = builder
            .build()
            .map_err(|error| CloudFailure::unreachable("roblox.com", &failure_reason(&error)))?;
        Ok(Self { client, base: base.map(|it| it.trim_end_matches('/').to_owned()) })
    }

    /// Sends a request until it is answered, or has failed for good. Returns the body.
    ///
    /// # Errors
    /// Fails with a sentence that says what to do.
    pub async fn read(&self, request: &CloudRequest) -> Result<Vec<u8>, CloudFailure> {
        let mut attempt = 1;
        loop {
            let failure = match self.try_once(request).await {
                Ok(body) => return Ok(body),
                Err(failure) => failure,
            };
            let pause = match failure.kind {
                CloudFailureKind::TooMany { retry_after: Some(after) } => after,
                _ => FIRST_PAUSE * 2_u32.pow(attempt - 1),
            };
            if !failure.kind.is_passing() || attempt == ATTEMPTS || pause > MAX_PAUSE {
                return Err(failure);
            }
            sleep(pause).await;
            attempt += 1;
        }
    }

    async fn try_once(&self, request: &CloudRequest) -> Result<Vec<u8>, CloudFailure> {
        let host = request.host;
        let address = match &self.base {
            Some(base) => format!("{base}/{host}{}", request.target()),
            None => format!("https://{host}{}", request.target()),
        };
        let read = async {
            let lost =
                |error: &reqwest::Error| CloudFailure::unreachable(host, &failure_reason(error));
            let sent = self.client.get(address).header("accept", "application/json").send();
            let mut response = sent.await.map_err(|error| lost(&error))?;
            let status = response.status();
            let retry_after = retry_after(response.headers());
            let mut body = Vec::new();
            while let Some(bytes) = response.chunk().await.map_err(|error| lost(&error))? {
                if body.len() + bytes.len() > MAX_BODY_BYTES {
                    let reason = format!("it is longer than {} MB", MAX_BODY_BYTES >> 20);
                    return Err(CloudFailure::unreadable(host, &reason));
                }
                body.extend_from_slice(&bytes);
            }
            if status.is_success() {
                return Ok(body);
            }
            Err(CloudFailure::from_status(host, status.as_u16(), retry_after, &body))
        };
        let reason = format!("it did not answer within {} s", ATTEMPT_TIMEOUT.as_secs());
        timeout(ATTEMPT_TIMEOUT, read)
            .await
            .unwrap_or_else(|_| Err(CloudFailure::unreachable(host, &reason)))
    }
}

/// Returns how long a service asks to wait: in `retry-after`, or until its limit is reset, in seconds. Of
/// several resets, the latest counts.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let seconds = |text: &str| text.trim().parse::<u32>().ok();
    let wanted = text("retry-after").and_then(seconds).or_else(|| {
        let resets = text("x-ratelimit-reset")?.split(',');
        resets.filter_map(|it| seconds(it.split(';').next().unwrap_or_default())).max()
    });
    wanted.map(|it| Duration::from_secs(it.into()))
}

/// Describes an error with its causes, without the address, which may be long.
fn failure_reason(error: &reqwest::Error) -> String {
    let mut reasons: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        reasons.push(error.to_string());
        cause = error.source();
    }
    reasons.dedup();
    if reasons.is_empty() { "the request failed".to_owned() } else { reasons.join(": ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_is_read_from_either_header() {
        let after = |pairs: &[(&'static str, &str)]| {
            let pairs = pairs.iter().map(|(name, value)| {
                (reqwest::header::HeaderName::from_static(name), value.parse().unwrap())
            });
            retry_after(&pairs.collect::<HeaderMap>()).map(|it| it.as_secs())
        };
        assert_eq!(after(&[("retry-after", "7")]), Some(7));
        assert_eq!(after(&[("x-ratelimit-reset", "3, 45")]), Some(45));
        assert_eq!(after(&[("x-ratelimit-reset", "3;w=60, 5;w=1"), ("retry-after", "2")]), Some(2));
        assert_eq!(after(&[("x-ratelimit-reset", "3;w=60, 5;w=1")]), Some(5));
        for other in ["", "soon", "-1", "Wed, 21 Oct 2026 07:28:00 GMT", "99999999999999"] {
            assert_eq!(after(&[("retry-after", other)]), None, "{other}");
        }
        assert_eq!(after(&[]), None);
    }
}
