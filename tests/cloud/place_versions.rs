//! Place versions of the cloud: what is uploaded, what is refused, and what is sent again.

use bytes::Bytes;
use fake_cloud::{API_KEY, FakeCloud, Fault};
use vector_cloud::{CloudFailure, CloudFailureKind, PlaceFormat, PlaceVersionUpload, VersionKind};
use vector_tests::places::{self, Format};

use super::sender;

const UNIVERSE: u64 = 30;
const PLACE: u64 = 40;

fn upload(bytes: Vec<u8>, kind: VersionKind) -> PlaceVersionUpload {
    let format =
        if bytes.starts_with(b"<roblox!") { PlaceFormat::Binary } else { PlaceFormat::Xml };
    PlaceVersionUpload { universe: UNIVERSE, place: PLACE, kind, format, bytes: Bytes::from(bytes) }
}

fn send(cloud: &FakeCloud, upload: &PlaceVersionUpload, key: &str) -> Result<u64, CloudFailure> {
    let body = sender::send(cloud, &upload.request()?, key)?;
    upload.read_version(&body)
}

fn cloud() -> FakeCloud {
    let cloud = FakeCloud::start(Vec::new());
    cloud.add_places(UNIVERSE, &[PLACE]);
    cloud
}

#[test]
fn saved_version_is_published_with_the_same_bytes() {
    let cloud = cloud();
    let (binary, xml) = (places::sample(Format::Rbxl), places::sample(Format::Rbxlx));
    let saved = upload(binary.clone(), VersionKind::Saved);
    assert_eq!(send(&cloud, &saved, API_KEY).unwrap(), 1);
    assert_eq!(cloud.published_version(PLACE), None);
    let published = upload(binary.clone(), VersionKind::Published);
    assert_eq!(send(&cloud, &published, API_KEY).unwrap(), 1);
    assert_eq!(cloud.published_version(PLACE), Some(1));
    assert_eq!(send(&cloud, &upload(xml.clone(), VersionKind::Saved), API_KEY).unwrap(), 2);
    let versions = cloud.place_versions(PLACE);
    let found: Vec<(u64, bool, &[u8])> =
        versions.iter().map(|it| (it.number, it.is_published, it.bytes.as_ref())).collect();
    assert_eq!(found, [(1, true, binary.as_slice()), (2, false, xml.as_slice())]);
    assert_eq!(cloud.published_version(PLACE), Some(1));
}

#[test]
fn passing_failures_of_an_upload_are_retried() {
    let cloud = cloud();
    cloud.fail_next(Fault::status(502, "Bad gateway"));
    cloud.fail_next(Fault::Truncate(4));
    let saved = upload(places::sample(Format::Rbxl), VersionKind::Saved);
    assert_eq!(send(&cloud, &saved, API_KEY).unwrap(), 1);
    let bodies: Vec<usize> = cloud.requests().iter().map(|it| it.body.len()).collect();
    assert_eq!(bodies, [saved.bytes.len(); 3], "every attempt sends the whole file");
    assert_eq!(cloud.place_versions(PLACE).len(), 1);
}

#[test]
fn large_file_arrives_whole() {
    let cloud = cloud();
    let mut bytes = places::sample(Format::Rbxl);
    bytes.resize(12 << 20, 7);
    let saved = upload(bytes, VersionKind::Saved);
    assert_eq!(send(&cloud, &saved, API_KEY).unwrap(), 1);
    assert_eq!(cloud.place_versions(PLACE)[0].bytes, saved.bytes);
    cloud.fail_next(Fault::status(413, "Request Entity Too Large"));
    let refused = send(&cloud, &saved, API_KEY).unwrap_err();
    assert!(refused.message.ends_with("Make it smaller."), "{refused}");
}

#[test]
fn refused_upload_says_what_to_do() {
    let cloud = cloud();
    cloud.add_key("key-that-only-reads", &["asset:read"]);
    let refused = |upload: &PlaceVersionUpload, key: &str, kind: CloudFailureKind, said: &str| {
        let failure = send(&cloud, upload, key).unwrap_err();
        assert_eq!(failure.kind, kind, "{failure}");
        assert!(failure.message.contains(said), "{said} is not in {failure}");
        assert!(!failure.message.contains(key), "{failure}");
    };
    let saved = upload(places::sample(Format::Rbxl), VersionKind::Saved);
    let scope = "lacks the scope universe-places:write";
    refused(&saved, "key-that-only-reads", CloudFailureKind::Forbidden, scope);
    refused(&saved, "no-such-key", CloudFailureKind::Unauthorized, "missing, wrong or revoked");
    let elsewhere = PlaceVersionUpload { universe: 31, ..saved.clone() };
    let conflict = "belongs to the universe";
    refused(&elsewhere, API_KEY, CloudFailureKind::Conflict, conflict);
    let gone = PlaceVersionUpload { place: 41, ..saved.clone() };
    refused(&gone, API_KEY, CloudFailureKind::NotFound, "Check the ids");
    let mislabelled = PlaceVersionUpload { format: PlaceFormat::Xml, ..saved.clone() };
    refused(&mislabelled, API_KEY, CloudFailureKind::Invalid, "cannot read the file as a place");
    cloud.set_open_in_studio(PLACE, true);
    refused(&saved, API_KEY, CloudFailureKind::Conflict, "Close the place in Studio");
    assert!(cloud.place_versions(PLACE).is_empty());
    cloud.set_open_in_studio(PLACE, false);
    assert_eq!(send(&cloud, &saved, API_KEY).unwrap(), 1);
}
