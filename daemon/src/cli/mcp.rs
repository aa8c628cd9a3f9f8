//! `vector mcp`: MCP over stdio, for the client that starts it.
//!
//! The daemon provides the tools. This process speaks the protocol and forwards the calls. It joins
//! the daemon that serves the ledger, or starts one that ends when it is no longer used. This
//! module handles restarts of the daemon during a call, so that the client does not notice them.

mod remote;

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use rmcp::ServiceExt;
use rmcp::transport::stdio;
use scene_schemas::api::{MAX_WAIT, PORT};
use tokio::io::{AsyncRead, ReadBuf, Stdin};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use self::remote::RemoteDaemon;
use super::ExitStatus;
use super::serve::wait_for_signal;
use crate::server::{McpAgent, WAIT, random_id};

/// The time limit for notifying the daemon that the client has disconnected.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(super) struct McpArgs {
    /// Work on this place or model file, which need not be open in Studio
    #[arg(long, value_name = "FILE", conflicts_with = "project")]
    place: Option<PathBuf>,
    /// Work on this Rojo project: its file or its folder
    #[arg(long, value_name = "PATH")]
    project: Option<PathBuf>,
    /// How long a call waits for your decision before it answers `pending`, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = WAIT.as_secs(),
          value_parser = clap::value_parser!(u64).range(1..=MAX_WAIT))]
    wait: u64,
    /// The port for the daemon, if it is not running yet
    #[arg(long, env = "VECTOR_PORT", default_value_t = PORT, value_name = "N")]
    port: u16,
}

pub(super) fn run(args: &McpArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("the threads for the server cannot be started")?;
    let served = runtime.block_on(serve_stdio(args, home));
    // A blocking read of stdin cannot be cancelled, so do not wait for it.
    runtime.shutdown_background();
    served.map(|()| ExitStatus::Done)
}

async fn serve_stdio(args: &McpArgs, home: &Path) -> anyhow::Result<()> {
    let remote =
        RemoteDaemon::new(home, args.port, args.place.as_deref(), args.project.as_deref())?;
    let remote = Arc::new(remote);
    // Report problems with the named place now, not at the first call.
    let session = remote.join_daemon().await?;
    let connection = random_id().map_err(|failure| anyhow::anyhow!(failure.message))?;
    let agent = McpAgent::new(Arc::clone(&remote), Duration::from_secs(args.wait))
        .with_session(session)
        .with_connection(connection.clone());
    let presence = {
        let (remote, connection) = (Arc::clone(&remote), connection.clone());
        tokio::spawn(async move { remote.hold_connection(&connection).await })
    };
    let (input, output) = stdio();
    let input = WatchedInput { input, end_of_input: remote.client_gone.clone() };
    let served = async {
        // A client that disconnects before it sends anything is not an error.
        if let Ok(running) = agent.serve((input, output)).await {
            let _ = running.waiting().await;
        }
    };
    // A call withdraws its proposal if its request is dropped while the client is connected. So
    // mark the client as gone before anything is dropped.
    let signalled = async {
        wait_for_signal().await;
        remote.client_gone.cancel();
    };
    tokio::select! {
        () = served => remote.client_gone.cancel(),
        () = signalled => {}
    }
    // A busy daemon notices the disconnect by the broken connection.
    let _ = timeout(DISCONNECT_TIMEOUT, remote.end_connection(&connection)).await;
    presence.abort();
    Ok(())
}

/// The client's input, which signals its end. Calls that wait for the user then stop waiting, so
/// that calls that only read are still answered and nothing is withdrawn.
struct WatchedInput {
    input: Stdin,
    end_of_input: CancellationToken,
}

impl AsyncRead for WatchedInput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut task::Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.input).poll_read(cx, buffer);
        let is_end =
            matches!(&read, Poll::Ready(it) if it.is_err() || buffer.filled().len() == before);
        if is_end {
            self.end_of_input.cancel();
        }
        read
    }
}
