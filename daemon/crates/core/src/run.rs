//! Runs: what a script did on a copy of a scene, and the proposal that makes its changes to the place.
//!
//! The runtime reports a run in these types. This module must not know how a script is run.

mod draft;

use scene_schemas::command::Props;
use serde_json::Value as Json;
use vector_place::Node;

pub use self::draft::ChangeCounts;

/// A script to run on a copy of the scene.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRequest {
    pub source: String,
    /// The name of the script in errors.
    pub name: String,
    /// What it changes, in its author's words.
    pub title: Option<String>,
}

impl RunRequest {
    /// Returns the title of a proposal with its changes: the given one, or the comment that the
    /// script begins with.
    pub fn title(&self) -> Option<String> {
        let given = self.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
        let comment = || {
            let line = self.source.lines().map(str::trim).find(|line| !line.is_empty())?;
            let comment = line.strip_prefix("--")?;
            let is_words = comment.starts_with([' ', '\t']);
            let words = comment.trim().trim_end_matches('.');
            (is_words && !words.is_empty() && words.len() <= MAX_COMMENT).then_some(words)
        };
        given.or_else(comment).map(str::to_owned)
    }
}

/// Maximum bytes of a comment that becomes a title.
const MAX_COMMENT: usize = 100;

/// A line that a script printed, or an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutput {
    /// `print`, `warn` or `error`.
    pub kind: String,
    pub text: String,
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    pub output: Vec<RunOutput>,
    /// What the script returned, or the error that ended it, with its line.
    pub result: Result<Json, String>,
    /// What the script changed in the place.
    pub changes: RunChanges,
    /// The members that the script used and that Roblox has but the runtime has not.
    pub not_in_runtime: Vec<String>,
    /// The number of instances that the script got to.
    pub touched: u32,
}

impl RunOutcome {
    /// Says that code was stopped for its memory, of which it may use so many bytes.
    pub fn needs_more_memory(bytes: usize) -> String {
        format!("The code needs more memory than a run may use, {} MB.", bytes >> 20)
    }
}

/// What a run changed in the place.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunChanges {
    /// The instances that were created, copied or moved, each after those that it is in.
    pub placed: Vec<PlacedInstance>,
    pub values: Vec<ChangedValues>,
    /// The roots of the deleted subtrees.
    pub deleted: Vec<Node>,
    /// Properties that were set and that places do not store, such as `Humanoid.Health`.
    pub not_stored: Vec<String>,
}

impl RunChanges {
    pub fn is_empty(&self) -> bool {
        self.placed.is_empty() && self.values.is_empty() && self.deleted.is_empty()
    }
}

/// An instance after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunInstance {
    /// An instance of the scene.
    Known(Node),
    /// An instance of [`RunChanges::placed`], by its position.
    Placed(usize),
}

/// An instance that is not where it was, or was not there.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedInstance {
    pub origin: InstanceOrigin,
    pub class: String,
    pub name: String,
    pub parent: RunInstance,
}

/// Where an instance comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum InstanceOrigin {
    /// It was created, with these values.
    Created(Props),
    /// It is a copy of an instance of the scene, as that was before the run.
    Copied(Node),
    /// It was copied with an instance that it is in.
    CopiedWithin {
        /// The position of the copy's root in [`RunChanges::placed`].
        root: usize,
        of: Node,
    },
    Moved(Node),
}

/// Values that were set on an instance.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedValues {
    pub of: RunInstance,
    pub props: Props,
    /// References to instances; None if the reference is empty now.
    pub references: Vec<(String, Option<RunInstance>)>,
}
