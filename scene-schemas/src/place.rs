//! The place that a workflow works on: a file, a project, or a place that is open in Studio.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{OpenPlace, SessionId};
use crate::command::Fingerprint;

/// The place that a workflow works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Place {
    /// A place or model file.
    File(FilePlace),
    /// A place that is open in Studio.
    Open(StudioPlace),
    /// The files of a Rojo project.
    Project(ProjectPlace),
}

impl Place {
    /// Returns the name of the place, for display.
    pub fn name(&self) -> String {
        match self {
            Self::File(FilePlace { file, out: Some(out), .. }) => format!("{file} → {out}"),
            Self::File(FilePlace { file, .. }) => file.clone(),
            Self::Open(StudioPlace { place, .. }) => format!("{} (open in Studio)", place.name),
            Self::Project(project) => project.project.clone(),
        }
    }

    /// Returns the id of the session that the daemon uses for this place. For a file, the id is
    /// derived from the file that is written.
    pub fn session_id(&self) -> SessionId {
        let named = |kind: &str, file: &str| {
            SessionId(format!("{kind}-{}", Fingerprint::hash_bytes(file.as_bytes()).short_hex()))
        };
        match self {
            Self::File(place) => named("file", place.out.as_ref().unwrap_or(&place.file)),
            Self::Open(open) => open.session.clone(),
            Self::Project(project) => named("project", &project.project),
        }
    }

    /// Returns the file. None if the place is not a file.
    pub fn file_place(&self) -> Option<&FilePlace> {
        match self {
            Self::File(file) => Some(file),
            Self::Open(_) | Self::Project(_) => None,
        }
    }

    /// Returns the place in Studio. None if the place is not open in Studio.
    pub fn studio_place(&self) -> Option<&StudioPlace> {
        match self {
            Self::Open(open) => Some(open),
            Self::File(_) | Self::Project(_) => None,
        }
    }
}

/// A Rojo project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectPlace {
    /// The project file.
    pub project: String,
    /// A hash over all files of the project as they were read.
    pub hash: Fingerprint,
}

/// A place that is open in Studio.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudioPlace {
    /// The session of the Studio window.
    pub session: SessionId,
    /// The place that is open in the window.
    pub place: OpenPlace,
}

/// A place stored as a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilePlace {
    /// The file that was read.
    pub file: String,
    /// The file that is written. If absent, it is the file that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out: Option<String>,
    /// The hash of the file that was read.
    pub hash: Fingerprint,
    /// If another file is written: its hash before. None if that file did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<Fingerprint>,
}
