//! Sends requests, with retries. Redirects are not followed.

use std::error::Error;
use std::io::Read;
use std::time::Duration;

use bytes::Bytes;
use flate2::read::GzDecoder;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use reqwest::{Client, Method, redirect};
use tokio::time::{sleep, timeout};

use super::failure::{CloudFailure, CloudFailureKind};
use super::hidden_key::hide_key;
use super::rate_limit::retry_after;
use super::request::{
    APIS, CloudRequest, EncodedBody, MESHY, RequestMethod, RetryPolicy, StatusAdvice,
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit of an attempt, to which the time of its upload is added.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);
/// The slowest upload that is waited for, in bytes a second.
const MIN_UPLOAD_RATE: u64 = 256 << 10;
/// How often a request is sent at most.
const ATTEMPTS: u32 = 3;
/// The pause before the second attempt. It doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause that a service may ask for; the user is told to come back for a longer one.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// The size limit of an answer.
const MAX_BODY_BYTES: usize = 16 << 20;
/// The time limit of a download.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_mins(2);
/// The domains of Roblox that files may be downloaded from.
const FILE_DOMAINS: [&str; 2] = ["rbxcdn.com", "roblox.com"];
/// The server of Meshy that files may be downloaded from.
const MESHY_FILES: &str = "assets.meshy.ai";
const UPLOAD_ADVICE: &[StatusAdvice] = &[
    StatusAdvice::new(400, "The file is not the one that was announced. Start the upload again."),
    StatusAdvice::new(
        403,
        "The address to upload to is valid for 15 minutes. Start the upload again.",
    ),
    StatusAdvice::new(
        404,
        "The address to upload to is valid for 15 minutes. Start the upload again.",
    ),
];
/// The first bytes of what gzip has compressed.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A request as it is sent, once or several times.
struct SentRequest<'a> {
    host: &'a str,
    method: Method,
    address: &'a str,
    key: Option<&'a str>,
    is_key_in_body: bool,
    body: Option<EncodedBody>,
    retry: RetryPolicy,
    advice: &'static [StatusAdvice],
    time: Duration,
    max_bytes: usize,
}

/// An attempt that did not succeed.
struct FailedAttempt {
    failure: CloudFailure,
    /// Whether the service has seen nothing of it.
    is_unsent: bool,
}

/// A client for the services of Roblox and Meshy. It keeps its connections.
#[derive(Debug, Clone)]
pub struct CloudClient {
    client: Client,
    /// Where all hosts are found, each as a folder: a server for tests. None for the real ones.
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

    /// Sends a request until it is answered, or has failed for good, with a key if it needs one.
    /// Returns the body.
    ///
    /// # Errors
    /// Fails with a sentence that says what to do.
    pub async fn read(
        &self,
        request: &CloudRequest,
        key: Option<&str>,
    ) -> Result<Vec<u8>, CloudFailure> {
        let host = request.host;
        let body = request.body.encode();
        let uploaded = body.as_ref().map_or(0, |body| body.bytes.len() as u64);
        let sent = SentRequest {
            host,
            method: match request.method {
                RequestMethod::Get => Method::GET,
                RequestMethod::Post => Method::POST,
                RequestMethod::Put => Method::PUT,
                RequestMethod::Delete => Method::DELETE,
            },
            address: &self.address(host, &request.target()),
            key,
            is_key_in_body: request.is_key_in_body,
            body,
            retry: request.retry,
            advice: request.advice,
            time: ATTEMPT_TIMEOUT + Duration::from_secs(uploaded / MIN_UPLOAD_RATE),
            max_bytes: MAX_BODY_BYTES,
        };
        self.send_with_retries(&sent).await
    }

    /// Downloads a file from an address that a service of Roblox or Meshy gave, without a key. The limit is
    /// that of the file's size in bytes, also after decompression.
    ///
    /// # Errors
    /// The address is not one of Roblox's or Meshy's, or the file cannot be downloaded.
    pub async fn download(
        &self,
        location: &str,
        max_bytes: usize,
    ) -> Result<Vec<u8>, CloudFailure> {
        let parsed = reqwest::Url::parse(location).ok();
        let is_known = |host: &str| {
            let is_in = |domain: &&str| {
                host.strip_suffix(*domain)
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            };
            host == MESHY_FILES || FILE_DOMAINS.iter().any(is_in)
        };
        let parsed = parsed.filter(|url| {
            url.scheme() == "https" && url.port().is_none() && url.host_str().is_some_and(is_known)
        });
        let Some((url, host)) = parsed.as_ref().and_then(|url| Some((url, url.host_str()?))) else {
            return Err(CloudFailure::unreadable(
                APIS,
                "the file is not on a server of Roblox or Meshy",
            ));
        };
        let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
        let address = self.address(host, &format!("{}{query}", url.path()));
        let sent = SentRequest {
            host,
            method: Method::GET,
            address: &address,
            key: None,
            is_key_in_body: false,
            body: None,
            retry: RetryPolicy::Idempotent,
            advice: &[],
            time: DOWNLOAD_TIMEOUT,
            max_bytes,
        };
        let bytes = self.send_with_retries(&sent).await?;
        decompress(bytes, max_bytes).map_err(|reason| CloudFailure::unreadable(host, &reason))
    }

    /// Uploads bytes with PUT to an address that one of Roblox's services gave, without a key. An upload
    /// that fails for a moment is sent again.
    ///
    /// # Errors
    /// The address is not one of a named host by https, or the upload fails. The address, which gives the
    /// right to upload, is not in the message.
    pub async fn upload(&self, location: &str, bytes: Bytes) -> Result<(), CloudFailure> {
        let url = reqwest::Url::parse(location).ok().filter(|url| {
            url.scheme() == "https"
                && url.port().is_none()
                && url.username().is_empty()
                && url.password().is_none()
        });
        let host = url.as_ref().and_then(reqwest::Url::domain).filter(|it| it.contains('.'));
        let Some((url, host)) = url.as_ref().zip(host) else {
            return Err(CloudFailure::unreadable(APIS, "its address is not one to upload to"));
        };
        let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
        let uploaded = bytes.len() as u64;
        let sent = SentRequest {
            host,
            method: Method::PUT,
            address: &self.address(host, &format!("{}{query}", url.path())),
            key: None,
            is_key_in_body: false,
            body: Some(EncodedBody { content_type: "application/octet-stream".to_owned(), bytes }),
            retry: RetryPolicy::Idempotent,
            advice: UPLOAD_ADVICE,
            time: ATTEMPT_TIMEOUT + Duration::from_secs(uploaded / MIN_UPLOAD_RATE),
            max_bytes: MAX_BODY_BYTES,
        };
        self.send_with_retries(&sent).await.map(drop)
    }

    /// Returns where to find a path of a host, with its query.
    fn address(&self, host: &str, target: &str) -> String {
        match &self.base {
            Some(base) => format!("{base}/{host}{target}"),
            None => format!("https://{host}{target}"),
        }
    }

    async fn send_with_retries(&self, sent: &SentRequest<'_>) -> Result<Vec<u8>, CloudFailure> {
        let mut attempt = 1;
        let mut may_have_acted = false;
        loop {
            let FailedAttempt { mut failure, is_unsent } = match self.try_once(sent).await {
                Ok(body) => return Ok(body),
                Err(failed) => failed,
            };
            // What an earlier attempt may have done is not undone by the refusal of a later one.
            may_have_acted |= failure.may_have_acted && !is_unsent;
            failure.may_have_acted = may_have_acted;
            let pause = match failure.kind {
                CloudFailureKind::TooMany { retry_after: Some(after) } => after,
                _ => FIRST_PAUSE * 2_u32.pow(attempt - 1),
            };
            let may_repeat = match sent.retry {
                RetryPolicy::Idempotent => true,
                RetryPolicy::Unprocessed => {
                    is_unsent || matches!(failure.kind, CloudFailureKind::TooMany { .. })
                }
            };
            let is_last = !failure.kind.is_passing() || attempt == ATTEMPTS || pause > MAX_PAUSE;
            if is_last || !may_repeat {
                let is_open = !may_repeat && !is_unsent;
                return Err(if is_open { failure.with_retry_policy(sent.retry) } else { failure });
            }
            sleep(pause).await;
            attempt += 1;
        }
    }

    async fn try_once(&self, sent: &SentRequest<'_>) -> Result<Vec<u8>, FailedAttempt> {
        let SentRequest { host, time, max_bytes, .. } = *sent;
        let failed = |failure: CloudFailure| FailedAttempt { failure, is_unsent: false };
        let read = async {
            let lost = |error: &reqwest::Error| FailedAttempt {
                failure: CloudFailure::unreachable(host, &failure_reason(error)),
                is_unsent: error.is_connect(),
            };
            let mut request =
                self.client.request(sent.method.clone(), sent.address).header("accept", "*/*");
            if let Some(key) = sent.key.filter(|_| !sent.is_key_in_body) {
                let (name, value) = key_header(host, key)
                    .map_err(|failure| FailedAttempt { failure, is_unsent: true })?;
                request = request.header(name, value);
            }
            if let Some(body) = &sent.body {
                request = request
                    .header("content-type", &body.content_type)
                    .body(reqwest::Body::from(body.bytes.clone()));
            }
            let mut response = request.send().await.map_err(|error| lost(&error))?;
            let status = response.status();
            let retry_after = retry_after(response.headers());
            let mut body = Vec::new();
            while let Some(bytes) = response.chunk().await.map_err(|error| lost(&error))? {
                if body.len() + bytes.len() > max_bytes {
                    let reason = format!("it is longer than {} MB", max_bytes >> 20);
                    return Err(failed(CloudFailure::unreadable(host, &reason)));
                }
                body.extend_from_slice(&bytes);
            }
            // Before the message is cut: it may repeat the key, as may the answer to a success, such as
            // the error of an operation.
            let body = match sent.key {
                Some(key) => hide_key(body, key),
                None => body,
            };
            if status.is_success() {
                return Ok(body);
            }
            let status = status.as_u16();
            Err(failed(CloudFailure::from_status(host, status, retry_after, sent.advice, &body)))
        };
        let timed = timeout(time, read).await;
        timed.unwrap_or_else(|_| Err(failed(CloudFailure::from_timeout(host, time))))
    }
}

/// Returns the header in which a service expects a key.
fn key_header(host: &str, key: &str) -> Result<(HeaderName, HeaderValue), CloudFailure> {
    let (name, value) = match host {
        MESHY => (AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {key}"))),
        _ => (HeaderName::from_static("x-api-key"), HeaderValue::from_str(key)),
    };
    let mut value = value.map_err(|_| {
        CloudFailure::refused(
            "The key has characters that no key has, such as a line break. Set it again.",
        )
    })?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// Decompresses a file, if it is compressed.
fn decompress(bytes: Vec<u8>, max_bytes: usize) -> Result<Vec<u8>, String> {
    if !bytes.starts_with(&GZIP) {
        return Ok(bytes);
    }
    let mut file = Vec::new();
    let limit = max_bytes as u64 + 1;
    GzDecoder::new(bytes.as_slice())
        .take(limit)
        .read_to_end(&mut file)
        .map_err(|error| format!("the compressed file is damaged: {error}"))?;
    if file.len() > max_bytes {
        return Err(format!("it is longer than {} MB", max_bytes >> 20));
    }
    Ok(file)
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
    fn uploads_go_only_to_named_hosts_by_https() {
        let client = CloudClient::new(None).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for location in [
            "",
            "/relative",
            "http://storage.example.com/x",
            "https://127.0.0.1/x",
            "https://[::1]/x",
            "https://localhost/x",
            "https://storage.example.com:8443/x",
            "https://user@storage.example.com/x",
            "file:///etc/passwd",
        ] {
            let failure = runtime.block_on(client.upload(location, Bytes::new())).unwrap_err();
            assert!(failure.message.contains("is not one to upload to"), "{location}: {failure}");
            assert!(location.is_empty() || !failure.message.contains(location), "{failure}");
        }
    }

    #[test]
    fn files_come_only_from_known_hosts_by_https() {
        let client = CloudClient::new(Some("http://127.0.0.1:9".to_owned())).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for location in [
            "http://assets.meshy.ai/a.glb",
            "https://meshy.ai/a.glb",
            "https://evil.assets.meshy.ai/a.glb",
            "https://assets.meshy.ai.example.com/a.glb",
            "https://assets.meshy.ai:8443/a.glb",
            "https://assets.meshy.ai@example.com/a.glb",
            "https://notrbxcdn.com/a",
            "https://example.com/a",
        ] {
            let failure = runtime.block_on(client.download(location, 9)).unwrap_err();
            assert!(failure.message.contains("not on a server of"), "{location}: {failure}");
        }
    }

    #[test]
    fn key_is_of_plain_characters_and_not_printed() {
        for (host, name, text) in
            [(APIS, "x-api-key", "the-key"), (MESHY, "authorization", "Bearer the-key")]
        {
            let (header, value) = key_header(host, "the-key").unwrap();
            assert_eq!((header.as_str(), value.to_str().unwrap()), (name, text));
            assert!(!format!("{value:?}").contains("the-key"));
            let failure = key_header(host, "the\nkey").unwrap_err();
            assert!(failure.message.contains("characters that no key has"), "{failure}");
            assert!(!failure.message.contains("the\nkey"), "{failure}");
        }
    }
}
