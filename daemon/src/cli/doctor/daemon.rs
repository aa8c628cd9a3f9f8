//! The daemon that serves the ledger, and the ports that it and Rojo listen on.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use scene_schemas::api::{About, Nothing, PROTOCOL};

use super::Site;
use super::finding::Finding;
use crate::cli::daemon::Daemon;
use crate::cli::serve::is_vector;
use crate::daemon::access::TOKEN;

/// How long somebody on this machine may take to be there.
const PATIENCE: Duration = Duration::from_millis(300);

pub(super) fn check(site: &Site) -> Vec<Finding> {
    vec![daemon(site)]
}

fn daemon(site: &Site) -> Finding {
    if !site.home.join(TOKEN).exists() {
        return Finding::note("daemon", "none runs").mended("vector serve");
    }
    let daemon = match Daemon::find(&site.home) {
        Ok(daemon) => daemon,
        Err(error) => return Finding::problem("daemon", error.to_string()).mended("vector serve"),
    };
    let port = daemon.port();
    // A token is shown to nobody else.
    if !is_vector(address(port)) {
        let says = format!("none runs; the last one, on port {port}, did not end by itself");
        return Finding::note("daemon", says).mended("vector serve");
    }
    match daemon.call::<About>("GET", "/api/about", &Nothing {}) {
        Ok(about) => running(&about, port),
        Err(error) => {
            let says = format!("what answers on port {port} is not this ledger's: {error}");
            Finding::problem("daemon", says).mended("vector serve --port N with a free one")
        }
    }
}

fn running(about: &About, port: u16) -> Finding {
    let stays = match about.idle {
        None => "stays until it is ended".to_owned(),
        Some(minutes) => format!("ends when it was not needed for {minutes} minutes"),
    };
    let About { daemon, protocol, process, .. } = about;
    let says = format!("version {daemon} runs on port {port} as process {process}, and {stays}");
    if daemon == env!("CARGO_PKG_VERSION") && *protocol == PROTOCOL {
        return Finding::ok("daemon", says);
    }
    let says = format!("{says}; this is version {}", env!("CARGO_PKG_VERSION"));
    Finding::problem("daemon", says).mended("vector stop, then vector serve")
}

pub(super) fn ports(site: &Site) -> Vec<Finding> {
    vec![own(site), rojo()]
}

fn address(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

fn is_taken(port: u16) -> bool {
    TcpStream::connect_timeout(&address(port), PATIENCE).is_ok()
}

fn own(site: &Site) -> Finding {
    let port = site.port;
    let name = port.to_string();
    if !is_taken(port) {
        return Finding::ok(&name, "free, for Vector");
    }
    let ours = Daemon::find(&site.home).ok().map(|daemon| daemon.port());
    let ours = ours.filter(|port| is_vector(address(*port)));
    let elsewhere = "vector serve --port N with a free one, and N in the widget's settings";
    match (is_vector(address(port)), ours) {
        (true, Some(ours)) if ours == port => Finding::ok(&name, "the daemon of this ledger"),
        (true, _) => Finding::note(&name, "a Vector that serves another ledger").mended(elsewhere),
        (false, Some(ours)) => {
            Finding::note(&name, format!("another program; this ledger's daemon is on {ours}"))
        }
        (false, None) => {
            Finding::problem(&name, "another program listens where Vector is to").mended(elsewhere)
        }
    }
}

fn rojo() -> Finding {
    let name = vector_rojo_project::PORT.to_string();
    match vector_rojo_project::serving(vector_rojo_project::PORT) {
        Some(serving) => Finding::ok(
            &name,
            format!(
                "Rojo {} syncs {}, by protocol {}",
                serving.version, serving.project, serving.protocol
            ),
        ),
        None if is_taken(vector_rojo_project::PORT) => {
            Finding::note(&name, "a program that is not `rojo serve`")
        }
        None => Finding::ok(&name, "free, for `rojo serve`"),
    }
}
