//! Assets of the Creator Store: searched, shown, and inserted by the user.

use std::sync::Arc;

use scene_schemas::api::{Failure, FailureKind, InsertAssetRequest, SessionId, WorkflowStarted};
use scene_schemas::entry::Seq;
use serde_json::json;
use vector_cloud::{AssetSearch, SearchPage};
use vector_core::prompt::ToolCall;

use super::DaemonHandle;
use super::handle::run_on_thread;
use crate::failure::failure;
use crate::tasks::generate::{find_made, read_model};

/// Width and height of the picture of a generated model, in pixels.
const PICTURE_SIDE: u32 = 480;

impl DaemonHandle {
    /// Searches the Creator Store.
    ///
    /// # Errors
    /// The store cannot be searched.
    pub(crate) async fn search_store(&self, search: &AssetSearch) -> Result<SearchPage, Failure> {
        self.state.asset_store.search(search).await
    }

    /// Returns the pictures of these assets that are there already.
    pub(crate) fn known_thumbnails(&self, assets: &[u64]) -> Vec<(u64, Arc<[u8]>)> {
        self.state.asset_store.known_thumbnails(assets)
    }

    /// Returns the picture of an asset.
    ///
    /// # Errors
    /// There is none, or it cannot be loaded.
    pub(crate) async fn thumbnail(&self, asset: u64) -> Result<Arc<[u8]>, Failure> {
        self.state.asset_store.thumbnail(asset).await
    }

    /// Draws the model of a generation, as PNG.
    ///
    /// # Errors
    /// There is no such model.
    pub(crate) async fn draw_generation(&self, generation: Seq) -> Result<Vec<u8>, Failure> {
        let ledger = Arc::clone(&self.state.ledger);
        run_on_thread(move || {
            let missing = |why: String| {
                failure(FailureKind::NotFound, why, "`vector assets generate --list` lists them.")
            };
            let made = find_made(&ledger, generation);
            let model = made.and_then(|made| read_model(&ledger, &made));
            let model = model.map_err(|error| missing(error.to_string()))?;
            let picture = model.draw((PICTURE_SIDE, PICTURE_SIDE));
            let picture = picture.ok_or_else(|| missing("The model has no extent.".to_owned()))?;
            picture.to_png().map_err(|refusal| missing(refusal.0))
        })
        .await
    }

    /// Proposes to insert an asset into an open place.
    ///
    /// # Errors
    /// The place is not open.
    pub async fn insert_asset(
        &self,
        session: &SessionId,
        request: InsertAssetRequest,
    ) -> Result<WorkflowStarted, Failure> {
        let InsertAssetRequest { asset, parent } = request;
        let mut args = json!({ "assetId": asset });
        let mut goal = format!("Insert asset {asset}");
        if let Some(parent) = parent {
            goal.push_str(&format!(" into {parent}"));
            args["parentPath"] = json!(parent);
        }
        let call = ToolCall::new("insert_asset", args);
        self.session(session)?.start_call(goal, call).await
    }
}
