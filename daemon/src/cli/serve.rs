//! `vector serve`: runs the daemon until it is stopped.
//!
//! A lock file ensures that one process serves a ledger. If a daemon already does, the places are
//! opened in it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use scene_schemas::api::{EmptyBody, MAX_WAIT, PORT, RouteId};
use tokio::net::TcpListener;
use vector_engine::model_request;
use vector_ledger::Ledger;
use vector_providers::config::{self, ModelConfig};
use vector_providers::model_selector::HomeModelSelector;

use super::ExitStatus;
use super::background_daemon::POLL_INTERVAL;
use super::daemon_client::{DaemonClient, RouteRequest, is_vector_daemon};
use super::handover::{hand_over_keys, open_all};
use super::open;
use super::style::count_noun;
use super::terminal::{print_line, print_status};
use crate::daemon::access::DaemonRun;
use crate::daemon::{DaemonActor, DaemonHandle};
use crate::event_hub::EventHub;
use crate::server;
use crate::tasks::forget;

/// The process that serves a ledger locks this file. It is empty: on Windows, nobody else can read a
/// locked file.
pub(super) const LOCK: &str = "serve.lock";
/// Contains the process ID and the port of the process that last locked [`LOCK`].
const LOCK_HOLDER: &str = "serve.pid";
/// The sessions of MCP clients that connect over HTTP.
const MCP_SESSIONS: &str = "mcp-sessions.json";
/// Interval for checking whether the daemon is idle.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// The time limit for a daemon to end after it was asked to.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
/// Interval for erasing expired tasks.
const DAY: Duration = Duration::from_hours(24);

#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// The port on 127.0.0.1; 0 chooses a free one
    #[arg(long, env = "VECTOR_PORT", default_value_t = PORT, value_name = "N")]
    port: u16,
    /// A place or model file to open: .rbxl, .rbxlx, .rbxm or .rbxmx; can be repeated. If a daemon
    /// is already running, it opens the file
    #[arg(long, value_name = "FILE")]
    place: Vec<PathBuf>,
    /// A Rojo project to open: its file or its folder; can be repeated
    #[arg(long, value_name = "PATH")]
    project: Vec<PathBuf>,
    /// Stop after this many minutes without a request
    #[arg(long, value_name = "MINUTES")]
    idle: Option<u64>,
    /// How long an MCP call waits for your decision before it answers `pending`, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = server::WAIT.as_secs(),
          value_parser = clap::value_parser!(u64).range(1..=MAX_WAIT))]
    wait: u64,
}

pub(super) fn run(args: &ServeArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let ledger = Arc::new(Ledger::open(home)?);
    let _lock = match try_lock(home)? {
        Ok(lock) => lock,
        Err(holder) if !args.place.is_empty() || !args.project.is_empty() => {
            return open_in_running(args, home, &holder);
        }
        Err(holder) => return Err(already_served_error(&holder)),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("the threads for the server cannot be started")?;
    // Settings that cannot be read are reported when a model is requested.
    let config = config::load_config(home, None, &|name| std::env::var(name).ok());
    let config = config.map(|(_, config)| config).unwrap_or_default();
    runtime.block_on(async {
        let listener = bind_port(args.port).await?;
        let port = listener.local_addr()?.port();
        let holder = format!("process {}, port {port}\n", std::process::id());
        vector_files::write_private(&home.join(LOCK_HOLDER), holder.as_bytes())
            .with_context(|| format!("{} cannot be written", home.join(LOCK_HOLDER).display()))?;
        let mut run = DaemonRun::new(home, port, args.idle);
        let person = run.start().context("the tokens of this run cannot be written")?;
        let event_hub = Arc::new(EventHub::new(person));
        let expiring = Arc::clone(&ledger);
        let on_message = Box::new(|text: &str| print_line(text));
        let (daemon, handle) = DaemonActor::new(home, ledger, Arc::clone(&event_hub), on_message)
            .with_context(|| format!("{} cannot be read", home.display()))?;
        let mut daemon = daemon
            .with_models(Arc::new(HomeModelSelector::new(home)))
            .with_pending_limit(config.pending_limit)
            .with_large_change(config.large_change)
            .with_run(run);
        for place in &args.place {
            daemon.open_place(place)?;
        }
        for project in &args.project {
            daemon.open_project(project)?;
        }
        print_line(&format!("Vector serves on http://127.0.0.1:{port}. Ctrl-C stops it."));
        daemon.print_code().context("the pairing code for the plugin cannot be created")?;
        let link =
            daemon.page_link().context("the address of the review page cannot be created")?;
        print_line(&format!("Review page: {}", open::page_url(port, &link)));
        std::thread::spawn(move || daemon.run());
        tokio::spawn(expire_daily(home.to_owned(), expiring));
        tokio::spawn(handle.clone().close_idle_sessions_repeatedly());
        tokio::spawn(handle.clone().poll_changes_repeatedly());
        let (kept, wait) = (home.join(MCP_SESSIONS), Duration::from_secs(args.wait));
        let ends = wait_for_end(Arc::clone(&event_hub), handle.clone(), args.idle);
        server::run(listener, event_hub, handle, &kept, wait, ends)
            .await
            .context("the server failed")
    })?;
    // Sessions sync everything they write, so they can be stopped at any time.
    runtime.shutdown_timeout(Duration::from_secs(1));
    DaemonRun::delete_tokens(home);
    print_status("Vector has stopped.");
    Ok(ExitStatus::Done)
}

/// Once a day, erases the texts of tasks that have expired according to the settings.
async fn expire_daily(home: PathBuf, ledger: Arc<Ledger>) {
    let mut daily = tokio::time::interval(DAY);
    loop {
        daily.tick().await;
        let (home, ledger) = (home.clone(), Arc::clone(&ledger));
        let work = move || {
            let env = |name: &str| std::env::var(name).ok();
            // Invalid settings are reported where they are used.
            let Ok((_, ModelConfig { forget_days: Some(days), .. })) =
                config::load_config(&home, None, &env)
            else {
                return;
            };
            match forget::expire_tasks(&ledger, days, model_request::unix_millis()) {
                Ok(0) => {}
                Ok(n) => print_line(&format!("Erased the texts of {}.", count_noun(n, "old task"))),
                Err(error) => print_status(&format!("Old tasks could not be erased: {error}")),
            }
        };
        let _ = tokio::task::spawn_blocking(work).await;
    }
}

#[derive(Debug, Args)]
pub(super) struct StopArgs {}

/// `vector stop`: stops the daemon that serves the ledger.
pub(super) fn run_stop(_args: &StopArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    request_stop(home)?;
    print_line(
        "Vector has stopped. Pending proposals are kept. The next tool call of an agent starts it \
         again.",
    );
    Ok(ExitStatus::Done)
}

fn request_stop(home: &Path) -> anyhow::Result<()> {
    let daemon = DaemonClient::connect(home)?;
    daemon.call::<EmptyBody>(&RouteRequest::new(RouteId::Stop)).map(drop)
}

/// Stops the daemon that serves a ledger, if there is one, and locks the ledger so that no other
/// starts.
pub(super) fn stop_and_lock(home: &Path) -> anyhow::Result<File> {
    if let Ok(lock) = try_lock(home)? {
        return Ok(lock);
    }
    request_stop(home)?;
    let began = Instant::now();
    loop {
        match try_lock(home)? {
            Ok(lock) => return Ok(lock),
            Err(holder) if began.elapsed() > STOP_TIMEOUT => bail!(
                "the daemon ({holder}) did not stop within {} seconds; end the process and run the \
                 command again",
                STOP_TIMEOUT.as_secs()
            ),
            Err(_) => std::thread::sleep(POLL_INTERVAL),
        }
    }
}

/// Deletes the file of a lock, and gives up the lock.
pub(super) fn delete_lock(home: &Path, lock: File) {
    let _ = fs::remove_file(home.join(LOCK));
    drop(lock);
}

/// Opens the places in the daemon that already serves the ledger.
fn open_in_running(args: &ServeArgs, home: &Path, holder: &str) -> anyhow::Result<ExitStatus> {
    let Some(daemon) = DaemonClient::wait_for_running(home)? else {
        bail!(
            "{holder} serves this ledger, but does not answer; stop it with `vector stop`, then run \
             `vector serve` again"
        );
    };
    hand_over_keys(home);
    for opened in open_all(&daemon, &args.place, &args.project)? {
        print_line(&format!(
            "{} is open in the running daemon ({holder}). To chat about it: vector chat --session \
             {}",
            opened.name, opened.session
        ));
    }
    print_line("`vector open` shows the daemon's page, and `vector stop` stops it.");
    Ok(ExitStatus::Done)
}

fn already_served_error(holder: &str) -> anyhow::Error {
    anyhow::anyhow!(
        "a daemon already serves this ledger ({holder}). `vector open` shows its page, `vector \
         serve --place FILE` opens a file in it, and `vector stop` stops it. For another ledger, \
         use --home DIR"
    )
}

/// Locks the ledger, or fails if another process serves it.
pub(super) fn lock_ledger(home: &Path) -> anyhow::Result<File> {
    try_lock(home)?.map_err(|holder| already_served_error(&holder))
}

/// The process that holds the ledger's lock, and its port, as text. None if there is none.
pub(super) fn serving_process(home: &Path) -> Option<String> {
    if !home.join(LOCK).exists() {
        return None;
    }
    try_lock(home).ok()?.err()
}

/// The port on which the process that holds the ledger's lock listens.
pub(super) fn serving_port(home: &Path) -> Option<u16> {
    serving_process(home)?.rsplit_once("port ")?.1.parse().ok()
}

/// Locks the ledger, or returns a description of the process that holds the lock.
fn try_lock(home: &Path) -> anyhow::Result<Result<File, String>> {
    let path = home.join(LOCK);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    let file = vector_system::open_private(&mut options, &path)
        .with_context(|| format!("{} cannot be opened", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(Ok(file)),
        Err(TryLockError::WouldBlock) => {
            let recorded = fs::read_to_string(home.join(LOCK_HOLDER)).unwrap_or_default();
            let holder =
                Some(recorded.trim()).filter(|who| !who.is_empty()).unwrap_or("another process");
            Ok(Err(holder.to_owned()))
        }
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("{} cannot be locked", path.display()))
        }
    }
}

async fn bind_port(port: u16) -> anyhow::Result<TcpListener> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            let occupant =
                if is_vector_daemon(port).await { "another Vector" } else { "another program" };
            bail!(
                "port {port} is in use by {occupant}; stop it, or choose another port with --port N \
                 (0 chooses a free one)"
            )
        }
        Err(error) => Err(error).with_context(|| format!("cannot listen on port {port}")),
    }
}

/// Waits for a signal, a stop request, or `idle` minutes without a request and without pending
/// proposals.
async fn wait_for_end(event_hub: Arc<EventHub>, daemon: DaemonHandle, idle: Option<u64>) {
    let unused = async {
        let Some(idle) = idle else { return std::future::pending().await };
        let idle = Duration::from_secs(idle.saturating_mul(60));
        while event_hub.idle_time() < idle || has_pending_proposals(&event_hub, &daemon).await {
            tokio::time::sleep(IDLE_CHECK_INTERVAL).await;
        }
    };
    tokio::select! {
        () = wait_for_signal() => {}
        () = event_hub.wait_for_stop() => {}
        () = unused => {}
    }
}

/// Whether a proposal in an open place waits for a decision.
async fn has_pending_proposals(event_hub: &EventHub, daemon: &DaemonHandle) -> bool {
    let waiting = daemon.list_pending().await.unwrap_or_default();
    waiting.into_iter().any(|it| event_hub.slot(&it.session).is_some())
}

/// Waits for a signal to end the process.
pub(super) async fn wait_for_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut ends) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = ends.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
