//! The keys of model providers: handing them to a daemon, and their status.
//!
//! The daemon never returns a key.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A person at a terminal passes keys that the daemon lacks. The daemon keeps them in memory until
/// it exits.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyHandover {
    /// The keys, by the environment variables that hold them.
    pub keys: BTreeMap<String, String>,
}

impl fmt::Debug for KeyHandover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.keys.keys()).finish()
    }
}

/// The providers that the daemon can use. Never contains a key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderKeys {
    /// The daemon's process id.
    pub process: u32,
    /// The provider or model used by default, or the reason there is none.
    pub answers: String,
    /// The providers that take a key.
    pub providers: Vec<ProviderKey>,
}

/// The status of a provider's key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderKey {
    /// The provider.
    pub provider: String,
    /// Whether the daemon can use the provider.
    pub is_usable: bool,
    /// The location of the key, or what is missing and what to do about it.
    pub says: String,
}
