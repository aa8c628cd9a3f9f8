//! `vector assets search`: results, pages, and what becomes of each error.

use fake_cloud::{API_KEY, FakeCloud, Fault, StoreAsset};
use serde_json::{Value as Json, json};
use vector_tests::agent::Agent;
use vector_tests::binary::{self, Home, Output};
use vector_tests::daemon::Daemon;
use vector_tests::human::Human;
use vector_tests::places::{self, Format};

/// Searches the store of a server.
fn search(cloud: &FakeCloud, args: &[&str]) -> Output {
    let home = Home::new();
    let mut command = home.command(&["assets", "search"]);
    command.args(args).env("VECTOR_ROBLOX_CLOUD_URL", cloud.url());
    binary::run_to_end(command, "")
}

fn trees(count: u64) -> Vec<StoreAsset> {
    (1..=count).map(|n| StoreAsset::model(n, &format!("Tree {n}"))).collect()
}

#[test]
fn assets_are_listed_with_what_the_store_says_of_them() {
    let oak = StoreAsset {
        creator: (7, "somebody".to_owned()),
        is_verified: false,
        scripts: 2,
        price_cents: 499,
        ..StoreAsset::model(20, "Oak tree")
    };
    let cloud = FakeCloud::start(vec![StoreAsset::model(1_818, "Tree"), oak]);
    let found = search(&cloud, &["TREE"]);
    assert_eq!(found.code, 0, "{}", found.stderr);
    assert_eq!(
        found.stdout,
        "1818  Tree\n      by Roblox (verified), free, 9 up, 1 down, 900 triangles\n"
    );
    let found = search(&cloud, &["tree", "--any-creator", "--user", "7"]);
    assert_eq!(
        found.stdout,
        "20  Oak tree\n    by somebody, 4.99 USD, 9 up, 1 down, 900 triangles, 2 scripts\n"
    );
    let none = search(&cloud, &["tree", "--any-creator", "--user", "7", "--free"]);
    assert!(none.stdout.is_empty() && none.stderr.contains("Nothing was found."), "{none:?}");
    let none = search(&cloud, &["tree", "--kind", "audio"]);
    assert!(none.stderr.contains("--any-creator also searches"), "{}", none.stderr);
    assert!(cloud.requests().iter().all(|it| it.method == "GET" && !it.has_key));
}

#[test]
fn every_result_is_on_one_page() {
    let cloud = FakeCloud::start(trees(45));
    let mut ids: Vec<u64> = Vec::new();
    let mut page: Option<String> = None;
    loop {
        let mut args = vec!["tree", "--json"];
        if let Some(page) = &page {
            args.extend(["--page", page]);
        }
        let found = search(&cloud, &args);
        let found: Json = serde_json::from_str(&found.stdout).unwrap();
        assert_eq!(found["total"], 45);
        ids.extend(found["assets"].as_array().unwrap().iter().filter_map(|it| it["id"].as_u64()));
        page = found["next_page"].as_str().map(str::to_owned);
        if page.is_none() {
            break;
        }
    }
    assert_eq!(ids, (1..=45).collect::<Vec<u64>>());
    let printed = search(&cloud, &["tree", "--limit", "44"]);
    assert!(printed.stderr.contains("More: the same with --page from-44"), "{}", printed.stderr);
}

#[test]
fn passing_errors_are_retried_and_others_reported_with_the_next_step() {
    let cloud = FakeCloud::start(trees(1));
    cloud.fail_next(Fault::status(502, "Bad gateway"));
    cloud.fail_next(Fault::too_many(1));
    let found = search(&cloud, &["tree"]);
    assert_eq!((found.code, cloud.requests().len()), (0, 3), "{}", found.stderr);
    for (fault, sent, said) in [
        (Fault::too_many(90), 1, "answered 429 (Too many requests). Try again in 90 s."),
        (Fault::status(400, "No such category"), 1, "answered 400 (No such category)."),
        (Fault::status(302, ""), 1, "Vector does not follow redirects."),
        (Fault::status(503, "Down"), 3, "answered 503 (Down). The service has a problem"),
        (Fault::Truncate(40), 3, "cannot be reached"),
    ] {
        let before = cloud.requests().len();
        for _ in 0..sent {
            cloud.fail_next(fault.clone());
        }
        let failed = search(&cloud, &["tree"]);
        let message = failed.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(failed.code, 1, "{message}");
        assert!(message.contains(said), "{said} is not in {message}");
        assert_eq!(cloud.requests().len() - before, sent, "{said}");
    }
    let garbage = Fault::Answer { status: 200, body: "<html>".to_owned(), headers: Vec::new() };
    cloud.fail_next(garbage);
    let failed = search(&cloud, &["tree"]);
    assert!(failed.stderr.contains("cannot be read"), "{}", failed.stderr);
}

#[test]
fn texts_of_the_store_cannot_change_the_terminal() {
    let evil = "\u{1b}]0;gone\u{7}Tree\nof\u{202e}evil";
    let cloud = FakeCloud::start(vec![StoreAsset {
        creator: (1, evil.to_owned()),
        ..StoreAsset::model(5, evil)
    }]);
    let found = search(&cloud, &["tree"]);
    assert_eq!(found.stdout.lines().count(), 2, "{:?}", found.stdout);
    let is_odd = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!found.stdout.contains(is_odd), "{:?}", found.stdout);
    let json = search(&cloud, &["tree", "--json"]);
    let page: Json = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(page["assets"][0]["name"], evil);
}

#[test]
fn agent_searches_and_inserts_what_it_found() {
    let home = Home::new();
    let place = home.path().join("place.rbxl");
    std::fs::write(&place, places::sample(Format::Rbxl)).unwrap();
    let oak = StoreAsset { scripts: 2, ..StoreAsset::model(77, "Oak tree") };
    let more = (78..100).map(|id| StoreAsset::model(id, &format!("Oak {id}")));
    let cloud = FakeCloud::start(std::iter::once(oak).chain(more).collect());
    let model = places::sample(Format::Rbxm);
    cloud.deliver(77, model);
    let ledger = home.path().join("vector");
    let mut command = std::process::Command::new(binary::vector());
    command
        .args(["serve", "--port", "0"])
        .env("VECTOR_ROBLOX_CLOUD_URL", cloud.url())
        .env("ROBLOX_ASSETS_API_KEY", API_KEY);
    let daemon = Daemon::run(command, &ledger);
    let human = Human::of(&daemon, &ledger);
    let opened = human.open(&place).ok();
    let session = &opened["session"];
    let mut agent = Agent::new(&daemon, &ledger, "test");
    let found = agent.call("search_assets", &json!({ "query": "oak", "session": session }));
    let answer = &found["outcome"]["answer"];
    let expected = json!({
        "assetId": 77, "name": "Oak tree", "verified": true, "creator": "Roblox",
        "votes": [9, 1], "triangles": 900, "scripts": 2,
    });
    assert_eq!((&answer["assets"][0], &answer["total"]), (&expected, &json!(23)), "{found}");
    let next = json!({ "query": "oak", "page": answer["nextPage"], "session": session });
    let next = agent.call("search_assets", &next);
    assert_eq!(next["outcome"]["answer"]["assets"][0]["assetId"], 97, "{next}");
    let insert = json!({ "assetId": 77, "parentPath": "game.Workspace", "session": session });
    let card = agent.propose("insert_asset", &insert);
    human.approve(card).ok();
    assert!(places::decode(&std::fs::read(&place).unwrap()).descendants().count() > 20);
    cloud.fail_next(Fault::too_many(90));
    let refused = agent.call("search_assets", &json!({ "query": "oak", "session": session }));
    assert!(refused.to_string().contains("Try again in 90 s"), "{refused}");
}

#[test]
fn person_searches_over_http() {
    let home = Home::new();
    let ledger = home.path().join("vector");
    let odd = StoreAsset {
        scripts: 2,
        price_cents: 499,
        is_verified: false,
        ..StoreAsset::model(77, &format!("Oak {}", "x".repeat(500)))
    };
    let cloud = FakeCloud::start(vec![odd, StoreAsset::model(78, "Oak")]);
    let mut command = std::process::Command::new(binary::vector());
    command.args(["serve", "--port", "0"]).env("VECTOR_ROBLOX_CLOUD_URL", cloud.url());
    let daemon = Daemon::run(command, &ledger);
    let human = Human::of(&daemon, &ledger);
    let search = |body: Json| human.call("POST", "/api/assets/search", &body);
    let first =
        search(json!({ "text": " oak ", "kind": "model", "any_creator": true, "limit": 1 }));
    let first = first.ok();
    let expected = json!({
        "id": 77, "name": format!("Oak {}", "x".repeat(96)), "creator": "Roblox", "price": "4.99 USD",
        "votes": { "up": 9, "down": 1 }, "triangles": 900, "has_scripts": true, "scripts": 2,
    });
    assert_eq!((&first["assets"], &first["total"]), (&json!([expected]), &json!(2)), "{first}");
    assert_eq!(first["can_insert"], true);
    let next = json!({
        "text": "oak", "kind": "model", "any_creator": true, "limit": 1, "page": first["next_page"],
    });
    let next = search(next).ok();
    assert_eq!(next["assets"][0]["id"], 78, "{next}");
    assert!(next["next_page"].is_null(), "{next}");
    let verified = search(json!({ "text": "oak", "kind": "model", "limit": 9 })).ok();
    assert_eq!(verified["total"], 1, "{verified}");
    assert_eq!(verified["assets"][0]["is_verified"], true);
    let audio = search(json!({ "text": "oak", "kind": "audio", "limit": 9 })).ok();
    assert_eq!((&audio["can_insert"], &audio["assets"]), (&json!(false), &json!([])));
    let sent = cloud.requests().len();
    for (text, limit, said) in [
        ("  ", 9, "Nothing is searched for."),
        (&*"x".repeat(201), 9, "The search is longer than 200 characters."),
        ("oak", 0, "A page of results has from 1 to 100 assets."),
        ("oak", 101, "A page of results has from 1 to 100 assets."),
    ] {
        let refused = search(json!({ "text": text, "kind": "model", "limit": limit }));
        assert_eq!((refused.status, &refused.body["message"]), (400, &json!(said)));
    }
    let refused = search(json!({ "text": "oak", "kind": "hat", "limit": 9 }));
    assert_eq!(refused.status, 400);
    assert_eq!(cloud.requests().len(), sent, "what is not valid is not sent");
    cloud.fail_next(Fault::too_many(90));
    let limited = search(json!({ "text": "oak", "kind": "model", "limit": 9 }));
    assert_eq!(limited.status, 429);
    assert!(limited.body["message"].as_str().unwrap().contains("Try again in 90 s."));
    (0..3).for_each(|_| cloud.fail_next(Fault::status(503, "Down")));
    let down = search(json!({ "text": "oak", "kind": "model", "limit": 9 }));
    assert_eq!((down.status, &down.body["kind"]), (502, &json!("provider")));
    let thumbnails = cloud.requests().iter().filter(|it| it.target.contains("thumbnail")).count();
    assert_eq!(thumbnails, 0, "thumbnails are loaded only for the page");
}
