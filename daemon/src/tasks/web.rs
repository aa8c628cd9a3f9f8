//! A reader of web pages for a model: only from public addresses, with limits on time and size.
//!
//! A page that the model has read may have influenced the request, and this machine is inside a
//! network that pages must not reach. So addresses are checked when they are connected to, not
//! where they are written: literal ones before each request, resolved ones in the resolver, and a
//! redirect is a new request. There are no cookies, no keys, and no proxy, which would resolve
//! names itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, LOCATION};
use reqwest::{Client, Response, Url, redirect};
use tokio::time::timeout;
use vector_core::page::{self, TextPage};
use vector_providers::http::{CancelSwitch, innermost_cause};

/// The time limit of a fetch, including redirects.
const FETCH_TIMEOUT: Duration = Duration::from_secs(20);
const MAX_REDIRECTS: usize = 5;
/// The maximum number of bytes read from a body.
const MAX_BODY: usize = 2 << 20;
/// The maximum size of the text that a model receives, in bytes.
const MAX_TEXT: usize = 48 << 10;

/// The addresses that may be requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressPolicy {
    /// Public ones, on ports 80 and 443.
    Public,
    /// Also this machine, on any port: for tests.
    PublicAndLoopback,
}

impl AddressPolicy {
    /// The reason an address may not be requested. None if it may.
    fn block_reason(self, ip: IpAddr) -> Option<&'static str> {
        let is_let_through = self == Self::PublicAndLoopback && ip.to_canonical().is_loopback();
        if is_let_through { None } else { non_public_reason(ip) }
    }
}

/// Resolves a host name to addresses.
pub type NameLookup = Arc<dyn Fn(String) -> LookupResult + Send + Sync>;
/// The pending result of a [`NameLookup`].
pub type LookupResult = Pin<Box<dyn Future<Output = std::io::Result<Vec<IpAddr>>> + Send>>;

/// The reason a page cannot be read, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebError {
    /// The address is not valid.
    #[error(
        "{address:?} cannot be read: {why}. Give a whole address such as https://example.com/page"
    )]
    Address {
        /// The requested address, or the target of a redirect.
        address: String,
        why: String,
    },
    /// The address leads into a network that is not public.
    #[error(
        "{host} is {what}, not a public address, and is not asked. Let the person paste the text"
    )]
    NotPublic {
        host: String,
        /// A description of the address.
        what: &'static str,
    },
    #[error(
        "{host} was not reached: {why}. Look whether the address is right, or ask another page"
    )]
    Unreachable { host: String, why: String },
    #[error("{host} did not answer within {seconds} s. Try again, or use another page")]
    Slow {
        /// The host of the first request.
        host: String,
        /// The time limit, in seconds.
        seconds: u64,
    },
    #[error("{address} redirects more than {MAX_REDIRECTS} times. Ask the page that it leads to")]
    Redirects { address: String },
    /// The response has an error status.
    #[error("{address} answered {status}. Look whether the address is right, or ask another page")]
    Status {
        /// The address that answered.
        address: String,
        status: u16,
    },
    /// The response is not text.
    #[error("{address} is {what}, and only text can be read. Ask a page about it")]
    NotText {
        /// The address that answered.
        address: String,
        what: String,
    },
    #[error("it was cancelled")]
    Cancelled,
    /// This machine cannot send requests at all.
    #[error("no page can be read: {0}")]
    Unable(String),
}

/// A page, and the address it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedPage {
    /// The address that answered, after all redirects.
    pub address: String,
    pub page: TextPage,
}

impl FetchedPage {
    /// The text for a model, fenced as data.
    pub fn fenced_text(&self) -> String {
        page::fence_page(&self.address, &self.page)
    }
}

/// Reads a page on this thread and returns its text, fenced as data.
///
/// # Errors
/// A sentence that says what to do instead.
pub fn read_page(address: &str, cancel: &CancelSwitch) -> Result<String, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("No page can be read: {error}."))?;
    let fetched = PageReader::new(AddressPolicy::Public)
        .and_then(|web| runtime.block_on(web.fetch_page(address, cancel)))
        .map_err(|error| error.to_string())?;
    Ok(fetched.fenced_text())
}

#[derive(Debug, Clone)]
pub struct PageReader {
    client: Client,
    policy: AddressPolicy,
    timeout: Duration,
}

impl PageReader {
    /// Creates a reader that uses the system's resolver.
    pub fn new(policy: AddressPolicy) -> Result<Self, WebError> {
        Self::with_lookup(policy, Arc::new(|name| Box::pin(system_lookup(name))), FETCH_TIMEOUT)
    }

    /// Creates a reader with its own resolver and time limit per page.
    pub fn with_lookup(
        policy: AddressPolicy,
        lookup: NameLookup,
        time: Duration,
    ) -> Result<Self, WebError> {
        // Fails if a provider is already installed, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .dns_resolver(Arc::new(CheckedResolver { policy, lookup }))
            // Connections are not reused for the next page.
            .pool_max_idle_per_host(0)
            .user_agent(concat!("vector/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| WebError::Unable(innermost_cause(&error)))?;
        Ok(Self { client, policy, timeout: time })
    }

    /// Reads a page. The request is a GET without a body, so it changes nothing.
    ///
    /// # Errors
    /// The reason the page cannot be read, and what to do instead.
    pub async fn fetch_page(
        &self,
        address: &str,
        cancel: &CancelSwitch,
    ) -> Result<FetchedPage, WebError> {
        let url = self.parse_address(address, None)?;
        let host = host_name(&url);
        let work = timeout(self.timeout, self.follow_redirects(url));
        tokio::select! {
            biased;
            () = cancel.wait_until_cancelled() => Err(WebError::Cancelled),
            done = work => done.unwrap_or(Err(WebError::Slow { host, seconds: self.timeout.as_secs() })),
        }
    }

    async fn follow_redirects(&self, first: Url) -> Result<FetchedPage, WebError> {
        let mut url = first.clone();
        for _ in 0..=MAX_REDIRECTS {
            let request = self.client.get(url.clone());
            let pending = request.header(ACCEPT, "text/html, text/plain;q=0.9, */*;q=0.1").send();
            let response = pending.await.map_err(|error| request_error(&url, &error))?;
            let status = response.status();
            if matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
                let next = header_text(response.headers(), &LOCATION);
                url = self.parse_address(&next, Some(&url))?;
                continue;
            }
            if !status.is_success() {
                return Err(WebError::Status { address: url.into(), status: status.as_u16() });
            }
            return read_body(url, response).await;
        }
        Err(WebError::Redirects { address: first.into() })
    }

    /// Parses an address, relative to the page that links to it, and checks that it may be
    /// requested.
    fn parse_address(&self, address: &str, from: Option<&Url>) -> Result<Url, WebError> {
        let address_error = |why: String| {
            let shortened = address[..address.floor_char_boundary(200)].to_owned();
            WebError::Address { address: shortened, why }
        };
        let parsed = match from {
            Some(from) => from.join(address.trim()),
            None => Url::parse(address.trim()),
        };
        let url = parsed.map_err(|error| address_error(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(address_error(format!("{}: is neither http: nor https:", url.scheme())));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(WebError::Address {
                address: url.host_str().unwrap_or_default().to_owned(),
                why: "it contains a name or password, which is never sent".to_owned(),
            });
        }
        let name = host_name(&url);
        let literal = name.trim_matches(['[', ']']).parse::<IpAddr>().ok();
        if let Some(what) = literal.and_then(|ip| self.policy.block_reason(ip)) {
            return Err(WebError::NotPublic { host: name, what });
        }
        let port = url.port_or_known_default().unwrap_or_default();
        if self.policy == AddressPolicy::Public && !matches!(port, 80 | 443) {
            return Err(address_error(format!("port {port} is neither 80 nor 443")));
        }
        Ok(url)
    }
}

/// A resolver that returns only allowed addresses. The client connects to exactly these.
struct CheckedResolver {
    policy: AddressPolicy,
    lookup: NameLookup,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, host) = (self.policy, name.as_str().to_owned());
        let found = (self.lookup)(host.clone());
        Box::pin(async move {
            let found = found.await?;
            let refused = found.iter().find_map(|ip| policy.block_reason(*ip));
            let let_through: Vec<SocketAddr> = found
                .into_iter()
                .filter(|ip| policy.block_reason(*ip).is_none())
                .map(|ip| SocketAddr::new(ip, 0))
                .collect();
            match refused {
                Some(what) if let_through.is_empty() => {
                    Err(WebError::NotPublic { host, what }.into())
                }
                _ => Ok(Box::new(let_through.into_iter()) as Addrs),
            }
        })
    }
}

async fn system_lookup(name: String) -> std::io::Result<Vec<IpAddr>> {
    let found = tokio::net::lookup_host((name, 0)).await?;
    Ok(found.map(|address| address.ip()).collect())
}

/// Reads the body of a response, up to [`MAX_BODY`].
async fn read_body(url: Url, mut response: Response) -> Result<FetchedPage, WebError> {
    let not_text = |what: String| WebError::NotText { address: url.to_string(), what };
    let encoding = header_text(response.headers(), &CONTENT_ENCODING);
    if !matches!(encoding.as_str(), "" | "identity") {
        return Err(not_text(format!("packed as {encoding}")));
    }
    let kind = header_text(response.headers(), &CONTENT_TYPE).to_ascii_lowercase();
    let (kind, rest) = kind.split_once(';').unwrap_or((&kind, ""));
    let kind = kind.trim();
    if !is_text_type(kind) {
        return Err(not_text(kind.to_owned()));
    }
    let mut body: Vec<u8> = Vec::new();
    let mut is_cut = false;
    while let Some(bytes) = response.chunk().await.map_err(|error| request_error(&url, &error))? {
        let remaining = MAX_BODY - body.len();
        body.extend_from_slice(&bytes[..bytes.len().min(remaining)]);
        if bytes.len() > remaining {
            is_cut = true;
            break;
        }
    }
    if body[..body.len().min(1024)].contains(&0) {
        return Err(not_text("binary".to_owned()));
    }
    let text = decode_body(&body, rest);
    let is_page = matches!(kind, "text/html" | "application/xhtml+xml");
    let mut page =
        if is_page { page::read_html(&text, MAX_TEXT) } else { page::read_plain(&text, MAX_TEXT) };
    page.is_cut |= is_cut;
    Ok(FetchedPage { address: url.into(), page })
}

/// Decodes a body: as Latin-1 if its type says so, otherwise as UTF-8.
fn decode_body(body: &[u8], parameters: &str) -> String {
    let charset = parameters.split(';').find_map(|it| it.trim().strip_prefix("charset="));
    let charset = charset.unwrap_or_default().trim_matches(['"', '\'', ' ']);
    match charset {
        "iso-8859-1" | "latin1" | "windows-1252" | "us-ascii" => {
            body.iter().copied().map(char::from).collect()
        }
        _ => String::from_utf8_lossy(body).into_owned(),
    }
}

fn is_text_type(kind: &str) -> bool {
    const OTHERS: [&str; 8] = [
        "",
        "application/json",
        "application/xml",
        "application/javascript",
        "application/yaml",
        "application/toml",
        "application/x-ndjson",
        "application/x-yaml",
    ];
    let is_spelled =
        kind.starts_with("application/") && (kind.ends_with("+json") || kind.ends_with("+xml"));
    kind.starts_with("text/") || is_spelled || OTHERS.contains(&kind)
}

fn header_text(headers: &HeaderMap, name: &HeaderName) -> String {
    let value = headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    value.unwrap_or_default().trim().to_owned()
}

fn host_name(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

/// The error of a failed request: the resolver's refusal, if that is the cause.
fn request_error(url: &Url, error: &reqwest::Error) -> WebError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(inner) = cause {
        if let Some(refused) = inner.downcast_ref::<WebError>() {
            return refused.clone();
        }
        cause = inner.source();
    }
    WebError::Unreachable { host: host_name(url), why: innermost_cause(error) }
}

/// Describes an address that is not public, following IANA's registries of special-purpose
/// addresses (2026). An address that embeds another one counts as not public, because its
/// translator is not known here.
fn non_public_reason(ip: IpAddr) -> Option<&'static str> {
    match ip.to_canonical() {
        IpAddr::V4(ip) => non_public_v4_reason(ip),
        IpAddr::V6(ip) => non_public_v6_reason(ip),
    }
}

fn non_public_v4_reason(ip: Ipv4Addr) -> Option<&'static str> {
    Some(match ip.octets() {
        [127, ..] => "this machine",
        [0, ..] => "no address",
        [10, ..] | [192, 168, ..] | [172, 16..=31, ..] => "in a private network",
        [100, 64..=127, ..] => "in a carrier's network",
        [169, 254, ..] => "link-local, where clouds keep their keys",
        [192, 88, 99, _] => "a 6to4 relay",
        [224..=239, ..] => "multicast",
        [192, 0, 0 | 2, _]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [240..=255, ..] => "reserved",
        _ => return None,
    })
}

fn non_public_v6_reason(ip: Ipv6Addr) -> Option<&'static str> {
    Some(match ip.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => "this machine",
        [0x64, 0xff9b, ..] => "an IPv4 address behind NAT64",
        [0x2002, ..] => "an IPv4 address behind 6to4",
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => "reserved",
        [0x2000..=0x3fff, ..] => return None,
        [0xfc00..=0xfdff, ..] => "in a private network",
        [0xfe80..=0xfebf, ..] => "link-local",
        [0xff00..=0xffff, ..] => "multicast",
        _ => "reserved",
    })
}

#[cfg(test)]
mod tests;
