//! Assets of the Creator Store: searched, shown, and inserted by the user.

use std::sync::Arc;

use scene_schemas::InstancePath;
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
/// The longest text of a search, in characters.
pub(crate) const MAX_SEARCH: usize = 200;
/// The largest page of results.
const MAX_RESULTS: u32 = 100;

impl DaemonHandle {
    /// Searches the Creator Store.
    ///
    /// # Errors
    /// The search is not valid, or the store cannot be searched.
    pub(crate) async fn find_assets(&self, search: &AssetSearch) -> Result<SearchPage, Failure> {
        check_search(search)?;
        self.state.asset_store.search(search).await
    }

    /// Searches the Creator Store, and begins to load the thumbnails of what is found.
    ///
    /// # Errors
    /// The search is not valid, or the store cannot be searched.
    pub(crate) async fn search_store(&self, search: &AssetSearch) -> Result<SearchPage, Failure> {
        let page = self.find_assets(search).await?;
        let assets: Vec<u64> = page.assets.iter().map(|asset| asset.id).collect();
        self.state.asset_store.request_thumbnails(&assets);
        Ok(page)
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
    /// The place is not open, or it has no such parent.
    pub async fn insert_asset(
        &self,
        session: &SessionId,
        request: InsertAssetRequest,
    ) -> Result<WorkflowStarted, Failure> {
        let InsertAssetRequest { asset, parent } = request;
        let session = self.session(session)?;
        let mut args = json!({ "assetId": asset });
        let mut goal = format!("Insert asset {asset}");
        if let Some(parent) = parent {
            let parsed = parent.trim().parse();
            let parent: InstancePath = parsed.map_err(|why| no_parent(format!("{why}.")))?;
            session.check_instance(parent.clone()).await?.map_err(|why| no_parent(why.0))?;
            goal.push_str(&format!(" into {parent}"));
            args["parentPath"] = json!(parent);
        }
        let call = ToolCall::new("insert_asset", args);
        session.start_call(goal, call).await
    }
}

/// Checks what a person searches for.
///
/// # Errors
/// The text is empty or too long, or too many results are wanted.
fn check_search(search: &AssetSearch) -> Result<(), Failure> {
    let refuse = |message: String, hint| Err(failure(FailureKind::BadRequest, message, hint));
    if search.text.is_empty() {
        return refuse("Nothing is searched for.".to_owned(), "Type what you look for.");
    }
    if search.text.chars().count() > MAX_SEARCH {
        let message = format!("The search is longer than {MAX_SEARCH} characters.");
        return refuse(message, "Use fewer words.");
    }
    if !(1..=MAX_RESULTS).contains(&search.limit) {
        let message = format!("A page of results has from 1 to {MAX_RESULTS} assets.");
        return refuse(message, "Search again with such a `limit`.");
    }
    Ok(())
}

fn no_parent(message: String) -> Failure {
    let hint = "Nothing was inserted. Choose another parent, and insert the asset again.";
    failure(FailureKind::NotFound, message, hint)
}
