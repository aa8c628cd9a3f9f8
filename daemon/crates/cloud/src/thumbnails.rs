//! Thumbnails of assets: where their pictures are. They need no key.

use serde_json::Value as Json;

use super::failure::CloudFailure;
use super::request::CloudRequest;

const HOST: &str = "thumbnails.roblox.com";
/// The side of a picture, in pixels, as the service names it.
const SIZE: &str = "150x150";

/// A request for the thumbnails of assets.
#[derive(Debug, Clone, Copy)]
pub struct ThumbnailSearch<'a> {
    /// The assets, at most [`ThumbnailSearch::MAX_ASSETS`].
    pub assets: &'a [u64],
}

/// What the service says of a thumbnail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThumbnailState {
    /// The address of the picture.
    Completed(String),
    /// It is being made; ask again later.
    Pending,
    /// It is not shown to anybody.
    Blocked,
    /// There is no picture of it.
    Missing,
}

impl ThumbnailSearch<'_> {
    /// The most assets of a request.
    pub const MAX_ASSETS: usize = 100;

    pub fn request(self) -> CloudRequest {
        let ids: Vec<String> = self.assets.iter().map(ToString::to_string).collect();
        CloudRequest::new(HOST, "/v1/assets")
            .with_query("assetIds", ids.join(","))
            .with_query("size", SIZE)
            .with_query("format", "Png")
            .with_query("returnPolicy", "PlaceHolder")
    }

    /// Reads the answer: the state of each asset that it names.
    ///
    /// # Errors
    /// Fails if it is not JSON, or has no list.
    pub fn read(self, body: &[u8]) -> Result<Vec<(u64, ThumbnailState)>, CloudFailure> {
        let body: Json = serde_json::from_slice(body)
            .map_err(|error| CloudFailure::unreadable(HOST, &error.to_string()))?;
        let Some(listed) = body["data"].as_array() else {
            return Err(CloudFailure::unreadable(HOST, "it has no list of thumbnails"));
        };
        let read = |it: &Json| Some((it["targetId"].as_u64()?, read_state(it)));
        Ok(listed.iter().filter_map(read).collect())
    }
}

fn read_state(listed: &Json) -> ThumbnailState {
    let address = listed["imageUrl"].as_str().filter(|address| !address.is_empty());
    match (listed["state"].as_str(), address) {
        (Some("Completed"), Some(address)) => ThumbnailState::Completed(address.to_owned()),
        (Some("Pending" | "InReview" | "TemporarilyUnavailable"), _) => ThumbnailState::Pending,
        (Some("Blocked"), _) => ThumbnailState::Blocked,
        _ => ThumbnailState::Missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_read_and_others_are_missing() {
        let search = ThumbnailSearch { assets: &[1, 2] };
        assert_eq!(
            search.request().target(),
            "/v1/assets?assetIds=1%2C2&size=150x150&format=Png&returnPolicy=PlaceHolder"
        );
        let body = serde_json::json!({ "data": [
            { "targetId": 1, "state": "Completed", "imageUrl": "https://tr.rbxcdn.com/a" },
            { "targetId": 2, "state": "Completed", "imageUrl": "" },
            { "targetId": 3, "state": "Pending", "imageUrl": "https://tr.rbxcdn.com/placeholder" },
            { "targetId": 4, "state": "Blocked" },
            { "targetId": 5, "state": "Error" },
            { "targetId": 6, "state": 7 },
            { "state": "Completed" },
        ] });
        let found = search.read(body.to_string().as_bytes()).unwrap();
        assert_eq!(
            found,
            [
                (1, ThumbnailState::Completed("https://tr.rbxcdn.com/a".to_owned())),
                (2, ThumbnailState::Missing),
                (3, ThumbnailState::Pending),
                (4, ThumbnailState::Blocked),
                (5, ThumbnailState::Missing),
                (6, ThumbnailState::Missing),
            ]
        );
        for body in ["", "[]", "{}", r#"{"data":1}"#] {
            assert!(search.read(body.as_bytes()).unwrap_err().message.contains("cannot be read"));
        }
    }
}
