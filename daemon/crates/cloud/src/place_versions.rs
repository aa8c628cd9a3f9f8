//! Place versions: uploads of a place file, as a saved or a published version.

use bytes::Bytes;
use serde_json::Value as Json;

use super::failure::CloudFailure;
use super::request::{APIS, CloudRequest, RequestBody, RetryPolicy, StatusAdvice};

const ADVICE: &[StatusAdvice] = &[
    StatusAdvice::new(
        400,
        "Roblox cannot read the file as a place. Open it in Studio to see whether it is damaged.",
    ),
    StatusAdvice::new(
        401,
        "The key is missing, wrong or revoked. Set it again with `vector key set roblox-publish`.",
    ),
    StatusAdvice::new(
        403,
        "The key lacks the scope universe-places:write for this universe, or its owner may not \
               edit the place. Check both at https://create.roblox.com/dashboard/credentials.",
    ),
    StatusAdvice::new(
        404,
        "Check the ids of the universe and the place. Roblox also answers so if the file is too \
               large.",
    ),
    StatusAdvice::new(
        409,
        "Close the place in Studio, also for everybody in its Team Create session, and check that \
               the place belongs to the universe. Then try again.",
    ),
    StatusAdvice::new(413, "The file is larger than Roblox accepts. Make it smaller."),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionKind {
    /// It is in the history of versions, and players do not see it.
    Saved,
    /// New servers run it.
    Published,
}

impl VersionKind {
    /// The name of the service.
    fn version_type(self) -> &'static str {
        match self {
            Self::Saved => "Saved",
            Self::Published => "Published",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceFormat {
    /// A file that ends in `.rbxl`.
    Binary,
    /// A file that ends in `.rbxlx`.
    Xml,
}

impl PlaceFormat {
    fn content_type(self) -> &'static str {
        match self {
            Self::Binary => "application/octet-stream",
            Self::Xml => "application/xml",
        }
    }
}

/// The upload of a place file as a new version. It needs a key with the scope `universe-places:write`.
///
/// The same bytes give the same version again, so that it is sent again when it has failed.
#[derive(Debug, Clone)]
pub struct PlaceVersionUpload {
    pub universe: u64,
    pub place: u64,
    pub kind: VersionKind,
    pub format: PlaceFormat,
    /// The file, at most [`PlaceVersionUpload::MAX_BYTES`]. It is shared and not copied.
    pub bytes: Bytes,
}

impl PlaceVersionUpload {
    /// The size limit of a place file, in bytes.
    pub const MAX_BYTES: usize = 100 << 20;

    /// # Errors
    /// The file is empty or larger than Roblox takes.
    pub fn request(&self) -> Result<CloudRequest, CloudFailure> {
        if self.bytes.is_empty() {
            return Err(CloudFailure::refused(
                "The place file is empty. Upload a file with a place.",
            ));
        }
        if self.bytes.len() > Self::MAX_BYTES {
            let message = format!(
                "The place file has {:.1} MB, and Roblox takes at most {} MB. Make it smaller, for \
                 example by moving parts of it to packages.",
                self.bytes.len() as f64 / f64::from(1 << 20),
                Self::MAX_BYTES >> 20
            );
            return Err(CloudFailure::refused(&message));
        }
        let (universe, place) = (self.universe, self.place);
        let path = format!("/universes/v1/{universe}/places/{place}/versions");
        let body = RequestBody::Bytes {
            content_type: self.format.content_type(),
            bytes: self.bytes.clone(),
        };
        let request = CloudRequest::post(APIS, &path, body)
            .with_query("versionType", self.kind.version_type())
            .with_advice(ADVICE);
        Ok(CloudRequest { retry: RetryPolicy::Idempotent, ..request })
    }

    /// Reads the answer: the number of the version.
    ///
    /// # Errors
    /// The answer has no number.
    pub fn read_version(&self, body: &[u8]) -> Result<u64, CloudFailure> {
        let answer: Json = serde_json::from_slice(body)
            .map_err(|error| CloudFailure::unreadable(APIS, &error.to_string()))?;
        answer["versionNumber"]
            .as_u64()
            .ok_or_else(|| CloudFailure::unreadable(APIS, "it does not say which version it made"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::RequestMethod;

    fn upload(bytes: Bytes) -> PlaceVersionUpload {
        let (kind, format) = (VersionKind::Saved, PlaceFormat::Xml);
        PlaceVersionUpload { universe: 3, place: 4, kind, format, bytes }
    }

    #[test]
    fn kind_and_format_are_in_the_request() {
        let saved = upload(Bytes::from_static(b"<roblox>"));
        let request = saved.request().unwrap();
        assert_eq!(request.target(), "/universes/v1/3/places/4/versions?versionType=Saved");
        assert_eq!((request.method, request.retry), (RequestMethod::Post, RetryPolicy::Idempotent));
        let body = RequestBody::Bytes { content_type: "application/xml", bytes: saved.bytes };
        assert_eq!(request.body, body);
        let published = PlaceVersionUpload {
            kind: VersionKind::Published,
            format: PlaceFormat::Binary,
            ..upload(Bytes::from_static(b"<roblox!"))
        };
        let request = published.request().unwrap();
        assert!(request.target().ends_with("?versionType=Published"), "{}", request.target());
        assert_eq!(format!("{:?}", request.body), "Bytes(application/octet-stream, 8 bytes)");
    }

    #[test]
    fn size_is_checked_before_anything_is_sent() {
        let refused = |size: usize| {
            let failure = upload(Bytes::from(vec![0; size])).request().unwrap_err();
            failure.message
        };
        assert!(refused(0).contains("is empty"));
        let message = refused(PlaceVersionUpload::MAX_BYTES + (1 << 20));
        assert!(message.contains("has 101.0 MB, and Roblox takes at most 100 MB"), "{message}");
        assert!(upload(Bytes::from(vec![0; PlaceVersionUpload::MAX_BYTES])).request().is_ok());
    }

    #[test]
    fn version_is_read_and_its_absence_reported() {
        let read = |body: &str| upload(Bytes::new()).read_version(body.as_bytes());
        assert_eq!(read(r#"{"versionNumber":7}"#).unwrap(), 7);
        for body in ["", "7", "{}", r#"{"versionNumber":"7"}"#, r#"{"versionNumber":-1}"#] {
            let failure = read(body).unwrap_err();
            assert!(failure.message.contains("cannot be read"), "{body}: {failure}");
        }
    }
}
