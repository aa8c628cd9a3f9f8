//! Handover from a terminal to the running daemon: missing provider keys, and places to open.
//!
//! Keys are sent only to the process that holds this ledger's lock and listens on the port recorded
//! there. They are never in an argument or a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use scene_schemas::api::{KeyHandover, OpenPlaceRequest, OpenedSession, ProviderKeys, RouteId};
use vector_providers::config;
use vector_providers::keys::{CredentialSource, KeyStore, SecretKey, SystemKeychain};
use vector_providers::model_selector::key_variables;

use super::daemon_client::{DaemonClient, RouteRequest};
use super::serve::serving_port;
use super::terminal::print_status;

/// A file or project to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenTarget<'a> {
    Place(&'a Path),
    Project(&'a Path),
}

impl<'a> OpenTarget<'a> {
    /// Classifies a path: a folder or a JSON file is a project, anything else a place.
    pub(super) fn from_path(path: &'a Path) -> Self {
        let end = path.extension().and_then(|end| end.to_str());
        if path.is_dir() || matches!(end, Some("json" | "jsonc")) {
            Self::Project(path)
        } else {
            Self::Place(path)
        }
    }

    pub(super) fn to_request(self) -> anyhow::Result<OpenPlaceRequest> {
        let text = |path: &Path| -> anyhow::Result<String> {
            let path = std::path::absolute(path)
                .with_context(|| format!("{} is not a path", path.display()))?;
            let shown = path.display().to_string();
            path.into_os_string().into_string().ok().with_context(|| {
                format!(
                    "{shown} is not a UTF-8 path, so it cannot be sent to the daemon; rename it"
                )
            })
        };
        Ok(match self {
            Self::Place(path) => OpenPlaceRequest::Place { place: text(path)? },
            Self::Project(path) => OpenPlaceRequest::Project { project: text(path)? },
        })
    }
}

/// Opens a file or project in the daemon, or finds it already open.
pub(super) fn open_in_daemon(
    daemon: &DaemonClient,
    opening: OpenTarget<'_>,
) -> anyhow::Result<OpenedSession> {
    daemon.call(&RouteRequest::new(RouteId::OpenPlace).with_body(&opening.to_request()?))
}

/// The state of the provider keys in this ledger's daemon. None if no daemon is running.
pub(super) fn daemon_keys(home: &Path) -> Option<(DaemonClient, ProviderKeys)> {
    let daemon = DaemonClient::connect(home).ok()?;
    let is_ours = serving_port(home) == Some(daemon.port());
    let daemon = Some(daemon).filter(|_| is_ours)?;
    let keys = daemon.call(&RouteRequest::new(RouteId::ProviderKeys)).ok()?;
    Some((daemon, keys))
}

/// The providers that the daemon has no key for, but this terminal has, with the variables of the
/// keys.
pub(super) fn missing_keys(home: &Path, daemon: &ProviderKeys) -> Vec<(String, String)> {
    let env = |name: &str| std::env::var(name).ok();
    let Ok((catalogue, _)) = config::load_config(home, None, &env) else {
        return Vec::new();
    };
    let keys = KeyStore::new(&env, &SystemKeychain);
    let has_none = daemon.providers.iter().filter(|it| !it.is_usable);
    let services = has_none.filter_map(|it| catalogue.find_service(&it.provider));
    let found = services.filter_map(|service| match keys.find_credential(service) {
        Ok((_, CredentialSource::Variable(variable))) => Some((service.name.clone(), variable)),
        _ => None,
    });
    found.collect()
}

/// Hands over the keys that the daemon lacks, and reports which.
pub(super) fn hand_over_keys(home: &Path) {
    let Some((daemon, before)) = daemon_keys(home) else {
        return;
    };
    let lacking = missing_keys(home, &before);
    if lacking.is_empty() {
        return;
    }
    let env = |name: &str| std::env::var(name).ok();
    let Ok((catalogue, _)) = config::load_config(home, None, &env) else {
        return;
    };
    // AWS keys come with further variables, so all key variables are considered.
    let is_wanted = |name: &String| {
        name.starts_with("AWS_") || lacking.iter().any(|(_, variable)| variable == name)
    };
    let names = key_variables(&catalogue).into_iter().filter(is_wanted);
    let keys: BTreeMap<String, String> =
        names.filter_map(|name| env(&name).map(|key| (name, key))).collect();
    let after = send_keys(&daemon, keys);
    let names: Vec<&str> = lacking.iter().map(|(_, variable)| variable.as_str()).collect();
    match after {
        Ok(_) => print_status(&format!(
            "note: handed {1} over to the daemon (process {0}), which keeps it in memory until it \
             stops.",
            before.process,
            names.join(", ")
        )),
        Err(error) => print_status(&format!(
            "note: the daemon (process {}) lacks {}, and handing it over failed: {error:#}",
            before.process,
            names.join(", ")
        )),
    }
}

/// Hands over one key that the user has typed.
///
/// # Errors
/// Fails if no daemon of this ledger is running, or it does not accept the key.
pub(super) fn hand_over_key(home: &Path, variable: &str, key: &SecretKey) -> anyhow::Result<()> {
    let (daemon, _) = daemon_keys(home).context("the daemon of this ledger does not answer")?;
    let keys = BTreeMap::from([(variable.to_owned(), key.expose().to_owned())]);
    send_keys(&daemon, keys).map(drop)
}

fn send_keys(
    daemon: &DaemonClient,
    keys: BTreeMap<String, String>,
) -> anyhow::Result<ProviderKeys> {
    daemon.call(&RouteRequest::new(RouteId::HandOverKeys).with_body(&KeyHandover { keys }))
}

/// Opens places and projects in the running daemon, for a command that would have served them
/// itself.
pub(super) fn open_all(
    daemon: &DaemonClient,
    places: &[PathBuf],
    projects: &[PathBuf],
) -> anyhow::Result<Vec<OpenedSession>> {
    let places = places.iter().map(|path| OpenTarget::Place(path));
    let projects = projects.iter().map(|path| OpenTarget::Project(path));
    places.chain(projects).map(|opening| open_in_daemon(daemon, opening)).collect()
}
