//! `vector open`: the review page in the person's browser.

use std::path::Path;

use clap::Args;
use scene_schemas::api::{Nothing, PORT, PageLink};

use super::Exit;
use super::daemon::Daemon;
use super::terminal::{print_line, say};

/// Open the review page in your browser: see, decide and look back. A daemon is started where none serves.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector open
  vector open --print       # the address alone, for a browser of your choice

The address opens the page once, within ten minutes.")]
pub(super) struct Open {
    /// Print the address, and open no browser
    #[arg(long)]
    print: bool,
    /// The port, where the daemon is to be started
    #[arg(long, default_value_t = PORT, value_name = "N")]
    port: u16,
}

pub(super) fn run(args: &Open, home: &Path) -> anyhow::Result<Exit> {
    let daemon = Daemon::found_or_started(home, args.port)?;
    let link: PageLink = daemon.call("POST", "/api/page/link", &Nothing {})?;
    let address = address(daemon.port(), &link.code);
    if args.print {
        print_line(&address);
        return Ok(Exit::Done);
    }
    match opener::open_browser(&address) {
        Ok(()) => print_line(&format!("The page is open at http://127.0.0.1:{}.", daemon.port())),
        Err(error) => {
            say(&format!("No browser could be started ({error}); open this address yourself:"));
            print_line(&address);
        }
    }
    Ok(Exit::Done)
}

/// Where the page opens by a code. What is behind `#` stays in the browser.
pub(super) fn address(port: u16, code: &str) -> String {
    format!("http://127.0.0.1:{port}/#in={code}")
}
