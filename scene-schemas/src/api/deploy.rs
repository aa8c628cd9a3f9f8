//! Deploys: uploads of an open place file or Rojo project to Roblox.
//!
//! These are data only; the daemon sends the requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session::SessionId;
use crate::command::Fingerprint;
use crate::entry::{PlaceUpload, Seq, VersionKind};

/// What a deploy would upload, and where to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeployQuery {
    /// The session of the place file or project.
    pub session: SessionId,
    /// The id of the universe. If absent, that of the last upload of this place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub universe: Option<u64>,
    /// The id of the place on Roblox. If absent, that of the last upload of this place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<u64>,
    /// The earlier upload whose contents are uploaded again. If absent, the place as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Seq>,
}

/// A person uploads a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeployRequest {
    /// The session of the place file or project.
    pub session: SessionId,
    /// The id of the universe.
    pub universe: u64,
    /// The id of the place on Roblox.
    pub place: u64,
    /// Whether players get the version.
    pub kind: VersionKind,
    /// The contents that the person was shown.
    pub contents: Fingerprint,
    /// The upload of the published version that the contents were compared with. None if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<Seq>,
    /// The earlier upload whose contents these are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Seq>,
}

/// A version that was uploaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeployedVersion {
    /// The number that Roblox gave the version.
    pub version: u64,
}

/// What a deploy would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeployPlanView {
    /// The place file or the project file.
    pub name: String,
    /// The contents that would be uploaded.
    pub contents: Fingerprint,
    /// The size of the contents in bytes.
    pub size: u64,
    /// The comparison with what is on Roblox. None if no place of Roblox is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<DeployTargetView>,
    /// The uploads from this place, newest first, at most 50.
    pub uploads: Vec<UploadView>,
}

/// A place of Roblox, and what a deploy would change in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeployTargetView {
    /// The id of the universe.
    pub universe: u64,
    /// The id of the place on Roblox.
    pub place: u64,
    /// The version that was published last. None if nothing was published with this ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<UploadView>,
    /// The version that has these contents already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub existing: Option<UploadView>,
    /// Whether the published version has these contents, as far as is known.
    pub is_published: bool,
    /// Whether the contents of the published version were erased, so that nothing is compared.
    pub is_erased: bool,
    /// Uploads that Roblox may have, newest first.
    pub unclear: Vec<UploadView>,
    /// The changes in a few words.
    pub summary: String,
    /// One line for each difference, at most 200.
    pub lines: Vec<String>,
    /// Number of lines that are left out.
    pub more: u64,
    /// The changed instances that an upload does not change on Roblox, at most 10.
    pub not_updated: Vec<String>,
    /// Number of such instances that are left out.
    pub more_not_updated: u64,
}

/// An upload on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UploadView {
    /// The position of its `uploading` entry.
    pub seq: Seq,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// What was uploaded, and where to.
    pub upload: PlaceUpload,
    /// The number that Roblox gave the version. None if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// Whether Roblox may have it although there was a failure.
    pub is_unclear: bool,
    /// Why there is no version. None if there is one, or the upload goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}
