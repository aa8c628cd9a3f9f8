//! Keychain Services on macOS, and the Credential Manager on Windows.

use keyring::v1::{Entry, Error};

use super::{Keychain, SERVICE, SecretKey, SystemKeychain};

/// Formats an error without the parts that may contain a key.
fn redact_error(error: &Error) -> String {
    match error {
        Error::BadEncoding(_) | Error::BadDataFormat(..) => "its content is not a key".to_owned(),
        error => error.to_string(),
    }
}

fn keychain_entry(provider: &str) -> Result<Entry, String> {
    if let Err(error) = Entry::store_status() {
        return Err(redact_error(error));
    }
    Entry::new(SERVICE, provider).map_err(|error| redact_error(&error))
}

impl Keychain for SystemKeychain {
    fn get(&self, provider: &str) -> Result<Option<SecretKey>, String> {
        match keychain_entry(provider)?.get_password() {
            Ok(key) => Ok(Some(SecretKey::new(&key))),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(redact_error(&error)),
        }
    }

    fn set(&self, provider: &str, key: &SecretKey) -> Result<(), String> {
        keychain_entry(provider)?.set_password(key.expose()).map_err(|error| redact_error(&error))
    }

    fn remove(&self, provider: &str) -> Result<bool, String> {
        match keychain_entry(provider)?.delete_credential() {
            Ok(()) => Ok(true),
            Err(Error::NoEntry) => Ok(false),
            Err(error) => Err(redact_error(&error)),
        }
    }
}
