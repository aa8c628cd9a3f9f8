//! Keys of Roblox's cloud: what `vector doctor` finds out about them.

use fake_cloud::{API_KEY, FakeCloud, Fault};
use serde_json::Value as Json;
use vector_tests::binary::{self, Home};

/// The finding of `vector doctor` about the key for assets: its state, what it says, and the fix.
fn finding(cloud: &FakeCloud, key: Option<&str>) -> [String; 3] {
    let home = Home::new();
    let mut command = home.command(&["doctor", "--json"]);
    command.env("VECTOR_ROBLOX_CLOUD_URL", cloud.url());
    command.envs(key.map(|key| ("ROBLOX_ASSETS_API_KEY", key)));
    let output = binary::run_to_end(command, "");
    assert!(!output.stdout.contains(API_KEY), "{}", output.stdout);
    let found: Json = serde_json::from_str(&output.stdout).unwrap();
    let all = found["findings"].as_array().unwrap();
    let own = all.iter().find(|it| it["name"] == "roblox-assets").unwrap();
    ["state", "says", "fix"].map(|name| own[name].as_str().unwrap_or_default().to_owned())
}

#[test]
fn doctor_tells_a_missing_scope_from_a_wrong_key() {
    let cloud = FakeCloud::start(Vec::new());
    let [state, says, fix] = finding(&cloud, None);
    assert_eq!((state.as_str(), says.as_str()), ("note", "no key to insert assets into files"));
    assert!(fix.contains("legacy-asset:manage"), "{fix}");
    let [state, says, _] = finding(&cloud, Some(API_KEY));
    assert_eq!(state, "ok", "{says}");
    let [state, says, fix] = finding(&cloud, Some("wrong"));
    assert!(state == "problem" && says.contains("is wrong or revoked"), "{says}");
    assert!(fix.contains("vector key set roblox-assets"), "{fix}");
    cloud.fail_next(Fault::status(403, &format!("the key {API_KEY} lacks a scope")));
    let [state, says, _] = finding(&cloud, Some(API_KEY));
    assert!(state == "problem" && says.contains("lacks the scope legacy-asset:manage"), "{says}");
    cloud.fail_next(Fault::too_many(90));
    let [state, says, _] = finding(&cloud, Some(API_KEY));
    assert!(state == "note" && says.contains("was not checked"), "{says}");
}
