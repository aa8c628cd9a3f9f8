//! `vector open`: opens the review page in the user's browser.
//!
//! It starts the daemon if necessary, hands over the keys of this terminal, and asks for a model, its
//! key and a place when it is run for the first time.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use scene_schemas::api::{PORT, PageLink, RouteId};

use super::daemon_client::{DaemonClient, RouteRequest};
use super::handover::{OpenTarget, hand_over_keys, open_in_daemon};
use super::terminal::{print_line, print_status};
use super::{ExitStatus, first_run};

/// Open the review page in your browser. Starts a daemon if none is running.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector open
  vector open game.rbxl     # opens the place in the daemon, and shows it on the page
  vector open .             # a Rojo project
  vector open --print       # prints only the address, for a browser of your choice

The first time, it asks which model answers, for its key, and which place to open.

The address works once, within ten minutes. A daemon that this command starts runs in the background
until it has been unused for 15 minutes; `vector stop` stops it. API keys of model providers that are in
this terminal's environment, and that the daemon lacks, are handed over; it keeps them in memory only.")]
pub(super) struct OpenArgs {
    /// A place or model file to open, or a Rojo project: its file or its folder
    path: Option<PathBuf>,
    /// Print the address instead of opening a browser
    #[arg(long)]
    print: bool,
    /// The port for the daemon, if it is not running yet
    #[arg(long, env = "VECTOR_PORT", default_value_t = PORT, value_name = "N")]
    port: u16,
}

pub(super) fn run(args: &OpenArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    if let Some(path) = args.path.as_deref().filter(|path| !path.exists()) {
        bail!("there is no file or folder {}", path.display());
    }
    let daemon = DaemonClient::connect_or_start(home, args.port)?;
    daemon.report_start();
    hand_over_keys(home);
    let mut answered = None;
    if !args.print && first_run::is_first_run(home) {
        answered = first_run::ask(home, &daemon, args.path.is_none())?;
    }
    let path = args.path.as_deref().or(answered.as_deref());
    let opening = path.map(OpenTarget::from_path);
    let opened = opening.map(|opening| open_in_daemon(&daemon, opening)).transpose()?;
    let link: PageLink = daemon.call(&RouteRequest::new(RouteId::PageLink))?;
    let mut address = page_url(daemon.port(), &link.code);
    if let Some(opened) = &opened {
        address = format!("{address}/{}", opened.session);
        print_status(&format!(
            "{} is open in the daemon. To chat about it: vector chat --session {}",
            opened.name, opened.session
        ));
    }
    if args.print {
        print_line(&address);
        return Ok(ExitStatus::Done);
    }
    match opener::open_browser(&address) {
        Ok(()) => print_line(&format!("The page is open at http://127.0.0.1:{}.", daemon.port())),
        Err(error) => {
            print_status(&format!(
                "No browser could be started ({error}); open this address yourself:"
            ));
            print_line(&address);
        }
    }
    Ok(ExitStatus::Done)
}

/// The URL that opens the page with a code. The part after `#` stays in the browser.
pub(super) fn page_url(port: u16, code: &str) -> String {
    format!("http://127.0.0.1:{port}/#in={code}")
}
