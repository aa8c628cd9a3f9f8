//! `vector sessions`: lists, grants and revokes access to the daemon.
//!
//! If a daemon serves the ledger, the daemon makes the change, so that it takes effect immediately.
//! Otherwise this command changes the files, while it holds the daemon's lock.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use scene_schemas::api::{
    Access, Failure, Grant, MadeToken, MakeToken, PORT, RevokeRequest, RevokeResult, RouteId,
};
use serde_json::json;

use super::ExitStatus;
use super::daemon_client::{DaemonClient, RouteRequest};
use super::log::format_time;
use super::serve::lock_ledger;
use super::style::{PaintKind, count_noun, terminal_line};
use super::terminal::{print_line, print_stdout, stdout_style};
use crate::daemon::access::{DaemonRun, GrantStore};

/// List who has access to the daemon; create client tokens and revoke access.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector sessions                        # open places, paired plugins, client tokens, pages
  vector sessions token claude           # a token for an MCP client that speaks HTTP
  vector sessions revoke claude
  vector sessions revoke --plugins       # every plugin has to be paired again
  vector sessions rotate                 # new tokens for the terminal and for `vector mcp`")]
pub(super) struct SessionsArgs {
    /// Print one JSON object: the sessions, the plugins, the clients and the pages
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    command: Option<SessionsCommand>,
}

#[derive(Debug, Subcommand)]
enum SessionsCommand {
    /// Create a token for an MCP client that speaks HTTP, and print it once
    Token {
        /// A name for the token
        name: String,
        /// Print one JSON object: the name, the token and the address
        #[arg(long)]
        json: bool,
    },
    /// Revoke access, effective immediately
    Revoke(RevokeArgs),
    /// Renew the tokens that the terminal and `vector mcp` use for the running daemon
    Rotate,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct RevokeArgs {
    /// Revoke access of this client, plugin or page, by its listed name
    name: Option<String>,
    /// Revoke access of all plugins
    #[arg(long)]
    plugins: bool,
    /// Revoke access of all pages in browsers
    #[arg(long)]
    pages: bool,
    /// Revoke all access, and rotate the running daemon's tokens
    #[arg(long)]
    all: bool,
}

pub(super) fn run(args: &SessionsArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    match &args.command {
        None => list_access(home, args.json)?,
        Some(SessionsCommand::Token { name, json }) => create_token(home, name, *json)?,
        Some(SessionsCommand::Revoke(revoke_args)) => revoke_access(home, revoke_args)?,
        Some(SessionsCommand::Rotate) => {
            let Some(daemon) = find_daemon(home) else {
                bail!(
                    "no daemon is running; every daemon gets new tokens when it starts: `vector \
                     serve`"
                )
            };
            let rotate = RevokeRequest::Run {};
            let request = RouteRequest::new(RouteId::RevokeAccess).with_body(&rotate);
            daemon.call::<RevokeResult>(&request)?;
            print_line(
                "The terminal and `vector mcp` have new tokens. The old tokens no longer work.",
            );
        }
    }
    Ok(ExitStatus::Done)
}

/// The owner of the grants.
enum GrantOwner {
    Daemon(DaemonClient),
    /// This process, as long as it holds the lock.
    Files {
        grants: GrantStore,
        _lock: Option<File>,
    },
}

impl GrantOwner {
    fn find_owner(home: &Path) -> anyhow::Result<Self> {
        if let Some(daemon) = find_daemon(home) {
            return Ok(Self::Daemon(daemon));
        }
        // If the folder does not exist, no access was granted and no daemon serves it.
        let lock = home.exists().then(|| lock_ledger(home)).transpose();
        let lock = lock.context("the daemon of this ledger does not answer")?;
        Ok(Self::Files { grants: read_grants(home)?, _lock: lock })
    }
}

/// The daemon that serves a ledger. None if it does not answer.
fn find_daemon(home: &Path) -> Option<DaemonClient> {
    let daemon = DaemonClient::connect(home).ok()?;
    daemon.about().is_ok().then_some(daemon)
}

/// Reads the stored grants.
pub(super) fn read_grants(home: &Path) -> anyhow::Result<GrantStore> {
    let read_error = || format!("the list of grants in {} cannot be read", home.display());
    GrantStore::load(home).with_context(read_error)
}

fn failure_error(failure: Failure) -> anyhow::Error {
    anyhow::anyhow!("{} {}", failure.message, failure.hint)
}

fn list_access(home: &Path, as_json: bool) -> anyhow::Result<()> {
    let daemon = find_daemon(home);
    let (open, access) = match &daemon {
        Some(daemon) => {
            (daemon.list_sessions()?, daemon.call(&RouteRequest::new(RouteId::Access))?)
        }
        None => (Vec::new(), read_grants(home)?.to_access()),
    };
    let Access { plugins, clients, pages } = access;
    let port = daemon.as_ref().map(DaemonClient::port);
    if as_json {
        let all = json!({ "port": port, "sessions": open, "plugins": plugins, "clients": clients,
                          "pages": pages });
        return print_stdout(&format!("{}\n", serde_json::to_string_pretty(&all)?));
    }
    let style = stdout_style();
    let mut text = style.paint(PaintKind::Bold, "Open places\n");
    for session in &open {
        let presence = if session.connected { "" } else { "  (away)" };
        let _ = writeln!(
            text,
            "  {}  {}{presence}",
            session.session,
            terminal_line(&session.place.name)
        );
    }
    match (port, open.is_empty()) {
        (None, _) => text.push_str("  no daemon is running; `vector serve` starts one\n"),
        (Some(_), true) => text.push_str("  none\n"),
        (Some(_), false) => {}
    }
    let all = [("Paired plugins", &plugins), ("Client tokens", &clients), ("Pages", &pages)];
    for (title, grants) in all {
        text.push_str(&style.paint(PaintKind::Bold, format!("{title}\n")));
        text.push_str(&grant_table(grants));
    }
    print_stdout(&text)
}

fn grant_table(grants: &[Grant]) -> String {
    let width = grants.iter().map(|grant| grant.name.len()).max().unwrap_or_default();
    let line = |grant: &Grant| {
        let made = grant.made.map_or_else(|| "some time ago".to_owned(), format_time);
        format!("  {:<width$}  {made}\n", terminal_line(&grant.name))
    };
    if grants.is_empty() { "  none\n".to_owned() } else { grants.iter().map(line).collect() }
}

fn create_token(home: &Path, name: &str, as_json: bool) -> anyhow::Result<()> {
    vector_system::create_private_folder(home)
        .with_context(|| format!("{} cannot be created", home.display()))?;
    let (made, port) = match GrantOwner::find_owner(home)? {
        GrantOwner::Daemon(daemon) => {
            let make = MakeToken { name: name.to_owned() };
            let request = RouteRequest::new(RouteId::MakeToken).with_body(&make);
            (daemon.call::<MadeToken>(&request)?, daemon.port())
        }
        GrantOwner::Files { mut grants, _lock } => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            (grants.add_client(name, now.as_millis() as u64).map_err(failure_error)?, PORT)
        }
    };
    let MadeToken { name, token } = made;
    let url = format!("http://127.0.0.1:{port}/mcp");
    if as_json {
        return print_stdout(&format!("{}\n", json!({ "name": name, "token": token, "url": url })));
    }
    print_stdout(&format!(
        "\
The token of {name}, shown only once:

    {token}

For a client that speaks MCP over HTTP, in its configuration:

    \"mcpServers\": {{
      \"vector\": {{
        \"type\": \"http\",
        \"url\": \"{url}\",
        \"headers\": {{ \"Authorization\": \"Bearer {token}\" }}
      }}
    }}

The token cannot approve anything: its proposals wait for you. To revoke it: vector sessions revoke {name}
"
    ))
}

fn revoke_access(home: &Path, args: &RevokeArgs) -> anyhow::Result<()> {
    let request = match &args.name {
        Some(name) => RevokeRequest::Named { name: name.clone() },
        None if args.plugins => RevokeRequest::Plugins {},
        None if args.pages => RevokeRequest::Pages {},
        None => RevokeRequest::All {},
    };
    let revoked: RevokeResult = match GrantOwner::find_owner(home)? {
        GrantOwner::Daemon(daemon) => {
            daemon.call(&RouteRequest::new(RouteId::RevokeAccess).with_body(&request))?
        }
        GrantOwner::Files { mut grants, _lock } => {
            let names = grants.revoke(&request).map_err(failure_error)?;
            if args.all {
                // A daemon that was killed leaves its tokens behind.
                DaemonRun::delete_tokens(home);
            }
            RevokeResult { names, sessions: Vec::new() }
        }
    };
    if revoked.names.is_empty() {
        print_line("No access was revoked.");
    } else {
        print_line(&format!("Revoked {}", revoked.names.join(", ")));
    }
    if !revoked.sessions.is_empty() {
        print_line(&format!("{} ended.", count_noun(revoked.sessions.len(), "session")));
    }
    Ok(())
}
