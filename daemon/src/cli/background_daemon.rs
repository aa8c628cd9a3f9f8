//! A daemon that nobody started by hand: it serves in the background, and ends when nobody needs it.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use vector_ledger::private_files;

/// It ends when nobody has asked anything for so many minutes.
pub(super) const IDLE: &str = "15";
/// What it prints goes here.
const LOG_FILE: &str = "serve.log";
/// How long it may take to begin.
pub(super) const STARTUP_TIMEOUT: Duration = Duration::from_secs(20);
/// How long another that was started at the same time may take.
pub(super) const CONCURRENT_START_TIMEOUT: Duration = Duration::from_secs(2);
/// How often it is looked whether it has.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Starts one for the ledger in `home`. It outlives this process.
pub(super) fn start_daemon(home: &Path, port: u16) -> io::Result<Child> {
    private_files::create_folder(home)?;
    let mut log = File::options();
    // Several may be started at once, and all but one end at once.
    private_files::private_options(log.append(true).create(true));
    let log = log.open(home.join(LOG_FILE))?;
    let mut serve = Command::new(std::env::current_exe()?);
    serve.arg("--home").arg(home).args(["serve", "--idle", IDLE, "--port"]).arg(port.to_string());
    serve.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut serve, 0);
    #[cfg(windows)]
    {
        /// Without a window, and without this one's console.
        const DETACHED: u32 = 0x0000_0008 | 0x0800_0000;
        std::os::windows::process::CommandExt::creation_flags(&mut serve, DETACHED);
    }
    serve.spawn()
}

/// Why one that was started does not answer, as far as it says.
pub(super) fn startup_error(home: &Path) -> anyhow::Error {
    let log = fs::read_to_string(home.join(LOG_FILE)).unwrap_or_default();
    match log.lines().rev().find(|line| line.starts_with("error")) {
        Some(error) => anyhow::anyhow!("the daemon could not be started; it says: {error}"),
        None => anyhow::anyhow!(
            "the daemon did not answer within {} seconds; start it with `vector serve` and look what it \
             says",
            STARTUP_TIMEOUT.as_secs()
        ),
    }
}
