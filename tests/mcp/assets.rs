//! An asset of the Creator Store through the official client: found, proposed, approved by a person, and
//! in the file.

use fake_cloud::{API_KEY, FakeCloud, StoreAsset};
use vector_tests::binary::Home;
use vector_tests::mcp::Client;
use vector_tests::places::{self, Format};

use super::*;

#[test]
fn asset_is_searched_and_inserted_by_a_client() {
    let Some(mut client) = Client::new() else { return };
    let cloud = FakeCloud::start(vec![StoreAsset::model(77, "Oak tree")]);
    cloud.deliver(77, places::sample(Format::Rbxm));
    let home = Home::new();
    let place = place(&home);
    let count = || places::decode(&fs::read(&place).unwrap()).descendants().count();
    let before = count();
    let mut stdio = command(&home, &["--place", place.to_str().unwrap()]);
    stdio["env"]["VECTOR_ROBLOX_CLOUD_URL"] = cloud.url().into();
    stdio["env"]["ROBLOX_ASSETS_API_KEY"] = API_KEY.into();
    client.done("connect", json!({ "stdio": stdio }));
    let person = Person::of(&home);
    let (failed, found) = client.call("search_assets", json!({ "query": "oak" }));
    assert!(!failed && found.contains("Oak tree") && found.contains("77"), "{found}");
    let insert = json!({ "assetId": 77, "parentPath": "game.Workspace" });
    let call = client.calling("insert_asset", insert);
    let waiting = person.waiting();
    assert_eq!(count(), before, "nothing is written before a yes");
    person.decide(&waiting, &json!({ "say": "approve" })).ok();
    let (failed, said) = client.called(call);
    assert!(!failed && said.contains("Applied as proposal"), "{said}");
    assert!(!said.contains(API_KEY) && count() > before, "{said}");
}
