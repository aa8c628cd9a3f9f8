//! The background daemon: starts one that no user has started by hand, and that ends when it is no
//! longer used.
//!
//! This module does not talk to the daemon.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The daemon ends after this many minutes without a request.
pub(super) const IDLE: &str = "15";
/// The file that receives the daemon's output.
const LOG_FILE: &str = "serve.log";
/// The time limit for the daemon to start.
pub(super) const STARTUP_TIMEOUT: Duration = Duration::from_secs(20);
/// The time limit for another daemon that was started at the same time.
pub(super) const CONCURRENT_START_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval for checking whether the daemon answers.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Starts a daemon for the ledger in `home`. It outlives this process.
pub(super) fn start_daemon(home: &Path, port: u16) -> io::Result<Child> {
    vector_system::create_private_folder(home)?;
    let mut log = File::options();
    // Several daemons may be started at the same time. All but one end immediately.
    let log = vector_system::open_private(log.append(true).create(true), &home.join(LOG_FILE))?;
    let mut serve = Command::new(std::env::current_exe()?);
    serve.arg("--home").arg(home).args(["serve", "--idle", IDLE, "--port"]).arg(port.to_string());
    serve.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    vector_system::detach(&mut serve);
    serve.spawn()
}

/// The reason a started daemon does not answer, taken from its log if there is one.
pub(super) fn startup_error(home: &Path) -> anyhow::Error {
    let log = fs::read_to_string(home.join(LOG_FILE)).unwrap_or_default();
    match log.lines().rev().find(|line| line.starts_with("error")) {
        Some(error) => anyhow::anyhow!("the daemon could not be started: {error}"),
        None => anyhow::anyhow!(
            "the daemon did not answer within {} seconds; run `vector serve` to see its output",
            STARTUP_TIMEOUT.as_secs()
        ),
    }
}
