//! Playtests in Studio: what is asked of the plugin, and the output of the place.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the game is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlaytestMode {
    /// The server, without any player.
    Run,
    /// The server and one player.
    Play,
}

/// A game to play in Studio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Playtest {
    /// How the game is played.
    pub mode: PlaytestMode,
    /// The seconds after which the game is ended.
    pub seconds: u32,
}

/// How a playtest ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlaytestEnd {
    /// Its seconds were over.
    TimeLimit,
    /// The person or the game ended it earlier.
    Ended,
}

/// The output of a place: of the last playtest, and of the place that is edited.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudioOutput {
    /// The messages, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<OutputMessage>,
    /// The number of messages in between that were left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u32,
}

/// A message of the output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputMessage {
    /// The DataModel that it is from.
    pub source: OutputSource,
    /// How severe it is.
    pub level: OutputLevel,
    /// Its text, which may be cut.
    pub text: String,
    /// How often it was written in a row.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: u32,
}

/// The DataModel that wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputSource {
    /// The place that is edited.
    Edit,
    /// The server of a playtest.
    Server,
    /// A client of a playtest.
    Client,
}

/// The level of a message, as in `Enum.MessageType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputLevel {
    /// `MessageOutput`: what was printed.
    Output,
    /// `MessageInfo`, such as the stack of an error.
    Info,
    /// `MessageWarning`: what `warn` wrote.
    Warning,
    /// `MessageError`: an error of a script.
    Error,
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(number: &u32) -> bool {
    *number == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
