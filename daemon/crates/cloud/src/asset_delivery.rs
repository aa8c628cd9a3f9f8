//! Asset delivery: where the file of an asset is.

use serde_json::Value as Json;

use super::failure::CloudFailure;
use super::request::{APIS, CloudRequest, StatusAdvice};

const ADVICE: &[StatusAdvice] = &[
    StatusAdvice::new(
        401,
        "The key is missing, wrong or revoked. Set it again with `vector key set roblox-assets`.",
    ),
    StatusAdvice::new(
        403,
        "The asset may be private, or the key may lack the scope legacy-asset:manage. Check both.",
    ),
    StatusAdvice::new(404, "Check the number. `vector assets search` lists assets."),
];

/// A request for the address of an asset's file. It needs a key with the scope `legacy-asset:manage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssetDelivery {
    pub asset: u64,
}

impl AssetDelivery {
    pub fn request(self) -> CloudRequest {
        CloudRequest::new(APIS, &format!("/asset-delivery-api/v1/assetId/{}", self.asset))
            .with_advice(ADVICE)
    }

    /// Reads the answer: the address of the file, which is valid for a short time.
    ///
    /// # Errors
    /// The answer has no address.
    pub fn read_location(self, body: &[u8]) -> Result<String, CloudFailure> {
        let answer: Json = serde_json::from_slice(body)
            .map_err(|error| CloudFailure::unreadable(APIS, &error.to_string()))?;
        match answer["location"].as_str() {
            Some(location) if !location.is_empty() => Ok(location.to_owned()),
            _ => Err(CloudFailure::unreadable(APIS, "it does not say where the file is")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn location_is_read_and_its_absence_reported() {
        let read = |body: &str| AssetDelivery { asset: 7 }.read_location(body.as_bytes());
        let location = "https://c0.rbxcdn.com/abc?encoding=gzip";
        let body = format!(r#"{{"location":"{location}","requestId":"0","isArchived":false}}"#);
        assert_eq!(read(&body).unwrap(), location);
        for body in ["", "[]", "{}", r#"{"location":""}"#, r#"{"location":7}"#, "null"] {
            let failure = read(body).unwrap_err();
            assert!(failure.message.contains("cannot be read"), "{body}: {failure}");
        }
        let target = AssetDelivery { asset: 7 }.request().target();
        assert_eq!(target, "/asset-delivery-api/v1/assetId/7");
    }
}
