//! Access to the daemon: pairing codes, paired plugins, pages, and the tokens of clients.
//!
//! Apart from entering the page with a code, only a person can use these.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SessionId;

/// A new pairing code. It replaces the previous one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairingCode {
    /// The digits of the code: six, or twelve after too many wrong attempts.
    pub code: String,
    /// Validity in seconds.
    pub seconds: u64,
}

/// A new link to the page. It can be used once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageLink {
    /// The code that the page sends, from `#in=` in the link's address.
    pub code: String,
    /// Validity in seconds.
    pub seconds: u64,
}

/// A page sends the code of its link, or the digits of a pairing code, to get access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnterPage {
    /// The code. In a pairing code, spaces and dashes are ignored.
    pub code: String,
}

/// The page has access as the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnteredPage {
    /// The name under which this access can be revoked.
    pub name: String,
    /// The page's bearer token. It stays valid across restarts of the daemon until it is revoked.
    pub token: String,
}

/// The daemon that answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// The daemon's version.
    pub daemon: String,
    /// The version of the wire API that the daemon uses.
    pub protocol: u32,
    /// The daemon's process id.
    pub process: u32,
    /// Minutes without a request after which the daemon exits. None if it keeps running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<u64>,
}

/// All granted access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// The paired plugins.
    pub plugins: Vec<Grant>,
    /// The clients that have a token.
    pub clients: Vec<Grant>,
    /// The pages that a person has opened in a browser.
    pub pages: Vec<Grant>,
}

/// A plugin, client or page that has access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The name under which this access can be revoked.
    pub name: String,
    /// The time of the grant, in milliseconds since 1970-01-01 UTC. None if it was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<u64>,
}

/// A person requests a token for a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MakeToken {
    /// The client's name: 1 to 40 letters, digits, dots, dashes and underscores.
    pub name: String,
}

/// A new token. It cannot be shown again, because only its hash is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MadeToken {
    /// The client's name.
    pub name: String,
    /// The bearer token.
    pub token: String,
}

/// A person revokes access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case", deny_unknown_fields)]
pub enum RevokeRequest {
    /// Revokes the access of the client, plugin or page with this name.
    Named {
        /// The name as listed.
        name: String,
    },
    /// Revokes the access of all plugins. Each must be paired again.
    Plugins {},
    /// Revokes the access of all pages in browsers. Each must be opened again.
    Pages {},
    /// Revokes the tokens of this run of the daemon, the person's and the agents'. The daemon
    /// writes new ones to their files.
    Run {},
    /// Revokes all access.
    All {},
}

/// The revoked access.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeResult {
    /// The names of the revoked plugins, clients and pages, as they were listed.
    pub names: Vec<String>,
    /// The sessions that ended because of it.
    pub sessions: Vec<SessionId>,
}
