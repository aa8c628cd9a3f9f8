//! HTTP to one daemon: finds it or starts it, sends it requests, and reads its answers.
//!
//! All requests stay on this machine and never go through a proxy.

use std::error::Error as _;
use std::iter::successors;
use std::path::Path;
use std::sync::Once;
use std::time::{Duration, Instant};

use anyhow::Context;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Method, redirect};
use scene_schemas::api::{
    self, About, CallView, Failure, FailureKind, Health, MAX_BODY, RouteId, Token,
};
use scene_schemas::entry::Seq;
use serde::de::DeserializeOwned;
use thiserror::Error;
use tokio::time::sleep;

use super::address::{DaemonAddress, TokenKind};
use super::request::{HEALTH_TIMEOUT, RouteRequest};
use crate::cli::background_daemon::{
    self, CONCURRENT_START_TIMEOUT, IDLE, POLL_INTERVAL, STARTUP_TIMEOUT, startup_error,
};
use crate::cli::terminal::print_status;
use crate::versions;

/// The maximum size of an answer to a request without a token, in bytes: any program may send it.
const MAX_HEALTH: usize = 4_096;
/// Shorter than the daemon keeps an unused connection, so that none is used that it has closed.
const CONNECTION_IDLE: Duration = Duration::from_secs(30);

/// The reason a request has no result.
#[derive(Debug, Error)]
pub(in crate::cli) enum RequestError {
    #[error(
        "the request has {bytes} bytes, and the daemon takes at most {MAX_BODY}; nothing was sent"
    )]
    TooLarge { bytes: usize },
    /// No daemon listens at the address, or another program does. Another daemon may be running.
    #[error("no answer on port {port}; restart `vector serve`: {why}")]
    Unreachable { port: u16, why: String },
    #[error(
        "no response from Vector on port {port} within {} s. The request may still complete; check its \
         result before you retry",
        limit.as_secs()
    )]
    TimedOut { port: u16, limit: Duration },
    #[error("the daemon has a different version; run `vector stop`, then `vector serve`")]
    OtherVersion(#[source] serde_json::Error),
    /// The daemon does not know the token: a restarted daemon has other tokens.
    #[error("{} {}", .0.message, .0.hint)]
    Unauthorized(Failure),
    /// The daemon understood the request and refused it.
    #[error("{} {}", .0.message, .0.hint)]
    Refused(Failure),
}

/// A daemon at its address, and whether this process started it.
#[derive(Debug, Clone)]
pub(in crate::cli) struct DaemonConnection {
    http: Client,
    address: DaemonAddress,
    /// The ID of the daemon's process, if this process started it.
    started: Option<u32>,
}

impl DaemonConnection {
    /// Finds the daemon that serves the ledger in `home`. Does not check whether it is running.
    pub(in crate::cli) fn find(home: &Path, kind: TokenKind) -> anyhow::Result<Self> {
        let address = DaemonAddress::read(home, kind)?;
        Ok(Self { http: build_http()?, address, started: None })
    }

    async fn find_running(home: &Path, kind: TokenKind) -> Option<Self> {
        let connection = Self::find(home, kind).ok()?;
        connection.is_running(kind).await.then_some(connection)
    }

    /// Whether a daemon that knows the token answers.
    async fn is_running(&self, kind: TokenKind) -> bool {
        match kind {
            TokenKind::Person => {
                self.send::<About>(&RouteRequest::new(RouteId::About)).await.is_ok()
            }
            TokenKind::Agent => {
                let request = RouteRequest::new(RouteId::CallStatus).with_id(Seq(0));
                let answer = self.send::<CallView>(&request).await;
                // There is no call 0, so the daemon refuses this request.
                matches!(answer, Ok(_) | Err(RequestError::Refused(_)))
            }
        }
    }

    /// Waits briefly for a daemon that answers: it may have been started a moment ago.
    pub(super) async fn wait_for_running(home: &Path, kind: TokenKind) -> Option<Self> {
        let began = Instant::now();
        loop {
            if let Some(connection) = Self::find_running(home, kind).await {
                return Some(connection);
            }
            if began.elapsed() > CONCURRENT_START_TIMEOUT {
                return None;
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Connects to the running daemon, or starts one in the background.
    pub(in crate::cli) async fn find_or_start(
        home: &Path,
        port: u16,
        kind: TokenKind,
    ) -> anyhow::Result<Self> {
        if let Some(connection) = Self::find_running(home, kind).await {
            return Ok(connection);
        }
        let mut child = background_daemon::start_daemon(home, port)
            .context("the daemon could not be started")?;
        let began = Instant::now();
        while began.elapsed() < STARTUP_TIMEOUT {
            // It may have ended because another daemon already serves the ledger. That one is used
            // instead.
            let has_ended = child.try_wait().is_ok_and(|status| status.is_some());
            if let Some(connection) = Self::find_running(home, kind).await {
                let started = (!has_ended).then(|| child.id());
                return Ok(Self { started, ..connection });
            }
            if has_ended && began.elapsed() > CONCURRENT_START_TIMEOUT {
                break;
            }
            sleep(POLL_INTERVAL).await;
        }
        Err(startup_error(home))
    }

    /// Tells the user that a background daemon was started, and how to stop it.
    pub(in crate::cli) fn report_start(&self) {
        if let Some(process) = self.started {
            print_status(&format!(
                "note: a daemon was started in the background (process {process}, port {}). It stops \
                 after {IDLE} minutes without use; `vector stop` stops it.",
                self.port()
            ));
        }
    }

    pub(in crate::cli) fn port(&self) -> u16 {
        self.address.port
    }

    /// Whether another connection is to the same run of the same daemon.
    pub(in crate::cli) fn is_same_run(&self, other: &Self) -> bool {
        self.address == other.address
    }

    pub(in crate::cli) async fn send<T: DeserializeOwned>(
        &self,
        request: &RouteRequest,
    ) -> Result<T, RequestError> {
        let url = format!("http://127.0.0.1:{}{}", self.port(), request.target);
        let method = match request.route.method {
            api::Method::Get => Method::GET,
            api::Method::Post => Method::POST,
            api::Method::Put => Method::PUT,
            api::Method::Delete => Method::DELETE,
        };
        let mut sending = self.http.request(method, url).timeout(request.timeout);
        let is_for_anyone = request.route.token == Token::None;
        if !is_for_anyone {
            sending = sending.bearer_auth(&self.address.token);
        }
        if let Some(body) = &request.body {
            if body.len() > MAX_BODY {
                return Err(RequestError::TooLarge { bytes: body.len() });
            }
            sending = sending.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        let lost = |error: reqwest::Error| self.lost_error(&error, request.timeout);
        let mut answer = sending.send().await.map_err(lost)?;
        let limit = if is_for_anyone { MAX_HEALTH } else { usize::MAX };
        let mut body = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(lost)? {
            body.extend_from_slice(&part);
            if body.len() > limit {
                return Err(self.foreign_error());
            }
        }
        if answer.status().is_success() {
            if request.uses_daemon() {
                self.note_version();
            }
            return serde_json::from_slice(&body).map_err(RequestError::OtherVersion);
        }
        Err(match serde_json::from_slice::<Failure>(&body) {
            Ok(failure) if failure.kind == FailureKind::Unauthorized => {
                RequestError::Unauthorized(failure)
            }
            Ok(failure) => RequestError::Refused(failure),
            Err(_) => self.foreign_error(),
        })
    }

    /// Tells the user, once in this process, that the daemon has another version.
    fn note_version(&self) {
        static NOTE: Once = Once::new();
        let hint = self.address.version.as_deref().and_then(versions::daemon_hint);
        if let Some(hint) = hint {
            NOTE.call_once(|| print_status(&format!("note: {hint}.")));
        }
    }

    fn lost_error(&self, error: &reqwest::Error, limit: Duration) -> RequestError {
        let port = self.port();
        if error.is_timeout() {
            return RequestError::TimedOut { port, limit };
        }
        // The outer errors only say that something failed.
        let cause = successors(error.source(), |&inner| inner.source()).last();
        let why = cause.map_or_else(|| error.to_string(), ToString::to_string);
        RequestError::Unreachable { port, why }
    }

    fn foreign_error(&self) -> RequestError {
        let why = "another program answered".to_owned();
        RequestError::Unreachable { port: self.port(), why }
    }
}

/// Whether the program that listens on a port of this machine is Vector. It is not sent a token.
pub(in crate::cli) async fn is_vector_daemon(port: u16) -> bool {
    let Ok(http) = build_http() else { return false };
    let address = DaemonAddress { port, token: String::new(), version: None };
    let connection = DaemonConnection { http, address, started: None };
    let request = RouteRequest::new(RouteId::Health).with_timeout(HEALTH_TIMEOUT);
    connection.send(&request).await.is_ok_and(|health: Health| health.ok)
}

fn build_http() -> anyhow::Result<Client> {
    // The client requires a provider although nothing is encrypted here. If one is already
    // installed, this fails, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .pool_idle_timeout(CONNECTION_IDLE)
        .tcp_nodelay(true)
        // Loading the system's certificates would take longer than the requests of a command.
        .tls_certs_only([])
        .build()
        .context("requests to the daemon cannot be sent")
}

#[cfg(test)]
mod tests;
