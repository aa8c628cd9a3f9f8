//! What is uploaded to Roblox: versions of places, and files that become assets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command::Fingerprint;
use crate::entry::{Approver, Seq};

/// A version of a place on Roblox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaceUpload {
    /// The id of the universe that the place belongs to.
    pub universe: u64,
    /// The id of the place on Roblox.
    pub place: u64,
    /// Whether players get the version.
    pub kind: VersionKind,
    /// The blob with the place file.
    pub contents: Fingerprint,
    /// The size of the place file in bytes.
    pub size: u64,
    /// Who approved the upload.
    pub by: Approver,
    /// The earlier upload whose contents these are. None if they are those of the place now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Seq>,
    /// The proposal that the contents have and the place has not. None if they are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Seq>,
}

impl PlaceUpload {
    /// Describes the upload in a few words.
    pub fn describe(&self) -> String {
        let what = match self.kind {
            VersionKind::Saved => "Save",
            VersionKind::Published => "Publish",
        };
        format!("{what} to place {} of universe {}", self.place, self.universe)
    }
}

/// A file that is uploaded as an asset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssetFile {
    /// The file as the person named it.
    pub file: String,
    /// What the file becomes.
    pub kind: AssetFileKind,
    /// The name of the asset.
    pub name: String,
    /// The description of the asset.
    pub description: String,
    /// The account that the asset belongs to.
    pub account: AssetAccount,
    /// The hash of the file.
    pub contents: Fingerprint,
    /// The size of the file in bytes.
    pub size: u64,
    /// Who approved the upload.
    pub by: Approver,
    /// The generation that made the file. None if it is a file of the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<Seq>,
}

impl AssetFile {
    /// Describes the upload in a few words.
    pub fn describe(&self) -> String {
        format!("Upload {} as a new {} of {}", self.name, self.kind.name(), self.account)
    }

    /// Describes the file: its path or its origin, and its size.
    pub fn details(&self) -> String {
        format!("{}, {} KB", self.file, self.size.div_ceil(1_024))
    }
}

/// What a file becomes on Roblox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssetFileKind {
    /// An image, which properties name.
    Image,
    /// A decal, which shows an image on a face.
    Decal,
    /// A sound, which `Sound` objects play.
    Audio,
    /// A model, which is inserted as instances.
    Model,
}

impl AssetFileKind {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Self; 4] = [Self::Image, Self::Decal, Self::Audio, Self::Model];

    /// Returns the name for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Decal => "decal",
            Self::Audio => "audio",
            Self::Model => "model",
        }
    }
}

/// The account that an asset belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "owner", rename_all = "snake_case", deny_unknown_fields)]
pub enum AssetAccount {
    /// The account of one user.
    User {
        /// The user's id on Roblox.
        id: u64,
    },
    /// The account of a group.
    Group {
        /// The group's id on Roblox.
        id: u64,
    },
}

impl std::fmt::Display for AssetAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::User { id } => write!(f, "user {id}"),
            Self::Group { id } => write!(f, "group {id}"),
        }
    }
}

/// What the review by Roblox says of an asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssetReview {
    /// Everybody may use it.
    Approved,
    /// Others see it only after the review.
    Reviewing,
    /// It may not be used.
    Rejected,
    /// Roblox does not say.
    Unknown,
}

/// A run of specs in a version of a place on Roblox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloudRun {
    /// The id of the universe that the place belongs to.
    pub universe: u64,
    /// The id of the place on Roblox.
    pub place: u64,
    /// The version of the place that the task runs in.
    pub version: u64,
    /// The hash of the version's place file.
    pub contents: Fingerprint,
    /// The hash of the script that runs the specs. It names them and their time limit.
    pub script: Fingerprint,
    /// The number of specs.
    pub specs: u64,
    /// The proposal that the version has and the place has not. None if they are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Seq>,
    /// The path of the task, as the service names it. Empty if the run was recorded before its task was
    /// named; then `cloud_run_accepted` has the path.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// Who approved the run.
    pub by: Approver,
}

impl CloudRun {
    /// Describes the run in a few words.
    pub fn describe(&self) -> String {
        let Self { universe, place, version, .. } = self;
        format!("Run specs in version {version} of place {place} of universe {universe}")
    }
}

/// What a run of specs reported besides its counts, cut to what a person reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloudRunReport {
    /// The cases that failed, and the specs that did not run to their end, at most 50.
    pub failures: Vec<CloudRunFailure>,
    /// Number of failures that are left out.
    pub more_failures: u64,
    /// The output of the task, at most 200 lines.
    pub output: Vec<CloudRunLine>,
    /// Number of lines of output that are left out.
    pub more_output: u64,
}

/// A case that failed in Roblox's engine, or a spec that did not run to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloudRunFailure {
    /// The path of the spec or the module.
    pub spec: String,
    /// The name of the case. None if the spec itself failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// What failed, preceded by the script and the line if they are known.
    pub message: String,
}

/// A line that a task wrote to its logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloudRunLine {
    /// How severe the line is.
    pub level: CloudRunLevel,
    /// The text of the line.
    pub text: String,
}

/// How severe a line of output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CloudRunLevel {
    /// Printed by a script.
    Output,
    /// A message of the engine.
    Info,
    /// A warning of a script or the engine.
    Warning,
    /// An error of a script or the engine.
    Error,
}

/// What Roblox does with a version of a place.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum VersionKind {
    /// Roblox keeps it in the place's history, and Studio opens it.
    Saved,
    /// New servers of the game run it.
    Published,
}

impl VersionKind {
    /// Returns the kind as Roblox names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Saved => "Saved",
            Self::Published => "Published",
        }
    }
}
