//! The connection from `vector mcp` to the daemon, which may restart in between.
//!
//! A call whose answer was lost is sent again under the same name, so that it is never made twice.
//! The agent's token cannot decide proposals. The user's token is used only to open the place that
//! the command line names.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Client, Method};
use scene_schemas::api::{
    AgentCall, AgentDisconnect, AgentLog, AgentPresence, CallView, CancelCall, EmptyBody, Failure,
    FailureKind, MAX_BODY, OpenPlaceRequest, OpenedSession, ScriptPage, SessionId, Sessions,
};
use scene_schemas::entry::Seq;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::cli::background_daemon::{
    self, CONCURRENT_START_TIMEOUT, IDLE, POLL_INTERVAL, STARTUP_TIMEOUT, startup_error,
};
use crate::cli::terminal::print_status;
use crate::daemon::access::{AGENT_TOKEN, TOKEN};
use crate::failure::failure;
use crate::server::DaemonGate;

/// Longer than the daemon holds any request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(90);

/// The timeout of the request that keeps the connection registered: longer than any client runs.
const PRESENCE_TIMEOUT: Duration = Duration::from_hours(24 * 365);
/// Delay before that request is sent again after it has ended: the daemon may have restarted.
const RECONNECT_DELAY: Duration = Duration::from_secs(2);

/// The daemon at its current address.
#[derive(Debug)]
pub(super) struct RemoteDaemon {
    home: PathBuf,
    port: u16,
    open: Option<OpenPlaceRequest>,
    http: Client,
    address: Mutex<Option<DaemonAddress>>,
    /// Cancelled when the client has disconnected.
    pub(super) client_gone: CancellationToken,
}

/// A daemon's port, and the token for it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DaemonAddress {
    port: u16,
    token: String,
}

impl DaemonAddress {
    /// Parses a token file of the daemon.
    fn read_file(file: &Path) -> Option<Self> {
        let text = fs::read_to_string(file).ok()?;
        let mut fields = text.split_whitespace();
        Some(Self { port: fields.next()?.parse().ok()?, token: fields.next()?.to_owned() })
    }
}

/// The reason a request has no result.
enum RequestError {
    /// No daemon listens at the address, or another program does. Another daemon may be running.
    Unreachable(String),
    /// The daemon did not answer in time.
    TimedOut(String),
    /// The daemon understood the request and refused it.
    Refused(Failure),
}

impl RemoteDaemon {
    /// Creates a connection to the daemon of a ledger, with the place that it should open.
    pub(super) fn new(
        home: &Path,
        port: u16,
        place: Option<&Path>,
        project: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let whole = |path: &Path| -> anyhow::Result<String> {
            let path = std::path::absolute(path)
                .with_context(|| format!("{} is not a path", path.display()))?;
            path.into_os_string().into_string().map_err(|path| {
                anyhow::anyhow!("{} is not a UTF-8 path; rename it", path.display())
            })
        };
        let open = match (place, project) {
            (Some(place), _) => Some(OpenPlaceRequest::Place { place: whole(place)? }),
            (None, Some(project)) => Some(OpenPlaceRequest::Project { project: whole(project)? }),
            (None, None) => None,
        };
        // The client requires a provider although nothing is encrypted here. If one is already
        // installed, this fails, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // All requests stay on this machine, so no proxy is used. Retries are handled in this
        // module.
        let http = Client::builder()
            .no_proxy()
            .retry(reqwest::retry::never())
            .timeout(REQUEST_TIMEOUT)
            .tcp_nodelay(true)
            .build()?;
        let home = home.to_owned();
        Ok(Self {
            home,
            port,
            open,
            http,
            address: Mutex::new(None),
            client_gone: CancellationToken::new(),
        })
    }

    /// Joins the daemon, or starts one. Returns the session of the place that was named.
    pub(super) async fn join_daemon(&self) -> anyhow::Result<Option<String>> {
        let mut at = self.address.lock().await;
        let address = self.find_address().await?;
        let session = self.open_place(address.port).await?;
        *at = Some(address);
        Ok(session)
    }

    /// Finds the daemon that answers, or starts one.
    async fn find_address(&self) -> anyhow::Result<DaemonAddress> {
        let file = self.home.join(AGENT_TOKEN);
        if let Some(address) = DaemonAddress::read_file(&file)
            && self.is_answering(&address).await
        {
            return Ok(address);
        }
        let mut started = background_daemon::start_daemon(&self.home, self.port)
            .context("the daemon could not be started")?;
        let began = Instant::now();
        while began.elapsed() < STARTUP_TIMEOUT {
            // It may have ended because another daemon already serves the ledger. That one is used
            // instead.
            let has_ended = started.try_wait().is_ok_and(|ended| ended.is_some());
            if let Some(address) = DaemonAddress::read_file(&file)
                && self.is_answering(&address).await
            {
                if !has_ended {
                    print_status(&format!(
                        "note: a daemon was started in the background (process {}, port {}). It stops \
                         after {IDLE} minutes without use; `vector stop` ends it.",
                        started.id(),
                        address.port
                    ));
                }
                return Ok(address);
            }
            if has_ended && began.elapsed() > CONCURRENT_START_TIMEOUT {
                break;
            }
            sleep(POLL_INTERVAL).await;
        }
        Err(startup_error(&self.home))
    }

    async fn is_answering(&self, address: &DaemonAddress) -> bool {
        let response =
            self.send_once::<CallView>(address, Method::GET, "/api/agents/calls/0", NOTHING).await;
        // A Vector daemon refuses this request, as there is no call 0.
        matches!(response, Ok(_) | Err(RequestError::Refused(_)))
    }

    /// Opens the place that was named, and returns its session.
    async fn open_place(&self, port: u16) -> anyhow::Result<Option<String>> {
        let Some(open) = &self.open else {
            return Ok(None);
        };
        let person = DaemonAddress::read_file(&self.home.join(TOKEN)).filter(|it| it.port == port);
        let person = person.context("the daemon's token cannot be read")?;
        match self.send_once::<OpenedSession>(&person, Method::POST, "/api/open", Some(open)).await
        {
            Ok(opened) => Ok(Some(opened.session.0)),
            Err(RequestError::Refused(failure)) => bail!("{} {}", failure.message, failure.hint),
            Err(RequestError::Unreachable(why) | RequestError::TimedOut(why)) => {
                bail!("the daemon does not answer: {why}")
            }
        }
    }

    /// Reports the end of a connection. If no daemon is running, nothing is to be done.
    pub(super) async fn end_connection(&self, connection: &str) {
        let ends = AgentDisconnect { connection: connection.to_owned() };
        let at = self.address.lock().await.clone();
        if let Some(address) = at {
            let path = "/api/agents/end";
            let _ = self.send_once::<EmptyBody>(&address, Method::POST, path, Some(&ends)).await;
        }
    }

    /// Keeps the connection registered with the running daemon for as long as this is awaited. If
    /// this process ends unexpectedly, the request breaks off. Does not start a daemon.
    pub(super) async fn hold_connection(&self, connection: &str) {
        let presence = AgentPresence { connection: connection.to_owned() };
        let body = serde_json::to_vec(&presence).unwrap_or_default();
        loop {
            if let Some(DaemonAddress { port, token }) =
                DaemonAddress::read_file(&self.home.join(AGENT_TOKEN))
            {
                let url = format!("http://127.0.0.1:{port}/api/agents/presence");
                let request = self
                    .http
                    .post(url)
                    .bearer_auth(token)
                    .timeout(PRESENCE_TIMEOUT)
                    .body(body.clone());
                let _ = request.header("Content-Type", "application/json").send().await;
            }
            sleep(RECONNECT_DELAY).await;
        }
    }

    async fn send_once<T: DeserializeOwned>(
        &self,
        address: &DaemonAddress,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, RequestError> {
        let gone = |error: &dyn std::fmt::Display| RequestError::Unreachable(error.to_string());
        let url = format!("http://127.0.0.1:{}{path}", address.port);
        let mut request = self.http.request(method, url).bearer_auth(&address.token);
        if let Some(body) = body {
            let body = serde_json::to_vec(body).map_err(|error| gone(&error))?;
            if body.len() > MAX_BODY {
                return Err(RequestError::Refused(failure(
                    FailureKind::TooLarge,
                    format!("The call has {} bytes; at most {MAX_BODY} are accepted.", body.len()),
                    "The call was not made. A Roblox script has at most 200,000 characters; make a \
                     larger change in several calls.",
                )));
            }
            request = request.header("Content-Type", "application/json").body(body);
        }
        let unanswered = |error: reqwest::Error| {
            if error.is_timeout() {
                RequestError::TimedOut("timeout".to_owned())
            } else {
                gone(&error)
            }
        };
        let answer = request.send().await.map_err(unanswered)?;
        let is_fine = answer.status().is_success();
        let body = answer.bytes().await.map_err(unanswered)?;
        if is_fine {
            return serde_json::from_slice(&body).map_err(|error| gone(&error));
        }
        match serde_json::from_slice::<Failure>(&body) {
            // A restarted daemon has other tokens.
            Ok(failure) if failure.kind == FailureKind::Unauthorized => {
                Err(RequestError::Unreachable(failure.message))
            }
            Ok(failure) => Err(RequestError::Refused(failure)),
            Err(error) => Err(gone(&error)),
        }
    }

    /// Sends a request to the daemon. If that is gone, sends it to the one that is running now.
    async fn request<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, Failure> {
        let known = self.address.lock().await.clone();
        if let Some(address) = &known {
            match self.send_once(address, method.clone(), path, body).await {
                Ok(answer) => return Ok(answer),
                Err(RequestError::Refused(failure)) => return Err(failure),
                Err(RequestError::TimedOut(why)) => return Err(outcome_unknown(&why)),
                Err(RequestError::Unreachable(_)) => {}
            }
        }
        // A query does not restart a daemon that the user has stopped.
        if known.is_some() && !self.home.join(AGENT_TOKEN).exists() {
            return Err(failure(
                FailureKind::Internal,
                "Vector's daemon was stopped.",
                "Pending proposals are kept. `vector serve` starts it again, and so does the next \
                 call of a tool that works on a place.",
            ));
        }
        let address = self.reconnect(known.as_ref()).await?;
        self.send_once(&address, method, path, body).await.map_err(|unanswered| match unanswered {
            RequestError::Refused(failure) => failure,
            RequestError::Unreachable(why) | RequestError::TimedOut(why) => outcome_unknown(&why),
        })
    }

    /// Finds the current daemon, unless another task has already found it.
    async fn reconnect(&self, known: Option<&DaemonAddress>) -> Result<DaemonAddress, Failure> {
        let mut at = self.address.lock().await;
        if let Some(address) = at.as_ref()
            && Some(address) != known
        {
            return Ok(address.clone());
        }
        let found = async {
            let address = self.find_address().await?;
            self.open_place(address.port).await?;
            anyhow::Ok(address)
        };
        let address = found.await.map_err(|error| outcome_unknown(&format!("{error:#}")))?;
        *at = Some(address.clone());
        Ok(address)
    }
}

/// The error of a request that may or may not have been performed.
fn outcome_unknown(why: &str) -> Failure {
    failure(
        FailureKind::Lost,
        format!("Vector's daemon does not answer ({why})."),
        "It is not known whether the call was made. Call proposal_status without an ID before you \
         repeat it.",
    )
}

const NOTHING: Option<&EmptyBody> = None;

impl DaemonGate for RemoteDaemon {
    async fn list_sessions(&self) -> Result<Sessions, Failure> {
        self.request(Method::GET, "/api/sessions", NOTHING).await
    }

    async fn call_tool(&self, mut call: AgentCall) -> Result<CallView, Failure> {
        let path = "/api/agents/calls";
        let known = self.address.lock().await.clone();
        if let Some(address) = &known {
            match self.send_once(address, Method::POST, path, Some(&call)).await {
                Ok(view) => return Ok(view),
                Err(RequestError::Refused(failure)) => return Err(failure),
                Err(RequestError::TimedOut(why)) => return Err(outcome_unknown(&why)),
                // The call may have arrived nevertheless.
                Err(RequestError::Unreachable(_)) => call.again = true,
            }
        }
        let address = self.reconnect(known.as_ref()).await?;
        match self.send_once(&address, Method::POST, path, Some(&call)).await {
            Ok(view) => Ok(view),
            Err(RequestError::Refused(failure)) => Err(failure),
            Err(RequestError::Unreachable(why) | RequestError::TimedOut(why)) => {
                Err(outcome_unknown(&why))
            }
        }
    }

    async fn wait_for_call(&self, seq: Seq, hold: u64) -> Result<CallView, Failure> {
        let path = format!("/api/agents/calls/{seq}?hold={hold}");
        self.request(Method::GET, &path, NOTHING).await
    }

    async fn cancel_call(&self, call: CancelCall) -> Result<(), Failure> {
        self.request(Method::POST, "/api/agents/cancel", Some(&call)).await.map(|EmptyBody {}| ())
    }

    async fn read_log(&self) -> Result<AgentLog, Failure> {
        self.request(Method::GET, "/api/agents/calls", NOTHING).await
    }

    async fn list_scripts(
        &self,
        session: &SessionId,
        cursor: Option<String>,
    ) -> Result<ScriptPage, Failure> {
        let mut path = format!("/api/agents/scripts/{session}");
        if let Some(cursor) = cursor {
            let cursor = utf8_percent_encode(&cursor, NON_ALPHANUMERIC);
            path.push_str(&format!("?cursor={cursor}"));
        }
        self.request(Method::GET, &path, NOTHING).await
    }

    fn disconnect_token(&self, _connection: &str) -> CancellationToken {
        self.client_gone.clone()
    }

    fn end_connection(&self, _connection: &str) {
        // The process reports this when it ends.
    }
}
