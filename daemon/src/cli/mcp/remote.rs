//! The way from `vector mcp` to the daemon, which may end and begin anew in between.
//!
//! A call is sent again under its own name where its answer was lost, so that it is never made twice.
//! The token that is sent decides nothing. The person's own is used for one thing alone: to open the
//! place that the command line names.

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

/// More than the longest that a request is held.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(90);

/// How long the request is held that says that the connection is there: as long as any client runs.
const PRESENCE_TIMEOUT: Duration = Duration::from_hours(24 * 365);
/// After how long it is sent again where it has ended: the daemon may have restarted.
const RECONNECT_DELAY: Duration = Duration::from_secs(2);

/// The daemon, wherever it is now.
#[derive(Debug)]
pub(super) struct RemoteDaemon {
    home: PathBuf,
    port: u16,
    open: Option<OpenPlaceRequest>,
    http: Client,
    address: Mutex<Option<DaemonAddress>>,
    /// Cancelled when the client has gone.
    pub(super) client_gone: CancellationToken,
}

/// Where a daemon listens, and who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DaemonAddress {
    port: u16,
    token: String,
}

impl DaemonAddress {
    /// As the daemon wrote it.
    fn read_file(file: &Path) -> Option<Self> {
        let text = fs::read_to_string(file).ok()?;
        let mut words = text.split_whitespace();
        Some(Self { port: words.next()?.parse().ok()?, token: words.next()?.to_owned() })
    }
}

/// Why a request has no answer.
enum RequestError {
    /// Nobody listens there, or somebody else does: another daemon may.
    Unreachable(String),
    /// Whoever listens there has not answered in time.
    TimedOut(String),
    /// It was understood, and refused.
    Refused(Failure),
}

impl RemoteDaemon {
    /// A way to the daemon of a ledger, with the place that is to be open there.
    pub(super) fn new(
        home: &Path,
        port: u16,
        place: Option<&Path>,
        project: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let whole = |path: &Path| -> anyhow::Result<String> {
            let path = std::path::absolute(path)
                .with_context(|| format!("{} is not a path", path.display()))?;
            path.into_os_string()
                .into_string()
                .map_err(|path| anyhow::anyhow!("{} cannot be said in JSON", path.display()))
        };
        let open = match (place, project) {
            (Some(place), _) => Some(OpenPlaceRequest::Place { place: whole(place)? }),
            (None, Some(project)) => Some(OpenPlaceRequest::Project { project: whole(project)? }),
            (None, None) => None,
        };
        // The client wants one, though nothing is encrypted here; a second one is refused, and not needed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // Everything is on this machine; a proxy has no business in it. What is sent again is decided here.
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

    /// Joins the daemon, or starts one; the session of the place that was named.
    pub(super) async fn join_daemon(&self) -> anyhow::Result<Option<String>> {
        let mut at = self.address.lock().await;
        let address = self.find_address().await?;
        let session = self.open_place(address.port).await?;
        *at = Some(address);
        Ok(session)
    }

    /// The daemon that answers now.
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
            // It may have ended because another serves, which is as good.
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
        let asked =
            self.send_once::<CallView>(address, Method::GET, "/api/agents/calls/0", NOTHING).await;
        // There is no such call, as a daemon of ours says.
        matches!(asked, Ok(_) | Err(RequestError::Refused(_)))
    }

    /// Has the place opened that was named: its session.
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

    /// Says that a connection has ended. Nobody minds where there is no daemon to be told.
    pub(super) async fn end_connection(&self, connection: &str) {
        let ends = AgentDisconnect { connection: connection.to_owned() };
        let at = self.address.lock().await.clone();
        if let Some(address) = at {
            let path = "/api/agents/end";
            let _ = self.send_once::<EmptyBody>(&address, Method::POST, path, Some(&ends)).await;
        }
    }

    /// Says that the connection is there, for as long as this is awaited, to whichever daemon runs: where
    /// this process ends without a word, its request breaks off. Starts no daemon.
    pub(super) async fn hold_connection(&self, connection: &str) {
        let presence = AgentPresence { connection: connection.to_owned() };
        let body = serde_json::to_vec(&presence).unwrap_or_default();
        loop {
            if let Some(DaemonAddress { port, token }) =
                DaemonAddress::read_file(&self.home.join(AGENT_TOKEN))
            {
                let url = format!("http://127.0.0.1:{port}/api/agents/presence");
                let held = self
                    .http
                    .post(url)
                    .bearer_auth(token)
                    .timeout(PRESENCE_TIMEOUT)
                    .body(body.clone());
                let _ = held.header("Content-Type", "application/json").send().await;
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
                    format!("The call has {} bytes, and at most {MAX_BODY} are taken.", body.len()),
                    "Nothing was called. No script of Roblox has more than 200,000 characters; make a larger \
                     change in several calls.",
                )));
            }
            request = request.header("Content-Type", "application/json").body(body);
        }
        let unanswered = |error: reqwest::Error| {
            if error.is_timeout() {
                RequestError::TimedOut("it takes too long".to_owned())
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
            // A daemon that was started anew has other tokens.
            Ok(failure) if failure.kind == FailureKind::Unauthorized => {
                Err(RequestError::Unreachable(failure.message))
            }
            Ok(failure) => Err(RequestError::Refused(failure)),
            Err(error) => Err(gone(&error)),
        }
    }

    /// Asks the daemon; where it is gone, the one that is there now.
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
        // One that a person has ended is not started again for a question.
        if known.is_some() && !self.home.join(AGENT_TOKEN).exists() {
            return Err(failure(
                FailureKind::Internal,
                "Vector's daemon was ended.",
                "What waits, waits on. `vector serve` starts it again, and so does the next call of a tool \
                 that works on a place.",
            ));
        }
        let address = self.reconnect(known.as_ref()).await?;
        self.send_once(&address, method, path, body).await.map_err(|unanswered| match unanswered {
            RequestError::Refused(failure) => failure,
            RequestError::Unreachable(why) | RequestError::TimedOut(why) => outcome_unknown(&why),
        })
    }

    /// The daemon that is there now, unless somebody else has found it meanwhile.
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

/// Nobody knows whether what was asked has been done.
fn outcome_unknown(why: &str) -> Failure {
    failure(
        FailureKind::Lost,
        format!("Vector's daemon does not answer ({why})."),
        "It is not known whether the call was made. Call proposal_status without an id before \
         you repeat it.",
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
                // It may have come there all the same.
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
        // The process says so when it ends.
    }
}
