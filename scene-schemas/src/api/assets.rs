//! The wire types for assets of Roblox's Creator Store.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::InstancePath;

/// A person wants to insert an asset into an open place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InsertAssetRequest {
    /// The asset's id on Roblox.
    pub asset: u64,
    /// The parent of the asset's roots. If absent, the selection in Studio, or the Workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<InstancePath>,
}
