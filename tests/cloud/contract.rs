//! The shapes of the fake cloud beside those of the real services. `VECTOR_CLOUD_LIVE=1` asks these, on
//! routes that change nothing and cost nothing, and prints what differs.

use std::collections::BTreeSet;

use fake_cloud::{API_KEY, FakeCloud, MeshyOutcome, StoreAsset};
use serde_json::Value as Json;
use vector_cloud::{
    AssetSearch, CloudClient, CloudFailureKind, CloudRequest, LuauTaskPath, MESHY_TEST_KEY,
    MeshyBalance, MeshyModel, MeshyPreview, MeshyTask, MeshyTaskId, SearchPage, ThumbnailSearch,
};

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

fn read(base: Option<&str>, request: &CloudRequest, key: Option<&str>) -> Vec<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = CloudClient::new(base.map(str::to_owned)).unwrap();
    runtime.block_on(client.read(request, key)).unwrap_or_else(|failure| panic!("{failure}"))
}

/// Whether the real services may be asked. Says so if they may not.
fn is_live(service: &str) -> bool {
    let is_live = std::env::var_os("VECTOR_CLOUD_LIVE").is_some_and(|it| it == "1");
    if !is_live {
        eprintln!("skipped: the real {service} (VECTOR_CLOUD_LIVE=1 asks it)");
    }
    is_live
}

/// Checks that an answer has the members that Vector reads.
fn expect_members(body: &[u8], members: &[&str]) {
    let shape = shape_of(body);
    for member in members {
        assert!(shape.contains(*member), "{member} is not in {shape:#?}");
    }
}

fn print_differences(fake: &[u8], live: &[u8]) {
    let (ours, theirs) = (shape_of(fake), shape_of(live));
    for member in ours.difference(&theirs) {
        eprintln!("only the fake cloud has {member}");
    }
    for member in theirs.difference(&ours) {
        eprintln!("only the real service has {member}");
    }
}

#[test]
fn search_has_the_shape_of_the_real_store() {
    let cloud = FakeCloud::start(vec![StoreAsset::model(1, "Tree")]);
    let search = AssetSearch::new("tree");
    let fake = read(Some(&cloud.url()), &search.request(), None);
    let members = [
        ".nextPageToken: string",
        ".creatorStoreAssets[].asset.id: number",
        ".creatorStoreAssets[].asset.instanceCounts.script: number",
        ".creatorStoreAssets[].creator.verified: bool",
        ".creatorStoreAssets[].creatorStoreProduct.purchasePrice.quantity.significand: number",
    ];
    expect_members(&fake, &members);
    if is_live("Creator Store") {
        let live = read(None, &search.request(), None);
        print_differences(&fake, &live);
        let page = SearchPage::read(&live).unwrap();
        assert!(!page.assets.is_empty(), "the real store lists assets that Vector can read");
    }
}

#[test]
fn thumbnails_have_the_shape_of_the_real_service() {
    let cloud = FakeCloud::start(Vec::new());
    cloud.show(1_818, b"\x89PNG\r\n\x1a\n".to_vec());
    let search = ThumbnailSearch { assets: &[1_818] };
    let fake = read(Some(&cloud.url()), &search.request(), None);
    let members = [".data[].imageUrl: string", ".data[].state: string", ".data[].targetId: number"];
    expect_members(&fake, &members);
    if is_live("thumbnails") {
        let live = read(None, &search.request(), None);
        print_differences(&fake, &live);
        assert_eq!(search.read(&live).unwrap().len(), 1);
    }
}

#[test]
fn wrong_key_is_refused_as_by_the_real_gateway() {
    let request = LuauTaskPath::parse("universes/1/places/1/luau-execution-session-tasks/a");
    let request = request.unwrap().task_request();
    let refused = |base: Option<String>| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = CloudClient::new(base).unwrap();
        runtime.block_on(client.read(&request, Some("no-such-key"))).unwrap_err()
    };
    let cloud = FakeCloud::start(Vec::new());
    let fake = refused(Some(cloud.url()));
    assert_eq!(fake.kind, CloudFailureKind::Unauthorized, "{fake}");
    assert!(fake.message.contains("answered 401 (Invalid API Key)"), "{fake}");
    assert!(!fake.message.contains(API_KEY), "{fake}");
    if is_live("Open Cloud") {
        let live = refused(None);
        eprintln!("the real gateway: {live}");
        assert_eq!(live.kind, CloudFailureKind::Unauthorized, "{live}");
    }
}

/// The members of a task of Meshy that Vector reads.
const TASK_MEMBERS: [&str; 6] = [
    ".id: string",
    ".status: string",
    ".progress: number",
    ".model_urls.glb: string",
    ".thumbnail_url: string",
    ".consumed_credits: number",
];

/// Reads the balance, starts a task with the key that costs nothing, and reads the task.
fn try_meshy(base: Option<&str>) -> [Vec<u8>; 3] {
    let key = Some(MESHY_TEST_KEY);
    let balance = read(base, &MeshyBalance.request(), key);
    MeshyBalance.read(&balance).unwrap();
    let preview = MeshyPreview {
        prompt: "a monster mask".to_owned(),
        model: MeshyModel::Latest,
        is_low_poly: false,
        polygons: None,
    };
    let started = read(base, &preview.request().unwrap(), key);
    let id = MeshyTaskId::read_started(&started).unwrap();
    let task = read(base, &id.task_request(), key);
    MeshyTask::read(&task).unwrap();
    [balance, started, task]
}

#[test]
fn meshy_has_the_shape_of_the_real_service() {
    let cloud = FakeCloud::start(Vec::new());
    cloud.add_meshy_outcome(MeshyOutcome { states: vec!["SUCCEEDED"], error: "" });
    let fake = try_meshy(Some(&cloud.url()));
    let [_, _, task] = &fake;
    expect_members(task, &TASK_MEMBERS);
    assert_eq!(cloud.meshy_balance(), 1_000, "the key for tests costs nothing");
    if is_live("Meshy") {
        let live = try_meshy(None);
        for (fake, live) in fake.iter().zip(&live) {
            print_differences(fake, live);
        }
    }
}
