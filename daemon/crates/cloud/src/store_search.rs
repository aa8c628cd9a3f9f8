//! Search in the Creator Store (`toolbox-service/v2/assets:search`, a beta of Roblox). It needs no key.

use std::fmt;

use serde::Serialize;
use serde_json::Value as Json;

use super::failure::CloudFailure;
use super::request::{APIS, CloudRequest};

/// The most results of a page that the service gives.
const MAX_PAGE: u32 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssetKind {
    Model,
    MeshPart,
    Decal,
    Audio,
    Video,
    Plugin,
    FontFamily,
}

impl AssetKind {
    pub const ALL: [Self; 7] = [
        Self::Model,
        Self::MeshPart,
        Self::Decal,
        Self::Audio,
        Self::Video,
        Self::Plugin,
        Self::FontFamily,
    ];

    /// The name for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::MeshPart => "mesh-part",
            Self::Decal => "decal",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::Plugin => "plugin",
            Self::FontFamily => "font",
        }
    }

    /// Whether assets of this kind are instances that can be inserted, and not the content of a
    /// property.
    pub fn is_instance(self) -> bool {
        match self {
            Self::Model | Self::MeshPart | Self::Decal => true,
            Self::Audio | Self::Video | Self::Plugin | Self::FontFamily => false,
        }
    }

    /// The name of the service.
    fn category(self) -> &'static str {
        match self {
            Self::Model => "Model",
            Self::MeshPart => "MeshPart",
            Self::Decal => "Decal",
            Self::Audio => "Audio",
            Self::Video => "Video",
            Self::Plugin => "Plugin",
            Self::FontFamily => "FontFamily",
        }
    }
}

/// The creator whose assets are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreatorFilter {
    User(u64),
    Group(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchSort {
    Relevance,
    Trending,
    Top,
    Ratings,
    Created,
    /// By the time of the last change.
    Updated,
}

impl SearchSort {
    pub const ALL: [Self; 6] =
        [Self::Relevance, Self::Trending, Self::Top, Self::Ratings, Self::Created, Self::Updated];

    /// The name for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Relevance => "relevance",
            Self::Trending => "trending",
            Self::Top => "top",
            Self::Ratings => "ratings",
            Self::Created => "created",
            Self::Updated => "updated",
        }
    }

    /// The name of the service.
    fn category(self) -> &'static str {
        match self {
            Self::Relevance => "Relevance",
            Self::Trending => "Trending",
            Self::Top => "Top",
            Self::Ratings => "Ratings",
            Self::Created => "CreateTime",
            Self::Updated => "UpdatedTime",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssetSearch {
    pub text: String,
    pub kind: AssetKind,
    pub creator: Option<CreatorFilter>,
    /// Leaves out creators that Roblox has not verified.
    pub only_verified: bool,
    pub only_free: bool,
    pub sort: SearchSort,
    /// The number of results, from 1 to 100.
    pub limit: u32,
    /// What the page before named as the next one.
    pub page: Option<String>,
}

impl AssetSearch {
    /// A search for models of verified creators.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            kind: AssetKind::Model,
            creator: None,
            only_verified: true,
            only_free: false,
            sort: SearchSort::Relevance,
            limit: 25,
            page: None,
        }
    }

    pub fn request(&self) -> CloudRequest {
        let mut request = CloudRequest::new(APIS, "/toolbox-service/v2/assets:search")
            .with_query("searchCategoryType", self.kind.category())
            .with_query("query", &self.text)
            .with_query("maxPageSize", self.limit.clamp(1, MAX_PAGE))
            .with_query("sortCategory", self.sort.category())
            .with_query("includeOnlyVerifiedCreators", self.only_verified)
            .with_query("searchView", "Full");
        match self.creator {
            Some(CreatorFilter::User(id)) => request = request.with_query("userId", id),
            Some(CreatorFilter::Group(id)) => request = request.with_query("groupId", id),
            None => {}
        }
        if self.only_free {
            request = request.with_query("maxPriceCents", 0);
        }
        if let Some(page) = &self.page {
            request = request.with_query("pageToken", page);
        }
        request
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchPage {
    pub assets: Vec<AssetSummary>,
    /// The number of all results. None if the service does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// The name of the next page. None if this is the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_page: Option<String>,
    /// What the service would search instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

/// What the store says about an asset. Its uploader chose the texts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AssetSummary {
    pub id: u64,
    pub name: String,
    /// The name of its creator. None if the service does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creator: Option<String>,
    pub is_creator_verified: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub votes: Option<AssetVotes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<AssetPrice>,
    pub counts: AssetCounts,
    /// The length of an audio, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AssetVotes {
    pub up: u64,
    pub down: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AssetPrice {
    pub amount: f64,
    /// An ISO 4217 code, such as USD.
    pub currency: String,
}

impl fmt::Display for AssetPrice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.amount > 0.0 {
            write!(f, "{:.2} {}", self.amount, self.currency)
        } else {
            f.write_str("free")
        }
    }
}

/// What a model contains, as the service counts it. None where it does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct AssetCounts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub triangles: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scripts: Option<u64>,
    /// Whether there are scripts, as far as the service knows.
    pub has_scripts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh_parts: Option<u64>,
}

impl SearchPage {
    /// Reads an answer of the store.
    ///
    /// # Errors
    /// Fails if it is not JSON, or has no list of assets.
    pub fn read(body: &[u8]) -> Result<Self, CloudFailure> {
        let unreadable = |reason: &str| CloudFailure::unreadable(APIS, reason);
        let body: Json =
            serde_json::from_slice(body).map_err(|error| unreadable(&error.to_string()))?;
        let Some(listed) = body["creatorStoreAssets"].as_array() else {
            return Err(unreadable("it has no list of assets"));
        };
        Ok(Self {
            assets: listed.iter().filter_map(read_asset).collect(),
            total: body["totalResults"].as_u64(),
            next_page: non_empty(&body["nextPageToken"]),
            suggestion: non_empty(&body["queryCorrection"]["suggestedQuery"]),
        })
    }
}

/// None if it has no number, so that nothing can be done with it.
fn read_asset(listed: &Json) -> Option<AssetSummary> {
    let asset = &listed["asset"];
    let (creator, voting) = (&listed["creator"], &listed["voting"]);
    let votes = voting["upVotes"].as_u64().zip(voting["downVotes"].as_u64());
    let counts = &asset["instanceCounts"];
    let scripts = counts["script"].as_u64().or_else(|| asset["scriptCount"].as_u64());
    Some(AssetSummary {
        id: asset["id"].as_u64().filter(|id| *id > 0)?,
        name: asset["name"].as_str().unwrap_or_default().to_owned(),
        creator: non_empty(&creator["name"]),
        is_creator_verified: creator["verified"] == true,
        votes: votes.map(|(up, down)| AssetVotes { up, down }),
        price: read_price(&listed["creatorStoreProduct"]["purchasePrice"]),
        counts: AssetCounts {
            triangles: asset["objectMeshSummary"]["triangles"].as_u64(),
            scripts,
            has_scripts: asset["hasScripts"] == true || scripts.is_some_and(|it| it > 0),
            mesh_parts: counts["meshPart"].as_u64(),
        },
        seconds: asset["durationSeconds"].as_f64(),
    })
}

/// Reads an amount that is given as a significand and an exponent of ten.
fn read_price(price: &Json) -> Option<AssetPrice> {
    let quantity = &price["quantity"];
    let significand = quantity["significand"].as_f64()?;
    let exponent = i32::try_from(quantity["exponent"].as_i64().unwrap_or(0)).ok()?;
    let amount = significand * 10_f64.powi(exponent);
    let currency = price["currencyCode"].as_str().unwrap_or("USD").to_owned();
    amount.is_finite().then_some(AssetPrice { amount, currency })
}

fn non_empty(text: &Json) -> Option<String> {
    text.as_str().filter(|it| !it.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn request_has_the_parameters_of_the_search() {
        assert_eq!(
            AssetSearch::new("tree").request().target(),
            "/toolbox-service/v2/assets:search?searchCategoryType=Model&query=tree&maxPageSize=25\
             &sortCategory=Relevance&includeOnlyVerifiedCreators=true&searchView=Full"
        );
        let narrow = AssetSearch {
            kind: AssetKind::Audio,
            creator: Some(CreatorFilter::Group(7)),
            only_verified: false,
            only_free: true,
            sort: SearchSort::Updated,
            limit: 5_000,
            page: Some("a/b".to_owned()),
            ..AssetSearch::new("tree")
        };
        assert_eq!(
            narrow.request().target(),
            "/toolbox-service/v2/assets:search?searchCategoryType=Audio&query=tree&maxPageSize=100\
             &sortCategory=UpdatedTime&includeOnlyVerifiedCreators=false&searchView=Full&groupId=7\
             &maxPriceCents=0&pageToken=a%2Fb"
        );
    }

    #[test]
    fn what_is_missing_or_odd_is_left_out() {
        let page = json!({
            "nextPageToken": "", "totalResults": "many",
            "creatorStoreAssets": [
                { "asset": { "id": 12, "name": "Tree", "hasScripts": true,
                    "objectMeshSummary": { "triangles": 900 } },
                  "creator": { "name": "x", "verified": true },
                  "voting": { "upVotes": 9, "downVotes": 1 },
                  "creatorStoreProduct": { "purchasePrice": { "currencyCode": "USD",
                    "quantity": { "significand": 499, "exponent": -2 } } } },
                { "asset": { "id": 13, "name": 7, "scriptCount": 2 }, "creator": null },
                { "asset": { "name": "no number" } },
                "nothing",
            ],
        });
        let page = SearchPage::read(page.to_string().as_bytes()).unwrap();
        assert_eq!((page.total, &page.next_page, &page.suggestion), (None, &None, &None));
        let [tree, other] = page.assets.as_slice() else { panic!("{page:?}") };
        assert_eq!((tree.id, tree.counts.scripts, tree.counts.triangles), (12, None, Some(900)));
        assert!(tree.counts.has_scripts && other.counts.has_scripts);
        assert_eq!(tree.votes, Some(AssetVotes { up: 9, down: 1 }));
        let price = tree.price.as_ref().unwrap();
        assert!((price.amount - 4.99).abs() < 1e-9, "{price:?}");
        assert_eq!(
            (other.name.as_str(), other.counts.scripts, &other.creator),
            ("", Some(2), &None)
        );
        for body in ["", "[]", "{}", "<html>", r#"{"creatorStoreAssets":{}}"#] {
            let failure = SearchPage::read(body.as_bytes()).unwrap_err();
            assert!(failure.message.contains("apis.roblox.com cannot be read"), "{failure}");
        }
    }
}
