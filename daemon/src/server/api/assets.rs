//! Assets of the Creator Store: search, thumbnails, and insertion into open places.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response};
use scene_schemas::api::{
    AssetCategory, FailureKind, FoundAsset, FoundAssets, FoundVotes, InsertAssetRequest,
    SearchAssetsRequest, WorkflowStarted,
};
use vector_cloud::{AssetKind, AssetSearch, AssetSummary};

use super::super::extract::{EntryId, JsonBody, PathSession, PathText};
use super::super::response::{ApiError, ApiResult};
use crate::asset_store::picture_type;
use crate::daemon::DaemonHandle;
use crate::failure::failure;

/// The longest text of an uploader that is sent, in characters.
const MAX_TEXT: usize = 100;

pub(in super::super) async fn search(
    State(daemon): State<DaemonHandle>,
    JsonBody(request): JsonBody<SearchAssetsRequest>,
) -> ApiResult<FoundAssets> {
    let kind = asset_kind(request.kind);
    let search = AssetSearch {
        kind,
        only_verified: !request.any_creator,
        limit: request.limit,
        page: request.page,
        ..AssetSearch::new(request.text.trim())
    };
    let page = daemon.find_assets(&search).await?;
    Ok(Json(FoundAssets {
        assets: page.assets.into_iter().map(found_asset).collect(),
        can_insert: kind.is_instance(),
        total: page.total,
        next_page: page.next_page,
        suggestion: page.suggestion.map(|it| cut_text(&it)),
    }))
}

fn asset_kind(category: AssetCategory) -> AssetKind {
    match category {
        AssetCategory::Model => AssetKind::Model,
        AssetCategory::MeshPart => AssetKind::MeshPart,
        AssetCategory::Decal => AssetKind::Decal,
        AssetCategory::Audio => AssetKind::Audio,
        AssetCategory::Video => AssetKind::Video,
        AssetCategory::Plugin => AssetKind::Plugin,
        AssetCategory::Font => AssetKind::FontFamily,
    }
}

fn found_asset(asset: AssetSummary) -> FoundAsset {
    FoundAsset {
        id: asset.id,
        name: cut_text(&asset.name),
        creator: asset.creator.as_deref().map(cut_text),
        is_verified: asset.is_creator_verified,
        price: asset.price.map(|price| cut_text(&price.to_string())),
        votes: asset.votes.map(|votes| FoundVotes { up: votes.up, down: votes.down }),
        triangles: asset.counts.triangles,
        has_scripts: asset.counts.has_scripts,
        scripts: asset.counts.scripts,
        seconds: asset.seconds,
    }
}

fn cut_text(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}

pub(in super::super) async fn thumbnail(
    State(daemon): State<DaemonHandle>,
    PathText(asset): PathText,
) -> Result<Response<Body>, ApiError> {
    let asset = asset.parse().map_err(|_| {
        let message = format!("`{asset}` is not the number of an asset.");
        failure(FailureKind::BadRequest, message, "Send the number in rbxassetid://123.")
    })?;
    let picture = daemon.thumbnail(asset).await?;
    let kind = HeaderValue::from_static(picture_type(&picture).unwrap_or("image/png"));
    let mut response = Response::new(Body::from(picture.to_vec()));
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

pub(in super::super) async fn generation_picture(
    State(daemon): State<DaemonHandle>,
    EntryId(generation): EntryId,
) -> Result<Response<Body>, ApiError> {
    let mut response = Response::new(Body::from(daemon.draw_generation(generation).await?));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("image/png"));
    Ok(response)
}

pub(in super::super) async fn insert(
    State(daemon): State<DaemonHandle>,
    PathSession(session): PathSession,
    JsonBody(request): JsonBody<InsertAssetRequest>,
) -> ApiResult<WorkflowStarted> {
    Ok(Json(daemon.insert_asset(&session, request).await?))
}
