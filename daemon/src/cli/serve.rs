//! `vector serve`: the daemon, until somebody stops it.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use scene_schemas::api::PORT;
use tokio::net::TcpListener;

use super::Exit;
use super::terminal::{print_line, say};
use crate::engine::house::{House, random};
use crate::ledger::Ledger;
use crate::providers::client::OfHome;
use crate::server::{self, Board, Desk, Secret};

/// Who serves a ledger holds a lock on this file, which says who it is.
const LOCK: &str = "serve.lock";
/// The token of a person at this machine's terminal, for as long as the daemon runs.
pub(super) const TOKEN: &str = "token";
/// The token of the agents that this machine's user starts, for as long.
pub(super) const AGENT_TOKEN: &str = "agent-token";
/// How often it is looked whether anybody still asks.
const LOOKED: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(super) struct Serve {
    /// The port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = PORT, value_name = "N")]
    port: u16,
    /// A Rojo project to work on: its file, or its folder; may be said several times
    #[arg(long, value_name = "PATH")]
    project: Vec<PathBuf>,
    /// End when nobody has asked anything for so many minutes
    #[arg(long, value_name = "MINUTES")]
    idle: Option<u64>,
}

pub(super) fn run(args: &Serve, home: &Path) -> anyhow::Result<Exit> {
    let ledger = Arc::new(Ledger::open(home)?);
    let mut lock = lock(home)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("no threads to serve with")?;
    runtime.block_on(async {
        let listener = listen(args.port).await?;
        let port = listener.local_addr()?.port();
        lock.set_len(0)?;
        writeln!(lock, "process {}, port {port}", std::process::id())?;
        let token = random(24).context("no chance for a token")?;
        keep_token(&home.join(TOKEN), &token, port)?;
        let agent = random(24).context("no chance for a token")?;
        keep_token(&home.join(AGENT_TOKEN), &agent, port)?;
        let board = Arc::new(Board::new(Secret::of(&token)));
        board.admit(vec![Secret::of(&agent)]);
        let (desk, asks) = Desk::new();
        print_line(&format!("Vector serves on http://127.0.0.1:{port}. Ctrl-C ends it."));
        let tell = Box::new(|text: &str| print_line(text));
        let mut house = House::new(home, ledger, Arc::clone(&board), tell)
            .with_context(|| format!("{} cannot be read", home.display()))?
            .answered_by(Arc::new(OfHome::new(home)));
        for project in &args.project {
            house.open_project(project)?;
        }
        std::thread::spawn(move || house.run(asks));
        tokio::spawn(desk.clone().tidy());
        let ends = ended(Arc::clone(&board), args.idle.map(|minutes| minutes.saturating_mul(60)));
        server::run(listener, board, desk, ends).await.context("the server broke")
    })?;
    // Sessions write nothing that they have not synced.
    runtime.shutdown_timeout(Duration::from_secs(1));
    for token in [TOKEN, AGENT_TOKEN] {
        let _ = fs::remove_file(home.join(token));
    }
    say("Vector has stopped.");
    Ok(Exit::Done)
}

/// Nobody else serves this ledger.
fn lock(home: &Path) -> anyhow::Result<File> {
    let path = home.join(LOCK);
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file =
        options.open(&path).with_context(|| format!("{} cannot be opened", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let mut who = String::new();
            let _ = file.read_to_string(&mut who);
            let who = Some(who.trim()).filter(|who| !who.is_empty()).unwrap_or("another process");
            bail!(
                "this ledger is served already, by {who}; use that one, or another ledger with \
                 --home DIR"
            )
        }
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("{} cannot be locked", path.display()))
        }
    }
}

async fn listen(port: u16) -> anyhow::Result<TcpListener> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            let who = if is_vector(address) { "another Vector" } else { "another program" };
            bail!(
                "port {port} is taken by {who}; stop it, or choose another with --port N (0 takes a \
                 free one)"
            )
        }
        Err(error) => Err(error).with_context(|| format!("port {port} cannot be listened on")),
    }
}

/// Whether what listens there answers as Vector does.
fn is_vector(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<String> {
        let patience = Duration::from_millis(500);
        let mut stream = TcpStream::connect_timeout(&address, patience)?;
        stream.set_read_timeout(Some(patience))?;
        write!(stream, "GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.take(4_096).read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.ends_with("{\"ok\":true}"))
}

/// Keeps the token where this person's terminal finds it, and nobody else: in a new file, whatever stood
/// in its place, for a link would lead it elsewhere, and an old file may be open to others.
fn keep_token(path: &Path, token: &str, port: u16) -> anyhow::Result<()> {
    let keep = || -> std::io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        // Nobody but its owner can read a temporary file.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        writeln!(file, "{port} {token}")?;
        file.persist(path)?;
        Ok(())
    };
    keep().with_context(|| format!("{} cannot be written", path.display()))
}

/// Until somebody ends it, or nobody has asked anything for so many seconds.
async fn ended(board: Arc<Board>, idle: Option<u64>) {
    let unused = async {
        let Some(idle) = idle else { return std::future::pending().await };
        while board.idle() < Duration::from_secs(idle) {
            tokio::time::sleep(LOOKED).await;
        }
    };
    tokio::select! {
        () = stopped() => {}
        () = unused => {}
    }
}

/// Until somebody asks the process to end.
async fn stopped() {
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
