//! The keys of model providers as a daemon has them: a person hands them over, and nobody is told one.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A person at a terminal hands over keys that the daemon lacks. It keeps them in memory until it ends.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyHandover {
    /// By the variables of the environment in which they were found.
    pub keys: BTreeMap<String, String>,
}

impl fmt::Debug for KeyHandover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.keys.keys()).finish()
    }
}

/// Which providers a daemon can ask; never a key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderKeys {
    /// The daemon's process.
    pub process: u32,
    /// Who answers where nobody is named, or why nobody does.
    pub answers: String,
    /// The providers that take a key.
    pub providers: Vec<ProviderKey>,
}

/// The key of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderKey {
    /// The provider.
    pub provider: String,
    /// Whether the daemon can ask it.
    pub is_usable: bool,
    /// Where its key is, or what is missing and what to do.
    pub says: String,
}
