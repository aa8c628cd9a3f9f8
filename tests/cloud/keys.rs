//! Keys of Roblox's cloud: what `vector doctor` finds out about them.

use fake_cloud::{API_KEY, FakeCloud, Fault};
use serde_json::Value as Json;
use vector_tests::binary::{self, Home};

/// The finding of `vector doctor` about a key: its state, what it says, and the fix.
fn finding(cloud: &FakeCloud, name: &str, key: Option<&str>) -> [String; 3] {
    let home = Home::new();
    let mut command = home.command(&["doctor", "--json"]);
    command.env("VECTOR_ROBLOX_CLOUD_URL", cloud.url());
    let variable = format!("{}_API_KEY", name.to_uppercase().replace('-', "_"));
    command.envs(key.map(|key| (variable, key)));
    let output = binary::run_to_end(command, "");
    assert!(!output.stdout.contains(API_KEY), "{}", output.stdout);
    let found: Json = serde_json::from_str(&output.stdout).unwrap();
    let all = found["findings"].as_array().unwrap();
    let own = all.iter().find(|it| it["name"] == name).unwrap();
    ["state", "says", "fix"].map(|name| own[name].as_str().unwrap_or_default().to_owned())
}

#[test]
fn doctor_tells_a_missing_scope_from_a_wrong_key() {
    let cloud = FakeCloud::start(Vec::new());
    cloud.add_key("reader", &["asset:read"]);
    cloud.add_key("old", &["legacy-asset:manage", "universe-places:write"]);
    cloud.expire_key("old");
    for (name, task, scope) in [
        ("roblox-assets", "insert assets into files", "legacy-asset:manage"),
        ("roblox-publish", "publish places", "universe-places:write"),
    ] {
        let [state, says, fix] = finding(&cloud, name, None);
        assert_eq!((state, says), ("note".to_owned(), format!("no key to {task}")));
        assert!(fix.contains(scope), "{fix}");
        let [state, says, _] = finding(&cloud, name, Some(API_KEY));
        assert_eq!(state, "ok", "{says}");
        let [state, says, fix] = finding(&cloud, name, Some("wrong"));
        assert!(state == "problem" && says.contains("is wrong or revoked"), "{says}");
        assert!(fix.contains(&format!("vector key set {name}")), "{fix}");
        let [state, says, fix] = finding(&cloud, name, Some("reader"));
        assert!(
            state == "problem" && says.ends_with(&format!("lacks the scope {scope}")),
            "{says}"
        );
        assert!(fix.contains("dashboard/credentials"), "{fix}");
        let [state, says, _] = finding(&cloud, name, Some("old"));
        assert!(state == "problem" && says.contains("is expired"), "{says}");
        cloud.fail_next(Fault::too_many(90));
        let [state, says, _] = finding(&cloud, name, Some(API_KEY));
        assert!(state == "note" && says.contains("was not checked"), "{says}");
        // A service that repeats the key in its error.
        cloud.fail_next(Fault::status(403, &format!("the key {API_KEY} is of another address")));
        let [state, says, _] = finding(&cloud, name, Some(API_KEY));
        assert!(state == "note" && says.contains("the key *** is of another address"), "{says}");
    }
}
