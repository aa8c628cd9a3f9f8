//! Play-tests: what players do in a game that is played on a copy of the scene, and what came of it.
//!
//! The runtime reports a game in these types. This module must not know how it is played.

mod check;
mod report;
mod step;
mod studio;

use serde_json::Value as Json;

pub use self::check::{PlayedTwice, check_before, stable_message, unknown_check};
pub use self::step::{StepArgs, read_steps};
pub(crate) use self::studio::{describe_output, output_lines};
pub use crate::run::RunOutput;

/// Maximum number of different errors of a game that are reported.
pub const MAX_PLAY_ERRORS: usize = 100;

/// A game to play on a copy of the scene.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayRequest {
    /// How long it is played, in seconds of the game.
    pub seconds: f64,
    /// The number of players that join at the start.
    pub players: u32,
    /// What decides all that happens by chance.
    pub seed: u32,
    pub steps: Vec<PlayStep>,
    /// Whether things fall, characters walk, and parts touch. Otherwise all stay where scripts put
    /// them.
    pub has_physics: bool,
}

impl Default for PlayRequest {
    fn default() -> Self {
        Self { seconds: 5.0, players: 1, seed: 1, steps: Vec::new(), has_physics: true }
    }
}

/// A step of a play-test. Each begins when the one before is done.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayStep {
    /// Who does it; None for the first player, and for expectations the server.
    pub player: Option<String>,
    pub action: PlayAction,
}

/// What is done in a step. Targets are paths from the DataModel on, or from the player on.
#[derive(Debug, Clone, PartialEq)]
pub enum PlayAction {
    Join,
    Leave,
    /// Walks to a part or a position.
    Move(MoveGoal),
    /// Touches a part.
    Touch(String),
    /// Clicks a button, a ClickDetector, a ProximityPrompt; takes a tool in the hand; without a
    /// target uses the tool in the hand.
    Click(Option<String>),
    /// Presses a key: a name of `Enum.KeyCode`.
    Key(String),
    Chat(String),
    /// Fires a remote event of the server, or invokes a remote function, with these arguments.
    Fire(String, Vec<Json>),
    /// Waits for seconds.
    Wait(f64),
    /// A Luau expression that has to be true.
    Expect(String),
    /// Lets the requests to a service fail from now on, or succeed again.
    Fail(FailingService, bool),
}

/// Where a character walks to.
#[derive(Debug, Clone, PartialEq)]
pub enum MoveGoal {
    Part(String),
    Position([f64; 3]),
}

/// A service whose requests can be let fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailingService {
    DataStore,
    MemoryStore,
}

impl FailingService {
    pub const ALL: [Self; 2] = [Self::DataStore, Self::MemoryStore];

    /// The class of the service.
    pub fn class(self) -> &'static str {
        match self {
            Self::DataStore => "DataStoreService",
            Self::MemoryStore => "MemoryStoreService",
        }
    }
}

/// A position in a script of the place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CodePosition {
    /// The path of the script in the place, of which the one that ran may be a copy.
    pub script: String,
    pub line: u32,
}

/// An error of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayError {
    /// The seconds since the start, when it happened first.
    pub at: f64,
    /// `Server`, or the name of a player.
    pub peer: String,
    pub message: String,
    /// Where it happened; None if it is in no script of the place.
    pub position: Option<CodePosition>,
    /// The calls that led to it, innermost first.
    pub stack: Vec<String>,
    /// How often it happened.
    pub times: u32,
}

/// A line of output.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayOutput {
    pub at: f64,
    pub peer: String,
    pub line: RunOutput,
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepResult {
    /// The seconds since the start, when it began.
    pub at: f64,
    /// Why it was not possible, or the expectation not true.
    pub failure: Option<String>,
}

/// A remote that was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteUse {
    pub path: String,
    pub class: String,
    pub from_clients: u32,
    pub from_server: u32,
    /// The arguments of the last use.
    pub last: Vec<String>,
}

/// What a game asked of a service that reaches out of it; nothing was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceRequest {
    pub at: f64,
    pub peer: String,
    pub what: String,
    pub args: Vec<String>,
}

/// What the scripts of the server did to an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayChange {
    /// `created`, `changed`, `moved` or `deleted`.
    pub kind: String,
    pub path: String,
    pub class: String,
    /// The properties that changed.
    pub names: Vec<String>,
}

/// A member that a script used, and that Roblox has and the runtime has not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingMember {
    pub what: String,
    pub position: Option<CodePosition>,
}

/// The outcome of a play-test.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlayOutcome {
    /// How long it was played, in seconds of the game.
    pub seconds: f64,
    /// The number of scripts that were started.
    pub scripts: u32,
    /// The first errors of scripts, without those of [`PlayOutcome::missing`].
    pub errors: Vec<PlayError>,
    pub output: Vec<PlayOutput>,
    /// The results of the steps that were begun.
    pub steps: Vec<StepResult>,
    pub remotes: Vec<RemoteUse>,
    pub requests: Vec<ServiceRequest>,
    /// The first changes.
    pub changes: Vec<PlayChange>,
    /// The number of all changes.
    pub change_count: u32,
    /// What the scripts needed and the runtime has not. What depends on it was not tested.
    pub missing: Vec<MissingMember>,
    /// Why the game ended before its time.
    pub stopped: Option<String>,
}

impl PlayOutcome {
    /// Whether no script failed, all steps were done, and the game was played to its end.
    pub fn is_ok(&self, request: &PlayRequest) -> bool {
        self.errors.is_empty()
            && self.stopped.is_none()
            && self.steps.len() == request.steps.len()
            && self.steps.iter().all(|step| step.failure.is_none())
    }
}
