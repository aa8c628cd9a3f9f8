//! The wire types for assets of Roblox's Creator Store.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A person wants to insert an asset into an open place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InsertAssetRequest {
    /// The asset's id on Roblox.
    pub asset: u64,
    /// The path of the parent of the asset's roots, which has to exist. If absent, the selection in
    /// Studio, or the Workspace, or the top of a model file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// A kind of assets that can be searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssetCategory {
    /// Models, which may have scripts.
    Model,
    /// Single meshes without a model.
    MeshPart,
    /// Images for the surfaces of parts.
    Decal,
    /// Sounds and pieces of music.
    Audio,
    /// Videos for surfaces and screens.
    Video,
    /// Plugins that extend Roblox Studio.
    Plugin,
    /// Families of fonts for texts.
    Font,
}

/// A search in the Creator Store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchAssetsRequest {
    /// What is searched for, from 1 to 200 characters.
    pub text: String,
    /// The kind of assets.
    pub kind: AssetCategory,
    /// Whether assets of creators that Roblox has not verified are listed, too.
    #[serde(default)]
    pub any_creator: bool,
    /// The number of results, from 1 to 100.
    pub limit: u32,
    /// The page of results, as the page before named it. If absent, the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
}

/// A page of what a search in the Creator Store found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FoundAssets {
    /// The assets, in the order of the store.
    pub assets: Vec<FoundAsset>,
    /// Whether assets of this kind can be inserted. Others are the content of a property.
    pub can_insert: bool,
    /// The number of all results, if the store says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// The name of the next page. Absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_page: Option<String>,
    /// What the store would search for instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

/// An asset that a search found. Its uploader chose the texts. What the store does not say is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FoundAsset {
    /// The asset's id on Roblox.
    pub id: u64,
    /// Its name, cut after 100 characters.
    pub name: String,
    /// The name of its creator, cut after 100 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creator: Option<String>,
    /// Whether Roblox has verified the creator.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_verified: bool,
    /// The price, such as `free` or `4.99 USD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<String>,
    /// The votes of users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub votes: Option<FoundVotes>,
    /// The number of its triangles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triangles: Option<u64>,
    /// Whether it contains scripts, as far as the store knows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_scripts: bool,
    /// The number of its scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripts: Option<u64>,
    /// The length of a sound, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// The votes for and against an asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FoundVotes {
    /// The number of votes for it.
    pub up: u64,
    /// The number of votes against it.
    pub down: u64,
}
