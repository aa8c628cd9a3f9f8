//! Sessions: an open place that says hello, pairs, and polls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::EventRecord;
use super::work::Work;
use crate::entry::Seq;

/// A Studio window with its place, as the plugin named it: the same while the place stays open, also
/// when the plugin is loaded again.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct SessionId(pub String);

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A place that is open in Studio.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenPlace {
    /// Its name, for a person.
    pub name: String,
    /// Roblox's number of it; 0 for a file that was never published.
    pub place_id: u64,
}

/// A person wants something opened, to be worked on. Opened already, it is the same session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum OpenPlaceRequest {
    /// A place or model file.
    Place {
        /// Where, from the root.
        place: String,
    },
    /// A Rojo project.
    Project {
        /// The project file, or the folder that has one, from the root.
        project: String,
    },
}

/// It is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenedSession {
    /// The session.
    pub session: SessionId,
    /// Its epoch.
    pub epoch: u64,
    /// What it is called: the file, as the ledger names it.
    pub name: String,
}

/// A person typed the code that the daemon printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairRequest {
    /// The code, six digits; blanks and dashes do not count.
    pub code: String,
}

/// The plugin is paired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairResponse {
    /// What the plugin keeps, and shows at each hello. Letters and digits.
    pub credential: String,
}

/// The plugin begins to speak, or begins anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// The wire that the plugin speaks.
    pub protocol: u32,
    /// The plugin's version.
    pub plugin: String,
    /// What it was given when it was paired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
    /// The window: letters, digits and dashes, at most 64.
    pub session: SessionId,
    /// The place.
    pub place: OpenPlace,
}

/// The daemon knows the plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Welcome {
    /// The wire that the daemon speaks.
    pub protocol: u32,
    /// The daemon's version.
    pub daemon: String,
    /// This beginning; every call carries it. A hello after this one ends it.
    pub epoch: u64,
    /// The bearer token of this session.
    pub token: String,
    /// Where the stream stands. Cursors are in steps of their own, and only go from an answer to the
    /// next request.
    pub cursor: Seq,
}

/// The plugin asks what there is to do and what has happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PollRequest {
    /// The session's epoch.
    pub epoch: u64,
    /// What has happened up to here is known.
    pub cursor: Seq,
    /// Work that the plugin has at hand, by its numbers: it is offered again, but does not answer a
    /// poll by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_hand: Vec<u64>,
    /// How long to wait where there is nothing, in seconds; at most 15.
    pub hold: u64,
}

/// What there is to do and what has happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PollResponse {
    /// Where the next poll goes on.
    pub cursor: Seq,
    /// What has happened, in order.
    pub events: Vec<EventRecord>,
    /// What there is to do, in order. It is offered at every poll until it is answered.
    pub work: Vec<Work>,
    /// What the daemon needs before anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub need: Option<SessionNeed>,
}

/// What the daemon needs from a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionNeed {
    /// The place as a whole.
    Snapshot,
}

/// An open place, as a person sees it in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionView {
    /// Which.
    pub session: SessionId,
    /// Its epoch.
    pub epoch: u64,
    /// The place.
    pub place: OpenPlace,
    /// Whether it has polled within the last 30 seconds; of a file or a project, whether it is there.
    pub connected: bool,
    /// How many instances it has; of a place in Studio, how many are mirrored.
    pub instances: u32,
    /// The version of the mirror.
    pub version: u64,
    /// The Rojo project that holds what Rojo owns of it, by its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// The open places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sessions {
    /// Each of them.
    pub sessions: Vec<SessionView>,
}
