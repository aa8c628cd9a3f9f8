//! Roblox's cloud: requests as data, their answers and failures, and the client that sends them.
//!
//! Shapes follow Roblox's OpenAPI files. Fields that Vector does not use are not read, and a field that is
//! missing or has another type leaves out what it says instead of failing the answer, because the search
//! of the Creator Store is a beta. This crate knows nothing of places, proposals or the ledger.

mod asset_delivery;
mod asset_upload;
mod client;
mod failure;
mod key_introspection;
mod key_purpose;
mod luau_tasks;
mod media_size;
mod place_versions;
mod rate_limit;
mod request;
mod resource_path;
mod store_search;
mod thumbnails;

pub use asset_delivery::AssetDelivery;
pub use asset_upload::{
    AssetOperation, AssetOperationPath, AssetOwner, AssetUpload, ModerationState, UploadFormat,
    UploadKind, UploadProgress, UploadedAsset,
};
pub use client::CloudClient;
pub use failure::{CloudFailure, CloudFailureKind};
pub use key_introspection::{KeyDetails, KeyIntrospection};
pub use key_purpose::KeyPurpose;
pub use luau_tasks::{
    BinaryInput, BinaryInputPath, BinaryInputStart, LuauErrorCode, LuauLogLevel, LuauLogMessage,
    LuauLogPage, LuauTask, LuauTaskError, LuauTaskPath, LuauTaskStart, LuauTaskState,
};
pub use place_versions::{PlaceFormat, PlaceVersionUpload, VersionKind};
pub use request::{CloudRequest, FormFile, RequestBody, RequestMethod, RetryPolicy, StatusAdvice};
pub use store_search::{
    AssetCounts, AssetKind, AssetPrice, AssetSearch, AssetSummary, AssetVotes, CreatorFilter,
    SearchPage, SearchSort,
};
pub use thumbnails::{ThumbnailSearch, ThumbnailState};
