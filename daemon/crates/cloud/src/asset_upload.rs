//! Asset upload: a file becomes an asset of a user or a group, in an operation that is polled.
//!
//! What Roblox would refuse is refused before anything is sent, so that no upload of a month is lost.

use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::failure::CloudFailure;
use super::media_size::{
    PixelSize, bmp_size, flac_seconds, image_size, mp3_seconds, ogg_seconds, tga_size, wav_seconds,
};
use super::request::{APIS, CloudRequest, FormFile, RequestBody, RetryPolicy, StatusAdvice};
use super::resource_path::check_path;

const ADVICE: &[StatusAdvice] = &[
    StatusAdvice::new(
        400,
        "Roblox did not accept the file, its name or its description, or the upload is not free. \
               Change that, and try again.",
    ),
    StatusAdvice::new(
        401,
        "The key is missing, wrong or revoked. Set it again with `vector key set roblox-upload`.",
    ),
    StatusAdvice::new(
        403,
        "The key lacks the scope asset:write or asset:read, or may not upload for this user or \
               group. Check both at https://create.roblox.com/dashboard/credentials.",
    ),
    StatusAdvice::new(
        404,
        "Check the id of the user or group. The state of an upload is kept for a limited time.",
    ),
    StatusAdvice::new(
        409,
        "Another upload is going on. Wait until it has finished, and try again.",
    ),
    StatusAdvice::new(413, "The file is larger than Roblox accepts. Make it smaller."),
];

/// What kind of asset a file becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadKind {
    Image,
    Decal,
    Audio,
    Model,
}

impl UploadKind {
    pub const ALL: [Self; 4] = [Self::Image, Self::Decal, Self::Audio, Self::Model];

    /// The name for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Decal => "decal",
            Self::Audio => "audio",
            Self::Model => "model",
        }
    }

    /// The name of the service.
    fn asset_type(self) -> &'static str {
        match self {
            Self::Image => "Image",
            Self::Decal => "Decal",
            Self::Audio => "Audio",
            Self::Model => "Model",
        }
    }

    /// The formats that the service takes.
    pub fn formats(self) -> &'static [UploadFormat] {
        use UploadFormat::{Bmp, Fbx, Flac, Glb, Gltf, Jpeg, Mp3, Ogg, Png, Rbxm, Rbxmx, Tga, Wav};
        match self {
            Self::Image | Self::Decal => &[Png, Jpeg, Bmp, Tga],
            Self::Audio => &[Mp3, Ogg, Wav, Flac],
            Self::Model => &[Fbx, Gltf, Glb, Rbxm, Rbxmx],
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadFormat {
    Png,
    Jpeg,
    Bmp,
    Tga,
    Mp3,
    Ogg,
    Wav,
    Flac,
    Fbx,
    Gltf,
    Glb,
    Rbxm,
    Rbxmx,
}

impl UploadFormat {
    pub const ALL: [Self; 13] = [
        Self::Png,
        Self::Jpeg,
        Self::Bmp,
        Self::Tga,
        Self::Mp3,
        Self::Ogg,
        Self::Wav,
        Self::Flac,
        Self::Fbx,
        Self::Gltf,
        Self::Glb,
        Self::Rbxm,
        Self::Rbxmx,
    ];

    /// Returns the usual extension of a file's name, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Bmp => "bmp",
            Self::Tga => "tga",
            Self::Mp3 => "mp3",
            Self::Ogg => "ogg",
            Self::Wav => "wav",
            Self::Flac => "flac",
            Self::Fbx => "fbx",
            Self::Gltf => "gltf",
            Self::Glb => "glb",
            Self::Rbxm => "rbxm",
            Self::Rbxmx => "rbxmx",
        }
    }

    /// Finds the format of a file by the extension of its name, in upper or lower case.
    pub fn find_by_extension(extension: &str) -> Option<Self> {
        let extension = extension.to_ascii_lowercase();
        let extension = if extension == "jpeg" { "jpg" } else { &extension };
        Self::ALL.into_iter().find(|it| it.extension() == extension)
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Bmp => "image/bmp",
            Self::Tga => "image/tga",
            Self::Mp3 => "audio/mpeg",
            Self::Ogg => "audio/ogg",
            Self::Wav => "audio/wav",
            Self::Flac => "audio/flac",
            Self::Fbx => "model/fbx",
            Self::Gltf => "model/gltf+json",
            Self::Glb => "model/gltf-binary",
            // Roblox names both formats so.
            Self::Rbxm | Self::Rbxmx => "model/x-rbxm",
        }
    }

    /// Whether a file begins as files of this format do.
    fn is_format_of(self, bytes: &[u8]) -> bool {
        let begins = |with: &[u8]| bytes.starts_with(with);
        match self {
            Self::Png => begins(b"\x89PNG\r\n\x1a\n"),
            Self::Jpeg => begins(b"\xff\xd8\xff"),
            Self::Bmp => begins(b"BM"),
            Self::Tga => matches!(bytes, [_, 0 | 1, 1..=3 | 9..=11, ..]),
            Self::Mp3 => begins(b"ID3") || matches!(bytes, [0xff, kind, ..] if kind & 0xe0 == 0xe0),
            Self::Ogg => begins(b"OggS"),
            Self::Wav => begins(b"RIFF") && bytes.get(8..12) == Some(b"WAVE"),
            Self::Flac => begins(b"fLaC"),
            Self::Fbx => begins(b"Kaydara FBX Binary") || begins(b"; FBX"),
            Self::Gltf => bytes.trim_ascii_start().starts_with(b"{"),
            Self::Glb => begins(b"glTF"),
            Self::Rbxm => begins(b"<roblox!"),
            Self::Rbxmx => begins(b"<roblox") && !begins(b"<roblox!"),
        }
    }

    fn pixel_size(self, bytes: &[u8]) -> Option<PixelSize> {
        match self {
            Self::Png | Self::Jpeg => image_size(bytes),
            Self::Bmp => bmp_size(bytes),
            Self::Tga => tga_size(bytes),
            Self::Mp3
            | Self::Ogg
            | Self::Wav
            | Self::Flac
            | Self::Fbx
            | Self::Gltf
            | Self::Glb
            | Self::Rbxm
            | Self::Rbxmx => None,
        }
    }

    fn seconds(self, bytes: &[u8]) -> Option<f64> {
        match self {
            Self::Mp3 => mp3_seconds(bytes),
            Self::Ogg => ogg_seconds(bytes),
            Self::Wav => wav_seconds(bytes),
            Self::Flac => flac_seconds(bytes),
            Self::Png
            | Self::Jpeg
            | Self::Bmp
            | Self::Tga
            | Self::Fbx
            | Self::Gltf
            | Self::Glb
            | Self::Rbxm
            | Self::Rbxmx => None,
        }
    }
}

/// Whose asset it becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssetOwner {
    User(u64),
    Group(u64),
}

/// The upload of a file as a new asset. It needs a key with the scopes `asset:read` and `asset:write`.
///
/// It is not sent again once the service may have made the asset.
#[derive(Debug, Clone)]
pub struct AssetUpload {
    pub kind: UploadKind,
    /// The name of the asset, which everybody sees. It is not empty.
    pub name: String,
    /// At most [`AssetUpload::MAX_DESCRIPTION`] characters.
    pub description: String,
    pub owner: AssetOwner,
    /// The highest price in Robux. A dearer upload fails with 400 and costs nothing.
    pub expected_price: u64,
    pub format: UploadFormat,
    /// The file, at most [`AssetUpload::MAX_BYTES`].
    pub bytes: Bytes,
}

impl AssetUpload {
    /// The size limit of a file, in bytes.
    pub const MAX_BYTES: usize = 20 << 20;
    /// The length limit of a description, in characters.
    pub const MAX_DESCRIPTION: usize = 1_000;
    /// The sides of an image must be shorter than this, in pixels.
    pub const SIDE_LIMIT: usize = 8_000;
    /// The length limit of a sound, in seconds.
    pub const MAX_SECONDS: u32 = 420;

    /// # Errors
    /// The file, the name or the description is not one that Roblox takes. The message says the limit.
    pub fn request(&self) -> Result<CloudRequest, CloudFailure> {
        if let Some(fault) = self.find_fault() {
            return Err(CloudFailure::refused(&fault));
        }
        // Ids are texts, as in all examples of Roblox.
        let creator = match self.owner {
            AssetOwner::User(id) => json!({ "userId": id.to_string() }),
            AssetOwner::Group(id) => json!({ "groupId": id.to_string() }),
        };
        let request = json!({
            "assetType": self.kind.asset_type(),
            "displayName": self.name,
            "description": self.description,
            "creationContext": { "creator": creator, "expectedPrice": self.expected_price },
        });
        let file = FormFile {
            name: format!("asset.{}", self.format.extension()),
            content_type: self.format.content_type(),
            bytes: self.bytes.clone(),
        };
        let body = RequestBody::Multipart { request, file };
        Ok(CloudRequest::post(APIS, "/assets/v1/assets", body).with_advice(ADVICE))
    }

    /// Returns why Roblox would refuse the upload.
    fn find_fault(&self) -> Option<String> {
        let (kind, format) = (self.kind.name(), self.format.extension());
        if !self.kind.formats().contains(&self.format) {
            let known: Vec<&str> = self.kind.formats().iter().map(|it| it.extension()).collect();
            return Some(format!(
                "A file of the format {format} cannot become an asset of the kind {kind}. Use one of: \
                 {}.",
                known.join(", ")
            ));
        }
        if self.bytes.len() > Self::MAX_BYTES {
            return Some(format!(
                "The file has {:.1} MB, and Roblox takes at most {} MB. Make it smaller.",
                self.bytes.len() as f64 / f64::from(1 << 20),
                Self::MAX_BYTES >> 20
            ));
        }
        if !self.format.is_format_of(&self.bytes) {
            return Some(format!(
                "The file is not a whole {format} file: its first bytes are others. Save it again."
            ));
        }
        if self.name.trim().is_empty() {
            return Some("The asset has no name. Give it one.".to_owned());
        }
        let length = self.description.chars().count();
        if length > Self::MAX_DESCRIPTION {
            return Some(format!(
                "The description has {length} characters, and Roblox takes at most {}. Shorten it.",
                Self::MAX_DESCRIPTION
            ));
        }
        let limit = Self::SIDE_LIMIT;
        if let Some(PixelSize { width, height }) = self.format.pixel_size(&self.bytes) {
            if width.min(height) == 0 {
                return Some("The image has no pixels. Save it again.".to_owned());
            }
            if width.max(height) >= limit {
                return Some(format!(
                    "The image has {width} × {height} pixels, and Roblox takes less than {limit} on \
                     each side. Scale it down."
                ));
            }
        }
        let seconds = self.format.seconds(&self.bytes).filter(|it| *it > Self::MAX_SECONDS.into());
        seconds.map(|seconds| {
            format!(
                "The sound is {seconds:.0} s long, and Roblox takes at most {} s. Shorten it.",
                Self::MAX_SECONDS
            )
        })
    }
}

/// The path of an operation, which the service names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssetOperationPath(String);

impl AssetOperationPath {
    /// # Errors
    /// It is not a relative path below `operations`.
    pub fn parse(text: &str) -> Result<Self, CloudFailure> {
        check_path(text, "operations").map(Self).ok_or_else(|| {
            CloudFailure::unreadable(APIS, "the path of the operation is not one below operations")
        })
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A request for the state of the operation, which [`AssetOperation::read`] reads.
    pub fn request(&self) -> CloudRequest {
        CloudRequest::new(APIS, &format!("/assets/v1/{}", self.0)).with_advice(ADVICE)
    }
}

/// What Roblox's review says of an asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModerationState {
    Approved,
    /// Others see the asset only after the review.
    Reviewing,
    Rejected,
    /// The service does not say.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UploadedAsset {
    pub asset: u64,
    /// The number of its version, from 1. None if the service does not say.
    pub revision: Option<u64>,
    pub moderation: ModerationState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadProgress {
    /// The operation is going on. Ask again later.
    Pending,
    Completed(UploadedAsset),
    /// No asset was made. The reason is what the service says.
    Failed {
        reason: String,
    },
}

/// The operation that makes an asset of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssetOperation {
    pub path: AssetOperationPath,
    pub progress: UploadProgress,
}

impl AssetOperation {
    /// Reads the answer to an upload.
    ///
    /// # Errors
    /// The answer does not name its operation. The upload has been accepted all the same.
    pub fn read_started(body: &[u8]) -> Result<Self, CloudFailure> {
        Self::read(body).map_err(|failure| failure.with_retry_policy(RetryPolicy::Unprocessed))
    }

    /// Reads the answer to a request for an operation.
    ///
    /// # Errors
    /// The answer does not name the operation, or says that it is done but not which asset it made.
    pub fn read(body: &[u8]) -> Result<Self, CloudFailure> {
        let unreadable = |reason: &str| CloudFailure::unreadable(APIS, reason);
        let body: Json =
            serde_json::from_slice(body).map_err(|error| unreadable(&error.to_string()))?;
        let path = AssetOperationPath::parse(body["path"].as_str().unwrap_or_default())?;
        let (error, response) = (&body["error"], &body["response"]);
        let progress = if error.is_object() {
            let reason = error["message"].as_str().filter(|it| !it.trim().is_empty());
            let reason = reason.unwrap_or("the service does not say why").to_owned();
            UploadProgress::Failed { reason }
        } else if body["done"] == true {
            let asset = read_number(&response["assetId"]).filter(|id| *id > 0);
            let asset = asset.ok_or_else(|| unreadable("it does not say which asset was made"))?;
            let state = &response["moderationResult"]["moderationState"];
            UploadProgress::Completed(UploadedAsset {
                asset,
                revision: read_number(&response["revisionId"]),
                moderation: read_moderation(state.as_str().unwrap_or_default()),
            })
        } else {
            UploadProgress::Pending
        };
        Ok(Self { path, progress })
    }
}

/// Reads a number that is written as one or as a text.
fn read_number(number: &Json) -> Option<u64> {
    number.as_u64().or_else(|| number.as_str()?.parse().ok())
}

/// Reads a state by its name, with or without the prefix of its enum.
fn read_moderation(name: &str) -> ModerationState {
    let name = name.strip_prefix("MODERATION_STATE_").unwrap_or(name);
    match name.to_ascii_lowercase().as_str() {
        "approved" => ModerationState::Approved,
        "reviewing" => ModerationState::Reviewing,
        "rejected" => ModerationState::Rejected,
        _ => ModerationState::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first bytes of a PNG of this size.
    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend([8, 6, 0, 0, 0]);
        bytes
    }

    fn upload(kind: UploadKind, format: UploadFormat, bytes: Vec<u8>) -> AssetUpload {
        AssetUpload {
            kind,
            name: "Oak".to_owned(),
            description: "A tree".to_owned(),
            owner: AssetOwner::Group(7),
            expected_price: 0,
            format,
            bytes: bytes.into(),
        }
    }

    #[test]
    fn form_has_the_request_and_the_file() {
        let image = upload(UploadKind::Decal, UploadFormat::Png, png(7_999, 7_999));
        let request = image.request().unwrap();
        assert_eq!(
            (request.path.as_str(), request.retry),
            ("/assets/v1/assets", RetryPolicy::Unprocessed)
        );
        let RequestBody::Multipart { request, file } = request.body else { panic!("no form") };
        let expected = json!({
            "assetType": "Decal", "displayName": "Oak", "description": "A tree",
            "creationContext": { "creator": { "groupId": "7" }, "expectedPrice": 0 },
        });
        assert_eq!(request, expected);
        assert_eq!((file.name.as_str(), file.content_type), ("asset.png", "image/png"));
    }

    #[test]
    fn every_limit_is_checked_and_said() {
        use UploadKind::{Audio, Decal, Model};
        let wav = |seconds: u32| {
            let mut wav = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
            wav.extend(1_u32.to_le_bytes());
            wav.extend(1_000_u32.to_le_bytes());
            wav.extend(b"\x01\0\x08\0data");
            wav.extend((seconds * 1_000).to_le_bytes());
            wav
        };
        let mut large = b"glTF".to_vec();
        large.resize(AssetUpload::MAX_BYTES + 1, 0);
        let image = || upload(Decal, UploadFormat::Png, png(1, 1));
        let long = AssetUpload { description: "ä".repeat(1_001), ..image() };
        let unnamed = AssetUpload { name: " ".to_owned(), ..image() };
        for (refused, said) in [
            (upload(Decal, UploadFormat::Glb, png(1, 1)), "Use one of: png, jpg, bmp, tga"),
            (upload(Decal, UploadFormat::Jpeg, png(1, 1)), "not a whole jpg file"),
            (upload(Decal, UploadFormat::Png, png(8_000, 4)), "takes less than 8000 on each side"),
            (upload(Decal, UploadFormat::Png, png(4, 8_000)), "has 4 × 8000 pixels"),
            (upload(Decal, UploadFormat::Png, png(0, 4)), "The image has no pixels"),
            (upload(Decal, UploadFormat::Png, png(4, 0)), "The image has no pixels"),
            (
                upload(Audio, UploadFormat::Wav, wav(421)),
                "421 s long, and Roblox takes at most 420 s",
            ),
            (upload(Model, UploadFormat::Glb, large), "takes at most 20 MB"),
            (upload(Model, UploadFormat::Glb, Vec::new()), "not a whole glb file"),
            (long, "has 1001 characters, and Roblox takes at most 1000"),
            (unnamed, "has no name"),
        ] {
            let failure = refused.request().unwrap_err();
            assert!(failure.message.contains(said), "{said} is not in {failure}");
        }
        assert!(upload(Audio, UploadFormat::Wav, wav(420)).request().is_ok());
    }

    #[test]
    fn formats_are_found_by_extension_and_first_bytes() {
        for format in UploadFormat::ALL {
            let extension = format.extension().to_ascii_uppercase();
            assert_eq!(UploadFormat::find_by_extension(&extension), Some(format));
            let kinds = UploadKind::ALL.into_iter().filter(|it| it.formats().contains(&format));
            assert!(kinds.count() > 0, "{format:?} belongs to a kind");
        }
        assert_eq!(UploadFormat::find_by_extension("jpeg"), Some(UploadFormat::Jpeg));
        assert_eq!(UploadFormat::find_by_extension("gif"), None);
        let binary = b"<roblox!\x89\xff\r\n\x1a\n";
        assert!(
            UploadFormat::Rbxm.is_format_of(binary) && !UploadFormat::Rbxmx.is_format_of(binary)
        );
        assert!(UploadFormat::Rbxmx.is_format_of(b"<roblox version=\"4\">"));
    }

    #[test]
    fn operation_is_read_in_every_state() {
        let read = |body: Json| AssetOperation::read(body.to_string().as_bytes());
        let pending = read(json!({ "path": "operations/a-1", "done": false })).unwrap();
        assert_eq!(pending.progress, UploadProgress::Pending);
        assert_eq!(pending.path.request().path, "/assets/v1/operations/a-1");
        for (id, revision, state, moderation) in [
            (json!("12"), json!("1"), "Reviewing", ModerationState::Reviewing),
            (json!(12), json!(1), "MODERATION_STATE_APPROVED", ModerationState::Approved),
            (json!("12"), json!("1"), "Rejected", ModerationState::Rejected),
            (json!("12"), json!("1"), "", ModerationState::Unknown),
        ] {
            let body = json!({ "path": "operations/a", "done": true, "response": {
                "assetId": id, "revisionId": revision, "assetType": "Decal",
                "moderationResult": { "moderationState": state },
            } });
            let asset = UploadedAsset { asset: 12, revision: Some(1), moderation };
            assert_eq!(read(body).unwrap().progress, UploadProgress::Completed(asset));
        }
        let body = json!({ "path": "operations/a", "done": true,
            "error": { "code": 400, "message": "InvalidImage" } });
        let failed = UploadProgress::Failed { reason: "InvalidImage".to_owned() };
        assert_eq!(read(body).unwrap().progress, failed);
        for body in [
            json!({ "path": "operations/a", "done": true }),
            json!({ "path": "operations/../x", "done": false }),
            json!({ "done": false }),
        ] {
            let failure = AssetOperation::read_started(body.to_string().as_bytes()).unwrap_err();
            assert!(failure.message.contains("may have been completed"), "{failure}");
        }
    }
}
