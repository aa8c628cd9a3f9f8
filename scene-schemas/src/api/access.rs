//! Who is let in: the code that pairs a plugin, the plugins that are paired, and the clients that have
//! a token of their own. Only a person asks for these.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SessionId;

/// A code that was just made. The one before does not count any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairingCode {
    /// Six digits.
    pub code: String,
    /// How long it holds.
    pub seconds: u64,
}

/// A way to the page that was just made: it opens a page once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageLink {
    /// What the page shows, behind `#in=` of its address.
    pub code: String,
    /// How long it holds.
    pub seconds: u64,
}

/// A page that a person has opened shows a code: that of its link, or the six digits that pair a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnterPage {
    /// The code; of digits, blanks and dashes do not count.
    pub code: String,
}

/// The page is the person's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnteredPage {
    /// What it is called, to be taken back by.
    pub name: String,
    /// Its bearer token. It counts until it is taken back, also when the daemon is started anew.
    pub token: String,
}

/// The daemon that answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Its version.
    pub daemon: String,
    /// The wire that it speaks.
    pub protocol: u32,
    /// Its process.
    pub process: u32,
    /// After how many minutes in which nobody asked anything it ends; none where it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<u64>,
}

/// What was granted to whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// The plugins that are paired.
    pub plugins: Vec<Grant>,
    /// The clients that have a token of their own.
    pub clients: Vec<Grant>,
    /// The pages that a person has opened in a browser.
    pub pages: Vec<Grant>,
}

/// Something that was granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// What it is called, to be taken back by.
    pub name: String,
    /// When, in milliseconds since 1970-01-01 UTC; none where that was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<u64>,
}

/// A person wants a token for a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MakeToken {
    /// What it is to be called: 1 to 40 letters, digits, dots, dashes and underscores.
    pub name: String,
}

/// It is made. Nobody can be told it again: only its hash is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MadeToken {
    /// What it is called.
    pub name: String,
    /// The token.
    pub token: String,
}

/// A person takes access away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case", deny_unknown_fields)]
pub enum RevokeRequest {
    /// From the client, the plugin or the page of this name.
    Named {
        /// As it is listed.
        name: String,
    },
    /// From all plugins: each has to be paired again.
    Plugins {},
    /// From all pages in browsers: each has to be opened again.
    Pages {},
    /// From whoever holds the tokens of this run, the person's and the agents'. New ones are in their
    /// files.
    Run {},
    /// From everybody.
    All {},
}

/// It is taken away, and counts for nothing any more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeResult {
    /// From whom, as they were listed.
    pub names: Vec<String>,
    /// The sessions that ended by it.
    pub sessions: Vec<SessionId>,
}
