//! The Secret Service of Linux desktops, such as GNOME's keyring and KDE's wallet
//! (<https://specifications.freedesktop.org/secret-service>).
//!
//! Keys pass over the session bus, which the system opens to this user alone. On a machine without
//! a desktop there is no bus, or no program offers the service on it: then there is no keychain.

use std::collections::HashMap;
use std::env;
use std::path::Path;

use dbus_secret_service::{EncryptionType, Error, Item, SecretService};

use super::{Keychain, SERVICE, SecretKey, SystemKeychain};

/// The time that a user has to unlock the keychain, in seconds.
const UNLOCK_TIMEOUT: u64 = 60;
/// How often a request without a reply is made. The library waits 2 s for a reply, and a keyring
/// writes its file to a disk that may be busy.
const ATTEMPTS: usize = 3;
const CONTENT_TYPE: &str = "text/plain";

/// Whether a session bus is there. Without this check, libdbus may start one.
fn has_session_bus() -> bool {
    let is_named = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let runtime = env::var_os("XDG_RUNTIME_DIR");
    is_named("DBUS_SESSION_BUS_ADDRESS")
        || runtime.is_some_and(|folder| Path::new(&folder).join("bus").exists())
}

fn connect() -> Result<SecretService, String> {
    if !has_session_bus() {
        return Err("there is no session bus".to_owned());
    }
    with_attempts(|| {
        SecretService::connect_with_max_prompt_timeout(EncryptionType::Plain, UNLOCK_TIMEOUT)
    })
}

/// Makes a request that can be repeated without harm until it has a reply.
fn with_attempts<T>(request: impl Fn() -> Result<T, Error>) -> Result<T, String> {
    let mut reply = request();
    for _ in 1..ATTEMPTS {
        match &reply {
            Err(Error::Dbus(error))
                if error.name() == Some("org.freedesktop.DBus.Error.NoReply") =>
            {
                reply = request();
            }
            Ok(_) | Err(_) => break,
        }
    }
    reply.map_err(|error| error.to_string())
}

fn attributes(provider: &str) -> HashMap<&str, &str> {
    HashMap::from([("service", SERVICE), ("username", provider)])
}

/// The stored item of a provider, unlocked, if there is one.
fn find_item<'a>(service: &'a SecretService, provider: &str) -> Result<Option<Item<'a>>, Error> {
    let found = service.search_items(attributes(provider))?;
    let item = found.unlocked.into_iter().chain(found.locked).next();
    if let Some(item) = &item {
        item.ensure_unlocked()?;
    }
    Ok(item)
}

impl Keychain for SystemKeychain {
    fn is_available(&self) -> bool {
        connect().is_ok()
    }

    fn get(&self, provider: &str) -> Result<Option<SecretKey>, String> {
        let service = connect()?;
        let secret = with_attempts(|| {
            find_item(&service, provider)?.map(|item| item.get_secret()).transpose()
        })?;
        let text = secret.map(String::from_utf8).transpose();
        let text = text.map_err(|_| "its content is not a key".to_owned())?;
        Ok(text.map(|text| SecretKey::new(&text)))
    }

    fn set(&self, provider: &str, key: &SecretKey) -> Result<(), String> {
        let service = connect()?;
        with_attempts(|| {
            // The user is asked for a password of the new one. The collection of the session would
            // forget the key at its end.
            let collection = match service.get_default_collection() {
                Err(Error::NoResult) => service.create_collection("Default keyring", "default")?,
                found => found?,
            };
            collection.ensure_unlocked()?;
            let (label, secret) = (format!("Vector: {provider}"), key.expose().as_bytes());
            let replaces = true;
            let attributes = attributes(provider);
            collection.create_item(&label, attributes, secret, replaces, CONTENT_TYPE).map(drop)
        })
    }

    fn remove(&self, provider: &str) -> Result<bool, String> {
        let service = connect()?;
        with_attempts(|| {
            let item = find_item(&service, provider)?;
            item.as_ref().map(Item::delete).transpose().map(|deleted| deleted.is_some())
        })
    }
}
