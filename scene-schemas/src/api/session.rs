//! Sessions: how an open place pairs with the daemon, says hello and polls.
//!
//! A session is a Studio window, a place file or a Rojo project.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::EventRecord;
use super::work::Work;
use crate::command::Target;
use crate::entry::Seq;

/// The id of a session. For a Studio window, the plugin chooses it. It stays the same while the
/// place is open, even if the plugin is reloaded.
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
    /// The place's name, for display.
    pub name: String,
    /// The place's id on Roblox. 0 for a file that was never published.
    pub place_id: u64,
}

/// A person opens a place file or a project for work. If it is open already, the response is the
/// existing session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum OpenPlaceRequest {
    /// A place or model file.
    Place {
        /// Absolute path of the file.
        place: String,
    },
    /// A Rojo project.
    Project {
        /// Absolute path of the project file, or of the folder that contains it.
        project: String,
    },
}

/// A place or project was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenedSession {
    /// The session.
    pub session: SessionId,
    /// The session's epoch.
    pub epoch: u64,
    /// The file's name, as recorded in the ledger.
    pub name: String,
}

/// A person entered the pairing code that the daemon printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairRequest {
    /// The digits of the code. Spaces and dashes are ignored.
    pub code: String,
}

/// The plugin is paired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairResponse {
    /// The credential that the plugin stores and sends with each hello. Letters and digits.
    pub credential: String,
}

/// The plugin starts or restarts a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// The version of the wire API that the plugin uses.
    pub protocol: u32,
    /// The plugin's version.
    pub plugin: String,
    /// The credential from pairing. None if the plugin is not paired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
    /// The session id of the window: letters, digits and dashes, at most 64.
    pub session: SessionId,
    /// The place that is open in the window.
    pub place: OpenPlace,
}

/// The daemon accepted a hello.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Welcome {
    /// The version of the wire API that the daemon uses.
    pub protocol: u32,
    /// The daemon's version.
    pub daemon: String,
    /// If the plugin has another version: what the person does about it, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<String>,
    /// The epoch that this hello started. Every later request carries it. The next hello ends it.
    pub epoch: u64,
    /// The bearer token of this session.
    pub token: String,
    /// The stream's current cursor. Cursors count in their own steps. Use one only as the starting
    /// point of the next request.
    pub cursor: Seq,
}

/// The plugin polls for work and events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PollRequest {
    /// The session's epoch.
    pub epoch: u64,
    /// The cursor up to which the plugin knows the events.
    pub cursor: Seq,
    /// Numbers of the work that the plugin already has. The response leaves this work out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_work: Vec<u64>,
    /// Maximum time to wait if there is nothing to report, in seconds, at most 15.
    pub hold: u64,
    /// What happened in the plugin since its last poll that was answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<PluginEvent>,
}

/// Something that happened in the plugin, for bug reports. Without names and texts of the place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PluginEvent {
    /// Milliseconds since the plugin was loaded.
    pub at: u64,
    /// What happened, such as `hello` or `request failed`.
    pub what: String,
    /// More about it: kinds, counts and durations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The latest events of a plugin, at most 500, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PluginLog {
    /// The events.
    pub events: Vec<PluginEvent>,
}

/// Work and events for the plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PollResponse {
    /// The cursor for the next poll.
    pub cursor: Seq,
    /// The events since the last poll, in order.
    pub events: Vec<EventRecord>,
    /// Work for the plugin, in order. Every response repeats it until it is answered, except for
    /// the work in `at_hand`.
    pub work: Vec<Work>,
    /// What the daemon needs before anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub need: Option<SessionNeed>,
}

/// A need of the daemon that a session must meet first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionNeed {
    /// A snapshot of the whole place.
    Snapshot,
}

/// An open place, as shown in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionView {
    /// The session.
    pub session: SessionId,
    /// The session's epoch.
    pub epoch: u64,
    /// The place.
    pub place: OpenPlace,
    /// Whether the place is open in Studio.
    pub in_studio: bool,
    /// For a place in Studio, whether the plugin has polled within the last 30 seconds. For a file
    /// or project, whether it still exists.
    pub connected: bool,
    /// Number of instances. For a place in Studio, the number of mirrored instances.
    pub instances: u32,
    /// The version of the mirror.
    pub version: u64,
    /// The project file of the Rojo project that owns a part of the place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// An instance whose name a search found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FoundInstance {
    /// The instance.
    pub target: Target,
    /// Its class.
    pub class: String,
}

/// A mention that a person may add to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfferedMention {
    /// The mention as it is written, such as `@file:src/Main.luau`.
    pub text: String,
    /// What it attaches, in a few words: a class, or the title of a proposal.
    pub about: String,
    /// The instance, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<FoundInstance>,
}

/// The mentions that fit what was typed after `@`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfferedMentions {
    /// The mentions, the most likely first.
    pub mentions: Vec<OfferedMention>,
}

/// The open places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sessions {
    /// The sessions of these places.
    pub sessions: Vec<SessionView>,
}
