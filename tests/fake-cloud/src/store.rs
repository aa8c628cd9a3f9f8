//! The Creator Store: `toolbox-service/v2/assets:search`.

use std::collections::HashMap;

use axum::Router;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{Response, StatusCode};
use axum::routing::get;
use serde_json::{Value as Json, json};

use super::{SharedState, json_answer, lock_state, problem};

const CATEGORIES: [&str; 7] =
    ["Audio", "Model", "Decal", "Plugin", "MeshPart", "Video", "FontFamily"];
const SORTS: [&str; 7] =
    ["Relevance", "Trending", "Top", "AudioDuration", "CreateTime", "UpdatedTime", "Ratings"];
/// The parameters that the route has, of those that Vector may send.
const PARAMETERS: [&str; 14] = [
    "searchCategoryType",
    "query",
    "userId",
    "groupId",
    "pageToken",
    "pageNumber",
    "maxPageSize",
    "sortDirection",
    "sortCategory",
    "includeOnlyVerifiedCreators",
    "minPriceCents",
    "maxPriceCents",
    "searchView",
    "facets",
];

#[derive(Debug, Clone)]
pub struct StoreAsset {
    pub id: u64,
    pub name: String,
    pub category: &'static str,
    pub creator: (u64, String),
    pub is_verified: bool,
    pub scripts: u32,
    pub triangles: u32,
    pub votes: (u32, u32),
    pub price_cents: u32,
}

impl StoreAsset {
    /// A free model of a verified creator, without scripts.
    pub fn model(id: u64, name: &str) -> Self {
        Self {
            id,
            name: name.to_owned(),
            category: "Model",
            creator: (1, "Roblox".to_owned()),
            is_verified: true,
            scripts: 0,
            triangles: 900,
            votes: (9, 1),
            price_cents: 0,
        }
    }

    fn to_json(&self) -> Json {
        let (up, down) = self.votes;
        let all = up + down;
        json!({
            "asset": {
                "id": self.id, "name": self.name, "description": "", "assetTypeId": 10,
                "createTime": "2026-01-01T00:00:00Z", "updateTime": "2026-02-01T00:00:00Z",
                "categoryPath": "3d", "subTypes": [],
                "previewAssets": { "imagePreviewAssets": [], "videoPreviewAssets": [] },
                "hasScripts": self.scripts > 0, "scriptCount": self.scripts,
                "objectMeshSummary": { "triangles": self.triangles, "vertices": self.triangles / 2 },
                "instanceCounts": {
                    "script": self.scripts, "meshPart": 3, "animation": 0, "decal": 0, "audio": 0,
                    "tool": 0,
                },
                "capabilities": { "shouldSandbox": false },
            },
            "creator": {
                "userId": self.creator.0, "name": self.creator.1, "verified": self.is_verified,
            },
            "voting": {
                "showVotes": true, "upVotes": up, "downVotes": down, "voteCount": all,
                "upVotePercent": (up * 100).checked_div(all).unwrap_or(0),
            },
            "creatorStoreProduct": {
                "purchasable": true,
                "purchasePrice": {
                    "currencyCode": "USD",
                    "quantity": { "significand": self.price_cents, "exponent": -2 },
                },
            },
        })
    }
}

pub(super) fn routes() -> Router<SharedState> {
    Router::new().route("/apis.roblox.com/toolbox-service/v2/assets:search", get(search))
}

type SearchParameters = HashMap<String, String>;

/// Returns why the parameters are refused.
fn find_fault(parameters: &SearchParameters) -> Option<String> {
    if let Some(other) = parameters.keys().find(|name| !PARAMETERS.contains(&name.as_str())) {
        return Some(format!("{other} is not a parameter."));
    }
    let is_of = |name: &str, known: &[&str]| {
        parameters.get(name).is_none_or(|value| known.contains(&value.as_str()))
    };
    let is_number = |name: &str, most: u64| {
        parameters.get(name).is_none_or(|it| it.parse::<u64>().is_ok_and(|it| it <= most))
    };
    if !parameters.contains_key("searchCategoryType") || !is_of("searchCategoryType", &CATEGORIES) {
        return Some("searchCategoryType is not a category.".to_owned());
    }
    if !is_of("sortCategory", &SORTS) || !is_of("searchView", &["IDs", "Core", "Full"]) {
        return Some("sortCategory or searchView is not known.".to_owned());
    }
    if !is_of("includeOnlyVerifiedCreators", &["true", "false"]) {
        return Some("includeOnlyVerifiedCreators is true or false.".to_owned());
    }
    if !is_number("maxPageSize", 100) || !is_number("userId", u64::MAX) {
        return Some("maxPageSize is from 1 to 100.".to_owned());
    }
    (parameters.contains_key("pageToken") && parameters.contains_key("pageNumber"))
        .then(|| "pageToken and pageNumber exclude each other.".to_owned())
}

async fn search(
    State(state): State<SharedState>,
    Query(parameters): Query<SearchParameters>,
) -> Response<Body> {
    if let Some(fault) = find_fault(&parameters) {
        return problem(StatusCode::BAD_REQUEST, &fault);
    }
    let text = |name: &str| parameters.get(name).map_or("", String::as_str);
    let number = |name: &str| text(name).parse::<u64>().ok();
    let words = text("query").to_lowercase();
    let only_verified = text("includeOnlyVerifiedCreators") != "false";
    let fits = |asset: &&StoreAsset| {
        asset.category == text("searchCategoryType")
            && asset.name.to_lowercase().contains(&words)
            && (!only_verified || asset.is_verified)
            && number("userId").is_none_or(|id| id == asset.creator.0)
            && number("maxPriceCents").is_none_or(|cents| u64::from(asset.price_cents) <= cents)
    };
    let from = match parameters.get("pageToken") {
        None => 0,
        Some(token) => match token.strip_prefix("from-").and_then(|it| it.parse().ok()) {
            Some(from) => from,
            None => return problem(StatusCode::BAD_REQUEST, "pageToken is not valid."),
        },
    };
    let size = number("maxPageSize").unwrap_or(25) as usize;
    let state = lock_state(&state);
    let found: Vec<&StoreAsset> = state.assets.iter().filter(fits).collect();
    let page: Vec<Json> = found.iter().skip(from).take(size).map(|it| it.to_json()).collect();
    let end = from + page.len();
    let next = if end < found.len() { format!("from-{end}") } else { String::new() };
    let body = json!({
        "nextPageToken": next, "totalResults": found.len(), "filteredKeyword": text("query"),
        "queryCorrection": { "suggestedQuery": "" },
        "queryFacets": { "appliedFacets": [], "availableFacets": [] },
        "creatorStoreAssets": page,
    });
    json_answer(StatusCode::OK, &body)
}
