//! Tests of the search for effects beyond the place.

use super::super::find_side_effects;

/// The lines and messages that are found.
fn found(source: &str) -> Vec<String> {
    find_side_effects(source).iter().map(ToString::to_string).collect()
}

/// Expects a single finding whose message contains `words`.
#[track_caller]
fn names(source: &str, words: &str) {
    let found = found(source);
    assert!(found.len() == 1 && found[0].contains(words), "{source}: {found:?}");
}

#[track_caller]
fn finds_nothing(source: &str) {
    assert_eq!(found(source), [""; 0], "{source}");
}

#[test]
fn services_with_real_data_are_found_where_the_script_gets_them() {
    assert_eq!(
        found(
            "local S = game:GetService('DataStoreService')\nlocal c = S:GetDataStore('c')\nc:GetAsync(1)"
        ),
        ["Line 1 reaches DataStoreService, whose data is real."]
    );
    names(
        "local n = 'Memory' .. 'StoreService'\nlocal m = game:GetService(n)",
        "MemoryStoreService",
    );
    names("game:FindService('MessagingService'):PublishAsync('a', 1)", "reach running servers");
    assert_eq!(
        found("local function get(n) return game:GetService(n) end\nget(n)"),
        [
            "Line 1 gets a service by a name that is not in this script.",
            "Line 2 gets a service by a name that is not in this script.",
        ]
    );
    finds_nothing("local s = game:GetService('ReplicatedStorage') s:GetChildren()");
    finds_nothing("-- DataStoreService\nprint('DataStoreService')");
}

#[test]
fn requests_to_any_host_are_found() {
    names("game:GetService('HttpService'):GetAsync('https://apis.roblox.com/x')", "GetAsync");
    names(
        "local h = game:GetService('HttpService')\nh:PostAsync('https://roblox.com', 'x')",
        "PostAsync",
    );
    assert!(!found("local h = ... h:RequestAsync({ Url = 'https://a.com' })").is_empty());
    finds_nothing("game:GetService('HttpService'):JSONEncode({})");
    finds_nothing("local cache = ... cache:GetAsync('x')");
}

#[test]
fn saved_places_purchases_teleports_and_outside_code_are_found() {
    names("game:GetService('AssetService'):SavePlaceAsync()", "saves or publishes the place");
    names(
        "local A = game:GetService('AssetService')\nA:CreatePlaceAsync('a', 1)",
        "creates a place",
    );
    names("game:GetService('MarketplaceService'):PromptPurchase(p, 1)", "asks players to buy");
    names("game:GetService('TeleportService'):TeleportAsync(1, {})", "sends players");
    names("require(123456)", "requires an asset");
    names("loadstring(x)()", "loadstring");
    finds_nothing("game:GetService('MarketplaceService'):GetProductInfo(1)");
    finds_nothing("require(script.Parent.Add)");
}

#[test]
fn script_that_cannot_be_read_is_a_finding() {
    let deep = format!(
        "local x = {}1{}\ngame:GetService('DataStoreService')",
        "(".repeat(400),
        ")".repeat(400)
    );
    let lines = found(&deep);
    assert!(lines.iter().any(|it| it.contains("read all of it")), "{lines:?}");
    finds_nothing("local = game:GetService('DataStoreService')");
}
