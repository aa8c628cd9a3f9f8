//! Checks of the daemon that serves the ledger, and of the ports that it and Rojo listen on.
//!
//! They do not start a daemon.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use scene_schemas::api::{About, PROTOCOL};

use super::CheckSite;
use super::finding::DoctorFinding;
use crate::cli::daemon_client::{DaemonClient, is_vector_on};
use crate::daemon::access::TOKEN;

/// The time limit for a connection on this machine.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(300);

pub(super) fn check_daemon(site: &CheckSite) -> Vec<DoctorFinding> {
    vec![daemon_finding(site)]
}

fn daemon_finding(site: &CheckSite) -> DoctorFinding {
    if !site.home.join(TOKEN).exists() {
        return DoctorFinding::note("daemon", "not running").with_fix("vector serve");
    }
    let daemon = match DaemonClient::connect(&site.home) {
        Ok(daemon) => daemon,
        Err(error) => {
            return DoctorFinding::problem("daemon", error.to_string()).with_fix("vector serve");
        }
    };
    let port = daemon.port();
    // Checked first, so that the token is not sent to another program.
    if !is_vector_on(port) {
        let message =
            format!("not running; the previous one, on port {port}, did not shut down cleanly");
        return DoctorFinding::note("daemon", message).with_fix("vector serve");
    }
    match daemon.about() {
        Ok(about) => running_finding(&about, port),
        Err(error) => {
            let message = format!("the daemon on port {port} does not serve this ledger: {error}");
            DoctorFinding::problem("daemon", message)
                .with_fix("vector serve --port N with a free one")
        }
    }
}

fn running_finding(about: &About, port: u16) -> DoctorFinding {
    let lifetime = match about.idle {
        None => "runs until it is stopped".to_owned(),
        Some(minutes) => format!("stops after {minutes} minutes without use"),
    };
    let About { daemon, protocol, process, .. } = about;
    let message = format!("version {daemon} on port {port}, process {process}; {lifetime}");
    if daemon == env!("CARGO_PKG_VERSION") && *protocol == PROTOCOL {
        return DoctorFinding::ok("daemon", message);
    }
    let mismatch = format!("{message}; this is version {}", env!("CARGO_PKG_VERSION"));
    DoctorFinding::problem("daemon", mismatch).with_fix("vector stop, then vector serve")
}

pub(super) fn check_ports(site: &CheckSite) -> Vec<DoctorFinding> {
    vec![check_own_port(site), check_rojo_port()]
}

fn is_taken(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).is_ok()
}

fn check_own_port(site: &CheckSite) -> DoctorFinding {
    let port = site.port;
    let name = port.to_string();
    if !is_taken(port) {
        return DoctorFinding::ok(&name, "free for Vector");
    }
    let ours = DaemonClient::connect(&site.home).ok().map(|daemon| daemon.port());
    let ours = ours.filter(|port| is_vector_on(*port));
    let elsewhere = "vector serve --port N with a free one, and N in the widget's settings";
    match (is_vector_on(port), ours) {
        (true, Some(ours)) if ours == port => DoctorFinding::ok(&name, "the daemon of this ledger"),
        (true, _) => DoctorFinding::note(&name, "in use by a Vector that serves another ledger")
            .with_fix(elsewhere),
        (false, Some(ours)) => DoctorFinding::note(
            &name,
            format!("in use by another program; this ledger's daemon is on port {ours}"),
        ),
        (false, None) => DoctorFinding::problem(
            &name,
            "in use by another program, so Vector cannot listen there",
        )
        .with_fix(elsewhere),
    }
}

fn check_rojo_port() -> DoctorFinding {
    let name = vector_rojo_project::DEFAULT_PORT.to_string();
    match vector_rojo_project::find_server(vector_rojo_project::DEFAULT_PORT) {
        Some(serving) => DoctorFinding::ok(
            &name,
            format!(
                "Rojo {} syncs {}, protocol {}",
                serving.version, serving.project, serving.protocol
            ),
        ),
        None if is_taken(vector_rojo_project::DEFAULT_PORT) => {
            DoctorFinding::note(&name, "in use by a program that is not `rojo serve`")
        }
        None => DoctorFinding::ok(&name, "free for `rojo serve`"),
    }
}
