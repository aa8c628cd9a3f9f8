//! Roblox's cloud, and Meshy's: requests as data, their answers and failures, and the client that sends
//! them.
//!
//! Shapes follow the OpenAPI files of the services. Fields that Vector does not use are not read, and a
//! field that is missing or has another type leaves out what it says instead of failing the answer,
//! because some routes are betas. What an answer is for, such as the id of what was made, must be there.
//!
//! A request that makes or costs something is sent once, unless the service says that it has not acted.
//! This crate knows nothing of places, proposals or the ledger.

mod asset_delivery;
mod asset_upload;
mod client;
mod failure;
mod hidden_key;
mod key_introspection;
mod key_purpose;
mod luau_tasks;
mod media_size;
mod meshy;
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
pub use meshy::{
    MESHY_TEST_KEY, MeshyBalance, MeshyModel, MeshyPreview, MeshyRefine, MeshyState, MeshyTask,
    MeshyTaskId,
};
pub use place_versions::{PlaceFormat, PlaceVersionUpload, VersionKind};
pub use request::{CloudRequest, FormFile, RequestBody, RequestMethod, RetryPolicy, StatusAdvice};
pub use store_search::{
    AssetCounts, AssetKind, AssetPrice, AssetSearch, AssetSummary, AssetVotes, CreatorFilter,
    SearchPage, SearchSort,
};
pub use thumbnails::{ThumbnailSearch, ThumbnailState};
