//! The shapes of the fake cloud beside those of the real one. `VECTOR_CLOUD_LIVE=1` asks the real one, and
//! prints what differs.

use std::collections::BTreeSet;

use fake_cloud::{FakeCloud, StoreAsset};
use serde_json::Value as Json;
use vector_cloud::{AssetSearch, CloudClient, CloudRequest, SearchPage};

/// Collects the paths of a value's members with their types, such as `.assets[].id: number`.
fn collect_shape(value: &Json, path: &str, shape: &mut BTreeSet<String>) {
    let kind = match value {
        Json::Null => "null",
        Json::Bool(_) => "bool",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(all) => {
            for it in all {
                collect_shape(it, &format!("{path}[]"), shape);
            }
            return;
        }
        Json::Object(members) => {
            for (name, member) in members {
                collect_shape(member, &format!("{path}.{name}"), shape);
            }
            return;
        }
    };
    shape.insert(format!("{path}: {kind}"));
}

fn shape_of(body: &[u8]) -> BTreeSet<String> {
    let mut shape = BTreeSet::new();
    collect_shape(&serde_json::from_slice(body).unwrap(), "", &mut shape);
    shape
}

fn read(base: Option<String>, request: &CloudRequest) -> Vec<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = CloudClient::new(base).unwrap();
    runtime.block_on(client.read(request, None)).unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn search_has_the_shape_of_the_real_store() {
    let cloud = FakeCloud::start(vec![StoreAsset::model(1, "Tree")]);
    let search = AssetSearch::new("tree");
    let fake = read(Some(cloud.url()), &search.request());
    let ours = shape_of(&fake);
    // What Vector reads is there.
    for member in [
        ".nextPageToken: string",
        ".creatorStoreAssets[].asset.id: number",
        ".creatorStoreAssets[].asset.instanceCounts.script: number",
        ".creatorStoreAssets[].creator.verified: bool",
        ".creatorStoreAssets[].creatorStoreProduct.purchasePrice.quantity.significand: number",
    ] {
        assert!(ours.contains(member), "{member} is not in {ours:#?}");
    }
    if std::env::var_os("VECTOR_CLOUD_LIVE").is_none_or(|it| it != "1") {
        eprintln!("skipped: the real Creator Store (VECTOR_CLOUD_LIVE=1 asks it)");
        return;
    }
    let live = read(None, &search.request());
    let theirs = shape_of(&live);
    for member in ours.difference(&theirs) {
        eprintln!("only the fake cloud has {member}");
    }
    for member in theirs.difference(&ours) {
        eprintln!("only the real store has {member}");
    }
    let page = SearchPage::read(&live).unwrap();
    assert!(!page.assets.is_empty(), "the real store lists assets that Vector can read");
}
