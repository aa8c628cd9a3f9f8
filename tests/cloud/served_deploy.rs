//! Deploys of a place that a daemon has open.

use std::fs;

use fake_cloud::{API_KEY, FakeCloud};
use rbx_dom_weak::{InstanceBuilder, WeakDom};
use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Answer, Daemon};
use vector_tests::human::Human;
use vector_tests::places::{self, Format};

const PLACE: u64 = 40;

#[track_caller]
fn refused(answer: &Answer, status: u16, says: &str) {
    let said = format!("{} {}", answer.body["message"], answer.body["hint"]);
    assert_eq!(answer.status, status, "{said}");
    assert!(said.contains(says), "{said}");
}

#[test]
fn what_was_shown_is_uploaded_and_nothing_else() {
    let home = Home::new();
    let place = home.path().join("game.rbxl");
    fs::write(&place, places::sample(Format::Rbxl)).unwrap();
    let cloud = FakeCloud::start(Vec::new());
    cloud.add_places(30, &[PLACE]);
    let ledger = home.path().join("vector");
    let mut command = std::process::Command::new(binary::vector());
    command
        .args(["serve", "--port", "0"])
        .env("VECTOR_ROBLOX_CLOUD_URL", cloud.url())
        .env("ROBLOX_PUBLISH_API_KEY", API_KEY);
    let daemon = Daemon::run(command, &ledger);
    let human = Human::of(&daemon, &ledger);
    let session = human.open(&place).ok()["session"].as_str().unwrap().to_owned();
    let plan = |more: &str| {
        human.call("GET", &format!("/api/deploy?session={session}{more}"), &Json::Null)
    };
    let first = plan("").ok();
    assert_eq!((&first["target"], &first["uploads"]), (&Json::Null, &json!([])));
    let target = "&universe=30&place=40";
    assert_eq!(plan(target).ok()["target"]["published"], Json::Null);
    let upload = |kind: &str, contents: &Json| {
        let wanted = json!({
            "session": session, "universe": 30, "place": PLACE, "kind": kind, "contents": contents,
        });
        human.call("POST", "/api/deploy", &wanted)
    };
    refused(&upload("published", &first["contents"]), 409, "Save them first");
    assert_eq!(upload("saved", &first["contents"]).ok(), json!({ "version": 1 }));
    assert_eq!(upload("published", &first["contents"]).ok(), json!({ "version": 1 }));
    refused(
        &upload("published", &first["contents"]),
        409,
        "was published after this one was compared",
    );
    // The target is that of the last upload.
    let second = plan("").ok();
    assert_eq!(second["target"]["existing"]["version"], 1);
    assert_eq!(second["target"]["published"]["upload"]["kind"], "published");
    assert_eq!(second["uploads"].as_array().unwrap().len(), 2);
    let workspace = InstanceBuilder::new("Workspace");
    let other = WeakDom::new(InstanceBuilder::new("DataModel").with_child(workspace));
    fs::write(&place, places::encode(&other, Format::Rbxl)).unwrap();
    refused(&upload("saved", &first["contents"]), 409, "changed after it was shown");
    fs::write(&place, b"<roblox!").unwrap();
    refused(&plan(""), 409, "game.rbxl");
    refused(&human.call("GET", "/api/deploy?session=nobody", &Json::Null), 404, "");
    refused(&human.call("GET", "/api/deploy", &Json::Null), 400, "No place is specified");
    refused(&plan("&universe=x"), 400, "is not a number");
    refused(&plan("&universe=30&earlier=2"), 409, "Name both");
    // An earlier version is planned although the file is damaged.
    let number = second["uploads"][1]["seq"].to_string();
    let back = plan(&format!("&earlier={number}")).ok();
    assert_eq!(back["contents"], first["contents"]);
    assert_eq!(cloud.place_versions(PLACE).len(), 1);
    let log = home.run(&["log", "--json"], "");
    assert!(!log.stdout.contains(API_KEY));
}
