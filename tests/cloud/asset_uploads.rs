//! Asset uploads: an operation from its start to the asset, its failures, and that nothing is uploaded
//! twice.

use fake_cloud::{API_KEY, FakeCloud, Fault, UploadOutcome};
use serde_json::json;
use vector_cloud::{
    AssetOperation, AssetOwner, AssetUpload, CloudFailure, ModerationState, UploadFormat,
    UploadKind, UploadProgress, UploadedAsset,
};

use super::sender::send;

/// The first bytes of a PNG, with a line break and the marks of a form in it.
const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x02\0\0\0\x02\x08\x06\0\0\0\r\n--vector--\r\n";

fn decal() -> AssetUpload {
    AssetUpload {
        kind: UploadKind::Decal,
        name: "Oak \"bark\"".to_owned(),
        description: "Two\nlines".to_owned(),
        owner: AssetOwner::User(7),
        expected_price: 0,
        format: UploadFormat::Png,
        bytes: PNG.into(),
    }
}

fn start(cloud: &FakeCloud, upload: &AssetUpload) -> Result<AssetOperation, CloudFailure> {
    AssetOperation::read_started(&send(cloud, &upload.request()?, API_KEY)?)
}

fn read(cloud: &FakeCloud, operation: &AssetOperation) -> UploadProgress {
    let answer = send(cloud, &operation.path.request(), API_KEY).unwrap();
    AssetOperation::read(&answer).unwrap().progress
}

#[test]
fn uploaded_file_becomes_an_asset() {
    let cloud = FakeCloud::start(Vec::new());
    for (moderation, expected) in [
        ("Approved", ModerationState::Approved),
        ("Reviewing", ModerationState::Reviewing),
        ("Rejected", ModerationState::Rejected),
    ] {
        cloud.add_upload_outcome(UploadOutcome { polls: 2, moderation, error: None });
        let operation = start(&cloud, &decal()).unwrap();
        assert_eq!(operation.progress, UploadProgress::Pending);
        assert_eq!(read(&cloud, &operation), UploadProgress::Pending);
        assert_eq!(read(&cloud, &operation), UploadProgress::Pending);
        let asset = cloud.uploads().last().unwrap().asset;
        let uploaded = UploadedAsset { asset, revision: Some(1), moderation: expected };
        assert_eq!(read(&cloud, &operation), UploadProgress::Completed(uploaded));
    }
    let uploads = cloud.uploads();
    let first = &uploads[0];
    assert_eq!((first.name.as_str(), first.description.as_str()), ("Oak \"bark\"", "Two\nlines"));
    assert_eq!((first.bytes.as_ref(), &first.creator), (PNG, &json!({ "userId": "7" })));
    assert!(uploads[0].asset < uploads[1].asset, "each upload is an asset of its own");
}

#[test]
fn every_kind_and_format_is_accepted() {
    let cloud = FakeCloud::start(Vec::new());
    let begin = |format: UploadFormat| match format {
        UploadFormat::Png => PNG.to_vec(),
        UploadFormat::Jpeg => b"\xff\xd8\xff\xe0".to_vec(),
        UploadFormat::Bmp => b"BM".to_vec(),
        UploadFormat::Tga => b"\0\0\x02".to_vec(),
        UploadFormat::Mp3 => b"ID3".to_vec(),
        UploadFormat::Ogg => b"OggS".to_vec(),
        UploadFormat::Wav => b"RIFF\0\0\0\0WAVE".to_vec(),
        UploadFormat::Flac => b"fLaC".to_vec(),
        UploadFormat::Fbx => b"Kaydara FBX Binary".to_vec(),
        UploadFormat::Gltf => b"{}".to_vec(),
        UploadFormat::Glb => b"glTF".to_vec(),
        UploadFormat::Rbxm => b"<roblox!".to_vec(),
        UploadFormat::Rbxmx => b"<roblox>".to_vec(),
    };
    let mut sent = 0;
    for kind in UploadKind::ALL {
        for format in kind.formats() {
            let (bytes, owner) = (begin(*format).into(), AssetOwner::Group(9));
            let upload = AssetUpload { kind, format: *format, bytes, owner, ..decal() };
            start(&cloud, &upload).unwrap_or_else(|failure| panic!("{format:?}: {failure}"));
            sent += 1;
        }
    }
    assert_eq!(cloud.uploads().len(), sent);
}

#[test]
fn failed_operation_says_why() {
    let cloud = FakeCloud::start(Vec::new());
    let error = Some("The image is not readable.");
    cloud.add_upload_outcome(UploadOutcome { polls: 0, error, ..UploadOutcome::default() });
    let operation = start(&cloud, &decal()).unwrap();
    let reason = "The image is not readable.".to_owned();
    assert_eq!(read(&cloud, &operation), UploadProgress::Failed { reason });
    cloud.add_key("key-that-only-reads", &["asset:read"]);
    let request = decal().request().unwrap();
    let refused = send(&cloud, &request, "key-that-only-reads").unwrap_err();
    assert!(refused.message.contains("scope asset:write"), "{refused}");
}

#[test]
fn upload_whose_answer_is_lost_is_not_sent_again() {
    let cloud = FakeCloud::start(Vec::new());
    cloud.fail_next(Fault::Truncate(5));
    let lost = start(&cloud, &decal()).unwrap_err();
    assert!(lost.message.contains("may have been completed"), "{lost}");
    assert_eq!((cloud.uploads().len(), cloud.requests().len()), (1, 1));
    // The service says that it has not acted.
    cloud.fail_next(Fault::too_many(1));
    start(&cloud, &decal()).unwrap();
    assert_eq!((cloud.uploads().len(), cloud.requests().len()), (2, 3));
}

#[test]
fn refused_file_is_not_sent() {
    let cloud = FakeCloud::start(Vec::new());
    let large = AssetUpload { bytes: vec![0; AssetUpload::MAX_BYTES + 1].into(), ..decal() };
    let refused = start(&cloud, &large).unwrap_err();
    assert!(refused.message.contains("takes at most 20 MB"), "{refused}");
    assert!(cloud.requests().is_empty());
}
